"""Names in expressions: known, public where they must be, with a value, primed or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Never

from aligncheck.language.adjacencies import Shared
from aligncheck.language.check.meant import UnknownName
from aligncheck.language.check.symbol_table import (
    ALIGNMENT_COST,
    ANSWER_INDEX,
    RESERVED_NAMES,
    SymbolTable,
    listed,
)
from aligncheck.language.diagnostics import Faults, Label
from aligncheck.language.families import SPELLINGS
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.layout import word_in
from aligncheck.language.syntax.walk import names_in, parts_of, subexpressions
from aligncheck.language.syntax.wording.faults import nearest
from aligncheck.language.syntax.wording.idioms import IDIOMS, WORDS, draw_of
from aligncheck.language.syntax.wording.refused import CALLS, scope_fault
from aligncheck.language.unparse import unparse_expr

_OWN = (
    "a function of one's own takes public or noisy values, and is declared above the inputs: "
    "`fun {}({}) : real`, with its own sorts in place of `real`"
)

_SHARES = {
    Shared.INDEX: "an index is shared by lists under `one`, `two` or `moved`, each on a line of its own",
    Shared.DIRECTION: "a direction is shared by lists under `monotone` or `one`, and by a single `query`",
}


def _call_of(name: str, call: n.Call, count: int) -> str:
    """How a function with too few or too many arguments is written."""
    given = [unparse_expr(arg) for arg in call.args[:1]] or ["x"]
    names = ("low", "high") if name == "clip" else ("y", "z")
    return f"write `{name}({', '.join([*given, *names][: max(count, 1)])})`"


@dataclass(frozen=True, slots=True)
class Place:
    """Where an expression stands, and what may be read there.

    `where` completes the sentence "`x` may have no value …". `public` admits only public inputs. `assigned`
    are the program's names that have a value on every path to the place (noise with an index: on some
    path); None where the program's names mean nothing. `drawn` are the draws with an index that every path
    has made, `local` those whose index tells which round of the innermost loop makes them. `own` is the
    draw whose arguments are read. `binders` are index names that the place itself brings, `gathered` those
    of them that sets bring. `drawing` is the noise that loops around the place are still drawing, `telling`
    what tells their rounds apart. `primes`, `output` and `cost` admit `x'`, `out` and the alignment's cost.
    `point` is where the expression is evaluated, if that is not where it stands.
    """

    where: str
    public: bool = False
    assigned: frozenset[str] | None = None
    drawn: frozenset[n.Expr] = frozenset()
    local: frozenset[n.Expr] = frozenset()
    own: n.Expr | None = None
    drawing: frozenset[str] = frozenset()
    telling: frozenset[str] = frozenset()
    binders: frozenset[str] = frozenset()
    gathered: frozenset[str] = frozenset()
    primes: bool = False
    output: bool = False
    cost: bool = False
    point: Label | None = None


class Reader(Faults):
    """Checks the names of expressions against the places where they stand."""

    def __init__(self, source: Source, symbols: SymbolTable) -> None:
        super().__init__(source)
        self.symbols = symbols

    def word_at(self, span: Span) -> Span:
        """The word that a span begins with."""
        text = self.source.text_of(span)
        length = next((i for i, each in enumerate(text) if not (each.isalnum() or each == "_")), len(text))
        return Span(span.start, span.start + length)

    # --- inputs ---

    def declaration(self, item: n.Input) -> None:
        """Reads the attributes of an input. `i` is the index of an answer in those of a list."""
        indexed = frozenset((ANSWER_INDEX,))
        match item:
            case n.Parameter(where=where, default=default):
                self._optional(where, Place("in `where` of a public input", public=True))
                if default is not None:
                    self.read(default, Place("in `default`", public=True))
                    self._default(item.name, default)
            case n.PublicVector(where=where):
                self._optional(where, Place("in `where` of a public input", public=True, binders=indexed))
            case n.Queries(sensitivity=sensitivity, lattice=lattice, range=interval, where=where):
                binders = indexed if item.vector else frozenset()
                each = frozenset() if item.adjacency.together else binders
                self._optional(sensitivity, Place("in `sensitivity`", public=True, binders=each))
                self._optional(lattice, Place("in `lattice`", public=True, binders=binders))
                for bound in interval or ():
                    self.read(bound, Place("in `range`", public=True, binders=binders))
                self._optional(where, Place("in `where` of queries", binders=binders))
                self._shares(item, Shared.INDEX, item.same_index)
                self._shares(item, Shared.DIRECTION, item.same_direction)

    def _shares(self, item: n.Queries, what: Shared, other: n.Name | None) -> None:
        """An index, or a direction, is shared with a line above, by answers that have one in any case."""
        if other is None:
            return
        above = self.symbols.inputs.get(other.ident)
        if not isinstance(above, n.Queries) or above.span.start >= item.span.start:
            advice = f"name one of the private answers that a line above `{item.names[0]}` declares"
            self.fail("unknown-name", f"no line above has answers `{other.ident}`", other.span, help=advice)
        for line in (above, item):
            if not line.adjacency.shares(what, line.vector, len(line.names)):
                message = f"`{line.names[0]}` has no {what.value} to share"
                self.fail("bad-sharing", message, other.span, help=_SHARES[what])
        if what is Shared.INDEX and above.adjacency is not item.adjacency:
            message = f"`{above.names[0]}` has another adjacency than `{item.names[0]}`"
            advice = f"lists that share an index move alike: write `adjacency {above.adjacency.value}`"
            self.fail("bad-sharing", message, other.span, help=advice)

    def _default(self, of: str, expr: n.Expr) -> None:
        """A default is computed when a mechanism is made: from parameters that are given then."""
        for each in subexpressions(expr):
            other = self.symbols.inputs.get(each.ident) if isinstance(each, n.Name) else None
            given = isinstance(other, n.Parameter) and other.default is None
            own = isinstance(each, n.Call) and each.function in self.symbols.functions
            if own or isinstance(each, n.Gather) or (isinstance(each, n.Name) and not given):
                self.fail(
                    "bad-default",
                    f"the default of `{of}` cannot read this",
                    each.span,
                    help="it is computed from numbers and from parameters that have no default themselves",
                )

    def _optional(self, expr: n.Expr | None, place: Place) -> None:
        if expr is not None:
            self.read(expr, place)

    # --- expressions ---

    def read_assigned(self, expr: n.Expr, place: Place) -> None:
        """Reads the whole right-hand side of an assignment, where `top` may stand."""
        if isinstance(expr, n.Gather):
            self._gather(expr, place)
        else:
            self.read(expr, place)

    def read_argument(self, expr: n.Expr, place: Place) -> None:
        """Reads an argument of a call of a mechanism, where a list of values may stand."""
        if isinstance(expr, n.Gather) and expr.function == n.LISTING:
            self._gather(expr, place)
        else:
            self.read(expr, place)

    def read(self, expr: n.Expr, place: Place) -> None:
        """Raises SpecError for the first fault in `expr`, from left to right."""
        match expr:
            case n.Number() | n.Boolean():
                pass
            case n.Name():
                self._plain(expr, place)
            case n.Index():
                self._indexed(expr, place)
            case n.Call("len", (n.Name() as whole,)) if self.symbols.is_list(whole.ident):
                self._length(whole)
            case n.Call("len", (n.Name() as whole,)) if whole.ident in self.symbols.selections:
                self._selection(whole.ident, whole.span, place, primed=whole.primed)
            case n.Call("len", (n.Name(ident, primed=False) as whole,)) if ident in self.symbols.calls:
                self._known(ident, whole.span, place, primed=False)
            case n.Call():
                self._function(expr)
                self._parts(expr, place)
            case n.Compare(_, n.Index("out", index), n.Name(tag)) if tag in self.symbols.tags:
                message = f"`{tag}` is the tag of a record, no value"
                what = f"write `out[{unparse_expr(index)}] is {tag}`"
                self.fail("bad-output", message, expr.span, help=what)
            case n.Unary() | n.Binary() | n.Compare() | n.Logic():
                self._parts(expr, place)
            case n.Conditional(test, then, otherwise):
                for part in (then, test, otherwise):
                    self.read(part, place)
            case n.Gather():
                if expr.function in n.SELECTING:
                    self.fail(
                        "misplaced-top",
                        f"`{expr.function}` gives a list of indices, which stands alone on the right of `=`",
                        self.word_at(expr.span),
                        help=f"write `winners = {expr.function}(…)` first, and here `winners[r]` or "
                        "`j in winners`",
                    )
                if expr.function == n.LISTING:
                    self.fail(
                        "misplaced-list",
                        "a list of values can only be given to a mechanism that is called",
                        self.word_at(expr.span),
                    )
                self._gather(expr, place)
            case n.Member(index, selection):
                # First of all: `max(q[j], j in q)` is a set with its `for` left out.
                span = word_in(self.source, expr.span, selection, last=True)
                self._selection(selection, span, place, primed=False)
                self.read(index, place)
            case n.OutIs(of=of) | n.OutField(of=of) | n.OutCount(of=of) if of != "out":
                self._called(expr, of, place)
            case n.OutIs() | n.OutField() | n.OutCount():
                self._output(expr, place)
                if not isinstance(expr, n.OutCount):
                    self.read(expr.index, place)
                self._record(expr, self.symbols.tags, "", "the program emits")

    def _parts(self, expr: n.Expr, place: Place) -> None:
        for part in parts_of(expr):
            self.read(part, place)

    def _plain(self, name: n.Name, place: Place) -> None:
        self._known(name.ident, name.span, place, primed=name.primed)
        noise = self.symbols.noise.get(name.ident)
        if noise is not None and name.ident not in place.binders and noise[0].index is not None:
            self.fail(
                "noise-index",
                f"`{name.ident}` is drawn with an index",
                name.span,
                related=(Label(noise[0].span, "drawn here"),),
                help=f"write `{name.ident}[i]`",
            )

    def _known(
        self, name: str, span: Span, place: Place, *, primed: bool, index: n.Expr | None = None
    ) -> None:
        if name in place.binders:
            if primed:
                self._fail_prime(f"`{name}` is an index, the same on D and D'", name, span)
            return
        if name == ALIGNMENT_COST and place.cost:
            return
        if name in self.symbols.inputs:
            self._input(name, span, place, primed=primed)
        elif name in self.symbols.variables or name in self.symbols.noise:
            self._program_name(name, span, place)
        else:
            self._unknown(name, span, place, index)
        if primed and not place.primes:
            self.fail(
                "bad-prime",
                f"`{name}'` is a value in the run on D': it may not stand {place.where}",
                span,
                help="primes stand in `align` and in `invariant` lines",
            )

    def _input(self, name: str, span: Span, place: Place, *, primed: bool) -> None:
        public = self.symbols.is_public(name)
        if place.public and not public:
            self.fail(
                "not-public",
                f"`{name}` is private: only public inputs may stand {place.where}",
                span,
                related=(Label(self.symbols.inputs[name].span, "declared here"),),
                help=self._in_public(name, place),
            )
        if primed and public:
            self._fail_prime(f"`{name}` is public, the same on D and D'", name, span)

    def _in_public(self, name: str, place: Place) -> str:
        """Help for who reads a private input where only public ones may stand."""
        if place.where.startswith("in `where`"):
            public = [each for each in self.symbols.inputs if self.symbols.is_public(each)]
            return (
                f"the answers of `{name}` are bounded where it is declared, by `range [low, high]`; here "
                f"speak of {listed(public)}" + f" or `len({name})`" * self.symbols.is_list(name)
            )
        other = f", or speak of `len({name})`" if self.symbols.is_list(name) else ""
        return f"declare a public bound as an input of its own{other}"

    def _fail_prime(self, message: str, name: str, span: Span) -> Never:
        self.fail("bad-prime", message, span, help=f"write `{name}`")

    def _program_name(self, name: str, span: Span, place: Place) -> None:
        if place.assigned is None:
            self.fail(
                "not-public",
                f"`{name}` is a name of the program: it has no value {place.where}",
                span,
                help="only inputs may stand here",
            )
        if name in place.assigned or (name in self.symbols.noise and self.symbols.is_indexed(name)):
            return
        first = self.symbols.variables.get(name) or self.symbols.noise[name][0].span
        advice = f"give `{name}` a value on every path that leads here"
        if place.own == n.Name(name):
            advice = self._of_itself()
        if place.point is not None and place.point.span.start < first.start:
            line = self.source.position(first.start)[0]
            advice = f"put line {line}, where `{name}` gets its value, above the draw, or write it out"
        if name in self.symbols.looping:
            advice = f"`{name}` belongs to its loop: elsewhere write an answer as `q[…]`"
        self.fail(
            "maybe-unassigned",
            f"`{name}` may have no value {place.where}",
            span,
            related=(Label(first, "it gets a value here"), *((place.point,) if place.point else ())),
            help=advice,
        )

    def _of_itself(self) -> str:
        """Help for who draws with a scale that is the draw."""
        positive = (
            name
            for name, item in self.symbols.inputs.items()
            if isinstance(item, n.Parameter) and item.sort is n.Sort.REAL
        )
        name = next(positive, None)
        shown = "" if name is None else f": make it of public inputs, as in `1/{name}`"
        return f"what a draw takes cannot speak of the draw itself{shown}"

    def joined_index(self, name: str, index: n.Expr | None) -> str | None:
        """Help for who draws `eta_i` and reads `eta[i]`."""
        plain = [each for each in self.symbols.noise if not self.symbols.is_indexed(each)]
        for drawn in plain:
            if isinstance(index, n.Name) and drawn in (f"{name}_{index.ident}", name + index.ident):
                return f"draw `{name}[{index.ident}] ~ …` in place of `{drawn}`"
        return None

    def unknown_list(self, name: str, span: Span, place: Place) -> None:
        """Fails where a set or a loop goes through what has no meaning."""
        known = (*place.binders, *self.symbols.inputs, *self.symbols.variables, *self.symbols.noise)
        lists = [each for each in self.symbols.inputs if self.symbols.is_list(each)]
        if name in known or not lists:
            return
        one = f"the list here is `{lists[0]}`: write `in {lists[0]}`"
        advice = one if len(lists) == 1 else f"the lists here are {listed(lists)}"
        written = self.source.text_of(span)
        message = f"unknown name `{name if ' ' in written else written}`"
        self.fail("unknown-name", message, span, help=nearest(name, lists) or advice)

    def _unknown(self, name: str, span: Span, place: Place, index: n.Expr | None) -> Never:
        if name == "out":
            self.fail(
                "bad-output",
                "`out` is the whole output; this is no part of it",
                span,
                help="write `out[i] is TAG`, `out[i].FIELD`, `out.count(TAG)` or `len(out)`",
            )
        if name == ALIGNMENT_COST:
            self.fail("bad-output", "the cost of the alignment has a name in `invariant` lines only", span)
        advice = self.joined_index(name, index) or WORDS.get(name)
        known: list[str] = [*place.binders, *self.symbols.inputs]
        if place.assigned is not None:
            known += [*self.symbols.variables, *self.symbols.noise]
        if place.assigned is not None and advice is None:
            line = self.source.line(self.source.position(span.start)[0])
            advice = UnknownName(
                name,
                self.source.text[span.end :].lstrip().startswith("[") or index is not None,
                self.symbols,
                place.assigned,
                place.binders,
                place.gathered,
                line,
                self.source.text[: span.start],
                place.primes,
                nearest(name, known),
            ).meant()
        reads = {*place.binders, *self.symbols.inputs, *(place.assigned or ())}
        tag = name in self.symbols.tags
        written = self.source.text_of(self.word_at(span))
        spelt = f" (that is, `{name}`)" if written != name else ""
        self.fail(
            "unknown-name",
            f"unknown name `{written}`{spelt}" + (": it is the tag of a record" if tag else ""),
            span,
            help=advice
            or nearest(name, known)
            or (
                f"for a test write `out[i] is {name}`"
                if tag
                else f"declare it below `input`, as in `{name} : real where {name} > 0`"
                if place.assigned is None
                else f"known here are {listed(dict.fromkeys(each for each in known if each in reads))}"
            ),
        )

    # --- lists and draws ---

    def _indexed(self, expr: n.Index, place: Place) -> None:
        base = expr.base
        self._known(base, self.word_at(expr.span), place, primed=expr.primed, index=expr.index)
        self.read(expr.index, place)
        if base in place.binders:
            return
        if base in self.symbols.selections:
            self._selection(base, self.word_at(expr.span), place, primed=expr.primed)
        if base in self.symbols.noise:
            self._drawn(expr, place)

    def _drawn(self, expr: n.Index, place: Place) -> None:
        """A draw with an index: some path must have made draws of this name, and this round may not be about
        to make this very one. A set reads draws of many rounds, so their loop must have ended.
        """
        base = expr.base
        first = Label(self.symbols.noise[base][0].span, "drawn here")
        if not self.symbols.is_indexed(base):
            message = f"`{base}` is drawn without an index"
            advice = f"write `{base}`, or draw `{base}[i] ~ …` where each round of a loop draws one"
            self.fail("noise-index", message, expr.span, related=(first,), help=advice)
        draw = n.Index(base, expr.index)
        of_set = bool(names_in(expr.index) & place.gathered)  # an index with the name of a loop's, perhaps
        not_yet = draw in place.local and draw not in place.drawn and not of_set
        if base not in (place.assigned or ()) or not_yet:
            self.fail(
                "maybe-unassigned",
                f"`{self.source.text_of(expr.span)}` may not have been drawn {place.where}",
                expr.span,
                related=(first,),
                help=self._of_itself() if draw == place.own else "draw it on every path that leads here",
            )
        if base in place.drawing and of_set and not (names_in(expr.index) - place.gathered) & place.telling:
            self.fail(
                "maybe-unassigned",
                f"the loop around this set is still drawing `{base}`",
                expr.span,
                related=(first,),
                help="put the set after the loop; in each round it reads what was drawn by then, as in "
                f"`{base}[r*n + j]`, drawn by a loop inside the round, or over `range(0, i + 1)`",
            )

    # --- sets of indices and selections ---

    def _gather(self, gather: n.Gather, place: Place) -> None:
        inside = replace(
            place,
            binders=place.binders | self._brought(gather, place),
            gathered=place.gathered | {gather.index},
        )
        if gather.count is not None:
            self.read(gather.count, place)
        match gather.over:
            case n.Indices(base):
                self._indices(base, gather.over.span, place)
            case n.OverRange(low, high):
                self.read(low, place)
                self.read(high, place)
                if (names_in(low) | names_in(high)) & place.telling:
                    inside = replace(inside, drawing=frozenset())
        self._about_entries(gather)
        self.read(gather.body, inside)
        if gather.where is not None:
            self.read(gather.where, inside)

    def _brought(self, gather: n.Gather, place: Place) -> frozenset[str]:
        """The names that a set brings; none of them has a meaning around it."""
        header = Span(gather.body.span.end, gather.over.span.start)
        self._new(gather.index, header, place, self.symbols.indices)
        item = gather.over.item if isinstance(gather.over, n.Indices) else None
        if item is None:
            return frozenset((gather.index,))
        self._new(item, header, place, self.symbols.looping)
        return frozenset((gather.index, item))

    def _new(self, name: str, header: Span, place: Place, reusable: frozenset[str]) -> None:
        """Fails where the name has a meaning; `reusable` ones have none outside of their loops."""
        span = word_in(self.source, header, name)
        if name in RESERVED_NAMES:
            what = RESERVED_NAMES[name]
            self.fail("reserved-name", f"`{name}` is {what}: it cannot name an index", span)
        declared = self.symbols.inputs.get(name) or self.symbols.functions.get(name)
        seen = declared or next(iter(self.symbols.noise.get(name, ())), None)
        first = seen.span if seen is not None else self.symbols.variables.get(name)
        free = name in reusable and name not in (place.assigned or ())
        if name not in place.binders and (first is None or free):
            return
        known = name not in place.binders and first is not None
        self.fail(
            "duplicate-name",
            f"`{name}` has a meaning already",
            span,
            related=(Label(first, "first here"),) if known and first is not None else (),
            help="choose another name for what the set brings"
            + (", or put the set after the loop, if it is about all its rounds" if place.drawing else ""),
        )

    def _indices(self, base: str, span: Span, place: Place) -> None:
        """The indices of a list are public, and the same on D and D'."""
        if self.symbols.is_list(base):
            return
        self.unknown_list(base, span, place)
        self._known(base, span, place, primed=False)
        advice = None
        if base in self.symbols.selections:
            advice = f"write `for j in q where j in {base}`"
        elif isinstance(self.symbols.inputs.get(base), n.Parameter):
            advice = self.repeated(base, "j")
        self.fail("not-a-list", f"`{base}` is {self.kind_of(base)}, not a list", span, help=advice)

    def _about_entries(self, gather: n.Gather) -> None:
        """`max(x for x in q)` would be the last index of `q`; in a loop's header, `x` is the answer."""
        body, over = gather.body, gather.over
        if not isinstance(over, n.Indices) or gather.where is not None or gather.function in n.SELECTING:
            return
        if isinstance(body, n.Name) and body.ident == gather.index and not body.primed:
            base, index = over.base, gather.index
            self.fail(
                "bad-set",
                f"`{index}` is an index here, not an entry of `{base}`",
                body.span,
                help=f"write `{gather.function}({base}[{index}] for {index} in {base})`",
            )

    def repeated(self, parameter: str, index: str) -> str:
        """Help for who goes through the entries of one public value."""
        if self.symbols.inputs[parameter].sort is n.Sort.INT:
            return f"to repeat something, write `for {index} in range({parameter})`"
        lists = [name for name in self.symbols.inputs if self.symbols.is_list(name)]
        return f"the lists here are {listed(lists) or 'none'}"

    def kind_of(self, name: str) -> str:
        """What a name that is no list is."""
        if name in self.symbols.selections:
            return "a selection"
        if name in self.symbols.noise and self.symbols.is_indexed(name):
            return "noise"
        return "one value"

    def _selection(self, name: str, span: Span, place: Place, *, primed: bool) -> None:
        self._known(name, span, place, primed=False)
        if name in place.binders or name not in self.symbols.selections:
            advice = (
                nearest(name, self.symbols.selections) or "write `winners = top(k, …)`, and `j in winners`"
            )
            if self.symbols.is_list(name):
                advice = f"a set of its indices is written `max({name}[j] for j in {name})`"
            self.fail(
                "not-a-selection",
                f"`{name}` is no selection: `in` asks about a variable that `top` gives",
                span,
                help=advice,
            )
        if primed:
            self._fail_prime(f"`{name}` is the selection in the run on D", name, span)

    # --- functions and the output ---

    def _length(self, arg: n.Name) -> None:
        """How long a list is is public, and the same on D and D'."""
        if arg.primed:
            self._fail_prime(f"`{arg.ident}` is as long on D' as on D", arg.ident, arg.span)

    def _function(self, call: n.Call) -> None:
        name = call.function
        span = self.word_at(call.span)
        own = self.symbols.functions.get(name)
        if own is not None:
            if len(call.args) != len(own.args):
                self.fail(
                    "bad-arguments",
                    f"`{name}` takes {len(own.args)} arguments, not {len(call.args)}",
                    call.span,
                    related=(Label(own.span, "declared here"),),
                )
            return
        if name in self.symbols.uses:
            self.fail(
                "bad-call",
                f"`{name}` is a mechanism: its call stands alone on the right of `=`, with named arguments",
                span,
                help=f"write `released = {name}(eps = eps, …)`",
            )
        if name not in n.FUNCTIONS:
            if name in n.GATHERS:
                self._no_set(call, span)
            if name in SPELLINGS:
                message = f"`{name}(…)` is a draw, which is no part of an expression"
                self.fail("draw-in-expression", message, span, help=draw_of(name))
            if name not in IDIOMS and any(
                isinstance(arg, n.Name) and self.symbols.is_list(arg.ident) for arg in call.args
            ):
                # Scalar functions take no lists: this is another mechanism.
                raise scope_fault(self.source, name, CALLS, span)
            if name == "Choose":
                message = f"`{name}(…)` is a draw, which stands behind `~`"
                self.fail("draw-in-expression", message, span, help=f"write `winner ~ {name}(…)`")
            private = [arg for arg in call.args if self._private(arg)]
            if private and IDIOMS.get(name) is None and nearest(name, self._taking(len(call.args))) is None:
                shown = unparse_expr(private[0])
                self.fail(
                    "unknown-function",
                    f"unknown function `{name}`",
                    span,
                    help=f"write `{shown}` alone, or what `{name}` makes of it: `{shown}` is private, and no "
                    "function of one's own takes private values",
                )
            own_sorts = _OWN.format(name, ", ".join("real" for _ in call.args) or "real")
            self.fail(
                "unknown-function",
                f"unknown function `{name}`",
                span,
                help=IDIOMS.get(name) or nearest(name, self._taking(len(call.args))) or own_sorts,
                notes=(own_sorts,) if IDIOMS.get(name) else (),
            )
        low, high = n.FUNCTIONS[name]
        if not low <= len(call.args) <= high:
            wanted = f"{low}" if low == high else f"{low} to {high}"
            plural = "" if wanted == "1" else "s"
            message = f"`{name}` takes {wanted} argument{plural}, not {len(call.args)}"
            first = call.args[0] if call.args else None
            if name in n.GATHERS and isinstance(first, n.Name) and self.symbols.is_list(first.ident):
                self._no_set(call, span)
            self.fail("bad-arguments", message, call.span, help=_call_of(name, call, low))

    def _private(self, expr: n.Expr) -> bool:
        """Whether this is a private answer as it is."""
        name = expr.ident if isinstance(expr, n.Name) else expr.base if isinstance(expr, n.Index) else ""
        public = any(isinstance(each, n.PublicVector) for each in self.symbols.inputs.values())
        item = name in self.symbols.looping and name not in self.symbols.indices and not public
        return item or isinstance(self.symbols.inputs.get(name), n.Queries)

    def _taking(self, count: int) -> Iterator[str]:
        """The functions that so many arguments may be meant for."""
        yield from (name for name, (low, high) in n.FUNCTIONS.items() if low <= count <= high)
        yield from (*n.GATHERS, *self.symbols.uses)
        yield from (name for name, each in self.symbols.functions.items() if len(each.args) == count)

    def _no_set(self, call: n.Call, span: Span) -> Never:
        """`argmax(q)`: what is chosen from is written out."""
        lists = [
            arg.ident for arg in call.args if isinstance(arg, n.Name) and self.symbols.is_list(arg.ident)
        ]
        chosen = f"{'k, ' * (call.function in n.SELECTING)}{lists[0] if lists else 'q'}[j]"
        self.fail(
            "bad-arguments",
            f"`{call.function}` takes a value for each index of a set",
            span,
            help=f"write `{call.function}({chosen} for j in {lists[0] if lists else 'q'})`",
        )

    def _output(self, expr: n.Expr, place: Place) -> None:
        if not place.output:
            self.fail(
                "bad-output",
                f"the output may not be read {place.where}",
                expr.span,
                help="`out` stands in `align` and `privacy` only; a program keeps what it needs in variables",
            )

    def _called(self, expr: n.OutIs | n.OutField | n.OutCount, of: str, place: Place) -> None:
        """A part of what a called mechanism released."""
        span = self.word_at(expr.span)
        if of not in self.symbols.calls:
            self._known(of, span, place, primed=False)
            self.fail(
                "not-a-call",
                f"`{of}` has no records: only what a called mechanism released has any",
                span,
                help=f"write `len({of})`"
                if isinstance(expr, n.OutField) and expr.field in ("length", "size", "shape")
                else nearest(of, self.symbols.calls)
                or (
                    f"write `{of} == …` to compare it, or `out[i] is TAG`"
                    if isinstance(expr, n.OutIs)
                    else f"it is one value: write `{of}`"
                ),
            )
        self._known(of, span, place, primed=False)
        if not isinstance(expr, n.OutCount):
            self.read(expr.index, place)
        self._record(expr, self.symbols.released(of), f" of `{of}`", "the tags are")

    def _record(
        self, expr: n.OutIs | n.OutField | n.OutCount, records: Mapping[str, n.Emit], of: str, lead: str
    ) -> None:
        """Whether some record has the tag, or the field."""
        fields = {each.name: None for emit in records.values() for each in emit.fields}
        if isinstance(expr, n.OutField):
            if expr.field not in fields:
                advice = nearest(expr.field, fields) or f"the fields are {listed(fields) or 'none'}"
                message = f"no record{of} has a field `{expr.field}`"
                self.fail("unknown-field", message, expr.span, help=advice)
        elif expr.tag is not None and expr.tag not in records:
            tag, none = expr.tag, "none" if of else "nothing"
            advice = nearest(tag, records) or f"{lead} {listed(records) or none}"
            if tag in fields and not of:
                record = f"out[{unparse_expr(expr.index)}]" if isinstance(expr, n.OutIs) else "out[i]"
                advice = f"`{tag}` is a field: its value is `{record}.{tag}`"
            self.fail("unknown-tag", f"no record{of} has the tag `{tag}`", expr.span, help=advice)

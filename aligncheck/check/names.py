"""Names in expressions: known, public where they must be, with a value, primed or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Never, assert_never

from aligncheck.check.symbols import ALIGNMENT_COST, ANSWER_INDEX, Symbols, listed
from aligncheck.diagnostics import Label, fault
from aligncheck.source import Source, Span
from aligncheck.syntax import nodes as n
from aligncheck.syntax.faults import nearest
from aligncheck.syntax.refused import CALLS, REFUSED_FUNCTIONS, scope_fault

_FOREIGN_FUNCTIONS = {
    "log": "write `ln` for the natural logarithm, `log2` for base 2",
    "log10": "write `ln(x)/ln(10)`",
    "pow": "write `x**2`",
    "round": "write `floor(x + 1/2)`",
    "ceil": "write `-floor(-x)`",
    "int": "write `floor(x)`",
    "mod": "write `a % b`",
    "clamp": "write `clip(x, low, high)`",
    "size": "write `len(q)`",
    "length": "write `len(q)`",
    "sum": "add up in a loop",
    "range": "`range` stands in `for i in range(…)` only",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where an expression stands, and what may be read there.

    `where` completes the sentence "`x` may have no value …". `public` admits only public inputs. `assigned`
    are the program's names that have a value on every path to the place (noise with an index: on some path);
    None where the program's names mean nothing. `drawn` are the draws with an index that every path has made,
    `local` those whose index tells which round of the innermost loop makes them. `binders` are index names
    that the place itself brings. `primes`, `output` and `cost` admit `x'`, `out` and the alignment's cost.
    `point` is where the expression is evaluated, if that is not where it stands.
    """

    where: str
    public: bool = False
    assigned: frozenset[str] | None = None
    drawn: frozenset[n.Expr] = frozenset()
    local: frozenset[n.Expr] = frozenset()
    binders: frozenset[str] = frozenset()
    primes: bool = False
    output: bool = False
    cost: bool = False
    point: Label | None = None


class Reader:
    """Checks the names of expressions against the places where they stand."""

    def __init__(self, source: Source, symbols: Symbols) -> None:
        self.source = source
        self.symbols = symbols

    def fail(self, code: str, message: str, span: Span, **more: Any) -> Never:
        """Raises the SpecError for a fault."""
        raise fault(self.source, code, message, span, **more)

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
            case n.Parameter(where=where):
                self._optional(where, Place("in `where` of a public input", public=True))
            case n.PublicVector(where=where):
                self._optional(where, Place("in `where` of a public input", public=True, binders=indexed))
            case n.Queries(sensitivity=sensitivity, lattice=lattice, range=interval, where=where):
                binders = indexed if item.vector else frozenset()
                each = frozenset() if item.adjacency is n.Adjacency.L1 else binders
                self._optional(sensitivity, Place("in `sensitivity`", public=True, binders=each))
                self._optional(lattice, Place("in `lattice`", public=True, binders=binders))
                for bound in interval or ():
                    self.read(bound, Place("in `range`", public=True, binders=binders))
                self._optional(where, Place("in `where` of queries", binders=binders))
            case _:
                assert_never(item)

    def _optional(self, expr: n.Expr | None, place: Place) -> None:
        if expr is not None:
            self.read(expr, place)

    # --- expressions ---

    def read(self, expr: n.Expr, place: Place) -> None:
        """Raises SpecError for the first fault in `expr`, from left to right."""
        match expr:
            case n.Number() | n.Boolean():
                pass
            case n.Name():
                self._plain(expr, place)
            case n.Index():
                self._indexed(expr, place)
            case n.Call("len", (n.Name(ident),)) if self.symbols.is_list(ident):
                self._length(expr.args[0])
            case n.Call(args=args):
                self._function(expr)
                for arg in args:
                    self.read(arg, place)
            case n.Unary(operand=operand):
                self.read(operand, place)
            case n.Binary(left=left, right=right) | n.Compare(left=left, right=right):
                self.read(left, place)
                self.read(right, place)
            case n.Logic(args=args):
                for arg in args:
                    self.read(arg, place)
            case n.Conditional(test, then, otherwise):
                for part in (then, test, otherwise):
                    self.read(part, place)
            case n.OutIs(index, tag):
                self._output(expr, place)
                self.read(index, place)
                self._tag(tag, expr.span)
            case n.OutField(index, field):
                self._output(expr, place)
                self.read(index, place)
                self._field(field, expr.span)
            case n.OutCount(tag):
                self._output(expr, place)
                if tag is not None:
                    self._tag(tag, expr.span)
            case _:
                assert_never(expr)

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

    def _known(self, name: str, span: Span, place: Place, *, primed: bool) -> None:
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
            self._unknown(name, span, place)
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
            )
        if primed and public:
            self._fail_prime(f"`{name}` is public, the same on D and D'", name, span)

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
        self.fail(
            "maybe-unassigned",
            f"`{name}` may have no value {place.where}",
            span,
            related=(Label(first, "it gets a value here"), *((place.point,) if place.point else ())),
            help=f"give `{name}` a value on every path that leads here",
        )

    def _unknown(self, name: str, span: Span, place: Place) -> Never:
        if name == "out":
            self.fail(
                "bad-output",
                "`out` is the whole output; this is no part of it",
                span,
                help="write `out[i] is TAG`, `out[i].FIELD`, `out.count(TAG)` or `len(out)`",
            )
        if name == ALIGNMENT_COST:
            self.fail("bad-output", "the cost of the alignment has a name in `invariant` lines only", span)
        advice = {
            "True": "write `true`",
            "False": "write `false`",
            "inf": "leave an infinite bound out",
            "infinity": "leave an infinite bound out",
        }.get(name)
        known: list[str] = [*place.binders, *self.symbols.inputs]
        if place.assigned is not None:
            known += [*self.symbols.variables, *self.symbols.noise]
        tag = name in self.symbols.tags
        written = self.source.text_of(self.word_at(span))
        spelt = f" (that is, `{name}`)" if written != name else ""
        self.fail(
            "unknown-name",
            f"unknown name `{written}`{spelt}" + (": it is the tag of a record" if tag else ""),
            span,
            help=advice or nearest(name, known) or (f"for a test write `out[i] is {name}`" if tag else None),
        )

    # --- lists and draws ---

    def _indexed(self, expr: n.Index, place: Place) -> None:
        base = expr.base
        self._known(base, self.word_at(expr.span), place, primed=expr.primed)
        self.read(expr.index, place)
        if base in place.binders or base not in self.symbols.noise:
            return
        first = Label(self.symbols.noise[base][0].span, "drawn here")
        if not self.symbols.is_indexed(base):
            message = f"`{base}` is drawn without an index"
            self.fail("noise-index", message, expr.span, related=(first,), help=f"write `{base}`")
        draw = n.Index(base, expr.index)
        if base not in (place.assigned or ()) or (draw in place.local and draw not in place.drawn):
            self.fail(
                "maybe-unassigned",
                f"`{self.source.text_of(expr.span)}` may not have been drawn {place.where}",
                expr.span,
                related=(first,),
                help="draw it on every path that leads here",
            )

    # --- functions and the output ---

    def _length(self, arg: n.Expr) -> None:
        """How long a list is is public, and the same on D and D'."""
        if isinstance(arg, n.Name) and arg.primed:
            self._fail_prime(f"`{arg.ident}` is as long on D' as on D", arg.ident, arg.span)

    def _function(self, call: n.Call) -> None:
        name = call.function
        span = self.word_at(call.span)
        if name not in n.FUNCTIONS:
            refused = REFUSED_FUNCTIONS.get(name.lower())
            if refused is not None:
                raise scope_fault(self.source, name, refused, span)
            if any(isinstance(arg, n.Name) and self.symbols.is_list(arg.ident) for arg in call.args):
                # Scalar functions take no lists: this is another mechanism.
                raise scope_fault(self.source, name, CALLS, span)
            self.fail(
                "unknown-function",
                f"unknown function `{name}`",
                span,
                help=_FOREIGN_FUNCTIONS.get(name) or nearest(name, n.FUNCTIONS),
                notes=("calls of other mechanisms and functions of one's own are not supported yet",),
            )
        low, high = n.FUNCTIONS[name]
        if not low <= len(call.args) <= high:
            wanted = f"{low}" if low == high else f"{low} to {high}"
            plural = "" if wanted == "1" else "s"
            message = f"`{name}` takes {wanted} argument{plural}, not {len(call.args)}"
            self.fail("bad-arguments", message, call.span)

    def _output(self, expr: n.Expr, place: Place) -> None:
        if not place.output:
            self.fail(
                "bad-output",
                f"the output may not be read {place.where}",
                expr.span,
                help="`out` stands in `align` only; a program keeps what it needs in variables",
            )

    def _tag(self, tag: str, span: Span) -> None:
        tags = self.symbols.tags
        if tag not in tags:
            advice = nearest(tag, tags) or f"the program emits {listed(tags) or 'nothing'}"
            self.fail("unknown-tag", f"no record has the tag `{tag}`", span, help=advice)

    def _field(self, field: str, span: Span) -> None:
        fields = {each.name: None for emit in self.symbols.tags.values() for each in emit.fields}
        if field not in fields:
            advice = nearest(field, fields) or f"the fields are {listed(fields) or 'none'}"
            self.fail("unknown-field", f"no record has a field `{field}`", span, help=advice)

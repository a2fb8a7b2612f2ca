"""Lark's tree to AST: one method per rule of `grammar.lark`.

Nothing here recurses, so that the depth of the input cannot matter; `limits.py` looks at the depth of the
result. A compound statement's span is its header line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from aligncheck.language.adjacencies import Shared
from aligncheck.language.conditions import Condition, condition_named
from aligncheck.language.diagnostics import Faults, Label, SpecError
from aligncheck.language.families import SPELLINGS, Family
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import rewrite
from aligncheck.language.syntax.layout import Lexeme
from aligncheck.language.syntax.tables import cell, over_row, row_loop
from aligncheck.language.syntax.walk import parts_of, statements_in, with_parts
from aligncheck.language.syntax.wording.faults import nearest
from aligncheck.language.syntax.wording.idioms import LIBRARIES, idiom_of
from aligncheck.language.syntax.wording.refused import CALLS, REFUSED_FAMILIES, REPEAT, scope_fault

MAX_DIGITS = 40
MAX_EXPONENT = 40
MAX_ARMS = 64

VERDICTS = ("verified", "alignment fails", "refuted", "unknown", "error")

_ATTRIBUTES = ("sensitivity", "lattice", "where", "default")
"""Rules for a word with an expression after it."""

_Children = list[Any]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Invariant:
    """An `invariant` line, until the loop around it takes it."""

    value: n.Expr
    span: Span


@dataclass(frozen=True, slots=True)
class _Attribute:
    name: str
    value: Any
    span: Span


@dataclass(frozen=True, slots=True)
class _Argument:
    name: Lexeme | None
    value: n.Expr

    @property
    def span(self) -> Span:
        return self.value.span if self.name is None else self.name.span.to(self.value.span)


@dataclass(frozen=True, slots=True)
class _Sort:
    """`int queries`: the sort, None where it is left out, and `vector`, `query`, `queries` or None."""

    sort: n.Sort | None
    shape: str | None
    span: Span
    table: tuple[n.Expr, n.Expr] | None = None


_Body = list["n.Stmt | _Invariant"]


def _present(children: Iterable[_T | None]) -> list[_T]:
    return [child for child in children if child is not None]


def _over(parts: Sequence[Any]) -> Span:
    """From the first to the last of the parts that are there."""
    there = _present(parts)
    first: Span = there[0].span
    return first.to(there[-1].span)


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _read_as_entry(expr: n.Expr, item: str, base: str, index: n.Expr) -> n.Expr:
    """The expression with `base[index]` for `item`.

    Walks with a stack of its own: the depth of the expression is not known yet.
    """
    done: list[n.Expr] = []
    pending: list[tuple[n.Expr, bool]] = [(expr, False)]
    while pending:
        node, ready = pending.pop()
        parts = parts_of(node)
        if isinstance(node, n.Name) and node.ident == item:
            done.append(n.Index(base, index, node.primed, span=node.span))
        elif not ready:
            pending.append((node, True))
            pending.extend((part, False) for part in reversed(parts))
        else:
            start = len(done) - len(parts)
            anew = tuple(done[start:])
            del done[start:]
            same = all(one is other for one, other in zip(anew, parts, strict=True))
            done.append(node if same else with_parts(node, anew))
    return done[0]


class Builder(Faults):
    """What each rule means: children are lexemes, nodes, and None for what is left out."""

    def __init__(self, source: Source, remarks: tuple[str, ...]) -> None:
        super().__init__(source)
        self._remarks = remarks

    def built(self, tree: Any) -> Any:
        """What a complete part of the text means, children first and the earlier ones before the later ones.

        Raises SpecError.
        """
        from lark import Tree

        done: list[Any] = []
        pending: list[tuple[Any, bool]] = [(tree, False)]
        while pending:
            part, ready = pending.pop()
            if not isinstance(part, Tree):
                done.append(part)
            elif not ready:
                pending.append((part, True))
                pending.extend((child, False) for child in reversed(part.children))
            else:
                start = len(done) - len(part.children)
                done[start:] = [self._meaning(part.data, done[start:])]
        return done[0]

    def _meaning(self, rule: str, children: _Children) -> Any:
        """The parts of a rule that begins with `_` belong to the rule around it, which is not complete."""
        if rule in _ATTRIBUTES:
            return _Attribute(rule, children[1], _over(children))
        return None if rule.startswith("_") else getattr(self, rule)(children)

    # --- the whole ---

    def start(self, c: _Children) -> n.Mechanism:
        mechanism: n.Mechanism = c[0]
        return mechanism

    def mechanism(self, c: _Children) -> n.Mechanism:
        (name, doc), opening, inputs, claim, body, align, expected = c
        expect, also_refuted = expected or (None, False)
        return n.Mechanism(
            name.text,
            doc,
            self._remarks,
            tuple(inputs or ()),
            claim,
            _with_log_sums(tuple(body)),
            tuple(align or ()),
            expect,
            tuple(each for each in opening or () if isinstance(each, n.Use)),
            tuple(each for each in opening or () if isinstance(each, n.Function)),
            also_refuted,
            span=name.span,
        )

    def head(self, c: _Children) -> tuple[Lexeme, str]:
        _, name, *rest = c
        docs = [child for child in rest if isinstance(child, str)]
        return name, docs[0] if docs else ""

    def doc(self, c: _Children) -> str:
        return " ".join(lexeme.text for lexeme in c if lexeme.type == "STRING" and lexeme.text)

    def opening(self, c: _Children) -> list[n.Use | n.Function]:
        return c

    def use(self, c: _Children) -> n.Use:
        _, name, _, path, _ = c
        return n.Use(name.text, path.text, span=_over(c[:4]))

    def function(self, c: _Children) -> n.Function:
        _, name, _, kinds, _, _, result, _ = c
        return n.Function(name.text, tuple(kinds or ()), result, span=_over([*c[:3], *c[4:6]]))

    def kinds(self, c: _Children) -> list[n.Sort]:
        return [child for child in c if isinstance(child, n.Sort)]

    def kind(self, c: _Children) -> n.Sort:
        return n.Sort(c[0].text)

    def pure(self, c: _Children) -> n.Pure:
        _, epsilon, *rest = c
        bounds = [child for child in rest if child is not None and not isinstance(child, Lexeme)]
        return n.Pure(epsilon, bounds[0] if bounds else None, span=epsilon.span)

    def approximate(self, c: _Children) -> n.Approximate:
        _, epsilon, _, delta, _ = c
        return n.Approximate(epsilon, delta, span=_over(c[1:-1]))

    def concentrated(self, c: _Children) -> n.Concentrated:
        return n.Concentrated(c[1], span=c[1].span)

    def body(self, c: _Children) -> list[n.Stmt]:
        statements: list[n.Stmt] = c[3]
        return statements

    def expectations(self, c: _Children) -> tuple[n.Expectation, bool]:
        """The expectation, and whether `expect refuted` stands beside it."""
        lines: list[n.Expectation] = c
        if len(lines) == 1:
            return lines[0], False
        others = [line for line in lines if line.verdict != "refuted"]
        if len(lines) > 2 or len(others) != 1:
            self.fail(
                "bad-expect",
                "there are two expectations of one verdict",
                lines[1].span,
                related=(Label(lines[0].span, "first here"),),
                help="only `expect refuted` may stand beside another `expect` line",
            )
        if others[0].verdict in ("verified", "error"):
            self.fail(
                "bad-expect",
                f"`expect {others[0].verdict}` and `expect refuted` contradict each other",
                lines[1].span,
                related=(Label(lines[0].span, "the other one"),),
            )
        return others[0], True

    def expectation(self, c: _Children) -> n.Expectation:
        phrase: Lexeme = c[1]
        words = " ".join(phrase.text.split())
        verdict, _, at = words.partition(" at ")
        if verdict not in VERDICTS:
            self.fail(
                "bad-expect",
                f"`{words}` is no expectation",
                phrase.span,
                help="write `expect verified`, `expect alignment fails at CONDITION`, `expect refuted`, "
                "`expect unknown at CONDITION` or `expect error at CODE`",
            )
        if at:
            self._check_expected(verdict, at, phrase.span)
        return n.Expectation(verdict, at or None, span=phrase.span)

    def _check_expected(self, verdict: str, at: str, span: Span) -> None:
        if verdict in ("verified", "refuted"):
            self.fail("bad-expect", f"`expect {verdict}` has no `at`", span)
        if verdict != "error" and condition_named(at) is None:
            ids = [condition.id for condition in Condition]
            self.fail(
                "bad-expect",
                f"`{at}` is no condition",
                span,
                help=nearest(at, ids) or "the conditions are " + ", ".join(ids),
            )
        if verdict == "error" and not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", at):
            self.fail("bad-expect", f"`{at}` is no error code", span, help="such as `unknown-name`")

    # --- inputs ---

    def inputs(self, c: _Children) -> list[n.Input]:
        return [each for child in c if isinstance(child, list) for each in child]

    def idents(self, c: _Children) -> list[Lexeme]:
        return [lexeme for lexeme in c if lexeme.type == "NAME"]

    def sort(self, c: _Children) -> _Sort:
        words = _present(c)
        sort: n.Sort | None = None
        shape: str | None = None
        for word in words:
            if word.text in ("real", "int", "bool"):
                sort = n.Sort(word.text)
            else:
                shape = word.text
        return _Sort(sort, shape, _over(words))

    def table(self, c: _Children) -> _Sort:
        kind, shape, _, rows, _, _, columns, _ = c
        sort = None if kind is None else n.Sort(kind.text)
        return _Sort(sort, shape.text, _over(c), (rows, columns))

    def range_(self, c: _Children) -> _Attribute:
        return _Attribute("range", (c[2], c[4]), _over(c))

    def adjacency(self, c: _Children) -> _Attribute:
        word: Lexeme = c[1]
        known = {each.value: each for each in n.Adjacency}
        if word.text.lower() not in known:
            self.fail(
                "unknown-adjacency",
                f"unknown adjacency `{word.text}`",
                word.span,
                help=nearest(word.text, known) or "the adjacencies are " + _listed(known),
            )
        return _Attribute("adjacency", known[word.text.lower()], _over(c))

    def same(self, c: _Children) -> _Attribute:
        word, other = c[1], c[3]
        known = [each.value for each in Shared]
        if word.text not in known:
            message = f"answers of two lines share no `{word.text}`"
            advice = nearest(word.text, known) or "write `same index as q` or `same direction as q`"
            self.fail("unknown-attribute", message, word.span, help=advice)
        return _Attribute(f"same {word.text}", n.Name(other.text, span=other.span), _over(c))

    def declaration(self, c: _Children) -> list[n.Input]:
        names: list[Lexeme] = c[0]
        sort: _Sort = c[2]
        attributes = [child for child in c if isinstance(child, _Attribute)]
        present = _present(c)
        for position, child in enumerate(present):
            if isinstance(child, Lexeme) and child.type == "WHERE":
                clause = present[position + 1]
                attributes.append(_Attribute("where", clause, child.span.to(clause.span)))
        found: dict[str, _Attribute] = {}
        for attribute in attributes:
            if attribute.name in found:
                self.fail(
                    "duplicate-attribute",
                    f"`{attribute.name}` is given twice",
                    attribute.span,
                    related=(Label(found[attribute.name].span, "first here"),),
                    help="join conditions with `and`" if attribute.name == "where" else None,
                )
            found[attribute.name] = attribute
        span = names[0].span.to(present[-2].span)
        if sort.shape in ("query", "queries"):
            return [self._queries(names, sort, found, span)]
        return self._public(names, sort, found, span)

    def _queries(
        self, names: list[Lexeme], sort: _Sort, found: dict[str, _Attribute], span: Span
    ) -> n.Queries:
        if sort.sort is n.Sort.BOOL:
            self.fail("bad-sort", "an answer is a number, not a bool", sort.span)

        def value(name: str) -> Any:
            return found[name].value if name in found else None

        if "default" in found:
            raise self._no_default(found["default"], "private answers have no default: they are data")
        adjacency: n.Adjacency = value("adjacency") or n.Adjacency.ALL
        self._check_moves(found, adjacency, sort.span)
        return n.Queries(
            tuple(name.text for name in names),
            sort.shape == "queries",
            sort.sort or n.Sort.REAL,
            adjacency,
            value("sensitivity"),
            value("lattice"),
            value("range"),
            value("where"),
            value("same index"),
            value("same direction"),
            sort.table,
            span=span,
        )

    def _check_moves(self, found: dict[str, _Attribute], adjacency: n.Adjacency, span: Span) -> None:
        """Adjacency `any` says by a range how far answers move, every other one by a sensitivity."""
        if adjacency.free:
            if "range" not in found:
                self.fail(
                    "missing-range",
                    "adjacency `any` needs a range",
                    found["adjacency"].span,
                    help="add `range [low, high]`: any answer in it may be replaced by any other",
                )
            if "sensitivity" in found:
                self.fail(
                    "unexpected-attribute",
                    "under adjacency `any` an answer moves freely within its range: there is no sensitivity",
                    found["sensitivity"].span,
                    help="leave it out",
                )
        elif "sensitivity" not in found:
            self.fail(
                "missing-sensitivity",
                "a query needs a sensitivity: how far may its answer move?",
                span,
                help="add `, sensitivity 1`",
            )

    def _public(
        self, names: list[Lexeme], sort: _Sort, found: dict[str, _Attribute], span: Span
    ) -> list[n.Input]:
        is_list = sort.shape == "vector"
        if is_list and "default" in found:
            raise self._no_default(found["default"], "a list has no default")
        for name, attribute in found.items():
            if name not in ("where", "default"):
                self.fail(
                    "unexpected-attribute",
                    f"`{name}` belongs to queries; `{names[0].text}` is public",
                    attribute.span,
                    help=f"declare it as `query` or `queries`, or leave `{name}` out",
                )
        where = found["where"].value if "where" in found else None
        more = {"default": found["default"].value} if "default" in found else {}
        kind = n.PublicVector if is_list else n.Parameter
        # A clause on a line with several names is kept once, with the last of them.
        return [
            kind(name.text, sort.sort or n.Sort.REAL, where if name is names[-1] else None, **more, span=span)
            for name in names
        ]

    def _no_default(self, attribute: _Attribute, message: str) -> SpecError:
        advice = "only public numbers and truth values have one: leave it out"
        return self.fault("unexpected-attribute", message, attribute.span, help=advice)

    # --- statements ---

    def statements(self, c: _Children) -> list[n.Stmt]:
        body = [child for child in c if child is not None and not isinstance(child, Lexeme)]
        for each in body:
            if isinstance(each, _Invariant):
                raise self._misplaced(each)
        return body

    def _misplaced(self, invariant: _Invariant) -> SpecError:
        return self.fault(
            "misplaced-invariant",
            "an `invariant` stands at the top of a loop's body, before its other statements",
            invariant.span,
        )

    def assign(self, c: _Children) -> n.Assign:
        return n.Assign(c[0].text, c[2], span=_over(c))

    def invoke(self, c: _Children) -> n.Invoke:
        name, _, repeat, callee, *_, rounds = c
        arguments = [child for child in c if isinstance(child, n.Argument)]
        if callee.text in n.FUNCTIONS or callee.text in n.GATHERS:
            place = self.source.text.index("=", arguments[0].span.start)
            self.fail(
                "unexpected-equals",
                f"`{callee.text}` is a function: its arguments have no names",
                Span(place, place + 1),
                help="for a comparison write `==`",
            )
        for position, each in enumerate(arguments):
            if each.name in {other.name for other in arguments[:position]}:
                self.fail("bad-arguments", f"`{each.name}` is given twice", each.span)
        if (repeat is None) != (rounds is None):
            message = "a call is repeated until a test of what it released holds"
            self.fail("bad-repeat", message, _over(c), help=f"write `{name.text} = {REPEAT}`")
        return n.Invoke(name.text, callee.text, tuple(arguments), rounds, span=_over(c))

    def rounds(self, c: _Children) -> n.Rounds:
        """How often a call is repeated; without a chance to stop it might not end."""
        _, test, _, _, _, chance, _, _, most, _ = c
        if chance is None:
            why = (
                "it ends only if there is a chance to stop after each round, or the test has one to hold on "
                "every input, of which there is no proof; the claim is the same for every chance above 0"
            )
            self.fail(
                "bad-repeat",
                "nothing shows that this ends",
                _over(c),
                notes=(why,),
                help="add `stop with probability E`, where 0 < E <= 1, as `1/1000`",
            )
        return n.Rounds(test, chance, most, span=_over(c))

    def given(self, c: _Children) -> n.Argument:
        return n.Argument(c[0].text, c[2], span=_over(c))

    def given_part(self, c: _Children) -> n.Argument:
        """`f = q[low:high]`, which stands for `f = list(q[part] for part in range(low, high))`."""
        name, _, base, _, low, _, high, _ = c
        return self._part(name, base, None, low, high, _over(c[2:]))

    def given_part_of_row(self, c: _Children) -> n.Argument:
        """`f = q[row][low:high]`, which stands for `f = list(q[row][part] for part in range(low, high))`."""
        name, _, base, _, row, _, _, low, _, high, _ = c
        return self._part(name, base, row, low, high, _over(c[2:]))

    def _part(
        self,
        name: Lexeme,
        base: Lexeme,
        row: n.Expr | None,
        low: n.Expr | None,
        high: n.Expr | None,
        span: Span,
    ) -> n.Argument:
        low = n.Number(Fraction(0), span=span) if low is None else low
        whole = n.Name(base.text, span=base.span) if row is None else n.Index(base.text, row, span=base.span)
        high = n.Call("len", (whole,), span=span) if high is None else high
        part = n.Name("part", span=span)
        entries = n.OverRange(low, high, span=span)
        entry = n.Index(base.text, part if row is None else cell(row, part, span), span=base.span)
        value = n.Gather(n.LISTING, None, entry, part.ident, entries, None, span=span)
        return n.Argument(name.text, value, span=name.span.to(span))

    def break_(self, c: _Children) -> n.Break:
        return n.Break(span=c[0].span)

    def pass_(self, c: _Children) -> n.Pass:
        return n.Pass(span=c[0].span)

    def invariant(self, c: _Children) -> _Invariant:
        return _Invariant(c[1], _over(c))

    def arguments(self, c: _Children) -> list[_Argument]:
        return [child for child in c if isinstance(child, _Argument)]

    def argument(self, c: _Children) -> _Argument:
        return _Argument(c[0], c[-1])

    def sample(self, c: _Children) -> n.Sample | n.Logistic:
        name, _, index, _, _, column, _, _, family_word, *rest = c
        index = index if column is None else cell(index, column, index.span.to(column.span))
        arguments = next((child for child in rest if isinstance(child, list)), [])
        clause = rest[-1]
        if family_word.text == "Logistic" and (clause is not None or len(arguments) > 1):
            return self._logistic(name, index, arguments, clause, span=_over(c))
        family = self._family(family_word)
        if clause is not None:
            self.fail(
                "bad-truncation",
                f"`{family.value}` noise is not cut off",
                clause.span,
                help="leave the `where` out, and `clip` what is released",
            )
        span = _over(c)
        return n.Sample(
            name.text, index, family, self._family_arguments(family, arguments, family_word), span=span
        )

    def choose(self, c: _Children) -> n.Choose:
        name, opening, index, _, _, word, *_ = c
        if word.text != "Choose":
            advice = nearest(word.text, ("Choose",)) or "write `winner ~ Choose(exp(E) for i in q)`"
            if word.text in SPELLINGS:
                advice = f"draw in a loop: `for i in range(k): {name.text}[i] ~ {word.text}(…)`"
            self.fail("unknown-family", f"`{word.text}` does not choose from a set", word.span, help=advice)
        if index is not None:
            self.fail(
                "noise-index",
                "what is chosen has no index",
                opening.span.to(index.span),
                help=f"write `{name.text} ~ Choose(…)`",
            )
        start = next(i for i, child in enumerate(c) if isinstance(child, Lexeme) and child.type == "FOR")
        weights = self._set(word, None, c[start - 1], c[start:])
        return n.Choose(name.text, replace(weights, span=_over(c[5:])), span=_over(c))

    def _logistic(
        self,
        name: Lexeme,
        index: n.Expr | None,
        arguments: list[_Argument],
        clause: n.Expr | None,
        *,
        span: Span,
    ) -> n.Logistic:
        usage = "write `gap ~ Logistic(location, scale) where gap > 0`"
        if index is not None:
            self.fail("noise-index", "a number with a stated density has no index", index.span, help=usage)
        given = self._named_arguments("Logistic", ("location", "scale"), arguments, usage)
        if "location" not in given:
            self.fail("bad-arguments", "`Logistic` needs its location", span, help=usage)
        low: n.Expr | None = None
        if isinstance(clause, n.Compare) and clause.op == ">" and clause.left == n.Name(name.text):
            low = clause.right
        elif clause is not None:
            self.fail(
                "bad-truncation",
                f"a draw is cut off below by one bound: `{name.text} > E`",
                clause.span,
                help=f"write `where {name.text} > 0`",
            )
        scale = given.get("scale", n.Number(Fraction(1), span=span))
        return n.Logistic(name.text, given["location"], scale, low, span=span)

    def _family(self, word: Lexeme) -> Family:
        if word.text in SPELLINGS:
            return SPELLINGS[word.text]
        reason = REFUSED_FAMILIES.get(word.text.lower())
        if reason is not None:
            raise scope_fault(self.source, word.text, reason, word.span)
        raise self.fault(
            "unknown-family",
            f"unknown noise `{word.text}`",
            word.span,
            help=("write `winner ~ Choose(exp(E) for i in q)`" if word.text == "Choose" else None)
            or nearest(word.text, (*SPELLINGS, "Choose"))
            or "the families are " + ", ".join(map(_usage, Family)),
            notes=(CALLS[0],),
        )

    def _family_arguments(
        self, family: Family, arguments: list[_Argument], word: Lexeme
    ) -> tuple[n.Expr, ...]:
        wanted = family.arguments
        usage = f"write `{_usage(family)}`"
        if family.bounded:
            usage += f", from 0 on: `a + x` with `x ~ {family.value}(b - a)` is from a to b"
        given = self._named_arguments(family.value, wanted, arguments, usage)
        if family.stepped:
            given.setdefault("step", n.Number(Fraction(1), span=word.span))
        for name in wanted:
            if name not in given:
                self.fail("bad-arguments", f"`{family.value}` needs its {name}", word.span, help=usage)
        return tuple(given[name] for name in wanted)

    def _named_arguments(
        self, family: str, wanted: tuple[str, ...], arguments: list[_Argument], usage: str
    ) -> dict[str, n.Expr]:
        """The arguments by name; those without one are in the order of `wanted`."""
        given: dict[str, n.Expr] = {}
        for position, argument in enumerate(arguments):
            name = argument.name.text if argument.name else wanted[position] if position < len(wanted) else ""
            if name not in wanted or name in given:
                message = (
                    f"`{family}` takes {len(wanted)} argument{'s' if len(wanted) > 1 else ''}"
                    if not argument.name
                    else f"`{name}` is given twice"
                    if name in given
                    else f"`{family}` has no argument `{name}`"
                )
                self.fail("bad-arguments", message, argument.span, help=usage)
            given[name] = argument.value
        return given

    def emit(self, c: _Children) -> n.Emit:
        tag: Lexeme = c[1]
        arguments: list[_Argument] = next((child for child in c if isinstance(child, list)), [])
        fields: list[n.EmitField] = []
        for argument in arguments:
            if argument.name is None and tag.text in n.FUNCTIONS:
                advice = f"write `emit answer({tag.text}(…))`, with a tag of your own"
                self.fail("missing-tag", f"`{tag.text}` is a function, and no tag", tag.span, help=advice)
            if argument.name is None and len(arguments) > 1:
                x = argument.value.ident if isinstance(argument.value, n.Name) else None
                self.fail(
                    "unnamed-field",
                    "a record with several fields needs a name for each",
                    argument.span,
                    help=f"write `{x or 'name'} = {x or 'value'}`",
                )
            name = argument.name.text if argument.name else "value"
            if name in {each.name for each in fields}:
                advice = "give each field a name of its own"
                self.fail(
                    "duplicate-field", f"the record has two fields `{name}`", argument.span, help=advice
                )
            fields.append(n.EmitField(name, argument.value, span=argument.span))
        return n.Emit(tag.text, tuple(fields), span=_over(c))

    def block(self, c: _Children) -> _Body:
        return [child for child in c if child is not None and not isinstance(child, Lexeme)]

    def _plain(self, body: _Body) -> tuple[n.Stmt, ...]:
        """A body that is no loop's: no invariants."""
        for each in body:
            if isinstance(each, _Invariant):
                raise self._misplaced(each)
        return tuple(each for each in body if not isinstance(each, _Invariant))

    def _loop_body(self, body: _Body) -> tuple[tuple[n.Stmt, ...], tuple[n.Expr, ...]]:
        """The statements and the invariants above them."""
        count = next((i for i, each in enumerate(body) if not isinstance(each, _Invariant)), len(body))
        invariants = tuple(each.value for each in body[:count] if isinstance(each, _Invariant))
        statements = self._plain(body[count:])
        return statements or (n.Pass(span=body[-1].span),), invariants

    def branches(self, c: _Children) -> list[n.Branch]:
        *before, word, test, body = c
        return self._arms("an `if`", before, n.Branch(test, self._plain(body), span=word.span.to(test.span)))

    def _arms(self, what: str, before: list[list[_T]], arm: _T) -> list[_T]:
        found = [*(before[0] if before else ()), arm]
        if len(found) > MAX_ARMS:
            self.fail("too-many-branches", f"{what} has at most {MAX_ARMS} arms", _over(found[-1:]))
        return found

    def if_(self, c: _Children) -> n.If:
        branches: list[n.Branch] = c[0]
        otherwise = self._plain(c[2]) if c[2] is not None else ()
        return n.If(tuple(branches), otherwise, span=branches[0].span)

    def while_(self, c: _Children) -> n.While:
        statements, invariants = self._loop_body(c[2])
        return n.While(c[1], statements, invariants, span=_over(c[:2]))

    def for_queries(self, c: _Children) -> n.For:
        *header, body = _present(c)
        names = [child for child in header if child.type == "NAME"]
        index = names[0].text if len(names) == 3 else None
        statements, invariants = self._loop_body(body)
        over = n.OverQueries(names[-1].text, names[-2].text, span=names[-1].span)
        return n.For(index, over, statements, invariants, span=_over(header))

    def for_range(self, c: _Children) -> n.For:
        *header, body = _present(c)
        bounds = [child for child in header if not isinstance(child, Lexeme)]
        low = bounds[0] if len(bounds) == 2 else n.Number(Fraction(0), span=bounds[0].span)
        over = n.OverRange(low, bounds[-1], span=_over(header[3:]))
        statements, invariants = self._loop_body(body)
        return n.For(header[1].text, over, statements, invariants, span=_over(header))

    def for_row(self, c: _Children) -> n.For:
        """`for j, x in q[i]`."""
        *header, body = c
        _, index, _, item, _, base, _, row, _ = header
        statements, invariants = self._loop_body(body)
        whole = n.Index(base.text, row, span=base.span)
        return row_loop(index.text, item.text, whole, statements, invariants, _over(header))

    # --- alignment ---

    def align(self, c: _Children) -> list[n.AlignItem]:
        return self.arm(c)

    def arm(self, c: _Children) -> list[n.AlignItem]:
        return [child for child in c if isinstance(child, n.Shift | n.CaseSplit)]

    def shift(self, c: _Children) -> n.Shift:
        name, _, index, _, _, column, _, op, value, _, guard = c
        index = index if column is None else cell(index, column, index.span.to(column.span))
        return n.Shift(name.text, index, op.text, value, guard, span=_over(c))

    def cases(self, c: _Children) -> list[n.Case]:
        *before, word, test, items = c
        return self._arms("a case split", before, n.Case(test, tuple(items), span=word.span.to(test.span)))

    def case_split(self, c: _Children) -> n.CaseSplit:
        cases: list[n.Case] = c[0]
        return n.CaseSplit(tuple(cases), tuple(c[2] or ()), span=cases[0].span)

    # --- expressions ---

    def conditional(self, c: _Children) -> n.Conditional:
        then, _, test, _, otherwise = c
        return n.Conditional(test, then, otherwise, span=_over(c))

    def logic(self, c: _Children) -> n.Logic:
        return n.Logic(c[1].text, tuple(c[::2]), span=_over(c))

    def unary(self, c: _Children) -> n.Unary:
        return n.Unary(c[0].text, c[1], span=_over(c))

    def binary(self, c: _Children) -> n.Expr:
        left, op, right = c
        if op.text == "**" and (root := _root(left, right, _over(c))) is not None:
            return root
        return n.Binary(op.text, left, right, span=_over(c))

    def compare(self, c: _Children) -> n.Expr:
        """A chain `a < b < c` is the conjunction of its links."""
        links = tuple(
            n.Compare(c[i].text, c[i - 1], c[i + 1], span=_over(c[i - 1 : i + 2]))
            for i in range(1, len(c), 2)
        )
        return links[0] if len(links) == 1 else n.Logic("and", links, span=_over(c))

    def group(self, c: _Children) -> n.Expr:
        """Parentheses leave no node; they belong to the span of what they enclose."""
        inner: n.Expr = c[1]
        return replace(inner, span=_over(c))

    def number(self, c: _Children) -> n.Number:
        return n.Number(self._literal(c[0]), span=c[0].span)

    def _literal(self, lexeme: Lexeme) -> Fraction:
        digits, _, exponent = lexeme.text.lower().partition("e")
        if len(digits) > MAX_DIGITS:
            self.fail(
                "bad-number", f"a number has at most {MAX_DIGITS} digits, not {len(digits)}", lexeme.span
            )
        # The length is looked at first: converting a huge exponent would be work already.
        if len(exponent) > 5 or abs(int(exponent or "0")) > MAX_EXPONENT:
            self.fail(
                "bad-number",
                f"the exponent of this number is out of range: at most {MAX_EXPONENT} either way",
                lexeme.span,
            )
        return Fraction(lexeme.text)

    def boolean(self, c: _Children) -> n.Boolean:
        return n.Boolean(c[0].type == "TRUE", span=c[0].span)

    def name(self, c: _Children) -> n.Name:
        return n.Name(c[0].text, c[1] is not None, span=_over(c))

    def index(self, c: _Children) -> n.Index:
        name, prime, _, index, _ = c
        return n.Index(name.text, index, prime is not None, span=_over(c))

    def cell(self, c: _Children) -> n.Index:
        name, prime, _, row, _, _, column, _ = c
        return n.Index(name.text, cell(row, column, _over(c[2:])), prime is not None, span=_over(c))

    def call(self, c: _Children) -> n.Call:
        args = tuple(child for child in c[1:] if child is not None and not isinstance(child, Lexeme))
        if c[0].text == n.CUBE_ROOT and len(args) == 1:
            return _by_logarithm(args[0], n.THIRD, _over(c))
        return n.Call(c[0].text, args, span=_over(c))

    # --- sets of indices ---

    def indices(self, c: _Children) -> n.Indices:
        return n.Indices(c[0].text, span=c[0].span)

    def over_row(self, c: _Children) -> n.Index:
        return n.Index(c[0].text, c[2], span=_over(c))

    def over_range(self, c: _Children) -> n.OverRange:
        bounds = [child for child in c if child is not None and not isinstance(child, Lexeme)]
        low = bounds[0] if len(bounds) == 2 else n.Number(Fraction(0), span=bounds[0].span)
        return n.OverRange(low, bounds[-1], span=_over(c))

    def gather(self, c: _Children) -> n.Gather:
        start = next(i for i, child in enumerate(c) if isinstance(child, Lexeme) and child.type == "FOR")
        elements: list[n.Expr] = [child for child in c[2:start] if not isinstance(child, Lexeme)]
        count, body = self._gathered(c[0], elements)
        return replace(self._set(c[0], count, body, c[start:]), span=_over(c))

    def _set(self, function: Lexeme, count: n.Expr | None, body: n.Expr, header: _Children) -> n.Gather:
        """The set that `header`, from `for` to the closing bracket, ranges over."""
        _, index, _, item, _, over, _, where, _ = header
        if item is not None:
            if isinstance(over, n.OverRange):
                self.fail(
                    "bad-set",
                    "`range` brings an index only",
                    item.span,
                    help=f"write `for {index.text} in range(…)`",
                )
            if item.text == index.text:
                self.fail("duplicate-name", f"`{item.text}` is both the index and the entry", item.span)
            at: n.Expr = n.Name(index.text, span=item.span)
            at = cell(over.index, at, over.span) if isinstance(over, n.Index) else at
            body = _read_as_entry(body, item.text, over.base, at)
            where = _read_as_entry(where, item.text, over.base, at) if where is not None else None
            over = replace(over, item=item.text) if isinstance(over, n.Indices) else over
        if isinstance(over, n.Index):
            over = over_row(over)
        return n.Gather(function.text, count, body, index.text, over, where)

    def _gathered(self, function: Lexeme, elements: list[n.Expr]) -> tuple[n.Expr | None, n.Expr]:
        """How many are selected, None but for `top`, and the values."""
        name = function.text
        if name not in (*n.GATHERS, n.LOG_SUM):
            scalar = name in n.FUNCTIONS
            self.fail(
                "bad-arguments" if scalar else "unknown-function",
                f"`{name}` takes values, not a set of them" if scalar else f"unknown function `{name}`",
                function.span,
                help=("write `winner ~ Choose(…)`" if name == "Choose" else nearest(name, n.GATHERS))
                or f"over a set there are {_listed(n.GATHERS)}",
            )
        if name in n.SELECTING:
            usage = f"write `{name}(k, q[j] + eta[j] for j in q)`"
            if len(elements) == 1:
                self.fail(
                    "bad-arguments", f"`{name}` needs how many to select, first", function.span, help=usage
                )
            if len(elements) > 2:
                message = f"`{name}` takes a number and one value for each index"
                self.fail("bad-arguments", message, elements[2].span, help=usage)
            return elements[0], elements[1]
        if len(elements) > 1:
            self.fail(
                "bad-arguments",
                f"`{name}` over a set takes one value for each index",
                elements[0].span,
                help=f"write `{name}(q[j] + eta[j] for j in q)`",
            )
        return None, elements[0]

    def member(self, c: _Children) -> n.Expr:
        index, negation, _, selection = c
        if not isinstance(selection, n.Name):
            self.fail(
                "not-a-selection",
                "`in` asks about a variable that `top` gives, by its name",
                selection.span,
                help="a range of numbers is written by comparisons: `1 <= k <= 10`"
                if isinstance(selection, n.Call)
                else "give the selection a name first: `winners = top(k, …)`",
            )
        if selection.primed:
            self.fail(
                "bad-prime",
                f"`{selection.ident}` is the selection in the run on D",
                selection.span,
                help=f"write `{selection.ident}`",
            )
        test = n.Member(index, selection.ident, span=_over(c))
        return test if negation is None else n.Unary("not", test, span=test.span)

    # --- the output ---

    def out_is(self, c: _Children) -> n.Expr:
        out, _, index, _, _, negation, tag = c
        where = index if index is not None else n.Number(Fraction(0), span=out.span)
        test = n.OutIs(where, tag.text, out.text, span=_over(c))
        return test if negation is None else n.Unary("not", test, span=test.span)

    def out_field(self, c: _Children) -> n.OutField:
        return n.OutField(c[2], c[5].text, c[0].text, span=_over(c))

    def first_field(self, c: _Children) -> n.OutField:
        """`picked.index` is `picked[0].index`."""
        return n.OutField(n.Number(Fraction(0), span=c[0].span), c[2].text, c[0].text, span=_over(c))

    def out_length(self, c: _Children) -> n.OutCount:
        return n.OutCount(None, span=_over(c))

    def out_count(self, c: _Children) -> n.OutCount:
        if c[2].text != "count" and c[0].text in LIBRARIES:
            message = f"`{c[0].text}` is no name here: there are no modules"
            self.fail("unknown-name", message, _over(c), help=idiom_of(c[2].text))
        if c[2].text != "count":
            self.fail(
                "bad-output",
                f"`{c[0].text}.{c[2].text}(…)` is not defined",
                _over(c),
                help=f"write `len({c[0].text})`, `{c[0].text}.count(tag)` or `{c[0].text}[i].field`",
            )
        return n.OutCount(c[4].text, c[0].text, span=_over(c))


def _usage(family: Family) -> str:
    return f"{family.value}({', '.join(family.arguments)})"


def _root(base: n.Expr, exponent: n.Expr, span: Span) -> n.Expr | None:
    """A power with a quotient as exponent, `(4*k**2)**(1/3)`: as `sqrt(x)**p` for p/2, else `exp(p/q*ln(x))`,
    which is defined for positive x only. None for other exponents.
    """
    value = exponent.value if isinstance(exponent, n.Number) else None
    if isinstance(exponent, n.Binary) and exponent.op == "/":
        top, bottom = exponent.left, exponent.right
        if isinstance(top, n.Number) and isinstance(bottom, n.Number) and bottom.value != 0:
            value = top.value / bottom.value
    if value is None:
        return None
    if value.denominator <= 2:
        root = base if value.denominator == 1 else n.Call("sqrt", (base,), span=span)
        times = n.Number(Fraction(value.numerator), span=exponent.span)
        return root if value == Fraction(1, 2) else n.Binary("**", root, times, span=span)
    top, bottom = (n.Number(Fraction(part), span=exponent.span) for part in value.as_integer_ratio())
    return _by_logarithm(base, n.Binary("/", top, bottom, span=exponent.span), span)


def _by_logarithm(base: n.Expr, exponent: n.Expr, span: Span) -> n.Call:
    logarithm = n.Call("ln", (base,), span=span)
    return n.Call("exp", (n.Binary("*", exponent, logarithm, span=span),), span=span)


def _with_log_sums(body: tuple[n.Stmt, ...]) -> tuple[n.Stmt, ...]:
    """`logsumexp(E for …)` for `ln(sum(exp(E) for …))`, which it is, in programs that draw by densities."""
    if not any(isinstance(s, n.Choose | n.Logistic) for s in statements_in(body)):
        return body

    def log_sum(e: n.Expr) -> n.Expr:
        inner = e.args[0] if isinstance(e, n.Call) and e.function == "ln" and e.args else None
        if not (isinstance(inner, n.Gather) and inner.function == "sum"):
            return e
        term = inner.body
        if not (isinstance(term, n.Call) and term.function == "exp" and len(term.args) == 1):
            return e
        return replace(inner, function=n.LOG_SUM, body=term.args[0], span=e.span)

    return rewrite.statements(body, lambda s: rewrite.own(s, lambda e: rewrite.bottom_up(e, log_sum)))

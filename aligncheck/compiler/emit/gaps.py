"""Which released numbers are gaps: a private answer with noise, less a threshold's noise, and public numbers.

Such a number estimates the answer, with noise whose distribution is known (`aligncheck.runtime.estimates`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from aligncheck.compiler.forms.rational import rate_of
from aligncheck.language.families import Lattice
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import names_set, statements_in, subexpressions


@dataclass(frozen=True, slots=True)
class Gap:
    """A field of a record that is answer + noise - threshold's noise - `added`.

    `added` and the scales are public numbers that are the same in every round.
    """

    field: str
    added: nodes.Expr
    answer_scale: nodes.Expr
    threshold_scale: nodes.Expr
    one_sided: bool
    step: nodes.Expr | None = None


def released_gaps(mechanism: nodes.Mechanism) -> Mapping[int, Gap]:
    """The gap that an `emit` releases (of several the first), by the `id` of the `Emit` node."""
    reader = Summands.of(mechanism)
    found: dict[int, Gap] = {}
    for statement in statements_in(mechanism.body):
        if isinstance(statement, nodes.Emit):
            gaps = (reader.gap(field.name, field.value) for field in statement.fields)
            found.update((id(statement), gap) for gap in list(filter(None, gaps))[:1])
    return found


@dataclass(frozen=True, slots=True)
class _Part:
    """A summand: `sign` is 1 or -1; `what` is an answer (None), a draw, or a public number."""

    sign: int
    what: nodes.Sample | nodes.Expr | None


class NotASumError(Exception):
    """The number is no sum of answers, draws and public numbers."""


@dataclass(frozen=True, slots=True)
class Summands:
    """What the names of a program stand for, as far as that is the same wherever they are read.

    A variable is looked through where it is set once: the value it is read with is then that of this round.
    """

    answers: frozenset[str]
    draws: Mapping[str, nodes.Sample]
    public: frozenset[str]
    values: Mapping[str, nodes.Expr]

    @classmethod
    def of(cls, mechanism: nodes.Mechanism) -> Summands:
        queries = {n for q in mechanism.inputs if isinstance(q, nodes.Queries) for n in q.names}
        statements = tuple(statements_in(mechanism.body))
        times = times_set(statements)
        items = Counter(
            s.over.item
            for s in statements
            if isinstance(s, nodes.For) and isinstance(s.over, nodes.OverQueries) and s.over.base in queries
        )
        return cls(
            frozenset(queries | {item for item, count in items.items() if count == times[item]}),
            {s.name: s for s in statements if isinstance(s, nodes.Sample) and times[s.name] == 1},
            frozenset(
                p.name for p in mechanism.inputs if isinstance(p, nodes.Parameter) and not times[p.name]
            ),
            {s.name: s.value for s in statements if isinstance(s, nodes.Assign) and times[s.name] == 1},
        )

    def gap(self, field: str, value: nodes.Expr) -> Gap | None:
        """The number as a gap, if it is one whose two draws are of one family that is known."""
        try:
            parts = list(self._parts(value, 1))
        except NotASumError:
            return None
        answers = [part.sign for part in parts if part.what is None]
        draws = {part.sign: part.what for part in parts if isinstance(part.what, nodes.Sample)}
        count = sum(isinstance(part.what, nodes.Sample) for part in parts)
        if answers != [1] or count != 2 or len(draws) != 2 or draws[1] is draws[-1]:
            return None
        answer, threshold = draws[1], draws[-1]
        one, other = self.noise_of(answer), self.noise_of(threshold)
        if one is None or other is None or answer.family is not threshold.family or one[1] != other[1]:
            return None
        (answer_scale, step), (threshold_scale, _) = one, other
        added: nodes.Expr | None = None
        for part in sorted(parts, key=lambda part: part.sign):  # what is subtracted in the gap comes first
            if part.what is not None and not isinstance(part.what, nodes.Sample):
                added = _sum(added, -part.sign, part.what)
        zero = nodes.Number(Fraction(0))
        scales = answer_scale, threshold_scale
        return Gap(field, zero if added is None else added, *scales, answer.family.one_sided, step)

    def noise_of(self, draw: nodes.Sample) -> tuple[nodes.Expr, nodes.Expr | None] | None:
        """The scale of a draw and its step (None on the reals), where both are public, and its density (or
        masses) falls as exp(-abs(x)/scale): that of `Geo(p)` is -1/ln(1 - p), 1/x for p = 1 - exp(-x).
        """
        family, one = draw.family, nodes.Number(Fraction(1))
        if not family.exponential or not all(map(self.is_public, draw.args)):
            return None
        match family.row.lattice:
            case Lattice.NONE:
                return draw.args[0], None
            case Lattice.STEP:
                return draw.args[0], draw.args[1]
            case Lattice.WHOLE:
                (p,) = draw.args
                rate = rate_of(self.values.get(p.ident, p) if isinstance(p, nodes.Name) else p)
                if rate is None:
                    rate = nodes.Unary("-", nodes.Call("ln", (nodes.Binary("-", one, p),)))
                return nodes.Binary("/", one, rate), one

    def _parts(self, expr: nodes.Expr, sign: int) -> Iterator[_Part]:
        if self.is_public(expr):
            yield _Part(sign, expr)
            return
        name = expr.ident if isinstance(expr, nodes.Name) else ""
        if isinstance(expr, nodes.Index):
            name = expr.base
        if isinstance(expr, nodes.Binary) and expr.op in ("+", "-"):
            yield from self._parts(expr.left, sign)
            yield from self._parts(expr.right, sign if expr.op == "+" else -sign)
        elif isinstance(expr, nodes.Unary) and expr.op == "-":
            yield from self._parts(expr.operand, -sign)
        elif name in self.answers:
            yield _Part(sign, None)
        elif name in self.draws:
            yield _Part(sign, self.draws[name])
        elif isinstance(expr, nodes.Name) and name in self.values:
            yield from self._parts(self.values[name], sign)
        else:
            raise NotASumError

    def is_public(self, expr: nodes.Expr) -> bool:
        """Whether the value follows from scalar parameters alone."""
        return follows_from(expr, self.public, self.values)


def follows_from(expr: nodes.Expr, public: frozenset[str], values: Mapping[str, nodes.Expr]) -> bool:
    """Whether a value follows from names that are public, directly or by what other names stand for."""
    return all(
        each.ident in public or (each.ident in values and follows_from(values[each.ident], public, values))
        if isinstance(each, nodes.Name)
        else isinstance(each, nodes.Number | nodes.Unary | nodes.Binary | nodes.Call)
        for each in subexpressions(expr)
    )


def times_set(statements: Iterable[nodes.Stmt]) -> Counter[str]:
    """How often each name is given a value."""
    return Counter(name for s in statements for name in names_set(s))


def _sum(so_far: nodes.Expr | None, sign: int, term: nodes.Expr) -> nodes.Expr:
    if so_far is None:
        return term if sign > 0 else nodes.Unary("-", term)
    return nodes.Binary("+" if sign > 0 else "-", so_far, term)

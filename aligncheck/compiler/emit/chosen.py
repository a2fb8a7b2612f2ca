"""Which released numbers are gaps of the exponential mechanism, that tell how likely its choice is the best.

Beside a choice `w` such a gap is logistic noise, given that it is above 0, whose location in units of its
scale is

    X(w) - ln(sum of exp(X(j)) over the other indices j)        (dissertation, Algorithm 21),

or what the two greatest of X(j) with Gumbel noise of scale 1 differ by (Algorithm 22: the same distribution,
Theorem 5.19). Then 2/(1 + exp(gap)) is a p-value against another index having a larger X (Theorem 5.14): the
location is negative in that case, whatever led to the choice. Of any other gap nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from aligncheck.compiler.emit.gaps import follows_from, times_set
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.rewrite import with_other
from aligncheck.language.syntax.walk import names_in, parts_of, statements_in, with_part, with_parts

ONE, ZERO = nodes.Number(Fraction(1)), nodes.Number(Fraction(0))


@dataclass(frozen=True, slots=True)
class ChosenGap:
    """A field of a record that is such a gap, times `unit`, a public number."""

    field: str
    unit: nodes.Expr


def chosen_gaps(mechanism: nodes.Mechanism) -> Mapping[int, ChosenGap]:
    """The gap beside a choice that an `emit` releases (of several the first), by the `id` of the node."""
    reader = _GapFinder.of(mechanism)
    found: dict[int, ChosenGap] = {}
    for statement in statements_in(mechanism.body):
        if isinstance(statement, nodes.Emit):
            for field in statement.fields:
                gap = reader.gap(field.value)
                if gap is not None and nodes.Name(gap[0]) in [each.value for each in statement.fields]:
                    found.setdefault(id(statement), ChosenGap(field.name, gap[1]))
    return found


@dataclass(frozen=True, slots=True)
class _GapFinder:
    """What is set or drawn once, by name; and the names of scalar parameters."""

    values: Mapping[str, nodes.Expr]
    drawn: Mapping[str, nodes.Sampling]
    public: frozenset[str]

    @classmethod
    def of(cls, mechanism: nodes.Mechanism) -> _GapFinder:
        statements = tuple(statements_in(mechanism.body))
        times = times_set(statements)
        parameters = [p for p in mechanism.inputs if isinstance(p, nodes.Parameter)]
        drawn = [s for s in statements if isinstance(s, nodes.Sample | nodes.Logistic)]
        return cls(
            {s.name: s.value for s in mechanism.body if isinstance(s, nodes.Assign) and times[s.name] == 1},
            {s.name: s for s in drawn if times[s.name] == 1},
            frozenset(p.name for p in parameters if not times[p.name]),
        )

    def gap(self, value: nodes.Expr) -> tuple[str, nodes.Expr] | None:
        """The choice that a number is the gap of, and its unit."""
        whole = self._resolved(value)
        if isinstance(whole, nodes.Name):
            drawn = self.drawn.get(whole.ident)
            found = self._cut(drawn) if isinstance(drawn, nodes.Logistic) else None
            return found if found is not None and self._is_public(found[1]) else None
        difference: nodes.Expr = whole
        while isinstance(difference, nodes.Binary) and difference.op in ("*", "/"):
            right = difference.op == "*" and self._is_public(difference.left)
            if not right and not self._is_public(difference.right):
                return None
            difference = difference.right if right else difference.left
        found = self._between_two(difference)
        if found is None or not self._is_public(found[1]):
            return None
        return found[0], with_part(whole, difference, found[1])

    def _cut(self, drawn: nodes.Logistic) -> tuple[str, nodes.Expr] | None:
        """Algorithm 21: `X(w) - scale*logsumexp(X(j)/scale for j in S where j != w)`, above 0."""
        location, unit = self._resolved(drawn.location), self._resolved(drawn.scale)
        if drawn.low != ZERO or not isinstance(location, nodes.Binary) or location.op != "-":
            return None
        others = self._resolved(location.right)
        if unit != ONE and isinstance(others, nodes.Binary) and others.op == "*":
            if self._resolved(others.left) != unit:
                return None
            others = others.right
        if not isinstance(others, nodes.Gather) or others.function != nodes.LOG_SUM:
            return None
        chosen = _all_but(others)
        own = location.left if unit == ONE else nodes.Binary("/", location.left, drawn.scale)
        if chosen is None or not self._same(own, _at(others, chosen)):
            return None
        return chosen, drawn.scale

    def _between_two(self, value: nodes.Expr) -> tuple[str, nodes.Expr] | None:
        """Algorithm 22: the greatest of `X(j) + eta[j]` less the second, eta being Gumbel noise."""
        if not isinstance(value, nodes.Binary) or value.op != "-":
            return None
        second = self._resolved(value.right)
        if not isinstance(second, nodes.Gather) or second.function != "max":
            return None
        chosen = _all_but(second)
        first = None if chosen is None else self.values.get(chosen)
        if chosen is None or not isinstance(first, nodes.Gather) or first.function != "argmax":
            return None
        own = _at(first, chosen)
        alike = (first.over, first.where, own) == (second.over, None, _at(second, chosen))
        if not alike or not self._same(value.left, own):
            return None
        noisy = [name for name in names_in(first.body) if name in self.drawn or name in self.values]
        drawn = self.drawn.get(noisy[0]) if len(noisy) == 1 else None
        if not isinstance(drawn, nodes.Sample) or not drawn.family.row.max_stable:
            return None
        eta = nodes.Index(drawn.name, nodes.Name(first.index))
        added = isinstance(first.body, nodes.Binary) and first.body.op == "+"
        if not added or [part for part in parts_of(first.body) if drawn.name in names_in(part)] != [eta]:
            return None
        return chosen, drawn.args[0]

    def _resolved(self, expr: nodes.Expr) -> nodes.Expr:
        while isinstance(expr, nodes.Name) and expr.ident in self.values:
            expr = self.values[expr.ident]
        return expr

    def _is_public(self, expr: nodes.Expr) -> bool:
        """Whether the value follows from scalar parameters alone."""
        return follows_from(expr, self.public, self.values)

    def _same(self, one: nodes.Expr, other: nodes.Expr) -> bool:
        """Whether two expressions are written alike, but for names of values."""
        one, other = self._resolved(one), self._resolved(other)
        parts = zip(parts_of(one), parts_of(other), strict=False)
        if len(parts_of(one)) != len(parts_of(other)) or not all(self._same(*pair) for pair in parts):
            return False
        return with_parts(one, parts_of(other)) == other


def _all_but(gather: nodes.Gather) -> str | None:
    """The w of `for j in … where j != w`."""
    where, j = gather.where, nodes.Name(gather.index)
    if not isinstance(where, nodes.Compare) or where.op != "!=":
        return None
    other = where.right if where.left == j else where.left if where.right == j else None
    return other.ident if isinstance(other, nodes.Name) and not other.primed else None


def _at(gather: nodes.Gather, name: str) -> nodes.Expr:
    """The value of a set at the index that a variable holds."""
    return with_other(gather.body, nodes.Name(gather.index), nodes.Name(name))

"""What callers may be promised of a mechanism that draws by densities: proposals."""

from __future__ import annotations

from fractions import Fraction

from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.contract import FieldBound
from aligncheck.language.syntax.nodes import Expr, Name, Number
from aligncheck.language.syntax.walk import statements_in
from aligncheck.search.witness.totals import ZERO, ends_of


def length_by_densities(spec: nodes.Mechanism) -> Expr | None:
    """How many records every run releases, where no branch decides that and there is no loop."""
    everywhere = sum(isinstance(s, nodes.Emit) for s in spec.body)
    anywhere = sum(isinstance(s, nodes.Emit) for s in statements_in(spec.body))
    return Number(Fraction(everywhere)) if everywhere == anywhere else None


def bounds_by_densities(spec: nodes.Mechanism) -> tuple[FieldBound, ...]:
    """Bounds of the chosen indices in the records."""
    chosen = {s.name: s for s in statements_in(spec.body) if isinstance(s, nodes.Choose)}
    released = {
        f.name: chosen[f.value.ident]
        for s in statements_in(spec.body)
        if isinstance(s, nodes.Emit)
        for f in s.fields
        if isinstance(f.value, Name) and f.value.ident in chosen
    }
    return tuple(
        FieldBound(name, ZERO, ends_of(choice.weights.over)[1]) for name, choice in sorted(released.items())
    )

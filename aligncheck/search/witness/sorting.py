"""What sort each name has for the kernel: the least that all its assignments allow. Nothing of this is
believed: the kernel refuses a value of another sort where it is assigned or released.
"""

from __future__ import annotations

from dataclasses import replace

from aligncheck.kernel.witness import Witness, own
from aligncheck.language.check.sort_inference import SortTable
from aligncheck.language.check.symbol_table import ALIGNMENT_COST
from aligncheck.language.families import Family
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.nodes import Sort


def with_sorts(spec: n.Mechanism, witness: Witness) -> Witness:
    """The witness with the sorts of all names, and those in what is called."""
    called = {use.name: use.contract.mechanism for use in spec.uses if use.contract is not None}
    given = witness.callees
    callees = {name: with_sorts(inner, given.get(name, Witness())) for name, inner in called.items()}
    sorts = tuple(kernel_sorts(spec).items())
    if sorts == witness.sorts and all(callees[name] is given.get(name) for name in callees):
        return witness  # a callee that the kernel has accepted stays the same object
    return replace(witness, sorts=sorts, callees={**given, **callees})


def kernel_sorts(spec: n.Mechanism) -> dict[str, Sort]:
    """The sorts of all names of a spec; fields of its records under `FIELD of out`, unless some records hold
    a number there and others a truth value: such a field has no sort, and nobody reads it.
    """
    table = _KernelSorts(spec)
    names = {name: sort for name, sort in table.names.items() if sort is not None and name != ALIGNMENT_COST}
    return names | {own("field", x): sort for x, sort in table.fields.items() if x not in table.mixed}


class _KernelSorts(SortTable):
    """To the kernel whatever is drawn, summed up, or the greatest of a set, is a real number."""

    def drawn(self, family: Family, args: tuple[n.Expr, ...]) -> Sort:
        return Sort.REAL

    def sort(self, expr: n.Expr, indices: frozenset[str] = frozenset()) -> Sort | None:
        if isinstance(expr, n.Gather) and expr.function in ("max", "min", "sum"):
            return Sort.REAL
        return super().sort(expr, indices)

"""Which kind of Python number each name of a spec holds.

The one pitfall is that `int / int` is a float in Python and an exact rational in the language; so what may
hold an int is told apart from what holds a real number. Kinds follow from sorts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from aligncheck.language.check.sort_inference import SortTable
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.nodes import Sort


class PythonKind(Enum):
    """INT is a Python int, REAL a `Fraction` or float, never an int; BOOL a truth value."""

    INT = "int"
    REAL = "Real"
    BOOL = "bool"


KIND_OF = {Sort.REAL: PythonKind.REAL, Sort.INT: PythonKind.INT, Sort.BOOL: PythonKind.BOOL}
"""The kind of each sort."""


class _PythonSorts(SortTable):
    """What was released may be any number."""

    def sort(self, expr: nodes.Expr, indices: frozenset[str] = frozenset()) -> Sort | None:
        if isinstance(expr, nodes.OutField) and expr.of == "out":
            return Sort.REAL
        return super().sort(expr, indices)


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kind of every name: of a scalar, of a list's entries, of a noise variable. `functions` are what
    public functions take.
    """

    of: Mapping[str, PythonKind]
    functions: Mapping[str, tuple[PythonKind, ...]]
    _table: SortTable

    def expression(self, expr: nodes.Expr) -> PythonKind:
        """The kind of an expression's value; a name of which nothing is known is the index of a set."""
        return KIND_OF[self._table.sort(expr) or Sort.INT]

    def drawn(self, statement: nodes.Sample) -> PythonKind:
        """The kind of what a draw gives."""
        return KIND_OF[self._table.drawn(statement.family, statement.args) or Sort.INT]


def join(kinds: Iterable[PythonKind]) -> PythonKind:
    """The kind that can hold all of these."""
    distinct = set(kinds)
    return distinct.pop() if len(distinct) == 1 else PythonKind.REAL


def kinds_of(mechanism: nodes.Mechanism) -> Kinds:
    """The kinds of all names of a spec: the least ones that hold whatever is assigned to each."""
    table = _PythonSorts(mechanism)
    of = {name: KIND_OF[sort] for name, sort in table.names.items() if sort is not None}
    return Kinds(of, {f.name: tuple(KIND_OF[s] for s in f.args) for f in mechanism.functions}, table)

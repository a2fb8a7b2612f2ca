"""Which names of a spec are measured in the same unit: what is added, compared or assigned is.

A small dimension analysis, for documentation only: it tells a reader that `T` is a number of the same kind as
the answers and `eps` a privacy loss. Products and quotients of names have a unit that it does not follow.
"""

from __future__ import annotations

from collections.abc import Iterator

from aligncheck.language.families import Slope
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import claimed_in, expressions_in, own_expressions, statements_in

_BUDGET = "privacy budget"


class Units:
    """Names grouped by unit."""

    def __init__(self, mechanism: nodes.Mechanism) -> None:
        self._above: dict[str, str] = {}
        self._queries: list[str] = []
        for item in mechanism.inputs:
            if isinstance(item, nodes.Queries):
                self._queries += item.names
                for bound in (item.sensitivity, item.lattice, *(item.range or ())):
                    self._joined(
                        item.names[0], *([] if bound is None else [self._unit(bound)]), *item.names[1:]
                    )
        for claim in claimed_in(mechanism.claim) if isinstance(mechanism.claim, nodes.Pure) else ():
            self._joined(_BUDGET, self._unit(claim))
        for expr in expressions_in(mechanism):
            self._unit(expr)
        for statement in statements_in(mechanism.body):
            self._statement(statement)

    def answers(self, name: str) -> str | None:
        """The private input whose unit `name` is measured in, if that is known."""
        return next((q for q in self._queries if self._root(q) == self._root(name)), None)

    def is_budget(self, name: str) -> bool:
        """Whether `name` is a privacy loss."""
        return self._root(name) == self._root(_BUDGET)

    def _statement(self, statement: nodes.Stmt) -> None:
        match statement:
            case nodes.Assign(name=name, value=value):
                self._joined(name, self._unit(value))
            case nodes.Logistic(name=name):
                self._joined(name, *(self._unit(e) for e in own_expressions(statement)))
            case nodes.Sample(name=name, family=family, args=args) if family.row.slope is Slope.SCALE:
                self._joined(name, *map(self._unit, args))
            case nodes.For(over=nodes.OverQueries(base=base, item=item)):
                self._joined(base, item)
            case (
                nodes.Invoke()
                | nodes.Sample()
                | nodes.Choose()
                | nodes.If()
                | nodes.Repeat()
                | nodes.Emit()
                | nodes.Empty()
            ):
                pass

    def _unit(self, expr: nodes.Expr) -> str | None:
        """A name with the expression's unit; None where it is not known, or where any unit fits (numbers)."""
        match expr:
            case nodes.Name(ident=ident) | nodes.Index(base=ident):
                return ident
            case nodes.Call(function="abs" | "floor" | "min" | "max" | "clip", args=args):
                return self._joined(*map(self._unit, args))
            case nodes.Unary(op="-", operand=operand):
                return self._unit(operand)
            case nodes.Binary(op="+" | "-" | "%", left=left, right=right):
                return self._joined(self._unit(left), self._unit(right))
            case nodes.Binary(op="*", left=nodes.Number(), right=one):
                return self._unit(one)
            case nodes.Binary(op="*" | "/", left=one, right=nodes.Number()):
                return self._unit(one)
            case nodes.Compare(left=left, right=right):
                self._joined(self._unit(left), self._unit(right))
                return None
            case nodes.Gather(function=function, body=body):
                unit = self._unit(body)
                return unit if function in ("max", "min") else None
            case nodes.Conditional(then=then, otherwise=otherwise):
                return self._joined(self._unit(then), self._unit(otherwise))
            case (
                nodes.Literal()
                | nodes.Call()
                | nodes.Unary()
                | nodes.Binary()
                | nodes.Logic()
                | nodes.Member()
                | nodes.OfOutput()
            ):
                return None

    def _joined(self, *units: str | None) -> str | None:
        known = [self._root(unit) for unit in units if unit is not None]
        for other in known[1:]:
            if self._root(other) != self._root(known[0]):
                self._above[self._root(other)] = self._root(known[0])
        return known[0] if known else None

    def _root(self, name: str) -> str:
        *_, root = self._chain(name)
        return root

    def _chain(self, name: str) -> Iterator[str]:
        yield name
        while name in self._above:
            name = self._above[name]
            yield name

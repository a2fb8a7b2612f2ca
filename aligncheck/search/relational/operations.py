"""Operations on numbers: what each demands of its arguments, and what is known of its value where that holds.

Trusted. One table, so that no fact is assumed of an operation outside of where its demand was proved to hold
(rule 16): a fact about a root of a negative number could contradict others, and contradictory facts prove
everything. The same pairs of demand and facts stand for sets in `selection.Gathered.enough` and
`Registry.facts`, for entries of lists in `Theory.legal` and `Theory.facts`, and for records of calls in
`calls.Records`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from aligncheck.search.relational import ir


@dataclass(frozen=True, slots=True)
class Operation:
    """`demand` of the arguments, in words `what`; a report points at argument number `culprit`, or at the
    whole where that is None. `known` of the value and the arguments is true wherever the demand is met.
    """

    demand: Callable[..., ir.Term] = lambda *_: ir.TRUE
    what: str = ""
    culprit: int | None = None
    known: Callable[..., Iterable[ir.Term]] = lambda *_: ()

    def facts(self, atom: ir.Fn) -> tuple[ir.Term, ...]:
        """What may be assumed of a value."""
        return (ir.implies(self.demand(*atom.args), ir.and_(self.known(atom, *atom.args))),)


def _abs(value: ir.Term, x: ir.Term) -> Iterable[ir.Term]:
    return ir.implies(ir.le(ir.ZERO, x), ir.eq(value, x)), ir.implies(
        ir.le(x, ir.ZERO), ir.eq(value, ir.neg(x))
    )


def _sqrt(value: ir.Term, x: ir.Term) -> Iterable[ir.Term]:
    return ir.le(ir.ZERO, value), ir.eq(ir.mul(value, value), x)


def _exp(value: ir.Term, x: ir.Term) -> Iterable[ir.Term]:
    return (
        ir.lt(ir.ZERO, value),
        ir.iff(ir.lt(ir.ZERO, x), ir.lt(ir.ONE, value)),
        ir.iff(ir.lt(x, ir.ZERO), ir.lt(value, ir.ONE)),
        ir.le(ir.add(ir.ONE, x), value),
    )


def _log2(value: ir.Term, x: ir.Term) -> Iterable[ir.Term]:
    return ir.iff(ir.lt(ir.ONE, x), ir.lt(ir.ZERO, value)), ir.iff(ir.lt(x, ir.ONE), ir.lt(value, ir.ZERO))


def _ln(value: ir.Term, x: ir.Term) -> Iterable[ir.Term]:
    return *_log2(value, x), ir.le(value, ir.sub(x, ir.ONE))


def _floor(value: ir.Term, x: ir.Term) -> Iterable[ir.Term]:
    return ir.le(value, x), ir.lt(x, ir.add(value, ir.ONE))


def _mod(value: ir.Term, x: ir.Term, m: ir.Term) -> Iterable[ir.Term]:
    return (
        ir.le(ir.ZERO, value),
        ir.lt(value, m),
        ir.implies(ir.and_((ir.le(ir.ZERO, x), ir.lt(x, m))), ir.eq(value, x)),
    )


def _positive(x: ir.Term) -> ir.Term:
    return ir.lt(ir.ZERO, x)


OPERATIONS: Mapping[str, Operation] = {
    "/": Operation(lambda _, x: ir.not_(ir.eq(x, ir.ZERO)), "the divisor is not 0", 1),
    "mod": Operation(lambda _, m: _positive(m), "the modulus is positive", 1, _mod),
    "sqrt": Operation(lambda x: ir.le(ir.ZERO, x), "the root's argument is not negative", 0, _sqrt),
    "ln": Operation(_positive, "the logarithm's argument is positive", 0, _ln),
    "log2": Operation(_positive, "the logarithm's argument is positive", 0, _log2),
    "clip": Operation(lambda _, low, high: ir.le(low, high), "the lower bound is at most the upper one"),
    "abs": Operation(known=_abs),
    "exp": Operation(known=_exp),
    "floor": Operation(known=_floor),
    "undefined": Operation(),
}
"""abs, sqrt, floor and mod are defined by what is known of them (up to integrality); exp, ln and log2 only
bounded: the sign facts and the tangent at the fixed point, `exp x >= 1 + x` and `ln x <= x - 1`. Each is a
theorem of elementary analysis. Of a quotient `translate` knows that the divisor times it is the dividend,
unless the divisor is 0; clips are conditionals. `undefined` stands for a quotient by the number 0.
"""


def function_facts(atom: ir.Fn) -> tuple[ir.Term, ...]:
    """What is known of a function that is no polynomial, at its arguments."""
    return OPERATIONS[atom.name].facts(atom)

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

from aligncheck.search.relational.ir import (
    ONE,
    TRUE,
    ZERO,
    Fn,
    Term,
    add,
    and_,
    eq,
    iff,
    implies,
    le,
    lt,
    mul,
    neg,
    not_,
    sub,
)


@dataclass(frozen=True, slots=True)
class Operation:
    """`demand` of the arguments, in words `what`; a report points at argument number `culprit`, or at the
    whole where that is None. `known` of the value and the arguments is true wherever the demand is met.
    """

    demand: Callable[..., Term] = lambda *_: TRUE
    what: str = ""
    culprit: int | None = None
    known: Callable[..., Iterable[Term]] = lambda *_: ()

    def facts(self, atom: Fn) -> tuple[Term, ...]:
        """What may be assumed of a value."""
        return (implies(self.demand(*atom.args), and_(self.known(atom, *atom.args))),)


def _abs(value: Term, x: Term) -> Iterable[Term]:
    return implies(le(ZERO, x), eq(value, x)), implies(le(x, ZERO), eq(value, neg(x)))


def _sqrt(value: Term, x: Term) -> Iterable[Term]:
    return le(ZERO, value), eq(mul(value, value), x)


def _exp(value: Term, x: Term) -> Iterable[Term]:
    return (
        lt(ZERO, value),
        iff(lt(ZERO, x), lt(ONE, value)),
        iff(lt(x, ZERO), lt(value, ONE)),
        le(add(ONE, x), value),
    )


def _log2(value: Term, x: Term) -> Iterable[Term]:
    return iff(lt(ONE, x), lt(ZERO, value)), iff(lt(x, ONE), lt(value, ZERO))


def _ln(value: Term, x: Term) -> Iterable[Term]:
    return *_log2(value, x), le(value, sub(x, ONE))


def _floor(value: Term, x: Term) -> Iterable[Term]:
    return le(value, x), lt(x, add(value, ONE))


def _mod(value: Term, x: Term, m: Term) -> Iterable[Term]:
    return le(ZERO, value), lt(value, m), implies(and_((le(ZERO, x), lt(x, m))), eq(value, x))


def _positive(x: Term) -> Term:
    return lt(ZERO, x)


OPERATIONS: Mapping[str, Operation] = {
    "/": Operation(lambda _, x: not_(eq(x, ZERO)), "the divisor is not 0", 1),
    "mod": Operation(lambda _, m: _positive(m), "the modulus is positive", 1, _mod),
    "sqrt": Operation(lambda x: le(ZERO, x), "the root's argument is not negative", 0, _sqrt),
    "ln": Operation(_positive, "the logarithm's argument is positive", 0, _ln),
    "log2": Operation(_positive, "the logarithm's argument is positive", 0, _log2),
    "clip": Operation(lambda _, low, high: le(low, high), "the lower bound is at most the upper one"),
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


def function_facts(atom: Fn) -> tuple[Term, ...]:
    """What is known of a function that is no polynomial, at its arguments."""
    return OPERATIONS[atom.name].facts(atom)

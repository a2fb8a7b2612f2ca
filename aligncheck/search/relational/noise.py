"""One row of facts per noise family: support, lattice and the α of Lemma 1, condition iii."""

from __future__ import annotations

from dataclasses import dataclass

from aligncheck.language.syntax.nodes import Family
from aligncheck.search.relational.terms import (
    ONE,
    ZERO,
    App,
    Fn,
    Kind,
    Sort,
    Sym,
    Term,
    div,
    fn,
    le,
    lt,
    mul,
    neg,
    sub,
)


@dataclass(frozen=True, slots=True)
class Draw:
    """The facts about one draw, as terms.

    `symbol` stands for the draw (on a lattice, for its number of steps); `value` is the draw on D;
    `inverse_alpha` is 1/α with `ln f(x)/f(y) <= |x - y|/α` on the support (dissertation, Definition 5.4 and
    Table 5-1); `valid` says that the arguments are legal; `support` holds of the value;
    `floor` is the least value of the support, None where there is none; `step` the lattice's step, None where
    the noise is continuous.
    """

    symbol: Sym | App
    value: Term
    inverse_alpha: Term
    valid: tuple[Term, ...]
    support: tuple[Term, ...]
    floor: Term | None
    step: Term | None


MARKS = {
    Family.LAPLACE: "",
    Family.EXPONENTIAL: "+",
    Family.GEOMETRIC: "%",
    Family.DISCRETE_LAPLACE: "#",
    Family.DISCRETE_EXPONENTIAL: "+#",
}
"""Ends a symbol's name, so that a variable drawn from two families in two places has two symbols."""


def symbol(name: str, index: Term | None, family: Family) -> Sym | App:
    """The symbol that stands for a draw; for lattice noise, for its number of steps."""
    sort = Sort.INT if family.discrete else Sort.REAL
    label = name + MARKS[family]
    if index is None:
        return Sym(label, sort, Kind.NOISE)
    return App(label, (index,), sort, Kind.NOISE)


def inverse_alpha(family: Family, args: tuple[Term, ...]) -> Term:
    """1/α: 1/scale for Laplace and exponential noise, also on a lattice; -ln(1-p) for Geo(p).

    Source: for Geo(p), ln g(x)/g(y) = -ln(1-p) (y - x), dissertation section 5.4.2; with p = 1 - exp(-1/α)
    this is 1/α. The discrete Laplace mass is proportional to exp(-|x|/scale) (VLDB paper, Theorem 2); that of
    DExp(scale, step) is that of step times Geo(1 - exp(-step/scale)).
    """
    match family:
        case Family.LAPLACE | Family.EXPONENTIAL | Family.DISCRETE_LAPLACE | Family.DISCRETE_EXPONENTIAL:
            return div(ONE, args[0])
        case Family.GEOMETRIC:
            return neg(fn("ln", sub(ONE, args[0])))


def legal(family: Family, args: tuple[Term, ...]) -> tuple[Term, ...]:
    """What the arguments must satisfy: positive scale and step; a success probability inside (0, 1)."""
    match family:
        case Family.LAPLACE | Family.EXPONENTIAL | Family.DISCRETE_LAPLACE | Family.DISCRETE_EXPONENTIAL:
            return tuple(lt(ZERO, a) for a in args)
        case Family.GEOMETRIC:
            return (lt(ZERO, args[0]), lt(args[0], ONE))


def draw(family: Family, name: str, index: Term | None, args: tuple[Term, ...]) -> Draw:
    """The facts about drawing `name[index] ~ family(args)`."""
    base = symbol(name, index, family)
    rate = inverse_alpha(family, args)
    valid = legal(family, args)
    match family:
        case Family.LAPLACE:
            return Draw(base, base, rate, valid, (), None, None)
        case Family.EXPONENTIAL:
            return Draw(base, base, rate, valid, (le(ZERO, base),), ZERO, None)
        case Family.GEOMETRIC:
            return Draw(base, base, rate, valid, (le(ZERO, base),), ZERO, ONE)
        case Family.DISCRETE_LAPLACE:
            return Draw(base, mul(args[1], base), rate, valid, (), None, args[1])
        case Family.DISCRETE_EXPONENTIAL:
            value = mul(args[1], base)  # not negative either, since the step is positive
            return Draw(base, value, rate, valid, (le(ZERO, base), le(ZERO, value)), ZERO, args[1])


def is_logarithm(term: Term) -> bool:
    """Whether a term is an unfolded logarithm (a rate that has no closed form in the spec)."""
    return isinstance(term, Fn) and term.name == "ln"

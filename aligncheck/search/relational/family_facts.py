"""One row of facts per noise family: support, lattice and the α of Lemma 1, condition iii."""

from __future__ import annotations

from dataclasses import dataclass

from aligncheck.language.families import Family, Lattice, Slope
from aligncheck.search.relational.ir import (
    ONE,
    ZERO,
    App,
    Nature,
    Sym,
    Term,
    TermSort,
    div,
    fn,
    le,
    lt,
    mul,
    neg,
    sub,
)
from aligncheck.search.relational.labels import DrawOnD


@dataclass(frozen=True, slots=True)
class DrawFacts:
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


def symbol(name: str, index: Term | None, family: Family) -> Sym | App:
    """The symbol that stands for a draw; for lattice noise, for its number of steps."""
    sort = TermSort.INT if family.discrete else TermSort.REAL
    label = DrawOnD(name, family)
    if index is None:
        return Sym(label, sort, Nature.NOISE)
    return App(label, (index,), sort, Nature.NOISE)


def inverse_alpha(family: Family, args: tuple[Term, ...]) -> Term:
    """1/α of condition iii: see `Slope`."""
    match family.row.slope:
        case Slope.SCALE:
            return div(ONE, args[0])
        case Slope.CHANCE:
            return neg(fn("ln", sub(ONE, args[0])))


def legal(family: Family, args: tuple[Term, ...]) -> tuple[Term, ...]:
    """What the arguments must satisfy: positive scale and step; a success probability inside (0, 1)."""
    positive = tuple(lt(ZERO, a) for a in args)
    match family.row.slope:
        case Slope.SCALE:
            return positive
        case Slope.CHANCE:
            return (*positive, lt(args[0], ONE))


def _step(family: Family, args: tuple[Term, ...]) -> Term | None:
    """What its values are multiples of, if of anything."""
    match family.row.lattice:
        case Lattice.NONE:
            return None
        case Lattice.WHOLE:
            return ONE
        case Lattice.STEP:
            return args[1]


def draw(family: Family, name: str, index: Term | None, args: tuple[Term, ...]) -> DrawFacts:
    """The facts about drawing `name[index] ~ family(args)`."""
    base = symbol(name, index, family)
    step = _step(family, args)
    value = base if step is None else mul(step, base)
    # A multiple of a positive step is not negative either.
    support = tuple(le(ZERO, each) for each in dict.fromkeys((base, value))) if family.one_sided else ()
    floor = ZERO if family.one_sided else None
    return DrawFacts(base, value, inverse_alpha(family, args), legal(family, args), support, floor, step)

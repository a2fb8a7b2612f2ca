"""One row of facts per noise family: support, lattice and the α of Lemma 1, condition iii."""

from __future__ import annotations

from dataclasses import dataclass

from aligncheck.language.families import Family, Lattice, Slope
from aligncheck.search.relational import ir
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

    symbol: ir.Sym | ir.App
    value: ir.Term
    inverse_alpha: ir.Term
    valid: tuple[ir.Term, ...]
    support: tuple[ir.Term, ...]
    floor: ir.Term | None
    step: ir.Term | None


def symbol(name: str, index: ir.Term | None, family: Family) -> ir.Sym | ir.App:
    """The symbol that stands for a draw; for lattice noise, for its number of steps."""
    sort = ir.TermSort.INT if family.discrete else ir.TermSort.REAL
    label = DrawOnD(name, family)
    if index is None:
        return ir.Sym(label, sort, ir.Nature.NOISE)
    return ir.App(label, (index,), sort, ir.Nature.NOISE)


def inverse_alpha(family: Family, args: tuple[ir.Term, ...]) -> ir.Term:
    """1/α of condition iii: see `Slope`."""
    match family.row.slope:
        case Slope.SCALE | Slope.SIGMA:
            return ir.div(ir.ONE, args[0])
        case Slope.CHANCE:
            return ir.neg(ir.fn("ln", ir.sub(ir.ONE, args[0])))
        case Slope.ODDS:
            return ir.fn("abs", ir.fn("ln", ir.div(args[0], ir.sub(ir.ONE, args[0]))))


def legal(family: Family, args: tuple[ir.Term, ...]) -> tuple[ir.Term, ...]:
    """What the arguments must satisfy: positive scale and step; a success probability inside (0, 1)."""
    positive = tuple(ir.lt(ir.ZERO, a) for a in args)
    match family.row.slope:
        case Slope.SCALE | Slope.SIGMA:
            return positive
        case Slope.CHANCE | Slope.ODDS:
            return (*positive, ir.lt(args[0], ir.ONE))


def _step(family: Family, args: tuple[ir.Term, ...]) -> ir.Term | None:
    """What its values are multiples of, if of anything."""
    match family.row.lattice:
        case Lattice.NONE:
            return None
        case Lattice.WHOLE:
            return ir.ONE
        case Lattice.STEP:
            return args[1]


def draw(family: Family, name: str, index: ir.Term | None, args: tuple[ir.Term, ...]) -> DrawFacts:
    """The facts about drawing `name[index] ~ family(args)`."""
    base = symbol(name, index, family)
    step = _step(family, args)
    value = base if step is None else ir.mul(step, base)
    # A multiple of a positive step is not negative either.
    support = tuple(ir.le(ir.ZERO, each) for each in dict.fromkeys((base, value))) if family.one_sided else ()
    support += (ir.le(value, args[0]),) if family.bounded else ()
    support += (ir.le(value, ir.ONE),) if family.coin else ()
    floor = ir.ZERO if family.one_sided else None
    return DrawFacts(base, value, inverse_alpha(family, args), legal(family, args), support, floor, step)


def tossed(drawn: ir.Pair, chance: ir.Pair) -> ir.Term:
    """What a coin costs: the logarithm of the quotient of the chances that its sides have."""
    before, after = (
        ir.ite(ir.eq(side, ir.ONE), p, ir.sub(ir.ONE, p))
        for side, p in ((drawn.left, chance.left), (drawn.right, chance.right))
    )
    return ir.fn("ln", ir.div(before, after))

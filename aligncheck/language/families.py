"""The noise families: one row each, which the rest of the package asks.

What VERIFIED rests on is said by `Slope` (how fast a density falls), `Lattice` and `one_sided` (the support);
why each is true of a family stands at its row. The rest is how it is written, drawn and measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Slope(Enum):
    """What the first argument is, and with it condition iii: how fast the density f (the masses, on a
    lattice) may fall or rise, for all x and y of the support; each by the name of the argument.

    SCALE: s > 0, and ln f(x)/f(y) <= |x - y|/s where x may be moved to y (`Moves`). Moreover, unless it is
    `bounded`, every number is exceeded with a positive probability, one that is at least 0 with no smaller
    probability under a greater scale (a loop may end so).
    CHANCE: 0 < p < 1, and ln f(x)/f(y) <= -ln(1 - p) |x - y|.
    SIGMA: σ > 0, and ln f(x)/f(y) has no such bound. The Rényi divergence of any order α > 1 between f and f
    moved by d (on a lattice: by a multiple of its step) is at most αd²/(2σ²): a move costs d²/(2σ²) of ρ.
    STAIRS: ε > 0, and ln f(x)/f(y) <= ε where |x - y| <= w; w > 0 is the second argument. The third is less
    than 1, and positive.
    ODDS: 0 < p < 1, and f(1) = p, f(0) = 1 - p. It costs ln f(x)/f'(y), exactly, where f' is f with the p of
    D', which may be another.

    On the reals, moreover, no density is less nearer to 0: f(x/r) >= f(x) for r >= 1.
    """

    SCALE = "scale"
    CHANCE = "chance"
    SIGMA = "sigma"
    STAIRS = "stairs"
    ODDS = "odds"

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the arguments are called, but for a step."""
        if self is Slope.STAIRS:
            return ("eps", "width", "gamma")
        return ("p",) if self in (Slope.CHANCE, Slope.ODDS) else (self.value,)


class Moves(Enum):
    """Which way a draw x may be moved to y at the price that `Slope` names; ln f(x)/f(y) has no bound else.

    BOTH: to every y of the support. UP: y >= x. NOT: y = x.
    """

    BOTH = "both"
    UP = "up"
    NOT = "not"


class Lattice(Enum):
    """Where the values lie. NONE: the noise has a density on the reals, so that every single number has
    probability 0. WHOLE: whole numbers. STEP: multiples of the second argument, which is positive.
    """

    NONE = "none"
    WHOLE = "whole"
    STEP = "step"


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """One family.

    Attributes:
        word: its name as the language prints it.
        also: other names that it may be written with.
        slope: what its first argument says.
        lattice: where its values lie.
        one_sided: it is never negative.
        sampler: the method of a `runtime.noise.Noise` that draws one; with an `s` at its end, several.
        twin: the word of the family that it is on a lattice, with the step as one argument more; None where
            it is on one already, or where there is none.
        tail: P(X > x) for scale 1 (for stairs: for width 1, by x, ε and γ), on numbers with the methods of
            `flint.arb`; None: the density is proportional to exp(-|x|/scale) on the support, which integrates
            in closed form.
        size: t with P(|X| > t) <= q for scale 1 (for stairs: for width 1, by q, ε and γ), where `tail` is
            given and that has a closed form; the first argument is SymPy.
        moves: which way it may be moved.
        bounded: it is never more than its scale.
        max_stable: the greatest of several draws, each with a number u added, is such noise as well; which it
            is has a probability proportional to exp(u/scale).
    """

    word: str
    also: tuple[str, ...]
    slope: Slope
    lattice: Lattice
    one_sided: bool
    sampler: str
    twin: str | None = None
    tail: Callable[..., Any] | None = None
    size: Callable[..., Any] | None = None
    moves: Moves = Moves.BOTH
    bounded: bool = False
    max_stable: bool = False


def _above_on_stairs(x: Any, eps: Any, gamma: Any) -> Any:
    """P(X > x): exp(-ε) as much as for x - 1, where x >= 1, and falling on two straight lines from 0 to 1."""
    size, fall = abs(x), (-eps).exp()
    stairs = size.floor()
    rest = size - stairs
    gone = (rest.min(gamma) + fall * (rest - gamma).max(0)) / (gamma + fall * (1 - gamma))
    above = (-eps * stairs).exp() * (1 - (1 - fall) * gone) / 2
    return above if x >= 0 else 1 - above if x < 0 else above.union(1 - above)


class Family(Enum):
    """The noise families, by the name that the language prints."""

    _value_: str

    LAPLACE = FamilyRow("Lap", ("Laplace",), Slope.SCALE, Lattice.NONE, False, "laplace", "DLap")
    """f(x) = exp(-|x|/s)/(2s), and |y| - |x| <= |x - y|."""

    EXPONENTIAL = FamilyRow("Exp", ("Exponential",), Slope.SCALE, Lattice.NONE, True, "exponential", "DExp")
    """f(x) = exp(-x/s)/s on x >= 0."""

    CAUCHY = FamilyRow(
        "Cauchy", (), Slope.SCALE, Lattice.NONE, False, "cauchy", tail=lambda x: 1 / 2 - x.atan() / x.pi()
    )
    """f(x) = 1/(π s (1 + (x/s)^2)).

    Its slope: ln f(x)/f(y) = h(y) - h(x) with h(x) = ln(1 + (x/s)^2), whose derivative is (1/s) 2t/(1 + t^2)
    at t = x/s. From (1 - |t|)^2 >= 0 follows |2t| <= 1 + t^2: the derivative is at most 1/s in size (and as
    large at x = s and x = -s), so that |h(y) - h(x)| <= |x - y|/s. P(X > x) = 1/2 - arctan(x/s)/π, which
    rises with s where x >= 0.
    """

    GUMBEL = FamilyRow(
        "Gumbel",
        (),
        Slope.SCALE,
        Lattice.NONE,
        False,
        "gumbel",
        tail=lambda x: -(-(-x).exp()).expm1(),
        moves=Moves.UP,
        max_stable=True,
    )
    """f(x) = exp(-x/s - exp(-x/s))/s.

    Its slope: for d >= 0, ln f(x)/f(x + d) = d/s - exp(-x/s) (1 - exp(-d/s)), which is at most d/s. Down it
    has none: ln f(x)/f(x - d) = exp(-x/s) (exp(d/s) - 1) - d/s grows without bound where x falls. Its density
    rises up to 0 and falls from there, so it is no less nearer to 0. P(X > x) = 1 - exp(-exp(-x/s)).
    The greatest of draws to which u_j is added is at most x with the product of these probabilities, that of
    one draw to which s ln Σ exp(u_j/s) is added (dissertation, Theorem 5.16). Its mean has the derivative
    exp(u_j/s)/Σ exp(u_k/s) by u_j, which is the probability that the j-th is the greatest.
    """

    LOGISTIC = FamilyRow(
        "Logistic",
        (),
        Slope.SCALE,
        Lattice.NONE,
        False,
        "logistic",
        tail=lambda x: 1 / (1 + x.exp()),
        size=lambda sympy, q: sympy.log(2 / q - 1),
    )
    """f(x) = exp(-x/s)/(s (1 + exp(-x/s))^2).

    Its slope: -ln f(x) = x/s + 2 ln(1 + exp(-x/s)) + ln s has the derivative (1/s) tanh(x/(2s)), less than
    1/s in size. It is no less nearer to 0, where tanh has its sign. P(X > x) = 1/(1 + exp(x/s)).
    """

    UNIFORM = FamilyRow(
        "Uniform",
        (),
        Slope.SCALE,
        Lattice.NONE,
        True,
        "uniform",
        tail=lambda x: 1 - x.max(0).min(1),
        size=lambda sympy, q: sympy.Integer(1),
        moves=Moves.NOT,
        bounded=True,
    )
    """f(x) = 1/s from 0 to s: a draw that stays costs nothing, one that is moved may leave the support."""

    STAIRCASE = FamilyRow(
        "Staircase",
        (),
        Slope.STAIRS,
        Lattice.NONE,
        False,
        "staircase",
        tail=_above_on_stairs,
        size=lambda sympy, q, eps, gamma: 1 + sympy.floor(sympy.log(1 / q) / eps),
    )
    """f(x) = c exp(-kε), where k counts which of γw, (1 + γ)w, (2 + γ)w, … are at most |x|; c is positive.

    Its slope: where |x - y| <= w, of these numbers at most as many as up to |x| + w are up to |y|, one more
    than up to |x|: f(y) >= f(|x| + w) = exp(-ε) f(x) (Geng and Viswanath, *The optimal mechanism in
    differential privacy*, ISIT 2014). It does not rise with |x|, so it is no less nearer to 0. P(|X| > kw) is
    exp(-kε) for whole k.
    """

    GAUSSIAN = FamilyRow(
        "Gauss",
        ("Gaussian",),
        Slope.SIGMA,
        Lattice.NONE,
        False,
        "gaussian",
        "DGauss",
        tail=lambda x: (x / type(x)(2).sqrt()).erfc() / 2,
    )
    """f(x) = exp(-(x/σ)²/2)/(σ sqrt(2π)); Bun and Steinke 2016, Lemma 2.4 for its divergence."""

    GEOMETRIC = FamilyRow("Geo", ("Geometric",), Slope.CHANCE, Lattice.WHOLE, True, "geometric")
    """Failures before the first success: f(x) = (1-p)^x p on x = 0, 1, 2, … (dissertation, section 5.4.2)."""

    BERNOULLI = FamilyRow("Bernoulli", (), Slope.ODDS, Lattice.WHOLE, True, "bernoulli")
    """1 with probability p, and 0 else (Warner 1965)."""

    DISCRETE_LAPLACE = FamilyRow(
        "DLap", ("DiscreteLaplace",), Slope.SCALE, Lattice.STEP, False, "discrete_laplace"
    )
    """f(x) proportional to exp(-|x|/s) on the multiples of the step (VLDB paper, Theorem 2)."""

    DISCRETE_EXPONENTIAL = FamilyRow(
        "DExp", ("DiscreteExponential",), Slope.SCALE, Lattice.STEP, True, "discrete_exponential"
    )
    """f(x) proportional to exp(-x/s) on the multiples of the step from 0 on."""

    DISCRETE_GAUSSIAN = FamilyRow(
        "DGauss", ("DiscreteGaussian",), Slope.SIGMA, Lattice.STEP, False, "discrete_gaussian"
    )
    """f(x) proportional to exp(-(x/σ)²/2) on the multiples of the step; Canonne, Kamath and Steinke 2020,
    Proposition 5 for its divergence.
    """

    def __new__(cls, row: FamilyRow) -> Family:
        member = object.__new__(cls)
        member._value_ = row.word
        return member

    def __init__(self, row: FamilyRow) -> None:
        self.row = row

    @property
    def arguments(self) -> tuple[str, ...]:
        """What its arguments are called, in order."""
        return (*self.row.slope.arguments, *(("step",) if self.stepped else ()))

    @property
    def one_sided(self) -> bool:
        """Whether it is never negative."""
        return self.row.one_sided

    @property
    def stepped(self) -> bool:
        """Whether its second argument is a step of which it is a multiple."""
        return self.row.lattice is Lattice.STEP

    @property
    def discrete(self) -> bool:
        """Whether it is a multiple of a step, or an integer."""
        return self.row.lattice is not Lattice.NONE

    @property
    def exponential(self) -> bool:
        """Whether the density (the masses) is proportional to exp(-|x|/scale) on the support."""
        return self.row.tail is None and self.row.slope in (Slope.SCALE, Slope.CHANCE)

    @property
    def coin(self) -> bool:
        """Whether it is 0 or 1, and its chance may be private."""
        return self.row.slope is Slope.ODDS

    @property
    def on_lattice(self) -> Family | None:
        """The family of the same shape on a lattice, None where there is none: itself where it is on one; and
        where it may not be moved, so that no move has to keep to steps.
        """
        if self.discrete or self.row.moves is Moves.NOT:
            return self
        return next((each for each in Family if each.value == self.row.twin), None)

    @property
    def upward(self) -> bool:
        """Whether it is moved up rather than down: at 0 its support ends, or it may not be moved down."""
        return self.one_sided or self.row.moves is Moves.UP

    @property
    def bounded(self) -> bool:
        """Whether it is never more than its scale."""
        return self.row.bounded

    @property
    def on_reals(self) -> Family | None:
        """The family with a density that this one is the lattice twin of; None where there is none."""
        return next((each for each in Family if each.row.twin == self.value), None)


SPELLINGS = {name: family for family in Family for name in (family.value, *family.row.also)}
"""Family names as they may be written."""

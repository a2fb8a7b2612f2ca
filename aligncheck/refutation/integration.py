"""From ways to probabilities: densities, choices by weights, logistic draws, and the precision of it all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq

from aligncheck.effort import OutOfTime
from aligncheck.meaning import exact
from aligncheck.refutation.elimination import Elimination, Form, Tangled, scaled
from aligncheck.refutation.enclosure import Ball, NotComputable
from aligncheck.refutation.execution import SymbolicPath
from aligncheck.refutation.irrationals import Real, to_ball, to_expr
from aligncheck.refutation.parts import IntegralPart, classes, components, fractions
from aligncheck.refutation.piecewise import Calculus, Coefficient, Piece, Piecewise
from aligncheck.refutation.states import LastRound, WeightedChoice
from aligncheck.refutation.symbolic import Affine, Interval, NoiseLaw

_MOST_BITS = 4_096


def enclosed(ways: list[SymbolicPath], precision: int, check: Callable[[], None]) -> Ball:
    """The sum of the probabilities of ways, with a relative accuracy of at least a third of the precision.

    Where cancellation has taken more than that, everything is done again with twice the bits. Raises
    `NotComputable`, `OutOfTime`.
    """
    bits = precision
    while True:
        with ctx.workprec(bits), _kept(bits, check) as integration:
            total: Any = None
            for way in ways:
                found = integration.probability(way)
                if found is not None:
                    total = found if total is None else total + found
            if total is None:
                return Ball(Fraction(0), Fraction(0))
            if total.rel_accuracy_bits() >= precision // 3 or bits >= _MOST_BITS:
                return ball_of(total)
        bits *= 2


_KEPT: dict[int, Integration] = {}


@contextmanager
def _kept(bits: int, check: Callable[[], None]) -> Iterator[Integration]:
    """The integration at a precision that earlier questions have left: a search asks about the same densities
    again and again. It starts afresh before it grows large, and after a question that was broken off from
    outside (by an alarm, or by hand), since that may have been anywhere in its tables.
    """
    found = _KEPT.pop(bits, None)
    if found is None or found.is_large:
        found = Integration(check)
    found.check = check
    try:
        yield found
    except (NotComputable, OutOfTime, exact.Undecided, exact.Undefined):
        _KEPT[bits] = found
        raise
    _KEPT[bits] = found


def forget() -> None:
    """Nothing of earlier questions is left, so that what is asked from now on takes the same steps."""
    _KEPT.clear()


def ball_of(value: Any) -> Ball:
    """The enclosure of a probability: that of the number, and of [0, 1]."""
    if not value.is_finite():
        return Ball(Fraction(0), Fraction(1))
    low, high = fraction_of(value.lower()), fraction_of(value.upper())
    return Ball(max(low, Fraction(0)), min(high, Fraction(1)))


def fraction_of(value: Any) -> Fraction:
    mantissa, exponent = value.man_exp()
    whole, power = int(mantissa), int(exponent)
    return Fraction(whole << power) if power >= 0 else Fraction(whole, 1 << -power)


@dataclass(frozen=True, slots=True)
class Density:
    """The density of one released number in one way: that of `form` is `function`, and the number is
    `form / by + constant`.
    """

    function: Piecewise
    by: Real
    constant: Real

    def at(self, cut: Real) -> Real:
        """The released number at a value of the form."""
        return cut * (1 / fmpq(self.by)) + self.constant


class Integration:
    """The probabilities of ways at one precision; densities and their integrals are kept."""

    def __init__(self, check: Callable[[], None], calculus: Calculus | None = None) -> None:
        self.calculus = calculus or Calculus()
        self.check = check
        self._densities: dict[tuple[object, Real], Piecewise] = {}
        self._windows: dict[Any, Any] = {}

    @property
    def is_large(self) -> bool:
        """Whether what is kept takes room, and time to look up."""
        return len(self._windows) > 2_000 or self.calculus.size > 1_000

    def probability(self, way: SymbolicPath) -> Coefficient | None:
        """The probability of one way; None where it is 0 because no point is left."""
        scale = self.weight(way)
        restricted, alone = split(way)
        for noise, interval in alone:
            scale = scale * self._alone(noise, interval)
        for part in components(self.part(way, restricted)):
            try:
                found = self._integral(part)
            except (Tangled, exact.Undecided) as reason:
                span = way.noises[max(part.densities)].span
                raise NotComputable(str(reason), span) from None
            if found is None:
                return None
            scale = scale * found
        return scale if self.calculus.symbolic else arb(1) * scale

    def _integral(self, part: IntegralPart) -> Coefficient | None:
        """The integral over one part, as it is or else split up. Raises `Tangled`."""
        try:
            return Elimination(self.calculus, self.check, self._windows).integral(*part.factors())
        except Tangled:
            split = fractions(self.calculus, part) or classes(self.calculus, part)
            if split is None:
                raise
            found = [self._integral(smaller) for smaller in split]
        left = [value for value in found if value is not None]
        return sum(left[1:], left[0]) if left else None

    def part(
        self, way: SymbolicPath, restricted: Mapping[Form, Interval], more: Iterable[int] = ()
    ) -> IntegralPart:
        """What is to be integrated for a way: the variables that are restricted, and `more`."""
        used = sorted({variable for form in restricted for variable, _ in form} | set(more))
        return IntegralPart({variable: self.density(way.noises[variable]) for variable in used}, restricted)

    def density_in(self, way: SymbolicPath, value: Affine) -> Density | None:
        """The density of an affine number in one way; None where the way is impossible. Raises `Tangled`."""
        restricted, alone = split(way)
        if alone or any(way.noises[v].alone for v in value.coefficients):
            raise Tangled("noise without a density that integrates")
        factors, kinds = self.part(way, restricted, value.coefficients).factors()
        form, by = scaled(value.coefficients, lambda v: way.noises[v].lattice)
        function = Elimination(self.calculus, self.check).marginal(factors, kinds, form)
        return None if function.is_zero else Density(function, by, value.constant)

    def density(self, noise: NoiseLaw) -> Piecewise:
        """The density (the masses) of a noise variable."""
        key = noise.family, noise.rate
        found = self._densities.get(key)
        if found is None:
            found = self._densities[key] = self._made(noise)
        return found

    def _made(self, noise: NoiseLaw) -> Piecewise:
        calculus = self.calculus
        up, down = calculus.rate(noise.rate), calculus.rate(-noise.rate)
        fall = calculus.exp(down, fmpq(1))
        if noise.alone:
            raise NotComputable("noise whose density is no exponential meets other noise", noise.span)
        if noise.lattice:
            zero: fmpq | int = 0
            height = 1 - fall if noise.one_sided else (1 - fall) / (1 + fall)
        else:
            zero = fmpq(0)
            height = calculus.number(noise.rate if noise.one_sided else noise.rate / 2)
        right = Piece(zero, {(down, 0): height})
        left = None if noise.one_sided else Piece(zero, {(up, 0): height})
        return Piecewise((zero,), (left, right), not noise.lattice)

    def weight(self, way: SymbolicPath) -> Coefficient:
        """The factor that what was chosen brings, and which rounds of repeated calls were the last."""
        scale: Coefficient = 1
        for one in way.chosen:
            scale = scale * (self._last(one) if isinstance(one, LastRound) else self._weight(one))
        return scale

    def _last(self, law: LastRound) -> Coefficient:
        """How often, on average, a round is the last one and is as this one, for each time that one round by
        itself is: with N, the chance of a round to end it all, 1/N where the test holds, else the chance to
        stop times that. With at most T rounds there are (1 - (1 - N)^T)/N of them, and the T-th ends it.
        """
        found = [self.probability(way) for way in law.passing]
        passed = sum((p for p in found if p is not None), arb(0) if not self.calculus.symbolic else 0)
        chance = to_expr(law.chance) if self.calculus.symbolic else to_ball(law.chance)
        ends = chance + (1 - chance) * passed
        rounds, at_end = 1 / ends, 0
        if law.most is not None:
            rounds = (1 - _power(1 - ends, law.most)) / ends
            at_end = (1 - chance) * _power(1 - ends, law.most - 1)
        return rounds if law.kept else chance * rounds + at_end

    def _weight(self, chosen: WeightedChoice) -> Coefficient:
        """exp(log_i) over the sum of exp(log_j), with differences so that nothing overflows."""
        own = chosen.logs[chosen.place]
        if self.calculus.symbolic:
            import sympy

            return 1 / sympy.Add(*(sympy.exp(to_expr(log - own)) for log in chosen.logs))
        return 1 / sum((to_ball(log - own).exp() for log in chosen.logs), arb(0))

    def _alone(self, noise: NoiseLaw, interval: Interval) -> Coefficient:
        """The probability of an interval, given that the number is above its bound, if it has one."""
        if self.calculus.symbolic:
            raise NotComputable("no formula for this noise", noise.span)
        low, high = interval
        location = fmpq(0) if noise.location is None else noise.location

        def above(at: Any) -> Any:
            """P(the number is above `at`)."""
            return noise.tail(to_ball((at - location) * noise.rate))

        upper = arb(1) if low is None else above(low)
        lower = arb(0) if high is None else above(high)
        return (upper - lower) / (arb(1) if noise.low is None else above(noise.low))


def _power(base: Coefficient, exponent: int) -> Coefficient:
    """By multiplications: Arb's own power of a ball around 0 is not finite."""
    found: Coefficient = 1
    while exponent:
        if exponent & 1:
            found = found * base
        base, exponent = base * base, exponent >> 1
    return found


def split(way: SymbolicPath) -> tuple[dict[Form, Interval], list[tuple[NoiseLaw, Interval]]]:
    """The intervals without those of noise that is measured alone, and these."""
    restricted: dict[Form, Interval] = {}
    alone = []
    for form, interval in way.restricted.items():
        if interval == (None, None):
            continue
        if len(form) == 1 and way.noises[form[0][0]].alone:
            alone.append((way.noises[form[0][0]], interval))
        else:
            restricted[form] = interval
    return restricted, alone

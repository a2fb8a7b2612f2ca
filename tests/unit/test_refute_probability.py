"""Exact probabilities of events: closed forms, numeric integration, ties, atoms, and what is refused."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest
import sympy
from small_specs import mechanism

from aligncheck.effort import Effort, OutOfTime
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.meaning.exact import Irrational
from aligncheck.meaning.interpreter import Input
from aligncheck.refutation.enclosure import Ball, NotComputable
from aligncheck.refutation.events import (
    Between,
    CompleteOutput,
    Constraint,
    Event,
    Exactly,
    Raises,
    RecordPattern,
    describe,
)
from aligncheck.refutation.execution import Execution
from aligncheck.refutation.integration import Integration
from aligncheck.refutation.measure import logarithm
from aligncheck.refutation.probability import probability, shapes, tail
from aligncheck.refutation.ratio import closed_form

F = Fraction
ABOVE = Between(F(1), None)


def answers(*values: int | Fraction) -> dict[str, Input]:
    return {"q": tuple(map(F, values)), "k": F(1), "eps": F(1)}


def record(tag: str, **fields: Constraint | int | bool) -> RecordPattern:
    return RecordPattern(
        tag, tuple((n, c if isinstance(c, Between | Exactly) else Exactly(c)) for n, c in fields.items())
    )


def out(*records: RecordPattern, complete: bool = True) -> CompleteOutput:
    return CompleteOutput(records, complete)


def exactly(ball: Ball, expected: float | Any, tolerance: float = 1e-13) -> bool:
    """A narrow enclosure of the expected number."""
    assert ball.upper - ball.lower < Fraction(1, 10**20)
    return float(ball) == pytest.approx(float(expected), rel=tolerance, abs=1e-15)


# --- closed forms -----------------------------------------------------------------------------------------

LAPLACE = mechanism("eta ~ Lap(2/eps)\nemit number(q[0] + eta)")


@pytest.mark.parametrize("x", [0, 3, -2])
def test_laplace_tails(x: int) -> None:
    found = probability(LAPLACE, answers(1), out(record("number", value=Between(F(x), None))))
    below = math.exp((x - 1) / 2) / 2
    assert exactly(found, 1 - below if x < 1 else math.exp((1 - x) / 2) / 2)


def test_a_far_tail_keeps_its_digits() -> None:
    found = probability(LAPLACE, answers(0), out(record("number", value=Between(F(2000), None))))
    assert found.lower > 0
    assert (found.upper - found.lower) / found.lower < Fraction(1, 10**12)
    assert logarithm(found) == pytest.approx(-1000 - math.log(2))


NOISY_MAX = mechanism(
    "for i, x in q: xi[i] ~ Lap(2/eps)\nw = argmax(q[i] + xi[i] for i in q)\nemit chosen(w)"
)


@pytest.mark.parametrize("gap", [0, 1, 5])
def test_noisy_max_of_two(gap: int) -> None:
    """The difference of two Laplace(b) exceeds d with probability (2 + d/b) exp(-d/b) / 4."""
    found = probability(NOISY_MAX, answers(0, gap), out(record("chosen", value=0)))
    assert exactly(found, (2 + gap / 2) * math.exp(-gap / 2) / 4)


SPARSE = mechanism(
    """
    eta ~ Lap(2/eps)
    count = 0
    for i, x in q:
      xi[i] ~ Lap(4/eps)
      if x + xi[i] >= eta:
        emit top
        count = count + 1
        if count == k: break
      else:
        emit bottom
    """
)


def test_sparse_vector_of_length_one() -> None:
    """P(xi - eta < d), scales a = 4, b = 2, d >= 0: 1 - (a² e^{-d/a} - b² e^{-d/b}) / (2 (a² - b²))."""
    for d in (0, 1, 3):
        found = probability(SPARSE, answers(-d), out(record("bottom")))
        assert exactly(found, 1 - (16 * math.exp(-d / 4) - 4 * math.exp(-d / 2)) / 24)


def test_sparse_vector_of_length_two() -> None:
    """Both below at the same height: the threshold's density times the square of the other CDF."""
    # With t = eta: for t < 0 CDF e^{t/4}/2, for t > 0 1 - e^{-t/4}/2, and density e^{-|t|/2}/4.
    below = sympy.integrate(
        sympy.exp(sympy.Symbol("t") / 2) / 4 * (sympy.exp(sympy.Symbol("t") / 4) / 2) ** 2,
        (sympy.Symbol("t"), -sympy.oo, 0),
    )
    t = sympy.Symbol("t")
    above = sympy.integrate(
        sympy.expand(sympy.exp(-t / 2) / 4 * (1 - sympy.exp(-t / 4) / 2) ** 2), (t, 0, sympy.oo)
    )
    found = probability(SPARSE, answers(0, 0), out(record("bottom"), record("bottom")))
    assert exactly(found, below + above)


def test_choices_by_weight_and_logistic_numbers() -> None:
    chosen = mechanism(
        """
        w ~ Choose(exp(eps*q[i]/2) for i in q)
        g ~ Logistic(1, 2) where g > 0
        emit pair(index = w, gap = g)
        """
    )
    event = out(record("pair", index=1, gap=Between(F(1), F(3))))
    weight = math.exp(1) / (math.exp(0.5) + math.exp(1))

    def logistic(x: float) -> float:
        return 1 / (1 + math.exp((1 - x) / 2))

    expected = weight * (logistic(3) - logistic(1)) / (1 - logistic(0))
    assert exactly(probability(chosen, answers(1, 2), event), expected)


# --- numeric integration ------------------------------------------------------------------------------------


def density(scale: float) -> Callable[[Any], Any]:
    return lambda x: mpmath.exp(-abs(x) / scale) / (2 * scale)


def below(scale: float) -> Callable[[Any], Any]:
    return lambda x: mpmath.exp(x / scale) / 2 if x < 0 else 1 - mpmath.exp(-x / scale) / 2


def test_top_two_with_gaps_beside_quadrature() -> None:
    top = mechanism(
        """
        for i, x in q: xi[i] ~ Lap(2/eps)
        w = top(2, q[i] + xi[i] for i in q)
        best = max(q[i] + xi[i] for i in q where i not in w)
        emit chosen(index = w[0], gap = q[w[0]] + xi[w[0]] - q[w[1]] - xi[w[1]])
        emit chosen(index = w[1], gap = q[w[1]] + xi[w[1]] - best)
        """
    )
    unit = Between(F(1), F(2))
    found = probability(
        top, answers(0, 1, 0), out(record("chosen", index=0, gap=unit), record("chosen", index=1, gap=unit))
    )
    f, cdf = density(2), below(2)
    # v = second value; the first lies in [v + 1, v + 2], the last in [v - 2, v - 1].
    expected = mpmath.quad(
        lambda v: f(v - 1) * (cdf(v + 2) - cdf(v + 1)) * (cdf(v - 1) - cdf(v - 2)),
        [-60, -2, -1, 0, 1, 2, 3, 60],
    )
    assert exactly(found, expected, 1e-9)


def test_entangled_noise_beside_quadrature() -> None:
    """Two differences and both of their ends restricted: no variable meets only one other."""
    tangled = mechanism(
        """
        a ~ Lap(1)
        b ~ Exp(2)
        c ~ Lap(3)
        if a - b < 1 and b - c < 1 and a - c > -1 and a + c < 2:
          emit inside
        else:
          emit outside
        """
    )
    found = probability(tangled, answers(0), out(record("inside")))

    def inner(a: Any, c: Any) -> Any:
        low, high = max(a - 1, 0), c + 1
        return mpmath.exp(-low / 2) - mpmath.exp(-high / 2) if high > low else mpmath.mpf(0)

    def over_c(a: Any) -> Any:
        ends = [x for x in (-1, 0, a - 2, a - 1, 1) if max(-1, a - 2) <= x <= min(a + 1, 2 - a)]
        ends = sorted({float(x) for x in [max(-1, a - 2), *ends, min(a + 1, 2 - a)]})
        if len(ends) < 2 or min(a + 1, 2 - a) <= max(-1, a - 2):
            return mpmath.mpf(0)
        return density(1)(a) * mpmath.quad(lambda c: density(3)(c) * inner(a, c), ends)

    with mpmath.workdps(12):
        expected = mpmath.quad(over_c, [-2, -1, 0, 0.5, 1, 1.5, 2])
    assert exactly(found, expected, 1e-7)


def test_entangled_lattice_noise_beside_sums() -> None:
    tangled = mechanism(
        """
        a ~ Geo(1/2)
        b ~ Geo(1/3)
        c ~ DLap(2)
        if a - b <= 1 and b - c < 2 and a - c > -2 and a + c <= 3:
          emit inside
        else:
          emit outside
        """
    )
    found = probability(tangled, answers(0), out(record("inside")))
    fall = math.exp(-0.5)
    expected = sum(
        0.5 ** (a + 1) * (1 / 3) * (2 / 3) ** b * (1 - fall) / (1 + fall) * fall ** abs(c)
        for a in range(60)
        for b in range(60)
        for c in range(-60, 60)
        if a - b <= 1 and b - c < 2 and a - c > -2 and a + c <= 3
    )
    assert exactly(found, expected, 1e-9)


def test_sums_of_noise_beside_quadrature() -> None:
    running = mechanism(
        """
        s = 0
        for i, x in q:
          xi[i] ~ Lap(1/eps)
          s = s + x + xi[i]
          emit partial(s)
        """
    )
    unit = Between(F(0), F(1))
    found = probability(running, answers(1, 0, 0), out(*(record("partial", value=unit),) * 3))
    f = density(1)
    cdf = below(1)
    expected = mpmath.quad(
        lambda s: f(s - 1) * mpmath.quad(lambda t: f(t - s) * (cdf(1 - t) - cdf(-t)), [0, s, 1]), [0, 1]
    )
    assert exactly(found, expected, 1e-9)


# --- what the language means --------------------------------------------------------------------------------

ONE_DRAW: tuple[tuple[str, Event, float], ...] = (
    ("emit t(abs(eta) <= 1)", out(record("t", value=True)), 1 - math.exp(-1)),
    ("emit t(max(eta, 0))", out(record("t", value=0)), 0.5),
    ("emit t(max(eta, 0))", out(record("t", value=Between(F(0), F(1)))), 1 - math.exp(-1) / 2),
    ("emit t(max(eta, 0))", out(record("t", value=Between(F(0), F(1)))), 1 - math.exp(-1) / 2),
    ("emit t(clip(eta, -1, 1))", out(record("t", value=-1)), math.exp(-1) / 2),
    ("emit t(floor(eta))", out(record("t", value=1)), (math.exp(-1) - math.exp(-2)) / 2),
    ("emit t(floor(eta))", out(record("t", value=Between(F(2), F(3)))), (math.exp(-2) - math.exp(-4)) / 2),
    ("emit t(3 - 2*floor(eta))", out(record("t", value=Between(None, F(1)))), math.exp(-1) / 2),
    ("emit t(eta**2)", out(record("t", value=Between(None, F(4)))), 1 - math.exp(-2)),
    ("emit t(eta*eta < 1/4)", out(record("t", value=True)), 1 - math.exp(-0.5)),
    ("emit t(exp(eta))", out(record("t", value=Between(F(2), None))), 0.25),
    ("emit t(exp(eta) <= 0)", out(record("t", value=True)), 0),
    ("emit t(1/eta)", out(record("t", value=ABOVE)), (1 - math.exp(-1)) / 2),
    ("emit t(-1/(2*eta))", out(record("t", value=Between(F(-1, 2), F(0)))), math.exp(-1) / 2),
    ("emit t(eta == 0)", out(record("t", value=True)), 0),
    ("emit t(sqrt(eta))", out(record("t", value=Between(F(1), F(2)))), (math.exp(-1) - math.exp(-4)) / 2),
    ("emit t(sqrt(eta))", Raises(), 0.5),
    ("emit t(ln(eta))", out(record("t", value=Between(None, F(0)))), (1 - math.exp(-1)) / 2),
    ("emit a\nemit t(ln(eta))", out(record("a"), complete=False), 1),
    ("emit a\nemit t(ln(eta))", out(record("a"), record("t"), complete=False), 0.5),
    ("emit t(1/(eta - eta))", Raises(), 1),
    ("emit t(clip(0, eta, 1))", Raises(), math.exp(-1) / 2),
    ("emit t(clip(eta, 1, 0))", Raises(), 1),
    ("emit t(clip(1, 1, 0))", Raises(), 1),
    ("if eta > 0:\n  emit a\nemit b", out(record("a"), complete=False), 0.5),
    ("if eta > 0:\n  emit a\nemit b", out(record("b")), 0.5),
    ("emit t(eta if eta > 1 else 7)", out(record("t", value=7)), 1 - math.exp(-1) / 2),
    ("emit t((eta > 0) == (eta > 1))", out(record("t", value=False)), (1 - math.exp(-1)) / 2),
    ("emit t(eta)", out(record("t", value=Exactly(F(1)))), 0),
    ("emit t(eta)", out(complete=False), 1),
    ("emit t(eta)", out(), 0),
    ("emit t(sqrt(2)/2 + eta)", out(record("t", value=Between(None, Irrational(sympy.sqrt(2) / 2)))), 0.5),
)


@pytest.mark.parametrize(("program", "event", "expected"), ONE_DRAW)
def test_functions_of_one_draw(program: str, event: Event, expected: float) -> None:
    found = probability(mechanism(f"eta ~ Lap(1)\n{program}"), answers(0), event)
    assert exactly(found, expected)
    assert found.is_zero == (expected == 0)


QUOTIENTS = (
    ("emit t(a/b)", ABOVE, 1 / 4),
    ("emit t(a/b)", Between(None, F(0)), 1 / 2),
    ("emit t(1 - 2*a/b)", Between(F(3), None), 1 / 4),
    ("emit t(sqrt(a/b))", ABOVE, 1 / 4),
    ("emit t(floor(a/b))", ABOVE, 1 / 4),
    ("emit t(a/(1 + e))", ABOVE, math.exp(-1) / 4),
    ("emit t((q[0] - 2 + a)/(-1 - e))", ABOVE, 1 - 5 * math.exp(-1) / 4),
    ("emit t(e/(1 + e))", Between(F(1, 2), F(2, 3)), math.exp(-1) - math.exp(-2)),
    ("emit t(3*a/(a - 2*a))", Exactly(F(-3)), 1),
    ("emit t(7 if a/b < -1 else 8)", Exactly(F(7)), 1 / 4),
    ("emit t(g/(1 + h))", Exactly(F(1)), 1 / 6),
    ("emit t(g/h)", Exactly(F(1)), 1 / 12),
)


@pytest.mark.parametrize(("program", "part", "expected"), QUOTIENTS)
def test_quotients_of_noise(program: str, part: Constraint, expected: float) -> None:
    """Also of a run that divides by 0, which has no such record."""
    draws = {"a": "Lap(1)", "b": "Lap(1)", "e": "Exp(1)", "g": "Geo(1/2)", "h": "Geo(1/2)"}
    drawn = [f"{name} ~ {law}" for name, law in draws.items()]
    found = probability(mechanism("\n".join([*drawn, program])), answers(0), out(record("t", value=part)))
    assert exactly(found, expected)


def geometric(k: int) -> float:
    return 2.0 ** -(k + 1)


LATTICE: tuple[tuple[str, Event, float], ...] = (
    ("emit t(a)", out(record("t", value=2)), geometric(2)),
    ("emit t(a/2)", out(record("t", value=Exactly(F(3, 2)))), geometric(3)),
    ("emit t(a + 1/2)", out(record("t", value=2)), 0),
    ("emit t(a > 1)", out(record("t", value=True)), 0.25),
    ("emit t(a >= 1)", out(record("t", value=True)), 0.5),
    ("emit t(a)", out(record("t", value=Between(F(2), F(3)))), geometric(2) + geometric(3)),
    ("emit t(a == b)", out(record("t", value=True)), 1 / 3),
    ("emit t(a != b)", out(record("t", value=True)), 2 / 3),
    ("emit t(floor(a))", out(record("t", value=1)), 0.25),
    ("w = argmax((a if j == 0 else b) for j in range(2))\nemit t(w)", out(record("t", value=0)), 2 / 3),
    ("w = argmin((a if j == 0 else b) for j in range(2))\nemit t(w)", out(record("t", value=0)), 2 / 3),
    ("w = top(2, (a if j == 0 else b) for j in range(2))\nemit t(w[1])", out(record("t", value=0)), 1 / 3),
    ("m = max((a if j == 0 else b) for j in range(2))\nemit t(m)", out(record("t", value=1)), 2 / 8 + 1 / 16),
    ("s = upto(1, b for j in range(2) where b > a)\nemit t(len(s))", out(record("t", value=0)), 2 / 3),
    ("s = upto(1, b for j in range(2) where b >= a)\nemit t(len(s))", out(record("t", value=0)), 1 / 3),
    ("c ~ DLap(1, 1/2)\nemit t(c <= a)", out(record("t", value=False)), 0.25497),
)


def test_one_sided_noise_on_a_lattice() -> None:
    found = probability(
        mechanism("c ~ DExp(1, 1/2)\nemit t(c >= 3)"), answers(0), out(record("t", value=True))
    )
    assert exactly(found, math.exp(-3))
    alike = probability(
        mechanism("a ~ Geo(1/2)\nc ~ DExp(2)\nemit t(c < a)"), answers(0), out(record("t", value=True))
    )
    fall = math.exp(-1 / 2)
    assert exactly(alike, sum(geometric(k) * (1 - fall**k) for k in range(60)))


@pytest.mark.parametrize(("program", "event", "expected"), LATTICE)
def test_lattice_noise_keeps_ties(program: str, event: Event, expected: float) -> None:
    found = probability(mechanism(f"a ~ Geo(1/2)\nb ~ Geo(1/2)\n{program}"), answers(0), event)
    if "DLap" in program:
        fall = math.exp(-0.5)
        # P(c > a) with a step of 1/2: over j > 2k.
        expected = sum(geometric(k) * fall ** (2 * k + 1) / (1 + fall) for k in range(60))
    assert exactly(found, expected)
    assert found.is_zero == (expected == 0)


def test_lattices_with_different_steps_meet() -> None:
    steps = mechanism(
        """
        a ~ Geo(1/2)
        b ~ DLap(1, 1/2)
        c ~ DLap(1, 1/3)
        if b <= a and c <= b and a - c < 2: emit yes
        else: emit no
        """
    )
    two, three = math.exp(-1 / 2), math.exp(-1 / 3)
    expected = sum(
        geometric(a) * (1 - two) / (1 + two) * two ** abs(b) * (1 - three) / (1 + three) * three ** abs(c)
        for a in range(50)
        for b in range(-90, 2 * a + 1)
        for c in range(3 * a - 5, math.floor(F(3 * b, 2)) + 1)
    )
    assert exactly(probability(steps, answers(0), out(record("yes"))), expected, 1e-9)


def test_continuous_noise_among_lattice_noise() -> None:
    """A Laplace threshold between geometric answers: by the threshold's integer part and fraction."""
    mixed = mechanism(
        """
        t ~ Lap(2)
        a ~ Geo(1/2)
        b ~ Geo(1/3)
        if a >= t + 1/4 and 2*b > t - 1/3: emit yes
        else: emit no
        """
    )

    def given(t: Any) -> Any:
        first, second = max(math.ceil(t + 0.25), 0), max(math.floor((t - 1 / 3) / 2) + 1, 0)
        return density(2)(t) * mpmath.mpf(2) ** -first * (mpmath.mpf(2) / 3) ** second

    cuts = sorted({x for n in range(60) for x in (n - 0.25, 2 * n + 1 / 3) if x < 60} | {-80, -1, 0})
    expected = mpmath.quad(given, cuts)
    assert exactly(probability(mixed, answers(0), out(record("yes"))), expected, 1e-9)


def test_equal_answers_with_the_same_noise_go_to_the_lowest_index() -> None:
    shared = mechanism("eta ~ Lap(1)\nw = argmax(q[i] + eta for i in q)\nemit chosen(w)")
    assert probability(shared, answers(0, 2, 2), out(record("chosen", value=1))).lower == 1
    assert probability(shared, answers(0, 2, 2), out(record("chosen", value=2))).is_zero


def test_a_draw_made_twice_and_a_scale_of_zero_raise() -> None:
    twice = mechanism("for i, x in q: eta ~ Lap(1)\nemit done")
    assert probability(twice, answers(1, 2), Raises()).lower == 1
    assert probability(twice, answers(1), out(record("done"))).lower == 1
    zero = mechanism("eta ~ Lap(q[0])\nemit done")
    assert probability(zero, answers(0), Raises()).lower == 1


def test_public_functions_are_constants() -> None:
    from dataclasses import replace

    from aligncheck.language.syntax.nodes import Call, Emit, EmitField, Function, Name, Sort

    plain = mechanism("eta ~ Lap(1)\nemit t(k)")
    call = Emit("t", (EmitField("value", Call("f", (Name("k"),))),))
    called = replace(plain, body=(plain.body[0], call), functions=(Function("f", (Sort.REAL,), Sort.REAL),))
    assert probability(called, answers(0), out(record("t", value=0))).lower == 1
    noisy = replace(called, body=(plain.body[0], Emit("t", (EmitField("value", Call("f", (Name("eta"),))),))))
    assert probability(noisy, answers(0), out(record("t", value=0))).lower == 1


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "place"),
    [
        ("emit t(a*b)", "a*b"),
        ("emit t(floor(a)/b)", "floor(a)/b"),
        ("emit t(a/b + b)", "a/b + b"),
        ("emit t(a < a/b)", "a < a/b"),
        ("emit t(a**3)", "a**3"),
        ("emit t(a % 2)", "a % 2"),
        ("c ~ Lap(1 + abs(a))\nemit t(c)", "1 + abs(a)"),
        ("emit t(floor(a) + b)", "floor(a) + b"),
        ("emit t(q[floor(a)])", "floor(a)"),
        ("emit t(sqrt(2)*a)", "sqrt(2)*a"),
    ],
)
def test_what_is_outside_of_the_class_is_refused_at_its_place(program: str, place: str) -> None:
    from small_specs import spec

    text = f"a ~ Lap(1)\nb ~ Lap(1)\n{program}"
    with pytest.raises(NotComputable) as refused:
        probability(mechanism(text), answers(0), out(record("t", value=ABOVE)))
    assert place in spec(text).text_of(refused.value.span)


def test_mistakes_in_the_question_are_told() -> None:
    with pytest.raises(ValueError, match="no value for `q`"):
        probability(LAPLACE, {"k": F(1), "eps": F(1)}, out(record("number")))
    with pytest.raises(NotComputable, match="no field `size`"):
        probability(LAPLACE, answers(0), out(record("number", size=1)))


def test_the_deadline_is_kept() -> None:
    start = time.monotonic()
    with pytest.raises(OutOfTime):
        probability(SPARSE, answers(*range(10)), Raises(), effort=Effort(0))
    assert time.monotonic() - start < 1


def test_loops_without_an_end_are_refused() -> None:
    endless = mechanism("while k > 0:\n  k2 = k\nemit done")
    with pytest.raises(NotComputable, match="too many steps"):
        probability(endless, answers(0), out(record("done")))
    waiting = mechanism(
        """
        t = 0
        go = true
        while go:
          nu[t] ~ Lap(1)
          if nu[t] > 0:
            emit top
            go = false
          else:
            emit low
          t = t + 1
        """
    )
    assert exactly(probability(waiting, answers(0), out(record("low"), record("low"), record("top"))), 1 / 8)


# --- shapes, densities, tails -------------------------------------------------------------------------------


def test_shapes_tell_discrete_fields_and_leave_noise_free() -> None:
    mixed = mechanism(
        "eta ~ Lap(1)\nif eta > 0:\n  emit a(n = 1, v = eta)\nelse:\n  emit b(v = max(eta, -1))\nemit c"
    )
    found = dict(shapes(mixed, answers(0)))
    assert {describe(event): float(ball) for event, ball in found.items()} == {
        "a(n = 1), c": pytest.approx(0.5),
        "b, c": pytest.approx(0.5),
    }


def test_more_shapes_than_wanted_are_refused() -> None:
    with pytest.raises(NotComputable, match="too many outputs"):
        shapes(SPARSE, answers(*range(8)), most=3)


def test_densities_of_released_numbers_have_their_kinks_where_answers_lie() -> None:
    value = mechanism(
        """
        for i, x in q: xi[i] ~ Lap(2/eps)
        w = argmax(q[i] + xi[i] for i in q)
        emit chosen(index = w, value = 1 - 2*(q[w] + xi[w]))
        """
    )
    event = out(record("chosen", index=1))
    (way,) = Execution(value, answers(0, 1, 3), event, lambda: None, collect=True).ways()
    released = dict(way.released[0].fields)["value"]
    integration = Integration(lambda: None)
    density = integration.density_in(way, released)
    assert density is not None
    assert sorted(density.at(cut) for cut in density.function.cuts) == [-5, -1, 1]
    total = integration.calculus.total(density.function)
    assert float(total) == pytest.approx(float(probability(value, answers(0, 1, 3), event)))


def test_tails_fall_like_their_slowest_part() -> None:
    """The greatest of two Laplace(2): P(> x) ~ (e^{a/2} + e^{b/2})/2 e^{-x/2}; the least end: the product."""
    best = mechanism("for i, x in q: xi[i] ~ Lap(2/eps)\nm = max(q[i] + xi[i] for i in q)\nemit best(m)")
    event = out(record("best"))
    upper = tail(best, answers(0, 1), event, 0, "value")
    assert upper is not None
    assert (upper.rate, upper.power) == (F(1, 2), 0)
    assert float(upper.coefficient[0]) == pytest.approx((1 + math.exp(0.5)) / 2)
    lower = tail(best, answers(0, 1), event, 0, "value", below=True)
    assert lower is not None
    assert (lower.rate, lower.power) == (F(1), 0)
    assert float(lower.coefficient[0]) == pytest.approx(math.exp(-0.5) / 4)
    one_sided = mechanism("eta ~ Exp(3)\nemit best(q[0] - 2*eta)")
    assert tail(one_sided, answers(0), event, 0, "value") is None
    below_ = tail(one_sided, answers(1), event, 0, "value", below=True)
    assert below_ is not None
    assert (below_.rate, below_.power) == (F(1, 6), 0)
    assert float(below_.coefficient[1]) == pytest.approx(math.exp(-1 / 6))
    two = mechanism("a ~ Lap(1)\nb ~ Lap(1)\nemit best(a + b)")
    sum_ = tail(two, answers(0), event, 0, "value")
    assert sum_ is not None
    assert (sum_.rate, sum_.power) == (F(1), 1)
    assert float(sum_.coefficient[0]) == pytest.approx(0.25)


# --- formulas -----------------------------------------------------------------------------------------------

FORMULAS: tuple[tuple[Mechanism, dict[str, Input], Event], ...] = (
    (NOISY_MAX, answers(0, 1), out(record("chosen", value=0))),
    (NOISY_MAX, answers(1, 0, 1), out(record("chosen", value=1))),
    (SPARSE, answers(1, 0), out(record("bottom"), record("top"))),
    (LAPLACE, answers(0), out(record("number", value=Between(F(-1), F(2))))),
    (
        mechanism(
            "for i, x in q: xi[i] ~ Geo(1 - exp(-eps))\nw = argmax(q[i] + xi[i] for i in q)\nemit chosen(w)"
        ),
        answers(0, 1),
        out(record("chosen", value=1)),
    ),
    (
        mechanism("w ~ Choose(exp(eps*q[i]/2) for i in q)\nemit chosen(w)"),
        answers(0, 2),
        out(record("chosen", value=0)),
    ),
)


@pytest.mark.parametrize("case", range(len(FORMULAS)))
def test_formulas_hold_for_every_eps(case: int) -> None:
    mechanism_, inputs, event = FORMULAS[case]
    found = closed_form(mechanism_, inputs, event)
    assert found is not None
    for eps in (F(1, 3), F(1), F(5, 2)):
        number = found.subs(
            sympy.Symbol("eps", positive=True), sympy.Rational(eps.numerator, eps.denominator)
        )
        ball = probability(mechanism_, {**inputs, "eps": eps}, event)
        assert float(sympy.N(number, 30)) == pytest.approx(float(ball), rel=1e-14)


def test_the_formula_of_noisy_max_of_two() -> None:
    found = closed_form(NOISY_MAX, answers(0, 1), out(record("chosen", value=0)))
    eps = sympy.Symbol("eps", positive=True)
    assert found is not None
    assert sympy.simplify(found - (2 + eps / 2) * sympy.exp(-eps / 2) / 4) == 0


def test_no_formula_where_a_breakpoint_depends_on_eps() -> None:
    threshold = mechanism("a ~ Lap(1/eps)\nb ~ Lap(1/eps)\nif a >= b + 1 - 1/eps: emit yes\nelse: emit no")
    assert closed_form(threshold, answers(0), out(record("yes"))) is None
    branch = mechanism("a ~ Lap(1/eps)\nif eps > 2: emit yes\nelse: emit no")
    assert closed_form(branch, answers(0), out(record("yes"))) is None


# --- events for people --------------------------------------------------------------------------------------


def test_events_are_described() -> None:
    event = out(record("bottom"), record("top", gap=Between(F(1, 2), F(1))), complete=False)
    assert describe(event) == "bottom, top(1/2 <= gap <= 1), …"
    assert (
        describe(out(record("t", value=True, n=Between(None, F(3)), m=ABOVE)))
        == "t(value = true, n <= 3, m >= 1)"
    )
    long = out(record("t", value=Exactly(F(1, 3 * 10**12))))
    assert describe(long) == "t(value = ~ 3.33333e-13)"
    assert describe(out()) == "no record"
    assert describe(Raises()) == "the run raises an error"

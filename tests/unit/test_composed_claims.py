"""Claims in ε and δ that are verified, against the exact δ of what they compose: the worst mechanisms with
the budgets that a program gives, and Gaussian noise.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from simulation import approximate

from aligncheck.commands.compile import module_text
from aligncheck.compiler.certificate.checker import check_file
from aligncheck.compiler.emit.streams import streamed
from aligncheck.compiler.modes import RunMode
from aligncheck.effort import Effort
from aligncheck.kernel.answer import Accepted
from aligncheck.kernel.decide import decide
from aligncheck.kernel.witness import Witness
from aligncheck.language.check import check
from aligncheck.language.check.further import checked
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.read import read_source
from aligncheck.language.syntax.walk import statements_in
from aligncheck.meaning.interpreter import RunScope, number_of
from aligncheck.pipeline import Options, certify_file
from aligncheck.runtime import Budget
from aligncheck.runtime.losses import ConcentratedLoss
from aligncheck.search.witness.composed import witnesses
from aligncheck.search.witness.line_costs import half_square
from aligncheck.search.witness.witness_json import expression
from aligncheck.verdict import Verified

SPECS = Path(__file__).parents[2] / "specs" / "delta"


def responses(rounds: int, eps: float, claim: float) -> float:
    """The least δ for which randomized response with ε = `eps`, `rounds` times, is (claim, δ)-private: the
    worst that pure budgets may compose to (Kairouz, Oh and Viswanath, ICML 2015, Theorem 3.3).
    """
    log_whole = rounds * math.log1p(math.exp(eps))
    parts = 0.0
    for lies in range(rounds + 1):
        one, other = (rounds - lies) * eps, claim + lies * eps
        if one > other:
            parts += math.comb(rounds, lies) * (math.exp(one - log_whole) - math.exp(other - log_whole))
    return parts


def gaussian(sigma: float, claim: float) -> float:
    """The same for a number with Gaussian noise (Balle and Wang, ICML 2018, Theorem 8)."""

    def below(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    return below(1 / (2 * sigma) - claim * sigma) - math.exp(claim) * below(-1 / (2 * sigma) - claim * sigma)


def first(spec: n.Mechanism, kind: type[Any], values: dict[str, Fraction]) -> float:
    """The budget of the first call, or the standard deviation of the first draw, for these parameters."""
    known: dict[str, Any] = dict(values)
    for s in statements_in(spec.body):
        if isinstance(s, n.Assign) and s in spec.body and not isinstance(s.value, n.Number):
            known[s.name] = number_of(s.value, RunScope(known))
        if isinstance(s, kind):
            e = (
                s.args[0]
                if isinstance(s, n.Sample)
                else next(a.value for a in s.arguments if a.name == "eps")
            )
            return float(approximate(number_of(e, RunScope(known))))
    raise AssertionError("no such statement")


BUDGETS = {"hundred_measures_delta": 100, "sparse_delta": 1, "sparse_few": 1, "numeric_sparse_delta": 2}
"""How many calls there are, for each of `c` if there is one."""


@pytest.mark.parametrize("name", BUDGETS)
def test_budgets_compose_to_no_more_than_the_claim(name: str) -> None:
    spec = checked(read_source(str(SPECS / f"{name}.dp")))
    tight = 0.0
    for c, delta in ((30, Fraction(1, 2)), (100, Fraction(1, 100)), (400, Fraction(1, 10**6))):
        most = 8 * math.log(1 / delta)
        if name == "sparse_few" and c > most:
            continue
        rounds = BUDGETS[name] * (1 if name == "hundred_measures_delta" else c)
        for share in (0.1, 0.5, 0.999):
            eps = Fraction(share * most)
            each = first(spec, n.Invoke, {"eps": eps, "delta": delta, "c": Fraction(c)})
            lost = responses(rounds, each, float(eps))
            assert lost <= delta
            tight = max(tight, lost / delta)
    assert tight > 0 or name == "sparse_few"


def test_beyond_their_ranges_the_budgets_of_the_lecture_compose_to_more() -> None:
    spec = checked(read_source(str(SPECS / "broken" / "sparse_beyond.dp")))
    eps, delta = Fraction(60), Fraction(1, 100)
    each = first(spec, n.Invoke, {"eps": eps, "delta": delta, "c": Fraction(100)})
    assert responses(100, each, 60) == pytest.approx(0.035, abs=0.001)


@pytest.mark.parametrize(
    ("name", "holds"),
    [("sums_gauss_delta", True), ("histogram_gauss_delta", True), ("broken/conversion_without_rho", False)],
)
def test_gaussian_noise_is_as_private_as_claimed(name: str, holds: bool) -> None:
    spec = checked(read_source(str(SPECS / f"{name}.dp")))
    found = []
    for eps in (Fraction(1, 10), Fraction(1), Fraction(8)):
        for delta in (Fraction(1, 3), Fraction(1, 10**6)):
            sigma = first(spec, n.Sample, {"eps": eps, "delta": delta, "Delta": Fraction(1)})
            found.append(gaussian(sigma, float(eps)) <= delta)
    assert all(found) is holds


@cache
def made(name: str, mode: RunMode) -> str:
    done = certify_file(str(SPECS / f"{name}.dp"), Options(), mode)
    assert isinstance(done.result.verdict, Verified)
    assert done.form is not None
    return module_text(done.result.verdict, done.form, done.sections, mode)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Currency.RHO", "Currency.EPSILON"),
        ("self.bound = 1 / (2 *", "self.bound = 1 / (3 *"),
        ('claim="1/(2*sigma**2)"', 'claim="1/(3*sigma**2)"'),
    ],
)
def test_what_a_program_spends_in_rho_is_checked(right: str, wrong: str) -> None:
    text = made("histogram_sigma", RunMode.LATTICE)
    assert right in text
    assert not check_file(text, ()).faults
    assert check_file(text.replace(right, wrong), ()).faults


def test_a_program_pays_in_rho(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("made")
    monkeypatch.setitem(sys.modules, "made", module)
    exec(made("histogram_sigma", RunMode.LATTICE), vars(module))
    budget = Budget(ConcentratedLoss(Fraction(1)))
    result = module.HistogramSigma(sigma=2, budget=budget)([3, 4, 5])
    assert len(result.records) == 3
    assert (budget.spent, result.spent) == (Fraction(1, 8), Fraction(1, 8))


def test_a_root_in_a_scale_is_rounded_to_the_safe_side() -> None:
    text, right = made("histogram_gauss", RunMode.LATTICE), "1 / sqrt_down(2 * rho)"
    assert right in text
    assert check_file(text.replace("sqrt_down", "sqrt_up"), ()).faults


def test_a_root_is_squared_away() -> None:
    assert half_square(expression("eps/sqrt(8*c)")) == expression("eps*eps/(16*c)")


def test_lines_that_have_no_value_at_a_head_are_left_out() -> None:
    spec = checked(read_source(str(SPECS / "gauss_adaptive.dp")))
    witness, _ = witnesses(spec, {}, Effort())
    assert expression("spent' == spent") in witness.loops[0].invariants
    assert expression("j' == j") not in witness.loops[0].invariants


def test_without_lines_nothing_is_accepted() -> None:
    spec = checked(read_source(str(SPECS / "sums_gauss.dp")))
    assert not isinstance(decide(spec, Witness()), Accepted)


PAIRS = """mechanism pairs
input
  q : int queries, sensitivity 1, adjacency one
  eps : real where eps > 0
privacy CLAIM
program
  h0 ~ Lap(1/eps)
  g0 ~ Lap(1/eps)
  emit total(value = h0 + g0)
  h1 ~ Lap(1/eps)
  g1 ~ Lap(1/eps)
  emit total(value = h1 + g1)
  for i, x in q:
    y = 0
    if i == 0:
      y = x + h0
    elif i == 1:
      y = x + h1
    emit v(value = y)
align
  h0 += q[0] - q'[0] when len(q) >= 1
  g0 += q'[0] - q[0] when len(q) >= 1
  h1 += q[1] - q'[1] when len(q) >= 2
  g1 += q'[1] - q[1] when len(q) >= 2
"""


def test_queries_are_fixed_where_a_claim_averages_over_outputs() -> None:
    """Whoever sees the sums first, and then asks of which pair the answer is hidden, learns more."""

    def mechanism(claim: str) -> n.Mechanism:
        source = Source("pairs.dp", PAIRS.replace("CLAIM", claim))
        return check(source, parse(source))

    assert streamed(mechanism("2*eps")) is not None
    assert streamed(mechanism("eps**2 zcdp")) is None
    assert streamed(mechanism("2*eps delta 1/10")) is None

    eps = 0.5
    numbers = range(-60, 61)
    draw = {h: math.exp(-eps * abs(h)) * math.tanh(eps / 2) for h in numbers}
    losses: list[tuple[float, float]] = []  # of a pair with this sum, as the answer moves; how likely it is
    for total in numbers:
        pair = {h: draw[h] * draw[total - h] for h in numbers if total - h in draw}
        chance = sum(pair.values())
        lost = sum(p * math.log(p / pair[h - 1]) for h, p in pair.items() if h - 1 in pair) / chance
        losses.append((lost, chance))
    fixed = sum(lost * chance for lost, chance in losses)
    chosen = sum(max(one, other) * p * r for one, p in losses for other, r in losses)
    assert fixed < eps**2 < chosen - 0.05

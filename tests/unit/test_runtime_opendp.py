"""Mechanisms as OpenDP measurements: their domain, metric, privacy map, and that each invocation is a run."""

from __future__ import annotations

import itertools
import math
import random
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import compiled
from oracle import compiled_spec as cls

from aligncheck.compiler.modes import RunMode
from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse
from aligncheck.runtime import Budget, Mechanism, MechanismError, MissingOpenDPError, ParameterError, Result
from aligncheck.runtime.losses import ApproximateLoss, ConcentratedLoss, Currency, PureLoss, tight_epsilon_of
from aligncheck.runtime.opendp import Closeness, closeness, loss, measurement, privacy_loss

dp = pytest.importorskip("opendp.prelude")
SPECS = Path(__file__).parents[2] / "specs"


@pytest.fixture(scope="module", autouse=True)
def _features() -> None:
    dp.enable_features("contrib", "honest-but-curious")


def with_answers(declared: str) -> Any:
    text = f"""
        mechanism m
        input
          {declared}
          D : real where D > 0
          b : vector
          eps : real where eps > 0
        privacy eps
        program
          eta ~ Lap(D/eps)
          emit value(eta)
    """
    return compiled(parse(Source("test.dp", dedent(text))))


def test_a_selection_is_a_measurement() -> None:
    meas = measurement(cls("noisy_topk_gap", RunMode.REFINED), k=2, eps="1/2", size=4)
    assert str(meas.input_metric) == str(dp.linf_distance(T=float))
    assert meas.output_measure == dp.max_divergence()
    assert meas.input_domain == dp.vector_domain(dp.atom_domain(T=float, nan=False), size=4)
    runs = [meas([1.0, 20.5, 30.25, 2.0]) for _ in range(3)]
    assert all(isinstance(run, Result) and run.private for run in runs), "a new object for each invocation"
    assert len({run.records for run in runs}) > 1
    assert [meas.map(d) for d in (0.0, 0.3, 1.0, 1.0000001, 2.0, 2.5)] == [0, 0.5, 0.5, 1, 1, 1.5]
    assert meas.check(1.0, 0.5)
    assert not meas.check(1.0, 0.4999)


def test_a_measurement_can_be_chained() -> None:
    """Counts by OpenDP, then a compiled selection: sensitivities and losses compose."""
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    counts = space >> dp.t.then_count_by_categories(categories=["a", "b", "c"], TOA=int)
    meas = measurement(cls("histogram"), eps=1, whole=True)
    chained = counts >> meas
    result = chained(["a", "b", "a"])
    assert [record.tag for record in result.records] == ["noisy"] * 4
    assert chained.map(2) == 2


@pytest.mark.parametrize(
    ("declared", "whole", "metric"),
    [
        ("q : queries, sensitivity 1, adjacency all", False, lambda: dp.linf_distance(T=float)),
        ("q : int queries, sensitivity 1, adjacency all", False, lambda: dp.linf_distance(T=int)),
        (
            "q : queries, sensitivity 1, adjacency monotone",
            False,
            lambda: dp.linf_distance(T=float, monotonic=True),
        ),
        ("q : queries, sensitivity 1, adjacency l1", False, lambda: dp.l1_distance(T=float)),
        ("q : queries, sensitivity 1, adjacency one", True, lambda: dp.l1_distance(T=int)),
        ("q : query, sensitivity 1", False, lambda: dp.absolute_distance(T=float)),
        ("q : int query, sensitivity 1, adjacency one", False, lambda: dp.absolute_distance(T=int)),
        ("q : query, adjacency any, range [0, 1]", False, dp.discrete_distance),
    ],
)
def test_the_metric_follows_from_the_adjacency(declared: str, whole: bool, metric: Any) -> None:
    meas = measurement(with_answers(declared), D=1, b=[], eps=1, whole=whole)
    assert str(meas.input_metric) == str(metric())
    distance = 1.0 if "f64" in str(metric()) else 1
    assert [meas.map(distance * d) for d in (0, 1)] == [0, 1]
    assert meas.map(distance * 3) == (1 if "any" in declared else 3)


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("q : queries, sensitivity 1, adjacency one", "adjacency `one`; with `whole=True`"),
        ("q : queries, sensitivity 1, adjacency moved", "adjacency `moved`"),
        ("p, q : queries, sensitivity 1", "mechanisms with several"),
        ("q : queries, sensitivity 1, lattice 1", "declared of the answers `q`"),
        ("q : int queries, sensitivity 2, lattice 2", "declared of the answers `q`"),
        ("q : queries, sensitivity 1 where q[i] > 0", "declared of the answers `q`"),
    ],
)
def test_neighbours_that_no_metric_expresses(declared: str, message: str) -> None:
    with pytest.raises(MechanismError, match=message):
        measurement(with_answers(declared), D=1, b=[], eps=1)


def test_sensitivities_are_those_of_the_parameters() -> None:
    made = with_answers("q : queries, sensitivity 2*D, adjacency all")
    assert measurement(made, D="3/4", b=[], eps=1).map(3.0) == 2
    each = with_answers("q : queries, sensitivity b[i], adjacency all")
    assert closeness(each(D=1, b=["1/2", 3], eps=1)) == Closeness("linf", False, Fraction(1, 2))


@pytest.mark.parametrize("x", range(2, 8))
def test_a_step_is_no_longer_than_an_irrational_sensitivity(x: int) -> None:
    made = with_answers("q : queries, sensitivity sqrt(D), adjacency all")
    step = closeness(made(D=x, b=[], eps=1)).step
    assert step is not None
    assert x * (1 - Fraction(1, 2**50)) < step**2 < x or step**2 == x == 4


def test_lists_of_which_any_two_are_neighbours_have_one_length() -> None:
    made = with_answers("q : queries, adjacency any, range [0, 1]")
    with pytest.raises(MechanismError, match="`size` is needed"):
        measurement(made, D=1, b=[], eps=1)
    meas = measurement(made, D=1, b=[], eps=1, size=2)
    assert [meas.map(d) for d in (0, 1, 5)] == [0, 1, 1]
    meas([0.0, 1.0])
    with pytest.raises(dp.OpenDPException, match="3 answers, not the declared 2"):
        meas([0.0, 1.0, 1.0])


def test_what_is_no_measurement() -> None:
    with pytest.raises(ParameterError, match="floating point"):
        measurement(cls("noisy_max", RunMode.FLOAT), eps=1)
    for own in ({"budget": Budget(1)}, {"testing_seed": 1}):
        with pytest.raises(ParameterError, match="has no meaning for a measurement"):
            measurement(cls("noisy_max"), eps=1, **own)
    with pytest.raises(ParameterError, match="`eps` must satisfy"):
        measurement(cls("noisy_max"), eps=0)
    wrong: Any
    for wrong in (None, int, Mechanism):
        with pytest.raises(ParameterError, match="`cls` must be a class"):
            measurement(wrong)


def test_without_opendp_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(MissingOpenDPError, match=r"pip install 'aligncheck\[opendp\]'"):
        measurement(cls("noisy_max"), eps=1)


@given(st.fractions(0, 50), st.one_of(st.none(), st.integers(0, 10**6)))
def test_losses_are_rounded_up(claim: Fraction, steps: int | None) -> None:
    found = privacy_loss(PureLoss(claim), steps)
    assert isinstance(found, float)
    if steps is None:
        assert found == math.inf
        return
    assert Fraction(found) >= claim * steps
    below = math.nextafter(found, -math.inf)
    assert found == 0 or Fraction(below) < claim * steps


def test_losses_that_no_float_holds() -> None:
    assert loss(Fraction(10**400)) == math.inf
    assert loss(Fraction(1, 10**400)) > 0


def test_claims_in_other_currencies() -> None:
    """As compiled classes say them; OpenDP turns ρ into ε at a δ, by the same conversion."""
    base = cls("histogram")

    def claiming(currency: Currency) -> Any:
        spec = replace(base.spec, currency=currency)
        return type("Other", (base,), {"spec": spec, "bound_delta": Fraction(1, 1 << 20)})

    concentrated = measurement(claiming(Currency.RHO), whole=True, eps="1/8")
    assert concentrated.output_measure == dp.zero_concentrated_divergence()
    assert [concentrated.map(d) for d in (0, 1, 2)] == [0, 1 / 8, 4 / 8]
    curve = dp.c.make_zCDP_to_approxDP(concentrated).map(1)
    assert curve.epsilon(1e-6) == pytest.approx(float(tight_epsilon_of("1/8", "1e-6")), rel=1e-12)
    approximate = measurement(claiming(Currency.EPSILON_DELTA), whole=True, eps=1)
    assert approximate.output_measure == dp.approximate(dp.max_divergence())
    assert approximate.map(1) == (1.0, 2.0**-20)
    epsilon, delta = approximate.map(2)
    assert epsilon == 2
    assert 0 <= delta - 2.0**-20 * (1 + math.e) < 1e-20
    assert privacy_loss(ConcentratedLoss(Fraction(1)), None) == math.inf
    assert privacy_loss(ApproximateLoss(Fraction(1), Fraction(1, 2)), None) == (math.inf, 1.0)


@pytest.mark.parametrize("distance", [-1.0, math.nan])
def test_distances_that_are_none(distance: float) -> None:
    with pytest.raises(ParameterError, match="`d_in` must not be negative"):
        Closeness("linf", False, Fraction(1)).steps(distance)


@pytest.mark.parametrize("metric", ["linf", "monotone linf", "l1", "one"])
@pytest.mark.parametrize("whole", [False, True])
def test_the_steps_are_there(metric: str, whole: bool) -> None:
    """For random pairs at a distance: databases between them, as many steps as the map charges at most, each
    of two neighbours.
    """
    if metric == "one" and not whole:
        return
    rng = random.Random(5)
    for _ in range(300):
        size = rng.randint(1, 4)
        sensitivity = Fraction(rng.randint(2, 9), 1 if whole else 2)
        signs = [rng.choice((-1, 1))] * size if metric.startswith("mono") else rng.choices((-1, 1), k=size)
        moves = [s * Fraction(rng.randint(0, 60), 1 if whole else 4) for s in signs]
        size_of = max if "linf" in metric else sum
        distance = size_of(map(abs, moves))
        close = Closeness(metric, whole, Fraction(1) if metric == "one" else sensitivity)
        steps = close.steps(float(distance))
        assert steps is not None
        path = list(between(metric, whole, moves, steps, sensitivity))
        assert path[0] == [0] * size
        assert path[-1] == moves
        assert len(path) - 1 <= steps
        for here, there in itertools.pairwise(path):
            step = [b - a for a, b in zip(here, there, strict=True)]
            assert neighbours(metric, step, sensitivity)
            assert not whole or all(move.denominator == 1 for move in step)


def between(metric: str, whole: bool, moves: list[Fraction], steps: int, sensitivity: Fraction) -> Any:
    """The databases on the way, as what was added to the first."""
    if not whole or "linf" in metric:
        for j in range(steps + 1):
            exact = [move * j / max(steps, 1) for move in moves]
            yield [Fraction(math.floor(x)) for x in exact] if whole else exact
        return
    here = [Fraction(0)] * len(moves)
    yield list(here)
    units = 0
    for i, move in enumerate(moves):
        for _ in range(int(abs(move))):
            here[i] += 1 if move > 0 else -1
            units += 1
            if metric == "one" or units == sensitivity:
                yield list(here)
                units = 0
    if units:
        yield list(here)


def neighbours(metric: str, step: list[Fraction], sensitivity: Fraction) -> bool:
    match metric:
        case "linf":
            return max(map(abs, step)) <= sensitivity
        case "monotone linf":
            alike = all(move >= 0 for move in step) or all(move <= 0 for move in step)
            return alike and max(map(abs, step)) <= sensitivity
        case "l1":
            return sum(map(abs, step)) <= sensitivity
        case _:
            return sum(move != 0 for move in step) <= 1 and max(map(abs, step)) <= sensitivity


def test_floats_are_the_binary_fractions_that_they_are() -> None:
    """0.1 is a little more than 1/10, and so it is for OpenDP's distances."""
    seen: list[Any] = []

    class Recording(cls("noisy_max")):  # type: ignore[misc]
        def __call__(self, q: Any) -> Any:
            seen.append(q)
            return super().__call__(q)

    measurement(Recording, eps=1)([0.1, 2.0])
    assert seen == [[Fraction(0.1), 2]]

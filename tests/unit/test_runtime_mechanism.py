"""Generated mechanisms in use: one run per object, budgets, what was spent, the lattice's step, streams."""

from __future__ import annotations

import copy
import gc
import inspect
import itertools
import math
import threading
import tracemalloc
import warnings
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pandas as pd
import pytest
from oracle import compiled
from oracle import compiled_spec as cls
from recorded_noise import RecordedNoise

from aligncheck.compiler.modes import RunMode
from aligncheck.language.check import check
from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse
from aligncheck.runtime import (
    AlreadyRunError,
    AnswersError,
    Budget,
    BudgetError,
    Labelled,
    MechanismError,
    ParameterError,
    UnsafeFloatWarning,
    resolution,
    row_of,
)
from aligncheck.runtime.decimals import LARGEST
from aligncheck.runtime.exact_noise import LatticeNoise

SPECS = Path(__file__).parents[2] / "specs"


def of_text(text: str, mode: RunMode = RunMode.LATTICE) -> Any:
    source = Source("test.dp", dedent(text))
    return compiled(check(source, parse(source)), mode)


@pytest.fixture(scope="module")
def adaptive() -> Any:
    return cls("adaptive_svt")


@pytest.fixture(scope="module")
def hybrid() -> Any:
    return cls("hybrid_sparse_gap")


# --- one run ------------------------------------------------------------------------------------------------


def test_an_object_runs_once(adaptive: Any) -> None:
    mechanism = adaptive(T=1, k=1, eps=1, testing_seed=1)
    assert (mechanism.spent, mechanism.remaining, mechanism.bound) == (0, 1, 1)
    first = mechanism([1, 2, 3])
    assert (mechanism.spent, mechanism.remaining) == (1, 0)
    for again in (mechanism, mechanism.stream):
        with pytest.raises(AlreadyRunError, match="`AdaptiveSvtWithGap` has run already"):
            again([1, 2, 3])
    assert adaptive(T=1, k=1, eps=1, testing_seed=1)([1, 2, 3]) == first
    mechanism.check([1, 2, 3])


def test_what_is_refused_is_no_run(adaptive: Any) -> None:
    budget: Any = Budget(1)
    mechanism = adaptive(T=1, k=1, eps=1, budget=budget)
    for wrong in ([None, "1"], ["1"], np.ones((2, 2))):
        with pytest.raises(AnswersError):
            mechanism(wrong)
    assert (mechanism.spent, budget.remaining) == (0, 1)
    mechanism([1])
    assert (mechanism.spent, budget.remaining) == (1, 0)


def test_what_is_public_is_refused_before_anything_is_drawn() -> None:
    noise: Any = RecordedNoise([1] * 9)
    budget: Any = Budget(1)
    mechanism = cls("noisy_topk_gap")(k=2, eps=1, budget=budget).with_noise(noise)
    with pytest.raises(ParameterError, match=r"`k` must satisfy `k <= len\(q\) - 1`, but is 2"):
        mechanism([1, 2])
    assert (noise.drawn, budget.remaining, mechanism.spent) == ([], 1, 0)
    assert len(mechanism([1, 2, 3]).records) == 2


@pytest.mark.parametrize(("name", "value"), [("eps", 100), ("gamma", 10), ("bound", 0), ("T", Fraction(1))])
def test_what_was_checked_does_not_change(adaptive: Any, name: str, value: object) -> None:
    mechanism = adaptive(T=1, k=1, eps=1)
    with pytest.raises(AttributeError, match=f"`{name}` is fixed: make a new `AdaptiveSvtWithGap`"):
        setattr(mechanism, name, value)
    assert mechanism([3]).spent == 1


def test_a_bound_that_waits_for_the_answers_cannot_be_set() -> None:
    mechanism = cls("hybrid_topk_gap", RunMode.REFINED)(T=0, k=1, eps=1)
    with pytest.raises(AttributeError):
        mechanism.bound = Fraction(0)


def test_noise_from_elsewhere_is_not_vouched_for(adaptive: Any) -> None:
    result = adaptive(T=1, k=1, eps=1).with_noise(LatticeNoise(Fraction(1, 3)))([3])
    assert not result.private
    assert result.notes == ("not private (noise from elsewhere)",)


def test_a_copied_budget_is_the_same_budget(adaptive: Any) -> None:
    budget = Budget(1)
    for copied in (copy.copy(budget), copy.deepcopy(budget)):
        assert copied is budget
    mechanism = copy.deepcopy(adaptive(T=1, k=1, eps=1, budget=budget))
    mechanism([3])
    assert budget.remaining == 0


def test_threads_get_one_run(adaptive: Any) -> None:
    mechanism, done = adaptive(T=1, k=1, eps=1), []

    def run() -> None:
        try:
            done.append(mechanism([1, 2]))
        except AlreadyRunError as error:
            done.append(error)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(each, AlreadyRunError) for each in done) == 7


# --- budgets ------------------------------------------------------------------------------------------------


def test_runs_share_a_budget(adaptive: Any) -> None:
    budget: Any = Budget(1)
    for _ in range(11):
        adaptive(T=1, k=1, eps="1/11", budget=budget)([5])
    assert (budget.spent, budget.remaining) == (1, 0)
    twelfth = adaptive(T=1, k=1, eps="1/11", budget=budget)
    with pytest.raises(BudgetError, match="asked 1/11, spent 1, remaining 0"):
        twelfth([5])
    assert (twelfth.spent, twelfth.remaining) == (0, Fraction(1, 11))


def test_a_budget_pays_what_the_output_cost(hybrid: Any) -> None:
    budget: Any = Budget(5)
    mechanism = hybrid(T=0, k=3, theta="1/4", eps=2, budget=budget)
    result = mechanism.with_noise(RecordedNoise([2] + [12] * 4))([-90, 90, -90, 95])
    assert (len(result.records), result.spent) == (2, Fraction(3, 2))
    assert (budget.spent, budget.reserved, budget.remaining) == (Fraction(3, 2), 0, Fraction(7, 2))
    with pytest.raises(BudgetError, match="asked 2, spent 3/2, remaining 1/2"):
        # The bound must be there before the run, whatever it would come to.
        hybrid(T=0, k=3, theta="1/4", eps=2, budget=_with(budget, 3))([-90] * 4)


def _with(budget: Budget, spent: int) -> Budget:
    other = Budget(budget.remaining - spent + Fraction(3, 2))
    other.spend(Fraction(3, 2))
    return other


def test_a_run_that_fails_has_spent_all_it_could(hybrid: Any) -> None:
    budget: Any = Budget(5)
    mechanism = hybrid(T=0, k=3, theta="1/4", eps=2, budget=budget).with_noise(RecordedNoise([2]))
    with pytest.raises(MechanismError, match="recorded noise ends"):
        mechanism([1, 2, 3, 4])
    assert (mechanism.spent, mechanism.remaining, budget.spent, budget.reserved) == (2, 0, 2, 0)
    with pytest.raises(AlreadyRunError):
        mechanism([1, 2, 3, 4])


def test_a_bound_that_depends_on_how_many_answers_there_are() -> None:
    each = of_text(
        """
        mechanism each
        input
          q : queries, sensitivity 1
          eps : real where eps > 0
        privacy eps*len(q)
        program
          for i, x in q:
            eta[i] ~ Lap(1/eps)
            emit noisy(x + eta[i])
        """
    )
    assert not hasattr(each, "stream"), "the claim speaks of the number of answers"
    budget: Any = Budget(1)
    mechanism = each(eps="1/4", budget=budget)
    with pytest.raises(MechanismError, match="how many answers"):
        mechanism.remaining  # noqa: B018
    with pytest.raises(BudgetError, match="asked 5/4"):
        mechanism.with_noise(RecordedNoise([0] * 5))([1] * 5)
    again = mechanism.with_noise(RecordedNoise([0] * 3))
    result = again([1] * 3)
    assert (result.spent, again.spent, again.remaining) == (Fraction(3, 4), Fraction(3, 4), 0)
    assert budget.remaining == Fraction(1, 4)
    assert mechanism.with_noise(RecordedNoise([0]))([1]).spent == Fraction(1, 4), "not the earlier bound"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": 1}, "`budget` must be a Budget or None"),
        ({"testing_seed": 1.5}, "`testing_seed` must be an integer or None"),
        ({"testing_seed": True}, "`testing_seed` must be an integer or None"),
        ({"gamma": 0}, "`gamma` must be positive"),
        ({"gamma": "2/3"}, "`gamma` must divide `1` = 1, but is 2/3"),
        ({"gamma": "x"}, "`gamma` must be a number"),
    ],
)
def test_settings_that_are_none(adaptive: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        adaptive(T=1, k=1, eps=1, **settings)


# --- the lattice --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("units", "step"),
    [
        ({}, Fraction(1, 1024)),
        ({"1": 1}, Fraction(1, 1024)),
        ({"2": 2}, Fraction(2, 2048)),
        ({"1/3": Fraction(1, 3)}, Fraction(1, 3) / 342),
        ({"D": Fraction(1, 2000)}, Fraction(1, 2000)),
        ({"b": (Fraction(1, 2), Fraction(1, 3)), "0": 0}, Fraction(1, 6) / 171),
        ({"-R": -3, "R": 3}, Fraction(3, 3072)),
    ],
)
def test_the_default_step(units: dict[str, Any], step: Fraction) -> None:
    found = resolution(None, units)
    assert found == step
    assert found <= Fraction(1, 1024)
    assert resolution(found, units) == found


def test_answers_and_releases_lie_on_the_lattice() -> None:
    for mode in (RunMode.LATTICE, RunMode.REFINED):
        mechanism = cls("histogram", mode)(eps="1/7", gamma="1/3")
        values = [r.count for r in mechanism([0.1, 1e300, -5, Fraction(1, 7)]).records]
        assert all((3 * value).denominator == 1 for value in values)
    zero = cls("histogram")(eps=1, gamma="1/4").with_noise(RecordedNoise([0] * 4))
    assert [r.count for r in zero([0.5] * 4).records] == [Fraction(1, 2)] * 4


def test_the_float_mode_is_named_unsafe() -> None:
    made = cls("adaptive_svt", RunMode.FLOAT)
    says = "`UnsafeAdaptiveSvtWithGap` computes in floating point"
    with pytest.warns(UnsafeFloatWarning, match=says) as warned:
        mechanism = made(T=1, k=1, eps=1)
    assert [w.filename for w in warned] == [__file__], "it points to where the object is made"
    result = mechanism([1, 2])
    assert not result.private
    assert (made.mode, result.mode, result.gamma) == ("float", "float", None)
    assert any("unsafe" in note for note in result.notes)
    with pytest.raises(TypeError):
        made(T=1, k=1, eps=1, gamma=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cls("adaptive_svt")(T=1, k=1, eps=1)([1, 2])


@pytest.mark.parametrize("mode", [RunMode.LATTICE, RunMode.REFINED])
def test_no_float_is_released_in_exact_modes(mode: RunMode) -> None:
    mechanism = cls("adaptive_svt", mode)(T=1.5, k=2, eps=0.1, testing_seed=3)
    result = mechanism(np.linspace(-100, 100, 50))
    numbers = [number for r in result.records for number in row_of(r).values()]
    assert numbers
    assert all(isinstance(number, int | Fraction) for number in numbers)
    assert isinstance(result.spent, Fraction)
    assert mechanism.spent == Fraction(1, 10)


def test_public_functions_give_exact_numbers() -> None:
    """A float among exact numbers would turn what is computed from private answers into floats."""
    seen: list[Any] = []

    def update(state: Any, i: int, value: Any) -> float:
        seen.append(value)
        return float(value) / 3

    pmw = cls("online_pmw")(
        T=-1000,
        N=2,
        start=0,
        eps=1,
        answer=lambda state, i: float(state) + 0.1,
        update=update,
        testing_seed=1,
    )
    records = pmw([1, 2, 3]).records
    assert [type(r.value) for r in records] == [Fraction, Fraction]
    assert seen == [r.value for r in records]


@pytest.mark.parametrize(
    ("mode", "probability"),
    [
        (RunMode.LATTICE, 1 / (1 + math.e)),
        (RunMode.REFINED, 1 / (2 * math.e)),
        (RunMode.FLOAT, 1 / (2 * math.e)),
    ],
)
def test_each_mode_has_its_noise(mode: RunMode, probability: float) -> None:
    """A step as long as the scale, so that noise on the lattice and real-valued noise differ: an answer of
    9900 reaches 10000 where the noise is at least one step.
    """
    made, runs = cls("threshold_salary", mode), 3000
    step = {} if mode is RunMode.FLOAT else {"gamma": 100}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsafeFloatWarning)
        tags = [made(eps=1, testing_seed=seed, **step)(9900).records[0].tag for seed in range(runs)]
    share = tags.count("above") / runs
    assert abs(share - probability) < 4.5 * math.sqrt(probability * (1 - probability) / runs)


# --- estimates ----------------------------------------------------------------------------------------------


def test_on_a_lattice_a_bound_leaves_room_for_two_steps() -> None:
    bounds = []
    for gamma in ("1/1024", "1/8"):
        mechanism = cls("svt_with_gap")(T=0, k=1, eps=1, gamma=gamma)
        (estimate,) = mechanism.with_noise(RecordedNoise([0, 0]))([100]).estimates
        assert estimate.value == 100
        bounds.append(estimate.lower_bound(0.95))
    assert bounds[0] - bounds[1] == pytest.approx(2 * (1 / 8 - 1 / 1024))


@pytest.mark.parametrize("gamma", ["1/1024", "1", "100"])
def test_the_bounds_hold_on_a_lattice(gamma: str) -> None:
    """Also where its step is not small beside the noise."""
    made, runs, held = of_text(GAP), 400, 0
    for seed in range(runs):
        mechanism = made(T=0, eps="1/50", gamma=gamma, testing_seed=seed)
        (estimate,) = mechanism([7]).estimates
        held += estimate.lower_bound(0.8) <= 7
    assert held / runs > 0.8 - 4 * math.sqrt(0.8 * 0.2 / runs)


GAP = """
    mechanism gap
    input
      q : queries, sensitivity 100
      T : real
      eps : real where eps > 0
    privacy eps
    program
      eta ~ Lap(200/eps)
      for i, x in q:
        xi[i] ~ Lap(200/eps)
        emit gap(x + xi[i] - T - eta)
"""


COUNTS = """
    mechanism counts
    input
      q : {}
      eps : real where eps > 0
    privacy eps
    program
      for i, x in q:
        n[i] ~ DLap(1/eps)
        emit v(x = x + n[i])
    align
      n[i] += q[i] - q'[i]
    """


@pytest.mark.parametrize("mode", [RunMode.LATTICE, RunMode.REFINED])
@pytest.mark.parametrize(
    "declared", ["int queries, sensitivity 1, adjacency l1", "int queries, sensitivity 3/2, adjacency one"]
)
def test_counts_that_rounding_would_part_are_integers(declared: str, mode: RunMode) -> None:
    """10 answers of 0.95 and 10 of 1.05 are 1 apart in all, and 10 if rounded; 0.9 and 2.1 would be 2."""
    made, budget = of_text(COUNTS.format(declared), mode), Budget(9)
    for answers in ([0.95] * 10, [1.05], [0.9], np.array([2.0]), [Fraction(1)], np.array([0.9], dtype=">f4")):
        mechanism = made(eps=1, budget=budget)
        for refusing in (mechanism, mechanism.check, lambda v, m=mechanism: next(m.stream(list(v)))):
            with pytest.raises(AnswersError, match=r"`q.*integer"):
                refusing(answers)
    zero = [0] * 3
    for whole in ([1, 2, 3], np.array([1, 2, 3], dtype=np.uint8), pd.Series([1, 2, 3], dtype="Int64")):
        records = made(eps=1).with_noise(RecordedNoise(zero))(whole).records
        assert [record.x for record in records] == [1, 2, 3]


# --- labels -------------------------------------------------------------------------------------------------


def test_lists_in_different_orders_are_not_paired() -> None:
    """Labels are public. Which lists a program pairs is not asked."""
    budget: Any = Budget(9)
    two = cls("two_histograms", RunMode.REFINED)
    p = pd.Series([1.0, 2.0, 3.0], index=["a", "b", "c"])
    for r in (p.sort_values(ascending=False), p.iloc[1:], Labelled([1], ("c",))):
        with pytest.raises(AnswersError, match=r"`r` has another order than `p`: the label '.' is at place"):
            two(Delta=1, eps=1, budget=budget)(p, r)
    for r in (p.copy(), p.iloc[:2], p.rename(str.upper), p.to_numpy(), [1.0], pd.Series([1.0, 2.0])):
        two(Delta=1, eps=1, budget=budget)(p, r)
    weighted = cls("weighted_histogram")
    assert len(weighted(b=p, eps=1, budget=budget)(p).records) == 3
    with pytest.raises(AnswersError, match="`q` has another order than `b`: the label 'c' is at place 0"):
        weighted(b=p, eps=1, budget=budget)(p.sort_index(ascending=False))
    repeated = pd.Series([1.0, 2.0, 3.0], index=["a", "a", "b"])
    assert len(weighted(b=repeated, eps=1, budget=budget)(repeated).records) == 3
    assert (budget.spent, budget.reserved) == (8, 0)


# --- streams ------------------------------------------------------------------------------------------------


class Endless:
    """An endless list of answers that counts how many were taken."""

    def __init__(self, answer: Any) -> None:
        self.taken = 0
        self._answer = answer

    def __iter__(self) -> Iterator[Any]:
        while True:
            self.taken += 1
            yield self._answer


def test_a_stream_takes_one_answer_at_a_time(adaptive: Any) -> None:
    mechanism, source = adaptive(T=0, k=2, eps=1), Endless(-(10**6))
    records = mechanism.stream(source)
    assert source.taken == 0
    for asked in range(1, 6):
        assert next(records).tag == "below"
        assert source.taken == asked
    with pytest.raises(AlreadyRunError):
        mechanism.stream([1])
    with pytest.raises(AlreadyRunError):
        mechanism([1])


def test_a_stream_releases_what_a_run_does() -> None:
    answers = [3, 50, 0.5, 60, Fraction(1, 3), 70, 80]
    for stem, parameters in STREAMED.items():
        made = cls(stem)
        noise = [Fraction(n, 8) for n in range(60)]
        records = made(**parameters).with_noise(RecordedNoise(noise))(answers).records
        streamed = made(**parameters).with_noise(RecordedNoise(noise)).stream(iter(answers))
        assert tuple(streamed) == records, stem


STREAMED: dict[str, dict[str, Any]] = {
    "above_threshold": {"T": 10, "eps": 1},
    "adaptive_svt": {"T": 10, "k": 2, "eps": 1},
    "histogram": {"eps": 1},
    "prefix_sum": {"eps": 1},
    "smart_sum": {"M": 2, "eps": 1},
    "sparse": {"T": 10, "c": 2, "eps": 1},
    "svt_with_gap": {"T": 10, "k": 2, "eps": 1},
    "weighted_histogram": {"b": [1] * 7, "eps": 1},
}


def test_the_queries_may_depend_on_what_was_released(adaptive: Any) -> None:
    mechanism = adaptive(T=100, k=1, eps=4, testing_seed=7)
    asked: list[int] = []

    def queries() -> Iterator[int]:
        for value in itertools.count(0, 50):
            asked.append(value)
            yield value

    records = list(mechanism.stream(queries()))
    assert records[-1].tag in ("top", "mid")
    assert len(asked) == len(records), "no answer is taken that is not needed"


def test_a_stream_stops_when_the_mechanism_does(adaptive: Any) -> None:
    source = Endless(10**6)
    budget: Any = Budget(1)
    mechanism = adaptive(T=0, k=1, eps=1, budget=budget)
    records = mechanism.stream(source)
    assert budget.remaining == 0
    first = list(records)
    assert [r.tag for r in first] == ["top"] * len(first)
    assert sum(r.used for r in first) <= 1
    assert next(records, None) is None
    assert (mechanism.spent, mechanism.remaining, budget.spent) == (1, 0, 1)
    with pytest.raises(AlreadyRunError):
        mechanism.stream([1])


COUNTED = """
    mechanism counted
    input
      q : queries, sensitivity 1
      T : real
      k : int where k >= 1
      eps : real where eps > 0
    privacy eps/2 + eps*out.count(above)/(2*k) at most eps
    program
      eta ~ Lap(2/eps)
      count = 0
      for i, x in q:
        xi[i] ~ Lap(4*k/eps)
        if x + xi[i] >= T + eta:
          emit above
          count = count + 1
        else:
          emit below
        if count >= k: break
"""


def test_what_a_stream_has_spent_in_the_middle() -> None:
    budget: Any = Budget(3)
    mechanism = of_text(COUNTED)(T=0, k=4, eps=2, budget=budget)
    answers = [-(10**6), 10**6, -(10**6), 10**6, 10**6, 10**6, 10**6]
    assert (mechanism.spent, mechanism.remaining) == (0, 2)
    records = mechanism.stream(answers)
    spent = []
    for _ in zip(range(4), records, strict=False):
        spent.append(mechanism.spent)
        assert mechanism.spent + mechanism.remaining == 2
        assert (budget.spent, budget.reserved, budget.remaining) == (0, 2, 1)
    assert spent == [1, Fraction(5, 4), Fraction(5, 4), Fraction(3, 2)]
    records.close()
    assert (budget.spent, budget.reserved, budget.remaining) == (Fraction(3, 2), 0, Fraction(3, 2))
    assert (mechanism.spent, next(records, None)) == (Fraction(3, 2), None)


def test_a_stream_that_is_let_go_is_settled() -> None:
    budget: Any = Budget(2)
    records = of_text(COUNTED)(T=0, k=4, eps=2, budget=budget).stream(itertools.repeat(-(10**6)))
    assert (next(records).tag, budget.remaining) == ("below", 0)
    del records
    gc.collect()
    assert (budget.spent, budget.reserved, budget.remaining) == (1, 0, 1)


def test_a_stream_that_fails_has_spent_all_it_could() -> None:
    budget: Any = Budget(3)
    mechanism = of_text(COUNTED)(T=0, k=4, eps=2, budget=budget)
    records = mechanism.stream(iter([-(10**6), "2"]))
    assert next(records).tag == "below"
    with pytest.raises(AnswersError, match=r"`q\[1\]` must be a number, not a str"):
        next(records)
    assert (mechanism.spent, budget.spent, budget.reserved) == (2, 2, 0)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_a_public_function_cannot_stop_a_run_and_have_the_rest_back(error: type[BaseException]) -> None:
    """It has been told a noisy answer by then."""
    text = """
        mechanism told
        fun f(real) : real
        input
          q : queries, sensitivity 1, adjacency one
          eps : real where eps > 0
        privacy eps*len(out)/(len(out) + 1) at most eps
        program
          for i, x in q:
            eta[i] ~ Lap(1/eps)
            y = f(x + eta[i])
            emit noisy(value = y)
        """

    def stop(value: Any) -> Any:
        raise error

    for streams in (False, True):
        budget: Any = Budget(1)
        mechanism = of_text(text)(eps=1, f=stop, budget=budget)
        with pytest.raises(error):
            next(mechanism.stream([7])) if streams else mechanism([7])
        assert (budget.spent, budget.remaining) == (1, 0)


def test_a_stream_ends_where_a_public_list_does() -> None:
    mechanism = cls("weighted_histogram")(b=[1, 2], eps=1)
    records = mechanism.stream([1, 2, 3])
    assert [next(records).tag, next(records).tag] == ["noisy", "noisy"]
    with pytest.raises(AnswersError, match=r"`q` must satisfy `len\(q\) <= len\(b\)`"):
        next(records)


def test_answers_of_a_stream_are_cleaned() -> None:
    zero = cls("histogram")(eps=1).with_noise(RecordedNoise([0] * 4))
    values = [r.count for r in zero.stream([math.nan, math.inf, 0.1, np.float32(0.5)])]
    assert values == [0, LARGEST, Fraction(1, 10), Fraction(1, 2)]


COUNTING = """\
n = 0
m = 0
for y in q:
  if y > 0:
    emit {}
    n = n + 1
  else:
    emit {}
  m = m + n
  if {} > 3: break"""

HEAD = """\
mechanism m
input
  q : queries, sensitivity 1
  x : query, sensitivity 1
  eps : real where eps > 0
privacy {}
program
"""
EACH = "eps*len(out)/9 at most eps"


@pytest.mark.parametrize(
    ("claim", "body", "offered"),
    [
        ("eps", "for y in q: emit a(y)", True),
        ("eps", "for y in q: emit a(y + x)", True),
        ("eps", "emit b(x)\nfor y in q: emit a(y)", True),
        ("eps", "for y in q: emit a(y)\nemit b(x)", True),
        # Nothing is released while the answers come, or they are read in another way too.
        ("eps", "s = 0\nfor y in q: s = s + y\nemit a(s)", False),
        ("eps", "for i, y in q: emit a(q[i])", False),
        ("eps", "for y in q: emit a(y/len(q))", False),
        ("eps", "emit n(len(q))\nfor y in q: emit a(y)", False),
        ("eps", "for y in q: emit a(y)\nfor z in q: emit a(z)", False),
        ("eps", "for k in range(2):\n  for y in q: emit a(y)", False),
        ("eps", "if eps > 1:\n  for y in q: emit a(y)", False),
        ("eps", "m = max(q[j] for j in q)\nfor y in q: emit a(y)", False),
        ("eps*len(q)", "for y in q: emit a(y)", False),
        # A draw of each round that is kept would need memory.
        ("eps", "for i, y in q:\n  eta[i] ~ Lap(1/eps)\n  emit a(y + eta[i])", True),
        ("eps", "for i, y in q:\n  eta[i] ~ Lap(1/eps)\n  emit a(y + eta[0])", False),
        # How many answers are taken between two records would tell something that they do not.
        ("eps", "for y in q:\n  if y > 0: emit a", False),
        ("eps", "for y in q:\n  if y > 0: emit a\n  emit a", False),
        ("eps", "for y in q:\n  for k in range(2): emit a", False),
        ("eps", "if x > 0: emit a\nfor y in q: emit a", False),
        ("eps", "for y in q:\n  emit a(y)\n  emit a(y)", True),
        # A break after the record, or before it; but not both, which look alike.
        ("eps", "for y in q:\n  emit a(y)\n  if y > 3: break", True),
        ("eps", "for y in q:\n  if y > 3: break\n  emit a(y)", True),
        ("eps", "for y in q:\n  if y > 5: break\n  emit a(y)\n  if y > 3: break", False),
        ("eps", "for y in q:\n  if y > 5: break\n  emit a\n  if y > 3: break\n  emit b", True),
        ("eps", "for y in q:\n  if y > 5:\n    emit a\n    emit a\n    break\n  emit a", False),
        # Records after the loop are released by a run on fewer answers, too.
        ("eps", "for y in q:\n  emit a(y)\n  if y > 3: break\nemit b", False),
        ("eps", "n = 0\nfor y in q:\n  emit a(y)\n  n = n + 1\n  if n > 3: break\nemit b", True),
        # Claims that depend on the output.
        (EACH, "for y in q: emit a(y)", True),
        (EACH, "for y in q: emit a(y)\nemit b", False),
        (EACH, "emit b\nfor y in q: emit a(y)", False),
        (EACH, "for y in q:\n  emit a(y)\n  emit a(y)", False),
        (EACH, "for y in q:\n  if y > 0: emit a\n  else: emit b", True),
        (EACH, "for y in q:\n  emit a(y)\n  if y > 3: break", False),
        (EACH, "for i, y in q:\n  emit a(y)\n  if i > 3: break", True),
        (EACH, COUNTING.format("a", "b", "n"), True),
        (EACH, COUNTING.format("a", "a", "n"), False),
        (EACH, COUNTING.format("a", "b", "n + y"), False),
        (EACH, COUNTING.format("a", "b", "m"), True),
        (EACH, COUNTING.format("a", "b", "m").replace("m = m + n", "m = m + y"), False),
        (EACH, "m = x\n" + COUNTING.format("a", "b", "m").replace("m = 0\n", ""), False),
    ],
)
def test_which_mechanisms_have_a_stream(claim: str, body: str, offered: bool) -> None:
    text = HEAD.format(claim) + "".join(f"  {line}\n" for line in body.split("\n"))
    cls = compiled(parse(Source("test.dp", text)))
    assert hasattr(cls, "stream") is offered
    said = " ".join((cls.__doc__ or "").split())
    assert ("Queries may be chosen by the records so far (`stream`)" in said) is offered
    assert ("Queries are fixed before the run" in said) is not offered
    two = text.replace("  x : query,", "  p : queries, sensitivity 1\n  x : query,")
    assert not hasattr(compiled(parse(Source("test.dp", two))), "stream"), "the other list is no stream"


def test_the_signature_of_a_class_shows_its_parameters(adaptive: Any) -> None:
    parameters = inspect.signature(adaptive).parameters
    assert list(parameters) == ["T", "k", "eps", "gamma", "budget", "testing_seed"]
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in parameters.values())
    assert list(inspect.signature(adaptive(T=0, k=1, eps=1)).parameters) == ["q"]


def test_who_asks_for_a_stream_that_is_not_offered_is_told_why() -> None:
    text = HEAD.format("eps") + "  emit n(len(q))\n"
    cls: Any = compiled(parse(Source("test.dp", text)))
    mechanism = cls(eps=1)
    with pytest.raises(AttributeError, match="no `stream`: its queries are fixed before the run"):
        mechanism.stream([1])


@pytest.mark.parametrize("mode", [RunMode.LATTICE, RunMode.FLOAT])
def test_a_stream_needs_no_more_memory_for_more_answers(mode: RunMode) -> None:
    made = cls("adaptive_svt", mode)

    def peak(answers: int) -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnsafeFloatWarning)
            records = made(T=10**6, k=2, eps=1, testing_seed=1).stream(itertools.repeat(0, answers))
        tracemalloc.start()
        try:
            assert sum(1 for _ in records) == answers
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(100)
    few, many = peak(3_000), peak(9_000)  # blocks of noise have reached their size
    assert many < 1.5 * few + 20_000

"""The counterexample generator's Algorithms 1 to 4 (dissertation, chapter 4), transcribed line by line,
beside `aligncheck.statistical` on the same runs, thinned by the same random numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from aligncheck.commands.offered import with_arguments
from aligncheck.language.adjacencies import Adjacency
from aligncheck.language.check import check
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.statistical import rounds
from aligncheck.statistical.event_choice import LEAST_SHARE, choose
from aligncheck.statistical.output_events import holds
from aligncheck.statistical.outputs import outputs_of_batch
from aligncheck.statistical.patterns import InputPair, pairs
from aligncheck.statistical.plan import Plan, SeedStream, Setup, seed_of
from aligncheck.statistical.pvalue import REPEATS, log_fisher, log_pvalue
from aligncheck.statistical.reference import Reference
from aligncheck.statistical.work import here

SPECS = Path(__file__).parents[2] / "specs"


# --- Algorithm 2 --------------------------------------------------------------------------------------------


def fisher(c1: int, c2: int, n: int) -> float:
    """Lines 3 and 4: 1 - Hypergeom.cdf(c1 - 1 | 2n, n, s), in whole numbers."""
    s = c1 + c2
    ways = sum(math.comb(n, k) * math.comb(n, s - k) for k in range(c1, min(n, s) + 1))
    return float(Fraction(ways, math.comb(2 * n, s)))


def pvalue(c1: int, c2: int, n: int, eps: float, rng: np.random.Generator) -> float:
    """Lines 1 to 4, thinned REPEATS times and averaged, as section 4.3.2 says below."""
    thinned = rng.binomial(c1, 1 / math.exp(eps), size=REPEATS)
    return sum(fisher(int(c), c2, n) for c in thinned) / REPEATS


@pytest.mark.parametrize("n", [20, 60])
def test_p_values_are_those_of_algorithm_2(n: int) -> None:
    """Those that are reported are twice the printed ones, and at most 1: see `log_pvalue`."""
    counts = np.random.default_rng(2).integers(0, n + 1, size=(25, 2))
    for c1, c2 in counts.tolist():
        (log,) = log_fisher(np.array([c1]), np.array([c2]), n)
        assert math.exp(log) == pytest.approx(fisher(c1, c2, n), rel=1e-12, abs=1e-12)
        for eps in (0.2, 0.7, 1.5):
            printed = pvalue(c1, c2, n, eps, np.random.default_rng(c1))
            ours = math.exp(log_pvalue(c1, c2, n, eps, np.random.default_rng(c1)))
            assert ours == pytest.approx(min(1.0, 2 * printed), rel=1e-12, abs=1e-12)


# --- Algorithm 3 --------------------------------------------------------------------------------------------

Lists = NDArray[Any]
"""The outputs of some runs: the first axis is the run."""

Where = NDArray[np.bool_]
Mechanism = Callable[[Sequence[float], int, np.random.Generator], Lists]


def noisy_histogram(D: Sequence[float], size: int, rng: np.random.Generator) -> Lists:
    """Algorithm 10: Lap(eps) for Lap(1/eps), at 0.5."""
    return np.array(D) + rng.laplace(scale=0.5, size=(size, len(D)))


def above(D: Sequence[float], size: int, rng: np.random.Generator) -> Lists:
    """Algorithm 13 at T = 1, Delta = 1, eps = 1."""
    noisy = 1 + rng.laplace(scale=2, size=(size, 1))
    found: Lists = np.array(D) + rng.laplace(scale=2, size=(size, len(D))) >= noisy
    return found


def noisy_max(D: Sequence[float], size: int, rng: np.random.Generator) -> Lists:
    """Algorithm 5 with half of its noise, as a word: the output is one categorical value."""
    noisy = np.array(D) + rng.laplace(scale=1, size=(size, len(D)))
    words: Lists = np.array(list("abcde"))[np.argmax(noisy, axis=1)][:, None]
    return words


def space(first: Lists, exact: Lists) -> Iterator[Callable[[Lists], Where]]:
    """Line 5: the search space by the type of outputs, cases 1 and 3; `exact` is the output without noise."""
    if first.dtype.kind == "f":
        ends = [-math.inf, *range(-1, 4), math.inf]
        for a, b in itertools.combinations(ends, 2):
            for i in range(first.shape[1]):
                yield lambda o, a=a, b=b, i=i: (o[:, i] > a) & (o[:, i] < b)  # type: ignore[misc]
            for t in (np.mean, np.min, np.max):
                yield lambda o, a=a, b=b, t=t: (t(o, axis=1) > a) & (t(o, axis=1) < b)  # type: ignore[misc]
        return
    for k in range(first.shape[1] + 1):
        yield lambda o, k=k: (o != exact).sum(axis=1) == k  # type: ignore[misc]
        for value in np.unique(first):
            yield lambda o, k=k, value=value: (o == value).sum(axis=1) == k  # type: ignore[misc]


class Selected(NamedTuple):
    p: float
    pair: int
    seen: tuple[bytes, bytes]
    """On which runs on D1 and on D2, packed."""


def score(c1: int, c2: int, n: int, eps: float) -> float:
    """The lesser of the two p-values, as a logarithm, each thinned count being its mean: the same for all."""
    one, other = (round(c / math.exp(eps)) for c in (c1, c2))
    return float(log_fisher(np.array([one, other]), np.array([c2, c1]), n).min())


def event_selector(n: int, M: Mechanism, eps: float, inputs: Sequence[InputPair], seed: int) -> Selected:
    """Lines 2 to 15 with footnote 3."""
    results = []
    for index, pair in enumerate(inputs):
        o1, o2 = runs(n, M, pair, seed + index)
        exact = M(pair.first, 1, _Quiet())  # type: ignore[arg-type]
        for E in space(o1, exact):
            w1, w2 = E(o1), E(o2)
            c1, c2 = int(w1.sum()), int(w2.sum())
            if c1 + c2 >= LEAST_SHARE * n * math.exp(eps):
                seen = (np.packbits(w1).tobytes(), np.packbits(w2).tobytes())
                results.append(Selected(score(c1, c2, n, eps), index, seen))
    return min(results, key=lambda result: result.p)


class _Quiet:
    """The noise of a run at eps = infinity."""

    def laplace(self, scale: float, size: tuple[int, ...]) -> Lists:
        return np.zeros(size)


def runs(n: int, M: Mechanism, pair: InputPair, seed: int) -> tuple[Lists, Lists]:
    rng = np.random.default_rng(seed)
    return M(pair.first, n, rng), M(pair.second, n, rng)


def chosen(n: int, M: Mechanism, eps: float, inputs: Sequence[InputPair], seed: int) -> Selected:
    """What `choose` makes of the same runs."""
    results = []
    for index, pair in enumerate(inputs):
        o1, o2 = (outputs_of_batch(o, n, "M") for o in runs(n, M, pair, seed + index))
        (choice,) = choose(o1, o2, [(eps, 0.0)])
        assert choice is not None
        w1, w2 = holds(choice.event, o1), holds(choice.event, o2)
        seen = (np.packbits(w1).tobytes(), np.packbits(w2).tobytes())
        results.append((choice.score, Selected(score(int(w1.sum()), int(w2.sum()), n, eps), index, seen)))
    return max(results, key=lambda result: result[0])[1]


@pytest.mark.parametrize("M", [noisy_max, above, noisy_histogram])
def test_events_are_at_least_as_telling_as_those_of_algorithm_3(M: Mechanism) -> None:
    """On the same runs: no event of the printed search space has a plainly smaller p-value than ours, of a
    larger one (ranked by standard deviations, which orders near ones otherwise: 5 % of the logarithm); and
    where an output is one word, where both spaces are the same, so are the pair and the event.
    """
    inputs, n, eps = pairs(Adjacency.ALL, 1.0, [3]), 800, 0.4
    for seed in (0, 100):
        printed, ours = event_selector(n, M, eps, inputs, seed), chosen(n, M, eps, inputs, seed)
        assert ours.p <= 0.95 * printed.p < math.log(0.001)
        assert M is not noisy_max or ours == printed


# --- Algorithm 1 --------------------------------------------------------------------------------------------


def test_a_whole_test_is_algorithm_1() -> None:
    """Pair and event are chosen on some runs and counted on others, of which counts the p-value is."""
    inputs, n, eps = pairs(Adjacency.ALL, 1.0, [5]), 400, 0.4
    plan = Plan(Setup(Reference(__file__, "noisy_max")), inputs, (eps,), eps, n, n, 0.01, 7, 1, 60.0)
    _, level = rounds.tested_levels(plan, [(0.0, 0.0), (eps, 0.0)], 0.001, here)

    def drawn(part: SeedStream, *key: int) -> Lists:
        D = (inputs[key[0]].first, inputs[key[0]].second)[key[1]]
        return noisy_max(D, n, np.random.default_rng(seed_of(plan, part, *key)))

    results = []
    for index in range(len(inputs)):
        o1, o2 = (drawn(SeedStream.SELECTING, index, side) for side in (0, 1))
        for value in "abcde":
            c1, c2 = int((o1 == value).sum()), int((o2 == value).sum())
            if c1 + c2 >= LEAST_SHARE * n * math.exp(eps):
                results.append((score(c1, c2, n, eps), index, value))
    _, index, value = min(results)
    c1, c2 = (int((drawn(SeedStream.TESTING, index, side, 0) == value).sum()) for side in (0, 1))
    top, bottom = (
        pvalue(*counts, n, eps, np.random.default_rng(seed_of(plan, SeedStream.THINNING, 1)))
        for counts in ((c1, c2), (c2, c1))
    )
    swapped = bottom < top
    assert level.pair is not None
    assert level.pair.pattern == inputs[index].pattern + (", reversed" if swapped else "")
    assert (level.seen_first, level.seen_second) == ((c2, c1) if swapped else (c1, c2))
    assert math.exp(level.log_pvalue) == pytest.approx(2 * min(top, bottom), rel=1e-11)


# --- Algorithm 4 --------------------------------------------------------------------------------------------

TABLE = (  # Table 4-1; "All Above & All Below" once each way, as its text says
    ([1, 1, 1, 1, 1], [2, 1, 1, 1, 1]),
    ([1, 1, 1, 1, 1], [0, 1, 1, 1, 1]),
    ([1, 1, 1, 1, 1], [2, 0, 0, 0, 0]),
    ([1, 1, 1, 1, 1], [0, 2, 2, 2, 2]),
    ([1, 1, 1, 1, 1], [0, 0, 0, 2, 2]),
    ([1, 1, 1, 1, 1], [2, 2, 2, 2, 2]),
    ([1, 1, 1, 1, 1], [0, 0, 0, 0, 0]),
    ([1, 1, 0, 0, 0], [0, 0, 1, 1, 1]),
)
GRID = [Fraction(x, 2) for x in range(-6, 9)]


def diverging(D1: list[int], D2: list[int], T: Fraction, N: int | None) -> int:
    """Line 3: the branches on which the runs of Algorithm 11 (with N) or 12 without noise differ."""
    found, counts = 0, [0, 0]
    for a, b in zip(D1, D2, strict=True):
        found += (a >= T) != (b >= T)
        counts = [counts[0] + (a >= T), counts[1] + (b >= T)]
        if N is not None and max(counts) >= N:
            break
    return found


def argument_generator(D1: list[int], D2: list[int], counted: bool) -> tuple[int, int]:
    """Lines 1 to 5: the least N and Delta = 1 make the noise least; then the most branches, for some T."""
    N = 1
    return N, max(diverging(D1, D2, T, N if counted else None) for T in GRID)


@pytest.mark.parametrize("name", ["svt", "broken/isvt1"])
def test_inputs_and_arguments_are_as_good_as_those_of_algorithm_4(name: str) -> None:
    source = read_source(str(SPECS / f"{name}.dp"))
    spec, counted = check(source, parse(source)), name == "svt"
    candidates = pairs(Adjacency.ALL, 1.0, [5])
    assert sorted((p.first, p.second) for p in candidates) == sorted(TABLE)
    eps = next(key for key in ("eps", "ε") if f"  {key} : real" in source.text)
    tried = candidates[-2:] if counted else candidates  # a quarter of a second each
    for pair in with_arguments(tried, spec, {eps: "1"}):
        D1, D2 = ([int(x) for x in side] for side in (pair.first, pair.second))
        N, most = argument_generator(D1, D2, counted)
        offered = {key: Fraction(text) for key, text in pair.offered}
        assert (offered.get("Δ") or offered.get("Delta")) == 1
        assert offered.get("N", N) == N
        assert diverging(D1, D2, offered["T"], N if counted else None) >= most > 0

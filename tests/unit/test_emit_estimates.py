"""Which released numbers generated mechanisms take for gaps, and what they then say about the answers."""

from __future__ import annotations

import math
import random
import re
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from oracle import as_if_verified, load
from recorded_noise import RecordedNoise
from small_specs import named as mechanism

from aligncheck.compiler.emit.gaps import released_gaps
from aligncheck.compiler.emit.python import emit_python
from aligncheck.compiler.emit.ranks import released_ranks
from aligncheck.expect import expectation_in
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.parse import parse
from aligncheck.runtime import FloatingNoise, Labelled, Result
from aligncheck.runtime.bits import SeededBits
from aligncheck.runtime.exact_noise import LatticeNoise

PROJECT = Path(__file__).parents[2]
SPECS, PAGE = PROJECT / "specs", PROJECT / "docs" / "runtime.md"
PARAMETERS = {"T": Fraction(-1000), "k": 5, "theta": Fraction(1, 4), "eps": Fraction(1, 2)} | {
    "s2": 5,
    "s3": 9,
    "m": 2,
    "g": 1,
    "t": -1000,
}
STEPS = (
    "adaptive_svt_geometric",
    "adaptive_svt_geometric_monotone",
    "svt_discrete",
    "svt_with_gap_geometric",
)
"""Those whose noise is discrete."""
RANKS = {
    **dict.fromkeys(("noisy_max_gap", "noisy_max_gap_monotone"), (1, False)),
    **dict.fromkeys(("noisy_topk_gap", "noisy_topk_gap_monotone", "noisy_topk_gap_exp"), (3, False)),
    "noisy_topk_gap_exp_monotone": (3, False),
    **dict.fromkeys(("hybrid_topk_gap", "hybrid_topk_gap_exp", "hybrid_topk_gap_monotone"), (3, True)),
}
"""How many records they release here, and whether a threshold takes part."""
GAPS = (
    *("adaptive_svt", "adaptive_svt_exponential", "adaptive_svt_theta", "adaptive_svt_theta_monotone"),
    *("adaptive_svt_three", "hybrid_sparse_gap", "hybrid_sparse_gap_monotone"),
    *("svt_with_gap", "svt_with_gap_exponential", "svt_with_gap_theta", "svt_with_gap_untagged"),
)


@cache
def loaded(name: str) -> Any:
    return load(emit_python(as_if_verified(mechanism(name))))


def built(name: str, **changed: Any) -> Any:
    """With a threshold so low that every answer is above it, whatever the noise."""
    cls = loaded(name)
    given = {**PARAMETERS, **changed}
    return cls(**{p.keyword: given[p.name] for p in cls.spec.parameters})


def test_these_specs_release_gaps_to_a_threshold_and_no_others() -> None:
    verified = [
        path
        for path in SPECS.glob("*.dp")
        if " use " not in path.read_text("utf-8").replace("\n", " ")
        and (found := expectation_in(path.read_text("utf-8"))) is not None
        and found.verdict == "verified"
    ]
    assert {path.stem for path in verified if released_gaps(mechanism(path.stem))} == {*GAPS, *STEPS}
    assert {path.stem for path in verified if released_ranks(mechanism(path.stem))} == RANKS.keys()


@pytest.mark.parametrize("name", GAPS)
def test_an_estimate_is_off_by_two_draws_of_the_noise_that_it_names(name: str) -> None:
    rng = random.Random(name)
    answers = [Fraction(rng.randint(0, 50)) for _ in range(8)]
    noise = RecordedNoise(Fraction(rng.randint(0, 2**20), 2**16) for _ in range(100))
    result = built(name).with_noise(noise)(answers)
    threshold, *draws = noise.drawn
    found = list(zip(result.records, result.estimates, strict=True))
    assert len([estimate for _, estimate in found if estimate is not None]) >= 4
    for place, (record, estimate) in enumerate(found):
        if estimate is None:
            continue
        answer = answers[getattr(record, "index", place)]
        error = estimate.value - answer + estimate.noise.mean + threshold.value
        (drawn,) = [d for d in draws if d.value == error and d.args == (estimate.noise.answer_scale,)]
        assert threshold.args == (estimate.noise.threshold_scale,)
        assert {drawn.family, threshold.family} == {"Exp" if estimate.noise.one_sided else "Lap"}


@pytest.mark.parametrize("name", ["svt_with_gap", "adaptive_svt", "svt_with_gap_exponential"])
def test_bounds_hold_as_often_as_they_claim(name: str) -> None:
    runs, confidence = 400, 0.9
    one, noise = built(name), FloatingNoise(3)
    held = []
    for _ in range(runs):
        result = one.with_noise(noise)([40.0])
        (estimate,) = result.estimates
        held.append(estimate.lower_bound(confidence) <= 40)
    assert abs(sum(held) / runs - confidence) < 4 * math.sqrt(confidence * (1 - confidence) / runs)


def test_the_example_of_the_readme(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(result = .*?)```", PAGE.read_text("utf-8"), re.S)
    answers = Labelled([5000.0, 0.0, 4000.0], ("bread", "salt", "milk"))
    exec(example, {"SvtWithGap": type(built("svt_with_gap")), "counts": answers})
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == ["bread", "milk"]
    for (_, value, _, error, _, _, bound), answer in zip(lines, (5000, 4000), strict=True):
        assert float(bound) < float(value) == pytest.approx(answer, abs=20 * float(error))


@pytest.mark.parametrize("name", STEPS)
def test_estimates_under_discrete_noise_are_off_by_what_they_say(name: str) -> None:
    """Drawn by the exact samplers of compiled mechanisms: mean, variance, the share of bounds that hold."""
    runs, answer, errors, held, claimed = 500, 40, [], [], set()
    mechanism = built(name, k=1, T=-1000, eps=1)
    for run in range(runs):
        (estimate,) = mechanism.with_noise(LatticeNoise(Fraction(1), SeededBits(run)))([answer]).estimates
        errors.append(float(estimate.value - answer) / estimate.standard_error)
        held.append(estimate.lower_bound(0.9) <= answer)
        claimed.add(estimate.noise.probability_at_most(estimate.noise.exact_margin(0.9)))
        assert estimate.noise.step == 1
    assert abs(sum(errors) / runs) < 4 / math.sqrt(runs)
    assert sum(e * e for e in errors) / runs == pytest.approx(1, abs=0.3)
    (share,) = claimed
    assert share >= 0.9
    assert abs(sum(held) / runs - share) < 4 * 0.3 / math.sqrt(runs)


@pytest.mark.parametrize("name", RANKS)
def test_gaps_between_ranks_are_off_by_two_draws(name: str) -> None:
    """On recorded noise, exactly; hybrids that end at their threshold tell the answers above it."""
    rng = random.Random(name)
    count, hybrid = RANKS[name]
    answers = [Fraction(rng.randint(0, 50)) for _ in range(6)]
    noise = RecordedNoise(Fraction(rng.randint(0, 2**20), 2**16) for _ in range(10))
    threshold = sorted(answers)[-2] + Fraction(1, 3)
    result = built(name, k=3, T=threshold).with_noise(noise)(answers)
    scores = [draw.value for draw in noise.drawn]
    numbers = ([threshold] if hybrid else []) + answers
    noisy = sorted(
        ((a + x, place) for place, (a, x) in enumerate(zip(numbers, scores, strict=True))), reverse=True
    )
    ends = hybrid and any(place == 0 for _, place in noisy[:3])
    count = [place for _, place in noisy].index(0) + 1 if ends else count
    assert len(result.records) == count
    for a in range(1, count + 1):
        for b in range(a + 1, count + 2):
            between = result.gap_between(a, b)
            assert between.value == pytest.approx(float(noisy[a - 1][0] - noisy[b - 1][0]))
            squares = 2 if "exp" in name else 4
            assert between.standard_error**2 == pytest.approx(squares * float(noise.drawn[0].args[0]) ** 2)
    for place, estimate in enumerate(result.estimates):
        if not ends or place == count - 1:
            assert estimate is None
        else:
            assert estimate.value == pytest.approx(float(noisy[place][0] - scores[0]))
    with pytest.raises(ValueError, match="ranks go from 1 to"):
        result.gap_between(2, 2)
    assert Result.from_json(result.to_json(), *{type(r) for r in result.records}) == result


def test_other_records_are_no_ranks() -> None:
    """A gap to another rank, by other noise, in another order, or beside other records."""
    text = (SPECS / "noisy_topk_gap.dp").read_text("utf-8")
    assert released_ranks(mechanism("noisy_topk_gap")) is not None
    for old, new in (
        ("- q[winners[r + 1]] - eta[winners[r + 1]]", "- q[winners[r + 1]]"),
        ("winners[r + 1]", "winners[k - 1]"),
        ("for i in q where i not in winners)", "for i in q)"),
        ("eta[i] ~ Lap(2*k/eps)", "eta[i] ~ Lap((1 + i)*k/eps)"),
        ("  for r in range(k):", "  emit first\n  for r in range(k):"),
        ("j = winners[r]", "j = winners[k - 1 - r]"),
        ("range(k):", "range(1, k):"),
    ):
        assert old in text
        assert released_ranks(parse(Source("m.dp", text.replace(old, new)))) is None
    with pytest.raises(ValueError, match="are not ranks"):
        built("svt_with_gap")([40.0]).gap_between(1, 2)


HEAD = """\
mechanism made
input
  q : queries, sensitivity 1
  b : vector
  T : real
  eps : real where eps > 0
privacy eps
program
"""
LOOP = """\
  eta ~ Lap(2/eps)
  for i, x in q:
    xi[i] ~ Lap(4/eps)
"""


@pytest.mark.parametrize(
    "body",
    [
        LOOP + "    emit gap(x + xi[i])",  # no noise of a threshold
        LOOP + "    emit gap(2*x + xi[i] - T - eta)",
        LOOP + "    emit gap(x + xi[i] + eta - T)",
        LOOP + "    emit gap(T + eta - x - xi[i])",
        LOOP + "    emit gap(x + xi[i] - xi[i] - T)",
        LOOP + "    emit gap(x + q[0] + xi[i] - eta)",
        LOOP.replace("Lap(4", "Exp(4") + "    emit gap(x + xi[i] - eta - T)",  # two families
        "  t = T\n" + LOOP + "    t = t + 1\n    emit gap(x + xi[i] - eta - t)",  # not the same in all rounds
        LOOP.replace("4/eps", "4*b[i]") + "    emit gap(x + xi[i] - eta)",
        LOOP + "    emit gap(x + xi[i] - eta - max(b[j] for j in b))",
    ],
)
def test_other_numbers_are_no_gaps(body: str) -> None:
    made = parse(Source("made.dp", HEAD + body + "\n"))
    assert released_gaps(made) == {}


def test_gaps_are_seen_through_variables() -> None:
    body = (
        "  t = T/2 - 1\n" + LOOP + "    noisy = t + eta\n    g = x - noisy\n    emit gap(g + xi[i], b[i])\n"
    )
    made = parse(
        Source("made.dp", HEAD + body.replace("(g + xi[i], b[i])", "(extra = b[i], gap = g + xi[i])"))
    )
    (gap,) = released_gaps(made).values()
    assert (gap.field, gap.added, gap.one_sided) == ("gap", nodes.Name("t"), False)

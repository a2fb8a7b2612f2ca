"""What a certified violation means: whether some ε would do, and how the level grows with the input."""

from __future__ import annotations

from fractions import Fraction

import pytest
from small_specs import mechanism

from aligncheck.effort import Effort
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation.certify import certified
from aligncheck.refutation.consequences import explained
from aligncheck.refutation.events import Between, CompleteOutput, RecordPattern
from aligncheck.refutation.pair_search import Candidate, Scored
from aligncheck.refutation.violation import LossKind, Violation

F = Fraction
ONE = "x : query, sensitivity 1\neps : real where eps > 0"
MANY = "x : queries, sensitivity 1\neps : real where eps > 0"


def above(*numbers: int) -> CompleteOutput:
    """That all the numbers that are released are greater than these."""
    return CompleteOutput(
        tuple(RecordPattern("done", (("value", Between(F(each), None)),)) for each in numbers)
    )


def explained_of(of: Mechanism, candidate: Candidate, *others: Candidate) -> Violation:
    found = certified(of, candidate, Effort(steps=2_000))
    assert found is not None
    assert found.kind is LossKind.FINITE
    return explained(of, found, [Scored(other, 0.0, 0.0) for other in others], Effort(steps=20_000))


COIN = "b ~ Bernoulli(1/4)\nz ~ Lap(1)\n"


@pytest.mark.parametrize(
    ("program", "kind", "far"),
    [
        ("z ~ Lap(1)\nemit done(2*x + z)", LossKind.FINITE, None),
        ("z ~ Lap(1 + x)\nemit done(z)", LossKind.RARER, True),
        ("z ~ Lap(2 - x)\nemit done(2*x + z)", LossKind.RARER, False),
        ("z ~ Lap(1)\nw ~ Lap(1)\nemit done((z + w if x > 0 else z) + x)", LossKind.RARER, True),
        ("z ~ Exp(2 - x)\nemit done(2 - z)", LossKind.RARER, False),
        ("z ~ Lap(1)\nemit done(2 if x > 0 else z)", LossKind.IMPOSSIBLE, False),
        (f"{COIN}if x > 0: emit done(z + 9)\nelif b == 1: emit done(2)", LossKind.IMPOSSIBLE, True),
        ("u ~ Uniform(2)\nemit done(u + x)", LossKind.FINITE, None),
    ],
)
def test_a_lighter_tail_is_a_loss_without_a_bound(program: str, kind: LossKind, far: bool | None) -> None:
    """By its rate, or its power at one rate, or as it ends: then no ε would do. Shown is the database with
    the heavier tail as D, and further and further out.
    """
    of = mechanism(program, "", ONE, "eps")
    scenario = Scenario((("eps", F(1, 8)),), (("x", F(1)),), (("x", F(0)),))
    found = explained_of(of, Candidate(scenario, above(1)))
    assert found.kind is kind
    if far is not None:
        assert found.scenario.data == (("x", F(1 if far else 0)),)
    levels = [member.level for member in found.family]
    assert levels == sorted(set(levels))
    assert (len(levels) > 1) is (kind is LossKind.RARER)
    assert not levels or found.level == levels[-1]


@pytest.mark.parametrize(
    ("lengths", "released", "kind", "levels"),
    [
        ((1, 2, 3), "x[i] + z[i]", LossKind.GROWS, 3),
        ((2, 1, 4), "x[i] + z[i]", LossKind.GROWS, 3),
        ((1, 2), "x[i] + z[i]", LossKind.FINITE, 0),
        ((1, 2, 3), "x[i]*(1 if i < 1 else 0) + z[i]", LossKind.FINITE, 3),
        ((1, 2, 3), "x[i]/(i + 1)**2 + z[i]", LossKind.FINITE, 3),
        ((1, 2, 6), "x[i]/(1 if i < 2 else 4) + z[i]", LossKind.FINITE, 3),
    ],
)
def test_a_level_grows_where_each_answer_adds_as_much(
    lengths: tuple[int, ...], released: str, kind: LossKind, levels: int
) -> None:
    """Of three lengths at least, at the same parameters; with steps that get smaller there may be a bound."""
    of = mechanism(f"for i in range(len(x)):\n  z[i] ~ Lap(1)\n  emit done({released})", "", MANY, "eps")

    def candidate(n: int, part: int = 8) -> Candidate:
        data, prime = ((("x", (F(each),) * n),) for each in (1, 0))
        return Candidate(Scenario((("eps", F(1, part)),), data, prime), above(*(1,) * n))

    first, *others = map(candidate, lengths)
    found = explained_of(of, first, *others, candidate(5, 9))
    assert found.kind is kind
    assert [member.what for member in found.family] == [f"n = {n}" for n in sorted(lengths)][:levels]

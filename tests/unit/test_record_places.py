"""Which record is a round's own, and that a guard which asks for another one is told so."""

from __future__ import annotations

import pytest
from small_specs import spec, verdict_of

from aligncheck.language.check import check
from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse
from aligncheck.language.unparse import unparse_expr
from aligncheck.search.record_places import misplaced, uneven_rounds
from aligncheck.verdict import AlignmentFails, Verified

INPUTS = "q : queries, sensitivity 1\neps : real where eps > 0"
ROUNDS = """
{before}
eta ~ Lap(2/eps)
for i, x in q:
  xi[i] ~ Lap(4/eps)
  {first}
  if x + xi[i] >= eta:
    emit top
    break
  {other}
"""
BELOW = "else: emit below"
EACH = "for j, y in q: emit seen(j)"
EITHER = "if eps > 1: emit one\nelse: emit two"


def made(before: str, first: str, other: str, guard: str) -> Source:
    align = f"eta += 1\nxi[i] += 1 + q[i] - q'[i] when {guard}"
    return spec(ROUNDS.format(before=before, first=first, other=other), align, INPUTS)


@pytest.mark.parametrize(
    ("before", "first", "other", "guard", "right"),
    [
        ("pass", "pass", BELOW, "out[i] is top", None),
        ("emit start", "pass", BELOW, "out[i] is top", "out[i + 1] is top"),
        ("emit start", "pass", BELOW, "out[i + 1] is top", None),
        ("pass", "pass", BELOW, "out[i + 1] is top", "out[i] is top"),
        ("emit start", "emit at(i)", BELOW, "out[i + 1] is top", "out[2*i + 2] is top"),
        ("pass", "emit at(i)", "pass", "out[i] is top", "out[i + 1] is top"),
        (EACH, "pass", BELOW, "out[i] is top", "out[len(q) + i] is top"),
        (EITHER, "pass", BELOW, "out[i] is not below", "out[i + 1] is not below"),
        ("if eps > 1: emit one", "pass", BELOW, "out[i] is top", None),
        ("pass", "if x > 3: emit odd", BELOW, "out[i] is top", None),
    ],
)
def test_the_record_of_the_round(before: str, first: str, other: str, guard: str, right: str | None) -> None:
    source = made(before, first, other, guard)
    found = [line.guard for _, line, _ in misplaced(check(source, parse(source)))]
    assert [unparse_expr(each) for each in found if each is not None] == ([] if right is None else [right])


def test_a_round_that_may_release_nothing_is_said_to() -> None:
    source = made("pass", "pass", "pass", "out[i] is top")
    assert [unparse_expr(e) for e in uneven_rounds(check(source, parse(source)))] == []
    source = made("pass", "if x > 3: emit odd", BELOW, "out[i] is top")
    assert [unparse_expr(e) for e in uneven_rounds(check(source, parse(source)))] == ["out[i] is top"]


def test_what_is_advised_is_verified() -> None:
    verdict = verdict_of(made("emit start", "pass", BELOW, "out[i] is top"))
    assert isinstance(verdict, AlignmentFails)
    assert verdict.advice[0].startswith("verified with `xi[i] += 1 + q[i] - q'[i] when out[i + 1] is top`")
    assert isinstance(verdict_of(made("emit start", "pass", BELOW, "out[i + 1] is top")), Verified)

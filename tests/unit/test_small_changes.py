"""Small changes of a spec that are tried where a proof fails."""

from __future__ import annotations

import pytest

from aligncheck.language.check import check
from aligncheck.language.conditions import Condition
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax.parse import parse
from aligncheck.search.small_changes import small_changes

SPEC = """\
mechanism m

input
  q : queries, sensitivity 2
  eps : real where eps > 0

privacy eps

program
  for i, x in q:
    invariant i >= 0
    eta[i] ~ Lap(3*x/eps)
    emit noisy(value = x + eta[0], other = x)

align
  eta[i] += q[i] when i == 0
"""


@pytest.mark.parametrize(
    ("condition", "at", "among"),
    [
        (Condition.INVARIANT, "i >= 0", "without this `invariant`: leave it out"),
        (Condition.COST, "eps\n\nprogram", "with the scale `6*x/eps` of `eta` in place of `3*x/eps`"),
        (
            Condition.OUTPUT,
            "x)",
            "with `eta[i] += q'[i] when i == 0` in place of `eta[i] += q[i] when i == 0`",
        ),
        (Condition.OUTPUT, "x)", "with `eta[i] += q[i]` in place of `eta[i] += q[i] when i == 0`"),
        (Condition.OUTPUT, "x)", "with `eta[i]` in place of `eta[0]`"),
        (Condition.TERMINATES, "x)", None),
        (Condition.DEFINED, "x)", None),
    ],
)
def test_what_is_tried(condition: Condition, at: str, among: str | None) -> None:
    source = Source("m.dp", SPEC)
    mechanism = check(source, parse(source))
    start = SPEC.index(at)
    tried = list(small_changes(mechanism, condition, Span(start, start + 1)))
    assert among in [each.text for each in tried] if among else not tried
    assert all(each.changed != mechanism for each in tried)


def test_a_guard_that_reads_a_field_asks_first_for_its_record() -> None:
    other = SPEC.replace("emit noisy(value = x + eta[0], other = x)", "emit noisy(x)\n    emit done")
    other = other.replace("when i == 0", "when out[i].value == i")
    mechanism = check(Source("m.dp", other), parse(Source("m.dp", other)))
    (change,) = small_changes(mechanism, Condition.DEFINED, Span(0, 1))
    assert change.text == (
        "with `eta[i] += q[i] when out[i] is noisy and out[i].value == i` in place of `eta[i] += q[i] when "
        "out[i].value == i`"
    )

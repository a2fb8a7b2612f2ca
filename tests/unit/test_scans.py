"""Lines about loops that look for something: what they say, in words of the spec."""

from __future__ import annotations

import pytest

from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse
from aligncheck.language.unparse import unparse_expr
from aligncheck.search.witness.leaders import Leaders
from aligncheck.search.witness.more_lines import MoreLines
from aligncheck.search.witness.scans import Scans

DOWN = """mechanism m
input
  q : queries, sensitivity 1
  eps : real where eps > 0 and len(q) >= 1
privacy eps
program
  i = len(q) - 1
  w = 0
  best = 0
  while i >= 0:
    eta[i] ~ Lap(2/eps)
    if i == len(q) - 1 or q[i] + eta[i] > best:
      w = i
      best = q[i] + eta[i]
    i = i - 1
  emit c(w)
align
  eta[i] += 1 + q[i] - q'[i] when out[0].value == i
"""

FLAG = """mechanism m
input
  q : queries, sensitivity 1
  k : int where k >= 1
  eps : real where eps > 0
privacy eps
program
  r ~ Lap(1/eps)
  t = r
  n = 0
  go = true
  for i, x in q:
    if go and x > t:
      n = n + 1
      t = r
    go = n < k
align
  r += 2
"""


@pytest.mark.parametrize(
    ("text", "early", "both"),
    [
        (
            DOWN,
            ["w > i or i == len(q) - 1", "0 - 1 <= i", "$dense_eta"],
            [
                "not (out[0].value > i and w == out[0].value) or w' == w",
                "not (out[0].value > i and w == out[0].value) or 1 <= best' - best",
                "alignment_cost <= (eps if out[0].value > i else 0)",
            ],
        ),
        (
            FLAG,
            ["n <= k", "go or n < k", "not go or n < k"],
            ["go' == go", "t' - t == 2", "go or t' - t == 2", "not go or t' - t == 2"],
        ),
    ],
)
def test_lines(text: str, early: list[str], both: list[str]) -> None:
    lines = MoreLines(parse(Source("m.dp", text)))
    assert isinstance(lines, Scans)
    assert {*early} <= {unparse_expr(e) for e in lines.early(0)}
    assert {*both} <= {unparse_expr(e) for e in lines.both(0)}


LEADER = """mechanism m
input
  q : queries, sensitivity 1
  eps : real where eps > 0 and len(q) >= 2
privacy eps
program
  w = 0
  best = 0
  next = 0
  for i, x in q:
    eta[i] ~ Lap(2/eps)
    v = x + eta[i]
    if i == 0 or v > best:
      next = best
      best = v
      w = i
    elif i == 1 or v > next:
      next = v
  emit c(at = w, gap = best - next)
"""


def test_a_loop_that_keeps_the_two_greatest_selects() -> None:
    leaders = Leaders(parse(Source("m.dp", LEADER)))
    said = [unparse_expr(line) for line in leaders.lines(0, True)]
    assert "i <= 0 or w' == argmax(q'[at_0] + eta'[at_0] for at_0 in range(i))" in said
    others = "max(q'[at_0] + eta'[at_0] for at_0 in range(i) where at_0 != w')"
    assert f"i <= 0 + 1 or next' == {others}" in said
    (selected,) = map(unparse_expr, leaders.selections(0))
    assert selected == "argmax(q[at_0] + eta[at_0] for at_0 in range(len(q)))"
    unread = LEADER.replace("v = x + eta[i]", "v = x")
    assert not Leaders(parse(Source("m.dp", unread))).keeps(0)

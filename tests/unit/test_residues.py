"""Lines about loops that look at answers which a remainder tells."""

from __future__ import annotations

import pytest

from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.walk import shifts_in
from aligncheck.language.unparse import unparse_expr
from aligncheck.search.witness.residues import Residues

HEAD = "mechanism m\ninput\n  q : queries, sensitivity 1, adjacency one\n  m : int where m >= 1\n"
START = HEAD + "  eps : real\nprivacy eps\nprogram\n"
ODD = START + "  s = 0\n  i = 1\n  while i < len(q):\n    s = s + q[i]\n    i = i + 2\n"
ROWS = START + "  for i in range(len(q)):\n    z[i] ~ Lap(1)\n    emit a(q[i*m] + z[i])\n"
TURNS = START + "  for t in range(3*m):\n    z[t] ~ Lap(1)\n    emit a(q[t % m] + z[t])\n"
LINE = "align\n  z[i] += q[i] - q'[i]\n"
MARK = "$differing_q"


@pytest.mark.parametrize(
    ("text", "early", "both", "often"),
    [
        (ODD, ["i%2 == 1"], [f"{MARK}%2 == 1 or s' == s"], []),
        (ROWS + LINE, [], [], [f"1 if floor({MARK}/m) < i and {MARK}%m == 0 else 0"]),
        (TURNS + LINE, [], [], [f"floor(t/m) + (1 if 0 <= {MARK} < t%m else 0)"]),
    ],
)
def test_places_are_told_by_a_remainder(
    text: str, early: list[str], both: list[str], often: list[str]
) -> None:
    spec = parse(Source("m.dp", text))
    lines = Residues(spec)
    asked = [lines.often_by_classes(line, 0, over=False) for line in shifts_in(spec.align)]
    found = lines.early_by_classes(0), lines.by_classes(0), (e for each in asked for e in each)
    for wanted, made in zip((early, both, often), found, strict=True):
        assert set(wanted) <= {unparse_expr(e) for e in made}


def test_no_remainder_of_what_a_loop_changes() -> None:
    text = TURNS.replace("    emit", "    m2 = m2 + 1\n    emit").replace("  for", "  m2 = m\n  for")
    lines = Residues(parse(Source("m.dp", text.replace("% m]", "% m2]"))))
    assert not [*lines.early_by_classes(0), *lines.by_classes(0)]

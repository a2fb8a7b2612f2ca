"""Signs and negations that cancel, and lines that add to their draws."""

from __future__ import annotations

import pytest
from small_specs import spec

from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.walk import expressions_in, shifts_in
from aligncheck.language.unparse import unparse_expr, unparse_shift
from aligncheck.search.witness.plain import plain

INPUTS = "q : queries, sensitivity 1\neps : real where eps > 0"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("q[0] - -s", "q[0] + s"),
        ("-s + q[0]", "q[0] - s"),
        ("-(s - q[0])", "q[0] - s"),
        ("4*(1/eps)", "4/eps"),
        ("(1/eps)*s", "s/eps"),
        ("1 if not not s <= 1 else 2", "1 if s <= 1 else 2"),
        ("1 if not s == 1 else 2", "1 if s != 1 else 2"),
        ("argmin(-q[i] for i in q)", "argmax(q[i] for i in q)"),
        ("min(-q[i] for i in q)", "-max(q[i] for i in q)"),
        ("q[0] - s", "q[0] - s"),
    ],
)
def test_an_expression_is_written_plainly(written: str, meant: str) -> None:
    made = plain(parse(spec(f"s = eps\nt = {written}\nemit a", "", INPUTS)))
    assert meant in {unparse_expr(e) for e in expressions_in(made)}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("eta = eta + 1", "eta += 1"),
        ("eta = q[0] + eta - q'[0]", "eta += q[0] - q'[0]"),
        ("eta = -q'[0] + eta + q[0]", "eta += q[0] - q'[0]"),
        ("eta -= -1", "eta += 1"),
        ("eta -= q'[0] - q[0]", "eta += q[0] - q'[0]"),
        ("eta += 1 when not (q <= q')", "eta += 1 when not q <= q'"),
        ("eta = 1 - eta", "eta = 1 - eta"),
        ("eta = eta/2", "eta = eta/2"),
    ],
)
def test_a_line_adds_to_its_draw(written: str, meant: str) -> None:
    made = plain(parse(spec("eta ~ Lap(1/eps)\nemit a", written, INPUTS)))
    assert [unparse_shift(line) for line in shifts_in(made.align)] == [meant]


def test_lines_under_one_guard_are_one() -> None:
    lines = "eta += q[0] when out[0] is a\neta -= q'[0] when out[0] is a\neta += 1"
    made = plain(parse(spec("eta ~ Lap(1/eps)\nemit a", lines, INPUTS)))
    assert [unparse_shift(line) for line in shifts_in(made.align)] == [
        "eta += q[0] - q'[0] when out is a",
        "eta += 1",
    ]

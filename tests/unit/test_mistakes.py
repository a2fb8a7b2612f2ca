"""What is said of slips: the fault, its place, and what to write instead; `docs/mistakes.md` shows it."""

from __future__ import annotations

import os
import re
import time
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from aligncheck.commands.refute import refute
from aligncheck.commands.show import show
from aligncheck.compiler.modes import RunMode
from aligncheck.judge import judge
from aligncheck.language.check import check
from aligncheck.language.check.further import MOST, further
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse
from aligncheck.pipeline import Options, certify_file
from aligncheck.verdict import AlignmentFails, Error

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "mistakes.md"
SLIPS = [
    (base, *row)
    for base, rows in tomllib.loads((ROOT / "tests" / "data" / "mistakes.toml").read_text("utf-8")).items()
    for row in rows
]
HEAD = """\
# Mistakes and what is said of them

One slip at a time in a spec of `specs/`: what is written instead of what stood there (⏎ ends a line), and
what `verify` says first. Who reads this without having written it rates each message: **fix** (it leads
straight to the right text), **place** (the place is right, and the reader has to think), **misleads**. The
table is made by `pytest tests/unit/test_mistakes.py --update-golden`, which keeps ratings.

| spec | written | instead of | said | help | rating |
|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Said:
    code: str
    at: str
    message: str
    help: str


@cache
def said(base: str, old: str, new: str) -> Said:
    path = ROOT / "specs" / f"{base}.dp"
    text = path.read_text("utf-8")
    assert old in text
    source = Source(str(path), text.replace(old, new, 1))
    try:
        verdict = judge(check(source, parse(source)), source, time.monotonic() + 30)
    except SpecError as error:
        one = error.diagnostic
        message = one.message.replace(f"{ROOT}{os.sep}", "")
        return Said(one.code, source.text_of(one.primary.span), message, one.help or "")
    assert isinstance(verdict, AlignmentFails)
    advice = "; ".join(verdict.advice) or verdict.help or ""
    at = source.text_of(verdict.primary.span)
    # Which run is found, and so its numbers, may change with every change of the search.
    message = re.sub(r"-?\d+(/\d+)?|true|false", "…", verdict.message)
    return Said(f"fails at {verdict.condition.id}", at, message, advice)


@pytest.mark.parametrize(
    ("base", "old", "new", "code", "at", "named"), SLIPS, ids=[f"{row[0]}-{row[2].strip()}" for row in SLIPS]
)
def test_what_is_said(
    base: str, old: str, new: str, code: str, at: str, named: str, update_golden: bool
) -> None:
    found = said(base, old, new)
    assert found.code == code
    assert found.at.strip().startswith(at)
    assert named in found.help
    assert named
    assert update_golden or _row(base, old, new) in {row for row, _ in _shown()}, "the page says otherwise"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _code(text: str) -> str:
    return f"`` {_cell(text.strip().replace(chr(10), ' ⏎ '))} ``" if text.strip() else "(nothing)"


def _slip(base: str, old: str, new: str) -> str:
    """How a row begins."""
    return f"| {base} | {_code(new)} | {_code(old)} | "


def _row(base: str, old: str, new: str) -> str:
    """A row without its rating."""
    found = said(base, old, new)
    return f"{_slip(base, old, new)}`{found.code}` {_cell(found.message)} | {_cell(found.help)}"


@cache
def _shown() -> tuple[tuple[str, str], ...]:
    """The rows of the page, each with its rating."""
    lines = PAGE.read_text("utf-8").removeprefix(HEAD).splitlines() if PAGE.exists() else []
    return tuple((row, rating) for row, _, rating in (line.rpartition(" | ") for line in lines))


def test_the_page_shows_every_slip(update_golden: bool) -> None:
    """What it says of each, the test of each asks."""
    if update_golden:
        rated = dict(_shown())
        rows = [_row(base, old, new) for base, old, new, *_ in SLIPS]
        PAGE.write_text(HEAD + "".join(f"{row} | {rated.get(row, '|')}\n" for row in rows), "utf-8")
        _shown.cache_clear()
    assert PAGE.read_text("utf-8").startswith(HEAD)
    assert len(_shown()) == len(SLIPS)
    assert all(row.startswith(_slip(*slip[:3])) for (row, _), slip in zip(_shown(), SLIPS, strict=True))


MANY = """\
mechanism many

input
  q : queries, sensitivity=1
  k int where k > 0
  eps : real where eps > 0

privacy epsilon

program
  eta ~ Lap(2/eps)
  count = 0
  for i, x in q
    xi[i] ~ Lap(4*k/eps)
    if x + xi[i] > thresh:
      emit (x)
      count++
    else if x > 2:
      emit below
    z = np.log(x) + treshold
    if count => k: break

align
  eta += 1
  xi[i] += 1 + q[i] - q'[j] when out[i] is top
  zeta += 2
"""


def test_all_faults_of_a_text_are_told_and_none_that_follows_from_another() -> None:
    source = Source("many.dp", MANY)
    with pytest.raises(SpecError) as caught:
        check(source, parse(source))
    first, others = caught.value.diagnostic, further(caught.value)
    told = sorted(source.position(one.primary.span.start)[0] for one in (first, *others))
    assert told == [4, 5, 8, 13, 15, 16, 17, 18, 21, 25]
    assert len(told) == MOST


def test_every_command_tells_all_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "many.dp"
    path.write_text(MANY, "utf-8")
    verdict = certify_file(str(path), Options(), RunMode.LATTICE).result.verdict
    assert isinstance(verdict, Error)
    assert len(verdict.further) == MOST - 1
    assert show(str(path)) == 2
    assert capsys.readouterr().err.count("error[") == MOST
    assert refute([str(path)], jobs=1) == 2
    assert capsys.readouterr().out.count("error[") == MOST


def test_one_fault_is_one() -> None:
    source = Source("one.dp", MANY.partition("privacy")[0].replace("=1", " 1").replace("k int", "k : int"))
    with pytest.raises(SpecError) as caught:
        check(source, parse(source))
    assert further(caught.value) == ()


PASTED = """\
mechanism pasted
input
  q : queries, sensitivity=1
  k int
  eps : real where eps > 0
privacy epsilon
program
  n = 0
  n++
  y = q[0] + Lap(1/eps)
  z = [x for x in q]
  w = np.random.laplace(0, 1)
  for j in range(q):
    emit r(q[j])
"""


TWO = """\
mechanism one
input
  c : query, sensitivity 1
  e : real where e > 0
privacy ee
program
  z ~ Lap(1/e
  emit a(d + z)
mechanism two
imput
c : query, sensitivity=1
e : real where e > 0
privacy epsilon
program
  z ~ Lap(1/e)
   emit a(c + z)
program
  for x in vv:
    emit a(x)
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (PASTED, [3, 4, 6, 9, 10, 11, 12, 13]),
        (TWO, [5, 7, 8, 9, 10, 11, 11, 13, 16, 17]),
        (TWO.partition("mechanism two\n")[2], [1, 2, 2, 4, 7, 8, 9]),
        ("def f(x):\n  return x + 1\n", [1]),
        ('"""What it\ndoes."""\n' + PASTED, [1, 5, 6, 8, 11, 12, 13, 14, 15]),
        (PASTED.replace("privacy epsilon\n", "") + "privacy epsilon\n", [3, 4, 8, 9, 10, 11, 12, 14, 14]),
    ],
)
def test_what_is_at_fault_hides_no_other_fault(text: str, lines: list[int]) -> None:
    source = Source("pasted.dp", text)
    with pytest.raises(SpecError) as caught:
        check(source, parse(source))
    told = (caught.value.diagnostic, *further(caught.value))
    assert sorted(source.position(one.primary.span.start)[0] for one in told) == lines

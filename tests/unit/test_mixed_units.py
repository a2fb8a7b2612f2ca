"""The lint for units: what it says of a spec, and how seldom it speaks."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_specs import checked, spec

from aligncheck.cli import main
from aligncheck.language.check import check
from aligncheck.language.check.mixed_units import mixed_units
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse

ROOT = Path(__file__).parents[2]
INPUTS = (
    "q : queries, sensitivity Delta\nT : real\nk : int where k >= 1\nDelta : int where Delta >= 1\n"
    "eps : real where eps > 0"
)
LOOP = """
count = 0; cost = 0
eta ~ Lap(2*Delta/eps)
noisy = {noisy}
for i, x in q:
  xi[i] ~ Lap(4*k*Delta/eps)
  if {test}:
    emit top
    count = count + 1
    cost = cost + eps/(2*k)
  else: emit below
  if {end}: break
"""


def told(noisy: str = "T + eta", test: str = "x + xi[i] >= noisy", end: str = "count >= k") -> list[str]:
    source = spec(LOOP.format(noisy=noisy, test=test, end=end), "eta += Delta", INPUTS)
    return [source.text_of(each.primary.span) for each in mixed_units(check(source, parse(source)))]


@pytest.mark.parametrize(
    ("changed", "at"),
    [
        ({}, []),
        ({"noisy": "T + k*Delta + eta"}, []),
        ({"noisy": "T + 1000 + eta"}, []),
        ({"end": "cost > eps - eps/k"}, []),
        ({"noisy": "max(T, 3) + eta", "test": "abs(x - q[0]) + xi[i] >= noisy"}, []),
        ({"noisy": "T + k + eta"}, ["x + xi[i] >= noisy"]),
        ({"test": "x + xi[i] >= noisy + eps"}, ["x + xi[i] >= noisy + eps"]),
        ({"test": "x + xi[i] + i >= noisy"}, ["x + xi[i] + i"]),
        ({"end": "cost >= k"}, ["cost >= k"]),
        ({"end": "count >= eps"}, ["count >= eps"]),
        ({"noisy": "T + len(q) + eta"}, ["x + xi[i] >= noisy"]),
        ({"test": "x + xi[i] >= noisy and count < x"}, ["count < x"]),
    ],
    ids=str,
)
def test_what_is_of_another_unit_is_said(changed: dict[str, str], at: list[str]) -> None:
    assert told(**changed) == at


def mixed(path: Path) -> bool:
    try:
        return bool(mixed_units(checked(path)))
    except SpecError:
        return False


def test_it_seldom_speaks(exhaustive: bool) -> None:
    """Of the specs that come with the package not at all; of the tests' where a position is compared with an
    answer.
    """
    paths = (ROOT / "specs").rglob("*.dp") if exhaustive else (ROOT / "specs").glob("*.dp")
    assert not [path.name for path in paths if mixed(path)]
    if not exhaustive:
        return
    speaks = {path.name for path in (ROOT / "tests" / "specs").rglob("*.dp") if mixed(path)}
    assert speaks <= {"calls_public_list_ok.dp", "lists_bad.dp", "two_searches.dp", "two_searches_bad.dp"}


def test_the_command_says_it_only_if_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = LOOP.format(noisy="T + k + eta", test="x + xi[i] >= noisy", end="count >= k")
    path = tmp_path / "shifted.dp"
    source: Source = spec(text, "eta += Delta\nxi[i] += Delta + q[i] - q'[i] when out[i] is top", INPUTS)
    path.write_text(source.text, "utf-8")
    assert main(["verify", str(path)]) == 0
    assert "units" not in capsys.readouterr().out
    assert main(["verify", "--lint", "units", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "warning[units]: an answer and a count are added up or compared" in shown
    assert "`k*Delta`" in shown

"""Arguments chosen for two databases: what adds least noise, and thresholds at which the runs part."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from aligncheck.commands import CommandError
from aligncheck.commands.offered import describing, with_arguments
from aligncheck.language.check import check
from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning.interpreter import Input
from aligncheck.refutation.telling_arguments import spread, telling_arguments
from aligncheck.statistical.patterns import InputPair
from aligncheck.statistical.reference import Reference

HEAD = """mechanism m
  "m"
input
  a : queries, sensitivity Delta
  {parameters}
  Delta : real where Delta > 0
  eps : real where eps > 0
privacy eps
program
  for i, x in a:
    n[i] ~ Lap({scale})
    if x + n[i] >= {place}: emit top()
    else: emit low()
"""


def _checked(text: str) -> Mechanism:
    source = Source("m.dp", text)
    return check(source, parse(source))


def _chosen(parameters: str, scale: str, place: str, first: str, second: str) -> dict[str, Input] | None:
    mechanism = _checked(HEAD.format(parameters=parameters, scale=scale, place=place))
    left, right = (tuple(Fraction(x) for x in side.split()) for side in (first, second))
    found = telling_arguments(mechanism, {"a": left}, {"a": right}, {"eps": Fraction(1)})
    return None if found is None else dict(found)


@pytest.mark.parametrize(("first", "second"), [("1 1 0", "0 0 1"), ("5 5 5", "6 6 6"), ("-9", "-8")])
def test_a_threshold_lies_where_the_runs_part(first: str, second: str) -> None:
    found = _chosen("T : real", "Delta/eps", "T", first, second)
    assert found is not None
    threshold = found["T"]
    assert isinstance(threshold, Fraction)
    pairs = zip(first.split(), second.split(), strict=True)
    assert all((int(x) >= threshold) != (int(y) >= threshold) for x, y in pairs)


def test_noise_is_least_and_a_sensitivity_large_enough() -> None:
    found = _chosen("k : int where k >= 1", "2*k*Delta/eps", "3", "0 3", "2 2")
    assert found is not None
    assert found["k"] == 1
    assert found["Delta"] == 2
    assert found["eps"] == 1


def test_what_is_given_stays_and_what_is_not_allowed_is_not_found() -> None:
    mechanism = _checked(HEAD.format(parameters="T : real", scale="Delta/eps", place="T"))
    sides = {"a": (Fraction(0),)}, {"a": (Fraction(1),)}
    found = telling_arguments(mechanism, *sides, {"T": Fraction(7), "eps": Fraction(1)})
    assert found is not None
    assert dict(found)["T"] == 7
    assert telling_arguments(mechanism, *sides, {"Delta": Fraction(1, 2)}) is None


def test_pairs_get_what_is_not_given_and_a_plain_file_brings_no_spec(tmp_path: Path) -> None:
    mechanism = _checked(HEAD.format(parameters="T : real", scale="Delta/eps", place="T"))
    pair = InputPair("one above", [1.0, 1.0], [2.0, 1.0], (("T", "3/2"),))
    (found,) = with_arguments([pair], mechanism, {"eps": "1/2"})
    assert found.settings == pair.settings
    assert found.offered == (("Delta", "1"),)
    with pytest.raises(CommandError, match="must be a number"):
        with_arguments([pair], mechanism, {"eps": "much"})
    plain = tmp_path / "plain.py"
    plain.write_text("def f(q): return 1\n")
    assert describing(None, Reference(str(plain), "f")) is None


SEVERAL = """mechanism m
input
  x : query, sensitivity 1
  p, r : queries, sensitivity 1, adjacency one
  T : real
  eps : real where eps > 0
privacy 2*eps
program
  a ~ Lap(1/eps)
  if x + a >= T: emit top()
  for i, y in p:
    n[i] ~ Lap(1/eps)
    emit low(y + n[i])
"""


def test_several_private_inputs_share_a_list_of_answers() -> None:
    mechanism = _checked(SEVERAL)
    one, two = Fraction(1), Fraction(2)
    assert spread(mechanism, [two, one, one, one, two, two]) == {"x": two, "p": (one, one), "r": (one, two)}
    assert spread(mechanism, [one, one]) is None
    named = InputPair("given", {"x": 0, "p": [1], "r": [1]}, {"x": 1, "p": [1], "r": [1]})
    spread_out = InputPair("one above", [1.0] * 5, [2.0, *[1.0] * 4])
    alike = InputPair("last", [1.0] * 6, [*[1.0] * 5, 2.0])  # the last answer goes nowhere
    other = InputPair("given", {"x": 0}, {"x": 1})
    found = with_arguments([named, spread_out, alike, other], mechanism, {"eps": "1"})
    assert [dict(pair.offered)["T"] for pair in found] == ["1", "2"]
    assert found[1].first == {"x": 1.0, "p": [1.0, 1.0], "r": [1.0, 1.0]}
    with pytest.raises(CommandError, match="no arguments were found"):
        with_arguments([other], mechanism, {"eps": "1"})

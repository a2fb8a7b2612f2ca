"""Two things with one name: refused, or told apart in what is compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from oracle import compiled

from aligncheck.cli import main
from aligncheck.compiler.emit import python
from aligncheck.compiler.modes import RunMode
from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.runtime import FloatMechanism, LatticeMechanism, RefinedMechanism

CALLED = """
mechanism {callee}
input
  p : queries, sensitivity 1, adjacency all
  e : real where e > 0
privacy e
program
  nu ~ Lap(1/e)
  emit r(gap = p[0] + nu)
align
  nu += p'[0] - p[0]
"""
EVERY_KIND_OF_NAME = """
mechanism {mechanism}
use {callee} from "called.dp"
fun {function}(real) : real
input
  {list} : queries, sensitivity 1, adjacency all
  {parameter} : real where {parameter} > 0
  {vector} : vector where {vector}[i] > 0
privacy {parameter}
program
  {noise} ~ Lap(3/{parameter})
  {state} = {vector}[0]
  for {index}, {item} in {list}:
    {draws}[{index}] ~ Lap(1)
    if {item} + {noise} + {draws}[{index}] > {state}: emit {tag}({field} = {index})
    {state} = {function}({state})
  {call} = {callee}(p = {list}, e = {parameter}/3)
  {winner} = argmax({list}[{chosen}] + {draws}[{chosen}] for {chosen} in {list})
  {winners} = top(1, {list}[{ranked}] + {draws}[{ranked}] for {ranked} in {list})
  emit last({field} = {winner}, g = {call}[0].gap + {winners}[0])
"""
KINDS = ["mechanism", "callee", "function", "list", "parameter", "vector", "noise", "state", "index", "item"]
KINDS += ["draws", "tag", "field", "call", "winner", "chosen", "winners", "ranked"]


def write(folder: Path, names: dict[str, str]) -> str:
    path = folder / "spec.dp"
    path.write_text(EVERY_KIND_OF_NAME.format(**names), "utf-8")
    (folder / "called.dp").write_text(CALLED.format(**names), "utf-8")
    return str(path)


@pytest.mark.parametrize("kind", KINDS)
def test_two_kinds_of_one_name_are_refused_or_told_apart(kind: str, tmp_path: Path) -> None:
    apart = 0
    refusals: list[str] = []
    for other in KINDS:
        names = {each: each[:2] + each[-2:] for each in KINDS}
        names[other] = names[kind]
        source = read_source(write(tmp_path, names))
        try:
            mechanism = check(source, parse(source))
        except SpecError as error:
            refusals.append(error.diagnostic.message)
            continue
        apart += 1
        cls: Any = compiled(mechanism, RunMode.REFINED)
        given = {each.keyword: [1, 2, 3] if each.vector else 1 for each in cls.spec.parameters}
        functions = {each.keyword: abs for each in cls.spec.functions}
        result = cls(**given, **functions)([1, 2, 3])
        assert result.records[-1].tag == "last"
    assert apart, "with a name of its own it runs"
    assert all(f"`{kind[:2] + kind[-2:]}`" in message for message in refusals)


def test_no_name_of_a_spec_hides_what_every_mechanism_has() -> None:
    bases = (LatticeMechanism, RefinedMechanism, FloatMechanism)
    own = {
        name
        for base in bases
        for each in base.__mro__
        for name in (*vars(each), *vars(each).get("__annotations__", ()))
    }
    public = {name for name in own if not name.startswith("_")}
    assert public > {"callees", "spec", "spent"}
    assert public <= python._RESERVED


@pytest.mark.parametrize("kind", ["list", "parameter", "noise", "draws", "chosen"])
def test_a_public_function_has_its_name_alone(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {each: each for each in KINDS} | {kind: "function"}
    assert main(["verify", write(tmp_path, names)]) == 2
    out = capsys.readouterr().out
    assert "error[duplicate-name]: `function` has a meaning already" in out
    assert "first here" in out

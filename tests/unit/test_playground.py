"""The interpreter that pages have, beside the one that confirms counterexamples: both runs, step by step."""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.walk import statements_in
from aligncheck.meaning import exact, interpreter
from aligncheck.meaning.interpreter import value_text, variable_text
from aligncheck.meaning.replay import replay
from aligncheck.meaning.scenario import Scenario, numbers_of
from aligncheck.publish import playground
from aligncheck.publish.playground import NotPlayableError, program_document, scenario_document
from aligncheck.report.numbers import recorded
from aligncheck.synthesis.runs import pairs

SPECS = Path(__file__).parents[2] / "specs"
SCRIPT = Path(playground.__file__).with_name("playground.js")
EACH = 6
SEEN = {"output", "support", "scales", "draws", "cost", "fresh", "defined", "calls", "acyclic"}
"""The conditions that the page knows."""


def mechanism_of(name: str) -> tuple[Source, nodes.Mechanism]:
    path = SPECS / f"{name}.dp"
    source = Source(str(path), path.read_text("utf-8"))
    return source, check(source, parse(source))


def scenarios(mechanism: nodes.Mechanism, chance: Random) -> list[Scenario]:
    """Legal pairs with noise that makes no ties, where noise is continuous."""
    smooth = {
        s.name for s in statements_in(mechanism.body) if isinstance(s, nodes.Sample) and not s.family.discrete
    }
    found = []
    for pair in islice(pairs(mechanism), EACH):
        noise = tuple(
            (key, exact.add(value, Fraction(chance.randint(1, 96), 9797)) if key[0] in smooth else value)
            for key, value in numbers_of(pair.scenario.noise).items()
        )
        found.append(replace(pair.scenario, noise=noise))
    return found


def expected(mechanism: nodes.Mechanism, scenario: Scenario) -> dict[str, Any]:
    """What the page must say, from the replay."""
    done = replay(mechanism, scenario)
    return {
        "steps": [
            [shown(pair.on_d), shown(pair.on_d_prime), text(pair.shift), text(pair.cost)]
            for pair in done.steps
        ],
        "parted": done.parted,
        "cost": text(done.cost),
        "claim": text(done.claim),
        "violated": sorted({one.condition.id for one in done.violations} & SEEN),
        "output": [list(map(recorded, run.output)) for run in (done.run_d, done.run_d_prime)],
    }


def text(value: Any) -> str | None:
    return None if value is None else value_text(value)


def shown(step: interpreter.Step | None) -> str | None:
    match step:
        case None:
            return None
        case interpreter.Draw(key=key, value=value):
            return f"{variable_text(key)} {value_text(value)}"
        case interpreter.TakenTest(holds=holds):
            return f"if {holds}"
        case interpreter.Assigned(name=name, value=value):
            return f"{name} = {value_text(value)}"
        case interpreter.Emitted(record=record):
            return f"emit {recorded(record)}"
        case interpreter.Invoked(name=name, returned=returned):
            return f"{name} = {', '.join(map(recorded, returned.records)) or 'nothing'}"


def test_the_page_runs_what_the_interpreter_runs(tmp_path: Path, exhaustive: bool) -> None:
    if (node := shutil.which("node")) is None:
        pytest.skip("no node")
    chance = Random(17)
    cases, wanted = [], []
    for path in sorted(SPECS.rglob("*.dp"))[:: 1 if exhaustive else 3]:
        name = str(path.relative_to(SPECS))[: -len(".dp")]
        try:
            source, mechanism = mechanism_of(name)
            program = program_document(source, mechanism)
        except (SpecError, NotPlayableError):
            continue  # which are refused is told below
        for scenario in scenarios(mechanism, chance):
            with suppress(exact.Undecided):  # a callee that does not keep its word on this run
                wanted.append((name, scenario, expected(mechanism, scenario)))
                cases.append({"program": program, "scenario": scenario_document(scenario)})
    assert len({name for name, _, _ in wanted}) >= (120 if exhaustive else 40)
    (tmp_path / "it.js").write_text(SCRIPT.read_text("utf-8") + CALLED, "utf-8")
    (tmp_path / "cases.json").write_text(json.dumps(cases), "utf-8")
    command = [node, "it.js", "cases.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    for (name, scenario, want), got in zip(wanted, json.loads(done.stdout), strict=True):
        assert got["allowed"] is None, (name, scenario)
        del got["allowed"]
        if got.pop("undecided") is not None:
            assert name in ("ask_until_above", "broken/halving_without_end"), "it does not end without noise"
            continue
        assert got == want, (name, scenario)
    seen = {condition for _, _, want in wanted for condition in want["violated"]}
    assert seen >= {"output", "support", "cost"}


CALLED = """
const out = [];
for (const { program, scenario } of JSON.parse(require("fs").readFileSync(process.argv[2]))) {
  const r = aligncheck.replay(program, scenario);
  const told = (row, said) => (row.kind === "test" ? `if ${said.endsWith("  yes") ? "True" : "False"}`
    : `${row.label} ${said}`);
  const said = (row, side) => (row[side] === null ? null : told(row, row[side]));
  out.push({
    steps: r.rows.map((row) => [said(row, "left"), said(row, "right"), row.shift, row.cost]),
    parted: r.parted, cost: r.cost, claim: r.claim, violated: r.violated, output: [r.output, r.output_prime],
    undecided: r.undecided, allowed: aligncheck.allowed(program, scenario),
  });
}
console.log(JSON.stringify(out));
"""


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("count_or_sum", "another line"),
        ("adaptive_svt", "sqrt"),
        ("exponential_mechanism", "densities"),
        ("svt_with_gap_geometric", "noise of the family"),
        ("adaptive_svt_merged", "sqrt"),
        ("delta/measured_until_spent", "a claim in δ or ρ"),
    ],
)
def test_what_a_page_does_not_run_is_refused(name: str, what: str) -> None:
    with pytest.raises(NotPlayableError, match=what):
        program_document(*mechanism_of(name))

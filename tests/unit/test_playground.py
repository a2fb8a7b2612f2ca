"""The interpreter that pages have, beside the one that confirms counterexamples: both runs, step by step."""

from __future__ import annotations

import json
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from aligncheck.language.check import check
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.walk import statements_in
from aligncheck.meaning import interpreter
from aligncheck.meaning.interpreter import value_text, variable_text
from aligncheck.meaning.replay import replay
from aligncheck.meaning.scenario import Scenario, check_scenario
from aligncheck.publish.playground import NotPlayableError, program_document, scenario_document, script
from aligncheck.report.numbers import recorded

SPECS = Path(__file__).parents[2] / "specs"
PLAYED = (
    "svt",
    "broken/isvt1",
    "broken/isvt2",
    "broken/isvt3",
    "broken/isvt4",
    "svt_with_gap",
    "adaptive_svt_three",
    "noisy_max",
    "noisy_max_loop",
    "broken/noisy_max_value",
    "noisy_topk_gap_exp",
    "broken/noisy_topk_gap_exp_published",
    "hybrid_sparse_gap",
    "hybrid_topk_gap_exp",
    "broken/hybrid_sparse_undercharged",
    "broken/noisy_min_exp",
    "svt_monotone",
    "broken/zero_scale",
)
EACH = 12
SEEN = {"output", "support", "scales", "draws", "cost", "fresh", "defined"}
"""The conditions that the page knows."""


def mechanism_of(name: str) -> tuple[Source, nodes.Mechanism]:
    path = SPECS / f"{name}.dp"
    source = Source(str(path), path.read_text("utf-8"))
    return source, check(source, parse(source))


def scenarios(mechanism: nodes.Mechanism, chance: Random) -> list[Scenario]:
    """Legal pairs with noise that makes no ties."""
    found: list[Scenario] = []
    noisy = [s for s in statements_in(mechanism.body) if isinstance(s, nodes.Sample)]
    while len(found) < EACH:
        length = chance.randint(1, 4)
        parameters = tuple(
            (item.name, value_of(item, chance))
            for item in mechanism.inputs
            if isinstance(item, nodes.Parameter)
        )
        names = [name for item in mechanism.inputs if isinstance(item, nodes.Queries) for name in item.names]
        data = tuple(
            (name, tuple(Fraction(chance.randint(-8, 8), 4) for _ in range(length))) for name in names
        )
        prime = tuple(
            (name, tuple(x + Fraction(chance.randint(-4, 4), 4) for x in values)) for name, values in data
        )
        if chance.random() < 0.3:  # one answer moves
            first = (data[0][1][0] + Fraction(chance.randint(-4, 4), 4), *data[0][1][1:])
            prime = ((data[0][0], first), *data[1:])
        noise = []
        for one in noisy:
            least = 0 if one.family.one_sided else -300
            for index in [None] if one.index is None else range(length):
                noise.append(((one.name, index), Fraction(chance.randint(least, 300), 97)))
        scenario = Scenario(parameters, data, prime, tuple(noise))
        if not check_scenario(mechanism, scenario):
            found.append(scenario)
    return found


def value_of(item: nodes.Parameter, chance: Random) -> Fraction | bool:
    match item.sort:
        case nodes.Sort.BOOL:
            return chance.random() < 0.5
        case nodes.Sort.INT:
            return Fraction(chance.randint(1, 3))
        case nodes.Sort.REAL:
            return Fraction(chance.randint(1, 8), 4)


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
        case interpreter.Invoked():
            raise AssertionError("no calls here")


def test_the_page_runs_what_the_interpreter_runs(tmp_path: Path) -> None:
    if (node := shutil.which("node")) is None:
        pytest.skip("no node")
    chance = Random(17)
    cases, wanted = [], []
    for name in PLAYED:
        source, mechanism = mechanism_of(name)
        program = program_document(source, mechanism)
        for scenario in scenarios(mechanism, chance):
            cases.append({"program": program, "scenario": scenario_document(scenario)})
            wanted.append((name, scenario, expected(mechanism, scenario)))
    (tmp_path / "it.js").write_text(script() + CALLED, "utf-8")
    (tmp_path / "cases.json").write_text(json.dumps(cases), "utf-8")
    command = [node, "it.js", "cases.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    for (name, scenario, want), got in zip(wanted, json.loads(done.stdout), strict=True):
        assert got["allowed"] is None, (name, scenario)
        del got["allowed"]
        assert got == want, (name, scenario)
    seen = {condition for _, _, want in wanted for condition in want["violated"]}
    assert seen >= {"output", "support", "cost", "scales"}


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
    allowed: aligncheck.allowed(program, scenario),
  });
}
console.log(JSON.stringify(out));
"""


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("noisy_max_gap", "best'"),
        ("adaptive_svt", "sqrt"),
        ("exponential_mechanism", "densities"),
        ("svt_with_gap_geometric", "noise of the family"),
        ("local_report", "adjacency"),
        ("delta/measured_until_spent", "a claim in δ or ρ"),
    ],
)
def test_what_a_page_does_not_run_is_refused(name: str, what: str) -> None:
    with pytest.raises(NotPlayableError, match=what):
        program_document(*mechanism_of(name))

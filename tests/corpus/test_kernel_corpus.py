"""The kernel on the corpus: what it accepts with the witnesses in `data/kernel`, and what it must not accept
with any.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from kernel_cases import PROJECT, WITNESSES, decide, search, spec_of, witness_of

from aligncheck.compiler.forms import form_of
from aligncheck.compiler.modes import RunMode
from aligncheck.kernel.answer import Accepted, Rejected
from aligncheck.kernel.witness import LoopWitness, Witness
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.read import read_source
from aligncheck.language.syntax.walk import statements_in
from aligncheck.search.witness.witness_json import expression

SPECS = sorted((PROJECT / "specs").glob("*.dp"))
KEPT = {path.stem for path in (WITNESSES / "specs").glob("*.json")}
RULES = PROJECT / "tests" / "specs" / "rules"
PAIRS = sorted(path.stem for path in (WITNESSES / "rules").glob("*.json"))


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_the_kernel_accepts(path: Path, update_golden: bool) -> None:
    if update_golden:
        assert search(path, "specs")
    answer = decide(spec_of(path), witness_of("specs", path.stem))
    assert isinstance(answer, Accepted), answer
    assert {"hypotheses", "cost"} <= {d.condition for d in answer.decisions}


def test_every_spec_is_accounted_for() -> None:
    assert {path.stem for path in SPECS} == KEPT


@pytest.mark.parametrize("name", PAIRS)
def test_each_rule_tells_two_neighbours_apart(name: str) -> None:
    """With one witness the repaired twin is accepted, and the broken one is not: it fails where it says."""
    witness = witness_of("rules", name)
    assert isinstance(decide(spec_of(RULES / f"{name}_ok.dp"), witness), Accepted)
    broken = spec_of(RULES / f"{name}_bad.dp")
    answer = decide(broken, witness)
    assert isinstance(answer, Rejected), name


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("specs", "above_threshold"),
        ("specs", "noisy_max"),
        ("specs", "rounded_count"),
        ("rules", "exchanged"),
    ],
)
def test_the_kernel_accepts_forms_on_lattices(folder: str, name: str) -> None:
    """With the witness of the spec itself. Half a step more, and a draw may leave the lattice."""
    path = PROJECT / "specs" / f"{name}.dp" if folder == "specs" else RULES / f"{name}_ok.dp"
    source, witness = read_source(str(path)), witness_of(folder, name)
    form = form_of(parse(source), source, RunMode.LATTICE).source
    assert isinstance(decide(parse(form), witness), Accepted)
    moved = form.text.replace("] += 1 ", "] += 3/2 ").replace("+= 2 when", "+= 5/2 when")
    moved = moved.replace(" x - x'\n", " x - x' + 1/2\n")
    answer = decide(parse(Source("moved", moved)), witness)
    assert isinstance(answer, Rejected)
    assert answer.condition == "support"


def test_a_shift_may_name_a_maximum_that_the_program_never_does() -> None:
    text = (PROJECT / "tests" / "specs" / "styles" / "max_gap_inline.dp").read_text("utf-8")
    witness = witness_of("styles", "max_gap_inline")
    assert isinstance(decide(parse(Source("s", text)), witness), Accepted)
    own = text.replace("q'[l] + eta[l] for l in q where l != w", "q'[l] + eta[l] for l in q")
    answer = decide(parse(Source("s", own)), witness)
    assert isinstance(answer, Rejected)
    assert answer.condition == "acyclic"


FALSE_LINES = ("false", "alignment_cost <= 0", "$records == 0", "1 < 0", "alignment_cost <= 0 - 1")


def attacked(spec: n.Mechanism, kept: Witness | None, seed: int) -> Witness:
    """A witness that claims too much: false lines, lines of another spec, or none."""
    rng = random.Random(seed)
    loops = [s for s in statements_in(spec.body) if isinstance(s, n.For | n.While)]
    made = []
    for at in range(len(loops)):
        base = kept.loops[at] if kept is not None and at < len(kept.loops) else LoopWitness()
        lines = tuple(expression(e) for e in rng.sample(FALSE_LINES, rng.randrange(3)))
        kind = rng.choice(("early", "invariants", "later"))
        made.append(replace(base, **{kind: getattr(base, kind) + lines}))
    return Witness(tuple(made), promises=(expression("false"),) if rng.random() < 0.2 else ())


BROKEN = sorted(
    [*(PROJECT / "specs" / "broken").glob("*.dp"), *(PROJECT / "tests" / "specs" / "soundness").glob("*.dp")]
)


@pytest.mark.parametrize("path", BROKEN[::9], ids=lambda path: path.stem)
def test_no_witness_saves_what_is_broken(path: Path) -> None:
    """The same mechanisms, with witnesses that lie."""
    try:
        spec = spec_of(path)
    except SpecError:
        return
    for seed in range(2):
        assert isinstance(decide(spec, attacked(spec, None, seed)), Rejected)


SOUNDNESS = PROJECT / "tests" / "specs" / "soundness"
APPLIED = [
    "function_among_many_arms",
    "function_filtered_by_answers",
    "function_in_an_arm_of_one_run",
    "function_of_private_answers_in_a_set",
    "function_that_one_run_applies",
    "function_whose_value_cancels",
]


@pytest.mark.parametrize("name", APPLIED)
def test_public_functions_are_given_the_same_wherever_they_are_applied(name: str) -> None:
    """They need no witness: what they release is noise alone."""
    answer = decide(spec_of(SOUNDNESS / f"{name}.dp"), Witness())
    assert isinstance(answer, Rejected)
    assert answer.condition == "calls"

"""Minimal pairs, one or more per soundness rule: two specs that differ in one line, of which one verifies.

`NAME_ok.dp` must be VERIFIED and `NAME_bad.dp` must fail where its `expect` line says. A failure must come
with a run that replays to the same violation, and whatever advice it gives must be true.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from random_pairs import replays

from aligncheck.expect import compare, expectation_in
from aligncheck.language.conditions import Condition
from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import Adjacency, Mechanism, Queries
from aligncheck.language.unparse import unparse
from aligncheck.meaning.replay import aligned, replay, same_output
from aligncheck.pipeline import Options, verify_file, verify_source
from aligncheck.verdict import AlignmentFails, FileResult, Verified

FOLDER = Path(__file__).parents[1] / "specs" / "rules"
TEXTS = {path.stem: path.read_text("utf-8") for path in sorted(FOLDER.glob("*.dp"))}
PAIRS = sorted({stem.rsplit("_", 1)[0] for stem in TEXTS})
ADVICE = {
    "cost_bad": "needs `privacy 2*eps`",
    "cost_in_rounds_bad": "verified for `privacy eps*len(q)`",
    "adjacency_monotone_bad": "verified for adjacency `monotone`",
    "adjacency_moved_bad": "verified for adjacency `one`",
    "nothing_assumed_bad": "verified where `s <= 1`",
}
OPTIONS = Options(timeout=30)


def checked(stem: str) -> FileResult:
    result = verify_file(str(FOLDER / f"{stem}.dp"), OPTIONS)
    compared = compare(result)
    assert compared.agrees, (compared.wanted, compared.got, compared.why)
    return result


def significant(stem: str) -> list[str]:
    """The lines that are neither comment nor expectation, without the mechanism's name."""
    kept = [
        line for line in TEXTS[stem].splitlines() if line.strip() and not line.startswith(("#", "expect"))
    ]
    return [line for line in kept if not line.startswith("mechanism ")]


@pytest.mark.parametrize("name", PAIRS)
def test_a_pair_differs_in_one_line(name: str) -> None:
    good, bad = significant(f"{name}_ok"), significant(f"{name}_bad")
    assert len(good) == len(bad)
    assert sum(a != b for a, b in zip(good, bad, strict=True)) == 1


def test_every_rule_and_every_condition_has_a_pair() -> None:
    heads = "\n".join(text.splitlines()[0] for text in TEXTS.values())
    assert {int(n) for n in re.findall(r"Rule (\d+)", heads)} == set(range(1, 12))
    wanted = [expectation_in(text) for text in TEXTS.values()]
    failing = {e.at for e in wanted if e is not None and e.verdict == "alignment fails"}
    # ACYCLIC fails as INJECTIVE, the general route; the other two are never shown by a run.
    never_shown = {Condition.ACYCLIC, Condition.TERMINATES, Condition.HYPOTHESES}
    assert failing == {c.id for c in set(Condition) - never_shown}
    assert {e.verdict for e in wanted if e is not None} == {"verified", "alignment fails", "unknown", "error"}


@pytest.mark.parametrize("name", PAIRS)
def test_the_right_one_is_verified_and_no_random_pair_of_databases_violates_it(name: str) -> None:
    verdict = checked(f"{name}_ok").verdict
    assert isinstance(verdict, Verified)
    if verdict.mechanism.uses:
        return  # what a call returns is not drawn at random here
    for done in islice(replays(verdict.mechanism, seed=len(name)), 4):
        assert done.violations == (), done.scenario


@pytest.mark.parametrize("name", PAIRS)
def test_the_wrong_one_fails_with_a_run_and_true_advice(name: str) -> None:
    result = checked(f"{name}_bad")
    verdict = result.verdict
    assert not isinstance(verdict, Verified)
    if isinstance(verdict, AlignmentFails):
        check_run(verdict)
        assert ADVICE.get(f"{name}_bad") in (None, *verdict.advice)
        for line in verdict.advice:
            changed = Source("advised", followed(line, verdict.mechanism, result.text))
            assert isinstance(verify_source(changed, OPTIONS), Verified), line


def check_run(verdict: AlignmentFails) -> None:
    """The run that is shown violates the condition, when it is replayed anew."""
    shown = verdict.counterexample
    assert shown is not None
    again = replay(verdict.mechanism, shown.scenario)
    if shown.second is None:
        if verdict.condition is not Condition.COUNTABLE:  # of which one run is an illustration only
            assert verdict.condition in {v.condition for v in again.violations}
        return
    other = replay(verdict.mechanism, shown.second)
    assert same_output(again.run_d, other.run_d)
    match verdict.condition:
        case Condition.INJECTIVE:
            assert dict(shown.scenario.noise) != dict(shown.second.noise)
            assert aligned(again) == aligned(other)
        case Condition.DRAWS:
            assert len(again.run_d.draws) != len(other.run_d.draws)
        case _:
            assert [d.args for d in again.run_d.draws] != [d.args for d in other.run_d.draws]


def followed(advice: str, mechanism: Mechanism, text: str) -> str:
    """The spec as the advice would have it."""
    quoted, *replaced = re.findall(r"`([^`]*)`", advice)
    if advice.startswith(("needs `privacy", "verified for `privacy")):
        return re.sub(r"(?m)^privacy .*$", quoted, text)
    if advice.startswith("verified where"):
        name = quoted.split()[0]
        return re.sub(rf"(?m)^(  {name} : \w+) where (.*)$", rf"\1 where (\2) and {quoted}", text)
    whole = unparse(mechanism)
    if "the scale" in advice:
        name, before, *_ = replaced
        return re.sub(rf"(?m)^( *{name}\b.* ~ \w+\(){re.escape(before)}", rf"\g<1>{quoted}", whole)
    if advice.startswith("verified without the line"):
        return whole.replace(f"  {quoted}\n", "")
    if advice.startswith("verified without this `invariant`"):
        return re.sub(r"(?m)^ *invariant .*\n", "", text)
    for line in replaced:
        assert whole.count(f"  {line}\n") == 1
        return whole.replace(f"  {line}\n", f"  {quoted}\n")
    if advice.startswith("verified with"):
        return re.sub(rf"(?m)^  {quoted.split()[0]} : .*$", f"  {quoted}", text)
    assert advice.startswith("verified for adjacency"), advice
    inputs = tuple(
        replace(item, adjacency=Adjacency(quoted)) if isinstance(item, Queries) else item
        for item in mechanism.inputs
    )
    return unparse(replace(mechanism, inputs=inputs))

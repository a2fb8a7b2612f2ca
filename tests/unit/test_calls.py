"""Calls of verified mechanisms: what is refused, what is proved, and what the compiled class does."""

from __future__ import annotations

import statistics
import sys
import types
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from oracle import agree, as_if_verified, load
from recorded_noise import RecordedNoise
from small_specs import spec

from aligncheck.compiler.emit.python import emit_python
from aligncheck.compiler.modes import RunMode
from aligncheck.language.check import check
from aligncheck.language.conditions import Condition
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.read import read_source
from aligncheck.language.unparse import unparse
from aligncheck.meaning.interpreter import DrawSite, Finished, run
from aligncheck.pipeline import Options, verify_source
from aligncheck.runtime import FloatingNoise, Labelled
from aligncheck.verdict import AlignmentFails, Unknown, Verdict, Verified

SPECS = Path(__file__).parents[2] / "specs"

CALLER = """mechanism caller
use noisy_max from "noisy_max.dp"
fun score(real, int) : real
input
  q : queries, sensitivity 1, adjacency all
  n : int where n >= 1
  eps : real where eps > 0 and len(q) >= 1
privacy eps
program
  picked = noisy_max(q = q, eps = eps)
  emit chosen(index = picked.index)
"""
CALL = "picked = noisy_max(q = q, eps = eps)"


def caller(old: str = "", new: str = "") -> Source:
    assert old in CALLER
    return Source(str(SPECS / "caller.dp"), CALLER.replace(old, new, 1))


def verdict(source: Source) -> Verdict:
    return verify_source(source, Options(explain=False))


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (CALL, "picked = noisy_mox(q = q, eps = eps)", "unknown-mechanism"),
        (CALL, "picked = noisy_max(q = q)", "missing-argument"),
        (CALL, "picked = noisy_max(q = q, eps = eps, k = 1)", "unknown-argument"),
        (CALL, "picked = noisy_max(q = q, q = q, eps = eps)", "bad-arguments"),
        (CALL, "picked = noisy_max(q = n, eps = eps)", "bad-arguments"),
        (CALL, "picked = noisy_max(q = q, eps = n > 0)", "mismatched-sorts"),
        (CALL, "picked = noisy_max(q = q, eps = q[0])", "private-argument"),
        (CALL, "picked = 1 + noisy_max(1)", "bad-call"),
        (CALL, CALL + "; picked = noisy_max(q = q, eps = eps)", "duplicate-name"),
        (CALL, "picked = 1; " + CALL, "duplicate-name"),
        ("picked.index", "picked.indox", "unknown-field"),
        ("picked.index", "picked[0 < 1].index", "mismatched-sorts"),
        ("picked.index", "picked.count(chesen)", "unknown-tag"),
        ("picked.index", "picked", "list-as-value"),
        ("picked.index", "n.index", "not-a-call"),
        ("picked.index", "score(q[0], 1)", "private-argument"),
        ("picked.index", "score(1)", "bad-arguments"),
        ("picked.index", "score(1, 1/2)", "mismatched-sorts"),
        ("picked.index", "list(q[j] for j in q)", "misplaced-list"),
        ('"noisy_max.dp"', '"none.dp"', "unreadable-mechanism"),
        ('"noisy_max.dp"', '"svt.dp"', "other-mechanism"),
        ('"noisy_max.dp"', '"README.md"', "bad-mechanism"),
        ('"noisy_max.dp"\n', '"noisy_max.dp"\nuse svt from "svt.dp"\n', "unused-mechanism"),
        (CALL, f"if n > 1: {CALL}", "maybe-unassigned"),
    ],
)
def test_what_is_refused(old: str, new: str, code: str) -> None:
    source = caller(old, new)
    with pytest.raises(SpecError) as caught:
        check(source, parse(source))
    assert caught.value.diagnostic.code == code


def test_mechanisms_may_not_call_each_other_around_a_cycle(tmp_path: Path) -> None:
    for name, other in (("one", "two"), ("two", "one")):
        text = f'mechanism {name}\nuse {other} from "{other}.dp"\nprivacy 1\nprogram\n  x = {other}(a = 1)\n'
        (tmp_path / f"{name}.dp").write_text(text)
    source = read_source(str(tmp_path / "one.dp"))
    with pytest.raises(SpecError) as caught:
        check(source, parse(source))
    assert caught.value.diagnostic.code == "recursive-mechanism"
    assert caught.value.source is source


def test_a_spec_with_calls_is_written_as_it_is_read() -> None:
    for name in ("topk_with_measures", "svt_with_measures", "mwem", "online_pmw", "adaptive_svt_merged"):
        mechanism = parse(read_source(str(SPECS / f"{name}.dp")))
        assert parse(Source("again", unparse(mechanism))) == mechanism


# --- what is proved -----------------------------------------------------------------------------------------


def test_a_call_spends_the_callee_s_claim() -> None:
    assert isinstance(verdict(caller()), Verified)
    twice = CALL + "\n  other = noisy_max(q = q, eps = eps)"
    assert isinstance(verdict(caller(CALL, twice)), AlignmentFails)
    halves = twice.replace("eps = eps", "eps = eps/2")
    assert isinstance(verdict(caller(CALL, halves)), Verified)


def test_a_call_in_every_round_is_paid_in_every_round() -> None:
    loop = "for t in range(n):\n    picked = noisy_max(q = q, eps = {})\n    emit round(picked.index)"
    body = CALL + "\n  emit chosen(index = picked.index)"
    assert isinstance(verdict(caller(body, loop.format("eps/n"))), Verified)
    failed = verdict(caller(body, loop.format("eps")))
    assert isinstance(failed, AlignmentFails)
    assert failed.condition.id == "cost"


@pytest.mark.parametrize(
    ("argument", "passes"),
    [
        ("list(q[j]/2 for j in q)", True),
        ("list(abs(q[j] - n) for j in q)", True),
        ("list(max(q[j], 0) for j in q)", True),
        ("list(q[j] for j in range(1, len(q)))", False),  # perhaps no entry at all
        ("list(q[j] - q[0] for j in q)", False),
        ("list(q[j]*n for j in q)", False),
    ],
)
def test_lists_must_be_as_adjacent_as_the_callee_declares(argument: str, passes: bool) -> None:
    found = verdict(caller("q = q", f"q = {argument}"))
    assert isinstance(found, Verified) is passes
    if not passes:
        assert isinstance(found, AlignmentFails | Unknown)
        assert found.condition is not None
        assert found.condition.id == "calls"


def test_a_narrower_adjacency_is_not_assumed() -> None:
    """Every answer may move, up or down; the callee allows for answers that move one way."""
    text = CALLER.replace("noisy_max", "noisy_max_monotone")
    callee = parse(read_source(str(SPECS / "noisy_max_monotone.dp")))
    assert [item.name for item in callee.inputs[1:]] == ["eps"]  # type: ignore[union-attr]
    path = str(SPECS / "caller.dp")
    failed = verdict(Source(path, text))
    assert not isinstance(failed, Verified)
    monotone = text.replace("adjacency all", "adjacency monotone")
    assert isinstance(verdict(Source(path, monotone)), Verified)


def test_what_was_released_is_public() -> None:
    """Scales, tests and later arguments may depend on it."""
    later = CALL.replace("eps = eps", "eps = eps/2") + (
        "\n  if picked.index > 0:\n    eta ~ Lap(2/eps)\n    emit first(q[picked.index] + eta)"
    )
    shifted = "align\n  eta += q[picked.index] - q'[picked.index]\n"
    source = caller(CALL, later)
    assert isinstance(verdict(Source(source.path, source.text + shifted)), Verified)


def test_functions_are_not_given_private_values() -> None:
    noisy = "eta ~ Lap(1/eps); x = score(q[0] + eta, 0); emit value(x)"
    body = CALL + "\n  emit chosen(index = picked.index)"
    without = CALLER.replace('use noisy_max from "noisy_max.dp"\n', "").replace(body, noisy)
    failed = verdict(Source("m.dp", without))
    assert not isinstance(failed, Verified)
    assert isinstance(verdict(Source("m.dp", without + "align\n  eta += q[0] - q'[0]\n")), Verified)


def test_sums_of_unequal_terms_are_not_taken_for_equal() -> None:
    body = CALL + "\n  emit chosen(index = picked.index)"
    without = CALLER.replace('use noisy_max from "noisy_max.dp"\n', "")
    true_sum = without.replace(body, "emit total(sum(q[j] for j in q))")
    failed = verdict(Source("m.dp", true_sum))
    assert isinstance(failed, AlignmentFails)
    assert failed.condition.id == "output"
    lengths = without.replace(body, "emit total(sum(j*n for j in q))")
    assert isinstance(verdict(Source("m.dp", lengths)), Verified)


# --- what the compiled class does ---------------------------------------------------------------------------


def compiled(name: str) -> tuple[Any, types.ModuleType]:
    source = read_source(str(SPECS / f"{name}.dp"))
    found = verdict(source)
    assert isinstance(found, Verified)
    module = types.ModuleType(name)
    sys.modules[name] = module
    try:
        exec(compile(emit_python(found), name, "exec"), module.__dict__)
    finally:
        del sys.modules[name]
    return found, module


@pytest.mark.parametrize(
    ("name", "cls", "parameters"),
    [
        ("topk_with_measures", "TopkWithMeasures", {"k": 2, "eps": Fraction(1)}),
        ("svt_with_measures", "SvtWithMeasures", {"k": 2, "eps": Fraction(1), "T": Fraction(4)}),
        ("adaptive_svt_merged", "AdaptiveSvtMerged", {"k": 2, "eps": Fraction(1), "T": Fraction(4)}),
    ],
)
def test_compiled_calls_do_what_the_interpreter_does(name: str, cls: str, parameters: dict[str, Any]) -> None:
    found, module = compiled(name)
    answers = [Fraction(n) for n in (3, 9, 1, 7, 8)]
    noise = iter(Fraction(n, 3) for n in (1, -2, 4, 0, 5, -1, 2, 3, -4, 1, 1, -2, 6, 2, -1, 1) * 4)
    drawn: list[Fraction] = []

    def source(site: DrawSite) -> Fraction:
        drawn.append(next(noise))
        return drawn[-1]

    given = {key: Fraction(value) for key, value in parameters.items()}
    done = run(found.mechanism, given, {"q": tuple(answers)}, source)
    assert isinstance(done.ended, Finished)
    mechanism = getattr(module, cls)(**parameters).with_noise(RecordedNoise(drawn))
    records = mechanism(answers).records
    assert [record.tag for record in records] == [record.tag for record in done.output]
    for ours, theirs in zip(records, done.output, strict=True):
        assert all(agree(getattr(ours, field), value) for field, value in theirs.fields)


@pytest.mark.parametrize("mode", [RunMode.LATTICE, RunMode.REFINED])
def test_public_functions_are_given_what_is_released(mode: RunMode) -> None:
    source = read_source(str(SPECS / "mwem.dp"))
    made: Any = load(emit_python(as_if_verified(check(source, parse(source))), mode))
    seen: list[tuple[Any, ...]] = []

    def update(state: Any, index: int, value: Any) -> int:
        seen.append((state, index, value))
        return int(state) + 1

    mechanism = made(
        answer=lambda state, j: 0,
        update=update,
        asked=lambda done, j: bool(int(done) >> j & 1),
        add=lambda done, j: int(done) | 1 << j,
        unasked=lambda done: next(j for j in range(9) if not int(done) >> j & 1),
        rounds=4,
        start=0,
        nothing=0,
        eps=1000,
        testing_seed=1,
    )
    result = mechanism(Labelled([1, 50, 20], ("a", "b", "c")))
    given = [record.value for record in result.records]
    assert seen == [(0, 1, given[0]), (1, 2, given[1]), (2, 0, given[2])], "each item once, the largest first"
    assert all((value * 1024).denominator == 1 for value in given)
    assert result.labels == ("b", "c", "a")


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("topk_with_measures", {"k": 3}),
        ("topk_with_measures_exp", {"k": 3}),
        ("svt_with_measures", {"k": 3, "T": 500}),
    ],
)
def test_an_estimate_is_off_by_its_standard_error(name: str, parameters: dict[str, Any]) -> None:
    """Where noise does not change who is selected, an estimate is unbiased, and errs as it says."""
    source = read_source(str(SPECS / f"{name}.dp"))
    made: Any = load(emit_python(as_if_verified(check(source, parse(source)))))
    answers = [1000, 20000, -5000, 3000, -4000]
    mechanism, noise = made(eps=2, **parameters), FloatingNoise(5)
    errors, spreads = [], set()
    for _ in range(3000):
        for record in mechanism.with_noise(noise)(answers).records:
            errors.append(float(record.value) - answers[record.index])
            spreads.add(float(record.standard_error))
    assert len(spreads) == 1
    stated = spreads.pop()
    assert statistics.mean(errors) == pytest.approx(0, abs=stated / 20)
    assert statistics.pstdev(errors) == pytest.approx(stated, rel=0.05)


@pytest.mark.parametrize("privacy", ["d", "0 at most d", "0 at most eps*d"])
def test_a_claim_that_may_be_negative_fails(privacy: str) -> None:
    source = spec("emit done", inputs="d : real\neps : real where eps > 0", privacy=privacy)
    found = verdict(source)
    assert isinstance(found, AlignmentFails | Unknown)
    assert found.condition is Condition.COST
    assert "the claim is not negative" in [o.text for r in found.conditions for o in r.obligations]

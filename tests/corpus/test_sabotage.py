"""Search chooses, it never confirms (rule 18): with any part that is not trusted replaced by one that
confirms, guesses or returns nothing, nothing wrong is VERIFIED.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from aligncheck import judge as judging
from aligncheck.judge import judge
from aligncheck.kernel.answer import Line
from aligncheck.kernel.witness import LoopWitness, Witness
from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.read import read_source
from aligncheck.language.syntax.walk import shifts_in, statements_in
from aligncheck.search.witness.candidates import Candidates, Group
from aligncheck.search.witness.fit import Proposals
from aligncheck.search.witness.sieve import Sieve
from aligncheck.search.witness.witness_json import expression
from aligncheck.trusted import RUNNING, TRUSTED, counted, is_trusted
from aligncheck.verdict import Verified

PROJECT = Path(__file__).parents[2]
WRONG = sorted([*(PROJECT / "specs/broken").glob("*.dp"), *(PROJECT / "tests/specs/soundness").glob("*.dp")])
SOME = {"isvt2", "isvt3", "svt_off_by_one", "cyclic_shifts", "called_unverified", "contradictory_where"}
FEW = [path for path in WRONG if path.stem in SOME]
SECONDS = 20.0

Patch: TypeAlias = pytest.MonkeyPatch


def verified(path: Path) -> bool:
    """Whether a spec is VERIFIED. No time is spent on counterexamples, which make nothing VERIFIED."""
    try:
        source = read_source(str(path))
        mechanism = check(source, parse(source))
        return isinstance(judge(mechanism, source, time.monotonic() + SECONDS, False, False), Verified)
    except SpecError:
        return False


SYNTAX = "aligncheck.language.syntax"
REFUSED: dict[str, tuple[Any, str]] = {
    f"{SYNTAX}.build.REFUSED_FAMILIES": ({}, "eta ~ Gamma(1)"),
    f"{SYNTAX}.wording.mistakes.REFUSED_STATEMENTS": ({}, "assume x > 0"),
    f"{SYNTAX}.parse.diagnosis": (lambda *_, **__: None, "x := 1"),
}
"""Words for what is refused, others in their place, and a line that is refused in these words."""

# --- saboteurs --------------------------------------------------------------------------------------------


def _gives(value: Any, *places: str) -> Callable[[Patch], None]:
    """Functions that give always the same."""

    def sabotage(patch: Patch) -> None:
        for place in places:
            patch.setattr(place, lambda *_, **__: value)

    return sabotage


def everything_is_proved(patch: Patch) -> None:
    """Whatever the search asks about lines holds."""
    patch.setattr(Sieve, "proof", lambda self, facts, *_: (facts, 0))


def everything_is_an_invariant(patch: Patch) -> None:
    def add(self: Sieve, lines: Iterable[Line], one_by_one: bool = False) -> None:
        self.kept |= set(lines) - self.collected.senseless

    patch.setattr(Sieve, "add", add)


def _candidates(patch: Patch, *texts: str) -> None:
    lines = [expression(text) for text in texts]
    for name in ("values", "draws", "same_values", "distances"):
        patch.setattr(Candidates, name, lambda self: [Group(True, (line,)) for line in lines])
    for name in ("costs", "owed"):
        patch.setattr(Candidates, name, lambda self: lines)


def candidates_are_false(patch: Patch) -> None:
    """Whatever is tried contradicts itself, and is confirmed."""
    everything_is_an_invariant(patch)
    _candidates(patch, "false", "0 < 0")


def candidates_are_none(patch: Patch) -> None:
    _candidates(patch)


def _witness(
    route: str, *lines: str, cost: str | None = None, promise: str | None = None
) -> Callable[[Patch], None]:
    """A witness that says these lines of every loop."""

    def sabotage(patch: Patch) -> None:
        said = tuple(map(expression, lines))

        def tries(proposals: Proposals) -> Iterator[Witness]:
            spec, callees = proposals.spec, proposals.callees
            loops = [s for s in statements_in(spec.body) if isinstance(s, n.For | n.While)]
            yield Witness(
                tuple(LoopWitness(said, said) for _ in loops),
                route,
                promises=() if promise is None else (expression(promise),),
                costs=() if cost is None else tuple(expression(cost) for _ in shifts_in(spec.align)),
                callees=callees,
            )

        patch.setattr(Proposals, "tries", tries)
        patch.setattr(judging, "refined", lambda *_: None)

    return sabotage


def nothing_is_refused(patch: Patch) -> None:
    patch.setattr("aligncheck.language.check._checked", lambda source, mechanism: mechanism)


SABOTEURS: dict[str, dict[str, Callable[[Patch], None]]] = {
    "language.check": {"refuses nothing": nothing_is_refused},
    "search.attempt": {"sees no contradiction": _gives((), "aligncheck.search.attempt.contradiction")},
    "language.syntax.wording": {
        "says nothing": _gives(
            None, *(f"{SYNTAX}.{at}" for at in ("parse.diagnosis", "build.scope_fault", "build.nearest"))
        )
    },
    "search.witness": {
        "everything is proved": everything_is_proved,
        "everything is an invariant": everything_is_an_invariant,
        "candidates contradict": candidates_are_false,
        "no candidates": candidates_are_none,
        "says what is false": _witness("acyclic", "false"),
        "promises what is false": _witness("acyclic", promise="false"),
        "costs nothing": _witness("acyclic", "alignment_cost <= 0", cost="0"),
        "takes another route": _witness("injective", "alignment_cost <= 0"),
        "takes no route": _witness("none"),
    },
}
"""What each part that is not trusted does when it is replaced."""

NEVER_BEFORE_VERIFIED = {
    "search.failing": "runs that fail, each replayed with exact arithmetic",
    "search.declarations": "errors about declarations; the kernel asks for inputs itself",
    "search.advice": "what would pass instead",
    "search.small_changes": "changes of a line, each verified before it is said",
    "search.rewrites": "what can be written in place of what the kernel has no rule for",
    "search.table_lines": "how lines are written for a table",
    "search.record_places": "which record of the output a line means, said as advice",
    "meaning": "executes specs on numbers: what it says is believed of a counterexample, and of nothing else",
}
"""What runs only where the kernel has not accepted."""

CASES = [(part, how) for part, ways in SABOTEURS.items() for how in ways]


@pytest.mark.parametrize(("part", "how"), CASES)
def test_nothing_wrong_is_verified(part: str, how: str, monkeypatch: Patch, exhaustive: bool) -> None:
    sample = WRONG if exhaustive else FEW
    assert len(sample) >= len(SOME)
    SABOTEURS[part][how](monkeypatch)
    for path in sample:
        assert not verified(path), path


def test_saboteurs_change_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A saboteur that changed nothing would test nothing."""
    right = PROJECT / "specs" / "svt_with_gap.dp"
    assert verified(right)
    for part, how in (("search.witness", "no candidates"), ("search.witness", "costs nothing")):
        with monkeypatch.context() as patch:
            SABOTEURS[part][how](patch)
            assert not verified(right), (part, how)


@pytest.mark.parametrize("place", REFUSED)
def test_without_its_words_a_line_is_refused_all_the_same(place: str, monkeypatch: Patch) -> None:
    nothing, line = REFUSED[place]
    monkeypatch.setattr(place, nothing)
    with pytest.raises((SpecError, TypeError)):
        parse(Source("s", f"mechanism m\nprivacy 0\nprogram\n  {line}\n"))


def _loaded() -> Iterator[str]:
    """The modules that a process has loaded which has verified a right, a wrong and a calling spec."""
    specs = ["adaptive_svt", "broken/isvt2", "exponential_mechanism_prior"]
    code = (
        "import sys\nfrom aligncheck.pipeline import Options, verify_file\n"
        "for path in sys.argv[1:]: verify_file(path, Options(timeout=30))\n"
        "print(*(m for m in sys.modules if m.startswith('aligncheck')))"
    )
    paths = [str(PROJECT / "specs" / f"{name}.dp") for name in specs]
    done = subprocess.run(
        [sys.executable, "-c", code, *paths], capture_output=True, text=True, check=True, cwd=PROJECT
    )
    yield from done.stdout.split()


def test_every_module_that_has_a_part_is_trusted_or_sabotaged() -> None:
    known = {*SABOTEURS, *NEVER_BEFORE_VERIFIED}
    rest = [m.removeprefix("aligncheck.") for m in _loaded() if "." in m and not is_trusted(m)]
    rest = [m for m in rest if not (PROJECT / "aligncheck" / m.replace(".", "/")).is_dir()]
    assert {m for m in rest if not any(m == k or m.startswith(f"{k}.") for k in known)} <= WORDS
    assert all(any(m == k or m.startswith(f"{k}.") for m in rest) for k in known)


WORDS = {"language.printable", "language.unparse", "effort"}
"""What only shows, or counts: a search that never ended would confirm nothing."""


def test_the_list_is_counted_and_the_readme_names_it() -> None:
    lines = counted({**TRUSTED, **RUNNING})
    assert all(count > 0 for count in lines.values()), lines
    assert sum(counted(TRUSTED).values()) < 7000
    assert "aligncheck/trusted.py" in (PROJECT / "README.md").read_text("utf-8")

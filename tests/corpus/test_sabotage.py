"""Search chooses, it never confirms (rule 18): with any module that is not trusted replaced by one that
confirms, guesses or returns nothing, nothing wrong is VERIFIED.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from aligncheck.judge import judge
from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.read import read_source
from aligncheck.search.discharge import choose, establish, houdini, search
from aligncheck.search.discharge.algebra import canonical
from aligncheck.search.discharge.whole import Choices
from aligncheck.search.obligations.running import loops_end
from aligncheck.search.relational import candidates
from aligncheck.search.relational.labels import Ledger
from aligncheck.search.relational.terms import FALSE, ZERO, le, lt
from aligncheck.trusted import TRUSTED, UNTRUSTED_WITHIN, is_trusted
from aligncheck.verdict import Verified

PROJECT = Path(__file__).parents[2]
WRONG = sorted([*(PROJECT / "specs/broken").glob("*.dp"), *(PROJECT / "tests/specs/soundness").glob("*.dp")])
SOME = [path for path in WRONG if path.stem in {"isvt2", "isvt3", "isvt4", "svt_off_by_one", "cyclic_shifts"}]
FEW = [path for path in WRONG if path.stem in {"isvt3", "cyclic_shifts", "exponential_mechanism_gap_uncut"}]
SECONDS = 20.0

Patch: TypeAlias = pytest.MonkeyPatch


def verified(path: Path, explain: bool = False) -> bool:
    try:
        source = read_source(str(path))
        mechanism = check(source, parse(source))
        return isinstance(judge(mechanism, source, time.monotonic() + SECONDS, explain), Verified)
    except SpecError:
        return False


# --- saboteurs --------------------------------------------------------------------------------------------


def houdini_confirms(patch: Patch) -> None:
    """Every candidate is returned as an invariant."""

    def run(self: Any, given: Any, enough: Any) -> Any:
        loops = [cut.number for cut in self.analysis.cuts if cut.loop is not None]
        found = {n: list(given.get(n, ())) for n in loops}
        for number in loops:
            pool = candidates.Pool(self.analysis, self.analysis.cuts[number])
            found[number] += [*pool.values(), *pool.equal_distances(), *pool.costs()]
        return {n: tuple(dict.fromkeys(map(canonical, terms))) for n, terms in found.items()}

    patch.setattr(houdini.Houdini, "run", run)


def houdini_drops_nothing(patch: Patch) -> None:
    patch.setattr(houdini.Houdini, "_refuted", lambda *_: set())


def houdini_finds_nothing(patch: Patch) -> None:
    patch.setattr(
        houdini.Houdini, "run", lambda self, *_: {c.number: () for c in self.analysis.cuts if c.loop}
    )


def candidates_are_false(patch: Patch) -> None:
    """Whatever is tried contradicts itself, and is confirmed."""
    houdini_confirms(patch)
    for name in ("values", "equal_distances", "costs"):
        patch.setattr(candidates.Pool, name, lambda self: [FALSE, lt(ZERO, ZERO)])


def candidates_are_none(patch: Patch) -> None:
    for name in ("values", "equal_distances", "costs"):
        patch.setattr(candidates.Pool, name, lambda self: [])


def _chosen(route: str, guess: Callable[[Any], Any]) -> Callable[[Patch], None]:
    def sabotage(patch: Patch) -> None:
        def choices(analysis: Any, smt: Any, decided: Any, source: Any) -> Choices:
            loops = [cut for cut in analysis.cuts if cut.loop is not None]
            ends = len(loops_end(analysis, {}))
            return Choices(route, (0,) * ends, {cut.number: guess(cut) for cut in loops})

        patch.setattr(establish, "choices_for", choices)

    return sabotage


def _found_but(**guess: Any) -> Callable[[Patch], None]:
    """What the search finds, but for what is guessed."""

    def sabotage(patch: Patch) -> None:
        def choices(analysis: Any, *rest: Any) -> Choices:
            return replace(choose.choices_for(analysis, *rest), **guess)

        patch.setattr(establish, "choices_for", choices)

    return sabotage


def _costs_nothing(cut: Any) -> Any:
    """That the alignment costs nothing so far, and that all state is the same in both runs."""
    cost = [le(pair.left, ZERO) for name, pair in cut.fresh.items() if name == Ledger.COST]
    return (
        *cost,
        *(canonical(le(pair.distance, ZERO)) for pair in cut.fresh.values() if _is_number(pair)),
    )


def _is_number(pair: Any) -> bool:
    from aligncheck.search.relational.terms import is_number

    return is_number(pair.left) and pair.left != pair.right


def finds_no_violation(patch: Patch) -> None:
    patch.setattr(search, "find_violation", lambda *_: None)


def _gives(value: Any, *places: str) -> Callable[[Patch], None]:
    """Functions that give always the same."""

    def sabotage(patch: Patch) -> None:
        for place in places:
            patch.setattr(place, lambda *_, **__: value)

    return sabotage


def realises_nothing(patch: Patch) -> None:
    patch.setattr(search, "wishes", lambda *_: {})
    patch.setattr(search, "realised", lambda mechanism, scenario, wanted, until: scenario)


def spells_one_word(patch: Patch) -> None:
    for name, module in list(sys.modules.items()):
        if (
            name.startswith("aligncheck.")
            and hasattr(module, "spell")
            and name != "aligncheck.search.relational.spell"
        ):
            patch.setattr(module, "spell", lambda term: "something")


SABOTEURS: dict[str, dict[str, Callable[[Patch], None]]] = {
    "search.discharge.houdini": {
        "confirms": houdini_confirms,
        "drops nothing": houdini_drops_nothing,
        "finds nothing": houdini_finds_nothing,
    },
    "search.relational.candidates": {"contradict": candidates_are_false, "are none": candidates_are_none},
    "search.discharge.choose": {
        "false, acyclic": _chosen("acyclic", lambda cut: (FALSE,)),
        "false, injective": _chosen("injective", lambda cut: (FALSE,)),
        "costs nothing": _chosen("acyclic", _costs_nothing),
        "always Lemma 1": _found_but(route="acyclic"),
        "always Theorem 4": _found_but(route="injective"),
        "no invariants": _chosen("injective", lambda cut: ()),
    },
    "search.discharge.search": {"finds nothing": finds_no_violation},
    "search.discharge.realise": {"realises nothing": realises_nothing},
    "search.discharge.contradiction": {"sees none": _gives((), "aligncheck.judge.contradiction")},
    "meaning.choices": {
        "allows nothing": _gives(
            (), *(f"aligncheck.search.discharge.search.{f}" for f in ("allowed", "constants_of"))
        )
    },
    "search.discharge.sample": {
        "samples nothing": _gives((), "aligncheck.search.discharge.search.scenarios")
    },
    "search.discharge.costs": {"shows nothing": _gives((), "aligncheck.judge.cost_parts")},
    "search.advice": {
        "advises nothing": _gives(
            (), "aligncheck.search.advice.advice_for", "aligncheck.search.advice.density_advice"
        )
    },
    "search.relational.spell": {"one word": spells_one_word},
}
"""What each module that is not trusted does when it is replaced."""

ONLY_IN_REPLAYS = {
    f"meaning.{name}" for name in ("alignment", "density", "exact", "interpreter", "replay", "scenario")
}
"""They execute specs on numbers: what they say is believed of a counterexample, and of nothing else."""

CASES = [(module, how) for module, ways in SABOTEURS.items() for how in ways]
WITH_INVARIANTS = {"search.discharge.houdini", "search.relational.candidates", "search.discharge.choose"}


@pytest.mark.parametrize(("module", "how"), CASES)
def test_nothing_wrong_is_verified(module: str, how: str, monkeypatch: Patch, exhaustive: bool) -> None:
    sample = WRONG if exhaustive else SOME if module in WITH_INVARIANTS else FEW
    assert sample
    SABOTEURS[module][how](monkeypatch)
    if module in WITH_INVARIANTS:  # no time is spent on counterexamples, which make nothing VERIFIED
        finds_no_violation(monkeypatch)
    for path in sample:
        assert not verified(path, explain=module in ("search.advice", "search.discharge.costs")), path


def test_saboteurs_change_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A saboteur that changed nothing would test nothing."""
    right = PROJECT / "specs" / "svt.dp"
    assert verified(right)
    for module, how in (
        ("search.discharge.houdini", "finds nothing"),
        ("search.discharge.choose", "costs nothing"),
    ):
        with monkeypatch.context() as patch:
            finds_no_violation(patch)
            SABOTEURS[module][how](patch)
            assert not verified(right), (module, how)


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
    loaded = set(_loaded())
    packages = {name for name in loaded if (PROJECT / name.replace(".", "/")).is_dir()}
    rest = {name.removeprefix("aligncheck.") for name in loaded - packages if not is_trusted(name)}
    assert rest - ONLY_IN_REPLAYS <= SABOTEURS.keys()
    assert SABOTEURS.keys() <= rest


def test_the_list_names_what_there_is_and_the_readme_names_the_list() -> None:
    for name in (*TRUSTED, *UNTRUSTED_WITHIN):
        path = PROJECT / name.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file(), name
    assert "aligncheck/trusted.py" in (PROJECT / "README.md").read_text("utf-8")

"""Which selections the output shows: those that records carry in every run."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from aligncheck.search.relational.labels import Ledger
from aligncheck.search.relational.paths import Analysis, Cut, Path, Selected
from aligncheck.search.relational.selection import chosen, pick, selection_of, size_of
from aligncheck.search.relational.terms import ZERO, App, Const, Sym, Term, atoms, const


def shown_selections(analysis: Analysis) -> frozenset[str]:
    """The selections that every run which makes them releases."""
    made = {e.name for p in analysis.paths for e in p.events if isinstance(e, Selected)}
    return frozenset(name for name in made if is_shown(analysis, name))


def selections_in(terms: Iterable[Term]) -> set[str]:
    """The selections of which terms speak."""
    return {name for a in atoms(terms) if (name := selection_of(a)) is not None}


def is_shown(analysis: Analysis, name: str) -> bool:
    """Whether every run releases the selection."""
    selecting = [
        p for p in analysis.paths if any(isinstance(e, Selected) and e.name == name for e in p.events)
    ]
    if _always_shows(analysis, selecting, chosen(name)):
        return True
    ranks = _fixed_ranks(analysis, name)
    if ranks and all(_always_shows(analysis, selecting, rank) for rank in ranks):
        return True
    loops = {c.number for c in analysis.cuts if _releases_all_ranks(analysis, c, name)}
    return bool(loops) and all(_always_passes(analysis, p, lambda q: q.origin in loops) for p in selecting)


def _always_shows(analysis: Analysis, selecting: list[Path], value: App | Sym) -> bool:
    """Whether every run that selects has a record that holds the value."""
    silent = [p for p in selecting if not _carries(p, value)]
    return all(_always_passes(analysis, p, lambda q: _carries(q, value)) for p in silent)


def _fixed_ranks(analysis: Analysis, name: str) -> list[App]:
    """The indices of a selection of a fixed number, each at its rank."""
    meaning = analysis.theory.registry.selections.get(name)
    if meaning is None or meaning.partial or not isinstance(meaning.count, Const):
        return []
    return [pick(name, const(rank)) for rank in range(int(meaning.count.value))]


def _always_passes(analysis: Analysis, start: Path, wanted: Callable[[Path], bool]) -> bool:
    """Whether after a path no run reaches the end without taking a wanted path."""
    reached: set[int | None] = set()
    queue = [start.target]
    while queue:
        here = queue.pop()
        if here is None:
            return False
        if here not in reached:
            reached.add(here)
            queue += [p.target for p in analysis.paths if p.origin == here and not wanted(p)]
    return True


def _releases_all_ranks(analysis: Analysis, cut: Cut, name: str) -> bool:
    """Whether a loop runs over the ranks of a selection and every round releases the index at its rank."""
    meaning = analysis.theory.registry.selections.get(name)
    if meaning is None or cut.counter is None or cut.enclosing:
        return False
    ends = (size_of(name),) if meaning.partial else (size_of(name), meaning.count)
    if cut.env[Ledger.LOW].left != ZERO or cut.env[Ledger.HIGH].left not in ends:
        return False
    own = [p for p in analysis.paths if p.origin == cut.number]
    rounds = [p for p in own if any(d.taken for d in p.decisions() if d.loop == cut.number)]
    value = pick(name, cut.counter)
    return all(p.target == cut.number and _carries(p, value) for p in rounds)


def _carries(path: Path, value: App | Sym) -> bool:
    return any(pair.left == value for e in path.emissions() for _, pair, _ in e.fields)

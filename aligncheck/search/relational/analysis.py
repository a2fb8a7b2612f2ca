"""All cut points and paths of a mechanism: executed until what was assumed of loop heads is borne out."""

from __future__ import annotations

from aligncheck.language.internal import InternalError
from aligncheck.search.relational.executor import PathExecutor
from aligncheck.search.relational.heads import Guess
from aligncheck.search.relational.ir import App, Sym, TermSort, atoms, sort_of
from aligncheck.search.relational.labels import Key, is_bookkeeping
from aligncheck.search.relational.path_state import Unroll
from aligncheck.search.relational.paths import Analysis, Assumed
from aligncheck.search.relational.theory import Theory


def analyse(theory: Theory) -> Analysis:
    """The cut points and paths of a mechanism, for every length and parameter.

    Raises TooManyPathsError.
    """
    return _settled(theory, None)


def unrolled(theory: Theory, unroll: Unroll) -> Analysis:
    """Complete runs only, for grounded parameters and lengths.

    Raises TooManyPathsError.
    """
    return _settled(theory, unroll)


def _settled(theory: Theory, unroll: Unroll | None) -> Analysis:
    """Execute until what was assumed of loop-head variables is what the paths bring."""
    guess = Guess()
    while True:
        analysis = PathExecutor(theory, unroll, guess).run()
        found = Guess(
            guess.real | _not_whole(analysis),
            guess.apart | _not_shared(analysis),
        )
        if found == guess:
            _check_names(analysis)
            return analysis
        guess = found


def _check_names(analysis: Analysis) -> None:
    """Two symbols never share a name: every table in the proof may rely on it."""
    meaning: dict[str, Sym | App] = {}
    for path in analysis.paths:
        values = [t for v in path.env.values() for t in (v.left, v.right)]
        facts = [e.fact for e in path.events if isinstance(e, Assumed)]
        for atom in atoms([*values, *facts, *(d.test.right for d in path.decisions())]):
            known = meaning.setdefault(atom.name, atom)
            alike = (known.label, type(known), known.sort, known.kind) == (
                atom.label,
                type(atom),
                atom.sort,
                atom.kind,
            )
            if not alike:
                raise InternalError(f"two symbols are called {atom.name}")


def _not_shared(analysis: Analysis) -> frozenset[tuple[int, Key]]:
    """Variables taken to have one value in both runs at a loop head to which some path brings two terms.

    Why the guess is sound once nothing is found: every way into the loop brings the same term for both runs,
    over symbols that both runs share, and by induction over the rounds the values are the same.
    """
    return frozenset(
        (path.target, name)
        for path in analysis.paths
        if path.target is not None
        for name, pair in analysis.cuts[path.target].fresh.items()
        if pair.left == pair.right and not is_bookkeeping(name)
        if name in path.env and path.env[name].left != path.env[name].right
    )


def _not_whole(analysis: Analysis) -> frozenset[tuple[int, Key]]:
    """Variables taken for integers at a loop head to which some path brings another number."""
    found: set[tuple[int, Key]] = set()
    for path in analysis.paths:
        if path.target is None:
            continue
        for name, pair in analysis.cuts[path.target].fresh.items():
            value = path.env.get(name)
            if value is None or sort_of(pair.left) is not TermSort.INT:
                continue
            if TermSort.INT is not sort_of(value.left) or TermSort.INT is not sort_of(value.right):
                found.add((path.target, name))
    return frozenset(found)

"""The premises of the lemma: the mechanism stops, and what it computes is defined."""

from __future__ import annotations

from collections.abc import Iterator

from aligncheck.language.conditions import Condition
from aligncheck.language.internal import InternalError
from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import While
from aligncheck.search.obligations.obligation import (
    Impossible,
    Invariants,
    Obligation,
    context,
    own_symbol,
    run_on_d,
    run_on_d_prime,
)
from aligncheck.search.obligations.output import quoted
from aligncheck.search.relational.paths import Analysis, Cut, Decision, Drawing, Path, Required
from aligncheck.search.relational.terms import (
    FALSE,
    ONE,
    ZERO,
    And,
    Cmp,
    Const,
    Not,
    Sym,
    Term,
    atoms,
    le,
    sub,
    substitute,
    summands,
)
from aligncheck.search.relational.theory import Theory


def operations_defined(analysis: Analysis, invariants: Invariants, source: Source) -> list[Obligation]:
    """Rule 11: every division, root, logarithm, remainder and index is defined, in both runs.

    Claim: the operation's condition holds whenever the operation is evaluated.
    Why sound: on D only the tests *before* it may be assumed, since the run may not get any further; on D'
    the whole run on D may, since the aligned run is only looked at for complete runs on D.
    """
    found = []
    for path in analysis.paths:
        start = context(analysis, path, invariants)
        for place, event in enumerate(path.events):
            if not isinstance(event, Required):
                continue
            whole = (*start, *run_on_d(path))
            if event.primed:
                hypotheses = (*whole, *run_on_d_prime(path, place))
            else:
                hypotheses = (*start, *run_on_d(path, place))
            found.append(
                Obligation(
                    Condition.DEFINED,
                    hypotheses,
                    event.partial.condition,
                    f"`{quoted(source, event.partial.span)}`: {event.partial.what}"
                    + (" (on D')" if event.primed else ""),
                    event.partial.span,
                    "operations_defined",
                    len(whole) if event.primed else len(start),
                )
            )
    return found


def clauses_make_sense(theory: Theory) -> list[Obligation]:
    """The input clauses: defined, no negative sensitivity, a positive lattice step, no empty range.

    Claim: for all parameters that satisfy the `where` clauses of the public inputs. `theory` must assume
    nothing of D and D' (`public_only`): these clauses say what D ~ D' means, so they cannot be judged by it.
    Why needed: a clause that cannot hold would leave no neighbours, and the proof would be about nothing
    (rule 2).
    """
    found = [
        Obligation(
            Condition.DEFINED,
            (*theory.base, *legal),
            p.condition,
            f"an input clause: {p.what}",
            p.span,
            "clauses_make_sense",
        )
        for legal, p in theory.partial
    ]
    found += [
        Obligation(Condition.HYPOTHESES, (*theory.base, *legal), goal, text, span, "clauses_make_sense")
        for legal, goal, text, span in theory.sensible
    ]
    return found


# --- termination ------------------------------------------------------------------------------------------


def loops_end(analysis: Analysis, invariants: Invariants) -> list[tuple[Cut, list[list[Obligation]]]]:
    """Condition i: for each `while` loop, ways to show that it ends; each way is a list of obligations.

    `for` loops run over a finite input, so they end. For a `while` loop one way must be proved in full.
    """
    found = []
    for cut in analysis.cuts:
        if isinstance(cut.loop, While):
            rounds = [p for p in analysis.paths if p.target == cut.number and analysis.within(p.origin, cut)]
            measures = _measures(analysis, cut)
            ways = [_counts_down(analysis, cut, rounds, m, invariants) for m in measures]
            for measure in (None, *measures):
                way = _leaves_with_some_probability(analysis, cut, rounds, measure, invariants)
                if way is not None:
                    ways.append(way)
            found.append((cut, ways))
    return found


def _own_test(path: Path, cut: Cut) -> Decision | None:
    """The loop's own test on a path from its head; None where the test is constant, or the path starts
    elsewhere.
    """
    if path.origin != cut.number:
        return None
    return next((d for d in path.decisions() if d.loop == cut.number), None)


def _measures(analysis: Analysis, cut: Cut) -> list[Term]:
    """What may count down: `b - a` for every conjunct `a < b` or `a <= b` of the loop's own test, for
    integers.
    """
    found: list[Term] = []
    for path in analysis.paths:
        test = _own_test(path, cut)
        if test is None or not test.taken:
            continue
        for conjunct in _conjuncts(test.holds(False)):
            if isinstance(conjunct, Cmp) and conjunct.op in ("<", "<="):
                found.append(sub(conjunct.right, conjunct.left))
    return list(dict.fromkeys(found))


def _conjuncts(term: Term) -> Iterator[Term]:
    if isinstance(term, And):
        for arg in term.args:
            yield from _conjuncts(arg)
    else:
        yield term


def _after(cut: Cut, path: Path, measure: Term) -> Term:
    """The measure in terms of the values at the end of a path."""
    table: dict[Term, Term] = {
        pair.left: path.env[name].left for name, pair in cut.fresh.items() if isinstance(pair.left, Sym)
    }
    return substitute(measure, table)


def _counts_down(
    analysis: Analysis,
    cut: Cut,
    rounds: list[Path],
    measure: Term,
    invariants: Invariants,
) -> list[Obligation]:
    """Every round lowers the measure by at least 1, and the loop goes on only while it is not negative.

    Why sound: a number that is at least 0 in every round and falls by 1 or more each time allows finitely
    many rounds;
    `rounds` are all paths into the loop's head from anywhere inside the loop. The measure is `b - a` for a
    conjunct `a < b` or `a <= b` of the loop's own test, so it is not negative in a round.
    """
    if cut.loop is None:
        raise InternalError("a cut that is no loop")
    return [
        Obligation(
            Condition.TERMINATES,
            (*context(analysis, path, invariants), *run_on_d(path)),
            le(_after(cut, path, measure), sub(measure, ONE)),
            "every round brings the loop's test nearer to its end",
            cut.loop.span,
            "_counts_down",
        )
        for path in rounds
    ]


def _leaves_with_some_probability(
    analysis: Analysis,
    cut: Cut,
    rounds: list[Path],
    measure: Term | None,
    invariants: Invariants,
) -> list[Obligation] | None:
    """No round raises the measure, and some round lowers it (or, with no measure, leaves the loop or makes
    its test false) with a probability that is bounded away from 0.

    Claim: the loop ends with probability 1.
    Why sound: take one whole round (a path from the loop's head back to it, or out of the loop, through no
    inner loop). Each of its tests after the loop's own is proved to hold whenever it is reached, or compares
    a fresh draw of this round, each draw in at most one test, with numbers that no round changes, as none
    changes the draw's scale. Given the past, the probability of that round is then the same positive number
    each time: Laplace noise exceeds any number, and stays below any number, with positive probability;
    exponential noise exceeds any number. The measure starts finite, never rises and falls by 1 or more with
    at least that probability in each round; below 0 the loop's own test fails. So the loop is over after
    finitely many rounds with probability 1.
    Breaks if a test's other numbers, or the scale, change from round to round: then the probabilities may
    tend to 0.
    """
    if cut.loop is None:
        raise InternalError("a cut that is no loop")
    changing = _changing_symbols(cut)
    whole = [p for p in analysis.paths if p.origin == cut.number and _decided_by_noise(p, cut, changing)]
    if measure is None:
        good = [p for p in whole if _leaves(analysis, cut, p) or _ends(cut, p)]
    else:
        good = [p for p in whole if p.target == cut.number and _lowers(cut, p, measure)]
    if not good:
        return None
    keep = [
        Obligation(
            Condition.TERMINATES,
            (*context(analysis, path, invariants), *run_on_d(path)),
            le(_after(cut, path, measure), measure),
            "no round takes the loop's test further from its end",
            cut.loop.span,
            "_leaves_with_some_probability",
        )
        for path in rounds
        if measure is not None
    ]
    return [*_certain_tests(analysis, cut, good[0], invariants), *keep]


def _certain_tests(analysis: Analysis, cut: Cut, path: Path, invariants: Invariants) -> list[Obligation]:
    """The path's tests without fresh noise hold whenever they are reached; and one that noise decides is
    named.
    """
    if cut.loop is None:
        raise InternalError("a cut that is no loop")
    found = [
        Obligation(
            Condition.TERMINATES,
            (),
            Impossible(True, "fresh noise decides it against numbers that do not change"),
            "each round comes nearer to the end with a probability bounded away from 0",
            cut.loop.span,
            "_leaves_with_some_probability",
        )
    ]
    draws = {own_symbol(d) for d in path.drawings()}
    for place, event in enumerate(path.events):
        if isinstance(event, Decision) and event.loop != cut.number and not atoms((event.test.left,)) & draws:
            found.append(
                Obligation(
                    Condition.TERMINATES,
                    (*context(analysis, path, invariants), *run_on_d(path, place)),
                    event.holds(False),
                    "the round that ends the loop is possible",
                    event.span,
                    "_leaves_with_some_probability",
                )
            )
    return found


def _changing_symbols(cut: Cut) -> frozenset[Term]:
    """The loop-head symbols: these change from round to round; everything else is fixed."""
    changing: set[Term] = set()
    for pair in cut.fresh.values():
        changing.update(atoms((pair.left, pair.right)))
    return frozenset(changing)


def _leaves(analysis: Analysis, cut: Cut, path: Path) -> bool:
    """Whether a path leaves the loop from inside a round (by `break`)."""
    test = _own_test(path, cut)
    inside = test is None or test.taken
    return inside and (path.target is None or not analysis.within(path.target, cut))


def _lowers(cut: Cut, path: Path, measure: Term) -> bool:
    change = sub(_after(cut, path, measure), measure)
    return isinstance(change, Const) and change.value <= -1


def _ends(cut: Cut, path: Path) -> bool:
    """Whether the loop's own test is false after this round."""
    test = _own_test(path, cut)
    if test is None or path.target != cut.number:
        return False
    return _after(cut, path, test.holds(False)) == FALSE


def _decided_by_noise(path: Path, cut: Cut, changing: frozenset[Term]) -> bool:
    """Whether every test of the path with fresh noise holds with the same positive probability in every
    round.
    """
    draws = {own_symbol(d): d for d in path.drawings()}
    used: set[Term] = set()
    for decision in path.decisions():
        if decision.loop == cut.number:
            continue
        test = decision.holds(False)
        fresh = [a for a in atoms((test,)) if a in draws]
        if not fresh:
            continue  # `_certain_tests` asks that it hold
        others = atoms((substitute(test, dict.fromkeys(fresh, ZERO)),))
        if len(fresh) != 1 or fresh[0] in used or others & changing:
            return False
        event = draws[fresh[0]]
        if atoms(a.left for a in event.args) & changing or not _unbounded(test, fresh[0], event):
            return False
        used.add(fresh[0])
    return bool(used)


def _unbounded(test: Term, symbol: Term, event: Drawing) -> bool:
    """Whether the draw alone can make the comparison true, whatever the other numbers are: it has no greatest
    value, on a lattice neither, and no least one if it is two-sided; all that is beyond has a probability
    above 0.
    """
    if isinstance(test, Not) or not isinstance(test, Cmp) or test.op == "==":
        return False
    parts = dict(summands(sub(test.right, test.left))[0])
    ((drawn, _),) = summands(event.left.value)[0]  # on a lattice the symbol times the step
    if any(symbol in atoms((p,)) for p in parts if p != drawn):
        return False
    # The step is positive, and so is a number in it: the factor has the sign that it seems to have.
    factor = parts.get(drawn)
    return factor is not None and (not event.family.one_sided or factor > 0)

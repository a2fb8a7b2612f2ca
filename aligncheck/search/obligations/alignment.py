"""Condition iv for the alignment itself (support, order, cost) and condition v."""

from __future__ import annotations

from itertools import takewhile

from aligncheck.language.conditions import Condition
from aligncheck.language.source import Source, Span
from aligncheck.search.obligations.families import families_one_to_one, meaning_of, two_levels
from aligncheck.search.obligations.obligation import (
    Goal,
    Impossible,
    Independent,
    Integral,
    Invariants,
    Obligation,
    context,
    own_symbol,
    run_on_d,
    run_on_d_prime,
    variable_of,
)
from aligncheck.search.obligations.output import quoted
from aligncheck.search.relational.labels import AtHead, Ledger, RecordField
from aligncheck.search.relational.paths import Analysis, Assumed, Drawing, Path
from aligncheck.search.relational.selection import is_anonymous
from aligncheck.search.relational.settled import FREE, copied, is_settled, open_in
from aligncheck.search.relational.terms import (
    App,
    Cmp,
    IsInt,
    Kind,
    Pair,
    Sort,
    Sym,
    Term,
    add,
    and_,
    atoms,
    div,
    eq,
    le,
    or_,
    same_value,
    sort_of,
    subterms,
)
from aligncheck.search.relational.theory import Theory
from aligncheck.search.relational.visible import Visible


def stays_in_support(analysis: Analysis, invariants: Invariants, source: Source) -> list[Obligation]:
    """Condition iv, support: the aligned draw is a value that the distribution can take.

    Claim: one-sided noise stays at or above its least value; lattice noise moves by whole steps.
    Why sound: the density quotient that the cost bounds is only defined there.
    Source: dissertation, Definition 5.1, item 1.
    """
    found = []
    for path in analysis.paths:
        known = (*context(analysis, path, invariants), *run_on_d(path))
        for place, event in enumerate(path.events):
            if not isinstance(event, Drawing):
                continue
            hypotheses = (*known, *run_on_d_prime(path, place))
            goals: list[tuple[Goal, str]] = []
            if event.left.floor is not None:
                aligned = add(event.left.value, event.shift)
                goals.append((le(event.left.floor, aligned), "stays at or above 0"))
            if event.left.step is not None:
                goals.append((Integral(div(event.shift, event.left.step)), "moves by whole steps"))
            for goal, what in goals:
                found.append(
                    Obligation(
                        Condition.SUPPORT,
                        hypotheses,
                        goal,
                        f"the aligned `{variable_of(event)}` {what}",
                        event.lines[0] if event.lines else event.span,
                        "stays_in_support",
                        len(known),
                        related=((event.span, "drawn here"),),
                    )
                )
    return found


def in_order(analysis: Analysis, source: Source) -> list[Obligation]:
    """Condition iv, acyclic (rule 5): a shift depends on noise only along an order, never on its own draw.

    Claim: in the order of drawing, every shift depends only on draws that came before.
    Why sound: the draws of a path come after all draws of earlier paths, so symbols of variables at a loop
    head carry only earlier noise. What is left to exclude is the draw itself and draws that come later; a
    draw at another index of the same variable counts as later unless its index is provably smaller. Where a
    shift does look ahead (or at itself) the obligation fails, and the general route (`one_to_one`) may take
    its place.
    Source: Definition 5 (acyclic) with π the order of drawing.
    """
    found = []
    for path in analysis.paths:
        for event in path.drawings():
            ahead = ahead_in(analysis, event)
            if ahead and all(meaning_of(analysis, a) is not None for a in ahead):
                found += two_levels(analysis, event, ahead, known=_of_output(path))
            elif ahead:
                found.append(
                    Obligation(
                        Condition.ACYCLIC,
                        (),
                        Independent(event.shift, ahead),
                        f"the shift of `{variable_of(event)}` does not depend on its own draw or a later one",
                        event.lines[0] if event.lines else event.span,
                        "in_order",
                        related=((event.span, "drawn here"),),
                    )
                )
            elif event.lines:
                found.append(
                    Obligation(
                        Condition.ACYCLIC,
                        (),
                        Independent(event.shift, frozenset()),
                        f"the shift of `{variable_of(event)}` depends on earlier noise at most",
                        event.lines[0],
                        "in_order",
                    )
                )
    return found


def _of_output(path: Path) -> tuple[Term, ...]:
    """What is known of ω at the start of a path, whatever the noise."""
    return tuple(
        e.fact for e in takewhile(lambda e: isinstance(e, Assumed), path.events) if isinstance(e, Assumed)
    )


def ahead_in(analysis: Analysis, event: Drawing) -> frozenset[Sym | App]:
    """The symbols of a shift that rest on noise which is not fixed when its draw is made, the draw itself
    among it.
    """
    return open_in((event.shift,), analysis.theory.hidden_in, event.made)


def one_to_one(
    analysis: Analysis, invariants: Invariants, source: Source, first: Path | None = None
) -> list[Obligation]:
    """The general route (Theorem 4) where a shift depends on its own or a later draw of the same path.

    Claim: from one cut point to the next, with all earlier noise fixed, two noise vectors that take the same
    visible arms, give the same records and have the same image are equal.
    Why sound: the proof also holds of the mechanism that releases its visible path besides its records, which
    both runs share (`same_arms_and_records`); so it is enough that φ is one-to-one for each output and
    visible path. By induction over the cut points the image determines all noise: earlier draws first, then
    those of this path. The two vectors share what is fixed at the path's start, since no shift looks further
    ahead than its own path (`_no_foreign`), and nothing else: maxima, sums and all else that the path's noise
    may enter has a copy (`copied`). Two vectors with the same visible arms may still take different hidden
    arms, so every pair of paths that differ in hidden arms only is compared. Where every shift is, in every
    case, free of the path's noise outside its tests, φ is piecewise a translation and |det J| = 1
    (`_unit_jacobian`). Where some shift looks at a maximum over noise of other paths, no induction over paths
    holds, and all noise is compared at once (`families_one_to_one`).
    Source: section 8, conditions 2 and 4, Theorem 4. (`first` asks for the pairs of one path only, in a
    search, in which loops are unrolled: paths with different draws or records have different outputs there.)
    """
    paths = [p for p in (analysis.paths if first is None else (first,)) if p.drawings()]
    looking = [(p, frozenset(a for e in p.drawings() for a in ahead_in(analysis, e))) for p in paths]
    if any(meaning_of(analysis, a) is not None for _, ahead in looking for a in ahead):
        return families_one_to_one(analysis)
    pairs = [_of_path(analysis, p, ahead, invariants, first is None) for p, ahead in looking if ahead]
    return [o for found in pairs for o in found]


def _of_path(
    analysis: Analysis, path: Path, ahead: frozenset[Sym | App], invariants: Invariants, unbounded: bool
) -> list[Obligation]:
    events = path.drawings()
    foreign = ahead - {own_symbol(e) for e in events}
    found = [_no_foreign(e, foreign) for e in events if foreign & atoms((e.shift,))]
    for other in analysis.paths:
        if not _same_visible_arms(path, other):
            continue
        if _same_shape(path, other):
            found.append(_injective(analysis, path, other, invariants))
        elif unbounded:
            found.append(_different_shapes(path))
    return found + _unit_jacobian(analysis, path)


def _same_visible_arms(p: Path, q: Path) -> bool:
    def arms(path: Path) -> list[tuple[Span, bool]]:
        return [(d.span, d.taken) for d in path.decisions() if not d.hidden]

    return p.origin == q.origin and p.target == q.target and arms(p) == arms(q)


def _same_shape(p: Path, q: Path) -> bool:
    """Whether two paths draw the same variables and release as many fields."""

    def shape(path: Path) -> list[object]:
        return [*((e.name, e.family) for e in path.drawings()), *(len(e.fields) for e in path.emissions())]

    return shape(p) == shape(q)


def _different_shapes(path: Path) -> Obligation:
    """Hidden arms only assign, so this does not happen; if it does, nothing is proved."""
    event = path.drawings()[0]
    return Obligation(
        Condition.INJECTIVE,
        (),
        Impossible(False, "two paths with the same visible arms draw or release different things"),
        "two noise vectors with the same output and the same image are equal",
        event.span,
        "one_to_one",
    )


def _no_foreign(event: Drawing, foreign: frozenset[Term]) -> Obligation:
    """Noise that is drawn after the path's end is outside the induction of `one_to_one`."""
    return Obligation(
        Condition.INJECTIVE,
        (),
        Independent(event.shift, foreign),
        f"the shift of `{variable_of(event)}` depends on no noise that is drawn in a later round",
        event.lines[0] if event.lines else event.span,
        "one_to_one",
        related=((event.span, "drawn here"),),
    )


def _injective(analysis: Analysis, path: Path, second: Path, invariants: Invariants) -> Obligation:
    """One noise vector takes `path`, the other, with its own symbols, takes `second`."""
    events = path.drawings()
    start = analysis.cuts[path.origin].made

    def other(term: Term) -> Term:
        return copied(term, analysis.theory.hidden_in, start)

    pairs = list(zip(events, second.drawings(), strict=True))
    released = tuple(
        same_value(Pair(a.left, other(b.left)))
        for e, f in zip(path.emissions(), second.emissions(), strict=True)
        for (_, a, _), (_, b, _) in zip(e.fields, f.fields, strict=True)
    )
    images = tuple(eq(add(a.left.value, a.shift), other(add(b.left.value, b.shift))) for a, b in pairs)
    line = next((e for e in events if ahead_in(analysis, e)), events[0])
    return Obligation(
        Condition.INJECTIVE,
        (
            *context(analysis, path, invariants),
            *run_on_d(path),
            *(other(t) for t in run_on_d(second)),
            *released,
            *images,
        ),
        and_(eq(a.left.value, other(b.left.value)) for a, b in pairs),
        "two noise vectors with the same output and the same image are equal",
        line.lines[0] if line.lines else line.span,
        "one_to_one",
        related=((line.span, "drawn here"),),
    )


def _unit_jacobian(analysis: Analysis, path: Path) -> list[Obligation]:
    """Condition 4 of the general theorem: the alignment is piecewise a translation, so |det J| = 1.

    Outside of its tests no shift speaks of a continuous draw of the path, nor of anything that the path's
    noise may enter. Lattice noise needs none: on a countable set the sum is merely reordered (b = 1 in the
    proof of Theorem 4).
    """
    events = path.drawings()
    whole = {own_symbol(e) for e in events if e.left.step is not None}
    start = analysis.cuts[path.origin].made
    return [
        Obligation(
            Condition.INJECTIVE,
            (),
            Independent(
                event.shift,
                open_in((event.shift,), analysis.theory.hidden_in, start) - whole,
                value_only=True,
            ),
            f"the alignment of `{variable_of(event)}` is piecewise a translation",
            event.lines[0] if event.lines else event.span,
            "one_to_one",
        )
        for event in events
        if event.left.step is None and event.lines
    ]


def within_claim(
    analysis: Analysis, claim: Term, invariants: Invariants, source: Source, most: Term | None = None
) -> list[Obligation]:
    """Condition iv, cost: at the end of every run Σ |η - η'|/α is at most the claim.

    Claim: the cost that the run has accumulated, a ghost variable, is at most the claimed privacy at the end.
    That is at most its bound, if it has one: that of the spec, or `most`.
    Why sound: every draw adds |shift|/α to it, and nothing else changes it.
    Source: Definition 6 (alignment cost), Lemma 1, condition iv.
    """
    return [
        *_within_bound(analysis, claim, most or analysis.theory.most, invariants, source),
        *_within_the_claim(analysis, claim, invariants, source),
    ]


def _within_bound(
    analysis: Analysis, claim: Term, most: Term | None, invariants: Invariants, source: Source
) -> list[Obligation]:
    """A claim that depends on the output never exceeds the bound that it names: the mechanism is bound-DP."""
    bound = analysis.theory.mechanism.most
    if most is None or bound is None:
        return []
    return [
        Obligation(
            Condition.COST,
            (*context(analysis, path, invariants), *run_on_d(path)),
            le(claim, most),
            f"the claim is at most `{quoted(source, bound.span)}` for every output",
            bound.span,
            "within_claim",
        )
        for path in analysis.paths
        if path.target is None
    ]


def _within_the_claim(
    analysis: Analysis, claim: Term, invariants: Invariants, source: Source
) -> list[Obligation]:
    mechanism = analysis.theory.mechanism
    return [
        Obligation(
            Condition.COST,
            (*context(analysis, path, invariants), *run_on_d(path), *run_on_d_prime(path)),
            le(path.env[Ledger.COST].left, claim),
            f"the alignment costs at most `{quoted(source, mechanism.privacy.span)}`",
            mechanism.privacy.span,
            "within_claim",
            len(context(analysis, path, invariants)) + len(run_on_d(path)),
            related=tuple((e.span, "adds to the cost") for e in path.drawings() if e.lines),
        )
        for path in analysis.paths
        if path.target is None
    ]


def countably_many(analysis: Analysis, visible: Visible, source: Source) -> list[Obligation]:
    """Condition v (rule 4): the value of a shift contains no released number that is not discrete.

    Claim: for one pair D, D', the alignments φ_ω are countably many functions.
    Why sound: a shift is a fixed expression in noise, D, D', parameters and parts of ω. Parts with countably
    many values (tags, counts, integers, public expressions) give countably many functions; guards that
    compare a released number with D, D' and public numbers choose among finitely many; a released real number
    inside a value, or in one test together with noise, could give uncountably many, and is excluded. A
    symbol that stands for a maximum or a sum over a set counts as released if anything in the set is.
    Source: Lemma 1, condition v.
    """
    found = []
    discrete = _discrete_fields(analysis)
    for path in analysis.paths:
        for event in path.drawings():
            released = frozenset(
                a for a in atoms((event.shift,)) if _tells_a_release(a, discrete, analysis.theory, set())
            )
            mixed = _mixed_tests(analysis, event.shift, released, visible)
            if mixed:
                found.append(
                    Obligation(
                        Condition.COUNTABLE,
                        (),
                        Independent(or_(mixed), released),
                        f"no test in the shift of `{variable_of(event)}` compares a release with noise",
                        event.lines[0] if event.lines else event.span,
                        "countably_many",
                        related=((event.span, "drawn here"),),
                    )
                )
            if released:
                found.append(
                    Obligation(
                        Condition.COUNTABLE,
                        (),
                        Independent(event.shift, released, value_only=True),
                        f"the shift of `{variable_of(event)}` contains no released number",
                        event.lines[0] if event.lines else event.span,
                        "countably_many",
                        related=((event.span, "drawn here"),),
                    )
                )
    if not found:
        found.append(
            Obligation(
                Condition.COUNTABLE,
                (),
                Independent(and_(()), frozenset()),
                "no shift contains a released number",
                analysis.theory.mechanism.span,
                "countably_many",
            )
        )
    return found


def _tells_a_release(atom: Sym | App, discrete: frozenset[str], theory: Theory, seen: set[Term]) -> bool:
    """Whether a released number that is not discrete enters a symbol, through any sets that it stands for."""
    if atom in seen:
        return False
    seen.add(atom)
    if isinstance(atom.label, RecordField):
        return atom.label.field not in discrete
    hidden = theory.hidden_in(atom)
    if hidden is None:  # no definition was kept; but a maximum with a name stands in the program
        return is_anonymous(atom)
    return any(_tells_a_release(a, discrete, theory, seen) for a in atoms(hidden))


def _mixed_tests(analysis: Analysis, shift: Term, released: frozenset[Term], visible: Visible) -> list[Term]:
    """The tests that contain both a released number and noise, or state that may contain noise: comparisons,
    and truths at arguments, such as those that a public function gives.
    """
    settled = {(s.label.key, s.label.loop) for s in visible.known if isinstance(s.label, AtHead)}

    def is_noisy(atom: Sym | App) -> bool:
        shown = isinstance(atom.label, AtHead) and (atom.label.key, atom.label.loop) in settled
        free = shown or atom.kind in (*FREE, Kind.COUNTER)
        return not free and not is_settled(atom, analysis.theory.hidden_in)

    return [
        t
        for t in subterms((shift,))
        if isinstance(t, Cmp | IsInt) or (isinstance(t, App) and t.sort is Sort.BOOL)
        if atoms((t,)) & released and any(is_noisy(a) for a in atoms((t,)))
    ]


def _discrete_fields(analysis: Analysis) -> frozenset[str]:
    """Fields whose every released value is an integer, a truth, or a function of public inputs alone."""
    values: dict[str, list[Term]] = {}
    for path in analysis.paths:
        for emission in path.emissions():
            for name, pair, _ in emission.fields:
                values.setdefault(name, []).append(pair.left)
    return frozenset(
        name
        for name, found in values.items()
        if all(
            sort_of(v) is not Sort.REAL or all(a.kind is Kind.PARAMETER for a in atoms((v,))) for v in found
        )
    )

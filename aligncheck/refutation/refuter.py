"""The search as a whole: from a mechanism to a certified violation, or to the strongest ratio seen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from fractions import Fraction

from aligncheck.effort import Effort, OutOfTime
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.meaning.exact import Undecided, Undefined
from aligncheck.meaning.interpreter import Input, Inputs, Stopped
from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation.certify import certified, seen
from aligncheck.refutation.consequences import explained
from aligncheck.refutation.cuts import beside, ties, with_cuts
from aligncheck.refutation.databases import (
    far_databases,
    legal,
    neighbours,
    parameter_choices,
    starting_databases,
)
from aligncheck.refutation.events import CompleteOutput, Event, Exactly
from aligncheck.refutation.measure import Meter
from aligncheck.refutation.pair_search import (
    Candidate,
    Scored,
    apart,
    best_neighbour,
    climbed,
    grown,
    length_of,
    score,
    sharpened,
    simplified,
    spread,
    unit_of,
    united,
)
from aligncheck.refutation.trial_outputs import free_numbers, outputs_of
from aligncheck.refutation.violation import Ended, Finding, NoViolation, Searched, StrongestSeen, Violation
from aligncheck.workers import TooLongError, stopped_after

SECONDS = 4.0
"""How long a search takes at most, the certificate included, unless the caller says otherwise."""
_RESERVE, _CERTIFYING = 0.2, 0.15
"""The shares of the time that are kept for simpler numbers and the certificate, and for the latter alone."""
_AFTERWARDS = 3_000
"""Where steps are counted, so many more than for the search are for simpler numbers and the certificate."""
_LATE = 0.4
"""Seconds after which a search that has not looked at the clock is ended by an alarm."""
LONGEST = 10
_SURVEYED = (1, 2, 3, 4)
"""Lengths whose outputs are looked at one by one; longer inputs grow from shorter ones."""
_OUTPUTS = 48
"""So many different outputs are looked at for each database."""
_BESIDE, _APART, _UNITED = 5, 3, 3
_RUNS, _MORE_RUNS, _AROUND = 5, 30, 5
_EACH = 3
"""So many choices of whole numbers are looked at for each length before any others are."""
_CUT, _PARENTS, _PATIENCE = 5, 4, 2
_ROUNDING = 1e-9
_WORTH = 0.01
"""Longer inputs are tried for as long as each adds this much, in units of the claim."""


@dataclass(frozen=True, slots=True)
class Aim:
    """What is fixed, and where to look first.

    `fixed` are values of public inputs. `hints` are pairs of databases to look at first, such as those on
    which a proof failed; they need not be legal. `seconds` bounds the search (None: the clock does not), and
    so do, if given, `steps` (see `Effort`) and `probabilities`, the number of those to be computed: with one
    of them and enough time the same search goes the same way every time.
    `any_will_do` ends it at the first violation, which need not be the strongest; `explain` says whether more
    is to be found out about a violation than that it is one.
    """

    fixed: Inputs = ()
    hints: tuple[Scenario, ...] = ()
    seconds: float | None = SECONDS
    probabilities: int | None = None
    any_will_do: bool = False
    steps: int | None = None
    explain: bool = True


def load() -> None:
    """Imports all that a search needs, so that processes forked afterwards need not."""
    import flint  # noqa: F401
    import sympy  # noqa: F401


def refute(mechanism: Mechanism, aim: Aim) -> Finding:
    """A certified violation of the claim of a checked mechanism, or the strongest ratio that was seen.

    Nothing that is known of a proof is used: a verified mechanism is searched like any other.
    """
    if aim.steps is not None:
        from aligncheck.refutation.integration import forget

        forget()
    whole = Effort(aim.seconds)
    meter = Meter(mechanism, whole.part(_share(aim, 1 - _RESERVE), aim.steps), aim.probabilities)
    hunt = _Hunt(meter, aim.any_will_do)
    ended = Ended.THROUGH
    try:
        with _on_time(meter.effort):
            hunt.search(aim)
    except (OutOfTime, TooLongError):
        ended = Ended.TIME if meter.effort.is_late else Ended.STEPS
    searched = hunt.searched(meter.effort.steps, ended)
    rest = whole.part(steps=None if aim.steps is None else _AFTERWARDS + aim.steps)
    meter.effort = rest.part(None if aim.seconds is None else rest.seconds_left() - _CERTIFYING * aim.seconds)
    violation, strongest = None, None
    with suppress(TooLongError), _on_time(rest):
        violation = _certified(meter, hunt, rest)
        if violation is not None and aim.explain:
            return explained(mechanism, violation, list(hunt.by_length.values()), rest)
        if violation is None:
            strongest = hunt.attempt(rest)
    if violation is not None:
        return violation
    if not hunt.looked:
        meter.left_out["no inputs that the declarations allow were found"] = None
    if not meter.asked:  # where no output was known, no probability was asked for
        meter.left_out |= meter.unlisted
    return NoViolation(strongest, meter.asked, searched, tuple(meter.left_out), hunt.looked)


def _certified(meter: Meter, hunt: _Hunt, effort: Effort) -> Violation | None:
    """The first of the best candidates that is certified."""
    for scored in hunt.ranked():
        if not scored.violates:
            break
        with suppress(OutOfTime):
            scored = simplified(meter, scored)
        violation = certified(meter.mechanism, scored.candidate, effort)
        if violation is not None:
            return violation
    return None


def _on_time(effort: Effort) -> AbstractContextManager[object]:
    """Ends by an alarm what does not look at the clock in time."""
    left = effort.seconds_left()
    return nullcontext() if left == math.inf else stopped_after(max(left, 0) + _LATE)


def _share(aim: Aim, share: float) -> float | None:
    return None if aim.seconds is None else share * aim.seconds


class _Hunt:
    """A search under way: the best candidates so far for each length of the input, of each kind of event."""

    def __init__(self, meter: Meter, any_will_do: bool) -> None:
        self._meter = meter
        self._any_will_do = any_will_do
        self._looked: list[Scenario] = []
        self._later: list[tuple[Scenario, Scored]] = []
        self._mechanism = meter.mechanism
        self._kept: dict[int, dict[object, Scored]] = {}

    @property
    def looked(self) -> bool:
        """Whether there were any inputs to look at."""
        return bool(self._looked)

    def searched(self, steps: int, ended: Ended) -> Searched:
        """What was looked at so far."""
        choices = {start.parameters for start in self._looked}
        longest = max(self._kept, default=max(map(length_of, self._looked), default=0))
        return Searched(len(choices), len(self._looked), longest, steps, ended)

    @property
    def by_length(self) -> dict[int, Scored]:
        """The best for each length."""
        return {length: max(kinds.values(), key=_score) for length, kinds in self._kept.items() if kinds}

    def ranked(self) -> list[Scored]:
        """The best of each length, the best first; of about equal ones the shorter input."""
        top = max((scored.score for scored in self.by_length.values()), default=0.0)
        close = _WORTH / 4 * max(1.0, top)

        def rank(pair: tuple[int, Scored]) -> tuple[bool, float, int]:
            length, scored = pair
            best = scored.score >= top - close
            return not best, 0 if best else -scored.score, length

        return [scored for _, scored in sorted(self.by_length.items(), key=rank)]

    def attempt(self, effort: Effort) -> StrongestSeen | None:
        """The strongest ratio."""
        for scored in self.ranked():
            try:
                return seen(self._mechanism, scored.candidate, scored.level, effort)
            except (Stopped, Undecided, Undefined):
                continue
        return None

    @property
    def _best(self) -> Scored | None:
        return max(self.by_length.values(), key=_score, default=None)

    def _consider(self, scored: Scored | None) -> None:
        if scored is None:
            return
        kinds = self._kept.setdefault(length_of(scored.candidate.scenario), {})
        kind = _kind(scored.candidate)
        if kind not in kinds or scored.score > kinds[kind].score + _ROUNDING:
            kinds[kind] = scored

    def _is_over(self) -> bool:
        """Whether the worst was found: an output that is impossible on D'."""
        return self._best is not None and self._best.level == math.inf

    def search(self, aim: Aim) -> None:
        """Look at short inputs first, then at longer ones that grow from these. Raises `OutOfTime`."""
        fixed = dict(aim.fixed).items()
        for hint in aim.hints:
            if fixed <= dict(hint.parameters).items() and legal(self._mechanism, hint):
                self._survey(Scenario(hint.parameters, hint.data, hint.data_prime))
        for look in self._plan(dict(aim.fixed)):
            for start in look:
                if self._is_over() or (self._any_will_do and self._violates()):
                    return
                self._survey(start)
            if self._violates():
                break
        if not self._is_over() and not (self._any_will_do and self._violates()):
            self._lengthen()

    def _plan(self, fixed: dict[str, Input]) -> Iterator[Iterable[Scenario]]:
        """Databases to look at, in groups; a violation ends the search after its group."""
        lengths = _SURVEYED if _has_lists(self._mechanism) else (1,)
        choices = {length: parameter_choices(self._mechanism, length, fixed) for length in lengths}
        starts = {
            (length, number): starting_databases(self._mechanism, length, parameters)
            for length, held in choices.items()
            for number, parameters in enumerate(held[:1])
        }
        first = [starts[length, 0] for length in lengths if (length, 0) in starts]
        yield from (each[:1] for each in first[:1])
        yield from (
            [far] for each in first[:2][-1:] if each for far in far_databases(self._mechanism, each[0])
        )
        yield from (each[:1] for each in first[1:2])
        yield from self._tied(first[2:])
        yield from self._growing()
        yield from self._other_moves()
        yield from self._more(choices)
        yield from self._stray(choices, lengths[:2])
        yield from (each[:1] for each in first[2:3])
        yield from self._growing()
        yield from (each[1:] for each in first)
        yield from (each[:1] for each in first[3:])
        yield from self._stray(choices, lengths[2:3])

    def _tied(self, starts: Sequence[Sequence[Scenario]]) -> Iterator[Iterable[Scenario]]:
        """No databases: all patterns, close together and apart, for events in which discrete noise ties."""
        for start in (each[0] for each in starts if each):
            tied = [
                other
                for event in self._meter.outputs(start.parameters, start.data, _OUTPUTS)
                if isinstance(event, CompleteOutput) and free_numbers(self._mechanism, event)
                for other in ties(self._meter, start, event)
            ]
            pairs = neighbours(self._mechanism, start) if tied else []
            tried = [
                scored
                for event in tied
                for pair in pairs
                for factor in (0, _APART)
                if legal(self._mechanism, one := apart(self._mechanism, pair, factor))
                and (scored := score(self._meter, Candidate(one, event))) is not None
            ]
            if tried:
                best = max(tried, key=_score)
                self._consider(best)
                self._consider(climbed(self._meter, best))
            yield ()

    def _other_moves(self) -> Iterator[Iterable[Scenario]]:
        """No databases: of those looked at so far neighbours that move the numbers, if they were chosen by
        how they change the rest of the event.
        """
        for start, near in self._later:
            self._moving_numbers(start, near)
            yield ()

    def _more(self, choices: dict[int, list[Inputs]]) -> Iterator[Iterable[Scenario]]:
        """Other whole numbers, such as how many answers are to be given."""
        whole = {
            item.name
            for item in self._mechanism.inputs
            if isinstance(item, nodes.Parameter) and item.sort is nodes.Sort.INT
        }
        others = {
            length: sorted(
                (each for each in held[1:] if whole.issuperset(_changed(held[0], each))),
                key=lambda each: _whole_first(each, whole, length),
            )
            for length, held in choices.items()
            if held and length > 1
        }
        for some in (slice(_EACH), slice(_EACH, None)):
            for length, held in others.items():
                for parameters in held[some]:
                    yield starting_databases(self._mechanism, length, parameters)[:1]

    def _growing(self) -> Iterator[Iterable[Scenario]]:
        """No databases: longer inputs are made from the best so far."""
        self._lengthen()
        yield ()

    def _stray(
        self, choices: dict[int, list[Inputs]], lengths: Sequence[int]
    ) -> Iterator[Iterable[Scenario]]:
        """Other parameters."""
        for number in range(1, max(map(len, choices.values()), default=0)):
            for length in lengths:
                if number < len(choices[length]):
                    yield starting_databases(self._mechanism, length, choices[length][number])[:1]

    def _violates(self) -> bool:
        return self._best is not None and self._best.violates

    def _survey(self, start: Scenario) -> None:
        """Look at the outputs on a database and its neighbours; follow the best ones."""
        self._looked.append(start)
        pairs = neighbours(self._mechanism, start) if start.data == start.data_prime else [start]
        found: list[tuple[Scored, Scored]] = []
        events = list(self._events(start, pairs))
        self._only_beside(pairs, frozenset(events))
        if self._is_over():
            return
        for event in events:
            near = self._first_look(start, pairs, event)
            if near is not None:
                far = near if near.level == math.inf else spread(self._meter, near)
                found.append((near, far))
                self._consider(far)
                if self._is_over():
                    return
        self._unite(pairs, events)
        found.sort(key=lambda pair: -pair[1].score)
        for _, far in found[:1]:
            self._consider(climbed(self._meter, far))
            if self._is_over():
                return
        for near, far in found[:_CUT]:
            self._cut(near, far.score)
            if self._is_over():
                return
            if start.data != start.data_prime:
                continue
            if near.level > _ROUNDING:
                self._later.append((start, near))
                continue
            self._moving_numbers(start, near)
            if self._is_over():
                return
        self._halfway(start, [near.candidate.event for near, _ in found[:_CUT]])

    def _unite(self, pairs: Sequence[Scenario], events: Sequence[Event]) -> None:
        """Several outputs together: beside a δ, or under a claim in ρ, they may show more than each does."""
        if isinstance(self._mechanism.claim, nodes.Pure):
            return
        tried = [united(self._meter, pair, events) for pair in pairs[:_UNITED]]
        for one in tried:
            self._consider(one)
        best = max((one for one in tried if one is not None), key=_score, default=None)
        if best is not None and best is self._best and best.level < math.inf:
            self._consider(climbed(self._meter, best, rounds=1))

    def _only_beside(self, pairs: Sequence[Scenario], known: frozenset[Event]) -> None:
        """Outputs that a neighbour has, but not the database itself."""
        for pair in pairs[1:_BESIDE]:
            for event in self._meter.outputs(pair.parameters, pair.data_prime, _OUTPUTS):
                if event not in known:
                    self._consider(score(self._meter, Candidate(pair, event)))
                    if self._is_over():
                        return

    def _cut(self, near: Scored, uncut: float) -> None:
        """Restrict the released numbers, and see how far that leads."""
        best = with_cuts(self._meter, near)
        self._consider(best)
        if not isinstance(self._mechanism.claim, nodes.Pure):
            best = sharpened(self._meter, best)
        if best.score > near.score + _WORTH:
            best = best if best.level == math.inf else spread(self._meter, best)
            self._consider(best)
            if best.level < math.inf and best.score > 1.1 * uncut:
                self._consider(climbed(self._meter, best))

    def _moving_numbers(self, start: Scenario, near: Scored) -> None:
        """The neighbour that moves the released numbers most, which need not be the one under which the rest
        of the event is rarest.
        """
        event = beside(self._meter, start, near.candidate.event)
        best = None if event is None else best_neighbour(self._meter, start, event)
        if best is None:
            return
        known = near.candidate.scenario
        if {best.candidate.scenario.data, best.candidate.scenario.data_prime} == {
            known.data,
            known.data_prime,
        }:
            return
        self._consider(best)
        other = score(self._meter, Candidate(best.candidate.scenario, near.candidate.event))
        if other is not None:
            self._cut(other, other.score)

    def _halfway(self, start: Scenario, events: Sequence[Event]) -> None:
        """Half a step apart, so that lattices do not meet: what is an atom on D may be impossible on D'."""
        if start.data != start.data_prime:
            return
        for pair in neighbours(self._mechanism, start, Fraction(1, 2))[:1]:
            for event in events:
                if free_numbers(self._mechanism, event):
                    scored = score(self._meter, Candidate(pair, event))
                    if scored is not None:
                        self._consider(with_cuts(self._meter, scored, atoms_only=True))

    def _first_look(self, start: Scenario, pairs: Sequence[Scenario], event: Event) -> Scored | None:
        tried = [best_neighbour(self._meter, start, event)]
        if start.data != start.data_prime or tried[0] is None:
            tried += [score(self._meter, Candidate(pair, event)) for pair in pairs[:2]]
        return max((one for one in tried if one is not None), key=_score, default=None)

    def _events(self, start: Scenario, pairs: Sequence[Scenario]) -> Iterator[Event]:
        """Every discrete output; where several numbers are released, also what a few runs release, about."""
        pair = pairs[0] if pairs else start
        found = self._meter.outputs(start.parameters, start.data, _OUTPUTS)
        seen: dict[Event, None] = dict.fromkeys(found)
        if not found:
            seen = {output.free(): None for output in outputs_of(self._mechanism, pair, runs=_MORE_RUNS)}
        if not found or any(free_numbers(self._mechanism, event) > 1 for event in found):
            unit = unit_of(self._mechanism, start)
            for output in outputs_of(self._mechanism, pair, runs=_RUNS)[:_AROUND]:
                if len(output.continuous) > 1:
                    seen.setdefault(output.around(unit / 64))
        yield from seen

    def _lengthen(self) -> None:
        """Longer inputs, from a few of the best of each length, for as long as they are worth it."""
        if not _has_lists(self._mechanism):
            return
        stale = 0
        while (length := max(self._kept, default=LONGEST)) < LONGEST and stale < _PATIENCE:
            gain = self._lengthen_from(length)
            if self._is_over() or (self._any_will_do and self._violates()):
                return
            stale = 0 if gain >= _WORTH else stale + 1

    def _lengthen_from(self, length: int) -> float:
        """How much the one that gained most by one more answer is better than its parent: what gains steadily
        may pass what is better and does not gain.
        """
        parents = sorted(self._kept[length].values(), key=_score, reverse=True)[:_PARENTS]
        tried: dict[object, Scored] = {}
        gain = 0.0
        for candidate, before in {
            one: parent.score for parent in parents for one in grown(self._mechanism, parent.candidate)
        }.items():
            if not legal(self._mechanism, candidate.scenario):
                continue
            scored = score(self._meter, candidate)
            kind = _kind(candidate)
            if scored is not None and (kind not in tried or scored.score > tried[kind].score):
                tried[kind] = scored
                gain = max(gain, scored.score - before)
        best = sorted(tried.values(), key=_score, reverse=True)[:_PARENTS]
        for scored in best:
            self._consider(scored)
        # Once a violation is there, it is only made stronger.
        for scored in best[: 1 if self._violates() else 2]:
            self._consider(climbed(self._meter, scored, rounds=3))
        if not best:
            self._kept[length + 1] = {}
        return gain


def _changed(one: Inputs, other: Inputs) -> set[str]:
    """The names of which two choices hold different values."""
    return {name for (name, value), (_, new) in zip(one, other, strict=True) if value != new}


def _whole_first(parameters: Inputs, whole: set[str], length: int) -> tuple[bool, Fraction]:
    """Whole numbers up to the number of answers first, of these the largest: more of the program runs."""
    values = [value for name, value in parameters if name in whole and isinstance(value, Fraction)]
    return max(values, default=Fraction(0)) > length, -sum(values, Fraction(0))


def _score(scored: Scored) -> float:
    return scored.score


def _kind(candidate: Candidate) -> object:
    """What makes two events the same kind: the tags of the records, and which of their fields are bounded."""
    event = candidate.event
    if not isinstance(event, CompleteOutput):
        return None
    return tuple(
        (
            record.tag,
            tuple((name, part if isinstance(part, Exactly) else None) for name, part in record.fields),
        )
        for record in event.records
    )


def _has_lists(mechanism: Mechanism) -> bool:
    return any(
        isinstance(item, nodes.PublicVector) or (isinstance(item, nodes.Queries) and item.vector)
        for item in mechanism.inputs
    )

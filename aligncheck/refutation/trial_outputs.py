"""Outputs worth a look, by running the mechanism with noise of many sizes.

A run says which records come out, and which of their numbers are continuous: those that move when all
continuous noise moves a little. This is only where to look; how likely it is, the exact computation says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from random import Random

from aligncheck.language.families import Lattice
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import statements_in
from aligncheck.meaning import exact, interpreter
from aligncheck.meaning.exact import Number, Undecided, Undefined, Value
from aligncheck.meaning.exact_density import log_weights
from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation.events import Between, CompleteOutput, Event, Exactly, Raises, RecordPattern

_SIZES = (0, 0, 1, -1, 2, -2, 4, -4, 8, -8)
"""Noise in units of its scale; one-sided noise takes the absolute values."""
_JITTER = 64
_STEPS = 400
_NEAR = Fraction(1, 10**7)
_FINE = 1024
"""Of irrational numbers rationals this fine are looked at."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An output that one run had: its records, and which fields (record, name) are continuous.

    `raised`: the run stopped at something undefined, and has no output.
    """

    records: tuple[interpreter.EmittedRecord, ...]
    continuous: frozenset[tuple[int, str]]
    raised: bool = False

    @property
    def shape(self) -> object:
        """What is the same for outputs that differ in continuous numbers only."""
        return self.raised, tuple(
            (
                record.tag,
                tuple(
                    (name, None if (place, name) in self.continuous else value)
                    for name, value in record.fields
                ),
            )
            for place, record in enumerate(self.records)
        )

    def around(self, width: Fraction) -> Event:
        """The event that everything discrete is as here, and every continuous number this close."""
        return self._event(lambda value: _between(value, width))

    def free(self) -> Event:
        """The event that everything discrete is as here."""
        return self._event(lambda _: None)

    def _event(self, part: Callable[[Value], Between | None]) -> Event:
        if self.raised:
            return Raises()
        patterns: list[RecordPattern] = []
        for place, record in enumerate(self.records):
            fields: list[tuple[str, Between | Exactly]] = []
            for name, value in record.fields:
                if (place, name) not in self.continuous:
                    fields.append((name, Exactly(value)))
                elif (interval := part(value)) is not None:
                    fields.append((name, interval))
            patterns.append(RecordPattern(record.tag, tuple(fields)))
        return CompleteOutput(tuple(patterns), complete=True)


def _between(value: Value, width: Fraction) -> Between | None:
    if isinstance(value, bool):
        return None
    middle = exact.rational_below(value, _FINE)
    return Between(middle - width / 2, middle + width / 2)


def outputs_of(mechanism: nodes.Mechanism, scenario: Scenario, *, runs: int) -> list[Seen]:
    """Outputs of `runs` runs on D and as many on D', one for each shape, the most frequent first."""
    first: dict[object, Seen] = {}
    counts: dict[object, int] = {}
    for side, data in enumerate((scenario.data, scenario.data_prime)):
        random = Random(f"0/{side}")
        inputs = {**dict(scenario.parameters), **dict(data)}
        for _ in range(runs):
            try:
                for seen in _seen(mechanism, inputs, scenario.applied(mechanism), random):
                    first.setdefault(seen.shape, seen)
                    counts[seen.shape] = counts.get(seen.shape, 0) + 1
            except _Endless:
                break
    return sorted(first.values(), key=lambda seen: -counts[seen.shape])


def numbers_seen(
    mechanism: nodes.Mechanism, scenario: Scenario, event: CompleteOutput, *, runs: int
) -> dict[tuple[int, str], list[tuple[Number, bool]]]:
    """The numbers that runs on D and D' release where an event leaves fields free, each once, in no order;
    with whether it is continuous.
    """
    found: dict[tuple[int, str], dict[tuple[Number, bool], None]] = {}
    tags = [record.tag for record in event.records]
    named = [{name for name, _ in record.fields} for record in event.records]
    for side, data in enumerate((scenario.data, scenario.data_prime)):
        random = Random(f"numbers/{side}")
        inputs = {**dict(scenario.parameters), **dict(data)}
        for _ in range(runs):
            with suppress(_Endless):
                for seen in _seen(mechanism, inputs, scenario.applied(mechanism), random):
                    if [record.tag for record in seen.records[: len(tags)]] != tags:
                        continue
                    for place, record in enumerate(seen.records[: len(tags)]):
                        for name, value in record.fields:
                            if name not in named[place] and not isinstance(value, bool):
                                held = found.setdefault((place, name), {})
                                held[value, (place, name) in seen.continuous] = None
    return {key: list(held) for key, held in found.items()}


def free_numbers(mechanism: nodes.Mechanism, event: Event) -> int:
    """How many numbers an event leaves free in its records."""
    if not isinstance(event, CompleteOutput):
        return 0
    fields = {s.tag: len(s.fields) for s in statements_in(mechanism.body) if isinstance(s, nodes.Emit)}
    return sum(fields[record.tag] - len(record.fields) for record in event.records)


class _Endless(Exception):  # noqa: N818 - it is an answer
    """A run was cut off: others will be, too."""


def _seen(
    mechanism: nodes.Mechanism,
    inputs: dict[str, interpreter.Input],
    functions: dict[str, interpreter.Function],
    random: Random,
) -> Iterator[Seen]:
    drawn = _Noise(random)
    try:
        run = _run(mechanism, inputs, functions, drawn)
        if isinstance(run.ended, interpreter.Fault):
            yield Seen((), frozenset(), raised=True)
        if isinstance(run.ended, interpreter.StepLimit):
            raise _Endless
        if not isinstance(run.ended, interpreter.Finished):
            return
        again = _run(mechanism, inputs, functions, drawn.moved())
    except (interpreter.Stopped, Undecided, Undefined):
        return
    yield Seen(run.output, frozenset(_moved_fields(run, again)))


def _run(
    mechanism: nodes.Mechanism,
    inputs: dict[str, interpreter.Input],
    functions: dict[str, interpreter.Function],
    noise: _Noise,
) -> interpreter.Run:
    return interpreter.Machine(
        mechanism, inputs, noise.draw, _STEPS, functions=functions, densities=noise.draw_by_density
    ).run()


def _moved_fields(run: interpreter.Run, again: interpreter.Run) -> Iterator[tuple[int, str]]:
    for place, (record, other) in enumerate(zip(run.output, again.output, strict=False)):
        if record.tag != other.tag:
            return
        for (name, value), (_, after) in zip(record.fields, other.fields, strict=False):
            if not isinstance(value, bool) and not isinstance(after, bool) and not exact.same(value, after):
                yield place, name


class _Noise:
    """Draws in the order in which a run asks for them; `moved` repeats them, the continuous ones moved."""

    def __init__(self, random: Random, repeated: tuple[tuple[Number, bool], ...] = ()) -> None:
        self._random = random
        self._repeated = repeated
        self._made: list[tuple[Number, bool]] = []
        # Now and then all is quiet but for one draw: rare noise in every place at once hides what one does.
        self._quiet = random.random() < 0.5
        self._loud = random.choice((1, 1, 1, 4))

    def moved(self) -> _Noise:
        return _Noise(self._random, tuple(self._made))

    def draw(self, site: interpreter.DrawSite) -> Number:
        """A `Noise`."""
        return self._next(not site.family.discrete, lambda: self._fresh(site))

    def draw_by_density(
        self, statement: nodes.Choose | nodes.Logistic, scope: interpreter.RunScope
    ) -> Number:
        """A `DensitySource`."""
        return self._next(isinstance(statement, nodes.Logistic), lambda: self._by_density(statement, scope))

    def _next(self, continuous: bool, fresh: Callable[[], Number]) -> Number:
        place = len(self._made)
        if place < len(self._repeated):
            value, was_continuous = self._repeated[place]
            if was_continuous:
                value = exact.add(value, _NEAR * Fraction(place + 3, place + 5))
        else:
            value = fresh()
        self._made.append((value, continuous))
        return value

    def _size(self) -> int:
        if self._quiet and self._random.random() < 0.7:
            return 0
        return self._random.choice(_SIZES) * self._loud

    def _fresh(self, site: interpreter.DrawSite) -> Number:
        size = Fraction(self._size())
        if not site.family.discrete:
            size += Fraction(self._random.randint(1, _JITTER), 4 * _JITTER)
        if site.family.one_sided:
            size = abs(size) % 1 if site.family.bounded else abs(size)
        if site.family.coin:
            return size % 2
        match site.family.row.lattice:
            case Lattice.NONE:
                return size * exact.rational_below(site.args[0], _FINE)
            case Lattice.WHOLE:
                return size
            case Lattice.STEP:
                return exact.multiply(size, site.args[1])

    def _by_density(self, statement: interpreter.ByDensity, scope: interpreter.RunScope) -> Number:
        if isinstance(statement, nodes.Choose):
            indices = [index for index, _ in log_weights(statement.weights, scope)]
            return Fraction(self._random.choice(indices))
        size = self._size() + Fraction(self._random.randint(1, _JITTER), 4 * _JITTER)
        if statement.low is None:
            return exact.rational_below(interpreter.number_of(statement.location, scope), _FINE) + size
        return exact.rational_below(interpreter.number_of(statement.low, scope), _FINE) + abs(size)

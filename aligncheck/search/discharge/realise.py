"""Noise with which called mechanisms release what a counterexample wants of them, if there is any.

A model of the solver fixes some of what calls release, and the callees' theorems say little of that: maybe no
noise makes it happen. Here they are run exactly on what they are given, with noise that makes them release
what is wanted. Where nothing is wanted, they run without noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from aligncheck.effort import Effort
from aligncheck.language.syntax.nodes import Choose, Mechanism
from aligncheck.language.syntax.walk import has_densities
from aligncheck.meaning import exact
from aligncheck.meaning.exact import ZERO, Number, Value
from aligncheck.meaning.interpreter import (
    STEP_LIMIT,
    ByDensity,
    CallKey,
    CallSite,
    CallSource,
    EmittedRecord,
    Input,
    Machine,
    RunScope,
    Stopped,
    at_each_index,
)
from aligncheck.meaning.scenario import (
    CallNoise,
    Scenario,
    ScenarioError,
    execute,
    numbers_of,
    possible,
    simplest,
)
from aligncheck.search.discharge.algebra import canonical
from aligncheck.search.discharge.smt import Answer, Smt
from aligncheck.search.discharge.values import near, value_of
from aligncheck.search.obligations.composition import called_in
from aligncheck.search.obligations.obligation import run_on_d
from aligncheck.search.relational.analysis import unrolled
from aligncheck.search.relational.callees import AlignedCall
from aligncheck.search.relational.ir import FALSE, Term, TermSort, Truth, const, eq, iff, sort_of
from aligncheck.search.relational.maxima import UnsupportedError
from aligncheck.search.relational.path_state import Unroll
from aligncheck.search.relational.paths import Segment, TooManyPathsError
from aligncheck.search.relational.theory import Ground, Grounding, Theory

_PATHS = 200
_RUNS = 200
_MILLISECONDS = 1_000

Model = Mapping[Term, Fraction | bool]


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of one record: its tag (None for any), and values of fields."""

    tag: str | None
    fields: tuple[tuple[str, Value], ...]

    def granted(self, record: EmittedRecord) -> bool:
        """Whether a record is as wanted."""
        values = dict(record.fields)
        return self.tag in (None, record.tag) and all(
            name in values and exact.same(values[name], value) for name, value in self.fields
        )


Wishes = Mapping[CallKey, tuple[Wish, ...] | None]
"""The records wanted of each execution of a call; None where any will do."""


class Unrealised(Exception):  # noqa: N818 - it says that nothing was found, which is no error
    """No noise was found with which the callees release what is wanted."""


def wishes(theory: Theory, path: Segment, model: Model) -> dict[CallKey, tuple[Wish, ...] | None]:
    """What a model fixes of the records that the calls on a path release."""
    return dict(_wished(theory, event, dict(model)) for event in called_in(path))


def _wished(theory: Theory, event: AlignedCall, model: Model) -> tuple[CallKey, tuple[Wish, ...] | None]:
    records = theory.records(event)

    def fixed(term: Term) -> Fraction | bool | None:
        return value_of(near(term), model)

    key = event.name, int(fixed(event.number) or 0)
    size = fixed(records.how_many())
    if size is None:
        return key, None
    found: list[Wish] = []
    for place in map(const, range(int(size))):
        tag = next((t for t in records.tags if fixed(records.has(t, place)) is True), None)
        names = records.fields(tag) if tag is not None else []
        values = ((name, fixed(records.value(name, place))) for name in names)
        found.append(Wish(tag, tuple((name, value) for name, value in values if value is not None)))
    return key, tuple(found)


def realised(mechanism: Mechanism, scenario: Scenario, wanted: Wishes, effort: Effort) -> Scenario:
    """The scenario with noise of all callees, so that on D they release what is wanted, as far as possible.

    Raises Unrealised where none was found with such an effort, `ScenarioError` and
    `Undecided` as a replay does.
    """
    if not mechanism.uses:
        return scenario
    given = numbers_of(scenario.noise)
    found: dict[CallKey, CallNoise] = {}
    Machine(
        mechanism,
        {**dict(scenario.parameters), **dict(scenario.data)},
        lambda site: given.get(site.key, ZERO),
        STEP_LIMIT,
        call_source=_granting(wanted, found, effort),
        functions=scenario.applied(mechanism),
    ).run()
    return replace(scenario, calls=tuple(found.items()))


def _granting(wanted: Wishes, found: dict[CallKey, CallNoise], effort: Effort) -> CallSource:
    """Runs the callees with noise that makes them release what is wanted; notes it in `found`."""

    def source(site: CallSite) -> tuple[EmittedRecord, ...]:
        records = wanted.get(site.key)
        noise = CallNoise() if records is None else _noise_for(site, records, effort)
        if noise is None:
            raise Unrealised
        found[site.key] = noise
        return execute(site, noise)

    return source


def _noise_for(site: CallSite, records: tuple[Wish, ...], effort: Effort) -> CallNoise | None:
    """Noise with which a callee releases these records, or others that are close, or None where none was
    found.
    """
    callee, given = site.contract.mechanism, dict(site.given)
    numbers = [v for value in given.values() for v in (value if isinstance(value, tuple) else (value,))]
    if not all(isinstance(v, bool | Fraction) for v in numbers):
        return None
    if has_densities(callee.body):
        return _first(_drawn(site, wanted, effort) for wanted in _weaker(records))
    public = Theory(callee)
    scalars = {n: v for n, v in given.items() if not isinstance(v, tuple) and not public.is_private(n)}
    lengths = {n: len(v) for n, v in given.items() if isinstance(v, tuple)}
    ground: dict[str, Ground] = {n: v for n, v in scalars.items() if isinstance(v, bool | Fraction)}
    rounds = max([*lengths.values(), len(records), 0])
    try:
        theory = Theory(callee, Grounding(ground, lengths))
        known = [fact for name, value in given.items() for fact in _known(theory, name, value)]
        paths = unrolled(theory, Unroll(rounds + 2, _PATHS, effort)).paths
    except (TooManyPathsError, UnsupportedError, ZeroDivisionError):
        return None
    smt = Smt(theory, whole=True, effort=effort)
    return _first(
        _on_path(site, wanted, path, known, smt, effort) for wanted in _weaker(records) for path in paths
    )


def _first(tried: Iterable[CallNoise | None]) -> CallNoise | None:
    return next((noise for noise in tried if noise is not None), None)


def _weaker(records: tuple[Wish, ...]) -> Iterator[tuple[Wish, ...]]:
    """These wishes, then those for the values of one field only, then those for the tags only: a model fixes
    more than what matters. Whatever is granted, the run is a real one.
    """
    yield records
    names = dict.fromkeys(name for wish in records for name, _ in wish.fields)
    kept = [{name} for name in names] if len(names) > 1 else []
    for some in [*kept, set[str]()] if names else []:
        yield tuple(Wish(w.tag, tuple((n, v) for n, v in w.fields if n in some)) for w in records)


def _drawn(site: CallSite, records: tuple[Wish, ...], effort: Effort) -> CallNoise | None:
    """The same for a callee that draws by densities: any index of a set may be chosen, and any number above
    the bound of a cut be drawn; numbers that are wanted of the records are tried.
    """
    held = [value for wish in records for _, value in wish.fields if isinstance(value, Fraction)]
    script: list[int] = []
    for _ in range(_RUNS):
        effort.spend(1)
        if effort.is_over:
            return None
        taken: list[tuple[int, int]] = []
        values: list[tuple[str, Number]] = []
        source = partial(_chosen, script, taken, values, held)
        done = Machine(
            site.contract.mechanism, dict(site.given), lambda _: ZERO, STEP_LIMIT, densities=source
        ).run()
        if _granted(done.output, records):
            return CallNoise(drawn=tuple(values))
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        if not taken:
            return None
        script = [place for place, _ in taken[:-1]] + [taken[-1][0] + 1]
    return None


def _chosen(
    script: list[int],
    taken: list[tuple[int, int]],
    values: list[tuple[str, Number]],
    held: list[Fraction],
    statement: ByDensity,
    scope: RunScope,
) -> Number:
    """The next value by the script, the first one where that has ended; `taken` notes it, of how many."""
    options: list[Number] = (
        [Fraction(index) for index, _ in at_each_index(statement.weights, scope)]
        if isinstance(statement, Choose)
        else [*(value for value in held if possible(statement, value, scope)), simplest(statement, scope)]
    )
    place = script[len(taken)] if len(taken) < len(script) else 0
    taken.append((place, max(len(options), 1)))
    value = options[place] if options else simplest(statement, scope)
    values.append((statement.name, value))
    return value


def _granted(output: tuple[EmittedRecord, ...], records: Iterable[Wish]) -> bool:
    wanted = tuple(records)
    return len(output) == len(wanted) and all(w.granted(r) for w, r in zip(wanted, output, strict=True))


def _known(theory: Theory, name: str, value: Input) -> list[Term]:
    """That the inputs are what was given."""
    if isinstance(value, tuple):
        return [_equal(theory.entry(name, const(i), False), v) for i, v in enumerate(value)]
    return [_equal(theory.answer(name, None, False), value)] if theory.is_private(name) else []


def _equal(term: Term, value: Value) -> Term:
    other: Term = Truth(value) if isinstance(value, bool) else const(Fraction(str(value)))
    return (iff if sort_of(term) is TermSort.BOOL else eq)(term, other)


def _on_path(
    site: CallSite, records: tuple[Wish, ...], path: Segment, known: list[Term], smt: Smt, effort: Effort
) -> CallNoise | None:
    emitted = path.emissions()
    if len(emitted) != len(records) or effort.is_over:
        return None
    wanted = [*known, *run_on_d(path)]
    for emission, wish in zip(emitted, records, strict=True):
        values = {name: pair.left for name, pair, _ in emission.fields}
        if wish.tag not in (None, emission.tag) or any(name not in values for name, _ in wish.fields):
            return None
        wanted += [_equal(values[name], value) for name, value in wish.fields]
    facts = [canonical(near(t)) for t in wanted]
    if FALSE in facts:
        return None
    reply = smt.satisfiable(facts, _MILLISECONDS)
    if reply.answer is not Answer.INVALID or reply.model is None:
        return None
    noise: dict[tuple[str, int | None], Value] = {}
    for drawing in path.drawings():
        model: dict[Term, Fraction | bool] = {drawing.left.symbol: Fraction(0), **reply.model}
        value = value_of(near(drawing.left.value), model)
        place = None if drawing.index is None else value_of(drawing.index.left, reply.model)
        if value is not None:
            noise[drawing.name, None if place is None else int(place)] = Fraction(value)
    inner: dict[CallKey, CallNoise] = {}
    wanted_inside = wishes(smt.theory, path, reply.model)
    try:
        plain = CallNoise(tuple(noise.items()))
        output = execute(site, plain, inner=_granting(wanted_inside, inner, effort))
    except (ScenarioError, Unrealised, Stopped):
        return None
    return replace(plain, calls=tuple(inner.items())) if _granted(output, records) else None

"""Noise with which called mechanisms release what a counterexample wants of them, if there is any.

A model of the solver fixes some of what calls release, and the callees' theorems say little of that: maybe no
noise makes it happen. Here they are run exactly on what they are given, with noise that makes them release
what is wanted. Where nothing is wanted, they run without noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial

from aligncheck.effort import Effort
from aligncheck.kernel.answer import Reject
from aligncheck.kernel.terms import Term
from aligncheck.kernel.witness import Witness
from aligncheck.language.syntax.nodes import Choose, Mechanism, Queries
from aligncheck.language.syntax.walk import has_densities
from aligncheck.meaning.exact import ZERO, Number
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
    machine_on_d,
    possible,
    simplest,
)
from aligncheck.search.failing.models import Models, Wish
from aligncheck.search.failing.trial import SURE, Course, trial
from aligncheck.search.witness.sorting import with_sorts

_RUNS = 200

Wishes = Mapping[CallKey, tuple[Wish, ...] | None]
"""The records wanted of each execution of a call; None where any will do."""
Callees = dict[object, Models | None]
"""What may happen in callees, by their paths, parameters and sizes; None where it was not found out."""


class Unrealised(Exception):  # noqa: N818 - it says that nothing was found, which is no error
    """No noise was found with which the callees release what is wanted."""


def realised(
    mechanism: Mechanism, scenario: Scenario, wanted: Wishes, effort: Effort, known: Callees
) -> Scenario:
    """The scenario with noise of all callees, so that on D they release what is wanted, as far as possible.
    What is found out of callees is kept in `known`.

    Raises Unrealised where none was found with such an effort, `ScenarioError` and
    `Undecided` as a replay does.
    """
    if not mechanism.uses:
        return scenario
    found: dict[CallKey, CallNoise] = {}
    machine_on_d(mechanism, scenario, STEP_LIMIT, _granting(wanted, found, effort, known)).run()
    return replace(scenario, calls=tuple(found.items()))


def _granting(wanted: Wishes, found: dict[CallKey, CallNoise], effort: Effort, known: Callees) -> CallSource:
    """Runs the callees with noise that makes them release what is wanted; notes it in `found`."""

    def source(site: CallSite) -> tuple[EmittedRecord, ...]:
        records = wanted.get(site.key)
        noise = CallNoise() if records is None else _noise_for(site, records, effort, known)
        if noise is None:
            raise Unrealised
        found[site.key] = noise
        return execute(site, noise)

    return source


def _noise_for(site: CallSite, records: tuple[Wish, ...], effort: Effort, known: Callees) -> CallNoise | None:
    """Noise with which a callee releases these records, or others that are close, or None where none was
    found.
    """
    callee, given = site.contract.mechanism, dict(site.given)
    numbers = [v for value in given.values() for v in (value if isinstance(value, tuple) else (value,))]
    if not all(isinstance(v, bool | Fraction) for v in numbers):
        return None
    if has_densities(callee.body):
        return _first(_drawn(site, wanted, effort) for wanted in _weaker(records))
    private = {x for i in callee.inputs if isinstance(i, Queries) for x in i.names}
    plain = {x: v for x, v in given.items() if isinstance(v, bool | Fraction) and x not in private}
    sizes = {x: len(v) for x, v in given.items() if isinstance(v, tuple)}
    most = max([*sizes.values(), len(records), 0]) + 2
    key = (site.contract.source.path, *plain.items(), *sizes.items(), most)
    if key not in known:
        try:
            known[key] = Models(trial(callee, with_sorts(callee, Witness()), plain, sizes, most, effort))
        except (Reject, ZeroDivisionError, RecursionError):
            known[key] = None
    models = known[key]
    if models is None:
        return None
    models.trial.effort = effort
    given_here = list(_given(models, given, private))
    return _first(
        _on_way(site, wanted, way, given_here, models, effort, known)
        for wanted in _weaker(records)
        for way in models.trial.complete
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
            site.contract.mechanism,
            dict(site.given),
            lambda _: ZERO,
            STEP_LIMIT,
            functions=site.functions,
            densities=source,
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


def _given(models: Models, given: Mapping[str, Input], private: set[str]) -> Iterator[Term]:
    """That the inputs are what was given."""
    t = models.trial
    for name, value in given.items():
        entries = value if isinstance(value, tuple) else (value,) if name in private else ()
        for at, one in enumerate(entries):
            yield t.lists[name][0](t.symbols.integer(at)) == models.number(one)


def _on_way(
    site: CallSite,
    records: tuple[Wish, ...],
    way: Course,
    given: list[Term],
    models: Models,
    effort: Effort,
    known: Callees,
) -> CallNoise | None:
    if len(way.tags) != len(records) or effort.is_over:
        return None
    t, wanted = models.trial, list(given)
    for at, wish in enumerate(records):
        if wish.tag not in (None, way.tags[at]):
            return None
        for name, value in wish.fields:
            if name not in t.out.fields or way.tags[at] not in t.out.having[name]:
                return None
            wanted.append(t.out.fields[name](t.symbols.integer(at)) == models.number(value))
    formulas = [*models.facts([f for f in way.facts if f.kind in SURE]), *map(models.formula, wanted)]
    model = models.model(formulas)
    found = None if model is None else models.scenario(model, way)
    if model is None or found is None:
        return None
    inner: dict[CallKey, CallNoise] = {}
    plain = CallNoise(found.noise)
    try:
        output = execute(site, plain, inner=_granting(models.wishes(model, way), inner, effort, known))
    except (ScenarioError, Unrealised, Stopped):
        return None
    return replace(plain, calls=tuple(inner.items())) if _granted(output, records) else None

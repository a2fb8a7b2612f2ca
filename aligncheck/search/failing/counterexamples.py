"""The search for a small concrete violation, where the kernel does not accept.

Bounded and incomplete on purpose: parameters, lengths and rounds are small numbers here. It never makes a
proof; it only turns "not shown" into a run that a person can follow. `replay` must confirm every run before
it is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice, product
from random import Random
from typing import Any

import z3

from aligncheck.effort import Effort
from aligncheck.kernel.answer import Reject
from aligncheck.kernel.logic import Kind
from aligncheck.kernel.terms import Term
from aligncheck.kernel.witness import Witness
from aligncheck.language.conditions import Condition
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.nodes import Mechanism, Parameter
from aligncheck.language.syntax.walk import conjuncts_of, names_in, shifts_in, subexpressions
from aligncheck.meaning.alignment import Alignment, run_on_d
from aligncheck.meaning.choices import Ground, allowed, constants_of
from aligncheck.meaning.exact import Number, Undecided, add
from aligncheck.meaning.interpreter import (
    STEP_LIMIT,
    EmittedRecord,
    Fault,
    Invoked,
    Run,
    RunScope,
    StepLimit,
    Stopped,
    truth_of,
)
from aligncheck.meaning.replay import Replay, aligned, beside, replay, same_output
from aligncheck.meaning.scenario import Scenario, ScenarioError
from aligncheck.search.failing.draws import draws_are_told
from aligncheck.search.failing.models import LIMITS, Models
from aligncheck.search.failing.realise import Callees, Unrealised, realised
from aligncheck.search.failing.sample import scenarios, shorter_scenarios, simpler_scenarios
from aligncheck.search.failing.trial import Asked, Course, moved_lines, tells_numbers, trial
from aligncheck.verdict import Counterexample

_REALS = (Fraction(1), Fraction(0), Fraction(2), Fraction(1, 2), Fraction(4), Fraction(1, 4), Fraction(-1))
INTEGERS = (Fraction(1), Fraction(2), Fraction(0), Fraction(3), Fraction(-1))
_LENGTHS = (1, 2, 3, 0, 4)
_GROUNDINGS = 8
"""So many choices of parameters are tried at each length."""
_SIZES = 3
"""At so many of them before anything is proved, or where draws alone are asked for."""
_NUMBERS = 2
"""So many with a number of the program are tried besides."""
_CHOICE = 4
"""Among so many possible violations the one with the smallest numbers is shown."""
_OPEN = 2
"""Where the solver gives up so many questions about a condition, it is not asked of other inputs."""
_TURNS = 3
"""Of so many models of one question a run may turn out to violate nothing."""
_FIRST, _TRYING = 0.5, 0.7
"""The shares of the time that is left for questions to the solver about the first condition, and for runs
tried at random; in the rest all other conditions are asked about.
"""
_STANDS_FOR = {
    Condition.DEFINED: (Condition.DEFINED, Condition.INJECTIVE),
    Condition.ACYCLIC: (Condition.INJECTIVE, Condition.ACYCLIC),
}
"""What is asked about first where the kernel stopped at a condition, by which it shows several."""
_OTHERS = (
    Condition.DEFINED,
    Condition.FRESH,
    Condition.INJECTIVE,
    Condition.SUPPORT,
    Condition.CALLS,
    Condition.OUTPUT,
    Condition.COST,
    Condition.INVARIANT,
)
"""What is asked about wherever the kernel stopped. It does not need the literal conditions ii, iii and v of
the lemma, so that runs that violate these tell something only where it stopped there.
"""
_ROUNDS, _TRIES, _FOR_EACH, _CHOICES = 4, 10, 12, 60
"""How often all lengths are tried; how many runs each time with each of the two simplest choices of
parameters; and how many more for each entry, with a choice at random among so many.
"""
_PLACES, _CHANGES, _LEAST = 8, 5, Fraction(1, 10**9)
"""Released numbers are changed by so many quarters at most, and there by so many small amounts, of which this
is the least.
"""
_OF_A_RUN = 3
"""The steps of an effort that a pair of runs takes."""
ORDER = (
    Condition.HYPOTHESES,
    Condition.DEFINED,
    Condition.FRESH,
    Condition.SCALES,
    Condition.DRAWS,
    Condition.COUNTABLE,
    Condition.ACYCLIC,
    Condition.INJECTIVE,
    Condition.SUPPORT,
    Condition.CALLS,
    Condition.OUTPUT,
    Condition.COST,
    Condition.TERMINATES,
    Condition.INVARIANT,
)
"""The order in which conditions are looked at: the first that fails names the failure."""
_AT_THE_END = {Condition.OUTPUT, Condition.COST}
"""What complete runs are compared by: of several that are violated, the kernel says which comes first."""
_BEYOND_PROOF = {Condition.SUPPORT, Condition.CALLS, *_AT_THE_END}
"""What holds of all runs where the kernel accepts, beside that none has a fault; what else the lemma asks for
it may do without.
"""
_SMALL: dict[nodes.Sort, tuple[Ground, ...]] = {
    nodes.Sort.BOOL: (True, False),
    nodes.Sort.INT: (Fraction(1), Fraction(1), Fraction(2), Fraction(3), Fraction(0)),
    nodes.Sort.REAL: (Fraction(1), Fraction(1), Fraction(2), Fraction(1, 2), Fraction(4)),
}
_RUNS, _MORE, _DRAWN, _STEPS = 20, 8, 100, 500
"""So many legal runs are looked at before anything is proved, and no more than so many after the first that
violates something, among so many drawn, each of so many steps.
"""
_ENDLESS = 4
"""After more runs that do not end nothing is expected of others."""


@dataclass(frozen=True, slots=True)
class FailingRun:
    """A confirmed violation: the condition, where, in what words, and the runs."""

    condition: Condition
    span: Span
    message: str
    counterexample: Counterexample


def find_violation(
    inputs: SmallInputs,
    first: Condition | None,
    budget: Effort,
    ready: Mapping[Condition, FailingRun] | None = None,
) -> FailingRun | None:
    """A confirmed violation, or None where none was found with such an effort: of the condition `first`, at
    which the kernel stopped, if there is one, and one that is `ready` if it will do.
    """
    mechanism = inputs.mechanism
    conditions = () if first is None else _STANDS_FOR.get(first, (first,))
    found = None
    if first is Condition.OUTPUT:  # by which the kernel shows that the output determines the draws, too
        found = inputs.drawing(budget)
    if found is None:
        found = next((ready[c] for c in conditions if c in ready), None) if ready else None
    if found is None and conditions:
        found = inputs.asked(conditions, budget.share(_FIRST))
    if found is None:
        found = _tried(mechanism, conditions, budget.share(_TRYING))
    if found is None:
        found = inputs.asked(tuple(c for c in _OTHERS if c not in conditions), budget)
    return None if found is None else simplified(mechanism, found)


def shown_by_runs(inputs: SmallInputs, runs: FewRuns, budget: Effort) -> FailingRun | None:
    """What comes first of what a few runs on small inputs violate, if no proof gets around it: a fault that
    ends the run on D, what a call gets, what runs cost, release, or need of the support. Nothing else is
    asked then, but whether it is rather the draws that differ, as two other runs show.
    """
    shown = runs.first()
    if shown is None or (shown.condition in _AT_THE_END and len(runs.violating) > 1):
        return None
    faulty = isinstance(shown.counterexample.replay.run_d.ended, Fault)
    if not faulty and shown.condition not in _BEYOND_PROOF:
        return None
    hidden = inputs.drawing(budget) if shown.condition is Condition.OUTPUT else None
    return hidden or shown


def by_models(inputs: SmallInputs, budget: Effort) -> FailingRun | None:
    """A run that a model of the solver gives, for the simplest inputs of a few sizes, and that no proof gets
    around; on the general route two with one image come first, as there.
    """
    general = inputs.witness.route == "injective"
    first = inputs.asked((Condition.INJECTIVE,), budget, few=1, sizes=_SIZES) if general else None
    return first or inputs.asked(tuple(c for c in ORDER if c in _BEYOND_PROOF), budget, few=1, sizes=_SIZES)


@dataclass(frozen=True, slots=True)
class FewRuns:
    """What a few runs at random show: the first that violates each condition, whether many do not end, and
    whether in one the shifts have no order (`Replay.cycle`), which only the general route allows.
    """

    violating: Mapping[Condition, FailingRun] = field(default_factory=dict)
    endless: bool = False
    cyclic: bool = False

    @classmethod
    def of(cls, replayed: Replay) -> FewRuns:
        """What one run shows."""
        shown = Counterexample(replayed.scenario, replayed)
        each = {v.condition: v for v in reversed(replayed.violations)}
        return cls({c: FailingRun(c, v.span, v.message, shown) for c, v in each.items()})

    @property
    def refuting(self) -> bool:
        """Whether one of them violates what holds wherever the kernel accepts."""
        return not _BEYOND_PROOF.isdisjoint(self.violating)

    def first(self, condition: Condition | None = None) -> FailingRun | None:
        """The one that violates this condition, or else the condition that comes first."""
        order = ORDER if condition is None else (condition, *ORDER)
        return next((self.violating[c] for c in order if c in self.violating), None)


def few_runs(mechanism: Mechanism) -> FewRuns:
    """The same each time."""
    random, found, left, endless, cyclic = Random(0), dict[Condition, FailingRun](), _RUNS, 0, False
    lists = lists_of(mechanism)
    parameters = [item for item in mechanism.inputs if isinstance(item, Parameter)]
    for number in range(_DRAWN):
        values = {item.name: random.choice(_SMALL[item.sort]) for item in parameters}
        lengths = dict.fromkeys(lists, (3, 2, 1)[number % 3])
        scenario = next(scenarios(mechanism, values, lengths, random))
        replayed = _replayed(mechanism, scenario)
        if replayed is None:
            continue
        found = {**FewRuns.of(replayed).violating, **found}
        left = min(left - 1, _MORE) if found else left - 1
        endless += isinstance(replayed.run_d.ended, StepLimit)
        cyclic |= bool(replayed.cycle)
        if left == 0 or endless > _ENDLESS:
            break
    return FewRuns(found, endless > _ENDLESS, cyclic)


@dataclass
class SmallInputs:
    """Small inputs, one after the other; what was run through for some is kept. `any_will_do`: a run that
    violates something, whatever its numbers. `witness` has the route and what is known of callees; `open`
    counts the questions about each condition that the solver gave up.
    """

    mechanism: Mechanism
    witness: Witness
    any_will_do: bool
    known: dict[object, _Search] = field(default_factory=dict)
    open: Counter[Condition] = field(default_factory=Counter)
    callees: Callees = field(default_factory=dict)

    def asked(
        self,
        conditions: tuple[Condition, ...],
        budget: Effort,
        few: int | None = None,
        sizes: int | None = None,
    ) -> FailingRun | None:
        """A violation that a model of the solver gives; with only so many choices of parameters, if `few`,
        and of lengths, if `sizes`.
        """
        for start, end in ((0, 1), (1, few)):  # other lengths tell more than other parameters do
            for lengths in islice(_all_lengths(self.mechanism), sizes):
                for parameters in islice(self._parameters(lengths), start, end):
                    left = tuple(c for c in conditions if self.open[c] < _OPEN)
                    if budget.is_over or not left:
                        return None
                    search = self._search(parameters, lengths, kept=start == 0)
                    found = search.first(left, budget)
                    if found is not None or search.endless:
                        return found
        return None

    def _search(self, parameters: Mapping[str, Ground], lengths: Mapping[str, int], kept: bool) -> _Search:
        key = (*parameters.items(), *lengths.items())
        search = self.known.get(key) or _Search(self, parameters, lengths)
        if kept:
            self.known[key] = search
        return search

    def drawing(self, budget: Effort) -> FailingRun | None:
        """Draws that the output does not determine, asked for only where the tags leave them open."""
        if draws_are_told(self.mechanism.body):
            return None
        return self.asked((Condition.DRAWS,), budget.share(_FIRST), few=1, sizes=_SIZES)

    def _parameters(self, lengths: Mapping[str, int]) -> Iterator[dict[str, Ground]]:
        yield from islice(groundings(self.mechanism, lengths, INTEGERS), _GROUNDINGS)
        beyond = (Fraction(max(lengths.values(), default=0) + 1),)
        yield from islice(groundings(self.mechanism, lengths, beyond), 1)
        yield from islice(_at_constants(self.mechanism, lengths), _NUMBERS)


def _tried(mechanism: Mechanism, conditions: tuple[Condition, ...], budget: Effort) -> FailingRun | None:
    """A violation that turns up among random runs, of these conditions if there is one: of selections among
    many answers most go wrong somewhere, while their formulas are long. None where runs do not end.
    """
    random = Random(0)
    other: FailingRun | None = None
    endless = 0
    for _ in range(_ROUNDS):
        for lengths in _all_lengths(mechanism):
            known = list(islice(groundings(mechanism, lengths, INTEGERS), _CHOICES))
            chosen = [(parameters, _TRIES) for parameters in known[:2]]
            chosen += [
                (random.choice(known), 1)
                for _ in range(_FOR_EACH * max(lengths.values(), default=1) if known[2:] else 0)
            ]
            for parameters, tries in chosen:
                for scenario in islice(scenarios(mechanism, parameters, lengths, random), tries):
                    replayed = _replayed(mechanism, scenario)
                    budget.spend(_OF_A_RUN)
                    if replayed is None:
                        continue
                    endless += isinstance(replayed.run_d.ended, StepLimit)
                    found = _violation_in(replayed, (*conditions, *ORDER))
                    if found is not None and (not conditions or found.condition in conditions):
                        return found
                    other = other or found
                    if budget.is_over or endless > _ENDLESS:
                        return other
    return other


def simplified(mechanism: Mechanism, found: FailingRun) -> FailingRun:
    """The same violation with as few entries, as many zeros and as few moves as one pass over the entries and
    one over the numbers can bring about, if one run shows it that is not long.
    """
    again = _replayed(mechanism, found.counterexample.scenario)
    if found.counterexample.second is not None or again is None or not again.violations:
        return found
    for steps in (shorter_scenarios, simpler_scenarios):
        for simpler in steps(found.counterexample.scenario):
            before = found.counterexample.scenario
            after = simpler(before)
            replayed = None if after == before else _replayed(mechanism, after)
            other = None if replayed is None else _violation_in(replayed, (found.condition,))
            found = other if other is not None and other.span == found.span else found
    return found


def _replayed(mechanism: Mechanism, scenario: Scenario) -> Replay | None:
    """What a scenario shows within so many steps; None where it is not legal, or too hard."""
    try:
        return replay(mechanism, scenario, _STEPS)
    except (ScenarioError, Undecided):
        return None


def _violation_in(replayed: Replay, conditions: tuple[Condition, ...]) -> FailingRun | None:
    """What a run shows of the first of these conditions that it violates."""
    known = FewRuns.of(replayed).violating
    return next((known[c] for c in conditions if c in known), None)


# --- inputs -----------------------------------------------------------------------------------------------


def lists_of(mechanism: Mechanism) -> list[str]:
    """The inputs that are lists."""
    found: list[str] = []
    for item in mechanism.inputs:
        match item:
            case nodes.PublicVector(name=name):
                found.append(name)
            case nodes.Queries(vector=True, names=names):
                found += names
            case nodes.Queries() | Parameter():
                pass
    return found


def _all_lengths(mechanism: Mechanism) -> Iterator[dict[str, int]]:
    """Small lengths, first those at which all lists are equally long."""
    vectors = lists_of(mechanism)
    if not vectors:
        yield {}
        return
    yield from (dict.fromkeys(vectors, length) for length in _LENGTHS)
    for lengths in product(_LENGTHS[:2], repeat=min(len(vectors), 4)):
        if len(set(lengths)) > 1:
            yield {**dict.fromkeys(vectors, 1), **dict(zip(vectors, lengths, strict=False))}


def groundings(
    mechanism: Mechanism, lengths: Mapping[str, int], integers: tuple[Fraction, ...]
) -> Iterator[dict[str, Ground]]:
    """Small parameter values that satisfy the `where` clauses at these lengths, the simplest first; whole
    numbers are among `integers`. Where the declared ranges hold none of these, Z3 gives others.
    """
    parameters = [item for item in mechanism.inputs if isinstance(item, Parameter)]
    usual = {p.name: _pool(p, integers) for p in parameters}
    empty = True
    for values in _possible_among(mechanism, lengths, usual):
        empty = False
        yield values
    if empty:
        ranges = list(allowed(mechanism, lengths, {}))
        pools = {
            name: tuple(dict.fromkeys((*(v[name] for v in ranges), *pool))) for name, pool in usual.items()
        }
        yield from _possible_among(mechanism, lengths, pools)


def _possible_among(
    mechanism: Mechanism, lengths: Mapping[str, int], pools: Mapping[str, Sequence[Ground]]
) -> Iterator[dict[str, Ground]]:
    """Those choices from some pools that satisfy the `where` clauses, the simplest first."""
    ranked = sorted(
        product(*(range(len(p)) for p in pools.values())),
        key=lambda ranks: (sum(ranks), max(ranks, default=0)),
    )
    for ranks in islice(ranked, 4000):
        values = {name: pool[rank] for (name, pool), rank in zip(pools.items(), ranks, strict=True)}
        if _is_possible(mechanism, lengths, values):
            yield values


def _is_possible(mechanism: Mechanism, lengths: Mapping[str, int], values: Mapping[str, Ground]) -> bool:
    """Whether parameters and lengths alone break no clause."""
    empty = {x: (Fraction(0),) * size for x, size in lengths.items()}
    scope = RunScope({**values, **empty})
    private = {x for i in mechanism.inputs for x in (i.names if isinstance(i, nodes.Queries) else ())}
    private -= lengths.keys()
    for item in mechanism.inputs:
        for clause in conjuncts_of(item.where):
            read = {e.base for e in subexpressions(clause) if isinstance(e, nodes.Index)}
            if read or names_in(clause) & private or not names_in(clause) <= {*values, *lengths}:
                continue
            try:
                if not truth_of(clause, scope):
                    return False
            except (Stopped, Undecided):
                return False
    return True


def _at_constants(mechanism: Mechanism, lengths: Mapping[str, int]) -> Iterator[dict[str, Ground]]:
    """Parameter values of which one is a number that the program compares something with."""
    plain = next(groundings(mechanism, lengths, INTEGERS), None)
    for p in mechanism.inputs if plain is not None else ():
        if isinstance(p, Parameter) and p.sort is not nodes.Sort.BOOL:
            for number in constants_of(mechanism):
                values = {**plain, p.name: number} if plain is not None else {}
                usual = number in _pool(p, INTEGERS)
                whole = p.sort is nodes.Sort.REAL or number.denominator == 1
                if whole and not usual and _is_possible(mechanism, lengths, values):
                    yield values


def _pool(parameter: Parameter, integers: tuple[Fraction, ...]) -> tuple[Ground, ...]:
    match parameter.sort:
        case nodes.Sort.BOOL:
            return (True, False)
        case nodes.Sort.INT:
            return integers
        case nodes.Sort.REAL:
            return _REALS[:5]


# --- models -----------------------------------------------------------------------------------------------


@dataclass
class _Search:
    """For fixed parameters and lengths."""

    inputs: SmallInputs
    numbers: Mapping[str, Ground]
    lengths: Mapping[str, int]
    budget: Effort = field(default_factory=Effort)
    by_route: dict[str, Models | None] = field(default_factory=dict)
    without: set[tuple[str, Condition]] = field(default_factory=set)

    def first(self, conditions: tuple[Condition, ...], budget: Effort) -> FailingRun | None:
        """The first violation, as small as a few tries can make it."""
        self.budget = budget
        for condition in conditions:
            route = "injective" if condition is Condition.INJECTIVE else self.inputs.witness.route
            if route not in self.by_route:
                self.by_route[route] = self._models(route)
            models = self.by_route[route]
            if models is not None and (route, condition) not in self.without:
                models.trial.effort = budget
                found = self._at(condition, models)
                if found is not None:
                    return found
                if not budget.is_over:
                    self.without.add((route, condition))
        return None

    @property
    def endless(self) -> bool:
        """Whether some run may have no end."""
        return any(m is not None and m.trial.endless for m in self.by_route.values())

    def _models(self, route: str) -> Models | None:
        most = max(self.lengths.values(), default=0) + 2
        witness = replace(self.inputs.witness, route=route)
        try:
            made = trial(self.inputs.mechanism, witness, self.numbers, self.lengths, most, self.budget)
        except (Reject, ZeroDivisionError, RecursionError):
            return None
        return Models(made)

    def _at(self, condition: Condition, models: Models) -> FailingRun | None:
        possible = []
        for one in islice(self._possible(condition, models), _CHOICE):
            found = self._confirmed(condition, models, *one) if self.inputs.any_will_do else None
            if found is not None:
                return found
            possible.append(one)
        found = self._most_readable(condition, possible, models)
        if found is None and condition in (Condition.DRAWS, Condition.SCALES):
            return self._confused(condition, models)
        return found

    def _possible(self, condition: Condition, models: Models) -> Iterator[tuple[list[Term], Course, Any]]:
        """The questions that have a model at all, with one, short ways first."""
        asked = [q for q in models.trial.questions if q.condition == condition.id]
        for q in sorted(asked, key=lambda q: len(q.way.taken) + len(q.way.drawn)):
            formulas = self._formulas(q, models)
            model = models.model(formulas)
            self.inputs.open[condition] += models.gave_up
            if model is not None:
                yield formulas, q.way, model

    def _formulas(self, q: Asked, models: Models) -> list[Term]:
        """That the facts hold, and some goal does not."""
        ways = []
        for known, goal in q.goals:
            ways.append(z3.And(*models.facts(known), z3.Not(models.formula(goal))))
        return [*models.facts(q.facts), ways[0] if len(ways) == 1 else z3.Or(*ways)]

    def _most_readable(
        self, condition: Condition, possible: list[tuple[list[Term], Course, Any]], models: Models
    ) -> FailingRun | None:
        """The confirmed violation with the smallest numbers; a question has so many `_TURNS`."""
        turns = [_TURNS] * len(possible)
        for limits in LIMITS:
            for at, (formulas, way, _) in enumerate(possible):
                model = models.model(formulas, limits) if turns[at] else None
                if model is not None:
                    found = self._confirmed(condition, models, formulas, way, model)
                    if found is not None:
                        return found
                    turns[at] -= 1
        if self.inputs.any_will_do:  # then these were looked at before
            return None
        ways = (self._confirmed(condition, models, *one) for one in possible)
        return next((found for found in ways if found is not None), None)

    # --- what the answer means ----------------------------------------------------------------------------

    def _confirmed(
        self, condition: Condition, models: Models, formulas: list[Term], way: Course, model: Any
    ) -> FailingRun | None:
        models.asked = formulas
        scenario = self._scenario(models, model, way)
        if scenario is None:
            return None
        try:
            if condition is Condition.INJECTIVE:
                return self._two_with_one_image(scenario, models, model, way)
            if condition is Condition.COUNTABLE:
                return self._uncountable(scenario, way)
            replayed = replay(self.inputs.mechanism, scenario)
        except (ScenarioError, Undecided):
            return None
        return _violation_in(replayed, (condition,))

    def _two_with_one_image(
        self, scenario: Scenario, models: Models, model: Any, way: Course
    ) -> FailingRun | None:
        """Both noise vectors give the same output on D and have the same image."""
        other = self._scenario(models, model, way, 2)
        if other is None:
            return None
        first, second = (replay(self.inputs.mechanism, s) for s in (scenario, other))
        if not same_output(first.run_d, second.run_d) or dict(scenario.noise) == dict(other.noise):
            return None
        if aligned(first) != aligned(second) or _calls(first) != _calls(second):
            return None
        lines = moved_lines(self.inputs.mechanism)
        span = next((lines[x].span for x, _ in way.drawn if x in lines), self.inputs.mechanism.span)
        message = "two noise vectors with the same output have the same image under the alignment"
        return FailingRun(Condition.INJECTIVE, span, message, Counterexample(scenario, first, other))

    def _uncountable(self, scenario: Scenario, way: Course) -> FailingRun | None:
        """A shift is another one for each of the values that a released number can have, somewhere; where
        only tests read such a number (beside noise), it is another one for some of them.
        """
        mechanism, drawn = self.inputs.mechanism, {x for x, _ in way.drawn}
        moved = [one for one in shifts_in(mechanism.align) if one.name in drawn]
        lines = [one for one in moved if tells_numbers(one)]
        follows = _follows_release if lines else _hangs_on_release
        line = next((one for one in lines or moved if follows(mechanism, scenario, one.name)), None)
        if line is None:
            return None
        message = "the shift contains a released number: a different alignment for each of its values"
        shown = Counterexample(scenario, replay(mechanism, scenario))
        return FailingRun(Condition.COUNTABLE, line.span, message, shown)

    # --- two runs with one output ---------------------------------------------------------------------------

    def _confused(self, condition: Condition, models: Models) -> FailingRun | None:
        """Two runs on one database with the same output and different numbers of draws, or scales."""
        ways = sorted(models.trial.complete, key=lambda w: len(w.taken) + len(w.drawn))
        for i, p in enumerate(ways):
            for q in ways[i:]:
                if self.budget.is_over:
                    return None
                alike = len(p.drawn) == len(q.drawn)
                if p.tags == q.tags and alike is (condition is Condition.SCALES):
                    found = self._confused_pair(condition, p, q, models)
                    if found is not None:
                        return found
        return None

    def _confused_pair(self, condition: Condition, p: Course, q: Course, models: Models) -> FailingRun | None:
        sure = (Kind.RUN, Kind.TOLD)
        one, two = (models.facts([f for f in w.facts if f.kind in sure]) for w in (p, q))
        other = models.others([*two, *q.scaled])
        formulas = [*one, *models.renamed(two, other)]
        if condition is Condition.SCALES:
            again = models.renamed(q.scaled, other)
            apart = (models.formula(a != b) for a, b in zip(p.scaled, again, strict=True))
            formulas.append(z3.Or(z3.BoolVal(False, formulas[0].ctx), *apart))
        if models.model(formulas) is None:
            return None
        for limits in (None,) if self.inputs.any_will_do else (*LIMITS, None):
            model = models.model(formulas, limits)
            if model is None:
                continue
            pair = self._scenario(models, model, p), self._scenario(models, model, q, 0, other)
            if pair[0] is None or pair[1] is None:
                continue
            try:
                first, second = (replay(self.inputs.mechanism, s) for s in pair if s is not None)
            except (ScenarioError, Undecided):
                continue
            if not same_output(first.run_d, second.run_d):
                continue
            shown = Counterexample(pair[0], first, pair[1])
            if condition is Condition.SCALES:
                return self._rescaled(shown, second.run_d)
            counts = len(first.run_d.draws), len(second.run_d.draws)
            if counts[0] != counts[1]:
                span = _parting(p, q) or self.inputs.mechanism.span
                message = f"the same output after {min(counts)} and after {max(counts)} draws"
                return FailingRun(condition, span, message, shown)
        return None

    def _rescaled(self, shown: Counterexample, second: Run) -> FailingRun | None:
        """The first draw that a second run with the same output makes from another distribution."""
        for a, b in zip(shown.replay.run_d.draws, second.draws, strict=False):
            if a.args != b.args:
                message = f"the scale of `{a.name}` depends on what the output does not show"
                return FailingRun(Condition.SCALES, a.span, message, shown)
        return None

    def _scenario(
        self, models: Models, model: Any, way: Course, run: int = 0, other: Mapping[int, Any] | None = None
    ) -> Scenario | None:
        """The run of a model, with noise of what is called."""
        scenario = models.scenario(model, way, run, other)
        if scenario is None:
            return None
        try:
            return realised(
                self.inputs.mechanism, scenario, models.wishes(model, way), self.budget, self.inputs.callees
            )
        except (Unrealised, ScenarioError, Undecided):
            return None


def _follows_release(mechanism: Mechanism, scenario: Scenario, name: str) -> bool:
    """Whether the shifts of a variable are others for each of a few changes of what is released, by as little
    as one likes, while the noise stays: of a step function they are two at most.
    """
    shifts = _by_release(mechanism, scenario, name)

    def follow(place: Fraction) -> bool:
        found: set[tuple[Number, ...]] = set()
        for change in range(_CHANGES):
            found.add(shifts(place + _LEAST * change**2))
            if len(found) <= change:
                return False
        return True

    return any(map(follow, _places()))


def _hangs_on_release(mechanism: Mechanism, scenario: Scenario, name: str) -> bool:
    """Whether they are others for some change."""
    shifts = _by_release(mechanism, scenario, name)
    return any(shifts(place) != shifts(Fraction(0)) for place in _places())


def _places() -> Iterator[Fraction]:
    """The small ones first."""
    yield from (Fraction(place, 4) for place in sorted(range(-_PLACES, _PLACES + 1), key=abs))


def _by_release(
    mechanism: Mechanism, scenario: Scenario, name: str
) -> Callable[[Fraction], tuple[Number, ...]]:
    """The shifts of a variable where the numbers that are released, as far as they follow continuous noise,
    are changed by so much, and the noise is not. Raises `ScenarioError` and `Undecided`.
    """
    run_d, machine = run_on_d(mechanism, scenario, STEP_LIMIT)
    other = run_on_d(mechanism, next(beside(scenario, run_d)), STEP_LIMIT)[0].output
    if [one.tag for one in run_d.output] != [one.tag for one in other]:
        raise Undecided("noise decides what is released here")

    def shifts(by: Fraction) -> tuple[Number, ...]:
        output = tuple(_changed(one, near, by) for one, near in zip(run_d.output, other, strict=True))
        alignment = Alignment(mechanism, scenario, replace(run_d, output=output), machine, STEP_LIMIT)
        alignment.run()
        return tuple(shift for key, shift in alignment.shifts.items() if key[0] == name)

    return shifts


def _changed(record: EmittedRecord, other: EmittedRecord, by: Fraction) -> EmittedRecord:
    """The record with the numbers changed that are others in another run."""
    pairs = zip(record.fields, other.fields, strict=True)
    return replace(
        record,
        fields=tuple(
            (name, value if isinstance(value, bool) or value == after else add(value, by))
            for (name, value), (_, after) in pairs
        ),
    )


def _calls(replayed: Replay) -> list[Invoked]:
    """Every execution of a callee in both runs: what it was given and released."""
    steps = (*replayed.run_d.steps, *replayed.run_d_prime.steps)
    return [step for step in steps if isinstance(step, Invoked)]


def _parting(p: Course, q: Course) -> Span | None:
    for (place, held), (_, other) in zip(p.taken, q.taken, strict=False):
        if held is not other:
            return place
    return None

"""The search for a small concrete violation, when an obligation was not proved.

Bounded and incomplete on purpose: parameters, lengths and rounds are small numbers here. It never makes a
proof; it only turns "not proved" into a run that a person can follow. `replay` must confirm every run before
it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, islice, product
from random import Random

from aligncheck.effort import Effort
from aligncheck.language.conditions import Condition
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.nodes import Mechanism, Parameter, PublicVector, Queries
from aligncheck.meaning.choices import allowed, constants_of
from aligncheck.meaning.exact import Undecided
from aligncheck.meaning.interpreter import Invoked, Run, StepLimit
from aligncheck.meaning.replay import Replay, aligned, draw_count, replay, same_output
from aligncheck.meaning.scenario import Scenario, ScenarioError
from aligncheck.search.discharge.algebra import canonical
from aligncheck.search.discharge.realise import Unrealised, realised, wishes
from aligncheck.search.discharge.sample import scenarios, simpler_scenarios
from aligncheck.search.discharge.smt import Answer, Smt
from aligncheck.search.discharge.values import near, value_of
from aligncheck.search.obligations import ORDER
from aligncheck.search.obligations.obligation import run_on_d, run_on_d_prime
from aligncheck.search.obligations.on_path import obligations_on
from aligncheck.search.relational.analysis import unrolled
from aligncheck.search.relational.applied import Applied
from aligncheck.search.relational.callees import AlignedCall
from aligncheck.search.relational.ir import (
    FALSE,
    TRUE,
    App,
    Nature,
    Sym,
    Term,
    TermSort,
    and_,
    atoms,
    const,
    eq,
    iff,
    not_,
    or_,
    sort_of,
    substitute,
)
from aligncheck.search.relational.labels import Copy, PublicFunction, RecordField
from aligncheck.search.relational.maxima import UnsupportedError, selection_of
from aligncheck.search.relational.path_state import Unroll
from aligncheck.search.relational.paths import (
    Analysis,
    ArmTaken,
    Assumed,
    Claimed,
    Drawing,
    Emission,
    Required,
    Segment,
    Selected,
    TooManyPathsError,
)
from aligncheck.search.relational.theory import Ground, Grounding, Theory
from aligncheck.verdict import Counterexample

_REALS = (Fraction(1), Fraction(0), Fraction(2), Fraction(1, 2), Fraction(4), Fraction(1, 4), Fraction(-1))
INTEGERS = (Fraction(1), Fraction(2), Fraction(0), Fraction(3), Fraction(-1))
_LENGTHS = (1, 2, 3, 0, 4)
_LIMITS = ((1, 1), (2, 1), (4, 1), (4, 2), (16, 4), (1000, 16))
"""Readable models are asked for within these bounds in turn: (greatest size, denominator)."""
_GROUNDINGS = 8
"""So many choices of parameters are tried at each length."""
_NUMBERS = 2
"""So many with a number of the program are tried besides."""
_PATHS = 400
_CHOICE = 4
"""Among so many possible violations the one with the smallest numbers is shown."""
_MILLISECONDS = 1_000
_FIRST, _TRYING = 0.4, 0.3
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
_ROUNDS, _TRIES = 4, 40
"""How often all lengths are tried, and how many runs each time."""
_OF_A_RUN = 3
"""The steps of an effort that a pair of runs takes."""
_BEYOND_PROOF = {Condition.SUPPORT, Condition.OUTPUT, Condition.COST}
"""What holds of all runs where the kernel accepts; what else the lemma asks for it may do without."""
_SMALL: dict[nodes.Sort, tuple[Ground, ...]] = {
    nodes.Sort.BOOL: (True, False),
    nodes.Sort.INT: (Fraction(1), Fraction(1), Fraction(2), Fraction(3), Fraction(0)),
    nodes.Sort.REAL: (Fraction(1), Fraction(1), Fraction(2), Fraction(1, 2), Fraction(4)),
}
_RUNS, _DRAWN, _STEPS = 20, 100, 500
"""So many legal runs are looked at before anything is proved, among so many drawn, each of so many steps."""
_ENDLESS = 4
"""After more runs that do not end nothing is expected of others."""


@dataclass(frozen=True, slots=True)
class FailingRun:
    """A confirmed violation: the condition, where, in what words, and the runs."""

    condition: Condition
    span: Span
    message: str
    counterexample: Counterexample


def find_violation(mechanism: Mechanism, first: Condition | None, budget: Effort) -> FailingRun | None:
    """A confirmed violation, or None where none was found with such an effort: of the condition `first`, at
    which the kernel stopped, if there is one.
    """
    conditions = () if first is None else _STANDS_FOR.get(first, (first,))
    found = None
    if first is Condition.OUTPUT:  # by which the kernel shows that the output determines the draws, too
        found = _asked(mechanism, (Condition.DRAWS,), budget.share(_FIRST), few=1)
    if found is None and conditions:
        found = _asked(mechanism, conditions, budget.share(_FIRST))
    if found is None:
        found = _tried(mechanism, conditions, budget.share(_TRYING))
    if found is None:
        found = _asked(mechanism, tuple(c for c in _OTHERS if c not in conditions), budget)
    return found


def shown_by_runs(mechanism: Mechanism, budget: Effort) -> FailingRun | None:
    """What a few runs on small inputs violate, if it is one thing, and one that no proof gets around: what
    they cost, release, or need of the support. Nothing else is asked then, but whether it is rather the draws
    that differ.
    """
    found = _violations(mechanism)
    if len(found) != 1 or not found.keys() <= _BEYOND_PROOF:
        return None
    ((condition, shown),) = found.items()
    draws = Condition.DRAWS
    if condition is Condition.OUTPUT and _asked(mechanism, (draws,), budget.share(_FIRST), few=1) is not None:
        return None
    return shown


def _violations(mechanism: Mechanism) -> dict[Condition, FailingRun]:
    """The first run that violates each condition, among a few at random, the same each time."""
    random, found, legal, endless = Random(0), dict[Condition, FailingRun](), 0, 0
    theory = Theory(mechanism)
    lists = [name for name in theory.inputs if theory.is_vector(name)]
    parameters = [item for item in mechanism.inputs if isinstance(item, Parameter)]
    for number in range(_DRAWN):
        values = {item.name: random.choice(_SMALL[item.sort]) for item in parameters}
        lengths = dict.fromkeys(lists, (3, 2, 1)[number % 3])
        scenario = next(scenarios(mechanism, values, lengths, random))
        replayed = _replayed(mechanism, scenario)
        if replayed is None:
            continue
        shown = Counterexample(scenario, replayed)
        for v in replayed.violations:
            found.setdefault(v.condition, FailingRun(v.condition, v.span, v.message, shown))
        legal += 1
        endless += isinstance(replayed.run_d.ended, StepLimit)
        if legal == _RUNS or endless > _ENDLESS:
            break
    return found


def _asked(
    mechanism: Mechanism, conditions: tuple[Condition, ...], budget: Effort, few: int | None = None
) -> FailingRun | None:
    """A violation that a model of the solver gives; with only so many choices of parameters, if `few`."""
    theory = Theory(mechanism)
    for lengths in _all_lengths(theory):
        small = islice(groundings(theory, lengths, INTEGERS), _GROUNDINGS)
        beyond = (Fraction(max(lengths.values(), default=0) + 1),)
        others = (
            islice(groundings(theory, lengths, beyond), 1),
            islice(_at_constants(theory, lengths), _NUMBERS),
        )
        for parameters in islice(chain(small, *others), few):
            if budget.is_over:
                return None
            ground = Theory(mechanism, Grounding(parameters, lengths))
            found = _at(ground, conditions, budget, max(lengths.values(), default=0))
            if found is not None:
                return found
    return None


def _at(ground: Theory, conditions: tuple[Condition, ...], budget: Effort, length: int) -> FailingRun | None:
    """The first violation for fixed parameters and lengths, as small as a few tries can make it."""
    try:
        analysis = unrolled(ground, Unroll(length + 2, _PATHS, budget))
    except (TooManyPathsError, UnsupportedError, ZeroDivisionError):
        return None
    smt = Smt(ground, whole=True, effort=budget)
    found = (_Search(ground, condition, budget, analysis, smt).run() for condition in conditions)
    return next((violation for violation in found if violation is not None), None)


def _tried(mechanism: Mechanism, conditions: tuple[Condition, ...], budget: Effort) -> FailingRun | None:
    """A violation that turns up among random runs, of these conditions if there is one: of selections among
    many answers most go wrong somewhere, while their formulas are long. None where runs do not end.
    """
    theory = Theory(mechanism)
    random = Random(0)
    other: FailingRun | None = None
    endless = 0
    for _ in range(_ROUNDS):
        for lengths in _all_lengths(theory):
            for parameters in islice(groundings(theory, lengths, INTEGERS), 2):
                for scenario in islice(scenarios(mechanism, parameters, lengths, random), _TRIES):
                    replayed = _replayed(mechanism, scenario)
                    budget.spend(_OF_A_RUN)
                    if replayed is None:
                        continue
                    endless += isinstance(replayed.run_d.ended, StepLimit)
                    found = _violation_in(replayed, (*conditions, *ORDER))
                    if found is not None and (not conditions or found.condition in conditions):
                        return _simplified(mechanism, found)
                    other = other or found
                    if budget.is_over or endless > _ENDLESS:
                        return other and _simplified(mechanism, other)
    return other and _simplified(mechanism, other)


def _simplified(mechanism: Mechanism, found: FailingRun) -> FailingRun:
    """The same violation with as many zeros and as few moves as one pass over its numbers can bring about."""
    scenario = found.counterexample.scenario
    for simpler in simpler_scenarios(scenario):
        replayed = _replayed(mechanism, simpler(found.counterexample.scenario))
        other = None if replayed is None else _violation_in(replayed, (found.condition,))
        found = other if other is not None else found
    return found


def _replayed(mechanism: Mechanism, scenario: Scenario) -> Replay | None:
    """What a scenario shows within so many steps; None where it is not legal, or too hard."""
    try:
        return replay(mechanism, scenario, _STEPS)
    except (ScenarioError, Undecided):
        return None


def _violation_in(replayed: Replay, conditions: tuple[Condition, ...]) -> FailingRun | None:
    """What a run shows of the first of these conditions that it violates."""
    shown = Counterexample(replayed.scenario, replayed)
    known = {
        v.condition: FailingRun(v.condition, v.span, v.message, shown) for v in replayed.violations[::-1]
    }
    return next((known[c] for c in conditions if c in known), None)


def _all_lengths(theory: Theory) -> Iterator[dict[str, int]]:
    """Small lengths, first those at which all lists are equally long."""
    vectors = [name for name in theory.inputs if theory.is_vector(name)]
    if not vectors:
        yield {}
        return
    yield from (dict.fromkeys(vectors, length) for length in _LENGTHS)
    for lengths in product(_LENGTHS[:2], repeat=min(len(vectors), 4)):
        if len(set(lengths)) > 1:
            yield {**dict.fromkeys(vectors, 1), **dict(zip(vectors, lengths, strict=False))}


def groundings(
    theory: Theory,
    lengths: dict[str, int],
    integers: tuple[Fraction, ...],
) -> Iterator[dict[str, Ground]]:
    """Small parameter values that satisfy the `where` clauses at these lengths, the simplest first; whole
    numbers are among `integers`. Where the declared ranges hold none of these, Z3 gives others.
    """
    parameters = [item for item in theory.mechanism.inputs if isinstance(item, Parameter)]
    usual = {p.name: _pool(p, integers) for p in parameters}
    empty = True
    for values in _possible_among(theory, lengths, usual):
        empty = False
        yield values
    if empty:
        ranges = list(allowed(theory.mechanism, lengths, {}))
        pools = {
            name: tuple(dict.fromkeys((*(v[name] for v in ranges), *pool))) for name, pool in usual.items()
        }
        yield from _possible_among(theory, lengths, pools)


def _possible_among(
    theory: Theory, lengths: dict[str, int], pools: Mapping[str, Sequence[Ground]]
) -> Iterator[dict[str, Ground]]:
    """Those choices from some pools that satisfy the `where` clauses, the simplest first."""
    ranked = sorted(
        product(*(range(len(p)) for p in pools.values())),
        key=lambda ranks: (sum(ranks), max(ranks, default=0)),
    )
    for ranks in islice(ranked, 4000):
        values = {name: pool[rank] for (name, pool), rank in zip(pools.items(), ranks, strict=True)}
        if _is_possible(theory, lengths, values):
            yield values


def _is_possible(theory: Theory, lengths: dict[str, int], values: dict[str, Ground]) -> bool:
    grounded = Theory(theory.mechanism, Grounding(values, lengths))
    return all(value_of(canonical(near(f)), {}) is not False for f in grounded.base)


def _at_constants(theory: Theory, lengths: dict[str, int]) -> Iterator[dict[str, Ground]]:
    """Parameter values of which one is a number that the program compares something with."""
    plain = next(groundings(theory, lengths, INTEGERS), None)
    for p in theory.mechanism.inputs if plain is not None else ():
        if isinstance(p, Parameter) and p.sort is not nodes.Sort.BOOL:
            for number in constants_of(theory.mechanism):
                values = {**plain, p.name: number} if plain is not None else {}
                usual = number in _pool(p, INTEGERS)
                whole = p.sort is nodes.Sort.REAL or number.denominator == 1
                if whole and not usual and _is_possible(theory, lengths, values):
                    yield values


def _pool(parameter: Parameter, integers: tuple[Fraction, ...]) -> tuple[Ground, ...]:
    match parameter.sort:
        case nodes.Sort.BOOL:
            return (True, False)
        case nodes.Sort.INT:
            return integers
        case nodes.Sort.REAL:
            return _REALS[:5]


class _Numbers(dict[Term, Fraction | bool]):
    """A model in which what it leaves open is 0 or false."""

    def get(self, key: Term, default: object = None) -> Fraction | bool:
        if key in self:
            return self[key]
        if isinstance(key, App) and key.kind is Nature.PARAMETER and sort_of(key) is not TermSort.BOOL:
            return Fraction(1)
        return False if sort_of(key) is TermSort.BOOL else Fraction(0)


@dataclass
class _Search:
    """The search for a violation of one condition, for fixed parameters and lengths."""

    theory: Theory
    condition: Condition
    budget: Effort
    analysis: Analysis
    smt: Smt

    def run(self) -> FailingRun | None:
        """A confirmed violation, as small as a few tries can make it."""
        smt = self.smt
        paths = sorted(self.analysis.paths, key=lambda p: len(p.events))
        possible = islice(self._possible(paths, self.analysis, smt), _CHOICE)
        found = self._most_readable(list(possible), smt)
        if found is None and self.condition in (Condition.DRAWS, Condition.SCALES):
            return self._confused(paths, smt)
        if found is None and self.condition is Condition.ACYCLIC:
            return self._circular(paths, smt)
        return found

    def _possible(
        self, paths: list[Segment], analysis: Analysis, smt: Smt
    ) -> Iterator[tuple[list[Term], Segment]]:
        """The questions that have a model at all, short paths first."""
        for path in paths:
            for question in self._questions(path, analysis):
                facts = [canonical(near(t)) for t in question]
                if FALSE in facts or self.budget.is_over:
                    continue
                if smt.satisfiable(facts, _MILLISECONDS).answer is Answer.INVALID:
                    yield facts, path

    def _most_readable(self, possible: list[tuple[list[Term], Segment]], smt: Smt) -> FailingRun | None:
        """The confirmed violation with the smallest numbers."""
        for limits in (*_LIMITS, None):
            for facts, path in possible:
                reply = smt.satisfiable(facts, _MILLISECONDS, limits)
                if reply.answer is Answer.INVALID and reply.model is not None:
                    found = self._confirmed(_Numbers(reply.model), path)
                    if found is not None:
                        return found
        return None

    # --- what to ask --------------------------------------------------------------------------------------

    def _questions(self, path: Segment, analysis: Analysis) -> Iterator[tuple[Term, ...]]:
        """Conjunctions whose models are candidate violations on one path."""
        if self.condition is Condition.COUNTABLE:
            yield from self._moved_by_output(path)
            return
        if self.condition is Condition.INVARIANT:
            yield from _false_claims(path)
            return
        groups: dict[tuple[Term, ...], list[Term]] = {}
        for o in obligations_on(analysis, path, self.condition):
            if canonical(o.goal) != TRUE:
                extra = and_((*o.hypotheses[o.shared :], not_(o.goal)))
                groups.setdefault(o.hypotheses[: o.shared], []).append(extra)
        for hypotheses, failures in groups.items():
            yield (*hypotheses, or_(failures))
        if self.condition is Condition.SCALES:
            yield from self._hidden_scale(path)

    def _moved_by_output(self, path: Segment) -> Iterator[tuple[Term, ...]]:
        """A run in which a released number really enters a shift."""
        for event in path.drawings():
            if any(isinstance(a.label, RecordField) for a in atoms((event.shift,))):
                yield (*run_on_d(path), not_(eq(event.shift, const(0))))

    def _hidden_scale(self, path: Segment) -> Iterator[tuple[Term, ...]]:
        """Two runs on the same path with the same records and different scales."""
        twin = _twin(path)
        for event in path.drawings():
            for arg in event.args:
                other = substitute(arg.left, twin)
                if other != arg.left:
                    yield (*_both(path, path, twin), not_(eq(arg.left, other)))

    # --- what the answer means ----------------------------------------------------------------------------

    def _confirmed(self, model: _Numbers, path: Segment) -> FailingRun | None:
        scenario = self._scenario(model, path, {})
        if scenario is None:
            return None
        try:
            if self.condition in (Condition.ACYCLIC, Condition.INJECTIVE):
                return self._two_with_one_image(scenario, model, path)
            if self.condition is Condition.COUNTABLE:
                return self._uncountable(scenario, path)
            replayed = replay(self.theory.mechanism, scenario)
            for violation in replayed.violations:
                if violation.condition is self.condition:
                    shown = Counterexample(scenario, replayed)
                    return FailingRun(self.condition, violation.span, violation.message, shown)
            if self.condition is Condition.SCALES:
                return self._two_scales(scenario, model, path)
        except (ScenarioError, Undecided):
            return None
        return None

    def _two_with_one_image(self, scenario: Scenario, model: _Numbers, path: Segment) -> FailingRun | None:
        """Both noise vectors give the same output on D and have the same image."""
        other = self._scenario(model, path, _twin_noise(path))
        if other is None:
            return None
        first, second = (replay(self.theory.mechanism, s) for s in (scenario, other))
        if not same_output(first.run_d, second.run_d) or dict(scenario.noise) == dict(other.noise):
            return None
        if aligned(first) != aligned(second) or _calls(first) != _calls(second):
            return None
        moved = next((e for e in path.drawings() if e.lines), None)
        span = moved.lines[0] if moved is not None else self.theory.mechanism.span
        message = "two noise vectors with the same output have the same image under the alignment"
        return FailingRun(Condition.INJECTIVE, span, message, Counterexample(scenario, first, other))

    def _uncountable(self, scenario: Scenario, path: Segment) -> FailingRun | None:
        event = next(
            e for e in path.drawings() if any(isinstance(a.label, RecordField) for a in atoms((e.shift,)))
        )
        replayed = replay(self.theory.mechanism, scenario)
        message = "the shift contains a released number: a different alignment for each of its values"
        return FailingRun(self.condition, event.lines[0], message, Counterexample(scenario, replayed))

    def _two_scales(self, scenario: Scenario, model: _Numbers, path: Segment) -> FailingRun | None:
        """Two runs with the same output draw from different distributions."""
        twin = _twin(path)
        other = self._scenario(model, path, twin, data_too=True)
        if other is None:
            return None
        first, second = (replay(self.theory.mechanism, s) for s in (scenario, other))
        if not same_output(first.run_d, second.run_d):
            return None
        return self._rescaled(Counterexample(scenario, first, other), second.run_d)

    def _rescaled(self, shown: Counterexample, second: Run) -> FailingRun | None:
        """The first draw that a second run with the same output makes from another distribution."""
        first = shown.replay.run_d
        for a, b in zip(first.draws, second.draws, strict=False):
            if a.args != b.args:
                message = f"the scale of `{a.name}` depends on what the output does not show"
                return FailingRun(self.condition, a.span, message, shown)
        return None

    def _confused(self, paths: list[Segment], smt: Smt) -> FailingRun | None:
        """Two runs on one database with the same output and different numbers of draws, or scales."""
        differ = _scales if self.condition is Condition.SCALES else _number_of_draws
        for i, p in enumerate(paths):
            for q in paths[i + 1 :]:
                if self.budget.is_over:
                    return None
                if _shape(p) != _shape(q) or differ(p) == differ(q):
                    continue
                found = self._confused_pair(p, q, smt)
                if found is not None:
                    return found
        return None

    def _confused_pair(self, p: Segment, q: Segment, smt: Smt) -> FailingRun | None:
        twin = _twin_noise(q)
        facts = [canonical(near(t)) for t in _both(p, q, twin)]
        for limits in (*_LIMITS, None):
            reply = smt.satisfiable(facts, _MILLISECONDS, limits)
            if reply.answer is not Answer.INVALID or reply.model is None:
                continue
            model = _Numbers(reply.model)
            one, two = self._scenario(model, p, {}), self._scenario(model, q, twin)
            if one is None or two is None:
                continue
            try:
                first, second = (replay(self.theory.mechanism, s) for s in (one, two))
            except (ScenarioError, Undecided):
                continue
            if not same_output(first.run_d, second.run_d):
                continue
            shown = Counterexample(one, first, two)
            counts = draw_count(first.run_d), draw_count(second.run_d)
            if self.condition is Condition.SCALES:
                return self._rescaled(shown, second.run_d)
            if counts[0] != counts[1]:
                span = _parting(p, q) or self.theory.mechanism.span
                message = f"the same output after {min(counts)} and after {max(counts)} draws"
                return FailingRun(self.condition, span, message, shown)
        return None

    def _circular(self, paths: list[Segment], smt: Smt) -> FailingRun | None:
        """A run in which a draw needs its own aligned value: by way of a maximum on D', say."""
        for path in paths:
            if self.budget.is_over or not any(_looks_ahead(e.shift) for e in path.drawings()):
                continue
            taken = [canonical(near(d.holds(False))) for d in path.decisions()]
            reply = smt.satisfiable(taken, _MILLISECONDS, _LIMITS[0])
            scenario = self._scenario(_Numbers(reply.model), path, {}) if reply.model is not None else None
            if scenario is None:
                continue
            replayed = _replayed(self.theory.mechanism, scenario)
            found = None if replayed is None else _violation_in(replayed, (Condition.ACYCLIC,))
            if found is not None:
                return found
        return None

    def _scenario(
        self, model: _Numbers, path: Segment, twin: dict[Term, Term], data_too: bool = False
    ) -> Scenario | None:
        """The numbers of a model as a run; with `twin`, those of the second run."""
        theory = self.theory

        def number(term: Term, table: dict[Term, Term]) -> Fraction | bool:
            value = value_of(near(substitute(term, table)), model)
            if value is None:
                raise ArithmeticError
            return value

        try:
            parameters: list[tuple[str, object]] = []
            data: list[tuple[str, object]] = []
            prime: list[tuple[str, object]] = []
            table = twin if data_too else {}
            for name, item in theory.inputs.items():
                size = theory.grounding.lengths.get(name, 0)
                match item:
                    case Parameter():
                        parameters.append((name, number(theory.parameter(name), {})))
                    case PublicVector():
                        entries = tuple(number(theory.entry(name, const(i), False), {}) for i in range(size))
                        parameters.append((name, entries))
                    case Queries():
                        for primed, side in ((False, data), (True, prime)):
                            if item.vector:
                                value: object = tuple(
                                    number(theory.answer(name, const(i), primed), table) for i in range(size)
                                )
                            else:
                                value = number(theory.answer(name, None, primed), table)
                            side.append((name, value))
            noise = tuple(
                (
                    (e.name, None if e.index is None else int(number(e.index.left, twin))),
                    number(e.left.value, twin),
                )
                for e in path.drawings()
            )
            functions = tuple(
                (a.label.name, tuple(number(x, {}) for x in a.args), number(a, {}))
                for a in atoms(_spoken(path))
                if isinstance(a, App) and isinstance(a.label, PublicFunction)
            )
        except (ArithmeticError, ValueError):
            return None
        given = tuple(parameters), tuple(data), tuple(prime)
        scenario = Scenario(*given, noise, (), functions)  # type: ignore[arg-type]
        try:
            return realised(theory.mechanism, scenario, wishes(theory, path, model), self.budget)
        except (Unrealised, ScenarioError, Undecided):
            return None


# --- small functions --------------------------------------------------------------------------------------


def _calls(replayed: Replay) -> list[Invoked]:
    """Every execution of a callee in both runs: what it was given and released."""
    steps = (*replayed.run_d.steps, *replayed.run_d_prime.steps)
    return [step for step in steps if isinstance(step, Invoked)]


def _spoken(path: Segment) -> Iterator[Term]:
    """The terms of a path in which a public function may occur."""
    for event in path.events:
        match event:
            case Drawing():
                yield event.shift
                yield from (t for a in event.args for t in (a.left, a.right))
            case AlignedCall():
                yield from (t for v in event.values.values() for t in (v.left, v.right))
            case ArmTaken() | Applied() | Selected() | Emission() | Required() | Assumed() | Claimed():
                pass
    yield from run_on_d(path)
    yield from (t for e in path.emissions() for _, pair, _ in e.fields for t in (pair.left, pair.right))


def _looks_ahead(shift: Term) -> bool:
    """Whether a shift speaks of what a set gives in the complete run, or of aligned noise."""
    return any(a.kind in (Nature.EXTREMUM, Nature.UNSETTLED) for a in atoms((shift,)))


def _false_claims(path: Segment) -> Iterator[tuple[Term, ...]]:
    for place, event in enumerate(path.events):
        if isinstance(event, Claimed):
            yield (*run_on_d(path, place), *run_on_d_prime(path, place), not_(event.fact))


def _twin_noise(path: Segment) -> dict[Term, Term]:
    """The noise of a second run on the same database."""
    return _renaming(path, _OF_NOISE)


def _twin(path: Segment) -> dict[Term, Term]:
    """The noise and the answers of a second run."""
    return _renaming(path, (*_OF_NOISE, Nature.DATA))


_OF_NOISE = (Nature.NOISE, Nature.EXTREMUM, Nature.PLACE, Nature.SUM, Nature.UNSETTLED)


def _renaming(path: Segment, kinds: tuple[Nature, ...]) -> dict[Term, Term]:
    terms = [t for e in path.events if isinstance(e, Drawing) for t in (e.left.value, e.shift)]
    terms += list(run_on_d(path)) + [pair.left for e in path.emissions() for _, pair, _ in e.fields]
    table: dict[Term, Term] = {}
    for a in atoms(terms):
        if a.kind in kinds or selection_of(a) is not None:
            label = Copy(a.label)
            table[a] = (
                Sym(label, a.sort, a.kind) if isinstance(a, Sym) else App(label, a.args, a.sort, a.kind)
            )
    return table


def _both(p: Segment, q: Segment, twin: dict[Term, Term]) -> tuple[Term, ...]:
    """The first run takes `p`, the second (renamed by `twin`) takes `q`, with equal records."""
    same: list[Term] = []
    for a, b in zip(p.emissions(), q.emissions(), strict=True):
        others = {name: substitute(pair.left, twin) for name, pair, _ in b.fields}
        for name, pair, _ in a.fields:
            equal: Callable[[Term, Term], Term] = iff if sort_of(pair.left) is TermSort.BOOL else eq
            same.append(equal(pair.left, others[name]))
    return (*run_on_d(p), *(substitute(t, twin) for t in run_on_d(q)), *same)


def _shape(path: Segment) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((e.tag, tuple(name for name, _, _ in e.fields)) for e in path.emissions())


def _number_of_draws(path: Segment) -> int:
    return len(path.drawings())


def _scales(path: Segment) -> list[tuple[Term, ...]]:
    return [tuple(a.left for a in e.args) for e in path.drawings()]


def _parting(p: Segment, q: Segment) -> Span | None:
    for a, b in zip(p.decisions(), q.decisions(), strict=False):
        if a.taken != b.taken:
            return a.span
    return None

"""Whether a called mechanism can release the records that a counterexample says it releases."""

from __future__ import annotations

import time
from fractions import Fraction
from functools import partial

from aligncheck import exact
from aligncheck.conditions import Condition
from aligncheck.discharge.algebra import canonical
from aligncheck.discharge.smt import Answer, Smt
from aligncheck.discharge.values import near, value_of
from aligncheck.exact import Number, Value
from aligncheck.interpreter import (
    STEP_LIMIT,
    ByDensity,
    Fault,
    Finished,
    Input,
    Invoked,
    Machine,
    Record,
    Scope,
    Stopped,
    at_each_index,
    number_of,
    run,
)
from aligncheck.obligations.obligation import run_on_d
from aligncheck.relational.paths import Path, TooManyPathsError, Unroll, unrolled
from aligncheck.relational.selection import UnsupportedError
from aligncheck.relational.terms import FALSE, Sort, Term, Truth, const, eq, iff, sort_of
from aligncheck.relational.theory import Ground, Grounding, Theory
from aligncheck.syntax.nodes import Choose, Logistic, Mechanism
from aligncheck.syntax.walk import has_densities

_PATHS = 200
_RUNS = 200
_MILLISECONDS = 1_000


def can_release(callee: Mechanism, call: Invoked, until: float) -> bool:
    """Whether noise was found with which the callee, run exactly on what it was given, releases what the call
    says. False also where none was found before `until` (`time.monotonic()`).
    """
    given = dict(call.given)
    numbers = [v for value in given.values() for v in (value if isinstance(value, tuple) else (value,))]
    if not all(isinstance(v, bool | Fraction) for v in numbers):
        return False
    if has_densities(callee.body):
        return _drawn(callee, call, until)
    public = Theory(callee)
    scalars = {n: v for n, v in given.items() if not isinstance(v, tuple) and not public.is_private(n)}
    lengths = {n: len(v) for n, v in given.items() if isinstance(v, tuple)}
    ground: dict[str, Ground] = {n: v for n, v in scalars.items() if isinstance(v, bool | Fraction)}
    theory = Theory(callee, Grounding(ground, lengths))
    known = [fact for name, value in given.items() for fact in _known(theory, name, value)]
    try:
        paths = unrolled(theory, Unroll(max(lengths.values(), default=0) + 2, _PATHS)).paths
    except (TooManyPathsError, UnsupportedError, ZeroDivisionError):
        return False
    smt = Smt(theory, whole=True, deadline=until)
    return any(_realised(callee, call, path, known, smt, until) for path in paths)


def _drawn(callee: Mechanism, call: Invoked, until: float) -> bool:
    """The same for a callee that draws by densities: any index of a set may be chosen, and any number above
    the bound of a cut be drawn; numbers that the records hold are tried.
    """
    records = call.returned.records
    held = [value for record in records for _, value in record.fields if isinstance(value, Fraction)]
    script: list[int] = []
    for _ in range(_RUNS):
        if time.monotonic() > until:
            return False
        taken: list[tuple[int, int]] = []

        source = partial(_chosen, script, taken, held)
        done = Machine(callee, dict(call.given), lambda site: Fraction(0), STEP_LIMIT, densities=source).run()
        if isinstance(done.ended, Finished) and _same(done.output, records):
            return True
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        if not taken:
            return False
        script = [place for place, _ in taken[:-1]] + [taken[-1][0] + 1]
    return False


def _chosen(
    script: list[int], taken: list[tuple[int, int]], held: list[Fraction], statement: ByDensity, scope: Scope
) -> Number:
    """The next value by the script, the first one where that has ended; `taken` notes it, of how many."""
    options = _options(statement, scope, held)
    if not options:
        raise Stopped(Fault(Condition.CALLS, statement.span, "no number to draw"))
    place = script[len(taken)] if len(taken) < len(script) else 0
    taken.append((place, len(options)))
    return options[place]


def _options(statement: ByDensity, scope: Scope, held: list[Fraction]) -> list[Number]:
    match statement:
        case Choose(weights=weights):
            return [Fraction(index) for index, _ in at_each_index(weights, scope)]
        case Logistic(low=None):
            return [*held, Fraction(0)]
        case Logistic(low=bound):
            assert bound is not None
            low = number_of(bound, scope)
            return [value for value in held if exact.compare(value, low) > 0]


def _same(output: tuple[Record, ...], records: tuple[Record, ...]) -> bool:
    return [(r.tag, r.fields) for r in output] == [(r.tag, r.fields) for r in records]


def _known(theory: Theory, name: str, value: Input) -> list[Term]:
    """That the inputs are what was given."""
    if isinstance(value, tuple):
        return [_equal(theory.entry(name, const(i), False), v) for i, v in enumerate(value)]
    return [_equal(theory.answer(name, None, False), value)] if theory.is_private(name) else []


def _equal(term: Term, value: Value) -> Term:
    other: Term = Truth(value) if isinstance(value, bool) else const(Fraction(str(value)))
    return (iff if sort_of(term) is Sort.BOOL else eq)(term, other)


def _realised(
    callee: Mechanism, call: Invoked, path: Path, known: list[Term], smt: Smt, until: float
) -> bool:
    records = call.returned.records
    emitted = path.emissions()
    if [e.tag for e in emitted] != [r.tag for r in records] or time.monotonic() > until:
        return False
    wanted = [*known, *run_on_d(path)]
    for emission, record in zip(emitted, records, strict=True):
        values = dict(record.fields)
        wanted += [_equal(pair.left, values[name]) for name, pair, _ in emission.fields]
    facts = [canonical(near(t)) for t in wanted]
    if FALSE in facts:
        return False
    reply = smt.satisfiable(facts, _MILLISECONDS)
    if reply.answer is not Answer.INVALID or reply.model is None:
        return False
    noise: dict[tuple[str, int | None], Fraction] = {}
    for drawing in path.drawings():
        model: dict[Term, Fraction | bool] = {drawing.left.symbol: Fraction(0), **reply.model}
        value = value_of(near(drawing.left.value), model)
        place = None if drawing.index is None else value_of(drawing.index.left, reply.model)
        if value is not None:
            noise[drawing.name, None if place is None else int(place)] = Fraction(value)
    done = run(callee, call.given, (), lambda site: noise.get(site.key, Fraction(0)))
    return isinstance(done.ended, Finished) and _same(done.output, records)

"""Concrete pairs of databases: what a scenario is, and whether the declarations allow it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from aligncheck.language.adjacencies import Shared
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import names_in, together
from aligncheck.meaning import exact
from aligncheck.meaning.exact import ONE, ZERO, Number, Value
from aligncheck.meaning.interpreter import (
    STEP_LIMIT,
    ByDensity,
    CallKey,
    CallSite,
    CallSource,
    DensitySource,
    EmittedRecord,
    Fault,
    Function,
    Input,
    Inputs,
    Machine,
    NoiseKey,
    Run,
    RunScope,
    Stopped,
    at_each_index,
    number_of,
    outside_support,
    released,
    truth_of,
    undefined,
    variable_text,
)


@dataclass(frozen=True, slots=True)
class CallNoise:
    """The noise of one execution of a call, on D. `noise` gives draws of the callee, 0 where they are not
    listed; `drawn` its draws by densities, in order, and their values (after these, the simplest possible
    ones); `calls` the noise of what it calls itself.
    """

    noise: tuple[tuple[NoiseKey, Value], ...] = ()
    drawn: tuple[tuple[str, Number], ...] = ()
    calls: tuple[tuple[CallKey, CallNoise], ...] = ()


def _noise_of_calls(calls: Iterable[tuple[CallKey, CallNoise]], within: str) -> Iterator[tuple[str, Value]]:
    for (name, number), noise in calls:
        prefix = f"{within}{name}({number + 1})." if number else f"{within}{name}."
        yield from ((prefix + variable_text(key), value) for key, value in noise.noise)
        yield from ((prefix + drawn, value) for drawn, value in noise.drawn)
        yield from _noise_of_calls(noise.calls, prefix)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One concrete pair of databases and the noise of the run on D.

    `parameters` gives every public input, `data` every query input on D and `data_prime` on D'. `noise` gives
    draws of the run on D; a draw that is not listed is 0. `calls` gives the noise of what each execution of
    a call runs on D (what is not listed draws 0), `functions` values of public functions.
    """

    parameters: Inputs
    data: Inputs
    data_prime: Inputs
    noise: tuple[tuple[NoiseKey, Value], ...] = ()
    calls: tuple[tuple[CallKey, CallNoise], ...] = ()
    functions: tuple[tuple[str, tuple[Value, ...], Value], ...] = ()

    @property
    def on_d(self) -> dict[str, Input]:
        """All inputs on D."""
        return {**dict(self.parameters), **dict(self.data)}

    @property
    def on_d_prime(self) -> dict[str, Input]:
        """All inputs on D'."""
        return {**dict(self.parameters), **dict(self.data_prime)}

    def all_noise(self) -> Iterator[tuple[str, Value]]:
        """The noise on D, that of callees included, by names such as `xi[0]`, `found.eta` and, in the second
        execution of a call, `found(2).eta`.
        """
        yield from ((variable_text(key), value) for key, value in self.noise)
        yield from _noise_of_calls(self.calls, "")

    def applied(self, mechanism: nodes.Mechanism) -> dict[str, Function]:
        """The public functions of a mechanism: 0 or false where nothing is listed. They may be any functions,
        so this is one of the choices that there are.
        """

        def function(declared: nodes.Function) -> Function:
            other: Value = False if declared.result is nodes.Sort.BOOL else Fraction(0)
            table = {args: value for name, args, value in self.functions if name == declared.name}
            return lambda args: table.get(args, other)

        return {declared.name: function(declared) for declared in mechanism.functions}


class ScenarioError(Exception):
    """The scenario is no legal pair of runs: `reasons` say why, in the spec's words."""

    def __init__(self, reasons: Iterable[str]) -> None:
        self.reasons = tuple(reasons)
        super().__init__("; ".join(self.reasons))


# --- single answers ---------------------------------------------------------------------------------------

Place: TypeAlias = tuple[str, int | None]
"""Where an answer is: its name and its index, None for one that is in no list."""


def entries(value: Input) -> list[tuple[int | None, Value]]:
    """The entries of a list with their indices; one value as the only one."""
    return list(enumerate(value)) if isinstance(value, tuple) else [(None, value)]


def answer(inputs: Inputs, place: Place) -> Value:
    """The answer at a place."""
    value = dict(inputs)[place[0]]
    return value[place[1] or 0] if isinstance(value, tuple) else value


def with_answer(inputs: Inputs, place: Place, value: Value) -> Inputs:
    """The database with another answer at a place."""
    at = place[1] or 0

    def changed(held: Input) -> Input:
        return (*held[:at], value, *held[at + 1 :]) if isinstance(held, tuple) else value

    return tuple((name, changed(held) if name == place[0] else held) for name, held in inputs)


def with_answers(scenario: Scenario, place: Place, on_d: Value, on_d_prime: Value) -> Scenario:
    """The pair with other answers at a place."""
    data = with_answer(scenario.data, place, on_d)
    return replace(scenario, data=data, data_prime=with_answer(scenario.data_prime, place, on_d_prime))


def numbers_at(scenario: Scenario, place: Place) -> tuple[Fraction, Fraction] | None:
    """The answers at a place on D and on D'; None where they are no rational numbers."""
    left, right = answer(scenario.data, place), answer(scenario.data_prime, place)
    return (left, right) if isinstance(left, Fraction) and isinstance(right, Fraction) else None


# --- runs -------------------------------------------------------------------------------------------------


def machine_on_d(mechanism: nodes.Mechanism, scenario: Scenario, limit: int, calls: CallSource) -> Machine:
    """What runs a mechanism on D with the noise of a scenario; `calls` says what callees release."""
    given = numbers_of(scenario.noise)
    return Machine(
        mechanism,
        scenario.on_d,
        lambda site: given.get(site.key, ZERO),
        limit,
        call_source=calls,
        functions=scenario.applied(mechanism),
    )


def call_source(calls: Iterable[tuple[CallKey, CallNoise]], limit: int = STEP_LIMIT) -> CallSource:
    """Runs the callees, each execution with its noise among `calls`."""
    listed = dict(calls)
    return lambda site: execute(site, listed.get(site.key, CallNoise()), limit)


def execute(
    site: CallSite, noise: CallNoise, limit: int = STEP_LIMIT, inner: CallSource | None = None
) -> tuple[EmittedRecord, ...]:
    """What a callee releases, run exactly on what the call gives it. `inner`, if given, says what the
    mechanisms release that it calls itself.

    Raises `Stopped` where it does not come to its end, `ScenarioError` for noise that is impossible there and
    `Undecided` where exact arithmetic cannot decide.
    """
    listed = numbers_of(noise.noise)
    done = Machine(
        site.contract.mechanism,
        dict(site.given),
        lambda draw: listed.get(draw.key, ZERO),
        limit,
        call_source=inner or call_source(noise.calls, limit),
        functions=site.functions,
        densities=_drawn(value for _, value in noise.drawn),
    ).run()
    if impossible := impossible_noise(done):
        raise ScenarioError(impossible)
    return released(site, done)


def _drawn(values: Iterable[Number]) -> DensitySource:
    left = iter(values)

    def source(statement: ByDensity, scope: RunScope) -> Number:
        value = next(left, None)
        if value is None:
            return simplest(statement, scope)
        if not possible(statement, value, scope):
            raise ScenarioError([f"`{statement.name}` cannot be {value}"])
        return value

    return source


def possible(statement: ByDensity, value: Number, scope: RunScope) -> bool:
    """Whether a draw by a density can be this value."""
    match statement:
        case nodes.Choose(weights=weights):
            return any(value == index for index, _ in at_each_index(weights, scope))
        case nodes.Logistic(low=None):
            return True
        case nodes.Logistic(low=low):
            return low is None or exact.compare(value, number_of(low, scope)) > 0


def simplest(statement: ByDensity, scope: RunScope) -> Number:
    """A value that a draw by a density can have: the first index, or a number above the bound."""
    match statement:
        case nodes.Choose(weights=weights):
            found = at_each_index(weights, scope)
            if not found:
                undefined(weights, "there is nothing to choose from")
            return Fraction(found[0][0])
        case nodes.Logistic(low=low):
            return ZERO if low is None else exact.add(number_of(low, scope), ONE)


def numbers_of(noise: Iterable[tuple[NoiseKey, Value]]) -> dict[NoiseKey, Number]:
    """Noise by its variables."""
    return {key: value for key, value in noise if not isinstance(value, bool)}


def impossible_noise(done: Run) -> list[str]:
    """The draws of a run whose values their distributions cannot take, and why."""
    return [
        f"`{variable_text(draw.key)}` on D: {reason}"
        for draw in done.draws
        if (reason := outside_support(draw.family, draw.args, draw.value)) is not None
    ]


# --- which scenarios are legal ----------------------------------------------------------------------------


def check_scenario(mechanism: nodes.Mechanism, scenario: Scenario) -> list[str]:
    """Why `scenario` is no legal pair of databases for `mechanism`; empty if it is one.

    Parameters must satisfy their `where` clauses, answers their sort, lattice and range, public functions
    give one value of their sort to each choice of arguments, and D and D' must be adjacent as declared, over
    all names of a group together. Raises `Undecided`.
    """
    parameters, on_d, on_d_prime = dict(scenario.parameters), dict(scenario.data), dict(scenario.data_prime)
    try:
        shapes = [*_public_shapes(mechanism, parameters), *_private_shapes(mechanism, on_d, on_d_prime)]
        shapes += _no_functions(mechanism, scenario)
        if shapes:
            return shapes
        reasons: list[str] = []
        for declared in mechanism.inputs:
            match declared:
                case nodes.Parameter() | nodes.PublicVector():
                    # It may speak of `len(q)`, which D and D' share.
                    inputs = {**on_d, **parameters}
                    reasons += broken_where(declared.name, declared.where, inputs)
                case nodes.Queries():
                    reasons += _not_in_domain(declared, "D", {**parameters, **on_d}, parameters)
                    reasons += _not_in_domain(declared, "D'", {**parameters, **on_d_prime}, parameters)
                    reasons += _too_far(declared, parameters, on_d, on_d_prime)
        return [*reasons, *_not_together(mechanism.inputs, on_d, on_d_prime)]
    except Stopped as stopped:
        return [stopped.ended.reason if isinstance(stopped.ended, Fault) else "the inputs are too long"]


def _public_shapes(mechanism: nodes.Mechanism, parameters: Mapping[str, Input]) -> Iterator[str]:
    for declared in mechanism.inputs:
        if not isinstance(declared, nodes.Queries):
            vector = isinstance(declared, nodes.PublicVector)
            yield from _wrong_shape(declared.name, declared.sort, vector, parameters.get(declared.name))


def _no_functions(mechanism: nodes.Mechanism, scenario: Scenario) -> Iterator[str]:
    results = {declared.name: declared.result for declared in mechanism.functions}
    values: dict[tuple[str, tuple[Value, ...]], Value] = {}
    for name, args, value in scenario.functions:
        yield from _wrong_shape(f"{name}(...)", results[name], False, value)
        if values.setdefault((name, args), value) != value:
            yield f"`{name}` has two values for the same arguments"


def _private_shapes(
    mechanism: nodes.Mechanism, on_d: Mapping[str, Input], on_d_prime: Mapping[str, Input]
) -> Iterator[str]:
    for declared in mechanism.inputs:
        if not isinstance(declared, nodes.Queries):
            continue
        for name in declared.names:
            values = on_d.get(name), on_d_prime.get(name)
            wrong = [
                reason
                for value, shown in zip(values, (name, f"{name}'"), strict=True)
                for reason in _wrong_shape(shown, declared.sort, declared.vector, value)
            ]
            yield from wrong
            lengths = {len(value) for value in values if isinstance(value, tuple)}
            if not wrong and len(lengths) > 1:
                yield f"`{name}` and `{name}'` have different lengths"


def _wrong_shape(name: str, sort: nodes.Sort, vector: bool, value: Input | None) -> Iterator[str]:
    if value is None:
        yield f"`{name}` has no value"
    elif isinstance(value, tuple) is not vector:
        yield f"`{name}` must be {'a list' if vector else 'one value'}"
    else:
        for entry in value if isinstance(value, tuple) else (value,):
            if isinstance(entry, bool) is not (sort is nodes.Sort.BOOL):
                yield f"`{name}` must hold {'truth values' if sort is nodes.Sort.BOOL else 'numbers'}"
            elif sort is nodes.Sort.INT and not isinstance(entry, bool) and not exact.is_integer(entry):
                yield f"`{name}` holds {entry}, which is no integer"


def _at(index: int | None, inputs: Mapping[str, Input]) -> RunScope:
    """What a declaration is about, where `i` is the index of an answer."""
    return RunScope({**inputs} if index is None else {**inputs, "i": Fraction(index)})


def broken_where(name: str, where: nodes.Expr | None, inputs: Mapping[str, Input]) -> Iterator[str]:
    """Why a `where` clause does not hold: one that mentions `i` must, for every entry of its list."""
    if where is None:
        return
    value = inputs[name]
    indices: Iterable[int | None] = (None,)
    if isinstance(value, tuple) and "i" in names_in(where):
        indices = range(len(value))
    for index in indices:
        if not truth_of(where, _at(index, inputs)):
            yield f"the `where` clause of `{name}` does not hold"
            return


def _not_in_domain(
    declared: nodes.Queries, which: str, inputs: Mapping[str, Input], parameters: Mapping[str, Input]
) -> Iterator[str]:
    for name in declared.names:
        for _ in broken_where(name, declared.where, inputs):
            yield f"the `where` clause of `{name}` does not hold on {which}"
        if declared.lattice is None and declared.range is None:
            continue
        for index, value in entries(inputs[name]):
            if isinstance(value, bool):
                continue
            scope = _at(index, parameters)
            wrong = []
            if declared.lattice is not None:
                step = number_of(declared.lattice, scope)
                if exact.sign(step) <= 0:
                    yield f"the lattice of `{name}` has step {step}, which is not positive"
                elif not exact.is_multiple(value, step):
                    wrong.append(f"no multiple of {step}")
            if declared.range is not None:
                low, high = (number_of(bound, scope) for bound in declared.range)
                if exact.compare(value, low) < 0 or exact.compare(value, high) > 0:
                    wrong.append("outside of the declared range")
            for what in wrong:
                yield f"`{variable_text((name, index))}` on {which} is {value}, which is {what}"


@dataclass(frozen=True, slots=True)
class _Move:
    name: str
    index: int | None
    size: Number


def _too_far(
    declared: nodes.Queries,
    parameters: Mapping[str, Input],
    on_d: Mapping[str, Input],
    on_d_prime: Mapping[str, Input],
) -> Iterator[str]:
    adjacency = declared.adjacency
    if adjacency.free:
        return
    moves = list(_moves(declared, on_d, on_d_prime))
    if adjacency.in_all:
        group = _listed([declared])
        bound = _sensitivity(declared, parameters, None)
        total = exact.total(exact.absolute(move.size) for move in moves)
        if exact.compare(total, bound) > 0:
            yield f"the answers of {group} move by {total} in all, more than {bound}"
        return
    if adjacency.in_squares:
        bound = _sensitivity(declared, parameters, None)
        total = exact.total(exact.multiply(move.size, move.size) for move in moves)
        if exact.compare(total, exact.multiply(bound, bound)) > 0:
            group = _listed([declared])
            yield f"the squares of the moves of {group} add up to {total}, more than {bound}**2"
        return
    for move in moves:
        bound = _sensitivity(declared, parameters, move.index)
        if exact.compare(exact.absolute(move.size), bound) > 0:
            moved = variable_text((move.name, move.index))
            yield f"`{moved}` moves by {exact.absolute(move.size)}, more than {bound}"


def _listed(lines: Iterable[nodes.Queries]) -> str:
    return "`" + "`, `".join(name for line in lines for name in line.names) + "`"


def _not_together(
    inputs: Iterable[nodes.Input], on_d: Mapping[str, Input], on_d_prime: Mapping[str, Input]
) -> Iterator[str]:
    """What several answers do that may not do it at once, of one line or of lines that share their places or
    their direction. Places of lists that share their index are indices.
    """
    for lines in together(inputs, Shared.INDEX):
        adjacency = lines[0].adjacency
        if adjacency.free or adjacency.together:
            continue
        places: dict[int, set[object]] = {-1: set(), 0: set(), 1: set()}
        for move in (move for line in lines for move in _moves(line, on_d, on_d_prime)):
            place = move.index if len(lines) > 1 else (move.name, move.index)
            places[exact.sign(move.size)].add(place)
        if not adjacency.allows_at(places[1], places[-1]):
            differ = adjacency.row.differ.format(group=_listed(lines), bound="its sensitivity")
            if len(lines) > 1:
                differ = f"{_listed(lines)} share the index of what moves"
            yield f"answers do not move as adjacency `{adjacency.value}` says: {differ}"
    for lines in together(inputs, Shared.DIRECTION):
        signs = {exact.sign(move.size) for line in lines for move in _moves(line, on_d, on_d_prime)}
        if len(lines) > 1 and {-1, 1} <= signs:
            yield f"the answers of {_listed(lines)} share a direction, but one goes up and one goes down"


def _moves(
    declared: nodes.Queries, on_d: Mapping[str, Input], on_d_prime: Mapping[str, Input]
) -> Iterator[_Move]:
    for name in declared.names:
        for (index, before), (_, after) in zip(entries(on_d[name]), entries(on_d_prime[name]), strict=True):
            if isinstance(before, bool) or isinstance(after, bool):
                yield _Move(name, index, Fraction(int(bool(after)) - int(bool(before))))
            else:
                yield _Move(name, index, exact.subtract(after, before))


def _sensitivity(declared: nodes.Queries, parameters: Mapping[str, Input], index: int | None) -> Number:
    if declared.sensitivity is None:
        undefined(declared, f"`{declared.names[0]}` has no sensitivity")
    return number_of(declared.sensitivity, _at(index, parameters))

"""Concrete pairs of databases: what a scenario is, and whether the declarations allow it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, assert_never

from aligncheck import exact
from aligncheck.exact import Number, Value
from aligncheck.interpreter import (
    CallSite,
    CallSource,
    Fault,
    Function,
    Input,
    Inputs,
    NoiseKey,
    Record,
    Scope,
    Stopped,
    number_of,
    truth_of,
    undefined,
    variable_text,
)
from aligncheck.syntax import nodes
from aligncheck.syntax.walk import names_in, statements_in

Returns: TypeAlias = tuple[tuple[str, tuple[tuple[str, Value], ...]], ...]
"""Records that a call releases: their tags and fields."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One concrete pair of databases and the noise of the run on D.

    `parameters` gives every public input, `data` every query input on D and `data_prime` on D'. `noise` gives
    draws of the run on D; a draw that is not listed is 0. `returned` gives the records that each execution of
    a call releases, `functions` values of public functions.
    """

    parameters: Inputs
    data: Inputs
    data_prime: Inputs
    noise: tuple[tuple[NoiseKey, Value], ...] = ()
    returned: tuple[tuple[tuple[str, int], Returns], ...] = ()
    functions: tuple[tuple[str, tuple[Value, ...], Value], ...] = ()

    def releases(self) -> CallSource:
        """What the calls release, in both runs alike: no records where nothing is listed."""
        table = dict(self.returned)

        def source(site: CallSite) -> tuple[Record, ...]:
            body = site.contract.mechanism.body
            emits = {s.tag: s for s in statements_in(body) if isinstance(s, nodes.Emit)}
            return tuple(
                Record(tag, fields, emits[tag]) for tag, fields in table.get((site.name, site.number), ())
            )

        return source

    def applied(self, mechanism: nodes.Mechanism) -> dict[str, Function]:
        """The public functions of a mechanism: 0 or false where nothing is listed."""

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


def check_scenario(mechanism: nodes.Mechanism, scenario: Scenario) -> list[str]:
    """Why `scenario` is no legal pair of databases for `mechanism`; empty if it is one.

    Parameters must satisfy their `where` clauses, answers their sort, lattice and range, and D and D' must be
    adjacent as declared, over all names of a group together. Raises `Undecided`.
    """
    parameters, on_d, on_d_prime = dict(scenario.parameters), dict(scenario.data), dict(scenario.data_prime)
    try:
        shapes = [*_public_shapes(mechanism, parameters), *_private_shapes(mechanism, on_d, on_d_prime)]
        if shapes:
            return shapes
        reasons: list[str] = []
        for declared in mechanism.inputs:
            match declared:
                case nodes.Parameter() | nodes.PublicVector():
                    # It may speak of `len(q)`, which D and D' share.
                    inputs = {**on_d, **parameters}
                    reasons += _broken_where(declared.name, declared.where, inputs, parameters)
                case nodes.Queries():
                    reasons += _not_in_domain(declared, "D", {**parameters, **on_d}, parameters)
                    reasons += _not_in_domain(declared, "D'", {**parameters, **on_d_prime}, parameters)
                    reasons += _not_adjacent(declared, parameters, on_d, on_d_prime)
                case _:
                    assert_never(declared)
        return reasons
    except Stopped as stopped:
        return [stopped.ended.reason if isinstance(stopped.ended, Fault) else "the inputs are too long"]


def _public_shapes(mechanism: nodes.Mechanism, parameters: Mapping[str, Input]) -> Iterator[str]:
    for declared in mechanism.inputs:
        if not isinstance(declared, nodes.Queries):
            vector = isinstance(declared, nodes.PublicVector)
            yield from _wrong_shape(declared.name, declared.sort, vector, parameters.get(declared.name))


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


def _entry_index(parameters: Mapping[str, Input], index: int | None) -> dict[str, Input]:
    """What `i` means in a declaration: the index of the answer, unless a parameter has that name."""
    return {} if index is None or "i" in parameters else {"i": Fraction(index)}


def _broken_where(
    name: str, where: nodes.Expr | None, inputs: Mapping[str, Input], parameters: Mapping[str, Input]
) -> Iterator[str]:
    """A `where` clause that mentions `i` must hold for every entry of its list."""
    if where is None:
        return
    entries = inputs[name]
    indices: Iterable[int | None] = (None,)
    if isinstance(entries, tuple) and "i" not in parameters and "i" in names_in(where):
        indices = range(len(entries))
    for index in indices:
        if not truth_of(where, Scope({**inputs, **_entry_index(parameters, index)})):
            yield f"the `where` clause of `{name}` does not hold"
            return


def _entries(value: Input) -> list[tuple[int | None, Value]]:
    return list(enumerate(value)) if isinstance(value, tuple) else [(None, value)]


def _not_in_domain(
    declared: nodes.Queries, which: str, inputs: Mapping[str, Input], parameters: Mapping[str, Input]
) -> Iterator[str]:
    for name in declared.names:
        for _ in _broken_where(name, declared.where, inputs, parameters):
            yield f"the `where` clause of `{name}` does not hold on {which}"
        for index, value in _entries(inputs[name]):
            if isinstance(value, bool):
                continue
            scope = Scope({**parameters, **_entry_index(parameters, index)})
            shown = f"`{variable_text((name, index))}` on {which} is {value}"
            if declared.lattice is not None:
                step = number_of(declared.lattice, scope)
                if exact.sign(step) <= 0:
                    yield f"the lattice of `{name}` has step {step}, which is not positive"
                elif not exact.is_multiple(value, step):
                    yield f"{shown}, which is no multiple of {step}"
            if declared.range is not None:
                low, high = (number_of(bound, scope) for bound in declared.range)
                if exact.compare(value, low) < 0 or exact.compare(value, high) > 0:
                    yield f"{shown}, which is outside of the declared range"


@dataclass(frozen=True, slots=True)
class _Move:
    name: str
    index: int | None
    size: Number


def _not_adjacent(
    declared: nodes.Queries,
    parameters: Mapping[str, Input],
    on_d: Mapping[str, Input],
    on_d_prime: Mapping[str, Input],
) -> Iterator[str]:
    adjacency = declared.adjacency
    if adjacency is nodes.Adjacency.ANY:
        return
    moves = list(_moves(declared, on_d, on_d_prime))
    group = "`" + "`, `".join(declared.names) + "`"
    signs = [exact.sign(move.size) for move in moves]
    if adjacency is nodes.Adjacency.L1:
        bound = _sensitivity(declared, parameters, None)
        total = exact.total(exact.absolute(move.size) for move in moves)
        if exact.compare(total, bound) > 0:
            yield f"the answers of {group} move by {total} in all, more than {bound}"
        return
    for move in moves:
        bound = _sensitivity(declared, parameters, move.index)
        if exact.compare(exact.absolute(move.size), bound) > 0:
            moved = variable_text((move.name, move.index))
            yield f"`{moved}` moves by {exact.absolute(move.size)}, more than {bound}"
    match adjacency:
        case nodes.Adjacency.ALL:
            pass
        case nodes.Adjacency.ONE:
            if sum(map(abs, signs)) > 1:
                yield f"more than one answer of {group} moves"
        case nodes.Adjacency.MONOTONE:
            if 1 in signs and -1 in signs:
                yield f"answers of {group} move both up and down"
        case nodes.Adjacency.MOVED:
            if signs.count(1) > 1 or signs.count(-1) > 1:
                yield f"more than one answer of {group} moves up, or down"
        case _:
            assert_never(adjacency)


def _moves(
    declared: nodes.Queries, on_d: Mapping[str, Input], on_d_prime: Mapping[str, Input]
) -> Iterator[_Move]:
    for name in declared.names:
        for (index, before), (_, after) in zip(_entries(on_d[name]), _entries(on_d_prime[name]), strict=True):
            if isinstance(before, bool) or isinstance(after, bool):
                yield _Move(name, index, Fraction(int(bool(after)) - int(bool(before))))
            else:
                yield _Move(name, index, exact.subtract(after, before))


def _sensitivity(declared: nodes.Queries, parameters: Mapping[str, Input], index: int | None) -> Number:
    if declared.sensitivity is None:
        undefined(declared, f"`{declared.names[0]}` has no sensitivity")
    return number_of(declared.sensitivity, Scope({**parameters, **_entry_index(parameters, index)}))

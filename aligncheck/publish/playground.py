"""A mechanism for a page on which a reader moves inputs and noise: its tree as JSON. `playground.js` runs it
exactly on D and, with the aligned noise, on D'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from itertools import islice
from typing import Any, Never, TypeAlias

from aligncheck.language.families import Lattice, Moves, Slope
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.contract import Contract, contract_of
from aligncheck.language.syntax.walk import (
    gathered_in_full,
    names_in,
    renews,
    selected_around,
    shifts_in,
    statements_in,
)
from aligncheck.language.unparse import unparse_expr
from aligncheck.meaning.interpreter import NoiseKey, value_text
from aligncheck.meaning.scenario import Scenario, ScenarioError, check_scenario
from aligncheck.synthesis.runs import pairs
from aligncheck.verdict import (
    AlignmentFails,
    Counterexample,
    DearestRun,
    Error,
    FileResult,
    Unknown,
    Verified,
)

Json: TypeAlias = Any


class NotPlayableError(Exception):
    """The mechanism has something that a page does not run; the message says what."""


def presets(result: FileResult, start: Mapping[str, Any]) -> Iterator[Json]:
    """Where a reader begins: a run that fails, with both noise vectors where it takes two; the dearest run
    that was found; `start`, a quiet one: lists `D` and `D_prime`, `noise`, and parameters, which are 1 where
    it says nothing; or else any legal pair. Raises ScenarioError where `start` is none.
    """
    found: list[tuple[str, Scenario]] = []
    match result.verdict:
        case AlignmentFails(counterexample=Counterexample(scenario=first, second=None)):
            found.append(("A run that fails", first))
        case AlignmentFails(counterexample=Counterexample(scenario=first, second=Scenario() as second)):
            found += [("The first of two noise vectors", first), ("The second", second)]
        case Verified(dearest=DearestRun(scenario=most)):
            found.append(("A run that costs most", most))
        case AlignmentFails() | Verified() | Unknown() | Error():
            pass
    mechanism = None if isinstance(result.verdict, Error) else result.verdict.mechanism
    if start and mechanism is not None:
        found = [*found, ("A quiet run", _started(mechanism, start))]
    elif mechanism is not None and not found:
        found = [("A run", pair.scenario) for pair in islice(pairs(mechanism), 1)]
    yield from ({"label": label, "scenario": scenario_document(scenario)} for label, scenario in found)


def _started(mechanism: n.Mechanism, start: Mapping[str, Any]) -> Scenario:
    names = [name for item in mechanism.inputs if isinstance(item, n.Queries) for name in item.names]
    values = {
        i.name: Fraction(start.get(i.name, "1")) for i in mechanism.inputs if isinstance(i, n.Parameter)
    }
    data, prime = (
        tuple((name, tuple(map(Fraction, start[side]))) for name in names) for side in ("D", "D_prime")
    )
    noise = tuple((_noise_key(key), Fraction(value)) for key, value in start.get("noise", {}).items())
    scenario = Scenario(tuple(values.items()), data, prime, noise)
    if reasons := check_scenario(mechanism, scenario):
        raise ScenarioError(reasons)
    return scenario


def _noise_key(text: str) -> NoiseKey:
    """`xi[3]` as the variable that it names."""
    name, _, index = text.partition("[")
    return name, int(index[:-1]) if index else None


def program_document(source: Source, mechanism: n.Mechanism) -> Json:
    """The tree of a mechanism, with its callees. Raises NotPlayableError for what the interpreter does
    not know: irrational numbers, draws by densities, claims in δ or ρ, public functions and the like.
    """
    return _Writer(source, mechanism).program()


def scenario_document(scenario: Scenario) -> Json:
    """Inputs and noise, exact numbers as texts."""
    if scenario.functions:
        raise NotPlayableError("public functions")

    def shown(value: Any) -> Json:
        if isinstance(value, tuple):
            return [shown(one) for one in value]
        return value if isinstance(value, bool) else value_text(value)

    return {
        "parameters": {name: shown(value) for name, value in scenario.parameters},
        "data": {name: shown(value) for name, value in scenario.data},
        "data_prime": {name: shown(value) for name, value in scenario.data_prime},
        "noise": {name: shown(value) for name, value in scenario.all_noise()},
    }


def _no(what: str) -> Never:
    raise NotPlayableError(what)


_CALLS = ("abs", "min", "max", "clip", "floor")


class _Writer:
    def __init__(self, source: Source, mechanism: n.Mechanism) -> None:
        self._source = source
        self._mechanism = mechanism
        self._queries = [item for item in mechanism.inputs if isinstance(item, n.Queries)]
        self._public = {item.name for item in mechanism.inputs if not isinstance(item, n.Queries)}

    def program(self) -> Json:
        mechanism = self._mechanism
        if not isinstance(mechanism.claim, n.Pure):
            _no("a claim in δ or ρ")
        for item in self._queries:
            if item.same_index is not None or item.same_direction is not None:
                _no("answers that move with those of another line")
            if item.sort is n.Sort.BOOL:
                _no("answers that are truth values")
        if any(map(renews, shifts_in(mechanism.align))):
            _no("an alignment that puts something else in the place of a draw")
        drawn = {s.name for s in statements_in(mechanism.body) if isinstance(s, n.Sample)}
        return {
            "name": mechanism.name,
            "body": self._block(mechanism.body),
            "align": [self._item(item) for item in mechanism.align],
            "privacy": self._expr(mechanism.privacy),
            "sets": {name: self._expr(e) for name, e in gathered_in_full(mechanism.body).items()},
            "drawn": sorted(drawn),
            "rounds": {name: sorted(selected_around(name, mechanism.body)) for name in sorted(drawn)},
            "uses": {use.name: self._callee(contract_of(use)) for use in mechanism.uses},
            "clauses": [
                [self._expr(item.where), unparse_expr(item.where), self._list_of(item, item.where)]
                for item in mechanism.inputs
                if item.where is not None
            ],
            "queries": [
                {
                    "names": item.names,
                    "sensitivity": None if item.sensitivity is None else self._expr(item.sensitivity),
                    "bound": item.adjacency.row.bound.value,
                    "limits": [] if item.adjacency.free else item.adjacency.limits,
                    "one_way": item.adjacency.one_way,
                    "whole": item.sort is n.Sort.INT,
                    "lattice": None if item.lattice is None else self._expr(item.lattice),
                    "range": None if item.range is None else self._exprs(item.range),
                }
                for item in self._queries
            ],
            "parameters": {
                item.name: item.sort.value for item in mechanism.inputs if isinstance(item, n.Parameter)
            },
        }

    def _callee(self, contract: Contract) -> Json:
        called = _Writer(contract.source, contract.mechanism)
        return {**called.program(), "spent": called._expr(contract.claim)}

    def _list_of(self, item: n.Input, where: n.Expr) -> str | None:
        """The list of whose indices a `where` clause speaks by `i`."""
        named = item.names[0] if isinstance(item, n.Queries) else item.name
        return named if "i" in names_in(where) - self._public else None

    # --- statements -----------------------------------------------------------------------------------------

    def _line(self, node: n.Node) -> int:
        return self._source.position(node.span.start)[0]

    def _block(self, body: Sequence[n.Stmt]) -> list[Json]:
        return [self._statement(statement) for statement in body]

    def _statement(self, statement: n.Stmt) -> Json:
        line = self._line(statement)
        match statement:
            case n.Assign(name=name, value=value):
                chosen = isinstance(value, n.Gather)
                return {
                    "kind": "assign",
                    "name": name,
                    "value": self._expr(value),
                    "line": line,
                    "chosen": chosen,
                }
            case n.Sample(name=name, index=index, family=family, args=args):
                row = family.row
                if row.slope is not Slope.SCALE or row.moves is not Moves.BOTH:
                    _no(f"noise of the family {family.value}")
                return {
                    "kind": "draw",
                    "name": name,
                    "index": None if index is None else self._expr(index),
                    "scale": self._expr(args[0]),
                    "step": self._expr(args[1]) if row.lattice is Lattice.STEP else None,
                    "one_sided": family.one_sided,
                    "line": line,
                }
            case n.If(branches=branches, otherwise=otherwise):
                return {
                    "kind": "if",
                    "branches": [
                        [self._expr(b.test), self._block(b.body), self._line(b.test)] for b in branches
                    ],
                    "otherwise": self._block(otherwise),
                }
            case n.For(index=index, over=over, body=body):
                listed = isinstance(over, n.OverQueries)
                return {
                    "kind": "for",
                    "index": index,
                    "base": over.base if isinstance(over, n.OverQueries) else None,
                    "item": over.item if isinstance(over, n.OverQueries) else None,
                    "range": None if listed else self._range(over),
                    "body": self._block(body),
                }
            case n.Emit(tag=tag):
                shown = [[one.name, self._expr(one.value)] for one in statement.fields]
                return {"kind": "emit", "tag": tag, "fields": shown, "line": line}
            case n.Break():
                return {"kind": "break"}
            case n.Pass():
                return {"kind": "pass"}
            case n.While(test=test, body=body):
                return {
                    "kind": "while",
                    "test": self._expr(test),
                    "body": self._block(body),
                    "line": self._line(test),
                }
            case n.Invoke(rounds=n.Rounds()):
                _no("a call that is repeated")
            case n.Invoke(name=name, mechanism=mechanism, arguments=arguments):
                given = [[each.name, self._expr(each.value)] for each in arguments]
                return {
                    "kind": "call",
                    "name": name,
                    "mechanism": mechanism,
                    "arguments": given,
                    "line": line,
                }
            case n.Choose() | n.Logistic():
                _no("draws by densities")

    def _range(self, over: n.OverQueries | n.OverRange | n.Indices) -> Json:
        if not isinstance(over, n.OverRange):
            _no("a loop over no range")
        return [self._expr(over.low), self._expr(over.high)]

    # --- the alignment --------------------------------------------------------------------------------------

    def _item(self, item: n.AlignItem) -> Json:
        match item:
            case n.Shift(name=name, index=index, op=op, value=value, guard=guard):
                if op not in ("+=", "-=", "="):
                    _no(f"`{op}` in an alignment")
                binder = (
                    index.ident if isinstance(index, n.Name) and index.ident not in self._public else None
                )
                return {
                    "name": name,
                    "binder": binder,
                    "index": None if index is None else self._expr(index),
                    "op": op,
                    "value": self._expr(value),
                    "guard": None if guard is None else self._expr(guard),
                }
            case n.CaseSplit(cases=cases, otherwise=otherwise):
                return {
                    "cases": [
                        [self._expr(one.test), [self._item(inner) for inner in one.items]] for one in cases
                    ],
                    "otherwise": [self._item(inner) for inner in otherwise],
                }

    # --- expressions ----------------------------------------------------------------------------------------

    def _exprs(self, exprs: Sequence[n.Expr]) -> list[Json]:
        return [self._expr(one) for one in exprs]

    def _expr(self, expr: n.Expr) -> Json:
        """The class of a node and its parts, in the order of the class; of the length of a list its name."""
        if isinstance(expr, n.Number):
            return ["Number", str(expr.value)]
        if isinstance(expr, n.Call) and expr.function == "len" and isinstance(expr.args[0], n.Name):
            return ["Length", expr.args[0].ident]
        called = expr.function if isinstance(expr, n.Call | n.Gather) else ""
        if called == n.LOG_SUM or (isinstance(expr, n.Call) and called not in _CALLS):
            _no(f"`{called}`")
        parts = (getattr(expr, each.name) for each in fields(expr) if each.name != "span")
        return [type(expr).__name__, *map(self._part, parts)]

    def _part(self, part: Any) -> Json:
        if isinstance(part, tuple):
            return self._exprs(part)
        if isinstance(part, n.Indices):
            return part.base
        if isinstance(part, n.OverRange):
            return self._range(part)
        return self._expr(part) if isinstance(part, n.Node) else part  # type: ignore[arg-type]

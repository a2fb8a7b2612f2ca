"""Generated code beside the exact interpreter: on the same inputs and noise both must agree."""

from __future__ import annotations

import math
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from recorded_noise import RecordedNoise
from small_specs import named

from aligncheck.compiler.emit.python import emit_python
from aligncheck.compiler.modes import RunMode
from aligncheck.kernel.answer import Accepted
from aligncheck.kernel.witness import Witness
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.contract import contract_of, with_contract
from aligncheck.meaning.exact import Irrational, Number, Value, decimal
from aligncheck.meaning.interpreter import DrawSite, Finished, Input, Run, run
from aligncheck.runtime import AnswersError, Mechanism, Result, row_of
from aligncheck.verdict import Verified


def as_if_verified(mechanism: nodes.Mechanism, route: str = "acyclic") -> Verified:
    """A `Verified` made by hand: the tests are about what compiled code does, proved or not."""
    for use in mechanism.uses:
        called = as_if_verified(contract_of(use).mechanism).mechanism
        known = replace(contract_of(use), mechanism=called, verdict="VERIFIED")
        mechanism = with_contract(mechanism, use.name, known)
    return Verified(mechanism, Witness(), Accepted(route, ()))


def load(text: str) -> type[Mechanism]:
    """The class that a generated module defines."""
    module = types.ModuleType("generated")
    exec(compile(text, "<generated>", "exec", dont_inherit=True), module.__dict__)
    classes = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, Mechanism)]
    called = {callee for c in classes for callee in c.callees}
    (found,) = [c for c in classes if "spec" in vars(c) and c not in called]
    return found


def compiled(mechanism: nodes.Mechanism, mode: RunMode = RunMode.LATTICE) -> type[Mechanism]:
    """The class that the mechanism compiles to."""
    return load(emit_python(as_if_verified(mechanism), mode))


def compiled_spec(stem: str, mode: RunMode = RunMode.LATTICE) -> Any:
    """The same of one of the specs that come with aligncheck."""
    return compiled(named(stem), mode)


@dataclass(frozen=True)
class Case:
    """Inputs by their names in the spec, and raw integers from which draws are made."""

    parameters: Mapping[str, Any]
    data: Mapping[str, Any]
    raw: tuple[int, ...]


class TapeEnded(Exception):  # noqa: N818 - not an error of the program
    """The program wants more draws than the case has."""


def supported(site: DrawSite, raw: int) -> Number:
    """A value in the support of the draw's distribution, dyadic where the step is."""
    family, (scale, *steps) = site.family, site.args
    if family.bounded:
        assert isinstance(scale, Fraction)
        return scale * (abs(raw) % 8) / 8
    if family.coin:
        return Fraction(raw % 2)
    steps = steps or [Fraction(1) if family.discrete else Fraction(1, 4)]
    assert isinstance(steps[0], Fraction)
    return (abs(raw) if family.one_sided else raw) * steps[0]


Made = list[tuple[DrawSite, Number]]
"""The draws of a run, those of called mechanisms among them."""


def interpret(mechanism: nodes.Mechanism, case: Case, made: Made | None = None) -> Run:
    """The exact run of the case; `made` collects the draws. Raises `TapeEnded`."""
    raw: Iterator[int] = iter(case.raw)

    def draw(site: DrawSite) -> Number:
        value = next(raw, None)
        if value is None:
            raise TapeEnded
        drawn = supported(site, value)
        if made is not None:
            made.append((site, drawn))
        return drawn

    functions = {f.name: lambda args, f=f: _applied(f, args) for f in mechanism.functions}
    return run(mechanism, _inputs(case.parameters), _inputs(case.data), draw, functions=functions)


def _applied(function: nodes.Function, args: tuple[Any, ...]) -> Any:
    """Some public function: a sum with weights, or a comparison."""
    total = sum((place + 1) * arg for place, arg in enumerate(args))
    return total > 0 if function.result is nodes.Sort.BOOL else total


def run_generated(
    mechanism: nodes.Mechanism, cls: type[Mechanism], case: Case, draws: list[Fraction]
) -> tuple[Result[Any], RecordedNoise]:
    """The generated mechanism's run on the case with these draws."""
    noise = RecordedNoise(draws)
    runs: Any = constructed(mechanism, cls, case).with_noise(noise)
    return runs(*(case.data[q.name] for q in cls.spec.queries)), noise


def as_declared(cls: type[Mechanism], mechanism: nodes.Mechanism, case: Case) -> bool:
    """Whether the answers are in their declared ranges and on their lattices."""
    if not cls.spec.queries:
        return True
    try:
        constructed(mechanism, cls, case).check(*(case.data[q.name] for q in cls.spec.queries))
    except AnswersError:
        return False
    return True


def constructed(mechanism: nodes.Mechanism, cls: type[Mechanism], case: Case) -> Any:
    """An object of the generated class with the parameters of the case."""
    keywords = {p.keyword: case.parameters[p.name] for p in cls.spec.parameters}
    declared = {f.name: f for f in mechanism.functions}
    for info in cls.spec.functions:
        keywords[info.keyword] = lambda *args, f=declared[info.name]: _applied(f, args)
    return cls(**keywords)


def check_agreement(mechanism: nodes.Mechanism, cls: type[Mechanism], case: Case) -> bool:
    """Compares outputs, draws, their order and scales. False where the spec itself has no run here, or where
    a run would take answers for others, since they are not as declared.

    Raises `AssertionError` where they differ.
    """
    made: Made = []
    try:
        exact = interpret(mechanism, case, made)
    except TapeEnded:
        return False
    if not isinstance(exact.ended, Finished):
        return False
    if not as_declared(cls, mechanism, case):
        return False
    draws = [value for _, value in made]
    assert all(isinstance(value, Fraction) for value in draws)
    given = [value for value in draws if isinstance(value, Fraction)]
    result, noise = run_generated(mechanism, cls, case, given)
    assert len(noise.drawn) == len(draws), "a different number of draws"
    for drawn, (expected, taken) in zip(noise.drawn, made, strict=True):
        assert drawn.family == expected.family.value
        assert drawn.value == taken
        assert all(map(agree, drawn.args, expected.args)), (drawn.args, expected.args)
    assert [record.tag for record in result.records] == [record.tag for record in exact.output]
    for got, record in zip(result.records, exact.output, strict=True):
        fields = row_of(got)
        assert list(fields) == [name for name, _ in record.fields]
        for name, value in record.fields:
            assert agree(fields[name], value), (record.tag, name, fields[name], value)
    return True


def agree(got: Fraction | float, expected: Value) -> bool:
    """Equal; where one side had to be rounded, equal up to rounding."""
    if isinstance(got, bool) or isinstance(expected, bool):
        return got is expected
    if isinstance(expected, Irrational):
        return math.isclose(float(got), float(decimal(expected, 15)), rel_tol=1e-11)
    if isinstance(got, float):
        return math.isclose(got, float(expected), rel_tol=1e-11, abs_tol=1e-11)
    if got.denominator.bit_length() > 64:  # computed near an irrational number, by way of which it is exact
        return abs(got - expected) <= abs(expected) / 2**80
    return got == expected


def _inputs(values: Mapping[str, Any]) -> dict[str, Input]:
    return {n: tuple(map(_exact, v)) if isinstance(v, list) else _exact(v) for n, v in values.items()}


def _exact(value: Any) -> Value:
    return value if isinstance(value, bool) else Fraction(value)

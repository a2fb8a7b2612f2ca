"""Random programs that select: on arrays or one by one, generated code does what the interpreter does."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import Case, as_if_verified, check_agreement, compiled, interpret
from recorded_noise import RecordedNoise

from aligncheck.compiler.emit import python
from aligncheck.compiler.emit.python import emit_python
from aligncheck.compiler.emit.vectorise import Lists
from aligncheck.language.families import Family
from aligncheck.language.syntax import nodes as n
from aligncheck.meaning.interpreter import Finished
from aligncheck.runtime import Mechanism, Result, SelectionError
from aligncheck.runtime.reals import Real

ROOT = Path(__file__).parents[2]


# Selections on arrays and one by one, draws at once and one by one, as they are written.
FORMS = (
    *("argmax(", "argmin(", "greatest(", "least(", "top(", "upto(", "vector(", "indices(", "members("),
    *("minimum(", "maximum(", "clipped(", "where=", " & ", " | ", "~"),
    *("argmax_of(", "argmin_of(", "max_of(", "min_of(", "top_of(", "upto_of("),
    *("noise.laplaces(", "noise.exponentials(", "noise.geometrics(", "noise.discrete_laplaces("),
    *("noise.laplace(", "noise.discrete_laplace("),
)


def any_of(rng: random.Random, *choices: n.Expr) -> n.Expr:
    return rng.choice(choices)


def num(value: int | Fraction) -> n.Number:
    return n.Number(Fraction(value))


def length_of(name: str) -> n.Call:
    return n.Call("len", (n.Name(name),))


class Programs:
    """Builds random mechanisms: draws for every index, selections from them, and records of what they gave.

    Most selections are from sets that are not empty; the others have no run in the interpreter either.
    """

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.noise: list[str] = []
        self.selections: list[str] = []
        self.numbers = ["t", "x"]

    def mechanism(self) -> n.Mechanism:
        inputs: tuple[n.Input, ...] = (
            n.Parameter("t", n.Sort.REAL),
            n.Parameter("k", n.Sort.INT),
            n.Parameter("strict", n.Sort.BOOL),
            n.PublicVector("b", n.Sort.REAL),
            n.PublicVector("ok", n.Sort.BOOL),
            n.Queries(("q",), True, n.Sort.REAL, n.Adjacency.ALL, num(1)),
            n.Queries(("z",), True, n.Sort.INT, n.Adjacency.ALL, num(1)),
            n.Queries(("x",), False, n.Sort.REAL, n.Adjacency.ALL, num(1)),
        )
        body: list[n.Stmt] = []
        for name in self.rng.sample(["eta", "xi", "zeta"], self.rng.randint(1, 2)):
            body += self.draws(name)
        for name in self.rng.sample(["best", "winner", "chosen", "other"], 3):
            body += self.selection(name)
        return n.Mechanism("generated", "", (), inputs, n.Pure(num(1)), tuple(body), ())

    def case(self) -> Case:
        """Few different values, so that there are ties."""
        rng = self.rng
        length = rng.randint(1, 4)
        quarters = [Fraction(rng.randint(-2, 2), 4) for _ in range(2 * length + 2)]
        parameters = {
            "t": quarters[-1],
            "k": rng.randint(0, min(2, length)),
            "strict": rng.random() < 0.5,
            "b": quarters[:length],
            "ok": [rng.random() < 0.8 for _ in range(length)],
        }
        whole = [rng.randint(-1, 1) for _ in range(length)]
        data = {"q": quarters[length : 2 * length], "z": whole, "x": quarters[-2]}
        return Case(parameters, data, tuple(rng.randint(-2, 2) for _ in range(40)))

    def draws(self, name: str) -> list[n.Stmt]:
        rng = self.rng
        scale = any_of(
            rng,
            n.Binary("+", n.Call("abs", (n.Name("t"),)), num(1)),
            n.Binary("/", num(2), n.Binary("+", n.Name("k"), num(1))),
            n.Binary("+", n.Call("abs", (n.Index("b", n.Name("i")),)), num(1)),
        )
        families = [
            Family.LAPLACE,
            Family.CAUCHY,
            Family.EXPONENTIAL,
            Family.DISCRETE_LAPLACE,
            Family.GEOMETRIC,
        ]
        family = rng.choice(families)
        args: tuple[n.Expr, ...] = (scale,)
        match family:
            case Family.GEOMETRIC:
                args = (num(Fraction(1, 2)),)
            case Family.DISCRETE_LAPLACE:
                args = (scale, rng.choice([num(1), num(Fraction(1, 2))]))
            case _:
                pass
        over: n.OverQueries | n.OverRange = n.OverRange(num(0), length_of("q"))
        if rng.random() < 0.5:
            over = n.OverQueries("q", "y")
        self.noise.append(name)
        return [n.For("i", over, (n.Sample(name, n.Name("i"), family, args),))]

    def selection(self, name: str) -> list[n.Stmt]:
        rng = self.rng
        function = rng.choice([each for each in n.GATHERS if each != n.LISTING])
        over: n.Indices | n.OverRange = n.Indices(rng.choice(["q", "q", "b", "z"]))
        if rng.random() < 0.4:
            over = n.OverRange(num(rng.choice([0, 0, 1])), length_of(rng.choice(["q", "z"])))
        where = None if rng.random() < 0.4 else self.test(2)
        count = any_of(rng, n.Name("k"), num(1), num(0)) if function in n.SELECTING else None
        body = self.value(2)
        statements: list[n.Stmt] = [n.Assign(name, n.Gather(function, count, body, "j", over, where))]
        if function not in n.SELECTING:
            self.numbers.append(name)
            return [*statements, n.Emit("value", (n.EmitField(name, n.Name(name)),))]
        self.selections.append(name)
        emit = n.Emit("index", (n.EmitField("at", n.Index(name, n.Name("r"))),))
        test = n.Member(num(0), name)
        inside = n.If((n.Branch(test, (n.Emit("first", ()),)),), (n.Emit("later", ()),))
        size = n.Emit("size", (n.EmitField("size", length_of(name)),))
        return [*statements, n.For("r", n.OverRange(num(0), length_of(name)), (emit,)), inside, size]

    def entry(self) -> n.Expr:
        name = self.rng.choice(["q", "q", "b", "z", *self.noise, *self.noise, *self.noise])
        return n.Index(name, n.Name("j"))

    def value(self, depth: int) -> n.Expr:
        rng = self.rng
        if depth == 0 or rng.random() < 0.2:
            return self.entry()
        a, b = self.value(depth - 1), self.value(depth - 1)
        match rng.randint(0, 9):
            case 0 | 1 | 2:
                return n.Binary(rng.choice("+-"), a, b)
            case 3:
                return n.Binary(rng.choice("+-*"), self.scalar(), a)
            case 4:
                return n.Binary("/", a, rng.choice([num(2), num(Fraction(1, 2)), num(3)]))
            case 5:
                return n.Unary("-", a)
            case 6:
                return n.Call(
                    rng.choice(["min", "max"]), (self.entry(), any_of(rng, self.entry(), self.scalar()))
                )
            case 7:
                return n.Call("clip", (a, num(-1), num(Fraction(1, 2))))
            case 8:
                return n.Call("abs", (a,))
            case _:
                return n.Conditional(self.test(0), a, b)

    def scalar(self) -> n.Expr:
        entry = n.Index("q", num(0))
        quotient = n.Binary("/", n.Name("t"), n.Binary("+", n.Name("k"), num(1)))
        return any_of(self.rng, num(2), entry, quotient, *(n.Name(name) for name in (*self.numbers, "k")))

    def test(self, depth: int) -> n.Expr:
        rng = self.rng
        if depth and rng.random() < 0.6:
            parts = (self.test(depth - 1), self.test(depth - 1))
            return any_of(rng, n.Unary("not", parts[0]), n.Logic("and", parts), n.Logic("or", parts))
        one: n.Expr = n.Name("j")
        match rng.randint(0, 6):
            case 0:
                return n.Index("ok", one)
            case 1 | 2 if self.selections:
                member = n.Member(one, rng.choice(self.selections))
                return n.Unary("not", member) if rng.random() < 0.5 else member
            case 3:
                return n.Compare(rng.choice(["!=", "<="]), one, any_of(rng, n.Name("k"), num(1)))
            case 4:
                return any_of(rng, n.Name("strict"), n.Boolean(True))
            case _:
                return n.Compare(rng.choice(["<", "<=", ">", ">=", "!="]), self.entry(), self.scalar())


class FloatTape(RecordedNoise):
    """Floats where `FloatingNoise` gives them, from a tape."""

    def answer(self, value: Fraction | float, exact: bool = False) -> Real:
        return float(value)

    def answers(self, values: Iterable[Fraction | float], exact: bool = False) -> list[Real]:
        return [float(value) for value in values]

    def laplace(self, scale: Real) -> Real:
        return float(super().laplace(scale))

    def exponential(self, scale: Real) -> Real:
        return float(super().exponential(scale))


def one_by_one(mechanism: n.Mechanism, monkeypatch: pytest.MonkeyPatch) -> type[Mechanism]:
    """The mechanism compiled without arrays."""
    with monkeypatch.context() as patch:
        patch.setattr(python, "lists_of", lambda mechanism: Lists())
        return compiled(mechanism)


def outcome(cls: type[Mechanism], case: Case, noise: RecordedNoise) -> object:
    """What a run released, with the types of all numbers; or that it could not go on."""
    built: Any = cls(**case.parameters)
    try:
        result: Result[Any] = built.with_noise(noise)(*(case.data[q.name] for q in cls.spec.queries))
    except SelectionError:
        return "too few indices"
    fields = [[getattr(r, name) for name in r.__dataclass_fields__] for r in result.records]
    return [r.tag for r in result.records], fields, [[type(v) for v in row] for row in fields]


@given(st.integers(0, 2**32))
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_selections_agree_with_the_interpreter(seed: int) -> None:
    programs = Programs(seed)
    mechanism = programs.mechanism()
    cls = compiled(mechanism)
    for _ in range(4):
        check_agreement(mechanism, cls, programs.case())


def test_arrays_of_floats_give_what_single_floats_give(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    for seed in range(150):
        programs = Programs(seed)
        mechanism = programs.mechanism()
        at_once, singly = compiled(mechanism), one_by_one(mechanism, monkeypatch)
        for _ in range(4):
            case = programs.case()
            draws = [abs(raw) for raw in case.raw]
            got = outcome(at_once, case, FloatTape(draws))
            assert got == outcome(singly, case, FloatTape(draws))
            compared += isinstance(got, tuple)
    assert compared > 200


def test_random_selections_reach_all_forms() -> None:
    """The agreement tests say something only if most cases run to their end, and both forms occur."""
    texts = []
    ran = 0
    for seed in range(300):
        programs = Programs(seed)
        mechanism = programs.mechanism()
        texts.append(emit_python(as_if_verified(mechanism)))
        case = programs.case()
        ran += isinstance(interpret(mechanism, case).ended, Finished)
    assert ran > 150
    text = "\n".join(texts)
    for written in FORMS:
        assert len(re.findall(re.escape(written), text)) >= 5, written


def test_random_selections_are_formatted(tmp_path: Path) -> None:
    for seed in range(80):
        text = emit_python(as_if_verified(Programs(seed).mechanism()))
        (tmp_path / f"m{seed}.py").write_text(text, "utf-8")
    options = ["--isolated", "--line-length", "110", "--diff", "."]
    command = [sys.executable, "-m", "ruff", "format", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_random_selections_are_typed(tmp_path: Path) -> None:
    for seed in range(40):
        text = emit_python(as_if_verified(Programs(seed).mechanism()))
        (tmp_path / f"m{seed}.py").write_text(text, "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "."]
    environment = {"PYTHONPATH": str(ROOT), "MYPYPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout

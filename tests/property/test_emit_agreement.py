"""Random programs over all constructs: generated code does what the interpreter does, and is formatted."""

from __future__ import annotations

import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import Case, as_if_verified, check_agreement, compiled

from aligncheck.compiler.emit.python import emit_python
from aligncheck.language.families import Family
from aligncheck.language.syntax import nodes as n

ROOT = Path(__file__).parents[2]

# Words that mean something to Python, to the generated file, or to neither.
WORDS = [
    *("lambda", "sum", "self", "noise", "release", "Fraction", "seed", "print", "list", "type", "match"),
    *("Real", "spec", "x", "y", "count", "real", "with_noise", "range_", "None_", "T", "exp"),
]
FIELDS = ["value", "tag", "lambda", "class", "used", "int", "field", "gap"]
TAGS = ["top", "below", "none", "exception", "result", "real"]


def any_of(rng: random.Random, *choices: n.Expr) -> n.Expr:
    return rng.choice(choices)


def num(value: int | Fraction) -> n.Number:
    return n.Number(Fraction(value))


class Programs:
    """Builds random mechanisms whose every operation is defined."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        words = self.rng.sample(WORDS, len(WORDS))
        self.real, self.whole, self.truth, self.reals, self.q, self.z, self.one = (
            words.pop() for _ in range(7)
        )
        self.words = words
        self.draws = 0
        self.loops: list[str] = []

    def mechanism(self) -> n.Mechanism:
        inputs: tuple[n.Input, ...] = (
            n.Parameter(self.real, n.Sort.REAL),
            n.Parameter(self.whole, n.Sort.INT, n.Compare(">=", n.Name(self.whole), num(0))),
            n.Parameter(self.truth, n.Sort.BOOL),
            n.PublicVector(self.reals, n.Sort.REAL),
            n.Queries((self.q,), True, n.Sort.REAL, n.Adjacency.ALL, num(1)),
            n.Queries((self.z,), True, n.Sort.INT, n.Adjacency.ALL, num(1)),
            n.Queries((self.one,), False, n.Sort.REAL, n.Adjacency.ALL, num(1)),
        )
        numbers: list[n.Expr] = [n.Name(self.real), n.Name(self.whole), n.Name(self.one)]
        body = self.block(numbers, 3, 5)
        return n.Mechanism("generated", "", (), inputs, n.Pure(num(1)), body, ())

    def case(self) -> Case:
        rng = self.rng
        length = rng.randint(1, 3)
        parameters = {
            self.real: rng.choice([Fraction(1, 2), Fraction(3), Fraction(-5, 4)]),
            self.whole: rng.randint(0, 4),
            self.truth: rng.random() < 0.5,
            self.reals: [Fraction(rng.randint(-6, 6), 2) for _ in range(length)],
        }
        data = {
            self.q: [Fraction(rng.randint(-8, 8), 4) for _ in range(length)],
            self.z: [rng.randint(-3, 3) for _ in range(length)],
            self.one: Fraction(rng.randint(-8, 8), 2),
        }
        return Case(parameters, data, tuple(rng.randint(-9, 9) for _ in range(200)))

    # --- expressions ---

    def number(self, names: list[n.Expr], depth: int) -> n.Expr:
        rng = self.rng
        if depth == 0 or rng.random() < 0.25:
            literal = Fraction(rng.choice([0, 4, 8, 12, 2, -3, -4]), 4)
            return rng.choice([*names, *names, num(literal), n.Call("len", (n.Name(self.q),))])
        a, b = self.number(names, depth - 1), self.number(names, depth - 1)
        positive = n.Binary("+", n.Call("abs", (b,)), num(1))
        match rng.randint(0, 12):
            case 0 | 1 | 2:
                return n.Binary(rng.choice("+-*"), a, b)
            case 3:
                return n.Binary("/", a, positive)
            case 4:
                return n.Binary("/", any_of(rng, num(1), n.Name(self.whole)), any_of(rng, num(2), num(3)))
            case 5:
                return n.Binary("%", a, positive)
            case 6:
                return n.Binary("**", a, num(rng.randint(0, 2)))
            case 7:
                return n.Binary("**", n.Name(self.whole), num(3))
            case 8:
                return n.Call(rng.choice(["min", "max"]), (a, b))
            case 9:
                return n.Call("clip", (a, num(-1), positive))
            case 10:
                return any_of(rng, n.Call("floor", (a,)), n.Call("abs", (a,)), n.Unary("-", a))
            case 11:
                return rng.choice(
                    [n.Call("sqrt", (num(4),)), n.Call("log2", (num(8),)), n.Call("ln", (num(1),))]
                )
            case _:
                return n.Conditional(self.test(names, depth - 1), a, b)

    def test(self, names: list[n.Expr], depth: int) -> n.Expr:
        rng = self.rng
        if depth == 0 or rng.random() < 0.5:
            op = rng.choice(["==", "!=", "<", "<=", ">", ">="])
            return n.Compare(op, self.number(names, 1), self.number(names, 1))
        parts = (self.test(names, depth - 1), self.test(names, depth - 1))
        match rng.randint(0, 3):
            case 0:
                return n.Unary("not", parts[0])
            case 1:
                return any_of(rng, n.Name(self.truth), n.Boolean(rng.random() < 0.5))
            case 2:
                return n.Compare(rng.choice(["==", "!="]), *parts)
            case _:
                return n.Logic(rng.choice(["and", "or"]), parts)

    # --- statements ---

    def block(self, names: list[n.Expr], depth: int, size: int) -> tuple[n.Stmt, ...]:
        names = list(names)
        body: list[n.Stmt] = []
        for _ in range(self.rng.randint(1, size)):
            body += self.statement(names, depth)
        return tuple(body)

    def statement(self, names: list[n.Expr], depth: int) -> list[n.Stmt]:
        rng = self.rng
        match rng.randint(0, 9 if depth else 4):
            case 0 | 1:
                name = rng.choice(self.words[:6])
                assign = n.Assign(name, self.number(names, 2))
                names.append(n.Name(name))
                return [assign]
            case 2 | 3:
                sample = self.sample(names)
                names.append(self.drawn(sample))
                return [sample]
            case 4:
                fields = rng.sample(FIELDS, rng.randint(0, 3))
                return [
                    n.Emit(rng.choice(TAGS), tuple(n.EmitField(f, self.number(names, 2)) for f in fields))
                ]
            case 5 | 6:
                arms = tuple(
                    n.Branch(self.test(names, 2), self.block(names, depth - 1, 2))
                    for _ in range(rng.randint(1, 2))
                )
                return [n.If(arms, self.block(names, depth - 1, 2) if rng.random() < 0.5 else ())]
            case 7 | 8:
                return [self.loop(names, depth)]
            case _:
                counter = self.fresh()
                step = n.Assign(counter, n.Binary("+", n.Name(counter), num(1)))
                test = n.Logic("and", (n.Compare("<", n.Name(counter), num(2)), self.test(names, 1)))
                self.loops.append(counter)
                body = (step, *self.block([*names, n.Name(counter)], 0, 2), *self.leave(names))
                self.loops.pop()
                return [n.Assign(counter, num(0)), n.While(test, body)]

    def loop(self, names: list[n.Expr], depth: int) -> n.For:
        index, item = self.fresh(), self.fresh()
        over: n.OverQueries | n.OverRange
        if self.rng.random() < 0.6:
            over = n.OverQueries(self.rng.choice([self.q, self.z, self.reals]), item)
        else:
            over = n.OverRange(num(self.rng.randint(0, 1)), n.Call("len", (n.Name(self.z),)))
        inside = [*names, n.Name(index), n.Index(self.rng.choice([self.q, self.z]), n.Name(index))]
        if isinstance(over, n.OverQueries):
            inside.append(n.Name(item))
        self.loops.append(index)
        body = (*self.block(inside, depth - 1, 3), *self.leave(inside))
        self.loops.pop()
        return n.For(index, over, body)

    def leave(self, names: list[n.Expr]) -> tuple[n.Stmt, ...]:
        return (n.If((n.Branch(self.test(names, 1), (n.Break(),)),), (n.Pass(),)),)

    def sample(self, names: list[n.Expr]) -> n.Sample:
        """A variable of its own; in loops it is indexed by all their indices, so that each is drawn once."""
        self.draws += 1
        index: n.Expr | None = None
        for loop in self.loops:
            index = (
                n.Name(loop) if index is None else n.Binary("+", n.Binary("*", index, num(10)), n.Name(loop))
            )
        scale = n.Binary("+", n.Call("abs", (self.number(names, 1),)), num(Fraction(1, 2)))
        family, args = self.rng.choice(list(Family)), tuple[n.Expr, ...]()
        match family:
            case Family.GEOMETRIC:
                p = n.Binary("-", num(1), n.Call("exp", (n.Unary("-", n.Name(self.real)),)))
                args = (n.Conditional(n.Compare(">", n.Name(self.real), num(0)), p, num(Fraction(1, 3))),)
            case Family.BERNOULLI:
                odds = n.Binary("/", num(1), n.Binary("+", num(1), n.Call("exp", (n.Name(self.real),))))
                args = (n.Conditional(n.Compare(">", n.Name(self.real), num(0)), odds, num(Fraction(1, 3))),)
            case Family.STAIRCASE:
                args = (num(Fraction(2, 3)), scale, num(Fraction(1, 3)))
            case Family.DISCRETE_LAPLACE | Family.DISCRETE_EXPONENTIAL | Family.DISCRETE_GAUSSIAN:
                args = (scale, self.rng.choice([num(1), num(2), num(Fraction(1, 2))]))
            case _:
                args = (scale,)
        return n.Sample(f"eta{self.draws}", index, family, args)

    def drawn(self, sample: n.Sample) -> n.Expr:
        return n.Name(sample.name) if sample.index is None else n.Index(sample.name, sample.index)

    def fresh(self) -> str:
        return self.words.pop() if len(self.words) > 6 else f"v{self.rng.randint(0, 10**9)}"


@given(st.integers(0, 2**32))
@settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow])
def test_generated_code_agrees_with_the_interpreter(seed: int) -> None:
    programs = Programs(seed)
    mechanism = programs.mechanism()
    cls = compiled(mechanism)
    for _ in range(3):
        check_agreement(mechanism, cls, programs.case())


def test_random_programs_reach_all_of_the_language() -> None:
    """The agreement test says something only if most cases run to their end, and all constructs occur."""
    kinds: set[str] = set()
    ran = 0
    for seed in range(60):
        programs = Programs(seed)
        mechanism = programs.mechanism()
        kinds |= {kind for kind in vars(n) if f"{kind}(" in repr(mechanism)}
        ran += check_agreement(mechanism, compiled(mechanism), programs.case())
    assert ran >= 50
    assert kinds >= {
        "Assign",
        "Sample",
        "If",
        "For",
        "While",
        "Emit",
        "Break",
        "Pass",
        "OverQueries",
        "OverRange",
    }
    assert kinds >= {
        "Number",
        "Boolean",
        "Name",
        "Index",
        "Call",
        "Unary",
        "Binary",
        "Compare",
        "Logic",
        "Conditional",
    }


def test_random_programs_are_formatted(tmp_path: Path) -> None:
    for seed in range(60):
        mechanism = Programs(seed).mechanism()
        (tmp_path / f"m{seed}.py").write_text(emit_python(as_if_verified(mechanism)), "utf-8")
    command = [
        sys.executable,
        "-m",
        "ruff",
        "format",
        "--diff",
        "--config",
        str(ROOT / "pyproject.toml"),
        ".",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout

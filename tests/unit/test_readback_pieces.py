"""The pieces of the reader of generated code, beside what Python itself computes."""

from __future__ import annotations

import ast
import math
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from small_specs import mechanism

from aligncheck.compiler.readback.normal import conjuncts, normal, normal_body, occurrences
from aligncheck.compiler.readback.number_kinds import Given, NumberKind, constant, kind_of, kinds_of
from aligncheck.compiler.readback.python_expressions import Expressions, is_total
from aligncheck.compiler.readback.python_patterns import ReadError, match, text, without_docstring
from aligncheck.compiler.readback.shown import refuse_labels
from aligncheck.compiler.readback.statements import RecordLabel, RecordType, Statements
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import statements_in
from aligncheck.meaning.interpreter import RunScope, Stopped, evaluate
from aligncheck.runtime import clip

NAMES = ("a", "b", "x")
OF = {"a": NumberKind.INT, "b": NumberKind.INT, "x": NumberKind.REAL}
SOME = list(product((-3, 0, 2), (1, 3), (Fraction(1, 3), Fraction(5, 2))))
PYTHON = [
    "a + b * x",
    "a - b - x",
    "a - (b - x)",
    "-a ** 2",
    "(-a) ** 2",
    "a % b",
    "-a % b",
    "x / b",
    "a / x",
    "Fraction(a, b)",
    "Fraction(a) / b",
    "abs(a - b)",
    "min(a, b, x)",
    "max(a, x)",
    "clip(x, 1, 2)",
    "math.floor(x)",
    "math.floor(x) % b",
    "a if a > b else x",
    "(a if a > 0 else b) if x < 1 else -x",
    "1 if a < b and not x == 2 else 0",
    "1 if a <= b or x != b and a >= 0 else 0",
    "1 if not (a < b or b < x) else 0",
]


def python(code: str) -> ast.expr:
    return ast.parse(code, mode="eval").body


def read(code: str) -> n.Expr:
    return Expressions({name: name for name in NAMES}, exact=True).read(python(code))


def run(code: str, values: tuple[Any, ...]) -> Any:
    known = {"Fraction": Fraction, "clip": clip, "math": math}
    return eval(code, known, dict(zip(NAMES, values, strict=True)))


def meaning(expr: n.Expr, values: tuple[Any, ...]) -> Any:
    return evaluate(expr, RunScope(dict(zip(NAMES, map(Fraction, values), strict=True))))


@pytest.mark.parametrize("code", PYTHON)
def test_what_is_read_is_what_python_computes(code: str) -> None:
    """And its kind is that of Python's number; a fraction's `as a fraction` is no word of the language."""
    expr = read(code)
    kind = kind_of(expr, OF)
    for values in SOME:
        value = run(code, values)
        assert meaning(normal(expr), values) == value
        if kind is not NumberKind.NUMBER:
            assert isinstance(value, int) is (kind is NumberKind.INT)


@pytest.mark.parametrize(
    "code",
    [
        "a // b",
        "a ** b",
        "a << 1",
        "a < b < x",
        "a is b",
        "a and 1.5",
        "1.5",
        "'a'",
        "None",
        "unknown",
        "lambda: a",
        "(a := 1)",
        "[a][0]",
        "x.numerator",
        "f'{a}'",
        "min(a)",
        "min([a, b])",
        "max(a, b, key=abs)",
        "abs(a, b)",
        "clip(*x)",
        "Fraction(a, b, x)",
        "__import__('os')",
        "a @ b",
        "~a",
        "+a",
    ],
)
def test_what_is_not_of_the_language_is_refused(code: str) -> None:
    with pytest.raises(ReadError):
        read(code)


def test_one_way_of_writing_means_the_same() -> None:
    forms = ["--a", "1/2 + x", "clip(a, 0, b)", "a if (a < b and (b < x and x < 9)) else b", "-(3) * a"]
    for code, values in product(forms, SOME):
        expr = read(code)
        assert meaning(normal(expr), values) == meaning(expr, values)
        assert normal(normal(expr)) == normal(expr)
    assert len(list(conjuncts("and", (read("a < b and (b < x and x < 9)"),)))) == 3


def test_a_constant_may_be_made_a_fraction() -> None:
    """See `test_forms_pieces` for all others."""
    assert constant(read("Fraction(Fraction(1), 3) - 1")) == Fraction(-2, 3)
    assert constant(read("Fraction(a, 3) - 1")) is None


@pytest.mark.parametrize("code", [*PYTHON, "1 / a", "a % a", "1 / (2 - 2)", "x ** 2"])
def test_what_is_total_always_has_a_value(code: str) -> None:
    expr = read(code)
    if is_total(expr):
        for values in SOME:
            meaning(normal(expr), values)
    elif code == "1 / a":
        with pytest.raises(Stopped):
            meaning(expr, (0, 1, Fraction(1)))


def test_kinds_rise_until_they_hold_everything() -> None:
    one = n.Number(Fraction(1))
    given: list[Given] = [
        ("s", n.Name("t")),
        ("t", one),
        ("t", n.Binary("/", one, n.Number(Fraction(2)))),
        ("u", one),
    ]
    assert kinds_of(given) == {"s": NumberKind.NUMBER, "t": NumberKind.NUMBER, "u": NumberKind.INT}


# --- patterns ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "code", "holes"),
    [
        ("f(_A, 1)", "f(x + 1, 1)", {"A": "x + 1"}),
        ("f(_A, *_B)", "f(x, y, z)", {"A": "x", "B": ["y", "z"]}),
        ("f(_A, _A)", "f(x, x)", {"A": "x"}),
        ("f(_A, _A)", "f(x, y)", None),
        ("f(1)", "f(True)", None),
        ("f(1)", "f(1.0)", None),
        ("f(_A)", "f(*x)", None),
        ("f(_A, *_B)", "f(x, *y)", None),
        ("f(_A)", "f(x, key=1)", None),
        ("f(_A)", "g(x)", None),
        ("f(_A)", "f(x).y", None),
        ("_A < _B", "x <= y", None),
    ],
)
def test_a_pattern_fits_what_is_equal_but_for_its_holes(pattern: str, code: str, holes: Any) -> None:
    found = match(pattern, python(code))
    if holes is None:
        assert found is None
    else:
        assert found is not None
        written = {
            k: [*map(ast.unparse, v)] if isinstance(v, list) else ast.unparse(v) for k, v in found.items()
        }
        assert written == holes


def test_texts_and_documentation() -> None:
    assert text(python("'a'")) == "a"
    with pytest.raises(ReadError):
        text(python("1"))
    assert len(without_docstring(ast.parse("'''says'''\nx = 1").body)) == 1


# --- programs ---------------------------------------------------------------------------------------------


def test_an_index_that_nothing_reads_is_none() -> None:
    zero, end = n.Number(Fraction(0)), n.Call("len", (n.Name("q"),))

    def loop(index: str | None, *fields: n.EmitField) -> tuple[n.Stmt, ...]:
        return (n.For(index, n.OverRange(zero, end), (n.Emit("a", fields),)),)

    field = n.EmitField("v", n.Name("i"))
    assert normal_body(loop("i")) == normal_body(loop(None)) == normal_body(loop("j"))
    assert normal_body(loop("i", field)) not in (normal_body(loop("i")), normal_body(loop("j", field)))
    entries = (n.For(None, n.OverQueries("q", "x"), (n.Emit("a", ()),)),)
    assert normal_body(entries) == normal_body(loop("i"))
    assert occurrences(loop("i", field))["i"] == 2


def test_statements_are_never_dropped_or_put_in_another_order() -> None:
    one, two = n.Assign("s", n.Number(Fraction(1))), n.Assign("s", n.Number(Fraction(2)))
    assert normal_body((one, two)) != normal_body((two, one))
    assert normal_body((one, two)) != normal_body((two,))
    drawn = tuple(n.Sample("eta", None, n.Family.LAPLACE, (n.Number(Fraction(k)),)) for k in (1, 2))
    assert normal_body(drawn) != normal_body(drawn[::-1])


def block(code: str) -> tuple[n.Stmt, ...]:
    names = ("a", "b", "x", "s", "i", "eta")
    scope = Expressions({name: name for name in names}, exact=True)
    statements = Statements(
        scope,
        lattice=False,
        noisy=True,
        passes_step=False,
        records={"Noisy": RecordType("noisy", (("value", "value"),))},
        callees={},
        streams=False,
        variables=frozenset(("s", "i", "eta")),
    )
    return statements.block(ast.parse(code).body)


def test_statements_are_read_in_order() -> None:
    code = """
eta = noise.laplace(a / x)
if eta > b:
    s = 1
elif a > b:
    s = 2
else:
    release.emit(Noisy(value=eta + x))
for i in range(a):
    while s < b:
        s = s + i
        break
"""
    read_, (eta, a, b, s, x) = block(code), map(n.Name, ("eta", "a", "b", "s", "x"))
    one, two, i = n.Number(Fraction(1)), n.Number(Fraction(2)), n.Name("i")
    add = n.Assign("s", n.Binary("+", s, i))
    emit = n.Emit("noisy", (n.EmitField("value", n.Binary("+", eta, x)),))
    tests = n.Compare(">", eta, b), n.Compare(">", a, b)
    arms = tuple(n.Branch(t, (n.Assign("s", v),)) for t, v in zip(tests, (one, two), strict=True))
    assert read_ == (
        n.Sample("eta", None, n.Family.LAPLACE, (n.Binary("/", a, x),)),
        n.If(arms, (emit,)),
        n.For("i", n.OverRange(n.Number(Fraction(0)), a), (n.While(n.Compare("<", s, b), (add, n.Break())),)),
    )


@pytest.mark.parametrize(
    "code",
    [
        "s += 1",
        "s = t = 1",
        "a = 1",
        "unknown = 1",
        "return s",
        "del s",
        "import os",
        "global s",
        "pass; continue",
        "eta = noise.laplace(a, b)",
        "eta = noise.gauss(a)",
        "eta = noise.laplace(a, scale=b)",
        "eta = other.laplace(a)",
        "s = noise.laplace(a) + 1",
        "release.emit(Noisy(value=1, other=2))",
        "release.emit(Other(value=1))",
        "release.emit(Noisy(1))",
        "release.emit(Noisy(value=1), 2)",
        "print(a)",
        "for i in range(a):\n    pass\nelse:\n    pass",
        "while s < b:\n    pass\nelse:\n    pass",
        "for i in [a, b]:\n    pass",
        "with a:\n    pass",
        "try:\n    pass\nfinally:\n    pass",
        "def f():\n    pass",
    ],
)
def test_what_is_no_statement_of_the_language_is_refused(code: str) -> None:
    with pytest.raises(ReadError):
        block(code)


EACH = "for i, x in q:\n  eta[i] ~ Lap(1/eps)\n  "


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (EACH + "emit a(v = x + eta[i])", True),
        (EACH + "emit a(i = i, v = x + eta[i])", True),
        (EACH + "if eta[i] > 0:\n    emit a(v = x + eta[i])", False),
        (EACH + "if eta[i] > 0:\n    emit a(i = i, v = x + eta[i])", True),
        (EACH + "if eta[i] > 0:\n    emit b\n  emit a(v = x)", False),
        (
            "for i, x in q:\n  eta[i] ~ Lap(1/eps)\n  if eta[i] > 0:\n    emit b\n  else:\n    emit a(v = x)",
            True,
        ),
        (EACH + "emit a(v = x)\n  if eta[i] > 0:\n    break", True),
        ("eta ~ Lap(1/eps)\nif eta > 0:\n  emit b\nfor i, x in q:\n  emit a(v = x)", False),
    ],
)
def test_which_answer_a_record_is_about_follows_from_the_records(program: str, told: bool) -> None:
    """Where another run with the same records could be about another answer, nothing may be said of it."""
    tree = mechanism(program)
    emit = next(s for s in statements_in(tree.body) if isinstance(s, n.Emit) and s.tag == "a")
    labels = [RecordLabel("q", n.Name("i"), emit, 1)]
    if told:
        refuse_labels(labels, {"q"}, tree)
    else:
        with pytest.raises(ReadError):
            refuse_labels(labels, {"q"}, tree)

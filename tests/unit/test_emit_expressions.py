"""Expressions as Python writes them, beside what the language means by them; what is done on whole arrays."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from textwrap import dedent, indent
from typing import Any

import pytest

from aligncheck import runtime
from aligncheck.compiler.emit.expressions import Writer
from aligncheck.compiler.emit.python_kinds import PythonKind, kinds_of
from aligncheck.compiler.emit.vectorise import is_elementwise, lists_of
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.walk import expressions_in
from aligncheck.meaning.interpreter import RunScope, evaluate
from aligncheck.runtime import rationals

HEAD = """
mechanism m
input
  q : queries, sensitivity 1
  z : int queries, sensitivity 1
  c : vector
  flags : bool vector
  ok : bool
  a : int
  b : int
  x : real
  y : real
privacy 1
program
"""


def program(body: str) -> n.Mechanism:
    return parse(Source("m.dp", HEAD + indent(dedent(body).strip(), "  ") + "\n"))


def writer_of(tree: n.Mechanism) -> Writer:
    names = {name for item in tree.inputs for name in item.names} | {"eta", "w", "i", "j", "k"}
    return Writer({name: name for name in names}, kinds_of(tree), lists=lists_of(tree))


def value_in(text: str) -> tuple[Writer, n.Expr]:
    tree = program(f"r = {text}")
    (assigned,) = tree.body
    assert isinstance(assigned, n.Assign)
    return writer_of(tree), assigned.value


# --- one by one -------------------------------------------------------------------------------------------

AS_IT_IS = [
    "a + b * x",
    "(a + b) * x",
    "a - (b - x)",
    "a * (b / x)",
    "x / b",
    "a % b",
    "-(a + b)",
    "-a",
    "x > 1 and (ok or a < b)",
    "ok and a < b or x > 1",
    "(a < b) == ok",
    "(a if ok else b) + 1",
    "x if a < b else y",
    "(x if ok else y) if a < b else x",
    "min(a, b)",
    "max(x, y)",
    "abs(a)",
]
OTHERWISE = [
    ("(a - b) - x", "a - b - x"),
    ("ok or (a < b and x > 1)", "ok or a < b and x > 1"),
    # Two ints make a float in Python, and what may be an int is no fraction.
    ("a / b", "Fraction(a, b)"),
    ("(a + 1) / b / x", "Fraction(a + 1, b) / x"),
    ("a / b / b", "Fraction(a, b) / b"),
    ("1/2 + x", "Fraction(1, 2) + x"),
    ("0.5", "Fraction(1, 2)"),
    ("min(a, x)", "min(Fraction(a), x)"),
    ("clip(x, 0, b)", "clip(x, Fraction(0), Fraction(b))"),
    ("clip(a, 0, b)", "max(0, min(a, b))"),
    ("a if ok else x", "Fraction(a) if ok else x"),
    # Operators that are functions, and the other way round.
    ("abs(x)", "absolute(x)"),
    ("floor(x) % b", "math.floor(x) % b"),
    ("x ** 2", "x**2"),
    ("(x + 1) ** 2", "(x + 1) ** 2"),
    ("(-x) ** 2", "(-x) ** 2"),
    ("-(x ** 2)", "-(x**2)"),
    ("not (a < b)", "not a < b"),
    ("not (ok and a < b)", "not (ok and a < b)"),
    ("not not ok", "not not ok"),
]


@pytest.mark.parametrize(("text", "python"), [*((text, text) for text in AS_IT_IS), *OTHERWISE])
def test_python_computes_what_the_language_means(text: str, python: str) -> None:
    """The same number, as an int or as a fraction as its kind says; with no parentheses to spare."""
    writer, expr = value_in(text)
    assert writer.expression(expr) == python
    known = {"Fraction": Fraction, "math": math, **vars(runtime), **vars(rationals)}
    kind = writer.kinds.expression(expr)
    for a, b, x, ok in product((-3, 0, 2), (1, 2), (Fraction(1, 3), Fraction(5, 2)), (False, True)):
        names: dict[str, Any] = {"a": a, "b": b, "x": x, "y": Fraction(1), "ok": ok}
        given = {k: v if isinstance(v, bool) else Fraction(v) for k, v in names.items()}
        meant, found = evaluate(expr, RunScope(given)), eval(python, known, names)
        assert found == meant
        assert type(found) is {PythonKind.INT: int, PythonKind.REAL: Fraction, PythonKind.BOOL: bool}[kind]


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("sqrt(x) + ln(a)", "sqrt(x) + ln(a)"),
        ("2 - exp(-x)", "2 - exp(-x)"),
        # The difference would lose most of its digits.
        ("1 - exp(-x)", "one_minus_exp(-x)"),
    ],
)
def test_what_is_irrational_is_left_to_the_mode(text: str, python: str) -> None:
    writer, expr = value_in(text)
    assert writer.expression(expr) == python


@pytest.mark.parametrize(
    ("text", "operands", "operators"),
    [
        ("a + b * x - y", ["a", "b * x", "y"], ["+", "-"]),
        ("a - (b - x)", ["a", "(b - x)"], ["-"]),
        ("a * (b + x) / y", ["a", "(b + x)", "y"], ["*", "/"]),
        ("ok and a < b and x > y", ["ok", "a < b", "x > y"], ["and", "and"]),
        ("a / b", ["Fraction(a, b)"], []),
        ("a / b + x", ["Fraction(a, b)", "x"], ["+"]),
        ("min(a, b)", ["min(a, b)"], []),
    ],
)
def test_a_long_line_is_split_at_its_loosest_operators(
    text: str, operands: list[str], operators: list[str]
) -> None:
    writer, expr = value_in(text)
    assert writer.chain(expr) == (operands, operators)


@pytest.mark.parametrize(
    ("text", "index", "real", "operand"),
    [
        ("a + 1", "a + 1", "Fraction(a + 1)", "a + 1"),
        ("x", "whole(x)", "x", "x"),
        ("a if ok else b", "a if ok else b", "Fraction(a if ok else b)", "(a if ok else b)"),
    ],
)
def test_an_index_is_an_int_and_a_real_number_is_none(text: str, index: str, real: str, operand: str) -> None:
    writer, expr = value_in(text)
    assert (writer.index(expr), writer.of_kind(expr, PythonKind.REAL), writer.operand(expr)) == (
        index,
        real,
        operand,
    )


# --- on arrays --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "drawn"),
    [
        ("for i, v in q:\n  eta[i] ~ Lap(2/x)", "len(q)"),
        ("for i in range(a):\n  eta[i] ~ Exp(2*x)", "a"),
        ("if x > 0:\n  for i, v in z:\n    eta[i] ~ Geo(1/2)", "len(z)"),
        ("n = a\nfor i in range(n):\n  eta[i] ~ Lap(x)", "n"),
        # A list of answers may have one entry more, and then the scale has a value.
        ("for i in range(len(q)):\n  eta[i] ~ Lap(1/x)", "len(q)"),
        ("for i, v in c:\n  eta[i] ~ Lap(1/x)", None),
        ("for i in range(a):\n  eta[i] ~ Lap(1/a)", None),
        ("for i in range(len(q) - 1):\n  eta[i] ~ Lap(1/x)", None),
        ("for i in range(a):\n  eta[i] ~ Lap(c[0])", None),
        ("for i in range(a):\n  eta[i] ~ Lap(sqrt(x))", None),
        ("for i in range(a):\n  eta[i] ~ Lap(1 + a % b)", None),
        ("for i in range(a):\n  eta[i] ~ Lap(1 + abs(x)**2)", "a"),
        ("for i, v in q:\n  eta[i] ~ Lap(1/len(q))", None),
        ("for i, v in q:\n  eta[i] ~ Lap(c[0])", None),
        # The scale is another one in each round.
        ("for i, v in q:\n  eta[i] ~ Lap(c[i])", None),
        ("for i, v in c:\n  eta[i] ~ Lap(v)", None),
        ("for i, v in q:\n  eta[i] ~ Lap(eta[0])", None),
        # More is done than one draw of each index from 0 on.
        ("for i, v in q:\n  eta[i] ~ Lap(x)\n  xi[i] ~ Lap(x)", None),
        ("for i, v in q:\n  eta[i] ~ Lap(x)\n  if v > 0: break", None),
        ("for i in range(1, a):\n  eta[i] ~ Lap(x)", None),
        ("for i, v in q:\n  eta[i + 1] ~ Lap(x)", None),
        ("for i in range(a):\n  eta[i] ~ Lap(x)\neta[a] ~ Lap(x)", None),
        ("for i, v in q:\n  eta ~ Lap(x)", None),
        # How many there are changes.
        ("n = 1\nfor i in range(n):\n  eta[i] ~ Lap(x)\nn = 2", None),
        ("for m in range(2):\n  n = m\nfor i in range(n):\n  eta[i] ~ Lap(x)", None),
        ("for r in range(1):\n  for i, v in q:\n    eta[i] ~ Lap(x)", None),
    ],
)
def test_a_loop_that_only_draws_is_one_call(body: str, drawn: str | None) -> None:
    """Where the arguments, computed once instead of in each round, have a value and stay the same."""
    lists = lists_of(program(body))
    assert lists.drawn_at_once() == ({"eta"} if drawn else set())
    if drawn:
        text = Writer({name: name for name in "qzan"}, kinds_of(program(body))).expression(
            lists.lengths["eta"]
        )
        assert text == drawn


@pytest.mark.parametrize(
    ("selection", "python"),
    [
        ("argmax(q[j] + eta[j] for j in q)", "argmax(vector(q) + vector(eta))"),
        ("max(v + eta[j] - x for j, v in q)", "greatest(vector(q) + vector(eta) - x)"),
        ("min(x/a - 2*q[j] for j in range(len(q)))", "least(x / a - 2 * vector(q))"),
        ("argmin(-(q[j] - c[j])/2 for j in q)", "argmin(-(vector(q) - vector(c, len(q))) / 2)"),
        ("max(q[j] for j in q where j != a)", "greatest(vector(q), where=indices(len(q)) != a)"),
        ("max(q[j] for j in q where flags[j])", "greatest(vector(q), where=vector(flags, len(q)))"),
        ("max(clip(q[j], 0, x) for j in q)", "greatest(clipped(vector(q), Fraction(0), x))"),
        ("max(abs(min(q[j], x)) for j in q)", "greatest(abs(minimum(vector(q), x)))"),
        (
            "max(q[j] for j in q where not (q[j] > x and j < a) or q[j] == 0)",
            "greatest(vector(q), where=~((vector(q) > x) & (indices(len(q)) < a)) | (vector(q) == 0))",
        ),
        ("top(2, q[j] for j in q where j in w)", "top(2, vector(q), where=members(w, len(q)))"),
        ("max(q[j] for j in range(a))", "greatest(vector(q, a))"),
        # Defined only where the spec evaluates it.
        ("max(q[j]/c[j] for j in q)", "max_of(q[j] / c[j] for j in range(len(q)))"),
        ("max(x/a + q[j] for j in q where j < a)", "max_of(x / a + q[j] for j in range(len(q)) if j < a)"),
        ("max(c[j] for j in q where j < len(c))", "max_of(c[j] for j in range(len(q)) if j < len(c))"),
        (
            "max(q[j] for j in q where j < len(c) and c[j] > 0)",
            "max_of(q[j] for j in range(len(q)) if j < len(c) and c[j] > 0)",
        ),
        ("top(2, x/a + q[j] for j in range(b))", "top_of(2, ((j, x / a + q[j]) for j in range(b)))"),
        ("top(2, x/a + c[j] for j in c)", "top_of(2, ((j, x / a + c[j]) for j in range(len(c))))"),
        (
            "top(2, x/a + q[j] for j in range(b) where x/a > q[j])",
            "top_of(2, ((j, x / a + q[j]) for j in range(b) if x / a > q[j]))",
        ),
        (
            "top(2, x/a + q[j] for j in range(len(q) - 1))",
            "top_of(2, ((j, x / a + q[j]) for j in range(len(q) - 1)))",
        ),
        ("max(abs(q[j]/c[j]) for j in q)", "max_of(absolute(q[j] / c[j]) for j in range(len(q)))"),
        # What `where` evaluates at every index has a value at all of them, or there is none anyway.
        (
            "max(x/a + q[j] for j in q where x/a > q[j])",
            "greatest(x / a + vector(q), where=x / a > vector(q))",
        ),
        (
            "max(x/a + q[j] for j in q where not abs(x/a) > q[j] and q[j] > 0)",
            "greatest(x / a + vector(q), where=~(absolute(x / a) > vector(q)) & (vector(q) > 0))",
        ),
        (
            "max(x/a + q[j] for j in q where q[j] > 0 and x/a > q[j])",
            "max_of(x / a + q[j] for j in range(len(q)) if q[j] > 0 and x / a > q[j])",
        ),
        # Of answers there may be one, and then it has a value.
        ("top(2, x/a + q[j] for j in q)", "top(2, x / a + vector(q))"),
        ("top(2, c[0] + q[j] for j in q)", "top_of(2, ((j, c[0] + q[j]) for j in range(len(q))))"),
        # No array has just these entries.
        ("max(q[j] for j in range(1, len(q)))", "max_of(q[j] for j in range(1, len(q)))"),
        ("max(q[j + 1] for j in range(1))", "max_of(q[j + 1] for j in range(1))"),
        ("max(x for j in q)", "max_of(x for j in range(len(q)))"),
        # Integers have no bound; what mixes them with fractions is no array of either.
        ("max(z[j] + j for j in z)", "max_of(z[j] + j for j in range(len(z)))"),
        ("argmax(z[j] for j in z)", "argmax_of((j, z[j]) for j in range(len(z)))"),
        ("max(z[j]/2 for j in z)", "max_of(Fraction(z[j], 2) for j in range(len(z)))"),
        ("max(min(q[j], z[j]) for j in q)", "max_of(min(q[j], Fraction(z[j])) for j in range(len(q)))"),
        ("max((q[j] if ok else x) for j in q)", "max_of(q[j] if ok else x for j in range(len(q)))"),
        # Sums are made in order, of a first number that is of their kind.
        ("sum(q[j] for j in q)", "sum((q[j] for j in range(len(q))), Fraction(0))"),
        ("sum(z[j] for j in z)", "sum(z[j] for j in range(len(z)))"),
    ],
)
def test_a_selection_is_done_on_arrays_where_that_is_the_same(selection: str, python: str) -> None:
    tree = program(f"for i, v in q:\n  eta[i] ~ Lap(1)\nw = top(a, q[k] for k in q)\nbest = {selection}")
    *_, gather = (e for e in expressions_in(tree) if isinstance(e, n.Gather))
    writer = writer_of(tree)
    assert writer.gathered(gather).flat == python
    assert is_elementwise(gather, writer.kinds, writer.lists) is ("for j in" not in python)

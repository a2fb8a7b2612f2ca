"""Any AST goes to text and back; any text is a spec or a SpecError, never anything else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.limits import MAX_SETS
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.read import decoded
from aligncheck.language.syntax.walk import subexpressions
from aligncheck.language.unparse import unparse

SPECS = sorted((Path(__file__).parents[2] / "specs").rglob("*.dp"))

# --- random mechanisms --------------------------------------------------------------------------------------

NAMES = st.sampled_from(
    (
        "a",
        "b",
        "q",
        "i",
        "x_1",
        "eps",
        "T",
        "sum",
        "cost",
        "count",
        "top",
        "when",
        "case",
        "range",
        "real",
        "emit",
        "where",
    )
)
NUMBERS = st.builds(
    lambda units, places: Fraction(units, 10**places), st.integers(0, 9999), st.integers(0, 5)
)
ARITHMETIC = ("+", "-", "*", "/", "%")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


def powers(base: st.SearchStrategy[n.Expr]) -> st.SearchStrategy[n.Expr]:
    exponents = st.integers(0, 3).map(lambda exponent: n.Number(Fraction(exponent)))
    return st.builds(n.Binary, st.just("**"), base, exponents)


def gathers(part: st.SearchStrategy[n.Expr]) -> st.SearchStrategy[n.Expr]:
    """Sets with any names (the parser does not mind that they clash), as deeply nested as is allowed."""
    flat = part.filter(lambda e: sum(isinstance(s, n.Gather) for s in subexpressions(e)) < MAX_SETS)
    over = st.builds(n.Indices, NAMES) | st.builds(n.OverRange, flat, flat)
    of_values = st.sampled_from([each for each in n.GATHERS if each not in n.SELECTING])
    return st.one_of(
        st.builds(n.Gather, of_values, st.none(), flat, NAMES, over, st.none() | flat),
        st.builds(n.Gather, st.sampled_from(n.SELECTING), flat, flat, NAMES, over, st.none() | flat),
    )


def larger(part: st.SearchStrategy[n.Expr]) -> st.SearchStrategy[n.Expr]:
    some = st.lists(part, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(n.Index, NAMES, part, st.booleans()),
        st.builds(n.Call, st.sampled_from(("abs", "max", "f")), st.lists(part, max_size=3).map(tuple)),
        st.builds(n.Unary, st.sampled_from(("-", "not")), part),
        st.builds(n.Binary, st.sampled_from(ARITHMETIC), part, part),
        powers(part),
        st.builds(n.Compare, st.sampled_from(COMPARISONS), part, part),
        st.builds(n.Logic, st.sampled_from(("and", "or")), some),
        st.builds(
            lambda a, b, c: n.Logic("and", (n.Compare("<", a, b), n.Compare("<=", b, c))), part, part, part
        ),
        st.builds(n.Conditional, part, part, part),
        st.builds(n.OutIs, part, NAMES),
        st.builds(n.OutField, part, NAMES),
        st.builds(n.Member, part, NAMES),
        gathers(part),
    )


EXPRESSIONS: st.SearchStrategy[n.Expr] = st.recursive(
    st.one_of(
        st.builds(n.Number, NUMBERS),
        st.builds(n.Boolean, st.booleans()),
        st.builds(n.Name, NAMES, st.booleans()),
        st.builds(n.OutCount, st.none() | NAMES),
    ),
    larger,
    max_leaves=5,
)
OPTIONAL = st.none() | EXPRESSIONS


def some_of(part: st.SearchStrategy[Any], least: int = 1) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(part, min_size=least, max_size=2).map(tuple)


def draws() -> st.SearchStrategy[n.Sample]:
    one = st.tuples(EXPRESSIONS)
    two = st.tuples(EXPRESSIONS, EXPRESSIONS | st.just(n.Number(Fraction(1))))
    simple = (n.Family.LAPLACE, n.Family.EXPONENTIAL, n.Family.GEOMETRIC)
    return st.one_of(
        st.builds(n.Sample, NAMES, OPTIONAL, st.sampled_from(simple), one),
        st.builds(n.Sample, NAMES, OPTIONAL, st.just(n.Family.DISCRETE_LAPLACE), two),
    )


EMIT_FIELDS = st.lists(
    st.builds(n.EmitField, NAMES | st.just("value"), EXPRESSIONS),
    max_size=3,
    unique_by=lambda each: each.name,
).map(tuple)
SIMPLE: st.SearchStrategy[n.Stmt] = st.one_of(
    st.builds(n.Assign, NAMES, EXPRESSIONS),
    draws(),
    st.builds(n.Emit, NAMES, EMIT_FIELDS),
    st.builds(n.Break),
    st.builds(n.Pass),
)


def blocks(inner: st.SearchStrategy[n.Stmt]) -> st.SearchStrategy[n.Stmt]:
    body = some_of(inner)
    invariants = some_of(EXPRESSIONS, 0)
    branches = some_of(st.builds(n.Branch, EXPRESSIONS, body))
    over_range = st.builds(n.OverRange, EXPRESSIONS, EXPRESSIONS)
    over_queries = st.builds(n.OverQueries, NAMES, NAMES)
    return st.one_of(
        st.builds(n.If, branches, some_of(inner, 0)),
        st.builds(n.For, NAMES, over_range, body, invariants),
        st.builds(n.For, st.none() | NAMES, over_queries, body, invariants),
        st.builds(n.While, EXPRESSIONS, body, invariants),
    )


STATEMENTS = st.recursive(SIMPLE, blocks, max_leaves=3)

SHIFTS: st.SearchStrategy[n.AlignItem] = st.builds(
    n.Shift, NAMES, OPTIONAL, st.sampled_from(("+=", "-=", "=")), EXPRESSIONS, OPTIONAL
)
ALIGN_ITEMS = st.recursive(
    SHIFTS,
    lambda inner: st.builds(
        n.CaseSplit, some_of(st.builds(n.Case, EXPRESSIONS, some_of(inner, 0))), some_of(inner, 0)
    ),
    max_leaves=3,
)

SORTS = st.sampled_from(n.Sort)
QUERY_SORTS = st.sampled_from((n.Sort.REAL, n.Sort.INT))
MOVES = st.sampled_from([each for each in n.Adjacency if each is not n.Adjacency.ANY])
INTERVALS = st.tuples(EXPRESSIONS, EXPRESSIONS)
INPUTS: st.SearchStrategy[n.Input] = st.one_of(
    st.builds(n.Parameter, NAMES, SORTS, OPTIONAL),
    st.builds(n.PublicVector, NAMES, SORTS, OPTIONAL),
    st.builds(
        n.Queries,
        some_of(NAMES),
        st.booleans(),
        QUERY_SORTS,
        MOVES,
        EXPRESSIONS,
        OPTIONAL,
        st.none() | INTERVALS,
        OPTIONAL,
        st.none() | NAMES.map(n.Name),
        st.none() | NAMES.map(n.Name),
    ),
    st.builds(
        n.Queries,
        some_of(NAMES),
        st.booleans(),
        QUERY_SORTS,
        st.just(n.Adjacency.ANY),
        st.none(),
        OPTIONAL,
        INTERVALS,
        OPTIONAL,
    ),
)
WORDS = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "S"), exclude_characters='"'), min_size=1
)
REMARKS = st.lists(WORDS, max_size=4).map(" ".join)
EXPECTATIONS = st.sampled_from(
    (
        n.Expectation("verified"),
        n.Expectation("refuted"),
        n.Expectation("alignment fails", "cost"),
        n.Expectation("unknown", "terminates"),
        n.Expectation("error", "unknown-name"),
    )
)
CLAIMS = st.one_of(
    st.builds(n.Pure, EXPRESSIONS, st.none() | EXPRESSIONS),
    st.builds(n.Approximate, EXPRESSIONS, EXPRESSIONS),
    st.builds(n.Concentrated, EXPRESSIONS),
)
MECHANISMS = st.builds(
    n.Mechanism,
    NAMES,
    st.lists(WORDS, max_size=12).map(" ".join),
    some_of(REMARKS, 0),
    some_of(INPUTS, 0),
    CLAIMS,
    some_of(STATEMENTS),
    some_of(ALIGN_ITEMS, 0),
    st.none() | EXPECTATIONS,
)


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(MECHANISMS)
def test_mechanisms_come_back_from_their_text(mechanism: n.Mechanism) -> None:
    text = unparse(mechanism)
    try:
        read = parse(Source("m.dp", text))
    except SpecError as error:
        # Random powers of random sums can be larger than the limits allow.
        assume(error.diagnostic.code != "too-large-power")
        raise
    assert read == mechanism
    assert unparse(read) == text
    assert_spans(read, Source("m.dp", text))


def assert_spans(node: Any, source: Source) -> None:
    """Every node has a place in the text, and expressions lie inside the expressions around them."""
    if isinstance(node, tuple):
        for each in node:
            assert_spans(each, source)
    if not is_dataclass(node) or not isinstance(node, n.Node):
        return
    assert 0 <= node.span.start < node.span.end <= len(source.text)
    text = source.text_of(node.span)
    assert text == text.strip()
    for field in fields(node):
        if field.name != "span":
            assert_spans(getattr(node, field.name), source)


# --- random text --------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    (
        *(
            "mechanism",
            "input",
            "privacy",
            "program",
            "align",
            "expect",
            "verified",
            "case",
            "otherwise",
            "when",
        ),
        *(
            "if",
            "elif",
            "else",
            "for",
            "while",
            "in",
            "range",
            "emit",
            "break",
            "pass",
            "invariant",
            "out",
            "is",
        ),
        *(
            "not",
            "and",
            "or",
            "true",
            "q",
            "i",
            "eps",
            "ε",
            "xi",
            "Lap",
            "top",
            "queries",
            "sensitivity",
            "where",
        ),
        *("max(", "argmax(", "top(1, ", "for j in q", "for j, x in q", "x", "w = ", "j in w", "w[0]"),
        *(
            "0",
            "1.5",
            "1e-3",
            "9" * 50,
            '"',
            '"x"',
            "#",
            "# x",
            "'",
            "′",
            "≥",
            "≠",
            "漢",
            "\t",
            "\x00",
            "\u00a0",
        ),
        *(
            "\n",
            "\n",
            "\n  ",
            "\n    ",
            "\n\t",
            " ",
            " ",
            "  ",
            ":",
            ":\n    ",
            ";",
            ",",
            "=",
            "~",
            "+=",
            "-=",
        ),
        *("(", ")", "[", "]", ".", "+", "-", "*", "/", "%", "**", "<", "<=", "==", "!=", "&&", "{", "\\"),
    )
)


def read_or_refused(source: Source) -> None:
    """Parses and checks: a mechanism that comes back from its text, or a fault with a place in the text."""
    try:
        mechanism = check(source, parse(source))
    except SpecError as error:
        diagnostic = error.diagnostic
        for label in (diagnostic.primary, *diagnostic.related):
            assert_place(label.span, error.source)
        assert diagnostic.code
        assert diagnostic.message
        return
    text = unparse(mechanism)
    assert parse(Source("again.dp", text)) == mechanism


def assert_place(span: Span, source: Source) -> None:
    assert 0 <= span.start <= span.end <= len(source.text)
    line, column = source.position(span.start)
    assert 1 <= column <= len(source.line(line)) + 1


@settings(max_examples=150)
@given(st.lists(PIECES, max_size=60).map("".join) | st.text(max_size=60))
@example("mechanism m\nprivacy (\nprogram\n")
@example('mechanism m\n  "a\n  "b\n')
@example("out[")
def test_random_text(text: str) -> None:
    read_or_refused(Source("m.dp", text))


@settings(max_examples=80)
@given(st.lists(PIECES, min_size=1, max_size=12).map(" ".join), st.booleans())
def test_random_lines_in_a_spec(line: str, aligned: bool) -> None:
    program = f"  eta ~ Lap(1/eps)\n  {line}\n" if not aligned else "  eta ~ Lap(1/eps)\n"
    align = f"align\n  {line}\n" if aligned else ""
    head = (
        "mechanism m\ninput\n  q : queries, sensitivity 1\n  eps : real where eps > 0\nprivacy eps\nprogram\n"
    )
    read_or_refused(Source("m.dp", head + program + align))


@settings(max_examples=100)
@given(st.binary(max_size=80) | st.text(max_size=30).map(lambda text: text.encode("utf-16")))
def test_random_bytes(data: bytes) -> None:
    try:
        source = decoded("m.dp", data)
    except SpecError as error:
        assert_place(error.diagnostic.primary.span, error.source)
        return
    read_or_refused(source)


# --- real specs, damaged ------------------------------------------------------------------------------------


@cache
def corpus() -> tuple[str, ...]:
    return tuple(path.read_text("utf-8") for path in SPECS)


@dataclass(frozen=True)
class Damage:
    """An edit of a text: `kind` at a place given as a fraction of its length."""

    kind: str
    place: float
    piece: str

    def apply(self, text: str) -> str:
        at = int(self.place * len(text))
        end = min(len(text), at + 1 + len(self.piece))
        lines = text.split("\n")
        row = int(self.place * len(lines))
        edits: dict[str, Callable[[], str]] = {
            "insert": lambda: text[:at] + self.piece + text[at:],
            "delete": lambda: text[:at] + text[end:],
            "replace": lambda: text[:at] + self.piece + text[end:],
            "cut": lambda: text[:at],
            "drop line": lambda: "\n".join(lines[:row] + lines[row + 1 :]),
            "repeat line": lambda: "\n".join(lines[: row + 1] + lines[row:]),
            "swap lines": lambda: "\n".join(lines[:row] + lines[row : row + 2][::-1] + lines[row + 2 :]),
            "indent line": lambda: "\n".join([*lines[:row], "  " + lines[row], *lines[row + 1 :]]),
            "dedent line": lambda: "\n".join([*lines[:row], lines[row][2:], *lines[row + 1 :]]),
        }
        return edits[self.kind]()


KINDS = (
    *(
        "insert",
        "delete",
        "replace",
        "cut",
        "drop line",
        "repeat line",
        "swap lines",
        "indent line",
        "dedent line",
    ),
)
DAMAGE = st.builds(Damage, st.sampled_from(KINDS), st.floats(0, 1, exclude_max=True), PIECES)


@settings(max_examples=250)
@given(st.integers(0, 10**6), st.lists(DAMAGE, min_size=1, max_size=3))
def test_damaged_specs(which: int, damages: list[Damage]) -> None:
    text = corpus()[which % len(corpus())]
    for damage in damages:
        text = damage.apply(text)
    read_or_refused(Source("m.dp", text))


@pytest.mark.parametrize("size", range(0, 1400, 7))
def test_every_beginning_of_a_spec(size: int) -> None:
    """A file that was cut off while it was written."""
    text = max(corpus(), key=len)
    read_or_refused(Source("m.dp", text[: int(size / 1400 * len(text))]))

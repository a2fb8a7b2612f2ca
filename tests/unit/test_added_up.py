"""Lines about what loops add up, beside runs: each is true wherever a round starts."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest
from small_specs import spec

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.language.syntax.parse import parse
from aligncheck.language.unparse import unparse_expr
from aligncheck.meaning.interpreter import Input, Machine, RunScope, number_of, truth_of
from aligncheck.search.witness.added_up import (
    added_to,
    claimed_so_far,
    is_public,
    product_so_far,
    sums_of_terms,
    turning,
    value_before,
    with_values,
)
from aligncheck.search.witness.witness_json import expression

F = Fraction
INPUTS = "q : queries, sensitivity 1, adjacency one\nb : vector where len(b) == len(q)\nk : int where k >= 1"
DATA: dict[str, Input] = {
    "q": (F(3), F(-1), F(2), F(5), F(2)),
    "b": (F(1), F(1, 2), F(4), F(2), F(7)),
    "k": F(3),
}
PRIME: dict[str, Input] = {**DATA, "q": (F(3), F(-1), F(3), F(5), F(2))}
MARKS: dict[str, Input] = {"$differing_q": F(2)}
"""Where the answers of the other database differ."""


def made(program: str, privacy: str = "1") -> n.Mechanism:
    return parse(spec(program, "", INPUTS, privacy))


def renamed(e: n.Expr) -> n.Expr:
    """The same with other names in place of those with a prime."""
    e = walk.with_parts(e, tuple(map(renamed, walk.parts_of(e))))
    match e:
        case n.Name(ident=x, primed=True):
            return n.Name(f"{x}_prime")
        case n.Index(base=x, index=at, primed=True):
            return n.Index(f"{x}_prime", at)
        case _:
            return e


def heads(of: n.Mechanism) -> Iterator[RunScope]:
    """What names mean wherever a round starts in both runs; those of D' are renamed."""
    pair = (Machine(of, inputs, lambda _: F(0), 1_000).run().rounds for inputs in (DATA, PRIME))
    for one, other in zip(*pair, strict=True):
        primes = {f"{x}_prime": value for x, value in PRIME.items()}
        scope = RunScope({**DATA, **primes, **MARKS, **dict(one.loop)})
        scope.variables = {**one.environment, **{f"{x}_prime": v for x, v in other.environment.items()}}
        yield scope


LOOP = "for i, x in q:\n  invariant i >= 0\n  "


@pytest.mark.parametrize(
    ("before", "body", "told"),
    [
        ("s = 0", "s = s + x", True),
        ("s = 3", "s = 2*x + s", True),
        ("s = k", "s = s + q[i]*b[i]", True),
        ("s = 0", "if x > 2: s = s + x", True),
        ("s = 0", "if i < 2: s = s + 5*q[i]", True),
        ("s = 0", "s = s + (q[i + 1] if i + 1 < len(q) else 0)", True),
        ("s = 0", "if i % 2 == 0: s = s + b[i]", True),
        ("s = 0", "t = x + 1\n  s = s + t", True),
        ("s = 0\nc = 0", "c = (c + 1) % 2\n  s = s + c", True),
        ("s = 0", "s = s + 1", False),
        ("s = 0", "s = s - x", False),
        ("s = 0", "if x > 2: s = s + x\n  else: s = s + 1", False),
        ("s = 0", "s = s + x\n  s = s + x", False),
        ("s = 0", "z[i] ~ Lap(1)\n  s = s + z[i]", False),
        ("s = x0", "s = s + x", False),
    ],
)
def test_what_is_added_up_is_the_sum_of_its_terms_so_far(before: str, body: str, told: bool) -> None:
    """On D, and on D' by its own answers; and these are apart by the term of the answer that moves."""
    of = made(f"x0 = q[0]\n{before}\n{LOOP}{body}\nemit done")
    (loop,) = (s for s in walk.statements_in(of.body) if isinstance(s, n.For))
    assert loop.index is not None
    lines = list(sums_of_terms(of, loop, n.Name(loop.index), "j"))
    assert bool(lines) is told
    for line, scope in product(lines, heads(of)):
        assert truth_of(renamed(line), scope), unparse_expr(line)


@pytest.mark.parametrize(
    ("text", "so_far"),
    [
        ("sum(b[j] for j in b)", "sum(b[i] for i in range(0, 2))"),
        ("k*sum(b[j] for j in b where b[j] > 1)", "k*sum(b[i] for i in range(0, 2) where b[i] > 1)"),
        ("sum(b[j] for j in range(k))", "sum(b[j] for j in range(0, k))"),
        ("k", "k"),
    ],
)
def test_a_claim_so_far_sums_over_the_rounds_so_far(text: str, so_far: str) -> None:
    found = claimed_so_far(expression(text), "i", n.Number(F(2)))
    assert unparse_expr(found) == unparse_expr(expression(so_far))


def test_what_stays_the_same_stands_apart_from_a_sum() -> None:
    over = n.OverRange(n.Number(F(0)), n.Name("k"))
    scope = RunScope(DATA)
    for text in ("k*b[j]", "k*b[j]/2", "b[j]*b[j]*k", "k/b[j]"):
        found = product_so_far(expression(text), "j", over)
        assert number_of(found, scope) == number_of(expression(f"sum({text} for j in range(k))"), scope)
        (inside,) = (e for e in walk.subexpressions(found) if isinstance(e, n.Gather))
        assert "k" not in walk.names_in(inside.body)


@pytest.mark.parametrize(
    "program",
    [
        "s = k\nt = s + 1",
        "s = 1\nif k > 2: s = q[0]",
        "s = 1\nif k > 5: s = 2\nelif k > 2: s = q[1]\nelse: s = 3",
        "s = 1\nt = 2\nif k > 2:\n  t = s + 1\n  s = t + 1\nt = t + s",
        "s = 1\nif k > 2:\n  r = s + 3\n  s = r*2\nelse: r = 2\nt = r",
        "s = 1\nt = s\nfor i in range(k): s = s + 1\nr = t",
    ],
)
def test_what_variables_hold_is_told_in_words_of_the_start(program: str) -> None:
    """By cases where arms give other values; nothing of what a loop changes."""
    of = made(f"{program}\nemit done")
    known = dict[str, n.Expr]()

    def block() -> Iterator[tuple[n.Stmt, dict[str, n.Expr]]]:
        known.update((yield from with_values(of.body, {})))

    assert {s.span for s, _ in block()} == {s.span for s in walk.statements_in(of.body)}
    machine = Machine(of, DATA, lambda _: F(0), 1_000)
    machine.run()
    assert known.keys() == machine.scope.variables.keys() - ({"s", "i"} if "for" in program else set())
    for x, e in known.items():
        assert number_of(e, RunScope(DATA)) == machine.scope.variables[x], x


@pytest.mark.parametrize(
    ("text", "public"),
    [
        ("k", True),
        ("2*k + len(q)", True),
        ("min(k, 3)", True),
        ("q[0]", False),
        ("max(q[0], 1)", False),
        ("b[0]", False),
        ("k + s", False),
        ("len(q)*q[0]", False),
        ("sum(1 for j in q)", False),
    ],
)
def test_what_is_public_is_made_of_parameters_and_lengths(text: str, public: bool) -> None:
    assert is_public(made("s = 1\nemit done"), expression(text)) is public


@pytest.mark.parametrize(
    ("before", "value"),
    [
        ("s = 3", "3"),
        ("s = k\ns = s + 1", "k + 1"),
        ("s = q[0]", None),
        ("s = 1\ns = q[0]", None),
    ],
)
def test_what_a_variable_holds_before_a_loop(before: str, value: str | None) -> None:
    of = made(f"{before}\nfor i in range(k): s = s + 1\nemit done")
    (loop,) = (s for s in of.body if isinstance(s, n.For))
    found = value_before(of, loop, "s")
    assert (None if found is None else unparse_expr(found)) == value


@pytest.mark.parametrize(
    ("body", "turns"),
    [
        ("c = (c + 1) % k", {"c": "(i - 1)%k"}),
        ("c = c + 1\n  if c == k: c = 0", {"c": "(i - 1)%k"}),
        ("c = c + 1\n  if c >= 3: c = 0", {"c": "(i - 1)%3"}),
        ("c = c + 1\n  if c >= x: c = 0", {}),
        ("c = c + 1\n  if c == k: r = 1", {}),
        ("c = c + 1", {}),
    ],
)
def test_a_variable_that_starts_again_is_the_round_modulo_its_limit(body: str, turns: dict[str, str]) -> None:
    of = made(f"x = q[0]\nc = 0\nfor i in range(1, k):\n  invariant i >= 0\n  {body}\nemit done")
    (loop,) = (s for s in of.body if isinstance(s, n.For))
    found = dict(turning(of, loop, n.Name("i")))
    assert {x: unparse_expr(e) for x, e in found.items()} == turns
    for scope in heads(of):
        for x, e in found.items():
            assert number_of(n.Name(x), scope) == number_of(e, scope)


def test_what_is_added_to_a_variable() -> None:
    for value, told in (("s + k", "k"), ("k + s", "k"), ("s - k", None), ("2*s", None), ("k", None)):
        found = added_to(n.Assign("s", expression(value)))
        assert (None if found is None else unparse_expr(found)) == told

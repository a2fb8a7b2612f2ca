"""Which answer a record is about: what holds an index of an answer, and what the place of a record tells."""

from __future__ import annotations

import math
from dataclasses import replace
from textwrap import dedent, indent

import pytest
from small_specs import spec

from aligncheck.compiler.emit.indices import IndicesOf, about, vector_of
from aligncheck.compiler.emit.positions import RecordCounts, answered_queries, records_of_round
from aligncheck.language.check import check
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.walk import expressions_in, statements_in
from aligncheck.language.unparse import unparse_expr

INPUTS = """
q : queries, sensitivity 1
p : queries, sensitivity 1
k : int where k >= 1
eps : real where eps > 0
"""


CALLED = """mechanism best
input
  a : queries, sensitivity 1
  e : real where e > 0
privacy e
program
  for i, x in a:
    eta[i] ~ Lap(2/e)
  w = argmax(a[i] + eta[i] for i in a)
  emit r(index = w, gap = w + 1)
"""


def program(body: str) -> n.Mechanism:
    source = spec(body, inputs=INPUTS)
    if "best(" in body:
        source = replace(source, text=source.text.replace("input\n", 'use best from "best.dp"\ninput\n', 1))
    return check(source, parse(source), lambda path: Source(path, CALLED))


# --- indices ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "over"),
    [
        ("j = argmax(q[i] for i in q)", ("q", 0)),
        ("j = argmax(k for i in range(len(q)))", ("q", 0)),
        ("j = argmax(q[i] for i in range(len(q)))", ("q", 0)),
        ("j = argmax(q[i] for i in range(1, k))", ("q", 0)),
        # A threshold stands before the first answer, or after the last.
        ("j = argmax((k if i == 0 else q[i - 1]) for i in range(len(q) + 1))", ("q", -1)),
        ("j = argmax(k for i in range(len(q) - 1) where q[i + 1] > 0)", ("q", 1)),
        # Of other lists, of several distances, of distances that are none.
        ("j = argmax(k for i in p)", None),
        ("j = argmax(k for i in range(k))", None),
        ("j = argmax(k for i in range(1, len(q)))", None),
        ("j = argmax(q[i] - q[i - 1] for i in range(1, len(q)))", None),
        ("j = argmax(q[k - i] for i in range(k))", None),
        ("j = argmax(q[i + k] for i in range(k))", None),
        ("j = argmax(i + q[k + 1] for i in range(k))", None),
        ("j = argmax(q[i] + p[i + 1] for i in range(k))", ("q", 0)),
        ("j = argmax(q[i * 1] for i in range(k))", None),
    ],
)
def test_the_indices_of_a_set_are_those_that_it_reads_answers_at(
    body: str, over: tuple[str, int] | None
) -> None:
    (gather,) = (e for e in expressions_in(program(body)) if isinstance(e, n.Gather))
    assert about(gather, "q") == over


@pytest.mark.parametrize(
    ("loop", "base"),
    [
        ("for i, x in q:", "q"),
        ("for i in range(len(q)):", "q"),
        ("for i in range(1, len(q)):", None),
        ("for i in range(len(q) - 1):", None),
        ("for i in range(k):", None),
        ("for i, x in p:", None),
    ],
)
def test_a_loop_takes_the_answers_from_the_first_one_on(loop: str, base: str | None) -> None:
    (statement,) = program(f"{loop}\n  emit a").body
    assert isinstance(statement, n.For)
    assert vector_of(statement, {"q"}) == base


@pytest.mark.parametrize(
    ("body", "variables"),
    [
        ("j = argmax(q[i] for i in q)", {"j"}),
        ("j = argmax(q[i] for i in q)\nm = j", {"j", "m"}),
        ("j = 0\nfor i, x in q:\n  if x > 0: j = i", {"i", "j"}),
        ("w = top(2, q[i] for i in q)\nj = w[1]", {"j"}),
        ("j ~ Choose(exp(eps*q[i]) for i in q)", {"j"}),
        ("j = argmax(q[i] for i in q)\nm = (j if k > 1 else j)", {"j", "m"}),
        # Each way of setting it must give one.
        ("j = argmax(q[i] for i in q)\nj = k", set()),
        ("j = argmax(q[i] for i in q)\nj = j - 1", set()),
        ("j = argmax(q[i] for i in q)\nif k > 1: j = argmax(p[i] for i in p)", set()),
        ("j = argmax(q[i] for i in q)\nm = j\nj = k", set()),
        ("w = top(2, i for i in range(9))\nj = w[1]", set()),
        ("j ~ Choose(exp(eps*p[i]) for i in p)", set()),
        ("for i, x in p: pass", set()),
        ("j = argmax(q[i] for i in q)\nm = (j if k > 1 else k)", {"j"}),
        ("j = argmax(q[i] for i in q)\nm = (k if k > 1 else j)", {"j"}),
        ("w = upto(2, p[i] for i in p)\nj = w[1]", set()),
        # What is only ever 0 is a number like any other.
        ("j = 0", set()),
        ("j = 0\nm = j\nj = m", set()),
        ("j = 1\nfor i, x in q:\n  if x > 0: j = i", {"i"}),
    ],
)
def test_a_variable_holds_an_index_where_all_that_it_is_set_to_is_one(body: str, variables: set[str]) -> None:
    (of,) = (each for each in IndicesOf.all_of(program(body)) if (each.base, each.shift) == ("q", 0))
    assert of.variables == variables


# --- places -----------------------------------------------------------------------------------------------

INF = math.inf


@pytest.mark.parametrize(
    ("body", "ends", "breaks"),
    [
        ("pass", {0}, set()),
        ("emit a\nemit b", {2}, set()),
        ("if k > 1: emit a", {0, 1}, set()),
        ("if k > 1: emit a\nelse: emit b", {1}, set()),
        ("emit a\nif k > 1: break\nemit b", {2}, {1}),
        ("if k > 1:\n  emit a\n  break\nif k > 2:\n  emit a\n  emit a", {0, 2}, {1}),
        ("if k > 1: emit a\nif k > 2: break", {0, 1}, {0, 1}),
        ("for i, x in q: emit a", {INF}, set()),
        ("for i, x in q:\n  if x > 0: break", {0}, set()),
    ],
)
def test_records_are_counted_on_every_way_through_a_block(
    body: str, ends: set[float], breaks: set[float]
) -> None:
    (loop,) = program("while k > 1:\n" + indent(body, "  ")).body
    assert isinstance(loop, n.While)
    counts = RecordCounts.of(loop.body)
    assert (set(counts.ends), set(counts.breaks)) == (ends, breaks)
    assert records_of_round(loop.body) == (counts.fixed if "break" not in body else None)


@pytest.mark.parametrize(
    ("body", "paced", "tells"),
    [
        ("emit a", True, True),
        ("emit a\nif x > 0: break", True, True),
        ("if x > 0:\n  emit a\n  break\nemit a", True, True),
        ("if x > 0: break\nemit a", True, True),
        # Where the last round is left with no record or with all, nothing tells which of the two.
        ("if x > 0: break\nemit a\nif x < 0: break", True, False),
        # A round without one, or with more as it is left than as it goes on.
        ("pass", False, False),
        ("if x > 0: emit a", False, False),
        ("if x > 0:\n  emit a\n  emit b\n  break\nemit a", False, False),
    ],
)
def test_the_number_of_records_tells_the_round(body: str, paced: bool, tells: bool) -> None:
    (loop,) = program("for i, x in q:\n" + indent(body, "  ")).body
    assert isinstance(loop, n.For)
    counts = RecordCounts.of(loop.body)
    assert (counts.are_paced, counts.tell_the_round) == (paced, tells)


@pytest.mark.parametrize(
    ("body", "labels"),
    [
        # By its place: each round releases as many, and so does what comes before.
        ("for i, x in q: emit a", ["q at i"]),
        ("emit b\nfor i, x in q:\n  emit a\n  emit c\nemit b", [None, "q at i", "q at i", None]),
        ("for y in p: emit a\nfor i, x in q: emit b", ["p at i", "q at i"]),
        ("if k > 1: emit b\nfor i, x in q: emit a", [None, None]),
        ("for i, x in q: emit a\nfor i, x in q:\n  if x > 0: emit b", [None, None]),
        ("for m in range(k):\n  for i, x in q: emit a", [None]),
        # By what it holds: the index, as all records of its kind do.
        ("for i, x in q:\n  if x > 0: emit a(i = i)", ["q at i"]),
        ("for i, x in q:\n  if x > 0: emit a(i = i + 1)", [None]),
        ("j = argmax(q[i] for i in q)\nemit a(v = 1, j = j)", ["q at j"]),
        ("j = argmax((k if i == 0 else q[i - 1]) for i in range(len(q) + 1))\nemit a(j = j)", ["q at j - 1"]),
        ("j = argmax(q[i] for i in q)\nemit a(j = j)\nemit a(j = 0)", [None, None]),
        (
            "j = argmax(q[i] for i in q)\nm = argmax(p[i] for i in p)\nemit a(j = j)\nemit a(j = m)",
            [None, None],
        ),
        ("j = argmax(q[i] for i in q)\nemit a(j = j)\nemit b(j = 0)", ["q at j", None]),
        ("j = argmax(q[i] for i in q)\nemit a(j = j, m = 0)\nemit a(j = 0, m = j)", [None, None]),
        # By what a call released, which holds an index of the list that it was given.
        ("r = best(a = q, e = eps)\nemit a(j = r[0].index)", ["q at r[0].index"]),
        ("r = best(a = list(q[i] + k for i in q), e = eps)\nemit a(j = r[0].index)", ["q at r[0].index"]),
        (
            "r = best(a = list(q[i + 1] for i in range(len(q) - 1)), e = eps)\nemit a(j = r[0].index)",
            ["q at r[0].index + 1"],
        ),
        ("r = best(a = q, e = eps)\nemit a(j = r[0].gap)", [None]),
        ("r = best(a = list(q[i] - p[i + 1] for i in range(k)), e = eps)\nemit a(j = r[0].index)", [None]),
        ("r = best(a = list(q[i] for i in range(1, k)), e = eps)\nemit a(j = r[0].index)", [None]),
    ],
)
def test_a_record_has_a_label_where_the_output_tells_its_answer(body: str, labels: list[str | None]) -> None:
    tree = program(dedent(body))
    found = answered_queries(tree)

    def label(emit: n.Emit) -> str | None:
        if (answered := found.get(id(emit))) is None:
            return None
        at = answered.at
        index = (at.index or "i") if isinstance(at, n.For) else unparse_expr(at)
        shift = "" if not answered.shift else f" {'+' if answered.shift > 0 else '-'} {abs(answered.shift)}"
        return f"{answered.base} at {index}{shift}"

    assert [label(s) for s in statements_in(tree.body) if isinstance(s, n.Emit)] == labels

"""The statements of a spec as Python's, and what a class demands of its inputs."""

from __future__ import annotations

import re
from textwrap import dedent, indent

import pytest
from oracle import as_if_verified
from small_specs import mechanism

from aligncheck.compiler.emit.input_checks import InputWriter
from aligncheck.compiler.emit.program import loop_locals, names_read
from aligncheck.compiler.emit.python import emit_python
from aligncheck.compiler.emit.python_kinds import kinds_of
from aligncheck.compiler.modes import RunMode
from aligncheck.language.check import check
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.walk import statements_in

CALLED = """mechanism noisy
input
  a : query, sensitivity 1
  e : real where e > 0
privacy e
program
  eta ~ Lap(1/e)
  emit r(v = a + eta)
align
  eta += a - a'
"""
HEAD = """input
  q : queries, sensitivity 1
  x : int query, sensitivity 1
  c : vector
  T : real
  k : int where k >= 1
  eps : real where eps > 0
privacy eps
program
"""


def spec(body: str) -> n.Mechanism:
    uses = 'use noisy from "noisy.dp"\n' if "noisy(" in body else ""
    source = Source("m.dp", f"mechanism m\n{uses}{HEAD}" + indent(dedent(body).strip(), "  ") + "\n")
    return check(source, parse(source), lambda path: Source(path, CALLED))


def written(body: str, mode: RunMode = RunMode.REFINED) -> str:
    """The Python of a program, without indentation and without `eps = self.eps`."""
    code = emit_python(as_if_verified(spec(body)), mode)
    *_, text = code.split('"""The program of the spec, statement by statement."""\n')
    lines = [line[8:] for line in text.split("\n")]
    return "\n".join(line for line in lines if line and not re.match(r"(\w+) = self\.\1$", line)) + "\n"


# --- statements -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "python"),
    [
        ("pass", "pass"),
        ("s = T\nif s > 0: s = 1", "s: Real = T\nif s > 0:\n    s = Fraction(1)"),
        ("s = T\nu = T", "s = T\nu = T"),
        ("s = 1\nif k > 0: s = 2", "s = 1\nif k > 0:\n    s = 2"),
        ("s = 1/2", "s = Fraction(1, 2)"),
        (
            "if T > 1: emit a\nelif T > 0: emit b\nelse: pass",
            "if T > 1:\n    release.emit(A())\nelif T > 0:\n    release.emit(B())\nelse:\n    pass",
        ),
        (
            "s = 0\nwhile s < k:\n  s = s + 1\n  if T > s: break",
            "s = 0\nwhile s < k:\n    s = s + 1\n    if T > s:\n        break",
        ),
        # Loops, with an index only where one is read.
        ("s = T\nfor v in q: s = s + v", "s: Real = T\nfor v in q:\n    s = s + v"),
        ("s = 0\nfor i, v in c: s = s + i", "s = 0\nfor i, v in enumerate(c):\n    s = s + i"),
        ("s = 0\nfor i in range(k): s = s + i", "s = 0\nfor i in range(k):\n    s = s + i"),
        ("s = 0\nfor i in range(1, k): s = s + i", "s = 0\nfor i in range(1, k):\n    s = s + i"),
        (
            "for v in q: emit a(v)",
            'for position, v in enumerate(q):\n    yield release.emit(A(value=v), query=("q", position))',
        ),
        (
            "w = top(k, q[j] for j in q)\nv = top(1, q[j]/T for j in q where j not in w)\n"
            "if 0 in w and not (1 in w): emit a(len(v))",
            "w = top(k, vector(q))\n"
            "v = top_of(1, ((j, q[j] / T) for j in range(len(q)) if j not in w))\n"
            "if 0 in w and 1 not in w:\n    release.emit(A(value=len(v)))",
        ),
        # Draws, by what decides them exactly.
        ("eta ~ Lap(1/eps)", "eta = noise.laplace(1 / eps)"),
        ("eta ~ DLap(1/eps, 2)", "eta = noise.discrete_laplace(1 / eps, 2)"),
        ("eta ~ Geo(1/2)", "eta = noise.geometric(Fraction(1, 2))"),
        ("eta ~ Geo(1 - exp(-eps))", "eta = noise.geometric_of_rate(eps)"),
        ("eta ~ Bernoulli(1/4)", "eta = noise.bernoulli(Fraction(1, 4))"),
        ("eta ~ Bernoulli(1/(1 + exp(-eps)))", "eta = noise.bernoulli_of_log_odds(eps)"),
        ("w ~ Choose(exp(eps*q[i]) for i in q)", "w = noise.choice((i, eps * q[i]) for i in range(len(q)))"),
        (
            "w ~ Choose(k*exp(eps*q[i]) for i in q)",
            "w = noise.weighted_choice((i, k, eps * q[i]) for i in range(len(q)))",
        ),
        ("g ~ Logistic(T, 1) where g > 0", "g = noise.logistic_at(T, 1, 0)"),
        ("for i, v in q:\n  b[i] ~ Geo(1 - exp(-eps))", "b = noise.geometrics_of_rate(eps, len(q))"),
        (
            "for i, v in q:\n  b[i] ~ Bernoulli(1/(1 + exp(eps)))",
            "b = noise.bernoullis_of_log_odds(-eps, len(q))",
        ),
        # Noise of one round is a variable; what another one reads has its index.
        (
            "s = T\nfor i in range(k):\n  eta[i] ~ Lap(1)\n  s = s + eta[i]",
            "s: Real = T\nfor i in range(k):\n    eta = noise.laplace(1)\n    s = s + eta",
        ),
        (
            "for i in range(k):\n  eta[i] ~ Lap(T/(i + 1))\nemit a(eta[0])",
            "eta: dict[int, Real] = {}\nfor i in range(k):\n    eta[i] = noise.laplace(T / (i + 1))\n"
            "release.emit(A(value=eta[0]))",
        ),
        # A field, and a variable, that may be a fraction is never an int.
        ("emit a(v = k)\nemit a(v = T)", "release.emit(A(v=Fraction(k)))\nrelease.emit(A(v=T))"),
        ("s = T\nb ~ Geo(1/2)\ns = b", "s: Real = T\nb = noise.geometric(Fraction(1, 2))\ns = Fraction(b)"),
        ("b = 0\nemit a(v = x + b)", "b = 0\nrelease.emit(A(v=x + b))"),
        (
            "j = argmax(q[i] for i in q)\nemit a(j)",
            'j = argmax(vector(q))\nrelease.emit(A(value=j), query=("q", j))',
        ),
        (
            "j = argmax((T if i == 0 else q[i - 1]) for i in range(len(q) + 1))\nemit a(j)",
            "j = argmax_of((i, T if i == 0 else q[i - 1]) for i in range(len(q) + 1))\n"
            'release.emit(A(value=j), query=("q", j - 1))',
        ),
        (
            "emit a(argmax(q[i] for i in q))",
            'selected = argmax(vector(q))\nrelease.emit(A(value=selected), query=("q", selected))',
        ),
    ],
)
def test_a_statement_is_written_as_python_has_it(body: str, python: str) -> None:
    assert written(body) == f"{python}\n"


@pytest.mark.parametrize("mode", [RunMode.LATTICE, RunMode.REFINED])
def test_a_call_draws_the_noise_of_its_run_and_on_a_lattice_has_its_step(mode: RunMode) -> None:
    step = ", gamma=self.gamma" if mode is RunMode.LATTICE else ""
    assert written("r = noisy(a = q[0], e = eps/2)\nemit v(r[0].v)", mode) == (
        f"r_mechanism = Noisy(e=eps / 2{step})\n"
        "r_result = r_mechanism.with_noise(noise.inside())(a=q[0])\n"
        "r = r_result.records\n"
        "release.emit(V(value=r[0].v))\n"
    )


def test_it_is_drawn_first_after_how_many_rounds_a_repeated_call_stops() -> None:
    text = written(
        "r = repeat noisy(a = q[0], e = eps) until r.v > T stop with probability 1/k", RunMode.REFINED
    )
    assert text.startswith("for r_round in range(1 + noise.geometric(Fraction(1, k))):\n    r_mechanism = ")
    assert text.endswith("    if r[0].v > T:\n        break\nelse:\n    r = ()\n")


@pytest.mark.parametrize(
    ("body", "local"),
    [
        ("for i, v in q:\n  eta[i] ~ Lap(1)\n  emit a(eta[i])", ["eta"]),
        ("for i, v in q:\n  eta[i] ~ Lap(1)\n  xi[i] ~ Lap(1)\n  emit a(eta[i] + xi[0])", ["eta"]),
        ("for i, v in q:\n  eta[i] ~ Lap(1)\n  xi[i + 1] ~ Lap(1)", ["eta"]),
        ("for i, v in q:\n  eta[i] ~ Lap(1)\nemit a(eta[0])", []),
        ("for i, v in q:\n  eta[i] ~ Lap(1)\nfor j, v in q: emit a(eta[j])", []),
        ("for i, v in q:\n  eta[i + 1] ~ Lap(1)\n  emit a(eta[i + 1])", []),
        ("for i, v in q:\n  for j in range(k):\n    eta[i] ~ Lap(1)\n    emit a(eta[i])", ["eta"]),
    ],
)
def test_noise_of_one_round_needs_no_index(body: str, local: list[str]) -> None:
    assert loop_locals(spec(body)) == local


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("s = T + c[k]", {"T", "c", "k"}),
        ("for i, v in q: pass", {"q"}),
        ("for i in range(k): emit a(T)", {"k"}),
        ("while k > 9:\n  invariant T > 0\n  emit a(eps)", {"k"}),
        ("if k > 9: emit a(T)", {"k"}),
        ("eta ~ Lap(T/eps)", {"T", "eps"}),
    ],
)
def test_a_statement_reads_the_names_that_it_evaluates_itself(body: str, names: set[str]) -> None:
    """Neither those of its block, nor of what is said for the proof alone."""
    first, *_ = statements_in(spec(body).body)
    assert names_read(first) == names


# --- inputs -----------------------------------------------------------------------------------------------


def writer_of(inputs: str) -> InputWriter:
    tree = mechanism("emit done", inputs=inputs, privacy="1")
    names = {name: name for item in tree.inputs for name in item.names}
    return InputWriter(tree, names, kinds_of(tree))


@pytest.mark.parametrize(
    ("inputs", "made", "run", "checked"),
    [
        ("k : int where k >= 1", ['require(self.k >= 1, "k", self.k, "k >= 1")'], [], []),
        (
            "k : int where 1 <= k and k <= 9",
            ['require(1 <= self.k and self.k <= 9, "k", self.k, "1 <= k <= 9")'],
            [],
            [],
        ),
        (
            "c : vector where c[i] > 0",
            ['require(all(self.c[i] > 0 for i in range(len(self.c))), "c", self.c, "c[i] > 0")'],
            [],
            [],
        ),
        (
            "q : queries, sensitivity 1\nk : int where 1 <= k and k <= len(q)",
            ['require(1 <= self.k, "k", self.k, "1 <= k")'],
            ['require(self.k <= len(q), "k", self.k, "k <= len(q)")'],
            [],
        ),
        (
            "k : int\nq : queries, sensitivity 1 where k > 1 and len(q) >= 2 and q[i] < 9",
            ['require(self.k > 1, "k", self.k, "k > 1")'],
            ['require(len(q) >= 2, "k", self.k, "len(q) >= 2")'],
            ['require_answers(all(q[i] < 9 for i in range(len(q))), "q", "q[i] < 9")'],
        ),
        (
            "k : int\nq : queries, sensitivity 1 where len(q) >= 2 or k > 5",
            [],
            ['require_answers(len(q) >= 2 or self.k > 5, "q", "len(q) >= 2 or k > 5")'],
            [],
        ),
        (
            "q : queries, sensitivity 1 where len(q) >= 2",
            [],
            ['require_answers(len(q) >= 2, "q", "len(q) >= 2")'],
            [],
        ),
        (
            "q : queries, sensitivity 1, range [0, 9]",
            [],
            [],
            ['require_answers(all(0 <= q[i] <= 9 for i in range(len(q))), "q", "0 <= q <= 9")'],
        ),
        (
            "a : query, sensitivity 1, lattice 1/2",
            [],
            [],
            ['require_answers(is_multiple(a, Fraction(1, 2)), "a", "a is a multiple of 1/2")'],
        ),
        (
            "c : vector where c[i] > 0\nq : queries, sensitivity c[i]",
            ['require(all(self.c[i] > 0 for i in range(len(self.c))), "c", self.c, "c[i] > 0")'],
            [],
            ['require_answers(len(q) <= len(self.c), "q", "len(q) <= len(c)")'],
        ),
    ],
)
def test_what_is_public_is_required_and_values_of_answers_are_looked_at_by_check_alone(
    inputs: str, made: list[str], run: list[str], checked: list[str]
) -> None:
    writer = writer_of(inputs)
    attributes = writer.writer(writer.attributes())
    assert list(writer.parameters(attributes, "", of_defaults=False)) == made
    assert list(writer.lengths(attributes, "")) == run
    assert list(writer.values(attributes, "")) == checked


def test_what_is_said_of_a_default_is_required_once_it_has_a_value() -> None:
    writer = writer_of("k : int where k >= 1\nt : real, default 1/k where 0 < t and t < k")
    attributes = writer.writer(writer.attributes())
    first, then = (list(writer.parameters(attributes, "", of_defaults=when)) for when in (False, True))
    assert [text.split(",")[0] for text in first] == ["require(self.k >= 1"]
    assert [text.split(",")[0] for text in then] == ["require(0 < self.t and self.t < self.k"]


@pytest.mark.parametrize(
    ("declared", "arguments", "held"),
    [
        ("queries, sensitivity 1", [], "run.noise.answers(v, exact=False)"),
        ("query, sensitivity 1", [], "run.noise.answer(v, exact=False)"),
        # Rounding many answers may multiply their distance; a declared lattice is rounded to already.
        ("queries, sensitivity 1, adjacency l1", [], "run.noise.answers(v, exact=True)"),
        ("queries, sensitivity sqrt(2)", [], "run.noise.answers(v, exact=True)"),
        ("queries, sensitivity 1, lattice 1/2", ["step=Fraction(1, 2)"], "run.noise.answers(v, exact=True)"),
        ("int queries, sensitivity 1", [], "v"),
        ("int queries, sensitivity 1/2", ["whole=True"], "v"),
        ("int queries, sensitivity 1, adjacency l1", ["whole=True"], "v"),
        ("query, adjacency any, range [0, k]", ["low=0", "high=self.k"], "run.noise.answer(v, exact=False)"),
        (
            "queries, sensitivity c[i], range [0, d[i]]",
            ["low=0", "high=lambda i: self.d[i]", 'entries={"c": len(self.c), "d": len(self.d)}'],
            "run.noise.answers(v, exact=False)",
        ),
        ("queries[k][2], sensitivity 1", ["table=(self.k, 2)"], "run.noise.answers(v, exact=False)"),
    ],
)
def test_answers_are_read_so_that_neighbours_stay_neighbours(
    declared: str, arguments: list[str], held: str
) -> None:
    writer = writer_of(f"k : int where k >= 1\nc : vector where c[i] > 0\nd : vector\nq : {declared}")
    (item,) = writer.queries
    found = [each if isinstance(each, str) else each.flat for each in writer.domain_arguments(item)]
    assert (found, writer.held(item, "v")) == (arguments, held)


@pytest.mark.parametrize(
    ("declared", "speaks", "restricts"),
    [
        ("q : queries, sensitivity 1", False, False),
        ("q : queries, sensitivity 1 where len(q) >= 2", True, False),
        ("q : queries, sensitivity 1 where q[i] < 9", True, True),
        ("q : queries, sensitivity 1, range [0, 9]", True, False),
        ("q : queries, sensitivity 1, lattice 1", True, False),
        ("c : vector where c[i] > 0\nq : queries, sensitivity c[i]", True, False),
        ("q : queries, sensitivity 1\nk : int where k <= len(q)", True, False),
        ("q : queries, sensitivity 1\np : queries, sensitivity 1 where p[i] < 9", False, False),
    ],
)
def test_what_is_declared_of_answers_is_of_their_number_or_of_their_values(
    declared: str, speaks: bool, restricts: bool
) -> None:
    writer = writer_of(declared)
    item = next(item for item in writer.queries if "q" in item.names)
    assert (writer.speaks_of(item, "q"), writer.restricts("q")) == (speaks, restricts)


def test_a_list_of_distances_is_divided_in_all_its_entries_and_told_by_the_least() -> None:
    writer = writer_of(
        "c : vector where c[i] > 0\nk : int\nq : queries, sensitivity c[i]\np : queries, sensitivity k"
    )
    attributes = writer.writer(writer.attributes())
    each, one = (item.sensitivity for item in writer.queries)
    assert each is not None
    assert one is not None
    assert writer.unit(each, attributes) == '"c[i]": [self.c[i] for i in range(len(self.c))]'
    assert writer.least(each, attributes) == "min(self.c[i] for i in range(len(self.c)))"
    assert (writer.unit(one, attributes), writer.least(one, attributes)) == ('"k": self.k', "self.k")

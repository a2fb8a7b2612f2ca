"""Generated code is read back as the proved form; changed code is refused, or means the same."""

from __future__ import annotations

import ast
import copy
import random
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import as_if_verified

from aligncheck.compiler.emit.python import emit_python
from aligncheck.compiler.forms import NoFormError, form_of
from aligncheck.compiler.modes import RunMode
from aligncheck.compiler.readback import ReadError, program_runs
from aligncheck.language.check import check
from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.read import read_source

PROJECT = Path(__file__).parents[2]
sys.path.insert(0, str(PROJECT / "tests" / "property"))

from test_emit_agreement import Programs  # noqa: E402 - a generator of random programs

SPECS = sorted((PROJECT / "specs").glob("*.dp"))


@cache
def generated(stem: str, mode: RunMode) -> tuple[str, Mechanism, Mechanism] | None:
    """The code of a spec, the spec and its form; None where there is no form."""
    source = read_source(str(PROJECT / "specs" / f"{stem}.dp"))
    spec = check(source, parse(source))
    try:
        form = form_of(spec, source, mode).mechanism
    except NoFormError:
        return None
    return emit_python(as_if_verified(spec), mode), spec, form


def written(text: str, mode: RunMode, callee: str = "") -> tuple[str, Mechanism, Mechanism]:
    """The code of a spec, which is read back, the spec and its form; `callee`: of what it calls."""
    source = Source("s.dp", text)
    spec = check(source, parse(source), lambda path: Source(path, callee or CALLED))
    form = form_of(spec, source, mode).mechanism
    code = emit_python(as_if_verified(spec), mode)
    program_runs(code, spec, form, mode)
    return code, spec, form


def is_read(code: str, stem: str, mode: RunMode) -> bool:
    made = generated(stem, mode)
    assert made is not None
    try:
        program_runs(code, *made[1:], mode)
    except ReadError as error:
        return not 1 <= error.line <= len(code.split("\n"))
    return True


def test_the_corpus_is_read_back_as_its_proved_forms(exhaustive: bool) -> None:
    whole = [(path.stem, mode) for path in SPECS for mode in RunMode]
    named = [("exponential_mechanism_repeated", RunMode.LATTICE), ("private_selection", RunMode.LATTICE)]
    found = 0
    for stem, mode in whole if exhaustive else [*whole[::8], *named]:
        made = generated(stem, mode)
        assert made is not None or mode is RunMode.LATTICE, f"{stem} has a form in every other mode"
        if made is not None:
            program_runs(*made, mode)
            found += 1
    assert found > 20


def test_compiled_mechanisms_are_read_back() -> None:
    for path in sorted((PROJECT / "mechanisms").glob("*.py")):
        text = path.read_text("utf-8")
        mode = next(mode for mode in RunMode if f"({mode.value.title()}Mechanism)" in text)
        assert is_read(text, path.stem, mode), path.stem


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_random_programs_are_read_back(seed: int) -> None:
    mechanism = Programs(seed).mechanism()
    program_runs(emit_python(as_if_verified(mechanism), RunMode.FLOAT), mechanism, mechanism, RunMode.FLOAT)


# --- what must be refused ---------------------------------------------------------------------------------

ATTACKS = {
    "statement in the module": (
        "\n\nclass AdaptiveSvtWithGap(",
        "\n\nNoise.laplace = None\n\n\nclass AdaptiveSvtWithGap(",
    ),
    "function in the module": (
        "\n\nclass AdaptiveSvtWithGap(",
        "\n\ndef sqrt(x):\n    return x\n\n\nclass AdaptiveSvtWithGap(",
    ),
    "import": ("from dataclasses import dataclass", "import os\nfrom dataclasses import dataclass"),
    "import under another name": ("    sqrt,\n)", "    exp as sqrt,\n)"),
    "functions of floats": ("runtime.rationals import", "runtime.reals import"),
    "base": ("class AdaptiveSvtWithGap(LatticeMechanism)", "class AdaptiveSvtWithGap(FloatMechanism)"),
    "decorator of a method": ("    def __call__(", "    @property\n    def __call__("),
    "decorator of a record": (
        "@dataclass(frozen=True, slots=True)\nclass Top",
        "@dataclass(slots=True)\nclass Top",
    ),
    "default argument": ("        k: IntLike,", "        k: IntLike = 1,"),
    "attribute of the class": ("    def __call__(", "    bound = 0\n\n    def __call__("),
    "method of the runtime": (
        "    def sensitivities(",
        "    def _noise(self):\n        return None\n\n    def sensitivities(",
    ),
    "method of a record": (
        '    tag: ClassVar[str] = "top"',
        '    tag: ClassVar[str] = "top"\n\n    def __post_init__(self):\n        pass\n',
    ),
    "hidden field": ("    gap: Real\n    used: Real", "    gap: Real\n    q: Real\n    used: Real"),
    "scale": ("eta = noise.laplace(1 / e0)", "eta = noise.laplace(1 / e1)"),
    "noise that is not used": ("noisy_T = T + eta", "noisy_T = T"),
    "draw too many": (
        "            zeta = noise.laplace(1 / e2)",
        "            zeta = noise.laplace(1 / e2)\n            zeta = noise.laplace(1 / e2)",
    ),
    "draws in another order": (
        "xi = noise.laplace(1 / e1)\n            zeta = noise.laplace(1 / e2)",
        "zeta = noise.laplace(1 / e2)\n            xi = noise.laplace(1 / e1)",
    ),
    "family": ("eta = noise.laplace", "eta = noise.exponential"),
    "comparison": ("noisy_T >= sigma", "noisy_T > sigma"),
    "quotient of integers": ("e2 = eps / (4 * k)", "e2 = eps * (1 / (4 * k))"),
    "released beside": (
        "Below(used=0), query",
        'Below(used=0), estimate=("used", query, GapNoise(1, 1)), query',
    ),
    "label of a secret": ('Below(used=0), query=("q", i)', 'Below(used=0), query=("q", whole(query))'),
    "what is kept": (
        "                cost = cost + 2 * e2\n            else",
        "                cost = cost + 2 * e1\n            else",
    ),
    "end of a loop": ("if cost > eps - 2 * e2", "if cost > eps"),
    "unread answers": ("for i, query in enumerate(q)", "for i, query in enumerate(list(q))"),
    "rounding": ('real_answers("q", q)', 'real_answers("q", q, step=2)'),
    "a list as a table": ('real_answers("q", q)', 'real_answers("q", q, table=(1, 2))'),
    "step": ('resolution(gamma, {"1": 1})', 'resolution(gamma, {"1": 2})'),
    "two units of one name": ('resolution(gamma, {"1": 1})', 'resolution(gamma, {"1": 1, "1": 2})'),
    "charge": ("self.bound = self.eps", "self.bound = self.eps / 2"),
    "parameter": ('self.eps = real("eps", eps)', 'self.eps = real("eps", 2 * eps)'),
    "condition": ("require(self.k >= 1,", "require(self.k >= 0,"),
    "adjacency": ('adjacency="all"', 'adjacency="one"'),
    "sensitivity": ('return {"q": 1}', 'return {"q": 2}'),
    "words of the claim": ('claim="eps"', 'claim="eps/2"'),
    "two runs": (
        "        return run.result()",
        "        with self._run() as run:\n            pass\n        return run.result()",
    ),
    "encoding": ('"""Sparse', '# coding: utf-7\n"""Sparse'),
    "name of a builtin": ("            zeta = noise", "            enumerate = zeta = noise"),
    "unknown name": ("sigma = 2 * sqrt(2) / e1", "sigma = 2 * root(2) / e1"),
    "stream of other noise": ("        run = self._run()\n", "        run = self.with_noise(None)._run()\n"),
    "look ahead": ("return run.stream(\n", "return run.stream(\n            # all\n            *[],\n"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_what_is_no_part_of_the_form_is_refused(name: str) -> None:
    made = generated("adaptive_svt", RunMode.LATTICE)
    assert made is not None
    old, new = ATTACKS[name]
    assert made[0].count(old) >= 1, "the attack finds its place"
    assert not is_read(made[0].replace(old, new, 1), "adaptive_svt", RunMode.LATTICE)


@pytest.mark.parametrize(
    "sizes", ["table=(self.m, self.n)", "table=(self.n, 2 * self.m)", "table=self.n", ""]
)
def test_a_table_has_the_sizes_that_are_declared(sizes: str) -> None:
    made = generated("table_histogram", RunMode.LATTICE)
    assert made is not None
    assert is_read(made[0], "table_histogram", RunMode.LATTICE)
    other = made[0].replace("table=(self.n, self.m)", sizes)
    assert other != made[0]
    assert not is_read(other, "table_histogram", RunMode.LATTICE)


TOP = """mechanism best
input
  q : queries, sensitivity 1
  eps : real where eps > 0 and len(q) >= 1
privacy eps
program
  for i in range(len(q)):
    eta[i] ~ Lap(2/eps)
  w = top(1, q[i] + eta[i] for i in q)
  emit chosen(index = w[0])
align
  eta[i] += q[i] - q'[i] + 1   when i in w
"""


ONE = """mechanism one
input
  a : query, sensitivity 1
  eps : real where eps > 0
privacy eps
program
  y = 0
  eta ~ Lap(1/eps)
  noisy = a + eta
  if a > 5:
    y = 1
  emit v(x = noisy)
align
  eta += a - a'
"""

SUMMED = """mechanism summed
input
  a : query, sensitivity 1
  k : int where k >= 0
  numerator : real where numerator > 0
privacy sum(numerator for j in range(k))
program
  for j in range(k):
    eta[j] ~ Lap(1/numerator)
    emit v(a + eta[j])
align
  eta[j] += a - a'
"""

CALLED = """mechanism c
input
  y : query, sensitivity 1
  d : real where d > 0
privacy d
program
  eta ~ Lap(1/d)
  emit w(v = y + eta)
align
  eta += y - y'
"""

CALLING = """mechanism caller
use c from "c.dp"
input
  a : query, sensitivity 1
  eps : real where eps > 0
privacy eps
program
  u = eps
  r = c(y = a, d = eps)
  z = 0
  if a > 5:
    z = u + 1
  emit v(x = r[0].v)
"""

COIN = """mechanism coin
input
  x : int query, adjacency any, range [0, 1]
  eps : real where eps > 0
privacy eps
program
  keep ~ Bernoulli(1/(1 + exp(-eps)))
  emit answer(x if keep == 1 else 1 - x)
align
  keep = 1 - keep   when x != x'
"""

NOT_USED = """mechanism unused
input
  q : int queries, sensitivity 1, adjacency one where len(q) >= 1
  eps : real where eps > 0
privacy eps
program
  for i in range(len(q)):
    u[i] ~ DExp(1)
    eta[i] ~ DLap(1/eps)
    emit v(x = (q[i] if i < len(q) else 0) + eta[i])
  w = argmax(i - 2*i for i in q)
align
  eta[i] += q[i] - q'[i]
"""

COUNTED = """mechanism counted
input
  q : queries, sensitivity 1, adjacency one
  a : query, sensitivity 1
  eps : real where eps > 0
privacy eps
program
  eta ~ Lap(1/eps)
  for x in q:
    emit one
  emit v(x = a + eta)
align
  eta += a - a'
"""

SCALED = """mechanism scaled
input
  q : queries, sensitivity 1
  eps : real where eps > 0
privacy eps
program
  for i, x in q:
    eta[i] ~ Lap(len(q)/eps)
  for i, x in q:
    emit v(x = x + eta[i])
align
  eta[i] += q[i] - q'[i]
"""

APART = """mechanism apart
input
  q : queries, sensitivity 1, adjacency one
  k : int where k >= 0
  eps : real where eps > 0
privacy eps
program
  for i in range(k):
    eta[i] ~ Lap(2)
  for i in range(k, len(q)):
    eta[i] ~ Lap(1)
  for i in range(len(q)):
    emit v(x = q[i] + eta[i])
align
  eta[i] += q[i] - q'[i]
"""

LISTS = """mechanism lists
input
  p, r : query, sensitivity 1/10
  c, d : vector where c[i] > 0
  q : queries, sensitivity c[i], range [0, d[i]], adjacency one
  eps : real where eps > 0
privacy 2*eps
program
  a ~ Lap(1/(5*eps))
  for i, x in q:
    eta[i] ~ Lap(c[i]/eps)
    emit v(x = p + r + a, y = x + eta[i])
align
  a += p + r - p' - r'
  eta[i] += q[i] - q'[i]
"""

STREAMS = {
    "sizes that are computed": (
        '{"c": len(self.c), "d": len(self.d)}',
        '{"c": len(self.c), "d": len(self.d)}, table=q.sort()',
    ),
    "an index that is none": ("lambda i: self.d[i]", "self.d[i]"),
    "another list": ("q_answers", "_A"),
    "an answer twice": ("r_answer", "p_answer"),
    "an answer for another": ("p_answer", "r"),
}

CHANGES = {
    "a class for the function that checks": (
        ONE,
        {
            "    require,\n": "",
            "\nclass V:\n": "\nclass require:\n"
            + '    tag: ClassVar[str] = "r"\n    a: Real\n    b: Real\n    c: Real\n    d: Real\n\n\n'
            + "@dataclass(frozen=True, slots=True)\nclass V:\n",
        },
    ),
    "another function under the name of one": (
        ONE,
        {
            "    real_answer,\n": "    integer_answer,\n",
            "OneRecord: TypeAlias": "real_answer: TypeAlias = integer_answer\nOneRecord: TypeAlias",
        },
    ),
    "a field that Python reads": (
        ONE,
        {
            "import dataclass\n": "import dataclass, field\n",
            "    x: Real\n": '    __hash__: Real = field(metadata={"name": "x"})\n',
            "V(x=": "V(__hash__=",
        },
    ),
    "a parameter with the name of an index": (
        ONE,
        {
            '"eps", "eps", "real"': '"eps", "i", "real"',
            "        eps: RealLike": "        i: RealLike",
            'self.eps = real("eps", eps)': 'self.i = real("eps", i)',
            'require(self.eps > 0, "eps", self.eps': 'require(self.i > 0, "eps", self.i',
            "self.bound = self.eps": "self.bound = self.i",
            "eps = self.eps": "i = self.i",
            "1 / eps": "1 / i",
        },
    ),
    "a parameter that is described by a computation": (
        ONE,
        {'"eps", "eps", "real", where': '"eps", "eps", "real", vector=abs(1), where'},
    ),
    "lengths that are computed": (
        SCALED,
        {'real_answers("q", q)': 'real_answers("q", q, entries=q.sort() or {})'},
    ),
    "what a step divides, as a float": (LISTS, {'"1/10": Fraction(1, 10)': '"1/10": 1 / 10'}),
    "what a step divides, of another list": (
        LISTS,
        {"[self.c[i] for i in range(len(self.c))]": "[self.c[i] for i in range(len(self.d))]"},
    ),
    "what a step divides, of no list": (
        LISTS,
        {"[self.c[i] for i in range(len(self.c))]": "[self.z[i] for i in range(len(self.z))]"},
    ),
    "the logarithm of odds for a chance": (COIN, {"bernoulli_of_log_odds(eps)": "bernoulli(eps)"}),
    "a scale that no round asks for": (
        SCALED,
        {
            "        for i, x in enumerate(q):\n            eta[i] = noise.laplace(len(q) / eps)\n": (
                "        eta = noise.laplaces(len(q) / eps, len(q))\n"
            ),
            "        eta: dict[int, Real] = {}\n": "",
        },
    ),
    "a function that is left out": (
        ONE.replace("input", "fun f(real) : real\ninput", 1).replace("y = 0", "y = f(eps)"),
        {
            "        f: Callable[[Real], Real],\n": "",
            '        self.f = real_function("f", f)\n': "",
            "        f = self.f\n": "",
            "= f(eps)": "= eps",
            '        functions=(FunctionInfo("f", "f"),),\n': "",
            "    real_function,\n": "",
            "from collections.abc import Callable\n": "",
            "    FunctionInfo,\n": "",
        },
    ),
    "a selection that a record reads by its places": (
        TOP,
        {"vector(q) + vector(eta)": "vector(q) + 0 * vector(eta)"},
    ),
    "a dictionary where answers say so": (
        ONE,
        {"            y = 1": "            y = 1\n            noisy: dict[int, Real] = {}"},
    ),
    "an error where answers are not whole": (
        ONE,
        {"noisy = a": "noisy = whole(a)", "    resolution,\n": "    resolution,\n    whole,\n"},
    ),
    "a kind of number where answers say so": (
        ONE.replace("y = 1", "y = 1/2")
        .replace("y = 0", "y = 1")
        .replace("x = noisy", "x = noisy + 0*y, z = y"),
        {"y: Real = Fraction(1)": "y = 1"},
    ),
    "a kind of number for a function": (
        ONE.replace("input", "fun f(real) : real\ninput", 1)
        .replace("y = 1", "y = 1/2")
        .replace("y = 0", "y = 1")
        .replace("x = noisy", "x = noisy + 0*f(y)"),
        {"y: Real = Fraction(1)": "y = 1"},
    ),
    "the records of this run for those of a call": (
        CALLING.replace("emit v(", "emit v(n = r.count(w), "),
        {
            'sum(record.tag == "w" for record in r)': 'release.count("w")',
            "        r = r_result": "        out = r_result",
            "x=r[0].v": "x=out[0].v",
        },
    ),
    "a label that only whole numbers have": (
        SCALED,
        {
            'query=("q", i)': 'query=("q", whole(x + eta[i]))',
            "    resolution,\n": "    resolution,\n    whole,\n",
        },
    ),
    "a result for a variable": (
        CALLING,
        {"r_result = r_mechanism": "u = r_mechanism", "r = r_result.records": "r = u.records"},
    ),
    "a fraction that refined noise cannot be made": (
        ONE.replace("y = 1", "y = noisy").replace("y = 0", "y = 0*eps"),
        {
            "y = noisy": "y = Fraction(noisy)",
            "from typing import": "from fractions import Fraction\nfrom typing import",
        },
    ),
    "a class of another name": (ONE, {"class One(": "class Other("}),
    "a record of another name": (ONE, {"class V:": "class X:", "= V\n": "= X\n", "emit(V(": "emit(X("}),
    "a field of another name": (
        ONE,
        {
            "    x: Real": '    y: Real = field(metadata={"name": "x"})',
            "V(x=": "V(y=",
            "import dataclass": "import dataclass, field",
        },
    ),
    "an index that is drawn in its round": (
        NOT_USED,
        {"            u =": "            i =", ', query=("q", i)': ""},
    ),
    "an index that is the noise of what comes next": (
        COUNTED,
        {"for position, x in": "for eta, x in", ', query=("q", position)': ""},
    ),
    "an index that is a fraction": (
        TOP,
        {
            'Chosen(index=w[0]), query=("q", w[0])': "Chosen(index=w[Fraction(0)])",
            "from typing import": "from fractions import Fraction\nfrom typing import",
        },
    ),
    "a number for a truth value": (
        ONE.replace("x = noisy", "x = noisy > 0"),
        {"V(x=noisy > 0)": "V(x=--(noisy > 0))"},
    ),
    "a run for an answer": (
        COIN,
        {"x_answer = integer": "run = integer", "run.release, x_answer)": "run.release, run)"},
    ),
    "noise that is put nowhere": (
        SCALED.replace("align", "  w = argmax(i - 2*i for i in q)\nalign"),
        {
            "        eta: dict[int, Real] = {}\n": "",
            "(i, i - 2 * i) for i in range(len(q))": "(eta, eta - 2 * eta) for eta in range(len(q))",
        },
    ),
    "noise that is put into a list": (
        APART,
        {
            "        eta: dict[int, Real] = {}\n": "",
            "        for i in range(k):\n            eta[i] = noise.laplace(2)\n": (
                "        eta = noise.laplaces(2, k)\n"
            ),
        },
    ),
    "arithmetic with indices of 64 bits": (
        NOT_USED,
        {
            "argmax_of((i, i - 2 * i) for i in range(len(q)))": (
                "argmax(indices(len(q)) - 2 * indices(len(q)))"
            ),
            "    argmax_of,\n": "",
            "\n\n@dataclass": "from aligncheck.runtime.arrays import argmax, indices\n\n\n@dataclass",
        },
    ),
    "an index that hides the object": (
        SUMMED,
        {"for j in range(self.k))": "for self in range(self.k))"},
    ),
    "an answer in a message": (
        ONE.replace("eps > 0", "eps > 0 and eps < 9"),
        {
            "        with self._run(": (
                '        require(self.eps < 9, "eps", a_answer, "eps < 9")\n        with self._run('
            ),
            '        require(self.eps > 0 and self.eps < 9, "eps", self.eps, "eps > 0 and eps < 9")': (
                '        require(self.eps > 0, "eps", self.eps, "eps > 0 and eps < 9")'
            ),
        },
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_means_something_else_is_refused(name: str) -> None:
    text, changes = CHANGES[name]
    code, spec, form = written(text, RunMode.LATTICE)
    for old, new in changes.items():
        assert code.count(old) == 1, old
        code = code.replace(old, new)
    with pytest.raises(ReadError):
        program_runs(code, spec, form, RunMode.LATTICE)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_reads_answers_as_a_run_does(name: str) -> None:
    code, spec, form = written(LISTS, RunMode.LATTICE)
    start, end = code.index("    def stream("), code.index("    def check(")
    assert STREAMS[name][0] in code[start:end]
    code = code[:start] + code[start:end].replace(*STREAMS[name]) + code[end:]
    with pytest.raises(ReadError):
        program_runs(code, spec, form, RunMode.LATTICE)


def test_a_stream_has_a_claim_in_epsilon_alone() -> None:
    """Under one in ρ its queries might be chosen by what is released, which the proof does not cover."""
    pure, averaged = (LISTS.replace("privacy 2*eps", claim) for claim in ("privacy eps", "privacy eps zcdp"))
    code, *_ = written(pure, RunMode.LATTICE)
    code = code.replace('claim="eps",', 'claim="eps",\n        currency=Currency.RHO,')
    code = code.replace("    Budget,\n", "    Budget,\n    Currency,\n")
    _, spec, form = written(averaged, RunMode.LATTICE)
    with pytest.raises(ReadError, match="in ε alone"):
        program_runs(code, spec, form, RunMode.LATTICE)


def test_a_stream_begins_where_all_that_is_required_holds() -> None:
    """It would not look at what only the other way of running looks at."""
    made = generated("adaptive_svt", RunMode.LATTICE)
    assert made is not None
    required = '        require(self.eps > 0, "eps", self.eps, "eps > 0")\n'
    code = (
        made[0]
        .replace(required, "")
        .replace('        with self._run({"q"', f'{required}        with self._run({{"q"')
    )
    assert code.count(required) == 1
    with pytest.raises(ReadError, match="a stream would not look at this condition"):
        program_runs(code, *made[1:], RunMode.LATTICE)


def test_a_whole_number_is_handed_on_as_an_int() -> None:
    """What is called refuses fractions, and so a run might end there."""
    called = CALLED.replace("d : real", "d : int")
    code, spec, form = written(CALLING.replace("d = eps", "d = 2"), RunMode.LATTICE, called)
    with pytest.raises(ReadError, match="may be no int"):
        program_runs(code.replace("C(d=2,", "C(d=Fraction(2),"), spec, form, RunMode.LATTICE)


def test_an_irrational_sensitivity_is_read_back() -> None:
    text = ONE.replace("sensitivity 1", "sensitivity sqrt(2)").replace("Lap(1", "Lap(sqrt(2)")
    code, spec, form = written(text, RunMode.REFINED)
    with pytest.raises(ReadError):
        program_runs(code.replace('{"a": sqrt(2)}', '{"a": sqrt(3)}'), spec, form, RunMode.REFINED)


@pytest.mark.parametrize(
    ("other", "swapped"), [("b", {"a": "b", "b": "a"}), ("a_", {"a": "a__", "a_": "a___"})]
)
def test_inputs_keep_their_names(other: str, swapped: dict[str, str]) -> None:
    """Who gives answers by name would give `b`, which moves by 5, where noise is for what moves by 1; or
    would not know which of `a__` and `a___` is `a`.
    """
    text = ONE.replace("\n  eps :", f"\n  {other} : query, sensitivity 5\n  eps :")
    text = text.replace("a > 5", f"a > {other}")
    code, spec, form = written(text, RunMode.REFINED)
    turned = re.sub(r'(?<!")\ba_?\b(?!")|(?<!")\bb\b(?!")', lambda name: swapped.get(name[0], name[0]), code)
    for name, python in swapped.items():
        given = rf'QueryInfo\(\s*"{name}",\s*"{name}"'
        turned = re.sub(given, f'QueryInfo("{name}", "{python}"', turned)
    with pytest.raises(ReadError, match=f"`a_?` of the spec is called `{swapped['a']}|{swapped[other]}`"):
        program_runs(turned, spec, form, RunMode.REFINED)


def test_loops_may_share_the_names_of_an_index_and_an_answer() -> None:
    text = TOP.replace("for i in range(len(q))", "for j, y in q").replace("[i] ~", "[j] ~")
    first, last = text.split("  w = ")
    text = f"{first}  at = 0\n  for j, y in q:\n    if y + eta[j] > eta[at]:\n      at = j\n  w = {last}"
    for mode in RunMode:
        written(text, mode)


def test_what_is_called_computes_in_the_same_mode() -> None:
    """In another one nothing looks at whether its numbers are exact and its answers fit the lattice."""
    code, spec, form = written(CALLING, RunMode.REFINED)
    called, own = code[: code.index("class Caller(")], code[code.index("class Caller(") :]
    for old, new in {
        "class C(RefinedMechanism)": "class C(FloatMechanism)",
        "        gamma: RealLike | None = None,\n": "",
        '        self.gamma = resolution(gamma, {"1": 1})\n': "",
        "from aligncheck.runtime import (\n": "from aligncheck.runtime import (\n    FloatMechanism,\n",
    }.items():
        assert called.count(old) == 1, old
        called = called.replace(old, new)
    called, own = (re.sub(r"\bC\b", "UnsafeC", part) for part in (called, own))
    with pytest.raises(ReadError, match="`UnsafeC` computes in the mode `float`"):
        program_runs(called + own, spec, form, RunMode.REFINED)


def test_a_spec_may_use_the_words_of_python_and_of_the_runtime() -> None:
    words = [
        "lambda",
        "lambda_",
        "_1",
        "__",
        "noise",
        "record",
        "run",
        "budget",
        "gamma",
        "spec",
        "Fraction",
        "tag",
    ]
    given = "".join(f"\n  {word} : real" for word in words)
    text = ONE.replace("mechanism one", "mechanism _One_1").replace("\n  eps :", f"{given}\n  eps :")
    text = text.replace("emit v(x = noisy)", "emit _v(tag = noisy, class = print)\n  emit V(_x = gap)")
    text = text.replace("y = 1", f"y = {' + '.join(words)}").replace("a > 5", "y > 5")
    text = text.replace("  noisy =", "  print = y\n  gap = y\n  noisy =")
    for mode in RunMode:
        written(text, mode)


def test_records_of_a_call_may_be_counted() -> None:
    for mode in RunMode:
        written(CALLING.replace("emit v(", "emit v(n = r.count(w), "), mode)


@pytest.mark.parametrize(("own", "called"), [("1/3", "1"), ("1", "1"), ("1", "2/3"), ("1", None)])
def test_a_lattice_is_that_of_all_that_is_called(own: str, called: str | None) -> None:
    """What is called may have a coarser one of its own, or no private answers."""
    answer = "" if called is None else f"  x : query, sensitivity {called}\n"
    callee = f"mechanism c\ninput\n{answer}  eps : real where eps > 0\nprivacy eps\nprogram\n"
    callee += f"  eta ~ Lap(2/eps)\n  emit v({'eta' if called is None else 'x + eta'})\n"
    callee += "" if called is None else "align\n  eta += x - x'\n"
    given = "" if called is None else "x = x, "
    caller = f'mechanism caller\nuse c from "c.dp"\ninput\n  x : query, sensitivity {own}\n'
    caller += f"  eps : real where eps > 0\nprivacy 3*eps\nprogram\n  a = c({given}eps = eps)\n"
    caller += "  eta ~ Lap(1/eps)\n  emit w(x + eta + a.value)\n"
    code, spec, form = written(caller + "align\n  eta += x - x'\n", RunMode.LATTICE, callee)
    first = code.index("self.gamma = resolution(")
    other = code[:first] + code[first:].replace(
        "resolution(gamma, {", 'resolution(gamma, {"1/7": Fraction(1, 7), ', 1
    )
    with pytest.raises(ReadError):
        program_runs(other, spec, form, RunMode.LATTICE)


def test_functions_see_rounded_numbers_at_every_call_or_the_module_is_refused() -> None:
    """A function that is given a number here and the same number rounded there is no function of it."""
    made = generated("online_pmw", RunMode.REFINED)
    assert made is not None
    code, spec, form = made
    program_runs(code, spec, form, RunMode.REFINED)
    for name in ("answer", "update"):
        with pytest.raises(ReadError, match=f"`{name}`"):
            program_runs(
                code.replace(f"noise.given(self.{name})", f"self.{name}"), spec, form, RunMode.REFINED
            )


# --- mutants ----------------------------------------------------------------------------------------------

MUTATED = [
    ("adaptive_svt", RunMode.LATTICE),
    ("noisy_topk_gap", RunMode.REFINED),
    ("exponential_mechanism", RunMode.LATTICE),
    ("mwem", RunMode.FLOAT),
]
OTHERS: dict[type[ast.AST], list[type[ast.AST]]] = {
    ast.Add: [ast.Sub], ast.Sub: [ast.Add], ast.Mult: [ast.Div], ast.Div: [ast.Mult, ast.FloorDiv],
    ast.Mod: [ast.Mult], ast.Pow: [ast.Mult], ast.Gt: [ast.GtE, ast.Lt], ast.GtE: [ast.Gt, ast.LtE],
    ast.Lt: [ast.LtE, ast.Gt], ast.LtE: [ast.Lt, ast.GtE], ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq],
    ast.And: [ast.Or], ast.Or: [ast.And], ast.In: [ast.NotIn], ast.NotIn: [ast.In], ast.USub: [ast.UAdd],
    ast.BitAnd: [ast.BitOr], ast.BitOr: [ast.BitAnd],
}  # fmt: skip
Change = Callable[[ast.AST], object]


def changes(node: ast.AST, names: list[str]) -> Iterator[tuple[str, Change]]:
    """What may be done to one node: a description and the deed."""
    if isinstance(node, ast.Constant):
        value = node.value
        others: list[object] = [not value] if isinstance(value, bool) else []
        others += (
            [value + 1, value - 1] if type(value) is int else [f"{value}x"] if isinstance(value, str) else []
        )
        for other in others:
            yield f"{value!r} -> {other!r}", lambda n, other=other: setattr(n, "value", other)  # type: ignore[misc]
    for other in OTHERS.get(type(getattr(node, "op", None)), []):  # type: ignore[arg-type]
        yield f"operator {other.__name__}", lambda n, other=other: setattr(n, "op", other())  # type: ignore[misc]
    if isinstance(node, ast.Compare):
        for other in OTHERS.get(type(node.ops[0]), []):
            yield f"comparison {other.__name__}", lambda n, other=other: n.ops.__setitem__(0, other())  # type: ignore[misc]
    for part in ("id", "attr", "arg"):
        if isinstance(getattr(node, part, None), str) and not isinstance(node, ast.keyword):
            for name in names:
                yield f"name {name}", lambda n, p=part, name=name: setattr(n, p, name)  # type: ignore[misc]
    if isinstance(node, ast.Call):
        for i, keyword in enumerate(node.keywords):
            yield f"no {keyword.arg}", lambda n, i=i: n.keywords.pop(i)  # type: ignore[misc]
        if len(node.args) > 1:
            yield "arguments turned", lambda n: n.args.reverse()  # type: ignore[attr-defined]
            yield "no last argument", lambda n: n.args.pop()  # type: ignore[attr-defined]
    for part in ("body", "orelse"):
        block = getattr(node, part, None)
        for i in range(len(block)) if isinstance(block, list) and len(block) > 1 else ():
            yield "deleted", lambda n, p=part, i=i: getattr(n, p).pop(i)  # type: ignore[misc]
            yield "doubled", lambda n, p=part, i=i: getattr(n, p).insert(i, copy.deepcopy(getattr(n, p)[i]))  # type: ignore[misc]
            yield "swapped", lambda n, p=part, i=i: getattr(n, p).insert(0, getattr(n, p).pop(i))  # type: ignore[misc]


Changes: TypeAlias = Callable[[ast.AST, list[str]], Iterator[tuple[str, Change]]]


def mutants(code: str, share: float, changes: Changes = changes) -> Iterator[tuple[str, str]]:
    """A share of all mutants, each with its description and text."""
    tree = ast.parse(code)
    nodes = list(ast.walk(tree))
    names = {n.id for n in nodes if isinstance(n, ast.Name)} | {
        n.attr for n in nodes if isinstance(n, ast.Attribute)
    }
    chance, other_chance = random.Random(1), random.Random(7)
    for place, node in enumerate(nodes):
        for what, change in changes(node, chance.sample(sorted(names), 2)):
            if other_chance.random() >= share:
                continue
            other = copy.deepcopy(tree)
            change(list(ast.walk(other))[place])
            yield f"line {getattr(node, 'lineno', 0)}: {what}", ast.unparse(ast.fix_missing_locations(other))


class Meaning(ast.NodeTransformer):
    """Leaves of a module what its runs depend on. What it takes away: documentation and types; the words of
    messages; `check`, which no run calls; labels and estimates, which are made of records and public numbers
    and may be left out; the order of definitions and of checks; repetitions of what may be repeated; whether
    answers are rounded to the step, which the form leaves open where there is none in it.
    """

    def visit(self, node: ast.AST) -> ast.AST:
        for part in ("annotation", "returns"):
            if getattr(node, part, None) is not None:
                setattr(node, part, ast.Constant(None) if part == "annotation" else None)
        if (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and node.target.id.endswith("Record")
        ):
            node.value = None
        if isinstance(node, ast.Call):
            function = ast.unparse(node.func)
            if function in ("require", "require_answers"):
                node.args = node.args[:2]
            if function == "resolution":
                node.args[1].keys = []  # type: ignore[attr-defined]
            node.keywords = [k for k in node.keywords if k.arg not in ("query", "estimate", "exact")]
        self.generic_visit(node)
        for part in ("body", "orelse"):
            block = getattr(node, part, None)
            if isinstance(block, list):
                setattr(node, part, self.block(node, block))
        return node

    def block(self, node: ast.AST, block: list[ast.stmt]) -> list[ast.stmt]:
        kept = [s for s in block if not (isinstance(s, ast.FunctionDef) and s.name == "check")]
        kept = [s for s in kept if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
        if isinstance(node, ast.Module | ast.ClassDef):
            return [s for _, s in sorted({ast.dump(s): s for s in kept}.items())]
        free = [s for s in kept if ast.unparse(s).startswith("require") or is_binding(s)]
        texts = {ast.unparse(s): s for s in free}
        return [s for s in kept if s not in free] + [texts[text] for text in sorted(texts)]


def is_binding(statement: ast.stmt) -> bool:
    value = getattr(statement, "value", None)
    return isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.value.id == "self"


def meaning(code: str) -> str:
    return ast.unparse(Meaning().visit(ast.parse(code)))


@pytest.mark.parametrize(("stem", "mode"), MUTATED)
def test_every_mutant_is_refused_or_means_the_same(stem: str, mode: RunMode, exhaustive: bool) -> None:
    made = generated(stem, mode)
    assert made is not None
    same = meaning(made[0])
    mutated = mutants(made[0], 1.0 if exhaustive else 0.02)
    assert not [what for what, text in mutated if is_read(text, stem, mode) and meaning(text) != same]


# --- foreign code -----------------------------------------------------------------------------------------

FOREIGN = ast.parse("self.__dict__.update(k=1)", mode="eval").body
OPTIONAL = [
    *("low", "high", "step", "whole", "entries", "table", "exact", "query", "estimate", "choice", "budget"),
    *("one_sided", "default", "where", "key", "x", "gamma", "vector", "restricted", "lattice", "metadata"),
]
"""Names of arguments that something in a module may have."""


def foreign(node: ast.AST, names: list[str]) -> Iterator[tuple[str, Change]]:
    """A foreign expression at every place of a node: for a part of it, as one more argument or statement."""
    if isinstance(node, ast.Call):
        yield "one more argument", lambda n: n.args.append(FOREIGN)  # type: ignore[attr-defined]
        for word in OPTIONAL:
            if all(keyword.arg != word for keyword in node.keywords):
                yield f"{word}=", lambda n, w=word: n.keywords.append(ast.keyword(w, FOREIGN))  # type: ignore[misc]
    for part, held in ast.iter_fields(node):
        if isinstance(held, ast.expr) and not isinstance(getattr(held, "ctx", None), ast.Store):
            yield part, lambda n, p=part: setattr(n, p, FOREIGN)  # type: ignore[misc]
        for i, each in enumerate(held) if isinstance(held, list) else ():
            if isinstance(each, ast.stmt):
                yield f"before {part}[{i}]", lambda n, p=part, i=i: getattr(n, p).insert(i, ast.Expr(FOREIGN))  # type: ignore[misc]
            elif isinstance(each, ast.expr) and not isinstance(getattr(each, "ctx", None), ast.Store):
                yield f"{part}[{i}]", lambda n, p=part, i=i: getattr(n, p).__setitem__(i, FOREIGN)  # type: ignore[misc]


@pytest.mark.parametrize(("stem", "mode"), [*MUTATED, ("private_selection", RunMode.LATTICE)])
def test_foreign_code_is_refused_wherever_it_stands(stem: str, mode: RunMode, exhaustive: bool) -> None:
    made = generated(stem, mode)
    assert made is not None
    mutated = list(mutants(made[0], 1.0 if exhaustive else 0.01, foreign))
    assert len(mutated) > 5
    assert not [what for what, text in mutated if is_read(text, stem, mode)]

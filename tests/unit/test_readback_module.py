"""A class written by hand: what is read of it, what its reader refuses, and which specs it runs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_specs import spec

from aligncheck.compiler.forms import form_of
from aligncheck.compiler.modes import RunMode
from aligncheck.compiler.readback.module import read_module
from aligncheck.compiler.readback.python_patterns import ReadError
from aligncheck.compiler.readback.same import same_program
from aligncheck.language.check import check
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.language.syntax.parse import parse
from aligncheck.language.unparse import unparse

MODULE = '''"""Small."""
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar
from aligncheck.runtime import Currency, LatticeMechanism, ParameterInfo, QueryInfo, RefinedMechanism, Spec
from aligncheck.runtime import GapNoise, Real, checked_integers, checked_reals, integer, integer_answers
from aligncheck.runtime import real, real_answers, reals, require, require_answers, resolution


@dataclass(frozen=True, slots=True)
class Above:
    tag: ClassVar[str] = "above"
    x: Real


class Small(RefinedMechanism):
    spec: ClassVar[Spec] = Spec(
        name="small",
        claim="eps",
        parameters=(
            ParameterInfo("k", "k", "int", where="k >= 1"),
            ParameterInfo("eps", "eps", "real", where="eps > 0"),
        ),
        queries=(QueryInfo("q", "q", "real", vector=True, adjacency="all", sensitivity="1"),),
    )

    def __init__(self, *, k, eps, gamma=None, budget=None, testing_seed=None):
        super().__init__(budget=budget, testing_seed=testing_seed)
        self.k = integer("k", k)
        self.eps = real("eps", eps)
        require(self.k >= 1, "k", self.k, "k >= 1")
        require(self.eps > 0, "eps", self.eps, "eps > 0")
        self.gamma = resolution(gamma, {"1": 1})
        self.bound = self.eps

    def __call__(self, q):
        read = real_answers("q", q)
        with self._run({"q": read}) as run:
            self._program(run.noise, run.release, run.noise.answers(read.values, exact=False))
        return run.result()

    def check(self, q):
        checked_reals("q", q)

    def sensitivities(self):
        return {"q": 1}

    def _program(self, noise, release, q):
        k = self.k
        eps = self.eps
        limit = k + 1
        for item in q:
            drawn = noise.laplace(2 / eps)
            other = noise.laplace(2 / eps)
            if item + drawn > limit:
                release.emit(Above(x=item + other))
'''
SPEC = spec(
    """
    t = k + 1
    for i, x in q:
      eta[i] ~ Lap(2/eps)
      xi[i] ~ Lap(2/eps)
      if x + eta[i] > t:
        emit above(x = x + xi[i])
    """
).text


def changed(text: str, changes: dict[str, str]) -> str:
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def spec_and_form(text: str, mode: RunMode) -> tuple[Mechanism, Mechanism]:
    source = replace(spec(""), text=text)
    tree = check(source, parse(source))
    return tree, form_of(tree, source, mode).mechanism


@pytest.mark.parametrize("on_lattice", [False, True])
def test_what_a_class_is_read_as(on_lattice: bool) -> None:
    """Its variables keep Python's names. On a lattice the step, of which answers and noise are multiples, is
    one input more, and a whole part of what is divided.
    """
    step = "the step of the lattice"
    base, mode = ("Lattice", RunMode.LATTICE) if on_lattice else ("Refined", RunMode.REFINED)
    read = read_module(changed(MODULE, {"Small(Refined": f"Small({base}"}), on_lattice)
    noise = f"DLap(2/eps, 1/{step})" if on_lattice else "Lap(2/eps)"
    assert unparse(read.tree) == "\n".join(
        [
            "mechanism small\n\ninput",
            *([f"  {step} : int where {step} >= 1"] if on_lattice else []),
            "  k : int where k >= 1\n  eps : real where eps > 0",
            f"  q : queries, sensitivity 1, adjacency all{f', lattice 1/{step}' if on_lattice else ''}",
            "\nprivacy eps\n\nprogram\n  limit = k + 1\n  for item in q:",
            f"    drawn ~ {noise}\n    other ~ {noise}",
            "    if item + drawn > limit:\n      emit above(x = item + other)\n\nalign\n",
        ]
    )
    assert (read.name, read.mode, read.spec_name, read.streams) == ("Small", mode, "small", False)
    same_program(*spec_and_form(SPEC, mode), read)


def test_a_class_on_a_lattice_draws_no_real_valued_noise() -> None:
    """Where the form is the spec itself, all of whose noise is discrete."""
    with pytest.raises(ReadError, match="real-valued noise, which the proved form does not have"):
        read_module(changed(MODULE, {"Small(Refined": "Small(Lattice"}), on_lattice=False)


HEAD = "\n\nclass Small("
CALL, READ = "    def __call__(self, q):", 'read = real_answers("q", q)'
RUN = """        with self._run({"q": read}) as run:
            self._program(run.noise, run.release, run.noise.answers(read.values, exact=False))
"""
PARTS = {
    "an encoding that is declared": ('"""Small."""', "# coding: utf-7", "begins with its documentation"),
    "no Python": ("if item", "if if item", "no Python"),
    "no class": (MODULE[MODULE.index(HEAD) :], "", "there is no mechanism"),
    "a statement": (HEAD, f"\nmath.floor = abs{HEAD}", "nothing like this in a module"),
    "a module of Python": ("import math", "import os", "nothing that a generated file imports"),
    "a module of the package": ("runtime import real,", "runtime.answers import real,", "from there"),
    "a later import": (HEAD, f"\nimport math{HEAD}", "too late"),
    "a name that nothing has": ("k + 1", "k + unknown", "`unknown` is not defined"),
    "a name that is imported": ("limit = k + 1", "limit = sqrt = k + 1", "`sqrt` would have two meanings"),
    "a record with a base": ("class Above:", "class Above(Spec):", "neither a record nor a mechanism"),
    "a record that may change": ("frozen=True, ", "", "neither a record nor a mechanism"),
    "a record without a tag": ('    tag: ClassVar[str] = "above"\n', "", "tag was expected"),
    "a field with a default": ("    x: Real", "    x: Real = 1", "no default"),
    "two fields of one name": (
        "    x: Real",
        '    x: Real\n    x_: Real = field(metadata={"name": "x"})',
        "two fields",
    ),
    "a field in place of the tag": (
        "    x: Real",
        '    tag: Real = field(metadata={"name": "tag"})',
        "means something else to Python",
    ),
    "a metaclass": ("RefinedMechanism):", "RefinedMechanism, metaclass=abs):", "one base"),
    "another first attribute": ("spec: ClassVar[Spec] = Spec(", "spec = Spec(", "description of the spec"),
    "a decorator": (CALL, f"    @abs\n{CALL}", "no decorators"),
    "a method of the runtime": (CALL, f"    def _run(self):\n        pass\n\n{CALL}", "no such part"),
    "a method too few": (CALL, CALL.replace("call", "cal"), "no such part of a class"),
    "no method that runs": (CALL, CALL.replace("__call__", "stream"), "`__call__` is missing"),
    "an argument by its place alone": (CALL, CALL.replace("q)", "q, /)"), "other arguments"),
    "arguments of any number": (CALL, CALL.replace("q)", "q, *more)"), "other arguments"),
    "arguments of any name": (CALL, CALL.replace("q)", "q, **more)"), "other arguments"),
    "answers that may be left out": (CALL, CALL.replace("q)", "q=())"), "other arguments"),
    "a step by default": ("gamma=None", "gamma=1", "other arguments"),
    "a method by another name": ("    def _program(", "    def check(", "no such part of a class"),
    "a parameter of no sort": ('"eps", "eps", "real"', '"eps", "eps", "complex"', "no such sort"),
    "a parameter with more said": ('where="eps > 0")', 'where="eps > 0", low=0)', "not described so"),
    "answers of no adjacency": ('adjacency="all"', 'adjacency="none"', "answers are not described so"),
    "answers with more said": (
        'sensitivity="1")',
        'sensitivity="1", noise=1)',
        "answers are not described so",
    ),
    "a list or not": ("vector=True", "vector=1", "answers are not described so"),
    "inputs in a list": ("queries=(Query", "queries=[Query", "no Python"),
}
INPUTS = {
    "a default for all": ("k, eps, gamma=None", "k=1, eps, gamma=None", "`__init__` has other arguments"),
    "another call of the base": ("budget=budget, t", "budget=None, t", "`super"),
    "a parameter by another reader": ('integer("k", k)', 'real("k", k)', "self.k = integer"),
    "a parameter for another": ('real("eps", eps)', 'real("eps", k)', "self.eps = real"),
    "a condition on no input": ('k >= 1, "k", self.k', 'k >= 1, "x", self.k', "name of an input"),
    "no step": ('        self.gamma = resolution(gamma, {"1": 1})\n', "", "step of the lattice"),
    "a step of any other kind": ('{"1": 1}', "self.units", "step of the lattice"),
    "nothing that is spent": ("        self.bound = self.eps\n", "", "does not say what a run spends"),
    "more when it is made": (
        "self.bound = self.eps",
        "self.bound = self.eps\n        self.spent = 0",
        "no such",
    ),
    "another currency": ('claim="eps",', 'claim="eps", currency=Currency.EPSILON_DELTA,', "what it adds up"),
    "answers that are not read": (
        'read = real_answers("q", q)',
        "read = q",
        "must be read by `real_answers`",
    ),
    "answers that are read by their type": (
        '= real_answers("q", q)',
        '= real_answers("q", q, whole=True)',
        "whole",
    ),
    **{
        f"a condition at {where}": (
            READ,
            f'{READ}\n        require_answers({condition}, "q", "")',
            "every index",
        )
        for where, condition in {
            "some indices": "all(read[i] > 0 for i in range(len(read)) if i > 0)",
            "the first indices": "all(read[i] > 0 for i in range(2))",
            "an index of another name": "all(read[j] > 0 for j in range(len(read)))",
            "indices of nothing": "all(read[i] > 0 for i in range(len(self.k)))",
            "pairs of indices": "all(read[i] > 0 for i in range(len(read)) for j in range(2))",
        }.items()
    },
    "what is spent twice": (CALL, f"    def _bound(self, release):\n        return 2\n\n{CALL}", "one claim"),
    "answers as they are given": ("(read.values, exact", "(q, exact", "one run of the program"),
    "a choice of what is exact": ("exact=False", "exact=self.k", "one run of the program"),
    "no run": (RUN, "", "one run of the program"),
    "two runs": (RUN, RUN + RUN, "return run.result"),
    "records that are left out": ("return run.result()", "return run.records", "return run.result"),
    "more than conditions, where answers are looked at": (
        'checked_reals("q", q)',
        'checked_reals("q", q)\n        self.k = q',
        "no such statement",
    ),
    "a distance of no answers": ('{"q": 1}', '{"k": 1}', "a private input was expected"),
    "a parameter that is set": (
        "        k = self.k\n",
        "        k = 1\n",
        "a parameter that is not read, is set",
    ),
    "a record whose field is of one of two kinds": (
        "x=item + other",
        "x=item + other if item > 1 else 1",
        "an int or as a fraction",
    ),
}


@pytest.mark.parametrize(("old", "new", "message"), PARTS.values(), ids=PARTS)
def test_what_is_no_part_of_a_module_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(ReadError, match=message):
        read_module(changed(MODULE, {old: new}), on_lattice=False)


@pytest.mark.parametrize(("old", "new", "message"), INPUTS.values(), ids=INPUTS)
def test_what_a_class_does_with_its_inputs_is_one_of_few_things(old: str, new: str, message: str) -> None:
    with pytest.raises(ReadError, match=message):
        read_module(changed(MODULE, {old: new}), on_lattice=False)


def test_a_condition_at_every_index_is_one_of_a_declaration() -> None:
    condition = "all(read[i] > 0 for i in range(len(read)))"
    code = changed(MODULE, {READ: f'{READ}\n        require_answers({condition}, "q", "")'})
    assert "adjacency all where q[i] > 0\n" in unparse(read_module(code, on_lattice=False).tree)


def test_the_last_class_is_meant_and_others_are_what_it_calls() -> None:
    own = MODULE[MODULE.index("@dataclass(frozen") :]
    second = own.replace("Small(", "Small_(").replace("Above", "Above_")
    with pytest.raises(ReadError, match="nothing calls `Small`"):
        read_module(f"{MODULE}\n\n{second}", on_lattice=False)
    said = "    callees: ClassVar[tuple[type[Mechanism], ...]] = (Small,)\n\n    def __init__"
    second = changed(second, {"    def __init__": said})
    first = changed(MODULE, {"LatticeMechanism, Par": "LatticeMechanism, Mechanism, Par"})
    with pytest.raises(ReadError, match="`callees` does not name the classes that are called"):
        read_module(f"{first}\n\n{second}", on_lattice=False)


CHECKED, EMITTED = 'checked_reals("q", q)\n', "release.emit(Above(x=item + other))"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (EMITTED, 'release.emit(Above(x=item + other), estimate=("x", limit, GapNoise(1, 1)))', ""),
        (
            EMITTED,
            'release.emit(Above(x=item + other), estimate=("x", drawn, GapNoise(1, 1)))',
            "not be public",
        ),
        (
            EMITTED,
            'release.emit(Above(x=item + other), estimate=("x", len(q), GapNoise(1, 1)))',
            "not be public",
        ),
        (
            EMITTED,
            'release.emit(Above(x=item + other), estimate=("x", sum(j for j in range(1)), GapNoise(1, 1)))',
            "no plain number",
        ),
        (CHECKED, 'v = checked_reals("q", q)\n        require_answers(len(v) > 1, "q", "")\n', ""),
        (
            CHECKED,
            'v = checked_reals("q", q)\n'
            '        require_answers(all(0 <= v[i] <= 9 for i in range(len(v))), "q", "")\n',
            "",
        ),
        (
            CHECKED,
            'v = checked_reals("q", q)\n        require_answers(abs(v.pop()), "q", "")\n',
            "no such|no call",
        ),
        (CHECKED, 'v = checked_reals("k", q)\n', "was expected here"),
    ],
)
def test_what_no_run_depends_on_tells_nothing_else(old: str, new: str, message: str) -> None:
    """What is shown beside a record is made of parameters, and `check` computes conditions."""
    code = changed(MODULE, {old: new})
    if message:
        with pytest.raises(ReadError, match=message):
            read_module(code, on_lattice=False)
    else:
        same_program(*spec_and_form(SPEC, RunMode.REFINED), read_module(code, on_lattice=False))


SPECS = {
    "a name": ("mechanism small", "mechanism smaller", "`small` here, where the proved form has `smaller`"),
    "a claim in words": (
        "privacy eps",
        "privacy 2*eps",
        "says of `claim`: `eps`, where the spec has `2*eps`",
    ),
    "a sort": ("k : int", "k : real", "`int` here, where the proved form has `real`"),
    "a condition in words": ("where k >= 1", "where k >= 2", "says of `where of k`"),
    "an adjacency": (
        "sensitivity 1",
        "sensitivity 1, adjacency one",
        "`all` here, where the proved form has `one`",
    ),
    "a family": ("eta[i] ~ Lap(2/eps)", "eta[i] ~ Exp(2/eps)", "`Lap` here, where the proved form has `Exp`"),
    "a scale": ("eta[i] ~ Lap(2/eps)", "eta[i] ~ Lap(1/eps)", "`2` here, where the proved form has `1`"),
    "a draw more": ("    if", "    nu[i] ~ Lap(1)\n    if", "here, where the proved form has `nu ~ Lap"),
    "a comparison": ("> t", ">= t", "`>` here, where the proved form has `>=`"),
    "two variables made one": ("x + xi[i]", "x + eta[i]", "`other` here, where the proved form has `eta`"),
    "a tag": ("emit above", "emit below", "`above` here, where the proved form has `below`"),
    "a field": ("above(x =", "above(y =", "`x` here, where the proved form has `y`"),
    "a record more": ("      emit", "      emit below\n      emit", "where the proved form has `below`"),
    "a record at the end": (
        "xi[i])",
        "xi[i])\n  emit below",
        "nothing more here, where the proved form has `Emit`",
    ),
    "a parameter more": ("  eps :", "  m : int\n  eps :", "2 parameters here, where the proved form has 3"),
    "answers more": (
        "  eps :",
        "  r : query, sensitivity 1\n  eps :",
        "says of `sensitivity of r`: nothing more",
    ),
    "a function": ("input", "fun f(real) : real\ninput", "no such function here"),
}
CLASSES = {
    "what is spent": (
        "self.bound = self.eps",
        "self.bound = self.eps / 2",
        "`eps/2` here, where the proved form has `eps`",
    ),
    "what is spent by the output": (
        "    def check(",
        "    def _cost(self, release):\n        return self.eps\n\n    def check(",
        "another claim here",
    ),
    "a condition": (
        "require(self.k >= 1",
        "require(self.k >= 0",
        "no such condition here, where the proved form has `k >= 1`",
    ),
    "one condition more": (
        "        self.gamma",
        '        require(self.k > 9, "k", self.k, "")\n        self.gamma',
        "`k > 9` here, where the proved form has no such condition",
    ),
    "a distance": ('{"q": 1}', '{"q": 2}', "`2` here, where the proved form has `1`"),
    "a range": (
        'real_answers("q", q)',
        'real_answers("q", q, low=0, high=1)',
        "here, where the proved form has nothing more",
    ),
    "a lattice": (
        'real_answers("q", q)',
        'real_answers("q", q, step=1)',
        "`1` here, where the proved form has nothing more",
    ),
}


def differs(code: str, text: str, message: str) -> None:
    read = read_module(code, on_lattice=False)
    with pytest.raises(ReadError) as caught:
        same_program(*spec_and_form(text, RunMode.REFINED), read)
    assert message in str(caught.value)


@pytest.mark.parametrize(("old", "new", "message"), SPECS.values(), ids=SPECS)
def test_a_class_runs_the_program_of_no_other_spec(old: str, new: str, message: str) -> None:
    differs(MODULE, changed(SPEC, {old: new}), message)


@pytest.mark.parametrize(("old", "new", "message"), CLASSES.values(), ids=CLASSES)
def test_what_a_class_does_beside_its_program_is_that_of_the_spec_too(
    old: str, new: str, message: str
) -> None:
    """Also where it tells nothing of it."""
    differs(changed(MODULE, {old: new}), SPEC, message)


LIMIT, T = "        limit = k + 1\n", "  t = k + 1\n"
BOTH: dict[str, tuple[dict[str, str], dict[str, str], str]] = {
    "variables by other names": ({"eta[i] ~": "nu[i] ~", "x + eta[i]": "x + nu[i]"}, {}, ""),
    "numbers that are computed": ({"2/eps)\n    xi": "4/2/eps)\n    xi"}, {}, ""),
    "two variables, which are one in the class": (
        {T: "  t = k + 1\n  u = k + 2\n"},
        {LIMIT: "        limit = k + 1\n        limit = k + 2\n"},
        "`limit = k + 2` here, where the proved form has `u = k + 2`",
    ),
    "one variable, which is two in the class": (
        {T: "  t = k + 1\n  if k > 5:\n    t = 2\n"},
        {LIMIT: f"{LIMIT}        if k > 5:\n            high = 2\n", "> limit": "> high"},
        "`high = 2` here, where the proved form has `t = 2`",
    ),
    "an index by another name": (
        {"k + 1": "sum(j for j in range(k))"},
        {"k + 1": "sum(i for i in range(k))"},
        "",
    ),
    "an index for a parameter": (
        {"k + 1": "sum(k for j in range(k))"},
        {"k + 1": "sum(i for i in range(k))"},
        "~` here, where the proved form has `k`",
    ),
    "a name that an index hides": (
        {"k + 1": "sum(j for j in range(k))", "> t": "> t + k"},
        {"k + 1": "sum(k for k in range(k))", "> limit": "> limit + k"},
        "",
    ),
    "a function": (
        {"k + 1": "min(k, 1)"},
        {"k + 1": "max(k, 1)"},
        "`max(k, 1)` here, where the proved form has",
    ),
    "a claim in ρ": (
        {"privacy eps": "privacy eps zcdp"},
        {'="eps",\n': '="eps", currency=Currency.RHO,\n'},
        "",
    ),
    "a claim in ε for one in ρ": (
        {"privacy eps": "privacy eps zcdp"},
        {},
        "says of `currency`: nothing more",
    ),
}


@pytest.mark.parametrize(("declared", "code", "message"), BOTH.values(), ids=BOTH)
def test_names_in_a_class_stand_for_those_of_a_spec_one_for_one(
    declared: dict[str, str], code: dict[str, str], message: str
) -> None:
    text, code_ = changed(SPEC, declared), changed(MODULE, code)
    if message:
        differs(code_, text, message)
    else:
        same_program(*spec_and_form(text, RunMode.REFINED), read_module(code_, on_lattice=False))


L1 = {'adjacency="all"': 'adjacency="l1"'}
WHOLE = {
    '"q", "q", "real"': '"q", "q", "int"',
    'sensitivity="1"': 'sensitivity="1/2"',
    'real_answers("q", q)': 'integer_answers("q", q, whole=True)',
    "run.noise.answers(read.values, exact=False)": "read.values",
    'checked_reals("q", q)': 'checked_integers("q", q, whole=True)',
    '{"q": 1}': '{"q": Fraction(1, 2)}',
}
LISTS = {
    "parameters=(": 'parameters=(ParameterInfo("c", "c", "real", vector=True),',
    'sensitivity="1"': 'sensitivity="c[i]"',
    "self, *, k, eps": "self, *, c, k, eps",
    "        self.k = ": '        self.c = reals("c", c)\n        self.k = ',
    '{"1": 1}': '{"c[i]": [self.c[i] for i in range(len(self.c))]}',
    'real_answers("q", q)': 'real_answers("q", q, entries={"c": len(self.c)})',
    '{"q": 1}': '{"q": min(self.c[i] for i in range(len(self.c)))}',
}


@pytest.mark.parametrize(
    ("declared", "code", "other", "message"),
    [
        ("queries, sensitivity 1", {}, {'{"1": 1}': "{}"}, "a step that may divide no distance"),
        (
            "queries, sensitivity 1, adjacency l1",
            L1 | {"=False": "=True"},
            {"=True))": "=False))"},
            "a step that may",
        ),
        ("int queries, sensitivity 1/2", WHOLE, {", whole=True": ""}, "answers that are rounded"),
        (
            "queries, sensitivity c[i]",
            LISTS,
            {', entries={"c": len(self.c)}': ""},
            "lists that may be too short",
        ),
        (
            "queries, sensitivity c[i]",
            LISTS,
            {"[self.c[i] for i in range(len(self.c))]": "1"},
            "may divide no",
        ),
    ],
)
def test_neighbours_are_read_as_neighbours(
    declared: str, code: dict[str, str], other: dict[str, str], message: str
) -> None:
    """Answers are rounded to a step that divides how far they may move, where only such moves can be meant;
    a list that is declared for each of them has an entry for each.
    """
    text = SPEC.replace("queries, sensitivity 1", declared)
    text = text.replace("  k :", "  c : vector\n  k :") if "c[i]" in declared else text
    good = changed(MODULE, code)
    same_program(*spec_and_form(text, RunMode.REFINED), read_module(good, on_lattice=False))
    for old, new in other.items():
        assert old in good
        good = good.replace(old, new)
    differs(good, text, message)

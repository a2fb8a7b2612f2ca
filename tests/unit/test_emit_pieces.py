"""What generated code is made of: kinds and names, classes of records, lines, what is said in docstrings."""

from __future__ import annotations

import ast
import keyword
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from oracle import as_if_verified
from small_specs import mechanism

from aligncheck.compiler.emit.describe import docstring, escaped, guarantee, of_call, of_class, of_module
from aligncheck.compiler.emit.formatting import (
    WIDTH,
    Brackets,
    bracket_lines,
    call,
    line,
    operator_lines,
    quoted,
)
from aligncheck.compiler.emit.python_kinds import PythonKind, join, kinds_of
from aligncheck.compiler.emit.python_names import class_name, fresh, python_names
from aligncheck.compiler.emit.records import record_classes
from aligncheck.compiler.modes import RunMode

INT, REAL, BOOL = PythonKind.INT, PythonKind.REAL, PythonKind.BOOL

# --- kinds ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        ("s = 1", INT),
        ("s = k", INT),
        ("s = eps", REAL),
        ("s = 1/2", REAL),
        ("s = k / 1", REAL),
        ("s = k * 2 - 1", INT),
        ("s = k * eps", REAL),
        ("s = k ** 2", INT),
        ("s = len(q)", INT),
        ("s = floor(eps)", INT),
        ("s = q[0]", REAL),
        ("s = k < 1", BOOL),
        # What is set more than once holds all of it, and so does what is set to that.
        ("s = 1\nif k > 1: s = eps", REAL),
        ("t = 1\ns = t\nt = eps", REAL),
        ("s = 0\nfor i, x in q: s = s + x", REAL),
        ("s = 0\nfor i, x in q: s = s + i", INT),
        ("eta ~ Lap(1/eps)\ns = eta", REAL),
        ("eta ~ Geo(1/2)\ns = eta", INT),
        ("eta ~ DLap(1, 1/2)\ns = eta", REAL),
        ("eta ~ DLap(1/eps, 2)\ns = eta", INT),
        ("s = argmax(q[i] for i in q)", INT),
        ("s = max(j for j in range(k))", INT),
    ],
)
def test_a_variable_has_the_least_kind_that_holds_all_that_it_is_set_to(
    program: str, kind: PythonKind
) -> None:
    """`int / int` is a float in Python: what may be an int is told apart from what is a fraction."""
    assert kinds_of(mechanism(program)).of["s"] is kind


def test_two_kinds_are_held_by_a_real_number_alone() -> None:
    assert [join([k]) for k in PythonKind] == list(PythonKind)
    assert join([INT, REAL]) is join([REAL, INT, INT]) is REAL


# --- names ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("idents", "names"),
    [
        ("eps T x_1", "eps T x_1"),
        ("lambda print match noise", "lambda_ print_ match_ noise_"),
        # Who can keep a name keeps it, whatever else would be called so.
        ("lambda lambda_ lambda__", "lambda___ lambda_ lambda__"),
        ("lambda_ lambda", "lambda_ lambda__"),
        # No letters beyond ASCII, and nothing that a class would mangle.
        ("η ε é_1", "u3b7 u3b5 ue9_1"),
        ("η u3b7", "u3b7_ u3b7"),
        ("_x __ _1", "x v v1"),
        ("_x x", "x_ x"),
    ],
)
def test_every_identifier_has_a_name_of_its_own(idents: str, names: str) -> None:
    found = python_names(idents.split() * 2, frozenset({"noise"}))
    assert (list(found), list(found.values())) == (idents.split(), names.split())
    for name in found.values():
        assert name.isidentifier()
        assert name.isascii()
        assert not keyword.iskeyword(name)


def test_new_names_are_new() -> None:
    assert class_name("adaptive_svt", []) == "AdaptiveSvt"
    assert class_name("one_a", ["OneA", "OneA_"]) == "OneA__"
    assert class_name("none", []) == "None_"
    assert class_name("_1_é", []) == "V1Ue9"
    assert (fresh("j", {"a": "i"}), fresh("j", {"a": "j", "b": "j_"}), fresh("list", {})) == (
        "j",
        "j__",
        "list_",
    )


# --- records ----------------------------------------------------------------------------------------------


def test_records_of_one_tag_have_a_class_whose_fields_hold_all_that_is_released() -> None:
    tree = mechanism(
        """
        emit top(index = k, gap = 1)
        emit top(index = 2, gap = eps)
        emit noise(tag = k, class = k)
        emit noise_
        """
    )
    found = record_classes(tree, kinds_of(tree), frozenset({"Noise", "gap"}))
    assert [(c.name, c.tag, c.fields) for c in found.values()] == [
        ("Top", "top", (("index", "index", INT), ("gap", "gap_", REAL))),
        ("Noise_", "noise", (("tag", "tag_", INT), ("class", "class_", INT))),
        ("Noise__", "noise_", ()),
    ]
    assert list(found) == [(c.tag, tuple(spec for spec, _, _ in c.fields)) for c in found.values()]


# --- lines ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["a", "", "it's", 'say "a"', "'\"", "back\\slash\\n", "tab\t\n", "ε\u2028", "'''", '"""']
)
def test_a_string_is_quoted_as_python_reads_it(text: str) -> None:
    assert ast.literal_eval(quoted(text)) == text
    assert quoted(text).isprintable()


def brackets(a: str, b: str) -> list[str]:
    items = (a, call("g", [b, "1"]), call("h", []), Brackets("estimate=(", (b,)))
    return [
        *bracket_lines(call("f", items), "x = "),
        *bracket_lines(Brackets("f(", (a, f"for {b} in c", "if d"), generator=True), "x = "),
        *bracket_lines(call("f", [Brackets("(", (a, f"for {b} in c"), generator=True), "0"]), "x = "),
    ]


def operators(a: str, b: str) -> list[str]:
    return [
        line(f"x = {a}.{b}", ""),
        *operator_lines("x = ", [a, b], ["+"]),
        *operator_lines("x = ", [a, b, "c"], ["+", "-"]),
        *operator_lines("if ", [a, b, "c"], ["and", "and"], ":"),
        "    pass",
    ]


@pytest.mark.parametrize(("written", "lengths"), [(brackets, (88, 110)), (operators, (110,))])
def test_lines_are_laid_out_as_the_formatter_does(
    written: Callable[[str, str], list[str]], lengths: tuple[int, ...], tmp_path: Path
) -> None:
    """Round the lengths at which a line is split; what it would lay out otherwise is marked to be left alone.
    Brackets stay as they are at any line length from 88 on, so that files are clean wherever they are kept.
    """
    sizes = (*range(1, 6), *range(16, 60), 80, 90, 100, 115)
    lines = [text for size in sizes for text in written("a" * size, "b" * size)]
    (tmp_path / "m.py").write_text("\n".join(lines) + "\n", "utf-8")
    assert all(len(text) <= WIDTH or text.endswith("  # fmt: skip") for text in lines)
    assert sum(text.endswith("# fmt: skip") for text in lines) < len(lines) / 5
    for length in map(str, lengths):
        options = ["--isolated", "--line-length", length, "--diff", "m.py"]
        done = subprocess.run(
            [sys.executable, "-m", "ruff", "format", *options], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout


# --- docstrings -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "paragraphs",
    [
        ["one"],
        ["one", "two\n\nthree"],
        ['ends with "'],
        ["back\\slash \\n"],
        ["ends with \\"],
        ['"""; import os; """'],
        ["ε   ", "x" * 90],
    ],
)
def test_a_docstring_is_the_text_and_ends_where_it_ends(paragraphs: list[str]) -> None:
    """Whatever a spec says, for which its author alone vouches."""
    code = "\n".join(["class C:", *docstring(paragraphs, "    "), "    pass"])
    (tree,) = ast.parse(code).body
    assert isinstance(tree, ast.ClassDef)
    assert len(tree.body) == 2
    said = ast.get_docstring(tree)
    assert said is not None
    assert said.split() == " ".join(paragraphs).split()
    assert not any(text.endswith(" ") for text in code.split("\n"))
    assert escaped("a\x07b\u2028") == "a\\u0007b\\u2028"


@pytest.mark.parametrize(
    ("inputs", "privacy", "said"),
    [
        ("q : queries, sensitivity 1", "1", "each answer of `q` differs by at most `1` (adjacency `all`)"),
        ("q : query, sensitivity 2", "1", "`q` differs by at most `2` (adjacency `all`)"),
        (
            "q, p : queries, sensitivity 1, adjacency l1",
            "1",
            "the answers of `q` and `p` differ by at most `1` in all",
        ),
        (
            "q : query, adjacency any, range [0, 1]",
            "1",
            "`q` may differ in any way within the declared range",
        ),
        (
            "q : queries, sensitivity 1",
            "1",
            "one run is `1`-differentially private, for every number of answers",
        ),
        ("q : queries, sensitivity 1", "1 zcdp", "one run is `1`-zero-concentrated"),
        (
            "q : queries, sensitivity 1",
            "eps*len(out) at most eps",
            "Of that, an output `out` spends `eps*len(out)`",
        ),
    ],
)
def test_a_guarantee_says_what_is_private_and_who_is_a_neighbour(
    inputs: str, privacy: str, said: str
) -> None:
    tree = mechanism("emit a", inputs=f"{inputs}\neps : real where eps > 0", privacy=privacy)
    assert said in " ".join(guarantee(tree))


def plain(paragraphs: list[str]) -> str:
    return " ".join(" ".join(paragraphs).split())


@pytest.mark.parametrize("mode", RunMode)
def test_a_build_that_no_proof_covers_says_so_first(mode: RunMode) -> None:
    tree = mechanism("eta ~ Lap(1/eps)\nemit a(q[0] + eta)", "eta += q'[0] - q[0]   when len(out) > 0")
    verified = as_if_verified(tree, "density")
    of_it = plain(of_class(verified, {name: f"{name}_" for i in tree.inputs for name in i.names}, "", mode))
    unsafe, said = "UNSAFE: the proof is about real-valued noise", "one run is `eps`-differentially private"
    assert (unsafe in of_it, unsafe in plain(of_module(verified, "0", mode))) == (mode is RunMode.FLOAT,) * 2
    assert ("gamma: the step of the lattice, in the unit of `q`" in of_it) is (mode is not RunMode.FLOAT)
    if mode is RunMode.FLOAT:
        assert of_it.index(unsafe) < of_it.index("Guarantee in real arithmetic: " + said)
    else:
        assert f"Guarantee: {said}" in of_it
    assert "Queries are fixed before the run" in of_it or mode is RunMode.FLOAT
    assert "Proved by a bound on the ratio of the densities" in of_it
    assert "k_: an integer, public, where `k >= 1`. eps_: a real number (a privacy loss: " in of_it
    assert "Alignment (noise on neighbouring data, in terms of the noise here):: eta += q'[0] - q[0]" in of_it


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (
            "queries, sensitivity 1",
            "a list of real numbers, private: a list, a NumPy array or a pandas Series",
        ),
        ("query, sensitivity 1", "q: a real number, private; in the unit in which the sensitivity is `1`."),
        (
            "int queries, sensitivity 1/2",
            "integers by their type, since rounding could take neighbours further",
        ),
        ("query, sensitivity 1, lattice 1/2", "; multiples of `1/2`; in the unit"),
        ("query, adjacency any, range [0, k]", "private; between `0` and `k`."),
        ("queries[k][2], sensitivity 1", "private, in `k` rows and `2` columns: a list of rows"),
    ],
)
def test_what_a_run_takes_is_said_as_it_is_declared(declared: str, said: str) -> None:
    tree = mechanism("emit a", inputs=f"k : int where k >= 1\nq : {declared}", privacy="1")
    assert said in plain(of_call(tree, {"q": "q", "k": "k"}, ""))

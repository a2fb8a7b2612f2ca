"""What a run is given on its command line: values of inputs as text, public functions by where they are."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from aligncheck.execute.cannot_run import RunError
from aligncheck.execute.locate import FunctionFailed, functions_of
from aligncheck.execute.settings import check_names, needed, value_of
from aligncheck.runtime import FunctionInfo, ParameterInfo, QueryInfo, Spec

SPEC = Spec(
    "m",
    "eps",
    (
        ParameterInfo("k", "k", "int", where="k >= 1"),
        ParameterInfo("b", "b", "real", vector=True),
        ParameterInfo("eps", "eps", "real", default="1/2"),
    ),
    (QueryInfo("q", "q", "real", vector=True),),
    (FunctionInfo("next", "next_"), FunctionInfo("seen", "seen")),
)
NEEDED = (
    "`m` needs k (int where k >= 1), b (list of real), eps (real, by default 1/2): --set NAME=VALUE for each"
)


# --- values -----------------------------------------------------------------------------------------------


def test_what_has_a_default_need_not_be_set() -> None:
    """Nor need answers: those of a file are read from there."""
    check_names(SPEC, {"k": "", "b": ""})
    check_names(SPEC, {"k": "", "b": "", "eps": "", "q": ""})
    assert needed(SPEC) == NEEDED
    assert needed(Spec("m", "eps", (), ())) == "`m` has no parameters"


@pytest.mark.parametrize(
    ("settings", "message", "advice"),
    [
        (["b"], "no value for `k`", NEEDED),
        (["eps"], "no value for `k`, `b`", NEEDED),
        (["k", "b", "ep"], "`m` has no parameter `ep`", f"did you mean `eps`? {NEEDED}"),
        (["zzzzz"], "`m` has no parameter `zzzzz`", NEEDED),
        (["next"], "`m` has no parameter `next`", NEEDED),
    ],
)
def test_settings_are_of_inputs_and_of_all_that_have_no_default(
    settings: list[str], message: str, advice: str
) -> None:
    with pytest.raises(RunError) as caught:
        check_names(SPEC, dict.fromkeys(settings, "1"))
    assert (caught.value.message, caught.value.help) == (message, advice)


@pytest.mark.parametrize(
    ("sort", "text", "value"),
    [
        ("int", "5", 5),
        ("real", "1/3", Fraction(1, 3)),
        ("real", "0.1", Fraction(1, 10)),
        ("bool", " True ", True),
        ("bool", "false", False),
        ("int list", "1, 2,3", [1, 2, 3]),
        ("int list", " [1, 2] ", [1, 2]),
        ("int list", "(1)", [1]),
        ("int list", "[]", []),
        ("int list", "", []),
        ("bool list", "true,false", [True, False]),
        ("int", "1.5", "`x` must be an integer, not `1.5`"),
        ("int", "[1]", "`x` must be a number such as"),
        ("real", "one", "`x` must be a number such as"),
        ("bool", "1", "`x` must be `true` or `false`, not `1`"),
        ("bool list", "true,yes", "`x[1]` must be `true` or `false`, not `yes`"),
        ("int list", "1,", "`x[1]` must be a number such as"),
        ("int list", "[1)", "`x[0]` must be a number such as"),
    ],
)
def test_a_text_stands_for_a_value_of_the_declared_sort(sort: str, text: str, value: Any) -> None:
    word, *vector = sort.split()
    info = ParameterInfo("x", "x", word, vector=bool(vector))
    if isinstance(value, str):
        with pytest.raises(RunError) as caught:
            value_of(info, text)
        assert value in caught.value.message
    else:
        found = value_of(info, text)
        assert (found, type(found)) == (value, type(value))


# --- public functions -------------------------------------------------------------------------------------

MODEL = """
state = []
def step(x): state.append(x); return len(state)
def reads(x): return state[0]
def divides(x):
    return 1 / x
def leaves(x): raise SystemExit(3)
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file with functions, and a module of its name in the current directory."""
    path = tmp_path / "some_model.py"
    path.write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "some_model", raising=False)
    return str(path)


def test_functions_are_given_by_their_keywords_and_a_file_is_executed_once(model: str) -> None:
    path = list(sys.path)
    for place in (model, "some_model"):
        found = functions_of(SPEC, {"seen": f"{place}:reads", "next": f"{place}:step"})
        assert list(found) == ["next_", "seen"]
        assert [found["next_"](7), found["next_"](8), found["seen"](0)] == [1, 2, 7], "they share a state"
    assert sys.path == path


@pytest.mark.parametrize(
    ("places", "message", "advice"),
    [
        ({}, "no function for `next`, `seen`", "--function next=FILE.py:NAME --function seen=FILE.py:NAME"),
        ({"nxt": "F:step"}, "`m` has no public function `nxt`", "did you mean `next`?"),
        ({"next": "F:step"}, "no function for `seen`", "say where each one is"),
        ({"next": "step", "seen": "F:step"}, "`next=step` is not of the form NAME=FILE.py:FUNCTION", None),
        ({"next": "F:", "seen": "F:step"}, "is not of the form", None),
        ({"next": ":step", "seen": "F:step"}, "`next=:step` is not of the form", None),
        ({"next": "F:state", "seen": "F:step"}, "has no function `state` for `next`", None),
        ({"next": "F:nothing", "seen": "F:step"}, "has no function `nothing` for `next`", None),
        ({"next": "no_file.py:f", "seen": "F:step"}, "cannot read `no_file.py`", None),
        (
            {"next": "no_module:f", "seen": "F:step"},
            "`no_module` cannot be imported: ModuleNotFoundError",
            None,
        ),
        ({"next": "broken:f", "seen": "F:step"}, "`broken` cannot be imported: ZeroDivisionError", None),
        (
            {"next": "notes.txt:f", "seen": "F:step"},
            "`notes.txt` is no Python file: its name does not end",
            None,
        ),
    ],
)
def test_what_is_no_place_of_a_function(
    model: str, places: dict[str, str], message: str, advice: str | None
) -> None:
    Path("notes.txt").write_text(MODEL)
    Path("broken").mkdir()
    Path("broken/__init__.py").write_text("1 / 0")
    with pytest.raises(RunError) as caught:
        functions_of(SPEC, {name: place.replace("F:", f"{model}:") for name, place in places.items()})
    assert message in caught.value.message
    assert advice is None or advice in str(caught.value.help)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (
            "divides",
            (0,),
            "`next` (some_model.py:divides, line 6) raised ZeroDivisionError: division by zero",
        ),
        ("divides", (1, 2), "`next` (some_model.py:divides) raised TypeError: divides() takes 1 positional"),
        ("leaves", (0,), "`next` (some_model.py:leaves, line 7) raised SystemExit: 3"),
    ],
)
@pytest.mark.usefixtures("model")
def test_an_error_of_a_function_names_its_line(
    function: str, arguments: tuple[int, ...], message: str
) -> None:
    """It is told apart from those of the mechanism, and ends no process."""
    place = f"some_model.py:{function}"
    found = functions_of(SPEC, {"next": place, "seen": place})
    with pytest.raises(FunctionFailed) as caught:
        found["next_"](*arguments)
    assert str(caught.value).startswith(message)

"""`run`: the table, the JSON, and what is refused."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from aligncheck.cli import main
from aligncheck.compiler.certificate.text import FORMAT, OPENING
from aligncheck.compiler.modes import RunMode
from aligncheck.execute import table
from aligncheck.execute.runner import CompletedRun, NamedRecord
from aligncheck.kernel.answer import Accepted
from aligncheck.kernel.witness import Witness
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.report.release import execution_document, render_execution
from aligncheck.runtime import Result, Spec
from aligncheck.verdict import FileResult, Unknown, Verified

PROJECT = Path(__file__).parents[2]
SPEC = str(PROJECT / "specs" / "adaptive_svt.dp")
COUNTS = str(PROJECT / "tests" / "data" / "T10I4D100K_counts.csv")
SETTINGS = ("--set", "T=1000", "--set", "k=5", "--set", "eps=1")
pytestmark = pytest.mark.usefixtures("everything_verifies")


def test_a_table_and_the_privacy_spent(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", SPEC, "--data", COUNTS, *SETTINGS, "--seed", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "adaptive_svt_with_gap on 870 answers (column `count`): T = 1000, k = 5, eps = 1"
    assert lines[2].split() == ["#", "item", "released", "used", "gap"]
    assert all(re.match(r" *\d+(-\d+)?  \d+( … \d+)? +(top|mid|below)", line) for line in lines[3:-5])
    assert lines[-4:] == [
        "privacy spent: eps = 1",
        "computed exactly, with noise on the multiples of 1/1024",
        "checked: the proof was decided in this run",
        "note: not private (seeded)",
    ]
    gaps = [line.split()[-1] for line in lines[3:-5] if "below" not in line]
    assert all(re.fullmatch(r"\d+(\.\d+)?", gap) for gap in gaps), "fractions are shown as decimals"


def test_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", SPEC, "--data", COUNTS, *SETTINGS, "--seed", "3"]
    main([*arguments, "--json"])
    first = capsys.readouterr().out
    main([*arguments, "--json"])
    assert capsys.readouterr().out == first
    document = json.loads(first)
    assert document["parameters"] == {"T": "1000", "k": 5, "eps": "1"}
    assert (document["claim"], document["spent"], document["private"]) == ("eps", "1", False)
    assert document["bound"] is None
    assert document["answers"] == {"q": 870}
    tops = [record for record in document["records"] if record["tag"] == "top"]
    assert all(record["fields"]["used"] == "1/20" for record in tops)
    assert all(1024 % Fraction(record["fields"]["gap"]).denominator == 0 for record in tops)
    assert (document["mode"], document["gamma"]) == ("lattice", "1/1024")


def test_numbers_above_the_floats_are_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Their sum is above the floats, and no private value decides whether a run is shown."""
    data = tmp_path / "d.csv"
    data.write_text("item,count\na,inf\nb,1e400\n")
    spec = str(PROJECT / "specs" / "partial_sum.dp")
    for eps, shown in (("1", "1"), ("1e-400", "1e-400")):
        arguments = ["run", spec, "--data", str(data), "--set", f"eps={eps}"]
        assert main(arguments) == 0
        lines = capsys.readouterr().out.splitlines()
        assert re.search(r" -?[1-9][.\d]*e\+\d{3}$", lines[3]), lines
        assert f"privacy spent: eps = {shown}" in lines
        assert main([*arguments, "--json"]) == 0
        fields = json.loads(capsys.readouterr().out)["records"][0]["fields"]
        assert all(abs(Fraction(value)) > 10**307 for value in fields.values())


def test_numbers_of_very_many_digits_are_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Python refuses to write integers of more than 4,300 digits, unless it is told to."""
    spec = tmp_path / "m.dp"
    spec.write_text(
        """mechanism m
input
  x : query, sensitivity 1
  eps : real where eps > 0
  n : real
privacy eps
program
  xi ~ Lap(1/eps)
  emit v(long = n**16 + 1/3, noisy = x + xi)
align
  xi += x - x'
"""
    )
    assert main(["run", str(spec), "--set", "x=1", "--set", "eps=1", "--set", "n=1e400"]) == 0
    assert "1e+6400" in capsys.readouterr().out
    assert main(["run", str(spec), "--set", "x=1", "--set", "eps=1", "--set", "n=1e400", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["records"][0]["fields"]["long"]) > 6400


def test_what_is_left_of_the_bound(capsys: pytest.CaptureFixture[str]) -> None:
    hybrid = str(PROJECT / "specs" / "hybrid_sparse_gap.dp")
    settings = ("--set", "T=1e6", "--set", "k=5", "--set", "eps=1", "--set", "theta=1/4")
    arguments = ["run", hybrid, "--data", COUNTS, *settings]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "privacy spent: (theta + (1 - theta)*len(out)/k)*eps = 1/4" in lines
    assert "left of the bound eps = 1: 3/4" in lines
    main([*arguments, "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["spent"] == "1/4"
    assert document["bound"] == {"claim": "eps", "value": "1", "left": "3/4"}


def test_selected_items_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data = tmp_path / "counts.csv"
    data.write_text("item,shelf,count\na,low,1\nb,high,1000\nc,low,500\n", "utf-8")
    topk = str(PROJECT / "specs" / "noisy_topk_gap.dp")
    arguments = ["run", topk, "--data", str(data), "--set", "k=2", "--set", "eps=100", "--seed", "1"]
    for options, items in (([], ["b", "c"]), (["--label", "shelf"], ["high", "low"])):
        assert main([*arguments, *options]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[2].split() == ["#", "item", "released", "index", "gap"]
        rows = [line.split() for line in lines[3:5]]
        assert [row[:4] for row in rows] == [["0", items[0], "chosen", "1"], ["1", items[1], "chosen", "2"]]


def test_without_a_seed_the_run_is_private(capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", SPEC, "--data", COUNTS, *SETTINGS, "--json"])
    assert json.loads(capsys.readouterr().out)["private"] is True


def test_a_generated_module_runs_as_its_spec_does(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    module = str(tmp_path / "adaptive.py")
    assert main(["compile", SPEC, "-o", module]) == 0
    capsys.readouterr()
    outputs = []
    for file in (SPEC, module):
        main(["run", file, "--data", COUNTS, *SETTINGS, "--seed", "7", "--json"])
        outputs.append(json.loads(capsys.readouterr().out))
    assert [output.pop("checked") for output in outputs] == [True, False]
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("mode", ["lattice", "refined", "float"])
def test_a_run_computes_as_it_is_told(capsys: pytest.CaptureFixture[str], mode: str) -> None:
    assert main(["run", SPEC, "--data", COUNTS, *SETTINGS, "--mode", mode, "--json"]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (document["mode"], err) == (mode, "")
    assert any("unsafe" in note for note in document["notes"]) is (mode == "float")


def test_the_step_of_the_lattice_is_a_choice(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    module = str(tmp_path / "generated.py")
    assert main(["compile", SPEC, "-o", module]) == 0
    capsys.readouterr()
    arguments = ["run", module, "--data", COUNTS, *SETTINGS]
    assert main([*arguments, "--gamma", "0.1", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    gaps = [Fraction(r["fields"]["gap"]) for r in printed["records"] if r["fields"].get("gap")]
    assert printed["gamma"] == "1/10"
    assert gaps
    assert all((10 * gap).denominator == 1 for gap in gaps)
    for gamma, message in (
        ("2", "`gamma` must divide"),
        ("-1", "`gamma` must be positive"),
        ("x", "`gamma` must"),
    ):
        assert main([*arguments, f"--gamma={gamma}"]) == 2
        assert message in capsys.readouterr().err
    assert main(["compile", SPEC, "-o", module, "--mode", "float"]) == 0
    assert "UNSAFE" in capsys.readouterr().err
    assert main([*arguments, "--gamma", "0.1"]) == 2
    assert "`--gamma` is the step of a lattice" in capsys.readouterr().err


def test_the_safe_modes_are_tried_in_order(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a lattice, else refined, else not at all; in floating point only where that is asked for."""
    from aligncheck.commands import run as command
    from aligncheck.pipeline import Certification

    provable: set[str] = set()
    tried: list[str] = []

    def certified(file: str, timeout: float, mode: RunMode) -> Certification:
        tried.append(mode.value)
        verified = Verified(parse(read_source(file)), Witness(), Accepted("acyclic", ()))
        form = verified if mode.value in provable else None
        return Certification(FileResult(file, verified, 0.1), form, (), f"no {mode.value} form")

    monkeypatch.setattr(command, "certified", certified)
    arguments = ["run", SPEC, "--data", COUNTS, *SETTINGS, "--json"]
    for found, modes in (
        ({"lattice", "refined"}, ["lattice"]),
        ({"refined", "float"}, ["lattice", "refined"]),
    ):
        provable, tried[:] = found, []
        assert main(arguments) == 0
        assert json.loads(capsys.readouterr().out)["mode"] == modes[-1]
        assert tried == modes
    provable, tried[:] = {"float"}, []
    assert main(arguments) == 3
    out, err = capsys.readouterr()
    assert (out, tried) == ("", ["lattice", "refined"])
    for part in (
        "is VERIFIED, but it is not proved on a lattice (no lattice form)",
        "(no refined form)",
        "--mode float",
    ):
        assert part in err
    assert main([*arguments, "--mode", "float"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "T"], "`--set T` is not of the form NAME=VALUE"),
        (["--set", "=1"], "`--set =1` is not of the form NAME=VALUE"),
        (["--set", "T=1", "--set", "T=2"], "`T` is set twice"),
        (
            ["--set", "T=1", "--set", "kk=2"],
            "`adaptive_svt_with_gap` has no parameter `kk`\ndid you mean `k`?",
        ),
        ([*SETTINGS], "no data for `q`\nname a CSV file with `--data`"),
    ],
)
def test_bad_settings(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(["run", SPEC, *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"aligncheck: error: {message}")


def test_a_value_that_was_given_is_not_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (["--gamma", "0"], ["--set", "eps=0"]):
        given = SETTINGS[:-2] if wrong[0] == "--set" else SETTINGS
        assert main(["run", SPEC, *given, *wrong, "--data", COUNTS]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_pipe_is_read_if_somebody_writes_into_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "_PATIENCE", 0.5)
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    arguments = ["run", SPEC, *SETTINGS, "--data", str(pipe), "--json"]
    assert main(arguments) == 2
    assert "a pipe into which nobody has written for 0.5 s" in capsys.readouterr().err
    late = threading.Timer(0.2, lambda: pipe.write_text("count\n1\n2\n"))
    late.start()
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["answers"] == {"q": 2}
    late.join()


def test_a_file_without_end_is_not_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "_LARGEST", 1 << 20)
    data = tmp_path / "counts.csv"
    data.write_text("count\n" + "1\n" * (1 << 20))
    assert main(["run", SPEC, *SETTINGS, "--data", str(data)]) == 2
    assert capsys.readouterr().err == f"aligncheck: error: `{data}` is larger than 1 MB\n"


FUNCTIONS = """
def fails(state, i): raise ValueError("boom")
def leaves(state, i):
    raise SystemExit(3)
def good(state, i): return 0
def update(state, i, value): return state
"""


@pytest.mark.parametrize(
    ("answer", "update", "message"),
    [
        ("fails", "update", "`answer` (F:fails, line 2) raised ValueError: boom"),
        ("leaves", "update", "`answer` (F:leaves, line 4) raised SystemExit: 3"),
        ("update", "good", "`answer` (F:update) raised TypeError: update() missing 1 required positional"),
    ],
)
def test_errors_of_functions_are_told_as_theirs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, answer: str, update: str, message: str
) -> None:
    file, data = tmp_path / "f.py", tmp_path / "d.csv"
    file.write_text(FUNCTIONS)
    data.write_text("count\n1\n")
    spec = str(PROJECT / "specs" / "online_pmw.dp")
    settings = [word for each in ("T=1", "N=1", "start=0", "eps=1") for word in ("--set", each)]
    given = ["--function", f"answer={file}:{answer}", "--function", f"update={file}:{update}"]
    assert main(["run", spec, "--data", str(data), *settings, *given]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"aligncheck: error: {message.replace('F', str(file))}")
    assert "nothing was released; the run spent eps = 1" in err


def test_a_function_in_a_file_that_is_no_python(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    other = tmp_path / "f.txt"
    other.write_text("")
    spec = str(PROJECT / "specs" / "online_pmw.dp")
    given = ["--function", f"answer={other}:f", "--function", f"update={other}:f"]
    assert main(["run", spec, *given]) == 2
    assert f"`{other}` is no Python file: its name does not end in `.py`" in capsys.readouterr().err


def test_a_module_of_another_format_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    module = tmp_path / "m.py"
    assert main(["compile", SPEC, "-o", str(module)]) == 0
    module.write_text(module.read_text().replace(OPENING, "certificate, format 1"))
    capsys.readouterr()
    assert main(["run", str(module), *SETTINGS, "--data", COUNTS]) == 2
    said = f"the certificate is written in format 1, by another version; this version reads format {FORMAT}"
    assert f"{said}\ncompile it again: " in capsys.readouterr().err


GREEK = """
mechanism greek
input
  q : queries, sensitivity 1, adjacency all
  w : vector where w[i] > 0
  ε : real where ε > 0
privacy ε
program
  η ~ Lap(1/ε)
  for i, x in q:
    if x + η > w[0]: emit high
align
  η -= 1
expect alignment fails at output
"""


@pytest.mark.parametrize("given", [["ε=1", "w=1,2"], ["eps=1", "w=[1, 2]"], ["ε=1/1", "w=( 1,2 )"]])
def test_values_are_given_as_a_spec_writes_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, given: list[str]
) -> None:
    spec, data = tmp_path / "greek.dp", tmp_path / "data.csv"
    spec.write_text(GREEK, "utf-8")
    data.write_text("count\n0\n9\n", "utf-8")
    settings = [word for each in given for word in ("--set", each)]
    assert main(["run", str(spec), "--data", str(data), *settings, "--mode", "float", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["parameters"] == {"w": ["1", "2"], "eps": "1"}


def test_one_name_in_two_spellings_is_set_twice(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    spec = tmp_path / "greek.dp"
    spec.write_text(GREEK, "utf-8")
    for command in ("run", "refute"):
        assert main([command, str(spec), "--set", "ε=1", "--set", "eps=2"]) == 2
        assert "`eps` is set twice" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "name"), [("5\n3\n7\n", "5"), ("a,5\nb,3\n", "5"), ("-0.5\n1e3\n", "-0.5"), ("inf\n1\n", "inf")]
)
def test_answers_are_not_taken_for_the_names_of_columns(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, name: str
) -> None:
    data = tmp_path / "counts.csv"
    data.write_text(text, "utf-8")
    arguments = ["run", SPEC, "--data", str(data), *SETTINGS]
    assert main(arguments) == 2
    message = (
        f"{data}:1: `{name}` is a number, and no name of a column\nthe first line must name the columns; "
    )
    assert message in capsys.readouterr().err
    assert main([*arguments, f"--column={name}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"] == {"q": name}


def test_what_is_not_verified_does_not_run(
    capsys: pytest.CaptureFixture[str], install_checker: Callable[[Any], None]
) -> None:
    install_checker(lambda path, options: FileResult(path, Unknown(None, None, "not decided", None), 0.1))
    assert main(["run", SPEC, "--data", COUNTS, *SETTINGS]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "not decided" in err
    assert err.splitlines()[-1].startswith("aligncheck: not run: ")


def released(*records: tuple[str, str | None, dict[str, Any]]) -> CompletedRun:
    return CompletedRun(
        spec=Spec("toy", "eps", (), ()),
        result=Result(
            mechanism="toy",
            records=(),
            spent=Fraction(1, 3),
            bound=Fraction(1, 3),
            labels=(),
            estimates=(),
            mode="refined",
            gamma=Fraction(1, 8),
            private=True,
            notes=("a note",),
        ),
        parameters=(("b", (Fraction(1, 2), Fraction(3))), ("strict", True)),
        columns=(),
        answers=(),
        records=tuple(NamedRecord(tag, tuple(fields.items()), label) for tag, label, fields in records),
        decided=True,
    )


def text_of(execution: CompletedRun) -> list[str]:
    from rich.console import Console

    console = Console(width=200, color_system=None)
    with console.capture() as capture:
        console.print(render_execution(execution))
    return capture.get().splitlines()


def test_the_gap_beside_a_choice_has_a_p_value() -> None:
    record = NamedRecord("chosen", (("index", 1), ("gap", 2.5)), None, 0.1517)
    execution = replace(released(("chosen", None, {})), records=(record,))
    assert text_of(execution)[3:6] == [
        "0  chosen        1  2.5",
        "0: the returned answer is the best one, p = 0.152",
        "(where another is better, so large a gap has at most the chance p)",
    ]
    assert execution_document(execution)["records"][0]["p_value"] == 0.1517


def test_equal_records_in_a_row_take_one_line() -> None:
    no_fields: dict[str, Any] = {}
    low, high = ("low", None, no_fields), ("high", None, {"gap": 1.5, "sure": False})
    assert text_of(released(low, low, low, high, low, low)) == [
        "toy: b = [1/2, 3], strict = true",
        "",
        "  #  released       gap   sure",
        "0-2  low (3 times)",
        "  3  high           1.5  false",
        "  4  low",
        "  5  low",
        "",
        "privacy spent: eps = 1/3",
        "computed exactly, with real-valued noise, and rounded down to multiples of 1/8",
        "checked: the proof was decided in this run",
        "note: a note",
    ]


def test_wide_names_and_control_characters_keep_the_columns() -> None:
    lines = text_of(released(("a", "日本", {}), ("a", "x\x1b[31m", {}), ("b", "é", {})))
    assert lines[3] == "0  日本    a"
    assert "\x1b" not in "".join(lines)


def test_no_records() -> None:
    assert "no records" in text_of(released())
    assert execution_document(released())["records"] == []

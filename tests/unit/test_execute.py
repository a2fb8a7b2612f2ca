"""`aligncheck run` without its command line: data in, records out, and every way to get it wrong."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from oracle import as_if_verified

from aligncheck.compiler.certificate.text import attached
from aligncheck.compiler.emit.python import emit_python
from aligncheck.compiler.modes import RunMode
from aligncheck.execute.cannot_run import NoSafeMode, NotVerified, RunError
from aligncheck.execute.load import CheckedSpec
from aligncheck.execute.runner import CompletedRun, run_file
from aligncheck.execute.table import read_table
from aligncheck.language.check import check
from aligncheck.language.conditions import Condition
from aligncheck.language.diagnostics import Label
from aligncheck.language.source import Span
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.verdict import AlignmentFails, Verified

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
ADAPTIVE = str(ROOT / "specs" / "adaptive_svt.dp")
SETTINGS = {"T": "1000", "k": "5", "eps": "1"}


def verified(path: str) -> Verified:
    source = read_source(path)
    return as_if_verified(check(source, parse(source)))


def trusting(path: str) -> CheckedSpec:
    return CheckedSpec(verified(path), RunMode.LATTICE)


def refusing(path: str) -> CheckedSpec:
    mechanism = parse(read_source(path))
    return CheckedSpec(AlignmentFails(mechanism, Condition.COST, "", Label(Span(0, 0)), None, ()), None)


def plain(execution: CompletedRun) -> CompletedRun:
    """Without the records in classes of the module that was executed."""
    return replace(execution, result=replace(execution.result, records=()))


def labels_of(execution: CompletedRun) -> tuple[str | None, ...]:
    return tuple(record.label for record in execution.records)


def adaptive(data: str | Path | None, column: str | None = None, **changed: str) -> CompletedRun:
    settings = {name: text for name, text in {**SETTINGS, **changed}.items() if text}
    return run_file(ADAPTIVE, None if data is None else str(data), column, settings, 1, check=trusting)


def csv(folder: Path, text: str | bytes) -> str:
    path = folder / "counts.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_a_spec_runs_on_real_data() -> None:
    execution = adaptive(DATA / "groceries_counts.csv")
    assert execution.spec.name == "adaptive_svt_with_gap"
    assert execution.parameters == (("T", Fraction(1000)), ("k", 5), ("eps", Fraction(1)))
    assert execution.columns == (("q", "count"),)
    assert execution.answers == (("q", 169),)
    assert (execution.spec.claim, execution.result.spent, execution.result.private) == (
        "eps",
        Fraction(1),
        False,
    )
    found = {record.label for record in execution.records if record.tag != "below"}
    assert {"other vegetables", "rolls/buns", "soda"} <= found
    gap = next(dict(r.fields)["gap"] for r in execution.records if r.label == "other vegetables")
    assert 500 < gap < 1500
    assert (execution.result.mode, execution.result.notes) == ("lattice", ("not private (seeded)",))


def test_what_is_verified_but_cannot_run_as_it_was_proved() -> None:
    with pytest.raises(NoSafeMode, match="it is not proved on a lattice") as caught:
        run_file(
            ADAPTIVE,
            None,
            None,
            SETTINGS,
            1,
            check=lambda path: CheckedSpec(verified(path), None, "it is not proved on a lattice"),
        )
    assert caught.value.exit_status == 3
    assert "--mode float" in str(caught.value.help)


@pytest.mark.parametrize("mode", RunMode)
def test_a_run_says_how_it_computed(mode: RunMode, tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    settings = {**SETTINGS, "q": "5000,-5000"}

    def run(path: str, how: RunMode | None = None) -> CompletedRun:
        return run_file(
            path, None, None, settings, 1, check=lambda spec: CheckedSpec(verified(spec), mode), mode=how
        )

    execution = run(ADAPTIVE)
    assert execution.result.mode == mode.value
    assert any("not for the release" in note for note in execution.result.notes) is (mode is RunMode.FLOAT)
    out = tmp_path / "out.py"
    out.write_text(attached(emit_python(verified(ADAPTIVE), mode), []), "utf-8")
    found = [plain(each) for each in (run(str(out)), run(str(out), mode), replace(execution, decided=False))]
    assert found[0] == found[1] == found[2]
    other = next(each for each in RunMode if each is not mode)
    with pytest.raises(RunError, match=f"was compiled with `--mode {mode.value}`"):
        run(str(out), other)
    assert not recwarn.list, "the notes say it"


def test_a_table_has_all_columns_or_one_of_its_cells(tmp_path: Path) -> None:
    def run(text: str) -> CompletedRun:
        settings = {"n": "2", "m": "2", "eps": "1"}
        spec = str(ROOT / "specs" / "table_histogram.dp")
        return run_file(spec, csv(tmp_path, text), None, settings, 1, check=trusting)

    wide, long = run("place,a,b\nx,1,2\ny,,4\n"), run('q\n1\n2\n""\n4\n')
    assert wide.records == long.records
    assert wide.answers == long.answers == (("q", 4),)
    assert (wide.columns, long.columns) == ((), (("q", "q"),))
    for text, says in (
        ("place,a,b\nx,1,2\n", "1 rows and 2 columns"),
        ("a,b,c\n1,2,3\n4,5,6\n", "3 entries"),
    ):
        with pytest.raises(RunError, match=says):
            run(text)


def test_numbers_that_name_items_are_no_answers() -> None:
    execution = adaptive(DATA / "T10I4D100K_counts.csv")
    assert execution.columns == (("q", "count"),)
    assert labels_of(execution)[:3] == ("0", "1", "2")


def test_a_generated_file_runs_without_being_verified_again(tmp_path: Path) -> None:
    out = (
        tmp_path / "random.py"
    )  # a name that would hide a module of the standard library, were it importable
    out.write_text(attached(emit_python(verified(ADAPTIVE)), []), "utf-8")
    modules, path = set(sys.modules), list(sys.path)
    data = str(DATA / "groceries_counts.csv")
    execution = run_file(str(out), data, None, SETTINGS, 1, check=refusing)
    assert plain(replace(execution, decided=True)) == plain(adaptive(data))
    assert (set(sys.modules), sys.path) == (modules, path)


def test_unverified_specs_do_not_run() -> None:
    with pytest.raises(NotVerified, match="ALIGNMENT FAILS") as caught:
        run_file(ADAPTIVE, str(DATA / "groceries_counts.csv"), None, SETTINGS, 1, check=refusing)
    assert isinstance(caught.value, RunError)
    assert (caught.value.exit_status, caught.value.verdict) == (2, refusing(ADAPTIVE).verdict)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nothing_of_this_name", "ModuleNotFoundError"),
        ("x = (", r"out.py:1: "),
        ("x = 1", "holds no mechanism"),
        ("raise SystemExit(0)", "SystemExit"),
        ("from aligncheck.runtime import Mechanism", "holds no mechanism"),
    ],
)
def test_files_that_hold_no_mechanism(tmp_path: Path, text: str, message: str) -> None:
    out = tmp_path / "out.py"
    out.write_text(attached(text + "\n", []))
    with pytest.raises(RunError, match=message):
        run_file(str(out), None, None, {}, None, check=trusting)


def test_settings_that_do_not_fit() -> None:
    """See `test_execute_inputs.py` for what a text says; here the mechanism itself refuses a value."""
    with pytest.raises(RunError, match="`k` must satisfy `k >= 1`, but is 0"):
        adaptive(DATA / "groceries_counts.csv", k="0")
    with pytest.raises(RunError, match="no value for `T`, `k`"):
        adaptive(DATA / "groceries_counts.csv", T="", k="")


@pytest.mark.parametrize(
    ("text", "column", "message", "advice"),
    [
        ("item,count\na,1\n", "coutn", "counts.csv:1: no column `coutn`", "did you mean `count`?"),
        ("a,b\n1,2\n", None, "several columns hold numbers: `a`, `b`", "--column"),
        ("a,b\nx,y\n", None, "no column of numbers", "--column"),
        ("item,count\na,1\nb,two\n", "count", "counts.csv:3: column `count`: `two` is no number", None),
        ('item,count\na,1\nb,"1,000"\n', "count", "`1,000` is no number", "separators for thousands"),
        ("item,count\na,1,2\n", None, "counts.csv:2: 3 values, but the header names 2 columns", None),
        ("count,count\n1,2\n", None, "counts.csv:1: two columns are called `count`", None),
        ("item;count\na;1\n", None, "no commas in the header", "separated by commas"),
        ("item,count\n", None, "has a header but no rows", None),
        ("", None, "is empty", "must name the columns"),
        (b"item,count\n\xff\xfe,1\n", None, "counts.csv:2: not UTF-8 text", "save the file as UTF-8"),
        ("item,count\na\0,1\n", None, "counts.csv:2: holds a null byte", None),
        ('item,count\n"a,1\n', None, "counts.csv:2: ", None),
    ],
)
def test_data_that_cannot_be_read(
    tmp_path: Path, text: str | bytes, column: str | None, message: str, advice: str | None
) -> None:
    with pytest.raises(RunError) as caught:
        adaptive(csv(tmp_path, text), column)
    assert message in caught.value.message
    assert advice is None or advice in str(caught.value.help)


def test_cells_are_read_exactly_and_what_is_missing_is_a_value(tmp_path: Path) -> None:
    cells = ["", "nan", "NULL", "7", "0.1", "-1.5E2"]
    cells += ["inf", "-Infinity", "1e99999", "1e0000999", "9007199254740993.25"]
    table = read_table(csv(tmp_path, "item,count\n" + "".join(f"a,{cell}\n" for cell in cells)))
    assert table.default_column() == "count"
    numbers = table.numbers("count")
    assert numbers[:6] == [None, None, None, 7, 0.1, -150]
    assert numbers[6:] == [math.inf, -math.inf, math.inf, 10**999, Fraction(2**55 + 5, 4)]
    assert adaptive(csv(tmp_path, "item,count\na,\nb,inf\nc,9007199254740993.25\n")).answers == (("q", 3),)


def test_files_as_pandas_and_spreadsheets_write_them(tmp_path: Path) -> None:
    for text in (
        ",hits\nx,9\ny,8\n",
        "\ufeffname,hits\r\nx,9\r\ny,8",
        'item,hits\n"x", 9\n\n"y",8.0\n\n',
        "0,hits\nx,9\ny,8\n",
    ):
        execution = adaptive(csv(tmp_path, text), T="0", eps="1000")
        assert execution.columns == (("q", "hits"),)
        assert labels_of(execution) == ("x", "y")
        assert [record.tag for record in execution.records] == ["top", "top"]


TOPK = str(ROOT / "specs" / "noisy_topk_gap.dp")


def test_selected_items_have_their_names() -> None:
    data = str(DATA / "groceries_counts.csv")
    execution = run_file(TOPK, data, None, {"k": "3", "eps": "100"}, 1, check=trusting)
    assert labels_of(execution) == ("whole milk", "other vegetables", "rolls/buns")
    lines = Path(data).read_text("utf-8").splitlines()
    for record in execution.records:
        index = int(dict(record.fields)["index"])
        assert lines[index + 1].startswith(f"{record.label},")


def test_the_column_of_names_can_be_chosen(tmp_path: Path) -> None:
    data = csv(tmp_path, "item,kind,id,count\na,x,7,1\nb,y,8,100\nc,z,9,50\n")
    settings = {"k": "2", "eps": "1000"}

    def labels(label: str | None) -> tuple[str | None, ...]:
        execution = run_file(TOPK, data, "count", settings, 1, check=trusting, label=label)
        return labels_of(execution)

    assert labels(None) == labels("item") == ("b", "c")
    assert labels("kind") == ("y", "z")
    assert labels("id") == ("8", "9")
    with pytest.raises(RunError, match="no column `knd`") as caught:
        labels("knd")
    assert caught.value.help == "did you mean `kind`?"


def test_a_selection_from_too_few_items_is_refused(tmp_path: Path) -> None:
    data = csv(tmp_path, "item,count\na,1\nb,2\n")
    with pytest.raises(RunError, match=r"`k` must satisfy `k <= len\(q\) - 1`, but is 2"):
        run_file(TOPK, data, None, {"k": "2", "eps": "1"}, 1, check=trusting)


def test_data_is_needed_and_may_be_given_by_hand() -> None:
    with pytest.raises(RunError, match="no data for `q`"):
        adaptive(None)
    with pytest.raises(RunError, match="cannot read"):
        adaptive("no-such-file.csv")
    execution = adaptive(None, q="5000, -5000", eps="100")
    assert [record.tag for record in execution.records] == ["top", "below"]
    assert labels_of(execution) == (None, None)
    salary = str(ROOT / "specs" / "threshold_salary.dp")
    execution = run_file(salary, None, None, {"eps": "10", "q": "20000"}, 1, check=trusting)
    assert [record.tag for record in execution.records] == ["above"]
    with pytest.raises(RunError, match="`q` is one answer, but column `count` has 169 rows"):
        run_file(salary, str(DATA / "groceries_counts.csv"), None, {"eps": "10"}, 1, check=trusting)


def test_several_inputs_have_a_column_each(tmp_path: Path) -> None:
    spec = str(ROOT / "specs" / "two_histograms.dp")
    data = csv(tmp_path, "item,p,late\na,1,10\nb,2,20\n")
    settings = {"Delta": "1", "eps": "1000"}
    with pytest.raises(RunError, match="no column `r` for `r`") as caught:
        run_file(spec, data, None, settings, 1, check=trusting)
    assert "--column p=…,r=…" in str(caught.value.help)
    with pytest.raises(RunError, match="does not say whose column"):
        run_file(spec, data, "late", settings, 1, check=trusting)
    execution = run_file(spec, data, "r=late", settings, 1, check=trusting)
    assert execution.columns == (("p", "p"), ("r", "late"))
    values = [(record.tag, round(record.fields[0][1]), record.label) for record in execution.records]
    assert values == [("first", 1, "a"), ("first", 2, "b"), ("second", 10, "a"), ("second", 20, "b")]


def test_vectors_and_truth_values_are_set_as_text(tmp_path: Path) -> None:
    spec = str(ROOT / "specs" / "masked_histogram.dp")
    data = csv(tmp_path, "item,count\na,1\nb,2\n")
    execution = run_file(spec, data, None, {"wanted": "true,False", "eps": "1"}, 1, check=trusting)
    assert [record.tag for record in execution.records] == ["noisy", "hidden"]
    with pytest.raises(RunError, match=r"`wanted\[1\]` must be `true` or `false`, not `1`"):
        run_file(spec, data, None, {"wanted": "true,1", "eps": "1"}, 1, check=trusting)


MODEL = """
def answer(state, j): return 0
def update(state, j, value): return state
def asked(done, j): return bool(int(done) >> j & 1)
def add(done, j): return int(done) | 1 << j
def unasked(done): return next(j for j in range(99) if not asked(done, j))
number = 1
"""
MWEM = str(ROOT / "specs" / "mwem.dp")
PUBLIC = ("answer", "update", "asked", "add", "unasked")


def model(folder: Path, text: str = MODEL) -> dict[str, str]:
    path = folder / "model.py"
    path.write_text(text)
    return {name: f"{path}:{name}" for name in PUBLIC}


def mwem(data: str, functions: dict[str, str]) -> CompletedRun:
    settings = {"rounds": "3", "start": "0", "nothing": "0", "eps": "100"}
    return run_file(MWEM, data, None, settings, 1, check=trusting, functions=functions)


def test_public_functions_come_from_a_file_or_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = csv(tmp_path, "item,count\na,5000\nb,9000\n")
    functions = model(tmp_path)
    assert labels_of(mwem(data, functions)) == ("b", "a")
    monkeypatch.chdir(tmp_path)
    assert labels_of(mwem(data, {name: f"model:{name}" for name in PUBLIC})) == ("b", "a")


def test_a_run_without_its_public_functions_names_them(tmp_path: Path) -> None:
    with pytest.raises(
        RunError, match="no function for `answer`, `update`, `asked`, `add`, `unasked`"
    ) as caught:
        mwem(csv(tmp_path, "count\n5\n"), {})
    assert "--function answer=FILE.py:NAME" in str(caught.value.help)
    broken = model(tmp_path, "def answer(:\n")
    with pytest.raises(RunError, match=r"model\.py:1: "):
        mwem(csv(tmp_path, "count\n5\n"), broken)
    raising = model(tmp_path, "1/0\n")
    with pytest.raises(RunError, match="cannot be loaded: ZeroDivisionError"):
        mwem(csv(tmp_path, "count\n5\n"), raising)

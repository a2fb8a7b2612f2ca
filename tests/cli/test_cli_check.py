"""`check`: from compiling to a verdict on the file, by the command that users run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import z3

from aligncheck.cli import main
from aligncheck.commands import check
from aligncheck.compiler.certificate.checker import CheckedFile
from aligncheck.compiler.certificate.questions import SolverReply
from aligncheck.compiler.certificate.solvers import Solver
from aligncheck.compiler.certificate.text import CLOSING, digest

SPEC = str(Path(__file__).parents[2] / "specs" / "second_chance.dp")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds a compiled mechanism and the kernel's questions."""
    folder = tmp_path_factory.mktemp("compiled")
    assert main(["compile", SPEC, "-o", str(folder / "out.py"), "--smt", str(folder / "smt")]) == 0
    return folder


def test_what_was_compiled_is_accepted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(folder / "out.py")]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == f"CHECKED  {folder / 'out.py'}: `second_chance` is `eps`-differentially private"
    assert "decisions by z3" in lines[-1]
    assert err == ""
    for said in (
        "  claim   one run is `eps`-differentially private, for every number of answers and every value of",
        "          Neighbouring data: `x` differs by at most `1` (adjacency `all`).",
        "  inputs  x : query, sensitivity 1, adjacency all",
        "          eps : real where eps > 0",
        "  mode    lattice: proved and run on a lattice, in exact arithmetic, in this form, for every step",
        "  form    resolution : int where resolution >= 1",
    ):
        assert any(line.startswith(said) for line in lines), said


def test_the_statement_says_whether_queries_may_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    goldens = Path(SPEC).parents[1] / "mechanisms"
    said = {"svt_with_gap": "Queries may be chosen", "noisy_topk_gap": "Queries are fixed"}
    for name, start in said.items():
        assert main(["check", str(goldens / f"{name}.py")]) == 0
        assert f"  stream  {start}" in capsys.readouterr().out


def test_the_statement_has_every_declaration_and_public_function() -> None:
    from aligncheck.compiler.modes import RunMode
    from aligncheck.language.check import check as checked
    from aligncheck.language.source import Source
    from aligncheck.language.syntax.parse import parse
    from aligncheck.report.statement import statement

    text = """\
mechanism odd
  "A title
   of two lines."

fun step(real, int) : real

input
  p, r : int queries, sensitivity 2*Delta, adjacency l1, lattice 2, range [0, 6] where len(p) == len(r)
  w : bool vector
  Delta : int where Delta >= 1
  eps : real where eps > 0

privacy len(out)*eps/2 at most eps

program
  eta ~ Lap(1/eps)
  emit a(eta)

align
"""
    source = Source("odd.dp", text)
    spec = checked(source, parse(source))
    lines = list(statement(spec, spec, RunMode.FLOAT))
    assert lines[0] == "  title   A title of two lines."
    said = "\n".join(lines)
    for part in (
        "one run is `eps`-differentially private",
        "an output `out` spends `len(out)*eps/2`",
        "differ by at most `2*Delta` in all (adjacency `l1`)",
        "p, r : int queries, sensitivity 2*Delta, adjacency l1, lattice 2, range [0, 6]"
        " where len(p) == len(r)",
        "w : bool vector",
        "Delta : int where Delta >= 1",
        "fun step(real, int) : real",
        "which no proof covers: UNSAFE",
    ):
        assert part in said, part


def test_an_edited_file_fails_and_the_line_is_named(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (folder / "out.py").read_text()
    edited = tmp_path / "edited.py"
    edited.write_text(text.replace("2 / eps", "1 / eps", 1))
    line = next(i for i, t in enumerate(edited.read_text().split("\n"), 1) if "1 / eps" in t)
    assert main(["check", str(edited)]) == 1
    assert capsys.readouterr().out.startswith(f"FAILED  {edited}:{line}: code: ")


def test_a_module_that_was_changed_is_not_executed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By accident: the digest tells. By intent, with a digest that fits: only deciding the proof tells."""
    mark = tmp_path / "executed"
    text = (folder / "out.py").read_text()
    spy = f"open({str(mark)!r}, 'w').close()\n"
    accident = text.replace("\nfrom dataclasses", f"\n{spy}from dataclasses", 1).replace("2 / eps", "1 / eps")
    assert accident.count("1 / eps") >= 2
    before = accident.partition(f"#: {CLOSING}\n")[0]
    intent = f"{before}#: {CLOSING}\n#| sha256 {digest(before)}\n"
    module = tmp_path / "out.py"
    arguments = ["run", str(module), "--set", "x=1", "--set", "T=1", "--set", "eps=1"]

    module.write_text(text)
    assert main([*arguments, "--check"]) == 0
    assert "checked: the proof was decided in this run" in capsys.readouterr().out.splitlines()

    for changed in (accident, accident.replace("\n", "\r\n"), accident[:-2], spy):
        module.write_bytes(changed.encode())
        for options in ([], ["--check"]):
            assert main([*arguments, *options]) == 2
            out, err = capsys.readouterr()
            assert (out, str(module) in err, mark.exists()) == ("", True, False)
            assert "compile it again: `aligncheck compile S" in err or "compile second_chance.dp -o" in err

    module.write_text(intent)
    assert main([*arguments, "--check"]) == 1
    out, err = capsys.readouterr()
    assert (out, mark.exists()) == ("", False)
    assert err.startswith(f"FAILED  {module}:")
    assert "not run" in err
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert mark.exists()
    assert "privacy spent: eps = 1 (not checked)" in out
    assert "not checked: the module's digest fits, which finds accidents, not intent" in out


@pytest.mark.parametrize("data", [b"", b"x = 1\n", b"\xff\xfe\x00"])
def test_a_file_without_a_certificate_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes
) -> None:
    (tmp_path / "mine.py").write_bytes(data)
    assert main(["check", str(tmp_path / "mine.py")]) == 1
    assert "certificate: no certificate" in capsys.readouterr().out


def test_without_a_file_there_is_nothing_to_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "no_such_file.py"]) == 2
    assert capsys.readouterr().err == "aligncheck: error: no such file: `no_such_file.py`\n"


def test_a_missing_solver_says_how_to_install_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "cvc5", None)
    assert main(["check", str(folder / "out.py"), "--solver", "cvc5"]) == 2
    assert "pip install 'aligncheck[cvc5]'" in capsys.readouterr().err


def test_solvers_that_disagree_have_a_status_of_their_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replies = (SolverReply(Solver.Z3, "x > 0", "unsat"), SolverReply(Solver.CVC5, "x > 0", "sat"))
    found = CheckedFile(None, None, None, None, 0.1, (), replies)
    monkeypatch.setattr(check, "_check", lambda job: found)
    assert main(["check", str(folder / "out.py"), "--solver", "both"]) == check.DISAGREE
    out = capsys.readouterr().out
    assert out.startswith("SOLVERS DISAGREE")
    assert "z3 says unsat, cvc5 says sat: x > 0" in out


def test_exported_questions_are_decided_as_expected(folder: Path) -> None:
    files = sorted((folder / "smt").iterdir())
    assert [f.name for f in files][:2] == ["second_chance-001.smt2", "second_chance-002.smt2"]
    for file in files:
        expected = file.read_text().split("\n")[0].removeprefix("; ").partition(":")[0]
        said = z3.Z3_eval_smtlib2_string(z3.main_ctx().ref(), "(reset)\n" + file.read_text()).split()
        assert said
        assert set(said) == {expected}


def test_questions_do_not_replace_somebody_s_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "second_chance-001.smt2").write_text("mine\n")
    assert main(["compile", SPEC, "-o", str(tmp_path / "out.py"), "--smt", str(tmp_path)]) == 2
    assert "was not generated by aligncheck" in capsys.readouterr().err
    assert not (tmp_path / "out.py").exists()

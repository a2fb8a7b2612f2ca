"""Modes on the command line: what is compiled, what is refused, what is offered instead; what a form is."""

from __future__ import annotations

from pathlib import Path

import pytest

from aligncheck.cli import main

SPECS = Path(__file__).parents[2] / "specs"
LAPLACE = str(SPECS / "laplace.dp")  # under an L1 bound: answers may not be rounded
LOGISTIC = str(SPECS / "exponential_mechanism_gap.dp")
HISTOGRAM = str(SPECS / "histogram.dp")


def test_what_is_not_proved_on_a_lattice_is_refused_with_what_can_be_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "laplace.py"
    assert main(["compile", LAPLACE, "-o", str(out)]) == 3
    said = capsys.readouterr().err
    assert f"`{LAPLACE}` is VERIFIED, but not proved on a lattice: line 7: rounding many answers" in said
    assert "`--mode refined`" in said
    assert "`--mode float`" in said
    assert not out.exists()


def test_a_run_in_one_safe_mode_names_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", LAPLACE, "--set", "Delta=1", "--set", "eps=1", "--set", "q=1"]
    assert main([*arguments, "--mode", "lattice"]) == 3
    assert "without `--mode` it runs in any form that is proved" in capsys.readouterr().err
    assert main(arguments) == 0


@pytest.mark.parametrize(
    ("mode", "spec", "class_name", "how"),
    [
        ("lattice", HISTOGRAM, "class Histogram(LatticeMechanism):", "on a lattice, in exact arithmetic"),
        ("refined", LAPLACE, "class Laplace(RefinedMechanism):", "as finely as each decision needs"),
        ("float", LAPLACE, "class UnsafeLaplace(FloatMechanism):", "which no proof covers: UNSAFE"),
    ],
)
def test_a_file_says_how_it_computes(
    mode: str, spec: str, class_name: str, how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.py"
    assert main(["compile", spec, "-o", str(out), "--mode", mode]) == 0
    text = out.read_text("utf-8")
    assert class_name in text
    assert f"\n#: mode\n#| {mode}\n" in text
    capsys.readouterr()
    assert main(["check", str(out)]) == 0
    assert how in capsys.readouterr().out


def test_a_mode_is_not_edited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.py"
    assert main(["compile", LAPLACE, "-o", str(out), "--mode", "float"]) == 0
    text = out.read_text("utf-8")
    for other in ("lattice", "refined", "fast"):
        out.write_text(text.replace("\n#: mode\n#| float\n", f"\n#: mode\n#| {other}\n"), "utf-8")
        capsys.readouterr()
        assert main(["check", str(out)]) == 1
        assert "FAILED" in capsys.readouterr().out


def test_logistic_noise_runs_refined_but_not_on_a_lattice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out.py")
    assert main(["compile", LOGISTIC, "-o", out]) == 3
    assert "`--mode refined` draws real-valued noise exactly" in capsys.readouterr().err
    for mode in ("refined", "float"):
        assert main(["compile", LOGISTIC, "-o", out, "--mode", mode]) == 0
        assert main(["check", out]) == 0


def test_a_form_is_a_spec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", HISTOGRAM, "--mode", "lattice"]) == 0
    form = tmp_path / "form.dp"
    form.write_text(capsys.readouterr().out, "utf-8")
    assert main(["verify", str(form)]) == 0
    assert main(["show", LAPLACE, "--mode", "lattice"]) == 3
    assert "has no form for `lattice`: line 7" in capsys.readouterr().err

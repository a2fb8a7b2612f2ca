"""`default E`: what a public parameter is where it is given no value."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from oracle import as_if_verified, load

from aligncheck.compiler.emit.python import emit_python
from aligncheck.compiler.forms import form_of
from aligncheck.compiler.modes import RunMode
from aligncheck.compiler.readback import ReadError, program_runs
from aligncheck.execute.cannot_run import RunError
from aligncheck.execute.load import CheckedSpec
from aligncheck.execute.runner import CompletedRun, run_file
from aligncheck.judge import judge
from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.language.unparse import unparse
from aligncheck.refutation.databases import parameter_choices
from aligncheck.report.release import render_execution
from aligncheck.runtime import GapNoise, ParameterError
from aligncheck.search.declarations import misplaced

SPECS = Path(__file__).parents[2] / "specs"
SPLIT = "svt_with_gap_theta"


@cache
def mechanism(name: str) -> tuple[n.Mechanism, Source]:
    source = read_source(str(SPECS / f"{name}.dp"))
    return check(source, parse(source)), source


def code_of(name: str, mode: RunMode) -> str:
    return emit_python(as_if_verified(mechanism(name)[0]), mode)


@pytest.mark.parametrize("name", [p.stem for p in SPECS.glob("*.dp") if "default" in p.read_text("utf-8")])
def test_the_splits_of_the_dissertation_are_defaults(name: str) -> None:
    """Section 5.4.1: 1/(1 + (16 k^2)^(1/3)) for the top branch of adaptive sparse vector, 4 k^2 without that
    branch, and a quarter of either where all answers rise or all fall.
    """
    inside = (16 if "adaptive" in name else 4) / (4 if "monotone" in name else 1)
    cls: Any = load(code_of(name, RunMode.LATTICE))
    for k in (1, 3, 10**30):
        made = cls(T=0, k=k, eps=1)
        assert float(made.theta) == pytest.approx(1 / (1 + (inside * k**2) ** (1 / 3)), rel=1e-12)
        assert made.theta == Fraction(repr(float(made.theta)))
    assert cls(T=0, k=3, eps=1, theta="1/2").theta == Fraction(1, 2)
    with pytest.raises(ParameterError, match="0 < theta < 1"):
        cls(T=0, k=3, eps=1, theta=2)
    with pytest.raises(ParameterError, match="k >= 1"):
        cls(T=0, k=0, eps=1)


@pytest.mark.parametrize("mode", RunMode)
def test_a_compiled_default_is_read_back_and_no_other(mode: RunMode) -> None:
    spec, source = mechanism(SPLIT)
    form, code = form_of(spec, source, mode).mechanism, code_of(SPLIT, mode)
    program_runs(code, spec, form, mode)
    compact = code.replace("4 * self.k**2", "5 * self.k**2")
    dropped = code.replace("theta: RealLike | None = None", "theta: RealLike")
    for changed in (compact, dropped, code.replace('default="1/', 'default="2/')):
        assert changed != code
        with pytest.raises(ReadError):
            program_runs(changed, spec, form, mode)


def run(**settings: str) -> CompletedRun:
    path = str(SPECS / f"{SPLIT}.dp")
    verified = CheckedSpec(as_if_verified(mechanism(SPLIT)[0]), RunMode.LATTICE)
    return run_file(path, None, None, {"q": "1,9", "T": "5", **settings}, 1, check=lambda _: verified)


def test_a_run_takes_the_default_and_shows_it() -> None:
    done = run(k="3", eps="1")
    assert done.defaults == ("theta",)
    assert "theta = 0.232454 (default)" in str(getattr(render_execution(done), "renderables")[0])  # noqa: B009
    assert run(k="3", eps="1", theta="1/4").defaults == ()
    with pytest.raises(RunError, match="no value for `k`") as error:
        run(eps="1")
    assert "by default 1/(1 + cbrt(4*k**2))" in str(error.value.help)


def test_refute_tries_what_is_near_the_default_first() -> None:
    first = dict(parameter_choices(mechanism(SPLIT)[0], 3, {})[0])
    assert first == {"T": 0, "k": 1, "theta": Fraction(17, 44), "eps": 1}
    assert dict(parameter_choices(mechanism(SPLIT)[0], 3, {"theta": Fraction(1, 8)})[0])["theta"] == Fraction(
        1, 8
    )


def spec(*lines: str) -> str:
    body = "  a = x\n  eta ~ Lap(1/eps)\n  emit r(a + eta)\nalign\n  eta += x - x'\n"
    head = "mechanism m\nfun f(real) : real\ninput\n  x : query, sensitivity 1\n  eps : real where eps > 0\n"
    return head + "".join(f"  {line}\n" for line in lines) + f"privacy eps\nprogram\n{body}"


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ("b : real, default x", "not-public"),
        ("b : real, default b", "bad-default"),
        ("c : int, default 1; b : real, default c", "bad-default"),
        ("b : real, default f(eps)", "bad-default"),
        ("b : real, default sum(eps for j in range(3))", "bad-default"),
        ("b : int, default eps", "mismatched-sorts"),
        ("b : bool, default eps", "mismatched-sorts"),
        ("b : vector, default 1", "unexpected-attribute"),
        ("b : queries, sensitivity 1, default 1", "unexpected-attribute"),
    ],
)
def test_what_is_no_default(declared: str, code: str) -> None:
    source = Source("m.dp", spec(*declared.split("; ")))
    with pytest.raises(SpecError) as error:
        check(source, parse(source))
    assert error.value.diagnostic.code == code


def test_defaults_of_each_sort_come_back_from_their_text() -> None:
    lines = (
        "n : int where n >= 1",
        "m, h : int, default 2*n",
        "s : bool, default n > 3",
        "c : real, default 1/(n - 1)",
    )
    source = Source("m.dp", spec(*lines).replace("fun f(real) : real\n", ""))
    made = check(source, parse(source))
    assert parse(Source("m.dp", unparse(made))) == made
    cls: Any = load(emit_python(as_if_verified(made)))
    found = cls(eps=1, n=5)
    assert (found.m, found.h, found.s, found.c) == (10, 10, True, Fraction(1, 4))
    with pytest.raises(ParameterError, match="`c` has no default here, and must be given"):
        cls(eps=1, n=1)


def test_under_geometric_noise_the_best_split_is_about_the_same() -> None:
    """Dissertation, Figure 5-1: counts, the middle branch, k from 1 to 50; here at eps = 1."""
    for k in range(1, 51, 7):
        formula = 1 / (1 + k ** (2 / 3))

        def deviation(theta: float, k: int = k) -> float:
            return GapNoise(k / (1 - theta), 1 / theta, one_sided=True, step=1).standard_deviation

        near = [formula + change / 1000 for change in range(-10, 11)]
        assert abs(min(near, key=deviation) - formula) < 1e-9


@pytest.mark.parametrize(
    ("declared", "at"),
    [
        ("th : real, default 2 where 0 < th < 1", "2"),
        ("k : int where k >= 1\n  th : real, default k where th < 1", "k"),
        ("k : int where k >= 1\n  th : real, default 1/k where 0 < th < 1", "1/k"),
        ("k : int where k >= 1\n  th : real, default 1 + sqrt(k) where th < 1", "1 + sqrt(k)"),
        ("q : queries, sensitivity 1\n  k : int, default 0 where 1 <= k <= len(q)", "0"),
        ("a : real, default 1 where a < b\n  b : real, default 1/2", "1"),
        ("k : int where k >= 1\n  th : real, default 1/(1 + cbrt(4*k**2)) where 0 < th < 1", None),
        ("a : real, default 1 where a < b\n  b : real, default 2", None),
        ("n : int where n >= 1\n  k : int, default 3 where 1 <= k <= n", None),
    ],
)
def test_a_default_outside_of_its_range_is_an_error_of_the_spec(declared: str, at: str | None) -> None:
    text = f"mechanism m\ninput\n  {declared}\nprivacy 1\nprogram\n  pass\n"
    source = Source("m.dp", text)
    made = check(source, parse(source))
    if at is None:
        assert misplaced(made) is None
    else:
        with pytest.raises(SpecError) as caught:
            judge(made, source, deadline=0.0)
        assert caught.value.diagnostic.code == "bad-default"
        assert source.text_of(caught.value.diagnostic.primary.span) == at

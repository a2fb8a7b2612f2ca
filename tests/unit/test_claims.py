"""Least claims and repairs: verified as text, and no less than what runs cost."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from aligncheck.cli import main
from aligncheck.commands import improve
from aligncheck.commands.improve import STEPS
from aligncheck.effort import Effort
from aligncheck.judge import Judge
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.read import read_source
from aligncheck.meaning.replay import replay
from aligncheck.pipeline import Options, verify_source
from aligncheck.synthesis.dearest import with_dearest
from aligncheck.synthesis.formulas import NoFormulaError, over_inputs, simplified
from aligncheck.synthesis.least import LeastClaim, least_claim
from aligncheck.synthesis.put_in import with_section
from aligncheck.synthesis.reading import ProgramReading
from aligncheck.synthesis.repair import (
    Repair,
    formula_repairs,
    other_tests,
    repairs,
    verified_changes,
    with_scales,
)
from aligncheck.synthesis.tune import best_split
from aligncheck.verdict import FileResult, Verified

SPECS = Path(__file__).parents[2] / "specs"


def least(source: Source) -> LeastClaim:
    return least_claim(source, Effort(steps=STEPS))


def spec(name: str) -> Source:
    return read_source(str(SPECS / f"{name}.dp"))


@pytest.mark.parametrize(("name", "free"), [("noisy_max", "2/s_eta"), ("svt_with_gap", "1/s_eta + 2*k/s_xi")])
def test_claims_by_free_scales(name: str, free: str, exhaustive: bool) -> None:
    if name == "noisy_max" and not exhaustive:
        pytest.skip("one is enough")
    found = least(spec(name))
    assert found.free[0] == free
    assert found.factor == 1
    assert found.dearest is not None
    assert found.dearest.share == 1


def test_a_claim_that_is_too_large_gets_the_least_one() -> None:
    generous = with_section(spec("noisy_max"), "privacy", ["privacy 3*eps"])
    found = least(generous)
    assert (found.verified, found.factor, found.least) == (True, Fraction(1, 3), "eps")
    assert found.text is not None
    assert isinstance(verify_source(found.text, Options(explain=False)), Verified)


def told(source: Source) -> Verified:
    verdict = verify_source(source, Options())
    result = with_dearest(FileResult(source.path, verdict, 0.0, source.text), time.monotonic() + 60)
    assert isinstance(result.verdict, Verified)
    return result.verdict


@pytest.mark.parametrize(
    ("name", "claim", "times"),
    [("broken/quarter_of_the_square", "eps**2/2 zcdp", 2), ("histogram_gauss_delta", "eps delta delta", 1)],
)
def test_the_least_claim_in_delta_and_rho(name: str, claim: str, times: int) -> None:
    found = least(spec(f"delta/{name}"))
    assert found.least == claim
    assert found.factor == times
    assert found.dearest is None


def test_verified_shows_a_run_that_costs_all() -> None:
    """It is replayed anew here, and its noise is that of the draws on D."""
    verdict = told(spec("svt_with_gap"))
    assert verdict.smaller is None
    assert verdict.dearest is not None
    done = replay(verdict.mechanism, verdict.dearest.scenario)
    assert not done.violations
    assert done.cost == done.claim


def test_verified_says_which_smaller_claim_holds() -> None:
    verdict = told(with_section(spec("noisy_max"), "privacy", ["privacy 3*eps"]))
    assert verdict.smaller == "eps"
    assert verdict.dearest is not None
    assert verdict.dearest.share == Fraction(1, 3)


def test_a_claim_that_is_only_approached() -> None:
    dearest = told(spec("halving_budget")).dearest
    assert dearest is not None
    assert Fraction(99, 100) < dearest.share < 1


def test_what_is_verified_needs_no_repair() -> None:
    assert not list(repairs(spec("laplace"), Effort(steps=STEPS)))


def test_the_other_text_stays_where_scales_are_changed() -> None:
    source = spec("laplace")
    assert with_scales(source, Fraction(3)).text.replace("3*Delta/eps", "Delta/eps") == source.text


def test_formulas_speak_of_inputs_only() -> None:
    reading = ProgramReading(parse(spec("adaptive_svt")))
    assert simplified([over_inputs(reading, n.Binary("/", n.Name("e1"), n.Name("e0")))]) == "1/(4*k)"
    with pytest.raises(NoFormulaError):
        over_inputs(reading, n.Name("cost"))


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.dp"
    path.write_text(spec("broken/noisy_max_half_noise").text)
    assert main(["claim", str(path)]) == 0
    assert "`privacy eps` is not verified; this alignment proves nothing less" in capsys.readouterr().out
    assert main(["fix", str(path), "--write"]) == 0
    told = capsys.readouterr().out
    assert "verified with scales 2 times as large:" in told
    assert "+    eta[i] ~ Lap(2/eps)" in told
    assert "verified with the claim `2*eps`" in told
    assert main(["fix", str(path)]) == 0
    assert "is verified as it is" in capsys.readouterr().out


WRONG_GUARD = """mechanism found
input
  a : queries, sensitivity 1
  t : real
  m : int where m >= 1
  e : real where e > 0
privacy e
program
  low ~ Lap(2/e)
  hits = 0
  for j, x in a:
    z[j] ~ Lap(4*m/e)
    if x + z[j] >= t + low:
      emit seen
      hits = hits + 1
    else:
      emit not_seen
    if hits >= m: break
align
  low += 1
  z[j] += 1 + a[j] - a'[j]   when out[j] is not_seen
"""


def test_a_guard_is_repaired_by_the_one_word() -> None:
    before = Source("m.dp", WRONG_GUARD)
    (repair,) = repairs(before, Effort(steps=STEPS))
    assert repair.what == "`z` moved when `out[j] is seen`"
    assert repair.source.text == WRONG_GUARD.replace("is not_seen", "is seen")


def test_a_test_of_the_program_is_repaired() -> None:
    late = WRONG_GUARD.replace("is not_seen", "is seen").replace("hits >= m", "hits > m")
    source = Source("m.dp", late)
    judge = Judge(time.monotonic() + 60, explain=False, search=False)
    repair = next(verified_changes(judge, other_tests(source, parse(source))))
    assert repair.what == "the test `hits >= m` in place of `hits > m`"
    assert repair.source.text == late.replace("hits > m", "hits >= m")


def test_noise_that_does_not_grow_with_a_count_is_made_to() -> None:
    right = WRONG_GUARD.replace("is not_seen", "is seen")
    source = Source("m.dp", right.replace("4*m/e", "4/e"))
    effort = Effort(steps=STEPS)
    judge = Judge(math.inf, explain=False, search=False, limit=effort)
    scale, claim = formula_repairs(judge, source, parse(source), effort)
    assert scale.what == "the scale of `z` m times as large"
    assert scale.source.text == right
    assert claim.what == "the claim `e*m/2 + e/2`"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("later_output_in_a_guard", ["`xi` moved always"]),
        (
            "conversion_with_one_root",
            ["scales 2 times as large", "the claim `2*(rho + sqrt(rho*ln(1/delta))) delta delta`"],
        ),
    ],
)
def test_claims_in_delta_and_rho_are_repaired(name: str, found: list[str]) -> None:
    assert [each.what for each in repairs(spec(f"delta/broken/{name}"), Effort(steps=STEPS))] == found


def half_claimed() -> Source:
    return with_section(spec("laplace"), "privacy", ["privacy eps/2  # claimed"])


def test_what_was_saved_meanwhile_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.dp"
    path.write_text(half_claimed().text)

    def saving(*_: Any) -> Any:
        path.write_text(path.read_text() + "# saved\n")
        return half_claimed(), [Repair("another text", spec("laplace"))]

    monkeypatch.setattr(improve, "in_worker", saving)
    assert main(["fix", "--write", str(path)]) == 2
    assert "was changed during the search" in capsys.readouterr().err
    assert path.read_text().endswith("# saved\n")


def test_line_ends_marks_and_comments_stay(tmp_path: Path) -> None:
    path = tmp_path / "m.dp"
    text = half_claimed().text
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert main(["fix", "--write", str(path)]) == 0
    written = path.read_bytes()
    assert written.startswith(b"\xef\xbb\xbf")
    assert written.count(b"\n") == written.count(b"\r\n")
    claimed = with_section(Source("m.dp", text), "privacy", ["privacy 2*eps"])
    assert "privacy 2*eps  # claimed" in claimed.text


def test_a_draw_of_two_scales_has_no_formula(tmp_path: Path) -> None:
    text = """mechanism two
  "A draw in two ways."
input
  x : query, sensitivity 1
  big : bool
  t : real where 0 < t < 1
  eps : real where eps > 0
privacy eps
program
  b ~ Lap(1/((1 - t)*eps))
  if big:
    a ~ Lap(1000/(t*eps))
  else:
    a ~ Lap(1/(t*eps))
  emit v(n = x + a + b)
"""
    mechanism = parse(Source("two.dp", text))
    with pytest.raises(NoFormulaError, match="more than one way"):
        best_split(mechanism, "v", "n", "t")

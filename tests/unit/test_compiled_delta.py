"""A compiled mechanism that claims (ε, δ): from its spec, which calls another such one with a root in a
budget, to a ledger.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import aligncheck
from aligncheck.cli import main
from aligncheck.runtime import Budget, BudgetError, Currency, MechanismError, Result
from aligncheck.runtime.budget_file import BudgetFile
from aligncheck.runtime.losses import ApproximateLoss

MEASURE = Path(__file__).parents[2] / "specs/delta/measure.dp"
INPUT = """
input
  x : query, sensitivity 1
  n : int where n >= 1
  eps : real where eps > 0
  d : real where 0 < d < 1
privacy eps delta d
program
"""
ONE = f"""mechanism one
use measure from "measure.dp"{INPUT}
  a = measure(x = x, eps = eps/sqrt(n))
  emit value(a[0].value)
align
"""
TWO = f"""mechanism two
use one from "one.dp"{INPUT}
  a = one(x = x, n = n, eps = eps/4, d = d/4)
  b = one(x = x, n = n, eps = 3*eps/4, d = d/2)
  for i in range(len(a)):
    emit value(a[i].value)
align
"""
GIVEN = {"n": 1, "eps": "1/2", "d": "1/1000"}
DELTA = Fraction(1, 1000)
LOSS = ApproximateLoss(Fraction(1), Fraction(1, 400))


def test_it_is_compiled_checked_run_and_charged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("measure", MEASURE.read_text("utf-8")), ("one", ONE), ("two", TWO)):
        (tmp_path / f"{name}.dp").write_text(text, "utf-8")
    module = tmp_path / "two.py"
    aligncheck.compile(tmp_path / "two.dp", module)
    assert "eps / sqrt_up(n)" in module.read_text("utf-8")
    two: Any = aligncheck.load(module)  # which decides its proof afresh
    ledger = BudgetFile(tmp_path / "ledger", LOSS)
    result = two(**GIVEN, budget=ledger)(3)
    assert (result.currency, result.spent, result.delta) == (Currency.EPSILON_DELTA, Fraction(1, 2), DELTA)
    assert "privacy spent: 1/2 delta 1/1000 of at most 1/2 delta 1/1000" in result._repr_html_()
    assert Result.from_json(result.to_json(), type(result.records[0])) == result
    two(**GIVEN, budget=ledger)(3)
    with pytest.raises(BudgetError, match="asked 1/2 delta 1/1000, spent 1 delta 1/500"):
        two(**GIVEN, budget=ledger)(3)
    assert [entry["delta spent"] for entry in ledger.entries()] == [DELTA, DELTA]
    with pytest.raises(MechanismError, match="has no price in a budget in rho: pay"):
        two(**GIVEN, budget=Budget.within(1, "1e-6"))(3)
    capsys.readouterr()
    assert (
        main(["run", str(module), "--json", "--set", "x=3", *(f"--set={k}={v}" for k, v in GIVEN.items())])
        == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert (told["currency"], told["delta"]) == ("epsilon and delta", {"claim": "d", "value": "1/1000"})
    assert main(["tune", str(tmp_path / "two.dp"), "--minimise", "value.value"]) == 2
    assert "the search for scales knows claims in ε only" in capsys.readouterr().err


REST = """mechanism rest
use each from "each.dp"
input
  q : queries, sensitivity 1, adjacency one
  eps : real where eps > 0
privacy eps delta 1/8
program
  a = each(q = q[1:], eps = eps)
  emit so_many(n = len(a))
align
"""
EACH = """mechanism each
input
  q : queries, sensitivity 1, adjacency one
  eps : real where eps > 0
privacy eps
program
  for i, answer in q:
    eta[i] ~ Lap(1/eps)
    emit value(answer + eta[i])
align
  eta[i] += q[i] - q'[i]
"""


def test_a_call_on_what_is_left_of_a_list_may_get_none_of_it(tmp_path: Path) -> None:
    """How much is left follows from what was released, or from lengths: a run must not end there."""
    for name, text in (("rest", REST), ("each", EACH)):
        (tmp_path / f"{name}.dp").write_text(text, "utf-8")
    aligncheck.compile(tmp_path / "rest.dp", tmp_path / "rest.py")
    rest: Any = aligncheck.load(tmp_path / "rest.py")
    assert [rest(eps=1)(answers).records[0].n for answers in ([1, 2, 3], [1], [])] == [2, 0, 0]


@pytest.mark.parametrize("mode", ["lattice", "refined"])
@pytest.mark.parametrize("scale", ["len(q)/eps", "1/(eps/len(q))"])
def test_a_scale_that_needs_an_entry_is_computed_where_there_is_one(
    tmp_path: Path, mode: Any, scale: str
) -> None:
    text = EACH.replace("1/eps", scale).replace("    emit", "  for i, answer in q:\n    emit")
    (tmp_path / "each.dp").write_text(text, "utf-8")
    aligncheck.compile(tmp_path / "each.dp", tmp_path / "each.py", mode=mode)
    each: Any = aligncheck.load(tmp_path / "each.py")
    assert [len(each(eps=1)(answers).records) for answers in ([1, 2, 3], [])] == [3, 0]

"""Results and budgets in notebooks, and results as JSON and back."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import aligncheck
from aligncheck.runtime import Budget, Result
from aligncheck.runtime.errors import MissingPandasError
from aligncheck.runtime.frames import pandas

MODULE = Path(__file__).parents[2] / "mechanisms" / "svt_with_gap.py"


@pytest.fixture(scope="module")
def result() -> Any:
    svt: Any = aligncheck.load(MODULE)
    pd = pytest.importorskip("pandas")
    return svt(T=3, k=2, eps=Fraction(1, 3), testing_seed=1)(pd.Series([1, 400, 2], index=["a", "<b>", "c"]))


def test_a_result_is_read_back_as_it_was(result: Any) -> None:
    kinds = {type(record) for record in result.records}
    text = result.to_json()
    again = Result.from_json(text, *kinds)
    assert again == result
    assert json.loads(text)["spent"] == "1/3"
    with pytest.raises(ValueError, match="not of these records"):
        Result.from_json(text)
    with pytest.raises(ValueError, match="not what `to_json` wrote"):
        Result.from_json("[]", *kinds)


def test_a_result_shows_itself_with_labels_and_escapes_them(result: Any) -> None:
    shown = result._repr_html_()
    assert "<th>&lt;b&gt;</th><td>top</td>" in shown
    assert "privacy spent: 1/3 of at most 1/3" in shown
    assert "<b>" not in shown


def test_a_budget_shows_itself() -> None:
    budget = Budget(1)
    budget.spend("1/4")
    held = budget.reserve("1/4")
    assert "<td>1</td><td>1/4</td><td>1/4</td><td>1/2</td>" in budget._repr_html_()
    frame = budget.to_frame()
    assert list(frame.columns) == ["total", "spent", "set aside", "remaining"]
    assert list(frame.loc[0]) == [1, Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    held.settle()


def test_a_table_needs_pandas(result: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    for frame in (pandas, result.to_frame):
        with pytest.raises(MissingPandasError, match=r"needs pandas.*aligncheck\[pandas\]"):
            frame()


def test_a_module_runs_where_nothing_but_numpy_is_installed() -> None:
    """As after `pip install --no-deps aligncheck` and `pip install numpy`."""
    code = f"""
import sys
for name in ("flint", "lark", "pandas", "rich", "scipy", "shtab", "sympy", "z3", "cvc5"):
    sys.modules[name] = None  # an import of it raises
sys.path.insert(0, {str(MODULE.parent)!r})
from svt_with_gap import SvtWithGap
print(SvtWithGap(T=1, k=1, eps=1)([5, 200]).bound)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"

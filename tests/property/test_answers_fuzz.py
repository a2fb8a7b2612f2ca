"""Fuzzed answers: the form decides whether a run raises, and values never do.

Two inputs of one form (types, dtype, shape) are two databases: either both runs raise the same error, or both
run. Nothing is drawn or spent by a run that raises, and no input is changed.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import compiled
from small_specs import named as spec

from aligncheck.compiler.modes import RunMode
from aligncheck.runtime import Budget
from aligncheck.runtime.errors import AnswersError, ParameterError

SPECS = Path(__file__).parents[2] / "specs"

FLOATS = st.one_of(
    st.floats(width=64),
    st.sampled_from(
        [math.nan, math.inf, -math.inf, 5e-324, -0.0, 1.7976931348623157e308, 2.0**62, -(2.0**63)]
    ),
)
INTS = st.one_of(st.integers(-5, 5), st.integers(-(2**70), 2**70), st.just(10**400), st.just(-(10**309)))
FRACTIONS = st.one_of(st.fractions(), st.builds(Fraction, INTS, st.integers(1, 10**30)))
MISSING = st.sampled_from([None, math.nan, pd.NA, pd.NaT])
NUMBERS = {
    "float": FLOATS,
    "int": INTS,
    "Fraction": FRACTIONS,
    "np.float64": FLOATS.map(np.float64),
    "np.float32": st.floats(width=32).map(np.float32),
    "np.int64": st.integers(-(2**63), 2**63 - 1).map(np.int64),
    "int or missing": st.one_of(INTS, MISSING),
    "float or missing": st.one_of(FLOATS, MISSING),
}
NO_NUMBERS = {
    "None": MISSING,
    "Decimal": st.decimals(),
    "longdouble": FLOATS.map(np.longdouble),
    "str": st.text(max_size=3),
    "bool": st.booleans(),
    "complex": st.complex_numbers(),
    "bytes": st.binary(max_size=2),
    "list": st.lists(FLOATS, max_size=2),
    "object": st.builds(object),
}
ENTRIES = NUMBERS | NO_NUMBERS
DTYPES = [
    "float64", "float32", "float16", ">f8", "int8", "uint8", "int64", "uint64", "longdouble", "bool",
    "complex128", "object", "datetime64[s]", "U3",
]  # fmt: skip
COLUMNS = [
    "float64",
    "int64",
    "bool",
    "Int64",
    "Float64",
    "boolean",
    "category",
    "object",
    "string",
    "Sparse[float]",
]


CONTAINERS: list[Callable[[Any], Any]] = [
    list,
    tuple,
    iter,
    lambda v: (x for x in v),
    lambda v: dict(enumerate(v)),
]


def lists(kinds: list[str], container: Callable[[Any], Any]) -> st.SearchStrategy[Any]:
    return st.tuples(*(ENTRIES[kind] for kind in kinds)).map(container)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Any, Any]:
    """Two inputs of one form."""
    form = draw(st.sampled_from(["numbers", "entries", "array", "series", "odd"]))
    if form in ("numbers", "entries"):
        names = sorted(NUMBERS if form == "numbers" else ENTRIES)
        kinds = draw(st.lists(st.sampled_from(names), max_size=5))
        one = lists(kinds, draw(st.sampled_from(CONTAINERS)))
    elif form == "array":
        dtype = draw(st.sampled_from(DTYPES))
        shape = draw(st.sampled_from([(), (0,), (1,), (3,), (3,), (3,), (6,), (2, 2), (1, 3)]))
        size = math.prod(shape)
        one = st.lists(FLOATS, min_size=size, max_size=size).map(lambda v: cast(v, dtype).reshape(shape))
    elif form == "series":
        dtype, n = draw(st.sampled_from(COLUMNS)), draw(st.integers(0, 4))
        one = st.lists(st.one_of(st.none(), FLOATS), min_size=n, max_size=n).map(lambda v: column(v, dtype))
    else:
        one = draw(
            st.sampled_from([FLOATS, INTS, st.none(), st.text(max_size=2), st.sets(INTS), st.builds(object)])
        )
    return draw(one), draw(one)


def cast(values: list[float], dtype: str) -> Any:
    with np.errstate(all="ignore"):
        if dtype.startswith(("datetime", "U")):
            return np.array([str(i) if dtype == "U3" else i for i in range(len(values))], dtype=dtype)
        return np.array(values, dtype=float).astype(dtype)


def column(values: list[float | None], dtype: str) -> Any:
    with np.errstate(all="ignore"):
        if dtype in ("float64", "object", "category", "Float64"):
            return pd.Series(values, dtype=float if dtype == "float64" else dtype)
        some = [0 if v is None or not math.isfinite(v) else int(abs(v)) % 2 for v in values]
        if dtype in ("Int64", "boolean"):
            nullable = [None if v is None else s for v, s in zip(values, some, strict=True)]
            return pd.Series(nullable, dtype=object).astype(dtype)
        return pd.Series(some, dtype=float).astype(dtype)


CASES: dict[str, tuple[dict[str, Any], bool]] = {
    "noisy_topk_gap": ({"k": 2, "eps": 1}, True),
    "histogram": ({"eps": "1/3"}, True),
    "svt_discrete": ({"m": 2, "g": "0.1", "t": 1, "k": 1, "eps": 1}, True),
    "noisy_max_local": ({"R": "5/3", "centre": [0, 1, "1/3"], "b": 1, "eps": 1}, True),
    "adaptive_svt_geometric": ({"T": 1, "k": 1, "theta": "1/2", "eps": 1}, True),
    "weighted_histogram": ({"b": [1, "1/2", 2], "eps": 1}, True),
    "local_report": ({"R": "5/3", "low": 0, "high": 1, "eps": 1}, False),
    "rounded_count": ({"eps": 1}, False),
}
CLASSES: dict[tuple[str, RunMode], Any] = {}


def made(stem: str, mode: RunMode, budget: Budget) -> Any:
    if (stem, mode) not in CLASSES:
        CLASSES[stem, mode] = compiled(spec(stem), mode)
    return CLASSES[stem, mode](**CASES[stem][0], budget=budget)


def outcome(stem: str, mode: RunMode, answers: Any) -> tuple[str, str]:
    """The error's class and text, or that it ran."""
    budget: Any = Budget(10)
    mechanism = made(stem, mode, budget)
    before = shown(answers)
    try:
        result = mechanism(answers)
    except (AnswersError, ParameterError) as error:
        assert (budget.spent, budget.reserved, mechanism.spent) == (0, 0, 0)
        return type(error).__name__, str(error)
    finally:
        assert shown(answers) == before, "the input was changed"
    assert result.private
    assert budget.spent == mechanism.spent > 0
    for record in result.records:
        for field in record.__dataclass_fields__.values():
            number = getattr(record, field.name)
            assert isinstance(number, int | Fraction | str), number
    return "ran", ""


def shown(answers: Any) -> Any:
    if isinstance(answers, np.ndarray):
        return answers.tobytes() if answers.dtype != object else repr(answers)
    return answers if hasattr(answers, "__next__") else repr(answers)


@pytest.mark.parametrize("mode", [RunMode.LATTICE, RunMode.REFINED])
@given(st.sampled_from(sorted(stem for stem, (_, vector) in CASES.items() if vector)), pairs())
@settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow])
def test_values_never_decide_whether_a_run_raises(mode: RunMode, stem: str, two: tuple[Any, Any]) -> None:
    first, second = two
    assert outcome(stem, mode, first) == outcome(stem, mode, second)


@pytest.mark.parametrize("mode", [RunMode.LATTICE, RunMode.REFINED])
@given(
    st.sampled_from(sorted(stem for stem, (_, vector) in CASES.items() if not vector)),
    st.sampled_from([*ENTRIES.values()]).flatmap(lambda entry: st.tuples(entry, entry)),
)
@settings(max_examples=100)
def test_nor_does_the_value_of_a_single_answer(mode: RunMode, stem: str, two: tuple[Any, Any]) -> None:
    first, second = two
    assert outcome(stem, mode, first) == outcome(stem, mode, second)


@given(pairs())
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_looking_first_raises_wherever_a_run_would(two: tuple[Any, Any]) -> None:
    """And where it does not, a run takes the answers as they are."""
    answers, _ = two
    if hasattr(answers, "__next__"):
        return
    ran = outcome("histogram", RunMode.LATTICE, copy.copy(answers))[0] == "ran"
    try:
        made("histogram", RunMode.LATTICE, Budget(1)).check(answers)
    except AnswersError:
        return
    assert ran

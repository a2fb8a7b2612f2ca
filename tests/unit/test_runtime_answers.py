"""Private answers: what is refused by its form, what values become, what `check` says."""

from __future__ import annotations

import array
import math
import numbers
from collections import deque
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from aligncheck.runtime import (
    AnswersError,
    Labelled,
    ParameterError,
    boolean_answer,
    boolean_answers,
    boolean_stream,
    checked_booleans,
    checked_integers,
    checked_reals,
    integer,
    integer_answer,
    integer_answers,
    integer_stream,
    real,
    real_answer,
    real_answers,
    real_stream,
)
from aligncheck.runtime.decimals import LARGEST, as_read

HUGE = float(LARGEST)
FORMS: dict[str, Any] = {
    "list": list,
    "tuple": tuple,
    "float64": lambda v: np.array(v, dtype=float),
    "big-endian": lambda v: np.array(v, dtype=">f8"),
    "read-only": lambda v: _frozen(np.array(v, dtype=float)),
    "strided": lambda v: np.repeat(np.array(v, dtype=float), 2)[::2],
    "Series": lambda v: pd.Series(v, dtype=float),
    "array.array": lambda v: array.array("d", v),
    "deque": deque,
    "Labelled": lambda v: Labelled(v, tuple(range(len(v)))),
    "memoryview": lambda v: memoryview(array.array("d", v)),
}


def _frozen(values: Any) -> Any:
    values.flags.writeable = False
    return values


@pytest.mark.parametrize("form", FORMS)
def test_values_that_are_no_numbers_become_some(form: str) -> None:
    values = [math.nan, -math.nan, math.inf, -math.inf, 0.5, -HUGE]
    given, before = FORMS[form](values), list(values)
    read = real_answers("q", given)
    assert [as_read(v) for v in read.values] == [0, 0, LARGEST, -LARGEST, Fraction(1, 2), -LARGEST]
    assert list(integer_answers("q", given).values) == [0, 0, LARGEST, -LARGEST, 0, -LARGEST]
    with pytest.raises(AnswersError, match=r"`q\[0\]` must be finite"):
        checked_reals("q", given)
    assert np.array_equal(np.array(before), np.array(list(given)), equal_nan=True), "answers are not changed"


def test_what_types_of_their_own_say_is_asked_once() -> None:
    """Else a list would be as long as it says when it is looked at, and an answer another one when it is read
    again.
    """

    class Longer(list[int]):
        def __len__(self) -> int:
            return 2

    class Own(Fraction):
        pass

    with pytest.raises(AnswersError, match="len"):
        real_answers("q", Longer([1, 2, 3]), entries={"b": 2})
    (read,) = real_answers("q", [Own(1, 3)]).values
    assert type(read) is Fraction
    assert read == Fraction(1, 3)


def test_a_list_that_was_given_is_never_the_one_that_is_used() -> None:
    given = np.array([1.0, 2.0])
    read = real_answers("q", given)
    assert not np.shares_memory(read.values, given)
    whole = np.array([1, 2])
    assert not np.shares_memory(real_answers("q", whole).values, whole)


@pytest.mark.parametrize("value", [10**400, Fraction(10**400, 3), np.float32(np.inf), LARGEST + 1])
def test_large_numbers_saturate(value: Any) -> None:
    assert [as_read(v) for v in real_answers("q", [value, -value]).values] == [LARGEST, -LARGEST]
    assert list(integer_answers("q", [value, -value]).values) == [LARGEST, -LARGEST]
    with pytest.raises(AnswersError):
        checked_reals("q", [value])


class OddReal:
    """A number of another library."""

    def __float__(self) -> float:
        return 1.0


class OddWhole(OddReal):
    """An integer of another library, whose value decides whether it is one of Python's."""

    def __int__(self) -> int:
        raise OverflowError("private")


numbers.Real.register(OddReal)
numbers.Integral.register(OddWhole)


def test_numbers_of_other_libraries() -> None:
    given = [np.float32(0.5), np.int8(-3), np.uint64(2**64 - 1), True + 1, Fraction(1, 3), OddWhole()]
    assert list(real_answers("q", given).values) == [0.5, -3, 2**64 - 1, 2, Fraction(1, 3), 0]
    kinds = {type(value) for value in real_answers("q", given).values}
    assert kinds <= {int, float, Fraction}
    assert [type(v) for v in real_answers("q", [np.float64(0.5)]).values] == [float]


MISSING: list[Any] = [None, math.nan, np.float32(math.nan), pd.NA, pd.NaT, np.ma.masked]


@pytest.mark.parametrize("missing", MISSING, ids=lambda m: type(m).__name__)
def test_what_is_missing_is_a_value(missing: Any) -> None:
    """One rule: 0, in every list, column and stream, whatever stands for it."""
    for reader in (real_answers, integer_answers):
        assert list(reader("q", [2, missing, 3]).values) == [2, 0, 3]
        assert list(reader("q", [2, missing], low=1, high=5).values) == [2, 1]
        for container in (lambda v: np.array([*v, None], dtype=object)[:-1], pd.Series, deque):
            assert list(reader("q", container([2, missing])).values) == [2, 0]
    for stream in (real_stream, integer_stream):
        assert list(stream("q", [missing, 2])) == [0, 2]
    assert (real_answer("x", missing), integer_answer("x", missing)) == (0, 0)
    for checked in (checked_reals, checked_integers):
        with pytest.raises(AnswersError, match=r"`q\[1\]` must be finite, not missing"):
            checked("q", [2, missing])
    assert list(integer_answers("q", [2, missing], whole=True).values) == [2, 0]
    assert list(boolean_answers("q", [True, missing]).values) == [True, False]
    assert list(boolean_stream("q", [missing])) == [boolean_answer("x", missing)] == [False]
    with pytest.raises(AnswersError, match=r"`q\[0\]` is missing"):
        checked_booleans("q", [missing])


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "Sparse[float]", object, "float64"])
def test_columns_with_missing_entries(dtype: Any) -> None:
    """Full or not, they are read alike."""
    for values in ([1.0, None, 3.0], [1.0, 2.0, 3.0]):
        column = pd.Series(values, dtype=dtype)
        wanted = [0 if v is None else v for v in values]
        assert list(real_answers("q", column).values) == wanted
        assert list(integer_answers("q", column).values) == wanted
    truths = pd.Series([True, None], dtype="boolean")
    assert list(boolean_answers("q", truths).values) == [True, False]
    assert list(boolean_answers("q", truths.astype(object)).values) == [True, False]


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int32", "int64", "uint64", ">u8", ">i8", "float16", "float32", "float64"]
)
def test_arrays_of_numbers(dtype: str) -> None:
    given = np.array([0, 1, 100], dtype=dtype)
    assert list(real_answers("q", given).values) == [0, 1, 100]
    read = integer_answers("q", given).values
    assert (list(read), {type(v) for v in read}) == ([0, 1, 100], {int})
    largest = np.array([60000 if np.dtype(dtype).kind == "f" else np.iinfo(dtype).max], dtype=dtype)
    assert list(integer_answers("q", largest).values) == [int(largest[0])]
    assert list(real_answers("q", largest).values) == [int(largest[0])]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.3, 0.25, -0.05, 7], [Fraction(3, 10), Fraction(1, 5), Fraction(-1, 10), 7]),
        (np.array([0.3, 0.25, np.nan]), [Fraction(3, 10), Fraction(1, 5), 0]),
        ([Fraction(1, 3), 1], [Fraction(3, 10), 1]),
    ],
)
def test_values_off_a_lattice_are_rounded_down(values: Any, expected: list[Any]) -> None:
    assert list(real_answers("q", values, step=Fraction(1, 10)).values) == expected


def test_values_out_of_range_become_its_ends() -> None:
    low, high = Fraction(-1, 10), Fraction(1, 3)
    given = [-5, -0.1, 0.2, 1 / 3, 0.5, math.inf, -math.inf, math.nan]
    read = real_answers("q", given, low=low, high=high).values
    assert read == [low, low, Fraction(1, 5), Fraction(repr(1 / 3)), high, high, low, 0]
    assert real_answer("x", 9, low=low, high=high) == high
    both = real_answers("q", given, low=low, high=high, step=Fraction(1, 7)).values
    assert both == [0, 0, Fraction(1, 7), Fraction(2, 7), Fraction(2, 7), Fraction(2, 7), 0, 0]
    assert integer_answers("q", given, low=Fraction(-3, 2), high=Fraction(5, 2)).values == [
        -1, -1, 0, 0, 0, 2, -1, 0,
    ]  # fmt: skip
    assert integer_answers("q", [5, -5, 2.9], step=Fraction(3, 2)).values == [3, -6, 0]
    assert integer_answer("x", 2.9) == 2


ENDS: list[Any] = [
    None,
    0,
    1,
    -1,
    Fraction(1, 10),
    Fraction(-3, 10),
    Fraction(1, 3),
    2**63,
    -(10**400),
    Fraction(5, 2),
]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "int64", "uint8", "uint64"])
def test_ranges_are_the_same_for_arrays_and_lists(dtype: str) -> None:
    with np.errstate(all="ignore"):
        given = np.array([0, 1, 2, 3, 0.1, -0.3, 0.3, 1 / 3, 100, -128, np.nan, np.inf, 2.5]).astype(dtype)
    for low in ENDS:
        for high in ENDS:
            if low is not None and high is not None and low > high:
                continue
            bounds: Any = {"low": low, "high": high}
            for reader in (real_answers, integer_answers):
                one, other = (reader("q", form, **bounds).values for form in (given, given.tolist()))
                assert [as_read(v) for v in one] == [as_read(v) for v in other], (dtype, low, high)
                whole = reader is integer_answers and low is not None and high is not None
                if not whole or math.ceil(low) <= math.floor(high):
                    assert all(low is None or as_read(v) >= low for v in one)
                    assert all(high is None or as_read(v) <= high for v in one)


def test_each_answer_has_its_own_range() -> None:
    ends = (1, 10, 100)
    read = real_answers(
        "q", [50, 50, 50], low=lambda i: Fraction(-i), high=lambda i: Fraction(ends[i]), entries={"b": 3}
    )
    assert read.values == [1, 10, 50]
    with pytest.raises(AnswersError, match=r"`q` must satisfy `len\(q\) <= len\(b\)`"):
        real_answers("q", [1] * 4, high=lambda i: Fraction(ends[i]), entries={"b": 3})


def test_rounding_takes_no_two_answers_further_apart() -> None:
    rng = np.random.default_rng(3)
    step = Fraction(1, 10)
    for x, move in rng.uniform(-1, 1, (200, 2)).round(4).tolist():
        first, distance = Fraction(repr(x)), Fraction(repr(move))
        read = real_answers(
            "q", [first, first + distance], step=step, low=Fraction(-1, 2), high=Fraction(1, 2)
        )
        a, b = (Fraction(value) for value in read.values)
        assert abs(a - b) <= math.ceil(abs(distance) / step) * step


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1, 2], dtype="category"),
        pd.Series(["a"]),
        pd.Series([None], dtype="string"),
        pd.Series([None], dtype="boolean"),
        pd.Series([None], dtype="datetime64[s]"),
        [np.longdouble(1)],
        [Decimal(1)],
        [OddReal()],
        np.ma.masked_array([1.0, 2.0], [False, True]),
        np.array([1 + 0j]),
        np.array([1], dtype=np.longdouble),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        pd.DataFrame({"a": [1.0]}),
        np.ones((1, 1)),
        np.float64(1),
        [[1.0]],
        ["1"],
        [b"1"],
        [1j],
        [True],
        [np.array(1.0)],
        [np.ones(2)],
        [pd.Series([1.0, 2.0])],
        "1",
        b"1",
        {1},
        {1: 1},
        None,
        5,
        iter([1]),
        (x for x in [1]),
        zip([1], [2], strict=True),
        Labelled([1, 2], ("a",)),
    ],
    ids=lambda v: f"{type(v).__name__} {getattr(v, 'dtype', '')}",
)
def test_forms_that_are_refused(values: Any) -> None:
    for reader in (real_answers, integer_answers, checked_reals, checked_integers):
        with pytest.raises(AnswersError, match=r"^`q") as caught:
            reader("q", values)
        assert caught.value.argument.startswith("q")


def test_advice_for_numbers_that_may_not_fit() -> None:
    for value in (np.longdouble(2) ** 53 + 1, Decimal(2**53 + 1)):
        with pytest.raises(AnswersError, match=r"`q\[0\]` must be .*not a .*exactly to a Fraction"):
            real_answers("q", [value])


WHOLE: list[Any] = [[1, 2], (np.int8(3), None), np.array([1, 2]), pd.Series([1, None], dtype="Int64")]
FRACTIONAL: list[Any] = [[1.0], [Fraction(1)], [np.float32(1)], np.array([1.0]), ["1"], [True]]
FRACTIONAL += [pd.Series([None], dtype="Float64"), pd.Series([True])]


def test_where_rounding_would_part_neighbours_answers_are_integers_by_type() -> None:
    for values in WHOLE:
        read = integer_answers("q", values, whole=True).values
        assert (
            list(read)
            == list(integer_answers("q", values).values)
            == list(integer_answers("q", values, whole=True, low=-(10**9)).values)
        )
        assert list(integer_stream("q", values, whole=True)) == list(read)
    for values in FRACTIONAL:
        for reader in (integer_answers, checked_integers):
            with pytest.raises(AnswersError, match=r"^`q"):
                reader("q", values, whole=True)
    for value in (1.0, Fraction(1)):
        with pytest.raises(AnswersError, match=r"must be an integer, not a .*, since rounding could take"):
            integer_answer("x", value, whole=True)
        with pytest.raises(AnswersError, match=r"`q\[0\]` must be an integer"):
            next(integer_stream("q", [value], whole=True))


def test_truth_values() -> None:
    for given in ([True, False], np.array([True, False]), (np.bool_(True), False), pd.Series([True, False])):
        assert list(boolean_answers("q", given).values) == [True, False]
    for wrong in ([1], np.array([1]), ["True"], pd.Series([None], dtype="Int64")):
        with pytest.raises(AnswersError, match=r"^`q"):
            boolean_answers("q", wrong)


def test_labels_come_back() -> None:
    assert real_answers("q", pd.Series([1.0, 2.0], index=["a", 2])).labels == ("a", 2)
    assert real_answers("q", Labelled([1, 2], ("x", "y"))).labels == ("x", "y")
    assert real_answers("q", [1, 2]).labels is None


ROWS: list[list[int | None]] = [[1, 2, 3], [4, None, 6]]
FRAME = pd.DataFrame({"a": [1, 4], "b": [2.0, None], "c": [3, 6]}, index=["x", "y"])


@pytest.mark.parametrize(
    "table",
    [
        ROWS,
        tuple(tuple(row) for row in ROWS),
        [np.array([1, 2, 3]), pd.Series([4, None, 6])],
        [FRAME.loc["x"], FRAME.loc["y"][["c", "a", "b"]]],
        np.array(ROWS, dtype=float),
        np.array(ROWS, dtype=object),
        FRAME,
        [1, 2, 3, 4, None, 6],
        pd.Series([1, 2, 3, 4, None, 6]),
    ],
    ids=lambda v: type(v).__name__,
)
def test_a_table_is_read_row_by_row(table: Any) -> None:
    read = real_answers("q", table, table=(2, 3))
    assert list(read.values) == [1, 2, 3, 4, 0, 6]
    assert list(integer_answers("q", table, table=(2, 3)).values) == [1, 2, 3, 4, 0, 6]
    if table is FRAME:
        assert read.labels == tuple((row, column) for row in "xy" for column in "abc")


def test_large_integers_of_a_table_stay_what_they_are_beside_floats() -> None:
    frame = pd.DataFrame({"a": [2**60 + 1], "b": [0.5]})
    assert list(real_answers("q", frame, table=(1, 2)).values) == [2**60 + 1, 0.5]


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ([[1, 2, 3], [4, 5]], r"^`q\[1\]` has 2 entries, but the table has 3 columns"),
        ([[1, 2], [3, 4], [5, 6]], r"^`q\[0\]` has 2 entries, but the table has 3 columns"),
        ([[1, 2, 3], 4], r"^`q\[1\]` must be a row of the table, not a int"),
        ([[1, 2, 3]], "^`q` has 1 rows and 3 columns, but must have 2 and 3"),
        ([[1, 2, "3"], [4, 5, 6]], r"^`q\[0\]\[2\]` must be a number, not a str"),
        (
            [FRAME.loc["x"], pd.Series(ROWS[1], list("abd"))],
            r"^`q\[1\]` .* labels of the other rows, .* '[cd]'",
        ),
        ([pd.Series(ROWS[1], list("aab")), pd.Series(ROWS[1], list("aba"))], r"^`q\[1\]` has a label twice"),
        (np.ones((3, 2)), "^`q` has 3 rows and 2 columns, but must have 2 and 3"),
        (FRAME.T, "^`q` has 3 rows and 2 columns, but must have 2 and 3"),
        (FRAME.assign(b=["u", "v"]), r"^`q\[…\]\[1\]` "),
        (np.ones((2, 3, 1)), "^`q` must be one-dimensional, but has 3 dimensions"),
        ([np.ones((3, 3))] * 2, r"^`q\[0\]` must be a number, not a ndarray"),
        ([{1, 2, 3}, {4, 5, 6}], r"^`q\[0\]` must be a list of numbers, not a set"),
        (np.ma.masked_array(np.ones((2, 3)), np.eye(2, 3, dtype=bool)), "^`q` is a masked array"),
    ],
)
def test_tables_of_other_sizes_are_refused(table: Any, says: str) -> None:
    for reader in (real_answers, integer_answers, checked_reals, checked_integers):
        with pytest.raises(AnswersError, match=says):
            reader("q", table, table=(2, 3))


def test_no_cell_decides_whether_a_table_is_read() -> None:
    columns = [pd.Series(values, dtype=float) for values in ([1.0, 2.0], [None, None])]
    for column in columns:  # refused by their type, missing or not
        with pytest.raises(AnswersError, match=r"^`q\[…\]\[1\]` has the dtype float64"):
            integer_answers("q", pd.DataFrame({"a": [1, 2], "b": column}), whole=True, table=(2, 2))


def test_streams_read_one_by_one() -> None:
    taken: list[int] = []

    def source() -> Any:
        for value in (1, math.nan, 2.7, "3"):
            taken.append(len(taken))
            yield value

    stream = integer_stream("q", source())
    assert ([next(stream) for _ in range(3)], len(taken)) == ([1, 0, 2], 3)
    with pytest.raises(AnswersError, match=r"`q\[3\]` must be a number, not a str"):
        next(stream)
    assert list(real_stream("q", [1.26, -9], low=0, step=Fraction(1, 10))) == [Fraction(6, 5), 0]
    for nothing in (None, 5):
        with pytest.raises(AnswersError, match=rf"`q` .* not a {type(nothing).__name__}"):
            real_stream("q", nothing)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2.5], r"`q\[1\]` must be an integer"),
        ([math.inf], r"`q\[0\]` must be finite, not missing, NaN or infinity"),
        ([0, 10**400], r"`q\[1\]` is larger than the largest float"),
    ],
)
def test_what_looking_first_says(values: Any, message: str) -> None:
    with pytest.raises(AnswersError, match=message) as caught:
        checked_integers("q", values)
    assert not any(digit in str(caught.value).partition("]")[2] for digit in "3456789"), "no value is shown"


def test_what_is_checked_is_exact() -> None:
    assert checked_reals("q", np.array([0.1, 2])) == [Fraction(1, 10), 2]
    assert checked_integers("q", [1.0, Fraction(4, 2), np.uint8(7)]) == [1, 2, 7]


@pytest.mark.parametrize("span", [np.timedelta64(5), np.timedelta64(5, "s"), np.timedelta64("NaT")])
def test_spans_of_time_are_refused_by_their_type(span: Any) -> None:
    """NumPy counts them among its integers, and one of them is none."""
    for read in (real_answers, integer_answers, checked_reals):
        for values in ([span], np.array([1, span], dtype=object), pd.Series([span], dtype=object)):
            with pytest.raises(AnswersError, match=r"`q\[\d\]` must be a number, not a timedelta64"):
                read("q", values)
    with pytest.raises(ParameterError, match="must be a number, not a timedelta64"):
        real("eps", span)
    with pytest.raises(ParameterError, match="must be an integer, not a timedelta64"):
        integer("k", span)


def test_what_a_foreign_integer_raises_is_no_matter() -> None:
    class Foreign:
        def __int__(self) -> int:
            raise TypeError("by its value")

    numbers.Integral.register(Foreign)
    assert list(real_answers("q", [Foreign(), 2]).values) == [0, 2]

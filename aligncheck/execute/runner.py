"""One run of a mechanism on a column of a CSV file."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

from aligncheck.compiler.modes import RunMode
from aligncheck.execute.cannot_run import RunError
from aligncheck.execute.load import Check, Decide, load
from aligncheck.execute.locate import FunctionFailed, functions_of
from aligncheck.execute.settings import check_names, needed, value_of
from aligncheck.execute.table import CsvTable, read_table
from aligncheck.runtime import (
    ArgumentError,
    Labelled,
    Mechanism,
    MechanismError,
    QueryInfo,
    Result,
    Spec,
    UnsafeFloatWarning,
    row_of,
)

Value: TypeAlias = Fraction | float | bool
"""A released number or truth value; ints are ints."""


@dataclass(frozen=True, slots=True)
class NamedRecord:
    """One record of the output: its tag, its fields in the spec's order, the name of the item it is about.

    `label` is None where the data has no names or the output does not tell which item it is. `p_value` is
    given beside a choice whose gap was released: see `runtime.estimates.ChoiceGap`.
    """

    tag: str
    fields: tuple[tuple[str, Value], ...]
    label: str | None
    p_value: float | None = None


@dataclass(frozen=True, slots=True)
class CompletedRun:
    """What a run released and spent.

    Attributes:
        spec: what the mechanism says of itself: its name, its claim, …
        result: what the run gave back.
        parameters: each public input with its value; lists are tuples.
        defaults: those of them that were not set.
        columns: each private input that was read from the data, with its column.
        answers: how many answers each list of queries held (public).
        records: the output.
        decided: whether the proof was decided in this run, and that what ran follows from it. A compiled
            module that was not checked is only known to be free of accidents.
    """

    spec: Spec
    result: Result[Any]
    parameters: tuple[tuple[str, Any], ...]
    columns: tuple[tuple[str, str], ...]
    answers: tuple[tuple[str, int], ...]
    records: tuple[NamedRecord, ...]
    decided: bool
    defaults: tuple[str, ...] = ()


def run_file(
    path: str,
    data_path: str | None,
    column: str | None,
    settings: Mapping[str, str],
    seed: int | None,
    *,
    check: Check,
    decide: Decide | None = None,
    mode: RunMode | None = None,
    gamma: str | None = None,
    label: str | None = None,
    functions: Mapping[str, str] | None = None,
) -> CompletedRun:
    """Runs the mechanism in a spec or a generated module once.

    Args:
        path: a `.dp` file, which runs only if `check` says that it is verified, or a generated `.py` file,
            which runs only if it is as it was written.
        data_path: a CSV file with a header; may be None where every private input has a setting.
        column: the answers' column, or `p=first,r=second` for several private inputs. None: the column called
            like the input, else the only numeric one; of a table, all columns but that of the names.
        settings: values of parameters by their name in the spec, as text; also of private inputs, for trials.
        seed: None for the operating system's randomness; an int makes the run repeatable and not private.
        check: checks the spec in a file; not called for generated modules.
        decide: decides the proof of a generated module before it is executed; not called for specs. None: a
            module's proof is not decided.
        mode: how the mechanism must compute; see `load`.
        gamma: the step of the lattice, as text; None: the mechanism's default.
        label: the column that names the items. None: see `Table.label_column`.
        functions: where each public function of the spec is; see `functions_of`.

    Raises:
        RunError: the run cannot be carried out (exit status 2); nothing was released.
    """
    cls = load(path, check, mode, decide)
    spec = cls.spec
    public = functions_of(spec, functions or {})
    check_names(spec, settings)
    given = {q.name: value_of(q, settings[q.name]) for q in spec.queries if q.name in settings}
    wanted = [q for q in spec.queries if q.name not in settings]
    columns: dict[str, str] = {}
    if wanted:
        if data_path is None:
            raise RunError(f"no data for {_names(wanted)}", "name a CSV file with `--data`")
        table = read_table(data_path)
        columns = _columns(table, wanted, column)
        given.update({q.name: _answers(table, q, columns.get(q.name), label) for q in wanted})
    else:
        _refuse_unread(spec, {"--data": data_path, "--column": column, "--label": label})
    if gamma is not None and cls.mode == RunMode.FLOAT.value:
        raise RunError("`--gamma` is the step of a lattice, and there is none in floating point")
    mechanism = _constructed(cls, settings, public, seed, gamma)
    decided = decide is not None or not path.endswith(".py")
    done = _execution(mechanism, given, columns, decided)
    return replace(done, defaults=tuple(p.name for p in spec.parameters if p.name not in settings))


def _constructed(
    cls: type[Mechanism],
    settings: Mapping[str, str],
    functions: Mapping[str, Callable[..., Any]],
    seed: int | None,
    gamma: str | None,
) -> Mechanism:
    set_ = [p for p in cls.spec.parameters if p.name in settings]
    values: dict[str, Any] = {p.keyword: value_of(p, settings[p.name]) for p in set_}
    if gamma is not None:
        values["gamma"] = gamma
    try:
        with warnings.catch_warnings():  # the result's notes say it
            warnings.simplefilter("ignore", UnsafeFloatWarning)
            return cls(**values, **functions, testing_seed=seed)  # type: ignore[arg-type]
    except ArgumentError as error:
        raise RunError(str(error)) from None
    except FunctionFailed as error:
        raise RunError(str(error), "the run has not begun, and spent nothing") from None
    except (ArithmeticError, LookupError, MechanismError) as error:
        raise RunError(f"the parameters cannot be checked: {error}", needed(cls.spec)) from None


def _execution(
    mechanism: Any, given: Mapping[str, Any], columns: Mapping[str, str], decided: bool
) -> CompletedRun:
    spec = mechanism.spec
    try:
        result = mechanism(*(given[q.name] for q in spec.queries))
    except ArgumentError as error:
        raise RunError(str(error)) from None
    except FunctionFailed as error:
        spent = f"the run spent {spec.claim} = {mechanism.spent}" if mechanism.spent else "nothing was spent"
        raise RunError(str(error), f"nothing was released; {spent}") from None
    except (ArithmeticError, LookupError, MechanismError) as error:
        raise RunError(f"the run stopped: {error}", "nothing was released") from None
    return CompletedRun(
        spec=spec,
        result=result,
        parameters=tuple((p.name, getattr(mechanism, p.keyword)) for p in spec.parameters),
        columns=tuple(columns.items()),
        answers=tuple((q.name, _count(given[q.name])) for q in spec.queries if q.vector),
        records=tuple(
            NamedRecord(
                record.tag,
                tuple(row_of(record).items()),
                None if label is None else str(label),
                None if choice is None else choice.p_value,
            )
            for record, label, choice in zip(result.records, result.labels, result.choices, strict=True)
        ),
        decided=decided,
    )


def _refuse_unread(spec: Spec, options: Mapping[str, str | None]) -> None:
    """Raises RunError for data that nothing would be read from."""
    for option, text in options.items():
        if text is not None:
            why = (
                f"`--set` gives {_names(list(spec.queries))}" if spec.queries else "there is no private input"
            )
            raise RunError(f"`{option} {text}` has nothing to say: {why}", f"leave out `{option}`")


def _columns(table: CsvTable, wanted: list[QueryInfo], column: str | None) -> dict[str, str]:
    """The column of each private input; of a table none, where it has all of them."""
    if len(wanted) == 1:
        (query,) = wanted
        name = (column or "").removeprefix(f"{query.name}=") if column not in table.header else column
        if name:
            table.index(name)
            return {query.name: name}
        if query.table is not None and query.name not in table.header:
            return {}
        return {query.name: query.name if query.name in table.header else table.default_column()}
    assigned = _assignments(wanted, column)
    chosen = {query.name: assigned.get(query.name, query.name) for query in wanted}
    for query in wanted:
        name = chosen[query.name]
        if name not in table.header:
            example = ",".join(f"{q.name}=…" for q in wanted)
            raise RunError(
                f"{table.path}:1: no column `{name}` for `{query.name}`",
                f"choose a column for each of {_names(wanted)}: --column {example}",
            )
    return chosen


def _assignments(wanted: list[QueryInfo], column: str | None) -> dict[str, str]:
    """`p=first,r=second`."""
    chosen: dict[str, str] = {}
    for part in (column or "").split(",") if column else []:
        name, equals, value = part.partition("=")
        if not equals or name.strip() not in {q.name for q in wanted}:
            example = ",".join(f"{q.name}=…" for q in wanted)
            raise RunError(
                f"`--column {column}` does not say whose column it is", f"write --column {example}"
            )
        chosen[name.strip()] = value.strip()
    return chosen


def _values(table: CsvTable, query: QueryInfo, column: str) -> list[Any]:
    if query.sort != "bool":
        return table.numbers(column)
    return [value_of(replace(query, vector=False), text) for text in table.texts(column)]


def _count(given: Any) -> int:
    return sum(len(row) if isinstance(row, tuple) else 1 for row in given)


def _answers(table: CsvTable, query: QueryInfo, column: str | None, label: str | None) -> Any:
    if column is None:
        names = table.label_column("") if label is None else label
        columns = [name for name in table.header if name != names]
        return list(zip(*(_values(table, query, name) for name in columns), strict=True))
    values = _values(table, query, column)
    if not query.vector:
        if len(values) != 1:
            raise RunError(
                f"{table.path}: `{query.name}` is one answer, but column `{column}` has {len(values)} rows",
                f"use a file with one row, or --set {query.name}=VALUE",
            )
        return values[0]
    names = table.label_column(column) if label is None else label
    return values if names is None else Labelled(values, table.texts(names))


def _names(queries: list[QueryInfo]) -> str:
    return ", ".join(f"`{q.name}`" for q in queries)

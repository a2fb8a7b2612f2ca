"""What a run released, for a terminal or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from aligncheck import __version__
from aligncheck.execute.runner import CompletedRun, NamedRecord
from aligncheck.language.printable import printable
from aligncheck.meaning.exact import decimal
from aligncheck.runtime.losses import Currency

_LARGEST_DENOMINATOR = 100
"""Fractions with a larger one are shown as decimals; JSON has them exactly."""

_WRITTEN_BITS = 128
"""Numbers of more bits are shown with an exponent; JSON has them exactly."""

_FOLDED = 3
"""From this many on, equal records in a row take one line."""


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Consecutive records with one tag and equal fields: `first` and `last` are their numbers, from 0."""

    first: int
    last: int
    records: tuple[NamedRecord, ...]


def render_execution(execution: CompletedRun) -> RenderableType:
    """The records as a table, then the privacy spent and what must be said about both."""
    return Group(
        Text(_headline(execution), style="bold"),
        Text(),
        *(_table(execution.records) if execution.records else [Text("no records")]),
        *map(Text, _beside_choices(execution.records)),
        Text(),
        *map(Text, _spent(execution)),
        *map(Text, _computed(execution)),
        Text(_checked(execution)),
        *(Text(f"note: {note}") for note in execution.result.notes),
    )


def execution_document(execution: CompletedRun) -> dict[str, Any]:
    """The same as one JSON document: rationals are strings (`1/2`), floating-point numbers are numbers."""
    result = execution.result
    return {
        "version": __version__,
        "mechanism": execution.spec.name,
        "parameters": {name: _json(value) for name, value in execution.parameters},
        "columns": dict(execution.columns),
        "answers": dict(execution.answers),
        "records": [
            {
                "item": record.label,
                "tag": record.tag,
                "fields": {name: _json(value) for name, value in record.fields},
                "p_value": record.p_value,
            }
            for record in execution.records
        ],
        "claim": execution.spec.claim,
        "currency": result.currency.value,
        "delta": _delta(execution),
        "spent": _json(result.spent),
        "bound": _bound(execution),
        "mode": result.mode,
        "gamma": _json(result.gamma),
        "private": result.private,
        "notes": list(result.notes),
        "checked": execution.decided,
    }


def _beside_choices(records: Sequence[NamedRecord]) -> Iterator[str]:
    """What the gap beside a choice says (dissertation, Theorem 5.14)."""
    for number, record in enumerate(records):
        if record.p_value is not None:
            yield f"{number}: the returned answer is the best one, p = {record.p_value:.3g}"
    if any(record.p_value is not None for record in records):
        yield "(where another is better, so large a gap has at most the chance p)"


def _spent(execution: CompletedRun) -> Iterator[str]:
    doubt = "" if execution.decided else " (not checked)"
    spec, result = execution.spec, execution.result
    rho = result.currency is Currency.RHO
    delta = "" if spec.delta is None else f" with δ = {_shown(spec.delta)} = {_shown(result.delta)}"
    claim = f"ρ = {spec.claim}" if rho else spec.claim
    yield f"privacy spent: {claim} = {_shown(result.spent)}{' (zCDP)' if rho else delta}{doubt}"
    if spec.bound is not None:
        yield f"left of the bound {spec.bound} = {_shown(result.bound)}: {_shown(result.left)}"


def _computed(execution: CompletedRun) -> Iterator[str]:
    """How: of floating point, the notes say all."""
    match execution.result.mode:
        case "lattice":
            yield f"computed exactly, with noise on the multiples of {execution.result.gamma}"
        case "refined":
            rounded = f"rounded down to multiples of {execution.result.gamma}"
            yield f"computed exactly, with real-valued noise, and {rounded}"
        case _:
            pass


def _checked(execution: CompletedRun) -> str:
    if execution.decided and execution.result.mode == "float":
        return "checked: the proof was decided in this run; it does not cover floating point"
    if execution.decided:
        return "checked: the proof was decided in this run"
    return (
        "not checked: the module's digest fits, which finds accidents, not intent: whoever edits a module "
        "can make it fit; with `--check` its proof is decided first, as `aligncheck check` does"
    )


def _delta(execution: CompletedRun) -> dict[str, Any] | None:
    text = execution.spec.delta
    return None if text is None else {"claim": text, "value": _json(execution.result.delta)}


def _bound(execution: CompletedRun) -> dict[str, Any] | None:
    text, result = execution.spec.bound, execution.result
    if text is None:
        return None
    return {"claim": text, "value": _json(result.bound), "left": _json(result.left)}


def _headline(execution: CompletedRun) -> str:
    parameters = ", ".join(
        f"{name} = {_shown(value)}{' (default)' if name in execution.defaults else ''}"
        for name, value in execution.parameters
    )
    columns = dict(execution.columns)
    answers = [
        f"{count} answers" + (f" (column `{columns[name]}`)" if name in columns else "")
        for name, count in execution.answers
    ]
    parts = [execution.spec.name, *([f"on {' and '.join(answers)}"] if answers else [])]
    return " ".join(parts) + (f": {parameters}" if parameters else "")


def _table(records: Sequence[NamedRecord]) -> Iterator[Text]:
    """Lines of aligned columns: text to the left, numbers to the right."""
    fields = list(dict.fromkeys(name for record in records for name, _ in record.fields))
    labelled = any(record.label is not None for record in records)
    decimals = {name for record in records for name, value in record.fields if _is_long(value)}
    rows = [["#", "item", "released", *fields]]
    for stretch in _stretches(records):
        values = dict(stretch.records[0].fields)
        shown = (_shown(values[name], name in decimals) if name in values else "" for name in fields)
        rows.append([_numbers(stretch), _items(stretch), _tag(stretch), *shown])
    if not labelled:
        rows = [[row[0], *row[2:]] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        cells = [
            _padded(cell, width, left=0 < place < len(row) - len(fields))
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield Text("  ".join(cells).rstrip(), style="bold" if number == 0 else "")


def _padded(cell: str, width: int, *, left: bool) -> str:
    padding = " " * (width - cell_len(cell))
    return cell + padding if left else padding + cell


def _stretches(records: Sequence[NamedRecord]) -> Iterator[_Stretch]:
    first = 0
    while first < len(records):
        alike = list(_leading_alike(records, first))
        size = len(alike) if len(alike) >= _FOLDED else 1
        yield _Stretch(first, first + size - 1, tuple(alike[:size]))
        first += size


def _leading_alike(records: Sequence[NamedRecord], first: int) -> Iterator[NamedRecord]:
    model = records[first]
    for record in records[first:]:
        if (record.tag, record.fields) != (model.tag, model.fields):
            return
        yield record


def _numbers(stretch: _Stretch) -> str:
    return str(stretch.first) if stretch.first == stretch.last else f"{stretch.first}-{stretch.last}"


def _items(stretch: _Stretch) -> str:
    labels = [printable(record.label or "") for record in (stretch.records[0], stretch.records[-1])]
    return labels[0] if len(stretch.records) == 1 else " … ".join(filter(None, labels))


def _tag(stretch: _Stretch) -> str:
    tag, count = stretch.records[0].tag, len(stretch.records)
    return tag if count == 1 else f"{tag} ({count} times)"


def _is_long(value: object) -> bool:
    """Whether it is a fraction that says less than a decimal does, or a number of very many digits."""
    if not isinstance(value, int | Fraction):
        return False
    return value.denominator > _LARGEST_DENOMINATOR or value.numerator.bit_length() > _WRITTEN_BITS


def _shown(value: object, in_decimals: bool = False) -> str:
    """A value as text; with `in_decimals`, fractions as decimals, as others in the same column are."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.6g}"
        case Fraction() if in_decimals:
            return decimal(value, 6)
        case int() | Fraction() if _is_long(value):
            return decimal(Fraction(value), 6)
        case tuple():
            return f"[{', '.join(map(_shown, value))}]"
        case _:
            return str(value)


def _json(value: Any) -> Any:
    match value:
        case Fraction():
            return str(value)
        case tuple():
            return [_json(item) for item in value]
        case _:
            return value

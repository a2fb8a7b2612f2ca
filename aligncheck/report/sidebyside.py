"""Two runs in two columns: the noise, every test with its numbers, what is released, and the cost so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby

from rich.text import Text

from aligncheck.language.internal import InternalError
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import parts_of, with_parts
from aligncheck.language.unparse import unparse_expr
from aligncheck.meaning import interpreter
from aligncheck.meaning.exact import ZERO, Irrational, Number, Undecided, Value, compare
from aligncheck.meaning.replay import PairedStep
from aligncheck.report.lines import Canvas, columns
from aligncheck.report.numbers import listed, recorded, shown, signed

MOST_ROWS = 40
_HEAD, _AROUND, _TAIL = 14, 10, 8
_SHORTEST_LIMIT = 34
_OTHER_COLUMNS = 40
_INDENT = "   "


@dataclass(frozen=True, slots=True)
class RunsTable:
    """What is shown: the steps, two headings, the claim to compare the cost with, and where the runs part."""

    steps: Sequence[PairedStep]
    left: str
    right: str
    claim: Number | None = None
    parted: int | None = None


@dataclass(frozen=True, slots=True)
class RunsRow:
    """A step of two runs, as texts; `note` holds the cost, `style` marks where something is wrong."""

    line: str
    rounds: str
    step: str
    left: str
    right: str
    note: str = ""
    style: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        return self.line, self.rounds, self.step, self.left, self.right, self.note


def table_lines(canvas: Canvas, source: Source | None, table: RunsTable) -> Iterator[Text]:
    """At most about forty steps; the middle of a longer run is left out, and a line says how much."""
    rows = list(rows_of(source, table, max(_SHORTEST_LIMIT, (canvas.width - _OTHER_COLUMNS) // 2)))
    if not rows:
        return
    head = RunsRow(
        "line", "round", "step", table.left, table.right, "cost" if table.claim is not None else "", "bold"
    )
    kept = [head, *kept_rows(rows)]
    flat = [row for row in kept if isinstance(row, RunsRow)]
    used = [number for number in range(6) if any(row.cells[number] for row in flat[1:])]
    texts = [[Text(row.cells[number], style=row.style) for number in used] for row in flat]
    flexible = frozenset(place for place, number in enumerate(used) if number in (3, 4))
    blocks = columns(Canvas(canvas.console, canvas.width - len(_INDENT)), texts, flexible)
    for row in kept:
        if isinstance(row, RunsRow):
            yield from (Text.assemble(_INDENT, line) for line in next(blocks))
        else:
            yield Text(f"{_INDENT}… {row} steps left out …", style="dim")


def kept_rows(rows: list[RunsRow]) -> list[RunsRow | int]:
    """The rows that are shown, with the number of rows left out between them: head, marked rows, tail."""
    if len(rows) <= MOST_ROWS:
        return list(rows)
    marked = next((number for number, row in enumerate(rows) if row.style), len(rows) - 1)
    wanted = {
        *range(_HEAD),
        *range(max(0, marked - _AROUND), min(len(rows), marked + _AROUND // 2)),
        *range(len(rows) - _TAIL, len(rows)),
    }
    kept: list[RunsRow | int] = []
    for is_kept, run in groupby(range(len(rows)), key=wanted.__contains__):
        numbers = list(run)
        kept += [rows[number] for number in numbers] if is_kept else [len(numbers)]
    return kept


# --- rows -------------------------------------------------------------------------------------------------


def rows_of(source: Source | None, table: RunsTable, limit: int) -> Iterator[RunsRow]:
    """A row for each step that shows something; equal assignments on both sides show nothing, except for the
    ones that say what was selected.

    A test whose text with numbers is longer than `limit` shows the values of its two sides instead.
    """
    last: interpreter.Loop | None = None
    exceeded = False
    for number, paired in enumerate(table.steps):
        step = paired.on_d or paired.on_d_prime
        if step is None:
            raise InternalError("a row of neither run")
        row = _row(source, paired, step, limit)
        if row is None:
            continue
        row = replace(row, rounds=_rounds(step.loop) if step.loop != last else "")
        last = step.loop
        if table.claim is not None and paired.cost is not None and paired.shift != ZERO:
            over = _exceeds(paired.cost, table.claim)
            more = f" > {shown(table.claim)}" if over else ""
            row = replace(row, note=shown(paired.cost) + more)
            if over and not exceeded:
                row, exceeded = replace(row, style="bold red"), True
        if number == table.parted:
            row = replace(row, note="the runs part here", style="bold red")
        yield row


def _exceeds(cost: Number, claim: Number) -> bool:
    try:
        return compare(cost, claim) > 0
    except Undecided:
        return False


def _rounds(loop: interpreter.Loop) -> str:
    return " ".join(f"{name}={interpreter.value_text(value)}" for name, value in loop)


def _row(source: Source | None, paired: PairedStep, step: interpreter.Step, limit: int) -> RunsRow | None:
    left, right = (_step_text(side, limit) for side in (paired.on_d, paired.on_d_prime))
    line = "" if source is None else str(source.position(step.span.start)[0])
    match step:
        case interpreter.Draw():
            shift = "" if paired.shift is None or paired.shift == ZERO else f"  ({signed(paired.shift)})"
            if paired.unmoved and not shift:
                shift = f"  ({paired.unmoved}: no shift)"
            return RunsRow(line, "", interpreter.variable_text(step.key), left, right + shift)
        case interpreter.TakenTest():
            return RunsRow(line, "", step.kind, left, _same(left, right))
        case interpreter.Assigned():
            if left == right and not isinstance(step.expression, nodes.Gather):
                return None
            return RunsRow(line, "", f"{step.name} =", left, _same(left, right))
        case interpreter.Invoked():
            spent = f"  (spends {shown(step.spent)})"
            return RunsRow(line, "", f"{step.name} =", left + spent, _same(left, right))
        case interpreter.Emitted():
            style = "" if left == right else "bold red"
            return RunsRow(line, "", "emit", left, _same(left, right), style=style)


def _same(left: str, right: str) -> str:
    return "same" if left == right else right


def _step_text(step: interpreter.Step | None, limit: int) -> str:
    match step:
        case None:
            return "-"
        case interpreter.Draw(value=value) | interpreter.Assigned(value=value):
            return _held(value)
        case interpreter.Invoked(returned=returned, dropped=dropped):
            return "; ".join([*(f"{_held(each)} dropped" for each in dropped), _held(returned)])
        case interpreter.Emitted(record=record):
            return recorded(record)
        case interpreter.TakenTest():
            return f"{_test_text(step, limit)}  {'yes' if step.holds else 'no'}"


def _held(value: interpreter.State) -> str:
    """A value, or a list of indices of which at most the first twelve are shown."""
    if isinstance(value, interpreter.Returned):
        return "; ".join(map(recorded, value.records)) or "nothing"
    return listed(tuple(map(Fraction, value))) if isinstance(value, tuple) else shown(value)


def _test_text(decision: interpreter.TakenTest, limit: int) -> str:
    """The test with the numbers that it read; where that is long, both sides of each comparison."""
    values = dict(decision.leaves)
    full = unparse_expr(_filled(decision.test, values))
    if len(full) <= limit or not decision.compared:
        return full
    return ", ".join(f"{shown(one.left)} {one.expression.op} {shown(one.right)}" for one in decision.compared)


def _filled(expr: nodes.Expr, values: dict[interpreter.Leaf, interpreter.State]) -> nodes.Expr:
    """The expression with the values that were read in place of their names, and of whole sets."""
    match expr:
        case nodes.Name() | nodes.Index() | nodes.Gather():
            value = values.get(expr)
            return (
                expr if value is None or isinstance(value, tuple | interpreter.Returned) else _literal(value)
            )
        case nodes.Member(selection=name):
            indices = values.get(nodes.Name(name))
            shown_as = name if indices is None else _held(indices)
            return replace(expr, index=_filled(expr.index, values), selection=shown_as)
        case nodes.Call(function="len"):
            return expr
        case nodes.Literal() | nodes.Call() | nodes.Operator() | nodes.OfOutput():
            return with_parts(expr, tuple(_filled(part, values) for part in parts_of(expr)))


def _literal(value: Value) -> nodes.Expr:
    """A value as an expression, so that it gets parentheses where it needs them."""
    if isinstance(value, bool):
        return nodes.Boolean(value)
    if isinstance(value, Irrational):
        return nodes.Name(str(value))
    if value < 0:
        return nodes.Unary("-", _literal(-value))
    if value.denominator == 1:
        return nodes.Number(value)
    numerator, denominator = (nodes.Number(type(value)(part)) for part in value.as_integer_ratio())
    return nodes.Binary("/", numerator, denominator)

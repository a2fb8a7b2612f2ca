"""A CSV file with a header, as pandas writes it: columns of text, and one of them as answers."""

from __future__ import annotations

import csv
import errno
import io
import os
import re
import stat
import time
from dataclasses import dataclass
from fractions import Fraction

from aligncheck.execute.cannot_run import RunError
from aligncheck.language.syntax.wording.faults import closest

_IDENTIFIERS = frozenset({"", "id", "index", "item", "key", "label", "name"})
"""Headers of columns that name rows, also where the names are numbers; pandas writes its index with none."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
_DECIMAL = re.compile(
    r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e(?P<power>[+-]?[0-9]+))?|[+-]?inf(inity)?", re.IGNORECASE
)
_SHORT = 15
"""Decimals of so many digits are what the floats that they name are read as (`runtime.decimals`)."""

_LONGEST_POWER = 4
"""Exponents of more digits make a number infinite, or 0."""

_LARGEST = 128 << 20
"""Bytes of a file: those of some ten million answers."""

_PIECE = 1 << 20
_PATIENCE = 5.0
"""Seconds in which somebody must open a pipe for writing."""

_MISSING = frozenset({"", "na", "nan", "null", "none", "<na>"})


@dataclass(frozen=True, slots=True)
class CsvTable:
    """The text of a CSV file: `rows[r][c]`, and the line of the file on which row r starts, from 1."""

    path: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]

    def index(self, column: str) -> int:
        """Where a column is. Raises `RunError`, with near names, where there is none."""
        if column in self.header:
            return self.header.index(column)
        advice = closest(column, self.header) or f"the columns are {_listed(self.header)}"
        raise RunError(f"{self.path}:1: no column `{column}`", advice)

    def default_column(self) -> str:
        """The only numeric column that does not name rows.

        Raises:
            RunError: there is none, or more than one; or its name is a number, as where the file has no
                header: answers are never taken for names silently.
        """
        numeric = [
            name
            for c, name in enumerate(self.header)
            if name.lower() not in _IDENTIFIERS and self._is_numeric(c)
        ]
        if len(numeric) == 1:
            self._check_name(numeric[0])
            return numeric[0]
        if not numeric:
            raise RunError(
                f"{self.path}:1: no column of numbers",
                f"the columns are {_listed(self.header)}; see `--column`",
            )
        raise RunError(
            f"{self.path}:1: several columns hold numbers: {_listed(numeric)}", "choose one with `--column`"
        )

    def _check_name(self, name: str) -> None:
        if _is_number(name):
            raise RunError(
                f"{self.path}:1: `{name}` is a number, and no name of a column",
                f"the first line must name the columns; if it does, choose this one with `--column {name}`",
            )

    def label_column(self, besides: str) -> str | None:
        """The column that names the rows: the first that is not numeric, else the first whose header says so.

        The names of the rows are taken to be public, as their number is.
        """
        others = [(c, name) for c, name in enumerate(self.header) if name != besides]
        words = [name for c, name in others if not self._is_numeric(c)]
        named = [name for _, name in others if name.lower() in _IDENTIFIERS]
        return next(iter([*words, *named]), None)

    def texts(self, column: str) -> tuple[str, ...]:
        """The cells of a column, as they are."""
        c = self.index(column)
        return tuple(row[c] for row in self.rows)

    def numbers(self, column: str) -> list[int | float | Fraction | None]:
        """The cells of a column as numbers, exactly as they are written; None where one is missing. As in any
        run, what is missing or infinite is a value, and no error.

        Raises:
            RunError: naming file, line and column of the first cell that is no number.
        """
        c = self.index(column)
        return [self._number(row[c], line, column) for row, line in zip(self.rows, self.lines, strict=True)]

    def _number(self, cell: str, line: int, column: str) -> int | float | Fraction | None:
        text = cell.strip()
        place = f"{self.path}:{line}: column `{column}`"
        if _INTEGER.fullmatch(text):
            return int(text)
        if text.lower() in _MISSING:
            return None
        if (decimal := _DECIMAL.fullmatch(text)) is not None:
            return _exactly(text, decimal["power"])
        advice = "write numbers without separators for thousands" if re.search(r"\d[,_' ]\d", text) else None
        raise RunError(f"{place}: `{text[:40]}` is no number", advice)

    def _is_numeric(self, c: int) -> bool:
        cells = [row[c].strip() for row in self.rows]
        present = [text for text in cells if text.lower() not in _MISSING]
        return bool(present) and all(map(_is_number, present))


def _is_number(text: str) -> bool:
    return bool(_INTEGER.fullmatch(text) or _DECIMAL.fullmatch(text))


def _exactly(text: str, power: str | None) -> float | Fraction:
    """A decimal, or an infinity, as a number that is read as just this."""
    if "n" in text.lower() or (power is None and sum(c.isdigit() for c in text) <= _SHORT):
        return float(text)
    if len((power or "").lstrip("+-0")) > _LONGEST_POWER:
        return float(text)
    return Fraction(text)


def read_table(path: str) -> CsvTable:
    """A CSV file: UTF-8, commas, a header, rows of the header's length; blank lines do not count.

    Raises:
        RunError: the file cannot be read, is no such text, or has no rows; names the line at fault.
    """
    try:
        data = _bytes_of(path)
    except OSError as error:
        raise RunError(f"cannot read `{path}`: {error.strerror or error}") from None
    if b"\0" in data:
        line = data[: data.index(b"\0")].count(b"\n") + 1
        raise RunError(f"{path}:{line}: holds a null byte: this is no CSV text")
    if len(data) > _LARGEST:
        raise RunError(f"`{path}` is larger than {_LARGEST >> 20} MB")
    try:
        return _table(path, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise RunError(f"{path}:{line}: not UTF-8 text", "save the file as UTF-8") from None


def _bytes_of(path: str) -> bytes:
    """What a file holds, of which no more is read than is needed to refuse it. It may be a pipe, as a shell's
    `<(…)` is; but for one that nobody writes into there is no waiting for ever.
    """
    data = bytearray()
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as file:
        _wait_for_a_writer(file, data)
        os.set_blocking(file.fileno(), True)
        while len(data) <= _LARGEST and b"\0" not in data[-_PIECE:] and (piece := file.read(_PIECE)):
            data += piece
    return bytes(data)


def _wait_for_a_writer(file: io.FileIO, data: bytearray) -> None:
    """Returns once something was read, or somebody has the pipe open who may write; at once for a file."""
    if not stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
        return
    until = time.monotonic() + _PATIENCE
    while not (piece := file.read(_PIECE)):
        if piece is None:  # there is a writer, who has written nothing yet
            return
        if time.monotonic() > until:
            raise OSError(errno.EPIPE, f"it is a pipe into which nobody has written for {_PATIENCE:g} s")
        time.sleep(0.02)
    data += piece


def _table(path: str, text: str) -> CsvTable:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[tuple[str, ...]] = []
    lines: list[int] = []
    start = 1
    try:
        for row in reader:
            if row:
                rows.append(tuple(row))
                lines.append(start)
            start = reader.line_num + 1
    except csv.Error as error:
        raise RunError(f"{path}:{start}: {error}") from None
    if not rows:
        raise RunError(f"`{path}` is empty", "its first line must name the columns")
    header = tuple(name.strip() for name in rows[0])
    _check_shape(path, header, rows, lines)
    return CsvTable(path, header, tuple(rows[1:]), tuple(lines[1:]))


def _check_shape(path: str, header: tuple[str, ...], rows: list[tuple[str, ...]], lines: list[int]) -> None:
    twice = next((name for i, name in enumerate(header) if name in header[:i]), None)
    if twice is not None:
        raise RunError(
            f"{path}:{lines[0]}: two columns are called `{twice}`", "the first line must name the columns"
        )
    if len(header) == 1 and any(mark in header[0] for mark in ";\t"):
        raise RunError(f"{path}:{lines[0]}: no commas in the header", "columns are separated by commas")
    if len(rows) == 1:
        numbers = header and all(map(_is_number, header))
        advice = "the first line must name the columns, and holds numbers" if numbers else None
        raise RunError(f"`{path}` has a header but no rows", advice)
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(header):
            raise RunError(f"{path}:{line}: {len(row)} values, but the header names {len(header)} columns")


def _listed(names: list[str] | tuple[str, ...]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:10])
    return f"{shown}, …" if len(names) > 10 else shown

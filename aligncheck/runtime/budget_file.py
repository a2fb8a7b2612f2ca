"""A budget in a file, which lasts and which processes share."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import threading
from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aligncheck.runtime.budget import Budget
from aligncheck.runtime.errors import MechanismError, ParameterError
from aligncheck.runtime.frames import pandas
from aligncheck.runtime.losses import Amount, Loss
from aligncheck.runtime.parameters import RealLike

if TYPE_CHECKING:
    import pandas as pd

_PATIENCE = 30.0
"""Seconds to wait while another process writes."""

_TABLES = (
    "CREATE TABLE IF NOT EXISTS ledger (only_row INTEGER PRIMARY KEY CHECK (only_row = 1),"
    " total TEXT NOT NULL);"  # as `Currency.written` writes it
    "CREATE TABLE IF NOT EXISTS entry (number INTEGER PRIMARY KEY AUTOINCREMENT, token TEXT NOT NULL UNIQUE,"
    " since TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, process INTEGER NOT NULL, most TEXT NOT NULL,"
    " spent TEXT);"
)
"""Amounts are exact fractions, as texts, one or two; `spent` is NULL while a run is in progress."""


class BudgetFile(Budget):
    """A budget that is kept in a file (SQLite), for as long as the file is.

    What a run sets aside is in the file before anything is drawn, in one transaction that also looks whether
    so much remains: whichever processes use the file at the same time, together they cannot spend more than
    its total. What was set aside counts until it is settled. So a process that is killed has spent all that
    its runs set aside, and a settlement that could not be written leaves the whole amount spent.

    Unlike another budget it may be pickled and used after a fork: the file is what is shared.

    Attributes:
        path: the file, absolute.

    Raises:
        ParameterError: `total` is no number, negative, or not the one that the file was made with.
        MechanismError: the file cannot be read or written, or is no ledger.
    """

    def __init__(self, path: str | os.PathLike[str], total: RealLike | Loss) -> None:
        super().__init__(total)
        self._given = total
        written = self.currency.written(self._total)
        self.path = Path(path).absolute()
        self._tokens: dict[object, str] = {}
        with self._writing() as file:
            file.execute("INSERT OR IGNORE INTO ledger VALUES (1, ?)", (written,))
            ((kept,),) = file.execute("SELECT total FROM ledger").fetchall()
        if kept != written:
            raise ParameterError("total", f"is {written}, but the ledger `{self.path}` has {kept}")

    def __reduce__(self) -> Any:
        return BudgetFile, (str(self.path), self._given)

    def entries(self) -> list[dict[str, Any]]:
        """What was asked and spent, in order: `since` (UTC), `process`, `most`, `spent` (None: in
        progress, or never settled); `delta most` and `delta spent` where the budget has a δ.
        """
        self._refuse_other_processes()
        with self._lock, self._writing() as file:
            self._settle_noted(file)
            rows = file.execute("SELECT since, process, most, spent FROM entry ORDER BY number").fetchall()
        return [
            {
                "since": since,
                "process": process,
                **_by_name("most", most, self._marks),
                **_by_name("spent", spent, self._marks),
            }
            for since, process, most, spent in rows
        ]

    def to_frame(self) -> pd.DataFrame:
        """The entries as a pandas DataFrame: a row for each run, in order, exact numbers in it.

        Raises:
            MissingPandasError: pandas is not installed.
        """
        amounts = [f"{mark}{name}" for name in ("most", "spent") for mark in self._marks]
        return pandas().DataFrame(self.entries(), columns=["since", "process", *amounts])

    def _open(self, key: object, amount: Amount) -> None:
        self._refuse_other_processes()
        with self._lock, self._writing() as file:
            self._settle_noted(file)
            self._allow(amount, self._read(file))
            # A token of its own, and before it is committed: an interrupt after that must find the entry to
            # settle, and one before it no entry of another's.
            token = self._tokens[key] = secrets.token_hex(16)
            row = (token, os.getpid(), _text(amount))
            file.execute("INSERT INTO entry (token, process, most) VALUES (?, ?, ?)", row)

    def _settle(self, key: object, paid: Amount) -> None:
        """Notes it, and writes it where nobody holds the lock: a finalizer may come while this very thread
        does. What is noted is written with the next use.
        """
        if os.getpid() != self._process or key not in self._tokens:
            return
        self._settled.append((key, paid))
        if self._lock.acquire(blocking=False):
            try:
                with contextlib.suppress(MechanismError), self._writing() as file:
                    self._settle_noted(file)
            finally:
                self._lock.release()

    def _settle_noted(self, file: sqlite3.Connection) -> None:
        """Twice noted, a settlement counts once; nothing leaves the notes before it is in the file."""
        noted = tuple(self._settled)
        for key, paid in noted:
            row = (_text(paid), self._tokens[key])
            file.execute("UPDATE entry SET spent = ? WHERE token = ? AND spent IS NULL", row)
        file.commit()
        for _ in noted:
            self._settled.popleft()
        file.execute("BEGIN IMMEDIATE")

    def _now(self) -> tuple[Amount, dict[object, Amount]]:
        self._refuse_other_processes()
        with self._lock, self._writing() as file:
            self._settle_noted(file)
            return self._read(file)

    def _read(self, file: sqlite3.Connection) -> tuple[Amount, dict[object, Amount]]:
        """What was spent, and what is set aside by each entry that is not settled."""
        rows = file.execute("SELECT number, most, spent FROM entry").fetchall()
        spent = self._added(_amount_of(paid) for _, _, paid in rows if paid is not None)
        return spent, {number: _amount_of(most) for number, most, paid in rows if paid is None}

    def _refuse_other_processes(self) -> None:
        """None is refused: a fork begins with notes and a lock of its own."""
        if os.getpid() != self._process:
            self._lock, self._settled, self._tokens = threading.Lock(), deque(), {}
            self._process = os.getpid()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """The file in a transaction beside which no other process writes."""
        file = None
        try:
            file = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
            file.execute("PRAGMA synchronous = FULL")
            file.executescript(_TABLES)
            file.execute("BEGIN IMMEDIATE")
            yield file
            file.commit()
        except sqlite3.Error as error:
            raise MechanismError(f"the ledger `{self.path}` cannot be used: {error}") from error
        finally:
            if file is not None:
                file.close()  # which rolls back what was not committed


def _text(amount: Amount) -> str:
    return " ".join(map(str, amount))


def _amount_of(text: str) -> Amount:
    return tuple(map(Fraction, text.split()))


def _by_name(name: str, text: str | None, marks: tuple[str, ...]) -> dict[str, Fraction | None]:
    amounts = (None,) * len(marks) if text is None else _amount_of(text)
    return {f"{mark}{name}": each for mark, each in zip(marks, amounts, strict=True)}

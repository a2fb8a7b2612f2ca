"""A budget in a file: processes cannot spend more than it together, and what is killed has spent."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from aligncheck.runtime import BudgetError, MechanismError, ParameterError
from aligncheck.runtime.budget_file import BudgetFile
from aligncheck.runtime.losses import ApproximateLoss, ConcentratedLoss, PureLoss


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "spending.db"


def spend_tenths(path: Path, ready: object, done: object) -> None:
    """In a process: as many as there are."""
    ledger, count = BudgetFile(path, 1), 0
    ready.wait()  # type: ignore[attr-defined]
    while True:
        try:
            ledger.spend(Fraction(1, 10))
        except BudgetError:
            break
        count += 1
    done.put(count)  # type: ignore[attr-defined]


def test_its_entries_are_a_table(path: Path) -> None:
    ledger = BudgetFile(path, 1)
    assert list(ledger.to_frame().columns) == ["since", "process", "most", "spent"]
    ledger.spend(Fraction(1, 3))
    held = ledger.reserve(Fraction(1, 3))
    assert ledger.to_frame()["spent"].tolist() == [Fraction(1, 3), None]
    held.settle(Fraction(0))
    assert ledger.to_frame()["spent"].tolist() == [Fraction(1, 3), 0]


def test_it_lasts_and_is_exact(path: Path) -> None:
    for n in range(11):
        ledger = BudgetFile(path, 1)
        assert ledger.spent == Fraction(n, 11)
        ledger.spend(Fraction(1, 11))
    ledger = BudgetFile(path, 1)
    assert [ledger.spent, ledger.remaining] == [1, 0]
    with pytest.raises(BudgetError, match="remaining 0"):
        BudgetFile(path, "1").spend("1e-9")
    assert [entry["spent"] for entry in ledger.entries()] == [Fraction(1, 11)] * 11
    assert repr(ledger).startswith("BudgetFile(total=1, spent=1")


def test_other_currencies(path: Path, tmp_path: Path) -> None:
    total = ApproximateLoss(Fraction(1), Fraction(1, 100))
    BudgetFile(path, total).spend(ApproximateLoss(Fraction(1, 2), Fraction(1, 200)))
    ledger = pickle.loads(pickle.dumps(BudgetFile(path, total)))
    held = ledger.reserve(Fraction(1, 2))
    assert ledger.amounts()["delta remaining"] == Fraction(1, 200)
    with pytest.raises(BudgetError, match="spent 1/2 delta 1/200"):
        ledger.spend(ApproximateLoss(Fraction(0), Fraction(1, 100)))
    held.settle(Fraction(1, 4))
    columns = ["most", "delta most", "spent", "delta spent"]
    assert ledger.to_frame()[columns].to_numpy().tolist() == [
        [Fraction(1, 2), Fraction(1, 200)] * 2,
        [Fraction(1, 2), 0, Fraction(1, 4), 0],
    ]
    for other in (PureLoss(Fraction(1)), ConcentratedLoss(Fraction(1))):
        with pytest.raises(ParameterError, match="has 1 delta 1/100"):
            BudgetFile(path, other)
    rho = BudgetFile(tmp_path / "rho.db", ConcentratedLoss(Fraction(1)))
    rho.spend(PureLoss(Fraction(1)))
    assert rho.remaining == Fraction(1, 2)


def test_processes_at_once_spend_no_more_than_there_is(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready, done = context.Barrier(3), context.Queue()
    workers = [context.Process(target=spend_tenths, args=(path, ready, done)) for _ in range(3)]
    for worker in workers:
        worker.start()
    counts = [done.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    assert sum(counts) == 10
    assert BudgetFile(path, 1).remaining == 0


def test_what_is_set_aside_counts_for_others_until_it_is_settled(path: Path) -> None:
    mine, other = BudgetFile(path, 1), BudgetFile(path, 1)
    reservation = mine.reserve(Fraction(3, 4))
    assert [other.spent, other.reserved, other.remaining] == [0, Fraction(3, 4), Fraction(1, 4)]
    with pytest.raises(BudgetError):
        other.spend(Fraction(1, 2))
    reservation.settle(Fraction(1, 4))
    reservation.settle(Fraction(3, 4))  # later calls do nothing
    assert (other.spent, other.remaining) == (Fraction(1, 4), Fraction(3, 4))
    dropped = other.reserve(Fraction(1, 2))
    del dropped  # unsettled: all of it is paid
    assert mine.spent == Fraction(3, 4)


def test_a_settlement_that_comes_while_the_lock_is_held_is_written_later(path: Path) -> None:
    """As that of a finalizer does."""
    ledger = BudgetFile(path, 1)
    reservation = ledger.reserve(1)
    with ledger._lock:
        reservation.settle(Fraction(0))
        assert BudgetFile(path, 1).remaining == 0
    assert ledger.remaining == 1
    assert BudgetFile(path, 1).remaining == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_what_a_killed_process_set_aside_is_gone_and_a_fork_settles_nothing(path: Path) -> None:
    ledger = BudgetFile(path, 1)
    mine = ledger.reserve(Fraction(1, 2))
    child = os.fork()
    if child == 0:
        mine.settle(Fraction(0))  # the parent's
        ledger.spend(Fraction(1, 4))
        kept = ledger.reserve(Fraction(1, 4))
        os._exit(kept is None)
    assert os.waitpid(child, 0)[1] == 0
    mine.settle()
    assert ledger.remaining == 0
    assert [entry["spent"] for entry in ledger.entries()] == [Fraction(1, 2), Fraction(1, 4), None]


def test_a_copy_is_the_same_ledger(path: Path) -> None:
    ledger = BudgetFile(path, 1)
    pickle.loads(pickle.dumps(ledger)).spend(1)
    assert copy.copy(ledger).remaining == 0


def test_what_is_no_ledger_is_refused(path: Path, tmp_path: Path) -> None:
    BudgetFile(path, 1)
    with pytest.raises(ParameterError, match=r"`total` is 2, but the ledger .* has 1"):
        BudgetFile(path, 2)
    with pytest.raises(MechanismError, match="cannot be used"):
        BudgetFile(tmp_path / "no" / "folder.db", 1)
    (tmp_path / "text.db").write_text("spent: nothing" * 100, "utf-8")
    with pytest.raises(MechanismError, match="not a database"):
        BudgetFile(tmp_path / "text.db", 1)


def test_a_run_pays_from_the_file(path: Path) -> None:
    import aligncheck

    mechanisms = Path(__file__).parents[2] / "mechanisms" / "svt_with_gap.py"
    svt = aligncheck.load(mechanisms)
    svt(T=1, k=1, eps=Fraction(1, 2), budget=BudgetFile(path, 1))([5, 6])  # type: ignore[call-arg,operator]
    with sqlite3.connect(path) as file:
        assert file.execute("SELECT most FROM entry").fetchall() == [("1/2",)]

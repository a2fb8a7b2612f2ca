"""Budgets: exact amounts, shared by runs, never overspent, and settled however a run ends."""

from __future__ import annotations

import gc
import inspect
import itertools
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from oracle import compiled_spec as made

import aligncheck.runtime
from aligncheck.compiler.modes import RunMode
from aligncheck.runtime import Budget, BudgetError, MechanismError, ParameterError, ProcessError
from aligncheck.runtime.losses import (
    ApproximateLoss,
    ConcentratedLoss,
    Currency,
    PureLoss,
    concentrated_within,
)

SPECS = Path(__file__).parents[2] / "specs"
TRACED = (str(Path(aligncheck.runtime.__file__).parent), "<generated>")
EXACT = [RunMode.LATTICE, RunMode.REFINED]

ELEVENTH = Fraction(1, 11)


def test_eleven_elevenths_leave_nothing() -> None:
    budget: Any = Budget(1)
    for _ in range(11):
        budget.spend("1/11")
    assert [budget.spent, budget.remaining] == [1, 0]
    with pytest.raises(BudgetError, match="asked 1/11, spent 1, remaining 0") as caught:
        budget.spend(ELEVENTH)
    assert [caught.value.asked, caught.value.spent, caught.value.remaining] == [ELEVENTH, 1, 0]
    assert (budget.spent, budget.remaining) == (1, 0)
    budget.spend(0)


def test_a_reservation_is_settled_once() -> None:
    budget: Any = Budget("0.3")
    reserved = budget.reserve(Fraction(1, 5))
    assert [budget.spent, budget.reserved, budget.remaining] == [Fraction(n, 10) for n in (0, 2, 1)]
    with pytest.raises(BudgetError):
        budget.spend(Fraction(1, 10) + Fraction(1, 10**30))
    reserved.settle(Fraction(1, 20))
    reserved.settle()
    assert [budget.spent, budget.reserved, budget.remaining] == [Fraction(n, 20) for n in (1, 0, 5)]
    over = budget.reserve(Fraction(1, 4))
    over.settle(Fraction(7))
    assert (budget.spent, budget.remaining) == (Fraction(3, 10), 0), "never more than what was set aside"


@pytest.mark.parametrize("amount", [-1, "x", float("nan"), float("inf"), None, True, "-1/3"])
def test_amounts_that_are_none(amount: Any) -> None:
    with pytest.raises(ParameterError, match="`total`"):
        Budget(amount)
    budget: Any = Budget(1)
    with pytest.raises(ParameterError, match="`amount`"):
        budget.spend(amount)
    assert budget.remaining == 1


def test_threads_share_a_budget() -> None:
    budget: Any = Budget(100)
    refused: list[BudgetError] = []

    def spend() -> None:
        for _ in range(200):
            try:
                budget.spend(Fraction(1, 3))
            except BudgetError as error:
                refused.append(error)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (budget.spent, budget.remaining, len(refused)) == (100, 0, 500)


# --- other currencies ---------------------------------------------------------------------------------------


def test_epsilon_and_delta_are_each_added_up() -> None:
    budget: Any = Budget(ApproximateLoss(Fraction(1), Fraction(1, 100)))
    budget.spend("1/4")
    held = budget.reserve(ApproximateLoss(Fraction(1, 4), Fraction(1, 200)))
    with pytest.raises(
        BudgetError, match="asked 0 delta 1/100, spent 1/4 delta 0, remaining 1/2 delta 1/200"
    ):
        budget.spend(ApproximateLoss(Fraction(0), Fraction(1, 100)))
    held.settle(Fraction(0))  # what has a δ is paid whole
    assert budget.amounts()["delta spent"] == Fraction(1, 200)
    assert list(budget.to_frame()["delta remaining"]) == [Fraction(1, 200)]
    with pytest.raises(MechanismError, match="a claim in rho has no price in a budget in epsilon and delta"):
        budget.spend(ConcentratedLoss(Fraction(1)))
    pure = budget.reserve(PureLoss(Fraction(1, 2)))
    pure.settle(Fraction(1, 8))
    assert budget.remaining == Fraction(3, 8)
    assert repr(budget) == "Budget(total=1 delta 1/100, spent=5/8 delta 1/200, remaining=3/8 delta 1/200)"


def test_rho_is_added_up_and_does_not_come_back() -> None:
    budget: Any = Budget(ConcentratedLoss(Fraction(1)))
    budget.spend(ConcentratedLoss(Fraction(1, 4)))
    held = budget.reserve(PureLoss(Fraction(1)))
    assert budget.reserved == Fraction(1, 2)
    held.settle(Fraction(1, 10))
    assert budget.spent == Fraction(3, 4)
    budget.reserve(PureLoss(Fraction(1, 2))).settle(drawn=False)
    assert (budget.remaining, repr(budget)) == (
        Fraction(1, 4),
        "Budget(total=1 zcdp, spent=3/4 zcdp, remaining=1/4 zcdp)",
    )
    with pytest.raises(MechanismError, match="a claim in epsilon and delta has no price in a budget in rho"):
        budget.spend(ApproximateLoss(Fraction(1, 9), Fraction(1, 9)))
    for loss in (ConcentratedLoss(Fraction(1)), ApproximateLoss(Fraction(1), Fraction(1, 9))):
        with pytest.raises(MechanismError, match="has no price in a budget in epsilon"):
            Budget(1).spend(loss)
    with pytest.raises(ParameterError, match="`total` must not be negative"):
        Budget(ApproximateLoss(Fraction(1), Fraction(-1)))
    within = Budget.within(1, "1e-6")
    assert within.currency is Currency.RHO
    assert within.total == concentrated_within(1, "1e-6")


def test_a_run_pays_in_the_currency_of_the_budget() -> None:
    """A claim in ε; and classes that claim another currency, as compiled ones say it."""
    cls = made("svt_with_gap", RunMode.LATTICE)
    for total, paid in ((PureLoss(Fraction(1)), 1), (ConcentratedLoss(Fraction(1)), Fraction(1, 2))):
        budget: Any = Budget(total)
        cls(T=0, k=2, eps=1, budget=budget)([100])
        assert budget.spent == paid
    for currency, loss in (
        (Currency.EPSILON_DELTA, ApproximateLoss(Fraction(1), Fraction(1, 9))),
        (Currency.RHO, ConcentratedLoss(Fraction(1))),
    ):
        other: Any = type(
            "Other", (cls,), {"spec": replace(cls.spec, currency=currency), "bound_delta": Fraction(1, 9)}
        )
        assert other(T=0, k=2, eps=1).loss == loss
        budget = Budget(loss)
        other(T=0, k=2, eps=1, budget=budget)([100])
        assert set(budget.amounts().values()) - set(Budget(loss).amounts().values()) == set()
        assert budget.remaining == 0


# --- however a run ends -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::aligncheck.runtime.errors.UnsafeFloatWarning")
@pytest.mark.parametrize("mode", RunMode)
def test_a_stream_that_never_gave_a_record_spends_nothing(mode: RunMode) -> None:
    budget: Any = Budget(1)
    cls = made("histogram", mode)
    for closes in (True, False):
        mechanism = cls(eps=1, budget=budget)
        records = mechanism.stream([1, 2])
        assert (budget.spent, budget.reserved, mechanism.spent) == (0, 1, 0)
        if closes:
            records.close()
        del records
        gc.collect()
        assert (budget.spent, budget.reserved, mechanism.spent) == (0, 0, 0)
    next(cls(eps=1, budget=budget).stream([1, 2]))
    gc.collect()
    assert (budget.spent, budget.reserved) == (1, 0)


class Drawing:
    """Whether anything was drawn."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.happened = False
        urandom = os.urandom

        def noted(count: int) -> bytes:
            self.happened = True
            return urandom(count)

        patch.setattr(os, "urandom", noted)


def interrupting(place: int, passed: list[str]) -> Callable[..., Any]:
    """A trace function that interrupts where Python looks for signals: as functions of the runtime and of a
    generated module begin, and as calls of them are done. It does so at the `place`-th of these, from 0.
    """
    places = itertools.count()

    def trace(frame: Any, event: str, _: object) -> Any:
        code, names = frame.f_code, (frame.f_code.co_name, frame.f_back.f_code.co_name)
        if not code.co_filename.startswith(TRACED) or "__del__" in names:
            return None  # what interrupts a finalizer, Python does not hand on
        frame.f_trace_lines = False
        if code.co_flags & inspect.CO_GENERATOR:
            return trace  # where it was left off, which `with` guards, a trace function cannot interrupt it
        done = event == "return" and code.co_name != "__enter__"  # the same
        if (event == "call" or done) and next(places) == place:
            passed.append(f"{event} {code.co_name}")
            raise KeyboardInterrupt
        return trace

    return trace


def called(mechanism: Any) -> None:
    mechanism([3, 1])


def streamed(mechanism: Any) -> None:
    records = mechanism.stream([3, 1, 2])
    next(records)
    records.close()


@pytest.mark.parametrize("mode", EXACT)
@pytest.mark.parametrize("work", [called, streamed])
def test_an_interrupt_anywhere_leaves_nothing_set_aside(
    work: Callable[[Any], None], mode: RunMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what was drawn is paid for; what was not is not."""
    drawing = Drawing(monkeypatch)
    cls = made("histogram", mode)
    dangling: list[str] = []
    spent: set[Fraction] = set()
    for place in itertools.count():
        budget: Any = Budget(1)
        mechanism = cls(eps=1, budget=budget, gamma=1)
        passed: list[str] = []
        drawing.happened = False
        before = sys.gettrace()
        with suppress(KeyboardInterrupt):
            try:
                sys.settrace(interrupting(place, passed))
                work(mechanism)
            finally:
                sys.settrace(before)
        waits = budget.reserved != 0
        dangling += passed if waits else []
        del mechanism
        if waits:
            gc.collect()
        spent.add(budget.spent)
        assert (budget.spent, budget.reserved) == (int(drawing.happened), 0), passed
        if not passed:
            break
    assert place > 50
    assert spent == {0, 1}
    assert set(dangling) <= {"call __exit__"}, "it waits until the object is gone"


def test_what_is_let_go_unsettled_is_paid() -> None:
    budget: Any = Budget(2)
    reserved = budget.reserve(1)
    with budget._lock:  # as a finalizer may be called in the middle of anything
        del reserved
    assert (budget.spent, budget.reserved, budget.remaining) == (1, 0, 1)


# --- other processes ----------------------------------------------------------------------------------------


def in_a_fork(work: Callable[[], bool]) -> bool:
    """What work gives in a child of this process."""
    child = os.fork()
    if child == 0:
        holds = False
        with suppress(BaseException):
            holds = work()
        os._exit(0 if holds else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def refused(work: Callable[[], object]) -> bool:
    try:
        work()
    except ProcessError:
        return True
    return False


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_fork_spends_nothing_unseen() -> None:
    budget: Any = Budget(3)
    cls = made("histogram", RunMode.LATTICE)
    begun: Iterator[Any] = cls(eps=1, budget=budget).stream([1, 2, 3])
    free: Iterator[Any] = cls(eps=1).stream([1, 2, 3])
    next(begun)
    reserved = budget.reserve(1)
    assert in_a_fork(lambda: refused(lambda: budget.spend(1)))
    assert in_a_fork(lambda: refused(lambda: budget.remaining))
    assert in_a_fork(lambda: refused(lambda: cls(eps=1, budget=budget)([1])))
    assert in_a_fork(lambda: refused(lambda: next(begun)))
    assert in_a_fork(lambda: refused(lambda: next(free)))
    assert in_a_fork(lambda: "another process" in repr(budget) and reserved.settle() is None)
    with budget._lock:
        assert in_a_fork(lambda: refused(lambda: budget.spend(1))), "a lock that was held hangs no child"
    assert len([*begun, *free]) == 5
    assert (budget.spent, budget.reserved, budget.remaining) == (1, 1, 1)
    reserved.settle(0)


def test_nothing_with_a_budget_is_pickled() -> None:
    budget: Any = Budget(3)
    mechanism = made("histogram", RunMode.LATTICE)(eps=1, budget=budget)
    for each in (budget, vars(mechanism), budget.reserve(1)):
        with pytest.raises(MechanismError, match="a budget cannot be pickled"):
            pickle.dumps(each)

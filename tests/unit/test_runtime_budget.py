"""Budgets: exact amounts, shared by runs, never overspent."""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import Any

import pytest

from aligncheck.runtime import Budget, BudgetError, ParameterError

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

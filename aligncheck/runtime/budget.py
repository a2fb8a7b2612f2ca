"""Privacy budgets, in exact fractions: what several runs may spend together."""

from __future__ import annotations

import threading
from fractions import Fraction

from aligncheck.runtime.errors import BudgetError, ParameterError
from aligncheck.runtime.parameters import RealLike, real, shown


class Budget:
    """An amount of privacy loss (ε, in natural-logarithm units) that the runs it is given to share.

    A run sets aside the most that it may spend before it draws anything, and pays what it spent at its end;
    the rest goes back. Losses of pure differential privacy add up, also where each run is chosen, begun and
    stopped by what the others released; so that what neighbouring data release differs by a factor of at
    most exp(total), whatever the order. Eleven spends of 1/11 leave exactly 0. Threads may share a budget.

    Raises:
        ParameterError: `total` is no number, or negative.
    """

    def __init__(self, total: RealLike) -> None:
        self._total = _amount("total", total)
        self._spent = Fraction(0)
        self._reserved = Fraction(0)
        self._lock = threading.Lock()

    def __copy__(self) -> Budget:
        return self  # there is one budget, however often it is copied

    def __deepcopy__(self, memo: object) -> Budget:
        return self

    @property
    def total(self) -> Fraction:
        """What there was at first."""
        return self._total

    @property
    def spent(self) -> Fraction:
        """What was spent."""
        return self._spent

    @property
    def reserved(self) -> Fraction:
        """What runs in progress may still spend."""
        return self._reserved

    @property
    def remaining(self) -> Fraction:
        """What is neither spent nor set aside for runs in progress."""
        return self._total - self._spent - self._reserved

    def spend(self, amount: RealLike) -> None:
        """Takes an amount.

        Raises:
            BudgetError: less than that remains; nothing is changed.
            ParameterError: the amount is no number, or negative.
        """
        self.reserve(amount).settle()

    def reserve(self, most: RealLike) -> Reservation:
        """Sets an amount aside, until it is settled.

        Raises:
            BudgetError: less than that remains; nothing is changed.
            ParameterError: the amount is no number, or negative.
        """
        amount = _amount("amount", most)
        with self._lock:
            if amount > self.remaining:
                raise BudgetError(amount, self._spent, self.remaining)
            self._reserved += amount
        return Reservation(self, amount)

    def _settle(self, most: Fraction, spent: Fraction) -> None:
        with self._lock:
            self._reserved -= most
            self._spent += spent

    def __repr__(self) -> str:
        return f"Budget(total={self._total}, spent={self._spent}, remaining={self.remaining})"


class Reservation:
    """An amount that was set aside; `settle` pays all or a part of it, once."""

    def __init__(self, budget: Budget, most: Fraction) -> None:
        self._budget = budget
        self._most = most
        self._open = True

    def settle(self, spent: Fraction | None = None) -> None:
        """Pays `spent` (None: all that was set aside), and gives the rest back. Later calls do nothing."""
        if self._open:
            self._open = False
            paid = self._most if spent is None else min(spent, self._most)
            self._budget._settle(self._most, paid)


def _amount(name: str, value: RealLike) -> Fraction:
    amount = real(name, value)
    if amount < 0:
        raise ParameterError(name, f"must not be negative, but is {shown(amount)}")
    return amount

"""Privacy budgets, in exact fractions: what several runs may spend together."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Never, TypeAlias

from aligncheck.runtime.errors import BudgetError, MechanismError, ParameterError, ProcessError
from aligncheck.runtime.frames import pandas
from aligncheck.runtime.parameters import RealLike, real, shown

if TYPE_CHECKING:
    import pandas as pd

_State: TypeAlias = tuple[Fraction, Mapping[object, Fraction]]
"""What was spent, and what is set aside by each open reservation's key."""


class Budget:
    """An amount of privacy loss (ε, in natural-logarithm units) that the runs it is given to share.

    A run sets aside the most that it may spend before it draws anything, and pays at its end: what it spent,
    if it ended by itself or a stream was closed; all that was set aside, if it failed, or was interrupted
    after its first draw; nothing, if it was interrupted or closed before that. The rest goes back. Whatever
    ends a run, once its object is gone nothing is set aside any more.

    Losses of pure differential privacy add up, also where each run is chosen, begun and stopped by what the
    others released; so that what neighbouring data release differs by a factor of at most exp(total),
    whatever the order. Eleven spends of 1/11 leave exactly 0.

    Threads may share a budget. A copy is the same budget. Processes may not share one, since what one of them
    spends the others cannot see: it is not pickled, and after a fork it is the parent's alone.

    Raises:
        ParameterError: `total` is no number, or negative.
        ProcessError: it is asked in another process than the one in which it was made.
    """

    def __init__(self, total: RealLike) -> None:
        self._total = _amount("total", total)
        self._process = os.getpid()
        self._lock = threading.Lock()
        # An interrupt or a finalizer may come between any two steps. So the state is replaced in one; and
        # what was settled is only noted, in one step and without the lock, for whoever holds it next.
        self._state: _State = (Fraction(0), {})
        self._settled: deque[tuple[object, Fraction]] = deque()

    def __copy__(self) -> Budget:
        return self  # there is one budget, however often it is copied

    def __deepcopy__(self, memo: object) -> Budget:
        return self

    def __reduce__(self) -> Never:
        raise MechanismError("a budget cannot be pickled: what a copy in another process spends is not seen")

    @property
    def total(self) -> Fraction:
        """What there was at first."""
        return self._total

    @property
    def spent(self) -> Fraction:
        """What was spent."""
        return self._now()[0]

    @property
    def reserved(self) -> Fraction:
        """What runs in progress may still spend."""
        return sum(self._now()[1].values(), Fraction(0))

    @property
    def remaining(self) -> Fraction:
        """What may still be asked for."""
        return self._remaining(self._now())

    def spend(self, amount: RealLike) -> None:
        """Pays an amount.

        Raises:
            BudgetError: less than that remains; nothing is changed.
            ParameterError: the amount is no number, or negative.
        """
        self.reserve(amount).settle()

    def reserve(self, most: RealLike) -> Reservation:
        """Sets an amount aside, until it is settled; all of it is paid where it is let go unsettled.

        Raises:
            BudgetError: less than that remains; nothing is changed.
            ParameterError: the amount is no number, or negative.
        """
        reservation = Reservation(self, _amount("amount", most))
        reservation.open()
        return reservation

    def _open(self, key: object, amount: Fraction) -> None:
        self._refuse_other_processes()
        with self._lock:
            state = self._up_to_date()
            if amount > self._remaining(state):
                raise BudgetError(amount, state[0], self._remaining(state))
            self._state = (state[0], {**state[1], key: amount})

    def _settle(self, key: object, paid: Fraction) -> None:
        if os.getpid() == self._process:
            self._settled.append((key, paid))

    def _now(self) -> _State:
        self._refuse_other_processes()
        with self._lock:
            return self._up_to_date()

    def _up_to_date(self) -> _State:
        """The state with all that was settled; the lock is held. Noted twice, a settlement counts once."""
        while self._settled:
            key, paid = self._settled[0]
            spent, reserved = self._state
            if key in reserved:
                self._state = (spent + paid, {k: most for k, most in reserved.items() if k is not key})
            self._settled.popleft()
        return self._state

    def _remaining(self, state: _State) -> Fraction:
        return self._total - state[0] - sum(state[1].values(), Fraction(0))

    def _refuse_other_processes(self) -> None:
        """Before the lock is asked for: it may have been held when the process was forked."""
        if os.getpid() != self._process:
            raise ProcessError("this budget is another process's, which would not see what is spent here")

    def __repr__(self) -> str:
        if os.getpid() != self._process:
            return f"Budget(total={self._total}, of another process)"
        return f"{type(self).__name__}(total={self._total}, spent={self.spent}, remaining={self.remaining})"

    def amounts(self) -> dict[str, Fraction]:
        """What there was at first, what was spent, what is set aside, what remains: at one moment."""
        state = self._now()
        reserved = sum(state[1].values(), Fraction(0))
        return {
            "total": self.total,
            "spent": state[0],
            "set aside": reserved,
            "remaining": self._remaining(state),
        }

    def to_frame(self) -> pd.DataFrame:
        """The amounts as a pandas DataFrame of one row, exact numbers in it.

        Raises:
            MissingPandasError: pandas is not installed.
        """
        return pandas().DataFrame([self.amounts()])

    def _repr_html_(self) -> str:
        """In a notebook: a row of a table."""
        amounts = self.amounts()
        head, row = (
            "".join(f"<{tag}>{text}</{tag}>" for text in texts)
            for tag, texts in (("th", amounts), ("td", amounts.values()))
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody><tr>{row}</tr></tbody></table>"


class Reservation:
    """An amount to be set aside by `open`; `settle` pays all or a part of it, once."""

    _key: object = None

    def __init__(self, budget: Budget, most: Fraction) -> None:
        self._budget = budget
        self._most = most
        self._key = object()

    def open(self) -> None:
        """Sets the amount aside. Raises `BudgetError` where less than that remains."""
        self._budget._open(self._key, self._most)

    def settle(self, spent: Fraction | None = None) -> None:
        """Pays `spent` (None: all that was set aside), and gives the rest back. Later calls do nothing."""
        paid = self._most if spent is None else min(spent, self._most)
        self._budget._settle(self._key, paid)

    def __del__(self) -> None:
        if self._key is not None:  # else it was interrupted while it was made
            self._budget._settle(self._key, self._most)


def _amount(name: str, value: RealLike) -> Fraction:
    amount = real(name, value)
    if amount < 0:
        raise ParameterError(name, f"must not be negative, but is {shown(amount)}")
    return amount

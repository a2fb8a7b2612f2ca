"""Privacy budgets, in exact fractions: what several runs may spend together."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Never, Self, TypeAlias

from aligncheck.runtime.errors import BudgetError, MechanismError, ParameterError, ProcessError
from aligncheck.runtime.frames import pandas
from aligncheck.runtime.losses import (
    Amount,
    ConcentratedLoss,
    Currency,
    Loss,
    PureLoss,
    amount_of,
    concentrated_within,
    currency_of,
)
from aligncheck.runtime.parameters import RealLike, real, shown

if TYPE_CHECKING:
    import pandas as pd

_State: TypeAlias = tuple[Amount, Mapping[object, Amount]]
"""What was spent, and what is set aside by each open reservation's key."""


_MAKES = {
    Currency.EPSILON: "epsilon",
    Currency.EPSILON_DELTA: "ApproximateLoss(epsilon, delta)",
    Currency.RHO: "ConcentratedLoss(rho)",
}
"""What a budget in each currency is made of."""


class Budget:
    """An amount of privacy loss that the runs it is given to share: `Budget(1)` in ε (natural logarithms),
    `Budget(ApproximateLoss(epsilon, delta))` in ε and δ, `Budget(ConcentratedLoss(rho))` in ρ, which is
    what `Budget.within(1, "1e-6")` makes of an ε and a δ.

    A run sets aside the most that it may spend before it draws anything, and pays at its end: what it spent,
    if it ended by itself or a stream was closed; all that was set aside, if it failed, or was interrupted
    after its first draw; nothing, if it was interrupted or closed before that. The rest goes back. Whatever
    ends a run, once its object is gone nothing is set aside any more.

    Losses in one currency add up, also where each run, and what it may spend, is chosen by what others
    released, and runs go on side by side: so that all that is released is as private as the total says.
    In ε and δ each by itself (Rogers, Roth, Ullman, Vadhan, *Privacy Odometers and Filters*, NIPS 2016); in
    ρ since what a run may spend is fixed before it draws (Feldman and Zrnic, *Individual Privacy Accounting
    via a Rényi Filter*, NeurIPS 2021); side by side: Haney, Shoemate, Tian, Vadhan, Vyrros, Xu, Zhang,
    *Concurrent Composition for Interactive Differential Privacy with Adaptive Privacy-Loss Parameters*, CCS
    2023. Eleven spends of 1/11 leave exactly 0.

    A run's claim is paid in the budget's currency: ε in ε and δ as it is, in ρ as ε²/2. There what a run did
    not spend does not go back once it has drawn: that an output's own loss is smaller bounds no average over
    outputs. A claim with δ is paid in ε and δ only, one in ρ in ρ only.

    Threads may share a budget. A copy is the same budget. Processes may not share one, since what one of them
    spends the others cannot see: it is not pickled, and after a fork it is the parent's alone.

    Attributes:
        currency: what it adds up. The other numbers are ε, or ρ; those of δ are told by `amounts`.

    Raises:
        ParameterError: `total` is no number, or negative.
        ProcessError: it is asked in another process than the one in which it was made.
    """

    def __init__(self, total: RealLike | Loss) -> None:
        loss = _loss("total", total if isinstance(total, Loss) else PureLoss(_amount("total", total)))
        self.currency = currency_of(loss)
        self._total: Amount = self.currency.price(loss) or ()
        self._process = os.getpid()
        self._lock = threading.Lock()
        # An interrupt or a finalizer may come between any two steps. So the state is replaced in one; and
        # what was settled is only noted, in one step and without the lock, for whoever holds it next.
        self._state: _State = (self._nothing, {})
        self._settled: deque[tuple[object, Amount]] = deque()

    @classmethod
    def within(cls, epsilon: RealLike, delta: RealLike) -> Self:
        """A budget in ρ that leaves everything (ε, δ)-private: as large as the tight conversion allows (see
        `losses.concentrated_within`).
        """
        return cls(ConcentratedLoss(concentrated_within(epsilon, delta)))

    def __copy__(self) -> Budget:
        return self  # there is one budget, however often it is copied

    def __deepcopy__(self, memo: object) -> Budget:
        return self

    def __reduce__(self) -> Never:
        raise MechanismError("a budget cannot be pickled: what a copy in another process spends is not seen")

    @property
    def total(self) -> Fraction:
        """What there was at first."""
        return self._total[0]

    @property
    def spent(self) -> Fraction:
        """What was spent."""
        return self._now()[0][0]

    @property
    def reserved(self) -> Fraction:
        """What runs in progress may still spend."""
        return self._added(self._now()[1].values())[0]

    @property
    def remaining(self) -> Fraction:
        """What may still be asked for."""
        return self._remaining(self._now())[0]

    @property
    def refunds(self) -> bool:
        """Whether what a run did not spend goes back, if it has drawn."""
        return self.currency is not Currency.RHO

    def spend(self, amount: RealLike | Loss) -> None:
        """Pays an amount.

        Raises:
            BudgetError: less than that remains; nothing is changed.
            MechanismError: the amount is a loss that has no price in the budget's currency.
            ParameterError: the amount is no number, or negative.
        """
        self.reserve(amount).settle()

    def reserve(self, most: RealLike | Loss) -> Reservation:
        """Sets an amount aside, until it is settled; all of it is paid where it is let go unsettled.

        Raises:
            BudgetError, MechanismError, ParameterError: as for `spend`.
        """
        reservation = Reservation(self, most)
        reservation.open()
        return reservation

    def priced(self, most: RealLike | Loss) -> Amount:
        """What an amount, or a loss, is in this currency. Raises MechanismError where it has no price."""
        if not isinstance(most, Loss):
            amount = _amount("amount", most)
            most = ConcentratedLoss(amount) if self.currency is Currency.RHO else PureLoss(amount)
        price = self.currency.price(_loss("amount", most))
        if price is None:
            own = currency_of(most)
            raise MechanismError(
                f"a claim in {own.value} has no price in a budget in {self.currency.value}: pay it from one "
                f"in {own.value}, `Budget({_MAKES[own]})`"
            )
        return price

    def _open(self, key: object, amount: Amount) -> None:
        self._refuse_other_processes()
        with self._lock:
            state = self._up_to_date()
            self._allow(amount, state)
            self._state = (state[0], {**state[1], key: amount})

    def _allow(self, amount: Amount, state: _State) -> None:
        """Raises BudgetError where less remains."""
        remaining = self._remaining(state)
        if any(asked > left for asked, left in zip(amount, remaining, strict=True)):
            raise BudgetError(
                amount[0], state[0][0], remaining[0], *map(self._written, (amount, state[0], remaining))
            )

    def _settle(self, key: object, paid: Amount) -> None:
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
                left = {k: most for k, most in reserved.items() if k is not key}
                self._state = (self._added((spent, paid)), left)
            self._settled.popleft()
        return self._state

    def _written(self, amount: Amount) -> str:
        return self.currency.written(amount)

    @property
    def _marks(self) -> tuple[str, ...]:
        """What stands before the name of an amount, for each of its numbers."""
        return ("", "delta ")[: len(self._total)]

    @property
    def _nothing(self) -> Amount:
        return (Fraction(0),) * len(self._total)

    def _added(self, amounts: Iterable[Amount]) -> Amount:
        return tuple(sum(each, Fraction(0)) for each in zip(self._nothing, *amounts, strict=True))

    def _remaining(self, state: _State) -> Amount:
        used = self._added((state[0], *state[1].values()))
        return tuple(most - each for most, each in zip(self._total, used, strict=True))

    def _refuse_other_processes(self) -> None:
        """Before the lock is asked for: it may have been held when the process was forked."""
        if os.getpid() != self._process:
            raise ProcessError("this budget is another process's, which would not see what is spent here")

    def __repr__(self) -> str:
        if os.getpid() != self._process:
            return f"Budget(total={self._written(self._total)}, of another process)"
        state = self._now()
        amounts = (self._total, state[0], self._remaining(state))
        total, spent, remaining = map(self._written, amounts)
        return f"{type(self).__name__}(total={total}, spent={spent}, remaining={remaining})"

    def amounts(self) -> dict[str, Fraction]:
        """What there was at first, what was spent, what is set aside, what remains: at one moment; the same
        of δ, where the budget has one.
        """
        state = self._now()
        each = {
            "total": self._total,
            "spent": state[0],
            "set aside": self._added(state[1].values()),
            "remaining": self._remaining(state),
        }
        return {
            f"{mark}{name}": amount[place]
            for place, mark in enumerate(self._marks)
            for name, amount in each.items()
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

    def __init__(self, budget: Budget, most: RealLike | Loss) -> None:
        self._budget = budget
        self._most = budget.priced(most)
        self._key = object()

    def open(self) -> None:
        """Sets the amount aside. Raises `BudgetError` where less than that remains."""
        self._budget._open(self._key, self._most)

    def settle(self, spent: Fraction | None = None, *, drawn: bool = True) -> None:
        """Pays `spent` (None: all that was set aside), and gives the rest back. Later calls do nothing.

        `spent` is an ε: what has a δ, or is paid in ρ, is paid whole, unless nothing was `drawn`.
        """
        paid = self._most
        if not drawn:
            paid = self._budget._nothing
        elif spent is not None and self._budget.refunds and not any(paid[1:]):
            paid = (min(spent, paid[0]), *paid[1:])
        self._budget._settle(self._key, paid)

    def __del__(self) -> None:
        if self._key is not None:  # else it was interrupted while it was made
            self._budget._settle(self._key, self._most)


def _loss(name: str, loss: Loss) -> Loss:
    """The same in exact numbers, none of which is negative."""
    return type(loss)(*(_amount(name, number) for number in amount_of(loss)))


def _amount(name: str, value: RealLike) -> Fraction:
    amount = real(name, value)
    if amount < 0:
        raise ParameterError(name, f"must not be negative, but is {shown(amount)}")
    return amount

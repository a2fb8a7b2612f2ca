"""The classes that generated mechanisms derive from, and what they say about themselves."""

from __future__ import annotations

import copy
import itertools
import math
import os
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

if TYPE_CHECKING:
    import inspect

from aligncheck.runtime.answers import CleanedAnswers, labels_of
from aligncheck.runtime.bits import Bits, SeededBits, SystemBits
from aligncheck.runtime.budget import Budget, Reservation
from aligncheck.runtime.errors import (
    AlreadyRunError,
    AnswersError,
    MechanismError,
    ParameterError,
    ProcessError,
    UnsafeFloatWarning,
)
from aligncheck.runtime.losses import ApproximateLoss, ConcentratedLoss, Currency, Loss, PureLoss
from aligncheck.runtime.noise import FloatingNoise, Noise
from aligncheck.runtime.parameters import RealLike, real, shown
from aligncheck.runtime.reals import Real
from aligncheck.runtime.refined import common_step
from aligncheck.runtime.result import R, Release, Result

_RUN = "_only_run"
"""The attribute that holds an object's run, once there is one."""

_MADE = "_made"
"""The attribute that an object has once it is made."""

FINEST = 1024
"""A step of the lattice is by default at most 1/1024 of what all declared units are multiples of."""


@dataclass(frozen=True, slots=True)
class ParameterInfo:
    """A public parameter: its name in the spec, its keyword in Python, its sort, and its `where` and default
    in the spec's words.
    """

    name: str
    keyword: str
    sort: str
    vector: bool = False
    where: str | None = None
    default: str | None = None


@dataclass(frozen=True, slots=True)
class QueryInfo:
    """A private input: its name in the spec, its keyword in Python, its sort, one answer or a list.

    `adjacency` and `sensitivity` are the spec's words for how neighbouring data differ: `all`, `1`. `lattice`
    is the declared step, if there is one. `restricted`: a `where` clause speaks of the answers' values.
    `table` are the rows and columns of a list that stands for a table: `n, m`.
    """

    name: str
    keyword: str
    sort: str
    vector: bool
    adjacency: str | None = None
    sensitivity: str | None = None
    lattice: str | None = None
    restricted: bool = False
    table: str | None = None


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """A public function that the caller supplies: its name in the spec and its keyword in Python."""

    name: str
    keyword: str


@dataclass(frozen=True, slots=True)
class Spec:
    """What a generated class was made from: the mechanism's name, its claim as text, its inputs in order.

    `bound` is the most that any output costs, where the claim depends on the output. Both are ε or ρ, by
    the `currency`; `delta` is the δ beside ε.
    """

    name: str
    claim: str
    parameters: tuple[ParameterInfo, ...]
    queries: tuple[QueryInfo, ...]
    functions: tuple[FunctionInfo, ...] = ()
    bound: str | None = None
    currency: Currency = Currency.EPSILON
    delta: str | None = None


class _Fixed(type):
    """Makes objects whose public attributes are set while they are made, and never thereafter."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        made.__dict__[_MADE] = True
        return made

    @property
    def __signature__(cls) -> inspect.Signature:
        """That of the constructor, which `inspect` does not look for behind `__call__`."""
        import inspect

        whole = inspect.signature(cls.__init__)  # type: ignore[misc]
        return whole.replace(parameters=list(whole.parameters.values())[1:])


class Mechanism(metaclass=_Fixed):
    """A verified mechanism with its public parameters; it runs once, and spends its privacy claim then.

    Its parameters do not change once it is made: they were checked then, and its claim is about them.

    Attributes:
        bound: the most that a run spends, in natural-logarithm units, ε or ρ by `spec.currency`; None where
            that depends on how many answers there are and these are not known yet.
        bound_delta: the δ beside it; 0 unless the claim has one.
    """

    spec: ClassVar[Spec]
    callees: ClassVar[tuple[type[Mechanism], ...]] = ()
    """The mechanisms that this one calls."""

    mode: ClassVar[str]
    """How it computes: `lattice`, `refined` or `float`; only the last is not covered by the proof."""

    bound: Real | None = None
    bound_delta: Real = 0

    def __init__(self, *, budget: Budget | None = None, testing_seed: int | None = None) -> None:
        if testing_seed is not None and (isinstance(testing_seed, bool) or not isinstance(testing_seed, int)):
            raise ParameterError("testing_seed", "must be an integer or None")
        if budget is not None and not isinstance(budget, Budget):
            raise ParameterError("budget", "must be a Budget or None")
        self._seed = testing_seed
        self._budget = budget
        self._given_noise: Noise | None = None

    def __setattr__(self, name: str, value: object) -> None:
        if _MADE in self.__dict__ and not name.startswith("_"):
            raise AttributeError(f"`{name}` is fixed: make a new `{type(self).__name__}` with other values")
        super().__setattr__(name, value)

    def with_noise(self, noise: Noise) -> Self:
        """A new object, which did not run yet, drawing from another source, for tests and for calls: its
        results are marked as not private.
        """
        other = copy.copy(self)
        other._given_noise = noise
        other.__dict__.pop(_RUN, None)
        if type(self)._bound is not Mechanism._bound:  # which depends on the answers
            other.__dict__["bound"] = None
        return other

    @property
    def spent(self) -> Fraction:
        """What was spent: 0 before the run; while answers come one by one, what was released so far costs."""
        run: OnlyRun[Any] | None = self.__dict__.get(_RUN)
        return Fraction(0) if run is None else run.spent

    @property
    def remaining(self) -> Fraction:
        """The bound less what was spent: after a run, what the run could have spent and did not.

        Raises:
            MechanismError: the bound depends on how many answers there are, which is not known yet.
        """
        return Fraction(self._most()) - self.spent

    @property
    def loss(self) -> Loss:
        """The most that a run spends, in the currency of the claim.

        Raises:
            MechanismError: as for `remaining`.
        """
        most = Fraction(self._most())
        if self.spec.currency is Currency.EPSILON_DELTA:
            return ApproximateLoss(most, Fraction(self.bound_delta))
        return PureLoss(most) if self.spec.currency is Currency.EPSILON else ConcentratedLoss(most)

    def sensitivities(self) -> dict[str, Real]:
        """How far one answer may move, Δ, by the private input's name in the spec, in the unit of its
        answers; the least, where answers differ in that. Inputs whose values are all neighbours have none.
        """
        return {}

    def _run(self, given: Mapping[str, CleanedAnswers[Any]] = MappingProxyType({})) -> OnlyRun[Any]:
        """A run, not begun yet; `given` are the lists of answers, by their names in the spec.

        Raises:
            AnswersError: lists that are paired have other orders.
        """
        self._refuse_other_order(given)
        noise = self._noise() if self._given_noise is None else self._given_noise
        return OnlyRun(self, noise, Release(noise, given, getattr(self, "gamma", None)))

    def _refuse_other_order(self, given: Mapping[str, CleanedAnswers[Any]]) -> None:
        """Lists are paired by position. Where they have labels, which are public, one that two of them share
        must stand at the same place in both.
        """
        lists = {p.name: labels_of(getattr(self, p.keyword)) for p in self.spec.parameters if p.vector}
        lists |= {name: answers.labels for name, answers in given.items()}
        labelled = [(name, labels) for name, labels in lists.items() if labels is not None]
        first: dict[Hashable, tuple[str, int]] = {}
        for name, labels in labelled:
            if labels == labelled[0][1] and name != labelled[0][0]:
                continue
            for place, label in enumerate(labels if len(labelled) > 1 else ()):
                other, there = first.setdefault(label, (name, place))
                if there != place and other != name:
                    raise AnswersError(
                        name,
                        f"has another order than `{other}`: the label {label!r} is at place {place} here and "
                        f"at place {there} there; bring one into the order of the other, as by `.reindex`",
                    )

    def _begin(self, run: OnlyRun[Any]) -> None:
        """Makes this the object's only run.

        Raises:
            AlreadyRunError: there was one.
        """
        first: object = self.__dict__.setdefault(_RUN, run)  # in one step: threads may share an object
        if first is not run:
            raise AlreadyRunError(
                f"this `{type(self).__name__}` has run already; a new object runs, and spends, anew"
            )
        if self.bound is None:
            self.__dict__["bound"] = self._bound(run.release)

    def _disown(self, run: OnlyRun[Any]) -> None:
        """As if the run had not been begun."""
        if self.__dict__.get(_RUN) is run:
            del self.__dict__[_RUN]

    def _most(self) -> Real:
        if self.bound is None:
            raise MechanismError("what a run may spend depends on how many answers there will be")
        return self.bound

    def _noise(self) -> Noise:
        """A new source of noise."""
        raise NotImplementedError

    def _bits(self) -> Bits:
        return SystemBits() if self._seed is None else SeededBits(self._seed)

    def _bound(self, release: Release[Any]) -> Real:
        """The most that a run on these answers spends; given by those whose bound depends on their number."""
        raise NotImplementedError

    def _cost(self, release: Release[Any]) -> Real:
        """What the output so far costs, which is the bound unless the claim depends on the output."""
        return self._most()

    if not TYPE_CHECKING:  # to a type checker, which knows all attributes, this would be any

        def __getattr__(self, name: str) -> Any:
            why = ": its queries are fixed before the run (see the docstring)" if name == "stream" else ""
            raise AttributeError(f"`{type(self).__name__}` has no `{name}`{why}", name=name, obj=self)

    def __repr__(self) -> str:
        values = ", ".join(f"{p.keyword}={shown(getattr(self, p.keyword))}" for p in self.spec.parameters)
        return f"{type(self).__name__}({values})"


class LatticeMechanism(Mechanism):
    """Computes with exact numbers: noise and answers are multiples of `gamma`, in the unit of the answers.
    Proved in this form.
    """

    mode: ClassVar[str] = "lattice"
    gamma: Fraction

    def _noise(self) -> Noise:
        from aligncheck.runtime.exact_noise import LatticeNoise

        return LatticeNoise(self.gamma, self._bits())


class RefinedMechanism(Mechanism):
    """Computes with exact numbers: noise is real-valued, as in the proof, with as many digits as decisions
    need. What is released is rounded down to multiples of `gamma`, in the unit of the answers.
    """

    mode: ClassVar[str] = "refined"
    gamma: Fraction

    def _noise(self) -> Noise:
        from aligncheck.runtime.exact_noise import RefinedNoise

        return RefinedNoise(self.gamma, self._bits())


class FloatMechanism(Mechanism):
    """Computes in floating point, which no proof covers: for experiments only.

    Warns:
        UnsafeFloatWarning: when it is made.
    """

    mode: ClassVar[str] = "float"

    def __init__(self, *, budget: Budget | None = None, testing_seed: int | None = None) -> None:
        super().__init__(budget=budget, testing_seed=testing_seed)
        warnings.warn(
            f"`{type(self).__name__}` computes in floating point, which its proof does not cover: it is for "
            "experiments, not for the release of sensitive data",
            UnsafeFloatWarning,
            stacklevel=4,  # past the constructors and `_Fixed`: where the object is made
        )

    def _noise(self) -> Noise:
        return FloatingNoise(self._seed)


class OnlyRun(Generic[R]):
    """The only run of a mechanism: `with` begins and ends it, or `stream` does. One that was stopped from
    outside, by an interrupt or by who closes a stream, before it drew anything has spent nothing.

    Attributes:
        noise: where its noise comes from.
        release: what it releases.
        reserved: what it may spend of a budget, if it has one.
    """

    def __init__(self, mechanism: Mechanism, noise: Noise, release: Release[R]) -> None:
        self.noise = noise
        self.release = release
        self.reserved: Reservation | None = None
        self._mechanism = mechanism
        self._process = os.getpid()
        self._failed = self._closed = self._over = False

    def __enter__(self) -> Self:
        """Begins it.

        Raises:
            AlreadyRunError: the object has had a run.
            BudgetError: the budget does not allow it; nothing was drawn.
        """
        mechanism = self._mechanism
        try:
            mechanism._begin(self)
            if mechanism._budget is not None:
                self.reserved = Reservation(mechanism._budget, mechanism.loss)
                self.reserved.open()
            return self
        except BaseException:
            if self.reserved is not None:
                self.reserved.settle(drawn=False)
            mechanism._disown(self)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._end(kind)
        except BaseException:  # an interrupt, in the middle of this
            self._end(kind)
            raise

    def _end(self, kind: type[BaseException] | None) -> None:
        # Whether and where a run fails may tell something, so one that failed has spent all that it could.
        self._failed = kind is not None
        self._over = not self._closed if kind is None else issubclass(kind, Exception)
        if self.reserved is not None:
            self.reserved.settle(self.spent, drawn=self._drawn)

    @property
    def _drawn(self) -> bool:
        """False where it is stopped from outside before it drew anything."""
        return self._over or self.noise.begun or bool(self.release.count())

    @property
    def spent(self) -> Fraction:
        """What the run has spent so far: nothing, if it is stopped from outside before it drew anything."""
        if not self._drawn:
            return Fraction(0)
        mechanism = self._mechanism
        return Fraction(mechanism._most() if self._failed else mechanism._cost(self.release))

    def result(self) -> Result[R]:
        """What was released, with everything that must be said about it."""
        mechanism = self._mechanism
        given = mechanism._given_noise is not None
        remark = self.noise.remark or ("not private (noise from elsewhere)" if given else None)
        return self.release.result(
            mechanism.spec.name,
            mechanism._cost(self.release),
            mechanism._most(),
            mechanism.mode,
            remark,
            mechanism.spec.currency,
            mechanism.bound_delta,
        )

    def stream(self, rounds: Iterator[R]) -> Iterator[R]:
        """The records of a program, each as soon as it is released; none of them is kept here. The run begins
        at once, so that it ends, and gives back what it set aside, however the records are let go.

        Raises:
            AlreadyRunError, BudgetError: see `__enter__`.
        """
        self.release.forget()
        records = self._each(rounds)
        next(records)
        return records

    def _each(self, rounds: Iterator[R]) -> Iterator[Any]:
        """First nothing, then the records."""
        with self:
            for record in itertools.chain([None], rounds):
                try:
                    yield record
                except GeneratorExit:  # here it says that no more is asked for; elsewhere it is an error
                    self._closed = True
                    return
                if os.getpid() != self._process:
                    raise ProcessError("a stream that was begun in another process does not go on here")


def resolution(gamma: RealLike | None, units: Mapping[str, Real | Sequence[Real]]) -> Fraction:
    """The step γ of the lattice, in the unit of the answers: what was given, if it divides every unit. By
    default the units' greatest common divisor G, divided by the least integer that makes this at most 1/1024.

    `units` holds sensitivities, declared lattices, ends of ranges, …, by their text in the spec; one that is
    a list stands for all of its entries.

    Raises:
        ParameterError: `gamma` is not positive, or does not divide a unit.
    """
    values = {text: unit if isinstance(unit, Sequence) else (unit,) for text, unit in units.items()}
    if gamma is None:
        every = (Fraction(value) for each in values.values() for value in each)
        common = reduce(common_step, every, Fraction(0)) or Fraction(1)
        return common / math.ceil(FINEST * common)
    step = real("gamma", gamma)
    if step <= 0:
        raise ParameterError("gamma", f"must be positive, but is {shown(step)}")
    for text, each in values.items():
        for value in each:
            if (Fraction(value) / step).denominator != 1:
                raise ParameterError("gamma", f"must divide `{text}` = {shown(value)}, but is {shown(step)}")
    return step

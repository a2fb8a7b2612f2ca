"""Values of one symbolic run: noise stays symbolic, everything else is exact and concrete.

A number is a rational or a surd, or an affine form of noise variables, or an increasing function of one. What
a selection gives is decided only where it matters: a `Rank` is the index at one place of it, an `Extreme` the
value there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

from flint import fmpq

from aligncheck.language.families import Family
from aligncheck.language.syntax import nodes
from aligncheck.refutation.elimination import Form, scaled
from aligncheck.refutation.enclosure import NotComputable
from aligncheck.refutation.irrationals import Real, ceiling, floor, sign, simple, to_ball

Interval: TypeAlias = tuple[Real | None, Real | None]


def intersected(one: Interval, other: Interval) -> Interval:
    """What two intervals share."""
    (least, most), (low, high) = one, other
    if low is None or (least is not None and least > low):
        low = least
    if high is None or (most is not None and most < high):
        high = most
    return low, high


class Affine:
    """The sum of `coefficients` (of noise variables; int or fmpq, none 0, at least one) times noise, plus a
    constant.
    """

    __slots__ = ("coefficients", "constant")

    def __init__(self, coefficients: Mapping[int, Any], constant: Real) -> None:
        self.coefficients = coefficients
        self.constant = constant

    @property
    def key(self) -> tuple[object, ...]:
        """The same for equal forms."""
        return (*sorted(self.coefficients.items()), str(self.constant))


@dataclass(frozen=True, slots=True, eq=False)
class Contender:
    """An index that a selection may take, and the value that it is taken by (the greater, the earlier)."""

    index: int
    value: Linear


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicSelection:
    """The `most` greatest of the candidates (None: all), in order; of equal values the lower index first.

    With a `threshold` only those that reach it (exceed it, where `strict`). `sign` is -1 where the candidates
    carry negated values.
    """

    key: tuple[object, ...]
    candidates: tuple[Contender, ...]
    most: int | None
    threshold: Linear | None = None
    strict: bool = False
    sign: int = 1

    @property
    def limit(self) -> int:
        """How many are selected at most."""
        held = len(self.candidates)
        return held if self.most is None else min(self.most, held)


@dataclass(frozen=True, slots=True)
class Picked:
    """What is decided of a selection: its first entries, and its length (None: open, or not in question)."""

    entries: tuple[int, ...] = ()
    length: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Rank:
    """The index at one place of a selection."""

    selection: SymbolicSelection
    place: int


@dataclass(frozen=True, slots=True, eq=False)
class Extreme:
    """The value at the first place of a selection."""

    selection: SymbolicSelection


@dataclass(frozen=True, slots=True, eq=False)
class Shaped:
    """`scale * function(inner) + offset`, the function being increasing where `inner` may lie.

    `floor`, `exp`, `ln` (inner > 0), `sqrt` and `square` (inner >= 0), `inverse` (-1/inner, inner > 0). Of a
    `quotient` it is inner / below, where `below` is positive; `below` belongs to that alone.
    """

    function: str
    inner: Affine | Shaped
    scale: Real = field(default_factory=lambda: fmpq(1))
    offset: Real = field(default_factory=lambda: fmpq(0))
    below: Affine | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Deferred:
    """An expression that is evaluated where its value is needed, in the frame as it was."""

    expression: nodes.Gather
    frame: CallFrame


@dataclass(frozen=True, slots=True, eq=False)
class ReturnedRecord:
    """One record that a call gave back."""

    tag: str
    fields: tuple[tuple[str, Scalar], ...]


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicRelease:
    """What a call gave back."""

    records: tuple[ReturnedRecord, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Opaque:
    """A number that nothing depends on: its value was not asked for."""


OPAQUE = Opaque()
Linear: TypeAlias = Any
"""fmpq | Surd | Affine."""
Scalar: TypeAlias = Any
"""bool | fmpq | Surd | Affine | Shaped | Rank | Extreme | Deferred | Opaque."""
Held: TypeAlias = Any
"""What a variable may hold: a scalar, a `SymbolicSelection`, a `SymbolicRelease`."""


class CallFrame:
    """The names of one running mechanism."""

    __slots__ = ("bound", "draws", "inputs", "mechanism", "records", "variables")

    def __init__(self, mechanism: nodes.Mechanism, inputs: Mapping[str, Any]) -> None:
        self.mechanism = mechanism
        self.inputs = inputs
        self.variables: dict[str, Held] = {}
        self.draws: dict[tuple[str, int | None], Linear] = {}
        self.bound: dict[str, Scalar] = {}
        self.records: tuple[ReturnedRecord, ...] = ()

    def copy(self) -> CallFrame:
        """A frame that goes its own way."""
        other = CallFrame(self.mechanism, self.inputs)
        other.variables = dict(self.variables)
        other.draws = dict(self.draws)
        other.bound = self.bound
        other.records = self.records
        return other


@dataclass(frozen=True, slots=True)
class NoiseLaw:
    """One noise variable. `rate` is 1/scale; lattice noise counts steps, and its `rate` is per step.

    For a logistic variable `location`, `scale` and `low` are given instead. `more`: what a tail depends on
    besides.
    """

    name: str
    index: int | None
    family: Family | None
    rate: Real
    span: Any = field(compare=False)
    location: Real | None = None
    low: Real | None = None
    more: tuple[Real, ...] = ()

    @property
    def alone(self) -> bool:
        """Whether only the probabilities of its intervals have closed forms, not those of sums with it."""
        return self.family is None or not self.family.exponential

    def tail(self, x: Any) -> Any:
        """P(the number is above x) in scales from its location, of such noise."""
        known = None if self.family is None else self.family.row.tail
        return 1 / (1 + x.exp()) if known is None else known(x, *map(to_ball, self.more))

    @property
    def lattice(self) -> bool:
        """Whether it is an integer."""
        return self.family is not None and self.family.discrete

    @property
    def one_sided(self) -> bool:
        """Whether it is never negative."""
        return self.family is not None and self.family.one_sided

    @property
    def bounded(self) -> bool:
        """Whether it is never more than its scale."""
        return self.family is not None and self.family.bounded


class Known:
    """A conjunction of intervals of linear forms, and the noise that they are about."""

    __slots__ = ("intervals", "noises")

    def __init__(self) -> None:
        self.intervals: dict[Form, Interval] = {}
        self.noises: list[NoiseLaw] = []

    def copy(self) -> Known:
        """A conjunction that grows on its own."""
        other = Known()
        other.intervals = dict(self.intervals)
        other.noises = list(self.noises)
        return other

    def is_lattice(self, variable: int) -> bool:
        """Whether a variable is an integer."""
        return self.noises[variable].lattice

    def interval(self, form: Form) -> Interval:
        """What is known of a form, supports included."""
        found = self.intervals.get(form)
        if found is not None:
            return found
        if len(form) == 1 and self.noises[form[0][0]].one_sided:
            return (0 if self.noises[form[0][0]].lattice else fmpq(0)), None
        return None, None

    def narrow(self, form: Form, low: Real | None, high: Real | None) -> bool:
        """Adds an interval. False where nothing is left (of a continuous form: only a null set)."""
        self.intervals[form] = found = intersected(self.interval(form), (low, high))
        return self._some(form, found)

    def _some(self, form: Form, interval: Interval) -> bool:
        """Whether there is more than a null set in an interval (on a lattice: anything)."""
        low, high = interval
        if low is None or high is None:
            return True
        return bool(low <= high if self._whole(form) else low < high)

    def _whole(self, form: Form) -> bool:
        return all(self.noises[variable].lattice for variable, _ in form)

    def half(self, value: Affine, op: str) -> tuple[Form, Interval]:
        """The interval in which the form of `value` lies where `value op 0` holds; op is < <= > >=.

        On a continuous form strictness does not matter: the difference has probability 0.
        """
        form, by = scaled(value.coefficients, self.is_lattice)
        bound = -(value.constant * by)
        upward = op in (">", ">=")
        if by < 0:
            upward = not upward
        if not self._whole(form):
            return form, ((bound, None) if upward else (None, bound))
        strict = op in ("<", ">")
        if upward:
            return form, (floor(bound) + 1 if strict else ceiling(bound), None)
        return form, (None, ceiling(bound) - 1 if strict else floor(bound))

    def point(self, value: Affine) -> tuple[Form, int | None] | None:
        """The form and the integer at which `value` is 0; None where that has probability 0."""
        form, by = scaled(value.coefficients, self.is_lattice)
        if not self._whole(form):
            return None
        bound = -(value.constant * by)
        return (form, floor(bound)) if floor(bound) == ceiling(bound) else None

    def overlaps(self, form: Form, interval: Interval) -> bool:
        """Whether what is known leaves more than a null set of the interval (on a lattice: anything).

        Says nothing of what other forms imply.
        """
        return self._some(form, intersected(self.interval(form), interval))


def plus(one: Linear, other: Linear) -> Linear:
    """The sum of two numbers, either of which may be affine."""
    if not isinstance(one, Affine):
        if not isinstance(other, Affine):
            return one + other
        return Affine(other.coefficients, one + other.constant)
    if not isinstance(other, Affine):
        return Affine(one.coefficients, one.constant + other)
    coefficients = dict(one.coefficients)
    for variable, factor in other.coefficients.items():
        value = simple(coefficients.get(variable, 0) + factor)
        if value == 0:
            del coefficients[variable]
        else:
            coefficients[variable] = value
    constant = one.constant + other.constant
    return Affine(coefficients, constant) if coefficients else constant


def times(value: Linear, factor: Real) -> Linear:
    """An affine number times a constant one."""
    if not isinstance(value, Affine):
        return value * factor
    if factor == 0:
        return fmpq(0)
    if not isinstance(factor, fmpq | int):
        raise NotComputable("noise is multiplied by an irrational number")
    coefficients = {v: simple(c * factor) for v, c in value.coefficients.items()}
    return Affine(coefficients, value.constant * factor)


def minus(one: Linear, other: Linear) -> Linear:
    """The difference of two numbers."""
    return plus(one, times(other, -1))


def never(node: nodes.Node, reason: str) -> NoReturn:
    """Leaves the class of what is computed."""
    raise NotComputable(reason, node.span)


def holds(value: Real, op: str) -> bool:
    """Whether a constant compares so with 0."""
    order = sign(value)
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0, "==": order == 0}[op]

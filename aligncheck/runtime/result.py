"""What a run gives back: the released records, the privacy spent, and what must be said about both."""

from __future__ import annotations

import dataclasses
import html
import json
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from aligncheck.runtime.answers import CleanedAnswers
from aligncheck.runtime.estimates import ChoiceGap, Estimate, GapNoise
from aligncheck.runtime.frames import pandas
from aligncheck.runtime.losses import Currency
from aligncheck.runtime.noise import Noise
from aligncheck.runtime.reals import Real, nearest_float
from aligncheck.runtime.refined import RefinedNumber

if TYPE_CHECKING:
    import pandas as pd

_CLOSE = 1 << 40
"""Irrational means are taken as the nearest number with a denominator up to this."""

FLOAT = "float"
"""The mode that no proof covers."""

FLOATING_POINT_REMARK = (
    "unsafe, floating point: the proof is about real-valued noise; this build is for experiments, "
    "not for the release of sensitive data"
)


@dataclass(frozen=True, slots=True)
class Ahead:
    """Records that are ranks, from the greatest noisy answer on: `field` says how far each is ahead of the
    next. `noise` is that of such a difference. Where a public threshold takes part, its index is `threshold`
    in the field `at`, and it is `value` before its noise.
    """

    field: str
    noise: GapNoise
    at: str | None = None
    threshold: int = 0
    value: Real = 0
    resolution: Fraction = Fraction(0)

    def between(self, records: Sequence[Record], first: int, last: int) -> Estimate:
        """How far record `first` is ahead of record `last`, which may be one more than there are."""
        gaps = [getattr(record, self.field) for record in records[first:last]]
        return Estimate(sum(gaps), self.noise, self.resolution)

    def estimates(self, records: Sequence[Record]) -> tuple[Estimate | None, ...]:
        """The answers, where the threshold is the last record, and so what is ahead of it is known."""
        last = len(records) - 1
        ends = self.at is not None and bool(records) and getattr(records[last], self.at) == self.threshold
        # Inside a call the caller takes the gaps themselves.
        if not ends or any(isinstance(getattr(each, self.field), RefinedNumber) for each in records):
            return (None,) * len(records)
        found = [self.between(records, place, last) for place in range(last)]
        return (*(dataclasses.replace(e, value=e.value + self.value) for e in found), None)


class Record(Protocol):
    """A released record: a frozen dataclass with the tag of its `emit` statement."""

    tag: ClassVar[str]
    __dataclass_fields__: ClassVar[dict[str, Any]]


R = TypeVar("R", bound=Record)
R_co = TypeVar("R_co", bound=Record, covariant=True)


@dataclass(frozen=True)  # without slots, a refused attribute is an AttributeError, as OpenDP expects it
class Result(Generic[R_co]):
    """The output of one run.

    Attributes:
        mechanism: the mechanism's name in its spec.
        records: what was released, in order.
        spent: the privacy claim, evaluated: this run's ε, or its ρ, by the `currency`. It may depend on the
            records.
        bound: the most that any run with these parameters spends; `spent`, where that does not depend on the
            records.
        labels: the name of the query that each record answers, where queries have names (a Series' index) and
            the output itself determines which query it was; None for the other records.
        estimates: what each record that releases a gap to a threshold tells about its answer:
            `result.estimates[0].lower_bound(0.95)`; None for the other records. Where gaps lead from record
            to record down to the threshold, the sum of those from a record on.
        mode: how the run computed: `lattice`, `refined`, or `float`, which is unsafe (see `notes`).
        gamma: the step of which answers, noise or what was released are multiples, in the unit of the
            answers; None in floating point.
        private: whether the proof covers this run. False in floating point, and where the noise was seeded,
            recorded, or came from elsewhere.
        notes: what a reader of the records must know.
        choices: what the gap beside each choice of the exponential mechanism tells about the choice:
            `result.choices[0].p_value`; None for the other records.
        currency: what `spent` and `bound` are in: ε, ε beside a δ, or ρ.
        delta: this δ; 0 where the claim has none.
    """

    mechanism: str
    records: tuple[R_co, ...]
    spent: Real
    bound: Real
    labels: tuple[Hashable | None, ...]
    estimates: tuple[Estimate | None, ...]
    mode: str
    gamma: Fraction | None
    private: bool
    notes: tuple[str, ...]
    choices: tuple[ChoiceGap | None, ...] = ()
    ahead: Ahead | None = None
    currency: Currency = Currency.EPSILON
    delta: Real = 0

    def gap_between(self, a: int, b: int) -> Estimate:
        """How far the answer at rank `a` is above that at rank `b`, from the gaps between them; the first
        record has rank 1. One more than there are records is the rank of the best that was not selected.

        The variance is that of two draws: 16 k²/ε² where each has scale 2k/ε. Answers are selected with their
        noise, so that those of high rank are more often overestimated than not. Where digits are drawn on
        demand, each gap was rounded down to a multiple of `gamma`.

        Source: VLDB paper, section 5.1; dissertation, section 5.5.

        Raises:
            ValueError: the records are not ranks with gaps, or there are no such ranks with a < b.
        """
        if self.ahead is None:
            raise ValueError(
                f"the records of `{self.mechanism}` are not ranks, each with its gap to the next"
            )
        if not 1 <= a < b <= len(self.records) + 1:
            raise ValueError(f"ranks go from 1 to {len(self.records) + 1}, the greater answer first")
        return self.ahead.between(self.records, a - 1, b - 1)

    @property
    def left(self) -> Real:
        """What this run did not spend of its bound."""
        return self.bound - self.spent

    def to_frame(self) -> pd.DataFrame:
        """The records as a pandas DataFrame: the column `tag`, then one column per field.

        Rows are indexed by `labels` where some record has one, else by number from 0. A field that a record
        does not have is missing; fractions become floats, and integers stay integers.

        Raises:
            MissingPandasError: pandas is not installed.
        """
        pd = pandas()
        rows = [row_of(record) for record in self.records]
        columns = list(dict.fromkeys(name for row in rows for name in row))
        table: dict[str, list[Any]] = {"tag": [record.tag for record in self.records]}
        for name in columns:
            values = [_plain(row.get(name)) for row in rows]
            kind = pd.Int64Dtype() if _some_small_integers(values) else None  # else pandas makes 3 a 3.0
            table[_free(name, table)] = pd.Series(values, dtype=kind)
        frame = pd.DataFrame(table)
        if any(label is not None for label in self.labels):
            partly = any(label is None for label in self.labels)
            frame.index = pd.Index(self.labels, dtype=object if partly else None, tupleize_cols=not partly)
        return frame

    def to_json(self) -> str:
        """All of it as text: exact numbers as strings (`"1/2"`), floats as numbers; `from_json` reads it.

        Raises:
            TypeError: a label is neither text, a number nor None, nor a tuple of such.
        """
        parts = (part for label in self.labels for part in (label if isinstance(label, tuple) else (label,)))
        if any(not isinstance(part, str | int | float | None) for part in parts):
            raise TypeError("labels that are written as JSON must be texts or numbers, or tuples of them")
        document = {
            "mechanism": self.mechanism,
            "records": [
                {"tag": r.tag, "fields": {name: _written(value) for name, value in row_of(r).items()}}
                for r in self.records
            ],
            "spent": _written(self.spent),
            "bound": _written(self.bound),
            "currency": self.currency.value,
            "delta": _written(self.delta),
            "labels": list(self.labels),
            "estimates": [None if e is None else _estimate_written(e) for e in self.estimates],
            "mode": self.mode,
            "gamma": None if self.gamma is None else _written(self.gamma),
            "private": self.private,
            "notes": list(self.notes),
            "choices": [
                c and {"gap": _written(c.gap), "unit": _written(c.unit), "p_value": c.p_value}
                for c in self.choices
            ],
            "ahead": None if self.ahead is None else _ahead_written(self.ahead),
        }
        return json.dumps(document, indent=2)

    @classmethod
    def from_json(cls, text: str, *kinds: type[R_co]) -> Result[R_co]:
        """The result that `to_json` wrote; `kinds` are the classes of its records, from the compiled module.

        Raises:
            ValueError: the text is no such document, or has a record of none of the kinds.
        """
        try:
            document = json.loads(text)
            by_tag = {kind.tag: kind for kind in kinds}
            records = tuple(
                by_tag[record["tag"]](*map(_read, record["fields"].values()))
                for record in document["records"]
            )
            return cls(
                mechanism=document["mechanism"],
                records=records,
                spent=_read(document["spent"]),
                bound=_read(document["bound"]),
                labels=tuple(tuple(x) if isinstance(x, list) else x for x in document["labels"]),
                estimates=tuple(None if e is None else _estimate_read(e) for e in document["estimates"]),
                mode=document["mode"],
                gamma=None if document["gamma"] is None else Fraction(document["gamma"]),
                private=document["private"],
                notes=tuple(document["notes"]),
                choices=tuple(
                    None if c is None else ChoiceGap(_read(c["gap"]), _read(c["unit"]))
                    for c in document.get("choices", ())
                ),
                ahead=None if document.get("ahead") is None else _ahead_read(document["ahead"]),
                currency=Currency(document.get("currency", Currency.EPSILON.value)),
                delta=_read(document.get("delta", "0")),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is not what `to_json` wrote, or not of these records: {error}") from error

    def _repr_html_(self) -> str:
        """In a notebook: the records as a table, and what was spent."""
        rows = [{name: str(value) for name, value in row_of(record).items()} for record in self.records]
        columns = list(dict.fromkeys(name for row in rows for name in row))
        head = "".join(f"<th>{html.escape(name)}</th>" for name in ("", "released", *columns))
        body = "".join(
            f"<tr><th>{html.escape(str(number if label is None else label))}</th>"
            + "".join(f"<td>{html.escape(t)}</td>" for t in (record.tag, *(row.get(c, "") for c in columns)))
            + "</tr>"
            for number, (record, row, label) in enumerate(zip(self.records, rows, self.labels, strict=True))
        )
        best = (
            f"{number}: the returned answer is the best one, p = {choice.p_value:.3g}"
            for number, choice in enumerate(self.choices)
            if choice is not None
        )
        spent, bound = (self.currency.written((each, self.delta)) for each in (self.spent, self.bound))
        said = "; ".join((f"privacy spent: {spent} of at most {bound}", *best, *self.notes))
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"<div><p>{html.escape(self.mechanism)}: {html.escape(said)}</p>{table}</div>"


class Release(Generic[R]):
    """Collects the records of a run in progress.

    `given` holds the lists of answers by their names in the spec, of which labels and lengths are used.
    """

    def __init__(
        self, noise: Noise, given: Mapping[str, CleanedAnswers[Any]], gamma: Fraction | None = None
    ) -> None:
        self.given = given
        self._noise = noise
        self._gamma = gamma
        self._counts: Counter[str] = Counter()
        self._keeps = True
        self._fields: dict[type[R], tuple[str, ...]] = {}
        self._records: list[R] = []
        self._labels: list[Hashable | None] = []
        self._estimates: list[Estimate | None] = []
        self._choices: list[ChoiceGap | None] = []
        self._ranks: Callable[[], Ahead] | None = None

    def forget(self) -> None:
        """From now on records are counted, not kept: they are handed out one by one."""
        self._keeps = False

    def emit(
        self,
        record: R,
        query: tuple[str, int] | None = None,
        estimate: tuple[str, Real, GapNoise] | None = None,
        choice: tuple[str, Real] | None = None,
    ) -> R:
        """Releases one record, and gives it back as it was released.

        `query` is the vector and the index of the answer that it is about, given only where the output
        determines that index: other labels would tell more than the output does. An index outside the vector
        stands for no answer (for a public threshold among them, say). `estimate` is given where a
        field is a gap: the field's name in Python, the public number that must be added to it so that it is
        the answer and the noise as drawn, and that noise. `choice` is given where a field is the gap beside a
        choice of the exponential mechanism: its name in Python, and the scale of its noise.
        """
        record = self._released(record)
        self._counts[record.tag] += 1
        if self._keeps:
            self._records.append(record)
            self._labels.append(None if query is None else self._label(*query))
            self._estimates.append(
                None if estimate is None else _estimate(record, *estimate, self._gamma or Fraction(0))
            )
            self._choices.append(None if choice is None else _choice(getattr(record, choice[0]), choice[1]))
        return record

    def ranks(self, ahead: Callable[[], Ahead]) -> None:
        """Says of the records to come that each is a rank; asked only if there are records."""
        self._ranks = ahead

    def _released(self, record: R) -> R:
        """The record with its numbers as the noise lets them out."""
        kind = type(record)
        if kind not in self._fields:
            self._fields[kind] = tuple(field.name for field in dataclasses.fields(record))
        released, changed = [], False
        for name in self._fields[kind]:
            number = given = getattr(record, name)
            if not isinstance(given, int):
                number = self._noise.released(given)
                changed = changed or number is not given
            released.append(number)
        return kind(*released) if changed else record

    def _label(self, vector: str, index: int) -> Hashable | None:
        labels = self.given[vector].labels if vector in self.given else None
        return labels[index] if labels is not None and 0 <= index < len(labels) else None

    def count(self, tag: str | None = None) -> int:
        """How many records were released, in all or with a tag."""
        return self._counts.total() if tag is None else self._counts[tag]

    def result(
        self,
        mechanism: str,
        spent: Real,
        bound: Real,
        mode: str,
        remark: str | None,
        currency: Currency = Currency.EPSILON,
        delta: Real = 0,
    ) -> Result[R]:
        """What was released, with everything that must be said about it; `remark` says why it is not private
        whatever was proved, if so.
        """
        ahead = None if self._ranks is None or not self._records else self._ranks()
        if ahead is not None:
            ahead = dataclasses.replace(ahead, resolution=self._gamma or Fraction(0))
        remarks = (FLOATING_POINT_REMARK if mode == FLOAT else None, remark)
        return Result(
            mechanism=mechanism,
            records=tuple(self._records),
            spent=spent,
            bound=bound,
            labels=tuple(self._labels),
            estimates=tuple(self._estimates) if ahead is None else ahead.estimates(self._records),
            mode=mode,
            gamma=self._gamma,
            private=remark is None and mode != FLOAT,
            notes=tuple(each for each in remarks if each is not None),
            choices=tuple(self._choices),
            ahead=ahead,
            currency=currency,
            delta=delta,
        )


def row_of(record: Record) -> dict[str, Fraction | float]:
    """A record's fields by name, in the order in which the spec lists them."""
    return {f.metadata.get("name", f.name): getattr(record, f.name) for f in dataclasses.fields(record)}


def _written(value: Real) -> str | float:
    """An exact number as text, a float as it is."""
    return value if isinstance(value, float) else str(value)


def _read(value: str | float) -> Any:
    """What `_written` wrote: whole numbers without a fraction bar are integers."""
    if isinstance(value, str):
        return Fraction(value) if "/" in value else int(value)
    return value


def _noise_written(noise: GapNoise) -> dict[str, Any]:
    return {
        "answer_scale": _written(noise.answer_scale),
        "threshold_scale": _written(noise.threshold_scale),
        "one_sided": noise.one_sided,
        "step": _written(noise.step),
    }


def _noise_read(document: Mapping[str, Any]) -> GapNoise:
    answer, threshold, step = (_read(document[each]) for each in ("answer_scale", "threshold_scale", "step"))
    return GapNoise(answer, threshold, document["one_sided"], step)


def _ahead_written(ahead: Ahead) -> dict[str, Any]:
    threshold = {"at": ahead.at, "threshold": ahead.threshold, "value": _written(ahead.value)}
    resolution = {"resolution": _written(ahead.resolution)}
    return {"field": ahead.field, **_noise_written(ahead.noise), **threshold, **resolution}


def _ahead_read(document: Mapping[str, Any]) -> Ahead:
    value, resolution = _read(document["value"]), Fraction(document["resolution"])
    threshold = document["at"], document["threshold"], value
    return Ahead(document["field"], _noise_read(document), *threshold, resolution)


def _estimate_written(estimate: Estimate) -> dict[str, Any]:
    written = {"value": _written(estimate.value), "resolution": _written(estimate.resolution)}
    return written | _noise_written(estimate.noise)


def _estimate_read(document: Mapping[str, Any]) -> Estimate:
    return Estimate(_read(document["value"]), _noise_read(document), Fraction(document["resolution"]))


def _estimate(record: Record, field: str, added: Real, noise: GapNoise, gamma: Fraction) -> Estimate | None:
    gap = getattr(record, field)
    if isinstance(gap, RefinedNumber):  # inside a call: the caller takes the gap itself
        return None
    centre = added - noise.mean
    if noise.step:  # means that a program has taken off already cancel, but for the rounding of either
        centre = centre if isinstance(centre, float) else Fraction(centre).limit_denominator(_CLOSE)
        gamma = Fraction(0)
    return Estimate(gap + centre, noise, gamma)


def _choice(gap: Real, unit: Real) -> ChoiceGap | None:
    """None inside a call, whose caller takes the gap itself; and where a public factor makes it no gap."""
    return ChoiceGap(gap, unit) if isinstance(gap, int | Fraction | float) and unit > 0 and gap >= 0 else None


def _plain(value: object) -> object:
    """A fraction as a float; infinite where no float is that large."""
    return nearest_float(value) if isinstance(value, Fraction) else value


def _some_small_integers(values: list[object]) -> bool:
    """Whether there are 64-bit integers, and missing values, and nothing else."""
    present = [value for value in values if value is not None]
    small = all(type(value) is int and -(2**63) <= value < 2**63 for value in present)
    return 0 < len(present) < len(values) and small


def _free(name: str, taken: Mapping[str, object]) -> str:
    while name in taken:
        name += "_"
    return name

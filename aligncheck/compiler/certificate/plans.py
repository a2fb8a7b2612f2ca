"""Plans as lines of a certificate, and back: see `proof.Plan`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from aligncheck.compiler.certificate.notation import NotationError, read, write
from aligncheck.compiler.certificate.proof import Plan, ProofError, Subject
from aligncheck.compiler.certificate.scripts import Kept, Part
from aligncheck.language.syntax.contract import Bound
from aligncheck.language.syntax.nodes import Expr, Number
from aligncheck.language.syntax.unparse import unparse_expr
from aligncheck.search.discharge.guarantees import ZERO, lengths, numbers
from aligncheck.search.discharge.whole import Choices
from aligncheck.search.relational.terms import App, Const, Sym, Term, Truth

_RANGES = re.compile(r"(\d{1,6}(-\d{1,6})?( \d{1,6}(-\d{1,6})?)*)?", re.ASCII)
_MOST = 100_000
_GOAL: Part = (0, 0)
"""What every question asserts: that its goal does not hold."""


def written(plan: Plan) -> Iterator[str]:
    """The lines of a plan."""
    choices = plan.choices
    yield f"route {choices.route}"
    if choices.ways:
        yield f"ways {' '.join(map(str, choices.ways))}"
    for number, terms in choices.invariants.items():
        for term in terms:
            yield f"invariant {number} {write(term)}"
    for chosen, drawn in plan.joined:
        yield f"joined {chosen} {drawn}"
    if plan.length is not None:
        yield f"length {unparse_expr(plan.length)}"
    for bound in plan.bounds:
        for word, limit in (("low", bound.low), ("high", bound.high)):
            if limit is not None:
                yield f"{word} {bound.field} {unparse_expr(limit)}"
    for term, value in plan.witness.items():
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        yield f"witness {shown} {write(term)}"
    for word, questions in (("sets", plan.sets), ("full", plan.full)):
        if questions:
            yield f"{word} {_ranges(sorted(questions))}"
    for kept in plan.kept:
        own = " ".join(f"{n}:{_own(parts)}" for n, parts in enumerate(kept.own) if parts != (_GOAL,))
        yield f"group {len(kept.own)} / {_parts(kept.shared)} / {own}".rstrip()


def _own(parts: Sequence[Part]) -> str:
    return _parts([part for part in parts if part != _GOAL], ",")


def _parts(parts: Sequence[Part], separator: str = " ") -> str:
    """Parts by their places, with the number of a formula that is not the first one: `0-3 5 5.1`."""
    whole = _ranges(sorted(place for place, which in parts if which == 0))
    others = [f"{place}.{which}" for place, which in parts if which]
    return separator.join([*whole.split(), *others])


def _ranges(numbers: Iterable[int]) -> str:
    """`0 2-5 9`."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


@dataclass
class _Reader:
    subject: Subject
    route: str = ""
    ways: tuple[int, ...] = ()
    invariants: dict[int, list[Term]] = field(default_factory=dict)
    joined: list[tuple[str, str]] = field(default_factory=list)
    length: Expr | None = None
    bounds: dict[str, Bound] = field(default_factory=dict)
    witness: dict[Term, Fraction | bool] = field(default_factory=dict)
    sets: frozenset[int] = frozenset()
    full: frozenset[int] = frozenset()
    kept: list[Kept] = field(default_factory=list)

    def line(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        match word:
            case "route":
                self.route = rest
            case "ways":
                self.ways = tuple(_numbers(rest))
            case "invariant":
                number, _, term = rest.partition(" ")
                names = self.subject.names_at(_number(number))
                self.invariants[_number(number)].append(read(term, names))
            case "joined":
                chosen, _, drawn = rest.partition(" ")
                self.joined.append((chosen, drawn))
            case "length":
                self.length = _named(rest, [*lengths(self.subject.theory), *map(_whole, range(64))])
            case "low" | "high":
                name, _, limit = rest.partition(" ")
                self._bound(word, name, limit)
            case "witness":
                value, _, term = rest.partition(" ")
                self._value(value, term)
            case "sets":
                self.sets = frozenset(_numbers(rest))
            case "full":
                self.full = frozenset(_numbers(rest))
            case "group":
                self.kept.append(_kept(rest))
            case _:
                raise ProofError(f"`{word}` is no word of a plan")

    def _bound(self, word: str, name: str, limit: str) -> None:
        known = self.bounds.get(name, Bound(name, None, None))
        expr = _named(limit, [ZERO, *numbers(self.subject.theory)])
        low, high = (expr, known.high) if word == "low" else (known.low, expr)
        self.bounds[name] = Bound(name, low, high)

    def _value(self, value: str, text: str) -> None:
        term, constant = read(text, self.subject.names), read(value, {})
        if not isinstance(term, Sym | App) or not isinstance(constant, Const | Truth):
            raise ProofError("a witness gives a value to a symbol")
        self.witness[term] = constant.value


def plan_from(lines: Iterable[str], subject: Subject) -> Plan:
    """The plan that lines say. Raises ProofError, with the line's number from 1 in the message's place."""
    reader = _Reader(subject)
    if subject.paths is not None:
        reader.invariants = {cut.number: [] for cut in subject.paths.cuts if cut.loop is not None}
    for number, line in enumerate(lines):
        try:
            reader.line(line)
        except (NotationError, ProofError, LookupError, ValueError) as error:
            raise PlanError(number, str(error)) from None
    invariants = {n: tuple(terms) for n, terms in reader.invariants.items()}
    return Plan(
        Choices(reader.route, reader.ways, invariants),
        tuple(reader.joined),
        reader.witness,
        reader.length,
        tuple(reader.bounds.values()),
        reader.sets,
        reader.full,
        tuple(reader.kept),
    )


class PlanError(ProofError):
    """A line of a plan that cannot be read; `place` counts from 0."""

    def __init__(self, place: int, message: str) -> None:
        super().__init__(message)
        self.place = place


def _whole(value: int) -> Expr:
    return Number(Fraction(value))


def _named(text: str, candidates: Iterable[Expr]) -> Expr:
    """The expression, of those that may stand there, that is written so."""
    for candidate in candidates:
        if unparse_expr(candidate) == text:
            return candidate
    raise ProofError(f"`{text}` cannot stand here")


def _number(text: str) -> int:
    if not re.fullmatch(r"\d{1,6}", text, re.ASCII):
        raise ProofError(f"`{text}` is no number")
    return int(text)


def _numbers(text: str) -> list[int]:
    if not _RANGES.fullmatch(text):
        raise ProofError(f"`{text}` is no list of numbers")
    found: list[int] = []
    for part in text.split():
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
        if len(found) > _MOST:
            raise ProofError("too many numbers")
    return found


def _kept(text: str) -> Kept:
    count, shared, own = (part.strip() for part in (*text.split("/"), "", "")[:3])
    found: list[tuple[Part, ...]] = [(_GOAL,)] * min(_number(count), _MOST)
    for group in own.split():
        place, _, parts = group.partition(":")
        found[_number(place)] = tuple(sorted({_GOAL, *_parts_in(parts.split(","))}))
    return Kept(tuple(_parts_in(shared.split())), tuple(found))


def _parts_in(words: Iterable[str]) -> list[Part]:
    found: list[Part] = []
    for word in words:
        place, dot, which = word.partition(".")
        found += [(_number(place), _number(which))] if dot else [(n, 0) for n in _numbers(word)]
    return sorted(found)

"""Questions to solvers as SMT-LIB 2 scripts, which say exactly what the checker asks its own solver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from aligncheck.discharge import smtlib
from aligncheck.discharge.smt import Smt
from aligncheck.discharge.translate import Translator
from aligncheck.obligations.obligation import Obligation
from aligncheck.relational.spell import spell
from aligncheck.relational.terms import ZERO, Sort, Term, lt, not_, sort_of
from aligncheck.source import Source


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of a script: `extra`, beside what all its questions share, imply `goal`."""

    extra: tuple[Term, ...]
    goal: Term
    text: str


@dataclass(frozen=True)
class Batch:
    """Questions with common hypotheses. `hypotheses` and `facts` (theorems about the symbols that occur) may
    all be assumed; terms are in normal form. `linear`: in the linear abstraction; `sets`: with what maxima
    and selections over sets mean.
    """

    smt: Smt
    hypotheses: tuple[Term, ...]
    asked: tuple[Asked, ...]
    linear: bool = True
    sets: bool = True

    @cached_property
    def allowed(self) -> tuple[Term, ...]:
        """What a script may assert for all of its questions: facts are theorems, so that the facts which one
        question needs may stand beside all of them.
        """
        found = dict.fromkeys(self.hypotheses)
        for asked in self.asked:
            mentioned = [*self.hypotheses, *asked.extra, not_(asked.goal)]
            found |= dict.fromkeys(self.smt.facts.about(mentioned, sets=self.sets))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Kept:
    """Which of the `allowed` assertions a script makes, and which of each question's `extra` ones."""

    shared: tuple[int, ...]
    extra: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Script:
    """A text with one `check-sat` per question, each expected to be answered `expected`."""

    title: str
    lines: tuple[str, ...]
    questions: tuple[str, ...]
    expected: str = "unsat"

    @property
    def text(self) -> str:
        return "\n".join((f"; {self.title}", *self.lines)) + "\n"


@dataclass
class Printer:
    """Prints the scripts of one solver's questions: a symbol has one name in all of them. `signed`: what the
    signs of terms over parameters are, is known.
    """

    smt: Smt
    signed: bool = True
    linear: Translator = field(init=False)
    full: Translator = field(init=False)

    def __post_init__(self) -> None:
        signs = self.smt.sign if self.signed else _unknown_sign
        self.linear = Translator(signs, linear=True, build=smtlib)
        self.full = Translator(signs, build=smtlib)

    def script(self, title: str, batch: Batch, kept: Kept) -> Script:
        """The script of a batch. Raises IndexError where `kept` asks for what is not there."""
        translator = self._translator(batch)
        allowed = batch.allowed
        shared = _asserted(translator, (allowed[i] for i in kept.shared))
        body: list[str] = []
        alone = len(batch.asked) == 1
        for asked, extra in zip(batch.asked, kept.extra, strict=True):
            own = [asked.extra[i] for i in extra]
            formulas = [f for f in _asserted(translator, [*own, not_(asked.goal)]) if f not in shared]
            own_text = " ".join(f"(assert {formula})" for formula in formulas)
            question = f"{own_text} (check-sat)" if alone else f"(push 1) {own_text} (check-sat) (pop 1)"
            body += [f"; {asked.text}", question]
        lines = [*(f"(assert {formula})" for formula in shared), *body]
        head = self.declarations(batch, lines)
        return Script(title, (*head, *lines), tuple(asked.text for asked in batch.asked))

    def named(self, batch: Batch, name: str, term: Term) -> str:
        """The assertion of one term, under a name."""
        formulas = list(_asserted(self._translator(batch), [term])) or ["true"]
        return f"(assert (! {smtlib.both(formulas)} :named {name}))"

    def declarations(self, batch: Batch, lines: Sequence[str]) -> tuple[str, ...]:
        """The logic, and the variables that occur in some lines."""
        logic = "QF_LRA" if batch.linear else "QF_NRA"
        return (f"(set-logic {logic})", *_declared(self._translator(batch), lines))

    def _translator(self, batch: Batch) -> Translator:
        return self.linear if batch.linear else self.full

    def signs(self) -> list[tuple[Term, int]]:
        """The signs that the scripts so far rely on: see `Translator`."""
        return list(self.smt.signs().items())


def _unknown_sign(term: Term) -> int:
    return 0


def _asserted(translator: Translator, terms: Iterable[Term]) -> dict[str, None]:
    """Formulas that together say that the terms hold."""
    return dict.fromkeys(f for term in terms for f in translator.assertion(term) if f != "true")


def _declared(translator: Translator, lines: Sequence[str]) -> Iterator[str]:
    """A declaration for each variable that occurs, with what it stands for."""
    words = {w for line in lines if line[0] == "(" for w in line.replace("(", " ").replace(")", " ").split()}
    for atom, variable in translator.variables.items():
        if variable in words:
            sort = "Bool" if sort_of(atom) is Sort.BOOL else "Real"
            yield f"(declare-const {variable} {sort}) ; {_meaning(atom)}"
    for variable, term in translator.auxiliaries():
        if variable in words:
            yield f"(declare-const {variable} Real) ; {_meaning(term)}"


def _meaning(term: Term) -> str:
    return " ".join(spell(term).split())


def sign_batch(smt: Smt, signs: Iterable[tuple[Term, int]]) -> Batch | None:
    """The questions that decide signs, from the parameters' ranges alone."""
    hypotheses: dict[Term, None] = {}
    asked: list[Asked] = []
    for term, sign in signs:
        claim = lt(ZERO, term) if sign > 0 else lt(term, ZERO)
        _, *known = smt.sign_question(claim)
        hypotheses.update(dict.fromkeys(known))
        asked.append(Asked((), claim, f"`{_meaning(term)}` is {'positive' if sign > 0 else 'negative'}"))
    return Batch(smt, tuple(hypotheses), tuple(asked), linear=False) if asked else None


def described(obligation: Obligation, source: Source) -> str:
    """An obligation on one line: its condition, its place, its rule and what is to be shown."""
    line = source.position(obligation.span.start)[0]
    text = " ".join(obligation.text.split())
    return f"{obligation.condition.value.id}, line {line}, {obligation.rule}: {text}"

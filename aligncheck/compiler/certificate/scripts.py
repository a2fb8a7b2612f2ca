"""Questions to solvers as SMT-LIB 2 scripts, which say exactly what the checker asks its own solver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from aligncheck.language.source import Source
from aligncheck.search.discharge import smtlib
from aligncheck.search.discharge.smt import Smt
from aligncheck.search.discharge.translate import Translator
from aligncheck.search.obligations.obligation import Obligation
from aligncheck.search.relational.spell import spell
from aligncheck.search.relational.terms import ZERO, Sort, Term, lt, not_, sort_of


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of a script: `extra`, beside what all its questions share, imply `goal`."""

    extra: tuple[Term, ...]
    goal: Term
    text: str

    @property
    def own(self) -> tuple[Term, ...]:
        """What is asserted for this question alone: that the goal does not hold, then `extra`."""
        return (not_(self.goal), *self.extra)


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
            mentioned = [*self.hypotheses, *asked.own]
            found |= dict.fromkeys(self.smt.facts.about(mentioned, sets=self.sets))
        return tuple(found)


Part: TypeAlias = tuple[int, int]
"""Of several terms one, by its place, and which of the formulas that together say that it holds: the first is
the term itself, the others are theorems about what occurs in it (that integers are whole, what inverses are).
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """What is asserted of a batch: of the `allowed` terms, and for each question of its `own` ones, the first
    of which is always asserted.
    """

    shared: tuple[Part, ...]
    own: tuple[tuple[Part, ...], ...]


@dataclass(frozen=True, slots=True)
class Script:
    """A text with one `check-sat` per question, each expected to be answered `expected`. Where several
    obligations come to the same question it is asked once, under the names of all of them.
    """

    title: str
    lines: tuple[str, ...]
    questions: tuple[str, ...]
    expected: str = "unsat"

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


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

    def script(self, title: str, batches: Sequence[tuple[Batch, Kept]]) -> Script:
        """The script of some batches, all of them linear or none. What several assert, and all may, is
        asserted once.

        Raises IndexError where `kept` asks for what is not there.
        """
        translator = self._translator(batches[0][0])
        common = dict.fromkeys(f for part in _common(batches) for f in self._formulas(translator, *part))
        body: list[str] = []
        questions: list[str] = []
        for batch, kept in batches:
            shared = [f for f in self._shared(translator, batch, kept) if f not in common]
            asked = self._asked(translator, batch, kept, {*common, *shared})
            within = [f"(assert {formula})" for formula in shared]
            alone = len(batches) == len(asked) == 1
            for own, texts in asked.items():
                question = f"{own} (check-sat)" if alone else f"(push 1) {own} (check-sat) (pop 1)"
                within += [*(f"; {text}" for text in texts), question]
                questions.append(" / ".join(texts))
            body += ["(push 1)", *within, "(pop 1)"] if shared and len(batches) > 1 else within
        lines = [*(f"(assert {formula})" for formula in common), *body]
        return Script(title, (*self.declarations(batches[0][0], lines), *lines), tuple(questions))

    def _shared(self, translator: Translator, batch: Batch, kept: Kept) -> dict[str, None]:
        parts = ((batch.allowed[place], which) for place, which in kept.shared)
        return dict.fromkeys(f for part in parts for f in self._formulas(translator, *part))

    def _asked(
        self, translator: Translator, batch: Batch, kept: Kept, known: Collection[str]
    ) -> dict[str, list[str]]:
        """What each question asserts beside what is `known`, with the obligations that come to it."""
        found: dict[str, list[str]] = {}
        for asked, own in zip(batch.asked, kept.own, strict=True):
            parts = [(asked.own[place], which) for place, which in sorted(own, key=_is_of_goal)]
            formulas = dict.fromkeys(f for part in parts for f in self._formulas(translator, *part))
            said = " ".join(f"(assert {formula})" for formula in formulas if formula not in known)
            found.setdefault(said, []).append(asked.text)
        return found

    def _formulas(self, translator: Translator, term: Term, which: int) -> list[str]:
        formula = translator.assertion(term)[which]
        return [] if formula == "true" else [formula]

    def parts(self, batch: Batch, term: Term) -> list[str]:
        """The formulas that together say that a term holds."""
        return [str(formula) for formula in self._translator(batch).assertion(term)]

    def declarations(self, batch: Batch, lines: Sequence[str]) -> tuple[str, ...]:
        """The logic, and the variables that occur in some lines."""
        logic = "QF_LRA" if batch.linear else "QF_NRA"
        return (f"(set-logic {logic})", *_declared(self._translator(batch), lines))

    def everything(self, batch: Batch) -> Kept:
        """Assert all that may be asserted."""
        return Kept(self._every(batch, batch.allowed), tuple(self._every(batch, a.own) for a in batch.asked))

    def _every(self, batch: Batch, terms: Iterable[Term]) -> tuple[Part, ...]:
        found = ((place, len(self.parts(batch, term))) for place, term in enumerate(terms))
        return tuple((place, which) for place, count in found for which in range(count))

    def _translator(self, batch: Batch) -> Translator:
        return self.linear if batch.linear else self.full

    def signs(self) -> list[tuple[Term, int]]:
        """The signs that the scripts so far rely on: see `Translator`."""
        return list(self.smt.signs().items())


def _is_of_goal(part: Part) -> bool:
    place, _ = part
    return place == 0


def _common(batches: Sequence[tuple[Batch, Kept]]) -> Iterator[tuple[Term, int]]:
    """What several batches assert and all of them may."""
    counts = Counter((batch.allowed[place], which) for batch, kept in batches for place, which in kept.shared)
    several = [part for part, count in counts.items() if count > 1]
    allowed = [frozenset(batch.allowed) for batch, _ in batches] if several else []
    yield from (part for part in several if all(part[0] in terms for terms in allowed))


def _unknown_sign(term: Term) -> int:
    return 0


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
    """An obligation on one line: its condition, its place and what is to be shown."""
    line = source.position(obligation.span.start)[0]
    text = " ".join(obligation.text.split())
    return f"{obligation.condition.value.id}, line {line}: {text}"

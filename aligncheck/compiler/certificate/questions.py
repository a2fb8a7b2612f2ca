"""The questions on which a decision of the kernel rests, as text: for files, and asked of a second solver.

The kernel asks Z3; each answer that it relies on passes here (`kernel.logic.Confirm`). Only what Z3 needed
for it is asked again, which is easier to decide: fewer formulas that cannot be true together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aligncheck.compiler.certificate.smtlib import WordlessError, script
from aligncheck.compiler.certificate.solvers import Solver, by_cvc5

Term = Any
_STEPS = 5_000_000
"""How much Z3 may do, in its own count, to find out what it needed."""


@dataclass(frozen=True, slots=True)
class Question:
    """`about` says in words what is decided, `expected` is Z3's answer, `text` asks for it."""

    about: str
    expected: str
    text: str


@dataclass(frozen=True, slots=True)
class SolverReply:
    """One solver's answer to one question: `unsat`, `sat` or `unknown`."""

    solver: Solver
    question: str
    answer: str


class DisagreementError(Exception):
    """Two solvers' answers to one question contradict each other: there is a bug in one of them, or here."""

    def __init__(self, replies: tuple[SolverReply, ...]) -> None:
        super().__init__(replies[0].question)
        self.replies = replies


class Kept:
    """Keeps each question once, in the order in which they came up. Agrees to every answer."""

    def __init__(self) -> None:
        self.questions: list[Question] = []
        self._known: dict[str, bool] = {}

    def __call__(self, formulas: Sequence[Term], satisfiable: bool, about: str) -> bool:
        """See `kernel.logic.Confirm`."""
        needed = formulas if satisfiable else _needed(formulas)
        try:
            expected = "sat" if satisfiable else "unsat"
            question = Question(about, expected, script(needed, about, expected))
        except WordlessError:
            return False
        if question.text not in self._known:
            self.questions.append(question)
            self._known[question.text] = self.agrees(question)
        return self._known[question.text]

    def agrees(self, question: Question) -> bool:
        """Whether the answer that is expected is confirmed."""
        return True


class SecondSolver(Kept):
    """Has cvc5 answer each question, too: only what it answers as expected is decided. `undecided` is its
    reply to the last question that it leaves open.
    """

    def __init__(self) -> None:
        super().__init__()
        self.undecided: SolverReply | None = None

    def agrees(self, question: Question) -> bool:
        """Asks. Raises SolverMissingError; DisagreementError."""
        answer = by_cvc5(question.text, question.expected)
        reply = SolverReply(Solver.CVC5, question.about, answer)
        if answer == "unknown":
            self.undecided = reply
        elif answer != question.expected:
            raise DisagreementError((SolverReply(Solver.Z3, question.about, question.expected), reply))
        return answer == question.expected


def _needed(formulas: Sequence[Term]) -> Sequence[Term]:
    """Those of formulas that cannot be true together from which Z3 can tell; all where it does not say."""
    import z3

    solver = z3.Solver(ctx=formulas[-1].ctx)
    solver.set("rlimit", _STEPS)
    solver.set("unsat_core", True)
    names = [z3.Bool(f"needed!{at}", formulas[-1].ctx) for at in range(len(formulas))]
    for name, formula in zip(names, formulas, strict=True):
        solver.assert_and_track(formula, name)
    if solver.check() != z3.unsat:
        return formulas
    core = {name.get_id() for name in solver.unsat_core()}
    return [formula for name, formula in zip(names, formulas, strict=True) if name.get_id() in core]

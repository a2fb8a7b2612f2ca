"""Public functions where a program applies them, in both runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from aligncheck.language.source import Span
from aligncheck.search.relational.ir import TRUE, Pair, Term, and_, implies, not_, same_value
from aligncheck.search.relational.to_terms import TermEvaluator


@dataclass(frozen=True, slots=True)
class Applied:
    """One application: when either run makes it and to what, and the case of the run on D that this is about.

    What stands in a set is about one generic index of it.
    """

    function: str
    guard: Pair
    args: tuple[Pair, ...]
    span: Span
    case: Term = TRUE

    @property
    def goal(self) -> Term:
        """That both runs make it, with the same arguments, or neither.

        Why needed: a function is a part of the program that the proof knows nothing of, but that its value is
        a function of its arguments. What it does besides (raise an error, print, take long) is a function of
        how it is called, which has to be the same on D and D' therefore.
        """
        alike = implies(self.guard.left, and_(same_value(arg) for arg in self.args))
        return implies(self.case, and_((same_value(self.guard), alike)))

    @property
    def text(self) -> str:
        """The goal in the spec's words."""
        return f"`{self.function}` is given the same on D and D'"

    def within(self, test: Pair, taken: bool, case: Term = TRUE) -> Applied:
        """The same in an arm of an `if`: where the test comes out as the arm says, in either run."""
        left, right = (test.left, test.right) if taken else (not_(test.left), not_(test.right))
        guard = Pair(and_((left, self.guard.left)), and_((right, self.guard.right)))
        return replace(self, guard=guard, case=and_((case, self.case)))


def applied_in(on_d: TermEvaluator, on_d_prime: TermEvaluator) -> Iterator[Applied]:
    """The applications that one expression makes in the two runs, but for those that are plainly alike."""
    for left, right in zip(on_d.applied, on_d_prime.applied, strict=True):
        args = tuple(Pair(a, b) for a, b in zip(left.args, right.args, strict=True))
        yield Applied(left.function, Pair(left.guard, right.guard), args, left.span)

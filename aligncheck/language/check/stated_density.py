"""Draws with a stated density: where they may stand, and what they cannot be mixed with.

They are proved by a rule of their own (`kernel.choosing`), which speaks of a program that makes the same
draws, one after the other, in every run.
"""

from __future__ import annotations

from typing import TypeAlias

from aligncheck.language.diagnostics import Faults, Label
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk

_Draw: TypeAlias = n.Choose | n.Logistic


def check_densities(source: Source, mechanism: n.Mechanism) -> None:
    """Raises SpecError for a mixture with alignments, for a draw that not every run makes, for a loop, and
    for `logsumexp` in a mechanism without such draws.
    """
    _Densities(source).check(mechanism)


class _Densities(Faults):
    def check(self, mechanism: n.Mechanism) -> None:
        if not walk.has_densities(mechanism.body):
            self._no_log_sums(mechanism)
            return
        first = next(s for s in walk.statements_in(mechanism.body) if isinstance(s, _Draw))
        related = (Label(first.span, "drawn by a density"),)
        self._not_mixed(mechanism, first, related)
        self._at_top_level(mechanism)
        for part in (part for each in walk.claimed_in(mechanism.claim) for part in walk.subexpressions(each)):
            if isinstance(part, n.OutCount):
                message = (
                    "the claim of a mechanism that is proved by its densities cannot depend on the output"
                )
                self.fail("output-claim", message, part.span, related=related)

    def _no_log_sums(self, mechanism: n.Mechanism) -> None:
        for part in walk.expressions_in(mechanism):
            if isinstance(part, n.Gather) and part.function == n.LOG_SUM:
                self.fail(
                    "misplaced-logsumexp",
                    "`logsumexp` belongs to draws by `Choose` and `Logistic`",
                    Span(part.span.start, part.span.start + len(part.function)),
                    help="alignments speak of `max(…)`",
                )

    def _not_mixed(self, mechanism: n.Mechanism, first: _Draw, related: tuple[Label, ...]) -> None:
        what = f"`{'Choose' if isinstance(first, n.Choose) else 'Logistic'}`"
        for statement in walk.statements_in(mechanism.body):
            if isinstance(statement, n.Invoke):
                self.fail(
                    "mixed-draws",
                    f"a call of `{statement.mechanism}`, in a mechanism that draws by {what}",
                    statement.span,
                    related=related,
                    help="make the draw by its density a mechanism of its own, and call both",
                )
            if isinstance(statement, n.Sample):
                self.fail(
                    "mixed-draws",
                    f"noise `{statement.name}` that is aligned, in a mechanism that draws by {what}",
                    statement.span,
                    related=related,
                    notes=("each kind has a proof rule of its own, and there is none for both at once",),
                    help="split the mechanism in two, and share the budget between them",
                )
        if mechanism.align:
            self.fail(
                "unexpected-align",
                f"a mechanism that draws by {what} has no alignment",
                mechanism.align[0].span,
                related=related,
                notes=("it is proved by the ratio of its densities on D and D'",),
                help="leave the `align` section out",
            )

    def _at_top_level(self, mechanism: n.Mechanism) -> None:
        top = {id(statement) for statement in mechanism.body}
        for statement in walk.statements_in(mechanism.body):
            match statement:
                case n.Choose() | n.Logistic() if id(statement) not in top:
                    self.fail(
                        "misplaced-draw",
                        "a draw by a density stands outside of loops and branches",
                        statement.span,
                        notes=(
                            "the densities of the draws of every run are multiplied: all runs make the same",
                        ),
                    )
                case n.For() | n.While():
                    self.fail(
                        "misplaced-loop",
                        "no loop in a mechanism that is proved by its densities",
                        statement.span,
                        help="sets take the place of loops: `max(E for j in q)`",
                    )
                case n.Simple() | n.If():
                    pass

"""From a checked spec to outcomes: every obligation of every condition, decided.

Trusted: a search chooses (`choose`), and all that `whole` makes of the choices is decided here.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from aligncheck.language.conditions import Condition
from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.search.discharge.algebra import canonical
from aligncheck.search.discharge.choose import choices_for
from aligncheck.search.discharge.prove import Decided, Open, Outcome, decide, decide_all
from aligncheck.search.discharge.smt import Answer, Smt
from aligncheck.search.discharge.values import near, value_of
from aligncheck.search.discharge.whole import Choices, clauses_of, obligations_with, prepared
from aligncheck.search.obligations.alignment import in_order
from aligncheck.search.obligations.obligation import Impossible, Invariants, Obligation
from aligncheck.search.relational.paths import Analysis
from aligncheck.search.relational.terms import Const, Term, Truth, substitute
from aligncheck.search.relational.theory import Theory


@dataclass(frozen=True)
class Findings:
    """Everything that was established about one mechanism; `seconds_searching` is what the choices took.
    With these all of it can be proved again without a search.

    `smt` has translated its terms already, so that further questions about them are cheap.
    """

    theory: Theory
    smt: Smt
    analysis: Analysis
    choices: Choices
    outcomes: tuple[Outcome, ...]
    seconds_searching: float

    @property
    def invariants(self) -> Invariants:
        return self.choices.invariants

    @property
    def route(self) -> str:
        return self.choices.route

    def open(self) -> tuple[Open, ...]:
        """The obligations that were not proved."""
        return tuple(_open(self.outcomes))


def satisfiable(theory: Theory) -> bool | None:
    """Whether the declarations can be met: parameters, lengths, and one entry of every list on D and on D';
    None if that was not decided.

    Z3 knows exp, ln and log2 by bounds only, so its inputs must satisfy the `where` clauses as numbers, too.
    """
    reply = Smt(theory, whole=True).satisfiable(theory.generic_entries(), 2_000)
    if reply.model is None:
        return False if reply.answer is Answer.VALID else None
    values = {a: Const(Fraction(v)) for a, v in reply.model.items() if not isinstance(v, bool)}
    truths: dict[Term, Term] = {a: Truth(v) for a, v in reply.model.items() if isinstance(v, bool)}
    met = [value_of(near(canonical(substitute(b, {**truths, **values}))), reply.model) for b in theory.base]
    return True if False not in met else None


def declarations_hold(theory: Theory) -> Obligation:
    """Rule 2: the hypotheses are satisfiable; an undecided question stays open."""
    span = next((i.where.span for i in theory.mechanism.inputs if i.where is not None), theory.mechanism.span)
    holds = satisfiable(theory) is True
    goal = Impossible(holds, "inputs that satisfy them were found")
    text = "some parameters and some pair D, D' satisfy the declarations"
    return Obligation(Condition.HYPOTHESES, (), goal, text, span, "declarations_hold")


def establish(
    mechanism: Mechanism, source: Source, deadline: float | None = None, thorough: bool = True
) -> Findings:
    """Decides all conditions of Lemma 1 for a checked mechanism; `deadline` is a `time.monotonic()` value. If
    not `thorough`, what cannot save a proof any more is left open.

    Raises TooManyPathsError.
    """
    theory, smt, analysis = prepared(mechanism, deadline)
    clauses = decide_all(*clauses_of(theory))
    start = time.perf_counter()
    decided = Decided(smt)
    choices = choices_for(analysis, smt, decided, source)
    searching = time.perf_counter() - start
    wanted = obligations_with(analysis, choices, source)
    last = [o for o in wanted if o.condition is Condition.INJECTIVE]
    outcomes = [*clauses, *decided.all(o for o in wanted if o.condition is not Condition.INJECTIVE)]
    outcomes.append(decide(declarations_hold(theory), smt))
    if thorough or not _open(outcomes):
        general = decided.all(last)
        outcomes += general
        if _open(general):  # say also why Lemma 1 does not do
            outcomes += _open(decided.all(in_order(analysis, source)))
    return Findings(theory, smt, analysis, choices, tuple(outcomes), searching)


def _open(outcomes: Iterable[Outcome]) -> list[Open]:
    return [outcome for outcome in outcomes if isinstance(outcome, Open)]

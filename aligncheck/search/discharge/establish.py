"""From a checked spec to outcomes: a search chooses, and every obligation of every condition is decided.

The kernel is given the choices alone; the outcomes say what is in the way where it does not accept.
"""

from __future__ import annotations

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
class Chosen:
    """What was found out about one mechanism before any obligation is decided: its paths, and the choices of
    a proof.

    `smt` has translated its terms already, so that further questions about them are cheap.
    """

    theory: Theory
    smt: Smt
    analysis: Analysis
    decided: Decided
    choices: Choices

    @property
    def invariants(self) -> Invariants:
        return self.choices.invariants

    @property
    def route(self) -> str:
        return self.choices.route


@dataclass(frozen=True)
class Findings(Chosen):
    """The same, and what became of each obligation."""

    outcomes: tuple[Outcome, ...]

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


def choose(mechanism: Mechanism, source: Source, deadline: float | None = None) -> Chosen:
    """The choices of a proof; `deadline` is a `time.monotonic()` value. Raises TooManyPathsError,
    UnsupportedError.
    """
    theory, smt, analysis = prepared(mechanism, deadline)
    decided = Decided(smt)
    return Chosen(theory, smt, analysis, decided, choices_for(analysis, smt, decided, source))


def establish(
    mechanism: Mechanism, source: Source, deadline: float | None = None, thorough: bool = True
) -> Findings:
    """Chooses, and decides all conditions of Lemma 1. Raises what `choose` raises."""
    return established(choose(mechanism, source, deadline), source, thorough)


def established(chosen: Chosen, source: Source, thorough: bool = True) -> Findings:
    """Decides all conditions of Lemma 1, with these choices. If not `thorough`, what cannot save a proof any
    more is left open.
    """
    theory, analysis, decided = chosen.theory, chosen.analysis, chosen.decided
    wanted = obligations_with(analysis, chosen.choices, source)
    last = [o for o in wanted if o.condition is Condition.INJECTIVE]
    outcomes = decide_all(*clauses_of(theory))
    outcomes += decided.all(o for o in wanted if o.condition is not Condition.INJECTIVE)
    outcomes.append(decide(declarations_hold(theory), chosen.smt))
    if thorough or not _open(outcomes):
        general = decided.all(last)
        outcomes += general
        if _open(general):  # say also why Lemma 1 does not do
            outcomes += _open(decided.all(in_order(analysis, source)))
    return Findings(theory, chosen.smt, analysis, decided, chosen.choices, tuple(outcomes))


def _open(outcomes: Iterable[Outcome]) -> list[Open]:
    return [outcome for outcome in outcomes if isinstance(outcome, Open)]

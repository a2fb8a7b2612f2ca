"""From a checked spec to outcomes: every obligation of every condition, decided."""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction

from aligncheck.conditions import Condition
from aligncheck.discharge.algebra import canonical
from aligncheck.discharge.houdini import Houdini
from aligncheck.discharge.prove import Open, Outcome, Proved, decide, decide_all
from aligncheck.discharge.smt import Answer, Smt
from aligncheck.discharge.values import near, value_of
from aligncheck.discharge.whole import (
    RULES_OF_ORDER,
    Choices,
    all_loops_are_finite,
    author_lines,
    author_obligations,
    clauses_of,
    prepared,
)
from aligncheck.internal import InternalError
from aligncheck.obligations import obligations_of, one_to_one
from aligncheck.obligations.alignment import within_claim
from aligncheck.obligations.obligation import Impossible, Invariants, Obligation
from aligncheck.obligations.running import loops_end
from aligncheck.relational.paths import Analysis, Cut
from aligncheck.relational.terms import Const, Term, Truth, substitute
from aligncheck.relational.theory import Theory
from aligncheck.source import Source, Span
from aligncheck.syntax.nodes import Mechanism


@dataclass(frozen=True)
class Findings:
    """Everything that was established about one mechanism; `seconds_searching` is what invariants took.
    `choices` is what must be known to prove all of it again without a search.

    `smt` has translated its terms already, so that further questions about them are cheap.
    """

    theory: Theory
    smt: Smt
    analysis: Analysis
    invariants: Invariants
    outcomes: tuple[Outcome, ...]
    route: str
    seconds_searching: float
    choices: Choices

    def open(self) -> tuple[Open, ...]:
        """The obligations that were not proved."""
        return tuple(o for o in self.outcomes if isinstance(o, Open))


def contradiction(mechanism: Mechanism) -> Span | None:
    """The place of a declaration that cannot be met together with the other ones (rule 2), or None if none is
    known to.
    """
    if _satisfiable(Theory(mechanism)) is not False:
        return None
    clauses = [item.where.span for item in mechanism.inputs if item.where is not None]
    return clauses[-1] if clauses else mechanism.span


def _satisfiable(theory: Theory) -> bool | None:
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
    holds = _satisfiable(theory) is True
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
    lines = author_lines(analysis)

    def enough(found: Invariants) -> bool:
        claims = within_claim(analysis, theory.claim, found, source)
        return all(isinstance(o, Proved) for o in decide_all(claims, smt))

    invariants = Houdini(analysis, smt).run({n: [t for t, _ in ts] for n, ts in lines.items()}, enough)
    searching = time.perf_counter() - start
    needed = obligations_of(analysis, theory.claim, invariants, source)
    outcomes = [*clauses, *decide_all(needed, smt)]
    route, outcomes = _routed(outcomes, analysis, invariants, source, smt, thorough)
    outcomes.append(decide(declarations_hold(theory), smt))
    ending, ways = _termination(analysis, invariants, smt)
    outcomes += ending
    for wanted, line in author_obligations(analysis, invariants):
        lost = line is not None and line[1] not in invariants[line[0]]
        outcomes.append(Open(wanted, False, 0.0) if lost else decide(wanted, smt))
    choices = Choices(route, ways, invariants)
    return Findings(theory, smt, analysis, invariants, tuple(outcomes), route, searching, choices)


def _routed(
    outcomes: list[Outcome],
    analysis: Analysis,
    invariants: Invariants,
    source: Source,
    smt: Smt,
    thorough: bool,
) -> tuple[str, list[Outcome]]:
    """Lemma 1 where every shift depends on earlier noise only; else Theorem 4, if the alignment is
    one-to-one.
    """
    if not any(isinstance(o, Open) and o.obligation.condition is Condition.ACYCLIC for o in outcomes):
        return "acyclic", outcomes
    others = [o for o in outcomes if o.obligation.rule not in RULES_OF_ORDER]
    if not thorough and any(isinstance(o, Open) for o in others):
        return "injective", others  # the other route might do, but these stay open
    general = decide_all(one_to_one(analysis, invariants, source), smt)
    if all(isinstance(o, Proved) for o in general):
        outcomes = [o for o in outcomes if o.obligation.rule not in RULES_OF_ORDER]
    return "injective", [*outcomes, *general]


def _termination(
    analysis: Analysis, invariants: Invariants, smt: Smt
) -> tuple[list[Outcome], tuple[int, ...]]:
    """For each `while` loop the first way that is proved in full, and which one it is; open if there is
    none.
    """
    found: list[Outcome] = []
    chosen: list[int] = []
    for cut, ways in loops_end(analysis, invariants):
        best: list[Outcome] = []
        for number, way in enumerate(ways):
            best = [decide(o, smt) for o in way]
            if all(isinstance(o, Proved) for o in best):
                chosen.append(number)
                break
        else:
            best = [_undecided_end(cut)]
        found += best
    if not found:
        found.append(decide(all_loops_are_finite(analysis), smt))
    return found, tuple(chosen)


def _undecided_end(cut: Cut) -> Open:
    if cut.loop is None:
        raise InternalError("a cut that is no loop")
    obligation = Obligation(
        Condition.TERMINATES,
        (),
        Impossible(False, "no argument was found"),
        "the loop ends with probability 1",
        cut.loop.span,
        "loops_end",
    )
    return Open(obligation, False, 0.0)

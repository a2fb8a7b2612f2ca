"""From a checked spec to outcomes: every obligation of every condition, decided."""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction

from aligncheck.conditions import Condition
from aligncheck.discharge.algebra import canonical, common_unit
from aligncheck.discharge.houdini import Houdini
from aligncheck.discharge.prove import Open, Outcome, Proved, decide, decide_all
from aligncheck.discharge.smt import Answer, Smt
from aligncheck.discharge.values import near, value_of
from aligncheck.obligations import obligations_of, one_to_one
from aligncheck.obligations.alignment import within_claim
from aligncheck.obligations.obligation import Impossible, Invariants, Obligation, known_at
from aligncheck.obligations.running import clauses_make_sense, loops_end
from aligncheck.relational.calls import Called
from aligncheck.relational.evaluate import Evaluator
from aligncheck.relational.hoist import hoisted
from aligncheck.relational.paths import COST, Analysis, Cut, analyse, at_head
from aligncheck.relational.terms import Const, Kind, Sym, Term, Truth, atoms, order_key, substitute
from aligncheck.relational.theory import Theory
from aligncheck.relational.visible import with_first_record, with_later_records
from aligncheck.source import Source, Span
from aligncheck.syntax.nodes import Mechanism


@dataclass(frozen=True)
class Findings:
    """Everything that was established about one mechanism; `seconds_searching` is what invariants took.

    `smt` has translated its terms already, so that further questions about them are cheap.
    """

    theory: Theory
    smt: Smt
    analysis: Analysis
    invariants: Invariants
    outcomes: tuple[Outcome, ...]
    route: str
    seconds_searching: float

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


def establish(mechanism: Mechanism, source: Source, deadline: float | None = None) -> Findings:
    """Decides all conditions of Lemma 1 for a checked mechanism; `deadline` is a `time.monotonic()` value.

    Raises TooManyPathsError.
    """
    mechanism = hoisted(mechanism)
    theory = Theory(mechanism)
    smt = Smt(theory, deadline=deadline)
    analysis = with_first_record(with_later_records(analyse(theory)))
    _measure_costs(analysis, smt)
    start = time.perf_counter()
    lines = _author_lines(analysis)

    def enough(found: Invariants) -> bool:
        claims = within_claim(analysis, theory.claim, found, source)
        return all(isinstance(o, Proved) for o in decide_all(claims, smt))

    invariants = Houdini(analysis, smt).run({n: [t for t, _ in ts] for n, ts in lines.items()}, enough)
    searching = time.perf_counter() - start
    wanted = obligations_of(analysis, theory.claim, invariants, source)
    public = Theory(mechanism, public_only=True)
    outcomes = [
        *decide_all(clauses_make_sense(public), Smt(public, deadline=deadline)),
        *decide_all(wanted, smt),
    ]
    route, outcomes = _routed(outcomes, analysis, invariants, source, smt)
    outcomes.append(decide(declarations_hold(theory), smt))
    outcomes += _termination(analysis, invariants, smt)
    outcomes += _author_outcomes(analysis, lines, invariants, smt)
    return Findings(theory, smt, analysis, invariants, tuple(outcomes), route, searching)


def _measure_costs(analysis: Analysis, smt: Smt) -> None:
    """Costs are counted in the greatest common unit of the rates 1/α of the aligned draws and of what calls
    spend, where parameters alone decide these.
    """
    rates = {d.left.inverse_alpha for p in analysis.paths for d in p.drawings() if d.lines}
    rates |= {e.spent.left for p in analysis.paths for e in p.events if isinstance(e, Called)}
    public = all(isinstance(a, Sym) and a.kind is Kind.PARAMETER for a in atoms(rates))
    unit = common_unit(sorted(rates, key=order_key)) if public else None
    if unit is not None:
        heads = [cut.fresh[COST].left for cut in analysis.cuts if COST in cut.fresh]
        smt.measure([s for s in heads if isinstance(s, Sym)], unit)


def _routed(
    outcomes: list[Outcome], analysis: Analysis, invariants: Invariants, source: Source, smt: Smt
) -> tuple[str, list[Outcome]]:
    """Lemma 1 where every shift depends on earlier noise only; else Theorem 4, if the alignment is
    one-to-one.
    """
    if not any(isinstance(o, Open) and o.obligation.condition is Condition.ACYCLIC for o in outcomes):
        return "acyclic", outcomes
    general = decide_all(one_to_one(analysis, invariants, source), smt)
    if all(isinstance(o, Proved) for o in general):
        outcomes = [o for o in outcomes if o.obligation.rule not in ("in_order", "two_levels")]
    return "injective", [*outcomes, *general]


def _termination(analysis: Analysis, invariants: Invariants, smt: Smt) -> list[Outcome]:
    """For each `while` loop the first way that is proved in full; open if there is none."""
    found: list[Outcome] = []
    for cut, ways in loops_end(analysis, invariants):
        best: list[Outcome] = []
        for way in ways:
            best = [decide(o, smt) for o in way]
            if all(isinstance(o, Proved) for o in best):
                break
        else:
            best = [_undecided_end(cut)]
        found += best
    if not found:
        span = analysis.theory.mechanism.span
        goal = Impossible(True, "every loop runs over a finite input")
        obligation = Obligation(Condition.TERMINATES, (), goal, "every loop ends", span, "loops_end")
        found.append(decide(obligation, smt))
    return found


def _undecided_end(cut: Cut) -> Open:
    assert cut.loop is not None
    obligation = Obligation(
        Condition.TERMINATES,
        (),
        Impossible(False, "no argument was found"),
        "the loop ends with probability 1",
        cut.loop.span,
        "loops_end",
    )
    return Open(obligation, False, 0.0)


def _author_lines(analysis: Analysis) -> dict[int, list[tuple[Term, Span]]]:
    """The author's invariants at each loop head."""
    found: dict[int, list[tuple[Term, Span]]] = {}
    for cut in analysis.cuts:
        if cut.loop is not None and cut.loop.invariants:
            scope = at_head(analysis.theory, cut.loop, cut.env, cut.counter)
            found[cut.number] = [(Evaluator(scope).term(e), e.span) for e in cut.loop.invariants]
    return found


def _author_outcomes(
    analysis: Analysis,
    lines: dict[int, list[tuple[Term, Span]]],
    invariants: Invariants,
    smt: Smt,
) -> list[Outcome]:
    """An author's invariant is proved if it is among the inductive ones; otherwise it stays open."""
    found: list[Outcome] = []
    for number, given in lines.items():
        cut = analysis.cuts[number]
        for term, span in given:
            kept = canonical(term) in invariants[number]
            obligation = Obligation(
                Condition.INVARIANT,
                known_at(analysis, cut, invariants),
                canonical(term),
                "the invariant holds whenever the loop's test is reached",
                span,
                "Houdini",
            )
            found.append(decide(obligation, smt) if kept else Open(obligation, False, 0.0))
        assert cut.loop is not None
        scope = at_head(analysis.theory, cut.loop, cut.env, cut.counter)
        for expr in cut.loop.invariants:
            evaluator = Evaluator(scope)
            evaluator.term(expr)
            for p in evaluator.partial:
                wanted = Obligation(
                    Condition.DEFINED,
                    known_at(analysis, cut, invariants),
                    p.condition,
                    f"the invariant: {p.what}",
                    p.span,
                    "operations_defined",
                )
                found.append(decide(wanted, smt))
    return found

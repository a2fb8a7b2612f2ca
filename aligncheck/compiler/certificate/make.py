"""From what a search has established to a plan: which assertions, and which invariants, are needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from operator import itemgetter
from typing import TypeAlias

from aligncheck.compiler.certificate.notation import Names, NotationError, read, write
from aligncheck.compiler.certificate.proof import (
    Plan,
    ProofError,
    Question,
    Side,
    Subject,
    Witness,
    batches_of,
    declarations_met,
    sorted_one,
    sorted_out,
)
from aligncheck.compiler.certificate.scripts import Asked, Batch, Kept, Part, Printer, described
from aligncheck.compiler.certificate.solvers import SlowError, core, cores
from aligncheck.language.internal import InternalError
from aligncheck.language.syntax.contract import Contract
from aligncheck.search.discharge.algebra import canonical
from aligncheck.search.discharge.density import DensityFindings
from aligncheck.search.discharge.establish import Findings
from aligncheck.search.discharge.smt import Smt
from aligncheck.search.discharge.whole import Choices
from aligncheck.search.obligations.inductive import inductive, inductive_by_invariant
from aligncheck.search.obligations.obligation import Invariants, Obligation
from aligncheck.search.relational.terms import Const, Term, Truth, eq, iff


def plan_of(subject: Subject, findings: Findings | DensityFindings, contract: Contract | None) -> Plan:
    """The plan for a proof that was found; `contract` is what callers rely on, if there are any.

    Raises ProofError where a solver cannot decide a question from its text, or where the clock decided what
    was found.
    """
    if findings.smt.hurried:
        raise ProofError("a question of the search ran out of time, and without that it might end otherwise")
    try:
        return _plan_of(subject, findings, contract)
    except SlowError as error:
        raise ProofError(str(error)) from None


def _plan_of(subject: Subject, findings: Findings | DensityFindings, contract: Contract | None) -> Plan:
    plan = _found(subject, findings)
    if contract is not None:
        plan = replace(plan, length=contract.length, bounds=contract.bounds)
    needs = Needs()
    if subject.paths is not None and plan.choices.invariants:
        used = _used(subject, plan, needs)
        plan = replace(plan, choices=replace(plan.choices, invariants=used))
    return _economical(sorted_out(subject, plan).questions, plan, needs)


def _found(subject: Subject, findings: Findings | DensityFindings) -> Plan:
    witness = _witness(subject)
    match findings:
        case Findings(choices=choices):
            kept = {
                n: tuple(t for t in ts if _readable(t, subject.names_at(n)))
                for n, ts in choices.invariants.items()
            }
            return Plan(replace(choices, invariants=kept), witness=witness)
        case DensityFindings(factors=factors, route=route):
            pairs = [f.draws for f in factors if len(f.draws) == 2]
            joined = tuple((one.draw.name, other.draw.name) for one, other in pairs)
            return Plan(Choices(route), joined, witness)


def _readable(term: Term, names: Names) -> bool:
    """Whether a term can be read back from its text."""
    try:
        return canonical(read(write(term), names)) == term
    except NotationError:
        return False


_SIMPLE = tuple(Fraction(n) for n in ("0", "1", "2", "1/2", "-1", "3"))


def _witness(subject: Subject) -> Witness:
    """Values that satisfy the declarations: for one symbol after the other the simplest that leaves some for
    the others, since which model Z3 finds first may depend on anything.
    """
    smt = Smt(subject.theory, whole=True)
    facts = list(subject.theory.generic_entries())
    found = smt.satisfiable(facts, 2_000).model
    if found is None:
        raise ProofError("no values were found that satisfy the declarations")
    model, pinned = found, list(facts)
    for symbol in found:
        for value in (False, True) if isinstance(found[symbol], bool) else _SIMPLE:
            chosen = iff(symbol, Truth(value)) if isinstance(value, bool) else eq(symbol, Const(value))
            known = model.get(symbol) == value
            other = model if known else smt.satisfiable([*pinned, chosen], 200).model
            if other is not None:
                model = other
                pinned.append(chosen)
                break
    best = next((m for m in (model, found) if declarations_met(subject.theory, m)), model)
    return {t: v for t, v in best.items() if _readable(t, subject.names)}


# --- what is needed ---------------------------------------------------------------------------------------

Core: TypeAlias = frozenset[tuple[Term, int]]
"""The formulas, of hypotheses, facts and the negated goal, from which a question follows (see `Part`)."""


class Way(Enum):
    """How a question is asked, the cheapest way first: in the linear abstraction without what selections
    mean, with it, or in full.
    """

    BRIEF = "brief"
    SETS = "sets"
    FULL = "full"

    def plan(self, numbers: Iterable[int]) -> Plan:
        """A plan that asks these questions so."""
        every = frozenset(numbers)
        none: frozenset[int] = frozenset()
        ways = (every if self is Way.SETS else none, every if self is Way.FULL else none)
        return Plan(Choices(""), sets=ways[0], full=ways[1])


@dataclass
class Needs:
    """How questions are decided and what each of them needs, as far as it was found out. What a question
    needs is enough, too, where fewer invariants are assumed, so it is remembered by what is asked.
    """

    known: dict[tuple[str, Term], list[tuple[Way, Core]]] = field(default_factory=dict)

    def of(self, questions: Iterable[Question]) -> dict[Question, tuple[Way, Core]]:
        """Raises ProofError where a question is not decided from its text."""
        found: dict[Question, tuple[Way, Core]] = {}
        left: list[Question] = []
        for question in questions:
            remembered = self._remembered(question)
            if remembered is None:
                left.append(question)
            else:
                found[question] = remembered
        for way in Way:
            if way is Way.SETS and not any(q.smt.facts.has_sets for q in left):
                continue
            decided: dict[Question, tuple[Way, Core]] = {}
            for batch, numbers in batches_of(left, way.plan(range(len(left)))):
                for number, needed in zip(numbers, _cores(batch), strict=True):
                    if needed is not None:
                        decided[left[number]] = (way, needed)
            for question, (_, needed) in decided.items():
                self.known.setdefault((question.text, question.goal), []).append((way, needed))
            found |= decided
            left = [q for q in left if q not in decided]
        if left:
            raise ProofError(f"not decided from its text: {left[0].text}")
        return found

    def _remembered(self, question: Question) -> tuple[Way, Core] | None:
        for way, needed in self.known.get((question.text, question.goal), ()):
            ((batch, _),) = batches_of([question], way.plan([0]))
            if {term for term, _ in needed} <= {*batch.allowed, *batch.asked[0].own}:
                return way, needed
        return None


def _economical(questions: tuple[Question, ...], plan: Plan, needs: Needs) -> Plan:
    """The plan with scripts that assert what is needed and little more."""
    ways = needs.of(questions)
    plan = replace(
        plan,
        sets=frozenset(n for n, q in enumerate(questions) if ways[q][0] is Way.SETS),
        full=frozenset(n for n, q in enumerate(questions) if ways[q][0] is Way.FULL),
    )
    kept: list[Kept] = []
    for batch, numbers in batches_of(questions, plan):
        cores_ = [ways[questions[n]][1] for n in numbers]
        shared = _parts(batch.allowed, frozenset().union(*cores_))
        own = tuple(_parts(a.own, core) for a, core in zip(batch.asked, cores_, strict=True))
        kept.append(Kept(shared, own))
    return replace(plan, kept=tuple(kept))


def _parts(terms: Sequence[Term], needed: Core) -> tuple[Part, ...]:
    """Where, among the terms, the formulas stand that are needed."""
    which: dict[Term, list[int]] = {}
    for term, part in sorted(needed, key=itemgetter(1)):
        which.setdefault(term, []).append(part)
    return tuple((place, part) for place, term in enumerate(terms) for part in which.get(term, ()))


def _used(subject: Subject, plan: Plan, needs: Needs) -> Invariants:
    """The invariants on which the proof rests, directly or by way of other ones."""
    if subject.paths is None:
        raise InternalError("a subject without paths")
    invariants = plan.choices.invariants
    bearers: dict[Term, list[tuple[int, Term]]] = {}
    for number, terms in invariants.items():
        for term in terms:
            bearers.setdefault(subject.smt.normal(term), []).append((number, term))
    keeps: dict[tuple[int, Term], list[Obligation]] = {}
    for number, term, obligation in inductive_by_invariant(subject.paths, invariants):
        keeps.setdefault((number, term), []).append(obligation)
    used: set[tuple[int, Term]] = set()
    waiting = [(o, smt) for o, smt in subject.obligations(plan) if o.rule != inductive.__name__]
    while waiting:
        rests_on = _premises(subject, waiting, needs)
        new = list(dict.fromkeys(b for term in rests_on for b in bearers.get(term, ()) if b not in used))
        used.update(new)
        waiting = [(o, subject.smt) for bearer in new for o in keeps.get(bearer, ())]
    return {n: tuple(t for t in terms if (n, t) in used) for n, terms in invariants.items()}


def _premises(subject: Subject, obligations: list[tuple[Obligation, Smt]], needs: Needs) -> dict[Term, None]:
    """What obligations need, in a fixed order."""
    found: dict[Term, None] = {}
    questions: dict[Question, None] = {}
    for obligation, smt in obligations:
        for each in sorted_one(obligation, smt, described(obligation, subject.source)):
            match each:
                case Question():
                    questions[each] = None
                case Side(assumed=term):
                    found[term] = None
    for question, (_, needed) in needs.of(questions).items():
        terms = {term for term, _ in needed}
        found |= dict.fromkeys(h for h in question.hypotheses if h in terms)
    return found


def _cores(batch: Batch) -> list[Core | None]:
    """For each question what it needs; None where it does not follow."""
    printer = Printer(batch.smt)
    naming = _Naming(batch, printer)
    shared = naming.named(batch.allowed)
    questions = [(naming.named(asked.extra), *naming.goal(asked)) for asked in batch.asked]
    every = [*shared.values(), *(line for own, goal, _ in questions for line in (*own.values(), goal))]
    every += [line for _, _, sides in questions for line in sides.values()]
    head = "\n".join(printer.declarations(batch, every))
    if batch.linear:
        asked_ = [" ".join([*own.values(), *sides.values(), goal]) for own, goal, sides in questions]
        found = cores("\n".join([head, *shared.values()]), asked_)
    else:
        found = [core(head, {**shared, **own, **sides}, goal) for own, goal, sides in questions]
    return [None if names is None else naming.core(names, n) for n, names in enumerate(found)]


@dataclass
class _Naming:
    """Names for the formulas of a batch, to ask which of them are needed."""

    batch: Batch
    printer: Printer
    parts: dict[str, tuple[Term, int]] = field(default_factory=dict)
    goals: list[tuple[Term, int]] = field(default_factory=list)

    def named(self, terms: Iterable[Term]) -> dict[str, str]:
        """Assertions that the terms hold, by their names."""
        return dict(self._one(term, which) for term in terms for which in range(self._count(term)))

    def goal(self, asked: Asked) -> tuple[str, dict[str, str]]:
        """The assertion that the goal does not hold, and those of what holds anyway, by their names."""
        negated = asked.own[0]
        name, line = self._one(negated, 0)
        self.goals.append(self.parts.pop(name))
        return line, dict(self._one(negated, which) for which in range(1, self._count(negated)))

    def core(self, names: frozenset[str], question: int) -> Core:
        """What the names stand for, and the goal."""
        return frozenset({self.goals[question], *(self.parts[n] for n in names if n in self.parts)})

    def _count(self, term: Term) -> int:
        return len(self.printer.parts(self.batch, term))

    def _one(self, term: Term, which: int) -> tuple[str, str]:
        name = f"n{len(self.parts) + len(self.goals)}"
        self.parts[name] = (term, which)
        return name, f"(assert (! {self.printer.parts(self.batch, term)[which]} :named {name}))"

"""What is tried for a mechanism before the kernel is asked, and what is said where the kernel does not
accept.

Not trusted for VERIFIED, which is never said here. What is said to fail was replayed with exact arithmetic.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from aligncheck.kernel.verdict import Rejected
from aligncheck.language.conditions import Condition
from aligncheck.language.diagnostics import Diagnostic, Label, SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import NOWHERE, For, Mechanism, While
from aligncheck.language.syntax.walk import has_densities, statements_in
from aligncheck.search.discharge.contradiction import contradiction
from aligncheck.search.discharge.density import (
    ChosenDensities,
    DensityFindings,
    choose_densities,
    established_densities,
)
from aligncheck.search.discharge.establish import Chosen, Findings, choose, established
from aligncheck.search.discharge.prove import Open, Outcome, Proved
from aligncheck.search.obligations import ORDER
from aligncheck.search.relational.labels import AtHead, Ledger
from aligncheck.search.relational.paths import TooManyPathsError
from aligncheck.search.relational.selection import UnsupportedError
from aligncheck.search.relational.spell import spell
from aligncheck.search.relational.terms import Cmp, Kind, Term, atoms
from aligncheck.verdict import (
    AlignmentFails,
    ConditionReport,
    ObligationReport,
    Status,
    Unknown,
    Verdict,
)

if TYPE_CHECKING:
    from aligncheck.search.discharge.exceeding import Exceeding
    from aligncheck.search.discharge.search import Violation

SEARCH_SECONDS = 4.0
"""How long to look for a concrete violation of one condition."""


def attempt(mechanism: Mechanism, source: Source, deadline: float) -> Attempt:
    """What a search chooses for a proof.

    Raises SpecError for contradictory `where` clauses (rule 2) and for programs with too many paths.
    """
    try:
        _refuse_contradiction(mechanism, source)
    except UnsupportedError as error:
        return Untried(replace(_unsupported(mechanism, error), help=_CLAUSE_HELP))
    densities = has_densities(mechanism.body)
    try:
        if densities:
            return ByDensities(mechanism, source, deadline, choose_densities(mechanism, deadline))
        return ByAlignment(mechanism, source, deadline, choose(mechanism, source, deadline))
    except TooManyPathsError as error:
        raise SpecError(source, _too_many_paths(mechanism, error)) from None
    except UnsupportedError as error:
        unknown = _unsupported(mechanism, error)
        help_ = _DENSITY_HELP if densities and not error.advice else unknown.help
        return Untried(replace(unknown, help=help_))


@dataclass(frozen=True)
class Untried:
    """A mechanism that the search has no terms for. The kernel may have."""

    unknown: Unknown
    chosen: None = None

    def failing(self, answer: Rejected, search: bool, explain: bool) -> Verdict:
        """UNKNOWN: nothing was found out."""
        return self.unknown


@dataclass(frozen=True)
class ByAlignment:
    """The choices for a mechanism with an alignment."""

    mechanism: Mechanism
    source: Source
    deadline: float
    chosen: Chosen

    def failing(self, answer: Rejected, search: bool, explain: bool) -> Verdict:
        """The verdict where the kernel does not accept: a confirmed violation, or UNKNOWN."""
        findings = established(self.chosen, self.source, thorough=search)
        _refuse_bad_clause(findings, self.source)
        if not findings.open():
            return _not_accepted(self.mechanism, answer, findings)
        violation = self._first_violation(findings) if search else None
        if violation is None:
            return _unknown(self.mechanism, findings)
        return _fails(
            self.mechanism, findings, violation, self._advice(findings, violation) if explain else ()
        )

    def _first_violation(self, findings: Findings) -> Violation | None:
        """A confirmed violation of the first condition, in `ORDER`, that has one."""
        from aligncheck.search.discharge.search import find_violation

        unproved = {o.obligation.condition for o in findings.open()}
        named = findings.theory.mechanism  # with a name for each selection
        for condition in ORDER:
            if condition in unproved and condition is not Condition.TERMINATES:
                until = min(self.deadline, time.monotonic() + SEARCH_SECONDS)
                found = find_violation(named, self.source, condition, until)
                if found is not None:
                    return found
        return None

    def _advice(self, findings: Findings, violation: Violation) -> tuple[str, ...]:
        from aligncheck.search.advice import advice_for

        failing = violation.counterexample.scenario
        return advice_for(findings.theory.mechanism, self.source, findings, failing, self.deadline)


@dataclass(frozen=True)
class ByDensities:
    """The choices for a mechanism that draws by densities, so without an alignment."""

    mechanism: Mechanism
    source: Source
    deadline: float
    chosen: ChosenDensities

    def failing(self, answer: Rejected, search: bool, explain: bool) -> Verdict:
        """The verdict where the kernel does not accept: a confirmed violation, or UNKNOWN."""
        findings = established_densities(self.chosen, self.source)
        _refuse_bad_clause(findings, self.source)
        if not findings.open():
            return _not_accepted(self.mechanism, answer, findings)
        exceeding = self._exceeding(findings) if search else None
        if exceeding is None:
            return replace(_unknown(self.mechanism, findings), help=_DENSITY_HELP)
        return _too_different(self.mechanism, findings, exceeding, self._advice(findings) if explain else ())

    def _exceeding(self, findings: DensityFindings) -> Exceeding | None:
        """A confirmed violation of the first condition, in `ORDER`, that has one."""
        from aligncheck.search.discharge.exceeding import find_exceeding

        unproved = {o.obligation.condition for o in findings.open()}
        for condition in ORDER:
            if condition in unproved:
                found = find_exceeding(self.mechanism, condition, self.deadline)
                if found is not None:
                    return found
        return None

    def _advice(self, findings: DensityFindings) -> tuple[str, ...]:
        from aligncheck.search.advice import density_advice

        return density_advice(self.mechanism, self.source, findings, self.deadline)


Attempt: TypeAlias = ByAlignment | ByDensities | Untried


# --- refusals ---------------------------------------------------------------------------------------------


def _refuse_contradiction(mechanism: Mechanism, source: Source) -> None:
    """Raises SpecError for `where` clauses that no inputs satisfy (rule 2)."""
    first, *others = contradiction(mechanism) or (None,)
    if first is not None:
        what = "the other clause" if len(others) == 1 else f"the {len(others)} other clauses"
        raise SpecError(
            source,
            Diagnostic(
                "contradictory-where",
                "no inputs satisfy the declarations",
                Label(first, f"cannot hold together with {what}" if others else "can never hold"),
                tuple(Label(span) for span in others if span is not None),
                notes=("a proof about no inputs at all would prove nothing",),
                help="widen one of the ranges",
            ),
        )


def _refuse_bad_clause(findings: Findings | DensityFindings, source: Source) -> None:
    """A sensitivity that may be negative, a step that may be 0, a range that may be empty: not decided is
    refused too.
    """
    for o in findings.open():
        if o.obligation.condition is Condition.HYPOTHESES and o.obligation.rule == "clauses_make_sense":
            raise SpecError(
                source,
                Diagnostic(
                    "bad-clause",
                    f"not for all parameters: {o.obligation.text}",
                    Label(o.obligation.span),
                    help="restrict the parameters with a `where` clause",
                ),
            )


def _too_many_paths(mechanism: Mechanism, error: TooManyPathsError) -> Diagnostic:
    return Diagnostic(
        "too-many-paths",
        f"the program has more than {error.args[0]} paths",
        Label(mechanism.span),
        help="split the mechanism, or merge branches that only assign",
    )


# --- not accepted -----------------------------------------------------------------------------------------


def _fails(
    mechanism: Mechanism, findings: Findings, violation: Violation, advice: tuple[str, ...]
) -> AlignmentFails:
    open_here = [o for o in findings.open() if o.obligation.condition is violation.condition]
    related = tuple(
        Label(span, text)
        for o in open_here[:1]
        for span, text in o.obligation.related
        if span != violation.span
    )
    return AlignmentFails(
        mechanism,
        violation.condition,
        violation.message,
        Label(violation.span),
        related,
        violation.counterexample,
        _reports(findings, violation.condition),
        _invariants(findings),
        advice,
    )


def _not_accepted(mechanism: Mechanism, answer: Rejected, findings: Findings | DensityFindings) -> Unknown:
    """Every obligation of the search was decided, and the kernel does not accept: the kernel decides."""
    known = {c.id: c for c in Condition}
    reason = f"{answer.condition}: {answer.reason}"
    return Unknown(
        mechanism,
        known.get(answer.condition),
        f"not kernel-checked: {answer.reason}"
        if answer.condition == "language"
        else f"the kernel did not accept: {reason}",
        Label(answer.place if answer.place != NOWHERE else mechanism.span),
        _reports(findings, None),
        _invariants(findings),
        help="what the search found to hold could not be shown to the kernel; nothing is claimed",
    )


def _unknown(mechanism: Mechanism, findings: Findings | DensityFindings) -> Unknown:
    worst = min(findings.open(), key=lambda o: ORDER.index(o.obligation.condition))
    obligation = worst.obligation
    return Unknown(
        mechanism,
        obligation.condition,
        f"not decided: {obligation.text}",
        Label(obligation.span),
        _reports(findings, None),
        _invariants(findings),
        help=_help(obligation.condition, mechanism),
    )


def _unsupported(mechanism: Mechanism, error: UnsupportedError) -> Unknown:
    return Unknown(
        mechanism,
        Condition.OUTPUT,
        f"no rule for {error}",
        Label(error.span),
        help=error.advice
        or "give the maximum or the selection an assignment of its own, at the top level of the program",
    )


def _help(condition: Condition, mechanism: Mechanism) -> str:
    loops = any(isinstance(stmt, For | While) for stmt in statements_in(mechanism.body))
    match condition:
        case Condition.TERMINATES:
            return (
                "give the loop a bound that counts down (`while i < len(q) and ...`), "
                "or a test that fresh noise decides against fixed numbers"
            )
        case Condition.COST | Condition.OUTPUT | Condition.DEFINED | Condition.SCALES if loops:
            return "an `invariant` line at the head of the loop may supply the missing fact"
        case Condition.INVARIANT:
            return "strengthen the invariant until every round preserves it, or remove it"
        case (
            Condition.DRAWS
            | Condition.FRESH
            | Condition.SUPPORT
            | Condition.ACYCLIC
            | Condition.INJECTIVE
            | Condition.COUNTABLE
            | Condition.HYPOTHESES
            | Condition.CALLS
            | Condition.COST
            | Condition.OUTPUT
            | Condition.DEFINED
            | Condition.SCALES
        ):
            return "simplify the alignment, or allow more time with `--timeout`"


_DENSITY_HELP = (
    "weights are to be `exp(E)`, times public factors, and a number's location at the logarithm of the odds: "
    "`E of the chosen index - logsumexp(E for the others)`"
)


_CLAUSE_HELP = "a declaration takes no set: state it of each answer, `q[i]`, or of `len(q)`"


_TOO_DIFFERENT = {
    Condition.COST: "an output exists whose density on D and on D' differs by more than the claim allows",
    Condition.SUPPORT: "an output exists that is possible on D and impossible on D'",
    Condition.OUTPUT: "the same draws release something else on D'",
}


def _too_different(
    mechanism: Mechanism,
    findings: DensityFindings,
    exceeding: Exceeding,
    advice: tuple[str, ...],
) -> AlignmentFails:
    condition = exceeding.condition
    obligation = next(o.obligation for o in findings.open() if o.obligation.condition is condition)
    return AlignmentFails(
        mechanism,
        condition,
        _TOO_DIFFERENT[condition],
        Label(obligation.span),
        tuple(Label(span, text) for span, text in obligation.related),
        None,
        _reports(findings, condition),
        (),
        advice,
        densities=exceeding.example,
    )


# --- what became of obligations ---------------------------------------------------------------------------


def _reports(findings: Findings | DensityFindings, failed: Condition | None) -> tuple[ConditionReport, ...]:
    """One report per condition that had obligations, in the order of the lemma."""
    groups: dict[Condition, list[Outcome]] = {c: [] for c in Condition}
    for outcome in findings.outcomes:
        groups[outcome.obligation.condition].append(outcome)
    return tuple(_report(condition, outcomes, failed) for condition, outcomes in groups.items() if outcomes)


def _report(condition: Condition, outcomes: list[Outcome], failed: Condition | None) -> ConditionReport:
    if all(isinstance(o, Proved) for o in outcomes):
        status = Status.PROVED
    else:
        general = {Condition.ACYCLIC, Condition.INJECTIVE}
        gone = condition is failed or (condition in general and failed in general)
        status = Status.FAILED if gone else Status.UNKNOWN
    return ConditionReport(
        condition,
        status,
        _how(outcomes),
        tuple(_obligation(o, status) for o in outcomes),
    )


def _how(outcomes: Iterable[Outcome]) -> str:
    counts: dict[str, int] = {}
    for o in outcomes:
        how = o.how if isinstance(o, Proved) else "open"
        counts[how] = counts.get(how, 0) + 1
    return ", ".join(how if n == 1 else f"{how} ({n})" for how, n in counts.items())


def _obligation(outcome: Outcome, status: Status) -> ObligationReport:
    o = outcome.obligation
    match outcome:
        case Proved(how=how, seconds=seconds):
            return ObligationReport(o.condition, o.text, o.span, Status.PROVED, how, seconds=seconds)
        case Open(refuted=refuted, seconds=seconds):
            how = "does not follow" if refuted else "not decided"
            left = Status.FAILED if status is Status.FAILED else Status.UNKNOWN
            return ObligationReport(o.condition, o.text, o.span, left, how, seconds=seconds)


def _invariants(findings: Findings | DensityFindings) -> tuple[str, ...]:
    """The invariants that were found, in the spec's words."""
    if isinstance(findings, DensityFindings):
        return ()
    return tuple(
        f"loop {number}: {spell(term)}"
        for number, terms in findings.invariants.items()
        for term in sorted(terms, key=_rank)
        if _tells(term)
    )


def _tells(term: Term) -> bool:
    """Whether a person learns something: not so where two loops' counters have one name in the spec."""
    return not (isinstance(term, Cmp) and spell(term.left) == spell(term.right))


def _rank(term: Term) -> int:
    """Invariants that tell most come first: costs, then distances, then the rest."""
    found = atoms((term,))
    if any(isinstance(a.label, AtHead) and a.label.key is Ledger.COST for a in found):
        return 0
    return 1 if any(a.kind in (Kind.DISTANCE, Kind.DRIFT) for a in found) else 2

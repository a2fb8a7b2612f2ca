"""From outcomes to a verdict: VERIFIED if everything was proved; otherwise a confirmed violation, or
UNKNOWN.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from aligncheck.language.conditions import Condition
from aligncheck.language.diagnostics import Diagnostic, Label, SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax.contract import Contract, contract_of, with_contract
from aligncheck.language.syntax.nodes import For, Mechanism, Use, While
from aligncheck.language.syntax.walk import has_densities, statements_in
from aligncheck.search.discharge.algebra import canonical
from aligncheck.search.discharge.contradiction import contradiction
from aligncheck.search.discharge.costs import cost_parts
from aligncheck.search.discharge.density import (
    DensityFindings,
    density_parts,
    establish_densities,
    rules_used,
)
from aligncheck.search.discharge.establish import Findings, establish
from aligncheck.search.discharge.guarantees import (
    bounds_by_densities,
    bounds_of_fields,
    length_by_densities,
    length_of_output,
)
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
    Error,
    ObligationReport,
    Proof,
    Status,
    Unknown,
    Verdict,
    Verified,
    name_of,
)

if TYPE_CHECKING:
    from aligncheck.search.discharge.exceeding import Exceeding
    from aligncheck.search.discharge.search import Violation

Established: TypeAlias = Findings | DensityFindings


@dataclass(frozen=True, slots=True)
class Proven:
    """A verified mechanism, its spec, and what was established about it."""

    mechanism: Mechanism
    source: Source
    findings: Established


SEARCH_SECONDS = 4.0
"""How long to look for a concrete violation of one condition."""


def judge(mechanism: Mechanism, source: Source, deadline: float, explain: bool = True) -> Verdict:
    """The verdict on a checked mechanism; `deadline` is a `time.monotonic()` value. `explain`: with the
    shares of the cost and with what would pass instead, which cost further proofs.

    Raises SpecError for contradictory `where` clauses (rule 2) and for programs with too many paths.
    """
    return _judged(mechanism, source, deadline, explain)[0]


def judge_in_full(
    mechanism: Mechanism, source: Source, deadline: float, search: bool = True
) -> tuple[Verdict, tuple[Proven, ...]]:
    """The verdict, and all that was verified on the way: what is called comes before what calls it. Without
    `search` for a violation, what is not proved is UNKNOWN. Raises what `judge` raises.
    """
    proven: list[Proven] = []
    verdict, findings = _judged(mechanism, source, deadline, False, proven, search)
    if isinstance(verdict, Verified) and findings is not None:
        proven.append(Proven(verdict.mechanism, source, findings))
    return verdict, tuple(proven)


def _judged(
    mechanism: Mechanism,
    source: Source,
    deadline: float,
    explain: bool,
    proven: list[Proven] | None = None,
    search: bool = True,
) -> tuple[Verdict, Established | None]:
    """The verdict, and what was established on the way, if the proof got so far. Callees that are verified
    are added to `proven`. Without `search` for a violation, what is not proved is UNKNOWN.
    """
    mechanism = with_proved_callees(mechanism, source, deadline, {}, proven, search)
    try:
        _refuse_contradiction(mechanism, source)
    except UnsupportedError as error:
        return replace(_unsupported(mechanism, error), help=_CLAUSE_HELP), None
    if has_densities(mechanism.body):
        return _by_densities(mechanism, source, deadline, explain, search)
    try:
        findings = establish(mechanism, source, deadline, thorough=search)
    except TooManyPathsError as error:
        raise SpecError(source, _too_many_paths(mechanism, error)) from None
    except UnsupportedError as error:
        return _unsupported(mechanism, error), None
    return _verdict(mechanism, source, findings, deadline, explain, search), findings


def with_proved_callees(
    mechanism: Mechanism,
    source: Source,
    deadline: float,
    known: dict[str, Contract],
    proven: list[Proven] | None = None,
    search: bool = True,
) -> Mechanism:
    """The mechanism with what is proved of those that it calls. Each file is checked once: `known` holds
    what was proved of those checked before, by path, and is added to.

    Raises SpecError (`callee-not-verified`) at the `use` line of one that is not VERIFIED.
    """
    for use in mechanism.uses:
        contract = contract_of(use)
        if contract.verdict is None:
            path = contract.source.path
            if path not in known:
                known[path] = _proved(contract, use, source, deadline, proven, search)
            mechanism = with_contract(mechanism, use.name, known[path])
    return mechanism


def _proved(
    contract: Contract,
    use: Use,
    source: Source,
    deadline: float,
    proven: list[Proven] | None,
    search: bool,
) -> Contract:
    try:
        verdict, findings = _judged(contract.mechanism, contract.source, deadline, False, proven, search)
    except SpecError as error:
        raise _not_verified(source, use, "ERROR", error.diagnostic.message) from None
    if not isinstance(verdict, Verified):
        message = "" if isinstance(verdict, Error) else verdict.message
        raise _not_verified(source, use, name_of(verdict), message)
    contract = replace(contract, mechanism=verdict.mechanism, verdict=name_of(verdict))
    if proven is not None and findings is not None:
        proven.append(Proven(verdict.mechanism, contract.source, findings))
    match findings:
        case Findings():
            return replace(contract, length=length_of_output(findings), bounds=bounds_of_fields(findings))
        case DensityFindings():
            length, bounds = length_by_densities(findings), bounds_by_densities(findings)
            return replace(contract, length=length, bounds=bounds)
        case None:
            return contract


def _not_verified(source: Source, use: Use, verdict: str, message: str) -> SpecError:
    return SpecError(
        source,
        Diagnostic(
            "callee-not-verified",
            f"`{use.path}` is not verified ({verdict}): only verified mechanisms can be called",
            Label(use.span),
            notes=(f"{use.path}: {message}",) if message else (),
            help=f"`aligncheck verify {use.path}` shows why",
        ),
    )


def _verdict(
    mechanism: Mechanism,
    source: Source,
    findings: Findings,
    deadline: float,
    explain: bool,
    search: bool,
) -> Verdict:
    _refuse_bad_clause(findings, source)
    if not findings.open():
        return Verified(mechanism, _reports(findings, None), _proof(findings, source, explain))
    named = findings.theory.mechanism  # with a name for each selection
    violation = _first_violation(named, source, findings, deadline) if search else None
    if violation is None:
        return _unknown(mechanism, findings, _proof(findings, source, explain))
    advice = _advice(named, source, findings, violation, deadline) if explain else ()
    return _fails(mechanism, findings, violation, _proof(findings, source, explain), advice)


def _refuse_contradiction(mechanism: Mechanism, source: Source) -> None:
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


def _refuse_bad_clause(findings: Established, source: Source) -> None:
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


# --- violations -------------------------------------------------------------------------------------------


def _first_violation(
    mechanism: Mechanism, source: Source, findings: Findings, deadline: float
) -> Violation | None:
    """A confirmed violation of the first condition, in `ORDER`, that has one."""
    from aligncheck.search.discharge.search import find_violation

    unproved = {o.obligation.condition for o in findings.open()}
    for condition in ORDER:
        if condition in unproved and condition is not Condition.TERMINATES:
            until = min(deadline, time.monotonic() + SEARCH_SECONDS)
            found = find_violation(mechanism, source, condition, until)
            if found is not None:
                return found
    return None


def _advice(
    mechanism: Mechanism, source: Source, findings: Findings, violation: Violation, deadline: float
) -> tuple[str, ...]:
    from aligncheck.search.advice import advice_for

    return advice_for(mechanism, source, findings, violation.counterexample.scenario, deadline)


def _fails(
    mechanism: Mechanism, findings: Findings, violation: Violation, proof: Proof, advice: tuple[str, ...]
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
        proof,
        advice,
    )


def _unknown(mechanism: Mechanism, findings: Established, proof: Proof) -> Unknown:
    worst = min(findings.open(), key=lambda o: ORDER.index(o.obligation.condition))
    obligation = worst.obligation
    return Unknown(
        mechanism,
        obligation.condition,
        f"not decided: {obligation.text}",
        Label(obligation.span),
        _reports(findings, None),
        proof,
        help=_help(obligation.condition, mechanism),
    )


def _unsupported(mechanism: Mechanism, error: UnsupportedError) -> Unknown:
    return Unknown(
        mechanism,
        Condition.OUTPUT,
        f"no rule for {error}",
        Label(error.span),
        (),
        None,
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


# --- draws by densities -----------------------------------------------------------------------------------


def _by_densities(
    mechanism: Mechanism, source: Source, deadline: float, explain: bool, search: bool
) -> tuple[Verdict, DensityFindings | None]:
    """The verdict on a mechanism without an alignment, by the ratio of its densities."""
    try:
        findings = establish_densities(mechanism, source, deadline)
    except UnsupportedError as error:
        return replace(_unsupported(mechanism, error), help=error.advice or _DENSITY_HELP), None
    _refuse_bad_clause(findings, source)
    parts = density_parts(findings) if explain else ()
    claim = spell(canonical(findings.theory.claim))
    proof = Proof(findings.route, parts, claim, rules=rules_used(findings))
    unproved = frozenset(o.obligation.condition for o in findings.open())
    if not unproved:
        return Verified(mechanism, _reports(findings, None), proof), findings
    exceeding = _exceeding(mechanism, unproved, deadline) if search else None
    if exceeding is None:
        return replace(_unknown(mechanism, findings, proof), help=_DENSITY_HELP), findings
    advice = _density_advice(mechanism, source, findings, deadline) if explain else ()
    return _too_different(mechanism, findings, exceeding, proof, advice), findings


_DENSITY_HELP = (
    "weights are to be `exp(E)`, times public factors, and a number's location at the logarithm of the odds: "
    "`E of the chosen index - logsumexp(E for the others)`"
)


def _exceeding(mechanism: Mechanism, unproved: frozenset[Condition], deadline: float) -> Exceeding | None:
    """A confirmed violation of the first condition, in `ORDER`, that has one."""
    from aligncheck.search.discharge.exceeding import find_exceeding

    for condition in ORDER:
        if condition in unproved:
            found = find_exceeding(mechanism, condition, deadline)
            if found is not None:
                return found
    return None


def _density_advice(
    mechanism: Mechanism, source: Source, findings: DensityFindings, deadline: float
) -> tuple[str, ...]:
    from aligncheck.search.advice import density_advice

    return density_advice(mechanism, source, findings, deadline)


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
    proof: Proof,
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
        proof,
        advice,
        densities=exceeding.example,
    )


# --- reports ----------------------------------------------------------------------------------------------


def _reports(findings: Established, failed: Condition | None) -> tuple[ConditionReport, ...]:
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
        sum(o.seconds for o in outcomes),
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
            return ObligationReport(o.condition, o.text, o.span, Status.PROVED, how, seconds)
        case Open(refuted=refuted, seconds=seconds):
            how = "does not follow" if refuted else "not decided"
            left = Status.FAILED if status is Status.FAILED else Status.UNKNOWN
            return ObligationReport(o.condition, o.text, o.span, left, how, seconds)


def _proof(findings: Findings, source: Source, explain: bool) -> Proof:
    parts = cost_parts(findings, source) if explain else ()
    return Proof(
        findings.route,
        parts,
        spell(canonical(findings.theory.claim)),
        tuple(
            f"loop {number}: {spell(term)}"
            for number, terms in findings.invariants.items()
            for term in sorted(terms, key=_rank)
            if _tells(term)
        ),
        tuple(_path_text(findings, index, source) for index in range(len(findings.analysis.paths))),
        tuple(dict.fromkeys(o.obligation.rule for o in findings.outcomes)),
        None if findings.theory.most is None else spell(canonical(findings.theory.most)),
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


def _path_text(findings: Findings, index: int, source: Source) -> str:
    path = findings.analysis.paths[index]
    cuts = findings.analysis.cuts
    target = "end" if path.target is None else cuts[path.target].label
    tests = [
        ("" if d.taken else "not ") + f"({' '.join(source.text_of(d.span).split())})"
        if d.span not in {c.loop.span for c in cuts if c.loop is not None}
        else ("next round" if d.taken else "input at its end")
        for d in path.decisions()
    ]
    emitted = [e.tag for e in path.emissions()]
    text = f"{cuts[path.origin].label} to {target}"
    if tests:
        text += ": " + ", ".join(tests)
    return text + (f"; emits {', '.join(emitted)}" if emitted else "")

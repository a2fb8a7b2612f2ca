"""What would pass instead, when an alignment fails: each piece of advice is itself verified."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from aligncheck.language.conditions import Condition
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes, rewrite
from aligncheck.language.syntax.nodes import (
    SELECTING,
    Adjacency,
    Binary,
    Call,
    Expr,
    Gather,
    Indices,
    Mechanism,
    Name,
    Number,
    Parameter,
    Queries,
    Sample,
    Stmt,
)
from aligncheck.language.syntax.unparse import unparse_expr
from aligncheck.language.syntax.walk import expressions_in, names_in, statements_in
from aligncheck.meaning.scenario import Scenario, check_scenario
from aligncheck.search.discharge.algebra import canonical
from aligncheck.search.discharge.density import DensityFindings, establish_densities
from aligncheck.search.discharge.establish import Findings, establish
from aligncheck.search.discharge.prove import Proved, decide
from aligncheck.search.discharge.smt import Smt
from aligncheck.search.obligations.alignment import within_claim
from aligncheck.search.obligations.density import densities_bound_privacy
from aligncheck.search.relational.labels import Ledger
from aligncheck.search.relational.paths import TooManyPathsError
from aligncheck.search.relational.spell import spell
from aligncheck.search.relational.terms import (
    Cmp,
    Kind,
    Sort,
    Sym,
    Term,
    atoms,
    compare,
    const,
    scaled,
    substitute,
)
from aligncheck.search.relational.theory import Theory

_FACTORS = (
    Fraction(5, 4),
    Fraction(4, 3),
    Fraction(3, 2),
    Fraction(2),
    Fraction(5, 2),
    Fraction(3),
    Fraction(4),
)
SECONDS = 3.0


def advice_for(
    mechanism: Mechanism, source: Source, findings: Findings, failing: Scenario, deadline: float
) -> tuple[str, ...]:
    """Other claims, parameter ranges and adjacencies under which this spec would be verified; no proof is
    tried under an adjacency that allows the run that was found failing.
    """
    until = min(deadline, time.monotonic() + SECONDS)
    unproved = {o.obligation.condition for o in findings.open()}
    found: list[str] = []
    if unproved == {Condition.COST}:
        found += _other_claims(findings, source)
    if Condition.OUTPUT in unproved:
        found += _ties(mechanism, source, until)
    if not unproved <= {Condition.COST, Condition.OUTPUT, Condition.SUPPORT}:
        return tuple(found)
    for name, changed in _other_adjacencies(mechanism):
        if time.monotonic() > until:
            break
        if not check_scenario(changed, failing):
            continue
        try:
            if not establish(changed, source, until).open():
                found.append(f"verified for adjacency `{name.value}`")
        except TooManyPathsError:
            continue
    return tuple(found)


def density_advice(
    mechanism: Mechanism, source: Source, findings: DensityFindings, deadline: float
) -> tuple[str, ...]:
    """The same for a mechanism that draws by densities: another claim, other adjacencies."""
    until = min(deadline, time.monotonic() + SECONDS)
    if {o.obligation.condition for o in findings.open()} != {Condition.COST}:
        return ()
    found: list[str] = []
    for factor in _FACTORS:
        claim = scaled(findings.theory.claim, factor)
        wanted = densities_bound_privacy(findings.densities, findings.factors, claim)
        if isinstance(decide(wanted, findings.smt), Proved):
            found.append(f"needs `privacy {spell(canonical(claim))}`")
            break
    for name, changed in _other_adjacencies(mechanism):
        if time.monotonic() > until:
            break
        if not establish_densities(changed, source, until).open():
            found.append(f"verified for adjacency `{name.value}`")
    return tuple(found)


def _ties(mechanism: Mechanism, source: Source, until: float) -> Iterator[str]:
    """What ties cost a selection on a lattice, where the same alignment is verified for continuous noise, in
    which there are none.

    Two of n sums of an answer and DLap(s, γ) noise are equal with probability at most (1 + 1/e) γ/s, so that
    there is a tie with probability at most n² γ/s. Source: VLDB paper, appendix A.2.
    """
    drawn = {s.name: s for s in statements_in(mechanism.body) if isinstance(s, Sample)}
    selections = [
        e
        for e in expressions_in(mechanism)
        if isinstance(e, Gather) and e.function in ("argmax", "argmin", *SELECTING)
    ]
    compared = [(drawn[name], e.over) for e in selections for name in sorted(names_in(e.body) & drawn.keys())]
    lattice = [(s, over) for s, over in compared if s.family.stepped]
    if not lattice or establish(_continuous(mechanism), source, until).open():
        return
    sample, over = lattice[0]
    scale, step = sample.args
    count: Expr = Call("len", (Name(over.base),)) if isinstance(over, Indices) else Name("n")
    delta = Binary("/", Binary("*", step, Binary("**", count, Number(Fraction(2)))), scale)
    try:
        text = spell(canonical(Theory(mechanism).input_term(delta, None)))
    except KeyError:  # the scale is a variable of the program
        text = unparse_expr(delta)
    yield (
        "with continuous noise, where no two values are equal, this alignment is verified; on this "
        f"lattice some two of them are equal with probability at most delta = {text} (VLDB paper, appendix "
        "A.2), which is what the ties would cost"
    )


def _continuous(mechanism: Mechanism) -> Mechanism:
    """The mechanism with continuous noise and real answers in place of those on a lattice."""

    def statement(s: Stmt) -> Stmt:
        if not isinstance(s, Sample):
            return s
        continuous = s.family.on_reals
        return s if continuous is None else replace(s, family=continuous, args=s.args[:1])

    inputs = tuple(
        replace(item, sort=nodes.Sort.REAL, lattice=None) if isinstance(item, Queries) else item
        for item in mechanism.inputs
    )
    return replace(mechanism, inputs=inputs, body=rewrite.statements(mechanism.body, statement))


def _other_claims(findings: Findings, source: Source) -> Iterator[str]:
    """The least multiple of the claim, and a parameter range, for which the cost obligation is proved."""
    smt = findings.smt
    claim = findings.theory.claim
    for larger, most in _larger_claims(findings):
        if _holds(findings, larger, (), smt, source, most):
            text = unparse_expr(findings.theory.mechanism.privacy) if larger == claim else _text(larger)
            yield f"needs `privacy {text}{f' at most {_text(most)}' if most is not None else ''}`"
            break
    for parameter in findings.theory.mechanism.inputs:
        if isinstance(parameter, Parameter) and parameter.sort.value != Sort.BOOL.value:
            value = findings.theory.parameter(parameter.name)
            for op, word in ((">=", ">="), ("<=", "<=")):
                for bound in (1, 2):
                    if _holds(findings, claim, (compare(op, value, const(bound)),), smt, source):
                        yield f"verified where `{parameter.name} {word} {bound}`"
                        return


def _text(claim: Term) -> str:
    return spell(canonical(claim))


def _larger_claims(findings: Findings) -> Iterator[tuple[Term, Term | None]]:
    """Claims to try instead, the least ones first, each with its bound where the spec gives one."""
    claim, most = findings.theory.claim, findings.theory.most
    if most is None:
        yield from ((scaled(claim, factor), None) for factor in _FACTORS)
        yield from ((bound, None) for bound in _bounds_found(findings))
    else:
        yield from ((claim, scaled(most, factor)) for factor in _FACTORS)
        yield from ((scaled(claim, factor), scaled(most, factor)) for factor in _FACTORS)


def _bounds_found(findings: Findings) -> Iterator[Term]:
    """Claims that the invariants suggest: a bound on the cost by counters, each counter at its own greatest
    value.
    """
    for cut in findings.analysis.cuts:
        if Ledger.COST not in cut.fresh:
            continue
        terms = findings.invariants[cut.number]
        greatest: dict[Term, Term] = {
            t.left: t.right
            for t in terms
            if isinstance(t, Cmp) and t.op == "<=" and isinstance(t.left, Sym) and _is_public(t.right)
        }
        for t in terms:
            if isinstance(t, Cmp) and t.op == "<=" and t.left == cut.fresh[Ledger.COST].left:
                bound = canonical(substitute(t.right, greatest))
                if _is_public(bound):
                    yield bound


def _is_public(term: Term) -> bool:
    return all(isinstance(a, Sym) and a.kind is Kind.PARAMETER for a in atoms((term,)))


def _holds(
    findings: Findings,
    claim: Term,
    extra: tuple[Term, ...],
    smt: Smt,
    source: Source,
    most: Term | None = None,
) -> bool:
    """Whether the cost stays within a claim, under an extra condition that some parameters satisfy."""
    if extra and not smt.satisfiable(extra, 500).model:
        return False
    wanted = within_claim(findings.analysis, claim, findings.invariants, source, most)
    return all(
        isinstance(decide(replace(o, hypotheses=(*o.hypotheses, *extra)), smt), Proved) for o in wanted
    )


def _other_adjacencies(mechanism: Mechanism) -> Iterator[tuple[Adjacency, Mechanism]]:
    """The mechanism with each narrower adjacency, for all groups of queries alike."""
    groups = [item for item in mechanism.inputs if isinstance(item, Queries)]
    kinds = {g.adjacency for g in groups}
    if len(kinds) != 1:
        return
    for narrower in kinds.pop().narrower:
        inputs = tuple(
            replace(item, adjacency=narrower) if isinstance(item, Queries) else item
            for item in mechanism.inputs
        )
        yield narrower, replace(mechanism, inputs=inputs)

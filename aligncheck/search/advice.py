"""What would pass instead, when an alignment fails: each piece of advice is itself verified."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

from aligncheck.language.conditions import Condition
from aligncheck.language.syntax import nodes, rewrite
from aligncheck.language.syntax.nodes import (
    SELECTING,
    Adjacency,
    Binary,
    Call,
    Compare,
    Expr,
    Gather,
    Indices,
    Logic,
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
from aligncheck.search.discharge.choose import Chosen
from aligncheck.search.relational.labels import Ledger
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
from aligncheck.search.witness.text import expression

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


Verified: TypeAlias = Callable[[Mechanism, float], bool]
"""Whether the kernel accepts a mechanism, by a `time.monotonic()` value."""


def advice_for(
    mechanism: Mechanism,
    chosen: Chosen | None,
    failed: Condition,
    failing: Scenario,
    verified: Verified,
    deadline: float,
) -> tuple[str, ...]:
    """Other claims, parameter ranges and adjacencies under which this spec would be verified; no proof is
    tried under an adjacency that allows the run that was found failing.
    """
    until = min(deadline, time.monotonic() + SECONDS)
    found: list[str] = []
    if failed is Condition.COST:
        found += _other_claims(mechanism, chosen, verified, until)
    if failed is Condition.OUTPUT:
        found += _ties(mechanism, verified, until)
    if failed not in (Condition.COST, Condition.OUTPUT, Condition.SUPPORT):
        return tuple(found)
    for name, changed in _other_adjacencies(mechanism):
        if time.monotonic() > until:
            break
        if check_scenario(changed, failing) and verified(changed, until):
            found.append(f"verified for adjacency `{name.value}`")
    return tuple(found)


def _ties(mechanism: Mechanism, verified: Verified, until: float) -> Iterator[str]:
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
    if not lattice or not verified(_continuous(mechanism), until):
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


def _other_claims(
    mechanism: Mechanism, chosen: Chosen | None, verified: Verified, until: float
) -> Iterator[str]:
    """The least multiple of the claim, and a parameter range, with which the mechanism is verified: those are
    tried of which the invariants show it, where there are any.
    """
    theory = Theory(mechanism)
    for larger, most in _larger_claims(theory, chosen):
        if (chosen is None or chosen.keeps(larger, most)) and time.monotonic() < until:
            privacy = mechanism.privacy if larger == theory.claim else _expression(larger)
            bound = None if most is None else _expression(most)
            if verified(replace(mechanism, privacy=privacy, most=bound), until):
                yield f"needs `privacy {unparse_expr(privacy)}{f' at most {_text(most)}' if most else ''}`"
                break
    for parameter in mechanism.inputs:
        if (
            chosen is not None
            and isinstance(parameter, Parameter)
            and parameter.sort.value != Sort.BOOL.value
        ):
            value = theory.parameter(parameter.name)
            for op, end in ((">=", 1), (">=", 2), ("<=", 1), ("<=", 2)):
                given = compare(op, value, const(end))
                shown = chosen.smt.satisfiable((given,), 500).model and chosen.keeps(
                    theory.claim, theory.most, (given,)
                )
                if shown and verified(_restricted(mechanism, parameter, op, end), until):
                    yield f"verified where `{parameter.name} {op} {end}`"
                    return


def _restricted(mechanism: Mechanism, parameter: Parameter, op: str, bound: int) -> Mechanism:
    """The mechanism for fewer values of a parameter."""
    test: Expr = Compare(op, Name(parameter.name), Number(Fraction(bound)))
    where = test if parameter.where is None else Logic("and", (parameter.where, test))
    inputs = (replace(item, where=where) if item is parameter else item for item in mechanism.inputs)
    return replace(mechanism, inputs=tuple(inputs))


def _expression(term: Term) -> Expr:
    return expression(_text(term))


def _text(claim: Term) -> str:
    return spell(canonical(claim))


def _larger_claims(theory: Theory, chosen: Chosen | None) -> Iterator[tuple[Term, Term | None]]:
    """Claims to try instead, the least ones first, each with its bound where the spec gives one."""
    claim, most = theory.claim, theory.most
    if chosen is None:  # nothing tells beforehand what holds, and the kernel may think about it for long
        yield scaled(claim, Fraction(2)), None if most is None else scaled(most, Fraction(2))
    elif most is None:
        yield from ((scaled(claim, factor), None) for factor in _FACTORS)
        yield from ((bound, None) for bound in _bounds_found(chosen))
    else:
        yield from ((claim, scaled(most, factor)) for factor in _FACTORS)
        yield from ((scaled(claim, factor), scaled(most, factor)) for factor in _FACTORS)


def _bounds_found(chosen: Chosen) -> Iterator[Term]:
    """Claims that the invariants suggest: a bound on the cost by counters, each counter at its own greatest
    value.
    """
    for cut in chosen.analysis.cuts:
        if Ledger.COST not in cut.fresh:
            continue
        terms = chosen.invariants[cut.number]
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

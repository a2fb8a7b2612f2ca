"""Declarations that contradict each other, or make no sense; defaults that no run accepts.

This explains errors and proves nothing: the kernel asks for inputs itself. What is asked here is what the
kernel states of the declarations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import z3

from aligncheck.kernel.answer import Reject
from aligncheck.kernel.decide import Kernel
from aligncheck.kernel.evaluate import EXP, LN, LOG2, divided
from aligncheck.kernel.form import INDEX, well_formed
from aligncheck.kernel.logic import Decider, Fact
from aligncheck.kernel.state import Mode, Obligation, Path
from aligncheck.kernel.symbols import Symbols
from aligncheck.kernel.terms import Term, both, either, floor, implies, real, subterms
from aligncheck.kernel.witness import Witness
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import rewrite
from aligncheck.language.syntax.walk import conjunction, conjuncts_of, names_in
from aligncheck.search.failing.near import Near
from aligncheck.search.witness.sorting import with_sorts

_ANY_NUMBER = "any_number"
STEPS = 1_000_000
"""How much the solver may do for one question, in its own count."""


class Declarations(Kernel):
    """What the kernel states of inputs; nothing is asked."""

    def decide(self, path: Path, facts: list[Fact], o: Obligation) -> None:
        """Not asked."""


class Clauses(Declarations):
    """The same of D and of D' alone."""

    def _bounded_together(self, group: n.Queries, path: Path, squares: bool) -> None:
        """Nothing is assumed of both."""


def _declared(mechanism: n.Mechanism, kind: type[Declarations] = Declarations) -> tuple[Declarations, Path]:
    """Raises Reject for what has no terms."""
    bare = replace(mechanism, body=(), align=(), uses=())
    kernel = kind(well_formed(bare), with_sorts(bare, Witness()), Decider(), Symbols())
    path = Path()
    kernel.prepare_inputs(path)
    return kernel, path


def satisfiable(mechanism: n.Mechanism) -> bool | None:
    """Whether the declarations can be met: parameters, lengths, and one entry of every list on D and on D';
    None if that was not decided.

    Z3 knows exp, ln and log2 by bounds only: where they speak of what is open, nothing is known to be met.
    """
    try:
        kernel, path = _declared(mechanism)
    except Reject:
        return None
    s = kernel.symbols
    try:
        entry = kernel.index("entry")
        formulas = [
            z3.substitute(f.formula, *((v, entry) for v in f.variables)) if f.variables else f.formula
            for f in path.facts
        ]
        formulas += [both(entry >= 0, *(both(at >= 1, entry < at) for at in kernel.lengths.values()))]
        if _met(formulas) is False:
            return False
        near = Near(kernel.rules)
        formulas = [near.formula(z3.simplify(f)) for f in formulas]
        bounded = {kernel.rules[f].get_id() for f in (EXP, LN, LOG2)}
        open_ = any(t.symbol and t.term.decl().get_id() in bounded for f in formulas for t in subterms(f))
        return True if _met(formulas) and not open_ else None
    finally:
        s.ctx.forget()


def _met(formulas: list[Term]) -> bool | None:
    solver = z3.Solver(ctx=formulas[0].ctx)
    solver.set("rlimit", STEPS)
    solver.add(*formulas)
    answer = solver.check()
    return None if answer == z3.unknown else bool(answer == z3.sat)


def contradiction(mechanism: n.Mechanism) -> tuple[Span, ...]:
    """The places of clauses that cannot be met together (rule 2), so few that without any one of them the
    rest can; none if no contradiction is known. Where the solver does not decide, a clause is marked as well.
    """
    if satisfiable(mechanism) is not False:
        return ()
    kept = [clause for item in mechanism.inputs for clause in _clauses(item)]
    for clause in tuple(kept):
        rest = [other for other in kept if other is not clause]
        if satisfiable(_with_clauses(mechanism, rest)) is False:
            kept = rest
    found = [span for item in mechanism.inputs for span in _places(item, kept)]
    return tuple(found or _impossible(mechanism)) or (mechanism.span,)


def senseless(mechanism: n.Mechanism) -> tuple[str, Span] | None:
    """What a clause of the inputs demands and not all parameters give: a sensitivity that is not negative, a
    positive step of a lattice, a range that is not empty. What is not decided counts as not given.

    Nothing is assumed of D and D': these clauses say what D ~ D' means.
    """
    groups = [g for g in mechanism.inputs if isinstance(g, n.Queries) and not _plain(g)]
    if not groups:
        return None
    try:
        kernel, path = _declared(mechanism, Clauses)
    except Reject:
        return None
    facts = [f for f in path.facts if kernel.public_only(f.formula)]
    try:
        for group, name in ((g, x) for g in groups for x in g.names):
            for goal, text, span in _sensible(kernel, path, group, name):
                if kernel.decider.follows(facts, goal, text) is None:
                    return text, span
    finally:
        kernel.symbols.ctx.forget()
    return None


def _plain(group: n.Queries) -> bool:
    """Whether a group demands nothing but a sensitivity that is a number, 0 or more, as it is written."""
    given = group.sensitivity
    number = given is None or (isinstance(given, n.Number) and given.value >= 0)
    return number and group.lattice is None and group.range is None


def _sensible(
    kernel: Declarations, path: Path, group: n.Queries, name: str
) -> Iterator[tuple[Term, str, Span]]:
    """What the clauses of a group have to be, at any entry if they speak of entries."""
    i = kernel.symbols.zero if name in kernel.single else kernel.index("i")
    inside = both(i >= 0, i < kernel.lengths[name])
    scope = kernel.scope(Mode.CLAUSE, path, group.span).binding(INDEX, i, name not in kernel.single)

    def where(goal: Term, *clauses: n.Expr) -> Term:
        return implies(inside, goal) if any(INDEX in names_in(e) for e in clauses) else goal

    if group.sensitivity is not None:
        least = real(kernel.number(group.sensitivity, scope)) >= 0
        yield where(least, group.sensitivity), "the sensitivity is never negative", group.sensitivity.span
    step = kernel.symbols.ctx.rational(1) if group.sort is n.Sort.INT else None
    if group.lattice is not None:
        step = real(kernel.number(group.lattice, scope))
        yield where(step > 0, group.lattice), "the lattice's step is positive", group.lattice.span
    if group.range is None:
        return
    low, high = (real(kernel.number(e, scope)) for e in group.range)
    span = group.range[0].span
    yield where(low <= high, *group.range), "the range is not empty", span
    if step is not None:
        most = step * real(floor(divided(high, step)))  # the greatest multiple that is not above
        what = "a whole number" if group.lattice is None else "a multiple of the step"
        holds = either(both(low <= 0, high >= 0), low <= most)  # 0 is one, too
        yield where(holds, *group.range), f"the range holds {what}", span


def _impossible(mechanism: n.Mechanism) -> list[Span]:
    """The inputs whose adjacency alone cannot be met: one answer cannot be moved to another."""
    alone = [(item, _with_clauses(replace(mechanism, inputs=(item,)), [])) for item in mechanism.inputs]
    return [item.span for item, declared in alone if satisfiable(declared) is False]


def _clauses(item: n.Input) -> list[n.Expr]:
    """What an input declares, in parts that can be left out; a range stands for both of its ends."""
    found = [*conjuncts_of(item.where)]
    if isinstance(item, n.Queries):
        found += [e for e in (item.sensitivity, item.lattice) if e is not None]
        found += [item.range[0]] if item.range is not None else []
    return found


def _places(item: n.Input, kept: list[n.Expr]) -> Iterator[Span]:
    """Where those of an input's clauses stand that are kept; a `where` of which all is kept is one place."""
    here = [clause for clause in _clauses(item) if _among(clause, kept)]
    parts = conjuncts_of(item.where)
    if item.where is not None and all(_among(part, here) for part in parts):
        yield item.where.span
        here = [clause for clause in here if not _among(clause, parts)]
    for clause in here:
        ends = item.range if isinstance(item, n.Queries) else None
        yield clause.span.to(ends[1].span) if ends is not None and clause is ends[0] else clause.span


def _with_clauses(mechanism: n.Mechanism, kept: list[n.Expr]) -> n.Mechanism:
    """The mechanism with these clauses only. A sensitivity that is left out may be any number."""
    inputs: list[n.Input] = [n.Parameter(_ANY_NUMBER, n.Sort.REAL, None, span=mechanism.span)]
    for item in mechanism.inputs:
        parts = [part for part in conjuncts_of(item.where) if _among(part, kept)]
        where = conjunction(parts)
        if isinstance(item, n.Queries):
            if item.sensitivity is not None and not _among(item.sensitivity, kept):
                item = replace(item, sensitivity=n.Name(_ANY_NUMBER))
            if item.lattice is not None and not _among(item.lattice, kept):
                item = replace(item, lattice=None)
            if item.range is not None and not _among(item.range[0], kept):
                item = replace(item, range=None)
        inputs.append(replace(item, where=where))
    return replace(mechanism, inputs=tuple(inputs))


def _among(clause: n.Expr, clauses: Sequence[n.Expr]) -> bool:
    return any(clause is other for other in clauses)


# --- defaults -------------------------------------------------------------------------------------------


def misplaced(mechanism: n.Mechanism) -> tuple[n.Parameter, bool] | None:
    """The first parameter whose default is known to break its own `where` clause, and whether it does for all
    values of the others; None if none is known to.

    Where the clause speaks of others, too, a default that some of them allow is none: who gives the others
    gives this one. Parameters that have a default have it; what Z3 does not decide is not known.
    """
    defaults = {
        item.name: item.default
        for item in mechanism.inputs
        if isinstance(item, n.Parameter) and item.default is not None
    }

    def allowed(clause: n.Expr | None) -> bool | None:
        return satisfiable(_with(mechanism, defaults, clause))

    for item in mechanism.inputs:
        if not isinstance(item, n.Parameter) or item.default is None or item.where is None:
            continue
        if allowed(item.where) is False:
            if allowed(None) is not False:
                return item, True
        elif names_in(item.where) == {item.name}:
            broken = n.Unary("not", item.where, span=item.where.span)
            if allowed(broken) is True:
                return item, False
    return None


def _with(mechanism: n.Mechanism, defaults: Mapping[str, n.Expr], clause: n.Expr | None) -> n.Mechanism:
    """The mechanism where all parameters that have a default have it, with one clause more about them."""

    def given(e: n.Expr) -> n.Expr:
        return defaults.get(e.ident, e) if isinstance(e, n.Name) else e

    kept = [
        rewrite.declaration(item, lambda e: rewrite.bottom_up(e, given))
        for item in mechanism.inputs
        if not (isinstance(item, n.Parameter) and item.name in defaults)
    ]
    if clause is not None:
        kept.append(
            n.Parameter(_ANY_NUMBER, n.Sort.REAL, rewrite.bottom_up(clause, given), span=mechanism.span)
        )
    return replace(mechanism, inputs=tuple(kept))

"""Lines about what a loop adds up: sums of its terms so far, in each run, and of released tags.

Nothing here needs to be believed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.search.witness import line_costs
from aligncheck.search.witness.totals import total

ZERO, ONE = n.Number(Fraction(0)), n.Number(Fraction(1))


def so_far(term: n.Expr, where: n.Expr | None, index: str, over: n.OverRange) -> n.Expr:
    """The sum of terms over a range."""
    return n.Gather("sum", None, term, index, over, where)


def product_so_far(cost: n.Expr, index: str, over: n.OverRange) -> n.Expr:
    """The sum of a product over a range, its factors that stay the same apart."""
    parts = list(line_costs.factors(cost, 1))
    inside = [part for part in parts if index in walk.names_in(part[0])]
    term = line_costs.product(*inside) if inside else ONE
    apart = [part for part in parts if part not in inside]
    return line_costs.product((so_far(term, None, index, over), 1), *apart)


def claimed_so_far(claim: n.Expr, index: str, high: n.Expr) -> n.Expr:
    """The claim with its sums over lists up to a round only."""
    claim = walk.with_parts(claim, tuple(claimed_so_far(part, index, high) for part in walk.parts_of(claim)))
    if isinstance(claim, n.Gather) and claim.function == "sum" and isinstance(claim.over, n.Indices):
        term, where = (
            None if e is None else line_costs.resolved(e, {claim.index: n.Name(index)})
            for e in (claim.body, claim.where)
        )
        return claim if term is None else so_far(term, where, index, n.OverRange(ZERO, high))
    return claim


def released_so_far(tag: str, index: str, over: n.OverRange) -> n.Expr:
    """How many of the records numbered by a range have a tag."""
    is_tag = n.OutIs(n.Name(index), tag)
    return so_far(n.Conditional(is_tag, ONE, ZERO), None, index, over)


def sums_of_terms(spec: n.Mechanism, loop: n.For | n.While, index: n.Expr, own: str) -> Iterator[n.Expr]:
    """Of `x = x + E` in a loop, once a round or under one test: that x is what it was, and the sum of E over
    the rounds before, on D and on D'. `own` is a name that nothing has.
    """
    if not isinstance(loop, n.For) or not isinstance(index, n.Name):
        return
    low = loop.over.low if isinstance(loop.over, n.OverRange) else ZERO
    at = n.Name(own)
    known: dict[str, n.Expr] = {index.ident: at}
    if isinstance(loop.over, n.OverQueries):
        known[loop.over.item] = n.Index(loop.over.base, at)
    private = {x for i in spec.inputs if isinstance(i, n.Queries) for x in i.names}
    changed = [s.name for s in walk.statements_in(loop.body) if isinstance(s, n.Assign)]
    drawn = {s.name for s in walk.statements_in(spec.body) if isinstance(s, n.Sampling)}
    for stmt in loop.body:
        test: n.Expr | None = None
        if isinstance(stmt, n.If) and len(stmt.branches) == 1 and not stmt.otherwise:
            test, body = stmt.branches[0].test, stmt.branches[0].body
            stmt = body[0] if len(body) == 1 else stmt
        if not isinstance(stmt, n.Assign) or changed.count(stmt.name) != 1:
            continue
        term = added_to(stmt)
        first = value_before(spec, loop, stmt.name)
        read = {x for e in (term, test) if e is not None for x in walk.names_in(e)}
        if term is None or isinstance(term, n.Number) or first is None or read & (drawn | {*changed}):
            continue
        for primes in (frozenset[str](), frozenset(private)):
            parts = [
                None if e is None else _primed(line_costs.resolved(e, known), primes) for e in (term, test)
            ]
            if parts[0] is not None:
                total = so_far(parts[0], parts[1], own, n.OverRange(low, index))
                x = n.Name(stmt.name, bool(primes))
                yield n.Compare("==", x, total if first == ZERO else n.Binary("+", first, total))


def added_to(stmt: n.Assign) -> n.Expr | None:
    """The E of `x = x + E`, or of `x = E + x`."""
    e, own = stmt.value, n.Name(stmt.name)
    if isinstance(e, n.Binary) and e.op == "+" and own in (e.left, e.right):
        return e.right if e.left == own else e.left
    return None


def value_before(spec: n.Mechanism, loop: n.For | n.While, name: str) -> n.Expr | None:
    """The number, or expression of public inputs, that a variable gets before a loop."""
    known: dict[str, n.Expr] = {}
    for stmt in walk.statements_in(spec.body):
        if stmt is loop:
            return known.get(name)
        if isinstance(stmt, n.Assign):
            value = line_costs.resolved(stmt.value, known) if any(s is stmt for s in spec.body) else stmt.value
            known.pop(stmt.name, None)
            if is_public(spec, value):
                known[stmt.name] = total(value).expression()
    return None


def is_public(spec: n.Mechanism, e: n.Expr) -> bool:
    """Whether a number is made of parameters and lengths alone."""
    if isinstance(e, n.Name):
        return any(isinstance(i, n.Parameter) and i.name == e.ident for i in spec.inputs)
    of_a_list = isinstance(e, n.Call) and e.function == "len"
    parts = () if of_a_list else walk.parts_of(e)
    return isinstance(e, n.Number | n.Call | n.Operator) and all(is_public(spec, part) for part in parts)


def _primed(e: n.Expr, names: frozenset[str]) -> n.Expr:
    e = walk.with_parts(e, tuple(_primed(part, names) for part in walk.parts_of(e)))
    if isinstance(e, n.Name) and e.ident in names:
        return replace(e, primed=True)
    return replace(e, primed=True) if isinstance(e, n.Index) and e.base in names else e

"""Lines about what a loop adds up: sums of its terms so far, in each run, and of released tags.

Nothing here needs to be believed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from functools import partial, reduce

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import rewrite, walk
from aligncheck.search.witness import line_costs
from aligncheck.search.witness.guess import marks_of
from aligncheck.search.witness.totals import ONE, ZERO, low_of, total


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
    at = n.Name(own)
    known: dict[str, n.Expr] = {index.ident: at}
    if isinstance(loop.over, n.OverQueries):
        known[loop.over.item] = n.Index(loop.over.base, at)
    private = {x for i in spec.inputs if isinstance(i, n.Queries) for x in i.names}
    changed = [s.name for s in walk.statements_in(loop.body) if isinstance(s, n.Assign)]
    drawn = {s.name for s in walk.statements_in(spec.body) if isinstance(s, n.Sampling)}
    turns: dict[str, n.Expr] = {x: line_costs.resolved(e, known) for x, e in turning(spec, loop, index)}
    for stmt, given in in_words_of_head(loop.body, turns):
        test: n.Expr | None = None
        if isinstance(stmt, n.If) and len(stmt.branches) == 1 and not stmt.otherwise:
            test, body = stmt.branches[0].test, stmt.branches[0].body
            stmt = body[0] if len(body) == 1 else stmt
        if not isinstance(stmt, n.Assign) or changed.count(stmt.name) != 1:
            continue
        term = added_to(stmt)
        first = value_before(spec, loop, stmt.name)
        term, test = (None if e is None else line_costs.resolved(e, given) for e in (term, test))
        read = {x for e in (term, test) if e is not None for x in walk.names_in(e)}
        if term is None or isinstance(term, n.Number) or first is None or read & (drawn | {*changed}):
            continue
        there = None if test is None else line_costs.resolved(test, known)
        over = n.OverRange(low_of(loop), index)
        yield from _at_marks(spec, n.Name(stmt.name), line_costs.resolved(term, known), there, over, at)
        for primes in (frozenset[str](), frozenset(private)):
            parts = [
                None if e is None else primed(line_costs.resolved(e, known), primes) for e in (term, test)
            ]
            if parts[0] is not None:
                total = so_far(parts[0], parts[1], own, n.OverRange(low_of(loop), index))
                x = n.Name(stmt.name, bool(primes))
                yield n.Compare("==", x, total if first == ZERO else n.Binary("+", first, total))


def _at_marks(
    spec: n.Mechanism, x: n.Name, term: n.Expr, test: n.Expr | None, over: n.OverRange, at: n.Name
) -> Iterator[n.Expr]:
    """How far a sum over a range is apart on D': by its terms at the answers that move, if adjacency says
    which. The index of the term of an answer is what the place of the answer is without the rest of it. A
    test of answers may hold in one run only: then nothing is said.
    """
    for group in (g for g in spec.inputs if isinstance(g, n.Queries) and g.adjacency.ways):
        names = frozenset(group.names)
        reads = [e for e in walk.subexpressions(term) if isinstance(e, n.Index) and e.base in names]
        apart = list[n.Expr]()
        if test is not None and walk.names_in(test) & names:
            return
        for mark in marks_of(group) if reads else ():
            rest = total(reads[0].index) - total(at)
            if at.ident in rest.names():
                return
            there = (total(mark) - rest).expression()
            here = [line_costs.resolved(e, {at.ident: there}) for e in (term, *([test] if test else []))]
            here = [rewrite.bottom_up(e, _short) for e in here]
            within = (n.Compare("<=", over.low, there), n.Compare("<", there, over.high), *here[1:])
            moved = n.Binary("-", primed(here[0], names), here[0])
            apart.append(n.Conditional(n.Logic("and", within), moved, ZERO))
        if apart:
            distance = n.Binary("-", replace(x, primed=True), x)
            whole = reduce(partial(n.Binary, "+"), apart)
            yield n.Compare("==", distance, whole)


def _short(e: n.Expr) -> n.Expr:
    return replace(e, index=total(e.index).expression()) if isinstance(e, n.Index) else e


def in_words_of_head(
    body: tuple[n.Stmt, ...], known: Mapping[str, n.Expr]
) -> Iterator[tuple[n.Stmt, dict[str, n.Expr]]]:
    """The statements of a round, each with what was given a value in the round before."""
    given = dict(known)
    for stmt in body:
        yield stmt, given
        changed = {s.name for s in walk.statements_in((stmt,)) if isinstance(s, n.Assign)}
        value = line_costs.resolved(stmt.value, given) if isinstance(stmt, n.Assign) else None
        given = {x: e for x, e in given.items() if x not in changed}
        if isinstance(stmt, n.Assign) and value is not None and stmt.name not in walk.names_in(value):
            given[stmt.name] = value


def with_values(
    body: tuple[n.Stmt, ...], known: Mapping[str, n.Expr]
) -> Generator[tuple[n.Stmt, dict[str, n.Expr]], None, dict[str, n.Expr]]:
    """The statements of a block and of those inside, each with what was given a value since it began: by
    cases where arms did that. What is known in the end.
    """
    given = dict(known)
    for stmt in body:
        yield stmt, given
        changed = {s.name for s in walk.statements_in((stmt,)) if isinstance(s, n.Assign)}
        kept = {x: e for x, e in given.items() if x not in changed}
        match stmt:
            case n.Assign(name=x, value=value):
                given = {**kept, x: line_costs.resolved(value, given)}
            case n.If(branches=branches, otherwise=otherwise):
                after = yield from with_values(otherwise, given)
                for branch in reversed(branches):
                    arm = yield from with_values(branch.body, given)
                    test = line_costs.resolved(branch.test, given)
                    after = {x: _by_cases(test, arm[x], after[x]) for x in arm if x in after}
                given = after
            case n.For(body=inner) | n.While(body=inner):
                yield from with_values(inner, kept)
                given = kept
            case n.Simple():
                pass
    return given


def _by_cases(test: n.Expr, one: n.Expr, other: n.Expr) -> n.Expr:
    return one if one == other else n.Conditional(test, one, other)


def turning(spec: n.Mechanism, loop: n.For | n.While, index: n.Expr) -> Iterator[tuple[str, n.Binary]]:
    """Variables that start at 0, go up by 1 and start again at a number m; and the rounds so far modulo m."""
    inside = list(walk.statements_in(loop.body))
    read = list(walk.expressions_of(inside))
    for x in dict.fromkeys(s.name for s in inside if isinstance(s, n.Assign)):
        if value_before(spec, loop, x) != ZERO or not isinstance(loop, n.For):
            continue
        values = [s.value for s in inside if isinstance(s, n.Assign) and s.name == x]
        limits = [e.right for e in values if isinstance(e, n.Binary) and e.op == "%"]
        if ZERO in values:
            sides = [e for e in read if isinstance(e, n.Compare) and e.op in ("==", ">=")]
            limits += [e.right for e in sides if e.left == n.Name(x)]
        for m in dict.fromkeys(limits):
            if is_public(spec, m):
                yield x, n.Binary("%", (total(index) - total(low_of(loop))).expression(), m)


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
            value = (
                line_costs.resolved(stmt.value, known) if any(s is stmt for s in spec.body) else stmt.value
            )
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


def primed(e: n.Expr, names: frozenset[str]) -> n.Expr:
    """The expression in the run on D', where these names have other values."""
    e = walk.with_parts(e, tuple(primed(part, names) for part in walk.parts_of(e)))
    if isinstance(e, n.Name) and e.ident in names:
        return replace(e, primed=True)
    return replace(e, primed=True) if isinstance(e, n.Index) and e.base in names else e

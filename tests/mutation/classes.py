"""Kinds of mutants that are private whenever the spec itself is, as predicates on the two trees.

Each predicate's docstring says why. None of them asks the checker, so a survivor that a predicate admits is
private even if the checker were wrong about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from fractions import Fraction
from functools import reduce
from typing import Any

from rewriting import independent

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import claimed_in, expressions_in, names_in, statements_in

Predicate = Callable[[n.Mechanism, n.Mechanism], bool]


def innermost(before: n.Node, after: n.Node) -> tuple[n.Node, n.Node]:
    """The smallest nodes, no expressions, that contain all that changed."""
    while True:
        inner = list(_differing(before, after)) if type(before) is type(after) else []
        if len(inner) != 1 or None in inner[0] or any(_is_expression(part) for part in inner[0]):
            return before, after
        before, after = inner[0]


def _differing(before: n.Node, after: n.Node) -> Iterator[tuple[Any, Any]]:
    for field in fields(before):
        if not field.compare:
            continue
        old, new = getattr(before, field.name), getattr(after, field.name)
        if old == new:
            continue
        if isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new):
            yield from ((a, b) for a, b in zip(old, new, strict=True) if a != b)
        elif isinstance(old, n.Node) and isinstance(new, n.Node):
            yield old, new
        else:
            yield None, None


def _is_expression(part: Any) -> bool:
    return not isinstance(part, n.Node) or isinstance(part, n.Expr)


# --- noise and claim ----------------------------------------------------------------------------------------


def more_noise(before: n.Mechanism, after: n.Mechanism) -> bool:
    """One draw has a larger scale, nothing else changed.

    The alignment of the spec keeps output and support as before, since the scale occurs nowhere else, and a
    shift costs |η - η'|/α with a larger α.
    """
    match innermost(before, after):
        case n.Sample() as old, n.Sample() as new:
            same = replace(old, args=()) == replace(new, args=()) and old.args[1:] == new.args[1:]
            return same and _is_larger(old.family, old.args[0], new.args[0])
        case _:
            return False


def _is_larger(family: n.Family, old: n.Expr, new: n.Expr) -> bool:
    if family is n.Family.GEOMETRIC:
        stays = n.Binary("-", n.Number(Fraction(1)), old)
        return new == n.Binary("-", n.Number(Fraction(1)), n.Call("sqrt", (stays,)))
    match old, new:
        case n.Binary("/" | "*", n.Number(a), c), n.Binary("/" | "*", n.Number(b), d) if c == d:
            return 0 < a < b and _op(old) == _op(new)
        case _:
            return new == n.Binary("*", n.Number(Fraction(2)), old)


def _op(expr: n.Expr) -> str:
    return expr.op if isinstance(expr, n.Binary) else ""


def weaker_claim(before: n.Mechanism, after: n.Mechanism) -> bool:
    """The claim, or a number in it, is twice that of the spec, which bounds a cost and so is not negative."""
    pairs = list(zip(claimed_in(before.claim), claimed_in(after.claim), strict=False))
    more = all(new in (old, n.Binary("*", n.Number(Fraction(2)), old)) for old, new in pairs)
    return more and type(before.claim) is type(after.claim) and replace(before, claim=after.claim) == after


# --- inputs -------------------------------------------------------------------------------------------------

_INCLUDED = {
    (n.Adjacency.ONE, n.Adjacency.ALL),
    (n.Adjacency.ONE, n.Adjacency.TWO),
    (n.Adjacency.MOVED, n.Adjacency.TWO),
    (n.Adjacency.TWO, n.Adjacency.ALL),
    (n.Adjacency.ONE, n.Adjacency.MONOTONE),
    (n.Adjacency.ONE, n.Adjacency.MOVED),
    (n.Adjacency.ONE, n.Adjacency.L1),
    (n.Adjacency.MONOTONE, n.Adjacency.ALL),
    (n.Adjacency.MOVED, n.Adjacency.ALL),
    (n.Adjacency.L1, n.Adjacency.ALL),
    (n.Adjacency.L1, n.Adjacency.L2),
    (n.Adjacency.ONE, n.Adjacency.L2),
    (n.Adjacency.L2, n.Adjacency.ALL),
}
"""Pairs (a, b): neighbours under a are neighbours under b, if the sensitivity is the same everywhere."""


def fewer_neighbours(before: n.Mechanism, after: n.Mechanism) -> bool:
    """A smaller sensitivity, or an adjacency of fewer pairs: what holds of all pairs holds of these."""
    match innermost(before, after):
        case n.Queries() as old, n.Queries() as new:
            pass
        case _:
            return False
    if replace(old, adjacency=new.adjacency) == new:
        single = len(old.names) == 1 and not old.vector  # one answer moves, however many might
        uniform = old.sensitivity is not None and "i" not in names_in(old.sensitivity)
        return uniform and (single or (new.adjacency, old.adjacency) in _INCLUDED)
    if old.sensitivity is None or new.sensitivity is None:
        return False
    if replace(old, sensitivity=new.sensitivity) != new:
        return False
    match old.sensitivity, new.sensitivity:
        case n.Number(a), n.Number(b):
            return 0 <= b <= a
        case e, n.Binary("/", half, n.Number(two)):
            return half == e and two == 2
        case _:
            return False


def fewer_inputs(before: n.Mechanism, after: n.Mechanism) -> bool:
    """A `where` clause that admits less."""
    match innermost(before, after):
        case (n.Parameter() as old, n.Parameter() as new) | (
            n.PublicVector() as old,
            n.PublicVector() as new,
        ):
            pass
        case _:
            return False
    if replace(old, where=new.where) != new or old.where is None or new.where is None:
        return False
    stronger = list(_conjuncts(new.where))
    return all(any(_implies(s, weaker) for s in stronger) for weaker in _conjuncts(old.where))


def _conjuncts(clause: n.Expr) -> Iterator[n.Expr]:
    match clause:
        case n.Logic("and", args):
            for arg in args:
                yield from _conjuncts(arg)
        case _:
            yield clause


def _implies(stronger: n.Expr, weaker: n.Expr) -> bool:
    """For comparisons of the same left side with a right side that moved by a constant, if at all."""
    match stronger, weaker:
        case n.Compare(op, a, b), n.Compare(wanted, c, d) if a == c and op[0] == wanted[0] and op[0] in "<>":
            moved = _moved(d, b)
            if moved is None:
                return False
            farther = moved > 0 if op[0] == ">" else moved < 0
            return farther or (moved == 0 and (op == wanted or len(op) == 1))
        case _:
            return stronger == weaker


def _moved(old: n.Expr, new: n.Expr) -> Fraction | None:
    match old, new:
        case n.Number(a), n.Number(b):
            return b - a
        case _, n.Binary("+", base, n.Number(step)) if base == old:
            return step
        case _, n.Binary("-", base, n.Number(step)) if base == old:
            return -step
        case _:
            return Fraction(0) if old == new else None


# --- output -------------------------------------------------------------------------------------------------


def post_processing(before: n.Mechanism, after: n.Mechanism) -> bool:
    """The output is a function of the spec's output.

    Records or numbers are left out, tags renamed, public numbers added, or numbers that are there already.
    """
    tags = {s.tag for s in statements_in(before.body) if isinstance(s, n.Emit)}
    target = _plain(after)
    if any(_plain(_relabelled(before, old, None)) == target for old in tags):
        return True
    if any(_plain(_relabelled(before, a, b)) == target for a in tags for b in tags if a != b):
        return True
    match innermost(before, after):
        case n.Emit() as old, n.Emit() as new if old.tag == new.tag:
            values = [f.value for f in old.fields]
            public = public_names(before)
            return all(
                f in old.fields or f.value in values or _is_public(f.value, public) for f in new.fields
            )
        case n.EmitField(), n.EmitField(value=value):
            return _is_public(value, public_names(before))
        case _:
            return False


def _relabelled(mechanism: n.Mechanism, tag: str, to: str | None) -> n.Mechanism:
    """All records with this tag get another one, or are left out; the alignment is left as it is."""

    def block(body: tuple[n.Stmt, ...]) -> tuple[n.Stmt, ...]:
        return tuple(new for s in body for new in statement(s))

    def statement(s: n.Stmt) -> tuple[n.Stmt, ...]:
        match s:
            case n.Emit(tag=here) if here == tag:
                return () if to is None else (replace(s, tag=to),)
            case n.If(branches, otherwise):
                arms = tuple(replace(b, body=block(b.body)) for b in branches)
                return (replace(s, branches=arms, otherwise=block(otherwise)),)
            case n.For() | n.While():
                return (replace(s, body=block(s.body)),)
            case _:
                return (s,)

    return replace(mechanism, body=block(mechanism.body))


def _plain(mechanism: n.Mechanism) -> n.Mechanism:
    """Without `pass`, which does nothing."""

    def block(body: tuple[n.Stmt, ...]) -> tuple[n.Stmt, ...]:
        return tuple(statement(s) for s in body if not isinstance(s, n.Pass))

    def statement(s: n.Stmt) -> n.Stmt:
        match s:
            case n.If(branches, otherwise):
                arms = tuple(replace(b, body=block(b.body)) for b in branches)
                return replace(s, branches=arms, otherwise=block(otherwise))
            case n.For() | n.While():
                return replace(s, body=block(s.body))
            case _:
                return s

    return replace(mechanism, body=block(mechanism.body))


def public_names(mechanism: n.Mechanism) -> frozenset[str]:
    """Public inputs, and what is computed from them alone, once, before anything is drawn."""
    found = {i.name for i in mechanism.inputs if isinstance(i, n.Parameter | n.PublicVector)}
    assigned = [s.name for s in statements_in(mechanism.body) if isinstance(s, n.Assign)]
    for statement in mechanism.body:
        match statement:
            case n.Assign(name, value) if assigned.count(name) == 1 and names_in(value) <= found:
                found.add(name)
            case _:
                pass
    return frozenset(found)


def _is_public(expr: n.Expr, public: frozenset[str]) -> bool:
    return names_in(expr) <= public


# --- ties and thresholds ------------------------------------------------------------------------------------


def ties(before: n.Mechanism, after: n.Mechanism) -> bool:
    """A test of the program became strict, or no longer strict, and ties have probability 0.

    One side holds a draw of continuous noise exactly once, in a sum, and nothing else in the test can depend
    on that draw: it equals the rest with probability 0, whatever that is. So both have the same distribution.
    """
    found = [
        (a, b)
        for a, b in zip(_program_tests(before), _program_tests(after), strict=False)
        if a != b and isinstance(a, n.Compare) and isinstance(b, n.Compare)
    ]
    if len(found) != 1 or not isinstance(innermost(before, after)[0], n.Branch | n.Assign | n.EmitField):
        return False
    ((old, new),) = found
    assert isinstance(old, n.Compare)
    assert isinstance(new, n.Compare)
    if (old.left, old.right) != (new.left, new.right) or old.op[0] != new.op[0] or old.op[0] not in "<>":
        return False
    return _holds_fresh_noise(before, n.Binary("-", old.left, old.right))


def _program_tests(mechanism: n.Mechanism) -> list[n.Expr]:
    return [e for e in expressions_in(mechanism) if isinstance(e, n.Compare)]


def _holds_fresh_noise(mechanism: n.Mechanism, difference: n.Expr) -> bool:
    draws = {s.name: s for s in statements_in(mechanism.body) if isinstance(s, n.Sample)}
    whole = expanded(mechanism, difference)
    terms = list(_summands(whole))
    influences = _influences(mechanism)
    for term in terms:
        match term:
            case n.Name(name) | n.Index(name, _):
                sample = draws.get(name)
            case _:
                continue
        if sample is None or sample.family not in (n.Family.LAPLACE, n.Family.EXPONENTIAL):
            continue
        others = list(terms)
        others.remove(term)
        named = reduce(frozenset.union, (names_in(e) for e in others), frozenset[str]())
        if name not in named and all(name not in influences.get(other, ()) for other in named):
            return True
    return False


def expanded(mechanism: n.Mechanism, expr: n.Expr) -> n.Expr:
    """The expression with every program variable that is assigned exactly once replaced by what it is."""
    assigned: dict[str, list[n.Expr]] = {}
    for s in statements_in(mechanism.body):
        if isinstance(s, n.Assign):
            assigned.setdefault(s.name, []).append(s.value)
    once = {name: values[0] for name, values in assigned.items() if len(values) == 1}
    return _substituted(expr, once, depth=len(once))


def _substituted(expr: n.Expr, table: Mapping[str, n.Expr], depth: int) -> n.Expr:
    if isinstance(expr, n.Name) and expr.ident in table and depth > 0:
        return _substituted(table[expr.ident], table, depth - 1)
    changes: dict[str, Any] = {}
    for field in fields(expr):
        value = getattr(expr, field.name)
        if isinstance(value, n.Node):
            changes[field.name] = _substituted(value, table, depth)  # type: ignore[arg-type]
        elif isinstance(value, tuple) and value and isinstance(value[0], n.Node):
            changes[field.name] = tuple(_substituted(part, table, depth) for part in value)
    return replace(expr, **changes)


def _summands(expr: n.Expr) -> Iterator[n.Expr]:
    match expr:
        case n.Binary("+" | "-", left, right):
            yield from _summands(left)
            yield from _summands(right)
        case n.Unary("-", operand):
            yield from _summands(operand)
        case _:
            yield expr


def _influences(mechanism: n.Mechanism) -> dict[str, frozenset[str]]:
    """For each program variable the names from which a value may flow into it (tests around it included)."""
    direct: dict[str, set[str]] = {}

    def block(body: tuple[n.Stmt, ...], around: frozenset[str]) -> None:
        for s in body:
            match s:
                case n.Assign(name, value):
                    direct.setdefault(name, set()).update(names_in(value) | around)
                case n.If(branches, otherwise):
                    tested = reduce(frozenset.union, (names_in(b.test) for b in branches), around)
                    for branch in branches:
                        block(branch.body, tested)
                    block(otherwise, tested)
                case n.For(body=inner):
                    block(inner, around)
                case n.While(test=test, body=inner):
                    block(inner, around | names_in(test))
                case _:
                    pass

    block(mechanism.body, frozenset())
    while True:
        grown = {
            name: found.union(*(direct.get(other, set()) for other in found))
            for name, found in direct.items()
        }
        if grown == direct:
            return {name: frozenset(found) for name, found in direct.items()}
        direct = grown


def reordered(before: n.Mechanism, after: n.Mechanism) -> bool:
    """Two statements that stand next to each other were exchanged, and neither has to do with the other.

    Neither writes what the other reads or writes, at most one of them emits, and neither leaves a loop. Draws
    are independent, so their order does not matter.
    """
    old, new = innermost(before, after)
    for field in ("body", "otherwise"):
        first, second = getattr(old, field, ()), getattr(new, field, ())
        if first == second or len(first) != len(second):
            continue
        moved = [i for i, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
        if len(moved) != 2 or moved[1] != moved[0] + 1:
            return False
        one, two = first[moved[0]], first[moved[1]]
        return (two, one) == (second[moved[0]], second[moved[1]]) and independent(one, two)
    return False


def tests_of_rounds(before: n.Mechanism, after: n.Mechanism) -> bool:
    """The test that ends the rounds of a call reads what it did, or public inputs, in another way.

    Twice the callee's claim is enough whichever of its releases may be the last (docs/kernel.md, section 8).
    """
    match innermost(before, after):
        case n.Rounds(test=test) as old, n.Rounds() as new:
            return replace(old, test=new.test) == new and names_in(new.test) <= names_in(test) | {
                i.name for i in before.inputs if isinstance(i, n.Parameter)
            }
        case _:
            return False


CLASSES: Mapping[str, Predicate] = {
    "more noise": more_noise,
    "weaker claim": weaker_claim,
    "fewer neighbours": fewer_neighbours,
    "fewer inputs": fewer_inputs,
    "post-processing": post_processing,
    "ties": ties,
    "reordered": reordered,
    "tests of rounds": tests_of_rounds,
}
"""By the reason's name in the table of survivors."""


def class_of(before: n.Mechanism, after: n.Mechanism) -> str | None:
    """The first class that admits the mutant, or None: then a person has to think."""
    return next((name for name, admits in CLASSES.items() if admits(before, after)), None)

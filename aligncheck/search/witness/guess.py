"""What a witness says besides invariants, as the program suggests it. Nothing here needs to be believed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from aligncheck.kernel.witness import Chance, LoopWitness, Witness, own
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import rewrite, walk
from aligncheck.search.witness.line_costs import resolved
from aligncheck.search.witness.plain import NEGATED
from aligncheck.search.witness.totals import ONE, ZERO, counted, ends_of, plus


def guessed(spec: n.Mechanism) -> Witness:
    """All but the lines of loops."""
    loops = [s for s in walk.statements_in(spec.body) if isinstance(s, n.For | n.While)]
    made = tuple(_loop(spec, stmt) for stmt in loops)
    return Witness(made, Witness().route, _sample(spec), _indices(spec), _promises(spec))


def _loop(spec: n.Mechanism, stmt: n.For | n.While) -> LoopWitness:
    measure = next(iter(measures(stmt)), None) if isinstance(stmt, n.While) else None
    chance = chance_of(stmt) if isinstance(stmt, n.While) and measure is None else None
    return LoopWitness((), (), measure, chance, tuple(_later(spec, stmt)))


def _indices(spec: n.Mechanism) -> tuple[n.Expr, ...]:
    """The first index of each selection whose members a set in the alignment is made of."""
    read = [e for top in walk.align_expressions(spec.align) for e in walk.subexpressions(top)]
    sets = [e.where for e in read if isinstance(e, n.Gather) and isinstance(e.where, n.Member)]
    names = dict.fromkeys(where.selection for where in sets)
    return tuple(n.Index(name, ZERO) for name in names)


def placed_records(spec: n.Mechanism) -> list[tuple[n.Expr, n.Emit]]:
    """What is released outside of loops and branches, before any that is not; and which record that is."""
    found: list[tuple[n.Expr, n.Emit]] = []
    for stmt in spec.body:
        if isinstance(stmt, n.Emit):
            found.append((n.Number(Fraction(len(found))), stmt))
        elif any(isinstance(s, n.Emit) for s in walk.statements_in((stmt,))):
            break
    return found


def marks_of(group: n.Queries) -> list[n.Name]:
    """Where the two lists differ, in each of their ways to."""
    return [n.Name(own(way.mark, group.names[0])) for way in group.adjacency.ways]


def placed_in_arms(spec: n.Mechanism) -> list[tuple[n.Expr, n.Emit]]:
    """What the arms release of the first branch that releases anything, if no loop has: one record."""
    at = n.Number(Fraction(len(placed_records(spec))))
    for stmt in spec.body:
        if not isinstance(stmt, n.Emit) and any(isinstance(s, n.Emit) for s in walk.statements_in((stmt,))):
            arms = stmt.arms if isinstance(stmt, n.If) else ()
            first = ([s for s in arm if isinstance(s, n.Emit)][:1] for arm in arms)
            return [(at, emit) for each in first for emit in each]
    return []


def _promises(spec: n.Mechanism) -> tuple[n.Expr, ...]:
    """That there are such records, where the alignment reads records, and that they hold what the program
    selected.
    """
    if not _reads_output(spec):
        return ()
    given = Counter(s.name for s in walk.statements_in(spec.body) if isinstance(s, n.Assign))
    chosen = {
        s.name
        for s in spec.body
        if isinstance(s, n.Assign) and isinstance(s.value, n.Gather) and given[s.name] == 1
        if s.value.function in ("argmax", "argmin")
    }
    found: list[n.Expr] = []
    for place, emit in placed_records(spec):
        held = (f for f in emit.fields if isinstance(f.value, n.Name) and f.value.ident in chosen)
        found.append(n.OutIs(place, emit.tag))
        found += [n.Compare("==", n.OutField(place, f.name), f.value) for f in held]
    return tuple(found)


def _reads_output(spec: n.Mechanism) -> bool:
    """Whether the alignment looks at records."""
    inside = (e for top in walk.align_expressions(spec.align) for e in walk.subexpressions(top))
    return any(isinstance(e, n.OutField | n.OutIs) for e in inside)


def _later(spec: n.Mechanism, stmt: n.For | n.While) -> Iterator[n.Expr]:
    """That the next record, if there is one, has no lesser index than the loop: where a round may release its
    index, and the alignment reads the output; and the same of what a `while` counts up.
    """
    if not _reads_output(spec):
        return
    counted = (
        [stmt.index]
        if isinstance(stmt, n.For)
        else [s.name for s in walk.statements_in(stmt.body) if isinstance(s, n.Assign) and _counts_up(s)]
    )
    body = stmt.body if isinstance(stmt, n.For) else spec.body
    fields = [f for s in walk.statements_in(body) if isinstance(s, n.Emit) for f in s.fields]
    following = n.Name("$records")
    for index in (n.Name(x) for x in dict.fromkeys(counted) if x is not None):
        for name in dict.fromkeys(f.name for f in fields if f.value == index):
            none = n.Compare("<=", n.OutCount(None), following)
            yield n.Logic("or", (none, n.Compare(">=", n.OutField(following, name), index)))


def _counts_up(stmt: n.Assign) -> bool:
    """Whether a statement adds a number above 0 to a variable."""
    e = stmt.value
    if not isinstance(e, n.Binary) or e.op != "+" or e.left != n.Name(stmt.name):
        return False
    return isinstance(e.right, n.Number) and e.right.value > 0


def goes_on(stmt: n.While) -> tuple[n.Expr, ...]:
    """What holds where a round goes on: the parts of the test, and the opposite of what an `if` of the round
    asks that leaves the loop, by `break` or by a flag that the test asks for.
    """
    parts = walk.conjuncts_of(stmt.test)
    own = parts
    for inner in stmt.body:
        first = inner.branches[0].body[0] if isinstance(inner, n.If) else None
        ends = isinstance(first, n.Break)
        if isinstance(inner, n.If) and isinstance(first, n.Assign):
            ends = any(_fails(e, first) for e in own) and _counts(stmt, inner.branches[0].test)
        if isinstance(inner, n.If) and ends:
            test = inner.branches[0].test
            ways = test.args if isinstance(test, n.Logic) and test.op == "or" else (test,)
            parts = (*parts, *map(_not, ways))
    return parts


def _fails(test: n.Expr, given: n.Assign) -> bool:
    """Whether a flag is set to what a test says that it is not."""
    flag, value = n.Name(given.name), given.value
    if isinstance(value, n.Boolean):
        return test == (n.Unary("not", flag) if value.value else flag)
    if not isinstance(value, n.Number) or not isinstance(test, n.Compare) or test.left != flag:
        return False
    same = test.right == value
    return isinstance(test.right, n.Number) and (test.op == "!=" if same else test.op == "==")


def _counts(stmt: n.While, test: n.Expr) -> bool:
    """Whether a test reads no list, and of what a loop changes only what goes up or down step by step."""
    inside = [s for s in walk.statements_in(stmt.body) if isinstance(s, n.Assign)]
    jumps = {s.name for s in inside if s.name not in walk.names_in(s.value)}
    return not (jumps & walk.names_in(test)) and not any(
        isinstance(e, n.Index) for e in walk.subexpressions(test)
    )


def measures(stmt: n.While) -> list[n.Expr]:
    """What may fall in every round: `b - a` for a part `a < b` of what holds where a round goes on, and that
    reads no draw of the round, first where each round sets one of its variables; then the sum of all, if one
    or the other falls; 1 for a flag is one of them.
    """
    always = {s.name for s in stmt.body if isinstance(s, n.Assign)}
    parts = goes_on(stmt)
    found: list[n.Expr] = []
    drawn = {s.name for s in walk.statements_in(stmt.body) if isinstance(s, n.Sample)}
    for part in (part for part in parts if not drawn & walk.names_in(part)):
        if isinstance(part, n.Compare) and part.op in ("<", "<="):
            found.append(n.Binary("-", part.right, part.left))
        if isinstance(part, n.Compare) and part.op in (">", ">="):
            found.append(n.Binary("-", part.left, part.right))
        if isinstance(part, n.Compare) and part.op == "!=":
            found += [n.Binary("-", part.right, part.left), n.Binary("-", part.left, part.right)]
    found.sort(key=lambda e: not walk.names_in(e) & always)
    sure = sum(1 for e in found if walk.names_in(e) & always)
    for part in parts if found else ():
        if isinstance(part, n.Unary) and part.op == "not":
            found.append(n.Conditional(part.operand, ZERO, ONE))
        if isinstance(part, n.Name) or (isinstance(part, n.Compare) and part.op == "=="):
            found.append(counted(part))
    return [*found[:sure], plus(found), *found[sure:]] if len(found) > 1 else found


def _not(test: n.Expr) -> n.Expr:
    """The opposite of a test."""
    if isinstance(test, n.Compare):
        return replace(test, op=NEGATED[test.op])
    return test.operand if isinstance(test, n.Unary) else n.Unary("not", test)


def chance_of(stmt: n.While) -> Chance | None:
    """A test of `… + x` against something, with a draw x of the round: x beyond what the rest leaves. What
    the round itself gives a value is looked through: the kernel asks what is known where the loop is reached.
    """
    inside = list(walk.statements_in(stmt.body))
    draws = {s.name: s for s in inside if isinstance(s, n.Sample)}
    given: dict[str, n.Expr] = {}
    tests = []
    for s in inside:
        if isinstance(s, n.Assign):
            given[s.name] = resolved(s.value, given)
        tests += [resolved(b.test, given) for b in s.branches] if isinstance(s, n.If) else []
    for test in (*tests, stmt.test):
        if not isinstance(test, n.Compare) or test.op in ("==", "!="):
            continue
        for side, other in ((test.left, test.right), (test.right, test.left)):
            for part in walk.subexpressions(side):
                name = part.base if isinstance(part, n.Index) else getattr(part, "ident", "")
                if name in draws and isinstance(part, n.Index | n.Name):
                    rest = walk.with_part(side, part, ZERO)
                    scale = resolved(draws[name].args[0], given)
                    return Chance(name, _beyond(other, rest, set(given)), scale)
    return None


def _beyond(other: n.Expr, rest: n.Expr, changed: set[str]) -> n.Expr:
    """What `other - rest` does not exceed, for all values of what a loop changes: a sum that it changes, or
    two, are as far from 0 as the range is long.
    """
    sums = [e for e in walk.subexpressions(rest) if isinstance(e, n.Gather) and e.function == "sum"]
    moving = [e for e in sums if changed & walk.names_in(e)]
    if not moving:
        return n.Binary("-", other, rest)
    fixed = rewrite.bottom_up(rest, lambda e: ZERO if e in moving else e)
    low, high = ends_of(moving[0].over)
    return n.Binary("+", n.Binary("-", other, fixed), n.Binary("-", high, low))


def _sample(spec: n.Mechanism) -> tuple[tuple[str, Fraction], ...]:
    return tuple((i.name, Fraction(1)) for i in spec.inputs if isinstance(i, n.Parameter) and i.name == "eps")

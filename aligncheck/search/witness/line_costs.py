"""What each line of an alignment costs at most, read off the line and the scale of its draw: a guess."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce

from aligncheck.language.families import Slope
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.search.witness.totals import ONE, ZERO, product_of, total


def costs_of(spec: n.Mechanism) -> tuple[n.Expr | None, ...]:
    """A guess for each line."""
    drawn = draws_of(spec)
    return tuple(cost_of(spec, line, drawn.get(line.name)) for line in walk.shifts_in(spec.align))


def draws_of(spec: n.Mechanism) -> dict[str, n.Sample]:
    """The last draw of each variable, with what its arguments are defined as."""
    defined = definitions(spec)
    draws = (s for s in walk.statements_in(spec.body) if isinstance(s, n.Sample))
    return {s.name: replace(s, args=tuple(resolved(a, defined) for a in s.args)) for s in draws}


def cost_of(spec: n.Mechanism, line: n.Shift, draw: n.Sample | None, cautious: bool = False) -> n.Expr | None:
    """A guess of what one line costs, by the scale of a draw; a divided draw costs a logarithm, too, and
    another draw in its place nothing. If `cautious`, of what a line adds to a difference of answers nothing
    is expected to cancel.
    """
    by, rest = _divided(spec, line)
    if by == ONE:
        return cost_of(spec, replace(line, op="+=", value=rest), draw, cautious)
    if by is not None:
        more = cost_of(spec, replace(line, op="+=", value=rest), draw, cautious)
        return n.Call("ln", (by,)) if rest == ZERO else more and n.Binary("+", n.Call("ln", (by,)), more)
    size = _most(spec, line, cautious)
    rate = None if draw is None else _rate(draw)
    if size is None or rate is None:
        return None
    if isinstance(size, n.Conditional):
        return replace(size, otherwise=product((size.otherwise, 1), (rate, 1)))
    return product((size, 1), (rate, 1))


def by_list(spec: n.Mechanism, line: n.Shift, draw: n.Sample | None) -> list[tuple[n.Queries, n.Expr | None]]:
    """What a line costs by the lists that move on their own: for each that it reads, where no other moves."""
    lists = [i for i in spec.inputs if isinstance(i, n.Queries) and {*i.names} & walk.names_in(line.value)]
    found: list[tuple[n.Queries, n.Expr | None]] = []
    for own in lists:
        others = tuple(
            replace(i, sensitivity=ZERO) if i in lists and i is not own else i for i in spec.inputs
        )
        found.append((own, cost_of(replace(spec, inputs=others), line, draw)))
    return found


def _divided(spec: n.Mechanism, line: n.Shift) -> tuple[n.Expr | None, n.Expr]:
    """What a line divides its draw by, and what it adds; by 1 where another draw takes its place."""
    own = walk.moved_by(line)
    drawn = {s.name for s in walk.statements_in(spec.body) if isinstance(s, n.Sample)}
    by: n.Expr | None = None
    rest: n.Expr = ZERO
    for e, plus in walk.signed_terms(line.value) if walk.renews(line) else ():
        if by is None and isinstance(e, n.Binary) and e.op == "/" and e.left == own:
            by = e.right
        elif by is None and isinstance(e, n.Binary) and e.op == "*" and own in (e.left, e.right):
            by = n.Binary("/", ONE, e.right if e.left == own else e.left)
        elif by is None and plus and isinstance(e, n.Name | n.Index) and _name(e) in drawn:
            by = ONE
        else:
            part = e if plus else n.Unary("-", e)
            rest = part if rest == ZERO else n.Binary("+", rest, part)
    return by, rest


def _name(e: n.Name | n.Index) -> str:
    return e.ident if isinstance(e, n.Name) else e.base


def definitions(spec: n.Mechanism) -> dict[str, n.Expr]:
    """The variables that stand for an expression of public inputs throughout, in these inputs."""
    public = {i.name for i in spec.inputs if isinstance(i, n.Parameter)}
    given = Counter(s.name for s in walk.statements_in(spec.body) if isinstance(s, n.Assign))
    found: dict[str, n.Expr] = {}
    for s in walk.statements_in(spec.body):
        if isinstance(s, n.Assign) and given[s.name] == 1 and not isinstance(s.value, n.Gather):
            value = resolved(s.value, found)
            if walk.names_in(value) <= public:
                found[s.name] = value
    return found


def resolved(e: n.Expr, defined: Mapping[str, n.Expr]) -> n.Expr:
    """The expression with what variables are defined as."""
    if isinstance(e, n.Name) and e.ident in defined:
        return defined[e.ident]
    return walk.with_parts(e, tuple(resolved(p, defined) for p in walk.parts_of(e)))


def _rate(draw: n.Sample) -> n.Expr | None:
    """How fast the density falls: 1/scale; the b of 1 - exp(-b)."""
    first = draw.args[0]
    match draw.family.row.slope:
        case Slope.SCALE | Slope.SIGMA:
            return n.Binary("/", ONE, first)
        case Slope.CHANCE:
            power = first.right if isinstance(first, n.Binary) and first.op == "-" else None
            if not isinstance(power, n.Call) or power.function != "exp":
                return None
            return _negated(power.args[0])
        case Slope.STAIRS | Slope.ODDS:
            return None


def _negated(e: n.Expr) -> n.Expr:
    if isinstance(e, n.Unary):
        return e.operand
    if isinstance(e, n.Binary) and e.op in ("*", "/"):
        return replace(e, left=_negated(e.left))
    return n.Unary("-", e)


def product(*factors: tuple[n.Expr, int]) -> n.Expr:
    """The product of expressions to such powers, with one number in front and equal parts cancelled."""
    number, powers = Fraction(1), dict[n.Expr, int]()
    left = list(factors)
    while left:
        e, power = left.pop(0)
        if isinstance(e, n.Number) and e.value:
            number *= e.value**power
        elif isinstance(e, n.Binary) and e.op in ("*", "/"):
            left = [(e.left, power), (e.right, power if e.op == "*" else -power), *left]
        elif isinstance(e, n.Binary) and e.op == "**" and (times := total(e.right).number or 0) % 1 == 0:
            left = [(e.left, power * int(times)), *left]
        else:
            bare = _bare(e, primes=True)
            powers[bare] = powers.get(bare, 0) + power
    return product_of(powers.items(), number)


def repeated(claim: n.Expr, rounds: n.Rounds | None) -> n.Expr:
    """What a call costs whose callee claims so much: more if it is repeated (section 8 of docs/kernel.md)."""
    if rounds is None:
        return claim
    two = n.Number(Fraction(2))
    twice = product((two, 1), (claim, 1))
    if rounds.most is None:
        return twice
    s = product((rounds.chance, 1), (rounds.most, 1))
    return n.Binary("+", twice, product((two, 1), (s, -1), (n.Binary("+", two, s), -1)))


def half_square(e: n.Expr) -> n.Expr:
    """e²/2, without the roots of what is squared."""
    return product(*((_squared(f), p) for f, p in factors(product((e, 1)), 1)), (n.Number(Fraction(2)), -1))


def factors(e: n.Expr, power: int) -> Iterator[tuple[n.Expr, int]]:
    """What an expression is the product of, and with which powers."""
    if isinstance(e, n.Binary) and e.op in ("*", "/"):
        yield from factors(e.left, power)
        yield from factors(e.right, power if e.op == "*" else -power)
    else:
        yield e, power


def _squared(e: n.Expr) -> n.Expr:
    return e.args[0] if isinstance(e, n.Call) and e.function == "sqrt" else n.Binary("*", e, e)


# --- how far ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Reach:
    """What a line adds up: a number, what moves from D to D' by at most so much (and with which sign it
    counts), and other amounts.
    """

    fixed: Fraction = Fraction(0)
    moved: tuple[tuple[int, n.Expr], ...] = ()
    more: tuple[n.Expr, ...] = ()
    one_way: bool = False

    def __add__(self, other: _Reach) -> _Reach:
        return _Reach(
            self.fixed + other.fixed,
            self.moved + other.moved,
            self.more + other.more,
            self.one_way or other.one_way,
        )

    @property
    def most(self) -> Fraction:
        return abs(self.fixed) + sum(map(_constant, [*self.more, *(e for _, e in self.moved)]))


def _most(spec: n.Mechanism, line: n.Shift, cautious: bool) -> n.Expr | None:
    """How far a line moves its draw at most: nowhere at the index at which a set's least or greatest value is
    taken, if it adds the difference of the value at each index of the set and that one.
    """
    tests = [line.guard or ZERO, *(test for test, inside in _cases(spec.align) if line in inside)]
    tests += [e.test for e in walk.subexpressions(line.value) if isinstance(e, n.Conditional)]
    size, index = _size(spec, line.value, cautious, any(map(primes, tests))), line.index
    if size is None or not isinstance(index, n.Name):
        return size
    terms = Counter(_terms(line.value, 1))
    for sign, term in terms:
        if isinstance(term, n.Gather) and term.function in ("max", "min"):
            own = Counter(_terms(resolved(term.body, {term.index: index}), -sign))
            there = term.where and resolved(term.where, {term.index: index})
            if own == terms - Counter([(sign, term)]) and there == line.guard:
                place = replace(term, function=f"arg{term.function}")
                return n.Conditional(n.Compare("==", index, place), n.Number(Fraction(0)), size)
    return size


def _cases(items: tuple[n.AlignItem, ...]) -> Iterator[tuple[n.Expr, list[n.Shift]]]:
    """The test of each arm, that before an `otherwise` for this, and the lines of it."""
    for split in (item for item in items if isinstance(item, n.CaseSplit)):
        arms = [(case.test, case.items) for case in split.cases]
        for test, inside in (*arms, (split.cases[-1].test, split.otherwise)):
            yield test, list(walk.shifts_in(inside))
            yield from _cases(inside)


def _size(spec: n.Mechanism, value: n.Expr, cautious: bool, asked: bool) -> n.Expr | None:
    """The constant part, and the sensitivity for each difference of an answer, or of a maximum, on D and on
    D'; if all answers move one way, of differences that count with two signs one only, and of one difference
    the part that the constant leaves, where it is `asked` which way.
    """
    if isinstance(value, n.Conditional):
        sizes = [_size(spec, e, cautious, asked) for e in (value.then, value.otherwise)]
        return None if None in sizes else max((s for s in sizes if s is not None), key=_constant)
    reach = _reach(spec, value, 1)
    if reach is None:
        return None
    moved = [e for _, e in reach.moved]
    if reach.one_way and not cautious:
        if asked and not reach.more and len(moved) == 1 and isinstance(moved[0], n.Number):
            return n.Number(max(abs(reach.fixed), moved[0].value))
        ways = [[e for s, e in reach.moved if s == sign] for sign in (1, -1)]
        moved = max(ways, key=lambda way: (sum(map(_constant, way)), len(way)))
    numbers = sum((e.value for e in moved if isinstance(e, n.Number)), Fraction(0))
    return _sum(abs(reach.fixed) + numbers, [*(e for e in moved if not isinstance(e, n.Number)), *reach.more])


def _reach(spec: n.Mechanism, value: n.Expr, sign: int) -> _Reach | None:
    gathers = walk.gathered_in_full(spec.body)
    left, reach = list(_terms(value, sign)), _Reach()
    while left:
        own, term = left.pop()
        clipped = _clipped(own, term, left, gathers)
        if clipped is not None:
            for each in clipped[1]:
                left.remove(each)
            reach += _Reach(moved=((own if primes(term) else -own, clipped[0]),))
            continue
        other = next((t for t in left if t[0] == -own and _differ_by_run(t[1], term, gathers)), None)
        part: _Reach | None
        if other is not None:
            left.remove(other)
            group = _group(spec, term) or _group(spec, other[1])
            size = None if group is None else _sensitivity_at(spec, group, term)
            if group is None or size is None:
                return None
            part = _Reach(moved=((own if primes(term) else -own, size),), one_way=group.adjacency.one_way)
        elif isinstance(term, n.Number):
            part = _Reach(own * term.value)
        elif isinstance(term, n.Conditional):
            ways = [_reach(spec, e, own) for e in (term.then, term.otherwise)]
            part = None if None in ways else max((w for w in ways if w is not None), key=lambda w: w.most)
        elif isinstance(term, n.Gather) and term.function in ("max", "min"):
            part = _reach(spec, term.body, own)
        elif primes(term) or _group(spec, term):
            part = None
        else:
            part = _Reach(more=(term,))
        if part is None:
            return None
        reach += part
    return reach


def _clipped(
    own: int, term: n.Expr, left: list[tuple[int, n.Expr]], gathers: Mapping[str, n.Gather]
) -> tuple[n.Expr, list[tuple[int, n.Expr]]] | None:
    """Of `Σ min(x, a) - Σ min(x, b)` on D and on D', one of which is a term: how far the two are apart where
    one answer moves, and the other three terms.
    """
    for mate in left:
        size = _between(term, mate[1]) if mate[0] == -own else None
        if size is not None:
            twins = [
                next((t for t in left if t[0] == -s and _differ_by_run(t[1], e, gathers)), None)
                for s, e in ((own, term), mate)
            ]
            found = [t for t in twins if t is not None]
            if len(found) == 2:
                return size, [mate, *found]
    return None


def _between(one: n.Expr, other: n.Expr) -> n.Expr | None:
    """How far one term of a sum moves what two such sums over one range are apart, on one run."""
    if not isinstance(one, n.Gather) or not isinstance(other, n.Gather) or primes(one) != primes(other):
        return None
    if not one.function == other.function == "sum" or one.over != other.over:
        return None
    return _spread(n.Binary("-", one.body, resolved(other.body, {other.index: n.Name(one.index)})), None)


def _spread(body: n.Expr, where: n.Expr | None) -> n.Expr | None:
    """How far a term of a sum moves where it is one of two numbers, or lies between two bounds."""
    if isinstance(body, n.Number):
        return None if where is None else n.Number(abs(body.value))
    if isinstance(body, n.Conditional):
        one, other = total(body.then).number, total(body.otherwise).number
        if one is None or other is None:
            return None
        return n.Number(
            max(abs(one - other), *((abs(one), abs(other)) if where is not None else (one - one,)))
        )
    if isinstance(body, n.Binary) and body.op == "-":
        return _apart_at_most(body.left, body.right)
    return None


def _apart_at_most(x: n.Expr, y: n.Expr) -> n.Expr | None:
    """How far `min(z, a)` and `min(z, b)` are apart."""
    if not isinstance(x, n.Call) or not isinstance(y, n.Call) or not x.function == y.function == "min":
        return None
    size = None
    if x.args[:1] == y.args[:1] and len(x.args) == len(y.args) == 2:
        size = (total(x.args[1]) - total(y.args[1])).number
    return None if size is None else n.Number(abs(size))


def moved_at_most(group: n.Queries) -> n.Expr | None:
    """How far one answer moves at most: its sensitivity, or from one end of its range to the other."""
    if group.sensitivity is not None or group.range is None:
        return group.sensitivity
    low, high = group.range
    if isinstance(low, n.Number) and isinstance(high, n.Number):
        return n.Number(high.value - low.value)
    return high if low == ZERO else n.Binary("-", high, low)


def _differ_by_run(one: n.Expr, other: n.Expr, gathers: Mapping[str, n.Gather]) -> bool:
    """Whether two expressions are one on D and on D'."""
    return one != other and _shape(one, gathers) == _shape(other, gathers)


def _shape(e: n.Expr, gathers: Mapping[str, n.Gather]) -> n.Expr:
    """The expression without its places and primes, and without names for sets and their indices."""
    if isinstance(e, n.Name) and e.ident in gathers:
        e = gathers[e.ident]
    if isinstance(e, n.Gather):
        e = replace(
            e,
            index="$",
            body=resolved(e.body, {e.index: n.Name("$")}),
            where=None if e.where is None else resolved(e.where, {e.index: n.Name("$")}),
        )
    return _bare(walk.with_parts(e, tuple(_shape(p, gathers) for p in walk.parts_of(e))))


def _sensitivity_at(spec: n.Mechanism, group: n.Queries, term: n.Expr) -> n.Expr | None:
    """The sensitivity of an answer that a term is, at the answer's own index, which declarations call `i`."""
    if isinstance(term, n.Binary) and term.op in ("*", "/"):
        at_right = term.op == "*" and bool(walk.names_in(term.right) & {*group.names})
        part, factor = (term.right, term.left) if at_right else (term.left, term.right)
        size = _sensitivity_at(spec, group, part)
        if term.op == "*" and isinstance(factor, n.Index):
            return size  # weights of a list are 1 at most, more often than not
        most = _largest(spec, factor) if term.op == "*" else None
        return size and product((size, 1), (most or factor, -1 if term.op == "/" else 1))
    of = _value(spec, term)
    if isinstance(of, n.Gather) and of.function == "sum" and len(group.adjacency.ways) == 1:
        spread = _spread(of.body, of.where) or _width(spec, of.body)
        if spread is not None:
            return spread
    if group.sensitivity is None:
        return moved_at_most(group)
    if not isinstance(term, n.Index) or not isinstance(term.index, n.Name):
        return group.sensitivity
    return resolved(group.sensitivity, {"i": term.index})


def _largest(spec: n.Mechanism, e: n.Expr) -> n.Expr | None:
    """The greatest size of what lies between two bounds, by its text or that of its value."""
    low, high = _ends(spec, e)
    if low is None or high is None:
        return None
    if isinstance(low, n.Number) and isinstance(high, n.Number):
        return n.Number(max(abs(low.value), abs(high.value)))
    return high if total(low).number == 0 or (total(low) + total(high)).number == 0 else None


def _width(spec: n.Mechanism, e: n.Expr) -> n.Expr | None:
    """How far it is from the least that it may be to the most, where its text has bounds."""
    low, high = _ends(spec, e)
    return None if low is None or high is None else (total(high) - total(low)).expression()


def _value(spec: n.Mechanism, e: n.Expr) -> n.Expr:
    """What a variable has as its only value; else the expression itself."""
    if not isinstance(e, n.Name):
        return e
    values = [s.value for s in walk.statements_in(spec.body) if isinstance(s, n.Assign) and s.name == e.ident]
    return values[0] if len(values) == 1 else e


def _ends(spec: n.Mechanism, e: n.Expr) -> tuple[n.Expr | None, n.Expr | None]:
    """What it is at least and at most, where its text has bounds."""
    e = _value(spec, e)
    if isinstance(e, n.Call) and e.function == "clip":
        return e.args[1], e.args[2]
    if isinstance(e, n.Call) and e.function in ("min", "max") and len(e.args) == 2:
        public = {i.name for i in spec.inputs if isinstance(i, n.Parameter)}
        inner, bound = e.args if walk.names_in(e.args[1]) <= public else e.args[::-1]
        low, high = _ends(spec, inner)
        return (low, bound) if e.function == "min" else (bound, high)
    if isinstance(e, n.Call) and e.function == "abs":
        return ZERO, _largest(spec, e.args[0])
    if isinstance(e, n.Binary) and e.op == "*" and e.left == e.right:
        e = n.Binary("**", e.left, n.Number(Fraction(2)))
    power = total(e.right).number if isinstance(e, n.Binary) and e.op == "**" else None
    if not isinstance(e, n.Binary) or power is None or power.denominator != 1:
        return None, None
    size = _largest(spec, e.left)
    most = None if size is None else product(*[(size, 1)] * power.numerator)
    even = power % 2 == 0 or _ends(spec, e.left)[0] == ZERO
    return (ZERO if even or most is None else n.Unary("-", most)), most


def primes(e: n.Expr) -> bool:
    """Whether it reads something of the run on D'."""
    return any(isinstance(part, n.Name | n.Index) and part.primed for part in walk.subexpressions(e))


def _constant(e: n.Expr) -> Fraction:
    return e.value if isinstance(e, n.Number) else Fraction(0)


def _sum(constant: Fraction, terms: list[n.Expr]) -> n.Expr:
    """The sum; equal terms are counted."""
    counted = Counter(map(_bare, terms))
    parts = [e if k == 1 else n.Binary("*", n.Number(Fraction(k)), e) for e, k in counted.items()]
    return reduce(partial(n.Binary, "+"), [n.Number(constant), *parts] if constant or not parts else parts)


def _terms(e: n.Expr, sign: int) -> Iterator[tuple[int, n.Expr]]:
    if isinstance(e, n.Binary) and e.op in ("+", "-"):
        yield from (*_terms(e.left, sign), *_terms(e.right, sign if e.op == "+" else -sign))
    elif isinstance(e, n.Unary):
        yield from _terms(e.operand, -sign)
    elif isinstance(e, n.Binary) and e.op in ("*", "/"):
        apart = [(s, x) for s, x in _terms(e.left, sign)]
        if len(apart) > 1:
            yield from ((s, replace(e, left=x)) for s, x in apart)
        elif e.op == "*" and len(list(_terms(e.right, sign))) > 1:
            yield from ((s, replace(e, left=x, right=e.left)) for s, x in _terms(e.right, sign))
        else:
            yield sign, e
    else:
        yield sign, e


def _bare(e: n.Expr, primes: bool = False) -> n.Expr:
    """The expression without its places and, unless they are kept, its primes."""
    bare = walk.with_parts(e, tuple(_bare(p, primes) for p in walk.parts_of(e)))
    bare = replace(bare, span=n.NOWHERE)
    return replace(bare, primed=False) if isinstance(bare, n.Name | n.Index) and not primes else bare


def _group(spec: n.Mechanism, e: n.Expr) -> n.Queries | None:
    """The answers that an expression reads first, or that a variable in it is made of."""
    groups = {name: item for item in spec.inputs if isinstance(item, n.Queries) for name in item.names}
    assigned = {s.name for s in walk.statements_in(spec.body) if isinstance(s, n.Assign)}
    for part in walk.subexpressions(e):
        name = part.ident if isinstance(part, n.Name) else part.base if isinstance(part, n.Index) else None
        if name in groups:
            return groups[name]
        if name in assigned and isinstance(part, n.Name | n.Index) and part.primed:
            return next(iter(groups.values()), None)
    return None

"""What each line of an alignment costs at most, read off the line and the scale of its draw: a guess."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from aligncheck.language.families import Slope
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import names_in, parts_of, shifts_in, statements_in, with_parts

ONE = n.Number(Fraction(1))


def costs_of(spec: n.Mechanism, cautious: bool = False) -> tuple[n.Expr | None, ...]:
    """A guess for each line; if `cautious`, of what a line adds to a difference of answers nothing is
    expected to cancel.
    """
    drawn = {s.name: s for s in statements_in(spec.body) if isinstance(s, n.Sample)}
    defined = _definitions(spec)
    drawn = {x: replace(s, args=tuple(_resolved(a, defined) for a in s.args)) for x, s in drawn.items()}
    return tuple(_cost(spec, line, drawn.get(line.name), cautious) for line in shifts_in(spec.align))


def _cost(spec: n.Mechanism, line: n.Shift, draw: n.Sample | None, cautious: bool) -> n.Expr | None:
    size = _size(spec, line.value, cautious)
    rate = None if draw is None else _rate(draw)
    if size is None or rate is None:
        return None
    return product((size, 1), (rate, 1))


def _definitions(spec: n.Mechanism) -> dict[str, n.Expr]:
    """The variables that stand for an expression of public inputs throughout, in these inputs."""
    public = {i.name for i in spec.inputs if isinstance(i, n.Parameter)}
    given = Counter(s.name for s in statements_in(spec.body) if isinstance(s, n.Assign))
    found: dict[str, n.Expr] = {}
    for s in spec.body:
        if isinstance(s, n.Assign) and given[s.name] == 1 and not isinstance(s.value, n.Gather):
            value = _resolved(s.value, found)
            if names_in(value) <= public:
                found[s.name] = value
    return found


def _resolved(e: n.Expr, defined: Mapping[str, n.Expr]) -> n.Expr:
    if isinstance(e, n.Name) and e.ident in defined:
        return defined[e.ident]
    return with_parts(e, tuple(_resolved(p, defined) for p in parts_of(e)))


def _rate(draw: n.Sample) -> n.Expr | None:
    """How fast the density falls: 1/scale; the b of 1 - exp(-b)."""
    first = draw.args[0]
    match draw.family.row.slope:
        case Slope.SCALE:
            return n.Binary("/", ONE, first)
        case Slope.CHANCE:
            power = first.right if isinstance(first, n.Binary) and first.op == "-" else None
            if not isinstance(power, n.Call) or power.function != "exp":
                return None
            return _negated(power.args[0])


def _negated(e: n.Expr) -> n.Expr:
    if isinstance(e, n.Unary):
        return e.operand
    if isinstance(e, n.Binary) and e.op in ("*", "/"):
        return replace(e, left=_negated(e.left))
    return n.Unary("-", e)


def product(*factors: tuple[n.Expr, int]) -> n.Expr:
    """The product of expressions to the power 1 or -1, with one number in front and equal parts cancelled."""
    number, powers = Fraction(1), dict[n.Expr, int]()
    left = list(factors)
    while left:
        e, power = left.pop(0)
        if isinstance(e, n.Number) and e.value:
            number *= e.value**power
        elif isinstance(e, n.Binary) and e.op in ("*", "/"):
            left = [(e.left, power), (e.right, power if e.op == "*" else -power), *left]
        else:
            bare = _bare(e, primes=True)
            powers[bare] = powers.get(bare, 0) + power
    above = [e for e, power in powers.items() for _ in range(power)]
    below = [e for e, power in powers.items() for _ in range(-power)]
    top = _joined(number.numerator, above)
    return (
        top
        if not below and number.denominator == 1
        else n.Binary("/", top, _joined(number.denominator, below))
    )


def _joined(number: int, factors: list[n.Expr]) -> n.Expr:
    parts = ([n.Number(Fraction(number))] if number != 1 or not factors else []) + factors
    whole = parts[0]
    for part in parts[1:]:
        whole = n.Binary("*", whole, part)
    return whole


# --- how far ------------------------------------------------------------------------------------------------


def _size(spec: n.Mechanism, value: n.Expr, cautious: bool) -> n.Expr | None:
    """How far a line moves its draw at most: the constant part, and the sensitivity for each difference of an
    answer, or of a maximum, on D and on D'.
    """
    if isinstance(value, n.Conditional):
        sizes = [_size(spec, e, cautious) for e in (value.then, value.otherwise)]
        return None if None in sizes else max((s for s in sizes if s is not None), key=_constant)
    fixed, moved, monotone = Fraction(0), [], False
    left = list(_terms(value, 1))
    more: list[n.Expr] = []
    while left:
        sign, term = left.pop()
        other = next((t for t in left if t[0] == -sign and _bare(t[1]) == _bare(term) and t[1] != term), None)
        if other is not None:
            left.remove(other)
            group = _group(spec, term) or _group(spec, other[1])
            if group is None or group.sensitivity is None:
                return None
            moved.append(group.sensitivity)
            monotone = monotone or group.adjacency.one_way
        elif isinstance(term, n.Number):
            fixed += sign * term.value
        elif any(isinstance(e, n.Name | n.Index) and e.primed for e in _parts(term)) or _group(spec, term):
            return None
        else:
            more.append(term)
    numbers = [e.value for e in moved if isinstance(e, n.Number)]
    names = [e for e in moved if not isinstance(e, n.Number)] + more
    if monotone and not cautious and not names and len(moved) == 1:
        return n.Number(max(abs(fixed), numbers[0]))
    if monotone and not cautious and not fixed and len(names) == 2 and _bare(names[0]) == _bare(names[1]):
        return names[0]
    return _sum(abs(fixed) + sum(numbers), names)


def _constant(e: n.Expr) -> Fraction:
    return e.value if isinstance(e, n.Number) else Fraction(0)


def _sum(constant: Fraction, terms: list[n.Expr]) -> n.Expr:
    """The sum; equal terms are counted."""
    counted: dict[n.Expr, int] = {}
    for term in terms:
        bare = _bare(term)
        counted[bare] = counted.get(bare, 0) + 1
    parts = [e if k == 1 else n.Binary("*", n.Number(Fraction(k)), e) for e, k in counted.items()]
    whole: n.Expr | None = n.Number(constant) if constant or not parts else None
    for part in parts:
        whole = part if whole is None else n.Binary("+", whole, part)
    return whole if whole is not None else n.Number(constant)


def _terms(e: n.Expr, sign: int) -> Iterator[tuple[int, n.Expr]]:
    if isinstance(e, n.Binary) and e.op in ("+", "-"):
        yield from (*_terms(e.left, sign), *_terms(e.right, sign if e.op == "+" else -sign))
    elif isinstance(e, n.Unary):
        yield from _terms(e.operand, -sign)
    else:
        yield sign, e


def _bare(e: n.Expr, primes: bool = False) -> n.Expr:
    """The expression without its places and, unless they are kept, its primes."""
    bare = with_parts(e, tuple(_bare(p, primes) for p in parts_of(e)))
    bare = replace(bare, span=n.NOWHERE)
    return replace(bare, primed=False) if isinstance(bare, n.Name | n.Index) and not primes else bare


def _parts(e: n.Expr) -> Iterator[n.Expr]:
    yield e
    for part in parts_of(e):
        yield from _parts(part)


def _group(spec: n.Mechanism, e: n.Expr) -> n.Queries | None:
    """The answers that an expression reads first, or that a variable in it is made of."""
    groups = {name: item for item in spec.inputs if isinstance(item, n.Queries) for name in item.names}
    assigned = {s.name for s in statements_in(spec.body) if isinstance(s, n.Assign)}
    for part in _parts(e):
        name = part.ident if isinstance(part, n.Name) else part.base if isinstance(part, n.Index) else None
        if name in groups:
            return groups[name]
        if name in assigned and isinstance(part, n.Name | n.Index) and part.primed:
            return next(iter(groups.values()), None)
    return None

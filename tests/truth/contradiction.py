"""Whether a spec's claim is false, by brute force: all noise, on small databases, for a few parameters.

All noise is taken apart into ranges on each of which the run goes one way (`distribution`); their
probabilities are known in closed form. What is left over when the patience ends is known by its mass alone:
it counts as nothing on one side and as everything on the other. So what `contradiction` finds is certain;
what it does not find may be false all the same.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count, product
from math import isinf
from operator import add, mul, sub, truediv
from random import Random
from typing import Any, TypeAlias, assert_never

from flint import arb
from intervals import Range, Unsettled
from masses import Ball, Cell, Law, ball, halves, mass
from meaning import Frame, Inputs, Key, Machine, Program, Record, Undefined, Unsupported, Weights

from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes as n

Outcome: TypeAlias = tuple[Any, ...] | str
"""Records, numbers of continuous noise by the whole number below; or `UNDEFINED`."""
UNDEFINED = "undefined"
PARTS, LEAST = 600, 1e-5
"""So many ranges of noise are looked at, none of them when its probability is less."""


@dataclass(slots=True)
class Distribution:
    """The probabilities of outcomes, as far as they are known; of the rest only how the output begins."""

    known: dict[Outcome, Ball] = field(default_factory=dict)
    rest: list[tuple[tuple[Record, ...], Ball]] = field(default_factory=list)
    runs: int = 0

    def at_most(self, outcome: Outcome) -> Ball:
        """An upper bound. Outcomes are disjoint where all numbers in them are exact."""
        total = self.known.get(outcome, arb(0))
        for other, likely in self.known.items():
            if other != outcome and (_coarse(other) or _coarse(outcome)) and _overlap(other, outcome):
                total += likely
        for begun, left in self.rest:
            if _may_become(begun, outcome):
                total += left
        return total


def distribution(program: Program, inputs: Inputs, parts: int = PARTS) -> Distribution:
    """Raises `Unsupported`."""
    found = Distribution()
    ids = count()
    laws: dict[Span, Law] = {}
    heap: list[tuple[float, int, dict[Key, Cell]]] = [(-1.0, next(ids), {})]
    while heap:
        weight, _, cells = heapq.heappop(heap)
        machine = Machine(cells, laws)
        found.runs += 1
        try:
            frame = program.run(inputs, machine)
            outcome: Outcome = _outcome(frame)
        except Undefined:
            outcome = UNDEFINED
        except Unsettled as unsettled:
            parts -= 1
            smaller = [] if parts < 0 or -weight < LEAST else list(_split(machine, cells, unsettled, weight))
            if not smaller:
                begun = unsettled.args[0] if unsettled.args else ()
                found.rest.append((begun, _mass(machine, cells)))
            for cell_weight, more in smaller:
                heapq.heappush(heap, (cell_weight, next(ids), more))
            continue
        known = found.known.get(outcome)
        here = _mass(machine, cells)
        found.known[outcome] = here if known is None else known + here
    return found


def _outcome(frame: Frame) -> Outcome:
    return tuple(
        (tag, *((name, _shown(frame, value)) for name, value in fields)) for tag, fields in frame.output
    )


def _shown(frame: Frame, value: Any) -> Any:
    if not isinstance(value, Range):
        return value
    continuous = any(
        value.noise & bit and isinstance(law := frame.machine.laws[key], Law) and law.shape.continuous
        for key, bit in frame.machine.bits.items()
    )
    if continuous and not isinf(value.low):
        below = value.low // 1
        if value.high < below + 1 or (value.open and value.high <= below + 1):
            return "in", below
    raise Unsettled(value.noise)


def _mass(machine: Machine, cells: dict[Key, Cell]) -> Ball:
    total = arb(1)
    for key, cell in cells.items():
        total *= _of_cell(machine.laws[key], cell)[0]
    return total


def _of_cell(law: Law | Weights, cell: Cell) -> tuple[Ball, float]:
    if isinstance(law, Law):
        return mass(law, cell)
    share = law.share(int(cell[0]))
    return share, float(share)


def _split(
    machine: Machine, cells: dict[Key, Cell], unsettled: Unsettled, weight: float
) -> Iterator[tuple[float, dict[Key, Cell]]]:
    """The same noise in two or more parts, each with minus its probability; none where it is continuous and
    in cells of the least width.
    """
    keys = [key for key, bit in machine.bits.items() if bit & unsettled.noise]
    wide = [key for key in keys if _width(machine.laws[key], cells.get(key)) > 0]
    if not wide:
        return
    key = max(wide, key=lambda k: _width(machine.laws[k], cells.get(k)))
    law, cell = machine.laws[key], cells.get(key)
    if isinstance(law, Weights):
        for j, _ in law.parts:
            yield weight * _of_cell(law, (j, j))[1], {**cells, key: (j, j)}
        return
    whole = law.shape.whole if cell is None else cell
    before = mass(law, whole)[1]
    for part in halves(law, whole, _cut(law, whole, unsettled) if len(keys) == 1 else None):
        yield weight * mass(law, part)[1] / before if before else 0.0, {**cells, key: part}


def _width(law: Law | Weights, cell: Cell | None) -> float:
    if isinstance(law, Weights):
        return 1.0
    low, high = law.shape.whole if cell is None else cell
    return high - low


def _cut(law: Law, cell: Cell, unsettled: Unsettled) -> Fraction | None:
    """Where the difference that matters is 0, if it grows or falls as fast as the noise."""
    near = unsettled.near
    if near is None:
        return None
    reach = law.range_of(cell, 0)
    if not isinstance(reach, Range):
        return None
    guesses = [
        a - b
        for a, b in (
            (reach.low, near.low),
            (reach.high, near.high),
            (reach.low, -near.high),
            (reach.high, -near.low),
        )
        if not isinf(a) and not isinf(b)
    ]
    return next((Fraction(g) for g in guesses if reach.low < g < reach.high), None)


def _coarse(outcome: Outcome) -> bool:
    """Whether a number in it is known by the whole number below alone."""
    return any(
        isinstance(value, tuple) for record in outcome if isinstance(record, tuple) for _, value in record[1:]
    )


def _overlap(one: Outcome, other: Outcome) -> bool:
    """Whether an output may be in both."""
    return len(one) == len(other) and all(
        left[0] == right[0]
        and all(_may_equal(x, y) for (_, x), (_, y) in zip(left[1:], right[1:], strict=True))
        for left, right in zip(one, other, strict=True)
    )


def _may_equal(x: Any, y: Any) -> bool:
    if isinstance(x, tuple) == isinstance(y, tuple):
        return bool(x == y)
    cell, number = (x, y) if isinstance(x, tuple) else (y, x)
    return bool(cell[1] <= number < cell[1] + 1)


def _ends(value: Any) -> tuple[Any, Any]:
    return (value[1], value[1] + 1) if isinstance(value, tuple) else (value, value)


def _may_become(begun: tuple[Record, ...], outcome: Outcome) -> bool:
    if outcome == UNDEFINED:
        return True
    if len(begun) > len(outcome):
        return False
    for (tag, fields), shown in zip(begun, outcome, strict=False):
        if tag != shown[0]:
            return False
        for (_, value), (_, other) in zip(fields, shown[1:], strict=True):
            low, high = _ends(other)
            ends = (value.low, value.high) if isinstance(value, Range) else (value, value)
            if ends[1] < low or ends[0] > high:
                return False
    return True


# --- databases --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Neighbours on which the claim is false; or inputs for which an operation is undefined."""

    public: Inputs
    on_d: Inputs
    on_d_prime: Inputs
    outcome: Outcome
    at_least: float
    at_most: float
    allowed: float

    def __str__(self) -> str:
        return (
            f"{dict(self.public)}: D {dict(self.on_d)}, D' {dict(self.on_d_prime)}: {self.outcome} has "
            f"probability {self.at_least:.6g} on D, at most {self.at_most:.6g} on D'; "
            f"allowed is a ratio of {self.allowed:.6g}"
        )


LEVELS = (Fraction(1), Fraction(1, 4))
MOST_DATABASES = 12
LENGTHS = (1, 2, 3, 4)
FAR = 6
"""Between answers that differ much: where ratios are greatest."""
RUNS, FOR_ONE = 3_000, 1_500
"""Of the program, for one spec; for one choice of its public inputs."""


def contradiction(mechanism: n.Mechanism, seed: int = 0, runs: int = RUNS) -> Contradiction | None:
    """A certain violation of the claim, if one is found in about so many runs. Raises `Unsupported`."""
    program = Program(mechanism)
    groups = [
        (public, databases)
        for public, groups in settings(program, Random(seed), runs)
        for databases in groups
    ]
    for place, (public, databases) in enumerate(groups):
        found, made = _on(program, public, databases, runs // (len(groups) - place))
        if found is not None:
            return found
        runs = max(0, runs - made)
    return None


def _on(
    program: Program, public: Inputs, databases: list[Inputs], runs: int
) -> tuple[Contradiction | None, int]:
    """Looks at pairs of these databases until about so many runs are made; and how many were."""
    known: dict[int, Distribution] = {}
    made = 0

    def of(place: int) -> Distribution:
        nonlocal made
        if place not in known:
            known[place] = distribution(
                program, {**public, **databases[place]}, min(PARTS, max(50, runs // 4))
            )
            made += known[place].runs
        return known[place]

    for here, there in product(range(len(databases)), repeat=2):
        if here == there or not adjacent(program, public, databases[here], databases[there]):
            continue
        if made >= runs and not known.keys() >= {here, there}:
            continue
        left, right = of(here), of(there)
        found = _beyond(program, {**public, **databases[here]}, left, right)
        if found is not None:
            return Contradiction(public, databases[here], databases[there], *found), made
    return None, made


ORDERS = (Fraction(1001, 1000), Fraction(3, 2), 2, 4, 16, 64)


def _beyond(
    program: Program, inputs: Inputs, left: Distribution, right: Distribution
) -> tuple[Outcome, float, float, float] | None:
    """An outcome that is likelier than the claim allows; in δ and ρ all that is, together."""
    if left.known.get(UNDEFINED, arb(0)) > 0:
        return UNDEFINED, float(left.known[UNDEFINED]), 0.0, 0.0
    claim = program.mechanism.claim
    pairs = ((outcome, likely, right.at_most(outcome)) for outcome, likely in left.known.items())
    match claim:
        case n.Pure():
            for outcome, likely, bound in pairs:
                allowed = min((value_of(e, inputs, outcome) for e in _of(claim)), key=float).exp()
                if likely > allowed * bound:
                    return outcome, float(likely), float(bound), float(allowed)
        case n.Approximate():
            factor, most = value_of(claim.epsilon, inputs).exp(), value_of(claim.delta, inputs)
            excess = (likely - factor * bound for _, likely, bound in pairs)
            total = sum((e for e in excess if e > 0), arb(0))
            if total > most:
                return "together, beyond the factor", float(total), float(most), float(factor)
        case n.Concentrated():
            rho = value_of(claim.rho, inputs)
            apart = [
                (likely, bound)
                for outcome, likely, bound in pairs
                if likely > 0
                and not any(
                    o != outcome and _coarse(o) != _coarse(outcome) and _overlap(o, outcome)
                    for o in left.known
                )
            ]
            for order in ORDERS:
                a = ball(Fraction(order))
                moment = sum((p * (p.log() - q.log()).exp() ** (a - 1) for p, q in apart if q > 0), arb(0))
                if moment > (a * (a - 1) * rho).exp() or any(not q > 0 for p, q in apart):
                    return f"together, at order {order}", float(moment), 0.0, float(rho)
        case _:
            assert_never(claim)
    return None


def _of(claim: n.Pure) -> list[n.Expr]:
    return [e for e in (claim.epsilon, claim.most) if e is not None]


def value_of(e: n.Expr, inputs: Inputs, outcome: Outcome = ()) -> Ball:
    """Of a claim, about an output with such records."""

    def of(x: n.Expr) -> Ball:
        return value_of(x, inputs, outcome)

    match e:
        case n.Number(value=value):
            return ball(value)
        case n.Name(ident=name):
            return ball(Fraction(inputs[name]))
        case n.OutCount(of="out", tag=tag):
            return arb(sum(1 for record in outcome if isinstance(record, tuple) and tag in (None, record[0])))
        case n.Call(function="len", args=(n.Name(ident=name),)):
            return arb(len(inputs[name]))
        case n.Call(function="sqrt" | "exp" | "ln" as function, args=(x,)):
            return {"sqrt": arb.sqrt, "exp": arb.exp, "ln": arb.log}[function](of(x))
        case n.Call(function="max" | "min" as function, args=args):
            return (max if function == "max" else min)(map(of, args), key=float)
        case n.Unary(op="-", operand=x):
            return -of(x)
        case n.Binary(op="**", left=x, right=n.Number(value=power)):
            return of(x) ** int(power)
        case n.Binary(op=op, left=x, right=y):
            operation = {"+": add, "-": sub, "*": mul, "/": truediv}.get(op)
            if operation is None:
                raise Unsupported(op)
            return operation(of(x), of(y))
        case _:
            raise Unsupported(f"{type(e).__name__} in a claim")


def settings(program: Program, chance: Random, runs: int) -> Iterator[tuple[Inputs, list[list[Inputs]]]]:
    """Values of the public inputs, with groups of legal databases for each."""
    mechanism = program.mechanism
    private = [d for d in mechanism.inputs if isinstance(d, n.Queries)]
    lists = any(d.vector for d in private) or any(isinstance(d, n.PublicVector) for d in mechanism.inputs)
    every = [
        (length, public)
        for length in LENGTHS
        if lists or length == 1
        for public in _publics(mechanism, length)
        if _legal(program, public, _database(private, length, [0] * _size(private, length)))
    ]
    chance.shuffle(every)
    every.sort(key=lambda one: one[0] > 3)  # stable
    for length, public in every[: -(-runs // FOR_ONE)]:
        groups = [list(_databases(program, public, private, length, far, chance)) for far in (0, FAR)]
        if len(groups[0]) >= 2:
            yield public, groups if length > 1 else groups[:1]


def _size(private: list[n.Queries], length: int) -> int:
    return sum((length if d.vector else 1) * len(d.names) for d in private)


def _database(private: list[n.Queries], length: int, values: Sequence[int]) -> Inputs:
    data: dict[str, Any] = {}
    left = iter(values)
    for d in private:
        for name in d.names:
            data[name] = tuple(next(left) for _ in range(length)) if d.vector else next(left)
    return data


def _publics(mechanism: n.Mechanism, length: int) -> Iterator[Inputs]:
    choices: list[list[Any]] = []
    public = [d for d in mechanism.inputs if not isinstance(d, n.Queries)]
    some: dict[n.Sort, list[Any]] = {
        n.Sort.BOOL: [True, False],
        n.Sort.INT: [1, 0, -1, 2],
        n.Sort.REAL: [1, 0],
    }
    for d in public:
        numbers = some[d.sort]
        if d.name in ("eps", "d"):
            numbers = list(LEVELS)
        match d:
            case n.Parameter():
                choices.append(numbers)
            case n.PublicVector():
                choices.append([(number,) * length for number in numbers])
    for values in product(*choices):
        yield dict(zip((d.name for d in public), values, strict=True))


def _databases(
    program: Program, public: Inputs, private: list[n.Queries], length: int, far: int, chance: Random
) -> Iterator[Inputs]:
    """Answers 0, 1 (and 2 where there are few), some of them `far` greater."""
    size = _size(private, length)
    every = list(product((0, 1, 2) if size <= 2 else (0, 1), repeat=size))
    if len(every) > MOST_DATABASES:
        every = every[:1] + chance.sample(every[1:], MOST_DATABASES - 1)
    base = [chance.choice((0, far)) for _ in range(size)]
    for values in every:
        data = _database(private, length, [a + b for a, b in zip(values, base, strict=True)])
        if _legal(program, public, data):
            yield data


def _legal(program: Program, public: Inputs, data: Inputs) -> bool:
    """Whether all `where` clauses hold, and answers are in their ranges and on their lattices."""
    try:
        return _holds(program, public, data)
    except Undefined:
        return False


def _holds(program: Program, public: Inputs, data: Inputs) -> bool:
    inputs = {**public, **data}
    for d in program.mechanism.inputs:
        names = d.names if isinstance(d, n.Queries) else (d.name,)
        for name in names:
            value = inputs[name]
            for i, entry in enumerate(value if isinstance(value, tuple) else (value,)):
                here = {**inputs, "i": i}
                if isinstance(d, n.Queries):
                    if d.range is not None:
                        low, high = (program.number(e, here) for e in d.range)
                        if not low <= entry <= high:
                            return False
                    if d.lattice is not None and entry % program.number(d.lattice, here) != 0:
                        return False
                if d.where is not None and not program.truth(d.where, here):
                    return False
            if value == () and d.where is not None and not _holds_for_none(program, d.where, inputs):
                return False
    return True


def _holds_for_none(program: Program, where: n.Expr, inputs: Inputs) -> bool:
    """A clause of an empty list, where it does not speak of its entries."""
    try:
        return program.truth(where, inputs)
    except KeyError:
        return True


def adjacent(program: Program, public: Inputs, left: Inputs, right: Inputs) -> bool:
    """As declared, over each group of names together."""
    for d in program.mechanism.inputs:
        if not isinstance(d, n.Queries) or d.adjacency is n.Adjacency.ANY:
            continue
        moves: list[tuple[int, Fraction]] = []
        for name in d.names:
            pair = [x if isinstance(x, tuple) else (x,) for x in (left[name], right[name])]
            if len(pair[0]) != len(pair[1]):
                return False
            moves += [(i, Fraction(b) - a) for i, (a, b) in enumerate(zip(*pair, strict=True))]
        assert d.sensitivity is not None, "declared"
        bounds = [program.number(d.sensitivity, {**left, **public, "i": i}) for i, _ in moves]
        sizes = [move for _, move in moves]
        up, down = sum(m > 0 for m in sizes), sum(m < 0 for m in sizes)
        match d.adjacency:
            case n.Adjacency.ALL:
                fine = True
            case n.Adjacency.ONE:
                fine = up + down <= 1
            case n.Adjacency.TWO:
                fine = up + down <= 2
            case n.Adjacency.MONOTONE:
                fine = not (up and down)
            case n.Adjacency.MOVED:
                fine = up <= 1 and down <= 1
            case n.Adjacency.L1:
                fine = not bounds or sum(map(abs, sizes)) <= bounds[0]
            case n.Adjacency.L2:
                fine = not bounds or sum(m * m for m in sizes) <= bounds[0] ** 2
            case _:
                assert_never(d.adjacency)
        if d.adjacency is not n.Adjacency.L1:
            fine = fine and all(abs(m) <= b for m, b in zip(sizes, bounds, strict=True))
        if not fine:
            return False
    return _shared(program.mechanism, left, right)


def _shared(mechanism: n.Mechanism, left: Inputs, right: Inputs) -> bool:
    """Whether there are indices, and a direction, for all lines that share them."""
    lines = [d for d in mechanism.inputs if isinstance(d, n.Queries)]
    found: dict[str, list[tuple[int, Fraction]]] = {}
    for d in lines:
        for name in d.names:
            pair = [x if isinstance(x, tuple) else (x,) for x in (left[name], right[name])]
            found[name] = [(i, Fraction(b) - a) for i, (a, b) in enumerate(zip(*pair, strict=True)) if a != b]
    home = {name: d.names[0] for d in lines for name in d.names}
    leader = dict(home)
    for d in lines:
        for name in d.names:
            home[name] = home[d.same_index.ident] if d.same_index else home[name]
            leader[name] = leader[d.same_direction.ident] if d.same_direction else leader[name]
    for d in lines:
        together = [m for name, first in home.items() if first == home[d.names[0]] for m in found[name]]
        ups, downs = ({i for i, m in together if (m > 0) is up} for up in (True, False))
        most = {n.Adjacency.ONE: 1, n.Adjacency.TWO: 2}.get(d.adjacency, 99)
        if d.same_index and (len(ups | downs) > most or (most == 99 and max(len(ups), len(downs)) > 1)):
            return False
        moves = [m for name, first in leader.items() if first == leader[d.names[0]] for _, m in found[name]]
        if d.same_direction and min(moves, default=0) < 0 < max(moves, default=0):
            return False
    return True


__all__ = ["Contradiction", "Unsupported", "contradiction", "distribution"]

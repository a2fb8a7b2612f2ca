"""Random mechanisms of a few coins, or of one choice, with all their probabilities counted by hand.

    PYTHONPATH=tests/truth python tests/truth/coins.py --count 2000

prints how many are VERIFIED, and each of those that loses more than it claims; then the exit status is 1.
Nothing of the checker takes part in the counting: what a spec means is worked out here, in fractions,
while it is written.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Protocol, TypeAlias, TypeVar

from aligncheck.judge import judge
from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse
from aligncheck.verdict import name_of

World: TypeAlias = dict[str, int]
"""The values of `x` and `y`, 0 or 1 each, and of the coins so far."""
Law: TypeAlias = dict[tuple[int, ...], Fraction]
ODDS = (2, 3, 4, 9)
"""How much likelier one side of a coin is than the other, or one index than another; one for each spec."""


@dataclass(frozen=True)
class Counted:
    """A spec, and by how much its densities differ at the most (None: by any factor)."""

    text: str
    factor: Fraction
    apart: Fraction | None

    @property
    def is_private(self) -> bool:
        """Whether it keeps its claim, ln(factor)."""
        return self.apart is not None and self.apart <= self.factor


def drawn(rng: random.Random) -> Counted:
    """A random one."""
    odds = rng.choice(ODDS)
    return rng.choice((_tossed, _tossed, _tossed, _chosen, _placed))(rng, odds)


def _test(rng: random.Random, names: list[str]) -> tuple[str, Callable[[World], bool]]:
    a, b, side = rng.choice(names), rng.choice(names), rng.randrange(2)
    if rng.random() < 0.3:
        return f"{a} == {b}", lambda w: w[a] == w[b]
    return f"{a} == {side}", lambda w: w[a] == side


def _chance(rng: random.Random, odds: int) -> Fraction:
    return Fraction(rng.choice((1, odds)), odds + 1) if rng.random() < 0.9 else Fraction(1, 2)


@dataclass(frozen=True)
class _Coin:
    """Its line, its chance, what is released of it, and how it is moved."""

    line: str
    chance: Callable[[World], Fraction]
    released: tuple[str, Callable[[World], int]]
    move: str | None = None


def _coin(rng: random.Random, odds: int, coin: str, names: list[str]) -> _Coin:
    p = _chance(rng, odds)
    q = 1 - p if rng.random() < 0.8 else _chance(rng, odds)
    if rng.random() < 0.6:
        test, holds = _test(rng, names)
        line = f"{coin} ~ Bernoulli({p} if {test} else {q})"
        return _Coin(line, lambda w: p if holds(w) else q, (coin, lambda w: w[coin]))
    a = rng.choice(("x", "y"))
    b = a if rng.random() < 0.8 else rng.choice(("x", "y"))
    line = f"{coin} ~ Bernoulli({p})"
    if rng.random() < 0.8:
        turned = f"1 - {a} if {coin} == 1 else {a}", lambda w: 1 - w[a] if w[coin] else w[a]
        return _Coin(line, lambda w: p, turned, f"{coin} = 1 - {coin} when {b} != {b}'")
    return _Coin(line, lambda w: p, (f"{a} + {coin}", lambda w: w[a] + w[coin]), f"{coin} += {a} - {a}'")


def _tossed(rng: random.Random, odds: int) -> Counted:
    names, coins = ["x", "y"], list[_Coin]()
    for k in range(rng.randint(1, 3)):
        coins.append(_coin(rng, odds, f"c{k}", names))
        names.append(f"c{k}")

    def law(x: int, y: int) -> Law:
        found: Law = defaultdict(Fraction)
        for sides in product((0, 1), repeat=len(coins)):
            world, mass = {"x": x, "y": y}, Fraction(1)
            for k, (side, coin) in enumerate(zip(sides, coins, strict=True)):
                p = coin.chance(world)
                mass *= p if side else 1 - p
                world[f"c{k}"] = side
            found[tuple(coin.released[1](world) for coin in coins)] += mass
        return found

    emit = ", ".join(f"v{k} = {coin.released[0]}" for k, coin in enumerate(coins))
    moves = [coin.move for coin in coins if coin.move is not None]
    return _counted(rng, odds, [*(coin.line for coin in coins), f"emit done({emit})"], moves, law)


PLACES: dict[str, Callable[[int, int, int], int]] = {
    "x": lambda x, y, j: x,
    "y": lambda x, y, j: y,
    "1 - x": lambda x, y, j: 1 - x,
    "x + y": lambda x, y, j: x + y,
    "2*x": lambda x, y, j: 2 * x,
    "x*j": lambda x, y, j: x * j,
    "j - x": lambda x, y, j: j - x,
    "(x + j) % 2": lambda x, y, j: (x + j) % 2,
    "min(x, j)": lambda x, y, j: min(x, j),
    "max(y, j)": lambda x, y, j: max(y, j),
    "(x if j > 0 else y)": lambda x, y, j: x if j > 0 else y,
}
"""What an index j is compared with: places that are the same for each index, and places that are not."""


def _placed(rng: random.Random, odds: int) -> Counted:
    """Among two to four, the weight of an index by one test or two of its place, which may depend on it."""
    many, two = rng.choice((2, 3, 4)), rng.random() < 0.4
    first, second = rng.choice(list(PLACES)), rng.choice(list(PLACES))
    left_out = rng.random() < 0.15
    tests = [f"j == {first}" if rng.random() < 0.7 else f"{first} == j", f"j == {second}"]
    weights = [rng.choice((1, odds, odds**2)) for _ in range(3)]

    def weight(x: int, y: int, j: int) -> int:
        if j == PLACES[first](x, y, j):
            return weights[0]
        return weights[1] if two and j == PLACES[second](x, y, j) else weights[2]

    def law(x: int, y: int) -> Law:
        masses = {(j,): weight(x, y, j) for j in range(many) if not left_out or j != x}
        return {j: Fraction(mass, sum(masses.values())) for j, mass in masses.items()}

    rest = f"{weights[1]} if {tests[1]} else {weights[2]}" if two else f"{weights[2]}"
    where = " where j != x" if left_out else ""
    lines = [f"w ~ Choose({weights[0]} if {tests[0]} else {rest} for j in range({many}){where})"]
    return _counted(rng, odds, [*lines, "emit done(v = w)"], [], law)


def _chosen(rng: random.Random, odds: int) -> Counted:
    """Among two or three, sometimes with a filter, or weights that another bit decides as well."""
    many, left_out, by_y = rng.choice((2, 3)), rng.random() < 0.2, rng.random() < 0.2
    weights = [rng.choice((1, odds)) for _ in range(3)]
    own, others = (odds, 1) if rng.random() < 0.7 else weights[:2]
    beside = weights[2] if by_y else others

    def law(x: int, y: int) -> Law:
        rest = others if y == 1 else beside
        masses = {(j,): own if j == x else rest for j in range(many) if not left_out or j != 1 - x}
        return {j: Fraction(mass, sum(masses.values())) for j, mass in masses.items()}

    rest = f"{others} if y == 1 else {beside}" if by_y else f"{others}"
    where = " where j != 1 - x" if left_out else ""
    lines = [f"w ~ Choose({own} if j == x else {rest} for j in range({many}){where})", "emit done(v = w)"]
    return _counted(rng, odds, lines, [], law)


def _counted(
    rng: random.Random, odds: int, lines: list[str], moves: list[str], law: Callable[[int, int], Law]
) -> Counted:
    laws = [law(x, y) for x, y in product((0, 1), repeat=2)]
    apart: Fraction | None = Fraction(1)
    for one, other in product(laws, repeat=2):
        for event, mass in one.items():
            beside = other.get(event, Fraction(0))
            if mass and apart is not None:
                apart = max(apart, mass / beside) if beside else None
    least = next((k for k in range(7) if apart is not None and odds**k >= apart), 1)
    times = least if rng.random() < 0.6 else rng.randrange(least + 1)
    text = (
        "mechanism m\ninput\n  x, y : int query, adjacency any, range [0, 1]\n"
        f"privacy {times}*ln({odds})\nprogram\n  " + "\n  ".join(lines) + "\n"
    )
    text += "align\n  " + "\n  ".join(moves) + "\n" if moves else ""
    return Counted(text, Fraction(odds**times), apart)


def verdict_of(text: str, callee: str = "", seconds: float = 20.0) -> str:
    """What the checker says of a spec, and of what it calls, without a search for violations."""
    source = Source("r.dp", text)
    try:
        spec = check(source, parse(source), lambda _: Source("m.dp", callee))
        return name_of(judge(spec, source, time.monotonic() + seconds, explain=False, search=False))
    except SpecError as error:
        return f"ERROR ({error.diagnostic.code}: {error.diagnostic.message})"


def verdict_on(counted: Counted) -> str:
    """What the checker says of it."""
    return verdict_of(counted.text)


class Made(Protocol):
    """A spec of which is known whether it is private."""

    @property
    def is_private(self) -> bool:
        """Whether it is, as was counted."""


M = TypeVar("M", bound=Made)


def survey(draw: Callable[[random.Random], M], verdict_on: Callable[[M], str]) -> None:
    """The command of a module: how many specs get which verdict; ends with 1 where one is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rng, told, wrong = random.Random(asked.seed), Counter[str](), 0
    for _ in range(asked.count):
        one = draw(rng)
        verdict = verdict_on(one)
        told[f"{verdict}, {'private' if one.is_private else 'not private'}"] += 1
        if verdict == "VERIFIED" and not one.is_private:
            wrong += 1
            print(one)
    for line, times in sorted(told.items()):
        print(f"{times:6} {line}")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    survey(drawn, verdict_on)

"""Random mechanisms that repeat a call of one with a few coins, with all their probabilities counted by hand.

    PYTHONPATH=tests/truth python tests/truth/repeated.py --count 400

prints how many are VERIFIED, and each of those that loses more than it claims; then the exit status is 1.
As in `coins`, what a spec means is worked out here, in fractions, while it is written: what is left of all
rounds is followed from round to round, or solved for.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TypeAlias

from coins import ODDS, Law, survey, verdict_of

Pair: TypeAlias = tuple[int, int]
Outcome: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Repeated:
    """A spec and the one that it calls; by how much it claims that densities differ, and by how much they do
    (None: by any factor). `law` is what it releases for two bits.
    """

    text: str
    callee: str
    factor: Fraction
    apart: Fraction | None
    law: Callable[[int, int], Law]

    @property
    def is_private(self) -> bool:
        """Whether it keeps its claim."""
        return self.apart is not None and self.apart <= self.factor


@dataclass(frozen=True)
class _Part:
    """A text with what it means for the bits, the first coin, and what a round released."""

    text: str
    value: Callable[[Pair, int, Outcome], Fraction]


def drawn(rng: random.Random) -> Repeated:
    """A random one. The callee turns each of two bits around, or only says whether they are equal."""
    odds = rng.choice(ODDS)
    both = rng.random() < 0.5
    named = (
        "x = x, y = y" if rng.random() < 0.8 else rng.choice(("x = 0, y = y", "x = y, y = x", "x = 1, y = 1"))
    )
    ways: dict[str, Callable[[Pair], Pair]] = {
        "x = x, y = y": lambda w: w,
        "x = 0, y = y": lambda w: (0, w[1]),
        "x = y, y = x": lambda w: (w[1], w[0]),
        "x = 1, y = 1": lambda w: (1, 1),
    }
    given, claimed = ways[named], 2 if both else 1
    test, chance, most = _test(rng, both), _chance(rng), _most(rng)
    coin = rng.choice((None, None, "fair", "told"))

    def once(w: Pair) -> Law:
        x, y = given(w)
        right = Fraction(odds, odds + 1)

        def side(bit: int, said: int) -> Fraction:
            return right if bit == said else 1 - right

        if both:
            return {(a, b): side(x, a) * side(y, b) for a, b in product((0, 1), repeat=2)}
        return {(a,): side(int(x == y), a) for a in (0, 1)}

    def repeated(w: Pair, c: int) -> dict[Outcome | None, Fraction]:
        found: dict[Outcome | None, Fraction] = defaultdict(Fraction)
        gamma, rounds, law = chance.value(w, c, ()), most.value(w, c, ()), once(w)
        failed = sum((m for r, m in law.items() if not test.value(w, c, r)), Fraction(0))
        alive = Fraction(1)
        if rounds:
            for number in range(int(rounds)):
                for r, m in law.items():
                    if test.value(w, c, r):
                        found[r] += alive * m
                stopped = 1 if number + 1 == rounds else gamma
                found[None] += alive * failed * stopped
                alive *= failed * (1 - stopped)
            return found
        again = failed * (1 - gamma)
        if again == 1:
            return {(2,): Fraction(1)}
        for r, m in law.items():
            if test.value(w, c, r):
                found[r] += m / (1 - again)
        found[None] += failed * gamma / (1 - again)
        return found

    shown, of = _shown(rng, both)

    def law(x: int, y: int) -> Law:
        all_of: Law = defaultdict(Fraction)
        for c, p in ((0, Fraction(1)),) if coin is None else ((0, Fraction(1, 2)), (1, Fraction(1, 2))):
            for r, m in repeated((x, y), c).items():
                told = (c,) if coin == "told" else ()
                all_of[(*told, *of(r))] += p * m
        return all_of

    fair = [] if coin is None else ["c ~ Bernoulli(1/2)", *(["emit coin(c)"] if coin == "told" else [])]
    if coin is None:
        fair = ["c = 0"]
    cap = f" at most {most.text} rounds" if most.text else ""
    call = f"a = repeat m({named}) until {test.text} stop with probability {chance.text}{cap}"
    gamma, rounds = chance.value((0, 0), 0, ()), most.value((0, 0), 0, ())
    return _counted(rng, odds, claimed, both, [*fair, call, *shown], (gamma, rounds), law)


def _test(rng: random.Random, both: bool) -> _Part:
    side = rng.randrange(2)
    plain = [_Part(f"a.v0 == {side}", lambda w, c, r: Fraction(r[0] == side))]
    plain.append(_Part("a.v0 == c", lambda w, c, r: Fraction(r[0] == c)))
    plain.append(_Part("len(a) == 1 and a.count(done) > 0", lambda w, c, r: Fraction(1)))
    if both:
        plain.append(_Part("a.v0 == a.v1", lambda w, c, r: Fraction(r[0] == r[1])))
        plain.append(_Part(f"a.v0 + a.v1 >= {side}", lambda w, c, r: Fraction(r[0] + r[1] >= side)))
        plain.append(
            _Part(f"a.v0 == 1 or a.v1 == {side}", lambda w, c, r: Fraction(r[0] == 1 or r[1] == side))
        )
    spoiled = [
        _Part("a.v0 == x", lambda w, c, r: Fraction(r[0] == w[0])),
        _Part("a.v0 + x*y >= 1", lambda w, c, r: Fraction(r[0] + w[0] * w[1] >= 1)),
        _Part("a.v0 == 1 and (x == y or a.v0 == 0)", lambda w, c, r: Fraction(r[0] == 1 and w[0] == w[1])),
        _Part("a.v0 + x - x == 1", lambda w, c, r: Fraction(r[0] == 1)),
    ]
    return rng.choice(plain if rng.random() < 0.8 else spoiled)


def _chance(rng: random.Random) -> _Part:
    of = rng.choice((Fraction(1), Fraction(1, 2), Fraction(1, 9), Fraction(1, 1000)))
    if rng.random() < 0.85:
        return _Part(str(of), lambda w, c, r: of)
    spoiled = [
        _Part("0", lambda w, c, r: Fraction(0)),
        _Part("1/(2 + x)", lambda w, c, r: Fraction(1, 2 + w[0])),
        _Part("1/2*c", lambda w, c, r: Fraction(c, 2)),
        _Part("1/(2 + c)", lambda w, c, r: Fraction(1, 2 + c)),
    ]
    return rng.choice(spoiled)


def _most(rng: random.Random) -> _Part:
    if rng.random() < 0.5:
        return _Part("", lambda w, c, r: Fraction(0))
    of = rng.choice((1, 2, 3, 8))
    if rng.random() < 0.85:
        return _Part(str(of), lambda w, c, r: Fraction(of))
    return rng.choice(
        (_Part("1 + x", lambda w, c, r: Fraction(1 + w[0])), _Part("1 + c", lambda w, c, r: Fraction(1 + c)))
    )


def _shown(rng: random.Random, both: bool) -> tuple[list[str], Callable[[Outcome | None], Outcome]]:
    """What is released of the call."""
    last = "a.v1" if both else "a.v0"

    def all_of(r: Outcome | None) -> Outcome:
        return (0,) if r is None else (1, r[0], r[-1])

    ways: list[tuple[list[str], Callable[[Outcome | None], Outcome]]] = [
        (["if len(a) > 0:", f"  emit yes(u = a.v0, v = {last})", "else:", "  emit no"], all_of),
        (["emit many(u = len(a))"], lambda r: (0 if r is None else 1,)),
        (["emit many(u = a.v0 + 1 if a is done else 0)"], lambda r: (0 if r is None else 1 + r[0],)),
        (["if a.count(done) == 0: emit no"], lambda r: (0,) if r is None else ()),
    ]
    return rng.choice(ways)


def _counted(
    rng: random.Random,
    odds: int,
    claimed: int,
    both: bool,
    lines: list[str],
    ends: tuple[Fraction, Fraction],
    law: Callable[[int, int], Law],
) -> Repeated:
    laws = [law(x, y) for x, y in product((0, 1), repeat=2)]
    apart: Fraction | None = Fraction(1)
    for one, other in product(laws, repeat=2):
        for event, mass in one.items():
            beside = other.get(event, Fraction(0))
            if mass and apart is not None:
                apart = max(apart, mass / beside) if beside else None
    times = rng.choice((2 * claimed, 2 * claimed, 2 * claimed - 1, claimed, claimed - 1))
    s = ends[0] * ends[1]
    extra = Fraction(2) / (s * (2 + s)) if s else Fraction(0)
    extra = extra if rng.random() < 0.8 else extra / 2
    privacy = f"{times}*ln({odds})" + (f" + {extra}" if extra else "")
    # exp(extra) is at least 1 + extra + extra²/2: enough to say that what is claimed is kept.
    factor = odds**times * (1 + extra + extra**2 / 2 + extra**3 / 6)
    inputs = "input\n  x, y : int query, adjacency any, range [0, 1]\n"
    body = "\n  ".join(lines)
    text = f'mechanism r\nuse m from "m.dp"\n{inputs}privacy {privacy}\nprogram\n  {body}\n'
    p, q = Fraction(odds, odds + 1), Fraction(1, odds + 1)
    if both:
        inner = [f"c{k} ~ Bernoulli({p} if {bit} == 1 else {q})" for k, bit in enumerate("xy")]
    else:
        inner = [f"c0 ~ Bernoulli({p} if x == y else {q})"]
    emit = ", ".join(f"v{k} = c{k}" for k in range(len(inner)))
    callee = (
        f"mechanism m\n{inputs}privacy {claimed}*ln({odds})\nprogram\n  "
        + "\n  ".join([*inner, f"emit done({emit})"])
        + "\n"
    )
    return Repeated(text, callee, Fraction(factor), apart, law)


def verdict_on(one: Repeated) -> str:
    """What the checker says of it."""
    return verdict_of(one.text, one.callee)


if __name__ == "__main__":
    survey(drawn, verdict_on)

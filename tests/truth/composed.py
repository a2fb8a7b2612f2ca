"""Random claims in ε and δ, and in ρ, about composed randomized responses, beside their exact divergences.

    PYTHONPATH=tests:tests/truth python tests/truth/composed.py --count 200

Each spec calls a response some times, by a share of the budget that is right, or too large. A response is yes
or no, with discrete Laplace noise: for ε its ratios are e^ε and e^-ε exactly, so that what is composed is a
binomial variable, of which the hockey-stick divergence and the Rényi divergences are sums.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from random import Random

from brute import verdict_on
from flint import arb
from generated import Spec
from sparse_beyond import divergence

from aligncheck.verdict import Verified

RESPONSE = """mechanism response
input
  x : int query, sensitivity 1
  eps : real where eps > 0
privacy eps
program
  eta ~ DLap(1/eps)
  if x + eta >= 1:
    emit yes
  else:
    emit no
align
  eta += x - x'
"""
LEVELS, DELTAS, ORDERS = (0.1, 0.5, 1, 2, 8, 30, 100), (0.3, 0.05, 1e-3, 1e-8), (1.001, 1.5, 2, 8, 64)


@dataclass(frozen=True)
class Composed:
    """A spec, how many responses it composes; for values of its parameters, what is claimed, and what each
    response has.
    """

    spec: Spec
    count: int
    names: tuple[str, ...]
    claim: Callable[..., tuple[float, float | None]]
    each: Callable[..., float]
    allowed: Callable[..., bool]


def composed(seed: int) -> Composed:
    """The spec with this number."""
    chance = Random(seed)
    count = chance.choice((1, 2, 5, 40))
    share = chance.choice((1, 1, 1, 2, 4, 0.5))
    kind = chance.choice(("pure", "few", "advanced", "rho", "root"))
    if kind == "rho":
        text = _text("rho zcdp", ("rho",), f"sqrt(2*rho*{share}/{count})", count)
        return Composed(
            text,
            count,
            ("rho",),
            lambda rho: (rho, None),
            lambda rho: math.sqrt(2 * rho * share / count),
            lambda rho: True,
        )
    names = ("eps", "delta")
    if kind in ("pure", "few"):
        text = _text("eps delta delta", names, f"{share}*eps/{count}", count)
        return Composed(
            text, count, names, lambda e, d: (e, d), lambda e, d: share * e / count, lambda e, d: True
        )
    if kind == "advanced":
        reach = chance.choice((8, 8, 40))
        limit = f" and eps <= {reach}*ln(1/delta)"
        text = _text("eps delta delta", names, f"eps*sqrt({share}/({8 * count}*ln(1/delta)))", count, limit)
        return Composed(
            text,
            count,
            names,
            lambda e, d: (e, d),
            lambda e, d: e * math.sqrt(share / (8 * count * -math.log(d))),
            lambda e, d: e <= reach * -math.log(d),
        )
    roots = chance.choice((2, 2, 1))
    claim = f"eps**2/2*{count} + {roots}*sqrt(eps**2/2*{count}*ln(1/delta)) delta delta"
    text = _text(claim, names, "eps", count)

    def claimed(e: float, d: float) -> tuple[float, float]:
        rho = e * e / 2 * count
        return rho + roots * math.sqrt(rho * -math.log(d)), d

    return Composed(text, count, names, claimed, lambda e, d: e, lambda e, d: True)


def _text(claim: str, names: tuple[str, ...], share: str, count: int, limit: str = "") -> Spec:
    inputs = "".join(
        f"  {name} : real where {name} > 0{' and delta < 1' + limit if name == 'delta' else ''}\n"
        for name in names
    )
    text = (
        'mechanism composed\nuse response from "response.dp"\ninput\n  x : int query, sensitivity 1\n'
        f"{inputs}privacy {claim}\nprogram\n  for r in range({count}):\n"
        f"    one = response(x = x, eps = {share})\n    if one[0] is yes:\n      emit yes\n    else:\n"
        "      emit no\nalign\n"
    )
    return Spec(text, (("response.dp", RESPONSE),), frozenset())


def contradictions(made: Composed) -> Iterator[str]:
    """Numbers for which the claim is false, by intervals."""
    grids = [DELTAS if name == "delta" else LEVELS for name in made.names]
    for numbers in product(*grids):
        if not made.allowed(*numbers):
            continue
        amount, delta = made.claim(*numbers)
        high = arb(made.each(*numbers)).exp()
        coin = high / (1 + high)
        if delta is not None:
            found = divergence(coin, 1 - coin, made.count, arb(amount))
            if found > delta * (1 + 1e-9):
                yield f"{numbers}: δ is {float(found):.6g}, claimed {delta:g}"
            continue
        for order in ORDERS:
            moment = coin**order * (1 - coin) ** (1 - order) + (1 - coin) ** order * coin ** (1 - order)
            found = made.count * moment.log() / (order - 1) / order
            if found > amount * (1 + 1e-9):
                yield f"{numbers}: ρ is {float(found):.6g} at order {order:g}"


def judged(seed: int) -> tuple[bool, list[str], Composed]:
    """Whether the spec is VERIFIED, and what contradicts it."""
    made = composed(seed)
    verdict, _ = verdict_on(made.spec)
    return isinstance(verdict, Verified), list(contradictions(made)), made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    count = parser.parse_args().count
    tally: dict[tuple[bool, bool], int] = {}
    wrong = 0
    for seed in range(count):
        verified, against, made = judged(seed)
        tally[verified, bool(against)] = tally.get((verified, bool(against)), 0) + 1
        if verified and against:
            wrong += 1
            print(f"number {seed}\n{made.spec}\n{against[0]}")
    for (verified, against_it), number in sorted(tally.items()):
        told = "contradicted" if against_it else "not contradicted"
        print(f"{'VERIFIED' if verified else 'not verified'}, {told}: {number}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Random claims in ε and δ, and in ρ, about composed randomized responses, beside their exact divergences.

    PYTHONPATH=tests:tests/truth python tests/truth/composed.py --count 200

Each spec calls a mechanism some times, by a share of the budget that is right, or too large. Most call a
response, which is yes or no with discrete Laplace noise: for ε its ratios are e^ε and e^-ε exactly, so that
what is composed is a binomial variable, of which the hockey-stick divergence and the Rényi divergences are
sums. So is a choice of one of two answers, by weights or by Gumbel noise, with half of the ε. Where the
budget of a call follows from what was released, all outputs are added up. Gaussian noise is called with a δ.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
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
CHOICE = """mechanism response
input
  q : queries, sensitivity 1, adjacency all
  eps : real where eps > 0 and len(q) >= 1
privacy eps**2/8 zcdp
program
{}
  emit chosen(index = winner)
align
"""
WAYS = (
    "  winner ~ Choose(exp(eps*q[i]/2) for i in q)",
    "  for i in range(len(q)):\n    eta[i] ~ Gumbel(2/eps)\n  winner = argmax(q[i] + eta[i] for i in q)",
)
GAUSS = """mechanism response
input
  x : query, sensitivity 1
  eps : real where eps > 0
  d : real where d > 0 and d < 1
privacy eps delta d
program
  xi ~ Gauss(sqrt(2*(ln(1/d) + eps))/eps)
  emit yes(value = x + xi)
align
  xi += x - x'
"""
KINDS = ("pure", "advanced", "rho", "root", "choice", "by output", "deltas")
LEVELS, DELTAS, ORDERS = (0.1, 0.5, 1, 2, 8, 30, 100), (0.3, 0.05, 1e-3, 1e-8), (1.001, 1.5, 2, 8, 64)


@dataclass(frozen=True)
class Composed:
    """A spec; for values of its parameters what is claimed, and what is composed."""

    spec: Spec
    names: tuple[str, ...]
    claim: Callable[..., tuple[float, float | None]]
    each: Callable[..., Known]
    allowed: Callable[..., bool] = lambda *numbers: True


@dataclass(frozen=True)
class Known:
    """What is composed: its least δ for an ε, and its Rényi divergence of an order over that order."""

    delta: Callable[[float], arb]
    rho: Callable[[float], arb]


def responses(eps: float, count: int) -> Known:
    """Randomized responses."""
    high = arb(eps).exp()
    coin = high / (1 + high)

    def rho(order: float) -> arb:
        moment = coin**order * (1 - coin) ** (1 - order) + (1 - coin) ** order * coin ** (1 - order)
        return count * moment.log() / (order - 1) / order

    return Known(lambda claim: divergence(coin, 1 - coin, count, arb(claim)), rho)


def gaussian(mu: float) -> Known:
    """Gaussian noise whose deviation is 1/mu of the distance (Balle and Wang, ICML 2018, Theorem 8)."""

    def below(x: arb) -> arb:
        return (-x / arb(2).sqrt()).erfc() / 2

    def delta(claim: float) -> arb:
        return below(arb(mu) / 2 - arb(claim) / mu) - arb(claim).exp() * below(-arb(mu) / 2 - arb(claim) / mu)

    return Known(delta, lambda order: arb(mu) ** 2 / 2)


def adaptive(
    shares: tuple[Fraction, ...], whole: bool, count: int, eps: Callable[[Fraction], float]
) -> Known:
    """Responses one after the other, each with the second share of the budget after a yes, and the third
    after a no: as long as the `whole` cost is within the budget, or what was spent before is. What a share is
    in ε is `eps`.
    """
    found: list[tuple[arb, arb]] = []

    def answer(p: arb, q: arb, spent: Fraction, cost: Fraction, left: int) -> None:
        if left == 0 or (spent + cost if whole else spent) > 1:  # nothing changes in the rounds that are left
            found.append((p, q))
            return
        high = arb(eps(cost)).exp()
        for one, other, after in ((high, arb(1), shares[1]), (arb(1), high, shares[2])):
            answer(p * one / (1 + high), q * other / (1 + high), spent + cost, after, left - 1)

    answer(arb(1), arb(1), Fraction(0), shares[0], count)

    def rho(order: float) -> arb:
        moment = sum((p**order * q ** (1 - order) for p, q in found), arb(0))
        return moment.log() / (order - 1) / order

    def delta(claim: float) -> arb:
        excesses = (p - arb(claim).exp() * q for p, q in found)
        return sum((excess for excess in excesses if excess > 0), arb(0))

    return Known(delta, rho)


def composed(seed: int) -> Composed:
    """The spec with this number."""
    chance = Random(seed)
    count = chance.choice((1, 2, 5, 40))
    share = chance.choice((1, 1, 1, 2, 4, 0.5))
    kind = KINDS[seed % len(KINDS)]
    names: tuple[str, ...] = ("rho",) if kind in ("choice", "rho") else ("eps", "delta")

    def with_responses(
        claim: Callable[..., tuple[float, float | None]], each: Callable[..., float], *written: str
    ) -> Composed:
        text = _text(written[0], names, written[1], count, *written[2:])
        return Composed(_spec(text), names, claim, lambda *numbers: responses(each(*numbers), count))

    match kind:
        case "by output":
            return _by_output(chance)
        case "choice" | "rho":
            times, squares = (2, 8) if kind == "choice" else (1, 2)
            made = with_responses(
                lambda rho: (rho, None),
                lambda rho: math.sqrt(squares * rho * share / count) / times,
                *("rho zcdp", f"sqrt({squares}*rho*{share}/{count})"),
            )
            if kind == "rho":
                return made
            callee = CHOICE.replace("{}", chance.choice(WAYS))
            return replace(made, spec=_spec(_listed(made.spec.text), callee))
        case "deltas":
            parts = chance.choice((count, count, count / 2, 1))
            text = _text("eps delta delta", names, f"{share}*eps/{count}, d = delta/{parts}", count)
            return Composed(
                _spec(text.replace("int query", "query"), GAUSS),
                names,
                lambda e, d: (e, d),
                lambda e, d: _gaussians(share * e / count, d / parts, count),
            )
        case "pure":
            return with_responses(
                lambda e, d: (e, d), lambda e, d: share * e / count, "eps delta delta", f"{share}*eps/{count}"
            )
        case "advanced":
            reach = chance.choice((8, 8, 40))
            made = with_responses(
                lambda e, d: (e, d),
                lambda e, d: e * math.sqrt(share / (8 * count * -math.log(d))),
                *("eps delta delta", f"eps*sqrt({share}/({8 * count}*ln(1/delta)))"),
                f" and eps <= {reach}*ln(1/delta)",
            )
            return replace(made, allowed=lambda e, d: e <= reach * -math.log(d))
        case _:
            pass
    roots = chance.choice((2, 2, 1))

    def claimed(e: float, d: float) -> tuple[float, float]:
        rho = e * e / 2 * count
        return rho + roots * math.sqrt(rho * -math.log(d)), d

    claim = f"eps**2/2*{count} + {roots}*sqrt(eps**2/2*{count}*ln(1/delta)) delta delta"
    return with_responses(claimed, lambda e, d: e, claim, "eps")


def _listed(text: str) -> str:
    """The same with a list of answers, of which an index is chosen."""
    changes = (
        ("x : int query, sensitivity 1", "q : queries, sensitivity 1, adjacency all"),
        ("rho > 0", "rho > 0 and len(q) >= 1"),
        ("x = x", "q = q"),
        ("one[0] is yes", "one.index == 0"),
    )
    for old, new in changes:
        text = text.replace(old, new)
    return text


def _gaussians(eps: float, delta: float, count: int) -> Known:
    """So many calls of `GAUSS`."""
    return gaussian(eps / math.sqrt(2 * (eps - math.log(delta))) * math.sqrt(count))


def _by_output(chance: Random) -> Composed:
    """Calls with a budget that follows from the last answer, until it is used up."""
    shares = tuple(Fraction(chance.randint(1, 6), 6) for _ in range(3))
    whole, count = chance.random() < 0.7, 6
    name, to_eps = chance.choice((("rho", "sqrt(2*cost)"), ("eps", "cost")))
    first, yes, no = (f"{share}*{name}" for share in shares)
    text = (
        'mechanism composed\nuse response from "response.dp"\ninput\n  x : int query, sensitivity 1\n'
        f"  {name} : real where {name} > 0\nprivacy {name}{' zcdp' if name == 'rho' else ' delta 1/100000'}\n"
        f"program\n  spent = 0\n  cost = {first}\n  for r in range({count}):\n"
        f"    if cost > 0 and spent{' + cost' if whole else ''} <= {name}:\n"
        f"      one = response(x = x, eps = {to_eps})\n      spent = spent + cost\n"
        f"      if one[0] is yes:\n        cost = {yes}\n        emit yes\n"
        f"      else:\n        cost = {no}\n        emit no\nalign\n"
    )

    def each(amount: float) -> Known:
        def eps(share: Fraction) -> float:
            return math.sqrt(2 * amount * share) if name == "rho" else amount * float(share)

        return adaptive(shares, whole, count, eps)

    delta = None if name == "rho" else 1e-5
    return Composed(_spec(text), (name,), lambda amount: (amount, delta), each)


def _spec(text: str, callee: str = RESPONSE) -> Spec:
    return Spec(text, (("response.dp", callee),), frozenset())


def _text(claim: str, names: tuple[str, ...], share: str, count: int, limit: str = "") -> str:
    inputs = "".join(
        f"  {name} : real where {name} > 0{' and delta < 1' + limit if name == 'delta' else ''}\n"
        for name in names
    )
    return (
        'mechanism composed\nuse response from "response.dp"\ninput\n  x : int query, sensitivity 1\n'
        f"{inputs}privacy {claim}\nprogram\n  for r in range({count}):\n"
        f"    one = response(x = x, eps = {share})\n    if one[0] is yes:\n      emit yes\n    else:\n"
        "      emit no\nalign\n"
    )


def contradictions(made: Composed) -> Iterator[str]:
    """Numbers for which the claim is false, by intervals."""
    grids = [DELTAS if name == "delta" else LEVELS for name in made.names]
    for numbers in product(*grids):
        if not made.allowed(*numbers):
            continue
        amount, delta = made.claim(*numbers)
        known = made.each(*numbers)
        if delta is not None:
            found = known.delta(amount)
            if found > delta * (1 + 1e-9):
                yield f"{numbers}: δ is {float(found):.6g}, claimed {delta:g}"
            continue
        for order in ORDERS:
            found = known.rho(order)
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

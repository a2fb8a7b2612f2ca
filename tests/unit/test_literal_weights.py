"""Multiplicative weights as they are described in words, beside what the specs compile to.

The described algorithms keep a hypothesis, a histogram; compiled ones know it by a number, which public
functions can read. The update of the hypothesis, which the texts leave to others, is by factors 3/2 and 1/2.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from oracle import compiled
from recorded_noise import RecordedNoise

from aligncheck.language.check import check
from aligncheck.language.syntax.parse import parse, read_source

SPECS = Path(__file__).parents[2] / "specs"
Draw = Callable[[Fraction], Fraction]
Out = list[tuple[Any, ...]]
Histogram = tuple[Fraction, ...]
Linear = list[list[int]]
"""Linear queries, each by what it is (0 or 1) on each element of the domain."""
F = Fraction


def dot(p: Histogram, f: list[int]) -> Fraction:
    return sum((a * b for a, b in zip(p, f, strict=True)), F(0))


def updated(p: Histogram, f: list[int], answer: Fraction) -> Histogram:
    """More weight where f is 1 if the answer is above that of p, less if it is below; the total stays."""
    factor = F(3, 2) if answer > dot(p, f) else F(1, 2)
    grown = [a * factor if b else a for a, b in zip(p, f, strict=True)]
    return tuple(a * F(sum(p), sum(grown)) for a in grown)


def uniform_over(p: Histogram) -> Histogram:
    return tuple(F(sum(p), len(p)) for _ in p)


def online_pmw_redrawn(p: Histogram, f: Linear, draw: Draw, T: int, n: int, eps: Fraction) -> Out:
    """Lecture 9, "Online Private Multiplicative Weights", steps 1 to 3: Sparse on |<p^, f> - <p, f>| with
    half of the budget, NumericSparse's answers with the other half.
    """
    sigma = 2 * n / (eps / 2)
    hypothesis, noisy_t, count, out = uniform_over(p), T + draw(sigma), 0, Out()
    for query in f:
        if abs(dot(hypothesis, query) - dot(p, query)) + draw(2 * sigma) >= noisy_t:
            answer = dot(p, query) + draw(n / (eps / 2))
            out.append(("corrected", answer))
            hypothesis = updated(hypothesis, query, answer)
            count += 1
            noisy_t = T + draw(sigma)
        else:
            out.append(("kept", dot(hypothesis, query)))
        if count >= n:
            break
    return out


def online_pmw(p: Histogram, f: Linear, draw: Draw, T: int, n: int, eps: Fraction) -> Out:
    """The same with one threshold; a third of the budget for it, for the tests and for the answers."""
    third = eps / 3
    hypothesis, noisy_t, count, out = uniform_over(p), T + draw(1 / third), 0, Out()
    for query in f:
        if abs(dot(hypothesis, query) - dot(p, query)) + draw(2 * n / third) >= noisy_t:
            answer = dot(p, query) + draw(n / third)
            out.append(("corrected", answer))
            hypothesis = updated(hypothesis, query, answer)
            count += 1
        else:
            out.append(("kept", dot(hypothesis, query)))
        if count >= n:
            break
    return out


def mwem(p: Histogram, f: Linear, draw: Draw, T: int, n: int, eps: Fraction) -> Out:
    """Lecture 9, the offline version, steps 1 to 3, n times: noisy max for the exponential mechanism of step
    1, among queries that were not yet asked; half of a round's budget for it, half for the measurement. The
    small errors of step 2 end nothing.
    """
    each, out = eps / n / 2, Out()
    hypothesis, asked = uniform_over(p), set[int]()
    for _ in range(min(n, len(f))):
        noisy = [abs(dot(hypothesis, query) - dot(p, query)) + draw(2 / each) for query in f]
        worst = max((i for i in range(len(f)) if i not in asked), key=lambda i: noisy[i])
        answer = dot(p, f[worst]) + draw(1 / each)
        out.append(("measured", worst, answer))
        hypothesis = updated(hypothesis, f[worst], answer)
        asked.add(worst)
    return out


@dataclass
class Numbered:
    """Hypotheses and sets of queries, each by its place in a list: what the specs call `state` and `done`."""

    f: Linear
    states: list[Histogram]
    sets: list[frozenset[int]] = field(default_factory=lambda: [frozenset()])

    def answer(self, state: Fraction, i: int) -> Fraction:
        return dot(self.states[int(state)], self.f[i])

    def update(self, state: Fraction, i: int, value: Fraction) -> int:
        self.states.append(updated(self.states[int(state)], self.f[i], value))
        return len(self.states) - 1

    def asked(self, done: Fraction, i: int) -> bool:
        return i in self.sets[int(done)]

    def add(self, done: Fraction, i: int) -> int:
        self.sets.append(self.sets[int(done)] | {i})
        return len(self.sets) - 1

    def unasked(self, done: Fraction) -> int:
        return next((i for i in range(len(self.f)) if i not in self.sets[int(done)]), -1)


@pytest.mark.parametrize("described", [online_pmw_redrawn, online_pmw, mwem])
def test_the_description_and_the_compiled_module_agree(described: Callable[..., Out]) -> None:
    source = read_source(str(SPECS / f"{described.__name__}.dp"))
    cls: Any = compiled(check(source, parse(source)))
    some, found = random.Random(described.__name__), set()
    for _ in range(30):
        p = tuple(F(some.randint(0, 20)) for _ in range(6))
        f = [[some.randint(0, 1) for _ in p] for _ in range(some.randint(2, 6))]
        T, n, eps = some.randint(2, 12), some.randint(1, 3), F(some.randint(1, 8), 4)
        tape = [F(some.randint(-640, 640), 64) for _ in range(40)]
        rest, scales = iter(tape), list[Fraction]()

        def draw(scale: Fraction, scales: list[Fraction] = scales, rest: Any = rest) -> Fraction:
            scales.append(scale)
            return next(rest)  # type: ignore[no-any-return]

        printed = described(p, f, draw, T, n, eps)
        numbered = Numbered(f, [uniform_over(p)])
        given = {"T": T, "N": n, "rounds": n, "eps": eps, "start": 0, "nothing": 0}
        wanted = {info.keyword for info in (*cls.spec.parameters, *cls.spec.functions)}
        functions = {name: getattr(numbered, name) for name in wanted - given.keys()}
        noise = RecordedNoise(tape)
        run = cls(**{key: value for key, value in given.items() if key in wanted}, **functions)
        records = run.with_noise(noise)([dot(p, query) for query in f]).records
        assert [(r.tag, *(getattr(r, field) for field in r.__slots__)) for r in records] == printed
        assert [drawn.args[0] for drawn in noise.drawn] == scales
        found.add(tuple(out[:2] if described is mwem else out[0] for out in printed))
    assert len(found) > 3, "the tapes lead to many outputs"

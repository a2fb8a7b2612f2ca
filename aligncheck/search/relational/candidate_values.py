"""Candidates about the values of the program itself: counters, tests, what grows in step."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from aligncheck.search.relational.ir import (
    ONE,
    ZERO,
    Add,
    Cmp,
    Const,
    Term,
    TermSort,
    add,
    const,
    div,
    eq,
    iff,
    implies,
    ite,
    le,
    lt,
    mul,
    or_,
    sort_of,
    sub,
)
from aligncheck.search.relational.labels import LastDraw, Latest, Ledger
from aligncheck.search.relational.loop import Loop
from aligncheck.search.relational.simplify import directions, distinct, noisy


@dataclass(frozen=True)
class Values:
    """For one loop head."""

    loop: Loop

    def values(self) -> list[Term]:
        """First stage: the program's own values, which variables both runs share, where noise was
        drawn last.
        """
        return distinct([*self._equal_truths(), *self._values(), *self._indices()])

    def _equal_truths(self) -> list[Term]:
        return [
            iff(pair.left, pair.right)
            for pair in self.loop.cut.fresh.values()
            if sort_of(pair.left) is TermSort.BOOL and pair.left != pair.right
        ]

    def _values(self) -> list[Term]:
        found: list[Term] = []
        for test in self.loop.guards:
            found.append(test)
            if isinstance(test, Cmp) and test.op == "<":
                found.append(le(test.left, test.right))
            if isinstance(test, Cmp) and test.op == "==":
                left, right = test.left, test.right
                found += [le(left, right), lt(left, right), le(right, left), lt(right, left)]
        found += self._limits()
        for name, symbol in self.loop.numbers():
            start = self.loop.start(name)
            if start is not None and self.loop.stable(start.left) and not noisy(start.left):
                rises, falls = directions(self.loop.steps[name])
                found += [le(start.left, symbol)] * (not falls) + [le(symbol, start.left)] * (not rises)
                if start.left == ZERO and not falls:
                    continue
            found.append(le(ZERO, symbol))
            if symbol.sort is TermSort.REAL:
                found.append(lt(ZERO, symbol))
        found += self._relations()
        if self.loop.cut.counter is not None:
            at, first = self.loop.cut.counter, self.loop.cut.env[Ledger.LOW].left
            for v in self.loop.index_holders:
                found += [or_((c, eq(at, first))) for c in (lt(v, at), le(first, v)) if v != at]
            found += self._unset(at, first)
            for pair in self.loop.cut.fresh.values():
                if sort_of(pair.left) is TermSort.BOOL:
                    found += [iff(pair.left, eq(at, first)), iff(pair.left, lt(first, at))]
            high, low = self.loop.cut.env[Ledger.HIGH].left, self.loop.cut.env[Ledger.LOW].left
            found += [le(self.loop.cut.counter, high), le(low, self.loop.cut.counter)]
            if low != ZERO or isinstance(high, Add):
                found.append(le(self.loop.cut.counter, ite(le(low, high), high, low)))
        return found

    def _unset(self, at: Term, first: Term) -> list[Term]:
        """A variable that some round sets to the loop's index has its first value, a number that is no index,
        before the first round only: in either run.
        """
        found: list[Term] = []
        for name, symbol in self.loop.numbers():
            start = self.loop.start(name)
            if symbol in self.loop.index_holders and start is not None and isinstance(start.left, Const):
                pair = self.loop.cut.fresh[name]
                for side in dict.fromkeys((pair.left, pair.right)):
                    found += [iff(eq(side, start.left), eq(at, first)), or_((lt(side, at), eq(at, first)))]
        return found

    def _limits(self) -> list[Term]:
        """A counter that grows only while a part of some test says that it is below a limit."""
        return [le(t.left, t.right if t.op == "<" else add(t.right, ONE)) for t in self.loop.limit_tests]

    def _relations(self) -> list[Term]:
        """Variables that grow in step: x - x0 = c (y - y0), or at most."""
        found: list[Term] = []
        numbers = [n for n in self.loop.numbers() if not isinstance(n[0], Latest | LastDraw)]
        for (a, x), (b, y) in combinations(numbers, 2):
            x0, y0 = self.loop.start(a), self.loop.start(b)
            if x0 is None or y0 is None or noisy(x0.left) or noisy(y0.left):
                continue
            ratio = self._ratio(self.loop.steps[a], self.loop.steps[b])
            if ratio is None:
                continue
            grown = mul(ratio, sub(y, y0.left))
            in_step = all(
                s == mul(ratio, t) for s, t in zip(self.loop.steps[a], self.loop.steps[b], strict=True)
            )
            if in_step:
                found.append(eq(sub(x, x0.left), grown))
            elif isinstance(ratio, Const):
                found += [le(sub(x, x0.left), grown), le(grown, sub(x, x0.left))]
                if x.sort is y.sort is TermSort.INT:
                    guards = [*self.loop.flag_guards, *self.loop.limit_tests[:2]]
                    found += [implies(g, eq(sub(x, x0.left), grown)) for g in guards]
        return found

    def _ratio(self, first: list[Term], second: list[Term]) -> Term | None:
        for a, b in zip(first, second, strict=True):
            if not (self.loop.stable(a) and self.loop.stable(b)) or noisy(a) or noisy(b):
                return None
            if b != ZERO and a != ZERO:
                return div(a, b)
        return None

    def _indices(self) -> list[Term]:
        """Where noise was drawn last: before a clock, or never."""
        found: list[Term] = []
        for name, pair in self.loop.cut.fresh.items():
            if not isinstance(name, Latest):
                continue
            found.append(eq(pair.left, const(-1)))
            for t in self.loop.clocks:
                found += [lt(pair.left, t), le(pair.left, t), eq(pair.left, t)]
        return found

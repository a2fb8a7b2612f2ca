"""Candidates about the values of the program itself: counters, tests, what grows in step."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from aligncheck.search.relational import ir
from aligncheck.search.relational.labels import AtHead, LastDraw, Latest, Ledger
from aligncheck.search.relational.loop import Loop
from aligncheck.search.relational.simplify import directions, distinct, noisy


@dataclass(frozen=True)
class Values:
    """For one loop head."""

    loop: Loop

    def values(self) -> list[ir.Term]:
        """First stage: the program's own values, which variables both runs share, where noise was
        drawn last.
        """
        found = [t for t in self._values() if not any(_of_draws(a) for a in ir.atoms((t,)))]
        return distinct([*self._equal_truths(), *found, *self._indices()])

    def _equal_truths(self) -> list[ir.Term]:
        return [
            ir.iff(pair.left, pair.right)
            for pair in self.loop.cut.fresh.values()
            if ir.sort_of(pair.left) is ir.TermSort.BOOL and pair.left != pair.right
        ]

    def _values(self) -> list[ir.Term]:
        found: list[ir.Term] = []
        for test in self.loop.guards:
            found.append(test)
            if isinstance(test, ir.Cmp) and test.op == "<":
                found.append(ir.le(test.left, test.right))
            if isinstance(test, ir.Cmp) and test.op == "==":
                left, right = test.left, test.right
                found += [ir.le(left, right), ir.lt(left, right), ir.le(right, left), ir.lt(right, left)]
        found += self._limits()
        for name, symbol in self.loop.numbers():
            start = self.loop.start(name)
            if start is not None and self.loop.stable(start.left) and not noisy(start.left):
                rises, falls = directions(self.loop.steps[name])
                found += [ir.le(start.left, symbol)] * (not falls) + [ir.le(symbol, start.left)] * (not rises)
                if start.left == ir.ZERO and not falls:
                    continue
            found.append(ir.le(ir.ZERO, symbol))
            if symbol.sort is ir.TermSort.REAL:
                found.append(ir.lt(ir.ZERO, symbol))
        found += self._relations()
        if self.loop.cut.counter is not None:
            at, first = self.loop.cut.counter, self.loop.cut.env[Ledger.LOW].left
            for v in self.loop.index_holders:
                found += [ir.or_((c, ir.eq(at, first))) for c in (ir.lt(v, at), ir.le(first, v)) if v != at]
            found += self._unset(at, first)
            for pair in self.loop.cut.fresh.values():
                if ir.sort_of(pair.left) is ir.TermSort.BOOL:
                    found += [ir.iff(pair.left, ir.eq(at, first)), ir.iff(pair.left, ir.lt(first, at))]
            high, low = self.loop.cut.env[Ledger.HIGH].left, self.loop.cut.env[Ledger.LOW].left
            found += [ir.le(self.loop.cut.counter, high), ir.le(low, self.loop.cut.counter)]
            if low != ir.ZERO or isinstance(high, ir.Add):
                found.append(ir.le(self.loop.cut.counter, ir.ite(ir.le(low, high), high, low)))
        return found

    def _unset(self, at: ir.Term, first: ir.Term) -> list[ir.Term]:
        """A variable that some round sets to the loop's index has its first value, a number that is no index,
        before the first round only: in either run.
        """
        found: list[ir.Term] = []
        for name, symbol in self.loop.numbers():
            start = self.loop.start(name)
            if symbol in self.loop.index_holders and start is not None and isinstance(start.left, ir.Const):
                pair = self.loop.cut.fresh[name]
                for side in dict.fromkeys((pair.left, pair.right)):
                    found += [
                        ir.iff(ir.eq(side, start.left), ir.eq(at, first)),
                        ir.or_((ir.lt(side, at), ir.eq(at, first))),
                    ]
        return found

    def _limits(self) -> list[ir.Term]:
        """A counter that grows only while a part of some test says that it is below a limit."""
        return [
            ir.le(t.left, t.right if t.op == "<" else ir.add(t.right, ir.ONE)) for t in self.loop.limit_tests
        ]

    def _relations(self) -> list[ir.Term]:
        """Variables that grow in step: x - x0 = c (y - y0), or at most."""
        found: list[ir.Term] = []
        numbers = [n for n in self.loop.numbers() if not isinstance(n[0], Latest | LastDraw)]
        for (a, x), (b, y) in combinations(numbers, 2):
            x0, y0 = self.loop.start(a), self.loop.start(b)
            if x0 is None or y0 is None or noisy(x0.left) or noisy(y0.left):
                continue
            ratio = self._ratio(self.loop.steps[a], self.loop.steps[b])
            if ratio is None:
                continue
            grown = ir.mul(ratio, ir.sub(y, y0.left))
            in_step = all(
                s == ir.mul(ratio, t) for s, t in zip(self.loop.steps[a], self.loop.steps[b], strict=True)
            )
            if in_step:
                found.append(ir.eq(ir.sub(x, x0.left), grown))
            elif isinstance(ratio, ir.Const):
                found += [ir.le(ir.sub(x, x0.left), grown), ir.le(grown, ir.sub(x, x0.left))]
                if x.sort is y.sort is ir.TermSort.INT:
                    guards = [*self.loop.flag_guards, *self.loop.limit_tests[:2]]
                    found += [ir.implies(g, ir.eq(ir.sub(x, x0.left), grown)) for g in guards]
        return found

    def _ratio(self, first: list[ir.Term], second: list[ir.Term]) -> ir.Term | None:
        for a, b in zip(first, second, strict=True):
            if not (self.loop.stable(a) and self.loop.stable(b)) or noisy(a) or noisy(b):
                return None
            if b != ir.ZERO and a != ir.ZERO:
                return ir.div(a, b)
        return None

    def _indices(self) -> list[ir.Term]:
        """Where noise was drawn last: where a variable says. All else the kernel knows by itself."""
        return [
            ir.eq(pair.left, t)
            for name, pair in self.loop.cut.fresh.items()
            if isinstance(name, Latest)
            for t in self.loop.clocks
        ]


def _of_draws(atom: ir.Sym | ir.App) -> bool:
    """Whether an atom says where noise was drawn last."""
    return isinstance(atom.label, AtHead) and isinstance(atom.label.key, Latest)

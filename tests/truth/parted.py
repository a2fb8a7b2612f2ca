"""Random specs that call a noisy sum on parts of a list, or of a table, beside what they lose exactly.

    PYTHONPATH=tests:tests/truth python tests/truth/parted.py --count 200

Which cells each call gets is told here by Python's own lists of lists. What is released are independent
numbers with Laplace noise, so the greatest loss of a pair of neighbours is the sum over the calls of how far
the sum of their cells moves, and that of a spec the greatest of some small tables and all neighbours.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from random import Random

from brute import verdict_on
from generated import Spec

from aligncheck.verdict import Verified

NOISY_SUM = """mechanism noisy_sum
input
  y : queries, sensitivity 1, adjacency {way}
  eps : real where eps > 0
privacy eps
program
  total = sum(y[j] for j in y)
  eta ~ Lap({most}/eps)
  emit v(total + eta)
align
  eta += sum(y[j] for j in y) - sum(y'[j] for j in y)
"""

Cells = list[list[int]]
"""A table of the numbers of its cells: rows of columns."""


@dataclass(frozen=True)
class Sizes:
    """Rows, columns, where a list is split, and the public group of each cell."""

    rows: int
    columns: int
    split: int
    groups: tuple[int, ...]

    @property
    def table(self) -> Cells:
        """The cells by number, row by row."""
        return [[i * self.columns + j for j in range(self.columns)] for i in range(self.rows)]


Parts = Callable[[Sizes], Iterator[list[int]]]


@dataclass(frozen=True)
class Parted:
    """A spec, what its calls get, how neighbours differ, how many times `eps` it claims, and the scale of the
    noise of what it calls, in units of 1/eps.
    """

    spec: Spec
    parts: tuple[Parts, ...]
    adjacency: str
    claim: int
    scale: int


Rows = Callable[[Cells, int], Iterable[int]]


def _rows(chance: Random) -> tuple[str, Parts]:
    takes: tuple[tuple[str, Rows], ...] = (
        ("t[i]", lambda t, i: [i]),
        ("t[n - 1 - i]", lambda t, i: [len(t) - 1 - i]),
        ("t[0]", lambda t, i: [0]),
        ("t[i:i + 1]", lambda t, i: [i]),
        ("t[0:i + 1]", lambda t, i: range(i + 1)),
        ("t[i:]", lambda t, i: range(i, len(t))),
    )
    text, take = chance.choice(takes)

    def parts(s: Sizes) -> Iterator[list[int]]:
        for i in range(s.rows):
            yield [c for r in take(s.table, i) for c in s.table[r]]

    return f"for i in range(n):\n    a = noisy_sum(y = {text}, eps = eps)\n    emit v(a.value)", parts


def _named_rows(chance: Random) -> tuple[str, Parts]:
    takes: tuple[tuple[str, Callable[[list[int]], list[int]]], ...] = (
        ("row", lambda row: row),
        ("row[1:]", lambda row: row[1:]),
        ("list(row[j] for j in row)", lambda row: row),
        ("list(row[0] for j in row)", lambda row: [row[0]] * len(row)),
    )
    text, take = chance.choice(takes)

    def parts(s: Sizes) -> Iterator[list[int]]:
        for row in s.table:
            yield take(row)

    return f"for row in t:\n    b = noisy_sum(y = {text}, eps = eps)\n    emit v(b.value)", parts


def _columns(chance: Random) -> tuple[str, Parts]:
    takes: tuple[tuple[str, Rows], ...] = (
        ("t[i][j]", lambda t, j: [row[j] for row in t]),
        ("t[n - 1 - i][j]", lambda t, j: [row[j] for row in t]),
        ("t[i][m - 1 - j]", lambda t, j: [row[len(row) - 1 - j] for row in t]),
        ("t[i][0]", lambda t, j: [row[0] for row in t]),
    )
    text, take = chance.choice(takes)

    def parts(s: Sizes) -> Iterator[list[int]]:
        for j in range(s.columns):
            yield list(take(s.table, j))

    call = f"noisy_sum(y = list({text} for i in range(n)), eps = eps)"
    return f"for j in range(m):\n    c = {call}\n    emit v(c.value)", parts


def _split(chance: Random) -> tuple[str, Parts]:
    low, high = chance.choice(((0, 0), (0, 0), (0, 1), (1, 0), (0, -1)))

    def parts(s: Sizes) -> Iterator[list[int]]:
        whole = list(range(len(s.groups)))
        yield whole[: s.split + low]
        yield whole[s.split + high :]

    first, second = (f"k + {e}" if e >= 0 else f"k - {-e}" for e in (low, high))
    lines = (
        f"d = noisy_sum(y = q[:{first}], eps = eps)",
        f"e = noisy_sum(y = q[{second}:], eps = eps)",
        "emit v(d.value)",
        "emit v(e.value)",
    )
    return "\n  ".join(lines), parts


def _groups(chance: Random) -> tuple[str, Parts]:
    tests: tuple[tuple[str, Callable[[int, int], bool]], ...] = (
        ("==", lambda g, c: g == c),
        ("==", lambda g, c: g == c),
        (">=", lambda g, c: g >= c),
        ("!=", lambda g, c: g != c),
    )
    op, holds = chance.choice(tests)

    def parts(s: Sizes) -> Iterator[list[int]]:
        for c in range(2):
            yield [at for at, g in enumerate(s.groups) if holds(g, c)]

    entry = f"q[l] if g[l] {op} c else 0"
    call = f"noisy_sum(y = list({entry} for l in range(len(q))), eps = eps)"
    return f"for c in range(2):\n    f = {call}\n    emit v(f.value)", parts


def _cells(chance: Random) -> tuple[str, Parts]:
    takes: tuple[tuple[str, Callable[[Cells, int, int], int]], ...] = (
        ("t[i][j]", lambda t, i, j: t[i][j]),
        ("t[i][0]", lambda t, i, j: t[i][0]),
    )
    text, take = chance.choice(takes)

    def parts(s: Sizes) -> Iterator[list[int]]:
        for i in range(s.rows):
            for j in range(s.columns):
                yield [take(s.table, i, j)]

    loops = "for i in range(len(t)):\n    for j in range(len(t[i])):\n      "
    return f"{loops}xi[i][j] ~ Lap(1/eps)\n      emit v({text} + xi[i][j])", parts


OF_TABLES, OF_LISTS = (_rows, _rows, _named_rows, _columns, _cells), (_split, _groups)


def parted(seed: int) -> Parted:
    """The spec with this number."""
    chance = Random(seed)
    of_table = chance.random() < 0.7
    ways = ("one", "one", "one", "moved", "two", "l1", "all")
    adjacency = chance.choice(ways)
    inner, most = ("two", 2) if adjacency in ("moved", "two") else (chance.choice(("one", "one", "l1")), 1)
    made = [chance.choice(OF_TABLES if of_table else OF_LISTS)]
    if chance.random() < 0.2:
        made.append(next(m for m in (OF_TABLES if of_table else OF_LISTS) if m not in made))
    claim = len(made) * (2 if adjacency in ("moved", "two") else 1)
    claim = chance.choice((claim, claim, claim + 1, 1))
    texts, parts = zip(*(one(chance) for one in made), strict=True)
    table = f"  t : queries[n][m], sensitivity 1, adjacency {adjacency}\n"
    lists = (
        f"  q : queries, sensitivity 1, adjacency {adjacency}\n  k : int where 1 <= k and k + 1 < len(q)\n"
        "  g : int vector where len(g) == len(q)\n"
    )
    used = 'use noisy_sum from "noisy_sum.dp"\n' if made != [_cells] else ""
    cell = "t[i][0] - t'[i][0]" if "emit v(t[i][0]" in texts[0] else "t[i][j] - t'[i][j]"
    text = (
        f"mechanism parted\n{used}input\n  n : int where n >= 1\n"
        f"  m : int where m >= 1\n{table if of_table else lists}  eps : real where eps > 0\n"
        f"privacy {claim}*eps\nprogram\n  " + "\n  ".join(texts) + "\n"
    )
    text += f"align\n  xi[i][j] += {cell}\n" if _cells in made and "j]" in cell else ""
    callee = (("noisy_sum.dp", NOISY_SUM.format(way=inner, most=most)),)
    return Parted(Spec(text, callee, frozenset()), parts, adjacency, claim, most)


def sizes_of(made: Parted) -> Iterator[Sizes]:
    """Small tables, or lists of the same cells."""
    for rows, columns in product((1, 2, 3), repeat=2):
        cells = rows * columns
        for groups in {(0,) * cells, tuple(range(cells)), tuple(at % 2 for at in range(cells))}:
            for split in range(1, max(2, cells - 1)):
                if "queries[n][m]" in made.spec.text or split + 1 < cells:
                    yield Sizes(rows, columns, split, groups)


def _moves(cells: int, adjacency: str) -> Iterator[dict[int, int]]:
    """How neighbours differ, as much as they may."""
    if adjacency in ("one", "l1"):
        yield from ({at: 1} for at in range(cells))
    elif adjacency == "all":
        yield from (dict(enumerate(signs)) for signs in product((-1, 1), repeat=min(cells, 6)))
    else:
        yield from ({at: 1} for at in range(cells))
        pairs = ((a, b) for a in range(cells) for b in range(cells) if a != b)
        for a, b in pairs:
            yield {a: 1, b: -1}
            if adjacency == "two":
                yield {a: 1, b: 1}


def loss(made: Parted) -> tuple[Fraction, Sizes | None]:
    """The greatest loss, in units of eps, and where."""
    most, where = Fraction(0), None
    for sizes in sizes_of(made):
        scales = [1 if part.__qualname__.startswith("_cells") else made.scale for part in made.parts]
        given = [(part, s) for each, s in zip(made.parts, scales, strict=True) for part in each(sizes)]
        for moves in _moves(len(sizes.groups), made.adjacency):
            here = sum(
                (Fraction(abs(sum(moves.get(c, 0) for c in part)), scale) for part, scale in given),
                Fraction(0),
            )
            if here > most:
                most, where = here, sizes
    return most, where


def judged(seed: int) -> tuple[str, Fraction, Parted]:
    """The verdict, and what the spec loses."""
    made = parted(seed)
    verdict, _ = verdict_on(made.spec)
    told = "refused" if verdict is None else "VERIFIED" if isinstance(verdict, Verified) else "not verified"
    return told, loss(made)[0], made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="what is private and not verified, too")
    given = parser.parse_args()
    tally: Counter[tuple[str, str]] = Counter()
    wrong = 0
    for seed in range(given.first, given.first + given.count):
        told, lost, made = judged(seed)
        fits = lost <= made.claim
        tally[told, "loses no more than is claimed" if fits else "loses more"] += 1
        wrong += told == "VERIFIED" and not fits
        if (told == "VERIFIED" and not fits) or (given.show and told != "VERIFIED" and fits):
            print(f"number {seed}: {told}, loses {lost} of {made.claim}\n{made.spec}", flush=True)
    for (told, fits_it), number in sorted(tally.items()):
        print(f"{told}, {fits_it}: {number}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())

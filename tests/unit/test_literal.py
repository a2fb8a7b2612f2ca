"""The papers' pseudo-code, transcribed line by line, beside what the specs compile to: the same noise, drawn
in the same order and at the same scales, gives the same output.

Each function below is a printed algorithm; `draw` is its `Lap` or `Exp`. Roots are the runtime's.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from oracle import compiled

from aligncheck.language.check import check
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.runtime import RecordedNoise, rationals

SPECS = Path(__file__).parents[2] / "specs"
Draw = Callable[[Fraction], Fraction]
Out = list[tuple[Any, ...]]
TAPES = 40
F = Fraction


def above_threshold(q: list[int], draw: Draw, T: int, eps: Fraction) -> Out:
    """Lecture 9, Algorithm 1."""
    noisy_t, out = T + draw(2 / eps), Out()
    for answer in q:
        if answer + draw(4 / eps) >= noisy_t:
            return [*out, ("top",)]
        out.append(("bottom",))
    return out


def sparse(f: list[int], draw: Draw, T: int, c: int, eps: Fraction) -> Out:
    """Lecture 9, Algorithm 2, delta = 0."""
    sigma = 2 * c / eps
    noisy_t, count, out = T + draw(sigma), 0, Out()
    for answer in f:
        if answer + draw(2 * sigma) >= noisy_t:
            out.append(("top",))
            count += 1
            noisy_t = T + draw(sigma)
        else:
            out.append(("bottom",))
        if count >= c:
            break
    return out


def svt_with_gap(q: list[int], draw: Draw, T: int, k: int, eps: Fraction) -> Out:
    """VLDB paper, Algorithm 1 with the box."""
    e0, e1 = eps / 2, eps / (4 * k)
    noisy_t, count, out = T + draw(1 / e0), 0, Out()
    for answer in q:
        noisy = answer + draw(1 / e1)
        if noisy >= noisy_t:
            out.append(("top", noisy - noisy_t))
            count += 1
            if count >= k:
                break
        else:
            out.append(("bottom",))
    return out


def noisy_max_gap(q: list[int], draw: Draw, eps: Fraction) -> Out:
    """VLDB paper, Algorithm 2 with the boxes."""
    noisy = [answer + draw(2 / eps) for answer in q]
    ranked = sorted(range(len(q)), key=lambda i: (-noisy[i], i))
    return [("chosen", ranked[0], noisy[ranked[0]] - noisy[ranked[1]])]


def noisy_topk_gap(q: list[int], draw: Draw, k: int, eps: Fraction) -> Out:
    """VLDB paper, Algorithm 3; dissertation, Algorithm 18."""
    noisy = [answer + draw(2 * k / eps) for answer in q]
    ranked = sorted(range(len(q)), key=lambda i: (-noisy[i], i))
    return [("chosen", j, noisy[j] - noisy[m]) for j, m in itertools.pairwise(ranked[: k + 1])]


def adaptive_svt(q: list[int], draw: Draw, T: int, k: int, eps: Fraction) -> Out:
    """VLDB paper, Algorithm 4."""
    e0, e1, e2 = eps / 2, eps / (8 * k), eps / (4 * k)
    sigma = 2 * rationals.sqrt(2) / e1
    noisy_t, cost, out = T + draw(1 / e0), e0, Out()
    for answer in q:
        top, middle = answer + draw(1 / e1), answer + draw(1 / e2)
        if top - noisy_t >= sigma:
            out.append(("top", top - noisy_t, 2 * e1))
            cost += 2 * e1
        elif middle - noisy_t >= 0:
            out.append(("mid", middle - noisy_t, 2 * e2))
            cost += 2 * e2
        else:
            out.append(("below", 0))
        if cost > eps - 2 * e2:
            break
    return out


def adaptive_svt_theta(q: list[int], draw: Draw, T: int, k: int, theta: Fraction, eps: Fraction) -> Out:
    """Dissertation, Algorithm 16."""
    e0, e1 = theta * eps, (1 - theta) * eps / k
    e2 = e1 / 2
    sigma = 2 * rationals.sqrt(2) / e2
    noisy_t, cost, out = T + draw(1 / e0), e0, Out()
    for answer in q:
        top, middle = answer + draw(2 / e2), answer + draw(2 / e1)
        if top - noisy_t >= 2 * sigma:
            out.append(("top", top - noisy_t, e2))
            cost += e2
        elif middle - noisy_t >= 0:
            out.append(("mid", middle - noisy_t, e1))
            cost += e1
        else:
            out.append(("bottom", 0))
        if cost > eps - e1:
            break
    return out


def svt_with_gap_theta(q: list[int], draw: Draw, T: int, k: int, theta: Fraction, eps: Fraction) -> Out:
    """Dissertation, Algorithm 17."""
    e0, e1 = theta * eps, (1 - theta) * eps / k
    noisy_t, cost, out = T + draw(1 / e0), e0, Out()
    for answer in q:
        noisy = answer + draw(2 / e1)
        if noisy - noisy_t >= 0:
            out.append(("top", noisy - noisy_t, e1))
            cost += e1
        else:
            out.append(("bottom", 0))
        if cost > eps - e1:
            break
    return out


def hybrid_topk_gap_exp(q: list[int], draw: Draw, T: int, k: int, eps: Fraction) -> Out:
    """Dissertation, Algorithm 19."""
    noisy = [answer + draw(2 * k / eps) for answer in [T, *q]]
    ranked, out = sorted(range(len(noisy)), key=lambda i: (-noisy[i], i)), Out()
    for j, m in itertools.pairwise(ranked[: k + 1]):
        out.append(("chosen", j, noisy[j] - noisy[m]))
        if j == 0:
            break
    return out


def hybrid_sparse_gap(q: list[int], draw: Draw, T: int, k: int, theta: Fraction, eps: Fraction) -> Out:
    """Dissertation, Algorithm 20."""
    e0, e1 = theta * eps, (1 - theta) * eps / k
    noisy_t, out = T + draw(1 / e0) - 1 / e0, Out()
    noisy = [answer + draw(2 / e1) - 2 / e1 for answer in q]
    for j in sorted(range(len(q)), key=lambda i: (-noisy[i], i))[:k]:
        if noisy[j] < noisy_t:
            break
        out.append(("above", j, noisy[j] - noisy_t))
    return out


PRINTED: dict[str, Callable[..., Out]] = {
    f.__name__: f
    for f in (
        above_threshold,
        sparse,
        svt_with_gap,
        noisy_max_gap,
        noisy_topk_gap,
        adaptive_svt,
        adaptive_svt_theta,
        svt_with_gap_theta,
        hybrid_topk_gap_exp,
        hybrid_sparse_gap,
    )
}


@pytest.mark.parametrize("name", PRINTED)
def test_the_printed_algorithm_and_the_compiled_module_agree(name: str) -> None:
    source = read_source(str(SPECS / f"{name}.dp"))
    spec = check(source, parse(source))
    cls: Any = compiled(spec)
    wanted = {p.keyword for p in cls.spec.parameters}
    some, lengths = random.Random(name), set()
    for _ in range(TAPES):
        given = {"T": some.randint(-5, 15), "k": some.randint(1, 4), "c": some.randint(1, 3)}
        exact = {"theta": F(some.randint(1, 4), 5), "eps": F(some.randint(1, 8), 4)}
        parameters = {key: value for key, value in {**given, **exact}.items() if key in wanted}
        q = [some.randint(-10, 20) for _ in range(some.randint(5, 9))]
        one_sided = "exp" in name or name == "hybrid_sparse_gap"
        tape = [F(some.randint(0 if one_sided else -900, 900), 64) for _ in range(40)]
        rest = iter(tape)
        scales: list[Fraction] = []

        def draw(scale: Fraction, scales: list[Fraction] = scales, rest: Any = rest) -> Fraction:
            scales.append(scale)
            return next(rest)  # type: ignore[no-any-return]

        printed = PRINTED[name](q, draw, **parameters)
        noise = RecordedNoise(tape)
        records = cls(**parameters).with_noise(noise)(q).records
        assert [(r.tag, *(getattr(r, field) for field in r.__slots__)) for r in records] == printed
        assert [drawn.args[0] for drawn in noise.drawn] == scales
        lengths.add((len(printed), len({out[0] for out in printed})))
    assert len(lengths) > 1 or name in ("noisy_max_gap", "noisy_topk_gap"), "the tapes lead to many outputs"


def test_the_table_of_the_papers_names_what_there_is() -> None:
    """Each spec in its middle column is there; each algorithm above has a row that says so."""
    text = (SPECS.parent / "docs" / "papers.md").read_text("utf-8")
    rows = [line.split("|") for line in text.splitlines() if line.count("|") == 4]
    named = {name: row for row in rows for name in re.findall(r"`(?:broken/)?(\w+_\w+|\w*svt\w*)`", row[2])}
    there = {path.stem for path in SPECS.rglob("*.dp")}
    assert {
        name for name, row in named.items() if name not in there and "aligncheck.runtime" not in row[2]
    } == set()
    assert {name for name, row in named.items() if "literal" in row[3]} >= PRINTED.keys() - {"sparse"}

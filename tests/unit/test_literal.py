"""The papers' pseudo-code, transcribed line by line, beside what the specs compile to: the same noise, drawn
in the same order and at the same scales, gives the same output.

Each function below is a printed algorithm; `draw` is its `Lap` or `Exp`. Roots are the runtime's.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from flint import arb, ctx, fmpq
from oracle import compiled
from recorded_noise import RecordedNoise

from aligncheck.compiler.modes import RunMode
from aligncheck.language.check import check
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.runtime import rationals
from aligncheck.runtime.exact_noise import RefinedNoise

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


def noisy_max(q: list[int], draw: Draw, eps: Fraction) -> Out:
    """Dissertation, Algorithm 5; VLDB paper, Algorithm 2 without the boxes."""
    vector = [answer + draw(2 / eps) for answer in q]
    return [("chosen", vector.index(max(vector)))]


def noisy_max_exp(q: list[int], draw: Draw, eps: Fraction) -> Out:
    """Dissertation, Algorithm 6: Exp for Lap."""
    return noisy_max(q, draw, eps)


def noisy_max_value(q: list[int], draw: Draw, eps: Fraction) -> Out:
    """Dissertation, Algorithm 7."""
    return [("value", max([answer + draw(2 / eps) for answer in q]))]


def noisy_max_value_exp(q: list[int], draw: Draw, eps: Fraction) -> Out:
    """Dissertation, Algorithm 8: Exp for Lap."""
    return noisy_max_value(q, draw, eps)


def histogram(q: list[int], draw: Draw, eps: Fraction) -> Out:
    """Dissertation, Algorithm 9."""
    return [("noisy", answer + draw(1 / eps)) for answer in q]


def histogram_wrong_scale(q: list[int], draw: Draw, eps: Fraction) -> Out:
    """Dissertation, Algorithm 10."""
    return [("noisy", answer + draw(eps)) for answer in q]


def svt(q: list[int], draw: Draw, T: int, N: int, Delta: int, eps: Fraction) -> Out:
    """Dissertation, Algorithm 11."""
    noisy_t, count, out = T + draw(2 * Delta / eps), 0, Out()
    for answer in q:
        if answer + draw(4 * N * Delta / eps) >= noisy_t:
            out.append(("answer", True))
            count += 1
            if count >= N:
                break
        else:
            out.append(("answer", False))
    return out


def isvt1(q: list[int], draw: Draw, T: int, Delta: int, eps: Fraction) -> Out:
    """Dissertation, Algorithm 12."""
    noisy_t = T + draw(2 * Delta / eps)
    return [("answer", answer >= noisy_t) for answer in q]


def isvt2(q: list[int], draw: Draw, T: int, Delta: int, eps: Fraction) -> Out:
    """Dissertation, Algorithm 13."""
    noisy_t = T + draw(2 * Delta / eps)
    return [("answer", answer + draw(2 * Delta / eps) >= noisy_t) for answer in q]


def isvt3(q: list[int], draw: Draw, T: int, N: int, Delta: int, eps: Fraction) -> Out:
    """Dissertation, Algorithm 14."""
    noisy_t, count, out = T + draw(4 * Delta / eps), 0, Out()
    for answer in q:
        if answer + draw(4 * Delta / (3 * eps)) >= noisy_t:
            out.append(("answer", True))
            count += 1
            if count >= N:
                break
        else:
            out.append(("answer", False))
    return out


def isvt4(q: list[int], draw: Draw, T: int, N: int, Delta: int, eps: Fraction) -> Out:
    """Dissertation, Algorithm 15."""
    noisy_t, count, out = T + draw(2 * Delta / eps), 0, Out()
    for answer in q:
        noisy = answer + draw(2 * N * Delta / eps)
        if noisy >= noisy_t:
            out.append(("top", noisy))
            count += 1
            if count >= N:
                break
        else:
            out.append(("bottom",))
    return out


def adaptive_svt_exponential(q: list[int], draw: Draw, T: int, k: int, theta: Fraction, eps: Fraction) -> Out:
    """Dissertation, Algorithm 16 with lines 3, 4, 7 and 8 as section 5.4.2 has them for exponential noise."""
    e0, e1 = theta * eps, (1 - theta) * eps / k
    e2 = e1 / 2
    sigma = 2 / e2
    noisy_t, cost, out = T + draw(1 / e0) - 1 / e0, e0, Out()
    for answer in q:
        top, middle = answer + draw(2 / e2) - 2 / e2, answer + draw(2 / e1) - 2 / e1
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


def noisy_topk_gap_exp(q: list[int], draw: Draw, k: int, eps: Fraction) -> Out:
    """Secure implementation, Algorithm 1; dissertation, Algorithm 26: Exp for Lap."""
    return noisy_topk_gap(q, draw, k, eps)


def exponential_mechanism_gumbel(q: list[int], draw: Draw, Delta: int, eps: Fraction) -> Out:
    """Dissertation, Algorithm 22; its Gumbel(0) is eps/(2 Delta) times noise with scale 2 Delta/eps."""
    x = [eps / (2 * Delta) * (utility + draw(2 * Delta / eps)) for utility in q]
    s, t = sorted(range(len(q)), key=lambda i: (-x[i], i))[:2]
    return [("chosen", s, x[s] - x[t])]


def numeric_sparse_redrawn(q: list[int], draw: Draw, T: int, c: int, eps: Fraction) -> Out:
    """Lecture 9, Figure 2 with "instead adds fresh Laplace noise to the value of the query"; half of the
    budget for what is so released ("we must rescale").
    """
    sigma = 2 * c / (eps / 2)
    noisy_t, count, out = T + draw(sigma), 0, Out()
    for answer in q:
        if answer + draw(2 * sigma) >= noisy_t:
            out.append(("top", answer + draw(c / (eps / 2))))
            count += 1
            noisy_t = T + draw(sigma)
        else:
            out.append(("bottom",))
        if count >= c:
            break
    return out


def numeric_sparse(q: list[int], draw: Draw, T: int, N: int, eps: Fraction) -> Out:
    """The same with one threshold for all; a third of the budget for each of the three noises."""
    third = eps / 3
    noisy_t, count, out = T + draw(1 / third), 0, Out()
    for answer in q:
        if answer + draw(2 * N / third) >= noisy_t:
            out.append(("top", answer + draw(N / third)))
            count += 1
        else:
            out.append(("bottom",))
        if count >= N:
            break
    return out


def adaptive_svt_geometric(q: list[int], draw: Draw, T: int, k: int, theta: Fraction, eps: Fraction) -> Out:
    """Dissertation, Algorithm 16 with lines 3, 4, 7 and 8 as section 5.4.2 has them for geometric noise.

    It subtracts 1/p, the mean in its Table 5-1, where the spec has (1 - p)/p, the mean of a number of
    failures: one less from the answers and from the threshold, so that gaps are the same.
    """
    e0, e1 = theta * eps, (1 - theta) * eps / k
    e2 = e1 / 2
    p0, p1, p2 = (rationals.one_minus_exp(-rate) for rate in (e0, e1 / 2, e2 / 2))
    sigma = rationals.exp(e2 / 4) / (rationals.exp(e2 / 2) - 1)
    noisy_t, cost, out = T + draw(p0) - 1 / p0, e0, Out()
    for answer in q:
        top, middle = answer + draw(p2) - 1 / p2, answer + draw(p1) - 1 / p1
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
        noisy_max,
        noisy_max_exp,
        noisy_max_value,
        noisy_max_value_exp,
        histogram,
        histogram_wrong_scale,
        svt,
        isvt1,
        isvt2,
        isvt3,
        isvt4,
        adaptive_svt_exponential,
        noisy_topk_gap_exp,
        exponential_mechanism_gumbel,
        numeric_sparse_redrawn,
        numeric_sparse,
        adaptive_svt_geometric,
    )
}
ONE_SHAPE = {"histogram", "histogram_wrong_scale"} | {
    name for name in PRINTED if "max" in name or "mechanism" in name
}
"""Those whose output has one shape for one number of answers."""


@pytest.mark.parametrize("name", PRINTED)
def test_the_printed_algorithm_and_the_compiled_module_agree(name: str) -> None:
    (path,) = (path for path in SPECS.rglob("*.dp") if path.stem == name)
    source = read_source(str(path))
    spec = check(source, parse(source))
    cls: Any = compiled(spec)
    wanted = {p.keyword for p in cls.spec.parameters}
    some, lengths = random.Random(name), set()
    for _ in range(TAPES):
        given = {"T": some.randint(-5, 15), "k": some.randint(1, 4), "c": some.randint(1, 3)}
        given |= {"N": some.randint(1, 3), "Delta": some.randint(1, 3)}
        exact = {"theta": F(some.randint(1, 4), 5), "eps": F(some.randint(1, 8), 4)}
        parameters = {key: value for key, value in {**given, **exact}.items() if key in wanted}
        q = [some.randint(-10, 20) for _ in range(some.randint(5, 9))]
        one_sided = "exp" in name or name in {"hybrid_sparse_gap", "adaptive_svt_geometric"}
        tape = [F(some.randint(0 if one_sided else -900, 900), 64) for _ in range(40)]
        tape = [F(int(x)) for x in tape] if name.endswith("geometric") else tape
        rest = iter(tape)
        scales: list[Fraction] = []

        def draw(scale: Fraction, scales: list[Fraction] = scales, rest: Any = rest) -> Fraction:
            scales.append(scale)
            return next(rest)  # type: ignore[no-any-return]

        printed = PRINTED[name](q, draw, **parameters)
        noise = RecordedNoise(tape)
        records = cls(**parameters).with_noise(noise)(q).records
        assert [(r.tag, *(getattr(r, field) for field in r.__slots__)) for r in records] == printed
        # Of a geometric number, recorded noise has the rate as a float.
        assert [drawn.args[0] for drawn in noise.drawn] == [
            pytest.approx(float(scale), rel=1e-13) if drawn.family == "Geo" else scale
            for drawn, scale in zip(noise.drawn, scales, strict=True)
        ]
        lengths.add((len(printed), len({out[0] for out in printed})))
    assert len(lengths) > 1 or name in ONE_SHAPE, "the tapes lead to many outputs"


def exponential_mechanism_gap(
    u: list[int], uniform: Callable[[], Fraction], Delta: int, eps: Fraction
) -> tuple[int, arb, arb]:
    """Dissertation, Algorithm 21: omega_s, g_s, and the chance of more than g_s among the positive numbers.

    Both the exponential mechanism and its logistic numbers are drawn by inversion of uniform ones; all is
    enclosed in intervals, and what they do not decide raises.
    """
    scores = [ball(eps * utility / (2 * Delta)) for utility in u]
    below = list(itertools.accumulate(x.exp() for x in scores))
    at = ball(uniform()) * below[-1]
    s = next(i for i, total in enumerate(below) if is_below(at, total))
    theta = scores[s] - sum((x.exp() for j, x in enumerate(scores) if j != s), arb(0)).log()
    while True:
        v = ball(uniform())
        gap = theta + (v / (1 - v)).log()
        if is_below(arb(0), gap):
            break
    return s, gap, (1 - v) * (1 + (-theta).exp())


def ball(x: Fraction) -> arb:
    return arb(fmpq(x.numerator, x.denominator))


def is_below(a: arb, b: arb) -> bool:
    assert a < b or b < a, "not decided with these digits"
    return bool(a < b)


def whole(x: arb) -> int:
    """The whole part, which the digits decide."""
    return int(x.floor().unique_fmpz())


class GivenBits:
    """A number from 0 to 1 in blocks of 64 digits; further ones are not there."""

    remark, used = None, True

    def __init__(self, number: arb) -> None:
        self.left = whole(number * 2**256).to_bytes(32, "big")

    def draw(self, count: int) -> bytes:
        word, self.left = self.left[:count], self.left[count:]
        assert len(word) == count
        return word[::-1]


class Inverted(RefinedNoise):
    """A choice by inversion of a uniform number, then a logistic number by inversion of a given one."""

    def __init__(self, uniform: Fraction, above: arb) -> None:
        super().__init__(F(1, 1024), GivenBits(above))
        self.uniform_number = uniform

    def choice(self, logs: Iterable[tuple[int, Any]]) -> int:
        found = list(logs)
        below = list(itertools.accumulate(ball(F(log)).exp() for _, log in found))
        at = ball(self.uniform_number) * below[-1]
        return next(i for (i, _), x in zip(found, below, strict=True) if is_below(at, x))


def test_the_exponential_mechanism_draws_again_as_the_compiled_module_cuts_off() -> None:
    """Algorithm 21 draws until a number is positive; compiled code draws once, by inversion of the chance to
    be above a number given that one is positive: for equal chances they give the same gap, rounded down.
    """
    path = SPECS / "exponential_mechanism_gap.dp"
    source = read_source(str(path))
    cls: Any = compiled(check(source, parse(source)), RunMode.REFINED)
    some, again = random.Random(21), 0
    with ctx.workprec(400):
        for _ in range(50):
            u = [some.randint(-6, 9) for _ in range(some.randint(2, 7))]
            given: dict[str, Any] = {"Delta": some.randint(1, 3), "eps": F(some.randint(1, 12), 4)}
            tape: list[Fraction] = []

            def uniform(tape: list[Fraction] = tape) -> Fraction:
                tape.append(F(some.randrange(1, 3**25), 3**25))  # no number with finitely many binary digits
                return tape[-1]

            index, gap, above = exponential_mechanism_gap(u, uniform, **given)
            again += len(tape) > 2
            (record,) = cls(**given).with_noise(Inverted(tape[0], above))(u).records
            assert (record.index, record.gap) == (index, F(whole(1024 * gap), 1024))
    assert 5 < again < 45


NUMBERED = {
    "Free Gap Information": {
        "Algorithm": "1..4",
        "Corollary": "1..1",
        "Definition": "1..7",
        "Figure": "1..3",
        "Lemma": "1..14",
        "Table": "1..1",
        "Theorem": "1..4",
    },
    "Its long version": {
        "Algorithm": "1..2",
        "Corollary": "1..1",
        "Definition": "1..7",
        "Figure": "1..4",
        "Lemma": "1..5",
        "Table": "1..1",
        "Theorem": "1..5",
    },
    "Lecture 9": {"Algorithm": "1..2", "Figure": "1..2", "Theorem": "1..5"},
    "The dissertation": {
        "Algorithm": "1..29",
        "Corollary": "5.9",
        "Definition": "3.1..4 5.1..4",
        "Figure": "4-1..4 5-1..9",
        "Lemma": "4.1 5.1..2 5.4..6 5.8 5.10..11 5.17..18 6.1 6.5..10",
        "Table": "4-1..3 5-1..3 6-1..2",
        "Theorem": "3.1 5.3 5.7 5.9 5.12..16 5.19 6.2..4",
    },
    "A Floating-Point Secure": {
        "Algorithm": "1..5",
        "Definition": "3.1..2 5.1",
        "Lemma": "4.1..2 5.4..8",
        "Table": "1..2 4..6",
        "Theorem": "3.3 4.3 5.2..3",
    },
}
"""What the texts number, by the section of the table and the kind: `5.4..6` is 5.4, 5.5, 5.6."""


def counted(text: str, to: str) -> set[str]:
    """The numbers in a list; `to` stands between the ends of a range, of which the later has a short form."""
    found = set()
    number = r"(?:(\d+)([.-]))?(\d+)"
    for chapter, dot, first, last in re.findall(rf"{number}(?:{to}(?:\d+[.-])?(\d+))?(?![\d.])", text):
        found |= {f"{chapter}{dot}{n}" for n in range(int(first), int(last or first) + 1)}
    return found


def test_the_table_has_a_row_for_all_that_the_papers_number() -> None:
    text = (SPECS.parent / "docs" / "papers.md").read_text("utf-8")
    for title, kinds in NUMBERED.items():
        (section,) = (part for part in text.split("\n## ")[1:] if part.startswith(title))
        cells = " ".join(line.split("|")[1] for line in section.splitlines() if line.startswith("| "))
        for kind, numbers in kinds.items():
            plural = "Corollar(?:y|ies)" if kind == "Corollary" else f"{kind}s?"
            lists = re.findall(rf"{plural} ([\d.-]+(?:(?:, (?:and )?| and | to )\d[\d.-]*)*)", cells)
            there = set().union(*(counted(each, " to ") for each in lists))
            wanted = set().union(*(counted(each, r"\.\.") for each in numbers.split()))
            assert there >= wanted, (title, kind, sorted(wanted - there))


def test_the_table_of_the_papers_names_what_there_is() -> None:
    """Each spec in its middle column is there; each algorithm above has a row that says so."""
    text = (SPECS.parent / "docs" / "papers.md").read_text("utf-8")
    rows = [line.split("|") for line in text.splitlines() if line.count("|") == 4]
    named = {name: row for row in rows for name in re.findall(r"`(?:broken/)?(\w+_\w+|\w*svt\w*)`", row[2])}
    there = {path.stem for path in SPECS.rglob("*.dp")}
    assert {
        name for name, row in named.items() if name not in there and "aligncheck.runtime" not in row[2]
    } == set()
    assert {name for name, row in named.items() if "literal" in row[3]} >= PRINTED.keys() - {
        "sparse",
        "histogram",
    }

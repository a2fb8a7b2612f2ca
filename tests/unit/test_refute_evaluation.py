"""Expressions of a symbolic run: whatever the noise is, one way has it, with the value that it gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from flint import fmpq
from small_specs import mechanism

from aligncheck.language.families import Family
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import names_in
from aligncheck.refutation.enclosure import NotComputable
from aligncheck.refutation.evaluation import Evaluation
from aligncheck.refutation.irrationals import to_ball
from aligncheck.refutation.states import Faulted, Fork, PartialPath, Pick
from aligncheck.refutation.symbolic import Affine, CallFrame, NoiseLaw, Shaped, SymbolicSelection
from aligncheck.search.witness.witness_json import expression

FAMILIES = {"z": Family.LAPLACE, "e": Family.EXPONENTIAL, "m": Family.DISCRETE_LAPLACE}
SOME = list(product((-5 / 3, -1 / 7, 2 / 5, 9 / 4), (1 / 5, 4 / 3, 3.0), (-2, 0, 1)))
"""Values of z (Laplace noise), e (exponential) and m (of a lattice), none of them at an edge."""
SELECTED = {
    "w": "upto(2, q[j] + j*z for j in q where q[j] + j*z > e)",
    "u": "upto(2, j*z for j in q where q[j] + j*z > e)",
    "t": "top(2, q[j] + j*z for j in q)",
    "r": "top(4, q[j] + j*z for j in q)",
}
"""The first with one threshold for all values."""
Noise = tuple[float, ...]


def started() -> PartialPath:
    state = PartialPath(CallFrame(mechanism("emit done"), {"q": (fmpq(0), fmpq(2), fmpq(1)), "k": fmpq(2)}))
    for at, (name, family) in enumerate(FAMILIES.items()):
        state.known.noises.append(NoiseLaw(name, None, family, fmpq(1), None))
        state.frame.draws[name, None] = Affine({at: 1}, fmpq(0))
    return state


def asked(state: PartialPath, text: str) -> Any:
    """The value in one state, decided. Raises `Fork`, `Faulted`, `NotComputable`."""
    evaluation = Evaluation(state, lambda: None)
    asked_of = expression(text)
    for name in names_in(asked_of) & SELECTED.keys():
        selected = expression(SELECTED[name])
        assert isinstance(selected, nodes.Gather)
        state.frame.variables[name] = evaluation.selecting(selected)
    return evaluation.forced(evaluation.value(asked_of))


def ways(text: str, state: PartialPath) -> Iterator[tuple[PartialPath, Any]]:
    """Each way, with the value there; None where the run raises."""
    try:
        yield state, asked(state, text)
    except Faulted:
        yield state, None
    except Fork as fork:
        for assumption in fork.assumptions:
            other = state.copy()
            if other.assume(assumption):
                yield from ways(text, other)


def value_at(value: Any, noise: Noise) -> float:
    match value:
        case Affine(coefficients=coefficients, constant=constant):
            return sum(float(c) * noise[v] for v, c in coefficients.items()) + float(constant)
        case Shaped(function=function, inner=inner, scale=scale, offset=offset, below=below):
            x, y = value_at(inner, noise), 1.0 if below is None else value_at(below, noise)
            found: dict[str, Callable[[], float]] = {
                "floor": lambda: math.floor(x),
                "exp": lambda: math.exp(x),
                "ln": lambda: math.log(x),
                "sqrt": lambda: math.sqrt(x),
                "square": lambda: x * x,
                "inverse": lambda: -1 / x,
                "quotient": lambda: x / y,
            }
            return found[function]() * real(scale) + real(offset)
        case _:
            return real(value)


def real(value: Any) -> float:
    return float(to_ball(value))


def is_in(state: PartialPath, noise: Noise) -> bool:
    """Whether a way has this noise: its intervals, and what it picked of selections."""
    for form, (low, high) in state.known.intervals.items():
        x = sum(float(factor) * noise[v] for v, factor in form)
        if (low is not None and x < real(low)) or (high is not None and x > real(high)):
            return False
    for key, picked in state.picked.items():
        listed = sorted_of(state.selections[key], noise)
        if picked.length not in (None, len(listed)) or picked.entries != listed[: len(picked.entries)]:
            return False
    return True


def sorted_of(selection: SymbolicSelection, noise: Noise) -> tuple[int, ...]:
    """The list that a selection is for this noise."""
    values = {c.index: value_at(c.value, noise) for c in selection.candidates}
    least = -math.inf if selection.threshold is None else value_at(selection.threshold, noise)
    kept = [i for i in values if values[i] >= least]
    return tuple(sorted(kept, key=lambda i: (-values[i], i)))[: selection.limit]


Q = (0, 2, 1)


def chosen(z: float, above: float, *answers: int) -> list[int]:
    passing = (j for j in range(3) if Q[j] + j * z > above)
    return sorted(passing, key=lambda j: (-answers[j] - j * z, j))[:2]


EXPRESSIONS: dict[str, Callable[[float, float, int], float | bool | None]] = {
    "2*z - z/2 + q[1]": lambda z, e, m: 1.5 * z + 2,
    "abs(z) - e": lambda z, e, m: abs(z) - e,
    "max(z, e, 1)": lambda z, e, m: max(z, e, 1),
    "min(z, 0 - z)": lambda z, e, m: -abs(z),
    "clip(z + e, 0, 2)": lambda z, e, m: min(max(z + e, 0), 2),
    "3 - z**2": lambda z, e, m: 3 - z * z,
    "z*z + 1": lambda z, e, m: z * z + 1,
    "z**1 + z**0": lambda z, e, m: z + 1,
    "2/z": lambda z, e, m: 2 / z,
    "(1 - z)/(z + e)": lambda z, e, m: (1 - z) / (z + e),
    "floor(z)*2": lambda z, e, m: 2 * math.floor(z),
    "floor(3*m) + z": lambda z, e, m: 3 * m + z,
    "(floor(z) + 1)*2": lambda z, e, m: 2 * math.floor(z) + 2,
    "exp(z) - 1": lambda z, e, m: math.exp(z) - 1,
    "sqrt(z)": lambda z, e, m: math.sqrt(z) if z >= 0 else None,
    "log2(e)": lambda z, e, m: math.log2(e),
    "ln(z)": lambda z, e, m: math.log(z) if z > 0 else None,
    "1/m": lambda z, e, m: 1 / m if m else None,
    "1/(m - 5) if m > 0 else z": lambda z, e, m: 1 / (m - 5) if m > 0 else z,
    "sum(q[j]*z + e for j in q)": lambda z, e, m: 3 * z + 3 * e,
    "sum(j for j in q where j*z > 1)": lambda z, e, m: sum(j for j in range(3) if j * z > 1),
    "max(q[j] + j*z for j in q)": lambda z, e, m: max(Q[j] + j * z for j in range(3)),
    "min(j*z for j in range(1, 3)) + 1": lambda z, e, m: min(z, 2 * z) + 1,
    "argmax(q[j] + j*z for j in q)": lambda z, e, m: max(range(3), key=lambda j: Q[j] + j * z),
    "argmin(j*m for j in q)": lambda z, e, m: min(range(3), key=lambda j: j * m),
    "max(z for j in q where j > 5)": lambda z, e, m: None,
    "len(w)": lambda z, e, m: len(chosen(z, e, *Q)),
    "w[1]": lambda z, e, m: chosen(z, e, *Q)[1] if len(chosen(z, e, *Q)) > 1 else None,
    "2 in w": lambda z, e, m: 2 in chosen(z, e, *Q),
    "u[0]": lambda z, e, m: chosen(z, e, 0, 0, 0)[0] if chosen(z, e, 0, 0, 0) else None,
    "t[0]*3 + t[1]": lambda z, e, m: sum(n * j for n, j in zip((3, 1), chosen(z, -99, *Q), strict=True)),
    "len(r)": lambda z, e, m: None,
    "q[3]": lambda z, e, m: None,
    "1 if z else 0": lambda z, e, m: None,
    "z + 1 > e": lambda z, e, m: z + 1 > e,
    "z == 2": lambda z, e, m: False,
    "m == 1": lambda z, e, m: m == 1,
    "m != 0 and 1/m > 0": lambda z, e, m: m > 0,
    "m < 1 or z < 0": lambda z, e, m: m < 1 or z < 0,
    "m <= 0 or not z > 0": lambda z, e, m: m <= 0 or z <= 0,
    "z*z > 1": lambda z, e, m: z * z > 1,
    "floor(z) == 0": lambda z, e, m: math.floor(z) == 0,
    "floor(z) < 0 - 1": lambda z, e, m: math.floor(z) < -1,
    "1 >= floor(z)": lambda z, e, m: math.floor(z) <= 1,
    "exp(z) > 2": lambda z, e, m: math.exp(z) > 2,
    "exp(z) > 0 - 1": lambda z, e, m: True,
    "1/z < 1": lambda z, e, m: 1 / z < 1,
    "3 > 0 - 2/e": lambda z, e, m: True,
    "(z - 1)/e <= 1/2": lambda z, e, m: (z - 1) / e <= 0.5,
    "sqrt(z) > 1": lambda z, e, m: math.sqrt(z) > 1 if z >= 0 else None,
    "ln(e) > 1/2": lambda z, e, m: math.log(e) > 0.5,
    "2 - z**2 < 1": lambda z, e, m: 2 - z * z < 1,
    "(z > 0) == (m > 0)": lambda z, e, m: (z > 0) == (m > 0),
    "q == q": lambda z, e, m: True,
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_one_way_has_each_noise_with_the_value_that_it_gives(text: str) -> None:
    found = list(ways(text, started()))
    for noise in SOME:
        ((_, value),) = [way for way in found if is_in(way[0], noise)]
        truth = EXPRESSIONS[text](*noise)
        if truth is None or isinstance(truth, bool):
            assert value is truth
        else:
            assert value_at(value, noise) == pytest.approx(truth)


@pytest.mark.parametrize(
    "text",
    [
        *("z*e", "z**3", "z % 2", "2 % z", "q[m]", "z*sqrt(2)", "1/(1/z) + z", "exp(z) + z", "1/exp(z)"),
        *("exp(z)*exp(z)", "exp(z) > e", "sum(exp(z) for j in q)", "logsumexp(z for j in q)"),
    ],
)
def test_what_is_not_computed_is_refused(text: str) -> None:
    with pytest.raises(NotComputable):
        list(ways(text, started()))


def test_of_values_that_differ_by_a_constant_the_greatest_comes_first() -> None:
    """So a selection is asked for as few ways as there are; and one above a threshold for its length."""
    assert len(list(ways("len(w)", started()))) == 3
    with pytest.raises(Fork) as fork:
        asked(started(), "argmax(q[j] + (e if j < 2 else z) for j in q)")
    assert [a.index for a in fork.value.assumptions if isinstance(a, Pick)] == [1, 2]

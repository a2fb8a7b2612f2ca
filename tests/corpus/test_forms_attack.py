"""Attacks on safe runs: what a proof rules out does not happen in a run; code does what its form says."""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import count
from typing import Any

import pytest
from oracle import agree, compiled, supported
from recorded_noise import RecordedNoise

from aligncheck.compiler.forms import NoFormError, form_of
from aligncheck.compiler.forms.lattice import LatticeForm
from aligncheck.compiler.modes import RunMode
from aligncheck.judge import judge
from aligncheck.language.check import check
from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import Mechanism, Sort
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning.exact import Number
from aligncheck.meaning.interpreter import DrawSite, Finished, run
from aligncheck.runtime import row_of
from aligncheck.verdict import Unknown, Verified

EXACT = (RunMode.LATTICE, RunMode.REFINED)
VALUES = [Fraction(1, 3), 0.1, 1e-20, float("nan"), float("inf"), -1e308, Fraction(-5, 3), 10**30 + 0.5, 2]
THIRTY_DIGITS = Fraction(10**30 + 1, 10**30)
PARAMETERS: list[Any] = [1, Fraction(1, 3), "0.1", THIRTY_DIGITS, Fraction(1, 10**20), 7]


def spec(program: str, inputs: str, align: str = "eta += q - q'") -> Source:
    def block(text: str) -> str:
        return "\n".join(f"  {line}" for line in text.strip("\n").split("\n"))

    text = (
        f"mechanism attack\n\ninput\n{block(inputs)}\n  eps : real where eps > 0\n\nprivacy eps\n\n"
        f"program\n{block(program)}\n\nalign\n{block(align)}\n"
    )
    return Source("attack.dp", text)


def checked(source: Source) -> Mechanism:
    return check(source, parse(source))


# --- branches that no run takes ---------------------------------------------------------------------------

Q, T = "q : query, sensitivity 1", "T : real where T > 0"
TRAPS: list[tuple[str, str, str]] = [
    (f"{Q}\n{T}", "a = exp(-T)\nb = 1 - exp(-T)", "a + b == 1"),
    (Q, "a = exp(-2)\nb = 1 - exp(-2)", "a + b == 1"),
    (Q, "a = sqrt(4)", "a == 2 and exp(1) == exp(0.5 + 0.5)"),
    (f"{T}\nq : query, sensitivity 1, range [-T, 2*T/3]", "", "q >= -T and q <= 2*T/3"),
    (
        f"{T}\nq : query, sensitivity 0, lattice T, range [0.5, 3*T + 1]",
        "",
        "floor(q/T) == q/T and q <= 3*T + 1",
    ),
    ("q : query, sensitivity 1, lattice 1/3, range [0.5, 4.1]", "", "floor(3*q) == 3*q and q >= 0.4"),
    (f"{T}\nq : int query, sensitivity 1, range [T/2, T + 1]", "", "q >= T/2 and q <= T + 1"),
    (f"{Q}\n{T}", "g ~ DExp(1/eps, T)", "g >= 0 and floor(g/T) == g/T"),
    (Q, "g ~ Lap(1/eps)", "floor(g) <= g and floor(g) + 1 > g and (g + 1)*2 - g - g == 2"),
    (Q, "g ~ Lap(1/eps)", "abs(g) >= g and max(g, -g) == abs(g) and clip(g, 0, 1) <= 1"),
]


NOT_YET = {"g >= 0 and floor(g/T) == g/T"}
"""Out of reach for every run, which the kernel does not see yet."""


@pytest.mark.parametrize(("inputs", "before", "test"), TRAPS, ids=[test for _, _, test in TRAPS])
@pytest.mark.parametrize("mode", EXACT, ids=[mode.value for mode in EXACT])
def test_a_branch_that_is_proved_never_taken_is_never_taken(
    mode: RunMode, inputs: str, before: str, test: str
) -> None:
    """The other branch releases the answer as it is, so that no proof holds unless it is out of reach."""
    draw = f"eta ~ Lap(1/eps)\n{before}\n".replace("\n\n", "\n")
    source = spec(f"{draw}if {test}: emit noisy(value = q + eta)\nelse: emit bare(value = q)", inputs)
    form = form_of(checked(source), source, mode)
    verdict = judge(form.mechanism, form.source, time.monotonic() + 30, search=False)
    if test in NOT_YET:
        assert isinstance(verdict, Unknown), "take it off the list"
        return
    assert isinstance(verdict, Verified)
    made: Any = compiled(checked(source), mode)
    for parameter in PARAMETERS if "T :" in inputs else PARAMETERS[:1]:
        given = {"T": parameter} if "T :" in inputs else {}
        for value in VALUES:
            assert [r.tag for r in made(**given, eps=1)(value).records] == ["noisy"]


def test_where_rounding_would_make_a_difference_there_is_no_form() -> None:
    source = spec("eta ~ Lap(2/eps)\nemit noisy(q + eta)", "q : query, sensitivity sqrt(2)")
    with pytest.raises(NoFormError):
        form_of(checked(source), source, RunMode.LATTICE)


@pytest.mark.parametrize(
    ("inputs", "test"),
    [
        ("q : query, sensitivity 1 where q >= 0.3", "q >= 0.3"),
        (f"{Q}\nr : int query, sensitivity 1 where q >= 0.3 and r > 0", "q >= 0.3"),
        ("q : query, sensitivity 1 where q > 0", "1/q > 0"),
    ],
)
@pytest.mark.parametrize("mode", EXACT, ids=[mode.value for mode in EXACT])
def test_nothing_is_assumed_of_values_that_nobody_checks(mode: RunMode, inputs: str, test: str) -> None:
    """As written it is proved; but a run meets answers that are not as declared, and may not even say so."""
    source = spec(f"eta ~ Lap(2/eps)\nif {test}: emit noisy(q + eta)\nelse: emit bare(q)", inputs)
    assert isinstance(judge(checked(source), source, time.monotonic() + 30), Verified)
    form = form_of(checked(source), source, mode)
    assert not form.same
    verdict = judge(form.mechanism, form.source, time.monotonic() + 30, search=False)
    assert not isinstance(verdict, Verified)


# --- sensitivities in many styles -------------------------------------------------------------------------

D = "D : real where D > 0"
STYLES = [
    (D, "2*D", "2*D"),
    (D, "D/2", "D"),
    (D, "D + 1/3", "D + 1"),
    (D, "D*D", "D*D"),
    (D, "1/D", "1/D"),
    (D, "D % 1", "1"),
    ("D : real where D >= 1", "floor(D)", "D"),
    (f"{D}\nz : bool", "(D if z else 1/3)", "D"),
    ("D : real where D > 0\nE : real where E > 0", "max(D, E)", "D + E"),
    ("gamma : real where gamma > 0\nresolution : int", "gamma", "gamma"),
    ("b : vector where b[i] > 0", "b[i]", "b[i]"),
    ("b : vector where b[i] > 0\nc : vector where c[i] > 0", "max(b[i], c[i])/2", "b[i] + c[i]"),
    ("m : int where m > 0", "m/2", "m"),
    ("m : int where m > 0", "2**2", "m"),
]
GIVEN: dict[str, Any] = {
    "D": Fraction(7, 5),
    "E": Fraction(9, 4),
    "gamma": Fraction(5, 6),
    "resolution": 3,
    "z": True,
    "m": 3,
    "b": [Fraction(1, 2), Fraction(4, 3), 3],
    "c": [Fraction(2), Fraction(1, 5), 1],
}


@pytest.mark.parametrize(("inputs", "sensitivity", "scale"), STYLES, ids=[s for _, s, _ in STYLES])
def test_code_draws_and_releases_what_its_form_says(inputs: str, sensitivity: str, scale: str) -> None:
    program = f"for i, x in q:\n  eta[i] ~ Lap(({scale})/eps)\n  emit v(value = x + eta[i])"
    queries = f"{inputs}\nq : queries, sensitivity {sensitivity}, adjacency one"
    source = spec(program, queries, "eta[i] += q[i] - q'[i]")
    mechanism = checked(source)
    form, lattice = form_of(mechanism, source, RunMode.LATTICE).mechanism, LatticeForm.of(mechanism)
    made: Any = compiled(mechanism)
    names = {p.name: p.keyword for p in made.spec.parameters}
    own = made(**{names[n]: GIVEN[n] if n != "eps" else 2 for n in names})
    gamma = own.gamma

    def steps(value: Any) -> Any:
        counted = [each / gamma for each in (value if isinstance(value, list) else [value])]
        assert all(each.denominator == 1 for each in counted), "the form counts in whole steps"
        return tuple(counted) if isinstance(value, list) else counted[0]

    public: dict[str, Any] = {}
    for name in names:
        value = GIVEN.get(name, Fraction(2))
        plain = tuple(map(Fraction, value)) if isinstance(value, list) else value
        kept = plain if isinstance(plain, bool | tuple) else Fraction(plain)
        public[name] = steps(value) if name in lattice.counted else kept
    step = lattice.parameter.sort is Sort.INT
    public[lattice.parameter.name] = lattice.step.left.value / gamma if step else gamma  # type: ignore[union-attr]
    assert not step or public[lattice.parameter.name].denominator == 1

    drawn: list[tuple[DrawSite, Number]] = []
    raw: Iterator[int] = count(-1)

    def draw(site: DrawSite) -> Number:
        drawn.append((site, supported(site, next(raw))))
        return drawn[-1][1]

    answers = [gamma * k for k in (-3, 0, 5)]
    exact = run(form, public, {"q": tuple(answers)}, draw)
    assert isinstance(exact.ended, Finished)
    noise = RecordedNoise([Fraction(value) for _, value in drawn])  # type: ignore[arg-type]
    records = own.with_noise(noise)(answers).records
    for taken, (site, _) in zip(noise.drawn, drawn, strict=True):
        assert agree(taken.args[0], site.args[0])
        assert site.args[1] == gamma
    for got, record in zip(records, exact.output, strict=True):
        assert row_of(got) == dict(record.fields)

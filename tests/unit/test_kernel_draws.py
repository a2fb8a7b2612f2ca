"""Draws in the kernel: what a line of the alignment makes of one, in which order, and at what cost."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import z3
from kernel_cases import decide
from small_specs import spec

from aligncheck.kernel.align import Aligner
from aligncheck.kernel.answer import Reject, Rejected
from aligncheck.kernel.decide import Kernel
from aligncheck.kernel.logic import Decider
from aligncheck.kernel.symbols import Drawn, Given, Held, Role, Rule, Told
from aligncheck.kernel.witness import Witness
from aligncheck.language.source import Span
from aligncheck.language.syntax.parse import parse
from aligncheck.search.witness.witness_json import expression

HERE, NOTHING = Span(0, 0), Witness()
INPUTS = """
    q : query, sensitivity 1
    k : int where k >= 1
    eps : real where 0 < eps <= 1
"""
ONE = "z ~ {}\nemit done"
TWO = "a ~ Lap(1/eps)\nb ~ Lap({})\nemit done"


def rejected(program: str, align: str, privacy: str, witness: Witness = NOTHING) -> str | None:
    """The condition at which the kernel rejects it, or None."""
    found = decide(parse(spec(program, align, INPUTS, privacy)), witness)
    return found.condition if isinstance(found, Rejected) else None


# --- one draw, of which nothing is released -----------------------------------------------------------------

ODDS = "Bernoulli(exp(eps)/(1 + exp(eps)))"


@pytest.mark.parametrize(
    ("noise", "line", "claim"),
    [
        ("Lap(2/eps)", "z += 3", "3/2*eps"),
        ("Lap(2/eps)", "z -= 3", "3/2*eps"),
        ("Lap(2/eps)", "z = z - 3", "3/2*eps"),
        ("Lap(1/eps)", "z += q - q'", "eps"),
        ("Lap(1/eps)", "z += 3\nz -= 1", "2*eps"),
        ("Lap(1/eps)", "z += 3 when k > 1\nz -= 1", "2*eps"),
        ("Lap(1/eps)", "case k > 1:\n  z += 1\ncase k > 2:\n  z += 3\notherwise:\n  z += 2", "2*eps"),
        ("Lap(1/eps)", "z = z/2", "ln(2)"),
        ("Lap(1/eps)", "z = 1 + z/2", "eps + ln(2)"),
        ("Exp(1/eps)", "z += 1", "eps"),
        ("Exp(1/eps)", "z = z/2", "ln(2)"),
        ("Cauchy(1/eps)", "z -= 1", "eps"),
        ("Logistic(1/eps)", "z -= 1", "eps"),
        ("Gumbel(1/eps)", "z += 1", "eps"),
        ("Geo(1 - exp(-eps))", "z += 2", "2*eps"),
        ("DLap(1/eps, 1/2)", "z -= 1/2", "1/2*eps"),
        ("DExp(1/eps, 2)", "z += 2", "2*eps"),
        ("Staircase(eps, 2, 1/2)", "z += 1/2", "eps"),
        (ODDS, "z = 1 - z", "eps"),
        ("Gauss(2/eps)", "z += 1", "eps**2/8 zcdp"),
        ("DGauss(2/eps)", "z -= 1", "eps**2/8 zcdp"),
        ("Lap(2/eps)", "z += 1", "eps**2/8 zcdp"),
        ("Staircase(eps, 2, 1/2)", "z += 1", "eps**2/2 zcdp"),
    ],
)
def test_a_move_costs_this_and_no_less(noise: str, line: str, claim: str) -> None:
    """How far it goes over its scale, in ρ half the square of that; a stair; what dividing leaves of the
    density. Lines add up before their size is taken.
    """
    amount, _, unit = claim.partition(" ")
    assert rejected(ONE.format(noise), line, claim) is None
    assert rejected(ONE.format(noise), line, f"99/100*({amount}) {unit}".strip()) == "cost"


@pytest.mark.parametrize(
    ("noise", "line", "claim", "condition"),
    [
        ("Exp(1/eps)", "z -= 1", "9", "support"),
        ("Gumbel(1/eps)", "z -= 1", "9", "support"),
        ("Uniform(1)", "z += 1/9", "9", "support"),
        ("Gauss(9)", "z += 1", "9", "support"),
        ("Exp(1/eps)", "z += 1", "9 zcdp", "support"),
        ("Gumbel(1/eps)", "z += 1", "9 zcdp", "support"),
        ("Geo(1 - exp(-eps))", "z += 1/2", "9", "support"),
        ("DLap(1/eps, 1/2)", "z += 1/3", "9", "support"),
        ("Staircase(eps, 2, 1/2)", "z += 3", "9", "support"),
        ("Staircase(eps, 2, 1)", "z += 1", "9", "scales"),
        ("Lap(k - 1)", "z += 0", "9", "scales"),
        ("Lap(1 + abs(q))", "z += 0", "9", "scales"),
        (ODDS, "z += 1", "9", "support"),
        (ODDS, "z = 1 - z", "9 zcdp", "language"),
        ("Bernoulli(k)", "z += 0", "9", "scales"),
        ("Bernoulli(1/2 + clip(q, 0, 1)/4)", "z += 0", "9 zcdp", "scales"),
        ("Geo(1/2)", "z += 1", "9", "language"),
        ("DLap(1/eps)", "z = z/2", "9", "language"),
        ("Lap(1/eps)", "z = 2*z", "9", "support"),
    ],
)
def test_what_no_claim_pays_for(noise: str, line: str, claim: str, condition: str) -> None:
    """One-sided noise leaves its support downwards, and has no ratio in both directions; a lattice is kept;
    scales are positive and the same on D'.
    """
    assert rejected(ONE.format(noise), line, claim) == condition


@pytest.mark.parametrize("most", ["q' - q + 1", "2"])
def test_what_a_line_costs_is_told_for_each_line(most: str) -> None:
    """Lines that cancel out are paid twice then; a line that costs more than was told is noticed."""
    told = Witness(costs=(expression("eps"), expression("eps")))
    lines = "z += 1\nz -= 1"
    assert rejected(ONE.format("Lap(1/eps)"), lines, "0") is None
    assert rejected(ONE.format("Lap(1/eps)"), lines, "eps", told) == "cost"
    assert rejected(ONE.format("Lap(1/eps)"), lines, "2*eps", told) is None
    assert rejected(ONE.format("Lap(1/eps)"), f"z += {most}\nz -= 1", "9", told) == "cost"


# --- the order of two draws -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "condition"),
    [
        ("b += 1 when a > 0", None),
        ("b += a - a'\na += 1", None),
        ("a += 1 when b > 0", None),  # b stays, so it may be taken first
        ("a += 1 when b' > 0\nb += q - q'", None),
        ("a += 1 when b > 0\nb += 1 when out[0] is done", None),
        ("a += 1 when b > 0\nb += 1 when a > 0", "acyclic"),
        ("a += 1 when b > 0\nb += 1 when a' > 0", "acyclic"),
        ("a += 1 when a > 0", "acyclic"),
        ("b += 1 when b' > 0", "acyclic"),
        ("a = a*a", "acyclic"),
        ("a = 1", "acyclic"),
        ("a = b\nb = a", None),
        ("a = b + 1\nb = a - 1", None),
        ("a = b", "language"),
        ("a = b\nb += 1", "language"),
        ("a = b when q > 0\nb = a when q > 0", None),
        ("a = b when q > 0\nb = a", "injective"),
        ("a = b when a > 0\nb = a when a > 0", "acyclic"),
    ],
)
def test_draws_have_an_order_or_change_places(lines: str, condition: str | None) -> None:
    assert rejected(TWO.format("1/eps"), lines, "9*eps") == condition


def test_draws_of_two_scales_do_not_change_places() -> None:
    assert rejected(TWO.format("2/eps"), "a = b\nb = a", "9*eps") == "scales"


def test_which_draws_change_places_is_not_told_by_a_third() -> None:
    for guard, condition in (("q > 0", None), ("c > 0", "acyclic")):
        program = "".join(f"{x} ~ Lap(1)\n" for x in "cab") + "emit done"
        assert rejected(program, f"a = b when {guard}\nb = a when {guard}", "0") == condition


def test_no_draw_is_put_in_two_places() -> None:
    for last, condition in (("b", None), ("a", "injective")):
        program = "".join(f"{x} ~ Lap(1)\n" for x in "abc") + "emit done"
        assert rejected(program, f"a = c\nb = a\nc = {last}", "0") == condition


def test_a_draw_whose_lattice_depends_on_noise_is_not_taken_first() -> None:
    """Its step tells of the noise that made it."""
    for step, condition in (("1", None), ("1 + abs(b)", "acyclic")):
        program = f"a ~ Lap(1/eps)\nb ~ Lap(1/eps)\nc ~ DLap(1/eps, {step})\nemit done"
        assert rejected(program, "a += 1 when c > 0", "eps") == condition


# --- condition v --------------------------------------------------------------------------------------------

COUNTABLE: list[tuple[Callable[[Any], Any], bool]] = [
    (lambda s: s.answer, True),
    (lambda s: s.noise, True),
    (lambda s: z3.ToReal(s.whole), True),
    (lambda s: s.number, False),
    (lambda s: s.number * 0 + s.answer, False),
    (lambda s: s.fixed(s.number), False),
    (lambda s: s.field(s.whole), False),
    (lambda s: z3.If(s.field(s.whole) > 0, s.noise, 1), True),
    (lambda s: z3.If(s.number > s.answer, s.noise, s.answer), True),
    (lambda s: z3.If(s.fixed(s.number) > z3.ToReal(s.whole), s.noise, 1), True),
    (lambda s: z3.If(s.number > s.noise, s.answer, 1), False),
    (lambda s: z3.If(s.number > s.held, s.answer, 1), False),
    (lambda s: z3.If(s.number > z3.ToReal(s.round), s.answer, 1), True),
    (lambda s: z3.If(z3.And(s.number > 0, s.noise > 0), s.answer, 1), True),
    (lambda s: z3.If((s.number > 0) == (s.noise > 0), s.answer, 1), True),
    (lambda s: z3.If(s.answer > 0, s.number, 1), False),
]


@pytest.mark.parametrize(("made", "allowed"), COUNTABLE, ids=map(str, range(len(COUNTABLE))))
def test_a_released_number_is_only_compared(made: Callable[[Any], Any], allowed: bool) -> None:
    """With inputs, and with what takes countably many values: then so many alignments are enough."""
    kernel: Aligner = Kernel(parse(spec(ONE.format("Lap(1)"), "", INPUTS)), NOTHING, Decider())
    s, real, whole = kernel.symbols, kernel.symbols.REAL, kernel.symbols.INT
    roles: dict[str, tuple[Any, Role]] = {
        "answer": (real, Given(0)),
        "noise": (real, Drawn("z", 0)),
        "held": (real, Held()),
        "round": (whole, Held()),
        "number": (real, Told(True)),
        "whole": (whole, Told(False)),
    }
    symbols = {name: s.constant(name, sort, role) for name, (sort, role) in roles.items()}
    fixed = s.function("f", (real,), real, Rule())
    field = s.function("field of a record", (whole,), real, Told(True))
    term = made(SimpleNamespace(**symbols, fixed=fixed, field=field))
    if allowed:
        kernel.countable(term, HERE)
    else:
        with pytest.raises(Reject, match="countable"):
            kernel.countable(term, HERE)

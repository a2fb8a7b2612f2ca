"""The rule for mechanisms that draw by stated densities: what it proves, what it must not, what is said."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import pytest
from small_specs import outcome, spec, verdict_of

from aligncheck.language.check import check
from aligncheck.language.conditions import Condition
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.language.syntax.walk import has_densities
from aligncheck.language.unparse import unparse
from aligncheck.meaning.exact import decimal
from aligncheck.meaning.exact_density import weigh
from aligncheck.meaning.interpreter import Stopped
from aligncheck.meaning.replay import replay
from aligncheck.meaning.scenario import Scenario, ScenarioError
from aligncheck.verdict import AlignmentFails, Unknown, Verified

SPECS = Path(__file__).parents[2] / "specs"
GAP = SPECS / "exponential_mechanism_gap.dp"


def inputs(adjacency: str = "all", sensitivity: str = "Delta", more: str = "") -> str:
    return f"""
        Delta : real where Delta > 0
        {more or "pass_ : real"}
        u : queries, sensitivity {sensitivity}, adjacency {adjacency}
        eps : real where eps > 0 and len(u) >= 2
    """


def choice(weight: str, clause: str = "") -> str:
    return f"winner ~ Choose({weight} for i in u{clause})\nemit chosen(winner)"


def gap(rate: str, location: str | None = None, cut: str = " where gap > 0", scale: str = ", 1") -> str:
    others = f"logsumexp({rate}*u[j] for j in u where j != winner)"
    return f"""
winner ~ Choose(exp({rate}*u[i]) for i in u)
theta = {location or f"{rate}*u[winner] - {others}"}
gap ~ Logistic(theta{scale}){cut}
emit chosen(index = winner, gap = gap)
"""


HALF, FULL = "eps/(2*Delta)", "eps/Delta"

# --- what is proved -----------------------------------------------------------------------------------------

PROVED = {
    "half the rate": (choice(f"exp({HALF}*u[i])"), inputs()),
    "less than half": (choice("exp(eps*u[i]/(3*Delta))"), inputs()),
    "one utility moves": (choice(f"exp({FULL}*u[i])"), inputs("one")),
    "all move one way": (choice(f"exp({FULL}*u[i])"), inputs("monotone")),
    "small utilities win": (choice(f"exp(-{HALF}*u[i])"), inputs()),
    "a sensitivity for each": (
        choice("exp(eps*u[i]/(2*b[i]))"),
        inputs(sensitivity="b[i]", more="b : vector where b[i] > 0"),
    ),
    "in a range": (
        choice("exp(eps*clip(v[i], 0, Delta)/(2*Delta))").replace("in u", "in v"),
        inputs(more="v : queries, adjacency any, range [0, Delta]").replace(
            "len(u) >= 2", "len(v) >= 1 and len(u) >= 2"
        ),
    ),
    "factors": (
        choice(f"3*b[i]*exp({HALF}*u[i])/(1 + b[i])"),
        inputs(more="b : vector where b[i] > 0").replace(">= 2", ">= 2 and len(b) >= len(u)"),
    ),
    "weights by cases": (choice(f"exp({HALF}*u[i]) if i > 0 else 1"), inputs()),
    "the gap": (gap(HALF), inputs()),
    "the sum as Algorithm 21 has it": (
        gap(HALF, f"{HALF}*u[winner] - ln(sum(exp({HALF}*u[j]) for j in u where j != winner))"), inputs()
    ),
    "the gap, all one way": (gap(FULL), inputs("monotone")),
    "another bound": (gap(HALF, cut=" where gap > -3").replace("theta =", "theta = -3 +"), inputs()),
    "another unit": (
        gap(HALF, f"u[winner] - logsumexp({HALF}*u[j] for j in u where j != winner)/({HALF})",
            scale=", 2*Delta/eps"),
        inputs(),
    ),
    "a sum that differs by a constant": (
        gap(HALF, f"{HALF}*u[winner] + 7 - logsumexp(7 + {HALF}*u[j] for j in u where j != winner)"),
        inputs(),
    ),
    "the others in other words": (
        gap(HALF, f"{HALF}*u[winner] - logsumexp({HALF}*u[j] for j, x in u where not (winner == j))"),
        inputs(),
    ),
    "a number alone": ("x ~ Logistic(eps*u[0]/Delta, 1)\nemit value(x)", inputs()),
    "a number alone, cut": ("x ~ Logistic(u[0], Delta/eps) where x > 5\nemit value(x)", inputs()),
    "a gap that is paid for": (
        gap("eps/(4*Delta)", "eps/(4*Delta)*(u[winner] - max(u[j] for j in u where j != winner))"),
        inputs(),
    ),
    "no draw that reads anything": ("x ~ Logistic(0, 1)\nemit value(x)", inputs()),
    "what the draws say": (
        gap(HALF) + "if gap > 3: emit sure(winner + 1)\nelse:\n  doubt = exp(-gap)\n  emit unsure(doubt)",
        inputs(),
    ),
}  # fmt: skip


NOT_YET = {"a sum that differs by a constant", "the others in other words"}
"""Private, but the kernel has no rule that shows two of their sums to be as far apart as they are."""


@pytest.mark.parametrize("name", PROVED)
def test_proved(name: str) -> None:
    program, given = PROVED[name]
    verdict = verdict_of(spec(program, inputs=given))
    assert isinstance(verdict, Unknown if name in NOT_YET else Verified), verdict


# --- what must not be ---------------------------------------------------------------------------------------

NOT_PROVED = {
    "twice the rate": (choice(f"exp({FULL}*u[i])"), inputs(), "alignment fails at cost"),
    "slightly too large": (choice("exp(51*eps*u[i]/(100*Delta))"), inputs(), "cost"),
    "too large for one": (choice("exp(101*eps*u[i]/(100*Delta))"), inputs("one"), "cost"),
    "too large for counts": (choice("exp(101*eps*u[i]/(100*Delta))"), inputs("monotone"), "cost"),
    "the gap at twice the rate": (gap(FULL), inputs(), "alignment fails at cost"),
    "the gap of counts, slightly too large": (gap("101*eps/(100*Delta)"), inputs("monotone"), "cost"),
    "not cut": (gap(HALF, cut=""), inputs(), "alignment fails at cost"),
    "cut at another bound": (gap(HALF, cut=" where gap > 1"), inputs(), "cost"),
    "all utilities in the sum": (
        gap(HALF, f"{HALF}*u[winner] - logsumexp({HALF}*u[j] for j in u)"), inputs(), "cost"
    ),
    "another index left out": (
        gap(HALF, f"{HALF}*u[winner] - logsumexp({HALF}*u[j] for j in u where j != 0)"), inputs(), "cost"
    ),
    "another rate in the sum": (
        gap(HALF, f"{HALF}*u[winner] - logsumexp({FULL}*u[j] for j in u where j != winner)"),
        inputs(),
        "cost",
    ),
    "the location of another unit": (gap(HALF, scale=", 1/2"), inputs(), "cost"),
    "two gaps for one choice": (
        gap(HALF) + "more ~ Logistic(theta) where more > 0\nemit again(more)",
        inputs(),
        "alignment fails at cost",
    ),
    "two choices": (
        choice(f"exp({HALF}*u[i])") + f"\nother ~ Choose(exp({HALF}*u[i]) for i in u)\nemit chosen(other)",
        inputs(),
        "alignment fails at cost",
    ),
    "a private set": (
        choice(f"exp({HALF}*u[i])", " where u[i] > 0 or i == 0"), inputs(), "alignment fails at support"
    ),
    "a private bound": (
        "x ~ Logistic(0) where x > u[0]\nemit value(x)", inputs(), "alignment fails at support"
    ),
    "a private scale": ("x ~ Logistic(0, 1 + abs(u[0]))\nemit value(x)", inputs(), "cost"),
    "no positive scale": ("x ~ Logistic(0, eps - 1)\nemit value(x)", inputs(), "scales"),
    "a private factor": (choice(f"(1 + abs(u[i]))*exp({HALF}*u[i])"), inputs(), "cost"),
    "a weight that may be 0": (
        choice(f"b[i]*exp({HALF}*u[i])"),
        inputs(more="b : vector where b[i] >= 0").replace(">= 2", ">= 2 and len(b) >= len(u)"),
        "defined",
    ),
    "nothing to choose from": (
        choice(f"exp({HALF}*u[i])"), inputs().replace(">= 2", ">= 0"), "defined"
    ),
    "no others": (gap(HALF), inputs().replace(">= 2", ">= 1"), "defined"),
    "the true gap": (gap(HALF).replace("gap = gap", "gap = theta"), inputs(), "alignment fails at output"),
    "a private test": (
        choice(f"exp({HALF}*u[i])") + "\nif u[winner] > 0: emit positive", inputs(), "output"
    ),
    "a private value by the way": (
        choice(f"exp({HALF}*u[i])") + "\ny = 0\nif winner > 0: y = u[0]\nemit also(y)", inputs(), "output"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("program", "given", "expected"), NOT_PROVED.values(), ids=NOT_PROVED)
def test_not_proved(program: str, given: str, expected: str) -> None:
    got = outcome(verdict_of(spec(program, inputs=given), explain=False))
    assert got.endswith(f"at {expected.rpartition(' at ')[2]}"), got
    if expected.startswith("alignment fails"):
        assert got == expected


def test_every_adjacency_that_is_not_narrower_fails_at_the_narrow_rate() -> None:
    for adjacency in ("all", "moved", "l1"):
        given = inputs(adjacency)
        verdict = verdict_of(spec(choice(f"exp(2*{FULL}*u[i])"), inputs=given), explain=False)
        assert outcome(verdict) != "verified"


# --- what is said -------------------------------------------------------------------------------------------


def test_an_example_is_confirmed_by_its_own_densities() -> None:
    path = SPECS / "broken" / "exponential_mechanism_full_weight.dp"
    verdict = verdict_of(Source(str(path), path.read_text("utf-8")))
    assert isinstance(verdict, AlignmentFails)
    assert verdict.condition is Condition.COST
    example = verdict.densities
    assert example is not None
    data, data_prime, given = (dict(x) for x in (
        example.scenario.data, example.scenario.data_prime, example.scenario.parameters,
    ))  # fmt: skip
    (winner,) = [int(float(str(value))) for _, value in example.drawn]
    rate = float(given["eps"]) / float(given["Delta"])  # type: ignore[arg-type]

    def log_probability(utilities: object) -> float:
        assert isinstance(utilities, tuple)
        weights = [rate * float(x) for x in utilities]
        return weights[winner] - math.log(math.fsum(map(math.exp, weights)))

    apart = abs(log_probability(data["u"]) - log_probability(data_prime["u"]))
    assert apart > float(given["eps"])  # type: ignore[arg-type]
    assert "verified for adjacency `monotone`" in verdict.advice
    assert "verified for `privacy 2*eps`" in verdict.advice


# --- the exact density --------------------------------------------------------------------------------------


def drawn_density(index: int, number: Fraction) -> float | None:
    source = read_source(str(GAP))
    mechanism = check(source, parse(source))
    given = (("u", (Fraction(0), Fraction(1), Fraction(3))), ("Delta", Fraction(1)), ("eps", Fraction(1)))
    found = weigh(mechanism, given, {"winner": Fraction(index), "gap": number}).log_density
    return None if found is None else float(decimal(found, 12))


def test_the_density_is_that_of_the_dissertation() -> None:
    """Algorithm 21 by its own formulas."""
    scores = [0.0, 0.5, 1.5]
    for index in range(3):
        total = math.fsum(map(math.exp, scores))
        theta = scores[index] - math.log(total - math.exp(scores[index]))
        for number in (Fraction(1, 2), Fraction(5)):
            z = float(number) - theta
            cut = math.exp(-z) / (1 + math.exp(-z)) ** 2 * (1 + math.exp(-theta))
            expected = math.log(math.exp(scores[index]) / total * cut)
            assert drawn_density(index, number) == pytest.approx(expected, abs=1e-9)


def test_impossible_draws_have_no_density() -> None:
    assert drawn_density(3, Fraction(1)) is None
    assert drawn_density(0, Fraction(0)) is None
    assert drawn_density(0, Fraction(-1)) is None


def test_a_weight_that_is_not_positive_has_no_meaning() -> None:
    source = spec("winner ~ Choose(u[i] for i in u)\nemit chosen(winner)", inputs=inputs())
    mechanism = check(source, parse(source))
    given = (
        ("u", (Fraction(1), Fraction(-1))), ("Delta", Fraction(1)), ("eps", Fraction(1)),
        ("pass_", Fraction(0)),
    )  # fmt: skip
    with pytest.raises(Stopped):
        weigh(mechanism, given, {"winner": Fraction(0)})


def test_there_is_no_alignment_to_replay() -> None:
    source = read_source(str(GAP))
    data = (("u", (Fraction(0), Fraction(1))),)
    scenario = Scenario((("Delta", Fraction(1)), ("eps", Fraction(1))), data, data)
    with pytest.raises(ScenarioError, match="draws by densities"):
        replay(parse(source), scenario)


# --- the language -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(SPECS.rglob("exponential_mechanism*.dp")), ids=lambda p: p.stem)
def test_text_and_tree(path: Path) -> None:
    mechanism = parse(read_source(str(path)))
    text = unparse(mechanism)
    assert parse(Source("again.dp", text)) == mechanism
    assert "align\n" not in text or not has_densities(mechanism.body)


REFUSED = {
    "eta ~ Lap(1)\nw ~ Choose(1 for i in u)": ("mixed-draws", "eta ~ Lap(1)"),
    "if eps > 1: w ~ Choose(1 for i in u)": ("misplaced-draw", "w ~ Choose(1 for i in u)"),
    "w ~ Choose(1 for i in u)\nfor i in range(3): pass": ("misplaced-loop", "for i in range(3)"),
    "w ~ Choose(1 for i in u)\nw ~ Choose(1 for i in u)": ("duplicate-name", "w"),
    "w ~ Choose(1 for i in u)\nw = 1": ("assigned-noise", "w"),
    "w = 1\nw ~ Logistic(0, 1)": ("duplicate-name", "w"),
    "x = w\nw ~ Logistic(0, 1)": ("maybe-unassigned", "w"),
    "w ~ Choose(1 for i in eps)": ("not-a-list", "eps"),
    "w ~ Choose(i for i in u)": ("bad-set", "i"),
    "w ~ Choose(u[i] > 0 for i in u)": ("mismatched-sorts", "u[i] > 0"),
    "w ~ Logistic(u, 1)": ("list-as-value", "u"),
    "w ~ Logistic()": ("bad-arguments", "Logistic"),
    "w ~ Logistic(0, 1, 2)": ("bad-arguments", "2"),
    "w ~ Logistic(0) where w < 1": ("bad-truncation", "w < 1"),
    "w ~ Logistic(0) where eps > w": ("bad-truncation", "eps > w"),
    "w[0] ~ Logistic(0, 1)": ("noise-index", "0"),
    "w[0] ~ Choose(1 for i in u)": ("noise-index", "[0"),
    "w ~ Choice(1 for i in u)": ("unknown-family", "Choice"),
    "w ~ Lap(1 for i in u)": ("unknown-family", "Lap"),
    "w ~ Lap(1) where w > 0": ("bad-truncation", "w > 0"),
    "w ~ Logistc(1)": ("unknown-family", "Logistc"),
    "x = logsumexp(u[j] for j in u)": ("misplaced-logsumexp", "logsumexp"),
    "w ~ Logistic(0, 1)\nlogsumexp = 1": ("reserved-name", "logsumexp"),
}


@pytest.mark.parametrize(("program", "code", "caret"), [(p, *rest) for p, rest in REFUSED.items()])
def test_refused(program: str, code: str, caret: str) -> None:
    source = spec(program, inputs=inputs())
    with pytest.raises(SpecError) as caught:
        check(source, parse(source))
    diagnostic = caught.value.diagnostic
    assert diagnostic.code == code, diagnostic.message
    assert source.text_of(diagnostic.primary.span) == caret


def test_there_is_nothing_to_align() -> None:
    source = spec("w ~ Logistic(0, 1)\nemit value(w)", "w += 1", inputs())
    with pytest.raises(SpecError) as caught:
        check(source, parse(source))
    assert caught.value.diagnostic.code == "unexpected-align"


def test_a_claim_cannot_count_records() -> None:
    source = spec("w ~ Logistic(0, 1)\nemit value(w)", inputs=inputs(), privacy="eps*len(out) at most eps")
    with pytest.raises(SpecError) as caught:
        check(source, parse(source))
    assert caught.value.diagnostic.code == "output-claim"

"""What is said where no proof is found: advice that was verified, a failing run, or the kernel's reason."""

from __future__ import annotations

from fractions import Fraction

import pytest
from small_specs import mechanism, spec

from aligncheck.effort import Effort
from aligncheck.kernel.answer import Rejected
from aligncheck.kernel.witness import Witness
from aligncheck.language.conditions import Condition
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.language.unparse import unparse
from aligncheck.meaning.scenario import Scenario
from aligncheck.search.advice import Failure, advice_for, output_help
from aligncheck.search.attempt import Attempt, not_shown, refuse_default
from aligncheck.verdict import AlignmentFails, Status, Unknown

F = Fraction
ONE = "x : query, sensitivity 1\nk : int\neps : real where eps > 0"
LIST = "q : queries, sensitivity 1\nk : int where k >= 1\neps : real where eps > 0"
HERE = Span(0, 1)

# --- advice -------------------------------------------------------------------------------------------------


class Judge:
    """Accepts mechanisms in whose text something stands, and remembers what it was asked about."""

    def __init__(self, *accepted: str) -> None:
        self.accepted = accepted
        self.asked: list[str] = []

    def __call__(self, of: n.Mechanism, effort: Effort, witness: Witness | None) -> bool:
        self.asked.append(unparse(of))
        return any(text in self.asked[-1] for text in self.accepted)


def advised(of: n.Mechanism, failure: Failure, judge: Judge, witness: Witness | None) -> tuple[str, ...]:
    return advice_for(of, witness, failure, judge, Effort())


COSTLY = mechanism("z ~ Lap(1/(2*eps))\nemit a(x + z)", "z += x - x'", ONE)


@pytest.mark.parametrize(
    ("accepted", "times", "said"),
    [
        ("privacy 2*eps", F(2), "needs `privacy 2*eps`"),
        ("privacy 2*eps", F(3, 2), "verified for `privacy 2*eps`"),
        ("privacy 2*eps", None, "verified for `privacy 2*eps`"),
        ("privacy 3*eps/2", F(3, 2), "needs `privacy 3*eps/2`"),
        ("eps <= 1", None, "verified where `eps <= 1`"),
        ("Lap(1/eps)", None, "verified with the scale `1/eps` of `z` in place of `1/(2*eps)`"),
    ],
)
def test_what_is_verified_instead_is_said(accepted: str, times: Fraction | None, said: str) -> None:
    """Of a claim that a run costs as much as, that it is needed."""
    failure = Failure(Condition.COST, COSTLY.privacy.span, None, times)
    assert said in advised(COSTLY, failure, Judge(accepted), Witness())


def test_a_scale_that_is_upside_down_comes_before_another_claim() -> None:
    of = mechanism("z ~ Lap(eps)\nemit a(x + z)", "z += x - x'", ONE)
    judge = Judge("Lap(1/eps)", "privacy 2*eps")
    said = advised(of, Failure(Condition.COST, of.privacy.span), judge, Witness())
    assert said[0].startswith("verified with the scale")
    assert not any("privacy" in each for each in said)


def test_another_line_is_tried_on_the_run_first() -> None:
    """Whoever accepts anything is not asked about a line with which the run fails, too."""
    judge, scenario = Judge(""), Scenario((("k", F(2)), ("eps", F(1))), (("x", F(0)),), (("x", F(1)),))
    said = advised(mechanism(*FAILING), Failure(Condition.OUTPUT, HERE, scenario), judge, None)
    assert said[0] == "verified with `z += x - x'` in place of `z += 0`"


def test_nothing_is_said_that_was_not_verified() -> None:
    for condition in Condition:
        judge = Judge()
        assert advised(COSTLY, Failure(condition, HERE), judge, Witness()) == ()
        assert judge.asked or condition not in (Condition.COST, Condition.OUTPUT, Condition.SUPPORT)


def test_what_the_run_that_was_found_refutes_is_not_tried() -> None:
    """No less a claim than the run costs, no declaration that it satisfies, no adjacency of its databases."""
    scenario = Scenario((("k", F(2)), ("eps", F(1))), (("x", F(0)),), (("x", F(1)),))
    judge = Judge()
    advised(COSTLY, Failure(Condition.COST, HERE, scenario, F(3)), judge, Witness())
    assert not any("privacy 2*eps" in text or "eps <= 1" in text for text in judge.asked)
    assert any("privacy 3*eps" in text for text in judge.asked)
    of = mechanism("z ~ Lap(1)\nemit a(z)", "z += q[0] - q'[0]", LIST)
    for other, tried in ((1, True), (0, False)):
        pair = Scenario((("k", F(2)), ("eps", F(1))), (("q", (F(0), F(0))),), (("q", (F(1), F(other))),))
        judge = Judge()
        advised(of, Failure(Condition.OUTPUT, HERE, pair), judge, Witness())
        assert any("adjacency one" in text for text in judge.asked) is tried


@pytest.mark.parametrize(
    ("program", "place", "said"),
    [
        ("z ~ Lap(1)\nemit a(v = x)", "x)", "`x` and no noise"),
        ("z ~ Lap(1)\nemit a(v = x)", "x)", "`z` is never used"),
        (
            "z ~ Lap(1)\ns = x + z\nemit a(v = s)",
            "s)",
            "needs noise that moves by exactly what the data moves",
        ),
        ("s = 2*x\nemit a(v = s)", "s)", "no noise"),
        ("emit a(v = k)", "k)", "needs noise"),
    ],
)
def test_what_a_released_value_lacks(program: str, place: str, said: str) -> None:
    source = spec(program, "", ONE)
    at = source.text.index(place)
    assert said in output_help(parse(source), Span(at, at + 1))


# --- what becomes of an attempt -----------------------------------------------------------------------------

FAILING = ("z ~ Lap(1/eps)\nemit a(x + z)", "z += 0", ONE)
RIGHT = ("z ~ Lap(1/eps)\nemit a(x + z)", "z += x - x'", ONE)


def attempt(
    program: str, align: str, inputs: str, answer: Rejected, steps: int | None
) -> Unknown | AlignmentFails:
    """The verdict where the kernel does not accept, after a search of so many steps, or without one."""
    source = spec(program, align, inputs)
    tried = Attempt(parse(source), source, Effort(steps=steps or 0))
    verdict = tried.failing(answer, Witness(), steps is not None, None)
    assert isinstance(verdict, Unknown | AlignmentFails)
    return verdict


@pytest.mark.parametrize("condition", ["output", "cost", "language"])
def test_what_is_not_accepted_fails_only_with_a_run(condition: str) -> None:
    """Whatever the kernel stopped at; a right spec stays UNKNOWN, in the kernel's words."""
    answer = Rejected(condition, HERE, "not shown: this")
    found = attempt(*FAILING, answer, 20_000)
    assert isinstance(found, AlignmentFails)
    assert found.condition is Condition.OUTPUT
    assert found.counterexample is not None
    assert found.counterexample.replay.violations
    for which, steps in ((RIGHT, 500), (RIGHT, None), (FAILING, None)):
        unknown = attempt(*which, answer, steps)
        assert isinstance(unknown, Unknown)
        assert "this" in unknown.message
        assert {r.status for r in unknown.conditions} <= {Status.UNKNOWN}


def test_what_the_kernel_stopped_at_is_unknown_where_a_run_violates_something_else() -> None:
    found = attempt(*FAILING, Rejected("cost", HERE, "not shown: this"), 20_000)
    assert {(r.condition, r.status) for r in found.conditions} == {
        (Condition.OUTPUT, Status.FAILED),
        (Condition.COST, Status.UNKNOWN),
    }


@pytest.mark.parametrize(
    ("condition", "program", "at", "said"),
    [
        ("support", "z ~ Exp(1)\nemit a", "z", "move one-sided noise up only"),
        ("support", "z ~ Gumbel(1)\nemit a", "z", "move `Gumbel` noise up only"),
        ("support", "z ~ Uniform(1)\nemit a", "z", "leave `Uniform` noise as it was drawn"),
        ("support", "z ~ DLap(1)\nemit a", "z", "by multiples of its step"),
        ("support", "z ~ Bernoulli(1/2)\nemit a", "z", "turn it over"),
        ("support", "z ~ Gauss(1)\nemit a", "z", "costs ρ, and no ε"),
        ("defined", "s = sqrt(x)\nemit a", "sqrt(x)", "write `sqrt(max(x, 0))`"),
        ("defined", "s = ln(x)\nemit a", "ln(x)", "write `ln(max(x, 1))`"),
        ("defined", "s = q[k]\nemit a", "q[k]", "from 0 up, and less than the number of entries"),
        ("defined", "for i, y in q:\n  s = q[i - 1]\nemit a", "q[i - 1]", "write `q[i]` for the entry"),
        ("defined", "for i, y in q: z[i] ~ Lap(1)\ns = z[k]\nemit a", "z[k]", "what is drawn is `z[i]`"),
        ("defined", "s = max(q[j] for j in q)\nemit a", "max(q[j] for j in q)", "where len(q) >= 1"),
        ("defined", "s = 1/x\nemit a", "1/x", "exclude it"),
        ("terminates", "emit a", "emit a", "let a counter move"),
        ("scales", "z ~ Geo(k)\nemit a", "z ~ Geo(k)", "`Geo(1 - exp(-1/s))`"),
        ("scales", "z ~ Lap(k)\nemit a", "z ~ Lap(k)", "make the scale of public inputs"),
        ("fresh", "emit a", "emit a", "index the draw"),
        ("countable", "emit a", "emit a", "in guards only"),
    ],
)
def test_help_is_about_what_stands_there(condition: str, program: str, at: str, said: str) -> None:
    source = spec(program, "", f"q : queries, sensitivity 1\n{ONE}")
    place = source.text.rindex(at)
    answer = Rejected(condition, Span(place, place + len(at)), "not shown: this")
    verdict = Attempt(parse(source), source, Effort(steps=0)).failing(answer, Witness(), False, None)
    assert isinstance(verdict, Unknown)
    assert said in str(verdict.help)


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ("x : query, sensitivity 1\nk : int where k > 1 and k < 2\neps : real", "contradictory-where"),
        ("x : query, sensitivity -1\nk : int\neps : real", "contradictory-where"),
        ("x : query, sensitivity k\nk : int\neps : real", "bad-clause"),
        ("x : query, sensitivity k\nk : int where k >= 0\neps : real", None),
        ("x : query, range [k, 1], sensitivity 1\nk : int\neps : real", "bad-clause"),
    ],
)
def test_declarations_without_sense_are_refused(inputs: str, code: str | None) -> None:
    answer = Rejected("output", HERE, "this")
    if code is None:
        assert isinstance(attempt("emit a", "", inputs, answer, None), Unknown)
    else:
        with pytest.raises(SpecError) as caught:
            attempt("emit a", "", inputs, answer, None)
        assert caught.value.diagnostic.code == code


@pytest.mark.parametrize(
    ("default", "refused"), [("3", False), ("-1", True), ("k - 1", True), ("k + 1", False), ("1/k", False)]
)
def test_a_default_is_one_of_the_values(default: str, refused: bool) -> None:
    """For all values of the others."""
    source = spec(
        "emit a",
        "",
        f"x : query, sensitivity 1\nk : int where k >= 1\ne : real, default {default} where e > 0",
    )
    if refused:
        with pytest.raises(SpecError, match="default"):
            refuse_default(parse(source), source)
    else:
        refuse_default(parse(source), source)


def test_of_a_claim_that_averages_no_run_says_what_it_costs() -> None:
    """But what else a run violates, if the kernel stopped there."""
    for condition, fails in (("output", True), ("cost", False), ("support", False)):
        source = spec("z ~ Gauss(1)\nemit a(x + z)", "z += 0", ONE, "eps zcdp")
        answer = Rejected(condition, source_place(source.text), "not shown: this")
        verdict = not_shown(parse(source), source, answer, Effort(steps=20_000))
        assert isinstance(verdict, AlignmentFails) is fails
        assert isinstance(not_shown(parse(source), source, answer, None), Unknown)


def source_place(text: str) -> Span:
    at = text.index("x + z")
    return Span(at, at + 5)

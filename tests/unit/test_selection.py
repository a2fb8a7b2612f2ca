"""Sets of indices and what is selected from them: in one run, and in aligned pairs of runs."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from io import StringIO
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

import pytest
from rich.console import Console

from aligncheck.language.conditions import Condition
from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.meaning import interpreter
from aligncheck.meaning.exact import Number, Undecided, Value
from aligncheck.meaning.replay import Replay, replay
from aligncheck.meaning.scenario import Scenario, check_scenario
from aligncheck.report.lines import Canvas
from aligncheck.report.sidebyside import RunsTable, table_lines

F = Fraction
SPECS = Path(__file__).parents[2] / "specs"


def spec(text: str) -> Mechanism:
    return parse(Source("test.dp", dedent(text).lstrip("\n")))


def listed(values: list[int] | list[F]) -> tuple[F, ...]:
    return tuple(map(F, values))


# --- one run ----------------------------------------------------------------------------------------------


def once(*lines: str, noise: list[int] | None = None) -> interpreter.Run:
    """One run on q = [3, 5, 1, 5] and the public b = [1, 0, 1, 0], k = 2; `noise` is drawn as `eta`."""
    drawn = noise or []
    body = [f"for i in range({len(drawn)}): eta[i] ~ Lap(1)", *lines]
    text = "mechanism m\ninput\n  q : queries, sensitivity 1\n  b : vector\n  k : int\nprivacy 1\nprogram\n"
    mechanism = parse(Source("test.dp", text + "".join(f"  {line}\n" for line in body)))

    def source(site: interpreter.DrawSite) -> Number:
        assert site.index is not None
        return F(drawn[site.index])

    return interpreter.run(
        mechanism, {"b": listed([1, 0, 1, 0]), "k": F(2)}, {"q": listed([3, 5, 1, 5])}, source
    )


def value(*lines: str, noise: list[int] | None = None) -> Value:
    done = once(*lines[:-1], f"emit r({lines[-1]})", noise=noise)
    assert done.ended == interpreter.Finished()
    return done.output[-1].fields[0][1]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("max(q[j] for j in q)", 5),
        ("min(q[j] for j in q)", 1),
        ("argmax(q[j] for j in q)", 1),
        ("argmin(-q[j] for j in q)", 1),
        ("argmin(q[j] for j in q)", 2),
        ("argmax(0 for j in b)", 0),
        ("max(x for j, x in q where x < 5)", 3),
        ("argmax(q[j] for j in q where b[j] == 1)", 0),
        ("argmax(q[j] for j in range(2, 4))", 3),
        ("max(j*j for j in range(3))", 4),
        ("max(q[j] for j in q where j != argmax(q[l] for l in q))", 5),
        ("max(min(q[j] + q[l] for l in q) for j in q)", 6),
        ("max(q[j] for j in q) - max(1, 2)", 3),
        ("max(sqrt(q[j]) for j in q)**2", 5),
        ("max(1/q[j] for j in q where q[j] != 0)", 1),
    ],
)
def test_a_set_has_an_exact_value(expression: str, expected: int) -> None:
    assert value(expression) == F(expected)


@pytest.mark.parametrize(
    ("top", "expected"),
    [
        ("top(1, q[j] for j in q)", (1,)),
        ("top(k, q[j] for j in q)", (1, 3)),
        ("top(4, q[j] for j in q)", (1, 3, 0, 2)),
        ("top(4, 0 for j in q)", (0, 1, 2, 3)),
        ("top(2, -q[j] for j in q where j > 0)", (2, 1)),
        ("top(0, q[j] for j in q)", ()),
        ("top(0, q[j] for j in q where false)", ()),
        ("top(2, sqrt(q[j]) for j in q)", (1, 3)),
        ("upto(k, q[j] for j in q)", (1, 3)),
        ("upto(9, q[j] for j in q)", (1, 3, 0, 2)),
        ("upto(k, q[j] for j in q where q[j] < 5)", (0, 2)),
        ("upto(k, q[j] for j in q where q[j] > 5)", ()),
        ("upto(0, q[j] for j in q)", ()),
    ],
)
def test_top_ranks_by_value_and_then_by_index(top: str, expected: tuple[int, ...]) -> None:
    done = once(f"w = {top}", "emit r(len(w))")
    assert [step.value for step in done.steps if isinstance(step, interpreter.Assigned)] == [expected]
    assert done.output[0].fields == (("value", len(expected)),)


def test_what_was_selected_can_be_asked() -> None:
    top = "w = top(3, q[j] for j in q)"
    assert [value(top, f"w[{r}]") for r in range(3)] == [1, 3, 0]
    assert [value(top, f"{j} in w") for j in range(4)] == [True, True, False, True]
    assert value(top, "max(q[j] for j in q where j not in w)") == 1
    assert value(top, "1 in w and 2 not in w") is True


def test_noise_of_a_loop_that_has_ended_is_read_at_every_index() -> None:
    assert value("w = argmax(q[j] + eta[j] for j in q)", "10*w + eta[w]", noise=[0, 0, 9, 1]) == 29


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("emit r(max(q[j] for j in q where j > 3))", "`max` over no index"),
        ("emit r(argmin(q[j] for j in range(2, 2)))", "`argmin` over no index"),
        ("w = top(5, q[j] for j in q)", "there are only 4"),
        ("w = top(3, q[j] for j in q where b[j] == 1)", "there are only 2"),
        ("w = top(0 - 1, q[j] for j in q)", "asked for -1"),
        ("w = top(1/2, q[j] for j in q)", "must be an integer"),
        ("w = upto(0 - 1, q[j] for j in q)", "`upto` is asked for -1"),
        ("w = upto(1/2, q[j] for j in q)", "must be an integer"),
        ("emit r(max(eta[j] for j in q))", "`eta[2]` has not been drawn here"),
        ("emit r(max(1/(q[j] - 5) for j in q))", "division by 0"),
        ("emit r(max(q[j + 1] for j in q))", "outside of `q`"),
        ("emit r(max(q[j] for j in q) + j)", "`j` has no value here"),
        ("emit r(1 in k)", "`k` is no list of indices"),
    ],
)
def test_what_a_set_cannot_give_is_a_fault(line: str, reason: str) -> None:
    done = once(line, noise=[0, 0])
    assert isinstance(done.ended, interpreter.Fault)
    assert done.ended.condition is Condition.DEFINED
    assert reason in done.ended.reason


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("emit r(w[2])", "`w`, which has 2 entries"),
        ("emit r(w)", "`w` is a list"),
        ("x = w", "`w` is a list"),
    ],
)
def test_a_selection_is_no_value_and_ends(line: str, reason: str) -> None:
    done = once("w = top(k, q[j] for j in q)", line)
    assert isinstance(done.ended, interpreter.Fault)
    assert done.ended.condition is Condition.DEFINED
    assert reason in done.ended.reason
    assert done.output == ()


@pytest.mark.parametrize(
    "expression", ["max(1 for j in range(10**12))", "max(max(j*l for l in range(200)) for j in range(200))"]
)
def test_the_indices_of_a_set_count_as_steps(expression: str) -> None:
    assert once(f"emit r({expression})").ended == interpreter.StepLimit(10_000)


def test_a_run_says_whether_a_selection_had_a_tie_to_break() -> None:
    def tied(line: str) -> bool:
        return once(line).tied

    assert tied("w = argmax(q[j] for j in q)")
    assert not tied("w = argmin(q[j] for j in q)")
    assert not tied("w = max(q[j] for j in q)")
    assert tied("w = top(1, q[j] for j in q)")
    assert tied("w = top(2, q[j] for j in q)")
    assert tied("w = top(3, q[j] for j in q)")
    assert not tied("w = top(1, -q[j] for j in q)")
    assert not tied("w = top(2, -q[j] for j in q)")
    assert tied("w = top(3, -q[j] for j in q)")
    assert tied("w = upto(9, q[j] for j in q)")
    assert not tied("w = upto(9, q[j] for j in q where j < 2)")


# --- pairs of runs ----------------------------------------------------------------------------------------

MAX_GAP = parse(read_source(str(SPECS / "noisy_max_gap.dp")))
TOPK_TEXT = (SPECS / "noisy_topk_gap.dp").read_text(encoding="utf-8")
TOPK_GAP = parse(Source("noisy_topk_gap.dp", TOPK_TEXT))


def conditions(done: Replay) -> list[str]:
    return [violation.condition.id for violation in done.violations]


def random_scenario(chance: random.Random, k: int | None, grid: int, one_sided: bool = False) -> Scenario:
    """A pair for sensitivity 1 with random noise; a coarse `grid` makes ties likely."""

    def near(low: int, high: int) -> F:
        return F(chance.randint(low * grid, high * grid), grid)

    size = chance.randint(2 if k is None else k + 1, 5)
    q = [near(-3, 3) for _ in range(size)]
    moved = [answer + near(-1, 1) for answer in q]
    noise = tuple((("eta", i), near(0 if one_sided else -3, 3)) for i in range(size))
    parameters: list[tuple[str, Value]] = [("eps", chance.choice([F(1), F(1, 3)]))]
    return Scenario(
        (*parameters, *([] if k is None else [("k", F(k))])),
        (("q", tuple(q)),),
        (("q", tuple(moved)),),
        noise,
    )


@pytest.mark.parametrize("grid", [1, 2, 1000])
def test_the_alignments_of_the_paper_violate_nothing(grid: int) -> None:
    """Ties included: what an alignment does with them has probability 0 (rule 10)."""
    chance = random.Random(grid)
    worst = F(0)
    for _ in range(60):
        k = chance.randint(1, 3)
        for mechanism, done in (
            (MAX_GAP, replay(MAX_GAP, random_scenario(chance, None, grid))),
            (TOPK_GAP, replay(TOPK_GAP, random_scenario(chance, k, grid))),
        ):
            assert conditions(done) == [], (mechanism.name, done.scenario)
            assert done.run_d_prime.ended == interpreter.Finished()
            if not done.run_d.tied:
                assert done.run_d.output == done.run_d_prime.output
            assert isinstance(done.cost, F)
            assert isinstance(done.claim, F)
            worst = max(worst, done.cost / done.claim)
    assert F(3, 4) < worst <= 1


def test_every_selected_draw_moves_with_its_gap_and_no_other_does() -> None:
    scenario = Scenario(
        (("eps", F(1)), ("k", F(2))),
        (("q", listed([0, 10, 20, 9])),),
        (("q", (F(1), F(19, 2), F(21), F(10))),),
    )
    done = replay(TOPK_GAP, scenario)
    shifts = {step.on_d.key: step.shift for step in done.steps if isinstance(step.on_d, interpreter.Draw)}
    # The best that is not selected goes from 9 to 10: both winners must go up by 1 in all.
    assert shifts == {("eta", 0): 0, ("eta", 1): F(3, 2), ("eta", 2): 0, ("eta", 3): 0}
    assert [dict(record.fields) for record in done.run_d.output] == [
        {"index": 2, "gap": 10},
        {"index": 1, "gap": 1},
    ]
    assert conditions(done) == []


def test_primed_sets_written_out_in_the_alignment_mean_the_same() -> None:
    direct = TOPK_TEXT.replace(
        "best' - best ",
        "max(q'[l] + eta'[l] for l in q where l not in winners) "
        "- max(q[l] + eta[l] for l in q where l not in winners) ",
    )
    unmoved = direct.replace("eta'[l]", "eta[l]")
    assert direct != unmoved != TOPK_TEXT
    chance = random.Random(7)
    for _ in range(20):
        scenario = random_scenario(chance, 2, 1000)
        wanted = replay(TOPK_GAP, scenario)
        for text in (direct, unmoved):
            done = replay(parse(Source("direct.dp", text)), scenario)
            assert [step.shift for step in done.steps] == [step.shift for step in wanted.steps]


MAX = """
    mechanism noisy_max
    input
      q : queries, sensitivity 1
      eps : real where eps > 0
    privacy eps
    program
      for i, x in q: eta[i] ~ Lap(2/eps)
      winner = argmax(q[i] + eta[i] for i in q)
      emit chosen(index = winner)
    align
      eta[i] += 2 when i == winner
"""


def violated(text: str, seed: int, one_sided: bool = False) -> set[str]:
    chance, mechanism = random.Random(seed), spec(text)
    return {
        condition
        for _ in range(200)
        for condition in conditions(replay(mechanism, random_scenario(chance, None, 1000, one_sided)))
    }


def test_noisy_max_by_its_index_alone() -> None:
    assert violated(MAX, 1) == set()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("emit chosen(index = winner)", "emit chosen(value = q[winner] + eta[winner])", {"output"}),
        ("Lap(2/eps)", "Lap(1/eps)", {"cost"}),
        ("+= 2", "+= 1", {"output"}),
        ("i == winner", "i != winner", {"output", "cost"}),
        ("argmax", "argmin", {"output"}),
    ],
)
def test_broken_noisy_max_is_seen_to_violate(old: str, new: str, expected: set[str]) -> None:
    assert old in MAX
    assert violated(MAX.replace(old, new), 2) == expected


def test_the_least_of_one_sided_noise_leaves_the_support() -> None:
    """To keep the least one the least its noise goes down, and one-sided noise has no room for that."""
    one_sided = MAX.replace("Lap(2/eps)", "Exp(2/eps)").replace("eta[i] += 2", "eta[i] += 1 + q[i] - q'[i]")
    assert violated(one_sided, 3, one_sided=True) == set()
    least = one_sided.replace("argmax", "argmin").replace("+= 1 + q[i] - q'[i]", "-= 1 - q[i] + q'[i]")
    assert violated(least, 3, one_sided=True) == {"support"}


def test_noise_that_is_not_scaled_by_the_number_of_winners_costs_too_much() -> None:
    narrow = parse(Source("narrow.dp", TOPK_TEXT.replace("Lap(2*k/eps)", "Lap(2/eps)")))
    chance = random.Random(4)
    found = {c for _ in range(40) for c in conditions(replay(narrow, random_scenario(chance, 3, 1000)))}
    assert found == {"cost"}


def test_a_gap_to_the_best_true_answer_is_not_kept() -> None:
    true = parse(Source("true.dp", TOPK_TEXT.replace("best = max(q[i] + eta[i] for", "best = max(q[i] for")))
    chance = random.Random(5)
    found = {c for _ in range(200) for c in conditions(replay(true, random_scenario(chance, 1, 1000)))}
    assert found == {"output"}


# --- claims that speak of the output ----------------------------------------------------------------------

HYBRIDS = {name: (SPECS / f"hybrid_{name}_gap.dp").read_text(encoding="utf-8") for name in ("sparse", "topk")}


def hybrid_scenario(chance: random.Random, name: str) -> Scenario:
    scenario = random_scenario(chance, 2, 1000)
    size = sum(1 for _ in scenario.noise)
    draws = [("xi", i) for i in range(size)] if name == "sparse" else [("eta", i) for i in range(size + 1)]
    noise = [
        (key, F(chance.randint(0, 20))) for key in [*draws, *([("eta", None)] if name == "sparse" else [])]
    ]
    more = (("T", F(chance.randint(-12, 4))), *([("theta", F(1, 3))] if name == "sparse" else []))
    return replace(scenario, parameters=(*scenario.parameters, *more), noise=tuple(noise))


def hybrid_replays(name: str, text: str, times: int = 60) -> list[Replay]:
    mechanism, chance = parse(Source(f"{name}.dp", text)), random.Random(6)
    return [replay(mechanism, hybrid_scenario(chance, name)) for _ in range(times)]


@pytest.mark.parametrize("name", HYBRIDS)
def test_a_claim_is_that_of_the_records_that_were_released(name: str) -> None:
    released = set()
    for done in hybrid_replays(name, HYBRIDS[name]):
        records = len(done.run_d.output)
        eps = dict(done.scenario.parameters)["eps"]
        assert isinstance(eps, F)
        assert conditions(done) == []
        assert done.claim == (
            F(1, 3) * eps + F(2, 3) * eps * records / 2 if name == "sparse" else eps * records / 2
        )
        assert done.most == eps
        released.add(records)
    assert released == ({0, 1, 2} if name == "sparse" else {1, 2})


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("sparse", "*len(out)/k", "*(len(out) - 1)/k", {"cost"}),
        ("sparse", "at most eps", "at most eps/2", {"cost"}),
        ("sparse", "eta   += 1\n", "eta   += 0\n", {"output"}),
        ("topk", "*len(out)/k", "*out.count(chosen)/(2*k)", {"cost"}),
        ("topk", "at most eps", "at most eps*(1 - 1/k)", {"cost"}),
    ],
)
def test_a_claim_that_is_too_small_is_seen(name: str, old: str, new: str, expected: set[str]) -> None:
    assert old in HYBRIDS[name]
    replays = hybrid_replays(name, HYBRIDS[name].replace(old, new))
    assert {condition for done in replays for condition in conditions(done)} == expected


def test_what_is_more_than_the_bound_is_told_at_the_bound() -> None:
    text = HYBRIDS["topk"].replace("at most eps", "at most eps/2")
    done = next(done for done in hybrid_replays("topk", text) if done.violations)
    (violation,) = done.violations
    assert text[violation.span.start : violation.span.end] == "eps/2"
    assert "the claim is 1, more than its bound 1/2" in violation.message


# --- ties -------------------------------------------------------------------------------------------------


def tied_scenario() -> Scenario:
    """1 and 2 tie on D, and 1 wins by its index; on D' the best of the others is 0, which has a lower one."""
    return Scenario(
        (("eps", F(1)),), (("q", (F(9, 2), F(5), F(5))),), (("q", (F(11, 2), F(5), F(4))),)
    )  # fmt: skip


def test_what_only_a_tie_shows_counts_for_nothing_under_continuous_noise() -> None:
    done = replay(MAX_GAP, tied_scenario())
    assert done.run_d.tied
    assert done.run_d.output != done.run_d_prime.output
    assert done.violations == ()


def test_on_a_lattice_a_tie_counts() -> None:
    text = (SPECS / "noisy_max_gap.dp").read_text(encoding="utf-8").replace("Lap(2/eps)", "DLap(2/eps, 1/2)")
    done = replay(parse(Source("lattice.dp", text)), tied_scenario())
    assert conditions(done) == ["output"]


def test_a_tie_without_noise_counts() -> None:
    """Both answers are drawn with one draw: they tie with probability 1, and moving one breaks the tie."""
    text = MAX.replace("for i, x in q: eta[i] ~", "xi ~").replace("+ eta[i]", "+ xi")
    shared = spec(text.replace("eta[i] += 2 when i == winner", "xi += 2"))
    scenario = Scenario((("eps", F(1)),), (("q", listed([0, 0])),), (("q", listed([0, 1])),))
    assert conditions(replay(shared, scenario)) == ["output"]


def test_another_violation_beside_a_tie_is_kept() -> None:
    half = MAX.replace("Lap(2/eps)", "Lap(1/eps)")
    scenario = Scenario((("eps", F(1)),), (("q", listed([0, 0])),), (("q", listed([0, 0])),))
    done = replay(spec(half), scenario)
    assert done.run_d.tied
    assert conditions(done) == ["cost"]


# --- the order in which aligned noise is worked out -------------------------------------------------------


def test_a_set_that_needs_the_draw_that_needs_it_is_a_cycle() -> None:
    """Every draw moves by what the greatest of all moves by, its own included."""
    text = MAX.replace(
        "winner = argmax(", "best = max(q[i] + eta[i] for i in q)\n      winner = argmax("
    ).replace("+= 2 when i == winner", "+= best' - best")
    done = replay(spec(text), random_scenario(random.Random(1), None, 10))
    assert conditions(done) == ["acyclic"]
    assert "the aligned `eta[0]` depends on itself, by way of `best'`" in done.violations[0].message


TWO = """
    mechanism two
    input
      q : queries, sensitivity 1
      eps : real where eps > 0
    privacy 100*eps
    program
      c = 1/eps
      for i, x in q: eta[i] ~ Lap(c)
      for i, x in q: xi[i] ~ Lap(c)
      a = max(c*q[i] + eta[i] for i in q)
      b = max(a + q[i] + xi[i] for i in q)
      emit done
    align
      eta[i] += A
      xi[i] += B
"""


@pytest.mark.parametrize(
    ("first", "second", "cyclic"),
    [
        ("1", "a' - a", False),
        ("max(xi'[l] for l in q)", "1", False),
        ("max(xi'[l] for l in q)", "a - q[i]", False),
        ("max(xi'[l] for l in q)", "a'", True),
        ("b'", "1", True),
        ("xi'[i]", "eta'[i + 1] if i < len(q) - 1 else 0", False),
        ("xi'[i]", "eta'[i]", True),
    ],
)
def test_any_order_of_the_draws_will_do(first: str, second: str, cyclic: bool) -> None:
    mechanism = spec(TWO.replace("+= A", f"+= {first}").replace("+= B", f"+= {second}"))
    done = replay(mechanism, random_scenario(random.Random(2), None, 10))
    found = {"acyclic"} if cyclic else set()
    assert {c for c in conditions(done) if c != "cost"} == found
    assert done.cycle or not cyclic


def test_values_on_the_other_database_are_those_of_the_complete_run() -> None:
    mechanism = spec(TWO.replace("+= A", "+= 1").replace("+= B", "+= a' - a + b - b"))
    done = replay(mechanism, random_scenario(random.Random(3), None, 10))
    a, a_prime = (
        next(step.value for step in one.steps if isinstance(step, interpreter.Assigned) and step.name == "a")
        for one in (done.run_d, done.run_d_prime)
    )
    assert isinstance(a, F)
    assert isinstance(a_prime, F)
    moved = {step.on_d.key: step.shift for step in done.steps if isinstance(step.on_d, interpreter.Draw)}
    assert moved["xi", 0] == a_prime - a
    assert moved["eta", 0] == 1


@pytest.mark.parametrize(
    ("first", "second", "around"),
    [
        ("eta[i]", "0", [("eta", 0)]),
        ("1 if eta[i] > 0 else 2", "0", [("eta", 0)]),
        ("a", "0", [("eta", 0)]),
        ("c*a - a", "xi[i]", [("eta", 0)]),
        ("xi[i]", "eta[i]", [("eta", 0), ("xi", 0)]),
        ("xi[i]", "a", [("eta", 0), ("xi", 0)]),
        ("b", "0", [("eta", 0)]),
        ("max(xi[l] for l in q)", "max(eta'[l] for l in q)", [("eta", 0), ("xi", 0)]),
        ("argmax(xi[l] for l in q)", "argmin(eta[l] for l in q)", [("eta", 0), ("xi", 0)]),
        ("max(xi[l] for l in q where l >= i)", "eta[i + 1] if i + 1 < len(q) else 0", []),
        ("eta[i + 1] if i + 1 < len(q) else 0", "xi[i - 1] + a if i > 0 else 0", []),
        ("2", "a - a'", []),
    ],
)
def test_what_the_shifts_read_has_an_order_or_a_cycle(
    first: str, second: str, around: list[interpreter.NoiseKey]
) -> None:
    """To read noise as it is on D counts like to read aligned noise, and violates nothing by itself."""
    mechanism = spec(TWO.replace("+= A", f"+= {first}").replace("+= B", f"+= {second}"))
    done = replay(mechanism, random_scenario(random.Random(2), None, 10))
    assert list(done.cycle) == around
    assert set(conditions(done)) <= {"cost"}


def test_replacing_a_draw_is_a_reading_of_it_unless_the_line_adds_to_it() -> None:
    for line, cycle in (("= 5", (("eta", 0),)), ("= eta[i] + 5", ()), ("= a", (("eta", 0),))):
        mechanism = spec(TWO.replace("+= A", line).replace("+= B", "+= 0"))
        assert replay(mechanism, random_scenario(random.Random(2), None, 10)).cycle == cycle


def test_what_a_selection_chose_is_no_reading() -> None:
    chosen = TWO.replace("emit done", "w = argmax(q[i] + eta[i] for i in q)\n      emit chosen(index = w)")
    done = replay(
        spec(chosen.replace("+= A", "+= 2 when i == w").replace("+= B", "+= w")),
        random_scenario(random.Random(2), None, 10),
    )
    assert done.cycle == ()


HIDDEN = """
    mechanism hidden
    input
      q : queries, sensitivity 1
      eps : real where eps > 0 and len(q) >= 2
    privacy 100*eps
    program
      for i, x in q: eta[i] ~ Lap(1/eps)
      winner = argmax(q[i] + eta[i] for i in q)
      best = max(q[i] + eta[i] for i in q where i != winner)
      emit done
    align
      eta[i] += q[i] - q'[i] + best' - best - 5 when i == winner
"""


def test_a_selection_that_no_output_shows_must_agree_with_the_noise_that_it_gives() -> None:
    """The winner loses on D', where `best'` then is its own: no noise satisfies the line."""
    scenario = Scenario((("eps", F(1)),), (("q", listed([1, 0])),), (("q", listed([1, 0])),))
    done = replay(spec(HIDDEN), scenario)
    assert conditions(done) == ["acyclic"]
    assert "with 0 for it, the run on D' gives 1" in done.violations[0].message
    assert conditions(replay(spec(HIDDEN.replace(" - 5", "")), scenario)) == []
    shown = HIDDEN.replace("emit done", "emit chosen(index = winner)")
    assert conditions(replay(spec(shown), scenario)) == ["output"]


def test_what_only_the_run_itself_can_tell_is_left_undecided() -> None:
    """`best'` is needed while the run on D' is in the loop that gives `total`, which it reads."""
    mechanism = spec(
        """
        mechanism m
        input
          q : queries, sensitivity 1
        privacy 1
        program
          total = 0
          for i, x in q:
            eta[i] ~ Lap(1)
            total = total + eta[i]
          best = max(q[i] + total for i in q)
          emit done
        align
          eta[i] += best' when i == 0
        """
    )
    with pytest.raises(Undecided, match="`total'` is needed"):
        replay(mechanism, Scenario((), (("q", listed([1, 0])),), (("q", listed([1, 0])),)))


def test_sets_in_an_alignment_cannot_hang() -> None:
    mechanism = spec(MAX.replace("+= 2 when", "+= max(1 for l in range(10**12)) when"))
    done = replay(mechanism, Scenario((("eps", F(1)),), (("q", listed([1])),), (("q", listed([1])),)))
    assert isinstance(done.run_d_prime.ended, interpreter.StepLimit)
    assert done.violations == ()


def test_a_parameter_may_be_bounded_by_the_number_of_answers() -> None:
    for size, legal in ((2, False), (3, True)):
        q = (("q", listed([0] * size)),)
        scenario = Scenario((("eps", F(1)), ("k", F(2))), q, q)
        assert (check_scenario(TOPK_GAP, scenario) == []) is legal


# --- side by side -----------------------------------------------------------------------------------------


def shown(done: Replay, source: Source) -> list[str]:
    console = Console(file=StringIO(), width=110)
    table = RunsTable(done.steps, "on D", "on D'", done.claim, done.parted)
    return [" ".join(line.plain.split()) for line in table_lines(Canvas(console, 110), source, table)]


def test_selections_are_shown_also_where_both_runs_agree() -> None:
    source = Source("noisy_topk_gap.dp", TOPK_TEXT)
    q, moved = (("q", listed([0, 10, 20, 9])),), (("q", listed([0, 10, 21, 10])),)
    lines = shown(replay(TOPK_GAP, Scenario((("eps", F(1)), ("k", F(2))), q, moved)), source)
    assert "15 winners = [2, 1] same" in lines
    assert "16 best = 9 10" in lines
    assert not any(" j = " in line for line in lines)


def test_a_test_shows_a_set_as_one_number_and_a_selection_as_a_list() -> None:
    text = (
        "mechanism m\ninput\n  q : queries, sensitivity 1\nprivacy 1\nprogram\n"
        "  w = top(2, q[i] for i in q)\n  j = w[0]\n"
        "  if max(q[l] for l in q where l not in w) > 3 or j + 2 not in w: emit yes\n  else: emit no\n"
    )
    source = Source("test.dp", text)
    q = (("q", listed([1, 9, 5, 2])),)
    lines = shown(replay(parse(source), Scenario((), q, q)), source)
    assert "8 if 2 > 3 or 1 + 2 not in [1, 2] yes same" in lines


def test_steps_of_a_pair_run_in_the_order_of_the_program() -> None:
    done = replay(TOPK_GAP, random_scenario(random.Random(8), 2, 1000))
    spans = [step.on_d_prime.span.start for step in done.steps[:7] if step.on_d_prime is not None]
    assert all(one <= other for one, other in pairwise(spans))
    keys: list[interpreter.NoiseKey] = [draw.key for draw in done.run_d_prime.draws]
    assert keys == [("eta", i) for i in range(len(keys))]

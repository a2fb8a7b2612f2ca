"""The interpreter and the replay of alignments, against values worked out by hand."""

from __future__ import annotations

from fractions import Fraction
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aligncheck.language.conditions import Condition
from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning import interpreter
from aligncheck.meaning.exact import Number, Undecided, Value
from aligncheck.meaning.replay import Replay, aligned, replay, same_output
from aligncheck.meaning.scenario import Scenario, ScenarioError, check_scenario

F = Fraction


def spec(text: str) -> Mechanism:
    return parse(Source("test.dp", dedent(text).lstrip("\n")))


def exact_inputs(given: dict[str, object]) -> tuple[tuple[str, interpreter.Input], ...]:
    """Plain Python numbers and lists as inputs."""
    return tuple((name, exact_input(value)) for name, value in given.items())


def exact_input(value: object) -> interpreter.Input:
    if isinstance(value, list):
        return tuple(exact_value(entry) for entry in value)
    return exact_value(value)


def exact_value(value: object) -> Value:
    if isinstance(value, bool):
        return value
    assert isinstance(value, int | F)
    return F(value)


def pair(
    parameters: dict[str, object],
    data: dict[str, object],
    data_prime: dict[str, object],
    noise: dict[interpreter.NoiseKey, object] | None = None,
) -> Scenario:
    draws = tuple((key, exact_value(value)) for key, value in (noise or {}).items())
    return Scenario(exact_inputs(parameters), exact_inputs(data), exact_inputs(data_prime), draws)


def once(text: str, data: dict[str, object] | None = None, **noise: object) -> interpreter.Run:
    """Run a spec whose only input is `x : real`, which is given in `data`."""

    def source(site: interpreter.DrawSite) -> Number:
        value = noise.get(site.name, 0)
        if isinstance(value, list):
            assert site.index is not None
            value = value[site.index]
        number = exact_value(value)
        assert not isinstance(number, bool)
        return number

    return interpreter.run(spec(text), {}, dict(exact_inputs(data or {})), source)


def released(one: interpreter.Run) -> list[tuple[str, dict[str, Value]]]:
    """The output as plain data: (tag, fields)."""
    return [(record.tag, dict(record.fields)) for record in one.output]


def program(*lines: str, inputs: str = "x : real") -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"mechanism m\ninput\n  {inputs}\nprivacy 1\nprogram\n{body}\n"


# --- one run ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0.1 + 0.2", F(3, 10)),
        ("7 % -2", -1),
        ("-7 % 2", 1),
        ("2 ** 10 - 0 ** 0", 1023),
        ("1 / 3 * 3", 1),
        ("floor(-1/2)", -1),
        ("abs(-3) + min(1, 2, 0) + max(1, 5)", 8),
        ("clip(7, 0, 5) + clip(-7, 0, 5)", 5),
        ("sqrt(9/4)", F(3, 2)),
        ("log2(1/8)", -3),
        ("ln(exp(-1/2))", F(-1, 2)),
        ("sqrt(2) * sqrt(8)", 4),
        ("len(q)", 3),
        ("q[2] - q[0]", 20),
        ("1 if 0 < 1 < 2 else 1/0", 1),
        ("1 if false and 1/0 > 0 else 2", 2),
        ("1 if true or 1/0 > 0 else 2", 1),
        ("1 if not (1 == 2) else 2", 1),
    ],
)
def test_expressions(expression: str, expected: int) -> None:
    done = once(program(f"emit r({expression})", inputs="q : queries, sensitivity 1"), {"q": [10, 20, 30]})
    assert done.ended == interpreter.Finished()
    assert released(done) == [("r", {"value": F(expected)})]


@pytest.mark.parametrize(
    ("expression", "at_fault", "reason"),
    [
        ("1 + 1/(x - x)", "1/(x - x)", "division by 0"),
        ("1 % 0", "1 % 0", "remainder by 0"),
        ("sqrt(x - 2)", "sqrt(x - 2)", "negative"),
        ("ln(x - 1)", "ln(x - 1)", "not positive"),
        ("clip(x, 2, x)", "clip(x, 2, x)", "not in order"),
        ("y", "y", "no value"),
    ],
)
def test_an_undefined_operation_ends_the_run_at_its_span(expression: str, at_fault: str, reason: str) -> None:
    text = program("z = 1", "if x > 1: y = 1", f"z = {expression}", "emit r(z)")
    done = once(text, {"x": 1})
    assert isinstance(done.ended, interpreter.Fault)
    assert done.ended.condition is Condition.DEFINED
    assert reason in done.ended.reason
    assert text[done.ended.span.start : done.ended.span.end] == at_fault
    assert done.output == ()


@pytest.mark.parametrize("index", ["3", "0 - 1", "1/2"])
def test_an_index_outside_of_its_list_is_a_fault(index: str) -> None:
    done = once(program(f"emit r(q[{index}])", inputs="q : queries, sensitivity 1"), {"q": [1, 2, 3]})
    assert isinstance(done.ended, interpreter.Fault)
    assert done.ended.condition is Condition.DEFINED


def test_loops_count_from_zero_and_break_leaves_the_innermost() -> None:
    text = program(
        "for i, x in q:",
        "  for j in range(i, 10):",
        "    if j == i + 2: break",
        "    emit r(at = 10*i + j, x = x)",
        "  if i == 1: break",
        inputs="q : queries, sensitivity 1",
    )
    done = once(text, {"q": [5, 6, 7]})
    assert [fields["at"] for _, fields in released(done)] == [0, 1, 11, 12]


def test_a_while_loop_and_elif_and_state() -> None:
    text = program(
        "n = 0",
        "while n < 3:",
        "  n = n + 1",
        "  if n == 1: emit one",
        "  elif n == 2: emit two(n)",
        "  else: emit more(n = n, even = n % 2 == 0)",
    )
    done = once(text, {"x": 0})
    assert released(done) == [("one", {}), ("two", {"value": 2}), ("more", {"n": 3, "even": False})]


def test_draws_come_in_order_with_index_value_and_environment() -> None:
    text = program(
        "scale = 2",
        "eta ~ Lap(scale)",
        "for i in range(2):",
        "  scale = scale + 1",
        "  xi[i] ~ Exp(scale)",
        "emit r(eta + xi[0] + xi[1])",
    )
    done = once(text, {"x": 0}, eta=-1, xi=[10, 20])
    assert [draw.key for draw in done.draws] == [("eta", None), ("xi", 0), ("xi", 1)]
    assert [draw.value for draw in done.draws] == [-1, 10, 20]
    assert [draw.args for draw in done.draws] == [(F(2),), (F(3),), (F(4),)]
    assert [d.environment["scale"] for d in done.draws] == [2, 3, 4]
    assert released(done) == [("r", {"value": 29})]


def test_a_variable_drawn_twice_ends_the_run() -> None:
    text = program("for i in range(2):", "  eta ~ Lap(1)", "emit r(1)")
    done = once(text, {"x": 0})
    assert isinstance(done.ended, interpreter.Fault)
    assert done.ended.condition is Condition.FRESH
    assert "`eta`" in done.ended.reason


@pytest.mark.parametrize("noise", ["Lap(x)", "Exp(0 - 1)", "Geo(1)", "Geo(x)", "DLap(1, x)", "DLap(x)"])
def test_a_scale_that_is_not_positive_ends_the_run(noise: str) -> None:
    done = once(program(f"eta ~ {noise}", "emit r(eta)"), {"x": 0})
    assert isinstance(done.ended, interpreter.Fault)
    assert done.ended.condition is Condition.SCALES


@pytest.mark.parametrize(
    "loop", [("while true:", "  pass"), ("for i in range(10**12):", "  pass"), ("while x < 1:", "  x2 = 1")]
)
def test_endless_loops_hit_the_step_limit(loop: tuple[str, ...]) -> None:
    assert once(program(*loop, "emit r(1)"), {"x": 0}).ended == interpreter.StepLimit(10_000)


def test_a_number_that_squares_itself_for_ever_is_refused_and_not_computed() -> None:
    with pytest.raises(Undecided):
        once(program("y = 3", "while true:", "  y = y * y", "emit r(y)"), {"x": 0})


def test_tests_are_recorded_with_both_sides_and_what_they_read() -> None:
    text = program("y = 3", "if x + y > 4 and y == 3: emit yes", "else: emit no")
    done = once(text, {"x": 1})
    (test,) = (step for step in done.steps if isinstance(step, interpreter.TakenTest))
    assert not test.holds
    assert [(c.left, c.right, c.holds) for c in test.compared] == [(4, 4, False)]
    assert [value for _, value in test.leaves] == [1, 3]


# --- both runs --------------------------------------------------------------------------------------------

ADAPTIVE = """
    mechanism adaptive_svt
    input
      q : queries, sensitivity 1, adjacency all
      T : real
      k : int where k >= 1
      eps : real where eps > 0
    privacy eps
    program
      e0 = eps / 2;  e1 = eps / (8*k);  e2 = eps / (4*k);  sigma = 2*sqrt(2)/e1
      eta ~ Lap(1/e0)
      noisy_T = T + eta
      cost = e0
      for i, query in q:
        xi[i]   ~ Lap(1/e1)
        zeta[i] ~ Lap(1/e2)
        if query + xi[i] - noisy_T >= sigma:
          emit top(gap = query + xi[i] - noisy_T, used = 2*e1)
          cost = cost + 2*e1
        elif query + zeta[i] - noisy_T >= 0:
          emit mid(gap = query + zeta[i] - noisy_T, used = 2*e2)
          cost = cost + 2*e2
        else:
          emit below(used = 0)
        if cost > LIMIT: break
    align
      eta     += 1
      xi[i]   += 1 + q[i] - q'[i]   when out[i] is top
      zeta[i] += 1 + q[i] - q'[i]   when out[i] is mid
"""
RIGHT, LATE = spec(ADAPTIVE.replace("LIMIT", "eps - 2*e2")), spec(ADAPTIVE.replace("LIMIT", "eps"))
PUBLIC: dict[str, object] = {"T": 0, "k": 1, "eps": 1}


def conditions(done: Replay) -> list[str]:
    return [violation.condition.id for violation in done.violations]


def test_a_break_too_late_costs_three_halves() -> None:
    done = replay(LATE, pair(PUBLIC, {"q": [1, 1]}, {"q": [0, 0]}))
    assert conditions(done) == ["cost"]
    assert done.cost == F(3, 2)
    assert done.claim == 1
    draws = [step for step in done.steps if isinstance(step.on_d, interpreter.Draw)]
    assert [step.shift for step in draws] == [1, 0, 2, 0, 2]
    assert [step.cost for step in draws] == [F(1, 2), F(1, 2), 1, 1, F(3, 2)]
    primes = [step.on_d_prime.value for step in draws if isinstance(step.on_d_prime, interpreter.Draw)]
    assert primes == [1, 0, 2, 0, 2]
    assert same_output(done.run_d, done.run_d_prime)
    assert done.parted is None
    assert "3/2" in done.violations[0].message


def test_the_right_break_violates_nothing_there() -> None:
    done = replay(RIGHT, pair(PUBLIC, {"q": [1, 1]}, {"q": [0, 0]}))
    assert conditions(done) == []
    assert done.cost == 1
    assert done.claim == 1
    assert done.run_d.draws[-1].key == ("zeta", 0)


halves = st.integers(-8, 8).map(lambda number: F(number, 2))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    k=st.integers(1, 3),
    answers=st.lists(st.tuples(halves, st.sampled_from([F(-1), F(-1, 2), F(0), F(1, 2), F(1)])), max_size=4),
    big=st.lists(st.booleans(), min_size=4, max_size=4),
    noise=st.dictionaries(
        st.one_of(st.just(("eta", None)), st.tuples(st.sampled_from(["xi", "zeta"]), st.integers(0, 3))),
        halves,
        max_size=5,
    ),
)
def test_the_alignment_of_the_paper_violates_nothing_on_any_pair(
    k: int, answers: list[tuple[F, F]], big: list[bool], noise: dict[interpreter.NoiseKey, F]
) -> None:
    data = [answer + 100 * far for (answer, _), far in zip(answers, big, strict=False)]
    prime = [answer + moved for answer, (_, moved) in zip(data, answers, strict=True)]
    run_of = pair({**PUBLIC, "k": k}, {"q": data}, {"q": prime}, dict(noise))
    assert conditions(replay(RIGHT, run_of)) == []
    assert set(conditions(replay(LATE, run_of))) <= {"cost"}


def test_every_step_of_the_program_is_paired() -> None:
    public = {**PUBLIC, "k": 2}
    done = replay(RIGHT, pair(public, {"q": [60, -7]}, {"q": [59, -6]}, {("eta", None): F(1, 2)}))
    assert [type(step.on_d) for step in done.steps] == [type(step.on_d_prime) for step in done.steps]
    emitted = [step.on_d.record.tag for step in done.steps if isinstance(step.on_d, interpreter.Emitted)]
    assert emitted == ["top", "below"]
    assert done.cost == F(1, 2) + F(1, 16) * 2


def test_an_alignment_that_does_not_move_the_query_parts_the_runs_at_the_test() -> None:
    text = """
        mechanism m
        input
          q : query, sensitivity 1
        privacy 1
        program
          eta ~ Lap(1)
          if q + eta >= 0: emit yes
          else: emit no
        align
    """
    mechanism = spec(text)
    done = replay(mechanism, pair({}, {"q": 0}, {"q": -1}))
    assert conditions(done) == ["output"]
    (violation,) = done.violations
    plain = dedent(text).lstrip("\n")
    assert plain[violation.span.start : violation.span.end] == "q + eta >= 0"
    assert "true on D, false on D'" in violation.message
    assert done.parted is not None
    assert isinstance(done.steps[done.parted].on_d, interpreter.TakenTest)


def test_runs_that_part_without_an_effect_on_the_output_violate_nothing() -> None:
    mechanism = spec(
        """
        mechanism m
        input
          q : query, sensitivity 1
        privacy 1
        program
          eta ~ Lap(1)
          if q >= 0: sign = 1
          else: sign = 2
          emit noisy(q + eta)
        align
          eta += q - q'
        """
    )
    done = replay(mechanism, pair({}, {"q": 0}, {"q": -1}))
    assert done.parted is not None
    assert conditions(done) == []


def test_a_released_number_that_differs_points_at_its_field() -> None:
    text = """
        mechanism m
        input
          q : query, sensitivity 1
        privacy 1
        program
          eta ~ Lap(1)
          emit both(noisy = q + eta, true = q)
        align
          eta += q - q'
    """
    done = replay(spec(text.replace("true =", "plain =")), pair({}, {"q": 1}, {"q": 0}))
    assert conditions(done) == ["output"]
    assert "`plain` is 1 on D, 0 on D'" in done.violations[0].message


def test_case_splits_primes_of_state_and_replacement_of_a_draw() -> None:
    mechanism = spec(
        """
        mechanism m
        input
          q : queries, sensitivity 1, adjacency monotone
        privacy 2
        program
          total = 0
          for i, x in q:
            total = total + x
            eta[i] ~ Lap(1)
            emit sum(total + eta[i])
        align
          case q <= q':
            eta[i] -= total' - total
          otherwise:
            eta[i] = eta[i] + total - total'
        """
    )
    for other, shift in (([1, 1], [-1, -2]), ([-1, 0], [1, 1])):
        done = replay(mechanism, pair({}, {"q": [0, 0]}, {"q": other}, {("eta", 0): 3}))
        assert [step.shift for step in done.steps if isinstance(step.on_d, interpreter.Draw)] == shift
        assert same_output(done.run_d, done.run_d_prime)
        assert done.cost == sum(map(abs, shift))
        assert conditions(done) == (["cost"] if done.cost > 2 else [])


def test_lines_for_one_draw_add_up_and_a_fixed_index_restricts_a_line() -> None:
    mechanism = spec(
        """
        mechanism m
        input
          k : int where k >= 1
          q : queries, sensitivity 1
        privacy 10
        program
          for i, x in q:
            xi[i] ~ Lap(1)
          emit done
        align
          xi[0] += 10
          xi[k] += 100
          xi[i] += 1
          xi[j] -= 3 when j >= 1 and len(out) == 1 and out.count(done) == 1
        """
    )
    done = replay(mechanism, pair({"k": 2}, {"q": [0] * 3}, {"q": [0] * 3}))
    assert [step.shift for step in done.steps if isinstance(step.on_d, interpreter.Draw)] == [11, -2, 98]


def test_aligned_values_of_other_draws_can_be_used_along_an_order() -> None:
    text = """
        mechanism m
        input
          q : query, sensitivity 1
        privacy 10
        program
          a ~ Lap(1)
          b ~ Lap(1)
          emit done
        align
          a += 1
          b += a' - 2*a
    """
    noise: dict[interpreter.NoiseKey, object] = {("a", None): 5}
    done = replay(spec(text), pair({}, {"q": 0}, {"q": 0}, noise))
    assert dict(aligned(replay(spec(text), done.scenario))) == {("a", None): 6, ("b", None): -4}
    later = spec(text.replace("a += 1", "a += b' + b").replace("b += a' - 2*a", "b += a - 1"))
    assert dict(aligned(replay(later, done.scenario))) == {("a", None): 9, ("b", None): 4}


@pytest.mark.parametrize(("a", "b"), [("b'", "a'"), ("a'", "1"), ("b'", "a' - 2*a")])
def test_a_draw_that_needs_its_own_aligned_value_has_none(a: str, b: str) -> None:
    text = f"""
        mechanism m
        input
          q : query, sensitivity 1
        privacy 10
        program
          a ~ Lap(1)
          b ~ Lap(1)
          emit done
        align
          a += {a}
          b += {b}
    """
    done = replay(spec(text), pair({}, {"q": 0}, {"q": 0}))
    assert conditions(done) == ["acyclic"]
    (violation,) = done.violations
    assert "the aligned `a` depends on itself" in violation.message
    plain = dedent(text).lstrip("\n")
    assert plain[violation.span.start : violation.span.end] == f"a += {a}"
    assert done.run_d_prime.steps == ()
    with pytest.raises(Undecided):
        aligned(replay(spec(text), done.scenario))


def test_two_noise_vectors_with_one_image() -> None:
    """A shift by its own draw's absolute value maps -1 and 1/3 of the noise to the same number."""
    mechanism = spec(
        """
        mechanism m
        input
          q : query, sensitivity 1
        privacy 10
        program
          eta ~ Lap(1)
          emit done
        align
          eta += 2*abs(eta)
        """
    )
    images = {
        aligned(replay(mechanism, pair({}, {"q": 0}, {"q": 0}, {("eta", None): value}))) for value in (1, -3)
    }
    assert images == {((("eta", None), F(3)),)}


@pytest.mark.parametrize(("noise", "found"), [("Lap(2/eps)", []), ("DLap(2/eps, 1)", ["output"])])
def test_a_run_that_needs_a_tie_of_continuous_noise_violates_nothing(noise: str, found: list[str]) -> None:
    """On D the first and the third are tied, on D' all of them, and the second comes first in the order."""
    tied = spec(f"""
        mechanism m
        input
          q : queries, sensitivity 1, adjacency all
          eps : real where eps > 0
        privacy eps
        program
          for i in range(len(q)):
            eta[i] ~ {noise}
            order[i] ~ Uniform(1)
          most = max(q[i] + eta[i] for i in q)
          winner = argmax(order[i] for i in q where q[i] + eta[i] == most)
          second = max(q[i] + eta[i] for i in q where i != winner)
          emit best(winner)
        align
          eta[i] += q[i] - q'[i] + max(q'[j] + eta[j] for j in q where j != i) - second when i == winner
        """)
    drawn: dict[interpreter.NoiseKey, object] = {("order", 0): F(1, 2), ("order", 1): F(3, 4)}
    done = replay(tied, pair({"eps": 1}, {"q": [0, -1, 0]}, {"q": [0, 0, 0]}, drawn))
    assert [violation.condition.id for violation in done.violations] == found


def test_draw_counts_that_the_output_does_not_reveal() -> None:
    mechanism = spec(
        """
        mechanism m
        input
          q : query, sensitivity 1
        privacy 1
        program
          eta ~ Lap(1)
          if q > 0: xi ~ Lap(1)
          emit noisy(q + eta)
        align
          eta += q - q'
        """
    )
    done = replay(mechanism, pair({}, {"q": 1}, {"q": 0}))
    assert conditions(done) == ["draws"]
    assert "2 draws on D and 1 on D'" in done.violations[0].message


@pytest.mark.parametrize(
    ("noise", "shift", "expected"),
    [
        ("Exp(1)", "0 - 1", ["support"]),
        ("Exp(1)", "1/2", []),
        ("Geo(1/2)", "1/2", ["support"]),
        ("Geo(1/2)", "1", []),
        ("DLap(2)", "1/2", ["support"]),
        ("DLap(2, 1/2)", "1/2", []),
        ("DExp(2)", "1/2", ["support"]),
        ("DExp(2, 1/2)", "1/2", []),
        ("DExp(2, 1/2)", "0 - 1/2", ["support"]),
        ("Lap(1 + q)", "0", ["scales"]),
        ("Lap(q)", "0", ["scales"]),
    ],
)
def test_support_and_scales(noise: str, shift: str, expected: list[str]) -> None:
    mechanism = spec(
        f"""
        mechanism m
        input
          q : query, sensitivity 1
        privacy 1
        program
          eta ~ {noise}
          emit done
        align
          eta += {shift}
        """
    )
    assert conditions(replay(mechanism, pair({}, {"q": 1}, {"q": 0}))) == expected


def test_the_cost_of_geometric_noise_is_exact() -> None:
    """1/α = -ln(1 - p): with p = 1 - exp(-e0) it is e0, not a decimal near it."""
    mechanism = spec(
        """
        mechanism m
        input
          q : int query, sensitivity 1
          e0 : real where e0 > 0
        privacy 2*e0
        program
          eta ~ Geo(1 - exp(-e0))
          emit done
        align
          eta += 2
        """
    )
    done = replay(mechanism, pair({"e0": F(1, 3)}, {"q": 0}, {"q": 0}))
    assert (done.cost, done.claim) == (F(2, 3), F(2, 3))
    assert conditions(done) == []


def test_a_fault_on_one_database_only() -> None:
    mechanism = spec(
        """
        mechanism m
        input
          q : query, sensitivity 1
        privacy 1
        program
          emit inverse(1/q)
        """
    )
    done = replay(mechanism, pair({}, {"q": 1}, {"q": 0}))
    assert conditions(done) == ["defined"]
    assert done.violations[0].message.startswith("on D'")
    assert conditions(replay(mechanism, pair({}, {"q": 0}, {"q": 1}))) == ["defined"]


def test_invariants_are_evaluated_on_both_runs() -> None:
    mechanism = spec(
        """
        mechanism m
        input
          q : queries, sensitivity 1
        privacy 10
        program
          count = 0
          for i, x in q:
            invariant count == i
            invariant alignment_cost <= 2*count
            invariant x' <= x
            xi[i] ~ Lap(1/3)
            count = count + 1
            emit noisy(x + xi[i])
        align
          xi[i] += q[i] - q'[i]
        """
    )
    done = replay(mechanism, pair({}, {"q": [0, 1]}, {"q": [0, 0]}))
    assert conditions(done) == []
    done = replay(mechanism, pair({}, {"q": [1, 0]}, {"q": [0, 1]}))
    assert conditions(done) == ["invariant", "invariant"]
    assert all("i = 1" in violation.message for violation in done.violations)


def test_a_run_that_is_cut_off_claims_nothing() -> None:
    mechanism = spec(
        """
        mechanism m
        input
          q : query, sensitivity 1
        privacy 1
        program
          eta ~ Lap(1)
          while q + eta > 0: pass
          emit done
        align
          eta += 5
        """
    )
    done = replay(mechanism, pair({}, {"q": 1}, {"q": 0}), limit=50)
    assert done.run_d.ended == interpreter.StepLimit(50)
    assert conditions(done) == []
    assert done.claim is None


# --- legal pairs ------------------------------------------------------------------------------------------

ADJACENT = [
    ("sensitivity 1, adjacency all", [0, 0, 0], [1, -1, F(1, 2)], True),
    ("sensitivity 1, adjacency all", [0, 0, 0], [0, 2, 0], False),
    ("sensitivity 1, adjacency one", [0, 0, 0], [0, -1, 0], True),
    ("sensitivity 1, adjacency one", [0, 0, 0], [0, -1, 1], False),
    ("sensitivity 1, adjacency monotone", [0, 0, 0], [1, 0, 1], True),
    ("sensitivity 1, adjacency monotone", [0, 0, 0], [1, 0, -1], False),
    ("sensitivity 1, adjacency moved", [0, 0, 0], [1, 0, -1], True),
    ("sensitivity 1, adjacency moved", [0, 0, 0], [1, 1, 0], False),
    ("sensitivity 2, adjacency l1", [0, 0, 0], [1, 0, -1], True),
    ("sensitivity 2, adjacency l1", [0, 0, 0], [1, F(1, 2), -1], False),
    ("adjacency any, range [0, 1]", [0, 0, 0], [1, 1, 1], True),
    ("adjacency any, range [0, 1]", [0, 0, 0], [1, 2, 1], False),
    ("sensitivity 1, lattice 1/2", [0, 0, 0], [F(1, 2), 1, 0], True),
    ("sensitivity 1, lattice 1/2", [0, 0, 0], [F(1, 4), 1, 0], False),
    ("sensitivity b[i]", [0, 0, 0], [0, 1, 2], True),
    ("sensitivity b[i]", [0, 0, 0], [1, 0, 0], False),
]


@pytest.mark.parametrize(("attributes", "data", "data_prime", "legal"), ADJACENT)
def test_adjacency(attributes: str, data: list[object], data_prime: list[object], legal: bool) -> None:
    mechanism = spec(
        f"""
        mechanism m
        input
          b : vector
          q : queries, {attributes}
        privacy 1
        program
          emit done
        """
    )
    scenario = pair({"b": [0, 1, 2]}, {"q": data}, {"q": data_prime})
    assert (check_scenario(mechanism, scenario) == []) is legal
    if not legal:
        with pytest.raises(ScenarioError):
            replay(mechanism, scenario)


@pytest.mark.parametrize(
    ("adjacency", "p", "r", "legal"),
    [
        ("one", [1], [0], True),
        ("one", [1], [1], False),
        ("l1", [F(1, 2)], [F(-1, 2)], True),
        ("l1", [1], [F(-1, 2)], False),
        ("monotone", [1], [1], True),
        ("monotone", [1], [-1], False),
    ],
)
def test_names_on_one_line_share_their_adjacency(
    adjacency: str, p: list[object], r: list[object], legal: bool
) -> None:
    mechanism = spec(
        f"""
        mechanism m
        input
          p, r : queries, sensitivity 1, adjacency {adjacency}
        privacy 1
        program
          emit done
        """
    )
    scenario = pair({}, {"p": [0], "r": [0]}, {"p": p, "r": r})
    assert (check_scenario(mechanism, scenario) == []) is legal


@pytest.mark.parametrize(
    ("parameters", "data", "data_prime", "reason"),
    [
        ({"k": 0}, {"q": [0]}, {"q": [0]}, "where"),
        ({"k": F(3, 2)}, {"q": [0]}, {"q": [0]}, "no integer"),
        ({}, {"q": [0]}, {"q": [0]}, "`k` has no value"),
        ({"k": True}, {"q": [0]}, {"q": [0]}, "numbers"),
        ({"k": [1]}, {"q": [0]}, {"q": [0]}, "one value"),
        ({"k": 1}, {"q": [0]}, {}, "`q'` has no value"),
        ({"k": 1}, {"q": [0]}, {"q": [0, 0]}, "different lengths"),
        ({"k": 1}, {"q": [F(1, 2)]}, {"q": [0]}, "no integer"),
        ({"k": 1}, {"q": 0}, {"q": [0]}, "a list"),
    ],
)
def test_why_a_pair_is_not_legal(
    parameters: dict[str, object], data: dict[str, object], data_prime: dict[str, object], reason: str
) -> None:
    mechanism = spec(
        """
        mechanism m
        input
          k : int where k >= 1
          q : int queries, sensitivity 1
        privacy 1
        program
          emit done
        """
    )
    reasons = check_scenario(mechanism, pair(parameters, data, data_prime))
    assert any(reason in one for one in reasons), reasons


def test_noise_that_cannot_be_drawn_makes_the_scenario_illegal() -> None:
    mechanism = spec(
        """
        mechanism m
        input
          q : query, sensitivity 1
        privacy 1
        program
          eta ~ Exp(1)
          emit done
        """
    )
    with pytest.raises(ScenarioError, match="negative"):
        replay(mechanism, pair({}, {"q": 0}, {"q": 0}, {("eta", None): -1}))


def test_scenarios_are_values() -> None:
    one, other = (pair(PUBLIC, {"q": [1]}, {"q": [0]}, {("eta", None): 1}) for _ in range(2))
    assert one == other
    assert len({one, other}) == 1

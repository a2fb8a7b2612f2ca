"""Cut points, paths and what stands on them, counted by hand for small programs."""

from __future__ import annotations

import pytest
from small_specs import mechanism, only, paths_of, symbol, ways

from aligncheck.effort import Effort
from aligncheck.language.families import Family
from aligncheck.language.internal import InternalError
from aligncheck.search.obligations.obligation import run_on_d, run_on_d_prime
from aligncheck.search.relational import executor as module
from aligncheck.search.relational import family_facts
from aligncheck.search.relational.analysis import analyse, unrolled
from aligncheck.search.relational.blocks import changed_in, is_visible
from aligncheck.search.relational.ir import (
    ONE,
    TRUE,
    ZERO,
    App,
    Nature,
    Sym,
    TermSort,
    add,
    and_,
    atoms,
    const,
    div,
    eq,
    implies,
    ite,
    le,
    lt,
    mul,
    neg,
    not_,
    sub,
)
from aligncheck.search.relational.labels import (
    Apart,
    DrawOnD,
    Latest,
    Ledger,
    ListLength,
    RecordCount,
    RecordIs,
)
from aligncheck.search.relational.path_state import Unroll
from aligncheck.search.relational.paths import Assumed, Required, TooManyPathsError
from aligncheck.search.relational.theory import Grounding, Theory

ETA = Sym(DrawOnD("eta", Family.LAPLACE), TermSort.REAL, Nature.NOISE)
EPS = Sym("eps", TermSort.REAL, Nature.PARAMETER)
K = Sym("k", TermSort.INT, Nature.PARAMETER)
X = Sym("x", TermSort.REAL, Nature.DATA)
D = Sym(Apart("x"), TermSort.REAL, Nature.DISTANCE)
LENGTH = Sym(ListLength("q"), TermSort.INT, Nature.PARAMETER)
ONE_ANSWER = "x : query, sensitivity 1\nk : int where k >= 1\neps : real where eps > 0"


# --- straight lines and branches --------------------------------------------------------------------------


def test_a_straight_program_is_one_path() -> None:
    found = paths_of("eta ~ Lap(1/eps)\nemit value(x + eta)", "eta += x - x'", ONE_ANSWER)
    assert ways(found) == [(0, None)]
    path = only(found, 0, None)
    (draw,) = path.drawings()
    (record,) = path.emissions()
    assert draw.left.value == ETA
    assert draw.shift == neg(D)
    assert draw.left.inverse_alpha == EPS
    assert draw.before == const(-1)
    ((_, released, _),) = record.fields
    assert released.left == add(X, ETA)
    assert released.right == add(X, ETA)
    assert record.position == ZERO
    assert path.env[Ledger.RECORDS].left == ONE
    assert path.env[Ledger.COST].left == draw.cost


def test_a_branch_that_emits_forks_and_both_runs_take_the_same_arm() -> None:
    found = paths_of("if x > 0: emit above\nelif x > -1: emit near\nelse: emit below", "", ONE_ANSWER)
    assert len(found.paths) == 3
    arms = [tuple(d.taken for d in p.decisions()) for p in found.paths]
    assert sorted(arms) == [(False, False), (False, True), (True,)]
    assert [e.tag for p in found.paths for e in p.emissions()] == ["above", "near", "below"]
    for path in found.paths:
        assert len(run_on_d(path)) == len(run_on_d_prime(path)) == len(path.decisions())
        assert not any(d.hidden for d in path.decisions())


def test_a_branch_on_a_shared_test_forks_even_if_it_only_assigns() -> None:
    found = paths_of("a = 0\nif k > 2: a = 1\nemit value(a)", "", ONE_ANSWER)
    assert sorted(p.emissions()[0].fields[0][1].left == ONE for p in found.paths) == [False, True]


def test_hidden_arms_fork_on_d_and_are_conditional_on_d_prime() -> None:
    found = paths_of("a = 0\nif x > 0: a = 1\nemit value(a)", "", ONE_ANSWER)
    assert len(found.paths) == 2
    for path in found.paths:
        (decision,) = path.decisions()
        ((_, value, _),) = path.emissions()[0].fields
        assert decision.hidden
        assert decision.holds(True) == TRUE
        assert value.left == (ONE if decision.taken else ZERO)
        assert value.right == ite(lt(ZERO, add(X, D)), ONE, ZERO)
        assert run_on_d(path) == ((lt(ZERO, X) if decision.taken else le(X, ZERO)),)
        assert TRUE not in run_on_d_prime(path)


def test_nested_hidden_arms_are_counted() -> None:
    program = """
        a = 0
        if x > 0:
          if x > 2: a = 1
          else: a = 2
        elif x > -2: a = 3
        emit value(a)
    """
    found = paths_of(program, "", ONE_ANSWER)
    assert len(found.paths) == 4
    assert len({p.emissions()[0].fields[0][1].right for p in found.paths}) == 1


def test_too_many_hidden_arms_merge_into_conditional_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    program = "a = 0\n" + "\n".join(f"if x > {n}: a = a + {n}" for n in range(3)) + "\nemit value(a)"
    assert len(paths_of(program, "", ONE_ANSWER).paths) == 8
    monkeypatch.setattr(module, "ARMS_LIMIT", 1)
    found = paths_of(program, "", ONE_ANSWER)
    assert len(found.paths) == 1
    ((_, value, _),) = found.paths[0].emissions()[0].fields
    assert X in atoms((value.left,))
    assert D in atoms((value.right,))


def test_what_must_be_defined_in_an_arm_is_asked_only_there() -> None:
    found = paths_of("a = 0\nif x > 0: a = 1/x\nemit value(a)", "", ONE_ANSWER)
    for path in found.paths:
        needed = [e for e in path.events if isinstance(e, Required)]
        taken = path.decisions()[0].taken
        assert len([e for e in needed if not e.primed]) == (1 if taken else 0)
        (primed,) = [e for e in needed if e.primed]
        # On D' it is asked wherever that run takes the arm.
        assert primed.partial.condition == implies(lt(ZERO, add(X, D)), not_(eq(add(X, D), ZERO)))


def test_a_test_that_is_always_true_makes_no_fork() -> None:
    found = paths_of("if 1 < 2: emit yes\nelse: emit no", "", ONE_ANSWER)
    assert [e.tag for p in found.paths for e in p.emissions()] == ["yes"]
    assert found.paths[0].decisions() == ()


# --- loops ------------------------------------------------------------------------------------------------


def test_a_loop_over_answers_has_four_kinds_of_paths() -> None:
    found = paths_of("for i, x in q:\n  xi[i] ~ Lap(1/eps)\n  if x + xi[i] > 0: break\nemit done")
    assert ways(found) == [(0, 1), (1, 1), (1, None), (1, None)]
    i = symbol(found, "i@1")
    assert (i.sort, i.kind) == (TermSort.INT, Nature.COUNTER)
    entry = only(found, 0, 1)
    assert entry.env[Ledger.COUNTER].left == ZERO
    again = only(found, 1, 1)
    assert again.env[Ledger.COUNTER].left == add(i, ONE)
    assert lt(i, LENGTH) in run_on_d(again)
    (draw,) = again.drawings()
    assert draw.position == i
    assert draw.before == symbol(found, "#latest:xi@1")
    assert again.env[Latest("xi")].left == i
    ends = [p for p in found.paths if p.target is None]
    assert sorted(len(p.drawings()) for p in ends) == [0, 1]
    (exhausted,) = [p for p in ends if not p.drawings()]
    assert le(LENGTH, i) in run_on_d(exhausted)


def test_a_loop_may_run_zero_times() -> None:
    found = paths_of("n = 5\nfor i in range(k, 3):\n  n = n + 1\nemit value(n)")
    assert ways(found) == [(0, 1), (1, 1), (1, None)]
    assert only(found, 0, 1).env[Ledger.COUNTER].left == K
    n = symbol(found, "n@1")
    assert only(found, 0, 1).env["n"].left == const(5)
    assert only(found, 1, 1).env["n"].left == add(n, ONE)
    ((_, value, _),) = only(found, 1, None).emissions()[0].fields
    assert value.left == n


def test_what_a_loop_does_not_change_keeps_its_value() -> None:
    found = paths_of("a = k + 1\nn = 0\nfor i, x in q:\n  n = n + a\nemit value(n + a)")
    cut = found.cuts[1]
    assert "a" not in cut.fresh
    assert cut.env["a"].left == add(K, ONE)
    assert set(cut.fresh) >= {"n", Ledger.COUNTER}


def test_a_private_variable_has_a_distance_of_its_own() -> None:
    found = paths_of("s = 0\nfor i, x in q:\n  s = s + x\nemit value(s)")
    pair = found.cuts[1].fresh["s"]
    assert pair.left == symbol(found, "s@1")
    assert pair.distance == symbol(found, "d:s@1")
    end = only(found, 1, 1).env["s"]
    i = symbol(found, "i@1")
    moved = App(Apart("q"), (i,), TermSort.REAL, Nature.DISTANCE)
    assert sub(end.right, end.left) == add(pair.distance, moved)


def test_nested_loops_know_what_is_around_them() -> None:
    found = paths_of("for i, x in q:\n  for j in range(k):\n    emit tick\nemit done")
    assert ways(found) == [(0, 1), (1, 2), (1, None), (2, 1), (2, 2)]
    outer, inner = found.cuts[1], found.cuts[2]
    assert (outer.parent, outer.enclosing) == (0, ())
    assert (inner.parent, inner.enclosing) == (1, (1,))
    assert found.within(2, outer)
    assert not found.within(1, inner)


def test_a_break_leaves_the_innermost_loop() -> None:
    found = paths_of("for i, x in q:\n  for j in range(k):\n    break\n  emit tick\nemit done")
    assert ways(found) == [(0, 1), (1, 2), (1, None), (2, 1), (2, 1)]
    assert all([e.tag for e in p.emissions()] == ["tick"] for p in found.paths if p.origin == 2)


def test_loops_one_after_the_other() -> None:
    found = paths_of("for i, x in q:\n  emit first\nfor i, x in q:\n  emit second")
    assert ways(found) == [(0, 1), (1, 1), (1, 2), (2, 2), (2, None)]
    assert found.cuts[2].parent == 1
    assert found.cuts[2].enclosing == ()


def test_a_while_loop_is_cut_at_its_test() -> None:
    found = paths_of("n = 0\nwhile n < k:\n  n = n + 1\nemit done")
    assert ways(found) == [(0, 1), (1, 1), (1, None)]
    n = symbol(found, "n@1")
    assert run_on_d(only(found, 1, 1)) == (lt(n, K),)
    assert run_on_d(only(found, 1, None)) == (le(K, n),)
    assert only(found, 1, 1).decisions()[0].loop == 1


def test_a_variable_that_gets_a_fraction_is_no_integer() -> None:
    found = paths_of("n = 0\nm = 0\nfor i, x in q:\n  n = n + 1/2\n  m = m + 1\nemit done")
    assert symbol(found, "n@1").sort is TermSort.REAL
    assert symbol(found, "m@1").sort is TermSort.INT


def test_a_condition_of_the_way_in_is_remembered_if_it_is_the_only_one() -> None:
    found = paths_of("if k > 3:\n  emit go\n  for i, x in q:\n    emit tick\nelse:\n  emit stop")
    assert lt(const(3), K) in found.cuts[1].facts
    two = paths_of("if k > 3: emit go\nelse: emit stop\nfor i, x in q:\n  emit tick")
    assert lt(const(3), K) not in two.cuts[1].facts
    assert le(K, const(3)) not in two.cuts[1].facts


# --- the output and the alignment -------------------------------------------------------------------------


def test_the_output_says_what_the_run_on_d_emits() -> None:
    found = paths_of(
        "eta ~ Lap(1/eps)\nif x + eta > 0: emit above(3)\nelse: emit below",
        "eta += 1 when out[0] is above and out[0].value > k and len(out) > 0 and out.count(below) == 0",
        ONE_ANSWER,
    )
    (above,) = [p for p in found.paths if p.emissions()[0].tag == "above"]
    facts = [e.fact for e in above.events if isinstance(e, Assumed)]
    here = App(RecordIs("above"), (ZERO,), TermSort.BOOL, Nature.OMEGA)
    length = Sym(RecordCount(None), TermSort.INT, Nature.OMEGA)
    below = Sym(RecordCount("below"), TermSort.INT, Nature.OMEGA)
    assert here in facts
    assert lt(ZERO, length) in facts
    assert eq(length, ONE) in facts
    assert eq(below, ZERO) in facts
    (other,) = [p for p in found.paths if p is not above]
    assert not_(here) in [e.fact for e in other.events if isinstance(e, Assumed)]


def test_lines_add_up_and_are_valued_where_the_draw_is() -> None:
    found = paths_of(
        "n = 1\neta ~ Lap(1/eps)\nn = 2\nemit value(x + eta)",
        "eta += n\neta -= k when x > 0\neta += 5 when k < 1 and k > 1",
        ONE_ANSWER,
    )
    (draw,) = found.paths[0].drawings()
    assert draw.shift == add(
        ONE,
        ite(lt(ZERO, X), neg(K), ZERO),
        ite(and_((lt(K, ONE), lt(ONE, K))), const(5), ZERO),
    )
    assert len(draw.lines) == 3


def test_a_new_value_is_a_shift() -> None:
    found = paths_of("eta ~ Lap(1/eps)\nemit done", "eta = -eta", ONE_ANSWER)
    assert found.paths[0].drawings()[0].shift == mul(const(-2), ETA)


def test_the_cost_is_the_shift_over_the_scale() -> None:
    found = paths_of("eta ~ Lap(2/eps)\nxi ~ Exp(k)\nemit done", "eta += -3\nxi += 1", ONE_ANSWER)
    path = found.paths[0]
    assert [d.cost for d in path.drawings()] == [mul(const(3), div(EPS, const(2))), div(ONE, K)]
    assert le(ZERO, path.drawings()[1].left.value) in run_on_d(path)


# --- limits and names -------------------------------------------------------------------------------------


def test_too_many_paths_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATH_LIMIT", 3)
    with pytest.raises(TooManyPathsError):
        paths_of("\n".join(f"if k > {n}: emit a\nelse: emit b" for n in (1, 2)))


def test_a_test_that_the_path_has_decided_does_not_fork_it_again() -> None:
    found = paths_of("hit = k > 1\nif hit: emit a\nelse: emit b\nif hit: emit c\nelse: emit d")
    assert [[e.tag for e in p.emissions()] for p in found.paths] == [["a", "c"], ["b", "d"]]


def test_a_hidden_test_decides_nothing_for_the_other_run() -> None:
    program = "hit = x > 1\ny = 0\nif hit: y = 1\nif hit: emit a\nelse: emit b"
    found = paths_of(program, "", ONE_ANSWER)
    assert len(found.paths) == 4


def test_two_symbols_never_share_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine itself would notice: a draw named like an answer is caught."""
    program = "a = x\neta ~ Lap(1/eps)\nemit value(a + eta)"
    paths_of(program, "", ONE_ANSWER)
    monkeypatch.setattr(
        family_facts,
        "symbol",
        lambda name, index, family: Sym(DrawOnD("x", Family.LAPLACE), TermSort.REAL, Nature.NOISE),
    )
    with pytest.raises(InternalError, match="two symbols are called x"):
        paths_of(program, "", ONE_ANSWER)


def test_a_variable_drawn_from_two_families_is_two_symbols() -> None:
    found = paths_of("if k > 1: eta ~ Lap(1)\nelse: eta ~ Exp(1)\nemit value(eta)")
    drawn = {p.drawings()[0].left.symbol for p in found.paths}
    assert len({s.name for s in drawn}) == 2


def test_unrolled_paths_are_whole_runs() -> None:
    spec = mechanism("for i, x in q:\n  if x > 0: emit above\n  else: break\nemit done")
    theory = Theory(spec, Grounding({}, {"q": 2}))
    found = unrolled(theory, Unroll(3, 100))
    # break at once, break at the second answer, or run to the end
    assert sorted(len(p.emissions()) for p in found.paths) == [1, 2, 3]
    assert {(p.origin, p.target) for p in found.paths} == {(0, None)}


@pytest.mark.parametrize("unroll", [Unroll(3, 100), Unroll(3, 100, effort=Effort(seconds=-1))])
def test_what_takes_too_long_is_not_unrolled(unroll: Unroll) -> None:
    rounds = 10_000 if not unroll.effort.is_over else 10
    spec = mechanism(f"for t in range({rounds}):\n  a[t] ~ Lap(1)\n  emit r(a[t])")
    with pytest.raises(TooManyPathsError):
        unrolled(Theory(spec, Grounding({}, {})), unroll)


def test_blocks_say_what_they_change() -> None:
    spec = mechanism("a = 1\nfor i, x in q:\n  xi[i] ~ Lap(1)\n  emit t\n  b = 2\nif k > 1: a = 2")
    assigned, drawn, emits = changed_in(spec.body)
    assert assigned == {"a", "b", "i", "x"}
    assert drawn == {"xi"}
    assert emits
    assert not is_visible(spec.body[-1:])
    assert is_visible(spec.body[1:2])


def test_analysis_is_repeatable() -> None:
    spec = mechanism("for i, x in q:\n  if x > 0: emit above\nemit done")
    assert analyse(Theory(spec)).paths == analyse(Theory(spec)).paths

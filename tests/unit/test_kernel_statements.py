"""Statements, loops and calls in the kernel: what both runs do alike, what ends, what a call costs."""

from __future__ import annotations

from dataclasses import replace

import pytest
import z3
from kernel_cases import decide
from kernel_pairs import CALLEE, Pair, calling, loop, spec

from aligncheck.kernel.answer import Reject, Rejected
from aligncheck.kernel.calls import Actual
from aligncheck.kernel.decide import Kernel
from aligncheck.kernel.logic import Decider
from aligncheck.kernel.loops import Looping
from aligncheck.kernel.run import bounds
from aligncheck.kernel.state import Path
from aligncheck.kernel.witness import LoopWitness, Witness
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import statements_in
from aligncheck.number_terms import NumberContext
from aligncheck.search.witness.witness_json import expression

NOTHING = Witness()


def rejected(text: str, witness: Witness = NOTHING, callee: str = CALLEE) -> str | None:
    """The condition at which the kernel rejects a spec, or None."""
    found = decide(Pair("", text, "", callee=callee).right, witness)
    return found.condition if isinstance(found, Rejected) else None


# --- statements ---------------------------------------------------------------------------------------------

NOISY = "eta ~ Lap(1/eps)"


@pytest.mark.parametrize(
    ("lines", "condition"),
    [
        (("s = x", "emit done"), None),
        (("s = x", "emit done(v = s)"), "output"),
        (("emit done(v = eps)",), None),
        (("s = 1 if x > 0 else 1", "emit done(v = s)"), None),
        (("if x > 0: s = 1", "else: s = 2", "emit done"), None),
        (("if x > 0: s = 1", "else: s = 2", "emit done(v = s)"), "output"),
        (("if x > 0: s = 1", "else: s = 1", "emit done(v = s)"), None),
        (("if x > 0: emit done", "else: pass"), "output"),
        (("if x > 0: emit done", "else: emit done"), "output"),
        (("if eps > 1: emit done", "else: pass"), None),
        (("if eps > 1: s = 1", "emit done(v = s)"), "defined"),
        (("s = 2", "if eps > 1: s = 1", "emit done(v = s)"), None),
        (("s = x", "r = 0", "if eps > 2: s = 0", "elif eps > 1: r = s", "emit done(v = r)"), "output"),
        (("if eps > 1: emit done", "else: emit other(v = x)"), "output"),
        (("if x > 0: s = 1/x", "else: s = 1", "emit done"), None),
        (("if x > 0: s = 1", "else: s = 1/x", "emit done"), "defined"),
        (("if x == 0: s = 1", "else: s = 1/x", "emit done"), None),
        (("if x < 0: s = 1", "elif x > 0: s = 1/x", "emit done"), None),
        ((NOISY, "emit done(v = x + eta)"), None),
        ((NOISY, "if x + eta > 0: emit done"), None),
        ((NOISY, "if 2*x + eta > 0: emit done"), "output"),
        ((NOISY, "eta ~ Lap(1)", "emit done"), "fresh"),
        (("if eps > 1: eta ~ Lap(1/eps)", "else: eta ~ Lap(1/eps)", "emit done(v = x + eta)"), None),
        (("s = eta", NOISY, "emit done"), "defined"),
    ],
)
def test_both_runs_show_the_same(lines: tuple[str, ...], condition: str | None) -> None:
    """What is released, and each test that decides what is; not what only assigns, where each run has a value
    of its own.
    """
    assert rejected(spec(*lines, align="eta += x - x'" if "eta" in str(lines) else "")) == condition


def test_what_an_arm_tells_is_known_of_the_run_that_takes_it() -> None:
    """That a root is one of a number from 0 upwards says nothing of D', where the test may fail."""
    lines = ("s = 0", "if x > 0: s = sqrt(x)", "z ~ Exp(1/eps)", "emit done")
    for run, condition in (("x'", None), ("x", "support")):
        align = f"z += clip(x', 0 - 1, 1) when {run} > 0"
        assert rejected(spec(*lines, align=align)) == condition


def test_bounds_are_from_and_below() -> None:
    ctx = NumberContext()
    seven = ctx.integer(7)
    for low, high, holds in ((7, 8, True), (None, 8, True), (7, None, True), (8, 9, False), (6, 7, False)):
        ends = [None if end is None else ctx.integer(end) for end in (low, high)]
        known = bounds(seven, *ends)
        assert len(known) == sum(end is not None for end in ends)
        assert all(z3.is_true(z3.simplify(each)) for each in known) is holds


# --- loops --------------------------------------------------------------------------------------------------

K = "  k : int where k >= 1\n"
DOWN = ("n = k", "while n > 0:", "  n = n - 1", "emit done")
HALF = ("n = k", "while n > 0:", "  n = n - 1/2", "emit done")
LEFT = ("n = k", "while true:", "  n = n - 1", "  if n < 0: break", "emit done")


@pytest.mark.parametrize(
    ("lines", "hints", "condition"),
    [
        (("for y in q: pass", "emit done"), loop(), None),
        (DOWN, loop("n == n'", measure="n"), None),
        (DOWN, loop("n == n'", measure="n - 1"), None),
        (DOWN, loop("n == n'", measure="n - 2"), "terminates"),
        (DOWN, loop("n == n'", measure="0 - n"), "terminates"),
        (DOWN, loop("n == n'", measure="k"), "terminates"),
        (DOWN, loop("n == n'", measure="n - $head_0_n"), "terminates"),
        (DOWN, loop(), "terminates"),
        (HALF, loop("n == n'", measure="n"), "terminates"),
        (HALF, loop("n == n'", measure="2*n"), None),
        (LEFT, loop("n == n'", measure="n"), "terminates"),
        (LEFT, loop("n == n'", measure="n", early="n >= 0"), None),
    ],
)
def test_a_loop_ends_as_its_measure_falls(
    lines: tuple[str, ...], hints: LoopWitness, condition: str | None
) -> None:
    """By 1 at least in each round that leads back to the head, and never below 0 in a round."""
    assert rejected(spec(*lines, more=K), Witness((hints,))) == condition


WAIT = "i = 0|go = true|while go:|  z[i] ~ {}|  if z[i] > {}:|    go = false|  i = i + 1|emit done"


@pytest.mark.parametrize(
    ("noise", "above", "chance", "condition"),
    [
        ("Lap(1)", "k", ("z", "k", "1"), None),
        ("Lap(1)", "k", ("z", "k + 1", "1"), None),
        ("Lap(1)", "k", ("z", "k - 1", "1"), "terminates"),
        ("Lap(1)", "k", ("z", "k", "2"), "terminates"),
        ("Lap(1)", "k", ("z", "k", "0"), "terminates"),
        ("Lap(k)", "k", ("z", "k", "1"), None),
        ("Lap(1)", "i", ("z", "k", "1"), "terminates"),
        ("Lap(1 + i)", "k", ("z", "k", "1"), None),
        ("Lap(1/(1 + i))", "k", ("z", "k", "1/9"), "terminates"),
        ("DLap(1)", "k", ("z", "k", "1"), None),
        ("DLap(1, 1 + i)", "k", ("z", "k", "1"), "terminates"),
        ("Uniform(1)", "k", ("z", "k", "1"), "terminates"),
        ("Bernoulli(1/2)", "k", ("z", "k", "1/2"), "terminates"),
    ],
)
def test_a_loop_ends_by_a_chance_that_stays(
    noise: str, above: str, chance: tuple[str, str, str], condition: str | None
) -> None:
    """A draw without a bound, of a scale that does not shrink, above what is fixed where the loop starts."""
    hints = loop(
        "go == go'", "i == i'", "alignment_cost == 0", early="$drawn_z == i;$dense_z;i >= 0", chance=chance
    )
    lines = WAIT.format(noise, above).split("|")
    assert rejected(spec(*lines, more=K), Witness((hints,))) == condition


def test_a_loop_that_stands_in_two_places_has_no_witness() -> None:
    """Loops are told by their objects: what is shown of one would be believed of both."""
    tree = Pair("", spec("for j in range(1):", "  for i in range(2): pass", "while true: pass"), "").right
    kernel: Looping = Kernel(tree, NOTHING, Decider())
    kernel.prepare_loops()
    numbered = {k: s for s in statements_in(tree.body) for i, k in kernel.loops.items() if id(s) == i}
    assert [type(numbered[k]) for k in range(3)] == [n.For, n.For, n.While]
    kernel.spec = replace(tree, body=tree.body[:1] * 2)
    with pytest.raises(Reject, match="two places"):
        kernel.prepare_loops()


ADD = ("s = 0", "for i in range(k):", "  s = s + {}", "emit done(v = 1/(s + 1))")


@pytest.mark.parametrize(
    ("added", "hints", "condition"),
    [
        ("1", loop("s == s'", early="s >= 0"), None),
        ("1", loop("s == s'", early="s == i"), None),
        ("1", loop("s == s'", early="s == 0"), "invariant"),
        ("1", loop("s == s'", early="s >= 1"), "invariant"),
        ("1", loop("s == s'"), "defined"),
        ("1", loop(early="s >= 0"), "output"),
        ("1", loop("s == i"), "defined"),
        ("1", loop("s' == i", early="s == i"), None),
        ("abs(x)", loop("s == s'", early="s >= 0"), "invariant"),
        ("abs(x)", loop(early="s >= 0"), "output"),
    ],
)
def test_of_a_round_is_known_what_holds_of_every_round(
    added: str, hints: LoopWitness, condition: str | None
) -> None:
    """What a loop changes has any value there that its invariants allow, on D and on D'; they hold before it
    and after each round. What is undefined in some run asks those of every run.
    """
    assert rejected(spec(*ADD, more=K).format(added), Witness((hints,))) == condition


# --- calls --------------------------------------------------------------------------------------------------


def call(y: str = "x", d: str = "eps", k: str = "1", name: str = "a") -> str:
    """A call of `c`, which claims d."""
    return f"{name} = c(y = {y}, k = {k}, d = {d})"


AGAIN = call().replace("c(", "repeat c(") + " until {} stop with probability {}"
RATE = "  b : real where 0 < b and b <= 1\n"


@pytest.mark.parametrize(
    ("lines", "claim", "condition"),
    [
        ((call(),), "eps", None),
        ((call(),), "99/100*eps", "cost"),
        ((call(y="0"),), "0", None),
        ((call(y="x/2"),), "99/100*eps", "cost"),
        ((call(), call(d="2*eps", name="e")), "3*eps", None),
        ((call(), call(d="2*eps", name="e")), "2*eps", "cost"),
        (("if eps > 1: " + call(), "else: " + call(d="eps/2", name="e")), "eps", None),
        ((call(),), "eps**2/2 zcdp", None),
        ((call(),), "eps**2/3 zcdp", "cost"),
        ((call(),), "eps delta 1/9", None),
        ((AGAIN.format("a[0].v > 1", "b"),), "2*eps", None),
        ((AGAIN.format("a[0].v > 1", "b"),), "199/100*eps", "cost"),
        ((AGAIN.format("a[0].v > 1", "b") + " at most 2 rounds",), "2*eps", "cost"),
        ((AGAIN.format("a[0].v > 1", "1") + " at most 2 rounds",), "2*eps + 1/4", None),
        ((AGAIN.format("a[0].v > 1", "1") + " at most 2 rounds",), "2*eps + 6/25", "cost"),
        ((AGAIN.format("a[0].v > x", "b"),), "9*eps", "calls"),
        ((AGAIN.format("a[0].v > 1", "b/2 + clip(x, 0, 1)/4"),), "9*eps", "calls"),
        ((AGAIN.format("a[0].v > 1", "b - 1"),), "9*eps", "calls"),
        ((call(y="2*x"),), "9*eps", "calls"),
        ((call(k="0"),), "9*eps", "calls"),
        ((call(d="eps + abs(x)"),), "9*eps", "calls"),
        ((call(d="eps - 1"),), "9*eps + 9", "calls"),
        ((call(), "emit more(v = a[0].v)"), "eps", None),
        ((call(), "emit more(v = a[0].v + x)"), "eps", "output"),
    ],
)
def test_a_call_costs_what_it_claims_for_what_its_proof_covers(
    lines: tuple[str, ...], claim: str, condition: str | None
) -> None:
    """And nothing where no argument is apart; twice where it is made until a test holds, of what it released
    alone, with a chance that is the same on D'; half the square in ρ. What it releases is the same on D'.
    """
    text = calling(*lines, "emit done", claim=claim, more=RATE)
    assert rejected(text, Witness(callees={"c": Witness(length=expression("1"))})) == condition


def test_what_a_callee_assumes_is_put_twice() -> None:
    """Of D in both places: then it is defined, and ends; and of D and D': then it is private."""
    kernel, path = Kernel(Pair("", spec("emit done"), "").right, NOTHING, Decider()), Path()
    kernel.prepare_inputs(path)
    inner = kernel.accepted(Pair("", CALLEE, "").right, NOTHING)
    one, other, _ = inner.inner.lists["y"]
    x, again, _ = kernel.lists["x"]
    stmt = n.Invoke("a", "c", ())
    given = [(one, 2 * x(0), 2 * x(0)), (other, 2 * x(0), 2 * again(0))]
    actual = Actual(stmt, inner, path, functions=given)
    moved = [actual.put(other(0) - one(0), run) for run in (0, 1)]
    assert z3.is_true(z3.simplify(moved[0] == 0))
    assert z3.is_true(z3.simplify(moved[1] == 2 * again(0) - 2 * x(0)))

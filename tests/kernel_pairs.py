"""Specs that the kernel must reject, each with its repaired twin, one line apart, which it accepts with the
same witness; grouped by the sections of docs/kernel.md. What is wrong with a spec is a matter of one rule.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction

from aligncheck.kernel.witness import Chance, LoopWitness, Witness
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.contract import Contract, with_contract
from aligncheck.language.syntax.parse import parse
from aligncheck.search.witness.witness_json import expression

CALLEE = """mechanism c
input
  y : query, sensitivity 1
  k : int where k >= 1
  d : real where d > 0
privacy d
program
  eta ~ Lap(1/d)
  emit w(v = y + eta)
align
  eta += y - y'
"""

COUNTED = """mechanism c
input
  b : vector where len(b) >= 1
privacy 0
program
  for i in range(0, argmax(b[j] for j in b)):
    emit w
"""

TWO_RECORDS = """mechanism c
input
  y : query, sensitivity 1
  d : real where d > 0
privacy d
program
  emit w(v = 0)
  emit {}(v = 0)
"""
ONE_W = Witness(callees={"c": Witness(within=(("$count_w", None, expression("2")),))})

STEPS = """mechanism c
input
  g : real where g > 0
  y : query, lattice g, sensitivity g
  d : real where d > 0
privacy d
program
  eta ~ DLap(g/d, g)
  emit w(v = y + eta)
align
  eta += y - y'
"""

SHAPES = """mechanism c
input
  k : int
privacy 0
program
  if k <= 3:
    emit w(v = k)
  else:
    emit {}(u = 0)
"""

IN_ALL = """mechanism c
input
  y : queries, sensitivity 1, adjacency l1
  d : real where d > 0
privacy d
program
  for i, v in y:
    eta[i] ~ Lap(1/d)
    emit w(v = v + eta[i])
align
  eta[i] += y[i] - y'[i]
"""

IN_SQUARES = """mechanism c
input
  y : queries, sensitivity d, adjacency l2
  d : real where d > 0
  eps : real where eps > 0
privacy eps zcdp
program
  for i, v in y:
    eta[i] ~ Gauss(d/sqrt(2*eps))
    emit w(v = v + eta[i])
align
  eta[i] += y[i] - y'[i]
"""

SHARED = """mechanism c
input
  y : queries, sensitivity 1, adjacency one
  z : queries, sensitivity 1, adjacency one, same index as y
privacy 0
program
  emit w
"""

PART = """mechanism c
input
  y : queries, sensitivity 1, adjacency {}
  d : real where d >= 0
privacy d
program
  emit w
"""

MANY = """mechanism c
input
  y : queries, sensitivity 1, adjacency all
  t : vector where t[i] >= 0
  k : int where k >= 0
  d : real where d > 0
privacy d
program
  for j in range(0, k):
    emit w(v = 0)
"""


SINGLE = Witness(callees={"c": Witness(length=expression("1"))})
_STOP = "stop with probability 1/2"
_UNTIL = "until a.v >= 3"
REPEATED: tuple[tuple[str, str, dict[str, str], str, str], ...] = (
    ("a_repeated_call", f"{_UNTIL} {_STOP}", {"claim": "{2|1}*eps"}, "cost", CALLEE),
    ("a_repeated_call_in_rho", f"{_UNTIL} {_STOP}", {"claim": "{2|1}*eps*eps zcdp"}, "cost", CALLEE),
    ("a_repeated_call_on_the_same", f"{_UNTIL} {_STOP}", {"y": "{1|x}", "claim": "0"}, "cost", CALLEE),
    ("a_private_test", f"until a.v >= {{eps|x}} {_STOP}", {}, "calls", CALLEE),
    (
        "a_private_test_of_some_records",
        f"until a.v >= 3 and (a.v > 4 or {{eps|x}} > 1) {_STOP}",
        {},
        "calls",
        CALLEE,
    ),
    ("a_chance_of_0", f"{_UNTIL} stop with probability {{(1 + b)/2|b}}", {}, "calls", CALLEE),
    ("a_chance_above_1", f"{_UNTIL} stop with probability {{1|1 + b}}", {}, "calls", CALLEE),
    ("a_private_chance_to_stop", f"{_UNTIL} stop with probability {{1/2|1/(1 + x*x)}}", {}, "calls", CALLEE),
    (
        "a_chance_by_the_records",
        f"{_UNTIL} stop with probability {{1/2|clip(a.v, 1/4, 1/2)}}",
        {},
        "defined",
        CALLEE,
    ),
    ("few_rounds", f"{_UNTIL} {_STOP} at most 4 rounds", {"claim": "2*eps + 1/{4|5}"}, "cost", CALLEE),
    (
        "rounds_at_half_their_price",
        f"{_UNTIL} {_STOP} at most 4 rounds",
        {"claim": "{2|1}*eps + 1/4"},
        "cost",
        CALLEE,
    ),
    ("no_round", f"{_UNTIL} {_STOP} at most {{m + 1|m}} rounds", {"y": "1", "claim": "0"}, "calls", CALLEE),
    (
        "private_rounds",
        f"{_UNTIL} {_STOP} at most {{3|max(1, floor(x))}} rounds",
        {"claim": "2*eps + 2"},
        "calls",
        CALLEE,
    ),
    (
        "after_no_success",
        f"{_UNTIL} {_STOP}",
        {"after": "emit done(v = a.v if {len(a) > 0|true} else 0)"},
        "defined",
        CALLEE,
    ),
    (
        "after_a_success",
        f"until a.v > {{3|0 - 3}} {_STOP}",
        {"after": "emit done(v = 1/a.v if len(a) > 0 else 0)"},
        "defined",
        CALLEE,
    ),
    ("a_test_of_no_record", f"until a[{{0|1}}].v >= 3 {_STOP}", {}, "defined", CALLEE),
    (
        "a_repeated_delta",
        f"{_UNTIL} {_STOP}",
        {"claim": "2*eps delta 1/2"},
        "cost",
        CALLEE.replace("privacy d", "privacy d{| delta 1/8}"),
    ),
    (
        "a_repeated_rho",
        f"{_UNTIL} {_STOP}",
        {"claim": "2*eps*eps zcdp"},
        "cost",
        CALLEE.replace("privacy d", "privacy d{|**2/2 zcdp}"),
    ),
    (
        "a_repeated_bound",
        f"{_UNTIL} {_STOP}",
        {},
        "cost",
        CALLEE.replace("privacy d", "privacy d*len(out) at most {d|2*d}"),
    ),
)
"""Of calls that are repeated: name, what follows it, more of the spec, condition, callee."""


_PARTS = re.compile(r"\{([^{|}]*)\|([^{|}]*)\}")


@dataclass(frozen=True, slots=True)
class Pair:
    """`text` (or `callee`) is a spec in which `{this|that}` stands for a line, or a part of one: with `this`
    it is private and accepted, with `that` it is rejected at one of `conditions`.
    """

    name: str
    text: str
    conditions: str
    witness: Witness = field(default_factory=Witness)
    callee: str = CALLEE

    @property
    def right(self) -> n.Mechanism:
        """The spec that is accepted, with no checks of the front end."""
        return self._spec(1)

    @property
    def wrong(self) -> n.Mechanism:
        """Its twin."""
        return self._spec(2)

    def texts(self, which: int) -> tuple[str, str]:
        """The spec and its callee with the first or the second of two parts."""
        return _PARTS.sub(rf"\{which}", self.text), _PARTS.sub(rf"\{which}", self.callee)

    def _spec(self, which: int) -> n.Mechanism:
        text, called = self.texts(which)
        tree, callee = parse(Source(self.name, text)), Source("c.dp", called)
        return with_contract(tree, "c", Contract(parse(callee), callee)) if tree.uses else tree


def loop(
    *both: str,
    early: str = "",
    measure: str | None = None,
    chance: tuple[str, str, str] | None = None,
    later: str = "",
) -> LoopWitness:
    """A loop of a witness; the early lines are separated by `;`."""
    ends = None if chance is None else Chance(chance[0], expression(chance[1]), expression(chance[2]))
    return LoopWitness(
        tuple(expression(e) for e in early.split(";") if e),
        tuple(map(expression, both)),
        None if measure is None else expression(measure),
        ends,
        (expression(later),) if later else (),
    )


def drawn(x: str, *both: str, index: str = "i") -> LoopWitness:
    """The loop that draws x at each index."""
    return loop(*both, early=f"$drawn_{x} == {index};$dense_{x}")


def spec(*lines: str, claim: str = "eps", align: str = "", more: str = "", where: str = "") -> str:
    """A mechanism with one answer `x`, a list `q` and the lines of its program and of its alignment."""
    moves = f"align\n  {align}\n" if align else ""
    return (
        "mechanism m\ninput\n  x : query, sensitivity 1\n  q : queries, sensitivity 1, adjacency all\n"
        f"{more}  eps : real where eps > 0 and len(q) >= 1{where}\nprivacy {claim}\nprogram\n  "
        + "\n  ".join(lines)
        + f"\n{moves}"
    )


def calling(*lines: str, more: str = "", where: str = "", claim: str = "eps", align: str = "") -> str:
    """The same, with calls of `c`."""
    return 'mechanism m\nuse c from "c.dp"\n' + spec(
        *lines, more=more, where=where, claim=claim, align=align
    ).removeprefix("mechanism m\n")


def _calling(call: str) -> str:
    return calling(f"a = {call}", "emit done")


def _again(
    rest: str, *before: str, y: str = "x", after: str = "emit done", claim: str = "2*eps", align: str = ""
) -> str:
    """A call that is repeated, after some lines; `b` is a number from 0 to 1, `m` a whole one from 0."""
    call, more = f"a = repeat c(y = {y}, k = 1, d = eps) {rest}", "  b : real where 0 <= b and b <= 1\n"
    return calling(*before, call, after, claim=claim, align=align, more=f"{more}  m : int where m >= 0\n")


def _many(argument: str, after: str = "pass") -> str:
    """A call of `MANY` that gives one input something else than is safe."""
    given = {"y": "y = q", "t": "t = list(1/2 for j in q)", "k": "k = 1", "d": "d = eps"}
    given[argument[0]] = argument
    return calling(f"a = c({', '.join(given.values())})", after, "emit done", more="  m : int\n")


def _in_parts(*lines: str, adjacency: str = "one", z: str = "queries") -> str:
    """Calls that get parts of a list `z` with such an adjacency, or of a table."""
    sizes = "  n : int where n >= 0\n  m : int where m >= 1\n"
    lists = f"  z : {z}, sensitivity 1, adjacency {adjacency}\n  k : int where 1 <= k and k < len(z)\n"
    return calling(*lines, "emit done", more=sizes + lists)


_BIT = "  y : int query, adjacency any, range [0, 1]\n"
_FROM_0_TO_1 = "  y : query, adjacency any, range [0, 1]\n"
_RARE = "  f : real where 0 < f and f < 1/2\n"


def _coin(
    chance: str, released: str = "c", claim: str = "eps", align: str = "", more: str = "", y: str = _BIT
) -> str:
    """A coin beside a private bit `y`, and what is released of them."""
    lines = (f"c ~ Bernoulli({chance})", f"emit done(v = {released})")
    return spec(*lines, claim=claim, align=align, more=y + more)


EACH = Witness((loop(early="$records == j"),), length=expression("k"))
"""A witness for `MANY`: it releases k records."""


_TURNED = "a[i] = a[len(q) - 1 - i]"

_NEXT = "len(out) <= $records or out[$records].v >= i"
"""The next record, if there is one, has no lesser number than the round."""

_FIRST = loop("alignment_cost <= eps/2", early="$records == 0;$drawn_xi == i", later=_NEXT)


def _first_above(number: str, after: str) -> str:
    """The first answer above a noisy threshold, and a last statement; the output tells only the number."""
    return spec(
        *("eta ~ Lap(2/eps)", "for i, y in q:", "  xi[i] ~ Lap(4/eps)", "  if y + xi[i] >= eta:"),
        *(f"    emit found(v = {number})", "    break", after),
        align="eta += 1\n  xi[i] += 1 + q[i] - q'[i] when out is found and out[0].v == i",
    )


def _above(scale: str) -> LoopWitness:
    """A loop that ends when a draw is above 5."""
    both = ("b' == b", "k' == k", "alignment_cost == 0")
    return loop(*both, early="k >= 0;$drawn_r == k", chance=("r", "5", scale))


LATER = spec(
    *("for i, y in q:", "  eta[i] ~ Lap(1/eps)", "mu ~ Lap(1/eps)", "best = max(eta[i] for i in q where [])"),
    "emit done",
    align="mu += 0*(best' - best)",
)

DECLARED: tuple[tuple[str, str, str, str, str], ...] = (
    ("up_by_all_that_is_allowed", "", "", "x' - x <= 1", "x' - x < 1"),
    ("down_by_all_that_is_allowed", "", "", "x - x' <= 1", "x - x' < 1"),
    ("at_the_lower_end", "z : query, sensitivity 1, range [0, 2]", "", "z >= 0", "z > 0"),
    ("at_the_upper_end", "z : query, sensitivity 1, range [0, 2]", "", "z <= 2", "z < 2"),
    ("the_neighbour_at_the_lower_end", "z : query, sensitivity 1, range [0, 2]", "", "z' >= 0", "z' > 0"),
    ("the_neighbour_at_the_upper_end", "z : query, sensitivity 1, range [0, 2]", "", "z' <= 2", "z' < 2"),
    (
        "some_stay_and_some_rise",
        "b : queries, sensitivity 1, adjacency monotone",
        " and len(b) == 2",
        "b[0] <= b'[0] and b[1] <= b'[1] or b[0] >= b'[0] and b[1] >= b'[1]",
        "b[0] < b'[0] and b[1] <= b'[1] or b[0] >= b'[0] and b[1] >= b'[1]",
    ),
    (
        "some_stay_and_some_fall",
        "b : queries, sensitivity 1, adjacency monotone",
        " and len(b) == 2",
        "b[0] <= b'[0] and b[1] <= b'[1] or b[0] >= b'[0] and b[1] >= b'[1]",
        "b[0] <= b'[0] and b[1] <= b'[1] or b[0] > b'[0] and b[1] >= b'[1]",
    ),
    (
        "one_that_rises_or_falls",
        "b : queries, sensitivity 1, adjacency one",
        " and len(b) == 2",
        "b[0] == b'[0] or b[1] == b'[1]",
        "b[0] >= b'[0]",
    ),
    (
        "one_of_two_lists",
        "b, c : queries, sensitivity 1, adjacency one",
        " and len(b) == 2 and len(c) == 2",
        "b[0] == b'[0] or c[0] == c'[0]",
        "b[0] == b'[0]",
    ),
    (
        "one_of_two_lists_moves",
        "b, c : queries, sensitivity 1, adjacency one",
        " and len(b) == 2 and len(c) == 2",
        "b[0] == b'[0] or c[1] == c'[1]",
        "c[0] == c'[0]",
    ),
    (
        "one_goes_up",
        "b : queries, sensitivity 1, adjacency moved",
        " and len(b) == 3",
        "b[0] >= b'[0] or b[1] >= b'[1]",
        "b[0] >= b'[0]",
    ),
    (
        "one_goes_down",
        "b : queries, sensitivity 1, adjacency moved",
        " and len(b) == 3",
        "b[0] <= b'[0] or b[1] <= b'[1]",
        "b[0] <= b'[0]",
    ),
    (
        "moves_add_up",
        "b : queries, sensitivity 1, adjacency l1",
        " and len(b) == 1",
        "abs(b[0] - b'[0]) <= 1",
        "abs(b[0] - b'[0]) < 1",
    ),
    (
        "no_move_at_all",
        "b : queries, sensitivity 1, adjacency l1",
        " and len(b) == 1",
        "true",
        "b[0] != b'[0]",
    ),
    ("some_move", "b : queries, sensitivity 1, adjacency l1", " and len(b) == 1", "true", "b[0] == b'[0]"),
    (
        "a_bound_for_each_answer",
        "t : vector where t[i] >= 0\n  b : queries, sensitivity t[i]",
        "",
        "len(t) >= len(b)",
        "len(t) > len(b)",
    ),
    (
        "an_index_of_two_lists",
        "b : queries, sensitivity 1, adjacency one\n"
        "  c : queries, sensitivity 1, adjacency one, same index as b",
        " and len(b) == 2 and len(c) == 2",
        "b[0] == b'[0] or c[1] == c'[1]",
        "b[1] == b'[1] or c[1] == c'[1]",
    ),
    (
        "a_direction_of_two_lines",
        "b : queries, sensitivity 1, adjacency one\n  z : query, sensitivity 1, same direction as b",
        " and len(b) == 1",
        "b[0] >= b'[0] or z <= z'",
        "b[0] >= b'[0] or z < z'",
    ),
    ("a_list_may_be_empty", "t : vector", "", "len(t) >= 0", "len(t) > 0"),
    ("lists_of_one_length", "b, c : queries, sensitivity 1", "", "len(b) >= 0", "len(b) == len(c)"),
)
"""What is declared besides, and where, says just this much: what is true of all neighbours, and what is not
(names, inputs, clauses, true, false). A draw is moved only where that is so, and must be moved always.
"""


def _declared(name: str, more: str, where: str, right: str, wrong: str) -> Pair:
    text = spec(
        *("eta ~ Lap(1/eps)", "emit done(v = x + eta)"),
        align=f"eta += x - x'   when {{{right}|{wrong}}}",
        more=f"  {more}\n" if more else "",
        where=where,
    )
    return Pair(name, text, "output")


TRUTHS: tuple[tuple[str, str], ...] = (
    ("abs(m) == m or m < 0", "abs(m) == m or m < 0 - 1"),
    ("abs(m) == 0 - m or m > 0", "abs(m) == 0 - m or m > 1"),
    ("min(m, k) == m or m > k", "min(m, k) == m or m > k + 1"),
    ("min(m, k) == k or m < k", "min(m, k) == k or m < k - 1"),
    ("max(m, k) == m or m < k", "max(m, k) == m or m < k - 1"),
    ("max(m, k) == k or m > k", "max(m, k) == k or m > k + 1"),
    ("max(m, k, 3) >= 3 and max(m, k, 3) >= m and max(m, k, 3) >= k", "max(m, k, 3) > 3"),
    ("min(m, k, 3) <= 3 and min(m, k, 3) <= m and min(m, k, 3) <= k", "min(m, k, 3) < 3"),
    ("clip(m, 1, 5) == m or m < 1 or m > 5", "clip(m, 1, 5) == m or m < 0 or m > 5"),
    ("clip(m, 1, 5) == 1 or m > 1", "clip(m, 1, 5) == 1 or m > 2"),
    ("clip(m, 1, 5) == 5 or m < 5", "clip(m, 1, 5) == 5 or m < 4"),
    ("floor(eps) <= eps and eps < floor(eps) + 1", "floor(eps) < eps"),
    ("floor(m) == m", "floor(m) < m"),
    ("5 % 3 == 2", "5 % 3 == 1"),
    ("m % 3 < 3 and m % 3 >= 0", "m % 3 < 2"),
    ("eps**2 == eps*eps", "eps**2 == eps"),
    ("eps**3 == eps*eps*eps", "eps**3 == eps*eps"),
    ("eps**1 == eps", "eps**1 == 1"),
    ("eps**0 == 1", "eps**0 == eps"),
    ("m + k - k == m", "m + k - k == k"),
    ("m*k == k*m", "m*k == k + m"),
    ("0 - m == -m", "m == -m"),
    ("m < k or m >= k", "m < k or m > k"),
    ("m > k or m <= k", "m > k or m < k"),
    ("m == k or m != k", "m == k or m > k"),
    ("m != k or m <= k and m >= k", "m != k or m < k"),
    ("not (m > 0 and m <= 0)", "not (m > 0 and m <= 1)"),
    ("(eps > 1) == (1 < eps)", "(eps > 1) == (1 <= eps)"),
    ("(eps > 1) != (eps <= 1)", "(eps > 1) != (eps < 1)"),
    ("(1 if m > 0 else 2) == 2 or m > 0", "(1 if m > 0 else 2) == 2 or m > 1"),
    ("(1 if m > 0 else 2) == 1 or m <= 0", "(1 if m > 0 else 2) == 1 or m < 0"),
    ("(1 if m > 0 else 1/2) >= 1/2", "(1 if m > 0 else 1/2) > 1/2"),
    ("sqrt(eps)*sqrt(eps) == eps", "sqrt(eps) == eps"),
    ("sqrt(eps) >= 0", "sqrt(eps) >= 1"),
    ("ln(eps) > 0 or eps <= 1", "ln(eps) > 0 or eps < 1"),
    ("ln(eps) < 0 or eps >= 1", "ln(eps) < 0 or eps > 1"),
    ("log2(eps) == 0 or eps != 1", "log2(eps) == 0 or eps <= 1"),
    ("exp(m) > 1 or m <= 0", "exp(m) > 1 or m < 0"),
    ("exp(m) < 1 or m >= 0", "exp(m) < 1 or m > 0"),
    ("exp(m) == 1 or m != 0", "exp(m) == 1 or m > 0"),
    ("exp(m) > 0", "exp(m) > 1"),
    ("(m/4)*4 == m", "(m/4)*4 == m + 1"),
    ("(eps*m)/eps == m", "(eps*m)/eps == eps"),
    ("1/(1/eps) == eps", "1/(1/eps) == 1/eps"),
    ("1/(2*eps) == (1/2)*(1/eps)", "1/(2*eps) == 2*(1/eps)"),
    ("m/(eps*eps) == (m/eps)/eps", "m/(eps*eps) == m/eps"),
    ("1/len(q) > 0", "1/len(q) > 1"),
    ("len(q) >= 1", "len(q) > 1"),
    ("t[2] == 5", "t[2] == 4"),
    ("sum(1/2 for i in range(0, 2)) == 1", "sum(1/2 for i in range(0, 2)) == 3/2"),
    ("sum(i for i in range(1, 3)) == 3", "sum(i for i in range(1, 3)) == 6"),
    ("sum(1 for i in range(3, 1)) == 0", "sum(1 for i in range(3, 1)) == 1"),
    ("max(t[i] for i in t) >= t[0]", "max(t[i] for i in t) > t[0]"),
    ("min(t[i] for i in t) <= t[1]", "min(t[i] for i in t) < t[1]"),
    ("max(t[i] for i in range(0, 3)) >= t[2]", "max(t[i] for i in range(0, 3)) > t[2]"),
    ("min(t[i] for i in range(0, 3)) <= t[0]", "min(t[i] for i in range(0, 3)) < t[0]"),
    ("max(t[i] for i in t where i <= 1) <= 4", "max(t[i] for i in t where i <= 1) <= 3"),
    ("min(t[i] for i in t where i >= 1) >= 4", "min(t[i] for i in t where i >= 1) > 4"),
    ("t[argmax(t[i] for i in t)] >= t[1]", "t[argmax(t[i] for i in t)] > t[2]"),
    ("t[argmin(t[i] for i in t)] <= t[1]", "t[argmin(t[i] for i in t)] < t[0]"),
    ("argmax(u[i] for i in u) <= 0 or u[0] < 1", "argmax(u[i] for i in u) < 0 or u[0] < 1"),
    ("argmin(u[i] for i in u) <= 0 or u[0] < 1", "argmin(u[i] for i in u) < 0 or u[0] < 1"),
    ("ln(eps) > 0 or eps <= 1", "ln(eps) > 1 or eps <= 1"),
    ("ln(eps) > 0 or eps <= 1", "ln(eps) > 0"),
    ("ln(eps) < 0 or eps >= 1", "ln(eps) < 0 - 1 or eps >= 1"),
    ("ln(eps) < 0 or eps >= 1", "ln(eps) < 0 or eps >= 2"),
    ("log2(eps) == 0 or eps != 1", "log2(eps) == 1 or eps != 1"),
    ("log2(eps) == 0 or eps != 1", "log2(eps) == 0 or eps != 2"),
    ("exp(m) > 1 or m <= 0", "exp(m) > 2 or m <= 0"),
    ("exp(m) < 1 or m >= 0", "exp(m) > 2 or m >= 0"),
    ("exp(m) == 1 or m != 0", "exp(m) == 1 or m != 1"),
    ("exp(m) == 1 or m != 0", "exp(m) == 0 or m != 0"),
    ("exp(m) > 0 or m >= 0", "exp(m) < 0 or m >= 0"),
)
"""What expressions mean: true for all inputs, and not."""


def _true(right: str, wrong: str) -> Pair:
    more = "  m : int\n  k : int\n  t : vector where t[i] == i + 3\n  u : vector where u[i] == 1\n"
    text = spec(
        f"emit done(v = 0 if {{{right}|{wrong}}} else x)", more=more, where=" and len(t) == 3 and len(u) == 3"
    )
    return Pair(f"{right}, not {wrong}", text, "output")


OUTPUTS: tuple[tuple[str, str], ...] = (
    ("out[0] is a", "out[0] is b"),
    ("out[1] is b", "out[1] is a"),
    ("out[2] is done", "out[3] is done"),
    ("not (out[0] is b)", "not (out[1] is b)"),
    ("not (out[3] is done)", "not (out[2] is done)"),
    ("not (out[0 - 1] is a)", "not (out[0] is a)"),
    ("out is a", "out is c"),
    ("len(out) == 3", "len(out) == 2"),
    ("(out[0].v if out[0] is a else 3) == 3", "(out[0].v if out[0] is a else 3) == 4"),
    ("out.count(a) == 1", "out.count(a) == 2"),
    ("out.count(b) + out.count(done) == 2", "out.count(b) == 2"),
    ("len(w) <= 2", "len(w) < 2"),
    ("len(w) >= 0", "len(w) >= 3"),
    ("len(w) == 0 or t[w[0] if len(w) > 0 else 0] >= 4", "len(w) == 0 or t[w[0] if len(w) > 0 else 0] > 4"),
    (
        "len(w) < 2 or t[w[0] if len(w) == 2 else 0] >= t[w[1] if len(w) == 2 else 0]",
        "len(w) < 2 or t[w[0] if len(w) == 2 else 0] > t[2]",
    ),
    ("not (0 in w)", "not (2 in w)"),
    ("k0 == 2 or t[2] < 4", "k0 == 1 or t[2] < 4"),
    ("k0 >= 0 and k0 < 3", "k0 > 0 and k0 < 2"),
)
"""What an alignment may know of the output and of selections: true of every complete run, and not."""


def _told(right: str, wrong: str) -> Pair:
    text = spec(
        *("eta ~ Lap(1/eps)", "w = upto(2, t[i] for i in t where t[i] >= 4)", "k0 = argmax(t[i] for i in t)"),
        *("emit a(v = 3)", "emit b", "emit done(v = x + eta)"),
        align=f"eta += x - x'   when {{{right}|{wrong}}}",
        more="  t : vector where t[i] == i + 3\n",
        where=" and len(t) == 3",
    )
    return Pair(f"{right}, not {wrong}", text, "output")


_LENGTHS = "  k : int where k >= 1\n  m : int where m >= 1\n"
IN_ROWS = Witness(
    (
        loop(
            "alignment_cost <= eps/k*r",
            early="$records == r;$drawn_eta == r*m;$dense_eta",
            later="r >= k or out[$records] is done",
        ),
        loop(
            "alignment_cost <= $head_0_alignment_cost + (eps/k if out[$records].v < j else 0)",
            early="$drawn_eta == r*m + j;$dense_eta",
            later="out[$records] is done",
        ),
    ),
    costs=(expression("eps/k"),),
)
"""A witness for `_in_rows`."""


def _in_rows(
    body: str = "q[j] + eta[r*m + j]",
    scale: str = "2*k/eps",
    shift: str = "1 + q[i % m] - q'[i % m]",
    row: str = "floor(i/m)",
) -> str:
    """Rounds that draw m numbers each, and release which of m answers is the greatest with these."""
    drawn = ("for r in range(k):", "  for j in range(m):", f"    eta[r*m + j] ~ Lap({scale})")
    chosen = (f"  w = argmax({body} for j in range(m))", "  emit done(v = w)")
    align = f"eta[i] += {shift} when out[{row}].v == i % m"
    return spec(*drawn, *chosen, align=align, more=_LENGTHS, where=" and len(q) >= m")


IN_LISTS = Witness(
    (
        loop("alignment_cost <= r*eps/k", early="$drawn_eta == r*m;$dense_eta"),
        loop(
            "alignment_cost <= $head_0_alignment_cost + $below_w[j]*eps/(h*k)",
            early="$drawn_eta == r*m + j;$dense_eta",
        ),
        loop(),
    ),
    costs=(expression("eps/(h*k)"),),
)
"""A witness for `_in_lists`."""


def _in_lists(
    body: str = "q[j] + eta[r*m + j]",
    scale: str = "2*h*k/eps",
    shift: str = "1 + q[i % m] - q'[i % m] when i % m in w",
    count: str = "h",
    released: str = "w[s]",
    first: tuple[str, ...] = (),
    more: tuple[str, ...] = (),
) -> str:
    """Rounds that draw m numbers each, and release which h of m answers are the greatest with these."""
    drawn = ("for r in range(k):", "  for j in range(m):", f"    eta[r*m + j] ~ Lap({scale})", *first)
    chosen = (f"  w = top({count}, {body} for j in range(m))", "  for s in range(h):")
    whole = ("v = top(1, t[j] for j in t)", *drawn, *chosen, f"    emit done(v = {released})", *more)
    inputs = f"{_LENGTHS}  h : int where 1 <= h and h <= m\n  t : vector where len(t) >= 1\n"
    return spec(*whole, align=f"eta[i] += {shift}", more=inputs, where=" and len(q) >= m")


def _by_rounds(number: str) -> str:
    """An answer that is released if the row of a number is not that of the round."""
    released = f"  emit done(v = x if floor(({number})/m) != r else 0)"
    return spec("for r in range(k):", released, more=_LENGTHS)


def _by_remainders(number: str) -> str:
    """An answer that is released if what a number leaves is not m - 1."""
    released = f"  emit done(v = x if ({number}) % m != m - 1 else 0)"
    return spec("for r in range(k):", released, more=_LENGTHS)


PAIRS: tuple[Pair, ...] = (
    # --- 1. The stronger mechanism ---
    Pair("a_value_of_an_arm", spec("y = 0", "if {false|true}:", "  y = x", "emit done(v = y)"), "output"),
    Pair(
        "partial_in_an_arm",
        spec("y = 0", "if m {!=|>=} 0:", "  y = 1/m", "emit done(v = y)", more="  m : real\n"),
        "defined",
    ),
    Pair("a_test_that_differs", spec("if {eps - 1|x} > 0:", "  emit up", "else:", "  emit down"), "output"),
    Pair("a_parameter_named_as_a_list", spec("emit done", more="  {p|q} : real\n"), "form"),
    Pair("two_parameters_of_one_name", spec("emit done", more="  p : real\n  {r|p} : real\n"), "form"),
    Pair("a_variable_named_as_noise", spec("{y|eta} = 0", "eta ~ Lap(1/eps)", "emit done(v = eta)"), "form"),
    Pair("a_variable_named_as_the_output", spec("{y|out} = eps", "emit done"), "form"),
    Pair(
        "an_entry_named_as_its_index",
        spec("for i, {y|i} in q:", "  pass", "emit done"),
        "form",
        Witness((loop(),)),
    ),
    Pair("a_break_outside_of_loops", spec("{pass|break}", "emit done"), "form"),
    Pair("the_output_in_the_program", spec("emit done(v = {1|len(out)})"), "form"),
    Pair("the_other_run_in_the_program", spec("emit done(v = {eps|x'})"), "form"),
    Pair(
        "all_answers_compared_in_the_program", spec("if {eps <= 2|q <= q'}:", "  emit a", "emit done"), "form"
    ),
    Pair(
        "a_selection_beside_an_arm",
        spec(
            *("w = argmax(t[i] for i in t)", "y = 1", "if eps > 1:", "  y = 2", "emit done(v = w + {y|x})"),
            more="  t : vector\n",
            where=" and len(t) >= 1",
        ),
        "output",
    ),
    Pair(
        "an_arm_of_its_own",
        spec("y = {1|x}", "z = 0", "if eps > 5:", "  y = 0", "elif eps > 3:", "  z = y", "emit done(v = z)"),
        "output",
    ),
    Pair(
        "a_last_arm",
        spec("y = {1|x}", "z = 0", "if eps > 5:", "  y = 0", "else:", "  z = y", "emit done(v = z)"),
        "output",
    ),
    Pair(
        "an_arm_within_an_arm",
        spec("y = 0", "if eps > 5:", "  if eps > 7:", "    y = {1|x}", "emit done(v = y)"),
        "output",
    ),
    Pair("after_nothing", spec("pass", "emit done(v = {eps|x})"), "output"),
    Pair("after_a_draw", spec("eta ~ Lap(1/eps)", "emit done(v = {eps|x})"), "output"),
    Pair(
        "tests_in_their_order",
        spec("if {eps|x} > 5:", "  emit a", "elif eps > 3:", "  emit b", "else:", "  emit c"),
        "output",
    ),
    # --- 2. The theorem ---
    Pair("a_field_that_differs", spec("emit done(v = {eps|x})"), "output"),
    Pair(
        "a_scale_that_differs",
        spec("eta ~ Lap({1|z})", "emit done(v = eta)", more="  z : query, sensitivity 1, range [1, 2]\n"),
        "scales",
    ),
    Pair(
        "a_step_that_differs",
        spec("eta ~ DLap(1, {1|z})", "emit done(v = eta)", more="  z : query, sensitivity 1, range [1, 2]\n"),
        "scales",
    ),
    Pair("a_scale_that_is_no_scale", spec("eta ~ Lap({eps|1 - eps})", "emit done(v = eta)"), "scales"),
    Pair(
        "a_shift_that_costs",
        spec("eta ~ Lap({1|1/2*1}/eps)", "emit done(v = x + eta)", align="eta += x - x'"),
        "cost",
    ),
    Pair("a_claim_below_0", spec("emit done", claim="{eps|eps - 1}"), "cost"),
    Pair("a_private_claim", spec("emit done", claim="eps + {1|x*x}"), "form cost"),
    Pair("a_private_clause", spec("emit done", more="  z : query, sensitivity {1|x*x}\n"), "hypotheses"),
    Pair("below_0", spec("eta ~ Exp(1/eps)", "emit done", align="eta {+=|-=} 1"), "support"),
    Pair("between_the_steps", spec("eta ~ DLap(1/eps, 1)", "emit done", align="eta += {1|1/2}"), "support"),
    Pair("drawn_twice", spec("eta[0] ~ Lap(1)", "eta[{1|0}] ~ Lap(1)", "emit done"), "fresh"),
    Pair(
        "chosen_and_drawn", spec("y ~ Choose(1 for j in range(0, 2))", "{z|y} ~ Lap(1)", "emit done"), "form"
    ),
    Pair(
        "drawn_below_what_was_drawn",
        spec("eta[5] ~ Lap(1/eps)", "eta[3] ~ Lap(1/eps)", "eta[{2|3}] ~ Lap(1/eps)", "emit done"),
        "fresh",
    ),
    Pair(
        "drawn_above_and_below",
        spec("eta[5] ~ Lap(1/eps)", "eta[3] ~ Lap(1/eps)", "eta[{6|5}] ~ Lap(1/eps)", "emit done"),
        "fresh",
    ),
    Pair(
        "drawn_downwards",
        spec("h = len(q) - 1", "while h >= 0:", "  eta[h{| - 1}] ~ Lap(1/eps)", "  h = h - 1", "emit done"),
        "fresh",
        Witness(
            (
                loop(
                    *("h' == h", "alignment_cost == 0"),
                    early="$drawn_eta == $least_eta and $drawn_eta <= h or h < $least_eta;h >= -1",
                    measure="h",
                ),
            )
        ),
    ),
    Pair(
        "a_part_of_the_cost",
        spec("eta ~ Lap({1|1/2*1}/eps)", "emit done(v = x + eta)", align="eta += x - x'"),
        "cost",
        Witness(costs=(expression("eps"),)),
    ),
    Pair(
        "a_claim_of_what_is_not_released",
        spec(
            "w = upto(1, t[i] for i in t)",
            "emit done",
            claim="eps*len({out|w}) at most eps",
            more="  t : vector\n",
        ),
        "defined",
    ),
    Pair(
        "a_certain_chance", spec("eta ~ Geo({1 - exp(0 - eps)|1 - exp(0 - eps) + 1})", "emit done"), "scales"
    ),
    Pair("a_chance_of_another_form", spec("eta ~ Geo({1 - exp(0 - eps)|1/2})", "emit done"), "language"),
    Pair(
        "a_private_claim_with_a_bound", spec("emit done", claim="{eps|min(eps, abs(x))} at most eps"), "form"
    ),
    Pair("a_private_bound", spec("emit done", claim="eps at most {eps|max(eps, x)}"), "form"),
    Pair("a_claim_above_its_bound", spec("emit done", claim="{1|2}*eps at most eps"), "cost"),
    Pair(
        "a_claim_that_speaks_of_a_selection",
        spec(
            "w = upto(1, t[j] for j in t)",
            "eta ~ Lap(1/eps)",
            "emit done(v = x + eta)",
            claim="eps*{len(out)|len(w)} at most eps",
            align="eta += x - x'",
            more="  t : vector\n",
            where=" and len(t) >= 1",
        ),
        "defined",
    ),
    Pair(
        "one_noise_of_two_families",
        spec("eta[0] ~ Lap(1)", "eta[1] ~ {Lap(1)|Exp(1)}", "emit done"),
        "language",
    ),
    Pair(
        "cauchy_noise_that_costs",
        spec("eta ~ Cauchy({1|1/2*1}/eps)", "emit done(v = x + eta)", align="eta += x - x'"),
        "cost",
    ),
    Pair(
        "moved_by_more_than_a_stair",
        spec("eta ~ Staircase(eps, {1|3/4}, 1/2)", "emit done(v = x + eta)", align="eta += x - x'"),
        "support",
    ),
    Pair(
        "moved_by_a_part_of_a_stair",
        spec(
            "eta ~ {Staircase(eps, 1|Staircase(2*eps, 2}, 1/2)",
            "emit done(v = x + eta)",
            align="eta += x - x'",
        ),
        "cost",
    ),
    Pair(
        "a_stair_without_a_lower_part",
        spec("eta ~ Staircase(eps, 1, {1/2|1})", "emit done(v = x + eta)", align="eta += x - x'"),
        "scales",
    ),
    Pair(
        "moved_down_at_no_price",
        spec("eta ~ {Lap|Gumbel}(1/eps)", "emit done(v = x + eta)", align="eta += x - x'"),
        "support",
    ),
    Pair(
        "moved_up_and_not_at_all",
        spec("eta ~ {Gumbel|Uniform}(1/eps)", "emit done(v = 0)", align="eta += 1"),
        "support",
    ),
    Pair(
        "a_geometric_number_that_is_0",
        spec("eta ~ Geo(1 - exp(0 - eps))", "y = 1/(eta + {1|0})", "emit done"),
        "defined",
    ),
    Pair(
        "a_claim_by_the_number_of_records",
        spec(
            "eta ~ Lap({1|1/2*1}/eps)",
            "emit done(v = x + eta)",
            claim="eps*out.count(done) at most 2*eps",
            align="eta += x - x'",
        ),
        "cost",
    ),
    Pair(
        "a_chance_that_is_no_power",
        spec("eta ~ Geo({1 - exp(0 - eps)|1/(1 + eps)})", "emit done"),
        "language",
    ),
    Pair(
        "an_index_that_differs_in_a_draw",
        spec("k = floor({eps|x})", "eta[k if k >= 0 else 0] ~ Lap(1)", "emit done"),
        "draws",
    ),
    *(
        Pair(
            f"a_stair_{way}_at_no_price",
            spec("eta ~ Staircase(eps, 1, 1/2)", "emit done", align=f"eta += {{0|{moved}}}", claim="0"),
            "cost",
        )
        for way, moved in (("up", "1"), ("down", "0 - 1"))
    ),
    Pair(
        "moved_by_a_released_number",
        spec(
            *("mu ~ Lap(1/eps)", "emit w(v = mu)", "eta ~ Lap(1/eps)", "emit done"),
            align="eta += clip({0*eps|out[0].v}, 0, 1)",
        ),
        "countable",
    ),
    # --- 3. Order is definedness ---
    Pair(
        "a_cell_of_the_next_row",
        spec(
            "if 0 <= k and k {<|<=} m:",
            "  y = z[0][k]",
            "emit done",
            more="  n : int where n >= 2\n  m : int\n  z : queries[n][m], sensitivity 1\n  k : int\n",
        ),
        "defined",
    ),
    Pair(
        "noise_that_is_not_there_yet", spec("{pass|y = eta}", "eta ~ Lap(1)", "emit done(v = eta)"), "defined"
    ),
    Pair(
        "a_shift_by_its_own_draw",
        spec("mu ~ Lap(1)", "eta ~ Lap(1)", "emit done", align="eta += 0*{mu|eta}"),
        "acyclic",
    ),
    Pair(
        "a_later_draw_that_tells_of_earlier_ones",
        spec("mu ~ Lap(1)", "eta ~ DLap(1, 1 + {eps|abs(mu)})", "emit done", align="mu += 0*eta"),
        "acyclic",
    ),
    Pair(
        "a_list_named_as_a_mark",
        spec(
            *("a ~ Lap(2/eps)", "b ~ Lap(2/eps)", "emit done(v = s[0] + a, w = owner_z[1] + b)"),
            claim="{eps|eps/2}",
            align="a += s[0] - s'[0]\n  b += owner_z[1] - owner_z'[1]",
            more="  z : queries, sensitivity 1, adjacency one where len(z) >= 2\n"
            "  owner_z : queries, sensitivity 1, adjacency one where len(owner_z) >= 2\n"
            "  s : queries, sensitivity 1, adjacency one, same index as z where len(s) >= 2\n",
        ),
        "cost",
    ),
    Pair(
        "a_later_maximum_of_none",
        LATER.replace("[]", "i >= {0|1}"),
        "defined",
        Witness((drawn("eta", "alignment_cost == 0"),)),
    ),
    *(
        Pair(
            f"the_greatest_sum_up_to_an_index_{name}",
            spec(
                *("for j, y in z:", "  eta[j] ~ Lap(2/eps)"),
                f"w = argmax({total} + eta[j] for j in range(len(z)))",
                "emit done(v = w)",
                align=f"eta[i] += {shift}   when i == w",
                more=f"  z : queries, sensitivity 1, adjacency {moves}\n",
                where=" and len(z) >= 1",
            ),
            "cost invariant output",
            Witness((drawn("eta", "alignment_cost <= (eps if w < j else 0)", index="j"),)),
        )
        for name, total, shift, moves in (
            (
                "twice",
                "sum({1|2}*z[i] for i in range(j + 1))",
                "1 + sum({1|2}*z[l] for l in range(i + 1)) - sum({1|2}*z'[l] for l in range(i + 1))",
                "one",
            ),
            (
                "for_less",
                "sum(z[i] for i in range(j + 1))",
                "{1|1/2} + sum(z[l] for l in range(i + 1)) - sum(z'[l] for l in range(i + 1))",
                "one",
            ),
            ("if_all_move", "sum(z[i] for i in range(j + 1))", "1", "{one|all}"),
            ("of_its_own_answer", "sum(z[{i|j}] for i in range(j + 1))", "1", "one"),
            (
                "beside_one_of_its_own_answer",
                "sum(z[i] for i in range(j + 1)) + {0|1}*sum(z[j] for i in range(1))",
                "1",
                "one",
            ),
        )
    ),
    *(
        Pair(
            f"what_is_known_of_a_sum_of_{n}_by_the_name_of_its_end",
            spec(
                *("for j, y in z:", "  eta[j] ~ Lap(1)", "xi ~ Lap(1)", "mu ~ Lap(1)"),
                "w = argmax(0*sum(z[i] for i in range(j + 1)) + eta[j] for j in range(len(z)))",
                f"emit done(v = sum(z[i] for i in range({n})) + xi)",
                align=f"xi += sum(z[i] for i in range({n})) - sum(z'[i] for i in range({n}))\n"
                f"  mu += {{0|30}}*(sum(z[i] for i in range({n})) - sum(z'[i] for i in range({n})))"
                f"   when {moved}",
                more=f"  b : vector where len(b) == {n} and b[0] == 1 and {bounds}\n"
                "  z : queries, sensitivity b[i]\n",
                where=f" and len(z) == {n}",
                claim="102",
            ),
            "cost",
            Witness((drawn("eta", "alignment_cost == 0", index="j"),)),
        )
        for n, bounds, moved in (
            (2, "b[1] == 100", "z[0] != z'[0]"),
            (3, "b[1] == 1 and b[2] == 100", "z[0] != z'[0] and z[0] + z[1] != z'[0] + z'[1]"),
        )
    ),
    Pair(
        "sums_that_are_one_but_for_the_name_of_an_index",
        spec(
            *("for j, y in z:", "  eta[j] ~ Lap(2/eps)"),
            "w = argmax(2*sum(z[j] - z[j] for i in range(2)) + sum({z[j]|z[i]} - z[j] for i in range(2))"
            " + eta[j] for j in range(2))",
            "emit done(v = w)",
            more="  z : queries, sensitivity 1\n",
            where=" and len(z) >= 2",
        ),
        "output",
        Witness((drawn("eta", "alignment_cost == 0", index="j"),)),
    ),
    Pair(
        "a_later_set_told_by_noise",
        spec(
            *("nu ~ Lap(1/eps)", "mu ~ Lap(1/eps)", "for i, y in q:", "  eta[i] ~ Lap(1/eps)"),
            *("best = max(q[i] for i in q where i == 0 or eta[i] >= 1)", "emit done"),
            align="mu += 0*(best' - best)\n  eta[i] += 0*{x|nu}",
        ),
        "acyclic",
        Witness((drawn("eta", "alignment_cost == 0"),)),
    ),
    Pair(
        "a_set_for_an_arbitrary_index",
        spec(
            *("eta[0] ~ Lap(1/eps)", "eta[1] ~ Lap(1/eps)", "emit done(v = {eps|x + eta[1]})"),
            align="eta[i] += max(i for j in range(1))",
        ),
        "output",
    ),
    Pair(
        "drawn_with_gaps",
        spec(
            *(
                "eta[0] ~ Lap(1)",
                "eta[{1|2}] ~ Lap(1)",
                "eta[{1|2} + 1] ~ Lap(1)",
                "for i, y in q:",
                "  pass",
            ),
            *("z = eta[1]", "emit done"),
        ),
        "defined",
    ),
    Pair(
        "drawn_below_0",
        spec("eta[0] ~ Lap(1)", "for i, y in q:", "  pass", "z = eta[{0|0 - 1}]", "emit done"),
        "defined",
    ),
    Pair(
        "a_shift_by_its_own_image",
        spec("eta ~ Lap(1/eps)", "emit done", align="eta += {1|eta' - eta + 1}"),
        "acyclic",
    ),
    Pair(
        "an_image_that_is_known_later",  # for all indices, once eta[0] was drawn: its own order was not shown
        spec(
            *("eta[0] ~ Lap(1)", "if {eps|x} > 5:", "  emit up", "eta[1] ~ Lap(1)"),
            *("if eta[0] > 0:", "  emit high"),
            align="eta[i] += eta'[0] - eta[0] - 1 when i == 0 and ({eps|x} > 5) != ({eps|x'} > 5)",
        ),
        "acyclic",
    ),
    Pair(
        "an_image_made_of_itself_that_is_known_later",
        spec(
            *("eta[0] ~ Exp(1)", "if {eps|x} > 5:", "  emit up", "eta[1] ~ Exp(1)"),
            *("if eta[0] > 0:", "  emit high"),
            align="eta[i] += eta'[0] + 1 when i == 0 and ({eps|x} > 5) != ({eps|x'} > 5)",
        ),
        "acyclic",
    ),
    Pair(
        "a_shift_by_what_changes_later",
        spec(
            "c = 0",
            "mu ~ Lap(1/eps)",
            "{pass|c = mu}",
            "for i, y in q:",
            "  eta[i] ~ Lap(1/eps)",
            "best = max(eta[i] for i in q)",
            "emit done",
            align="mu += 0*(best' - best)\n  eta[i] += 0*c",
        ),
        "acyclic",
        Witness((drawn("eta", "alignment_cost == 0"),)),
    ),
    Pair(
        "a_shift_by_a_maximum_of_noise",
        spec(
            "mu ~ Lap(1/eps)",
            "for i, y in q:",
            "  eta[i] ~ Lap(1/eps)",
            "best = max(eta[i] for i in q)",
            "emit done",
            align="mu += 0*(best' - best)\n  eta[i] += 0*max({j|mu} + 1/2 for j in range(0, 1))",
        ),
        "acyclic",
        Witness((drawn("eta", "alignment_cost == 0"),)),
    ),
    *(
        Pair(
            f"a_shift_by_a_sum_of_noise_{name}",
            spec(
                *("mu ~ Lap(1/eps)", "for i, y in q:", "  eta[i] ~ Lap(1/eps)"),
                *("best = max(eta[i] for i in q)", "emit done"),
                align=f"mu += 0*(best' - best)\n  eta[i] += 0*sum({part})",
            ),
            "acyclic",
            Witness((drawn("eta", "alignment_cost == 0"),)),
        )
        for name, part in (
            ("in_a_term", "{x|mu} + j for j in range(0, 1)"),
            ("in_a_filter", "1 for j in range(0, 1) where {x|mu} >= 0"),
            ("where_it_starts", "1 for j in range(floor({x|mu}), 3)"),
            ("where_it_ends", "1 for j in range(0, floor({x|mu}))"),
            ("in_another_sum", "sum({x|mu} for k in range(j)) for j in range(0, 1)"),
        )
    ),
    Pair(
        "divided_by_its_own_image",
        spec(
            *("eta[0] ~ Lap(1/eps)", "eta[1] ~ Lap(1/eps)", "w = argmax(eta[i] for i in range(0, 2))"),
            "emit done",
            align="eta[i] = eta[i]/{1|(2 if eta'[i] == eta[i] else 1)}",
        ),
        "acyclic",
    ),
    Pair(
        "a_shift_by_a_variable_that_changes",
        spec(
            *("m = 0", "eta[0] ~ Lap(1/eps)", "m = m + {0|1}", "eta[1] ~ Lap(1/eps)"),
            "emit done(t = eta[0] - eta[1])",
            align="eta[i] += m",
        ),
        "output",
    ),
    Pair(
        "moved_by_a_call_in_a_later_round",
        calling(
            *("eta ~ Lap(1/eps)", "for i in range(0, 1):", "  a = c(y = x, k = 1, d = eps)"),
            *("  mu[i] ~ Lap(1/eps)", "emit done"),
            align="mu[i] += 0*a.v\n  eta += {0|0*mu[0]}",
        ),
        "acyclic",
        replace(SINGLE, loops=(drawn("mu", "alignment_cost <= i*eps"),)),
    ),
    Pair(
        "a_later_set_that_one_run_may_find_empty",
        spec(
            *("for i, y in q:", "  eta[i] ~ Lap(1/eps)", "mu ~ Lap(1/eps)", "k = argmax(b[j] for j in b)"),
            *("best = max(eta[i] for i in q where b[k] >= b[1] and (k == 0 or b[k] > b[0]))", "emit done"),
            align="mu += 0*(best' - best)",
            more="  b : queries, sensitivity {0|1}\n",
            where=" and len(b) == 2",
        ),
        "defined",
        Witness(
            (drawn("eta", "alignment_cost == 0"),),
            promises=(expression("b[k] >= b[1] and (k == 0 or b[k] > b[0])"),),
        ),
    ),
    Pair(
        "a_shift_by_a_variable_that_changes",
        spec(
            *("mu ~ Lap(1/eps)", "v = 1", "eta[0] ~ Lap(1/eps)", "v = 0", "eta[1] ~ Lap(1/eps)"),
            "emit done(v = {eps|x})",
            align="eta[i] += v",
        ),
        "output",
    ),
    # --- 4. Kinds of facts ---
    Pair(
        "no_whole_number_in_a_range",
        spec("emit w", more="  k : int\n  b : int query, sensitivity 1, range [k/3, (k+{3|1})/3]\n"),
        "hypotheses",
    ),
    Pair(
        "no_multiple_in_a_range",
        spec(
            "emit w",
            more="  s : real where s >= 1\n  b : query, sensitivity 1, lattice s, range [1/2, {s|3/2}]\n",
        ),
        "hypotheses",
    ),
    Pair(
        "whole_answers_on_a_finer_lattice",
        spec("emit w", more="  b : int query, sensitivity 1, lattice {1|1/2}, range [1/2, 1]\n"),
        "form",
    ),
    Pair(
        "count_of_another_time",
        spec(
            "k = 0",
            "for i, y in q:",
            "  eta[i] ~ Lap(1/eps)",
            "k = 1",
            "w = top(k, eta[i] for i in q)",
            "emit done(v = {|x + }k)",
        ),
        "output",
        Witness((drawn("eta", "alignment_cost == 0"),)),
    ),
    Pair(
        "maximum_of_another_time",
        spec(
            "c = 0",
            "for i, y in q:",
            "  eta[i] ~ Lap(1/eps)",
            "mu ~ Lap(1/eps)",
            "{pass|c = 1}",
            "best = max(eta[i] + c for i in q)",
            "emit done",
            align="mu += 0*(best' - best)",
        ),
        "defined",
        Witness((drawn("eta", "alignment_cost == 0"),)),
    ),
    Pair(
        "ended_by_a_promise",
        spec("while m >= 1:", "  emit t", "  emit t", "emit done", more="  m : int where m {<|>=} 1\n"),
        "terminates",
        Witness(
            (loop(early="m >= 1 or $records == 0", measure="0"),), promises=(expression("len(out) == 1"),)
        ),
    ),
    Pair(
        "fewer_than_none",
        spec(
            "for i, y in q:",
            "  eta[i] ~ Lap(1/eps)",
            "w = top(k, eta[i] for i in q)",
            "emit done",
            more="  k : int where k <= 1 and k >= {0|0 - 1}\n",
        ),
        "defined",
        Witness((drawn("eta", "alignment_cost == 0"),)),
    ),
    Pair("an_index_beyond", spec("y = q[{0|1}]", "emit done"), "defined"),
    Pair("a_logarithm_of_0", spec("y = ln({eps|eps - 1})", "emit done"), "defined"),
    Pair("a_root_below_0", spec("y = sqrt({eps|eps - 1})", "emit done"), "defined"),
    Pair("a_modulus_of_0", spec("y = 5 % {len(q)|(len(q) - 1)}", "emit done"), "defined"),
    Pair("ends_out_of_order", spec("y = clip(x, 0, {eps|eps - 1})", "emit done"), "defined"),
    Pair(
        "a_place_that_is_not_selected",
        spec(
            "w = upto(1, t[i] for i in t)",
            "y = w[{len(w) - 1 if len(w) >= 1 else 0|1}]",
            "emit done",
            more="  t : vector\n",
            where=" and len(t) >= 1",
        ),
        "defined",
    ),
    Pair(
        "entries_compared_in_all",
        spec(
            "eta ~ Lap(1/eps)",
            "emit done(v = q[0] + eta)",
            align="eta += q[0] - q'[0]   when {q <= q' or q' <= q or true|q <= q' or q' <= q}",
        ),
        "output",
    ),
    Pair(
        "a_length_before_its_time",
        spec(
            "w = top({1|1 if len(w) == 0 else 0}, t[i] for i in t)",
            "emit done(v = len(w))",
            more="  t : vector\n",
            where=" and len(t) >= 1",
        ),
        "defined",
    ),
    Pair(
        "a_step_above_0",
        spec("emit w", more="  b : query, sensitivity 1, lattice {eps|(eps - 1)}\n"),
        "hypotheses",
    ),
    Pair(
        "ends_of_a_range",
        spec("emit w", more="  b : query, sensitivity 1, range [0, {eps|eps - 1}]\n"),
        "hypotheses",
    ),
    Pair(
        "a_sensitivity_below_0",
        spec("emit w", more="  b : query, sensitivity {eps|(eps - 1)}\n"),
        "hypotheses",
    ),
    Pair(
        "a_sensitivity_in_all_below_0",
        spec("emit w", more="  b : queries, sensitivity {eps|(eps - 1)}, adjacency l1\n"),
        "hypotheses",
    ),
    Pair(
        "a_private_sensitivity_in_all",
        spec("emit w", more="  b : queries, sensitivity {1|x*x}, adjacency l1\n"),
        "hypotheses",
    ),
    Pair(
        "a_range_below_0",
        spec(
            "emit w",
            more="  z : real where z >= {0|0 - 1/3}\n"
            "  b : query, sensitivity 1, lattice 1, range [0 - 1/2, z]\n",
        ),
        "hypotheses",
    ),
    Pair(
        "answers_that_there_are_none_of",
        spec(
            "emit done(v = {eps|x})",
            more="  b : queries, sensitivity 1, range [0, 3 - abs(i)]\n",
            where=" and len(b) <= 3",
        ),
        "output",
        Witness(promises=(expression("abs(b[7]) >= 0 and abs(b[0 - 7]) >= 0"),)),
    ),
    Pair(
        "entries_that_there_are_none_of",
        spec(
            "emit done(v = {eps|x})",
            more="  t : vector where t[i] >= 0 and abs(i) <= 5\n",
            where=" and len(t) <= 3",
        ),
        "output",
        Witness(promises=(expression("abs(t[7]) >= 0 and abs(t[0 - 7]) >= 0"),)),
    ),
    Pair(
        "an_answer_that_stays",
        spec(
            "emit done(v = {eps|b[0] + b[1]})",
            more="  b : queries, sensitivity 1, adjacency one\n",
            where=" and len(b) >= 2",
        ),
        "output",
    ),
    Pair(
        "ended_by_a_promise_of_inputs",
        spec("while m >= 1:", "  emit t", "emit done", more="  m : int where {m <= 0|m <= 9}\n"),
        "terminates",
        Witness((loop(measure="0"),), promises=(expression("m <= 0"),)),
    ),
    Pair(
        "looked_ahead_in_runs_that_do_not_end",
        spec(
            *("mu ~ Lap(1/eps)", "while m >= 1:", "  pass", "w = argmax(t[i] for i in range(0, 1 - m))"),
            "emit done",
            more="  m : int where m >= 0 and m <= {0|9}\n  t : vector\n",
            where=" and len(t) == 1",
        ),
        "terminates",
        Witness((loop(measure="0"),)),
    ),
    Pair(
        "a_law_of_runs_that_do_not_end",
        spec(
            *("mu ~ Lap(1/eps)", "while m >= 1:", "  pass"),
            *("w = argmax(t[i] for i in t where i + m <= 0)", "emit done"),
            more="  m : int where {m <= 0|m <= 9}\n  t : vector\n",
            where=" and len(t) >= 1",
        ),
        "terminates",
        Witness((loop(measure="0"),), route="injective"),
    ),
    Pair(
        "a_maximum_of_runs_that_do_not_end",
        spec(
            *("mu ~ Lap(1/eps)", "while m >= 1:", "  pass", "best = max(i + 1/2 for i in range(0, 1 - m))"),
            "emit done",
            align="mu += 0*(best' - best)",
            more="  m : int where {m <= 0|m <= 9}\n",
        ),
        "terminates",
        Witness((loop(measure="0"),), promises=(expression("m <= 0"),)),
    ),
    Pair(
        "a_promise_that_is_broken",
        spec("{pass|emit done}", "emit done"),
        "invariant",
        Witness(promises=(expression("len(out) == 1"),)),
    ),
    Pair(
        "defined_where_the_runs_part",
        spec(
            "if {eps|x} >= 0:",
            "  y = sqrt({eps|x})",
            "  emit a",
            "else:",
            "  y = ln(0 - {eps|x})",
            "  emit b",
        ),
        "output",
    ),
    Pair(
        "sets_where_the_runs_part",
        spec(
            *("if {eps|x} >= 0:", "  y = max(i + 1/2 for i in range(0, 1) where {eps|x} >= 0)", "  emit a"),
            *("else:", "  y = max(i + 1/2 for i in range(0, 1) where {eps|x} < 0)", "  emit b"),
        ),
        "output",
    ),
    Pair("an_index_below_0", spec("y = q[{0|0 - 1}]", "emit done"), "defined"),
    Pair(
        "a_place_below_0",
        spec(
            "w = top(1, t[i] for i in t)",
            "y = w[{0|0 - 1}]",
            "emit done",
            more="  t : vector\n",
            where=" and len(t) >= 1",
        ),
        "defined",
    ),
    Pair("a_modulus_of_real_numbers", spec("y = {len(q)|eps} % 2", "emit done"), "language"),
    Pair(
        "answers_that_all_fall_or_rise",
        spec(
            "eta ~ Lap(1/eps)",
            "emit done(v = {eps|x})",
            align="eta += 0   when q <= q' or q' <= q",
            where=" and len(q) == 1",
        ),
        "output",
    ),
    Pair(
        "roots_of_what_has_none",
        spec("y = sqrt(eps - 1) if eps >= 1 else {0|x}", "emit done(v = y)"),
        "output",
    ),
    Pair(
        "logarithms_and_powers",
        spec("y = ln(eps + 1)", "z = exp(eps)", "emit done(v = {eps|x} + y + z)"),
        "output",
    ),
    Pair(
        "a_power_in_a_declaration",
        spec("emit done", more="  d : real where d <= {z|exp(z)}\n  z : real\n"),
        "hypotheses",
    ),
    Pair("a_number_or_a_truth_value", spec("y = 1/2 if eps > 1 else {1|true}", "emit done"), "form"),
    Pair("a_number_beside_a_truth_value", spec("if eps == {1|true}:", "  emit a", "emit done"), "form"),
    Pair(
        "a_selection_that_is_not_made_yet",
        spec("y = len({t|w})", "w = upto(1, t[j] for j in t)", "emit done(v = y)", more="  t : vector\n"),
        "defined",
    ),
    Pair(
        "an_input_with_the_name_of_an_index",
        spec(
            "emit done(v = b[0] - b[0])",
            more="  {d|i} : real where {d|i} > 0\n  b : queries, sensitivity {d|i}\n",
            where=" and len(b) >= 1",
        ),
        "form",
    ),
    Pair(
        "two_answers_that_move",
        spec(
            *("eta[0] ~ Lap({2|1}/eps)", "eta[1] ~ Lap({2|1}/eps)", "eta[2] ~ Lap({2|1}/eps)"),
            "emit done(u = b[0] + eta[0], v = b[1] + eta[1], w = b[2] + eta[2])",
            align="eta[i] += b[i] - b'[i]",
            more="  b : queries, sensitivity 1, adjacency two\n",
            where=" and len(b) == 3",
        ),
        "cost",
    ),
    Pair(
        "a_gap_that_is_almost_never_0",
        spec(
            *("for i in range(len(q)):", "  eta[i] ~ Lap(2/eps)", "w = argmax(q[i] + eta[i] for i in q)"),
            "z = 1/(q[w] + eta[w] + {1|0} - max(q[i] + eta[i] for i in q where i != w))",
            "emit done(v = w)",
            align="eta[i] += 1 + q[i] - q'[i]   when i == w",
            where=" and len(q) >= 2",
        ),
        "defined",
        Witness(
            (drawn("eta", "alignment_cost <= (1 if w < i else 0)*eps"),),
            indices=(expression("0 if w != 0 else 1"),),
        ),
    ),
    Pair("an_index_below_0", spec("eta[{0|0 - 1}] ~ Lap(1/eps)", "emit done"), "fresh"),
    Pair(
        "drawn_one_after_the_other_above_a_gap",
        spec("eta[{0|4}] ~ Lap(1/eps)", "eta[{0|4} + 1] ~ Lap(1/eps)", "emit done(v = 0*eta[0])"),
        "defined",
    ),
    *(_declared(*each) for each in DECLARED),
    *(_true(*each) for each in TRUTHS),
    *(_told(*each) for each in OUTPUTS),
    Pair(
        "some_rise_and_some_fall",
        spec(
            "eta ~ Lap(1/eps)",
            "emit done(v = x + eta)",
            align="eta += x - x'   when b[0] <= b'[0] and b[1] <= b'[1] or b[0] >= b'[0] and b[1] >= b'[1]",
            more="  b : queries, sensitivity 1, adjacency {monotone|all}\n",
            where=" and len(b) == 2",
        ),
        "output",
    ),
    Pair(
        "a_private_range",
        spec("emit done", more="  b : query, sensitivity 1, range [0, {1|x*x}]\n"),
        "hypotheses",
    ),
    Pair(
        "a_private_lattice",
        spec("emit done", more="  b : query, sensitivity 1, lattice {1|(1 + x*x)}\n"),
        "hypotheses",
    ),
    Pair(
        "a_step_of_0",
        spec("emit done", more="  d : real where d >= 0\n  b : query, sensitivity 1, lattice {(d + 1)|d}\n"),
        "hypotheses",
    ),
    Pair(
        "not_empty_by_what_is_known_of_both_runs",
        spec("k = 1", "for i, y in q:", "  k = k + 1", "z = max(1/2 for j in range(0, {1|k}))", "emit done"),
        "defined",
        Witness((loop("k' == k", "k >= 1"),)),
    ),
    *(
        Pair(
            f"an_{what}_that_is_not_shared",
            spec(
                *("eta ~ Lap(1/eps)", "emit done(v = x + eta)"),
                align=f"eta += x - x'   when {true}",
                more=f"  b : queries, sensitivity 1, adjacency one\n  c : {kind}{{, same {what} as b|}}\n",
                where=" and len(b) == 2 and len(c) == 2" if what == "index" else " and len(b) == 1",
            ),
            "output",
        )
        for what, kind, true in (
            ("index", "queries, sensitivity 1, adjacency one", "b[0] == b'[0] or c[1] == c'[1]"),
            ("direction", "query, sensitivity 1", "b[0] >= b'[0] or c <= c'"),
        )
    ),
    Pair(
        "what_has_no_index_to_share",
        spec(
            "emit done",
            more="  b : queries, sensitivity 1, adjacency {one|l1}\n"
            "  c : queries, sensitivity 1, adjacency {one|l1}, same index as b\n",
        ),
        "form",
    ),
    Pair("a_root_of_0", spec("y = 1/(sqrt(eps - 1) + {1|0}) if eps >= 1 else 0", "emit done"), "defined"),
    Pair(
        "defined_where_the_first_fails",
        spec("if m {==|!=} 0 or 1/m > 2:", "  emit a", "emit done", more="  m : real\n"),
        "defined",
    ),
    Pair(
        "defined_where_the_first_holds",
        spec("if m {!=|==} 0 and 1/m > 2:", "  emit a", "emit done", more="  m : real\n"),
        "defined",
    ),
    Pair(
        "defined_where_a_test_fails",
        spec("y = 2 if m {==|!=} 0 else 1/m", "emit done", more="  m : real\n"),
        "defined",
    ),
    Pair(
        "defined_where_a_test_holds",
        spec("y = 1/m if m {!=|==} 0 else 2", "emit done", more="  m : real\n"),
        "defined",
    ),
    Pair("the_length_of_one_answer", spec("emit done(v = len({q|x}))"), "form"),
    Pair(
        "two_lists_compared",
        spec(
            "eta ~ Lap(1/eps)",
            "emit done(v = x + eta)",
            align="eta += x - x'   when q <= {q'|p'} or true",
            more="  p : queries, sensitivity 1\n",
        ),
        "defined",
    ),
    Pair(
        "a_promise_of_some_record",
        spec("{emit done|pass}"),
        "invariant",
        Witness(promises=(expression("len(out) >= 1"),)),
    ),
    Pair(
        "a_first_promise_that_is_broken",
        spec("{pass|emit done}", "emit done"),
        "invariant",
        Witness(promises=(expression("len(out) == 1"), expression("len(out) >= 0"))),
    ),
    Pair(
        "a_range_of_no_answers",
        spec(
            *("for i in range(0, 1):", "  pass", "emit done(v = {eps|x} if p > 0 else 0)"),
            more="  p : real\n  b : queries, sensitivity 1, range [p, 0], adjacency all\n",
            where=" and (len(b) == 0 or p <= 0)",
        ),
        "output",
        Witness((loop(early="floor(b[0]) <= b[0]"),)),
    ),
    Pair(
        "at_most_fewer_than_none",
        spec(
            *("for i, y in q:", "  eta[i] ~ Lap(1/eps)", "w = upto(k, eta[i] for i in q)", "emit done"),
            more="  k : int where k <= 1 and k >= {0|0 - 1}\n",
        ),
        "defined",
        Witness((drawn("eta", "alignment_cost == 0"),)),
    ),
    Pair(
        "a_clause_of_no_entry",
        spec(
            "emit done(v = {eps|x} if p <= 0 else 0)",
            more="  p : real\n  t : vector where t[i] >= 0 and p > t[i]\n",
        ),
        "output",
    ),
    *(
        Pair(
            f"no_whole_number_{where}",
            spec(
                "emit done",
                more=f"  p : real where {clause}\n  z : int query, sensitivity 1, range [{ends}]\n",
            ),
            "hypotheses",
        )
        for where, clause, ends in (
            ("above_0", "{1|1/2} <= p and p <= 1", "p, p + 1/4"),
            ("below_0", "-1 <= p and p <= {-1|-1/2}", "p - 1/4, p"),
        )
    ),
    Pair(
        "drawn_twice_below_the_last",
        spec(*(f"eta[{i}] ~ Lap(1/eps)" for i in ("3", "5", "{2|3}")), "emit done"),
        "fresh",
    ),
    Pair(
        "a_claim_that_speaks_of_noise",
        spec("eta ~ Lap(1/eps)", "emit done", claim="eps + abs({eps|eta})"),
        "defined",
    ),
    Pair(
        "a_claim_that_speaks_of_one_draw",
        spec("eta[0] ~ Lap(1/eps)", "emit done", claim="eps + abs({eps|eta[0]})"),
        "defined",
    ),
    Pair("a_list_for_a_number", spec("y = {x|q}", "emit done"), "defined"),
    Pair(
        "an_index_that_is_not_selected_yet",
        spec(
            "y = {0|w}", "w = argmax(t[j] for j in t)", "emit done", more="  t : vector where len(t) >= 1\n"
        ),
        "defined",
    ),
    Pair(
        "a_claim_by_the_records_of_a_tag",
        spec(
            *("eta[0] ~ Lap(1/eps)", "eta[1] ~ Lap(1/eps)", "emit w(v = x + eta[0])"),
            "emit {w|u}(v = x + eta[1])",
            claim="eps*out.count(w) at most 2*eps",
            align="eta[i] += x - x'",
        ),
        "cost",
    ),
    Pair(
        "told_by_a_record",
        spec(
            *("eta ~ Lap(1/eps)", "emit a(t = eps)", "emit done(v = x + eta)"),
            align="eta += x - x' if out[0].t == eps + {0|1} else 0",
        ),
        "output",
    ),
    Pair(
        "partial_in_the_last_arm",
        spec("if x >= 1:", "  y = 1", "else:", "  y = 1/{(x - 1)|x}", "emit done"),
        "defined",
    ),
    Pair(
        "the_last_of_two_tests",
        spec("if {eps < 0|eps > 1}:", "  emit w(v = x)", "elif eps > 0:", "  emit w(v = 0)"),
        "output",
    ),
    *(
        Pair(
            f"evaluated_where_it_is_{word}",
            spec(f"y = 1 if x {{{right}|{wrong}}} 0 {word} 1/x > 2 else 0", "emit done"),
            "defined",
        )
        for word, right, wrong in (("and", "!=", "=="), ("or", "==", "!="))
    ),
    Pair(
        "a_call_of_the_last_round",
        calling(
            *(
                "u = c(y = 0, k = 1, d = eps)",
                "b = 0",
                "r = 0",
                "for i in range(0, 2):",
                "  a = c(y = x, k = 1, d = eps)",
                "  mu[i] ~ Lap(1/eps)",
            ),
            *("  r = i", "  if a.v > 0:", "    b = 1", "    break", "nu ~ Lap(1/eps)"),
            "emit done(v = {eps|x} if b == 1 and r == 1 else 0)",
            claim="3*eps",
            align="mu[i] += 1 when a.v > 0",
        ),
        "output",
        replace(
            SINGLE,
            loops=(
                loop(
                    *("alignment_cost <= i*eps", "b' == b", "r' == r", "i == 0 or mu'[0] == mu[0]"),
                    early="$drawn_mu == i;$dense_mu;b == 0",
                ),
            ),
        ),
    ),
    Pair(
        "a_later_set_that_is_not_empty_by_a_test",
        spec(
            *("if b > 0:", "  emit a", "else:", "  emit c"),
            *(
                "for i, y in q:",
                "  eta[i] ~ Lap(1/eps)",
                "k = argmax((t[j] if b > 0 else 0) for j in t)",
                "mu ~ Lap(1/eps)",
            ),
            *("best = max(eta[i] for i in q where k == (1 if b > 0 else 0))", "emit done"),
            align="mu += 0*(best' - best)",
            more="  b : query, sensitivity {0|1}\n  t : vector\n",
            where=" and len(t) == 2 and t[0] == 0 and t[1] == 1",
        ),
        "output",
        Witness((drawn("eta", "alignment_cost == 0"),), promises=(expression("k == (1 if b > 0 else 0)"),)),
    ),
    Pair(
        "a_set_that_is_not_empty_by_a_test",
        spec(
            *("if y > 0:", "  eta ~ Lap(1/eps)", "  emit a", "else:", "  mu ~ Lap(1/eps)", "  emit b"),
            align="eta += max(0*j for j in range(0, 1) where y' > 0)\n"
            "  mu += max(0*j for j in range(0, 1) where y' <= 0)",
            more="  y : query, sensitivity {0|1}\n",
        ),
        "defined",
    ),
    Pair(
        "records_of_a_call_in_a_claim",
        calling(*("a = c(y = x, k = 1, d = eps)", "emit w"), claim="eps*{out|a}.count(w) at most eps"),
        "defined",
        SINGLE,
    ),
    Pair(
        "a_claim_that_counts_records_without_a_bound",
        spec("emit w", claim="eps*out.count(w)**2{ at most eps|}"),
        "form",
    ),
    Pair(
        "a_later_set_that_is_not_empty_by_a_promise",
        spec(
            *("for i, y in q:", "  eta[i] ~ Lap(1/eps)", "mu ~ Lap(1/eps)"),
            *("best = max(eta[i] for i in q where m > 0)", "emit done"),
            align="mu += 0*(best' - best)",
            more="  m : int where m >= {1|0}\n",
        ),
        "defined",
        Witness((drawn("eta", "alignment_cost == 0"),), promises=(expression("m > 0"),)),
    ),
    Pair("a_list_for_a_number", spec("emit done(v = 0*{x|q})"), "defined"),
    *(
        Pair(
            f"a_{word}_in_a_claim",
            spec("v = 1", "mu ~ Lap(1/eps)", "emit done", claim=f"{{1|{name}}}*eps at most eps"),
            "defined",
        )
        for word, name in (("variable", "v"), ("draw", "clip(mu, 0, 1)"))
    ),
    Pair(
        "a_list_beside_another_one",
        spec(
            *("eta ~ Lap(1/eps)", "emit done"),
            align="eta += 1   when q <= {q|b}'",
            more="  b : queries, sensitivity 1\n",
        ),
        "defined",
    ),
    Pair("the_cost_in_the_program", spec("emit done(v = {eps|alignment_cost})"), "defined"),
    # --- 5. Loops ---
    Pair(
        "where_a_loop_starts",
        spec("s = {0*1|x}", "for i, y in q:", "  s = s", "emit done(v = s)"),
        "invariant",
        Witness((loop("s' == s"),)),
    ),
    Pair(
        "after_a_round",
        spec("s = 0*eps", "for i, y in q:", "  s = s + {1|y}", "emit done(v = s)"),
        "invariant",
        Witness((loop("s' == s"),)),
    ),
    Pair(
        "early_where_a_loop_starts",
        spec("s = {1|0 - 5}", "for i, y in q:", "  s = s + 1", "emit done(v = 1/s)"),
        "invariant",
        Witness((loop("s' == s", early="s >= 1"),)),
    ),
    Pair(
        "early_after_a_round",
        spec("s = 1", "for i, y in q:", "  s = s {+|-} 1", "emit done(v = 1/s)"),
        "invariant",
        Witness((loop("s' == s", early="s >= 1"),)),
    ),
    Pair(
        "later_records_at_the_end",
        _first_above("i", "{pass|emit none(v = 0 - 1)}"),
        "invariant",
        Witness((_FIRST,)),
    ),
    Pair("later_records_after_a_break", _first_above("{i|i - 1}", "pass"), "invariant", Witness((_FIRST,))),
    Pair(
        "later_records_after_a_round",
        spec("for i, y in q:", "  emit seen(v = {i|i - 1})"),
        "invariant",
        Witness((loop(later=_NEXT),)),
    ),
    Pair(
        "later_records_after_an_inner_loop",
        spec("for j in range(0, 2):", "  for i, y in q:", "    pass", "  emit seen(v = {len(q)|0 - 1})"),
        "invariant",
        Witness((loop(), loop(later=_NEXT))),
    ),
    Pair(
        "a_name_that_an_inner_loop_brings",
        spec(
            *("for i in range(0, 2):", "  k = 0", "  while k < 2:", "    if i >= 5:", "      emit w(v = x)"),
            *("    for {j|i} in range(0, 6):", "      pass", "    k = k + 1"),
        ),
        "form",
        Witness((loop(), loop("k' == k", early="k >= 0", measure="2 - k"), loop())),
    ),
    Pair(
        "as_many_rounds",
        spec("m = floor({eps|x})", "s = 0", "for i in range(0, m):", "  s = s + 1", "emit done(v = s)"),
        "output",
        Witness((loop("s' == s"),)),
    ),
    Pair(
        "a_range_of_nothing", spec("for i in range(0, 0 - 1):", "  pass", "emit done(v = {eps|x})"), "output"
    ),
    Pair(
        "a_loop_over_one_answer",
        spec("for i, y in {q|x}:", "  pass", "emit done"),
        "form",
        Witness((loop(),)),
    ),
    Pair(
        "a_loop_that_one_run_leaves",
        spec(
            "eta ~ Lap(1/eps)",
            "while x + eta > 0:",
            "  emit w",
            "  break",
            "emit done",
            align="eta += {x - x'|1}",
        ),
        "output",
        Witness((loop(measure="0"),)),
    ),
    Pair(
        "an_index_in_its_range",
        spec("s = 0", "for i in range(2, 4):", "  s = s + 1/(i - {1|2})", "emit done"),
        "defined",
        Witness((loop("s' == s"),)),
    ),
    Pair(
        "the_last_index_of_a_range",
        spec("s = 0", "for i in range(2, 4):", "  s = s + 1/(i - {4|3})", "emit done"),
        "defined",
        Witness((loop("s' == s"),)),
    ),
    Pair(
        "an_index_after_its_loop",
        spec("for i in range(2, 4):", "  pass", "emit done(v = {0|i})"),
        "defined",
        Witness((loop(),)),
    ),
    Pair(
        "an_entry_after_its_loop",
        spec("for i, y in q:", "  pass", "emit done(v = {0|y})"),
        "defined",
        Witness((loop(),)),
    ),
    Pair(
        "an_entry_of_the_loop",
        spec("for i, y in q:", "  emit seen(v = {eps|y})"),
        "output",
        Witness((loop(),)),
    ),
    Pair(
        "what_a_loop_changes",
        spec("s = 0", "for i, y in q:", "  s = 1", "emit done(v = {0|1/(1 - s)})"),
        "defined",
        Witness((loop("s' == s"),)),
    ),
    Pair(
        "rounds_that_a_loop_may_leave_out",
        spec("s = 0", "for i in range(0, floor(eps)):", "  s = 1", "emit done(v = {0|1/s})"),
        "defined",
        Witness((loop("s' == s"),)),
    ),
    Pair(
        "a_counter_after_two_rounds",
        spec("for i in range(0, 2):", "  emit w", "emit done(v = {0|x})"),
        "output",
        Witness((loop(early="$records == i;$count_w == i"),), length=expression("3")),
    ),
    Pair(
        "a_draw_in_every_round",
        spec(
            "for i in range(0, {1|2 - 2}):",
            "  xi[i] ~ Lap(1/eps)",
            "emit done(v = x + xi[0])",
            align="xi[i] += x - x'   when i == 0",
        ),
        "defined",
        Witness((drawn("xi", "alignment_cost <= (eps if i > 0 else 0)"),)),
    ),
    Pair(
        "the_cost_of_rounds",
        spec("for i in range(0, {1|2}):", "  xi[i] ~ Lap(1/eps)", "emit done", align="xi[i] += 1"),
        "cost invariant",
        Witness((drawn("xi", "alignment_cost <= i*eps"),)),
    ),
    *(
        Pair(
            f"{name}_of_0_in_an_invariant",
            spec(
                *(f"v = {value}", "u = t", "for i in range(0, 2):", f"  invariant {line}"),
                f"  invariant v == {value} and u == t and v' == v and u' == u",
                *(f"  v = {value}", "  u = t", "emit done(v = x if t == 0 else 0)"),
                more="  t : real where t {>|>=} 0\n  b : real where b >= 2\n",
            ),
            "invariant",
            Witness((LoopWitness(),)),
        )
        for name, value, line in (
            ("a_quotient", "t", "1/(v/u) == 1"),
            ("a_logarithm", "t*b", "ln(v) == ln(u) + ln(b)"),
        )
    ),
    Pair(
        "what_is_said_of_the_next_round",
        spec("for i in range(0, 2):", "  emit done(v = b)", more="  b : query, sensitivity {0|1}\n"),
        "invariant",
        Witness((loop(later="b' == b"),)),
    ),
    Pair(
        "what_is_said_of_complete_runs_alone",
        spec("v = 2", "for i in range(0, 2):", "  v = v - {0|1}", "emit done(v = 1/v)"),
        "invariant",
        Witness((loop("v' == v", early="v != 0", later="v != 0"),)),
    ),
    # --- 6. Termination ---
    Pair(
        "a_measure_that_falls",
        spec("k = 5", "while k >= 1:", "  k = k - {1|0}", "emit done"),
        "terminates",
        Witness((loop("k' == k", measure="k"),)),
    ),
    Pair(
        "a_measure_with_an_end",
        spec("k = 5", "while {k >= 1|k <= 9}:", "  k = k - 1", "emit done"),
        "terminates",
        Witness((loop("k' == k", measure="k"),)),
    ),
    Pair(
        "a_chance_in_every_round",
        spec(
            *("b = 0*eps", "k = 0", "while b <= {5|b}:", "  r[k] ~ Lap(1)", "  b = r[k]", "  k = k + 1"),
            "emit done",
        ),
        "terminates",
        Witness(
            (
                loop(
                    *("b' == b", "k' == k", "alignment_cost == 0"),
                    early="k >= 0;$drawn_r == k",
                    chance=("r", "5", "1"),
                ),
            )
        ),
    ),
    Pair(
        "a_least_scale_of_0",
        spec(
            *(
                "s = {1|0}",
                "b = 0*eps",
                "k = 0",
                "while b <= 5:",
                "  r[k] ~ Lap(1)",
                "  b = r[k]",
                "  k = k + 1",
            ),
            "emit done",
        ),
        "terminates",
        Witness((_above("s"),)),
    ),
    Pair(
        "a_scale_below_the_least",
        spec(
            *("b = 0*eps", "k = 0", "while b <= 5:", "  r[k] ~ Lap({1|1/2})", "  b = r[k]", "  k = k + 1"),
            "emit done",
        ),
        "terminates",
        Witness((_above("1"),)),
    ),
    Pair(
        "a_measure_of_one_round",
        spec(
            "k = 0",
            "for i, y in q:",
            "  pass",
            "{for i, y in q:\n    pass\n  while k <= 2:|while k >= 0:}",
            "  k = 1 + k",
            "emit done",
        ),
        "terminates",
        Witness((loop(), *[loop("k' == k", early="k >= 0", measure="$head_1_k + 3 - k")] * 2)),
    ),
    Pair(
        "a_loop_that_waits_for_what_is_bounded",
        spec(
            *(
                "b = 0*eps",
                "k = 0",
                "while b <= 5:",
                "  r[k] ~ {Gumbel|Uniform}(1)",
                "  b = r[k]",
                "  k = k + 1",
            ),
            "emit done",
        ),
        "terminates",
        Witness((_above("1"),)),
    ),
    Pair(
        "a_real_measure_that_falls_by_less_and_less",
        spec("k = eps + 5", "while k > 0:", "  k = {k - 1|k/2}", "emit done"),
        "terminates",
        Witness((loop("k' == k", measure="k"),)),
    ),
    Pair(
        "a_step_that_grows_from_round_to_round",
        spec(
            *(
                "b = 0*eps",
                "k = 0",
                "while b <= 5:",
                "  r[k] ~ DLap(1, {1|(k + 1)})",
                "  b = r[k]",
                "  k = k + 1",
            ),
            "emit done",
        ),
        "terminates",
        Witness((_above("1"),)),
    ),
    Pair(
        "a_chance_of_an_earlier_draw",
        spec(
            "r[0] ~ Lap(1)",
            "b = 0*eps",
            "k = 1",
            "while b <= 5:",
            "  {r[k] ~ Lap(1)\n    b = r[k]\n    k = k + 1|b = r[0]}",
            "emit done",
        ),
        "terminates",
        Witness(
            (
                loop(
                    "b' == b",
                    *("k' == k", "alignment_cost == 0"),
                    "alignment_cost == 0",
                    early="k >= 1;$drawn_r == k",
                    chance=("r", "5", "1"),
                ),
            )
        ),
    ),
    Pair(
        "a_threshold_that_is_not_drawn_yet",
        spec(
            *(
                "mu[{0|1}] ~ Lap(1/eps)",
                "b = 0*eps",
                "k = 0",
                "while b <= 5:",
                "  r[k] ~ Lap(1)",
                "  b = r[k]",
            ),
            *("  k = k + 1", "emit done"),
        ),
        "defined",
        Witness(
            (
                loop(
                    *("b' == b", "k' == k", "alignment_cost == 0"),
                    early="k >= 0;$drawn_r == k",
                    chance=("r", "5 + 0*mu[0]", "1"),
                ),
            )
        ),
    ),
    Pair(
        "a_draw_before_the_loop_that_waits",
        spec(
            *(
                "r[0] ~ Lap(1)",
                "k = 1",
                "b = r[0]",
                "while b <= 5:",
                "  {r[k] ~ Lap(1)\n    b = r[k]\n    k = k + 1|pass}",
                "emit done",
            )
        ),
        "terminates",
        Witness(
            (
                loop(
                    *("b' == b", "k' == k", "alignment_cost == 0"),
                    early="k >= 1;$drawn_r == k;b == r[k - 1]",
                    chance=("r", "5", "1"),
                ),
            )
        ),
    ),
    Pair(
        "a_chance_of_an_inner_loop",
        spec(
            *("b = 0*eps", "k = 0", "while b <= 5:", "  for j in range(0, 2):", "    pass"),
            *("  {|  }r[k] ~ Lap(1); b = r[k]; k = k + 1", "emit done"),
        ),
        "terminates",
        Witness(
            (
                _above("1"),
                loop("b' == b", "k' == k", "alignment_cost == 0", early="k >= 0;$drawn_r == k"),
            )
        ),
    ),
    # --- 7. Sets, selections, ties ---
    Pair("a_row_of_this_round", _in_rows("q[j] + eta[{r*m|r*m + m} + j]"), "defined", IN_ROWS),
    Pair("a_row_by_a_record", _in_rows(row="floor(i/m) + {0|1}"), "defined", IN_ROWS),
    Pair("a_row_that_costs_twice", _in_rows(scale="{2|1}*k/eps"), "cost", IN_ROWS),
    Pair("a_row_that_moves_twice", _in_rows("{1|2}*q[j] + eta[r*m + j]"), "output", IN_ROWS),
    Pair("a_row_that_moves_too_little", _in_rows(shift="{1|0} + q[i % m] - q'[i % m]"), "output", IN_ROWS),
    Pair("a_row_without_answers", _in_rows("{1|x}*j + eta[r*m + j]"), "output", IN_ROWS),
    Pair("a_list_of_this_row", _in_lists("q[j] + eta[{r*m|0} + j]"), "output", IN_LISTS),
    Pair("a_list_that_costs_twice", _in_lists(scale="{2|1}*h*k/eps"), "cost", IN_LISTS),
    Pair("a_list_of_more", _in_lists(scale="2*{h|(h - 1/2)}*k/eps"), "cost", IN_LISTS),
    Pair("a_list_that_moves_twice", _in_lists("{1|2}*q[j] + eta[r*m + j]"), "output", IN_LISTS),
    Pair(
        "a_list_that_moves_too_little",
        _in_lists(shift="{1|0} + q[i % m] - q'[i % m] when i % m in w"),
        "output",
        IN_LISTS,
    ),
    Pair(
        "a_list_that_moves_others",
        _in_lists(shift="1 + q[i % m] - q'[i % m] when (i + {0|1}) % m in w"),
        "cost invariant output",
        IN_LISTS,
    ),
    Pair("a_list_as_long_as_told", _in_lists(count="{h|h if x > 0 else 1}"), "output", IN_LISTS),
    Pair("a_list_that_is_too_long", _in_lists(count="{h|h + 1}"), "defined", IN_LISTS),
    Pair("values_of_a_list", _in_lists(released="{|q[}w[s]{|]}"), "output", IN_LISTS),
    Pair("a_list_that_is_not_made_yet", _in_lists(first=("  emit a(v = len({v|w}))",)), "defined", IN_LISTS),
    Pair("a_list_of_rounds_before", _in_lists(more=("emit a(v = {v|w}[0])",)), "defined", IN_LISTS),
    Pair(
        "a_draw_of_another_rounds_list",
        spec(
            *("for r in range(2):", "  eta[r] ~ Lap(1/eps if r == 1 else 1)"),
            "  w = top(1, (1 if j == r else 0) for j in range(2))",
            "  emit done(v = x + eta[{r|0}] if r == 1 else 0)",
            align="eta[i] += x - x' when w[0] == 1",
        ),
        "output",
        Witness((loop("alignment_cost <= (eps if r > 1 else 0)", early="$drawn_eta == r;$dense_eta"),)),
    ),
    Pair(
        "a_draw_of_a_later_rounds_list",
        spec(
            *("v = top(1, j for j in range(2))", "for r in range(2):", "  eta[r] ~ Lap(1)"),
            *("  w = top(1, (1 if j == r else 0) for j in range(2))", "  emit done(v = eta[r])"),
            align="eta[i] += x - x' when {v|w}[0] == {0|1}",
        ),
        "invariant",
        Witness(
            (loop("alignment_cost <= 0", "r == 0 or eta'[r] == eta[r]", early="$drawn_eta == r;$dense_eta"),)
        ),
    ),
    Pair(
        "a_list_that_may_be_left_out",
        _in_lists(first=("  if r > 3:", "    {pass|break}")),
        "defined",
        IN_LISTS,
    ),
    Pair(
        "two_lists_of_one_name",
        _in_lists(more=("{u|w} = top(1, t[j] for j in t)",)),
        "defined",
        IN_LISTS,
    ),
    Pair(
        "a_name_that_is_chosen_twice",
        spec(
            *("w = argmax({t|q}[j] for j in t)", "emit a(v = w)", "w = argmin(t[j] for j in t)", "emit done"),
            more="  t : vector where len(t) >= 1\n",
            where=" and len(q) >= len(t)",
        ),
        "output",
    ),
    Pair(
        "a_list_that_is_no_argument",
        spec("y = {sum|list}(t[j] for j in t)", "emit done", more="  t : vector where len(t) >= 1\n"),
        "language",
    ),
    Pair(
        "a_list_for_a_draw_that_is_no_rounds",
        _in_lists(
            shift="1 + q[i % m] - q'[i % m] when i % m in w\n  xi += 1 - 1 when 0 in {v|w}",
            more=("xi ~ Lap(1)",),
        ),
        "defined",
        replace(IN_LISTS, costs=()),
    ),
    Pair(
        "a_list_for_draws_in_places_of_other_rounds",
        spec(
            *("v = top(1, t[j] for j in t)", "for r in range(k):", "  eta[r] ~ Lap(1)", "  xi[r] ~ Lap(1)"),
            *("  w = top(1, t[j]*r for j in t)", "  emit done(v = w[0])"),
            align="eta[i] = xi[i] when 0 in {v|w}\n  xi[i] = eta[i] when 0 in {v|w}",
            more=f"{_LENGTHS}  t : vector where len(t) >= 1\n",
        ),
        "defined",
        Witness((loop("alignment_cost <= 0", early="$drawn_eta == r;$drawn_xi == r;$dense_eta;$dense_xi"),)),
    ),
    Pair("the_row_above", _by_rounds("r*m + {m - 1|m}"), "output"),
    Pair("the_place_in_a_row", _by_remainders("r*m + {m - 1|m}"), "output"),
    Pair("the_row_below", _by_rounds("r*m + {0|0 - 1}"), "output"),
    Pair(
        "a_quotient_by_what_is_negative",
        spec(
            "emit done(v = x if floor(len(q)/m)*m > len(q) else 0)", more="  m : int where {m >= 1|m < 0}\n"
        ),
        "output",
    ),
    Pair(
        "no_whole_number_is_such_a_quotient",
        spec("emit w", more="  m : int where m < 0 and floor(len(q)/m) {<=|>} 0\n"),
        "hypotheses",
    ),
    Pair(
        "nested_sets_of_two_kinds",
        spec(
            "y = max(max(max(t[b] - 2*t[c] for c in t) for b in range(1, 2)) for a in t where t[a] >= 0)",
            "z = max(max(max(t[c] - 2*t[b] for c in t) for b in range(1, 2)) for a in t where t[a] >= 0)",
            "emit done(v = {|x + }t[0] + t[1])",
            more="  t : vector where t[i] == i\n",
            where=" and len(t) == 2",
        ),
        "output",
    ),
    Pair(
        "a_selection_that_the_proof_makes",
        spec(*("for i in range(len(t)):", "  emit done"), more="  t : vector where len(t) >= {1|0}\n"),
        "defined",
        Witness((LoopWitness(selection=expression("argmax(t[j] for j in t)")),)),
    ),
    Pair(
        "set_of_any_index",
        spec(
            "eta[0] ~ Lap(1/eps)",
            "eta[1] ~ Lap(1/eps)",
            "emit done(v = {|x + }t[0])",
            more="  t : vector\n  u : vector where len(u) == 1 and u[0] == 0\n",
            where=" and len(t) == 2 and t[0] == 0 and t[1] == 1",
            align="eta[i] += max(t[i] + u[j] for j in u)",
        ),
        "output",
    ),
    Pair("an_empty_set", spec("y = max(q[i] for i in q where i >= {0|1})", "emit done"), "defined"),
    *(
        Pair(
            f"a_sum_of_{name}",
            spec(
                *("eta ~ Lap(1/eps)", "emit done(v = sum(b[j] for j in b) + eta)"),
                align="eta += sum(b[j] for j in b) - sum(b'[j] for j in b)",
                more=f"  b : queries, sensitivity 1, adjacency {way}\n",
                where=" and len(b) == 3",
                claim=f"{{{right}|{wrong}}}",
            ),
            "cost",
        )
        for name, way, right, wrong in (
            ("one_answer_that_moves", "one", "eps", "eps/2"),
            ("two_answers_that_move", "moved", "2*eps", "eps/2"),
            ("answers_that_all_move", "all", "3*eps", "5*eps/2"),
            ("answers_that_move_in_all", "l1", "eps", "eps/2"),
        )
    ),
    Pair(
        "a_sum_of_answers_of_which_all_may_move",
        spec(
            *("eta ~ Lap(1/eps)", "emit done(v = sum(b[j] for j in b) + eta)"),
            align="eta += sum(b[j] for j in b) - sum(b'[j] for j in b)",
            more="  b : queries, sensitivity 1, adjacency {one|all}\n",
        ),
        "cost",
    ),
    Pair(
        "two_sums_over_two_ranges",
        spec(
            "emit done(v = sum(b[j] for j in range(0, 2)) - sum(b[j] for j in range(0, {2|1})))",
            more="  b : queries, sensitivity 1, adjacency all\n",
            where=" and len(b) >= 2",
        ),
        "output",
    ),
    Pair(
        "two_sums_that_are_added",
        spec(
            "emit done(v = sum(b[j] for j in b) {-|+} sum(b[j] for j in b))",
            more="  b : queries, sensitivity 1, adjacency all\n",
        ),
        "output",
    ),
    Pair(
        "as_far_as_a_range_is_long",
        spec(
            *("k = 0", "r[0] ~ Lap(1)", "while r[k] - sum({1|2} for j in t where t[j] >= k) <= 5:"),
            *("  k = k + 1", "  r[k] ~ Lap(1)", "emit done"),
            more="  t : vector\n",
        ),
        "terminates",
        Witness(
            (
                loop(
                    *("k' == k", "alignment_cost == 0"),
                    early="k >= 0;$drawn_r == k + 1;$dense_r",
                    chance=("r", "5 + len(t)", "1"),
                ),
            )
        ),
    ),
    *(
        Pair(
            f"what_is_told_of_{name}",
            spec(
                *(f"s = sum({term} for j in range(0, {high}))", f"emit done(v = {{0|{wrong}}})"),
                more=f"  b : queries, sensitivity 1, adjacency {way}\n",
                where=" and len(b) >= 2",
            ),
            "output",
        )
        for name, term, high, way, wrong in (
            ("a_sum_that_leaves_out_what_moves", "b[j]", 1, "one", "b[1]"),
            ("a_sum_of_one_answer", "b[j]", 1, "moved", "b[0]"),
            ("a_sum_over_nothing", "b[0]", 0, "one", "b[0]"),
        )
    ),
    Pair(
        "two_sums_and_what_they_are_apart",
        spec(
            *("s = sum(1 for j in range(0, 1))", "u = sum(2 for j in range(0, 1))"),
            "emit done(v = {s - u|x}, w = sum(1 for j in range(0, 1)) - sum(2 for j in range(0, 1)))",
        ),
        "output",
    ),
    Pair(
        "ties_on_a_lattice",
        spec(
            *("m = 1", "m = m + 1", "for i, y in b:", "  eta[i] ~ {Lap|DLap}(2/eps)"),
            "w = argmax(b[i] + eta[i] for i in b)",
            "emit done(v = w, u = m, t = b[0] + eta[0] == b[1] + eta[1])",
            align="eta[i] += 1 + b[i] - b'[i] when i == w",
            more="  b : int queries, sensitivity 1, adjacency all\n",
            where=" and len(b) >= 2",
        ),
        "output",
        Witness((drawn("eta", "alignment_cost <= (1 if w < i else 0)*eps"),), costs=(expression("eps"),)),
    ),
    Pair(
        "ties_that_a_variable_makes",
        spec(
            *("s = 0", "for i, y in b:", "  eta[i] ~ Lap(2/eps)"),
            "  s = s + (eta[i] if i == 0 else (-eta[i] if i == 1 else 0))",
            *("w = argmax(eta[i] - (s if i == 0 else 0) for i in range(0, 2))", "emit done(v = {eps|x})"),
            more="  b : queries, sensitivity 1, adjacency all\n",
            where=" and len(b) >= 2",
        ),
        "output",
        Witness(
            (
                loop(
                    "alignment_cost <= 0",
                    "s' == s",
                    early="i >= 0;$drawn_eta == i;$dense_eta;"
                    "s == (0 if i == 0 else (eta[0] if i == 1 else eta[0] - eta[1]))",
                ),
            )
        ),
    ),
    Pair(
        "a_sum_over_a_range_that_goes_down",
        spec(
            *("s = sum(b[j] for j in range(2, 1))", "emit done(v = {s|b[1]})"),
            more="  b : queries, sensitivity 1, adjacency l1\n",
            where=" and len(b) >= 3",
        ),
        "output",
    ),
    Pair(
        "a_sum_over_two_lists_that_each_move_in_all",
        spec(
            "eta ~ Lap(1/eps)",
            "emit done(v = sum((b[j] if j < 1 else d[j]) for j in range(2)) + eta)",
            align="eta += sum((b[j] if j < 1 else d[j]) for j in range(2))"
            " - sum((b'[j] if j < 1 else d'[j]) for j in range(2))",
            more="  b : queries, sensitivity 1, adjacency l1\n  d : queries, sensitivity 1, adjacency l1\n",
            where=" and len(b) >= 2 and len(d) >= 2",
            claim="{2*eps|eps}",
        ),
        "cost",
    ),
    Pair(
        "sums_over_ranges_that_differ",
        spec(
            *("eta ~ Lap(1/eps)", "emit done(v = sum(b[j] for j in b) + eta)"),
            align="eta += sum(b[j] for j in range({0|1}, len(b))) - sum(b'[j] for j in b)",
            more="  b : queries, sensitivity 1, adjacency one\n",
            where=" and len(b) >= 1",
        ),
        "cost output",
    ),
    Pair(
        "a_sum_as_a_claim",
        spec(
            *("eta ~ Lap(1/(eps + sum(t[j] for j in t)))", "emit done(v = x + eta)"),
            align="eta += x - x'",
            claim="eps + sum(t[j] for j in t)",
            more="  t : vector where t[i] >= {0|-1}\n",
        ),
        "scales cost",
    ),
    *(
        Pair(
            f"a_sum_of_what_is_positive_{name}",
            spec(
                *(f"eta ~ Lap(sum(b[j] for j in b where j {chosen} 0)/eps)", "emit done"),
                more=f"  b : vector where b[i] {sign} 0\n",
                where=f" and len(b) >= {least}",
            ),
            "scales",
        )
        for name, chosen, sign, least in (
            ("or_0", ">=", "{>|>=}", "1"),
            ("in_an_empty_list", ">=", ">", "{1|0}"),
            ("and_left_out", "{>=|>}", ">", "1"),
        )
    ),
    Pair(
        "sums_of_whole_numbers",
        spec(
            *("eta ~ DLap(1/eps, 1)", "emit done(v = sum(b[j]{*1|/2} for j in b) + eta)"),
            align="eta += sum(b[j]{*1|/2} for j in b) - sum(b'[j]{*1|/2} for j in b)",
            more="  b : int queries, sensitivity 1, adjacency one\n",
        ),
        "support",
    ),
    Pair(
        "sums_up_to_a_round",
        spec(
            *("eta ~ Lap(1/eps)", "s = 0", "for i, y in b:", "  s = s + y", "emit done(v = s + eta)"),
            align="eta += sum({b[j]|b[j]/2} for j in b) - sum(b'[j] for j in b)",
            more="  b : queries, sensitivity 1, adjacency one\n",
        ),
        "output cost",
        Witness((loop("s == sum(b[j] for j in range(0, i))", "s' == sum(b'[j] for j in range(0, i))"),)),
    ),
    Pair("a_sum_that_differs", spec("emit done(v = sum({i|q[i]} + 1/2 for i in q))"), "output"),
    Pair("a_maximum_that_differs", spec("emit done(v = max({i|q[i]} + 1/2 for i in q))"), "output"),
    Pair(
        "a_place_that_differs",
        spec(
            "w = argmax({t|p}[i] for i in p)",
            "emit done(v = w)",
            more="  p : queries, sensitivity 1, adjacency all\n  t : vector\n",
            where=" and len(p) >= 1 and len(t) >= len(p)",
        ),
        "output",
    ),
    Pair(
        "a_count_that_differs",
        spec("k = floor({eps|x})", "w = upto(max(k, 0), i for i in q)", "emit done"),
        "output",
    ),
    Pair(
        "a_greatest_of_none",
        spec(
            "w = argmax(t[i] for i in t where i >= {0|1})",
            "emit done",
            more="  t : vector\n",
            where=" and len(t) == 1",
        ),
        "defined",
    ),
    Pair(
        "fewer_than_asked_for",
        spec("w = top({1|2}, t[i] for i in t)", "emit done", more="  t : vector\n", where=" and len(t) == 1"),
        "defined",
    ),
    Pair(
        "at_most_less_than_none",
        spec(
            "w = upto({1|0 - 1}, t[i] for i in t)",
            "emit done",
            more="  t : vector\n",
            where=" and len(t) == 1",
        ),
        "defined",
    ),
    Pair(
        "a_set_that_may_be_empty",
        spec(
            "y = max(i + 1/2 for i in q where i + m <= 0) if m <= 0 else {0|x}",
            "emit done(v = y)",
            more="  m : int\n",
        ),
        "output",
    ),
    Pair(
        "values_outside_of_a_set",
        spec(
            "y = max(t[i] for i in range(0, 1))",
            "emit done(v = {0|x} + t[1] - y)",
            more="  t : vector where t[i] == i\n",
            where=" and len(t) == 2",
        ),
        "output",
    ),
    Pair(
        "a_shift_by_a_maximum_of_none",
        spec("eta ~ Lap(1/eps)", "emit done", align="eta += 0*max(i for i in q where i >= {0|1})"),
        "defined",
    ),
    Pair("a_set_over_one_answer", spec("y = max(1/2 for i in {q|x})", "emit done"), "form"),
    Pair(
        "an_index_with_a_meaning",
        spec("emit done(v = max({i|m} + 1/2 for {i|m} in q))", more="  m : int\n"),
        "form",
    ),
    Pair("a_selection_of_no_statement", spec("y = {0|0*top(1, q[i] for i in q)}", "emit done"), "language"),
    Pair(
        "the_greatest_of_some",
        spec("w = {upto|top}(1, t[i] for i in t where t[i] >= 0)", "emit done", more="  t : vector\n"),
        "language",
    ),
    Pair(
        "places_that_there_are_none_of",
        spec("w = upto(1, i for i in range(0, 0))", "emit done(v = {eps|x})"),
        "output",
        Witness(promises=(expression("abs(w[0]) >= 0 and abs(w[0 - 1]) >= 0"),)),
    ),
    Pair(
        "a_list_that_is_full_or_not",
        spec(
            "w = upto(1, t[i] for i in t where i >= 5)",
            "emit done(v = {eps|x} if len(w) == 0 else 1)",
            more="  t : vector\n",
            where=" and len(t) == 1",
        ),
        "output",
    ),
    Pair(
        "nothing_is_left_out",
        spec(
            "w = argmax(t[i] for i in t)",
            "emit done(v = {eps|x})",
            more="  t : vector\n",
            where=" and len(t) == 1",
        ),
        "output",
    ),
    Pair(
        "equal_values",
        spec(
            "w = argmax(t[i] for i in t)",
            "emit done(v = {0|x} + t[0] + t[1])",
            more="  t : vector where t[i] == 5\n",
            where=" and len(t) == 2",
        ),
        "output",
    ),
    Pair(
        "the_first_wins_by_more_than_its_place",
        spec(
            *(
                "for i, y in q:",
                "  eta[i] ~ Lap(2/eps)",
                "w = argmax(q[i] + eta[i] for i in q)",
                "emit done(v = w)",
            ),
            align="eta[i] += 2   when i == w{| and i >= 1}",
        ),
        "output",
        Witness((drawn("eta", "alignment_cost <= (eps if i > w else 0)"),)),
    ),
    Pair(
        "the_first_of_equals_wins",
        spec(
            *("eta[0] ~ DLap(2/eps, 1)", "eta[1] ~ DLap(2/eps, 1)"),
            *("w = argmax(b[i] + eta[i] for i in b)", "emit done(v = w)"),
            align="eta[i] += 2 - {0|1}*i   when i == w",
            more="  b : int queries, sensitivity 1\n",
            where=" and len(b) == 2",
        ),
        "output",
    ),
    Pair(
        "no_tie_with_itself",
        spec(
            "eta[0] ~ Lap(1/eps)",
            "eta[1] ~ Lap(1/eps)",
            "w = argmax(eta[i] for i in range(0, 2))",
            "emit done(v = {w|x})",
        ),
        "output",
    ),
    Pair(
        "ties_are_no_matter_of_definedness",
        spec(
            "eta[0] ~ Lap(1/eps)",
            "eta[1] ~ Lap(1/eps)",
            "w = argmax(eta[i] for i in range(0, 2))",
            "y = 1/({eps|eta[0] - eta[1]})",
            "emit done",
        ),
        "defined",
    ),
    Pair(
        "ties_of_the_image",
        spec(
            *(
                "eta[0] ~ Lap(1/eps)",
                "eta[1] ~ Lap(1/eps)",
                "w = argmax(eta[i] for i in range(0, 2))",
                "emit done",
            ),
            align="eta[i] += 0 - {0|eta[i]}",
        ),
        "acyclic",
    ),
    Pair(
        "sums_over_nothing",
        spec(
            *("s = sum(1 for i in range(0, m))", "t = sum(2 for i in range(0, m))", "if m <= {0 - 1|0}:"),
            *("  emit w(v = x)", "else:", "  emit done"),
            more="  m : int where m >= 0\n",
        ),
        "output",
    ),
    Pair(
        "the_greatest_among_those_that_tie",
        spec(
            *("for i in range(len(q)):", "  r[i] ~ Uniform(1)", "best = max(b[i] for i in b)"),
            *("w = argmax(r[i] for i in range({0|1}, len(b)) where b[i] == best)", "emit done"),
            more="  b : vector where len(b) >= 1\n",
            where=" and len(b) == len(q)",
        ),
        "defined",
        Witness((drawn("r", "alignment_cost == 0"),)),
    ),
    Pair(
        "a_sum_of_what_cancels",
        spec("emit done(v = sum({q[i] - q[i]|q[i] - q[0]} + 1/2 for i in q))"),
        "output",
    ),
    Pair(
        "a_sum_that_differs_at_its_start",
        spec("emit done(v = sum(({eps|x} if i == 0 else 1/2) for i in q))"),
        "output",
    ),
    Pair(
        "a_sum_that_differs_at_its_end",
        spec("emit done(v = sum(({eps|x} if i == len(q) - 1 else 1/2) for i in q))"),
        "output",
    ),
    Pair("a_number_beside_a_sum", spec("emit done(v = sum(q[i] - q[i] for i in q) + {eps|x})"), "output"),
    Pair(
        "a_number_beside_a_sum_from_below_0",
        spec("emit done(v = sum(1 for i in range(-2, 2)) + {eps|x})"),
        "output",
    ),
    Pair(
        "noise_of_each_index",
        spec(
            "eta[0] ~ Lap(1/eps)",
            "eta[1] ~ Lap(1/eps)",
            "w = argmax(eta[{i|0}] for i in range(0, 2))",
            "emit done(v = w)",
        ),
        "output",
    ),
    Pair(
        "noise_that_ties",
        spec(
            "eta[0] ~ DLap(1/eps, 1)",
            "eta[1] ~ DLap(1/eps, 1)",
            "w = argmax(eta[i] for i in range(0, 2))",
            "emit done(v = w + {0|x})",
            align="eta[i] += 1   when i == w",
            claim="2*eps",
        ),
        "output",
    ),
    *(
        Pair(
            f"the_greatest_of_none_{route}",
            spec(
                *("for i, y in b:", "  eta[i] ~ Lap(1/eps)", "w = argmax(eta[i] for i in b)", "emit done"),
                more="  b : queries, sensitivity 1, adjacency all\n",
                where=" and len(b) >= {1|0}",
            ),
            "defined",
            Witness((drawn("eta", "alignment_cost == 0"),), route=route, indices=(expression("w"),)),
        )
        for route in ("acyclic", "injective")
    ),
    *(
        Pair(
            f"a_place_{where}_of_a_list",
            spec(
                *(f"w = top(1, {body} for j in range(0, 1))", "for i in range(0, 1):", "  pass"),
                "emit done(v = {0|x})",
            ),
            "output",
            Witness((loop(early=f"floor((w[{place}] + w[0])/2) <= (w[{place}] + w[0])/2"),)),
        )
        for where, body, place in (
            ("before_the_first", "0 - abs(j)", "0 - 1"),
            ("after_the_last", "abs(j)", "1"),
        )
    ),
    Pair(
        "ties_are_no_matter_of_what_is_in_a_set",
        spec(
            *("eta[0] ~ Lap(1/eps)", "eta[1] ~ Lap(1/eps)", "w = argmax(eta[i] for i in range(0, 2))"),
            *(
                "y = max(0 for j in range(0, 2) where {eps > 0|eta[0] > eta[1] or eta[0] < eta[1]})",
                "emit done",
            ),
        ),
        "defined",
    ),
    Pair(
        "a_set_that_is_empty_where_two_tie",
        spec(
            *("for i, y in q:", "  eta[i] ~ Lap(2/eps)", "k = argmax(q[j] + eta[j] for j in q)"),
            *(
                "m = max(0*j for j in range(0, 1) where q[0] + eta[0] != q[1] + eta[1] or {eps > 0|eps < 0})",
                "emit done",
            ),
            align="eta[i] += 1 - q'[i] + q[i]   when k == i",
            where=" and len(q) >= 2",
        ),
        "defined",
        Witness((drawn("eta", "alignment_cost <= (eps if k < i else 0)"),)),
    ),
    Pair(
        "a_sum_that_is_no_quotient",
        spec(
            *(
                "y = 1/2",
                "z = 1/2",
                "y = k",
                "z = m",
                "emit done(v = 0 if {floor(y + z) == k + m|floor(y + z)*m <= k} else x)",
            ),
            more="  k : int\n  m : int where m >= 1\n",
        ),
        "output",
    ),
    Pair(
        "a_quotient_by_0_in_an_invariant",
        spec(
            *("for i in range(0, 2):", "  pass", "emit done(v = 1/m)"),
            more="  k : int\n  m : int where m {!=|>=} 0\n",
        ),
        "defined",
        Witness((loop(early="floor(k/m) == floor(k/m)"),)),
    ),
    Pair(
        "a_whole_quotient_by_what_is_negative",
        spec("emit done(v = 0 if floor(k/m)*m {>=|>} k else x)", more="  k : int\n  m : int where m < 0\n"),
        "output",
    ),
    Pair(
        "a_sum_that_differs_at_each_place",
        spec("s = sum({eps|x} for j in range(0 - 1, 0))", "emit done(v = s)"),
        "output",
    ),
    Pair(
        "a_number_beside_a_sum_of_one",
        spec(
            *("s = sum(b[j] for j in range(0, 1))", "emit done(v = {eps|x})"),
            more="  b : queries, sensitivity 1, adjacency l1\n",
            where=" and len(b) == 1",
        ),
        "output",
    ),
    Pair(
        "a_sum_of_what_moves_further",
        spec(
            *("s = sum({1|2}*b[j] for j in b)", "eta ~ Lap(1/eps)", "emit done(v = s + eta)"),
            align="eta += s - s'",
            more="  b : queries, sensitivity 1, adjacency l1, range [5, 10]\n",
        ),
        "cost",
    ),
    Pair(
        "a_later_range_that_grows_before_it_is_read",
        spec(
            *(
                "v = 1",
                "mu ~ Lap(1/eps)",
                "v = 2",
                "w = argmax(t[j] for j in range(0, v))",
                "emit done(v = {eps|x})",
            ),
            more="  t : vector\n",
            where=" and len(t) == 2 and t[0] == 0 and t[1] == 1",
        ),
        "output",
    ),
    Pair(
        "the_order_of_all_that_are_selected",
        spec(
            *(
                "w = top(2, clip({t|q}[j], 0, 1) if j < 2 else 0 - 1 for j in t)",
                "emit done(v = w[0], u = w[1])",
            ),
            more="  t : vector\n",
            where=" and len(t) == 3 and len(q) == 3",
        ),
        "output",
    ),
    Pair(
        "one_draw_for_all_that_are_compared",
        spec(
            *(
                "eta[0] ~ Lap(1/eps)",
                "eta[1] ~ Lap(1/eps)",
                "w = argmax(t[j] + {eta[j]|eta[0]} for j in range(0, 2))",
            ),
            "emit done(v = x if t[0] + eta[0] == t[1] + eta[1] else 0)",
            more="  t : vector\n",
            where=" and len(t) == 2 and t[0] == t[1]",
        ),
        "output",
    ),
    Pair(
        "two_selections_of_one_name",
        spec(
            *(
                "k = {argmin|argmax}(t[j] for j in t)",
                "emit w(v = x if t[k] > 0 else 0)",
                "k = argmin(t[j] for j in t)",
            ),
            "emit done",
            more="  t : vector\n",
            where=" and len(t) == 2 and t[0] == 0 and t[1] == 1",
        ),
        "output",
    ),
    Pair(
        "two_maxima_of_one_name",
        spec(
            *("k = {min|max}(t[j] for j in t)", "mu ~ Lap(1/eps)", "emit w(v = x if k > 0 else 0)"),
            *("k = min(t[j] for j in t)", "emit done"),
            align="mu += 0*(k' - k)",
            more="  t : vector\n",
            where=" and len(t) == 2 and t[0] == 0 and t[1] == 1",
        ),
        "output",
    ),
    Pair(
        "a_later_sum",
        spec(
            *("mu ~ Lap(1/eps)", "k = {max|sum}(t[j] for j in range(0, 2))", "emit done"),
            align="mu += 0*(k' - k)",
            more="  t : vector\n",
            where=" and len(t) == 2",
        ),
        "defined",
    ),
    Pair(
        "at_most_none_of_some",
        spec("w = upto(0, t[j] for j in t)", "emit done(v = {eps|x})", more="  t : vector\n"),
        "output",
    ),
    Pair(
        "a_draw_that_does_not_count",
        spec(
            *(
                "eta[0] ~ Lap(1/eps)",
                "eta[1] ~ Lap(1/eps)",
                "w = argmax(t[j] + {1|0}*eta[j] for j in range(0, 2))",
            ),
            "emit done(v = x if t[0] + eta[0] == t[1] + eta[1] else 0)",
            more="  t : vector\n",
            where=" and len(t) == 2 and t[0] == t[1]",
        ),
        "output",
    ),
    Pair(
        "more_than_a_range_has_that_starts_at_1",
        spec(
            "w = top(2, t[j] for j in range(1, {3|2}))", "emit done", more="  t : vector where len(t) >= 3\n"
        ),
        "defined",
    ),
    Pair(
        "the_least_of_two_that_may_tie",
        spec(
            *("eta ~ Lap(1/eps)", "k = argmin(clip(u[j] + b + eta, 0, 1) for j in u)", "emit done(v = k)"),
            align="eta += b - b'   when k == 0\n  eta += {1|0}*(b - b')   when k == 1",
            more="  b : query, sensitivity 1\n  u : vector\n",
            where=" and len(u) == 2 and u[0] > u[1]",
        ),
        "output",
    ),
    *(
        Pair(
            f"a_place_{word}_in_an_invariant",
            spec(
                "w = top(2, abs(j) for j in range(0, 2))",
                "for i in range(0, 2):",
                "  pass",
                "emit done(v = {eps|x})",
            ),
            "output",
            Witness((loop(early=f"abs(w[{place}]) >= 0 - abs(w[0]) - abs(w[1])"),)),
        )
        for word, place in (("before_the_first", "0 - 1"), ("after_the_last", "2"))
    ),
    Pair(
        "two_sums_of_which_one_goes_down",
        spec("s = sum(1 for i in range(3, 1)) + sum(1 for i in range(3, 5))", "emit done(v = {s|x})"),
        "output",
    ),
    Pair(
        "all_of_a_range_that_starts_at_1",
        spec(
            *("w = top(2, t[j] for j in range(1, 3))", "emit done(v = {eps|x}, u = w[0], s = w[1])"),
            more="  t : vector where len(t) >= 3\n",
        ),
        "output",
    ),
    # --- 8. Calls ---
    Pair(
        "a_public_function_of_what_is_called",
        _calling("c(y = x, k = 1, d = eps)").replace('"c.dp"\n', '"c.dp"\nfun {f|g}(int) : real\n'),
        "calls",
        callee=CALLEE.replace("input\n", "fun f(int) : real\ninput\n").replace("+ eta", "+ eta, u = f(k)"),
    ),
    Pair(
        "number_of_records_by_a_set",
        calling(
            "u = c(b = list(j for j in range(0, 2)))",
            "w = c(b = list(0 - j for j in range(0, 2)))",
            "if len(u) != len(w):",
            "  emit done(v = {|x + }0)",
        ),
        "output",
        Witness(
            callees={
                "c": Witness((loop(early="$records == i"),), length=expression("argmax(b[j] for j in b)"))
            }
        ),
        COUNTED,
    ),
    Pair("an_argument_too_far", _calling("c(y = {x|2*x}, k = 1, d = eps)"), "calls"),
    Pair(
        "arguments_too_far_in_all",
        calling(
            "a = c(y = p, d = eps)", "emit done", more="  p : queries, sensitivity {1|3/2}, adjacency l1\n"
        ),
        "calls",
        Witness(callees={"c": Witness((drawn("eta", "alignment_cost == d*$moved_y[i]"),))}),
        IN_ALL,
    ),
    Pair(
        "places_as_arguments",
        _calling("c(y = list(j{*1|/2} for j in q), d = eps)"),
        "form",
        callee="mechanism c\ninput\n  y : int queries, lattice 1, sensitivity 1\n  d : real where d > 0\n"
        "privacy d\nprogram\n  emit w(v = 0)\n",
    ),
    Pair(
        "more_records_than_promised",
        _calling("c(y = x, d = eps)").replace("emit done", "emit done(v = a.count(w))"),
        "calls",
        ONE_W,
        TWO_RECORDS.replace("{}", "{u|w}"),
    ),
    Pair(
        "as_many_records_as_promised",
        _calling("c(y = x, d = eps)").replace("emit done", "eta ~ Lap({2|1} - a.count(w))\n  emit done"),
        "scales",
        ONE_W,
        TWO_RECORDS.replace("{}", "u"),
    ),
    Pair(
        "a_field_named_as_a_tag",
        _calling("c(y = x, d = eps)").replace("emit done", "eta ~ Lap(1 - a{[0].w|.count(w)})\n  emit done"),
        "scales",
        Witness(
            callees={"c": Witness(length=expression("1"), within=(("w", expression("0"), expression("1")),))}
        ),
        "mechanism c\ninput\n  y : query, sensitivity 1\n  d : real where d > 0\nprivacy d\nprogram\n"
        "  emit w(w = 0)\n",
    ),
    Pair("an_argument_not_covered", _calling("c(y = x, k = {1|0}, d = eps)"), "calls"),
    Pair("a_call_that_costs", _calling("c(y = x, k = 1, d = {1|2}*eps)"), "cost"),
    Pair(
        "records_of_two_shapes",
        _calling("c(k = 7)").replace("emit done", "if a[0] is w:\n    emit done(v = x)"),
        "calls",
        Witness(
            callees={"c": Witness(length=expression("1"), within=(("v", expression("k"), expression("4")),))}
        ),
        SHAPES.replace("{}", "{z|w}"),
    ),
    Pair(
        "a_function_of_private_answers",
        spec("y = h({eps|x})", "emit done").replace("mechanism m\n", "mechanism m\nfun h(real) : real\n"),
        "calls",
    ),
    Pair("a_call_that_may_not_be_made", _many("k = {1|m}"), "calls", Witness(callees={"c": EACH}), MANY),
    Pair(
        "a_public_number",
        _many("k = {1|max(1, floor(x))}"),
        "calls",
        callee=MANY,
        witness=Witness(callees={"c": EACH}),
    ),
    Pair(
        "a_public_list",
        _many("t = list({1/2|max(0, q[j])} for j in q)"),
        "calls",
        callee=MANY,
        witness=Witness(callees={"c": EACH}),
    ),
    Pair(
        "lists_of_other_lengths",
        _many("y = list(0*eps for j in range(0, {2|max(0, floor(x))}))"),
        "calls",
        Witness(callees={"c": EACH}),
        MANY,
    ),
    Pair(
        "records_that_there_are_none_of",
        _many("k = 0", after="y = a[0].v if len(a) >= 1 and a[0] is w else 0").replace(
            "emit done", "emit done(v = y + {0*eps|x})"
        ),
        "output",
        Witness(callees={"c": replace(EACH, length=None, within=(("v", *(expression("5"),) * 2),))}),
        MANY.replace("k >= 0", "k == 0"),
    ),
    Pair(
        "records_that_are_not_as_many",
        spec("for i in range(0, 2):", "  emit w", "{pass|emit w}", "emit done"),
        "output",
        Witness((loop(early="$records == i"),), length=expression("3")),
    ),
    Pair(
        "a_field_at_its_end",
        spec("emit w(v = {4|5})"),
        "output",
        Witness(within=(("v", expression("0"), expression("5")),)),
    ),
    Pair(
        "a_field_below_its_bounds",
        spec("emit w(v = {0|0 - 1})"),
        "output",
        Witness(within=(("v", expression("0"), expression("5")),)),
    ),
    Pair(
        "a_function_applied_by_one_run",
        spec("y = h(eps) if {eps|x} > 0 else 0", "emit done").replace(
            "mechanism m\n", "mechanism m\nfun h(real) : real\n"
        ),
        "calls",
    ),
    Pair(
        "a_record_of_a_call_that_released_none",
        _many("k = {1|0}", "b = 1/(1 if a[0] is w else 0)"),
        "defined",
        Witness(callees={"c": EACH}),
        MANY,
    ),
    Pair(
        "an_argument_between_the_steps",
        calling(
            "a = c(y = {z|z/2}, g = g, d = eps)",
            "emit done",
            more="  g : real where g > 0\n  z : query, lattice g, sensitivity g\n",
        ),
        "calls",
        callee=STEPS,
    ),
    Pair("an_argument_too_many", _calling("c(y = x, k = 1, d = eps{|, z = eps})"), "form"),
    Pair(
        "calls_in_rounds",
        calling("for i in range(0, {1|2}):", "  a = c(y = x, k = 1, d = eps)", "emit done"),
        "cost",
        Witness((loop("alignment_cost <= i*eps"),)),
    ),
    Pair(
        "a_function_in_the_test_of_a_loop",
        spec("while {eps|x} > 5 and h(1) > 0 and eps < 0:", "  pass", "emit done").replace(
            "mechanism m\n", "mechanism m\nfun h(real) : real\n"
        ),
        "calls",
        Witness((loop(measure="0"),)),
    ),
    *(
        Pair(
            name,
            _again(f"until {asked}(a.v) >= 1 {_STOP}").replace(
                "mechanism m\n", "mechanism m\nfun h(real) : real\n"
            ),
            "language",
            SINGLE,
            CALLEE.replace("mechanism c\n", f"mechanism c\n{own}"),
        )
        for name, asked, own in (
            ("a_function_that_knows_of_rounds", "{abs|h}", ""),
            ("a_function_within_rounds", "abs", "{|fun h(real) : real\n}"),
        )
    ),
    Pair(
        "a_test_by_aligned_noise",
        _again(f"until a.v >= x + eta {_STOP}", "eta ~ Lap(1/eps)", claim="3*eps", align="eta += {x - x'|0}"),
        "calls",
        SINGLE,
    ),
    Pair(
        "after_a_call",
        _calling("c(y = x, k = 1, d = eps)").replace("emit done", "emit done(v = {eps|x})"),
        "output",
    ),
    Pair("a_list_of_the_other_run", _many("y = {q|q'}"), "form", Witness(callees={"c": EACH}), MANY),
    Pair("an_answer_for_a_list", _many("y = {q|x}"), "form", Witness(callees={"c": EACH}), MANY),
    Pair(
        "a_number_for_a_list", _many("t = {list(1 for j in q)|m}"), "form", Witness(callees={"c": EACH}), MANY
    ),
    Pair(
        "a_maximum_for_a_list",
        _many("t = {list|max}(1/2 for j in q)"),
        "form",
        Witness(callees={"c": EACH}),
        MANY,
    ),
    Pair(
        "a_list_of_some",
        _many("t = list(1/2 for j in q{| where j >= 1})"),
        "form",
        Witness(callees={"c": EACH}),
        MANY,
    ),
    Pair(
        "a_variable_for_an_argument",
        calling("v = {x|2*x}", "a = c(y = v, k = 1, d = eps)", "emit done"),
        "calls",
    ),
    Pair(
        "a_field_at_its_lower_bound",
        _many("k = 1", after="y = 1/(a[0].v + {1|0}) if a[0] is w else 0"),
        "defined",
        Witness(callees={"c": replace(EACH, within=(("v", expression("0"), expression("1")),))}),
        MANY,
    ),
    Pair(
        "a_list_that_starts_later",
        _many("t = list(j - {1|2} for j in range(1, 4))"),
        "calls",
        Witness(callees={"c": EACH}),
        MANY,
    ),
    Pair(
        "a_list_of_nothing",
        _many("t = list(0 - 1/2 for j in range(1, {0|4}))"),
        "calls",
        Witness(callees={"c": EACH}),
        MANY,
    ),
    Pair(
        "the_last_entry_of_a_list",
        _many("t = list((0 - {0|1} if j == 3 else 1) for j in range(1, 4))"),
        "calls",
        Witness(callees={"c": EACH}),
        MANY,
    ),
    Pair(
        "the_first_entry_of_a_list",
        _many("t = list((0 - {0|1} if j == 1 else 1) for j in range(1, 4))"),
        "calls",
        Witness(callees={"c": EACH}),
        MANY,
    ),
    Pair(
        "a_private_entry_at_the_start",
        _many("t = list(({eps|x}*{eps|x} if j == 0 else 1/2) for j in range(0, 4))"),
        "calls",
        Witness(callees={"c": EACH}),
        MANY,
    ),
    Pair(
        "a_private_entry_at_the_end",
        _many("t = list(({eps|x}*{eps|x} if j == 3 else 1/2) for j in range(0, 4))"),
        "calls",
        Witness(callees={"c": EACH}),
        MANY,
    ),
    Pair(
        "a_call_with_lists_that_share_their_index",
        calling(
            "a = c(y = b, z = e)",
            "emit done",
            more="  b : queries, sensitivity 1, adjacency one\n"
            "  e : queries, sensitivity 1, adjacency one{, same index as b|}\n",
        ),
        "calls",
        callee=SHARED,
    ),
    Pair(
        "a_callee_that_is_not_private",
        _calling("c(y = x, k = 1, d = eps)"),
        "calls",
        callee=CALLEE.replace("y + eta", "{y + eta|y}"),
    ),
    Pair(
        "functions_of_a_call",
        _calling("c(y = x, k = 1, d = max(eps, h(1) + 1))")
        .replace("mechanism m\n", "mechanism m\nfun h(real) : real\n")
        .replace("privacy eps", "privacy max(eps, h(1) + 1)"),
        "calls",
        callee=CALLEE.replace("mechanism c\n", "mechanism c\nfun h(real) : {real|int}\n").replace(
            "d > 0", "d > 0 and d > h(1)"
        ),
    ),
    Pair(
        "parts_that_overlap",
        _in_parts("a = c(y = z[:k], d = eps)", "b = c(y = z[{k|k - 1}:], d = eps)"),
        "cost",
        callee=PART.replace("{}", "all"),
    ),
    Pair(
        "parts_that_all_move",
        _in_parts("a = c(y = z[:k], d = eps)", "b = c(y = z[k:], d = eps)", adjacency="{one|two}"),
        "cost",
        callee=PART.replace("{}", "all"),
    ),
    *(
        Pair(
            f"a_part_with_adjacency_{ways}",
            _in_parts("a = c(y = z[k:], d = eps)", adjacency=f"{{{ways}|{wrong}}}"),
            "calls",
            callee=PART.replace("{}", ways),
        )
        for ways, wrong in (("one", "two"), ("two", "all"), ("moved", "two"))
    ),
    Pair(
        "parts_that_share_an_index",
        _in_parts("a = c(y = z[:k], z = list(z[j{| + 1}] for j in range(0, k)))"),
        "calls",
        callee=SHARED,
    ),
    Pair(
        "a_row_again",
        _in_parts("for i in range(n):", "  a = c(y = z[{i|0*i}], d = eps)", z="queries[n][m]"),
        "cost invariant defined",
        Witness((loop("alignment_cost <= (eps if $differing_z < i*m else 0)"),)),
        PART.replace("{}", "all"),
    ),
    Pair(
        "a_column_again",
        _in_parts(
            "for j in range(m):",
            "  a = c(y = list(z[i][{j|0*j}] for i in range(n)), d = eps)",
            z="queries[n][m]",
        ),
        "cost invariant",
        Witness((loop("alignment_cost <= (eps if $differing_z % m < j else 0)"),)),
        PART.replace("{}", "all"),
    ),
    *(
        Pair(
            f"a_remainder_beside_a_call_{name}",
            calling(
                *(
                    "a = c(y = x, k = 1, d = eps)",
                    "emit done(v = p % 2)",
                    "{pass|b = c(y = x, k = 1, d = eps)}",
                ),
                more=f"  p : int where {clause}\n",
            ),
            "cost",
        )
        for name, clause in (("of_more", "p >= 2"), ("of_as_many", "p == 2"), ("of_less", "p <= -1"))
    ),
    Pair(
        "what_no_answer_is_given_to",
        calling("a = c(y = {1|x}, k = 1, d = eps)", "emit done", claim="0"),
        "cost",
    ),
    Pair(
        "a_call_that_would_show_what_it_is_given",
        calling("a = c(k = p)", "emit done(v = a.v)", more="  p : int where p >= {1|0}\n", claim="0"),
        "calls",
        Witness(
            callees={"c": Witness(length=expression("1"), within=(("v", expression("0"), expression("k")),))}
        ),
        "mechanism c\ninput\n  k : int where k >= 1\nprivacy 0\nprogram\n  emit w(v = 0)\n",
    ),
    Pair(
        "a_record_of_a_call_before_its_first",
        calling(
            *("a = c(y = x, k = 1, d = eps)", "emit done(v = a[p].v)"),
            more="  p : int where {0|-1} <= p and p <= 0\n",
        ),
        "defined",
        SINGLE,
    ),
    Pair(
        "one_answer_in_two_lists",
        calling(
            "a = c(y = list(x for j in range(0, 1)), z = list({1|x} for j in range(0, 1)), d = eps)",
            "emit done",
        ),
        "calls",
        callee=PART.replace("y :", "y, z :").replace("{}", "one"),
    ),
    Pair(
        "a_set_in_the_claim_of_what_is_called",
        _calling("c(y = x, k = 1, d = eps)"),
        "calls",
        callee=CALLEE.replace("privacy d", "privacy {d|max(d for j in range(0, 1))}"),
    ),
    Pair(
        "a_field_of_another_record",
        calling("a = c(k = p)", "emit done(v = a[0].v if {a[0] is w|true} else 0)", more="  p : int\n"),
        "defined",
        SINGLE,
        SHAPES.replace("{}", "z"),
    ),
    Pair(
        "an_entry_that_moves_too_far",
        _calling("c(y = list({1|2}*x for j in range(0, 1)), d = eps)"),
        "calls",
        callee=PART.replace("{}", "one"),
    ),
    *(
        Pair(
            f"too_far_in_{name}",
            _calling(f"c(y = list({y} for j in range(0, 2)), z = list({z} for j in range(0, 2)), d = eps)"),
            "calls",
            callee=PART.replace("y :", "y, z :").replace("{}", "all"),
        )
        for name, y, z in (
            ("both_lists_at_the_first", "x if j == 0 else 0", "{1|2}*x if j == 0 else 0"),
            ("both_lists_at_the_second", "x if j == 1 else 0", "{1|2}*x if j == 1 else 0"),
            ("one_list_at_the_second", "{1|2}*x if j == 1 else 0", "1"),
            ("another_list_at_the_first", "1", "{1|2}*x if j == 0 else 0"),
        )
    ),
    Pair(
        "a_call_of_what_falls",
        _calling("c(y = x, k = 1, d = eps)").replace("emit", "b = c(y = {1|-x}, k = 1, d = eps)\n  emit"),
        "cost",
    ),
    Pair(
        "a_clause_without_a_value_for_an_empty_list",
        spec(
            "emit done",
            more="  p : real\n"
            "  b : queries, sensitivity 1, adjacency all "
            "where {p != 0|(p != 0 or len(b) == 0)} and 0/p <= 1\n",
        ),
        "defined",
    ),
    Pair(
        "a_record_of_a_call_after_its_last",
        calling(
            *("a = c(y = x, k = 1, d = eps)", "emit done(v = a[p].v)"),
            more="  p : int where 0 <= p and p <= {0|1}\n",
        ),
        "defined",
        SINGLE,
    ),
    Pair(
        "more_answers_that_move",
        _calling("c(y = b, d = eps)").replace(
            "  eps : real", "  b : queries, sensitivity 1, adjacency {moved|all}\n  eps : real"
        ),
        "calls",
        callee=PART.replace("{}", "moved"),
    ),
    Pair(
        "how_many_records_have_a_tag",
        calling("a = c(y = x, k = 1, d = eps)", "emit done(v = x if a.count(w) == {2|1} else 0)"),
        "output",
        SINGLE,
    ),
    Pair(
        "a_remainder_by_the_place_that_moves",
        calling(
            *("a = c(y = b, d = eps)", "emit done(v = m % m)"),
            claim="eps/{1|2}",
            more="  m : int where m >= 1\n  s : vector\n  b : queries, sensitivity s[i], adjacency one\n",
            where=" and len(s) == 2 and len(b) == 2 and s[0] == 0 and s[1] == 1",
        ),
        "cost",
        callee=PART.replace("{}", "one"),
    ),
    *(
        Pair(name, _again(rest, **more), condition, SINGLE, callee)
        for name, rest, more, condition, callee in REPEATED
    ),
    # --- 9. How Z3 is asked ---
    Pair(
        "sums_in_a_set",
        spec(
            "y = max(sum(t[j] for j in range(0, k)) for k in range(0, 3))",
            "emit done(v = {1|x}/(1 + abs(y)))",
            more="  t : vector where t[i] == i\n",
            where=" and len(t) == 3",
        ),
        "output",
    ),
    Pair(
        "a_cost_beside_a_way_that_no_run_goes",
        spec("eta ~ Lap({2|1}/eps)", "if eps < 0:", "  emit a", "else:", "  emit b", align="eta += 2"),
        "cost",
    ),
    # --- 10. The general route ---
    Pair(
        "a_map_that_folds_by_a_sum",
        spec(
            *("eta ~ Lap(1/eps)", "emit done"),
            align="eta += 1   when sum(eta for j in range(1)) < 0\n"
            "  eta {+=|-=} 1   when sum(eta for j in range(1)) >= 0",
        ),
        "injective",
        Witness(route="injective"),
    ),
    Pair(
        "a_map_that_folds",
        spec(
            "eta ~ Lap(1/eps)", "emit done", align="eta += 1   when eta < 0\n  eta {+=|-=} 1   when eta >= 0"
        ),
        "injective",
        Witness(route="injective"),
    ),
    Pair(
        "a_map_that_folds_by_a_variable",
        spec(
            *("tau ~ Lap(1/eps)", "t = tau", "for i, y in q:", "  eta[i] ~ Lap(1/eps)", "emit done"),
            align="eta[i] {+=|-=} 1   when eta[i] >= t and i == 0",
        ),
        "injective",
        Witness((drawn("eta", "alignment_cost <= (eps if 0 < i else 0)"),), route="injective"),
    ),
    Pair(
        "a_map_that_stretches",
        spec(
            "eta ~ Lap(1/eps)",
            "emit done",
            align="eta += {0 - 1|0 - 1 + eta/2}   when eta < 0\n  eta += 1   when eta >= 0",
        ),
        "acyclic",
        Witness(route="injective"),
    ),
    Pair(
        "a_case_that_folds",
        spec(
            "eta ~ Lap(1/eps)",
            "emit done",
            align="case eta < 0:\n    eta += 1\n  otherwise:\n    eta {+=|-=} 1",
        ),
        "injective",
        Witness(route="injective"),
    ),
    Pair(
        "a_twin_of_what_is_not_drawn",
        spec(
            *("for i in range(0, 0):", "  xi[i] ~ Lap(1)", "eta[0] ~ Lap(1/eps)"),
            *("if eta[0] >= 0 and eta[0] < 2 - {0|1}*z:", "  emit b", "else:", "  emit c"),
            more="  z : int query, sensitivity 1, range [0, 1]\n",
            align="xi[i] += (5 if eta[0] >= 1 and eta[0] < 2 else 0) - floor(xi[i])\n"
            "  eta[0] -= {0|1}   when z < z' and out is b and eta[0] >= 1 and (xi[0] > 0 or xi[0] <= 1)\n"
            "  eta[0] += {0|1}   when z > z' and out is c and eta[0] >= 1 and eta[0] < 2"
            " and (xi[0] > 0 or xi[0] <= 1)",
        ),
        "injective",
        Witness((loop("alignment_cost == 0", early="$drawn_xi == 0;$records == 0"),), route="injective"),
    ),
    Pair(
        "an_image_of_what_is_not_drawn",
        spec(
            *("for i in range(0, 0):", "  xi[i] ~ Lap(1)", "eta[0] ~ Lap(1/eps)"),
            *("if eta[0] >= 0 and eta[0] < 2 - z:", "  emit b", "else:", "  emit c"),
            claim="2*eps",
            more="  z : int query, sensitivity {0|1}, range [0, 1]\n",
            align="xi[i] += 1   when (floor(xi[i]) - 2*floor(xi[i]/2) == 0) != (eta[0] >= 1 and eta[0] < 2)\n"
            "  eta[0] -= 1   when z < z' and out is b and floor(xi'[0]) - 2*floor(xi'[0]/2) == 0\n"
            "  eta[0] += 1   when z > z' and out is c and floor(xi'[0]) - 2*floor(xi'[0]/2) == 0",
        ),
        "acyclic",
        Witness((loop("alignment_cost == 0", early="$drawn_xi == 0;$records == 0"),), route="injective"),
    ),
    Pair(
        "a_call_that_costs_on_the_general_route",
        _calling("c(y = x, k = 1, d = {1|2}*eps)"),
        "cost",
        Witness(route="injective"),
    ),
    Pair(
        "a_step_on_the_general_route",
        spec(
            "eta ~ DLap(1/eps, 1)",
            "emit done",
            align="eta += 1   when eta < 0\n  eta {+=|-=} 1   when eta >= 0",
        ),
        "injective",
        Witness(route="injective"),
    ),
    Pair(
        "noise_above_0_on_the_general_route",
        spec(
            "eta ~ Exp(1/eps)",
            "emit done",
            claim="2*eps",
            align="eta += {1|2}   when eta < 1\n  eta += 1   when eta >= 1",
        ),
        "injective",
        Witness(route="injective"),
    ),
    Pair(
        "a_field_that_differs_on_the_general_route",
        spec("emit done(v = {eps|x})"),
        "output",
        Witness(route="injective"),
    ),
    Pair(
        "a_test_that_differs_on_the_general_route",
        spec("if {eps - 1|x} > 0:", "  emit up", "emit done"),
        "output",
        Witness(route="injective"),
    ),
    Pair(
        "ties_are_no_matter_of_definedness_on_the_general_route",
        spec(
            *("eta[0] ~ Lap(1/eps)", "eta[1] ~ Lap(1/eps)", "w = argmax(eta[i] for i in range(0, 2))"),
            *("y = 1/({eps|eta[0] - eta[1]})", "emit done"),
        ),
        "defined",
        Witness(route="injective"),
    ),
    Pair(
        "a_test_of_an_image_that_is_to_come",
        spec(
            *("eta ~ Lap(1/eps)", "emit done"),
            align="eta += 1 when {eta|eta'} < 0\n  eta += 1 when {eta|eta'} >= 0",
        ),
        "acyclic",
        Witness(route="injective"),
    ),
    Pair(
        "pressed_together_by_its_own_draw",
        spec(*("eta ~ Lap(1/eps)", "emit done"), align="eta -= {1|clip(eta, 0, 1)}/2"),
        "acyclic",
        Witness(route="injective"),
    ),
    Pair(
        "a_test_of_an_image_of_the_first_level",
        spec(
            *("mu[0] ~ Lap(1/eps)", "eta ~ Lap(1/eps)", "mu[1] ~ Lap(1/eps)", "emit done"),
            align="eta += 1 when mu'[{0|1}] < 0",
        ),
        "acyclic",
        Witness(route="injective"),
    ),
    Pair(
        "folded_and_told_by_its_cost",
        spec(
            *("eta ~ Lap(1/eps)", "for i in range(0, 1):", "  xi[i] ~ Lap(1/eps)", "emit done"),
            align="eta {-=|+=} 1 when eta < 0",
        ),
        "injective",
        Witness((drawn("xi", "alignment_cost == (eps if eta < 0 else 0)"),), route="injective"),
    ),
    Pair(
        "a_line_that_an_image_leaves_undefined",
        spec(*("mu ~ Lap(1/eps)", "eta ~ Lap(1/eps)", "emit done"), align="eta += 0/{eps|mu'}"),
        "defined",
        Witness(route="injective"),
    ),
    Pair(
        "an_image_of_a_list_beyond_its_end",
        spec(*("eta ~ Lap(1/eps)", "emit done"), align="eta += 0*q'[{0|5}]"),
        "defined",
        Witness(route="injective"),
    ),
    Pair(
        "a_maximum_of_the_draw_itself",
        spec(
            "eta ~ Lap(1/eps)",
            "emit done",
            align="eta += max(clip({0*eps|0 - eta/2}, 0 - 1/2, 1/2) + 0*j for j in range(0, 1))",
        ),
        "acyclic",
        Witness(route="injective"),
    ),
    Pair(
        "an_image_of_what_is_not_drawn",
        spec(
            *("mu[0] ~ Lap(1/eps)", "eta ~ Lap(1/eps)", "emit done"),
            align="mu[i] += 1   when eta < 0\n  eta += 0*clip(mu'[{0|1}], 0, 1)",
            claim="2*eps",
        ),
        "acyclic",
        Witness(route="injective"),
    ),
    Pair(
        "what_an_earlier_head_was_for_another_run",
        spec(
            *(
                "eta ~ Lap(1/eps)",
                "s = eta",
                "for i in range(0, 2):",
                "  pass",
                "for j in range(0, 2):",
                "  pass",
            ),
            "emit done",
            align="eta += 1   when eta < 0\n  eta {+=|-=} 1   when eta >= 0",
        ),
        "injective",
        Witness((loop(), loop(early="s == $head_0_s")), route="injective"),
    ),
    Pair(
        "a_cost_that_is_of_one_run",
        spec(
            *("eta ~ Lap(1/eps)", "for i in range(0, 2):", "  pass", "emit done"),
            align="eta += 1   when eta < 0\n  eta {+=|-=} 2   when eta >= 0",
            claim="2*eps",
        ),
        "injective",
        Witness((loop("alignment_cost == (eps if eta < 0 else 2*eps)"),), route="injective"),
    ),
    Pair(
        "a_repeated_call_on_the_general_route",
        _again(f"{_UNTIL} {_STOP}", claim="{2|1}*eps"),
        "cost",
        Witness(route="injective", callees=SINGLE.callees),
    ),
    Pair(
        "a_choice_on_the_general_route",
        spec("w ~ Choose(exp(eps*q[j]/2) for j in q)", "emit done(index = w)", claim="{1|3/4}*eps"),
        "cost",
        Witness(route="injective"),
    ),
    Pair(
        "stairs_on_the_general_route",
        spec(
            *("eta ~ Staircase(eps, 1, 1/2)", "emit done"),
            align="eta += 1   when eta < 0\n  eta {+=|-=} 1   when eta >= 0",
        ),
        "injective",
        Witness(route="injective"),
    ),
    Pair(
        "gumbel_noise_on_the_general_route",
        spec("eta ~ Gumbel(1/eps)", "emit done", align="eta {+=|-=} 1"),
        "support",
        Witness(route="injective"),
    ),
    Pair(
        "uniform_noise_on_the_general_route",
        spec("eta ~ Uniform(2)", "emit done", align="eta += {0|1}   when eta < 1"),
        "support",
        Witness(route="injective"),
    ),
    # --- 11. Draws by stated densities ---
    Pair(
        "places_in_a_set_that_grows",
        spec(
            "eta ~ Lap(1/eps)",
            "w ~ Choose(exp(eps) if j == b[0] else 1 for j in range(0, 4) where j <= 2 or j <= eta)",
            "emit done(v = w)",
            align="eta += {0|1}",
            claim="2*eps",
            more="  b : int queries, sensitivity 2, adjacency all, range [0, 2]\n",
            where=" and len(b) >= 1",
        ),
        "cost",
    ),
    Pair(
        "places_beside_a_weight_that_differs",
        spec(
            "w ~ Choose(exp(2*eps) if j == b[0] or (j == 3 and {eps|b[1]} > 0) else 1 for j in range(0, 4))",
            "emit done(v = w)",
            claim="2*eps",
            more="  b : int queries, sensitivity 2, adjacency all, range [0, 2]\n",
            where=" and len(b) >= 2",
        ),
        "cost",
    ),
    Pair(
        "a_choice_that_costs",
        spec("w ~ Choose(exp(eps*q[j]/2) for j in q)", "emit done(index = w)", claim="{1|3/4}*eps"),
        "cost",
    ),
    Pair(
        "places_that_depend_on_the_index",
        spec(
            "w ~ Choose(exp(eps) if j == ({4|min(max(j, 0), 4)} if y == 1 else 5) else 1 "
            "for j in range(0, 6))",
            "emit done(index = w)",
            more=_BIT,
        ),
        "cost",
    ),
    Pair(
        "a_choice_from_another_set",
        spec("w ~ Choose(exp(eps) for j in q where j == 0 or {j|q[j]} > 0)", "emit done"),
        "support cost",
    ),
    Pair(
        "a_logistic_scale",
        spec(
            "y ~ Logistic(x, {1/eps|z/eps})",
            "emit done(v = y)",
            more="  z : query, sensitivity 1, range [1, 2]\n",
        ),
        "scales cost",
    ),
    Pair(
        "nothing_to_choose_from",
        spec("w ~ Choose(exp(eps) for j in q where j >= {0|1})", "emit done"),
        "defined",
    ),
    Pair("a_logistic_scale_below_0", spec("y ~ Logistic(0, {eps|eps - 1})", "emit done"), "scales"),
    Pair(
        "cut_at_another_place",
        spec("y ~ Logistic(x, 1) where y > {0|x}", "emit done", claim="2*eps", where=" and eps >= 1"),
        "support",
    ),
    Pair(
        "chosen_by_one_run",
        spec(
            "mu ~ Exp(1/eps)",
            "w ~ Choose(exp(eps) for j in q where j == 0 or mu <= 1)",
            "emit done",
            claim="2*eps",
            align="mu += {0|1}",
        ),
        "support",
    ),
    Pair(
        "more_to_choose_from",
        spec(
            "mu ~ Lap(1/eps)",
            "w ~ Choose(exp(eps) for j in q where j == 0 or mu <= 1)",
            "emit done",
            claim="2*eps",
            align="mu -= {0|1}",
        ),
        "cost",
    ),
    Pair(
        "nothing_else_to_choose_from",
        spec("w ~ Choose(exp(eps) for j in q where j == 0)", "emit done(v = {eps|x})"),
        "output",
    ),
    Pair(
        "the_odds_against_the_others",
        spec(
            *(
                "w ~ Choose(exp(eps*q[i]/2) for i in q)",
                "theta = eps*q[w]/2 - logsumexp(eps*q[j]/2 for j in q where {j != w|j >= 0})",
            ),
            *("gap ~ Logistic(theta) where gap > 0", "emit done(gap = gap)"),
            where=" and len(q) >= 2",
        ),
        "cost",
    ),
    Pair(
        "a_sum_of_powers_in_a_declaration",
        spec(
            "emit done",
            more="  t : vector\n",
            where=" and len(t) >= 1 and eps <= {9|logsumexp(t[j] for j in t)}",
        ),
        "hypotheses",
    ),
    Pair(
        "a_sum_of_powers_in_a_set",
        spec("emit done(v = 0*max({i|logsumexp(q[k] for k in q)} + 1/2 for i in q))"),
        "language",
    ),
    Pair(
        "choices_in_a_loop",
        spec("for i, y in q:", "  {pass|w ~ Choose(exp(eps*q[j]/2) for j in q)}", "emit done"),
        "language",
        Witness((loop(),)),
    ),
    Pair("after_a_number_by_its_density", spec("y ~ Logistic(0, 1)", "emit done(v = {eps|x})"), "output"),
    Pair(
        "a_logistic_scale_of_0",
        spec("y ~ Logistic(0, {(z + 1)|z})", "emit done", more="  z : real where z >= 0\n"),
        "scales",
    ),
    Pair(
        "a_number_that_is_not_cut",
        spec("y ~ Logistic(0, 1){ where y > 0|}", "z = ln(y)", "emit done"),
        "defined",
    ),
    Pair(
        "a_number_cut_below_0",
        spec("y ~ Logistic(0, 1) where y > {1|0 - 1}", "z = 1/y", "emit done"),
        "defined",
    ),
    Pair(
        "weights_in_each_others_places",
        spec(
            *(
                "w ~ Choose(exp(eps) if j == y else exp({0|(0 - eps)}*y) for j in range(2))",
                "emit done(v = w)",
            ),
            more=_BIT,
        ),
        "cost",
    ),
    Pair(
        "the_odds_above_a_number",
        spec(
            "w ~ Choose(exp(eps*q[i]/2) for i in q)",
            "theta = eps*q[w]/2 - logsumexp(eps*q[j]/2 for j in q where j != w)",
            *("gap ~ Logistic(theta {+|-} 1) where gap > 1", "emit done(gap = gap)"),
            where=" and len(q) >= 2",
        ),
        "cost",
    ),
    # --- 13. Draws in each other's place, and nearer to 0 ---
    Pair(
        "stairs_exchanged",
        spec(
            "a ~ {Lap(1/eps|Staircase(eps, 1, 1/2})",
            "b ~ {Lap(1/eps|Staircase(eps, 1, 1/2})",
            "emit w(v = a + b)",
            align="a = b\n  b = a",
        ),
        "language",
    ),
    Pair(
        "two_scales_exchanged",
        spec("a ~ Lap(1/eps)", "b ~ Lap({1|2}/eps)", "emit w(v = a + b)", align="a = b\n  b = a"),
        "scales",
    ),
    Pair(
        "two_steps_exchanged",
        spec("a ~ DLap(1/eps, 2)", "b ~ DLap(1/eps, {2|4})", "emit w(v = 0)", align="a = b\n  b = a"),
        "scales",
    ),
    Pair(
        "exchanged_on_a_lattice_that_noise_tells",
        spec(
            *(
                "c ~ Lap(1/eps)",
                "s = 2 if {eps - 1|c} > 0 else 1",
                "a ~ DLap(1/eps, s)",
                "b ~ DLap(1/eps, s)",
            ),
            "emit w(v = 0)",
            align="a = b\n  b = a",
        ),
        "acyclic",
    ),
    Pair(
        "two_families_exchanged",
        spec("a ~ Lap(1/eps)", "b ~ {Lap|Cauchy}(1/eps)", "emit w(v = a + b)", align="a = b\n  b = a"),
        "language",
    ),
    Pair(
        "exchanged_with_less_than_a_move_costs",
        spec(
            "a ~ Lap(1/eps)",
            "b ~ Lap(1/eps)",
            "emit w(v = x + a + b)",
            align="a = b + x - x'\n  b = a{| + x - x'}",
        ),
        "output",
    ),
    Pair(
        "a_draw_that_is_put_in_two_places",
        spec(
            *("a ~ Lap(1/eps)", "b ~ Lap(1/eps)", "emit w(v = 0)"),
            align="a = b when eps > 1\n  b = a when eps > {1|2}",
        ),
        "injective",
    ),
    Pair(
        "two_draws_in_one_place",
        spec(
            *("a ~ Lap(1/eps)", "b ~ Lap(1/eps)", "c ~ Lap(1/eps)", "emit w(v = 0)"),
            align="a = b\n  c = {a|b}\n  b = c",
        ),
        "injective",
    ),
    Pair(
        "exchanged_where_one_is_not_drawn",
        spec("a ~ Lap(1/eps)", "{|if eps > 1:\n    }b ~ Lap(1/eps)", "emit w(v = 0)", align="a = b\n  b = a"),
        "language",
    ),
    Pair(
        "noise_added_to_an_exchanged_draw",
        spec(
            *("c ~ Lap(1/eps)", "a ~ Lap(1/eps)", "b ~ Lap(1/eps)", "emit w(v = 0)"),
            align="a = b + 0*{x|c}\n  b = a",
        ),
        "acyclic",
    ),
    Pair(
        "a_line_too_many_for_one_draw",
        spec(
            *("a ~ Lap(1/eps)", "b ~ Lap(1/eps)", "emit w(v = 0)"),
            align="a = b when eps > 1\n  b = a when eps > 1\n  a = a/2 when eps {<=|>} 1",
            claim="ln(2)",
        ),
        "injective",
    ),
    Pair(
        "two_lists_that_change_places",
        spec(
            *("for i, y in q:", "  a[i] ~ Lap(1/eps)", "  b[i] ~ Lap(1/eps)", "emit w(v = 0)"),
            align="a[i] = b[i]\n  b[i] = {a[i]|a[0]}",
            claim="0",
        ),
        "injective",
        Witness((loop("alignment_cost <= 0", early="$drawn_a == i;$dense_a;$drawn_b == i;$dense_b"),)),
    ),
    Pair(
        "a_list_turned_round",
        spec(
            "for i, y in q:",
            "  a[i] ~ Lap(1/eps)",
            "emit w(v = 0)",
            align="a[i] = a[{len(q) - 1 - i|len(q) - i}]",
            claim="0",
        ),
        "injective",
        Witness((drawn("a", "alignment_cost <= 0"),)),
    ),
    Pair(
        "one_draw_in_all_places",
        spec(
            "for i, y in q:",
            "  a[i] ~ Lap(1/eps)",
            "emit w(v = 0)",
            align="a[i] = a[{len(q) - 1 - i|0}]",
            claim="0",
        ),
        "injective",
        Witness((drawn("a", "alignment_cost <= 0"),)),
    ),
    Pair(
        "a_place_that_is_left_empty",
        spec(
            *("for i, y in q:", "  a[i] ~ Lap(1/eps)", "emit w(v = 0)"),
            align="a[i] = a[i + 1] when i + 1 < len(q)\n  a[i] = a[{0|i}] when i + 1 == len(q)",
            claim="0",
        ),
        "injective",
        Witness((drawn("a", "alignment_cost <= 0"),)),
    ),
    Pair(
        "a_scale_by_a_variable_of_the_round",
        spec(
            *("s = 2", "for i, y in q:", "  {k|s} = 1 + i", "  a[i] ~ Lap(s/eps)", "emit w(v = 0)"),
            align="a[i] = a[len(q) - 1 - i]",
        ),
        "acyclic scales",
        Witness((drawn("a", "alignment_cost <= 0"),)),
    ),
    Pair(
        "turned_round_by_noise",
        spec(
            *("c ~ Lap(1/eps)", "for i, y in q:", "  a[i] ~ Lap(1/eps)", "emit w(v = 0)"),
            align="a[i] = a[len(q) - 1 - i] when {eps|c} > 0",
        ),
        "acyclic",
        Witness((drawn("a", "alignment_cost <= 0"),)),
    ),
    Pair(
        "a_loop_that_ends_early_turned_round",
        spec(
            *("for i, y in q:", "  a[i] ~ Lap(1/eps)", "  if eps > 1: {pass|break}", "emit w(v = 0)"),
            align="a[i] = a[len(q) - 1 - i]",
        ),
        "language",
        Witness((drawn("a", "alignment_cost <= 0"),)),
    ),
    Pair(
        "a_draw_of_another_list_in_the_place",
        spec(
            *(
                "for i, y in q:",
                "  b[i] ~ Lap(1/eps)",
                "for i, y in q:",
                "  a[i] ~ Lap(1/eps)",
                "emit w(v = 0)",
            ),
            align="a[i] = {a|b}[len(q) - 1 - i]",
        ),
        "language",
        Witness((drawn("b", "alignment_cost <= 0"), drawn("a", "alignment_cost <= 0"))),
    ),
    Pair(
        "exchanged_where_a_call_says",
        calling(
            *("r = c(y = 0, k = 1, d = 1)", "a ~ Lap(1/eps)", "b ~ Lap(1/eps)", "emit w(v = 0)"),
            align="a = b when {eps|r.v} > 0\n  b = a when {eps|r.v} > 0",
            claim="0",
        ),
        "acyclic",
        SINGLE,
    ),
    Pair(
        "halved_for_nothing",
        spec("a ~ Lap(1/eps)", "emit w(v = a > 0)", align="a = a/2", claim="{ln(2)|1/2}"),
        "cost",
    ),
    Pair(
        "divided_by_less_than_1",
        spec("a ~ Lap(1/eps)", "emit w(v = a > 0)", align="a = a/{2|(1/2)}", claim="1 + ln(2)"),
        "support",
    ),
    Pair(
        "divided_where_it_is_steep",
        spec("a ~ {Lap|Gumbel}(1/eps)", "emit w(v = a > 0)", align="a = a/2", claim="ln(2)"),
        "language",
    ),
    Pair(
        "divided_on_a_lattice",
        spec("a ~ {Lap(1/eps|DLap(1/eps, 1})", "emit w(v = a > 0)", align="a = a/2", claim="ln(2)"),
        "language",
    ),
    Pair(
        "halved_with_one_side",
        spec("a ~ Exp(1/eps)", "emit w(v = 0)", align="a = a/2 {+|-} x*x/(1 + x*x)", claim="eps + ln(2)"),
        "support",
    ),
    Pair(
        "halved_by_a_released_number",
        spec(
            *("b ~ Lap(1/eps)", "emit w(v = b)", "a ~ Lap(1/eps)", "emit w(v = 0)"),
            align="a = a/{(1 + len(q))|(1 + abs(out[0].v))}",
            claim="ln(1 + len(q))",
        ),
        "countable defined",
    ),
    Pair(
        "exchanged_with_what_a_scalar_has_not",
        spec(
            *("a ~ Lap(1/eps)", "b ~ Lap(1/eps)", "emit done"),
            align="a[i] = b[{i|1 - i}]\n  b[i] = a[{i|1 - i}]",
        ),
        "injective",
    ),
    Pair(
        "exchanged_with_scales_that_noise_tells",
        spec(
            *(
                "mu ~ Lap(1/eps)",
                "a ~ DLap(1/eps + {1|abs(mu)}, 1)",
                "b ~ DLap(1/eps + {1|abs(mu)}, 1)",
                "emit done",
            ),
            align="a = b\n  b = a",
        ),
        "acyclic",
    ),
    Pair(
        "a_part_that_is_said_to_cost_nothing",
        spec("a ~ Lap(1/eps)", "emit w(v = a > 0)", align="a = a/{1|2}", claim="0"),
        "cost",
        Witness(costs=(expression("0"),)),
    ),
    Pair(
        "exchanged_and_drawn_elsewhere",
        spec(
            "for i in range(0, 2):",
            "  a[i] ~ Lap(1/eps)",
            "{pass|a[2] ~ Lap(1/eps)}",
            "emit done",
            align="a[i] = a[1 - i]",
        ),
        "language",
        Witness((drawn("a", "alignment_cost == 0"),)),
    ),
    Pair(
        "exchanged_and_drawn_at_another_index",
        spec("for i in range(0, 1):", "  a[{i|i + 1}] ~ Lap(1/eps)", "emit done", align="a[i] = a[0*i]"),
        "language",
        Witness((loop("alignment_cost == 0", early="$drawn_a <= 2*i"),)),
    ),
    Pair(
        "exchanged_in_a_loop_that_changes_its_end",
        spec(
            *("n = 2", "for i in range(0, n):", "  a[i] ~ Lap(1/eps)", "  {pass|n = 1}", "emit done"),
            align="a[i] = a[1 - i]",
        ),
        "acyclic",
        Witness((drawn("a", "alignment_cost == 0"),)),
    ),
    # --- 14. Claims in ε and δ, and in ρ ---
    Pair(
        "a_set_that_grows_with_moved_noise",
        spec(
            *("eta ~ Lap(1/eps)", "w ~ Choose(1 for j in range(0, 3) where j == 0 or j <= eta)"),
            "emit done(v = w)",
            align="eta += {0|1}",
            claim="eps*eps/2 zcdp",
        ),
        "support",
    ),
    *(
        Pair(
            name,
            spec(
                *("for i in range(len(q)):", f"  r[i] ~ {family}({scale})"),
                *(f"w = {function}({body} for j in q)", f"emit v(w = w{more})"),
                claim="eps**2/8 zcdp",
            ),
            "output language",
            Witness((drawn("r", "alignment_cost <= 0"),)),
        )
        for name, (family, scale, function, body, more) in (
            ("an_index_by_gumbel_noise", ("{Gumbel|Lap}", "2/eps", "argmax", "q[j] + r[j]", "")),
            ("gumbel_noise_of_other_scales", ("Gumbel", "{2|(2 + i)}/eps", "argmax", "q[j] + r[j]", "")),
            ("the_least_with_gumbel_noise", ("Gumbel", "2/eps", "{argmax|argmin}", "q[j] + r[j]", "")),
            ("gumbel_noise_that_is_doubled", ("Gumbel", "2/eps", "argmax", "q[j] + {|2*}r[j]", "")),
            ("gumbel_noise_of_one_for_all", ("Gumbel", "2/eps", "argmax", "q[j] + r[{j|0}]", "")),
            ("gumbel_noise_read_again", ("Gumbel", "2/eps", "argmax", "q[j] + r[j]", ", g = {0|r[w]}")),
            ("gumbel_noise_read_by_name", ("Gumbel", "2/eps", "argmax", "q[j] + r[j]", ", g = {0|r}")),
            ("gumbel_noise_subtracted", ("Gumbel", "2/eps", "argmax", "q[j] {+|-} r[j]", "")),
            ("gumbel_noise_of_the_next", ("Gumbel", "2/eps", "argmax", "q[j] + r[j]{| + r[0]}", "")),
        )
    ),
    Pair(
        "gumbel_noise_of_scales_that_grow",
        spec(
            *("b = 2/eps", "for i in range(len(q)):", "  r[i] ~ Gumbel(b)", "  {c|b} = b + 1"),
            *("w = argmax(q[j] + r[j] for j in q)", "emit v(w = w)"),
            claim="eps**2/8 zcdp",
        ),
        "output",
        Witness((drawn("r", "alignment_cost <= 0", "b' == b", index="i;b >= 2/eps"),)),
    ),
    Pair(
        "gumbel_noise_that_is_drawn",
        spec(
            *("for i in range(len(q){| - 1}):", "  r[i] ~ Gumbel(2/eps)"),
            *("w = argmax(q[j] + r[j] for j in q)", "emit v(w = w)"),
            claim="eps**2/8 zcdp",
        ),
        "defined",
        Witness((drawn("r", "alignment_cost <= 0"),)),
    ),
    Pair(
        "gumbel_noise_for_two_indices",
        spec(
            *("for i in range(len(q)):", "  r[i] ~ Gumbel(2/eps)", "  s[i] ~ Gumbel(2/eps)"),
            *(
                "v = argmax(q[j] + r[j] for j in q)",
                "w = argmax(j + {s|r}[j] for j in q)",
                "emit v(v = v, w = w)",
            ),
            claim="eps**2/8 zcdp",
        ),
        "output",
        Witness((drawn("r", "alignment_cost <= 0", index="i;$drawn_s == i;$dense_s"),)),
    ),
    Pair(
        "one_choice_by_gumbel_noise",
        spec(
            *(
                "for i in range(len(q)):",
                "  r[i] ~ Gumbel(2/eps)",
                "{w = argmax(q[j] + r[j] for j in q)\n  emit v(w = w)"
                "|for k in range(1):\n    w = argmax(q[j] + r[j] for j in q)\n    emit v(w = w)}",
            ),
            claim="eps**2/8 zcdp",
        ),
        "output language form",
        Witness((drawn("r", "alignment_cost <= 0"), loop("alignment_cost <= k*eps**2/8"))),
    ),
    *(
        Pair(
            f"{given}_to_one_with_squares",
            _calling(f"c(y = b, d = {{{right}|{wrong}}}, eps = eps)")
            .replace("  eps :", f"  b : queries, sensitivity 1, adjacency {given}\n  eps :")
            .replace("len(q) >= 1", "len(b) >= 3")
            .replace("privacy eps", "privacy eps zcdp"),
            "calls",
            Witness(
                callees={
                    "c": Witness((loop("alignment_cost <= eps*$squares_y[i]/d**2", early="$drawn_eta == i"),))
                }
            ),
            IN_SQUARES,
        )
        for given, right, wrong in (
            ("l1", "1", "1/2"),
            ("one", "1", "1/2"),
            ("moved", "sqrt(2)", "1"),
            ("all", "sqrt(len(b))", "sqrt(len(b) - 1)"),
            ("monotone", "sqrt(len(b))", "sqrt(2)"),
        )
    ),
    Pair(
        "released_later",
        spec(
            "a ~ Lap(1/eps)",
            "emit w(v = x + a)",
            align="a += x - x'{|   when out[0].v >= 0 or out[0].v < 0}",
            claim="eps**2/2 zcdp",
        ),
        "acyclic",
    ),
    Pair(
        "released_later_in_epsilon_and_delta",
        spec(
            *("a ~ Lap(1/eps)", "emit w(v = x + a)"),
            align="a += x - x'{|   when out[0].v >= 0 or out[0].v < 0}",
            claim="eps delta d",
            more="  d : real where d > 0\n",
        ),
        "acyclic",
    ),
    Pair(
        "a_draw_that_is_to_come",
        spec(
            *("a ~ Lap(1/eps)", "b ~ Lap(1/eps)", "emit w(v = x + a)"),
            align="a += x - x' + 0*{x|b}",
            claim="eps**2/2 zcdp",
        ),
        "acyclic",
    ),
    Pair(
        "a_maximum_that_is_to_come",
        spec(
            *("a ~ Lap(1/eps)", "for i, y in q:", "  b[i] ~ Lap(1/eps)"),
            *("best = max(b[j] for j in q)", "emit w(v = x + a)"),
            align="a += x - x' + 0*{x|(best' - best)}",
            claim="eps**2/2 zcdp",
        ),
        "acyclic",
        Witness((drawn("b", "alignment_cost <= eps**2/2"),)),
    ),
    Pair(
        "a_maximum_of_what_is_told_later",
        spec(
            *("a ~ Lap(1/eps)", "s = argmax(u[j] for j in u)", "best = max((j if j == s else 0) for j in u)"),
            "emit w(v = x + a)",
            align="a += x - x'{|   when best >= 0 or best < 0}",
            claim="eps**2/2 zcdp",
            more="  u : vector where len(u) >= 1\n",
        ),
        "acyclic",
    ),
    Pair(
        "half_of_the_square",
        spec("a ~ {Lap|Exp}(1/eps)", "emit w(v = x + a)", align="a += x - x'", claim="eps**2/2 zcdp"),
        "support",
    ),
    Pair(
        "up_only_in_rho",
        spec(
            *("a ~ {Lap|Gumbel}(1/eps)", "emit w(v = x + a)"), align="a += 1 + x - x'", claim="2*eps**2 zcdp"
        ).replace("emit w(v = x + a)", "emit w(v = 0)"),
        "support",
    ),
    Pair(
        "less_than_half_of_the_square",
        spec(
            "a ~ Lap(1/eps)", "emit w(v = x + a)", align="a += x - x'", claim="eps**2/{2|(2 + 1/1000)} zcdp"
        ),
        "cost",
    ),
    Pair(
        "gaussian_noise_for_epsilon",
        spec("a ~ {Lap|Gauss}(1/eps)", "emit w(v = x + a)", align="a += x - x'"),
        "support",
    ),
    Pair(
        "a_standard_deviation_that_is_too_small",
        spec(
            "a ~ Gauss(1/sqrt({2|(2 + 1/1000)}*eps))",
            "emit w(v = x + a)",
            align="a += x - x'",
            claim="eps zcdp",
        ),
        "cost",
    ),
    Pair(
        "between_the_steps_of_gaussian_noise",
        spec(
            *("a ~ DGauss(1/sqrt(2*eps), {1|2})", "emit w(v = y + a)"),
            align="a += y - y'",
            claim="eps zcdp",
            more="  y : int query, sensitivity 1\n",
        ),
        "support",
    ),
    Pair(
        "the_norm_of_squares",
        spec(
            *("for i, y in b:", "  a[i] ~ Gauss(1/sqrt(2*eps))", "  emit w(v = y + a[i])"),
            align="a[i] += b[i] - b'[i]",
            claim="eps zcdp",
            more="  b : queries, sensitivity 1, adjacency {l2|all}\n",
        ),
        "cost invariant defined",
        Witness((loop("alignment_cost <= eps*$squares_b[i]", early="$drawn_a <= i"),)),
    ),
    Pair(
        "sums_under_the_norm_of_squares",
        spec(
            *("a ~ Lap(1/eps)", "emit w(v = sum(b[j] for j in b) + a)"),
            align="a += sum(b[j] for j in b) - sum(b'[j] for j in b)",
            more="  b : queries, sensitivity 1, adjacency {l1|l2}\n",
        ),
        "cost",
    ),
    Pair(
        "lists_with_squares_to_one_with_sizes",
        _calling("c(y = b, d = eps)").replace(
            "  eps :", "  b : queries, sensitivity 1, adjacency {l1|l2}\n  eps :"
        ),
        "calls",
        Witness(callees={"c": Witness((loop("alignment_cost <= d*$moved_y[i]", early="$drawn_eta <= i"),))}),
        IN_ALL,
    ),
    Pair(
        "the_range_of_a_choice",
        spec("s ~ Choose(exp(eps*q[i]/2) for i in q)", "emit v(s = s)", claim="eps**2/{8|9} zcdp"),
        "cost",
    ),
    Pair(
        "a_choice_from_another_set",
        spec("s ~ Choose(1 for i in q where i == 0 or {i|q[i]} > 0)", "emit v(s = s)", claim="eps zcdp"),
        "support",
    ),
    Pair(
        "what_is_claimed_in_rho",
        _calling("c(y = x, k = 1, d = 1)").replace("eps > 0", "eps >= 1"),
        "cost",
        callee=CALLEE.replace("privacy d", "privacy d{|**2/2 zcdp}"),
    ),
    Pair(
        "what_is_claimed_with_a_delta",
        _calling("c(y = x, k = 1, d = eps)").replace("privacy eps", "privacy eps {delta 1/8|}"),
        "cost",
        callee=CALLEE.replace("privacy d", "privacy d delta 1/8"),
    ),
    Pair(
        "a_delta_spent_twice",
        calling(
            "a = c(y = x, k = 1, d = eps/2)",
            "b = c(y = x, k = 1, d = eps/2)",
            "emit done",
            claim="eps delta {1/4|1/5}",
        ),
        "cost",
        callee=CALLEE.replace("privacy d", "privacy d delta 1/8"),
    ),
    Pair(
        "a_delta_beside_rho",
        calling(
            *("for j in range(100):", "  a = c(y = x, k = 1, d = eps/sqrt(800*ln(1/s)))", "emit done"),
            claim="eps delta 100/800 + s{| - 1/900}",
            more="  s : real where s > 0 and s < 1\n",
            where=" and eps <= 8*ln(1/s)",
        ),
        "cost",
        Witness(
            (loop("alignment_cost <= j*eps*eps/(1600*ln(1/s))", "$delta <= j/800"),),
            sample=(("eps", Fraction(1)), ("s", Fraction(1, 2))),
            rho=expression("eps*eps/(16*ln(1/s))"),
            slack=expression("s"),
        ),
        callee=CALLEE.replace("privacy d", "privacy d delta 1/800"),
    ),
    Pair(
        "a_delta_in_rho",
        _calling("c(y = x, k = 1, d = eps)").replace("privacy eps", "privacy eps**2/2 zcdp"),
        "cost",
        callee=CALLEE.replace("privacy d", "privacy d{| delta 1/8}"),
    ),
    Pair(
        "a_delta_spent_in_rounds",
        calling(
            *("for j in range(3):", "  a = c(y = x, k = 1, d = eps/3)", "emit done"),
            claim="eps delta {3/8|2/8}",
        ),
        "cost invariant",
        Witness((loop("alignment_cost <= j*eps/3", "$delta <= j/8"),)),
        callee=CALLEE.replace("privacy d", "privacy d delta 1/8"),
    ),
    Pair(
        "a_call_in_epsilon_for_rho",
        _calling("c(y = x, k = 1, d = eps)").replace("privacy eps", "privacy {1/2|2/5}*eps**2 zcdp"),
        "cost",
    ),
    Pair(
        "from_rho_to_epsilon_and_delta",
        spec(
            *("a ~ Gauss(1/sqrt(2*eps))", "emit w(v = x + a)"),
            align="a += x - x'",
            claim="eps + {2|19/10}*sqrt(eps*ln(1/d)) delta d",
            more="  d : real where d > 0 and d < 1\n",
        ),
        "cost",
        Witness(rho=expression("eps")),
    ),
    Pair(
        "a_root_below_rho",
        spec(
            *("a ~ Gauss(1/sqrt(2*eps))", "emit w(v = x + a)"),
            align="a += x - x'",
            claim="abs(eps {+|-} 2*sqrt(eps*ln(1/d))) delta d",
            more="  d : real where d > 0 and d < 1\n",
        ),
        "cost",
        Witness(rho=expression("eps")),
    ),
    Pair(
        "a_bound_of_rho_that_is_too_small",
        spec(
            *("a ~ Gauss(1/sqrt({2|3}*eps))", "emit w(v = x + a)"),
            align="a += x - x'",
            claim="eps + 2*sqrt(eps*ln(1/d)) delta d",
            more="  d : real where d > 0 and d < 1\n",
        ),
        "cost",
        Witness(rho=expression("eps")),
    ),
    Pair(
        "a_delta_above_1",
        spec(
            *("a ~ Gauss(1/sqrt(2*eps))", "emit w(v = x + a)"),
            align="a += x - x'",
            claim="eps + 2*sqrt(eps*abs(ln(1/d))) delta d",
            more="  d : real where d > 0{ and d < 1|}\n",
        ),
        "cost",
        Witness(rho=expression("eps")),
    ),
    Pair(
        "a_private_bound_of_rho",
        spec(
            *("a ~ Gauss(1)", "emit w(v = 0)"),
            claim="eps + 2*sqrt(eps*ln(1/d)) delta d",
            more="  d : real where d > 0 and d < 1\n  y : {int|query, sensitivity 1}int\n",
        ).replace("{int|query, sensitivity 1}int", "{int|query, sensitivity 1}"),
        "form cost",
        Witness(rho=expression("eps + 0*y")),
    ),
    Pair(
        "logistic_noise_in_rho",
        spec("a ~ Logistic(0, 1)", "emit w(v = a > 0)", claim="eps{| zcdp}"),
        "language",
    ),
    Pair(
        "halved_in_rho",
        spec("a ~ Lap(1/eps)", "emit w(v = a > 0)", align="a = a/2", claim="ln(2){| zcdp}"),
        "language",
    ),
    Pair(
        "a_declared_logarithm",
        spec(
            "emit done",
            more="  d : real where d > 0 and d < 1 and z <= {8|1/8}*ln(1/d)\n  z : real where z >= 1\n",
        ),
        "hypotheses",
        Witness(sample=(("d", Fraction(1, 2)), ("z", Fraction(1)))),
    ),
    Pair(
        "a_root_below_a_large_rho",
        spec(
            *("a ~ Gauss(1/sqrt(2*eps))", "emit w(v = x + a)"),
            align="a += x - x'",
            claim="eps {+|-} 2*sqrt(eps*ln(1/d)) delta d",
            more="  d : real where d > 0 and d < 1\n",
            where=" and eps >= 4*ln(1/d)",
        ),
        "cost",
        Witness(rho=expression("eps"), sample=(("eps", Fraction(4)), ("d", Fraction(1, 2)))),
    ),
    Pair(
        "a_rho_that_is_no_epsilon",
        _calling("c(y = x, k = 1, d = eps)").replace("privacy eps", "privacy eps{|**2/2} zcdp"),
        "cost",
        callee=CALLEE.replace("privacy d", "privacy d zcdp").replace("Lap(1/d)", "Gauss(1/sqrt(2*d))"),
    ),
    Pair(
        "a_delta_on_the_general_route",
        spec("eta ~ Lap(1/eps)", "emit done(v = x + eta)", align="eta += x - x'", claim="eps{| delta 1/8}"),
        "language",
        Witness(route="injective"),
    ),
    Pair(
        "a_delta_of_a_call_and_of_the_root",
        calling(
            *("a = c(y = x, k = 1, d = eps)", "emit done"),
            claim="eps*eps/2 + 2*sqrt(eps*eps/2*ln(1/s)) delta 1/8 + s{| - s/2}",
            more="  s : real where s > 0 and s < 1\n",
        ),
        "cost",
        Witness(rho=expression("eps*eps/2"), slack=expression("s")),
        CALLEE.replace("privacy d", "privacy d delta 1/8"),
    ),
    Pair(
        "two_halves_of_a_move_in_rho",
        spec(
            *("a ~ Gauss(1/sqrt(2*eps))", "emit w(v = x + a)"),
            align="a += (x - x')/2\n  a += (x - x')/2",
            claim="eps/{1|2} zcdp",
        ),
        "cost",
        Witness(costs=(expression("eps/4"), expression("eps/4"))),
    ),
    Pair(
        "in_squares_of_what_moves_in_all",
        calling(
            *("a = c(y = b, d = {1|1/2}, eps = eps)", "emit done"),
            more="  b : queries, sensitivity 1, adjacency l1\n",
            claim="eps zcdp",
        ),
        "calls",
        Witness(callees={"c": Witness((drawn("eta", "alignment_cost <= $squares_y[i]*eps/(d*d)"),))}),
        IN_SQUARES,
    ),
    Pair(
        "a_stair_in_rho",
        spec("eta ~ Staircase(eps, 1, 1/2)", "emit done", align="eta += 1", claim="eps**2/{2|3} zcdp"),
        "cost",
    ),
    Pair(
        "one_sided_noise_that_moves_in_rho",
        spec("eta ~ Exp(1/eps)", "emit done", align="eta += {0|1}", claim="eps**2/2 zcdp"),
        "support",
    ),
    *(
        Pair(
            f"the_square_of_what_is_paid_in_{unit}",
            spec(
                "eta ~ Lap(1/eps)",
                "emit done(v = x + eta)",
                align="eta += x - x'",
                claim="{eps|eps**2/2}" + delta,
            ),
            "cost",
            Witness(rho=rho),
        )
        for unit, delta, rho in (
            ("epsilon", "", expression("eps")),
            ("epsilon_and_delta", " delta 1/8", None),
        )
    ),
    Pair(
        "a_declared_logarithm_of_1",
        spec("emit done", more="  d : real where d > {0|1} and eps <= ln(d - {0|1})\n"),
        "hypotheses",
        Witness(sample=(("eps", Fraction(1, 2)), ("d", Fraction(2)))),
    ),
    Pair(
        "half_a_root_above_a_large_rho",
        spec(
            *("a ~ Gauss(1/sqrt(2*eps))", "emit w(v = x + a)"),
            align="a += x - x'",
            claim="eps + {2|1}*sqrt(eps*ln(1/d)) delta d",
            more="  d : real where d > 0 and d < 1\n",
            where=" and eps >= 4*ln(1/d)",
        ),
        "cost",
        Witness(rho=expression("eps"), sample=(("eps", Fraction(4)), ("d", Fraction(1, 2)))),
    ),
    Pair(
        "the_greatest_with_noise_in_each_round",
        spec(
            *("for i, y in q:", "  xi[i] ~ Gumbel(2/eps)", "for r in range(0, 2):"),
            *("  k = argmax({t|q}[j] + xi[j] for j in q)", "  emit w(v = k)"),
            claim="eps**2/8 zcdp",
            more="  t : vector\n",
            where=" and len(t) == len(q)",
        ),
        "output",
        Witness((drawn("xi", "alignment_cost == 0"), loop())),
    ),
    Pair(
        "a_list_of_rounds_in_delta",
        _in_lists().replace("privacy eps", "privacy eps{| delta 1/8}"),
        "acyclic",
        IN_LISTS,
    ),
    # --- 15. Coins ---
    Pair(
        "a_private_chance",
        _coin("exp(eps)/(1 + exp(eps)) if y == 1 else 1/(1 + exp(eps))", claim="{1|3/4}*eps"),
        "cost",
    ),
    Pair("a_chance_of_1", _coin("2/3 if y == 1 else 1/{3|1}", claim="ln(2)"), "scales"),
    Pair("a_logarithm_of_a_quotient", _coin("2/3 if y == 1 else 1/3", claim="ln(2/{1|2})"), "cost"),
    Pair(
        "a_coin_that_is_flipped",
        _coin("1/(1 + exp({1|2}*eps))", "y + c - 2*y*c", align="c = 1 - c when y != y'"),
        "cost",
    ),
    Pair(
        "no_coin_that_is_flipped",
        spec("c ~ {Bernoulli|Lap}(1/2)", "emit done(v = 0)", align="c = 1 - c", claim="1"),
        "support",
    ),
    Pair(
        "a_coin_with_a_third_side",
        spec("c ~ Bernoulli(1/2)", "emit done(v = 0)", align="c += {0|1}", claim="1"),
        "support",
    ),
    Pair(
        "two_coins_for_one",
        spec("c ~ Bernoulli(1/2)", "emit done(v = 0)", align="c += 1 if c == 0 else {0 - 1|0}", claim="1"),
        "injective",
        Witness(route="injective"),
    ),
    Pair(
        "coins_in_each_others_places",
        spec(
            "a ~ {Lap|Bernoulli}(1/2)", "b ~ {Lap|Bernoulli}(1/2)", "emit done(v = 0)", align="a = b\n  b = a"
        ),
        "language",
    ),
    Pair(
        "a_coin_that_is_divided",
        spec("a ~ {Lap|Bernoulli}(1/2)", "emit done(v = 0)", align="a = a/2", claim="ln(2)"),
        "language",
    ),
    Pair(
        "a_private_chance_in_rho",
        _coin("exp(eps)/(1 + exp(eps)) if y == 1 else 1/(1 + exp(eps))", claim="eps{| zcdp}"),
        "scales",
    ),
    Pair(
        "a_coin_that_is_moved_in_rho",
        spec("c ~ Bernoulli(1/2)", "emit done(v = 0)", align="c = 1 - c", claim="1{| zcdp}"),
        "language",
    ),
    Pair(
        "a_chance_that_would_show_the_way_to_it",
        spec(
            *(
                "if {b|y} == 1:",
                "  c ~ Bernoulli({b|y}/2)",
                "else:",
                "  c ~ Bernoulli((1 - {b|y})/2)",
                "emit done",
            ),
            more=f"{_BIT}  b : int where 0 <= b and b <= 1\n",
        ),
        "output",
    ),
    Pair("a_public_chance_of_1", spec("c ~ Bernoulli({1/2|1})", "emit done(v = c)"), "scales"),
    Pair(
        "a_coin_and_what_is_paid_after_it",
        spec(
            *("c ~ Bernoulli(1/3 if y == 1 else 1/2)", "if c == {0|1}:", "  eta ~ Lap(1/eps)"),
            *("  emit a(v = x + eta)", "else:", "  emit b"),
            align="eta += x - x'",
            claim="max(abs(ln(3/2)), abs(2*ln(2) - ln(3)) + eps)",
            more=_BIT,
        ),
        "cost",
    ),
    Pair(
        "a_chance_that_rises_with_an_answer",
        _coin("(1 + y*(exp(eps) - 1))/(1 + exp(eps))", claim="{1|9/10}*eps", y=_FROM_0_TO_1),
        "cost",
    ),
    Pair(
        "a_chance_that_falls_with_an_answer",
        _coin("(exp(eps) - y*(exp(eps) - 1))/(1 + exp(eps))", claim="{1|9/10}*eps", y=_FROM_0_TO_1),
        "cost",
    ),
    Pair(
        "a_power_beside_a_chance",
        _coin("(1 + y*({1|9}*exp(eps) - 1))/(1 + {1|9}*exp(eps))", y=_FROM_0_TO_1),
        "cost",
    ),
    Pair(
        "a_power_times_a_number",
        _coin("9*exp(eps)/(1 + 9*exp(eps)) if y == 1 else 1/(1 + 9*exp(eps))", claim="eps + {1|0}*ln(9)"),
        "cost",
    ),
    Pair(
        "a_power_of_another_number",
        _coin("(1 + y*(exp({1|2}*eps) - 1))/(1 + exp({1|2}*eps))", y=_FROM_0_TO_1),
        "cost",
    ),
    Pair(
        "a_number_times_a_sum",
        _coin("(2 - f)/2 if y == 1 else f/2", claim="ln((1 - f/2)/{(f/2)|f})", more=_RARE),
        "cost",
    ),
    Pair(
        "a_sum_and_a_number_times_it",
        _coin("1 - f/2 if y == 1 else f/2", claim="ln((2 - f)/{f|(4/3*f)})", more=_RARE),
        "cost",
    ),
    Pair(
        "a_sum_beside_its_fifth",
        _coin(
            "f/5 + g/5 if y == 1 else 2/5",
            claim="max(abs(ln(2) - ln(f + g)), abs(ln({3|2}) - ln(5 - f - g)))",
            more="  f : real where 1 < f and f < 2\n  g : real where 1 < g and g < 2\n",
        ),
        "cost",
    ),
    Pair(
        "a_chance_of_the_other_side",
        _coin(
            "2/3 if y == 1 else 1/2",
            claim="{max(abs(2*ln(2) - ln(3)), abs(ln(3) - ln(2)))|abs(2*ln(2) - ln(3))}",
        ),
        "cost",
    ),
    Pair(
        "a_later_coin_that_noise_turns_over",
        spec(
            *("eta ~ Lap(1/eps)", "mu ~ Lap(1)", "c ~ Bernoulli(1/2)", "emit done"),
            align="eta += c'\n  c = 1 - c when {eps|mu} > 0",
        ),
        "acyclic",
    ),
    Pair(
        "a_chance_that_moved_noise_tells",
        spec(
            *("eta ~ Lap(1/eps)", "c ~ Bernoulli(2/3 if eta > 0 else 1/3)", "emit done"),
            align="eta += {0|1}",
        ),
        "cost",
    ),
    Pair(
        "a_private_chance_in_delta",
        _coin("exp(eps)/(1 + exp(eps)) if y == 1 else 1/(1 + exp(eps))", claim="eps{| delta 1/8}"),
        "scales",
    ),
    Pair(
        "a_coin_that_is_moved_in_delta",
        spec("c ~ Bernoulli(1/2)", "emit done(v = 0)", align="c = 1 - c", claim="1{| delta 1/8}"),
        "language",
    ),
)

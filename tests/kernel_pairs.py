"""Specs that the kernel must reject, each with its repaired twin, one line apart, which it accepts with the
same witness; grouped by the sections of docs/kernel.md. What is wrong with a spec is a matter of one rule.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from aligncheck.kernel.witness import Chance, LoopWitness, Witness
from aligncheck.language.check import check
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.search.witness.text import expression

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


@dataclass(frozen=True, slots=True)
class Pair:
    """`text` is a spec with `{}` in place of a line, or of a part of one: with `right` there it is private
    and accepted, with `wrong` it is rejected at one of `conditions`.
    """

    name: str
    section: int
    text: str
    right: str
    wrong: str
    conditions: tuple[str, ...]
    witness: Witness = field(default_factory=Witness)
    callee: str = CALLEE

    def spec(self, part: str) -> n.Mechanism:
        source = Source(self.name, self.text.replace("{}", part))
        tree = parse(source)
        return check(source, tree, lambda path: Source(path, self.callee)) if tree.uses else tree


def loop(
    *both: str, early: str = "", measure: str | None = None, chance: tuple[str, str, str] | None = None
) -> LoopWitness:
    """A loop of a witness; the early lines are separated by `;`."""
    ends = None if chance is None else Chance(chance[0], expression(chance[1]), expression(chance[2]))
    return LoopWitness(
        tuple(expression(e) for e in early.split(";") if e),
        tuple(map(expression, both)),
        None if measure is None else expression(measure),
        ends,
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


def _calling(call: str) -> str:
    return spec(f"a = {call}", "emit done").replace("mechanism m\n", 'mechanism m\nuse c from "c.dp"\n')


FOLDED = spec("eta ~ Lap(1/eps)", "emit done", align="eta += 1   when eta < 0\n  eta {} 1   when eta >= 0")

LATER = spec(
    *("for i, y in q:", "  eta[i] ~ Lap(1/eps)", "mu ~ Lap(1/eps)", "best = max(eta[i] for i in q where [])"),
    "emit done",
    align="mu += 0*(best' - best)",
)

PAIRS: tuple[Pair, ...] = (
    Pair(
        "no_whole_number_in_a_range",
        4,
        spec("emit w", more="  k : int\n  b : int query, sensitivity 1, range [k/3, (k+{})/3]\n"),
        "3",
        "1",
        ("hypotheses",),
    ),
    Pair(
        "no_multiple_in_a_range",
        4,
        spec(
            "emit w", more="  s : real where s >= 1\n  b : query, sensitivity 1, lattice s, range [1/2, {}]\n"
        ),
        "s",
        "3/2",
        ("hypotheses",),
    ),
    Pair(
        "whole_answers_on_a_finer_lattice",
        4,
        spec("emit w", more="  b : int query, sensitivity 1, lattice {}, range [1/2, 1]\n"),
        "1",
        "1/2",
        ("form",),
    ),
    Pair(
        "nested_sets_of_two_kinds",
        7,
        spec(
            "y = max(max(max(t[b] - 2*t[c] for c in t) for b in range(1, 2)) for a in t where t[a] >= 0)",
            "z = max(max(max(t[c] - 2*t[b] for c in t) for b in range(1, 2)) for a in t where t[a] >= 0)",
            "emit done(v = {}t[0] + t[1])",
            more="  t : vector where t[i] == i\n",
            where=" and len(t) == 2",
        ),
        "",
        "x + ",
        ("output",),
    ),
    Pair(
        "set_of_any_index",
        7,
        spec(
            "eta[0] ~ Lap(1/eps)",
            "eta[1] ~ Lap(1/eps)",
            "emit done(v = {}t[0])",
            more="  t : vector\n  u : vector where len(u) == 1 and u[0] == 0\n",
            where=" and len(t) == 2 and t[0] == 0 and t[1] == 1",
            align="eta[i] += max(t[i] + u[j] for j in u)",
        ),
        "",
        "x + ",
        ("output",),
    ),
    Pair(
        "number_of_records_by_a_set",
        8,
        spec(
            "u = c(b = list(j for j in range(0, 2)))",
            "w = c(b = list(0 - j for j in range(0, 2)))",
            "if len(u) != len(w):",
            "  emit done(v = {}0)",
        ).replace("mechanism m\n", 'mechanism m\nuse c from "c.dp"\n'),
        "",
        "x + ",
        ("output",),
        Witness(
            callees={
                "c": Witness((loop(early="$records == i"),), length=expression("argmax(b[j] for j in b)"))
            }
        ),
        COUNTED,
    ),
    Pair(
        "count_of_another_time",
        4,
        spec(
            "k = 0",
            "for i, y in q:",
            "  eta[i] ~ Lap(1/eps)",
            "k = 1",
            "w = top(k, eta[i] for i in q)",
            "emit done(v = {}k)",
        ),
        "",
        "x + ",
        ("output",),
        Witness((drawn("eta", "alignment_cost == 0"),)),
    ),
    Pair(
        "maximum_of_another_time",
        4,
        spec(
            "c = 0",
            "for i, y in q:",
            "  eta[i] ~ Lap(1/eps)",
            "mu ~ Lap(1/eps)",
            "{}",
            "best = max(eta[i] + c for i in q)",
            "emit done",
            align="mu += 0*(best' - best)",
        ),
        "pass",
        "c = 1",
        ("defined",),
        Witness((drawn("eta", "alignment_cost == 0"),)),
    ),
    Pair(
        "a_value_of_an_arm",
        1,
        spec("y = 0", "if {}:", "  y = x", "emit done(v = y)"),
        "false",
        "true",
        ("output",),
    ),
    Pair(
        "partial_in_an_arm",
        1,
        spec("y = 0", "if m {} 0:", "  y = 1/m", "emit done(v = y)", more="  m : real\n"),
        "!=",
        ">=",
        ("defined",),
    ),
    Pair(
        "a_test_that_differs",
        1,
        spec("if {} > 0:", "  emit up", "else:", "  emit down"),
        "eps - 1",
        "x",
        ("output",),
    ),
    Pair("a_field_that_differs", 2, spec("emit done(v = {})"), "eps", "x", ("output",)),
    Pair(
        "a_scale_that_differs",
        2,
        spec("eta ~ Lap({})", "emit done(v = eta)", more="  z : query, sensitivity 1, range [1, 2]\n"),
        "1",
        "z",
        ("scales",),
    ),
    Pair(
        "a_step_that_differs",
        2,
        spec("eta ~ DLap(1, {})", "emit done(v = eta)", more="  z : query, sensitivity 1, range [1, 2]\n"),
        "1",
        "z",
        ("scales",),
    ),
    Pair(
        "a_scale_that_is_no_scale",
        2,
        spec("eta ~ Lap({})", "emit done(v = eta)"),
        "eps",
        "1 - eps",
        ("scales",),
    ),
    Pair(
        "a_shift_that_costs",
        2,
        spec("eta ~ Lap({}/eps)", "emit done(v = x + eta)", align="eta += x - x'"),
        "1",
        "1/2*1",
        ("cost",),
    ),
    Pair(
        "a_claim_below_0",
        2,
        spec("emit done", claim="{}"),
        "eps",
        "eps - 1",
        ("cost",),
    ),
    Pair("a_private_claim", 2, spec("emit done", claim="eps + {}"), "1", "x*x", ("form", "cost")),
    Pair(
        "a_private_clause",
        2,
        spec("emit done", more="  z : query, sensitivity {}\n"),
        "1",
        "x*x",
        ("hypotheses",),
    ),
    Pair("below_0", 2, spec("eta ~ Exp(1/eps)", "emit done", align="eta {} 1"), "+=", "-=", ("support",)),
    Pair(
        "between_the_steps",
        2,
        spec("eta ~ DLap(1/eps, 1)", "emit done", align="eta += {}"),
        "1",
        "1/2",
        ("support",),
    ),
    Pair(
        "noise_that_is_not_there_yet",
        3,
        spec("{}", "eta ~ Lap(1)", "emit done(v = eta)"),
        "pass",
        "y = eta",
        ("defined",),
    ),
    Pair(
        "a_shift_by_its_own_draw",
        3,
        spec("mu ~ Lap(1)", "eta ~ Lap(1)", "emit done", align="eta += 0*{}"),
        "mu",
        "eta",
        ("acyclic",),
    ),
    Pair("drawn_twice", 2, spec("eta[0] ~ Lap(1)", "eta[{}] ~ Lap(1)", "emit done"), "1", "0", ("fresh",)),
    Pair(
        "ended_by_a_promise",
        4,
        spec("while m >= 1:", "  emit t", "  emit t", "emit done", more="  m : int where m {} 1\n"),
        "<",
        ">=",
        ("terminates",),
        Witness(
            (loop(early="m >= 1 or $records == 0", measure="0"),),
            promises=(expression("len(out) == 1"),),
        ),
    ),
    Pair(
        "fewer_than_none",
        4,
        spec(
            "for i, y in q:",
            "  eta[i] ~ Lap(1/eps)",
            "w = top(k, eta[i] for i in q)",
            "emit done",
            more="  k : int where k <= 1 and k >= {}\n",
        ),
        "0",
        "0 - 1",
        ("defined",),
        Witness((drawn("eta", "alignment_cost == 0"),)),
    ),
    Pair(
        "where_a_loop_starts",
        5,
        spec("s = {}", "for i, y in q:", "  s = s", "emit done(v = s)"),
        "0*1",
        "x",
        ("invariant",),
        Witness((loop("s' == s"),)),
    ),
    Pair(
        "after_a_round",
        5,
        spec("s = 0*eps", "for i, y in q:", "  s = s + {}", "emit done(v = s)"),
        "1",
        "y",
        ("invariant",),
        Witness((loop("s' == s"),)),
    ),
    Pair(
        "early_where_a_loop_starts",
        5,
        spec("s = {}", "for i, y in q:", "  s = s + 1", "emit done(v = 1/s)"),
        "1",
        "0 - 5",
        ("invariant",),
        Witness((loop("s' == s", early="s >= 1"),)),
    ),
    Pair(
        "early_after_a_round",
        5,
        spec("s = 1", "for i, y in q:", "  s = s {} 1", "emit done(v = 1/s)"),
        "+",
        "-",
        ("invariant",),
        Witness((loop("s' == s", early="s >= 1"),)),
    ),
    Pair(
        "as_many_rounds",
        5,
        spec("m = floor({})", "s = 0", "for i in range(0, m):", "  s = s + 1", "emit done(v = s)"),
        "eps",
        "x",
        ("output",),
        Witness((loop("s' == s"),)),
    ),
    Pair(
        "a_measure_that_falls",
        6,
        spec("k = 5", "while k >= 1:", "  k = k - {}", "emit done"),
        "1",
        "0",
        ("terminates",),
        Witness((loop("k' == k", measure="k"),)),
    ),
    Pair(
        "a_measure_with_an_end",
        6,
        spec("k = 5", "while {}:", "  k = k - 1", "emit done"),
        "k >= 1",
        "k <= 9",
        ("terminates",),
        Witness((loop("k' == k", measure="k"),)),
    ),
    Pair(
        "a_chance_in_every_round",
        6,
        spec(
            *("b = 0*eps", "k = 0", "while b <= {}:", "  r[k] ~ Lap(1)", "  b = r[k]", "  k = k + 1"),
            "emit done",
        ),
        "5",
        "b",
        ("terminates",),
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
        "an_empty_set", 7, spec("y = max(q[i] for i in q where i >= {})", "emit done"), "0", "1", ("defined",)
    ),
    Pair("a_sum_that_differs", 7, spec("emit done(v = sum({} + 1/2 for i in q))"), "i", "q[i]", ("output",)),
    Pair(
        "a_maximum_that_differs", 7, spec("emit done(v = max({} + 1/2 for i in q))"), "i", "q[i]", ("output",)
    ),
    Pair(
        "a_place_that_differs",
        7,
        spec(
            "w = argmax({}[i] for i in p)",
            "emit done(v = w)",
            more="  p : queries, sensitivity 1, adjacency all\n  t : vector\n",
            where=" and len(p) >= 1 and len(t) >= len(p)",
        ),
        "t",
        "p",
        ("output",),
    ),
    Pair(
        "a_count_that_differs",
        7,
        spec("k = floor({})", "w = upto(max(k, 0), i for i in q)", "emit done"),
        "eps",
        "x",
        ("output",),
    ),
    Pair("an_index_beyond", 4, spec("y = q[{}]", "emit done"), "0", "1", ("defined",)),
    Pair("a_logarithm_of_0", 4, spec("y = ln({})", "emit done"), "eps", "eps - 1", ("defined",)),
    Pair("a_root_below_0", 4, spec("y = sqrt({})", "emit done"), "eps", "eps - 1", ("defined",)),
    Pair("a_modulus_of_0", 4, spec("y = 5 % {}", "emit done"), "len(q)", "(len(q) - 1)", ("defined",)),
    Pair("ends_out_of_order", 4, spec("y = clip(x, 0, {})", "emit done"), "eps", "eps - 1", ("defined",)),
    Pair(
        "an_argument_too_far",
        8,
        _calling("c(y = {}, k = 1, d = eps)"),
        "x",
        "2*x",
        ("calls",),
    ),
    Pair("an_argument_not_covered", 8, _calling("c(y = x, k = {}, d = eps)"), "1", "0", ("calls",)),
    Pair("a_call_that_costs", 8, _calling("c(y = x, k = 1, d = {}*eps)"), "1", "2", ("cost",)),
    Pair(
        "a_map_that_folds",
        10,
        FOLDED,
        "+=",
        "-=",
        ("injective",),
        Witness(route="injective"),
    ),
    Pair(
        "a_map_that_stretches",
        10,
        spec("eta ~ Lap(1/eps)", "emit done", align="eta += {}   when eta < 0\n  eta += 1   when eta >= 0"),
        "0 - 1",
        "0 - 1 + eta/2",
        ("acyclic",),
        Witness(route="injective"),
    ),
    Pair(
        "a_choice_that_costs",
        11,
        spec("w ~ Choose(exp(eps*q[j]/2) for j in q)", "emit done(index = w)", claim="{}*eps"),
        "1",
        "3/4",
        ("cost",),
    ),
    Pair(
        "a_choice_from_another_set",
        11,
        spec("w ~ Choose(exp(eps) for j in q where j == 0 or {} > 0)", "emit done"),
        "j",
        "q[j]",
        ("support", "cost"),
    ),
    Pair(
        "a_logistic_scale",
        11,
        spec(
            "y ~ Logistic(x, {})",
            "emit done(v = y)",
            more="  z : query, sensitivity 1, range [1, 2]\n",
        ),
        "1/eps",
        "z/eps",
        ("scales", "cost"),
    ),
    Pair(
        "a_case_that_folds",
        10,
        spec(
            "eta ~ Lap(1/eps)",
            "emit done",
            align="case eta < 0:\n    eta += 1\n  otherwise:\n    eta {} 1",
        ),
        "+=",
        "-=",
        ("injective",),
        Witness(route="injective"),
    ),
    Pair(
        "a_part_of_the_cost",
        2,
        spec("eta ~ Lap({}/eps)", "emit done(v = x + eta)", align="eta += x - x'"),
        "1",
        "1/2*1",
        ("cost",),
        Witness(costs=(expression("eps"),)),
    ),
    Pair(
        "a_function_of_private_answers",
        8,
        spec("y = h({})", "emit done").replace("mechanism m\n", "mechanism m\nfun h(real) : real\n"),
        "eps",
        "x",
        ("calls",),
    ),
    Pair(
        "a_place_that_is_not_selected",
        4,
        spec(
            "w = upto(1, t[i] for i in t)",
            "y = w[{}]",
            "emit done",
            more="  t : vector\n",
            where=" and len(t) >= 1",
        ),
        "len(w) - 1 if len(w) >= 1 else 0",
        "1",
        ("defined",),
    ),
    Pair(
        "entries_compared_in_all",
        4,
        spec("eta ~ Lap(1/eps)", "emit done(v = q[0] + eta)", align="eta += q[0] - q'[0]   when {}"),
        "q <= q' or q' <= q or true",
        "q <= q' or q' <= q",
        ("output",),
    ),
    Pair(
        "a_greatest_of_none",
        7,
        spec(
            "w = argmax(t[i] for i in t where i >= {})",
            "emit done",
            more="  t : vector\n",
            where=" and len(t) == 1",
        ),
        "0",
        "1",
        ("defined",),
    ),
    Pair(
        "fewer_than_asked_for",
        7,
        spec("w = top({}, t[i] for i in t)", "emit done", more="  t : vector\n", where=" and len(t) == 1"),
        "1",
        "2",
        ("defined",),
    ),
    Pair(
        "at_most_less_than_none",
        7,
        spec("w = upto({}, t[i] for i in t)", "emit done", more="  t : vector\n", where=" and len(t) == 1"),
        "1",
        "0 - 1",
        ("defined",),
    ),
    Pair(
        "a_later_maximum_of_none",
        3,
        LATER.replace("[]", "i >= {}"),
        "0",
        "1",
        ("defined",),
        Witness((drawn("eta", "alignment_cost == 0"),)),
    ),
    Pair(
        "a_later_set_told_by_noise",
        3,
        LATER.replace("[]", "i == 0 or {} >= 1"),
        "i",
        "eta[i]",
        ("acyclic",),
        Witness((drawn("eta", "alignment_cost == 0"),)),
    ),
    Pair(
        "a_set_for_an_arbitrary_index",
        3,
        spec(
            *("eta[0] ~ Lap(1/eps)", "eta[1] ~ Lap(1/eps)", "emit done(v = {})"),
            align="eta[i] += max(i for j in range(1))",
        ),
        "eps",
        "x + eta[1]",
        ("output",),
    ),
    Pair(
        "a_twin_of_what_is_not_drawn",
        10,
        spec(
            *("for i in range(0, 0):", "  xi[i] ~ Lap(1)", "eta[0] ~ Lap(1/eps)"),
            *("if eta[0] >= 0 and eta[0] < 2 - {}*z:", "  emit b", "else:", "  emit c"),
            more="  z : int query, sensitivity 1, range [0, 1]\n",
            align="xi[i] += (5 if eta[0] >= 1 and eta[0] < 2 else 0) - floor(xi[i])\n"
            "  eta[0] -= {}   when z < z' and out is b and eta[0] >= 1 and (xi[0] > 0 or xi[0] <= 1)\n"
            "  eta[0] += {}   when z > z' and out is c and eta[0] >= 1 and eta[0] < 2"
            " and (xi[0] > 0 or xi[0] <= 1)",
        ),
        "0",
        "1",
        ("injective",),
        Witness((loop("alignment_cost == 0", early="$drawn_xi == 0;$records == 0"),), route="injective"),
    ),
    Pair(
        "an_image_of_what_is_not_drawn",
        10,
        spec(
            *("for i in range(0, 0):", "  xi[i] ~ Lap(1)", "eta[0] ~ Lap(1/eps)"),
            *("if eta[0] >= 0 and eta[0] < 2 - z:", "  emit b", "else:", "  emit c"),
            claim="2*eps",
            more="  z : int query, sensitivity {}, range [0, 1]\n",
            align="xi[i] += 1   when (floor(xi[i]) - 2*floor(xi[i]/2) == 0) != (eta[0] >= 1 and eta[0] < 2)\n"
            "  eta[0] -= 1   when z < z' and out is b and floor(xi'[0]) - 2*floor(xi'[0]/2) == 0\n"
            "  eta[0] += 1   when z > z' and out is c and floor(xi'[0]) - 2*floor(xi'[0]/2) == 0",
        ),
        "0",
        "1",
        ("acyclic",),
        Witness((loop("alignment_cost == 0", early="$drawn_xi == 0;$records == 0"),), route="injective"),
    ),
    Pair(
        "a_length_before_its_time",
        4,
        spec(
            "w = top({}, t[i] for i in t)",
            "emit done(v = len(w))",
            more="  t : vector\n",
            where=" and len(t) >= 1",
        ),
        "1",
        "1 if len(w) == 0 else 0",
        ("defined",),
    ),
    Pair(
        "a_claim_of_what_is_not_released",
        2,
        spec(
            "w = upto(1, t[i] for i in t)",
            "emit done",
            claim="eps*len({}) at most eps",
            more="  t : vector\n",
        ),
        "out",
        "w",
        ("defined",),
    ),
)

"""Specs that the kernel must reject, each with its repaired twin, one line apart, which it accepts with the
same witness; grouped by the sections of docs/kernel.md. What is wrong with a spec is a matter of one rule.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from aligncheck.kernel.witness import Chance, LoopWitness, Witness
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.search.witness.text import expression


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

    def spec(self, part: str) -> n.Mechanism:
        return parse(Source(self.name, self.text.replace("{}", part)))


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
)

"""The conditions that a proof must discharge: one closed list, used everywhere under these names.

They are the conditions of Lemma 1 (Ding, Wang, Zhang, Kifer, *Free Gap Information from the
Differentially Private Sparse Vector and Noisy Max Mechanisms*, PVLDB 13(3)), condition iv split into its
parts, and two more that keep the lemma's premises honest: what is computed is defined, and the
hypotheses are not contradictory.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class _Entry(NamedTuple):
    id: str
    lemma: str
    proved: str
    failed: str


class Condition(Enum):
    """One condition of the proof.

    `id` is the name in `expect` lines, JSON and reports; `lemma` the item of Lemma 1 ("-" where the lemma
    takes it for granted); `proved` and `failed` say what each outcome means.
    """

    TERMINATES = _Entry(
        "terminates", "i", "the mechanism stops with probability 1", "the mechanism may run for ever"
    )
    DRAWS = _Entry(
        "draws",
        "ii",
        "the output determines how many random variables were used",
        "the output does not reveal how many random variables were used",
    )
    FRESH = _Entry(
        "fresh", "iii", "every random variable is drawn at most once", "a random variable is drawn twice"
    )
    SCALES = _Entry(
        "scales",
        "iii",
        "every noise scale is positive, public and the same on D and D'",
        "a noise scale is not positive, or depends on private data",
    )
    OUTPUT = _Entry(
        "output",
        "iv",
        "with the aligned noise, the run on D' gives the same output",
        "with the aligned noise, the run on D' gives another output",
    )
    SUPPORT = _Entry(
        "support",
        "iv",
        "the aligned noise stays in the support of its distribution",
        "the aligned noise leaves the support of its distribution",
    )
    ACYCLIC = _Entry(
        "acyclic",
        "iv",
        "no shift depends on its own draw, directly or around a cycle",
        "a shift depends on its own draw",
    )
    INJECTIVE = _Entry(
        "injective",
        "iv",
        "the alignment is one-to-one, its Jacobian determinant at least 1 in size (VLDB paper, Theorem 4)",
        "two noise vectors with the same output have the same image",
    )
    COST = _Entry(
        "cost",
        "iv",
        "the alignment costs at most the claimed privacy",
        "an output exists whose alignment costs more than the claimed privacy",
    )
    COUNTABLE = _Entry(
        "countable",
        "v",
        "only countably many alignments are used for each pair D, D'",
        "the alignment's value depends on a released number: uncountably many alignments",
    )
    DEFINED = _Entry(
        "defined",
        "-",
        "every division, root, logarithm, remainder and index is defined",
        "an operation may be undefined",
    )
    HYPOTHESES = _Entry(
        "hypotheses",
        "-",
        "the declared ranges and the adjacency can be satisfied",
        "the declared ranges contradict each other",
    )
    CALLS = _Entry(
        "calls",
        "-",
        "every mechanism that is called is verified, and given what its proof covers",
        "a mechanism or a function is called with what its proof does not cover",
    )
    INVARIANT = _Entry(
        "invariant",
        "-",
        "the author's invariant lines hold",
        "an invariant line does not hold, or is not inductive",
    )

    @property
    def id(self) -> str:
        return self.value.id

    @property
    def lemma(self) -> str:
        return self.value.lemma

    @property
    def proved(self) -> str:
        return self.value.proved

    @property
    def failed(self) -> str:
        return self.value.failed


def condition_named(name: str) -> Condition | None:
    """The condition with this id, or None."""
    return next((c for c in Condition if c.id == name), None)

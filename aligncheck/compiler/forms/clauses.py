"""`where` clauses about the values of answers, which nobody checks when a mechanism runs.

A run may not depend on whether answers are as declared: that it fails would tell something of them. So the
form leaves such clauses out, and its proof holds for all answers. Ranges and lattices stay: a run sees to
them, by taking the nearest value.
"""

from __future__ import annotations

from dataclasses import replace

from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.nodes import Expr, Mechanism
from aligncheck.language.syntax.walk import conjunction, conjuncts_of, parts_of


def speaks_of_values(mechanism: Mechanism) -> bool:
    """Whether a clause says something of the answers' values, not only of how many there are."""
    return any(
        len(_public(each.where, mechanism)) < len(conjuncts_of(each.where)) for each in mechanism.inputs
    )


def without_values(mechanism: Mechanism) -> Mechanism:
    """The mechanism without such clauses, or such parts of a conjunction; and without defaults, which say
    what is given, not what a run does with it.
    """
    inputs = (replace(each, where=conjunction(_public(each.where, mechanism))) for each in mechanism.inputs)
    given = (replace(i, default=None) if isinstance(i, nodes.Parameter) else i for i in inputs)
    return replace(mechanism, inputs=tuple(given))


def _public(where: Expr | None, mechanism: Mechanism) -> tuple[Expr, ...]:
    """The parts of a clause that speak of public things alone."""
    answers = {n for each in mechanism.inputs if isinstance(each, nodes.Queries) for n in each.names}
    return tuple(part for part in conjuncts_of(where) if of_lengths(part, answers))


def of_lengths(condition: Expr, private: set[str]) -> bool:
    """Whether a condition speaks of answers by `len` only, or not at all: such are checked in a run, so that
    its form may assume them.
    """
    lengths = {nodes.Call("len", (nodes.Name(name),)) for name in private}
    if condition in lengths:
        return True
    if isinstance(condition, nodes.Name):
        return condition.ident not in private
    if isinstance(condition, nodes.Index) and condition.base in private:
        return False
    over = condition.over if isinstance(condition, nodes.Gather) else None
    if isinstance(over, nodes.Indices) and over.base in private:
        return False
    return all(of_lengths(part, private) for part in parts_of(condition))

"""What the kernel is told by those who searched, and does not believe: where to look, never that it is so.

Expressions are in the language of `invariant`, with these further names, which no spec can contain (`own`):

`$records`, `$count_TAG`  records so far, and those with a tag
`$drawn_X`  one more than the greatest index of X drawn so far (0: none)
`$least_X`  the least index of X drawn so far; with none drawn the same as `$drawn_X`
`$dense_X`  whether all indices of X below that are drawn
`$head_K_NAME`  what NAME (a variable, or one of these names) was at the head of loop K, the last time
`$below_W[j]`  how many indices below j the selection W holds
`$moved_Q[j]`  how far the answers of Q below j moved in all (adjacency l1)
`$squares_Q[j]`  the sum of the squares of how far the answers of Q below j moved (adjacency l2)
`$delta`  the sum of the δ that calls claim, so far
`$differing_Q`, `$down_Q`, `$up_Q`  the answers that move (adjacency one, moved); Q is the first name declared
`$round_K`  the index of a loop that has no name for it
`$selection_K`  the `selection` of loop K
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from aligncheck.language.syntax.nodes import Expr, Sort


def own(word: str, *of: str | int) -> str:
    """The kernel's name for something of a variable, a list, a tag, a loop: every key that is made of a name
    in a spec is made here. No spec can contain it, and no two are alike: no word has a `_`, each is followed
    by so many parts, and of these only the last can have a `_`.
    """
    return "_".join((f"${word}", *map(str, of)))


RECORDS, DELTA = own("records"), own("delta")


@dataclass(frozen=True, slots=True)
class Chance:
    """How a `while` loop ends almost surely: in each round the draw of `noise` is above `threshold` with the
    same probability, its scale being at least `scale`, and then there is no further round; both are values
    that the program has where the loop is reached.
    """

    noise: str
    threshold: Expr
    scale: Expr


@dataclass(frozen=True, slots=True)
class LoopWitness:
    """One loop: `early` is true of every run on D that gets there, `invariants` of complete runs on D with
    the aligned ones on D', `later` of complete runs: what the output has from there on. A `while` loop ends
    by its `measure` or by `chance`. `selection` (`argmax(q[j] + eta[j] for j in q)`) is made besides, by the
    proof alone, right after a loop of the top level.
    """

    early: tuple[Expr, ...] = ()
    invariants: tuple[Expr, ...] = ()
    measure: Expr | None = None
    chance: Chance | None = None
    later: tuple[Expr, ...] = ()
    selection: Expr | None = None


@dataclass(frozen=True, slots=True)
class Witness:
    """For each loop in the order of the text what holds at its head; `sample` are values of public inputs
    (`len(q)` among them) that satisfy the declarations; `indices` are places where sets may have an element.

    `promises` are true of every complete output (`out[0] is chosen`).

    `costs` says for each line of the alignment, in the order of the text, what it costs at most to move a
    draw by it (None: not said); the names are those of the line, and variables have the values that the
    program gives them where it draws.

    `length`, if given, is how many records every output has, and `within` bounds the whole numbers in a field
    of every record: (field, low or None, high or None) for low <= field < high. Callers may use them.

    `rho`, if given, is public and bounds the costs of a mechanism that claims ε and δ, which are then added
    up in ρ; else they are added up in ε and δ. `slack` is the part of δ that this takes, all if not given;
    the rest is for the δ of what is called.

    `needs` says of a question, by its number (from 1, in the order in which the kernel comes to them), which
    of its facts, by their places (from 0), are enough: (number, places...).

    `sorts` are those of the variables, and of the fields of records (`$field_F`; one that is a number in
    some records and a truth value in others has none): what is assigned or released must be of them. They
    follow from the spec, and are written nowhere.
    """

    loops: tuple[LoopWitness, ...] = ()
    route: str = "acyclic"
    sample: tuple[tuple[str, Fraction], ...] = ()
    indices: tuple[Expr, ...] = ()
    promises: tuple[Expr, ...] = ()
    costs: tuple[Expr | None, ...] = ()
    length: Expr | None = None
    within: tuple[tuple[str, Expr | None, Expr | None], ...] = ()
    callees: Mapping[str, Witness] = field(default_factory=dict)
    needs: tuple[tuple[int, ...], ...] = ()
    rho: Expr | None = None
    slack: Expr | None = None
    sorts: tuple[tuple[str, Sort], ...] = field(default=(), compare=False)

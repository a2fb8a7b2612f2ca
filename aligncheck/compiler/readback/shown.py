"""What is shown beside the records: which answer one is about, and when it came.

Both must follow from the records themselves, of which alone the proof speaks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from aligncheck.compiler.readback.number_kinds import AS_INT, AS_REAL
from aligncheck.compiler.readback.python_patterns import ReadError
from aligncheck.compiler.readback.statements import RecordLabel
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.nodes import Expr
from aligncheck.language.syntax.walk import claimed_in, names_in, names_set, own_expressions, statements_in


def refuse_labels(labels: list[RecordLabel], lists: set[str], tree: nodes.Mechanism) -> None:
    """Raises ReadError at a record whose answer the output does not determine.

    Either all records with its tag and fields hold the index in the same field, the same constant away from
    it. Or it is the index of a loop over all answers, which runs once, and in each of whose rounds the same
    number of records is released, one or more; in a round that breaks at most as many; and the numbers of
    those before and after are the same in all runs.
    """
    of = {id(label.emit): label for label in labels}
    for label in labels:
        alike = [
            s for s in statements_in(tree.body) if isinstance(s, nodes.Emit) and _kind(s) == _kind(label.emit)
        ]
        held = [_held(of[id(emit)]) if id(emit) in of else set() for emit in alike]
        if label.base not in lists or not (set.intersection(*held) or _tells(label, tree)):
            raise ReadError(label.line, "which answer the record is about does not follow from the output")


def _kind(emit: nodes.Emit) -> tuple[str, ...]:
    return (emit.tag, *(part.name for part in emit.fields))


def _held(label: RecordLabel) -> set[tuple[str, str, Fraction]]:
    """The list, the fields that hold the index, and what is added to them."""
    index = _plain(label.index)
    at = {(index, Fraction(0))}
    if isinstance(index, nodes.Binary) and index.op in ("+", "-") and isinstance(index.right, nodes.Number):
        at.add((index.left, index.right.value if index.op == "+" else -index.right.value))
    return {(label.base, p.name, step) for p in label.emit.fields for i, step in at if _plain(p.value) == i}


def _plain(expr: Expr) -> Expr:
    while isinstance(expr, nodes.Call) and expr.function in (AS_REAL, AS_INT):
        (expr,) = expr.args
    return expr


def _tells(label: RecordLabel, tree: nodes.Mechanism) -> bool:
    place = next((i for i, s in enumerate(tree.body) if any(e is label.emit for e in statements_in((s,)))), 0)
    loop = tree.body[place] if tree.body else None
    if not isinstance(loop, nodes.For) or loop.index is None or label.index != nodes.Name(loop.index):
        return False
    inner = (s for s in statements_in(loop.body) if isinstance(s, nodes.For | nodes.While))
    if any(e is label.emit for s in inner for e in statements_in(s.body)):
        return False
    return all(map(_is_fixed, (*tree.body[:place], *tree.body[place + 1 :]))) and _Count.of(loop.body).paced


def _is_fixed(statement: nodes.Stmt) -> bool:
    """Whether a statement releases as many records in every run on as many answers."""
    emits = any(isinstance(s, nodes.Emit) for s in statements_in((statement,)))
    if emits and isinstance(statement, nodes.For) and isinstance(statement.over, nodes.OverQueries):
        count = _Count.of(statement.body)
        return len(count.ends) == 1 and not count.breaks
    return len(_Count.of((statement,)).ends) == 1


@dataclass(frozen=True, slots=True)
class _Count:
    """How many records a block may release: where it ends, and where it leaves the loop around it."""

    ends: frozenset[float]
    breaks: frozenset[float] = frozenset()

    @classmethod
    def of(cls, body: tuple[nodes.Stmt, ...]) -> _Count:
        ends, breaks = frozenset({0.0}), frozenset[float]()
        for statement in body:
            part = cls(frozenset({0.0}))
            match statement:
                case nodes.Emit():
                    part = cls(frozenset({1.0}))
                case nodes.Break():
                    part = cls(frozenset(), frozenset({0.0}))
                case nodes.If():
                    arms = [cls.of(arm) for arm in statement.arms]
                    part = cls(
                        frozenset().union(*(a.ends for a in arms)),
                        frozenset().union(*(a.breaks for a in arms)),
                    )
                case nodes.For(body=inner) | nodes.While(body=inner) if any(
                    isinstance(s, nodes.Emit) for s in statements_in(inner)
                ):
                    part = cls(frozenset({0.0, math.inf}))
                case nodes.Assign() | nodes.Invoke() | nodes.Sampling() | nodes.Repeat() | nodes.Pass():
                    pass
            breaks |= {a + b for a in ends for b in part.breaks}
            ends = frozenset(a + b for a in ends for b in part.ends)
        return cls(ends, breaks)

    @property
    def paced(self) -> bool:
        """Whether the number of records so far tells the round."""
        if len(self.ends) != 1:
            return False
        (each,) = self.ends
        return 0 < each < math.inf and max(self.breaks, default=0) <= each


def refuse_stream(tree: nodes.Mechanism, lists: set[str], line: int) -> None:
    """Raises ReadError where answers may not come one by one.

    What is released in a round depends on this answer, on earlier ones and on noise. So queries may depend on
    what was released: for each output they are the fixed queries that it leads to. Whoever supplies them sees
    besides which records are of which round, and whether more is asked for. Both are functions of the output
    of a run on enough further answers if each round that goes on releases the same number of records, one or
    more, a round that breaks at most as many, and not none in one case and all in another. With records after
    the loop, or a claim that depends on the output, each break must follow from records and parameters.
    """
    loops = [
        s
        for s in tree.body
        if isinstance(s, nodes.For) and isinstance(s.over, nodes.OverQueries) and s.over.base in lists
    ]
    if len(lists) != 1 or len(loops) != 1:
        raise ReadError(line, "a stream has one loop over one list of answers")
    if not isinstance(tree.claim, nodes.Pure):  # which averages over outputs, and over queries they lead to
        raise ReadError(line, "a stream's claim is in ε alone")
    (loop,), (name,) = loops, lists
    place = next(i for i, s in enumerate(tree.body) if s is loop)
    before, each, after = (_Count.of(b) for b in (tree.body[:place], loop.body, tree.body[place + 1 :]))
    others = [e for s in statements_in(tree.body) for e in own_expressions(s)]
    others += [e for e in (*claimed_in(tree.claim), *(i.where for i in tree.inputs)) if e is not None]
    if any(name in names_in(e) for e in others) or any(
        isinstance(s, nodes.For) and s is not loop and s.over == loop.over for s in statements_in(tree.body)
    ):
        raise ReadError(line, "a stream's answers are read in its loop alone")
    (most,) = each.ends if len(each.ends) == 1 else (0.0,)
    if len(before.ends) != 1 or not each.paced or {0.0, most} <= each.breaks:
        raise ReadError(
            line, "a stream would show more than its records: not each round releases the same number"
        )
    hidden = _hidden(tree, loop)
    if (after.ends != {0.0} or tree.most is not None) and not _breaks_are_shown(loop.body, hidden):
        raise ReadError(line, "a stream would show more than its records: where it broke")
    if tree.most is not None and (before.ends != {0.0} or after.ends != {0.0} or most != 1):
        raise ReadError(line, "a stream would show more than its records")


def _hidden(tree: nodes.Mechanism, loop: nodes.For) -> set[str]:
    """The names whose values may not follow from records and parameters."""
    hidden = {n for i in tree.inputs if isinstance(i, nodes.Queries) for n in i.names}
    for s in statements_in(tree.body):
        other = isinstance(s, nodes.While) or (isinstance(s, nodes.For) and s is not loop)
        inside = statements_in(s.body) if other and isinstance(s, nodes.For | nodes.While) else ()
        own = () if isinstance(s, nodes.Assign) else names_set(s)
        hidden |= {name for name in own if s is not loop or name != loop.index}
        hidden |= {name for part in inside for name in names_set(part)}
    known = -1
    while known < len(hidden):
        known = len(hidden)
        hidden |= _set_unseen(tree.body, hidden)
    return hidden


def _set_unseen(body: tuple[nodes.Stmt, ...], hidden: set[str]) -> set[str]:
    """The names that a block sets to what is hidden, or where it is hidden that it does."""
    found: set[str] = set()
    for s in body:
        if isinstance(s, nodes.Assign) and names_in(s.value) & hidden:
            found.add(s.name)
        elif isinstance(s, nodes.If):
            for arm in s.arms:
                all_ = {e.name for e in statements_in(arm) if isinstance(e, nodes.Assign)}
                found |= _set_unseen(arm, hidden) if _is_shown(s, hidden) else all_
        elif isinstance(s, nodes.For):
            found |= _set_unseen(s.body, hidden)
    return found


def _is_shown(statement: nodes.If, hidden: set[str]) -> bool:
    """Whether its tests, or else its records, one for each arm, tell which arm was taken."""
    if not any(names_in(e) & hidden for e in own_expressions(statement)):
        return True
    tags = [{e.tag for e in statements_in(arm) if isinstance(e, nodes.Emit)} for arm in statement.arms]
    counts = [_Count.of(arm) for arm in statement.arms]
    one = all(count.ends | count.breaks == {1.0} for count in counts)
    return one and sum(map(len, tags)) == len(set().union(*tags))


def _breaks_are_shown(body: tuple[nodes.Stmt, ...], hidden: set[str]) -> bool:
    ifs = [s for s in body if isinstance(s, nodes.If) and any(_Count.of(arm).breaks for arm in s.arms)]
    return all(_is_shown(s, hidden) and all(_breaks_are_shown(a, hidden) for a in s.arms) for s in ifs)

"""Which mechanisms can answer one query at a time: online ones, that look at each answer once, in order.

Whoever supplies the queries sees more than the records: which of them were released before the next answer
was asked for, and when none was asked for any more. A proof speaks of the records alone. So a stream is
offered only where they tell all of that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from aligncheck.compiler.emit.positions import RecordCounts
from aligncheck.compiler.emit.program import loop_locals, names_read
from aligncheck.compiler.emit.vectorise import len_of, lists_of
from aligncheck.language.internal import InternalError
from aligncheck.language.syntax import nodes, walk


def streamed(mechanism: nodes.Mechanism) -> nodes.For | None:
    """The loop `for i, x in q` that is all that reads the mechanism's only list of answers, if there is one
    and answers may come one by one.

    Why sound. What is released in a round depends on this answer, on earlier ones and on noise. So the
    queries may depend on what was released: for each output ω they are the fixed queries that ω leads to, and
    the alignment for ω is that of the lists of their answers, which are neighbours if all that may be asked
    are as declared. These alignments are countably many, as the theorem wants, since what exact modes release
    are rational numbers, rounded to the step. (`docs/papers.md`, "Adaptively chosen queries".)

    Each round that goes on releases the same number of records, at least one. A round that breaks releases
    at most as many, and not none in one case and all in another. Then what is seen up to any moment is a
    function of the output of a run on enough further answers: which records are of which round, and whether
    there was a break. Such a run's bound covers it.

    Two things need more: records after the loop, since a run on fewer answers releases them too, and claims
    that depend on the output, which speak of one output and not of all that begin so. There each `break` must
    follow from records and parameters (`_Shown`), so that a stream that runs out of answers shows no more
    than the output of a run on just these; with such claims no records may come outside of the loop, and one
    in a round, so that whoever stops early has seen such an output, too.

    A claim in δ or ρ averages over outputs, and its proof over draws in their order: a shift by answers that
    the output is still to choose is no function of what was drawn before (section 14 of docs/kernel.md). So
    queries under such a claim are fixed.

    Where a draw of each round is kept for longer than the round, memory would grow with the answers, and
    there is no such loop.
    """
    if not isinstance(mechanism.claim, nodes.Pure):
        return None
    local = {*loop_locals(mechanism), *lists_of(mechanism).drawn_at_once()}
    lists = [n for q in mechanism.inputs if isinstance(q, nodes.Queries) and q.vector for n in q.names]
    loops = [
        s
        for s in mechanism.body
        if isinstance(s, nodes.For) and isinstance(s.over, nodes.OverQueries) and s.over.base in lists
    ]
    if len(lists) != 1 or len(loops) != 1:
        return None
    (name,), (loop,) = lists, loops
    if any(_is_kept(s, loop, local) for s in walk.statements_in(loop.body)) or _read_elsewhere(
        mechanism, name, loop
    ):
        return None
    place = next(i for i, s in enumerate(mechanism.body) if s is loop)
    before, rounds, after = (
        RecordCounts.of(body) for body in (mechanism.body[:place], loop.body, mechanism.body[place + 1 :])
    )
    if len(before.ends) != 1 or not rounds.tell_the_round:
        return None
    if after.ends == {0} and mechanism.most is None:
        return loop
    if mechanism.most is not None and (before.ends != {0} or after.ends != {0} or rounds.ends != {1}):
        return None
    return loop if not rounds.breaks or _Shown.of(mechanism, loop).breaks(loop.body) else None


@dataclass(frozen=True, slots=True)
class _Shown:
    """What the records show of a loop: `hidden` names may have values that do not follow from them and from
    parameters.
    """

    hidden: frozenset[str]

    @classmethod
    def of(cls, mechanism: nodes.Mechanism, loop: nodes.For) -> _Shown:
        hidden: set[str] = set()
        for item in mechanism.inputs:
            hidden.update(item.names if isinstance(item, nodes.Queries) else ())
        if not isinstance(loop.over, nodes.OverQueries):
            raise InternalError("a stream is a loop over answers")
        hidden.add(loop.over.item)
        for s in walk.statements_in(mechanism.body):
            match s:
                case nodes.Sampling() | nodes.Invoke():
                    hidden.add(s.name)
                case nodes.While() | nodes.For() if s is not loop:  # not looked into
                    hidden.update(_set_in(s.body))
                case nodes.Assign() | nodes.If() | nodes.For() | nodes.Emit() | nodes.Empty():
                    pass
        known = -1
        while known < len(hidden):
            known = len(hidden)
            shown = cls(frozenset(hidden))
            hidden.update(shown._set_unseen(mechanism.body))
        return cls(frozenset(hidden))

    def breaks(self, body: tuple[nodes.Stmt, ...]) -> bool:
        """Whether all breaks of a loop with this body are shown."""
        ifs = [s for s in body if isinstance(s, nodes.If) and RecordCounts.of((s,)).breaks]
        return all(self._arm_is_shown(s) and all(map(self.breaks, s.arms)) for s in ifs)

    def _set_unseen(self, body: tuple[nodes.Stmt, ...]) -> Iterator[str]:
        """Names that a block sets to what is not shown, or where it is not shown that it does."""
        for s in body:
            match s:
                case nodes.Assign(name=name, value=value) if not self._is_shown(value):
                    yield name
                case nodes.If() if not self._arm_is_shown(s):
                    for arm in s.arms:
                        yield from _set_in(arm)
                case nodes.If():
                    for arm in s.arms:
                        yield from self._set_unseen(arm)
                case nodes.For(body=inner):
                    yield from self._set_unseen(inner)
                case nodes.Simple() | nodes.While():
                    pass

    def _is_shown(self, expr: nodes.Expr) -> bool:
        return not walk.names_in(expr) & self.hidden

    def _arm_is_shown(self, statement: nodes.If) -> bool:
        """Which arm was taken: by tests that are shown, or by the tags of the records, one for each arm."""
        if all(map(self._is_shown, walk.own_expressions(statement))):
            return True
        arms = statement.arms
        tags = [{s.tag for s in walk.statements_in(arm) if isinstance(s, nodes.Emit)} for arm in arms]
        each = [RecordCounts.of(arm) for arm in arms]
        return all(r.ends | r.breaks == {1} for r in each) and sum(map(len, tags)) == len(set().union(*tags))


def _set_in(body: tuple[nodes.Stmt, ...]) -> set[str]:
    return {s.name for s in walk.statements_in(body) if isinstance(s, nodes.Assign)}


def _is_kept(statement: nodes.Stmt, loop: nodes.For, local: Collection[str]) -> bool:
    """Whether it draws noise for each answer that is not forgotten."""
    if not isinstance(statement, nodes.Sample) or loop.index is None:
        return False
    return statement.index == nodes.Name(loop.index) and statement.name not in local


def _read_elsewhere(mechanism: nodes.Mechanism, name: str, loop: nodes.For) -> bool:
    """Whether anything but the loop's header reads the list, or asks for its length."""
    if any(name in names_read(s) for s in walk.statements_in(mechanism.body) if s is not loop):
        return True
    said = [*walk.claimed_in(mechanism.claim)]
    for item in mechanism.inputs:
        public = not isinstance(item, nodes.Queries)
        if item.where is not None and (public or len_of(name) in walk.subexpressions(item.where)):
            said.append(item.where)
    return any(name in walk.names_in(e) for e in said)

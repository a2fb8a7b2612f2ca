"""A witness without the lines that the kernel does not accept."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeAlias

from aligncheck.effort import Effort
from aligncheck.kernel.answer import Rejected
from aligncheck.kernel.witness import Witness
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import has_densities, shifts_in, statements_in
from aligncheck.search.witness.composed import promised
from aligncheck.search.witness.enough import with_products
from aligncheck.search.witness.found import found_lines, shown_lines, with_promises, without
from aligncheck.search.witness.guess import chance_of, guessed, measures
from aligncheck.search.witness.leaders import with_selections
from aligncheck.search.witness.line_costs import costs_of
from aligncheck.search.witness.more_lines import costs_where_they_differ, with_more
from aligncheck.search.witness.plain import plain
from aligncheck.search.witness.sorting import with_sorts
from aligncheck.search.witness.totals import plus, total


def refined(spec: n.Mechanism, witness: Witness, answer: Rejected) -> Witness | None:
    """Another witness to try: on the general route, without guesses of what lines cost where one is wrong,
    without the line that was not shown, with fewer promises to callers, or without values of inputs.
    """
    if answer.condition == "acyclic" and witness.route == "acyclic":
        return replace(witness, route="injective")
    if answer.condition == "cost" and answer.place in {line.span for line in shifts_in(spec.align)}:
        return replace(witness, costs=()) if witness.costs else None
    if answer.condition == "terminates":
        return _other_measure(spec, witness, answer)
    if answer.condition == "hypotheses" and witness.sample:
        return replace(witness, sample=())
    if answer.line is not None:
        smaller = without(witness, {answer.line})
        return None if smaller == witness else smaller
    if answer.condition != "output":
        return None
    if witness.length is not None and "how many records" in answer.reason:
        return replace(witness, length=None)
    return replace(witness, within=()) if witness.within and "bounds" in answer.reason else None


def _other_measure(spec: n.Mechanism, witness: Witness, answer: Rejected) -> Witness | None:
    """The witness with the next measure of the loop that was not shown to end, at last a chance."""
    stmts = [s for s in statements_in(spec.body) if isinstance(s, n.For | n.While)]
    for k, (stmt, loop) in enumerate(zip(stmts, witness.loops, strict=True)):
        if isinstance(stmt, n.While) and stmt.span == answer.place and loop.measure is not None:
            others = measures(stmt)
            others = others[others.index(loop.measure) + 1 :]
            chance = None if others else chance_of(stmt)
            changed = replace(loop, measure=others[0] if others else None, chance=chance)
            return (
                replace(witness, loops=(*witness.loops[:k], changed, *witness.loops[k + 1 :]))
                if others or chance
                else None
            )
    return None


HELPED = ("cost", "output", "invariant", "terminates", "fresh", "scales", "defined")
"""Conditions that further lines may help to show. (Of specs that are verified none was after it had been
refused for the order of its draws on both routes; and such questions take long.)
"""
WANTS_LINES = ("invariant", "terminates", "fresh")
"""Those of them at which a witness without the lines of others stops first, whatever else is the matter."""

OF_D = ("terminates", "fresh")
"""What is asked of the run on D alone: how far the other one is apart does not help."""

Costs: TypeAlias = tuple[n.Expr | None, ...]
"""What each line costs, or nothing."""

Tries: TypeAlias = Generator[Witness, Rejected, None]
"""Witnesses to try: each is asked for with what the kernel says of the last one."""


@dataclass(frozen=True)
class Proposals:
    """What is tried for a mechanism, with witnesses for those of what it calls; if it is `called` itself,
    with promises of the records to its callers. It is `hopeless` where a run leaves nothing to accept, which
    is looked for closely or not.
    """

    written: n.Mechanism
    callees: Mapping[str, Witness]
    effort: Effort
    hopeless: Callable[[bool], bool]
    called: bool = False

    @cached_property
    def spec(self) -> n.Mechanism:
        """The mechanism as it is read here."""
        return plain(self.written)

    def _costs(self, *wanted: Costs) -> Iterator[Costs]:
        """Costs of lines, each once; where one line here is several of the spec, none has one of its own."""
        whole = sum(1 for _ in shifts_in(self.written.align))
        return (costs for costs in dict.fromkeys(wanted) if len(costs) in (0, whole))

    def _adds_up(self, costs: Costs) -> bool:
        """Whether what the lines cost adds up to the claim, each of a draw that is made once."""
        drawn = [s for s in statements_in(self.spec.body) if isinstance(s, n.Sample)]
        claim = self.spec.claim
        if not isinstance(claim, n.Pure) or not costs or any(s.index is not None for s in drawn):
            return False
        known = [cost for cost in costs if cost is not None]
        return len(known) == len(costs) and (total(plus(known)) - total(claim.epsilon)).number == 0

    def tries(self) -> Tries:
        """All, the likely ones first, each once. Raises TooManyPathsError."""
        seen: list[Witness] = []
        made = self._all()
        said: Rejected | None = None
        while True:
            try:
                witness = made.send(said) if said is not None else next(made)
            except StopIteration:
                return
            if witness in seen:
                continue
            seen.append(witness)
            said = yield with_products(self.written, witness)
            if said.condition not in HELPED:
                return

    def _all(self) -> Tries:
        base = with_sorts(self.spec, replace(guessed(self.spec), callees=self.callees))
        if has_densities(self.spec.body):
            yield promised(self.spec, base) if self.called else base
            return
        groups = [i for i in self.spec.inputs if isinstance(i, n.Queries)]
        # What a line costs at most does not tell how far the answers moved.
        moves = any(g.adjacency.ways or g.adjacency.in_all for g in groups)
        both: tuple[Costs, Costs] = (costs_of(self.spec), ())
        counted = self._costs(*(both[::-1] if moves and not self._adds_up(both[0]) else both))
        base = replace(base, costs=next(counted))
        start, further, refused = base, False, ""
        for found in found_lines(self.spec, base, self.effort, partial(self.hopeless, False)):
            start, further = found.witness, not found.paid and not self.hopeless(False)
            refused = yield from self._further(start) if further else self._alone(start)
            if refused in OF_D:
                break
        if not further:
            if self.hopeless(refused not in OF_D):
                return
            refused = yield from self._further(start)
        others = list(counted)
        if refused != "cost" or not others or self.hopeless(True):
            return
        for costs in others:
            other_way = replace(base, costs=costs)
            for found in found_lines(self.spec, other_way, self.effort, partial(self.hopeless, False)):
                yield self._promised(found.witness)

    def _alone(self, start: Witness) -> Generator[Witness, Rejected, str]:
        """As it is; the condition at which it was refused."""
        return (yield self._promised(start)).condition

    def _further(self, start: Witness) -> Generator[Witness, Rejected, str]:
        """The same with further lines."""
        more, refused = with_more(self.spec, start), ""
        for costs in self._costs(costs_where_they_differ(self.spec), more.costs, ()):
            shown = shown_lines(self.spec, replace(more, costs=costs), self.effort).witness
            refused = (yield self._promised(shown)).condition
            for other in with_selections(self.spec, shown):
                refused = (yield self._promised(other)).condition
            if refused != "cost":
                break
        return refused

    def _promised(self, witness: Witness) -> Witness:
        return with_promises(self.spec, witness, self.effort) if self.called else witness

"""Which lines of a witness the kernel shows: all that it does not are left out at once, until none is.

Nothing here needs to be believed: what is left is put to the kernel itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from aligncheck.kernel.answer import Line, Reject, Rejected
from aligncheck.kernel.decide import Kernel
from aligncheck.kernel.form import well_formed, well_formed_witness
from aligncheck.kernel.logic import Confirm, Decider, Fact, Kind
from aligncheck.kernel.state import Mode, Obligation, Path
from aligncheck.kernel.symbols import Symbols
from aligncheck.kernel.witness import LoopWitness, Witness
from aligncheck.language.syntax import nodes as n
from aligncheck.search.witness.found import without

FEW = ((3, 100_000),)
"""How much is asked about a line where the solver that knows the facts fails: of the lines that are shown so,
none takes a third of it, and most of the others take all that they are given.
"""


def sifted(spec: n.Mechanism, witness: Witness, confirm: Confirm) -> Witness | Rejected:
    """The witness with those lines only that the others show; or what the kernel does not accept with all of
    them.
    """
    symbols = Symbols()
    kernel = Sifting(well_formed(spec), well_formed_witness(witness), Decider(confirm), symbols)
    try:
        kernel.judged()
        kernel.sift()
    except Reject as refusal:
        if refusal.answer.line is None:
            return refusal.answer
        kernel.failed.add(refusal.answer.line)
        return sifted(spec, without(witness, kernel.failed), confirm)
    finally:
        symbols.ctx.nodes.clear()
    return without(witness, kernel.failed)


@dataclass
class Sifting(Kernel):
    """A kernel that goes on where a line is not shown: what is `shown` rests on others, by their facts."""

    failed: set[Line] = field(default_factory=set)
    shown: list[tuple[list[Fact], Obligation]] = field(default_factory=list)
    said: dict[Fact, Line] = field(default_factory=dict)

    def judged_alone(self, spec: n.Mechanism, witness: Witness) -> None:
        """Callees were judged before."""

    def decide(self, path: Path, facts: list[Fact], o: Obligation) -> None:
        if o.line is None:
            super().decide(path, facts, o)
        elif o.line not in self.failed:
            self._ask(facts, o)

    def _ask(self, facts: list[Fact], o: Obligation) -> None:
        if o.line is None or self.decider.follows(facts, o.goal, o.sentence, FEW) is None:
            self.failed |= {o.line} if o.line is not None else set()
        else:
            self.shown.append((facts, o))

    def assume(self, stmt: n.For | n.While, hints: LoopWitness, path: Path) -> None:
        """Remembers which facts are those of lines."""
        for at, (kind, e) in enumerate(self.lines(stmt, hints)):
            mode, word = (Mode.EARLY, "early") if kind is Kind.RUN else (Mode.RELATION, "invariants")
            term = self.truth(e, self.scope(mode, path, e.span))
            path.fact(kind, term)
            if path.facts[-1].formula is term:
                self.said[path.facts[-1]] = (self.loops[id(stmt)], word, at)

    def sift(self) -> None:
        """Asks again what was shown by lines that are not: until all is shown by those that are left."""
        before = 0
        while len(self.failed) > before:
            before, shown, self.shown = len(self.failed), self.shown, []
            for facts, o in shown:
                left = [f for f in facts if self.said.get(f) not in self.failed]
                if o.line in self.failed:
                    continue
                if len(left) == len(facts):
                    self.shown.append((facts, o))
                else:
                    self._ask(left, o)

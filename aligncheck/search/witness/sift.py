"""Which lines of a witness the kernel shows: all that it does not are left out at once, until none is.

Nothing here needs to be believed: what is left is put to the kernel itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from aligncheck.kernel.answer import Line, Reject, Rejected
from aligncheck.kernel.decide import Kernel
from aligncheck.kernel.form import well_formed, well_formed_witness
from aligncheck.kernel.logic import FEW, Confirm, Decider, Fact
from aligncheck.kernel.state import Obligation, Path
from aligncheck.kernel.symbols import Symbols
from aligncheck.kernel.witness import Witness
from aligncheck.language.syntax import nodes as n
from aligncheck.search.witness.found import without

ROUNDS = 8
"""So often lines are left out."""


def sifted(spec: n.Mechanism, witness: Witness, confirm: Confirm) -> Witness | Rejected:
    """The witness with those lines only that the others show; or what the kernel does not accept with all of
    them.
    """
    for _ in range(ROUNDS):
        symbols = Symbols()
        kernel = Sifting(well_formed(spec), well_formed_witness(witness), Decider(confirm), symbols)
        try:
            kernel.judged()
        except Reject as refusal:
            if refusal.answer.line is None:
                return refusal.answer
            kernel.failed.add(refusal.answer.line)
        finally:
            symbols.ctx.nodes.clear()
        if not kernel.failed:
            return witness
        witness = without(witness, kernel.failed)
    return Rejected("invariant", spec.span, "too many lines were left out")


@dataclass
class Sifting(Kernel):
    """A kernel that goes on where a line is not shown."""

    failed: set[Line] = field(default_factory=set)

    def judged_alone(self, spec: n.Mechanism, witness: Witness) -> None:
        """Callees were judged before."""

    def decide(self, path: Path, facts: list[Fact], o: Obligation) -> None:
        if o.line is None:
            super().decide(path, facts, o)
        elif o.line not in self.failed and self.decider.follows(facts, o.goal, o.sentence, FEW) is None:
            self.failed.add(o.line)

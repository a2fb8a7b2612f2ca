"""What the search and the kernel take for each spec.

`python tests/bench/kernel_times.py [specs...]` prints a table in Markdown: processor seconds of the search
and of the kernel's decision; of the decision when it is told what hard questions need, as it is by a
certificate, and of the slowest single question then; Z3's steps without that, how many witnesses were tried,
and the size of the last one. What is called was accepted before, as in `verify`: it has a row of its own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from aligncheck.effort import Effort
from aligncheck.judge import ROUNDS, Judge
from aligncheck.kernel.answer import Accepted, Reject, Rejected
from aligncheck.kernel.decide import judged
from aligncheck.kernel.logic import Decider, Fact
from aligncheck.kernel.symbols import Symbols
from aligncheck.kernel.witness import Witness
from aligncheck.language.check import check
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.read import read_source
from aligncheck.search.witness.enough import with_needs
from aligncheck.search.witness.fit import Proposals, refined
from aligncheck.search.witness.witness_json import written

SPECS = Path(__file__).parents[2] / "specs"


class Timed(Decider):
    """A decider that keeps the time of its slowest question."""

    slowest = 0.0

    def follows(self, facts: Sequence[Fact], *rest: object, **more: object) -> int | None:
        start = time.process_time()
        steps = super().follows(facts, *rest, **more)  # type: ignore[arg-type]
        self.slowest = max(self.slowest, time.process_time() - start)
        return steps


def decided(spec: Mechanism, witness: Witness, decider: Decider) -> Accepted | Rejected:
    """The kernel's answer, by this decider, which has accepted all callees."""
    called = {use.name: use.contract.mechanism for use in spec.uses if use.contract is not None}
    decider.known = [(called[name], its) for name, its in witness.callees.items()]
    try:
        return judged(spec, witness, decider, Symbols())
    except Reject as refusal:
        return refusal.answer


def row(path: Path) -> str:
    """One line of the table."""
    source = read_source(str(path))
    far = time.monotonic() + 600
    spec, callees = Judge(far, False, False).with_callees(check(source, parse(source)), source)
    start = time.process_time()
    witness = next(Proposals(spec, callees, Effort(600), lambda _: False).tries())
    searching = time.process_time() - start
    tried = 0
    while True:
        tried += 1
        decider, start = Timed(), time.process_time()
        answer = decided(spec, witness, decider)
        taken = time.process_time() - start
        other = refined(spec, witness, answer) if isinstance(answer, Rejected) else None
        if other is None or tried == ROUNDS:
            break
        witness = other
    told, quick = with_needs(spec, witness), Timed()
    start = time.process_time()
    decided(spec, told, quick)
    again = time.process_time() - start
    steps = f"{sum(d.steps for d in answer.decisions):,}" if isinstance(answer, Accepted) else "not accepted"
    times = " | ".join(f"{t:.2f}" for t in (searching, taken, again, quick.slowest))
    numbers = f"{times} | {steps} | {tried} | {len(written(told))}"
    return f"| {path.stem} | {numbers} |"


def main() -> None:
    print("| spec | search, s | kernel, s | told needs, s | slowest, s | steps | witnesses | bytes |")
    print("|---|---|---|---|---|---|---|---|")
    for path in [Path(a) for a in sys.argv[1:]] or sorted(SPECS.glob("*.dp")):
        print(row(path), flush=True)


if __name__ == "__main__":
    main()

"""A witness without the lines that the kernel does not accept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from aligncheck.judge import Proven
from aligncheck.kernel.decide import decide
from aligncheck.kernel.verdict import Accepted, Line, Rejected
from aligncheck.kernel.witness import Witness
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.contract import Contract
from aligncheck.language.syntax.walk import statements_in
from aligncheck.search.witness.guess import guessed


def fitted(spec: n.Mechanism, witness: Witness, rounds: int = 200) -> tuple[Witness, Accepted | Rejected]:
    """The witness without the lines that the kernel does not accept; and the answer."""
    answer: Accepted | Rejected = Rejected("form", n.NOWHERE, "nothing was tried")
    for _ in range(rounds):
        answer = decide(spec, witness)
        if isinstance(answer, Accepted) or answer.line is None:
            break
        smaller = without(witness, {answer.line})
        if smaller == witness:
            break
        witness = smaller
    return witness, answer


def all_lines(witness: Witness) -> Iterator[Line]:
    """Every line of a witness; those of both runs are numbered after the early ones."""
    for k, loop in enumerate(witness.loops):
        yield from ((k, "early", at) for at in range(len(loop.early)))
        yield from ((k, "invariants", len(loop.early) + at) for at in range(len(loop.invariants)))


def without(witness: Witness, lines: set[Line]) -> Witness:
    """The witness without some lines; an early one that is no fact of every run may still be one of both
    runs.
    """
    loops = []
    for k, loop in enumerate(witness.loops):
        early = [e for at, e in enumerate(loop.early) if (k, "early", at) not in lines]
        start = len(loop.early)
        both = [e for at, e in enumerate(loop.invariants) if (k, "invariants", start + at) not in lines]
        loops.append(replace(loop, early=tuple(early), invariants=tuple(both)))
    return replace(witness, loops=tuple(loops))


def witnesses(proven: Sequence[Proven]) -> tuple[Witness, Accepted | Rejected]:
    """A witness for the last of what was proved, which what it calls stands before; and the answer."""
    known: dict[str, Witness] = {}
    for one in proven[:-1]:
        known[one.mechanism.name] = fitted(one.mechanism, _guess(one, known))[0]
    return fitted(proven[-1].mechanism, _guess(proven[-1], known))


def _guess(one: Proven, known: dict[str, Witness]) -> Witness:
    spec = one.mechanism
    witness = guessed(spec, one.findings)
    callees = {}
    for use in spec.uses:
        if use.contract is not None and use.contract.mechanism.name in known:
            callee = known[use.contract.mechanism.name]
            callees[use.name] = _with_promises(use.contract, callee)
    return replace(witness, callees=callees)


def _with_promises(contract: Contract, witness: Witness) -> Witness:
    """The witness for a callee, with what the caller may want to know of the records."""
    within = tuple((b.field, b.low, b.high) for b in contract.bounds)
    full = _guess_again(contract.mechanism, witness)
    for wanted in ((contract.length, within), (contract.length, ()), (None, within)):
        tried = replace(full, length=wanted[0], within=wanted[1])
        fit, answer = fitted(contract.mechanism, tried)
        if isinstance(answer, Accepted):
            return fit
    return witness


def _guess_again(spec: n.Mechanism, witness: Witness) -> Witness:
    """The witness with the lines that count records, which its own proof may not have needed."""
    loops = [s for s in statements_in(spec.body) if isinstance(s, n.For | n.While)]
    made = []
    for loop, kept in zip(loops, witness.loops, strict=True):
        index = loop.index if isinstance(loop, n.For) else None
        more = [n.Compare("==", n.Name("$records"), n.Name(index))] if index is not None else []
        made.append(replace(kept, early=(*kept.early, *more)))
    return replace(witness, loops=tuple(made))

"""A witness without the lines that the kernel does not accept, and without those that no proof used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from aligncheck.kernel.decide import Kernel
from aligncheck.kernel.form import well_formed
from aligncheck.kernel.logic import Decider, Fact
from aligncheck.kernel.logic import Kind as FactKind
from aligncheck.kernel.state import Mode, Path, Scope
from aligncheck.kernel.terms import Term as Formula
from aligncheck.kernel.verdict import Accepted, Line, Reject, Rejected
from aligncheck.kernel.witness import LoopWitness, Witness
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import names_in, statements_in
from aligncheck.search.discharge.density import ChosenDensities
from aligncheck.search.discharge.establish import Chosen
from aligncheck.search.discharge.guarantees import (
    bounds_by_densities,
    bounds_of_fields,
    length_by_densities,
    length_of_output,
)
from aligncheck.search.witness.guess import guessed
from aligncheck.search.witness.parts import costs_of


class Traced(Decider):
    """A decider that notes which hypotheses each proof used."""

    line: Line | None = None

    def __init__(self) -> None:
        super().__init__()
        self.used: dict[int, set[Line | None]] = {}

    def _ask(
        self, hypotheses: Iterable[Formula], goal: Formula, limit: int, relaxed: bool, about: str
    ) -> tuple[bool, int]:
        hypotheses = list(hypotheses)
        proved, steps = super()._ask(hypotheses, goal, limit, relaxed, about)
        if proved:
            for h in self._core(hypotheses, goal, limit, relaxed):
                self.used.setdefault(h.get_id(), set()).add(self.line)
        return proved, steps

    def _core(self, hypotheses: list[Formula], goal: Formula, limit: int, relaxed: bool) -> list[Any]:
        import z3

        change = self._relaxed.of if relaxed else (lambda term: term)

        solver = z3.Solver(ctx=goal.ctx)
        solver.set("rlimit", 3 * limit)
        solver.set("unsat_core", True)
        names = {}
        for number, h in enumerate(hypotheses):
            name = z3.Bool(f"used!{number}", goal.ctx)
            names[name.get_id()] = h
            solver.assert_and_track(change(h), name)
        solver.add(z3.Not(change(goal)))
        if solver.check() != z3.unsat:
            return hypotheses
        return [names[c.get_id()] for c in solver.unsat_core()]


class Observed(Kernel):
    """The kernel, watched: which lines of the witness its proofs use."""

    def __init__(self, spec: n.Mechanism, witness: Witness, decider: Traced) -> None:
        super().__init__(spec, witness, decider)
        self.traced = decider
        self.assumed: dict[int, set[Line]] = {}

    def _decide(
        self, facts: list[Fact], condition: str, place: Any, sentence: str, goal: Formula, line: Line | None
    ) -> None:
        self.traced.line = line
        super()._decide(facts, condition, place, sentence, goal, line)

    def _assume(self, stmt: n.For | n.While, hints: LoopWitness, path: Path, inner: Any) -> None:
        super()._assume(stmt, hints, path, inner)
        kept = dict(path.values)
        path.values.update(inner)
        for at, (kind, e) in enumerate(self._lines(stmt, hints)):
            mode = Mode.EARLY if kind is FactKind.RUN else Mode.RELATION
            term = self.truth(e, path, 0, Scope(mode, self.symbols.true, e.span))
            line = (self.loops[id(stmt)], "early" if kind is FactKind.RUN else "invariants", at)
            self.assumed.setdefault(term.get_id(), set()).add(line)
        path.values = kept

    def needed(self) -> set[Line]:
        """The lines that some proof used, or a proof of such a line."""
        users: dict[Line, set[Line | None]] = {}
        for formula, lines in self.assumed.items():
            for line in lines:
                users.setdefault(line, set()).update(self.traced.used.get(formula, set()))
        kept: set[Line] = set()
        while True:
            more = {line for line, by in users.items() if line not in kept and (None in by or by & kept)}
            if not more:
                return kept
            kept |= more


def fitted(spec: n.Mechanism, witness: Witness, rounds: int = 200) -> tuple[Witness, Accepted | Rejected]:
    """The witness without the lines that the kernel does not accept, nor those that no proof needs; and the
    answer.
    """
    answer: Accepted | Rejected = Rejected("form", n.NOWHERE, "nothing was tried")
    for _ in range(rounds):
        try:
            kernel = Observed(well_formed(spec), witness, Traced())
            answer = kernel.judged()
        except Reject as refusal:
            answer = refusal.answer
            if answer.line is None:
                return witness, answer
            smaller = without(witness, {answer.line})
            if smaller == witness:
                return witness, answer
            witness = smaller
            continue
        lines = set(all_lines(witness))
        smaller = without(witness, lines - kernel.needed())
        if smaller == witness:
            return witness, answer
        witness = smaller
    return witness, answer


def refined(spec: n.Mechanism, witness: Witness, answer: Rejected) -> Witness | None:
    """Another witness to try: with other parts of the cost, without the line that was not shown, or with
    fewer promises to callers.
    """
    if witness.costs and _about_cost(witness, answer):
        cautious = costs_of(spec, cautious=True)
        return replace(witness, costs=() if witness.costs == cautious else cautious)
    if answer.line is not None:
        smaller = without(witness, {answer.line})
        return None if smaller == witness else smaller
    if answer.condition != "output":
        return None
    if witness.length is not None and "how many records" in answer.reason:
        return replace(witness, length=None)
    return replace(witness, within=()) if witness.within and "bounds" in answer.reason else None


def _about_cost(witness: Witness, answer: Rejected) -> bool:
    """Whether an answer may be due to how the cost is counted."""
    if answer.line is None:
        return answer.condition in ("cost", "form", "language")
    k, kind, at = answer.line
    loop = witness.loops[k]
    lines = loop.early if kind == "early" else loop.invariants[at - len(loop.early) :][:1]
    return kind != "early" and any("alignment_cost" in names_in(line) for line in lines)


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


def guess(
    spec: n.Mechanism,
    chosen: Chosen | ChosenDensities | None,
    callees: Mapping[str, Witness],
    called: bool = False,
) -> Witness:
    """The first witness to try, with those of what it calls; if it is `called` itself, with promises of the
    records to its callers.
    """
    witness = replace(guessed(spec, chosen), callees=callees, costs=costs_of(spec))
    return _with_promises(spec, chosen, witness) if called and chosen is not None else witness


def _with_promises(spec: n.Mechanism, chosen: Chosen | ChosenDensities, witness: Witness) -> Witness:
    """The witness with what callers may want to know of the records."""
    if isinstance(chosen, Chosen):
        length, bounds = length_of_output(chosen), bounds_of_fields(chosen)
    else:
        length, bounds = length_by_densities(chosen), bounds_by_densities(chosen)
    loops = [s for s in statements_in(spec.body) if isinstance(s, n.For | n.While)]
    made = []
    for loop, kept in zip(loops, witness.loops, strict=True):
        index = loop.index if isinstance(loop, n.For) else None
        more = [n.Compare("==", n.Name("$records"), n.Name(index))] if index is not None else []
        made.append(replace(kept, early=(*kept.early, *more)))
    within = tuple((b.field, b.low, b.high) for b in bounds)
    return replace(witness, loops=tuple(made), length=length, within=within)

"""What a cost table says of one replayed run: which of its parts are paid, and what they come to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning import exact
from aligncheck.meaning.exact import ZERO, Number
from aligncheck.meaning.interpreter import Assigned, Draw, Emitted, Finished, Invoked, Scope, State, number_of
from aligncheck.meaning.replay import PairedStep, Replay
from aligncheck.verdict import CostPart

_WITHIN = re.compile(r"per `(\w+)`|for each of `(\w+)`|when .*")


@dataclass(frozen=True)
class Line:
    """One line of a table. `line` is the spec's line of the draw or call."""

    name: str
    amount: str
    times: str
    line: int

    def about(self, source: Source, step: PairedStep) -> bool:
        """Whether a draw or call is (among) what this line is about."""
        made = step.on_d
        assert isinstance(made, Draw | Invoked)
        if self.times == "together":
            names = [name.split("[")[0].split(" =")[0] for name in self.name.split(", ")]
            return made.name in names
        return (
            source.position(made.span.start)[0] == self.line
            and made.name == self.name.split("[")[0].split(" =")[0]
        )


def value(text: str, variables: Mapping[str, State], inputs: Mapping[str, object]) -> Number:
    """The value of an amount, which is written as in a spec."""
    spec = parse(Source("amount", f"mechanism m\nprivacy {text}\nprogram\n  emit x\n"))
    scope = Scope(inputs)  # type: ignore[arg-type]
    scope.variables = dict(variables)
    return number_of(spec.privacy, scope)


def agrees(lines: Sequence[Line], source: Source, done: Replay) -> bool:
    """Checks a table against a run; False where the run tells nothing (no output, or another one on D').

    Every draw that moves and every call has a line. The lines that are paid come to at least the cost, and to
    at most the claim.
    """
    if not isinstance(done.run_d.ended, Finished) or done.violations or done.claim is None:
        return False
    made = [
        s
        for s in done.steps
        if isinstance(s.on_d, Invoked) or (isinstance(s.on_d, Draw) and s.shift is not None)
    ]
    for step in made:
        if _moves(step):
            assert any(line.about(source, step) for line in lines), step
    total: Number = ZERO
    rest = False
    for line in lines:
        own = [step for step in made if line.about(source, step)]
        if line.times == "together":
            rest = rest or bool(own)
        else:
            total = exact.add(total, exact.total(_paid(line, own, done)))
    assert exact.compare(total, done.claim) <= 0, (total, done.claim, done.scenario)
    assert rest or exact.compare(done.cost, total) <= 0, (done.cost, total, done.scenario)
    return True


def _moves(step: PairedStep) -> bool:
    return step.shift is None or exact.sign(step.shift) != 0


def _paid(line: Line, own: list[PairedStep], done: Replay) -> Iterable[Number]:
    """The payments of one line."""
    moved = [step for step in own if _moves(step)]
    match line.times:
        case "once":
            assert len(own) <= 1
            return [_amount(line, step, done) for step in own]
        case "at most once":
            assert len(moved) <= 1, done.scenario
            return [_amount(line, step, done) for step in moved]
        case "per draw" | "per call":
            return [_amount(line, step, done) for step in own]
        case _:
            found = _WITHIN.fullmatch(line.times)
            assert found is not None, line.times
            tag, selection = found.groups()
            if tag is not None:
                rounds = [
                    s.on_d.loop
                    for s in done.steps
                    if isinstance(s.on_d, Emitted) and s.on_d.record.tag == tag
                ]
                paid = [step for step in own if step.on_d is not None and step.on_d.loop in rounds]
                assert len(paid) == len(rounds), done.scenario
                return [_amount(line, step, done) for step in paid]
            if selection is not None:
                chosen = next(
                    s.on_d.value
                    for s in done.steps
                    if isinstance(s.on_d, Assigned) and s.on_d.name == selection
                )
                assert isinstance(chosen, tuple)
                assert len(moved) <= len(chosen)
                return [_amount(line, own[0], done) for _ in chosen]
            return [_amount(line, step, done) for step in moved]


def _amount(line: Line, step: PairedStep, done: Replay) -> Number:
    made = step.on_d
    inputs = {**dict(done.scenario.parameters), **dict(done.scenario.data)}
    variables = made.environment if isinstance(made, Draw) else {}
    amount = value(line.amount, variables, inputs)
    if step.shift is None:
        assert isinstance(made, Invoked)
        assert exact.compare(made.spent, amount) <= 0
    return amount


def lines_of(parts: Iterable[CostPart], source: Source) -> list[Line]:
    """The lines of a table."""
    return [Line(p.name, p.amount, p.times, source.position(p.span.start)[0]) for p in parts]

"""Results and faults as text for a terminal: colour helps, and nothing depends on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from rich.console import RenderableType
from rich.text import Text

from aligncheck.language.conditions import Condition
from aligncheck.language.diagnostics import Diagnostic
from aligncheck.language.printable import printable
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import has_densities, names_in, own_expressions, statements_in
from aligncheck.language.unparse import claimed, unparse_expr
from aligncheck.meaning.exact import Undecided, absolute, compare, decimal, subtract
from aligncheck.meaning.exact_density import Weighed
from aligncheck.meaning.interpreter import Finished
from aligncheck.meaning.replay import Replay, replay, side_by_side
from aligncheck.meaning.scenario import ScenarioError
from aligncheck.report.cost import EXACT, CostPart, cost_parts, dearest_text, invariants_of, limit_of
from aligncheck.report.frame import Frame, frame_lines
from aligncheck.report.lines import Canvas, Lines, prose
from aligncheck.report.numbers import inputs_text, noise_text, recorded, shown
from aligncheck.report.sidebyside import RunsTable, table_lines
from aligncheck.verdict import (
    AlignmentFails,
    ConditionReport,
    Counterexample,
    DensityExample,
    Error,
    FileResult,
    ObligationReport,
    Status,
    Unknown,
    Verified,
    name_of,
)

_STYLES: dict[type, str] = {Verified: "green", AlignmentFails: "red", Unknown: "yellow", Error: "red"}


def render_diagnostic(source: Source, diagnostic: Diagnostic) -> RenderableType:
    """A fault of the input: where it is, what is wrong, and what to write instead."""
    return Lines(lambda canvas: diagnostic_lines(canvas, source, diagnostic))


def render_result(result: FileResult, source: Source | None, verbose: bool) -> RenderableType:
    """One file's verdict. `verbose` adds paths, invariants, rules and every obligation."""
    return Lines(lambda canvas: _result(canvas, result, source, verbose))


def _result(canvas: Canvas, result: FileResult, source: Source | None, verbose: bool) -> Iterator[Text]:
    if source is None and result.text:
        source = Source(result.path, result.text)
    yield _headline(result)
    match result.verdict:
        case Error(diagnostic=diagnostic, further=further):
            yield from diagnostic_lines(canvas, source, diagnostic)
            for other in further:
                yield Text()
                yield from diagnostic_lines(canvas, source, other)
        case Verified() as verified:
            yield from _verified(canvas, source, verified, verbose)
        case AlignmentFails() as fails:
            yield from _fails(canvas, source, fails, verbose)
        case Unknown() as unknown:
            yield from _unknown(canvas, source, unknown, verbose)
    yield Text()


def _headline(result: FileResult) -> Text:
    verdict = result.verdict
    at = getattr(verdict, "condition", None)
    where = f" at {at.id}" if isinstance(at, Condition) else ""
    head = Text(name_of(verdict) + where, style=f"bold {_STYLES[type(verdict)]}")
    parts = [printable(result.path), *([result.mechanism] if result.mechanism else []), _time(result.seconds)]
    return Text.assemble(head, "   ", "   ".join(parts))


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 0.9995 else f"{seconds:.1f} s"


# --- faults of the input ----------------------------------------------------------------------------------


def mixed_units_of(result: FileResult) -> tuple[Diagnostic, ...]:
    """What is added up or compared that is not of one unit, in a spec that could be read."""
    from aligncheck.language.check.mixed_units import mixed_units

    mechanism = getattr(result.verdict, "mechanism", None)
    return mixed_units(mechanism) if isinstance(mechanism, nodes.Mechanism) else ()


def render_warning(source: Source, diagnostic: Diagnostic) -> RenderableType:
    """What looks wrong, and may be meant."""
    return Lines(lambda canvas: diagnostic_lines(canvas, source, diagnostic, "warning", "yellow"))


def diagnostic_lines(
    canvas: Canvas, source: Source | None, diagnostic: Diagnostic, kind: str = "error", colour: str = "red"
) -> Iterator[Text]:
    frame = Frame(kind, diagnostic.code, diagnostic.message, colour, diagnostic.primary, diagnostic.related)
    yield from frame_lines(canvas, source, frame)
    yield from canvas.told("note", *diagnostic.notes)
    yield from canvas.told("help", *(() if diagnostic.help is None else (diagnostic.help,)))


# --- verified ---------------------------------------------------------------------------------------------


def _verified(canvas: Canvas, source: Source | None, verdict: Verified, verbose: bool) -> Iterator[Text]:
    yield from canvas.hanging(Text("privacy  ", style="bold"), prose(claimed_for(verdict.mechanism)))
    route = verdict.accepted.route
    yield Text()
    yield from _conditions(canvas, verdict.conditions, by_lemma=True)
    yield Text()
    yield from _cost(canvas, verdict)
    if verdict.dearest is not None:
        told = dearest_text(verdict.dearest)
        smaller = "" if verdict.smaller is None else f"`privacy {verdict.smaller}` also holds; "
        yield from canvas.hanging(Text("least  ", style="bold"), prose(f"{smaller}{told}"))
    if verbose:
        yield from _titled(canvas, "route", [ROUTES.get(route, route)])
        yield from _proof(canvas, source, invariants_of(verdict), verdict.conditions)
        yield Text()
        yield from canvas.told("note", WHAT_IT_SAYS)


WHAT_IT_SAYS = (
    "the proof is about noise as it is written, with exact numbers; it says nothing of floating point, of "
    "side channels, or of whether the declared sensitivity is right"
)


def claimed_for(mechanism: nodes.Mechanism) -> str:
    """The privacy claimed and all that it is claimed for."""
    ranges = [range_ for declared in mechanism.inputs if (range_ := _range(declared))]
    claim = claimed(mechanism) + "," * (mechanism.most is not None)
    return f"{claim} for every {', '.join(ranges)}" if ranges else claim


def _range(declared: nodes.Input) -> str:
    match declared:
        case nodes.Parameter(name=name, where=where) | nodes.PublicVector(name=name, where=where):
            if where is None:
                return f"`{name}`"
            text = unparse_expr(where)
            return f"`{text}`" if name in text.split() else f"`{name}` where `{text}`"
        case nodes.Queries(names=names, vector=vector, lattice=step, range=ends, where=where):
            said = [f"`{'`, `'.join(names)}`", *(["of any length"] if vector else [])]
            if step is not None:
                said.append(f"on multiples of `{unparse_expr(step)}`")
            if ends is not None:
                said.append(f"in `[{unparse_expr(ends[0])}, {unparse_expr(ends[1])}]`")
            if where is not None:
                said.append(f"where `{unparse_expr(where)}`")
            return " ".join(said)


def _conditions(canvas: Canvas, conditions: Sequence[ConditionReport], *, by_lemma: bool) -> Iterator[Text]:
    """Each condition with its item of the lemma, how it was discharged, and the steps that this took."""
    rows = [
        (
            Text(report.condition.lemma if by_lemma and report.condition.lemma != "-" else ""),
            Text(report.condition.id, style="bold"),
            _status(report.status),
            prose(report.how),
            Text(f"{sum(one.steps or 0 for one in report.obligations):,} steps", style="dim"),
        )
        for report in _in_order(conditions)
    ]
    yield from canvas.table(rows, {3}, 2)


def _in_order(conditions: Sequence[ConditionReport]) -> list[ConditionReport]:
    """In that of the lemma."""
    return sorted(conditions, key=lambda report: list(Condition).index(report.condition))


_STATUS_STYLES = {Status.PROVED: "green", Status.FAILED: "bold red", Status.UNKNOWN: "bold yellow"}


def _status(status: Status) -> Text:
    return Text(status.value, style=_STATUS_STYLES[status])


def _cost(canvas: Canvas, verdict: Verified) -> Iterator[Text]:
    """The cost as a sum, then each part with its share of the claim, or of the claim's bound."""
    claim, parts = _whole(verdict), cost_parts(verdict)
    head = Text("cost  ", style="bold")
    if not parts:
        moved = "" if has_densities(verdict.mechanism.body) else "no noise is moved, "
        yield from canvas.hanging(head, prose(f"{moved}at most `{claim}`"))
        return
    yield from canvas.hanging(
        head, prose(f"{' + '.join(map(_term, parts))}, at most `{claim}`{_in_rho(verdict)}")
    )
    pure = isinstance(verdict.mechanism.claim, nodes.Pure)
    share = "share of it" if not pure or verdict.mechanism.most is None else "share of bound"
    rows = [tuple(Text(cell, style="bold") for cell in ("noise", "cost of one", share, "paid"))]
    rows += [(Text(part.name), Text(part.amount), Text(part.share), prose(part.times)) for part in parts]
    yield from canvas.table(rows, {1, 2, 3}, 6)


def _whole(verdict: Verified) -> str:
    """The claim, or the ρ that shows it."""
    claim = verdict.mechanism.claim
    return unparse_expr(claim.epsilon if isinstance(claim, nodes.Pure) else limit_of(verdict))


def _term(part: CostPart) -> str:
    if part.amount == EXACT:
        return f"what `{part.name}` costs"
    return f"`{part.amount}`" if part.times == "once" else f"`{part.amount}` {part.times}"


def _in_rho(verdict: Verified) -> str:
    """How a claim of ε and δ follows from what was added up."""
    if verdict.witness.rho is None:
        return ""
    return " in ρ, and ρ + 2*sqrt(ρ*ln(1/δ)) is at most ε (Bun and Steinke 2016, Proposition 1.3)"


ROUTES = {
    "acyclic": "acyclic alignment (Lemma 1)",
    "injective": "one-to-one alignment with Jacobian determinant at least 1 in size (VLDB paper, Theorem 4)",
}


def _proof(
    canvas: Canvas, source: Source | None, invariants: Sequence[str], conditions: Sequence[ConditionReport]
) -> Iterator[Text]:
    """The invariants that were found, and every obligation."""
    yield from _titled(canvas, "invariants found", invariants)
    obligations = [one for report in conditions for one in report.obligations]
    if not obligations:
        return
    yield Text()
    yield Text(f"obligations ({len(obligations)})", style="bold")
    for condition, group in groupby(obligations, key=lambda one: one.condition):
        yield Text(f"  {condition.id}", style="bold")
        for one in group:
            yield from _obligation(canvas, source, one)


def _titled(canvas: Canvas, title: str, texts: Sequence[str]) -> Iterator[Text]:
    if not texts:
        return
    yield Text()
    yield Text(title, style="bold")
    for text in texts:
        for number, line in enumerate(text.split("\n")):
            yield from canvas.hanging(Text("  - " if number == 0 else "    "), prose(line))


def _obligation(canvas: Canvas, source: Source | None, one: ObligationReport) -> Iterator[Text]:
    place = "" if source is None else f"line {source.position(one.span.start)[0]}: "
    told = Text.assemble((place, "dim"), prose(one.text), "  ", _status(one.status), (f"  {one.how}", "dim"))
    yield from canvas.hanging(Text("    - "), told)


# --- not verified -----------------------------------------------------------------------------------------


def _fails(canvas: Canvas, source: Source | None, verdict: AlignmentFails, verbose: bool) -> Iterator[Text]:
    remarks = list(to_prove(verdict.conditions, verdict.condition, Status.FAILED))
    if verdict.counterexample is not None:
        remarks += model_facts(verdict.counterexample, verdict.condition)
    if verdict.densities is not None:
        remarks += density_facts(verdict.densities)
    yield Text()
    yield from frame_lines(
        canvas,
        source,
        Frame(
            "failed", verdict.condition.id, verdict.message, "red", verdict.primary, remarks=tuple(remarks)
        ),
    )
    if verdict.counterexample is not None:
        yield Text()
        yield from _runs(canvas, source, verdict.mechanism, verdict.counterexample, verdict.condition)
    yield Text()
    yield from canvas.told("help", *(verdict.advice or (() if verdict.help is None else (verdict.help,))))
    yield from canvas.told("note", *about_failure(verdict))
    if verdict.condition in (*_MENDED, Condition.SCALES) and not _about_the_claim(verdict):
        path = "FILE" if source is None else source.path
        yield from canvas.told("help", f"`aligncheck refute {path}` searches for a real violation")
    yield from canvas.hanging(Text("more: ", style="bold"), _more(verdict.condition, verdict.mechanism))
    yield Text()
    yield from _summary(canvas, verdict.conditions)
    if verbose:
        yield from _proof(canvas, source, verdict.invariants, verdict.conditions)


_MENDED = (
    Condition.DRAWS,
    Condition.OUTPUT,
    Condition.SUPPORT,
    Condition.ACYCLIC,
    Condition.INJECTIVE,
    Condition.COST,
    Condition.COUNTABLE,
)
"""The conditions that another alignment could meet."""

_ONLY_THE_ALIGNMENT = "this is about the alignment: the mechanism may still be private under another one"
_THE_BRANCHES = (
    "this is about the branches that are taken: the mechanism may still be private under an alignment that "
    "keeps both runs in the same ones"
)
_NO_ALIGNMENT = "there is no line in `align`, so all noise stays as it is on D'"
_THE_PROGRAM = "this is about the program: no other alignment mends it"
_THE_LINE = "this is about the `invariant` line: the mechanism may be verified without it"
_THE_CLAIM = "this is about what is claimed: no alignment mends it"
_THE_CALL = "this is about what the called mechanism is given: no alignment mends it"
_ONLY_THE_DRAWS = (
    "this is about what is drawn: what is released may still be private, if it says less than the draws"
)
_NOT_PRIVATE = (
    "the output tells all that is drawn, so this is about the mechanism itself: it is not private at this "
    "claim"
)


def an_alignment_may_mend(verdict: AlignmentFails | Unknown) -> bool:
    """Whether what fails, or is not decided, is about the alignment, and not about the program whatever its
    alignment is: where no condition is named it may be. A scale that the program computes, or what it gives a
    function, may be the same in both runs under an alignment that keeps them in the same branches; not so
    where the run on D has none.
    """
    if isinstance(verdict, AlignmentFails) and verdict.densities is not None:
        return False
    if _about_the_claim(verdict):
        return False
    if verdict.condition is None or verdict.condition in _MENDED:
        return True
    if verdict.mechanism is None or verdict.primary is None:
        return False
    at = verdict.primary.span.start
    if any(line.span.start <= at < line.span.end for line in verdict.mechanism.align):
        return True
    body = tuple(statements_in(verdict.mechanism.body))
    computed = {s.name for s in body if isinstance(s, nodes.Assign)}
    if verdict.condition is Condition.CALLS and any(isinstance(s, nodes.Sample) for s in body):
        tops = (e for s in body for e in own_expressions(s))
        return any(e.span.start <= at < e.span.end and names_in(e) & computed for e in tops)
    scales = [
        e for s in body if isinstance(s, nodes.Sample) and s.span.start <= at < s.span.end for e in s.args
    ]
    example = verdict.counterexample if isinstance(verdict, AlignmentFails) else None
    runs = example is None or isinstance(example.replay.run_d.ended, Finished)
    return verdict.condition is Condition.SCALES and runs and any(names_in(e) & computed for e in scales)


def _about_the_claim(verdict: AlignmentFails | Unknown) -> bool:
    """Whether it is the claim that is wrong, whatever the alignment: negative, or more than its bound."""
    if verdict.condition is not Condition.COST or verdict.mechanism is None or verdict.primary is None:
        return False
    if isinstance(verdict, Unknown):
        return verdict.message.endswith(("the claim is not negative", "the claim is within its bound"))
    most, at = verdict.mechanism.most, verdict.primary.span.start
    claim = None if verdict.counterexample is None else verdict.counterexample.replay.claim
    above = most is not None and most.span.start <= at < most.span.end
    return above or (claim is not None and compare(claim, Fraction(0)) < 0)


def about_failure(verdict: AlignmentFails) -> tuple[str, ...]:
    """What a failure says of the mechanism."""
    if verdict.densities is not None:
        return (_of_densities(verdict.condition, verdict.densities),)
    if an_alignment_may_mend(verdict):
        none = () if verdict.mechanism.align else (_NO_ALIGNMENT,)
        branches = verdict.condition in (Condition.DRAWS, Condition.SCALES)
        return (*none, _THE_BRANCHES if branches else _ONLY_THE_ALIGNMENT)
    others = {Condition.INVARIANT: _THE_LINE, Condition.CALLS: _THE_CALL, Condition.COST: _THE_CLAIM}
    return (others.get(verdict.condition, _THE_PROGRAM),)


def _of_densities(condition: Condition, example: DensityExample) -> str:
    released = {
        part.value.ident
        for record in example.on_d.output
        for part in record.statement.fields
        if isinstance(part.value, nodes.Name)
    }
    told = condition is not Condition.OUTPUT and released >= {name for name, _ in example.drawn}
    return _NOT_PRIVATE if told else _ONLY_THE_DRAWS


def _more(condition: Condition, mechanism: nodes.Mechanism | None) -> Text:
    no_item = condition.lemma == "-" or (mechanism is not None and has_densities(mechanism.body))
    item = "" if no_item else f"  (Lemma 1, condition {condition.lemma})"
    return prose(f"`aligncheck explain {condition.id}`{item}")


def _unknown(canvas: Canvas, source: Source | None, verdict: Unknown, verbose: bool) -> Iterator[Text]:
    code = "check" if verdict.condition is None else verdict.condition.id
    yield Text()
    yield from frame_lines(canvas, source, Frame("unknown", code, verdict.message, "yellow", verdict.primary))
    yield Text()
    yield from canvas.told("help", *(() if verdict.help is None else (verdict.help,)))
    yield from canvas.told("note", "nothing is claimed: neither a proof nor a violation was found")
    if verdict.condition is not None:
        yield from canvas.hanging(Text("more: ", style="bold"), _more(verdict.condition, verdict.mechanism))
    if verdict.conditions:
        yield Text()
        yield from _summary(canvas, verdict.conditions)
    if verbose:
        yield from _proof(canvas, source, verdict.invariants, verdict.conditions)


def to_prove(
    conditions: Sequence[ConditionReport], condition: Condition, status: Status
) -> Iterator[tuple[str, str]]:
    texts = [
        one.text
        for report in conditions
        if report.condition is condition
        for one in report.obligations
        if one.status is status
    ]
    yield from (("to prove", text) for text in dict.fromkeys(texts[:1]))


def _summary(canvas: Canvas, conditions: Sequence[ConditionReport]) -> Iterator[Text]:
    """`proved: …   failed: …   unknown: …`, those that there are, in the order of the lemma."""
    parts: list[Text] = []
    for status in Status:
        ids = [report.condition.id for report in _in_order(conditions) if report.status is status]
        if ids:
            parts.append(Text.assemble((f"{status.value}: ", _STATUS_STYLES[status]), ", ".join(ids)))
    yield from canvas.wrapped(Text("     ").join(parts), canvas.width)


# --- concrete runs ----------------------------------------------------------------------------------------


def model_facts(counterexample: Counterexample, condition: Condition) -> Iterator[tuple[str, str]]:
    """The inputs and the noise for which the condition fails, and what was then seen."""
    scenario, second = counterexample.scenario, counterexample.second
    if inputs := inputs_text(scenario):
        yield "fails for", inputs
    yield "noise on D", f"{noise_text(scenario)}   (replayed)"
    if second is not None:
        yield "second noise", f"{noise_text(second)}   (replayed)"
    for violation in counterexample.replay.violations:
        if violation.condition is condition:
            yield "then", violation.message


def density_facts(example: DensityExample) -> Iterator[tuple[str, str]]:
    """The databases and the draws, what these release, and how likely they are on each."""
    yield "fails for", inputs_text(example.scenario)
    yield "drawn", ", ".join(f"{name} = {shown(value)}" for name, value in example.drawn)
    for name, side in (("on D", example.on_d), ("on D'", example.on_d_prime)):
        released = ", ".join(map(recorded, side.output))
        does = f"releases {released}" if released else "impossible"
        yield name, f"{does}, {_likelihood(side)}"
    yield "claim", f"densities may differ by a factor of exp({decimal(example.claim)})"
    on_d, on_d_prime = example.on_d.log_density, example.on_d_prime.log_density
    if on_d is not None and on_d_prime is not None:
        yield "but", f"they differ by a factor of exp({decimal(absolute(subtract(on_d, on_d_prime)))})"


def _likelihood(side: Weighed) -> str:
    return "density 0" if side.log_density is None else f"density exp({decimal(side.log_density)})"


@dataclass(frozen=True, slots=True)
class CommonImage:
    """Two noise vectors, each with what it is moved to, and what both release: texts, the titles first."""

    rows: tuple[tuple[str, ...], ...]
    released: str


def shown_runs(
    mechanism: nodes.Mechanism, counterexample: Counterexample, condition: Condition
) -> tuple[RunsTable | CommonImage, tuple[str, ...]] | None:
    """What is shown of the runs for which a condition fails, and what is said below it; None where exact
    arithmetic cannot run the second noise.
    """
    first = counterexample.replay
    if counterexample.second is None:
        table = RunsTable(first.steps, "on D", "on D' (aligned noise)", first.claim, first.parted)
        return table, tuple(_endings(first))
    try:
        second = replay(mechanism, counterexample.second)
    except (ScenarioError, Undecided):
        return None
    if condition is Condition.INJECTIVE:
        return _common_image(first, second), ()
    steps = side_by_side(first.run_d, second.run_d)
    counts = len(first.run_d.draws), len(second.run_d.draws)
    told = f"{counts[0]} draws with the first noise, {counts[1]} with the second"
    return RunsTable(steps, "first noise", "second noise"), (told,)


def _runs(
    canvas: Canvas,
    source: Source | None,
    mechanism: nodes.Mechanism,
    counterexample: Counterexample,
    condition: Condition,
) -> Iterator[Text]:
    match shown_runs(mechanism, counterexample, condition):
        case None:
            return
        case (RunsTable() as table, said):
            yield from table_lines(canvas, source, table)
            style = "bold red" if counterexample.second is None else ""
            for text in said:
                yield from canvas.hanging(Text("   ", style), prose(text, style))
        case (CommonImage(rows=rows, released=released), _):
            cells = [tuple(Text(cell, "" if at else "bold") for cell in row) for at, row in enumerate(rows)]
            yield from canvas.table(cells, {1, 2, 3, 4}, 3)
            yield from canvas.hanging(Text("   both release ", style="bold"), Text(released))


def _endings(replayed: Replay) -> Iterator[str]:
    """How the runs ended, where that is not the end of the program."""
    for one, which in ((replayed.run_d, "D"), (replayed.run_d_prime, "D'")):
        reason = getattr(one.ended, "reason", None)
        if reason is not None:
            yield f"the run on {which} stops: {reason}"


def _common_image(first: Replay, second: Replay) -> CommonImage:
    from aligncheck.meaning.interpreter import variable_text

    noise = [{draw.key: draw.value for draw in one.run_d.draws} for one in (first, second)]
    image = [{draw.key: draw.value for draw in one.run_d_prime.draws} for one in (first, second)]
    rows = [("noise on D", "first", "second", "moved to (first)", "moved to (second)")]
    for key in noise[0] | noise[1]:
        values = [shown(side[key]) if key in side else "-" for side in (*noise, *image)]
        rows.append((variable_text(key), values[0], values[1], values[2], values[3]))
    released = ", ".join(recorded(record) for record in first.run_d.output) or "nothing"
    return CommonImage(tuple(rows), released)

"""A verdict, and a violation beside it, as a document; two of them compared. Only what was found is told: the
kernel's decisions, the runs that were replayed, the bounds that were certified.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import Any, TypeAlias

from aligncheck.compiler.emit.describe import guarantee
from aligncheck.language.conditions import Condition
from aligncheck.language.printable import printable
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes, walk
from aligncheck.language.syntax.layout import spelled_plainly
from aligncheck.language.unparse import unparse_expr
from aligncheck.meaning.exact import decimal
from aligncheck.publish import sheet as s
from aligncheck.publish.playground import NotPlayableError, presets, program_document
from aligncheck.refutation.findings import Refutation
from aligncheck.refutation.violation import Violation
from aligncheck.report import terminal
from aligncheck.report.cost import cost_parts, invariants_of, limit_of
from aligncheck.report.refutation import interval_text, trace_table, violation_facts
from aligncheck.report.sidebyside import RunsRow, RunsTable, kept_rows, rows_of
from aligncheck.verdict import (
    AlignmentFails,
    ConditionReport,
    Error,
    FileResult,
    Status,
    Unknown,
    Verified,
    name_of,
)

Judged: TypeAlias = tuple[FileResult, Refutation | None]
"""The verdict on a spec and, where it is not VERIFIED, what a search for a violation found."""

_LONGEST_TEST = 60
"""Characters of a test with its numbers; of a longer one the two sides are shown."""


def spec_sheet(result: FileResult, refutation: Refutation | None = None) -> s.Sheet:
    """The document about one spec. `refutation`: what a search for a violation found, where there was one."""
    violation = _violation(refutation)
    source = Source(result.path, result.text)
    blocks = [masthead(result, refutation), *_found(source, result, violation)]
    blocks += try_it([(result, refutation)])
    return s.Sheet(f"{_title(result)}: {_verdict(result, violation)}", tuple(blocks))


def try_it(pairs: Sequence[Judged], start: Mapping[str, Any] = MappingProxyType({})) -> Iterator[s.Block]:
    """What a reader moves; for a mechanism that a page does not run, why not. `start` as in `presets`."""
    programs = []
    for result, refutation in pairs:
        mechanism = _mechanism(result)
        if mechanism is None:
            continue
        try:
            program = program_document(Source(result.path, result.text), mechanism)
            played = {"program": program, "presets": list(presets(result, start))}
        except NotPlayableError as what:
            yield s.Paragraph(
                f"There are no sliders for `{mechanism.name}`: a page does not run {what}.", "note"
            )
            continue
        head = masthead(result, refutation)
        title = printable(f"{head.title}: {head.about}")
        programs.append({"title": title, "verdict": head.verdict, "tone": head.tone, **played})
    if programs:
        yield s.Playground(tuple(programs))


def comparison_sheet(one: Judged, other: Judged) -> s.Sheet:
    """Two specs: the lines that differ, both verdicts, and of each what was found: what fails first."""
    pair = (one, other)
    sources = [Source(result.path, result.text) for result, _ in pair]
    heads, lists = [], []
    parting = list(_parting(*(source.lines for source in sources)))
    marks = [frozenset(number for stretch in parting for number, _ in stretch[side]) for side in (0, 1)]
    for (result, refutation), source, marked in zip(pair, sources, marks, strict=True):
        heads.append((masthead(result, refutation),))
        lists.append((s.Listing(source, _mechanism(result), marked),))
    blocks: list[s.Block] = [s.Beside(*heads), s.SectionHead("The lines that differ")]
    blocks += [_difference(*sources), s.SectionHead("Both in full"), s.Beside(*lists)]
    told = sorted(zip(pair, sources, strict=True), key=lambda one: isinstance(one[0][0].verdict, Verified))
    for (result, refutation), source in told:
        blocks.append(s.SectionHead(f"{_title(result)}: {_verdict(result, _violation(refutation))}"))
        blocks += _told(source, result, _violation(refutation))
    blocks += try_it(pair)
    return s.Sheet(" beside ".join(_title(result) for result, _ in pair), tuple(blocks))


def _violation(refutation: Refutation | None) -> Violation | None:
    found = None if refutation is None else refutation.outcome
    return found if isinstance(found, Violation) else None


def _mechanism(result: FileResult) -> nodes.Mechanism | None:
    return None if isinstance(result.verdict, Error) else result.verdict.mechanism


def _title(result: FileResult) -> str:
    return result.mechanism or result.path


def _verdict(result: FileResult, violation: Violation | None) -> str:
    return name_of(result.verdict) + (", REFUTED" if violation is not None else "")


def masthead(result: FileResult, refutation: Refutation | None) -> s.Masthead:
    """What a document begins with."""
    violation = _violation(refutation)
    tones = {Verified: "good", AlignmentFails: "bad", Error: "bad", Unknown: "open"}
    tone = "bad" if violation is not None else tones[type(result.verdict)]
    mechanism = _mechanism(result)
    about = "" if mechanism is None else " ".join(mechanism.doc.split())
    return s.Masthead(_title(result), _verdict(result, violation), tone, about, result.path)


def _found(source: Source, result: FileResult, violation: Violation | None) -> Iterator[s.Block]:
    yield s.SectionHead("The mechanism")
    yield s.Listing(source, _mechanism(result), _marked(source, result))
    mechanism = _mechanism(result)
    if mechanism is not None and mechanism.align and not isinstance(result.verdict, Verified):
        yield _aligned(mechanism.align)
    yield from _told(source, result, violation)


def _marked(source: Source, result: FileResult) -> frozenset[int]:
    match result.verdict:
        case AlignmentFails(primary=primary) | Unknown(primary=primary) if primary is not None:
            return frozenset((source.position(primary.span.start)[0],))
        case Error(diagnostic=diagnostic):
            return frozenset((source.position(diagnostic.primary.span.start)[0],))
        case Verified() | AlignmentFails() | Unknown():
            return frozenset()


def _told(source: Source, result: FileResult, violation: Violation | None) -> Iterator[s.Block]:
    """All that was found, below the listing."""
    match result.verdict:
        case Verified() as verified:
            yield from _proof(source, verified)
        case AlignmentFails() as fails:
            yield from _failure(source, fails)
        case Unknown(message=message, help=help_) as unknown:
            yield s.SectionHead("What is not decided")
            yield s.Paragraph(message, "wrong")
            yield from _help(() if help_ is None else (help_,))
            yield s.Paragraph("Nothing is claimed: neither a proof nor a violation was found.", "note")
            yield from _statuses(unknown.conditions)
        case Error(diagnostic=diagnostic, further=further):
            yield s.SectionHead("What is wrong")
            for one in (diagnostic, *further):
                line, column = source.position(one.primary.span.start)
                yield s.Paragraph(f"Line {line}, column {column}: {one.message}", "wrong")
                yield from _help(() if one.help is None else (one.help,))
    if violation is not None:
        yield from _refuted(source, violation)


def _help(texts: Sequence[str]) -> Iterator[s.Block]:
    return (s.Paragraph(text, "help") for text in texts)


# --- verified ---------------------------------------------------------------------------------------------


def _proof(source: Source, verified: Verified) -> Iterator[s.Block]:
    mechanism = verified.mechanism
    claim = f"one run of `{mechanism.name}` is private with {terminal.claimed_for(mechanism)}"
    if isinstance(mechanism.claim, nodes.Pure):
        power = f"`{unparse_expr(mechanism.claim.epsilon)}`"
        claim = f"one run of `{mechanism.name}` is {terminal.claimed_for(mechanism)}".replace(
            power, f"{power}-differentially private", 1
        )
    yield s.SectionHead("What is proved")
    yield s.Theorem(mechanism.name, f"{claim}.", tuple(guarantee(mechanism)[1:]))
    yield s.SectionHead("The proof")
    if walk.has_densities(mechanism.body):
        yield s.Paragraph(
            "The ratio of the densities of what is drawn, on D and on D', is bounded for every output."
        )
    else:
        yield s.Paragraph(
            "Let D and D' be neighbours, H the noise of a run on D, and `out` what this run releases. The "
            "run on D' gets the noise H', which differs from H in these draws and in no other:"
        )
        yield _aligned(mechanism.align)
        route = terminal.ROUTES.get(verified.accepted.route, verified.accepted.route)
        yield s.Paragraph(f"The theorem used is that of an {route}. Its conditions:")
    order = {condition: number for number, condition in enumerate(Condition)}
    for report in sorted(verified.conditions, key=lambda one: order[one.condition]):
        yield _step(source, report)
        if report.condition is Condition.COST:
            yield from _cost(verified)
    yield s.Paragraph(f"So {_shown(mechanism.claim)}, and this is the claim. ∎")
    if invariants := invariants_of(verified):
        yield s.SectionHead("Invariants that the proof uses")
        yield s.Grid("", ("loop", "holds at each head"), tuple(_parted(line) for line in invariants))
    yield s.Paragraph(f"{s.begun(terminal.WHAT_IT_SAYS)}.", "note")


def _parted(line: str) -> tuple[str, str]:
    loop, _, text = line.partition(": ")
    return loop.removeprefix("loop "), f"`{text}`"


def _step(source: Source, report: ConditionReport) -> s.ProofStep:
    decided = tuple(
        (source.position(one.span.start)[0], one.text, one.how if one.steps else "")
        for one in report.obligations
    )
    lemma = "" if report.condition.lemma == "-" else report.condition.lemma
    return s.ProofStep(report.condition.id, lemma, report.condition.proved, report.status.value, decided)


def _aligned(items: tuple[nodes.AlignItem, ...]) -> s.Grid:
    rows = tuple(_moved(*each) for each in walk.shifts_in_cases(items))
    return s.Grid("The alignment", ("draw", "on D'", "when"), rows or (("all", "as on D", "always"),))


def _moved(line: nodes.Shift, cases: tuple[nodes.Expr | None, ...]) -> tuple[str, str, str]:
    draw = walk.moved_by(line)
    moved = line.value if line.op == "=" else nodes.Binary(line.op[0], draw, line.value)
    case = ", ".join("otherwise" if e is None else f"case `{unparse_expr(e)}`" for e in cases)
    guard = "" if line.guard is None else f"`{unparse_expr(line.guard)}`"
    return (
        f"`{unparse_expr(draw)}`",
        f"`{unparse_expr(moved)}`",
        " and ".join(filter(None, (case, guard))) or "always",
    )


def _shown(claim: nodes.Claim) -> str:
    match claim:
        case nodes.Pure(epsilon=epsilon):
            return f"every output is at most exp(`{unparse_expr(epsilon)}`) times as likely on D as on D'"
        case nodes.Approximate(epsilon=epsilon, delta=delta):
            most = f"exp(`{unparse_expr(epsilon)}`) times that on D', and `{unparse_expr(delta)}` more"
            return f"the probability of every event on D is at most {most}"
        case nodes.Concentrated(rho=rho):
            most = f"α times `{unparse_expr(rho)}`"
            return (
                f"the Rényi divergence of every order α > 1 between what D and D' release is at most {most}"
            )


def _cost(verified: Verified) -> Iterator[s.Block]:
    claimed = verified.mechanism.claim
    bounded = isinstance(claimed, nodes.Pure) and claimed.most is not None
    claim = unparse_expr(claimed.epsilon if isinstance(claimed, nodes.Pure) else limit_of(verified))
    parts = cost_parts(verified)
    if not parts:
        yield s.Paragraph(f"No draw is moved at a cost, so what is paid is within `{claim}`.")
        return
    rows = tuple((f"`{p.name}`", _code(p.amount), _code(p.share), p.times) for p in parts)
    share = "share of bound" if bounded else "share of it"
    yield s.Grid(
        f"What moving the noise costs, in all at most `{claim}`",
        ("noise", "cost of one", share, "paid"),
        rows,
        figures=frozenset({1, 2}),
    )


def _code(text: str) -> str:
    return f"`{text}`" if text and " costs" not in text else text


# --- not verified -----------------------------------------------------------------------------------------


def _failure(source: Source, fails: AlignmentFails) -> Iterator[s.Block]:
    yield s.SectionHead(f"What fails: {fails.condition.id}")
    yield s.Paragraph(f"{s.begun(fails.message)}.", "wrong")
    facts = list(terminal.to_prove(fails.conditions, fails.condition, Status.FAILED))
    if fails.counterexample is not None:
        facts += terminal.model_facts(fails.counterexample, fails.condition)
    if fails.densities is not None:
        facts += terminal.density_facts(fails.densities)
    if facts:
        yield s.FactList(tuple(facts))
    if fails.counterexample is not None:
        yield from _runs(source, fails)
    yield from _help(fails.advice or (() if fails.help is None else (fails.help,)))
    yield from (s.Paragraph(f"{s.begun(text)}.", "note") for text in terminal.about_failure(fails))
    yield from _statuses(fails.conditions)


def _runs(source: Source, fails: AlignmentFails) -> Iterator[s.Block]:
    if fails.counterexample is None:
        return
    match terminal.shown_runs(fails.mechanism, fails.counterexample, fails.condition):
        case None:
            return
        case (RunsTable() as table, said):
            yield _run_grid(source, table, "The two runs, step by step")
            yield from map(s.Paragraph, said)
        case (terminal.CommonImage(rows=rows, released=released), _):
            yield s.Grid(
                "Two noise vectors with one image", rows[0], rows[1:], code=frozenset(range(len(rows[0])))
            )
            yield s.Paragraph(f"Both release `{released}`.")


def _run_grid(source: Source, table: RunsTable, title: str) -> s.Grid:
    head = ("line", "round", "step", table.left, table.right, "cost" if table.claim is not None else "")
    rows: list[tuple[str, ...]] = []
    marked = set()
    for row in kept_rows(list(rows_of(source, table, _LONGEST_TEST))):
        if not isinstance(row, RunsRow):
            rows.append((f"… {row} steps left out …",))
            continue
        if row.style:
            marked.add(len(rows))
        rows.append(row.cells)
    used = [n for n in range(6) if head[n] == "cost" or any(len(row) == 6 and row[n] for row in rows)]
    cut = tuple(row if len(row) == 1 else tuple(row[n] for n in used) for row in rows)
    code = frozenset(at for at, n in enumerate(used) if 1 <= n <= 4)
    return s.Grid(
        title,
        tuple(head[n] for n in used),
        cut,
        code=code,
        figures=frozenset(at for at, n in enumerate(used) if n == 0),
        marked=frozenset(marked),
    )


def _statuses(conditions: Sequence[ConditionReport]) -> Iterator[s.Block]:
    if conditions:
        rows = tuple(
            (r.condition.lemma.strip("-"), r.condition.id, r.status.value, r.how) for r in conditions
        )
        yield s.Grid("The conditions", ("lemma", "condition", "status", "how"), rows)


# --- refuted ----------------------------------------------------------------------------------------------


def _refuted(source: Source, violation: Violation) -> Iterator[s.Block]:
    yield s.SectionHead("A violation of privacy")
    yield s.Paragraph(
        "This is about the mechanism itself, whatever its alignment: for these databases, which are "
        "neighbours, the event E is more likely on D than the claim allows.",
        "wrong",
    )
    yield s.FactList(tuple(violation_facts(violation)))
    factor = _exp(violation)
    on_d, on_d_prime = violation.on_d, violation.on_d_prime
    bars = [
        s.Bar("P(M(D) in E)", float(on_d.lower), float(on_d.upper), interval_text(on_d)),
        s.Bar("P(M(D') in E)", float(on_d_prime.lower), float(on_d_prime.upper), interval_text(on_d_prime)),
    ]
    if factor is not None:
        more = 0.0 if violation.delta is None else float(decimal(violation.delta, 17))
        low, high = (float(end) * factor + more for end in (on_d_prime.lower, on_d_prime.upper))
        bars.insert(1, s.Bar("what the claim allows at most", low, high, f"about {high:.4g}"))
    yield s.BarChart("How likely E is", tuple(bars))
    if violation.trace is not None:
        yield _run_grid(source, trace_table(violation.trace), "How E arises: the same noise on D and on D'")


def _exp(violation: Violation) -> float | None:
    from math import exp

    if violation.delta is None:
        return None
    power = float(decimal(violation.claim, 17))
    return exp(power) if power < 100 else None


# --- differences ------------------------------------------------------------------------------------------


Numbered: TypeAlias = list[tuple[int, str]]
"""Lines with their numbers."""


def _parting(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[Numbered, Numbered]]:
    """The stretches that differ; comments, spaces and the spelling of letters make no difference."""
    one, other = ([spelled_plainly(line) for line in lines] for lines in (left, right))
    for kind, a, b, c, d in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind != "equal":
            yield (
                [(at + 1, left[at].rstrip()) for at in range(a, b) if one[at]],
                [(at + 1, right[at].rstrip()) for at in range(c, d) if other[at]],
            )


def differing_lines(left: str, right: str) -> Iterator[str]:
    """The lines that only one of two texts has, after `-` or `+` and their numbers."""
    for stretch in _parting(left.split("\n"), right.split("\n")):
        for sign, lines in zip("-+", stretch, strict=True):
            yield from (f"{sign} {number:>3}  {line}" for number, line in lines)


def _difference(left: Source, right: Source) -> s.Grid:
    """The lines that differ, side by side."""
    rows = [
        (str(one[0] or ""), one[1], str(other[0] or ""), other[1])
        for stretch in _parting(left.lines, right.lines)
        for one, other in zip_longest(*stretch, fillvalue=(0, ""))
    ]
    head = ("line", left.path, "line", right.path)
    return s.Grid("", head, tuple(rows), code=frozenset({1, 3}), figures=frozenset({0, 2}))

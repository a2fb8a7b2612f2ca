"""Repairs of a spec that is not verified: another guard, another alignment, another test, greater scales,
another claim; each verified as text.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any

from aligncheck.effort import Effort
from aligncheck.judge import Judge
from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.families import Slope
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.walk import names_in, shifts_in, statements_in, subexpressions
from aligncheck.language.unparse import unparse_expr
from aligncheck.synthesis import put_in
from aligncheck.synthesis.dearest import verified
from aligncheck.synthesis.find import FoundAlignment, SearchEffort, find_alignment
from aligncheck.synthesis.formulas import NoFormulaError, formula, formula_text, times, to_sympy
from aligncheck.synthesis.least import LeastClaim, least_claim, moved_at_most, multiple_of
from aligncheck.synthesis.put_in import with_claim
from aligncheck.synthesis.reading import SELECTIONS, ProgramReading
from aligncheck.synthesis.runs import pairs
from aligncheck.synthesis.templates import guards_for

_RELAXED = Fraction(16)
"""Where no alignment proves the claim, one is looked for that proves so many times as much."""
_FACTORS = (Fraction(3, 2), Fraction(2), Fraction(3), Fraction(4))
_CHANGES = 24
"""So many changes of one kind are tried."""
_RUNS = 60
_EFFORT = SearchEffort(alignments=5_000, proofs=10)


@dataclass(frozen=True)
class Repair:
    """A text that is verified, and what was changed."""

    what: str
    source: Source


def diff(before: Source, after: Source) -> list[str]:
    """The change, as `diff -u` prints it."""
    one, two = before.text.splitlines(), after.text.splitlines()
    return list(difflib.unified_diff(one, two, before.path, after.path, n=1, lineterm=""))


def repairs(source: Source, effort: Effort) -> Iterator[Repair]:
    """Repairs, the least first: what only the proof lacks, then another test in the program, then more noise,
    then a larger claim. None where the spec is verified as it is.

    Raises SpecError for what is no spec.
    """
    mechanism = check(source, parse(source))
    judge = Judge(math.inf, explain=False, search=False, limit=effort)
    if verified(judge, source):
        return
    guarded = next(verified_changes(judge, _other_guards(source, mechanism)), None)
    if guarded is not None:
        yield guarded
        return
    with_other = find_alignment(source, effort.share(1 / 2), _EFFORT)
    if isinstance(with_other, FoundAlignment):
        yield Repair("another alignment", with_other.source)
        return
    yield from islice(verified_changes(judge, other_tests(source, mechanism)), 1)
    if not isinstance(mechanism.claim, n.Pure):
        yield from islice(verified_changes(judge, _more_noise(source, mechanism)), 1)
        yield from islice(verified_changes(judge, _looser_claims(source, mechanism.claim)), 1)
        return
    found = least_claim(source, effort.share(1 / 2))
    text = source
    if found.factor is not None:
        yield from islice(verified_changes(judge, _one_scale(source, mechanism)), 1)
    if found.factor is None:
        by_formulas = list(formula_repairs(judge, source, mechanism, effort.share(1 / 2)))
        yield from by_formulas
        if by_formulas:
            return
        relaxed = with_claim(source, times(mechanism.privacy, _RELAXED))
        looser = find_alignment(relaxed, effort.share(1 / 2), _EFFORT)
        if not isinstance(looser, FoundAlignment):
            return
        text = with_claim(looser.source, times(mechanism.privacy, Fraction(1)))
        found = least_claim(text, effort.share(1 / 2))
    yield from _by_factor(judge, text, found, "" if text is source else "another alignment, and ")


def verified_changes(judge: Judge, changes: Iterator[Repair]) -> Iterator[Repair]:
    """Those that are verified. What a stored run rules out is not put to proof."""
    for change in islice(changes, _CHANGES):
        if judge.limit.is_over:
            return
        try:
            mechanism = check(change.source, parse(change.source))
        except SpecError:
            continue
        ruled_out = any(pair.breaks(mechanism) for pair in islice(pairs(mechanism), _RUNS))
        if not ruled_out and verified(judge, change.source):
            yield change


def _other_guards(source: Source, mechanism: n.Mechanism) -> Iterator[Repair]:
    """One line of the alignment with another guard, or with none."""
    reading = ProgramReading(mechanism)
    for line in shifts_in(mechanism.align):
        site = reading.sites.get(line.name)
        if site is None or (site.index is not None and line.index != site.index):
            continue
        chosen = [
            name
            for name, gather in reading.gathers.items()
            if gather.function in SELECTIONS and line.name in names_in(gather)
        ]
        for guard in guards_for(reading, site, chosen):
            if guard.test != line.guard:
                end = (line.value if line.guard is None else line.guard).span.end
                test = "" if guard.test is None else unparse_expr(guard.test)
                text = source.text[: line.value.span.end] + (f"   when {test}" if test else "")
                when = f"when `{test}`" if test else "always"
                yield Repair(f"`{line.name}` moved {when}", Source(source.path, text + source.text[end:]))


def other_tests(source: Source, mechanism: n.Mechanism) -> Iterator[Repair]:
    """One comparison of the program that is strict or is not, or whose limit is one step off."""
    reading = ProgramReading(mechanism)
    tests = [*reading.tests, *(s.test for s in statements_in(mechanism.body) if isinstance(s, n.While))]
    compared = [e for test in tests for e in subexpressions(test) if isinstance(e, n.Compare)]
    others = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
    for e in compared:
        if e.op in others:
            yield _with_test(source, e, replace(e, op=others[e.op]))
    for e in compared:
        if e.op in others and not reading.noisy(names_in(e)):
            for op in ("-", "+"):
                for step in _steps(reading, e.left):
                    yield _with_test(source, e, replace(e, right=n.Binary(op, e.right, step)))


def _steps(reading: ProgramReading, e: n.Expr) -> list[n.Expr]:
    """By how much a variable goes up or down."""
    values = reading.assigned.get(e.ident, ()) if isinstance(e, n.Name) else ()
    return list(dict.fromkeys(v.right for v in values if isinstance(v, n.Binary) and v.left == e))


def _with_test(source: Source, old: n.Compare, new: n.Compare) -> Repair:
    text = source.text[: old.span.start] + unparse_expr(new) + source.text[old.span.end :]
    what = f"the test `{unparse_expr(new)}` in place of `{unparse_expr(old)}`"
    return Repair(what, Source(source.path, text))


def _more_noise(source: Source, mechanism: n.Mechanism) -> Iterator[Repair]:
    """The noise of one variable, or all of it, by small factors."""
    yield from _one_scale(source, mechanism)
    for factor in _FACTORS:
        yield Repair(f"scales {factor} times as large", with_scales(source, factor))


def _looser_claims(source: Source, claim: n.Approximate | n.Concentrated) -> Iterator[Repair]:
    """Small multiples of the δ, of the ε, or of the ρ."""
    texts = [multiple_of(claim, factor) for factor in _FACTORS]
    if isinstance(claim, n.Approximate):
        epsilon = unparse_expr(claim.epsilon)
        texts = [*(f"{epsilon} delta {times(claim.delta, factor)}" for factor in _FACTORS), *texts]
    for text in texts:
        yield Repair(f"the claim `{text}`", with_claim(source, text))


def _one_scale(source: Source, mechanism: n.Mechanism) -> Iterator[Repair]:
    """The scale of one variable, by small factors."""
    names = dict.fromkeys(s.name for s in statements_in(mechanism.body) if isinstance(s, n.Sample))
    if len(names) > 1:
        for factor in _FACTORS:
            for name in names:
                made = with_scales(source, factor, name)
                if made != source:
                    yield Repair(f"the scale of `{name}` {factor} times as large", made)


def _by_factor(judge: Judge, text: Source, found: LeastClaim, also: str) -> Iterator[Repair]:
    if found.factor is None or found.text is None:
        return
    scaled = with_scales(text, found.factor)
    if verified(judge, scaled):
        yield Repair(f"{also}scales {found.factor} times as large", scaled)
    yield Repair(f"{also}the claim `{found.least}`", found.text)


def formula_repairs(judge: Judge, source: Source, mechanism: n.Mechanism, effort: Effort) -> Iterator[Repair]:
    """Where the cost is no multiple of the claim (it grows with a count): the scale of one variable so many
    times as large that the others leave it enough, and the claim that is proved as it is.
    """
    moved = None if mechanism.uses or mechanism.most is not None else moved_at_most(source, effort)
    if moved is None:
        return
    import sympy

    reading = ProgramReading(mechanism)
    scales = {s.name: s.args[0] for s in statements_in(mechanism.body) if isinstance(s, n.Sample)}
    try:
        shares = {v: to_sympy(e) / formula(reading, scales[v]) for v, e in moved.items()}
        claim = to_sympy(mechanism.privacy)
        factors = {v: share / (claim - sum(shares.values()) + share) for v, share in shares.items()}
        cancelled = {v: sympy.cancel(factor) for v, factor in factors.items()}
        scaled = [(v, f, with_scales(source, f, v)) for v, f in cancelled.items()]
    except NoFormulaError:
        return
    for v, factor, made in scaled:
        if factor.free_symbols and verified(judge, made):
            yield Repair(f"the scale of `{v}` {factor} times as large", made)
            break
    whole = formula_text(sum(shares.values()))
    looser = with_claim(source, whole)
    if verified(judge, looser):
        yield Repair(f"the claim `{whole}`", looser)


def with_scales(source: Source, factor: Any, name: str | None = None) -> Source:
    """The text with every scale so many times as large (a Fraction, or a formula of SymPy), or those of one
    variable; families that have no scale stay as they are.
    """

    def other(s: n.Sample) -> str | None:
        other = s.family.row.slope is not Slope.CHANCE and name in (None, s.name)
        return times(s.args[0], factor) if other else None

    return put_in.with_scales(source, parse(source), other)

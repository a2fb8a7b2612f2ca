"""Repairs of a spec that is not verified: another alignment, greater scales, another claim; each verified as
text.
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from aligncheck.judge import Judge
from aligncheck.language.check import check
from aligncheck.language.check.scope import only_pure
from aligncheck.language.families import Slope
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.walk import statements_in
from aligncheck.synthesis.dearest import verified
from aligncheck.synthesis.find import FoundAlignment, SearchEffort, find_alignment
from aligncheck.synthesis.formulas import times
from aligncheck.synthesis.least import LeastClaim, least_claim
from aligncheck.synthesis.put_in import with_claim

_RELAXED = Fraction(16)
"""Where no alignment proves the claim, one is looked for that proves so many times as much."""
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


def repairs(source: Source, deadline: float) -> Iterator[Repair]:
    """Repairs, the least first: what only the proof lacks, then more noise, then a larger claim. None where
    the spec is verified as it is.

    Raises SpecError for what is no spec.
    """
    mechanism = only_pure(source, check(source, parse(source)), "the search for repairs")
    judge = Judge(deadline, explain=False, search=False)
    if verified(judge, source):
        return
    with_other = find_alignment(source, _part(deadline), _EFFORT)
    if isinstance(with_other, FoundAlignment):
        yield Repair("another alignment", with_other.source)
        return
    found = least_claim(source, _part(deadline))
    text = source
    if found.factor is None:
        relaxed = with_claim(source, times(mechanism.privacy, _RELAXED))
        looser = find_alignment(relaxed, _part(deadline), _EFFORT)
        if not isinstance(looser, FoundAlignment):
            return
        text = with_claim(looser.source, times(mechanism.privacy, Fraction(1)))
        found = least_claim(text, _part(deadline))
    yield from _by_factor(judge, text, found, "" if text is source else "another alignment, and ")


def _part(deadline: float) -> float:
    now = time.monotonic()
    return now + (deadline - now) / 2


def _by_factor(judge: Judge, text: Source, found: LeastClaim, also: str) -> Iterator[Repair]:
    if found.factor is None or found.text is None:
        return
    scaled = with_scales(text, found.factor)
    if verified(judge, scaled):
        yield Repair(f"{also}scales {found.factor} times as large", scaled)
    yield Repair(f"{also}the claim `{found.least}`", found.text)


def with_scales(source: Source, factor: Fraction) -> Source:
    """The text with every scale so many times as large; families that have no scale stay as they are."""
    made = source.text
    drawn = [s for s in statements_in(parse(source).body) if isinstance(s, n.Sample)]
    for s in sorted(drawn, key=lambda each: -each.args[0].span.start):
        if s.family.row.slope is Slope.SCALE:
            span = s.args[0].span
            made = made[: span.start] + times(s.args[0], factor) + made[span.end :]
    return Source(source.path, made)

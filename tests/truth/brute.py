"""Random specs, judged by the checker and by brute force; `main` prints how many of each construct.

    PYTHONPATH=tests python tests/truth/brute.py --count 100000 --seed 0 --jobs 2

prints the table, and each spec that is VERIFIED though something contradicts that; then the exit status is 1.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from math import inf

from contradiction import Contradiction, Unsupported, contradiction
from draft import CONSTRUCTS, DENSITY
from generated import Spec, generated
from lemma_one import Fault, Looked, first_fault

from aligncheck.judge import judge
from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.families import Family
from aligncheck.language.syntax.nodes import Mechanism, Pure, Sample
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.walk import statements_in
from aligncheck.pipeline import load_stages
from aligncheck.refutation.events import describe
from aligncheck.refutation.refuter import Aim, refute
from aligncheck.refutation.violation import Violation
from aligncheck.verdict import Verdict, Verified, name_of
from aligncheck.workers import Done, Raised, Supervision

SECONDS = 10.0
"""For the proof of a spec; what takes longer counts as not verified."""
TOGETHER = 50
"""So many specs share a process."""
PROBABILITIES = 10
"""How many `refute` computes."""
REFUSED = "REFUSED"
ROUTES = {"injective": "general route"}


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of the spec with a number. `verdict` is `REFUSED` where the text makes no sense; `trivial`:
    it is verified without its alignment, too. What is VERIFIED may be contradicted by brute force, by replays
    of its alignment, and by a violation that `refute` certifies; `looked` says what was replayed.
    """

    seed: int
    spec: Spec
    verdict: str
    constructs: frozenset[str]
    trivial: bool = False
    contradiction: Contradiction | None = None
    fault: Fault | None = None
    violation: str | None = None
    looked: Looked = field(default_factory=Looked)

    @property
    def wrong(self) -> tuple[str, ...]:
        """Why it should not be VERIFIED, if it is."""
        found = (self.contradiction, self.fault, self.violation)
        return tuple(str(one) for one in found if one is not None) if self.verdict == "VERIFIED" else ()


def checked(spec: Spec) -> Mechanism:
    """Raises SpecError."""
    return check(spec.source, parse(spec.source), spec.read)


def verdict_on(spec: Spec) -> tuple[Verdict | None, Mechanism | None]:
    """None where it is refused."""
    try:
        mechanism = checked(spec)
        return judge(mechanism, spec.source, time.monotonic() + SECONDS, search=False), mechanism
    except SpecError:
        return None, None


def judged(seed: int, others: bool = False) -> Judged:
    """What becomes of a spec. Brute force is asked about what is VERIFIED; about `others`, too."""
    spec = generated(seed)
    verdict, mechanism = verdict_on(spec)
    if verdict is None or mechanism is None:
        return Judged(seed, spec, REFUSED, spec.constructs)
    constructs = spec.constructs
    verified = isinstance(verdict, Verified)
    if isinstance(verdict, Verified) and verdict.accepted.route in ROUTES:
        constructs |= {ROUTES[verdict.accepted.route]}
    found = None
    if verified or others:
        with suppress(Unsupported):
            found = contradiction(mechanism, seed)
    if not verified:
        return Judged(seed, spec, name_of(verdict), constructs, contradiction=found)
    looked = Looked()
    chosen = DENSITY in constructs or _chosen_by_noise(mechanism)
    fault = None if chosen else first_fault(mechanism, seed, looked)
    trivial = isinstance(verdict_on(spec.without_alignment())[0], Verified)
    return Judged(
        seed, spec, name_of(verdict), constructs, trivial, found, fault, _refuted(mechanism), looked
    )


def _chosen_by_noise(mechanism: Mechanism) -> bool:
    """Whether a claim in δ or ρ counts an index by Gumbel noise as drawn by its weight: no noise is moved."""
    draws = (s for s in statements_in(mechanism.body) if isinstance(s, Sample))
    return not isinstance(mechanism.claim, Pure) and any(s.family is Family.GUMBEL for s in draws)


def _refuted(mechanism: Mechanism) -> str | None:
    """The event of a certified violation, if a short search comes upon one."""
    found = refute(mechanism, Aim(seconds=SECONDS, probabilities=PROBABILITIES, any_will_do=True))
    if isinstance(found, Violation):
        return f"refuted by {describe(found.event)} for {found.scenario}"
    return None


def all_judged(first: int, count: int, jobs: int, others: bool = False) -> Iterator[Judged]:
    """What becomes of the specs with these numbers. Raises AssertionError where the checker breaks down."""
    yield from these_judged(list(range(first, first + count)), jobs, others)


def right_ones(construct: str, first: int, count: int) -> list[int]:
    """The numbers from `first` on of specs with a construct that are made to be right."""
    numbers = (n for n in itertools.count(first) if _may_have(generated(n), construct))
    return list(itertools.islice(numbers, count))


def with_parts(parts: Sequence[str], first: int, count: int, right: bool = False) -> list[int]:
    """The numbers from `first` on of specs with one of these parts; `right`: only those made to be right."""
    every = ((number, generated(number)) for number in itertools.count(first))
    found = (number for number, spec in every if {*parts} & {*spec.parts} and (spec.is_right or not right))
    return list(itertools.islice(found, count))


def _may_have(spec: Spec, construct: str) -> bool:
    return (spec.is_right or DENSITY in spec.constructs) and construct in spec.constructs


def these_judged(numbers: Sequence[int], jobs: int, others: bool = False) -> Iterator[Judged]:
    """Raises AssertionError where the checker breaks down."""
    batches = [(numbers[start : start + TOGETHER], others) for start in range(0, len(numbers), TOGETHER)]
    with Supervision(_batch, batches, deadline=60 * TOGETHER, jobs=jobs, warm_up=load_stages) as work:
        for place, outcome in work:
            match outcome:
                case Done(value=value):
                    yield from value
                case Raised(error=error, trace=trace):
                    raise AssertionError(f"{batches[place]}: {error}\n{trace}")
                case _:
                    raise AssertionError(f"{batches[place]}: {outcome}")


def _batch(batch: tuple[Sequence[int], bool]) -> list[Judged]:
    seeds, others = batch
    return [judged(seed, others) for seed in seeds]


def table(found: list[Judged]) -> str:
    """How many specs have each construct, how many of them are VERIFIED, how many not without alignment."""
    heads = "".join(
        f"{head:>15}" for head in ("generated", "verified", "not trivially", "contradicted", "wrong")
    )
    lines = [f"{'construct':24}{heads}"]
    for construct in ("all", *CONSTRUCTS, *ROUTES.values()):
        here = [one for one in found if construct in one.constructs or construct == "all"]
        verified = [one for one in here if one.verdict == "VERIFIED"]
        counts = (
            len(here),
            len(verified),
            sum(not one.trivial for one in verified),
            sum(one.contradiction is not None for one in here),
            sum(one.wrong != () for one in here),
        )
        lines.append(f"{construct:24}" + "".join(f"{count:15}" for count in counts))
    right = [one.verdict == "VERIFIED" for one in found if one.spec.is_right]
    lines.append(f"made to be right: {len(right)}, verified {sum(right)}")
    for part in sorted({part for one in found for part in one.spec.parts}):
        here = [one for one in found if one.spec.is_right and one.spec.parts == (part,)]
        proved = sum(one.verdict == "VERIFIED" for one in here)
        lines.append(f"alone, and made to be right: {part:24}{len(here):8}, verified {proved:8}")
    lines.append(
        ", ".join(f"{count} {verdict}" for verdict, count in Counter(one.verdict for one in found).items())
    )
    lines.append(
        "replayed: "
        + ", ".join(f"{sum(getattr(one.looked, f.name) for one in found)} {f.name}" for f in fields(Looked))
    )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first spec")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=inf, help="stop after so many")
    parser.add_argument(
        "--others", action="store_true", help="ask brute force about what is not verified, too"
    )
    parser.add_argument(
        "--construct", choices=CONSTRUCTS, help="only specs with this, that are made to be right"
    )
    parser.add_argument("--parts", nargs="+", help="only specs with one of these, right or spoiled")
    parser.add_argument("--open", action="store_true", help="print what is made to be right and not verified")
    given = parser.parse_args()
    found: list[Judged] = []
    end = time.monotonic() + given.seconds
    numbers: Sequence[int] = range(given.seed, given.seed + given.count)
    if given.construct is not None:
        numbers = right_ones(given.construct, given.seed, given.count)
    if given.parts is not None:
        numbers = with_parts(given.parts, given.seed, given.count)
    for one in these_judged(numbers, given.jobs, given.others):
        found.append(one)
        if time.monotonic() > end:
            break
        if len(found) % 1000 == 0:
            print(f"{len(found)} of {given.count}", file=sys.stderr, flush=True)
        if given.open and one.spec.is_right and one.verdict != "VERIFIED":
            print(
                f"OPEN: number {one.seed}, of {' and '.join(one.spec.parts)}: {one.verdict}\n{one.spec}",
                flush=True,
            )
        if one.wrong:
            print(
                f"WRONG: number {one.seed}, of {' and '.join(one.spec.parts)}\n{one.spec}\n# {one.wrong}\n",
                flush=True,
            )
    print(table(found))
    return int(any(one.wrong for one in found))


if __name__ == "__main__":
    sys.exit(main())

"""The kernel under attack: specs that are not private, or may not be, with witnesses that lie.

    PYTHONPATH=tests python tests/truth/adversarial.py --count 1000 --seed 0 [--generated] [--seconds 600]

Without `--generated` each attack takes one of the specs in this repository that must not be accepted, with it
one of the random ones: then what the kernel accepts is asked of brute force and of replays of its alignment.
Prints each spec that is accepted and wrong, and the counts; the exit status is 1 if there is one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from math import inf
from pathlib import Path
from random import Random
from unittest.mock import patch

from brute import SECONDS, checked
from contradiction import Contradiction, Unsupported, contradiction
from generated import Spec, generated, spoiled
from kernel_cases import decide
from lemma_one import Fault, first_fault

from aligncheck.judge import judge
from aligncheck.kernel import logic
from aligncheck.kernel.answer import Accepted, Rejected
from aligncheck.kernel.witness import Chance, LoopWitness, Witness
from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.language.syntax.walk import statements_in
from aligncheck.search.witness.found import without
from aligncheck.search.witness.sorting import Sorting
from aligncheck.search.witness.witness_json import expression, written
from aligncheck.verdict import Verified

PROJECT = Path(__file__).parents[2]
SURELY_FALSE = ("false", "0 == 1", "alignment_cost < 0", "$records < 0", "not true", "eps <= 0")
QUICK = logic.FEW
"""Less work for each question; what is accepted with less work is accepted with more."""
CUTS = 60
"""So many lines that the kernel does not accept are taken out of a witness."""


@cache
def must_not_be_accepted() -> tuple[Path, ...]:
    """The specs whose `expect` line says that something fails, or that a violation is known."""
    tests = PROJECT / "tests" / "specs"
    found = []
    for folder in (PROJECT / "specs" / "broken", tests / "soundness", tests / "rules"):
        for path in sorted(folder.glob("*.dp")):
            text = path.read_text("utf-8")
            if "expect verified" not in text and "\nexpect " in text:
                found.append(path)
    return tuple(found)


# --- lies -------------------------------------------------------------------------------------------------


@dataclass
class Liar:
    """Lines about a spec: some true, most not."""

    spec: n.Mechanism
    chance: Random
    numbers: list[str] = field(default_factory=list)
    counts: list[str] = field(default_factory=list)
    truths: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        statements = list(statements_in(self.spec.body))
        noise = {s.name: s.index is not None for s in statements if isinstance(s, n.Sample)}
        emits = {s.tag for s in statements if isinstance(s, n.Emit)}
        lists = [x for i in self.spec.inputs for x in _lists(i)]
        single = [x for i in self.spec.inputs for x in _single(i)]
        sorts = Sorting(self.spec).sorts
        self.counts = ["0", "1", "2", "i", "$records", *(f"$drawn_{x}" for x in noise)]
        self.counts += [f"$count_{tag}" for tag in emits] + [f"len({q})" for q in lists]
        self.numbers = ["0", "1", "alignment_cost", *single, *(f"{x}'" for x in single)]
        self.numbers += [f"{q}[{at}]" for q in lists for at in ("0", "i")]
        self.numbers += [f"{q}'[{at}]" for q in lists for at in ("0", "i")]
        for x, indexed in noise.items():
            self.numbers += [f"{x}[0]", f"{x}'[i]", f"{x}[i]"] if indexed else [x, f"{x}'"]
        self.truths = ["$dense_" + x for x in noise] + [f"out[0] is {tag}" for tag in emits]
        for s in statements:
            match s:
                case n.Assign(name=x):
                    wanted = {n.Sort.INT: self.counts, n.Sort.BOOL: self.truths}.get(
                        sorts.get(x, n.Sort.REAL)
                    )
                    heap = self.numbers if wanted is None else wanted
                    heap += [x, f"{x}'", f"$head_0_{x}"]
                case n.For(index=str(index)):
                    self.counts.append(index)
                case _:
                    pass

    def term(self) -> str:
        pick = self.chance.choice
        match self.chance.randrange(8):
            case 0:
                return f"{pick(self.numbers)} - {pick(self.numbers)}"
            case 1:
                return f"{pick(('eps', '2*eps', 'eps/2', '1'))}*({pick(self.counts)})"
            case 2:
                return f"{pick(self.counts)} {pick('+-')} {pick(self.counts)}"
            case 3:
                return f"max({pick(self.numbers)}, {pick(self.counts)})"
            case 4 | 5:
                return pick(self.counts)
            case _:
                return pick(self.numbers)

    def line(self) -> str:
        pick = self.chance.choice
        compared = f"{self.term()} {pick(('==', '==', '<=', '<', '>=', '!='))} {self.term()}"
        match self.chance.randrange(9):
            case 0:
                return pick(SURELY_FALSE)
            case 1 if self.truths:
                return pick(self.truths)
            case 2 if self.truths:
                return f"not {pick(self.truths)} or {compared}"
            case 3:
                x = pick(self.counts + self.numbers)
                return f"{x}' == {x}" if x.isidentifier() else f"{x} == {x}"
            case _:
                return compared

    def habits(self, loop: n.For | n.While) -> Iterator[str]:
        """What is often true, so that a proof comes as far as the lies."""
        i = loop.index if isinstance(loop, n.For) and loop.index is not None else "i"
        noise = {s.name: s for s in statements_in(self.spec.body) if isinstance(s, n.Sample)}
        inside = {s.name for s in statements_in(loop.body) if isinstance(s, n.Sample)}
        for x, stmt in noise.items():
            yield f"$dense_{x}"
            yield f"$drawn_{x} == {i if x in inside else '1'}"
            yield f"$drawn_{x} <= {i}"
            if stmt.index is not None:
                yield f"$drawn_{x} == len({_first_list(self.spec)})"
        yield f"$records == {i}"
        yield f"$records <= {i}"

    def later(self, loop: n.For | n.While) -> str:
        """A line about the records that are still to come."""
        fields = [f.name for s in statements_in(self.spec.body) if isinstance(s, n.Emit) for f in s.fields]
        i = loop.index if isinstance(loop, n.For) and loop.index is not None else "i"
        pick = self.chance.choice
        if not fields or self.chance.random() < 0.3:
            return pick((self.line(), "len(out) <= $records", f"len(out) == {self.term()}"))
        return f"len(out) <= $records or out[$records].{pick(fields)} {pick(('>=', '<', '=='))} {i}"

    def witness(self, lies: int) -> Witness:
        loops = []
        for stmt in statements_in(self.spec.body):
            if isinstance(stmt, n.For | n.While):
                early = [*self.habits(stmt), *(self.line() for _ in range(self.chance.randrange(lies + 1)))]
                both = [self.line() for _ in range(self.chance.randrange(2 * lies + 1))]
                both += ["alignment_cost == 0", "alignment_cost <= eps", "alignment_cost <= i*eps"]
                ends = self._ends(stmt) if isinstance(stmt, n.While) else LoopWitness()
                later = [self.later(stmt) for _ in range(self.chance.randrange(lies))]
                loops.append(replace(ends, early=_read(early), invariants=_read(both), later=_read(later)))
        pick = self.chance.choice
        promises = _read([self.line()]) if self.chance.random() < 0.2 else ()
        length = _read([pick(self.counts)]) if self.chance.random() < 0.1 else ()
        return Witness(
            tuple(loops),
            pick(("acyclic", "acyclic", "injective")),
            promises=promises,
            length=length[0] if length else None,
            indices=_read([pick(self.counts)]) if self.chance.random() < 0.3 else (),
        )

    def _ends(self, stmt: n.While) -> LoopWitness:
        noise = [s.name for s in statements_in(stmt.body) if isinstance(s, n.Sample)]
        if noise and self.chance.random() < 0.5:
            ends = _read([self.term(), "1/eps"])
            if len(ends) == 2:
                return LoopWitness(chance=Chance(self.chance.choice(noise), *ends))
        measure = _read([self.chance.choice(self.counts)])
        return LoopWitness(measure=measure[0] if measure else None)


def _lists(item: n.Input) -> tuple[str, ...]:
    match item:
        case n.Queries(names=names, vector=True):
            return names
        case n.PublicVector(name=name):
            return (name,)
        case _:
            return ()


def _single(item: n.Input) -> tuple[str, ...]:
    match item:
        case n.Queries(names=names, vector=False):
            return names
        case n.Parameter(name=name, sort=n.Sort.REAL | n.Sort.INT):
            return (name,)
        case _:
            return ()


def _first_list(spec: n.Mechanism) -> str:
    return next((x for i in spec.inputs for x in _lists(i)), "q")


@cache
def _parsed(text: str) -> n.Expr | None:
    try:
        return expression(text)
    except SpecError:
        return None


def _read(lines: list[str]) -> tuple[n.Expr, ...]:
    return tuple(e for e in map(_parsed, lines) if e is not None)


# --- attacks ----------------------------------------------------------------------------------------------


def attacked(
    spec: n.Mechanism, seed: int, honest: Witness | None = None, lies: int = 6
) -> tuple[Witness, Accepted | Rejected]:
    """The answer for a witness that lies, or that adds lies to an honest one, without the lines that the
    kernel itself points at: the lies that it takes for true, if any, stay.
    """
    witness = Liar(spec, Random(seed)).witness(lies)
    if honest is not None:
        witness = _together(honest, witness)
    answer = decide(spec, witness)
    for _ in range(CUTS):
        if isinstance(answer, Accepted) or answer.line is None:
            break
        smaller = without(witness, {answer.line})
        if smaller == witness:
            break
        witness = smaller
        answer = decide(spec, witness)
    return witness, answer


def _together(honest: Witness, liar: Witness) -> Witness:
    """An honest witness with the lines of another one."""
    loops = [
        replace(
            one,
            early=one.early + other.early,
            invariants=one.invariants + other.invariants,
            later=one.later + other.later,
        )
        for one, other in zip(honest.loops, liar.loops, strict=False)
    ]
    return replace(honest, loops=tuple(loops), promises=honest.promises + liar.promises)


@dataclass(frozen=True, slots=True)
class Attack:
    """What became of one attack; `wrong` says why the kernel should not have accepted."""

    name: str
    kind: str
    text: str
    witness: Witness
    answer: Accepted | Rejected
    wrong: str | None


def attacks(first: int, count: int, on_generated: bool) -> Iterator[Attack]:
    for seed in range(first, first + count):
        if on_generated:
            yield from _on_generated(seed)
            continue
        paths = must_not_be_accepted()
        path = paths[seed % len(paths)]
        source = read_source(str(path))
        try:
            spec = check(source, parse(source))
        except SpecError:
            continue
        witness, answer = attacked(spec, seed)
        wrong = "it is not private" if isinstance(answer, Accepted) else None
        yield Attack(path.stem, "lies", path.stem, witness, answer, wrong)


SPOILED = 4
"""So many neighbours of a random spec that has a proof are attacked with the witness of the right one."""


def _on_generated(seed: int) -> Iterator[Attack]:
    """A random spec and, if it has a proof, its spoiled neighbours; with an honest witness, and with lies."""
    base = generated(seed)
    honest = _honest(base)
    for change in range(1 + SPOILED * (honest is not None)):
        text = spoiled(base, Random(1000 * seed + change)) if change else base
        try:
            spec = checked(text)
        except SpecError:
            continue
        for lies in (0, 6) if honest is not None else (6,):
            if lies == 0 and honest is not None:
                witness, answer = honest, decide(spec, honest)
            else:
                witness, answer = attacked(spec, 1000 * seed + change, honest, lies)
            found = _contradicted(spec, seed) if isinstance(answer, Accepted) else None
            kind = f"{'spoiled' if change else 'as it is'}, {'lies' if lies else 'honest'}"
            wrong = None if found is None else str(found)
            yield Attack(f"number {seed}, {change}", kind, str(text), witness, answer, wrong)


def _honest(spec: Spec) -> Witness | None:
    """A witness that the search finds and the kernel accepts."""
    with suppress(SpecError):
        verdict = judge(checked(spec), spec.source, time.monotonic() + SECONDS, explain=False, search=False)
        return verdict.witness if isinstance(verdict, Verified) else None
    return None


def _contradicted(spec: n.Mechanism, seed: int) -> Contradiction | Fault | None:
    with suppress(Unsupported):
        found = contradiction(spec, seed)
        if found is not None:
            return found
    return first_fault(spec, seed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first attack")
    parser.add_argument("--generated", action="store_true", help="attack random specs")
    parser.add_argument("--seconds", type=float, default=inf, help="stop after so many")
    parser.add_argument("--full", action="store_true", help="the kernel's own limits, not lower ones")
    given = parser.parse_args()
    with patch.object(logic, "ANEW", logic.ANEW if given.full else QUICK):
        return _reported(given)


def _reported(given: argparse.Namespace) -> int:
    end, done, wrong = time.monotonic() + given.seconds, Counter[str](), 0
    for one in attacks(given.seed, given.count, given.generated):
        done[f"{one.kind}: {'accepted' if isinstance(one.answer, Accepted) else 'rejected'}"] += 1
        if one.wrong is not None:
            wrong += 1
            print(f"WRONG: {one.name}\n{one.text}\n# {written(one.witness)}\n# {one.wrong}\n", flush=True)
        if done.total() % 500 == 0:
            print(f"{done.total()} attacks: {wrong} wrong, {dict(done)}", file=sys.stderr, flush=True)
        if time.monotonic() > end:
            break
    print(f"{done.total()} attacks: {wrong} wrong; " + ", ".join(f"{c} {k}" for k, c in done.most_common()))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

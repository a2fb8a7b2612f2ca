"""The kernel under attack: specs that are not private, or may not be, with witnesses that lie.

    PYTHONPATH=tests python tests/truth/adversarial.py --count 1000 --seed 0 [--of generated] [--seconds 600]

Each attack takes one of the specs in this repository that must not be accepted; one of the random ones, with
its spoiled neighbours; or (`--of kept`) a tree like one whose witness is kept, with that witness. Then brute
force and replays of its alignment are asked about what the kernel accepts.
Prints each spec that is accepted and wrong, and the counts; the exit status is 1 if there is one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cache
from math import inf
from pathlib import Path
from random import Random
from typing import Any, TypeAlias, cast, get_args
from unittest.mock import patch

from brute import SECONDS, checked, with_parts
from contradiction import Contradiction, Unsupported, contradiction
from generated import Spec, generated, spoiled
from kernel_cases import WITNESSES, decide, spec_of, witness_of
from lemma_one import Fault, Looked, faults

from aligncheck.judge import judge
from aligncheck.kernel import logic
from aligncheck.kernel.answer import Accepted, Rejected
from aligncheck.kernel.witness import Chance, LoopWitness, Witness
from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.language.syntax.walk import shifts_in, statements_in
from aligncheck.search.witness.found import without
from aligncheck.search.witness.sorting import kernel_sorts
from aligncheck.search.witness.witness_json import expression, written
from aligncheck.verdict import Verified

PROJECT = Path(__file__).parents[2]
SURELY_FALSE = ("false", "0 == 1", "alignment_cost < 0", "$records < 0", "not true", "eps <= 0")
BAD, GENERATED, KEPT = "bad", "generated", "kept"
QUICK = logic.FEW
"""Less work for each question; what is accepted with less work is accepted with more."""
CUTS = 60
"""So many lines that the kernel does not accept are taken out of a witness."""


@cache
def must_not_be_accepted() -> tuple[Path, ...]:
    """The specs whose `expect` line says that something fails, or that a violation is known."""
    tests = PROJECT / "tests" / "specs"
    found = []
    folders = [PROJECT / "specs" / "broken", PROJECT / "specs" / "delta" / "broken"]
    for folder in (*folders, *(tests / name for name in ("soundness", "rules", "written"))):
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
        sorts = kernel_sorts(self.spec)
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

    def best(self, over: str) -> str:
        """The greatest of something, or where it is, over indices."""
        pick, at = self.chance.choice, "at_"
        noise = {
            s.name for s in statements_in(self.spec.body) if isinstance(s, n.Sample) and s.index is not None
        }
        lists = [x for i in self.spec.inputs for x in _lists(i)]
        parts = [f"{x}[{at}]" for x in (*noise, *lists)] or [at]
        body = pick(
            (pick(parts), f"{pick(parts)} + {pick(parts)}", f"{pick(parts)} - {pick(parts)}", "$records")
        )
        prime = self.chance.random() < 0.3
        body = body.replace("[", "'[") if prime and over.startswith("range(0, i") else body
        where = f" where {at} != {pick(self.counts)}" if self.chance.random() < 0.3 else ""
        return f"{pick(('argmax', 'argmax', 'argmin', 'max', 'min'))}({body} for {at} in {over}{where})"

    def selection(self) -> n.Expr | None:
        """Something to be selected after a loop."""
        pick = self.chance.choice
        found = _read(
            [self.best(pick((f"range(0, {pick(self.counts)})", _first_list(self.spec), "range(1)")))]
        )
        return found[0] if found and isinstance(found[0], n.Gather) and self.chance.random() < 0.5 else None

    def about_selections(self, count: int) -> str:
        """What a selection may be."""
        pick, own = self.chance.choice, f"$selection_{self.chance.randrange(max(count, 1))}"
        fields = [f.name for s in statements_in(self.spec.body) if isinstance(s, n.Emit) for f in s.fields]
        released = f"out[{pick(('0', 'i'))}].{pick(fields)}" if fields else "len(out)"
        return f"{pick((released, pick(self.counts), '0'))} {pick(('==', '==', '<=', '!='))} {own}"

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
        loops, pick = [], self.chance.choice
        for stmt in statements_in(self.spec.body):
            if isinstance(stmt, n.For | n.While):
                early = [*self.habits(stmt), *(self.line() for _ in range(self.chance.randrange(lies + 1)))]
                both = [self.line() for _ in range(self.chance.randrange(2 * lies + 1))]
                both += ["alignment_cost == 0", "alignment_cost <= eps", "alignment_cost <= i*eps"]
                kept = self.best("range(0, i)")
                places = [f"{pick(self.counts + self.numbers)} == {kept}" for _ in range(lies)]
                early += [line for line in places if "'" not in line]
                both += [f"i == 0 or {line}" for line in places]
                ends = self._ends(stmt) if isinstance(stmt, n.While) else LoopWitness()
                later = [self.later(stmt) for _ in range(self.chance.randrange(lies))]
                lines = LoopWitness(_read(early), _read(both), later=_read(later), selection=self.selection())
                loops.append(replace(lines, measure=ends.measure, chance=ends.chance))
        promised = [self.line()] if self.chance.random() < 0.2 else []
        if any(loop.selection is not None for loop in loops):
            promised += [self.about_selections(len(loops)) for _ in range(self.chance.randrange(3))]
        promises = _read(promised)
        length = _read([pick(self.counts)]) if self.chance.random() < 0.1 else ()
        return Witness(
            tuple(loops),
            pick(("acyclic", "acyclic", "injective")),
            promises=promises,
            length=length[0] if length else None,
            indices=_read([pick(self.counts)]) if self.chance.random() < 0.3 else (),
            costs=self._costs(),
            needs=tuple((k, *range(pick((0, 3, 9)))) for k in range(1, 40))
            if self.chance.random() < 0.1
            else (),
            within=self._within(),
            rho=self._part(0.4),
            slack=self._part(0.2),
        )

    def _part(self, share: float) -> n.Expr | None:
        """A part of a budget."""
        found = _read([self.chance.choice(("eps", "eps**2/2", "0", "1/1000", "eps/2", "0 - 1"))])
        return found[0] if self.chance.random() < share else None

    def _costs(self) -> tuple[n.Expr | None, ...]:
        """What lines of the alignment cost."""
        if self.chance.random() < 0.7:
            return ()
        lines = list(shifts_in(self.spec.align))
        return tuple(next(iter(_read([self.term()])), None) for _ in lines)

    def _within(self) -> tuple[tuple[str, n.Expr | None, n.Expr | None], ...]:
        """Bounds of what is in records, and of how many there are."""
        names = [f.name for s in statements_in(self.spec.body) if isinstance(s, n.Emit) for f in s.fields]
        names += ["$records", *(x for x in self.counts if x.startswith("$count_"))]
        ends = _read([self.chance.choice(self.counts)])
        return tuple((x, end, end) for x in names for end in ends if self.chance.random() < 0.1)

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


# --- trees ------------------------------------------------------------------------------------------------

Path_: TypeAlias = tuple[str | int, ...]
"""The way to a part of a tree: names of fields, and places in tuples."""
OTHERS = {n.Compare: ("==", "!=", "<", "<=", ">", ">="), n.Logic: ("and", "or"), n.Binary: "+-*/"}
TRUTHS = (n.Compare, n.Logic, n.Boolean, n.OutIs, n.Member)


def places(value: object, way: Path_ = ()) -> Iterator[tuple[Path_, object]]:
    """All parts of a tree, and all blocks of statements."""
    if isinstance(value, n.Node):
        yield way, value
        for f in fields(value):
            if f.name not in ("uses", "inputs", "functions", "span", "expect"):
                yield from places(getattr(value, f.name), (*way, f.name))
    elif isinstance(value, tuple):
        yield way, value
        for k, each in enumerate(value):
            yield from places(each, (*way, k))


def put(value: Any, way: Path_, new: object) -> Any:
    """The tree with another part at the end of a way."""
    if not way:
        return new
    head, rest = way[0], way[1:]
    if isinstance(head, int):
        return (*value[:head], put(value[head], rest, new), *value[head + 1 :])
    return replace(value, **{head: put(getattr(value, head), rest, new)})


def regrown(spec: n.Mechanism, chance: Random) -> n.Mechanism:
    """A tree with one part that is another one of its parts, or without a statement, or with two that have
    changed places: what the front end would refuse is not asked.
    """
    every = list(places(spec))
    parts = [(way, e) for way, e in every if isinstance(e, EXPRESSIONS)]
    blocks = [(way, b) for way, b in every if isinstance(b, tuple) and b and isinstance(b[0], STATEMENTS)]
    if chance.random() < 0.3:
        way, block = chance.choice(blocks)
        k, j = chance.randrange(len(block)), chance.randrange(len(block))
        ways = [(*block[:k], *block[k + 1 :]), (*block[:k], block[j], *block[k + 1 :]), (*block, block[k])]
        return cast(n.Mechanism, put(spec, way, chance.choice(ways)))
    way, old = chance.choice(parts)
    if isinstance(old, n.Name | n.Index) and chance.random() < 0.2:
        return cast(n.Mechanism, put(spec, way, replace(old, primed=not old.primed)))
    if isinstance(old, n.Number) and chance.random() < 0.5:
        return cast(n.Mechanism, put(spec, way, n.Number(old.value + chance.choice((1, -1)))))
    if isinstance(old, n.Compare | n.Logic | n.Binary) and chance.random() < 0.4:
        return cast(n.Mechanism, put(spec, way, replace(old, op=chance.choice(OTHERS[type(old)]))))
    alike = [e for _, e in parts if isinstance(e, TRUTHS) == isinstance(old, TRUTHS) and e != old]
    return cast(n.Mechanism, put(spec, way, chance.choice(alike))) if alike else spec


EXPRESSIONS, STATEMENTS = get_args(n.Expr), get_args(n.Stmt)


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
    """An honest witness with the lines of another one, and what that selects where it selects nothing."""
    loops = [
        replace(
            one,
            selection=one.selection or other.selection,
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


def attacks(first: int, count: int, of: str = BAD, parts: Sequence[str] | None = None) -> Iterator[Attack]:
    """On so many specs `of` one of the kinds `KINDS`; `parts`: on random specs with one of these."""
    numbers: Sequence[int] = range(first, first + count)
    if parts is not None:
        numbers = with_parts(parts, first, count, True)
    for seed in numbers:
        yield from KINDS[of](seed)


def _on_bad(seed: int) -> Iterator[Attack]:
    """One of the specs that must not be accepted."""
    path = must_not_be_accepted()[seed % len(must_not_be_accepted())]
    with suppress(SpecError):
        source = read_source(str(path))
        witness, answer = attacked(check(source, parse(source)), seed)
        wrong = "it is not private" if isinstance(answer, Accepted) else None
        yield Attack(path.stem, "lies", path.stem, witness, answer, wrong)


OPEN = "made to be right, without a proof"
SPOILED = 8
"""So many neighbours of a random spec that has a proof are attacked with its witness, and as many trees."""


def _on_generated(seed: int) -> Iterator[Attack]:
    """A random spec and, if it has a proof, its spoiled neighbours; with an honest witness, and with lies."""
    base = generated(seed)
    honest = _honest(base)
    if base.is_right and honest is None:
        yield Attack(f"number {seed}", OPEN, str(base), Witness(), Rejected("", n.NOWHERE, ""), None)
    for change in range(1 + 2 * SPOILED * (honest is not None)):
        chance = Random(1000 * seed + change)
        text = spoiled(base, chance) if 0 < change <= SPOILED else base
        try:
            spec = checked(text) if change <= SPOILED else regrown(checked(base), chance)
        except SpecError:
            continue
        kind = "as it is" if change == 0 else "spoiled" if change <= SPOILED else "regrown"
        for lies in (0, 6) if honest is not None and change % 4 == 0 else (6,) if honest is None else (0,):
            if lies == 0 and honest is not None:
                witness, answer = honest, decide(spec, honest)
            else:
                witness, answer = attacked(spec, 1000 * seed + change, honest, lies)
            wrong = str(_contradicted(spec, seed) or "") if isinstance(answer, Accepted) else ""
            shown = f"{text}\n{spec if kind == 'regrown' and wrong else ''}"
            yield Attack(
                f"number {seed}, {change}",
                f"{kind}, {'lies' if lies else 'honest'}",
                shown,
                witness,
                answer,
                wrong or None,
            )


@cache
def kept() -> tuple[Path, ...]:
    """The specs of which a witness is kept."""
    folders = ((PROJECT / "specs", "specs", ""), (PROJECT / "tests" / "specs" / "rules", "rules", "_ok"))
    return tuple(
        folder / f"{path.stem}{end}.dp"
        for folder, of, end in folders
        for path in sorted((WITNESSES / of).glob("*.json"))
    )


def _on_kept(seed: int) -> Iterator[Attack]:
    """A spec whose witness is kept, with one part of its tree or two changed, and that witness."""
    path = kept()[seed % len(kept())]
    honest = witness_of("rules" if path.stem.endswith("_ok") else "specs", path.stem.removesuffix("_ok"))
    spec, chance = spec_of(path), Random(seed)
    for _ in range(chance.choice((1, 1, 2))):
        spec = regrown(spec, chance)
    answer = decide(spec, honest)
    wrong = str(_contradicted(spec, seed) or "") if isinstance(answer, Accepted) else ""
    yield Attack(
        f"{path.stem}, {seed}", "regrown, kept", str(spec) if wrong else "", honest, answer, wrong or None
    )


def _honest(spec: Spec) -> Witness | None:
    """A witness that the search finds and the kernel accepts."""
    with suppress(SpecError):
        verdict = judge(
            checked(spec), spec.source, time.monotonic() + 4 * SECONDS, explain=False, search=False
        )
        return verdict.witness if isinstance(verdict, Verified) else None
    return None


KINDS: dict[str, Callable[[int], Iterator[Attack]]] = {BAD: _on_bad, GENERATED: _on_generated, KEPT: _on_kept}
"""What is attacked."""


def _contradicted(spec: n.Mechanism, seed: int) -> Contradiction | Fault | str | None:
    try:
        found = contradiction(spec, seed)
        if found is not None:
            return found
    except Unsupported:
        pass
    except KeyError as error:
        return f"it reads what has no value: {error}"
    divides = any(line.op == "=" for line in shifts_in(spec.align))  # where volumes change, and that is paid
    all_of = faults(spec, seed, Looked(), 1)
    return next((f for f in all_of if not (divides and f.what.startswith("volumes"))), None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first attack")
    parser.add_argument(
        "--of",
        choices=KINDS,
        default=BAD,
        help="what is bad, random specs, or trees like those with a witness",
    )
    parser.add_argument("--parts", nargs="+", help="of random specs only those with one of these parts")
    parser.add_argument("--open", action="store_true", help="print what is made to be right and has no proof")
    parser.add_argument("--seconds", type=float, default=inf, help="stop after so many")
    parser.add_argument("--full", action="store_true", help="the kernel's own limits, not lower ones")
    given = parser.parse_args()
    with patch.object(logic, "ANEW", logic.ANEW if given.full else QUICK):
        return _reported(given)


def _reported(given: argparse.Namespace) -> int:
    end, done, wrong = time.monotonic() + given.seconds, Counter[str](), 0
    for one in attacks(given.seed, given.count, given.of, given.parts):
        done[f"{one.kind}: {'accepted' if isinstance(one.answer, Accepted) else 'rejected'}"] += 1
        if one.kind == OPEN and given.open:
            print(f"OPEN: {one.name}\n{one.text}\n", flush=True)
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

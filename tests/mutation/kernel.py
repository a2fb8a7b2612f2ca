"""Mutants of the kernel itself, against specs that it must accept and specs that it must reject.

    PYTHONPATH=tests python tests/mutation/kernel.py [--kinds check,fact] [--files align,run] [--every 1]

A mutant changes one place of one file of `aligncheck/kernel/`. It is killed by a pair of twins
(`kernel_pairs.py`, and those of `specs/rules`) if it accepts the one that must be rejected, or rejects the
one that must be accepted; only the cases that run the changed line are tried. Prints the survivors that
`kernel_survivors.toml` does not list; changes that it argues for at every place are not run.
"""

from __future__ import annotations

import argparse
import ast
import os
import resource
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from time import process_time
from types import FrameType
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1]))

from kernel_cases import WITNESSES, spec_of, witness_of
from kernel_pairs import PAIRS

import aligncheck.kernel.decide as kernel
from aligncheck.kernel import logic
from aligncheck.kernel.answer import Accepted
from aligncheck.kernel.witness import Witness
from aligncheck.language.syntax import nodes as n

FOLDER = Path(logic.__file__).parent
KEPT = ("witness", "verdict", "__init__")
"""Not mutated, and the same for all mutants: what a witness and an answer are made of."""
RULES = Path(__file__).parents[1] / "specs" / "rules"
LIMIT = 10
"""Seconds of processor time for one mutant; one that takes longer counts as killed (by the time)."""
SLOW = 1.5
"""Seconds of processor time, while watched: cases that take longer are used where no other runs a line."""


@dataclass(frozen=True, slots=True)
class Case:
    """A spec, a witness, and whether the kernel accepts it."""

    name: str
    spec: n.Mechanism
    witness: Witness
    accepted: bool


def cases() -> Iterator[Case]:
    for pair in PAIRS:
        yield Case(f"{pair.name}: right", pair.spec(pair.right), pair.witness, True)
        yield Case(f"{pair.name}: wrong", pair.spec(pair.wrong), pair.witness, False)
    for path in sorted((WITNESSES / "rules").glob("*.json")):
        witness = witness_of("rules", path.stem)
        yield Case(f"{path.stem}_ok", spec_of(RULES / f"{path.stem}_ok.dp"), witness, True)
        yield Case(f"{path.stem}_bad", spec_of(RULES / f"{path.stem}_bad.dp"), witness, False)


# --- mutants ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change at a line of a file: `kind` is `check` (something is no longer asked), `fact` (something is
    known where it should not be) or `other`.
    """

    file: str
    line: int
    kind: str
    change: str
    place: int
    number: int

    @property
    def name(self) -> str:
        return f"{self.file}: {self.change}"

    def code(self) -> Any:
        """The compiled file; the parsed one is changed for good, so this is for a process of its own."""
        tree = parsed(self.file)
        node = list(ast.walk(tree))[self.place]
        change = list(_changes(node))[self.number][2]
        change(node)
        return compile(ast.fix_missing_locations(tree), str(FOLDER / f"{self.file}.py"), "exec")


@cache
def parsed(file: str) -> ast.Module:
    return ast.parse((FOLDER / f"{file}.py").read_text("utf-8"))


ASKING = ("prove", "oblige", "demand", "countable", "sensible", "_exists", "discharge", "_ends", "_enough")
OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


def mutants(file: str) -> Iterator[Mutant]:
    """All mutants of one file."""
    for place, node in enumerate(ast.walk(parsed(file))):
        shown = ""
        for number, (kind, what, _) in enumerate(_changes(node)):
            shown = shown or ast.unparse(node).splitlines()[0][:110]
            line: int = getattr(node, "lineno", 0)
            yield Mutant(file, line, kind, f"{what} | {shown}", place, number)


def _changes(node: ast.AST) -> Iterator[tuple[str, str, Any]]:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name))):
            yield ("check" if name in ASKING else "other"), "dropped", _to_nothing
        case ast.Raise():
            yield "check", "dropped", _to_nothing
        case ast.Call(func=ast.Name(id="implies"), args=[_, _]):
            yield "fact", "no guard", lambda t: _become(t, t.args[1])
        case ast.Call(func=ast.Attribute(attr="under"), args=[_]):
            yield "fact", "no guard", lambda t: _become(t, t.func.value)
        case ast.Call(func=ast.Name(id="both" | "either" as name), args=args) if len(args) > 1:
            for at in range(len(args)):
                if not isinstance(args[at], ast.Starred):
                    kind = "check" if name == "both" else "fact"
                    yield kind, f"without part {at}", lambda t, at=at: t.args.pop(at)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="z3"), attr="Not"), args=[_]):
            yield "other", "no negation", lambda t: _become(t, t.args[0])
        case ast.Compare():
            yield "other", "comparison", lambda t: t.ops.__setitem__(0, OPPOSITE[type(t.ops[0])]())
        case ast.BoolOp():
            yield (
                "other",
                "and/or",
                lambda t: setattr(t, "op", ast.Or() if isinstance(t.op, ast.And) else ast.And()),
            )
            for at in range(len(node.values)):
                yield "other", f"without operand {at}", lambda t, at=at: _without(t, at)
        case ast.UnaryOp(op=ast.Not()):
            yield "other", "no not", lambda t: _become(t, t.operand)
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            yield (
                "other",
                "plus/minus",
                lambda t: setattr(t, "op", ast.Sub() if isinstance(t.op, ast.Add) else ast.Add()),
            )
        case ast.Constant(value=bool(value)):
            yield "other", "constant", lambda t: setattr(t, "value", not t.value)
        case ast.Constant(value=int(value)) if value < 100:
            yield "other", "constant + 1", lambda t: setattr(t, "value", t.value + 1)
            yield "other", "constant - 1", lambda t: setattr(t, "value", t.value - 1)
        case ast.Return(value=ast.Attribute(attr="true" | "false" as name)):
            yield (
                "other",
                "the opposite",
                lambda t: setattr(t.value, "attr", "false" if t.value.attr == "true" else "true"),
            )
        case ast.Attribute(value=ast.Name(id="Kind"), attr=name):
            order = (
                "RUN",
                "TOLD",
                "WHOLE",
                "PRIME",
                "TWIN",
            )  # a fact of an earlier kind may be used for more
            for other in order[: order.index(name)] if name in order else ():
                if other != "TOLD":
                    yield "fact", f"{name} is {other}", lambda t, other=other: setattr(t, "attr", other)
        case ast.Assign() | ast.AugAssign():
            yield "other", "dropped", _to_nothing
        case ast.If() if not _only_raises(node):
            yield "other", "always", lambda t: setattr(t, "test", ast.Constant(True))
            yield "other", "never", lambda t: setattr(t, "test", ast.Constant(False))
        case _:
            pass


def _only_raises(node: ast.If) -> bool:
    return len(node.body) == 1 and isinstance(node.body[0], ast.Raise)


def _become(node: ast.AST, other: ast.AST) -> None:
    node.__class__ = other.__class__
    fields = dict(vars(other))
    node.__dict__.clear()
    node.__dict__.update(fields)


def _to_nothing(node: ast.AST) -> None:
    place = {
        k: v for k, v in vars(node).items() if k in ("lineno", "col_offset", "end_lineno", "end_col_offset")
    }
    _become(node, ast.Pass(**place))


def _without(node: ast.BoolOp, at: int) -> None:
    node.values.pop(at)
    if len(node.values) == 1:
        _become(node, node.values[0])


# --- judging ----------------------------------------------------------------------------------------------


def lines_of(case: Case) -> tuple[set[tuple[str, int]], float]:
    """The lines of the kernel that a case runs, and the processor time that it takes, watched."""
    ran: set[tuple[str, int]] = set()
    files = {str(path): path.stem for path in FOLDER.glob("*.py")}

    def local(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            ran.add((files[frame.f_code.co_filename], frame.f_lineno))
        return local

    def watch(frame: FrameType, event: str, _: Any) -> Any:
        return local if frame.f_code.co_filename in files else None

    start = process_time()
    sys.settrace(watch)
    try:
        answer = kernel.decide(case.spec, case.witness)
    finally:
        sys.settrace(None)
    if isinstance(answer, Accepted) is not case.accepted:
        print(f"# not used, with less work it is another answer: {case.name}")
        return set(), 0
    return ran, process_time() - start


class Mutated(Loader, MetaPathFinder):
    """Finds the changed file in place of the one on disk."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return ModuleSpec(name, self) if name == f"aligncheck.kernel.{self.mutant.file}" else None

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        exec(self.mutant.code(), module.__dict__)


def outcome(mutant: Mutant, tried: list[Case]) -> str:
    """In a process of its own: `accepts NAME`, `rejects NAME`, `breaks NAME`, or `survives`."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
        os.write(write, _judged(mutant, tried).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        said = stream.read()
    os.waitpid(child, 0)
    return said or "takes too long"


def _judged(mutant: Mutant, tried: list[Case]) -> str:
    for name in [m for m in sys.modules if m.startswith("aligncheck.kernel.")]:
        if name.rsplit(".", 1)[1] not in KEPT:
            del sys.modules[name]
    sys.meta_path.insert(0, Mutated(mutant))
    try:
        changed = import_module("aligncheck.kernel.decide")
        patch.object(import_module("aligncheck.kernel.logic"), "ANEW", ()).start()
    except Exception:
        return "breaks all"
    broken = None
    for case in sorted(tried, key=lambda c: c.accepted):
        try:
            accepted = isinstance(changed.decide(case.spec, case.witness), Accepted)
        except Exception:
            broken = broken or f"breaks {case.name}"
            continue
        if accepted and not case.accepted:
            return f"accepts {case.name}"
        if case.accepted and not accepted:
            broken = broken or f"rejects {case.name}"
    return broken or "survives"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kinds", default="check,fact,other")
    parser.add_argument(
        "--files", default=",".join(sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in KEPT))
    )
    parser.add_argument("--every", type=int, default=1, help="only one of so many mutants")
    parser.add_argument("--verbose", action="store_true", help="say what kills each mutant")
    given = parser.parse_args()
    patch.object(logic, "ANEW", ()).start()  # less work, as in the tests of the pairs
    known = [(case, *lines_of(case)) for case in cases()]
    listed = {m for entry in _listed() for m in entry.get("mutants", [])}
    everywhere = {c for entry in _listed() for c in entry.get("changes", [])}
    counted: Counter[str] = Counter()
    number = 0
    for file in given.files.split(","):
        for mutant in mutants(file):
            if mutant.kind not in given.kinds.split(","):
                continue
            number += 1
            if number % given.every:
                continue
            if mutant.change in everywhere:
                counted[f"{mutant.kind}: argued"] += 1
                continue
            here = [(case, spent) for case, ran, spent in known if (file, mutant.line) in ran]
            quick = [case for case, spent in here if spent < SLOW] or [case for case, _ in here][:4]
            answer = outcome(mutant, quick) if quick else "runs in no case"
            sort = answer.split()[0]
            counted[f"{mutant.kind}: {sort}"] += 1
            if given.verbose or (sort in ("survives", "runs") and mutant.name not in listed):
                print(f"{mutant.file}:{mutant.line} {mutant.kind} {mutant.change} => {answer}", flush=True)
    print(f"# {sum(counted.values())} mutants: " + ", ".join(f"{c} {k}" for k, c in sorted(counted.items())))
    return 0


def _listed() -> list[Any]:
    path = Path(__file__).parent / "kernel_survivors.toml"
    return list(tomllib.loads(path.read_text("utf-8")).get("survivors", [])) if path.exists() else []


if __name__ == "__main__":
    sys.exit(main())

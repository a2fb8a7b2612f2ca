"""Mutants of the kernel itself, against specs that it must accept and specs that it must reject.

    PYTHONPATH=tests python tests/mutation/kernel.py [--kinds check,fact] [--files align,run] [--every 1]

A mutant changes one place of one file of `aligncheck/kernel/`. It is killed by a pair of twins
(`kernel_pairs.py`, and those of `specs/rules`), or by a spec whose witness is kept, if it accepts what must
be rejected, or rejects what must be accepted, or by what the unit tests of the kernel ask it, if it has
another answer; only the cases that run the changed line are tried, the quick ones first, up to the first that
kills it. Prints the survivors that `kernel_survivors.toml` has no argument for; what it argues for (mutants,
changes at every place, all that is in a function) is not run. `--results FILE` keeps what was found, and none
of it is tried again.
"""

from __future__ import annotations
import __future__

import argparse
import ast
import json
import os
import pickle
import signal
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from io import StringIO
from pathlib import Path
from time import process_time
from types import CodeType, FrameType, FunctionType
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1]))

import pytest
from kernel_cases import PROJECT, WITNESSES, spec_of, witness_of
from kernel_pairs import PAIRS

import aligncheck.kernel.decide as kernel
from aligncheck.kernel import logic
from aligncheck.kernel.answer import Accepted, Rejected
from aligncheck.kernel.witness import Witness
from aligncheck.language.syntax import nodes as n
from aligncheck.search.witness.sorting import with_sorts

FOLDER = Path(logic.__file__).parent
KEPT = ("witness", "answer", "__init__")
"""Not mutated, and the same for all mutants: what a witness and an answer are made of."""
UNIT = Path(__file__).parents[1] / "unit" / "test_kernel.py"
RULES = Path(__file__).parents[1] / "specs" / "rules"
SLACK = (1, 10)
"""A mutant that takes more than so many seconds of processor time for a case, and so many times what the
kernel takes for it, counts as killed (by the time).
"""
LONG = 0.3
"""Cases that take so many seconds of processor time are not used."""
CONDITIONS = {f"{pair.name}: wrong": pair.conditions.split()[0] for pair in PAIRS}
"""At which condition a case is rejected."""
CALLS = 100
"""So many calls of one function are watched, to see which lines a case runs."""


@dataclass(frozen=True, slots=True)
class Case:
    """A spec, a witness, and whether the kernel accepts it."""

    name: str
    spec: n.Mechanism
    witness: Witness
    accepted: bool


def cases() -> Iterator[Case]:
    for pair in PAIRS:
        yield told(f"{pair.name}: right", pair.right, pair.witness, True)
        yield told(f"{pair.name}: wrong", pair.wrong, pair.witness, False)
    for path in sorted((WITNESSES / "rules").glob("*.json")):
        witness = witness_of("rules", path.stem)
        yield told(f"{path.stem}_ok", spec_of(RULES / f"{path.stem}_ok.dp"), witness, True)
        yield told(f"{path.stem}_bad", spec_of(RULES / f"{path.stem}_bad.dp"), witness, False)
    for path in sorted((WITNESSES / "specs").glob("*.json")):
        spec, witness = spec_of(PROJECT / "specs" / f"{path.stem}.dp"), witness_of("specs", path.stem)
        yield told(path.stem, spec, witness, True)


def told(name: str, spec: n.Mechanism, witness: Witness, accepted: bool) -> Case:
    """The case, told the sorts."""
    return Case(name, spec, with_sorts(spec, witness), accepted)


def decided_in_tests() -> list[Case]:
    """What the kernel's unit tests ask it: each of them would notice another answer."""
    found: list[Case] = []
    decide = kernel.decide

    def kept(
        spec: n.Mechanism, witness: Witness, confirm: logic.Confirm | None = None, known: Any = ()
    ) -> Accepted | Rejected:
        answer = decide(spec, witness, confirm, known)
        if known:
            return answer  # which is no question of a spec and a witness alone
        name = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[2]
        found.append(Case(name, spec, witness, isinstance(answer, Accepted)))
        return answer

    with patch.object(kernel, "decide", kept), redirect_stdout(StringIO()):
        pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", str(UNIT)])
    return found


# --- mutants ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change at a line of a file: `kind` is `check` (something is no longer asked), `fact` (something is
    known where it should not be) or `other`. `function` is the one it is in, by its qualified name (empty: in
    none), `lines` where it is seen that the changed place is run.
    """

    file: str
    line: int
    kind: str
    change: str
    function: str
    lines: frozenset[int]
    place: int
    number: int

    @property
    def name(self) -> str:
        return f"{self.file}: {self.change}"

    @property
    def names(self) -> set[str]:
        """How `kernel_survivors.toml` may call it."""
        return {self.name, f"{self.file}: {self.function}: {self.change}"}

    @property
    def key(self) -> str:
        """The same as long as its function is."""
        text = _texts(self.file).get(self.function, "")
        return f"{self.name} | {self.function} | {sha256(text.encode()).hexdigest()[:8]}"

    def tree(self) -> ast.Module:
        """The changed file; the parsed one is changed for good, so this is for a process of its own."""
        tree = parsed(self.file)
        node = list(ast.walk(tree))[self.place]
        list(_changes(node))[self.number][2](node)
        return ast.fix_missing_locations(tree)


@cache
def parsed(file: str) -> ast.Module:
    return ast.parse((FOLDER / f"{file}.py").read_text("utf-8"))


@cache
def _texts(file: str) -> dict[str, str]:
    """The text of each function, and of what is in none."""
    around, found = _surroundings(file), {"": ""}
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.FunctionDef) and not around[id(node)][0]:
            name = next(around[id(s)][0] for s in node.body)
            found[name] = ast.unparse(node)
    return found


@cache
def _surroundings(file: str) -> dict[int, tuple[str, int, ast.AST]]:
    """For each node of a file: the function of a module or class that it is in, its statement, and where this
    starts.
    """
    found: dict[int, tuple[str, int, ast.AST]] = {}

    def visit(node: ast.AST, function: str, prefix: str, statement: ast.AST) -> None:
        if isinstance(node, ast.stmt | ast.match_case):
            statement = node
        found[id(node)] = function, getattr(statement, "lineno", 0), statement
        for child in ast.iter_child_nodes(node):
            here, inner = function, prefix
            if isinstance(node, ast.ClassDef) and not function:
                inner = f"{prefix}{node.name}."
            if isinstance(node, ast.FunctionDef) and not function and child in node.body:
                here = f"{prefix}{node.name}"
            visit(child, here, inner, statement)

    visit(parsed(file), "", "", parsed(file))
    return found


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
    """All mutants of one file; but not without the one place where a name gets its value, which is an error
    wherever it is read.
    """
    around = _surroundings(file)
    named = {id(k.value) for k in ast.walk(parsed(file)) if isinstance(k, ast.keyword)}
    names = [e for e in ast.walk(parsed(file)) if isinstance(e, ast.Name) and isinstance(e.ctx, ast.Store)]
    given = Counter((around[id(e)][0], e.id) for e in names)
    for place, node in enumerate(ast.walk(parsed(file))):
        if id(node) in named and isinstance(node, ast.Constant):
            continue  # changed with its name
        if isinstance(node, ast.Assign):
            function, targets = around[id(node)][0], [e for t in node.targets for e in _parts(t)]
            if all(isinstance(e, ast.Name) and given[function, e.id] == 1 for e in targets):
                continue
        shown = ""
        for number, (kind, what, _) in enumerate(_changes(node)):
            function, start, statement = around[id(node)]
            shown = shown or _shown(node) + (
                f" in {_shown(statement)}" if isinstance(node, ast.Constant) else ""
            )
            line: int = getattr(node, "lineno", start)
            yield Mutant(
                file, line, kind, f"{what} | {shown}", function, frozenset((line, start)), place, number
            )


def _parts(target: ast.expr) -> list[ast.expr]:
    """What is given a value at once."""
    if not isinstance(target, ast.Tuple | ast.List):
        return [target.value if isinstance(target, ast.Starred) else target]
    return [part for each in target.elts for part in _parts(each)]


def _shown(node: ast.AST) -> str:
    return ast.unparse(node).splitlines()[0][:110]


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
        case ast.keyword(value=ast.Constant(value=bool(value))):
            yield "other", "constant", lambda t: setattr(t.value, "value", not t.value.value)
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
    """The lines of the kernel that a case runs, and the processor time that it takes."""
    start = process_time()
    answer = kernel.decide(case.spec, case.witness)
    spent = process_time() - start
    if isinstance(answer, Accepted) is not case.accepted or spent > LONG:
        return set(), spent  # not used: it takes long, or with less work there is another answer
    ran: set[tuple[str, int]] = set()
    files = {str(path): path.stem for path in FOLDER.glob("*.py")}
    watched: Counter[CodeType] = Counter()

    def local(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            ran.add((files[frame.f_code.co_filename], frame.f_lineno))
        return local

    def watch(frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if code.co_filename not in files or watched[code] >= CALLS:
            return None
        watched[code] += 1
        return local

    sys.settrace(watch)
    try:
        kernel.decide(case.spec, case.witness)
    finally:
        sys.settrace(None)
    return ran, spent


def _functions(values: dict[str, Any], module: str) -> Iterator[FunctionType]:
    """The functions that a module defines, and those of its classes."""
    for value in values.values():
        inner = getattr(value, "__wrapped__", getattr(value, "fget", value))
        if isinstance(inner, FunctionType) and inner.__module__ == module:
            yield inner
        elif isinstance(value, type) and value.__module__ == module:
            yield from _functions(dict(vars(value)), module)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)


class Mutated(Loader, MetaPathFinder):
    """Finds the changed file in place of the one on disk."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return ModuleSpec(name, self) if name == f"aligncheck.kernel.{self.mutant.file}" else None

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        path = str(FOLDER / f"{self.mutant.file}.py")
        exec(compile(self.mutant.tree(), path, "exec"), module.__dict__)


def changed(mutant: Mutant) -> Any:
    """The kernel with one change, in this process: a function gets other code, or all files are read anew."""
    if mutant.function:
        tree = mutant.tree()
        *classes, name = mutant.function.split(".")
        body = tree.body
        for each in classes:
            (outer,) = (s for s in body if isinstance(s, ast.ClassDef) and s.name == each)
            outer.decorator_list, outer.bases = [], []
            body[:], body = [outer], outer.body
        body[:] = [s for s in body if isinstance(s, ast.FunctionDef) and s.name == name]
        code = compile(tree, f"{FOLDER}/{mutant.file}.py", "exec", __future__.annotations.compiler_flag)
        new = next(c for c in _codes(code) if c.co_qualname == mutant.function)
        module = f"aligncheck.kernel.{mutant.file}"
        for function in _functions(vars(sys.modules[module]), module):
            if function.__qualname__ == mutant.function:
                function.__code__ = new
                return kernel
    for module in [m for m in sys.modules if m.startswith("aligncheck.kernel.")]:
        if module.rsplit(".", 1)[1] not in KEPT:
            del sys.modules[module]
    sys.meta_path.insert(0, Mutated(mutant))
    again = import_module("aligncheck.kernel.decide")
    patch.object(import_module("aligncheck.kernel.logic"), "ANEW", logic.FEW).start()
    return again


def outcome(mutant: Mutant, tried: list[tuple[Case, float]]) -> str:
    """In a process of its own: `accepts NAME`, `rejects NAME`, `breaks NAME`, `slow NAME`, or `survives`."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            _judge(mutant, tried, write)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        said = stream.read().splitlines()
    os.waitpid(child, 0)
    return said[-1] if said else "breaks all"


def _judge(mutant: Mutant, tried: list[tuple[Case, float]], write: int) -> None:
    """Says what it comes to; what it says last before the time is over is that this takes long."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 2)  # Z3 prints what it does not take

    def say(text: str) -> None:
        os.write(write, f"{text}\n".encode())

    signal.setitimer(signal.ITIMER_PROF, 2)
    decide = changed(mutant).decide
    for case, spent in tried:
        say(f"slow {case.name}")
        signal.setitimer(signal.ITIMER_PROF, SLACK[0] + SLACK[1] * spent)
        try:
            accepted = isinstance(decide(case.spec, case.witness), Accepted)
        except Exception:
            say(f"breaks {case.name}")
            return
        if accepted is not case.accepted:
            say(f"{'accepts' if accepted else 'rejects'} {case.name}")
            return
    say("survives")


# --- all of them ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Arguments:
    """What `kernel_survivors.toml` argues for: changes at every place, and those that start so; all that is
    in a function; mutants.
    """

    starting: tuple[str, ...]
    changes: frozenset[str]
    functions: frozenset[str]
    mutants: frozenset[str]

    def argued(self, mutant: Mutant) -> bool:
        """Whether it need not be run."""
        place = f"{mutant.file}: {mutant.function}"
        everywhere = mutant.change in self.changes or mutant.change.startswith(self.starting)
        return everywhere or place in self.functions or not mutant.names.isdisjoint(self.mutants)

    @staticmethod
    def read() -> Arguments:
        path = Path(__file__).parent / "kernel_survivors.toml"
        entries = tomllib.loads(path.read_text("utf-8"))["survivors"]
        found = {
            key: [x for e in entries for x in e.get(key, ())]
            for key in ("starting", "changes", "functions", "mutants")
        }
        starting, *rest = found.values()
        return Arguments(tuple(starting), *map(frozenset, rest))


class Survey:
    """The cases with the lines that they run, the quick ones first."""

    def __init__(self, seconds: float, kept: Path | None = None) -> None:
        """`seconds` of processor time, as the kernel takes them, are spent on one mutant. `kept` is a file
        that keeps what the cases run.
        """
        self.seconds = seconds
        self.killers: defaultdict[str, set[str]] = defaultdict(set)
        kernel_now, tests_now = (
            sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()
            for paths in (sorted(FOLDER.glob("*.py")), (UNIT,))
        )
        found = pickle.loads(kept.read_bytes()) if kept is not None and kept.exists() else {}
        if found.get("kernel") != kernel_now:
            found = {"kernel": kernel_now, "lines": {}}
        if found.get("tests") != tests_now:
            found |= {"tests": tests_now, "asked": decided_in_tests()}
        lines, known = found["lines"], []
        for case in (*cases(), *found["asked"]):
            key = f"{case.name} {sha256(repr(case).encode()).hexdigest()}"
            if key not in lines:
                lines[key] = lines_of(case)
            known.append((case, *lines[key]))
        if kept is not None:
            kept.write_bytes(pickle.dumps(found))
        self.known = sorted((each for each in known if each[1]), key=lambda each: each[2])

    def tried(self, mutant: Mutant) -> list[tuple[Case, float]]:
        """The cases for one mutant: first those that have killed another one of its function, or of its file,
        then the quick ones, those that must be accepted and those that must not in turn, most of them where
        the function speaks of the condition that they fail. If it drops a check, or knows too much, those
        that must be rejected come first, and have most of the time: that one of them is accepted tells more
        than any other way to be killed.
        """
        here = [
            (case, spent)
            for case, ran, spent in self.known
            if not mutant.function or any((mutant.file, line) in ran for line in mutant.lines)
        ]
        text = _texts(mutant.file).get(mutant.function, "")
        turn: dict[int, float] = {}
        for group, share in ((lambda c: c.accepted, 1), (lambda c: CONDITIONS.get(c.name, "?") in text, 3)):
            for at, (case, _) in enumerate(e for e in here if group(e[0])):
                turn[id(case)] = at / share
        for at, (case, _) in enumerate(e for e in here if id(e[0]) not in turn):
            turn[id(case)] = at
        near, far = self.killers[f"{mutant.file} {mutant.function}"], self.killers[mutant.file]
        here.sort(key=lambda e: (2 - (e[0].name in near) - (e[0].name in far), turn[id(e[0])]))
        if mutant.kind != "other":
            here.sort(key=lambda e: e[0].accepted)
        chosen: list[tuple[Case, float]] = []
        total = 0.0
        for case, spent in here:
            total += spent
            if total < self.seconds or len(chosen) < 4:
                chosen.append((case, spent))
        return chosen

    def learn(self, mutant: Mutant, answer: str) -> None:
        """Remembers which case kills a mutant."""
        sort, _, name = answer.partition(" ")
        if sort not in ("survives", "runs", "argued"):
            self.killers[f"{mutant.file} {mutant.function}"].add(name)
            self.killers[mutant.file].add(name)

    def outcome(self, mutant: Mutant) -> str:
        tried = self.tried(mutant)
        return outcome(mutant, tried) if tried else "runs in no case"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kinds", default="check,fact,other")
    parser.add_argument(
        "--files", default=",".join(sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in KEPT))
    )
    parser.add_argument("--every", type=int, default=1, help="only one of so many mutants")
    parser.add_argument("--results", type=Path, help="a file that keeps what was found")
    parser.add_argument("--again", action="store_true", help="try the survivors among them again")
    parser.add_argument("--seconds", type=float, default=1, help="processor time for one mutant")
    parser.add_argument("--verbose", action="store_true", help="say what kills each mutant")
    given = parser.parse_args()
    patch.object(logic, "ANEW", logic.FEW).start()  # less work, as in the tests of the pairs
    lines = given.results.with_suffix(".lines") if given.results else None
    survey, arguments = Survey(given.seconds, lines), Arguments.read()
    before: dict[str, str] = {}
    if given.results and given.results.exists():
        before = dict(map(json.loads, given.results.read_text("utf-8").splitlines()))
    counted: Counter[tuple[str, str, str]] = Counter()
    numbered: Counter[str] = Counter()
    keyed = []
    for mutant in (m for f in given.files.split(",") for m in mutants(f)):
        numbered[mutant.key] += 1  # the same change may be possible at several places
        key = f"{mutant.key} | {numbered[mutant.key]}"
        survey.learn(mutant, before.get(key, "survives"))
        if mutant.kind in given.kinds.split(","):
            keyed.append((mutant, key))
    for mutant, key in keyed[:: given.every]:
        answer = before.get(key, "")
        if arguments.argued(mutant):
            answer = "argued"
        elif not answer or (given.again and answer.split()[0] in ("survives", "runs")):
            answer = survey.outcome(mutant)
            survey.learn(mutant, answer)
            if given.results:
                with given.results.open("a", encoding="utf-8") as kept:
                    kept.write(json.dumps([key, answer]) + "\n")
        alive = answer.split()[0] in ("survives", "runs")
        counted[mutant.file, mutant.kind, "open" if alive else answer.split()[0]] += 1
        if given.verbose or alive:
            print(
                f"{mutant.file}:{mutant.line} {mutant.function} {mutant.kind} {mutant.change} => {answer}",
                flush=True,
            )
    for (file, kind, sort), number in sorted(counted.items()):
        print(f"# {file} {kind} {sort}: {number}")
    there = {name for file in given.files.split(",") for m in mutants(file) for name in m.names}
    for name in sorted(arguments.mutants - there):
        if name.partition(":")[0] in given.files.split(","):
            print(f"# argued for, and no mutant: {name}")
    print(f"# {sum(counted.values())} mutants, {len(survey.known)} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())

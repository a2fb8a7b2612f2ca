"""The statements of a program, in order, as those of the language."""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from aligncheck.compiler.modes import RunMode
from aligncheck.compiler.readback.number_kinds import Given, NumberKind
from aligncheck.compiler.readback.python_expressions import (
    Expressions,
    is_total,
    names_of_length,
    speaks_of_lists,
)
from aligncheck.compiler.readback.python_patterns import ReadError, keywords, match, refuse, text
from aligncheck.language.families import Family, Slope
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.nodes import Expr
from aligncheck.language.syntax.walk import names_in, names_set, statements_in

_RATES = {f"{f.row.sampler}_of_rate": f for f in Family if f.row.slope is Slope.CHANCE}
_RATES |= {f"{f.row.sampler}_of_log_odds": f for f in Family if f.coin}
_FAMILIES = {family.row.sampler: family for family in Family} | _RATES
_PLURALS = {f"{name}s": name for name in _FAMILIES} | {n.replace("_of_", "s_of_"): n for n in _RATES}

STEP = "the step of the lattice"
"""The parameter that the lattice's step is made of, in the tree of a mechanism that computes on one."""

_fresh = itertools.count()


@dataclass
class Preprocessing:
    """What a class does with one private input, or list of them. `rounded`: down to integers or to
    the declared lattice; `to_step`: to the step of the class. `sizes`: as an argument,
    the rows and columns of a table.
    """

    name: str
    keyword: str
    sort: nodes.Sort
    vector: bool
    adjacency: nodes.Adjacency
    line: int
    sensitivity: Expr | None = None
    low: Expr | None = None
    high: Expr | None = None
    lattice: Expr | None = None
    whole: bool = False
    rounded: bool = False
    to_step: bool = False
    entries: tuple[str, ...] = ()
    sizes: str = ""


@dataclass
class Read:
    """A class that was read. `tree` is the mechanism that it runs; each of its private inputs is a group of
    its own there, since the class does not depend on which are declared together. Names that are set in the
    program are Python's.
    """

    name: str
    mode: RunMode
    line: int
    tree: nodes.Mechanism
    keywords: Mapping[str, str]
    fields: Mapping[str, str]
    kinds: Mapping[str, NumberKind]
    answers: tuple[Preprocessing, ...]
    units: tuple[Expr, ...]
    told: Mapping[str, str]
    """What it says of its spec, in the spec's words."""
    spec_name: str
    streams: bool
    defaults: Mapping[str, Expr]
    calls: tuple[str, ...] = ()
    callees: Mapping[str, Read] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordType:
    """A class of records: its tag, and its fields' names, Python's first."""

    tag: str
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RecordLabel:
    """That the record of an `emit` is said to be about the answer of `base` at `index`."""

    base: str
    index: Expr
    emit: nodes.Emit
    line: int


@dataclass
class Statements:
    """Reads a block. `mode` is `lattice`, `refined` or `float`; `given` collects what names are set to."""

    scope: Expressions
    lattice: bool
    """Real-valued noise and answers are on the lattice."""
    noisy: bool
    """Real-valued noise may be drawn."""
    passes_step: bool
    """What is called gets the same step."""
    records: Mapping[str, RecordType]
    callees: Mapping[str, Read]
    streams: bool
    variables: frozenset[str] = frozenset()
    set_once: frozenset[str] = frozenset()
    inputs: frozenset[str] = frozenset()
    """Inputs that keep their values."""
    rounds: int = 0
    """How many loops there are around."""
    given: list[Given] = field(default_factory=list)
    dictionaries: set[str] = field(default_factory=set)
    """Python's names for what holds indexed noise, and never anything else."""
    labels: list[RecordLabel] = field(default_factory=list)
    estimates: list[Expr] = field(default_factory=list)
    passing: Counter[str] = field(default_factory=Counter)
    """How often each of Python's names is set to a mechanism that is called, or to its result: no variables
    of the program.
    """

    def program(self, body: list[ast.stmt], own: Container[str]) -> tuple[nodes.Stmt, ...]:
        """The whole program. Dictionaries for indexed noise stand before all else, when nothing is in them;
        `own` are the names that are no inputs.
        """
        rest = list(body)
        while rest and (holes := match("_X: dict[int, _K] = {}", rest[0])) is not None:
            if not isinstance(holes["X"], ast.Name) or holes["X"].id not in own:
                raise refuse(rest[0], "a variable was expected here")
            if not isinstance(holes["K"], ast.Name) or holes["K"].id not in ("int", "Real", "bool"):
                raise refuse(rest[0], "the type of indexed noise is one of int, Real, bool")
            if self.scope.names[holes["X"].id] in self.set_once:
                self.dictionaries.add(holes["X"].id)
            rest.pop(0)
        return self.block(rest)

    def block(self, body: list[ast.stmt]) -> tuple[nodes.Stmt, ...]:
        """The statements of a block."""
        found: list[nodes.Stmt] = []
        rest = list(body)
        while rest:
            if (call := self._invoke(rest[:3])) is not None:
                found.append(call)
                rest = rest[3:]
            else:
                found += self._statement(rest.pop(0))
        return tuple(found)

    def _statement(self, node: ast.stmt) -> Iterator[nodes.Stmt]:
        at = Span(node.lineno, node.lineno)
        match node:
            case ast.Assign(targets=[target], value=value):
                yield self._assigned(target, value, at)
            case ast.AnnAssign(
                target=ast.Name() as target, annotation=ast.Name(id="Real"), value=ast.expr() as value
            ):
                yield self._assigned(target, value, at)
            case ast.If():
                yield self._if(node, at)
            case ast.For(orelse=[]):
                yield self._for(node, at)
            case ast.For():
                yield self._repeated(node, at)
            case ast.While(test=test, body=body, orelse=[]):
                yield nodes.While(self.scope.read(test), self._rounds(body), span=at)
            case ast.Break():
                yield nodes.Break(span=at)
            case ast.Pass():
                yield nodes.Pass(span=at)
            case ast.Expr(value=value):
                if not self._ranks(value):
                    yield self._emit(value, at)
            case ast.stmt():
                raise refuse(
                    node, f"the reader knows no such statement: `{ast.unparse(node).splitlines()[0]}`"
                )

    def _target(self, node: ast.expr) -> str:
        """The variable that is set; parameters keep their names, but no list and no function is set anew."""
        if not isinstance(node, ast.Name) or node.id not in self.variables:
            raise refuse(node, "a variable was expected here")
        ident = self.scope.names[node.id]
        if (ident in self.scope.lengths and ident not in self.set_once) or ident in self.scope.counted:
            raise refuse(node, f"`{node.id}` must keep its value")
        return ident

    # --- assignments and draws ----------------------------------------------------------------------------

    def _assigned(self, target: ast.expr, value: ast.expr, at: Span) -> nodes.Stmt:
        index: Expr | None = None
        if isinstance(target, ast.Subscript):
            index = self.scope.index(target.slice)
            target = target.value
            if not isinstance(target, ast.Name) or target.id not in self.dictionaries:
                raise refuse(target, "indexed noise is put into a dictionary")
        name = self._target(target)
        wrapped = match("Fraction(_X)", value)
        drawn = self._draw(name, index, value if wrapped is None else wrapped["X"], at)
        if drawn is not None:
            kind = NumberKind.REAL if wrapped is not None else None
            if kind and not (isinstance(drawn, nodes.Sample) and drawn.family.discrete):
                raise refuse(value, "a fraction is made of what may be no int")
            self.given.append((name, kind or self._kind_of_draw(drawn)))
            return drawn
        if index is not None:
            raise refuse(value, "a draw was expected here")
        read = self.scope.read(value)
        self.given.append((name, read))
        return nodes.Assign(name, read, span=at)

    def _kind_of_draw(self, drawn: nodes.Stmt) -> NumberKind | Expr:
        if isinstance(drawn, nodes.For):
            (drawn,) = drawn.body
        if isinstance(drawn, nodes.Sample) and drawn.family.stepped:
            return drawn.args[1]
        if isinstance(drawn, nodes.Choose) or (isinstance(drawn, nodes.Sample) and drawn.family.discrete):
            return NumberKind.INT
        return NumberKind.REAL

    def _draw(self, name: str, index: Expr | None, value: ast.expr, at: Span) -> nodes.Stmt | None:
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute) or value.keywords:
            return None
        method, args = value.func.attr, value.args
        if match(f"noise.{method}", value.func) is None:
            return None
        if method in _FAMILIES:
            return self._sample(name, index, method, args, at)
        if index is not None:
            raise refuse(value, "no such draw has an index")
        if method in _PLURALS:
            return self._draw_all(name, method, args, at)
        if method in ("choice", "weighted_choice") and len(args) == 1:
            more = 1 if method == "choice" else 2
            weights = self.scope.generator("Choose", args[0], at, first=more)
            if more == 1:
                weights = replace(weights, body=nodes.Call("exp", (weights.body,), span=at))
            return nodes.Choose(name, weights, span=at)
        if method == "logistic_at" and len(args) in (2, 3):
            location, scale, *low = map(self.scope.read, args)
            return nodes.Logistic(name, location, scale, low[0] if low else None, span=at)
        raise refuse(value, f"`noise.{method}` is no draw that the reader knows")

    def _sample(
        self, name: str, index: Expr | None, method: str, args: list[ast.expr], at: Span
    ) -> nodes.Sample:
        family = _FAMILIES[method]
        if len(args) != len(family.arguments):
            raise ReadError(at.start, f"`noise.{method}` has {len(family.arguments)} arguments")
        given = tuple(map(self.scope.read, args))
        if method in _RATES:
            power = nodes.Call("exp", (nodes.Unary("-", given[0], span=at),), span=at)
            op, one = "+" if family.coin else "-", nodes.Number(Fraction(1))
            given = (nodes.Binary(op, one, power, span=at),)
            given = (nodes.Binary("/", one, given[0], span=at),) if family.coin else given
        twin = family.on_lattice
        if twin is not family and not self.noisy:
            raise ReadError(at.start, "real-valued noise, which the proved form does not have")
        if twin is not family and self.lattice and self.scope.step is not None:
            if twin is None:
                raise ReadError(at.start, f"`noise.{method}` has no discrete form")
            family, given = twin, (*given, self.scope.step)
        return nodes.Sample(name, index, family, given, span=at)

    def _draw_all(self, name: str, method: str, args: list[ast.expr], at: Span) -> nodes.For:
        """A loop that does nothing but draw, its arguments being computed once instead of in each round."""
        *each, last = args
        count = self.scope.index(last)
        index = f"i#{next(_fresh)}d"
        sample = self._sample(name, nodes.Name(index, span=at), _PLURALS[method], each, at)
        if any(name in names_in(part) for part in (*sample.args, count)):
            raise ReadError(at.start, f"`{name}` is drawn with itself")
        runs = names_of_length(count) in self.scope.filled and not any(map(speaks_of_lists, sample.args))
        if not runs and not all(map(is_total, map(self.scope.read, each))):
            raise ReadError(at.start, "a loop without rounds would not compute this")
        if name in self.set_once and not self.rounds and all(map(self._is_fixed, names_in(count))):
            self.scope.lengths[name] = count
        return nodes.For(index, nodes.OverRange(nodes.Number(Fraction(0)), count), (sample,), span=at)

    def _is_fixed(self, name: str) -> bool:
        """Whether a name has one value, from when something outside of all loops has read it."""
        return name in self.set_once or name in self.inputs

    # --- control flow -------------------------------------------------------------------------------------

    def _if(self, node: ast.If, at: Span) -> nodes.If:
        branches = [nodes.Branch(self.scope.read(node.test), self.block(node.body), span=at)]
        match node.orelse:
            case [ast.If() as inner]:
                read = self._if(inner, Span(inner.lineno, inner.lineno))
                return nodes.If((*branches, *read.branches), read.otherwise, span=at)
            case otherwise:
                return nodes.If(tuple(branches), self.block(otherwise), span=at)

    def _for(self, node: ast.For, at: Span) -> nodes.For:
        if holes := match("enumerate(_Q)", node.iter):
            found = match("(_I, _X)", node.target)
            if found is None:
                raise refuse(node.target, "an index and an answer were expected here")
            index: str | None = self._target(found["I"])
            over = self._over(holes["Q"], found["X"])
        elif isinstance(node.iter, ast.Name):
            index, over = None, self._over(node.iter, node.target)
        else:
            index = self._target(node.target)
            return self._looped(index, self.scope.over_range(node.iter), node, at)
        return self._looped(index, over, node, at)

    def _looped(
        self, index: str | None, over: nodes.OverQueries | nodes.OverRange, node: ast.For, at: Span
    ) -> nodes.For:
        if index is not None:
            self.given.append((index, NumberKind.INT))
        loop = nodes.For(index, over, self._rounds(node.body), span=at)
        if {*names_set(loop)} & {name for s in statements_in(loop.body) for name in names_set(s)}:
            raise refuse(node, "the loop alone changes its index and its answer")
        return loop

    def _rounds(self, body: list[ast.stmt]) -> tuple[nodes.Stmt, ...]:
        self.rounds += 1
        read = self.block(body)
        self.rounds -= 1
        return read

    def _over(self, answers: ast.expr, item: ast.expr) -> nodes.OverQueries:
        base, name = self.scope.ident(answers), self._target(item)
        if base not in self.scope.lengths or base in self.set_once or base in self.scope.counted:
            raise refuse(answers, f"`{base}` is no list of inputs")
        self.given.append((name, nodes.Name(base)))
        return nodes.OverQueries(base, name)

    # --- records ------------------------------------------------------------------------------------------

    def _emit(self, node: ast.expr, at: Span) -> nodes.Emit:
        if self.streams:
            if not isinstance(node, ast.Yield) or node.value is None:
                raise refuse(node, "a record that is released must be handed out")
            node = node.value
        holes = (
            match("release.emit(_R)", ast.Call(node.func, node.args, []))
            if isinstance(node, ast.Call)
            else None
        )
        if holes is None or not isinstance(node, ast.Call):
            raise refuse(node, "the reader knows no such statement")
        record, given = holes["R"], keywords(node)
        if not isinstance(record, ast.Call) or not isinstance(record.func, ast.Name) or record.args:
            raise refuse(record, "a record was expected here")
        kind = self.records.get(record.func.id)
        values = keywords(record)
        if kind is None or list(values) != [python for python, _ in kind.fields]:
            raise refuse(record, f"`{record.func.id}` has other fields, or is no record")
        fields = tuple(
            nodes.EmitField(name, self.scope.read(values[python]), span=at) for python, name in kind.fields
        )
        emit = nodes.Emit(kind.tag, fields, span=at)
        if not set(given) <= {"query", "estimate", "choice"}:
            raise refuse(node, "`release.emit` has other arguments")
        if "query" in given:
            self._label(given["query"], emit)
        if "estimate" in given:
            self._estimate(given["estimate"], kind)
        if "choice" in given:
            self._choice(given["choice"], kind)
        return emit

    def _label(self, node: ast.expr, emit: nodes.Emit) -> None:
        holes = match("(_S, _I)", node)
        if holes is None:
            raise refuse(node, "a list and an index were expected here")
        index = self.scope.read(holes["I"])  # where `whole` might raise
        self.scope.whole.append(index)
        self.labels.append(RecordLabel(text(holes["S"]), index, emit, node.lineno))

    def _estimate(self, node: ast.expr, kind: RecordType) -> None:
        holes = match("(_S, _A, _N)", node)
        if holes is None or text(holes["S"]) not in dict(kind.fields):
            raise refuse(node, "a field, a number and its noise were expected here")
        self.estimates.append(self.scope.read(holes["A"]))
        self._noise(holes["N"])

    def _ranks(self, node: ast.expr) -> bool:
        """Reads what says that records are ranks, if this is it."""
        said = said_of_ranks(node)
        if said is None:
            return False
        given = said.body
        holes = match("Ahead(_S, _N)", given) or match("Ahead(_S, _N, _T, _I, _A)", given)
        if holes is None:
            raise refuse(given, "a field and its noise, or those and a threshold, were expected here")
        fields = {python for kind in self.records.values() for python, _ in kind.fields}
        if any(text(holes[each]) not in fields for each in "ST" if each in holes):
            raise refuse(node, "a field of a record was expected here")
        self._noise(holes["N"])
        self.estimates += [self.scope.read(holes[each]) for each in "IA" if each in holes]
        return True

    def _noise(self, node: ast.expr) -> None:
        """Public numbers, as is all that is shown beside a record."""
        given = keywords(node) if isinstance(node, ast.Call) else {}
        sided = match("True", given.get("one_sided", ast.Constant(True))) is not None
        plain = ast.Call(node.func, node.args, []) if isinstance(node, ast.Call) else node
        holes = match("GapNoise(_X, _Y)", plain)
        if holes is None or not sided or not set(given) <= {"one_sided", "step"}:
            raise refuse(node, "the noise of a gap was expected here")
        steps = [given["step"]] if "step" in given else []
        self.estimates += [self.scope.read(each) for each in (holes["X"], holes["Y"], *steps)]

    def _choice(self, node: ast.expr, kind: RecordType) -> None:
        holes = match("(_S, _U)", node)
        if holes is None or text(holes["S"]) not in dict(kind.fields):
            raise refuse(node, "a field and its unit were expected here")
        self.estimates.append(self.scope.read(holes["U"]))

    # --- calls --------------------------------------------------------------------------------------------

    def _invoke(self, three: list[ast.stmt]) -> nodes.Invoke | None:
        """Makes the called mechanism, runs it with this run's noise, and takes what it released."""
        first = three[0]
        if not (
            isinstance(first, ast.Assign)
            and isinstance(first.value, ast.Call)
            and isinstance(first.value.func, ast.Name)
            and first.value.func.id in self.callees
        ):
            return None
        made, run, taken = (self._single(each) for each in [*three, first, first][:3])
        self.passing.update((made[0], run[0]))
        callee = self.callees[first.value.func.id]
        given = self._run_with_noise(run[1], made[0])
        if match("_X.records", taken[1]) is None or match(f"{run[0]}.records", taken[1]) is None:
            raise refuse(three[-1], "what the call released was expected here")
        public = keywords(first.value)
        if first.value.args:
            raise refuse(first, "parameters are given by name")
        if self.passes_step:
            gamma = public.pop("gamma", None)
            if gamma is None or match("self.gamma", gamma) is None:
                raise refuse(first, "what is called must compute on the same lattice")
        arguments = {**public, **given}
        if set(arguments) != set(callee.keywords) or len(public) + len(given) != len(arguments):
            raise refuse(first, "the call has other arguments")
        name = self._target(ast.Name(taken[0], ast.Store(), lineno=first.lineno))
        at = Span(first.lineno, first.lineno)
        passed = tuple(
            nodes.Argument(callee.keywords[python], self._argument(value), span=at)
            for python, value in arguments.items()
        )
        whole = {n for i in callee.tree.inputs if i.sort is nodes.Sort.INT for n in i.names}
        self.scope.whole += [each.value for each in passed if each.name in whole]
        if self.lattice:
            step = nodes.Name(STEP, span=at)
            passed = (*passed, nodes.Argument(STEP, step, span=at))
        self.scope.releases[name] = callee.fields
        self.given += [(f"{name}.{each}", kind) for each, kind in callee.kinds.items()]
        return nodes.Invoke(name, first.value.func.id, passed, span=at)

    def _repeated(self, node: ast.For, at: Span) -> nodes.Invoke:
        """A call that is repeated: in so many rounds at most as there are failures before the first success
        of trials with the chance to stop, and one more. After the last one its name stands for no records.
        """
        stop = match("range(min(1 + noise.geometric(_G), _T))", node.iter)
        holes = stop or match("range(1 + noise.geometric(_G))", node.iter)
        match node.target, node.body, node.orelse:
            case (ast.Name(id=number), [*three, ast.If(body=[ast.Break()], orelse=[]) as ends], [last]) if (
                holes is not None and number in self.variables
            ):
                chance, most = (
                    self.scope.read(holes["G"]),
                    None if stop is None else self.scope.index(stop["T"]),
                )
                call = self._invoke(three) if len(three) == 3 else None
                if call is not None and match(f"{self._single(three[2])[0]} = ()", last) is not None:
                    self.passing.update((number,))
                    rounds = nodes.Rounds(self.scope.read(ends.test), chance, most, span=at)
                    return replace(call, rounds=rounds)
        raise refuse(node, "`else` of a loop is read where a call is repeated")

    def _single(self, node: ast.stmt) -> tuple[str, ast.expr]:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in self.variables:
                return name, value
        raise refuse(node, "one step of a call was expected here")

    def _run_with_noise(self, node: ast.expr, made: str) -> dict[str, ast.expr]:
        if (
            not isinstance(node, ast.Call)
            or node.args
            or match(f"{made}.with_noise(noise.inside())", node.func) is None
        ):
            raise refuse(node, "a call with this run's noise was expected here")
        return keywords(node)

    def _argument(self, node: ast.expr) -> Expr:
        if isinstance(node, ast.ListComp):
            return self.scope.generator(nodes.LISTING, node, Span(node.lineno, node.lineno))
        if isinstance(node, ast.Name) and self.scope.known(node) in self.scope.counted:
            raise refuse(node, "a number of steps is passed on")
        return self.scope.read(node)


def said_of_ranks(node: ast.AST) -> ast.Lambda | None:
    """What says of all records that they are ranks, if this does; it is computed when there are records, from
    public numbers, which do not change.
    """
    said = node.value if isinstance(node, ast.Expr) else node
    if isinstance(said, ast.Call) and match("release.ranks(lambda: _R)", said) is not None:
        given = said.args[0]
        return given if isinstance(given, ast.Lambda) else None
    return None


def variables_of(function: ast.FunctionDef) -> Counter[str]:
    """How often each name is set in a function, those inside comprehensions included."""
    return Counter(
        n.id for n in ast.walk(function) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    )

"""The statements of a spec as Python statements, in the same order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from aligncheck.compiler.emit.chosen import ChosenGap
from aligncheck.compiler.emit.expressions import Writer
from aligncheck.compiler.emit.formatting import (
    COMFORTABLE,
    STEP,
    Brackets,
    Item,
    bracket_lines,
    call,
    line,
    operator_lines,
    quoted,
)
from aligncheck.compiler.emit.gaps import Gap
from aligncheck.compiler.emit.input_checks import InputWriter
from aligncheck.compiler.emit.positions import Answered
from aligncheck.compiler.emit.python_kinds import PythonKind
from aligncheck.compiler.emit.python_names import fresh
from aligncheck.compiler.emit.ranks import released_ranks
from aligncheck.compiler.emit.records import RecordClass, RecordKey
from aligncheck.compiler.forms.rational import rate_of
from aligncheck.language.families import Slope
from aligncheck.language.odds import log_odds_of
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import (
    names_in,
    own_expressions,
    statements_in,
    subexpressions,
)
from aligncheck.language.syntax.weights import log_of


@dataclass(frozen=True, slots=True)
class Program:
    """Writes the statements of a mechanism's program; `callees` are, for what it calls, the name of its class
    and its inputs.
    """

    mechanism: nodes.Mechanism
    writer: Writer
    classes: Mapping[RecordKey, RecordClass]
    callees: Mapping[str, tuple[str, InputWriter]]
    answered: Mapping[int, Answered]
    gaps: Mapping[int, Gap]
    chosen: Mapping[int, ChosenGap]
    streams: bool
    """The program is a generator: each record is handed out as soon as it is released."""
    on_lattice: bool
    """Called mechanisms are on the same lattice as this one."""
    annotated: set[str] = field(default_factory=set)

    def lines(self, indent: str) -> Iterator[str]:
        """The whole body."""
        body = self.mechanism.body
        for name in _indexed(body):
            if name not in self.writer.local and name not in self.writer.lists.drawn_at_once():
                kind = self.writer.kinds.of[name]
                yield f"{indent}{self.writer.names[name]}: dict[int, {self._type(kind)}] = {{}}"
        yield from self._ranks(indent)
        yield from self._block(body, indent)
        if not body:
            yield f"{indent}pass"

    def _type(self, kind: PythonKind) -> str:
        return kind.value

    def _block(self, body: tuple[nodes.Stmt, ...], indent: str) -> Iterator[str]:
        for statement in body:
            yield from self._statement(statement, indent)

    def _statement(self, statement: nodes.Stmt, indent: str) -> Iterator[str]:
        match statement:
            case nodes.Assign(name=name, value=value):
                kind = self.writer.kinds.of[name]
                wraps = kind is PythonKind.REAL and self.writer.kinds.expression(value) is PythonKind.INT
                prefix = f"{indent}{self._target(name)} = "
                if isinstance(value, nodes.Gather) and not wraps:
                    yield from bracket_lines(self.writer.gathered(value), prefix)
                elif wraps:
                    yield line(f"{prefix.lstrip()}{self.writer.of_kind(value, kind)}", indent)
                else:
                    yield from self._long(prefix, value, "")
            case nodes.Invoke(rounds=rounds):
                yield from (
                    self._invoke(statement, indent)
                    if rounds is None
                    else self._repeated(statement, rounds, indent)
                )
            case nodes.Sample():
                yield from self._sample(statement, indent)
            case nodes.Choose(name=name, weights=weights):
                drawn = self.writer.choice(replace(weights, body=log_of(weights.body)))
                yield from bracket_lines(drawn, f"{indent}{self.writer.names[name]} = ")
            case nodes.Logistic(name=name):
                numbers: list[Item] = [self.writer.expression(e) for e in own_expressions(statement)]
                drawn = call("noise.logistic_at", numbers)
                yield from bracket_lines(drawn, f"{indent}{self.writer.names[name]} = ")
            case nodes.If(branches=branches, otherwise=otherwise):
                for word, branch in zip(["if"] + ["elif"] * len(branches), branches, strict=False):
                    yield from self._long(f"{indent}{word} ", branch.test, ":")
                    yield from self._block(branch.body, indent + STEP)
                if otherwise:
                    yield f"{indent}else:"
                    yield from self._block(otherwise, indent + STEP)
            case nodes.For():
                yield from self._for(statement, indent)
            case nodes.While(test=test, body=body):
                yield from self._long(f"{indent}while ", test, ":")
                yield from self._block(body, indent + STEP)
            case nodes.Emit():
                yield from self._emit(statement, indent)
            case nodes.Break():
                yield f"{indent}break"
            case nodes.Pass():
                yield f"{indent}pass"

    def _target(self, name: str) -> str:
        """The variable; at its first assignment with its type, where that would be guessed too narrow."""
        python = self.writer.names[name]
        if name in self.annotated or self.writer.kinds.of[name] is not PythonKind.REAL:
            return python
        self.annotated.add(name)
        body = self.mechanism.body
        times = sum(isinstance(s, nodes.Assign) and s.name == name for s in statements_in(body))
        return python if times < 2 else f"{python}: {self._type(PythonKind.REAL)}"

    def _long(self, prefix: str, expr: nodes.Expr, suffix: str) -> list[str]:
        """A statement with one expression, split at its loosest operators where it is too long."""
        operands, operators = self.writer.chain(expr)
        flat = f"{prefix}{self.writer.expression(expr)}{suffix}"
        if len(flat) > COMFORTABLE and any(isinstance(e, nodes.Gather) for e in subexpressions(expr)):
            return [f"{flat}  # fmt: skip"]  # the formatter would split within the call
        if not operators:
            indent = prefix[: len(prefix) - len(prefix.lstrip())]
            return [line(f"{prefix.lstrip()}{operands[0]}{suffix}", indent)]
        return operator_lines(prefix, operands, operators, suffix)

    def _invoke(self, statement: nodes.Invoke, indent: str) -> Iterator[str]:
        """A call: the callee's object, with this run's noise, on its answers."""
        class_name, inputs = self.callees[statement.mechanism]
        public: list[Item] = []
        private: list[Item] = []
        given = {each.name: each.value for each in statement.arguments}
        for item in inputs.mechanism.inputs:
            for name in item.names:
                passed = f"{inputs.names[name]}={self.writer.expression(given[name])}"
                (private if isinstance(item, nodes.Queries) else public).append(passed)
        names = self.writer.names
        # On a lattice it must divide the callee's units too. Otherwise nothing is rounded inside a call.
        public += ["gamma=self.gamma"] if self.on_lattice else []
        own = fresh(f"{statement.name}_mechanism", names)
        run = fresh(f"{statement.name}_result", names)
        yield from bracket_lines(call(class_name, public), f"{indent}{own} = ")
        yield from bracket_lines(call(f"{own}.with_noise(noise.inside())", private), f"{indent}{run} = ")
        yield f"{indent}{names[statement.name]} = {run}.records"

    def _repeated(self, statement: nodes.Invoke, rounds: nodes.Rounds, indent: str) -> Iterator[str]:
        """A call that is repeated: it is drawn first after how many rounds it stops in any case."""
        number = fresh(f"{statement.name}_round", self.writer.names)
        stop = f"1 + {call('noise.geometric', [self.writer.expression(rounds.chance)]).flat}"
        if rounds.most is not None:
            stop = call("min", [stop, self.writer.index(rounds.most)]).flat
        yield line(f"for {number} in range({stop}):", indent)
        yield from self._invoke(statement, indent + STEP)
        yield from self._long(f"{indent}{STEP}if ", rounds.test, ":")
        yield f"{indent}{STEP * 2}break"
        yield f"{indent}else:"
        yield f"{indent}{STEP}{self.writer.names[statement.name]} = ()"

    def _sample(self, statement: nodes.Sample, indent: str) -> Iterator[str]:
        writer, name = self.writer, statement.name
        function, given = _drawing(statement)
        arguments: list[Item] = [writer.expression(a) for a in given]
        drawn = call(f"noise.{function}", arguments)
        if writer.kinds.of[name] is PythonKind.REAL and writer.kinds.drawn(statement) is PythonKind.INT:
            drawn = call("Fraction", [drawn])
        target = writer.names[name]
        if statement.index is not None and name not in writer.local:
            target = f"{target}[{writer.index(statement.index)}]"
        yield from bracket_lines(drawn, f"{indent}{target} = ")

    def _draw_all(self, sample: nodes.Sample, indent: str) -> Iterator[str]:
        """The draws of a loop that does nothing else, in the same order."""
        function, given = _drawing(sample)
        count = self.writer.index(self.writer.lists.lengths[sample.name])
        arguments: list[Item] = [*(self.writer.expression(a) for a in given), count]
        drawn = call(f"noise.{_plural(function)}", arguments)
        yield from bracket_lines(drawn, f"{indent}{self.writer.names[sample.name]} = ")

    def _for(self, statement: nodes.For, indent: str) -> Iterator[str]:
        if (sample := self.writer.lists.draws.get(id(statement))) is not None:
            yield from self._draw_all(sample, indent)
            return
        names, index = self.writer.names, self._index_of(statement)
        match statement.over:
            case nodes.OverQueries(base=base, item=item) if index is None:
                yield f"{indent}for {names[item]} in {names[base]}:"
            case nodes.OverQueries(base=base, item=item):
                yield f"{indent}for {index}, {names[item]} in enumerate({names[base]}):"
            case nodes.OverRange(low=low, high=high):
                ends = [] if low == nodes.Number(Fraction(0)) else [self.writer.index(low)]
                ranged = call("range", [*ends, self.writer.index(high)])
                yield line(f"for {index} in {ranged.flat}:", indent)
        yield from self._block(statement.body, indent + STEP)

    def _index_of(self, loop: nodes.For) -> str | None:
        """The loop's index in Python; a name of its own where only labels or Python need one."""
        if loop.index is not None:
            return self.writer.names[loop.index]
        labels = any(answered.at is loop for answered in self.answered.values())
        needed = labels or isinstance(loop.over, nodes.OverRange)
        return fresh("position", self.writer.names) if needed else None

    def _emit(self, statement: nodes.Emit, indent: str) -> Iterator[str]:
        item = None
        if (answered := self.answered.get(id(statement))) is not None:
            at = answered.at
            if isinstance(at, nodes.Gather):  # done once, for the record and for its label
                item = fresh("selected", self.writer.names)
                yield from bracket_lines(self.writer.gathered(at), f"{indent}{item} = ")
            else:
                item = self._index_of(at) if isinstance(at, nodes.For) else self.writer.index(at)
        key = statement.tag, tuple(f.name for f in statement.fields)
        record = self.classes[key]
        fields: list[Item] = []
        for part, (_, python, kind) in zip(statement.fields, record.fields, strict=True):
            selected = answered is not None and part.value is answered.at and kind is PythonKind.INT
            fields.append(f"{python}={item if selected else self.writer.of_kind(part.value, kind)}")
        arguments: list[Item] = [call(record.name, fields)]
        if answered is not None:
            shift = f" {'+' if answered.shift > 0 else '-'} {abs(answered.shift)}" if answered.shift else ""
            arguments.append(f"query=({quoted(answered.base)}, {item}{shift})")
        if (gap := self.gaps.get(id(statement))) is not None:
            arguments.append(self._estimate(gap, dict(f[:2] for f in record.fields)[gap.field]))
        if (beside := self.chosen.get(id(statement))) is not None:
            python = quoted(dict(f[:2] for f in record.fields)[beside.field])
            arguments.append(Brackets("choice=(", (python, self.writer.expression(beside.unit))))
        prefix = "yield " if self.streams else ""
        yield from bracket_lines(call("release.emit", arguments), f"{indent}{prefix}")

    def _estimate(self, gap: Gap, python: str) -> Brackets:
        """The field that tells an answer, by its Python name, what must be added to it, and its noise."""
        noise = self._noise((gap.answer_scale, gap.threshold_scale), gap.one_sided, gap.step)
        return Brackets("estimate=(", (quoted(python), self.writer.expression(gap.added), noise))

    def _ranks(self, indent: str) -> Iterator[str]:
        """Says that records are ranks, and what is known of the gaps between them."""
        if (rank := released_ranks(self.mechanism)) is None:
            return
        python = {spec: name for record in self.classes.values() for spec, name, _ in record.fields}
        said: list[Item] = [quoted(python[rank.field])]
        said.append(self._noise((rank.scale, rank.scale), rank.one_sided, rank.step))
        if (threshold := rank.threshold) is not None:
            numbers = [self.writer.expression(each) for each in (threshold.index, threshold.value)]
            said += [quoted(python[threshold.field]), *numbers]
        flat = f"{indent}release.ranks(lambda: {call('Ahead', said).flat})"
        yield flat if len(flat) <= COMFORTABLE else f"{flat}  # fmt: skip"

    def _noise(self, scales: tuple[nodes.Expr, nodes.Expr], one_sided: bool, step: nodes.Expr | None) -> Item:
        numbers: list[Item] = [self.writer.expression(each) for each in scales]
        more = ["one_sided=True"] if one_sided else []
        steps = [] if step is None else [f"step={self.writer.expression(step)}"]
        return call("GapNoise", [*numbers, *more, *steps])


def _drawing(sample: nodes.Sample) -> tuple[str, tuple[nodes.Expr, ...]]:
    """The method that draws, and its arguments: `Geo(1 - exp(-x))` is drawn by its rate x, exactly, and a
    coin with the chance `1/(1 + exp(x))` by the logarithm of its odds.
    """
    if sample.family.row.slope is Slope.CHANCE and (rate := rate_of(sample.args[0])) is not None:
        return "geometric_of_rate", (rate,)
    if sample.family.coin and (log_odds := log_odds_of(sample.args[0])) is not None:
        return "bernoulli_of_log_odds", (log_odds,)
    return sample.family.row.sampler, sample.args


def _plural(function: str) -> str:
    """The method that draws several."""
    one, of, what = function.partition("_of_")
    return f"{one}s{of}{what}"


def loop_locals(mechanism: nodes.Mechanism) -> list[str]:
    """Indexed noise that is drawn and read under the index of one loop only: a plain variable does for it."""
    found = []
    for loop in statements_in(mechanism.body):
        if not isinstance(loop, nodes.For) or loop.index is None:
            continue
        for name in _indexed(loop.body):
            inside, everywhere = _indices(loop.body, name), _indices(mechanism.body, name)
            if len(inside) == len(everywhere) and set(inside) == {nodes.Name(loop.index)}:
                found.append(name)
    return found


def _indexed(body: tuple[nodes.Stmt, ...]) -> list[str]:
    """The indexed noise variables that a block draws, in source order."""
    return list(
        dict.fromkeys(
            s.name for s in statements_in(body) if isinstance(s, nodes.Sample) and s.index is not None
        )
    )


def _indices(body: tuple[nodes.Stmt, ...], name: str) -> list[nodes.Expr]:
    """Every index under which a block draws or reads an indexed noise variable."""
    found: list[nodes.Expr] = []
    for statement in statements_in(body):
        if isinstance(statement, nodes.Sample) and statement.name == name and statement.index is not None:
            found.append(statement.index)
        for top in _run_expressions(statement):
            found += [e.index for e in subexpressions(top) if isinstance(e, nodes.Index) and e.base == name]
    return found


def _run_expressions(statement: nodes.Stmt) -> tuple[nodes.Expr, ...]:
    """The expressions that a statement evaluates when it runs: all but invariants."""
    match statement:
        case nodes.For(over=nodes.OverRange(low=low, high=high)):
            return (low, high)
        case nodes.For():
            return ()
        case nodes.While(test=test):
            return (test,)
        case nodes.Simple() | nodes.If():
            return own_expressions(statement)


def names_read(statement: nodes.Stmt) -> frozenset[str]:
    """The names that a statement itself reads when it runs."""
    names = frozenset(n for e in _run_expressions(statement) for n in names_in(e))
    if isinstance(statement, nodes.For) and isinstance(statement.over, nodes.OverQueries):
        return names | {statement.over.base}
    return names

"""Systematic mutants of a spec: one small change of its syntax tree at a time, each with a name to be read.

A rule is a function from a place in the tree to what may stand there instead. Nothing here knows of proofs,
and nothing is random: a spec always has the same mutants in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from difflib import SequenceMatcher
from fractions import Fraction
from typing import Any, TypeAlias

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import names_in, statements_in
from aligncheck.language.unparse import unparse

ONE, TWO = n.Number(Fraction(1)), n.Number(Fraction(2))
ZERO = n.Number(Fraction(0))


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a spec: `rule` says of what kind, `change` which lines it turned into which.

    `change` is unique among the mutants of one spec, and the key in the table of survivors.
    """

    spec: str
    rule: str
    change: str
    mechanism: n.Mechanism


@dataclass(frozen=True, slots=True)
class Site:
    """A node, the nodes around it with the fields that lead to it (outermost first), how to replace it."""

    node: n.Node
    around: tuple[tuple[n.Node, str], ...]
    put: Callable[[Any], n.Mechanism]

    @property
    def section(self) -> str:
        """`inputs`, `privacy`, `body` (the program), `align`; empty for the spec itself."""
        return self.around[0][1] if self.around else ""


Change: TypeAlias = tuple[str, n.Node]
"""The rule, and what stands in the place of the node."""


def mutants_of(spec: str, mechanism: n.Mechanism) -> list[Mutant]:
    """All mutants of a spec that differ from it and from each other."""
    vocabulary = _Vocabulary(mechanism)
    text = unparse(mechanism)
    seen = {mechanism}
    found: list[Mutant] = []
    named: dict[str, int] = {}
    for site in _sites(mechanism):
        for rule, after in _changes(site, vocabulary):
            mutated = site.put(after)
            if mutated in seen:
                continue
            seen.add(mutated)
            change = _difference(text, unparse(mutated))
            named[change] = named.get(change, 0) + 1
            unique = change if named[change] == 1 else f"{change} (place {named[change]})"
            found.append(Mutant(spec, rule, unique, mutated))
    return found


def _sites(mechanism: n.Mechanism) -> Iterator[Site]:
    yield from _below(Site(mechanism, (), lambda whole: whole))


def _below(site: Site) -> Iterator[Site]:
    yield site
    for field in fields(site.node):
        if field.name == "default":  # of a parameter: a proof is for every value
            continue
        value = getattr(site.node, field.name)
        around = (*site.around, (site.node, field.name))
        if isinstance(value, n.Node):
            yield from _below(Site(value, around, _putter(site, field.name, None)))
        elif isinstance(value, tuple):
            for position, part in enumerate(value):
                if isinstance(part, n.Node):
                    yield from _below(Site(part, around, _putter(site, field.name, position)))


def _putter(site: Site, name: str, position: int | None) -> Callable[[Any], n.Mechanism]:
    def put(new: Any) -> n.Mechanism:
        if position is None:
            return site.put(_with(site.node, name, new))
        parts = list(getattr(site.node, name))
        parts[position] = new
        return site.put(_with(site.node, name, tuple(parts)))

    return put


def _with(node: n.Node, field: str, value: Any) -> n.Node:
    """The node with another value of one field."""
    changes: dict[str, Any] = {field: value}
    return replace(node, **changes)


def _difference(before: str, after: str) -> str:
    """The lines that changed, as `old => new`; blocks of lines are joined by ` | `."""
    old, new = _lines(before), _lines(after)
    parts = []
    for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            parts.append(f"{_joined(old[i:j])} => {_joined(new[k:m])}")
    return " and ".join(parts)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def _joined(lines: list[str]) -> str:
    return " | ".join(lines) if lines else "nothing"


# --- the names that may be exchanged ------------------------------------------------------------------------


class _Vocabulary:
    """The names of a spec, sorted by what they may be exchanged with."""

    def __init__(self, mechanism: n.Mechanism) -> None:
        statements = list(statements_in(mechanism.body))
        samples = [s for s in statements if isinstance(s, n.Sample)]
        self.noise = {s.name: s.index is not None for s in samples}
        self.tags = tuple(dict.fromkeys(s.tag for s in statements if isinstance(s, n.Emit)))
        queries = [item for item in mechanism.inputs if isinstance(item, n.Queries)]
        self.lists = {name for item in queries if item.vector for name in item.names}
        self.answers = {name for item in queries if not item.vector for name in item.names}
        self.answers |= {
            s.over.item
            for s in statements
            if isinstance(s, n.For) and isinstance(s.over, n.OverQueries) and s.over.base in self.lists
        }
        self.private = self._private(statements)
        self.constants = self._constants(mechanism)

    def _private(self, statements: list[n.Stmt]) -> set[str]:
        """Program variables and answers that noise or data flows into (by assignments, not by tests)."""
        found = self.answers | self.lists | set(self.noise)
        for _ in statements:
            found |= {s.name for s in statements if isinstance(s, n.Assign) and names_in(s.value) & found}
        return found

    def _constants(self, mechanism: n.Mechanism) -> tuple[str, ...]:
        """Real parameters and the numbers computed from them at the start: scales, shares of the budget."""
        found = [
            item.name
            for item in mechanism.inputs
            if isinstance(item, n.Parameter) and item.sort is n.Sort.REAL
        ]
        for statement in mechanism.body:
            if not isinstance(statement, n.Assign) or names_in(statement.value) & self.private:
                break
            found.append(statement.name)
        return tuple(found)


# --- the rules ----------------------------------------------------------------------------------------------


def _changes(site: Site, names: _Vocabulary) -> Iterator[Change]:
    match site.node:
        case n.Pure(epsilon=claimed, most=most):
            yield "claim-halved", replace(site.node, epsilon=_half(claimed))
            yield "claim-doubled", replace(site.node, epsilon=_twice(claimed))
            if most is not None:
                yield "bound-halved", replace(site.node, most=_half(most))
        case n.Concentrated(rho=claimed):
            yield "claim-halved", replace(site.node, rho=_half(claimed))
            yield "claim-doubled", replace(site.node, rho=_twice(claimed))
        case n.Approximate(epsilon=claimed, delta=delta):
            yield "claim-halved", replace(site.node, epsilon=_half(claimed))
            yield "claim-halved", replace(site.node, delta=_half(delta))
            yield "claim-doubled", replace(site.node, delta=_twice(delta))
        case n.Parameter() | n.PublicVector() | n.Queries():
            yield from _of_input(site.node)
        case n.Choose() | n.Logistic():
            yield from _of_density(site.node)
        case n.Assign() | n.Emit() | n.Sample() | n.If() | n.For() | n.While():
            yield from _of_statement(site, names)
        case n.Shift():
            yield from _of_shift(site.node)
        case n.CaseSplit():
            yield from _of_split(site.node)
        case n.Branch() | n.Case() | n.EmitField() | n.Break() | n.Pass() | n.Expectation():
            pass
        case _:
            yield from _of_expression(site, names)
    for field in fields(site.node):
        value = getattr(site.node, field.name)
        if isinstance(value, tuple) and value and field.name in ("body", "otherwise", "align", "items"):
            yield from ((rule, _with(site.node, field.name, new)) for rule, new in _of_block(value))


def _of_block(block: tuple[Any, ...]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """A statement or a line of the alignment left out; two neighbours exchanged."""
    program = not isinstance(block[0], n.Shift | n.CaseSplit)
    for position in range(len(block)):
        rest = (*block[:position], *block[position + 1 :])
        yield ("statement" if program else "line") + "-dropped", rest or ((n.Pass(),) if program else ())
    if program:
        for position in range(len(block) - 1):
            first, second = block[position : position + 2]
            yield "statements-swapped", (*block[:position], second, first, *block[position + 2 :])


# --- inputs ---


_WIDER = {n.Sort.INT: n.Sort.REAL}


def _of_input(declared: n.Input) -> Iterator[Change]:
    if declared.where is not None:
        yield "where-dropped", replace(declared, where=None)
    if isinstance(declared, n.Parameter | n.Queries) and declared.sort in _WIDER:
        yield "integers-dropped", replace(declared, sort=_WIDER[declared.sort])
    if not isinstance(declared, n.Queries):
        return
    if declared.sensitivity is not None:
        yield "sensitivity-doubled", replace(declared, sensitivity=_twice(declared.sensitivity))
        yield "sensitivity-halved", replace(declared, sensitivity=_half(declared.sensitivity))
    for adjacency in n.Adjacency:
        if adjacency is not n.Adjacency.ANY:
            yield "adjacency-changed", replace(declared, adjacency=adjacency)
    if declared.lattice is not None:
        yield "lattice-dropped", replace(declared, lattice=None)
        yield "lattice-doubled", replace(declared, lattice=_twice(declared.lattice))
        yield "lattice-halved", replace(declared, lattice=_half(declared.lattice))
    if declared.range is not None:
        low, high = declared.range
        yield "range-widened", replace(declared, range=(low, _twice(high)))


# --- statements ---


_OTHER_FAMILY = {
    n.Family.LAPLACE: n.Family.EXPONENTIAL,
    n.Family.EXPONENTIAL: n.Family.LAPLACE,
    n.Family.DISCRETE_LAPLACE: n.Family.DISCRETE_EXPONENTIAL,
    n.Family.DISCRETE_EXPONENTIAL: n.Family.DISCRETE_LAPLACE,
}


def _of_statement(site: Site, names: _Vocabulary) -> Iterator[Change]:
    match site.node:
        case n.Sample() as sample:
            yield from _of_sample(sample)
        case n.If() as statement:
            yield from _of_if(statement)
        case n.Emit(tag, released) as record:
            yield from (("tag-changed", replace(record, tag=other)) for other in names.tags if other != tag)
            for position in range(len(released)):
                yield (
                    "field-dropped",
                    replace(record, fields=(*released[:position], *released[position + 1 :])),
                )
            for leak in _leaks(site, names):
                yield "leak-added", replace(record, fields=(*released, n.EmitField("leak", leak)))
        case n.For(over=n.OverRange(low, high) as over) as loop:
            yield "range-longer", replace(loop, over=replace(over, high=n.Binary("+", high, ONE)))
            yield "range-shorter", replace(loop, over=replace(over, high=n.Binary("-", high, ONE)))
            yield "range-later", replace(loop, over=replace(over, low=n.Binary("+", low, ONE)))
        case _:
            pass


def _of_density(draw: n.Choose | n.Logistic) -> Iterator[Change]:
    match draw:
        case n.Choose(weights=weights):
            if weights.where is not None:
                yield "set-widened", replace(draw, weights=replace(weights, where=None))
        case n.Logistic(location=location, scale=scale, low=low):
            yield "scale-halved", replace(draw, scale=_half(scale))
            yield "scale-doubled", replace(draw, scale=_twice(scale))
            yield "location-halved", replace(draw, location=_half(location))
            if low is not None:
                yield "cut-dropped", replace(draw, low=None)
                yield "cut-raised", replace(draw, low=n.Binary("+", low, ONE))


def _of_sample(sample: n.Sample) -> Iterator[Change]:
    scale, *rest = sample.args
    for rule, factor in (("scale-halved", _half), ("scale-doubled", _twice)):
        yield rule, replace(sample, args=(_rescaled(sample.family, scale, factor), *rest))
    match scale:
        case n.Binary("/", left, right):
            yield "scale-inverted", replace(sample, args=(n.Binary("/", right, left), *rest))
        case _:
            pass
    if sample.family in _OTHER_FAMILY:
        yield "family-changed", replace(sample, family=_OTHER_FAMILY[sample.family])
    if rest:
        yield "step-doubled", replace(sample, args=(scale, _twice(rest[0])))
        yield "step-halved", replace(sample, args=(scale, _half(rest[0])))
        yield "family-changed", replace(sample, family=n.Family.LAPLACE, args=(scale,))


def _rescaled(family: n.Family, scale: n.Expr, factor: Callable[[n.Expr], n.Expr]) -> n.Expr:
    """Half or twice the scale, which for Geo(p) is -1/ln(1 - p): half of it for `Geo(1 - (1 - p)**2)`."""
    if family is not n.Family.GEOMETRIC:
        return factor(scale)
    stays = n.Binary("-", ONE, scale)
    power = n.Call("sqrt", (stays,)) if factor is _twice else n.Binary("**", stays, TWO)
    return n.Binary("-", ONE, power)


def _of_if(statement: n.If) -> Iterator[Change]:
    branches, otherwise = statement.branches, statement.otherwise
    if otherwise:
        yield "else-dropped", replace(statement, otherwise=())
    for position, branch in enumerate(branches):
        rest = (*branches[:position], *branches[position + 1 :])
        if rest:
            yield "arm-dropped", replace(statement, branches=rest)
        later = branches[position + 1 : position + 2]
        if later:
            swapped = (replace(branch, body=later[0].body), replace(later[0], body=branch.body))
            yield (
                "bodies-swapped",
                replace(statement, branches=(*branches[:position], *swapped, *branches[position + 2 :])),
            )
        elif otherwise:
            yield (
                "bodies-swapped",
                replace(
                    statement,
                    branches=(*branches[:position], replace(branch, body=otherwise)),
                    otherwise=branch.body,
                ),
            )
        negated = replace(branch, test=n.Unary("not", branch.test))
        yield (
            "test-negated",
            replace(statement, branches=(*branches[:position], negated, *branches[position + 1 :])),
        )


def _leaks(site: Site, names: _Vocabulary) -> Iterator[n.Expr]:
    """What may be released besides: the answer at hand, and all noise that is drawn in the blocks around."""
    for around, _ in site.around:
        body = getattr(around, "body", ())
        if isinstance(around, n.For) and isinstance(around.over, n.OverQueries):
            yield n.Name(around.over.item)
        for statement in body:
            match statement:
                case n.Sample(name, None):
                    yield n.Name(name)
                case n.Sample(name, index) if index is not None:
                    yield n.Index(name, index)
                case n.Assign(name) if name in names.private:
                    yield n.Name(name)
                case _:
                    pass
    yield from (n.Name(name) for name in sorted(names.answers) if not _is_item(site, name))


def _is_item(site: Site, name: str) -> bool:
    """Whether `name` is the item of some loop (and so no answer that exists everywhere)."""
    whole = site.around[0][0]
    assert isinstance(whole, n.Mechanism)
    return any(
        isinstance(s, n.For) and isinstance(s.over, n.OverQueries) and s.over.item == name
        for s in statements_in(whole.body)
    )


# --- alignment ---


def _of_shift(line: n.Shift) -> Iterator[Change]:
    yield "shift-doubled", replace(line, value=_twice(line.value))
    yield "shift-halved", replace(line, value=_half(line.value))
    yield "shift-negated", replace(line, value=n.Unary("-", line.value))
    if line.op != "=":
        yield "shift-assigned", replace(line, op="=")
    if line.guard is not None:
        yield "guard-dropped", replace(line, guard=None)
        yield "guard-negated", replace(line, guard=_negated(line.guard))


def _of_split(split: n.CaseSplit) -> Iterator[Change]:
    for position in range(len(split.cases)):
        rest = (*split.cases[:position], *split.cases[position + 1 :])
        if rest:
            yield "case-dropped", replace(split, cases=rest)
    if split.otherwise:
        yield "otherwise-dropped", replace(split, otherwise=())
        (*before, last) = split.cases
        yield (
            "cases-swapped",
            replace(split, cases=(*before, replace(last, items=split.otherwise)), otherwise=last.items),
        )
    for position in range(len(split.cases) - 1):
        one, two = split.cases[position : position + 2]
        yield (
            "cases-swapped",
            replace(
                split,
                cases=(
                    *split.cases[:position],
                    replace(one, items=two.items),
                    replace(two, items=one.items),
                    *split.cases[position + 2 :],
                ),
            ),
        )


# --- expressions ---


_STRICT = {">=": ">", ">": ">=", "<=": "<", "<": "<=", "==": ">=", "!=": "<"}
_REVERSED = {">=": "<", ">": "<=", "<=": ">", "<": ">=", "==": "!=", "!=": "=="}
_OTHER_CALL = {"min": "max", "max": "min"}
_OTHER_GATHER = {"argmax": "argmin", "argmin": "argmax", "max": "min", "min": "max"}


def _of_expression(site: Site, names: _Vocabulary) -> Iterator[Change]:
    match site.node:
        case n.Binary("+", left, right):
            yield from (("term-dropped", left), ("term-dropped", right))
            yield "sign-changed", n.Binary("-", left, right)
        case n.Binary("-", left, right):
            yield from (("term-dropped", left), ("term-dropped", n.Unary("-", right)))
            yield "sign-changed", n.Binary("+", left, right)
        case n.Binary("*" | "**" | "%", left, right):
            yield from (("factor-dropped", left), ("factor-dropped", right))
        case n.Binary("/", left, right):
            yield from (("factor-dropped", left), ("factor-dropped", n.Binary("/", ONE, right)))
        case n.Unary(_, operand):
            yield "sign-changed", operand
        case n.Compare(op, left, right):
            yield "strictness-changed", n.Compare(_STRICT[op], left, right)
            yield "comparison-reversed", n.Compare(_REVERSED[op], left, right)
            yield "bound-raised", n.Compare(op, left, n.Binary("+", right, ONE))
            yield "bound-lowered", n.Compare(op, left, n.Binary("-", right, ONE))
        case n.Logic(op, args):
            yield "logic-changed", n.Logic("or" if op == "and" else "and", args)
            for position in range(len(args)):
                rest = (*args[:position], *args[position + 1 :])
                yield "part-dropped", rest[0] if len(rest) == 1 else n.Logic(op, rest)
        case n.Conditional(test, then, otherwise):
            yield "arms-swapped", n.Conditional(test, otherwise, then)
            yield from (("arm-dropped", then), ("arm-dropped", otherwise))
        case n.Number(value):
            yield "number-raised", n.Number(value + 1)
            if value != 0:
                yield "number-lowered", n.Number(value - 1)
        case n.Boolean(truth):
            yield "truth-changed", n.Boolean(not truth)
        case n.Call(function, args):
            if function in _OTHER_CALL:
                yield "function-changed", n.Call(_OTHER_CALL[function], args)
            if function != "len":
                yield from (("function-dropped", arg) for arg in args)
        case n.Gather(function, where=where) as gathered:
            if function in _OTHER_GATHER:
                yield "function-changed", replace(gathered, function=_OTHER_GATHER[function])
            if where is not None:
                yield "filter-dropped", replace(gathered, where=None)
                yield "filter-negated", replace(gathered, where=_negated(where))
        case n.Member():
            yield "test-negated", _negated(site.node)
        case n.Name() | n.Index() as reference:
            yield from _of_reference(site, reference, names)
        case n.OutIs(index, tag):
            yield from (("tag-changed", n.OutIs(index, other)) for other in names.tags if other != tag)
            yield "index-raised", n.OutIs(n.Binary("+", index, ONE), tag)
        case n.OutField(index, released):
            yield "index-raised", n.OutField(n.Binary("+", index, ONE), released)
        case _:
            pass


def _of_reference(site: Site, node: n.Name | n.Index, names: _Vocabulary) -> Iterator[Change]:
    in_align = site.section == "align"
    if in_align and (node.primed or (node.ident if isinstance(node, n.Name) else node.base) in names.private):
        yield "prime-changed", replace(node, primed=not node.primed)
    match node:
        case n.Index(base, index):
            yield "index-raised", replace(node, index=n.Binary("+", index, ONE))
            yield "index-lowered", replace(node, index=n.Binary("-", index, ONE))
            if index != ZERO:
                yield "index-fixed", replace(node, index=ZERO)
            if base in names.noise and not in_align:
                for other, indexed in names.noise.items():
                    yield "noise-reused", n.Index(other, index) if indexed else n.Name(other)
        case n.Name(ident):
            if ident in names.noise and not in_align:
                for other, indexed in names.noise.items():
                    if not indexed:
                        yield "noise-reused", n.Name(other)
            if ident in names.constants:
                place = names.constants.index(ident)
                for other in (*names.constants[place + 1 :], *names.constants[:place])[:2]:
                    yield "name-changed", n.Name(other)


def _half(expr: n.Expr) -> n.Expr:
    return n.Binary("/", expr, TWO)


def _twice(expr: n.Expr) -> n.Expr:
    return n.Binary("*", TWO, expr)


def _negated(expr: n.Expr) -> n.Expr:
    return expr.operand if isinstance(expr, n.Unary) and expr.op == "not" else n.Unary("not", expr)

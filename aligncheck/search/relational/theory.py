"""Inputs as terms, and the only facts that a proof may assume: parameter ranges and adjacency.

Design rule 3: nothing else is assumed. Facts about one symbol are given when that symbol occurs
(`Theory.facts`), instantiated at its index, so that every obligation stays free of quantifiers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations

from aligncheck.language.adjacencies import Shared
from aligncheck.language.check.sort_inference import sorts_of
from aligncheck.language.check.symbol_table import symbols_of
from aligncheck.language.internal import InternalError
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.contract import contract_of
from aligncheck.language.syntax.nodes import Expr, Mechanism, Parameter, PublicVector, Queries
from aligncheck.language.syntax.walk import expressions_in, gathered_in_full, sharing, statements_in
from aligncheck.search.relational import callees, ir, labels
from aligncheck.search.relational.declared import about_entries, inputs_of, of_all, of_lists, of_one, step_of
from aligncheck.search.relational.maxima import Gathered, Registry, UnsupportedError
from aligncheck.search.relational.sums import Sums
from aligncheck.search.relational.to_terms import TermEvaluator

Ground = Fraction | bool


@dataclass(frozen=True)
class Grounding:
    """Numbers for some parameters and lengths, for the search for a small counterexample; never in a
    proof.
    """

    parameters: Mapping[str, Ground] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Theory:
    """The inputs of one mechanism: their terms and what may be assumed of them.

    With `public_only` nothing is assumed of D and D': the clauses that *define* the adjacency are judged so,
    lest they support themselves.
    """

    mechanism: Mechanism
    grounding: Grounding = field(default_factory=Grounding)
    public_only: bool = False
    registry: Registry = field(default_factory=Registry, compare=False)
    released: callees.ReleaseFacts = field(default_factory=callees.ReleaseFacts, compare=False)
    sums: Sums = field(default_factory=Sums, compare=False)

    # --- names --------------------------------------------------------------------------------------------

    @cached_property
    def inputs(self) -> dict[str, nodes.Input]:
        """Every declared name with its declaration."""
        return inputs_of(self.mechanism)

    @cached_property
    def calls(self) -> dict[str, nodes.Invoke]:
        """The names that hold what a call released, with the call."""
        return {s.name: s for s in statements_in(self.mechanism.body) if isinstance(s, nodes.Invoke)}

    def records(self, event: callees.AlignedCall) -> callees.Records:
        """What one execution of a call released."""
        given = {**event.values, **{n: each.length for n, each in event.lists.items()}}
        sorts = callees.sorts_released(self.mechanism, event.name)
        return callees.Records(event.name, event.number, contract_of(event.use), sorts, given)

    def hidden_in(self, atom: ir.Sym | ir.App) -> tuple[ir.Term, ...] | None:
        """What the symbol of a maximum, of an index of one or of a sum is made of, besides its arguments, or
        by what a call's release comes about; None for a symbol without a definition.
        """
        execution = callees.execution_of(atom)
        if execution is not None:
            return (execution,)
        return self.sums.hidden_in(atom) or self.registry.hidden_in(atom)

    @cached_property
    def functions(self) -> dict[str, nodes.Function]:
        """The public functions of which nothing is known."""
        return {f.name: f for f in self.mechanism.functions}

    def _group_of(self, name: str) -> Queries:
        """The declaration of an answer."""
        group = self.inputs[name]
        if not isinstance(group, Queries):
            raise InternalError("an answer that no group declares")
        return group

    def is_private(self, name: str) -> bool:
        """Whether an input is one of the answers."""
        return isinstance(self.inputs.get(name), Queries)

    def parameter(self, name: str) -> ir.Term:
        """A public scalar."""
        item = self.inputs[name]
        if not isinstance(item, Parameter):
            raise InternalError("an input that is no parameter")
        ground = self.grounding.parameters.get(name)
        if ground is not None:
            return ir.Truth(ground) if isinstance(ground, bool) else ir.const(ground)
        return ir.Sym(name, ir.TermSort(item.sort.value), ir.Nature.PARAMETER)

    def applied(self, function: str, args: list[ir.Term]) -> ir.Term:
        """A public function at some arguments: equal arguments give equal values, and no more is known."""
        sort = ir.TermSort(self.functions[function].result.value)
        return ir.App(labels.PublicFunction(function), tuple(args), sort, ir.Nature.PARAMETER)

    def answer(self, name: str, index: ir.Term | None, primed: bool) -> ir.Term:
        """An answer on D, or on D' (`primed`); `index` is None for a scalar query."""
        left = self._scaled(name, index, name, ir.Nature.DATA)
        return ir.add(left, self.distance(name, index)) if primed else left

    def distance(self, name: str, index: ir.Term | None) -> ir.Term:
        """How far the answer on D' is from the answer on D."""
        return self._scaled(name, index, labels.Apart(name), ir.Nature.DISTANCE)

    def _scaled(self, name: str, index: ir.Term | None, label: labels.Label, kind: ir.Nature) -> ir.Term:
        """On a lattice the symbol is the number of steps."""
        group = self._group_of(name)
        sort = ir.TermSort.REAL if step_of(group) is None else ir.TermSort.INT
        symbol: ir.Term = ir.Sym(label, sort, kind) if index is None else ir.App(label, (index,), sort, kind)
        return symbol if group.lattice is None else ir.mul(self.input_term(group.lattice, index), symbol)

    def entry(self, name: str, index: ir.Term, primed: bool) -> ir.Term:
        """An entry of a public vector or of a vector of queries."""
        item = self.inputs[name]
        if isinstance(item, PublicVector):
            return ir.App(name, (index,), ir.TermSort(item.sort.value), ir.Nature.PARAMETER)
        return self.answer(name, index, primed)

    def length(self, name: str) -> ir.Term:
        """The public number of entries."""
        ground = self.grounding.lengths.get(name)
        return (
            ir.const(ground)
            if ground is not None
            else ir.Sym(labels.ListLength(name), ir.TermSort.INT, ir.Nature.PARAMETER)
        )

    def is_vector(self, name: str) -> bool:
        """Whether a declared name is a list."""
        item = self.inputs.get(name)
        return isinstance(item, PublicVector) or (isinstance(item, Queries) and item.vector)

    def ordered(self, name: str, op: str) -> ir.Term | None:
        """`q <= q'` or `q >= q'` over all entries, as one ghost truth."""
        item = self.inputs.get(name)
        if not isinstance(item, Queries) or not item.vector or op not in ("<=", ">="):
            return None
        return _order_flag(name, op)

    @cached_property
    def gathers(self) -> Mapping[str, nodes.Gather]:
        """The variables whose only assignment is a maximum or a selection at the top level of the program: in
        the alignment they stand for their values in the complete run.
        """
        return gathered_in_full(self.mechanism.body)

    def with_candidates(self, meaning: Gathered) -> Gathered:
        """A set with the indices that may be known to be in it: the public ones that have a name."""
        named = tuple(
            self.parameter(p.name)
            for p in self.mechanism.inputs
            if isinstance(p, Parameter) and p.sort is nodes.Sort.INT
        )
        return replace(meaning, candidates=named)

    @property
    def is_concrete(self) -> bool:
        """Whether parameters and lengths are numbers: only in the search for a counterexample."""
        return bool(self.grounding.parameters or self.grounding.lengths)

    @cached_property
    def truth_fields(self) -> frozenset[str]:
        """The fields of records that hold truths; `check` refuses to use one that holds numbers elsewhere."""
        symbols = symbols_of(Source("", ""), self.mechanism)  # a checked mechanism has no fault to point at
        fields = sorts_of(self.mechanism, symbols).fields
        return frozenset(name for name, sort in fields.items() if sort is nodes.Sort.BOOL)

    # --- facts --------------------------------------------------------------------------------------------

    def input_term(self, expr: Expr, index: ir.Term | None, primed: bool = False) -> ir.Term:
        return TermEvaluator(InputScope(self, index, primed)).term(expr)

    def value(self, name: str, index: ir.Term | None, primed: bool) -> ir.Term:
        """What an input is, in one run: a scalar, or the entry of a list."""
        if isinstance(self.inputs[name], Parameter):
            return self.parameter(name)
        return self.answer(name, None, primed) if index is None else self.entry(name, index, primed)

    def clause(self, expr: Expr, index: ir.Term | None, primed: bool) -> ir.Term:
        """An expression of a declaration."""
        return self.input_term(expr, index, primed)

    @cached_property
    def base(self) -> tuple[ir.Term, ...]:
        """Facts that always hold: `where` clauses, lengths, and the relations between an adjacency's
        ghosts.
        """
        found: list[ir.Term] = []
        for item in self.mechanism.inputs:
            if not (self.public_only and isinstance(item, Queries)):
                for primed in (False, True) if isinstance(item, Queries) else (False,):
                    found += [said.holds for said in of_all(item, self.inputs, self, primed)]
        for item in self.mechanism.inputs:
            found += [said.holds for said in of_lists(item, self.inputs, self)]
            if isinstance(item, Queries) and not self.public_only:
                found += self._group_facts(item)
        return tuple(f for f in found if f != ir.TRUE)

    def generic_entries(self) -> tuple[ir.Term, ...]:
        """One entry of every list, at a legal index, with all that may be assumed of it: for the question
        whether the declarations can be met at all (rule 2).
        """
        found: list[ir.Term] = []
        for name, item in self.inputs.items():
            index: ir.Term | None = None
            if self.is_vector(name):
                index = ir.Sym("i", ir.TermSort.INT, ir.Nature.GHOST)
                found += [ir.le(ir.ZERO, index), ir.lt(index, self.length(name))]
            if isinstance(item, PublicVector):
                found += self._value_facts(name, index)
            elif isinstance(item, Queries):
                found += self._answer_facts(name, index)
        return tuple(found)

    @cached_property
    def sensible(self) -> tuple[tuple[tuple[ir.Term, ...], ir.Term, str, Span], ...]:
        """Conditions on the clauses themselves: (what may be assumed, condition, its text, where)."""
        generic = ir.Sym("i", ir.TermSort.INT, ir.Nature.GHOST)
        found: list[tuple[tuple[ir.Term, ...], ir.Term, str, Span]] = []
        for item in self.mechanism.inputs:
            if not isinstance(item, Queries):
                continue
            for name in item.names:
                for clauses, holds, text, span in self._sensible_clauses(item, generic):
                    found.append((self._where_read(name, clauses, generic), holds, text, span))
        return tuple(found)

    def _where_read(self, name: str, clauses: tuple[Expr, ...], index: ir.Term) -> tuple[ir.Term, ...]:
        """Where facts that clauses state are used: at entries of the list if they speak of one entry at a
        time, else whatever the list's length, 0 too.
        """
        return (self.legal(name, index),) if any(about_entries(c, self.inputs) for c in clauses) else ()

    def _sensible_clauses(
        self, group: Queries, index: ir.Term
    ) -> Iterator[tuple[tuple[Expr, ...], ir.Term, str, Span]]:
        if group.sensitivity is not None:
            least = ir.le(ir.ZERO, self.input_term(group.sensitivity, index))
            yield (group.sensitivity,), least, "the sensitivity is never negative", group.sensitivity.span
        unit = step_of(group)
        step = None if unit is None else self.input_term(unit, index)
        if step is not None and group.lattice is not None:
            yield (group.lattice,), ir.lt(ir.ZERO, step), "the lattice's step is positive", group.lattice.span
        if group.range is None:
            return
        low, high = (self.input_term(e, index) for e in group.range)
        span = group.range[0].span
        yield group.range, ir.le(low, high), "the range is not empty", span
        if step is not None and unit is not None:
            most = ir.mul(step, ir.fn("floor", ir.div(high, step)))  # the greatest multiple that is not above
            what = "a whole number" if group.lattice is None else "a multiple of the step"
            holds = ir.or_(
                (ir.and_((ir.le(low, ir.ZERO), ir.le(ir.ZERO, high))), ir.le(low, most))
            )  # 0 is one, too
            yield (*group.range, unit), holds, f"the range holds {what}", span

    @cached_property
    def claim(self) -> ir.Term:
        """The claimed privacy; it may depend on counts of the output."""
        return self.input_term(self.mechanism.privacy, None)

    @cached_property
    def most(self) -> ir.Term | None:
        """The public bound on the claim, if there is one."""
        bound = self.mechanism.most
        return None if bound is None else self.input_term(bound, None)

    @cached_property
    def sizes(self) -> tuple[ir.Term, ...]:
        """How far an answer of each group may move, at a generic index."""
        generic = ir.Sym("i", ir.TermSort.INT, ir.Nature.GHOST)
        groups = [item for item in self.mechanism.inputs if isinstance(item, Queries)]
        return tuple(self.size(group, generic) for group in groups)

    def size(self, group: Queries, index: ir.Term | None) -> ir.Term:
        """How far one answer may move: the sensitivity, or (adjacency `any`) the width of the range."""
        if group.sensitivity is not None:
            return self.input_term(group.sensitivity, index)
        if group.range is None:
            raise InternalError("answers without a range")
        low, high = (self.input_term(e, index) for e in group.range)
        return ir.add(high, ir.neg(low))

    def _group_facts(self, group: Queries) -> list[ir.Term]:
        """Of all moves together. The places are different ones: those of answers that move are, and others
        can be outside of the group, but where there is one place only.
        """
        found = [ir.or_(self.directions(group))] if self._one_way(group) else []
        ways = group.adjacency.ways if group.vector or len(group.names) > 1 else ()
        for pair in combinations((self._place(group, way) for way in ways), 2):
            found.append(ir.not_(ir.and_(ir.eq(a, b) for a, b in zip(*pair, strict=True))))
        if group.adjacency.in_all:
            if group.sensitivity is None:
                raise InternalError("answers without a sensitivity")
            totals = [_total(name) for name in group.names]
            bound = self.input_term(group.sensitivity, None)
            found += [ir.le(ir.add(*totals), bound), *(ir.le(ir.ZERO, t) for t in totals)]
        return found

    def _place(self, group: Queries, way: labels.Way) -> tuple[ir.Term, ir.Term]:
        """Where the (unknown) differing answer stands: which of the names, at which index."""
        which: ir.Term = ir.ZERO
        if len(group.names) > 1:
            which = ir.Sym(labels.Which(way, group.names), ir.TermSort.INT, ir.Nature.GHOST)
        where: ir.Term = (
            ir.Sym(
                labels.DifferingIndex(way, self._first(group, Shared.INDEX).names),
                ir.TermSort.INT,
                ir.Nature.GHOST,
            )
            if group.vector
            else ir.ZERO
        )
        return which, where

    def directions(self, group: Queries) -> tuple[ir.Term, ir.Term]:
        """For adjacency `monotone`: that all answers go up, that all go down."""
        up, down = (
            ir.Sym(
                labels.Direction(way, self._first(group, Shared.DIRECTION).names),
                ir.TermSort.BOOL,
                ir.Nature.GHOST,
            )
            for way in (labels.Way.UP, labels.Way.DOWN)
        )
        return up, down

    def _first(self, group: Queries, what: Shared) -> Queries:
        """The first line that shares it with this one: both are said of one symbol."""
        return sharing(self.mechanism.inputs, group, what)[0]

    def _one_way(self, group: Queries) -> bool:
        return group.adjacency.one_way or len(sharing(self.mechanism.inputs, group, Shared.DIRECTION)) > 1

    def place(self, name: str) -> tuple[ir.Term, ...]:
        """The ghost indices at which `name` may differ, where only so many answers may."""
        group = self._group_of(name)
        return tuple(self._place(group, way)[1] for way in group.adjacency.ways)

    def facts(self, atom: ir.Sym | ir.App) -> tuple[ir.Term, ...]:
        """What may be assumed of one symbol that occurs in an obligation."""
        index = atom.args[0] if isinstance(atom, ir.App) else None
        match atom.label:
            case labels.Apart(name):
                return self._answer_facts(name, index)
            case str() as name:
                valued = atom.kind is ir.Nature.DATA or (
                    atom.kind is ir.Nature.PARAMETER and index is not None
                )
                return self._value_facts(name, index) if valued and name in self.inputs else ()
            case labels.CallRelease():
                return self.released.facts(atom)
            case labels.RecordIs() if index is not None:
                return (ir.implies(atom, ir.and_((ir.le(ir.ZERO, index), ir.lt(index, count_of(None))))),)
            case labels.RecordCount():
                return (ir.le(ir.ZERO, atom),)
            case labels.Order(name):
                return self._order_facts(name)
            case labels.Prefix(name) if index is not None:
                return (
                    ir.le(ir.ZERO, atom),
                    ir.implies(ir.eq(index, ir.ZERO), ir.eq(atom, ir.ZERO)),
                    ir.le(atom, _total(name)),
                )
            case (
                labels.AtHead()
                | labels.DrawOnD()
                | labels.Unsettled()
                | labels.ListLength()
                | labels.PublicFunction()
                | labels.DifferingIndex()
                | labels.Which()
                | labels.Direction()
                | labels.Total()
                | labels.Prefix()
                | labels.RecordIs()
                | labels.RecordField()
                | labels.Extremum()
                | labels.ExtremalIndex()
                | labels.AttainedAt()
                | labels.SelectedIndex()
                | labels.Size()
                | labels.IsSelected()
                | labels.Ranked()
                | labels.Below()
                | labels.SumForm()
                | labels.BoundIndex()
                | labels.Copy()
            ):
                return ()

    def _value_facts(self, name: str, index: ir.Term | None) -> tuple[ir.Term, ...]:
        """What is declared of one value, in the runs in which it may differ; that it is a whole number its
        symbol's sort says.
        """
        item = self.inputs[name]
        sides = (False, True) if isinstance(item, Queries) else (False,)
        said = (s for primed in sides for s in of_one(item, name, index, self.inputs, self, primed))
        return tuple(s.holds for s in said if not isinstance(s.holds, ir.IsInt))

    def legal(self, name: str, index: ir.Term | None) -> ir.Term:
        """That an index is one of the list: what reading an entry demands, and where a clause about entries
        says something.
        """
        if index is None or not self.is_vector(name):
            return ir.TRUE
        return ir.and_((ir.le(ir.ZERO, index), ir.lt(index, self.length(name))))

    def _answer_facts(self, name: str, index: ir.Term | None) -> tuple[ir.Term, ...]:
        """D ~ D' at one answer, if there is one at this index.

        Clauses that do not mention `i` were shown to make sense for all parameters and lengths (`sensible`),
        so they need no such guard: facts at an index that is not there can be met as well.
        """
        facts = self._adjacency_facts(name, index)
        group = self._group_of(name)
        clauses = (group.sensitivity, group.lattice, *(group.range or ()))
        if not any(c is not None and about_entries(c, self.inputs) for c in clauses):
            return facts
        legal = self.legal(name, index)
        return tuple(ir.implies(legal, f) for f in facts)

    def _adjacency_facts(self, name: str, index: ir.Term | None) -> tuple[ir.Term, ...]:
        """D ~ D' at one answer. Each fact is the definition of the adjacency, instantiated at `index`."""
        group = self._group_of(name)
        d = self.distance(name, index)
        ranges = self._value_facts(name, index)
        if group.adjacency.free:
            return ranges
        if group.sensitivity is None:
            raise InternalError("answers without a sensitivity")
        bound = self.input_term(group.sensitivity, index)
        within = (ir.le(ir.neg(bound), d), ir.le(d, bound))
        extra = self._joint_facts(group, name, index, d)
        flags: tuple[ir.Term, ...] = ()
        if group.vector and name in self._compared:
            flags = (
                ir.implies(_order_flag(name, "<="), ir.le(ir.ZERO, d)),
                ir.implies(_order_flag(name, ">="), ir.le(d, ir.ZERO)),
            )
        return (*within, *extra, *flags, *ranges)

    def _joint_facts(
        self, group: Queries, name: str, index: ir.Term | None, d: ir.Term
    ) -> tuple[ir.Term, ...]:
        """What the adjacency says beyond the bound on each answer."""
        if group.adjacency.in_all:
            return self._l1_facts(name, index, d)
        found: list[ir.Term] = []
        if self._one_way(group):
            up, down = self.directions(group)
            found += [ir.implies(up, ir.le(ir.ZERO, d)), ir.implies(down, ir.le(d, ir.ZERO))]
        if group.adjacency.ways:
            places = [(way, self._at(group, way, name, index)) for way in group.adjacency.ways]
            found.append(ir.or_((ir.eq(d, ir.ZERO), *(here for _, here in places))))
            signed = ((here, way.sign) for way, here in places if way.sign)
            found += [
                ir.implies(here, ir.le(ir.ZERO, d) if sign > 0 else ir.le(d, ir.ZERO))
                for here, sign in signed
            ]
        return tuple(found)

    def _at(self, group: Queries, way: labels.Way, name: str, index: ir.Term | None) -> ir.Term:
        which, where = self._place(group, way)
        here = ir.eq(which, ir.const(group.names.index(name)))
        return ir.and_((here, ir.eq(where, index))) if index is not None else here

    def _l1_facts(self, name: str, index: ir.Term | None, d: ir.Term) -> tuple[ir.Term, ...]:
        """`prefix(i)` is the sum of |d| over the entries before i: it starts at 0, grows by |d|, never
        exceeds the total.
        """
        size = ir.fn("abs", d)
        if index is None:
            return (ir.eq(size, _total(name)),)
        before, after = prefix(name, index), prefix(name, ir.add(index, ir.const(1)))
        return (ir.eq(after, ir.add(before, size)), ir.le(ir.ZERO, before), ir.le(after, _total(name)))

    def _order_facts(self, name: str) -> tuple[ir.Term, ...]:
        """If not every answer goes up, a monotone pair goes down, and conversely."""
        group = self._group_of(name)
        if not self._one_way(group):
            return ()
        up, down = self.directions(group)
        rises, falls = _order_flag(name, "<="), _order_flag(name, ">=")
        return (ir.implies(up, rises), ir.implies(down, falls), ir.or_((up, down)))

    @cached_property
    def _compared(self) -> frozenset[str]:
        """The vectors that the alignment compares as a whole."""
        found: set[str] = set()
        for expr in expressions_in(self.mechanism):
            if isinstance(expr, nodes.Compare):
                match expr.left, expr.right:
                    case nodes.Name(ident=a), nodes.Name(ident=b) if a == b and self.is_vector(a):
                        found.add(a)
        return frozenset(found)

    def pairwise(self, found: list[ir.App]) -> list[ir.Term]:
        """Facts about two indices at once: prefix sums grow with the index."""
        sums = [a for a in found if isinstance(a.label, labels.Prefix)]
        return [
            ir.implies(ir.le(a.args[0], b.args[0]), ir.le(a, b))
            for a in sums
            for b in sums
            if a != b and a.label == b.label
        ]


def _order_flag(name: str, op: str) -> ir.Sym:
    return ir.Sym(labels.Order(name, op), ir.TermSort.BOOL, ir.Nature.GHOST)


def _total(name: str) -> ir.Sym:
    return ir.Sym(labels.Total(name), ir.TermSort.REAL, ir.Nature.GHOST)


def count_of(tag: str | None) -> ir.Sym:
    """How many records the output has, of a tag or in all."""
    return ir.Sym(labels.RecordCount(tag), ir.TermSort.INT, ir.Nature.OMEGA)


def prefix(name: str, index: ir.Term) -> ir.Term:
    """The sum of |q'[j] - q[j]| over j < index."""
    return ir.App(labels.Prefix(name), (index,), ir.TermSort.REAL, ir.Nature.GHOST)


def seen(place: ir.Term, index: ir.Term) -> ir.Term:
    """1 where the differing answer stands before `index`, else 0."""
    return ir.ite(ir.lt(place, index), ir.const(1), ir.ZERO)


@dataclass(frozen=True)
class InputScope:
    """Names inside `sensitivity`, `where`, `lattice` and `range`: inputs, and `i` for the index at hand."""

    theory: Theory
    index: ir.Term | None
    side: bool = False

    def name(self, ident: str, primed: bool, span: Span) -> ir.Term:
        item = self.theory.inputs.get(ident)
        if item is None:
            if ident != "i":
                raise InternalError("an input clause cannot mention this name")
            return self.index if self.index is not None else ir.Sym("i", ir.TermSort.INT, ir.Nature.GHOST)
        if isinstance(item, Queries):
            return self.theory.answer(ident, None, primed or self.side)
        return self.theory.parameter(ident)

    def entry(self, base: str, index: ir.Term, primed: bool, span: Span) -> tuple[ir.Term, ir.Term]:
        return self.theory.entry(base, index, primed or self.side), self.theory.legal(base, index)

    def length(self, base: str) -> ir.Term:
        return self.theory.length(base)

    def ordered(self, left: str, op: str) -> ir.Term | None:
        return None

    def omega(
        self, expr: nodes.OutIs | nodes.OutField | nodes.OutCount, index: ir.Term | None
    ) -> tuple[ir.Term, ir.Term]:
        """Only the claim speaks of the output, by counts."""
        if not isinstance(expr, nodes.OutCount):
            raise InternalError("an input clause cannot mention what records hold")
        return count_of(expr.tag), ir.TRUE

    def applied(self, function: str, args: list[ir.Term]) -> ir.Term:
        return self.theory.applied(function, args)

    def member(self, selection: str, index: ir.Term) -> ir.Term:
        raise InternalError("an input clause cannot mention a selection")

    def gathered(self, expr: nodes.Gather, meaning: Gathered) -> tuple[ir.Term, ir.Term]:
        raise UnsupportedError(expr.span, "a maximum over a set in an input clause")

"""What the prover found, in the kernel's words. Nothing here needs to be believed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from aligncheck.kernel.witness import Chance, LoopWitness, Witness
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.search.discharge import choose
from aligncheck.search.relational import ir, labels
from aligncheck.search.witness import needed
from aligncheck.search.witness.line_costs import resolved


class UntranslatableError(Exception):
    """The kernel has no word for it."""


# --- terms in the kernel's words --------------------------------------------------------------------------


@dataclass(frozen=True)
class Wording:
    """How the symbols of one loop's invariants are spelled; `cut` is the number of that loop, `gathers` are
    the maxima that symbols stand for, as the spec says them, `released` the selections without a name that
    the program releases in the end.
    """

    cut: int
    gathers: Mapping[labels.Label, n.Gather] = field(default_factory=dict)
    released: Mapping[str, n.OutField] = field(default_factory=dict)

    def expression(self, term: ir.Term) -> n.Expr:
        """The term as an expression. Raises UntranslatableError."""
        match term:
            case ir.Const(value=v):
                return n.Number(v)
            case ir.Truth(value=b):
                return n.Boolean(b)
            case ir.Sym():
                return self._symbol(term)
            case ir.App(args=(index,)):
                return self._at(term, self.expression(index))
            case ir.App():
                raise UntranslatableError
            case ir.Add(parts=parts, constant=c):
                terms = [self._scaled(t, k) for t, k in parts] + ([n.Number(c)] if c else [])
                return _joined("+", terms)
            case ir.Mul(args=args):
                return _joined("*", [self.expression(a) for a in args])
            case ir.Div(left=x, right=y):
                return n.Binary("/", self.expression(x), self.expression(y))
            case ir.Fn(name="mod", args=(x, y)):
                return n.Binary("%", self.expression(x), self.expression(y))
            case ir.Fn(name=f, args=args):
                return n.Call(f, tuple(self.expression(a) for a in args))
            case ir.Ite(test=t, then=x, otherwise=y):
                return n.Conditional(self.expression(t), self.expression(x), self.expression(y))
            case ir.Cmp(op=op, left=x, right=y):
                return n.Compare(op, self.expression(x), self.expression(y))
            case ir.Not(arg=x):
                return n.Unary("not", self.expression(x))
            case ir.And(args=args):
                return n.Logic("and", tuple(self.expression(a) for a in args))
            case ir.Or(args=args):
                return n.Logic("or", tuple(self.expression(a) for a in args))
            case ir.IsInt():
                raise UntranslatableError

    def _scaled(self, term: ir.Term, factor: Fraction) -> n.Expr:
        e = self.expression(term)
        return e if factor == 1 else n.Binary("*", n.Number(factor), e)

    def _symbol(self, sym: ir.Sym) -> n.Expr:
        match sym.label:
            case str() as name:
                return n.Name(name)
            case labels.DrawOnD(name):
                return n.Name(name)
            case labels.AtHead(key, loop, side):
                return self._kept(key, loop, side)
            case labels.Apart(q):
                return n.Binary("-", n.Name(q, True), n.Name(q))
            case labels.ListLength(name) | labels.Size(name):
                return n.Call("len", (n.Name(name),))
            case labels.Order(q, op):
                return n.Compare(op, n.Name(q), n.Name(q, True))
            case labels.DifferingIndex(way, (q,)):
                return n.Name(f"${way.mark}_{q}")
            case labels.Extremum(str() as name, primed):
                return n.Name(name, primed)
            case labels.SelectedIndex(name):
                return self.released.get(name, n.Name(name))
            case (labels.Extremum() | labels.ExtremalIndex()) as label if label in self.gathers:
                return self.gathers[label]
            case labels.AttainedAt(labels.Extremum() as label) if label in self.gathers:
                gather = self.gathers[label]
                return replace(gather, function=f"arg{gather.function}")
            case (
                labels.DifferingIndex()
                | labels.Extremum()
                | labels.AttainedAt()
                | labels.Unsettled()
                | labels.PublicFunction()
                | labels.Which()
                | labels.Direction()
                | labels.Total()
                | labels.Prefix()
                | labels.RecordIs()
                | labels.RecordField()
                | labels.RecordCount()
                | labels.ExtremalIndex()
                | labels.IsSelected()
                | labels.Ranked()
                | labels.Below()
                | labels.CallRelease()
                | labels.SumForm()
                | labels.BoundIndex()
                | labels.Copy()
            ):
                raise UntranslatableError

    def _kept(self, key: labels.Key, loop: int, side: labels.Side) -> n.Expr:
        """What the environment keeps at the head of a loop: of this one, or of one around it, which it
        remembers.
        """
        then = "" if loop == self.cut else f"$head_{loop - 1}_"
        match key, side:
            case str(), labels.Side.APART if not then:
                return n.Binary("-", n.Name(key, True), n.Name(key))
            case str(), labels.Side.ON_D:
                return n.Name(then + key)
            case str(), labels.Side.ON_D_PRIME if not then:
                return n.Name(key, True)
            case labels.Ledger.COST, labels.Side.ON_D:
                return n.Name(f"{then}alignment_cost")
            case labels.Ledger.RECORDS, labels.Side.ON_D:
                return n.Name(f"{then or '$'}records")
            case labels.Ledger.ROUND, labels.Side.ON_D:
                return n.Name(f"$round_{self.cut - 1}")
            case labels.Counted(tag), labels.Side.ON_D:
                return n.Name(f"{then or '$'}count_{tag}")
            case labels.Latest(name), labels.Side.ON_D:
                return n.Binary("-", n.Name(f"{then or '$'}drawn_{name}"), n.Number(Fraction(1)))
            case _:
                raise UntranslatableError

    def _at(self, app: ir.App, index: n.Expr) -> n.Expr:
        match app.label:
            case str() as name:
                return n.Index(name, index)
            case labels.DrawOnD(name):
                return n.Index(name, index)
            case labels.Apart(q):
                return n.Binary("-", n.Index(q, index, True), n.Index(q, index))
            case labels.Prefix(q):
                return n.Index(f"$moved_{q}", index)
            case labels.Below(selection):
                return n.Index(f"$below_{selection}", index)
            case labels.IsSelected(selection):
                return n.Member(index, selection)
            case labels.Ranked(selection):
                return n.Index(selection, index)
            case labels.RecordIs(tag):
                return n.OutIs(index, tag)
            case labels.RecordField(field):
                return n.OutField(index, field)
            case (
                labels.AtHead()
                | labels.ListLength()
                | labels.Size()
                | labels.Order()
                | labels.DifferingIndex()
                | labels.Extremum()
                | labels.SelectedIndex()
                | labels.AttainedAt()
                | labels.Unsettled()
                | labels.PublicFunction()
                | labels.Which()
                | labels.Direction()
                | labels.Total()
                | labels.RecordCount()
                | labels.ExtremalIndex()
                | labels.CallRelease()
                | labels.SumForm()
                | labels.BoundIndex()
                | labels.Copy()
            ):
                raise UntranslatableError


def _joined(op: str, parts: list[n.Expr]) -> n.Expr:
    result = parts[0]
    for part in parts[1:]:
        result = n.Binary(op, result, part)
    return result


_OF_EVERY_RUN = {
    ir.Nature.PARAMETER,
    ir.Nature.DATA,
    ir.Nature.NOISE,
    ir.Nature.STATE,
    ir.Nature.COUNTER,
}


def _early(term: ir.Term) -> bool:
    """Whether a term speaks of the run on D alone, and of nothing that only complete runs have."""
    return all(a.kind in _OF_EVERY_RUN or _is_counted(a.label) for a in ir.atoms((term,)))


def _is_counted(label: labels.Label) -> bool:
    """Whether it is an input's place, or what is counted in every run."""
    kept = label.key if isinstance(label, labels.AtHead) else None
    counted = kept in (labels.Ledger.RECORDS, labels.Ledger.ROUND) or isinstance(
        kept, labels.Counted | labels.Latest
    )
    return counted or isinstance(label, labels.DifferingIndex)


# --- the first guess --------------------------------------------------------------------------------------


def guessed(spec: n.Mechanism, chosen: choose.Chosen | None) -> Witness:
    """Everything that the prover found, in the kernel's words, and what its habits suggest."""
    loops = [s for s in walk.statements_in(spec.body) if isinstance(s, n.For | n.While)]
    found = chosen.invariants if chosen is not None else {}
    shared = {
        k: {x for x, pair in cut.fresh.items() if isinstance(x, str) and pair.left is pair.right}
        for k, cut in enumerate(chosen.analysis.cuts if chosen is not None else ())
    }
    gathers = _gathers(chosen) if chosen is not None else {}
    released = _released(spec, chosen) if chosen is not None else {}
    made = tuple(
        _loop(spec, stmt, Wording(k + 1, gathers, released), found.get(k + 1, ()), shared.get(k + 1, ()))
        for k, stmt in enumerate(loops)
    )
    return Witness(made, Witness().route, _sample(spec), _indices(spec), _promises(spec))


def _gathers(chosen: choose.Chosen) -> dict[labels.Label, n.Gather]:
    """The maxima without a name, and those that a variable holds throughout, in the spec's words."""
    named = ((labels.Extremum(name, False), g) for name, g in chosen.theory.gathers.items())
    spoken = ((symbol.label, g) for symbol, g in chosen.theory.registry.spoken.items())
    return dict((*named, *spoken))


def _released(spec: n.Mechanism, chosen: choose.Chosen) -> dict[str, n.OutField]:
    """Where the only record holds a selection that has a name in the search alone."""
    emits = [s for s in walk.statements_in(spec.body) if isinstance(s, n.Emit)]
    fields = emits[0].fields if len(emits) == 1 and spec.body[-1] is emits[0] else ()
    return {
        name: n.OutField(n.Number(Fraction(0)), f.name)
        for name, gather in chosen.theory.gathers.items()
        for f in fields
        if f.value == gather
    }


def _indices(spec: n.Mechanism) -> tuple[n.Expr, ...]:
    """The first index of each selection whose members a set in the alignment is made of."""
    read = [e for top in walk.align_expressions(spec.align) for e in walk.subexpressions(top)]
    sets = [e.where for e in read if isinstance(e, n.Gather) and isinstance(e.where, n.Member)]
    names = dict.fromkeys(where.selection for where in sets)
    return tuple(n.Index(name, n.Number(Fraction(0))) for name in names)


def _promises(spec: n.Mechanism) -> tuple[n.Expr, ...]:
    """That there is a first record, where the alignment reads one that the program releases in the end, and
    that it holds what the program selected.
    """
    last = spec.body[-1] if spec.body else None
    emits = [s for s in walk.statements_in(spec.body) if isinstance(s, n.Emit)]
    if isinstance(last, n.Emit) and len(emits) == 1 and _reads_output(spec):
        first = n.Number(Fraction(0))
        given = Counter(s.name for s in walk.statements_in(spec.body) if isinstance(s, n.Assign))
        chosen = {
            s.name
            for s in spec.body
            if isinstance(s, n.Assign) and isinstance(s.value, n.Gather) and given[s.name] == 1
            if s.value.function in ("argmax", "argmin")
        }
        fields = [f for f in last.fields if isinstance(f.value, n.Name) and f.value.ident in chosen]
        same = (n.Compare("==", n.OutField(first, f.name), f.value) for f in fields)
        return (n.OutIs(first, last.tag), *same)
    return ()


def _reads_output(spec: n.Mechanism) -> bool:
    """Whether the alignment looks at records."""
    inside = (e for top in walk.align_expressions(spec.align) for e in walk.subexpressions(top))
    return any(isinstance(e, n.OutField | n.OutIs) for e in inside)


def _of_cost(term: ir.Term) -> bool:
    return any(
        isinstance(a.label, labels.AtHead) and a.label.key is labels.Ledger.COST for a in ir.atoms((term,))
    )


def _loop(
    spec: n.Mechanism, stmt: n.For | n.While, words: Wording, terms: Iterable[ir.Term], shared: Container[str]
) -> LoopWitness:
    """`shared` are variables with one value in both runs."""
    early: list[n.Expr] = []
    both: list[n.Expr] = []
    inside = list(walk.statements_in(stmt.body))
    assigned = dict.fromkeys(s.name for s in inside if isinstance(s, n.Assign))
    best = needed.strongest(needed.by_records(list(terms)))
    bounds = needed.costs([t for t in best if _of_cost(t)], needed.counters(best))
    for term in best:
        if (_of_cost(term) and term not in bounds) or (
            _early(term)
            and not needed.is_needed(term, set(assigned))
            and not needed.bounds_rounds(term, bounds)
        ):
            continue
        try:
            e = words.expression(term)
        except UntranslatableError:
            continue
        (early if _early(term) else both).append(e)
    both += [n.Compare("==", n.Name(x, True), n.Name(x)) for x in assigned if x in shared]
    early += needed.draws(spec, stmt, best)
    measure = next(iter(measures(stmt)), None) if isinstance(stmt, n.While) else None
    chance = _chance(stmt) if isinstance(stmt, n.While) and measure is None else None
    return LoopWitness(tuple(early), tuple(both), measure, chance, tuple(_later(spec, stmt)))


def _later(spec: n.Mechanism, stmt: n.For | n.While) -> Iterator[n.Expr]:
    """That the next record, if there is one, has no lesser index than the loop: where a round may release its
    index, and the alignment reads the output.
    """
    if not isinstance(stmt, n.For) or stmt.index is None or not _reads_output(spec):
        return
    index, following = n.Name(stmt.index), n.Name("$records")
    fields = [f for s in walk.statements_in(stmt.body) if isinstance(s, n.Emit) for f in s.fields]
    for name in dict.fromkeys(f.name for f in fields if f.value == index):
        none = n.Compare("<=", n.OutCount(None), following)
        yield n.Logic("or", (none, n.Compare(">=", n.OutField(following, name), index)))


def measures(stmt: n.While) -> list[n.Expr]:
    """What may fall in every round: `b - a` for a part `a < b` of the test, first where each round sets one
    of its variables; 1 for a flag besides; and the sum, if one or the other falls.
    """
    always = {s.name for s in stmt.body if isinstance(s, n.Assign)}
    parts = stmt.test.args if isinstance(stmt.test, n.Logic) and stmt.test.op == "and" else (stmt.test,)
    found: list[n.Expr] = []
    for part in parts:
        if isinstance(part, n.Compare) and part.op in ("<", "<="):
            found.append(n.Binary("-", part.right, part.left))
        if isinstance(part, n.Compare) and part.op in (">", ">="):
            found.append(n.Binary("-", part.left, part.right))
    found.sort(key=lambda e: not walk.names_in(e) & always)
    none, one = n.Number(Fraction(0)), n.Number(Fraction(1))
    for part in parts if found else ():
        if isinstance(part, n.Unary) and part.op == "not":
            found.append(n.Conditional(part.operand, none, one))
        if isinstance(part, n.Name):
            found.append(n.Conditional(part, one, none))
    return [*found, _joined("+", found)] if len(found) > 1 else found


def _chance(stmt: n.While) -> Chance | None:
    """A test of `… + x` against something, with a draw x of the round: x beyond what the rest leaves. What
    the round itself gives a value is looked through: the kernel asks what is known where the loop is reached.
    """
    draws = {s.name: s for s in walk.statements_in(stmt.body) if isinstance(s, n.Sample)}
    given: dict[str, n.Expr] = {}
    for s in walk.statements_in(stmt.body):
        if isinstance(s, n.Assign):
            given[s.name] = resolved(s.value, given)
        tests = [b.test for b in s.branches] if isinstance(s, n.If) else []
        for test in (resolved(t, given) for t in tests):
            if not isinstance(test, n.Compare) or test.op in ("==", "!="):
                continue
            for side, other in ((test.left, test.right), (test.right, test.left)):
                for part in walk.subexpressions(side):
                    name = part.base if isinstance(part, n.Index) else getattr(part, "ident", "")
                    if name in draws and isinstance(part, n.Index | n.Name):
                        rest = walk.with_part(side, part, n.Number(Fraction(0)))
                        scale = resolved(draws[name].args[0], given)
                        return Chance(name, n.Binary("-", other, rest), scale)
    return None


def _sample(spec: n.Mechanism) -> tuple[tuple[str, Fraction], ...]:
    return tuple((i.name, Fraction(1)) for i in spec.inputs if isinstance(i, n.Parameter) and i.name == "eps")

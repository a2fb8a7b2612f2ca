"""Which lines a witness needs: not those that follow from others, nor those that the kernel knows itself.

Nothing here needs to be believed: a line too few, and the kernel says what it could not show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import align_expressions, own_expressions, statements_in, subexpressions
from aligncheck.search.relational import ir
from aligncheck.search.relational.labels import AtHead, Latest, Ledger

_NUMBERS = re.compile(r"(?<![\w.@])-?\d+(/\d+)?(\*| )")


def strongest(terms: Sequence[ir.Term]) -> list[ir.Term]:
    """The terms without those that another one implies by itself."""
    kept: list[ir.Term] = []
    for term in dict.fromkeys(terms):
        if not any(_implies(known, term) for known in kept):
            kept = [known for known in kept if not _implies(term, known)] + [term]
    return kept


def _implies(one: ir.Term, other: ir.Term) -> bool:
    """Whether each way for `one` to be true is one for `other`, by their form."""
    ways = other.args if isinstance(other, ir.Or) else (other,)
    return all(any(_at_least(a, b) for b in ways) for a in (one.args if isinstance(one, ir.Or) else (one,)))


def _at_least(one: ir.Term, other: ir.Term) -> bool:
    """Whether one comparison, `parts + constant` with 0, says as much as another one."""
    if one == other or not (isinstance(one, ir.Cmp) and isinstance(other, ir.Cmp)) or other.op == "==":
        return one == other
    wanted, most = ir.summands(ir.sub(other.left, other.right))
    for left, right in ((one.left, one.right), (one.right, one.left))[: 2 if one.op == "==" else 1]:
        parts, constant = ir.summands(ir.sub(left, right))
        if parts == wanted and (
            constant > most or (constant == most and (other.op == "<=" or one.op == "<"))
        ):
            return True
    return False


def is_needed(term: ir.Term, assigned: set[str]) -> bool:
    """Whether the kernel does not know a fact of the run on D by itself: bounds of indices and of what is
    counted it does, and which draws were made `draws` says.
    """
    heads = [a.label.key for a in ir.atoms((term,)) if isinstance(a.label, AtHead)]
    if any(isinstance(key, Latest) for key in heads):
        return pinned(term, assigned) is not None
    if Ledger.RECORDS in heads:
        return _tells_records(term)
    return any(key in assigned for key in heads)


def _tells_records(term: ir.Term) -> bool:
    """Whether a fact says how many records there are, if only in some runs; bounds by the index do not."""
    if isinstance(term, ir.Or):
        return any(_tells_records(arg) for arg in term.args)
    if not isinstance(term, ir.Cmp):
        return False
    if term.op == "==":
        return any(_is_records(side) for side in _sides(term))
    return term.op == "<=" and isinstance(term.right, ir.Const) and _is_records(term.left)


def _is_records(term: ir.Term) -> bool:
    return any(isinstance(a.label, AtHead) and a.label.key is Ledger.RECORDS for a in ir.atoms((term,)))


def pinned(term: ir.Term, assigned: set[str]) -> str | None:
    """The draws of which the greatest index is told by a variable of the program."""
    keys = [a.label.key for a in ir.atoms((term,)) if isinstance(a.label, AtHead)]
    names = [key.name for key in keys if isinstance(key, Latest)]
    if isinstance(term, ir.Cmp) and term.op == "==" and len(keys) == 2 and any(k in assigned for k in keys):
        return names[0] if names else None
    return None


def bounds_rounds(term: ir.Term, bounds: Sequence[ir.Term]) -> bool:
    """Whether a fact bounds an index from above, on which what is known of the cost depends."""
    if not isinstance(term, ir.Cmp) or term.op != "<=" or not _counts(term.left):
        return False
    return any(_grows(side, set()) for bound in bounds for side in _sides(bound))


def costs(terms: Sequence[ir.Term], counted: set[ir.Term]) -> list[ir.Term]:
    """Of bounds of the cost those that do not grow with the rounds, if there are such; and of those that
    differ in numbers only the first, which is the least.
    """
    fixed = [t for t in terms if not any(_grows(s, counted) for s in _sides(t))] or terms
    shapes: dict[str, ir.Term] = {}
    for t in fixed:
        shapes.setdefault(_NUMBERS.sub("", ir.order_key(t)), t)
    return list(shapes.values())


def by_records(terms: Sequence[ir.Term]) -> list[ir.Term]:
    """The same, what equals the number of records up to a number being told by that number."""
    told: dict[ir.Term, ir.Term] = {}
    for t in terms:
        if isinstance(t, ir.Cmp) and t.op == "==" and _counts(t.left):
            parts, constant = ir.summands(t.right)
            if len(parts) == 1 and parts[0][1] == 1 and isinstance(parts[0][0], ir.Sym) and constant:
                told[parts[0][0]] = ir.sub(t.left, ir.Const(constant))
    return [ir.substitute(t, told) for t in terms] if told else list(terms)


def counters(terms: Sequence[ir.Term]) -> set[ir.Term]:
    """What counts rounds: the index, the number of records, and what equals these."""
    same: set[ir.Term] = set()
    for t in terms:
        if isinstance(t, ir.Cmp) and t.op == "==" and any(_counts(s) for s in (t.left, t.right)):
            same |= {s for s in (t.left, t.right) if isinstance(s, ir.Sym)}
    return same


def _counts(term: ir.Term) -> bool:
    label = term.label if isinstance(term, ir.Sym) else None
    return isinstance(term, ir.Sym) and (
        term.kind is ir.Nature.COUNTER or (isinstance(label, AtHead) and label.key is Ledger.RECORDS)
    )


def _sides(term: ir.Term) -> tuple[ir.Term, ...]:
    return (term.left, term.right) if isinstance(term, ir.Cmp) else ()


def _grows(term: ir.Term, counted: set[ir.Term]) -> bool:
    """Whether a number contains a counter as a factor or summand."""
    if _counts(term) or term in counted:
        return True
    if isinstance(term, ir.Div):
        return _grows(term.left, counted) or _grows(term.right, counted)
    if isinstance(term, ir.Mul):
        return any(_grows(a, counted) for a in term.args)
    parts, _ = ir.summands(term)
    return any(_grows(part, counted) for part, _ in parts if part != term)


def draws(spec: n.Mechanism, stmt: n.For | n.While, terms: Sequence[ir.Term]) -> Iterator[n.Expr]:
    """Which draws were made where a round starts: all below the index, or none from there on, unless the
    terms say it.
    """
    first = stmt.index if isinstance(stmt, n.For) else None
    assigned = {s.name for s in statements_in(stmt.body) if isinstance(s, n.Assign)}
    told = {pinned(t, assigned) for t in terms}
    inner = {
        s.index if isinstance(s, n.For) else None for s in statements_in(stmt.body) if isinstance(s, n.For)
    }
    loops = [s for s in statements_in(stmt.body) if isinstance(s, n.For | n.While)]
    deeper = [s for loop in loops for s in statements_in(loop.body)]
    for s in statements_in(stmt.body):
        if not isinstance(s, n.Sample) or s.index is None:
            continue
        if s.name in told:
            if _is_read_before(stmt, s):
                yield n.Name(f"$dense_{s.name}")
            continue
        names = {e.ident for e in subexpressions(s.index) if isinstance(e, n.Name)}
        if names & inner or not names <= assigned | {first}:
            continue
        drawn = n.Name(f"$drawn_{s.name}")
        if s in stmt.body and _from_zero(stmt, s.index):
            yield n.Compare("==", drawn, s.index)
            if _is_read_elsewhere(spec, stmt, s.name, s.index):
                yield n.Name(f"$dense_{s.name}")
            continue
        if first is not None and first not in names and not any(s is each for each in deeper):
            yield n.Compare("<=", drawn, n.Name(first))  # the index may be as good as that of the round
        if names or first is None:
            yield n.Compare("<=", drawn, s.index)
        if names and any(isinstance(t, n.Sample) and t.name == s.name for t in _outside(spec, stmt)):
            yield n.Compare("<=", drawn, n.Binary("+", s.index, n.Number(Fraction(1))))


def _outside(spec: n.Mechanism, stmt: n.Stmt) -> Iterator[n.Stmt]:
    """The statements outside of a loop."""
    inside = {id(s) for s in statements_in((stmt,))}
    return (s for s in statements_in(spec.body) if id(s) not in inside)


def _is_read_before(stmt: n.For | n.While, draw: n.Sample) -> bool:
    """Whether a round reads one of the draws before it makes one."""
    for s in statements_in(stmt.body):
        if s is draw:
            return False
        own = (e for top in own_expressions(s) for e in subexpressions(top))
        if any(isinstance(e, n.Index) and e.base == draw.name for e in own):
            return True
    return False


def _from_zero(stmt: n.For | n.While, index: n.Expr) -> bool:
    if not isinstance(stmt, n.For) or index != n.Name(stmt.index or ""):
        return False
    return not isinstance(stmt.over, n.OverRange) or stmt.over.low == n.Number(Fraction(0))


def _is_read_elsewhere(spec: n.Mechanism, stmt: n.For | n.While, x: str, index: n.Expr) -> bool:
    """Whether a draw is read outside of the loop that makes it, or at another index."""
    inside = list(statements_in(stmt.body))
    for s in statements_in(spec.body):
        own = [e for top in own_expressions(s) for e in subexpressions(top)]
        for e in own:
            if (
                isinstance(e, n.Index)
                and e.base == x
                and (e.index != index or all(s is not t for t in inside))
            ):
                return True
    read = [e for top in align_expressions(spec.align) for e in subexpressions(top)]
    return any(isinstance(e, n.Index) and e.base == x and e.index != index for e in read)

"""What candidates are made of: terms with decided tests folded away, in their cases, and bounds on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice

from aligncheck.search.relational import ir
from aligncheck.search.relational.applied import Applied
from aligncheck.search.relational.callees import AlignedCall
from aligncheck.search.relational.maxima import Registry, is_extremum
from aligncheck.search.relational.paths import (
    ArmTaken,
    Assumed,
    Claimed,
    Drawing,
    Emission,
    Required,
    Segment,
    Selected,
)

OF_NOISE = (ir.Nature.NOISE, ir.Nature.PLACE, ir.Nature.SUM, ir.Nature.UNSETTLED)
DISTANCES = (ir.Nature.DISTANCE, ir.Nature.DRIFT)


def distinct(terms: Iterable[ir.Term]) -> list[ir.Term]:
    return [t for t in dict.fromkeys(terms) if not isinstance(t, ir.Truth)]


def directions(steps: list[ir.Term]) -> tuple[bool, bool]:
    """Whether some round surely raises a variable, and whether some surely lowers it."""
    constants = [s.value for s in steps if isinstance(s, ir.Const)]
    return any(c > 0 for c in constants), any(c < 0 for c in constants)


def parts_of(test: ir.Term) -> tuple[ir.Term, ...]:
    """The operands of a conjunction or disjunction."""
    return test.args if isinstance(test, ir.And | ir.Or) else ()


def fixed_by(kept: list[ir.Term]) -> set[ir.Term]:
    """What a kept equality fixes."""
    equations = [t for t in kept if isinstance(t, ir.Cmp) and t.op == "=="]
    return {t.left for t in equations} | {t.right for t in equations}


def flag_sum(flags: list[ir.Term], amount: ir.Term) -> ir.Term:
    return ir.mul(amount, ir.add(*(ir.ite(f, ir.ONE, ir.ZERO) for f in flags)))


def noisy(term: ir.Term) -> bool:
    kinds = (*OF_NOISE, *DISTANCES, ir.Nature.EXTREMUM, ir.Nature.DATA)
    return any(a.kind in kinds for a in ir.atoms((term,)))


def mentions_generic(term: ir.Term) -> bool:
    return ir.Sym("i", ir.TermSort.INT, ir.Nature.GHOST) in ir.atoms((term,))


def decided(path: Segment) -> dict[ir.Term, ir.Term]:
    """The tests that a path decides, and the parts of ω that it fixes."""
    table: dict[ir.Term, ir.Term] = {}
    for event in path.events:
        match event:
            case ArmTaken():
                for part in implied_parts(event.holds(False)):
                    table[part] = ir.TRUE
                    table[ir.not_(part)] = ir.FALSE
            case Assumed(ir.Not(arg)):
                table[arg] = ir.FALSE
            case Assumed(ir.Cmp("==", ir.App(kind=ir.Nature.OMEGA) as atom, value)):
                table[atom] = value
            case Assumed(fact):
                table[fact] = ir.TRUE
            case Drawing() | AlignedCall() | Applied() | Selected() | Emission() | Required() | Claimed():
                pass
    return table


def implied_parts(test: ir.Term) -> Iterable[ir.Term]:
    """A test that holds, and what holds with it: operands of a conjunction or of a denied disjunction."""
    yield test
    if isinstance(test, ir.And):
        for arg in test.args:
            yield from implied_parts(arg)
    if isinstance(test, ir.Not) and isinstance(test.arg, ir.Or):
        for arg in test.arg.args:
            yield from implied_parts(ir.not_(arg))


def simplified(term: ir.Term) -> ir.Term:
    """The term folded anew, so that decided tests disappear; each part once, as often as it occurs."""
    memo: dict[ir.Term, ir.Term] = {}

    def go(part: ir.Term) -> ir.Term:
        done = memo.get(part)
        if done is None:
            done = memo[part] = ir.rebuilt(part, go)
        return done

    return go(term)


def cases(term: ir.Term) -> list[ir.Term]:
    """The values of a term in its cases (at most 8, among the first 64)."""
    return distinct(islice(leaves(term), 64))[:8] or [ir.ZERO]


def leaves(term: ir.Term) -> Iterator[ir.Term]:
    split = next((t for t in ir.subterms((term,)) if isinstance(t, ir.Ite)), None)
    if split is None:
        yield term
    else:
        for arm in (split.then, split.otherwise):
            yield from leaves(ir.substitute(term, {split: arm}))


def sizes(form: ir.Term) -> list[ir.Term]:
    """Public sizes that a closed form may take."""
    return [unsigned(ir.fn("abs", leaf)) for leaf in cases(form) if not noisy(leaf)]


def less_extrema(
    parts: tuple[tuple[ir.Term, Fraction], ...], registry: Registry
) -> tuple[tuple[tuple[ir.Term, Fraction], ...], list[Fraction]]:
    """A sum without its maxima, and how often each may move: once for a pair `c·best' - c·best`, once for a
    maximum of distances.
    """
    extrema = [(t, k) for t, k in parts if is_extremum(t)]
    noisy = [k for t, k in extrema if isinstance(t, ir.Sym) and registry.is_noisy(t)]
    if sorted(k for k in noisy if k > 0) != sorted(-k for k in noisy if k < 0):
        return parts, []
    apart = [abs(k) for t, k in extrema if isinstance(t, ir.Sym) and not registry.is_noisy(t)]
    return tuple(p for p in parts if p not in extrema), [*(k for k in noisy if k > 0), *apart]


def unsigned(term: ir.Term) -> ir.Term:
    """A term with the absolute values and signs of its parts dropped: an upper bound for positive parts."""
    match term:
        case ir.Fn("abs", (arg,)):
            return unsigned(arg)
        case ir.Const(value):
            return ir.Const(abs(value))
        case ir.Add(parts, constant):
            return ir.add(ir.Const(abs(constant)), *(ir.scaled(unsigned(t), abs(k)) for t, k in parts))
        case ir.Mul(args):
            return ir.mul(*(unsigned(a) for a in args))
        case (
            ir.Truth()
            | ir.Sym()
            | ir.App()
            | ir.Div()
            | ir.Fn()
            | ir.Ite()
            | ir.Cmp()
            | ir.Not()
            | ir.And()
            | ir.Or()
            | ir.IsInt()
        ):
            return term


def spent_by_calls(path: Segment) -> ir.Term:
    """What the calls of a round spend, where public numbers say it."""
    spent = [e.spent.left for e in path.events if isinstance(e, AlignedCall)]
    return ir.add(*(s for s in spent if not noisy(s))) if spent else ir.ZERO

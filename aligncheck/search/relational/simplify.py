"""What candidates are made of: terms with decided tests folded away, in their cases, and bounds on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice

from aligncheck.search.relational.applied import Applied
from aligncheck.search.relational.callees import AlignedCall
from aligncheck.search.relational.ir import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Add,
    And,
    App,
    Cmp,
    Const,
    Div,
    Fn,
    IsInt,
    Ite,
    Mul,
    Nature,
    Not,
    Or,
    Sym,
    Term,
    TermSort,
    Truth,
    add,
    atoms,
    fn,
    ite,
    mul,
    not_,
    rebuilt,
    scaled,
    substitute,
    subterms,
)
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

OF_NOISE = (Nature.NOISE, Nature.PLACE, Nature.SUM, Nature.UNSETTLED)
DISTANCES = (Nature.DISTANCE, Nature.DRIFT)


def distinct(terms: Iterable[Term]) -> list[Term]:
    return [t for t in dict.fromkeys(terms) if not isinstance(t, Truth)]


def directions(steps: list[Term]) -> tuple[bool, bool]:
    """Whether some round surely raises a variable, and whether some surely lowers it."""
    constants = [s.value for s in steps if isinstance(s, Const)]
    return any(c > 0 for c in constants), any(c < 0 for c in constants)


def parts_of(test: Term) -> tuple[Term, ...]:
    """The operands of a conjunction or disjunction."""
    return test.args if isinstance(test, And | Or) else ()


def fixed_by(kept: list[Term]) -> set[Term]:
    """What a kept equality fixes."""
    equations = [t for t in kept if isinstance(t, Cmp) and t.op == "=="]
    return {t.left for t in equations} | {t.right for t in equations}


def flag_sum(flags: list[Term], amount: Term) -> Term:
    return mul(amount, add(*(ite(f, ONE, ZERO) for f in flags)))


def noisy(term: Term) -> bool:
    kinds = (*OF_NOISE, *DISTANCES, Nature.EXTREMUM, Nature.DATA)
    return any(a.kind in kinds for a in atoms((term,)))


def mentions_generic(term: Term) -> bool:
    return Sym("i", TermSort.INT, Nature.GHOST) in atoms((term,))


def decided(path: Segment) -> dict[Term, Term]:
    """The tests that a path decides, and the parts of ω that it fixes."""
    table: dict[Term, Term] = {}
    for event in path.events:
        match event:
            case ArmTaken():
                for part in implied_parts(event.holds(False)):
                    table[part] = TRUE
                    table[not_(part)] = FALSE
            case Assumed(Not(arg)):
                table[arg] = FALSE
            case Assumed(Cmp("==", App(kind=Nature.OMEGA) as atom, value)):
                table[atom] = value
            case Assumed(fact):
                table[fact] = TRUE
            case Drawing() | AlignedCall() | Applied() | Selected() | Emission() | Required() | Claimed():
                pass
    return table


def implied_parts(test: Term) -> Iterable[Term]:
    """A test that holds, and what holds with it: operands of a conjunction or of a denied disjunction."""
    yield test
    if isinstance(test, And):
        for arg in test.args:
            yield from implied_parts(arg)
    if isinstance(test, Not) and isinstance(test.arg, Or):
        for arg in test.arg.args:
            yield from implied_parts(not_(arg))


def simplified(term: Term) -> Term:
    """The term folded anew, so that decided tests disappear; each part once, as often as it occurs."""
    memo: dict[Term, Term] = {}

    def go(part: Term) -> Term:
        done = memo.get(part)
        if done is None:
            done = memo[part] = rebuilt(part, go)
        return done

    return go(term)


def cases(term: Term) -> list[Term]:
    """The values of a term in its cases (at most 8, among the first 64)."""
    return distinct(islice(leaves(term), 64))[:8] or [ZERO]


def leaves(term: Term) -> Iterator[Term]:
    split = next((t for t in subterms((term,)) if isinstance(t, Ite)), None)
    if split is None:
        yield term
    else:
        for arm in (split.then, split.otherwise):
            yield from leaves(substitute(term, {split: arm}))


def sizes(form: Term) -> list[Term]:
    """Public sizes that a closed form may take."""
    return [unsigned(fn("abs", leaf)) for leaf in cases(form) if not noisy(leaf)]


def less_extrema(
    parts: tuple[tuple[Term, Fraction], ...], registry: Registry
) -> tuple[tuple[tuple[Term, Fraction], ...], list[Fraction]]:
    """A sum without its maxima, and how often each may move: once for a pair `c·best' - c·best`, once for a
    maximum of distances.
    """
    extrema = [(t, k) for t, k in parts if is_extremum(t)]
    noisy = [k for t, k in extrema if isinstance(t, Sym) and registry.is_noisy(t)]
    if sorted(k for k in noisy if k > 0) != sorted(-k for k in noisy if k < 0):
        return parts, []
    apart = [abs(k) for t, k in extrema if isinstance(t, Sym) and not registry.is_noisy(t)]
    return tuple(p for p in parts if p not in extrema), [*(k for k in noisy if k > 0), *apart]


def unsigned(term: Term) -> Term:
    """A term with the absolute values and signs of its parts dropped: an upper bound for positive parts."""
    match term:
        case Fn("abs", (arg,)):
            return unsigned(arg)
        case Const(value):
            return Const(abs(value))
        case Add(parts, constant):
            return add(Const(abs(constant)), *(scaled(unsigned(t), abs(k)) for t, k in parts))
        case Mul(args):
            return mul(*(unsigned(a) for a in args))
        case Truth() | Sym() | App() | Div() | Fn() | Ite() | Cmp() | Not() | And() | Or() | IsInt():
            return term


def spent_by_calls(path: Segment) -> Term:
    """What the calls of a round spend, where public numbers say it."""
    spent = [e.spent.left for e in path.events if isinstance(e, AlignedCall)]
    return add(*(s for s in spent if not noisy(s))) if spent else ZERO

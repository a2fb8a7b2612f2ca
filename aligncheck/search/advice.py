"""What would pass instead, when an alignment fails: each piece of advice is itself verified."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from aligncheck.effort import Effort
from aligncheck.kernel.witness import Witness
from aligncheck.language.conditions import Condition
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import rewrite, walk
from aligncheck.language.unparse import unparse_expr, unparse_input, unparse_shift
from aligncheck.meaning.exact import Undecided
from aligncheck.meaning.replay import replay
from aligncheck.meaning.scenario import Scenario, ScenarioError, check_scenario
from aligncheck.search.record_places import misplaced, uneven_rounds
from aligncheck.search.small_changes import SmallChange, other_lines, other_scales, small_changes, with_input
from aligncheck.search.witness.added_up import is_public
from aligncheck.search.witness.line_costs import resolved
from aligncheck.search.witness.totals import ends_of, length_of, size_of, total

_FACTORS = (
    Fraction(5, 4),
    Fraction(4, 3),
    Fraction(3, 2),
    Fraction(2),
    Fraction(5, 2),
    Fraction(3),
    Fraction(4),
)
_MOST_PARTS = 12
"""A claim with a greater denominator is no advice."""
STEPS = 2_500
"""How much is done to find advice."""


Verified: TypeAlias = Callable[[n.Mechanism, Effort, Witness | None], bool]
"""Whether the kernel accepts a mechanism, with such an effort: with a witness, or with any that is found."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What was found: the condition that fails, where, the inputs of a run, if one was found, and how many
    times the claim the run costs, where it is the claim that is exceeded.
    """

    condition: Condition
    place: Span
    scenario: Scenario | None = None
    times: Fraction | None = None

    def excluded(self, changed: n.Mechanism) -> bool:
        """Whether a mechanism with other declarations does not have this run."""
        return self.scenario is None or bool(check_scenario(changed, self.scenario))

    def fails(self, changed: n.Mechanism) -> bool:
        """Whether a mechanism with another alignment fails in this run, too."""
        try:
            return self.scenario is not None and bool(replay(changed, self.scenario).violations)
        except (ScenarioError, Undecided):
            return True


def advice_for(
    mechanism: n.Mechanism, witness: Witness | None, failure: Failure, verified: Verified, whole: Effort
) -> tuple[str, ...]:
    """Other claims, declarations and adjacencies under which this spec would be verified; no proof is tried
    under any that allows the run that was found failing. The clock of the `whole` ends it.
    """
    effort = Effort(whole.seconds_left(), STEPS)
    found: list[str] = []
    match failure.condition:
        case Condition.COST:
            found += _repaired(mechanism, failure, verified, effort, other_scales(mechanism))
            if not found:
                found += _other_claims(mechanism, witness, failure, verified, effort)
                found += _repaired(mechanism, failure, verified, effort)
        case Condition.OUTPUT:
            found += _ties(mechanism, verified, effort)
        case Condition.DEFINED | Condition.SCALES:
            # A scale may rather be the wrong one; what is undefined is so by a guard, or by what is declared.
            first = _declarations(mechanism, failure)
            then = small_changes(mechanism, failure.condition, failure.place)
            if failure.condition is Condition.DEFINED:
                found += _repaired(mechanism, failure, verified, effort, then)
                return tuple(found or _repaired(mechanism, failure, verified, effort, first))
            found += _repaired(mechanism, failure, verified, effort.share(1 / 2), first)
            return tuple(found or _repaired(mechanism, failure, verified, effort, then))
        case Condition.COUNTABLE | Condition.INVARIANT:
            return tuple(_repaired(mechanism, failure, verified, effort))
        case Condition.SUPPORT:
            pass
        case (
            Condition.TERMINATES
            | Condition.DRAWS
            | Condition.FRESH
            | Condition.ACYCLIC
            | Condition.INJECTIVE
            | Condition.HYPOTHESES
            | Condition.CALLS
        ):
            return ()
    found += _other_places(mechanism, failure, verified, effort)
    if not found:
        found += _repaired(mechanism, failure, verified, effort, other_lines(mechanism))
    if not found:
        found += _repaired(mechanism, failure, verified, effort)
    others = list(_other_adjacencies(mechanism))
    # The kernel may think about densities for long.
    for name, changed in others[:1] if witness is None and found else others:
        if effort.is_over:
            break
        if failure.excluded(changed) and verified(changed, effort, None):
            found.append(f"verified for adjacency `{name.value}`")
    return tuple(found)


def _repaired(
    mechanism: n.Mechanism,
    failure: Failure,
    verified: Verified,
    effort: Effort,
    changes: Iterable[SmallChange] | None = None,
) -> Iterator[str]:
    """The first of some changes (None: `small_changes`) with which the mechanism is verified."""
    if changes is None:
        changes = small_changes(mechanism, failure.condition, failure.place)
    for change in changes:
        if effort.is_over:
            return
        declared = change.changed.inputs != mechanism.inputs
        mended = failure.excluded(change.changed) if declared else not failure.fails(change.changed)
        if mended and verified(change.changed, effort, None):
            yield f"verified {change.text}"
            return


def _ties(mechanism: n.Mechanism, verified: Verified, effort: Effort) -> Iterator[str]:
    """What ties cost a selection on a lattice, where the same alignment is verified for continuous noise, in
    which there are none.

    Two of n sums of an answer and DLap(s, γ) noise are equal with probability at most (1 + 1/e) γ/s, so that
    there is a tie with probability at most n² γ/s. Source: VLDB paper, appendix A.2.
    """
    drawn = {s.name: s for s in walk.statements_in(mechanism.body) if isinstance(s, n.Sample)}
    selections = [
        e
        for e in walk.expressions_in(mechanism)
        if isinstance(e, n.Gather) and e.function in ("argmax", "argmin", *n.SELECTING)
    ]
    compared = [
        (drawn[name], e.over) for e in selections for name in sorted(walk.names_in(e.body) & drawn.keys())
    ]
    lattice = [(s, over) for s, over in compared if s.family.stepped]
    if not lattice or not verified(_continuous(mechanism), effort, None):
        return
    sample, over = lattice[0]
    scale, step = sample.args
    squared = n.Binary("**", length_of(over), n.Number(Fraction(2)))
    delta = n.Binary("/", n.Binary("*", step, squared), scale)
    text = unparse_expr(total(delta).expression())
    yield (
        "with continuous noise, where no two values are equal, this alignment is verified; on this "
        f"lattice some two of them are equal with probability at most delta = {text} (VLDB paper, appendix "
        "A.2), which is what the ties would cost"
    )


def _continuous(mechanism: n.Mechanism) -> n.Mechanism:
    """The mechanism with continuous noise and real answers in place of those on a lattice."""

    def statement(s: n.Stmt) -> n.Stmt:
        if not isinstance(s, n.Sample):
            return s
        continuous = s.family.on_reals
        return s if continuous is None else replace(s, family=continuous, args=s.args[:1])

    inputs = tuple(
        replace(item, sort=n.Sort.REAL, lattice=None) if isinstance(item, n.Queries) else item
        for item in mechanism.inputs
    )
    return replace(mechanism, inputs=inputs, body=rewrite.statements(mechanism.body, statement))


def _other_places(
    mechanism: n.Mechanism, failure: Failure, verified: Verified, effort: Effort
) -> Iterator[str]:
    """The lines whose guards ask for a record of another round than they move the draw of, with those that
    ask for the round's own, with which it is verified.
    """
    lines = {line: other for line, other, _ in misplaced(mechanism)}
    changed = replace(
        mechanism, align=tuple(lines.get(item, item) for item in mechanism.align if isinstance(item, n.Shift))
    )
    whole = len(changed.align) == len(mechanism.align)
    if lines and whole and not failure.fails(changed) and verified(changed, effort, None):
        for line, other in lines.items():
            yield f"verified with `{unparse_shift(other)}` in place of `{unparse_shift(line)}`"


def records_help(mechanism: n.Mechanism) -> str:
    """Where a guard asks for a record of another round, which one the round's own is."""
    for line, other, tag in misplaced(mechanism):
        if line.index is not None and line.guard is not None and other.guard is not None:
            drawn = f"`{line.name}[{unparse_expr(line.index)}]`"
            return (
                f"records are numbered over the whole output, and the `{tag}` of the round that draws "
                f"{drawn} is not the one that `{unparse_expr(line.guard)}` asks for: write "
                f"`when {unparse_expr(other.guard)}`"
            )
    uneven = next(uneven_rounds(mechanism), None)
    if uneven is None:
        return ""
    return (
        f"not every round releases as many records, so that `{unparse_expr(uneven)}` may ask for one of "
        "another round: release one in every branch"
    )


def _declarations(mechanism: n.Mechanism, failure: Failure) -> Iterator[SmallChange]:
    """Declarations of inputs that are read at the place of the failure: of a parameter that is positive, of a
    list that is long enough.
    """
    read = _read_at(mechanism, failure.place)
    whole = [i.name for i in mechanism.inputs if isinstance(i, n.Parameter) and i.sort is n.Sort.INT]
    for item in mechanism.inputs:
        tests: list[n.Compare] = []
        match item:
            case n.Parameter(name, n.Sort.INT | n.Sort.REAL as sort) if name in read:
                op, step = (">=", 1) if sort is n.Sort.INT else (">", 0)
                ends = dict.fromkeys((*_given(failure, name), Fraction(0)))
                tests = [n.Compare(op, n.Name(name), n.Number(end + step)) for end in ends if end >= 0]
            case n.Queries(names, True) if read & set(names):
                length = size_of(names[0])
                entries = {int(at.value) + 1 for at in _entries_at(mechanism, failure.place, names)} or {1, 2}
                least: list[n.Expr] = [n.Number(Fraction(each)) for each in sorted(entries)]
                least += [n.Name(each) for each in whole if each in read]
                tests = [n.Compare(">=", length, each) for each in least]
            case n.Parameter() | n.PublicVector() | n.Queries():
                pass
        for test in tests:
            narrower = _narrowed(item, test)
            yield SmallChange(with_input(mechanism, item, narrower), f"with `{unparse_input(narrower)}`")


def _entries_at(mechanism: n.Mechanism, place: Span, names: tuple[str, ...]) -> Iterator[n.Number]:
    """The entries of some lists that are named by a number at a place."""
    for e in walk.expressions_in(mechanism):
        met = e.span.start < place.end and place.start < e.span.end
        if met and isinstance(e, n.Index) and e.base in names and isinstance(e.index, n.Number):
            yield e.index


def _given(failure: Failure, name: str) -> tuple[Fraction, ...]:
    value = dict(failure.scenario.parameters)[name] if failure.scenario is not None else None
    return (value,) if isinstance(value, Fraction) else ()


def _narrowed(item: n.Input, test: n.Compare) -> n.Input:
    """The declaration of fewer values; a bound by a number from the same side says nothing more then."""
    kept = tuple(
        e for e in walk.conjuncts_of(item.where) if not (isinstance(e, n.Compare) and _weaker(e, test))
    )
    return replace(item, where=n.Logic("and", (*kept, test)) if kept else test)


def _weaker(one: n.Compare, other: n.Compare) -> bool:
    numbers = isinstance(one.right, n.Number) and isinstance(other.right, n.Number)
    return numbers and one.left == other.left and one.op[0] == other.op[0]


def output_help(mechanism: n.Mechanism, place: Span) -> str:
    """What a released value or a test at `place` lacks: the draws and variables that nothing in the program
    reads, and that nothing random is read there, or that noise moves in another way than the data. Whatever
    may come from a draw is random.
    """
    body = tuple(walk.statements_in(mechanism.body))
    used = {name for s in body for e in walk.own_expressions(s) for name in walk.names_in(e)}
    given = dict.fromkeys(s.name for s in body if isinstance(s, n.Sample | n.Assign))
    said = [f"`{name}` is never used in the program" for name in given if name not in used]
    private = {name for item in mechanism.inputs if isinstance(item, n.Queries) for name in item.names}
    overs = [s.over for s in body if isinstance(s, n.For)]
    private |= {over.item for over in overs if isinstance(over, n.OverQueries) and over.base in private}
    random = {s.name for s in body if isinstance(s, n.Sample | n.Choose | n.Logistic | n.Invoke)}
    read = _read_at(mechanism, place)
    if read & private and not read & random:
        made = ", ".join(f"`{name}`" for name in sorted(read & private))
        said.append(f"what stands here is made from {made} and no noise: add a draw, as in `x + eta`")
    else:
        said.append(
            "what is released needs noise that moves by exactly what the data moves (`eta += x - x'`); a "
            "test needs noise that moves so that it comes out the same, by all that it compares"
        )
    return "; ".join(said)


def _read_at(mechanism: n.Mechanism, place: Span) -> frozenset[str]:
    """The names that the statement at a place reads, and those that their values come from."""
    found: set[str] = set()
    new = {
        name
        for e in walk.expressions_in(mechanism)
        if e.span.start < place.end and place.start < e.span.end
        for name in walk.names_in(e)
    }
    while new:
        found |= new
        given = [
            s.value for s in walk.statements_in(mechanism.body) if isinstance(s, n.Assign) and s.name in new
        ]
        new = {name for value in given for name in walk.names_in(value)} - found
    return frozenset(found)


def _other_claims(
    mechanism: n.Mechanism, witness: Witness | None, failure: Failure, verified: Verified, effort: Effort
) -> Iterator[str]:
    """The least multiple of the claim, and a parameter range, with which the mechanism is verified: those are
    tried of which the invariants show it, where there are any. No less is needed where the run costs as much.
    """
    for factor, larger, bound in _larger_claims(mechanism, witness, failure.times):
        if not effort.is_over:
            same = total(larger) == total(mechanism.privacy)
            privacy = mechanism.privacy if same else larger
            if verified(replace(mechanism, claim=n.Pure(privacy, bound)), effort, witness):
                how = "needs" if factor is not None and factor == failure.times else "verified for"
                most = "" if bound is None else f" at most {unparse_expr(bound)}"
                yield f"{how} `privacy {unparse_expr(privacy)}{most}`"
                break
    for parameter in mechanism.inputs:
        if witness is not None and isinstance(parameter, n.Parameter) and parameter.sort is not n.Sort.BOOL:
            for op, end in ((">=", 1), (">=", 2), ("<=", 1), ("<=", 2)):
                if effort.is_over:
                    return
                narrower = _restricted(mechanism, parameter, op, end)
                if failure.excluded(narrower) and verified(narrower, effort, witness):
                    yield f"verified where `{parameter.name} {op} {end}`"
                    return


def _restricted(mechanism: n.Mechanism, parameter: n.Parameter, op: str, bound: int) -> n.Mechanism:
    """The mechanism for fewer values of a parameter."""
    test = n.Compare(op, n.Name(parameter.name), n.Number(Fraction(bound)))
    return with_input(mechanism, parameter, _narrowed(parameter, test))


Claims: TypeAlias = Iterator[tuple[Fraction | None, n.Expr, n.Expr | None]]
"""Claims to try, each with its bound where the spec gives one, and with how many times the claim it is."""


def _times(claim: n.Expr, factor: Fraction) -> n.Expr:
    return total(claim).times(factor).expression()


def _larger_claims(mechanism: n.Mechanism, witness: Witness | None, times: Fraction | None) -> Claims:
    """The least ones first. None is less than what a run was found to cost, so many `times` the claim."""
    claim, most = mechanism.privacy, mechanism.most
    if most is None:
        # A claim that leaves out the parameter by which the noise is scaled, or has the wrong sign.
        yield from ((None, other, None) for other in _by_parameters(mechanism))
    factors = [each for each in _FACTORS if times is None or each >= times]
    if times is not None and times.denominator <= _MOST_PARTS:
        factors = sorted({times, *factors})
    if witness is None:  # nothing tells beforehand what holds, and the kernel may think about it for long
        yield None, _times(claim, Fraction(2)), None if most is None else _times(most, Fraction(2))
    elif most is None:
        yield from ((factor, _times(claim, factor), None) for factor in factors)
        for moved in _sensitivities(mechanism):
            yield None, (total(claim) * total(moved)).expression(), None
        yield from ((None, bound, None) for bound in _bounds_found(mechanism, witness))
    else:
        if times is None:
            yield from ((None, claim, _times(most, factor)) for factor in factors)
        yield from ((factor, _times(claim, factor), _times(most, factor)) for factor in factors)


def _sensitivities(mechanism: n.Mechanism) -> Iterator[n.Expr]:
    """How far the answers move, where parameters say it: noise that leaves it out costs so much more."""
    parameters = {i.name for i in mechanism.inputs if isinstance(i, n.Parameter)}
    for item in mechanism.inputs:
        if isinstance(item, n.Queries) and item.sensitivity is not None:
            named = walk.names_in(item.sensitivity)
            if named and named <= parameters:
                yield item.sensitivity


def _by_parameters(mechanism: n.Mechanism) -> Iterator[n.Expr]:
    """Each positive real parameter in a scale of which the claim says nothing; the claim without its sign."""
    body = tuple(walk.statements_in(mechanism.body))
    scales = {name for s in body if isinstance(s, n.Sample) for e in s.args for name in walk.names_in(e)}
    said = walk.names_in(mechanism.privacy)
    if isinstance(mechanism.privacy, n.Unary):
        yield _times(mechanism.privacy, Fraction(-1))
    for item in mechanism.inputs:
        if isinstance(item, n.Parameter) and item.sort is n.Sort.REAL and item.name in scales - said:
            yield n.Name(item.name)


def _bounds_found(mechanism: n.Mechanism, witness: Witness) -> Iterator[n.Expr]:
    """Claims that the invariants suggest: a bound on the cost by counters, each counter at its own greatest
    value, without sizes of what may well be positive.
    """
    found = list[n.Expr]()
    stmts = [s for s in walk.statements_in(mechanism.body) if isinstance(s, n.For | n.While)]
    for stmt, loop in zip(stmts, witness.loops, strict=True):
        greatest: dict[str, n.Expr] = {}
        for e in loop.early:
            if isinstance(e, n.Compare) and e.op in ("<=", "<"):  # `x + 1 <= n`: n at the end of the round
                left = e.left.left if isinstance(e.left, n.Binary) and e.left.op == "+" else e.left
                if isinstance(left, n.Name) and is_public(mechanism, e.right):
                    greatest[left.ident] = e.right
        if isinstance(stmt, n.For) and stmt.index is not None:
            _, greatest[stmt.index] = ends_of(stmt.over)
        for e in loop.invariants:
            if isinstance(e, n.Compare) and e.left == n.Name("alignment_cost"):
                bound = resolved(e.right, greatest)
                if is_public(mechanism, bound):
                    found.append(bound)
    for bound in sorted(
        found, key=lambda e: any(isinstance(part, n.Call) for part in walk.subexpressions(e))
    ):
        yield total(rewrite.bottom_up(bound, _without_size)).expression()  # first those without lengths


def _without_size(e: n.Expr) -> n.Expr:
    return e.args[0] if isinstance(e, n.Call) and e.function == "abs" else e


def _other_adjacencies(mechanism: n.Mechanism) -> Iterator[tuple[n.Adjacency, n.Mechanism]]:
    """The mechanism with each narrower adjacency, for all groups of queries alike."""
    groups = [item for item in mechanism.inputs if isinstance(item, n.Queries)]
    kinds = {g.adjacency for g in groups}
    if len(kinds) != 1 or any(g.same_index or g.same_direction for g in groups):
        return
    for narrower in kinds.pop().narrower:
        inputs = tuple(
            replace(item, adjacency=narrower) if isinstance(item, n.Queries) else item
            for item in mechanism.inputs
        )
        yield narrower, replace(mechanism, inputs=inputs)

"""What is out of scope though it can be written, refused by name.

What the grammar or a name gives away (δ, Gaussian noise) is refused where it is read: the table of
all names is in `syntax.wording.refused`.
"""

from __future__ import annotations

from collections.abc import Iterator

from aligncheck.language.diagnostics import fault
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.language.syntax.wording import refused


def check_privacy(source: Source, mechanism: n.Mechanism) -> None:
    """Raises SpecError where a claim in ε has a δ, or a claim depends on the output otherwise than by counts,
    or without a bound.
    """
    claimed = mechanism.claim
    most = claimed.most if isinstance(claimed, n.Pure) else claimed
    for claim in walk.claimed_in(claimed):
        for part in walk.subexpressions(claim):
            match part:
                case n.Name("delta") if isinstance(claimed, n.Pure):
                    raise refused.delta_fault(source, part.span)
                case n.OutIs() | n.OutField() | n.Name("out"):
                    raise refused.scope_fault(source, "out", refused.OUTPUT_COST, part.span)
                case n.OutCount() if claim is most or most is claimed:
                    raise refused.scope_fault(source, "out", refused.OUTPUT_BOUND, part.span)
                case n.OutCount() if most is None:
                    raise fault(
                        source,
                        "unbounded-claim",
                        "a claim that speaks of the output needs a bound",
                        claim.span,
                        help="say the most that any output costs: `privacy eps * len(out) / k at most eps`",
                    )
                case n.Literal() | n.ByName() | n.Call() | n.Operator() | n.Gather() | n.OutCount():
                    pass


def only_pure(source: Source, mechanism: n.Mechanism, what: str) -> n.Mechanism:
    """The mechanism, if it claims ε. Raises SpecError for what is not done for other claims; `what` is the
    subject of the sentence that says so.
    """
    if isinstance(mechanism.claim, n.Pure):
        return mechanism
    raise fault(
        source,
        "scope",
        f"{what} knows claims in ε only",
        mechanism.claim.span,
        help="`verify` proves this claim as it stands, and `refute` looks for a violation of it",
    )


def check_redraws(source: Source, mechanism: n.Mechanism) -> None:
    """Raises SpecError for a loop that draws until the noise is to its liking.

    Such a loop emits nothing, and whether it goes on depends on nothing but noise that it draws: through
    assignments, tests around assignments, and tests around a `break`. The noise that is kept then has another
    distribution than the one that was written down. A loop that looks at other answers in each round is none.
    """
    answers = {name for item in mechanism.inputs if isinstance(item, n.Queries) for name in item.names}
    for statement in walk.statements_in(mechanism.body):
        if isinstance(statement, n.While) and _redraws(statement, answers):
            raise refused.scope_fault(source, "drawing until the noise fits", refused.REDRAW, statement.span)


def _redraws(loop: n.While, answers: set[str]) -> bool:
    body = tuple(walk.statements_in(loop.body))
    noisy = {each.name for each in body if isinstance(each, n.Sample)}
    changed = {each.name for each in body if isinstance(each, n.Assign)}
    read = [e for each in (loop, *body) for e in walk.own_expressions(each)]
    if any(walk.names_in(e) & noisy and _looks_further(e, answers, changed) for e in read):
        return False
    if not noisy or any(isinstance(each, n.Emit) for each in body):
        return False
    while True:
        given = [(s, under) for s, under, _ in _inside(loop.body, noisy) if isinstance(s, n.Assign)]
        more = {s.name for s, under in given if under or walk.names_in(s.value) & noisy} - noisy
        if not more:
            break
        noisy |= more
    parts = loop.test.args if isinstance(loop.test, n.Logic) and loop.test.op == "and" else (loop.test,)
    bounding = [part for part in parts if part != n.Boolean(True) and not walk.names_in(part) & noisy]
    # A part that no noise touches, such as `i < len(q)`, may bound the loop: the conditions of the proof
    # decide then.
    if bounding or any(_ends(loop.body, part, parts) for part in parts):
        return False
    breaks = (s for s, under, inner in _inside(loop.body, noisy) if under and not inner)
    return any(walk.names_in(part) & noisy for part in parts) or any(isinstance(s, n.Break) for s in breaks)


def _looks_further(e: n.Expr, answers: set[str], changed: set[str]) -> bool:
    """Whether an expression reads answers, or a set of them, by what the loop changes: others each round."""
    return any(
        isinstance(part, n.Index | n.Gather)
        and walk.names_in(part) & answers
        and walk.names_in(part) & changed
        for part in walk.subexpressions(e)
    )


def _ends(body: tuple[n.Stmt, ...], bound: n.Expr, tests: tuple[n.Expr, ...]) -> bool:
    """Whether each round brings the test `x < E` nearer to its end by a fixed step, or is the last one, since
    it makes one of the loop's tests false: then the input bounds the number of rounds, not the noise.
    """
    if not isinstance(bound, n.Compare) or not isinstance(bound.left, n.Name) or bound.op[0] not in "<>":
        return False
    counter, step = bound.left.ident, "+" if bound.op[0] == "<" else "-"
    given = [each for each in walk.statements_in(body) if isinstance(each, n.Assign)]
    steps = [each.value for each in given if each.name == counter]
    if any(each.name != counter and each.name in walk.names_in(bound) for each in given):
        return False
    if any(not _is_step(value, counter, step) for value in steps):
        return False
    last = {(test.ident, False) for test in tests if isinstance(test, n.Name)} | {
        (test.operand.ident, True)
        for test in tests
        if isinstance(test, n.Unary) and isinstance(test.operand, n.Name)
    }
    return _goes_on(body, counter, frozenset(last))


def _is_step(value: n.Expr, counter: str, op: str) -> bool:
    return (
        isinstance(value, n.Binary)
        and (value.op, value.left) == (op, n.Name(counter))
        and isinstance(value.right, n.Number)
        and value.right.value > 0
    )


def _goes_on(body: tuple[n.Stmt, ...], counter: str, last: frozenset[tuple[str, bool]]) -> bool:
    """Whether every way through statements gives the counter a value, or ends the loop."""
    for statement in body:
        match statement:
            case n.Assign(name, n.Boolean(value)) if (name, value) in last:
                return True
            case n.Assign(name) if name == counter:
                return True
            case n.Break():
                return True
            case n.If():
                if all(_goes_on(arm, counter, last) for arm in statement.arms):
                    return True
            case n.Simple() | n.Repeat():
                pass
    return False


def _inside(
    body: tuple[n.Stmt, ...], noisy: set[str], under: bool = False, inner: bool = False
) -> Iterator[tuple[n.Stmt, bool, bool]]:
    """Statements, each with whether it stands under a test of noise, and whether in a loop inside."""
    for statement in body:
        yield statement, under, inner
        match statement:
            case n.If(branches):
                tested = under or any(walk.names_in(branch.test) & noisy for branch in branches)
                for arm in statement.arms:
                    yield from _inside(arm, noisy, tested, inner)
            case n.For(body=rounds) | n.While(body=rounds):
                yield from _inside(rounds, noisy, under, True)
            case n.Simple():
                pass

"""The cost as a person reads it, from what the kernel decided: what each line of the alignment and each call
costs at most, and when that is paid.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from aligncheck.kernel.answer import Part
from aligncheck.language.internal import InternalError
from aligncheck.language.printable import printable
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes, walk
from aligncheck.language.syntax.contract import contract_of
from aligncheck.language.unparse import unparse_expr
from aligncheck.report.numbers import listed
from aligncheck.search.witness.line_costs import half_square, product, repeated, resolved
from aligncheck.verdict import DearestRun, Verified

EXACT = "what it costs"


@dataclass(frozen=True, slots=True)
class CostPart:
    """One line of the table: `amount` bounds what one draw or call costs, also as `share` of the claim (of
    its bound, if it has one), `times` says when it is paid. In every run what is paid adds up to at most the
    claim. Where no bound was decided the amount is `EXACT`, and the share empty.

    All are texts in the spec's notation, for example `2*e1`, `1/(4*k)`, ``when `out[i] is top` ``.
    """

    name: str
    amount: str
    share: str
    times: str
    span: Span


def cost_parts(verified: Verified) -> tuple[CostPart, ...]:
    """The parts as the kernel counted them."""
    whole = limit_of(verified)
    return tuple(
        found for part in verified.accepted.cost for found in _parts(verified.mechanism, part, whole)
    )


def limit_of(verified: Verified) -> nodes.Expr:
    """What the costs of a run add up to at most: ε, or ρ; of an ε that speaks of the output, its bound."""
    match verified.mechanism.claim:
        case nodes.Pure(epsilon=epsilon, most=most):
            return epsilon if most is None else most
        case nodes.Approximate(epsilon=epsilon):
            return epsilon if verified.witness.rho is None else verified.witness.rho
        case nodes.Concentrated(rho=rho):
            return rho


def dearest_text(run: DearestRun) -> str:
    """Whether the claim is the least that its alignment proves, by the run that costs most."""
    scenario = run.scenario
    primed = tuple((f"{name}'", held) for name, held in scenario.data_prime)
    drawn = tuple(scenario.all_noise())
    values = (*scenario.parameters, *scenario.data, *primed, *drawn[:_MOST_DRAWS])
    more = "" if len(drawn) <= _MOST_DRAWS else f", … {len(drawn) - _MOST_DRAWS} more draws"
    shown = printable(", ".join(f"{name} = {listed(held)}" for name, held in values) + more)
    if run.share == 1:
        return f"this alignment proves nothing less: a run costs all of it, `{shown}`"
    if run.share > _NEARLY:
        short = f"{float(1 - run.share):.1g}"
        return f"this alignment proves hardly less: a run costs all but {short} of it, `{shown}`"
    return f"the dearest run that was tried costs {float(run.share):.1%} of it, `{shown}`"


_MOST_DRAWS = 8
_NEARLY = Fraction(99, 100)


def _parts(mechanism: nodes.Mechanism, part: Part, whole: nodes.Expr) -> Iterator[CostPart]:
    """More than one for a draw that is exchanged or divided: see `_renewed`."""
    lines = [found for found in _lines(mechanism.align) if found[0].name == part.name]
    coin = next((s for s in walk.statements_in(mechanism.body) if s.span == part.place), None)
    if isinstance(coin, nodes.Sample) and coin.family.coin:
        name = part.name if coin.index is None else f"{part.name}[{unparse_expr(coin.index)}]"
        yield CostPart(name, EXACT, "", "where its side has another chance on D'", part.place)
    elif part.amount is None and any(walk.renews(line) for line, _ in lines):
        draws = [s for s in walk.statements_in(mechanism.body) if isinstance(s, nodes.Sample)]
        scale = next(s.args[0] for s in draws if s.name == part.name)
        for line, tests in lines:
            yield from _renewed(mechanism, line, tests, scale, whole)
    else:
        yield _part(mechanism, part, whole)


def _renewed(
    mechanism: nodes.Mechanism,
    line: nodes.Shift,
    tests: tuple[str, ...],
    scale: nodes.Expr,
    whole: nodes.Expr,
) -> Iterator[CostPart]:
    """Theorem 4 of the VLDB paper, ln(a/b): what dividing costs is -ln b, and what is added is in ln a. See
    section 13 of docs/kernel.md, and `Aligner.charged`.
    """
    own, paid = walk.moved_by(line), _paid(mechanism, line, tests)
    rest: nodes.Expr | None = None
    for term, plus in walk.signed_terms(line.value):
        if line.op == "=" and plus and term == own:
            continue
        divisor = _divisor(term, own) if line.op == "=" and plus else None
        if divisor is not None:
            amount = _amount(whole, nodes.Call("ln", (divisor,)))
            yield CostPart(line.name, *amount, f"{paid}, for dividing (VLDB paper, Theorem 4)", line.span)
        elif line.op == "=" and plus and _is_draw(mechanism, term):
            exchanged = f"{paid}, in the place of `{unparse_expr(term)}` (VLDB paper, Theorem 4)"
            yield CostPart(line.name, "0", "0", exchanged, line.span)
        elif rest is None:
            rest = term if plus else nodes.Unary("-", term)
        else:
            rest = nodes.Binary("+" if plus else "-", rest, term)
    if rest is not None:
        moved = rest if isinstance(rest, nodes.Number) else nodes.Call("abs", (rest,))
        amount = _amount(whole, product((moved, 1), (scale, -1)))
        yield CostPart(line.name, *amount, paid, line.span)


def _divisor(term: nodes.Expr, own: nodes.Expr) -> nodes.Expr | None:
    """The r of `x/r`, or of `x*(1/r)`."""
    if isinstance(term, nodes.Binary) and term.op == "/" and term.left == own:
        return term.right
    if isinstance(term, nodes.Binary) and term.op == "*" and own in (term.left, term.right):
        return product((term.right if term.left == own else term.left, -1))
    return None


def _is_draw(mechanism: nodes.Mechanism, term: nodes.Expr) -> bool:
    if not isinstance(term, nodes.Name | nodes.Index):
        return False
    name = term.ident if isinstance(term, nodes.Name) else term.base
    return any(isinstance(s, nodes.Sample) and s.name == name for s in walk.statements_in(mechanism.body))


def _part(mechanism: nodes.Mechanism, part: Part, whole: nodes.Expr) -> CostPart:
    line = next((found for found in _lines(mechanism.align) if found[0].span == part.place), None)
    if line is not None and part.amount is not None:
        shift, tests = line
        name = part.name if shift.index is None else f"{part.name}[{unparse_expr(shift.index)}]"
        return CostPart(name, *_amount(whole, part.amount), _paid(mechanism, shift, tests), part.place)
    for stmt in walk.statements_in(mechanism.body):
        if stmt.span == part.place and isinstance(stmt, nodes.Invoke):
            amount = _amount(whole, _price(mechanism, stmt, part.amount))
            times = "per call" if _inside(mechanism, stmt, nodes.For, nodes.While) else "once"
            if any(isinstance(a.value, nodes.Gather) for a in stmt.arguments):  # of parts few may differ
                times = f"{times} where its arguments differ".removeprefix("once ")
            called = stmt.mechanism if stmt.rounds is None else f"repeat {stmt.mechanism}"
            return CostPart(f"{stmt.name} = {called}(...)", *amount, times, part.place)
        if stmt.span == part.place and isinstance(stmt, nodes.Sample):
            name = part.name if stmt.index is None else f"{part.name}[{unparse_expr(stmt.index)}]"
            return CostPart(name, EXACT, "", "when moved", part.place)
    raise InternalError("a part of the cost that is nowhere in the spec")


def _amount(whole: nodes.Expr, amount: nodes.Expr) -> tuple[str, str]:
    """An amount, and its share of the whole."""
    return unparse_expr(amount), unparse_expr(product((amount, 1), (whole, -1)))


def _price(mechanism: nodes.Mechanism, call: nodes.Invoke, amount: nodes.Expr | None) -> nodes.Expr:
    """What a call costs: the amount that its callee claims; None: half the square of its ε, which is in ρ."""
    if amount is not None:
        return repeated(_given(mechanism, call, amount), call.rounds)
    use = next(use for use in mechanism.uses if use.name == call.mechanism)
    claim = contract_of(use).mechanism.claim
    claimed = _given(mechanism, call, walk.claimed_in(claim)[-1 if isinstance(claim, nodes.Pure) else 0])
    return half_square(repeated(claimed, call.rounds))


def _given(mechanism: nodes.Mechanism, call: nodes.Invoke, claim: nodes.Expr) -> nodes.Expr:
    """A callee's claim for the arguments of a call."""
    values = {a.name: a.value for a in call.arguments}
    use = next(use for use in mechanism.uses if use.name == call.mechanism)
    inputs = {item.name for item in contract_of(use).mechanism.inputs if isinstance(item, nodes.Parameter)}
    return product((resolved(claim, {x: e for x, e in values.items() if x in inputs}), 1))


# --- when ---------------------------------------------------------------------------------------------------


def _lines(items: tuple[nodes.AlignItem, ...]) -> Iterator[tuple[nodes.Shift, tuple[str, ...]]]:
    """The lines of an alignment, each with the cases that it stands in."""
    for line, cases in walk.shifts_in_cases(items):
        yield line, tuple("otherwise" if e is None else f"in case `{unparse_expr(e)}`" for e in cases)


def _paid(mechanism: nodes.Mechanism, line: nodes.Shift, tests: tuple[str, ...]) -> str:
    """When a line is on: as its guard says; else as often as there is such a draw."""
    if line.guard is not None:
        return " ".join((*tests, f"when `{unparse_expr(line.guard)}`"))
    draws = [
        s for s in walk.statements_in(mechanism.body) if isinstance(s, nodes.Sample) and s.name == line.name
    ]
    if any(s.index is not None for s in draws):
        return " ".join((*tests, "per draw"))
    branch = any(_inside(mechanism, s, nodes.If, nodes.For, nodes.While) for s in draws)
    return " ".join(tests) if tests else "at most once" if branch else "once"


def _inside(mechanism: nodes.Mechanism, stmt: nodes.Stmt, *kinds: type[nodes.Stmt]) -> bool:
    """Whether a statement stands in another one of some kinds."""
    around = [s for s in walk.statements_in(mechanism.body) if isinstance(s, kinds)]
    return any(inner is stmt for s in around for inner in walk.statements_in((s,)) if inner is not s)


def invariants_of(verified: Verified) -> tuple[str, ...]:
    """The lines of the witness, which the kernel found to hold at each head of a loop."""
    return tuple(
        f"loop {number}: {unparse_expr(line)}"
        for number, loop in enumerate(verified.witness.loops, 1)
        for line in (*loop.invariants, *loop.early, *loop.later)
    )

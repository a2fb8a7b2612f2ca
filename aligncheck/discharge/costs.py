"""The cost as a person reads it: one part per aligned draw and call, as a share of the claim or its bound."""

from __future__ import annotations

from aligncheck.discharge.algebra import canonical, ratio
from aligncheck.discharge.establish import Findings
from aligncheck.discharge.smt import Smt
from aligncheck.obligations.obligation import context, run_on_d, run_on_d_prime
from aligncheck.relational.calls import Called
from aligncheck.relational.candidates import Pool
from aligncheck.relational.paths import Drawing, Path
from aligncheck.relational.spell import spell
from aligncheck.relational.terms import ZERO, Cmp, Term, atoms, fn, le, mul, subterms
from aligncheck.verdict import CostPart

_MILLISECONDS = 300


def cost_parts(findings: Findings) -> tuple[CostPart, ...]:
    """The parts of the cost.

    Each part's amount is the smallest of a few public bounds on |shift|/α that is proved on its path; a draw
    for which none is proved is left out. The parts explain the bound; the proof itself is the `cost`
    obligation.
    """
    smt = findings.smt
    parts: dict[tuple[str, str, str], CostPart] = {}
    amounts: dict[tuple[Term, Term], Term | None] = {}
    for path in findings.analysis.paths:
        pool = Pool(findings.analysis, findings.analysis.cuts[path.origin])
        for call in path.events:
            if isinstance(call, Called):
                part = _spent(findings, path, call)
                parts.setdefault((part.name, part.amount, part.times), part)
        for event in path.drawings():
            shift = pool.resolved(event.shift, path) if event.lines else ZERO
            if shift == ZERO:
                continue
            key = (shift, event.left.inverse_alpha)
            if key not in amounts:
                amounts[key] = _amount(findings, path, event, pool.shift_sizes(event.shift, path), smt)
            amount = amounts[key]
            if amount is not None and amount != ZERO:
                part = _part(findings, path, event, amount)
                parts.setdefault((part.name, part.amount, part.times), part)
    return tuple(parts.values())


def _spent(findings: Findings, path: Path, call: Called) -> CostPart:
    amount = canonical(call.spent.left)
    times = "once" if findings.analysis.cuts[path.origin].loop is None else "per round"
    share = spell(ratio(amount, findings.theory.most or findings.theory.claim))
    return CostPart(f"{call.name} = {call.use.name}(...)", spell(amount), share, times, call.span)


def _amount(findings: Findings, path: Path, event: Drawing, sizes: list[Term], smt: Smt) -> Term | None:
    place = path.events.index(event)
    hypotheses = (
        *context(findings.analysis, path, findings.invariants),
        *run_on_d(path),
        *run_on_d_prime(path, place),
    )
    size = fn("abs", event.shift)
    claims = {b: le(size, b) for b in dict.fromkeys(canonical(b) for b in (ZERO, *sizes))}
    proved, _ = smt.survivors(hypotheses, claims, _MILLISECONDS)
    least = next((b for b in claims if b in proved), None)
    return None if least is None else canonical(mul(least, event.left.inverse_alpha))


def _at_one_index(event: Drawing) -> bool:
    """Whether the draw moves at one index only, which the output shows."""
    return any(
        isinstance(t, Cmp) and t.op == "==" and event.position in (t.left, t.right)
        for t in subterms((event.shift,))
    )


def _part(findings: Findings, path: Path, event: Drawing, amount: Term) -> CostPart:
    loop = findings.analysis.cuts[path.origin].loop
    tags = [e.tag for e in path.emissions()]
    selections = [a.name[3:] for a in atoms((event.shift,)) if a.name.startswith("in:")]
    if loop is not None and selections:
        times = f"for each of `{selections[0]}`"
    elif loop is None or _at_one_index(event):
        times = "once"
    elif tags:
        times = f"per `{tags[-1]}`"
    else:
        times = "per round"
    name = event.name if event.index is None else f"{event.name}[{spell(event.index.left)}]"
    # What depends on the output is no measure for one draw: the bound is.
    share = spell(ratio(amount, findings.theory.most or findings.theory.claim))
    return CostPart(name, spell(amount), share, times, event.span)

"""The cost as a person reads it: what each aligned draw and each call costs, and how often that is paid.

It follows from what is proved. The amount of a part bounds |shift|/α in every run that draws it, and the
parts are then counted instead of the costs: with the same invariants it is proved that they, too, add up to
at most the claim. Draws for which that fails share one line: together they cost what is left of the claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from itertools import product

from aligncheck.language.source import Source, Span
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.unparse import unparse_expr
from aligncheck.language.syntax.walk import statements_in
from aligncheck.search.discharge.algebra import canonical, ratio
from aligncheck.search.discharge.establish import Findings
from aligncheck.search.discharge.prove import Proved, decide_all
from aligncheck.search.discharge.smt import Answer
from aligncheck.search.obligations.alignment import within_claim
from aligncheck.search.obligations.inductive import end_values, premises
from aligncheck.search.obligations.obligation import Invariants, context, run_on_d, run_on_d_prime
from aligncheck.search.relational.calls import Called
from aligncheck.search.relational.candidates import Pool
from aligncheck.search.relational.labels import Ledger, Member, Place
from aligncheck.search.relational.paths import Analysis, Drawing, Path
from aligncheck.search.relational.selection import selection_of
from aligncheck.search.relational.spell import spell
from aligncheck.search.relational.terms import (
    FALSE,
    TRUE,
    ZERO,
    App,
    Cmp,
    Const,
    Div,
    Ite,
    Kind,
    Mul,
    Sym,
    Term,
    add,
    and_,
    atoms,
    eq,
    fn,
    implies,
    ite,
    le,
    mul,
    neg,
    not_,
    or_,
    same,
    scaled,
    sub,
    substitute,
    subterms,
)
from aligncheck.verdict import CostPart

_MILLISECONDS = 300
_SHARES = tuple(Fraction(n, d) for n, d in ((1, 8), (1, 6), (1, 4), (1, 3), (1, 2), (2, 3), (3, 4), (1, 1)))
"""What a draw may cost of the claim, where the alignment does not say how far it moves."""
ONCE, AT_MOST_ONCE, MOVED, TOGETHER = "once", "at most once", "when moved", "together"
THE_REST = "the rest"


class _Counted(Enum):
    """How a part is counted: as its label says, whenever its draw moves, or with all that it cannot be told
    apart from, by the true cost.
    """

    LABEL = "label"
    MOVED = "moved"
    REST = "rest"


@dataclass(frozen=True)
class _Paid:
    """What a draw or a call costs on one path: `cost` is the true one, `amount` a public bound on it (None if
    none was proved), `when` a condition without which it costs nothing, `moved` that it costs something.
    """

    path: int
    event: Drawing | Called
    cost: Term
    amount: Term | None
    when: Term
    moved: Term


@dataclass(frozen=True)
class _Part:
    """A line of the table: the payments of one amount for one draw or call, and how often it is paid."""

    name: str
    amount: Term
    times: str
    paid: tuple[_Paid, ...]


def cost_parts(findings: Findings, source: Source) -> tuple[CostPart, ...]:
    """The parts of the cost. In every run the parts that are paid add up to at least its cost, and to at most
    the claim.
    """
    table = _Table(findings, source)
    paid = [one for one in _payments(findings) if one.cost != ZERO]
    if not paid:
        return ()
    statements = dict.fromkeys(one.event.span for one in paid)
    parts: list[_Part] = []
    rest: list[_Paid] = []
    for span in statements:
        own = [one for one in paid if one.event.span == span]
        found = table.parts_of(own)
        parts += found or []
        rest += own if found is None else []
    counted = table.counted(parts)
    shown = [
        table.shown(part, how) for part, how in zip(parts, counted, strict=True) if how is not _Counted.REST
    ]
    rest += [
        one for part, how in zip(parts, counted, strict=True) if how is _Counted.REST for one in part.paid
    ]
    return (*shown, *([table.together(rest, alone=not shown)] if rest else []))


# --- what is paid -----------------------------------------------------------------------------------------


def _payments(findings: Findings) -> Iterator[_Paid]:
    """Every draw and call that may cost something, path by path."""
    for number, path in enumerate(findings.analysis.paths):
        calls = [event for event in path.events if isinstance(event, Called)]
        yield from (
            _Paid(number, call, call.spent.left, canonical(call.spent.left), TRUE, TRUE) for call in calls
        )
        yield from _moves(findings, number, path)


def _moves(findings: Findings, number: int, path: Path) -> Iterator[_Paid]:
    """The draws that a path may move, each with the least of a few public bounds on its cost."""
    pool = Pool(findings.analysis, findings.analysis.cuts[path.origin])
    whole = findings.theory.most or findings.theory.claim
    events = [event for event in path.drawings() if event.lines]
    when = {event: _tested(pool.resolved(event.shift, path)) for event in events}
    still = {event: implies(not_(when[event]), eq(event.shift, ZERO)) for event in events}
    bounds = {event: _bounds(event, path, pool, when[event]) for event in events}
    wanted = [claim for event in events for claim in (still[event], *bounds[event].values())]
    proved = _proved(findings, path, wanted)

    def within(bound: Term) -> bool:
        public = all(a.kind is Kind.PARAMETER for a in atoms((bound, whole)))
        known = () if public else _known(findings, path)
        return findings.smt.implied(known, le(bound, whole), _MILLISECONDS).answer is Answer.VALID

    for event in events:
        if still[event] not in proved:
            when[event] = TRUE
        if when[event] == FALSE:
            continue
        least = next((b for b, claim in bounds[event].items() if claim in proved), None)
        if least is None or (least != ZERO and not within(least)):
            shares = {b: le(event.cost, b) for b in (canonical(scaled(whole, s)) for s in _SHARES)}
            shown = _proved(findings, path, shares.values())
            least = next((b for b, claim in shares.items() if claim in shown), None)
        if least != ZERO:
            moved = not_(eq(event.shift, ZERO))
            yield _Paid(number, event, event.cost, least, when[event], moved)


def _bounds(event: Drawing, path: Path, pool: Pool, when: Term) -> dict[Term, Term]:
    """Public bounds on what a draw costs, the least one first, and what has to be proved of each."""
    sizes = [s if _sign(s) >= 0 else canonical(neg(s)) for s in pool.shift_sizes(event.shift, path)]
    far = fn("abs", event.shift)
    found = {
        canonical(mul(s, event.left.inverse_alpha)): le(far, s)
        for s in [ZERO, *sizes]
        if s != ZERO or when != TRUE
    }
    return {bound: claim for bound, claim in found.items() if _is_public(bound)}


def _sign(term: Term) -> int:
    """The sign that the number in front of a product or quotient gives it; 1 where there is none."""
    first = canonical(term)
    first = first.left if isinstance(first, Div) else first
    first = first.args[0] if isinstance(first, Mul) else first
    return -1 if isinstance(first, Const) and first.value < 0 else 1


def _proved(findings: Findings, path: Path, wanted: Iterable[Term]) -> frozenset[Term]:
    """Which of these hold in every run that takes a path."""
    claims = {claim: claim for claim in wanted}
    shown, _ = findings.smt.survivors(_known(findings, path), claims, _MILLISECONDS)
    return frozenset(shown)


def _known(findings: Findings, path: Path) -> tuple[Term, ...]:
    return (
        *context(findings.analysis, path, findings.invariants),
        *run_on_d(path),
        *run_on_d_prime(path),
    )


def _is_public(bound: Term) -> bool:
    return all(a.kind in (Kind.PARAMETER, Kind.STATE, Kind.COUNTER, Kind.OMEGA) for a in atoms((bound,)))


def _tested(shift: Term) -> Term:
    """A condition without which a shift is 0, by its tests."""
    if shift == ZERO:
        return FALSE
    if isinstance(shift, Ite):
        then, otherwise = _tested(shift.then), _tested(shift.otherwise)
        return or_((and_((shift.test, then)), and_((not_(shift.test), otherwise))))
    return TRUE


# --- how often, and whether it adds up --------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    findings: Findings
    source: Source

    @property
    def analysis(self) -> Analysis:
        return self.findings.analysis

    def parts_of(self, paid: list[_Paid]) -> list[_Part] | None:
        """The lines of one draw or call; None where no bound on what it costs was proved."""
        event = paid[0].event
        if len({one.amount for one in paid}) > 1:  # what no run comes to would have a bound of its own
            paid = [
                one for one in paid if not self._implied(self.analysis.paths[one.path], le(one.cost, ZERO))
            ]
        amounts = [one.amount for one in paid if one.amount is not None]
        if not paid:
            return []
        if len(amounts) < len(paid):
            return None
        loops, branches = _around(self.findings.theory.mechanism.body, event.span)
        # Noise is fresh: a draw without an index is made at most once.
        single = not loops or (isinstance(event, Drawing) and event.index is None)
        grouped = {a: tuple(one for one in paid if one.amount == a) for a in amounts}
        labels = {} if single else {a: self._label(own) for a, own in grouped.items()}
        if labels and (len(labels) == 1 or all(label.startswith("per `") for label in labels.values())):
            return [_Part(_name(event), a, labels[a], own) for a, own in grouped.items()]
        most = self._greatest(paid, amounts)
        if most is None:
            return None
        if not single:
            return [_Part(_name(event), most, self._label(tuple(paid)), tuple(paid))]
        always = self._always(paid) and all(one.when == TRUE for one in paid)
        times = ONCE if always and not loops and not branches else AT_MOST_ONCE
        return [_Part(_name(event), most, times, tuple(paid))]

    def _greatest(self, paid: list[_Paid], amounts: list[Term]) -> Term | None:
        """An amount that is at least each of the others."""
        for most in dict.fromkeys(amounts):
            if all(
                self._implied(self.analysis.paths[one.path], le(amount, most))
                for one, amount in zip(paid, amounts, strict=True)
                if amount != most
            ):
                return most
        return None

    def _implied(self, path: Path, goal: Term) -> bool:
        reply = self.findings.smt.implied(_known(self.findings, path), goal, _MILLISECONDS)
        return reply.answer is Answer.VALID

    def _label(self, paid: tuple[_Paid, ...]) -> str:
        """How often payments inside of a loop are made, as `_charge` counts them."""
        if any(one.when != TRUE for one in paid):
            return self._tested_label(paid)
        paths = {one.path for one in paid}
        tags = [t for t in self._tags(paid[0].path) if all(self._tags(p).count(t) == 1 for p in paths)]
        for tag in reversed(tags):
            if all((tag in self._tags(p)) is (p in paths) for p in range(len(self.analysis.paths))):
                return f"per `{tag}`"
        if isinstance(paid[0].event, Called):
            return "per call"
        return "per draw" if self._always(paid) else self._guard(paid[0].event)

    def _always(self, paid: Iterable[_Paid]) -> bool:
        """Whether this is paid on every path with that draw or call."""
        paths, spans = {one.path for one in paid}, {one.event.span for one in paid}
        return all(
            number in paths
            for number, path in enumerate(self.analysis.paths)
            if any(isinstance(e, Drawing | Called) and e.span in spans for e in path.events)
        )

    def _tags(self, path: int) -> list[str]:
        return [e.tag for e in self.analysis.paths[path].emissions()]

    def _tested_label(self, paid: tuple[_Paid, ...]) -> str:
        event = paid[0].event
        if isinstance(event, Called):
            return "per call"
        if all(self._at_one_index(one) for one in paid):
            return AT_MOST_ONCE
        if all(isinstance(one.when, App) and isinstance(one.when.label, Member) for one in paid):
            selections = {selection_of(one.when) for one in paid if isinstance(one.when, App)}
            if len(selections) == 1:
                return f"for each of `{selections.pop()}`"
        return self._guard(event)

    def _guard(self, event: Drawing) -> str:
        """The guard of the line that moves a draw, if there is one."""
        align = self.findings.theory.mechanism.align
        lines = [line for line in align if isinstance(line, nodes.Shift) and line.span in event.lines]
        guards = {unparse_expr(line.guard) for line in lines if line.guard is not None}
        plain = all(line.guard is not None for line in lines) and len(lines) == len(event.lines)
        return f"when `{guards.pop()}`" if plain and len(guards) == 1 else MOVED

    def _at_one_index(self, one: _Paid, when: Term | None = None) -> bool:
        """Whether the draw is moved at one index only, the same one throughout the run."""
        event = one.event
        if not isinstance(event, Drawing):
            return False
        condition = one.when if when is None else when
        sides = [
            s
            for t in subterms((condition,))
            if isinstance(t, Cmp) and t.op == "=="
            for s in (t.left, t.right)
        ]
        places = [a for terms in self.findings.invariants.values() for a in atoms(terms) if _is_place(a)]
        path = self.analysis.paths[one.path]
        return any(
            self._implied(path, implies(condition, eq(event.position, index)))
            for index in dict.fromkeys([*sides, *places])
            if index != event.position and self._is_fixed(index)
        )

    def _is_fixed(self, term: Term) -> bool:
        """Whether a term has one value throughout a run: it holds public inputs, parts of the output at fixed
        places, selections that no loop repeats and indices at which D and D' differ.
        """
        heads = {
            a
            for cut in self.analysis.cuts
            for pair in cut.fresh.values()
            for a in atoms((pair.left, pair.right))
        }
        body = self.findings.theory.mechanism.body
        again = {
            inner.name
            for loop in statements_in(body)
            if isinstance(loop, nodes.For | nodes.While)
            for inner in statements_in(loop.body)
            if isinstance(inner, nodes.Assign)
        }
        return all(
            a not in heads
            and (a.kind in (Kind.PARAMETER, Kind.OMEGA) or _is_place(a))
            and selection_of(a) not in again
            for a in atoms((term,))
        )

    # --- adding up ----------------------------------------------------------------------------------------

    def counted(self, parts: list[_Part]) -> list[_Counted]:
        """How each part is counted: as finely as it was proved that all add up to at most the claim."""
        finest = [_Counted.LABEL] * len(parts)
        loose = [_Counted.LABEL if part.times in (ONCE, AT_MOST_ONCE) else _Counted.MOVED for part in parts]
        for counted in (finest, loose) if loose != finest else (finest,):
            if self._adds_up(parts, counted):
                return counted
        found = [_Counted.REST] * len(parts)
        for place, how in product(range(len(parts)), (_Counted.LABEL, _Counted.MOVED)):
            finer = [*found[:place], how, *found[place + 1 :]]
            new = finer not in (finest, loose)
            if found[place] is _Counted.REST and new and self._adds_up(parts, finer):
                found = finer
        return found

    def _adds_up(self, parts: list[_Part], counted: list[_Counted]) -> bool:
        """Whether the parts, counted so, add up to at most the claim.

        Proved as the cost itself is: by the same invariants, as many of them as are inductive of what is
        counted instead of the cost.
        """
        more: dict[int, list[Term]] = {}
        for part, how in zip(parts, counted, strict=True):
            for one in part.paid:
                more.setdefault(one.path, []).append(sub(_charge(part, one, how), one.cost))
        analysis = _with_costs(self.analysis, {number: add(*terms) for number, terms in more.items()})
        if analysis is None:
            return False
        invariants = self._still_inductive(analysis)
        claims = within_claim(analysis, self.findings.theory.claim, invariants, self.source)
        return all(isinstance(o, Proved) for o in decide_all(claims, self.findings.smt))

    def _still_inductive(self, analysis: Analysis) -> Invariants:
        """The invariants of the proof, but of those about the cost only such as are inductive again. Whether
        the others are has nothing to do with it.
        """
        heads = {cut.fresh[Ledger.COST].left for cut in analysis.cuts if Ledger.COST in cut.fresh}
        kept = {number: list(terms) for number, terms in self.findings.invariants.items()}
        before = self.analysis.paths
        asked = [
            place
            for place, path in enumerate(analysis.paths)
            if path.env[Ledger.COST] != before[place].env[Ledger.COST]
        ]
        while asked:
            known = {number: tuple(terms) for number, terms in kept.items()}
            lost = False
            for path in (analysis.paths[place] for place in asked):
                if path.target is None:
                    continue
                table = end_values(analysis, path)
                about = [t for t in kept.get(path.target, ()) if heads & set(atoms((t,)))]
                _, hypotheses = premises(analysis, path, known)
                claims = {t: canonical(substitute(t, table)) for t in about}
                shown, _ = self.findings.smt.survivors(hypotheses, claims, _MILLISECONDS)
                gone = set(about) - set(shown)
                kept[path.target] = [t for t in kept.get(path.target, ()) if t not in gone]
                lost = lost or bool(gone)
            # What every path was shown to establish may have rested on what was lost.
            asked = list(range(len(analysis.paths))) if lost else []
        return {number: tuple(terms) for number, terms in kept.items()}

    # --- lines --------------------------------------------------------------------------------------------

    def shown(self, part: _Part, how: _Counted) -> CostPart:
        """A part with its share; what depends on the output is no measure for it: the bound is."""
        times = part.times
        if how is _Counted.MOVED:
            once = all(self._at_one_index(one, one.moved) for one in part.paid)
            times = AT_MOST_ONCE if once else MOVED
        whole = self.findings.theory.most or self.findings.theory.claim
        share = spell(ratio(part.amount, whole))
        return CostPart(part.name, spell(part.amount), share, times, part.paid[0].event.span)

    def together(self, paid: list[_Paid], alone: bool) -> CostPart:
        """One line for what cannot be told apart: all of it costs what the other parts leave of the claim."""
        names = dict.fromkeys(_name(one.event) for one in paid)
        claim = spell(canonical(self.findings.theory.claim))
        amount, share = (claim, "1") if alone else (THE_REST, THE_REST)
        return CostPart(", ".join(names), amount, share, TOGETHER, paid[0].event.span)


def _charge(part: _Part, one: _Paid, how: _Counted) -> Term:
    match how:
        case _Counted.LABEL if part.times == MOVED:
            return ite(one.moved, part.amount, ZERO)
        case _Counted.LABEL:
            return ite(one.when, part.amount, ZERO)
        case _Counted.MOVED:
            return ite(one.moved, part.amount, ZERO)
        case _Counted.REST:
            return one.cost


def _with_costs(analysis: Analysis, more: Mapping[int, Term]) -> Analysis | None:
    """The analysis in which each path costs so much more; None where the ways into a loop, which does not
    change the cost itself, would cost differently.
    """
    found: dict[int, Term] = {}

    def before(number: int) -> Term | None:
        """How much more was paid at a cut point than its environment says."""
        cut = analysis.cuts[number]
        if cut.loop is None or Ledger.COST in cut.fresh:
            return ZERO
        if number not in found:
            found[number] = ZERO  # what the loop itself does not add
            ways = [place for place, path in enumerate(analysis.paths) if path.target == number]
            entering = [place for place in ways if not analysis.within(analysis.paths[place].origin, cut)]
            extra = {after(place) for place in entering}
            if len(extra) != 1:
                raise _Undetermined
            found[number] = next(iter(extra))
        return found[number]

    def after(place: int) -> Term:
        earlier = before(analysis.paths[place].origin)
        return canonical(add(earlier if earlier is not None else ZERO, more.get(place, ZERO)))

    try:
        paths = tuple(
            replace(path, env={**path.env, Ledger.COST: same(add(path.env[Ledger.COST].left, after(place)))})
            for place, path in enumerate(analysis.paths)
        )
    except _Undetermined:
        return None
    return replace(analysis, paths=paths)


class _Undetermined(Exception):  # noqa: N818 - it ends an attempt, which is no error
    """What was paid by then depends on the way."""


# --- names ------------------------------------------------------------------------------------------------


def _name(event: Drawing | Called) -> str:
    if isinstance(event, Called):
        return f"{event.name} = {event.use.name}(...)"
    return event.name if event.index is None else f"{event.name}[{spell(event.index.left)}]"


def _is_place(atom: Sym | App) -> bool:
    """An index at which D and D' differ."""
    return isinstance(atom.label, Place)


def _around(
    body: tuple[nodes.Stmt, ...], span: Span, inside: tuple[bool, bool] = (False, False)
) -> tuple[bool, bool]:
    """Whether the statement with this span stands in a loop, and whether in a branch."""
    for statement in body:
        if statement.span == span:
            return inside
        if isinstance(statement, nodes.For | nodes.While):
            blocks, deeper = [statement.body], (True, inside[1])
        elif isinstance(statement, nodes.If):
            blocks = [*(branch.body for branch in statement.branches), statement.otherwise]
            deeper = inside[0], True
        else:
            continue
        for block in blocks:
            if any(s.span == span for s in statements_in(block)):
                return _around(block, span, deeper)
    return inside

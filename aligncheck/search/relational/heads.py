"""Loop heads: what a loop changes becomes a symbol, and what is known when it has ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType

from aligncheck.language.syntax.nodes import For, Invoke, While
from aligncheck.language.syntax.walk import statements_in
from aligncheck.search.relational.applied import Applied
from aligncheck.search.relational.blocks import changed_in, index_of
from aligncheck.search.relational.callees import AlignedCall, made
from aligncheck.search.relational.ir import Nature, Pair, Sym, Term, TermSort, add, atoms, same, sort_of
from aligncheck.search.relational.labels import (
    AtHead,
    CalleeInput,
    Calls,
    Counted,
    DrawAt,
    Each,
    Key,
    LastDraw,
    Latest,
    Ledger,
    Side,
    Stretch,
    is_bookkeeping,
)
from aligncheck.search.relational.path_state import State
from aligncheck.search.relational.paths import (
    ArmTaken,
    Assumed,
    Claimed,
    Cut,
    Drawing,
    Emission,
    Env,
    Required,
    Selected,
)
from aligncheck.search.relational.scopes import draws_in
from aligncheck.search.relational.settled import SettledSymbol, common


@dataclass(frozen=True, slots=True)
class Guess:
    """What one execution assumes: which loop-head variables are no integers, and which the runs do not share.

    It is right if the paths bear it out.
    """

    real: frozenset[tuple[int, Key]] = frozenset()
    apart: frozenset[tuple[int, Key]] = frozenset()


@dataclass
class Heads:
    """The cut points so far; `around` are the loops that are being executed, outermost first."""

    guess: Guess
    cuts: list[Cut] = field(default_factory=list)
    around: list[int] = field(default_factory=list)

    def head(self, stmt: For | While, states: list[State], number: int) -> Cut:
        """The loop head: what the loop changes, or what differs between the ways in, becomes a fresh
        symbol.
        """
        assigned, drawn, emits = changed_in(stmt.body)
        changed: set[Key] = {*assigned, *drawn}
        called = {s.name for s in statements_in(stmt.body) if isinstance(s, Invoke)}
        if called:
            changed |= {Ledger.COST, *(Calls(n) for n in called)}
        if drawn:
            changed |= {Ledger.COST, *(ghost for n in drawn for ghost in (Latest(n), LastDraw(n)))}
        if emits:
            changed |= {Ledger.RECORDS, *(k for k in states[0].env if isinstance(k, Counted))}
        env: dict[Key, Pair] = {}
        fresh: dict[Key, Pair] = {}
        counter = Sym(AtHead(index_of(stmt), number, Side.ON_D), TermSort.INT, Nature.COUNTER)
        for name in states[0].env:
            values = [s.env.get(name) for s in states]
            first = values[0]
            if first is None or any(v is None for v in values):
                continue
            match name:
                case Ledger.COUNTER:
                    continue
                case CalleeInput(call) if call in called:
                    continue
                case DrawAt(variable) if variable in drawn:
                    continue
                case Each(variable) | Stretch(variable):
                    if variable not in drawn and all(v == first for v in values):
                        env[name] = first
                    continue
                case (
                    str() | Ledger() | Counted() | DrawAt() | LastDraw() | Latest() | Calls() | CalleeInput()
                ):
                    pass
            if name not in changed and all(v == first for v in values):
                env[name] = first
                continue
            env[name] = fresh[name] = self._fresh(name, number, [v for v in values if v is not None])
        if isinstance(stmt, For):
            env[Ledger.COUNTER] = fresh[Ledger.COUNTER] = same(counter)
        origins = {s.origin for s in states}
        parent = states[0].origin if len(origins) == 1 else (self.around[-1] if self.around else None)
        facts = self.cuts[parent].facts if parent is not None else ()
        if len(states) == 1:
            facts += _established(states[0])
        index = counter if isinstance(stmt, For) else None
        executed = (SettledSymbol(made(n, fresh[Calls(n)].left), n) for n in called)
        carried = (SettledSymbol(a) for v in fresh.values() for a in atoms((v.left, v.right)))
        fixed = common(s.made for s in states).without(drawn | called).then(*executed, *carried)
        return Cut(
            number,
            stmt,
            MappingProxyType(env),
            MappingProxyType(fresh),
            facts,
            index,
            parent,
            tuple(self.around),
            fixed,
        )

    def _fresh(self, name: Key, number: int, values: list[Pair]) -> Pair:
        sorts = {sort_of(t) for v in values for t in (v.left, v.right)}
        here, there, apart = (AtHead(name, number, side) for side in Side)
        shared = is_bookkeeping(name) or (number, name) not in self.guess.apart
        if sorts == {TermSort.BOOL}:
            truth = Sym(here, TermSort.BOOL, Nature.STATE)
            return same(truth) if shared else Pair(truth, Sym(there, TermSort.BOOL, Nature.PRIMED))
        whole = sorts == {TermSort.INT} and (number, name) not in self.guess.real
        sort = TermSort.INT if whole else TermSort.REAL
        left = Sym(here, sort, Nature.LEDGER if is_bookkeeping(name) else Nature.STATE)
        if shared:
            return same(left)
        return Pair(left, add(left, Sym(apart, sort, Nature.DRIFT)))


def drawn_everywhere(cut: Cut, ends: list[State]) -> Env:
    """What a loop that has run to its end drew at each of its indices: for each variable of which every round
    makes one draw, at the loop's counter, with one distribution's symbol and one shift, that speak of nothing
    else that the loop changes.

    Why sound: the rounds are those with the counter in [low, high), and no round leaves the loop early.
    """
    if cut.counter is None or cut.env[Ledger.LOW].left != cut.env[Ledger.LOW].right:
        return {}
    if cut.env[Ledger.HIGH].left != cut.env[Ledger.HIGH].right:
        return {}
    changing = {a for v in cut.fresh.values() for a in atoms((v.left, v.right))} - {cut.counter}
    made = [{e.name: e for e in s.events if isinstance(e, Drawing)} for s in ends]
    found: dict[Key, Pair] = {}
    for name in sorted(made[0]) if made else ():
        draws = [m.get(name) for m in made]
        values = {(d.left.value, d.right.value, d.shift, d.index) for d in draws if d is not None}
        if None in draws or len(values) != 1:
            continue
        value, other, shift, index = next(iter(values))
        plain = len(draws_in(value)) == 1 and value == other and index == same(cut.counter)
        once = all(sum(isinstance(e, Drawing) and e.name == name for e in s.events) == 1 for s in ends)
        if plain and once and not changing & atoms((value, shift)):
            found[Each(name)] = Pair(value, add(value, shift))
            found[Stretch(name)] = Pair(cut.env[Ledger.LOW].left, cut.env[Ledger.HIGH].left)
    return found


def _established(state: State) -> tuple[Term, ...]:
    """What the way into a loop says about symbols that never change again, on both runs.

    Sound for D' because `output` obligations show that it takes the same arms.
    """
    facts: list[Term] = []
    for event in state.events:
        match event:
            case ArmTaken():
                facts += [event.holds(False), event.holds(True)]
            case Assumed(fact):
                facts.append(fact)
            case Drawing(left=left):
                facts += [*left.support, *left.valid]
            case AlignedCall() | Applied() | Selected() | Emission() | Required() | Claimed():
                pass
    return tuple(dict.fromkeys(facts))

"""The alignment: what each line adds to a draw, the order of draws (acyclic), and condition v (countable)."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, combinations, product, repeat
from typing import TypeAlias

import z3

from aligncheck.kernel.answer import Reject
from aligncheck.kernel.evaluate import divided, quotient
from aligncheck.kernel.logic import Kind
from aligncheck.kernel.sets import Sets
from aligncheck.kernel.state import Mode, Path, Scope
from aligncheck.kernel.symbols import Drawn, Held, Told
from aligncheck.kernel.terms import Term, absolute, anatomy, both, either, floor, implies, real, same
from aligncheck.kernel.witness import own
from aligncheck.language.families import Family, Moves, Slope
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import (
    align_expressions,
    moved_by,
    shifts_in,
    signed_terms,
    statements_in,
    subexpressions,
)

Rate: TypeAlias = tuple[Term, Term]
"""How fast a density falls, as a quotient: ln f(x)/f(y) <= |x - y| * above / below."""


@dataclass(frozen=True, slots=True)
class Move:
    """A line for a draw: where it is `on`, and what it adds. Where the new value is another draw and more,
    that is the `source`, a noise variable and an index; where it is a part of the draw and more, that is the
    draw divided by `divisor`, the logarithm of which is `stretch`.
    """

    on: Term
    value: Term
    source: tuple[str, Term] | None = None
    divisor: Term | None = None
    stretch: Term | None = None

    @property
    def renews(self) -> bool:
        """Whether the draw itself does not stay a part of its new value."""
        return self.source is not None or self.divisor is not None

    @property
    def parts(self) -> tuple[Term, ...]:
        """What the draw is moved by."""
        more = self.divisor if self.source is None else self.source[1]
        return (self.value,) if more is None else (self.value, more)


@dataclass(frozen=True, slots=True)
class Draws:
    """The draws of a noise variable, at an index: where there is one, what it is drawn with, and the lines
    that put other draws in its place: where on, and which draws (see `Move`).
    """

    family: Family
    within: Term
    drawn: list[Term]
    takes: list[tuple[Term, tuple[str, Term]]]


FLIPPED = n.Number(Fraction(-1))
"""What a coin b is divided by that becomes 1 - b."""
CONNECTIVES = (z3.Z3_OP_AND, z3.Z3_OP_OR, z3.Z3_OP_NOT, z3.Z3_OP_IMPLIES, z3.Z3_OP_ITE)


class Aligner(Sets):
    """Shifts of draws."""

    speaks_of_cost = False

    def read_draw(self, e: n.Expr, x: str, at: Term, scope: Scope) -> Term:
        """A draw that is read.

        Acyclic is definedness: the program reads a draw after it was made; and a shift, which is evaluated
        just before its own draw counts as made, reads a draw that was made, or one of the first level: one
        whose own shift is made of inputs and of what is released, and whose lattice, if any, is told by the
        inputs (else it would tell of draws before it). All draws of the first level can be shifted before all
        others, so the alignment is triangular in the order: first level, then the rest as they are drawn.
        """
        drawn = self.is_drawn(scope.path, x, at)
        looks = scope.testing and self.general and scope.run == 0
        if scope.mode is Mode.PROGRAM and scope.run == 0:
            goal = implies(scope.guard, drawn)
            self.prove(scope.path, "defined", e.span, f"{x} is read after it was drawn", goal)
        elif scope.mode is Mode.ALIGN and not looks and not same(drawn, self.symbols.true):
            # In the general route what is read of the image must be drawn: it is the twin's image, too.
            shared = scope.run == 0 or scope.computed or not self.general
            early = self.first_level(x, at, scope) if shared and not self.averaged else self.symbols.false
            goal = implies(scope.guard, either(drawn, early))
            scope.path.oblige("acyclic", e.span, f"{x} is drawn before, or moved by no noise", goal)
        return self.noise[x].symbols[scope.run](at)

    def is_drawn(self, path: Path, x: str, at: Term) -> Term:
        """That a draw was made before this place, on both runs: they draw the same indices."""
        made = [index for name, index, *_ in path.made if name == x]
        if any(same(at, index) for index in made):
            return self.symbols.true
        upto, dense = path.ghosts[own("drawn", x)], path.ghosts[own("dense", x)]
        return either(both(dense, at >= 0, at < upto), *(at == index for index in made))

    def first_level(self, x: str, at: Term, around: Scope) -> Term:
        """That the shift of a draw, whenever it is drawn, is made of inputs and of what is released, and the
        step of its lattice of inputs. Its index may contain the arbitrary ones around the place that reads
        it.
        """
        scope = self.scope(Mode.LEVEL, around.path, self.spec.span, around.generic)
        try:
            moves = self.moves(x, at, scope)
            steps = [self.number(e, scope) for s in self._samples(x) for e in s.args[1:]]
        except Reject:  # it reads what has no value here: nothing is known
            return self.symbols.false
        off = [z3.BoolVal(all(map(self.symbols.inputs_only, steps)), self.symbols.ctx)]
        for m in moves:
            if not (self._made_of(m.on, (0,)) if self.general else self.symbols.noise_free(m.on)):
                return self.symbols.false
            if not self.symbols.noise_free(*m.parts):
                off.append(z3.Not(m.on))
        return both(*off)

    def _made_of(self, term: Term, runs: tuple[int, ...], fixed: Container[int] = ()) -> bool:
        """Whether a term speaks of inputs, of what is released, of draws in these runs, and of symbols in
        `fixed`. With draws on D alone it has a value before any aligned draw has one, so that no definition
        of aligned draws goes in a circle.
        """
        return all(
            role.run in runs if isinstance(role, Drawn) else leaf.decl().get_id() in fixed
            for leaf, role in self.symbols.leaves(term)
            if isinstance(role, Drawn | Held)
        )

    # --- lines --------------------------------------------------------------------------------------------

    def moves(self, x: str, at: Term, scope: Scope) -> list[Move]:
        """The lines for one draw: where each is on (in its case), and what it adds."""
        return list(self._moves(self.spec.align, x, at, scope))

    def _moves(self, items: tuple[n.AlignItem, ...], x: str, at: Term, scope: Scope) -> Iterator[Move]:
        for item in items:
            match item:
                case n.Shift(name=name):
                    if name == x:
                        yield self._line(item, at, scope)
                case n.CaseSplit(cases=cases, otherwise=otherwise):
                    if x not in {line.name for line in shifts_in((item,))}:
                        continue
                    here = scope
                    for case in cases:
                        test = self.truth(case.test, replace(here, testing=True))
                        yield from self._moves(case.items, x, at, here.under(test))
                        here = here.under(z3.Not(test))
                    yield from self._moves(otherwise, x, at, here)

    def _at(self, line: n.Shift, at: Term, scope: Scope) -> Scope:
        """The scope of a line for the draw at an index."""
        i = line.index
        if isinstance(i, n.Name) and not i.primed and i.ident not in self.public:
            if i.ident in self.lists or i.ident in self.noise:
                raise Reject("form", line.span, f"`{i.ident}` is the index here, and means something else")
            return scope.binding(i.ident, at, False)
        return scope.under(at == (self.symbols.zero if i is None else self.whole_number(i, scope)))

    def _line(self, line: n.Shift, at: Term, scope: Scope) -> Move:
        scope = self._at(line, at, scope)
        if line.guard is not None:
            scope = scope.under(self.truth(line.guard, replace(scope, testing=True)))
        if line.op != "=":
            value = real(self.number(line.value, scope))
            return Move(scope.guard, -value if line.op == "-=" else value)
        added, source, by = self._renewed(line)
        value = real(self.number(added, scope))
        if source is not None:
            where = source.index if isinstance(source, n.Index) else n.Number(Fraction(0), span=line.span)
            name = source.base if isinstance(source, n.Index) else source.ident
            return Move(scope.guard, value, (name, self.whole_number(where, scope)))
        if by is None:
            return Move(scope.guard, value)
        if by == FLIPPED:
            return Move(scope.guard, value, None, -self.symbols.ctx.rational(1))
        stretch = self.number(n.Call("ln", (by,), span=line.span), scope)
        return Move(scope.guard, value, None, real(self.number(by, scope)), stretch)

    def _renewed(self, line: n.Shift) -> tuple[n.Expr, n.Name | n.Index | None, n.Expr | None]:
        """`x = … + x + …`, or with `x/E`, `E*x`, or another draw in the place of x: what is added, which
        other draw that is, and what x is divided by. Any other new value depends on its own draw.
        """
        own, signed = moved_by(line), signed_terms(line.value)
        found: list[tuple[int, int, n.Name | n.Index | None, n.Expr | None]] = []
        for at, (e, plus) in enumerate(signed):
            match e:
                case _ if e == own:
                    found.append((0, at, None, None) if plus else (3, at, None, FLIPPED))
                case n.Binary(op="/", left=left, right=right) if plus and left == own:
                    found.append((1, at, None, right))
                case n.Binary(op="*", left=left, right=right) if plus and own in (left, right):
                    part = right if left == own else left
                    by = n.Binary("/", n.Number(Fraction(1), span=e.span), part, span=e.span)
                    found.append((1, at, None, by))
                case n.Name(ident=x, primed=False) | n.Index(base=x, primed=False) if (
                    plus and x in self.noise
                ):
                    found.append((2, at, e, None))
        if not found:
            raise Reject("acyclic", line.span, f"the new value of {line.name} does not add to its draw")
        _, at, source, divisor = min(found, key=lambda each: each[:2])
        rest = [e if plus else n.Unary("-", e, span=e.span) for e, plus in signed[:at] + signed[at + 1 :]]
        value: n.Expr = rest[0] if rest else n.Number(Fraction(0), span=line.span)
        for e in rest[1:]:
            value = n.Binary("+", value, e, span=line.span)
        return value, source, divisor

    def shift(self, x: str, at: Term, path: Path, place: Span) -> list[Move]:
        """The lines for a draw, evaluated before it counts as made, so that it cannot read itself."""
        scope = self.scope(Mode.ALIGN, path, place)
        moves = self.moves(x, at, scope)
        for m in moves:
            for term in (m.on, *m.parts):
                self.countable(term, place)
                self.of_the_past(term, place)
        if not self.general:
            self.decided("acyclic", place, f"the shift of {x} is known before {x} is drawn")
        self.decided("countable", place, f"the shift of {x} takes what is released by its discrete part")
        return moves

    def total(self, moves: list[Move]) -> Term:
        """What the lines that are on add up to."""
        true, none = self.symbols.true, self.symbols.none
        parts = [m.value if same(m.on, true) else z3.If(m.on, m.value, none) for m in moves]
        return z3.Sum(*parts) if len(parts) > 1 else parts[0] if parts else self.symbols.none

    def image(self, stmt: n.Sample, one: Term, moves: list[Move], path: Path) -> Term:
        """The aligned draw: the draw, or what a line puts in its place, and what the lines add. See section
        13 of docs/kernel.md.

        Draws that take each other's place are drawn once in every complete run, and all of the first level
        (`_exchanged`). On a lattice this is a bijection as on the reals, for draws that have one lattice;
        dividing would leave it.
        """
        x, place = stmt.name, stmt.span
        new = [m for m in moves if m.renews]
        flips = stmt.family.coin and all(m.source is None and m.stretch is None for m in new)
        if stmt.family.discrete and not flips and any(m.divisor is not None for m in new):
            raise Reject("language", place, "a draw on a lattice that is divided")
        refused = {
            "beside the one-to-one route": self.general,
            "in a claim in δ or ρ": self.averaged,
            f"where it is {stmt.family.value} noise": stmt.family.row.moves is not Moves.BOTH
            or stmt.family.row.slope is Slope.STAIRS,
            "where it is a coin": stmt.family.coin and not flips,
        }
        for why in (why for why, holds in refused.items() if new and holds):
            raise Reject("language", place, f"a draw that is put in another's place, or divided, {why}")
        for m, other in combinations(new, 2):
            text = f"one line at most says what {x} becomes"
            path.oblige("injective", place, text, z3.Not(both(m.on, other.on)))
        for m in new:
            if m.divisor is not None and not flips:
                text = f"{x} is divided by 1 at least"
                path.oblige("support", place, text, implies(m.on, m.divisor >= 1))
        if any(m.source is not None for m in moves):
            self._exchanged(stmt, path)
        return self._renew(one, moves)

    def _renew(self, one: Term, moves: list[Move]) -> Term:
        """A draw that becomes what its lines say."""
        for m in moves:
            if m.source is not None:
                one = z3.If(m.on, self.noise[m.source[0]].symbols[0](m.source[1]), one)
            elif m.divisor is not None:
                one = z3.If(m.on, divided(one, m.divisor), one)
        return one + self.total(moves)

    def _exchanged(self, stmt: n.Sample, path: Path) -> None:
        """That the draws in the place of others are just those whose place is taken, each once; and that each
        has the scale that the other has. See section 13 of docs/kernel.md.

        All that is asked is asked of any two indices, of which lines and scales are functions that neither
        noise nor a loop has a part in.
        """
        x, place, shifts = stmt.name, stmt.span, shifts_in(self.spec.align)
        lines = (line for line in shifts if line.op == "=" and line.name in self.noise)
        takers = dict.fromkeys(line.name for line in lines if self._renewed(line)[1])
        j, k = self.index("j"), self.index("k")
        one, rest = self._each_draw(x, j, path), {y: self._each_draw(y, k, path) for y in takers}
        for on, (source, at) in one.takes:
            other, here = rest.get(source), both(one.within, on, k == at)
            if other is None or other.family is not one.family or len(other.drawn) != len(one.drawn):
                raise Reject("language", place, f"`{source}`, in the place of `{x}`, is no such draw")
            taken = both(other.within, either(self.symbols.false, *(by for by, _ in other.takes)))
            path.oblige("injective", place, f"the place of {source} is taken, too", implies(here, taken))
            equal = both(*(f == g for f, g in zip(one.drawn, other.drawn, strict=True)))
            path.oblige("scales", place, f"{x} and {source} have one scale", implies(here, equal))
            for y, again in rest.items():
                only = j == k if y == x else self.symbols.false
                for clash in (both(o, at == to) for o, (z, to) in again.takes if z == source):
                    goal = implies(both(one.within, on, again.within, clash), only)
                    path.oblige("injective", place, f"{source} is put in one place only", goal)

    def _each_draw(self, x: str, at: Term, path: Path) -> Draws:
        """The draws of a variable at an arbitrary index: a statement of the top level, or of a loop of the
        top level that leaves out no round, makes each of them once in every complete run.
        """
        stmt, *more = self._samples(x)
        rounds = scope = self.scope(Mode.LEVEL, path, stmt.span, (at,))
        match [s for s in self.spec.body if s == stmt or (isinstance(s, n.For) and stmt in s.body)]:
            case [n.Sample(index=None)] if not more:
                low, high = self.symbols.zero, self.symbols.integer(1)
            case [n.For(index=str(i), over=over, body=body)] if not more and stmt.index == n.Name(i):
                if any(isinstance(s, n.Break) for s in statements_in(body)):
                    raise Reject("language", stmt.span, f"the loop that draws `{x}` may leave out a round")
                (low, high), rounds = self.ends(over, scope), scope.binding(i, at, True)
            case _:
                raise Reject("language", stmt.span, f"`{x}` is not drawn once, in every run")
        moves, drawn = self.moves(x, at, scope), [self.number(e, rounds) for e in stmt.args]
        told = (low, high, drawn[0], *(t for m in moves for t in (m.on, *m.parts)))
        if not (all(map(self.symbols.inputs_only, drawn[1:])) and self.symbols.noise_free(*told)):
            raise Reject("acyclic", stmt.span, f"which `{x}` takes the place of which depends on noise")
        takes = [(m.on, m.source) for m in moves if m.source is not None]
        return Draws(stmt.family, both(low <= at, at < high), drawn, takes)

    # --- cost ---------------------------------------------------------------------------------------------

    def charged(self, stmt: n.Sample, at: Term, moves: list[Move], rate: Rate, path: Path) -> Term:
        """What a draw counts in the cost: |shift| times its rate; or for each line that is on what the
        witness says it costs at most, once that is shown: |v1 + v2| <= |v1| + |v2|.

        Where the author's invariants speak of the cost they mean what it is, and nothing else is counted.
        """
        x, costs = stmt.name, chain(self.witness.costs, repeat(None))
        numbered = zip(shifts_in(self.spec.align), costs, strict=False)
        lines = [(line, most) for line, most in numbered if line.name == x]
        exactly = self.speaks_of_cost or self.concentrated
        if exactly or any(most is None for _, most in lines) or any(m.renews for m in moves):
            if lines:
                self.counted(x, stmt.span, None)
            stretched = [Move(m.on, m.stretch) for m in moves if m.stretch is not None]
            return self._cost(self.total(moves), rate) + self.total(stretched)
        parts: list[Move] = []
        for (line, most), move in zip(lines, moves, strict=True):
            if most is not None:
                scope = self._at(line, at, self.scope(Mode.RELATION, path, line.span))
                amount = real(self.number(most, scope))
                text = f"moving {x} by this line costs at most its part"
                now, goal = self._at_most(move.value, rate, amount)
                self.prove(path, "cost", line.span, text, now)
                path.oblige("cost", line.span, text, implies(move.on, goal))
                self.counted(x, line.span, most)
                parts.append(Move(move.on, amount))
        return self.total(parts)

    def _at_most(self, shift: Term, rate: Rate, amount: Term) -> tuple[Term, Term]:
        """What is true of every run, and what is shown of a shift; together: it costs at most this. Where the
        amount is a number times what a unit costs, and a unit costs nothing negative, the shift is at most
        that number: |d| <= m and m*r <= a give |d|*r <= a, and of the two factors of a product one is left.
        """
        unit = divided(*rate)
        most = z3.simplify(quotient((amount, 1), (unit, -1)))
        if not z3.is_rational_value(most):
            return self.symbols.true, self._cost(shift, rate) <= amount
        return both(unit >= 0, most * unit <= amount), absolute(shift) <= most

    def _cost(self, shift: Term, rate: Rate) -> Term:
        """|shift| * above / below: a bound of ln f(x)/f(x + shift); in ρ half its square, which is exact for
        Gaussian noise.
        """
        above, below = rate
        if self.concentrated:
            return divided(shift * shift * self.square(above), 2 * self.square(below))
        return divided(absolute(shift) * above, below)

    # --- condition v --------------------------------------------------------------------------------------

    def of_the_past(self, term: Term, place: Span) -> None:
        """What averages over outputs cannot be told by them: where a claim is in δ or ρ a shift is a function
        of D, D' and draws that were made, none of what is released later.
        """
        for _, role in self.symbols.leaves(term) if self.averaged else ():
            if isinstance(role, Told):
                text = "a claim in δ or ρ averages over outputs: no shift depends on what is released later"
                raise Reject("acyclic", place, text)

    def countable(self, term: Term, place: Span) -> None:
        """Condition v: the alignment is one of countably many, told by the output.

        A released real number may only stand in a comparison with inputs, other released values and whole
        numbers: for each of the countably many values of these whole numbers that is one truth value, told by
        the output. Then for each choice of all these truth values the shift is a function of D, D' and
        earlier noise.
        """
        if not self.symbols.numbers_told(term):
            return
        if z3.is_bool(term) and not _connective(term):
            for leaf, role in self.symbols.leaves(term):
                if isinstance(role, Drawn | Held) and not (z3.is_int(leaf) or z3.is_bool(leaf)):
                    raise Reject("countable", place, "a released number and noise in one test")
        elif anatomy(term).symbol:
            raise Reject("countable", place, "the value of a shift contains a released number")
        else:
            for part in term.children():
                self.countable(part, place)

    # --- what holds of complete runs -----------------------------------------------------------------------

    def one_to_one(self, path: Path) -> None:
        """Two runs on D with one image and one output have the same draws."""
        for x, (at, moved) in path.twins.items():
            path.fact(Kind.TWIN, implies(self.is_drawn(path, x, at), moved), (at,))
        for x, noise in self.noise.items():
            j = self.index("j")
            drawn = both(j >= 0, j < path.ghosts[own("drawn", x)])
            same = noise.symbols[0](j) == noise.symbols[2](j)
            text = f"two noise vectors with the same output and the same image have the same {x}"
            path.oblige("injective", self.spec.span, text, implies(drawn, same))

    @property
    def general(self) -> bool:
        """Whether the general route is taken: one-to-one and piecewise triangular, instead of one order."""
        return self.witness.route == "injective"

    def everywhere(self, path: Path, since: dict[str, Term] | None = None) -> None:
        """The aligned draws at every index, where a shift is made of inputs, of what is released, of what a
        single call released, and of draws: an equation that defines the aligned draw, also of draws that are
        made later, or never. On the general route it speaks of draws on D alone, in both runs on D; of the
        twin's it is said where these are drawn: what is not has no image that two runs share. The order is
        nothing to it there: this only says which point the alignment takes a point to; and lines without sets
        are functions of what stays as it is, whether or not they are defined where nothing is drawn.

        Of the draws `since` a round began (above all that were drawn then, and drawn now) the same is known
        with the lists of this round: it is what was stated at each of these draws.
        """
        lines = (e for top in align_expressions(self.spec.align) for e in subexpressions(top))
        sets = bool(path.late) or any(isinstance(e, n.Gather) for e in lines)
        [at], fixed = self.arbitrary("at"), set[int]()
        for made in path.calls.values():  # lines can read here what single calls released: see `_records`
            fixed |= {symbol.get_id() for symbol in (made.length.decl(), made.tag, *made.fields.values())}
        for x, run in product(filter(self.indexed, self.noise), self.runs[::2]):
            scope = self.scope(Mode.LEVEL, path, self.spec.span, (at,)).of(run)
            try:
                moves = self.moves(x, at, scope)
            except Reject:
                continue
            drawn, runs = self.noise[x].symbols, (run,) if self.general else (0, 1)
            made_of = [self.total(moves), *(m.source[1] for m in moves if m.source is not None)]
            if any(m.divisor is not None for m in moves) or not all(
                self._made_of(t, runs, fixed) for t in made_of
            ):
                continue  # this is known when the draw is made
            moved = drawn[1](at) == self._renew(drawn[run](at), moves)
            if since:
                here = both(self.is_drawn(path, x, at), at >= since[own("drawn", x)])
                path.fact(Kind.TWIN if run else Kind.PRIME, implies(here, moved), (at,))
                continue
            if run and x not in path.twins:
                path.twins[x] = at, moved
            read = {role.run for _, role in self.symbols.draws(*made_of)}
            kind = Kind.PRIME if 1 in read else Kind.WHOLE  # that there is no circle rests on what is owed
            if run or (kind, anatomy(moved)) in path.known:
                continue
            if not read or (self.general and not sets) or self._defined_everywhere(x, at, path):
                path.fact(kind, moved, (at,))

    def _defined_everywhere(self, x: str, at: Term, path: Path) -> bool:
        """Whether a shift that is made of draws, whenever they are made, is defined at any index; then what
        defines its maxima is known. Where it is not, it is evaluated when the draw is made.
        """
        trial = path.copy()
        trial.pending = []
        scope = self.scope(Mode.ALIGN, trial, self.spec.span, (at,))
        try:
            self.moves(x, at, replace(scope, testing=self.general))
            if self.general:
                self.moves(x, at, replace(scope, mode=Mode.TWIN, run=2, testing=True))
            self.discharge(trial)
        except Reject:
            return False
        path.facts, path.known = trial.facts, trial.known
        return True

    def indexed(self, x: str) -> bool:
        """Whether a noise variable has indices."""
        return all(s.index is not None for s in self._samples(x))

    def _samples(self, x: str) -> list[n.Sample]:
        return [s for s in statements_in(self.spec.body) if isinstance(s, n.Sample) and s.name == x]

    def steps(self, term: Term, step: Term) -> Term:
        """A guess of the whole number m with term == step*m, which the solver is asked to confirm."""
        kind, parts = anatomy(term).kind, term.children()
        if kind in (z3.Z3_OP_ADD, z3.Z3_OP_SUB):
            first, *others = (self.steps(p, step) for p in parts)
            return z3.Sum(first, *others) if kind == z3.Z3_OP_ADD else first - z3.Sum(*others)
        if kind == z3.Z3_OP_UMINUS:
            return -self.steps(parts[0], step)
        if kind == z3.Z3_OP_ITE:
            return z3.If(parts[0], self.steps(parts[1], step), self.steps(parts[2], step))
        if anatomy(term).symbol and (symbol := term.decl().get_id()) in self.whole:
            counted, own = self.whole[symbol](*parts), self.lattice.get(symbol, step)
            return (
                counted if same(own, step) else _whole(z3.simplify(quotient((own, 1), (step, -1)))) * counted
            )
        return _whole(z3.simplify(quotient((term, 1), (step, -1))))


def _whole(term: Term) -> Term:
    """A guess of the whole number that a real one is."""
    parts = [_whole(p) for p in term.children()] if z3.is_mul(term) or z3.is_add(term) else []
    if z3.is_app_of(term, z3.Z3_OP_TO_REAL):
        return term.arg(0)
    if z3.is_rational_value(term) and term.denominator_as_long() == 1:
        return term.ctx.integer(term.numerator_as_long())
    if not parts or any(z3.is_app_of(p, z3.Z3_OP_TO_INT) for p in parts):
        return floor(term)
    return z3.Product(*parts) if z3.is_mul(term) else z3.Sum(*parts)


def _connective(term: Term) -> bool:
    """Whether a formula is made of formulas: its truth is told by theirs."""
    kind, equal = anatomy(term).kind, (z3.Z3_OP_EQ, z3.Z3_OP_DISTINCT)
    return kind in CONNECTIVES or bool(kind in equal and z3.is_bool(term.arg(0)))

"""The inputs on D and D': symbols, and what the declarations say of them (adjacency, ranges)."""

from __future__ import annotations

from collections.abc import Iterator

import z3

from aligncheck.kernel.answer import Reject
from aligncheck.kernel.evaluate import divided
from aligncheck.kernel.form import INDEX
from aligncheck.kernel.logic import Kind
from aligncheck.kernel.loops import Looping
from aligncheck.kernel.state import Mode, Path, Scope
from aligncheck.kernel.symbols import Given
from aligncheck.kernel.terms import Term, absolute, both, either, floor, implies, real
from aligncheck.kernel.witness import own
from aligncheck.kernel.world import marks_of
from aligncheck.language.adjacencies import Shared, Way
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import can_share, lists_per_answer, names_in, sharing


class Inputs(Looping):
    """Declarations."""

    def declare(self, path: Path) -> None:
        """Gives every input its symbols, and states what its declaration says of D and D'."""
        s = self.symbols
        for item in self.spec.inputs:
            match item:
                case n.Parameter(name=name, sort=sort):
                    self.public[name] = s.constant(name, self.sort(sort), Given())
                case n.PublicVector(name=name, sort=sort):
                    one = s.function(name, (s.INT,), self.sort(sort), Given())
                    self.lists[name] = (one, one, one)
                case n.Queries(sort=n.Sort.BOOL):
                    raise Reject("form", item.span, "answers are numbers")
                case n.Queries(names=names, sort=sort):
                    for name in names:
                        one, other = (
                            s.function(name + "'" * run, (s.INT,), self.sort(sort), Given(run))
                            for run in (0, 1)
                        )
                        self.lists[name] = (one, other, one)
                    self.single.update(names if not item.vector else ())
        for name in self.lists:
            single = name in self.single
            self.lengths[name] = s.integer(1) if single else s.constant(f"len({name})", s.INT, Given())
            path.fact(Kind.RUN, self.lengths[name] >= 0)
        for item in self.spec.inputs:
            for run in (0, 1):
                self._where(item, path, run)
        for item in self.spec.inputs:
            if isinstance(item, n.Queries):
                self._adjacent(item, path)

    def _where(self, item: n.Input, path: Path, run: int) -> None:
        """A clause: of every entry, if it speaks of one by its index; else of the list as a whole, also if it
        is empty, of which it must have a value, too: a call shows what it says, not that it says something.
        The same is required of D and of D'.
        """
        if item.where is None:
            return
        scope = self.scope(Mode.CLAUSE, path, item.where.span).of(run)
        if not isinstance(item, n.Parameter):
            i, names = self.index("i"), item.names
            inside = both(*(both(i >= 0, i < self.lengths[x]) for x in names))
            if INDEX in names_in(item.where):
                scope = scope.binding(INDEX, i, True).under(inside)
        clause = self.truth(item.where, scope)
        if INDEX in names_in(item.where):
            self.state(Kind.RUN, scope, clause)
        else:
            path.fact(Kind.RUN, clause)

    def public_only(self, term: Term) -> bool:
        """Whether no private answer is in a term."""
        return not any(role in (Given(0), Given(1)) for _, role in self.symbols.leaves(term))

    # --- adjacency ----------------------------------------------------------------------------------------

    def _adjacent(self, group: n.Queries, path: Path) -> None:
        """D ~ D' for one group, and that its clauses make sense: no negative sensitivity, no empty range, a
        positive step, a multiple of it in the range; these are asked for what the parameters alone are known
        to be.
        """
        if (group.sensitivity is None) is not group.adjacency.free:
            raise Reject("form", group.span, "a sensitivity is missing, or one too many")
        for b in lists_per_answer(group, self.lists):
            if b not in self.lengths:
                raise Reject("form", group.span, f"`{b}` is no list")
            for name in group.names:
                path.fact(Kind.RUN, self.lengths[b] >= self.lengths[name])
        self._declare_marks(group)
        if group.adjacency.in_all:
            self._bounded_together(group, path, False)
        called = (i for use in self.spec.uses if use.contract for i in use.contract.mechanism.inputs)
        passed = any(isinstance(i, n.Queries) and i.adjacency.in_squares for i in called)
        alike = group.sensitivity is not None and INDEX not in names_in(group.sensitivity)
        if group.adjacency.in_squares or (passed and alike):
            self._bounded_together(group, path, True)
        for number, name in enumerate(group.names):
            i = self.symbols.zero if name in self.single else self.index("i")
            inside = both(i >= 0, i < self.lengths[name])
            scope = self.scope(Mode.CLAUSE, path, group.span).under(inside)
            scope = scope.binding(INDEX, i, name not in self.single)
            says = list(self._clauses(group, number, name, i, scope))
            if says:
                path.fact(Kind.RUN, implies(inside, both(*says)), scope.generic)

    def _declare_marks(self, group: n.Queries) -> None:
        """Symbols for which answers move, and which way: a line that shares either with a line above has its
        symbols, since there is one place, or one direction, for both.
        """
        s, first = self.symbols, group.names[0]
        for what in Shared:
            if not can_share(sharing(self.spec.inputs, group, what), what):
                raise Reject("form", group.span, f"these answers share no {what.value}")
        at, up = (sharing(self.spec.inputs, group, what)[0].names[0] for what in Shared)
        places = [
            (pair, s.INT) for way in Way for pair in zip(marks_of(way, first), marks_of(way, at), strict=True)
        ]
        for (mark, leading), sort in (*places, ((own("rises", first), own("rises", up)), s.BOOL)):
            self.marks[mark] = self.marks[leading] if mark != leading else s.constant(mark, sort, Given())

    def _clauses(self, group: n.Queries, number: int, name: str, i: Term, scope: Scope) -> Iterator[Term]:
        on_d, on_other = (real(f(i)) for f in self.lists[name][:2])
        sense, s = "the clauses of a declaration make sense", self.symbols

        def sensible(goal: Term) -> None:
            self.prove(scope.path, "hypotheses", group.span, sense, implies(scope.guard, goal))

        clauses = [e for e in (group.lattice, *(group.range or ()), group.sensitivity) if e is not None]
        for e in clauses:
            if not self.public_only(self.number(e, scope)):
                raise Reject("hypotheses", e.span, "a clause of a declaration is public")
        step = s.ctx.rational(1) if group.sort is n.Sort.INT else None
        if group.lattice is not None:
            value_of = self.number if step is None else self.whole_number
            step = real(value_of(group.lattice, scope))
            sensible(step > 0)
            for run, value in enumerate((on_d, on_other)):
                steps = s.function(f"steps of {name}", (s.INT,), s.INT, Given())
                symbol = self.lists[name][run].get_id()
                self.whole[symbol], self.lattice[symbol] = steps, step
                yield value == step * real(steps(i))
        if group.range is not None:
            low, high = (real(self.number(e, scope)) for e in group.range)
            sensible(low <= high)
            if step is not None:  # a run takes the nearest multiple of the step: there must be one
                greatest = step * real(floor(divided(high, step)))
                sensible(either(both(low <= 0, high >= 0), low <= greatest))
            yield both(low <= on_d, on_d <= high, low <= on_other, on_other <= high)
        if group.sensitivity is not None and not group.adjacency.in_all:
            bound = real(self.number(group.sensitivity, scope))
            sensible(bound >= 0)
            yield both(on_other - on_d <= bound, on_d - on_other <= bound)
        yield from self._moves_of(group, number, i, on_d, on_other)

    def _moves_of(self, group: n.Queries, number: int, i: Term, on_d: Term, on_other: Term) -> Iterator[Term]:
        """Beyond the bound on each: all go the same way, of all lines that share it; or an answer stays, or
        is that of one of the `ways`, each of which is at one place in the group and goes in its direction.
        """
        first = group.names[0]

        def moves(way: Way) -> Term:
            at, owner = (self.marks[mark] for mark in marks_of(way, first))
            there = both(owner == number, at == i)
            if way.sign == 0:
                return there
            return both(there, on_d <= on_other if way.sign > 0 else on_other <= on_d)

        if group.adjacency.one_way or len(sharing(self.spec.inputs, group, Shared.DIRECTION)) > 1:
            yield z3.If(self.marks[own("rises", first)], on_d <= on_other, on_d >= on_other)
        if group.adjacency.ways:
            yield either(on_d == on_other, *map(moves, group.adjacency.ways))

    def _bounded_together(self, group: n.Queries, path: Path, squares: bool) -> None:
        """The sum of all moves is at most the sensitivity, or that of their squares at most its square;
        `$moved_q[i]`, or `$squares_q[i]`, is the part below index i. Where each answer has that sensitivity,
        the sum of the squares is at most so many times its square as there are answers that may move.
        """
        s, total = self.symbols, self.symbols.none
        for name in group.names:
            i = self.index("i")
            below = s.function(f"moved {name}", (s.INT,), s.REAL, Given())
            self.moved[own("squares" if squares else "moved", name)] = below
            length = self.lengths[name]
            move = absolute(real(self.lists[name][1](i)) - real(self.lists[name][0](i)))
            move = move * move if squares else move
            step = both(below(i) >= 0, below(i + 1) == below(i) + move, below(i + 1) <= below(length))
            path.fact(Kind.RUN, implies(both(i >= 0, i < length), step), (i,))
            if name in self.single:
                path.fact(Kind.RUN, z3.substitute(step, (i, s.zero)))
            path.fact(Kind.RUN, both(below(s.zero) == 0, below(length) >= 0))
            total = total + below(length)
        if group.sensitivity is not None:
            bound = real(self.number(group.sensitivity, self.scope(Mode.CLAUSE, path, group.span)))
            self.prove(path, "hypotheses", group.span, "the sensitivity is not negative", bound >= 0)
            all_of_them = z3.Sum([real(self.lengths[name]) for name in group.names])
            many = 1 if group.adjacency.together else len(group.adjacency.ways) or all_of_them
            path.fact(Kind.RUN, total <= (many * bound * bound if squares else bound))

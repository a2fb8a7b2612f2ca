"""What a program says of its noise: where it is drawn, and in which linear expressions it is released, tested
or selected by. Templates of alignments are made of these alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias

from aligncheck.language.families import Family
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.language.syntax.rewrite import bottom_up, with_other

LinearForm: TypeAlias = dict[n.Expr, Fraction]
"""A linear expression: the coefficient of each part that is no sum."""

ONE = n.Number(Fraction(1))
SELECTIONS = ("argmax", "argmin", *n.SELECTING)


@dataclass(frozen=True, slots=True)
class NoiseSite:
    """All draws of one noise variable: `binder` stands for their index (None: scalar noise), `loops` are the
    numbers of the loops around them, `position` and `last` the places of the first and the last one in the
    program.
    """

    name: str
    family: Family
    scale: n.Expr
    binder: str | None
    position: int
    loops: tuple[int, ...]
    last: int

    @property
    def index(self) -> n.Expr | None:
        """The index that a line of the alignment names."""
        return None if self.binder is None else n.Name(self.binder)


@dataclass(frozen=True, slots=True)
class NoisePart:
    """A noise variable in an expression: the index of the draw, its coefficient, and the part that it is."""

    name: str
    index: n.Expr | None
    coefficient: Fraction
    part: n.Expr


@dataclass(frozen=True, slots=True)
class InSet:
    """The set that an expression stands in: the variable that it is assigned to, its function, its index."""

    variable: str | None
    function: str
    index: str


@dataclass(frozen=True)
class NoiseUse:
    """An expression with noise in it that is released, assigned, tested, or compared inside a set (`kind`);
    `tags` are those of records that come with it, or with the test where it holds.
    """

    kind: str
    form: LinearForm
    tags: tuple[str, ...]
    noise: tuple[NoisePart, ...]
    within: InSet | None


@dataclass(frozen=True)
class EmitPlace:
    """An `emit` with its place, the loops and the arms around it (the `if`, the number of the arm), and the
    assignments in the same block.
    """

    statement: n.Emit
    position: int
    loops: tuple[int, ...]
    arms: tuple[tuple[n.If, int], ...]
    beside: tuple[n.Assign, ...]


@dataclass
class ProgramReading:
    """A program, read once. `tested` has the names in the tests around each assignment of a variable."""

    mechanism: n.Mechanism
    sites: dict[str, NoiseSite] = field(default_factory=dict)
    uses: list[NoiseUse] = field(default_factory=list)
    emits: list[EmitPlace] = field(default_factory=list)
    assigned: dict[str, list[n.Expr]] = field(default_factory=dict)
    assigned_at: dict[str, list[int]] = field(default_factory=dict)
    tested: dict[str, list[set[str]]] = field(default_factory=dict)
    items: dict[str, str] = field(default_factory=dict)
    loops: dict[int, n.For | n.While] = field(default_factory=dict)
    added_up: dict[str, n.Expr] = field(default_factory=dict)
    loop_indices: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        m = self.mechanism
        self.groups = [item for item in m.inputs if isinstance(item, n.Queries)]
        self.private = {name for group in self.groups for name in group.names}
        public = {i.name for i in m.inputs if not isinstance(i, n.Queries)}
        self.inputs = self.private | public
        self.gathers = walk.gathered_in_full(m.body)
        self._position = 0
        self._scan(m.body, (), ())
        self.moving = self._moving()
        for loop in self.loops.values():
            self._add_up(loop)
        self._temporaries = {
            name
            for name, values in self.assigned.items()
            if len(values) == 1 and not isinstance(values[0], n.Gather) and read_in(values[0]) & self.moving
        }
        for statement in walk.statements_in(m.body):
            self._look_at(statement)

    @property
    def tests(self) -> Iterator[n.Expr]:
        """The tests of all `if`s."""
        for s in walk.statements_in(self.mechanism.body):
            if isinstance(s, n.If):
                yield from (branch.test for branch in s.branches)

    def counted_with(self, emit: EmitPlace) -> Iterator[n.Expr]:
        """What counts the records before an `emit`: a variable that goes up by 1 beside it, or down from its
        first value.
        """
        for name, values in self.assigned.items():
            held = n.Name(name)
            steps = [v for v in values if isinstance(v, n.Binary) and v.left == held and v.right == ONE]
            start = next((v for v in values if held not in walk.subexpressions(v)), None)
            beside = any(s.name == name and s.value in steps for s in emit.beside)
            if not beside or start is None:
                continue
            if all(v.op == "+" for v in steps):
                yield held
            elif all(v.op == "-" for v in steps):
                yield n.Binary("-", start, held)

    def reads(self, site: NoiseSite, loop: int) -> bool:
        """Whether a loop after that of a draw reads it at its own index."""
        s = self.loops[loop]
        index = n.Name(s.index) if isinstance(s, n.For) and s.index is not None else site.index
        place = n.Index(site.name, index) if index is not None else None
        if place is None or loop in site.loops:
            return False
        return place in walk.expressions_of(walk.statements_in(s.body))

    def by_answers(self, site: NoiseSite, e: n.Expr) -> n.Expr:
        """The expression with `q[i]` in place of the item of a loop, which is visible in that loop alone."""
        if site.index is None:
            return e
        for item in walk.names_in(e) & self.items.keys():
            e = with_other(e, n.Name(item), n.Index(self.items[item], site.index))
        return e

    # --- where things stand -------------------------------------------------------------------------------

    def _scan(
        self, body: tuple[n.Stmt, ...], loops: tuple[int, ...], arms: tuple[tuple[n.If, int], ...]
    ) -> None:
        for s in body:
            self._position += 1
            here = self._position
            match s:
                case n.Assign(name=name, value=value):
                    self.assigned.setdefault(name, []).append(value)
                    self.assigned_at.setdefault(name, []).append(here)
                    asked = (b.test for chosen, at in arms for b in chosen.branches[: at + 1])
                    self.tested.setdefault(name, []).append({x for e in asked for x in walk.names_in(e)})
                case n.Invoke(name=name):
                    self.calls.add(name)
                case n.Sample():
                    self._draw(s, here, loops)
                case n.If(branches=branches, otherwise=otherwise):
                    for number, branch in enumerate(branches):
                        self._scan(branch.body, loops, (*arms, (s, number)))
                    self._scan(otherwise, loops, (*arms, (s, len(branches))))
                case n.For(index=index, over=over, body=inner):
                    self.loops[here] = s
                    self.loop_indices |= {index} if index is not None else set()
                    if isinstance(over, n.OverQueries):
                        self.items[over.item] = over.base
                    self._scan(inner, (*loops, here), arms)
                case n.While(body=inner):
                    self.loops[here] = s
                    self._scan(inner, (*loops, here), arms)
                case n.Emit():
                    beside = tuple(other for other in body if isinstance(other, n.Assign))
                    self.emits.append(EmitPlace(s, here, loops, arms, beside))
                case n.Sampling() | n.Empty():
                    pass

    def _draw(self, s: n.Sample, here: int, loops: tuple[int, ...]) -> None:
        known = self.sites.get(s.name)
        if known is not None:
            binder = None if known.binder is None else self.fresh("j")
            self.sites[s.name] = replace(known, binder=binder, last=here)
            return
        binder = None
        if s.index is not None:
            own = isinstance(s.index, n.Name) and s.index.ident not in self.inputs
            binder = s.index.ident if own and isinstance(s.index, n.Name) else self.fresh("j")
        self.sites[s.name] = NoiseSite(s.name, s.family, s.args[0], binder, here, loops, here)

    def fresh(self, *wanted: str) -> str:
        """A name that nothing in the program has, one of those wanted if it can be."""
        taken = {*self.inputs, *self.assigned, *self.items, *self.sites}
        more = (f"{wanted[0]}{number}" for number in range(2, len(taken) + 3))
        return next(name for name in (*wanted, *more) if name not in taken)

    def _moving(self) -> set[str]:
        """Names whose values on D and D' may differ: private answers, noise, and what is computed from them,
        or assigned where a test on private answers without noise holds (a test on noise comes out the same on
        both).
        """
        found = {*self.sites, *self.private, *(x for x, base in self.items.items() if base in self.private)}
        while True:
            new = {
                v
                for v, values in self.assigned.items()
                if v not in found
                and (
                    any(read_in(e) & found for e in values)
                    or any(names & found and not self.noisy(names) for names in self.tested.get(v, ()))
                )
            }
            if not new:
                return found
            found |= new

    def noisy(self, names: Iterable[str]) -> bool:
        """Whether any of the names is noise, or computed from it."""
        seen: set[str] = set()
        left = set(names)
        while left:
            name = left.pop()
            seen.add(name)
            if name in self.sites:
                return True
            for e in self.assigned.get(name, ()):
                left |= set(walk.names_in(e)) - seen
        return False

    def moves(self, e: n.Expr) -> bool:
        """Whether an expression may differ between D and D'."""
        return bool(read_in(e) & self.moving)

    # --- linear forms -------------------------------------------------------------------------------------

    def form(self, e: n.Expr) -> LinearForm:
        """The linear form, through variables that are assigned once."""
        found: LinearForm = {}
        self._add(e, Fraction(1), found)
        return {part: k for part, k in found.items() if k}

    def _add(self, e: n.Expr, times: Fraction, found: LinearForm) -> None:
        if isinstance(e, n.Binary) and e.op in ("+", "-"):
            self._add(e.left, times, found)
            self._add(e.right, times if e.op == "+" else -times, found)
        elif isinstance(e, n.Unary) and e.op == "-":
            self._add(e.operand, -times, found)
        elif isinstance(e, n.Binary) and e.op == "*" and isinstance(e.left, n.Number):
            self._add(e.right, times * e.left.value, found)
        elif isinstance(e, n.Binary) and e.op == "*" and isinstance(e.right, n.Number):
            self._add(e.left, times * e.right.value, found)
        elif isinstance(e, n.Binary) and e.op == "/" and isinstance(e.right, n.Number) and e.right.value:
            self._add(e.left, times / e.right.value, found)
        elif isinstance(e, n.Name) and e.ident in self._temporaries and e.ident not in self.gathers:
            self._add(self.assigned[e.ident][0], times, found)
        else:
            found[e] = found.get(e, Fraction(0)) + times

    def noise_in(self, form: LinearForm) -> tuple[NoisePart, ...]:
        found = []
        for part, k in form.items():
            if isinstance(part, n.Name) and part.ident in self.sites:
                found.append(NoisePart(part.ident, None, k, part))
            elif isinstance(part, n.Index) and part.base in self.sites:
                found.append(NoisePart(part.base, part.index, k, part))
        return tuple(found)

    # --- uses ---------------------------------------------------------------------------------------------

    def _add_up(self, loop: n.For | n.While) -> None:
        """The sums that variables hold after a loop over answers, apart from what they hold before it."""
        if not isinstance(loop, n.For) or not isinstance(loop.over, n.OverQueries):
            return
        index = loop.index or self.fresh("j")
        entry = n.Index(loop.over.base, n.Name(index))
        for s in loop.body:
            test = s.branches[0].test if isinstance(s, n.If) and len(s.branches) == 1 else None
            for each in s.branches[0].body if isinstance(s, n.If) and test is not None else (s,):
                if not isinstance(each, n.Assign) or not isinstance(each.value, n.Binary):
                    continue
                if each.value.op == "+" and each.value.left == n.Name(each.name):
                    over = n.Indices(loop.over.base)
                    term = with_other(each.value.right, n.Name(loop.over.item), entry)
                    where = None if test is None else with_other(test, n.Name(loop.over.item), entry)
                    self.added_up[each.name] = n.Gather("sum", None, term, index, over, where)

    def _look_at(self, s: n.Stmt) -> None:
        match s:
            case n.Assign(name=name, value=value):
                self._collect(value, "assign", (), name, None)
            case n.Emit(tag=tag, fields=fields):
                for each in fields:
                    self._collect(each.value, "emit", (tag,), None, None)
            case n.If(branches=branches):
                for branch in branches:
                    tags = tuple(x.tag for x in walk.statements_in(branch.body) if isinstance(x, n.Emit))
                    self._collect(branch.test, "test", tags, None, None)
            case n.While(test=test):
                self._collect(test, "test", (), None, None)
            case n.Simple() | n.For():
                pass

    def _collect(
        self, e: n.Expr, kind: str, tags: tuple[str, ...], variable: str | None, within: InSet | None
    ) -> None:
        if isinstance(e, n.Gather):
            inside = InSet(variable, e.function, e.index)
            for part in (e.where, e.body):
                if part is not None:
                    self._collect(part, "set", tags, variable, inside)
            return
        form = self.form(_difference_of(e) if isinstance(e, n.Compare) else e)
        noise = self.noise_in(form)
        if noise:
            self.uses.append(NoiseUse(kind, form, tags, noise, within))
        for part in form:
            if not isinstance(part, n.Name | n.Index | n.Literal):
                for inner in (part,) if isinstance(part, n.Gather) else walk.parts_of(part):
                    self._collect(inner, kind, tags, variable, within)

    # --- the run on D' ------------------------------------------------------------------------------------

    def primed(self, e: n.Expr, noise: bool = True) -> n.Expr:
        """The expression in the run on D'; without `noise` the draws stay those on D."""

        def stays(name: str) -> bool:
            chosen = name in self.gathers and self.gathers[name].function in SELECTIONS
            return name not in self.moving or chosen or (name in self.sites and not noise)

        def change(x: n.Expr) -> n.Expr:
            if isinstance(x, n.Call) and x.function == "len":
                return bottom_up(x, _unprimed)
            if isinstance(x, n.Name) and not stays(x.ident):
                return replace(x, primed=True)
            if isinstance(x, n.Index):
                return replace(x, index=bottom_up(x.index, _unprimed), primed=not stays(x.base))
            return x

        return bottom_up(e, change)

    def lost(self, form: LinearForm) -> n.Expr | None:
        """The form on D minus the form on D'; None where it is the same."""
        parts: list[tuple[Fraction, n.Expr]] = []
        for part, k in form.items():
            other = self.primed(part)
            if other != part:
                parts += [(k, part), (-k, other)]
        return total(parts)

    def available(self, site: NoiseSite, e: n.Expr) -> n.Expr:
        """The expression with definitions in place of variables that have no value yet at the draw."""
        for _ in range(5):
            which = 0 if site.loops else -1  # in a loop what was assigned before has a value, too
            after = {name for name, at in self.assigned_at.items() if at[which] > site.position}
            after -= self.gathers.keys()
            later = {
                name: self.assigned[name][0] if len(self.assigned[name]) == 1 else self.added_up[name]
                for name in walk.names_in(e) & after
                if len(self.assigned[name]) == 1 or name in self.added_up
            }
            if not later:
                break
            for name, value in later.items():
                e = with_other(e, n.Name(name), value)
        return e


def _difference_of(test: n.Compare) -> n.Expr:
    """What is positive where the test holds, ties apart; of an equation either side."""
    left, right = (test.right, test.left) if test.op in ("<", "<=") else (test.left, test.right)
    return n.Binary("-", left, right)


def read_in(e: n.Expr) -> frozenset[str]:
    """The names whose values an expression reads: the length of a list is public."""

    def public(x: n.Expr) -> n.Expr:
        return ONE if isinstance(x, n.Call) and x.function == "len" else x

    return walk.names_in(bottom_up(e, public))


def _unprimed(x: n.Expr) -> n.Expr:
    return replace(x, primed=False) if isinstance(x, n.Name | n.Index) else x


def total(parts: Iterable[tuple[Fraction, n.Expr]]) -> n.Expr | None:
    """The sum of multiples; None for an empty one. A difference is multiplied as a whole."""
    found: n.Expr | None = None
    left = [(k, e) for k, e in parts if k]
    while left:
        k, e = left.pop(0)
        term = e
        if left and left[0][0] == -k and abs(k) != 1:
            _, other = left.pop(0)
            first, second = (e, other) if k > 0 else (other, e)
            term, k = n.Binary("-", first, second), abs(k)
        size = abs(k)
        if size != 1:
            term = n.Binary("*", literal(size), term)
        if found is None and k < 0:
            positive = next((at for at, (c, _) in enumerate(left) if c > 0), None)
            if positive is not None and size == 1:
                left.insert(0, left.pop(positive))
                left.insert(1, (k, e))
                continue
            found = n.Unary("-", term)
        else:
            found = term if found is None else n.Binary("+" if k > 0 else "-", found, term)
    return found


def literal(value: Fraction) -> n.Expr:
    """A literal as the parser makes it."""
    if value.denominator == 1:
        return n.Number(value)
    return n.Binary("/", n.Number(Fraction(value.numerator)), n.Number(Fraction(value.denominator)))


def added(*parts: n.Expr | None) -> n.Expr | None:
    """The sum of those that there are."""
    found: n.Expr | None = None
    for part in parts:
        if part is not None:
            found = part if found is None else _sum(found, part)
    return found


def _sum(left: n.Expr, right: n.Expr) -> n.Expr:
    if isinstance(right, n.Unary) and right.op == "-":
        return n.Binary("-", left, right.operand)
    if isinstance(right, n.Binary) and right.op in ("+", "-"):
        return n.Binary(right.op, _sum(left, right.left), right.right)
    return n.Binary("+", left, right)


def own_names(s: n.Stmt) -> frozenset[str]:
    """The names in a statement's own expressions."""
    return frozenset(name for e in walk.own_expressions(s) for name in walk.names_in(e))


def gathers_inline(mechanism: n.Mechanism) -> list[n.Gather]:
    """Sets that stand inside other expressions."""
    return [
        e
        for s in walk.statements_in(mechanism.body)
        for e in walk.expressions_of((s,))
        if isinstance(e, n.Gather) and not (isinstance(s, n.Assign) and s.value is e)
    ]

"""Models of what a trial asks, with small numbers, and the runs that they are.

Not trusted: whether a run is one, and what it violates, is for `replay` to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import z3

from aligncheck.kernel.logic import Fact
from aligncheck.kernel.symbols import Drawn, Given, Rule
from aligncheck.kernel.terms import Anatomy, Term, anatomy, both, subterms
from aligncheck.language.syntax import nodes as n
from aligncheck.meaning import exact
from aligncheck.meaning.exact import Value
from aligncheck.meaning.interpreter import CallKey, EmittedRecord, NoiseKey
from aligncheck.meaning.scenario import Scenario
from aligncheck.search.failing.near import Near
from aligncheck.search.failing.trial import Course, Trial

LIMITS = ((1, 1), (2, 1), (4, 1), (4, 2), (16, 4), (1000, 16))
"""Readable models are asked for within these bounds in turn: (greatest size, denominator)."""
STEPS, FEW = 1_000_000, 250_000
"""What bounds each question, and each for a readable model: the solver's own count, the same on every
machine.
"""
OF_AN_EFFORT, OF_A_QUESTION = 2_500, 4
"""So many steps of the solver are one of an effort; what a question takes besides."""
INSTANCES = 200
"""Of a general fact so many instances are taken."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of one record: its tag (None for any), and values of fields."""

    tag: str | None
    fields: tuple[tuple[str, Value], ...]

    def granted(self, record: EmittedRecord) -> bool:
        """Whether a record is as wanted."""
        values = dict(record.fields)
        return self.tag in (None, record.tag) and all(
            name in values and exact.same(values[name], value) for name, value in self.fields
        )


@dataclass
class Models:
    """For one trial. `gave_up`: the last question has neither a model nor a proof that it has none."""

    trial: Trial
    _closed: dict[Fact, list[Term]] = field(default_factory=dict)
    _open: dict[Anatomy, tuple[tuple[Anatomy, bool], ...]] = field(default_factory=dict)
    _spent: int = 0
    asked: list[Term] = field(default_factory=list)
    gave_up: bool = False

    def __post_init__(self) -> None:
        self._near = Near(self.trial.rules)
        longest = max([*self.trial.sized.values(), self.trial.most - 2, 1])
        self._indices = [self.trial.symbols.integer(at) for at in range(-1, longest + 2)]

    # --- formulas -----------------------------------------------------------------------------------------

    def facts(self, facts: Sequence[Fact]) -> list[Term]:
        """What facts say of these inputs; general ones at small indices."""
        return [term for f in facts for term in self._instances(f)]

    def _instances(self, fact: Fact) -> list[Term]:
        known = self._closed.get(fact)
        if known is None:
            formula = self.trial.closed(fact.formula)
            indices = self._indices
            while len(indices) ** len(fact.variables) > INSTANCES:
                indices = indices[:-1]
            places = product(indices, repeat=len(fact.variables))
            made = [z3.substitute(formula, *zip(fact.variables, at, strict=True)) for at in places]
            terms = [z3.simplify(t) for t in made] if fact.variables else [formula]
            # What is said of a root is not true of a number that is near it.
            known = [
                t
                for t, before in ((self._near.formula(t), t) for t in terms)
                if not z3.is_true(t) and (z3.is_false(before) or not z3.is_false(t))
            ]
            self._closed[fact] = known
        return known

    def formula(self, term: Term) -> Term:
        """A formula of these inputs."""
        return self._near.formula(self.trial.closed(term))

    def number(self, value: Value) -> Term:
        """A value as a term; near it, for an irrational one."""
        ctx = self.trial.symbols.ctx
        if isinstance(value, bool):
            return z3.BoolVal(value, ctx)
        return ctx.rational(str(value if isinstance(value, Fraction) else Fraction(float(str(value)))))

    # --- models -------------------------------------------------------------------------------------------

    def model(self, formulas: Sequence[Term], limits: tuple[int, int] | None = None) -> Any:
        """A model, or None; with `limits` one that is easy to read."""
        self.gave_up = False
        if any(anatomy(f).kind == z3.Z3_OP_FALSE for f in formulas) or self.trial.effort.is_over:
            return None
        ctx, self.asked = self.trial.symbols.ctx, list(formulas)
        solver = z3.Solver(ctx=ctx)
        solver.set("rlimit", STEPS if limits is None else FEW)
        solver.set("timeout", 9**5)
        for f in [*formulas, *(self._readable(formulas, limits) if limits is not None else ())]:
            z3.Z3_solver_assert(ctx.ref(), solver.solver, f.ast)  # `add` takes long to see what it is given
        answer = solver.check()
        counts = solver.statistics()
        total = next(
            (int(v) for k, v in (counts[at] for at in reversed(range(len(counts)))) if k == "rlimit count"), 0
        )
        self.trial.spend(OF_A_QUESTION + max(0, total - self._spent) // OF_AN_EFFORT)
        self._spent, self.gave_up = total, answer == z3.unknown
        return solver.model() if answer == z3.sat else None

    def _readable(self, formulas: Sequence[Term], limits: tuple[int, int]) -> Iterator[Term]:
        size, denominator = limits
        for each, fine in dict.fromkeys(pair for f in formulas for pair in self._numbers(anatomy(f))):
            yield both(each.term <= size, each.term >= -size)
            if fine:
                yield z3.IsInt(each.term * denominator)

    def _numbers(self, formula: Anatomy) -> tuple[tuple[Anatomy, bool], ...]:
        """The symbols for numbers in a formula, and which are inputs and draws that need not be whole."""
        known = self._open.get(formula)
        if known is None:
            symbols = (e for e in subterms(formula.term) if e.symbol and not z3.is_bool(e.term))
            roles = ((e, self.trial.symbols.role(e.term)) for e in symbols)
            known = self._open[formula] = tuple(
                (e, z3.is_real(e.term) and isinstance(role, Given | Drawn))
                for e, role in roles
                if not isinstance(role, Rule)
            )
        return known

    # --- what a model says --------------------------------------------------------------------------------

    def value(self, model: Any, term: Term, open_: bool = False) -> Fraction | bool | None:
        """The value of a term, 0 or false where the model leaves it open; None there if it may be `open_`,
        and for what is no number.
        """
        found = model.eval(self.formula(term), model_completion=not open_)
        if z3.is_true(found) or z3.is_false(found):
            return bool(z3.is_true(found))
        if z3.is_algebraic_value(found):
            found = found.approx(12)
        if z3.is_int_value(found):
            return Fraction(found.as_long())
        return Fraction(found.as_fraction()) if z3.is_rational_value(found) else None

    def scenario(
        self, model: Any, way: Course, run: int = 0, other: Mapping[int, Any] | None = None
    ) -> Scenario | None:
        """The run of a model: of its draws in run 0, or in the twin run 2; or of the draws that `other`
        symbols stand for.
        """
        other = other or {}

        def number(term: Term) -> Value:
            value = self.value(model, self._renamed(term, other))
            if value is None:
                raise ArithmeticError
            return value

        t = self.trial
        integer = t.symbols.integer
        parameters: list[tuple[str, Any]] = []
        data: list[tuple[str, Any]] = []
        prime: list[tuple[str, Any]] = []
        try:
            for item in t.spec.inputs:
                match item:
                    case n.Parameter(name=name):
                        parameters.append((name, number(t.public[name])))
                    case n.PublicVector(name=name):
                        entries = (number(t.lists[name][0](integer(i))) for i in range(t.sized[name]))
                        parameters.append((name, tuple(entries)))
                    case n.Queries(names=names, vector=vector):
                        for name in names:
                            for side, f in zip((data, prime), t.lists[name], strict=False):
                                many = (number(f(integer(i))) for i in range(t.sized[name] if vector else 1))
                                side.append((name, tuple(many) if vector else next(many)))
            noise: dict[NoiseKey, Value] = {}
            for name, at in way.drawn:
                place = None if at is None else int(str(number(at)))
                noise[name, place] = number(t.noise[name].symbols[run](integer(place or 0)))
            functions = tuple(self._functions(model))
        except ArithmeticError:
            return None
        given = tuple(parameters), tuple(data), tuple(prime)
        return Scenario(*given, tuple(noise.items()), (), functions)

    def _functions(self, model: Any) -> Iterator[tuple[str, tuple[Value, ...], Value]]:
        """The values of public functions in what was asked."""
        names = {symbol.get_id(): name for name, (_, symbol) in self.trial.functions.items()}
        if not names:
            return
        seen = set[Anatomy]()
        for each in (part for f in self.asked for part in subterms(f)):
            name = names.get(each.term.decl().get_id()) if each.symbol and each not in seen else None
            seen.add(each)
            if name is not None:
                value, *args = (self.value(model, t) for t in (each.term, *each.term.children()))
                if value is None or None in args:
                    raise ArithmeticError
                yield name, tuple(a for a in args if a is not None), value

    def wishes(self, model: Any, way: Course) -> dict[CallKey, tuple[Wish, ...] | None]:
        """What a model fixes of what calls release."""
        counted = Counter[str]()
        found: dict[CallKey, tuple[Wish, ...] | None] = {}
        for name, made in way.called:
            key = (name, counted[name])
            counted[name] += 1
            size = self.value(model, made.length, open_=True)
            if size is None:
                found[key] = None
                continue
            wanted = []
            for r in map(self.trial.symbols.integer, range(int(size))):
                number = self.value(model, made.tag(r), open_=True)
                tag = made.tags[int(number)] if number is not None and 0 <= number < len(made.tags) else None
                fields = [f for f in made.fields if tag in (None, *made.having[f])]
                values = ((f, self.value(model, made.fields[f](r), open_=True)) for f in fields)
                wanted.append(Wish(tag, tuple((f, v) for f, v in values if v is not None)))
            found[key] = tuple(wanted)
        return found

    # --- a second run -------------------------------------------------------------------------------------

    def others(self, terms: Sequence[Term]) -> dict[int, Any]:
        """Symbols of a second run on the same inputs, for all in some terms that depends on draws; what is
        released stays.
        """
        out = self.trial.out
        kept = {f.get_id() for f in (out.length.decl(), out.tag, *out.fields.values())}
        kept |= {c.decl().get_id() for c in out.counts.values()}
        found: dict[int, Any] = {}
        for term in terms:
            for each in subterms(term):
                if not each.symbol:
                    continue
                decl = each.term.decl()
                role = self.trial.symbols.role(each.term)
                if decl.get_id() in kept | found.keys() or isinstance(role, Given | Rule):
                    continue
                domain = tuple(decl.domain(k) for k in range(decl.arity()))
                found[decl.get_id()] = (
                    decl,
                    self.trial.symbols.function(f"{decl.name()} again", domain, decl.range(), role),
                )
        return found

    def _renamed(self, term: Term, other: Mapping[int, Any]) -> Term:
        if not other:
            return term
        functions, constants = [], []
        for decl, new in other.values():
            if decl.arity():
                args = [z3.Var(k, decl.domain(k)) for k in range(decl.arity())]
                functions.append((decl, new(*args)))
            else:
                constants.append((decl(), new()))
        term = z3.substitute(term, *constants) if constants else term
        return z3.substitute_funs(term, *functions) if functions else term

    def renamed(self, terms: Sequence[Term], other: Mapping[int, Any]) -> list[Term]:
        """Terms of the second run."""
        return [self._renamed(t, other) for t in terms]

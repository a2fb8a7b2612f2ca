"""The kernel's one question: does this witness show that the mechanism is private as its spec claims?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import z3

from aligncheck.kernel.answer import Accepted, Decision, Reject, Rejected
from aligncheck.kernel.calls import Callee
from aligncheck.kernel.evaluate import EXP, LN, LOG2
from aligncheck.kernel.form import well_formed, well_formed_witness
from aligncheck.kernel.inputs import Inputs
from aligncheck.kernel.logic import Confirm, Decider, Fact, Kind
from aligncheck.kernel.run import Exits
from aligncheck.kernel.state import Mode, Path
from aligncheck.kernel.symbols import Defined, Symbols
from aligncheck.kernel.terms import Term, both, implies, real
from aligncheck.kernel.witness import DELTA, RECORDS, Witness, own
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import claimed_in, statements_in


def decide(
    spec: n.Mechanism,
    witness: Witness,
    confirm: Confirm | None = None,
    known: Sequence[tuple[n.Mechanism, Witness]] = (),
) -> Accepted | Rejected:
    """Whether every condition of the theorem in docs/kernel.md holds for the spec, for all inputs that it
    declares.

    `spec` may be any value at all: what is no spec is rejected. The witness says where to look; nothing in it
    is believed. `confirm` is asked about every answer of Z3 on which the decision rests. `known` are callees
    that were accepted, with this `confirm`: these very objects, which do not change, are not judged again.
    """
    symbols = Symbols()
    try:
        return judged(spec, witness, Decider(confirm, known=known), symbols)
    except Reject as refusal:
        return refusal.answer
    except (z3.Z3Exception, RecursionError) as error:
        return Rejected("form", n.NOWHERE, f"the solver takes no such formula ({type(error).__name__})")
    finally:
        symbols.ctx.forget()


def judged(spec: n.Mechanism, witness: Witness, decider: Decider, symbols: Symbols) -> Accepted:
    """The decision, by a decider that was asked nothing yet. Raises Reject."""
    well_formed_witness(witness)
    decider.needs = {each[0]: each[1:] for each in witness.needs if each}
    return Kernel(well_formed(spec), witness, decider, symbols).judged()


class Kernel(Inputs):
    """One decision."""

    def accepted(self, spec: n.Mechanism, witness: Witness) -> Callee:
        """Judges a callee by itself; then gives it symbols among those of the caller. Raises Reject."""
        self.judged_alone(spec, witness)
        inner = Kernel(spec, witness, self.decider, self.symbols)
        inner.rules, inner.functions, path = self.rules, self.functions, Path()
        inner.prepare_inputs(path)

        def end(e: n.Expr | None) -> Term | None:
            """A term for all arguments: the symbol of a set in it would be one for the sets of all calls."""
            scope = inner.scope(Mode.CLAUSE, Path(facts=list(path.facts)), spec.span)
            term = None if e is None else inner.number(e, scope)
            sets = [] if term is None else [r for _, r in self.symbols.leaves(term) if isinstance(r, Defined)]
            return None if sets else term

        claimed = [real(term) for term in map(end, bounds_of(spec.claim)) if term is not None]
        if len(claimed) < len(bounds_of(spec.claim)):
            raise Reject("language", spec.claim.span, "a set in the claim of what is called")
        within = tuple((f, end(low), end(high)) for f, low, high in witness.within)
        return Callee(spec, inner, tuple(path.facts), tuple(claimed), end(witness.length), within)

    def judged_alone(self, spec: n.Mechanism, witness: Witness) -> None:
        """Judges a callee, with a solver and symbols of its own. Raises Reject."""
        known = self.decider.known
        if not any(spec is one and witness is its for one, its in known):
            judged(spec, witness, Decider(self.decider.confirm, known=known), Symbols())

    def prepare_inputs(self, path: Path) -> None:
        """Symbols for functions, noise and inputs, and what is declared."""
        self.sorts = dict(self.witness.sorts)
        self.settled = _settled(self.spec)
        self.called = frozenset(s.name for s in statements_in(self.spec.body) if isinstance(s, n.Invoke))
        self.declare_functions()
        self.declare_noise()
        self.prepare_symbols()
        self.declare(path)

    def judged(self) -> Accepted:
        """Goes through the whole program. Raises Reject."""
        if self.witness.route not in ("acyclic", "injective"):
            raise Reject("language", self.spec.span, "this route")
        located = any(isinstance(s, n.Logistic) for s in statements_in(self.spec.body))
        if self.averaged and (self.general or located):
            raise Reject("language", self.spec.claim.span, "this proof, of a claim in δ or ρ")
        self.runs = (0, 1, 2) if self.general else (0, 1)
        self.spec = _selecting(self.spec, self.witness)
        path = Path()
        self.prepare_inputs(path)
        self.prepare_selections(path)
        self.prepare_loops()
        self.hypotheses(path)
        self._start(path)
        self._claim_in_range(path)
        self.block(self.spec.body, path, Exits(self._end, None), top=True)
        self.decided("draws", self.spec.span, "every test that decides what is drawn is released as well")
        decisions = tuple(Decision(*about, steps) for about, steps in self.decisions.items())
        return Accepted(self.witness.route, decisions, tuple(self.parts))

    def _start(self, path: Path) -> None:
        s = self.symbols
        path.ghosts = dict.fromkeys(self.out.counts, s.zero) | {"alignment_cost": s.none, DELTA: s.none}
        for x in self.noise:
            path.ghosts |= {own("drawn", x): s.zero, own("least", x): s.zero, own("dense", x): s.true}
        path.fact(Kind.TOLD, self.out.length >= 0)
        self.owe(path, self.later(self.witness.promises, path, self.spec.span))

    def hypotheses(self, path: Path) -> None:
        """Rule 2: some inputs satisfy the declarations; a proof about none would prove nothing."""
        values: list[Term] = []
        for name, value in self.witness.sample:
            term = self.public.get(name, self.lengths.get(name.removeprefix("len(").removesuffix(")")))
            if term is not None and not z3.is_bool(term):
                values.append(real(term) == self.symbols.ctx.rational(Fraction(value)))
        values += [self.lengths[x] >= 1 for x in self.lists]
        facts = self._without_logarithms(path.facts, values)
        short = [[self.lengths[x] == most for x in self.lists if x not in self.single] for most in (1, 2, 3)]
        ways = ([*values, *more] for more in (*short, []))  # Z3 finds models with short lists easily
        if not any(self.decider.satisfiable(facts, way, self.symbols.ctx) for way in ways):
            raise Reject("hypotheses", self.spec.span, "no inputs were found that satisfy the declarations")
        self.decided("hypotheses", self.spec.span, "inputs that satisfy the declarations were found")

    def _without_logarithms(self, facts: list[Fact], values: list[Term]) -> list[Fact]:
        """The facts that speak of no logarithm. Those that do hold of inputs with these values: they follow
        from 1 - 1/x <= ln x <= x - 1, whatever else the inputs are.
        """
        bounds: list[Term] = []
        bounded = {self.rules[f].get_id() for f in (EXP, LOG2)}
        spoken: list[Fact] = []
        for fact in facts:
            known = [t for t, _ in self.symbols.leaves(fact.formula)]
            logs = [t for t in known if t.decl().eq(self.rules[LN])]
            if any(t.decl().get_id() in bounded for t in known) or (logs and fact.variables):
                raise Reject("hypotheses", self.spec.span, "exp and log2 are known by bounds only")
            spoken += [fact] if logs else []
            bounds += [implies(x > 0, both(x * t >= x - 1, t <= x - 1)) for t in logs for x in t.children()]
        given = Path(facts=[Fact(Kind.RUN, formula) for formula in (*values, *bounds)])
        for fact in spoken:
            text = "the values satisfy what is declared of logarithms"
            self.prove(given, "hypotheses", self.spec.span, text, fact.formula)
        return [fact for fact in facts if fact not in spoken]

    def _claim_in_range(self, path: Path) -> None:
        """The claim (of an output-dependent one: its bound) is public, and not negative. A claim in ε and δ
        follows from the bound of ρ, if there is one: see section 14 of docs/kernel.md.
        """
        trial = Path(facts=list(path.facts))  # without an output: the claim does not speak of it
        for bound in bounds_of(self.spec.claim):
            claim = self._claimed(bound, trial)
            self.prove(trial, "cost", bound.span, "the claim is not negative", claim >= 0)
        if isinstance(self.spec.claim, n.Approximate) and self.witness.rho is not None:
            self._converted(self.spec.claim, self.witness.rho, trial)

    def _converted(self, claim: n.Approximate, most: n.Expr, path: Path) -> None:
        """That ρ + 2 sqrt(ρ ln(1/δ)) <= ε, without the root: ρ <= ε and 4 ρ ln(1/δ) <= (ε - ρ)². The δ is
        what calls leave of that of the claim.
        """
        left = self.witness.slack or claim.delta
        place, below = claim.span, self._claimed(left, path)
        self.prove(path, "cost", place, "the δ is positive, and below 1", both(below > 0, below < 1))
        log = n.Call("ln", (n.Binary("/", n.Number(Fraction(1)), left),), span=place)
        rho, eps, times = (self._claimed(e, path) for e in (most, claim.epsilon, log))
        goal = both(rho <= eps, 4 * rho * times <= (eps - rho) * (eps - rho))
        self.prove(path, "cost", place, "ρ + 2*sqrt(ρ*ln(1/δ)) is at most ε", goal)

    def _claimed(self, e: n.Expr, path: Path) -> Term:
        """The value of a claim, which is public."""
        claim = real(self.number(e, self.scope(Mode.CLAUSE, path, e.span)))
        if not self.public_only(claim):
            raise Reject("form", e.span, "the claim is not public")
        return claim

    def _end(self, path: Path) -> None:
        """The end of a complete run: the output has these records and no others; the cost is within the
        claim.
        """
        if self.witness.length is not None:
            scope = self.scope(Mode.CLAUSE, path, self.spec.span)
            goal = path.ghosts[RECORDS] == self.whole_number(self.witness.length, scope)
            self.prove(path, "output", self.spec.span, "how many records there are", goal)
        for name in self.out.counts:
            self.emitted(self.spec, name, path.ghosts[name], path)
        for name, many in self.out.counts.items():
            path.fact(Kind.TOLD, many == path.ghosts[name])
        self.pay(path, 0)
        cost, limit = path.ghosts["alignment_cost"], self._limit(path)
        path.oblige("cost", self.spec.claim.span, "the cost is within the claim", cost <= limit)
        if self.general:
            self.one_to_one(path)
        self.discharge(path)

    def _limit(self, path: Path) -> Term:
        """What the cost of a run is at most; and what else the claim says of a run."""
        match self.spec.claim:
            case n.Pure(epsilon=epsilon, most=most):
                limit = self._claimed(epsilon, path)
                if most is not None:
                    text, bound = "the claim is within its bound", self._claimed(most, path)
                    path.oblige("cost", most.span, text, limit <= bound)
                return limit
            case n.Approximate(epsilon=epsilon, delta=delta):
                text, bound = "the δ is within the claim", self._claimed(delta, path)
                spent = path.ghosts[DELTA]
                if self.witness.rho is not None:
                    spent = spent + self._claimed(self.witness.slack or delta, path)
                path.oblige("cost", delta.span, text, spent <= bound)
                return self._claimed(epsilon if self.witness.rho is None else self.witness.rho, path)
            case n.Concentrated(rho=rho):
                return self._claimed(rho, path)


def bounds_of(claim: n.Claim) -> tuple[n.Expr, ...]:
    """What a claim says of every output."""
    return (claim.most or claim.epsilon,) if isinstance(claim, n.Pure) else claimed_in(claim)


def _selecting(spec: n.Mechanism, witness: Witness) -> n.Mechanism:
    """The mechanism that also makes the selections of the witness, at the top level, and so releases them.
    Nothing in the spec reads their names, which no spec can contain: it forgets them. So it is as private as
    this one, of which all is shown, also that they are defined in every run.
    """
    loops = [s for s in statements_in(spec.body) if isinstance(s, n.For | n.While)]
    made = {
        id(stmt): (n.Assign(own("selection", k), hints.selection, span=stmt.span),)
        for k, (stmt, hints) in enumerate(zip(loops, witness.loops, strict=False))
        if hints.selection is not None
    }
    return replace(spec, body=tuple(s for stmt in spec.body for s in (stmt, *made.get(id(stmt), ()))))


def _settled(spec: n.Mechanism) -> frozenset[str]:
    """The variables with one assignment, at the top level: once they have a value it stays."""
    given = Counter(s.name for s in statements_in(spec.body) if isinstance(s, n.Assign))
    return frozenset(s.name for s in spec.body if isinstance(s, n.Assign) and given[s.name] == 1)

"""The obligations of one mechanism, sorted into questions for a solver and conditions of form.

A `Plan` holds all that a search found. From the spec and the plan everything else follows, without a search:
so a certificate needs to be believed in nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from aligncheck.compiler.certificate.notation import names_of, write
from aligncheck.compiler.certificate.scripts import Asked, Batch, Kept, Printer, Script, described, sign_batch
from aligncheck.language.internal import InternalError
from aligncheck.language.source import Source
from aligncheck.language.syntax.contract import Bound
from aligncheck.language.syntax.nodes import Expr, For, Mechanism, Sample, While
from aligncheck.language.syntax.walk import has_densities, statements_in
from aligncheck.search.discharge.algebra import canonical, is_integral, leaves
from aligncheck.search.discharge.guarantees import bound_holds, bound_is_fixed, length_holds, length_is_fixed
from aligncheck.search.discharge.prove import Proved, decide
from aligncheck.search.discharge.smt import Smt
from aligncheck.search.discharge.values import near, value_of
from aligncheck.search.discharge.whole import (
    Choices,
    clauses_of,
    obligations_of_densities,
    obligations_with,
    prepared,
)
from aligncheck.search.obligations.inductive import known_terms_at
from aligncheck.search.obligations.obligation import (
    Impossible,
    Independent,
    Integral,
    Obligation,
    own_symbol,
    run_on_d,
)
from aligncheck.search.relational.density import Choice, Densities, Released, densities_of
from aligncheck.search.relational.labels import RecordCount, RecordField, RecordIs
from aligncheck.search.relational.paths import Analysis
from aligncheck.search.relational.selection import Gathered, chosen, member, passed, pick, size_of, witness_of
from aligncheck.search.relational.terms import (
    AT_A_LOOP_HEAD,
    FALSE,
    TRUE,
    ZERO,
    App,
    Const,
    Kind,
    Pair,
    Sort,
    Sym,
    Term,
    Truth,
    and_,
    atoms,
    eq,
    iff,
    is_number,
    not_,
    sort_of,
    substitute,
)
from aligncheck.search.relational.theory import Theory, prefix

Witness = Mapping[Term, Fraction | bool]


class ProofError(Exception):
    """A plan that proves nothing of this mechanism; the message says where it fails."""


@dataclass(frozen=True)
class Plan:
    """What a search found.

    `joined` are the choices and numbers, by name, that are one factor of a density. `witness` are values that
    satisfy the declarations. `length` and `bounds` are what callers rely on. `sets` and `full` are the
    numbers of the questions that need the meaning of selections, and of those that need more than the linear
    abstraction; `kept` says what is asserted of each batch (`batches_of`).
    """

    choices: Choices
    joined: tuple[tuple[str, str], ...] = ()
    witness: Witness = field(default_factory=dict)
    length: Expr | None = None
    bounds: tuple[Bound, ...] = ()
    sets: frozenset[int] = frozenset()
    full: frozenset[int] = frozenset()
    kept: tuple[Kept, ...] = ()


@dataclass(frozen=True)
class Side:
    """A condition that is decided by the form of its terms: its text, as data, and whether it holds; and
    which hypothesis it repeats, if it does.
    """

    text: str
    data: str
    holds: bool
    assumed: Term = TRUE

    @property
    def line(self) -> str:
        return f"{self.data} ; {self.text}"


@dataclass(frozen=True)
class Subject:
    """One mechanism, its spec and its paths (or its densities)."""

    mechanism: Mechanism
    source: Source
    theory: Theory
    smt: Smt
    paths: Analysis | None
    densities: Densities | None

    @classmethod
    def of(cls, mechanism: Mechanism, source: Source) -> Subject:
        """Raises TooManyPathsError, UnsupportedError."""
        if has_densities(mechanism.body):
            theory = Theory(mechanism)
            return cls(mechanism, source, theory, Smt(theory), None, densities_of(theory))
        theory, smt, analysis = prepared(mechanism)
        return cls(mechanism, source, theory, smt, analysis, None)

    @cached_property
    def names(self) -> Mapping[str, Sym | App]:
        """The symbols that stand for the same number throughout a run, whatever is executed: in these a
        witness may be written.
        """
        terms = [*self.theory.generic_entries(), *self.theory.base, self.theory.claim, *self.theory.sizes]
        terms += self.smt.facts.about(terms, sets=False)
        for name in filter(self.theory.is_private, self.theory.inputs):
            terms += [prefix(name, ZERO), *self.theory.place(name)]
        registry = self.theory.registry
        for symbol, meaning in registry.extrema.items():
            terms += [symbol, witness_of(symbol)] if self._is_fixed(meaning) else []
        terms += [symbol for symbol, meaning in registry.indices.items() if self._is_fixed(meaning)]
        terms += [chosen(name) for name, meaning in registry.argmaxima.items() if self._is_fixed(meaning)]
        for name, meaning in registry.selections.items():
            if self._is_fixed(meaning):
                terms += [passed(name, ZERO), member(name, ZERO), pick(name, ZERO), size_of(name)]
        return names_of([*terms, *self._output()])

    def _is_fixed(self, meaning: Gathered | None) -> bool:
        """Whether a maximum or a selection is over numbers that no round of a loop changes."""
        if meaning is None:
            return False
        return not any(
            a.kind in AT_A_LOOP_HEAD or (isinstance(a, Sym) and self._varies(a))
            for a in atoms([*meaning.parts, *([] if meaning.count is None else [meaning.count])])
        )

    def _varies(self, symbol: Sym) -> bool:
        """Whether a draw may be another one each round, or what is made of draws."""
        if symbol.kind is Kind.NOISE:
            return symbol not in self._drawn_outside_loops
        return self.theory.registry.is_noisy(symbol)

    @cached_property
    def _drawn_outside_loops(self) -> frozenset[Term]:
        loops = [s for s in statements_in(self.theory.mechanism.body) if isinstance(s, For | While)]
        inside = {s.name for loop in loops for s in statements_in(loop.body) if isinstance(s, Sample)}
        paths = self.paths.paths if self.paths is not None else ()
        return frozenset(own_symbol(d) for p in paths for d in p.drawings() if d.name not in inside)

    def _output(self) -> Iterator[Sym | App]:
        """The parts of the complete output of which the program's alignment speaks."""
        for path in self.paths.paths if self.paths is not None else ():
            values = [t for pair in path.env.values() for t in _both(pair)]
            shifts = [drawing.shift for drawing in path.drawings()]
            for atom in atoms([*values, *shifts, *run_on_d(path)]):
                if isinstance(atom.label, RecordIs | RecordField | RecordCount):
                    yield atom

    def names_at(self, number: int) -> Mapping[str, Sym | App]:
        """The symbols in which invariants of a loop may be written: also the ones of its head.

        No others: what is drawn or changes inside the loop has one symbol, but another value each round, so
        that an invariant about it would be shown of one value and used of another.
        """
        if self.paths is None or number not in range(len(self.paths.cuts)):
            return {}
        return {**self.names, **names_of(known_terms_at(self.paths, number))}

    # --- obligations --------------------------------------------------------------------------------------

    def obligations(self, plan: Plan) -> list[tuple[Obligation, Smt]]:
        """Every obligation, with the theory under which it is to be decided. Raises ProofError."""
        clauses, public = clauses_of(self.theory)
        try:
            found = [*self._of_program(plan), *self._guaranteed(plan)]
        except LookupError as error:
            raise ProofError(str(error)) from None
        whole = [*((o, public) for o in clauses), *((o, self.smt) for o in found)]
        return list({(o, id(smt)): (o, smt) for o, smt in whole}.values())

    def _of_program(self, plan: Plan) -> list[Obligation]:
        if self.paths is not None:
            return obligations_with(self.paths, plan.choices, self.source)
        if self.densities is None:
            raise InternalError("a proof by densities without densities")
        if plan.choices.route != "density" or plan.choices.ways or plan.choices.invariants:
            raise LookupError("a mechanism that draws by densities has another kind of proof")
        pairs = [self._pair(*names) for names in plan.joined]
        return obligations_of_densities(self.densities, pairs, self.source)

    def _pair(self, chosen: str, number: str) -> tuple[Choice, Released]:
        if self.densities is None:
            raise InternalError("a proof by densities without densities")
        draws = self.densities.draws
        choice = next((d for d in draws if isinstance(d, Choice) and d.draw.name == chosen), None)
        released = next((d for d in draws if isinstance(d, Released) and d.draw.name == number), None)
        if choice is None or released is None:
            raise LookupError(f"there are no draws `{chosen}` and `{number}` that could go together")
        return choice, released

    def _guaranteed(self, plan: Plan) -> list[Obligation]:
        found: list[Obligation] = []
        if plan.length is not None:
            found += self._length(plan, plan.length)
        for bound in plan.bounds:
            wanted = self._bound(plan, bound)
            if not wanted:
                raise LookupError(f"`{bound.field}` is no field of whole numbers")
            found += wanted
        return found

    def _length(self, plan: Plan, length: Expr) -> list[Obligation]:
        if self.paths is not None:
            return length_holds(self.paths, plan.choices.invariants, length)
        if self.densities is None:
            raise InternalError("a proof by densities without densities")
        return length_is_fixed(self.densities, length)

    def _bound(self, plan: Plan, bound: Bound) -> list[Obligation]:
        if self.paths is not None:
            return bound_holds(self.paths, plan.choices.invariants, bound)
        if self.densities is None:
            raise InternalError("a proof by densities without densities")
        return bound_is_fixed(self.densities, bound)


def _both(pair: Pair) -> tuple[Term, Term]:
    return pair.left, pair.right


# --- questions and conditions of form -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question:
    """One question for a solver, in normal form: `hypotheses`, the first `shared` of them those of the path,
    imply `goal`. Of two equal questions the first is kept: clauses come first, about which least is assumed.
    """

    smt: Smt = field(compare=False)
    hypotheses: tuple[Term, ...]
    goal: Term
    text: str
    shared: int


@dataclass(frozen=True)
class Sorted:
    """All that must be decided: conditions of form and questions, each once."""

    sides: tuple[Side, ...]
    questions: tuple[Question, ...]


def sorted_out(subject: Subject, plan: Plan) -> Sorted:
    """The obligations of a plan, by how they are decided. Raises ProofError."""
    sides: dict[str, Side] = {}
    questions: dict[Question, None] = {}
    for obligation, smt in subject.obligations(plan):
        for found in sorted_one(obligation, smt, described(obligation, subject.source)):
            if isinstance(found, Side):
                known = sides.get(found.line)
                sides[found.line] = found if known is None or known.holds else known
            else:
                questions[found] = None
    return Sorted(tuple(sides.values()), tuple(questions))


def sorted_one(obligation: Obligation, smt: Smt, text: str) -> Iterator[Side | Question]:
    """What is to be decided of one obligation."""
    goal = obligation.goal
    if isinstance(goal, Term):
        yield from _asked(smt, obligation.hypotheses, goal, text, obligation.shared)
        return
    match goal:
        case Impossible(holds=holds, why=why):
            yield Side(text, f"(form: {why})", holds)
        case Independent(term=term, of=of, value_only=value_only):
            others = " ".join(sorted(write(t) for t in of))
            kind = "value-independent" if value_only else "independent"
            yield Side(
                text, f"({kind} {write(term)} ({others}))", isinstance(decide(obligation, smt), Proved)
            )
        case Integral(term=term):
            yield Side(text, f"(integral {write(term)})", True)
            for given, value in leaves(term):
                if not is_integral(value):
                    hypotheses = (*obligation.hypotheses, given)
                    what = f"{text} (`{write(value)}` does not occur)"
                    yield from _asked(smt, hypotheses, FALSE, what, obligation.shared)


def _asked(
    smt: Smt, hypotheses: tuple[Term, ...], goal: Term, text: str, shared: int
) -> Iterator[Side | Question]:
    target = smt.normal(goal)
    assumed = [smt.normal(h) for h in hypotheses]
    if target == TRUE:
        yield Side(text, "(true by its normal form)", True)
    elif FALSE in assumed:
        yield Side(text, "(no run comes here, by the normal form of a test)", True)
    elif target in assumed:
        yield Side(text, "(assumed)", True, target)
    else:
        first = dict.fromkeys(assumed[:shared])
        own = [h for h in dict.fromkeys(assumed[shared:]) if h not in first]
        yield Question(smt, (*first, *own), target, text, len(first))


def batches_of(questions: Iterable[Question], plan: Plan) -> list[tuple[Batch, tuple[int, ...]]]:
    """The questions in batches, each with their numbers: those of one path together, in the linear
    abstraction; those that need more each alone.
    """
    groups: dict[tuple[int, int, tuple[Term, ...]], list[int]] = {}
    every = list(questions)
    for number, question in enumerate(every):
        shared = question.hypotheses[: question.shared] or question.hypotheses
        alone = number if number in plan.full else -1
        kind = alone if alone >= 0 else -1 if number in plan.sets else -2
        groups.setdefault((kind, id(question.smt), shared), []).append(number)
    found = []
    for (kind, _, shared), numbers in groups.items():
        asked = tuple(
            Asked(every[n].hypotheses[len(shared) :], every[n].goal, every[n].text) for n in numbers
        )
        batch = Batch(every[numbers[0]].smt, shared, asked, linear=kind < 0, sets=kind > -2)
        found.append((batch, tuple(numbers)))
    return found


@dataclass(frozen=True)
class Rendered:
    """All that a certificate says of one mechanism's proof, beside the plan."""

    sides: tuple[Side, ...]
    scripts: tuple[Script, ...]


def rendered(subject: Subject, plan: Plan) -> Rendered:
    """The conditions and the scripts of a plan. Raises ProofError where the two do not fit."""
    sorted_ = sorted_out(subject, plan)
    batches = batches_of(sorted_.questions, plan)
    if len(batches) != len(plan.kept):
        raise ProofError(f"{len(plan.kept)} groups are listed, but there are {len(batches)}")
    printers: dict[int, Printer] = {}
    linear: dict[int, list[tuple[Batch, Kept]]] = {}
    alone: list[list[tuple[Batch, Kept]]] = []
    for (batch, _), kept in zip(batches, plan.kept, strict=True):
        printers.setdefault(id(batch.smt), Printer(batch.smt))
        together = linear.setdefault(id(batch.smt), []) if batch.linear else None
        if together is None:
            alone.append([(batch, kept)])
        else:
            together.append((batch, kept))
    name = subject.mechanism.name
    scripts = []
    for number, group in enumerate((*linear.values(), *alone), 1):
        try:
            scripts.append(printers[id(group[0][0].smt)].script(f"{name}, script {number}", group))
        except (IndexError, ValueError):
            raise ProofError(f"script {number} asserts what may not be assumed") from None
    for printer in printers.values():
        batch_ = sign_batch(printer.smt, printer.signs())
        if batch_ is not None:
            plain = Printer(printer.smt, signed=False)
            title = f"{name}, signs of denominators and factors"
            scripts.append(plain.script(title, [(batch_, plain.everything(batch_))]))
    side, script = _witnessed(subject, plan.witness)
    return Rendered((*sorted_.sides, side), (*scripts, script))


# --- the declarations can be met --------------------------------------------------------------------------


def declarations_met(theory: Theory, witness: Witness) -> bool:
    """Whether values satisfy the `where` clauses, also where these are no polynomials."""
    values: dict[Term, Term] = {
        t: Truth(v) if isinstance(v, bool) else Const(Fraction(v)) for t, v in witness.items()
    }
    met = (value_of(near(canonical(substitute(b, values))), dict(witness)) for b in theory.base)
    return False not in met


def _witnessed(subject: Subject, witness: Witness) -> tuple[Side, Script]:
    """Rule 2: that the hypotheses can hold, shown by values. The script pins these values; whether they
    satisfy the `where` clauses is computed, too.
    """
    values: dict[Term, Term] = {}
    for term, value in witness.items():
        if isinstance(value, bool) is is_number(term):
            raise ProofError(f"`{write(term)}` cannot be {value}")
        if sort_of(term) is Sort.INT and not isinstance(value, bool) and value.denominator != 1:
            raise ProofError(f"`{write(term)}` is a whole number, not {value}")
        values[term] = Truth(value) if isinstance(value, bool) else Const(value)
    text = "some parameters and some pair D, D' satisfy the declarations"
    side = Side(f"hypotheses: {text}", "(met by the witness)", declarations_met(subject.theory, witness))
    known = tuple(dict.fromkeys(canonical(f) for f in subject.theory.generic_entries()))
    pinned = [(iff if isinstance(v, Truth) else eq)(t, v) for t, v in values.items()]
    batch = Batch(subject.smt, known, (Asked((), not_(and_(pinned)), text),), linear=False)
    printer = Printer(subject.smt)
    title = f"{subject.mechanism.name}, the declarations can be met"
    return side, replace(printer.script(title, [(batch, printer.everything(batch))]), expected="sat")

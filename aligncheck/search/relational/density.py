"""Programs that draw by stated densities, as terms: what is drawn, released and tested on D and on D'.

Such a program makes the same draws in every run (`check.density`). Both runs are looked at with the *same*
drawn values, which are symbols; an expression has a value on D and one on D', and a value that reads nothing
but draws and public inputs is one and the same term in both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TypeAlias, TypeVar

from aligncheck.language.internal import InternalError
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.weights import log_of
from aligncheck.search.relational.applied import Applied, applied_in
from aligncheck.search.relational.evaluate import Evaluator, Partial
from aligncheck.search.relational.labels import Bound, OverSet
from aligncheck.search.relational.selection import Gathered, UnsupportedError, needs_no_arguments
from aligncheck.search.relational.terms import (
    TRUE,
    And,
    Cmp,
    Kind,
    Not,
    Pair,
    Sort,
    Sym,
    Term,
    and_,
    atoms,
    div,
    eq,
    implies,
    ite,
    lt,
    not_,
    order_key,
    same,
    scaled,
    sub,
    substitute,
)
from aligncheck.search.relational.theory import InputScope, Theory

T = TypeVar("T")

_LARGEST = 4_000
"""Above this many parts the value of a variable after branches is not kept."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An index that was drawn, with probability proportional to `exp(log_weight)` at it.

    `log_weight` is that of the chosen index. `total` is the logarithm of the sum of all weights, `others` of
    those of the other indices; `inside` says that the chosen index is one of the set, and `anywhere` that an
    arbitrary index is (on D and on D'). `some` and `some_others` say when the sums have a term.
    """

    draw: nodes.Choose
    symbol: Sym
    log_weight: Pair
    total: Pair
    others: Pair
    inside: Pair
    anywhere: Pair
    some: Pair
    some_others: Pair

    @property
    def log_odds(self) -> Pair:
        """ln(p/(1-p)), p being the probability of the index that was drawn, where there are others."""
        return Pair(
            sub(self.log_weight.left, self.others.left), sub(self.log_weight.right, self.others.right)
        )


@dataclass(frozen=True, slots=True)
class Released:
    """A number that was drawn from a logistic distribution, cut off below `low` where that is given."""

    draw: nodes.Logistic
    symbol: Sym
    location: Pair
    scale: Pair
    low: Pair | None

    @property
    def standard_location(self) -> Pair:
        """(location - low)/scale: where the number's distribution lies, in its own unit."""
        low = self.low or same(sub(self.location.left, self.location.left))
        return Pair(
            div(sub(self.location.left, low.left), self.scale.left),
            div(sub(self.location.right, low.right), self.scale.right),
        )


Draw: TypeAlias = Choice | Released


@dataclass(frozen=True, slots=True)
class Shown:
    """Something that has to be the same on D and D', being no draw: a released value, or a test."""

    value: Pair
    what: str
    span: Span
    given: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Emitted:
    """A record: its fields on D and D', what is known where it is released, and whether every run does so."""

    fields: tuple[tuple[str, Pair], ...]
    given: tuple[Term, ...]
    always: bool


@dataclass(frozen=True, slots=True)
class Needed:
    """An operation that must be defined, and what is known where it is evaluated."""

    partial: Partial
    given: tuple[Term, ...]
    primed: bool


@dataclass(frozen=True, slots=True)
class Densities:
    """What a program draws, releases, shows, needs and applies, in order; `facts` are known of the draws."""

    theory: Theory
    draws: tuple[Draw, ...]
    records: tuple[Emitted, ...]
    shown: tuple[Shown, ...]
    needed: tuple[Needed, ...]
    applied: tuple[tuple[Applied, tuple[Term, ...]], ...]
    facts: tuple[Term, ...]
    wholes: Wholes


@dataclass(frozen=True, slots=True)
class Whole:
    """What a symbol stands for: `function` (`logsumexp`, `max` or `min`) of the body over a set."""

    function: str
    meaning: Gathered


@dataclass
class Wholes:
    """The sums, maxima and minima over sets that were met, each a symbol."""

    meanings: dict[Sym, Whole] = field(default_factory=dict)

    def symbol(self, function: str, meaning: Gathered, span: Span) -> Sym:
        """The symbol for a function of the body over the set; one for each meaning. Raises
        UnsupportedError.
        """
        needs_no_arguments(meaning, span)
        whole = Whole(function, meaning)
        for symbol, known in self.meanings.items():
            if known == whole:
                return symbol
        symbol = Sym(OverSet(function, len(self.meanings)), Sort.REAL, Kind.STATE)
        self.meanings[symbol] = whole
        return symbol

    def pairs(self) -> Iterator[tuple[Sym, Sym]]:
        """Every two symbols for one function over one set."""
        for (one, first), (other, second) in combinations(self.meanings.items(), 2):
            if first.function == second.function and same_set(first.meaning, second.meaning):
                yield one, other


def same_set(one: Gathered, other: Gathered) -> bool:
    """Whether two sets are the same by their form."""
    return (one.low, one.high, _conjuncts(one)) == (other.low, other.high, _conjuncts(other))


def _conjuncts(meaning: Gathered) -> frozenset[Term]:
    where = meaning.where
    return frozenset(map(_in_order, where.args if isinstance(where, And) else (where,)))


def _in_order(condition: Term) -> Term:
    """The condition, the sides of an equality in a fixed order."""
    if isinstance(condition, Not):
        return not_(_in_order(condition.arg))
    if isinstance(condition, Cmp) and condition.op == "==":
        return eq(*sorted((condition.left, condition.right), key=order_key))
    return condition


def densities_of(theory: Theory) -> Densities:
    """What a checked mechanism draws.

    Raises UnsupportedError for what the rule has no terms for.
    """
    return _Walk(theory).run()


# --- the two runs -----------------------------------------------------------------------------------------


@dataclass
class _Walk:
    """Both runs, statement by statement. `given` are the tests of the branches around the statement."""

    theory: Theory
    env: dict[str, Pair] = field(default_factory=dict)
    wholes: Wholes = field(default_factory=Wholes)
    facts: list[Term] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)
    records: list[Emitted] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)
    needed: list[Needed] = field(default_factory=list)
    applied: list[tuple[Applied, tuple[Term, ...]]] = field(default_factory=list)
    given: tuple[Term, ...] = ()

    def run(self) -> Densities:
        self._block(self.theory.mechanism.body)
        return Densities(
            self.theory,
            tuple(self.draws),
            tuple(self.records),
            tuple(self.shown),
            tuple(self.needed),
            tuple(self.applied),
            tuple(self.facts),
            self.wholes,
        )

    def _block(self, body: tuple[nodes.Stmt, ...]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, statement: nodes.Stmt) -> None:
        match statement:
            case nodes.Assign(name=name, value=value):
                self.env[name] = self._pair(value)
            case nodes.Choose():
                self._choose(statement)
            case nodes.Logistic():
                self._logistic(statement)
            case nodes.Emit(fields=fields):
                pairs = [self._pair(each.value) for each in fields]
                for each, pair in zip(fields, pairs, strict=True):
                    what = f"`{each.name}` is computed from what is drawn and from public inputs"
                    self.shown.append(Shown(pair, what, each.span, self._known()))
                named = tuple((each.name, pair) for each, pair in zip(fields, pairs, strict=True))
                self.records.append(Emitted(named, self._known(), not self.given))
            case nodes.If():
                self._if(statement)
            case nodes.Pass():
                pass
            case nodes.Invoke() | nodes.Sample() | nodes.For() | nodes.While() | nodes.Break():
                raise UnsupportedError(statement.span, "this statement in a mechanism with stated densities")

    def _if(self, statement: nodes.If) -> None:
        """Every arm, then each variable's value as a choice between those of the arms."""
        outside = self.given
        arms: list[tuple[Pair, dict[str, Pair]]] = []
        before = dict(self.env)
        for body, test in [*((b.body, b.test) for b in statement.branches), (statement.otherwise, None)]:
            self.env = dict(before)
            holds = self._pair(test) if test is not None else same(TRUE)
            if test is not None:
                what = "the test comes out the same on D and D'"
                self.shown.append(Shown(holds, what, test.span, self._known()))
            arm = self.given
            # Both runs take the same arm: that is shown first.
            self.given = (*arm, holds.left)
            self._block(body)
            arms.append((holds, self.env))
            self.given = (*arm, not_(holds.left))
        self.given = outside
        self.env = _joined(arms)

    def _known(self) -> tuple[Term, ...]:
        return (*self.facts, *self.given)

    # --- draws ----------------------------------------------------------------------------------------------

    def _choose(self, draw: nodes.Choose) -> None:
        symbol = Sym(draw.name, Sort.INT, Kind.OMEGA)
        left, right = sides = self._weighed(draw.weights)
        others = [replace(s, where=and_((s.where, not_(eq(s.binder, symbol))))) for s in sides]
        generic = Sym(f"{draw.name}~any", Sort.INT, Kind.GHOST)
        enough = [s.enough() for s in sides]
        for some, primed in zip(enough, (False, True), strict=True):
            partial = Partial(some, draw.weights.span, "there is something to choose from")
            self.needed.append(Needed(partial, self._known(), primed))
        self.draws.append(
            Choice(
                draw,
                symbol,
                Pair(left.value(symbol), right.value(symbol)),
                Pair(*(self.wholes.symbol(nodes.LOG_SUM, s, draw.span) for s in sides)),
                Pair(*(self.wholes.symbol(nodes.LOG_SUM, s, draw.span) for s in others)),
                Pair(left.inside(symbol), right.inside(symbol)),
                Pair(left.inside(generic), right.inside(generic)),
                Pair(*enough),
                Pair(others[0].enough(), others[1].enough()),
            )
        )
        self.facts.append(implies(enough[0], left.inside(symbol)))
        self.env[draw.name] = same(symbol)

    def _weighed(self, weights: nodes.Gather) -> tuple[Gathered, Gathered]:
        """The set of a choice, with the logarithms of the weights, in both runs."""
        logs = replace(weights, body=log_of(weights.body))
        left, right = self._in_both(lambda evaluator: evaluator.gathered(logs))
        return _plain(self.theory, left, weights.span), _plain(self.theory, right, weights.span)

    def _logistic(self, draw: nodes.Logistic) -> None:
        symbol = Sym(draw.name, Sort.REAL, Kind.OMEGA)
        low = self._pair(draw.low) if draw.low is not None else None
        released = Released(draw, symbol, self._pair(draw.location), self._pair(draw.scale), low)
        self.draws.append(released)
        if low is not None:
            self.facts.append(lt(low.left, symbol))
        self.env[draw.name] = same(symbol)

    # --- expressions ----------------------------------------------------------------------------------------

    def _pair(self, expr: nodes.Expr) -> Pair:
        return Pair(*self._in_both(lambda evaluator: evaluator.term(expr)))

    def _in_both(self, meaning: Callable[[Evaluator], T]) -> tuple[T, T]:
        """What an expression means in either run; what must be defined and what is applied is collected."""
        scopes = [
            _Scope(InputScope(self.theory, None, side), self.env, self.wholes) for side in (False, True)
        ]
        on_d, on_d_prime = (Evaluator(scope) for scope in scopes)
        found = meaning(on_d), meaning(on_d_prime)
        self.needed += [Needed(p, self._known(), False) for p in on_d.partial]
        self.needed += [Needed(p, self._known(), True) for p in on_d_prime.partial]
        self.applied += [(each, self._known()) for each in applied_in(on_d, on_d_prime)]
        return found


def _joined(arms: list[tuple[Pair, dict[str, Pair]]]) -> dict[str, Pair]:
    """The variables after an `if`: those that have a value in every arm."""
    kept = set.intersection(*({*env} for _, env in arms))
    joined: dict[str, Pair] = {}
    for name in kept:
        value = arms[-1][1][name]
        for test, env in reversed(arms[:-1]):
            arm = env[name]
            if arm != value:
                value = Pair(ite(test.left, arm.left, value.left), ite(test.right, arm.right, value.right))
        if len(atoms((value.left, value.right))) > _LARGEST:
            continue
        joined[name] = value
    return joined


def _plain(theory: Theory, meaning: Gathered, span: Span) -> Gathered:
    """The set with a binder that depends on nothing but the form of the set, its candidates added.

    Raises UnsupportedError for a set inside a set whose index it reads: its new binder might be that index.
    """
    needs_no_arguments(meaning, span)
    binder = Sym(Bound("j"), Sort.INT, Kind.GHOST)
    parts = (meaning.low, meaning.high, meaning.where, meaning.body)
    renamed = [substitute(part, {meaning.binder: binder}) for part in parts]
    low, high, where, body = renamed
    # A minimum is kept as the maximum of the negated body: here it is the body again.
    return theory.with_candidates(Gathered(None, binder, low, high, where, scaled(body, meaning.sign)))


@dataclass(frozen=True)
class _Scope:
    """What names mean in one of the two runs."""

    inputs: InputScope
    env: dict[str, Pair]
    wholes: Wholes

    def name(self, ident: str, primed: bool, span: Span) -> Term:
        if ident not in self.env:
            if ident not in self.inputs.theory.inputs:
                raise UnsupportedError(span, f"the value of `{ident}` here")
            return self.inputs.name(ident, False, span)
        value = self.env[ident]
        return value.right if self.inputs.side else value.left

    def entry(self, base: str, index: Term, primed: bool, span: Span) -> tuple[Term, Term]:
        if not self.inputs.theory.is_vector(base):
            raise UnsupportedError(span, f"entries of `{base}`")
        return self.inputs.entry(base, index, False, span)

    def length(self, base: str) -> Term:
        return self.inputs.length(base)

    def ordered(self, left: str, op: str) -> Term | None:
        return None

    def omega(
        self, expr: nodes.OutIs | nodes.OutField | nodes.OutCount, index: Term | None
    ) -> tuple[Term, Term]:
        raise UnsupportedError(expr.span, "the output in a program")

    def applied(self, function: str, args: list[Term]) -> Term:
        return self.inputs.theory.applied(function, args)

    def member(self, selection: str, index: Term) -> Term:
        raise InternalError("`top` is refused where it is assigned")

    def gathered(self, expr: nodes.Gather, meaning: Gathered) -> tuple[Term, Term]:
        plain = _plain(self.inputs.theory, meaning, expr.span)
        if expr.function not in (nodes.LOG_SUM, "max", "min"):
            raise UnsupportedError(expr.span, f"`{expr.function}` in a mechanism with stated densities")
        return self.wholes.symbol(expr.function, plain, expr.span), plain.enough()

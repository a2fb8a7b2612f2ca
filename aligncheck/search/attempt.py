"""What is tried for a mechanism before the kernel is asked, and what is said where the kernel does not
accept.

Not trusted for VERIFIED, which is never said here. What is said to fail was replayed with exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from aligncheck.effort import Effort
from aligncheck.kernel.answer import Rejected
from aligncheck.kernel.witness import Witness
from aligncheck.language.conditions import Condition, condition_named
from aligncheck.language.diagnostics import Label, SpecError, fault
from aligncheck.language.families import Moves, Slope
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.language.unparse import unparse_expr
from aligncheck.search.declarations import contradiction, misplaced, senseless
from aligncheck.search.rewrites import (
    cells_help,
    coins_help,
    conversion_help,
    lists_help,
    rewrite_for,
    round_help,
    selection_help,
    sums_help,
)
from aligncheck.search.witness.sorting import with_sorts
from aligncheck.verdict import AlignmentFails, ConditionReport, ObligationReport, Status, Unknown, Verdict

if TYPE_CHECKING:
    from aligncheck.meaning.replay import Replay
    from aligncheck.search.advice import Verified
    from aligncheck.search.failing.counterexamples import FailingRun, FewRuns, SmallInputs
    from aligncheck.search.failing.exceeding import Exceeding

SEARCH_STEPS, LEAST, WHOLE = 7_000, 3_000, 10_000
"""How much is done to find a concrete violation: less, but not less than so much, where proofs have taken
most of the whole.
"""
MODEL_STEPS = 800
"""How much is done to find one that ends the search for a proof."""
_KEPT = ("_runs", "by_runs", "_by_models", "_inputs")
"""What is found out of a mechanism once."""


@dataclass(frozen=True)
class Attempt:
    """What is known of one mechanism before the kernel is asked. If `early`, a few runs are looked at before
    anything else, and any of them will do. `callees` have been accepted, with these witnesses; `patience`
    is how many times the usual effort is made. `witness` is the last one that was tried.
    """

    mechanism: n.Mechanism
    source: Source
    effort: Effort
    early: bool = False
    callees: Mapping[str, Witness] = field(default_factory=dict)
    patience: int = 1
    witness: Witness | None = None

    def failing(self, answer: Rejected, witness: Witness, search: bool, verified: Verified | None) -> Verdict:
        """The verdict where the kernel does not accept: a confirmed violation, or UNKNOWN. With `verified`,
        which says whether another mechanism would be, with an effort, the former comes with advice.

        Raises SpecError for contradictory `where` clauses (rule 2; where the kernel accepts, it has found
        inputs that satisfy them), and for clauses of the inputs that make no sense.
        """
        refuse_contradiction(self.mechanism, self.source)
        known = replace(self, witness=None if self._by_densities else witness)
        vars(known).update({k: v for k, v in vars(self).items() if k in _KEPT})
        return known._judged(answer, witness, search, verified)

    def _judged(self, answer: Rejected, witness: Witness, search: bool, verified: Verified | None) -> Verdict:
        """The same, once all is known."""
        _refuse_bad_clause(self.mechanism, self.source)
        found = self._violation(answer, witness) if search else None
        if found is not None:
            return self._fails(found, answer, verified)
        return self._unknown(answer, verified)

    def _violation(self, answer: Rejected, witness: Witness) -> FailingRun | Exceeding | None:
        """A confirmed violation, of the condition at which the kernel stopped if there is one."""
        from aligncheck.search.failing.counterexamples import find_violation, simplified
        from aligncheck.search.failing.exceeding import find_exceeding

        first = condition_named(answer.condition)
        if self._by_densities:
            return find_exceeding(self.mechanism, first, self.effort)
        shown = None if self.early else self.by_runs
        if shown is None and self._runs.endless:  # of longer ways there are none but longer formulas
            found = self._runs.first(first)
            return None if found is None else simplified(self.mechanism, found)
        first = first if shown is None else shown.condition
        ready = {} if self._by_models is None else {self._by_models.condition: self._by_models}
        ready |= self._runs.violating if self.early else {}
        self._inputs.witness = witness
        steps = self.patience * min(SEARCH_STEPS, max(LEAST, WHOLE - self.effort.steps))
        found = find_violation(self._inputs, first, self.effort.part(steps=steps), ready)
        if shown is None or (found is not None and found.condition is first):
            return found
        return simplified(self.mechanism, shown)

    @property
    def shown(self) -> FailingRun | None:
        """A run that leaves nothing for the kernel to accept, if one was looked for this early."""
        from aligncheck.search.failing.counterexamples import FewRuns, shown_by_runs

        if not self.early or self.by_runs is not None:
            return self.by_runs if self.early else None
        found = self._by_models
        if found is None or found.condition is Condition.INJECTIVE:
            return found
        runs = FewRuns.of(found.counterexample.replay)
        return shown_by_runs(self._inputs, runs, self.effort.part(steps=MODEL_STEPS))

    @cached_property
    def _runs(self) -> FewRuns:
        """What a few runs show."""
        from aligncheck.search.failing.counterexamples import FewRuns, few_runs

        return FewRuns() if self._by_densities else few_runs(self.mechanism)

    @cached_property
    def by_runs(self) -> FailingRun | None:
        """The same, if it is one thing and no proof gets around it."""
        from aligncheck.search.failing.counterexamples import shown_by_runs

        return shown_by_runs(self._inputs, self._runs, self.effort.part(steps=MODEL_STEPS))

    @cached_property
    def _by_models(self) -> FailingRun | None:
        """What a model of the solver shows, where the runs show nothing at all."""
        from aligncheck.search.failing.counterexamples import by_models

        if self._by_densities or self._runs.violating or self._runs.endless:
            return None
        return by_models(self._inputs, self.effort.part(steps=MODEL_STEPS))

    @cached_property
    def _inputs(self) -> SmallInputs:
        """Small inputs to look at."""
        from aligncheck.search.failing.counterexamples import SmallInputs

        route = "injective" if self.early and self._runs.cyclic else "acyclic"
        bare = with_sorts(self.mechanism, Witness(route=route, callees=self.callees))
        return SmallInputs(self.mechanism, bare, any_will_do=self.early)

    def hopeless(self, closely: bool) -> bool:
        """Whether a few runs leave nothing for the kernel to accept, or, looked at `closely`, a model."""
        if self._runs.refuting or self.by_runs is not None:
            return True
        return (closely or self.early) and self._by_models is not None

    def refuted(self, shown: FailingRun) -> Verdict:
        """The verdict on what a run `shown` violates, without more.

        Raises SpecError for clauses of the inputs that make no sense.
        """
        _refuse_bad_clause(self.mechanism, self.source)
        return self._fails(shown, None, None)

    def _fails(
        self, found: FailingRun | Exceeding, answer: Rejected | None, verified: Verified | None
    ) -> AlignmentFails:
        from aligncheck.search.advice import Failure, advice_for
        from aligncheck.search.failing.exceeding import Exceeding

        times: Fraction | None = None
        if isinstance(found, Exceeding):
            failing, message, at = found.example.scenario, _TOO_DIFFERENT[found.condition], n.NOWHERE
            if answer is not None and condition_named(answer.condition) is found.condition:
                at = answer.place
            if at == n.NOWHERE:
                at = self.mechanism.privacy.span
        else:
            failing, message, at = found.counterexample.scenario, found.message, found.span
            times = _times(found.counterexample.replay)
        reports = _reports(answer, found.condition, at)
        advice: tuple[str, ...] = ()
        if verified is not None:
            failure = Failure(found.condition, at, failing, times)
            advice = advice_for(self.mechanism, self.witness, failure, verified, self.effort)
        return AlignmentFails(
            self.mechanism,
            found.condition,
            message,
            Label(at),
            None if isinstance(found, Exceeding) else found.counterexample,
            reports,
            _invariants(self.witness),
            advice,
            densities=found.example if isinstance(found, Exceeding) else None,
            help=None if advice else self._help(found.condition, at),
        )

    def _unknown(self, answer: Rejected, verified: Verified | None) -> Unknown:
        """The kernel's own reason."""
        from aligncheck.search.advice import Failure, advice_for

        condition = condition_named(answer.condition)
        advice: tuple[str, ...] = ()
        may_help = condition in (Condition.DEFINED, Condition.SCALES) and not self._by_densities
        if verified is not None and condition is not None and may_help:
            failure = Failure(condition, answer.place)
            advice = advice_for(self.mechanism, self.witness, failure, verified, self.effort)
        help_ = advice[0] if advice else self._unknown_help(condition, answer.place, answer.reason)
        return _undecided(self.mechanism, answer, self.witness, help_)

    @property
    def _by_densities(self) -> bool:
        return walk.has_densities(self.mechanism.body)

    def _unknown_help(self, condition: Condition | None, at: Span, reason: str) -> str:
        """What may help, where nothing is known to be wrong."""
        rewrite = rewrite_for(reason) if condition in (None, Condition.CALLS) else None
        if (rewrite := lists_help(self.mechanism) or rewrite) is not None:
            return rewrite
        if condition is not Condition.COST or self._by_densities:
            return self._help(condition, at)
        if reason.endswith("the claim is not negative"):
            return (
                "declare what the claim is made of so that it is never negative: `eps : real where eps > 0`"
            )
        if reason.endswith("the claim is within its bound"):
            return f"{_BOUND_HELP}; of a logarithm only 1 - 1/x <= ln(x) <= x - 1 is known"
        if (said := sums_help(self.mechanism)) is not None:
            return said
        bounds = [line for line in _invariants(self.witness) if "alignment_cost <= " in line]
        if not bounds:
            return "no bound on the cost was found that is made of inputs and counters"
        loop, _, bound = bounds[0].partition(": ")
        return f"the bound that was found is `{bound}` at the head of {loop}: the claim has to follow from it"

    def _help(self, condition: Condition | None, at: Span) -> str:
        if self._by_densities and condition in (Condition.COST, Condition.DEFINED, None):
            return _DENSITY_HELP
        return _help(condition, self.mechanism, at)


# --- refusals ---------------------------------------------------------------------------------------------


def not_shown(mechanism: n.Mechanism, source: Source, answer: Rejected, budget: Effort | None) -> Verdict:
    """The verdict on a claim in δ or ρ: what a few runs violate, if it is what the kernel stopped at; else
    the kernel's own reason. Runs are looked at with a `budget` only. Costs, which are means there, are asked
    of no run.

    Raises SpecError for clauses of the inputs that make no sense.
    """
    from aligncheck.search.failing.counterexamples import simplified

    condition = condition_named(answer.condition)
    tried = Attempt(mechanism, source, budget, early=True) if budget is not None else None
    shown = None if tried is None or condition is Condition.COST else tried.by_runs
    if tried is not None and shown is not None and shown.condition is condition:
        return tried.refuted(simplified(mechanism, shown))
    help_ = rewrite_for(answer.reason) or conversion_help(mechanism, answer.reason)
    return _undecided(mechanism, answer, None, help_)


def refuse_contradiction(mechanism: n.Mechanism, source: Source) -> None:
    """Raises SpecError for `where` clauses that no inputs satisfy (rule 2)."""
    first, *others = contradiction(mechanism) or (None,)
    if first is not None:
        what = "the other clause" if len(others) == 1 else f"the {len(others)} other clauses"
        moved = [i.sensitivity.span for i in mechanism.inputs if isinstance(i, n.Queries) and i.sensitivity]
        advice = "widen one of these ranges" if others else "widen this range"
        if not others and first in moved:
            advice = "a sensitivity says how far an answer may move: it is 0 or more"
        raise fault(
            source,
            "contradictory-where",
            "no inputs satisfy the declarations",
            first,
            label=f"cannot hold together with {what}" if others else "can never hold",
            related=tuple(Label(span) for span in others if span is not None),
            notes=("a proof about no inputs at all would prove nothing",),
            help=advice,
        )


def _refuse_bad_clause(mechanism: n.Mechanism, source: Source) -> None:
    """A sensitivity that may be negative, a step that may be 0, a range that may be empty: not decided is
    refused too.
    """
    found = senseless(mechanism)
    if found is not None:
        text, span = found
        advice = "restrict the parameters with a `where` clause"
        raise fault(source, "bad-clause", f"not for all parameters: {text}", span, help=advice)


def refuse_default(mechanism: n.Mechanism, source: Source) -> None:
    """Raises SpecError for a default that its own `where` clause does not allow."""
    found = misplaced(mechanism)
    if found is not None:
        item, always = found
        where = item.where.span if item.where is not None else item.span
        raise fault(
            source,
            "bad-default",
            f"the default of `{item.name}` is outside of its range"
            + ("" if always else " for some values of the other parameters"),
            item.default.span if item.default is not None else item.span,
            related=(Label(where, "its range"),),
            help="write one that the `where` clause allows, or widen the clause",
        )


def too_many_paths(mechanism: n.Mechanism, source: Source, error: Exception) -> SpecError:
    """The error for a program with more paths than its argument."""
    return fault(
        source,
        "too-many-paths",
        f"the program has more than {error.args[0]} paths",
        mechanism.span,
        help="write `if`s one after another as one in a loop, `for j in range(8):` with `eta[8*i + j]`; "
        "or split the mechanism, or let branches only assign",
    )


# --- not accepted -----------------------------------------------------------------------------------------


def _support_help(mechanism: n.Mechanism) -> str:
    """What may be done about a moved draw that leaves its support, by the kinds of noise there are."""
    families = [each.family for each in walk.statements_in(mechanism.body) if isinstance(each, n.Sample)]
    coins, families = ([f for f in families if f.coin is each] for each in (True, False))
    lists = [item for item in mechanism.inputs if isinstance(item, n.Queries)]
    ways = {each.row.moves: each.value for each in families}
    one_sided = any(each.one_sided and each.row.moves is Moves.BOTH for each in families)
    advice = ["move one-sided noise up only"] if one_sided else []
    if coins:
        advice.append(
            "a coin is 0 or 1: turn it over (`b = 1 - b`), or let its chance follow the answer; noise "
            "that is added to a number is `Lap(scale)`"
        )
    if isinstance(mechanism.claim, n.Pure) and any(each.row.slope is Slope.SIGMA for each in families):
        advice.append(
            "a move of Gaussian noise costs ρ, and no ε: claim `privacy 1/(2*sigma**2) zcdp`, or draw "
            "`Lap(scale)`"
        )
    advice += [f"move `{ways[Moves.UP]}` noise up only"] if Moves.UP in ways else []
    advice += [f"leave `{ways[Moves.NOT]}` noise as it was drawn"] if Moves.NOT in ways else []
    if any(each.discrete for each in families):
        advice.append("move noise on a lattice by multiples of its step")
        steps = dict.fromkeys(
            unparse_expr(each.args[-1])
            for each in walk.statements_in(mechanism.body)
            if isinstance(each, n.Sample) and each.family.stepped and each.args[-1] != n.Number(Fraction(1))
        )
        if steps and any(item.sort is n.Sort.INT for item in lists):
            given = ", ".join(f"`{step}`" for step in steps)
            advice.append(
                f"the step here is {given}, and `int` answers move by any whole number: leave the step "
                "out, which is 1 then"
            )
        if any(item.sort is n.Sort.REAL and item.lattice is None for item in lists):
            advice.append("declare answers that are such multiples so: `int queries`, or `lattice STEP`")
    return "; ".join(advice) or "move noise within its support"


def _defined_help(mechanism: n.Mechanism, at: Span) -> str:
    """How what has no value is excluded, by what stands at the place."""
    expr = next((each for each in walk.expressions_in(mechanism) if each.span == at), None)
    if isinstance(expr, n.Name) and any(
        line.span.start <= at.start < line.span.end for line in mechanism.align
    ):
        return (
            "a line reads what has a value where its draw is made: inputs (`q[i]`), earlier draws, and what "
            "is released (`out[i]`)"
        )
    if isinstance(expr, n.OutField):
        part = f"{expr.of}[{unparse_expr(expr.index)}] is TAG and …"
        first = f"emit a record with `{expr.field}` in every branch, or " if expr.of == "out" else ""
        return f"{first}test first that such a record is there: `{part}`"
    if isinstance(expr, n.Call) and expr.function in ("sqrt", "ln", "log2"):
        least = "0" if expr.function == "sqrt" else "1"
        shown = f"{expr.function}(max({unparse_expr(expr.args[0])}, {least}))"
        return f"write `{shown}`, or exclude the others by `where`, `range [low, high]` or an `if` before it"
    if isinstance(expr, n.Index):
        draws = [
            s for s in walk.statements_in(mechanism.body) if isinstance(s, n.Sample) and s.name == expr.base
        ]
        if draws and draws[0].index is not None:
            drawn = f"{expr.base}[{unparse_expr(draws[0].index)}]"
            return f"what is drawn is `{drawn}`: read that one, or draw `{unparse_expr(expr)}`"
        entry = _entry_of_round(mechanism, expr, at)
        if entry is not None:
            return entry
        indices = "an index is from 0 up, and less than the number of entries"
        return f"{indices}: exclude others by a `where` clause, or by an `if` before it"
    if isinstance(expr, n.Gather):
        return (
            "there has to be an index: declare that the list is long enough (`q : queries, … where "
            "len(q) >= 1`), and let no `where` of the set leave out all"
        )
    clauses = {i.where.span for i in mechanism.inputs if i.where is not None}
    for each in walk.subexpressions(expr) if expr is not None and at in clauses else ():
        if isinstance(each, n.Gather) and isinstance(each.over, n.OverRange):
            read = [e.base for e in walk.subexpressions(each.body) if isinstance(e, n.Index)]
            if read:
                return f"let the set run over the list itself: `… for {each.index} in {read[0]}`"
    divisor = expr.right if isinstance(expr, n.Binary) and expr.op in ("/", "%") else None
    if isinstance(divisor, n.Number):
        return "no number can be divided by 0: write what was meant in place of the divisor"
    return (
        "exclude it by `range [low, high]` where private answers are declared, by `where` for parameters, or "
        "by an `if` before it"
    )


def _entry_of_round(mechanism: n.Mechanism, expr: n.Index, at: Span) -> str | None:
    """How the entry of the round is read, inside a loop over a list, for who reads another one."""
    for loop in walk.statements_in(mechanism.body):
        if not isinstance(loop, n.For):
            continue
        if not any(s.span.start <= at.start < s.span.end for s in walk.statements_in(loop.body)):
            continue
        if isinstance(loop.over, n.OverQueries) and loop.over.base == expr.base and loop.index is not None:
            others = "entries are counted from 0, and none stands before the first"
            if walk.names_in(expr.index):
                test = f"0 <= {unparse_expr(expr.index)} and {unparse_expr(expr.index)} < len({expr.base})"
                others = f"others are read under `if {test}:` only"
            return f"write `{expr.base}[{loop.index}]` for the entry of this round; {others}"
    return None


def _help(condition: Condition | None, mechanism: n.Mechanism, at: Span) -> str:
    match condition:
        case Condition.TERMINATES:
            return (
                "let a counter move towards a bound in every round (`while i < len(q) and …`, with "
                "`i = i + 1` outside of branches), or fresh noise decide a test against fixed numbers"
            )
        case Condition.OUTPUT | Condition.DRAWS if (said := coins_help(mechanism, at)) is not None:
            return said
        case Condition.DRAWS:
            return "draw the same in every branch, or emit a record in each that tells them apart"
        case Condition.FRESH:
            return (
                "index the draw by what no other round has: the loop's own index, or one name for each draw"
            )
        case Condition.SCALES if any(
            isinstance(s, n.Sample) and s.span == at and s.family.row.slope is not Slope.SCALE
            for s in walk.statements_in(mechanism.body)
        ):
            return (
                "`Geo(p)` takes a probability, above 0 and below 1: noise with the scale s is "
                "`Geo(1 - exp(-1/s))`"
            )
        case Condition.SCALES:
            return (
                "make the scale of public inputs and of what was released before, positive by their `where` "
                "clauses"
            )
        case Condition.OUTPUT if not mechanism.align:
            return (
                "there is no line in `align`: write some that move the noise by what the data moves, "
                "`eta += x - x'`; `aligncheck align` looks for them"
            )
        case Condition.OUTPUT:
            from aligncheck.search.advice import output_help, records_help

            said = selection_help(mechanism, at) or cells_help(mechanism) or records_help(mechanism)
            return said or output_help(mechanism, at)
        case Condition.SUPPORT:
            return _support_help(mechanism)
        case Condition.ACYCLIC | Condition.INJECTIVE if (said := round_help(mechanism, at)) is not None:
            return said
        case Condition.ACYCLIC | Condition.INJECTIVE:
            return "let shifts and guards read the inputs and what is released, and only draws made earlier"
        case Condition.COUNTABLE:
            return "use released numbers in guards only"
        case Condition.COST if mechanism.most is not None and mechanism.most.span == at:
            return _BOUND_HELP
        case Condition.COST:
            return "give each draw, and each round of a loop, its share of the claim, or claim more"
        case Condition.DEFINED:
            return _defined_help(mechanism, at)
        case Condition.HYPOTHESES:
            return "state the declarations more simply"
        case Condition.CALLS if _ends_rounds(mechanism, at):
            return (
                "let the rounds of a call end by its records, by public inputs and by what was released "
                "before, with a chance to stop above 0 and at most 1: `stop with probability 1/1000`"
            )
        case Condition.CALLS:
            return "put what the called mechanism asks for into the `where` clauses of the inputs"
        case Condition.INVARIANT:
            return "strengthen the invariant until every round preserves it, or remove it"
        case None:
            return "write it in another way; `aligncheck explain` lists the conditions of a proof"


def _ends_rounds(mechanism: n.Mechanism, at: Span) -> bool:
    """Whether a place is one of what ends the rounds of a repeated call."""
    calls = (s for s in walk.statements_in(mechanism.body) if isinstance(s, n.Invoke))
    return any(e.span == at for s in calls for e in walk.rounds_of(s.rounds))


_DENSITY_HELP = (
    "a choice by weights `exp(E)` costs up to twice what E moves by between D and D', which has to be within "
    "the claim; weights are to be `exp(E)`, times public factors, and a number's location at the logarithm "
    "of the odds: `E of the chosen index - logsumexp(E for the others)`"
)

_BOUND_HELP = "what stands after `at most` has to be at least the claim, whatever is released"

_TOO_DIFFERENT = {
    Condition.COST: "an output exists whose density on D and on D' differs by more than the claim allows",
    Condition.SUPPORT: "an output exists that is possible on D and impossible on D'",
    Condition.OUTPUT: "the same draws release something else on D'",
}


def _undecided(
    mechanism: n.Mechanism, answer: Rejected, witness: Witness | None, help_: str | None
) -> Unknown:
    """The kernel's own reason."""
    condition = condition_named(answer.condition)
    return Unknown(
        mechanism,
        condition,
        answer.reason if condition is not None else f"not kernel-checked: {answer.reason}",
        Label(answer.place if answer.place != n.NOWHERE else mechanism.span),
        _reports(answer, None, answer.place),
        _invariants(witness),
        help=help_,
    )


# --- what became of it ------------------------------------------------------------------------------------


def _reports(answer: Rejected | None, failed: Condition | None, at: Span) -> tuple[ConditionReport, ...]:
    """What the kernel did not show, if it was asked; and which condition a run violates: what the kernel had
    to show is that only where it stands `at` the place of the violation.
    """
    stopped = condition_named(answer.condition) if answer is not None else None
    met = (
        answer is not None
        and failed is stopped
        and answer.place.start < at.end
        and at.start < answer.place.end
    )
    reports = []
    if failed is not None and not met:
        reports.append(ConditionReport(failed, Status.FAILED, "a run violates it"))
    if answer is not None and stopped is not None and (met or failed is not stopped):
        status = Status.FAILED if met else Status.UNKNOWN
        text = answer.reason.removeprefix("not shown: ")
        one = ObligationReport(stopped, text, answer.place, status, "not shown by the kernel")
        reports.append(ConditionReport(stopped, status, "not shown by the kernel", (one,)))
    return tuple(reports)


def _times(found: Replay) -> Fraction | None:
    """How many times the claim a run costs, if it costs more."""
    cost, claim = found.cost, found.claim
    if not isinstance(cost, Fraction) or not isinstance(claim, Fraction):
        return None
    return cost / claim if cost > claim > 0 else None


def _invariants(witness: Witness | None) -> tuple[str, ...]:
    """The invariants that were found: what tells most comes first."""
    loops = witness.loops if witness is not None else ()
    return tuple(
        f"loop {number}: {unparse_expr(line)}"
        for number, loop in enumerate(loops, 1)
        for line in sorted((*loop.invariants, *loop.early), key=_rank)
        if not any(x.startswith(("$drawn_", "$dense_")) for x in walk.names_in(line))
    )


def _rank(line: n.Expr) -> int:
    """Costs, then distances, then the rest."""
    if "alignment_cost" in walk.names_in(line):
        return 0
    return 1 if any(isinstance(e, n.Name | n.Index) and e.primed for e in walk.subexpressions(line)) else 2

"""The proof rule for mechanisms that draw by stated densities, such as the exponential mechanism with gap.

There is no alignment: the ratio of the joint densities on D and on D' is bounded, for every output at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from aligncheck.language.conditions import Condition
from aligncheck.language.internal import InternalError
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax.nodes import LOG_SUM
from aligncheck.search.obligations.calls import claims_not_negative
from aligncheck.search.obligations.lemmas import (
    choice_makes_up_for_the_cut,
    choice_moves,
    extremum_moves_between,
    log_sum_exp_moves_between,
    logistic_moves_with_its_location,
    truncated_logistic_moves_with_its_location,
)
from aligncheck.search.obligations.obligation import Impossible, Obligation
from aligncheck.search.obligations.output import quoted
from aligncheck.search.relational.density import Choice, Densities, Draw, Needed, Released, Whole
from aligncheck.search.relational.selection import Gathered
from aligncheck.search.relational.spell import spell
from aligncheck.search.relational.terms import (
    TRUE,
    ZERO,
    Pair,
    Sym,
    Term,
    add,
    and_,
    atoms,
    div,
    eq,
    fn,
    iff,
    le,
    lt,
    same_value,
)

RULE = "densities_bound_privacy"


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor of the joint density: some of the draws, a bound on how far its logarithm is on D' from D,
    and the lemmas that give this bound.
    """

    draws: tuple[Draw, ...]
    bound: Term
    lemmas: tuple[str, ...]

    @property
    def names(self) -> str:
        """The drawn variables, as reports call them."""
        return ", ".join(each.draw.name for each in self.draws)


def densities_bound_privacy(densities: Densities, factors: Iterable[Factor], claim: Term) -> Obligation:
    """The rule for whole mechanisms.

    Statement: let a mechanism draw x_1, ..., x_m one after the other, x_i with a density p_i that may depend
    on the database and on x_1, ..., x_(i-1), and release a function of x = (x_1, ..., x_m) and of public
    inputs. If the same x are possible on D and D', and |ln p'(x) - ln p(x)| <= claim for each of them, p
    being the product of the p_i on D and p' on D', then the mechanism is claim-differentially private.

    Claim: the bounds of the factors of p add up to at most the claimed privacy, for all adjacent D and D',
    for every chosen index and every released number, every length of the lists and all parameters.
    Why sound: p is the density of x on D with respect to the product of counting measures (for indices) and
    Lebesgue measures (for numbers), because each p_i is one for x_i given those before it. p' <= exp(claim) p
    everywhere gives P(x' in E) <= exp(claim) P(x in E) for every measurable E, by integration. The release
    is a function of x that D does not enter (`released_from_draws`), so that an event of the output is an
    event of x. That the same x are possible is `same_support`. And ln p' - ln p is the sum over the factors.
    Source: McSherry, Talwar, FOCS 2007 (the choice alone); dissertation, Theorem 5.13 (with the gap).
    Breaks if: a draw depends on the database in a way that its stated density does not show.
    """
    parts = list(factors)
    bound = add(*(part.bound for part in parts)) if parts else ZERO
    names = " and ".join(f"`{part.names}`" for part in parts)
    spans = [(each.draw.span, f"`{each.draw.name}` is drawn here") for p in parts for each in p.draws]
    goal = le(bound, claim)
    return Obligation(
        Condition.COST,
        (*densities.facts, *_positive_scales(densities), *facts_about_wholes(densities, goal)),
        goal,
        f"the density of {names} on D' is that on D up to a factor of `exp({spell(claim)})`",
        densities.theory.mechanism.privacy.span,
        RULE,
        related=tuple(spans),
    )


def privacy_holds(densities: Densities, factors: Iterable[Factor], source: Source) -> list[Obligation]:
    """That the mechanism is as private as it claims, and that the claim is within its bound if it has one."""
    claim = densities.theory.claim
    return [densities_bound_privacy(densities, factors, claim), *claim_within_bound(densities, source)]


def claim_within_bound(densities: Densities, source: Source) -> list[Obligation]:
    """A claim with `at most` never exceeds that bound, which is what a caller is charged: the mechanism is
    bound-DP because it is claim-DP and claim <= bound, for all inputs.
    """
    mechanism = densities.theory.mechanism
    if mechanism.most is None or densities.theory.most is None:
        return []
    return [
        Obligation(
            Condition.COST,
            (*densities.facts, *_positive_scales(densities)),
            le(densities.theory.claim, densities.theory.most),
            f"the claim is at most `{quoted(source, mechanism.most.span)}` for every output",
            mechanism.most.span,
            "claim_within_bound",
        )
    ]


def factors_of(densities: Densities, joined: Iterable[tuple[Choice, Released]]) -> tuple[Factor, ...]:
    """The factors of the joint density: each of the pairs `joined` is one (`joins` was proved of it), each
    other draw another.
    """
    pairs = list(joined)
    taken = [draw for pair in pairs for draw in pair]
    found = [
        Factor(
            pair,
            logistic_moves_with_its_location(pair[1].standard_location),
            (choice_makes_up_for_the_cut.__name__, logistic_moves_with_its_location.__name__),
        )
        for pair in pairs
    ]
    for draw in densities.draws:
        if any(draw is other for other in taken):
            continue
        match draw:
            case Choice(log_weight=log_weight, total=total):
                bound = fn("abs", choice_moves(log_weight, total))
                found.append(Factor((draw,), bound, (choice_moves.__name__,)))
            case Released(low=None, location=location, scale=scale):
                measured = Pair(div(location.left, scale.left), div(location.right, scale.right))
                bound = logistic_moves_with_its_location(measured)
                found.append(Factor((draw,), bound, (logistic_moves_with_its_location.__name__,)))
            case Released():
                bound = truncated_logistic_moves_with_its_location(draw.standard_location)
                found.append(Factor((draw,), bound, (truncated_logistic_moves_with_its_location.__name__,)))
    return tuple(found)


def joins(densities: Densities, choice: Choice, released: Released) -> Obligation:
    """That a choice and a truncated number are one factor: see `choice_makes_up_for_the_cut`.

    If this is not proved, nothing is wrong: the two count as two factors.
    """
    location, odds = released.standard_location, choice.log_odds
    goal = and_(
        (
            choice_makes_up_for_the_cut(location, odds),
            choice.some_others.left,
            choice.some_others.right,
        )
    )
    return Obligation(
        Condition.COST,
        (*densities.facts, *_positive_scales(densities), *facts_about_wholes(densities, goal)),
        goal,
        f"`{released.draw.name}` lies at the logarithm of the odds of `{choice.draw.name}`",
        released.draw.location.span,
        choice_makes_up_for_the_cut.__name__,
    )


def conditions_of(densities: Densities, source: Source) -> list[Obligation]:
    """Everything that the rule takes for granted."""
    return [
        *stops(densities),
        *_defined(densities, source),
        *public_scales(densities),
        *same_support(densities),
        *released_from_draws(densities),
        *functions_are_given_the_same(densities),
        *claims_not_negative(densities.theory, [densities.facts], source),
    ]


def stops(densities: Densities) -> Iterator[Obligation]:
    """Condition i: the program has no loop, and each draw is one sample."""
    span = densities.theory.mechanism.span
    goal = Impossible(True, "the program has no loop")
    yield Obligation(Condition.TERMINATES, (), goal, "the program ends", span, stops.__name__)


def public_scales(densities: Densities) -> Iterator[Obligation]:
    """Every scale of a logistic draw is positive and the same on D and D'.

    Why needed: the lemmas compare densities of one scale.
    """
    for draw in densities.draws:
        if isinstance(draw, Released):
            span, name = draw.draw.scale.span, draw.draw.name
            for goal, text in (
                (lt(ZERO, draw.scale.left), f"the scale of `{name}` is positive"),
                (eq(draw.scale.left, draw.scale.right), f"the scale of `{name}` is the same on D and D'"),
            ):
                yield _obligation(densities, Condition.SCALES, goal, text, span, public_scales.__name__)


def same_support(densities: Densities) -> Iterator[Obligation]:
    """The same draws are possible on D and on D': an index is in the set of a choice on D exactly if it is on
    D', and a number is cut off at the same bound. Weights are positive (`operations_defined`), and a logistic
    density is positive everywhere.
    """
    rule = same_support.__name__
    for draw in densities.draws:
        match draw:
            case Choice():
                goal = iff(draw.anywhere.left, draw.anywhere.right)
                text = f"`{draw.draw.name}` is chosen from the same indices on D and D'"
                yield _obligation(densities, Condition.SUPPORT, goal, text, draw.draw.weights.span, rule)
            case Released(low=Pair() as low):
                if draw.draw.low is None:
                    raise InternalError("a draw that is cut off nowhere")
                text = f"`{draw.draw.name}` is cut off at the same bound on D and D'"
                goal = eq(low.left, low.right)
                yield _obligation(densities, Condition.SUPPORT, goal, text, draw.draw.low.span, rule)
            case Released():
                pass


def released_from_draws(densities: Densities) -> Iterator[Obligation]:
    """What is released, and the tests that decide what is, are functions of the draws and of public inputs.

    Claim: given the same draws, the value on D' is the value on D.
    """
    for shown in densities.shown:
        goal = same_value(shown.value)
        hypotheses = (*shown.given, *facts_about_wholes(densities, goal))
        yield Obligation(
            Condition.OUTPUT, hypotheses, goal, shown.what, shown.span, released_from_draws.__name__
        )


def functions_are_given_the_same(densities: Densities) -> Iterator[Obligation]:
    """Public functions are called with the same arguments on D and D': see `Applied.goal` for the reason.

    Claim: given the same draws, an application is made on D' if it is on D, with the same arguments.
    """
    for applied, given in densities.applied:
        goal = applied.goal
        if goal != TRUE:
            yield Obligation(
                Condition.CALLS,
                (*given, *facts_about_wholes(densities, goal)),
                goal,
                applied.text,
                applied.span,
                functions_are_given_the_same.__name__,
            )


def facts_about_wholes(densities: Densities, goal: Term) -> tuple[Term, ...]:
    """The instances of the lemmas on sums, maxima and minima for those that a goal mentions."""
    mentioned = set(atoms((goal,)))
    found = []
    for one, other in densities.wholes.pairs():
        if one in mentioned and other in mentioned:
            first, second = (densities.wholes.meanings[symbol] for symbol in (one, other))
            found.append(lemma_on(first)(one, first.meaning, other, second.meaning))
    return tuple(found)


def lemma_on(whole: Whole) -> Callable[[Sym, Gathered, Sym, Gathered], Term]:
    """The lemma that says how a function over a set moves."""
    return log_sum_exp_moves_between if whole.function == LOG_SUM else extremum_moves_between


# --- parts ------------------------------------------------------------------------------------------------


def _defined(densities: Densities, source: Source) -> Iterator[Obligation]:
    for needed in densities.needed:
        yield _needed(densities, needed, source)


def _needed(densities: Densities, needed: Needed, source: Source) -> Obligation:
    partial = needed.partial
    quoted = " ".join(source.text_of(partial.span).split())
    return Obligation(
        Condition.DEFINED,
        (*needed.given, *facts_about_wholes(densities, partial.condition)),
        partial.condition,
        f"`{quoted}`: {partial.what}" + (" (on D')" if needed.primed else ""),
        partial.span,
        "operations_defined",
    )


def _positive_scales(densities: Densities) -> tuple[Term, ...]:
    """What `public_scales` proves."""
    found: list[Term] = []
    for draw in densities.draws:
        if isinstance(draw, Released):
            found += [lt(ZERO, draw.scale.left), eq(draw.scale.left, draw.scale.right)]
    return tuple(found)


def _obligation(
    densities: Densities, condition: Condition, goal: Term, text: str, span: Span, rule: str
) -> Obligation:
    return Obligation(
        condition, (*densities.facts, *facts_about_wholes(densities, goal)), goal, text, span, rule
    )

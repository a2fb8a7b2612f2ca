"""All obligations of a proof whose choices are made: what is left is to decide each of them.

Trusted: whoever decides these obligations has proved the claim, however the choices were found. `verify` and
the certificates both take their obligations from here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from aligncheck.language.conditions import Condition
from aligncheck.language.internal import InternalError
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.search.discharge.algebra import canonical, common_unit
from aligncheck.search.discharge.smt import Smt
from aligncheck.search.obligations import obligations_of, one_to_one
from aligncheck.search.obligations.density import conditions_of, factors_of, joins, privacy_holds
from aligncheck.search.obligations.inductive import inductive
from aligncheck.search.obligations.obligation import Impossible, Invariants, Obligation, known_at
from aligncheck.search.obligations.running import clauses_make_sense, loops_end
from aligncheck.search.relational.analysis import analyse
from aligncheck.search.relational.calls import Called
from aligncheck.search.relational.density import Choice, Densities, Released
from aligncheck.search.relational.evaluate import Evaluator
from aligncheck.search.relational.hoist import hoisted
from aligncheck.search.relational.labels import Ledger
from aligncheck.search.relational.paths import Analysis, Cut
from aligncheck.search.relational.scopes import at_head
from aligncheck.search.relational.terms import Kind, Sym, Term, atoms, order_key
from aligncheck.search.relational.theory import Theory
from aligncheck.search.relational.visible import with_first_record, with_later_records

RULES_OF_ORDER = ("in_order", "two_levels")
"""What Theorem 4, the general route, does without."""


@dataclass(frozen=True)
class Choices:
    """What a search finds: the `route` (`acyclic`: Lemma 1, `injective`: Theorem 4), for each `while` loop
    the number of the way to show that it ends (`loops_end`; the number after the last one: none was found),
    and the loops' invariants.
    """

    route: str
    ways: tuple[int, ...] = ()
    invariants: Invariants = field(default_factory=dict)


def prepared(mechanism: Mechanism, deadline: float | None = None) -> tuple[Theory, Smt, Analysis]:
    """The paths of a checked mechanism, and a solver for questions about them.

    Raises TooManyPathsError, UnsupportedError.
    """
    theory = Theory(hoisted(mechanism))
    smt = Smt(theory, deadline=deadline)
    analysis = with_first_record(with_later_records(analyse(theory)))
    _measure_costs(analysis, smt)
    return theory, smt, analysis


def obligations_with(analysis: Analysis, choices: Choices, source: Source) -> list[Obligation]:
    """Everything that must be decided, but for whether the input clauses make sense (`clauses_of`) and can be
    met.

    Raises LookupError where the choices do not fit the program.
    """
    invariants = choices.invariants
    found = obligations_of(analysis, analysis.theory.claim, invariants, source)
    if choices.route == "injective":
        found = [o for o in found if o.rule not in RULES_OF_ORDER]
        found += one_to_one(analysis, invariants, source)
    elif choices.route != "acyclic":
        raise LookupError(f"there is no route `{choices.route}`")
    found += inductive(analysis, invariants)
    loops = loops_end(analysis, invariants)
    if len(loops) != len(choices.ways):
        raise LookupError(f"{len(choices.ways)} ways to end, but {len(loops)} `while` loops")
    for (cut, ways), number in zip(loops, choices.ways, strict=True):
        if number not in range(len(ways) + 1):
            raise LookupError(f"there is no way {number} for a `while` loop to end")
        found += [*ways, [_undecided_end(cut)]][number]
    if not loops:
        found.append(all_loops_are_finite(analysis))
    return [*found, *author_obligations(analysis, invariants)]


def _undecided_end(cut: Cut) -> Obligation:
    """Where no way to show that a loop ends was found, nothing is proved."""
    if cut.loop is None:
        raise InternalError("the start of a program is no loop")
    goal = Impossible(False, "no argument was found")
    text = "the loop ends with probability 1"
    return Obligation(Condition.TERMINATES, (), goal, text, cut.loop.span, loops_end.__name__)


def obligations_of_densities(
    densities: Densities, pairs: Iterable[tuple[Choice, Released]], source: Source
) -> list[Obligation]:
    """The same for a mechanism that draws by densities, where a search finds the `pairs` that are one factor
    of the density.

    Raises LookupError where they do not fit.
    """
    joined = list(pairs)
    if len({id(draw) for pair in joined for draw in pair}) != 2 * len(joined):
        raise LookupError("a draw goes together with two others")  # its density would count twice
    return [
        *conditions_of(densities, source),
        *(joins(densities, *pair) for pair in joined),
        *privacy_holds(densities, factors_of(densities, joined), source),
    ]


def clauses_of(theory: Theory) -> tuple[list[Obligation], Smt]:
    """The obligations on the input clauses, and a solver that assumes nothing of D and D'. They are few, so
    that the solver's limit of steps is enough: where the proof runs out of time they do not look wrong.
    """
    public = Theory(theory.mechanism, public_only=True)
    return clauses_make_sense(public), Smt(public)


def all_loops_are_finite(analysis: Analysis) -> Obligation:
    """For a program whose loops are all `for` loops."""
    goal = Impossible(True, "every loop runs over a finite input")
    span = analysis.theory.mechanism.span
    return Obligation(Condition.TERMINATES, (), goal, "every loop ends", span, "loops_end")


def _measure_costs(analysis: Analysis, smt: Smt) -> None:
    """Costs are counted in the greatest common unit of the rates 1/α of the aligned draws and of what calls
    spend, where parameters alone decide these.
    """
    rates = {d.left.inverse_alpha for p in analysis.paths for d in p.drawings() if d.lines}
    rates |= {e.spent.left for p in analysis.paths for e in p.events if isinstance(e, Called)}
    public = all(isinstance(a, Sym) and a.kind is Kind.PARAMETER for a in atoms(rates))
    unit = common_unit(sorted(rates, key=order_key)) if public else None
    if unit is not None:
        heads = [cut.fresh[Ledger.COST].left for cut in analysis.cuts if Ledger.COST in cut.fresh]
        smt.measure([s for s in heads if isinstance(s, Sym)], unit)


def author_lines(analysis: Analysis) -> dict[int, list[tuple[Term, Span]]]:
    """The author's invariants at each loop head."""
    found: dict[int, list[tuple[Term, Span]]] = {}
    for cut in analysis.cuts:
        if cut.loop is not None and cut.loop.invariants:
            scope = at_head(analysis.theory, cut.loop, cut.env, cut.counter)
            found[cut.number] = [(Evaluator(scope).term(e), e.span) for e in cut.loop.invariants]
    return found


def author_obligations(analysis: Analysis, invariants: Invariants) -> list[Obligation]:
    """That the author's invariants follow from those that are inductive, and that they are defined."""
    found: list[Obligation] = []
    for number, given in author_lines(analysis).items():
        cut = analysis.cuts[number]
        known = known_at(analysis, cut, invariants)
        text = "the invariant holds whenever the loop's test is reached"
        found += [
            Obligation(Condition.INVARIANT, known, canonical(line), text, span, inductive.__name__)
            for line, span in given
        ]
        if cut.loop is None:
            raise InternalError("the start of a program has no invariants")
        scope = at_head(analysis.theory, cut.loop, cut.env, cut.counter)
        for expr in cut.loop.invariants:
            evaluator = Evaluator(scope)
            evaluator.term(expr)
            for p in evaluator.partial:
                what = f"the invariant: {p.what}"
                found.append(
                    Obligation(Condition.DEFINED, known, p.condition, what, p.span, "operations_defined")
                )
    return found

"""The least claim that an alignment proves: what runs cost bounds it from below, and the judge decides the
rest.

A claim that a run exceeds is never tried, and none is given that has not been verified as text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import TypeVar

from aligncheck.effort import Effort
from aligncheck.judge import Judge
from aligncheck.language.check import check
from aligncheck.language.families import Slope
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.rewrite import statements
from aligncheck.language.syntax.walk import names_in, statements_in, subexpressions
from aligncheck.language.unparse import unparse, unparse_claim, unparse_expr
from aligncheck.meaning import exact
from aligncheck.meaning.interpreter import Input, RunScope, number_of
from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation.databases import legal
from aligncheck.search.witness.totals import plus
from aligncheck.synthesis.dearest import CostOfRun, costs, dearest, verified
from aligncheck.synthesis.formulas import NoFormulaError, over_inputs, simplified, times
from aligncheck.synthesis.put_in import with_claim
from aligncheck.synthesis.reading import ONE, NoiseSite, ProgramReading
from aligncheck.synthesis.runs import NO_RUN
from aligncheck.synthesis.templates import sizes as sizes_of
from aligncheck.verdict import DearestRun

Form = TypeVar("Form")
_PROOFS = 8
_PARTS = 8
"""Claims are tried that are so many parts of the claim, or of its multiples."""
_TIMES = 8
_NEAREST = 4


@dataclass(frozen=True)
class LeastClaim:
    """What was found. `claim` is that of the spec and `verified` whether it is; `least` is the least multiple
    of it that is verified, if any is, and `text` the spec with it; `dearest` is the run that costs most, as a
    share of the spec's claim; `formulas` are claims by the scales of the noise that are smaller for some
    parameters, and `free` those by free scales, each verified. None of them is at least as large as another
    one for all parameters, so that their minimum counts; those that do not grow with a list come first.
    """

    claim: str
    verified: bool
    factor: Fraction | None
    least: str | None
    text: Source | None
    dearest: DearestRun | None
    formulas: tuple[str, ...]
    free: tuple[str, ...]


def least_claim(source: Source, effort: Effort) -> LeastClaim:
    """The least claim of the alignment that stands in a spec: the least multiple of an ε, beside the δ that
    stands there if there is one, or of a ρ. Runs say nothing of claims in δ or ρ, which are about means.

    Raises SpecError for what is no spec.
    """
    judge = Judge(math.inf, explain=False, search=False, limit=effort)
    mechanism, _ = judge.with_callees(check(source, parse(source)), source)
    runs = costs(mechanism) if isinstance(mechanism.claim, n.Pure) else []
    most = dearest(mechanism, runs)
    holds = verified(judge, source)
    factor = _least_factor(judge, source, mechanism.claim, most.share if most else Fraction(0), holds)
    least = None if factor is None else multiple_of(mechanism.claim, factor)
    text = None if least is None else with_claim(source, least)
    formulas: list[str] = []
    free: list[str] = []
    if runs and not mechanism.uses:
        reading = ProgramReading(mechanism)
        bounds = list(_bounds(mechanism, reading, runs))
        free = list(
            _forms(bounds, partial(_free, replace(judge, limit=effort.share(1 / 2)), source, reading))
        )
        known = [] if least is None else [least]
        for formula in _forms(bounds, partial(_by_scales, judge, source, reading)):
            if all(_ever_less(source, formula, other, runs) for other in [*known, *formulas]):
                formulas.append(formula)
    return LeastClaim(
        unparse_claim(mechanism), holds, factor, least, text, most, tuple(formulas), tuple(free)
    )


def multiple_of(claim: n.Claim, factor: Fraction) -> str:
    """The text of a claim that is so many times as large: in ε beside the same δ, or in ρ."""
    match claim:
        case n.Pure(epsilon=epsilon, most=most):
            return times(most or epsilon, factor)
        case n.Approximate(epsilon=epsilon, delta=delta):
            return f"{times(epsilon, factor)} delta {unparse_expr(delta)}"
        case n.Concentrated(rho=rho):
            return f"{times(rho, factor)} zcdp"


def _least_factor(
    judge: Judge, source: Source, claim: n.Claim, least: Fraction, holds: bool
) -> Fraction | None:
    """The least multiple of the claim that is verified, of those that no run exceeds: a larger claim holds
    where a smaller one does, so halving finds it.
    """
    if holds and least == 1:
        return Fraction(1)
    parts = {Fraction(p, q) for q in range(1, _PARTS + 1) for p in range(1, _TIMES * q + 1)}
    options = sorted(f for f in {*parts, least} if f >= least and (f < 1 or not holds) and f > 0)

    def shown(factor: Fraction) -> bool:
        return verified(judge, with_claim(source, multiple_of(claim, factor)))

    if options and shown(options[0]):
        return options[0]
    low, high = 0, len(options)
    if not holds and (not options or not shown(options[-1])):
        return None
    while low + 1 < high:
        middle = (low + high) // 2
        if judge.limit.is_over:
            break
        low, high = (low, middle) if shown(options[middle]) else (middle, high)
    return options[high] if high < len(options) else Fraction(1) if holds else options[-1]


# --- formulas by scales -------------------------------------------------------------------------------------


def _bounds(
    mechanism: n.Mechanism, reading: ProgramReading, runs: list[CostOfRun]
) -> Iterator[tuple[str, list[tuple[Fraction, n.Expr]]]]:
    """For each variable, how far it may be moved in all: small terms that no run exceeds, the closest first,
    each with how much it exceeds the runs.
    """
    for name, site in reading.sites.items():
        terms = list(_terms(mechanism, reading, site))
        tops: dict[object, tuple[CostOfRun, Fraction]] = {}
        for run in runs:
            key = (run.pair.scenario.parameters, len(run.pair.run.draws))
            here = run.moved.get(name, Fraction(0))
            if key not in tops or tops[key][1] < here:
                tops[key] = (run, here)
        if all(top == 0 for _, top in tops.values()):
            continue
        fitting = []
        for size, term in terms:
            slack = _slack(term, list(tops.values()))
            if slack is not None:
                fitting.append((slack, size, unparse_expr(term), term))
        nearest = sorted(fitting, key=lambda f: (_grows(f[3]), *f[:3]))
        least: list[tuple[Fraction, n.Expr]] = []
        for slack, _, _, term in nearest:
            if all(_smaller_somewhere(reading, term, other) for _, other in least):
                least.append((slack, term))
        yield name, least[:_NEAREST]


def _grows(e: n.Expr) -> bool:
    """Whether an expression speaks of the length of a list."""
    return any(isinstance(part, n.Call) and part.function == "len" for part in subexpressions(e))


_POINTS = (
    (1, 1, 1, 1),
    (2, 3, 5, 4),
    (7, 2, 30, 11),
    (30, 11, 2, 3),
    (1, 40, 9, 60),
    (50, 1, 1, 9),
    (3, 90, 200, 1),
)
"""Values of the inputs in turn, and how many answers there are."""


def _smaller_somewhere(reading: ProgramReading, one: n.Expr, other: n.Expr) -> bool:
    """Whether a term is smaller than another for some values of the inputs that the declarations allow."""
    for point in map(partial(_point, reading.mechanism), _POINTS):
        try:
            if legal(reading.mechanism, point) and _less(one, other, point):
                return True
        except NO_RUN:
            continue
    return False


def _less(one: n.Expr, other: n.Expr, point: Scenario) -> bool:
    scope = RunScope({**dict(point.parameters), **dict(point.data)})
    try:
        return exact.compare(number_of(one, scope), number_of(other, scope)) < 0
    except NO_RUN:
        return False


def _point(mechanism: n.Mechanism, numbers: Sequence[int]) -> Scenario:
    """Inputs of such sizes; all answers are 0."""
    *values, length = map(Fraction, numbers)
    parameters: list[tuple[str, Input]] = []
    data: list[tuple[str, Input]] = []
    for at, item in enumerate(mechanism.inputs):
        value = values[at % len(values)]
        match item:
            case n.Parameter(name=name, sort=sort):
                parameters.append((name, value > 1 if sort is n.Sort.BOOL else value))
            case n.PublicVector(name=name, sort=sort):
                one = value > 1 if sort is n.Sort.BOOL else value
                parameters.append((name, (one,) * int(length)))
            case n.Queries(names=names, vector=vector):
                zeros: Input = (Fraction(0),) * int(length) if vector else Fraction(0)
                data += [(name, zeros) for name in names]
    return Scenario(tuple(parameters), tuple(data), tuple(data))


def _terms(mechanism: n.Mechanism, reading: ProgramReading, site: NoiseSite) -> Iterator[tuple[int, n.Expr]]:
    """Multiples of sizes, counts and lengths, and of products of two of them."""
    sizes = [e for e in sizes_of(reading, site) if e != ONE]
    sizes = [e for e in sizes if names_in(e) <= reading.inputs - reading.private]
    counts: list[n.Expr] = [
        n.Name(i.name) for i in mechanism.inputs if isinstance(i, n.Parameter) and i.sort is n.Sort.INT
    ]
    lengths: list[n.Expr] = [n.Call("len", (n.Name(g.names[0]),)) for g in reading.groups if g.vector]
    factors = list(dict.fromkeys([*sizes, *counts, *lengths]))
    one = n.Number(Fraction(1))
    products: list[tuple[int, n.Expr]] = [(0, one), *((1, e) for e in factors)]
    products += [(2, n.Binary("*", a, b)) for at, a in enumerate(factors) for b in factors[at + 1 :]]
    for size, e in products:
        yield size, n.Binary("/", e, n.Number(Fraction(2)))
        for k in (1, 2, 3, 4):
            number = n.Number(Fraction(k))
            yield size, (number if e == one else e if k == 1 else n.Binary("*", number, e))


def _slack(term: n.Expr, tops: list[tuple[CostOfRun, Fraction]]) -> Fraction | None:
    """How much a term exceeds what runs move, in all; None where some run exceeds it."""
    slack = Fraction(0)
    for run, top in tops:
        scenario = run.pair.scenario
        try:
            value = number_of(term, RunScope({**dict(scenario.parameters), **dict(scenario.data)}))
        except NO_RUN:
            return None
        if not isinstance(value, Fraction) or value < top:
            return None
        slack += value - top
    return slack


def _by_scales(
    judge: Judge, source: Source, reading: ProgramReading, chosen: Sequence[tuple[str, n.Expr]]
) -> str | None:
    """A claim by the scales that the spec has, if it is verified."""
    drawn = {s.name: s for s in statements_in(reading.mechanism.body) if isinstance(s, n.Sample)}
    try:
        claim = simplified(
            n.Binary("/", term, over_inputs(reading, drawn[name].args[0])) for name, term in chosen
        )
    except NoFormulaError:
        return None
    return claim if verified(judge, with_claim(source, claim)) else None


def _ever_less(source: Source, formula: str, least: str, runs: Iterable[CostOfRun]) -> bool:
    """Whether one claim is smaller than another for the parameters of some run."""
    one, other = (parse(with_claim(source, text)).privacy for text in (formula, least))
    return any(_less(one, other, run.pair.scenario) for run in runs)


def _free(
    judge: Judge, source: Source, reading: ProgramReading, chosen: Sequence[tuple[str, n.Expr]]
) -> str | None:
    """A claim with the scales as parameters, one for each variable, if it is verified."""
    other = with_free_scales(reading, chosen)
    if other is None or not verified(judge, Source(source.path, unparse(other))):
        return None
    return unparse_expr(other.privacy)


def with_free_scales(reading: ProgramReading, chosen: Sequence[tuple[str, n.Expr]]) -> n.Mechanism | None:
    """The mechanism with parameters for the scales, and how far each variable may be moved over its scale as
    the claim.
    """
    if any(site.family.row.slope is not Slope.SCALE for site in reading.sites.values()):
        return None
    names = {name: reading.fresh(f"s_{name}") for name in reading.sites}

    def scaled(s: n.Stmt) -> n.Stmt:
        return replace(s, args=(n.Name(names[s.name]), *s.args[1:])) if isinstance(s, n.Sample) else s

    positive = tuple(
        n.Parameter(name, n.Sort.REAL, n.Compare(">", n.Name(name), n.Number(Fraction(0))))
        for name in names.values()
    )
    claim = plus(n.Binary("/", term, n.Name(names[name])) for name, term in chosen)
    return replace(
        reading.mechanism,
        inputs=(*reading.mechanism.inputs, *positive),
        body=statements(reading.mechanism.body, scaled),
        claim=n.Pure(claim),
        expect=None,
    )


def moved_at_most(source: Source, effort: Effort) -> dict[str, n.Expr] | None:
    """How far the alignment of a spec moves each variable in all, so that the sum of these over the scales is
    a claim that is verified for any scales; None where none was found.
    """
    judge = Judge(math.inf, explain=False, search=False, limit=effort)
    mechanism = check(source, parse(source))
    reading = ProgramReading(mechanism)
    bounds = list(_bounds(mechanism, reading, costs(mechanism)))

    def tried(chosen: Sequence[tuple[str, n.Expr]]) -> tuple[tuple[str, n.Expr], ...] | None:
        return None if _free(judge, source, reading, chosen) is None else tuple(chosen)

    return next((dict(chosen) for chosen in _forms(bounds, tried)), None)


def _forms(
    bounds: list[tuple[str, list[tuple[Fraction, n.Expr]]]],
    made: Callable[[Sequence[tuple[str, n.Expr]]], Form | None],
) -> Iterator[Form]:
    """What is made of one term for each variable, the closest first, each once."""
    if not bounds or any(not terms for _, terms in bounds):
        return
    choices = product(
        *([(name, term, _grows(term), slack) for slack, term in terms] for name, terms in bounds)
    )
    ordered = sorted(choices, key=lambda c: (sum(each[2] for each in c), sum(each[3] for each in c)))
    seen = set()
    for choice in ordered[:_PROOFS]:
        form = made([each[:2] for each in choice])
        if form is not None and form not in seen:
            seen.add(form)
            yield form

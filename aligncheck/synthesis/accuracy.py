"""How accurate a mechanism is: bounds α(β) on what the noise does to each test, selection and released
number, that hold all together with probability at least 1 - β.

*Claim*: with probability at least 1 - β every draw of every noise variable v is at most
`α_v = scale ln(m N_v/β)` in size (or what its family's row says, `size`), where m is the number of noise
variables and N_v a public bound on the number of draws of v; a sum is then off by at most the sum of
`|coefficient| α_v` over its noise, and a variable by at most what it is off after any of its assignments.
*Why*: P(|x| > t) = exp(-t/scale) for Laplace and exponential noise, whatever was drawn before, so that each
of the N_v draws exceeds its bound with probability β/(m N_v), and any of them with probability β at most
(union bound). On a lattice P(|x| > t) <= exp(-t/scale) for multiples t of the step, hence one step more.
*Source*: Kamath's lecture, Theorem 2 (AboveThreshold), where both bounds are set to α/2 and their sum is
rounded up to 8 (ln k + ln(2/β))/ε; Theorem 4 (Sparse) in the same way. *Breaks if*: the scale depends on
noise, or the program does not bound the number of draws: then there is no formula.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from aligncheck.language.families import Lattice, Slope
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.language.unparse import unparse_expr
from aligncheck.search.witness.totals import length_of
from aligncheck.synthesis.formulas import NoFormulaError, formula, rational
from aligncheck.synthesis.reading import SELECTIONS, ProgramReading


@dataclass(frozen=True, slots=True)
class ErrorBound:
    """What is off by at most `alpha`, a formula in the inputs and in the name that stands for β: `what` says
    what it is, `place` is its text in the spec.
    """

    what: str
    place: str
    alpha: str


@dataclass(frozen=True, slots=True)
class Accuracy:
    """All bounds, which hold together with probability 1 - `beta` at least; `beta` is a name. `left_out` are
    the texts for which there is none: noise is in them in other ways than in a sum.
    """

    beta: str
    bounds: tuple[ErrorBound, ...]
    left_out: tuple[str, ...]


def accuracy_of(mechanism: n.Mechanism) -> Accuracy:
    """The bounds for all that is tested, selected by or released with noise in it. Raises NoFormulaError
    where some noise has no bound that is a formula over the inputs, or nothing has noise in it.
    """
    if mechanism.uses or walk.has_densities(mechanism.body):
        raise NoFormulaError("no bound is known here of what is called, or drawn by its density")
    reading = ProgramReading(mechanism)
    beta = reading.fresh("beta", "failing")
    sizes = _sizes(reading, beta)
    found: dict[tuple[str, str], ErrorBound] = {}
    left_out: dict[str, None] = {}
    for what, place, value, times in _places(reading):
        size = _size(reading, sizes, value, frozenset())
        if size is None:
            left_out[place] = None
        elif size != 0:
            found.setdefault((what, place), ErrorBound(what, place, _text(times * size)))
    if not found:
        raise NoFormulaError("no sum with noise in it is tested, selected by or released")
    return Accuracy(beta, tuple(found.values()), tuple(left_out))


def _places(reading: ProgramReading) -> Iterator[tuple[str, str, n.Expr, int]]:
    """What may have noise in it, and how often its error counts: a selection compares two values, which
    differ twice as much, unless noise has one sign.
    """
    one_sided = all(site.family.one_sided for site in reading.sites.values())
    for s in walk.statements_in(reading.mechanism.body):
        for e in walk.expressions_of((s,)):
            if isinstance(e, n.Compare):
                difference = n.Binary("-", e.left, e.right)
                yield "tested rightly at a distance above", unparse_expr(e), difference, 1
            if isinstance(e, n.Gather) and e.function in SELECTIONS:
                times = 1 if one_sided else 2
                yield "chosen within this of the best:", unparse_expr(e.body), e.body, times
        if isinstance(s, n.Emit):
            for field in s.fields:
                yield "released within", f"{s.tag}.{field.name}", field.value, 1


def _size(reading: ProgramReading, sizes: dict[str, Any], e: n.Expr, inside: frozenset[str]) -> Any | None:
    """What the noise in an expression is at most; None where it is in it in other ways than in a sum."""
    import sympy

    form = reading.form(e)
    noise = {part.part: part for part in reading.noise_in(form)}
    whole = sympy.Integer(0)
    for part, k in form.items():
        if part in noise:
            whole += rational(abs(k)) * sizes[noise[part].name]
            continue
        if _is_place(reading, part) or not reading.noisy(walk.names_in(part)):
            continue
        size = _size_of_part(reading, sizes, part, inside)
        if size is None:
            return None
        whole += rational(abs(k)) * size
    return whole


def _size_of_part(
    reading: ProgramReading, sizes: dict[str, Any], part: n.Expr, inside: frozenset[str]
) -> Any | None:
    """The same for an extreme value, which moves by no more than what it is taken of, and for a variable."""
    import sympy

    if isinstance(part, n.Gather) and part.function in ("max", "min"):
        return _size(reading, sizes, part.body, inside)
    name = part.ident if isinstance(part, n.Name) else ""
    if name in inside or name not in reading.assigned:
        return None
    values = [_size(reading, sizes, v, inside | {name}) for v in reading.assigned[name]]
    if any(value is None for value in values):
        return None
    return sympy.Max(*(v for v in values if v != 0)) if any(v != 0 for v in values) else sympy.Integer(0)


def _is_place(reading: ProgramReading, part: n.Expr) -> bool:
    """Whether noise only tells which index, or which answer, this is."""
    if isinstance(part, n.Name) and part.ident in reading.gathers:
        return reading.gathers[part.ident].function in SELECTIONS
    if isinstance(part, n.Index) and part.base in reading.gathers:
        return reading.gathers[part.base].function in SELECTIONS
    return isinstance(part, n.Index) and part.base in reading.inputs


def _sizes(reading: ProgramReading, beta: str) -> dict[str, Any]:
    """For each noise variable the bound that all its draws keep."""
    import sympy

    counts = _counts(reading)
    found = {}
    for name, site in reading.sites.items():
        row = site.family.row
        if row.size is None and not (row.slope is Slope.SCALE and row.tail is None):
            raise NoFormulaError(f"no bound is known here of `{site.family.value}` noise")
        samples = [s for s in walk.statements_in(reading.mechanism.body) if isinstance(s, n.Sample)]
        sizes = []
        for args in dict.fromkeys(s.args for s in samples if s.name == name):
            scale, *others = (formula(reading, arg) for arg in args)
            if row.slope is Slope.STAIRS:
                eps, scale, gamma = scale, *others
                others = [eps, gamma]
            step = others[0] if row.lattice is Lattice.STEP else 0
            rate = len(reading.sites) * counts[name] / sympy.Symbol(beta, positive=True)
            sizes.append(scale * (row.size(sympy, 1 / rate, *others) if row.size else sympy.log(rate)) + step)
        found[name] = sizes[0] if len(sizes) == 1 else sympy.Max(*sizes)
    return found


def _counts(reading: ProgramReading) -> dict[str, Any]:
    """How many draws of each noise variable a run makes at most."""
    import sympy

    found: dict[str, Any] = {}

    def visit(body: tuple[n.Stmt, ...], rounds: Any) -> None:
        for s in body:
            match s:
                case n.Sample(name=name):
                    if rounds is None:
                        raise NoFormulaError(f"the program does not bound how often `{name}` is drawn")
                    found[name] = found.get(name, sympy.Integer(0)) + rounds
                case n.For(over=over, body=inner):
                    visit(inner, None if rounds is None else rounds * formula(reading, length_of(over)))
                case n.While(body=inner):
                    visit(inner, None)
                case n.If():
                    for arm in s.arms:
                        visit(arm, rounds)
                case n.Simple() | n.Sampling():
                    pass

    visit(reading.mechanism.body, sympy.Integer(1))
    return found


def _text(formula: Any) -> str:
    """The formula as text, with `ln` for the natural logarithm."""
    return str(formula).replace("log(", "ln(")

"""The forms in which mechanisms run: what they say, where there is none, that wrong ones are not proved."""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from aligncheck.compiler.forms import Form, NoFormError, form_of
from aligncheck.compiler.forms.clauses import of_lengths
from aligncheck.compiler.forms.directions import directed, undirected
from aligncheck.compiler.forms.equalities import with_equalities
from aligncheck.compiler.forms.lattice import AnswerReading, reading_of, units_of
from aligncheck.compiler.forms.rational import enclosed, rate_of, rounded_down
from aligncheck.compiler.modes import RunMode
from aligncheck.judge import judge
from aligncheck.language.check import check
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.read import read_source
from aligncheck.language.unparse import unparse, unparse_expr
from aligncheck.runtime import rationals
from aligncheck.verdict import Verified

SPECS = Path(__file__).parents[2] / "specs"
ONE_ANSWER = "eta ~ Lap(1/eps)\nemit noisy(q[0] + eta)", "eta += q[0] - q'[0]"


def written(
    program: str, align: str = "", inputs: str = "q : queries, sensitivity 1", claim: str = "eps"
) -> Source:
    def block(text: str) -> str:
        return "\n".join(f"  {line}" for line in text.strip("\n").split("\n"))

    sized = "" if " query" in inputs else " and len(q) >= 1"
    text = (
        f"mechanism m\n\ninput\n{block(inputs)}\n  eps : real where eps > 0{sized}\n\n"
        f"privacy {claim}\n\nprogram\n{block(program)}\n\nalign\n{block(align)}\n"
    )
    return Source("m.dp", text)


def form(source: Source, mode: RunMode) -> Form:
    return form_of(check(source, parse(source)), source, mode)


def proved(source: Source, mode: RunMode) -> bool:
    made = form(source, mode)
    verdict = judge(made.mechanism, made.source, time.monotonic() + 30, search=False)
    return isinstance(verdict, Verified)


def of_spec(name: str, mode: RunMode) -> Form:
    source = read_source(str(SPECS / name))
    return form(source, mode)


# --- the lattice ------------------------------------------------------------------------------------------


def test_constants_are_whole_numbers_of_steps() -> None:
    text = form(written(*ONE_ANSWER), RunMode.LATTICE).source.text
    assert "resolution : int where resolution >= 1" in text
    assert "q : queries, sensitivity 1, adjacency all, lattice 1/resolution" in text
    assert "eta ~ DLap(1/eps, 1/resolution)" in text


def test_the_step_divides_every_constant() -> None:
    inputs = "q : queries, sensitivity 3/4\nr : query, sensitivity 1/2, adjacency one, range [-1/3, 1]"
    text = form(written(*ONE_ANSWER, inputs), RunMode.LATTICE).source.text
    assert "lattice 1/12/resolution" in text


def test_parameters_count_steps() -> None:
    inputs = "D : real where D > 0\nq : queries, sensitivity D"
    text = form(
        written("eta ~ Lap(D/eps)\nemit noisy(q[0] + eta)", "eta += q[0] - q'[0]", inputs), RunMode.LATTICE
    ).source.text
    assert "D : int where D*gamma > 0" in text
    assert "sensitivity D*gamma, adjacency all, lattice gamma" in text
    assert "DLap(D*gamma/eps, gamma)" in text


def test_names_that_are_taken_are_not_taken_again() -> None:
    inputs = "resolution : int\nq : queries, sensitivity 1"
    source = written("eta ~ Lap(1/eps)\nemit noisy(q[0] + eta + resolution)", "eta += q[0] - q'[0]", inputs)
    assert "resolution_2 : int where resolution_2 >= 1" in form(source, RunMode.LATTICE).source.text
    assert proved(source, RunMode.LATTICE)


@pytest.mark.parametrize(
    ("inputs", "units"),
    [
        ("q : queries, sensitivity 1", ["1"]),
        ("q : int queries, sensitivity 2", ["1", "2"]),
        ("D : real where D > 0\nq : queries, sensitivity 2*D", ["2*D", "D"]),
        ("R : real where R > 0\nq : queries, adjacency any, range [-R, R]", ["-R", "R"]),
        ("b : vector where b[i] > 0\nq : queries, sensitivity b[i], adjacency one", ["b[i]", "b"]),
        ("g : real where g > 0\nq : queries, lattice g, sensitivity 4*g, adjacency l1", ["4*g", "g"]),
    ],
)
def test_what_the_step_must_divide(inputs: str, units: list[str]) -> None:
    source = written("emit nothing", "", inputs)
    assert sorted(map(unparse_expr, units_of(check(source, parse(source))))) == sorted(units)


@pytest.mark.parametrize(
    "shift",
    [
        "(q[0] - q'[0])/2",  # half a step
        "q[0] - q'[0] + eps",
        "(q[0] - q'[0])*2/3",
    ],
)
def test_a_shift_off_the_lattice_is_not_proved(shift: str) -> None:
    source = written(
        "eta ~ Lap(3/eps)\nif eta > 0: emit up\nelse: emit down", f"eta += {shift}\neta -= {shift}"
    )
    assert proved(source, RunMode.LATTICE)  # they cancel
    assert not proved(
        written("eta ~ Lap(3/eps)\nemit noisy(eta + q[0]/2)", f"eta += {shift}"), RunMode.LATTICE
    )


def test_a_fixed_shift_must_be_a_unit() -> None:
    program = "eta ~ Lap(2/eps)\nif q[0] + eta >= 0: emit up\nelse: emit down"
    align = "eta += {0} when out[0] is up\neta -= {0} when out[0] is down"
    assert proved(written(program, align.format("1")), RunMode.LATTICE)
    assert proved(written(program, align.format("2")), RunMode.LATTICE)
    assert not proved(written(program, align.format("3/2")), RunMode.LATTICE)
    assert proved(written(program, align.format("3/2")), RunMode.REFINED)


def test_ties_that_real_noise_does_not_have() -> None:
    program = "for i in range(len(q)):\n  eta[i] ~ {}\nw = argmax(q[i] + eta[i] for i in q)\nemit won(w)"
    align = "eta[i] += {} when i == w"
    assert proved(written(program.format("Lap(2/eps)"), align.format("1 + q[i] - q'[i]")), RunMode.LATTICE)
    gap = (SPECS / "noisy_max_gap.dp").read_text("utf-8")
    assert proved(Source("g.dp", gap), RunMode.REFINED)
    assert not proved(Source("g.dp", gap), RunMode.LATTICE)


# --- rounding answers -------------------------------------------------------------------------------------


R, W, E = AnswerReading.ROUNDED, AnswerReading.WHOLE, AnswerReading.EXACT
PARAMETERS = "D : real where D > 0\nm : int where m >= 1\ng : real where g > 0\nw : int vector\nb : vector\n"


@pytest.mark.parametrize(
    ("declared", "reading", "modes"),
    [
        ("q : queries, sensitivity 1", R, 2),
        ("q : queries, sensitivity 1, adjacency one", R, 2),
        ("q : queries, sensitivity 1, adjacency monotone", R, 2),
        ("q : queries, sensitivity 1, adjacency moved", R, 2),
        ("q : queries, adjacency any, range [0, 1]", R, 2),
        ("q : queries, sensitivity 1, adjacency l1", E, 1),
        ("q : queries, sensitivity sqrt(2)", E, 1),
        ("q : queries, adjacency any, range [0, ln(3)]", R, 0),
        ("q : queries, sensitivity 1, lattice sqrt(2)", E, 0),
        ("q : queries, sensitivity 1 where q[i] > 0", R, 2),
        ("q : queries, sensitivity 1 where len(q) >= 2", R, 2),
        ("q : queries, sensitivity 1\nr : int query, sensitivity 1 where q[0] > 1/3", R, 2),
        ("q : queries, sensitivity 1\nr : int query, sensitivity 1 where r <= len(q)", R, 2),
        ("q : int queries, sensitivity 1 where q[i] > 0", R, 2),
        ("q : int queries, sensitivity 1, adjacency l1", W, 2),
        ("q : int queries, sensitivity sqrt(2)", W, 2),
        ("q : int queries, sensitivity 3/2", W, 2),
        ("q : int query, sensitivity 1/2", W, 2),
        ("q : int queries, sensitivity 5/2 - 1/2", R, 2),
        ("q : int queries, sensitivity D", W, 2),
        ("q : int queries, sensitivity m*(m + 3) - max(len(w), 2)", R, 2),
        ("q : int queries, sensitivity m/2", W, 2),
        ("q : int queries, sensitivity w[i], adjacency moved", R, 2),
        ("q : int queries, sensitivity b[i]", W, 2),
        ("q : int queries, adjacency any, range [0, 5/2]", R, 2),
        ("q : queries, lattice g, sensitivity 2*m*g", R, 2),
        ("q : queries, lattice g, sensitivity D", E, 0),
        ("q : queries, lattice g, sensitivity m*g/2", E, 0),
        ("q : queries, lattice 1/4, sensitivity 1/2", R, 2),
        ("q : queries, lattice 1/m, sensitivity 3", R, 2),
        ("q : queries, lattice 1/g, sensitivity 3", E, 0),
        ("q : queries, lattice 2/5, sensitivity 1", E, 0),
        ("q : queries, lattice 1/4, sensitivity 1, adjacency l1", E, 0),
        ("q : queries, lattice 1/4, adjacency any, range [0, 1/3]", R, 2),
        ("q : int queries, lattice 2, sensitivity 4", R, 2),
        ("q : int queries, lattice 2, sensitivity 3", E, 0),
        ("q : int queries, lattice m, sensitivity 4*m*w[i]", R, 1),
        ("q : int queries, lattice m, sensitivity 4", E, 0),
        ("q : int queries, lattice 1, sensitivity 1, adjacency l1", E, 0),
    ],
)
def test_answers_are_rounded_where_neighbours_stay_neighbours(
    declared: str, reading: AnswerReading, modes: int
) -> None:
    """`modes`: 2 if there is a form on the lattice, 1 if there is a refined one, 0 if there is none."""
    source = written("eta ~ Lap(1/eps)\nemit noisy(eta)", "", PARAMETERS + declared)
    mechanism = check(source, parse(source))
    queries = next(item for item in mechanism.inputs if isinstance(item, nodes.Queries))
    assert reading_of(queries, mechanism) is reading
    if modes == 2:
        assert not form(source, RunMode.LATTICE).same
    else:
        with pytest.raises(NoFormError):
            form(source, RunMode.LATTICE)
    if modes == 0:
        with pytest.raises(NoFormError):
            form(source, RunMode.REFINED)
        return
    of_values = any(clause in declared for clause in ("q[i] > 0", "q[0] > 1/3", "r <= len(q)"))
    assert form(source, RunMode.REFINED).same is not of_values


@pytest.mark.parametrize("mode", [RunMode.LATTICE, RunMode.REFINED])
def test_clauses_about_values_are_left_out(mode: RunMode) -> None:
    """0.3 satisfies the clause and 0.3 rounded down to 1/1024 does not, nor does whatever a run meets."""
    inputs = (
        "q : query, sensitivity 1 where q >= 0.3\nr : queries, sensitivity 1 where len(r) > 1 and r[i] > 0"
    )
    source = written("if q >= 0.3: emit yes\nelse: emit no", "", inputs)
    verdict = judge(check(source, parse(source)), source, time.monotonic() + 30)
    assert isinstance(verdict, Verified)
    text = form(source, mode).source.text
    assert "q >= 0.3" not in text.partition("program")[0]
    assert "where eps > 0 and len(r) > 1\n" in text
    assert not proved(source, mode)


# --- irrational numbers -----------------------------------------------------------------------------------


def test_constants_are_the_numbers_that_the_runtime_computes() -> None:
    root = rationals.sqrt(Fraction(2))
    source = written(
        "eta ~ Lap(1/eps)\nif q[0] + eta > sqrt(2): emit up\nelse: emit down", "eta += q[0] - q'[0]"
    )
    text = form(source, RunMode.REFINED).source.text
    assert f"> {root.numerator}/{root.denominator}" in text
    assert proved(source, RunMode.REFINED)


@pytest.mark.parametrize("clause", ["T <= floor(2*log2(T))", "T == sqrt(2)", "T >= 1 and ln(T)*ln(T) == T"])
def test_clauses_are_not_compared_with_numbers_near_those_that_they_name(clause: str) -> None:
    """A run would take parameters that the proof leaves out, or the other way round."""
    inputs = f"q : queries, sensitivity 1\nT : real where {clause}"
    source = written("if T*T <= 2: emit noisy\nelse: emit bare(q[0])", "", inputs)
    for mode in (RunMode.LATTICE, RunMode.REFINED):
        with pytest.raises(NoFormError, match="irrational"):
            form(source, mode)


@pytest.mark.parametrize(
    ("clause", "proof"), [("T <= sqrt(2)", True), ("not T > sqrt(2)", True), ("T >= sqrt(2)", False)]
)
def test_clauses_are_rounded_so_that_they_let_in_less(clause: str, proof: bool) -> None:
    """That near sqrt(2) is above it: a run with this T would take a branch that is proved never taken."""
    inputs = f"q : queries, sensitivity 1\nT : real where T > 0 and {clause}"
    source = written("if T*T <= 2: emit noisy\nelse: emit bare(q[0])", "", inputs)
    for mode in (RunMode.LATTICE, RunMode.REFINED):
        assert proved(source, mode) is proof


def test_what_is_spent_is_the_claim_rounded_up() -> None:
    text = "mechanism half\ninput\n  x : query, sensitivity 1\nprivacy ln(2)\nprogram\n  emit no"
    claimed = form(Source("half.dp", text), RunMode.REFINED).source.text
    assert "privacy max(ln(2), near_ln_up(2))" in claimed


@pytest.mark.parametrize(
    ("scale", "said"),
    [
        ("1/sqrt(eps)", "1/sqrt down(eps)"),
        ("2 - 1/(1 + ln(eps + 1))**2", "2 - 1/(1 + ln up(eps + 1))**2"),
        ("sqrt(n - sqrt(n)) - ln(n)", "sqrt up(n - sqrt down(n)) - ln down(n)"),
        ("abs(sqrt(n) - 1)", "abs(sqrt(n) - 1)"),
    ],
)
def test_which_way_a_scale_is_rounded(scale: str, said: str) -> None:
    inputs = "q : queries, sensitivity 1\nn : int where n >= 2"
    source = written(
        f"s = {scale}\nxi ~ Gauss(s)\nemit v(q[0] + xi)", "xi += q[0] - q'[0]", inputs, "eps zcdp"
    )
    spec = check(source, parse(source))
    first, *_ = directed(spec).body
    assert isinstance(first, nodes.Assign)
    assert unparse_expr(first.value) == said
    assert unparse_expr(undirected(first.value)) == scale


def test_scales_are_rounded_up_and_the_budgets_of_calls_down() -> None:
    text = of_spec("delta/sparse_delta.dp", RunMode.REFINED).source.text
    log = "max(ln(1/delta), near_ln_up(1/delta))"
    assert f"eps/max(sqrt(8*c*{log}), near_sqrt_up(8*c*{log}))" in text
    assert "eps <= 8*min(ln(1/delta), max(1 - 1/(1/delta), near_ln_down(1/delta)))" in text


def test_clauses_with_floors_of_roots_are_exact() -> None:
    inputs = "q : queries, sensitivity 1\nk : int where 1 <= k and k <= floor(log2(8))"
    assert form(written(*ONE_ANSWER, inputs), RunMode.REFINED).same


def test_others_are_functions_of_which_bounds_are_known() -> None:
    program = "eta ~ Lap(1/eps)\nif q[0] + eta > ln(eps): emit up\nelse: emit down"
    source = written(program, "eta += q[0] - q'[0]")
    text = form(source, RunMode.LATTICE).source.text
    assert "fun near_ln(real) : real" in text
    assert "> max(1 - 1/eps, min(eps - 1, near_ln(eps)))" in text
    assert proved(source, RunMode.LATTICE)


@pytest.mark.parametrize(
    "scale",
    [
        "(1 + sqrt(eps))/eps",
        "exp(eps)/eps",
        "1/ln(1 + eps)",
        "1/(eps*(1 - exp(-eps)))",
        "log2(1 + eps)/eps**2 + 1/eps",
    ],
)
def test_scales_whose_bounds_are_enough_are_proved(scale: str) -> None:
    source = written(f"eta ~ Lap({scale})\nemit noisy(q[0] + eta)", "eta += q[0] - q'[0]")
    assert proved(source, RunMode.REFINED)


@pytest.mark.parametrize(
    ("scale", "said"),
    [
        ("1/(eps*(sqrt(n + 1) - sqrt(n)))", "(n + 1 - n)/(sqrt(n + 1) + sqrt(n))"),
        ("1/(eps*(sqrt(n + 3) - 1.5))", "(n + 3 - 2.25)/(sqrt(n + 3) + 1.5)"),
        ("1/(eps*cbrt(cbrt(cbrt(n))))", "exp(1/3*(1/3*(1/3*ln(n))))"),
        ("(1 + sqrt(exp(eps)))/(2*eps*(sqrt(n)*sqrt(n)))", "(1 + exp(eps/2))/(2*eps*n)"),
    ],
)
def test_equalities_of_irrational_numbers_come_first(scale: str, said: str) -> None:
    """Of numbers near two roots nothing says which is larger."""
    inputs = "q : queries, sensitivity 1\nn : int where n >= 1"
    source = written(
        f"c = 2 + {scale}\neta ~ Lap((1 + c)/eps)\nemit noisy(q[0] + eta)", "eta += q[0] - q'[0]", inputs
    )
    assert said in unparse(with_equalities(check(source, parse(source))))
    assert proved(source, RunMode.REFINED)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ln(x) - ln(y)", "ln(x/y)"),
        ("3*log2(x) - 3*log2(y)", "3*log2(x/y)"),
        ("exp(x) - exp(y)", "exp(y)*(exp(x - y) - 1)"),
        ("2 - sqrt(y)", "0 if 4 == y else (4 - y)/(2 + sqrt(y))"),
        ("sqrt(x) - sqrt(y)", "0 if x == y else (x - y)/(sqrt(x) + sqrt(y))"),
        ("ln(sqrt(x))", "ln(x)/2"),
        ("exp(ln(x))", "x"),
        ("1 if sqrt(x) < sqrt(y) else 0", "1 if x < y else 0"),
        ("sqrt(x) + ln(y) - exp(x)", "sqrt(x) + ln(y) - exp(x)"),
        ("ln(x) - log2(y)", "ln(x) - log2(y)"),
    ],
)
def test_equalities_hold(one: str, other: str) -> None:
    """What is written anew is what stands here, and has the same values."""
    source = Source(
        "m.dp", f"mechanism m\ninput\n  x, y : real\n  eps : real\nprivacy eps\nprogram\n  z = {one}\n"
    )
    (made,) = with_equalities(parse(source)).body
    assert isinstance(made, nodes.Assign)
    assert unparse_expr(made.value) == other
    names = {"exp": math.exp, "ln": math.log, "log2": math.log2, "sqrt": math.sqrt}
    for x, y in ((1.0, 1.0), (4.0, 0.5), (0.25, 3.0)):
        values = [eval(text, {**names, "x": x, "y": y}) for text in (one, other)]
        assert values[0] == pytest.approx(values[1])


@pytest.mark.parametrize("scale", ["1/(sqrt(eps)*sqrt(2*eps))", "1/(eps*exp(eps)*exp(-2*eps)*exp(eps))"])
def test_numbers_near_others_keep_no_equation(scale: str) -> None:
    """The square of a number near a root may be more than the number under the root."""
    source = written(f"eta ~ Lap({scale})\nemit noisy(q[0] + eta)", "eta += q[0] - q'[0]")
    assert not proved(source, RunMode.REFINED)


NEAR = [Fraction(n, d) for n in (1, 2, 3, 7, 12, 100) for d in (1, 3, 7, 1000)] + [
    1 + sign * Fraction(1, 2**bits) for bits in (1, 20, 47, 60, 97, 130) for sign in (1, -1)
]


@pytest.mark.parametrize("function", ["exp", "sqrt", "ln", "log2"])
def test_the_runtime_keeps_the_bounds_that_forms_know(function: str) -> None:
    """What a form says of a number near the value is that very number, whatever its public function gives."""
    run = {"exp": rationals.exp, "sqrt": rationals.sqrt, "ln": rationals.ln, "log2": rationals.log2}[function]
    signed = [x - 1 for x in NEAR] + [1 - x for x in NEAR] if function == "exp" else NEAR
    for x in signed:
        written_out = enclosed(function, nodes.Name("x"), lambda of: nodes.Call("near", (of,)))
        assert evaluated(written_out, x, run) == run(x)
        low, high = sorted(
            (evaluated(written_out, x, lambda _: -FAR), evaluated(written_out, x, lambda _: FAR))
        )
        assert low <= run(x) <= high
        assert (run(x) > 1) == (x > 1 if function == "sqrt" else x > 0) or function in ("ln", "log2")
        assert (run(x) > 0) == (x > 1) or function in ("exp", "sqrt")


def evaluated(expr: nodes.Expr, x: Fraction, near: Callable[[Fraction], Fraction]) -> Fraction:
    """The value of what `enclosed` writes."""

    def of(e: nodes.Expr) -> Fraction:
        return evaluated(e, x, near)

    match expr:
        case nodes.Number(value=value):
            return value
        case nodes.Name():
            return x
        case nodes.Unary(operand=operand):
            return -of(operand)
        case nodes.Binary(op=op, left=left, right=right):
            return ARITHMETIC[op](of(left), of(right))
        case nodes.Call(function="near", args=(arg,)):
            return near(of(arg))
        case nodes.Call(function=name, args=args):
            return {"min": min, "max": max}[name](map(of, args))
        case nodes.Conditional(then=then, otherwise=otherwise):
            return of(then) if x >= 0 else of(otherwise)
        case _:
            raise AssertionError(expr)


ARITHMETIC: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
FAR = Fraction(10**60)


def test_chances_that_are_variables_are_written_out_in_draws() -> None:
    program = "p = 1 - exp(-eps)\neta ~ Geo(p)\nemit noisy(q[0] + eta - (1 - p)/p)"
    source = written(program, "eta += q[0] - q'[0]", "q : int queries, sensitivity 1")
    text = form(source, RunMode.LATTICE).source.text
    assert "eta ~ Geo(1 - exp(-eps))" in text


@pytest.mark.parametrize("again", ["p = p/2", "for j in range(2): p = 1/2"])
def test_chances_that_change_are_not(again: str) -> None:
    program = f"p = 1 - exp(-eps)\n{again}\neta ~ Geo(p)\nemit noisy(q[0] + eta)"
    source = written(program, "eta += q[0] - q'[0]", "q : int queries, sensitivity 1")
    assert "eta ~ Geo(p)" in form(source, RunMode.LATTICE).source.text


def test_a_root_of_answers_has_no_form() -> None:
    source = written(
        "emit nothing(floor(sqrt(1 + eps)))\neta ~ Lap(1/eps)\na = sqrt(abs(q[0]))\nb = a*0\nemit x(eta + b)"
    )
    for mode in (RunMode.REFINED, RunMode.LATTICE):
        with pytest.raises(NoFormError, match="form"):
            form(source, mode)


@pytest.mark.parametrize(
    "program",
    [
        "z = 0\nm = max(exp(q[j] + z) for j in q)\neta ~ Lap(1/eps)\nemit noisy(q[0] + eta)",
        "z = 0\neta ~ Lap(1/eps)\nemit noisy(q[0] + eta + 0*exp(q[0] + z))",
        "z = ln(eps) if q[0] > 0 else 0\neta ~ Lap(1/eps)\nemit noisy(q[0] + eta)",
        "z = 0\nm = max(exp(q[j] + z) for j in q)\nw ~ Choose(exp(eps*q[i]/2) for i in q)\nemit chosen(w)",
    ],
)
@pytest.mark.parametrize("mode", [RunMode.LATTICE, RunMode.REFINED])
def test_functions_of_answers_are_not_proved_wherever_they_stand(program: str, mode: RunMode) -> None:
    """A function in the place of `exp` refuses numbers that are too large: of answers it must not be applied,
    nor where answers say so, although its value changes nothing.
    """
    source = written(program, "eta += q[0] - q'[0]" if "eta" in program else "")
    assert isinstance(judge(check(source, parse(source)), source, time.monotonic() + 30), Verified)
    assert not proved(source, mode)


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("floor(log2(len(q)))", True),
        ("floor(sqrt(eps))", True),
        ("floor(ln(eps))", False),
        ("sqrt(eps)", False),
    ],
)
def test_floors_that_are_computed_exactly_stay(text: str, exact: bool) -> None:
    source = written(
        f"n = {text}\neta ~ Lap(1/eps)\nif q[0] + eta > n: emit up\nelse: emit down", "eta += q[0] - q'[0]"
    )
    assert form(source, RunMode.REFINED).same is exact


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("1 - exp(-eps)", "eps"),
        ("1 - exp(-(eps/2))", "eps/2"),
        ("1 - exp(0 - eps)", "-(0 - eps)"),
        ("eps/2", None),
    ],
)
def test_rates_of_geometric_noise(text: str, rate: str | None) -> None:
    source = written(f"x ~ Geo({text})\nemit noisy(x + floor(q[0]))")
    (sample, _) = parse(source).body
    assert isinstance(sample, nodes.Sample)
    found = rate_of(sample.args[0])
    assert (None if found is None else unparse_expr(found)) == rate


def test_what_is_rounded_down_at_once() -> None:
    source = written("n = floor(log2(3 + eps))\nemit n(n)")
    (assigned, _) = parse(source).body
    assert isinstance(assigned, nodes.Assign)
    found = rounded_down(assigned.value)
    assert found is not None
    assert (found[0], unparse_expr(found[1])) == ("log2", "3 + eps")


# --- noise that is drawn as finely as needed --------------------------------------------------------------


@pytest.mark.parametrize(
    "program",
    [
        "emit noisy(eta*zeta)",
        "emit noisy(1/eta)",
        "emit noisy(eta**2)",
        "emit noisy(eta % 2)",
        "emit noisy(exp(eta))",
        "emit noisy(floor(sqrt(abs(eta))))",
        "a = eta\nb = 2*a + 1\nemit noisy(b*zeta)",
        "xi ~ Lap(1 + abs(eta))\nemit noisy(xi)",
        "b = 0\nwhile b < 3:\n  emit noisy(b*eta)\n  b = b + zeta*0",
    ],
)
def test_products_of_noise_have_no_refined_form(program: str) -> None:
    source = written(f"eta ~ Lap(1/eps)\nzeta ~ Exp(1/eps)\n{program}")
    with pytest.raises(NoFormError, match=r"noisy number"):
        form(source, RunMode.REFINED)


@pytest.mark.parametrize(
    ("before", "released"),
    [
        ("pass", ["q[0]*eta/3 - 2*zeta"]),
        ("pass", ["max(eta, zeta, 0)", "min(eta, 1)", "abs(zeta)", "clip(eta, -1, 1)", "floor(eta + 1/2)"]),
        ("pass", ["eta if zeta > 1 else zeta"]),
        ("n = floor(eta)", ["n*n", "n % 2"]),
        (
            "for i in range(len(q)):\n  xi[i] ~ Lap(1/eps)\nw = argmax(q[i] + xi[i] for i in q)",
            ["w", "xi[w] + eta"],
        ),
        ("x ~ DLap(1/eps)\ny ~ Geo(1/2)", ["x*y", "x/(1 + abs(y))"]),
    ],
)
def test_sums_of_noise_have_one(before: str, released: list[str]) -> None:
    fields = ", ".join(f"a{n} = {value}" for n, value in enumerate(released))
    source = written(f"eta ~ Lap(1/eps)\nzeta ~ Exp(1/eps)\n{before}\nemit noisy({fields})")
    assert form(source, RunMode.REFINED).same


# --- calls and whole specs --------------------------------------------------------------------------------


def test_a_call_passes_the_lattice_on() -> None:
    made = of_spec("svt_with_measures.dp", RunMode.LATTICE)
    assert "svt_with_gap(q = q, T = T, k = k, eps = eps/2, resolution = resolution)" in made.source.text
    (use,) = made.mechanism.uses
    assert use.contract is not None
    assert "resolution : int" in use.contract.source.text


def test_floating_point_is_the_spec_itself() -> None:
    assert of_spec("adaptive_svt.dp", RunMode.FLOAT).same


@pytest.mark.parametrize(
    "name",
    ["svt_discrete.dp", "noisy_max_discrete.dp", "exponential_mechanism.dp", "noisy_max_random_ties.dp"],
)
def test_what_has_no_continuous_noise_runs_as_it_is(name: str) -> None:
    assert of_spec(name, RunMode.LATTICE).same


def test_ties_of_laplace_noise_are_broken_by_an_order_that_stays_as_it_is() -> None:
    """On a lattice two noisy answers may tie; the order has no steps there."""
    program = (
        "for i in range(len(q)):\n  eta[i] ~ Lap(2/eps)\n  order[i] ~ Uniform(1)\n"
        "most = max(q[i] + eta[i] for i in q)\n"
        "winner = argmax(order[i] for i in q where q[i] + eta[i] == most)\nemit chosen(winner)"
    )
    source = written(program, "eta[i] += 1 + q[i] - q'[i] when i == winner")
    text = form(source, RunMode.LATTICE).source.text
    assert "order[i] ~ Uniform(1)" in text
    assert "~ DLap(2/eps, 1/resolution)" in text
    assert proved(source, RunMode.LATTICE)


def test_logistic_noise_has_no_form_on_a_lattice() -> None:
    with pytest.raises(NoFormError, match="logistic"):
        of_spec("exponential_mechanism_gap.dp", RunMode.LATTICE)
    assert of_spec("exponential_mechanism_gap.dp", RunMode.REFINED).same


@pytest.mark.parametrize(
    "use",
    [
        "emit sum(total)",
        "if total > 1: emit much",
        "x = max(total, 1)",
        "x = total*total",
        "x ~ Logistic(0, total)",
        "x ~ Logistic(0) where x > total",
        "w ~ Choose(exp(total) for i in u)",
        "more = total + 1\nx = 1 if more > 2 else 0",
    ],
)
def test_logarithms_of_sums_are_locations_only(use: str) -> None:
    program = f"total = logsumexp(eps for j in u)\n{use}\ng ~ Logistic(total/2 - u[0], 1)\nemit noisy(g)"
    source = written(program, inputs="u : queries, sensitivity 1 where len(u) >= 2").text
    source = source.partition("\nalign")[0].replace(" and len(q) >= 1", "")
    for mode in (RunMode.LATTICE, RunMode.REFINED):
        with pytest.raises(NoFormError, match="logarithm of a sum"):
            form(Source("m.dp", source), mode)


@pytest.mark.parametrize(
    ("clause", "of_lengths_only"),
    [
        ("len(q) >= 2", True),
        ("len(q) >= 2 or len(r) > 1", True),
        ("eps > 1", True),
        ("q[i] > 0", False),
        ("len(q) > 1 or q[i] > 0", False),
        ("sum(1 for j in q) >= 2", False),  # as many as there are, but no run asks for it
    ],
)
def test_a_form_assumes_what_a_run_checks(clause: str, of_lengths_only: bool) -> None:
    inputs = f"q : queries, sensitivity 1 where {clause}\nr : queries, sensitivity 1"
    (queries, *_) = parse(written("emit nothing", "", inputs)).inputs
    assert queries.where is not None
    assert of_lengths(queries.where, {"q", "r"}) is of_lengths_only


def test_every_verified_spec_has_a_refined_form() -> None:
    """That the form is proved, where it is not the spec itself, is asked by `compile_all.py --modes`."""
    for path in sorted(SPECS.glob("*.dp")):
        if "\nexpect verified" in path.read_text("utf-8"):
            form(read_source(str(path)), RunMode.REFINED)

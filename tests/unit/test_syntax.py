"""From text to AST and back: what each construct of the language means."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import lark
import pytest

from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.grammar import grammar
from aligncheck.language.syntax.parse import parse
from aligncheck.language.unparse import unparse, unparse_expr

PROJECT = Path(__file__).parents[2]
SPECS = sorted((PROJECT / "specs").rglob("*.dp"))

HEAD = "mechanism m\nprivacy 1\n"


def mechanism(text: str) -> n.Mechanism:
    return parse(Source("m.dp", text))


def program(*lines: str) -> tuple[n.Stmt, ...]:
    return mechanism(HEAD + "program\n" + "".join(f"  {line}\n" for line in lines)).body


def statement(*lines: str) -> n.Stmt:
    (only,) = program(*lines)
    return only


def expression(text: str) -> n.Expr:
    assigned = statement(f"x = {text}")
    assert isinstance(assigned, n.Assign)
    return assigned.value


def aligned(*lines: str) -> tuple[n.AlignItem, ...]:
    text = HEAD + "program\n  pass\nalign\n" + "".join(f"  {line}\n" for line in lines)
    return mechanism(text).align


def guard(text: str) -> n.Expr:
    (shift,) = aligned(f"eta += 1 when {text}")
    assert isinstance(shift, n.Shift)
    assert shift.guard is not None
    return shift.guard


def inputs(*lines: str) -> tuple[n.Input, ...]:
    text = "mechanism m\ninput\n" + "".join(f"  {line}\n" for line in lines) + "privacy 1\nprogram\n  pass\n"
    return mechanism(text).inputs


def number(value: str | int) -> n.Number:
    return n.Number(Fraction(value))


ONE, TWO, THREE = number(1), number(2), number(3)
A, B, C = n.Name("a"), n.Name("b"), n.Name("c")


# --- expressions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2", TWO),
        ("0.1", number("1/10")),
        (".5", number("1/2")),
        ("1e-3", number("1/1000")),
        ("2.5E2", number(250)),
        ("true", n.Boolean(True)),
        ("false", n.Boolean(False)),
        ("a", A),
        ("a[b]", n.Index("a", B)),
        ("max(a, b, c)", n.Call("max", (A, B, C))),
        ("len(a)", n.Call("len", (A,))),
        ("a - b - c", n.Binary("-", n.Binary("-", A, B), C)),
        ("a - (b - c)", n.Binary("-", A, n.Binary("-", B, C))),
        ("a + b * c", n.Binary("+", A, n.Binary("*", B, C))),
        ("a / b % c", n.Binary("%", n.Binary("/", A, B), C)),
        ("-a**2", n.Unary("-", n.Binary("**", A, TWO))),
        ("-a * b", n.Binary("*", n.Unary("-", A), B)),
        ("a < b", n.Compare("<", A, B)),
        ("not a == b", n.Unary("not", n.Compare("==", A, B))),
        ("a and b or c", n.Logic("or", (n.Logic("and", (A, B)), C))),
        ("a and b and c", n.Logic("and", (A, B, C))),
        ("a if b else c", n.Conditional(B, A, C)),
        ("a if b else c if a else b", n.Conditional(B, A, n.Conditional(A, C, B))),
        ("a < b <= c", n.Logic("and", (n.Compare("<", A, B), n.Compare("<=", B, C)))),
        (
            "a == b != c > a",
            n.Logic("and", (n.Compare("==", A, B), n.Compare("!=", B, C), n.Compare(">", C, A))),
        ),
    ],
)
def test_expressions(text: str, expected: n.Expr) -> None:
    assert expression(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("q'[i] > sum'", n.Compare(">", n.Index("q", n.Name("i"), True), n.Name("sum", True))),
        ("q <= q'", n.Compare("<=", n.Name("q"), n.Name("q", True))),
        ("out is top", n.OutIs(number(0), "top")),
        ("out[i] is top", n.OutIs(n.Name("i"), "top")),
        ("out[i] is not top", n.Unary("not", n.OutIs(n.Name("i"), "top"))),
        ("not out[i] is top", n.Unary("not", n.OutIs(n.Name("i"), "top"))),
        (
            "out[i + 1].gap >= 0",
            n.Compare(">=", n.OutField(n.Binary("+", n.Name("i"), ONE), "gap"), number(0)),
        ),
        ("len(out) > 1", n.Compare(">", n.OutCount(None), ONE)),
        ("out.count(top) > 1", n.Compare(">", n.OutCount("top"), ONE)),
        ("out[out.count(top)] is top", n.OutIs(n.OutCount("top"), "top")),
    ],
)
def test_what_only_an_alignment_can_say(text: str, expected: n.Expr) -> None:
    assert guard(text) == expected


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("ε ≥ σ", "eps >= sigma"),
        ("ε₁ ≤ λ", "eps1 <= lam"),
        ("Δ ≠ δ", "Delta != delta"),
        ("α×β·γ", "alpha*beta*gamma"),
        ("η − ξ", "eta - xi"),
        ("θ + μ/ν - ρ", "theta + mu/nu - rho"),
        ("τ⋅φ - ω", "tau*phi - omega"),
        ("ζ_1 ⩾ ϵ", "zeta_1 >= eps"),
        ("µ + \N{OHM SIGN}", "mu + Omega"),
    ],
)
def test_other_spellings(written: str, plain: str) -> None:
    assert expression(written) == expression(plain)


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("(4*a**2)**(1/3)", "exp((1/3)*ln(4*a**2))"),
        ("cbrt(a)", "exp((1/3)*ln(a))"),
        ("a**(3/2)", "sqrt(a)**3"),
        ("a**0.5", "sqrt(a)"),
        ("a**(4/2)", "a**2"),
    ],
)
def test_roots_are_read_as_what_they_mean(written: str, plain: str) -> None:
    assert unparse_expr(expression(written)) == unparse_expr(expression(plain))


def test_other_spellings_of_primes() -> None:
    assert guard("q′[i] > q’[i]") == guard("q'[i] > q'[i]")


def test_spans_refer_to_the_text_as_it_is_written() -> None:
    source = Source("m.dp", HEAD + "program\n  x = (ε₁  ≥ σ) == (ξ × 2)\n")
    (assigned,) = parse(source).body
    assert isinstance(assigned, n.Assign)
    assert source.text_of(assigned.span) == "x = (ε₁  ≥ σ) == (ξ × 2)"
    value = assigned.value
    assert isinstance(value, n.Compare)
    assert source.text_of(value.left.span) == "(ε₁  ≥ σ)"
    assert source.text_of(value.right.span) == "(ξ × 2)"


def test_the_links_of_a_chain_have_their_own_spans() -> None:
    source = Source("m.dp", HEAD + "program\n  x = 0 < a < 1\n")
    (assigned,) = parse(source).body
    assert isinstance(assigned, n.Assign)
    assert isinstance(assigned.value, n.Logic)
    assert [source.text_of(link.span) for link in assigned.value.args] == ["0 < a", "a < 1"]


# --- sets of indices ----------------------------------------------------------------------------------------

J, L = n.Name("j"), n.Name("l")
Q_J, Q = n.Index("q", J), n.Indices("q")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max(q[j] for j in q)", n.Gather("max", None, Q_J, "j", Q, None)),
        ("min(q[j] for j in q where b)", n.Gather("min", None, Q_J, "j", Q, B)),
        ("argmax(j for j in range(a))", n.Gather("argmax", None, J, "j", n.OverRange(number(0), A), None)),
        ("argmin(j for j in range(a, b))", n.Gather("argmin", None, J, "j", n.OverRange(A, B), None)),
        ("top(a, q[j] for j in q)", n.Gather("top", A, Q_J, "j", Q, None)),
        ("upto(a, q[j] for j in q where b)", n.Gather("upto", A, Q_J, "j", Q, B)),
        ("max(x for j, x in q)", n.Gather("max", None, Q_J, "j", Q, None)),
        (
            "max(x - j for j, x in q where x < a)",
            n.Gather("max", None, n.Binary("-", Q_J, J), "j", Q, n.Compare("<", Q_J, A)),
        ),
        (
            "max(x + max(y + x for l, y in r) for j, x in q)",
            n.Gather(
                "max",
                None,
                n.Binary(
                    "+",
                    Q_J,
                    n.Gather(
                        "max", None, n.Binary("+", n.Index("r", L), Q_J), "l", n.Indices("r"), None
                    ),
                ),
                "j",
                Q,
                None,
            ),
        ),
        ("a if b else c in w", n.Conditional(B, A, n.Member(C, "w"))),
        ("a + b in w", n.Member(n.Binary("+", A, B), "w")),
        ("a not in w", n.Unary("not", n.Member(A, "w"))),
        ("not a in w and b in (w)", n.Logic("and", (n.Unary("not", n.Member(A, "w")), n.Member(B, "w")))),
        ("max(a, max(q[j] for j in q), b)", n.Call("max", (A, n.Gather("max", None, Q_J, "j", Q, None), B))),
    ],
)  # fmt: skip
def test_sets_of_indices(text: str, expected: n.Expr) -> None:
    assert expression(text) == expected


def test_an_entry_keeps_its_prime_and_its_place() -> None:
    text = HEAD + "program\n  pass\nalign\n  xi[i] += max(x' - x for j, x in q)\n"
    source = Source("m.dp", text)
    (shift,) = parse(source).align
    assert isinstance(shift, n.Shift)
    assert isinstance(shift.value, n.Gather)
    body = shift.value.body
    assert body == n.Binary("-", n.Index("q", J, True), Q_J)
    assert isinstance(body, n.Binary)
    assert [source.text_of(part.span) for part in (body.left, body.right)] == ["x'", "x"]
    assert shift.value.over == Q
    assert isinstance(shift.value.over, n.Indices)
    assert shift.value.over.item == "x"


# --- inputs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a : real", n.Parameter("a", n.Sort.REAL)),
        ("a : int where a >= 1", n.Parameter("a", n.Sort.INT, n.Compare(">=", A, ONE))),
        ("a : bool", n.Parameter("a", n.Sort.BOOL)),
        ("a : vector", n.PublicVector("a", n.Sort.REAL)),
        ("a : int vector", n.PublicVector("a", n.Sort.INT)),
        ("a : real vector", n.PublicVector("a", n.Sort.REAL)),
        ("a : query, sensitivity 1", n.Queries(("a",), False, n.Sort.REAL, n.Adjacency.ALL, ONE)),
        (
            "a, b : int queries, adjacency one, sensitivity c[i], lattice 2",
            n.Queries(("a", "b"), True, n.Sort.INT, n.Adjacency.ONE, n.Index("c", n.Name("i")), TWO),
        ),
        (
            "a : queries, sensitivity 1, adjacency L1",
            n.Queries(("a",), True, n.Sort.REAL, n.Adjacency.L1, ONE),
        ),
        (
            "a : query, sensitivity 1, same direction as b, same index as same",
            n.Queries(
                ("a",), False, n.Sort.REAL, n.Adjacency.ALL, ONE, same_index=n.Name("same"), same_direction=B
            ),
        ),
        (
            "a : query, adjacency any, range [-1, 1]",
            n.Queries(("a",), False, n.Sort.REAL, n.Adjacency.ANY, None, None, (n.Unary("-", ONE), ONE)),
        ),
        (
            "a : queries, sensitivity 1, adjacency moved where len(a) > 1",
            n.Queries(
                ("a",),
                True,
                n.Sort.REAL,
                n.Adjacency.MOVED,
                ONE,
                where=n.Compare(">", n.Call("len", (A,)), ONE),
            ),
        ),
        (
            "a : queries, sensitivity 1, where len(a) > 1, adjacency all",
            n.Queries(
                ("a",),
                True,
                n.Sort.REAL,
                n.Adjacency.ALL,
                ONE,
                where=n.Compare(">", n.Call("len", (A,)), ONE),
            ),
        ),
    ],
)
def test_inputs(text: str, expected: n.Input) -> None:
    assert inputs(text) == (expected,)


def test_several_parameters_on_a_line_share_one_clause() -> None:
    low, high = inputs("a, b : real where a < b")
    assert low == n.Parameter("a", n.Sort.REAL)
    assert high == n.Parameter("b", n.Sort.REAL, n.Compare("<", A, B))


# --- statements ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("eta ~ Lap(2)", n.Sample("eta", None, n.Family.LAPLACE, (TWO,))),
        ("xi[a] ~ Laplace(scale = 2)", n.Sample("xi", A, n.Family.LAPLACE, (TWO,))),
        ("eta ~ Exponential(2)", n.Sample("eta", None, n.Family.EXPONENTIAL, (TWO,))),
        ("eta ~ Geo(p=0.5)", n.Sample("eta", None, n.Family.GEOMETRIC, (number("1/2"),))),
        ("eta ~ DLap(2)", n.Sample("eta", None, n.Family.DISCRETE_LAPLACE, (TWO, ONE))),
        (
            "eta ~ DiscreteLaplace(step=3, scale=2)",
            n.Sample("eta", None, n.Family.DISCRETE_LAPLACE, (TWO, THREE)),
        ),
        ("eta ~ DExp(2)", n.Sample("eta", None, n.Family.DISCRETE_EXPONENTIAL, (TWO, ONE))),
        (
            "eta ~ DiscreteExponential(2, step=3)",
            n.Sample("eta", None, n.Family.DISCRETE_EXPONENTIAL, (TWO, THREE)),
        ),
        ("emit top", n.Emit("top", ())),
        ("emit top()", n.Emit("top", ())),
        ("emit top(a)", n.Emit("top", (n.EmitField("value", A),))),
        ("emit top(gap = a, used = b)", n.Emit("top", (n.EmitField("gap", A), n.EmitField("used", B)))),
        ("break", n.Break()),
        ("pass", n.Pass()),
    ],
)
def test_simple_statements(text: str, expected: n.Stmt) -> None:
    assert statement(text) == expected


def test_loops() -> None:
    passing = (n.Pass(),)
    assert statement("for i, x in q: pass") == n.For("i", n.OverQueries("q", "x"), passing)
    assert statement("for x in q: pass") == n.For(None, n.OverQueries("q", "x"), passing)
    assert statement("for i in range(3): pass") == n.For("i", n.OverRange(number(0), THREE), passing)
    assert statement("for i in range(1, 3): pass") == n.For("i", n.OverRange(ONE, THREE), passing)
    assert statement("while a < b: pass") == n.While(n.Compare("<", A, B), passing)


def test_invariants_come_first_in_a_loop() -> None:
    loop = statement("for x in q:", "  invariant a > 1", "  invariant b > 1; a = b")
    invariants = (n.Compare(">", A, ONE), n.Compare(">", B, ONE))
    assert loop == n.For(None, n.OverQueries("q", "x"), (n.Assign("a", B),), invariants)
    for lines in (
        ["invariant a > 1"],
        ["while a:", "  a = b", "  invariant a > 1"],
        ["if a:", "  invariant a"],
    ):
        with pytest.raises(SpecError) as caught:
            program(*lines)
        assert caught.value.diagnostic.code == "misplaced-invariant"


def test_branches() -> None:
    expected = n.If(
        (n.Branch(A, (n.Assign("x", ONE), n.Break())), n.Branch(B, (n.Pass(),))), (n.Emit("t", ()),)
    )
    assert statement("if a: x = 1; break", "elif b:", "    pass", "else: emit t") == expected
    assert statement("if a:", "  x = 1", "  break;", "elif b: pass", "else:", " emit t") == expected


WORDS_WITH_A_PLACE = (
    *("top", "below", "case", "count", "cost", "sum", "gap", "out", "range", "when", "where", "emit"),
    *("otherwise", "invariant", "input", "align", "real", "query"),
)


@pytest.mark.parametrize("word", WORDS_WITH_A_PLACE)
def test_words_that_are_free(word: str) -> None:
    """Tags may be almost any word, and so may names where the grammar has no other use for the word."""
    assert statement(f"emit {word}({word} = 1)") == n.Emit(word, (n.EmitField(word, ONE),))
    assert statement(f"{word} = 1") == n.Assign(word, ONE)
    assert guard(f"out[0].{word} > 0 and out is {word}") == n.Logic(
        "and", (n.Compare(">", n.OutField(number(0), word), number(0)), n.OutIs(number(0), word))
    )
    if word != "out":
        assert statement(f"x = {word}[{word}] + {word}") == n.Assign(
            "x", n.Binary("+", n.Index(word, n.Name(word)), n.Name(word))
        )
    if word not in ("emit", "case", "otherwise", "invariant"):
        assert aligned(f"{word} += {word} when {word} > 0")


# --- alignment ----------------------------------------------------------------------------------------------


def test_shifts() -> None:
    assert aligned("eta -= 1", "xi[i] += a when b", "eta = 2") == (
        n.Shift("eta", None, "-=", ONE),
        n.Shift("xi", n.Name("i"), "+=", A, B),
        n.Shift("eta", None, "=", TWO),
    )


def test_case_splits() -> None:
    up, down = n.Shift("eta", None, "+=", ONE), n.Shift("eta", None, "-=", ONE)
    assert aligned("case a:", "  eta += 1", "case b: eta -= 1", "otherwise: pass", "eta += 1") == (
        n.CaseSplit((n.Case(A, (up,)), n.Case(B, (down,))), ()),
        up,
    )


def test_an_empty_alignment_is_none() -> None:
    text = HEAD + "program\n  pass\n"
    assert mechanism(text) == mechanism(text + "align\n") == mechanism(text + "align   # nothing\n  pass\n")


# --- the whole ----------------------------------------------------------------------------------------------


def test_remarks_and_description() -> None:
    text = (
        "# far away\n\n# from a paper\n# by somebody\nmechanism m   # Algorithm 1\n  # below\n"
        '  "One line,"\n  "and  another\n   one."\n  # no remark\n'
        + HEAD.partition("\n")[2]
        + "program\n  pass\n"
    )
    read = mechanism(text)
    assert read.remarks == ("from a paper", "by somebody", "Algorithm 1", "below")
    assert read.doc == "One line, and another one."


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("expect verified", n.Expectation("verified")),
        ("expect alignment fails at cost", n.Expectation("alignment fails", "cost")),
        ("expect refuted  # by an event", n.Expectation("refuted")),
        ("expect unknown at terminates", n.Expectation("unknown", "terminates")),
        ("expect error at contradictory-where", n.Expectation("error", "contradictory-where")),
        ("expect error at not-utf8", n.Expectation("error", "not-utf8")),
    ],
)
def test_expectations(line: str, expected: n.Expectation) -> None:
    assert mechanism(HEAD + "program\n  pass\n" + line).expect == expected


def test_a_refutation_may_be_expected_beside_what_the_proof_comes_to() -> None:
    start = HEAD + "program\n  pass\n"
    read = mechanism(start + "expect alignment fails at cost\nexpect refuted\n")
    assert read.expect == n.Expectation("alignment fails", "cost")
    assert read.also_refuted
    assert mechanism(unparse(read)) == read
    assert mechanism(start + "expect refuted\nexpect unknown at cost\n").also_refuted
    assert not mechanism(start + "expect refuted\n").also_refuted, "it stands alone"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("expect verified\nexpect refuted", "`expect verified` and `expect refuted` contradict each other"),
        (
            "expect refuted\nexpect error at syntax",
            "`expect error` and `expect refuted` contradict each other",
        ),
        ("expect refuted\nexpect refuted", "there are two expectations of one verdict"),
        ("expect verified\nexpect unknown at cost", "there are two expectations of one verdict"),
        (
            "expect refuted\nexpect unknown at cost\nexpect refuted",
            "there are two expectations of one verdict",
        ),
    ],
)
def test_other_pairs_of_expectations_are_refused(lines: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        mechanism(HEAD + "program\n  pass\n" + lines)
    assert error.value.diagnostic.message == message


def test_a_claim_may_name_a_bound() -> None:
    read = mechanism("mechanism m\nprivacy a*len(out) at most a + 1\nprogram\n  pass\n")
    assert read.privacy == n.Binary("*", A, n.OutCount(None))
    assert read.most == n.Binary("+", A, ONE)
    assert mechanism(HEAD + "program\n  pass\n").most is None


def test_comments_and_blank_lines_may_stand_anywhere() -> None:
    plain = HEAD + "program\n  if 1 > 2:\n    emit a\n    emit b\n  else:\n    emit c\n"
    airy = (
        "\n# a\n\nmechanism m\n\n# b\nprivacy 1 # c\n\nprogram # d\n\n  if 1 > 2: # e\n# f\n    emit a\n\n"
        "          # g\n    emit b\n\n\n  # h\n  else:\n\t\n    emit c # i\n\n # j"
    )
    assert mechanism(airy).body == mechanism(plain).body


def test_parentheses_join_lines() -> None:
    assert program("x = (1 +", "", "# no", "2", "  )", "emit t(a = 1,", "       b = 2,)") == program(
        "x = 1 + 2", "emit t(a = 1, b = 2)"
    )


def test_tabs_are_as_good_as_spaces() -> None:
    text = HEAD + "program\n  if 1 > 2:\n      emit a\n  emit b\n"
    tabs = text.replace("      ", "\t\t").replace("  ", "\t")
    assert mechanism(text) == mechanism(tabs)


# --- back to text -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_specs_come_back_from_their_text(path: Path) -> None:
    read = mechanism(path.read_text("utf-8"))
    text = unparse(read)
    assert mechanism(text) == read
    assert unparse(mechanism(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "a + b*c",
        "(a + b)*c",
        "a - (b - c)",
        "a - b - c",
        "a/(b*c)",
        "a/b*c",
        "-(a + b)",
        "-a**2",
        "(-a)**2",
        "a*-b",
        "not (a and b)",
        "not a == b",
        "(a or b) and c",
        "a and b or c",
        "a and (b and c)",
        "0 < a < 1 and b > 0",
        "(a < b) == (b < c)",
        "(a if b else c) + 1",
        "a if b else c if a else b",
        "(a if b else c) if a else b",
        "0.1 + 12.5 + 0.0001",
        "max(a, b if c else a)",
        "a[b + 1]",
        "max(a if b else c for j in q where a or b)",
        "top(a + 1, q[j] for j in q) + 1",
        "argmin(-q[j] for j in range(1, a))",
        "a + 1 not in w and not (b in w or c)",
        "(a in w) == (b not in w)",
    ],
)
def test_no_parentheses_that_are_not_needed(text: str) -> None:
    assert unparse_expr(expression(text)) == text


def test_numbers_that_are_no_decimals() -> None:
    third = n.Number(Fraction(1, 3))
    assert unparse_expr(third) == "1/3"
    assert unparse_expr(n.Binary("*", A, third)) == "a*(1/3)"
    assert unparse_expr(n.Number(Fraction(-1, 2))) == "-0.5"
    assert unparse_expr(n.Binary("**", n.Number(Fraction(-2)), TWO)) == "(-2)**2"


# --- the parser's own parts ---------------------------------------------------------------------------------


def test_the_parser_is_kept_and_made_anew_where_it_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    grammar.__wrapped__()
    (kept,) = (tmp_path / "aligncheck").iterdir()
    good = kept.read_bytes()
    for bad in (b"", b"no parser\n", good[: len(good) // 2]):
        kept.write_bytes(bad)
        assert grammar.__wrapped__().parse_interactive().accepts() == {"MECHANISM"}
        assert kept.read_bytes() != bad
    monkeypatch.setattr(lark, "__version__", "0")
    grammar.__wrapped__()
    assert len(list(kept.parent.iterdir())) == 2, "another version has a file of its own"


def test_nothing_is_read_from_a_folder_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "aligncheck").mkdir()
    (tmp_path / "aligncheck").chmod(0o777)
    grammar.__wrapped__()
    assert not list((tmp_path / "aligncheck").iterdir())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", ".")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "aligncheck").chmod(0o700)
    grammar.__wrapped__()
    assert not list((tmp_path / "aligncheck").iterdir()), "where the command happens to run"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "aligncheck" / "file"))
    (tmp_path / "aligncheck" / "file").touch()
    assert grammar.__wrapped__().parse_interactive().accepts() == {"MECHANISM"}, "where none can be kept"


def test_what_is_wrong_further_up_is_said_first() -> None:
    text = "mechanism m\ninput\n    q : bool queries\nprivacy 1\nprogram\n    emit a(1 +)\n"
    with pytest.raises(SpecError) as caught:
        parse(Source("m.dp", text))
    assert caught.value.diagnostic.code == "bad-sort"

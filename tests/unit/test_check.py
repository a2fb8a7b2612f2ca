"""Static checks: what each one refuses, where the caret stands, and what it lets through."""

from __future__ import annotations

from pathlib import Path

import pytest

from aligncheck.check import check
from aligncheck.check.sorts import sorts_of
from aligncheck.check.symbols import symbols_of
from aligncheck.diagnostics import SpecError
from aligncheck.source import Source
from aligncheck.syntax.nodes import Sort
from aligncheck.syntax.parse import parse

SPECS = sorted((Path(__file__).parents[2] / "specs").rglob("*.dp"))

INPUTS = """\
  q, r : queries, sensitivity b[i], adjacency one
  z : int query, sensitivity 1
  b : vector where b[i] > 0
  ok : bool vector
  T : real
  k : int where k >= 1
  flag : bool
  eps : real where eps > 0
"""


def spec(program: str = "pass", align: str = "", inputs: str = INPUTS, privacy: str = "eps") -> str:
    """A spec with these lines in its sections; `|` separates lines, leading spaces nest."""

    def block(lines: str) -> str:
        return "".join(f"  {line}\n" for line in lines.split("|") if line.strip())

    return f"mechanism m\ninput\n{inputs}privacy {privacy}\nprogram\n{block(program)}align\n{block(align)}"


def accept(text: str) -> None:
    source = Source("m.dp", text)
    check(source, parse(source))


def refuse(text: str, code: str, caret: str) -> SpecError:
    source = Source("m.dp", text)
    mechanism = parse(source)
    with pytest.raises(SpecError) as caught:
        check(source, mechanism)
    diagnostic = caught.value.diagnostic
    assert diagnostic.code == code, diagnostic.message
    assert source.text_of(diagnostic.primary.span) == caret, diagnostic.message
    return caught.value


DRAWS = "eta ~ Lap(1/eps)|for i, x in q:|  xi[i] ~ Lap(1/eps)|"

# --- names --------------------------------------------------------------------------------------------------

MEANINGS = [
    ("k = 1", "assigned-input", "k"),
    ("q = 1", "assigned-input", "q"),
    ("eta ~ Lap(1)|eta = 1", "assigned-noise", "eta"),
    ("eta = 1|eta ~ Lap(1)", "duplicate-name", "eta"),
    ("T ~ Lap(1)", "duplicate-name", "T"),
    ("for T in q: pass", "assigned-input", "T"),
    ("for x, x in q: pass", "duplicate-name", "for x, x in q"),
    ("exp = 1", "reserved-name", "exp"),
    ("min ~ Lap(1)", "reserved-name", "min"),
    ("out = 1", "reserved-name", "out"),
    ("alignment_cost = 1", "reserved-name", "alignment_cost"),
    ("eta ~ Lap(1)|eta[0] ~ Lap(1)", "noise-index", "eta[0] ~ Lap(1)"),
    ("emit t(a = 1)|emit t(b = 1)", "emit-fields", "emit t(b = 1)"),
    ("emit t(a = 1)|emit t", "emit-fields", "emit t"),
    ("emit t(a = 1, b = 2)|emit t(b = 1, a = 2)", "emit-fields", "emit t(b = 1, a = 2)"),
]

READING = [
    ("s = zz", "unknown-name", "zz"),
    ("s = T + epss", "unknown-name", "epss"),
    ("s = True", "unknown-name", "True"),
    ("for x in q:|  invariant zz' > 0|  pass", "unknown-name", "zz'"),
    ("s = q'[0]", "bad-prime", "q"),
    ("s = T'", "bad-prime", "T'"),
    ("s = out[0].gap", "bad-output", "out[0].gap"),
    ("s = len(out)", "bad-output", "len(out)"),
    ("s = out", "bad-output", "out"),
    ("s = alignment_cost", "bad-output", "alignment_cost"),
    ("s = log(T)", "unknown-function", "log"),
    ("s = sqrtt(T)", "unknown-function", "sqrtt"),
    ("s = above_threshold(q, eps/2)", "scope", "above_threshold"),
    ("s = min(T)", "bad-arguments", "min(T)"),
    ("s = abs(T, 1)", "bad-arguments", "abs(T, 1)"),
    ("s = argmax(q)", "bad-arguments", "argmax"),
    ("s = top(k, q)", "bad-arguments", "top"),
    ("eta ~ Lap(1)|s = eta[0]", "noise-index", "eta[0]"),
    ("xi[0] ~ Lap(1)|s = xi", "noise-index", "xi"),
    ("for x in T: pass", "not-a-list", "T"),
    ("for x in z: pass", "not-a-list", "z"),
    ("for x in nothing: pass", "unknown-name", "nothing"),
]


@pytest.mark.parametrize(("program", "code", "caret"), [*MEANINGS, *READING])
def test_names(program: str, code: str, caret: str) -> None:
    refuse(spec(program), code, caret)


@pytest.mark.parametrize(
    ("inputs", "code", "caret"),
    [
        ("  eps : real\n  eps : int\n", "duplicate-name", "eps"),
        ("  a, a : real\n", "duplicate-name", "a"),
        ("  eps : real\n  i : int\n", "reserved-name", "i"),
        ("  len : real\n", "reserved-name", "len"),
        ("  eps : real where esp > 0\n", "unknown-name", "esp"),
        ("  a : query, sensitivity 1\n  eps : real where a > 0\n", "not-public", "a"),
        ("  eps : real where eps' > 0\n", "bad-prime", "eps'"),
        ("  eps : real where i > 0\n", "unknown-name", "i"),
        ("  a : query, sensitivity a\n", "not-public", "a"),
        ("  a : query, sensitivity i\n", "unknown-name", "i"),
        ("  a : queries, sensitivity eta\n", "unknown-name", "eta"),
        ("  a : query, adjacency any, range [0, a]\n", "not-public", "a"),
        ("  a : query, sensitivity 1 where out is t\n", "bad-output", "out is t"),
    ],
)
def test_names_in_inputs(inputs: str, code: str, caret: str) -> None:
    refuse(spec(inputs=inputs), code, caret)


@pytest.mark.parametrize(
    ("privacy", "code", "caret"),
    [
        ("z", "not-public", "z"),
        ("q[0]", "not-public", "q"),
        ("eta", "not-public", "eta"),
        ("delta", "scope", "delta"),
        ("eps + δ", "scope", "δ"),
        ("eps * out.count(t) / k", "scope", "out.count(t)"),
        ("eps * len(out)", "scope", "len(out)"),
        ("flag", "mismatched-sorts", "flag"),
    ],
)
def test_names_in_the_claim(privacy: str, code: str, caret: str) -> None:
    refuse(spec("eta ~ Lap(1)|emit t", privacy=privacy), code, caret)


def test_what_inputs_may_mention() -> None:
    accept(
        spec(
            inputs="""\
  a, c : queries, sensitivity b[i]*eps + len(b), lattice b[i], range [-T, T] where len(a) == len(c)
  b : vector where b[i] > 0 and len(b) >= 1
  d : query, adjacency any, range [0, T] where d >= 0
  T : real where T > eps
  eps : real where 0 < eps < 1
"""
        )
    )


def test_near_names_and_places() -> None:
    error = refuse(spec("threshold = T|s = treshold + 1"), "unknown-name", "treshold")
    assert error.diagnostic.help == "did you mean `threshold`?"
    error = refuse(spec("s = ε₁", inputs="  epsilon : real\n", privacy="1"), "unknown-name", "ε₁")
    assert error.diagnostic.message == "unknown name `ε₁` (that is, `eps1`)"
    error = refuse(spec("s = ε", inputs="  epsilon : real\n", privacy="1"), "unknown-name", "ε")
    assert error.diagnostic.help == "did you mean `epsilon`?"
    error = refuse(spec("s = log(T)"), "unknown-function", "log")
    assert error.diagnostic.help is not None
    assert "`ln`" in error.diagnostic.help
    error = refuse(spec("eta ~ Lap(1)|eta = 2"), "assigned-noise", "eta")
    assert [error.source.text_of(label.span) for label in error.diagnostic.related] == ["eta ~ Lap(1)"]
    error = refuse(spec("eta ~ Lap(1)|s = 0|emit t", "eta += s"), "maybe-unassigned", "s")
    assert [error.source.text_of(label.span) for label in error.diagnostic.related] == [
        "s = 0",
        "eta ~ Lap(1)",
    ]
    error = refuse(spec("k = 2"), "assigned-input", "k")
    assert [error.source.text_of(label.span) for label in error.diagnostic.related] == [
        "k : int where k >= 1"
    ]


# --- values on every path -----------------------------------------------------------------------------------

UNASSIGNED = [
    ("s = t|t = 1", "maybe-unassigned", "t"),
    ("s = s + 1", "maybe-unassigned", "s"),
    ("if flag: s = 1|emit t(s)", "maybe-unassigned", "s"),
    ("if flag: s = 1|elif T > 0: pass|else: s = 2|emit t(s)", "maybe-unassigned", "s"),
    ("for x in q: s = x|emit t(s)", "maybe-unassigned", "s"),
    ("for x in q: pass|emit t(x)", "maybe-unassigned", "x"),
    ("for i in range(k): pass|emit t(i)", "maybe-unassigned", "i"),
    ("while T > 0: s = 1|emit t(s)", "maybe-unassigned", "s"),
    ("while true:|  if flag: break|  s = 1|emit t(s)", "maybe-unassigned", "s"),
    ("emit t(eta)|eta ~ Lap(1)", "maybe-unassigned", "eta"),
    ("if flag: eta ~ Lap(1)|emit t(eta)", "maybe-unassigned", "eta"),
    ("emit t(xi[0])|xi[0] ~ Lap(1)", "maybe-unassigned", "xi[0]"),
    ("for i, x in q:|  if flag: xi[i] ~ Lap(1)|  emit t(x + xi[i])", "maybe-unassigned", "xi[i]"),
    ("for i, x in q:|  emit t(x + xi[i])|  xi[i] ~ Lap(1)", "maybe-unassigned", "xi[i]"),
    ("for x in q:|  invariant s > 0|  s = 1", "maybe-unassigned", "s"),
    ("for x in q:|  invariant x > 0", "maybe-unassigned", "x"),
    ("break", "misplaced-break", "break"),
    ("if flag: break", "misplaced-break", "break"),
    ("for x in q:|  break|  emit t", "unreachable", "emit t"),
    ("for x in q:|  if flag: break|  else: break|  emit t", "unreachable", "emit t"),
    ("for i, x in q: i = 1", "assigned-loop-variable", "i"),
    ("for i, x in q: x = 1", "assigned-loop-variable", "x"),
    ("for i, x in q:|  for i in range(k): pass", "assigned-loop-variable", "i"),
]


@pytest.mark.parametrize(("program", "code", "caret"), UNASSIGNED)
def test_values_on_every_path(program: str, code: str, caret: str) -> None:
    refuse(spec(program), code, caret)


ASSIGNED = [
    "if flag: s = 1|else: s = 2|emit t(s)",
    "for x in q:|  if flag:|    s = 1|  else: break|  emit t(s)",
    "while true:|  s = 1|  if s > T: break|  emit u|emit t(s)",
    "s = 0|for i, x in q:|  invariant s' - s <= i|  invariant alignment_cost <= s|  s = s + x",
    "for i, x in q:|  xi[i] ~ Lap(1)|  emit t(x + xi[i])",
    "for i, x in q: xi[i] ~ Lap(1)|for i, x in q: emit t(x + xi[i])",
    "for i, x in q:|  xi[i] ~ Lap(1)|  if i > 0: emit t(xi[i - 1])",
    "j = 0|while j < k:|  xi[j] ~ Lap(1)|  emit t(xi[j])|  j = j + 1",
    "for i in range(k): pass|for i in range(k): pass",
    "eta ~ Lap(1)|for i, x in q:|  if x > eta:|    emit t|    eta ~ Lap(1)",
    "for i, keep in ok:|  if keep: emit t(b[i])",
]


@pytest.mark.parametrize("program", ASSIGNED)
def test_programs_that_are_sound(program: str) -> None:
    accept(spec(program))


# --- the alignment ------------------------------------------------------------------------------------------

ALIGNMENT = [
    ("etaa += 1", "unknown-noise", "etaa"),
    ("s += 1", "unknown-noise", "s"),
    ("T += 1", "unknown-noise", "T"),
    ("eta[i] += 1", "noise-index", "eta"),
    ("xi += 1", "noise-index", "xi"),
    ("eta += zz", "unknown-name", "zz"),
    ("eta += i", "maybe-unassigned", "i"),
    ("eta += s", "maybe-unassigned", "s"),
    ("xi[i] += late", "maybe-unassigned", "late"),
    ("eta += T'", "bad-prime", "T'"),
    ("xi[i] += i'", "bad-prime", "i'"),
    ("xi[i] += 1 when out[i] is tip", "unknown-tag", "out[i] is tip"),
    ("xi[i] += 1 when out.count(tip) > 1", "unknown-tag", "out.count(tip)"),
    ("xi[i] += 1 when out[i].gp > 0", "unknown-field", "out[i].gp"),
    ("xi[i] += 1 when out[i] > 0", "bad-output", "out"),
    ("xi[i] += 1 when top", "unknown-name", "top"),
    ("xi[i + k] += 1", "not-public", "i"),
    ("eta += len(q')", "bad-prime", "q'"),
    ("xi[len] += 1", "reserved-name", "len"),
    ("xi[s] += s'|xi[T] += 1", "bad-prime", "s'"),
    ("xi[T] += 1", "mismatched-sorts", "T"),
    ("xi[z] += 1", "not-public", "z"),
    ("case late > 0: xi[i] += 1", "maybe-unassigned", "late"),
    ("case s > 0: xi[i] += 1|otherwise: eta += 1", "maybe-unassigned", "s"),
    ("case s > 0: xi[i] += 1|case flag: eta += 1", "maybe-unassigned", "s"),
    ("case flag: eta += 1|case s > 0: xi[i] += 1", "maybe-unassigned", "s"),
    ("case q: eta += 1", "list-as-value", "q"),
    ("case q < q': eta += 1", "list-as-value", "q < q'"),
    ("case q <= r': eta += 1", "list-as-value", "q <= r'"),
    ("case q <= q: eta += 1", "list-as-value", "q <= q"),
    ("case z: eta += 1", "mismatched-sorts", "z"),
    ("eta += 1 when 1", "mismatched-sorts", "1"),
    ("eta += flag", "mismatched-sorts", "flag"),
    ("eta += 1 when alignment_cost > 1", "bad-output", "alignment_cost"),
]

MOVED = (
    "eta ~ Lap(1)|s = 0|for i, x in q:|  xi[i] ~ Lap(1)|  late = x + xi[i]|"
    "  if late > eta: emit top(gap = late)|  else: emit below|  s = s + x"
)


@pytest.mark.parametrize(("align", "code", "caret"), ALIGNMENT)
def test_alignments(align: str, code: str, caret: str) -> None:
    refuse(spec(MOVED, align), code, caret)


@pytest.mark.parametrize(
    "align",
    [
        "eta += 1|xi[i] += 1 + q[i] - q'[i] when out[i] is top",
        "xi[i] += s - s' + x - x'",
        "xi[j] += q[j] when j > 0 and out[j].gap > 0",
        "xi[0] += 1|xi[k] += 1|xi[k + 1] += 1|xi[len(q)] += 1",
        "case q <= q': eta += 1|case q >= q': xi[i] += 1|otherwise: pass",
        "case s > s': xi[i] += 1",
        "case flag: eta += 1|otherwise: pass|case s > 0: xi[i] += 1",
        "case i > 0: xi[i] += 1",
        "eta = xi[0]|xi[i] -= eta + xi[i]",
        "eta += 1 when out is top and len(out) > 1 and out.count(below) == 0",
        "eta += len(q) - z + z'",
    ],
)
def test_alignments_that_make_sense(align: str) -> None:
    accept(spec(MOVED, align))


# --- sorts --------------------------------------------------------------------------------------------------

SORTS = [
    ("if T + 1: pass", "mismatched-sorts", "T + 1"),
    ("while k: pass", "mismatched-sorts", "k"),
    ("s = not 3", "mismatched-sorts", "3"),
    ("s = flag and k", "mismatched-sorts", "k"),
    ("s = flag + 1", "mismatched-sorts", "flag"),
    ("s = -flag", "mismatched-sorts", "flag"),
    ("s = flag == 1", "mismatched-sorts", "1"),
    ("s = 1 < flag", "mismatched-sorts", "flag"),
    ("s = flag < ok[0]", "mismatched-sorts", "flag < ok[0]"),
    ("s = max(1, flag)", "mismatched-sorts", "flag"),
    ("s = 1 if T else 2", "mismatched-sorts", "T"),
    ("s = 1 if flag else flag", "mismatched-sorts", "flag"),
    ("s = 1|s = flag", "mismatched-sorts", "s = flag"),
    ("s = q", "list-as-value", "q"),
    ("s = q + 1", "list-as-value", "q"),
    ("emit t(b)", "list-as-value", "b"),
    ("emit t(ok)", "list-as-value", "ok"),
    ("s = q <= r", "list-as-value", "q"),
    ("s = T[0]", "not-a-list", "T[0]"),
    ("s = z[0]", "not-a-list", "z[0]"),
    ("s = 1|t = s[0]", "not-a-list", "s[0]"),
    ("s = len(T)", "not-a-list", "T"),
    ("s = len(q[0])", "not-a-list", "q[0]"),
    ("s = q[T]", "mismatched-sorts", "T"),
    ("s = q[k/2]", "mismatched-sorts", "k/2"),
    ("s = q[flag]", "mismatched-sorts", "flag"),
    ("for i in range(T): pass", "mismatched-sorts", "T"),
    ("for i in range(0.5, k): pass", "mismatched-sorts", "0.5"),
    ("xi[T] ~ Lap(1)", "mismatched-sorts", "T"),
    ("j = 0|j = j/2|s = q[j]", "mismatched-sorts", "j"),
    ("eta ~ Lap(flag)", "mismatched-sorts", "flag"),
    ("for x in q:|  invariant T", "mismatched-sorts", "T"),
]


@pytest.mark.parametrize(("program", "code", "caret"), SORTS)
def test_sorts(program: str, code: str, caret: str) -> None:
    refuse(spec(program), code, caret)


@pytest.mark.parametrize(
    ("inputs", "code", "caret"),
    [
        ("  eps : real where eps\n", "mismatched-sorts", "eps"),
        ("  a : query, sensitivity true\n", "mismatched-sorts", "true"),
        ("  a : int query, sensitivity 1, lattice 1/2\n", "mismatched-sorts", "1/2"),
        ("  a : queries, sensitivity b\n  b : vector\n", "list-as-value", "b"),
        ("  a : bool vector where a[i] > 0\n", "mismatched-sorts", "0"),
        ("  a : queries, sensitivity 1 where a <= 1\n", "list-as-value", "a"),
    ],
)
def test_sorts_of_inputs(inputs: str, code: str, caret: str) -> None:
    refuse(spec(inputs=inputs, privacy="1"), code, caret)


@pytest.mark.parametrize(
    ("value", "sort"),
    [
        ("1", Sort.INT),
        ("1.5", Sort.REAL),
        ("k + 1 - 2*k % 3", Sort.INT),
        ("k/2", Sort.REAL),
        ("floor(k/2)", Sort.INT),
        ("len(q)", Sort.INT),
        ("max(k, 2)", Sort.INT),
        ("max(k, T)", Sort.REAL),
        ("k**2", Sort.INT),
        ("z", Sort.INT),
        ("q[0]", Sort.REAL),
        ("ok[0]", Sort.BOOL),
        ("k > 1", Sort.BOOL),
        ("1 if flag else k", Sort.INT),
        ("1 if flag else T", Sort.REAL),
        ("geo", Sort.INT),
        ("lap", Sort.REAL),
        ("whole", Sort.INT),
        ("halves", Sort.REAL),
        ("sqrt(4)", Sort.REAL),
        ("-k", Sort.INT),
        ("not flag", Sort.BOOL),
    ],
)
def test_inferred_sorts(value: str, sort: Sort) -> None:
    draws = "geo ~ Geo(1/2)|lap ~ Lap(1)|whole ~ DLap(1)|halves ~ DLap(1, 1/2)|"
    source = Source("m.dp", spec(f"{draws}s = {value}|t = s|emit r(t)"))
    mechanism = check(source, parse(source))
    sorts = sorts_of(mechanism, symbols_of(source, mechanism))
    assert sorts.names["s"] is sorts.names["t"] is sorts.fields["value"] is sort


def test_a_variable_has_the_widest_of_its_sorts() -> None:
    source = Source("m.dp", spec("s = 0|for i, x in q:|  t = s|  s = s + x"))
    mechanism = check(source, parse(source))
    sorts = sorts_of(mechanism, symbols_of(source, mechanism))
    assert sorts.names == {**sorts.names, "s": Sort.REAL, "t": Sort.REAL, "i": Sort.INT, "x": Sort.REAL}


# --- scope --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "caret"),
    [
        ("eta ~ Lap(1)|while T + eta < 0: eta ~ Lap(1)|emit t(eta)", "while T + eta < 0"),
        ("j = 0|bad = true|while bad:|  xi[j] ~ Lap(1)|  bad = xi[j] < 0|  j = j + 1|emit t", "while bad"),
        ("bad = true|while bad:|  eta ~ Lap(1)|  if eta > 0: bad = false|emit t", "while bad"),
        ("bad = true|while bad:|  eta ~ Lap(1)|  y = T + eta|  w = y > 0|  bad = not w|emit t", "while bad"),
        ("while true:|  eta ~ Lap(1)|  if eta > 0: break|emit t(eta)", "while true"),
        ("for x in q:|  eta ~ Lap(1)|  while eta < 0: eta ~ Lap(1)|  emit t(eta)", "while eta < 0"),
    ],
)
def test_redraws_are_refused(program: str, caret: str) -> None:
    error = refuse(spec(program), "scope", caret)
    assert error.diagnostic.notes
    assert error.diagnostic.help


@pytest.mark.parametrize(
    "program",
    [
        # Every round is seen in the output.
        "found = false|j = 0|while not found:|  xi[j] ~ Lap(1)|  found = xi[j] > T|  emit t|  j = j + 1",
        # Bounded by the length of the input, whatever the noise.
        "j = 0|found = false|while j < len(q) and not found:|  y[j] ~ Lap(1)|  found = y[j] > T|  j = j + 1",
        # The noise is drawn before the loop.
        "eta ~ Lap(1)|s = eta|while s < T: s = s + 1|emit t",
        # The noise that is drawn inside has no say.
        "j = 0|while j < k:|  xi[j] ~ Lap(1)|  j = j + 1|emit t",
        "for x in q:|  eta ~ Lap(1)|  if eta > T: break|emit t",
    ],
)
def test_other_loops_are_not_refused(program: str) -> None:
    accept(spec(program))


# --- the corpus ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_specs_pass_unless_they_expect_an_error(path: Path) -> None:
    source = Source(str(path), path.read_text("utf-8"))
    mechanism = parse(source)
    expect = mechanism.expect
    # Contradictory ranges take a solver to find.
    if expect is None or expect.verdict != "error" or expect.at == "contradictory-where":
        assert check(source, mechanism) == mechanism
        return
    with pytest.raises(SpecError) as caught:
        check(source, mechanism)
    assert caught.value.diagnostic.code == expect.at

"""Mistakes that the front end knows by name, but for those of `data/mistakes.toml`: the code of each, and
what the caret stands under.
"""

from __future__ import annotations

import pytest

from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse

SPEC = """\
mechanism m
input
  q : queries, sensitivity 1
  eps : real where eps > 0
privacy eps
program
  eta ~ Lap(1/eps)
  s = 0
  for i, x in q:
    xi[i] ~ Lap(1/eps)
    if x + xi[i] > s:
      emit top(gap = x + xi[i])
    else:
      emit below
    s = s + 1
align
  eta += 1
  xi[i] += 1 when out[i] is top
expect verified
"""


def mistake(old: str, new: str) -> SpecError:
    """What is said of the spec above after one change."""
    assert old in SPEC
    with pytest.raises(SpecError) as caught:
        parse(Source("m.dp", SPEC.replace(old, new, 1)))
    return caught.value


def assert_caret(error: SpecError, code: str, caret: str) -> None:
    diagnostic = error.diagnostic
    assert diagnostic.code == code, diagnostic.message
    assert error.source.text_of(diagnostic.primary.span) == caret, diagnostic.message


SECTIONS = [
    ("align\n", "program\n", "duplicate-section", "program"),
    ("input\n  q : queries, sensitivity 1\n", "privacy 1\ninput\n", "section-order", "input"),
    ("mechanism m\n", 'mechanism m\n  "no end\n', "unclosed-string", '"'),
    ("expect verified", "expect verified at cost", "bad-expect", "verified at cost"),
    ("expect verified", "expect unknown at costs", "bad-expect", "unknown at costs"),
    ("expect verified", "expect error at No Code", "bad-expect", "error at No Code"),
    ("expect verified", "expect", "bad-expect", "\n"),
]

LAYOUT = [
    ("    s = s + 1", " s = s + 1", "inconsistent-indentation", " "),
    ("mechanism m", "  mechanism m", "unexpected-indent", "  "),
    ("    else:\n", "  else:\n", "misplaced-else", "else"),
    ("    else:\n", "    otherwise:\n", "misplaced-else", "otherwise"),
    ("else:\n      emit below", "else: if s > 1: emit below", "nested-block", "if"),
    ("s = s + 1", "s = s + 1)", "unmatched-bracket", ")"),
    ("s = s + 1", "s = (s + 1]", "unmatched-bracket", "]"),
]

LEXEMES = [
    ("s = 0", "s = a != !b", "unexpected-character", "!"),
    ("s = 0", "s = 1 ≈ 2", "unexpected-character", "≈"),
    ("s = 0", "s = ж", "unexpected-character", "ж"),
    ("s = 0", "s =\u00a00", "unexpected-character", "\u00a0"),
    ("s = 0", "s = 0\u200b", "unexpected-character", "\u200b"),
    ("s = 0", "s = 0 \\", "unexpected-character", "\\"),
    ("s = 0", "s = 1_000", "bad-number", "1_000"),
    ("s = 0", "s = 1e", "bad-number", "1e"),
]

INPUTS = [
    ("queries, sens", "queeries, sens", "unknown-sort", "queeries"),
    ("queries, sens", "bool query, sens", "bad-sort", "bool query"),
    ("sensitivity 1", "sensitivity 1, sensitivity 2", "duplicate-attribute", "sensitivity 2"),
    ("sensitivity 1", "sensitivity 1, adjacency al", "unknown-adjacency", "al"),
    ("sensitivity 1", "adjacency any, range [0, 1], sensitivity 1", "unexpected-attribute", "sensitivity 1"),
    ("sensitivity 1", "sensitivity 1, same index q", "incomplete", "q"),
    ("sensitivity 1", "sensitivity 1, same place as q", "unknown-attribute", "place"),
    ("eps : real where eps > 0", "eps :", "missing-sort", "eps"),
]

STATEMENTS = [
    ("s = s + 1", "s = t = 1", "unexpected-equals", "="),
    ("s = s + 1", "s = max(a = 1)", "unexpected-equals", "="),
    ("s = 0", "s = repeat m(q = q)", "bad-repeat", "s = repeat m(q = q)"),
    ("s = 0", "s = repeat m(q = q) until s.v > 1", "bad-repeat", "until s.v > 1"),
    (
        "s = 0",
        "s = m(q = q) until s.v > 1 stop with probability 1",
        "bad-repeat",
        "s = m(q = q) until s.v > 1 stop with probability 1",
    ),
    ("s = 0", "s = repeat m(q = q) until s.v > 1 stop with 1/2", "bad-repeat", "1"),
    ("s = s + 1", "let s = 1", "unknown-statement", "let"),
    ("s = s + 1", "s = 1 when s", "unknown-statement", "when"),
    ("s = s + 1", "in = 3", "keyword-as-name", "in"),
    ("s = s + 1", "s", "no-statement", "s"),
    ("s = s + 1", "5 = 3", "syntax", "5"),
    ("s = s + 1", "s = 1;;", "syntax", ";"),
    ("s = s + 1", "emit", "syntax", "\n"),
    ("s = s + 1", "emit max(0, s)", "missing-tag", "max"),
    ("s = s + 1", "emit abs(s)", "missing-tag", "abs"),
    ("s = s + 1", "emit argmax(q[j] for j in q)", "missing-tag", "argmax"),
    ("s = s + 1", 's = "a"', "unexpected-string", '"a"'),
    ("for i, x in q:", "for i, x, y in q:", "bad-loop", ","),
    ("Lap(1/eps)", "Lap()", "bad-arguments", "Lap"),
    ("Lap(1/eps)", "DLap(1, scale = 2)", "bad-arguments", "scale = 2"),
]

EXPRESSIONS = [
    ("s = s + 1", "s = * 1", "incomplete", "*"),
    ("s = s + 1", "s = max(1,)*()", "incomplete", ")"),
    ("s = s + 1", "s = 2 s", "missing-operator", "s"),
    ("s = s + 1", "s = s s", "missing-operator", "s"),
    ("out[i] is top", "out.number(top) > 1", "bad-output", "out.number(top)"),
]

SETS = [
    ("s = 0", "s = max(q[j] for j)", "bad-set", ")"),
    ("s = 0", "s = max(q[j] for in q)", "bad-set", "in"),
    ("s = 0", "s = max(q[j] for j of q)", "bad-set", "of"),
    ("s = 0", "s = max(q[j] for j in 3)", "bad-set", "3"),
    ("s = 0", "s = max(q[j] for j in q')", "bad-set", "'"),
    ("s = 0", "s = max(q[j] for j in q, 1)", "bad-set", ","),
    ("s = 0", "s = max(q[j] for j in q for l in q)", "bad-set", "for"),
    ("s = 0", "s = max(q[j] where j > 0 for j in q)", "bad-set", "where"),
    ("s = 0", "s = max(q[j] for j in q where max(q[l] for l in q if l > 0) > 0)", "bad-set", "if"),
    ("s = 0", "s = q[j] for j in q", "bad-set", "for"),
    ("s = 0", "s = max((q[j] for j in q))", "bad-set", "for"),
    ("s = 0", "s = max(q[j] for j, x in range(3))", "bad-set", "x"),
    ("s = 0", "s = max(q[j] for j, j in q)", "duplicate-name", "j"),
    ("sensitivity 1", "sensitivity max(1 for j in b if j > 0)", "bad-set", "if"),
    ("s = 0", "s = max(q[j] for j in q where)", "incomplete", ")"),
    ("privacy eps", "privacy eps * out.count / k at most eps", "syntax", "/"),
    ("s = 0", "s = top(1, 2, q[j] for j in q)", "bad-arguments", "q[j]"),
    ("s = 0", "s = max(1, q[j] for j in q)", "bad-arguments", "1"),
    ("s = 0", "s = abs(q[j] for j in q)", "bad-arguments", "abs"),
    ("s = 0", "s = topk(1, q[j] for j in q)", "unknown-function", "topk"),
    ("x + xi[i] > s", "i not s", "missing-operator", "not"),
    ("x + xi[i] > s", "i in s + 1", "not-a-selection", "s + 1"),
    ("x + xi[i] > s", "i in top(1, q[j] for j in q)", "not-a-selection", "top(1, q[j] for j in q)"),
    ("out[i] is top", "i in s'", "bad-prime", "s'"),
]

SCOPE = [
    ("eta ~ Lap(1/eps)", "eta ~ N(0, 1)", "N"),
    ("eta ~ Lap(1/eps)", "eta ~ Normal(0, 1)", "Normal"),
    ("eta ~ Lap(1/eps)", "eta ~ Binomial(4, 1/2)", "Binomial"),
    ("eta ~ Lap(1/eps)", "eta ~ Poisson(1)", "Poisson"),
    ("eta ~ Lap(1/eps)", "eta ~ Student(1)", "Student"),
    ("eta ~ Lap(1/eps)", "a, b ~ Lap(1)", "a, b"),
    ("eta ~ Lap(1/eps)", "(a, b) ~ Lap(1)", "(a, b)"),
    ("s = 0", "assume s > 0", "assume"),
    ("s = 0", "repeat m(q = q)", "repeat"),
    ("s = 0", "trust s > 0", "trust"),
    ("s = 0", "fun next(x) : real", "fun"),
    ("  eta += 1", "  assume q[0] > 1\n  eta += 1", "assume"),
    ("program\n", "assume eps > 1\nprogram\n", "assume"),
]

ALL = [*SECTIONS, *LAYOUT, *LEXEMES, *INPUTS, *STATEMENTS, *EXPRESSIONS, *SETS]


@pytest.mark.parametrize(
    ("old", "new", "code", "caret"), ALL, ids=[f"{case[2]}: {case[1]!r}" for case in ALL]
)
def test_mistakes(old: str, new: str, code: str, caret: str) -> None:
    assert_caret(mistake(old, new), code, caret)


@pytest.mark.parametrize(("old", "new", "caret"), SCOPE, ids=[case[1] for case in SCOPE])
def test_what_is_refused_by_name(old: str, new: str, caret: str) -> None:
    error = mistake(old, new)
    assert_caret(error, "scope", caret)
    assert error.diagnostic.notes, "a refusal gives its reason"
    assert error.diagnostic.help


def test_the_spec_is_sound_without_a_mistake() -> None:
    parse(Source("m.dp", SPEC))


def test_messages_follow_the_house_style() -> None:
    """Lower case where no code begins it, no final stop; help where there is something to say."""
    for old, new, *_ in [*ALL, *SCOPE]:
        diagnostic = mistake(old, new).diagnostic
        assert diagnostic.message[0].islower() or diagnostic.message[0] == "`", diagnostic.message
        assert not diagnostic.message.endswith("."), diagnostic.message
        assert diagnostic.help is None or not diagnostic.help.endswith("."), diagnostic.help


def test_the_first_fault_is_reported() -> None:
    """A fault of the layout further down does not hide one further up."""
    text = SPEC.replace("s = 0", "s += 0").replace("s = s + 1", "s = ((s")
    with pytest.raises(SpecError) as caught:
        parse(Source("m.dp", text))
    assert caught.value.diagnostic.code == "augmented-assignment"


@pytest.mark.parametrize(
    ("new", "hint"),
    [
        ("eta ~ Lapp(1)", "did you mean `Lap` or `DLap`?"),
        ("eta ~ geo(1)", "did you mean `Geo` or `Geometric`?"),
        ("eta ~ Lap(1); y = arg_max(q[j] for j in q)", "did you mean `argmax`?"),
    ],
)
def test_near_names(new: str, hint: str) -> None:
    assert mistake("eta ~ Lap(1/eps)", new).diagnostic.help == hint


def test_related_places() -> None:
    error = mistake("s = s + 1", "s = (s + 1]")
    (opened,) = error.diagnostic.related
    assert error.source.text_of(opened.span) == "("
    error = mistake("    s = s + 1", "\ts = s + 1")
    (first,) = error.diagnostic.related
    assert error.source.position(first.span.start) == (3, 1)


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ("eta = random.gauss(0, 1)", "`eta ~ Gauss(sigma)`"),
        ("eta = numpy.random.normal(0, 1)", "zcdp"),
        ("eta = random.random()", "`eta ~ Uniform(1)`"),
        ("eta = np.random.exponential(1/eps)", "`eta ~ Exp(scale)`"),
        ("eta = math.log(eps)", "`ln(x)`"),
        ("eta = scipy.stats.laplace.rvs(scale=1)", "`eta ~ Lap(scale)`"),
        ("eta = scipy.stats.norm.rvs()", "`eta ~ Gauss(sigma)`"),
        ("eta = torch.nothing_known(1)", "noise is drawn by `eta ~ Lap(scale)`"),
        ("eta[i, j] ~ Lap(1)", "`xi[n] ~ …` and `n = n + 1`"),
        ("eta, xi[i] ~ Lap(1)", "draw each variable on its own"),
    ],
)
def test_what_other_languages_have_is_named_as_it_is_written_here(new: str, told: str) -> None:
    assert told in (mistake("eta ~ Lap(1/eps)", new).diagnostic.help or "")


@pytest.mark.parametrize(("field", "advice"), [("s", "write `s = s`"), ("s + 1", "write `name = value`")])
def test_a_field_without_a_name_gets_the_one_of_its_variable(field: str, advice: str) -> None:
    assert mistake("emit below", f"emit below({field}, 2)").diagnostic.help == advice

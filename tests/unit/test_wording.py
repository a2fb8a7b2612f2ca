"""What errors advise: names that were meant, and texts that are specs, and compute what was meant."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction

import pytest
from small_specs import spec

from aligncheck.language.diagnostics import SpecError
from aligncheck.language.families import SPELLINGS, Family
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.sections import REQUIRED
from aligncheck.language.syntax.wording.faults import closest, nearest
from aligncheck.language.syntax.wording.idioms import IDIOMS, METHODS, WORDS, draw_of, idiom_of
from aligncheck.language.syntax.wording.mistakes import HEADS, ORDER
from aligncheck.meaning.exact import decimal
from aligncheck.meaning.interpreter import Finished, Input, run

# --- names --------------------------------------------------------------------------------------------------

KNOWN = ("eps", "epsilon", "noisy_max", "noisy_min", "q", "T")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("noisy_mx", "`noisy_max` or `noisy_min`"),
        ("Noisy_Max", "`noisy_max` or `noisy_min`"),
        ("noi", "`noisy_min` or `noisy_max`"),
        ("epsi", "`eps` or `epsilon`"),
        ("eps1", "`eps`"),
        ("t", "`T`"),
        ("z", None),
        ("q", None),  # it is that name
        ("something", None),
    ],
)
def test_a_name_is_taken_for_those_that_are_spelt_like_it(name: str, meant: str | None) -> None:
    assert nearest(name, KNOWN) == (None if meant is None else f"did you mean {meant}?")


def test_outside_of_specs_one_name_is_enough() -> None:
    assert closest("verifi", ("verify", "refute")) == "did you mean `verify`?"
    assert closest("x", ("verify", "refute")) == ""


# --- what is written for functions of other languages -------------------------------------------------------

FUNCTIONS: dict[str, Callable[[float, float], float]] = {
    "log": lambda x, y: math.log(x),
    "log10": lambda x, y: math.log10(x),
    "log1p": lambda x, y: math.log1p(x),
    "expm1": lambda x, y: math.expm1(x),
    "pow": lambda x, y: x**2,
    "round": lambda x, y: math.floor(x + 0.5),
    "ceil": lambda x, y: math.ceil(x),
    "int": lambda x, y: math.floor(x),
    "root": lambda x, y: x ** (1 / 3),
    "fabs": lambda x, y: math.fabs(x),
    "maximum": lambda x, y: max(x, y),
    "minimum": lambda x, y: min(x, y),
    "clamp": lambda x, y: min(max(x, 1), 2),
    "mod": lambda x, y: math.fmod(x, y),
    "size": lambda x, y: 3,
    "mean": lambda x, y: 4,
}
INPUTS = "q : queries, sensitivity 1\nx : real\ny : real"


def value_of(text: str, x: Fraction, y: Fraction) -> float:
    """What an expression computes."""
    names = "low = 1\nhigh = 2\na = x\nb = y\n"
    mechanism = parse(spec(f"{names}emit done({text})", "", INPUTS))
    inputs: dict[str, Input] = {"q": (Fraction(1), Fraction(9), Fraction(2)), "x": x, "y": y}
    done = run(mechanism, {}, inputs, lambda site: Fraction(0))
    assert done.ended == Finished()
    number = dict(done.output[0].fields)["value"]
    assert not isinstance(number, bool)
    return float(decimal(number, 12))


def written(advice: str) -> list[str]:
    """The texts in an advice."""
    return re.findall("`([^`]*)`", advice)


@pytest.mark.parametrize("word", FUNCTIONS)
def test_what_is_advised_computes_what_the_function_does(word: str) -> None:
    text = written(IDIOMS[word])[0]
    for x, y in ((Fraction(7, 2), Fraction(2)), (Fraction(1, 3), Fraction(5, 4))):
        assert value_of(text, x, y) == pytest.approx(FUNCTIONS[word](float(x), float(y)))


@pytest.mark.parametrize(
    ("word", "of", "drawn"),
    [
        ("laplace", "", Family.LAPLACE),
        ("exponential", "", Family.EXPONENTIAL),
        ("gumbel", "", Family.GUMBEL),
        ("standard_cauchy", "", Family.CAUCHY),
        ("random", "", Family.UNIFORM),
        ("normal", "", Family.GAUSSIAN),
        ("rvs", "norm", Family.GAUSSIAN),
        ("rvs", "expon", Family.EXPONENTIAL),
        ("rvs", "gumbel_r", Family.GUMBEL),
        ("binomial", "", Family.BERNOULLI),
        ("geometric", "", Family.GEOMETRIC),
    ],
)
def test_noise_of_a_library_is_drawn_by_a_line_that_is_one(word: str, of: str, drawn: Family) -> None:
    line = next(each for each in written(idiom_of(word, of)) if "~" in each)
    (stmt, _) = parse(
        spec(f"{line}\nemit done", "", "scale : real\nsigma : real\np : real\nq : query, sensitivity 1")
    ).body
    assert isinstance(stmt, n.Sample)
    assert stmt.family is drawn


def test_what_a_library_shares_with_the_language_keeps_its_name() -> None:
    assert written(idiom_of("sqrt")) == ["sqrt(…)"]
    assert "nothing is imported" in idiom_of("fft")


@pytest.mark.parametrize("family", sorted(SPELLINGS))
def test_a_draw_that_is_written_otherwise_is_taken_for_one(family: str) -> None:
    """In an expression, with `=`, and with its scale behind it."""
    assert written(draw_of(family))[0] == f"eta ~ {family}(…)"
    for line, advice in (
        (f"xi[k] = {family}(1)", f"xi[k] ~ {family}(1)"),
        (f"xi ~ {family} 1", f"{family}(…)"),
    ):
        with pytest.raises(SpecError) as caught:
            parse(spec(f"{line}\nemit done"))
        assert written(str(caught.value.diagnostic.help))[-1] == advice


@pytest.mark.parametrize(
    "text",
    [
        *(text for word in ("argmax", "min", "sum", "abs") for text in written(METHODS[word])),
        *(text for word in ("True", "False") for text in written(WORDS[word])),
        *written(IDIOMS["mean"]),
    ],
)
def test_methods_and_words_are_written_as_expressions(text: str) -> None:
    assert parse(spec(f"x = {text}\nemit done", "", "q : queries, sensitivity 1")).body


# --- sections ---------------------------------------------------------------------------------------------

LINES = {
    "mechanism": "mechanism m",
    "use": 'use c from "c.dp"',
    "fun": "fun f(real) : real",
    "input": "input\n  q : query, sensitivity 1",
    "privacy": "privacy 1",
    "program": "program\n  emit done",
    "align": "align",
    "expect": "expect verified",
}


def of_sections(words: str) -> str | None:
    """The code of the fault in a file with these sections, or None."""
    try:
        parse(Source("m.dp", "\n".join(LINES[word] for word in words.split()) + "\n"))
    except SpecError as error:
        return error.diagnostic.code
    return None


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (" ".join(written(ORDER)), None),
        ("mechanism fun use fun use privacy program align expect", None),
        ("mechanism mechanism privacy program", "duplicate-section"),
        ("mechanism privacy program align align", "duplicate-section"),
        ("mechanism privacy input program", "section-order"),
        ("mechanism input use privacy program", "section-order"),
        ("mechanism privacy program expect align", "section-order"),
    ],
)
def test_sections_stand_in_one_order(words: str, code: str | None) -> None:
    assert of_sections(words) == code


def test_what_must_be_there_is_enough() -> None:
    assert of_sections(" ".join(REQUIRED)) is None
    for word in REQUIRED:
        assert of_sections(" ".join(each for each in REQUIRED if each != word)) == "missing-section"


@pytest.mark.parametrize("head", sorted(HEADS))
def test_what_opens_a_program_elsewhere_is_known(head: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse(Source("m.dp", f"{head} above(q):\n  emit done\n"))
    assert caught.value.diagnostic.code == "missing-section"
    assert written(str(caught.value.diagnostic.help))[0] == "mechanism above"


@pytest.mark.parametrize(
    ("line", "code", "advice"),
    [
        ("progam", "unknown-section", "did you mean `program`?"),
        ("xyz", "missing-indent", "indent it"),
        ("x = 1", "missing-indent", "indent it"),
        ("progam = 1", "missing-indent", "indent it"),
        ("3", "missing-indent", "indent it"),
        ("assume x > 0", "scope", ""),
    ],
)
def test_a_line_that_opens_no_section(line: str, code: str, advice: str) -> None:
    """A misspelt one, or one that lost its indentation, or what is refused by name."""
    text = (
        LINES["mechanism"] + "\n" + LINES["input"] + f"\n{line}\n" + LINES["privacy"] + "\nprogram\n  pass\n"
    )
    with pytest.raises(SpecError) as caught:
        parse(Source("m.dp", text))
    assert caught.value.diagnostic.code == code
    assert advice in str(caught.value.diagnostic.help)

"""Pieces of reports: marked source lines, the pages on conditions, violations, and what a proof is about."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from io import StringIO
from itertools import chain
from textwrap import dedent, indent
from typing import Any

import pytest
from rich.console import Console
from small_specs import mechanism, spec

from aligncheck.compiler.forms import form_of
from aligncheck.compiler.modes import RunMode
from aligncheck.language.conditions import Condition
from aligncheck.language.diagnostics import Diagnostic, Label, SpecError
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning import exact
from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation.enclosure import Ball
from aligncheck.refutation.events import CompleteOutput, RecordPattern
from aligncheck.refutation.findings import Outcome, Refutation, Unfinished
from aligncheck.refutation.violation import (
    ClosedForms,
    Ended,
    Grown,
    LossKind,
    NoViolation,
    Searched,
    StrongestSeen,
    Violation,
)
from aligncheck.report.frame import Frame, frame_lines
from aligncheck.report.lines import Canvas, Lines
from aligncheck.report.pages import PAGES, explain_condition, list_of_conditions
from aligncheck.report.refutation import (
    interval_text,
    refutation_document,
    render_refutation,
    violation_facts,
)
from aligncheck.report.statement import statement, trusted
from aligncheck.trusted import CHECKED_BY, RUN_BY, lines_of

F = Fraction


# --- marked source lines ------------------------------------------------------------------------------------

SOURCE = Source("a.dp", "\n".join(["first = 1", "second = first + other", *["x"] * 8, "last = second"]))


def framed(*labels: tuple[int, str, str], remarks: tuple[tuple[str, str], ...] = (), width: int = 60) -> str:
    """A frame whose first label is what it is about: a line, the words on it, what is said of them."""
    starts = [sum(map(len, SOURCE.lines[: line - 1])) + line - 1 for line, _, _ in labels]
    places = [
        Label(Span(at, at + len(words)), text)
        for (line, words, text), start in zip(labels, starts, strict=True)
        for at in [start + SOURCE.line(line).index(words)]
    ]
    primary = places[0] if places else None
    frame = Frame("error", "code", "it is so", "red", primary, tuple(places[1:]), remarks)
    console = Console(file=StringIO(), width=width)
    console.print(Lines(lambda canvas: frame_lines(Canvas(canvas.console, width), SOURCE, frame)))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_lines_stand_in_their_order_and_what_is_left_out_between_is_marked() -> None:
    labels = [(11, "second", "no number"), (2, "second", "from here"), (1, "first", "")]
    assert framed(*labels, remarks=(("then", "nothing"),)) == dedent(
        """\
        error[code]: it is so
          --> a.dp:11:8
           |
         1 | first = 1
           | -----
         2 | second = first + other
           | ------ from here
           :
        11 | last = second
           |        ^^^^^^ no number
           |
           = then: nothing
        """
    )


def test_two_places_on_one_line_are_marked_one_below_the_other_from_the_left() -> None:
    assert framed((2, "other", "this"), (2, "first", "that")).split("\n")[3:6] == [
        " 2 | second = first + other",
        "   |          ----- that",
        "   |                  ^^^^^ this",
    ]


def test_what_has_no_room_beside_its_mark_stands_below_it() -> None:
    text = "words and more words that go on for longer than there is room"
    lines = framed((2, "other", text), width=40).split("\n")
    assert lines[4] == "   |                  ^^^^^"
    assert " ".join(line.partition("|")[2].strip() for line in lines[5:]).strip() == text
    assert max(map(len, lines)) <= 40


def test_without_a_place_there_is_only_what_is_said() -> None:
    assert framed(remarks=(("then", "nothing"),)) == "error[code]: it is so\n   = then: nothing\n"


# --- pages on conditions ------------------------------------------------------------------------------------

_SPEC = """mechanism m
{calls}input
  q : queries, sensitivity 1
{inputs}privacy 1
program
  for i, x in q:
    emit a
{body}{sections}"""


def read_as(part: str) -> list[str]:
    """As which part of a spec these lines can be read."""
    lines = dedent(part) + "\n"
    parts = {"calls": lines, "inputs": indent(lines, "  "), "body": indent(lines, "    "), "sections": lines}
    tried = [*parts.items(), ("sections", f"align\n{indent(lines, '  ')}")]
    found = []
    for name, text in tried:
        with contextlib.suppress(SpecError):
            parse(Source("m.dp", _SPEC.format_map({**dict.fromkeys(parts, ""), name: text})))
            found.append(name)
    return found


@pytest.mark.parametrize("condition", Condition)
def test_the_lines_that_a_page_shows_are_lines_of_a_spec(condition: Condition) -> None:
    page = PAGES[condition]
    for shown in (page.failure, page.fix):
        assert all(map(read_as, re.split(r"\n\n|\n(?=winner)", shown))), shown
    assert page.failure != page.fix
    assert read_as("xi[i] += = 1") == []


@pytest.mark.parametrize(
    ("condition", "head"),
    [
        (Condition.TERMINATES, "terminates: condition i of Lemma 1\n"),
        (Condition.COST, "cost: condition iv of Lemma 1\n"),
        (Condition.DEFINED, "defined: a premise of Lemma 1\n"),
    ],
)
def test_a_page_and_the_list_say_which_item_of_the_lemma_it_is(condition: Condition, head: str) -> None:
    assert explain_condition(condition).startswith(head)
    row = next(line for line in list_of_conditions().split("\n") if line.startswith(condition.id))
    assert row.split()[1] == condition.lemma
    assert row.endswith(condition.proved)


# --- violations ---------------------------------------------------------------------------------------------

EVENT = CompleteOutput((RecordPattern("above"),))
SCENARIO = Scenario((("eps", F(1)),), (("q", (F(1), F(0))),), (("q", (F(0), F(0))),))
TINY = F(1, 3 * 10**9)


@pytest.mark.parametrize(
    "value", [F(0), F(1, 3), F(2, 3), F(1), 1 - TINY, TINY, TINY**5, F(12345678949, 10**11), F(1, 10**5)]
)
def test_what_is_certified_is_rounded_to_the_safe_side(value: Fraction) -> None:
    """Bounds of probabilities outwards, levels down: in decimals for people, and for machines."""
    if value:
        low, high = map(F, interval_text(Ball(value, value)).strip("[]").split(", "))
        assert low <= value <= high
        assert high - low <= value / 10**8
    facts = dict(violation_facts(violated(level=value, on_d=Ball(value, F(1)), on_d_prime=Ball(value, F(1)))))
    (shown,) = re.findall(r"every ε up to (\S+)", facts["violated"])
    assert value * (1 - F(1, 10**5)) <= F(shown) <= value
    found = refutation_document([refuted(violated(level=value))])["results"][0]["violation"]
    assert value * (1 - F(1, 10**15)) <= F(found["level"]) <= value


def violated(**parts: Any) -> Violation:
    usual = {"scenario": SCENARIO, "event": EVENT, "on_d": Ball(F(1, 2), F(1, 2)), "claim": F(1)}
    usual |= {"on_d_prime": Ball(F(1, 10), F(1, 10)), "level": F(8, 5), "kind": LossKind.FINITE}
    return Violation(**{**usual, **parts})


def refuted(outcome: Outcome, text: str = "") -> Refutation:
    return Refutation("a.dp", mechanism("emit a()"), outcome, 0.5, text)


@pytest.mark.parametrize(
    ("parts", "facts"),
    [
        (
            {},
            {"D": "q = [1, 0]", "D'": "q = [0, 0]", "parameters": "eps = 1", "E": "above"}
            | {"P(M(D) in E)": "[0.5, 0.5]", "violated": "every ε up to 1.6 (1.6 times the claim)"}
            | {"ratio": "at least 5, where exp(claim) is 2.71828 (claim = 1)"},
        ),
        (
            {"delta": F(1, 4), "claim": exact.ln(F(2))},
            {
                "δ": "0.25, of which the first probability has more",
                "violated": "every ε up to 1.6 beside this δ",
            }
            | {"ratio without δ": "at least 2.5, where exp(claim) is 2 (claim = 0.693147)"},
        ),
        (
            {"delta": None},
            {"divergence": "at least 1.6 times its order α, of whether E happened (claim: ρ = 1)"}
            | {"violated": "every ρ up to 1.6 (1.6 times the claim)"},
        ),
        (
            {"level": None, "on_d_prime": Ball(F(0), F(0)), "kind": LossKind.IMPOSSIBLE},
            {"P(M(D') in E)": "0, exactly", "violated": "every ε, however large"}
            | {"ratio": "unbounded, where exp(claim) is 2.71828 (claim = 1)"}
            | {"how far": "no ε suffices: E is possible on D and impossible on D'"},
        ),
        (
            {"family": (Grown("n = 2", F(4, 3)), Grown("n = 3", F(2))), "claim": F(0)}
            | {"formula": ClosedForms("f", "exp(2*eps)", "eps > 0")},
            {
                "certified": "n = 2: 1.333, n = 3: 2",
                "violated": "every ε up to 1.6",
                "violates for": "eps > 0",
            }
            | {"formula": "P(M(D) in E) / P(M(D') in E) = exp(2*eps)"},
        ),
    ],
)
def test_facts_of_a_violation(parts: dict[str, Any], facts: dict[str, str]) -> None:
    found = dict(violation_facts(violated(**parts)))
    assert {name: found.get(name) for name in facts} == facts
    (document,) = refutation_document([refuted(violated(**parts))])["results"]
    delta = parts.get("delta", 0)
    assert document["violation"]["delta"] == (None if delta is None else str(delta))


SEEN = StrongestSeen(SCENARIO, EVENT, 0.75, F(1))
SEARCHED = Searched(1, 2, 3, 1000, Ended.STEPS)
FAULT = Diagnostic("unknown-name", "nothing is called `x`", Label(Span(0, 1), "here"))


@pytest.mark.parametrize(
    ("outcome", "name", "status", "texts"),
    [
        (violated(), "REFUTED", 1, ["this mechanism is not", "both intervals are rigorous"]),
        (
            NoViolation(SEEN, 1, SEARCHED),
            *("NO VIOLATION FOUND", 0),
            [
                "exp(0.75), within the exp(1) that `eps` allows",
                "this claims nothing",
                "1 choice of the parameters, 2 pairs of databases to start from, of up to 3 answers;",
                "1 probability in 1,000 steps: there it stopped",
                "`--timeout 60` searches for a minute, and `--set k=VALUE` tries one value of `k`",
            ],
        ),
        (Unfinished("the search ran out of memory"), "UNKNOWN", 3, ["note: the search ran out of memory"]),
        (FAULT, "ERROR", 2, ["error[unknown-name]: nothing is called `x`", "1 | x = 1"]),
    ],
)
def test_each_outcome_says_what_it_claims(
    outcome: Outcome, name: str, status: int, texts: Sequence[str]
) -> None:
    whole = shown(refuted(outcome, "x = 1"))
    assert whole.startswith(f"{name}   a.dp   small   0.5 s\n")
    assert [text for text in texts if text not in whole] == []
    (found,) = json.loads(json.dumps(refutation_document([refuted(outcome, "x = 1")])))["results"]
    assert (found["mechanism"], found["verdict"], found["exit"]) == ("small", name, status)
    filled = {part for part in ("violation", "strongest", "message", "diagnostic") if found[part] is not None}
    parts = {1: "violation", 0: "strongest", 3: "message", 2: "diagnostic"}
    assert filled == {parts[status]}


def shown(refutation: Refutation) -> str:
    console = Console(file=StringIO(), width=300)
    console.print(render_refutation(refutation))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("certified", "claim", "tight"),
    [
        (F(1), F(1), True),
        (1 - F(1, 10**9), F(1), True),
        (1 - F(2, 10**9), F(1), False),
        (None, F(1), False),
        (F(0), F(0), False),
    ],
)
def test_a_claim_is_called_tight_only_by_what_is_certified(
    certified: Fraction | None, claim: Fraction, tight: bool
) -> None:
    found = refuted(NoViolation(StrongestSeen(SCENARIO, EVENT, 1.0, claim, certified), 1, SEARCHED))
    assert ("no smaller level holds" in shown(found)) == tight
    strongest = refutation_document([found])["results"][0]["strongest"]
    assert strongest["certified"] is certified is None or F(strongest["certified"]) <= F(certified or 0)
    assert strongest["delta"] == "0"


def test_only_what_may_help_is_offered_after_a_search() -> None:
    through = Searched(1, 1, 0, 1, Ended.THROUGH)
    assert "--timeout" not in shown(refuted(NoViolation(None, 1, through)))
    assert "searched:" not in shown(refuted(NoViolation(None, 0, through, looked=False)))


# --- what a proof is about ----------------------------------------------------------------------------------

LISTED = "q : queries, sensitivity 1\neps : real where eps > 0"
WHOLE = "q : int queries, sensitivity 1\neps : real where eps > 0"
REAL_NOISE, WHOLE_NOISE = "Lap(1/eps)", "DLap(1/eps, 1)"


def stated(inputs: str, noise: str, mode: RunMode) -> dict[str, list[str]]:
    """What is said under each title."""
    program = f"for i, x in q:\n  eta[i] ~ {noise}\n  emit answer(x + eta[i])\n  if x + eta[i] > 1: break"
    source, whole = spec(program, inputs=inputs), mechanism(program, inputs=inputs)
    found: dict[str, list[str]] = {}
    title = ""
    for line in statement(replace(whole, doc="What  it\ndoes"), form_of(whole, source, mode).mechanism, mode):
        title = line[2:10].strip() or title
        found.setdefault(title, []).append(line[10:])
    return found


@pytest.mark.parametrize(
    ("inputs", "noise", "mode", "how", "form"),
    [
        (LISTED, REAL_NOISE, RunMode.LATTICE, "in this form, for every step", "lattice 1/resolution"),
        (LISTED, REAL_NOISE, RunMode.REFINED, "real-valued noise, drawn as finely as", None),
        (LISTED, REAL_NOISE, RunMode.FLOAT, "which no proof covers: UNSAFE", None),
        (WHOLE, WHOLE_NOISE, RunMode.LATTICE, "it is the declared one", None),
    ],
)
def test_the_statement_is_of_what_runs(
    inputs: str, noise: str, mode: RunMode, how: str, form: str | None
) -> None:
    said = stated(inputs, noise, mode)
    assert said["title"] == ["What it does"]
    assert how in said["mode"][0]
    assert said["claim"][0].startswith("one run is `eps`-differentially private")
    assert said["claim"][1].startswith("Neighbouring data: each answer of `q` differs by at most `1`")
    assert said["inputs"] == [line.replace("1", "1, adjacency all", 1) for line in inputs.split("\n")]
    assert ("stream" in said) == (mode is not RunMode.FLOAT)
    assert ("form" in said) == (form is not None)
    if form is not None:
        assert form in said["form"][1]
        assert said["form"][-1] == "privacy eps"


def test_each_line_that_is_trusted_is_counted_once() -> None:
    counts = re.findall(r"([\d,]+) (?=are|read|derive|sample)", " ".join(trusted()))
    everything = lines_of(chain(*CHECKED_BY.values(), *RUN_BY.values()))
    assert sum(int(count.replace(",", "")) for count in counts) == everything
    assert len(counts) == len(CHECKED_BY) + len(RUN_BY)

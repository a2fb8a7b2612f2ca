"""What a terminal shows: carets, tables of both runs, verdicts and specs, compared as whole text."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from io import StringIO
from textwrap import dedent

import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType

from aligncheck.kernel.answer import Accepted, Decision, Part
from aligncheck.kernel.witness import LoopWitness, Witness
from aligncheck.language.conditions import Condition
from aligncheck.language.diagnostics import Diagnostic, Label
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning.replay import replay
from aligncheck.meaning.scenario import Scenario
from aligncheck.report.listing import render_spec
from aligncheck.report.terminal import render_diagnostic, render_result
from aligncheck.verdict import (
    AlignmentFails,
    ConditionReport,
    Counterexample,
    Error,
    FileResult,
    ObligationReport,
    Status,
    Unknown,
    Verdict,
    Verified,
)

F = Fraction
PATH = "specs/m.dp"


def printed(what: RenderableType, width: int = 80, color: bool = False) -> str:
    """As the command line prints it into a pipe (or, with `color`, to a terminal)."""
    stream = StringIO()
    Console(
        file=stream,
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
        force_terminal=color,
        color_system="standard" if color else None,
    ).print(what)
    return stream.getvalue()


def read(text: str) -> tuple[Source, Mechanism]:
    source = Source(PATH, dedent(text).lstrip("\n"))
    return source, parse(source)


def span_of(source: Source, words: str, occurrence: int = 1) -> Span:
    start = -1
    for _ in range(occurrence):
        start = source.text.index(words, start + 1)
    return Span(start, start + len(words))


def result_text(source: Source, verdict: Verdict, verbose: bool = False, width: int = 80) -> str:
    return printed(render_result(FileResult(PATH, verdict, 0.0916, source.text), source, verbose), width)


# --- faults of the input ----------------------------------------------------------------------------------


def fault_text(line: str, words: str, *, width: int = 80, label: str = "not defined") -> str:
    source = Source("a.dp", f"first\n{line}\n")
    found = Diagnostic("unknown-name", f"nothing is called `{words}`", Label(span_of(source, words), label))
    return printed(render_diagnostic(source, found), width)


def test_a_fault_shows_its_line_with_a_caret_and_what_to_write() -> None:
    source = Source("a.dp", "privacy eps\nprogram\n  x = epz / 2\n")
    diagnostic = Diagnostic(
        "unknown-name",
        "nothing is called `epz`",
        Label(span_of(source, "epz"), "not defined here"),
        (Label(span_of(source, "eps"), "a parameter with a similar name"),),
        ("names are case-sensitive",),
        "did you mean `eps`?",
    )
    assert printed(render_diagnostic(source, diagnostic)) == dedent(
        """\
        error[unknown-name]: nothing is called `epz`
          --> a.dp:3:7
           |
         1 | privacy eps
           |         --- a parameter with a similar name
           :
         3 |   x = epz / 2
           |       ^^^ not defined here
        note: names are case-sensitive
        help: did you mean `eps`?
        """
    )


@pytest.mark.parametrize(
    "before",
    [
        "\t",
        " \t",
        "abc\tdef\t",
        "名前 = ",
        "\t名\t",
        "e\N{COMBINING ACUTE ACCENT}e ",
        "\N{RIGHT-TO-LEFT OVERRIDE}x ",
    ],
)
def test_carets_stand_under_their_words_after_tabs_and_wide_characters(before: str) -> None:
    lines = fault_text(f"{before}foo + 1", "foo").splitlines()
    code = next(line for line in lines if "foo + 1" in line)
    carets = lines[lines.index(code) + 1]
    assert "\t" not in code
    assert cell_len(carets[: carets.index("^")]) == cell_len(code[: code.index("foo")])
    assert carets.count("^") == 3


def test_control_characters_of_the_source_do_not_reach_the_terminal() -> None:
    text = fault_text("\x1b[31mred \x07 \u202efoo", "foo")
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text


def test_a_wide_span_counts_cells() -> None:
    lines = fault_text("x = 名前 + 1", "名前").splitlines()
    assert lines[-1].endswith("    ^^^^ not defined")


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("at", [0, 500, 2000, 3990])
def test_a_very_long_line_is_cut_around_the_caret(at: int, width: int) -> None:
    line = "1+" * (at // 2) + "foo" + "+1" * ((4000 - at) // 2)
    lines = fault_text(line, "foo", width=width).splitlines()
    code = next(line for line in lines if "foo" in line and "|" in line)
    carets = lines[lines.index(code) + 1]
    assert carets.index("^") == code.index("foo")
    assert all(cell_len(line) <= width for line in lines)
    assert "…" in code


def test_a_fault_at_the_end_of_a_line_and_of_the_text_has_a_caret() -> None:
    source = Source("a.dp", "x =\n")
    for offset, place in ((3, "1:4"), (4, "2:1")):
        found = Diagnostic("syntax", "an expression is missing", Label(Span(offset, offset)))
        text = printed(render_diagnostic(source, found))
        assert f"a.dp:{place}" in text
        assert text.count("^") == 1


def test_a_span_over_several_lines_marks_its_first_line() -> None:
    source = Source("a.dp", "emit r(a = 1,\n  b = 2)\nx = 1\n")
    found = Diagnostic("sort", "wrong", Label(Span(0, 22), "this record"))
    text = printed(render_diagnostic(source, found))
    assert " 1 | emit r(a = 1,\n   | ^^^^^^^^^^^^^ this record\n" in text


def test_long_remarks_wrap_within_the_width() -> None:
    text = fault_text("x = foo", "foo", label="a remark of many words " * 8, width=60)
    assert all(cell_len(line) <= 60 for line in text.splitlines())
    assert text.count("a remark of many words") + text.count("many") >= 8


def test_markup_in_a_spec_is_shown_and_not_obeyed() -> None:
    assert "[bold]foo[/bold]" in fault_text("x = [bold]foo[/bold]", "foo")


# --- failing alignments -----------------------------------------------------------------------------------

LATE = """
    mechanism late
    input
      q : queries, sensitivity 1
      eps : real where eps > 0
    privacy eps
    program
      eta ~ Lap(2/eps)
      count = 0
      for i, x in q:
        xi[i] ~ Lap(4/eps)
        if x + xi[i] >= eta:
          emit above
          count = count + 1
        else: emit below
        if count > 1: break
    align
      eta += 1
      xi[i] += 1 + q[i] - q'[i] when out[i] is above
"""


def reports(failed: Condition, source: Source) -> tuple[ConditionReport, ...]:
    span = span_of(source, "privacy")
    return tuple(
        ConditionReport(
            condition,
            Status.FAILED if condition is failed else Status.PROVED,
            "2 paths of one round",
            (
                ObligationReport(
                    condition,
                    f"the goal of {condition.id}",
                    span,
                    Status.FAILED if condition is failed else Status.PROVED,
                    "by arithmetic",
                ),
            ),
        )
        for condition in (Condition.COUNTABLE, Condition.TERMINATES, Condition.OUTPUT, Condition.COST)
    )


def scenario(
    parameters: dict[str, int], data: dict[str, object], prime: dict[str, object], **noise: int
) -> Scenario:
    def inputs(given: dict[str, object]) -> tuple[tuple[str, Fraction | tuple[Fraction, ...]], ...]:
        return tuple(
            (name, tuple(map(F, value)) if isinstance(value, list) else F(str(value)))
            for name, value in given.items()
        )

    draws = tuple(((name, None), F(value)) for name, value in noise.items())
    return Scenario(inputs(dict(parameters)), inputs(data), inputs(prime), draws)


def failure(
    source: Source,
    mechanism: Mechanism,
    condition: Condition,
    run: Scenario,
    at: str,
    second: Scenario | None = None,
) -> AlignmentFails:
    example = Counterexample(run, replay(mechanism, run), second)
    return AlignmentFails(
        mechanism,
        condition,
        condition.failed,
        Label(span_of(source, at), "here"),
        example,
        reports(condition, source),
    )


def test_a_cost_that_adds_up_past_the_claim() -> None:
    source, mechanism = read(LATE)
    run = scenario({"eps": 1}, {"q": [1, 1]}, {"q": [0, 0]})
    text = result_text(source, failure(source, mechanism, Condition.COST, run, "count > 1"))
    assert text == dedent(
        """\
        ALIGNMENT FAILS at cost   specs/m.dp   late   92 ms

        failed[cost]: an output exists whose alignment costs more than the claimed
                      privacy
          --> specs/m.dp:15:8
           |
        15 |     if count > 1: break
           |        ^^^^^^^^^ here
           |
           = to prove: the goal of cost
           = fails for: eps = 1, q = [1, 1], q' = [0, 0]
           = noise on D: all 0   (replayed)
           = then: the alignment costs 3/2, more than 1

           line  round  step   on D             on D' (aligned noise)  cost
           7            eta    0                1  (+1)                1/2
           10    i=0    xi[0]  0                2  (+2)                1
           11           if     1 + 0 >= 0  yes  0 + 2 >= 1  yes
           12           emit   above            same
           15           if     1 > 1  no        same
           10    i=1    xi[1]  0                2  (+2)                3/2 > 1
           11           if     1 + 0 >= 0  yes  0 + 2 >= 1  yes
           12           emit   above            same
           15           if     2 > 1  yes       same

        note: this is about the alignment: the mechanism may still be private under
              another one
        help: `aligncheck refute specs/m.dp` searches for a real violation
        more: `aligncheck explain cost`  (Lemma 1, condition iv)

        proved: terminates, output, countable     failed: cost

        """
    )


def test_a_draw_that_a_line_does_not_move_says_why() -> None:
    source, mechanism = read(LATE)
    run = scenario({"eps": 1}, {"q": [0]}, {"q": [0]}, eta=1)
    text = result_text(source, failure(source, mechanism, Condition.COST, run, "count > 1"))
    assert "0  (`out[0]` is `below`: no shift)" in text


@pytest.mark.parametrize(
    "condition", [Condition.TERMINATES, Condition.FRESH, Condition.SCALES, Condition.DEFINED]
)
def test_no_other_alignment_is_promised_where_none_would_do(condition: Condition) -> None:
    source, mechanism = read(LATE)
    run = scenario({"eps": 1}, {"q": [1, 1]}, {"q": [0, 0]})
    text = result_text(source, failure(source, mechanism, condition, run, "count > 1"))
    assert "no other alignment mends it" in text
    assert "another one" not in text


@pytest.mark.parametrize(("claim", "at"), [("1 at most 1/2", "1/2"), ("0 - 1", "0 - 1")])
def test_what_is_wrong_about_the_claim_is_no_matter_of_the_alignment(claim: str, at: str) -> None:
    source, mechanism = read(HIDDEN.replace("privacy 2", f"privacy {claim}"))
    run = scenario({}, {"q": 0}, {"q": 0})
    text = result_text(source, failure(source, mechanism, Condition.COST, run, at))
    assert "this is about what is claimed" in text
    assert "another one" not in text
    assert "refute" not in text


HIDDEN = """\
mechanism hidden
input
  q : query, sensitivity 1
privacy 2
program
  eta ~ Lap(1)
  s = 1
  if q + eta > 3:
    s = 2
  xi ~ Lap(s)
  emit v(q + xi)
"""


@pytest.mark.parametrize(("condition", "at"), [(Condition.DRAWS, "q + eta > 3"), (Condition.SCALES, "xi ~")])
def test_an_alignment_may_keep_the_runs_in_the_same_branches(condition: Condition, at: str) -> None:
    source, mechanism = read(HIDDEN)
    run = scenario({}, {"q": 3}, {"q": 4})
    text = result_text(source, failure(source, mechanism, condition, run, at))
    assert "an alignment that" in text
    assert "no other alignment mends it" not in text


def test_runs_that_part_are_marked_where_they_part() -> None:
    source, mechanism = read(LATE.replace("xi[i] += 1 + q[i] - q'[i] when", "xi[i] += 0 when"))
    run = scenario({"eps": 1}, {"q": [1]}, {"q": [0]}, eta=1)
    text = result_text(source, failure(source, mechanism, Condition.OUTPUT, run, "x + xi[i] >= eta"))
    assert "= noise on D: eta = 1, the rest 0   (replayed)" in text
    emits = [line.split() for line in text.splitlines() if line.startswith("   ") and " emit " in line]
    assert emits == [["12", "emit", "above", "-"], ["14", "emit", "-", "below"]]
    parting = next(line for line in text.splitlines() if "the runs part here" in line)
    assert parting.split()[:2] == ["11", "if"]
    assert "1 + 0 >= 1  yes" in parting
    assert "0 + 0 >= 2  no" in parting


def test_negative_and_fractional_values_keep_the_meaning_of_a_test() -> None:
    source, mechanism = read(
        """
        mechanism m
        input
          q : query, sensitivity 1
          r : real
        privacy 1
        program
          eta ~ Lap(1)
          if 2*q - r/q < eta and r < 0: emit yes
        align
        """
    )
    run = Scenario((("r", F(-1)),), (("q", F(1, 2)),), (("q", F(-1, 2)),))
    text = result_text(source, failure(source, mechanism, Condition.OUTPUT, run, "eta and"), width=140)
    assert "2*(1/2) - -1/(1/2) < 0 and -1 < 0  no" in text
    assert (
        "2*(-1/2) - -1/-(1/2) < 0 and -1 < 0  yes" in text
        or "2*-(1/2) - -1/-(1/2) < 0 and -1 < 0  yes" in text
    )


def test_a_long_run_is_shown_in_part_and_says_so() -> None:
    source, mechanism = read(LATE.replace("if count > 1: break", "pass"))
    many = [0] * 200
    run = scenario({"eps": 1}, {"q": many}, {"q": many})
    text = result_text(source, failure(source, mechanism, Condition.COST, run, "pass"))
    rows = [line for line in text.splitlines() if line.startswith("   ") and line.split()[:1][0].isdigit()]
    left_out = [int(line.split()[1]) for line in text.splitlines() if "steps left out" in line]
    assert len(rows) <= 40
    assert len(rows) + sum(left_out) == 1 + 3 * 200
    assert any("3/2 > 1" in row for row in rows)
    assert "q = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, … 188 more]" in text


def test_two_noise_vectors_with_one_image_are_shown_beside_each_other() -> None:
    source, mechanism = read(
        """
        mechanism m
        input
          q : query, sensitivity 1
        privacy 1
        program
          eta ~ Lap(1)
          emit done
        align
          eta += 2*abs(eta)
        """
    )
    first, second = (scenario({}, {"q": 0}, {"q": 0}, eta=value) for value in (1, -3))
    verdict = failure(source, mechanism, Condition.INJECTIVE, first, "eta +=", second)
    text = result_text(source, verdict)
    assert "= noise on D: eta = 1, the rest 0   (replayed)" in text
    assert "= second noise: eta = -3, the rest 0   (replayed)" in text
    row = next(line for line in text.splitlines() if line.startswith("   eta"))
    assert row.split() == ["eta", "1", "-3", "3", "3"]
    assert "both release done" in text


def test_two_runs_with_different_numbers_of_draws() -> None:
    source, mechanism = read(
        """
        mechanism m
        input
          q : query, sensitivity 1
        privacy 1
        program
          a ~ Lap(1)
          if a > 0: b ~ Lap(1)
          emit done
        align
        """
    )
    first, second = (scenario({}, {"q": 0}, {"q": 0}, a=value) for value in (1, -1))
    text = result_text(source, failure(source, mechanism, Condition.DRAWS, first, "b ~", second))
    assert "2 draws with the first noise, 1 with the second" in text
    assert [line.split()[2:] for line in text.splitlines() if line.split()[1:2] == ["b"]] == [["0", "-"]]
    assert "aligned noise" not in text


def test_a_run_that_stops_says_why() -> None:
    source, mechanism = read(
        """
        mechanism m
        input
          q : query, sensitivity 1
        privacy 1
        program
          x = 1/q
          emit r(x)
        """
    )
    run = scenario({}, {"q": 1}, {"q": 0})
    text = result_text(source, failure(source, mechanism, Condition.DEFINED, run, "1/q"))
    assert "the run on D' stops: division by 0" in text
    assert "more: `aligncheck explain defined`\n" in text


def test_irrational_numbers_show_a_decimal() -> None:
    source, mechanism = read(
        """
        mechanism m
        input
          q : query, sensitivity 1
        privacy 1/2
        program
          eta ~ Geo(1/2)
          emit r(q * sqrt(2))
        align
          eta += 1
        """
    )
    run = scenario({}, {"q": 2}, {"q": 2})
    text = result_text(source, failure(source, mechanism, Condition.COST, run, "1/2"), width=100)
    assert "r(value = 2*sqrt(2) ~ 2.828)" in text
    assert "ln(2) ~ 0.6931" in text


# --- the other verdicts -----------------------------------------------------------------------------------


def verified() -> tuple[Source, Verified]:
    source, mechanism = read(LATE)
    decisions = [
        Decision(c, span_of(source, "privacy"), f"the goal of {c}", steps)
        for c, steps in (("countable", 0), ("terminates", 0), ("output", 1200), ("output", 34), ("cost", 5))
    ]
    parts = (
        Part(
            "eta",
            span_of(source, "eta += 1"),
            half := nodes.Binary("/", nodes.Name("eps"), nodes.Number(F(2))),
        ),
        Part("xi", span_of(source, "xi[i] += 1 + q[i] - q'[i] when out[i] is above"), half),
    )
    loop = LoopWitness((nodes.Compare("<=", nodes.Name("count"), nodes.Number(F(1))),))
    return source, Verified(mechanism, Witness((loop,)), Accepted("acyclic", tuple(decisions), parts))


def test_verified_shows_the_claim_each_condition_and_the_cost_with_its_shares() -> None:
    source, verdict = verified()
    assert result_text(source, verdict) == dedent(
        """\
        VERIFIED   specs/m.dp   late   92 ms
        privacy  `eps` for every `q` of any length, `eps > 0`

          i   terminates  proved  the goal of terminates  0 steps
          iv  output      proved  2 decisions             1,234 steps
          iv  cost        proved  the goal of cost        5 steps
          v   countable   proved  the goal of countable   0 steps

        cost  `eps/2` + `eps/2` when `out[i] is above`, at most `eps`
              noise  cost of one  share of it  paid
              eta    eps/2        1/2          once
              xi[i]  eps/2        1/2          when `out[i] is above`

        """
    )


def test_a_claim_of_the_output_is_shown_with_its_bound() -> None:
    source, verdict = verified()
    each = nodes.Binary("*", nodes.Name("eps"), nodes.OutCount("above"))
    text = result_text(
        source,
        replace(verdict, mechanism=replace(verdict.mechanism, claim=nodes.Pure(each, nodes.Name("eps")))),
    )
    assert "privacy  `eps*out.count(above)`, at most `eps`, for every `q`" in text
    assert "noise  cost of one  share of bound  paid" in text


def test_a_claim_is_for_the_answers_that_are_declared() -> None:
    source, verdict = verified()
    declared = "range [0, eps], lattice 2 where q[i] <= 3 and eps >= 1"
    _, other = read(LATE.replace("sensitivity 1", f"sensitivity 1, {declared}"))
    text = result_text(
        source, replace(verdict, mechanism=replace(verdict.mechanism, inputs=other.inputs)), width=200
    )
    where = "on multiples of `2` in `[0, eps]` where `q[i] <= 3`"
    assert f"privacy  `eps` for every `q` of any length {where}, `eps > 0 and eps >= 1`\n" in text


def test_verbose_adds_the_route_the_invariants_and_all_decisions() -> None:
    source, verdict = verified()
    text = result_text(source, verdict, verbose=True)
    for words in (
        "acyclic alignment (Lemma 1)",
        "  - loop 1: count <= 1",
        "obligations (5)",
        "    - line 5: the goal of cost  proved  5 steps",
        "    - line 5: the goal of countable  proved  by the terms themselves",
    ):
        assert words in text


def test_unknown_says_what_was_not_shown_once_and_what_may_help() -> None:
    source, mechanism = read(LATE)
    undecided = ObligationReport(
        Condition.COST,
        "the cost is within the claim",
        span_of(source, "count > 1"),
        Status.UNKNOWN,
        "not shown by the kernel",
    )
    verdict = Unknown(
        mechanism,
        Condition.COST,
        "not shown: the cost is within the claim",
        Label(undecided.span, "in this round"),
        (ConditionReport(Condition.COST, Status.UNKNOWN, "", (undecided,)),),
        ("loop 1: count <= 2",),
        help="claim more",
    )
    text = result_text(source, verdict)
    assert text.startswith("UNKNOWN at cost   specs/m.dp   late   92 ms\n")
    assert text.count("the cost is within the claim") == 1
    assert "help: claim more\n" in text
    assert "unknown: cost" in text
    assert "^^^^^^^^^ in this round" in text
    assert "count <= 2" not in text
    assert "  - loop 1: count <= 2" in result_text(source, verdict, verbose=True)


def test_unknown_without_a_place_still_reads() -> None:
    text = printed(
        render_result(FileResult(PATH, Unknown(None, None, "the worker died", None), 3.0), None, False)
    )
    assert text.startswith("UNKNOWN   specs/m.dp   3.0 s\n")
    assert "unknown[check]: the worker died" in text


def test_an_error_is_drawn_from_the_text_of_the_result() -> None:
    verdict = Error(Diagnostic("syntax", "expected `mechanism`", Label(Span(0, 3))))
    text = printed(render_result(FileResult(PATH, verdict, 0.0, "foo bar"), None, False))
    assert text.startswith("ERROR   specs/m.dp   0 ms\n")
    assert " 1 | foo bar\n   | ^^^\n" in text


@pytest.mark.parametrize("width", [80, 100, 160])
def test_nothing_is_wider_than_the_terminal_and_colour_changes_no_word(width: int) -> None:
    source, mechanism = read(LATE)
    run = scenario({"eps": 1}, {"q": [1, 1]}, {"q": [0, 0]})
    for verdict in (failure(source, mechanism, Condition.COST, run, "count > 1"), verified()[1]):
        what = render_result(FileResult(PATH, verdict, 0.1, source.text), source, True)
        plain = printed(what, width)
        assert max(map(cell_len, plain.splitlines())) <= width
        coloured = printed(what, width, color=True)
        assert "\x1b[" in coloured
        assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain


# --- the spec ---------------------------------------------------------------------------------------------


def test_show_puts_each_shift_beside_the_draw_that_it_moves() -> None:
    source, mechanism = read(
        """
        mechanism m   # a comment
          "What it does."
        input
          q : queries, sensitivity 1, adjacency monotone
        privacy 1
        program
          eta ~ Lap(1)
          for i, x in q:
            xi[i] ~ Lap(2); zeta[i] ~ Lap(3)
            unmoved[i] ~ Lap(4)
        align
          eta += 1
          case q <= q':
            xi[i] += 1 when out[i] is top
          otherwise:
            zeta[i] -= 2
        """
    )
    shown = printed(render_spec(source, mechanism), 100)
    assert [line[4:] for line in shown.splitlines()[6:10]] == [
        "  eta ~ Lap(1)                         → eta += 1",
        "  for i, x in q:",
        "    xi[i] ~ Lap(2); zeta[i] ~ Lap(3)   → case q <= q': xi[i] += 1 when out[i] is top",
        "                                       → otherwise: zeta[i] -= 2",
    ]
    assert "    unmoved[i] ~ Lap(4)\n" in shown
    assert shown.startswith(' 1  mechanism m   # a comment\n 2    "What it does."\n')


def test_show_moves_the_shifts_below_where_there_is_no_room() -> None:
    source, mechanism = read(LATE)
    shown = printed(render_spec(source, mechanism), 44)
    assert "10      xi[i] ~ Lap(4/eps)\n" in shown
    assert all(cell_len(line) <= 44 for line in shown.splitlines() if "→" in line)
    assert shown.count("→") == 2


def test_show_keeps_every_line_of_the_text() -> None:
    source, mechanism = read(LATE.replace("eta", "η").replace(">=", "≥").replace("eps", "ε"))
    shown = printed(render_spec(source, mechanism), 120, color=True)
    assert "\x1b[" in shown
    plain = printed(render_spec(source, mechanism), 120)
    for number, line in enumerate(source.text.splitlines(), start=1):
        assert f"{number:>2}  {line}".rstrip() in plain

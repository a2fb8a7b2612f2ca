"""Static checks by themselves: definite assignment beside all paths, and what is out of scope."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import TypeAlias

import pytest
from small_specs import spec

from aligncheck.language.check.arguments import check_callees, check_calls
from aligncheck.language.check.entries import check_entries
from aligncheck.language.check.flow import ProgramFlow
from aligncheck.language.check.link import Linker
from aligncheck.language.check.meant import UnknownName
from aligncheck.language.check.names import Reader
from aligncheck.language.check.scope import check_privacy, check_redraws
from aligncheck.language.check.stated_density import check_densities
from aligncheck.language.check.symbol_table import symbols_of
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.contract import Contract, with_contract
from aligncheck.language.syntax.parse import parse

Block: TypeAlias = tuple["str | tuple[str, Block, Block]", ...]
"""Statements: what is set and then what is read (`s`, `=s`), or a test with its arms."""

INNER: tuple[Block, ...] = ((), ("s = 1",), ("out = s",), ("s = 1", "out = s"))


def programs() -> Iterator[Block]:
    for before, then, otherwise, after in product(INNER[:2], INNER, INNER, INNER[::2]):
        yield (*before, ("f", then, otherwise), *after)
        yield (("g", (*before, ("f", then, otherwise)), ("s = 1",)), *after)


def lines(block: Block, depth: int = 0) -> Iterator[str]:
    if not block:
        yield "  " * depth + "pass"
    for one in block:
        if isinstance(one, str):
            yield "  " * depth + one.replace("out = s", "r = s")
        else:
            test, then, otherwise = one
            yield "  " * depth + f"if {test}:"
            yield from lines(then, depth + 1)
            yield "  " * depth + "else:"
            yield from lines(otherwise, depth + 1)


def fails(block: Block, flags: dict[str, bool], known: set[str]) -> bool:
    """Whether a run reads `s` before it is set."""
    for one in block:
        if one == "s = 1":
            known.add("s")
        elif isinstance(one, str):
            if "s" not in known:
                return True
        elif fails(one[1] if flags[one[0]] else one[2], flags, known):
            return True
    return False


def test_a_variable_has_a_value_where_it_is_read_on_every_path() -> None:
    """Refused just where some path reads it before it is set: tests here are independent of each other."""
    inputs = "f : bool\ng : bool\nq : queries, sensitivity 1\neps : real where eps > 0"
    seen = set()
    for block in programs():
        source = spec("\n".join(lines(block)), inputs=inputs)
        tree = parse(source)
        flow = ProgramFlow(Reader(source, symbols_of(source, tree)))
        runs = [dict(zip("fg", flags, strict=True)) for flags in product((False, True), repeat=2)]
        wrong = any(fails(block, flags, set()) for flags in runs)
        try:
            flow.check(tree.body)
            assert not wrong, source.text
        except SpecError:
            assert wrong, source.text
        seen.add(wrong)
    assert seen == {False, True}


Check: TypeAlias = Callable[[Source, n.Mechanism], None]


def refused(check: Check, source: Source) -> str:
    """The code with which a spec that can be read is refused."""
    tree = parse(source)
    with pytest.raises(SpecError) as caught:
        check(source, tree)
    return caught.value.diagnostic.code


def accepted(check: Check, source: Source) -> None:
    check(source, parse(source))


@pytest.mark.parametrize(
    "program",
    [
        "x = 0\nwhile x < 1:\n  eta ~ Lap(1/eps)\n  x = eta",
        "while true:\n  eta ~ Lap(1/eps)\n  if eta > 0:\n    break",
        "x = 0\nwhile x < 1:\n  eta ~ Lap(1/eps)\n  if eta > 0:\n    x = 1",
        "x = 0\nwhile x < 1:\n  eta ~ Lap(1/eps)\n  if eta > 0:\n    x = x + 1",
        "i = 0\nwhile i < k:\n  eta ~ Lap(1/eps)\n  if eta > 0:\n    i = i + 1\n  else:\n    i = i - 1",
    ],
)
def test_noise_is_not_drawn_until_it_fits(program: str) -> None:
    assert refused(check_redraws, spec(program)) == "scope"


@pytest.mark.parametrize(
    "program",
    [
        "i = 0\nwhile i < k:\n  eta ~ Lap(1/eps)\n  i = i + 1",
        "x = 0\nwhile x < 1:\n  eta ~ Lap(1/eps)\n  x = eta\n  emit a(eta)",
        "while true:\n  break",
        "i = 0\nend = false\nwhile i < k and not end:\n  eta[i] ~ Lap(1/eps)\n"
        "  if eta[i] > 0:\n    i = i + 1\n  else:\n    end = true",
        "i = k\nwhile i > 0:\n  eta[i] ~ Lap(1/eps)\n  if eta[i] > 0:\n    i = i - 1\n  else:\n    break",
    ],
)
def test_what_may_be_drawn_in_a_loop(program: str) -> None:
    accepted(check_redraws, spec(program))


@pytest.mark.parametrize(
    ("claim", "code"),
    [
        ("eps + delta", "misplaced-delta"),
        ("eps * len(out)", "unbounded-claim"),
        ("eps if out[0] is a else 0", "scope"),
    ],
)
def test_claims_that_are_refused(claim: str, code: str) -> None:
    assert refused(check_privacy, spec("emit a(1)", privacy=claim)) == code
    accepted(check_privacy, spec("emit a(1)", privacy="eps / 2"))


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("j ~ Choose(exp(q[i]) for i in q)\neta ~ Lap(1/eps)", "mixed-draws"),
        ("for i in range(2):\n  x ~ Logistic(q[i], 1)", "misplaced-loop"),
        ("if k > 1:\n  x ~ Logistic(q[0], 1)", "misplaced-draw"),
        ("x ~ Logistic(q[0], 1)\nwhile k > 1:\n  pass", "misplaced-loop"),
    ],
)
def test_stated_densities_stand_alone_and_outside_of_branches(program: str, code: str) -> None:
    assert refused(check_densities, spec(program)) == code


def test_a_mechanism_calls_no_mechanism_that_calls_it() -> None:
    lines = (
        "mechanism loop",
        'use loop from "loop.dp"',
        "input",
        "  eps : real",
        "privacy eps",
        "program",
        "  pass",
    )
    source = Source("loop.dp", "\n".join((*lines, "")))
    tree = parse(source)
    with pytest.raises(SpecError) as caught:
        Linker(lambda source, tree: tree, lambda path: source).linked(source, tree)
    assert caught.value.diagnostic.code == "recursive-mechanism"


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("r", "while r < len(q):", "`for r, x in q:`"),
        ("noise", "emit tag(x + noise)", "`xi` is drawn, and"),
        ("far", "emit tag(x)", None),
    ],
)
def test_what_is_meant_by_an_unknown_name(name: str, line: str, said: str | None) -> None:
    source = Source("m.dp", NOISE if name == "noise" else NOISE.replace("x = 0", "x = xi"))
    symbols = symbols_of(source, parse(source))
    none: frozenset[str] = frozenset()
    assigned = frozenset(("xi", "x"))
    stranger = UnknownName(name, False, symbols, assigned, none, none, line, "", False, None)
    found = stranger.meant()
    assert (said in found) if said is not None and found is not None else found is None


NOISE = """\
mechanism m

input
  q : queries, sensitivity 1

privacy 1

program
  xi ~ Lap(1)
  x = 0
  emit tag(x)
"""


@pytest.mark.parametrize(
    ("entry", "told", "guard"),
    [
        ("h[0]", "`h[0]` has no value where `h` is empty", "len(h) >= 1"),
        ("h[2]", "`2` is no index of `h`", "len(h) >= 3"),
        ("h[k]", "`k` is no index of `h`", "0 <= k < len(h)"),
    ],
)
def test_how_to_make_sure_of_an_entry_is_said(entry: str, told: str, guard: str) -> None:
    text = f"mechanism m\ninput\n  k : int\n  h : vector where {entry} == 1\nprivacy 1\nprogram\n  pass\n"
    source = Source("m.dp", text)
    with pytest.raises(SpecError) as caught:
        check_entries(source, parse(source))
    assert told in caught.value.diagnostic.message
    assert f"`{guard} and …`" in str(caught.value.diagnostic.help)


# --- arguments ----------------------------------------------------------------------------------------------

CALLEE = """mechanism c
fun f(real) : real
input
  y : queries, sensitivity 1
  d : real
privacy 1
program
  pass
"""
CALLER = """mechanism small
use c from "c.dp"
fun f(real) : real
input
  o, q : queries, sensitivity 1
  p : query, sensitivity 1
  eps : real
privacy eps
program
  eta ~ Lap(1)
  s = q[0]
  {}
"""


def argued(line: str, callee: str = CALLEE) -> str | None:
    """The code of what is wrong with a line of a caller, and what the caret stands under; or None."""
    source, called = Source("small.dp", CALLER.format(line)), Source("c.dp", callee)
    mechanism = with_contract(parse(source), "c", Contract(parse(called), called))
    symbols = symbols_of(source, mechanism)
    try:
        check_callees(source, mechanism, symbols)
        check_calls(source, mechanism, symbols)
    except SpecError as error:
        return f"{error.diagnostic.code}: {source.text_of(error.diagnostic.primary.span)}"
    return None


@pytest.mark.parametrize(
    ("value", "private"),
    [
        ("eps", False),
        ("len(q)", False),
        ("len(q)*eps + 1", False),
        ("p", True),
        ("q[0]", True),
        ("len(q) + q[0]", True),
        ("len(o) + q[0]", True),
        ("eps*max(p, 0)", True),
        ("p + eta", False),  # for the proof
        ("s", False),
    ],
)
def test_plain_answers_are_no_public_values(value: str, private: bool) -> None:
    """Whether noise that is there covers them is for the proof."""
    wrong = f"private-argument: {value}" if private else None
    assert argued(f"a = c(y = q, d = {value})") == wrong
    assert argued(f"a = c(y = q, d = 1)\n  r = 2*f({value})") == wrong
    assert argued(f"a = repeat c(y = q, d = 1) until true stop with probability {value}") == wrong


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("a = c(y = q, d = 1)", None),
        ("a = c(y = q)", "missing-argument: a = c(y = q)"),
        ("a = c(y = q, d = 1, e = 1)", "unknown-argument: e = 1"),
        ("a = k(y = q, d = 1)", "unknown-mechanism: a = k(y = q, d = 1)"),
        ("pass", 'unused-mechanism: use c from "c.dp"'),
    ],
)
def test_a_call_gives_a_value_for_every_input(line: str, wrong: str | None) -> None:
    assert argued(line) == wrong


def test_a_callee_takes_no_functions_that_its_caller_does_not_declare() -> None:
    """In the same words: what it is applied to, and what it gives."""
    for other in ("g(real) : real", "f(int) : real", "f(real) : bool", "f(real, real) : real"):
        assert (argued("a = c(y = q, d = 1)", CALLEE.replace("f(real) : real", other)) or "")[
            :8
        ] == "bad-call"

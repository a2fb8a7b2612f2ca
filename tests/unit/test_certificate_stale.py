"""What has changed since a file was compiled, in sentences; of what follows from another change, nothing."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from aligncheck.compiler.certificate.stale import changes, mode_of
from aligncheck.compiler.certificate.text import MAKER, MODE, Section, attached, spec_title
from aligncheck.compiler.modes import RunMode


def made(
    code: str = "x = 1",
    maker: str = "a 1",
    mode: str = "lattice",
    specs: Mapping[str, str] = {},
    more: Mapping[str, str] = {},
) -> str:
    """The file of `m.dp`, which may call other specs; with more sections than there are."""
    texts = {"m.dp": "one\ntwo", **specs}
    found = [Section(spec_title(path, text), tuple(text.split("\n"))) for path, text in texts.items()]
    rest = [Section(title, tuple(text.split("\n"))) for title, text in more.items()]
    return attached(f"{code}\n", [Section(MAKER, (maker,)), Section(MODE, (mode,)), *found, *rest])


TWO, CALLING = {"m.dp": "one\n 2"}, {"callee": "c"}


@pytest.mark.parametrize(
    ("found", "wanted", "told"),
    [
        (made(), made(), []),
        (made(maker="a 1"), made(maker="b 2"), []),
        (made(), made(specs=TWO), ["at/m.dp:2: now `2`, compiled from `two`"]),
        (made(), made(code="x = 2", specs=TWO), ["at/m.dp:2: now `2`, compiled from `two`"]),
        (made(), made(specs={"m.dp": "one"}), ["at/m.dp:2: now nothing more, compiled from `two`"]),
        (made(), made(specs=CALLING), ["at/callee: the module was not compiled from this spec"]),
        (
            made(specs=CALLING),
            made(specs={**TWO, "callee": "d"}),
            ["at/m.dp:2: now `2`, compiled from `two`", "at/callee:1: now `d`, compiled from `c`"],
        ),
        (made(specs=CALLING), made(), ["m.py: 4 sections of a certificate, where now 3 follow"]),
        (made(), made(code="x = 2"), ["m.py:1: `x = 1`, where now `x = 2` is generated"]),
        (made(), made(code="x = 1\ny"), ["m.py:2: ``, where now `y` is generated"]),
        (made(), made(code="y" * 120), [f"m.py:1: `x = 1`, where now `{'y' * 120}` is generated"]),
        (made(), made(code="y" * 121), [f"m.py:1: `x = 1`, where now `{'y' * 117}...` is generated"]),
        (made(), made(mode="refined"), ["m.py:9: mode: `lattice`, where now `refined` follows"]),
        (made(more={"b": "1"}), made(more={"c": "1"}), ["m.py:13: `b`, where now `c` follows"]),
        (made(more={"b": "1\n2"}), made(more={"b": "1\n3"}), ["m.py:15: b: `2`, where now `3` follows"]),
        (
            made(more={"b": "1"}),
            made(more={"b": "1", "c": "1"}),
            ["m.py: 4 sections of a certificate, where now 5 follow"],
        ),
    ],
)
def test_the_first_change_is_told_of_what_follows_from_it(found: str, wanted: str, told: list[str]) -> None:
    """Of the spec, else of the code, else of the rest; who made the files does not matter."""
    assert changes("m.py", found, "at/m.dp", "one\ntwo", wanted) == told


def test_where_nothing_is_generated_any_more_the_spec_is_compared() -> None:
    assert changes("m.py", made(code="x = 2", specs=CALLING), "at/m.dp", "one\ntwo", None) == []
    told = changes("m.py", made(specs=CALLING), "at/m.dp", "one\n 2", None)
    assert told == ["at/m.dp:2: now `2`, compiled from `two`"]


def test_a_file_that_is_not_as_it_was_written_says_so_first() -> None:
    edited = made().replace("x = 1", "x = 0")
    assert changes("m.py", edited, "m.dp", "one\ntwo", made()) == [
        "m.py: changed after it was compiled (its digest does not fit)",
        "m.py:1: `x = 0`, where now `x = 1` is generated",
    ]
    (no,) = changes("m.py", "x = 1\n", "m.dp", "one\ntwo", made())
    assert no.startswith("m.py: no certificate")
    (cut,) = changes("m.py", made() + "x\n", "m.dp", "one\ntwo", made())
    assert cut == f"m.py:{made().count(chr(10)) + 1}: no line of a certificate"


def test_a_file_says_for_which_mode_it_was_generated() -> None:
    for mode in RunMode:
        assert mode_of(made(mode=mode.value)) is mode
    assert mode_of(made(mode="boat")) is mode_of("") is None

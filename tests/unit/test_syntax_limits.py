"""Size and depth: every limit is an error of its own, found at once, and nothing below it is refused."""

from __future__ import annotations

import time

import pytest

from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax import limits
from aligncheck.language.syntax.build import MAX_ARMS, MAX_DIGITS
from aligncheck.language.syntax.layout import MAX_BLOCKS, MAX_BRACKETS, MAX_WORD
from aligncheck.language.syntax.parse import parse
from aligncheck.language.unparse import unparse

SECONDS = 1.0
"""The longest that any bad input may take, as the issue has it; all of them take a fraction of it."""

HEAD = "mechanism m\ninput\n  a : real\n  q : queries, sensitivity 1\nprivacy 1\nprogram\n"


def assigned(value: str) -> str:
    return f"{HEAD}  x = {value}\n"


def nested(text: str, depth: int) -> str:
    return (
        HEAD
        + "".join("  " * (level + 1) + text + "\n" for level in range(depth))
        + "  " * (depth + 1)
        + "pass\n"
    )


def align(lines: str) -> str:
    return HEAD + "  eta ~ Lap(1)\nalign\n" + lines


TOO_MUCH = {
    "10,000 parentheses": (assigned("(" * 10_000 + "1" + ")" * 10_000), "too-deep", "("),
    "10,000 open parentheses": (assigned("(" * 10_000), "too-deep", "("),
    "10,000 terms": (assigned(" + ".join(["a"] * 10_000)), "too-many-terms", None),
    "10,000 links": (assigned(" < ".join(["a"] * 10_000)), "too-many-terms", None),
    "10,000 conditions": (assigned(" and ".join(["true"] * 10_000)), "too-many-terms", None),
    "10,000 minus signs": (assigned("-" * 10_000 + "1"), "too-many-terms", "-"),
    "10,000 choices": (assigned("1 if true else " * 10_000 + "1"), "too-many-terms", None),
    "10,000 arguments": (assigned("max(" + ", ".join(["a"] * 10_000) + ")"), "too-many-terms", None),
    "10,000 powers": (assigned("2**" * 10_000 + "1"), "too-many-terms", "**"),
    "5,000 elif": (
        HEAD + "  if a > 0: pass\n" + "".join(f"  elif a > {i}: pass\n" for i in range(5_000)),
        "too-many-branches",
        "elif a > 63",
    ),
    "5,000 cases": (align("  case a > 0: eta += 1\n" * 5_000), "too-many-branches", "case a > 0"),
    "5,000 statements": (HEAD + "  x = 1\n" * 5_000, "too-large", "x"),
    "5,000 shifts": (align("  eta += 1\n" * 5_000), "too-large", None),
    "5,000 inputs": (
        "mechanism m\ninput\n"
        + "".join(f"  x{i} : real\n" for i in range(5_000))
        + "privacy 1\nprogram\n  pass\n",
        "too-large",
        None,
    ),
    "500 blocks": (nested("if a > 0:", 500), "too-deep", "if"),
    "9**9**9": (assigned("9**9**9"), "bad-exponent", "9**9"),
    "a power of a power": (assigned("(((a**16)**16)**16)**16"), "too-large-power", "((a**16)**16)"),
    "a power of a sum": (assigned("(a + 1 + q[0] + q[1] + q[2] + q[3])**16"), "too-large-power", None),
    "a power by steps": (HEAD + "  x = (a + 1)**16\n  y = x**16\n  z = y**16\n", "too-large-power", "x**16"),
    "a product by steps": (HEAD + "  x = a + 1\n" + "  x = x*(x + 1)\n" * 20, "too-large-power", None),
    "1e400": (assigned("1e400"), "bad-number", "1e400"),
    "1e-999999999": (assigned("1e-999999999"), "bad-number", "1e-999999999"),
    "5,000 digits": (assigned("9" * 5_000), "bad-number", "9" * 5_000),
    "5,000 decimals": (assigned("0." + "9" * 5_000), "bad-number", "0." + "9" * 5_000),
    "an exponent of 5,000 digits": (assigned("1e" + "9" * 5_000), "bad-number", "1e" + "9" * 5_000),
    "a power of 5,000 digits": (assigned("2**" + "9" * 5_000), "bad-number", "9" * 5_000),
    "a negative exponent": (assigned("2**-1"), "bad-exponent", "-1"),
    "an unknown exponent": (assigned("2**a"), "bad-exponent", "a"),
    "a broken power of an unknown": (assigned("2**(a/3)"), "bad-exponent", "(a/3)"),
    "a negative broken exponent": (assigned("2**(-1/3)"), "bad-exponent", "(-1/3)"),
    "10,000 sets in sets": (assigned("max(" * 10_000), "too-deep", "("),
    "10 sets in sets": (
        assigned("max(" * 10 + "1" + " for j in q)" * 10),
        "too-deep",
        "max(" * 7 + "1" + " for j in q)" * 7,
    ),
    "10,000 entries": (
        assigned("max(" + " + ".join(["x"] * 10_000) + " for j, x in q)"),
        "too-many-terms",
        None,
    ),
    "900 minus signs in a set": (assigned("max(" + "-" * 900 + "x for j, x in q)"), "too-deep", None),
    "a long name": (f"{HEAD}  {'x' * 5_000} = 1\n", "too-large", "x" * 5_000),
    "100,000 empty comments": ("#\n" * 100_000, "too-large", "#"),
    "200,000 spaces": (HEAD + "  x =" + " " * 200_000 + "\n", "incomplete", " "),
    "10,000 primes": (assigned("q" + "'" * 10_000), "bad-prime", "'"),
    "10,000 sections": ("mechanism m\n" * 10_000, "duplicate-section", "mechanism"),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_too_much_of_anything(name: str) -> None:
    text, code, caret = TOO_MUCH[name]
    source = Source("m.dp", text)
    taken, diagnostic = SECONDS, None
    for _ in range(4):  # the best of a few: other work on the machine slows this one down
        start = time.process_time()
        with pytest.raises(SpecError) as caught:
            parse(source)
        taken = time.process_time() - start
        diagnostic = caught.value.diagnostic
        if taken < SECONDS:
            break
    assert taken < SECONDS
    assert diagnostic is not None
    assert diagnostic.code == code, diagnostic.message
    assert caret is None or source.text_of(diagnostic.primary.span) == caret


JUST_ENOUGH = {
    "brackets": assigned("(" * MAX_BRACKETS + "1" + ")" * MAX_BRACKETS),
    "terms": assigned(" + ".join(["a"] * limits.MAX_TERMS)),
    "factors": assigned("*".join(["a"] * limits.MAX_TERMS)),
    "conditions": assigned(" or ".join(["true"] * limits.MAX_TERMS)),
    "nesting": assigned("-" * (limits.MAX_NESTING - 1) + "a"),
    "sets": assigned("max(" * limits.MAX_SETS + "q[j]" + " for j in q)" * limits.MAX_SETS),
    "a sum in a set": assigned("max(" + " + ".join(["x"] * limits.MAX_TERMS) + " for j, x in q)"),
    "indices": assigned("q[" * (limits.MAX_NESTING - 1) + "0" + "]" * (limits.MAX_NESTING - 1)),
    "arms": HEAD + "  if a > 0: pass\n" + "  elif a > 0: pass\n" * (MAX_ARMS - 1) + "  else: pass\n",
    "statements": HEAD + "  x = 1\n" * limits.MAX_STATEMENTS,
    "shifts": align("  eta += 1\n" * limits.MAX_LINES),
    "blocks": nested("if a > 0:", MAX_BLOCKS - 1),
    "digits": assigned("9" * MAX_DIGITS),
    "exponent": assigned(f"a**{limits.MAX_EXPONENT}"),
    "a long sum": HEAD + "  x = 0\n" + "  x = x + a\n" * 400,
    "a long loop": HEAD + "  x = a + 1\n  while x < 3:\n" + "    x = x*x\n" * 5,
    "names": f"{HEAD}  {'x' * MAX_WORD} = 1\n",
}


@pytest.mark.parametrize("name", JUST_ENOUGH)
def test_just_enough(name: str) -> None:
    """And later stages may recurse over it: going back to text does."""
    mechanism = parse(Source("m.dp", JUST_ENOUGH[name]))
    assert parse(Source("m.dp", unparse(mechanism))) == mechanism


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("terms", assigned(" + ".join(["a"] * (limits.MAX_TERMS + 1)))),
        ("conditions", assigned(" or ".join(["true"] * (limits.MAX_TERMS + 1)))),
        ("nesting", assigned("-" * limits.MAX_NESTING + "a")),
        ("arms", HEAD + "  if a > 0: pass\n" + "  elif a > 0: pass\n" * MAX_ARMS),
        ("statements", HEAD + "  x = 1\n" * (limits.MAX_STATEMENTS + 1)),
        ("shifts", align("  eta += 1\n" * (limits.MAX_LINES + 1))),
        ("blocks", nested("if a > 0:", MAX_BLOCKS)),
        ("digits", assigned("9" * (MAX_DIGITS + 1))),
        ("sets", assigned("max(" * (limits.MAX_SETS + 1) + "q[j]" + " for j in q)" * (limits.MAX_SETS + 1))),
        ("exponent", assigned(f"a**{limits.MAX_EXPONENT + 1}")),
        ("fields", HEAD + "  emit t(" + ", ".join(f"f{i} = 1" for i in range(limits.MAX_FIELDS + 1)) + ")\n"),
        ("names", f"{HEAD}  {'x' * (MAX_WORD + 1)} = 1\n"),
        (
            "inputs",
            HEAD.replace("  a : real\n", "".join(f"  x{i} : real\n" for i in range(limits.MAX_INPUTS))),
        ),
    ],
)
def test_one_too_many(name: str, text: str) -> None:
    with pytest.raises(SpecError):
        parse(Source("m.dp", text))


def test_deep_and_long_together() -> None:
    """Each level is a long sum: the depth of the tree is limited too, not only the levels that one sees."""
    text = "a"
    for _ in range(5):
        text = "(" + " + ".join(["a"] * 50) + f")*{text}"
        text = f"max({text}, 1)" + " + a" * 40
    with pytest.raises(SpecError) as caught:
        parse(Source("m.dp", assigned(text)))
    assert caught.value.diagnostic.code in ("too-deep", "too-large-power")

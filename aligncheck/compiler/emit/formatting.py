"""Lines of Python as `ruff format` lays them out, so that generated files are clean as written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

WIDTH = 110
"""The longest line that is left on one line where the formatter would split it otherwise."""
COMFORTABLE = 88
"""Brackets are split from here on: a trailing comma keeps the split at any line length."""
STEP = "    "


@dataclass(frozen=True, slots=True)
class Brackets:
    """A call, list or tuple: `head` and the opening bracket, the items, the closing bracket.

    An item is text, or brackets with what stands before them (`name=`). With `generator`, the items are the
    parts of a generator expression (element, `for`, `if`), the only argument.
    """

    head: str
    items: tuple[Item, ...]
    close: str = ")"
    generator: bool = False

    @property
    def flat(self) -> str:
        """All of it on one line."""
        separator = " " if self.generator else ", "
        inside = separator.join(item if isinstance(item, str) else item.flat for item in self.items)
        return f"{self.head}{inside}{',' if self._single else ''}{self.close}"

    @property
    def _single(self) -> bool:
        # Only a tuple of one element has a comma on one line. That comma does not keep it split; that of a
        # split element does.
        return len(self.items) == 1 and self.head.endswith("=(")


Item: TypeAlias = str | Brackets


def bracket_lines(brackets: Brackets, prefix: str = "", suffix: str = "") -> list[str]:
    """The lines of a statement with a bracketed expression.

    `prefix` holds the indentation and what stands before it. Where an item is too long for a line of its own,
    the statement stays on one line, with a mark that the formatter leaves it alone.
    """
    lines = _split(brackets, prefix, suffix)
    if lines is not None and all(len(text) <= COMFORTABLE for text in lines):
        return lines
    return [f"{prefix}{brackets.flat}{suffix}  # fmt: skip"]


def _split(brackets: Brackets, prefix: str, suffix: str, *, forced: bool = False) -> list[str] | None:
    """The lines, or None where the formatter would lay them out otherwise at some line length."""
    flat = f"{prefix}{brackets.flat}{suffix}"
    if (len(flat) <= COMFORTABLE and not forced) or not brackets.items:
        return [flat]
    if brackets.generator:
        return _split_generator(brackets, prefix, suffix)
    inner = prefix[: len(prefix) - len(prefix.lstrip())] + STEP
    lines = [f"{prefix}{brackets.head}"]
    for item in brackets.items:
        split = (
            [f"{inner}{item},"]
            if isinstance(item, str)
            else _split(item, inner, ",", forced=brackets._single)
        )
        if split is None:
            return None
        lines += split
    return [*lines, f"{inner[len(STEP) :]}{brackets.close}{suffix}"]


def _split_generator(brackets: Brackets, prefix: str, suffix: str) -> list[str] | None:
    """A generator has no trailing comma that keeps it split, so all depends on what fits into a line."""
    inner = prefix[: len(prefix) - len(prefix.lstrip())] + STEP
    parts = [item if isinstance(item, str) else item.flat for item in brackets.items]
    joined = " ".join(parts)
    fits = len(inner) + len(joined)
    if len(f"{prefix}{brackets.flat}{suffix}") <= WIDTH or COMFORTABLE < fits <= WIDTH:
        return None
    lines = [joined] if fits <= COMFORTABLE else parts
    if any(len(inner) + len(part) > COMFORTABLE for part in lines):
        return None
    return [
        f"{prefix}{brackets.head}",
        *(inner + x for x in lines),
        f"{inner[len(STEP) :]}{brackets.close}{suffix}",
    ]


def call(function: str, arguments: Sequence[Item]) -> Brackets:
    """`function(arguments)`."""
    return Brackets(f"{function}(", tuple(arguments))


def line(text: str, indent: str) -> str:
    """A statement on one line; where it is too long, with a mark that the formatter leaves it alone."""
    plain = f"{indent}{text}"
    return plain if len(plain) <= WIDTH else f"{plain}  # fmt: skip"


def operator_lines(
    prefix: str, operands: Sequence[str], operators: Sequence[str], suffix: str = ""
) -> list[str]:
    """`prefix` (indentation included), a chain of operands of one precedence, and `suffix`.

    Where that is too long: one operand a line, as the formatter splits a chain of two operators or more, or
    all of them on a line of their own.
    """
    words = [operands[0], *(f"{o} {x}" for o, x in zip(operators, operands[1:], strict=True))]
    flat = f"{prefix}{' '.join(words)}{suffix}"
    inner = prefix[: len(prefix) - len(prefix.lstrip())] + STEP
    if len(flat) <= WIDTH:
        return [flat]
    together = len(inner) + len(" ".join(words))
    if len(operators) < 2 or any(len(inner) + len(word) > WIDTH for word in words):
        return [f"{flat}  # fmt: skip"]
    if COMFORTABLE < together <= WIDTH:
        return [f"{flat}  # fmt: skip"]
    if together <= COMFORTABLE:
        words = [" ".join(words)]
    return [f"{prefix}(", *(inner + word for word in words), f"{inner[len(STEP) :]}){suffix}"]


def quoted(text: str) -> str:
    """A string literal as the formatter writes it."""
    escaped = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text.replace("\\", "\\\\"))
    if escaped.count('"') > escaped.count("'"):
        return "'" + escaped.replace("'", "\\'") + "'"
    return '"' + escaped.replace('"', '\\"') + '"'

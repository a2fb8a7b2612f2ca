"""Text from elsewhere (titles, names of files, comments, cells of tables) as a terminal may be given it."""

from __future__ import annotations

_SHOWN = "\N{REPLACEMENT CHARACTER}"


def printable(text: str) -> str:
    """The text of one line with whatever would move the cursor, set colours or reorder the line made visible:
    control characters (escape sequences begin with one), formatting ones (bidirectional overrides, characters
    of no width), separators of lines and paragraphs, lone surrogates.
    """
    if text.isprintable():  # none of these is, by Unicode's categories
        return text
    return "".join(character if _is_harmless(character) else _SHOWN for character in text)


def _is_harmless(character: str) -> bool:
    from unicodedata import category

    return category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")

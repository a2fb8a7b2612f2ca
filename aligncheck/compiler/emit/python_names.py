"""Python names for a spec's identifiers: the same word where Python allows it, else with an underscore."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable, Mapping

# The names that `site` adds only in some interpreters are listed, so that the output is the same everywhere.
_BUILTINS = frozenset(n for n in dir(builtins) if not n.startswith("_")) | {
    "copyright",
    "credits",
    "exit",
    "help",
    "license",
    "quit",
}
PYTHON_WORDS: frozenset[str] = _BUILTINS | frozenset(keyword.kwlist) | frozenset(keyword.softkwlist)


def python_names(idents: Iterable[str], reserved: frozenset[str]) -> dict[str, str]:
    """A distinct Python identifier for each of a spec's, none of them a Python word or `reserved`.

    Identifiers that can stay as they are keep their name whatever else is renamed.
    """
    unusable = PYTHON_WORDS | reserved
    idents = list(dict.fromkeys(idents))
    names = {ident: ident for ident in idents if _plain(ident) and ident not in unusable}
    taken = set(names.values()) | unusable
    for ident in idents:
        if ident not in names:
            names[ident] = _free(_ascii(ident), taken)
            taken.add(names[ident])
    return {ident: names[ident] for ident in idents}


def class_name(word: str, taken: Iterable[str]) -> str:
    """CamelCase of a snake_case word: `adaptive_svt` is `AdaptiveSvt`."""
    camel = "".join(part[:1].upper() + part[1:] for part in _ascii(word).split("_"))
    return _free(camel, set(taken) | PYTHON_WORDS)


def fresh(word: str, names: Mapping[str, str]) -> str:
    """A Python name that none of `names` uses."""
    return _free(word, set(names.values()) | PYTHON_WORDS)


def _plain(ident: str) -> bool:
    # A leading underscore is mangled inside classes.
    return ident.isascii() and ident.isidentifier() and not ident.startswith("_")


def _ascii(ident: str) -> str:
    """Letters, digits and underscores only, starting with a letter."""
    word = "".join(c if c.isascii() and (c.isalnum() or c == "_") else f"u{ord(c):x}" for c in ident)
    word = word.lstrip("_")
    return word if word[:1].isalpha() else f"v{word}"


def _free(word: str, taken: set[str] | frozenset[str]) -> str:
    while word in taken:
        word += "_"
    return word

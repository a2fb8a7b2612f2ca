"""The parser that Lark makes of `grammar.lark`.

Lark takes a fifth of a second for it, so the result is kept in the user's own cache, under a fingerprint of
the grammar, of Lark's version and of Python's: a file for each, so that installations side by side keep
theirs. One that does not fit is made anew; where none can be kept, every run takes that long.
"""

from __future__ import annotations

import os
import sys
import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lark import Lark

_GRAMMAR = Path(__file__).with_name("grammar.lark")


@cache
def grammar() -> Lark:
    """The parser (LALR). Terminals are fed to it one by one: they come from `layout`."""
    from lark import Lark, __version__

    text = _GRAMMAR.read_text("utf-8")
    kept = _kept(f"grammar-{sys.implementation.cache_tag}-{__version__}-{zlib.crc32(text.encode()):08x}")
    return Lark(text, parser="lalr", lexer="basic", maybe_placeholders=True, cache=kept or False)


def _kept(name: str) -> str | None:
    """Where to keep it: a folder that nobody else may write to, since what is read there is believed."""
    try:
        given = Path(os.environ.get("XDG_CACHE_HOME", ""))  # a relative one counts as none, by its standard
        folder = (given if given.is_absolute() else Path.home() / ".cache") / "aligncheck"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except (OSError, RuntimeError):
        return None
    mine = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)
    return str(folder / name) if mine else None

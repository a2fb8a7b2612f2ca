"""Wording shared by the faults of several stages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """`did you mean …?` with at most three known names that are close to `name`; None where none is."""
    pool = {each.lower(): each for each in reversed(list(known))}
    close = [pool[each] for each in get_close_matches(name.lower()[:60], list(pool), n=3, cutoff=0.66)]
    close = [each for each in close if each[:1].lower() == name[:1].lower() or len(each) > 3]
    if len(name) > 2:
        # One is the beginning of the other, as `eps` is of `epsilon`.
        close += [
            each
            for key, each in pool.items()
            if (key.startswith(name.lower()) or (len(key) > 2 and name.lower().startswith(key)))
            and each not in close
        ]
    close = [each for each in close if each != name][:3]
    if not close:
        return None
    return "did you mean " + " or ".join(f"`{each}`" for each in close) + "?"


def closest(name: str, known: Iterable[str]) -> str:
    """`did you mean …?` with the known name that is closest, outside of specs; empty where none is close."""
    return next((f"did you mean `{near}`?" for near in get_close_matches(name, known, 1)), "")

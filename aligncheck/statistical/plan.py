"""What to test, how it is called, and how hard; the seeds of all its parts."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np

from aligncheck.statistical.patterns import InputPair
from aligncheck.statistical.reference import Reference

Bar: TypeAlias = tuple[float, float]
"""What is tested: eps and delta."""

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the stage, how many portions of it are done, and how many there are."""

SLACK = 20.0
"""How many times as long as first runs suggest a portion may take before it is stopped."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What is to be tested and how it is called: everything a worker needs to build the target.

    Attributes:
        reference: the function.
        settings: arguments as text, by name.
        offered: further arguments as text, chosen by a search; each is for a parameter of its name that the
            function has, if it is not set.
        database: the parameter that takes the private input; None for the first one.
        eps: for the parameter `eps` or `epsilon` where it is not among the settings.
        delta: for the parameter `delta`, likewise.
        array: plain functions get lists of numbers as NumPy arrays.
        by_paths: generated mechanisms are run once for each path (see `lanes`).
        patience: seconds after which a call of a plain function counts as never returning.
    """

    reference: Reference
    settings: tuple[tuple[str, str], ...] = ()
    database: str | None = None
    eps: float | None = None
    array: bool = False
    by_paths: bool = True
    patience: float = 60.0
    offered: tuple[tuple[str, str], ...] = ()
    delta: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What to test and how hard.

    Attributes:
        setup: the function and its arguments.
        pairs: the inputs to choose from.
        levels: the values of eps to test; None for the level that the function claims.
        claim: the level that counts as a violation; None for the only one of `levels`, or the function's own.
        selection: runs on each input of each pair for choosing the event.
        runs: runs on each input for the final test.
        alpha: the level of significance, between 0 and 1.
        seed: of everything.
        jobs: processes.
        timeout: seconds after which a call, or the module's import, counts as never returning.
        delta: that of the claim, and of all levels; None for the one that the function claims, if any.
    """

    setup: Setup
    pairs: tuple[InputPair, ...]
    levels: tuple[float, ...] | None
    claim: float | None
    selection: int
    runs: int
    alpha: float
    seed: int
    jobs: int
    timeout: float
    delta: float | None = None


class SeedStream(IntEnum):
    """First entries of the seeds' keys: no two parts share random numbers."""

    SELECTING = 0
    TESTING = 1
    THINNING = 2
    PROBING = 3


def seed_of(plan: Plan, part: SeedStream, *key: int) -> np.random.SeedSequence:
    """The seed of one portion of a part."""
    return np.random.SeedSequence(plan.seed, spawn_key=(int(part), *key))


def setup_of(plan: Plan, pair: InputPair) -> Setup:
    """How the function is called on a pair's inputs."""
    settings = (*plan.setup.settings, *pair.settings)
    return dataclasses.replace(plan.setup, settings=settings, offered=pair.offered)


def value_of(text: str) -> Any:
    """An argument as written on a command line: a Python literal, `1/2`, `true`, or else the text itself."""
    lowered = text.strip().lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    top, slash, bottom = text.partition("/")
    if slash:
        try:
            return float(top) / float(bottom)
        except (ValueError, ZeroDivisionError):
            return text
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return text

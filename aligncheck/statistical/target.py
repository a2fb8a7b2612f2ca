"""The function under test: which arguments it is given, and many runs of it as columns."""

from __future__ import annotations

import copy
import inspect
import os
import random
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Protocol

import numpy as np

from aligncheck.runtime import Mechanism
from aligncheck.statistical.cannot_test import CannotTest, needs, one_line, unknown
from aligncheck.statistical.compiled import compiled
from aligncheck.statistical.outputs import Outputs, Thrown, joined, outputs_of, outputs_of_batch
from aligncheck.statistical.plan import Bar, Setup, value_of
from aligncheck.statistical.reference import load
from aligncheck.workers import TookTooLong, stopped_after

BATCH = 25_000
"""Runs of one call with `size=`, at most."""

EPS = ("eps", "epsilon")
"""Names of a parameter that takes the privacy level."""

_SIZE = "size"
_DELTA = "delta"
_GENERATORS = ("rng", "generator")
_RANDOM_STATE = "random_state"
_SEED = "seed"
_SUPPLIED = (_SIZE, *_GENERATORS, _RANDOM_STATE, _SEED)


class Target(Protocol):
    """A function that can be run."""

    @property
    def how(self) -> str:
        """How it is run: `one call per run`, `batches (size=)`, …"""
        ...

    @property
    def batched(self) -> bool:
        """Whether one call makes many runs, so that few runs take about as long."""
        ...

    def run(self, database: Any, runs: int, seed: np.random.SeedSequence) -> Outputs:
        """Independent runs. Equal seeds give equal outputs where the function's randomness can be seeded.

        Raises:
            CannotTest: a run raised, or its output cannot be read.
        """
        ...

    def claim(self, database: Any) -> Bar | None:
        """The privacy level that the function says it has on this input, or None: eps and delta."""
        ...


@cache
def target(setup: Setup) -> Target:
    """The function that a setup names, ready to run.

    Raises:
        CannotTest: it cannot be found or called, or an argument is missing or unknown.
    """
    found = load(setup.reference)
    if isinstance(found, Mechanism) or (isinstance(found, type) and issubclass(found, Mechanism)):
        return compiled(found, setup)
    if isinstance(found, type):
        raise CannotTest(
            f"`{setup.reference}` is a class",
            "name a function, or write one that makes the object and calls it",
        )
    if not callable(found):
        raise CannotTest(f"`{setup.reference}` is a {type(found).__name__}, not a function")
    return _function(found, setup)


@dataclass(frozen=True)
class _Function:
    """A plain function; `generator` makes the argument that seeds it, under the name `takes`. That a single
    run raises is what it comes to, unless `strict`.
    """

    name: str
    call: Callable[..., Any]
    database: str | None  # None: given by position
    arguments: Mapping[str, Any]
    own_eps: float | None
    batched: bool
    takes: str | None
    array: bool
    patience: float
    strict: bool = False

    @property
    def how(self) -> str:
        return f"batches of {BATCH:,} runs (`{_SIZE}=`)" if self.batched else "one call per run"

    def claim(self, database: Any) -> Bar | None:
        return None if self.own_eps is None else (self.own_eps, 0.0)

    def run(self, database: Any, runs: int, seed: np.random.SeedSequence) -> Outputs:
        words = [int(word) for word in seed.generate_state(4)]
        random.seed(words[0])
        np.random.seed(words[1])
        generator = np.random.default_rng(seed)
        state = np.random.RandomState(words[2]) if self.takes == _RANDOM_STATE else None
        sizes = (
            [min(BATCH, runs - start) for start in range(0, runs, BATCH)] if self.batched else [None] * runs
        )
        found = []
        try:
            with warnings.catch_warnings(), stopped_after(self.patience, TookTooLong) as again:
                warnings.simplefilter("ignore")
                for size in sizes:
                    again()
                    found.append(self._called(database, generator, state, size))
        except TookTooLong:
            raise CannotTest(
                f"`{self.name}` did not return within {self.patience:g} s, on the input {database}",
                "allow more with `--timeout`",
            ) from None
        if not self.batched:
            return outputs_of(found, self.name)
        parts = [
            outputs_of_batch(value, size or 0, self.name) for value, size in zip(found, sizes, strict=True)
        ]
        return joined(parts, self.name)

    def _called(
        self,
        database: Any,
        generator: np.random.Generator,
        state: np.random.RandomState | None,
        size: int | None,
    ) -> Any:
        arguments = dict(self.arguments)
        if size is not None:
            arguments[_SIZE] = size
        if self.takes in _GENERATORS:
            arguments[self.takes] = generator
        elif self.takes == _RANDOM_STATE:
            arguments[_RANDOM_STATE] = state
        elif self.takes == _SEED:
            arguments[_SEED] = int(generator.integers(2**32))
        given = self._given(database)
        here = os.getpid()
        try:
            if self.database is None:
                return self.call(given, **arguments)
            return self.call(**{self.database: given}, **arguments)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            if isinstance(error, Exception) and not self.batched and not self.strict:
                return Thrown(error)
            one = ", in a call for many runs: without `size`, a run that raises is an outcome"
            where = f"on the input {database}{one if self.batched else ''}"
            raise CannotTest(f"`{self.name}` raised {one_line(error)}", where) from None
        finally:
            if os.getpid() != here:  # a process that the function made and let return
                os._exit(0)

    def _given(self, database: Any) -> Any:
        """A copy, so that a function may change its argument."""
        if isinstance(database, list) and all(type(entry) in (float, int) for entry in database):
            return np.array(database) if self.array or self.batched else database.copy()
        return copy.deepcopy(database)


def run_strictly(tested: Target, database: Any, seed: np.random.SeedSequence) -> None:
    """One run. Raises CannotTest with all that is known of an exception."""
    (replace(tested, strict=True) if isinstance(tested, _Function) else tested).run(database, 1, seed)


def _function(call: Callable[..., Any], setup: Setup) -> _Function:
    name = setup.reference.name
    try:
        parameters = inspect.signature(call).parameters
    except (TypeError, ValueError):
        raise CannotTest(
            f"the parameters of `{name}` cannot be found out", "write a Python function that calls it"
        ) from None
    named = {
        key: parameter
        for key, parameter in parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    database = _database(name, parameters, setup.database)
    arguments = {key: value_of(text) for key, text in setup.settings}
    for key in arguments:
        if key == database or (key not in named and not open_ended):
            raise CannotTest(*unknown(name, key, [n for n in named if n not in (database, *_SUPPLIED)]))
    for key, text in setup.offered:
        if key in named and key != database:
            arguments.setdefault(key, value_of(text))
    eps_name = next((key for key in EPS if key in named and key != database), None)
    if eps_name is not None and eps_name not in arguments and setup.eps is not None:
        arguments[eps_name] = setup.eps
    if _DELTA in named and setup.delta is not None:
        arguments.setdefault(_DELTA, setup.delta)
    free = [key for key in named if key != database and key not in arguments]
    missing = [key for key in free if named[key].default is inspect.Parameter.empty and key not in _SUPPLIED]
    if missing:
        raise CannotTest(*_missing(name, missing))
    own = arguments.get(eps_name) if eps_name is not None else None
    if own is None and eps_name is not None and eps_name in named:
        own = named[eps_name].default
    return _Function(
        name=name,
        call=call,
        database=None if _by_position(parameters, database) else database,
        arguments=arguments,
        own_eps=float(own) if isinstance(own, int | float) and not isinstance(own, bool) else None,
        batched=_SIZE in free,
        takes=next((key for key in (*_GENERATORS, _RANDOM_STATE, _SEED) if key in free), None),
        array=setup.array,
        patience=setup.patience,
    )


def _by_position(parameters: Mapping[str, inspect.Parameter], database: str) -> bool:
    """Whether it is the first: any other is named, since those before it are."""
    named = parameters[database].kind is inspect.Parameter.KEYWORD_ONLY
    return database == next(iter(parameters)) and not named


def _database(name: str, parameters: Mapping[str, inspect.Parameter], wanted: str | None) -> str:
    """The parameter that takes the private input."""
    taken = [key for key, parameter in parameters.items() if parameter.kind is not parameter.VAR_KEYWORD]
    if not taken:
        raise CannotTest(
            f"`{name}` takes no argument that could be the private input",
            "its first parameter is the private input, or the one that `--database` names",
        )
    if wanted is None or wanted == taken[0]:
        return taken[0]
    if wanted not in taken:
        raise CannotTest(*unknown(name, wanted, taken))
    if parameters[wanted].kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL):
        raise CannotTest(f"`{wanted}` of `{name}` can only be given by position", "wrap the function")
    return wanted


def _missing(name: str, missing: list[str]) -> tuple[str, str]:
    if len(missing) == 1 and missing[0] in EPS:
        return (
            f"`{name}` needs `{missing[0]}`, the level that it is to claim",
            f"--set {missing[0]}=VALUE, or a single `--eps VALUE`, which it is then given",
        )
    return needs(name, missing)

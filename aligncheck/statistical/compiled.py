"""Mechanisms that `aligncheck compile` made, as targets."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from aligncheck.language.adjacencies import Adjacency
from aligncheck.runtime import (
    ArgumentError,
    FloatingNoise,
    Mechanism,
    MechanismError,
    Noise,
    ParameterInfo,
    QueryInfo,
    Spec,
)
from aligncheck.runtime.losses import ApproximateLoss, ConcentratedLoss, Loss, PureLoss, tight_epsilon_of
from aligncheck.statistical.cannot_test import CannotTest, needs, one_line, unknown
from aligncheck.statistical.lanes import TooManyPaths, run_lanes
from aligncheck.statistical.outputs import Outputs, joined, outputs_of
from aligncheck.statistical.patterns import InputPair
from aligncheck.statistical.plan import Bar, Setup, value_of

CONCENTRATED_AT = 1e-3
"""A smaller δ is seldom reached by so many runs as a test makes."""

LANES = 100_000
"""Runs of one execution, at most."""


@dataclass(frozen=True)
class Compiled:
    """A generated mechanism with its parameters: every path is run once for all runs that take it.

    Where a program cannot be run so (it would split into nearly as many paths as there are runs, or computes
    with numbers in a way that has no counterpart on arrays), it is called once per run.
    """

    mechanism: Any
    by_paths: bool = True
    batched: bool = False
    delta: float | None = None

    @property
    def how(self) -> str:
        return "compiled: all runs of a path at once" if self.by_paths else "compiled: one call per run"

    def claim(self, database: Any) -> Bar | None:
        """The claim, evaluated; at most, where it depends on the output. One in ρ as the ε that it implies at
        the δ that is tested, or `CONCENTRATED_AT`, rounded up.
        """
        own = self.mechanism.with_noise(FloatingNoise())
        try:
            self._call(database, own)
            loss: Loss = own.loss
            match loss:
                case PureLoss(epsilon=epsilon):
                    return float(epsilon), 0.0
                case ApproximateLoss(epsilon=epsilon, delta=delta):
                    return float(epsilon), float(delta)
                case ConcentratedLoss(rho=rho):
                    at = self.delta or CONCENTRATED_AT
                    return float(tight_epsilon_of(rho, at)), at
        except (ArithmeticError, LookupError, MechanismError) as error:
            raise CannotTest(f"`{self._name}` raised {one_line(error)}", f"on the input {database}") from None

    def require_neighbours(self, pair: InputPair) -> None:
        """Refuses a pair that the spec's adjacency or sensitivity excludes, as far as that can be told.

        Raises:
            CannotTest: naming what is declared. A verified mechanism would be accused wrongly.
        """
        (query,) = self.mechanism.spec.queries if len(self.mechanism.spec.queries) == 1 else (None,)
        if query is None or not query.vector or not isinstance(pair.first, list):
            return
        differences = [b - a for a, b in zip(pair.first, pair.second, strict=False)]
        bound = self._sensitivity(query)
        if len(pair.first) == len(pair.second) and _may_differ(differences, query.adjacency, bound):
            return
        declared = f"adjacency `{query.adjacency}`"
        if query.sensitivity is not None:
            declared += f", sensitivity `{query.sensitivity}`" + ("" if bound is None else f" = {bound:g}")
        raise CannotTest(
            f"D = {pair.first} and D' = {pair.second} are no neighbours for `{self._name}` ({declared})",
            "see `--adjacency` (`one` for `l1` as well), `--sensitivity` and `--pair`",
        )

    def _sensitivity(self, query: QueryInfo) -> float | None:
        """Where it is a number or a parameter."""
        text = query.sensitivity or ""
        for info in self.mechanism.spec.parameters:
            if info.name == text and not info.vector:
                return float(getattr(self.mechanism, info.keyword))
        value = value_of(text)
        return float(value) if isinstance(value, int | float) else None

    def run(self, database: Any, runs: int, seed: np.random.SeedSequence) -> Outputs:
        sizes = [min(LANES, runs - start) for start in range(0, runs, LANES)]
        seeds = [
            np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, i)) for i in range(len(sizes))
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                parts = [self._batch(database, size, own) for size, own in zip(sizes, seeds, strict=True)]
            except (ArithmeticError, LookupError, MechanismError, TypeError) as error:
                raise CannotTest(
                    f"`{self._name}` raised {one_line(error)}", f"on the input {database}"
                ) from None
        return joined(parts, self._name)

    def runs_by_paths(self, database: Any, seed: np.random.SeedSequence) -> bool:
        """Whether a batch can be run by paths."""
        try:
            self._lanes(database, LANES, seed)
        except TooManyPaths:
            return False
        except (ArithmeticError, LookupError, MechanismError) as error:
            raise CannotTest(f"`{self._name}` raised {one_line(error)}", f"on the input {database}") from None
        return True

    @property
    def _name(self) -> str:
        return type(self.mechanism).__name__

    def _lanes(self, database: Any, runs: int, seed: np.random.SeedSequence) -> Outputs:
        def execute(noise: Noise) -> Any:
            return self._call(database, self.mechanism.with_noise(noise))

        return run_lanes(execute, runs, seed, self._name)

    def _batch(self, database: Any, runs: int, seed: np.random.SeedSequence) -> Outputs:
        if self.by_paths:
            with contextlib.suppress(TooManyPaths):
                return self._lanes(database, runs, seed)
        # A seed of its own for each batch: whether another batch could be run by paths must not matter.
        noise = FloatingNoise(int(seed.generate_state(1, np.uint64)[0]))
        outputs = [self._call(database, self.mechanism.with_noise(noise)) for _ in range(runs)]
        return outputs_of(outputs, self._name)

    def _call(self, database: Any, mechanism: Any) -> Any:
        queries = self.mechanism.spec.queries
        if len(queries) == 1:
            one = database if queries[0].vector or not isinstance(database, list) else database[0]
            return mechanism(_typed(one, queries[0]))
        if not isinstance(database, dict) or set(database) != {query.name for query in queries}:
            names = ", ".join(f"`{query.name}`" for query in queries)
            entries = ", ".join(f'"{query.name}": …' for query in queries)
            raise CannotTest(
                f"`{self._name}` has the private inputs {names}", f"--pair D D', each as '{{{entries}}}'"
            )
        return mechanism(*(_typed(database[query.name], query) for query in queries))


def _typed(answers: Any, query: QueryInfo) -> Any:
    """Whole floats as integers where the spec has such: it may take no others."""
    if query.sort == "int" and isinstance(answers, list):
        return [_typed(answer, query) for answer in answers]
    return int(answers) if query.sort == "int" and _is_whole(answers) else answers


def _is_whole(answer: Any) -> bool:
    return isinstance(answer, float) and answer.is_integer()


def _may_differ(differences: list[float], adjacency: str | None, bound: float | None) -> bool:
    """Whether neighbouring answers may differ so; `bound` None: by how much is not known."""
    moved = [difference for difference in differences if difference != 0]
    slack = math.inf if bound is None else bound * (1 + 1e-9)
    known = next((each for each in Adjacency if each.value == adjacency), None)
    if known is None and adjacency is not None:
        raise CannotTest(f"it is not known which inputs are neighbours under `{adjacency}`")
    return (known or Adjacency.ALL).fits(moved, slack)


def compiled(found: Any, setup: Setup) -> Compiled:
    """A generated class with its parameters set, or an object of one.

    Raises:
        CannotTest: a parameter is missing, unknown or out of range, or the mechanism takes public functions.
    """
    spec: Spec = found.spec
    if setup.database is not None and setup.database not in {query.name for query in spec.queries}:
        raise CannotTest(f"`{spec.name}` has no private input `{setup.database}`")
    if isinstance(found, Mechanism) and setup.settings:
        raise CannotTest(
            f"`{setup.reference}` is an object, whose parameters are set",
            f"name the class `{type(found).__name__}` to set them here",
        )
    mechanism = found if isinstance(found, Mechanism) else _made(found, spec, setup)
    return Compiled(mechanism, setup.by_paths, delta=setup.delta)


def _made(cls: Callable[..., Mechanism], spec: Spec, setup: Setup) -> Mechanism:
    if spec.functions:
        raise CannotTest(
            f"`{spec.name}` needs public functions: {', '.join(f'`{f.name}`' for f in spec.functions)}",
            "name an object of the class that has them, or a function that makes one and calls it",
        )
    infos = {info.name: info for info in spec.parameters}
    settings = dict(setup.settings)
    if setup.eps is not None and "eps" in infos:
        settings.setdefault("eps", repr(setup.eps))
    if setup.delta is not None and "delta" in infos:
        settings.setdefault("delta", repr(setup.delta))
    settings = {**{name: text for name, text in setup.offered if name in infos}, **settings}
    for name in settings:
        if name not in infos:
            raise CannotTest(*unknown(spec.name, name, list(infos)))
    missing = [name for name, info in infos.items() if name not in settings and info.default is None]
    if missing:
        raise CannotTest(*needs(spec.name, missing))
    try:
        return cls(**{infos[name].keyword: _value(infos[name], text) for name, text in settings.items()})
    except ArgumentError as error:
        raise CannotTest(str(error)) from None


def _value(info: ParameterInfo, text: str) -> Any:
    if info.vector:
        entries = text.strip("[]() ").split(",") if text.strip("[]() ") else []
        return [_single(info, entry) for entry in entries]
    return _single(info, text)


def _single(info: ParameterInfo, text: str) -> Any:
    """Numbers stay text: the runtime reads them exactly."""
    return value_of(text) if info.sort == "bool" else text.strip()

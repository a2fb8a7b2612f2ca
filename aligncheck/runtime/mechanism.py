"""The class that generated mechanisms derive from, and what they say about themselves."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import ClassVar, Self

from aligncheck.runtime.errors import ParameterError
from aligncheck.runtime.noise import FloatingNoise, Noise


@dataclass(frozen=True, slots=True)
class ParameterInfo:
    """A public parameter: its name in the spec, its keyword in Python, its sort and its `where` text."""

    name: str
    keyword: str
    sort: str
    vector: bool = False
    where: str | None = None


@dataclass(frozen=True, slots=True)
class QueryInfo:
    """A private input: its name in the spec, its keyword in Python, its sort, one answer or a list.

    `adjacency` and `sensitivity` are the spec's words for how neighbouring data differ: `all`, `1`.
    """

    name: str
    keyword: str
    sort: str
    vector: bool
    adjacency: str | None = None
    sensitivity: str | None = None


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """A public function that the caller supplies: its name in the spec and its keyword in Python."""

    name: str
    keyword: str


@dataclass(frozen=True, slots=True)
class Spec:
    """What a generated class was made from: the mechanism's name, its claim as text, its inputs in order.

    `bound` is the most that any output costs, where the claim depends on the output.
    """

    name: str
    claim: str
    parameters: tuple[ParameterInfo, ...]
    queries: tuple[QueryInfo, ...]
    functions: tuple[FunctionInfo, ...] = ()
    bound: str | None = None


class Mechanism:
    """A verified mechanism with its public parameters; calling it runs it once and spends its privacy claim.

    Runs of one object are independent: each of them spends anew.
    """

    spec: ClassVar[Spec]
    callees: ClassVar[tuple[type[Mechanism], ...]] = ()
    """The mechanisms that this one calls."""

    floating_point: ClassVar[bool] = True
    """This build computes in floating point, which the proof does not cover: for experiments only."""

    def __init__(self, *, seed: int | None = None) -> None:
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
            raise ParameterError("seed", "must be an integer or None")
        self._noise: Noise = FloatingNoise(seed)

    def with_noise(self, noise: Noise) -> Self:
        """The same mechanism drawing from another source; its results carry the source's remark."""
        other = copy.copy(self)
        other._noise = noise
        return other

    def __repr__(self) -> str:
        values = ", ".join(f"{p.keyword}={getattr(self, p.keyword)}" for p in self.spec.parameters)
        return f"{type(self).__name__}({values})"

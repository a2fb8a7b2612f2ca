"""What the language refuses by name, and why: data for both stages that refuse."""

from __future__ import annotations

from aligncheck.diagnostics import SpecError, fault
from aligncheck.source import Source, Span

_GAUSS = (
    "a shift of Gaussian noise has no bounded cost (condition iii of the lemma fails), so it gives δ > 0, which is out of scope",
    "use `Lap`, `Exp`, `Geo` or `DLap`",
)
_CHOICE = (
    "a shift cannot align a draw with a bounded or two-valued range: randomized response needs another argument",
    "use `Lap`, `Exp`, `Geo` or `DLap`",
)
_HEAVY = (
    "its cost under a shift is not `|x - x'| / scale`, the only form that is supported",
    "use `Lap` or `Exp`; the arg-max of Gumbel noise is the exponential mechanism",
)
_JOINT = (
    "draws must be independent of each other (condition iii of the lemma)",
    "draw each variable on its own",
)

REFUSED_FAMILIES: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("gauss", "gaussian", "normal", "norm", "n", "dgauss", "discretegaussian"), _GAUSS),
    **dict.fromkeys(
        (
            "bernoulli",
            "bern",
            "flip",
            "coin",
            "binomial",
            "uniform",
            "unif",
            "u",
            "choice",
            "categorical",
            "randint",
        ),
        _CHOICE,
    ),
    **dict.fromkeys(
        ("gumbel", "cauchy", "student", "studentt", "gamma", "logistic", "poisson", "staircase", "beta"),
        _HEAVY,
    ),
    **dict.fromkeys(
        ("multivariatelaplace", "mvlap", "dirichlet", "multinormal", "multivariatenormal"), _JOINT
    ),
}
"""Noise families by lower-case name: why each is refused, and what to use instead."""

REFUSED_FUNCTIONS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("argmax", "arg_max", "argmin", "top", "topk", "top_k", "argtop"),
        (
            "selection over a set of indices is not supported yet",
            "a running maximum in a loop can be written today",
        ),
    ),
}
"""Functions by lower-case name: why each is refused, and what to do instead."""


def scope_fault(source: Source, name: str, reason: tuple[str, str], span: Span) -> SpecError:
    """The error for something that is refused by name."""
    why, instead = reason
    return fault(
        source, "scope", f"`{name}` is out of scope", span, label="refused", notes=(why,), help=instead
    )

"""What the language refuses by name, and why: data for both stages that refuse."""

from __future__ import annotations

from aligncheck.language.diagnostics import SpecError, fault
from aligncheck.language.source import Source, Span

_GAUSS = (
    "a shift of Gaussian noise has no bounded cost (condition iii of the lemma fails): it is for claims in δ "
    "or ρ, and has the mean 0",
    "write `Gauss(sigma)` beside `privacy rho zcdp` or `privacy eps delta delta`, and `Lap(scale)` for ε",
)
_CHOICE = (
    "a shift cannot align a draw with a bounded range",
    "noise on a number is `Lap(scale)`, on a whole one `DLap(scale)`; a coin is `b ~ Bernoulli(p)`, 1 with "
    "probability p and else 0, where p may read private answers",
)
_TAILED = (
    "a shift of it has a bounded cost (its log-density has a bounded slope), but no rule, sampler or test "
    "for it is built in",
    "use `Cauchy`, or `Lap`, whose tails are lighter; a shift by d costs d/scale",
)
_STEEP = (
    "not every shift of it has a cost of at most `|x - x'| / scale` (condition iii of the lemma); of the "
    "noise that may be moved in one direction only, `Exp`, `Geo`, `DExp` and `Gumbel` are built in",
    "use `Lap` or `Exp`",
)
_CATEGORICAL = (
    "a shift cannot align a draw with finitely many values",
    "to choose an index by weights write `Choose(exp(E) for i in q)`",
)
JOINT = (
    "draws must be independent of each other (condition iii of the lemma)",
    "draw each variable on its own",
)

DELTA = (
    "δ is claimed beside ε, for what calls verified mechanisms or adds Gaussian noise; stability tests, "
    "smooth sensitivity and keys taken from the data need another argument"
)
CALLS = (
    "a mechanism is called by a statement of its own, once `use` has named its file",
    'write `use NAME from "FILE"` above the inputs, and `released = NAME(q = q, eps = eps)` in the program',
)
OUTPUT_COST = (
    "a claim may depend on how many records the output has, not on what they hold",
    "write `len(out)` or `out.count(tag)`",
)
OUTPUT_BOUND = (
    "the most that any output costs cannot depend on the output",
    "write a bound over the public inputs",
)
REPEAT = "repeat MECHANISM(…) until TEST stop with probability E"
"""A call that is made until what it released passes a test; see `Rounds`."""
REDRAW = (
    "noise that is drawn again until it fits has another distribution than the one that is written down",
    "draw once and `clip` what is released; or let a mechanism of its own release the draw, and repeat that: "
    f"`a = {REPEAT}`, at twice its claim",
)
REFUSED_STATEMENTS: dict[str, tuple[str, str]] = {
    "repeat": (
        "what is repeated is a call, and what its last run released gets a name",
        f"write `a = {REPEAT}`; any other loop begins with `for` or `while`",
    ),
    **dict.fromkeys(
        ("assume", "trust", "assert", "axiom", "require", "requires"),
        (
            "there is no `assume`: parameter ranges and the adjacency are given, everything else is proved",
            "declare what is given: `range [low, high]` for private answers, `where` for parameters; an "
            "`invariant` of a loop is proved",
        ),
    ),
    **dict.fromkeys(
        ("fun", "function", "def", "call", "use", "import"),
        (
            "functions of one's own and mechanisms that are called are named above the inputs",
            'write `fun NAME(real) : real` or `use NAME from "FILE"` above `input`',
        ),
    ),
}
"""Words that open a statement elsewhere: why each is refused, and what to do instead."""

REFUSED_FAMILIES: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("normal", "norm", "n"), _GAUSS),
    **dict.fromkeys(("bern", "flip", "coin", "binomial", "unif", "u", "randint", "beta"), _CHOICE),
    **dict.fromkeys(("choice", "categorical"), _CATEGORICAL),
    **dict.fromkeys(("gamma", "poisson"), _STEEP),
    **dict.fromkeys(("student", "studentt"), _TAILED),
    **dict.fromkeys(
        ("multivariatelaplace", "mvlap", "dirichlet", "multinormal", "multivariatenormal"), JOINT
    ),
}
"""Noise families by lower-case name: why each is refused, and what to use instead."""


def scope_fault(source: Source, name: str, reason: tuple[str, str], span: Span) -> SpecError:
    """The error for something that is refused by name (a word of the source, or what to call it)."""
    why, instead = reason
    what = name if " " in name else f"`{name}`"
    return fault(
        source, "scope", f"{what} is out of scope", span, label="refused", notes=(why,), help=instead
    )


def delta_fault(source: Source, span: Span, epsilon: str = "eps", delta: str = "delta") -> SpecError:
    """The error for a δ that does not stand where a claim has it; both are given as they are written."""
    advice = f"write `privacy {epsilon} delta {delta}`"
    if delta.isidentifier():
        advice += f", with `{delta} : real where 0 < {delta} < 1` below `input`"
    message = "the δ of a claim follows the word `delta`"
    return fault(source, "misplaced-delta", message, span, notes=(DELTA,), help=advice)

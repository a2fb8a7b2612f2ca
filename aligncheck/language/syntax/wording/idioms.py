"""How things that people know from Python and NumPy are written here: data for the stages that find them."""

from __future__ import annotations

_DRAW = "noise is drawn on a line of its own: `eta ~ {}`, then use `eta`"

_GAUSS = f"{_DRAW.format('Gauss(sigma)')}; it is for claims such as `privacy 1/(2*sigma**2) zcdp`"

_NOTHING = (
    "nothing is imported here: noise is drawn by `eta ~ Lap(scale)`, and a function of one's own is declared "
    "above the inputs, `fun f(real) : real`"
)

LIBRARIES = frozenset(
    ("np", "numpy", "math", "random", "scipy", "stats", "pd", "pandas", "torch", "rng", "secrets")
)
"""Names of modules: what follows their dot is the word to look up in `IDIOMS`."""

IDIOMS: dict[str, str] = {
    "log": "write `ln(x)` for the natural logarithm, `log2(x)` for base 2",
    "log10": "write `ln(x)/ln(10)`",
    "log1p": "write `ln(1 + x)`",
    "expm1": "write `exp(x) - 1`",
    **dict.fromkeys(("pow", "power"), "write `x**2`"),
    "round": "write `floor(x + 1/2)`",
    "ceil": "write `-floor(-x)`",
    "int": "write `floor(x)`",
    "mod": "write `a % b`",
    "root": "write `x**(1/3)`",
    **dict.fromkeys(("fabs", "absolute"), "write `abs(x)`"),
    "clamp": "write `clip(x, low, high)`",
    "maximum": "write `max(x, y)`",
    "minimum": "write `min(x, y)`",
    **dict.fromkeys(("size", "length", "shape"), "write `len(q)`"),
    "range": "`range` stands in `for i in range(…)` only",
    "mean": "write `sum(q[j] for j in q) / len(q)`",
    **dict.fromkeys(
        ("sort", "sorted", "argsort"),
        "write `top(k, q[j] for j in q)` for the k greatest, the greatest first",
    ),
    **dict.fromkeys(("zeros", "array"), "lists are inputs; what a loop adds up is kept in a variable"),
    **dict.fromkeys(("laplace", "default_rng", "RandomState", "Random"), _DRAW.format("Lap(scale)")),
    **dict.fromkeys(("gauss", "normal", "normalvariate", "standard_normal", "randn"), _GAUSS),
    **dict.fromkeys(("random", "rand", "uniform", "random_sample"), _DRAW.format("Uniform(1)")),
    "exponential": _DRAW.format("Exp(scale)"),
    "expovariate": _DRAW.format("Exp(1/rate)"),
    "geometric": _DRAW.format("Geo(p)"),
    "binomial": _DRAW.format("Bernoulli(p)"),
    "logistic": _DRAW.format("Logistic(scale)"),
    "gumbel": _DRAW.format("Gumbel(scale)"),
    "standard_cauchy": _DRAW.format("Cauchy(1)"),
    "where": "write `a if CONDITION else b`",
    "float": "numbers are exact, and every number is one: leave `float` out",
    **dict.fromkeys(
        ("softmax", "choice"), "to choose an index by weights write `winner ~ Choose(exp(E) for i in q)`"
    ),
}
"""What to write for a function of other languages, by its last name."""

OF_SCIPY = {
    "norm": "normal",
    "expon": "exponential",
    "geom": "geometric",
    "bernoulli": "binomial",
    "gumbel_r": "gumbel",
    "cauchy": "standard_cauchy",
    "dlaplace": "laplace",
}
"""What NumPy calls a distribution of SciPy's, where it is another word."""

METHODS = {
    "clip": "write `clip(x, low, high)`",
    **{word: f"write `{word}(q[j] for j in q)`" for word in ("argmax", "argmin", "max", "min", "sum")},
    "abs": "write `abs(x)`",
    "items": "write `for i, x in q:`",
}
"""What to write for a method that NumPy or pandas has, where the function's own name is known here."""

WORDS = {
    "True": "write `true`",
    "False": "write `false`",
    **dict.fromkeys(
        ("None", "null"), "a variable has a number or a truth value: give it one, or leave the line out"
    ),
    **dict.fromkeys(("inf", "infinity"), "leave an infinite bound out"),
    "output": "the output is `out`: `out[i] is TAG`, `out[i].FIELD`",
    "e": "the privacy parameter is called as its declaration calls it; for powers of e write `exp(x)`",
    **dict.fromkeys(("yes", "no", "on", "off"), "truth values are `true` and `false`"),
    "sensitivity": "write here what stands behind `sensitivity` where the answers are declared",
    "pi": "numbers are exact: write a fraction",
    "lambda": "a function of one's own is declared above the inputs: `fun f(real) : real`",
}
"""The same for words that are no functions."""


def draw_of(family: str) -> str:
    """How noise of a family is drawn, for who writes `family(…)` in an expression."""
    return _DRAW.format(f"{family}(…)")


def idiom_of(word: str, of: str = "") -> str:
    """What to write for `library.word`, or for `library.of.word`."""
    if word == "rvs":
        word = OF_SCIPY.get(of, of)
    shared = ("abs", "exp", "sqrt", "floor", "min", "max", "sum", "clip", "log2", "argmax", "argmin")
    return IDIOMS.get(word) or (f"write `{word}(…)`" if word in shared else _NOTHING)

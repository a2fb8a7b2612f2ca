"""How likely ties are where a lattice is refused because of them."""

from __future__ import annotations

from fractions import Fraction

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import names_in, statements_in


def tie_bound(mechanism: n.Mechanism) -> n.Expr | None:
    """How likely a tie is, at most, among the noisy answers of a selection beside which their noise is
    released (in a gap), if it were discrete noise on the multiples of `gamma`: n² gamma / scale for n
    answers. None where there is no such selection, or its noise is not Laplace or exponential noise of one
    public scale.

    Two of them tie with a probability of at most (1 + 1/e) gamma / scale, and there are n (n - 1)/2 pairs.
    Source: appendix A.2 of the VLDB paper. Of exponential noise each value has at most the probability
    1 - exp(-gamma / scale) <= gamma / scale, so that one of them meets the other with no more than that.
    """
    statements = list(statements_in(mechanism.body))
    drawn = {s.name: s for s in statements if isinstance(s, n.Sample)}
    told = {x for s in statements if isinstance(s, n.Emit) for f in s.fields for x in names_in(f.value)}
    public = {p.name for p in mechanism.inputs if isinstance(p, n.Parameter)}
    for statement in statements:
        chosen = statement.value if isinstance(statement, n.Assign) else None
        if not isinstance(chosen, n.Gather) or chosen.function not in ("argmax", "argmin", *n.SELECTING):
            continue
        noise = [drawn[x] for x in names_in(chosen.body) & told if x in drawn]
        families = [s.family for s in noise if s.family.exponential and not s.family.discrete]
        if len(noise) == len(families) == 1 and isinstance(chosen.over, n.Indices):
            (scale,) = noise[0].args
            if names_in(scale) <= public:
                count = n.Binary("**", n.Call("len", (n.Name(chosen.over.base),)), n.Number(Fraction(2)))
                return n.Binary("/", n.Binary("*", count, n.Name("gamma")), scale)
    return None

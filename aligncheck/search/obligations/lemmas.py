"""Theorems about sums of exponentials and logistic densities, which no solver is asked for.

Each is a function that gives an instance of the theorem as a term; its proof is its docstring. Throughout,
f(x; t) = exp(-(x - t)) / (1 + exp(-(x - t)))**2 is the logistic density with location t, and
s(t) = 1/(1 + exp(-t)), so that the probability of a number above 0 is s(t).
"""

from __future__ import annotations

from aligncheck.search.relational.labels import Between
from aligncheck.search.relational.selection import Gathered
from aligncheck.search.relational.terms import Kind, Pair, Sort, Sym, Term, and_, eq, fn, implies, le, sub


def log_sum_exp_moves_between(one: Sym, first: Gathered, other: Sym, second: Gathered) -> Term:
    """The logarithm of a sum of exponentials moves by no less than the least, and by no more than the
    greatest, move of a term: it is monotone, and 1-Lipschitz in the supremum norm.

    Statement: let S be a finite set, not empty, and `one` = ln(sum of exp(a_j) over S), `other` = ln(sum of
    exp(b_j) over S). Then there are u and v in S with b_u - a_u <= other - one <= b_v - a_v.

    Proof: let v be an index of S at which b_v - a_v is greatest, and m that number. Then exp(b_j) is at most
    exp(m) exp(a_j) for every j in S. Summing over S and taking logarithms gives other <= m + one. With the
    roles of a and b exchanged: one <= other + max(a_j - b_j), which is other - min(b_j - a_j). QED

    `first` and `second` must have one and the same set. The indices u and v are symbols of their own.
    """
    return _between(one, first, other, second)


def extremum_moves_between(one: Sym, first: Gathered, other: Sym, second: Gathered) -> Term:
    """The same of the greatest value over a set, and of the least.

    Statement: as above, with `one` = max(a_j over S) and `other` = max(b_j over S), or both with min.

    Proof: for max as above: b_j <= m + a_j for every j in S, hence other <= m + one. For min, apply this to
    -a and -b: -other + one lies between the least and the greatest of -b_j + a_j, so other - one lies between
    the least and the greatest of b_j - a_j. QED
    """
    return _between(one, first, other, second)


def _between(one: Sym, first: Gathered, other: Sym, second: Gathered) -> Term:
    least, most = (
        Sym(Between(one.label, other.label, end), Sort.INT, Kind.GHOST) for end in ("least", "most")
    )
    move = sub(other, one)
    return implies(
        first.enough(),
        and_(
            (
                first.inside(least),
                first.inside(most),
                le(sub(second.value(least), first.value(least)), move),
                le(move, sub(second.value(most), first.value(most))),
            )
        ),
    )


def choice_moves(log_weight: Pair, total: Pair) -> Term:
    """How far the logarithm of the probability of a chosen index is on D' from that on D.

    Statement: an index s that is chosen from S with probability proportional to exp(a_j) is chosen with
    probability p, ln p = a_s - A, where A = ln(sum of exp(a_j) over S). So ln p' - ln p is
    (a'_s - a_s) - (A' - A).

    Proof: by definition, p = exp(a_s) / (sum of exp(a_j) over S). QED
    """
    return sub(sub(log_weight.right, log_weight.left), sub(total.right, total.left))


def logistic_moves_with_its_location(location: Pair) -> Term:
    """A bound on |ln f(x; t') - ln f(x; t)| for every x: |t' - t|.

    Proof: ln f(x; t) = -(x - t) - 2 ln(1 + exp(-(x - t))), so its derivative by t is
    1 - 2 exp(-(x - t))/(1 + exp(-(x - t))) = tanh((x - t)/2), which lies between -1 and 1. The mean value
    theorem gives the bound. QED

    A scale b > 0 that does not move divides the density by b and replaces x and t by x/b and t/b: the bound
    holds for locations that are measured in the scale.
    """
    return fn("abs", sub(location.right, location.left))


def truncated_logistic_moves_with_its_location(location: Pair) -> Term:
    """A bound on |ln g(x; t') - ln g(x; t)| for every x > 0, where g(x; t) = f(x; t)/s(t) is the logistic
    density given that the number is above 0: |t' - t|.

    Proof: the derivative of ln g(x; t) by t is that of ln f(x; t), which is 1 - 2 s(t - x), less that of
    ln s(t), which is 1 - s(t): together s(t) - 2 s(t - x). For x > 0 the increasing s has
    0 < s(t - x) < s(t), so the derivative lies between -s(t) and s(t), hence between -1 and 1. The mean value
    theorem gives the bound. QED

    A cut at `low` and a scale b > 0, neither of which moves, replace x and t by (x - low)/b and (t - low)/b.
    """
    return fn("abs", sub(location.right, location.left))


def choice_makes_up_for_the_cut(location: Pair, log_odds: Pair) -> Term:
    """When a choice and a truncated logistic number together have the density of the number alone, not cut.

    Statement: let s be chosen with probability p = exp(a_s)/(sum of exp(a_j) over S), from a set with other
    indices, and let x > 0 have the density f(x; t)/s(t). If t is the logarithm of the odds of the choice,
    t = a_s - ln(sum of exp(a_j) over S without s), then the joint density of s and x is f(x; t).

    Proof: p/(1 - p) = exp(a_s)/(sum of exp(a_j) over the others) = exp(t), so p = 1/(1 + exp(-t)) = s(t),
    which cancels the denominator. QED (Dissertation, proof of Theorem 5.13.)
    """
    return and_((eq(location.left, log_odds.left), eq(location.right, log_odds.right)))

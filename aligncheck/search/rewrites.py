"""What can be written in place of what the kernel has no rule for: a rewrite that works, by the words of its
refusal, which name the construct. Advice only.
"""

from __future__ import annotations

from fractions import Fraction

from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.language.unparse import unparse_expr
from aligncheck.search.witness.totals import total

REWRITES = {
    "drawn from two families": "draw each kind of noise under a name of its own, with a line in `align` each",
    "of a claim in δ or ρ": "put what is drawn by densities, or needs the general route, into a spec of its "
    "own that claims ε, and call it",
    "a set in the claim": "let the called mechanism take what the set is in its claim as a parameter, "
    "`m : real`, with `b : vector where b[i] <= m`",
    "`logsumexp` inside a set": "give the sum a name of its own, outside of the set: `s = logsumexp(…)`",
    "`top` of a filtered set": "write `upto(k, …)`, which selects all indices where there are fewer than k",
    "on a lattice that is divided": "such noise changes places, or is shifted by multiples of its step",
    "put in another's place": "shift such noise, by `+=`; in a claim of ε whose shifts have an order, `Lap` "
    "and `Cauchy` noise changes places, or is divided, and noise on a lattice changes places",
    "is not drawn once, in every run": "let draws that change places be made outside of branches, without an "
    "index, or be all those of one loop: `for i in range(n):` and in it `x[i] ~ …`, with `when`",
    "may leave out a round": "let the loop draw in all its rounds, without a `break`; read the draws in "
    "another loop after it",
    "is no such draw": "let draws of one family change places, each in the place of one that leaves its own",
    "a count of records": "keep the number in a variable: `n = n + 1` where a record is emitted",
    "% of numbers that are not whole": "declare the numbers `int`, or write `x - m*floor(x/m)` for `x % m`",
    "a probability of the form": "write `Geo(1 - exp(-a))`, where `a` is 1 over the scale",
    "a public function would know": "compute it before the call, of what was released before, or write what "
    "is tested without it",
    "stands alone on the right": "give it an assignment of its own, `w = argmax(…)`, outside of branches, "
    "and before any `break` of its loop",
    "depends on what is released later": "noise that lasts over several answers, as a threshold's, makes no "
    "composition of them: put what stops at its first answer into a spec of its own that claims ε, and call "
    "it anew for each (`aligncheck examples delta/sparse_delta`); an index is chosen with `Choose`, or with "
    "Gumbel noise",
    "declared of logarithms": "no example was found with a root of a logarithm in a clause: compute what it "
    "bounds, `L = ln(1/delta)` and `rho = eps*eps/(4*(L + eps))`, or declare `eps <= 8*ln(1/delta)`",
    "draws by densities in a loop": "put the draw into a spec of its own, and call it in the loop: `use NAME "
    'from "NAME.dp"`',
}
"""By words of the refusal."""

_CHOICES = ("argmax", "argmin")

SELECTION = (
    "a selection in a round is proved where the round draws its own noise, `eta[r*n + j]`, releases the "
    "index, and the line asks for it: `eta[i] += … when out[floor(i/n)].value == i % n`; else put it, with "
    "the noise that it reads, into a spec of its own, and call that in the loop: `use noisy_max from "
    '"noisy_max.dp"`'
)

ROUND_ALONE = (
    "a line that looks at all the noise of a round, before it is drawn, is proved of a mechanism that is "
    "this round alone, with its noise: put it into a spec of its own, and call that in the loop: `use "
    'noisy_max_gap from "noisy_max_gap.dp"`'
)

LISTS = (
    "a list that each round selects is proved where it stands directly in the loop's body, before any "
    "`break`, the round draws its own noise, `eta[r*n + j]`, and the line asks for it: `eta[i] += … when "
    "i % n in winners`; else put it, with the noise that it reads, into a spec of its own, and call that in "
    'the loop: `use noisy_topk from "noisy_topk.dp"`'
)

ARMS = (
    "`{0}` is drawn in arms that the data tells apart, so which arm it was would be released: let the arms "
    "choose the chance alone, `p = …`, and draw once after them, `{1} ~ Bernoulli(p)`"
)

RECORDS = (
    "a line that turns the coin `{0}` over leads D' into the other arm, and which arm it was is released: "
    "let the arms choose the value alone, `r = …`, and release it once after them, `emit {1}(… = r)`"
)

TWO_COINS = (
    "whether the coin `{0}` leaves the answer to the coin `{1}` is not released, and an alignment tells no "
    "such ways apart: write the one coin that both make; for `x if {0} == 1 else {1}` that is `{0} ~ "
    "Bernoulli({2} if x == 1 else {3})`"
)

COLUMN = (
    "which column of a table an answer is in is followed where a loop adds the column up: `s = 0`, and `for "
    "i in range(n):` with `s = s + q[i][j]`, in place of the set over its rows (the line is `+= s - s'`)"
)

CELL = (
    "a cell that a record tells by its row and column, after loops inside each other, is followed where one "
    "loop goes through all cells: `for c in range(n*m):` with `q[floor(c/m)][c % m]`, and the line asks for "
    "`out[0].row == floor(l/m) and out[0].col == l % m`"
)

SUM_OF_SUMS = (
    "how often an answer is in a sum of sums is followed where one loop adds up both, `s = s + x` and `total "
    "= total + s`, or where it stands as a weight, `sum((len(q) - i)*q[i] for i in q)`"
)

WEIGHTED = (
    "that a weighted sum moves by no more than the weights add up to is followed where one loop adds up "
    "both: `for i, x in q:` with `s = s + w[i]*x` and `t = t + w[i]` (the line is `+= (s - s')/t`)"
)

CONVERSION = "ln(1/δ)"
"""In the kernel's words for the step from ρ to ε and δ."""

OF_NUMBER = (
    "the costs add up in ρ, and of a logarithm the proof knows only its sign, nothing of that of a number: "
    "make δ a parameter, `d : real where 0 < d < 1`, claim `delta d`, and let the noise follow from it, with "
    "`L = ln(1/d)`: `rho = eps*eps/(4*(L + eps))` for `Gauss(1/sqrt(2*rho))`, or calls with "
    "`eps/sqrt(8*c*L)` where `eps <= 8*L`; a run gives `d` its value (`aligncheck examples "
    "delta/histogram_gauss_delta`)"
)
OF_PARAMETER = (
    "the costs add up in ρ, and are too much, or not compared by the proof, which knows only the sign of "
    "`L = ln(1/δ)`: it shows `rho = eps*eps/(4*(L + eps))` in all (`aligncheck examples "
    "delta/histogram_gauss_delta`), and `eps*eps/(16*L)` where an input declares `eps <= 8*L` (`aligncheck "
    "examples delta/sparse_delta`)"
)


def rewrite_for(reason: str) -> str | None:
    """The rewrite for what a refusal names."""
    return next((advice for words, advice in REWRITES.items() if words in reason), None)


def coins_help(mechanism: n.Mechanism, at: Span) -> str | None:
    """For a coin that is drawn in several arms of an `if` with the test at `at`; or that says, where it is
    tested, whether another one answers, or in which arm the one record is released.
    """
    stmts = list(walk.statements_in(mechanism.body))
    coins = {s.name: s for s in stmts if isinstance(s, n.Sample) and s.family.coin}
    for stmt in (s for s in stmts if isinstance(s, n.If) and any(b.test.span == at for b in s.branches)):
        drawn = [{s.name for s in walk.statements_in(arm) if isinstance(s, n.Sample)} for arm in stmt.arms]
        for x in sorted(set.intersection(*drawn) & coins.keys()):
            index = coins[x].index
            return ARMS.format(x, x if index is None else f"{x}[{unparse_expr(index)}]")
    for e in (e for e in walk.expressions_in(mechanism) if isinstance(e, n.Conditional)):
        told, read = walk.names_in(e.test) & coins.keys(), walk.names_in(e.otherwise) & coins.keys()
        if told and read - told:
            return _one_coin(coins[min(told)], coins[min(read - told)])
    for stmt in (s for s in stmts if isinstance(s, n.If)):
        asked = {x for b in stmt.branches for x in walk.names_in(b.test)} & coins.keys()
        inside = (e for s in walk.statements_in((stmt,)) for e in walk.own_expressions(s))
        others = ({x for e in inside for x in walk.names_in(e)} & coins.keys()) - asked
        if asked and others:
            return _one_coin(coins[min(asked)], coins[min(others)])
        released = {s.tag for s in walk.statements_in((stmt,)) if isinstance(s, n.Emit)}
        alike = len(released) == 1 and all(len(arm) == 1 and isinstance(arm[0], n.Emit) for arm in stmt.arms)
        if asked and alike and (not mechanism.align or any(b.test.span == at for b in stmt.branches)):
            return RECORDS.format(min(asked), min(released))
    return None


def _one_coin(first: n.Sample, second: n.Sample) -> str:
    """What two coins are together, of which the first one leaves the answer to the second."""
    a, c, one = total(first.args[0]), total(second.args[0]), total(n.Number(Fraction(1)))
    no = (one - a) * c
    chances = (unparse_expr(e.expression()) for e in (a + no, no))
    return TWO_COINS.format(first.name, second.name, *chances)


def cells_help(mechanism: n.Mechanism) -> str | None:
    """For a record that tells the rounds of two loops, of which one is inside the other."""
    for outer in (s for s in walk.statements_in(mechanism.body) if isinstance(s, n.For)):
        for inner in (s for s in walk.statements_in(outer.body) if isinstance(s, n.For)):
            for emit in (s for s in walk.statements_in(inner.body) if isinstance(s, n.Emit)):
                told = [f.value.ident for f in emit.fields if isinstance(f.value, n.Name)]
                if {outer.index, inner.index} <= {*told}:
                    return CELL
    return None


def sums_help(mechanism: n.Mechanism) -> str | None:
    """For a cost that follows from what a loop would show of a sum, which stands there as a set: of a column,
    of other sums, or by weights, which are added up besides.
    """
    exprs = [*walk.expressions_of(walk.statements_in(mechanism.body))]
    private = {x for i in mechanism.inputs if isinstance(i, n.Queries) for x in i.names}
    sums = [e for e in exprs if isinstance(e, n.Gather) and e.function == "sum"]
    weights = {i.name for i in mechanism.inputs if isinstance(i, n.PublicVector)}
    for e in (e for e in sums if walk.names_in(e.body) & private):
        inner = list(walk.subexpressions(e.body))
        if any(isinstance(part, n.Gather) for part in inner):
            return SUM_OF_SUMS
        for place in (part.index for part in inner if isinstance(part, n.Index) and part.base in private):
            rows = [part for part in walk.subexpressions(place) if isinstance(part, n.Binary)]
            if any(r.op == "*" and n.Name(e.index) in (r.left, r.right) for r in rows):
                return COLUMN
        if walk.names_in(e.body) & weights and any(
            walk.names_in(o.body) <= weights | {o.index} for o in sums
        ):
            return WEIGHTED
    return None


def conversion_help(mechanism: n.Mechanism, reason: str) -> str | None:
    """For a sum in ρ that was not shown to be within a claim of ε and δ."""
    if not isinstance(mechanism.claim, n.Approximate) or CONVERSION not in reason:
        return None
    return OF_PARAMETER if walk.names_in(mechanism.claim.delta) else OF_NUMBER


def selection_help(mechanism: n.Mechanism, at: Span) -> str | None:
    """For what is released in a loop, and was selected in it."""
    for loop in walk.statements_in(mechanism.body):
        if not isinstance(loop, n.For | n.While):
            continue
        inside = list(walk.statements_in(loop.body))
        found = {
            s.name
            for s in inside
            if isinstance(s, n.Assign) and isinstance(s.value, n.Gather) and s.value.function in _CHOICES
        }
        read = (
            e for e in walk.expressions_in(mechanism) if at.start <= e.span.start and e.span.end <= at.end
        )
        here = any(s.span.start <= at.start < s.span.end for s in inside)
        if here and any(found & walk.names_in(e) for e in read):
            return SELECTION
    return None


def round_help(mechanism: n.Mechanism, at: Span) -> str | None:
    """For a line with a set of draws that a round of a loop makes, at `at`."""
    loops = [s for s in walk.statements_in(mechanism.body) if isinstance(s, n.For | n.While)]
    inner = [s for loop in loops for s in walk.statements_in(loop.body) if isinstance(s, n.For | n.While)]
    rows = {s.name for loop in inner for s in walk.statements_in(loop.body) if isinstance(s, n.Sample)}
    lines = (e for top in walk.align_expressions(mechanism.align) for e in walk.subexpressions(top))
    sets = (e for e in lines if isinstance(e, n.Gather) and e.span.start <= at.start and at.end <= e.span.end)
    return ROUND_ALONE if any(rows & walk.names_in(e) for e in sets) else None


def lists_help(mechanism: n.Mechanism) -> str | None:
    """For whatever was not shown of a mechanism that selects a list in a loop which no line may read, or
    does.
    """
    loops = [s.body for s in walk.statements_in(mechanism.body) if isinstance(s, n.For | n.While)]
    made = [s for body in loops for s in walk.statements_in(body) if isinstance(s, n.Assign)]
    lists = {s.name for s in made if isinstance(s.value, n.Gather) and s.value.function in n.SELECTING}
    placed = {name for body in loops for name in walk.selected_in_round(body, mechanism.body)}
    read = {name for e in walk.align_expressions(mechanism.align) for name in walk.names_in(e)}
    return LISTS if lists - (placed & read) else None

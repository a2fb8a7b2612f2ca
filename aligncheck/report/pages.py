"""The long text on each condition of the proof, for `aligncheck explain`.

Lemma 1 and its conditions: Ding, Wang, Zhang, Kifer, *Free Gap Information from the Differentially Private
Sparse Vector and Noisy Max Mechanisms*, PVLDB 13(3). Theorem 4 there is its general form, which is Theorem
5.15 of Ding's dissertation.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill, indent

from aligncheck.language.conditions import Condition


@dataclass(frozen=True, slots=True)
class Page:
    """One condition, explained.

    `says`: what is demanded; `why`: what goes wrong without it; `rule`: the item of the lemma and how the
    checker establishes it; `failure`: lines of a spec that typically fail; `what_fails`: why they do; `fix`:
    lines that do not; `advice`: what to do in general.
    """

    says: str
    why: str
    rule: str
    failure: str
    what_fails: str
    fix: str
    advice: str


PAGES: dict[Condition, Page] = {
    Condition.TERMINATES: Page(
        says="The mechanism stops with probability 1 on every database.",
        why="The lemma sums over outputs. A run that never ends has no output, and whether it ends "
        "may itself tell something about the data.",
        rule="Lemma 1, condition i. A `for` loop runs over a finite input and always ends. A `while` "
        "loop needs an argument: a counter that runs out, or a chance of leaving that is "
        "bounded away from 0 in every round.",
        failure="while count < c:\n  x = x + 1",
        what_fails="`count` never changes, so the loop is left at once or never.",
        fix="while count < c:\n  count = count + 1",
        advice="Loop over the queries with `for i, x in q:` and leave with `break`. If a `while` loop "
        "does end but that is not seen, let each round change one counter by a fixed amount "
        "towards the bound of the test.",
    ),
    Condition.DRAWS: Page(
        says="The output determines how many random variables were used, on every path.",
        why="The alignment maps noise vectors of one length to noise vectors of the same length. If "
        "two runs with one output use different numbers of variables, there is nothing to align "
        "the rest with.",
        rule="Lemma 1, condition ii. On every pair of paths that give the same records, the same "
        "variables must have been drawn.",
        failure="if x + xi[i] >= t:\n  zeta[i] ~ Lap(1/eps)\nemit answer",
        what_fails="The records are the same whether or not `zeta[i]` was drawn.",
        fix="zeta[i] ~ Lap(1/eps)\nif x + xi[i] >= t:\n  emit above\nelse:\n  emit below",
        advice="Draw before the branch, or emit a record that tells which branch was taken.",
    ),
    Condition.FRESH: Page(
        says="Every random variable, at every index, is drawn at most once.",
        why="The cost counts each variable once. A name that is drawn again stands for two "
        "independent numbers, and one line of the alignment cannot speak of both.",
        rule="Lemma 1, condition iii (independent variables). Two draws of one name must have "
        "different indices.",
        failure="for i, x in q:\n  eta ~ Lap(1/eps)",
        what_fails="`eta` is drawn anew for each answer under one name.",
        fix="for i, x in q:\n  eta[i] ~ Lap(1/eps)",
        advice="Give a variable that is drawn in a loop the loop's index.",
    ),
    Condition.SCALES: Page(
        says="Every noise scale is positive, public, and the same on D and D'.",
        why="The cost of moving a draw by d is |d| divided by its scale, for one and the same "
        "density on both databases. A scale that depends on the data is another density; a "
        "scale of 0 hides nothing.",
        rule="Lemma 1, condition iii. Scales may be built from parameters and from state that the "
        "output determines, and must be positive wherever the variable is drawn.",
        failure="count = 0\n"
        "for i, x in q:\n"
        "  xi[i] ~ Lap(count/eps)\n"
        "  emit answer(x + xi[i])\n"
        "  count = count + 1",
        what_fails="Before the first answer `count` is 0: it is released exactly.",
        fix="  xi[i] ~ Lap(c/eps)        # c : int where c >= 1",
        advice="Bound the parameters with `where` (`eps : real where eps > 0`). If a scale must adapt, "
        "let it adapt to what was released, not to the data.",
    ),
    Condition.OUTPUT: Page(
        says="With the aligned noise, the run on D' gives the same output as the run on D.",
        why="The alignment pairs each way of getting an output from D with a way of getting the "
        "same output from D'. If the outputs differ, the pair says nothing about the "
        "probability of either.",
        rule="Lemma 1, condition iv. Every path of the run on D is followed on D', every record, "
        "number and length of the output included: branches, early breaks and running out of "
        "queries too.",
        failure="if x + xi[i] >= t + eta:\n"
        "  emit above(x + xi[i])\n"
        "\n"
        "align\n"
        "  eta += 1\n"
        "  xi[i] += 1 + q[i] - q'[i]   when out[i] is above",
        what_fails="The shift keeps the gap to the threshold, `x + xi[i] - t - eta`; the released number, "
        "`x + xi[i]`, moves by 1.",
        fix="  emit above(x + xi[i] - t - eta)",
        advice="Read the counterexample from the first step at which the runs part. To keep a test "
        "that was true, shift so that it cannot become false; to keep a released number, shift "
        "by exactly what the data moved.",
    ),
    Condition.SUPPORT: Page(
        says="The aligned noise stays in the support of its distribution.",
        why="A noise value that cannot occur has probability 0: no multiple of it covers the "
        "probability on D. One-sided noise starts at 0; discrete noise lives on a lattice. And where the "
        "density falls faster than any exponential, no multiple covers a shift either.",
        rule="Lemma 1, condition iv, with Definition 5.1 of the dissertation version. For `Exp`, "
        "`Geo` and `DExp` the new value must not be negative; for `Geo`, `DLap` and `DExp` the shift "
        "must be a multiple of the step; `Gumbel` noise is moved up only, `Uniform` noise never, "
        "`Staircase` noise by its width at most; a coin "
        "is 0 or 1, and is turned over by `b = 1 - b`.",
        failure="xi[i] ~ Exp(1/eps)\n\nalign\n  xi[i] += q[i] - q'[i]",
        what_fails="If the answer is larger on D', the shift is negative, and a small draw would become "
        "negative.",
        fix="  xi[i] += 1 + q[i] - q'[i]",
        advice="With one-sided noise, shift up only (adding the sensitivity makes the shift at least "
        "0). With discrete noise, declare integer queries or a `lattice`, and let the step "
        "divide the sensitivity.",
    ),
    Condition.ACYCLIC: Page(
        says="No shift depends on its own draw, directly or around a cycle.",
        why="If the shifts can be computed one after the other, each from draws that are already "
        "fixed, the alignment is one-to-one and keeps volumes. A shift that depends on its own "
        "draw can fold or squeeze the noise, and then the cost bounds nothing.",
        rule="Lemma 1, condition iv (acyclic alignments). The checker orders the draws by which "
        "shift reads which; where that fails it tries the general route (`aligncheck explain "
        "injective`).",
        failure="align\n  a += 1 if b >= 0 else 0\n  b += 1 if a >= 0 else 0",
        what_fails="Each shift reads the other draw: (a, b) = (-1/2, 1/2) and (1/2, -1/2) have one image, "
        "(1/2, 1/2).",
        fix="align\n  a += 1\n  b += 1 if a >= 0 else 0",
        advice="Let guards test the output (`when out[i] is top`) instead of noise. A branch that the "
        "output does not show is a dependency on the noise in its test: emit a record in each "
        "branch.",
    ),
    Condition.INJECTIVE: Page(
        says="The alignment is one-to-one for each output, and its Jacobian determinant is at least "
        "1 in size.",
        why="The general theorem replaces `acyclic` where shifts depend on noise in a harmless way. "
        "It needs both parts: no two noise vectors with one image, and no squeezing of volumes.",
        rule="The general theorem behind Lemma 1: Theorem 4 of the VLDB paper, Theorem 5.15 of the "
        "dissertation (conditions 2 and 4; ln(a/b) with a for the densities and b for the determinant). "
        "Piecewise translations have determinant 1; that they are one-to-one is proved from two noise "
        "vectors with the same image and the same output. Two kinds of lines use more of it. `x = x/r`, r "
        "at least 1, divides a draw: the determinant has the factor 1/r, which costs ln(r), and the "
        "density is no less nearer to 0. `x = y` with `y = x` exchanges two draws with one scale, for "
        "nothing, on the reals and on a lattice that both have. Both need an order of the draws, and noise "
        "that may be moved; dividing needs a density on the reals. What is added besides costs what it does "
        "elsewhere. There is no rule for draws of two lists in each other's place, and none for `Gumbel` and "
        "`Uniform` noise. A coin may be turned over, `b = 1 - b`.",
        failure="align\n  eta = 2",
        what_fails="All draws have the image 2.",
        fix="align\n  eta += 2",
        advice="Write shifts that add something to the draw. Let the choice between two shifts be "
        "readable from the image: the counterexample shows two draws for which it is not.",
    ),
    Condition.COST: Page(
        says="The alignment costs at most what the `privacy` line claims, whatever the output; where the "
        "claim counts records, it is `at most` its bound.",
        why="A draw with scale a that moves by d changes its density by a factor of at most "
        "exp(|d|/a). The sum of all |d|/a is what the whole output changes by: it is the "
        "epsilon that is spent.",
        rule="Lemma 1, condition iv. The sum is bounded by an invariant over the program's own "
        "counters and budget variables, which the checker finds, for every number of queries. A "
        "mechanism that draws by `Choose` or `Logistic` has no alignment: there the ratio of its "
        "densities on D and D' is bounded directly (rule `densities_bound_privacy`).",
        failure="  if cost > eps: break",
        what_fails="Another answer is allowed when `cost` has already reached `eps`.",
        fix="  if cost > eps - 2*e2: break",
        advice="The report lists each variable's part. Either some draw moves further than the budget "
        "was split for (a difference of two answers moves by twice the sensitivity, unless the "
        "queries are monotone), or an answer is paid for that the program does not count. If "
        "the invariant was not found, add an `invariant` line that bounds `alignment_cost` by "
        "the program's own variables.",
    ),
    Condition.COUNTABLE: Page(
        says="For each pair D, D' only countably many different alignments are used.",
        why="The proof sums over alignments. A shift whose value contains a released real number is "
        "another alignment for each of uncountably many numbers, each with probability 0.",
        rule="Lemma 1, condition v. A shift's value may use D, D', parameters, and the discrete part "
        "of the output: tags, indices, counts. A guard may also test a released number.",
        failure="align\n  xi[i] += out[i].gap",
        what_fails="`gap` is a real number that the mechanism releases.",
        fix="align\n  xi[i] += 1 + q[i] - q'[i]   when out[i].gap >= 0",
        advice="Use released numbers in guards only. Numbers that can take countably many values "
        "(integer answers with discrete noise) are fine.",
    ),
    Condition.DEFINED: Page(
        says="Every division, root, logarithm, remainder and index is defined wherever it is evaluated.",
        why="A mechanism whose value is undefined for some input has no output there, and a proof "
        "about it would be a proof about something else.",
        rule="A premise that the lemma takes for granted. Each partial operation is an obligation, "
        "on every path on which it is reached, on D and on D'.",
        failure="e1 = eps / k          # k : int",
        what_fails="`k` may be 0.",
        fix="k : int where k >= 1",
        advice="Declare the range of a parameter with `where`, or test before dividing. An `argmax` or a "
        "`max` of a list needs an entry: `q : queries, sensitivity 1 where len(q) >= 1`; `top(k, …)` needs "
        "`len(q) >= k`.",
    ),
    Condition.HYPOTHESES: Page(
        says="The declared ranges and the adjacency can be satisfied.",
        why="From contradictory declarations everything follows, also a proof. It would hold for no "
        "input at all.",
        rule="A premise that the lemma takes for granted. Values that satisfy all declarations at "
        "once must exist.",
        failure="eps : real where eps > 0 and eps < -1",
        what_fails="No number is both above 0 and below -1.",
        fix="eps : real where eps > 0",
        advice="Look at the `where` clauses, `range` and `lattice` together: two of them exclude each other.",
    ),
    Condition.CALLS: Page(
        says="Every mechanism that is called is verified, and is given what its proof covers; public "
        "functions are given the same on D and D', where either run applies them.",
        why="A call spends what the called mechanism claims, and that claim is proved for answers "
        "that are adjacent as it declares, for parameters in the ranges that it declares, the "
        "same on D and D'. Of a call with anything else nothing is known.",
        rule="No item of the lemma: sequential composition, which may be adaptive. The called spec is "
        "checked by its own proof; its `where` clauses, the sensitivity and the adjacency of its "
        "answers are proved of the arguments, for generic indices. What it releases counts as a "
        "part of the output. What ends the rounds of a call that is repeated is the same on D and D', "
        "and the chance to stop is above 0.",
        failure='use noisy_max from "noisy_max.dp"\n'
        "winner = noisy_max(q = list(2*q[j] for j in q), eps = eps)",
        what_fails="The answers that are passed on move by 2, and the called mechanism allows for 1.",
        fix="winner = noisy_max(q = list(q[j]/2 for j in q), eps = eps)",
        advice="Pass lists of answers on as they are, or by a map that does not make them more "
        "sensitive; put ranges that the called mechanism asks for into the `where` clauses of "
        "your own inputs.",
    ),
    Condition.INVARIANT: Page(
        says="The author's `invariant` lines hold at every start of the loop's body.",
        why="An invariant is used in the proof of everything in the loop and after it. It is never trusted.",
        rule="Proved by induction: it holds when the loop is reached, and if it holds before a "
        "round, with the other invariants, it holds after it.",
        failure="for i, x in q:\n  invariant count <= k\n  count = count + 1",
        what_fails="After a round with `count` = `k` the line is false: nothing stops the loop in time.",
        fix="for i, x in q:\n  invariant count <= k - 1\n  count = count + 1\n  if count >= k: break",
        advice="Run `aligncheck verify -v` to see which invariants are found without help. An "
        "invariant may be true and yet not inductive: add the fact that makes it follow from "
        "the round before.",
    ),
}


def explain_condition(condition: Condition) -> str:
    """The page of one condition, as plain text of at most 79 columns."""
    page = PAGES[condition]
    parts = (
        f"{condition.id}: {_origin(condition)}",
        _wrapped(page.says),
        _wrapped(page.why, "Why: "),
        _wrapped(page.rule, "Rule: "),
        "Typically fails:\n\n" + indent(page.failure, "    "),
        _wrapped(page.what_fails),
        "Instead:\n\n" + indent(page.fix, "    "),
        _wrapped(page.advice, "What to do: "),
    )
    return "\n\n".join(parts)


def list_of_conditions() -> str:
    """All conditions, one a line: id, item of Lemma 1, what is proved."""
    width = max(len(condition.id) for condition in Condition)
    lines = [f"{c.id:<{width}}  {c.lemma:<3}  {c.proved}" for c in Condition]
    return "\n".join((*lines, "", "i to v: the item of Lemma 1. `aligncheck explain CONDITION` says more."))


def _origin(condition: Condition) -> str:
    return "a premise of Lemma 1" if condition.lemma == "-" else f"condition {condition.lemma} of Lemma 1"


def _wrapped(text: str, opening: str = "") -> str:
    return fill(opening + text, 79)

"""What the kernel has no rule for is named where it stands, with a rewrite that is verified."""

from __future__ import annotations

import ast
import textwrap
import time
from pathlib import Path

import pytest

import aligncheck.kernel
from aligncheck.judge import judge
from aligncheck.language.check import check
from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse
from aligncheck.search.rewrites import (
    LISTS,
    REWRITES,
    ROUND_ALONE,
    SELECTION,
    cells_help,
    rewrite_for,
    sums_help,
)
from aligncheck.verdict import Unknown, Verdict, Verified

HEAD = """\
mechanism m
input
  x : query, sensitivity 1
  q : queries, sensitivity 1
  t : real
  k : int where k >= 1
  ok : bool vector where len(ok) == len(q)
  eps : real where eps > 0 and len(q) >= k
privacy eps
program
"""

KINDS = ("  if t > 0:\n    eta ~ Lap(1/eps)\n  else:\n    {0} ~ Exp(1/eps)\n  emit done\n", ("eta", "xi"))
TRIED = {
    "drawn from two families": KINDS,
    "% of numbers that are not whole": ("  emit a(v = {0})\n", ("t % 2", "t - 2*floor(t/2)")),
    "`top` of a filtered set": (
        "  for j in range(len(q)):\n    xi[j] ~ Lap(2*k/eps)\n"
        "  w = {0}(k, q[j] + xi[j] for j in q where ok[j] or j < k)\n"
        "  emit a(v = w[0])\nalign\n  xi[j] += 1 + q[j] - q'[j] when j in w\n",
        ("top", "upto"),
    ),
    "put in another's place": (
        "  a ~ {0}(1/eps)\n  b ~ {0}(1/eps)\n  emit done(v = a + b)\nalign\n  a = b\n  b = a\n",
        ("Gumbel", "Lap"),
    ),
    "on a lattice that is divided": (
        "  a ~ DLap(1/eps, 1)\n  emit done(v = t)\nalign\n  a {0}\n",
        ("= a/2", "+= 1"),
    ),
    "is not drawn once, in every run": (
        "  a ~ Lap(1/eps)\n  {0}  b ~ Lap(1/eps)\n  emit done(v = t)\n"
        "align\n  a = b when t > 0\n  b = a when t > 0\n",
        ("if t > 0:\n  ", "pass\n"),
    ),
    "may leave out a round": (
        "  for i in range(2):\n    a[i] ~ Lap(1/eps)\n{0}  emit done(v = t)\nalign\n  a[i] = a[1 - i]\n",
        ("    if t > 0: break\n", ""),
    ),
    "is no such draw": (
        "  a ~ Lap(1/eps)\n  b ~ {0}(1/eps)\n  emit done(v = t)\nalign\n  a = b\n  b = a\n",
        ("Cauchy", "Lap"),
    ),
    "a probability of the form": ("  eta ~ Geo({0})\n  emit a(v = eta)\n", ("1/k/2", "1 - exp(-eps)")),
    "`logsumexp` inside a set": (
        "  w ~ Choose(exp(eps*q[j]/2) for j in q)\n{0}",
        (
            "  emit a(v = w, u = max(logsumexp(eps*l for l in range(2)) for j in range(3)))\n",
            "  s = logsumexp(eps*l for l in range(2))\n  emit a(v = w, u = max(s for j in range(3)))\n",
        ),
    ),
}
"""A program for each refusal, with what is refused and what is written in its place."""
NOT_MET = {
    "a set in the claim": "of a callee, which is a file of its own",
    "a count of records": "the checker knows the tags",
    "of a claim in δ or ρ": "asks for what another claim is about; tried by hand",
    "declared of logarithms": "of the inputs, where nothing is drawn otherwise; tried by hand",
    "depends on what is released later": "asks for another file, as `sparse_delta`; see below",
    "a public function would know": "of a callee, which is a file of its own",
    "draws by densities in a loop": "an error of the front end, `misplaced-loop`",
    "stands alone on the right": "of `top`, an error of the front end; of `argmax`, in sets and arguments",
}


def judged(text: str) -> Verdict:
    source = Source("m.dp", text)
    return judge(check(source, parse(source)), source, time.monotonic() + 60, explain=False, search=False)


@pytest.mark.parametrize("words", TRIED)
def test_a_refusal_is_named_and_its_rewrite_is_verified(words: str) -> None:
    program, (refused, instead) = TRIED[words]
    found = judged(HEAD + program.replace("{0}", refused))
    assert isinstance(found, Unknown)
    assert words in found.message
    assert found.help == REWRITES[words]
    found = judged(HEAD + program.replace("{0}", instead))
    assert isinstance(found, Verified), found


@pytest.mark.parametrize("name", ["lasting_threshold", "noisy_max_gauss", "sparse_gauss"])
def test_noise_that_lasts_is_named_as_the_reason(name: str) -> None:
    found = judged(Path("specs", "delta", "broken", f"{name}.dp").read_text("utf-8"))
    words = "depends on what is released later"
    assert isinstance(found, Unknown)
    assert words in found.message
    assert found.help == REWRITES[words]


def test_every_refusal_of_the_kernel_has_a_rewrite() -> None:
    """But the one that no spec meets: a route that only a witness names."""
    assert TRIED.keys() | NOT_MET.keys() == REWRITES.keys()
    for path in sorted(Path(aligncheck.kernel.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Reject" and len(node.args) > 2:
                condition, _, reason = map(ast.unparse, node.args[:3])
                if condition == "'language'" and reason not in ("'this route'", "text"):
                    assert rewrite_for(reason) is not None, reason


COINS = """\
mechanism m
input
  x : int query, adjacency any, range [0, 1]
privacy ln(3)
program
"""
ONE_COIN = "a ~ Bernoulli(3/4 if x == 1 else 1/4)"


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("  a ~ Bernoulli(1/2)\n  b ~ Bernoulli(1/2)\n  emit said(v = x if a == 1 else b)\n", ONE_COIN),
        (
            "  a ~ Bernoulli(1/2)\n  if a == 1:\n    emit said(v = x)\n"
            "  else:\n    b ~ Bernoulli(1/2)\n    emit said(v = b)\n",
            ONE_COIN,
        ),
        (
            "  if x == 1:\n    a ~ Bernoulli(3/4)\n  else:\n    a ~ Bernoulli(1/4)\n  emit said(v = a)\n",
            "`p = …`, and draw once after them, `a ~ Bernoulli(p)`",
        ),
    ],
)
def test_coins_that_no_alignment_tells_apart_are_written_as_one(program: str, told: str) -> None:
    found = judged(COINS + program)
    assert isinstance(found, Unknown)
    assert told in str(found.help)


@pytest.mark.parametrize("line", ["", "align\n  c = 1 - c when x != x'\n"])
def test_an_answer_that_a_coin_turns_over_is_released_once(line: str) -> None:
    coin = f"{COINS}  c ~ Bernoulli(1/4)\n  if c == 1:\n    {{}}\n  else:\n    {{}}\n{{}}"
    found = judged(coin.format("emit said(v = 1 - x)", "emit said(v = x)", line))
    assert not isinstance(found, Verified)
    assert "`emit said(… = r)`" in str(found)
    turned = "align\n  c = 1 - c when x != x'\n"
    once = coin.format("r = 1 - x", "r = x", f"  emit said(v = r)\n{turned}")
    assert isinstance(judged(once), Verified)


@pytest.mark.parametrize(
    "drawn", [ONE_COIN, "if x == 1:\n    p = 3/4\n  else:\n    p = 1/4\n  a ~ Bernoulli(p)"]
)
def test_the_one_coin_is_verified(drawn: str) -> None:
    found = judged(f"{COINS}  {drawn}\n  emit said(v = a)\n")
    assert isinstance(found, Verified), found


SHARES = """\
mechanism m
input
  q : queries, sensitivity 1
  share : vector where len(share) == len(q) and 0 < share[i] <= 1
  eps : real where eps > 0 and sum(share[j] for j in {0}) <= 1
privacy eps
program
  for i, x in q:
    z[i] ~ Lap(1/(eps*share[i]))
    emit v(x + z[i])
align
  z[i] += q[i] - q'[i]
"""


def test_a_sum_in_a_clause_runs_over_the_list_itself() -> None:
    found = judged(SHARES.format("range(len(q))"))
    assert isinstance(found, Unknown)
    assert "`… for j in share`" in str(found.help)
    assert isinstance(judged(SHARES.format("share")), Verified)


def test_a_selection_in_a_loop_is_told_to_draw_its_own_noise() -> None:
    noise = "  for j in range(len(q)):\n    xi[j] ~ Lap(2/eps)\n"
    chosen = "    w = argmax(q[j] + xi[{}] for j in q)\n    emit a(v = w)\nalign\n  "
    found = judged(
        f"{HEAD}{noise}  for i in range(3):\n{chosen.format('j')}xi[j] += 1 + q[j] - q'[j] "
        "when out is a and out[0].v == j\n"
    )
    assert isinstance(found, Unknown)
    assert found.help == SELECTION
    inside = noise.replace("  for", "    for").replace("    xi[j]", "      xi[i*n + j]").replace("2/", "6/")
    moved = "xi[i] += 1 + q[i % len(q)] - q'[i % len(q)] when out[floor(i/len(q))].v == i % len(q)\n"
    program = f"{HEAD}  n = len(q)\n  for i in range(3):\n{inside}{chosen.format('i*n + j')}{moved}"
    found = judged(program)
    assert isinstance(found, Verified), found


GAPS = """\
mechanism m
input
  q : queries, sensitivity 1
  k : int where k >= 1
  eps : real where eps > 0 and len(q) >= 2
privacy eps
program
  for r in range(k):
{0}align
  {1}
"""


def test_a_line_with_a_set_of_a_rounds_draws_is_told_to_be_a_mechanism_of_its_own(tmp_path: Path) -> None:
    row = (
        "  for j in range(len(q)):\n    xi[{0}j] ~ Lap(2*k/eps)\n  w = argmax(q[j] + xi[{0}j] for j in q)\n"
        "  b = max(q[j] + xi[{0}j] for j in q where j != w)\n  emit a(v = w, gap = q[w] + xi[{0}w] - b)\n"
    )
    line = (
        "xi[i] += q[{1}] - q'[{1}] + max(q'[h] + xi[{0}h] for h in q where h != {1}) "
        "- max(q[l] + xi[{0}l] for l in q where l != {1}) when out[{2}].v == {1}"
    )
    each = textwrap.indent(row.format("r*len(q) + "), "  ")
    found = judged(
        GAPS.format(each, line.format("floor(i/len(q))*len(q) + ", "i % len(q)", "floor(i/len(q))"))
    )
    assert isinstance(found, Unknown)
    assert found.help == ROUND_ALONE
    alone = GAPS.format(row.format(""), line.format("", "i", "0")).replace("  for r in range(k):\n", "")
    (tmp_path / "once.dp").write_text(alone.replace("mechanism m", "mechanism once"), "utf-8")
    called = "    b = once(q = q, k = k, eps = eps)\n    emit a(v = b[0].v, gap = b[0].gap)\n"
    program = GAPS.format(called, "").removesuffix("align\n  \n").replace("privacy eps", "privacy k*eps")
    source = Source(str(tmp_path / "m.dp"), program.replace("input", 'use once from "once.dp"\ninput', 1))
    assert isinstance(
        judge(check(source, parse(source)), source, time.monotonic() + 60, False, False), Verified
    )


def test_a_list_that_a_round_selects_is_read_by_the_line_or_belongs_into_a_call(tmp_path: Path) -> None:
    choice = "for j in range(len(q)):\n    xi[{0}j] ~ Lap(4/{1})\n  w = top(2, q[j] + xi[{0}j] for j in q)\n"
    inside = choice.format("i*len(q) + ", "eps").replace("\n", "\n  ")
    for broken in ("", "    if i > 1:\n      break\n"):
        found = judged(f"{HEAD}  for i in range(3):\n{broken}    {inside}  emit a(v = w[0])\n")
        assert isinstance(found, Unknown)
        assert found.help == LISTS
    line = "align\n  xi[i] += 1 + q[i % len(q)] - q'[i % len(q)] when i % len(q) in w\n"
    program = f"{HEAD}  for i in range(3):\n    {inside}  emit a(v = w[0])\n{line}"
    found = judged(program.replace("4/eps", "12/eps").replace("len(q) >= k", "len(q) >= 2"))
    assert isinstance(found, Verified), found
    head = HEAD.replace("len(q) >= k", "len(q) >= 2")
    once = f"  {choice.format('', 'eps')}  emit a(v = w[0])\nalign\n  xi[i] += 1 + q[i] - q'[i] when i in w\n"
    (tmp_path / "once.dp").write_text(head.replace("mechanism m", "mechanism once") + once, "utf-8")
    called = (
        "  for i in range(3):\n    b = once(x = x, q = q, t = t, k = k, ok = ok, eps = eps/3)\n  emit a\n"
    )
    source = Source(
        str(tmp_path / "m.dp"), head.replace("input", 'use once from "once.dp"\ninput', 1) + called
    )
    assert isinstance(
        judge(check(source, parse(source)), source, time.monotonic() + 60, False, False), Verified
    )


WEIGHTS = """mechanism m
input
  q : queries, sensitivity 1 where len(q) >= 1
  w : vector where len(w) == len(q) and w[i] > 0
  n : int where n >= 1
  t : queries[n][n], sensitivity 1, adjacency one
  eps : real where eps > 0
privacy eps
program
  z ~ Lap(1/eps)
  emit a({})
"""


@pytest.mark.parametrize(
    ("released", "told"),
    [
        ("sum(w[i]*q[i] for i in q)/sum(w[i] for i in q) + z", "`t = t + w[i]`"),
        ("sum(sum(q[j] for j in range(i + 1)) for i in q)", "`total = total + s`"),
        ("sum(t[i][0] for i in range(n)) + z", "with `s = s + q[i][j]`"),
        ("sum(q[i] for i in q) + z", None),
        ("sum(w[i] for i in q) + z", None),
    ],
)
def test_a_sum_that_only_a_loop_follows_is_told_the_loop(released: str, told: str | None) -> None:
    """The loops are in `tests/specs/written`: weighted_average, sum_of_running_sums, columns_of_a_table."""
    said = sums_help(parse(Source("m.dp", WEIGHTS.format(released))))
    assert said is None if told is None else told in str(said)


def test_a_cell_told_by_its_row_and_its_column_is_told_one_loop() -> None:
    """The loop is in `tests/specs/written`: cell_told_by_row_and_column."""
    loops = "z)\n  for i in range(n):\n    for j in range(n):\n      emit hit(row = i, col = {}"
    told = [cells_help(parse(Source("m.dp", WEIGHTS.format(loops.format(col))))) for col in "j0"]
    assert "`for c in range(n*m):`" in str(told[0])
    assert told[1] is None

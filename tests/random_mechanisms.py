"""Random small mechanisms: noise of all families, tests, selections, functions that are not linear."""

from __future__ import annotations

import random
from fractions import Fraction
from textwrap import indent

from small_specs import mechanism

from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.meaning.interpreter import Input

INPUTS = """
q : queries, sensitivity 1
T : real
k : int where k >= 1
eps : real where eps > 0
"""
CONTINUOUS: tuple[str, ...] = ("Lap(1/eps)", "Lap(3)", "Exp(2)", "Exp(1/eps)", "Lap(sqrt(2))")
LATTICE: tuple[str, ...] = (
    "Geo(1/3)",
    "DLap(2)",
    "DLap(2, 1/2)",
    "Geo(1 - exp(-eps))",
    "DLap(1/eps)",
    "DExp(2, 1/2)",
)
NUMBERS = (
    "a",
    "T + a",
    "a - b",
    "b - 2*a + 1",
    "abs(a)",
    "max(a, b)",
    "min(a, 1)",
    "clip(a, -1, b)",
    "q[0] + xi[0] - a",
    "max(q[j] + xi[j] for j in q)",
    "min(xi[j] for j in q)",
    "sum(xi[j] for j in q)",
    "(a if b > 0 else -b)",
    "floor(a/2)",
    "(a + 1)**2",
    "exp(b/4)",
    "a/3 - T",
)
LINEAR = tuple(n for n in NUMBERS if not n.startswith(("floor", "(a + 1)", "exp")))


def random_mechanism(chance: random.Random, families: tuple[str, ...] = ()) -> Mechanism:
    """A checked mechanism over `INPUTS`, with noise of these families (none: any that go together)."""
    if not families:
        families = LATTICE if chance.random() < 0.4 else CONTINUOUS
        if chance.random() < 0.1:
            families = CONTINUOUS + LATTICE
    program = [
        f"a ~ {chance.choice(families)}",
        f"b ~ {chance.choice(families)}",
        f"for i, x in q:\n  xi[i] ~ {chance.choice(families)}",
        *chance.sample([make(chance) for make in PARTS], chance.randint(1, 2)),
    ]
    return mechanism("\n".join(program), inputs=INPUTS)


def random_inputs(chance: random.Random) -> dict[str, Input]:
    """One to three answers, many of them equal."""
    values = (Fraction(0), Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 2))
    return {
        "q": tuple(chance.choice(values) for _ in range(chance.randint(1, 3))),
        "T": chance.choice(values),
        "k": Fraction(chance.randint(1, 2)),
        "eps": chance.choice((Fraction(1), Fraction(1, 2))),
    }


def _compare(chance: random.Random) -> str:
    return (
        f"{chance.choice(LINEAR)} {chance.choice(('<', '<=', '>', '>=', '==', '!='))} {chance.choice(LINEAR)}"
    )


def _stream(chance: random.Random) -> str:
    gap = chance.choice(("(gap = x + xi[i] - a)", "(value = x + xi[i])", "", "(left = k - count)"))
    test = chance.choice(("x + xi[i] >= T + a", "xi[i] > a", "abs(x + xi[i]) < 2", "x + xi[i] - b >= a"))
    stop = chance.choice(("if count >= k: break", "pass"))
    body = f"if {test}:\n  emit top{gap}\n  count = count + 1\n  {stop}\nelse:\n  emit bottom"
    return f"count = 0\nfor i, x in q:\n{indent(body, '  ')}"


def _selection(chance: random.Random) -> str:
    function = chance.choice(("argmax", "argmin"))
    where = chance.choice(("", "", " where j > 0 or len(q) == 1", " where j == 0 or xi[j] > a"))
    field = chance.choice(("", ", value = q[w] + xi[w]", ", other = xi[w] - b"))
    return f"w = {function}(q[j] + xi[j] for j in q{where})\nemit chosen(index = w{field})"


def _top(chance: random.Random) -> str:
    where = chance.choice(("", " where q[j] + xi[j] >= T + a", " where q[j] + xi[j] > b", " where xi[j] > 0"))
    field = chance.choice(("", ", value = q[s[r]] + xi[s[r]]", ", gap = q[s[r]] + xi[s[r]] - a"))
    select = f"s = upto(k, q[j] + xi[j] for j in q{where})"
    return f"{select}\nfor r in range(len(s)):\n  emit picked(index = s[r]{field})"


def _gap(chance: random.Random) -> str:
    one = "l = argmax(q[j] + xi[j] for j in q)"
    two = "m = max(q[j] + xi[j] for j in range(len(q) + 0) where j != l)"
    lead = "emit lead(index = l, gap = q[l] + xi[l] - m)"
    return f"{one}\nif len(q) >= 2:\n  {two}\n  {lead}\nelse:\n  emit alone"


def _branch(chance: random.Random) -> str:
    return f"if {_compare(chance)}:\n  emit yes(v = {chance.choice(NUMBERS)})\nelse:\n  emit no"


def _truth(chance: random.Random) -> str:
    return f"emit truth({_compare(chance)} {chance.choice(('and', 'or'))} not {_compare(chance)})"


def _number(chance: random.Random) -> str:
    return f"emit number({chance.choice(NUMBERS)})"


def _sums(chance: random.Random) -> str:
    return "sum_ = b\nfor i, x in q:\n  sum_ = sum_ + x + xi[i]\n  emit partial(sum_)"


def _partial(chance: random.Random) -> str:
    return f"emit part({chance.choice(('1/(T - 1/2 - floor(T))', 'sqrt(a + 1)', 'ln(b)', '1/a'))})"


PARTS = (_stream, _selection, _top, _gap, _branch, _truth, _number, _sums, _partial)

"""Random small specs with random alignments: many of them private, many nearly so."""

from __future__ import annotations

from random import Random
from textwrap import indent

from aligncheck.language.source import Source

SCALES = ("1/eps", "2/eps", "2/eps", "4/eps", "4/eps", "8/eps", "1/(2*eps)")
CLAIMS = ("eps", "eps", "2*eps", "2*eps", "3*eps", "eps/2")
ADJACENCIES = ("all", "all", "one", "monotone", "moved", "l1")
SHIFTS = ("1", "1", "1", "1", "0", "-1", "2")
ANSWER_SHIFTS = (*["1 + q[i] - q'[i]"] * 5, "q[i] - q'[i]", "1", "2", "2", "-1")


def random_spec(chance: Random) -> Source:
    """A spec: not every one of them makes sense."""
    program, align = chance.choice(MAKERS)(chance)
    kind = chance.choice(("queries", "queries", "int queries"))
    text = "\n\n".join(
        (
            "mechanism random",
            f"input\n  q : {kind}, sensitivity 1, adjacency {chance.choice(ADJACENCIES)}\n"
            "  T : real\n  eps : real where eps > 0 and len(q) >= 2",
            f"privacy {chance.choice(CLAIMS)}",
            "program\n" + indent(program, "  "),
            "align\n" + indent(align, "  "),
        )
    )
    return Source("random.dp", text + "\n")


def _noise(chance: Random) -> str:
    family = chance.choice(("Lap", "Lap", "Lap", "Exp", "DLap", "DExp"))
    return f"{family}({chance.choice(SCALES)})"


def _threshold(chance: Random) -> tuple[str, str]:
    """A sparse vector of some kind."""
    noisy = chance.random() < 0.9
    released = chance.choice(
        ("above", "above", "above(gap = x + xi[i] - t)", "above(value = x + xi[i])", "above(x)")
    )
    stop = chance.choice(
        ("    break\n", "    break\n", "    pass\n", "    count = count + 1\n    if count >= 2: break\n")
    )
    program = (
        (f"eta ~ {_noise(chance)}\nt = T + eta\n" if noisy else "t = T\n")
        + "count = 0\nfor i, x in q:\n"
        + f"  xi[i] ~ {_noise(chance)}\n"
        + f"  if x + xi[i] {chance.choice(('>=', '>', '>=', '<'))} t:\n    emit {released}\n{stop}"
        + "  else:\n    emit below\n"
    )
    lines = [f"eta += {chance.choice(SHIFTS)}"] if noisy else []
    guard = chance.choice((*["when out[i] is above"] * 4, "when out[i] is below", ""))
    lines.append(f"xi[i] += {chance.choice(ANSWER_SHIFTS)} {guard}")
    return program, "\n".join(lines)


def _histogram(chance: Random) -> tuple[str, str]:
    """Every answer, or every sum so far, with noise."""
    summing = chance.random() < 0.4
    what = "sum" if summing else chance.choice(("x", "x", "2*x", "abs(x)", "max(x, T)", "-x"))
    program = (
        ("sum = 0\n" if summing else "")
        + "for i, x in q:\n"
        + ("  sum = sum + x\n" if summing else "")
        + f"  xi[i] ~ {_noise(chance)}\n  emit noisy({what} + xi[i])\n"
    )
    shift = {"x": "q[i] - q'[i]", "sum": "sum - sum'", "2*x": "2*(q[i] - q'[i])", "-x": "q'[i] - q[i]"}
    return program, f"xi[i] += {shift.get(what, chance.choice(ANSWER_SHIFTS))}"


def _selection(chance: Random) -> tuple[str, str]:
    """The index of the largest noisy answer, perhaps with a number."""
    also = chance.choice(("", "", ", gap = q[w] + xi[w] - rest", ", value = q[w] + xi[w]"))
    program = (
        f"for i, x in q:\n  xi[i] ~ {_noise(chance)}\n"
        + "w = argmax(q[i] + xi[i] for i in q)\n"
        + "rest = max(q[i] + xi[i] for i in q where i != w)\n"
        + f"emit chosen(index = w{also})\n"
    )
    kept = "q[i] - q'[i] + rest' - rest"
    shift = chance.choice((kept, kept, *ANSWER_SHIFTS[3:])) if also else chance.choice(ANSWER_SHIFTS)
    guard = chance.choice((*["when i == w"] * 5, ""))
    return program, f"xi[i] += {shift} {guard}"


def _two_tests(chance: Random) -> tuple[str, str]:
    """A number and a test, with noise each, in one of two orders."""
    first = f"eta ~ {_noise(chance)}\nemit value(q[0] + eta)\n"
    second = (
        f"xi ~ {_noise(chance)}\nif q[1] + xi {chance.choice(('>=', '<'))} T:\n  emit yes\nelse:\n  emit no\n"
    )
    shared = chance.random() < 0.3
    program = first + (second.replace("xi ~", "zeta ~").replace("+ xi", "+ eta") if shared else second)
    lines = ["eta += q[0] - q'[0]"]
    if not shared:
        lines.append(f"xi += {chance.choice(('q[1] - q' + chr(39) + '[1]', '1', '-1', '0'))}")
    return program, "\n".join(lines)


MAKERS = (_threshold, _threshold, _histogram, _selection, _two_tests)

"""What people write who know Python, and the idiom that each message names."""

from __future__ import annotations

import pytest

from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse

SPEC = """\
mechanism m
  "Doc."

input
  q : queries, sensitivity 1, adjacency one
  k : int where k > 0
  eps : real where eps > 0

privacy eps

program
  for i, x in q:
    eta[i] ~ Lap(1/eps)
    emit a(v = x + eta[i])

align
  eta[i] += q[i] - q'[i]
"""


@pytest.mark.parametrize(
    ("written", "instead", "place", "idiom"),
    [
        ("x + eta[i])", "x + Lap(1/eps))", "Lap", "eta ~ Lap"),
        ("eta[i] ~ Lap(1/eps)", "eta[i] = np.random.laplace(0, 1/eps)", "np.random.laplace", "eta ~ Lap"),
        ("x + eta[i])", "x + np.random.laplace(1))", "np.random.laplace", "eta ~ Lap"),
        ("x + eta[i])", "np.log(x) + eta[i])", "np.log(x)", "ln(x)"),
        ("x + eta[i])", "math.exp(x) + eta[i])", "math.exp(x)", "exp(…)"),
        ("sensitivity 1", "sensitivity=1", "=", "leave the `=` out"),
        ("for i, x in q:", "for x in q:\n   for i in q:", "i", "for i, x in q:"),
        ("emit a(v = x + eta[i])", "emit (x + eta[i])", "(", "emit tag(x = …)"),
        ("emit a(v = x + eta[i])", "emit x + eta[i]", "+", "emit tag(x = …)"),
        ("align\n", "mechanism two\n", "mechanism", "one file holds one mechanism"),
        ('"Doc."', '"""Doc."""', '"Doc."', "one pair of quotes"),
        ("privacy eps", "privacy epsilon", "epsilon", "`eps`"),
        ("  eps : real where eps > 0\n", "", "eps", "eps : real where eps > 0"),
        ("    emit", "    c++\n    emit", "++", "c = c + 1"),
        ("    emit", "    ys = [y for y in q]\n    emit", "[", "max(q[j] for j in q)"),
        ("    emit", "    f = lambda y: y\n    emit", "lambda", "fun f(real) : real"),
        ("emit a(v = x + eta[i])", "out.append(x)", "out.append", "emit tag"),
        ("    emit", "    n = q.shape[0]\n    emit", "q.shape", "len(q)"),
        ("    emit", "    n = q.length\n    emit", "q", "len(q)"),
        ("    emit", "    z = x > 0 ? 1 : 2\n    emit", "?", "a if CONDITION else b"),
        ("    emit", "    m = sorted(q)\n    emit", "sorted", "top(k, q[j] for j in q)"),
        ("    emit", "    b = None\n    emit", "None", "a number or a truth value"),
    ],
)
def test_the_idiom_is_named(written: str, instead: str, place: str, idiom: str) -> None:
    assert SPEC.count(written) >= 1
    source = Source("m.dp", SPEC.replace(written, instead, 1))
    with pytest.raises(SpecError) as caught:
        check(source, parse(source))
    diagnostic = caught.value.diagnostic
    assert source.text_of(diagnostic.primary.span) == place
    assert idiom in (diagnostic.help or "")

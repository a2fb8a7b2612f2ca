"""Refined noise inside a call: the caller's proof is about the numbers themselves, so none is rounded."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from oracle import load

from aligncheck.compiler.emit.python import emit_python
from aligncheck.compiler.modes import RunMode
from aligncheck.pipeline import Options, certify_file
from aligncheck.runtime.bits import SeededBits
from aligncheck.runtime.exact_noise import LatticeNoise, RefinedNoise
from aligncheck.runtime.refined import RefinedNumber
from aligncheck.verdict import Verified

GAMMA = Fraction(1, 1024)
INNER = """
mechanism inner
input
  q : queries, sensitivity D, adjacency all
  D : real where D > 0
  eps : real where eps > 0 and len(q) >= 1
privacy eps
program
  eta ~ Lap(D/eps)
  emit noisy(q[0] + eta)
align
  eta += q[0] - q'[0]
"""
OUTER = """
mechanism outer
use inner from "inner.dp"
input
  q : queries, sensitivity 1, adjacency all
  eps : real where eps > 0 and len(q) >= 1
privacy eps
program
  r = inner(q = list(q[j]/3 for j in q), D = 1/3, eps = eps)
  if len(r) > 0:
    emit scaled(3072*r[0].value)
align
"""


def test_nothing_is_rounded_on_the_way_in_or_out() -> None:
    inside = RefinedNoise(GAMMA, SeededBits(1)).inside()
    assert inside.answer(Fraction(1, 3)) == Fraction(1, 3)
    assert list(inside.answers([Fraction(1, 3), 5])) == [Fraction(1, 3), 5]
    drawn: Any = inside.laplace(Fraction(1))
    released: Any = inside.released(drawn)
    assert released is drawn
    assert isinstance(released, RefinedNumber)
    assert inside.inside() is inside


def test_on_a_lattice_there_is_nothing_to_keep() -> None:
    noise = LatticeNoise(GAMMA, SeededBits(1))
    assert noise.inside() is noise


def test_a_called_mechanism_gets_what_the_caller_computed(tmp_path: Path) -> None:
    (tmp_path / "inner.dp").write_text(INNER, "utf-8")
    (tmp_path / "outer.dp").write_text(OUTER, "utf-8")
    done = certify_file(str(tmp_path / "outer.dp"), Options(explain=False), RunMode.REFINED)
    assert isinstance(done.result.verdict, Verified)
    outer: Any = load(emit_python(done.result.verdict, RunMode.REFINED))
    # Noise this small moves the result by less than a step; rounding 1/3 would move it by a thousand.
    (record,) = outer(eps=10**12, testing_seed=1)([1]).records
    assert 1024 - GAMMA <= record.value <= 1024
    assert record.value % GAMMA == 0

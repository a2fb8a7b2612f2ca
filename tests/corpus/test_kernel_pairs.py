"""Each rule of docs/kernel.md rejects a spec whose repaired twin is accepted with the same witness; and what
witnesses may not claim.
"""

from __future__ import annotations

import pytest
from kernel_cases import decide
from kernel_pairs import PAIRS, Pair, spec

from aligncheck.kernel import logic
from aligncheck.kernel.answer import Accepted, Rejected
from aligncheck.kernel.witness import Witness
from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse
from aligncheck.search.witness.witness_json import expression

TABLES = [pair.name for pair in PAIRS if ", not " in pair.name]
"""What expressions mean, and what the output tells: a quarter of them is enough for every day."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, exhaustive: bool) -> None:
    """Less work for questions that have no proof: those that are needed here take little."""
    if not exhaustive:
        monkeypatch.setattr(logic, "ANEW", logic.FEW)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_one_of_two_twins_is_accepted(
    pair: Pair, exhaustive: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    if pair.name in TABLES and TABLES.index(pair.name) % 4 and not exhaustive:
        pytest.skip("needs --exhaustive")
    answer = decide(pair.right, pair.witness)
    assert isinstance(answer, Accepted), answer
    answer = decide(pair.wrong, pair.witness)
    assert isinstance(answer, Rejected)
    assert answer.condition in pair.conditions.split(), answer
    assert not capfd.readouterr().err  # Z3 prints what it does not take


@pytest.mark.parametrize("promise", ["$records == 1", "$drawn_eta == 1", "alignment_cost > 0", "false"])
def test_a_promise_is_one_formula(promise: str) -> None:
    """What is assumed where the program starts is what its end must show."""
    text = spec("eta ~ Lap(1/eps)", "emit done(v = x{})", align="eta += x - x'")
    honest, lie = Witness(promises=(expression("len(out) == 1"),)), Witness(promises=(expression(promise),))
    right, wrong = (parse(Source("s", text.replace("{}", part))) for part in (" + eta", ""))
    assert isinstance(decide(right, honest), Accepted)
    for tree in (right, wrong):
        assert isinstance(decide(tree, lie), Rejected)

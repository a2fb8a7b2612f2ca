"""What the kernel is told of hard questions: it helps where it is true, and does nothing where it is not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kernel_cases import PROJECT, decide, spec_of, witness_of

from aligncheck.effort import Effort
from aligncheck.kernel.answer import Accepted, Rejected
from aligncheck.kernel.logic import Decider, Fact, Kind
from aligncheck.kernel.symbols import Given, Symbols
from aligncheck.search.witness import enough
from aligncheck.search.witness.enough import with_needs, with_products
from aligncheck.search.witness.fit import Proposals
from aligncheck.search.witness.sorting import with_sorts
from aligncheck.search.witness.witness_json import WitnessError, read, written

SPEC = spec_of(PROJECT / "specs" / "noisy_topk_gap_exp_monotone.dp")
WITNESS = with_sorts(SPEC, witness_of("specs", "noisy_topk_gap_exp_monotone"))


def test_a_hard_question_is_asked_with_what_it_needs() -> None:
    silent = replace(WITNESS, needs=())
    told = with_needs(SPEC, silent)
    assert replace(told, needs=()) == silent
    assert told.needs
    assert read(written(told)) == told
    before, after = decide(SPEC, silent), decide(SPEC, told)
    assert isinstance(before, Accepted)
    assert isinstance(after, Accepted)
    assert sum(d.steps for d in after.decisions) < sum(d.steps for d in before.decisions) / 2


def test_nothing_is_believed_of_what_is_enough() -> None:
    symbols = Symbols()
    x, y = (symbols.constant(name, symbols.INT, Given()) for name in "xy")
    facts = [Fact(Kind.RUN, x >= 2), Fact(Kind.RUN, y >= x)]
    for places in ((0,), (1,), (), (7, -1), (-2, -1)):
        decider = Decider(needs={1: places, 2: (0, 1)})
        assert decider.follows(facts, y >= 2) is not None, "what is wrong costs time only"
        assert decider.follows(facts, y >= 3) is None


def test_those_that_are_needed_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enough, "EASY", 0)
    symbols = Symbols()
    numbers = [symbols.constant(f"x{k}", symbols.INT, Given()) for k in range(9)]
    facts = [Fact(Kind.RUN, x >= k) for k, x in enumerate(numbers)]
    finder = enough.Finder()
    assert finder.follows(facts, numbers[3] + numbers[5] >= 8) is not None
    assert finder.found == {1: (3, 5)}
    assert finder.follows(facts, numbers[3] + numbers[5] >= 9) is None
    assert finder.found == {1: (3, 5)}


@pytest.mark.parametrize("text", ['{"needs": [[1, 2]]}', '{"needs": ["1 x"]}', '{"needs": ["-1"]}'])
def test_what_is_enough_is_written_as_numbers(text: str) -> None:
    with pytest.raises(WitnessError):
        read(text)


def test_a_tree_that_says_something_else_is_refused() -> None:
    answer = decide(SPEC, replace(WITNESS, needs=((1, "2"),)))  # type: ignore[arg-type]
    assert isinstance(answer, Rejected)
    assert answer.condition == "form"


def test_products_are_asked_with_less_from_the_first() -> None:
    spec = spec_of(PROJECT / "tests" / "specs" / "written" / "clipped_moments.dp")
    first = next(Proposals(spec, {}, Effort(), lambda closely: False).tries())
    assert len(first.needs) >= 3, "two costs, and the variance"
    accepted = decide(spec, with_sorts(spec, first))
    assert isinstance(accepted, Accepted)
    assert with_products(SPEC, WITNESS) is WITNESS, "nothing is multiplied there"

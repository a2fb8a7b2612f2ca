"""One symbol stands for an arbitrary index in many facts: each fact says so of all numbers in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from kernel_cases import PROJECT, spec_of, witness_of

from aligncheck.kernel.answer import Accepted
from aligncheck.kernel.decide import Kernel
from aligncheck.kernel.logic import Decider, Fact
from aligncheck.kernel.symbols import Symbols
from aligncheck.kernel.terms import Term, anatomy, subterms
from aligncheck.search.witness.sorting import with_sorts


@dataclass
class Listening(Decider):
    """Keeps each fact from which something is asked to follow."""

    heard: dict[Fact, None] = field(default_factory=dict)

    def proof(
        self, facts: Sequence[Fact], not_so: Term, anew: Sequence[tuple[int, int]]
    ) -> tuple[Sequence[Fact], int] | None:
        """See `Decider`."""
        self.heard |= dict.fromkeys(facts)
        return super().proof(facts, not_so, anew)


@pytest.mark.parametrize(
    ("name", "shared"),
    [
        ("noisy_topk_gap", {"a", "at", "b", "j", "j0", "r", "t"}),  # two laws of one list, on D and on D'
        ("noisy_topk_rounds", {"at", "b", "j", "j0", "r", "t"}),
        ("noisy_topk_gap_exp", {"a", "at", "b", "j", "j0", "r", "t"}),  # and in the twin run
        ("grid_quantile", {"j0"}),
        ("exponential_mechanism_gumbel", {"j0"}),
    ],
)
def test_no_fact_is_about_one_arbitrary_index_alone(name: str, shared: set[str]) -> None:
    spec, decider, symbols = spec_of(PROJECT / "specs" / f"{name}.dp"), Listening(), Symbols()
    kernel = Kernel(spec, with_sorts(spec, witness_of("specs", name)), decider, symbols)
    try:
        assert isinstance(kernel.judged(), Accepted)
        made = {key[1]: anatomy(term) for key, term in kernel.made.items() if key[0] == "arbitrary"}
        used: set[str] = set()
        for fact in decider.heard:
            inside = {str(x) for x, one in made.items() if one in set(subterms(fact.formula))}
            assert inside <= {str(x) for x, one in made.items() if one in set(map(anatomy, fact.variables))}
            used |= inside
        assert shared <= used
    finally:
        symbols.ctx.forget()

"""Without a rule, the kernel accepts the twin that this rule rejects. `kernel.py` tries all changes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from kernel import FOLDER, KEPT, Mutant, mutants, outcome, told
from kernel_pairs import PAIRS

from aligncheck.kernel import logic

RULES = {
    "takes other arguments": "an_argument_too_many",
    "how many records there are": "records_that_are_not_as_many",
    "'cost', most.span": "a_claim_above_its_bound",
    "exp and log2 are known by bounds only": "a_power_in_a_declaration",
    "a move of {": "gaussian_noise_for_epsilon",
    "Reject('acyclic', place, text)": "released_later",
    "claims {text}": "what_is_claimed_in_rho",
    "this proof, of a claim in δ or ρ": "logistic_noise_in_rho",
    "spent <= bound": "a_delta_spent_twice",
    "the δ is positive, and below 1": "a_delta_above_1",
    "self.prove(given": "a_declared_logarithm",
    "has the same scale on D'": "a_logistic_scale",
    "is cut at the same place on D'": "cut_at_another_place",
    "may be chosen on D'": "chosen_by_one_run",
    "a prime has no meaning here": "the_other_run_in_the_program",
    "the output is read in `align` only": "the_output_in_the_program",
    "is given the same on D'": "a_function_of_private_answers",
    "is the index of an answer in declarations": "an_input_with_the_name_of_an_index",
    "records of one tag have the same fields": "records_of_two_shapes",
    "the sensitivity is not negative": "a_sensitivity_in_all_below_0",
    "the least scale is positive": "a_least_scale_of_0",
    "has at least this scale": "a_scale_below_the_least",
    "a loop brings a name": "a_name_that_an_inner_loop_brings",
    "the step of ": "a_step_that_grows_from_round_to_round",
    "an invariant of both runs": "where_a_loop_starts",
    "the measure speaks of the head": "a_measure_of_one_round",
    "the loop has the same bounds on D'": "as_many_rounds",
    "draws by densities in a loop": "choices_in_a_loop",
    "was not drawn before at this index": "drawn_twice",
    "moves by whole steps": "between_the_steps",
    "place, text, _in_support": "below_0",
    "have one scale": "two_scales_exchanged",
    "is taken, too": "a_draw_that_is_put_in_two_places",
    "is put in one place only": "two_draws_in_one_place",
    "divisor >= 1": "divided_by_less_than_1",
    "or divided, {": "divided_where_it_is_steep",
    "a draw on a lattice that is divided": "divided_on_a_lattice",
    "takes the place of which": "exchanged_on_a_lattice_that_noise_tells",
    "has a meaning around this set": "an_index_with_a_meaning",
    "a public function would know of each round": "a_function_that_knows_of_rounds",
    "text, both(one > 0, one <= 1)": "a_chance_of_0",
    "rounds.chance.span, f": "a_private_chance_to_stop",
    "there is a round": "no_round",
    "there are at most as many rounds": "private_rounds",
    "the test is the same on D and D'": "a_private_test",
}
"""Words of the statement that asks, and the pair whose wrong twin is accepted where it does not."""


@cache
def dropped() -> tuple[Mutant, ...]:
    def all_of_them() -> Iterator[Mutant]:
        for path in sorted(FOLDER.glob("*.py")):
            if path.stem not in KEPT:
                yield from (
                    m for m in mutants(path.stem) if m.change.startswith("dropped | ") and m.kind == "check"
                )

    return tuple(all_of_them())


@pytest.mark.parametrize(("words", "name"), RULES.items(), ids=RULES.values())
def test_each_rule_is_needed(words: str, name: str) -> None:
    (mutant,) = (m for m in dropped() if words in m.change)
    (pair,) = (p for p in PAIRS if p.name == name)
    wrong = told(name, pair.wrong, pair.witness, False)
    with patch.object(logic, "ANEW", ()):
        assert outcome(mutant, [(wrong, 0.1)]) == f"accepts {name}"

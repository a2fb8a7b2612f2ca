"""The function under test: what it is given, what its runs come to, and what its first runs tell of it."""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aligncheck.statistical import probe as probes
from aligncheck.statistical.cannot_test import CannotTest
from aligncheck.statistical.outputs import Outputs
from aligncheck.statistical.patterns import InputPair
from aligncheck.statistical.plan import Plan, Setup
from aligncheck.statistical.probe import Probe, probe
from aligncheck.statistical.reference import Reference
from aligncheck.statistical.target import run_strictly, target

SEED = np.random.SeedSequence(5)
MECHANISMS = Path(__file__).parents[2] / "mechanisms"


def setup(function: str, **more: Any) -> Setup:
    """Of a function of this file."""
    return Setup(Reference(__name__, function), **more)


def run(function: str, data: Any = 1.0, runs: int = 4, **more: Any) -> Outputs:
    return target(setup(function, **more)).run(data, runs, SEED)


def told(outputs: Outputs) -> list[Any]:
    """What single runs returned: numbers, or categories as texts."""
    if outputs.codes is None:
        assert outputs.numbers is not None
        return list(outputs.numbers[:, 0])
    return [outputs.labels[code] for code in outputs.codes[:, 0]]


# --- arguments ----------------------------------------------------------------------------------------------

GIVEN: list[Mapping[str, Any]] = []


def levelled(q: Any, eps: float, k: Any = 1) -> float:
    GIVEN.append(locals())
    return 1.0


def by_default(q: Any, epsilon: float = 3, delta: float = 0.5) -> float:
    GIVEN.append(locals())
    return 1.0


def by_name(k: Any, *, rows: Any) -> float:
    GIVEN.append(locals())
    return 1.0


def second(k: Any, rows: Any) -> float:
    GIVEN.append(locals())
    return 1.0


def names_alone(*, q: Any) -> float:
    GIVEN.append(locals())
    return 1.0


def place_alone(q: Any, /) -> float:
    GIVEN.append(locals())
    return 1.0


def private_level(eps: Any, k: int = 1) -> float:
    GIVEN.append(locals())
    return 1.0


def open_ended(q: Any, **more: Any) -> float:
    GIVEN.append({"q": q, **more})
    return 1.0


@pytest.mark.parametrize(
    ("function", "how", "given", "claim"),
    [
        ("levelled", {"eps": 0.5}, {"eps": 0.5, "k": 1}, 0.5),
        ("levelled", {"eps": 0.5, "settings": (("eps", "1/4"),)}, {"eps": 0.25, "k": 1}, 0.25),
        ("levelled", {"settings": (("eps", "high"), ("k", "true"))}, {"eps": "high", "k": True}, None),
        ("levelled", {"eps": 1, "offered": (("k", "7"), ("T", "2"))}, {"eps": 1, "k": 7}, 1),
        ("levelled", {"eps": 1, "settings": (("k", "5"),), "offered": (("k", "7"),)}, {"eps": 1, "k": 5}, 1),
        ("by_default", {}, {"epsilon": 3, "delta": 0.5}, 3),
        ("by_default", {"eps": 1, "delta": 0.1}, {"epsilon": 1, "delta": 0.1}, 1),
        ("by_name", {"database": "rows", "settings": (("k", "2"),)}, {"k": 2}, None),
        ("second", {"database": "rows", "settings": (("k", "2"),)}, {"k": 2}, None),
        ("names_alone", {}, {}, None),
        ("place_alone", {}, {}, None),
        ("private_level", {"eps": 9.0}, {"k": 1}, None),
        ("open_ended", {"eps": 9.0, "settings": (("scale", "2"),)}, {"scale": 2}, None),
    ],
)
def test_what_a_function_is_given_and_the_level_that_it_claims(
    function: str, how: Any, given: Mapping[str, Any], claim: float | None
) -> None:
    """What is set comes first; then the level that is tested, and what a spec offers; then defaults."""
    GIVEN.clear()
    run(function, [1.0, 2.0], 1, **how)
    private = how.get("database", "eps" if function == "private_level" else "q")
    assert [{private: [1.0, 2.0], **given}] == GIVEN
    assert target(setup(function, **how)).claim([1.0]) == (None if claim is None else (claim, 0.0))


def position_only(q: Any, k: Any, /) -> float:
    return 1.0


def all_open(q: Any, eps: float, k: int) -> float:
    return 1.0


def any_number(k: Any, *rows: Any) -> float:
    return 1.0


def only_more(**more: Any) -> float:
    return 1.0


class AClass:
    pass


@pytest.mark.parametrize(
    ("function", "how", "message", "advice"),
    [
        ("levelled", {}, "`levelled` needs `eps`, the level that it is to claim", "a single `--eps VALUE`"),
        ("all_open", {}, "`all_open` needs `eps`, `k`", "--set eps=VALUE --set k=VALUE"),
        ("second", {"database": "rows"}, "`second` needs `k`", "--set k=VALUE"),
        ("second", {"database": "row"}, "no parameter `row`", "did you mean `rows`?"),
        ("levelled", {"settings": (("esp", "1"),)}, "no parameter `esp`", "did you mean `eps`?"),
        ("levelled", {"eps": 1, "settings": (("q", "1"),)}, "no parameter `q`", "its parameters: `eps`, `k`"),
        ("position_only", {"database": "k"}, "`k` of `position_only` can only be given by position", "wrap"),
        ("any_number", {"database": "rows"}, "`rows` of `any_number` can only be given by position", "wrap"),
        (
            "only_more",
            {"database": "more"},
            "takes no argument that could be the private input",
            "its first parameter",
        ),
        ("AClass", {}, "AClass` is a class", "name a function"),
        ("GIVEN", {}, "GIVEN` is a list, not a function", ""),
    ],
)
def test_what_cannot_be_called_is_refused_before_it_is(
    function: str, how: Any, message: str, advice: str
) -> None:
    with pytest.raises(CannotTest) as error:
        target(setup(function, **how))
    assert message in error.value.message
    assert advice in (error.value.advice or "")


# --- runs ---------------------------------------------------------------------------------------------------


def changes_its_input(q: Any) -> float:
    q[0][0] += 1
    return float(q[0][0])


def kind_of_input(q: Any) -> str:
    return type(q).__name__


def kinds_of_inputs(q: Any, size: int) -> list[str]:
    return [type(q).__name__] * size


def test_each_run_has_the_input_for_itself_as_an_array_where_that_is_wanted() -> None:
    mine = [[1.0]]
    assert told(run("changes_its_input", mine, 3)) == [2.0] * 3
    assert mine == [[1.0]]
    assert told(run("kind_of_input", [1.0, 2.0], 1)) == ["'list'"]
    assert told(run("kind_of_input", [1.0, 2.0], 1, array=True)) == ["'ndarray'"]
    assert told(run("kind_of_input", [[1.0], "x"], 1, array=True)) == ["'list'"]
    assert told(run("kinds_of_inputs", [1.0, 2.0], 1)) == ["'ndarray'"]


def sized(q: float, size: int) -> Any:
    GIVEN.append({"size": size})
    return np.full(size, q)


def test_many_runs_of_one_call() -> None:
    GIVEN.clear()
    outputs = run("sized", 2.0, 60_000)
    assert (outputs.runs, [given["size"] for given in GIVEN]) == (60_000, [25_000, 25_000, 10_000])
    assert target(setup("sized")).batched
    one = setup("sized", settings=(("size", "1"),))  # an argument that is set is the function's own
    assert not target(one).batched


def of_python(q: float) -> float:
    return random.random()


def of_numpy(q: float) -> float:
    return float(np.random.random())


def of_rng(q: float, rng: np.random.Generator) -> float:
    return rng.random()


def of_generator(q: float, size: int, generator: np.random.Generator) -> Any:
    return generator.random(size)


def of_state(q: float, random_state: np.random.RandomState) -> float:
    return float(random_state.random())


def of_seed(q: float, seed: int) -> float:
    return float(np.random.default_rng(seed).random())


@pytest.mark.parametrize(
    "function", ["of_python", "of_numpy", "of_rng", "of_generator", "of_state", "of_seed"]
)
def test_a_seed_repeats_runs_that_differ_from_one_another(function: str) -> None:
    one, again = (told(run(function)) for _ in range(2))
    other = told(target(setup(function)).run(1.0, 4, np.random.SeedSequence(6)))
    assert one == again
    assert len({*one, *other}) == 8


def raises_above(q: float) -> float:
    if q > 0:
        raise KeyError("rare")
    return q


def raises_for_all(q: float, size: int) -> Any:
    raise KeyError("rare")


def sleeps(q: float) -> float:
    time.sleep(60)
    return q


def test_what_a_run_raises_is_what_it_comes_to_but_not_where_one_call_makes_many() -> None:
    assert told(run("raises_above", 1.0, 2)) == ["raises KeyError"] * 2
    assert told(run("raises_above", 0.0, 2)) == [0.0] * 2
    run_strictly(target(setup("raises_above")), 0.0, SEED)
    with pytest.raises(CannotTest, match="`raises_above` raised KeyError: 'rare'"):
        run_strictly(target(setup("raises_above")), 1.0, SEED)
    with pytest.raises(CannotTest) as error:
        run("raises_for_all")
    assert "without `size`, a run that raises is an outcome" in (error.value.advice or "")
    with pytest.raises(CannotTest, match="`sleeps` did not return within"):
        run("sleeps", patience=0.05)


# --- first runs ---------------------------------------------------------------------------------------------

_generator = np.random.default_rng(5)
_calls = itertools.count()


def kept(q: float) -> float:
    return q + _generator.random()


def fresh(q: float) -> float:
    return q + random.SystemRandom().random()


def true_once(q: float) -> bool:
    return next(_calls) == 500


def raises_at_two(q: float) -> float:
    if q == 2:
        raise KeyError("rare")
    return q


def shaped_by_its_input(q: float) -> Any:
    return [q] if q == 2 else q


def probed(reference: Reference, settings: tuple[tuple[str, str], ...] = (), **more: Any) -> Probe:
    pairs = (InputPair("a pair", 1.0, 0.0), InputPair("another", 1.0, 2.0))
    plan = {"levels": None, "claim": None, "selection": 10, "runs": 10, "alpha": 0.01, "seed": 1, "jobs": 1}
    return probe(Plan(Setup(reference, settings), **{"pairs": pairs, "timeout": 60.0, **plan, **more}))


@pytest.mark.parametrize(
    ("function", "randomness"),
    [
        *((name, "seeded") for name in ("of_python", "of_seed", "raises_at_two")),
        ("kept", "kept"),
        ("fresh", "fresh"),
        ("true_once", "kept"),
    ],
)
def test_where_random_numbers_come_from(
    function: str, randomness: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same again from the same seed; or else the same in another process, which is no run of its own."""
    monkeypatch.setattr(
        probes, "_SOON", math.inf
    )  # few runs of what is rarely true look alike: more are made
    assert probed(Reference(__name__, function)).randomness == randomness


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("raises_for_all", "`raises_for_all` raised KeyError"),
        ("shaped_by_its_input", "sometimes a list, sometimes a single value"),
    ],
)
def test_first_runs_are_made_on_all_inputs(function: str, message: str) -> None:
    with pytest.raises(CannotTest, match=message):
        probed(Reference(__name__, function))


def test_a_function_that_raises_on_every_input_is_no_mechanism() -> None:
    pairs = (InputPair("a pair", 1.0, 2.0),)
    with pytest.raises(CannotTest, match="`raises_above` raised KeyError: 'rare'"):
        probed(Reference(__name__, "raises_above"), pairs=pairs)


def test_what_a_compiled_mechanism_claims_and_which_inputs_it_has() -> None:
    svt = Reference(str(MECHANISMS / "adaptive_svt.py"), "AdaptiveSvtWithGap")
    pairs = (InputPair("a pair", [1.0, 0.0], [2.0, 1.0]), InputPair("no neighbours", [1.0], [3.0]))
    settings = (("eps", "1/2"), ("k", "1"), ("T", "1"))
    found = probed(svt, settings, pairs=pairs[:1])
    assert (found.by_paths, found.claim, found.randomness) == (True, (0.5, 0.0), "seeded")
    with pytest.raises(CannotTest, match="are no neighbours for `AdaptiveSvtWithGap`"):
        probed(svt, settings, pairs=pairs)

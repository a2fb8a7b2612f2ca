"""`aligncheck test`: findings and exit statuses, reproducibility, functions that cannot be tested."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aligncheck.cli import main

FUNCTIONS = """
import math, os, random, time
import numpy as np

def lap(scale):
    return random.expovariate(1 / scale) - random.expovariate(1 / scale)

def noisy_count(queries, eps):
    return queries[0] + lap(1 / eps)

def half_noise(queries, eps):
    return queries[0] + lap(0.5 / eps)

def batched(queries, eps, size, rng):
    return queries[0] + rng.laplace(0, 1 / eps, size)

def batched_half(queries, eps, size, rng):
    return queries[0] + rng.laplace(0, 0.5 / eps, size)

def legacy(queries, eps, random_state):
    return queries[0] + random_state.laplace(0, 1 / eps)

def seeded(queries, eps, seed):
    return queries[0] + np.random.default_rng(seed).laplace(0, 1 / eps)

def threshold(rows, eps, T, strict=False):
    return rows[0] + lap(1 / eps) >= T

def keyword_only(*, eps, rows):
    return rows[0] + lap(1 / eps)

def needs_arrays(rows, eps):
    return (rows - rows.mean()).sum() + rows.max() + lap(1 / eps)

def shifted(age, eps):
    return age["age"] + lap(1 / eps)

def sorts_in_place(queries, eps):
    queries.sort()
    return queries[-1] + lap(1 / eps)

def open_ended(queries, eps, **more):
    return queries[0] + lap(more["scale"] / eps)

def unseedable(queries, eps):
    return queries[0] + random.SystemRandom().choice([-1, 1]) * random.SystemRandom().expovariate(eps)

_generator = np.random.default_rng(5)

def kept(queries, eps, size):
    return queries[0] + _generator.laplace(0, 1 / eps, size)

_own = np.random.default_rng()

def own(queries, eps, size):
    return queries[0] + _own.laplace(0, 1 / eps, size)

print("a module that prints")

def noise_only(queries, eps): return lap(1 / eps)
def constant(queries, eps): return 3
def deterministic(queries, eps): return sum(queries)
def nan(queries, eps): return math.nan
def raises(queries, eps): raise ValueError("no\\nway")
def raises_at_times(queries, eps):
    if random.random() < 0.01: raise KeyError("rare")
    return random.random()
def raises_by_data(queries, eps):
    if queries[0] > 0.5 and random.random() < 0.5: raise KeyError("rare")
    return [random.random()]
def one_noise_for_two(queries, eps):
    noise = random.expovariate(eps / 2) - random.expovariate(eps / 2)
    return [queries[0] + noise, queries[1] + noise]
def exits(queries, eps): raise SystemExit(5)
def dies(queries, eps): os._exit(3)
def hangs(queries, eps):
    while True: pass
def sleeps(queries, eps): time.sleep(1000)
def hangs_at_times(queries, eps):
    if random.random() < 0.002: time.sleep(1000)
    return random.random()
def shapes(queries, eps): return [1.0] if random.random() < 0.5 else 1.0
def wrong_size(queries, eps, size, rng): return rng.normal(size=3)
def an_object(queries, eps): return object()
def no_parameters(): return 1
def more(queries, eps, T, N): return 1
def no_eps(queries): return queries[0] + lap(1)
def noisy(queries, eps):
    print("this would break a report")
    return queries[0] + lap(1 / eps)
async def later(queries, eps): return 1.0
not_a_function = 3
class AClass: pass
"""

SMALL = ("--runs", "4000", "--selection", "2000", "--length", "3", "--adjacency", "one")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("tested") / "mechanisms.py"
    path.write_text(FUNCTIONS)
    return str(path)


@pytest.fixture
def run(module: str, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs `aligncheck test` on one of the functions, with few runs; status, output, errors."""

    def run_(function: str, *arguments: str) -> tuple[int, str, str]:
        status = main(["test", f"{module}:{function}", *SMALL, *arguments])
        return status, *capfd.readouterr()

    return run_


def without_time(document: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(document)
    del found["seconds"]
    return found


# --- findings -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["noisy_count", "batched", "legacy", "seeded"])
def test_no_evidence_against_what_is_private(run: Run, function: str) -> None:
    status, out, _ = run(function, "--eps", "1", "--seed", "1")
    assert status == 0
    assert out.startswith("NO EVIDENCE AGAINST eps = 1 ")
    assert "this claims nothing" in out
    assert "REFUTED" not in out


@pytest.mark.parametrize("function", ["half_noise", "batched_half"])
def test_evidence_against_what_is_not(run: Run, function: str) -> None:
    status, out, _ = run(function, "--eps", "1", "--seed", "1")
    assert status == 1
    assert out.startswith("EVIDENCE AGAINST eps = 1 ")
    assert "statistical evidence, no proof" in out
    assert "REFUTED" not in out


def test_the_document(run: Run) -> None:
    status, out, _ = run("batched_half", "--eps", "1", "--seed", "1", "--json")
    found = json.loads(out)
    assert status == 1
    assert found["finding"] == "evidence"
    assert (found["claim"], found["alpha"], found["seed"], found["randomness"]) == (1, 0.01, 1, "seeded")
    level = found["claimed"]
    assert level["rejected"]
    assert level["p_value"] < 0.01
    assert level["p_value"] == pytest.approx(10 ** level["log10_p_value"])
    assert level["runs"] == found["runs"] == 4000
    assert level["seen_on_D"] > 2 * level["seen_on_D_prime"]
    assert sorted(abs(a - b) for a, b in zip(level["D"], level["D_prime"], strict=True)) == [0, 0, 1]
    assert 1 < found["least_loss"] < 2.001


def test_a_claim_with_a_delta(run: Run) -> None:
    """Half the noise of ε = 1 is (1, 0.393)-private."""
    status, out, _ = run("batched_half", "--eps", "1", "--delta", "0.2", "--seed", "1")
    assert status == 1
    assert out.startswith("EVIDENCE AGAINST eps = 1, delta = 0.2 ")
    assert "a function that is (1, 0.2)-private is accused" in " ".join(out.split())
    status, out, _ = run("batched_half", "--eps", "1", "--delta", "0.4", "--seed", "1", "--json")
    assert (status, json.loads(out)["delta"]) == (0, 0.4)


@pytest.mark.parametrize("function", ["batched", "noisy_count", "seeded"])
def test_one_process_and_two_give_the_same(run: Run, function: str) -> None:
    one, two = (run(function, "--eps", "1", "--seed", "7", "--json", "--jobs", n)[1] for n in "12")
    assert without_time(one) == without_time(two)
    other = run(function, "--eps", "1", "--seed", "8", "--json")[1]
    assert without_time(one)["claimed"] != without_time(other)["claimed"]


def test_a_seed_that_was_printed_repeats_the_result(run: Run) -> None:
    first = run("batched", "--eps", "1", "--json")[1]
    again = run("batched", "--eps", "1", "--json", "--seed", str(json.loads(first)["seed"]))[1]
    assert without_time(first) == without_time(again)


def test_randomness_that_cannot_be_seeded_is_told(run: Run) -> None:
    _, out, _ = run("unseedable", "--eps", "1", "--seed", "1")
    assert "its randomness cannot be seeded" in out
    assert "repeats this" not in out


def test_processes_do_not_repeat_a_generator_that_a_module_keeps(run: Run) -> None:
    # Whether there is evidence is not asked: with random numbers of their own, there may be by chance.
    assert json.loads(run("kept", "--eps", "1", "--json")[1])["randomness"] == "kept"
    assert "it keeps a generator that starts the same each time" in run("kept", "--eps", "1")[1]
    assert json.loads(run("own", "--eps", "1", "--json")[1])["randomness"] == "fresh"


@pytest.mark.parametrize("function", ["noise_only", "constant"])
def test_an_output_that_ignores_the_input_is_told_and_not_called_private(run: Run, function: str) -> None:
    status, out, _ = run(function, "--eps", "1", "--seed", "2")
    assert status == 0
    assert out.startswith("NO DEPENDENCE ON THE INPUT SEEN")
    assert "not shown to be\n" in out or "not shown to be private" in out


def test_a_sweep(run: Run, tmp_path: Path) -> None:
    status, out, _ = run("batched", "--eps", "0.2:1.4:0.4", "--set", "eps=1", "--seed", "1", "--json")
    found = json.loads(out)
    assert status == 0
    assert [level["eps"] for level in found["levels"]] == [0.2, 0.6, 1.0, 1.4]
    assert found["claim"] == 1
    assert [level["rejected"] for level in found["levels"]] == [True, True, False, False]
    assert found["violated_up_to"] == 0.6
    # The claim is tested as well where it is not in the sweep, and it alone makes the exit status.
    status, out, _ = run("batched", "--eps", "0.2,0.3", "--claim", "1", "--seed", "1")
    assert status == 0
    assert "(the claim)" in out


def test_a_plot(run: Run, tmp_path: Path) -> None:
    if importlib.util.find_spec("matplotlib") is None:
        pytest.skip("matplotlib is not installed")
    for name, start in (("curve.svg", b"<?xml"), ("curve.png", b"\x89PNG")):
        path = tmp_path / name
        status, out, err = run(
            "batched", "--eps", "0.5,1", "--set", "eps=1", "--seed", "1", "--plot", str(path)
        )
        assert (status, err) == (0, "")
        assert f"plot: {path}" in out
        assert path.read_bytes().startswith(start)


# --- arguments of the function ------------------------------------------------------------------------------


def test_arguments_are_set_and_varied(run: Run) -> None:
    status, out, _ = run("threshold", "--eps", "1", "--set", "T=1.5", "--set", "strict=true", "--seed", "1")
    assert (status, out[:11]) == (0, "NO EVIDENCE")
    status, out, _ = run("threshold", "--eps", "1", "--vary", "T=1/2,100", "--seed", "1", "--json")
    assert status == 0
    assert json.loads(out)["claimed"]["settings"] == {"T": "1/2"}
    assert json.loads(out)["pairs"] == 4


def test_the_database_can_be_another_parameter(run: Run) -> None:
    status, out, _ = run("keyword_only", "--eps", "1", "--database", "rows", "--seed", "1")
    assert (status, out[:11]) == (0, "NO EVIDENCE")


def test_lists_can_be_arrays(run: Run) -> None:
    status, out, _ = run("needs_arrays", "--eps", "1", "--array", "--seed", "1")
    assert (status, out[:11]) == (0, "NO EVIDENCE")


def test_pairs_of_ones_own(run: Run) -> None:
    pair = ("--pair", '{"age": 30}', '{"age": 31}')
    status, out, _ = run("shifted", "--eps", "1", *pair, "--seed", "1")
    assert (status, out[:11]) == (0, "NO EVIDENCE")
    assert "given pair 1" in out
    status, out, _ = run("shifted", "--eps", "1", "--pair", '{"age": 30}', '{"age": 33}', "--seed", "1")
    assert status == 1


def test_a_function_may_change_its_input_and_take_any_arguments(run: Run) -> None:
    assert run("sorts_in_place", "--eps", "1", "--seed", "1")[0] == 0
    assert run("open_ended", "--eps", "1", "--set", "scale=0.4", "--seed", "1")[0] == 1


def test_what_a_function_prints_is_kept_off_the_report(run: Run) -> None:
    status, out, _ = run("noisy", "--eps", "1", "--seed", "1", "--json")
    assert status == 0
    assert json.loads(out)["finding"] == "no evidence"


def test_what_a_run_raises_is_what_it_comes_to(run: Run) -> None:
    status, out, _ = run("raises_by_data", "--eps", "1", "--seed", "1", "--json")
    assert status == 1
    found = json.loads(out)
    assert found["finding"] == "evidence"
    assert "raises KeyError" in found["claimed"]["event"]


def test_noise_that_two_numbers_share_hides_no_difference(run: Run) -> None:
    status, out, _ = run("one_noise_for_two", "--eps", "1", "--seed", "1", "--json")
    assert status == 1
    assert "output[0] - output[1]" in json.loads(out)["claimed"]["event"]


# --- what cannot be tested ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("deterministic", "`deterministic` is deterministic: all of 2,000 runs on one input gave one output"),
        ("nan", "`nan` returned NaN, which no event can hold"),
        ("raises", "`raises` raised ValueError: no way\non the input [1.0, 1.0, 1.0]"),
        ("exits", "`exits` raised SystemExit: 5"),
        (
            "shapes",
            "`shapes` returned outputs of different shapes: sometimes a list, sometimes a single value",
        ),
        ("wrong_size", "called with size=2500, `wrong_size` returned an array of shape (3,)"),
        ("an_object", "`an_object` returned a object, which cannot be read as an output"),
        ("later", "`later` returned a coroutine, which cannot be read as an output"),
        ("no_parameters", "`no_parameters` takes no argument that could be the private input"),
        ("more", "`more` needs `T`, `N`\n--set T=VALUE --set N=VALUE"),
    ],
)
def test_a_function_that_cannot_be_tested(run: Run, function: str, message: str) -> None:
    status, out, err = run(function, "--eps", "1", "--seed", "1")
    assert (status, out) == (2, "")
    assert err.startswith(f"aligncheck: error: {message}")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("hangs", "hangs` did not return within 1 s"),
        ("sleeps", "sleeps` did not return within 1 s"),
        ("hangs_at_times", "hangs_at_times` did not return within 1 s"),
        ("dies", "dies` died: exit status 3"),
    ],
)
def test_a_function_that_never_returns(run: Run, function: str, message: str) -> None:
    start = time.monotonic()
    status, out, err = run(function, "--eps", "1", "--seed", "1", "--timeout", "1")
    assert (status, out) == (2, "")
    assert message in err
    assert time.monotonic() - start < 20


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("{module}:nosy_count", "has no `nosy_count`\ndid you mean `noisy_count`?"),
        ("{module}:not_a_function", "not_a_function` is a int, not a function"),
        ("{module}:AClass", "AClass` is a class"),
        ("{module}", "names no function\nwrite MODULE:FUNCTION"),
        ("{module}:", "names no function"),
        ("no/such/file.py:f", "no such file: `no/such/file.py`"),
        ("no_such_module:f", "no module `no_such_module`"),
        ("os.nothing:f", "no module `os.nothing`"),
        ("math:log", "the parameters of `log` cannot be found out"),
        ("specs/svt.dp:svt", "`specs/svt.dp` is a spec, and this command tests Python"),
    ],
)
def test_no_such_function(module: str, name: str, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    status = main(["test", name.format(module=module), "--eps", "1"])
    out, err = capfd.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith("aligncheck: error: ")
    assert message in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import no_such_library", "needs `no_such_library`, which is not installed"),
        ("1 / 0", "raised ZeroDivisionError: division by zero"),
        ("raise SystemExit(7)", "raised SystemExit: 7"),
        ("def f(:", "raised SyntaxError"),
        ("while True: pass", "was not imported within 1 s"),
    ],
)
def test_a_module_that_cannot_be_imported(
    text: str, message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    status = main(["test", f"{path}:f", "--eps", "1", "--timeout", "1"])
    out, err = capfd.readouterr()
    assert (status, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--eps", "0"], "`--eps 0`: `0` is no level"),
        (["--eps", "nan"], "`--eps nan`: `nan` is no level"),
        (["--eps", "1,x"], "`--eps 1,x`: `x` is no level"),
        (["--eps", "1:2"], "`--eps 1:2` is no level"),
        (["--eps", "2:1:0.1"], "`--eps 2:1:0.1` is no level"),
        (["--eps", "0.1:9:0.001"], "`--eps 0.1:9:0.001` is more than 200 levels"),
        (["--eps", "1", "--set", "k"], "`--set k` is not of the form NAME=VALUE"),
        (["--eps", "1", "--set", "k=1"], "`noisy_count` has no parameter `k`"),
        (["--eps", "1", "--set", "esp=1"], "`noisy_count` has no parameter `esp`\ndid you mean `eps`?"),
        (["--eps", "1", "--set", "eps=1", "--vary", "eps=1,2"], "`eps` is set by `--set` and by `--vary`"),
        (["--eps", "1", "--database", "data"], "`noisy_count` has no parameter `data`"),
        (["--eps", "1", "--length", "0"], "`--length 0`: `0` is no length"),
        (["--eps", "1", "--pair", "[1", "2"], "`--pair`: `[1` is no JSON value"),
        (["--eps", "1", "--pair", "NaN", "2"], "`--pair`: `NaN` is no JSON value"),
        (["--eps", "1", "--pair", "[1e999]", "2"], "`--pair`: `[1e999]` is no JSON value"),
        (["--eps", "1", "--pair", "[1]", "[1]"], "`--pair`: D and D' are both [1]"),
        (["--eps", "1", "--adjacency", "moved", "--length", "1"], "no pair of inputs of length 1 is `moved`"),
        (["--eps", "1", "--plot", "x.svg"], "`--plot` draws a sweep"),
        (["--eps", "1,2", "--plot", "x.txt"], "`x.txt` is no name of a plot"),
        (["--eps", "1,2", "--plot", "no/such/x.svg"], "no such folder"),
        (["--eps", "1,2"], "`noisy_count` needs `eps`, the level that it is to claim"),
        ([], "`noisy_count` needs `eps`, the level that it is to claim"),
        (["--alpha", "1"], "argument --alpha: `1` is not a level of significance"),
        (["--runs", "many"], "argument --runs: `many` is not a number of runs"),
    ],
)
def test_bad_arguments(run: Run, arguments: list[str], message: str) -> None:
    status, out, err = run("noisy_count", *arguments)
    assert (status, out) == (2, "")
    assert err.startswith(f"aligncheck: error: {message}")


def test_a_level_is_needed(run: Run) -> None:
    assert "it is not said at which level to test\n--eps VALUE" in run("no_eps")[2]
    assert "it is not said which of these levels the function claims" in run("no_eps", "--eps", "1,2")[2]
    assert run("no_eps", "--claim", "1.5")[0] == 0


@pytest.mark.parametrize(
    ("library", "message"),
    [
        (
            "scipy",
            "`aligncheck test` needs scipy, which is not installed:\npip install 'aligncheck[statistics]'",
        ),
        ("matplotlib", "`--plot` needs matplotlib, which is not installed\npip install 'aligncheck[plot]'"),
    ],
)
def test_optional_libraries_are_asked_for_by_name(module: str, library: str, message: str) -> None:
    """Hidden from the command, whether they are installed or not."""
    code = (
        "import importlib.util, sys\n"
        "real = importlib.util.find_spec\n"
        f"importlib.util.find_spec = lambda name, *a: None if name == {library!r} else real(name, *a)\n"
        "from aligncheck.cli import main\n"
        f"function = {module + ':noisy_count'!r}\n"
        "sys.exit(main(['test', function, '--eps', '1,2', '--claim', '1', '--plot', 'x.svg']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == f"aligncheck: error: {message}\n"


def test_levels_at_which_nothing_can_be_seen(run: Run) -> None:
    for claim in ("9", "999"):
        status, out, _ = run("batched", "--eps", "1", "--claim", claim, "--seed", "1")
        assert (status, out[:11]) == (0, "NO EVIDENCE")
        assert f"eps = {claim} " in out


def compiled_file(stem: str, folder: Path) -> Path:
    from oracle import as_if_verified

    from aligncheck.compiler.emit.python import emit_python
    from aligncheck.language.check import check
    from aligncheck.language.syntax.parse import parse, read_source

    source = read_source(os.path.join(os.path.dirname(__file__), "..", "..", "specs", f"{stem}.dp"))
    path = folder / f"{stem}.py"
    path.write_text(emit_python(as_if_verified(check(source, parse(source)))))
    return path


@pytest.mark.parametrize(
    ("stem", "name", "right", "wrong"),
    [
        ("histogram", "Histogram", ["--adjacency", "one"], ["--adjacency", "all"]),
        ("histogram", "Histogram", ["--adjacency", "one"], ["--adjacency", "one", "--sensitivity", "2"]),
        ("histogram_moved", "HistogramMoved", ["--adjacency", "moved"], ["--adjacency", "monotone"]),
        ("noisy_max_monotone", "NoisyMaxMonotone", ["--adjacency", "monotone"], ["--adjacency", "all"]),
        ("noisy_max", "NoisyMax", ["--adjacency", "all"], ["--pair", "[1, 1]", "[1, 4]"]),
        ("noisy_max", "NoisyMax", ["--adjacency", "moved"], ["--pair", "[1, 1]", "[1, 1, 1]"]),
    ],
)
def test_inputs_that_are_no_neighbours_for_a_compiled_mechanism(
    stem: str,
    name: str,
    right: list[str],
    wrong: list[str],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Tested on them, a verified mechanism would be accused."""
    arguments = ["test", f"{compiled_file(stem, tmp_path)}:{name}", *SMALL, "--set", "eps=1", "--seed", "1"]
    assert main([*arguments, *right]) == 0
    capfd.readouterr()
    assert main([*arguments, *wrong]) == 2
    assert f"are no neighbours for `{name}` (adjacency `" in capfd.readouterr().err


def test_a_compiled_mechanism_with_two_inputs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "test",
        f"{compiled_file('two_histograms', tmp_path)}:TwoHistograms",
        *SMALL,
        "--seed",
        "1",
        "--set",
        "Delta=1",
    ]
    assert main([*arguments, "--set", "eps=1"]) == 2
    assert "has the private inputs `p`, `r`\n--pair" in capfd.readouterr().err
    pair = ('{"p": [1, 1], "r": [1, 1]}', '{"p": [1, 1], "r": [1, 2]}')
    assert main([*arguments, "--set", "eps=1", "--pair", *pair]) == 0


def test_a_compiled_mechanism(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Its claim is known, so no level need be given; its own names are used in errors."""
    path = compiled_file("svt", tmp_path)
    arguments = ["test", f"{path}:Svt", *SMALL, "--adjacency", "all", "--seed", "1"]
    assert main([*arguments, "--set", "T=1", "--set", "N=1", "--set", "Delta=1", "--set", "eps=1/2"]) == 0
    out, _ = capfd.readouterr()
    assert out.startswith("NO EVIDENCE AGAINST eps = 0.5 ")
    assert "all runs of a path at once" in out
    assert main([*arguments, "--eps", "1"]) == 2
    assert "`svt` needs `T`, `N`, `Delta`\n--set T=VALUE" in capfd.readouterr().err
    assert main([*arguments, "--eps", "1", "--set", "t=1"]) == 2
    assert "`svt` has no parameter `t`" in capfd.readouterr().err
    assert main([*arguments, "--eps", "1", "--set", "T=x", "--set", "N=0", "--set", "Delta=1"]) == 2
    assert "`T` must be a number" in capfd.readouterr().err


# --- arguments from a spec ----------------------------------------------------------------------------------

SVT_SPEC = """mechanism m
  "m"
input
  queries : queries, sensitivity 1
  T : real
  extra : int where extra >= 1
  eps : real where eps > 0
privacy eps
program
  eta ~ Lap(2*extra/eps)
  for i, x in queries:
    if x >= T + eta: emit top()
    else: emit low()
align
  eta += 1
expect alignment fails
"""


def test_arguments_are_chosen_from_a_spec(run: Run, tmp_path: Path) -> None:
    spec = tmp_path / "m.dp"
    spec.write_text(SVT_SPEC)
    status, out, _ = run("threshold", "--eps", "1", "--spec", str(spec), "--seed", "1", "--json")
    assert status in (0, 1)
    (settings,) = {tuple(level["settings"].items()) for level in json.loads(out)["levels"]}
    chosen = dict(settings)
    assert chosen["extra"] == "1"
    assert "T" in chosen
    # What is set is not chosen.
    status, out, _ = run(
        "threshold", "--eps", "1", "--spec", str(spec), "--set", "T=5", "--seed", "1", "--json"
    )
    assert "T" not in json.loads(out)["levels"][0]["settings"]


def test_inputs_are_neighbours_of_the_spec(run: Run, tmp_path: Path) -> None:
    """Also where all parameters are given, under a claim with a δ, whatever the pairs' own adjacency."""
    spec = tmp_path / "one.dp"
    spec.write_text(
        SVT_SPEC.replace("sensitivity 1", "sensitivity 1, adjacency one")
        .replace("privacy eps", "privacy eps delta delta")
        .replace("  extra : int where extra >= 1", "  delta : real where 0 < delta and delta < 1")
        .replace("extra/", "2/")
    )
    given = ["--delta", "0.01", "--set", "T=0"]
    _, out, err = run("threshold", "--eps", "1", "--spec", str(spec), *given, "--seed", "1", "--json")
    assert not err
    (level,) = json.loads(out)["levels"]
    assert sum(x != y for x, y in zip(level["D"], level["D_prime"], strict=True)) == 1


def test_a_spec_that_cannot_be_used(run: Run, tmp_path: Path) -> None:
    status, _, err = run("threshold", "--eps", "1", "--spec", str(tmp_path / "none.dp"))
    assert status == 2
    assert "there is no file" in err
    spec = tmp_path / "two.dp"
    spec.write_text(SVT_SPEC.replace("queries : queries, sensitivity 1", "queries : query, sensitivity 1"))
    assert run("threshold", "--eps", "1", "--spec", str(spec))[0] == 2
    spec.write_text(SVT_SPEC.replace("extra >= 1", "extra > extra"))
    status, _, err = run("threshold", "--eps", "1", "--spec", str(spec))
    assert status == 2


def test_a_generated_module_brings_its_spec(capfd: pytest.CaptureFixture[str]) -> None:
    name = f"{Path(__file__).parents[2] / 'mechanisms' / 'adaptive_svt.py'}:AdaptiveSvtWithGap"
    assert main(["test", name, *SMALL, "--adjacency", "all", "--set", "eps=1", "--seed", "1"]) == 0
    assert "(chosen by the spec)" in capfd.readouterr().out

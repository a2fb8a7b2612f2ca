"""Prints what aligncheck costs, as ratios measured in one run: `python tests/bench/run.py` (not a test).

Times are of fresh processes, in pairs that take turns, so that a busy machine slows both sides alike.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PYTHON = (sys.executable,)
BRANCHES = (2, 4, 8, 16, 32)
DRAWS = (1, 2, 4, 8, 16, 32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=11, help="how often each pair is timed (default: 11)")
    pairs = parser.parse_args().pairs
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} processors, medians of {pairs} pairs\n")
    for title, this, that, aim in _comparisons():
        print(_compared(title, this, that, aim, pairs))
    print(f"\nwhole corpus: {_corpus(max(3, pairs // 3))}")
    with tempfile.TemporaryDirectory() as folder:
        print("\nseconds of checking (imports excluded) as a loop body grows:")
        print(_growth("`elif` branches", [(n, _branches(n)) for n in BRANCHES], Path(folder)))
        print("\nseconds of checking as the draws of a round grow:")
        print(_growth("noise variables", [(n, _draws(n)) for n in DRAWS], Path(folder)))


def _comparisons() -> Iterator[tuple[str, Sequence[str], Sequence[str], float]]:
    """Title, command, what it is compared with, and the ratio that is aimed at."""
    aligncheck = _program()
    bare = (*PYTHON, "-c", "pass")
    imports = (*PYTHON, "-c", "import z3, sympy, lark")
    yield (
        "verify specs/adaptive_svt.dp / import z3, sympy, lark",
        (*aligncheck, "verify", _SPEC),
        imports,
        1.5,
    )
    yield "--help / python -c pass", (*aligncheck, "--help"), bare, 3.0
    yield "verify --help / python -c pass", (*aligncheck, "verify", "--help"), bare, 3.0


_SPEC = str(PROJECT / "specs" / "adaptive_svt.dp")


def _program() -> tuple[str, ...]:
    """The installed program, as users start it."""
    found = shutil.which("aligncheck", path=sysconfig.get_path("scripts"))
    return (found,) if found else (*PYTHON, "-m", "aligncheck")


def _compared(title: str, this: Sequence[str], that: Sequence[str], aim: float, pairs: int) -> str:
    times = [(_seconds(this), _seconds(that)) for _ in range(pairs + 1)][1:]  # the first pair warms the disk
    ratio = statistics.median(a / b for a, b in times)
    ours, theirs = (statistics.median(side) for side in zip(*times, strict=True))
    return f"{title}: {ratio:.2f}  ({ours * 1000:.0f} ms / {theirs * 1000:.0f} ms; aim: at most {aim:g})"


def _seconds(command: Sequence[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=PROJECT, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def _corpus(times: int) -> str:
    command = (*_program(), "verify", "--expect", "specs")
    runs, agreement = [], ""
    for _ in range(times):
        start = time.perf_counter()
        done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
        runs.append(time.perf_counter() - start)
        agreement = done.stdout.splitlines()[-1].partition(" (")[0]
    return (
        f"{agreement}, in {statistics.median(runs):.1f} s (median of {times}; aim: at most 8 s on two cores)"
    )


# --- growth -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Checked:
    verdict: str
    seconds: float


def _growth(what: str, specs: Sequence[tuple[int, str]], folder: Path) -> str:
    """A line per size: the time, and its ratio to the one before."""
    lines, before = [], None
    for size, text in specs:
        path = folder / "grown.dp"
        path.write_text(text, "utf-8")
        checked = [_check(path) for _ in range(3)]
        seconds = statistics.median(one.seconds for one in checked)
        ratio = "" if before is None else f"  x{seconds / before:.1f}"
        lines.append(f"  {size:3} {what}: {seconds:6.3f} s  {checked[0].verdict}{ratio}")
        before = seconds
    return "\n".join(lines)


def _check(path: Path) -> _Checked:
    """What the check itself takes, in a process that has imported the solvers before."""
    done = subprocess.run((*PYTHON, "-c", _ONE_CHECK, str(path)), capture_output=True, text=True, check=True)
    verdict, seconds = done.stdout.split(";")
    return _Checked(verdict, float(seconds))


_ONE_CHECK = """
import sys
import z3, sympy, flint
from aligncheck.pipeline import Options, verify_file
from aligncheck.verdict import name_of
result = verify_file(sys.argv[1], Options(timeout=120))
print(name_of(result.verdict), result.seconds, sep=";")
"""


_HEAD = """\
mechanism grown
  "Made by tests/bench/run.py."

input
  q : queries, sensitivity 1, adjacency all
  T : real
  k : int where k >= 1
  eps : real where eps > 0

privacy eps
"""


def _branches(count: int) -> str:
    """Sparse vector that tells how far above the threshold an answer is, in `count` steps."""
    tests = [
        f"    {'if' if step == 0 else 'elif'} x + xi[i] - T - eta >= {count - 1 - step}:\n"
        f"      emit level{step}\n      count = count + 1"
        for step in range(count)
    ]
    guard = " or ".join(f"out[i] is level{step}" for step in range(count))
    return f"""{_HEAD}
program
  eta ~ Lap(2/eps)
  count = 0
  for i, x in q:
    xi[i] ~ Lap(4*k/eps)
{chr(10).join(tests)}
    else:
      emit below
    if count >= k: break

align
  eta += 1
  xi[i] += 1 + q[i] - q'[i] when {guard}
"""


def _draws(count: int) -> str:
    """Sparse vector that asks each answer `count` times, with fresh noise each time."""
    draws = "\n".join(f"    xi{step}[i] ~ Lap(4*k/eps)" for step in range(count))
    tests = "\n".join(
        f"    {'if' if step == 0 else 'elif'} x + xi{step}[i] - T - eta >= {count - 1 - step}:\n"
        f"      emit level{step}\n      count = count + 1"
        for step in range(count)
    )
    shifts = "\n".join(
        f"  xi{step}[i] += 1 + q[i] - q'[i] when out[i] is level{step}" for step in range(count)
    )
    return f"""{_HEAD}
program
  eta ~ Lap(2/eps)
  count = 0
  for i, x in q:
{draws}
{tests}
    else:
      emit below
    if count >= k: break

align
  eta += 1
{shifts}
"""


if __name__ == "__main__":
    main()

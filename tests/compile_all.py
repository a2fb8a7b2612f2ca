"""Writes `mechanisms/`: the goldens, compiled for the safest mode in which each has a certificate.

python tests/compile_all.py                 writes the goldens
python tests/compile_all.py SPEC...|--all   compiles these in memory, and prints a row for each
python tests/compile_all.py --modes         the exact modes in which each verified spec compiles, or why not
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

PROJECT = Path(__file__).parents[1]
sys.path.insert(0, str(PROJECT))

from aligncheck.compiler.certificate.text import attached  # noqa: E402 - runs as a script, beside the package
from aligncheck.compiler.emit.python import emit_python  # noqa: E402
from aligncheck.compiler.modes import RunMode  # noqa: E402
from aligncheck.pipeline import Options, certify_file  # noqa: E402
from aligncheck.verdict import Verified  # noqa: E402

SPECS, MECHANISMS = PROJECT / "specs", PROJECT / "mechanisms"
SAFEST_FIRST = (RunMode.LATTICE, RunMode.REFINED, RunMode.FLOAT)
ROW = re.compile(r"\| `(\w+)` \| (\w+) \| (.*) \|")
SECONDS = 600.0
GOLDENS = (
    "adaptive_svt",
    "exponential_mechanism",
    "hybrid_sparse_gap",
    "noisy_topk_gap",
    "svt_with_gap",
    "topk_with_measures",
)
"""One of each kind: a sparse vector, one that adapts, top-k, a hybrid of both, the exponential mechanism,
calls; on a lattice and refined.
"""
HEAD = """\
# Mechanisms

What `aligncheck compile` makes of some of the specs in [`specs/`](../specs), one of each kind: modules that
import nothing but NumPy and `aligncheck.runtime`, and carry their spec and the certificate of its proof
(`aligncheck check mechanisms/svt_with_gap.py`).

```python
from mechanisms.svt_with_gap import SvtWithGap

result = SvtWithGap(T=100, k=3, eps=1)([98, 103, 250, 3, 120])
```

Each is compiled for the first of these modes for which it is proved: `lattice` (discrete noise), `refined`
(real-valued noise, drawn as finely as each decision needs), `float` (unsafe: floating point, which no proof
covers; the class is called `Unsafe...`). `python tests/compile_all.py` writes them, after a change of a spec
or of the compiler, and prints a row like these for any other spec; a test keeps them in step.

| mechanism | mode | why not on a lattice, or not exactly |
|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Made:
    """A compiled mechanism, and why the safer modes are out."""

    name: str
    mode: RunMode
    text: str
    problems: tuple[str, ...]

    @property
    def row(self) -> str:
        problems = "; ".join(problem.replace("|", "\\|") for problem in self.problems)
        return f"| `{self.name}` | {self.mode.value} | {problems} |"


def verified_specs() -> list[str]:
    """The specs that are expected to be verified, by their paths below `specs/`."""
    files = [f.relative_to(SPECS) for folder in (SPECS, SPECS / "delta") for f in sorted(folder.glob("*.dp"))]
    verified = (f for f in files if re.search(r"^expect verified$", (SPECS / f).read_text("utf-8"), re.M))
    return [f.with_suffix("").as_posix() for f in verified]


def compiled(path: Path, mode: RunMode) -> str:
    """The module for a spec, as `aligncheck compile` writes it. Raises NotCompiledError."""
    done = certify_file(str(path), Options(timeout=SECONDS, explain=False), mode)
    verdict = done.result.verdict
    if not isinstance(verdict, Verified) or done.form is None:
        raise NotCompiledError(done.problem or "not verified")
    return attached(emit_python(replace(verdict, accepted=done.form.accepted), mode), done.sections)


class NotCompiledError(Exception):
    """Why there is no module."""


def made(name: str) -> Made:
    """The mechanism of one spec. Raises RuntimeError where there is none."""
    problems: list[str] = []
    for mode in SAFEST_FIRST:
        try:
            return Made(name, mode, compiled(SPECS / f"{name}.dp", mode), tuple(problems))
        except NotCompiledError as error:
            problems.append(str(error))
    raise RuntimeError(f"{name}: {problems}")


def why_not(name: str, mode: RunMode) -> str | None:
    """Why a spec does not compile in a mode, if so."""
    try:
        compiled(SPECS / f"{name}.dp", mode)
    except NotCompiledError as error:
        return str(error)
    return None


def print_modes(names: list[str]) -> None:
    """The exact modes in which each compiles, and how many do in each."""
    count: Counter[RunMode] = Counter()
    for name in names:
        problems = {mode: why_not(name, mode) for mode in SAFEST_FIRST[:-1]}
        count.update(mode for mode, problem in problems.items() if problem is None)
        told = (f"{mode.value}: {'yes' if why is None else f'no, {why}'}" for mode, why in problems.items())
        print(f"{name}  {'; '.join(told)}", flush=True)
    print(f"of {len(names)}: {', '.join(f'{count[mode]} {mode.value}' for mode in SAFEST_FIRST[:-1])}")


def main(names: list[str]) -> None:
    """Writes the goldens and their table, or only prints the rows that were asked for."""
    rows = []
    if names == ["--modes"]:
        print_modes(verified_specs())
        return
    with ProcessPoolExecutor(2) as pool:
        for each in pool.map(made, (verified_specs() if "--all" in names else names) or GOLDENS):
            rows.append(each.row)
            print(each.row, flush=True)
            if not names:
                (MECHANISMS / f"{each.name}.py").write_text(each.text, "utf-8")
    if not names:
        (MECHANISMS / "README.md").write_text(HEAD + "".join(f"{row}\n" for row in rows), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Decides scripts from their text alone, by Z3 or by cvc5."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

from aligncheck.compiler.certificate.scripts import Script
from aligncheck.search.discharge.smt import STEPS_PER_MILLISECOND

MILLISECONDS = 5_000
"""How long a solver may think about one question."""
_PATIENCE = 5
"""Z3 counts its own steps; the clock ends what takes this many times as long."""
_LINEAR_STEPS = 5_000_000
_WAYS = (("qfnra-nlsat", 100_000), ("smt", 300_000), ("qfnra-nlsat", 5_000_000))
"""How Z3 is asked what a nonlinear question needs, and for how many steps: its solver for polynomials is
slow where there are many cases, and its general one where a polynomial is large.
"""
_SECONDS = 120
"""Only steps decide which core is found, lest a certificate depend on the machine: past this, none is."""
_ROUNDS = 3


class Solver(Enum):
    """The solvers that can decide a certificate."""

    Z3 = "z3"
    CVC5 = "cvc5"


class SolverMissingError(Exception):
    """The second solver is not installed; the message says how to install it."""


class ScriptError(Exception):
    """A solver could not read a script, or did not answer each of its questions; carries what it said."""


class SlowError(Exception):
    """What a question needs was not found in time; whether it would be depends on the machine."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One solver's answer to one question: `unsat`, `sat` or `unknown`."""

    solver: Solver
    question: str
    answer: str


def versions(solvers: Sequence[Solver]) -> str:
    """The solvers' names and versions. Raises SolverMissingError."""
    found = []
    for solver in solvers:
        if solver is Solver.Z3:
            import z3

            found.append(f"Z3 {z3.get_version_string()}")
        else:
            found.append(f"cvc5 {_cvc5().__version__}")
    return ", ".join(found)


def answers(script: Script, solver: Solver) -> tuple[Reply, ...]:
    """What a solver says to each question of a script. Raises ScriptError, SolverMissingError."""
    said = _by_z3(script.text) if solver is Solver.Z3 else _by_cvc5(script.text)
    if len(said) != len(script.questions) or not set(said) <= {"sat", "unsat", "unknown"}:
        raise ScriptError(f"{solver.value} cannot decide `{script.title}`: {' '.join(said)[:200]}")
    return tuple(Reply(solver, q, answer) for q, answer in zip(script.questions, said, strict=True))


def _by_z3(text: str) -> list[str]:
    steps = STEPS_PER_MILLISECOND * MILLISECONDS  # lest an answer depend on the machine
    head = _set([f"rlimit {steps}", f"timeout {_PATIENCE * MILLISECONDS}"])
    said = evaluated(head + text).split("\n")[:-1]
    if "unknown" in said:  # Z3 has another solver for what the logic does not name
        general = re.sub(r"^\(set-logic .*\)$", "(set-logic ALL)", text, flags=re.M)
        again = evaluated(head + general).split("\n")[:-1]
        if len(again) == len(said):
            said = [one if one != "unknown" else other for one, other in zip(said, again, strict=True)]
    return said


def evaluated(text: str) -> str:
    """What Z3 prints when it executes a script."""
    import z3

    try:
        said = z3.Z3_eval_smtlib2_string(_context().ref(), f"(reset)\n{text}")
    except z3.Z3Exception as error:  # raised if any command failed; what was printed is the message
        said = error.value
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)


def _context() -> Any:
    """A context for scripts alone: making one takes longer than most scripts."""
    from aligncheck.search.discharge.z3build import context

    return _for_scripts(context())


@lru_cache(maxsize=1)
def _for_scripts(beside: Any) -> Any:
    import z3

    return z3.Context()


def cores(text: str, questions: Sequence[str]) -> list[frozenset[str] | None]:
    """For each linear question, asked in turn after a script, the names of the assertions from which Z3
    derives that it is `unsat`; None where it does not. Raises SlowError.
    """
    options = ("produce-unsat-cores true", "smt.core.minimize true", f"rlimit {_LINEAR_STEPS}")
    asked = "".join(f"(push 1) {q} (check-sat) (get-unsat-core) (pop 1)\n" for q in questions)
    found = _in_steps(options, f"{text}\n{asked}")
    if len(found) != len(questions):
        raise ScriptError("Z3 did not answer every question")
    return found


def core(head: str, named: Mapping[str, str], goal: str) -> frozenset[str] | None:
    """The same for one nonlinear question, with its assertions by their names. What it needs is tried again,
    as long as that gets less.
    """
    left = dict(named)
    found: frozenset[str] | None = None
    for _ in range(_ROUNDS):
        needed = _core(head, left, goal)
        if needed is None:
            break
        found = needed & named.keys()
        if len(found) == len(left):
            break
        left = {name: left[name] for name in left if name in found}
    if found is None and _by_z3("\n".join([head, *named.values(), f"{goal} (check-sat)\n"])) == ["unsat"]:
        return frozenset(named)
    return found


def _core(head: str, named: Mapping[str, str], goal: str) -> frozenset[str] | None:
    for tactic, steps in _WAYS:
        options = ("produce-unsat-cores true", "smt.core.minimize false", f"rlimit {steps}")
        lines = [head, *named.values(), f"{goal} (check-sat-using {tactic}) (get-unsat-core)\n"]
        found = _in_steps(options, "\n".join(lines))
        if found and found[0] is not None:
            return found[0]
    return None


def _in_steps(options: Sequence[str], text: str) -> list[frozenset[str] | None]:
    """The cores that Z3 finds in a number of steps. Raises SlowError where the clock ended that."""
    start = time.monotonic()
    found = _cores_in(evaluated(_set([*options, f"timeout {1000 * _SECONDS}"]) + text))
    if None in found and time.monotonic() - start >= _SECONDS:
        raise SlowError(f"what a question needs was not found in {_SECONDS} s")
    return found


def _cores_in(said: str) -> list[frozenset[str] | None]:
    """The cores among what Z3 printed: an answer, then a list of names or an error."""
    answers_ = re.findall(r"^(unsat|sat|unknown|timeout)\n(\(.*?\))$", said, re.M | re.S)
    return [frozenset(c.strip("()").split()) if answer == "unsat" else None for answer, c in answers_]


def _set(options: Iterable[str]) -> str:
    return "".join(f"(set-option :{option})\n" for option in options)


def _by_cvc5(text: str) -> list[str]:
    """By cvc5's default: its coverings alone decide more, but do not always keep to a limit."""
    cvc5 = _cvc5()
    solver = cvc5.Solver(cvc5.TermManager())
    for name, value in (("incremental", "true"), ("tlimit-per", str(MILLISECONDS))):
        solver.setOption(name, value)
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "certificate")
    symbols = parser.getSymbolManager()
    said: list[str] = []
    try:
        while not (command := parser.nextCommand()).isNull():
            said += str(command.invoke(solver, symbols)).split("\n")[:-1]
    except RuntimeError as error:  # how its Python interface reports what it cannot read
        return [*said, f"error: {error}"]
    return ["unknown" if line.startswith("unknown (") else line for line in said]  # with the reason


def _cvc5() -> Any:
    try:
        import cvc5
    except ImportError:
        raise SolverMissingError("the solver cvc5 is not installed: pip install 'aligncheck[cvc5]'") from None
    return cvc5

"""The solvers that can decide the kernel's questions: Z3, which it asks, and cvc5, from text alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

_COVERINGS = {"nl-cov": "true", "nl-ext": "none"}
_WAYS = {"unsat": (({}, 500), (_COVERINGS, 5_000), ({}, 5_000)), "sat": (({"mbqi": "true"}, 5_000),)}
"""How cvc5 is asked what should be answered so, and for how many milliseconds. By default it is quick where
products are few; its coverings (of the solutions of polynomials) decide the others, but do not always keep to
a limit. That something is possible for all whole numbers it finds with models of quantified formulas only.
"""


class Solver(Enum):
    """Who can be asked."""

    Z3 = "z3"
    CVC5 = "cvc5"


class SolverMissingError(Exception):
    """The second solver is not installed; the message says how to install it."""


def versions(solvers: Sequence[Solver]) -> str:
    """The solvers' names and versions. Raises SolverMissingError."""
    found = []
    for solver in solvers:
        if solver is Solver.Z3:
            import z3

            found.append(f"Z3 {z3.get_version_string()}")
        else:
            found.append(f"cvc5 {cvc5().__version__}")
    return ", ".join(found)


def by_cvc5(text: str, expected: str) -> str:
    """What cvc5 says to a script with one question: `unsat`, `sat` or `unknown`; `expected` is what it should
    say. Raises SolverMissingError.
    """
    for options, milliseconds in _WAYS[expected]:
        said = _said(text, {**options, "tlimit-per": str(milliseconds)})
        if said in ("sat", "unsat"):
            return said
    return "unknown"


def _said(text: str, options: Mapping[str, str]) -> str:
    module = cvc5()
    solver = module.Solver(module.TermManager())
    for name, value in options.items():
        solver.setOption(name, value)
    parser = module.InputParser(solver)
    parser.setStringInput(module.InputLanguage.SMT_LIB_2_6, text, "question")
    symbols = parser.getSymbolManager()
    said = ""
    try:
        while not (command := parser.nextCommand()).isNull():
            said += str(command.invoke(solver, symbols))
    except RuntimeError as error:  # how its Python interface reports what it cannot read
        return f"error: {error}"
    return said.strip()


def cvc5() -> Any:
    """The module. Raises SolverMissingError."""
    try:
        import cvc5
    except ImportError:
        raise SolverMissingError("the solver cvc5 is not installed: pip install 'aligncheck[cvc5]'") from None
    return cvc5

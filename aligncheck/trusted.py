"""What must be believed to believe a VERIFIED: the one list, which the README and the tests read.

A module that has a part in `verify` and is not named here only chooses, shows or looks for counterexamples:
with it replaced by one that confirms, guesses or returns nothing, nothing wrong is VERIFIED, as
`tests/corpus/test_sabotage.py` tries. Beside these: Z3, FLINT, Lark and Python.
"""

from __future__ import annotations

TRUSTED: dict[str, str] = {
    "aligncheck.language.files": "what is read of a file",
    "aligncheck.language.source": "positions in a text",
    "aligncheck.language.internal": "the error for what earlier stages exclude",
    "aligncheck.language.conditions": "the closed list of conditions",
    "aligncheck.language.diagnostics": "errors",
    "aligncheck.language.families": "the noise families: supports, and how fast densities fall",
    "aligncheck.language.syntax": "the spec's text to its tree",
    "aligncheck.language.check": "names, sorts, what the output determines",
    "aligncheck.search.relational": "the program to relational paths, the declarations to facts",
    "aligncheck.search.obligations": "the rules of inference, each with its reason",
    "aligncheck.search.discharge.algebra": "normal forms",
    "aligncheck.search.discharge.facts": "facts about what occurs in a question",
    "aligncheck.search.discharge.translate": "terms to a solver's formulas",
    "aligncheck.search.discharge.z3build": "formulas in Z3's own terms",
    "aligncheck.search.discharge.smt": "questions to Z3",
    "aligncheck.search.discharge.values": "values of terms, for the inputs that satisfy the declarations",
    "aligncheck.search.discharge.prove": "deciding obligations; the only maker of `Proved`",
    "aligncheck.search.discharge.whole": "the whole list of obligations",
    "aligncheck.search.discharge.establish": "deciding that list",
    "aligncheck.search.discharge.density": "the same for mechanisms that draw by densities",
    "aligncheck.search.discharge.guarantees": "what callers may assume of the output",
    "aligncheck.judge": "outcomes to a verdict, callees first",
    "aligncheck.verdict": "verdicts",
    "aligncheck.pipeline": "the stages in order",
}
"""Modules and packages, with what is believed of each."""

UNTRUSTED_WITHIN = ("aligncheck.search.relational.candidates", "aligncheck.search.relational.spell")
"""What is not trusted inside of packages that are."""


def is_trusted(module: str) -> bool:
    """Whether a module of the package must be believed."""
    if module in UNTRUSTED_WITHIN:
        return False
    return any(module == name or module.startswith(f"{name}.") for name in TRUSTED)

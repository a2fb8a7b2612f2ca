"""What must hold of runs: of the paths of a program with any number of rounds, for the search for invariants;
of those of small inputs, for the search for runs that fail.
"""

from __future__ import annotations

from aligncheck.language.conditions import Condition

ORDER = (
    Condition.HYPOTHESES,
    Condition.DEFINED,
    Condition.FRESH,
    Condition.SCALES,
    Condition.DRAWS,
    Condition.COUNTABLE,
    Condition.ACYCLIC,
    Condition.INJECTIVE,
    Condition.SUPPORT,
    Condition.CALLS,
    Condition.OUTPUT,
    Condition.COST,
    Condition.TERMINATES,
    Condition.INVARIANT,
)
"""The order in which conditions are looked at: the first that fails names the failure."""

"""`aligncheck explain`: what a condition of the proof means."""

from __future__ import annotations

from difflib import get_close_matches

from aligncheck.commands import CommandError
from aligncheck.commands.telling import tell
from aligncheck.language.conditions import Condition, condition_named
from aligncheck.report.pages import explain_condition, list_of_conditions


def explain(name: str | None) -> int:
    """Prints one condition's page, or the list of conditions. Raises CommandError for an unknown name."""
    if name is None:
        tell(*list_of_conditions().split("\n"))
        return 0
    condition = condition_named(name)
    if condition is None:
        near = get_close_matches(name.lower(), [c.id for c in Condition], 1)
        hint = f"did you mean `{near[0]}`?" if near else "see `aligncheck explain`"
        raise CommandError(f"there is no condition `{name}`; {hint}")
    tell(*explain_condition(condition).split("\n"))
    return 0

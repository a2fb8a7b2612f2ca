"""Exact values as people read them."""

from __future__ import annotations

from aligncheck.meaning.exact import ZERO, Irrational, Value, decimal
from aligncheck.meaning.interpreter import EmittedRecord, Input, value_text
from aligncheck.meaning.scenario import Scenario

_MOST_ENTRIES = 12
_LONGEST = 24


def shown(value: Value) -> str:
    """`3`, `1/2`, `true`, `16*sqrt(2) ~ 22.63`; a number of many digits is cut to a decimal."""
    text = value_text(value)
    if isinstance(value, bool):
        return text
    if isinstance(value, Irrational):
        return f"{text} ~ {decimal(value)}"
    return text if len(text) <= _LONGEST else f"~ {decimal(value, 8)}"


def signed(value: Value) -> str:
    """A shift: `+1`, `-1/2`."""
    text = shown(value)
    return text if text.startswith(("-", "~")) else f"+{text}"


def listed(value: Input) -> str:
    """A number, or a list in brackets of which at most the first twelve entries are shown."""
    if not isinstance(value, tuple):
        return shown(value)
    entries = [shown(entry) for entry in value[:_MOST_ENTRIES]]
    more = [f"… {len(value) - _MOST_ENTRIES} more"] if len(value) > _MOST_ENTRIES else []
    return f"[{', '.join([*entries, *more])}]"


def recorded(record: EmittedRecord) -> str:
    """`mid(gap = 1, used = 1/2)`."""
    fields = ", ".join(f"{name} = {shown(value)}" for name, value in record.fields)
    return f"{record.tag}({fields})" if fields else record.tag


def inputs_text(scenario: Scenario) -> str:
    """Parameters, D and D': `eps = 1, q = [1, 1], q' = [0, 0]`."""
    data_prime = dict(scenario.data_prime)
    parts = [f"{name} = {listed(value)}" for name, value in scenario.parameters]
    for name, value in scenario.data:
        parts.append(f"{name} = {listed(value)}")
        parts.append(f"{name}' = {listed(data_prime[name])}")
    return ", ".join(parts)


def noise_text(scenario: Scenario) -> str:
    """`eta = 1, xi[0] = 2, found.eta = 1, the rest 0`."""
    moved = [f"{name} = {shown(value)}" for name, value in scenario.all_noise() if value != ZERO]
    if not moved:
        return "all 0"
    more = ["…"] if len(moved) > _MOST_ENTRIES else []
    return ", ".join([*moved[:_MOST_ENTRIES], *more, "the rest 0"])

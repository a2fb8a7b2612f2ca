"""Static checks: everything that can be said about a spec before any proof."""

from __future__ import annotations

from aligncheck.check.names import check_names, symbols_of
from aligncheck.source import Source
from aligncheck.syntax.nodes import Mechanism


def check(source: Source, mechanism: Mechanism) -> Mechanism:
    """The mechanism, if it makes sense: names, values and sorts fit, and nothing in it is out of scope.

    Raises SpecError with the first fault.
    """
    symbols = symbols_of(source, mechanism)
    check_names(source, mechanism, symbols)
    return mechanism

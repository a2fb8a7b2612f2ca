"""`aligncheck show`: the spec with its alignment beside the lines that it moves."""

from __future__ import annotations

from aligncheck.commands.checking import one_file
from aligncheck.commands.screen import Screen
from aligncheck.diagnostics import SpecError
from aligncheck.syntax.parse import parse, read_source


def show(path: str) -> int:
    """Prints a spec that can be read; it is not checked. Returns 0, or 2 after a diagnostic."""
    from aligncheck.report.show import render_spec
    from aligncheck.report.terminal import render_diagnostic

    try:
        source = read_source(one_file(path))
        mechanism = parse(source)
    except SpecError as error:
        Screen(error=True).show(render_diagnostic(error.source, error.diagnostic))
        return 2
    Screen().show(render_spec(source, mechanism))
    return 0

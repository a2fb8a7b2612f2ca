"""`aligncheck show`: the spec with its alignment beside the lines it moves, or the form in which it runs."""

from __future__ import annotations

from aligncheck.commands.checking import one_file
from aligncheck.commands.screen import Screen
from aligncheck.commands.telling import tell
from aligncheck.compiler.modes import RunMode
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.syntax.parse import parse, read_source


def show(path: str, mode: str | None = None) -> int:
    """Prints a spec that can be read; it is not checked. With a mode, the form in which it would run, as a
    spec. Returns 0; 2 after a diagnostic; 3 where there is no such form.
    """
    from aligncheck.report.terminal import render_diagnostic

    try:
        return _spec(path) if mode is None else _form(path, RunMode(mode))
    except SpecError as error:
        screen = Screen(error=True)
        for one in (error.diagnostic, *error.further):
            screen.show(render_diagnostic(error.source, one))
        return 2


def _spec(path: str) -> int:
    from aligncheck.language.check.further import further
    from aligncheck.report.listing import render_spec

    source = read_source(one_file(path))
    try:
        spec = parse(source)
    except SpecError as error:
        raise SpecError(error.source, error.diagnostic, further(error)) from None
    Screen().show(render_spec(source, spec))
    return 0


def _form(path: str, mode: RunMode) -> int:
    from aligncheck.compiler.forms import NoFormError, form_of
    from aligncheck.language.check.further import checked

    source = read_source(one_file(path))
    try:
        form = form_of(checked(source), source, mode)
    except NoFormError as error:
        line, _ = source.position(error.span.start)
        tell(f"aligncheck: `{path}` has no form for `{mode.value}`: line {line}: {error.why}", error=True)
        return 3
    tell(*form.source.text.removesuffix("\n").split("\n"))
    return 0

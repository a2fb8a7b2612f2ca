"""What `import aligncheck` offers: the commands as functions. They run in supervised processes, with the same
limits of time and memory, and give values back instead of printing them.

    >>> found = aligncheck.verify("specs/svt.dp")
    >>> found.verdict
    'VERIFIED'

A spec is the path of a file, or its text (what holds a line end is a text). Whatever cannot be carried out
raises CommandError; a spec that is wrong does not: its verdict is `ERROR`.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Never, TypeAlias

from aligncheck.commands import CommandError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from aligncheck.compiler.modes import RunMode
    from aligncheck.publish.compose import Judged
    from aligncheck.publish.sheet import Sheet
    from aligncheck.runtime import Mechanism
    from aligncheck.verdict import FileResult

Spec: TypeAlias = str | os.PathLike[str]
"""The path of a spec, or its text."""
ModeName: TypeAlias = Literal["lattice", "refined", "float"]

TIMEOUT = 60.0
"""Seconds for each spec, as on the command line."""

_TEXT = "spec.dp"
"""What a spec is called that was given as a text."""
_WIDTH = 100


@dataclass(frozen=True)
class Finding:
    """What became of one spec or module.

    Attributes:
        verdict: as the command says it: `VERIFIED`, `ALIGNMENT FAILS`, `UNKNOWN`, `ERROR`; `REFUTED`,
            `NO VIOLATION FOUND`; `CHECKED`, `FAILED`.
        path: the file, or `spec.dp` for a text.
        mechanism: its name, where it could be read that far.
        status: the exit status of the command.
        document: all of it, as the command prints it with `--json`.
        as_expected: whether it is what the spec's `expect` line says; None where that was not asked.
        text: the report that the command prints.
    """

    verdict: str
    path: str
    mechanism: str | None
    status: int
    document: Mapping[str, Any] = field(repr=False, compare=False)
    as_expected: bool | None = field(repr=False)
    text: str = field(repr=False, compare=False)
    _html: str = field(repr=False, compare=False)

    @property
    def verified(self) -> bool:
        """Whether it is VERIFIED."""
        return self.verdict == "VERIFIED"

    @property
    def refuted(self) -> bool:
        """Whether a violation is certified."""
        return self.verdict == "REFUTED"

    def to_json(self) -> str:
        """The document as text."""
        return json.dumps(self.document, indent=2)

    def __bool__(self) -> Never:
        raise TypeError("a finding is neither true nor false: ask for `.verified`, `.refuted` or `.verdict`")

    def __repr__(self) -> str:
        name = self.mechanism if self.mechanism is not None else self.path
        return f"<{self.verdict}: {name}>"

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self._html


def verify(spec: Spec, *, timeout: float = TIMEOUT, verbose: bool = False) -> Finding:
    """The verdict on a spec, as `aligncheck verify` gives it. Raises CommandError where there is no file."""
    from aligncheck.commands.checking import checked_alone

    with _file(spec) as (path, shown):
        result = checked_alone(path, timeout)
    from aligncheck.expect import compare
    from aligncheck.language.source import Source
    from aligncheck.report.machine import document
    from aligncheck.report.terminal import render_result
    from aligncheck.verdict import exit_status, name_of

    result = _renamed(result, shown)
    return _finding(
        verdict=name_of(result.verdict),
        path=shown,
        mechanism=result.mechanism,
        status=exit_status(result.verdict),
        document=document([result]),
        as_expected=compare(result).agrees if "\nexpect" in result.text else None,
        what=render_result(result, Source(shown, result.text), verbose),
    )


def refute(
    spec: Spec,
    *,
    eps: object = None,
    timeout: float | None = None,
    settings: Mapping[str, object] | None = None,
) -> Finding:
    """What a search for a certified violation finds, as `aligncheck refute` does it.

    `settings` gives parameters their values (whole numbers, fractions or texts such as `"1/2"`), `eps` that
    of `eps`; `timeout`: seconds to search by the clock, None: a number of steps, the same on every machine.

    Raises CommandError where there is no file, or no such parameter.
    """
    from aligncheck.commands.refuting import Job, refuting

    given = dict(settings or {}) | ({} if eps is None else {"eps": eps})
    values = {name: str(value) for name, value in given.items()}
    with _file(spec) as (path, shown), refuting([Job(path, values, timeout)], jobs=1) as work:
        found = next(iter(work))
    from dataclasses import replace

    from aligncheck.expect import compare_refutation
    from aligncheck.refutation.findings import exit_status, name_of
    from aligncheck.report.refutation import refutation_document, render_refutation

    found = replace(found, path=shown)
    mechanism = found.mechanism
    return _finding(
        verdict=name_of(found.outcome),
        path=shown,
        mechanism=None if mechanism is None else mechanism.name,
        status=exit_status(found.outcome),
        document=refutation_document([found]),
        as_expected=None if mechanism is None else compare_refutation(found).agrees,
        what=render_refutation(found),
    )


def compile(  # noqa: A001 - the command's name
    spec: Spec,
    output: str | os.PathLike[str] | None = None,
    *,
    mode: ModeName = "lattice",
    timeout: float = TIMEOUT,
    force: bool = False,
) -> str:
    """The text of the Python module of a verified spec, written to `output` if that is given.

    Raises CommandError where the spec is not VERIFIED, has no form for the mode, or is refuted by the short
    search that is made before anything is written; or where `output` cannot be written.
    """
    from aligncheck.commands.checking import certified_and_searched
    from aligncheck.commands.compile import module_text, refusal_for, refuse_to_overwrite, replace_file
    from aligncheck.verdict import Verified, name_of

    how = _mode(mode)
    if output is not None:
        refuse_to_overwrite(os.fspath(output), force)
    with _file(spec) as (path, shown):
        done, contradiction = certified_and_searched(path, timeout, how)
    verdict = done.result.verdict
    if not isinstance(verdict, Verified):
        raise CommandError(f"not compiled: `{shown}` is {name_of(verdict)}", "Ask `verify` why.")
    if done.form is None:
        raise CommandError(f"not compiled: `{shown}` is VERIFIED, {refusal_for(how, done)}")
    if contradiction is not None:
        raise CommandError(
            f"not compiled: `{shown}` is VERIFIED, and refuted: a contradiction inside aligncheck",
            "Do not rely on this mechanism; please report it, with what `aligncheck compile` prints.",
        )
    text = module_text(verdict, done.form, done.sections, how)
    if output is not None:
        replace_file(os.fspath(output), text)
    return text


def check(
    module: str | os.PathLike[str], *, solver: Literal["z3", "cvc5", "both"] = "z3", timeout: float = TIMEOUT
) -> Finding:
    """Whether a compiled module is proved, believing nothing in it, as `aligncheck check` decides it.

    Raises CommandError where there is no module, or the solver is not installed.
    """
    from aligncheck.commands.check import check_lines, decided
    from aligncheck.commands.checking import one_file, text_of

    path = one_file(os.fspath(module))
    solvers = ("z3", "cvc5") if solver == "both" else (solver,)
    checked = decided(text_of(path), solvers, timeout)
    status, lines = check_lines(path, checked, " and ".join(solvers))
    spec = None if isinstance(checked, str) else checked.spec
    return _finding(
        verdict="FAILED" if status else "CHECKED",
        path=path,
        mechanism=None if spec is None else spec.name,
        status=status,
        document={"path": path, "status": status, "lines": list(lines)},
        as_expected=None,
        what="\n".join(lines),
    )


@dataclass(frozen=True, repr=False)
class Document:
    """What `aligncheck explain` or `aligncheck compare` writes: the proof, or the runs on which it fails. A
    notebook shows its page.
    """

    _sheet: Sheet

    @property
    def title(self) -> str:
        """The mechanism and the verdict, or the names of both mechanisms."""
        return self._sheet.title

    def to_html(self) -> str:
        """One page that stands by itself."""
        from aligncheck.publish.html import html_page

        return html_page(self._sheet)

    def to_latex(self) -> str:
        """LaTeX: theorem, algorithm and proof."""
        from aligncheck.publish.latex import latex_text

        return latex_text(self._sheet)

    def to_markdown(self) -> str:
        """Markdown, for issues and pages."""
        from aligncheck.publish.markdown import markdown_text

        return markdown_text(self._sheet)

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def _repr_html_(self) -> str:
        from html import escape

        return f'<iframe srcdoc="{escape(self.to_html())}" width="100%" height="600"></iframe>'


def explain(spec: Spec, *, timeout: float = TIMEOUT) -> Document:
    """What is found of a spec, as a document, as `aligncheck explain` writes it. Raises CommandError where
    there is no file.
    """
    from aligncheck.publish.compose import spec_sheet

    return Document(spec_sheet(*_judged(spec, timeout)))


def compare(one: Spec, other: Spec, *, timeout: float = TIMEOUT) -> Document:
    """The lines in which two specs differ and what is found of each, as `aligncheck compare` writes it.

    Raises CommandError where there is no file.
    """
    from aligncheck.publish.compose import comparison_sheet

    return Document(comparison_sheet(_judged(one, timeout), _judged(other, timeout)))


def _judged(spec: Spec, timeout: float) -> Judged:
    from aligncheck.commands.publish import judged

    with _file(spec) as (path, shown):
        result, refutation = judged(path, timeout)
    return _renamed(result, shown), refutation


def load(spec: Spec, *, mode: ModeName | None = None, timeout: float = TIMEOUT) -> type[Mechanism]:
    """The class of a mechanism: of a spec, which is verified first and compiled in memory; or of a compiled
    module, whose digest is compared and whose proof is decided before anything in it is executed.

    `mode` None: on a lattice if that is proved, else refined; a module as it is.

    Raises CommandError where it cannot be run: not verified, not proved in that mode, changed.
    """
    from aligncheck.commands.check import check_lines, decided
    from aligncheck.commands.run import runnable
    from aligncheck.execute.cannot_run import RunError
    from aligncheck.execute.load import CheckedSpec
    from aligncheck.execute.load import load as load_file

    how = None if mode is None else _mode(mode)

    def checked(path: str) -> CheckedSpec:
        return runnable(path, timeout, how)[1]

    def decide(text: str) -> None:
        status, lines = check_lines(path, decided(text, ("z3",), timeout), "z3")
        if status:
            raise CommandError("; ".join(lines))

    with _file(spec) as (path, _):
        try:
            return load_file(path, checked, how, decide)
        except RunError as error:
            raise CommandError(error.message, error.help) from None


def _mode(name: str) -> RunMode:
    from aligncheck.compiler.modes import RunMode

    try:
        return RunMode(name)
    except ValueError:
        raise CommandError(f"there is no mode `{name}`: lattice, refined, float") from None


def _renamed(result: FileResult, path: str) -> FileResult:
    from dataclasses import replace

    return replace(result, path=path)


@contextmanager
def _file(spec: Spec) -> Iterator[tuple[str, str]]:
    """A file with the spec, and what it is called."""
    from aligncheck.commands.checking import one_file

    if isinstance(spec, str) and "\n" in spec:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, _TEXT)
            path.write_text(spec, "utf-8", newline="\n")
            yield str(path), _TEXT
    else:
        path_ = one_file(os.fspath(spec))
        yield path_, path_


def _finding(*, what: RenderableType, **fields: Any) -> Finding:
    import io

    from rich.console import Console

    console = Console(
        record=True, width=_WIDTH, file=io.StringIO(), highlight=False, markup=False, emoji=False
    )
    console.print(what)
    frame = '<pre style="white-space:pre;overflow-x:auto;line-height:normal"><code>{code}</code></pre>'
    html = console.export_html(inline_styles=True, code_format=frame, clear=False)
    return Finding(**fields, text=console.export_text().rstrip("\n"), _html=html)


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext aligncheck`: a cell that begins with `%%aligncheck` holds a spec; shown is what `verify`
    finds, or `refute` where that stands on the line. `%%aligncheck NAME` keeps the class of a verified spec.
    """

    def aligncheck(line: str, cell: str) -> Finding | None:
        name = line.strip()
        work: Callable[[str], Finding] = refute if name == "refute" else verify
        found = work(f"{cell}\n")
        if name.isidentifier() and name not in ("refute", "verify") and found.verified:
            ipython.push({name: load(f"{cell}\n")})
        return found

    ipython.register_magic_function(aligncheck, "cell", "aligncheck")

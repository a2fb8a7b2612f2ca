"""The class of a mechanism that is to run: compiled in memory from a verified spec, or read from a file."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass

from aligncheck.compiler.certificate.text import FormatError, OtherFormatError, detached, spec_named
from aligncheck.compiler.emit.python import emit_python
from aligncheck.compiler.modes import RunMode
from aligncheck.execute.cannot_run import NoSafeMode, NotVerified, RunError
from aligncheck.language.files import opened
from aligncheck.runtime import Mechanism
from aligncheck.verdict import Verdict, Verified


@dataclass(frozen=True, slots=True)
class CheckedSpec:
    """What a check found: the verdict on a spec and, where it is VERIFIED, how it may run (`mode`), or why in
    no way (`problem`, the end of a sentence).
    """

    verdict: Verdict
    mode: RunMode | None
    problem: str = ""


Check = Callable[[str], CheckedSpec]
"""Checks the spec in a file, and the forms of it that can run."""

Decide = Callable[[str], None]
"""Decides the proof that the text of a generated module carries, and compares its code; raises RunError where
anything of it fails.
"""

_MODULE = "aligncheck generated mechanism"
"""No importable name, so that a generated file can never stand in for another module."""


def load(
    path: str, check: Check, mode: RunMode | None = None, decide: Decide | None = None
) -> type[Mechanism]:
    """The mechanism in a spec (`.dp`, which is checked first) or in a generated module (`.py`).

    `mode` is how it must compute, None: in a way that the proof covers, but a generated module as it is.
    Nothing of a module is executed before its digest was compared, which finds accidents, and before
    `decide`, if it is given, has decided its proof, which finds intent. What is compared and decided is the
    very text that is executed.

    Raises:
        NotVerified: the spec is not verified.
        NoSafeMode: it is, but not in a form that can run.
        RunError: the file cannot be read, holds no mechanism, was changed since, or was compiled for another
            mode.
    """
    if path.endswith(".py"):
        text = python_text(path)
        _refuse_accidents(path, text)
        if decide is not None:
            decide(text)
        found = _class_in(path, text)
        if mode is not None and found.mode != mode.value:
            raise RunError(
                f"`{path}` was compiled with `--mode {found.mode}`", f"compile it with `--mode {mode.value}`"
            )
        return found
    match check(path):
        case CheckedSpec(verdict=Verified() as verified, mode=RunMode() as how):
            return _class_in(f"<generated from {path}>", emit_python(verified, how))
        case CheckedSpec(verdict=Verified(), problem=problem):
            raise NoSafeMode(path, problem, mode)
        case CheckedSpec(verdict=verdict):
            raise NotVerified(path, verdict)


def python_text(path: str) -> str:
    """The text of a file. Raises RunError where there is none."""
    try:
        with opened(path) as file:
            return file.read().decode("utf-8")  # as it is: the digest is that of every byte
    except OSError as error:
        raise RunError(f"cannot read `{path}`: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise RunError(f"`{path}` is no Python file: it is not UTF-8 text") from None


def _refuse_accidents(path: str, text: str) -> None:
    """Raises RunError for what is not, byte for byte, what was written when it was compiled."""
    try:
        parts = detached(text)
    except OtherFormatError as error:
        message = str(error).removesuffix(": compile it again")
        raise RunError(f"{path}:{error.line}: {message}", _anew(path, None)) from None
    except FormatError as error:
        place = path if error.line is None else f"{path}:{error.line}"
        raise RunError(
            f"{place}: {error}: this is not as `aligncheck compile` wrote it", _anew(path, None)
        ) from None
    if not parts.intact:
        spec = next((named for s in parts.sections if (named := spec_named(s.title)) is not None), None)
        raise RunError(
            f"`{path}` was changed after it was compiled: its digest is not that of its text",
            _anew(path, spec[0] if spec is not None else None),
        )


def _anew(path: str, spec: str | None) -> str:
    return f"compile it again: `aligncheck compile {spec or 'SPEC.dp'} -o {path}`"


def execute_in(module: types.ModuleType, path: str, text: str) -> None:
    """Executes the text of a file. Raises RunError where that is no Python, or raises."""
    try:
        exec(compile(text, path, "exec", dont_inherit=True), module.__dict__)
    except SyntaxError as error:
        raise RunError(f"{path}:{error.lineno or 1}: {error.msg}") from None
    except (Exception, SystemExit) as error:
        raise RunError(f"`{path}` cannot be loaded: {type(error).__name__}: {error}") from None


def _class_in(path: str, text: str) -> type[Mechanism]:
    module = types.ModuleType(_MODULE)
    module.__file__ = path
    # Dataclasses look their module up while the file runs.
    sys.modules[_MODULE] = module
    try:
        execute_in(module, path, text)
    finally:
        del sys.modules[_MODULE]
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Mechanism) and value.__module__ == _MODULE
    ]
    called = {callee for cls in found for callee in cls.callees}
    found = [cls for cls in found if cls not in called]
    if len(found) != 1:
        raise RunError(
            f"`{path}` holds {'no mechanism' if not found else 'several mechanisms'}",
            "run a spec (.dp) or a file that `aligncheck compile` wrote",
        )
    return found[0]

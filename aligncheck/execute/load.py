"""The class of a mechanism that is to run: compiled in memory from a verified spec, or read from a file."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass

from aligncheck.emit.python import emit_python
from aligncheck.execute.errors import NoSafeMode, NotVerified, RunError
from aligncheck.modes import Mode
from aligncheck.runtime import Mechanism
from aligncheck.verdict import Verdict, Verified


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found: the verdict on a spec and, where it is VERIFIED, how it may run (`mode`), or why in
    no way (`problem`, the end of a sentence).
    """

    verdict: Verdict
    mode: Mode | None
    problem: str = ""


Check = Callable[[str], Checked]
"""Checks the spec in a file, and the forms of it that can run."""

_MODULE = "aligncheck generated mechanism"
"""No importable name, so that a generated file can never stand in for another module."""


def load(path: str, check: Check, mode: Mode | None = None) -> type[Mechanism]:
    """The mechanism in a spec (`.dp`, which is checked first) or in a generated module (`.py`).

    `mode` is how it must compute, None: in a way that the proof covers, but a generated module as it is.

    Raises:
        NotVerified: the spec is not verified.
        NoSafeMode: it is, but not in a form that can run.
        RunError: the file cannot be read, holds no mechanism, or was compiled for another mode.
    """
    if path.endswith(".py"):
        found = _class_in(path, _text_of(path))
        if mode is not None and found.mode != mode.value:
            raise RunError(
                f"`{path}` was compiled with `--mode {found.mode}`", f"compile it with `--mode {mode.value}`"
            )
        return found
    match check(path):
        case Checked(verdict=Verified() as verified, mode=Mode() as how):
            return _class_in(f"<generated from {path}>", emit_python(verified, how))
        case Checked(verdict=Verified(), problem=problem):
            raise NoSafeMode(path, problem, mode)
        case Checked(verdict=verdict):
            raise NotVerified(path, verdict)


def _text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise RunError(f"cannot read `{path}`: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise RunError(f"`{path}` is no Python file: it is not UTF-8 text") from None


def _class_in(path: str, text: str) -> type[Mechanism]:
    module = types.ModuleType(_MODULE)
    module.__file__ = path
    # Dataclasses look their module up while the file runs.
    sys.modules[_MODULE] = module
    try:
        exec(compile(text, path, "exec", dont_inherit=True), module.__dict__)
    except SyntaxError as error:
        raise RunError(f"{path}:{error.lineno or 1}: {error.msg}") from None
    except (Exception, SystemExit) as error:
        raise RunError(f"`{path}` cannot be loaded: {type(error).__name__}: {error}") from None
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

"""The class of a mechanism that is to run: compiled in memory from a verified spec, or read from a file."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable

from aligncheck.emit.python import emit_python
from aligncheck.execute.errors import NotVerified, RunError
from aligncheck.runtime import Mechanism
from aligncheck.verdict import Verdict, Verified

Verify = Callable[[str], Verdict]
"""Checks the spec in a file."""

_MODULE = "aligncheck generated mechanism"
"""No importable name, so that a generated file can never stand in for another module."""


def load(path: str, verify: Verify) -> type[Mechanism]:
    """The mechanism in a spec (`.dp`, which is verified first) or in a generated module (`.py`).

    Raises:
        NotVerified: the spec is not verified.
        RunError: the file cannot be read or holds no mechanism.
    """
    if path.endswith(".py"):
        return _class_in(path, _text_of(path))
    match verify(path):
        case Verified() as verified:
            return _class_in(f"<generated from {path}>", emit_python(verified))
        case verdict:
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

"""Public functions by where they are: `update=model.py:update`, `update=package.module:update`."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from aligncheck.execute.cannot_run import RunError
from aligncheck.execute.load import execute_in, python_text
from aligncheck.language.syntax.wording.faults import closest
from aligncheck.runtime import FunctionInfo, Spec


class FunctionFailed(Exception):  # noqa: N818 - named for what happened
    """A public function raised an error, or does not take what it is given; the text names it."""


def functions_of(spec: Spec, places: Mapping[str, str]) -> dict[str, Callable[..., Any]]:
    """The Python function for each public function of a spec, by its keyword.

    `places` maps its name in the spec to a place, `FILE.py:FUNCTION` or `MODULE:FUNCTION`. What is there is
    executed.

    Raises:
        RunError: a name that the spec does not have, a function without a place, nothing there to call.
    """
    names = [f.name for f in spec.functions]
    for name in places:
        if name not in names:
            advice = f"{closest(name, names)} {_needed(spec.functions)}".strip()
            raise RunError(f"`{spec.name}` has no public function `{name}`", advice)
    missing = [name for name in names if name not in places]
    if missing:
        raise RunError(
            f"no function for {', '.join(f'`{name}`' for name in missing)}", _needed(spec.functions)
        )
    modules: dict[str, types.ModuleType] = {}
    return {f.keyword: _found(f.name, places[f.name], modules) for f in spec.functions}


def _found(name: str, place: str, modules: dict[str, types.ModuleType]) -> Callable[..., Any]:
    """A file is executed once, so that its functions may share what they know."""
    where, _, attribute = place.rpartition(":")
    if not where or not attribute:
        raise RunError(f"`{name}={place}` is not of the form NAME=FILE.py:FUNCTION or NAME=MODULE:FUNCTION")
    if where not in modules:
        modules[where] = _from_file(where) if where.endswith(".py") else _imported(where)
    function = getattr(modules[where], attribute, None)
    if not callable(function):
        raise RunError(f"`{where}` has no function `{attribute}` for `{name}`")
    return _guarded(name, place, function)


def _guarded(name: str, place: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, of which every error is told apart from those of the mechanism."""

    def called(*args: Any) -> Any:
        try:
            return function(*args)
        except (Exception, SystemExit) as error:
            line = _line_in(function, error)
            where = place if line is None else f"{place}, line {line}"
            raised = f"{type(error).__name__}: {error}".removesuffix(": ")
            raise FunctionFailed(f"`{name}` ({where}) raised {raised}") from None

    return called


def _line_in(function: Callable[..., Any], error: BaseException) -> int | None:
    """The line of the function's file that an error came from, if it came from there."""
    file = getattr(getattr(function, "__code__", None), "co_filename", None)
    lines = [
        line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file
    ]
    return lines[-1] if lines else None


def _from_file(path: str) -> types.ModuleType:
    module = types.ModuleType(Path(path).stem)
    module.__file__ = path
    execute_in(module, path, python_text(path))
    return module


def _imported(name: str) -> types.ModuleType:
    """A module that Python finds, in the current directory too."""
    sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and os.path.exists(name):
            raise RunError(f"`{name}` is no Python file: its name does not end in `.py`") from None
        raise RunError(f"`{name}` cannot be imported: {type(error).__name__}: {error}") from None
    finally:
        sys.path.remove("")


def _needed(functions: tuple[FunctionInfo, ...]) -> str:
    if not functions:
        return "its program calls none"
    shown = " ".join(f"--function {f.name}=FILE.py:NAME" for f in functions)
    return f"say where each one is: {shown}"

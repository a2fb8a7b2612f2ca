"""`MODULE:FUNCTION`: where a function is found."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from types import ModuleType
from typing import Any

from aligncheck.statistical.cannot_test import CannotTest, one_line

_HOW = "write MODULE:FUNCTION, such as `package.module:function` or `folder/file.py:function`"


@dataclass(frozen=True, slots=True)
class Reference:
    """`module` is an importable name or the path of a `.py` file; `name` may have dots: `Class.method`."""

    module: str
    name: str

    @property
    def is_file(self) -> bool:
        return self.module.endswith(".py")

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


def reference(text: str) -> Reference:
    """Reads `MODULE:FUNCTION`. Raises CannotTest where the text has another form."""
    module, colon, name = text.rpartition(":")
    if not colon or not module or not all(part.isidentifier() for part in name.split(".")):
        raise CannotTest(f"`{text}` names no function", _HOW)
    if module.endswith(".dp"):
        raise CannotTest(
            f"`{module}` is a spec, and this command tests Python",
            f"`aligncheck compile {module} -o OUT.py` makes a module of it",
        )
    found = Reference(module, name)
    if not found.is_file and not all(part.isidentifier() for part in module.split(".")):
        raise CannotTest(f"`{module}` is no name of a module", _HOW)
    return found


@cache
def load(wanted: Reference) -> Any:
    """What the reference names; its module is imported, so its code runs.

    Raises:
        CannotTest: there is no such module or name, or the module cannot be imported.
    """
    module = _file(wanted.module) if wanted.is_file else _module(wanted.module)
    found: Any = module
    for part in wanted.name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            near = get_close_matches(part, [name for name in dir(found) if not name.startswith("_")], 1)
            raise CannotTest(
                f"`{wanted.module}` has no `{wanted.name}`", f"did you mean `{near[0]}`?" if near else None
            ) from None
    return found


def _module(name: str) -> ModuleType:
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise CannotTest(f"no module `{error.name}`", _HOW) from None
        raise CannotTest(f"importing `{name}` needs `{error.name}`, which is not installed") from None
    except (Exception, SystemExit) as error:
        raise CannotTest(f"importing `{name}` raised {one_line(error)}") from None


def _file(path: str) -> ModuleType:
    if not os.path.isfile(path):
        raise CannotTest(f"no such file: `{path}`")
    folder, stem = os.path.split(os.path.abspath(path))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = f"aligncheck tested {stem.removesuffix('.py')}"  # no importable name: it stands in for no other
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CannotTest(f"`{path}` cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        raise CannotTest(f"importing `{path}` needs `{error.name}`, which is not installed") from None
    except (Exception, SystemExit) as error:
        raise CannotTest(f"importing `{path}` raised {one_line(error)}") from None
    return module

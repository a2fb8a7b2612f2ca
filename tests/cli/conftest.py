"""A checker on demand, so that the commands around it can be tested on every verdict."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import pytest

from aligncheck.verdict import Result


@dataclass(frozen=True)
class ToyOptions:
    """What the real checker is given too."""

    timeout: float
    verbose: bool


ToyChecker: TypeAlias = Callable[[str, ToyOptions], Result]


@pytest.fixture
def install_checker(monkeypatch: pytest.MonkeyPatch) -> Callable[[ToyChecker], None]:
    """Puts a function in the place of `aligncheck.pipeline.verify_file`, for commands run in this process."""

    def install(checker: ToyChecker) -> None:
        module: Any = types.ModuleType("aligncheck.pipeline")
        module.Options, module.verify_file = ToyOptions, checker
        monkeypatch.setitem(sys.modules, "aligncheck.pipeline", module)

    return install

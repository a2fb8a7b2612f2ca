"""Settings for all tests: Hypothesis repeats itself, golden files can be rewritten, a checker made up."""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pytest
from hypothesis import settings

from aligncheck.compiler.modes import RunMode
from aligncheck.verdict import FileResult

# Everybody sees the same examples, and a loaded machine fails no test. `--hypothesis-profile=explore` digs.
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("explore", derandomize=False, deadline=None, max_examples=2000)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files; read the diff")
    parser.addoption("--exhaustive", action="store_true", help="longer searches, more random specs: hours")


@pytest.fixture(scope="session")
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten instead of compared."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(scope="session")
def exhaustive(request: pytest.FixtureRequest) -> bool:
    """Whether there is time for longer searches."""
    return bool(request.config.getoption("--exhaustive"))


@pytest.fixture(scope="module", autouse=True)
def what_is_there_is_not_looked_at_again() -> None:
    """Ten thousand tests and what they keep are a million objects: to search them takes a second."""
    gc.collect()
    gc.freeze()


@dataclass(frozen=True)
class ToyOptions:
    """What the real checker is given too."""

    timeout: float
    explain: bool


ToyChecker: TypeAlias = Callable[[str, ToyOptions], FileResult]


@pytest.fixture
def install_checker(monkeypatch: pytest.MonkeyPatch) -> Callable[[ToyChecker], None]:
    """Puts a function in the place of `aligncheck.pipeline.verify_file`, for commands run in this process;
    certificates are then empty, and every form of what is VERIFIED runs.
    """
    from aligncheck.compiler.forms import form_of
    from aligncheck.language.source import Source
    from aligncheck.pipeline import Certification
    from aligncheck.verdict import Verified

    def install(checker: ToyChecker) -> None:
        def certify_file(path: str, options: ToyOptions, mode: RunMode) -> Certification:
            result = checker(path, options)
            if not isinstance(result.verdict, Verified):
                return Certification(result, None)
            form = form_of(result.verdict.mechanism, Source(path, result.text), mode)
            return Certification(result, replace(result.verdict, mechanism=form.mechanism))

        module: Any = types.ModuleType("aligncheck.pipeline")
        module.Options, module.verify_file, module.load_stages = ToyOptions, checker, lambda: None
        module.Certification, module.certify_file = Certification, certify_file
        monkeypatch.setitem(sys.modules, "aligncheck.pipeline", module)

    return install


@pytest.fixture
def everything_verifies(install_checker: Callable[[Any], None]) -> None:
    """A checker for which every spec that can be read is VERIFIED."""
    from aligncheck.kernel.answer import Accepted
    from aligncheck.kernel.witness import Witness
    from aligncheck.language.syntax.parse import parse, read_source
    from aligncheck.verdict import Verified

    def check(path: str, options: object) -> FileResult:
        source = read_source(path)
        return FileResult(path, Verified(parse(source), Witness(), Accepted("acyclic", ())), 0.1, source.text)

    install_checker(check)

"""Settings for all tests: Hypothesis repeats itself, and golden files can be rewritten."""

from __future__ import annotations

import pytest
from hypothesis import settings

# Everybody sees the same examples, and a loaded machine fails no test. `--hypothesis-profile=explore` digs.
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("explore", derandomize=False, deadline=None, max_examples=2000)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files; read the diff")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten instead of compared."""
    return bool(request.config.getoption("--update-golden"))

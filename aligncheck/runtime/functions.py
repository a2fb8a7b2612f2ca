"""Public functions that callers supply, and what mechanisms read of what others released."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from aligncheck.runtime.errors import ParameterError
from aligncheck.runtime.parameters import boolean, integer, real
from aligncheck.runtime.reals import Real


class Tagged(Protocol):
    """A record."""

    @property
    def tag(self) -> str:
        """The tag of its `emit` statement."""
        ...


def has_tag(records: Sequence[Tagged], place: int, tag: str) -> bool:
    """Whether there is a record at a place, from 0, and it has this tag."""
    return 0 <= place < len(records) and records[place].tag == tag


def real_function(name: str, function: Callable[..., Any]) -> Callable[..., Real]:
    """A public function with real values, which become exact: floats by their shortest decimals. It must
    depend on its arguments alone.

    Raises:
        ParameterError: it cannot be called, or (when it is called) gives no finite number.
    """
    return _checked(name, function, lambda value: real(name, value))


def integer_function(name: str, function: Callable[..., Any]) -> Callable[..., int]:
    """A public function with whole values. Raises as `real_function` does."""
    return _checked(name, function, lambda value: integer(name, value))


def boolean_function(name: str, function: Callable[..., Any]) -> Callable[..., bool]:
    """A public function whose values are True and False. Raises as `real_function` does."""
    return _checked(name, function, lambda value: boolean(name, value))


def _checked(name: str, function: Callable[..., Any], check: Callable[[Any], Any]) -> Callable[..., Any]:
    if not callable(function):
        raise ParameterError(name, "must be a function")

    @functools.wraps(function, updated=())
    def called(*args: Real | bool) -> Any:
        return check(function(*args))

    return called

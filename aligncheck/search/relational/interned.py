"""Equal values are one object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary


class Interned(type):
    """Comparing and hashing terms, which is most of what a search does, is free where equal ones are one
    object.

    The table holds no value alive.
    """

    if not TYPE_CHECKING:  # so that mypy still checks the arguments of each class

        def __call__(cls, *args):
            key = (cls, args)
            known = _VALUES.get(key)
            if known is None:
                known = _VALUES[key] = super().__call__(*args)
            return known


_VALUES: WeakValueDictionary[Any, Any] = WeakValueDictionary()

"""What can only be a bug of the tool."""

from __future__ import annotations


class InternalError(Exception):
    """The tool finds something that its own earlier stages exclude.

    Raised where an `assert` would stand, which `python -O` drops: nothing is concluded from such a state. The
    process that supervises a check makes UNKNOWN of it, and asks for a report.
    """

"""Plain messages: the one place that prints them. Reports are rich texts, which `screen` prints."""

from __future__ import annotations

import sys

from aligncheck.language.printable import printable


def tell(*lines: str, error: bool = False) -> None:
    """Prints lines on standard output, or on standard error; what a terminal would obey is made visible, line
    ends within a line too, so that no name of a file can pass for a line of ours.
    """
    for line in lines:
        print(printable(line), file=sys.stderr if error else sys.stdout)

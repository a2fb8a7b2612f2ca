"""Files that a command is given. Imports nothing of the package."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO


def opened(path: str) -> BinaryIO:
    """A file of which all is to be read. Raises OSError, for a pipe too: reading one might never end."""
    kind = os.stat(path).st_mode
    if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind):
        raise OSError(errno.ESPIPE, "it is a pipe, not a file: reading it might never end")
    return open(path, "rb")


def exists(path: str) -> bool:
    """Whether there is something at a path, even if it cannot be read, as links that lead to each other."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError:
        return True
    return True

"""Tables for data analysis: pandas, where it is installed."""

from __future__ import annotations

from typing import Any

from aligncheck.runtime.errors import MissingPandasError


def pandas() -> Any:
    """The library. Raises MissingPandasError where it is not installed."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingPandasError(
            "`to_frame` needs pandas, which is not installed: pip install 'aligncheck[pandas]'"
        ) from None
    return pd

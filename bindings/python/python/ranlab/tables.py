"""Tables as pandas data frames, or as columns where pandas is not installed."""

from __future__ import annotations

from typing import Any


def frame(columns: dict[str, list[Any]]) -> Any:
    """Returns columns as a pandas ``DataFrame``, or unchanged if pandas is not installed."""
    try:
        import pandas
    except ImportError:
        return columns
    return pandas.DataFrame(columns)

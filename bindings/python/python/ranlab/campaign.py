"""Campaigns: run a scenario, and read its results as data frames."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, Mapping, Optional, Union

from . import _native
from .cli import program
from .errors import CampaignError, ConfigError
from .tables import frame

#: The tables of a campaign.
TABLES = ("points", "repeats", "series", "distributions")

_Path = Union[str, "os.PathLike[str]"]


class Campaign:
    """Results of a campaign: ``Campaign("results/my").frame("points")``."""

    def __init__(self, folder: _Path) -> None:
        self.folder = Path(folder)
        self._tables = _native.read_campaign(self.folder)

    def columns(self, table: str = "points") -> dict[str, list[Any]]:
        """Returns a table as a list per column; ``None`` is a missing value."""
        if table not in self._tables:
            raise ConfigError(f"there is no table {table!r}; there are {', '.join(TABLES)}")
        return self._tables[table]

    def frame(self, table: str = "points") -> Any:
        """Returns a table as a pandas ``DataFrame``, or as its :meth:`columns` if pandas is not installed."""
        return frame(self.columns(table))

    def write(self, folder: Optional[_Path] = None, *, parquet: bool = True) -> list[Path]:
        """Writes the tables as Parquet or CSV to a folder (default: ``tables`` in the campaign's folder). Returns the files."""
        target = self.folder / "tables" if folder is None else Path(folder)
        return [Path(file) for file in _native.write_tables(self.folder, target, parquet)]


def run(
    scenario: _Path,
    out: _Path,
    *,
    settings: Optional[Mapping[str, Any]] = None,
    quick: bool = False,
    fresh: bool = False,
) -> Campaign:
    """Runs or resumes a scenario like ``ranlab bench run``; ``settings`` are its ``--set KEY=VALUE``.

    Raises :class:`CampaignError` if nothing was measured or a required expectation does not hold.
    """
    command = [str(program()), "bench", "run", str(scenario), "--out", str(out)]
    for key, value in (settings or {}).items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        command += ["--set", f"{key}={text}"]
    command += ["--quick"] * quick + ["--fresh"] * fresh
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if ended.returncode != 0:
        raise CampaignError(ended.stderr.strip() or f"bench run ended with {ended.returncode}", ended.returncode)
    return Campaign(out)

"""Campaigns: run a scenario, read what was measured as data frames."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, Mapping, Optional, Union

from . import _native
from .cli import program
from .errors import CampaignError, ConfigError

#: The tables of a campaign.
TABLES = ("points", "repeats", "series", "distributions")

_Path = Union[str, "os.PathLike[str]"]


class Campaign:
    """What a campaign measured: ``Campaign("results/my").frame("points")``."""

    def __init__(self, folder: _Path) -> None:
        self.folder = Path(folder)
        self._tables = _native.read_campaign(self.folder)

    def columns(self, table: str = "points") -> dict[str, list[Any]]:
        """A table as a list for each column; ``None`` is absent."""
        if table not in self._tables:
            raise ConfigError(f"there is no table {table!r}; there are {', '.join(TABLES)}")
        return self._tables[table]

    def frame(self, table: str = "points") -> Any:
        """A table as a pandas ``DataFrame``; without pandas, its :meth:`columns`."""
        try:
            import pandas
        except ImportError:
            return self.columns(table)
        return pandas.DataFrame(self.columns(table))

    def write(self, folder: Optional[_Path] = None, *, parquet: bool = True) -> list[Path]:
        """Writes the tables as Parquet, or CSV, into a folder (the campaign's ``tables``)."""
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
    """Runs a scenario, or goes on with it, as ``ranlab bench run`` does; ``settings`` are its ``--set KEY=VALUE``.

    A campaign that measured nothing, or whose required expectation does not hold, is a :class:`CampaignError`.
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

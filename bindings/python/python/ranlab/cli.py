"""The command line of the package."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

from . import _native
from .errors import EnvironmentLacksError


def program() -> Path:
    """Returns the ``ranlab`` program for worker processes: ``RANLAB`` if set, otherwise the one installed with the package."""
    named = os.environ.get("RANLAB")
    beside = shutil.which("ranlab", path=str(Path(sys.executable).parent)) or shutil.which("ranlab")
    found = named or beside
    if found is None:
        raise EnvironmentLacksError(f"there is no program ranlab next to {sys.executable}; set RANLAB to the path of one")
    return Path(found)


def main() -> int:
    """Runs the command line and returns the exit code."""
    # Commands handle Ctrl-C themselves where needed; otherwise it must end the process as in any program.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.run(sys.argv[1:], program())

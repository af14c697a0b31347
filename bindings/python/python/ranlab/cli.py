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
    """The program ``ranlab`` whose processes hold parts: ``RANLAB`` if it is set, else the one that came with the package."""
    named = os.environ.get("RANLAB")
    beside = shutil.which("ranlab", path=str(Path(sys.executable).parent)) or shutil.which("ranlab")
    found = named or beside
    if found is None:
        raise EnvironmentLacksError(f"there is no program ranlab beside {sys.executable}; name one in RANLAB")
    return Path(found)


def main() -> int:
    """Does what the command line says; returns the exit code."""
    # The verbs have their own way to end; without one Ctrl-C ends the process as it does any program.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.run(sys.argv[1:], program())

"""``python -m ranlab COMMAND``: the command line of ranlab."""

import sys

from .cli import main

sys.exit(main())

"""``python -m ranlab worker``, or any other verb of the command line."""

import sys

from .cli import main

sys.exit(main())

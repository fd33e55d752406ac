"""`python -m stridelint` is the command `stridelint`."""

import sys

from stridelint.linter.cli import main

sys.exit(main())

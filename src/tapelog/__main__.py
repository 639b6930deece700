"""`python -m tapelog` is the same as `tape`."""

from __future__ import annotations

import sys

from tapelog.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

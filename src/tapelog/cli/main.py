"""The entry of `tape`, `tapelog` and `python -m tapelog`: picks the quick road or the full one.

`up`, `node` and `format` are started by tests, scripts and supervisors that wait for the broker, so they must not pay
for importing a CLI framework. Everything else, including their help and shell completion, goes to the typer app.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

QUICK = ("up", "node", "format")
HELP = ("--help", "-h")


def is_quick(arguments: Sequence[str], environment: Sequence[str] | None = None) -> bool:
    """Whether these arguments run a node and need nothing but the node."""
    names = os.environ if environment is None else environment
    if any(name.startswith("_TAPE") and name.endswith("_COMPLETE") for name in names):
        return False
    return bool(arguments) and arguments[0] in QUICK and not any(word in HELP for word in arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if is_quick(words):
        from tapelog.cli.up import run_quick

        return run_quick(words)
    from tapelog.cli.app import run

    return run(words)

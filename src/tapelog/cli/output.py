"""What commands print: tables for people, JSON for programs, errors that say what to do next.

Results go to stdout, remarks and errors to stderr. Exit codes are part of the interface (`docs/guide/cli.md`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

EXIT_OK = 0
EXIT_FAILED = 1  # the cluster refused, or part of the work failed
EXIT_USAGE = 2  # the command line makes no sense
EXIT_UNREACHABLE = 3  # no broker answered
EXIT_NOT_FOUND = 4  # no such topic, group, partition or file
EXIT_WARN = 5  # a check found something to keep an eye on
EXIT_ERR = 6  # a check found something that is wrong

WIDTH_WITHOUT_TERMINAL = 2000  # rows stay on one line for grep


class CliError(Exception):
    """A failure told to the user: what happened, what to do next, and the exit code."""

    def __init__(self, message: str, hint: str = "", exit_code: int = EXIT_FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.exit_code = exit_code


@cache
def console() -> Console:
    """The one for results. Without a terminal there is no colour and no wrapping."""
    return Console(highlight=False, soft_wrap=False, width=_width(sys.stdout.isatty()))


@cache
def error_console() -> Console:
    """The one for remarks and errors."""
    return Console(stderr=True, highlight=False, soft_wrap=True, width=_width(sys.stderr.isatty()))


def _width(is_terminal: bool) -> int | None:
    return None if is_terminal else WIDTH_WITHOUT_TERMINAL


def reset_consoles() -> None:
    """Forget the consoles, so that they look at sys.stdout again (tests replace it)."""
    console.cache_clear()
    error_console.cache_clear()


def print_json(document: Any, *, one_line: bool = False) -> None:
    """Write one JSON document to stdout, exactly as it is: no colours, no wrapping."""
    text = json.dumps(document, ensure_ascii=False, **({"separators": (",", ":")} if one_line else {"indent": 2}))
    sys.stdout.write(text + "\n")


def emit(as_json: bool, document: Any, render: Callable[[], Iterable[RenderableType]]) -> None:
    """Print the document as JSON, or what render makes of it for a person."""
    if as_json:
        print_json(document)
        return
    for part in render():
        console().print(part)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "") -> Table:
    """A plain table. A name ending in `>` aligns right; None shows as `-`; columns without any name have no header."""
    made = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        title=title or None,
        title_justify="left",
        title_style="bold",
    )
    made.show_header = any(columns)
    for name in columns:
        made.add_column(
            name.rstrip(">"), justify="right" if name.endswith(">") else "left", no_wrap=name != columns[-1]
        )
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text("-" if cell is None else str(cell)) for cell in row))
    return made


def remark(text: str) -> None:
    """Say something beside the result, on stderr."""
    error_console().print(Text(text, style="dim"))


def report(error: CliError, *, as_json: bool) -> int:
    """Print a failure to stderr and return its exit code."""
    if as_json:
        document = {"error": error.message, "hint": error.hint or None, "exit_code": error.exit_code}
        sys.stderr.write(json.dumps(document, ensure_ascii=False) + "\n")
    else:
        error_console().print(Text.assemble(("error: ", "bold red"), error.message))
        if error.hint:
            error_console().print(Text.assemble(("  try: ", "bold"), error.hint))
    return error.exit_code

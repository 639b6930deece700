"""Asking before something is lost."""

from __future__ import annotations

import sys

import typer

from tapelog.cli.output import EXIT_USAGE, CliError


def confirm(question: str, yes: bool) -> None:
    """Return if the user agrees; without a terminal only --yes agrees."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise CliError(f"this needs a yes: {question}", "add --yes", EXIT_USAGE)
    typer.confirm(question, abort=True, err=True)

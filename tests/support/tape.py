"""`tape` commands run in the test's own process, against the cluster under test."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest

from tapelog.cli.app import run
from tapelog.cli.output import reset_consoles


class Tape:
    """Runs commands in this process, with the cluster's address in the environment."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.capsys = capsys
        self.monkeypatch = monkeypatch
        self.err = ""

    def __call__(self, *words: str, code: int | tuple[int, ...] = 0, stdin: str = "") -> str:
        """Run; check the exit code, which is this one or one of these; return what went to stdout."""
        self.capsys.readouterr()
        reset_consoles()
        self.monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        got = run(words)
        out, self.err = self.capsys.readouterr()
        assert got in (code if isinstance(code, tuple) else (code,)), (words, got, out, self.err)
        return out

    def json(self, *words: str, code: int | tuple[int, ...] = 0, stdin: str = "") -> Any:
        """Run with --json and parse."""
        return json.loads(self(*words, "--json", code=code, stdin=stdin))

    def lines(self, *words: str, stdin: str = "") -> list[Any]:
        """Run with --json and parse every line."""
        return [json.loads(line) for line in self(*words, "--json", stdin=stdin).splitlines()]

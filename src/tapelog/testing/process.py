"""One `tape` process that serves: started, waited for, signalled, and gone with its parent.

The child's standard input is a pipe whose other end only this process holds: when this process ends, however it ends,
the pipe closes and the child stops. That works on every POSIX system.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

START_S_MAX = 30.0
STOP_S_MAX = 15.0
LOG_TAIL_BYTES = 4000


class BrokerError(RuntimeError):
    """The broker did not start, or not stop; the message ends with the last lines of its log."""


class Process:
    """`tape WORDS…` in the background; what it writes to standard error goes to `log_path`.

    parent: what the child does when this process has gone: `watch` stops it, `remove` also removes its files.
    """

    def __init__(self, name: str, log_path: Path, *, parent: str, env: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.log_path = log_path
        self._parent = parent
        self._env = dict(env or {})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Of the running process."""
        if self._process is None:
            raise BrokerError(f"{self.name} is not running")
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process lives."""
        return self._process is not None and self._process.poll() is None

    def spawn(self, words: Sequence[str]) -> None:
        """Start it; `wait_until_ready` waits."""
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.log_path, "ab") as log:
            self._process = subprocess.Popen(
                command(words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**environment(), "TAPELOG_PARENT": self._parent, **self._env},
                process_group=0,  # Ctrl-C is for the test run, which then stops the broker
            )

    def wait_until_ready(self, timeout_s: float = START_S_MAX) -> str:
        """What follows `ready` in its first line. Kills it if that does not come."""
        assert self._process is not None
        try:
            return self._ready_line(self._process, timeout_s)
        except BaseException:
            self.end(signal.SIGKILL)
            raise

    def _ready_line(self, process: subprocess.Popen[bytes], timeout_s: float) -> str:
        assert process.stdout is not None
        deadline = time.monotonic() + timeout_s
        seen = b""
        while not seen.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0:
                raise BrokerError(f"{self.name} was not ready within {timeout_s:g} s{self.log_tail()}")
            if not select.select([process.stdout], [], [], left)[0]:
                continue
            chunk = os.read(process.stdout.fileno(), 4096)
            if not chunk:
                code = process.wait()
                raise BrokerError(f"{self.name} ended with exit code {code} before it was ready{self.log_tail()}")
            seen += chunk
        for line in seen.decode().splitlines():
            if line.startswith("ready "):
                return line.removeprefix("ready ").strip()
        raise BrokerError(f"{self.name} said {seen!r} instead of ready{self.log_tail()}")

    def send(self, number: signal.Signals) -> None:
        """A signal, if it lives."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    def stop(self, timeout_s: float = STOP_S_MAX) -> None:
        """SIGTERM, and wait. One that does not end in time is killed, and that is an error."""
        if self.end(signal.SIGTERM, timeout_s) is None:
            self.end(signal.SIGKILL)
            raise BrokerError(f"{self.name} did not stop within {timeout_s:g} s{self.log_tail()}")

    def end(self, number: signal.Signals, timeout_s: float = STOP_S_MAX) -> int | None:
        """Send a signal and wait for the end: its exit code, or None if it still lives."""
        process = self._process
        if process is None:
            return 0
        self.send(number)
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        pipe: IO[bytes] | None
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        self._process = None
        return code

    def log(self) -> str:
        """What it has logged so far."""
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def log_tail(self) -> str:
        """The last lines of its log, for an error message."""
        tail = self.log()[-LOG_TAIL_BYTES:].strip()
        return f"\n--- {self.log_path} ---\n{tail}" if tail else ""


def command(words: Sequence[str]) -> list[str]:
    """`tape WORDS…`, run by this interpreter."""
    return [sys.executable, "-m", "tapelog", *words]


def environment() -> dict[str, str]:
    """This process's environment, in which the child finds the same Tapelog.

    Without stored bytecode every start would compile the whole broker, which takes longer than the start itself.
    """
    import tapelog

    source = str(Path(tapelog.__file__).parent.parent)
    paths = [source, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}


def as_text(value: str | int | float | bool) -> str:
    """A setting as Kafka writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)

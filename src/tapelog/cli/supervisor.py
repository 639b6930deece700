"""The parent of a local cluster's nodes: starts them, says `ready` once, passes signals on, and restarts nobody.

Each node is `tape node DIR/node-<i>` with a pipe for standard input whose other end only this process holds: when this
process ends, however it ends, the nodes stop as well. A node that ends by itself is named on stderr, with the command
that starts it again; the others go on, and so does this process.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import IO

STOP_S_MAX = 30.0
"""How long nodes may take to stop; then they are killed."""
PATIENCE_S = 15.0
"""After so long without `ready` the nodes that are not are named."""
READ_BYTES = 4096

PARENT_FLAG = "TAPELOG_PARENT"


class Child:
    """One node's process: what it said, and how it ended."""

    def __init__(self, number: int, directory: str, command: Sequence[str]) -> None:
        self.number = number
        self.directory = directory
        self.ready: str | None = None
        self.code: int | None = None
        self._said = b""
        self.process = subprocess.Popen(
            [*command, directory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, PARENT_FLAG: "watch"},
            process_group=0,  # Ctrl-C is for this process, which passes it on once
        )

    @property
    def output(self) -> IO[bytes]:
        """Its standard output."""
        assert self.process.stdout is not None
        return self.process.stdout

    @property
    def living(self) -> bool:
        """Whether its end has not been seen."""
        return self.code is None

    def read(self) -> None:
        """Take what it said; the end of its output is the end of the process."""
        chunk = os.read(self.output.fileno(), READ_BYTES)
        if not chunk:
            self.code = self.process.wait()
            return
        self._said = (self._said + chunk)[-READ_BYTES:]
        for line in self._said.decode(errors="replace").splitlines():
            if line.startswith("ready ") and self.ready is None:
                self.ready = line.removeprefix("ready ").strip()

    def ending(self) -> str:
        """How it ended, in words."""
        assert self.code is not None
        if self.code < 0:
            return f"was ended by {signal.Signals(-self.code).name}"
        return f"ended with exit code {self.code}"


class Supervisor:
    """Runs nodes until a signal says stop."""

    def __init__(
        self,
        directories: Sequence[tuple[int, str]],
        on_ready: Callable[[list[str]], None],
        command: Sequence[str] = (sys.executable, "-m", "tapelog", "node"),
    ) -> None:
        self._on_ready = on_ready
        self._signals: list[int] = []
        self._selector = selectors.DefaultSelector()
        self._wake, self._wake_end = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._wake_end, False)
        self._selector.register(self._wake, selectors.EVENT_READ, None)
        signal.set_wakeup_fd(self._wake_end, warn_on_full_buffer=False)
        for kind in (signal.SIGTERM, signal.SIGINT):
            signal.signal(kind, lambda number, frame: self._signals.append(number))
        self.children: list[Child] = []
        self._said_ready = False
        self._stopping = False
        for number, directory in directories:
            child = Child(number, directory, command)
            self.children.append(child)
            self._selector.register(child.output, selectors.EVENT_READ, child)

    def run(self) -> int:
        """Until told to stop, or until a node cannot be started. Returns the exit code."""
        asked_for_patience = time.monotonic() + PATIENCE_S
        while not self._signals:
            self._turn(PATIENCE_S if not self._said_ready else None)
            if not self._said_ready:
                failed = [child for child in self.children if not child.living]
                if failed:
                    names = ", ".join(f"node {child.number} {child.ending()}" for child in failed)
                    _say(f"error: {names} before all nodes were ready")
                    self._stop()
                    return 1
                if all(child.ready is not None for child in self.children):
                    self._said_ready = True
                    self._on_ready([child.ready or "" for child in self.children])
                elif time.monotonic() > asked_for_patience:
                    missing = ", ".join(str(child.number) for child in self.children if child.ready is None)
                    _say(f"still waiting for node {missing}")
                    asked_for_patience = float("inf")
        return self._stop()

    def _turn(self, timeout_s: float | None) -> None:
        for key, _ in self._selector.select(timeout_s):
            child = key.data
            if child is None:
                os.read(self._wake, READ_BYTES)
                continue
            child.read()
            if not child.living:
                self._selector.unregister(child.output)
                if self._said_ready and not self._stopping:
                    _say(
                        f"node {child.number} (pid {child.process.pid}) {child.ending()}; "
                        f"`tape node {child.directory}` starts it again"
                    )

    def _stop(self) -> int:
        """End every node that lives; 0 if they all stopped as they should."""
        self._turn(0)  # who has gone before this moment has not been stopped by us
        self._stopping = True
        stopping = [child for child in self.children if child.living]
        for child in stopping:
            child.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_S_MAX
        signals = len(self._signals)
        while any(child.living for child in stopping):
            left = deadline - time.monotonic()
            if left <= 0 or len(self._signals) > max(signals, 1):  # a second Ctrl-C means it
                break
            self._turn(left)
        code = 0
        for child in stopping:
            if child.living:
                _say(f"node {child.number} did not stop within {STOP_S_MAX:g} s: killed")
                child.process.kill()
                child.code = child.process.wait()
                code = 1
            elif child.code != 0:
                _say(f"node {child.number} {child.ending()}")
                code = 1
        return code


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()

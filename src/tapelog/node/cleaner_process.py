"""Logs are compacted in a child process, so that the loop keeps its time: the node's end of the pipe.

One child per `ProcessWorker`, begun with the first order and again after one that ended. Two threads wait for the pipe,
one at each end of it; they touch nothing of the node and report through `post`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from tapelog.log.compaction.cleaning import Cleaned
from tapelog.log.compaction.order import DIED, Failed, Order, Report, pack_order, unpack_report
from tapelog.node.cleaner_child import ABANDON, CLEAN, SHARE, THROTTLE, framed, read_message
from tapelog.node.flush_signal import NOWHERE, FlushSignals

Post = Callable[[Callable[[], None]], None]


class ProcessWorker:
    """Implements `compaction.order.CleaningWorker`."""

    def __init__(self, post: Post, command: list[str] | None = None, signals: FlushSignals | None = None) -> None:
        self._post = post
        self._signals = signals
        self._command = command or [sys.executable, "-P", "-m", "tapelog.node.cleaner_child"]
        self._child: _Child | None = None
        self._number = 0
        self._told: Callable[[Report], None] | None = None
        self._bytes_per_second = 0.0
        self._share = 1.0

    @property
    def pid(self) -> int | None:
        """Of the child, while there is one."""
        child = self._child
        return child.pid if child is not None else None

    def clean(self, order: Order, told: Callable[[Report], None]) -> None:
        assert self._told is None, "one order at a time"
        self._number += 1
        self._told = told
        if self._child is None:
            self._child = _Child(self._command, self._signals, self._heard)
            self._child.send((THROTTLE, 0, self._bytes_per_second))
            self._child.send((SHARE, 0, self._share))
        self._child.send((CLEAN, self._number, pack_order(order)))

    def abandon(self) -> None:
        if self._told is not None:
            self._told = None
            if self._child is not None:
                self._child.send((ABANDON, self._number, None))

    def throttle(self, bytes_per_second: float) -> None:
        if bytes_per_second != self._bytes_per_second:
            self._bytes_per_second = bytes_per_second
            if self._child is not None:
                self._child.send((THROTTLE, 0, bytes_per_second))

    def share(self, part: float) -> None:
        if part != self._share:
            self._share = part
            if self._child is not None:
                self._child.send((SHARE, 0, part))

    def cpu_s(self) -> float | None:
        pid = self.pid
        if pid is None:
            return None
        try:
            with open(f"/proc/{pid}/stat", "rb") as told:
                fields = told.read().rsplit(b")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, IndexError, ValueError):
            return None

    def stop(self) -> None:
        """End the child now: what it has not finished is worth nothing."""
        self._told = None
        child, self._child = self._child, None
        if child is not None:
            child.kill()

    def _heard(self, child: _Child, message: Any) -> None:
        """On the child's thread."""
        self._post(lambda: self._take(child, message))

    def _take(self, child: _Child, message: Any) -> None:
        if child is not self._child:
            return
        if isinstance(message, str):  # it has ended
            self._child = None
            self._tell(Failed(DIED, message))
        elif message[0] == self._number and self._told is not None:
            self._tell(unpack_report(message[1]))

    def _tell(self, report: Report) -> None:
        told = self._told
        if told is not None:
            if not isinstance(report, Cleaned):
                self._told = None
            told(report)


class _Child:
    """A process and the two threads that talk to it."""

    def __init__(self, command: list[str], signals: FlushSignals | None, heard: Callable[[_Child, Any], None]) -> None:
        self._command = command
        self._signals = signals
        self._heard = heard
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False
        self._lock = threading.Lock()
        threading.Thread(target=self._run, name="cleaner", daemon=True).start()

    @property
    def pid(self) -> int | None:
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    def send(self, message: Any) -> None:
        """Queue it for the child."""
        self._queue.put(message)

    def kill(self) -> None:
        """End it, whatever it does."""
        with self._lock:
            self._killed = True
            if self._process is not None:
                self._process.kill()
        self._queue.put(None)

    def _run(self) -> None:
        """Start the process, then hand it what is queued until it ends."""
        try:
            with self._lock:
                if self._killed:
                    return
                self._process = process = _spawn(self._command, self._signals)
        except OSError as error:
            self._heard(self, f"the cleaner's process cannot be started: {error}")
            return
        threading.Thread(target=self._listen, args=(process,), name="cleaner-reports", daemon=True).start()
        assert process.stdin is not None
        try:
            while (message := self._queue.get()) is not None:
                process.stdin.write(framed(message))
                process.stdin.flush()
        except (OSError, ValueError):
            pass  # it has ended: the other thread says so
        try:
            process.stdin.close()
        except OSError:
            pass

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        fd = process.stdout.fileno()
        while (message := read_message(lambda size: os.read(fd, size))) is not None:
            self._heard(self, message)
        process.stdout.close()
        code = process.wait()
        self._queue.put(None)
        self._heard(self, f"the cleaner's process ended with {_status(code)}")


def _spawn(command: list[str], signals: FlushSignals | None) -> subprocess.Popen[bytes]:
    inherited = () if signals is None or signals.fd == NOWHERE else (signals.fd,)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [*command, *map(str, inherited)],
        pass_fds=inherited,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # keys are told apart by Python's hash of them: nobody may know its seed, and choose keys that collide
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "random"},
        process_group=0,  # Ctrl-C in a terminal is the node's affair. In a session of its own nice would mean nothing
    )


def _status(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"

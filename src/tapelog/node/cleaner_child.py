"""The process that compacts logs for a node: `python -m tapelog.node.cleaner_child`, started by `node/cleaner_process`.

It reads orders from its standard input and writes reports to its standard output: a length of four bytes, then marshal.
Its argument is a descriptor it has inherited: where it sees that a flush round is under way (`node/flush_signal`).
It gives way to everybody else on the machine (`node/manners`), keeps to the bytes per second and the part of the time
that it is told (`node/cleaner_pace`), listens between two steps, and ends when its input does: with its node, however
that ends.
"""

from __future__ import annotations

import fcntl
import marshal
import os
import select
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from tapelog.log.compaction.order import GONE, Execution, Failed, pack_report, unpack_order
from tapelog.node.cleaner_pace import Pace
from tapelog.node.flush_signal import FlushSignal, FlushSignals
from tapelog.node.gentle_disk import GentleDisk
from tapelog.node.manners import Manners

CLEAN: Final = "clean"
ABANDON: Final = "abandon"
THROTTLE: Final = "throttle"
SHARE: Final = "share"


def framed(message: Any) -> bytes:
    """A message as it goes through the pipe."""
    data = marshal.dumps(message)
    return len(data).to_bytes(4, "big") + data


def read_message(read: Callable[[int], bytes]) -> Any:
    """The next message; None at the end of the pipe. Blocks."""
    size = _exactly(read, 4)
    data = _exactly(read, int.from_bytes(size, "big")) if len(size) == 4 else b""
    return marshal.loads(data) if data else None


def _exactly(read: Callable[[int], bytes], size: int) -> bytes:
    pieces: list[bytes] = []
    while size > 0:
        piece = read(size)
        if not piece:
            return b""
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


class Child:
    """Works on one order at a time."""

    def __init__(self, input_fd: int, output_fd: int, signals: FlushSignals) -> None:
        self._input = input_fd
        self._output = output_fd
        self._pace = Pace(time.monotonic)
        self._waiting: list[tuple[int, Any]] = []
        self._abandoned = -1
        self._manners = Manners()
        self._signals = signals

    def run(self) -> None:
        """Until the node closes the pipe."""
        while True:
            while not self._waiting:
                if not self._listen():
                    return
            number, packed = self._waiting.pop(0)
            if not self._work(number, packed):
                return

    def _work(self, number: int, packed: Any) -> bool:
        order = unpack_order(packed)
        directory = order.job.directory
        try:
            lock = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError as error:
            self._tell(number, pack_report(Failed(GONE, str(error))))
            return True
        root = os.path.dirname(directory) or "."
        disk = GentleDisk(root, _at_once, self._manners, self._signals.of(root))
        wanted: bool | None = None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)  # one that outlived its node may still be at it
            execution = Execution(disk, order)
            signal = disk.signal
            while not execution.over and wanted is None:
                wanted = self._manners.stretch(lambda over: self._steps(number, execution, signal, over))
        finally:
            os.close(lock)
            disk.close()
        return wanted is not False

    def _steps(self, number: int, execution: Execution, signal: FlushSignal, over: Callable[[], bool]) -> bool | None:
        """Go on for a stretch; what `_between_steps` said."""
        while not execution.over and not over():
            begun, waited_s = time.monotonic(), signal.waited_s
            signal.step_begins()
            try:
                spent, reports = execution.step()
            finally:
                signal.step_ends()
            for report in reports:
                self._tell(number, pack_report(report))
            waited_s = signal.waited_s - waited_s  # for flush rounds: no work, so nothing to rest from
            self._pace.worked(spent, max(0.0, time.monotonic() - begun - waited_s))
            wanted = self._between_steps(number)
            if wanted is not None:
                execution.abandon()
                return wanted
        return None

    def _between_steps(self, number: int) -> bool | None:
        """Rest, and hear what the node says: None to go on, True to leave this order, False if the node is gone."""
        while True:
            ready, _, _ = select.select([self._input], [], [], self._pace.pause_s())
            if not ready:
                return None
            if not self._listen():
                return False
            if self._abandoned == number:
                return True

    def _listen(self) -> bool:
        """Take one message; False at the end."""
        message = read_message(lambda size: os.read(self._input, size))
        if message is None:
            return False
        kind, number, content = message
        if kind == CLEAN:
            self._waiting.append((number, content))
        elif kind == ABANDON:
            self._abandoned = number
            self._waiting = [one for one in self._waiting if one[0] != number]
        elif kind == THROTTLE:
            self._pace.bytes_per_second = content
        elif kind == SHARE:
            self._pace.share = content
        return True

    def _tell(self, number: int, report: tuple[Any, ...]) -> None:
        data = memoryview(framed((number, report)))
        while data:
            data = data[os.write(self._output, data) :]


def _at_once(action: Callable[[], None]) -> None:
    action()


def main() -> int:
    """Serve the node at the other end."""
    try:
        signals = FlushSignals(int(sys.argv[1]) if len(sys.argv) > 1 else None)
        Child(sys.stdin.fileno(), sys.stdout.fileno(), signals).run()
    except BrokenPipeError:
        pass  # the node is gone
    return 0


if __name__ == "__main__":
    sys.exit(main())

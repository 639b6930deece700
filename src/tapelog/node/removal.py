"""Large files go bit by bit: their names at once, their space a mebibyte at a time.

A file system that tells the disk of freed space (mounted with `discard`) may keep everybody's syncs waiting meanwhile:
15 ms for a segment of 64 MB, nothing to speak of for a mebibyte (ADR 0014). Only a file is cut that has no name any
more and that nobody else has open, since readers of a removed segment go on reading it: the kernel says so by a lease.

Pieces are cut at whole mebibytes: the rest of a block that is cut through has to be written as zeros, and everybody's
next sync waits for that. None is cut while a flush round is under way (`flush_signal`), and where there are writers
they come more slowly, unless much waits; after a round that took long, much more slowly for a moment.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from tapelog.node.flush_signal import FlushSignal

PIECE_BYTES: Final = 1 << 20
PAUSE_S: Final = 0.004
"""After each piece: 250 MB/s."""
PAUSES_BESIDE_WRITERS: Final = 4
"""So many, as long as no more than PATIENT_BYTES wait."""
PAUSES_AFTER_SLOW_ROUND: Final = 64
"""Where freed space keeps a disk busy, it does so several times in a row."""
PATIENT_BYTES: Final = 1536 << 20
"""More than one segment of Kafka's default size."""
PATIENT_BYTES_PER_S: Final = 32 << 20
"""However slow the rounds are, a file's space is free after its size by this, or soon after."""
LARGE_BYTES: Final = 4 << 20
"""Smaller files go at once."""
WAITING_BYTES_MAX: Final = 2 << 30
WAITING_FILES_MAX: Final = 64
"""Whatever comes beyond goes at once: nobody waits long for space that was given up."""


class Removal:
    """See the module. One thread, begun with the first large file and ended when there is none."""

    def __init__(self, pause: Callable[[float], None] = time.sleep, signal: FlushSignal | None = None) -> None:
        self._signal = signal if signal is not None else FlushSignal()
        self._pause = pause
        self._lock = threading.Lock()
        self._waiting: deque[tuple[int, int]] = deque()
        self._waiting_bytes = 0
        self._running = False

    def remove(self, path: str) -> None:
        """Remove a name; OSError as unlink raises it. Never waits for the space to be free."""
        size = os.stat(path, follow_symlinks=False).st_size
        fd = _opened(path) if size > LARGE_BYTES and self._has_room(size) else -1
        try:
            os.unlink(path)
        except OSError:
            if fd >= 0:
                os.close(fd)
            raise
        if fd >= 0:
            self._take(fd, size)

    def _has_room(self, size: int) -> bool:
        with self._lock:
            return self._waiting_bytes + size <= WAITING_BYTES_MAX and len(self._waiting) < WAITING_FILES_MAX

    def _take(self, fd: int, size: int) -> None:
        with self._lock:
            self._waiting.append((fd, size))
            self._waiting_bytes += size
            if self._running:
                return
            self._running = True
        threading.Thread(target=self._run, name="removal", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._running = False
                    return
                fd, size = self._waiting[0]
            left = size
            try:
                if _is_ours_alone(fd):
                    left = self._shrink(fd, size)
            finally:
                os.close(fd)  # with the last descriptor the rest goes
                with self._lock:
                    self._waiting.popleft()
                    self._waiting_bytes -= left

    def _shrink(self, fd: int, size: int) -> int:
        """Piece by piece; how much is left."""
        pauses = int(size / PATIENT_BYTES_PER_S / PAUSE_S)
        while size > PIECE_BYTES:
            before, size = size, (size - 1) // PIECE_BYTES * PIECE_BYTES
            in_time = self._signal.wait()
            rounds = self._signal.rounds
            try:
                os.ftruncate(fd, size)
            except OSError:
                return before
            with self._lock:
                self._waiting_bytes -= before - size
            pauses -= self._rest(rounds, in_time, pauses)
        return size

    def _rest(self, rounds: int, in_time: bool, most: int) -> int:
        """Longer if there was a flush round meanwhile; returns by how many pauses."""
        self._pause(PAUSE_S)
        if self._signal.rounds == rounds or self._waiting_bytes > PATIENT_BYTES:
            return 0
        longer = min(most, (PAUSES_BESIDE_WRITERS if in_time else PAUSES_AFTER_SLOW_ROUND) - 1)
        for _ in range(longer):
            self._pause(PAUSE_S)
        return longer


def _opened(path: str) -> int:
    """A descriptor to cut a file by; -1 if there is none to be had."""
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return -1


def _is_ours_alone(fd: int) -> bool:
    """Whether a file has no name any more, and nobody else has it open: then nobody can. False where nobody tells."""
    try:
        if os.fstat(fd).st_nlink:
            return False
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)  # who opened it by /proc would end this process with SIGIO
    except (AttributeError, OSError):
        return False
    return True

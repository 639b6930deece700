"""Flush rounds go first: a signal for each disk that says whether one is under way, seen by processes beside the node.

A disk (`system.SystemDisk`) raises its signal when a round begins and lowers it when the last sync has returned.
Whoever has much to do on that disk and no hurry (the cleaner's process, what removes large files) begins no piece of it
meanwhile: a sync would wait for that piece, in the disk's queue or in the file system's journal. Nobody waits for long:
on a disk where rounds follow one another without end, pieces come between them all the same.

The other way round, who works beside the node says when he begins and ends a step, so that the node can tell the rounds
beside which somebody worked from the others.

The signals are bytes of one page of memory that a child process inherits; where there is no such memory, only the node
itself sees them.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final
from zlib import crc32

from tapelog.log.compaction.courtesy import Steps

SLOTS: Final = 1024
"""One for each disk, by its root's name; two that share one wait for each other's rounds, too."""
SLOT_BYTES: Final = 4
"""Whether a round is under way; how many have begun; how many steps beside them have begun, and ended: modulo 256."""
LOOK_S: Final = 0.0001
LOOKS_MAX: Final = 50
WAIT_S_MAX: Final = 0.005
"""After so many looks or so long, whoever waits goes on."""
NOWHERE: Final = -1


class FlushSignal:
    """Of one disk."""

    __slots__ = ("_at", "_memory", "waited_s")

    def __init__(self, memory: mmap.mmap | bytearray | None = None, slot: int = 0) -> None:
        self._memory: mmap.mmap | bytearray = bytearray(SLOT_BYTES) if memory is None else memory
        self._at = slot * SLOT_BYTES
        self.waited_s = 0.0
        """How long whoever has this object has waited, in all."""

    def raise_it(self) -> None:
        """A round begins."""
        self._memory[self._at] = 1
        self._count(1)

    def lower(self) -> None:
        """It has ended."""
        self._memory[self._at] = 0

    @property
    def raised(self) -> bool:
        """Whether a round is under way."""
        return self._memory[self._at] != 0

    @property
    def rounds(self) -> int:
        """How many have begun, modulo 256: another number than before says that somebody writes."""
        return self._memory[self._at + 1]

    def step_begins(self) -> None:
        """Of somebody who works beside the node. Two at a time may be taken for one."""
        self._count(2)

    def step_ends(self) -> None:
        """Of the same."""
        self._memory[self._at + 3] = self._memory[self._at + 2]

    @property
    def steps(self) -> Steps:
        """For `courtesy.worked_between`."""
        return self._memory[self._at + 2], self._memory[self._at + 3]

    def _count(self, what: int) -> None:
        memory, at = self._memory, self._at + what
        memory[at] = (memory[at] + 1) & 0xFF

    def wait(self, pause: Callable[[float], None] = time.sleep, clock: Callable[[], float] = time.monotonic) -> bool:
        """Until no round is under way, or for some milliseconds; False: one still is."""
        if not self.raised:
            return True
        begun = clock()
        for _ in range(LOOKS_MAX):
            pause(LOOK_S)
            if not self.raised or clock() - begun >= WAIT_S_MAX:
                break
        self.waited_s += clock() - begun
        return not self.raised


class FlushSignals:
    """Of all disks of a node. fd: the memory of somebody else's, which a process has inherited."""

    def __init__(self, fd: int | None = None) -> None:
        self.fd = NOWHERE
        """What a child process inherits to see them; NOWHERE: it cannot."""
        self._memory: mmap.mmap | bytearray = bytearray(SLOTS * SLOT_BYTES)
        try:
            given = _new() if fd is None else fd
        except (AttributeError, OSError):
            return  # no such memory here
        try:
            self._memory = mmap.mmap(given, SLOTS * SLOT_BYTES)
            self.fd = given
        except (OSError, ValueError):
            with suppress(OSError):
                os.close(given)

    @property
    def shared(self) -> bool:
        """Whether a child process sees them, and can say that it works."""
        return self.fd != NOWHERE

    def of(self, root: str) -> FlushSignal:
        """Of the disk whose files are there."""
        return FlushSignal(self._memory, crc32(os.fsencode(os.path.abspath(root))) % SLOTS)


def _new() -> int:
    fd = os.memfd_create("tapelog-flush-signals", os.MFD_CLOEXEC)
    os.ftruncate(fd, SLOTS * SLOT_BYTES)
    return fd

"""How much room the disks have: a warning while there is some, a reserve for what must be written when there is none.

Looked at by the housekeeping and, while much is written, by the node core in between. Below the reserve, records of
clients are refused (KAFKA_STORAGE_ERROR, which they retry) and followers wait; the metadata log, votes, checkpoints,
committed offsets and markers use what is left. When there is room again, everything goes on by itself (ADR 0016).

Room is bytes, and files where a file system holds a fixed number (inodes): without any left, no segment can roll and no
vote be kept, however many bytes are free.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tapelog.base.ports import DiskError

if TYPE_CHECKING:
    from tapelog.base.ports import Disk
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.node")

RESERVE_BYTES: Final = 64 << 20
RESERVE_SHARE: Final = 100
LOW_BYTES: Final = 10 << 30
LOW_SHARE: Final = 20
AMPLE, LOW, FULL = 0, 1, 2
MEGABYTE: Final = 1 << 20
FILES_RESERVE: Final = 1_000
FILES_LOW: Final = 50_000


def reserve_of(asked: int, total: int) -> int:
    """tapelog.disk.reserve.bytes; by default 64 MiB, but no more than a hundredth of the disk."""
    return asked if asked >= 0 else min(RESERVE_BYTES, total // RESERVE_SHARE)


def low_of(asked: int, total: int) -> int:
    """tapelog.disk.low.bytes; by default a twentieth of the disk, but no more than 10 GiB."""
    return asked if asked >= 0 else min(LOW_BYTES, total // LOW_SHARE)


class _Room:
    """What a disk has of one of the two."""

    def __init__(self, free: int, reserve: int, low: int, left: str, shown: Callable[[int], str]) -> None:
        self.free = free
        self.reserve = reserve
        self.low = low
        self.left = left
        """How much that is, in words."""
        self.shown = shown

    def state(self, before: int) -> int:
        """What comes of it. What was low stays so until there is a quarter more."""
        free, reserve, low = self.free, self.reserve, self.low
        state = FULL if free < reserve + (reserve // 4 if before == FULL else 0) else LOW if free < low else AMPLE
        return LOW if before == LOW and state == AMPLE and free < low + low // 4 else state


class Space:
    """Watches the room on the disks of a node."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self._states: dict[str, list[int]] = {}

    def look(self) -> None:
        """See how much there is; tell and act if that has changed."""
        node = self.node
        full: list[Disk] = list(node.hub.hanging)  # nothing more is taken for them, either
        for directory in node.directory.items:
            try:
                rooms = self._rooms(directory.disk)
            except DiskError as error:
                node.storage_broke(error, directory.disk)
                continue
            before = self._states.get(directory.path, [AMPLE, AMPLE])
            states = [room.state(known) for room, known in zip(rooms, before, strict=True)]
            if states != before:
                self._states[directory.path] = states
                for room, state, known in zip(rooms, states, before, strict=True):
                    if state != known:
                        _tell(directory.path, room, state, known, served=FULL not in states)
            if FULL in states:
                full.append(directory.disk)
        if full != node.hub.full:
            node.hub.full = full

    def is_full(self, path: str) -> bool:
        """Whether a log directory takes no more records of clients: only the reserve is left, or too few files."""
        return FULL in self._states.get(path, ())

    def _rooms(self, disk: Disk) -> tuple[_Room, _Room]:
        total, free = disk.total_bytes(), disk.free_bytes()
        reserve = reserve_of(self.node.setting_int("tapelog.disk.reserve.bytes"), total)
        low = low_of(self.node.setting_int("tapelog.disk.low.bytes"), total)
        files, files_total = disk.free_files()
        kept = min(FILES_RESERVE, files_total // RESERVE_SHARE) if reserve else 0  # also where there is no bound
        least = min(FILES_LOW, files_total // LOW_SHARE)
        return (
            _Room(free, reserve, low, f"has {_size(free)} of room left", _size),
            _Room(files, kept, least, f"can hold {files} more files (inodes)", str),
        )


def _tell(path: str, room: _Room, state: int, before: int, *, served: bool) -> None:
    if state == FULL:
        log.error(
            "the disk is full: %s %s. Producers get KAFKA_STORAGE_ERROR until there are %s: delete records or topics, "
            "shorten retention, or add a disk",
            path,
            room.left,
            room.shown(room.reserve + room.reserve // 4),
        )
    elif before == FULL:
        log.warning("there is room again: %s %s%s", path, room.left, ". Producers are served" if served else "")
    elif state == LOW:
        log.warning(
            "the disk is running out of room: %s %s. At %s producers are refused: shorten retention or add a disk",
            path,
            room.left,
            room.shown(room.reserve),
        )


def _size(size: int) -> str:
    """In the largest unit of which there is one."""
    for unit, name in ((MEGABYTE, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} bytes"

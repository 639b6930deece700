"""How much room the disks have: a warning while there is some, a reserve for what must be written when there is none.

Looked at by the housekeeping and, while much is written, by the node core in between. Below the reserve, records of
clients are refused (KAFKA_STORAGE_ERROR, which they retry) and followers wait; the metadata log, votes, checkpoints,
committed offsets and markers use what is left. When there is room again, everything goes on by itself (ADR 0016).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from tapelog.base.ports import DiskError

if TYPE_CHECKING:
    from tapelog.base.ports import Disk
    from tapelog.log.manager import LogDirectory
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.node")

RESERVE_BYTES: Final = 64 << 20
RESERVE_SHARE: Final = 100
LOW_BYTES: Final = 10 << 30
LOW_SHARE: Final = 20
AMPLE, LOW, FULL = 0, 1, 2
MEGABYTE: Final = 1 << 20


def reserve_of(asked: int, total: int) -> int:
    """tapelog.disk.reserve.bytes; by default 64 MiB, but no more than a hundredth of the disk."""
    return asked if asked >= 0 else min(RESERVE_BYTES, total // RESERVE_SHARE)


def low_of(asked: int, total: int) -> int:
    """tapelog.disk.low.bytes; by default a twentieth of the disk, but no more than 10 GiB."""
    return asked if asked >= 0 else min(LOW_BYTES, total // LOW_SHARE)


class Space:
    """Watches the room on the disks of a node."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self._states: dict[str, int] = {}

    def look(self) -> None:
        """See how much there is; tell and act if that has changed."""
        node = self.node
        asked_reserve = node.setting_int("tapelog.disk.reserve.bytes")
        asked_low = node.setting_int("tapelog.disk.low.bytes")
        full: list[Disk] = list(node.hub.hanging)  # nothing more is taken for them, either
        for directory in node.directory.items:
            try:
                total, free = directory.disk.total_bytes(), directory.disk.free_bytes()
            except DiskError as error:
                node.storage_broke(error, directory.disk)
                continue
            reserve, low = reserve_of(asked_reserve, total), low_of(asked_low, total)
            before = self._states.get(directory.path, AMPLE)
            state = FULL if free < reserve + (reserve // 4 if before == FULL else 0) else LOW if free < low else AMPLE
            if before == LOW and state == AMPLE and free < low + low // 4:
                state = LOW
            if state != before:
                self._states[directory.path] = state
                self._tell(directory, state, before, free, reserve)
            if state == FULL:
                full.append(directory.disk)
        if full != node.hub.full:
            node.hub.full = full

    def _tell(self, directory: LogDirectory, state: int, before: int, free: int, reserve: int) -> None:
        megabytes = f"{directory.path} has {free // MEGABYTE} MiB of room left"
        if state == FULL:
            log.error(
                "the disk is full: %s. Producers get KAFKA_STORAGE_ERROR until there are %d MiB: delete records or "
                "topics, shorten retention, or add a disk",
                megabytes,
                (reserve + reserve // 4) // MEGABYTE,
            )
        elif before == FULL:
            log.warning("there is room again: %s. Producers are served", megabytes)
        elif state == LOW:
            log.warning(
                "the disk is running out of room: %s. At %d MiB producers are refused: shorten retention or add a disk",
                megabytes,
                reserve // MEGABYTE,
            )

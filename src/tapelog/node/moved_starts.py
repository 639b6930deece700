"""Starts of logs that DeleteRecords has moved, made durable.

A disk may be so full that even the few bytes for that find no room. Then what is superfluous goes first, which makes
some: a log begins at its first segment, whatever is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tapelog.base.ports import DiskError, DiskFullError

if TYPE_CHECKING:
    from tapelog.base.ports import Disk
    from tapelog.log.manager import LogDirectory
    from tapelog.node.core import NodeCore

PAUSE_MS: Final = 100
TRIES_MAX: Final = 20
"""Space that segments held comes back a little at a time."""

Done = Callable[[list["Disk"]], None]


def write(node: NodeCore, done: Done) -> None:
    """Now, if there is room, or soon; then done, with the disks on which that could not be."""
    broken, full = _try(node, [])
    freed = [_make_room(node, directory) for directory in full]
    if any(freed):
        _try_again(node, done, broken, TRIES_MAX)
    else:
        done([*broken, *(directory.disk for directory in full)])


def _try_again(node: NodeCore, done: Done, broken: list[Disk], left: int) -> None:
    def retry() -> None:
        more, full = _try(node, broken)
        if full and left > 1:
            _try_again(node, done, more, left - 1)
        else:
            done([*more, *(directory.disk for directory in full)])

    node.timers.after(PAUSE_MS, retry)


def _try(node: NodeCore, broken: list[Disk]) -> tuple[list[Disk], list[LogDirectory]]:
    """Disks that fail, those known included, and directories without room."""
    broken, full = list(broken), []
    for directory in list(node.directory.every):
        try:
            if directory.start_offsets_moved():
                directory.write_start_offsets()
        except DiskFullError:
            full.append(directory)
        except DiskError as error:
            broken.append(directory.disk)
            node.storage_broke(error, directory.disk)
    return broken, full


def _make_room(node: NodeCore, directory: LogDirectory) -> bool:
    """Whether there was something superfluous."""
    found = False
    for key, held in list(directory.logs.items()):
        items = held.segments.items
        if len(items) > 1 and items[1].base_offset <= held.start_offset:
            try:
                node.housekeeping.retain(key)
                found = True
            except DiskError:
                continue  # the next try tells
    return found

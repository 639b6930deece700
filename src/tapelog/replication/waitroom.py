"""Everybody who waits for a partition: appends for their acknowledgement, fetches for something to read.

Base class of `partition.Partition`, which says when. Appends are told in the order in which they were parked.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from tapelog.replication.hub import Hub
from tapelog.replication.waiting import AppendWaiter, FetchWaiter
from tapelog.wire.errors import ErrorCode

_TIMED_OUT: Final = int(ErrorCode.REQUEST_TIMED_OUT)


class Parked:
    """An append that waits until `end_offset` is as safe as it was asked to be."""

    def __init__(self, end_offset: int, waiter: AppendWaiter, index: int) -> None:
        self.end_offset = end_offset
        self.waiter = waiter
        self.index = index


_NOBODY: Final[deque[Parked]] = deque()
"""The queue of whoever has none yet; never added to. A deque takes more memory than all else an idle partition has."""


class WaitingRoom:
    """The queues of one partition."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self._parked: deque[Parked] = _NOBODY
        """For the high watermark."""
        self._parked_local: deque[Parked] = _NOBODY
        """For the leader's own disk, where followers make that something else than the high watermark."""
        self._parked_markers: deque[Parked] = _NOBODY
        """For the high watermark and the disk: markers on `page_cache` topics."""
        self._waiters: dict[FetchWaiter, None] = {}
        self._tail_waiters: dict[FetchWaiter, None] = {}
        self._low_waiters: dict[FetchWaiter, None] | None = None
        """For followers to let go of what was deleted; None while nobody does."""

    def _wait(self, entry: Parked) -> None:
        """For the high watermark."""
        if self._parked is _NOBODY:
            self._parked = deque()
        self._parked.append(entry)

    def _wait_for_disk(self, entry: Parked) -> None:
        """For the leader's own disk."""
        if self._parked_local is _NOBODY:
            self._parked_local = deque()
        self._parked_local.append(entry)

    def _wait_for_both(self, entry: Parked) -> None:
        """For the high watermark and the disk."""
        if self._parked_markers is _NOBODY:
            self._parked_markers = deque()
        self._parked_markers.append(entry)

    def add_fetch(self, waiter: FetchWaiter) -> None:
        """Tell the waiter when the high watermark moves."""
        self._waiters[waiter] = None

    def add_replica_fetch(self, waiter: FetchWaiter) -> None:
        """Tell a follower's fetch when the log grows, and when the high watermark moves."""
        self._waiters[waiter] = None
        self._tail_waiters[waiter] = None

    def remove_fetch(self, waiter: FetchWaiter) -> None:
        """Forget the waiter; harmless if it is not waiting here."""
        self._waiters.pop(waiter, None)
        self._tail_waiters.pop(waiter, None)

    def wake_fetches(self) -> None:
        """Let every parked fetch look again (the high watermark or the start moved, or the partition went away)."""
        wake(self.hub, self._waiters)

    def add_low_waiter(self, waiter: FetchWaiter) -> None:
        """Tell the waiter when the low watermark may have moved, or the role is over."""
        if self._low_waiters is None:
            self._low_waiters = {}
        self._low_waiters[waiter] = None

    def remove_low_waiter(self, waiter: FetchWaiter) -> None:
        """Forget the waiter; harmless if it is not waiting here."""
        if self._low_waiters is not None:
            self._low_waiters.pop(waiter, None)
            if not self._low_waiters:
                self._low_waiters = None

    def wake_low_waiters(self) -> None:
        """Let those who wait for the low watermark look again."""
        if self._low_waiters is not None:
            wake(self.hub, self._low_waiters)

    def fail_parked_above(self, offset: int, code: int) -> None:
        """Fail every parked append that needs more than `offset`."""
        for entry in [entry for queue in self._queues() for entry in _take(queue, offset)]:
            entry.waiter.failed(entry.index, code)

    def fail_replicated_above(self, offset: int, code: int) -> None:
        """The same, for those alone who wait for followers too."""
        queues = (self._parked, self._parked_markers)
        for entry in [entry for queue in queues for entry in _take(queue, offset)]:
            entry.waiter.failed(entry.index, code)

    def expire_parked(self, now_ms: int) -> None:
        """Disk or followers take their time: tell those whose time is over. Their batches stay, and may yet become
        visible."""
        late: list[Parked] = []
        for queue in self._queues():
            if queue:
                entries = list(queue)
                queue.clear()
                for entry in entries:
                    (late if entry.waiter.overdue(now_ms) else queue).append(entry)
        for entry in late:
            entry.waiter.failed(entry.index, _TIMED_OUT)

    def _queues(self) -> tuple[deque[Parked], deque[Parked], deque[Parked]]:
        return self._parked, self._parked_local, self._parked_markers


def release(parked: deque[Parked], offset: int) -> None:
    """Tell those who wait for no more than offset."""
    while parked and parked[0].end_offset <= offset:
        entry = parked.popleft()
        entry.waiter.committed(entry.index)


def wake(hub: Hub, waiters: dict[FetchWaiter, None]) -> None:
    """Let these fetches look again at the end of the wake-up, once each."""
    for waiter in waiters:
        if not waiter.ripe:
            waiter.ripe = True
            hub.ripe.append(waiter)


def _take(parked: deque[Parked], offset: int) -> list[Parked]:
    """Remove and return those who wait for more than offset."""
    if not parked:
        return []
    entries = list(parked)
    parked.clear()
    parked.extend([entry for entry in entries if entry.end_offset <= offset])
    return [entry for entry in entries if entry.end_offset > offset]

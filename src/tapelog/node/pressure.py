"""When producers are ahead of the disk: how much may be written and not durable before no Produce starts any more.

TCP does the rest: their sockets are not read. A fixed bound would be a queue, and on a slow disk one of minutes, in
which every producer runs into its timeout. So the limit follows the disk: what it makes durable in about `ROUND_MS`.
Topics in the page cache are acknowledged before; what they have written since the last checkpoint that was synced is
bounded in the same way, so that the kernel never has to stop the writer, which is the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tapelog.replication.hub import Hub
    from tapelog.server.dispatch import Dispatcher

ROUND_MS: Final = 1_000
"""A flush round should not take longer: whoever writes waits for up to two of them."""
LIMIT_LEAST: Final = 16 << 20
LIMIT_FIRST: Final = 64 << 20
CACHED_MS: Final = 4_000
"""The same for checkpoints, for which nobody waits unless there is too much."""
CACHED_BYTES_MAX: Final = 2 << 30
CACHED_SHARE: Final = 8
"""At most one in so many bytes of the memory, too: the kernel begins to stop writers at about one in seven."""


class Limit:
    """How many bytes may wait for the disk: as many as it syncs in a given time, between two bounds."""

    def __init__(self, most: int, aim_ms: int, first: int = LIMIT_FIRST) -> None:
        self.most = most
        self.aim_ms = aim_ms
        self.value = min(most, first)

    def bound(self, most: int) -> None:
        """Another upper bound."""
        self.most = most
        self.value = min(most, self.value)

    def synced(self, size: int, took_ms: int) -> None:
        """So many bytes took so long; a negative time says nothing."""
        if took_ms < 0:
            return
        if took_ms > self.aim_ms:
            self.value = max(min(LIMIT_LEAST, self.most), min(self.value, size * self.aim_ms // took_ms))
        elif 2 * took_ms < self.aim_ms and 2 * size > self.value:
            self.value = min(self.most, 2 * self.value)


class Pressure:
    """Watches what waits for the disks of a node, and holds producers back."""

    def __init__(self, hub: Hub, dispatcher: Dispatcher) -> None:
        self.hub = hub
        self.dispatcher = dispatcher
        self.written = Limit(LIMIT_FIRST, ROUND_MS)
        self.cached = Limit(CACHED_BYTES_MAX, CACHED_MS, CACHED_BYTES_MAX)
        self.hung_bytes: Callable[[], int] = _none
        """What waits for disks that hang: nobody else is held back for that."""
        self.times = 0
        """How often producers had to be held back."""

    def bound(self, unflushed_max: int) -> None:
        """What `tapelog.unflushed.max.bytes` says."""
        self.written.bound(unflushed_max)

    def remember(self, memory: int) -> None:
        """What the machine has."""
        self.cached.bound(min(CACHED_BYTES_MAX, memory // CACHED_SHARE))

    def flushed(self, size: int, took_ms: int) -> None:
        """A round of so many bytes has ended; a negative time if it failed."""
        self.hub.unflushed_bytes -= size
        self.written.synced(size, took_ms)

    def checkpointed(self, size: int, took_ms: int) -> None:
        """So many bytes of topics in the page cache are durable by a checkpoint (or gone with their disk)."""
        self.hub.cached_bytes -= size
        self.cached.synced(size, took_ms)

    @property
    def checkpoint_due(self) -> bool:
        """Whether topics in the page cache should not wait for the next checkpoint."""
        return 2 * self.hub.cached_bytes > self.cached.value

    def look(self) -> None:
        """At the end of a wake-up: hold producers back, or let them go on."""
        hub, pressed = self.hub, self.dispatcher.pressed
        most = self.written.value - self.written.value // 4 if pressed else self.written.value
        waiting = hub.unflushed_bytes - (self.hung_bytes() if hub.hanging else 0)
        behind = waiting > most or hub.cached_bytes > self.cached.value or len(hub.dirty) > 0
        if behind != pressed:
            self.times += int(behind)
            self.dispatcher.press(behind)


def _none() -> int:
    return 0

"""The ports through which machines reach the world: clock, entropy, disk, net.

Machines and the node core get these as arguments; `node/system.py` has the real ones and `sim/` the
simulated ones. Nothing else in the product touches time, chance, files or other nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from tapelog.base.handles import Handles


class DiskError(Exception):
    """The disk failed in a way that makes its contents doubtful: the log directory must go offline."""


class DamageError(DiskError):
    """What was read is not what was written, though the disk says nothing."""


class StaleRegionError(DiskError):
    """What was to be read is not there any more, because the log was cut: no disk has failed."""


class DiskFullError(DiskError):
    """No space left. What the failing call wrote has been taken back; earlier contents are intact."""


class Clock(Protocol):
    """Two clocks: one that never jumps, and the one on the wall."""

    def monotonic_ms(self) -> int:
        """Milliseconds that only grow, from an arbitrary start; for timers and timeouts."""
        ...

    def wall_ms(self) -> int:
        """Milliseconds since the epoch; for record timestamps and retention. May jump."""
        ...


class Entropy(Protocol):
    """Chance, so that a seed can replace it."""

    def below(self, bound: int) -> int:
        """A whole number from 0 to bound - 1."""
        ...

    def token(self, size: int) -> bytes:
        """That many random bytes; for ids."""
        ...


class File(Protocol):
    """An open file. Writes append; they are visible to reads at once and durable after a sync."""

    @property
    def path(self) -> str:
        """Where it is, for messages: it follows renames."""
        ...

    def write(self, chunks: Sequence[bytes | memoryview]) -> None:
        """Append all chunks, as one vectored write where possible.

        Raises DiskFullError after cutting the file back to its earlier size, DiskError on anything else.
        """
        ...

    def read(self, position: int, size: int) -> bytes:
        """Up to size bytes from position; shorter only at the end of the file."""
        ...

    def read_cold(self, position: int, size: int) -> bytes:
        """The same, but from the disk where that can be had, not from a cache, and without leaving it there."""
        ...

    def write_at(self, position: int, data: bytes) -> None:
        """Overwrite in place (index files, and the repair of damaged batches)."""
        ...

    def size(self) -> int:
        """Length in bytes, kept in memory: costs no system call."""
        ...

    def truncate(self, size: int) -> None:
        """Cut to size bytes."""
        ...

    def sync(self) -> None:
        """Block until everything written is durable (fdatasync)."""
        ...

    def fileno(self) -> int:
        """The descriptor, for sendfile; -1 where there is none (simulation)."""
        ...

    def close(self) -> None:
        """Give the descriptor back. Closing twice is harmless."""
        ...


class Disk(Protocol):
    """One log directory's file system. Paths are absolute or relative to the process, as given."""

    handles: Handles
    """Who keeps files open here, and how many there may be."""

    def open(self, path: str, *, create: bool = False) -> File:
        """Open for reading and appending; FileNotFoundError unless create.

        Opening a directory gives a File that can only sync (its creations, renames and removals) and close:
        so that a flush round can make a rolled segment's name durable together with its bytes.
        """
        ...

    def exists(self, path: str) -> bool: ...

    def file_size(self, path: str) -> int:
        """Length in bytes without opening it; FileNotFoundError if absent."""
        ...

    def changed_ms(self, path: str) -> int:
        """When it was written last, by the wall clock; -1 where nobody knows."""
        ...

    def keep_changed_ms(self, path: str, changed_ms: int) -> None:
        """It counts as written then: what is in it was."""
        ...

    def listdir(self, path: str) -> list[str]:
        """Sorted names; empty if the directory does not exist."""
        ...

    def mkdir(self, path: str) -> None:
        """Create with parents; fine if it exists. Durable after sync_dir of the parent or sync_all."""
        ...

    def read_file(self, path: str) -> bytes:
        """The whole (small) file; FileNotFoundError if absent."""
        ...

    def write_file(self, path: str, data: bytes) -> None:
        """Create or replace, not atomic, not synced: for files that a later sync_all makes durable."""
        ...

    def replace_file(self, path: str, data: bytes) -> None:
        """Atomically and durably: temporary file, fsync, rename, fsync of the directory. Blocks."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Rename a file or directory (not synced)."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file; fine if absent."""
        ...

    def remove_tree(self, path: str) -> None:
        """Remove a directory with everything in it; fine if absent."""
        ...

    def sync_dir(self, path: str) -> None:
        """Make creations, renames and removals in that directory durable. Blocks."""
        ...

    def sync_all(self) -> None:
        """Make everything on this file system durable (syncfs). Blocks."""
        ...

    def free_bytes(self) -> int:
        """Room left for us on this file system."""
        ...

    def total_bytes(self) -> int:
        """The size of this file system."""
        ...

    def free_files(self) -> tuple[int, int]:
        """How many more files and directories it can hold, and how many in all; (0, 0) where it sets no bound."""
        ...

    def expect(self, directories: list[str]) -> Callable[[], None]:
        """A hint: what lies in these directories is about to be read, in this order; small files, the ends of large
        ones. Call what is returned when that is over."""
        ...

    def start_flush(self, files: list[File], done: Callable[[DiskError | None], None]) -> None:
        """A flush round: make all these files durable in the background, then call done on the caller's loop.

        parallel fdatasync when few, syncfs when many. At most one round per disk is under way at a time;
        the caller sees to that.
        """
        ...

    def start_job(self, job: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        """Run a blocking file job (read-ahead, checkpoint, deletion) in the background, then done on the loop."""
        ...


REFUSED: Final = "Connection refused"
"""Why a connection never opened when the machine is there and nobody listens: the process has ended, or not begun."""


class ChannelEvents(Protocol):
    """What a connection to another node tells whoever opened it. Called on the loop, never from within `connect`."""

    def opened(self) -> None:
        """The other side took it; what was sent before leaves now."""
        ...

    def received(self, data: bytes) -> None:
        """Bytes, in order, cut anywhere."""
        ...

    def closed(self, reason: str) -> None:
        """It is over, by the other side or the net; also when it never opened. Exactly once, and nothing follows."""
        ...


class Channel(Protocol):
    """A stream of bytes to another node."""

    def send(self, data: bytes) -> None:
        """Queue bytes; they leave in order once it is open. The caller bounds what is in flight. Ignored when over."""
        ...

    def close(self) -> None:
        """Drop it. `closed` is not called for one's own close; nothing is called afterwards."""
        ...


class Net(Protocol):
    """How a node reaches other nodes."""

    def connect(self, host: str, port: int, events: ChannelEvents) -> Channel:
        """Begin to connect. Never fails here: `events.closed` says so later."""
        ...

"""A disk in memory that fails the way disks do, from a seed.

Writes are visible at once and durable after a sync, exactly as the port promises and not a bit more: a power cut drops
or tears what was not synced, and creations, renames and removals vanish unless their directory was synced. It can be
full, slow, or refuse to sync. Flush rounds and jobs finish by virtual time. Tests and the cluster simulation use it in
place of `node.system.SystemDisk`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Final
from weakref import WeakValueDictionary

from tapelog.base.handles import Handles
from tapelog.base.ports import DiskError, DiskFullError, File
from tapelog.base.timers import Timers
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.nodes import DirNode, FileNode

OPEN_FILES_MAX: Final = 12
"""So few that logs have to give files back all the time."""
FILES: Final = 1_000_000


class SimFile:
    """An open file, or an open directory that can only be synced."""

    def __init__(self, disk: SimDisk, path: str, node: FileNode | DirNode) -> None:
        self._disk = disk
        self._node = node
        self.path = path
        self.closed = False

    def write(self, chunks: Sequence[bytes | memoryview]) -> None:
        node = self.file_node()
        data = b"".join(chunks)
        self._disk.account("write", self.path, len(data), len(node.contents), len(data))
        node.change((len(node.contents), data))
        node.changed_ms = self._disk.wall_ms()

    def read(self, position: int, size: int) -> bytes:
        return bytes(self.file_node().contents[position : position + size])

    def read_cold(self, position: int, size: int) -> bytes:
        return self.read(position, size)

    def write_at(self, position: int, data: bytes) -> None:
        node = self.file_node()
        grown = max(0, position + len(data) - len(node.contents))
        self._disk.account("write", self.path, grown, position, len(data))
        node.change((position, data))
        node.changed_ms = self._disk.wall_ms()

    def size(self) -> int:
        return len(self._node.contents) if isinstance(self._node, FileNode) else 0

    def truncate(self, size: int) -> None:
        node = self.file_node()
        self._disk.account("truncate", self.path, size - len(node.contents), size)
        node.change((size, None))

    def sync(self) -> None:
        self._disk.before_sync(self.path)
        if not self._disk.skips_syncs:
            self._node.sync()

    def fileno(self) -> int:
        return -1

    def close(self) -> None:
        self.closed = True

    def file_node(self) -> FileNode:
        """The node, if it is a file and the disk lives."""
        self._disk.check_alive()
        assert isinstance(self._node, FileNode), f"{self.path} is a directory"
        return self._node

    def mark(self) -> Callable[[], None]:
        """A call that makes durable what has been written up to now."""
        node = self._node
        if isinstance(node, DirNode):
            return node.sync
        target = node.synced + len(node.pending)
        return lambda: node.sync(max(0, target - node.synced))


class SimDisk:
    """See the module. Faults are set by attribute; `crash` gives the disk that is found after a power cut."""

    def __init__(self, entropy: SimEntropy, timers: Timers | None = None) -> None:
        self.entropy = entropy
        self.timers = timers
        self.root = DirNode()
        self.capacity_bytes: int | None = None
        self.files_left: int | None = None
        """How many more files it says that it can hold, of FILES; None: no bound."""
        self.names_full = False
        """Directories have no room for longer names, as on a disk without a block for another piece of them."""
        self.flush_ms_min = 0
        self.flush_ms_max = 5
        self.syncs_until_failure: int | None = None
        self.broken = False
        """Nothing can be read from it or written to it."""
        self.skips_syncs = False  # a planted bug: claims to have synced
        self.lost_renames: list[str] = []
        """New names that a power cut took back."""
        self.trace: list[str] = []
        self.tracing = True
        """Whether everything that is done to it is written down."""
        self._used = 0
        self._alive = True
        self.handles = Handles(OPEN_FILES_MAX)
        self._numbers = count()
        self._open: WeakValueDictionary[int, SimFile] = WeakValueDictionary()

    # --- faults ------------------------------------------------------------------------------------------------

    def crash(self, timers: Timers | None = None) -> SimDisk:
        """Power cut: this disk is gone; returns what survives. Flushes under way never finish."""
        self._alive = False
        found = SimDisk(self.entropy, timers)
        found.capacity_bytes, found.flush_ms_max = self.capacity_bytes, self.flush_ms_max
        found.skips_syncs, found.broken = self.skips_syncs, self.broken
        found.root = self.root.after_power_cut(self.entropy, {}, found.lost_renames)
        found._used = sum(len(node.contents) for node in found.root.walk() if isinstance(node, FileNode))
        found.trace, found.tracing = [*self.trace, "power cut"], self.tracing
        return found

    def kill(self, timers: Timers | None = None) -> SimDisk:
        """The process died, the machine did not: everything written is still there."""
        self._alive = False
        found = SimDisk(self.entropy, timers)
        found.capacity_bytes, found.flush_ms_max = self.capacity_bytes, self.flush_ms_max
        found.skips_syncs, found.broken = self.skips_syncs, self.broken
        found.root, found._used = self.root, self._used
        found.trace, found.tracing = [*self.trace, "kill"], self.tracing
        return found

    def flip_bit(self, path: str, position: int, bit: int) -> None:
        """Bit rot: a file changes although nobody wrote to it."""
        self._file(path).flip(position, bit)

    def check_alive(self) -> None:
        """A machine that is off must not be used; a broken disk cannot be."""
        assert self._alive, "used after a crash"
        if self.broken:
            raise DiskError("input/output error")

    def account(self, what: str, path: str, grown: int, *details: int) -> None:
        """Count bytes; DiskFullError if there is no room for them."""
        self.check_alive()
        if self.tracing:
            self.trace.append(" ".join([what, path, *map(str, details)]))
        if self.capacity_bytes is not None and grown > 0 and self._used + grown > self.capacity_bytes:
            raise DiskFullError(f"no space left for {path}")
        self._used += grown

    def before_sync(self, what: str) -> None:
        """Fail if the time has come to fail."""
        self.check_alive()
        if self.tracing:
            self.trace.append(f"sync {what}")
        if self.syncs_until_failure is not None:
            if self.syncs_until_failure <= 0:
                raise DiskError(f"cannot sync {what}")
            self.syncs_until_failure -= 1

    # --- the port ----------------------------------------------------------------------------------------------

    def open(self, path: str, *, create: bool = False) -> File:
        self.check_alive()
        parent, name = self._parent(path)
        node = parent.names.get(name)
        if node is None:
            if not create:
                raise FileNotFoundError(path)
            self.account("create", path, 0)
            node = FileNode()
            parent.change((name, node))
        file = self._open[next(self._numbers)] = SimFile(self, path, node)
        return file

    def exists(self, path: str) -> bool:
        self.check_alive()
        return self._find(path) is not None

    def file_size(self, path: str) -> int:
        return len(self._file(path).contents)

    def changed_ms(self, path: str) -> int:
        return self._file(path).changed_ms if self.exists(path) else -1

    def keep_changed_ms(self, path: str, changed_ms: int) -> None:
        self._file(path).changed_ms = changed_ms

    def wall_ms(self) -> int:
        """For what it notes of files; -1 on a disk without a clock."""
        return self.timers.clock.wall_ms() if self.timers is not None else -1

    def listdir(self, path: str) -> list[str]:
        self.check_alive()
        node = self._find(path)
        return sorted(node.names) if isinstance(node, DirNode) else []

    def mkdir(self, path: str) -> None:
        self.check_alive()
        node = self.root
        for part in _parts(path):
            below = node.names.get(part)
            if below is None:
                below = DirNode()
                node.change((part, below))
            assert isinstance(below, DirNode), f"{path}: {part} is a file"
            node = below

    def read_file(self, path: str) -> bytes:
        return bytes(self._file(path).contents)

    def write_file(self, path: str, data: bytes) -> None:
        file = self.open(path, create=True)
        file.truncate(0)
        file.write([data])

    def replace_file(self, path: str, data: bytes) -> None:
        temporary = path + ".tmp"
        self.write_file(temporary, data)
        self.open(temporary).sync()
        self.rename(temporary, path)
        self.sync_dir(path.rpartition("/")[0])

    def rename(self, old: str, new: str) -> None:
        self.check_alive()
        if self.tracing:
            self.trace.append(f"rename {old} {new}")
        parent, name = self._parent(old)
        target, new_name = self._parent(new)
        assert parent is target, "renames stay within a directory"
        if self.names_full and len(new_name) > len(name):
            raise DiskFullError(f"no space left for {old}")
        parent.change((name, None), (new_name, parent.names[name]))
        for file in self._open.values():
            if file.path == old or file.path.startswith(old + "/"):
                file.path = new + file.path[len(old) :]

    def remove(self, path: str) -> None:
        self.check_alive()
        node = self._find(path)
        if node is None:
            return
        assert isinstance(node, FileNode), f"{path} is a directory"
        self.account("remove", path, -len(node.contents))
        parent, name = self._parent(path)
        parent.change((name, None))

    def remove_tree(self, path: str) -> None:
        self.check_alive()
        node = self._find(path)
        if isinstance(node, DirNode):
            size = sum(len(below.contents) for below in node.walk() if isinstance(below, FileNode))
            self.account("remove", path, -size)
            parent, name = self._parent(path)
            parent.change((name, None))

    def sync_dir(self, path: str) -> None:
        self.before_sync(path)
        node = self._find(path)
        assert isinstance(node, DirNode), f"{path} is not a directory"
        if not self.skips_syncs:
            node.sync()

    def sync_all(self) -> None:
        self.before_sync("all")
        if not self.skips_syncs:
            for node in self.root.walk():
                node.sync()

    def free_bytes(self) -> int:
        return self.total_bytes() - self._used

    def total_bytes(self) -> int:
        return 1 << 40 if self.capacity_bytes is None else self.capacity_bytes

    def free_files(self) -> tuple[int, int]:
        return (0, 0) if self.files_left is None else (self.files_left, FILES)

    def start_flush(self, files: list[File], done: Callable[[DiskError | None], None]) -> None:
        finishers = []
        for file in files:
            assert isinstance(file, SimFile)
            finishers.append(file.mark())

        def finish() -> None:
            if not self._alive:
                return
            try:
                self.before_sync(f"{len(files)} files")
            except DiskError as error:
                done(error)
                return
            if not self.skips_syncs:
                for finisher in finishers:
                    finisher()
            done(None)

        self._later(finish)

    def expect(self, directories: list[str]) -> Callable[[], None]:
        return _nothing

    def start_job(self, job: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        def run() -> None:
            if not self._alive:
                return
            failure: Exception | None = None
            try:
                job()
            except Exception as error:
                failure = error
            done(failure)

        self._later(run)

    def _later(self, action: Callable[[], None]) -> None:
        """After a while of virtual time; at once where nobody drives any."""
        if self.timers is None:
            action()
        else:
            ms = self.flush_ms_min + self.entropy.below(max(0, self.flush_ms_max - self.flush_ms_min) + 1)
            self.timers.after(ms, action)

    # --- paths -------------------------------------------------------------------------------------------------

    def _find(self, path: str) -> FileNode | DirNode | None:
        node: FileNode | DirNode | None = self.root
        for part in _parts(path):
            if not isinstance(node, DirNode):
                return None
            node = node.names.get(part)
        return node

    def _file(self, path: str) -> FileNode:
        self.check_alive()
        node = self._find(path)
        if not isinstance(node, FileNode):
            raise FileNotFoundError(path)
        return node

    def _parent(self, path: str) -> tuple[DirNode, str]:
        parts = _parts(path)
        node = self._find("/".join(parts[:-1]))
        if not isinstance(node, DirNode):
            raise FileNotFoundError(path)
        return node, parts[-1]


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _nothing() -> None:
    pass

"""What a disk still holds after the power went: replays the journal that powercut.c wrote, and puts the files so.

The model is the strict one of POSIX. A file's bytes are certain once an fsync or fdatasync that began after they were
written has returned; a name (created, renamed, removed) is certain once its directory has been fsynced; syncfs makes
everything certain. What is not certain may survive: `cut` chooses by seed between losing all of it, keeping a random
beginning of it with the last write torn, and keeping random pages of it with zeros in between.

Use: PowerCut(directory, scratch); run a process with `environment()`; kill it; `cut(random)`; run it again.
"""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

HEADER = struct.Struct("<cBHIQQ")
PAGE = 4096
MODES = ("drop", "torn", "pages")
CREATED, EMPTIED = 1, 2


@dataclass(eq=False)
class FileNode:
    """A file: its bytes now, its bytes for certain, and the changes in between."""

    now: bytearray = field(default_factory=bytearray)
    certain: bytes = b""
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)  # (position, data) or (size, None)

    def apply(self, position: int, data: bytes | None) -> None:
        """A write, or a truncation when there is no data."""
        change(self.now, position, data)
        self.pending.append((position, data))


@dataclass(eq=False)
class DirectoryNode:
    """A directory: its entries now, its entries for certain, and the changes in between, in order."""

    now: dict[str, Node] = field(default_factory=dict)
    certain: dict[str, Node] = field(default_factory=dict)
    pending: list[tuple[str, Node | None]] = field(default_factory=list)

    def set(self, name: str, node: Node | None) -> None:
        """An entry appears, changes, or (None) goes."""
        self.pending.append((name, node))
        if node is None:
            del self.now[name]
        else:
            self.now[name] = node


Node = FileNode | DirectoryNode


def change(content: bytearray, position: int, data: bytes | None) -> None:
    """Apply one write or truncation to a file's bytes."""
    if data is None:
        if len(content) > position:
            del content[position:]
        else:
            content.extend(bytes(position - len(content)))
        return
    if position > len(content):
        content.extend(bytes(position - len(content)))
    content[position : position + len(data)] = data


def load(path: Path) -> DirectoryNode:
    """A directory as it is, all of it certain."""
    directory = DirectoryNode()
    for entry in sorted(path.iterdir()):
        if entry.is_dir():
            directory.now[entry.name] = load(entry)
        else:
            content = entry.read_bytes()
            directory.now[entry.name] = FileNode(bytearray(content), content)
    directory.certain = dict(directory.now)
    return directory


def store(directory: DirectoryNode, path: Path) -> None:
    """Write the current state of a directory to an empty place."""
    path.mkdir(parents=True)
    for name, node in directory.now.items():
        if isinstance(node, DirectoryNode):
            store(node, path / name)
        else:
            (path / name).write_bytes(node.now)


def contents(directory: DirectoryNode, at: str = "") -> dict[str, bytes]:
    """Every file by its path, and every directory with a slash at its end."""
    found: dict[str, bytes] = {}
    for name, node in directory.now.items():
        if isinstance(node, DirectoryNode):
            found[f"{at}/{name}/"] = b""
            found |= contents(node, f"{at}/{name}")
        else:
            found[f"{at}/{name}"] = bytes(node.now)
    return found


class Replay:
    """The state of the directory as the journal tells it."""

    def __init__(self, root: Path, base: DirectoryNode) -> None:
        self.root = str(root)
        self.tree = base
        self.inodes: dict[int, Node] = {}
        self.begun: dict[int, list[tuple[Node, int]]] = {}
        self.syncs = 0

    def names(self, path: str) -> list[str]:
        """A path below the root, as a list."""
        return [name for name in path[len(self.root) :].split("/") if name and name != "."]

    def parent(self, path: str) -> tuple[DirectoryNode, str]:
        """The directory a path lies in, and its last name."""
        node: Node = self.tree
        *above, last = self.names(path)
        for name in above:
            assert isinstance(node, DirectoryNode)
            node = node.now[name]
        assert isinstance(node, DirectoryNode)
        return node, last

    def find(self, path: str) -> Node:
        """What a path names."""
        if not self.names(path):
            return self.tree
        directory, name = self.parent(path)
        return directory.now[name]

    def everything(self) -> list[Node]:
        """Every file and directory that has a name, and every open file that lost its own."""
        found: list[Node] = [self.tree]
        for node in found:
            if isinstance(node, DirectoryNode):
                found.extend(node.now.values())
        seen = set(map(id, found))
        return found + [node for node in self.inodes.values() if id(node) not in seen]

    def step(self, operation: bytes, flag: int, path: str, data: bytes, inode: int, number: int) -> None:
        """One line of the journal."""
        match operation:
            case b"O":
                if flag & CREATED:
                    directory, name = self.parent(path)
                    directory.set(name, FileNode())
                node = self.find(path)
                if flag & EMPTIED and isinstance(node, FileNode) and node.now:
                    node.apply(0, None)
                self.inodes[inode] = node
            case b"W" | b"T":
                file = self.inodes[inode]
                assert isinstance(file, FileNode)
                file.apply(number, data if operation == b"W" else None)
            case b"M":
                directory, name = self.parent(path)
                directory.set(name, DirectoryNode())
            case b"R":
                node = self.find(path)
                source, old = self.parent(path)
                target, new = self.parent(data.decode())
                target.set(new, node)
                source.set(old, None)
            case b"U":
                directory, name = self.parent(path)
                directory.set(name, None)
            case b"B":
                covered = [self.inodes[inode]] if inode else self.everything()
                self.begun[number] = [(node, len(node.pending)) for node in covered]
            case b"E":
                self.syncs += 1
                for node, length in self.begun.pop(number):
                    settle(node, length)
                    for others in self.begun.values():  # their counts refer to the same list
                        others[:] = [(n, max(0, k - length) if n is node else k) for n, k in others]
            case _:
                raise AssertionError(f"unknown operation {operation!r}")


def settle(node: Node, length: int) -> None:
    """The first `length` pending changes become certain."""
    settled, node.pending[:] = node.pending[:length], node.pending[length:]
    if isinstance(node, FileNode):
        content = bytearray(node.certain)
        for position, data in settled:
            change(content, position, data)
        node.certain = bytes(content)
    else:
        for name, entry in settled:
            put(node.certain, name, entry)


def put(entries: dict[str, Node], name: str, entry: Node | None) -> None:
    """Set or remove one name."""
    if entry is None:
        entries.pop(name, None)
    else:
        entries[name] = entry


def survivors(node: Node, chance: random.Random, mode: str) -> Node:
    """A copy of the node as the disk holds it after the cut; its `now` is what there is."""
    if isinstance(node, FileNode):
        return FileNode(now=surviving_bytes(node, chance, mode))
    entries = dict(node.certain)
    kept = 0 if mode == "drop" else chance.randint(0, len(node.pending))
    for name, entry in node.pending[:kept]:
        put(entries, name, entry)
    return DirectoryNode(now={name: survivors(entry, chance, mode) for name, entry in sorted(entries.items())})


def surviving_bytes(node: FileNode, chance: random.Random, mode: str) -> bytearray:
    """What is certain, and by mode and chance some of what is not."""
    content = bytearray(node.certain)
    if mode == "drop" or not node.pending:
        return content
    if mode == "torn":
        kept = chance.randint(0, len(node.pending))
        for position, data in node.pending[:kept]:
            change(content, position, data)
        if kept < len(node.pending):
            position, data = node.pending[kept]
            if data is not None:
                change(content, position, data[: chance.randint(0, len(data))])
        return content
    final = bytes(node.now)
    size = chance.randint(min(len(content), len(final)), max(len(content), len(final)))
    change(content, size, None)
    for start in range(0, size, PAGE):
        if chance.random() < 0.5:  # this page was written back before the cut
            content[start : min(start + PAGE, size)] = final[start : min(start + PAGE, size)].ljust(
                min(start + PAGE, size) - start, b"\0"
            )
    return content


class PowerCut:
    """Power cuts for whatever runs with `environment()` and keeps its files in `directory`."""

    def __init__(self, directory: Path, scratch: Path) -> None:
        self.directory = directory
        self.scratch = scratch
        scratch.mkdir(parents=True, exist_ok=True)
        self.journal = scratch / "journal"
        self.base = scratch / "base"
        self.library = scratch / "powercut.so"
        self.full_sign = scratch / "full"
        """While this file exists, the disk is full."""
        source = Path(__file__).with_name("powercut.c")
        command = ["gcc", "-shared", "-fPIC", "-O2", "-o", str(self.library), str(source), "-lpthread"]
        subprocess.run(command, check=True)

    def environment(self, *, ignore_sync: bool = False) -> dict[str, str]:
        """What the process needs in its environment."""
        return {
            "LD_PRELOAD": str(self.library),
            "POWERCUT_DIR": str(self.directory),
            "POWERCUT_JOURNAL": str(self.journal),
            "POWERCUT_IGNORE_SYNC": "1" if ignore_sync else "0",
            "POWERCUT_FULL": str(self.full_sign),
        }

    def begin(self) -> None:
        """Before the process starts: what is there now is certain."""
        self.journal.unlink(missing_ok=True)
        shutil.rmtree(self.base, ignore_errors=True)
        self.directory.mkdir(parents=True, exist_ok=True)
        shutil.copytree(self.directory, self.base)

    def replay(self) -> Replay:
        """What the journal tells, from the state at `begin`."""
        state = Replay(self.directory, load(self.base))
        data = self.journal.read_bytes() if self.journal.exists() else b""
        at = 0
        while at + HEADER.size <= len(data):
            operation, flag, path_size, data_size, inode, number = HEADER.unpack_from(data, at)
            at += HEADER.size
            path = data[at : at + path_size].decode()
            at += path_size
            if at + data_size > len(data):  # killed while writing the journal
                break
            state.step(operation, flag, path, data[at : at + data_size], inode, number)
            at += data_size
        return state

    def cut(self, chance: random.Random, mode: str | None = None) -> str:
        """After the kill: leave in the directory what a disk would still hold. The mode that was used."""
        state = self.replay()
        chosen = mode or chance.choice(MODES)
        left = survivors(state.tree, chance, chosen)
        assert isinstance(left, DirectoryNode)
        shutil.rmtree(self.directory)
        store(left, self.directory)
        return chosen

"""What a simulated disk is made of: files and directories that know what of them would survive a power cut.

Used by `sim.disk` only. A node has contents as a program sees them, contents that are durable, and the changes in
between, in order. A power cut keeps the durable ones and, as chance will have it, some of the rest: a prefix of the
changes, the next write torn in the middle, or a page that never reached the platter.
"""

from __future__ import annotations

from typing import Final

from tapelog.sim.entropy import SimEntropy

PAGE: Final = 512

# a change to a file: a write at a position, or (with no data) a truncation to a size
Change = tuple[int, bytes | None]


def _apply(contents: bytearray, change: Change) -> None:
    position, data = change
    if data is None:
        del contents[position:]
    else:
        if len(contents) < position:
            contents.extend(bytes(position - len(contents)))
        contents[position : position + len(data)] = data


class FileNode:
    """A file's contents."""

    def __init__(self, durable: bytes = b"") -> None:
        self.contents = bytearray(durable)
        self.durable = bytearray(durable)
        self.pending: list[Change] = []
        self.synced = 0  # changes made durable so far
        self.changed_ms = -1

    def change(self, change: Change) -> None:
        """Do it, visible at once and durable later."""
        _apply(self.contents, change)
        self.pending.append(change)

    def flip(self, position: int, bit: int) -> None:
        """A bit on the platter changes by itself."""
        for contents in (self.contents, self.durable):
            if position < len(contents):
                contents[position] ^= 1 << bit

    def sync(self, count: int | None = None) -> None:
        """Make the first count changes durable; all of them if not said otherwise."""
        done = len(self.pending) if count is None else min(count, len(self.pending))
        for change in self.pending[:done]:
            _apply(self.durable, change)
        del self.pending[:done]
        self.synced += done

    def after_power_cut(self, chance: SimEntropy) -> FileNode:
        """What is found when the power is back."""
        contents = bytearray(self.durable)
        kept = chance.below(len(self.pending) + 1)
        for change in self.pending[:kept]:
            _apply(contents, change)
        if kept < len(self.pending):
            position, data = self.pending[kept]
            if data is not None and chance.chance(60):
                _apply(contents, (position, data[: chance.below(len(data) + 1)]))
        size = len(self.durable)
        if len(contents) > size and chance.chance(25):
            page = (size + chance.below(len(contents) - size)) // PAGE * PAGE
            start, end = max(size, page), min(len(contents), page + PAGE)
            contents[start:end] = bytes(end - start)
        return FileNode(bytes(contents))


class DirNode:
    """A directory's names."""

    def __init__(self) -> None:
        self.names: dict[str, FileNode | DirNode] = {}
        self.durable: dict[str, FileNode | DirNode] = {}
        self.pending: list[list[tuple[str, FileNode | DirNode | None]]] = []

    def change(self, *steps: tuple[str, FileNode | DirNode | None]) -> None:
        """Set or remove names, all of these or none."""
        for name, node in steps:
            if node is None:
                self.names.pop(name, None)
            else:
                self.names[name] = node
        self.pending.append(list(steps))

    def sync(self) -> None:
        """Make the names durable (not what they name)."""
        self.durable = dict(self.names)
        self.pending = []

    def after_power_cut(self, chance: SimEntropy, seen: dict[int, FileNode | DirNode], lost: list[str]) -> DirNode:
        """What is found when the power is back; new names of renames that are gone are added to `lost`."""
        found = DirNode()
        names = dict(self.durable)
        kept = chance.below(len(self.pending) + 1)
        lost.extend(steps[1][0] for steps in self.pending[kept:] if len(steps) == 2)
        for steps in self.pending[:kept]:
            for name, node in steps:
                if node is None:
                    names.pop(name, None)
                else:
                    names[name] = node
        for name in sorted(names):
            node = names[name]
            twin = seen.get(id(node))
            if twin is None:
                twin = (
                    node.after_power_cut(chance)
                    if isinstance(node, FileNode)
                    else node.after_power_cut(chance, seen, lost)
                )
                seen[id(node)] = twin
            found.names[name] = twin
        found.durable = dict(found.names)
        return found

    def walk(self) -> list[FileNode | DirNode]:
        """Every node below, this one first."""
        nodes: list[FileNode | DirNode] = [self]
        for name in sorted(self.names):
            node = self.names[name]
            if isinstance(node, DirNode):
                nodes.extend(node.walk())
            else:
                nodes.append(node)
        return nodes

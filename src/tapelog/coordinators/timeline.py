"""Maps that remember what uncommitted records replaced: the undo log of a coordinator shard.

Replay changes a `Timeline` under the offset of the record it applies. The shared `Journal` keeps the replaced
values until the high watermark passes that offset (`commit`), or gives them back when the append failed
(`revert`). Readers choose: `get` sees everything replayed, `committed` only what the high watermark has passed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

N = TypeVar("N")
K = TypeVar("K")
V = TypeVar("V")


class Journal:
    """The order in which the timelines of one shard changed, from the first uncommitted record on."""

    def __init__(self) -> None:
        self.committed_offset = 0
        self._changes: deque[tuple[int, Timeline[Any, Any], Any]] = deque()

    def note(self, offset: int, timeline: Timeline[Any, Any], key: Any) -> None:
        """A record at this offset is about to change that key."""
        assert not self._changes or self._changes[-1][0] <= offset, "replay goes forward"
        self._changes.append((offset, timeline, key))

    def commit(self, offset: int) -> None:
        """Every record below offset is committed: what it replaced is forgotten."""
        self.committed_offset = max(self.committed_offset, offset)
        while self._changes and self._changes[0][0] < offset:
            _, timeline, key = self._changes.popleft()
            timeline.forget_oldest(key)

    def revert(self, offset: int) -> list[Any]:
        """Take back every record at or after offset; returns the keys that changed back, newest first."""
        assert offset >= self.committed_offset, "a committed record is never taken back"
        reverted: list[Any] = []
        while self._changes and self._changes[-1][0] >= offset:
            _, timeline, key = self._changes.pop()
            timeline.restore_newest(key)
            reverted.append(key)
        return reverted

    @property
    def size(self) -> int:
        """How many changes could still be taken back."""
        return len(self._changes)


class Timeline(Generic[K, V]):
    """A dict whose uncommitted changes can be seen through and taken back."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._live: dict[K, V] = {}
        self._replaced: dict[K, deque[V | None]] = {}

    def get(self, key: K) -> V | None:
        """The newest value, committed or not."""
        return self._live.get(key)

    def committed(self, key: K) -> V | None:
        """The value as of the high watermark."""
        replaced = self._replaced.get(key)
        return self._live.get(key) if replaced is None else replaced[0]

    def put(self, offset: int, key: K, value: V) -> None:
        """Set the key by the record at offset."""
        self._remember(offset, key)
        self._live[key] = value

    def remove(self, offset: int, key: K) -> V | None:
        """Unset the key by the record at offset; returns what was there."""
        if key not in self._live:
            return None
        self._remember(offset, key)
        return self._live.pop(key)

    def items(self) -> Iterator[tuple[K, V]]:
        """Newest pairs."""
        return iter(self._live.items())

    def committed_items(self) -> Iterator[tuple[K, V]]:
        """Pairs as of the high watermark."""
        for key, value in self._live.items():
            if key not in self._replaced:
                yield key, value
        for key, replaced in self._replaced.items():
            oldest = replaced[0]
            if oldest is not None:
                yield key, oldest

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, key: K) -> bool:
        return key in self._live

    @property
    def bare(self) -> bool:
        """Nothing in it, and nothing that could come back."""
        return not self._live and not self._replaced

    @property
    def settled(self) -> bool:
        """Nothing in it could be taken back."""
        return not self._replaced

    def _remember(self, offset: int, key: K) -> None:
        if offset < self._journal.committed_offset:
            return
        self._journal.note(offset, self, key)
        self._replaced.setdefault(key, deque()).append(self._live.get(key))

    def forget_oldest(self, key: K) -> None:
        """The oldest change of the key is committed (called by the journal)."""
        replaced = self._replaced[key]
        replaced.popleft()
        if not replaced:
            del self._replaced[key]

    def restore_newest(self, key: K) -> None:
        """The newest change of the key did not happen (called by the journal)."""
        replaced = self._replaced[key]
        value = replaced.pop()
        if value is None:
            self._live.pop(key, None)
        else:
            self._live[key] = value
        if not replaced:
            del self._replaced[key]


class Timelines(Generic[N, K, V]):
    """Timelines by name, made when needed and let go when there is nothing left in them."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._by_name: dict[N, Timeline[K, V]] = {}
        self._doubtful: dict[N, None] = {}

    def find(self, name: N) -> Timeline[K, V] | None:
        """The timeline of that name, if there is one."""
        return self._by_name.get(name)

    def at(self, name: N) -> Timeline[K, V]:
        """The timeline of that name, to put something in."""
        timeline = self._by_name.get(name)
        if timeline is None:
            timeline = self._by_name[name] = Timeline(self._journal)
            self._doubtful[name] = None
        return timeline

    def remove(self, offset: int, name: N, key: K) -> V | None:
        """Unset the key in the timeline of that name by the record at offset; returns what was there."""
        timeline = self._by_name.get(name)
        if timeline is None:
            return None
        self._doubtful[name] = None
        return timeline.remove(offset, key)

    def tidy(self) -> None:
        """Let go of timelines that have nothing left, now or in case of an undo. Call after commit or revert."""
        for name in list(self._doubtful):
            timeline = self._by_name[name]
            if timeline.settled:
                del self._doubtful[name]
                if not len(timeline):
                    del self._by_name[name]

    def names(self) -> Iterator[N]:
        """Names under which there is something."""
        return (name for name, timeline in self._by_name.items() if len(timeline))

    def items(self) -> Iterator[tuple[N, Timeline[K, V]]]:
        """Timelines that have something in them."""
        return ((name, timeline) for name, timeline in self._by_name.items() if len(timeline))

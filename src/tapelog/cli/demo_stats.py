"""What the demo shows: a snapshot of the cluster's topics and groups, taken about once a second."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tapelog.cli.connect import Connection
from tapelog.cli.group_info import state_name

HISTORY = 60
TOPICS_MAX = 8
GROUPS_MAX = 8
OWN = ("orders", "analytics", "billing")


def own_first(names: Iterable[str]) -> list[str]:
    """Sorted, what the demo itself runs before the rest: it must not fall off the end.

    >>> own_first(["answers", "billing", "orders"])
    ['billing', 'orders', 'answers']
    """
    return sorted(names, key=lambda name: (name not in OWN, name))


@dataclass(frozen=True, slots=True)
class TopicView:
    """One topic. `offsets` from its start to its end: markers of transactions and what compaction removed count, too.
    `rate` is in offsets per second since the last snapshot.
    """

    name: str
    partitions: int
    offsets: int
    rate: float


@dataclass(frozen=True, slots=True)
class GroupView:
    """One group; `history` holds its lag in records, oldest first."""

    name: str
    state: str
    rate: float
    lag_records: int
    lag_ms: int | None
    history: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything at one moment."""

    uptime_s: float = 0.0
    topics: tuple[TopicView, ...] = ()
    groups: tuple[GroupView, ...] = ()
    memory_bytes: int | None = None


@dataclass(slots=True)
class _Seen:
    """What the last snapshot saw, for rates."""

    at: float = 0.0
    ends: dict[str, int] = field(default_factory=dict)
    commits: dict[str, int] = field(default_factory=dict)


class Observer:
    """Takes snapshots. Keeps its clients open; one thread uses it."""

    def __init__(self, connection: Connection, pid: int | None) -> None:
        self._connection = connection
        from tapelog.toolkit.lag import LagReader

        self._lags = LagReader(connection.config, admin=connection.admin, timeout_s=connection.timeout_s)
        self._pid = pid
        self._begun = time.monotonic()
        self._seen = _Seen()
        self._histories: dict[str, deque[int]] = {}
        self._markers: set[str] = set()

    def snapshot(self) -> Snapshot:
        """Ask the cluster. Raises CliError if it does not answer."""
        now = time.monotonic()
        known = self._connection.metadata().topics
        names = own_first(name for name in known if not name.startswith("__"))[:TOPICS_MAX]
        bounds = self._connection.bounds((name, number) for name in names for number in sorted(known[name].partitions))
        listed = self._connection.result(self._connection.admin.list_consumer_groups())
        entries = self._that_read({entry.group_id: entry for entry in listed.valid})
        groups = [entries[name] for name in own_first(entries)[:GROUPS_MAX]]
        seconds = now - self._seen.at if self._seen.at else 0.0
        ends = {name: sum(end for (topic, _), (_, end) in bounds.items() if topic == name) for name in names}
        starts = {name: sum(start for (topic, _), (start, _) in bounds.items() if topic == name) for name in names}
        topics = tuple(
            TopicView(
                name,
                len(known[name].partitions),
                ends[name] - starts[name],
                _rate(ends[name], self._seen.ends.get(name), seconds),
            )
            for name in names
        )
        commits: dict[str, int] = {}
        views = []
        with self._connection.explaining():
            lags = self._lags.measure(entry.group_id for entry in groups)
        for entry in groups:
            found = lags[entry.group_id]
            commits[entry.group_id] = sum(part.committed or 0 for part in found.partitions)
            history = self._histories.setdefault(entry.group_id, deque(maxlen=HISTORY))
            history.append(found.records)
            rate = _rate(commits[entry.group_id], self._seen.commits.get(entry.group_id), seconds)
            age_ms = None if found.seconds is None else round(found.seconds * 1000)
            views.append(
                GroupView(entry.group_id, state_name(entry.state), rate, found.records, age_ms, tuple(history))
            )
        self._seen = _Seen(now, ends, commits)
        return Snapshot(now - self._begun, topics, tuple(views), _memory(self._pid))

    def _that_read(self, entries: dict[str, Any]) -> dict[str, Any]:
        """Those groups that read; the ones in which Spark's sink keeps its markers do not, and never will."""
        with self._connection.explaining():
            self._markers |= self._lags.marker_groups(name for name in entries if name not in self._markers)
        return {name: entry for name, entry in entries.items() if name not in self._markers}

    def close(self) -> None:
        """Give the connections back."""
        self._lags.close()


def _rate(now: int, before: int | None, seconds: float) -> float:
    return max(0.0, (now - before) / seconds) if before is not None and seconds > 0 else 0.0


def _memory(pid: int | None) -> int | None:
    """Resident bytes of the broker, where the system tells."""
    if pid is None:
        return None
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))
    except (OSError, StopIteration, ValueError):
        return None

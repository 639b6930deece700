"""Clusters with their links, kept for the next task of this process.

Spark reuses its Python workers, and connecting costs more than a small read: `lend` gives a task a cluster of its own
for as long as it needs one, with open links and fresh knowledge where an earlier task left some. Kept ones are closed
when they lay idle for connections.max.idle.ms (looked at whenever somebody comes by) or when there are too many. A
forked process begins with an empty pool: what its parent had stays the parent's.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from tapelog.client.cluster import Cluster
from tapelog.client.pace import Pace, SystemPace
from tapelog.client.settings import ConnectionSettings

KEPT_MAX: Final = 16
"""Clusters that wait for the next task, of all settings together; the one that waited longest goes first."""


class Pool:
    """Clusters by settings. Safe for threads; each cluster is lent to one at a time."""

    def __init__(self, pace: Pace | None = None) -> None:
        self._pace: Pace = pace or SystemPace()
        self._kept: list[tuple[Cluster, float]] = []
        """Idle ones and since when, oldest first."""
        self._lock = threading.Lock()
        self._process = os.getpid()

    @contextmanager
    def lend(self, settings: ConnectionSettings) -> Iterator[Cluster]:
        """A cluster for the length of a `with`; its links are kept for the next one."""
        cluster = self._take(settings)
        process = os.getpid()
        try:
            yield cluster
        finally:
            if process == os.getpid() and cluster.tidy():
                self._keep(cluster)
            else:
                cluster.close()

    @property
    def idle(self) -> int:
        """How many wait for a task."""
        return len(self._kept) if self._process == os.getpid() else 0

    def close(self) -> None:
        """Close everything that waits."""
        with self._lock:
            kept, self._kept = self._kept, []
        for cluster, _ in kept:
            cluster.close()

    def forked(self) -> None:
        """In a new process: let go of what belongs to the parent. Its connections live on there."""
        self._lock = threading.Lock()
        self._process = os.getpid()
        self.close()

    def _take(self, settings: ConnectionSettings) -> Cluster:
        if self._process != os.getpid():
            self.forked()
        self._sweep()
        while True:
            with self._lock:
                at = next((i for i in reversed(range(len(self._kept))) if self._kept[i][0].settings == settings), None)
                if at is None:
                    return Cluster(settings, self._pace)
                cluster, _ = self._kept.pop(at)
            if cluster.tidy():  # the other side may have closed meanwhile
                return cluster

    def _keep(self, cluster: Cluster) -> None:
        with self._lock:
            self._kept.append((cluster, self._pace.now()))
            surplus = [self._kept.pop(0) for _ in range(len(self._kept) - KEPT_MAX)]
        for old, _ in surplus:
            old.close()
        self._sweep()

    def _sweep(self) -> None:
        now = self._pace.now()
        with self._lock:
            over = [(c, at) for c, at in self._kept if now - at > c.settings.connections_max_idle_ms / 1000]
            self._kept = [pair for pair in self._kept if pair not in over] if over else self._kept
        for cluster, _ in over:
            cluster.close()


_POOL: Final = Pool()
os.register_at_fork(after_in_child=_POOL.forked)


def lend(settings: ConnectionSettings) -> AbstractContextManager[Cluster]:
    """`with lend(settings) as cluster:` from the pool of this process."""
    return _POOL.lend(settings)

"""Commits of progress, on a thread of its own: the newest counts, a slow or dead cluster harms nobody.

What is waiting is one value per group and cluster: a later one replaces it. A commit that fails is told once per
reason, in the log, and the next one is tried all the same.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from tapelog.client.errors import ClientError
from tapelog.client.groups import commit
from tapelog.client.metadata import TopicPartition
from tapelog.client.pool import lend
from tapelog.client.settings import ConnectionSettings

LOG = logging.getLogger("tapelog.spark")

COMMIT_SECONDS: Final = 10.0
"""What one commit may take."""
WAITING_MAX: Final = 1000
"""Groups that may wait for their commit; more are not taken."""

Offsets = dict[TopicPartition, int]
Key = tuple[ConnectionSettings, str]


def commit_to_cluster(settings: ConnectionSettings, group: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Commit as a consumer that is no member; ClientError."""
    with lend(settings) as cluster:
        commit(cluster, group, offsets, metadata="tapelog.spark", deadline=cluster.deadline(COMMIT_SECONDS))


class Publisher:
    """See the module. Safe for threads."""

    def __init__(self, send: Callable[[ConnectionSettings, str, Offsets], None] = commit_to_cluster) -> None:
        self._send = send
        self._waiting: dict[Key, Offsets] = {}
        self._sending = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._told: dict[tuple[str, str], None] = {}

    def publish(self, settings: ConnectionSettings, group: str, offsets: Mapping[Any, int]) -> None:
        """Commit these, by pairs of topic and partition, soon. Returns at once."""
        if not offsets:
            return
        with self._changed:
            if len(self._waiting) >= WAITING_MAX and (settings, group) not in self._waiting:
                return
            waiting = self._waiting.setdefault((settings, group), {})
            waiting.update({TopicPartition(*of): offset for of, offset in offsets.items()})
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="tapelog-progress", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def flush(self, seconds: float) -> bool:
        """Wait until nothing waits; False if that took too long."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._sending, seconds)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._sending = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: bool(self._waiting))
                (settings, group), offsets = next(iter(self._waiting.items()))
                del self._waiting[settings, group]
                self._sending = True
            try:
                self._send(settings, group, offsets)
            except Exception as error:
                self._tell(group, error)

    def _tell(self, group: str, error: Exception) -> None:
        what = error.what if isinstance(error, ClientError) else f"{type(error).__name__}: {error}"
        if (group, what) not in self._told and len(self._told) < WAITING_MAX:
            self._told[group, what] = None
            LOG.warning(f"Progress is not published to consumer group {group}: {what}. The query is not affected.")

"""The cluster's topics as consumer groups watch them: a hash of each, and which ones changed lately.

One per coordinator, shared by its shards. A change costs what it names, however many groups there are; each group
asks at its next heartbeat whether one of its topics is among the news.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from hashlib import blake2b
from itertools import islice
from typing import Final

from tapelog.coordinators.consumer.assignors.spec import TopicSpec
from tapelog.coordinators.topics import TopicLookup

NEWS_MAX: Final = 1024
"""A group that has missed more changes than this looks at all its topics."""


class TopicWatch:
    """Topics, their hashes and the news of them."""

    def __init__(self, topics: TopicLookup) -> None:
        self.topics = topics
        self.count = 0
        """How many changes there were so far."""
        self.grown_at_version = topics.version()
        """The metadata version at which there may last have been a topic more."""
        self._news: deque[str] = deque(maxlen=NEWS_MAX)
        self._hashes: dict[str, int] = {}

    def changed(self, names: Collection[str]) -> None:
        """These topics were created, deleted, or given more partitions."""
        for name in names:
            self._hashes.pop(name, None)
            self._news.append(name)
            self.count += 1
        self.grown_at_version = self.topics.version()

    def all_changed(self) -> None:
        """Brokers changed, and with them perhaps the racks of any partition."""
        self._hashes.clear()
        self.count += NEWS_MAX + 1

    def news_since(self, count: int) -> list[str] | None:
        """The topics that changed after the first `count` changes; None if that is not known any more."""
        missed = self.count - count
        if missed > len(self._news):
            return None
        return list(islice(self._news, len(self._news) - missed, None)) if missed else []

    def ids(self, names: Iterable[str]) -> frozenset[bytes]:
        """The ids of those among the topics that exist."""
        found = (self.topics.id_of(name) for name in names)
        return frozenset(topic_id for topic_id in found if topic_id is not None)

    def hash_of(self, names: Iterable[str]) -> int:
        """A hash of everything assignment depends on in these topics; 0 where none of them exists."""
        hashes = [topic_hash for name in sorted(names) if (topic_hash := self._hash(name)) != 0]
        if not hashes:
            return 0
        joined = b"".join(topic_hash.to_bytes(8, "big", signed=True) for topic_hash in hashes)
        return _signed(blake2b(joined, digest_size=8).digest())

    def spec_of(self, name: str, with_racks: bool) -> TopicSpec | None:
        """The topic as an assignor sees it."""
        topic_id = self.topics.id_of(name)
        if topic_id is None:
            return None
        count = self.topics.partition_count(name)
        racks = tuple(self.topics.racks(name, partition) for partition in range(count)) if with_racks else ()
        return TopicSpec(topic_id, count, racks if any(racks) else ())

    def _hash(self, name: str) -> int:
        known = self._hashes.get(name)
        if known is None:
            known = self._hashes[name] = self._compute(name)
        return known

    def _compute(self, name: str) -> int:
        topic_id = self.topics.id_of(name)
        if topic_id is None:
            return 0
        count = self.topics.partition_count(name)
        hasher = blake2b(topic_id + name.encode() + b"\0" + count.to_bytes(4, "big"), digest_size=8)
        for partition in range(count):
            for rack in sorted(self.topics.racks(name, partition)):
                hasher.update(partition.to_bytes(4, "big") + rack.encode() + b"\0")
        return _signed(hasher.digest())


def _signed(digest: bytes) -> int:
    """A hash as the record's field takes it; never 0, which stands for no topics."""
    return int.from_bytes(digest, "big", signed=True) or 1

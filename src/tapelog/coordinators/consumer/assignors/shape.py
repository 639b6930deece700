"""A spec as the uniform assignor works on it: numbers instead of names, and what is alike put together.

Members that subscribe to the same topics are alike, and so are topics that the same members subscribe to: a *pool* is
all partitions of topics that are alike. Any subscriber of a pool may own any of its partitions, so balancing looks at
pools and never at single topics. A group whose members all subscribe alike has one pool, whatever its size.
"""

from __future__ import annotations

from collections.abc import Iterator

from tapelog.coordinators.consumer.assignors.spec import GroupSpec, MemberSpec, Pace

Place = tuple[bytes, int]
"""One partition: topic id and number."""


class Shape:
    """Members and pools, each by number, in an order that only the spec decides. Empty until `gather` is through."""

    def __init__(self, spec: GroupSpec) -> None:
        self.spec = spec
        self.members: list[MemberSpec] = sorted(spec.members, key=lambda member: member.member_id)
        self.pools: list[list[bytes]] = []
        """By pool, its topics in order."""
        self.subscribers: list[list[int]] = []
        """By pool, the members that may own its partitions, in order."""
        self.pool_of: dict[bytes, int] = {}
        """By topic, its pool. Topics that nobody subscribes to have none."""
        self.reach: list[list[int]] = []
        """By member, the pools it subscribes to, in order."""

    def gather(self, pace: Pace) -> Iterator[None]:
        """Find out what is alike."""
        kinds: dict[frozenset[bytes], int] = {}
        kind_of = [kinds.setdefault(member.subscribed, len(kinds)) for member in self.members]
        readers: dict[bytes, list[int]] = {}
        for subscribed, kind in kinds.items():
            for topic_id in sorted(subscribed):
                if topic_id in self.spec.topics:
                    readers.setdefault(topic_id, []).append(kind)
            if pace.spent(len(subscribed)):
                yield
        alike: dict[tuple[int, ...], int] = {}
        for topic_id in sorted(readers):
            pool = alike.setdefault(tuple(readers[topic_id]), len(self.pools))
            if pool == len(self.pools):
                self.pools.append([])
            self.pools[pool].append(topic_id)
            self.pool_of[topic_id] = pool
            if pace.spent(1 + len(readers[topic_id]) // 8):
                yield
        of_kind: list[list[int]] = [[] for _ in kinds]
        for number, kind in enumerate(kind_of):
            of_kind[kind].append(number)
        reach_of_kind: list[list[int]] = [[] for _ in kinds]
        for reading, pool in alike.items():
            self.subscribers.append(sorted(number for kind in reading for number in of_kind[kind]))
            for kind in reading:
                reach_of_kind[kind].append(pool)
            if pace.spent(len(reading) + len(self.subscribers[-1]) // 2):
                yield
        self.reach = [reach_of_kind[kind] for kind in kind_of]

    def partitions(self, pool: int) -> int:
        """How many partitions the pool has."""
        return sum(self.spec.topics[topic_id].partition_count for topic_id in self.pools[pool])

"""Asking a leader where its log begins and ends, for partitions that it called out of range.

Used by `follower.Fetcher`. A fetch that is refused does not say, so ListOffsets does: the earliest and the latest
offset, in the leader epoch that is followed. To a replica the latest is the log's end, not what is committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tapelog.replication.followed import Followed
from tapelog.wire.message import Message
from tapelog.wire.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tapelog.wire.messages.list_offsets_response import ListOffsetsResponse

if TYPE_CHECKING:
    from tapelog.replication.follower import Fetcher

VERSION: Final = 10
LANE: Final = "fetch-ranges"
LATEST: Final = -1
EARLIEST: Final = -2
EARLIEST_LOCAL: Final = -4

Place = tuple[str, int]


class RangeQuestion:
    """Two requests, sent together; the fetcher is told when both are answered. With tiered=True the second is not for
    the end of the leader's log, but for where that begins on the leader's own disk."""

    def __init__(self, fetcher: Fetcher, asked: list[Followed], tiered: bool = False) -> None:
        self.fetcher = fetcher
        self.asked = asked
        self.tiered = tiered
        self.starts: dict[Place, int] = {}
        self.ends: dict[Place, int] = {}
        self._missing = 2

    def ask(self) -> None:
        """Send them."""
        if not self.asked:
            return
        node = self.fetcher.node
        limits = node.limits
        second = EARLIEST_LOCAL if self.tiered else LATEST
        for timestamp, into in ((EARLIEST, self.starts), (second, self.ends)):
            request = ListOffsetsRequest(replica_id=limits.replica_id, timeout_ms=limits.timeout_ms)
            topics: dict[str, ListOffsetsTopic] = {}
            for one in self.asked:
                name = one.partition.topic
                topic = topics.get(name)
                if topic is None:
                    topic = topics[name] = ListOffsetsTopic(name=name)
                    request.topics.append(topic)
                topic.partitions.append(ListOffsetsPartition(one.partition.index, one.leader_epoch, timestamp))

            def done(response: Message | None, into: dict[Place, int] = into) -> None:
                self._answered(response, into)

            node.send(self.fetcher.leader, LANE, request, VERSION, limits.timeout_ms, done)

    def _answered(self, response: Message | None, into: dict[Place, int]) -> None:
        if isinstance(response, ListOffsetsResponse):
            for topic in response.topics:
                for part in topic.partitions:
                    if part.error_code == 0:
                        into[topic.name, part.partition_index] = part.offset
        self._missing -= 1
        if self._missing == 0:
            for one in self.asked:
                place = (one.partition.topic, one.partition.index)
                told = self.fetcher.tiered if self.tiered else self.fetcher.ranged
                told(one, self.starts.get(place, -1), self.ends.get(place, -1))

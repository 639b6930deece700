"""What leaders on other nodes hold of topics with a storage quota: asked for now and then, remembered in between."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from tapelog.wire.message import Message
from tapelog.wire.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from tapelog.wire.messages.describe_log_dirs_response import DescribeLogDirsResponse

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

ASK_MS: Final = 5_000
HASTE_MS: Final = 250
"""The same while a bound is being reached: what comes in between is not counted elsewhere."""
TIMEOUT_MS: Final = 5_000
VERSION: Final = 4
LANE: Final = "sizes"


class QuotaSizes:
    """The last answers of other nodes."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self._sizes: dict[tuple[str, int], int] = {}
        self._asked_ms = -ASK_MS
        self.told_ms = -ASK_MS
        """When that was asked which all of them have answered since."""

    def ask(self, topics: Iterable[str], patience_ms: int = ASK_MS) -> bool:
        """Ask the leaders of these topics' partitions elsewhere, unless that was done not long ago: then False."""
        node = self.node
        now_ms = node.clock.monotonic_ms()
        if node.alone or now_ms - self._asked_ms < patience_ms:
            return False
        self._asked_ms = now_ms
        wanted: dict[int, dict[str, list[int]]] = {}
        known: dict[tuple[str, int], int] = {}
        for name in dict.fromkeys(topics):
            topic = node.image.topics.get(name)
            for index, part in enumerate(topic.partitions if topic is not None else ()):
                if part.leader >= 0 and part.leader != node.node_id:
                    wanted.setdefault(part.leader, {}).setdefault(name, []).append(index)
                    known[name, index] = self._sizes.get((name, index), 0)
        self._sizes = known
        silent = set(wanted)

        def answered(broker: int, response: Message | None) -> None:
            self._answered(response)
            if response is not None:
                silent.discard(broker)
            if not silent:
                self.told_ms = max(self.told_ms, now_ms)

        if not wanted:
            self.told_ms = now_ms
        for broker, topics_there in wanted.items():
            request = DescribeLogDirsRequest(
                topics=[
                    DescribableLogDirTopic(topic=name, partitions=indexes) for name, indexes in topics_there.items()
                ]
            )
            node.to_broker(broker, LANE, request, VERSION, TIMEOUT_MS, partial(answered, broker))
        return True

    def since_ms(self) -> int:
        """How long ago they were asked."""
        return self.node.clock.monotonic_ms() - self._asked_ms

    def elsewhere(self, topics: Iterable[str]) -> int:
        """What they said last."""
        image = self.node.image
        total = 0
        for name in topics:
            topic = image.topics.get(name)
            for index, part in enumerate(topic.partitions if topic is not None else ()):
                if part.leader != self.node.node_id:
                    total += self._sizes.get((name, index), 0)
        return total

    def _answered(self, response: Message | None) -> None:
        if isinstance(response, DescribeLogDirsResponse):
            for result in response.results:
                for topic in result.topics:
                    for part in topic.partitions:
                        if (topic.name, part.partition_index) in self._sizes:
                            self._sizes[topic.name, part.partition_index] = part.partition_size

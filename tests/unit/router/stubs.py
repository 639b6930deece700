"""A session of the router whose nodes are coroutines in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tapelog.router.catalogue import Catalogue
from tapelog.router.frames import Call, request_frame
from tapelog.router.session import Self
from tapelog.router.upstream import NodeLostError
from tapelog.wire.message import Message
from tapelog.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

Node = Callable[[Call], Awaitable[Message | None]]


class StubLane:
    """Answers by calling a node; None is an end without an answer."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.closed = False
        self.busy = False

    def send(self, frame: bytes) -> asyncio.Future[bytes]:
        async def run() -> bytes:
            call = Call(frame[4:])
            answer = await self._node(call)
            if answer is None:
                raise NodeLostError("a stub", sent=True)
            return call.reply(answer)[4:]

        return asyncio.ensure_future(run())

    def send_unanswered(self, frame: bytes) -> None:
        self.send(frame)

    async def drain(self) -> None: ...


class StubSession:
    """One topic `t`, partition i led by node i + 1. A node that is None cannot be connected to."""

    def __init__(self, *nodes: Node | None) -> None:
        self.catalogue = Catalogue([])
        self.me = Self(1, "router", 9192)
        self.relay: Any = None
        self._nodes = dict(enumerate(nodes, 1))
        self.dropped: list[int] = []
        parts = [
            MetadataResponsePartition(partition_index=number - 1, leader_id=number, leader_epoch=1)
            for number in self._nodes
        ]
        brokers = [MetadataResponseBroker(number, "h", number) for number in self._nodes]
        topic = MetadataResponseTopic(name="t", topic_id=b"\7" * 16, partitions=parts)
        self.told = MetadataResponse(brokers=brokers, topics=[topic])
        self.catalogue.learn(self.told)
        self.catalogue.ask = self._metadata  # type: ignore[method-assign]

    async def _metadata(self, request: Message, version: int) -> Message:
        return self.told

    async def open_lane(self, node: int) -> StubLane:
        found = self._nodes.get(node)
        if found is None:
            raise NodeLostError(f"node {node}", sent=False)
        return StubLane(found)

    lane = open_lane

    async def ask(self, node: int, frame: bytes) -> bytes:
        return await (await self.open_lane(node)).send(frame)

    def drop(self, node: int) -> None:
        self.dropped.append(node)


def call(request: Message, version: int) -> Call:
    """A client's request."""
    return Call(request_frame(request, version, 7, "client")[4:])

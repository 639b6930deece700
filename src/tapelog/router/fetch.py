"""Fetch: asks every leader, answers as soon as one has something, and keeps what comes too late for the next fetch.

A client that reads partitions of several leaders sends one Fetch, which each leader would hold until it has data or
max.wait is over. Waiting for all of them would delay records that are there, so the first leader with data is enough:
the others' partitions are answered as empty, their requests go on, and what they bring is kept for the client's next
fetch, if that asks for the same offsets. Clients get no fetch sessions: every fetch names all its partitions.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tapelog.router import split
from tapelog.router.catalogue import Key
from tapelog.router.frames import Call, changed
from tapelog.router.split import NOBODY, Shape
from tapelog.router.upstream import Lane, NodeLostError
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.fetch_request import FetchRequest
from tapelog.wire.messages.fetch_response import (
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from tapelog.wire.values import Slice

if TYPE_CHECKING:
    from tapelog.router.session import Session

SHAPE = Shape(
    "topics", "topic", "partitions", "partition", "responses", "partitions", "partition_index", topic_id="topic_id"
)
KEPT_BYTES_MAX = 32 * 1024 * 1024
"""Of late answers, for one client; beyond it they are asked for again."""
LANES_MAX = 4
"""Connections for fetches from one client to one node: one, and more while a fetch of other offsets is held there."""
LATE_S = 1.0

Place = tuple[Key, int]
Asked = tuple[int, int, int]
"""What makes an answer fit a question: fetch offset, leader epoch, isolation level."""


class Ask:
    """One Fetch under way at one node."""

    __slots__ = ("answer", "covers", "node", "task", "topics", "version")

    def __init__(
        self, node: int, covers: dict[Place, Asked], topics: list[tuple[Any, list[Any]]], version: int
    ) -> None:
        self.node = node
        self.covers = covers
        self.topics = topics
        self.version = version
        self.answer: dict[Place, PartitionData] = {}
        self.task: asyncio.Task[None] | None = None


class Relay:
    """The fetches of one client."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._under_way: list[Ask] = []
        self._lanes: dict[int, list[Lane]] = {}
        self._kept: dict[Place, tuple[Asked, PartitionData]] = {}
        self._kept_bytes = 0
        self._high_watermarks: dict[Place, tuple[int, int]] = {}

    async def fetch(self, call: Call) -> bytes:
        """Answer one Fetch."""
        request: FetchRequest = call.decode()
        if request.session_id:
            return call.reply(FetchResponse(error_code=int(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)))
        parts = await split.by_leader(self._session, SHAPE, request)
        found: dict[Place, PartitionData] = {}
        wanted: dict[Place, Asked] = {}
        asks: list[Ask] = []
        for node, topics in parts.items():
            if node == NOBODY:
                for topic, partitions in topics:
                    code = split.missing(self._session, SHAPE.key(topic))
                    for part in partitions:
                        found[SHAPE.key(topic), part.partition] = _refused(part.partition, code)
            else:
                asks += self._asks_for(call, request, node, topics, wanted, found)
        await self._wait(asks, wanted, found, request.max_wait_ms)
        return call.reply(self._response(call, request, found))

    def _asks_for(
        self,
        call: Call,
        request: FetchRequest,
        node: int,
        topics: list[tuple[Any, list[Any]]],
        wanted: dict[Place, Asked],
        found: dict[Place, PartitionData],
    ) -> list[Ask]:
        """What is under way or must be asked at this node; what came late for an earlier fetch is taken at once."""
        asks: dict[int, Ask] = {}
        to_ask: list[tuple[Any, list[Any]]] = []
        covers: dict[Place, Asked] = {}
        for topic, partitions in topics:
            key = SHAPE.key(topic)
            left = []
            for part in partitions:
                place = key, part.partition
                asked = part.fetch_offset, part.current_leader_epoch, request.isolation_level
                wanted[place] = asked
                kept = self._take(place, asked)
                if kept is not None:
                    found[place] = kept
                    continue
                running = self._running(node, place, asked)
                if running is not None:
                    asks[id(running)] = running
                else:
                    left.append(part)
                    covers[place] = asked
            if left:
                to_ask.append((topic, left))
        if to_ask:
            ask = Ask(node, covers, to_ask, call.version)
            part = changed(
                split.sub_request(SHAPE, request, to_ask), rack_id="", session_epoch=-1, forgotten_topics_data=[]
            )
            ask.task = asyncio.create_task(self._run(ask, call, part))
            self._under_way.append(ask)
            asks[id(ask)] = ask
        return list(asks.values())

    def _running(self, node: int, place: Place, asked: Asked) -> Ask | None:
        return next((one for one in self._under_way if one.node == node and one.covers.get(place) == asked), None)

    async def _run(self, ask: Ask, call: Call, request: FetchRequest) -> None:
        """Ask, and turn the answer into partitions; a node that is lost has refused them all."""
        session = self._session
        try:
            lane = await self._lane(ask.node)
            answer: FetchResponse = call.answer(await lane.send(call.encode(request)))
            if answer.error_code:
                raise NodeLostError(f"node {ask.node}", sent=True)
            for topic in answer.responses:
                key = SHAPE.key(topic)
                for part in topic.partitions:
                    self._looked_through(key, part)
                    ask.answer[key, part.partition_index] = part
        except NodeLostError:
            session.catalogue.doubt_node(ask.node)
            for topic, partitions in ask.topics:
                for part in partitions:
                    place = SHAPE.key(topic), part.partition
                    ask.answer[place] = _refused(part.partition, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    async def _lane(self, node: int) -> Lane:
        """One that is free, or another one, or if there are many the last of them: behind what is held there."""
        lanes = self._lanes.setdefault(node, [])
        lanes[:] = [lane for lane in lanes if not lane.closed]
        free = next((lane for lane in lanes if not lane.busy), None)
        if free is not None:
            return free
        if len(lanes) >= LANES_MAX:
            return lanes[-1]
        lane = await self._session.open_lane(node)
        lanes.append(lane)
        return lane

    def _looked_through(self, key: Key, part: PartitionData) -> None:
        session = self._session
        if part.error_code in split.MOVED:
            session.catalogue.doubt(key, part.partition_index)
        leader = part.current_leader
        if leader is not None and leader.leader_id >= 0:
            session.catalogue.learn_leader(key, part.partition_index, leader.leader_epoch, leader.leader_id)
            part.current_leader = LeaderIdAndEpoch(session.me.node_id, leader.leader_epoch)
        part.preferred_read_replica = -1
        if part.error_code == 0:
            self._high_watermarks[key, part.partition_index] = part.high_watermark, part.last_stable_offset

    async def _wait(
        self, asks: list[Ask], wanted: dict[Place, Asked], found: dict[Place, PartitionData], max_wait_ms: int
    ) -> None:
        """Until one node has answered, or the time is over. An empty answer counts, too: that node must be asked again,
        and the client's next fetch does so, while the other nodes' requests go on."""
        self._gather(wanted, found)
        tasks = [one.task for one in asks if one.task is not None and one in self._under_way]
        if tasks and len(tasks) == len(asks) and not any(map(_says_something, found.values())):
            limit_s = max_wait_ms / 1000 + LATE_S
            await asyncio.wait(tasks, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
            self._gather(wanted, found)

    def _gather(self, wanted: dict[Place, Asked], found: dict[Place, PartitionData]) -> None:
        for ask in [one for one in self._under_way if one.task is not None and one.task.done()]:
            self._under_way.remove(ask)
            if ask.task is not None and not ask.task.cancelled():
                ask.task.result()
            self._sort(ask, wanted, found)

    def _sort(self, ask: Ask, wanted: dict[Place, Asked], found: dict[Place, PartitionData]) -> None:
        """Answers that were waited for, and answers that came late: those with records are kept."""
        for place, part in ask.answer.items():
            asked = ask.covers.get(place)
            if asked is None:
                continue
            if wanted.get(place) == asked and place not in found:
                found[place] = part
            elif place not in wanted and _size(part) and self._kept_bytes + _size(part) <= KEPT_BYTES_MAX:
                self._take(place, asked)
                self._kept[place] = asked, part
                self._kept_bytes += _size(part)

    def _take(self, place: Place, asked: Asked) -> PartitionData | None:
        """What was kept for a partition, if it fits the question; it is forgotten either way."""
        kept = self._kept.pop(place, None)
        if kept is None:
            return None
        self._kept_bytes -= _size(kept[1])
        return kept[1] if kept[0] == asked else None

    def _response(self, call: Call, request: FetchRequest, found: dict[Place, PartitionData]) -> FetchResponse:
        """All partitions of the request, in its order; those without an answer as empty."""
        topics = []
        for topic in request.topics:
            key = SHAPE.key(topic)
            parts = [found.get((key, part.partition)) or self._empty(key, part) for part in topic.partitions]
            topics.append(FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=parts))
        response = FetchResponse(responses=topics)
        if call.version >= 16 and any(part.current_leader for topic in topics for part in topic.partitions):
            me = self._session.me
            response.node_endpoints = [NodeEndpoint(me.node_id, me.host, me.port, None)]
        return response

    def _empty(self, key: Key, part: Any) -> PartitionData:
        high_watermark, stable = self._high_watermarks.get((key, part.partition), (-1, -1))
        return PartitionData(
            partition_index=part.partition,
            high_watermark=high_watermark,
            last_stable_offset=stable,
            log_start_offset=-1,
            aborted_transactions=None,
            records=b"",
        )

    def close(self) -> None:
        """The client has gone."""
        for ask in self._under_way:
            if ask.task is not None:
                ask.task.cancel()


def _refused(partition: int, code: ErrorCode) -> PartitionData:
    return PartitionData(
        partition_index=partition, error_code=int(code), high_watermark=-1, aborted_transactions=None, records=b""
    )


def _size(part: PartitionData) -> int:
    return len(part.records) if isinstance(part.records, Slice | bytes) else 0


def _says_something(part: PartitionData) -> bool:
    return part.error_code != 0 or _size(part) > 0 or part.diverging_epoch is not None


async def handle(session: Session, call: Call) -> bytes:
    """Fetch, by the session's relay."""
    if session.relay is None:
        session.relay = Relay(session)
    relay: Relay = session.relay
    return await relay.fetch(call)

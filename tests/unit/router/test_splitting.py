"""Requests split by leader: every part to its node, one answer of all, refusals that clients can act on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tapelog.router import fetch, produce
from tapelog.router.frames import Call, decoded
from tapelog.router.routes import HANDLERS, PASSED
from tapelog.wire.api_keys import ApiKey
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages.api_versions_request import ApiVersionsRequest
from tapelog.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tapelog.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from tapelog.wire.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tapelog.wire.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tapelog.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tapelog.wire.messages.produce_response import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from tests.unit.router.stubs import Node, StubSession, call


def takes(offset: int, error: ErrorCode = ErrorCode.NONE) -> Node:
    """A node that answers every partition it is sent."""

    async def node(asked: Call) -> Message:
        (topic,) = asked.decode().topic_data
        parts = [
            PartitionProduceResponse(index=one.index, error_code=int(error), base_offset=offset)
            for one in topic.partition_data
        ]
        return ProduceResponse(responses=[TopicProduceResponse(name=topic.name, partition_responses=parts)])

    return node


async def vanishes(asked: Call) -> None:
    """A node that ends without an answer."""
    return None


def produced(session: StubSession, *indexes: int, acks: int = -1) -> dict[int, int] | None:
    parts = [PartitionProduceData(index, b"batch") for index in indexes]
    request = ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[TopicProduceData("t", partition_data=parts)])

    async def run() -> bytes | None:
        return await (await produce.start(session, call(request, 9)))  # type: ignore[arg-type]

    frame = asyncio.run(run())
    if frame is None:
        return None
    (topic,) = decoded(frame[4:], ApiKey.PRODUCE, 9).responses
    return {part.index: part.error_code or part.base_offset * -1 for part in topic.partition_responses}


def test_each_leader_gets_its_part_and_the_client_one_answer() -> None:
    assert produced(StubSession(takes(10), takes(20)), 0, 1) == {0: -10, 1: -20}
    assert produced(StubSession(takes(10), takes(20)), 1) == {1: -20}


def test_a_part_that_was_not_sent_and_one_that_may_have_been_are_refused_differently() -> None:
    assert produced(StubSession(takes(10), None), 0, 1) == {0: -10, 1: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    assert produced(StubSession(takes(10), vanishes), 0, 1) == {0: -10, 1: ErrorCode.REQUEST_TIMED_OUT}


def test_after_a_refusal_the_leader_is_asked_for_again() -> None:
    session = StubSession(takes(0, ErrorCode.NOT_LEADER_OR_FOLLOWER), takes(20))
    assert produced(session, 0) == {0: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    assert session.catalogue.leader("t", 0) == -1
    assert session.catalogue.leader("t", 1) == 2


def test_partitions_nobody_knows_are_told_as_such() -> None:
    assert produced(StubSession(takes(10)), 0, 5) == {0: -10, 5: ErrorCode.NOT_LEADER_OR_FOLLOWER}


def test_without_acknowledgement_there_is_no_answer() -> None:
    assert produced(StubSession(takes(10), takes(20)), 0, 1, acks=0) is None


def test_offsets_are_asked_of_every_leader() -> None:
    def ends(offset: int) -> Node:
        async def node(asked: Call) -> Message:
            (topic,) = asked.decode().topics
            parts = [ListOffsetsPartitionResponse(one.partition_index, offset=offset) for one in topic.partitions]
            return ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", parts)])

        return node

    wanted = [ListOffsetsPartition(index, timestamp=-1) for index in (0, 1, 2)]
    request = ListOffsetsRequest(topics=[ListOffsetsTopic("t", wanted)])
    session: Any = StubSession(ends(5), ends(6), None)
    frame = asyncio.run(HANDLERS[ApiKey.LIST_OFFSETS](session, call(request, 7)))
    assert frame is not None
    (topic,) = decoded(frame[4:], ApiKey.LIST_OFFSETS, 7).topics
    assert {one.partition_index: one.error_code or one.offset for one in topic.partitions} == {0: 5, 1: 6, 2: 6}
    assert topic.partitions[2].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER == 6


class Leader:
    """A node that has records for a fetch when told so, and holds it until then."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.records: asyncio.Queue[bytes] = asyncio.Queue()

    async def __call__(self, asked: Call) -> Message:
        (topic,) = asked.decode().topics
        self.asked.append(topic.partitions[0].fetch_offset)
        records = await self.records.get()
        part = PartitionData(partition_index=topic.partitions[0].partition, high_watermark=9, records=records)
        return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[part])])


async def let_run() -> None:
    """Everybody goes on as far as he can, however long the machine takes for it."""
    for _ in range(50):
        await asyncio.sleep(0)


async def fetched(session: Any, *offsets: int) -> dict[int, bytes]:
    parts = [FetchPartition(index, fetch_offset=offset) for index, offset in enumerate(offsets)]
    request = FetchRequest(max_wait_ms=50, min_bytes=1, topics=[FetchTopic("t", partitions=parts)])
    frame = await fetch.handle(session, call(request, 11))
    answer = decoded(frame[4:], ApiKey.FETCH, 11)
    assert answer.error_code == 0 and answer.session_id == 0
    (topic,) = answer.responses
    return {part.partition_index: part.records.tobytes() for part in topic.partitions}


def test_the_first_leader_with_records_is_enough_and_late_ones_are_kept_for_the_next_fetch() -> None:
    async def run() -> None:
        one, two = Leader(), Leader()
        session = StubSession(one, two)
        one.records.put_nowait(b"early")
        assert await fetched(session, 0, 0) == {0: b"early", 1: b""}
        two.records.put_nowait(b"late")
        await let_run()
        assert await fetched(session, 5, 0) == {0: b"", 1: b"late"}
        assert two.asked == [0], "it was not asked twice"
        await let_run()
        assert one.asked == [0, 5]
        session.relay.close()

    asyncio.run(run())


def test_what_came_late_for_another_offset_is_not_given() -> None:
    async def run() -> None:
        one, two = Leader(), Leader()
        session = StubSession(one, two)
        one.records.put_nowait(b"early")
        await fetched(session, 0, 0)
        two.records.put_nowait(b"of offset 0")
        two.records.put_nowait(b"of offset 3")
        await let_run()
        assert await fetched(session, 5, 3) == {0: b"", 1: b"of offset 3"}
        session.relay.close()

    asyncio.run(run())


def test_a_client_that_insists_on_a_fetch_session_gets_none() -> None:
    request = FetchRequest(session_id=5, session_epoch=3)
    session: Any = StubSession()
    frame = asyncio.run(fetch.handle(session, call(request, 11)))
    assert decoded(frame[4:], ApiKey.FETCH, 11).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize("version", [0, 3, 4])
def test_what_is_offered_is_what_all_nodes_serve_and_the_router_understands(version: int) -> None:
    session: Any = StubSession()
    session.catalogue.versions = {
        ApiKey.PRODUCE: (0, 99),
        ApiKey.CREATE_TOPICS: (2, 99),
        ApiKey.SHARE_FETCH: (1, 1),
        ApiKey.API_VERSIONS: (0, 4),
    }
    frame = asyncio.run(HANDLERS[ApiKey.API_VERSIONS](session, call(ApiVersionsRequest("c", "1"), version)))
    assert frame is not None
    offered = {one.api_key: one.max_version for one in decoded(frame[4:], ApiKey.API_VERSIONS, version).api_keys}
    assert offered == {ApiKey.PRODUCE: ProduceRequest.STABLE_MAX, ApiKey.CREATE_TOPICS: 99, ApiKey.API_VERSIONS: 4}
    assert ApiKey.CREATE_TOPICS in PASSED, "what is passed on unread may be newer than the router"

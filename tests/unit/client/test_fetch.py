"""Reading a range: one Fetch ahead, gaps, cut batches, leaders and followers, offsets that are gone."""

from __future__ import annotations

import threading

import pytest

from tapelog.client.cluster import UNKNOWN_TOPIC_SECONDS, Cluster
from tapelog.client.errors import (
    DeadlineError,
    OffsetOutOfRangeError,
    ProtocolError,
    RecreatedTopicError,
    RefusedError,
    UnknownTopicError,
)
from tapelog.client.fetch import fetch_range
from tapelog.client.fetched import Fetched
from tapelog.client.offsets import READ_COMMITTED
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages.fetch_request import FetchRequest
from tapelog.wire.messages.fetch_response import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from tapelog.wire.messages.list_offsets_request import ListOffsetsRequest
from tapelog.wire.messages.metadata_request import MetadataRequest
from tapelog.wire.record_batch import batches
from tests.unit.client.fake_broker import Answer, versions
from tests.unit.client.fake_cluster import TOPIC, TOPIC_ID, FakeCluster, batch


def read(cluster: Cluster, start: int, until: int, **more: int) -> list[Fetched]:
    return list(fetch_range(cluster, TOPIC, 0, start, until, **more))


def offsets(found: list[Fetched]) -> list[int]:
    """The base offsets of all batches, in order."""
    return [header.base_offset for one in found for header in batches(one.buf, one.start, one.end)]


def positions(fake: FakeCluster) -> list[int]:
    """The offsets that were asked for."""
    return [one.topics[0].partitions[0].fetch_offset for one in fake.asked(FetchRequest)]  # type: ignore[attr-defined]


def test_a_range_is_read_to_its_end_and_no_further() -> None:
    with FakeCluster() as fake:
        fake.add(*[batch(10 * n, 10) for n in range(6)])
        size = len(batch(0, 10))
        found = read(fake.connect(), 5, 40, fetch_bytes=2 * size + 5)
        assert offsets(found) == [0, 10, 20, 30]
        assert [one.next_offset for one in found] == [20, 40]
        assert positions(fake) == [5, 20]
        assert [(one.high_watermark, one.log_start_offset) for one in found] == [(60, 0)] * 2
        assert read(fake.connect(), 7, 7) == []


def test_the_next_fetch_is_sent_before_the_last_answer_is_handed_over() -> None:
    arrived = threading.Event()

    def watch(node: int, request: Message, version: int) -> Answer | NotImplementedError:
        if isinstance(request, FetchRequest) and request.topics[0].partitions[0].fetch_offset == 10:
            arrived.set()
        return NotImplementedError()

    with FakeCluster() as fake:
        fake.extra = watch
        fake.add(batch(0, 10), batch(10, 10))
        reading = fetch_range(fake.connect(), TOPIC, 0, 0, 20, fetch_bytes=len(batch(0, 10)))
        assert next(reading).next_offset == 10
        assert arrived.wait(30)
        assert next(reading).next_offset == 20
        assert next(reading, None) is None


def test_a_cut_batch_is_left_outside_and_a_large_one_asked_for_again_with_more() -> None:
    with FakeCluster() as fake:
        fake.add(batch(0), batch(1, size=5000))
        first = len(batch(0))
        found = read(fake.connect(), 0, 2, fetch_bytes=first + 30)
        assert [one.end - one.start for one in found] == [first, len(batch(1, size=5000))]
        sizes = [one.topics[0].partitions[0].partition_max_bytes for one in fake.asked(FetchRequest)]  # type: ignore[attr-defined]
        assert sizes == [first + 30, first + 30, len(batch(1, size=5000))]


def test_a_gap_at_the_end_is_passed_over_only_when_the_broker_has_it_all_on_its_disk() -> None:
    with FakeCluster() as fake:
        fake.add(batch(0, 10))
        fake.end = 30
        found = read(fake.connect(), 0, 25)
        assert [(one.next_offset, one.end - one.start > 0) for one in found] == [(10, True), (25, False)]
        # the same emptiness where history is tiered: it may come yet
        fake.local_start = 20
        cluster = fake.connect(api_timeout_ms=900)
        with pytest.raises(DeadlineError, match="does not give what it has at 10"):
            read(cluster, 10, 25)
        # an old broker knows no tier
        fake.local_start = 0
        fake.brokers[1].about = versions({1: (4, 11), 2: (1, 5), 3: (0, 8)})
        assert [one.next_offset for one in read(fake.connect(), 10, 25)] == [25]
        assert fake.asked(ListOffsetsRequest)


def test_aborted_transactions_and_the_isolation_level_travel() -> None:
    def answer(node: int, request: Message, version: int) -> Answer | NotImplementedError:
        if not isinstance(request, FetchRequest):
            return NotImplementedError()
        part = PartitionData(0, 0, 9, 8, 0, [AbortedTransaction(7, 3), AbortedTransaction(8, 5)], records=batch(0, 9))
        topic = request.topics[0]
        return FetchResponse(responses=[FetchableTopicResponse(topic.topic, topic.topic_id, [part])])

    with FakeCluster() as fake:
        fake.extra = answer
        (found,) = read(fake.connect(), 0, 9, isolation=READ_COMMITTED)
        assert found.aborted == ((7, 3), (8, 5)) and found.last_stable_offset == 8
        assert fake.asked(FetchRequest)[0].isolation_level == READ_COMMITTED  # type: ignore[attr-defined]


def test_topics_are_named_where_there_are_no_ids() -> None:
    with FakeCluster() as fake:
        fake.add(batch(0))
        fake.topic_id = bytes(16)
        assert offsets(read(fake.connect(), 0, 1)) == [0]
        assert fake.brokers[1].asked[-1][1] == 12
        assert fake.brokers[1].asked[-1][0].topics[0].topic == TOPIC  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ],
)
def test_what_passes_is_tried_again_at_the_same_offset(code: ErrorCode) -> None:
    with FakeCluster() as fake:
        fake.add(batch(0, 5))
        fake.errors = [(FetchRequest, code)] * 2
        assert offsets(read(fake.connect(), 2, 5)) == [0]
        assert positions(fake) == [2, 2, 2]
        assert len(fake.asked(MetadataRequest)) == 3


def test_a_connection_lost_with_a_fetch_in_flight_costs_no_record_and_repeats_none() -> None:
    with FakeCluster() as fake:
        fake.add(*[batch(10 * n, 10) for n in range(4)])
        reading = fetch_range(fake.connect(), TOPIC, 0, 0, 40, fetch_bytes=len(batch(0, 10)))
        found = [next(reading)]
        fake.brokers[1].drop()
        found += reading
        assert offsets(found) == [0, 10, 20, 30]


def test_offsets_that_are_gone_and_offsets_that_are_not_there_yet_are_told_apart() -> None:
    with FakeCluster() as fake:
        fake.start, fake.end = 100, 200
        cluster = fake.connect()
        with pytest.raises(OffsetOutOfRangeError, match="has been deleted") as caught:
            read(cluster, 5, 150)
        error = caught.value
        assert (error.below, error.offset, error.log_start_offset, error.end_offset) == (True, 5, 100, 200)
        with pytest.raises(OffsetOutOfRangeError, match="does not exist") as caught:
            read(cluster, 300, 400)
        assert not caught.value.below


def test_an_offset_that_is_there_after_all_is_asked_for_again() -> None:
    with FakeCluster() as fake:
        fake.add(batch(0, 5))
        fake.errors = [(FetchRequest, ErrorCode.OFFSET_OUT_OF_RANGE)]
        assert offsets(read(fake.connect(), 0, 5)) == [0]


def test_records_that_are_not_written_are_waited_for_until_the_deadline() -> None:
    with FakeCluster() as fake:
        fake.add(batch(0, 5))
        fake.stable = 3
        with pytest.raises(DeadlineError, match="orders-0 ends at 3, before 9"):
            read(fake.connect(api_timeout_ms=900), 5, 9, isolation=READ_COMMITTED)
        with pytest.raises(DeadlineError, match=r"within 0\.7 s"):
            read(fake.connect(), 5, 9, isolation=READ_COMMITTED, patience_ms=700)


def test_the_nearest_replica_is_read_from_and_left_when_it_lags() -> None:
    with FakeCluster(brokers=2) as fake:
        fake.add(batch(0, 5), batch(5, 5))
        fake.preferred = 2
        cluster = fake.connect(client_rack="b")
        assert offsets(read(cluster, 0, 10, fetch_bytes=len(batch(0, 5)))) == [0, 5]
        first, *others = [one for one, _ in fake.brokers[1].asked if isinstance(one, FetchRequest)]
        assert first.rack_id == "b" and others == []
        assert len([one for one, _ in fake.brokers[2].asked if isinstance(one, FetchRequest)]) == 2
        # a follower that has not got the offset yet: its leader is asked
        fake.brokers[2].stop()
        leader = {"asked": 0}

        def only_once(node: int, request: Message, version: int) -> Answer | NotImplementedError:
            if isinstance(request, FetchRequest):
                leader["asked"] += 1
                fake.preferred = 2 if leader["asked"] == 1 else -1
            return NotImplementedError()

        fake.extra = only_once
        assert offsets(read(fake.connect(), 0, 10)) == [0, 5]


def test_a_follower_that_does_not_have_the_offset_is_left_for_its_leader() -> None:
    def lagging(node: int, request: Message, version: int) -> Answer | NotImplementedError:
        if not isinstance(request, FetchRequest) or node == 1:
            return NotImplementedError()
        fake.preferred = -1
        told = PartitionData(0, ErrorCode.OFFSET_OUT_OF_RANGE)
        return FetchResponse(responses=[FetchableTopicResponse("", request.topics[0].topic_id, [told])])

    with FakeCluster(brokers=2) as fake:
        fake.add(batch(0, 5))
        fake.preferred = 2
        fake.extra = lagging
        assert offsets(read(fake.connect(client_rack="b"), 0, 5)) == [0]
        assert len(fake.asked(FetchRequest)) == 3 and fake.pace.slept == []


ANOTHER = b"another-topic-id"


@pytest.mark.parametrize("named", [b"", ANOTHER])
def test_a_topic_made_anew_since_its_metadata_was_asked_for_is_read(named: bytes) -> None:
    with FakeCluster() as fake:
        cluster = fake.connect()
        cluster.topic(TOPIC)
        fake.topic_id = ANOTHER
        fake.add(batch(0, 5))
        assert offsets(list(fetch_range(cluster, TOPIC, 0, 0, 5, topic_id=named))) == [0]


def test_a_topic_with_another_id_than_the_one_asked_for_is_not_read() -> None:
    with FakeCluster() as fake:
        fake.add(batch(0, 5))
        with pytest.raises(RecreatedTopicError, match="topic orders was deleted and made anew"):
            list(fetch_range(fake.connect(), TOPIC, 0, 0, 5, topic_id=ANOTHER))
        assert not fake.asked(FetchRequest)
        assert sum(fake.pace.slept) <= UNKNOWN_TOPIC_SECONDS, "metadata of a broker may be a moment old, no longer"


def test_where_topics_have_no_ids_none_is_compared() -> None:
    with FakeCluster() as fake:
        fake.add(batch(0, 5))
        fake.topic_id = bytes(16)
        assert offsets(list(fetch_range(fake.connect(), TOPIC, 0, 0, 5, topic_id=ANOTHER))) == [0]


def test_a_topic_made_anew_while_it_is_read_is_not_read_on() -> None:
    with FakeCluster() as fake:
        fake.add(batch(0, 5), batch(5, 5), batch(10, 5))
        reading = fetch_range(fake.connect(), TOPIC, 0, 0, 15, fetch_bytes=len(batch(0, 5)))
        next(reading)
        fake.topic_id = ANOTHER
        fake.brokers[1].drop()
        with pytest.raises(UnknownTopicError, match="made anew"):
            list(reading)  # the answer that was under way may still come


def by_name(fake: FakeCluster) -> FakeCluster:
    """Brokers of Kafka 2.8 to 3.0: metadata has ids, Fetch names topics."""
    for broker in fake.brokers.values():
        broker.about = versions({1: (4, 12), 2: (1, 7), 3: (0, 12)})
    return fake


def read_by_id(cluster: Cluster, start: int, until: int, **more: int) -> list[Fetched]:
    return list(fetch_range(cluster, TOPIC, 0, start, until, topic_id=TOPIC_ID, **more))


def test_where_fetch_goes_by_name_a_range_is_read_and_the_id_compared_twice() -> None:
    with by_name(FakeCluster()) as fake:
        cluster = fake.connect()
        fake.add(batch(0, 5), batch(5, 5))
        cluster.topic(TOPIC)
        assert offsets(read_by_id(cluster, 0, 10, fetch_bytes=len(batch(0, 5)))) == [0, 5]
        assert {version for one, version in fake.brokers[1].asked if isinstance(one, FetchRequest)} == {12}
        assert len(fake.asked(MetadataRequest)) == 3, "what is cached, before the first Fetch, after the last answer"


def test_where_fetch_goes_by_name_old_metadata_does_not_hide_a_topic_made_anew() -> None:
    with by_name(FakeCluster()) as fake:
        cluster = fake.connect()
        cluster.topic(TOPIC)
        fake.topic_id = ANOTHER
        fake.add(batch(0, 5))
        with pytest.raises(RecreatedTopicError, match="topic orders was deleted and made anew"):
            read_by_id(cluster, 0, 5)
        assert not fake.asked(FetchRequest)


@pytest.mark.parametrize("emptied", [False, True])
def test_where_fetch_goes_by_name_a_topic_made_anew_during_the_range_is_noticed(emptied: bool) -> None:
    def made_anew(node: int, request: Message, version: int) -> Answer | NotImplementedError:
        if isinstance(request, FetchRequest):
            fake.topic_id = ANOTHER
            if emptied:
                fake.log, fake.end = [], 0
        return NotImplementedError()

    with by_name(FakeCluster()) as fake:
        fake.extra = made_anew
        fake.add(batch(0, 5), batch(5, 5))
        with pytest.raises(RecreatedTopicError, match="topic orders was deleted and made anew"):
            read_by_id(fake.connect(), 5, 10)


@pytest.mark.parametrize(
    ("records", "why"),
    [
        (batch(0)[:16] + b"\x01" + batch(0)[17:], "format"),
        (batch(0)[:8] + b"\x00\x00\x00\x05" + batch(0)[12:], "batch of 17 bytes"),
        (batch(0)[:8] + b"\xff\xff\xff\xff" + batch(0)[12:], "batch of 11 bytes"),
        (batch(0), "before 3"),
    ],
)
def test_nonsense_is_refused_and_never_loops(records: bytes, why: str) -> None:
    with FakeCluster() as fake:
        fake.log = [(3, records)]
        fake.end = 9
        fake.read = lambda offset, size: records  # type: ignore[method-assign]
        with pytest.raises(ProtocolError, match=why):
            read(fake.connect(), 3, 9)


def test_what_we_may_not_read_is_told_at_once() -> None:
    with FakeCluster() as fake:
        fake.add(batch(0))
        fake.errors = [(FetchRequest, ErrorCode.TOPIC_AUTHORIZATION_FAILED)]
        with pytest.raises(RefusedError, match="read orders-0"):
            read(fake.connect(), 0, 1)

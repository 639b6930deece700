"""Produce: what is acknowledged and when, what is refused and how, in which order answers leave."""

from __future__ import annotations

import struct
import zlib

import pytest

from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.metadata_request import MetadataRequest
from tapelog.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tapelog.wire.record_batch import Record, build_batch
from tests.support.rig import TOPIC, Rig, produce_request

UNKNOWN_ID = b"\7" * 16


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.create(partitions=3)
    return rig


def message_v1(value: bytes, magic: int = 1) -> bytes:
    """An old message, as clients before Kafka 0.11 sent them."""
    stamp = struct.pack(">q", 0x18BFFFFFFFF) if magic else b""
    body = struct.pack(">bb", magic, 0) + stamp + struct.pack(">ii", -1, len(value)) + value
    message = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", 0, len(message)) + message


# -- acknowledgements


@pytest.mark.parametrize("version", range(3, 13))
@pytest.mark.parametrize("acks", [1, -1])
def test_offsets_count_up_from_zero_in_every_version(rig: Rig, acks: int, version: int) -> None:
    assert rig.produce(rig.batch(b"a", b"b"), acks=acks, version=version).base_offset == 0
    answer = rig.produce(rig.batch(b"c"), acks=acks, version=version)
    assert (answer.error_code, answer.base_offset, answer.log_append_time_ms) == (0, 2, -1)
    assert rig.values() == [b"a", b"b", b"c"]


def test_topics_are_named_by_id_from_version_13(rig: Rig) -> None:
    request = produce_request((rig.topic_id(), 0, rig.batch(b"a")), (UNKNOWN_ID, 0, rig.batch(b"b")))
    answers = rig.client.call(request, 13).responses
    assert [topic.topic_id for topic in answers] == [rig.topic_id(), UNKNOWN_ID]
    assert [topic.partition_responses[0].error_code for topic in answers] == [0, ErrorCode.UNKNOWN_TOPIC_ID]
    assert rig.values() == [b"a"]


def test_with_acks_zero_there_is_no_answer_and_the_record_is_there(rig: Rig) -> None:
    rig.client.send(produce_request((TOPIC, 0, rig.batch(b"a")), acks=0), 9, None)
    rig.client.send(produce_request((TOPIC, 0, rig.batch(b"b")), acks=0), 9, None)
    assert rig.produce(rig.batch(b"c")).base_offset == 2
    assert rig.values() == [b"a", b"b", b"c"]


def test_with_acks_zero_an_error_closes_the_connection(rig: Rig) -> None:
    rig.client.send(produce_request(("nothing", 0, rig.batch(b"a")), acks=0), 9, None)
    assert rig.client.connection.closed


@pytest.mark.parametrize("acks", [2, -2, 32767])
def test_other_acks_are_refused_and_nothing_is_written(rig: Rig, acks: int) -> None:
    assert rig.produce(acks=acks).error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert rig.partition().log.end_offset == 0


@pytest.mark.parametrize("acks", [1, -1])
def test_nothing_is_acknowledged_or_readable_before_the_flush(rig: Rig, acks: int) -> None:
    flushes = rig.hold_flushes()
    answers = rig.later(produce_request((TOPIC, 0, rig.batch(b"a")), acks=acks), 9)
    rig.node.pass_time(20_000)
    assert not answers
    reader = rig.connect()
    rig.client, writer = reader, rig.client
    assert rig.fetch().high_watermark == 0
    assert rig.values() == []
    assert rig.offset_at(-1).offset == 0
    rig.client = writer
    flushes.release()
    assert answers[0].responses[0].partition_responses[0].error_code == 0
    assert rig.values() == [b"a"]


def test_page_cache_topics_are_acknowledged_when_written(rig: Rig) -> None:
    rig.create("fast", tapelog_flush="page-cache")
    rig.hold_flushes()
    answers = rig.later(produce_request(("fast", 0, rig.batch(b"a"))), 9)
    assert answers[0].responses[0].partition_responses[0].base_offset == 0
    assert rig.values(topic="fast") == [b"a"]


def test_a_duplicate_waits_for_the_flush_like_its_original(rig: Rig) -> None:
    flushes = rig.hold_flushes()
    batch = rig.batch(b"a", producer=(7, 0, 0))
    first = rig.later(produce_request((TOPIC, 0, batch)), 9)
    again = rig.later(produce_request((TOPIC, 0, batch)), 9, rig.connect())
    rig.node.pass_time(1000)
    assert not first
    assert not again
    flushes.release()
    for answers in (first, again):
        part = answers[0].responses[0].partition_responses[0]
        assert (part.error_code, part.base_offset) == (0, 0)
    assert rig.values() == [b"a"]


def test_a_write_during_a_flush_is_acknowledged_by_the_next_one(rig: Rig) -> None:
    flushes = rig.hold_flushes()
    first = rig.later(produce_request((TOPIC, 0, rig.batch(b"a"))), 9)
    second = rig.later(produce_request((TOPIC, 0, rig.batch(b"b"))), 9)
    assert len(flushes.held) == 1, "one round at a time"
    files, done = flushes.held.pop()
    for file in files:
        file.sync()
    done(None)
    rig.node.settle()
    assert len(first) == 1
    assert not second
    assert len(flushes.held) == 1, "the next round has begun"
    flushes.release()
    assert len(second) == 1


def test_answers_leave_in_request_order_whatever_is_ready_first(rig: Rig) -> None:
    rig.create("fast", tapelog_flush="page-cache")
    flushes = rig.hold_flushes()
    order: list[str] = []
    rig.client.send(produce_request((TOPIC, 0, rig.batch(b"a"))), 9, lambda _: order.append("slow"))
    rig.client.send(produce_request(("fast", 0, rig.batch(b"b"))), 9, lambda _: order.append("fast"))
    rig.client.send(produce_request(("nothing", 0, rig.batch(b"c"))), 9, lambda _: order.append("wrong"))
    rig.client.send(MetadataRequest(topics=None), 5, lambda _: order.append("metadata"))
    rig.node.pass_time(100)
    assert order == []
    flushes.release()
    assert order == ["slow", "fast", "wrong", "metadata"]


def test_batches_of_many_connections_keep_the_order_in_which_they_came(rig: Rig) -> None:
    clients = [rig.connect() for _ in range(20)]
    answers = [
        rig.later(produce_request((TOPIC, 0, rig.batch(b"%d" % number))), 9, client)
        for number, client in enumerate(clients)
    ]
    rig.node.pass_time(50)
    offsets = [answer[0].responses[0].partition_responses[0].base_offset for answer in answers]
    assert offsets == list(range(20))
    assert rig.values() == [b"%d" % number for number in range(20)]


# -- several partitions


def test_each_partition_of_a_request_succeeds_or_fails_on_its_own(rig: Rig) -> None:
    corrupt = bytearray(rig.batch(b"x"))
    corrupt[-1] ^= 1
    parts = [
        PartitionProduceData(index=0, records=rig.batch(b"good")),
        PartitionProduceData(index=1, records=bytes(corrupt)),
        PartitionProduceData(index=2, records=rig.batch(b"also good")),
        PartitionProduceData(index=3, records=rig.batch(b"nowhere")),
        PartitionProduceData(index=-1, records=rig.batch(b"nowhere")),
    ]
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=TOPIC, partition_data=parts)])
    request.topic_data.append(
        TopicProduceData(name="nothing", partition_data=[PartitionProduceData(index=0, records=rig.batch())])
    )
    answers = rig.client.call(request, 9).responses
    codes = {(topic.name, part.index): part.error_code for topic in answers for part in topic.partition_responses}
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == {
        (TOPIC, 0): 0,
        (TOPIC, 1): ErrorCode.CORRUPT_MESSAGE,
        (TOPIC, 2): 0,
        (TOPIC, 3): unknown,
        (TOPIC, -1): unknown,
        ("nothing", 0): unknown,
    }
    assert (rig.values(index=0), rig.values(index=1), rig.values(index=2)) == ([b"good"], [], [b"also good"])


def test_a_request_without_partitions_is_answered_at_once(rig: Rig) -> None:
    assert rig.later(ProduceRequest(acks=-1, timeout_ms=1000), 9)[0].responses == []


# -- what is refused


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("size", [1, 200])
def test_old_message_formats_are_refused_with_their_code(rig: Rig, magic: int, size: int) -> None:
    answer = rig.produce(message_v1(b"\xff" * size, magic), version=3)
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert rig.partition().log.end_offset == 0


def test_a_batch_larger_than_allowed_is_refused(rig: Rig) -> None:
    rig.create("small", max_message_bytes="1000")
    batch = rig.batch(b"x" * 2000)
    assert rig.produce(batch, topic="small").error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert rig.produce(batch).error_code == 0


@pytest.mark.parametrize("records", [None, b""])
def test_a_partition_without_records_is_refused(rig: Rig, records: bytes | None) -> None:
    request = produce_request((TOPIC, 0, records))
    part = rig.client.call(request, 9).responses[0].partition_responses[0]
    assert part.error_code == ErrorCode.INVALID_RECORD


def test_two_batches_for_one_partition_are_refused(rig: Rig) -> None:
    answer = rig.produce(rig.batch(b"a") + rig.batch(b"b"))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert answer.record_errors or answer.error_message
    assert rig.partition().log.end_offset == 0


@pytest.mark.parametrize("cut", [20, 60, 61, 70])
def test_a_batch_cut_short_is_refused(rig: Rig, cut: int) -> None:
    code = rig.produce(rig.batch(b"x" * 50)[:cut]).error_code
    assert code in (ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD)
    assert rig.partition().log.end_offset == 0


def test_zstd_is_refused_before_version_7(rig: Rig) -> None:
    batch = rig.batch(b"x" * 100, compression=4)
    assert rig.produce(batch, version=6).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert rig.produce(batch, version=7).error_code == 0


@pytest.mark.parametrize("acks", [1, -1])
def test_internal_topics_are_not_for_clients(rig: Rig, acks: int) -> None:
    rig.client.call(FindCoordinatorRequest(key="g"), 2)
    answer = rig.produce(topic="__consumer_offsets", acks=acks)
    assert answer.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_too_few_replicas_in_sync_are_an_error_only_with_acks_all(rig: Rig) -> None:
    rig.partition().under_min_isr = True
    assert rig.produce().error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert rig.produce(acks=1).error_code == 0


def test_no_more_replicas_are_asked_for_than_the_topic_has(rig: Rig) -> None:
    rig.create("careful", min_insync_replicas="2")
    assert rig.produce(topic="careful").error_code == 0, "Apache Kafka 4.3.1 accepts it"


def test_a_null_key_is_refused_on_a_compacted_topic(rig: Rig) -> None:
    rig.create("table", cleanup_policy="compact")
    answer = rig.produce(rig.batch(b"v", key=None), topic="table")
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert answer.record_errors
    assert rig.produce(rig.batch(b"v"), topic="table").error_code == 0


def test_every_record_without_a_key_is_named(rig: Rig) -> None:
    rig.create("table", cleanup_policy="compact")
    keys = [b"k", None, b"k", None]
    batch = build_batch([Record(0, 1, key, b"v") for key in keys])
    answer = rig.produce(batch, topic="table")
    assert [error.batch_index for error in answer.record_errors] == [1, 3]


def test_log_append_time_is_told_and_stored(rig: Rig) -> None:
    rig.create("stamped", message_timestamp_type="LogAppendTime")
    answer = rig.produce(rig.batch(b"v", at_ms=5), topic="stamped")
    assert answer.log_append_time_ms == pytest.approx(rig.clock.wall_ms(), abs=100)


# -- idempotent producers


def test_a_batch_sent_again_gets_its_first_offset(rig: Rig) -> None:
    batches = [rig.batch(b"%d" % n, producer=(7, 0, n)) for n in range(6)]
    for number, batch in enumerate(batches):
        assert rig.produce(batch).base_offset == number
    for number in range(1, 6):
        answer = rig.produce(batches[number])
        assert (answer.error_code, answer.base_offset) == (0, number), "one of the last five"
    answer = rig.produce(batches[0])
    assert answer.error_code != 0 or answer.base_offset == -1, "older than the window"
    assert rig.values() == [b"%d" % n for n in range(6)]


def test_a_gap_in_the_sequence_is_refused(rig: Rig) -> None:
    assert rig.produce(rig.batch(b"a", producer=(7, 0, 0))).error_code == 0
    assert rig.produce(rig.batch(b"c", producer=(7, 0, 2))).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert rig.produce(rig.batch(b"b", producer=(7, 0, 1))).error_code == 0
    assert rig.values() == [b"a", b"b"]


def test_an_older_epoch_of_a_producer_is_refused(rig: Rig) -> None:
    assert rig.produce(rig.batch(b"a", producer=(7, 1, 0))).error_code == 0
    assert rig.produce(rig.batch(b"b", producer=(7, 0, 1))).error_code == ErrorCode.INVALID_PRODUCER_EPOCH


def test_sequences_are_kept_per_partition_and_producer(rig: Rig) -> None:
    for index in range(2):
        for id in (7, 8):
            assert rig.produce(rig.batch(b"x", producer=(id, 0, 0)), index=index).error_code == 0
    assert len(rig.values(index=0)) == len(rig.values(index=1)) == 2


@pytest.mark.parametrize("how", ["stop", "kill", "power_cut"])
def test_duplicates_are_recognised_after_a_restart(rig: Rig, how: str) -> None:
    batches = [rig.batch(b"%d" % n, producer=(7, 0, n)) for n in range(3)]
    for batch in batches:
        rig.produce(batch)
    rig.reboot(getattr(rig.node, how))
    assert rig.produce(batches[2]).base_offset == 2
    assert rig.produce(rig.batch(b"9", producer=(7, 0, 9))).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert rig.produce(rig.batch(b"3", producer=(7, 0, 3))).base_offset == 3
    assert rig.values() == [b"0", b"1", b"2", b"3"]


# -- when things go away


def test_a_topic_deleted_while_a_produce_waits_for_the_flush_is_told_so(rig: Rig) -> None:
    flushes = rig.hold_flushes()
    answers = rig.later(produce_request((TOPIC, 0, rig.batch())), 9)
    assert rig.node.core is not None
    topic = rig.node.core.image.topics[TOPIC]
    rig.node.core.partitions.remove([topic])
    rig.node.settle()
    assert answers[0].responses[0].partition_responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    flushes.release()
    assert len(answers) == 1


def test_a_client_that_hung_up_before_the_flush_disturbs_nobody(rig: Rig) -> None:
    flushes = rig.hold_flushes()
    client = rig.connect()
    gone = rig.later(produce_request((TOPIC, 0, rig.batch(b"a"))), 9, client)
    other = rig.later(produce_request((TOPIC, 0, rig.batch(b"b"))), 9)
    client.hang_up()
    flushes.release()
    assert not gone
    assert other[0].responses[0].partition_responses[0].base_offset == 1

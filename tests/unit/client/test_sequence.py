"""The batches of one partition: order, numbers, and what is sent again after which answer."""

from __future__ import annotations

import random

import pytest

from tapelog.client.gather import Gatherer
from tapelog.client.metadata import TopicPartition
from tapelog.client.partitioner import Sticky, murmur2, partition_for_key
from tapelog.client.sequence import AGAIN, DONE, FAILED, IN_FLIGHT_MAX, Batch, PartitionQueue, split
from tapelog.wire.errors import ErrorCode
from tapelog.wire.record_batch import BatchHeader, Record, build_batch, iterate

WHERE = TopicPartition("t", 0)


def filled(count: int, *, numbered: bool = True) -> tuple[PartitionQueue, list[Batch]]:
    queue = PartitionQueue(WHERE, numbered=numbered)
    batches = [Batch(b"%d" % n, 10, queue.number(10), 0.0) for n in range(count)]
    queue.ready.extend(batches)
    return queue, batches


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_kafkas(key: bytes, expected: int) -> None:
    assert murmur2(key) == expected & 0xFFFFFFFF


def test_keys_go_where_other_clients_put_them() -> None:
    from kafka.partitioner.default import murmur2 as theirs

    for size in range(40):
        key = random.Random(size).randbytes(size)
        assert murmur2(key) == theirs(key) & 0xFFFFFFFF
        assert partition_for_key(key, 7) == (theirs(key) & 0x7FFFFFFF) % 7


def test_records_without_a_key_stay_together_until_a_batch_is_full_and_reach_all_partitions() -> None:
    sticky = Sticky(random.Random(1).random)
    seen = []
    for _ in range(200):
        seen.append(sticky.partition("t", 5))
        assert sticky.partition("t", 5) == seen[-1]
        sticky.turn("t", 5)
        assert sticky.partition("t", 5) != seen[-1]
    assert sorted(set(seen)) == [0, 1, 2, 3, 4]
    sticky.turn("one", 1)
    assert sticky.partition("one", 1) == 0


def test_a_batch_is_full_when_its_records_are_large_enough() -> None:
    gathered = Gatherer(200, lambda topic: 3, random.Random(1).random)
    assert gathered.add("t", b"k", b"x" * 50, 1, (), None) is None
    where = gathered.add("t", b"k", b"x" * 150, 1, (), None)
    assert where == TopicPartition("t", partition_for_key(b"k", 3))
    assert len(gathered.take(where)) == 2 and gathered.waiting() == []
    assert gathered.add("t", b"k", None, 1, [("h", b"x" * 200)], 9) == TopicPartition("t", 9)


def test_numbers_follow_each_other_and_wrap() -> None:
    queue = PartitionQueue(WHERE, numbered=True)
    assert [queue.number(3), queue.number(2), queue.number(2**31 - 6), queue.number(4), queue.number(1)] == [
        0,
        3,
        5,
        2**31 - 1,
        3,
    ]
    assert PartitionQueue(WHERE, numbered=False).number(3) == -1


def test_five_fly_at_once_and_no_more() -> None:
    queue, batches = filled(9)
    assert queue.answered(queue.take(), 0) == DONE
    sent = []
    while queue.sendable(0):
        sent.append(queue.take())
    assert sent == batches[1 : 1 + IN_FLIGHT_MAX]
    assert queue.answered(sent[0], 0) == DONE
    assert queue.sendable(0)


def test_nothing_follows_the_first_batch_before_it_has_arrived() -> None:
    """A broker takes any number from a producer that it does not know: the first batch would then be out of order."""
    queue, batches = filled(3)
    for code in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0):
        assert queue.sendable(0) and queue.take() is batches[0]
        assert not queue.sendable(0)
        queue.answered(batches[0], code)
    assert [queue.take() for _ in range(2) if queue.sendable(0)] == batches[1:]
    plain, both = filled(2, numbered=False)
    assert [plain.take() for _ in range(2) if plain.sendable(0)] == both


def test_after_a_failure_everything_behind_it_goes_again_in_its_order_once_all_answers_are_in() -> None:
    queue, batches = filled(5)
    for _ in range(3):
        queue.take()
    assert queue.answered(batches[0], ErrorCode.NOT_LEADER_OR_FOLLOWER) == AGAIN
    assert not queue.sendable(0)
    assert queue.answered(batches[1], ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER) == AGAIN
    assert not queue.sendable(0)
    assert queue.answered(batches[2], ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER) == AGAIN
    assert queue.failures == 1
    for batch in batches[:3]:
        assert queue.sendable(0) and queue.take() is batch
        assert not queue.sendable(0)
        assert queue.answered(batch, 0) == DONE
    assert [queue.take() for _ in range(2) if queue.sendable(0)] == batches[3:]
    for batch in batches[3:]:
        assert queue.answered(batch, 0) == DONE
    assert queue.idle and queue.failures == 0


def test_what_arrived_although_an_earlier_one_failed_is_not_sent_again() -> None:
    queue, batches = filled(2)
    queue.take()
    queue.take()
    assert queue.answered(batches[0], ErrorCode.REQUEST_TIMED_OUT) == AGAIN
    assert queue.answered(batches[1], 0) == DONE
    assert queue.take() is batches[0]
    assert queue.answered(batches[0], ErrorCode.DUPLICATE_SEQUENCE_NUMBER) == DONE
    assert queue.idle


@pytest.mark.parametrize(
    "code",
    [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.UNKNOWN_PRODUCER_ID, 999],
)
def test_a_number_that_does_not_follow_though_nothing_failed_is_a_loss_and_told(code: int) -> None:
    queue, batches = filled(1)
    queue.take()
    assert queue.answered(batches[0], code) == FAILED


def test_a_lost_connection_is_a_failure_like_others() -> None:
    queue, batches = filled(2)
    queue.take()
    queue.take()
    queue.lost(batches[0])
    queue.lost(batches[1])
    assert list(queue.ready) == batches


def test_nothing_new_passes_a_batch_whose_fate_is_unknown() -> None:
    """A broker remembers five batches of a producer: after five newer ones, a repetition would look like a gap."""
    queue, batches = filled(9)
    for _ in range(5):
        queue.take()
    queue.lost(batches[0])
    for batch in batches[1:5]:
        assert queue.answered(batch, 0) == DONE
    assert queue.take() is batches[0]
    assert not queue.sendable(0)


@pytest.mark.parametrize("codec", [0, 3])
def test_a_batch_that_is_too_large_is_split_and_keeps_its_numbers(codec: int) -> None:
    records = [Record(0, 100 + n, b"%d" % n, b"v", [("h", None)]) for n in range(5)]
    data = build_batch(
        records, compression=codec, producer_id=7, producer_epoch=2, base_sequence=2**31 - 2, transactional=True
    )
    queue = PartitionQueue(WHERE, numbered=True)
    whole = Batch(data, 5, 2**31 - 2, 1.0)
    queue.ready.append(whole)
    queue.take()
    assert queue.answered(whole, ErrorCode.MESSAGE_TOO_LARGE) == AGAIN
    halves = list(queue.ready)
    assert [(half.count, half.sequence) for half in halves] == [(2, 2**31 - 2), (3, 0)]
    assert sum(half.charge for half in halves) == whole.charge
    found = []
    for half in halves:
        header = BatchHeader(half.data, 0, len(half.data))
        assert (header.producer_id, header.producer_epoch, header.compression) == (7, 2, codec)
        assert header.is_transactional and header.base_sequence == half.sequence
        found += [(one.timestamp, one.key, one.headers) for one in iterate(half.data, 0, len(half.data))]
    assert found == [(one.timestamp, one.key, one.headers) for one in records]
    single = Batch(data, 1, 0, 1.0)
    queue = PartitionQueue(WHERE, numbered=True)
    queue.ready.append(single)
    queue.take()
    assert queue.answered(single, ErrorCode.MESSAGE_TOO_LARGE) == FAILED
    assert [half.sequence for half in split(Batch(data, 5, -1, 0.0))] == [-1, -1]


@pytest.mark.parametrize("seed", range(200))
def test_a_broker_that_fails_at_random_ends_with_every_batch_once_and_in_order(seed: int) -> None:
    """A broker with Kafka's rule: a number must follow the last one, unless there is none; one of the last five is a
    repetition."""
    chance = random.Random(seed)
    queue, batches = filled(20)
    log: list[int] = []
    wire: list[Batch] = []
    for _ in range(2000):
        if queue.idle:
            break
        if queue.sendable(0) and chance.random() < 0.7:
            wire.append(queue.take())
            continue
        if not wire:
            continue
        batch = wire.pop(0)
        code = 0
        fate = chance.random()
        if fate < 0.15:
            code = ErrorCode.NOT_LEADER_OR_FOLLOWER  # did not arrive
        elif batch.sequence in log[-5:]:
            code = chance.choice([0, int(ErrorCode.DUPLICATE_SEQUENCE_NUMBER)])
        elif log and batch.sequence != log[-1] + 10:
            code = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        else:
            log.append(batch.sequence)
            code = ErrorCode.NETWORK_EXCEPTION if fate > 0.9 else 0  # arrived, and the answer was lost
        assert queue.answered(batch, code) != FAILED
    assert queue.idle and log == [batch.sequence for batch in batches]

"""Fetch: how much is returned, when a fetch waits and what wakes it, what is visible, which errors it tells."""

from __future__ import annotations

from typing import Any

import pytest

from tapelog.base.ports import DiskError
from tapelog.log.log import COORDINATOR
from tapelog.sim.disk import SimFile
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.fetch_request import FetchPartition
from tapelog.wire.messages.fetch_response import FetchResponse
from tapelog.wire.record_batch import Record, build_batch
from tests.support.rig import TOPIC, Rig, fetch_request, produce_request, raw_records, values_of, wants


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.create(partitions=3)
    return rig


def values(response: FetchResponse) -> dict[int, list[bytes | None]]:
    """Values by partition."""
    return {part.partition_index: values_of(part) for topic in response.responses for part in topic.partitions}


def codes(response: FetchResponse) -> dict[int, int]:
    """Error codes by partition."""
    return {part.partition_index: part.error_code for topic in response.responses for part in topic.partitions}


def waiters(rig: Rig) -> int:
    """How many fetches are parked anywhere."""
    assert rig.node.core is not None
    return sum(len(partition._waiters) for partition in rig.node.core.partitions.all())


def timers(rig: Rig) -> int:
    """How many timers are set."""
    return sum(1 for entry in rig.node.timers._heap if entry[2].action is not None)


# -- how much


@pytest.mark.parametrize("version", range(4, 13))
def test_what_was_produced_is_fetched_in_every_version_with_names(rig: Rig, version: int) -> None:
    rig.produce(rig.batch(b"a", b"b"))
    rig.produce(rig.batch(b"c"))
    assert rig.values(version=version) == [b"a", b"b", b"c"]
    assert rig.values(version=version, offset=2) == [b"c"]
    assert rig.values(version=version, offset=3) == []


@pytest.mark.parametrize("version", range(13, 19))
def test_what_was_produced_is_fetched_in_every_version_with_ids(rig: Rig, version: int) -> None:
    rig.produce(rig.batch(b"a"))
    assert rig.values(version=version, topic="", topic_id=rig.topic_id()) == [b"a"]
    part = rig.fetch(version=version, topic="", topic_id=b"\5" * 16)
    assert part.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_the_batch_that_holds_the_offset_comes_whole(rig: Rig) -> None:
    rig.produce(rig.batch(b"a", b"b", b"c"))
    assert rig.values(offset=1) == [b"a", b"b", b"c"], "clients skip what they did not ask for"


def test_one_batch_is_returned_however_small_the_bounds(rig: Rig) -> None:
    rig.produce(rig.batch(b"x" * 5000))
    rig.produce(rig.batch(b"y" * 5000))
    assert rig.values(part_bytes=1) == [b"x" * 5000]
    assert rig.values(max_bytes=1) == [b"x" * 5000]
    assert rig.values(part_bytes=0) == [b"x" * 5000]


def test_a_partition_returns_whole_batches_within_its_bound(rig: Rig) -> None:
    batch = rig.batch(b"x" * 100)
    for _ in range(10):
        rig.produce(batch)
    data = rig.fetch(part_bytes=3 * len(batch) + 10)
    assert len(raw_records(data)) == 3 * len(batch)


def test_the_bound_over_all_partitions_holds_after_the_first_batch(rig: Rig) -> None:
    batch = rig.batch(b"x" * 1000)
    for index in range(3):
        rig.produce(batch, index=index)
    request = fetch_request(wants(0, 0), wants(1, 0), wants(2, 0), max_bytes=len(batch) * 2 + 5)
    got = values(rig.client.call(request, 12))
    assert [len(got[index]) for index in range(3)] == [1, 1, 0]
    request = fetch_request(wants(0, 0), wants(1, 0), wants(2, 0), max_bytes=1)
    got = values(rig.client.call(request, 12))
    assert [len(got[index]) for index in range(3)] == [1, 0, 0]


def test_the_first_partition_with_data_gets_the_one_batch_not_the_first_asked_for(rig: Rig) -> None:
    rig.produce(rig.batch(b"x" * 1000), index=2)
    got = values(rig.client.call(fetch_request(wants(0, 0), wants(1, 0), wants(2, 0), max_bytes=1), 12))
    assert [len(got[index]) for index in range(3)] == [0, 0, 1]


def test_the_brokers_own_bound_counts_too() -> None:
    rig = Rig(fetch_max_bytes="1024")
    rig.create(partitions=2)
    for index in range(2):
        rig.produce(rig.batch(b"x" * 1000), index=index)
    got = values(rig.client.call(fetch_request(wants(0, 0), wants(1, 0)), 12))
    assert [len(got[index]) for index in range(2)] == [1, 0]


# -- waiting


def waiting_fetch(rig: Rig, *parts: FetchPartition, client: Any = None, **fields: Any) -> list[Any]:
    """A fetch that may wait."""
    request = fetch_request(*parts, **({"max_wait_ms": 500, "min_bytes": 1} | fields))
    return rig.later(request, 12, client or rig.connect())


def test_an_empty_fetch_waits_until_its_time_is_over(rig: Rig) -> None:
    answers = waiting_fetch(rig, wants(0, 0))
    rig.node.pass_time(499)
    assert not answers
    rig.node.pass_time(1)
    assert values(answers[0]) == {0: []}
    assert waiters(rig) == 0


def test_a_fetch_that_may_not_wait_is_answered_at_once(rig: Rig) -> None:
    assert waiting_fetch(rig, wants(0, 0), max_wait_ms=0)
    assert waiting_fetch(rig, wants(0, 0), min_bytes=0)


def test_a_produce_wakes_the_fetch_that_waits_for_it(rig: Rig) -> None:
    answers = waiting_fetch(rig, wants(0, 0), wants(1, 0), max_wait_ms=30_000)
    rig.produce(rig.batch(b"other"), index=2)
    assert not answers
    began = rig.clock.monotonic_ms()
    rig.produce(rig.batch(b"a"), index=1)
    assert values(answers[0]) == {0: [], 1: [b"a"]}
    assert rig.clock.monotonic_ms() - began < 50
    assert waiters(rig) == 0


def test_a_fetch_waits_for_min_bytes(rig: Rig) -> None:
    batch = rig.batch(b"x" * 100)
    answers = waiting_fetch(rig, wants(0, 0), min_bytes=3 * len(batch), max_wait_ms=10_000)
    rig.produce(batch)
    rig.produce(batch)
    assert not answers
    rig.produce(batch)
    assert len(values(answers[0])[0]) == 3


def test_a_fetch_that_did_not_get_min_bytes_in_time_gets_what_there_is(rig: Rig) -> None:
    answers = waiting_fetch(rig, wants(0, 0), min_bytes=10_000)
    rig.produce(rig.batch(b"a"))
    rig.node.pass_time(600)
    assert values(answers[0]) == {0: [b"a"]}


def test_min_bytes_beyond_max_bytes_does_not_hold_a_full_answer_back(rig: Rig) -> None:
    batch = rig.batch(b"x" * 1000)
    for _ in range(5):
        rig.produce(batch)
    answers = waiting_fetch(rig, wants(0, 0), min_bytes=1 << 20, max_bytes=2 * len(batch), max_wait_ms=500)
    rig.node.pass_time(500)
    assert len(values(answers[0])[0]) == 2


def test_many_waiting_fetches_are_all_woken(rig: Rig) -> None:
    parked = [waiting_fetch(rig, wants(0, 0), max_wait_ms=10_000) for _ in range(50)]
    rig.produce(rig.batch(b"a"))
    assert all(values(answers[0]) == {0: [b"a"]} for answers in parked)


def test_an_error_in_one_partition_is_told_at_once(rig: Rig) -> None:
    answers = waiting_fetch(rig, wants(0, 0), wants(9, 0), max_wait_ms=10_000)
    assert codes(answers[0]) == {0: 0, 9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_deleting_the_topic_wakes_the_fetch(rig: Rig) -> None:
    answers = waiting_fetch(rig, wants(0, 0), max_wait_ms=60_000)
    rig.delete()
    assert codes(answers[0]) == {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert waiters(rig) == 0


def test_a_client_that_hangs_up_while_its_fetch_waits_leaves_nothing_behind(rig: Rig) -> None:
    before = timers(rig)
    client = rig.connect()
    answers = waiting_fetch(rig, wants(0, 0), wants(1, 0), client=client, max_wait_ms=300_000)
    assert (waiters(rig), timers(rig)) == (2, before + 1)
    client.hang_up()
    assert (waiters(rig), timers(rig)) == (0, before)
    rig.produce()
    assert not answers


def test_the_longest_wait_has_a_bound(rig: Rig) -> None:
    answers = waiting_fetch(rig, wants(0, 0), max_wait_ms=0x7FFFFFFF)
    rig.node.pass_time(300_000)
    assert answers


# -- what is visible


def test_unflushed_records_are_invisible_and_do_not_wake(rig: Rig) -> None:
    rig.produce(rig.batch(b"a"))
    flushes = rig.hold_flushes()
    rig.later(produce_request((TOPIC, 0, rig.batch(b"b"))), 9, rig.connect())
    data = rig.fetch()
    assert (values_of(data), data.high_watermark, data.last_stable_offset) == ([b"a"], 1, 1)
    answers = waiting_fetch(rig, wants(0, 1), max_wait_ms=20_000)
    rig.node.pass_time(5_000)
    assert not answers
    flushes.release()
    assert values(answers[0]) == {0: [b"b"]}


@pytest.mark.parametrize("offset", [-1, 4, 100, 1 << 60])
def test_an_offset_that_is_not_there_is_out_of_range(rig: Rig, offset: int) -> None:
    for value in (b"a", b"b", b"c"):
        rig.produce(rig.batch(value))
    assert rig.fetch(offset).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_an_offset_below_the_start_is_out_of_range(rig: Rig) -> None:
    for value in (b"a", b"b", b"c"):
        rig.produce(rig.batch(value))
    rig.partition().log.increment_start_offset(2)
    assert rig.fetch(1).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    data = rig.fetch(2)
    assert (values_of(data), data.log_start_offset) == ([b"c"], 2)


def append_transactional(rig: Rig, value: bytes, sequence: int, producer: int = 7) -> None:
    """As a transactional producer's batch comes to the log."""
    batch = rig.batch(value, producer=(producer, 0, sequence), transactional=True)
    rig.partition().append(batch, 0, len(batch), 0)
    rig.node.settle()
    rig.node.pass_time(20)


def append_marker(rig: Rig, *, abort: bool, producer: int = 7) -> None:
    """The coordinator ends the transaction."""
    key = b"\0\0\0" + (b"\0" if abort else b"\1")
    record = Record(0, rig.clock.wall_ms(), key, b"\0\0\0\0\0\3")
    batch = build_batch([record], producer_id=producer, producer_epoch=0, transactional=True, control=True)
    rig.partition().append(batch, 0, len(batch), COORDINATOR)
    rig.node.settle()
    rig.node.pass_time(20)


def test_read_committed_stops_before_an_open_transaction(rig: Rig) -> None:
    rig.produce(rig.batch(b"plain"))
    append_transactional(rig, b"open", 0)
    rig.produce(rig.batch(b"behind"))
    assert rig.values() == [b"plain", b"open", b"behind"]
    data = rig.fetch(isolation_level=1)
    assert values_of(data) == [b"plain"]
    assert (data.high_watermark, data.last_stable_offset, data.aborted_transactions) == (3, 1, [])
    assert (rig.offset_at(-1).offset, rig.offset_at(-1, isolation=1).offset) == (3, 1)
    append_marker(rig, abort=False)
    data = rig.fetch(isolation_level=1)
    assert data.last_stable_offset == 4
    assert values_of(data)[:3] == [b"plain", b"open", b"behind"]
    assert data.aborted_transactions == []


def test_read_committed_is_told_what_was_aborted(rig: Rig) -> None:
    append_transactional(rig, b"a", 0)
    append_transactional(rig, b"b", 0, producer=8)
    append_marker(rig, abort=True)
    append_marker(rig, abort=False, producer=8)
    aborted = rig.fetch(isolation_level=1).aborted_transactions
    assert aborted is not None
    assert [(one.producer_id, one.first_offset) for one in aborted] == [(7, 0)]
    assert rig.fetch().aborted_transactions is None, "only read_committed asks"


def test_the_end_of_a_transaction_wakes_a_read_committed_fetch(rig: Rig) -> None:
    append_transactional(rig, b"a", 0)
    answers = waiting_fetch(rig, wants(0, 0), isolation_level=1, max_wait_ms=30_000)
    rig.node.pass_time(100)
    assert not answers
    append_marker(rig, abort=False)
    assert values(answers[0])[0][0] == b"a"


# -- leader epochs


@pytest.mark.parametrize("version", range(9, 18))
def test_a_wrong_leader_epoch_is_told_with_the_current_leader(rig: Rig, version: int) -> None:
    rig.partition().leader_epoch = 5
    named: dict[str, Any] = {"topic": "", "topic_id": rig.topic_id()} if version >= 13 else {}
    for epoch, code in ((4, ErrorCode.FENCED_LEADER_EPOCH), (6, ErrorCode.UNKNOWN_LEADER_EPOCH), (5, 0), (-1, 0)):
        data = rig.fetch(version=version, leader_epoch=epoch, **named)
        assert data.error_code == code
        if code and version >= 12:
            assert data.current_leader is not None
            assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (1, 5)


@pytest.mark.parametrize("version", [16, 18])
def test_a_fenced_fetch_is_told_where_the_leader_listens(rig: Rig, version: int) -> None:
    rig.partition().leader_epoch = 5
    part = FetchPartition(partition=0, current_leader_epoch=4, fetch_offset=0, partition_max_bytes=100)
    response = rig.client.call(fetch_request(part, topic="", topic_id=rig.topic_id()), version)
    assert [(node.node_id, node.host, node.port) for node in response.node_endpoints] == [(1, "127.0.0.1", 9092)]


def test_a_reader_of_an_older_segment_does_not_wait_for_more_bytes(rig: Rig) -> None:
    rig.produce(rig.batch(b"a"))
    rig.partition().log.roll()
    rig.produce(rig.batch(b"b"))
    answers = rig.later(fetch_request(wants(0, 0), min_bytes=100_000, max_wait_ms=10_000), 12)
    assert [values(answer) for answer in answers] == [{0: [b"a"]}], "the rest is in the next segment: come back for it"
    assert waiters(rig) == 0


def test_a_segment_that_cannot_be_read_is_told_to_its_reader_only(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.produce(rig.batch(b"a"), index=0)
    rig.produce(rig.batch(b"b"), index=1)

    real = SimFile.read

    def fail(file: SimFile, position: int, size: int) -> bytes:
        if f"{TOPIC}-0/" in file.path:
            raise DiskError("bad sector")
        return real(file, position, size)

    monkeypatch.setattr(SimFile, "read", fail)
    assert rig.fetch(index=0).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert rig.values(index=1) == [b"b"]

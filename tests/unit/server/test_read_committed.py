"""What a read_committed consumer gets: nothing beyond the last stable offset, the aborted transactions it must leave
out, and an answer as soon as a transaction is decided."""

from __future__ import annotations

from typing import Any

import pytest

from tapelog.wire.record_batch import batches
from tests.support.rig import TOPIC, Rig, fetch_request, raw_records, values_of, wants

COMMITTED, UNCOMMITTED = 1, 0
LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3


class Desk:
    """A rig with transactions written straight into its partitions."""

    def __init__(self) -> None:
        self.rig = Rig()
        self.rig.create(partitions=2)
        self.sequences: dict[tuple[int, int], int] = {}

    def write(self, *values: bytes, id: int = 7, index: int = 0, at_ms: int | None = None) -> int:
        """Records of a producer's transaction; the offset of the first."""
        sequence = self.sequences.get((id, index), 0)
        self.sequences[id, index] = sequence + len(values)
        stamp = {} if at_ms is None else {"at_ms": at_ms}
        batch = self.rig.batch(*values, producer=(id, 0, sequence), transactional=True, **stamp)
        appended = self.rig.partition(index=index).append(batch, 0, len(batch), 0)
        self.settle()
        return appended.base_offset

    def end(self, *, commit: bool, id: int = 7, index: int = 0) -> None:
        self.rig.partition(index=index).append_marker(id, 0, commit, 0, 0)
        self.settle()

    def settle(self) -> None:
        self.rig.node.settle()
        self.rig.node.pass_time(30)

    def later(self, *parts: Any, **fields: Any) -> list[Any]:
        """A read_committed fetch that may wait a minute."""
        defaults = {"isolation_level": COMMITTED, "max_wait_ms": 60_000}
        return self.rig.later(fetch_request(*parts, **(defaults | fields)), 12, self.rig.connect())

    def visible(self, **fetch: Any) -> list[bytes]:
        """What a consumer would show its application, from one fetch, by Kafka's rule."""
        data = self.rig.fetch(isolation_level=COMMITTED, **fetch)
        raw = raw_records(data)
        begun = sorted((one.first_offset, one.producer_id) for one in data.aborted_transactions or [])
        aborted: set[int] = set()
        found: list[bytes] = []
        for header in batches(raw, 0, len(raw)):
            while begun and begun[0][0] <= header.last_offset:
                aborted.add(begun.pop(0)[1])
            part = type(data)(records=raw[header.position : header.end])
            if header.is_control:
                aborted.discard(header.producer_id)
            elif header.producer_id not in aborted or not header.is_transactional:
                found += [value or b"" for value in values_of(part)]
        return found


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_nothing_is_returned_beyond_the_last_stable_offset(desk: Desk) -> None:
    desk.rig.produce(desk.rig.batch(b"before"))
    desk.write(b"open")
    desk.rig.produce(desk.rig.batch(b"after"))
    data = desk.rig.fetch(isolation_level=COMMITTED)
    assert (data.high_watermark, data.last_stable_offset) == (3, 1)
    assert values_of(data) == [b"before"]
    assert data.aborted_transactions == []
    assert raw_records(desk.rig.fetch(1, isolation_level=COMMITTED)) == b""
    assert desk.rig.fetch(3, isolation_level=COMMITTED).error_code == 0, "the log goes on there"
    plain = desk.rig.fetch()
    assert values_of(plain) == [b"before", b"open", b"after"]
    assert not plain.aborted_transactions


def test_a_committed_transaction_is_visible_and_an_aborted_one_is_named(desk: Desk) -> None:
    desk.write(b"first", id=7)
    desk.write(b"never", id=8)
    desk.write(b"second", id=7)
    desk.end(commit=False, id=8)
    assert desk.visible() == []
    desk.end(commit=True, id=7)
    data = desk.rig.fetch(isolation_level=COMMITTED)
    assert [(one.producer_id, one.first_offset) for one in data.aborted_transactions or []] == [(8, 1)]
    assert desk.visible() == [b"first", b"second"]
    assert desk.visible(offset=2) == [b"second"]


def test_only_aborted_transactions_that_touch_what_is_returned_are_named(desk: Desk) -> None:
    for number in range(20):
        desk.write(b"%d" % number)
        desk.end(commit=number % 2 == 0)
    size = len(raw_records(desk.rig.fetch(0))) // 40
    for offset in range(0, 40, 4):
        data = desk.rig.fetch(offset, isolation_level=COMMITTED, part_bytes=size * 6)
        raw = raw_records(data)
        first, *_, last = [header.last_offset for header in batches(raw, 0, len(raw))]
        named = {one.first_offset for one in data.aborted_transactions or []}
        aborted = {begun for begun in range(2, 40, 4) if begun <= last and begun + 1 >= first}
        assert named == aborted
    assert desk.visible() == [b"%d" % number for number in range(0, 20, 2)]


def test_the_end_for_a_consumer_is_the_last_stable_offset(desk: Desk) -> None:
    now = desk.rig.clock.wall_ms()
    desk.rig.produce(desk.rig.batch(b"before", at_ms=now))
    desk.write(b"open", at_ms=now + 100)
    for level, latest, by_time in ((UNCOMMITTED, 2, 1), (COMMITTED, 1, -1)):
        assert desk.rig.offset_at(LATEST, isolation=level).offset == latest
        assert desk.rig.offset_at(now + 50, isolation=level).offset == by_time
        assert desk.rig.offset_at(now, isolation=level).offset == 0
        assert desk.rig.offset_at(EARLIEST, isolation=level).offset == 0
    assert desk.rig.offset_at(MAX_TIMESTAMP, isolation=UNCOMMITTED).offset == 1
    desk.end(commit=True)
    assert desk.rig.offset_at(LATEST, isolation=COMMITTED).offset == 3
    assert desk.rig.offset_at(now + 50, isolation=COMMITTED).offset == 1


# -- waiting


def test_a_fetch_that_waits_is_answered_when_the_transaction_is_decided(desk: Desk) -> None:
    answers = desk.later(wants(0, 0))
    desk.write(b"one", b"two")
    desk.rig.produce(desk.rig.batch(b"plain"))
    desk.rig.node.pass_time(1000)
    assert not answers
    desk.end(commit=True)
    data = answers[0].responses[0].partitions[0]
    assert data.last_stable_offset == 4
    assert values_of(data)[:3] == [b"one", b"two", b"plain"]


def test_bytes_beyond_the_last_stable_offset_do_not_count(desk: Desk) -> None:
    answers = desk.later(wants(0, 0), min_bytes=500)
    desk.rig.produce(desk.rig.batch(b"x" * 200))
    desk.write(b"y" * 2000)
    desk.rig.node.pass_time(1000)
    assert not answers
    desk.end(commit=False)
    data = answers[0].responses[0].partitions[0]
    assert [one.first_offset for one in data.aborted_transactions] == [1]
    assert len(raw_records(data)) > 2000


def test_a_marker_is_not_enough_before_it_is_on_disk(desk: Desk) -> None:
    desk.write(b"one")
    answers = desk.later(wants(0, 0))
    flushes = desk.rig.hold_flushes()
    desk.end(commit=True)
    desk.rig.node.pass_time(1000)
    assert not answers
    flushes.release()
    assert answers[0].responses[0].partitions[0].last_stable_offset == 2


def test_an_older_transaction_elsewhere_keeps_the_others_waiting(desk: Desk) -> None:
    desk.write(b"old", id=8)
    desk.write(b"new", id=7)
    answers = desk.later(wants(0, 0))
    desk.end(commit=True, id=7)
    assert not answers
    other = desk.later(wants(0, 0), wants(1, 0))
    desk.write(b"there", index=1)
    desk.end(commit=True, index=1)
    assert [part.last_stable_offset for part in other[0].responses[0].partitions] == [0, 2]
    desk.end(commit=True, id=8)
    assert answers[0].responses[0].partitions[0].last_stable_offset == 4


@pytest.mark.parametrize("how", ["stop", "kill", "power_cut"])
def test_open_and_aborted_transactions_are_known_after_a_restart(desk: Desk, how: str) -> None:
    desk.write(b"never")
    desk.end(commit=False)
    desk.write(b"kept")
    desk.end(commit=True)
    desk.write(b"open")
    desk.rig.reboot(getattr(desk.rig.node, how))
    assert desk.visible() == [b"kept"]
    data = desk.rig.fetch(isolation_level=COMMITTED)
    assert (data.last_stable_offset, data.high_watermark) == (4, 5)
    desk.end(commit=False)
    assert desk.visible() == [b"kept"]
    assert desk.rig.fetch(isolation_level=COMMITTED).last_stable_offset == 6


# -- time


def test_a_silent_producer_with_an_open_transaction_is_not_forgotten() -> None:
    desk = Desk()
    rig = desk.rig = Rig(producer_id_expiration_ms="1000", producer_id_expiration_check_interval_ms="500")
    rig.create(partitions=2)
    desk.write(b"open", id=7)
    rig.produce(rig.batch(b"plain", producer=(8, 0, 0)))
    rig.node.pass_time(5000)
    producers = rig.partition().log.producers
    assert set(producers.entries) == {7}
    assert rig.fetch(isolation_level=COMMITTED).last_stable_offset == 0
    desk.end(commit=True, id=7)
    rig.node.pass_time(5000)
    assert not producers.entries
    assert rig.fetch(isolation_level=COMMITTED).last_stable_offset == 3


def test_deleting_records_below_an_open_transaction_moves_the_start_only(desk: Desk) -> None:
    desk.write(b"open")
    desk.rig.produce(desk.rig.batch(b"plain"))
    desk.rig.partition().log.increment_start_offset(1)
    data = desk.rig.fetch(1, isolation_level=COMMITTED)
    assert (data.log_start_offset, data.last_stable_offset, data.high_watermark) == (1, 1, 2)
    desk.end(commit=True)
    assert desk.rig.fetch(1, isolation_level=COMMITTED, topic=TOPIC).last_stable_offset == 3

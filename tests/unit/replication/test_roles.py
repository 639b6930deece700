"""Roles: what a partition does when the image makes it a leader or a follower, and what becomes of those who wait."""

from __future__ import annotations

import pytest

from tapelog.log.log import CLIENT
from tapelog.replication.guards import HeldBatch
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.record_batch import Record, build_batch
from tests.unit.replication.bench import ME, OTHER, THIRD, Bench, Reader

NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER


class Held(HeldBatch):
    """A batch behind a guard; notes how its wait ended."""

    def __init__(self) -> None:
        super().__init__(10)
        self.ended: list[int] = []

    def admitted(self) -> None:
        self.ended.append(0)

    def refused(self, code: int) -> None:
        self.ended.append(code)


def test_a_leader_that_follows_tells_everybody_who_waits() -> None:
    bench = Bench()
    partition, reader, held = bench.lead(), Reader(), Held()
    partition.add_fetch(reader)
    bench.append(1)
    bench.append(2, acks=1)
    partition.park_marker(2, bench.told, 3)
    guard = partition.guards.begin(5, 0)
    partition.guards.hold(guard, held)
    partition.follow(OTHER, 2)
    assert sorted(bench.told.told) == [(1, NOT_LEADER), (2, NOT_LEADER), (3, NOT_LEADER)]
    assert held.ended == [NOT_LEADER]
    partition.guards.answer(guard, 0)
    assert held.ended == [NOT_LEADER], "the coordinator's answer came too late"
    assert bench.hub.ripe == [reader]
    partition.invariants()


def test_what_was_queued_is_written_and_counts_for_nothing() -> None:
    bench = Bench()
    partition = bench.lead()
    bench.append(1)
    partition.follow(OTHER, 2)
    partition.write()
    bench.flush()
    assert (partition.log.durable_end, partition.high_watermark) == (1, 0)


def test_a_follower_takes_nothing_from_clients() -> None:
    bench = Bench()
    bench.partition.follow(OTHER, 1)
    batch = build_batch([Record(0, 0, b"k", b"v")])
    with pytest.raises(KafkaError) as refused:
        bench.partition.append(batch, 0, len(batch), CLIENT)
    assert refused.value.code == NOT_LEADER
    assert bench.partition.log.end_offset == 0


def test_a_followers_high_watermark_is_what_the_leader_says_as_far_as_its_own_disk_has_it() -> None:
    bench = Bench()
    partition = bench.partition
    partition.follow(OTHER, 1)
    made = bytearray(build_batch([Record(0, 0, b"k", b"v"), Record(0, 0, b"k", b"w")]))
    made[12:16] = (1).to_bytes(4, "big")
    batch = bytes(made)
    partition.append_replicated(batch, 0, len(batch))
    partition.write()
    partition.leader_says(1, 0)
    assert partition.high_watermark == 0
    assert bench.hub.followed == [partition]
    bench.flush()
    assert partition.high_watermark == 1
    partition.leader_says(2, 0)
    assert partition.high_watermark == 2
    partition.leader_says(1, 0)
    assert partition.high_watermark == 2, "an answer from before"
    partition.leader_says(2, 1)
    assert partition.log.start_offset == 1
    partition.invariants()


def test_after_a_truncation_the_high_watermark_is_within_the_log() -> None:
    bench = Bench()
    partition = bench.partition
    bench.store(1, 2, 3)
    partition.follow(OTHER, 1)
    bench.hub.unflushed.clear()
    partition.log.truncate_to(1)
    partition.truncated()
    assert partition.high_watermark == 1
    assert partition in bench.hub.unflushed
    partition.invariants()


def test_a_new_leader_keeps_its_high_watermark_until_its_followers_have_spoken() -> None:
    bench = Bench()
    bench.store(1, 2, 3)
    partition = bench.partition
    partition.follow(OTHER, 1)
    partition.high_watermark = 1
    bench.lead(leader_epoch=2)
    assert partition.high_watermark == 1
    assert not partition.high_watermark_is_known
    bench.claim(OTHER, 3)
    assert not partition.high_watermark_is_known
    bench.claim(THIRD, 3)
    assert partition.high_watermark_is_known
    assert partition.high_watermark == 3


def test_a_new_leader_without_others_in_sync_has_committed_everything() -> None:
    bench = Bench()
    bench.store(1, 2)
    partition = bench.partition
    partition.follow(OTHER, 1)
    partition.high_watermark = 1
    bench.lead(leader_epoch=2, isr=(ME,))
    assert partition.high_watermark == 2


def test_claims_of_an_earlier_epoch_do_not_count() -> None:
    bench = Bench()
    partition = bench.lead(replicas=(ME, OTHER), isr=(ME, OTHER))
    bench.store(1)
    bench.claim(OTHER, 1)
    partition.lead(2, 2, (ME, OTHER), (ME, OTHER), bench.now_ms)
    bench.store(2)
    assert partition.high_watermark == 1
    bench.claim(OTHER, 2)
    assert partition.high_watermark == 2


def test_who_waits_for_a_leader_that_stays_one_waits_on() -> None:
    bench = Bench()
    partition = bench.lead()
    bench.store(1)
    partition.lead(2, 2, (ME, OTHER, THIRD), (ME, OTHER, THIRD), bench.now_ms)
    assert bench.told.told == []
    bench.claim(OTHER, 1)
    bench.claim(THIRD, 1)
    assert bench.told.told == [(1, 0)]


def test_a_partition_that_loses_its_last_follower_goes_on_alone() -> None:
    bench = Bench()
    partition = bench.lead(replicas=(ME, OTHER), isr=(ME, OTHER))
    bench.store(1)
    partition.update(2, (ME,), (ME,), bench.now_ms)
    assert (bench.told.told, partition.alone, bench.hub.replicated) == ([(1, 0)], True, {})
    bench.store(2)
    assert bench.told.told == [(1, 0), (2, 0)]


def test_one_that_gets_its_first_follower_waits_for_it_once_it_is_in_sync() -> None:
    bench = Bench()
    partition = bench.lead(replicas=(ME,), isr=(ME,))
    bench.store(1)
    partition.update(2, (ME, OTHER), (ME,), bench.now_ms)
    bench.store(2)
    assert bench.told.told == [(1, 0), (2, 0)]
    bench.claim(OTHER, 2)
    bench.agree()
    bench.store(3)
    assert bench.told.told == [(1, 0), (2, 0)]
    bench.claim(OTHER, 3)
    assert bench.told.told == [(1, 0), (2, 0), (3, 0)]


def test_epochs_in_which_nothing_was_written_end_where_the_leaders_log_ends() -> None:
    bench = Bench()
    partition = bench.lead(leader_epoch=1)
    bench.store(1, 2)
    bench.lead(leader_epoch=4)
    assert partition.epoch_end_offset(4) == (4, 2)
    assert partition.epoch_end_offset(3) == (1, 2), "of 2 and 3 nothing is here: whoever has some of it must cut it off"
    assert partition.epoch_end_offset(5) == (-1, -1)
    partition.follow(OTHER, 5)
    assert partition.epoch_end_offset(4) == (-1, -1), "only the leader knows"

"""A follower whose leader has let go of what it asks for begins behind what the tier has, and knows what is there."""

from __future__ import annotations

import pytest

from tapelog.log.producer_state import ProducerState
from tapelog.log.snapshots import render_snapshot
from tapelog.log.trim import Seed
from tapelog.wire.errors import ErrorCode
from tests.unit.replication.follower_bench import FollowerBench, batch, part, tell_range

pytestmark = pytest.mark.both_ways

TIERED = int(ErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE)
EARLIEST_LOCAL = -4
WAIT_MS = 400


def tiered_bench() -> FollowerBench:
    return FollowerBench(remote_storage_enable="true")


def seed(start: int = 0) -> Seed:
    state = ProducerState()
    state.add(9, 0, 4, 499, 0, 1000, False)
    state.commit()
    return Seed(start, [(1, 0), (3, 200)], render_snapshot(state))


def send_to_tier(bench: FollowerBench, start: int = 0, local_start: int = 480) -> None:
    """The leader has let go of what it is asked for, and says so."""
    bench.answer(part(error=TIERED))
    tell_range(bench, start, local_start, EARLIEST_LOCAL)


def give_seed(bench: FollowerBench, offset: int | None, start: int = 0) -> tuple[int, int]:
    """The tier answers; returns what it was asked."""
    asked, done = bench.seeds.pop()
    done(None if offset is None else (offset, seed(start)))
    bench.settle()
    bench.pass_time(3)
    return asked


def test_a_new_replica_begins_behind_what_the_tier_has() -> None:
    bench = tiered_bench()
    bench.follow()
    assert bench.position() == (0, -1)
    send_to_tier(bench, 20, 480)
    assert give_seed(bench, 500, 20) == (20, 480)
    log = bench.partitions[0].log
    assert (log.start_offset, log.local_start_offset, log.end_offset) == (20, 500, 500)
    assert list(log.producers.entries) == [9]
    assert bench.position() == (500, 3)
    bench.answer(part(0, batch(500, 5), high_watermark=501, start=20))
    assert bench.partitions[0].high_watermark == 501
    assert log.leader_epoch_cache.entries() == [(1, 20), (3, 200), (5, 500)]


def test_what_a_replica_learnt_from_the_tier_is_there_after_a_power_cut() -> None:
    bench = tiered_bench()
    bench.follow()
    send_to_tier(bench)
    give_seed(bench, 500)
    bench.answer(part(0, batch(500, 5), high_watermark=501))
    bench.power_cut()
    log = bench.partitions[0].log
    assert (log.start_offset, log.local_start_offset, log.end_offset) == (0, 500, 501)
    assert log.leader_epoch_cache.entries() == [(1, 0), (3, 200), (5, 500)]
    assert list(log.producers.entries) == [9]


def test_a_replica_far_behind_gives_up_what_it_has() -> None:
    bench = tiered_bench()
    bench.lead((1, 10))
    bench.follow()
    assert bench.position() == (10, 1)
    send_to_tier(bench)
    give_seed(bench, 500)
    log = bench.partitions[0].log
    assert (log.start_offset, log.local_start_offset, log.end_offset) == (0, 500, 500)
    assert bench.partitions[0].high_watermark == 500


def test_a_tier_that_does_not_tell_is_asked_again() -> None:
    bench = tiered_bench()
    bench.lead((1, 10))
    bench.follow()
    send_to_tier(bench)
    give_seed(bench, None)
    assert bench.end() == 10
    bench.pass_time(WAIT_MS)
    assert bench.position() == (10, 1)
    send_to_tier(bench)
    give_seed(bench, 500)
    assert bench.end() == 500


def test_a_leader_that_says_nothing_of_its_own_disk_is_asked_again() -> None:
    bench = tiered_bench()
    bench.follow()
    send_to_tier(bench, 0, -1)
    assert not bench.seeds
    bench.pass_time(WAIT_MS)
    assert bench.position() == (0, -1)


def test_an_answer_of_the_tier_after_a_change_of_role_changes_nothing() -> None:
    bench = tiered_bench()
    bench.lead((1, 10))
    bench.follow()
    send_to_tier(bench)
    bench.follow(epoch=6)
    give_seed(bench, 500)
    assert bench.end() == 10


def test_a_topic_without_a_tier_never_begins_in_one() -> None:
    bench = FollowerBench()
    bench.follow()
    bench.answer(part(error=TIERED))
    bench.pass_time(WAIT_MS)
    assert not bench.seeds
    assert bench.position() == (0, -1)


def test_a_log_that_parts_with_its_leader_below_its_local_start_begins_anew() -> None:
    bench = tiered_bench()
    bench.follow()
    send_to_tier(bench)
    give_seed(bench, 500)
    bench.answer(part(diverging=(1, 150), high_watermark=600))
    bench.settle()
    tell_range(bench, 0, 300, EARLIEST_LOCAL)
    give_seed(bench, 310)
    assert bench.partitions[0].log.local_start_offset == bench.end() == 310


def test_a_log_that_parts_with_a_leader_that_has_everything_itself_begins_anew_there() -> None:
    bench = tiered_bench()
    bench.follow()
    send_to_tier(bench)
    give_seed(bench, 500)
    bench.answer(part(diverging=(1, 150), high_watermark=600))
    bench.settle()
    tell_range(bench, 0, 0, EARLIEST_LOCAL)
    bench.pass_time(3)
    log = bench.partitions[0].log
    assert (log.start_offset, log.local_start_offset, log.end_offset) == (0, 0, 0)
    assert bench.position() == (0, -1)


def test_a_log_beyond_the_end_of_a_leader_that_ends_in_the_tier_begins_anew() -> None:
    bench = tiered_bench()
    bench.follow()
    send_to_tier(bench)
    give_seed(bench, 500)
    bench.answer(part(error=int(ErrorCode.OFFSET_OUT_OF_RANGE)))
    tell_range(bench, 0, 300)
    tell_range(bench, 0, 200, EARLIEST_LOCAL)
    give_seed(bench, 250)
    log = bench.partitions[0].log
    assert (log.start_offset, log.local_start_offset, log.end_offset) == (0, 250, 250)

"""A leader with followers: what is committed, who is told when, and what min.insync.replicas asks."""

from __future__ import annotations

import pytest

from tapelog.log.config import LogConfig
from tapelog.log.log import COORDINATOR
from tapelog.replication.leadership import GOOD_RESTS, REST_MS, REST_MS_MAX
from tapelog.replication.majority import PATIENCE_MS as QUORUM_PATIENCE_MS
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.record_batch import Record, build_batch
from tests.unit.replication.bench import ME, OTHER, THIRD, Bench, Reader

AFTER_APPEND = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


def test_acks_all_is_told_when_every_in_sync_replica_has_it_on_disk() -> None:
    bench = Bench()
    bench.lead()
    bench.store(1)
    assert (bench.told.told, bench.high_watermark) == ([], 0)
    bench.claim(OTHER, 1)
    assert bench.told.told == []
    bench.claim(THIRD, 1)
    assert (bench.told.told, bench.high_watermark) == ([(1, 0)], 1)


def test_the_leaders_own_disk_counts_too() -> None:
    bench = Bench()
    bench.lead()
    bench.append(1)
    bench.partition.write()
    bench.claim(OTHER, 1)
    bench.claim(THIRD, 1)
    assert (bench.told.told, bench.high_watermark) == ([], 0), "followers were faster than our disk"
    bench.flush()
    assert bench.told.told == [(1, 0)]


def test_acks_one_is_told_when_the_leaders_disk_has_it() -> None:
    bench = Bench()
    bench.lead()
    bench.append(1, acks=1)
    bench.partition.write()
    assert bench.told.told == []
    bench.flush()
    assert (bench.told.told, bench.high_watermark) == ([(1, 0)], 0)


def test_on_page_cache_topics_what_is_written_counts() -> None:
    bench = Bench(tapelog_flush="page-cache")
    bench.lead()
    bench.append(1, acks=1)
    bench.append(2)
    bench.partition.write()
    assert bench.told.told == [(1, 0)]
    bench.claim(OTHER, 2)
    bench.claim(THIRD, 2)
    assert bench.told.told == [(1, 0), (2, 0)]


def test_a_replica_out_of_sync_is_not_waited_for() -> None:
    bench = Bench()
    bench.lead(isr=(ME, OTHER))
    bench.store(1)
    bench.claim(OTHER, 1)
    assert bench.told.told == [(1, 0)]


def test_a_replica_about_to_enter_the_isr_is_waited_for() -> None:
    bench = Bench()
    bench.lead(isr=(ME, OTHER))
    bench.store(1)
    bench.claim(OTHER, 1)
    bench.hub.alive[THIRD] = 99  # the image does not know it yet: it cannot be asked in
    bench.partition.follower_fetched(THIRD, 1, 100, bench.now_ms)
    bench.hub.alive[THIRD] = 100
    bench.store(2)
    bench.claim(OTHER, 2)
    assert bench.high_watermark == 1, "else it would never get there under load"
    bench.claim(THIRD, 2)
    assert bench.high_watermark == 2
    assert bench.asked().ids == (ME, OTHER, THIRD)


def test_one_who_only_seemed_to_come_is_not_waited_for_for_ever() -> None:
    bench = Bench()
    bench.lead(isr=(ME, OTHER))
    bench.hub.alive[THIRD] = 99
    bench.partition.follower_fetched(THIRD, 0, 100, bench.now_ms)
    bench.hub.alive[THIRD] = 100
    bench.store(1)
    bench.claim(OTHER, 1)
    assert bench.told.told == []
    bench.now_ms += bench.hub.lag_ms_max + 1
    bench.partition.check_isr(bench.now_ms)
    assert bench.told.told == [(1, 0)]


def test_a_follower_that_goes_back_does_not_take_the_high_watermark_with_it() -> None:
    bench = Bench()
    bench.lead(replicas=(ME, OTHER), isr=(ME, OTHER))
    bench.store(1, 2)
    bench.claim(OTHER, 2)
    bench.claim(OTHER, 1)
    assert bench.high_watermark == 2
    bench.store(3)
    bench.claim(OTHER, 2)
    assert bench.high_watermark == 2
    bench.claim(OTHER, 3)
    assert bench.high_watermark == 3


def test_fetches_of_followers_wake_up_when_something_is_written() -> None:
    bench = Bench()
    bench.lead()
    follower, consumer = Reader(), Reader()
    bench.partition.add_replica_fetch(follower)
    bench.partition.add_fetch(consumer)
    bench.append(1)
    bench.partition.write()
    assert bench.hub.ripe == [follower]
    bench.flush()
    bench.claim(OTHER, 1)
    bench.claim(THIRD, 1)
    assert bench.hub.ripe == [follower, consumer]


# -- min.insync.replicas


def test_too_few_in_sync_are_noticed_and_forgotten() -> None:
    bench = Bench(min_insync_replicas="2")
    partition = bench.lead(isr=(ME,))
    assert partition.under_min_isr
    partition.update(2, (ME, OTHER, THIRD), (ME, OTHER), bench.now_ms)
    assert not partition.under_min_isr


def test_no_more_are_asked_for_than_there_are_replicas() -> None:
    bench = Bench(min_insync_replicas="3")
    assert not bench.lead(replicas=(ME, OTHER), isr=(ME, OTHER)).under_min_isr


def test_who_waits_is_told_when_the_isr_shrinks_too_far() -> None:
    bench = Bench(min_insync_replicas="2")
    bench.lead()
    bench.store(1)
    bench.append(2, acks=1)
    bench.partition.update(2, (ME, OTHER, THIRD), (ME,), bench.now_ms)
    assert bench.told.told == [(1, AFTER_APPEND)]
    bench.partition.write()
    bench.flush()
    assert bench.told.told == [(1, AFTER_APPEND), (2, 0)], "acks=1 never waited for them"


def test_below_min_isr_nothing_more_is_committed() -> None:
    bench = Bench(min_insync_replicas="2")
    bench.lead(isr=(ME,))
    bench.store(1, acks=1)
    assert (bench.told.told, bench.high_watermark) == ([(1, 0)], 0)
    bench.partition.update(2, (ME, OTHER, THIRD), (ME, OTHER), bench.now_ms)
    bench.claim(OTHER, 1)
    assert bench.high_watermark == 1


def test_coordinators_write_nothing_below_min_isr() -> None:
    bench = Bench(min_insync_replicas="2")
    partition = bench.lead(isr=(ME,))
    batch = build_batch([Record(0, 0, b"k", b"v")])
    with pytest.raises(KafkaError) as refused:
        partition.append(batch, 0, len(batch), COORDINATOR)
    assert refused.value.code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert partition.log.end_offset == 0


# -- tapelog.acks=quorum


def _waits_for(bench: Bench, by_ms: int) -> None:
    """Let the clock look twice, by_ms apart."""
    bench.partition.hurry(bench.now_ms)
    bench.partition.hurry(bench.now_ms + by_ms)


def test_with_quorum_the_slow_one_is_asked_out_before_a_majority_is_enough() -> None:
    bench = Bench(tapelog_acks="quorum")
    partition = bench.lead()
    bench.store(1)
    bench.claim(THIRD, 1)
    assert bench.told.told == [], "OTHER might be elected, and has nothing of it"
    _waits_for(bench, QUORUM_PATIENCE_MS)
    assert partition.leadership is not None
    change = partition.leadership.in_sync.asked
    assert change is not None and change.ids == (ME, THIRD)
    assert bench.told.told == [], "not before the controller agrees"
    partition.isr_agreed(change, (ME, THIRD), 1, bench.now_ms)
    assert (bench.told.told, bench.high_watermark) == ([(1, 0)], 1)


def test_with_quorum_the_high_watermark_does_not_wait_for_who_was_asked_out() -> None:
    bench = Bench(tapelog_acks="quorum")
    bench.lead()
    bench.claim(OTHER, 0)  # it had everything a moment ago, and may come back
    bench.store(1)
    bench.claim(THIRD, 1)
    _waits_for(bench, QUORUM_PATIENCE_MS)
    bench.agree()
    assert (bench.isr, bench.told.told) == ((ME, THIRD), [(1, 0)])
    bench.claim(OTHER, 1, QUORUM_PATIENCE_MS + REST_MS)
    assert bench.agree().ids == (ME, THIRD, OTHER)


def test_with_quorum_the_slow_one_has_a_moment() -> None:
    bench = Bench(tapelog_acks="quorum")
    partition = bench.lead()
    bench.store(1)
    bench.claim(THIRD, 1)
    _waits_for(bench, QUORUM_PATIENCE_MS - 1)
    assert partition.leadership is not None and partition.leadership.in_sync.asked is None
    bench.claim(OTHER, 1)
    assert (bench.told.told, bench.high_watermark) == ([(1, 0)], 1)


def test_with_quorum_nobody_is_asked_out_without_a_majority() -> None:
    bench = Bench(tapelog_acks="quorum")
    partition = bench.lead()
    bench.store(1)
    _waits_for(bench, 10 * QUORUM_PATIENCE_MS)
    assert partition.leadership is not None and partition.leadership.in_sync.asked is None


def _slow_once(bench: Bench, number: int) -> None:
    """OTHER holds up what THIRD has, and is asked out."""
    end = bench.partition.log.end_offset + 1
    bench.store(number)
    bench.claim(THIRD, end)
    _waits_for(bench, QUORUM_PATIENCE_MS)
    bench.now_ms += QUORUM_PATIENCE_MS
    assert bench.agree().ids == (ME, THIRD)
    assert bench.high_watermark == end


def _comes_back_after(bench: Bench, rest_ms: int) -> None:
    """OTHER has everything, again and again, and is let in when so much time has passed, not before."""
    bench.claim(OTHER, bench.high_watermark, rest_ms - 1)
    assert bench.hub.isr_changes == [] and bench.isr == (ME, THIRD)
    bench.store(-1)
    bench.claim(THIRD, bench.high_watermark + 1)
    assert bench.high_watermark == bench.partition.log.end_offset, "nor does anybody wait for it"
    bench.claim(OTHER, bench.high_watermark, 1)
    assert bench.agree().ids == (ME, THIRD, OTHER)


def test_with_quorum_a_slow_one_rests_and_longer_each_time() -> None:
    bench = Bench(tapelog_acks="quorum")
    bench.lead()
    for number, rest_ms in enumerate((REST_MS, 2 * REST_MS, 4 * REST_MS)):
        _slow_once(bench, number)
        _comes_back_after(bench, rest_ms)
    bench.now_ms += GOOD_RESTS * 4 * REST_MS
    _slow_once(bench, 9)
    _comes_back_after(bench, REST_MS)


def test_with_quorum_one_that_was_not_let_go_has_not_rested() -> None:
    bench = Bench(tapelog_acks="quorum")
    lead = bench.lead().leadership
    assert lead is not None
    bench.store(1)
    bench.claim(THIRD, 1)
    for _ in range(3):
        _waits_for(bench, 10 * QUORUM_PATIENCE_MS)
        change = lead.in_sync.asked
        assert change is not None and lead.rests[OTHER].rest_ms == REST_MS
        bench.partition.isr_refused(change, int(ErrorCode.INELIGIBLE_REPLICA), bench.now_ms)
        assert OTHER not in lead.rests
        bench.now_ms += 1000


def test_with_quorum_nobody_rests_longer_than_a_minute() -> None:
    bench = Bench(tapelog_acks="quorum")
    lead = bench.lead().leadership
    assert lead is not None
    for _ in range(12):
        lead.rest([OTHER], bench.now_ms)
        bench.now_ms = lead.rests[OTHER].until_ms
    assert lead.rests[OTHER].rest_ms == REST_MS_MAX


def test_with_quorum_a_slow_one_is_let_in_at_once_where_it_is_needed() -> None:
    bench = Bench(tapelog_acks="quorum")
    partition = bench.lead()
    _slow_once(bench, 1)
    partition.update(9, (ME, OTHER, THIRD), (ME,), bench.now_ms)
    bench.claim(OTHER, bench.high_watermark)
    assert bench.agree().ids == (ME, OTHER), "one alone cannot acknowledge anything"


def test_without_quorum_nobody_is_hurried() -> None:
    bench = Bench()
    partition = bench.lead()
    bench.store(1)
    bench.claim(THIRD, 1)
    _waits_for(bench, 10 * QUORUM_PATIENCE_MS)
    assert partition.leadership is not None and partition.leadership.in_sync.asked is None


def test_with_quorum_a_minority_in_sync_is_too_few() -> None:
    bench = Bench(tapelog_acks="quorum")
    assert bench.lead(isr=(ME,)).under_min_isr


def test_with_quorum_replicas_out_of_sync_do_not_count() -> None:
    bench = Bench(tapelog_acks="quorum")
    bench.lead(replicas=(ME, OTHER, THIRD, 4, 5), isr=(ME, OTHER, THIRD))
    bench.store(1)
    bench.claim(OTHER, 1)
    bench.partition.follower_fetched(4, 1, -1, bench.now_ms)
    assert bench.told.told == []
    bench.claim(THIRD, 1)
    assert bench.told.told == [(1, 0)]


# -- waiting


@pytest.mark.parametrize("flush", ["fsync", "page-cache"])
def test_acks_one_is_answered_when_the_followers_are_taken_away_meanwhile(flush: str) -> None:
    bench = Bench(tapelog_flush=flush)
    partition = bench.lead()
    bench.append(1, acks=1)
    partition.update(2, (ME,), (ME,), bench.now_ms)
    assert partition.alone and bench.told.told == []
    partition.write()
    bench.flush()
    assert bench.told.told == [(1, 0)]


def test_who_has_waited_too_long_is_told_so() -> None:
    bench = Bench()
    bench.lead()
    bench.store(1)
    bench.told.deadline_ms = 500
    bench.partition.expire_parked(499)
    assert bench.told.told == []
    bench.partition.expire_parked(500)
    assert bench.told.told == [(1, ErrorCode.REQUEST_TIMED_OUT)]
    bench.claim(OTHER, 1)
    bench.claim(THIRD, 1)
    assert bench.high_watermark == 1
    assert len(bench.told.told) == 1


def test_markers_on_page_cache_topics_wait_for_followers_and_the_disk() -> None:
    bench = Bench(tapelog_flush="page-cache")
    partition = bench.lead()
    end = bench.append(0, acks=0) + 1
    partition.park_marker(end, bench.told, 7)
    partition.write()
    bench.claim(OTHER, end)
    bench.claim(THIRD, end)
    assert (bench.high_watermark, bench.told.told) == (1, [])
    bench.flush()
    assert bench.told.told == [(7, 0)]
    end = bench.append(0, acks=0) + 1
    partition.park_marker(end, bench.told, 8)
    partition.write()
    bench.flush()
    assert bench.told.told == [(7, 0)]
    bench.claim(OTHER, end)
    bench.claim(THIRD, end)
    assert bench.told.told == [(7, 0), (8, 0)]


# -- settings that change


def test_min_insync_replicas_may_change_while_it_runs() -> None:
    bench = Bench()
    partition = bench.lead(isr=(ME, OTHER))
    assert not partition.under_min_isr
    partition.log.update_config(LogConfig({"min.insync.replicas": "3"}))
    partition.use_config()
    assert partition.under_min_isr


@pytest.mark.parametrize("alone", [True, False])
def test_what_is_written_counts_as_soon_as_the_page_cache_is_enough(alone: bool) -> None:
    bench = Bench()
    partition = bench.lead(replicas=(ME,), isr=(ME,)) if alone else bench.lead(replicas=(ME, OTHER), isr=(ME, OTHER))
    bench.append(1)
    partition.write()
    if not alone:
        bench.claim(OTHER, 1)
    assert bench.told.told == []
    partition.log.update_config(LogConfig({"tapelog.flush": "page-cache"}))
    partition.use_config()
    assert bench.told.told == [(1, 0)]


def test_what_counted_as_written_is_flushed_when_the_page_cache_is_not_enough_any_more() -> None:
    bench = Bench(tapelog_flush="page-cache")
    partition = bench.lead(replicas=(ME,), isr=(ME,))
    bench.append(1)
    partition.write()
    assert (bench.high_watermark, bench.hub.unflushed) == (1, [])
    partition.log.update_config(LogConfig({}))
    partition.use_config()
    assert bench.hub.unflushed == [partition]
    bench.flush()
    partition.invariants()


def test_page_cache_topics_are_flushed_after_so_many_messages() -> None:
    bench = Bench(tapelog_flush="page-cache", flush_messages="3")
    partition = bench.lead()
    for number in range(2):
        bench.append(number)
        partition.write()
    assert bench.hub.unflushed == []
    bench.append(2)
    partition.write()
    assert bench.hub.unflushed == [partition]
    bench.flush()
    bench.hub.unflushed.clear()
    bench.append(3)
    partition.write()
    assert bench.hub.unflushed == []


def test_only_what_is_led_with_followers_is_looked_after_by_the_clock() -> None:
    bench = Bench()
    partition = bench.lead()
    assert partition in bench.hub.replicated
    partition.follow(OTHER, 2)
    assert bench.hub.replicated == {}
    bench.lead(leader_epoch=3)
    partition.close()
    assert bench.hub.replicated == {}


# -- the low watermark


def test_the_low_watermark_is_the_least_start_of_those_who_are_there() -> None:
    bench = Bench()
    assert bench.partition.low_watermark() == 0
    bench.lead()
    bench.store(1, 2, 3)
    bench.claim(OTHER, 3)
    bench.claim(THIRD, 3)
    bench.partition.log.increment_start_offset(3)
    assert bench.partition.low_watermark() == -1, "nobody has said where it begins"
    for replica, start, low in ((OTHER, 3, -1), (THIRD, 1, 1), (THIRD, 3, 3)):
        bench.partition.follower_fetched(replica, 3, bench.hub.alive[replica], bench.now_ms, start)
        assert bench.partition.low_watermark() == low
    bench.partition.follower_fetched(OTHER, 3, bench.hub.alive[OTHER], bench.now_ms, 0)
    del bench.hub.alive[OTHER]
    assert bench.partition.low_watermark() == 3, "whoever is gone will learn of it when it is back"


def test_who_waits_for_the_low_watermark_looks_again_when_something_happens() -> None:
    bench, waiter = Bench(), Reader()
    bench.lead()

    def woken() -> bool:
        found, waiter.ripe = waiter.ripe, False
        bench.hub.ripe.clear()
        return found

    bench.partition.add_low_waiter(waiter)
    bench.partition.follower_fetched(OTHER, 0, bench.hub.alive[OTHER], bench.now_ms, 0)
    assert woken()
    bench.partition.follower_fetched(OTHER, 0, bench.hub.alive[OTHER], bench.now_ms, 0)
    assert not woken(), "the same start again"
    for happens in (
        lambda: bench.partition.brokers_changed(bench.now_ms),
        lambda: bench.partition.update(5, (ME, OTHER), (ME, OTHER), bench.now_ms),
        lambda: bench.partition.follow(OTHER, 9),
        lambda: bench.partition.close(),
    ):
        happens()
        assert woken()
    bench.partition.remove_low_waiter(waiter)
    bench.partition.wake_low_waiters()
    assert not woken()

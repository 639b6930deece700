"""A follower's fetcher: what it asks for, what it does with the answers, and when it asks again."""

from __future__ import annotations

import pytest

from tapelog.log.log import CLIENT
from tapelog.replication.followed import Limits
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.fetch_request import FetchRequest
from tapelog.wire.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tapelog.wire.record_batch import Record, build_batch
from tests.unit.replication.follower_bench import TOPIC, FollowerBench, batch, part, tell_range

NOT_LEADER = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
OUT_OF_RANGE = int(ErrorCode.OFFSET_OUT_OF_RANGE)


def test_an_empty_follower_asks_from_the_start_and_says_who_it_is() -> None:
    bench = FollowerBench()
    bench.follow(epoch=3)
    request = bench.request
    assert request.replica_state is not None
    assert (request.replica_state.replica_id, request.replica_state.replica_epoch) == (1, 7)
    (asked,) = bench.asked()
    assert (asked.fetch_offset, asked.last_fetched_epoch, asked.current_leader_epoch) == (0, -1, 3)


def test_it_asks_again_only_when_the_disk_has_what_it_got() -> None:
    bench = FollowerBench()
    bench.follow()
    bench.answer(part(0, batch(0, 4, 3) + batch(3, 5)), flush=False)
    assert bench.end() == 4
    assert bench.partitions[0].log.durable_end == 0
    assert not bench.sent
    bench.pass_time(1)
    assert bench.position() == (4, 5)
    assert bench.partitions[0].log.leader_epoch_cache.entries() == [(4, 0), (5, 3)]


def test_a_page_cache_topic_asks_again_when_it_is_written() -> None:
    bench = FollowerBench(tapelog_flush="page-cache")
    bench.follow()
    bench.answer(part(0, batch(0, 5)), flush=False)
    assert bench.position() == (1, 5)


def test_high_watermark_and_start_are_the_leaders_as_far_as_the_own_disk_goes() -> None:
    bench = FollowerBench()
    bench.follow()
    partition = bench.partitions[0]
    bench.answer(part(0, batch(0, 5, 5), high_watermark=9, start=2), flush=False)
    assert (partition.high_watermark, partition.log.start_offset) == (0, 0)
    bench.pass_time(1)
    assert (partition.high_watermark, partition.log.start_offset) == (5, 2)
    bench.answer(part(0, batch(5, 5, 5), high_watermark=7, start=2))
    assert partition.high_watermark == 7


def test_a_tail_that_the_leader_does_not_have_is_cut_off() -> None:
    bench = FollowerBench()
    bench.lead((1, 10), (2, 5))
    bench.follow(epoch=3)
    assert bench.position() == (15, 2)
    bench.answer(part(0, diverging=(2, 12)))
    assert bench.end() == 12
    assert bench.position() == (12, 2)
    bench.answer(part(0, batch(12, 3)))
    assert bench.position() == (13, 3)
    assert bench.partitions[0].log.leader_epoch_cache.entries() == [(1, 0), (2, 10), (3, 12)]


def test_logs_that_part_several_epochs_back_meet_step_by_step() -> None:
    bench = FollowerBench()
    bench.lead((1, 10), (3, 5), (5, 5), (6, 5))
    bench.follow(epoch=9)
    assert bench.position() == (25, 6)
    bench.answer(part(0, diverging=(4, 14)))  # the leader wrote in 4, we never heard of it: 3 may be shared
    assert bench.position() == (15, 3)
    bench.answer(part(0, diverging=(2, 12)))
    assert bench.position() == (10, 1)
    bench.answer(part(0, batch(10, 2, 2) + batch(12, 4, 2)))
    assert bench.position() == (14, 4)
    assert bench.partitions[0].log.leader_epoch_cache.entries() == [(1, 0), (2, 10), (4, 12)]


def test_what_was_cut_off_stays_away_after_a_power_cut() -> None:
    for seed in range(20):
        bench = FollowerBench()
        bench.disk.entropy.below(seed + 1)
        bench.lead((1, 10), (5, 5))
        bench.directory.write_checkpoints({})
        bench.follow(epoch=6)
        bench.answer(part(0, diverging=(1, 8)))
        bench.answer(part(0, batch(8, 4, 3)))
        bench.power_cut()
        log = bench.partitions[0].log
        assert log.end_offset == 11
        assert log.leader_epoch_cache.entries() == [(1, 0), (4, 8)]


def test_a_divergence_that_leads_nowhere_cuts_nothing() -> None:
    bench = FollowerBench()
    bench.lead((1, 5))
    bench.follow()
    bench.answer(part(0, diverging=(1, 5)))
    assert bench.end() == 5
    assert bench.complaints
    assert not bench.sent


def test_a_follower_that_is_too_far_behind_begins_at_the_leaders_start() -> None:
    bench = FollowerBench()
    bench.lead((1, 5))
    bench.follow()
    bench.answer(part(0, error=OUT_OF_RANGE))
    tell_range(bench, 100, 120)
    log = bench.partitions[0].log
    assert (log.start_offset, log.end_offset) == (100, 100)
    assert bench.partitions[0].high_watermark == 100
    assert bench.position() == (100, -1)
    bench.answer(part(0, batch(100, 5), high_watermark=101, start=100))
    assert bench.position() == (101, 5)


def test_a_follower_that_is_ahead_of_its_leader_is_cut_to_the_leaders_end() -> None:
    bench = FollowerBench()
    bench.lead((1, 50))
    bench.follow()
    bench.answer(part(0, error=OUT_OF_RANGE))
    tell_range(bench, 0, 30)
    assert bench.position() == (30, 1)


def test_a_leader_that_deletes_within_a_batch_hands_over_that_batch() -> None:
    bench = FollowerBench()
    bench.lead((1, 5))
    bench.follow()
    bench.answer(part(0, error=OUT_OF_RANGE))
    tell_range(bench, 103, 120)
    assert bench.position() == (103, -1)
    bench.answer(part(0, batch(100, 4, 10) + batch(110, 4), high_watermark=120, start=103))
    log = bench.partitions[0].log
    assert (log.start_offset, log.end_offset) == (103, 111)
    assert bench.position() == (111, 4), "at 100 the leader would refuse it"


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
def test_errors_are_waited_out_a_little_longer_each_time(code: ErrorCode) -> None:
    bench = FollowerBench()
    bench.follow()
    for wait_ms in (20, 40, 80, 160, 160):
        bench.answer(part(0, error=int(code)), flush=False)
        assert not bench.sent
        bench.pass_time(wait_ms - 1)
        assert not bench.sent
        bench.pass_time(1)
        assert bench.position() == (0, -1)


def test_a_lost_connection_is_waited_out_and_everything_is_said_again() -> None:
    bench = FollowerBench(2)
    bench.follow(0, 1)
    bench.answer(part(0), part(1))
    assert bench.asked() == []
    bench.fail()
    assert not bench.sent
    bench.pass_time(20)
    assert [asked.partition for asked in bench.asked()] == [0, 1]
    assert bench.request.session_epoch == 0


def test_damaged_batches_are_not_taken() -> None:
    bench = FollowerBench()
    bench.follow()
    damaged = bytearray(batch(0, 5))
    damaged[-1] ^= 1
    bench.answer(part(0, bytes(damaged)))
    assert bench.end() == 0
    assert bench.complaints
    assert not bench.sent, "not at once"
    bench.pass_time(20)
    bench.answer(part(0, batch(0, 5)))
    assert bench.position() == (1, 5)


def test_answers_from_before_a_change_of_role_are_dropped() -> None:
    bench = FollowerBench()
    bench.follow(epoch=5)
    bench.follow(epoch=6)
    first, second = bench.sent
    assert first.lane != second.lane, "the new epoch does not wait for the old one's answer"
    bench.answer(part(0, batch(0, 5)))
    assert bench.end() == 0
    bench.answer(part(0, batch(0, 6)))
    assert bench.end() == 1


def test_a_leader_takes_nothing_of_what_it_asked_for_as_a_follower() -> None:
    bench = FollowerBench()
    bench.follow(epoch=5)
    bench.stop(0)
    bench.partitions[0].lead(6, 1, (1, 2), (1, 2), 0)
    bench.answer(part(0, batch(0, 5)))
    assert bench.end() == 0


def test_a_session_names_only_what_changed() -> None:
    bench = FollowerBench(3)
    bench.follow(0, 1, 2)
    assert (bench.request.session_id, bench.request.session_epoch, len(bench.asked())) == (0, 0, 3)
    bench.answer(part(0), part(1, batch(0, 5)), part(2))
    assert (bench.request.session_id, bench.request.session_epoch) == (99, 1)
    assert [(asked.partition, asked.fetch_offset) for asked in bench.asked()] == [(1, 1)]
    bench.answer()
    assert (bench.request.session_epoch, bench.asked()) == (2, [])


def test_a_partition_that_backs_off_is_forgotten_and_comes_back() -> None:
    bench = FollowerBench(2)
    bench.follow(0, 1)
    bench.answer(part(0, error=NOT_LEADER), part(1))
    assert [(topic.topic_id[0], topic.partitions) for topic in bench.request.forgotten_topics_data] == [(1, [0])]
    bench.pass_time(20)
    assert len(bench.sent) == 2, "on a lane that is free: the other one's request waits at the leader"


def test_a_lost_session_is_opened_again_at_once() -> None:
    bench = FollowerBench()
    bench.follow()
    bench.answer(part(0, batch(0, 5)))
    bench.answer(error=int(ErrorCode.FETCH_SESSION_ID_NOT_FOUND))
    assert bench.request.session_epoch == 0
    assert bench.position() == (1, 5)


def test_a_leader_without_room_for_sessions_is_told_everything_each_time() -> None:
    bench = FollowerBench(2)
    bench.follow(0, 1)
    for _ in range(3):
        bench.answer(part(0), part(1), session=0)
        bench.session = 0
        assert (bench.request.session_epoch, len(bench.asked())) == (0, 2)


def test_many_that_come_at_once_share_a_request() -> None:
    bench = FollowerBench(50)
    bench.rounds.partitions_max = 50
    bench.follow(*range(50))
    assert len(bench.asked()) == 50
    bench.answer(*[part(index, batch(0, 5)) for index in range(50)], flush=False)
    assert not bench.sent
    bench.pass_time(1)
    assert len(bench.asked()) == 50
    assert bench.rounds.rounds == 1, "one flush round for all"


def test_a_full_disk_takes_back_what_was_sent_and_it_is_fetched_again() -> None:
    bench = FollowerBench()
    bench.follow()
    bench.disk.capacity_bytes = bench.disk.total_bytes() - bench.disk.free_bytes() + 10
    bench.answer(part(0, batch(0, 5)))
    assert (bench.failed_writes, bench.end()) == (1, 0)
    assert not bench.sent, "not at once"
    assert bench.partitions[0].log.leader_epoch_cache.entries() == []
    bench.disk.capacity_bytes = None
    bench.pass_time(20)
    assert bench.position() == (0, -1)
    bench.answer(part(0, batch(0, 5)))
    assert bench.position() == (1, 5)


def test_a_throttled_partition_waits_while_the_rate_is_exceeded_and_others_do_not() -> None:
    bench = FollowerBench(2)
    bench.throttle.rate = 100
    bench.follow(0, throttled=True)
    bench.answer(part(0, batch(0, 5, 10)))
    assert not bench.sent, "some 200 bytes in a second, 100 are allowed"
    bench.follow(1)
    assert [asked.partition for asked in bench.asked()] == [1]
    bench.pass_time(3500)
    assert any(sent.lane == "fetch-1" for sent in bench.sent), "its time has come again"


def test_partitions_share_the_lanes_there_are_until_one_waits_at_the_leader() -> None:
    bench = FollowerBench(10)
    bench.limits = Limits(1, fetchers=2)
    bench.follow(0, 1)
    assert [lane.number for lane in bench.fetcher.lanes.all] == [0, 1]
    assert sorted(sent.lane for sent in bench.sent) == ["fetch-0", "fetch-1"]
    bench.follow(2, 3)
    assert len(bench.fetcher.lanes.all) == 3, "both wait; those that come together share one more"
    for index in range(4, 10):
        bench.follow(index)
    assert len(bench.fetcher.lanes.all) == len(bench.sent) == 6, "at most four beyond those two"


def test_an_additional_lane_gives_its_partitions_back_when_nothing_happens() -> None:
    bench = FollowerBench(3)
    bench.follow(0)
    bench.answer(part(0))
    bench.pass_time(100)
    bench.follow(1)
    first, second = bench.sent
    assert (first.lane, second.lane) == ("fetch-0", "fetch-1")
    assert isinstance(second.request, FetchRequest)
    assert 300 < second.request.max_wait_ms < 400, "until the first one comes back"
    bench.pass_time(385)
    bench.sent.reverse()
    bench.answer(part(1))
    assert bench.sent[1].request.session_epoch == -1, "its session ends"  # type: ignore[attr-defined]
    bench.sent.pop().done(None)
    bench.answer(part(0))
    assert [asked.partition for asked in bench.asked()] == [1]
    assert bench.sent[0].lane == "fetch-0"
    bench.follow(2)
    assert [sent.lane for sent in bench.sent] == ["fetch-0", "fetch-1"], "it is free for the next"


def test_an_additional_lane_gives_nothing_to_one_that_nobody_answers() -> None:
    bench = FollowerBench(2)
    bench.follow(0)
    bench.pass_time(5000)  # the leader lost power, and is back
    bench.follow(1)
    assert [sent.lane for sent in bench.sent] == ["fetch-0", "fetch-1"]
    bench.sent.reverse()
    for _ in range(3):
        assert isinstance(bench.sent[0].request, FetchRequest)
        assert bench.sent[0].request.max_wait_ms == 500, "it waits for nobody"
        bench.answer(part(1))
        bench.sent.reverse()
        assert [sent.lane for sent in bench.sent] == ["fetch-1", "fetch-0"]


def test_an_additional_lane_that_is_busy_keeps_its_partitions() -> None:
    bench = FollowerBench(2)
    bench.follow(0)
    bench.follow(1)
    bench.sent.reverse()
    bench.answer(part(1, batch(0, 5)))
    assert [sent.lane for sent in bench.sent] == ["fetch-0", "fetch-1"]


def test_one_that_led_until_now_is_fetched_when_its_own_tail_is_on_disk() -> None:
    bench = FollowerBench()
    bench.lead((1, 2))
    data = build_batch([Record(0, 1000, b"k", b"ours")])
    bench.partitions[0].append(data, 0, len(data), CLIENT)
    bench.follow(epoch=3)
    assert not bench.sent
    bench.pass_time(2)
    assert bench.position() == (3, 1)


def test_one_that_goes_away_does_not_hold_up_the_others() -> None:
    bench = FollowerBench(2)
    bench.follow(0, 1)
    bench.answer(part(0, batch(0, 5)), part(1), flush=False)
    assert not bench.sent
    bench.stop(0)
    assert bench.asked() == []
    assert [topic.partitions for topic in bench.request.forgotten_topics_data] == [[0]]


def test_sessions_that_are_lost_again_and_again_are_waited_for() -> None:
    bench = FollowerBench()
    bench.follow()
    for _ in range(3):
        bench.answer(error=int(ErrorCode.FETCH_SESSION_ID_NOT_FOUND), flush=False)
        assert bench.position() == (0, -1)
    bench.answer(error=int(ErrorCode.FETCH_SESSION_ID_NOT_FOUND), flush=False)
    assert not bench.sent
    bench.pass_time(160)
    bench.answer(part(0))
    bench.answer(error=int(ErrorCode.FETCH_SESSION_ID_NOT_FOUND), flush=False)
    assert bench.position() == (0, -1), "it went well in between"


def test_an_answer_that_is_an_error_as_a_whole_is_waited_out() -> None:
    bench = FollowerBench()
    bench.follow()
    bench.answer(error=int(ErrorCode.UNKNOWN_SERVER_ERROR), flush=False)
    assert not bench.sent
    bench.pass_time(20)
    assert bench.position() == (0, -1)


def test_a_leader_has_longer_to_answer_than_it_may_wait() -> None:
    bench = FollowerBench()
    bench.limits.timeout_ms = 100
    bench.follow()
    assert bench.sent[0].timeout_ms > bench.request.max_wait_ms


def test_the_leader_hears_when_the_followers_log_begins_later() -> None:
    bench = FollowerBench()
    bench.follow()
    bench.answer(part(0, batch(0, 5) + batch(1, 5) + batch(2, 5), high_watermark=3))
    bench.answer(part(0, high_watermark=3, start=2))
    (asked,) = bench.asked()
    assert (asked.fetch_offset, asked.log_start_offset) == (3, 2)


def test_a_batch_that_overlaps_with_what_is_there_is_no_reason_to_begin_anew() -> None:
    bench = FollowerBench()
    bench.follow()
    bench.answer(part(0, batch(0, 5, 5)))
    bench.answer(part(0, batch(3, 5, 5)))
    assert (bench.partitions[0].log.start_offset, bench.end()) == (0, 5)
    assert bench.complaints


def test_a_log_of_which_the_leader_has_nothing_is_cut_to_its_beginning() -> None:
    bench = FollowerBench()
    bench.lead((3, 5))
    bench.follow()
    bench.answer(part(0, diverging=(2, 6)))
    assert bench.position() == (0, -1)


def test_a_leader_that_does_not_say_where_its_log_is_is_asked_again() -> None:
    bench = FollowerBench()
    bench.lead((1, 5))
    bench.follow()
    bench.answer(part(0, error=OUT_OF_RANGE), flush=False)
    first, second = bench.sent
    bench.sent.clear()
    told = ListOffsetsPartitionResponse(partition_index=0, offset=100)
    first.done(ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name=TOPIC, partitions=[told])]))
    second.done(None)
    bench.settle()
    assert (bench.end(), bench.sent) == (5, [])
    bench.pass_time(20)
    assert bench.position() == (5, 1)


def test_a_follower_of_an_empty_leader_is_cut_to_nothing() -> None:
    bench = FollowerBench()
    bench.lead((1, 5))
    bench.follow()
    bench.answer(part(0, error=OUT_OF_RANGE))
    tell_range(bench, 0, 0)
    assert bench.position() == (0, -1)


def test_a_log_with_records_takes_no_batch_of_an_older_epoch() -> None:
    bench = FollowerBench()
    bench.lead((5, 3))
    bench.follow(epoch=7)
    bench.answer(part(0, batch(3, 3)))
    assert bench.end() == 3
    assert "of epoch 3, not within [5, 7]" in bench.complaints[0]

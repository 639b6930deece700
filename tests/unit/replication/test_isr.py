"""The ISR: who enters it and who leaves it, what is asked of the controller, and what its answers mean."""

from __future__ import annotations

import pytest

from tapelog.replication.isr import DOUBT_MS, REFUSED_BACKOFF_MS
from tapelog.wire.errors import ErrorCode, KafkaError
from tests.unit.replication.bench import ME, OTHER, THIRD, Bench, Reader

LAG_MS = 30_000


def silent_third() -> Bench:
    """A leader of three, one of whom has not fetched for too long."""
    bench = Bench()
    bench.lead()
    bench.store(1)
    bench.claim(THIRD, 0)
    for _ in range(4):
        bench.claim(OTHER, 1, after_ms=LAG_MS // 4)
    bench.claim(OTHER, 1, after_ms=1)
    return bench


# -- leaving


def test_who_has_not_caught_up_for_too_long_leaves() -> None:
    bench = silent_third()
    bench.partition.check_isr(bench.now_ms - 1)
    assert bench.hub.isr_changes == []
    bench.partition.check_isr(bench.now_ms)
    assert bench.asked().isr == [(ME, 11), (OTHER, 12)]


def test_who_has_everything_stays_however_long_it_is_silent() -> None:
    bench = Bench()
    bench.lead()
    bench.store(1)
    bench.claim(OTHER, 1)
    bench.claim(THIRD, 1)
    bench.partition.check_isr(bench.now_ms + 10 * LAG_MS)
    assert bench.hub.isr_changes == []


def test_who_fetches_and_has_everything_is_in_time_when_something_comes() -> None:
    bench = Bench()
    bench.lead(replicas=(ME, OTHER), isr=(ME, OTHER))
    bench.claim(OTHER, 0)
    bench.now_ms += 10 * LAG_MS
    bench.hub.heard_ms[OTHER] = bench.now_ms - 500  # its session named other partitions only
    bench.store(1)
    bench.partition.check_isr(bench.now_ms)
    assert bench.hub.isr_changes == []
    bench.partition.check_isr(bench.now_ms + LAG_MS)
    assert bench.asked().ids == (ME,)


def test_who_is_always_a_little_behind_stays() -> None:
    bench = Bench()
    bench.lead(replicas=(ME, OTHER), isr=(ME, OTHER))
    for number in range(20):
        bench.store(number)
        bench.claim(OTHER, number, after_ms=LAG_MS // 4)
        bench.partition.check_isr(bench.now_ms)
    assert bench.hub.isr_changes == []


def test_who_never_gets_where_the_leader_was_leaves() -> None:
    bench = Bench()
    bench.lead(replicas=(ME, OTHER), isr=(ME, OTHER))
    for number in range(20):
        bench.store(2 * number, 2 * number + 1)
        bench.claim(OTHER, number, after_ms=LAG_MS // 4)
        bench.partition.check_isr(bench.now_ms)
        if bench.hub.isr_changes:
            break
    assert bench.asked().ids == (ME,)


def test_until_the_controller_agrees_those_who_leave_hold_the_high_watermark() -> None:
    bench = silent_third()
    bench.partition.check_isr(bench.now_ms)
    assert bench.high_watermark == 0
    bench.agree()
    assert (bench.isr, bench.high_watermark, bench.told.told) == ((ME, OTHER), 1, [(1, 0)])


# -- entering


def test_who_has_what_is_committed_enters() -> None:
    bench = Bench()
    bench.lead(isr=(ME, OTHER))
    bench.store(1, 2)
    bench.claim(OTHER, 1)
    bench.claim(THIRD, 0)
    assert bench.hub.isr_changes == []
    bench.claim(THIRD, 1)
    assert bench.asked().isr == [(ME, 11), (OTHER, 12), (THIRD, 13)]


def test_who_enters_must_have_all_that_was_there_when_the_epoch_began() -> None:
    bench = Bench()
    bench.store(1, 2, 3)
    bench.partition.high_watermark = 1  # as a follower that is made leader may know it
    bench.lead(isr=(ME, OTHER))
    bench.claim(THIRD, 2)
    assert bench.hub.isr_changes == [], "what the old leader committed may be more than we know"
    bench.claim(THIRD, 3)
    assert THIRD in bench.asked().ids


def test_while_asked_for_it_counts_already() -> None:
    bench = Bench()
    bench.lead(isr=(ME, OTHER))
    bench.claim(THIRD, 0)
    bench.store(1)
    bench.claim(OTHER, 1)
    assert bench.high_watermark == 0, "it may be in the ISR for all we know"
    bench.claim(THIRD, 1)
    assert bench.high_watermark == 1


@pytest.mark.parametrize("epochs", [{OTHER: 12}, {OTHER: 12, THIRD: 14}])
def test_a_broker_that_is_fenced_or_has_another_epoch_does_not_enter(epochs: dict[int, int]) -> None:
    bench = Bench()
    bench.lead(isr=(ME, OTHER))
    bench.hub.alive = {ME: 11, OTHER: 12}
    bench.partition.follower_fetched(THIRD, 0, 13, bench.now_ms)
    bench.hub.alive.update(epochs)
    assert bench.hub.isr_changes == []


def test_a_fetch_from_before_the_broker_came_back_claims_nothing() -> None:
    bench = Bench()
    bench.lead(replicas=(ME, OTHER), isr=(ME, OTHER))
    bench.store(1)
    bench.hub.alive[OTHER] = 50
    with pytest.raises(KafkaError) as refused:
        bench.partition.follower_fetched(OTHER, 1, 12, bench.now_ms)
    assert refused.value.code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert bench.high_watermark == 0
    bench.partition.follower_fetched(OTHER, 1, -1, bench.now_ms)
    assert bench.high_watermark == 1, "old versions have no broker epoch"


@pytest.mark.parametrize(
    ("knows_epoch", "code"), [(True, ErrorCode.UNKNOWN_LEADER_EPOCH), (False, ErrorCode.NOT_LEADER_OR_FOLLOWER)]
)
def test_a_stranger_is_told_to_look_again(knows_epoch: bool, code: ErrorCode) -> None:
    bench = Bench()
    bench.lead(replicas=(ME, OTHER), isr=(ME, OTHER))
    with pytest.raises(KafkaError) as refused:
        bench.partition.follower(THIRD, knows_epoch)
    assert refused.value.code == code


# -- one change at a time


def test_one_change_is_asked_for_at_a_time() -> None:
    bench = Bench()
    bench.lead(isr=(ME,))
    bench.claim(OTHER, 0)
    bench.claim(THIRD, 0)
    assert bench.agree().ids == (ME, OTHER)
    bench.claim(THIRD, 0)
    assert bench.agree().isr == [(ME, 11), (OTHER, 12), (THIRD, 13)]
    assert bench.isr == (ME, OTHER, THIRD)


def test_members_not_heard_of_are_named_without_an_epoch() -> None:
    bench = Bench()
    bench.lead(isr=(ME, OTHER))
    bench.claim(THIRD, 0)
    assert bench.asked().isr == [(ME, 11), (OTHER, -1), (THIRD, 13)]


# -- the controller's answers


@pytest.mark.parametrize("code", [ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED])
def test_what_was_not_applied_is_forgotten_and_asked_for_again_later(code: ErrorCode) -> None:
    bench = Bench()
    bench.lead(isr=(ME, OTHER))
    bench.claim(THIRD, 0)
    assert not bench.partition.isr_refused(bench.asked(), code, bench.now_ms)
    bench.store(1)
    bench.claim(OTHER, 1, after_ms=REFUSED_BACKOFF_MS - 1)
    bench.claim(THIRD, 0)
    assert bench.hub.isr_changes == []
    bench.claim(THIRD, 1, after_ms=1)
    assert bench.asked().ids == (ME, OTHER, THIRD)


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.NEW_LEADER_ELECTED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INVALID_REQUEST,
    ],
)
def test_where_our_image_is_behind_we_keep_the_maximal_isr_until_it_comes(code: ErrorCode) -> None:
    bench = Bench()
    bench.lead(isr=(ME, OTHER))
    bench.claim(THIRD, 0)
    assert not bench.partition.isr_refused(bench.asked(), code, bench.now_ms)
    bench.store(1)
    bench.claim(OTHER, 1)
    bench.now_ms += 2 * LAG_MS
    bench.claim(OTHER, 1)
    bench.partition.check_isr(bench.now_ms)
    assert (bench.high_watermark, bench.hub.isr_changes) == (0, [])
    bench.partition.update(5, (ME, OTHER, THIRD), (ME, OTHER), bench.now_ms)
    assert bench.high_watermark == 1


@pytest.mark.parametrize(
    "code", [ErrorCode.NOT_CONTROLLER, ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.REQUEST_TIMED_OUT]
)
def test_anything_else_is_tried_again(code: ErrorCode) -> None:
    bench = Bench()
    bench.lead(isr=(ME, OTHER))
    bench.claim(THIRD, 0)
    change = bench.asked()
    assert bench.partition.isr_refused(change, code, bench.now_ms)
    bench.partition.isr_agreed(change, change.ids, 2, bench.now_ms)
    assert bench.isr == (ME, OTHER, THIRD)


def test_answers_to_old_questions_are_ignored() -> None:
    bench = Bench()
    bench.lead(isr=(ME, OTHER))
    bench.claim(THIRD, 0)
    old = bench.asked()
    bench.partition.update(7, (ME, OTHER, THIRD), (ME,), bench.now_ms)
    bench.partition.isr_agreed(old, (ME, OTHER, THIRD), 2, bench.now_ms)
    assert bench.isr == (ME,)
    assert not bench.partition.isr_refused(old, ErrorCode.NOT_CONTROLLER, bench.now_ms)
    bench.partition.follow(OTHER, 2)
    bench.partition.isr_agreed(old, (ME, OTHER, THIRD), 9, bench.now_ms)
    assert bench.partition.leadership is None


def test_an_image_older_than_the_controllers_answer_is_left_aside() -> None:
    bench = Bench()
    bench.lead(isr=(ME, OTHER), partition_epoch=4)
    bench.claim(THIRD, 0)
    bench.agree()
    bench.partition.update(4, (ME, OTHER, THIRD), (ME, OTHER), bench.now_ms)
    assert bench.isr == (ME, OTHER, THIRD)
    bench.partition.update(5, (ME, OTHER, THIRD), (ME, OTHER, THIRD), bench.now_ms)
    assert bench.isr == (ME, OTHER, THIRD)


def test_what_one_out_of_sync_claimed_before_an_image_does_not_count_behind_it() -> None:
    bench = Bench()
    bench.lead(isr=(ME, OTHER))
    bench.hub.alive.pop(THIRD)
    bench.partition.follower_fetched(THIRD, 0, 13, bench.now_ms)
    bench.hub.alive[THIRD] = 13
    bench.partition.update(3, (ME, OTHER, THIRD), (ME, OTHER), bench.now_ms)  # in between it may have been (ME, OTHER)
    bench.partition.check_isr(bench.now_ms)
    bench.partition.brokers_changed(bench.now_ms)
    assert bench.hub.isr_changes == []
    bench.claim(THIRD, 0)
    bench.partition.update(3, (ME, OTHER, THIRD), (ME, OTHER), bench.now_ms)  # another partition's news
    bench.store(1)
    bench.claim(OTHER, 1)
    bench.claim(THIRD, 1)
    assert bench.high_watermark == 1
    assert bench.asked().ids == (ME, OTHER, THIRD)


def test_replicas_come_and_go_with_the_image() -> None:
    bench = Bench()
    bench.lead(replicas=(ME, OTHER), isr=(ME, OTHER))
    bench.store(1)
    bench.claim(OTHER, 1)
    bench.partition.update(2, (ME, OTHER, THIRD), (ME, OTHER), bench.now_ms)
    bench.claim(THIRD, 1)
    bench.agree()
    bench.partition.update(4, (ME, THIRD), (ME, THIRD), bench.now_ms)
    bench.store(2)
    bench.claim(THIRD, 2)
    assert bench.told.told == [(1, 0), (2, 0)]
    with pytest.raises(KafkaError):
        bench.claim(OTHER, 2)


def test_one_that_the_image_puts_into_the_isr_is_waited_for_from_then_on() -> None:
    bench = Bench()
    bench.lead(isr=(ME, OTHER))
    bench.hub.alive.pop(THIRD)
    bench.partition.follower_fetched(THIRD, 0, 13, bench.now_ms)
    bench.partition.update(2, (ME, OTHER, THIRD), (ME, OTHER, THIRD), bench.now_ms)
    bench.store(1)
    bench.claim(OTHER, 1)
    assert bench.high_watermark == 0
    bench.claim(THIRD, 1)
    assert bench.high_watermark == 1


def test_whoever_was_refused_is_not_waited_for_any_more() -> None:
    bench = Bench()
    bench.lead(isr=(ME, OTHER))
    bench.claim(THIRD, 0)
    bench.store(1)
    bench.claim(OTHER, 1)
    bench.hub.alive.pop(THIRD)
    assert bench.high_watermark == 0
    bench.partition.isr_refused(bench.asked(), ErrorCode.INELIGIBLE_REPLICA, bench.now_ms)
    assert bench.high_watermark == 1


def test_fetches_that_wait_look_again_when_somebody_may_enter() -> None:
    bench = Bench()
    partition, reader = bench.lead(isr=(ME, OTHER)), Reader()
    partition.add_replica_fetch(reader)
    partition.brokers_changed(bench.now_ms)
    assert bench.hub.ripe.pop() is reader
    reader.retry()
    bench.claim(THIRD, 0)
    partition.isr_refused(bench.asked(), ErrorCode.INELIGIBLE_REPLICA, bench.now_ms)
    assert bench.hub.ripe.pop() is reader


def test_a_doubt_ends() -> None:
    bench = Bench()
    partition = bench.lead(isr=(ME, OTHER))
    bench.claim(THIRD, 0)
    change = bench.asked()
    change.copies = 2
    assert partition.isr_refused(change, ErrorCode.INELIGIBLE_REPLICA, bench.now_ms)
    assert partition.isr_refused(change, ErrorCode.INELIGIBLE_REPLICA, bench.now_ms + DOUBT_MS - 1)
    assert not partition.isr_refused(change, ErrorCode.INELIGIBLE_REPLICA, bench.now_ms + DOUBT_MS)


def test_nobody_doubts_a_change_for_a_process_that_has_ended() -> None:
    bench = Bench()
    partition = bench.lead(isr=(ME, OTHER))
    bench.claim(THIRD, 0)
    change = bench.asked()
    change.copies = 2
    assert partition.isr_refused(change, ErrorCode.INELIGIBLE_REPLICA, bench.now_ms)
    bench.hub.alive[THIRD] += 1
    assert not partition.isr_refused(change, ErrorCode.INELIGIBLE_REPLICA, bench.now_ms + 1)
    bench.claim(THIRD, 0, REFUSED_BACKOFF_MS + 1)
    again = bench.asked()
    assert again.isr[-1] == (THIRD, bench.hub.alive[THIRD]), "its next process is asked for"

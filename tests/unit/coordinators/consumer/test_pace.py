"""When members are told to come back: sooner while they wait, and never all at once."""

from __future__ import annotations

from typing import Any

import pytest

from tapelog.coordinators.consumer.pace import RELEASE_MS, SOON_MS_MIN
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, TopicPartitions
from tests.unit.coordinators.bench import Bench, BenchTopics

USUAL_MS = 5000


def beat(bench: Bench, member_id: str, epoch: int = 0, **more: Any) -> Any:
    if epoch == 0:
        more = {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": ["orders"], "topic_partitions": []} | more
    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id=member_id, member_epoch=epoch, **more)
    (answer,) = bench.ask("consumer_group_heartbeat", request, 1, member_id)
    assert answer.error_code == 0
    return answer


def test_who_joins_within_the_assignment_interval_comes_back_when_it_is_over() -> None:
    bench = Bench()
    beat(bench, "a")
    bench.advance(300)
    joined = beat(bench, "b")
    assert 700 <= joined.heartbeat_interval_ms <= 701
    bench.advance(joined.heartbeat_interval_ms)
    waiting = beat(bench, "b", joined.member_epoch)
    assert waiting.member_epoch > joined.member_epoch
    assert RELEASE_MS <= waiting.heartbeat_interval_ms <= RELEASE_MS + 2, "until a has released its share"


def test_who_has_just_got_its_share_comes_back_when_it_may_have_to_release_some_of_it() -> None:
    bench = Bench()
    epoch = beat(bench, "a").member_epoch
    assert beat(bench, "a", epoch, topic_partitions=[]).heartbeat_interval_ms == 1000
    beat(bench, "b")
    bench.advance(1000)
    assert sum(len(topic.partitions) for topic in beat(bench, "a", epoch).assignment.topic_partitions) == 2
    bench.advance(1000)
    assert beat(bench, "a", epoch).heartbeat_interval_ms == USUAL_MS


def test_who_has_got_what_it_waited_for_comes_back_as_usual() -> None:
    bench = Bench({"group.consumer.assignment.interval.ms": "0"})
    first, second = beat(bench, "a"), beat(bench, "b")
    assert second.heartbeat_interval_ms < USUAL_MS
    kept = beat(bench, "a", first.member_epoch).assignment.topic_partitions
    owned = [TopicPartitions(topic_id=topic.topic_id, partitions=topic.partitions) for topic in kept]
    assert beat(bench, "a", first.member_epoch, topic_partitions=owned).heartbeat_interval_ms == USUAL_MS
    assert beat(bench, "b", second.member_epoch).heartbeat_interval_ms == USUAL_MS


def test_nobody_is_told_to_hurry_more_than_the_bound_nor_to_come_later_than_usual() -> None:
    bench = Bench()
    beat(bench, "a")
    bench.advance(999)
    assert SOON_MS_MIN <= beat(bench, "b").heartbeat_interval_ms <= SOON_MS_MIN + 1
    bench = Bench({"group.consumer.assignment.interval.ms": "15000"})
    beat(bench, "a")
    assert beat(bench, "b").heartbeat_interval_ms == USUAL_MS


def test_a_new_expression_is_asked_for_soon() -> None:
    pytest.importorskip("re2")
    bench = Bench()
    joined = beat(bench, "a", subscribed_topic_names=None, subscribed_topic_regex="ord.*")
    assert joined.heartbeat_interval_ms == SOON_MS_MIN
    bench.advance(joined.heartbeat_interval_ms)
    found = beat(bench, "a", joined.member_epoch)
    assert [topic.partitions for topic in found.assignment.topic_partitions] == [[0, 1, 2, 3]]


def test_a_thousand_who_join_at_once_come_back_one_after_the_other_and_once() -> None:
    bench = Bench(topics=BenchTopics({"orders": 1000}))
    told = {f"m{number}": beat(bench, f"m{number}") for number in range(1000)}
    dues = sorted(answer.heartbeat_interval_ms for name, answer in told.items() if name != "m0")
    busiest = max(sum(1 for due in dues if start <= due < start + 100) for start in range(900, 2100, 100))
    assert dues[0] >= 1000
    assert dues[-1] < 2000
    assert busiest < 400, "in a tenth of a second: the first to join do not know yet how many they will be"

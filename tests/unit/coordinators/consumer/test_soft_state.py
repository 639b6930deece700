"""What a consumer group remembers beyond its records outlives what could not be written, undone or never done."""

from __future__ import annotations

from typing import Any

import pytest

from tapelog.coordinators import shard
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, TopicPartitions
from tapelog.wire.messages.heartbeat_request import HeartbeatRequest
from tests.unit.coordinators.bench import Bench, BenchTopics
from tests.unit.coordinators.migration.clients import subscription_bytes
from tests.unit.coordinators.migration.test_migration import joining

INTERVAL_OFF = {"group.consumer.assignment.interval.ms": "0"}


def beat(bench: Bench, member_id: str, epoch: int = 0, **more: Any) -> Any:
    if epoch == 0:
        more = {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": ["orders"], "topic_partitions": []} | more
    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id=member_id, member_epoch=epoch, **more)
    (answer,) = bench.ask("consumer_group_heartbeat", request, 1, member_id)
    return answer


def grow(bench: Bench, partitions: int) -> None:
    bench.topics.create("orders", partitions)
    bench.coordinator.on_topics_changed(["orders"])


def owned(answer: Any) -> list[int]:
    return [p for topic in answer.assignment.topic_partitions for p in topic.partitions]


def group_of_two(bench: Bench) -> int:
    """Members a and b of a stable group; returns its epoch."""
    topic_id = bench.topics.ids["orders"]
    first = beat(bench, "a")
    second = beat(bench, "b")
    kept = owned(beat(bench, "a", first.member_epoch))
    beat(bench, "a", first.member_epoch, topic_partitions=[TopicPartitions(topic_id=topic_id, partitions=kept)])
    beat(bench, "b", second.member_epoch)
    assert bench.machine.consumer.find("g").state(False) == "Stable"
    return int(second.member_epoch)


def refuse_large(monkeypatch: pytest.MonkeyPatch, bench: Bench, largest: int) -> None:
    """What is larger than that is refused whole, before anything of it happens."""
    owner = bench.coordinator.runtime._shards[0]
    assert isinstance(owner, shard.Shard)
    monkeypatch.setattr(owner, "atomic_bytes_max", largest)


def test_news_of_topics_that_a_leave_took_into_account_are_news_again_after_its_undo() -> None:
    bench = Bench(INTERVAL_OFF)
    epoch = group_of_two(bench)
    grow(bench, 6)
    bench.log.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    assert beat(bench, "b", -1).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    bench.log.refusal = None
    assert beat(bench, "a", epoch).member_epoch == epoch + 1
    assert sum(len(ps) for _, t in bench.machine.consumer.find("g").target.items() for ps in t.values()) == 6


def test_news_of_topics_that_an_expired_session_took_into_account_are_news_again_after_its_undo() -> None:
    bench = Bench(INTERVAL_OFF)
    epoch = group_of_two(bench)
    bench.advance(20_000)
    beat(bench, "a", epoch)
    grow(bench, 6)
    bench.log.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    bench.advance(26_000)
    bench.log.refusal = None
    assert "b" in bench.machine.consumer.find("g").metadata
    assert beat(bench, "a", epoch).member_epoch == epoch + 1


def test_a_leave_that_is_too_large_to_write_leaves_the_member_with_its_session_and_the_news_unread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench(INTERVAL_OFF)
    epoch = group_of_two(bench)
    grow(bench, 6)
    with monkeypatch.context() as patch:
        refuse_large(patch, bench, 10)
        assert beat(bench, "b", -1).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    bench.machine.invariants()
    assert beat(bench, "a", epoch).member_epoch == epoch + 1
    bench.advance(30_000)
    beat(bench, "a", epoch + 1)
    bench.advance(16_000)
    assert "b" not in bench.machine.consumer.find("g").metadata, "its session ends as it would have"


def test_a_session_that_ends_when_that_cannot_be_written_ends_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(INTERVAL_OFF)
    group_of_two(bench)
    with monkeypatch.context() as patch:
        refuse_large(patch, bench, 10)
        bench.advance(46_000)
        bench.machine.invariants()
    bench.advance(46_000)
    assert bench.machine.consumer.find("g").is_empty


def test_a_heartbeat_that_is_too_large_to_write_leaves_the_revocation_due(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(INTERVAL_OFF)
    first = beat(bench, "a")
    beat(bench, "b")
    beat(bench, "a", first.member_epoch)  # it is asked to give two back
    with monkeypatch.context() as patch:
        refuse_large(patch, bench, 10)
        nothing: list[TopicPartitions] = []
        answer = beat(bench, "a", first.member_epoch, topic_partitions=nothing)
        assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    bench.machine.invariants()


def test_a_clock_that_was_set_back_does_not_hold_targets_up() -> None:
    bench = Bench(topics=BenchTopics({"orders": 4}))
    epoch = beat(bench, "a").member_epoch
    bench.advance(1_000)
    later = bench.clock.wall_ms
    bench.clock.wall_ms = lambda: later() - 3_600_000  # type: ignore[method-assign]
    beat(bench, "b")
    assert beat(bench, "a", epoch).member_epoch == epoch
    assert bench.machine.consumer.find("g").target_epoch == epoch + 1


def test_a_clock_that_was_set_back_does_not_hold_expressions_up() -> None:
    pytest.importorskip("re2")
    bench = Bench(INTERVAL_OFF)
    epoch = beat(bench, "a", subscribed_topic_names=None, subscribed_topic_regex="ord.*").member_epoch
    epoch = beat(bench, "a", epoch).member_epoch
    later = bench.clock.wall_ms
    bench.clock.wall_ms = lambda: later() - 3_600_000  # type: ignore[method-assign]
    bench.advance(11_000)
    bench.topics.create("ordeal", 1)
    bench.coordinator.on_topics_changed(["ordeal"])
    beat(bench, "a", epoch)
    assert bench.machine.consumer.find("g").regex_topics("ord.*") == {"orders", "ordeal"}


def test_news_are_news_again_after_the_undo_of_a_subscription_that_they_were_no_news_to() -> None:
    bench = Bench(INTERVAL_OFF)
    events = subscription_bytes(["events"], set(), -1, 3, None)
    beat(bench, "a")
    (joined,) = bench.ask("join_group", joining("", events), 3, "c")
    epoch = beat(bench, "a", joined.generation_id - 1).member_epoch
    end = bench.log.end_offset(0)
    bench.log.held = True
    request = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="a", member_epoch=epoch, subscribed_topic_names=["events"]
    )
    bench.ask("consumer_group_heartbeat", request, 1, "a")
    bench.advance(5_000)  # its answer has given up waiting, and the log has not
    grow(bench, 6)
    alive = HeartbeatRequest(group_id="g", generation_id=joined.generation_id, member_id=joined.member_id)
    bench.ask("heartbeat", alive, 4, "c")
    bench.log.truncate(0, end)
    bench.coordinator.runtime.on_append_failed(0, end, ErrorCode.KAFKA_STORAGE_ERROR)
    bench.log.held = False
    assert owned(beat(bench, "a", epoch)) == [0, 1, 2, 3, 4, 5]

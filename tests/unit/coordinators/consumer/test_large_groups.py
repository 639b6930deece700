"""A thousand members: what a heartbeat writes and computes does not grow with the group, targets are computed once."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tapelog.coordinators.consumer import target
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, TopicPartitions
from tests.unit.coordinators.bench import Bench, BenchTopics

MEMBERS = 1000


class Crowd:
    """Many members of one group, each doing what it is told."""

    def __init__(self, members: int, partitions: int, settings: dict[str, str] | None = None) -> None:
        self.bench = Bench(settings, topics=BenchTopics({"orders": partitions}))
        self.names = [f"m{number:04d}" for number in range(members)]
        self.epochs = dict.fromkeys(self.names, 0)
        self.owned: dict[str, list[int]] = {name: [] for name in self.names}
        self.said: dict[str, list[int]] = {name: [] for name in self.names}

    def beat_all(self) -> None:
        """Everybody's next heartbeat."""
        waiting = [(name, self._beat(name)) for name in self.names]
        self.bench.settle()
        for name, answers in waiting:
            (answer,) = answers
            assert answer.error_code == 0
            self.epochs[name] = answer.member_epoch
            if answer.assignment is not None:
                self.owned[name] = [p for topic in answer.assignment.topic_partitions for p in topic.partitions]

    def _beat(self, name: str) -> list[Any]:
        request = ConsumerGroupHeartbeatRequest(group_id="g", member_id=name, member_epoch=self.epochs[name])
        if self.epochs[name] == 0:
            request.rebalance_timeout_ms = 60_000
            request.subscribed_topic_names = ["orders"]
            request.topic_partitions = []
        elif self.owned[name] != self.said[name]:
            topic_id = self.bench.topics.ids["orders"]
            request.topic_partitions = [TopicPartitions(topic_id=topic_id, partitions=self.owned[name])]
            self.said[name] = self.owned[name]
        return self.bench.ask("consumer_group_heartbeat", request, 1, name, settle=False)

    @property
    def group(self) -> Any:
        return self.bench.machine.consumer.find("g")

    @property
    def records(self) -> int:
        return self.bench.log.end_offset(0)


def test_a_thousand_members_join_within_the_interval_and_targets_are_computed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crowd = Crowd(MEMBERS, MEMBERS)
    asked: list[int] = []
    question = target._question

    def counted(*arguments: Any) -> Any:
        spec = question(*arguments)
        asked.append(len(spec.members))
        return spec

    monkeypatch.setattr(target, "_question", counted)
    crowd.beat_all()
    assert asked == [1], "the first member's, and no more within the interval"
    assert crowd.records <= 3 * MEMBERS + 2, "member, epoch and assignment of each; no targets"
    crowd.bench.advance(1000)
    crowd.beat_all()
    assert asked == [1, MEMBERS]
    written = crowd.records
    crowd.beat_all()
    assert crowd.group.state(True) == "Stable"
    assert crowd.records - written <= MEMBERS, "what was released is taken"
    assert sorted(p for owned in crowd.owned.values() for p in owned) == list(range(MEMBERS))
    written = crowd.records
    crowd.beat_all()
    assert crowd.records == written, "nothing is written when nothing changes"
    crowd.bench.machine.invariants()


@pytest.mark.slow
def test_a_heartbeat_costs_the_same_in_a_large_group() -> None:
    def per_beat(members: int) -> float:
        crowd = Crowd(members, members)
        for _ in range(4):
            crowd.beat_all()
            crowd.bench.advance(1000)
        assert crowd.group.state(True) == "Stable"
        best = 1e9
        for _ in range(5):
            started = time.process_time()
            crowd.beat_all()
            best = min(best, (time.process_time() - started) / members)
        return best

    assert per_beat(2000) < 4 * per_beat(200)


def test_targets_that_fill_more_than_a_batch_are_written_in_several() -> None:
    crowd = Crowd(200, 100_000, {"group.consumer.assignment.interval.ms": "0"})
    crowd.beat_all()
    for _ in range(4):
        crowd.beat_all()
    assert crowd.group.state(True) == "Stable"
    assert sum(len(owned) for owned in crowd.owned.values()) == 100_000
    again = Bench(log=crowd.bench.log, topics=crowd.bench.topics)
    assert again.machine.state.snapshot() == crowd.bench.machine.state.snapshot()


def test_a_storm_of_topics_costs_each_group_one_look() -> None:
    crowd = Crowd(3, 4)
    crowd.beat_all()
    crowd.bench.advance(1000)
    crowd.beat_all()
    crowd.beat_all()
    written = crowd.records
    for number in range(5000):
        crowd.bench.topics.create(f"t{number}", 1)
        crowd.bench.coordinator.on_topics_changed([f"t{number}"])
    assert len(crowd.bench.machine.consumer.watch._news) <= 1024
    crowd.beat_all()
    assert crowd.records == written

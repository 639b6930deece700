"""A thousand members: a heartbeat costs the same however many there are, targets are computed once and in pieces."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tapelog.coordinators.consumer import computation
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
    question = computation._question

    def counted(*arguments: Any) -> Any:
        spec = yield from question(*arguments)
        asked.append(len(spec.members))
        return spec

    monkeypatch.setattr(computation, "_question", counted)
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


class Mixed(Crowd):
    """Members that want different topics; measures how long the coordinator was busy at a time."""

    def __init__(self, members: int, topics: int, partitions: int, share: float) -> None:
        super().__init__(members, 1)
        self.chance = random.Random(members)
        self.share = share
        self.wanted = [f"t{number:04d}" for number in range(topics)]
        for name in self.wanted:
            self.bench.topics.create(name, partitions)
        self.bench.coordinator.on_topics_changed(self.wanted)
        self.wishes = {name: self._wish() for name in self.names}
        self.longest_s = 0.0
        run_due = self.bench.run_due

        def timed() -> Any:
            started = time.process_time()
            ran = run_due()
            self.bench.flush()
            self.longest_s = max(self.longest_s, time.process_time() - started)
            return ran

        self.bench.run_due = timed  # type: ignore[method-assign]
        self.bench.rounds = 10_000

    def _wish(self) -> list[str]:
        return self.chance.sample(self.wanted, max(1, int(len(self.wanted) * self.share)))

    def join(self, count: int) -> None:
        """More members, each with a wish of its own."""
        for number in range(count):
            name = f"n{len(self.names):04d}-{number}"
            self.names.append(name)
            self.epochs[name], self.owned[name], self.said[name] = 0, [], []
            self.wishes[name] = self._wish()

    def _beat(self, name: str) -> list[Any]:
        request = ConsumerGroupHeartbeatRequest(group_id="g", member_id=name, member_epoch=self.epochs[name])
        if self.epochs[name] == 0:
            request.rebalance_timeout_ms = 60_000
            request.subscribed_topic_names = self.wishes[name]
            request.topic_partitions = []
        started = time.process_time()
        answers = self.bench.ask("consumer_group_heartbeat", request, 1, name, settle=False)
        self.longest_s = max(self.longest_s, time.process_time() - started)
        return answers

    def settle(self) -> None:
        """Until the targets are those of the group's epoch."""
        for _ in range(4):
            self.bench.advance(1000)
            self.beat_all()
        assert self.group.target_epoch == self.group.epoch
        assert self.bench.machine.consumer.computing == {}

    def check_targets(self) -> None:
        """Everything that somebody wants has one owner, who wants it, and no move would help."""
        load = {name: sum(map(len, share.values())) for name, share in self.group.target.items()}
        ids = {name: self.bench.topics.ids[name] for name in self.wanted}
        owner = {
            (topic_id, partition): name
            for name, share in self.group.target.items()
            for topic_id, partitions in share.items()
            for partition in partitions
        }
        assert len(owner) == sum(load.values())
        wanted = sorted({topic for wish in self.wishes.values() for topic in wish})
        assert len(owner) == sum(self.bench.topics.counts[topic] for topic in wanted)
        for name, wish in self.wishes.items():
            for topic in wish:
                top = max(load[owner[ids[topic], p]] for p in range(self.bench.topics.counts[topic]))
                assert top - load[name] <= 1


PIECE_S_MAX = 0.25
"""Ten times what a piece takes on an idle machine."""


@pytest.fixture
def others_garbage_aside() -> Iterator[None]:
    """What thousands of other tests left in this process is not looked at by a collection while pieces are timed."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("others_garbage_aside")
def test_the_targets_of_a_large_group_are_computed_in_pieces_and_come_out_right() -> None:
    crowd = Mixed(200, 100, 60, 0.2)
    crowd.beat_all()
    crowd.settle()
    crowd.check_targets()
    before = dict(crowd.group.target.items())
    crowd.join(20)
    crowd.beat_all()
    crowd.settle()
    crowd.check_targets()
    kept = sum(
        len(set(partitions) & set(crowd.group.target_of(name).get(topic_id, ())))
        for name, share in before.items()
        for topic_id, partitions in share.items()
    )
    assert kept > 6000 * 200 / 220 * 0.99, "newcomers take their share, everybody keeps the rest"
    assert crowd.longest_s < PIECE_S_MAX
    crowd.bench.machine.invariants()
    again = Bench(log=crowd.bench.log, topics=crowd.bench.topics)
    assert again.machine.state.snapshot() == crowd.bench.machine.state.snapshot()


def test_members_that_leave_or_are_taken_over_while_targets_are_computed_get_no_target(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(computation, "PIECE_UNITS", 1)
    monkeypatch.setattr(computation, "WRITTEN_BYTES_MAX", 1)
    bench = Bench(topics=BenchTopics({"orders": 12}))

    def beat(name: str, epoch: int, instance: str | None = None) -> Any:
        request = ConsumerGroupHeartbeatRequest(group_id="g", member_id=name, member_epoch=epoch, instance_id=instance)
        if epoch == 0:
            request.rebalance_timeout_ms, request.subscribed_topic_names = 60_000, ["orders"]
            request.topic_partitions = []
        (answer,) = bench.ask("consumer_group_heartbeat", request, 1, name)
        assert answer.error_code == 0
        return answer

    for name, instance in (("a", None), ("b", None), ("c", "static"), ("d", None)):
        beat(name, 0, instance)
    bench.advance(1000)
    group = bench.machine.consumer.find("g")
    bench.rounds = 1
    beat("e", 0)
    assert "g" in bench.machine.consumer.computing
    beat("b", -1)
    beat("c", -2, "static")
    beat("c2", 0, "static")
    assert "g" in bench.machine.consumer.computing, "all that happened in between"
    bench.rounds = 1000
    bench.settle()
    assert bench.machine.consumer.computing == {}
    targets = {name: sum(map(len, share.values())) for name, share in group.target.items()}
    assert targets.keys() == {"a", "c2", "d", "e"}
    assert group.target_epoch < group.epoch, "the next computation is about who left"
    bench.advance(1000)
    beat("e", group.current_of("e").epoch)
    bench.settle()
    assert {sum(map(len, share.values())) for _, share in group.target.items()} == {3}
    bench.machine.invariants()

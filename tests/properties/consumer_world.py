"""A world of toy consumers of the newer protocol around one coordinator: they join, revoke, take over, crash; so does
it.

Used by test_consumer_groups.py. A consumer believes what the answers to its heartbeats say, and says what it owns
when that changed, as real clients do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapelog.coordinators.caller import Caller
from tapelog.coordinators.consumer.group import ConsumerGroup
from tapelog.coordinators.consumer.member import partitions_of
from tapelog.coordinators.records import decode_record
from tapelog.coordinators.state import GroupState
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, TopicPartitions
from tapelog.wire.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from tapelog.wire.record_batch import batches, records_of
from tests.unit.coordinators.bench import Bench, BenchLog, BenchTopics

Place = tuple[bytes, int]

SETTINGS = {"group.consumer.assignment.interval.ms": "1000"}
LOST = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)


class Consumer:
    """One consumer. It has one request under way at a time."""

    def __init__(self, name: str, instance: str | None = None) -> None:
        self.name = name
        self.instance = instance
        self.lives = 0
        self.names: list[str] | None = ["orders"]
        self.regex: str | None = None
        self.assignor: str | None = None
        self.start_over()

    def start_over(self) -> None:
        """Its process starts: it knows nothing."""
        self.lives += 1
        self.member_id = f"{self.name}{self.lives}"
        self.busy = False
        self.rejoin()

    def rejoin(self) -> None:
        """It owns nothing and joins at its next heartbeat."""
        self.epoch = 0
        self.owned: set[Place] = set()
        self.assigned: set[Place] = set()
        self.reported: set[Place] = set()
        self.in_full = True

    def work(self) -> None:
        """It stops what it was told to stop, and starts what it was told to start."""
        self.owned = set(self.assigned)

    def request(self) -> ConsumerGroupHeartbeatRequest:
        """Its next heartbeat.

        Before it says what it owns it finishes what it was told: what it leaves out may be given to others at once.
        """
        if self.in_full or self.reported != self.owned:
            self.work()
        by_topic: dict[bytes, list[int]] = {}
        for topic_id, partition in sorted(self.owned):
            by_topic.setdefault(topic_id, []).append(partition)
        said = [TopicPartitions(topic_id=topic_id, partitions=found) for topic_id, found in by_topic.items()]
        request = ConsumerGroupHeartbeatRequest(
            group_id="g", member_id=self.member_id, member_epoch=self.epoch, instance_id=self.instance
        )
        if self.in_full:
            request.rebalance_timeout_ms = 30_000
            request.subscribed_topic_names = self.names
            request.subscribed_topic_regex = self.regex
            request.server_assignor = self.assignor
        if self.in_full or self.reported != self.owned:
            request.topic_partitions = said
            self.reported = set(self.owned)
        self.in_full = False
        return request

    def hear(self, response: ConsumerGroupHeartbeatResponse) -> None:
        """Its last heartbeat was answered."""
        code = response.error_code
        if code in LOST:
            self.rejoin()
        elif code != ErrorCode.NONE:
            self.in_full = True
        else:
            self.epoch = response.member_epoch
            if response.assignment is not None:
                self.assigned = {(t.topic_id, p) for t in response.assignment.topic_partitions for p in t.partitions}


class World:
    """Consumers, topics, a log and a coordinator that comes and goes."""

    def __init__(self) -> None:
        self.log = BenchLog()
        self.topics = BenchTopics({"orders": 4, "events": 2})
        self.consumers = [Consumer("a"), Consumer("b"), Consumer("c"), Consumer("s", "one"), Consumer("t", "two")]
        self.boots = 0
        self.unanswered = 0
        self.widest = 0
        self.rounds = 100
        """With few, what the coordinator does piece by piece goes on while others heartbeat."""
        self.boot()

    def boot(self) -> None:
        """The coordinator's node starts, with the log as it is."""
        self.boots += 1
        now_ms = self.bench.clock.now_ms if self.boots > 1 else 1_000_000
        self.bench = Bench(SETTINGS, seed=self.boots, log=self.log, topics=self.topics, now_ms=now_ms)
        self.bench.rounds = self.rounds
        self.unanswered = 0
        self._watch_handlers()

    def _watch_handlers(self) -> None:
        """Handlers may not change hard state: see that it is the same when they return."""
        runtime: Any = self.bench.coordinator.runtime
        write = runtime.write

        def watched(partition: int, operation: Callable[[Any], Any], done: Any, failed: Any) -> None:
            def checked(machine: Any) -> Any:
                before = machine.state.snapshot()
                try:
                    return operation(machine)
                finally:
                    assert machine.state.snapshot() == before, "a handler changed hard state"

            write(partition, checked, done, failed)

        runtime.write = watched

    # -- what consumers do

    def beat(self, consumer: Consumer) -> None:
        """Its next heartbeat, unless the last one is unanswered."""
        if not consumer.busy:
            self._send(consumer, consumer.request(), consumer.hear)

    def leave(self, consumer: Consumer) -> None:
        """It closes; static ones go for a while. It starts again when it is asked for its next heartbeat."""
        if consumer.busy or consumer.epoch == 0:
            return
        epoch = -1 if consumer.instance is None else -2
        request = ConsumerGroupHeartbeatRequest(
            group_id="g", member_id=consumer.member_id, member_epoch=epoch, instance_id=consumer.instance
        )
        consumer.rejoin()
        self._send(consumer, request, lambda _: None)
        consumer.start_over()

    def _send(
        self,
        consumer: Consumer,
        request: ConsumerGroupHeartbeatRequest,
        hear: Callable[[ConsumerGroupHeartbeatResponse], None],
    ) -> None:
        lives, boots, answered = consumer.lives, self.boots, []
        self.unanswered += 1

        def give(response: ConsumerGroupHeartbeatResponse) -> None:
            assert not answered, "a heartbeat was answered twice"
            answered.append(response)
            if self.boots == boots:
                self.unanswered -= 1
                if consumer.lives == lives:
                    consumer.busy = False
                    hear(response)

        consumer.busy = True
        caller = Caller(consumer.name, "/h", 1)
        self.bench.coordinator.consumer_group_heartbeat(caller, request, give)
        self.bench.settle()
        if self.group is not None:
            self.widest = max(self.widest, len(self.group.metadata))

    # -- what the world does

    def change_topic(self, name: str, count: int) -> None:
        """It is created, grows, or (0) goes."""
        if count == 0:
            if name not in self.topics.counts:
                return
            self.topics.delete(name)
            self.bench.coordinator.on_topics_deleted([name])
        else:
            self.topics.create(name, max(count, self.topics.counts.get(name, 0)))
        self.bench.coordinator.on_topics_changed([name])
        self.bench.settle()

    def take_back(self) -> None:
        """A full disk: what was queued but not written is removed from the log again."""
        end = self.log.committed.get(0, 0)
        self.log.truncate(0, end)
        self.bench.coordinator.runtime.on_append_failed(0, end, ErrorCode.KAFKA_STORAGE_ERROR)
        self.bench.settle()

    def crash(self, keep: bool) -> None:
        """The node dies; what was not committed may be in the log or not. Who waits hears nothing and asks again."""
        if not keep:
            self.log.truncate(0, self.log.committed.get(0, 0))
        self.log.committed[0] = max(self.log.committed.get(0, 0), 0)
        self._disconnect()
        self.boot()

    def resign_and_return(self) -> None:
        """Leadership goes and comes back: everyone who waited has been answered in between."""
        self.bench.coordinator.runtime.on_resigned(0)
        assert self.unanswered == 0, "somebody still waits for a coordinator that resigned"
        self.bench.coordinator.runtime.on_elected(0, 2)
        self.bench.settle()

    def _disconnect(self) -> None:
        for consumer in self.consumers:
            if consumer.busy:
                consumer.busy = False
                consumer.in_full = True

    # -- what must hold

    @property
    def group(self) -> ConsumerGroup | None:
        """The group as replayed."""
        machine = self.bench.coordinator.runtime.machine(0)
        return None if machine is None else machine.consumer.find("g")

    def check(self, in_full: bool = True) -> None:
        """Every promise, now; or only those that do not take a replay of the whole log."""
        self.bench.machine.invariants()
        self.members_own_what_the_coordinator_says()
        if in_full:
            self.replay_equals_live()
            self.committed_views_are_what_is_committed()

    def replayed(self, upper: int) -> GroupState:
        """A fresh state from the log below upper."""
        state = GroupState()
        for _, _, batch in self.log.batches.get(0, []):
            for record in records_of(batch, next(batches(batch, 0, len(batch)))):
                if record.offset < upper:
                    decoded = decode_record(record.key or b"", record.value)
                    assert decoded is not None
                    state.replay(record.offset, decoded)
        return state

    def replay_equals_live(self) -> None:
        """The log alone gives the live state."""
        assert self.replayed(1 << 60).snapshot() == self.bench.machine.state.snapshot()

    def committed_views_are_what_is_committed(self) -> None:
        """Readers of committed state see the committed part of the log."""
        expected = self.replayed(self.log.committed.get(0, 0)).consumer.get("g")
        group = self.bench.machine.state.consumer.committed("g")
        assert (group is None) == (expected is None)
        if group is not None and expected is not None:
            assert dict(group.metadata.committed_items()) == dict(expected.metadata.items())
            assert dict(group.current.committed_items()) == dict(expected.current.items())
            assert dict(group.target.committed_items()) == dict(expected.target.items())
            assert group.state(True) == expected.state(False)

    def members_own_what_the_coordinator_says(self) -> None:
        """No member that is one still believes to own what the coordinator would give to somebody else."""
        group = self.group
        for consumer in self.consumers if group is not None else []:
            assert group is not None
            if consumer.member_id in group.metadata:
                current = group.current_of(consumer.member_id)
                held = {*partitions_of(current.assigned), *partitions_of(current.revoking)}
                assert consumer.owned <= held, f"{consumer.name} owns {consumer.owned - held}"

    def settle_down(self) -> None:
        """Trouble is over and everybody heartbeats: the group becomes stable, everything has one owner, all know."""
        self.log.refusal = None
        self.log.held = False
        self.bench.release()
        for _ in range(60):
            self.bench.advance(1100)
            for consumer in self.consumers:
                consumer.work()
                self.beat(consumer)
            self.check()
            if self._is_settled():
                group = self.group
                assert group is not None
                assert group.metadata_hash == self.bench.machine.consumer.watch.hash_of(group.subscribed())
                return
        raise AssertionError(f"the group does not settle: {self.group and self.group.state(False)}")

    def _is_settled(self) -> bool:
        group = self.group
        if group is None or group.state(True) != "Stable" or len(group.metadata) != len(self.consumers):
            return False
        wanted = {
            (topic_id, partition)
            for name in group.subscribed()
            if (topic_id := self.topics.id_of(name)) is not None
            for partition in range(self.topics.partition_count(name))
        }
        owned = [place for consumer in self.consumers for place in consumer.owned]
        known = all(
            consumer.owned == set(partitions_of(group.current_of(consumer.member_id).assigned))
            for consumer in self.consumers
        )
        return known and len(owned) == len(set(owned)) and set(owned) == wanted

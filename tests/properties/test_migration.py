"""Random histories of a group whose members change their protocol: some classic (eager, cooperative), some newer.

Members come, go, crash, and come back with the other protocol; the log is slow, refuses, takes back; the node crashes.
After every step: no partition has two owners, the machine is sound, handlers change nothing, replaying the log gives
the live state, and acknowledged offsets are there. In the end all comes to rest, with every partition owned.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tapelog.coordinators.caller import Caller
from tapelog.coordinators.records import decode_record
from tapelog.coordinators.state import GroupState
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tapelog.wire.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from tapelog.wire.record_batch import batches, records_of
from tests.support.hash_seeds import told_under_two_hash_seeds
from tests.unit.coordinators.migration.clients import GROUP, Client, ConsumerClient
from tests.unit.coordinators.migration.world import World

SEATS = ["a", "b", "s", "t"]
INSTANCES = {"s": "one", "t": "two"}
KINDS = ["classic", "consumer"]
SETTINGS = {"group.consumer.assignment.interval.ms": "1000"}


class MixedHistories(RuleBasedStateMachine):
    """The history."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(SETTINGS)
        self.attempted: dict[int, list[int]] = {}
        self.acknowledged: dict[int, int] = {}
        self.counter = 0
        self.kinds_met: set[tuple[str, ...]] = set()
        self.cooperative = False
        self._watch_handlers()

    def _watch_handlers(self) -> None:
        """Handlers may not change hard state: see that it is the same when they return."""
        runtime: Any = self.world.bench.coordinator.runtime
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

    @initialize(cooperative=st.booleans())
    def begin(self, cooperative: bool) -> None:
        """The classic members of a history are all eager or all cooperative: they could not meet otherwise."""
        self.cooperative = cooperative

    # -- what members do

    @rule(seat=st.sampled_from(SEATS), kind=st.sampled_from(KINDS), politely=st.booleans())
    def change(self, seat: str, kind: str, politely: bool) -> None:
        """A process ends, politely or not, and another starts in its place, perhaps with the other protocol."""
        former = self.world.clients.pop(seat, None)
        if former is not None:
            self._end(former, politely)
        instance = INSTANCES.get(seat)
        topics = ["events", "orders"] if seat == "b" else ["orders"]
        if kind == "consumer":
            self.world.consumer(seat, instance=instance, topics=topics)
        else:
            self.world.classic(seat, cooperative=self.cooperative, instance=instance, topics=topics)
        self.world.clients[seat].life = 0 if former is None else former.life + 1

    def _end(self, client: Client, politely: bool) -> None:
        client.life += 1
        if politely and isinstance(client, ConsumerClient) and client.instance is not None:
            client.pause()
        elif politely and client.instance is None:
            client.leave()
        client.life += 1

    @rule(seat=st.sampled_from(SEATS))
    def gone(self, seat: str) -> None:
        """A process ends for good, and says so."""
        client = self.world.clients.pop(seat, None)
        if client is not None:
            client.leave()
            client.life += 1

    @rule(seat=st.sampled_from(SEATS), times=st.integers(1, 4))
    def act(self, seat: str, times: int) -> None:
        """A member does the next things."""
        client = self.world.clients.get(seat)
        for _ in range(times if client is not None else 0):
            assert client is not None
            client.act()

    @rule(times=st.integers(1, 5))
    def live(self, times: int) -> None:
        """All members go on for a while."""
        for _ in range(times):
            for client in list(self.world.clients.values()):
                client.act()
            self.world.bench.advance(500)
            self.world.check()

    @rule(seat=st.sampled_from(SEATS))
    def commit(self, seat: str) -> None:
        """A member commits how far it is in what it owns."""
        client = self.world.clients.get(seat)
        if client is None:
            return
        for topic, partition in sorted(client.owned):
            if topic == "orders":
                self._commit(client, partition)

    def _commit(self, client: Client, partition: int) -> None:
        self.counter += 1
        offset = self.counter
        self.attempted.setdefault(partition, []).append(offset)

        def done(response: Any) -> None:
            if response.topics[0].partitions[0].error_code == ErrorCode.NONE:
                self.acknowledged[partition] = max(offset, self.acknowledged.get(partition, 0))

        part = OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
        request = OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=client.epoch,
            member_id=client.member_id,
            group_instance_id=client.instance,
            topics=[OffsetCommitRequestTopic(name="orders", partitions=[part])],
        )
        bench = self.world.bench
        bench.coordinator.offset_commit(Caller(client.name, "/h", 9), request, done)
        bench.settle()

    # -- what the world does

    @rule(milliseconds=st.sampled_from([100, 1_000, 3_000, 11_000, 46_000]))
    def advance(self, milliseconds: int) -> None:
        self.world.bench.advance(milliseconds)

    @rule()
    def hold(self) -> None:
        self.world.bench.log.held = True

    @rule()
    def release(self) -> None:
        self.world.bench.log.held = False
        self.world.bench.release()

    @rule(code=st.sampled_from([None, None, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.KAFKA_STORAGE_ERROR]))
    def refuse(self, code: ErrorCode | None) -> None:
        self.world.bench.log.refusal = code

    @rule()
    def take_back(self) -> None:
        """A full disk: what was queued but not written is removed from the log again."""
        log = self.world.bench.log
        end = log.committed.get(0, 0)
        log.truncate(0, end)
        self.world.bench.coordinator.runtime.on_append_failed(0, end, ErrorCode.KAFKA_STORAGE_ERROR)
        self.world.bench.settle()

    @rule(keep=st.booleans())
    def crash(self, keep: bool) -> None:
        """The node dies; what was not committed may be in the log or not."""
        self.world.reboot(keep=keep)
        self._watch_handlers()

    @rule()
    def resign_and_return(self) -> None:
        self.world.restart()

    # -- what must hold

    def check(self) -> None:
        """Every invariant, now."""
        self.nobody_shares_a_partition()
        self.replay_equals_live()
        self.acknowledged_offsets_are_there()

    @invariant()
    def nobody_shares_a_partition(self) -> None:
        self.world.check()

    @invariant()
    def replay_equals_live(self) -> None:
        state = GroupState()
        log = self.world.bench.log
        for _, _, batch in log.batches.get(0, []):
            for header in batches(batch, 0, len(batch)):
                for record in records_of(batch, header):
                    assert record.key is not None
                    decoded = decode_record(record.key, record.value)
                    assert decoded is not None
                    state.replay(record.offset, decoded)
        machine = self.world.bench.machine
        assert state.snapshot() == machine.state.snapshot()
        group = machine.consumer.find(GROUP)
        if group is not None:
            kinds = {("classic" if m.classic is not None else "consumer") for _, m in group.metadata.items()}
            self.kinds_met.add(tuple(sorted(kinds)))
        elif GROUP in machine.classic.active:
            self.kinds_met.add(("only classic",))

    @invariant()
    def acknowledged_offsets_are_there(self) -> None:
        answers: list[Any] = []
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=None)])
        self.world.bench.coordinator.offset_fetch(Caller("admin", "/h", 9), request, answers.append)
        found = {p.partition_index: p.committed_offset for t in answers[0].groups[0].topics for p in t.partitions}
        for partition, acknowledged in self.acknowledged.items():
            later = [offset for offset in self.attempted[partition] if offset >= acknowledged]
            assert found.get(partition) in later, f"partition {partition}: {acknowledged} was acknowledged"

    def teardown(self) -> None:
        """When trouble ends, everything comes to rest, and every partition has an owner."""
        self.refuse(None)
        self.release()
        self.world.bench.advance(60_000)
        if self.world.clients:
            self.world.run()
            wanted = sorted({topic for client in self.world.clients.values() for topic in client.topics})
            assert self.world.all_owned(wanted)
            self.check()


TestMixedHistories = MixedHistories.TestCase
TestMixedHistories.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)

STEPS = {
    "act": 40,
    "live": 25,
    "commit": 8,
    "advance": 4,
    "change": 8,
    "gone": 3,
    "hold": 1,
    "release": 4,
    "refuse": 1,
    "take_back": 1,
    "crash": 1,
    "resign_and_return": 1,
}
"""How often each thing happens in a long history: mostly life, some trouble."""


def live_through(seed: int, steps: int) -> MixedHistories:
    """A long random history, checked at every step."""
    chance = random.Random(seed)
    history = MixedHistories()
    history.begin(seed % 2 == 0)
    for _ in range(steps):
        step = chance.choices(list(STEPS), list(STEPS.values()))[0]
        arguments: list[Any] = []
        if step in ("act", "commit", "change", "gone"):
            arguments.append(chance.choice(SEATS))
        if step == "change":
            arguments += [chance.choice(KINDS), chance.random() < 0.7]
        if step == "act":
            arguments.append(chance.randint(1, 4))
        if step == "live":
            arguments.append(chance.randint(1, 5))
        if step == "advance":
            arguments.append(chance.choice([100, 1_000, 1_000, 3_000, 11_000]))
        if step == "refuse":
            arguments.append(chance.choice([None, None, None, ErrorCode.NOT_ENOUGH_REPLICAS]))
        if step == "crash":
            arguments.append(chance.random() < 0.5)
        getattr(history, step)(*arguments)
        history.check()
    history.teardown()
    return history


SEEDS = int(os.environ.get("TAPELOG_SEEDS", "12"))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_long_history_of_changing_protocols_keeps_every_promise(seed: int) -> None:
    assert len(live_through(seed, 300).acknowledged) >= 2, "commits get through"


def test_in_the_histories_members_of_both_kinds_do_meet_and_part() -> None:
    met = set().union(*(live_through(seed, 100).kinds_met for seed in range(4)))
    assert met >= {("classic", "consumer"), ("consumer",), ("only classic",)}


def test_a_history_is_the_same_whatever_the_hash_seed() -> None:
    first, second = told_under_two_hash_seeds("tests.properties.test_migration")
    assert first == second


def tell_history(seed: int) -> str:
    """The digest of the log that a history leaves."""
    history = live_through(seed, 150)
    return hashlib.sha256(b"".join(batch for _, _, batch in history.world.bench.log.batches[0])).hexdigest()

"""Random histories of offsets in transactions: commits of both kinds, markers, deletions, retention, compaction, many
in one wake-up. The log is slow, refuses, takes back; the transaction coordinator is slow; the node crashes and resigns.

After every step: replaying the log gives the live state; the live state is what the whole history comes to, however
often the log was compacted; plain reads show what is committed; stable reads say where a transaction has yet to decide;
what was acknowledged is in the committed log.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.delete_groups_request import DeleteGroupsRequest
from tapelog.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tapelog.wire.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tapelog.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tapelog.wire.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.properties.txn_offsets_world import Ideal, World

GROUPS = ["g", "h"]
PARTITIONS = [0, 1, 2]
GROUP = st.sampled_from(GROUPS)
PLACES = st.lists(st.sampled_from(PARTITIONS), min_size=1, max_size=3, unique=True)
PRODUCER = st.integers(1, 3)
EVERYTHING = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None) for group in GROUPS])
EVERYTHING_STABLE = OffsetFetchRequest(
    require_stable=True,
    groups=[
        OffsetFetchRequestGroup(
            group_id=group, topics=[OffsetFetchRequestTopics(name="orders", partition_indexes=PARTITIONS)]
        )
        for group in GROUPS
    ],
)


class TxnOffsetHistories(RuleBasedStateMachine):
    """The history."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()

    # -- what clients do

    @rule(group=GROUP, places=PLACES)
    def commit(self, group: str, places: list[int]) -> None:
        """Somebody outside the group commits."""
        numbers = [self.world.next_number() for _ in places]
        parts = [
            OffsetCommitRequestPartition(partition_index=index, committed_offset=number)
            for index, number in zip(places, numbers, strict=True)
        ]
        request = OffsetCommitRequest(
            group_id=group, topics=[OffsetCommitRequestTopic(name="orders", partitions=parts)]
        )
        self.world.ask("offset_commit", request, 9, lambda response: self._acknowledge(response, numbers))

    @rule(group=GROUP, places=PLACES, producer=PRODUCER)
    def txn_commit(self, group: str, places: list[int], producer: int) -> None:
        """A producer commits for its transaction."""
        numbers = [self.world.next_number() for _ in places]
        parts = [
            TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=number)
            for index, number in zip(places, numbers, strict=True)
        ]
        request = TxnOffsetCommitRequest(
            transactional_id="t",
            group_id=group,
            producer_id=producer,
            topics=[TxnOffsetCommitRequestTopic(name="orders", partitions=parts)],
        )
        self.world.ask("txn_offset_commit", request, 5, lambda response: self._acknowledge(response, numbers))

    def _acknowledge(self, response: Any, numbers: list[int]) -> None:
        parts = [part for topic in response.topics for part in topic.partitions]
        for part, number in zip(parts, numbers, strict=True):
            if part.error_code == ErrorCode.NONE:
                self.world.acknowledged.add(number)

    @rule(producer=PRODUCER, commit=st.booleans())
    def end(self, producer: int, commit: bool) -> None:
        """A marker arrives."""
        give = self.world.expect()
        runtime = self.world.bench.coordinator.runtime
        runtime.end_transaction(0, producer, 0, 1, commit, give, give)
        self.world.settle()

    @rule(group=GROUP, places=PLACES)
    def delete_offsets(self, group: str, places: list[int]) -> None:
        parts = [OffsetDeleteRequestPartition(partition_index=index) for index in places]
        request = OffsetDeleteRequest(
            group_id=group, topics=[OffsetDeleteRequestTopic(name="orders", partitions=parts)]
        )
        self.world.ask("offset_delete", request, 0)

    @rule(group=GROUP)
    def delete_group(self, group: str) -> None:
        self.world.ask("delete_groups", DeleteGroupsRequest(groups_names=[group]), 2)

    @rule(steps=st.lists(st.tuples(st.sampled_from([0, 1, 2]), GROUP, PLACES, PRODUCER), min_size=2, max_size=5))
    def burst(self, steps: list[tuple[int, str, list[int], int]]) -> None:
        """Several requests in one wake-up."""
        self.world.in_burst = True
        for kind, group, places, producer in steps:
            if kind == 0:
                self.commit(group, places)
            elif kind == 1:
                self.txn_commit(group, places, producer)
            else:
                self.end(producer, len(places) > 1)
        self.world.in_burst = False
        self.world.settle()

    # -- what the world does

    @rule(milliseconds=st.sampled_from([100, 6_000, 700_000, 4_000_000]))
    def advance(self, milliseconds: int) -> None:
        self.world.bench.advance(milliseconds)

    @rule()
    def hold(self) -> None:
        self.world.log.held = True

    @rule()
    def release(self) -> None:
        self.world.log.held = False
        self.world.bench.release()

    @rule()
    def hold_gate(self) -> None:
        self.world.bench.gate.held = True

    @rule()
    def release_gate(self) -> None:
        self.world.bench.gate.release()
        self.world.bench.settle()

    @rule(code=st.sampled_from([None, None, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.INVALID_PRODUCER_EPOCH]))
    def refuse(self, code: ErrorCode | None) -> None:
        self.world.log.refusal = code

    @rule()
    def take_back(self) -> None:
        """A full disk: what was queued but not written is removed from the log again."""
        end = self.world.committed_offset
        self.world.log.truncate(0, end)
        self.world.bench.coordinator.runtime.on_append_failed(0, end, ErrorCode.KAFKA_STORAGE_ERROR)
        self.world.bench.settle()

    @rule(keep=st.booleans())
    def crash(self, keep: bool) -> None:
        """The node dies; what was not committed may be in the log or not."""
        if not keep:
            self.world.log.truncate(0, self.world.committed_offset)
        self.world.boot()

    @rule()
    def resign_and_return(self) -> None:
        """Leadership goes and comes back: everyone who waited has been answered in between."""
        runtime = self.world.bench.coordinator.runtime
        runtime.on_resigned(0)
        self.world.bench.gate.release()
        assert self.world.unanswered == 0, "somebody still waits for a coordinator that resigned"
        self.world.elect()

    # -- what must hold

    def check(self) -> None:
        """Every invariant, now."""
        self.the_machine_is_sound()
        self.replay_equals_live()
        self.the_state_is_what_the_history_comes_to()
        self.reads_tell_what_is_committed_and_what_is_open()
        self.what_was_acknowledged_is_committed()

    @invariant()
    def the_machine_is_sound(self) -> None:
        self.world.bench.machine.invariants()

    @invariant()
    def replay_equals_live(self) -> None:
        assert self.world.replayed().snapshot() == self.world.bench.machine.state.snapshot()

    @invariant()
    def the_state_is_what_the_history_comes_to(self) -> None:
        ideal = Ideal(self.world.log.history)
        store = self.world.bench.machine.state.offsets
        live = {(group, where[1]): found.offset for group in GROUPS for where, found in store.of_group(group, False)}
        assert live == ideal.positions()
        pending = {
            (producer, (group, where[1])): found.offset
            for producer, offsets in store.pending.snapshot()[0].items()
            for (group, where), found in offsets.items()
        }
        assert pending == ideal.undecided()

    @invariant()
    def reads_tell_what_is_committed_and_what_is_open(self) -> None:
        world = self.world
        ideal = Ideal(world.log.history, world.committed_offset)
        assert world.fetched(False, EVERYTHING) == ideal.positions()
        if world.log.held or world.log.end_offset(0) > world.committed_offset:
            return
        unstable = ideal.unstable()
        expected = {
            (group, index): "UNSTABLE_OFFSET_COMMIT"
            if (group, index) in unstable
            else ideal.positions().get((group, index), -1)
            for group in GROUPS
            for index in PARTITIONS
        }
        assert world.fetched(True, EVERYTHING_STABLE) == expected

    @invariant()
    def what_was_acknowledged_is_committed(self) -> None:
        assert self.world.acknowledged <= Ideal(self.world.log.history, self.world.committed_offset).seen


TestTxnOffsetHistories = TxnOffsetHistories.TestCase
TestTxnOffsetHistories.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)

STEPS = {
    "commit": 20,
    "txn_commit": 30,
    "end": 20,
    "burst": 10,
    "delete_offsets": 2,
    "delete_group": 1,
    "advance": 3,
    "hold": 2,
    "release": 8,
    "hold_gate": 2,
    "release_gate": 6,
    "refuse": 3,
    "take_back": 1,
    "crash": 1,
    "resign_and_return": 1,
}
"""How often each thing happens in a long history: mostly life, some trouble."""


def live_through(seed: int, steps: int) -> TxnOffsetHistories:
    """A long random history, checked at every step."""
    chance = random.Random(seed)
    history = TxnOffsetHistories()
    for _ in range(steps):
        step = chance.choices(list(STEPS), list(STEPS.values()))[0]
        arguments: list[Any] = []
        if step in ("commit", "txn_commit", "delete_offsets", "delete_group"):
            arguments.append(chance.choice(GROUPS))
        if step in ("commit", "txn_commit", "delete_offsets"):
            arguments.append(chance.sample(PARTITIONS, chance.randint(1, 3)))
        if step in ("txn_commit", "end"):
            arguments.append(chance.randint(1, 3))
        if step == "end":
            arguments.append(chance.random() < 0.7)
        if step == "burst":
            kinds = [(chance.randrange(3), chance.choice(GROUPS)) for _ in range(chance.randint(2, 5))]
            arguments.append(
                [
                    (kind, group, chance.sample(PARTITIONS, chance.randint(1, 3)), chance.randint(1, 3))
                    for kind, group in kinds
                ]
            )
        if step == "advance":
            arguments.append(chance.choice([100, 6_000, 700_000, 4_000_000]))
        if step == "refuse":
            arguments.append(chance.choice([None, None, None, ErrorCode.NOT_ENOUGH_REPLICAS]))
        if step == "crash":
            arguments.append(chance.random() < 0.5)
        getattr(history, step)(*arguments)
        history.check()
    return history


@pytest.mark.parametrize("seed", range(12))
def test_a_long_history_of_transactions_keeps_every_promise(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tapelog.coordinators.rewrite.RECORDS_PER_STEP", 1 + seed % 3)
    history = live_through(seed, 400)
    ideal = Ideal(history.world.log.history)
    assert len(history.world.acknowledged) > 50, "commits get through"
    assert ideal.rewritten > 20, "the log is compacted"
    assert history.world.log.start_offset(0) > 0, "and let go of"

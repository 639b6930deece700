"""Random histories of a group: members come, go and crash; the log is slow, refuses, takes back; the node crashes.

After every step: the machine's invariants hold, replaying the log gives the live state, committed reads show exactly
what is committed, an acknowledged offset is there or was overwritten by a later attempt, generations in the log only
grow, and no partition has two owners in a stable generation.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tapelog.coordinators.caller import Caller
from tapelog.coordinators.classic.group import STABLE
from tapelog.coordinators.records import decode_record
from tapelog.coordinators.state import GroupState
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.heartbeat_request import HeartbeatRequest
from tapelog.wire.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tapelog.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tapelog.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tapelog.wire.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from tapelog.wire.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from tapelog.wire.record_batch import batches, records_of
from tapelog.wire.records.group_metadata_key import GroupMetadataKey
from tests.support.hash_seeds import told_under_two_hash_seeds
from tests.unit.coordinators.bench import Bench, BenchLog
from tests.unit.coordinators.story import subscription

PARTITIONS = 4
CLIENTS = st.integers(0, 3)


class Member:
    """A toy consumer: it joins, assigns if it leads, syncs, commits. It has one request under way at a time."""

    def __init__(self, name: str, instance: str | None) -> None:
        self.name = name
        self.instance = instance
        self.member_id = ""
        self.generation = -1
        self.roster: list[str] = []
        self.step = "join"
        self.busy = False
        self.life = 0


class GroupHistories(RuleBasedStateMachine):
    """The history."""

    def __init__(self) -> None:
        super().__init__()
        self.log = BenchLog()
        self.members = [Member("a", None), Member("b", None), Member("s", "one"), Member("t", "two")]
        self.attempted: dict[int, list[int]] = {}
        self.acknowledged: dict[int, int] = {}
        self.counter = 0
        self.boots = 0
        self.unanswered = 0
        self.rosters: dict[int, list[str]] = {}
        self.widest = 0
        self.boot()

    def boot(self) -> None:
        self.boots += 1
        self.rosters.clear()
        self.bench = Bench({"group.initial.rebalance.delay.ms": "100"}, seed=self.boots, log=self.log)
        self.bench.clock.now_ms += self.boots * 1_000_000
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

    def ask(self, member: Member, api: str, request: Any, version: int, done: Callable[[Any], None]) -> None:
        life, boots = member.life, self.boots
        answered: list[Any] = []
        self.unanswered += 1

        def give(response: Any) -> None:
            assert not answered, f"{api} was answered twice"
            answered.append(response)
            self.unanswered -= 1
            if member.life == life and self.boots == boots:
                member.busy = False
                done(response)

        member.busy = True
        getattr(self.bench.coordinator, api)(Caller(member.name, "/h", version), request, give)
        self.bench.settle()

    # -- what members do

    @rule(who=CLIENTS)
    def go_on(self, who: int) -> None:
        """The next step of a consumer's life."""
        member = self.members[who]
        if not member.busy:
            getattr(self, "_" + member.step)(member)

    def _join(self, member: Member) -> None:
        def done(response: Any) -> None:
            code = response.error_code
            if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
                member.member_id = ""
            elif code == ErrorCode.MEMBER_ID_REQUIRED:
                member.member_id = response.member_id
            elif code == ErrorCode.NONE:
                member.member_id, member.generation = response.member_id, response.generation_id
                leads = response.leader == response.member_id and not response.skip_assignment
                member.roster = [m.member_id for m in response.members] if leads else []
                if leads:
                    known = self.rosters.setdefault(response.generation_id, member.roster)
                    assert known == member.roster, "one generation, one list of members"
                    self.widest = max(self.widest, len(known))
                member.step = "sync"

        request = JoinGroupRequest(
            group_id="g",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=30_000,
            member_id=member.member_id,
            group_instance_id=member.instance,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription(["orders"]))],
        )
        self.ask(member, "join_group", request, 9, done)

    def _sync(self, member: Member) -> None:
        shares: dict[str, list[str]] = {member_id: [] for member_id in member.roster}
        for partition in range(PARTITIONS if member.roster else 0):
            shares[member.roster[partition % len(member.roster)]].append(str(partition))
        request = SyncGroupRequest(
            group_id="g",
            generation_id=member.generation,
            member_id=member.member_id,
            group_instance_id=member.instance,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[
                SyncGroupRequestAssignment(member_id=m, assignment=",".join(share).encode())
                for m, share in shares.items()
            ],
        )

        def done(response: Any) -> None:
            if response.error_code == ErrorCode.NONE:
                assert (member.member_id, response.assignment) in self.decided(member.generation)
            self._after(member, response.error_code, "beat")

        self.ask(member, "sync_group", request, 5, done)

    def decided(self, generation: int) -> list[tuple[str, bytes]]:
        """What the committed log says of a generation: who got what, by whatever id it had."""
        return [
            (stored.member_id, stored.assignment)
            for value in self.images(self.log.committed.get(0, 0))
            if value is not None and value.generation == generation
            for stored in value.members
        ]

    def images(self, upper: int) -> list[Any]:
        """The group's records below upper, in order; None is a tombstone."""
        found = []
        for record in self.log_records(upper):
            decoded = decode_record(record.key, record.value)
            assert decoded is not None
            if isinstance(decoded.key, GroupMetadataKey):
                found.append(decoded.value)
        return found

    def log_records(self, upper: int) -> list[Any]:
        return [
            record
            for _, _, batch in self.log.batches.get(0, [])
            for record in records_of(batch, next(batches(batch, 0, len(batch))))
            if record.offset < upper
        ]

    def _beat(self, member: Member) -> None:
        request = HeartbeatRequest(
            group_id="g",
            generation_id=member.generation,
            member_id=member.member_id,
            group_instance_id=member.instance,
        )
        self.ask(member, "heartbeat", request, 4, lambda response: self._after(member, response.error_code, "beat"))

    def _after(self, member: Member, code: int, step: str) -> None:
        member.step = step if code == ErrorCode.NONE else "join"
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            member.member_id = ""

    @rule(who=CLIENTS, partition=st.integers(0, PARTITIONS - 1), as_member=st.booleans())
    def commit(self, who: int, partition: int, as_member: bool) -> None:
        """A commit by a member, or by somebody outside."""
        member = self.members[who] if as_member else Member("admin", None)
        if member.busy:
            return
        self.counter += 1
        offset = self.counter
        self.attempted.setdefault(partition, []).append(offset)

        def done(response: Any) -> None:
            if response.topics[0].partitions[0].error_code == ErrorCode.NONE:
                self.acknowledged[partition] = max(offset, self.acknowledged.get(partition, 0))

        part = OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
        request = OffsetCommitRequest(
            group_id="g",
            generation_id_or_member_epoch=member.generation if as_member else -1,
            member_id=member.member_id if as_member else "",
            group_instance_id=member.instance,
            topics=[OffsetCommitRequestTopic(name="orders", partitions=[part])],
        )
        self.ask(member, "offset_commit", request, 9, done)

    @rule(who=CLIENTS)
    def leave(self, who: int) -> None:
        """A member closes."""
        member = self.members[who]
        if member.busy:
            return
        identity = MemberIdentity(member_id=member.member_id, group_instance_id=member.instance)
        self.ask(member, "leave_group", LeaveGroupRequest(group_id="g", members=[identity]), 5, lambda _: None)
        member.member_id, member.step = "", "join"

    @rule(who=CLIENTS)
    def restart(self, who: int) -> None:
        """A member's process dies and starts again: it forgets everything, answers to its former self are lost."""
        member = self.members[who]
        member.life += 1
        member.busy, member.member_id, member.step = False, "", "join"

    # -- what the world does

    @rule(milliseconds=st.sampled_from([50, 100, 3_000, 11_000, 31_000]))
    def advance(self, milliseconds: int) -> None:
        self.bench.advance(milliseconds)

    @rule()
    def hold(self) -> None:
        self.log.held = True

    @rule()
    def release(self) -> None:
        self.log.held = False
        self.bench.release()

    @rule(code=st.sampled_from([None, None, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.KAFKA_STORAGE_ERROR]))
    def refuse(self, code: ErrorCode | None) -> None:
        self.log.refusal = code

    @rule()
    def take_back(self) -> None:
        """A full disk: what was queued but not written is removed from the log again."""
        end = self.log.committed.get(0, 0)
        self.log.truncate(0, end)
        self.bench.coordinator.runtime.on_append_failed(0, end, ErrorCode.KAFKA_STORAGE_ERROR)
        self.bench.settle()

    @rule(keep=st.booleans())
    def crash(self, keep: bool) -> None:
        """The node dies; what was not committed may be in the log or not."""
        if not keep:
            self.log.truncate(0, self.log.committed.get(0, 0))
        self.unanswered = 0
        for member in self.members:
            member.busy = False
        self.boot()

    @rule()
    def resign_and_return(self) -> None:
        """Leadership goes and comes back: everyone who waited has been answered in between."""
        self.rosters.clear()
        self.bench.coordinator.runtime.on_resigned(0)
        assert self.unanswered == 0, "somebody still waits for a coordinator that resigned"
        self.bench.coordinator.runtime.on_elected(0, 2)
        self.bench.settle()

    # -- what must hold

    def replayed(self, upper: int) -> GroupState:
        """A fresh state from the log below upper."""
        state = GroupState()
        for record in self.log_records(upper):
            decoded = decode_record(record.key, record.value)
            assert decoded is not None
            state.replay(record.offset, decoded)
        return state

    def check(self) -> None:
        """Every invariant, now."""
        self.generations_in_the_log_only_grow()
        self.the_machine_is_sound()
        self.replay_equals_live()
        self.committed_reads_show_what_is_committed()
        self.acknowledged_offsets_are_there()
        self.no_partition_has_two_owners()

    @invariant()
    def generations_in_the_log_only_grow(self) -> None:
        last = 0
        for value in self.images(1 << 60):
            assert value is None or value.generation >= last
            last = 0 if value is None else value.generation

    @invariant()
    def the_machine_is_sound(self) -> None:
        self.bench.machine.invariants()

    @invariant()
    def replay_equals_live(self) -> None:
        assert self.replayed(1 << 60).snapshot() == self.bench.machine.state.snapshot()

    @invariant()
    def committed_reads_show_what_is_committed(self) -> None:
        committed = self.replayed(self.log.committed.get(0, 0)).offsets
        assert committed.of_group("g", False) == self.bench.machine.state.offsets.of_group("g", True)

    @invariant()
    def acknowledged_offsets_are_there(self) -> None:
        answers: list[Any] = []
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)])
        self.bench.coordinator.offset_fetch(Caller("admin", "/h", 9), request, answers.append)
        found = {p.partition_index: p.committed_offset for t in answers[0].groups[0].topics for p in t.partitions}
        for partition, acknowledged in self.acknowledged.items():
            later = [offset for offset in self.attempted[partition] if offset >= acknowledged]
            assert found.get(partition) in later, f"partition {partition}: {acknowledged} was acknowledged"

    @invariant()
    def no_partition_has_two_owners(self) -> None:
        group = self.bench.machine.classic.find("g")
        if group is None or group.state != STABLE:
            return
        owned = [p for m in group.members.values() for p in m.assignment.decode().split(",") if p]
        assert len(owned) == len(set(owned))


TestGroupHistories = GroupHistories.TestCase
TestGroupHistories.settings = settings(max_examples=40, stateful_step_count=50, deadline=None)

STEPS = {
    "go_on": 60,
    "commit": 15,
    "advance": 10,
    "leave": 1,
    "restart": 1,
    "hold": 2,
    "release": 6,
    "refuse": 2,
    "take_back": 1,
    "crash": 1,
    "resign_and_return": 1,
}
"""How often each thing happens in a long history: mostly life, some trouble."""


def live_through(seed: int, steps: int) -> GroupHistories:
    """A long random history, checked at every step."""
    chance = random.Random(seed)
    history = GroupHistories()
    for _ in range(steps):
        step = chance.choices(list(STEPS), list(STEPS.values()))[0]
        arguments: list[Any] = []
        if step in ("go_on", "leave", "restart", "commit"):
            arguments.append(chance.randrange(4))
        if step == "commit":
            arguments += [chance.randrange(PARTITIONS), chance.random() < 0.7]
        if step == "advance":
            arguments.append(chance.choice([50, 100, 100, 3_000, 3_000, 11_000]))
        if step == "refuse":
            arguments.append(chance.choice([None, None, None, ErrorCode.NOT_ENOUGH_REPLICAS]))
        if step == "crash":
            arguments.append(chance.random() < 0.5)
        getattr(history, step)(*arguments)
        history.check()
    return history


@pytest.mark.parametrize("seed", range(12))
def test_a_long_history_of_trouble_keeps_every_promise(seed: int) -> None:
    history = live_through(seed, 400)
    assert len(history.acknowledged) >= 2, "commits get through"
    assert history.widest >= 3, "members do meet"


def test_a_history_is_the_same_whatever_the_hash_seed() -> None:
    first, second = told_under_two_hash_seeds("tests.properties.test_groups")
    assert first == second


def tell_history(seed: int) -> str:
    """The digest of the log that a history leaves."""
    history = live_through(seed, 150)
    return hashlib.sha256(b"".join(batch for _, _, batch in history.log.batches[0])).hexdigest()

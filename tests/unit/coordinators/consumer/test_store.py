"""The hard state of consumer groups: records come back as they were, older ones are understood, all is rewritten."""

from __future__ import annotations

import pytest

from tapelog.coordinators.consumer import records
from tapelog.coordinators.consumer.member import (
    UNKNOWN,
    UNREVOKED_PARTITIONS,
    ClassicMetadata,
    CurrentAssignment,
    MemberMetadata,
    ResolvedRegex,
)
from tapelog.coordinators.outcome import CoordinatorRecord
from tapelog.coordinators.records import decode_record, encode_record
from tapelog.coordinators.state import GroupState
from tapelog.wire.records.consumer_group_current_member_assignment_key import ConsumerGroupCurrentMemberAssignmentKey
from tapelog.wire.records.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
    TopicPartitions,
)
from tapelog.wire.records.consumer_group_partition_metadata_key import ConsumerGroupPartitionMetadataKey
from tapelog.wire.records.consumer_group_partition_metadata_value import ConsumerGroupPartitionMetadataValue
from tests.unit.coordinators.bench import Bench
from tests.unit.coordinators.consumer_story import ConsumerStory

A, B = b"a" * 16, b"b" * 16

MEMBER = MemberMetadata(
    "one", "east", "client", "/127.0.0.1", frozenset({"orders", "events"}), "o.*", 5000, "range", None
)
CLASSIC = MEMBER._replace(classic=ClassicMetadata(6000, (("range", b"\0\1"), ("sticky", b""))))
CURRENT = CurrentAssignment(4, 3, UNREVOKED_PARTITIONS, {A: {0: 2, 3: 4}, B: {1: 4}}, {A: {1: 2}})

WRITTEN = [
    records.epoch_record("g", 5, -7),
    records.member_record("g", "m", MEMBER),
    records.member_record("g", "c", CLASSIC),
    records.target_record("g", "m", {B: (1,), A: (0, 3)}),
    records.target_epoch_record("g", 4, 1_700_000_000_000),
    records.current_record("g", "m", CURRENT),
    records.regex_record("g", "o.*", ResolvedRegex(frozenset({"orders", "omega"}), 77, 1_700_000_000_001)),
]


def replayed(written: list[CoordinatorRecord]) -> GroupState:
    """A state of these records, each by way of its bytes."""
    state = GroupState()
    for offset, record in enumerate(written):
        decoded = decode_record(*encode_record(record))
        assert decoded is not None
        assert decoded.key == record.key
        assert decoded.value == record.value
        state.replay(offset, decoded)
    return state


def test_every_record_comes_back_as_it_was() -> None:
    group = replayed(WRITTEN).consumer.get("g")
    assert group is not None
    assert (group.epoch, group.metadata_hash) == (5, -7)
    assert (group.target_epoch, group.target_timestamp_ms) == (4, 1_700_000_000_000)
    assert dict(group.metadata.items()) == {"m": MEMBER, "c": CLASSIC}
    assert group.current_of("m") == CURRENT
    assert group.target_of("m") == {A: (0, 3), B: (1,)}
    assert group.regex_topics("o.*") == {"orders", "omega"}


def test_what_follows_from_the_records_is_known() -> None:
    group = replayed(WRITTEN).consumer.get("g")
    assert group is not None
    assert dict(group.owners.items()) == {(A, 0): "m", (A, 1): "m", (A, 3): "m", (B, 1): "m"}
    assert dict(group.readers.items()) == {"orders": 2, "events": 2}
    assert group.regex_users.get("o.*") == 2
    assert group.assignor_votes.get("range") == 2
    assert group.classic_count == 1
    assert group.subscribed() == {"orders", "events", "omega"}
    assert group.is_subscribed_to("omega")
    assert not group.is_subscribed_to("other")


@pytest.mark.parametrize("length", range(len(WRITTEN)))
def test_an_undo_restores_everything_that_was_derived(length: int) -> None:
    state = replayed(WRITTEN[:length])
    before = state.snapshot()
    for offset, record in enumerate(
        [*WRITTEN, records.current_tombstone("g", "m"), records.member_tombstone("g", "m")]
    ):
        state.replay(length + offset, record)
    state.revert(length)
    assert state.snapshot() == before
    assert length > 0 or state.consumer.get("g") is None


def test_the_live_records_restore_the_state() -> None:
    state = replayed(WRITTEN)
    again = [record for key in state.live_keys() if isinstance(record := state.live_record(key), CoordinatorRecord)]
    assert replayed(again).snapshot() == state.snapshot()
    assert len(again) == len(WRITTEN)


def test_records_of_older_versions_are_understood() -> None:
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id="g", member_id="m")
    old = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=6, state=9, assigned_partitions=[TopicPartitions(topic_id=A, partitions=[2, 1])]
    )
    topics = CoordinatorRecord(
        ConsumerGroupPartitionMetadataKey(group_id="g"), ConsumerGroupPartitionMetadataValue(topics=[])
    )
    group = replayed([records.member_record("g", "m", MEMBER), CoordinatorRecord(key, old), topics]).consumer.get("g")
    assert group is not None
    assert group.current_of("m").state == UNKNOWN
    assert group.current_of("m").assigned == {A: {1: 6, 2: 6}}
    assert len(group.legacy) == 1


def test_a_group_forgets_what_kafka_before_4_1_wrote_of_its_topics() -> None:
    story = ConsumerStory()
    story.run("beat a")
    shard_log = story.bench.log
    bench = Bench(log=shard_log)
    key = ConsumerGroupPartitionMetadataKey(group_id="g")
    bench.coordinator.runtime.write(
        0, lambda _: _one(CoordinatorRecord(key, ConsumerGroupPartitionMetadataValue())), print, print
    )
    bench.settle()
    assert len(bench.machine.consumer.find("g").legacy) == 1
    story.bench = bench
    story.run("beat b")
    assert len(bench.machine.consumer.find("g").legacy) == 0


def _one(record: CoordinatorRecord) -> object:
    from tapelog.coordinators.outcome import Outcome

    return Outcome([record], None)


def test_tombstones_of_groups_that_are_not_there_change_nothing() -> None:
    state = GroupState()
    for record in (records.epoch_tombstone("g"), records.member_tombstone("g", "m"), records.regex_tombstone("g", "x")):
        state.replay(0, record)
    assert state.consumer.get("g") is None
    assert state.live_keys() == []


def test_a_busy_log_stays_bounded_and_keeps_the_groups() -> None:
    story = ConsumerStory()
    story.bench.coordinator.runtime._rewrite_bytes_min = 4_000
    for turn in range(40):
        for line in ("beat a", "beat b instance=two", "advance 1s", "beat a b", "beat a b", "beat a b"):
            story.run(line)
        story.run("beat c topics= regex=o.*")
        story.run("quit a" if turn % 2 else "quit b")
        story.run("quit c")
    assert story.bench.log.start_offset(0) > 300
    assert sum(len(batch) for _, _, batch in story.bench.log.batches[0]) < 30_000
    again = Bench(log=story.bench.log)
    assert again.machine.state.snapshot() == story.bench.machine.state.snapshot()


@pytest.mark.parametrize("topics", [1, 30])
@pytest.mark.parametrize("partitions", [1, 400])
def test_how_large_records_are_is_known_well_enough(topics: int, partitions: int) -> None:
    ids = [bytes([number]) * 16 for number in range(topics)]
    half = partitions // 2
    owned = {topic_id: dict.fromkeys(range(half, partitions), 3) for topic_id in ids}
    revoked = {topic_id: dict.fromkeys(range(half), 3) for topic_id in ids if half}
    for record in (
        records.target_record("g", "m", {topic_id: tuple(range(partitions)) for topic_id in ids}),
        records.current_record("g", "m", CurrentAssignment(4, 3, UNREVOKED_PARTITIONS, owned, revoked)),
    ):
        key, value = encode_record(record)
        assert value is not None
        size = len(key) + len(value)
        told = records.bytes_of([record, record])
        assert 2 * size * 0.9 < told < 2 * size * 1.3 + 2 * records.RECORD_BYTES

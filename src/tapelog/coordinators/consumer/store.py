"""All consumer groups of a shard as their records tell them: the hard state. `replay` is the only mutator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

from tapelog.coordinators.consumer import records
from tapelog.coordinators.consumer.group import SELF, ConsumerGroup
from tapelog.coordinators.outcome import CoordinatorRecord
from tapelog.coordinators.timeline import Journal, Timeline
from tapelog.wire.message import Message
from tapelog.wire.records.consumer_group_current_member_assignment_key import ConsumerGroupCurrentMemberAssignmentKey
from tapelog.wire.records.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
)
from tapelog.wire.records.consumer_group_member_metadata_key import ConsumerGroupMemberMetadataKey
from tapelog.wire.records.consumer_group_member_metadata_value import ConsumerGroupMemberMetadataValue
from tapelog.wire.records.consumer_group_metadata_key import ConsumerGroupMetadataKey
from tapelog.wire.records.consumer_group_metadata_value import ConsumerGroupMetadataValue
from tapelog.wire.records.consumer_group_partition_metadata_key import ConsumerGroupPartitionMetadataKey
from tapelog.wire.records.consumer_group_partition_metadata_value import ConsumerGroupPartitionMetadataValue
from tapelog.wire.records.consumer_group_regular_expression_key import ConsumerGroupRegularExpressionKey
from tapelog.wire.records.consumer_group_regular_expression_value import ConsumerGroupRegularExpressionValue
from tapelog.wire.records.consumer_group_target_assignment_member_key import ConsumerGroupTargetAssignmentMemberKey
from tapelog.wire.records.consumer_group_target_assignment_member_value import ConsumerGroupTargetAssignmentMemberValue
from tapelog.wire.records.consumer_group_target_assignment_metadata_key import ConsumerGroupTargetAssignmentMetadataKey
from tapelog.wire.records.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)

K = TypeVar("K")
V = TypeVar("V")


class LiveKey(NamedTuple):
    """The name of a live record: its kind, its group, and a member id or regular expression where it has one."""

    kind: str
    group_id: str
    name: str = SELF


class ConsumerStore:
    """Consumer groups by id, over the shard's journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._groups: dict[str, ConsumerGroup] = {}
        self._thinned: dict[str, None] = {}

    # -- questions

    def get(self, group_id: str) -> ConsumerGroup | None:
        """The group, if something is written of it."""
        group = self._groups.get(group_id)
        return group if group is not None and group.exists else None

    def exists(self, group_id: str) -> bool:
        """Something is written of that group."""
        return self.get(group_id) is not None

    def committed(self, group_id: str) -> ConsumerGroup | None:
        """The group, if something committed is written of it; ask it for committed values only."""
        group = self._groups.get(group_id)
        return group if group is not None and group.exists_committed else None

    def fresh(self, group_id: str) -> ConsumerGroup:
        """A group of which nothing is written: what a handler works with that is about to create one."""
        return ConsumerGroup(group_id, self._journal)

    def groups(self) -> Iterator[ConsumerGroup]:
        """Every group, in no particular order."""
        return (group for group in self._groups.values() if group.exists)

    # -- replay

    def replay(self, offset: int, record: CoordinatorRecord) -> bool:
        """Apply the record that stands in the log at offset; False if it is not a consumer group's."""
        group_id = getattr(record.key, "group_id", None)
        if not isinstance(group_id, str):
            return False
        group = self._groups.get(group_id)
        if group is None:
            if record.value is None:
                return isinstance(record.key, KEYS)
            group = ConsumerGroup(group_id, self._journal)
            self._groups[group_id] = group
        if record.value is None:
            self._thinned[group_id] = None
        return _apply(group, offset, record.key, record.value)

    def tidy(self) -> None:
        """Let go of groups that have nothing left, now or in case of an undo. Call after commit."""
        for group_id in list(self._thinned):
            group = self._groups[group_id]
            if group.bare:
                del self._groups[group_id]
            if group.bare or group.exists:
                del self._thinned[group_id]

    def reverted(self) -> None:
        """After an undo: let go of groups whose creation was taken back."""
        self._thinned.update(dict.fromkeys(group_id for group_id, group in self._groups.items() if not group.exists))
        self.tidy()

    # -- the log, written anew

    def live_keys(self) -> list[object]:
        """A name for every live record, in an order that Kafka can replay too."""
        keys: list[object] = []
        for group in self.groups():
            group_id = group.group_id
            if SELF in group.epochs:
                keys.append(LiveKey("epoch", group_id))
            if SELF in group.legacy:
                keys.append(LiveKey("legacy", group_id))
            keys.extend(LiveKey("member", group_id, member_id) for member_id, _ in group.metadata.items())
            keys.extend(LiveKey("regex", group_id, regex) for regex, _ in group.regexes.items())
            keys.extend(LiveKey("target", group_id, member_id) for member_id, _ in group.target.items())
            if SELF in group.target_epochs:
                keys.append(LiveKey("target-epoch", group_id))
            keys.extend(LiveKey("current", group_id, member_id) for member_id, _ in group.current.items())
        return keys

    def live_record(self, key: LiveKey) -> CoordinatorRecord | None:
        """The record that restores what the key names; None if it is gone."""
        kind, group_id, name = key
        group = self.get(group_id)
        if group is None:
            return None
        if kind == "epoch":
            return records.epoch_record(group_id, group.epoch, group.metadata_hash) if SELF in group.epochs else None
        if kind == "legacy":
            empty = ConsumerGroupPartitionMetadataValue()
            key_of = ConsumerGroupPartitionMetadataKey(group_id=group_id)
            return CoordinatorRecord(key_of, empty) if SELF in group.legacy else None
        if kind == "target-epoch":
            if SELF not in group.target_epochs:
                return None
            return records.target_epoch_record(group_id, group.target_epoch, group.target_timestamp_ms)
        return _live_part(group, kind, name)

    def snapshot(self) -> object:
        """A comparable picture of everything, derived values included."""
        return {
            group.group_id: [
                sorted(timeline.items(), key=lambda item: item[0])
                for timeline in (group.metadata, group.current, group.target, group.regexes)
            ]
            + [
                [group.epoch, group.metadata_hash, group.target_epoch, group.target_timestamp_ms, SELF in group.legacy],
                sorted(group.owners.items()),
                sorted(group.instances.items()),
                sorted(group.readers.items()),
                sorted(group.regex_users.items()),
                sorted(group.assignor_votes.items()),
                group.classic_count,
            ]
            for group in sorted(self.groups(), key=lambda group: group.group_id)
        }


KEYS: tuple[type[Message], ...] = (
    ConsumerGroupMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupRegularExpressionKey,
)
VALUES: tuple[type[Message], ...] = (
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupTargetAssignmentMetadataValue,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupRegularExpressionValue,
)
"""The kinds of records, keys beside their values."""


def _apply(group: ConsumerGroup, offset: int, key: Message, value: Message | None) -> bool:
    match key:
        case ConsumerGroupMemberMetadataKey():
            assert value is None or isinstance(value, ConsumerGroupMemberMetadataValue)
            group.put_member(offset, key.member_id, None if value is None else records.member_of(value))
        case ConsumerGroupCurrentMemberAssignmentKey():
            assert value is None or isinstance(value, ConsumerGroupCurrentMemberAssignmentValue)
            group.put_current(offset, key.member_id, None if value is None else records.current_of(value))
        case ConsumerGroupTargetAssignmentMemberKey():
            assert value is None or isinstance(value, ConsumerGroupTargetAssignmentMemberValue)
            _set(group.target, offset, key.member_id, None if value is None else records.target_of(value))
        case ConsumerGroupMetadataKey():
            assert value is None or isinstance(value, ConsumerGroupMetadataValue)
            _set(group.epochs, offset, SELF, value)
        case ConsumerGroupTargetAssignmentMetadataKey():
            assert value is None or isinstance(value, ConsumerGroupTargetAssignmentMetadataValue)
            _set(group.target_epochs, offset, SELF, value)
        case ConsumerGroupRegularExpressionKey():
            assert value is None or isinstance(value, ConsumerGroupRegularExpressionValue)
            _set(group.regexes, offset, key.regular_expression, None if value is None else records.regex_of(value))
        case ConsumerGroupPartitionMetadataKey():
            _set(group.legacy, offset, SELF, None if value is None else True)
        case _:
            return False
    return True


def _set(timeline: Timeline[K, V], offset: int, key: K, value: V | None) -> None:
    if value is None:
        timeline.remove(offset, key)
    else:
        timeline.put(offset, key, value)


def _live_part(group: ConsumerGroup, kind: str, name: str) -> CoordinatorRecord | None:
    if kind == "member":
        member = group.metadata.get(name)
        return None if member is None else records.member_record(group.group_id, name, member)
    if kind == "target":
        target = group.target.get(name)
        return None if target is None else records.target_record(group.group_id, name, target)
    if kind == "current":
        current = group.current.get(name)
        return None if current is None else records.current_record(group.group_id, name, current)
    assert kind == "regex", kind
    resolved = group.regexes.get(name)
    return None if resolved is None else records.regex_record(group.group_id, name, resolved)

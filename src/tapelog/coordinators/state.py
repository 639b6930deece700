"""The hard state of one shard of groups: what the log says, and nothing else.

`replay` is its only mutator. A classic group's metadata is kept as the record's own value, which nobody changes;
offsets and the groups of the newer protocol are in their own stores. Uncommitted changes can be taken back through
the shared journal.
"""

from __future__ import annotations

from tapelog.coordinators.consumer.store import ConsumerStore, LiveKey
from tapelog.coordinators.offsets.store import OffsetStore
from tapelog.coordinators.outcome import CoordinatorRecord, Held
from tapelog.coordinators.records import group_metadata, offset_commit
from tapelog.coordinators.timeline import Journal, Timeline
from tapelog.wire.record_batch import NO_PRODUCER_ID
from tapelog.wire.records.group_metadata_key import GroupMetadataKey
from tapelog.wire.records.group_metadata_value import GroupMetadataValue
from tapelog.wire.records.offset_commit_key import OffsetCommitKey
from tapelog.wire.records.offset_commit_value import OffsetCommitValue


class OffsetsOf:
    """The name of all offsets of a group among the names of live records."""

    __slots__ = ("group_id",)

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id


class GroupState:
    """Classic groups' metadata by group id, consumer groups, and committed offsets."""

    def __init__(self) -> None:
        self.journal = Journal()
        self.metadata: Timeline[str, GroupMetadataValue] = Timeline(self.journal)
        self.consumer = ConsumerStore(self.journal)
        self.offsets = OffsetStore(self.journal)

    def replay(self, offset: int, record: CoordinatorRecord, producer_id: int = NO_PRODUCER_ID) -> None:
        """Apply the record that stands in the log at offset, in a transaction of that producer if it names one."""
        key, value = record.key, record.value
        if isinstance(key, OffsetCommitKey):
            assert value is None or isinstance(value, OffsetCommitValue)
            self.offsets.replay(offset, key, value, producer_id)
        elif isinstance(key, GroupMetadataKey):
            if value is None:
                self.metadata.remove(offset, key.group)
            else:
                assert isinstance(value, GroupMetadataValue)
                self.metadata.put(offset, key.group, value)
        elif not self.consumer.replay(offset, record):
            raise AssertionError(f"nobody replays {key!r}")

    def end_transaction(self, offset: int, producer_id: int, commit: bool) -> None:
        """Apply the marker that stands in the log at offset: only offsets are written in transactions."""
        self.offsets.end_transaction(offset, producer_id, commit)

    def commit(self, offset: int) -> None:
        """Records below offset are committed."""
        self.journal.commit(offset)
        self.consumer.tidy()
        self.offsets.tidy()

    def revert(self, offset: int) -> None:
        """Records at or after offset never happened."""
        self.journal.revert(offset)
        self.consumer.reverted()
        self.offsets.tidy()

    def exists(self, group_id: str) -> bool:
        """The group has metadata or offsets, or is of the newer protocol."""
        return group_id in self.metadata or self.consumer.exists(group_id) or self.offsets.has_group(group_id)

    def group_ids(self) -> list[str]:
        """Every group there is, in order."""
        ids = dict.fromkeys([group_id for group_id, _ in self.metadata.items()])
        ids.update(dict.fromkeys(group.group_id for group in self.consumer.groups()))
        ids.update(dict.fromkeys(self.offsets.group_ids()))
        return sorted(ids)

    def live_keys(self) -> list[object]:
        """A name for every live record."""
        keys: list[object] = [group_id for group_id, _ in self.metadata.items()]
        keys += self.consumer.live_keys()
        keys.extend(OffsetsOf(group_id) for group_id in self.offsets.group_ids())
        return keys

    def live_count(self) -> int:
        """About how many records are live."""
        return len(self.metadata) + len(self.consumer.live_keys()) + len(self.offsets)

    def live_record(self, key: object) -> CoordinatorRecord | Held | list[object] | None:
        """The record that restores what the key names; None if it is gone; Held while a transaction has a say."""
        if isinstance(key, OffsetsOf):
            return [(key.group_id, where) for where in self.offsets.places_of(key.group_id)]
        if isinstance(key, str):
            metadata = self.metadata.get(key)
            return None if metadata is None else group_metadata(key, metadata)
        if isinstance(key, LiveKey):
            return self.consumer.live_record(key)
        assert isinstance(key, tuple)
        group_id, where = key
        stored = self.offsets.get(group_id, where, committed_only=False)
        pending = self.offsets.pending.first_record(group_id, where)
        if pending is not None:
            return Held(pending if stored is None else min(pending, stored.record_offset))
        return None if stored is None else offset_commit(group_id, where[0], where[1], stored.value())

    def snapshot(self) -> object:
        """A comparable picture of everything: two machines with equal pictures are equal."""
        return dict(self.metadata.items()), self.consumer.snapshot(), self.offsets.snapshot()

"""The hard state of one consumer group: what its records say, and what follows from that.

Only `store.ConsumerStore.replay` changes it. What is derived (who owns a partition, how many members read a topic) is
kept in timelines of its own, under the same offsets, so an undo restores it along with what it was derived from.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tapelog.coordinators.consumer.assignors.spec import Assignment
from tapelog.coordinators.consumer.member import (
    NEW_MEMBER,
    CurrentAssignment,
    MemberMetadata,
    ResolvedRegex,
    partitions_of,
)
from tapelog.coordinators.timeline import Journal, Timeline
from tapelog.wire.records.consumer_group_metadata_value import ConsumerGroupMetadataValue
from tapelog.wire.records.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)

EMPTY: Final = "Empty"
ASSIGNING: Final = "Assigning"
RECONCILING: Final = "Reconciling"
STABLE: Final = "Stable"

FIRST_EPOCH: Final = 1
"""The epoch of a group, and of its targets, before anything is written of it."""

SELF: Final = ""
"""The only key of the timelines that hold one value for the whole group."""

_NO_TARGET: Final[Assignment] = {}


class ConsumerGroup:
    """One group. A fresh one has nothing written of it and is in its first epoch."""

    def __init__(self, group_id: str, journal: Journal) -> None:
        self.group_id = group_id
        self.metadata: Timeline[str, MemberMetadata] = Timeline(journal)
        self.current: Timeline[str, CurrentAssignment] = Timeline(journal)
        self.target: Timeline[str, Assignment] = Timeline(journal)
        self.regexes: Timeline[str, ResolvedRegex] = Timeline(journal)
        self.epochs: Timeline[str, ConsumerGroupMetadataValue] = Timeline(journal)
        self.target_epochs: Timeline[str, ConsumerGroupTargetAssignmentMetadataValue] = Timeline(journal)
        self.legacy: Timeline[str, bool] = Timeline(journal)
        """Whether there is a record of the group's topics by Kafka before 4.1."""
        # What follows from the above:
        self.owners: Timeline[tuple[bytes, int], str] = Timeline(journal)
        self.instances: Timeline[str, str] = Timeline(journal)
        self.readers: Timeline[str, int] = Timeline(journal)
        """By topic name, how many members name it."""
        self.regex_users: Timeline[str, int] = Timeline(journal)
        self.assignor_votes: Timeline[str, int] = Timeline(journal)
        self.classic_members: Timeline[str, int] = Timeline(journal)

    # -- questions

    @property
    def exists(self) -> bool:
        """Something is written of it."""
        return len(self.epochs) > 0 or len(self.metadata) > 0 or len(self.current) > 0

    @property
    def exists_committed(self) -> bool:
        """Something is written of it, and committed."""
        return self.epochs.committed(SELF) is not None or next(self.metadata.committed_items(), None) is not None

    @property
    def bare(self) -> bool:
        """Nothing is written of it, and an undo would not bring anything back."""
        written = (self.metadata, self.current, self.target, self.regexes, self.epochs, self.target_epochs, self.legacy)
        derived = (self.owners, self.instances, self.readers, self.regex_users, self.assignor_votes)
        return all(timeline.bare for timeline in (*written, *derived, self.classic_members))

    @property
    def is_empty(self) -> bool:
        """It has no members."""
        return len(self.metadata) == 0

    @property
    def epoch(self) -> int:
        """Grows whenever membership, a subscription or a topic changes."""
        value = self.epochs.get(SELF)
        return FIRST_EPOCH if value is None else value.epoch

    @property
    def metadata_hash(self) -> int:
        """Of everything known of the topics it reads, as of its epoch."""
        value = self.epochs.get(SELF)
        return 0 if value is None else value.metadata_hash

    @property
    def target_epoch(self) -> int:
        """The epoch its targets were computed for."""
        value = self.target_epochs.get(SELF)
        return FIRST_EPOCH if value is None else value.assignment_epoch

    @property
    def target_timestamp_ms(self) -> int:
        """When its targets were computed; 0 if never."""
        value = self.target_epochs.get(SELF)
        return 0 if value is None else value.assignment_timestamp

    @property
    def classic_count(self) -> int:
        """How many of its members speak the classic protocol."""
        return self.classic_members.get(SELF) or 0

    def current_of(self, member_id: str) -> CurrentAssignment:
        """What the member owns; nothing if nothing was written of that yet."""
        return self.current.get(member_id) or NEW_MEMBER

    def target_of(self, member_id: str) -> Assignment:
        """What the member should own."""
        return self.target.get(member_id) or _NO_TARGET

    def regex_topics(self, regex: str) -> frozenset[str]:
        """What the regular expression matches, as far as known."""
        resolved = self.regexes.get(regex) if regex else None
        return frozenset() if resolved is None else resolved.topics

    def subscribed_by(self, member: MemberMetadata) -> frozenset[str]:
        """The topics the member reads, by name or by regular expression."""
        return member.names | self.regex_topics(member.regex) if member.regex else member.names

    def subscribed(self) -> set[str]:
        """The topics the members together read."""
        topics = {name for name, _ in self.readers.items()}
        for regex, _ in self.regex_users.items():
            topics |= self.regex_topics(regex)
        return topics

    def is_subscribed_to(self, topic: str) -> bool:
        """Some member reads that topic."""
        return topic in self.readers or any(topic in self.regex_topics(regex) for regex, _ in self.regex_users.items())

    def state(self, committed: bool) -> str:
        """The group's state as administrators see it, as replayed or as committed."""
        if committed:
            epoch, targets = self.epochs.committed(SELF), self.target_epochs.committed(SELF)
            members: Iterator[tuple[str, MemberMetadata]] = self.metadata.committed_items()
        else:
            epoch, targets, members = self.epochs.get(SELF), self.target_epochs.get(SELF), self.metadata.items()
        target_epoch = FIRST_EPOCH if targets is None else targets.assignment_epoch
        state = EMPTY
        for member_id, _ in members:
            if epoch is not None and epoch.epoch > target_epoch:
                return ASSIGNING
            found = self.current.committed(member_id) if committed else self.current.get(member_id)
            if not (found or NEW_MEMBER).is_reconciled_to(target_epoch):
                return RECONCILING
            state = STABLE
        return state

    # -- replay

    def put_member(self, offset: int, member_id: str, member: MemberMetadata | None) -> None:
        """The member is as told from now on, or gone; what is counted over members follows."""
        before = self.metadata.get(member_id)
        if member is None:
            self.metadata.remove(offset, member_id)
        else:
            self.metadata.put(offset, member_id, member)
        old, new = before or MemberMetadata(), member or MemberMetadata()
        for name in sorted(old.names ^ new.names):
            _count(self.readers, offset, name, 1 if name in new.names else -1)
        _recount(self.regex_users, offset, old.regex, new.regex)
        _recount(self.assignor_votes, offset, old.assignor, new.assignor)
        classic = int(new.classic is not None) - int(old.classic is not None)
        if classic:
            _count(self.classic_members, offset, SELF, classic)
        left = old.instance_id if old.instance_id != new.instance_id else None
        if left is not None and self.instances.get(left) == member_id:
            self.instances.remove(offset, left)
        if new.instance_id is not None and self.instances.get(new.instance_id) != member_id:
            self.instances.put(offset, new.instance_id, member_id)

    def put_current(self, offset: int, member_id: str, current: CurrentAssignment | None) -> None:
        """The member owns that from now on. Of two claims to a partition the later one counts."""
        before = self.current.get(member_id)
        if current is None:
            self.current.remove(offset, member_id)
        else:
            self.current.put(offset, member_id, current)
        old, new = _held(before), _held(current)
        for place in sorted(old - new):
            if self.owners.get(place) == member_id:
                self.owners.remove(offset, place)
        for place in sorted(new - old):
            self.owners.put(offset, place, member_id)

    def invariants(self) -> None:
        """What must hold between any two operations."""
        owned: dict[tuple[bytes, int], str] = {}
        for member_id, current in self.current.items():
            for place in [*partitions_of(current.assigned), *partitions_of(current.revoking)]:
                assert place not in owned, f"{place} is owned by {owned[place]} and by {member_id}"
                owned[place] = member_id
        assert owned == dict(self.owners.items()), "who owns a partition is what the members' records say"
        assert all(member_id in self.metadata for member_id, _ in self.current.items())
        assert all(member_id in self.metadata for member_id, _ in self.target.items())
        assert self.target_epoch <= self.epoch
        assert all(current.epoch <= self.target_epoch for _, current in self.current.items())
        instances = {m.instance_id: member_id for member_id, m in self.metadata.items() if m.instance_id is not None}
        assert instances == dict(self.instances.items())
        readers: dict[str, int] = {}
        for _, member in self.metadata.items():
            for name in member.names:
                readers[name] = readers.get(name, 0) + 1
        assert readers == dict(self.readers.items())
        assert all(regex in self.regex_users for regex, _ in self.regexes.items())


def _held(current: CurrentAssignment | None) -> set[tuple[bytes, int]]:
    if current is None:
        return set()
    return {*partitions_of(current.assigned), *partitions_of(current.revoking)}


def _count(counts: Timeline[str, int], offset: int, key: str, change: int) -> None:
    count = (counts.get(key) or 0) + change
    if count > 0:
        counts.put(offset, key, count)
    else:
        counts.remove(offset, key)


def _recount(counts: Timeline[str, int], offset: int, old: str | None, new: str | None) -> None:
    if old == new:
        return
    if old:
        _count(counts, offset, old, -1)
    if new:
        _count(counts, offset, new, 1)

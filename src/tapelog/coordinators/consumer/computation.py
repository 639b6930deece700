"""Targets under way: computed a bounded piece at a time, then written a bounded piece at a time.

A heartbeat that finds targets due does the first piece itself, and for most groups that is all there is to do. For
large groups the rest follows between other work of the node, on the members and wishes as they were at that heartbeat.
Meanwhile the group goes on with its old targets. Whoever comes, goes or changes its mind moves the group's epoch on,
and the next computation is about that. The epoch of the targets is written last: a coordinator that finds only some of
them written sees that it is behind, and begins anew.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Final, NamedTuple

from tapelog.coordinators.consumer.assignors.spec import (
    NOTHING,
    PIECE_UNITS,
    Assignment,
    Assignor,
    GroupAssignment,
    GroupSpec,
    MemberSpec,
    Pace,
    Pieces,
    TopicSpec,
)
from tapelog.coordinators.consumer.group import ConsumerGroup
from tapelog.coordinators.consumer.member import MemberMetadata
from tapelog.coordinators.consumer.records import bytes_of, target_epoch_record, target_record
from tapelog.coordinators.consumer.registry import ConsumerGroups
from tapelog.coordinators.outcome import CoordinatorRecord, Outcome, nothing
from tapelog.wire.errors import ErrorCode

WRITTEN_BYTES_MAX: Final = 64 * 1024
"""About how much is written at a time when a computation did not end with its first piece."""


class Wishes(NamedTuple):
    """A group as it was when its targets were asked for."""

    group: ConsumerGroup
    """Asked for what its regular expressions match, and nothing else."""
    members: Mapping[str, MemberMetadata]
    targets: Mapping[str, Assignment]
    topics: list[str]
    """Names of what it reads, in order."""


class Computation:
    """The targets of a group as of one epoch."""

    def __init__(self, groups: ConsumerGroups, epoch: int, assignor: Assignor, wishes: Wishes) -> None:
        self._groups = groups
        self._group_id = wishes.group.group_id
        self._epoch = epoch
        self._wishes = wishes
        self._pieces = _pieces(groups, assignor, wishes)
        self._unwritten: Iterator[str] | None = None
        self.targets: GroupAssignment = {}
        """By member; empty until `go_on` has said that they are there."""

    def go_on(self) -> bool:
        """Do the next piece; True if it was the last, and the targets are there."""
        try:
            next(self._pieces)
        except StopIteration as end:
            self.targets = end.value
            return True
        return False

    def changed(self) -> list[CoordinatorRecord]:
        """All targets that are others than before, and their epoch."""
        records = [self._record(member_id, member_id) for member_id in sorted(self.targets) if self._differs(member_id)]
        return [*records, self._epoch_record()]

    def continue_later(self) -> None:
        """Go on as soon as the node has done what else there is to do."""
        self._groups.computing[self._group_id] = self
        self._groups.context.set_deadline(f"targets/{self._group_id}", 0, self._step)

    def _step(self) -> Outcome[None]:
        group = self._groups.find(self._group_id)
        if self._groups.computing.get(self._group_id) is not self:
            return nothing()  # the group is gone, or an undo came between: the next heartbeat begins anew
        if group is None or not group.target_epoch < self._epoch <= group.epoch:
            del self._groups.computing[self._group_id]
            return nothing()
        if self._unwritten is None:
            if self.go_on():
                self._unwritten = iter(sorted(self.targets))
            self.continue_later()
            return nothing()
        records = self._next_records(group, self._unwritten)
        if bytes_of(records) >= WRITTEN_BYTES_MAX:
            self.continue_later()
        else:
            del self._groups.computing[self._group_id]
            records.append(self._epoch_record())
        return Outcome(records, None, failed=self._failed, atomic=False)

    def _next_records(self, group: ConsumerGroup, member_ids: Iterator[str]) -> list[CoordinatorRecord]:
        """What is to be written of the next members. Who has left gets none, who came back by another id gets its own.

        Who is new since has an empty target, and the group another epoch.
        """
        records: list[CoordinatorRecord] = []
        size = 0
        for member_id in member_ids:
            now_id = self._id_by_now(group, member_id)
            if now_id is not None and (self._differs(member_id) or now_id != member_id):
                records.append(self._record(member_id, now_id))
                size += bytes_of(records[-1:])
                if size >= WRITTEN_BYTES_MAX:
                    break
        return records

    def _id_by_now(self, group: ConsumerGroup, member_id: str) -> str | None:
        if member_id in group.metadata:
            return member_id
        return group.instances.get(self._wishes.members[member_id].instance_id or "")

    def _differs(self, member_id: str) -> bool:
        return self._wishes.targets.get(member_id) != self.targets[member_id]

    def _record(self, member_id: str, now_id: str) -> CoordinatorRecord:
        return target_record(self._group_id, now_id, self.targets[member_id])

    def _epoch_record(self) -> CoordinatorRecord:
        return target_epoch_record(self._group_id, self._epoch, self._groups.wall_ms())

    def _failed(self, _: ErrorCode) -> None:
        self._groups.computing.pop(self._group_id, None)


def _pieces(groups: ConsumerGroups, assignor: Assignor, wishes: Wishes) -> Pieces:
    pace = Pace(PIECE_UNITS)
    spec = yield from _question(groups, wishes, pace)
    return (yield from assignor.pieces(spec, pace))


def _question(groups: ConsumerGroups, wishes: Wishes, pace: Pace) -> Generator[None, None, GroupSpec]:
    members = wishes.members
    with_racks = any(member.rack is not None for member in members.values())
    specs: dict[bytes, TopicSpec] = {}
    for name in wishes.topics:
        spec = groups.watch.spec_of(name, with_racks)
        if spec is not None:
            specs[spec.topic_id] = spec
            if pace.spent(1 + len(spec.racks)):
                yield
    subscribed: dict[tuple[frozenset[str], str], frozenset[bytes]] = {}
    asked: list[MemberSpec] = []
    for member_id, member in members.items():
        wish = (member.names, member.regex)
        if wish not in subscribed:
            names = wishes.group.subscribed_by(member)
            subscribed[wish] = groups.watch.ids(names)
            if pace.spent(len(names)):
                yield
        target = wishes.targets.get(member_id, NOTHING)
        asked.append(MemberSpec(member_id, subscribed[wish], target, member.instance_id, member.rack))
    return GroupSpec(tuple(asked), specs)

"""Leader, in-sync and eligible replicas of one partition: the one place where they are decided.

`decide` takes a partition and what somebody wishes for it (another ISR, other replicas, a preferred leader, ...) and
gives the PartitionChangeRecord that grants it, or None where nothing changes. Fencing, unfencing, restarts, controlled
shutdown, AlterPartition, reassignment and elections all go through it, so they all keep what it promises:

- the leader is in the ISR, or there is none;
- a new leader comes from the ISR, or from the eligible leader replicas (ELR, KIP-966) when the ISR is empty; from
  anywhere else only when an unclean election was asked for, and then the record says so (RECOVERING);
- ELR holds who left the ISR while it was, or fell, below min.insync.replicas: the high watermark did not move since,
  so they have every committed record. It is emptied as soon as the ISR is large enough again;
- a reassignment ends when everything it wants is in sync.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from tapelog.metadata.electorate import Electorate, directory_of
from tapelog.metadata.image import NO_LEADER, PartitionImage, TopicImage
from tapelog.metadata.record_types import PartitionChangeRecord

RECOVERED: Final = 0
RECOVERING: Final = 1
NO_LEADER_CHANGE: Final = -2

ONLINE: Final = 0
"""Keep the leader if it can go on; else any replica that may."""
PREFERRED: Final = 1
"""The first replica, if it may lead; else as ONLINE."""
UNCLEAN: Final = 2
"""As ONLINE; if nobody may, a replica that is there, though it may lack committed records."""

_NOBODY: Final[Mapping[int, bytes]] = {}


class Wish:
    """What somebody wants a partition to become; what is not named stays as it is.

    `unclean`: replicas that stopped without saying good-bye: they leave ISR and ELR, except that the last one stays.
    `wiped`: replicas whose disk is gone: they leave both, whatever remains.
    """

    __slots__ = (
        "adding",
        "directories",
        "election",
        "isr",
        "recovery_state",
        "removing",
        "replicas",
        "unclean",
        "wiped",
    )

    def __init__(
        self,
        *,
        isr: Collection[int] | None = None,
        replicas: Collection[int] | None = None,
        removing: Collection[int] | None = None,
        adding: Collection[int] | None = None,
        directories: Mapping[int, bytes] = _NOBODY,
        unclean: Collection[int] = (),
        wiped: Collection[int] = (),
        election: int = ONLINE,
        recovery_state: int | None = None,
    ) -> None:
        self.isr = isr
        self.replicas = replicas
        self.removing = removing
        self.adding = adding
        self.directories = directories
        self.unclean = unclean
        self.wiped = wiped
        self.election = election
        self.recovery_state = recovery_state


def decide(electorate: Electorate, topic: TopicImage, index: int, wish: Wish) -> PartitionChangeRecord | None:
    """The record that makes the wish true for that partition; None if it is already."""
    return decide_for(electorate, topic, index, topic.partitions[index], wish)


def decide_for(
    electorate: Electorate, topic: TopicImage, index: int, partition: PartitionImage, wish: Wish
) -> PartitionChangeRecord | None:
    """`decide` for a partition as earlier records of the same operation have left it."""
    record = _Decision(electorate, topic.name, partition, wish).record()
    if record is not None:
        record.topic_id, record.partition_id = topic.id, index
    return record


def is_unclean(record: object) -> bool:
    """Whether the record elects a leader that may lack committed records."""
    return (
        isinstance(record, PartitionChangeRecord)
        and record.leader >= 0
        and record.isr == [record.leader]
        and record.leader_recovery_state == RECOVERING
    )


class _Decision:
    """One partition on its way from what it is to what it shall be."""

    def __init__(self, electorate: Electorate, topic: str, partition: PartitionImage, wish: Wish) -> None:
        self.electorate = electorate
        self.old = partition
        self.wish = wish
        self.isr = list(partition.isr if wish.isr is None else wish.isr)
        self.replicas = list(partition.replicas if wish.replicas is None else wish.replicas)
        self.removing = list(partition.removing_replicas if wish.removing is None else wish.removing)
        self.adding = list(partition.adding_replicas if wish.adding is None else wish.adding)
        self._complete_reassignment()
        self.isr = [id for id in self.isr if id in self.replicas]
        self.min_isr = electorate.min_isr(topic, len(self.replicas))
        self.elr = self._eligible()
        self.unclean = False
        self.leader = self._elect()
        self._seat()

    # -- who is in sync, who is eligible

    def _complete_reassignment(self) -> None:
        """All that shall stay is in sync: the others go."""
        if not (self.removing or self.adding):
            return
        isr = [id for id in self.isr if id not in self.removing]
        replicas = [id for id in self.replicas if id not in self.removing]
        if isr and replicas and all(id in isr for id in replicas):
            self.isr, self.replicas, self.removing, self.adding = isr, replicas, [], []

    def _eligible(self) -> list[int]:
        """The new ELR; also keeps in the ISR (or ELR) what may not leave it."""
        gone = [*self.wish.unclean, *self.wish.wiped]
        self.isr = [id for id in self.isr if id not in gone]
        if not self.electorate.elr:
            if not self.isr:  # without ELR the last member is remembered by staying
                self.isr = [id for id in self.old.isr if id in self.replicas and id not in self.wish.wiped]
            return []
        if len(self.isr) >= self.min_isr:
            return []
        were = [*self.old.elr, *(id for id in self.old.isr if id not in self.old.elr)]
        candidates = [id for id in were if id not in self.isr and id in self.replicas and id not in self.wish.wiped]
        eligible = [id for id in candidates if id not in self.wish.unclean]
        return eligible if eligible or self.isr else candidates

    # -- who leads

    def _may_lead(self, replica: int) -> bool:
        known = replica in self.isr or (not self.isr and replica in self.elr)
        return known and self._there(replica)

    def _there(self, replica: int) -> bool:
        return self.electorate.may_lead(self.old, replica)

    def _elect(self) -> int:
        order = [self.old.leader, *self.replicas]
        if self.wish.election == PREFERRED:
            order = [*self.replicas[:1], *order]
        for replica in order:
            if replica in self.replicas and self._may_lead(replica):
                return replica
        if self.wish.election == UNCLEAN:
            for replica in [*self.old.last_known_elr, *self.replicas]:
                if replica in self.replicas and self._there(replica):
                    self.unclean = True
                    return replica
        return NO_LEADER

    def _seat(self) -> None:
        """Whoever leads is in the ISR; an ELR beside an ISR that is large enough would grow stale."""
        if self.leader != NO_LEADER and (self.unclean or self.leader not in self.isr):
            self.isr = [self.leader]
            self.elr = [] if self.unclean else [id for id in self.elr if id != self.leader]
        if len(self.isr) >= self.min_isr:
            self.elr = []

    # -- the record

    def record(self) -> PartitionChangeRecord | None:
        """What changes, or None."""
        old, record = self.old, PartitionChangeRecord()
        if self.leader != old.leader:
            record.leader = self.leader
        elif any(id not in self.replicas for id in old.replicas):
            record.leader = old.leader  # whoever was removed must not be believed any more: a new leader epoch
        record.isr = _if_changed(self.isr, old.isr)
        record.replicas = _if_changed(self.replicas, old.replicas)
        record.removing_replicas = _if_changed(self.removing, old.removing_replicas)
        record.adding_replicas = _if_changed(self.adding, old.adding_replicas)
        record.eligible_leader_replicas = _if_changed(self.elr, old.elr)
        record.last_known_elr = _if_changed(self._last_known(), old.last_known_elr)
        directories = self._directories()
        if directories != [directory_of(old, id) for id in old.replicas]:
            record.directories = directories
        recovery = RECOVERING if self.unclean else self.wish.recovery_state
        if recovery is not None and recovery != old.leader_recovery_state:
            record.leader_recovery_state = recovery
        if self.unclean:
            record.leader_recovery_state = RECOVERING  # said again, so that the record itself tells
        return record if _says_something(record) else None

    def _last_known(self) -> list[int]:
        """The leader before the ISR became empty, for as long as there is none."""
        if self.leader != NO_LEADER or not self.electorate.elr:
            return []
        if not self.isr and self.old.leader != NO_LEADER:
            return [self.old.leader]
        return list(self.old.last_known_elr)

    def _directories(self) -> list[bytes]:
        given, old = self.wish.directories, self.old
        directories = []
        for id in self.replicas:
            if id in given:
                directories.append(given[id])
            elif id in old.replicas:
                directories.append(directory_of(old, id))
            else:
                directories.append(self.electorate.default_directory(id))
        return directories


def _if_changed(new: list[int], old: tuple[int, ...]) -> list[int] | None:
    return None if new == list(old) else new


def _says_something(record: PartitionChangeRecord) -> bool:
    lists = (
        record.isr,
        record.replicas,
        record.removing_replicas,
        record.adding_replicas,
        record.eligible_leader_replicas,
        record.last_known_elr,
        record.directories,
    )
    changes = any(item is not None for item in lists)
    return changes or record.leader != NO_LEADER_CHANGE or record.leader_recovery_state != -1

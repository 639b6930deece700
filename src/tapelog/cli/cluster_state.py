"""A cluster as its commands see it: brokers, partitions, the quorum, and what is wrong. Values only, no questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tapelog.base.addresses import host_port
from tapelog.cli.raw import Node


@dataclass(frozen=True, slots=True, order=True)
class Broker:
    """A registered broker. `fenced`: it is registered, but not there (or not yet). `cordoned`: it gets no replicas.
    `silent`: the cluster holds it to be there, but it did not answer us."""

    node: Node
    rack: str | None = None
    fenced: bool = False
    cordoned: bool = False
    silent: bool = False

    @property
    def id(self) -> int:
        """Its node id."""
        return self.node.id

    @property
    def address(self) -> str:
        """Where clients reach it; a fenced one may have none."""
        return host_port(self.node.host, self.node.port) if self.node.host else "-"


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition. `leader` is -1 when it has none; `adding` and `removing` are non-empty while it moves."""

    topic: str
    index: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    min_isr: int = 1
    """min.insync.replicas of its topic, where it was asked for: only where replicas are missing."""

    @property
    def name(self) -> str:
        """`topic:index`."""
        return f"{self.topic}:{self.index}"

    @property
    def offline(self) -> bool:
        """Nobody serves it."""
        return self.leader < 0

    @property
    def missing(self) -> list[int]:
        """Replicas that should be in sync and are not; those still being copied are not counted."""
        return [one for one in self.replicas if one not in self.isr and one not in self.adding]

    @property
    def below_min_isr(self) -> bool:
        """It is led, but refuses writes with acks=all: too few replicas are in sync."""
        return not self.offline and len(self.isr) < min(self.min_isr, len(self.replicas))

    @property
    def moving(self) -> bool:
        """It is being reassigned."""
        return bool(self.adding or self.removing)


@dataclass(frozen=True, slots=True)
class Voter:
    """A member of the metadata quorum: how many records it is behind, and when it was last heard of."""

    id: int
    directory_id: bytes
    end: int
    behind: int
    fetched_ms: int
    caught_up_ms: int


@dataclass(frozen=True, slots=True)
class Quorum:
    """The metadata quorum as its leader sees it."""

    leader: int
    epoch: int
    high_watermark: int
    voters: tuple[Voter, ...]
    observers: tuple[Voter, ...]
    unclean_elections: int | None = None
    """How many the active controller knows of; None if it does not tell."""

    @property
    def voiceless(self) -> list[int]:
        """Voters whose node lives with another disk. An old disk is remembered, too: the later counts."""
        observed = {one.id: 0 for one in self.observers}
        for one in self.observers:
            observed[one.id] = max(observed[one.id], one.fetched_ms)
        others = [one for one in self.voters if one.id != self.leader]
        return [one.id for one in others if observed.get(one.id, -1) > one.fetched_ms]


@dataclass(frozen=True, slots=True)
class ClusterState:
    """Everything, at about one moment. `sizes` maps (broker, topic, index) to bytes where brokers told them."""

    cluster_id: str
    controller: int
    brokers: tuple[Broker, ...]
    partitions: tuple[Partition, ...]
    quorum: Quorum | None = None
    sizes: dict[tuple[int, str, int], int] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    """Log directories that take no records, as `broker:directory`."""
    quorum_error: str | None = None
    """Why the metadata quorum could not be asked; None if it answered, or does not tell us for other reasons."""

    def broker(self, number: int) -> Broker | None:
        """The broker with this id, if it is registered."""
        return next((one for one in self.brokers if one.id == number), None)

    def led_by(self, number: int) -> list[Partition]:
        """Partitions that this broker leads."""
        return [one for one in self.partitions if one.leader == number]

    def on(self, number: int) -> list[Partition]:
        """Partitions with a replica on this broker."""
        return [one for one in self.partitions if number in one.replicas]

    def bytes_on(self, number: int) -> int | None:
        """What this broker's replicas take on disk; None if it did not tell."""
        found = [size for (broker, _, _), size in self.sizes.items() if broker == number]
        return sum(found) if found or not self.on(number) else None

    def size_of(self, partition: Partition) -> int:
        """Bytes of one copy: the largest any broker told."""
        keys = [(broker, partition.topic, partition.index) for broker in partition.replicas]
        return max((self.sizes[key] for key in keys if key in self.sizes), default=0)

    @property
    def offline(self) -> list[Partition]:
        """Partitions nobody serves."""
        return [one for one in self.partitions if one.offline]

    @property
    def under_replicated(self) -> list[Partition]:
        """Served, but not every replica is in sync."""
        return [one for one in self.partitions if one.missing and not one.offline]

    @property
    def below_min_isr(self) -> list[Partition]:
        """Served, but not to be written with acks=all."""
        return [one for one in self.partitions if one.below_min_isr]

    @property
    def gone(self) -> list[int]:
        """Brokers that are registered and not there."""
        return [one.id for one in self.brokers if one.fenced]

    @property
    def silent(self) -> list[int]:
        """Brokers that the cluster believes to be there and that did not answer."""
        return [one.id for one in self.brokers if one.silent]

    @property
    def quorum_lost(self) -> str | None:
        """Why nobody can be elected and nothing changed: the quorum gives no answer, has no leader or no majority."""
        if self.quorum is None:
            return self.quorum_error and f"the metadata quorum does not answer ({self.quorum_error})"
        if self.quorum.leader < 0:
            return "the metadata quorum has no leader"
        absent = [*self.silent, *self.gone]  # from here; a voter that is in step is there all the same
        away = [one.id for one in self.quorum.voters if one.id in absent and one.behind]
        if len(away) * 2 >= len(self.quorum.voters) > 0:
            return f"the metadata quorum has lost its majority (voters {numbers(away)} do not answer)"
        return None

    @property
    def voiceless(self) -> list[int]:
        """Nodes that should vote and cannot: they came back with another disk, and the quorum knows the old one."""
        return [] if self.quorum is None else self.quorum.voiceless

    @property
    def moving(self) -> list[Partition]:
        """Being reassigned."""
        return [one for one in self.partitions if one.moving]

    @property
    def not_preferred(self) -> list[Partition]:
        """Led by another than the first replica, though that one is in sync."""
        return [
            one
            for one in self.partitions
            if one.replicas and one.leader not in (-1, one.replicas[0]) and one.replicas[0] in one.isr
        ]


def document(state: ClusterState) -> dict[str, object]:
    """The state for programs."""
    quorum = state.quorum
    return {
        "cluster_id": state.cluster_id,
        "controller": quorum.leader if quorum is not None else None if state.controller < 0 else state.controller,
        "quorum": None
        if quorum is None
        else {
            "leader": quorum.leader,
            "epoch": quorum.epoch,
            "high_watermark": quorum.high_watermark,
            "voters": [_voter(one) for one in quorum.voters],
            "observers": [_voter(one) for one in quorum.observers],
        },
        "quorum_lost": state.quorum_lost,
        "unclean_elections": None if quorum is None else quorum.unclean_elections,
        "brokers": [
            {
                "id": one.id,
                "address": one.address,
                "rack": one.rack,
                "state": "fenced" if one.fenced else "unreachable" if one.silent else "up",
                "cordoned": one.cordoned,
                "leaders": len(state.led_by(one.id)),
                "replicas": len(state.on(one.id)),
                "bytes": state.bytes_on(one.id),
            }
            for one in state.brokers
        ],
        "topics": len(dict.fromkeys(one.topic for one in state.partitions)),
        "partitions": len(state.partitions),
        "offline": [_partition(one) for one in state.offline],
        "under_replicated": [_partition(one) for one in state.under_replicated],
        "below_min_isr": [_partition(one) | {"min_isr": one.min_isr} for one in state.below_min_isr],
        "full_directories": list(state.full),
        "moving": [_partition(one) for one in state.moving],
        "not_preferred": len(state.not_preferred),
    }


def _voter(voter: Voter) -> dict[str, object]:
    from tapelog.base.ids import to_text

    return {
        "id": voter.id,
        "directory_id": to_text(voter.directory_id) if any(voter.directory_id) else None,
        "behind": voter.behind,
        "last_fetch_ms": None if voter.fetched_ms < 0 else voter.fetched_ms,
        "last_caught_up_ms": None if voter.caught_up_ms < 0 else voter.caught_up_ms,
    }


def _partition(partition: Partition) -> dict[str, object]:
    found: dict[str, object] = {
        "topic": partition.topic,
        "partition": partition.index,
        "leader": None if partition.offline else partition.leader,
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "missing": partition.missing,
    }
    if partition.moving:
        found |= {"adding": list(partition.adding), "removing": list(partition.removing)}
    return found


def numbers(ids: Sequence[int]) -> str:
    """`1,2,3`; `-` for none."""
    return ",".join(map(str, ids)) or "-"

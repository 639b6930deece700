"""Who votes: an immutable set of voters, in text (`id@host:port:directory`), and in the log (VotersRecord)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tapelog.base import ids
from tapelog.raft.values import Endpoint, ReplicaKey
from tapelog.wire.records.voters_record import Endpoint as RecordEndpoint
from tapelog.wire.records.voters_record import KRaftVersionFeature, VotersRecord
from tapelog.wire.records.voters_record import Voter as RecordVoter

KRAFT_VERSION_MAX: Final = 1
LISTENER: Final = "CONTROLLER"


class Voter:
    """One voter: its key and where it listens."""

    __slots__ = ("endpoints", "key")

    def __init__(self, key: ReplicaKey, endpoints: Iterable[Endpoint] = ()) -> None:
        self.key = key
        self.endpoints = tuple(endpoints)

    @property
    def endpoint(self) -> Endpoint | None:
        """Where the others reach it."""
        return self.endpoints[0] if self.endpoints else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Voter) and (self.key, self.endpoints) == (other.key, other.endpoints)

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Voter({self.key.id}, {ids.to_text(self.key.directory_id)}, {list(self.endpoints)})"


class VoterSet:
    """Voters by node id: a node votes with one disk."""

    __slots__ = ("voters",)

    def __init__(self, voters: Iterable[Voter] = ()) -> None:
        self.voters: dict[int, Voter] = {voter.key.id: voter for voter in sorted(voters, key=lambda v: v.key.id)}

    def __contains__(self, key: ReplicaKey) -> bool:
        found = self.voters.get(key.id)
        return found is not None and found.key == key

    def __len__(self) -> int:
        return len(self.voters)

    def get(self, node_id: int) -> Voter | None:
        """The voter with that id."""
        return self.voters.get(node_id)

    def others(self, me: ReplicaKey) -> list[Voter]:
        """All but this replica, by id."""
        return [voter for voter in self.voters.values() if voter.key != me]

    @property
    def majority(self) -> int:
        """How many decide."""
        return len(self.voters) // 2 + 1

    def only(self, key: ReplicaKey) -> bool:
        """Whether this replica decides alone."""
        return len(self.voters) == 1 and key in self

    def with_voter(self, voter: Voter) -> VoterSet:
        """With that voter, in place of one of the same id."""
        return VoterSet([other for other in self.voters.values() if other.key.id != voter.key.id] + [voter])

    def without(self, key: ReplicaKey) -> VoterSet:
        """Without that voter."""
        return VoterSet([other for other in self.voters.values() if other.key != key])

    def to_record(self) -> VotersRecord:
        """As it stands in the log."""
        return VotersRecord(
            voters=[
                RecordVoter(
                    voter_id=voter.key.id,
                    voter_directory_id=voter.key.directory_id,
                    endpoints=[RecordEndpoint(name=e.name, host=e.host, port=e.port) for e in voter.endpoints],
                    kraft_version_feature=KRaftVersionFeature(
                        min_supported_version=0, max_supported_version=KRAFT_VERSION_MAX
                    ),
                )
                for voter in self.voters.values()
            ]
        )

    @staticmethod
    def from_record(record: VotersRecord) -> VoterSet:
        """The inverse of to_record."""
        return VoterSet(
            Voter(
                ReplicaKey(voter.voter_id, voter.voter_directory_id),
                [Endpoint(e.name, e.host, e.port) for e in voter.endpoints],
            )
            for voter in record.voters
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VoterSet) and self.voters == other.voters

    def __hash__(self) -> int:
        return hash(tuple(self.voters))

    def __repr__(self) -> str:
        return f"VoterSet({list(self.voters.values())})"


def parse_voter(text: str) -> Voter:
    """`id@host:port:directory id`, as Kafka writes initial controllers; ValueError if it is anything else."""
    id, at, rest = text.partition("@")
    address, colon, directory = rest.rpartition(":")
    host, _, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if not (at and colon and host and id.isdigit() and port.isdigit() and 0 < int(port) < 65536):
        raise ValueError(f"{text!r} is not a voter: write id@host:port:directory-id")
    return Voter(ReplicaKey(int(id), ids.from_text(directory)), [Endpoint(LISTENER, host, int(port))])


def parse_voters(texts: Iterable[str]) -> VoterSet:
    """Several, each id once."""
    voters = [parse_voter(text) for text in texts]
    found = VoterSet(voters)
    if len(found) != len(voters):
        raise ValueError("two voters have the same id")
    return found

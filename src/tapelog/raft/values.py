"""Small values of the quorum: who a replica is, where it listens, how long it waits."""

from __future__ import annotations

from typing import Final, NamedTuple

from tapelog.base.config import BrokerSettings

NO_NODE: Final = -1

CHECK_QUORUM_PERCENT: Final = 150
"""A leader resigns when no majority fetched within this part of the fetch timeout, as Kafka has it."""


class ReplicaKey(NamedTuple):
    """A replica of the metadata log: a node and the disk it has. Another disk is another replica."""

    id: int
    directory_id: bytes


class Endpoint(NamedTuple):
    """Where a voter listens."""

    name: str
    host: str
    port: int


class OffsetEpoch(NamedTuple):
    """A position in the log and the epoch of the record before it; a snapshot's id as well."""

    offset: int
    epoch: int


class Leader(NamedTuple):
    """Who leads, since which epoch, and where it can be reached if that is known."""

    id: int
    epoch: int
    endpoint: Endpoint | None


class RaftConfig(NamedTuple):
    """Kafka's `controller.quorum.*`, and how much a fetch may carry."""

    election_timeout_ms: int = 1000
    fetch_timeout_ms: int = 2000
    election_backoff_max_ms: int = 1000
    request_timeout_ms: int = 2000
    retry_backoff_ms: int = 20
    fetch_max_wait_ms: int = 500
    fetch_bytes_max: int = 1 << 20
    snapshot_bytes_max: int = 1 << 20
    auto_join: bool = False

    @property
    def check_quorum_ms(self) -> int:
        """How long a leader goes on without a majority fetching from it."""
        return self.fetch_timeout_ms * CHECK_QUORUM_PERCENT // 100


def raft_config(settings: BrokerSettings) -> RaftConfig:
    """The configuration that broker settings give."""
    return RaftConfig(
        election_timeout_ms=settings.whole("controller.quorum.election.timeout.ms"),
        fetch_timeout_ms=settings.whole("controller.quorum.fetch.timeout.ms"),
        election_backoff_max_ms=settings.whole("controller.quorum.election.backoff.max.ms"),
        request_timeout_ms=settings.whole("controller.quorum.request.timeout.ms"),
        retry_backoff_ms=settings.whole("controller.quorum.retry.backoff.ms"),
        fetch_bytes_max=settings.whole("controller.quorum.fetch.max.bytes"),
        snapshot_bytes_max=settings.whole("controller.quorum.fetch.snapshot.max.bytes"),
        auto_join=settings.string("controller.quorum.auto.join.enable") == "true",
    )

"""A member of a classic group: who it is, which protocols it speaks, what it was assigned, what it waits for."""

from __future__ import annotations

from tapelog.coordinators.outcome import Reply
from tapelog.wire.messages.join_group_response import JoinGroupResponse
from tapelog.wire.messages.sync_group_response import SyncGroupResponse

Protocols = list[tuple[str, bytes]]
"""Names with their metadata, the preferred one first."""


class ClassicMember:
    """One member. `awaiting_join` and `awaiting_sync` hold the requests that are parked in the group."""

    __slots__ = (
        "assignment",
        "awaiting_join",
        "awaiting_sync",
        "client_host",
        "client_id",
        "former_epoch",
        "instance_id",
        "is_new",
        "member_id",
        "protocol_type",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
    )

    def __init__(
        self,
        member_id: str,
        instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocol_type: str,
        protocols: Protocols,
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocol_type = protocol_type
        self.protocols = protocols
        self.assignment = assignment
        self.is_new = False
        self.former_epoch: int | None = None
        """The epoch it was in when its consumer group became this classic one; None once it has joined again."""
        self.awaiting_join: Reply[JoinGroupResponse] | None = None
        self.awaiting_sync: Reply[SyncGroupResponse] | None = None

    @property
    def is_static(self) -> bool:
        """It has a group.instance.id: a restart takes its place over."""
        return self.instance_id is not None

    @property
    def excused(self) -> bool:
        """No heartbeat is expected while its request is parked here, except from a member that never had an answer."""
        return not self.is_new and (self.awaiting_join is not None or self.awaiting_sync is not None)

    def metadata(self, protocol: str) -> bytes:
        """What it sent along with that protocol."""
        for name, data in self.protocols:
            if name == protocol:
                return data
        raise AssertionError(f"member {self.member_id} does not speak {protocol}")

    def vote(self, candidates: list[str]) -> str:
        """The candidate it likes best."""
        for name, _ in self.protocols:
            if name in candidates:
                return name
        raise AssertionError(f"member {self.member_id} speaks none of {candidates}")

    def renamed(self, member_id: str) -> ClassicMember:
        """The same static member under a new id, waiting for nothing."""
        return ClassicMember(
            member_id,
            self.instance_id,
            self.client_id,
            self.client_host,
            self.rebalance_timeout_ms,
            self.session_timeout_ms,
            self.protocol_type,
            self.protocols,
            self.assignment,
        )

"""A classic group of many members, as its coordinator sees them: join, sync, heartbeat, join again when told to."""

from __future__ import annotations

from bench.swarm.links import Link, Swarm
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.heartbeat_request import HeartbeatRequest
from tapelog.wire.messages.heartbeat_response import HeartbeatResponse
from tapelog.wire.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tapelog.wire.messages.join_group_response import JoinGroupResponse
from tapelog.wire.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from tapelog.wire.messages.sync_group_response import SyncGroupResponse

HEARTBEAT_S = 0.3
METADATA = b"\0\1\0\0\0\1\0\6events\xff\xff\xff\xff\0\0\0\0"
ASSIGNMENT = b"\0\0\0\0\0\1\0\6events\0\0\0\1\0\0\0\0\xff\xff\xff\xff"


class ClassicMember:
    """One member; `generation` is the one it has its assignment of."""

    def __init__(self, swarm: Swarm, link: Link, group: str) -> None:
        self.swarm, self.link, self.group = swarm, link, group
        self.member_id = ""
        self.generation = -1
        self.size = 0
        """How many members the generation has, if this one leads it."""
        self._joined = -1
        self._join()

    @property
    def settled(self) -> tuple[int, int]:
        """Comparable between members: the generation of the assignment."""
        return self.generation, 0

    def _join(self) -> None:
        self.generation = -1
        protocol = JoinGroupRequestProtocol(name="range", metadata=METADATA)
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=45_000,
            rebalance_timeout_ms=60_000,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[protocol],
        )
        self.link.ask(request, 5, self._on_joined)

    def _on_joined(self, answer: JoinGroupResponse) -> None:
        if answer.error_code != ErrorCode.NONE:
            self.member_id = answer.member_id if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED else self.member_id
            self._join()
            return
        self.member_id, self._joined = answer.member_id, answer.generation_id
        self.size = len(answer.members)
        shares = [SyncGroupRequestAssignment(member_id=m.member_id, assignment=ASSIGNMENT) for m in answer.members]
        request = SyncGroupRequest(
            group_id=self.group, generation_id=self._joined, member_id=self.member_id, assignments=shares
        )
        self.link.ask(request, 3, self._on_synced)

    def _on_synced(self, answer: SyncGroupResponse) -> None:
        if answer.error_code != ErrorCode.NONE:
            self._join()
            return
        self.generation = self._joined
        self.swarm.after(HEARTBEAT_S, self._heartbeat)

    def _heartbeat(self) -> None:
        request = HeartbeatRequest(group_id=self.group, generation_id=self._joined, member_id=self.member_id)
        self.link.ask(request, 3, self._on_heartbeat)

    def _on_heartbeat(self, answer: HeartbeatResponse) -> None:
        if answer.error_code == ErrorCode.NONE:
            self.swarm.after(HEARTBEAT_S, self._heartbeat)
        else:
            self._join()


def is_settled(members: list[ClassicMember]) -> bool:
    """All of them have an assignment of one generation, and that generation consists of all of them."""
    generation = members[0].generation
    return (
        generation >= 0
        and all(member.generation == generation for member in members)
        and max(member.size for member in members) == len(members)
    )

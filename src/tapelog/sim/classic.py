"""A member of a group in the simulator by the classic protocol: JoinGroup, SyncGroup, Heartbeat; all of them wait."""

from __future__ import annotations

from typing import Final

from tapelog.sim.membership import LATER, SESSION_MS, Ledger, Member, Part
from tapelog.sim.routing import Router
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.heartbeat_request import HeartbeatRequest
from tapelog.wire.messages.heartbeat_response import HeartbeatResponse
from tapelog.wire.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tapelog.wire.messages.join_group_response import JoinGroupResponse
from tapelog.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tapelog.wire.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from tapelog.wire.messages.sync_group_response import SyncGroupResponse

AGAIN: Final = (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION)


class Classic(Member):
    """Its id is the coordinator's; assignments are texts, made by whoever leads the group."""

    checks_epochs = False

    def __init__(self, ledger: Ledger, id: str, router: Router) -> None:
        super().__init__(ledger, id, router)
        self.id = ""
        self._generation = 0
        self._plan: list[SyncGroupRequestAssignment] | None = None
        """What it must tell the group, [] if somebody else does; None: it must join."""

    def beat(self) -> None:
        """Whatever is next."""
        if self.epoch > 0:
            self.ask(HeartbeatRequest(self.ledger.name, self.epoch, self.id), 4, self._heard)
        elif self._plan is not None:
            request = SyncGroupRequest(self.ledger.name, self._generation, self.id, None, "consumer", "sim", self._plan)
            self.ask(request, 5, self._synced)
        else:
            protocols = [JoinGroupRequestProtocol("sim", b"")]
            name = self.ledger.name
            request_ = JoinGroupRequest(name, SESSION_MS, SESSION_MS, self.id, None, "consumer", protocols)
            self.ask(request_, 9, self._joined)

    def leave(self) -> None:
        """Good-bye."""
        if self.id:
            self.ask(LeaveGroupRequest(self.ledger.name, "", [MemberIdentity(self.id)]), 5, lambda _: None)
        super().leave()

    def _joined(self, response: JoinGroupResponse) -> None:
        code = response.error_code
        if code == ErrorCode.MEMBER_ID_REQUIRED:
            self.id = response.member_id
            self.soon()
        elif code == 0:
            self.id, self._generation = response.member_id, response.generation_id
            self._plan = []
            members = [member.member_id for member in response.members]
            if response.leader == self.id and not response.skip_assignment:
                self._plan = [
                    SyncGroupRequestAssignment(id, _text(self.ledger.parts[turn :: len(members)]))
                    for turn, id in enumerate(members)
                ]
            self.soon()
        else:
            self._failed(code)

    def _synced(self, response: SyncGroupResponse) -> None:
        if response.error_code:
            self._failed(response.error_code)
        else:
            self.given(self._generation, _parts(bytes(response.assignment)))

    def _heard(self, response: HeartbeatResponse) -> None:
        if response.error_code:
            self._failed(response.error_code)

    def _failed(self, code: int) -> None:
        """Its part is over: it joins again, perhaps as somebody new."""
        if code in LATER:
            return
        assert code in AGAIN or code == ErrorCode.UNKNOWN_MEMBER_ID, f"{self.ledger.name} got {ErrorCode(code).name}"
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            self.id = ""
        self._plan = None
        self.fenced()


def _text(parts: list[Part]) -> bytes:
    return ",".join(f"{topic}:{index}" for topic, index in parts).encode()


def _parts(text: bytes) -> list[Part]:
    found = [one.partition(":") for one in text.decode().split(",") if one]
    return [(topic, int(index)) for topic, _, index in found]

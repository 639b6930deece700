"""UpdateRaftVoterResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class CurrentLeader(Message):
    """Part of UpdateRaftVoterResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "leader_id",
        "leader_epoch",
        "host",
        "port",
    )

    def __init__(self, leader_id: int = -1, leader_epoch: int = -1, host: str = "", port: int = 0) -> None:
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch
        self.host: str = host
        self.port: int = port

    @staticmethod
    def decode(r: Reader, version: int) -> CurrentLeader:
        made = CurrentLeader(
            r.i32(),
            r.i32(),
            r.compact_string(),
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.leader_id)
        w.i32(self.leader_epoch)
        w.compact_string(self.host)
        w.i32(self.port)
        w.uvarint(0)


class UpdateRaftVoterResponse(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 82
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "current_leader",
    )

    def __init__(
        self, throttle_time_ms: int = 0, error_code: int = 0, current_leader: CurrentLeader | None = None
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.current_leader: CurrentLeader | None = current_leader

    @staticmethod
    def decode(r: Reader, version: int) -> UpdateRaftVoterResponse:
        if version != 0:
            bad_version("UpdateRaftVoterResponse", version)
        made = UpdateRaftVoterResponse(
            r.i32(),
            r.i16(),
        )
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0:
                made.current_leader = CurrentLeader.decode(r, version)
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("UpdateRaftVoterResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        tags = 0
        if self.current_leader is not None:
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if self.current_leader is not None:
                field = Writer()
                self.current_leader.encode(field, version)
                w.tagged(0, field)

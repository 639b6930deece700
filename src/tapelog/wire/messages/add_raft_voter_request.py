"""AddRaftVoterRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class Listener(Message):
    """Part of AddRaftVoterRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "host",
        "port",
    )

    def __init__(self, name: str = "", host: str = "", port: int = 0) -> None:
        self.name: str = name
        self.host: str = host
        self.port: int = port

    @staticmethod
    def decode(r: Reader, version: int) -> Listener:
        made = Listener(
            r.compact_string(),
            r.compact_string(),
            r.u16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.compact_string(self.host)
        w.u16(self.port)
        w.uvarint(0)


class AddRaftVoterRequest(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 80
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "cluster_id",
        "timeout_ms",
        "voter_id",
        "voter_directory_id",
        "listeners",
        "ack_when_committed",
    )

    def __init__(
        self,
        cluster_id: str | None = "",
        timeout_ms: int = 0,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        listeners: list[Listener] = EMPTY,
        ack_when_committed: bool = True,
    ) -> None:
        self.cluster_id: str | None = cluster_id
        self.timeout_ms: int = timeout_ms
        self.voter_id: int = voter_id
        self.voter_directory_id: bytes = voter_directory_id
        self.listeners: list[Listener] = [] if listeners is EMPTY else listeners
        self.ack_when_committed: bool = ack_when_committed

    @staticmethod
    def decode(r: Reader, version: int) -> AddRaftVoterRequest:
        if version < 0 or version > 1:
            bad_version("AddRaftVoterRequest", version)
        made = AddRaftVoterRequest(
            r.compact_nullable_string(),
            r.i32(),
            r.i32(),
            r.uuid(),
            [Listener.decode(r, version) for _ in range(r.compact_array(5))],
            r.boolean() if version >= 1 else True,
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("AddRaftVoterRequest", version)
        w.compact_nullable_string(self.cluster_id)
        w.i32(self.timeout_ms)
        w.i32(self.voter_id)
        w.uuid(self.voter_directory_id)
        w.compact_array(len(self.listeners))
        for listeners_item in self.listeners:
            listeners_item.encode(w, version)
        if version >= 1:
            w.boolean(self.ack_when_committed)
        else:
            if not self.ack_when_committed:
                lost_field("AddRaftVoterRequest.ack_when_committed", version)
        w.uvarint(0)

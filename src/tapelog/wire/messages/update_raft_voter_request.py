"""UpdateRaftVoterRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class Listener(Message):
    """Part of UpdateRaftVoterRequest."""

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


class KRaftVersionFeature(Message):
    """Part of UpdateRaftVoterRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "min_supported_version",
        "max_supported_version",
    )

    def __init__(self, min_supported_version: int = 0, max_supported_version: int = 0) -> None:
        self.min_supported_version: int = min_supported_version
        self.max_supported_version: int = max_supported_version

    @staticmethod
    def decode(r: Reader, version: int) -> KRaftVersionFeature:
        made = KRaftVersionFeature(
            r.i16(),
            r.i16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i16(self.min_supported_version)
        w.i16(self.max_supported_version)
        w.uvarint(0)


class UpdateRaftVoterRequest(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 82
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "cluster_id",
        "current_leader_epoch",
        "voter_id",
        "voter_directory_id",
        "listeners",
        "kraft_version_feature",
    )

    def __init__(
        self,
        cluster_id: str | None = "",
        current_leader_epoch: int = 0,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        listeners: list[Listener] = EMPTY,
        kraft_version_feature: KRaftVersionFeature | None = None,
    ) -> None:
        self.cluster_id: str | None = cluster_id
        self.current_leader_epoch: int = current_leader_epoch
        self.voter_id: int = voter_id
        self.voter_directory_id: bytes = voter_directory_id
        self.listeners: list[Listener] = [] if listeners is EMPTY else listeners
        self.kraft_version_feature: KRaftVersionFeature = (
            KRaftVersionFeature() if kraft_version_feature is None else kraft_version_feature
        )

    @staticmethod
    def decode(r: Reader, version: int) -> UpdateRaftVoterRequest:
        if version != 0:
            bad_version("UpdateRaftVoterRequest", version)
        made = UpdateRaftVoterRequest(
            r.compact_nullable_string(),
            r.i32(),
            r.i32(),
            r.uuid(),
            [Listener.decode(r, version) for _ in range(r.compact_array(5))],
            KRaftVersionFeature.decode(r, version),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("UpdateRaftVoterRequest", version)
        w.compact_nullable_string(self.cluster_id)
        w.i32(self.current_leader_epoch)
        w.i32(self.voter_id)
        w.uuid(self.voter_directory_id)
        w.compact_array(len(self.listeners))
        for listeners_item in self.listeners:
            listeners_item.encode(w, version)
        self.kraft_version_feature.encode(w, version)
        w.uvarint(0)

"""VotersRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class Endpoint(Message):
    """Part of VotersRecord."""

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
    def decode(r: Reader, version: int) -> Endpoint:
        made = Endpoint(
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
    """Part of VotersRecord."""

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


class Voter(Message):
    """Part of VotersRecord."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "voter_id",
        "voter_directory_id",
        "endpoints",
        "kraft_version_feature",
    )

    def __init__(
        self,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        endpoints: list[Endpoint] = EMPTY,
        kraft_version_feature: KRaftVersionFeature | None = None,
    ) -> None:
        self.voter_id: int = voter_id
        self.voter_directory_id: bytes = voter_directory_id
        self.endpoints: list[Endpoint] = [] if endpoints is EMPTY else endpoints
        self.kraft_version_feature: KRaftVersionFeature = (
            KRaftVersionFeature() if kraft_version_feature is None else kraft_version_feature
        )

    @staticmethod
    def decode(r: Reader, version: int) -> Voter:
        made = Voter(
            r.i32(),
            r.uuid(),
            [Endpoint.decode(r, version) for _ in range(r.compact_array(5))],
            KRaftVersionFeature.decode(r, version),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.voter_id)
        w.uuid(self.voter_directory_id)
        w.compact_array(len(self.endpoints))
        for endpoints_item in self.endpoints:
            endpoints_item.encode(w, version)
        self.kraft_version_feature.encode(w, version)
        w.uvarint(0)


class VotersRecord(Message):
    """Version 0."""

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "version",
        "voters",
    )

    def __init__(self, version: int = 0, voters: list[Voter] = EMPTY) -> None:
        self.version: int = version
        self.voters: list[Voter] = [] if voters is EMPTY else voters

    @staticmethod
    def decode(r: Reader, version: int) -> VotersRecord:
        if version != 0:
            bad_version("VotersRecord", version)
        made = VotersRecord(
            r.i16(),
            [Voter.decode(r, version) for _ in range(r.compact_array(27))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("VotersRecord", version)
        w.i16(self.version)
        w.compact_array(len(self.voters))
        for voters_item in self.voters:
            voters_item.encode(w, version)
        w.uvarint(0)

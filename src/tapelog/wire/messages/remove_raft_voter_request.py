"""RemoveRaftVoterRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class RemoveRaftVoterRequest(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 81
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "cluster_id",
        "voter_id",
        "voter_directory_id",
    )

    def __init__(self, cluster_id: str | None = "", voter_id: int = 0, voter_directory_id: bytes = ZERO_UUID) -> None:
        self.cluster_id: str | None = cluster_id
        self.voter_id: int = voter_id
        self.voter_directory_id: bytes = voter_directory_id

    @staticmethod
    def decode(r: Reader, version: int) -> RemoveRaftVoterRequest:
        if version != 0:
            bad_version("RemoveRaftVoterRequest", version)
        made = RemoveRaftVoterRequest(
            r.compact_nullable_string(),
            r.i32(),
            r.uuid(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("RemoveRaftVoterRequest", version)
        w.compact_nullable_string(self.cluster_id)
        w.i32(self.voter_id)
        w.uuid(self.voter_directory_id)
        w.uvarint(0)

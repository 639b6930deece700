"""QuorumStateData. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class Voter(Message):
    """Part of QuorumStateData."""

    FIELDS: ClassVar[tuple[str, ...]] = ("voter_id",)

    def __init__(self, voter_id: int = 0) -> None:
        self.voter_id: int = voter_id

    @staticmethod
    def decode(r: Reader, version: int) -> Voter:
        made = Voter(
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.voter_id)
        w.uvarint(0)


class QuorumStateData(Message):
    """Versions 0 to 1."""

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "cluster_id",
        "leader_id",
        "leader_epoch",
        "voted_id",
        "voted_directory_id",
        "applied_offset",
        "current_voters",
    )

    def __init__(
        self,
        cluster_id: str = "",
        leader_id: int = -1,
        leader_epoch: int = -1,
        voted_id: int = -1,
        voted_directory_id: bytes = ZERO_UUID,
        applied_offset: int = 0,
        current_voters: list[Voter] | None = EMPTY,
    ) -> None:
        self.cluster_id: str = cluster_id
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch
        self.voted_id: int = voted_id
        self.voted_directory_id: bytes = voted_directory_id
        self.applied_offset: int = applied_offset
        self.current_voters: list[Voter] | None = [] if current_voters is EMPTY else current_voters

    @staticmethod
    def decode(r: Reader, version: int) -> QuorumStateData:
        if version < 0 or version > 1:
            bad_version("QuorumStateData", version)
        made = QuorumStateData(
            "" if version >= 1 else r.compact_string(),
            r.i32(),
            r.i32(),
            r.i32(),
            r.uuid() if version >= 1 else ZERO_UUID,
            0 if version >= 1 else r.i64(),
            []
            if version >= 1
            else None
            if (n := r.compact_nullable_array(5)) < 0
            else [Voter.decode(r, version) for _ in range(n)],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("QuorumStateData", version)
        if version >= 1:
            if self.cluster_id != "":
                lost_field("QuorumStateData.cluster_id", version)
        else:
            w.compact_string(self.cluster_id)
        w.i32(self.leader_id)
        w.i32(self.leader_epoch)
        w.i32(self.voted_id)
        if version >= 1:
            w.uuid(self.voted_directory_id)
            if self.applied_offset != 0:
                lost_field("QuorumStateData.applied_offset", version)
            if self.current_voters is None or self.current_voters:
                lost_field("QuorumStateData.current_voters", version)
        else:
            if self.voted_directory_id != ZERO_UUID:
                lost_field("QuorumStateData.voted_directory_id", version)
            w.i64(self.applied_offset)
            if self.current_voters is None:
                w.compact_array(-1)
            else:
                w.compact_array(len(self.current_voters))
                for current_voters_item in self.current_voters:
                    current_voters_item.encode(w, version)
        w.uvarint(0)

"""LeaderChangeMessage. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class Voter(Message):
    """Part of LeaderChangeMessage."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "voter_id",
        "voter_directory_id",
    )

    def __init__(self, voter_id: int = 0, voter_directory_id: bytes = ZERO_UUID) -> None:
        self.voter_id: int = voter_id
        self.voter_directory_id: bytes = voter_directory_id

    @staticmethod
    def decode(r: Reader, version: int) -> Voter:
        made = Voter(
            r.i32(),
            r.uuid() if version >= 1 else ZERO_UUID,
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.voter_id)
        if version >= 1:
            w.uuid(self.voter_directory_id)
        else:
            if self.voter_directory_id != ZERO_UUID:
                lost_field("Voter.voter_directory_id", version)
        w.uvarint(0)


class LeaderChangeMessage(Message):
    """Versions 0 to 1."""

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "version",
        "leader_id",
        "voters",
        "granting_voters",
    )

    def __init__(
        self, version: int = 0, leader_id: int = 0, voters: list[Voter] = EMPTY, granting_voters: list[Voter] = EMPTY
    ) -> None:
        self.version: int = version
        self.leader_id: int = leader_id
        self.voters: list[Voter] = [] if voters is EMPTY else voters
        self.granting_voters: list[Voter] = [] if granting_voters is EMPTY else granting_voters

    @staticmethod
    def decode(r: Reader, version: int) -> LeaderChangeMessage:
        if version < 0 or version > 1:
            bad_version("LeaderChangeMessage", version)
        made = LeaderChangeMessage(
            r.i16(),
            r.i32(),
            [Voter.decode(r, version) for _ in range(r.compact_array(5))],
            [Voter.decode(r, version) for _ in range(r.compact_array(5))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("LeaderChangeMessage", version)
        w.i16(self.version)
        w.i32(self.leader_id)
        w.compact_array(len(self.voters))
        for voters_item in self.voters:
            voters_item.encode(w, version)
        w.compact_array(len(self.granting_voters))
        for granting_voters_item in self.granting_voters:
            granting_voters_item.encode(w, version)
        w.uvarint(0)

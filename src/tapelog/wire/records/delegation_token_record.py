"""DelegationTokenRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class DelegationTokenRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "owner",
        "requester",
        "renewers",
        "issue_timestamp",
        "max_timestamp",
        "expiration_timestamp",
        "token_id",
    )

    def __init__(
        self,
        owner: str = "",
        requester: str = "",
        renewers: list[str] = EMPTY,
        issue_timestamp: int = 0,
        max_timestamp: int = 0,
        expiration_timestamp: int = 0,
        token_id: str = "",
    ) -> None:
        self.owner: str = owner
        self.requester: str = requester
        self.renewers: list[str] = [] if renewers is EMPTY else renewers
        self.issue_timestamp: int = issue_timestamp
        self.max_timestamp: int = max_timestamp
        self.expiration_timestamp: int = expiration_timestamp
        self.token_id: str = token_id

    @staticmethod
    def decode(r: Reader, version: int) -> DelegationTokenRecord:
        if version != 0:
            bad_version("DelegationTokenRecord", version)
        made = DelegationTokenRecord(
            r.compact_string(),
            r.compact_string(),
            [r.compact_string() for _ in range(r.compact_array(1))],
            r.i64(),
            r.i64(),
            r.i64(),
            r.compact_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("DelegationTokenRecord", version)
        w.compact_string(self.owner)
        w.compact_string(self.requester)
        w.compact_array(len(self.renewers))
        for renewers_item in self.renewers:
            w.compact_string(renewers_item)
        w.i64(self.issue_timestamp)
        w.i64(self.max_timestamp)
        w.i64(self.expiration_timestamp)
        w.compact_string(self.token_id)
        w.uvarint(0)

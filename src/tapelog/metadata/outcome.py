"""What a controller handler returns: the records to commit, and the answer to give once they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from tapelog.metadata.record_types import MetadataRecord

R = TypeVar("R")


class Outcome(Generic[R]):
    """Records that count together or not at all, and the response that leaves when they are committed."""

    __slots__ = ("records", "response")

    def __init__(self, records: Sequence[MetadataRecord], response: R) -> None:
        self.records = records
        self.response = response

    def __repr__(self) -> str:
        return f"Outcome({list(self.records)!r}, {self.response!r})"

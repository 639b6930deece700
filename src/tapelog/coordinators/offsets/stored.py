"""One committed offset as a shard keeps it: what its record said, and where in the log the record stands."""

from __future__ import annotations

from tapelog.wire.records.offset_commit_value import OffsetCommitValue

TopicPartition = tuple[str, int]


class StoredOffset:
    """A committed (or pending) offset. Never changes.

    The place of its record decides between an ordinary and a transactional commit of the same partition: the later
    record wins, whenever the transaction ends.
    """

    __slots__ = (
        "commit_timestamp",
        "expire_timestamp",
        "leader_epoch",
        "metadata",
        "offset",
        "record_offset",
        "topic_id",
    )

    def __init__(
        self,
        record_offset: int,
        offset: int,
        leader_epoch: int,
        metadata: str,
        commit_timestamp: int,
        expire_timestamp: int,
        topic_id: bytes,
    ) -> None:
        self.record_offset = record_offset
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.expire_timestamp = expire_timestamp
        self.topic_id = topic_id

    def value(self) -> OffsetCommitValue:
        """What a record of it says."""
        return OffsetCommitValue(
            offset=self.offset,
            leader_epoch=self.leader_epoch,
            metadata=self.metadata,
            commit_timestamp=self.commit_timestamp,
            expire_timestamp=self.expire_timestamp,
            topic_id=self.topic_id,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StoredOffset):
            return NotImplemented
        return self.record_offset == other.record_offset and self.value() == other.value()

    def __hash__(self) -> int:
        return hash((self.record_offset, self.offset))

    def __repr__(self) -> str:
        return f"StoredOffset({self.offset} at {self.record_offset})"


def stored(record_offset: int, value: OffsetCommitValue) -> StoredOffset:
    """The offset that the record at record_offset commits."""
    return StoredOffset(
        record_offset,
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp,
        value.expire_timestamp,
        value.topic_id,
    )

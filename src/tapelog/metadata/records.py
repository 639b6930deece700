"""The metadata log's bytes: records framed as Kafka frames them, in record batches that Kafka's tools can read.

A record's value is: frame version, record type, record version (each an unsigned varint), then the record itself.
Control batches (leader change, snapshot header and footer) have a key that tells their type. Used by quorum.py and
snapshot.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tapelog.metadata.record_types import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    MetadataRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from tapelog.wire import record_batch
from tapelog.wire.message import Message
from tapelog.wire.primitives import Reader, WireError, Writer
from tapelog.wire.records.leader_change_message import LeaderChangeMessage, Voter

FRAME_VERSION: Final = 1

CONTROL_LEADER_CHANGE: Final = 2
CONTROL_SNAPSHOT_HEADER: Final = 3
CONTROL_SNAPSHOT_FOOTER: Final = 4

_TYPES: Final[dict[int, type[MetadataRecord]]] = {
    kind.API_KEY: kind
    for kind in (
        AbortTransactionRecord,
        BeginTransactionRecord,
        BrokerRegistrationChangeRecord,
        ClearElrRecord,
        ConfigRecord,
        EndTransactionRecord,
        FeatureLevelRecord,
        FenceBrokerRecord,
        NoOpRecord,
        PartitionChangeRecord,
        PartitionRecord,
        ProducerIdsRecord,
        RegisterBrokerRecord,
        RegisterControllerRecord,
        RemoveTopicRecord,
        TopicRecord,
        UnfenceBrokerRecord,
        UnregisterBrokerRecord,
    )
}

_UNSUPPORTED: Final = {
    10: "delegation tokens",
    11: "SCRAM credentials",
    14: "client quotas",
    18: "access control lists",
    19: "access control lists",
    21: "ZooKeeper migration",
    22: "SCRAM credentials",
    26: "delegation tokens",
}


class UnsupportedMetadataError(Exception):
    """The log holds a kind of record that this version does not understand; ignoring it would lose state."""


def encode_record(record: MetadataRecord) -> bytes:
    """A record's value, in the newest version of its type."""
    w = Writer()
    w.uvarint(FRAME_VERSION)
    w.uvarint(record.API_KEY)
    w.uvarint(record.MAX_VERSION)
    record.encode(w, record.MAX_VERSION)
    return w.tobytes()


def decode_record(value: bytes) -> MetadataRecord:
    """The inverse of encode_record, for any version; WireError if the bytes are not a record."""
    r = Reader(value, 0, len(value))
    frame = r.uvarint()
    if frame != FRAME_VERSION:
        raise WireError(f"metadata frame version {frame} is not {FRAME_VERSION}")
    number, version = r.uvarint(), r.uvarint()
    kind = _TYPES.get(number)
    if kind is None:
        raise UnsupportedMetadataError(f"record type {number} ({_UNSUPPORTED.get(number, 'unknown')})")
    if not kind.MIN_VERSION <= version <= kind.MAX_VERSION:
        raise UnsupportedMetadataError(f"{kind.__name__} has no version {version} here")
    return kind.decode(r, version)


def data_batch(records: Sequence[MetadataRecord], timestamp_ms: int, leader_epoch: int, base_offset: int = 0) -> bytes:
    """One atomic batch of records."""
    return record_batch.build_batch(
        [record_batch.Record(0, timestamp_ms, None, encode_record(record)) for record in records],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
    )


def control_batch(
    kind: int, body: Message, version: int, timestamp_ms: int, leader_epoch: int, base_offset: int = 0
) -> bytes:
    """A batch with one control record of that type."""
    key = Writer()
    key.i16(0)
    key.i16(kind)
    return record_batch.build_batch(
        [record_batch.Record(0, timestamp_ms, key.tobytes(), body.tobytes(version))],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        control=True,
    )


def leader_change_batch(leader_id: int, timestamp_ms: int, leader_epoch: int) -> bytes:
    """What begins an epoch: this node was elected, by itself where it is the only voter."""
    voter = Voter(voter_id=leader_id)
    body = LeaderChangeMessage(leader_id=leader_id, voters=[voter], granting_voters=[voter])
    return control_batch(CONTROL_LEADER_CHANGE, body, 0, timestamp_ms, leader_epoch)


class DecodedBatch:
    """A batch read back: records, or for a control batch its type and body."""

    __slots__ = (
        "base_offset",
        "control_body",
        "control_type",
        "last_offset",
        "leader_epoch",
        "records",
        "timestamp_ms",
    )

    def __init__(self, header: record_batch.BatchHeader) -> None:
        self.base_offset = header.base_offset
        self.last_offset = header.last_offset
        self.leader_epoch = header.leader_epoch
        self.timestamp_ms = header.max_timestamp
        self.records: list[MetadataRecord] = []
        self.control_type = -1
        self.control_body = b""


def decode_batches(data: bytes) -> Iterator[DecodedBatch]:
    """Every batch in these bytes, in order; WireError if they are damaged."""
    for header in record_batch.batches(data, 0, len(data)):
        if not record_batch.crc_ok(data, header.position, header.end):
            raise WireError(f"the batch at offset {header.base_offset} is damaged")
        batch = DecodedBatch(header)
        for record in record_batch.records_of(data, header):
            if record.value is None:
                raise WireError("a metadata record has no value")
            if header.is_control:
                if record.key is None or len(record.key) < 4:
                    raise WireError("a control record has no type")
                if batch.control_type < 0:  # the first tells what the batch is about
                    batch.control_type = int.from_bytes(record.key[2:4], "big")
                    batch.control_body = record.value
            else:
                batch.records.append(decode_record(record.value))
        yield batch


def leader_of(batch: DecodedBatch) -> int:
    """The leader that a leader-change batch announces."""
    assert batch.control_type == CONTROL_LEADER_CHANGE
    version = int.from_bytes(batch.control_body[:2], "big")
    return LeaderChangeMessage.decode(Reader(batch.control_body, 0, len(batch.control_body)), min(version, 1)).leader_id

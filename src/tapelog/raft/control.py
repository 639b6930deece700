"""Control records of the quorum, as they stand in log and snapshot: leader changes, voters, the protocol's version."""

from __future__ import annotations

from collections.abc import Iterator

from tapelog.raft.values import ReplicaKey
from tapelog.raft.voters import KRAFT_VERSION_MAX, VoterSet
from tapelog.wire import record_batch
from tapelog.wire.control_records import KRAFT_VERSION, KRAFT_VOTERS, LEADER_CHANGE, control_kind, quorum_record
from tapelog.wire.reader import Reader
from tapelog.wire.record_batch import Record
from tapelog.wire.records.kraft_version_record import KRaftVersionRecord
from tapelog.wire.records.leader_change_message import LeaderChangeMessage
from tapelog.wire.records.leader_change_message import Voter as ChangeVoter
from tapelog.wire.records.voters_record import VotersRecord
from tapelog.wire.values import WireError


def leader_change(leader_id: int, voters: VoterSet, granting: list[ReplicaKey], timestamp_ms: int) -> Record:
    """What begins an epoch. In version 0, as Kafka writes it, whose tools read no other."""
    body = LeaderChangeMessage(
        leader_id=leader_id,
        voters=[ChangeVoter(voter_id=id) for id in voters.voters],
        granting_voters=[ChangeVoter(voter_id=key.id) for key in granting],
    )
    return quorum_record(LEADER_CHANGE, body, 0, timestamp_ms)


def voters_record(voters: VoterSet, timestamp_ms: int) -> Record:
    """Who votes from here on."""
    return quorum_record(KRAFT_VOTERS, voters.to_record(), 0, timestamp_ms)


def version_record(timestamp_ms: int) -> Record:
    """The quorum's protocol version, which allows voters to change."""
    return quorum_record(KRAFT_VERSION, KRaftVersionRecord(kraft_version=KRAFT_VERSION_MAX), 0, timestamp_ms)


def control_batch(records: list[Record], epoch: int) -> bytes:
    """One batch of control records."""
    return record_batch.build_batch(records, control=True, leader_epoch=epoch)


def voters_in(data: bytes) -> Iterator[tuple[int, VoterSet]]:
    """Every set of voters in these batches, with its offset; an unfinished last one is left out. WireError if they are
    damaged."""
    for header in record_batch.batches(data, 0, len(data), partial_tail=True):
        if not header.is_control:
            continue
        for record in record_batch.records_of(data, header):
            if control_kind(record.key) == KRAFT_VOTERS:
                value = record.value or b""
                yield record.offset, VoterSet.from_record(VotersRecord.decode(Reader(value, 0, len(value)), 0))


def batch_ends(data: bytes) -> tuple[int, int]:
    """(first offset, end offset) of these batches; an unfinished last one is left out. WireError if damaged."""
    first = end = -1
    for header in record_batch.batches(data, 0, len(data), partial_tail=True):
        first = header.base_offset if first < 0 else first
        end = header.last_offset + 1
    return first, end


def intact(data: bytes) -> bool:
    """Whether these are whole batches with the checksums they say."""
    try:
        headers = list(record_batch.batches(data, 0, len(data)))
    except WireError:
        return False
    return all(record_batch.crc_ok(data, header.position, header.end) for header in headers)

"""The part of a fetch that only the tier can answer: what lies below what this node has itself.

Used by `fetch`, for that alone. What is not here yet is left out of the answer: the fetch waits for it, as for records
that are not written yet, and when its time is over gets what the other partitions have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapelog.log.tier.pieces import NotHereError
from tapelog.replication.partition import Partition
from tapelog.server.fetch_sessions import Wanted
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.fetch_response import AbortedTransaction, PartitionData

if TYPE_CHECKING:
    from tapelog.server.handlers.fetch import PendingFetch


def read(
    fetch: PendingFetch,
    partition: Partition,
    wanted: Wanted,
    data: PartitionData,
    upper: int,
    room: int,
    min_one: bool,
) -> int:
    """Put into data what the tier has, if it is here. Returns the offset that is wanted, or from which on this node has
    it, where the tier has no more records before."""
    reads, offset = fetch.node.tier_reads, wanted.offset
    if room <= 0 and not min_one:
        return offset
    if reads is None:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "this node has no tier")
    try:
        start = reads.first_with_records(partition, offset, upper)
        if start >= partition.log.local_start_offset:
            return start
        region = reads.read(partition, start, max(room, 0), upper, min_one)
        if region is None:
            return offset
        if data.aborted_transactions is not None:
            data.aborted_transactions = [
                AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset)
                for one in reads.aborted(partition, start, region.next_offset)
            ]
    except NotHereError as missing:
        missing.piece.waiters[fetch] = None
        fetch.waits_for.append(missing.piece)
        return offset
    data.records = region
    fetch.behind = True
    return offset

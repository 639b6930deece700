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
) -> None:
    """Put into data what the tier has, if it is here."""
    reads = fetch.node.tier_reads
    if room <= 0 and not min_one:
        return
    if reads is None:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "this node has no tier")
    try:
        region = reads.read(partition, wanted.offset, max(room, 0), upper, min_one)
        if region is None:
            return
        if data.aborted_transactions is not None:
            data.aborted_transactions = [
                AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset)
                for one in reads.aborted(partition, wanted.offset, region.next_offset)
            ]
    except NotHereError as missing:
        missing.piece.waiters[fetch] = None
        fetch.waits_for.append(missing.piece)
        return
    data.records = region
    fetch.behind = True

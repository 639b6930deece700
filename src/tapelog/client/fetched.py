"""What one answer to a Fetch held, and where its whole batches end."""

from __future__ import annotations

from typing import NamedTuple

from tapelog.client.errors import ProtocolError
from tapelog.client.metadata import TopicPartition
from tapelog.wire.record_batch import HEADER_SIZE, MAGIC, batch_size, last_offset, magic
from tapelog.wire.values import Slice


class Fetched(NamedTuple):
    """What one answer held: whole record batches in buf[start:end]; start == end where a gap was passed over."""

    buf: bytes
    start: int
    end: int
    aborted: tuple[tuple[int, int], ...]
    """(producer id, first offset) of aborted transactions that touch it; only with READ_COMMITTED."""
    next_offset: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int


def whole_batches(records: Slice, where: TopicPartition) -> tuple[int, int]:
    """Where the last whole batch ends, and the offset after it; the start and -1 if there is none."""
    buf, pos, stop = records.buf, records.start, records.end
    next_offset = -1
    while stop - pos >= HEADER_SIZE:
        if magic(buf, pos) != MAGIC:
            raise ProtocolError(
                f"{where} holds records in the format of Kafka 0.10 or older",
                f"topic {where.topic}, partition {where.partition}",
                "let a newer producer write the topic again",
            )
        size = batch_size(buf, pos)
        if size < HEADER_SIZE:
            raise ProtocolError(
                f"{where} holds a batch of {size} bytes", f"topic {where.topic}, partition {where.partition}"
            )
        if size > stop - pos:
            break
        next_offset = last_offset(buf, pos) + 1
        pos += size
    return pos, next_offset

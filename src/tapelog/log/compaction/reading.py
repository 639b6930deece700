"""What consumers are given of a compacted log: an answer begins with records.

Compaction leaves batches without records behind, where a producer or a segment's end needs them. Followers get those;
a consumer has nothing of them, and librdkafka takes an answer without a single record for one that did not fit. They
stay when the topic's policy is another one later.
"""

from __future__ import annotations

from librt.strings import read_i32_be, read_i64_be

from tapelog.log.stored import StoredLog
from tapelog.wire.record_batch import HEADER_SIZE, LAST_OFFSET_DELTA_AT, LENGTH_AT, LOG_OVERHEAD, RECORD_COUNT_AT


def first_with_records(log: StoredLog, offset: int, upper: int) -> int:
    """From where a consumer's answer should begin that asks for offset, below upper: offset itself, unless batches
    without records come first; then the next one with records, if there is one. KafkaError where it is damaged, as is
    known: no header is believed there."""
    if log.damaged:
        upper = log.before_damage(offset, upper)
    items, wanted = log.segments.items, offset
    number, passed = max(0, log.segments.floor(offset)), False
    while number + 1 < len(items):
        segment = items[number]
        position = segment.position_of(wanted)
        log.keep_open(segment)
        file = segment.file()
        while position < segment.size:
            head = file.read(position, HEADER_SIZE)
            base: int = read_i64_be(head, 0)
            size = LOG_OVERHEAD + int(read_i32_be(head, LENGTH_AT))
            if base >= upper or size < HEADER_SIZE:  # the latter: damaged, which the reader will find out
                return offset
            if int(read_i32_be(head, RECORD_COUNT_AT)) or size > HEADER_SIZE:  # the latter: none, and bytes of some?
                last = base + int(read_i32_be(head, LAST_OFFSET_DELTA_AT))
                return max(base, offset) if passed and last >= offset else offset
            position, passed = position + size, True
        number += 1
        wanted = items[number].base_offset
        if wanted >= upper:
            return offset
    return wanted

"""What makes a batch acceptable, beyond what `Log.append` sees at a glance.

Called by Log only, and off the hot path: building the refusals, looking closer at odd headers, records of compacted
topics, changes of codec or timestamp, transaction markers, batches from a leader. Refusals are KafkaErrors.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i16_be, read_i32_be, read_i64_be

from tapelog.log.config import KEEP_CODEC, LONG_MAX, LogConfig
from tapelog.log.producer_state import ProducerState
from tapelog.wire import record_batch as rb
from tapelog.wire.compression import compress, decompress
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.primitives import Reader, WireError

CODEC_MAX: Final = 4
ABORT: Final = 0
COMMIT: Final = 1


def wrong_size(buf: bytes, start: int, end: int) -> KafkaError:
    """A client's records are not exactly one batch."""
    size = end - start
    if size < rb.HEADER_SIZE:
        if size > rb.MAGIC_AT and buf[start + rb.MAGIC_AT] < rb.MAGIC:
            return wrong_magic(buf[start + rb.MAGIC_AT])
        return KafkaError(ErrorCode.INVALID_RECORD, f"{size} bytes are too few for a record batch")
    if buf[start + rb.MAGIC_AT] != rb.MAGIC:
        return wrong_magic(buf[start + rb.MAGIC_AT])
    claimed = rb.batch_size(buf, start)
    if rb.HEADER_SIZE <= claimed < size:
        return KafkaError(ErrorCode.INVALID_RECORD, "Produce takes exactly one batch per partition")
    return KafkaError(ErrorCode.INVALID_RECORD, f"A batch of {claimed} bytes was announced, {size} were sent")


def wrong_magic(magic: int) -> KafkaError:
    """Formats 0 and 1 are gone since Kafka 4.0; others never were. The codes are what Kafka 4.3 answers."""
    if magic > rb.MAGIC:
        return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"There is no message format {magic}")
    return KafkaError(ErrorCode.INVALID_RECORD, f"Message format {magic} is not accepted, only record batches (2) are")


def wrong_crc() -> KafkaError:
    """Damaged on the way."""
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, "The batch's checksum does not match its contents")


def too_large(size: int, config: LogConfig) -> KafkaError:
    """Above the topic's max.message.bytes."""
    limit = config.max_message_bytes
    return KafkaError(ErrorCode.MESSAGE_TOO_LARGE, f"A batch of {size} bytes is larger than max.message.bytes {limit}")


def larger_than_segment(size: int, config: LogConfig) -> KafkaError:
    """No segment can hold it."""
    limit = config.segment_bytes
    return KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE, f"A batch of {size} bytes is larger than segment.bytes {limit}")


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, message)


def check_header(
    buf: bytes,
    start: int,
    attributes: int,
    delta: int,
    max_timestamp: int,
    now_ms: int,
    config: LogConfig,
    client: bool,
) -> None:
    """Refuse a header that breaks a rule; called when something about it is unusual."""
    count: int = read_i32_be(buf, start + rb.RECORD_COUNT_AT)
    if delta < 0 or count <= 0 or count != delta + 1:
        raise _invalid(f"{count} records do not fit a last offset delta of {delta}")
    if attributes & rb.COMPRESSION_MASK > CODEC_MAX:
        raise _invalid(f"There is no codec {attributes & rb.COMPRESSION_MASK}")
    if client:
        _check_client_header(buf, start, attributes)
    if attributes & rb.CONTROL or config.log_append_time:
        return
    if attributes & rb.LOG_APPEND_TIME:
        raise KafkaError(ErrorCode.INVALID_TIMESTAMP, "Producers may not set the timestamp type to LogAppendTime")
    if not client:
        return
    earliest = now_ms - config.timestamp_before_max_ms if config.timestamp_before_max_ms != LONG_MAX else -1
    latest = now_ms + config.timestamp_after_max_ms
    for stamp in (int(read_i64_be(buf, start + rb.BASE_TIMESTAMP_AT)), max_timestamp):
        if stamp != rb.NO_TIMESTAMP and not earliest <= stamp <= latest:
            raise KafkaError(
                ErrorCode.INVALID_TIMESTAMP,
                f"Timestamp {stamp} is out of range. It should be within [{earliest}, {latest}]",
            )


def _check_client_header(buf: bytes, start: int, attributes: int) -> None:
    if read_i64_be(buf, start) != 0:
        raise _invalid(f"A producer's base offset should be 0, not {int(read_i64_be(buf, start))}")
    if attributes & rb.CONTROL:
        raise _invalid("Clients are not allowed to write control records")
    if attributes & rb.DELETE_HORIZON:
        raise _invalid("Clients are not allowed to set a delete horizon")


def check_unsequenced(buf: bytes, start: int, coordinator: bool, producers: ProducerState) -> None:
    """A producer's batch without an epoch or a sequence: only a coordinator may write one without a sequence, and the
    epoch must be none that was fenced."""
    producer_id, epoch = rb.producer_id(buf, start), rb.producer_epoch(buf, start)
    if epoch < 0 or not coordinator:
        raise _invalid(f"Producer {producer_id} sent epoch {epoch} and sequence {rb.base_sequence(buf, start)}")
    attributes: int = read_i16_be(buf, start + rb.ATTRIBUTES_AT)
    producers.check_unsequenced(producer_id, epoch, attributes & rb.TRANSACTIONAL != 0)


def rewrite(buf: bytes, start: int, end: int, now_ms: int, config: LogConfig, client: bool) -> bytes | None:
    """What the topic's settings make of a data batch: null keys refused where compacted, the topic's codec, the
    broker's time. None if it stays as it is."""
    attributes: int = read_i16_be(buf, start + rb.ATTRIBUTES_AT)
    codec = attributes & rb.COMPRESSION_MASK
    recompress = config.codec not in (KEEP_CODEC, codec)
    payload = b""
    if recompress or (config.compact and client):
        payload = _payload(buf, start, end, codec)
        if config.compact and client:
            unkeyed = without_key(payload, read_i32_be(buf, start + rb.RECORD_COUNT_AT))
            if unkeyed:
                message = "A compacted topic accepts only records with a key"
                raise KafkaError(ErrorCode.INVALID_RECORD, message, tuple(unkeyed))
    if not recompress and not config.log_append_time:
        return None
    head = bytearray(buf[start + rb.ATTRIBUTES_AT : start + rb.HEADER_SIZE])
    body = buf[start + rb.HEADER_SIZE : end]
    if recompress:
        attributes = attributes & ~rb.COMPRESSION_MASK | config.codec
        body = compress(config.codec, payload)
    if config.log_append_time:
        attributes |= rb.LOG_APPEND_TIME
        at = rb.MAX_TIMESTAMP_AT - rb.ATTRIBUTES_AT
        head[at : at + 8] = now_ms.to_bytes(8, "big", signed=True)
    head[0:2] = attributes.to_bytes(2, "big", signed=True)
    whole = rb.sealed(bytes(head) + body, 0, -1)
    if len(whole) > config.max_message_bytes and client:
        raise too_large(len(whole), config)
    return whole


def _payload(buf: bytes, start: int, end: int, codec: int) -> bytes:
    """The records' bytes, decompressed; INVALID_RECORD if that fails or would be absurdly large."""
    try:
        return decompress(codec, buf[start + rb.HEADER_SIZE : end])
    except WireError:  # not bound to a name: compiled, that would refuse subclasses from modules that are not
        raise _invalid("The records cannot be decompressed, or are too many") from None


def without_key(payload: bytes, count: int) -> list[int]:
    """The indexes of those among count records that have no key; INVALID_RECORD if they are malformed."""
    reader = Reader(payload, 0, len(payload))
    found: list[int] = []
    try:
        for index in range(count):
            stop = reader.varint() + reader.pos
            reader.i8()
            reader.varlong()
            reader.varint()
            if reader.varint() < 0:
                found.append(index)
            if stop < reader.pos or stop > reader.end:
                raise WireError("record length does not fit")
            reader.pos = stop
        reader.expect_end()
    except WireError:
        raise _invalid("The records are malformed") from None
    return found


def parse_marker(buf: bytes, start: int, end: int) -> tuple[bool, int] | None:
    """(aborted, coordinator epoch) of a transaction marker; None for other control batches."""
    try:
        for record in rb.iterate(buf, start, end):
            key, value = record.key, record.value
            if key is None or value is None or len(key) < 4 or len(value) < 6:
                return None
            kind: int = read_i16_be(key, 2)
            if kind not in (ABORT, COMMIT):
                return None
            return kind == ABORT, int(read_i32_be(value, 2))
    except WireError:
        return None
    return None


def check_marker(buf: bytes, start: int, end: int, producers: ProducerState) -> None:
    """Refuse a marker from a fenced producer or coordinator, and a part of a transaction that names no producer."""
    attributes: int = read_i16_be(buf, start + rb.ATTRIBUTES_AT)
    if not attributes & rb.CONTROL:
        raise _invalid("A transactional batch must name its producer")
    marker = parse_marker(buf, start, end)
    if marker is not None:
        producers.check_marker(rb.producer_id(buf, start), rb.producer_epoch(buf, start), marker[1])


def check_replicated(
    buf: bytes, start: int, end: int, expected: int, oldest_epoch: int, newest_epoch: int
) -> list[tuple[int, int]]:
    """Position and size of each whole batch from a leader; CRCs checked, offsets only grow from expected on, and epochs
    from the oldest on to the leader's own: what breaks that is not what the leader's log says."""
    plan: list[tuple[int, int]] = []
    at = start
    while end - at >= rb.HEADER_SIZE:
        size = rb.batch_size(buf, at)
        if size > end - at:
            break
        if size < rb.HEADER_SIZE or rb.magic(buf, at) != rb.MAGIC or not rb.crc_ok(buf, at, at + size):
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"The leader's batch at {rb.base_offset(buf, at)} is damaged")
        if rb.base_offset(buf, at) < expected or rb.last_offset_delta(buf, at) < 0:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE, f"Batch at {rb.base_offset(buf, at)} where {expected} was expected"
            )
        epoch = rb.leader_epoch(buf, at)
        if epoch < oldest_epoch or epoch > newest_epoch:
            raise KafkaError(
                ErrorCode.CORRUPT_MESSAGE,
                f"Batch at {rb.base_offset(buf, at)} of epoch {epoch}, not within [{oldest_epoch}, {newest_epoch}]",
            )
        oldest_epoch = epoch
        plan.append((at, size))
        expected = rb.last_offset(buf, at) + 1
        at += size
    return plan

"""From batch to batch through the bytes of one Fetch answer: check, leave out, decompress, walk.

Called by decode/decoder. What comes out are chunks of rows over the bytes they lie in: the answer itself, or
decompressed batches. A chunk is closed when it is large enough, or when the next batch differs in what all its rows
share. Left out: control batches, batches of aborted transactions, offsets outside the range. Compaction's gaps and
batches that it has emptied pass without notice. Hot: compiled with mypyc where possible.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from tapelog.spark.decode.aborted import Aborted
from tapelog.spark.decode.walk import BadTimestamp, Batch, Rows, walk
from tapelog.wire.compression import DECOMPRESSED_MAX, CompressionError, decompress
from tapelog.wire.record_batch import HEADER_SIZE, MAGIC, MAGIC_AT, BatchHeader, crc_ok
from tapelog.wire.values import WireError

CHUNK_BYTES: Final = 2 * 1024 * 1024
"""A chunk is closed when the bytes behind its rows reach this: what Spark's hop to the JVM likes best."""
OFFSET_MAX: Final = 1 << 62
BUFFER_MAX: Final = (1 << 31) - 1
"""Views tell positions in 31 bits."""
PARTS_MAX: Final = 512
"""Decompressed batches of one chunk."""


class BadBatch(WireError):
    """A batch that cannot be decoded: where it begins, what is wrong, and which kind of help there is."""

    def __init__(self, offset: int, reason: str, kind: str) -> None:
        super().__init__(f"at offset {offset}: {reason}")
        self.offset = offset
        self.reason = reason
        self.kind = kind


DAMAGED: Final = "damaged"
OLD: Final = "old"
COMPRESSION: Final = "compression"
TIMESTAMP: Final = "timestamp"


class Wanted:
    """What a reader asks for, the same for all answers of a range."""

    def __init__(
        self,
        start: int,
        until: int,
        *,
        keys: bool = True,
        values: bool = True,
        stamps: bool = True,
        headers: bool = False,
        decompressed_max: int = DECOMPRESSED_MAX,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        self.start: i64 = start
        self.until: i64 = until
        self.keys = keys
        self.values = values
        self.stamps = stamps
        self.headers = headers
        self.decompressed_max = min(decompressed_max, BUFFER_MAX)
        self.chunk_bytes: i64 = chunk_bytes


class Chunk:
    """Rows, and the buffers that their views point into: `parts`."""

    def __init__(self, wanted: Wanted, compressed: bool, append_time: bool) -> None:
        self.rows = Rows(wanted.keys, wanted.values, wanted.stamps, wanted.headers)
        self.parts: list[bytes] = []
        self.size: i64 = 0
        """Bytes that were walked for it."""
        self.compressed = compressed
        self.append_time = append_time
        """Are the timestamps the broker's?"""


class Scan:
    """The batches in buf[pos:end]; whole ones, as a Fetch answer holds them without its cut tail."""

    def __init__(self, buf: bytes, pos: int, end: int, wanted: Wanted, aborted: Aborted | None) -> None:
        if pos < 0 or pos > end or end > len(buf) or end > BUFFER_MAX:
            raise WireError("range outside the buffer")
        self.buf = buf
        self.pos: i64 = pos
        self.end: i64 = end
        self.wanted = wanted
        self.aborted = aborted

    def next_chunk(self) -> Chunk | None:
        """The next rows there are; None at the end. BadBatch if a batch is not what it says it is."""
        buf = self.buf
        wanted = self.wanted
        chunk: Chunk | None = None
        while self.pos < self.end:
            header = self._header()
            base: i64 = header.base_offset
            if base >= wanted.until:
                self.pos = self.end
                break
            compressed = header.compression != 0
            append_time = header.is_log_append_time
            if chunk is not None and (
                chunk.size >= wanted.chunk_bytes
                or len(chunk.parts) >= PARTS_MAX
                or chunk.compressed != compressed
                or chunk.append_time != append_time
            ):
                return chunk
            stop: i64 = self.pos + header.size
            if header.last_offset >= wanted.start:
                if not crc_ok(buf, self.pos, stop):
                    raise BadBatch(base, "its CRC does not match its bytes", DAMAGED)
                if not self._is_hidden(header) and header.record_count != 0:
                    if chunk is None:
                        chunk = Chunk(wanted, compressed, append_time)
                    self._walk(chunk, header)
            self.pos = stop
        return chunk

    def _header(self) -> BatchHeader:
        pos = self.pos
        if self.end - pos > MAGIC_AT:
            magic: i64 = self.buf[pos + MAGIC_AT]
            if magic != MAGIC:
                base = int.from_bytes(self.buf[pos : pos + 8], "big", signed=True)
                raise BadBatch(base, f"its message format is {magic}, not {MAGIC}", OLD if magic < MAGIC else DAMAGED)
        try:
            header = BatchHeader(self.buf, pos, self.end)
        except WireError as error:
            raise BadBatch(self.wanted.start, str(error), DAMAGED) from None
        if header.base_offset < 0 or header.base_offset > OFFSET_MAX or header.last_offset_delta < 0:
            raise BadBatch(header.base_offset, "its offsets do not fit", DAMAGED)
        return header

    def _is_hidden(self, header: BatchHeader) -> bool:
        aborted = self.aborted
        if aborted is None:
            return header.is_control
        try:
            return aborted.hides(header, self.buf) or header.is_control
        except WireError as error:
            raise BadBatch(header.base_offset, str(error), DAMAGED) from None

    def _batch(self, header: BatchHeader) -> Batch:
        one_time = header.is_log_append_time
        return Batch(
            count=header.record_count,
            base_offset=header.base_offset,
            last_delta=header.last_offset_delta,
            millis=header.max_timestamp if one_time else header.base_timestamp,
            one_time=one_time,
            start=self.wanted.start,
            until=self.wanted.until,
        )

    def _walk(self, chunk: Chunk, header: BatchHeader) -> None:
        wanted = self.wanted
        data = self.buf
        pos: i64 = self.pos + HEADER_SIZE
        end: i64 = self.pos + header.size
        try:
            if chunk.compressed:
                data = decompress(header.compression, data[pos:end], wanted.decompressed_max)
                pos = 0
                end = len(data)
                chunk.parts.append(data)
            elif not chunk.parts:
                chunk.parts.append(data)
            walk(chunk.rows, data, pos, end, len(chunk.parts) - 1, self._batch(header))
            chunk.size += end - pos
        except CompressionError as error:
            raise BadBatch(header.base_offset, str(error), COMPRESSION) from None
        except BadTimestamp as unfit:
            raise BadBatch(header.base_offset, str(unfit), TIMESTAMP) from None
        except WireError as wrong:
            raise BadBatch(header.base_offset, str(wrong), DAMAGED) from None

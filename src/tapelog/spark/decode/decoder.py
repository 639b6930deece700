"""One range of one partition, decoded: Fetch answers in, Arrow batches out.

Called by spark/source in the executors, and by whoever has record batches from elsewhere (tiered segments). Promises:
each record of the range that a reader of this isolation sees comes out exactly once, in order, whatever the batches
around it are; damage is a DecodeError of three lines that says where it lies and what helps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from tapelog.spark.decode.aborted import Aborted
from tapelog.spark.decode.columns import Columns
from tapelog.spark.decode.scan import COMPRESSION, DAMAGED, OLD, TIMESTAMP, BadBatch, Scan, Wanted
from tapelog.wire.compression import DECOMPRESSED_MAX

_ADVICE: Final = {
    OLD: "Formats 0 and 1 are from before Kafka 0.11: copy the topic with a current producer, and read the copy.",
    TIMESTAMP: "Leave the timestamp out, by option columns, or set startingOffsets behind this batch.",
    COMPRESSION: "If batches hold more than {limit} bytes, raise option maxDecompressedBytes; else it is damaged.",
    DAMAGED: "Check the brokers' disks (on Tapelog: tape scrub), or set startingOffsets behind this batch.",
}


class DecodeError(Exception):
    """Records of a topic cannot be decoded."""


class Decoder:
    """Decodes the offsets [start, until) of one partition."""

    def __init__(
        self,
        topic: str,
        partition: int,
        start: int,
        until: int,
        *,
        columns: tuple[str, ...],
        decompressed_max: int = DECOMPRESSED_MAX,
    ) -> None:
        self._topic = topic
        self._partition = partition
        self._columns = Columns(topic, partition, columns)
        self._wanted = Wanted(
            start,
            until,
            keys="key" in columns,
            values="value" in columns,
            stamps="timestamp" in columns,
            headers="headers" in columns,
            decompressed_max=decompressed_max,
        )

    def decode(
        self, buf: bytes, start: int, end: int, aborted: Sequence[tuple[int, int]] | None = None
    ) -> Iterator[Any]:
        """The rows of the whole batches in buf[start:end].

        `aborted` is for read_committed: the aborted transactions that came with the answer, as pairs of producer id and
        first offset. With None, records of aborted transactions are rows as well (read_uncommitted).
        """
        scan = Scan(buf, start, end, self._wanted, None if aborted is None else Aborted(aborted))
        while True:
            try:
                chunk = scan.next_chunk()
            except BadBatch as bad:
                raise self._explained(bad) from None
            if chunk is None:
                return
            yield from self._columns.batches(chunk)

    def _explained(self, bad: BadBatch) -> DecodeError:
        advice = _ADVICE[bad.kind].format(limit=self._wanted.decompressed_max)
        return DecodeError(
            f'Cannot decode topic "{self._topic}", partition {self._partition}, batch at offset {bad.offset}:\n'
            f"{bad.reason}.\n{advice}"
        )

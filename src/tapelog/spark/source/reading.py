"""Reading one range: what a task does. Fetch answers in, Arrow batches out, one Fetch ahead of the decoding.

A task holds no position that anybody else needs: run again, it reads the same range. Offsets that are gone by the time
it runs are an error, or with failOnDataLoss=false a warning in the executor's log, and the next offset there is.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from tapelog.client.cluster import Cluster
from tapelog.client.errors import OffsetOutOfRangeError
from tapelog.client.fetch import fetch_range
from tapelog.client.pool import lend
from tapelog.spark.decode.decoder import Decoder
from tapelog.spark.plan.loss import next_available
from tapelog.spark.plan.options import ReadOptions
from tapelog.spark.plan.values import Range
from tapelog.spark.source.errors import explained
from tapelog.spark.source.view import LEVELS

LOG = logging.getLogger("tapelog.spark")


def read_range(options: ReadOptions, piece: Range) -> Iterator[Any]:
    """The rows of a range as Arrow batches with the options' columns; TapelogError if it cannot be read."""
    decoder = Decoder(
        piece.topic,
        piece.partition,
        piece.start,
        piece.until,
        columns=options.columns,
        decompressed_max=options.max_decompressed_bytes,
    )
    with explained(), lend(options.connection) as cluster:
        start = piece.start
        while start < piece.until:
            try:
                yield from _decoded(options, piece, start, cluster, decoder)
                return
            except OffsetOutOfRangeError as gone:
                begins, ends = gone.log_start_offset, gone.end_offset
                fail = options.fail_on_data_loss
                start, warning = next_available(piece.of, gone.offset, begins, ends, fail=fail)
                LOG.warning(warning)
                if gone.offset > ends:
                    return


def _decoded(options: ReadOptions, piece: Range, start: int, cluster: Cluster, decoder: Decoder) -> Iterator[Any]:
    committed = options.isolation == "read_committed"
    answers = fetch_range(
        cluster,
        piece.topic,
        piece.partition,
        start,
        piece.until,
        isolation=LEVELS[options.isolation],
        fetch_bytes=options.fetch_bytes,
        max_wait_ms=options.fetch_wait_ms,
    )
    for answer in answers:
        aborted = answer.aborted if committed else None
        yield from decoder.decode(answer.buf, answer.start, answer.end, aborted)

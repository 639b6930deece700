"""Reading one range: what a task does. Record batches in, from brokers or from storage, Arrow batches out.

A task holds no position that anybody else needs: run again, it reads the same range. Offsets that are gone by the time
it runs are an error, or with failOnDataLoss=false a warning in the executor's log, and the next offset there is. A
topic that is gone, or another one than the driver planned for, is always an error: the driver judges it when the batch
is planned again. What a plan found in storage and is gone by then is asked of the broker, which
tells whether it is lost.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Any

from tapelog.client.cluster import Cluster
from tapelog.client.errors import OffsetOutOfRangeError, UnknownTopicError
from tapelog.client.fetch import fetch_range
from tapelog.client.pool import lend
from tapelog.spark.decode.decoder import DecodeError, Decoder
from tapelog.spark.plan.history import stretches
from tapelog.spark.plan.loss import gone_in_task, next_available
from tapelog.spark.plan.options import ReadOptions
from tapelog.spark.plan.stored import Stretch
from tapelog.spark.plan.values import Range
from tapelog.spark.source.errors import explained
from tapelog.spark.source.view import LEVELS

LOG = logging.getLogger("tapelog.spark")


def read_range(options: ReadOptions, piece: Range) -> Iterator[Any]:
    """The rows of a range as Arrow batches with the options' columns; TapelogError if it cannot be read."""
    with explained():
        if options.formats is None:
            yield from _rows(options, piece)
        else:
            from tapelog.spark.formats.decoding import decoded

            yield from decoded(options, piece, _rows(options, piece))


def _rows(options: ReadOptions, piece: Range) -> Iterator[Any]:
    """The same, with keys and values as the bytes that they are."""
    for stretch in stretches(piece, piece.start):
        at = stretch.start
        if stretch.stored is not None:
            at = yield from _from_storage(options, piece, stretch)
        if at < stretch.until:
            yield from _from_brokers(options, replace(piece, start=at, until=stretch.until, history=None))


def _from_storage(options: ReadOptions, piece: Range, stretch: Stretch) -> Generator[Any, None, int]:
    """The rows of a stretch that lies in an object; returns where it had to stop: its end, unless that is gone."""
    from tapelog.spark.history.reading import aborted_in, read_stretch, touching
    from tapelog.spark.history.store import MissingObjectError
    from tapelog.spark.history.tails import damaged

    assert options.tier is not None and stretch.stored is not None and piece.history is not None
    decoder = _decoder(options, piece, stretch.start, stretch.until)
    at = stretch.start
    try:
        aborted = aborted_in(options.tier, piece.history.marks) if options.isolation == "read_committed" else None
        for held in read_stretch(options.tier, stretch):
            hidden = None if aborted is None else touching(aborted, max(held.first, at), held.next_offset)
            yield from decoder.decode(held.buf, held.start, held.end, hidden)
            at = held.next_offset
    except MissingObjectError as missing:
        LOG.warning(f"{missing.what}: {piece.of} is read by Fetch from offset {at} on.")
        return at
    except DecodeError as error:
        raise damaged(stretch.stored, str(error).splitlines()[-2].rstrip(".")) from None
    return stretch.until


def _from_brokers(options: ReadOptions, piece: Range) -> Iterator[Any]:
    with lend(options.connection) as cluster:
        start, decoder = piece.start, _decoder(options, piece, piece.start, piece.until)
        while start < piece.until:
            try:
                yield from _fetched(options, piece, start, cluster, decoder)
                return
            except OffsetOutOfRangeError as gone:
                begins, ends = gone.log_start_offset, gone.end_offset
                fail = options.fail_on_data_loss
                batch = not options.streaming
                start, warning = next_available(piece.of, gone.offset, begins, ends, fail=fail, batch=batch)
                LOG.warning(warning)
                if gone.offset > ends:
                    return
            except UnknownTopicError as unknown:
                raise gone_in_task(piece.of, start, unknown.what) from unknown


def _decoder(options: ReadOptions, piece: Range, start: int, until: int) -> Decoder:
    return Decoder(
        piece.topic,
        piece.partition,
        start,
        until,
        columns=options.needed,
        decompressed_max=options.max_decompressed_bytes,
    )


def _fetched(options: ReadOptions, piece: Range, start: int, cluster: Cluster, decoder: Decoder) -> Iterator[Any]:
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
        patience_ms=options.poll_timeout_ms,
        topic_id=piece.topic_id,
    )
    for answer in answers:
        aborted = answer.aborted if committed else None
        yield from decoder.decode(answer.buf, answer.start, answer.end, aborted)

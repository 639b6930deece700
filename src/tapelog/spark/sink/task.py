"""What a writing task does: rows in, a report for the driver out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from tapelog.client.cluster import Cluster
from tapelog.client.errors import ClientError
from tapelog.client.pool import lend
from tapelog.client.produce import Producer
from tapelog.client.transactions import Transaction, end_transactions, init_producer
from tapelog.spark.encode.encoder import Encoder, tally_of
from tapelog.spark.plan import write_protocol
from tapelog.spark.plan.write_columns import Layout
from tapelog.spark.plan.write_options import WriteOptions
from tapelog.spark.plan.write_protocol import Begin, CountRows, Step, WriteMarker, WriteRows
from tapelog.spark.plan.write_values import Marker, Tally, Work, Written
from tapelog.spark.sink.asking import Asking, drive, two_phase_offered

LOG = logging.getLogger("tapelog.spark")

GIVE_UP_SECONDS: Final = 5.0
"""How long a failed task tries to end its own transaction; after that the driver, or the time limit, does."""


class Rows:
    """The Arrow batches of a task, each made what is written (`encode`), and how to write them."""

    def __init__(
        self,
        batches: Iterator[Any],
        options: WriteOptions,
        layout: Layout,
        encode: Callable[[Any], Any] | None = None,
    ) -> None:
        self._batches, self._options, self._layout, self._encode = batches, options, layout, encode

    def write(self, producer: Producer) -> Tally:
        """Send all, and wait until they are acknowledged."""
        cluster, options = producer.cluster, self._options
        encoder = Encoder(
            self._layout,
            options.topic,
            lambda topic: len(cluster.topic(topic).partitions),
            cluster.pace.spread,
            producer.send_encoded,
            batch_bytes=options.producer.batch_bytes,
            ignore_keys=options.ignore_keys,
        )
        for batch in self._encoded():
            encoder.add(batch, time.time_ns() // 1_000_000)
        encoder.finish()
        producer.flush()
        return encoder.tally

    def count(self) -> Tally:
        """Only go through them."""
        tally = Tally()
        for batch in self._encoded():
            tally = tally + tally_of(batch, self._layout)
        return tally

    def _encoded(self) -> Iterator[Any]:
        return self._batches if self._encode is None else map(self._encode, self._batches)


def write_once(options: WriteOptions, work: Work, rows: Rows) -> Written:
    """One attempt at exactly once. What it leaves open is in the report."""
    with _fresh(options) as cluster:
        asked = _Writing(cluster, options, rows)
        try:
            done = drive(write_protocol.task(work, check_replay=options.replay_check), asked)
        except BaseException:
            asked.give_up()
            raise
    return Written(done.work, done.tally, done.open, done.before, asked.timeout_ms, asked.two_phase)


def write_at_least_once(options: WriteOptions, work: Work, rows: Rows) -> Written:
    """Written and acknowledged when it returns; again if the task is run again."""
    with _fresh(options) as cluster:
        producer = Producer(cluster, init_producer(cluster), options.producer)
        return Written(work, rows.write(producer), None, None)


@contextmanager
def _fresh(options: WriteOptions) -> Iterator[Cluster]:
    """A cluster that is asked about topics anew. One that was made anew since an earlier task asked may have other
    partitions: rows for those that are gone could not be written, and keys would go to the wrong ones."""
    with lend(options.connection) as cluster:
        cluster.forget_topics()
        yield cluster


class _Writing(Asking):
    """Performs the steps of a task."""

    def __init__(self, cluster: Cluster, options: WriteOptions, rows: Rows) -> None:
        super().__init__(cluster, options.transaction_timeout_ms, two_phase=False)
        self._options, self._rows = options, rows
        self._transaction: Transaction | None = None

    def __call__(self, step: Step) -> Any:
        """The answer to one step."""
        match step:
            case Begin(name):
                self.two_phase = two_phase_offered(self.cluster, name, self._options.two_phase)
                self._transaction = Transaction(
                    self.cluster, name, timeout_ms=self.timeout_ms, two_phase=self.two_phase
                )
                return None
            case WriteRows():
                return self._rows.write(self._open.producer(self._options.producer))
            case CountRows():
                return self._rows.count()
            case WriteMarker(marker):
                return self._mark(marker)
            case _:
                return super().__call__(step)

    @property
    def _open(self) -> Transaction:
        assert self._transaction is not None, "a task begins its transaction first"
        return self._transaction

    def _mark(self, marker: Marker) -> Any:
        """The marker wants some partition that exists: one that was written to."""
        opened = self._open
        where = opened.producer().touched[0]
        opened.commit_offsets(opened.transactional_id, {where: marker.offset}, marker.text())
        return opened.handle

    def give_up(self) -> None:
        """After a failure: end what was begun, if that is quick; readers would wait for it otherwise."""
        opened = self._transaction
        if opened is None or not opened.producer().touched:
            return
        try:
            end_transactions(
                self.cluster, [opened.handle], commit=False, deadline=self.cluster.deadline(GIVE_UP_SECONDS)
            )
        except ClientError as error:
            LOG.warning("a failed task could not abort its transaction %s: %s", opened.transactional_id, error.what)

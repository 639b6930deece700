"""What the Spark sink does on a cluster, without Spark: tasks and the driver as functions, on Tapelog and Kafka."""

from __future__ import annotations

import pickle
import uuid
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Consumer

from tapelog.client.partitioner import partition_for_key
from tapelog.client.pool import lend
from tapelog.client.transactions import end_transactions, ongoing
from tapelog.spark.plan import write_protocol
from tapelog.spark.plan.write_columns import HEADERS, layout_of
from tapelog.spark.plan.write_options import WriteOptions, write_options
from tapelog.spark.plan.write_protocol import ReplayError, WriteError
from tapelog.spark.plan.write_values import Work, Written
from tapelog.spark.sink.asking import Asking, drive, read_markers
from tapelog.spark.sink.task import Rows, write_at_least_once, write_once
from tests.clients.blocking_client_checks import Check, Place

HEADER = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


class Job:
    """A query that writes numbers: batch b, Spark partition p writes `count` rows."""

    def __init__(self, place: Place, partitions: int = 3, **more: str) -> None:
        self.place, self.topic, self.name = place, place.topic(partitions), f"q{uuid.uuid4().hex[:8]}"
        given = {"kafka.bootstrap.servers": place.bootstrap, "topic": self.topic} | {
            name.replace("_", "."): value for name, value in more.items()
        }
        self.options: WriteOptions = write_options(given, streaming=True)

    def work(self, batch: int, partition: int, run: str = "r1", number: int = 0) -> Work:
        return Work(self.name, run, batch, partition, number, f"{run}-{number}")

    def task(self, work: Work, count: int = 50) -> Written:
        """One attempt; its report travels as Spark's would."""
        layout = layout_of([("key", "binary"), ("value", "binary"), ("headers", HEADERS)], topic=self.topic)
        rows = Rows(self.batches(work, count), self.options, layout)
        write = write_once if self.options.exactly_once else write_at_least_once
        done: Written = pickle.loads(pickle.dumps(write(self.options, work, rows)))
        return done

    def batches(self, work: Work, count: int) -> Iterator[Any]:
        for start in range(0, count, 20):
            names = [b"%d-%d-%d" % (work.batch, work.partition, n) for n in range(start, min(start + 20, count))]
            yield pa.record_batch(
                {
                    "key": pa.array(names, pa.binary()),
                    "value": pa.array([b"v" + name for name in names], pa.binary()),
                    "headers": pa.array([[{"key": "h", "value": name}] for name in names], HEADER),
                }
            )

    def commit(self, written: list[Written]) -> None:
        with lend(self.options.connection) as cluster:
            drive(write_protocol.commit(written), Asking(cluster, 60_000, written[0].two_phase))

    def abort(self, written: list[Written | None]) -> None:
        with lend(self.options.connection) as cluster:
            drive(write_protocol.abort(written, self.name), Asking(cluster, 60_000, False))

    def open(self, *works: Work) -> list[str]:
        with lend(self.options.connection) as cluster:
            return ongoing(cluster, [work.name for work in works]) or []

    def found(self, rows: int) -> Counter[bytes]:
        """Keys as a reader of another make sees them, read_committed, once `rows` are there and the end is reached."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.place.bootstrap,
                "group.id": uuid.uuid4().hex,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,
            }
        )
        consumer.subscribe([self.topic])
        seen: Counter[bytes] = Counter()
        ends: set[int] = set()
        try:
            while len(ends) < 3 or sum(seen.values()) < rows:
                message = consumer.poll(60)
                assert message is not None, f"{sum(seen.values())} of {rows} rows, then nothing"
                if message.error():
                    ends.add(message.partition())
                    continue
                key = message.key()
                assert isinstance(key, bytes) and message.value() == b"v" + key
                assert message.headers() == [("h", key)]
                assert message.partition() == partition_for_key(key, 3)
                seen[key] += 1
        finally:
            consumer.close()
        return seen


def rows_of(*parts: tuple[int, int], count: int = 50) -> Counter[bytes]:
    return Counter(b"%d-%d-%d" % (batch, partition, n) for batch, partition in parts for n in range(count))


def a_batch_is_visible_when_the_driver_has_committed_it_and_a_replay_adds_nothing(place: Place) -> None:
    job = Job(place, kafka_compression_type="lz4")
    written = [job.task(job.work(0, partition)) for partition in range(2)]
    assert job.found(0) == Counter()
    job.commit(written[:1])  # the driver dies between two commits
    again = [job.task(job.work(0, partition, "r2")) for partition in range(2)]
    assert [one.open is None for one in again] == [True, False]
    job.commit(again)
    job.commit(again)  # and a commit that is repeated
    assert job.found(100) == rows_of((0, 0), (0, 1))


def attempts_beside_each_other_leave_one_result_and_nothing_open(place: Place) -> None:
    job = Job(place)
    first, second = job.work(0, 0), job.work(0, 0, number=1)
    slow, quick = job.task(first), job.task(second)
    assert sorted(job.open(first, second)) == sorted([first.name, second.name])
    job.commit([slow])
    assert job.open(first, second) == []
    job.commit([quick])  # somebody else believes in the other attempt: he finds the marker
    assert job.found(50) == rows_of((0, 0))


def a_worker_that_outlived_its_driver_cannot_commit_a_second_time(place: Place) -> None:
    job = Job(place)
    old = job.task(job.work(0, 0, number=1))  # reported to a driver that is gone, whose worker still tries to commit
    new = job.task(job.work(0, 0, "r2"))
    with lend(job.options.connection) as cluster:
        steps = write_protocol.commit([new])
        asking = Asking(cluster, 60_000, False)
        asking(next(steps))  # the new driver has taken the other ids
        assert old.open is not None
        assert end_transactions(cluster, [old.open], commit=True)
        step = steps.send(None)
        while step is not None:
            try:
                step = steps.send(asking(step))
            except StopIteration:
                break
    assert job.found(50) == rows_of((0, 0))


def what_the_old_worker_committed_in_time_is_not_committed_again(place: Place) -> None:
    job = Job(place)
    old = job.task(job.work(0, 0, number=1))
    new = job.task(job.work(0, 0, "r2"))
    with lend(job.options.connection) as cluster:
        assert old.open is not None
        assert end_transactions(cluster, [old.open], commit=True) == {}
    job.commit([new])
    assert job.found(50) == rows_of((0, 0))


def a_transaction_that_was_ended_under_the_driver_stops_the_query_and_is_written_anew(place: Place) -> None:
    job = Job(place)
    lost, good = job.task(job.work(4, 0)), job.task(job.work(4, 1))
    with lend(job.options.connection) as cluster:
        assert lost.open is not None
        end_transactions(cluster, [lost.open], commit=False)  # as the time limit does
    with pytest.raises(WriteError, match=r"Batch 4 could not be committed in Spark partition 0"):
        job.commit([lost, good])
    job.abort([lost, good])
    again = [job.task(job.work(4, partition, "r2")) for partition in range(2)]
    assert [one.open is None for one in again] == [False, True]
    job.commit(again)
    assert job.found(100) == rows_of((4, 0), (4, 1))


def abort_ends_what_is_open_and_never_undoes_a_commit(place: Place) -> None:
    job = Job(place)
    one, two = job.task(job.work(0, 0)), job.task(job.work(0, 1))
    job.commit([one])
    job.abort([one, None])
    assert job.open(one.work, two.work) == []
    assert job.found(50) == rows_of((0, 0))


def a_replay_with_other_rows_and_an_older_checkpoint_stop(place: Place) -> None:
    job = Job(place)
    job.commit([job.task(job.work(3, 0))])
    with pytest.raises(ReplayError, match="came again with other rows"):
        job.task(job.work(3, 0, "r2"), count=49)
    with pytest.raises(ReplayError, match="comes after batch 3"):
        job.task(job.work(2, 0, "r2"))
    assert job.found(50) == rows_of((3, 0))


def at_least_once_is_there_when_the_task_ends(place: Place) -> None:
    job = Job(place, delivery="atLeastOnce")
    assert job.task(job.work(0, 0)).open is None
    assert job.found(50) == rows_of((0, 0))


def an_empty_partition_leaves_neither_transaction_nor_marker(place: Place) -> None:
    job = Job(place)
    written = job.task(job.work(0, 0), count=0)
    assert written.open is None
    job.commit([written])
    with lend(job.options.connection) as cluster:
        assert read_markers(cluster, [written.work.name], settled=True) == {}


CHECKS: list[Check] = [
    a_batch_is_visible_when_the_driver_has_committed_it_and_a_replay_adds_nothing,
    attempts_beside_each_other_leave_one_result_and_nothing_open,
    a_worker_that_outlived_its_driver_cannot_commit_a_second_time,
    what_the_old_worker_committed_in_time_is_not_committed_again,
    a_transaction_that_was_ended_under_the_driver_stops_the_query_and_is_written_anew,
    abort_ends_what_is_open_and_never_undoes_a_commit,
    a_replay_with_other_rows_and_an_older_checkpoint_stop,
    at_least_once_is_there_when_the_task_ends,
    an_empty_partition_leaves_neither_transaction_nor_marker,
]

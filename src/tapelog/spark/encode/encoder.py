"""Arrow batches in, full batches of records out: what a writing task does with its rows.

Called by sink/task. Holds one open batch per partition; `send` gets a batch when it is full, and the rest at the end.
How many partitions a topic has is asked anew with each Arrow batch, so that rows without a key find new ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from tapelog.client.errors import UnknownTopicError
from tapelog.client.metadata import TopicPartition
from tapelog.spark.encode import columns
from tapelog.spark.encode.records import BadRow, Rows, Spans, Target, Topic, encode
from tapelog.spark.plan.errors import DOCS, PlanError
from tapelog.spark.plan.write_columns import Layout
from tapelog.spark.plan.write_values import Tally

Send: TypeAlias = Callable[[TopicPartition, bytes, int, int, int], None]
"""Partition, body, records, first and greatest timestamp: Producer.send_encoded."""

HELD_BYTES_MAX: Final = 64 * 1024 * 1024
"""What open batches may hold together, should there be very many partitions: then all are sent as they are."""


class RowError(PlanError):
    """A row cannot be written. At most three lines."""


class Encoder:
    """Writes the rows of one task. `partitions_of` tells how many a topic has, `chance` is between 0 and 1."""

    def __init__(
        self,
        layout: Layout,
        topic: str | None,
        partitions_of: Callable[[str], int],
        chance: Callable[[], float],
        send: Send,
        *,
        batch_bytes: int,
        ignore_keys: bool = False,
    ) -> None:
        self.tally = Tally()
        self.topics: dict[str, Topic] = {}
        self._layout, self._topic = layout, topic
        self._partitions_of, self._chance, self._send = partitions_of, chance, send
        self._batch_bytes, self._ignore_keys = batch_bytes, ignore_keys
        self._held = 0

    def add(self, batch: Any, now_ms: int) -> None:
        """Take the rows of an Arrow batch."""
        if batch.num_rows == 0:
            return
        try:
            rows = self._rows(batch, now_ms)
            at = 0
            while at < rows.count:
                at = encode(rows, at, self._batch_bytes)
                if rows.full_topic is not None:
                    self._full(rows.full_topic, rows.full_partition, rows.full_sticky)
        except (BadRow, ValueError) as error:
            reason = error.reason if isinstance(error, BadRow) else str(error)
            raise RowError(
                f"A row cannot be written: {reason}.",
                f"What each column must hold: {DOCS}, Write.",
            ) from None
        self.tally = self.tally + tally_of(batch, self._layout)
        self._held = sum(len(target.out) for topic in self.topics.values() for target in topic.targets)
        if self._held > HELD_BYTES_MAX:
            self.finish()

    def finish(self) -> None:
        """Send what is left."""
        for topic in self.topics.values():
            for partition, target in enumerate(topic.targets):
                if target.count:
                    self._pass_on(topic, partition)

    # -- inside

    def _rows(self, batch: Any, now_ms: int) -> Rows:
        layout = self._layout
        topics, topic_of = self._topics(batch)
        key = None if layout.key is None else columns.spans(batch.column(layout.key))
        value: Spans = columns.spans(batch.column(layout.value))
        return Rows(
            batch.num_rows,
            now_ms,
            topics,
            topic_of,
            key,
            value,
            None if layout.partition is None else columns.numbers(batch.column(layout.partition)),
            None if layout.headers is None else columns.headers(batch.column(layout.headers)),
            b"" if layout.timestamp is None else columns.stamps(batch.column(layout.timestamp)),
            self._ignore_keys,
        )

    def _topics(self, batch: Any) -> tuple[list[Topic], Any]:
        if self._topic is not None:
            return [self._target(self._topic)], None
        assert self._layout.topic is not None, "the options say a topic, or the rows do"
        column = batch.column(self._layout.topic)
        if column.null_count:
            raise BadRow(0, "its topic is null, and option topic is not set")
        names, topic_of = columns.dictionary(column)
        return [self._target(name) for name in names], topic_of

    def _target(self, name: str) -> Topic:
        known = self.topics.get(name)
        count = self._partitions_of(name)
        if count < 1:
            raise UnknownTopicError(f"topic {name} has no partitions", f"topic {name}", "create it, or check its name")
        if known is None:
            known = self.topics[name] = Topic(name, count, int(self._chance() * count))
        elif count > known.partitions:
            known.targets += [Target() for _ in range(count - known.partitions)]
            known.partitions = count
        return known

    def _full(self, topic: Topic, partition: int, sticky: bool) -> None:
        self._pass_on(topic, partition)
        if sticky and topic.partitions > 1:
            topic.sticky = (topic.sticky + 1 + int(self._chance() * (int(topic.partitions) - 1))) % topic.partitions

    def _pass_on(self, topic: Topic, partition: int) -> None:
        full, topic.targets[partition] = topic.targets[partition], Target()
        where = TopicPartition(topic.name, partition)
        self._send(where, full.out.getvalue(), full.count, full.first_ms, full.max_ms)


def tally_of(batch: Any, layout: Layout) -> Tally:
    """What an Arrow batch adds to the account of a task's rows."""
    key_bytes, key_sum = (0, 0) if layout.key is None else columns.byte_sum(batch.column(layout.key))
    return Tally(batch.num_rows, key_bytes, key_sum)

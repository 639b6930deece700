"""What the three promises have in common, as the engine sees them, and what differs.

|               | offsets are committed                 | a crash                                    |
|---------------|---------------------------------------|--------------------------------------------|
| ExactlyOnce   | in the transaction of what was sent   | leaves nothing: neither effect nor offset  |
| AtLeastOnce   | after what was sent is stored         | repeats what was not committed             |
| AtMostOnce    | before the handler is called          | loses what was committed and not handled   |
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Mapping, Sequence
from typing import Protocol

from confluent_kafka import KafkaException

from tapelog.toolkit.progress import Position
from tapelog.toolkit.records import Place, Record, Send
from tapelog.toolkit.sink import Failures, Sink
from tapelog.toolkit.source import Source, topic_partitions
from tapelog.toolkit.transactions import Transactions, Undone

log = logging.getLogger(__name__)


class Settled(enum.Enum):
    """How the end of a batch went."""

    DONE = "what was sent is stored and the offsets are committed"
    LATER = "what was sent is stored, the offsets are not committed: try that again"
    UNDONE = "do the batch again"


class Delivery(Protocol):
    """How results and offsets get out."""

    commits_first: bool
    """Offsets are committed before the handler is called, and nothing is ever done again."""
    in_order: bool
    """Records of a partition count only without gaps: the results of later ones are dropped when one fails."""
    failures: Failures

    def prepare(self, source: Source) -> None:
        """Get ready; Undone when it is worth trying again."""

    def send(self, record: Record, sends: Sequence[Send]) -> None:
        """Send what a record led to. SendFailed: this record's fault. Undone: the batch must be done again."""

    def settle(self, positions: Mapping[Place, Position]) -> Settled:
        """End the batch: everything sent is stored, these positions are committed."""

    def undo(self) -> None:
        """Take back what can be taken back."""

    def close(self) -> None:
        """The end."""


class ExactlyOnce:
    """Results and offsets in one transaction."""

    commits_first = False
    in_order = True

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._source: Source | None = None
        self.failures = transactions.failures

    def prepare(self, source: Source) -> None:
        self._source = source
        self._transactions.prepare()

    def send(self, record: Record, sends: Sequence[Send]) -> None:
        self._transactions.begin()
        self._transactions.send(record, sends)

    def settle(self, positions: Mapping[Place, Position]) -> Settled:
        assert self._source is not None
        try:
            if positions:
                self._transactions.begin()
            if self._transactions.open:
                self._transactions.commit(topic_partitions(positions), self._source.group_metadata())
        except Undone:
            return Settled.UNDONE
        return Settled.DONE

    def undo(self) -> None:
        self._transactions.abort()

    def close(self) -> None:
        self._transactions.discard()


class _Plain:
    """Results by an idempotent producer, offsets by the consumer."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._source: Source | None = None
        self.failures = sink.failures

    def prepare(self, source: Source) -> None:
        self._source = source

    def send(self, record: Record, sends: Sequence[Send]) -> None:
        self._sink.send(record, sends)

    def _commit(self, positions: Mapping[Place, Position]) -> bool:
        assert self._source is not None
        try:
            if positions:
                self._source.commit(positions)
        except KafkaException as exception:
            log.warning("offsets were not committed: %s", exception)
            return False
        return True

    def undo(self) -> None:
        """What was sent stays sent."""

    def close(self) -> None:
        self._sink.discard()


class AtLeastOnce(_Plain):
    """First the results, then the offsets."""

    commits_first = False
    in_order = False

    def settle(self, positions: Mapping[Place, Position]) -> Settled:
        if not self._sink.flush():
            return Settled.UNDONE
        return Settled.DONE if self._commit(positions) else Settled.LATER


class AtMostOnce(_Plain):
    """First the offsets, then the handler. What cannot be sent is logged and lost."""

    commits_first = True
    in_order = False

    def settle(self, positions: Mapping[Place, Position]) -> Settled:
        if not self._sink.flush():
            for record, failure in self.failures.take():
                log.error("lost what %s led to: %s", record.coordinates, failure)
        return Settled.DONE if self._commit(positions) else Settled.UNDONE

"""Records that cannot be decoded, put aside: as they were, with headers that tell where they lay and why they are here.

The headers are those of tapelog.toolkit.letters, so that its tools find and send them back. A task writes them before
it gives the batch on, idempotently, and waits for the acknowledgement: each such record is written at least once. A
task that is run again writes its letters again; original-topic, -partition and -offset tell them apart.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Final

from tapelog.client.pool import lend
from tapelog.client.produce import Producer
from tapelog.client.settings import ConnectionSettings
from tapelog.client.transactions import init_producer

ORIGINAL_TOPIC: Final = "original-topic"
ORIGINAL_PARTITION: Final = "original-partition"
ORIGINAL_OFFSET: Final = "original-offset"
ORIGINAL_TIMESTAMP: Final = "original-timestamp"
ERROR_CLASS: Final = "error-class"
ERROR_MESSAGE: Final = "error-message"
MESSAGE_CHARS_MAX: Final = 1000


class DeadLetters:
    """The dead-letter topic, as one task writes to it; nothing is connected before there is something to write."""

    def __init__(self, connection: ConnectionSettings, topic: str, stack: ExitStack) -> None:
        self._connection = connection
        self._topic = topic
        self._stack = stack
        self._producer: Producer | None = None

    def send(self, batch: Any, topic: str, partition: int, bad: dict[int, dict[str, str]]) -> None:
        """Write the rows of `batch` that `bad` names, with its reasons, and wait until they are acknowledged."""
        producer = self._connected()
        for row, reasons in sorted(bad.items()):
            stamp = batch.column("timestamp")[row].value // 1000
            story = {
                ORIGINAL_TOPIC: topic,
                ORIGINAL_PARTITION: str(partition),
                ORIGINAL_OFFSET: str(batch.column("offset")[row].as_py()),
                ORIGINAL_TIMESTAMP: str(stamp),
                ERROR_CLASS: "tapelog.spark.CorruptRecordError",
                ERROR_MESSAGE: "; ".join(f"{name}: {why}" for name, why in reasons.items())[:MESSAGE_CHARS_MAX],
            }
            before = [(pair["key"], pair["value"]) for pair in batch.column("headers")[row].as_py() or ()]
            kept = [(name, value) for name, value in before if name not in story]
            producer.send(
                self._topic,
                batch.column("key")[row].as_py(),
                batch.column("value")[row].as_py(),
                stamp,
                [*kept, *((name, text.encode()) for name, text in story.items())],
            )
        producer.flush()

    def _connected(self) -> Producer:
        if self._producer is None:
            cluster = self._stack.enter_context(lend(self._connection))
            self._producer = Producer(cluster, init_producer(cluster))
        return self._producer

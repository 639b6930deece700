"""Reading a topic to its end, as somebody who looks at it afterwards."""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

Seen = tuple[int, int, bytes]
"""Partition, offset, value."""

TIMEOUT_S = 120
QUICK: dict[str, Any] = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200, "log_level": 0}


def read(bootstrap: str, topic: str, partitions: int, *, committed: bool = True) -> list[Seen]:
    """Everything in a topic, partition by partition."""
    level = "read_committed" if committed else "read_uncommitted"
    settings = {"group.id": "unused", "isolation.level": level, "enable.partition.eof": True, **QUICK}
    consumer = Consumer({"bootstrap.servers": bootstrap, **settings})
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(partitions)])
    seen: list[Seen] = []
    ended: set[int] = set()
    deadline = time.monotonic() + TIMEOUT_S
    while len(ended) < partitions:
        assert time.monotonic() < deadline, f"{topic} has no end"
        for message in consumer.consume(10_000, 0.2):
            error = message.error()
            if error is None:
                seen.append((message.partition() or 0, message.offset() or 0, message.value() or b""))
            elif error.code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition() or 0)
    consumer.close()
    return sorted(seen, key=lambda one: one[0])

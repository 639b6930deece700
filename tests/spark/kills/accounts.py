"""What was put in and what came out: numbers, fed by one thread and read by another, both with librdkafka."""

from __future__ import annotations

import threading
import time
import uuid
from collections import Counter
from typing import Any

from confluent_kafka import Consumer, Producer


class Feeder(threading.Thread):
    """Writes numbers 0, 1, 2, … to the source topic at a rate, until told to stop; each is acknowledged once."""

    def __init__(self, bootstrap: str, topic: str, rate: int) -> None:
        super().__init__(daemon=True)
        self.topic, self.rate = topic, rate
        self.acknowledged = 0
        self.trouble = ""
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 600_000,
                "linger.ms": 20,
                "log_level": 0,
            }
        )
        self._over = threading.Event()

    def run(self) -> None:
        number, begun = 0, time.monotonic()
        while not self._over.is_set():
            due = int((time.monotonic() - begun) * self.rate)
            while number < due:
                self._producer.produce(self.topic, b"%d" % number, b"k%d" % number, callback=self._told)
                number += 1
            self._producer.poll(0.05)
        self._producer.flush(300)

    def stop(self) -> int:
        """No more; how many numbers there are."""
        self._over.set()
        self.join(320)
        assert not self.trouble, self.trouble
        return self.acknowledged

    def _told(self, error: Any, message: Any) -> None:
        if error is not None:
            self.trouble = str(error)
        else:
            self.acknowledged += 1


class Reader(threading.Thread):
    """Reads the target topic, read_committed, and counts each number."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(daemon=True)
        self.seen: Counter[int] = Counter()
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"kills-{uuid.uuid4().hex}",
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        self._topic = topic
        self._over = threading.Event()

    def run(self) -> None:
        self._consumer.subscribe([self._topic])
        while not self._over.is_set():
            for message in self._consumer.consume(500, 0.2):
                if not message.error():
                    self.seen[int((message.value() or b"").removeprefix(b"out-"))] += 1
        self._consumer.close()

    def stop(self) -> Counter[int]:
        """What was seen."""
        self._over.set()
        self.join(60)
        return self.seen


class LakeReader(threading.Thread):
    """Reads the lake table again and again, and counts each number."""

    def __init__(self, uri: str) -> None:
        super().__init__(daemon=True)
        self.seen: Counter[int] = Counter()
        self._uri = uri
        self._over = threading.Event()

    def run(self) -> None:
        from tests.spark.kills.lake_check import found

        while not self._over.wait(1.0):
            try:
                self.seen = found(self._uri)
            except Exception as error:  # not made yet
                self.trouble = str(error)

    def stop(self) -> Counter[int]:
        """What is there at the end."""
        from tests.spark.kills.lake_check import found

        self._over.set()
        self.join(60)
        return found(self._uri)


def compared(fed: int, seen: Counter[int]) -> dict[str, Any]:
    """Missing, twice, and strange numbers."""
    missing = [number for number in range(fed) if number not in seen]
    twice = [number for number, times in seen.items() if times > 1]
    strange = [number for number in seen if number >= fed]
    return {
        "fed": fed,
        "seen": sum(seen.values()),
        "missing": len(missing),
        "twice": len(twice),
        "strange": len(strange),
        "examples": {"missing": missing[:5], "twice": sorted(twice)[:5]},
    }

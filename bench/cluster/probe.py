"""An acks=all producer that writes to one partition of a topic all the time, and knows when it is heard again."""

from __future__ import annotations

import threading
import time
from typing import Final

from confluent_kafka import KafkaError, Message, Producer

INTERVAL_S: Final = 0.02
"""Between two records to the partition that is watched. While nobody takes them, the client keeps them."""
OTHERS_EVERY: Final = 5
"""Between faults the other partitions get a record every so many of these intervals: so the client is connected to
every node. During a fault they get none: acknowledgements of leaders that wait for the faulty node would hold up what
the client asks on the same connections."""
CLIENT: Final[dict[str, str | int | bool]] = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 0,
    "message.timeout.ms": 120_000,
    "request.timeout.ms": 1000,
    "socket.timeout.ms": 1000,
    "topic.metadata.refresh.interval.ms": 100,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "log_level": 0,
}
"""The same for both sides. A client that waits longer for a node that is stopped, or that asks more rarely who leads,
would measure mostly itself."""


class Probe(threading.Thread):
    """One librdkafka producer for the whole life of a cluster."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        super().__init__(daemon=True)
        self.producer = Producer({"bootstrap.servers": bootstrap, **CLIENT})
        self.topic = topic
        self.watched = 0
        self.alone = False
        """Whether only the watched partition gets records."""
        self.fatal = ""
        self._sent: list[float] = [0.0] * partitions
        """By partition: when the newest record was sent that was acknowledged."""
        self._at: list[float] = [0.0] * partitions
        """And when that was."""
        self._first: tuple[float, float] = (float("inf"), 0.0)
        """(since, at): the first acknowledgement of a record sent since."""
        self._stopping = threading.Event()

    def run(self) -> None:
        """Send, until told to stop."""
        next_at, rounds = time.monotonic(), 0
        while not self._stopping.is_set():
            now = time.monotonic()
            if now < next_at:
                self.producer.poll(next_at - now)
                continue
            next_at, rounds = max(next_at + INTERVAL_S, now), rounds + 1
            self._send(self.watched, now)
            if rounds % OTHERS_EVERY == 0 and not self.alone:
                for partition in range(len(self._sent)):
                    self._send(partition, now)

    def _send(self, partition: int, now: float) -> None:
        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                self.fatal = str(error) if error.fatal() else self.fatal
                return
            at = time.monotonic()
            self._sent[partition], self._at[partition] = now, at
            if partition == self.watched and now >= self._first[0] and not self._first[1]:
                self._first = (self._first[0], at)

        try:
            self.producer.produce(self.topic, b"x" * 100, partition=partition, on_delivery=delivered)
        except BufferError:
            self.producer.poll(0.01)

    def steady(self, timeout_s: float) -> None:
        """Wait until every partition has acknowledged what is sent from now on. TimeoutError if that does not come."""
        begin, self.alone = time.monotonic(), False
        while min(self._sent) < begin:
            now = time.monotonic()
            if now > begin + timeout_s or self.fatal:
                waiting = {number: round(now - at, 1) for number, at in enumerate(self._at) if at < begin}
                raise TimeoutError(f"partitions that do not acknowledge, seconds: {waiting} {self.fatal}")
            time.sleep(0.05)

    def watch(self, partition: int) -> None:
        """From now on this partition is the one that matters."""
        self.watched, self.alone, self._first = partition, True, (float("inf"), 0.0)

    def first_after(self, fault: float, timeout_s: float) -> float | None:
        """Wait for the first acknowledgement of what was sent after the fault; seconds since then, None for never."""
        self._first = (fault, 0.0)
        while not self._first[1]:
            if time.monotonic() > fault + timeout_s or self.fatal:
                return None
            time.sleep(0.005)
        return self._first[1] - fault

    def close(self) -> None:
        """Stop sending."""
        self._stopping.set()
        self.join()
        self.producer.purge()
        self.producer.flush(5)

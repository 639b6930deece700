"""What a broker promised to the load, and whether it kept it: every record once, in order, at its offset."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.chaos import load
from tests.support.waiting import until

PARTITIONS = 4
RATE = 2000


class PromiseBroken(AssertionError):
    """Something acknowledged is not there, or not as it was acknowledged."""


class Load:
    """The load process and its report."""

    def __init__(self, bootstrap: str, topic: str, scratch: Path, *, rate: int = RATE) -> None:
        self.bootstrap, self.topic = bootstrap, topic
        self.path = scratch / f"{topic}.report"
        self.made: list[str] = []
        self._read_up_to = self._looked_at = self._counted = 0
        self._lines: list[str] = []
        configs = {"segment.bytes": "1048576", "index.interval.bytes": "1024"}
        create(bootstrap, NewTopic(topic, PARTITIONS, 1, config=configs))
        command = [sys.executable, load.__file__, bootstrap, topic, str(PARTITIONS), str(rate), str(self.path)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE)

    def lines(self) -> list[str]:
        """Everything reported so far."""
        if self.path.exists():
            with self.path.open() as source:
                source.seek(self._read_up_to)
                fresh = source.read()
            whole = fresh[: fresh.rfind("\n") + 1]
            self._read_up_to += len(whole)
            self._lines.extend(whole.splitlines())
        return self._lines

    def progress(self, seconds: float = 30.0) -> float:
        """Wait until more records are acknowledged; how long that took."""
        before, started = self.acknowledged(), time.monotonic()
        until(lambda: self.acknowledged() > before, "the load makes progress", seconds=seconds, pause=0.01)
        return time.monotonic() - started

    def acknowledged(self) -> int:
        """How many records have been acknowledged so far."""
        self._counted += sum(line.startswith("r ") for line in self.lines()[self._looked_at :])
        self._looked_at = len(self._lines)
        return self._counted

    def make_topic(self, number: int) -> None:
        """Create one more topic: an acknowledged creation is a promise too."""
        name = f"{self.topic}-made-{number}"
        create(self.bootstrap, NewTopic(name, 2, 1))
        self.made.append(name)

    def finish(self) -> None:
        """Stop sending, wait for the last acknowledgements."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(90)
        if self.lines()[-1:] != ["end"]:
            raise PromiseBroken(f"the load ended with {self.lines()[-1:]}")

    def stop(self) -> None:
        """End the process however the test ends."""
        self.process.kill()
        self.process.wait()

    def verify(self) -> int:
        """Raise PromiseBroken unless everything acknowledged is there, once and in order; the number of records."""
        records = [tuple(map(int, line.split()[1:])) for line in self.lines() if line.startswith("r ")]
        failed = [line for line in self.lines() if line.startswith("x ")]
        if failed:
            raise PromiseBroken(f"{len(failed)} records failed for good, the first with {failed[0]}")
        found = read_everything(self.bootstrap, self.topic)
        for partition in range(PARTITIONS):
            there = found[partition]
            acknowledged = {number: offset for where, number, offset in records if where == partition}
            numbers = [number for _offset, number in there]
            if [offset for offset, _number in there] != list(range(len(there))):
                raise PromiseBroken(f"partition {partition}: offsets are not 0 … {len(there) - 1}")
            if numbers != list(range(len(numbers))):
                at = next(i for i, number in enumerate(numbers) if number != i)
                raise PromiseBroken(f"partition {partition}, offset {at}: record {numbers[at]} instead of {at}")
            if len(numbers) <= max(acknowledged, default=-1):
                raise PromiseBroken(
                    f"partition {partition}: record {max(acknowledged)} was acknowledged, {len(numbers)} are there"
                )
            moved = [number for number, offset in acknowledged.items() if offset >= 0 and there[number][0] != offset]
            if moved:
                raise PromiseBroken(f"partition {partition}: records not at the offset acknowledged: {moved[:5]}")
        self._verify_commits()
        absent = set(self.made) - set(topics(self.bootstrap))
        if absent:
            raise PromiseBroken(f"topics acknowledged and gone: {sorted(absent)}")
        return len(records)

    def _verify_commits(self) -> None:
        promised = max((int(line.split()[1]) for line in self.lines() if line.startswith("c ")), default=0)
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": self.topic})
        committed = consumer.committed([TopicPartition(self.topic, 0)], timeout=20)[0].offset
        consumer.close()
        if committed < promised:
            raise PromiseBroken(f"offset {promised} was committed, {committed} is stored")


def create(bootstrap: str, topic: NewTopic) -> None:
    """Create a topic."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_topics([topic])[topic.topic].result(20)


def topics(bootstrap: str) -> list[str]:
    """The names of all topics."""
    return list(AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}).list_topics(timeout=20).topics)


def read_everything(bootstrap: str, topic: str) -> dict[int, list[tuple[int, int]]]:
    """(offset, number) of every record, by partition, in the order in which they come."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "check.crcs": True, "log_level": 0})
    places = [TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(PARTITIONS)]
    try:
        ends = {place.partition: consumer.get_watermark_offsets(place, timeout=20)[1] for place in places}
    except KafkaException as error:
        raise PromiseBroken(f"{topic} cannot be read: {error}") from error
    consumer.assign(places)
    found: dict[int, list[tuple[int, int]]] = {partition: [] for partition in range(PARTITIONS)}
    deadline = time.monotonic() + 60
    while any(len(found[partition]) < end for partition, end in ends.items()):
        if time.monotonic() > deadline:
            raise PromiseBroken(f"read {[len(one) for one in found.values()]} of {ends}")
        for message in consumer.consume(10_000, 0.2):
            if message.error() is not None:
                raise PromiseBroken(f"reading: {message.error()}")
            number = int((message.value() or b"").split(b" ")[0])
            found[message.partition() or 0].append((message.offset() or 0, number))
    consumer.close()
    return found

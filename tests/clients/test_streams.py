"""Kafka Streams' word count under exactly_once_v2, killed and started again: every count once and in order."""

from __future__ import annotations

import random
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from tests.clients.programs import java, prepare
from tests.support.names import Fresh, MakeTopic
from tests.support.waiting import PATIENCE_S, until

WORDS = ["log", "tape", "offset", "group", "epoch", "marker", "fence", "commit", "abort", "broker"]
LINES, WORDS_IN_LINE = 1500, 4
PAUSE_S = 0.003
KILLS = 2

pytestmark = [pytest.mark.needs("java"), pytest.mark.slow, pytest.mark.timeout(600)]


class Application:
    """The word count as a process, which can be killed and started again."""

    def __init__(self, bootstrap: str, id: str, source: str, target: str, scratch: Path) -> None:
        self.arguments = [bootstrap, id, source, target, str(scratch / "state")]
        self.output = scratch / "output"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it runs."""
        with self.output.open("wb") as out:
            command = java("WordCount", *self.arguments)
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=out)
        until(lambda: "RUNNING" in self.said().splitlines(), "the application runs")

    def said(self) -> str:
        """What it printed, its states among it; that it gives up is a failure of ours."""
        text = self.output.read_text(errors="replace")
        assert not {"PENDING_ERROR", "PENDING_SHUTDOWN"} & set(text.splitlines()), text
        return text

    def kill(self) -> None:
        """As a crash would."""
        assert self.process is not None and self.process.stdin is not None
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()


class Counts:
    """A reader of the committed that follows the word count's output from its beginning."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.seen: dict[str, list[int]] = {word: [] for word in WORDS}
        self.total = 0
        self.consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "fetch.wait.max.ms": 50})
        self.consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(partitions)])

    def reach(self, total: int, seconds: float = PATIENCE_S) -> None:
        """Read until so many counts have come."""
        deadline = time.monotonic() + seconds
        while self.total < total:
            assert time.monotonic() < deadline, f"{self.total} of {total} counts after {seconds} s"
            for message in self.consumer.consume(500, 0.1):
                assert message.error() is None, message.error()
                word, count = (message.key() or b"").decode(), int.from_bytes(message.value() or b"", "big")
                self.seen[word].append(count)
                self.total += 1


@pytest.fixture
def lines() -> list[str]:
    """Some text."""
    chance = random.Random(4)
    return [" ".join(chance.choices(WORDS, k=WORDS_IN_LINE)) for _ in range(LINES)]


@pytest.fixture
def application(bootstrap: str, fresh: Fresh, make_topic: MakeTopic, tmp_path: Path) -> Iterator[Application]:
    """The word count, not yet started; gone when the test ends."""
    prepare("java")
    made = Application(bootstrap, fresh(), make_topic(2), make_topic(2), tmp_path)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.kill()


def feed(bootstrap: str, topic: str, lines: list[str]) -> None:
    """Send the text at a steady pace, so that there is work under way whenever the application is killed."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 2})
    for line in lines:
        producer.produce(topic, line.encode())
        time.sleep(PAUSE_S)
    assert producer.flush(20) == 0


def test_word_count_is_exact_although_the_application_is_killed(
    bootstrap: str, application: Application, lines: list[str]
) -> None:
    source, target = application.arguments[2:4]
    counts = Counts(bootstrap, target, 2)
    application.start()
    feeder = threading.Thread(target=feed, args=(bootstrap, source, lines))
    feeder.start()
    for number in range(KILLS):
        counts.reach(WORDS_IN_LINE * LINES * (number + 1) // (KILLS + 2))
        application.kill()
        application.start()
    feeder.join()
    counts.reach(WORDS_IN_LINE * LINES)
    wanted = Counter(word for line in lines for word in line.split())
    assert counts.seen == {word: list(range(1, wanted[word] + 1)) for word in WORDS}
    application.kill()
    counts.consumer.close()

"""`tape consume --follow` while its broker dies and comes back: told on stderr, once each; Ctrl-C ends it in peace."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tapelog.testing import Broker
from tests.support.waiting import until


@pytest.fixture
def broker() -> Iterator[Broker]:
    """One of its own, to be killed, with the topic `t`."""
    with Broker() as running:
        admin = AdminClient({"bootstrap.servers": running.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic("t", 2, 1)])["t"].result(20)
        yield running


def write(broker: Broker, value: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    producer.produce("t", value)
    assert producer.flush(60) == 0


def committed(broker: Broker) -> int:
    """How many records group `g` has behind it."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    told = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("g")])["g"].result(60)
    return sum(max(0, part.offset) for part in told.topic_partitions)


def heed_interrupts() -> None:
    """As at a terminal: what a shell runs in the background begins with SIGINT ignored, and so do its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Follower:
    """The command, with what it has printed so far."""

    def __init__(self, broker: Broker, directory: Path, *words: str) -> None:
        self._out, self._err = directory / "out", directory / "err"
        command = [
            sys.executable,
            "-m",
            "tapelog",
            "consume",
            "t",
            "--follow",
            "--json",
            "-b",
            broker.bootstrap,
            *words,
        ]
        with open(self._out, "wb") as out, open(self._err, "wb") as err:
            self.process = subprocess.Popen(command, stdout=out, stderr=err, preexec_fn=heed_interrupts)

    @property
    def values(self) -> list[str]:
        return [json.loads(line)["value"] for line in self._out.read_text().splitlines()]

    @property
    def told(self) -> list[str]:
        return self._err.read_text().splitlines()


@pytest.mark.parametrize("reader", [("--offset", "earliest"), ("--group", "g")], ids=["offsets", "group"])
def test_a_dead_broker_is_told_once_and_so_is_its_return(
    broker: Broker, tmp_path: Path, reader: tuple[str, str]
) -> None:
    write(broker, "before")
    follower = Follower(broker, tmp_path, *reader)
    try:
        until(lambda: follower.values == ["before"], "the first record is shown")
        if "--group" in reader:
            until(lambda: committed(broker) == 1, "it is committed, too")
        broker.kill()
        away = f"{broker.bootstrap} does not answer, waiting: start it again, or end with Ctrl-C"
        until(lambda: follower.told == [away], "that the broker is away is told")
        broker.restart()
        until(lambda: follower.told == [away, f"{broker.bootstrap} answers again"], "that it is back is told")
        write(broker, "after")
        until(lambda: follower.values == ["before", "after"], "what comes then is shown")
        broker.kill()
        until(lambda: len(follower.told) == 3, "the second absence is told, too")
        follower.process.send_signal(signal.SIGINT)
        assert follower.process.wait(60) == 0
        assert follower.told[2:] == [away] and follower.values == ["before", "after"]
    finally:
        follower.process.kill()
        follower.process.wait()

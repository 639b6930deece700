"""A read-process-write application and its broker, killed again and again; what became of every input at the end.

`Crashes` runs the story: a feed that survives everything, the application (a few processes), a reader that follows the
output live. `judge` reads what is there at the end and says, input by input, what is missing, what came twice, what is
out of order, what is in one output and not in the other, and where the live reader saw something else.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tapelog.testing import Broker
from tests.chaos import application, reading
from tests.chaos.application import AUDIT, INPUT, OUTPUT, PARTITIONS, QUICK
from tests.support.waiting import until

RATE = 300
UNACKNOWLEDGED_MAX = 1000
Place = tuple[int, int]
Seen = reading.Seen


class Server(Protocol):
    """What is killed together with the application."""

    bootstrap: str
    pid: int

    def start(self) -> object: ...

    def kill(self) -> None: ...


class Node(Broker):
    """A broker that comes back by `tape node`, as one would start it again after a crash."""

    def _words(self) -> list[str]:
        again = self.data_dir / "node-1"
        return ["node", str(again)] if (again / "node.toml").exists() else super()._words()


class Feed(threading.Thread):
    """Numbered records into every partition of the input, idempotently, whatever happens to the broker."""

    def __init__(self, bootstrap: str, rate: int = RATE) -> None:
        super().__init__(daemon=True)
        settings = {"enable.idempotence": True, "linger.ms": 5, "message.timeout.ms": 0, **QUICK}
        self.producer = Producer({"bootstrap.servers": bootstrap, **settings})
        self.rate = rate
        self.acknowledged: dict[Place, bytes] = {}
        self.failed: list[str] = []
        self.sent = 0
        self._stopping = threading.Event()

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed.append(str(error))
            return
        self.acknowledged[message.partition() or 0, message.offset() or 0] = message.value() or b""

    def run(self) -> None:
        began = time.monotonic()
        while not self._stopping.is_set():
            due = int((time.monotonic() - began) * self.rate)
            waiting = self.sent - len(self.acknowledged) - len(self.failed)
            if self.sent >= due or waiting >= UNACKNOWLEDGED_MAX:
                self.producer.poll(0.005)
                continue
            value = b"%d" % self.sent
            self.producer.produce(INPUT, value, partition=self.sent % PARTITIONS, on_delivery=self._delivered)
            self.sent += 1

    def finish(self) -> list[bytes]:
        """Stop, wait for the last acknowledgement; everything that was sent."""
        self._stopping.set()
        self.join(20)
        assert self.producer.flush(60) == 0, "the feed was not acknowledged"
        assert self.failed == [], self.failed[:3]
        assert len(self.acknowledged) == self.sent
        return [b"%d" % number for number in range(self.sent)]


class LiveReader(threading.Thread):
    """Follows the output from its beginning, committed records only, through every crash of the broker."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(daemon=True)
        settings = {"group.id": "unused", "isolation.level": "read_committed", "fetch.wait.max.ms": 100, **QUICK}
        self.consumer = Consumer({"bootstrap.servers": bootstrap, **settings})
        self.consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(PARTITIONS)])
        self.seen: list[Seen] = []
        self._stopping = threading.Event()

    def run(self) -> None:
        while not self._stopping.is_set():
            for message in self.consumer.consume(1000, 0.05):
                if message.error() is None:
                    self.seen.append((message.partition() or 0, message.offset() or 0, message.value() or b""))
        self.consumer.close()

    def finish(self) -> list[Seen]:
        """Stop; everything it saw, partition by partition, in the order in which it came."""
        self._stopping.set()
        self.join(20)
        return sorted(self.seen, key=lambda one: one[0])


@dataclass
class Verdict:
    """What became of the inputs."""

    inputs: int
    lost: list[bytes] = field(default_factory=list)
    repeated: list[bytes] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    """Everything that no promise allows: out of order, in one output only, not what the live reader saw."""

    @property
    def exact(self) -> bool:
        """Every input's effect once, and nothing strange."""
        return not (self.lost or self.repeated or self.strange)

    def __str__(self) -> str:
        text = f"{self.inputs} inputs, {len(self.lost)} lost, {len(self.repeated)} repeated"
        return f"{text}, strange: {'; '.join(self.strange[:5]) or 'nothing'}"


def judge(inputs: list[bytes], output: list[Seen], audit: list[Seen], live: list[Seen], *, atomic: bool) -> Verdict:
    """From what was fed and what was read to what is wrong. `atomic`: both outputs must agree, and be in order."""
    verdict = Verdict(len(inputs))
    there = Counter(value for _, _, value in output)
    verdict.lost = [value for value in inputs if not there[value]]
    verdict.repeated = [value for value, count in there.items() if count > 1]
    unknown = there.keys() - set(inputs)
    if unknown:
        verdict.strange.append(f"{len(unknown)} values that nobody sent, {sorted(unknown)[0]!r} among them")
    for seen in (output, live):
        places = [(partition, offset) for partition, offset, _ in seen]
        if places != sorted(set(places)):
            verdict.strange.append("offsets that do not rise")
    if live != output:
        different = set(live) ^ set(output)
        verdict.strange.append(f"the live reader saw {len(different)} records differently: {sorted(different)[:3]}")
    if atomic:
        also = Counter(value for _, _, value in audit)
        torn = [value for value in there.keys() | also.keys() if there[value] != also[value]]
        if torn:
            verdict.strange.append(f"{len(torn)} effects are not in both outputs, {min(torn)!r} first")
        for partition in range(PARTITIONS):
            numbers = [int(value) for where, _, value in output if where == partition]
            if numbers != sorted(numbers) and not verdict.repeated:
                verdict.strange.append(f"partition {partition} is out of order")
    return verdict


class Crashes:
    """The story: start everything, crash as often as told, come to an end, judge."""

    def __init__(
        self,
        server: Server,
        promise: str,
        scratch: Path,
        seed: int,
        protocol: str,
        instances: int = 3,
        rate: int = RATE,
    ) -> None:
        self.server, self.promise, self.protocol = server, promise, protocol
        self.chance = random.Random(f"{promise} {protocol} {seed}")
        self.log = scratch / "application.log"
        server.start()
        admin = AdminClient({"bootstrap.servers": server.bootstrap, "log_level": 0})
        made = admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in (INPUT, OUTPUT, AUDIT)])
        for one in made.values():
            one.result(20)
        self.feed = Feed(server.bootstrap, rate)
        self.live = LiveReader(server.bootstrap, OUTPUT)
        self.applications: list[subprocess.Popen[bytes] | None] = [None] * instances
        self.away: set[int] = set()
        self.feed.start()
        self.live.start()
        for number in range(instances):
            self._start(number)

    def _start(self, number: int) -> None:
        command = [
            sys.executable,
            application.__file__,
            self.server.bootstrap,
            self.promise,
            f"app-{number}",
            self.protocol,
        ]
        paths = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "src")]
        with self.log.open("ab") as log:
            env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
            self.applications[number] = subprocess.Popen(command, stderr=log, env=env)

    def crash(self) -> None:
        """Kill the application and the broker, in some order, mostly both; start again what is dead.

        One instance may stay away until the next crash: what it left open lasts, and the others get its partitions.
        """
        back, self.away = self.away, set()
        victims: list[int] = [number for number in range(len(self.applications)) if self.chance.random() < 0.8]
        broker = self.chance.random() < 0.8 or not victims
        order: list[int | None] = [*victims, *([None] if broker else [])]
        self.chance.shuffle(order)
        for victim in order:
            if victim is None:
                self.server.kill()
            elif (process := self.applications[victim]) is not None:
                process.kill()
            if self.chance.random() < 0.3:
                time.sleep(self.chance.uniform(0, 0.05))
        if broker:
            self.server.start()
        if victims and self.chance.random() < 0.3:
            self.away = {self.chance.choice(victims)}
        for number, process in enumerate(self.applications):
            if process is not None and (number in victims or number in back or process.poll() is not None):
                process.kill()
                process.wait()
                if number not in self.away:
                    self._start(number)

    def progress(self) -> None:
        """Until the live reader has seen output written from now on: a lack of progress is a failure too."""
        asked = Consumer({"bootstrap.servers": self.server.bootstrap, "group.id": "unused", **QUICK})
        ends: list[int] = []

        def told() -> bool:
            try:
                places = [TopicPartition(OUTPUT, partition) for partition in range(PARTITIONS)]
                ends[:] = [asked.get_watermark_offsets(place, timeout=20)[1] for place in places]
            except KafkaException:  # a broker that has just come back may not lead yet
                return False
            return True

        until(told, "the ends of the output", pause=0.05)
        asked.close()
        until(
            lambda: any(offset >= ends[partition] for partition, offset, _ in self.live.seen[-1000:]),
            f"new output ({self._told()})",
            pause=0.01,
        )

    def _told(self) -> str:
        return self.log.read_text(errors="replace")[-1500:] if self.log.exists() else ""

    def repeated(self) -> bool:
        """Whether the live reader has seen a value twice."""
        return len({value for _, _, value in self.live.seen}) < len(self.live.seen)

    def lost(self) -> bool:
        """Whether the live reader has seen a value before which one is missing; inputs are processed in order."""
        for partition in range(PARTITIONS):
            numbers = {int(value) for where, _, value in self.live.seen if where == partition}
            if numbers and len(numbers) < (max(numbers) - partition) // PARTITIONS + 1:
                return True
        return False

    def run(self, kills: int, *, kills_max: int = 0, enough: Callable[[], bool] = lambda: True) -> Verdict:
        """So many crashes at random points of the work, more until it is `enough`; then the end and the verdict."""
        self.progress()
        for number in range(max(kills, kills_max)):
            if number >= kills and enough():
                break
            time.sleep(self.chance.uniform(0.0, 0.6))  # the random point
            self.crash()
            self.progress()
        for number in self.away:
            self._start(number)
        inputs = self.feed.finish()
        self._drain()
        for process in self.applications:
            assert process is not None
            process.send_signal(signal.SIGTERM)
        for process in self.applications:
            assert process is not None
            process.wait(30)
        output, audit = (read(self.server.bootstrap, topic) for topic in (OUTPUT, AUDIT))
        until(lambda: len(self.live.seen) >= len(output), "the live reader is at the end")
        transactional = self.promise not in ("at-least-once", "at-most-once")
        return judge(inputs, output, audit, self.live.finish(), atomic=transactional)

    def _drain(self) -> None:
        """Until the application has committed the input's end."""
        consumer = Consumer({"bootstrap.servers": self.server.bootstrap, "group.id": application.GROUP, **QUICK})
        places = [TopicPartition(INPUT, partition) for partition in range(PARTITIONS)]
        ends = [consumer.get_watermark_offsets(place, timeout=20)[1] for place in places]

        def done() -> bool:
            return [one.offset for one in consumer.committed(places, timeout=20)] == ends

        until(done, f"everything is processed ({self._told()})", pause=0.1)
        consumer.close()

    def close(self) -> None:
        """However it ended."""
        for process in self.applications:
            if process is not None:
                process.kill()
                process.wait()
        self.server.kill()


def read(bootstrap: str, topic: str) -> list[Seen]:
    """The committed records of a topic, partition by partition."""
    return reading.read(bootstrap, topic, PARTITIONS)

"""A broker on a slow disk, producers that send ten times as fast as it syncs, consumers that do not read, and some that
slowly read what is old.

Used by `test_overload`; `python -m bench.overload` runs it for minutes and draws what it saw.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from confluent_kafka import Consumer, TopicPartition

from tapelog.testing.broker import Broker
from tapelog.testing.process import environment
from tests.support.raw import FETCH, PRODUCE, Raw, batch, produce_body, produce_error, record, string
from tests.support.waiting import until

MB = 1 << 20
DISK_BYTES_PER_SECOND = 8 * MB
DIRTY_MAX = 64 * MB
"""So far ahead of the disk the kernel stops a writer."""
UNFLUSHED_MAX = 24 * MB
PRODUCERS = 8
IN_FLIGHT = 20
"""Requests of a megabyte that each has under way: together far more than the kernel would take."""
PARTITIONS = 4
RECORD = 1_000_000
READERS, READER_PAUSE_S = 8, 1.0
API_VERSIONS = 18
TOPIC = "flood"
SOURCE = Path(__file__).with_name("slowdisk.c")


@dataclass
class Sample:
    """One look at the broker."""

    second: float
    memory: int
    written: int
    synced: int
    stopped_ms: int
    acknowledged: int
    read: int


@dataclass
class Story:
    """What happened."""

    samples: list[Sample] = field(default_factory=list)
    acknowledged: dict[tuple[int, int], bytes] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    read: int = 0
    """Bytes that slow consumers got."""
    slowest_s: float = 0.0
    """The longest that a bystander waited for an answer that needs no disk."""


class SlowBroker:
    """A broker whose disk is slow, with what the disk says."""

    def __init__(self, directory: Path, plant: str | None = None, rate: int = DISK_BYTES_PER_SECOND) -> None:
        self.report = directory / "disk"
        library = directory / "slowdisk.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", library, SOURCE, "-ldl", "-lpthread"], check=True)
        self.data = directory / "data"
        env = {
            "LD_PRELOAD": str(library),
            "SLOWDISK_DIR": str(self.data),
            "SLOWDISK_BYTES_PER_SECOND": str(rate),
            "SLOWDISK_DIRTY_MAX": str(DIRTY_MAX),
            "SLOWDISK_REPORT": str(self.report),
        }
        if plant is not None:
            paths = [str(SOURCE.with_name("plants") / plant), environment()["PYTHONPATH"]]
            env |= {"PYTHONPATH": os.pathsep.join(paths), "TAPELOG_HOT": "interpreted"}
        self.broker = Broker(data=self.data, settings={"tapelog.unflushed.max.bytes": UNFLUSHED_MAX}, env=env)

    def memory(self) -> int:
        """Resident bytes."""
        with open(f"/proc/{self.broker.pid}/statm") as source:
            return int(source.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def disk(self) -> tuple[int, int, int]:
        """Bytes written, bytes synced, milliseconds that the broker was stopped in a write."""
        words = self.report.read_text().split() if self.report.exists() else []
        written, synced, stopped = (int(word) for word in words) if len(words) == 3 else (0, 0, 0)
        return written, synced, stopped


class Flood:
    """Producers that always have more to send: each has so many requests of a megabyte under way."""

    def __init__(self, bootstrap: str, story: Story) -> None:
        self.story = story
        self.sent = 0
        self.stopping = threading.Event()
        self.threads: list[threading.Thread] = []
        for number in range(PRODUCERS):
            raw = Raw(bootstrap, timeout=90)
            waiting: SimpleQueue[tuple[int, bytes] | None] = SimpleQueue()
            free = threading.Semaphore(IN_FLIGHT)
            self.threads.append(threading.Thread(target=self._send, args=(raw, number, waiting, free)))
            self.threads.append(threading.Thread(target=self._receive, args=(raw, number, waiting, free)))
        for thread in self.threads:
            thread.start()

    def _send(
        self, raw: Raw, number: int, waiting: SimpleQueue[tuple[int, bytes] | None], free: threading.Semaphore
    ) -> None:
        count = 0
        while not self.stopping.is_set():
            if not free.acquire(timeout=0.2):
                continue
            key = b"%d-%d" % (number, count)
            one = batch(record(key.ljust(RECORD, b"."), key=key), 1)
            body = produce_body(TOPIC, number % PARTITIONS, one, timeout_ms=60_000)
            waiting.put((raw.send(PRODUCE, 7, body), key))
            count += 1
            self.sent += RECORD
        waiting.put(None)

    def _receive(
        self, raw: Raw, number: int, waiting: SimpleQueue[tuple[int, bytes] | None], free: threading.Semaphore
    ) -> None:
        while (sent := waiting.get()) is not None:
            code, offset = produce_error(raw.receive(sent[0]), TOPIC)
            if code:
                self.story.failures.append(f"error {code}")
            else:
                self.story.acknowledged[number % PARTITIONS, offset] = sent[1]
            free.release()
        raw.close()

    def stop(self) -> None:
        """Send no more; wait for what is under way."""
        self.stopping.set()
        for thread in self.threads:
            thread.join()


class Bystander:
    """Asks something that needs no disk, again and again."""

    def __init__(self, bootstrap: str, story: Story) -> None:
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._ask, args=(bootstrap, story))
        self.thread.start()

    def _ask(self, bootstrap: str, story: Story) -> None:
        with Raw(bootstrap, timeout=90) as raw:
            while not self.stopping.wait(0.05):
                begun = time.monotonic()
                raw.call(API_VERSIONS, 0, b"")
                story.slowest_s = max(story.slowest_s, time.monotonic() - begun)

    def stop(self) -> None:
        """No more questions."""
        self.stopping.set()
        self.thread.join()


class SlowReaders:
    """Consumers that read everything from the beginning, a little at a time: mostly what is old by then."""

    def __init__(self, bootstrap: str, story: Story, count: int) -> None:
        self.story = story
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self._read, args=(bootstrap, number)) for number in range(count)]
        for thread in self.threads:
            thread.start()

    def _read(self, bootstrap: str, number: int) -> None:
        partition, offset = number % PARTITIONS, 0
        with Raw(bootstrap, timeout=90) as raw:
            while not self.stopping.wait(READER_PAUSE_S):
                got, offset = fetched(raw.call(FETCH, 4, fetch_body(partition, offset, 2 * MB)), offset)
                self.story.read += got

    def stop(self) -> None:
        """Read no more."""
        self.stopping.set()
        for thread in self.threads:
            thread.join()


def fetch_body(partition: int, offset: int, size: int) -> bytes:
    """A Fetch of one partition."""
    head = struct.pack(">iiiibi", -1, 500, 1, size, 0, 1)
    return head + string(TOPIC) + struct.pack(">iiqi", 1, partition, offset, size)


def fetched(answer: bytes, offset: int) -> tuple[int, int]:
    """How many bytes of whole batches came, and where to read on."""
    at = 4 + 4 + len(string(TOPIC)) + 4
    _, code, _, _, aborted = struct.unpack_from(">ihqqi", answer, at)
    assert code == 0, f"Fetch answered {code}"
    at += 26 + 16 * max(0, aborted)
    begin = at = at + 4
    while at + 61 <= len(answer):
        base, length = struct.unpack_from(">qi", answer, at)
        if at + 12 + length > len(answer):
            break
        offset = base + struct.unpack_from(">i", answer, at + 23)[0] + 1
        at += 12 + length
    return at - begin, offset


def unread(bootstrap: str, count: int) -> list[Raw]:
    """Consumers that ask for a lot and do not read it."""
    body = fetch_body(0, 0, 50 * MB)
    found = []
    for _ in range(count):
        raw = Raw(bootstrap)
        raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for _ in range(20):
            raw.send(FETCH, 4, body)
        found.append(raw)
    return found


def overload(
    slow: SlowBroker, seconds: float, looks_s: float = 0.5, enough: Callable[[Sample], bool] = lambda sample: False
) -> Story:
    """Flood the broker for so long, or until a look at it is enough, and look at it meanwhile."""
    from confluent_kafka.admin import AdminClient, NewTopic

    story = Story()
    bootstrap = slow.broker.bootstrap
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values():
        future.result()
    until(lambda: bool(admin.list_topics(TOPIC, timeout=30).topics[TOPIC].partitions), "the topic")
    flood, bystander = Flood(bootstrap, story), Bystander(bootstrap, story)
    until(lambda: bool(story.acknowledged), "the first acknowledgement")
    idle, readers = unread(bootstrap, 20), SlowReaders(bootstrap, story, READERS)
    begun = time.monotonic()
    while (now := time.monotonic() - begun) < seconds and not (story.samples and enough(story.samples[-1])):
        story.samples.append(Sample(now, slow.memory(), *slow.disk(), len(story.acknowledged), story.read))
        time.sleep(looks_s)
    bystander.stop()
    readers.stop()
    flood.stop()
    for raw in idle:
        raw.close()
    return story


def stored(bootstrap: str, wanted: Mapping[tuple[int, int], bytes]) -> dict[tuple[int, int], bytes]:
    """What a consumer reads in the end: the keys by partition and offset, as far as they are wanted."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "check", "fetch.max.bytes": 50 * MB})
    consumer.assign([TopicPartition(TOPIC, index, 0) for index in range(PARTITIONS)])
    last = [max((offset for where, offset in wanted if where == index), default=-1) for index in range(PARTITIONS)]
    found: dict[tuple[int, int], bytes] = {}
    left = sum(1 for offset in last if offset >= 0)
    deadline = time.monotonic() + 120
    while left and time.monotonic() < deadline:
        for message in consumer.consume(500, 1):
            partition, offset, key = message.partition(), message.offset(), message.key()
            assert partition is not None and offset is not None and isinstance(key, bytes), message.error()
            if (partition, offset) in wanted:
                found[partition, offset] = key
            left -= offset == last[partition]
    consumer.close()
    return found

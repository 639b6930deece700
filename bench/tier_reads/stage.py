"""What is read: a broker with an S3 server, and topics of which nothing but the last segment is on its disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import obstore
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from obstore.store import S3Store

from bench import build, procs
from bench.sides import REPOSITORY, Missing, Tapelog
from bench.tier_reads.servers import BUCKET, KEYS, Server

SEGMENT_BYTES = 64 << 20
SEGMENTS_MIN = 4
"""Of each partition, at least."""
LET_GO_S_MAX = 240.0
RAW = {"raw": 4 << 20, "raw-16": 16 << 20}
"""Readers of the server itself, and how much they ask for at once."""
URL = f"s3://{BUCKET}/tier"

Figures = dict[str, float]


class Stage:
    """A server and a broker that run."""

    def __init__(self, server: Server, folder: Path, interpreted: bool, settings: dict[str, str]) -> None:
        self.server = server
        self.broker = Tapelog(folder / "broker", None, page_cache=True, interpreted=interpreted)
        self.broker.settings |= {
            "remote.log.storage.system.enable": "true",
            "tapelog.tier.url": URL,
            "tapelog.tier.endpoint": server.endpoint,
            "log.retention.check.interval.ms": "500",
            **settings,
        }
        self.until: dict[str, list[int]] = {}
        self.threads = int(settings.get("remote.log.reader.threads", "10"))

    def start(self) -> None:
        """Both."""
        os.environ.update(KEYS)
        self.server.start()
        self.broker.start()

    def stop(self) -> None:
        """Both."""
        self.broker.stop()
        self.server.stop()

    @property
    def address(self) -> str:
        """Of the broker."""
        return f"127.0.0.1:{self.broker.port}"

    def fill(self, topic: str, partitions: int, total: int, record_bytes: int) -> None:
        """Write a topic and wait until the store alone has it, except for the active segments."""
        segment = min(SEGMENT_BYTES, max(1 << 20, total // partitions // SEGMENTS_MIN))
        config = {"remote.storage.enable": "true", "segment.bytes": str(segment), "local.retention.bytes": "1"}
        admin = AdminClient({"bootstrap.servers": self.address, "log_level": 0})
        admin.create_topics([NewTopic(topic, partitions, 1, config=config)])[topic].result(30)
        producer = Producer({"bootstrap.servers": self.address, "log_level": 0, "queue.buffering.max.kbytes": 200_000})
        value = os.urandom(record_bytes)
        for number in range(total // record_bytes):
            while True:
                try:
                    producer.produce(topic, value, partition=number % partitions)
                    break
                except BufferError:
                    producer.poll(0.1)
        if producer.flush(120):
            raise Missing("the broker does not take what is written")
        deadline = time.monotonic() + LET_GO_S_MAX
        while any(len(self._local(topic, index)) > 1 for index in range(partitions)):
            if time.monotonic() > deadline:
                raise Missing(f"{topic}: not everything is in the store after {LET_GO_S_MAX:.0f} s")
            time.sleep(0.5)
        self.until[topic] = [self._local(topic, index)[0] for index in range(partitions)]

    def _local(self, topic: str, index: int) -> list[int]:
        return sorted(int(path.stem) for path in self.broker.data.glob(f"**/{topic}-{index}/*.log"))

    def prefix(self, topic: str) -> str:
        """Where the topic's objects are."""
        config = {"endpoint": self.server.endpoint}
        store = S3Store.from_url(URL, config=config, client_options={"allow_http": True})
        for page in obstore.list(store, prefix="topics"):
            for one in page:
                name = str(one["path"])
                if name.endswith("/topic.json"):
                    text = bytes(obstore.get(store, name).bytes()).decode()
                    if json.loads(text.partition("\n")[2])["name"] == topic:
                        return name.removesuffix("topic.json")
        raise Missing(f"the store has nothing of {topic}")

    def run(self, way: str, topic: str) -> Figures:
        """Read the topic once, one way or the other: MB/s, and CPU seconds per GB of everybody."""
        until = ",".join(map(str, self.until[topic]))
        if way in RAW:
            sizes = [f"--threads={self.threads}", f"--block-bytes={RAW[way]}"]
            arguments = [self.server.endpoint, URL, self.prefix(topic), *sizes]
            words = [sys.executable, "-m", "bench.tier_reads.raw", *arguments]
        elif way == "plain":
            words = [sys.executable, "-m", "bench.tier_reads.plain", str(self.broker.port), topic, until]
        else:
            words = [str(build.coldread()), self.address, topic, until]
        before = self._cpu()
        busy, network, begun = procs.machine_busy_s(), interrupts_s(), time.monotonic()
        done = subprocess.run(words, capture_output=True, text=True, cwd=REPOSITORY, check=False)
        if done.returncode:
            raise Missing(f"{way}: {done.stderr[-1000:]}")
        found = json.loads(done.stdout)
        after = self._cpu()
        gigabytes = found["bytes"] / 1e9
        spent = {party: (after[party] - before[party]) / gigabytes for party in before}
        ours = sum(after.values()) - sum(before.values()) + found["cpu_s"]
        network = interrupts_s() - network
        others = procs.machine_busy_s() - busy - ours - network
        return {
            "mb_s": found["bytes"] / found["seconds"] / 1e6,
            "first_s": found.get("first_s", 0.0),
            "server_cpu": spent["server"],
            "broker_cpu": spent["broker"],
            "client_cpu": found["cpu_s"] / gigabytes,
            "network_cpu": network / gigabytes,
            "broker_peak_mb": procs_peak_mb(self.broker.pid),
            "others_cpu_s": max(0.0, others),
            "wall_s": time.monotonic() - begun,
        }

    def _cpu(self) -> dict[str, float]:
        return {"server": procs.cpu_s(self.server.pid), "broker": procs.cpu_s(self.broker.pid)}


def interrupts_s() -> float:
    """CPU seconds of the machine in interrupts: mostly the loopback network's."""
    fields = Path("/proc/stat").read_text().split(None, 9)
    return (int(fields[6]) + int(fields[7])) / procs.TICK


def procs_peak_mb(pid: int) -> float:
    """The most memory that the process has had so far."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0

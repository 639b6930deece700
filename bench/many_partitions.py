"""Very many partitions on one node, beside Apache Kafka: create, write one record to each, stop, start again.

`python -m bench.many_partitions --partitions 20000 --sides tapelog,kafka`. The start ends when every partition has told
where it ends (ListOffsets). Both sides run with what they come with; Kafka keeps a file open per partition, so
that `ulimit -n` must be above their number.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from bench import procs
from bench.sides import Kafka, Missing, Side, Tapelog

PER_TOPIC = 1000
STOP_S_MAX = 600.0
ANSWER_S_MAX = 300.0

Figures = dict[str, float]


def measure(side: Side, partitions: int) -> Iterator[tuple[str, Figures]]:
    """What one side does, step by step."""
    side.start()
    topics = [f"many-{number}" for number in range(-(-partitions // PER_TOPIC))]
    with_each = [(name, index) for name in topics for index in range(PER_TOPIC)][:partitions]
    yield "empty", look(side)
    seconds = timed(lambda: create(side, topics, partitions))
    yield "created", {"seconds": seconds, **look(side)}
    seconds = timed(lambda: write(side, with_each))
    yield "written", {"seconds": seconds, **look(side)}
    yield "stopped", {"seconds": timed(lambda: stop(side))}
    begun = time.monotonic()
    first = side.start()
    ends(side, with_each)
    yield "started again", {"first answer": first, "seconds": time.monotonic() - begun, **look(side)}
    yield "stopped again", {"seconds": timed(lambda: stop(side))}


def look(side: Side) -> Figures:
    """CPU so far, memory, and open files."""
    files = sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in procs.tree(side.pid))
    return {"cpu s": procs.cpu_s(side.pid), "memory MB": procs.memory_mb(side.pid, "Rss"), "files": files}


def timed(work: Callable[[], None]) -> float:
    """How long it takes."""
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def create(side: Side, topics: list[str], partitions: int) -> None:
    """Topics of up to PER_TOPIC partitions, one after the other; until every partition has a leader that answers."""
    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{side.port}", "log_level": 0})
    for number, name in enumerate(topics):
        count = min(PER_TOPIC, partitions - number * PER_TOPIC)
        made = admin.create_topics([NewTopic(name, count, 1)], operation_timeout=120, request_timeout=ANSWER_S_MAX)
        made[name].result()
    ends(side, [(topics[-1], index) for index in range(partitions - (len(topics) - 1) * PER_TOPIC)])


def write(side: Side, partitions: list[tuple[str, int]]) -> None:
    """One record to each."""
    producer = Producer({"bootstrap.servers": f"127.0.0.1:{side.port}", "linger.ms": 50, "log_level": 0})
    failed: list[KafkaError] = []

    def told(error: KafkaError | None, _: object) -> None:
        if error is not None:
            failed.append(error)

    for name, index in partitions:
        while True:
            try:
                producer.produce(name, bytes(100), partition=index, on_delivery=told)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(ANSWER_S_MAX) or failed:
        raise Missing(f"{side.name}: {len(failed)} records failed: {failed[:1]}")


def ends(side: Side, partitions: list[tuple[str, int]]) -> None:
    """Ask every partition where it ends, until all have told."""
    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{side.port}", "log_level": 0})
    left = partitions
    deadline = time.monotonic() + ANSWER_S_MAX
    while left:
        if time.monotonic() > deadline:
            raise Missing(f"{side.name}: {len(left)} partitions do not answer")
        wanted = {TopicPartition(name, index): OffsetSpec.latest() for name, index in left}
        answers = admin.list_offsets(wanted, request_timeout=60)
        left = [(part.topic, part.partition) for part, future in answers.items() if future.exception() is not None]


def stop(side: Side) -> None:
    """SIGTERM, and until it is gone."""
    assert side.process is not None
    os.kill(side.pid, signal.SIGTERM)
    side.process.wait(STOP_S_MAX)
    side.process = None


def main() -> None:
    """Measure the sides one after the other and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=20_000)
    parser.add_argument("--sides", default="tapelog,kafka")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found: dict[str, Any] = {"partitions": asked.partitions}
    for name in asked.sides.split(","):
        with tempfile.TemporaryDirectory(prefix="many-") as folder:
            side: Side
            if name == "kafka":
                side = Kafka(Path(folder), None)
            else:
                side = Tapelog(Path(folder), None, page_cache=False, interpreted=name == "interpreted")
            found[name] = {}
            try:
                for step, figures in measure(side, asked.partitions):
                    found[name][step] = figures
                    shown = ", ".join(f"{key} {value:,.1f}" for key, value in figures.items())
                    print(f"{name:12} {step:14} {shown}", flush=True)
            except Missing as error:
                print(f"{name:12} {error}", flush=True)
            finally:
                side.stop()
        if asked.json is not None:
            asked.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

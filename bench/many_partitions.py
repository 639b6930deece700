"""Very many partitions on one node, beside Apache Kafka: create, write, stop, start again, kill, start again.

`python -m bench.many_partitions --partitions 20000 --sides tapelog,kafka`. A start ends when every partition has told
where it ends (ListOffsets). Both sides run with what they come with; Kafka keeps a file open per partition, so the
limit of open files is raised to `--files` for both (the kernel must allow it). `--cold` empties the page cache before
each start, as after a reboot (needs root).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
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
START_S_MAX = 300.0
ANSWER_S_MAX = 300.0
IDLE_S = 10.0
BUSY_S, PAUSE_S = 15.0, 0.005
FILES = 100_000

Figures = dict[str, float]


def measure(side: Side, partitions: int, cold: bool) -> Iterator[tuple[str, Figures]]:
    """What one side does, step by step. A data folder that was filled before is not filled again."""
    side.patience_s = START_S_MAX
    topics = [f"many-{number}" for number in range(-(-partitions // PER_TOPIC))]
    with_each = [(name, index) for name in topics for index in range(PER_TOPIC)][:partitions]
    filled = side.folder / "filled"
    if not filled.exists():
        yield from fill(side, topics, with_each)
        filled.touch()
    yield "clean start", start(side, with_each, cold)
    yield "idle", idle(side)
    yield "one busy", bystander(side, with_each[0])
    seconds = timed(lambda: write(side, with_each))
    yield "written again", {"seconds": seconds, **look(side)}
    stop(side, signal.SIGKILL)
    yield "start after kill -9", start(side, with_each, cold)
    yield "stopped again", {"seconds": timed(lambda: stop(side, signal.SIGTERM))}


def fill(side: Side, topics: list[str], with_each: list[tuple[str, int]]) -> Iterator[tuple[str, Figures]]:
    """From nothing to partitions with a record each, stopped in good order."""
    first = side.start()
    yield "empty", {"first answer s": first, **look(side)}
    seconds = timed(lambda: create(side, topics, len(with_each)))
    yield "created", {"seconds": seconds, **look(side)}
    seconds = timed(lambda: write(side, with_each))
    yield "written", {"seconds": seconds, **look(side)}
    yield "stopped", {"seconds": timed(lambda: stop(side, signal.SIGTERM))}


def start(side: Side, partitions: list[tuple[str, int]], cold: bool) -> Figures:
    """Until every partition answers."""
    if cold:
        os.sync()
        Path("/proc/sys/vm/drop_caches").write_text("3")
    begun = time.monotonic()
    first = side.start()
    ends(side, partitions)
    return {"seconds": time.monotonic() - begun, "first answer s": first, **look(side)}


def idle(side: Side) -> Figures:
    """What it costs when nobody asks anything, in per cent of a core."""
    time.sleep(IDLE_S / 2)
    before, begun = procs.cpu_s(side.pid), time.monotonic()
    time.sleep(IDLE_S)
    used = procs.cpu_s(side.pid) - before
    return {"cpu %": 100 * used / (time.monotonic() - begun), **look(side)}


def bystander(side: Side, partition: tuple[str, int]) -> Figures:
    """One producer of one partition, a record at a time: how long it waits, in ms, beside checkpoints of them all."""
    producer = Producer({"bootstrap.servers": f"127.0.0.1:{side.port}", "linger.ms": 0, "log_level": 0})
    topic, index = partition
    waited: list[float] = []
    end = time.monotonic() + BUSY_S
    while time.monotonic() < end:
        begun = time.monotonic()
        producer.produce(topic, bytes(100), partition=index)
        if producer.flush(ANSWER_S_MAX):
            raise Missing(f"{side.name}: no answer")
        waited.append((time.monotonic() - begun) * 1000)
        time.sleep(PAUSE_S)
    waited = sorted(waited[10:])
    return {"p50 ms": waited[len(waited) // 2], "p99 ms": waited[len(waited) * 99 // 100], "max ms": waited[-1]}


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
    producer = Producer(
        {
            "bootstrap.servers": f"127.0.0.1:{side.port}",
            "linger.ms": 50,
            "log_level": 0,
            "message.timeout.ms": int(ANSWER_S_MAX * 1000),
        }
    )
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


def stop(side: Side, with_: signal.Signals) -> None:
    """Send that, and wait until it is gone."""
    assert side.process is not None
    os.kill(side.pid, with_)
    side.process.wait(STOP_S_MAX)
    side.process = None


def allow_files(wanted: int) -> int:
    """Raise the limit of open files as far as may be; children inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in ((wanted, max(hard, wanted)), (min(hard, wanted), hard)):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)
            return limit[0]
        except (OSError, ValueError):
            continue
    return soft


def measure_all(
    sides: list[str], partitions: int, cold: bool, data: Path | None, found: dict[str, Any]
) -> Iterator[None]:
    """Measure the sides one after the other, printing what comes out and noting it in `found`; yields after each."""
    for name in sides:
        with contextlib.ExitStack() as stack:
            place = data / name if data else Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="many-")))
            side: Side
            if name == "kafka":
                side = Kafka(place, None)
            else:
                side = Tapelog(place, None, page_cache=False, interpreted=name == "interpreted")
            run: dict[str, Any] = {}
            found.setdefault(name, []).append(run)
            try:
                for step, figures in measure(side, partitions, cold):
                    run[step] = {key: round(value, 3) for key, value in figures.items()}
                    shown = ", ".join(f"{key} {value:,.1f}" for key, value in figures.items())
                    print(f"{name:12} {step:19} {shown}", flush=True)
                    yield
            except Missing as error:
                run["failed"] = str(error)
                print(f"{name:12} {error}", flush=True)
            finally:
                side.stop()
        yield


def main() -> None:
    """Measure and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=20_000)
    parser.add_argument("--sides", default="tapelog,kafka", help="of tapelog, interpreted, kafka")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--files", type=int, default=FILES, help="limit of open files, for both sides")
    parser.add_argument("--cold", action="store_true", help="empty the page cache before each start")
    parser.add_argument("--data", type=Path, help="keep data here; what was filled by an earlier run is used again")
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    asked = parser.parse_args()
    found: dict[str, Any] = {"partitions": asked.partitions, "cold": asked.cold, "limit": allow_files(asked.files)}
    print(f"{asked.partitions} partitions; at most {found['limit']} open files", flush=True)
    for _ in measure_all(asked.sides.split(",") * asked.repeat, asked.partitions, asked.cold, asked.data, found):
        if asked.json is not None:
            asked.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

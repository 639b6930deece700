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
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench import frames, procs
from bench.admin import Admin, AdminError
from bench.sides import Kafka, Missing, Side, Tapelog

PER_TOPIC = 1000
STOP_S_MAX = 600.0
START_S_MAX = 300.0
ANSWER_S_MAX = 300.0
IDLE_S = 10.0
BUSY_S, PAUSE_S = 15.0, 0.005
FILES = 100_000

PRODUCE = 0

Figures = dict[str, float]
Topics = dict[str, int]
"""Names, and how many partitions each has."""


def measure(side: Side, partitions: int, cold: bool) -> Iterator[tuple[str, Figures]]:
    """What one side does, step by step. A data folder that was filled before is not filled again."""
    side.patience_s = START_S_MAX
    topics = topics_of(partitions)
    filled = side.folder / "filled"
    if not filled.exists():
        yield from fill(side, topics)
        filled.touch()
    yield "clean start", start(side, topics, cold)
    yield "idle", idle(side)
    yield "one busy", bystander(side, next(iter(topics)))
    seconds = timed(lambda: write(side, topics))
    yield "written again", {"seconds": seconds, **look(side)}
    stop(side, signal.SIGKILL)
    yield "start after kill -9", start(side, topics, cold)
    yield "stopped again", {"seconds": timed(lambda: stop(side, signal.SIGTERM))}


def topics_of(partitions: int) -> Topics:
    """Topics of up to PER_TOPIC partitions each."""
    firsts = range(0, partitions, PER_TOPIC)
    return {f"many-{number}": min(PER_TOPIC, partitions - first) for number, first in enumerate(firsts)}


def fill(side: Side, topics: Topics) -> Iterator[tuple[str, Figures]]:
    """From nothing to partitions with a record each, stopped in good order."""
    first = side.start()
    yield "empty", {"first answer s": first, **look(side)}
    seconds = timed(lambda: create(side, topics))
    yield "created", {"seconds": seconds, **look(side)}
    seconds = timed(lambda: write(side, topics))
    yield "written", {"seconds": seconds, **look(side)}
    yield "stopped", {"seconds": timed(lambda: stop(side, signal.SIGTERM))}


def start(side: Side, topics: Topics, cold: bool) -> Figures:
    """Until every partition answers."""
    if cold:
        os.sync()
        Path("/proc/sys/vm/drop_caches").write_text("3")
    begun = time.monotonic()
    first = side.start()
    ends(side, topics)
    return {"seconds": time.monotonic() - begun, "first answer s": first, **look(side)}


def idle(side: Side) -> Figures:
    """What it costs when nobody asks anything, in per cent of a core."""
    time.sleep(IDLE_S / 2)
    before, begun = procs.cpu_s(side.pid), time.monotonic()
    time.sleep(IDLE_S)
    used = procs.cpu_s(side.pid) - before
    return {"cpu %": 100 * used / (time.monotonic() - begun), **look(side)}


def bystander(side: Side, topic: str) -> Figures:
    """One producer of one partition, a record at a time: how long it waits, in ms, beside checkpoints of them all."""
    waited: list[float] = []
    end = time.monotonic() + BUSY_S
    with Admin(side.port, ANSWER_S_MAX) as client:
        while time.monotonic() < end:
            begun = time.monotonic()
            produce(client, topic, 1)
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


def create(side: Side, topics: Topics) -> None:
    """One after the other; until every partition has a leader that answers."""
    with Admin(side.port, ANSWER_S_MAX) as client:
        for name, partitions in topics.items():
            client.create(name, partitions, {})
    ends(side, topics)


def write(side: Side, topics: Topics) -> None:
    """One record to each partition, acks=all, a request per topic."""
    with Admin(side.port, ANSWER_S_MAX) as client:
        for name, partitions in topics.items():
            produce(client, name, partitions)


def produce(client: Admin, topic: str, partitions: int) -> None:
    """A record of 100 bytes for each of the first partitions of a topic, in one request (Produce version 7)."""
    batch = frames.batch([bytes(100)])
    name = struct.pack(">h", len(topic)) + topic.encode()
    parts = b"".join(struct.pack(">ii", index, len(batch)) + batch for index in range(partitions))
    body = struct.pack(">hhii", -1, -1, int(ANSWER_S_MAX * 1000), 1) + name + struct.pack(">i", partitions) + parts
    answer = client.call(PRODUCE, 7, body)
    at = 4 + len(name) + 4
    codes = [struct.unpack_from(">h", answer, at + 4 + number * 30)[0] for number in range(partitions)]
    if any(codes):
        raise Missing(f"{topic}: {sum(map(bool, codes))} records were refused, error codes {sorted(set(codes))}")


def ends(side: Side, topics: Topics) -> None:
    """Ask every partition where it ends, until all have told."""
    deadline = time.monotonic() + ANSWER_S_MAX
    with Admin(side.port, ANSWER_S_MAX) as client:
        for name, partitions in topics.items():
            left = list(range(partitions))
            while left:
                if time.monotonic() > deadline:
                    raise Missing(f"{side.name}: {len(left)} partitions of {name} do not answer")
                left = client.latest(name, left)[1]


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
            except (Missing, AdminError, OSError) as error:
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

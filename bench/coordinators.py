"""How fast the group coordinator is by itself: loading committed offsets after a restart, and committing them.

`python -m bench.coordinators [--offsets 1000000] [--groups 10000] [--profile]`: no network and no disk, one partition
of `__consumer_offsets` in memory, so that the figures are the coordinator's own. It prints how many records a second
are replayed, what they take in memory, how long the longest wake-up is, and how many commits a second are answered.
"""

from __future__ import annotations

import argparse
import bisect
import cProfile
import gc
import pstats
import time
from pathlib import Path
from typing import Any

from tapelog.base.timers import Timers
from tapelog.coordinators.caller import Caller
from tapelog.coordinators.groups import GroupCoordinator
from tapelog.coordinators.records import encode_record, offset_commit
from tapelog.node.main import COLLECTOR_THRESHOLDS
from tapelog.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tapelog.wire.record_batch import Record, build_batch
from tapelog.wire.records.offset_commit_value import OffsetCommitValue

TOPICS = 10
PARTITIONS = 10
PLACES = [(f"events-{topic}", index) for topic in range(TOPICS) for index in range(PARTITIONS)]
RECORDS_PER_BATCH = 500
COMMITS_PER_WAKE_UP = 100
SETTINGS = {"offsets.topic.num.partitions": "1"}


class WallClock:
    """The machine's clock."""

    def monotonic_ms(self) -> int:
        """Since some moment."""
        return time.monotonic_ns() // 1_000_000

    def wall_ms(self) -> int:
        """Since 1970."""
        return time.time_ns() // 1_000_000


class NoEntropy:
    """Nobody needs chance here."""

    def below(self, bound: int) -> int:
        """Always the first."""
        return 0

    def token(self, size: int) -> bytes:
        """Always the same."""
        return bytes(size)


class Topics:
    """The topics that are committed to."""

    def id_of(self, name: str) -> bytes | None:
        """An id made of the name."""
        return name.encode().ljust(16, b"\0")

    def name_of(self, topic_id: bytes) -> str | None:
        """The name in the id."""
        return topic_id.rstrip(b"\0").decode()

    def partition_count(self, name: str) -> int:
        """As many as are used."""
        return PARTITIONS

    def version(self) -> int:
        """They never change."""
        return 0

    def names(self) -> list[str]:
        """All of them."""
        return [f"events-{topic}" for topic in range(TOPICS)]

    def racks(self, name: str, partition: int) -> frozenset[str]:
        """None have any."""
        return frozenset()


class MemoryLog:
    """One partition in memory, committed as soon as it is appended."""

    def __init__(self) -> None:
        self.bases: list[int] = []
        self.batches: list[bytes] = []
        self.end = 0

    def add(self, records: list[Record]) -> None:
        """Append records as one batch."""
        self.bases.append(self.end)
        self.batches.append(build_batch(records, base_offset=self.end))
        self.end += len(records)

    def start_offset(self, partition: int) -> int:
        """Nothing is ever let go."""
        return 0

    def end_offset(self, partition: int) -> int:
        """Where the next append goes."""
        return self.end

    def high_watermark(self, partition: int) -> int:
        """Everything is committed."""
        return self.end

    def append(self, partition: int, batch: bytes) -> int:
        """Append one batch."""
        self.bases.append(self.end)
        self.batches.append(batch)
        self.end += int.from_bytes(batch[57:61], "big")
        return self.end

    def read(self, partition: int, offset: int, max_bytes: int) -> bytes:
        """Whole batches from there."""
        at = bisect.bisect_right(self.bases, offset) - 1
        found, size = [], 0
        while at < len(self.batches) and (not found or size + len(self.batches[at]) <= max_bytes):
            found.append(self.batches[at])
            size += len(self.batches[at])
            at += 1
        return b"".join(found)

    def advance_start(self, partition: int, offset: int) -> None:
        """Nothing is ever let go."""


def filled_log(offsets: int, groups: int) -> MemoryLog:
    """A log of that many committed offsets, each of another place, group after group in turn."""
    log = MemoryLog()
    records: list[Record] = []
    for number in range(offsets):
        topic, partition = PLACES[number // groups % len(PLACES)]
        value = OffsetCommitValue(offset=number, commit_timestamp=1_700_000_000_000 + number, topic_id=b"t" * 16)
        key, encoded = encode_record(offset_commit(f"group-{number % groups}", topic, partition, value))
        records.append(Record(0, 1_700_000_000_000 + number, key, encoded))
        if len(records) == RECORDS_PER_BATCH:
            log.add(records)
            records = []
    if records:
        log.add(records)
    return log


def coordinator_on(log: MemoryLog) -> tuple[GroupCoordinator, Timers]:
    """A group coordinator that leads nothing yet."""
    timers = Timers(WallClock())
    return GroupCoordinator(log, timers, NoEntropy(), Topics(), SETTINGS), timers


def resident_bytes() -> int:
    """The memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def load(log: MemoryLog) -> GroupCoordinator:
    """Load the partition wake-up by wake-up; tell how long that took, and the longest wake-up."""
    coordinator, timers = coordinator_on(log)
    gc.collect()
    before = resident_bytes()
    began, cpu_began = time.perf_counter(), time.process_time()
    coordinator.runtime.on_elected(0, 1)
    longest = time.perf_counter() - began
    while coordinator.runtime.machine(0) is None:
        step = time.perf_counter()
        timers.run_due()
        coordinator.runtime.flush()
        longest = max(longest, time.perf_counter() - step)
    took, cpu = time.perf_counter() - began, time.process_time() - cpu_began
    size = sum(map(len, log.batches)) / 1e6
    each = (resident_bytes() - before) / log.end
    print(f"load    {log.end:>9,} records  {size:6.0f} MB  {took:6.2f} s  {log.end / took:>11,.0f} records/s")
    print(
        f"        {cpu / log.end * 1e6:.2f} µs of CPU and {each:.0f} bytes each, longest wake-up {longest * 1e3:.1f} ms"
    )
    return coordinator


def commit(coordinator: GroupCoordinator, groups: int, seconds: float) -> None:
    """Commit one offset per request, group after group; tell how many were answered."""
    answered = 0

    def done(response: Any) -> None:
        nonlocal answered
        assert response.topics[0].partitions[0].error_code == 0
        answered += 1

    runtime = coordinator.runtime
    caller = Caller("bench", "/127.0.0.1", 9)
    began, cpu_began = time.perf_counter(), time.process_time()
    number = 0
    while time.perf_counter() - began < seconds:
        for _ in range(COMMITS_PER_WAKE_UP):
            topic, partition = PLACES[number % len(PLACES)]
            part = OffsetCommitRequestPartition(partition_index=partition, committed_offset=number)
            request = OffsetCommitRequest(
                group_id=f"group-{number % groups}", topics=[OffsetCommitRequestTopic(name=topic, partitions=[part])]
            )
            coordinator.offset_commit(caller, request, done)
            number += 1
        runtime.flush()
        runtime.on_high_watermark(0, runtime.log.high_watermark(0))
    took, cpu = time.perf_counter() - began, time.process_time() - cpu_began
    print(
        f"commit  {groups:>9,} groups   {answered / took:>11,.0f} commits/s, {cpu / answered * 1e6:.1f} µs of CPU each"
    )
    assert answered == number


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--offsets", type=int, default=1_000_000)
    parser.add_argument("--groups", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--profile", action="store_true", help="say where the time goes")
    args = parser.parse_args()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)  # as a node runs
    log = filled_log(args.offsets, args.groups)
    profile = cProfile.Profile()
    if args.profile:
        profile.enable()
    coordinator = load(log)
    commit(coordinator, args.groups, args.seconds)
    if args.profile:
        profile.disable()
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()

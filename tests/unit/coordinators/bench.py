"""A coordinator on a bench: virtual clock, seeded chance, a log in memory that commits when told to, toy clients.

Used by the unit tests, the scenario runner and the property tests of the group coordinator.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tapelog.base.timers import Timers
from tapelog.coordinators.caller import Caller
from tapelog.coordinators.groups import GroupCoordinator
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.record_batch import batches, crc_ok


class BenchClock:
    """Time stands still until advanced."""

    def __init__(self) -> None:
        self.now_ms = 1_000_000
        self.wall_offset_ms = 1_700_000_000_000

    def monotonic_ms(self) -> int:
        return self.now_ms

    def wall_ms(self) -> int:
        return self.wall_offset_ms + self.now_ms


class BenchEntropy:
    """Chance from a seed."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)

    def below(self, bound: int) -> int:
        return self._random.randrange(bound)

    def token(self, size: int) -> bytes:
        return self._random.randbytes(size)


class BenchLog:
    """Partitions in memory. Appends are committed at once, or, when held, by `release`."""

    def __init__(self) -> None:
        self.batches: dict[int, list[tuple[int, int, bytes]]] = {}
        self.starts: dict[int, int] = {}
        self.committed: dict[int, int] = {}
        self.held = False
        self.refusal: ErrorCode | None = None
        self.appends = 0
        self.news: list[int] = []

    def start_offset(self, partition: int) -> int:
        return self.starts.get(partition, 0)

    def end_offset(self, partition: int) -> int:
        stored = self.batches.get(partition)
        return stored[-1][1] if stored else self.start_offset(partition)

    def high_watermark(self, partition: int) -> int:
        return self.committed.get(partition, 0)

    def append(self, partition: int, batch: bytes) -> int:
        if self.refusal is not None:
            raise KafkaError(self.refusal)
        base = self.end_offset(partition)
        header = next(batches(batch, 0, len(batch)))
        assert crc_ok(batch, 0, len(batch)), "a batch is what its checksum says"
        end = base + header.record_count
        placed = base.to_bytes(8, "big") + batch[8:]
        self.batches.setdefault(partition, []).append((base, end, placed))
        self.appends += 1
        if not self.held:
            self.committed[partition] = end
            self.news.append(partition)
        return end

    def read(self, partition: int, offset: int, max_bytes: int) -> bytes:
        found = b""
        for _, end, batch in self.batches.get(partition, []):
            if end > offset:
                if found and len(found) + len(batch) > max_bytes:
                    break
                found += batch
        return found

    def advance_start(self, partition: int, offset: int) -> None:
        self.starts[partition] = offset
        self.batches[partition] = [entry for entry in self.batches.get(partition, []) if entry[1] > offset]

    def truncate(self, partition: int, offset: int) -> None:
        self.batches[partition] = [entry for entry in self.batches.get(partition, []) if entry[1] <= offset]


class BenchTopics:
    """A few topics, by name. An id is the name and how many topics by that name there were before."""

    def __init__(self, topics: dict[str, int]) -> None:
        self.counts: dict[str, int] = {}
        self.ids: dict[str, bytes] = {}
        self.rack_names: dict[str, list[frozenset[str]]] = {}
        self.changes = 0
        self._lives: dict[str, int] = {}
        for name, count in topics.items():
            self.create(name, count)

    def create(self, name: str, count: int) -> None:
        """A topic, or more partitions for one that is there."""
        self.changes += 1
        self.counts[name] = count
        if name not in self.ids:
            life = self._lives[name] = self._lives.get(name, -1) + 1
            self.ids[name] = name.encode().ljust(15, b"\0")[:15] + bytes([life])

    def delete(self, name: str) -> None:
        """It is gone."""
        self.changes += 1
        del self.counts[name], self.ids[name]

    def id_of(self, name: str) -> bytes | None:
        return self.ids.get(name)

    def name_of(self, topic_id: bytes) -> str | None:
        return next((name for name, known in self.ids.items() if known == topic_id), None)

    def partition_count(self, name: str) -> int:
        return self.counts.get(name, 0)

    def names(self) -> list[str]:
        return list(self.counts)

    def racks(self, name: str, partition: int) -> frozenset[str]:
        racks = self.rack_names.get(name, [])
        return racks[partition] if partition < len(racks) else frozenset()

    def version(self) -> int:
        return self.changes


class BenchGate:
    """Lets every transaction through, or none, at once or when told to; notes who asked."""

    def __init__(self) -> None:
        self.code = ErrorCode.NONE
        self.held = False
        self.asked: list[tuple[str, int, int, list[tuple[str, int]], bool]] = []
        self._waiting: list[Callable[[], None]] = []

    def admit(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: list[tuple[str, int]],
        add: bool,
        done: Callable[[dict[tuple[str, int], ErrorCode]], None],
    ) -> None:
        self.asked.append((transactional_id, producer_id, producer_epoch, partitions, add))
        answer = dict.fromkeys(partitions, self.code)
        if self.held:
            self._waiting.append(lambda: done(answer))
        else:
            done(answer)

    def release(self) -> None:
        """Whoever waits is answered."""
        self.held = False
        waiting, self._waiting = self._waiting, []
        for answer in waiting:
            answer()


class Bench:
    """A group coordinator with everything around it, and the answers it gave."""

    def __init__(
        self,
        settings: dict[str, str] | None = None,
        *,
        seed: int = 0,
        log: BenchLog | None = None,
        load: bool = True,
        topics: BenchTopics | None = None,
        now_ms: int = 1_000_000,
    ) -> None:
        self.overrides: dict[tuple[str, str], str] = {}
        self.rounds = 100
        """How many rounds of timers that are due at once a wake-up is followed by."""
        self.clock = BenchClock()
        self.clock.now_ms = now_ms
        self.timers = Timers(self.clock)
        self.log = log or BenchLog()
        self.topics = topics or BenchTopics({"orders": 4, "events": 2})
        names = {"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "0"} | (settings or {})
        self.coordinator = GroupCoordinator(self.log, self.timers, BenchEntropy(seed), self.topics, names, self)
        self.gate = BenchGate()
        self.coordinator.gate = self.gate
        if load:
            for partition in range(self.coordinator.config.partitions):
                self.coordinator.runtime.on_elected(partition, 1)
            self.settle()

    def run_due(self) -> int:
        """Run the timers that are due; how many."""
        return self.timers.run_due()

    def value(self, group_id: str, name: str) -> str | None:
        """What was set for a group."""
        return self.overrides.get((group_id, name))

    def settle(self) -> None:
        """End of a wake-up, and of those that follow from it at the same instant."""
        for _ in range(self.rounds):
            self.flush()
            if not self.run_due():
                break
        self.flush()

    def flush(self) -> None:
        """What the node core does at the end of a wake-up, until nothing follows from it."""
        runtime = self.coordinator.runtime
        runtime.flush()
        while self.log.news:
            partition = self.log.news.pop(0)
            runtime.on_high_watermark(partition, self.log.high_watermark(partition))
            runtime.flush()

    def advance(self, milliseconds: int) -> None:
        """Let time pass, timer by timer."""
        until = self.clock.now_ms + milliseconds
        while True:
            due = self.timers.next_due_ms()
            if due is None or due > until:
                break
            self.clock.now_ms = max(due, self.clock.now_ms)
            self.settle()
        self.clock.now_ms = until
        self.settle()

    def release(self) -> None:
        """The high watermark reaches the end of every partition."""
        for partition in list(self.log.batches):
            end = self.log.end_offset(partition)
            self.log.committed[partition] = end
            self.coordinator.runtime.on_high_watermark(partition, end)
        self.settle()

    def ask(self, api: str, request: Any, version: int, client: str = "c", *, settle: bool = True) -> list[Any]:
        """Send a request; the list gets the response when there is one."""
        answers: list[Any] = []
        caller = Caller(client, "/127.0.0.1", version)
        getattr(self.coordinator, api)(caller, request, answers.append)
        if settle:
            self.settle()
        return answers

    @property
    def machine(self) -> Any:
        """The machine of the only partition."""
        machine = self.coordinator.runtime.machine(0)
        assert machine is not None
        return machine

"""A world for random histories of offsets in transactions, with a simple idea of what they should come to.

The log's whole history is kept, also where the coordinator has let go of it. `Ideal` goes over it: every commit carries
a number of its own, so a record that says a number again was written by the compaction and says nothing new.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapelog.coordinators.caller import Caller
from tapelog.coordinators.records import decode_record
from tapelog.coordinators.state import GroupState
from tapelog.wire.control_records import COMMIT, control_kind
from tapelog.wire.errors import ErrorCode
from tapelog.wire.record_batch import batches, records_of
from tapelog.wire.records.offset_commit_key import OffsetCommitKey
from tests.unit.coordinators.bench import Bench, BenchLog

Place = tuple[str, int]
"""A group and a partition of the topic `orders`."""


Event = tuple[int, int, Any, bool]
"""Offset, producer id or -1, the decoded record or None for a marker, and whether that commits."""


def events_of(batch: bytes) -> list[Event]:
    """What a batch says."""
    header = next(batches(batch, 0, len(batch)))
    producer_id = header.producer_id if header.is_transactional else -1
    events: list[Event] = []
    for record in records_of(batch, header):
        if header.is_control:
            events.append((record.offset, producer_id, None, control_kind(record.key) == COMMIT))
        else:
            events.append((record.offset, producer_id, decode_record(record.key or b"", record.value), False))
    return events


class HistoryLog(BenchLog):
    """Remembers what was cut off at the front."""

    def __init__(self) -> None:
        super().__init__()
        self.history: list[Event] = []

    def append(self, partition: int, batch: bytes) -> int:
        end = super().append(partition, batch)
        self.history += events_of(self.batches[partition][-1][2])
        return end

    def truncate(self, partition: int, offset: int) -> None:
        super().truncate(partition, offset)
        while self.history and self.history[-1][0] >= offset:
            self.history.pop()


class Ideal:
    """What the history of a log comes to: where groups stand, and what producers have pending. No group has members."""

    def __init__(self, history: list[Event], upper: int = 1 << 60) -> None:
        self.placed: dict[Place, tuple[int, int]] = {}
        self.pending: dict[tuple[int, Place], tuple[int, int]] = {}
        self.seen: set[int] = set()
        self.rewritten = 0
        for offset, producer_id, record, commits in history:
            if offset >= upper:
                break
            if record is None:
                self._end(producer_id, commits)
            elif isinstance(record.key, OffsetCommitKey):
                self._commit(offset, (record.key.group, record.key.partition), record.value, producer_id)

    def _commit(self, offset: int, place: Place, value: Any, producer_id: int) -> None:
        if value is None:
            self.placed.pop(place, None)
            self.pending = {key: found for key, found in self.pending.items() if key[1] != place}
        elif value.offset in self.seen:
            assert producer_id == -1, "nobody writes a pending offset again"
            self.rewritten += 1
        else:
            self.seen.add(value.offset)
            if producer_id == -1:
                self.placed[place] = (offset, value.offset)
            else:
                self.pending[producer_id, place] = (offset, value.offset)

    def _end(self, producer_id: int, commit: bool) -> None:
        for key in [key for key in self.pending if key[0] == producer_id]:
            found = self.pending.pop(key)
            if commit:
                self.placed[key[1]] = max(found, self.placed.get(key[1], (-1, -1)))

    def positions(self) -> dict[Place, int]:
        return {place: number for place, (_, number) in self.placed.items()}

    def undecided(self) -> dict[tuple[int, Place], int]:
        return {key: number for key, (_, number) in self.pending.items()}

    def unstable(self) -> set[Place]:
        return {place for _, place in self.pending}


class World:
    """A coordinator that compacts eagerly, its log, and everybody's requests."""

    def __init__(self) -> None:
        self.log = HistoryLog()
        self.number = 0
        self.boots = 0
        self.unanswered = 0
        self.in_burst = False
        self.acknowledged: set[int] = set()
        self.bench: Bench
        self.boot()

    def boot(self) -> None:
        """The node starts (again): unanswered requests are lost."""
        self.boots += 1
        self.unanswered = 0
        self.bench = Bench({"offsets.retention.minutes": "60"}, seed=self.boots, log=self.log, load=False)
        self.bench.clock.now_ms += self.boots * 100_000
        self._watch_handlers()
        self.elect()

    def elect(self) -> None:
        """The node leads the partition."""
        runtime = self.bench.coordinator.runtime
        runtime._rewrite_bytes_min = 900
        runtime.on_elected(0, self.boots)
        self.bench.settle()

    def _watch_handlers(self) -> None:
        """Handlers may not change hard state: see that it is the same when they return."""
        runtime: Any = self.bench.coordinator.runtime
        write, write_transactional = runtime.write, runtime.write_transactional

        def checked(operation: Callable[[Any], Any]) -> Callable[[Any], Any]:
            def run(machine: Any) -> Any:
                before = machine.state.snapshot()
                try:
                    return operation(machine)
                finally:
                    assert machine.state.snapshot() == before, "a handler changed hard state"

            return run

        def watched(partition: int, operation: Any, done: Any, failed: Any) -> None:
            write(partition, checked(operation), done, failed)

        def watched_transactional(
            partition: int, producer: int, epoch: int, operation: Any, done: Any, failed: Any, guard: Any = None
        ) -> None:
            write_transactional(partition, producer, epoch, checked(operation), done, failed, guard)

        runtime.write, runtime.write_transactional = watched, watched_transactional

    def next_number(self) -> int:
        """A number nobody committed before."""
        self.number += 1
        return self.number

    def expect(self) -> Callable[[Any], Any]:
        """Counts an answer that must come once; answers of an earlier life of the node are lost."""
        boots = self.boots
        given: list[Any] = []
        self.unanswered += 1

        def give(response: Any) -> Any:
            assert not given, "answered twice"
            given.append(response)
            if self.boots == boots:
                self.unanswered -= 1
            return response

        return give

    def ask(self, api: str, request: Any, version: int, done: Callable[[Any], None] = lambda _: None) -> None:
        """Send a request."""
        expected = self.expect()
        caller = Caller("c", "/h", version)
        getattr(self.bench.coordinator, api)(caller, request, lambda response: done(expected(response)))
        self.settle()

    def settle(self) -> None:
        """The end of a wake-up, unless more is to happen in it."""
        if not self.in_burst:
            self.bench.settle()

    def fetched(self, stable: bool, request: Any) -> dict[Place, int | str]:
        """What OffsetFetch says, at once."""
        answers: list[Any] = []
        self.bench.coordinator.offset_fetch(Caller("c", "/h", 9), request, answers.append)
        assert answers or stable
        return {
            (group.group_id, part.partition_index): part.committed_offset
            if part.error_code == 0
            else ErrorCode(part.error_code).name
            for answer in answers
            for group in answer.groups
            for topic in group.topics
            for part in topic.partitions
        }

    # -- what the log says

    @property
    def committed_offset(self) -> int:
        return self.log.committed.get(0, 0)

    def replayed(self) -> GroupState:
        """A fresh state from the log as it is now."""
        state = GroupState()
        start = self.log.start_offset(0)
        for offset, producer_id, record, commits in self.log.history:
            if offset < start:
                continue
            if record is None:
                state.end_transaction(offset, producer_id, commits)
            else:
                state.replay(offset, record, producer_id)
        return state

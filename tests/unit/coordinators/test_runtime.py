"""The runtime, with a machine that only counts: batching, parking, undoing, loading, resigning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tapelog.base.timers import Timers
from tapelog.coordinators.core import Runtime
from tapelog.coordinators.outcome import CoordinatorRecord, Outcome, ShardContext
from tapelog.coordinators.shard import ATOMIC_BATCHES_MAX
from tapelog.coordinators.timeline import Journal, Timeline
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.records.group_metadata_key import GroupMetadataKey
from tests.unit.coordinators.bench import BenchClock, BenchLog


class Counters:
    """Counts by name: each record adds one."""

    def __init__(self, context: ShardContext) -> None:
        self.context = context
        self.journal = Journal()
        self.counts: Timeline[str, int] = Timeline(self.journal)
        self.events: list[str] = []

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        assert isinstance(record.key, GroupMetadataKey)
        return record.key.group.encode(), b""

    def decode(self, key: bytes, value: bytes | None) -> CoordinatorRecord | None:
        return None if key == b"future" else count(key.decode())

    def load(self, offset: int, key: bytes, value: bytes | None, producer_id: int) -> None:
        record = self.decode(key, value)
        if record is not None:
            self.replay(offset, record, producer_id)

    def replay(self, offset: int, record: CoordinatorRecord, producer_id: int = -1) -> None:
        assert isinstance(record.key, GroupMetadataKey)
        name = record.key.group
        self.counts.put(offset, name, (self.counts.get(name) or 0) + 1)

    def end_transaction(self, offset: int, producer_id: int, commit: bool) -> None:
        self.events.append(f"{offset}: {producer_id} {'commits' if commit else 'aborts'}")

    def commit(self, offset: int) -> None:
        self.journal.commit(offset)

    def revert(self, offset: int, error: ErrorCode) -> None:
        self.journal.revert(offset)
        self.events.append(f"reverted to {offset}: {error.name}")

    def on_loaded(self) -> None:
        self.events.append("loaded")

    def on_unloaded(self) -> None:
        self.events.append("unloaded")

    def live_keys(self) -> list[object]:
        return []

    def live_count(self) -> int:
        return 0

    def live_record(self, key: object) -> CoordinatorRecord | None:
        return None


def count(name: str) -> CoordinatorRecord:
    return CoordinatorRecord(GroupMetadataKey(group=name), None)


class Desk:
    """A runtime of counters and what it answered."""

    def __init__(self, log: BenchLog | None = None, **options: int) -> None:
        self.clock = BenchClock()
        self.timers = Timers(self.clock)
        self.log = log or BenchLog()
        self.runtime: Runtime[Counters] = Runtime(self.log, self.timers, Counters, **options)
        self.answers: list[Any] = []
        self.runtime.on_elected(0, 1)

    def add(self, *names: str, atomic: bool = True, then: Callable[[], None] | None = None) -> None:
        def operation(machine: Counters) -> Outcome[int]:
            before = machine.counts.get(names[0]) or 0 if names else -1
            return Outcome([count(name) for name in names], before + 1, atomic=atomic)

        def done(answer: int) -> None:
            self.answers.append(answer)
            if then is not None:
                then()

        self.runtime.write(0, operation, done, self.answers.append)

    def flush(self) -> None:
        self.runtime.flush()
        while self.log.news:
            self.log.news.pop()
            self.runtime.on_high_watermark(0, self.log.high_watermark(0))
            self.runtime.flush()

    @property
    def machine(self) -> Counters:
        machine = self.runtime.machine(0)
        assert machine is not None
        return machine

    def commit(self) -> None:
        end = self.log.end_offset(0)
        self.log.committed[0] = end
        self.runtime.on_high_watermark(0, end)


def test_writes_of_one_wake_up_become_one_batch_and_see_each_other() -> None:
    desk = Desk()
    for _ in range(3):
        desk.add("a")
    assert desk.answers == []
    desk.flush()
    assert desk.answers == [1, 2, 3]
    assert desk.log.appends == 1


def test_an_answer_waits_for_the_high_watermark() -> None:
    desk = Desk()
    desk.log.held = True
    desk.add("a")
    desk.flush()
    desk.add("a")
    desk.flush()
    assert desk.answers == []
    desk.runtime.on_high_watermark(0, 1)
    assert desk.answers == [1]
    desk.commit()
    assert desk.answers == [1, 2]


def test_an_answer_without_records_waits_for_what_it_saw() -> None:
    desk = Desk()
    desk.log.held = True
    desk.add()
    assert desk.answers == [0]
    desk.add("a")
    desk.add()
    desk.flush()
    assert desk.answers == [0]
    desk.commit()
    assert desk.answers == [0, 1, 0]


def test_a_failed_append_undoes_the_whole_batch_and_nothing_else() -> None:
    desk = Desk()
    desk.add("a")
    desk.flush()
    desk.log.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    desk.add("a")
    desk.add("b")
    desk.add()
    desk.flush()
    assert desk.answers == [1] + [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 3
    assert desk.machine.counts.get("a") == 1
    assert desk.machine.counts.get("b") is None
    desk.log.refusal = None
    desk.add("a")
    desk.flush()
    assert desk.answers[-1] == 2


def test_an_append_that_fails_without_a_reason_is_undone_like_any_other() -> None:
    desk = Desk()
    desk.add("a")
    desk.flush()
    append = desk.log.append

    def broken(partition: int, batch: bytes) -> int:
        raise ValueError("nobody expected this")

    desk.log.append = broken  # type: ignore[method-assign]
    desk.add("a")
    desk.add("b")
    desk.flush()
    assert desk.answers == [1] + [ErrorCode.UNKNOWN_SERVER_ERROR] * 2
    assert (desk.machine.counts.get("a"), desk.machine.counts.get("b")) == (1, None)
    desk.log.append = append  # type: ignore[method-assign]
    desk.add("a")
    desk.flush()
    assert desk.answers[-1] == 2


def test_appends_taken_back_later_are_undone_too() -> None:
    desk = Desk()
    desk.log.held = True
    desk.add("a")
    desk.flush()
    desk.runtime.on_high_watermark(0, 1)
    desk.add("a")
    desk.flush()
    desk.add("a")
    desk.log.truncate(0, 1)
    desk.runtime.on_append_failed(0, 1, ErrorCode.KAFKA_STORAGE_ERROR)
    assert desk.answers == [1, ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR]
    assert desk.machine.counts.get("a") == 1
    assert desk.machine.events[-1] == "reverted to 1: NOT_COORDINATOR"
    desk.flush()
    assert desk.log.end_offset(0) == 1


def test_an_operation_that_raises_fails_alone() -> None:
    desk = Desk()

    def refuse(_: Counters) -> Outcome[int]:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)

    def break_down(_: Counters) -> Outcome[int]:
        raise ZeroDivisionError

    desk.add("a")
    desk.runtime.write(0, refuse, desk.answers.append, desk.answers.append)
    desk.runtime.write(0, break_down, desk.answers.append, desk.answers.append)
    desk.flush()
    assert desk.answers == [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_SERVER_ERROR, 1]


def test_what_is_too_large_for_a_batch_is_refused_or_spread() -> None:
    desk = Desk(batch_bytes_max=200)
    desk.add(*["x" * 50] * 4 * ATOMIC_BATCHES_MAX)
    assert desk.answers == [ErrorCode.UNKNOWN_SERVER_ERROR]
    assert desk.machine.counts.get("x" * 50) is None
    desk.add(*["x" * 50] * 4, atomic=False)
    desk.flush()
    assert desk.answers[-1] == 1
    assert desk.log.appends == 2
    desk.add("y" * 100)
    desk.add("z" * 100)
    desk.flush()
    assert desk.log.appends == 4


def test_an_outcome_larger_than_a_batch_that_must_be_whole_is_a_batch_of_its_own() -> None:
    desk = Desk(batch_bytes_max=200)
    desk.add("a")
    desk.add(*["x" * 50] * 4)
    desk.add("b")
    desk.flush()
    assert desk.answers == [1, 1, 1]
    assert desk.log.appends == 3


def test_an_answer_may_lead_to_the_next_request() -> None:
    desk = Desk()
    desk.add("a", then=lambda: desk.add("a", then=lambda: desk.add("a")))
    desk.flush()
    assert desk.answers == [1, 2, 3]
    assert desk.log.appends == 3


def test_an_answer_that_fails_harms_nobody_else() -> None:
    desk = Desk()

    def explode() -> None:
        raise RuntimeError("the connection is gone")

    desk.add("a", then=explode)
    desk.add("a")
    desk.flush()
    assert desk.answers == [1, 2]


def test_resigning_answers_everyone_and_forgets() -> None:
    desk = Desk()
    desk.log.held = True
    desk.add("a")
    desk.flush()
    desk.add("b")
    machine = desk.machine
    desk.runtime.on_resigned(0)
    assert desk.answers == [ErrorCode.NOT_COORDINATOR] * 2
    assert machine.events == ["loaded", "unloaded"]
    desk.add("a")
    assert desk.answers[-1] == ErrorCode.NOT_COORDINATOR
    desk.flush()
    assert desk.log.end_offset(0) == 1
    assert desk.timers.next_due_ms() is None


def test_a_shard_is_loaded_piece_by_piece() -> None:
    log = BenchLog()
    first = Desk(log)
    for name in ["a", "b", "a", "future", "a"]:
        first.add(name)
        first.flush()
    desk = Desk(log, load_bytes_max=1)
    desk.add("a")
    assert desk.answers == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    pieces = 0
    while desk.runtime.machine(0) is None:
        pieces += 1
        desk.timers.run_due()
        desk.flush()
    assert pieces == 4
    assert dict(desk.machine.counts.items()) == {"a": 3, "b": 1}
    assert desk.machine.events == ["loaded"]
    desk.add("a")
    desk.flush()
    assert desk.answers[-1] == 4


def test_a_resignation_stops_the_loading() -> None:
    log = BenchLog()
    first = Desk(log)
    for _ in range(3):
        first.add("a")
        first.flush()
    desk = Desk(log, load_bytes_max=1)
    desk.runtime.on_resigned(0)
    while desk.timers.run_due():
        desk.flush()
    assert desk.runtime.partitions() == []


def test_a_loaded_shard_knows_what_is_committed() -> None:
    log = BenchLog()
    first = Desk(log)
    first.add("a")
    first.flush()
    log.held = True
    first.add("a")
    first.flush()
    desk = Desk(log)
    assert desk.machine.counts.get("a") == 2
    assert desk.machine.counts.committed("a") == 1
    desk.add()
    assert desk.answers == []
    desk.commit()
    assert desk.machine.counts.committed("a") == 2
    assert desk.answers == [0]


def test_a_log_that_starts_within_a_batch_is_replayed_from_there() -> None:
    log = BenchLog()
    first = Desk(log)
    for name in ["a", "a", "b"]:
        first.add(name)
    first.flush()
    log.starts[0] = 1
    assert dict(Desk(log).machine.counts.items()) == {"a": 1, "b": 1}


def test_a_damaged_log_is_not_served() -> None:
    log = BenchLog()
    first = Desk(log)
    first.add("a")
    first.flush()
    base, end, batch = log.batches[0][0]
    log.batches[0][0] = (base, end, batch[:-1])
    desk = Desk(log)
    desk.add("a")
    assert desk.answers == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]


@pytest.mark.parametrize("code", [ErrorCode.NOT_COORDINATOR, ErrorCode.KAFKA_STORAGE_ERROR])
def test_a_log_that_cannot_be_read_is_not_served(code: ErrorCode, caplog: pytest.LogCaptureFixture) -> None:
    class Offline(BenchLog):
        def start_offset(self, partition: int) -> int:
            raise KafkaError(code)

    desk = Desk(Offline())
    desk.add("a")
    assert desk.answers == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    went_away = code == ErrorCode.NOT_COORDINATOR
    assert [record.levelname for record in caplog.records] == ([] if went_away else ["ERROR"]), "no alarm about that"


def test_an_answer_does_not_wait_for_ever() -> None:
    desk = Desk(commit_timeout_ms=500)
    desk.log.held = True
    desk.add("a")
    desk.flush()
    desk.clock.now_ms += 300
    desk.timers.run_due()
    desk.add("a")
    desk.flush()
    desk.clock.now_ms += 200
    desk.timers.run_due()
    desk.flush()
    assert desk.answers == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    desk.commit()
    assert desk.answers == [ErrorCode.COORDINATOR_NOT_AVAILABLE, 2]
    assert desk.machine.counts.committed("a") == 2


def test_partitions_are_loaded_one_after_the_other() -> None:
    log = BenchLog()
    first = Desk(log)
    for partition in range(1, 4):
        first.runtime.on_elected(partition, 1)
    for partition in range(4):
        for _ in range(3):
            first.runtime.write(
                partition, lambda _: Outcome([count("a")], 0), first.answers.append, first.answers.append
            )
            first.runtime.flush()
    log.news.clear()
    desk = Desk(log, load_bytes_max=1)
    for partition in range(1, 4):
        desk.runtime.on_elected(partition, 1)
    served: list[list[int]] = []
    while desk.runtime.machine(3) is None:
        desk.runtime.on_resigned(2)
        assert desk.timers.run_due() == 1, "one piece per wake-up, however many partitions there are"
        desk.flush()
        served.append([partition for partition in range(4) if desk.runtime.machine(partition) is not None])
    assert served == [[], [0], [0], [0], [0, 1], [0, 1], [0, 1], [0, 1, 3]]
    assert desk.timers.run_due() == 0


def test_empty_partitions_are_served_at_once() -> None:
    desk = Desk(load_bytes_max=1)
    for partition in range(50):
        desk.runtime.on_elected(partition, 1)
    assert all(desk.runtime.machine(partition) is not None for partition in range(50))

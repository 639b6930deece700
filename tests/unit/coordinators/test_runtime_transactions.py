"""The runtime and transactions, with a machine that only counts: batches apart, markers, undo, loading, guards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tapelog.base.timers import Timers
from tapelog.coordinators.core import Runtime
from tapelog.coordinators.outcome import CoordinatorRecord, Held, Outcome, ShardContext
from tapelog.coordinators.shard import ATOMIC_BATCHES_MAX
from tapelog.coordinators.timeline import Journal, Timeline
from tapelog.wire.control_records import COMMIT, control_kind, decode_marker
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.record_batch import BatchHeader, batches, records_of
from tapelog.wire.records.group_metadata_key import GroupMetadataKey
from tests.unit.coordinators.bench import BenchClock, BenchLog


class Ledger:
    """Names noted for good, and names that a producer's transaction has yet to decide about."""

    def __init__(self, context: ShardContext) -> None:
        self.journal = Journal()
        self.noted: Timeline[str, int] = Timeline(self.journal)
        self.pending: Timeline[tuple[int, str], int] = Timeline(self.journal)

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        assert isinstance(record.key, GroupMetadataKey)
        return record.key.group.encode(), b""

    def decode(self, key: bytes, value: bytes | None) -> CoordinatorRecord | None:
        return note(key.decode())

    def load(self, offset: int, key: bytes, value: bytes | None, producer_id: int) -> None:
        record = self.decode(key, value)
        if record is not None:
            self.replay(offset, record, producer_id)

    def replay(self, offset: int, record: CoordinatorRecord, producer_id: int = -1) -> None:
        assert isinstance(record.key, GroupMetadataKey)
        if producer_id < 0:
            self.noted.put(offset, record.key.group, offset)
        else:
            self.pending.put(offset, (producer_id, record.key.group), offset)

    def end_transaction(self, offset: int, producer_id: int, commit: bool) -> None:
        for who, name in [key for key, _ in self.pending.items() if key[0] == producer_id]:
            self.pending.remove(offset, (who, name))
            if commit:
                self.noted.put(offset, name, offset)

    def commit(self, offset: int) -> None:
        self.journal.commit(offset)

    def revert(self, offset: int, error: ErrorCode) -> None:
        self.journal.revert(offset)

    def on_loaded(self) -> None:
        pass

    def on_unloaded(self) -> None:
        pass

    def live_keys(self) -> list[object]:
        return []

    def live_count(self) -> int:
        return 0

    def live_record(self, key: object) -> CoordinatorRecord | Held | None:
        return None

    @property
    def picture(self) -> tuple[dict[str, int], dict[tuple[int, str], int]]:
        return dict(self.noted.items()), dict(self.pending.items())


def note(name: str) -> CoordinatorRecord:
    return CoordinatorRecord(GroupMetadataKey(group=name), None)


class Desk:
    """A runtime of ledgers and what it answered."""

    def __init__(self, log: BenchLog | None = None, **options: int) -> None:
        self.clock = BenchClock()
        self.timers = Timers(self.clock)
        self.log = log or BenchLog()
        self.runtime: Runtime[Ledger] = Runtime(self.log, self.timers, Ledger, **options)
        self.answers: list[Any] = []
        self.runtime.on_elected(0, 1)

    def tell(self, name: str) -> Callable[[Any], None]:
        return lambda answer: self.answers.append((name, answer.name if isinstance(answer, ErrorCode) else answer))

    def write(self, name: str) -> None:
        self.runtime.write(0, lambda _: Outcome([note(name)], "done"), self.tell(name), self.tell(name))

    def write_transactional(self, producer_id: int, *names: str, guard: Any = None) -> None:
        name = "+".join(names)
        outcome = Outcome([note(one) for one in names], "done")
        self.runtime.write_transactional(0, producer_id, 3, lambda _: outcome, self.tell(name), self.tell(name), guard)

    def end(self, producer_id: int, commit: bool) -> None:
        name = f"end {producer_id}"
        self.runtime.end_transaction(0, producer_id, 3, 7, commit, self.tell(name), self.tell(name))

    def flush(self) -> None:
        self.runtime.flush()
        while self.log.news:
            self.log.news.pop()
            self.runtime.on_high_watermark(0, self.log.high_watermark(0))
            self.runtime.flush()

    @property
    def machine(self) -> Ledger:
        machine = self.runtime.machine(0)
        assert machine is not None
        return machine

    def headers(self) -> list[BatchHeader]:
        return [next(batches(batch, 0, len(batch))) for _, _, batch in self.log.batches.get(0, [])]


def test_a_transactional_write_is_a_batch_of_its_own_behind_what_was_collected() -> None:
    desk = Desk()
    desk.write("a")
    desk.write_transactional(9, "b", "c")
    desk.write("d")
    desk.flush()
    first, second, third = desk.headers()
    assert (first.record_count, second.record_count, third.record_count) == (1, 2, 1)
    assert (first.is_transactional, second.is_transactional, third.is_transactional) == (False, True, False)
    assert (second.producer_id, second.producer_epoch, second.base_sequence) == (9, 3, -1)
    assert (third.producer_id, third.producer_epoch) == (-1, -1)
    assert desk.answers == [("a", "done"), ("b+c", "done"), ("d", "done")]
    assert desk.machine.picture == ({"a": 0, "d": 3}, {(9, "b"): 1, (9, "c"): 2})


def test_a_marker_is_a_control_batch_that_says_who_wrote_it() -> None:
    desk = Desk()
    desk.write_transactional(9, "b")
    desk.end(9, commit=True)
    desk.flush()
    _, marker = desk.headers()
    assert marker.is_control and marker.is_transactional
    assert (marker.producer_id, marker.producer_epoch, marker.base_sequence) == (9, 3, -1)
    batch = desk.log.batches[0][1][2]
    (record,) = records_of(batch, next(batches(batch, 0, len(batch))))
    assert control_kind(record.key) == COMMIT
    assert decode_marker(record.value).coordinator_epoch == 7
    assert record.timestamp == desk.clock.wall_ms()
    assert desk.machine.picture == ({"b": 1}, {})
    assert desk.answers[-1] == ("end 9", None)


def test_an_aborted_transaction_leaves_nothing() -> None:
    desk = Desk()
    desk.write_transactional(9, "b")
    desk.write_transactional(8, "c")
    desk.end(9, commit=False)
    desk.flush()
    assert desk.machine.picture == ({}, {(8, "c"): 1})


def test_answers_leave_in_the_order_of_the_log() -> None:
    desk = Desk()
    desk.log.held = True
    desk.write("a")
    desk.write_transactional(9, "b")
    desk.end(9, commit=True)
    desk.write("c")
    desk.flush()
    assert desk.answers == []
    desk.runtime.on_high_watermark(0, 2)
    assert desk.answers == [("a", "done"), ("b", "done")]
    desk.runtime.on_high_watermark(0, 4)
    assert desk.answers[2:] == [("end 9", None), ("c", "done")]


def test_a_refused_append_undoes_a_transactional_write() -> None:
    desk = Desk()
    desk.write_transactional(9, "a")
    desk.flush()
    before = desk.machine.picture
    desk.log.refusal = ErrorCode.INVALID_PRODUCER_EPOCH
    desk.write_transactional(9, "b")
    desk.flush()
    assert desk.machine.picture == before
    assert desk.answers[-1] == ("b", "INVALID_PRODUCER_EPOCH")


def test_a_refused_marker_is_undone_and_can_be_sent_again() -> None:
    desk = Desk()
    desk.write_transactional(9, "a")
    desk.flush()
    before = desk.machine.picture
    desk.log.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    desk.end(9, commit=True)
    desk.flush()
    assert desk.machine.picture == before
    assert desk.answers[-1] == ("end 9", "COORDINATOR_NOT_AVAILABLE")
    desk.log.refusal = None
    desk.end(9, commit=True)
    desk.flush()
    assert desk.machine.picture == ({"a": 1}, {})


def test_a_marker_taken_back_by_the_log_makes_everything_pending_again() -> None:
    desk = Desk()
    desk.write_transactional(9, "a")
    desk.flush()
    before = desk.machine.picture
    desk.log.held = True
    desk.end(9, commit=True)
    desk.write("b")
    desk.flush()
    desk.log.truncate(0, 1)
    desk.runtime.on_append_failed(0, 1, ErrorCode.KAFKA_STORAGE_ERROR)
    assert desk.machine.picture == before
    assert desk.answers[1:] == [("end 9", "NOT_COORDINATOR"), ("b", "NOT_COORDINATOR")]


def test_what_was_collected_and_cannot_be_appended_is_gone_before_the_transactional_write_looks() -> None:
    desk = Desk()
    desk.log.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    desk.write("a")
    seen: list[object] = []

    def look(machine: Ledger) -> Outcome[str]:
        seen.append(machine.picture)
        return Outcome([], "done")

    desk.runtime.write_transactional(0, 9, 3, look, desk.tell("b"), desk.tell("b"))
    assert seen == [({}, {})]
    assert desk.answers == [("a", "COORDINATOR_NOT_AVAILABLE"), ("b", "done")]


def test_a_transactional_write_too_large_for_a_batch_is_refused() -> None:
    desk = Desk(batch_bytes_max=200)
    desk.write_transactional(9, *["x" * 50] * 4 * ATOMIC_BATCHES_MAX)
    assert desk.answers[-1][1] == "UNKNOWN_SERVER_ERROR"
    assert desk.machine.picture == ({}, {})


def test_loading_replays_transactions_and_markers() -> None:
    desk = Desk()
    desk.write("a")
    desk.write_transactional(9, "b")
    desk.write_transactional(8, "c")
    desk.end(9, commit=True)
    desk.write_transactional(9, "d")
    desk.write_transactional(7, "e")
    desk.end(7, commit=False)
    desk.flush()
    assert desk.machine.picture == ({"a": 0, "b": 3}, {(8, "c"): 2, (9, "d"): 4})
    assert Desk(desk.log).machine.picture == desk.machine.picture
    slow = Desk(desk.log, load_bytes_max=1)
    while slow.runtime.machine(0) is None:
        slow.timers.run_due()
    assert slow.machine.picture == desk.machine.picture
    assert slow.machine.journal.size == 0


def test_a_marker_above_the_high_watermark_is_replayed_and_can_be_taken_back() -> None:
    desk = Desk()
    desk.write_transactional(9, "a")
    desk.flush()
    desk.log.held = True
    desk.end(9, commit=True)
    desk.flush()
    again = Desk(desk.log)
    assert again.machine.picture == ({"a": 1}, {})
    assert again.machine.noted.committed("a") is None
    desk.log.truncate(0, 1)
    again.runtime.on_append_failed(0, 1, ErrorCode.KAFKA_STORAGE_ERROR)
    assert again.machine.picture == ({}, {(9, "a"): 0})


@pytest.mark.parametrize("elected", [False, True])
def test_nobody_writes_for_a_transaction_where_the_partition_is_not_served(elected: bool) -> None:
    log = BenchLog()
    Desk(log).write_transactional(9, "a")
    desk = Desk(log, load_bytes_max=1) if elected else Desk()
    if not elected:
        desk.runtime.on_resigned(0)
    else:
        desk.runtime._shards[0].active = False
    desk.write_transactional(9, "b")
    desk.end(9, commit=True)
    code = "COORDINATOR_LOAD_IN_PROGRESS" if elected else "NOT_COORDINATOR"
    assert desk.answers == [("b", code), ("end 9", code)]


def test_a_marker_breaks_the_guards_of_its_producer() -> None:
    desk = Desk()
    guard, other = desk.runtime.guard(0, 9, 0), desk.runtime.guard(0, 8, 0)
    desk.end(9, commit=False)
    desk.write_transactional(9, "a", guard=guard)
    desk.write_transactional(8, "b", guard=other)
    desk.flush()
    assert desk.answers == [("a", "INVALID_TXN_STATE"), ("end 9", None), ("b", "done")]
    assert desk.machine.picture == ({}, {(8, "b"): 1})
    assert len(desk.runtime._shards[0].guards) == 0


def test_a_guard_does_not_outlive_the_leadership() -> None:
    desk = Desk()
    guard = desk.runtime.guard(0, 9, 0)
    desk.runtime.on_elected(0, 2)
    desk.write_transactional(9, "a", guard=guard)
    assert desk.answers == [("a", "NOT_COORDINATOR")]
    desk.runtime.on_resigned(0)
    with pytest.raises(KafkaError):
        desk.runtime.guard(0, 9, 0)


def test_a_guard_can_be_let_go() -> None:
    desk = Desk()
    first, second = desk.runtime.guard(0, 9, 0), desk.runtime.guard(0, 9, 0)
    desk.runtime.let_go(0, first)
    desk.write_transactional(9, "a", guard=second)
    desk.flush()
    assert desk.answers == [("a", "done")]
    desk.runtime.on_resigned(0)
    desk.runtime.let_go(0, first)


def test_resigning_answers_whoever_waits_for_a_marker() -> None:
    desk = Desk()
    desk.log.held = True
    desk.write_transactional(9, "a")
    desk.end(9, commit=True)
    desk.runtime.on_resigned(0)
    assert desk.answers == [("a", "NOT_COORDINATOR"), ("end 9", "NOT_COORDINATOR")]


def test_a_marker_of_an_older_epoch_breaks_no_guard_of_a_newer_one() -> None:
    desk = Desk()
    older, newer = desk.runtime.guard(0, 9, 3), desk.runtime.guard(0, 9, 4)
    desk.end(9, commit=False)
    desk.write_transactional(9, "a", guard=older)
    desk.write_transactional(9, "b", guard=newer)
    desk.flush()
    assert desk.answers == [("a", "INVALID_TXN_STATE"), ("end 9", None), ("b", "done")]

"""Compaction by rewriting: the log stays in proportion to the state, and a crash at any point loses nothing."""

from __future__ import annotations

import pytest

from tapelog.coordinators.core import Runtime
from tapelog.coordinators.machine import GroupMachine
from tapelog.wire.errors import ErrorCode
from tests.unit.coordinators.bench import Bench, BenchLog
from tests.unit.coordinators.story import Story


def limited(bench: Bench, bytes_min: int) -> Runtime[GroupMachine]:
    """Rewrite from that size on."""
    runtime = bench.coordinator.runtime
    runtime._rewrite_bytes_min = bytes_min
    return runtime


def log_bytes(log: BenchLog) -> int:
    return sum(len(batch) for _, _, batch in log.batches.get(0, []))


def positions(bench: Bench, committed_only: bool) -> list[tuple[object, int]]:
    """Where the group g1 stands; the records that say so may have moved."""
    return [(where, found.offset) for where, found in bench.machine.state.offsets.of_group("g1", committed_only)]


def test_a_busy_log_stays_bounded_and_keeps_the_state() -> None:
    story = Story()
    limited(story.bench, 4_000)
    story.run("enter a")
    story.run("sync a assign=a:all")
    for offset in range(400):
        story.run(f"commit a orders/{offset % 4}={offset}")
        assert log_bytes(story.bench.log) < 10_000
    assert story.bench.log.start_offset(0) > 300
    story.output()
    story.run("fetch g")
    assert story.output() == "fetch g: orders/0=396 orders/1=397 orders/2=398 orders/3=399"
    again = Bench(log=story.bench.log)
    assert again.machine.state.snapshot() == story.bench.machine.state.snapshot()
    assert again.machine.classic.find("g").state == "Stable"


def test_a_small_log_is_left_alone() -> None:
    story = Story()
    for offset in range(100):
        story.run(f"commit admin orders/0={offset}")
    assert story.bench.log.start_offset(0) == 0


@pytest.mark.parametrize("steps", range(8))
def test_a_crash_during_the_rewriting_loses_nothing(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tapelog.coordinators.rewrite.RECORDS_PER_STEP", 1)
    story = Story()
    for offset in range(60):
        story.run(f"commit admin orders/{offset % 4}={offset} group=g{offset % 3}")
    bench = story.bench
    bench.log.held = True
    limited(bench, 1_000)
    story.run("commit admin orders/0=1000")
    for _ in range(steps):
        bench.release()
        bench.log.committed[0] = bench.log.end_offset(0)
    bench.log.truncate(0, bench.log.committed[0])
    before = positions(bench, committed_only=True)
    again = Bench(log=bench.log)
    assert positions(again, committed_only=False) == before
    assert len(again.machine.state.offsets) == 12


def test_a_rewriting_whose_append_fails_is_tried_again() -> None:
    story = Story()
    for offset in range(60):
        story.run(f"commit admin orders/{offset % 4}={offset}")
    log = story.bench.log
    limited(story.bench, 1_000)
    story.bench.log.held = True
    story.run("commit admin orders/0=1000")
    log.truncate(0, log.committed[0])
    story.bench.coordinator.runtime.on_append_failed(0, log.committed[0], ErrorCode.KAFKA_STORAGE_ERROR)
    story.bench.settle()
    log.held = False
    story.run("commit admin orders/0=2000")
    assert log.start_offset(0) > 50
    story.output()
    story.run("fetch g")
    assert story.output() == "fetch g: orders/0=2000 orders/1=57 orders/2=58 orders/3=59"


def test_what_a_transaction_has_yet_to_decide_stays_in_the_log() -> None:
    story = Story()
    story.run("commit admin orders/0=1 events/0=2")
    story.run("txn-commit 7 orders/0=3 orders/1=4")
    limited(story.bench, 1_000)
    for offset in range(100):
        story.run(f"commit admin orders/3={offset}")
    log = story.bench.log
    assert log.start_offset(0) == 0, "the committed offset of a partition with a pending one is not written again"
    again = Bench(log=log)
    assert again.machine.state.snapshot() == story.bench.machine.state.snapshot()
    story.run("end-txn 7 commit")
    for offset in range(100, 200):
        story.run(f"commit admin orders/3={offset}")
    assert log.start_offset(0) > 100, "a decided transaction holds nothing back"
    story.output()
    story.run("fetch g stable")
    assert story.output() == "fetch g: events/0=2 orders/0=3 orders/1=4 orders/3=199"
    again = Bench(log=log)
    assert again.machine.state.snapshot() == story.bench.machine.state.snapshot()


def test_the_log_is_let_go_up_to_what_a_transaction_needs() -> None:
    story = Story()
    for offset in range(60):
        story.run(f"commit admin orders/{offset % 4}={offset}")
    story.run("txn-commit 7 events/0=3")
    limited(story.bench, 1_000)
    for offset in range(100):
        story.run(f"commit admin orders/3={offset}")
    assert story.bench.log.start_offset(0) == 60
    again = Bench(log=story.bench.log)
    assert again.machine.state.snapshot() == story.bench.machine.state.snapshot()


def test_a_busy_partition_of_transactions_does_not_stop_the_compaction() -> None:
    story = Story()
    limited(story.bench, 4_000)
    for offset in range(400):
        story.run(f"txn-commit {offset % 2} orders/0={offset}")
        story.run(f"end-txn {(offset + 1) % 2} commit")
        assert log_bytes(story.bench.log) < 10_000
    assert story.bench.machine.state.offsets.pending.has("g", ("orders", 0))


def test_a_large_state_is_not_written_again_at_every_start() -> None:
    story = Story()
    for offset in range(60):
        story.run(f"commit admin orders/{offset % 4}={offset} group=g{offset}")
    log = story.bench.log
    again = Bench(log=log, load=False)
    limited(again, 1_000)
    again.coordinator.runtime.on_elected(0, 2)
    again.settle()
    assert log.end_offset(0) == 60
    story.bench = again
    for offset in range(240):
        story.run(f"commit admin orders/{offset % 4}={offset} group=g{offset % 60}")
    assert log.start_offset(0) > 200, "when the log is four times the state, it is"


def test_what_a_transaction_held_when_the_rewriting_came_by_is_looked_at_again_at_its_end() -> None:
    story = Story()
    story.run("txn-commit 7 orders/0=3")
    for offset in range(60):
        story.run(f"commit admin orders/{1 + offset % 3}={offset}")
    log = story.bench.log
    log.held = True
    limited(story.bench, 1_000)
    story.run("commit admin orders/3=100")
    story.run("end-txn 7 commit")
    log.held = False
    story.bench.release()
    assert log.start_offset(0) > 50, "it was decided by then, and holds nothing back"
    again = Bench(log=log)
    assert positions(again, committed_only=False) == positions(story.bench, committed_only=False)
    story.output()
    story.run("fetch g stable")
    assert story.output() == "fetch g: orders/0=3 orders/1=57 orders/2=58 orders/3=100"

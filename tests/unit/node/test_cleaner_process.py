"""The process that compacts: real files, a real child."""

from __future__ import annotations

import os
import queue
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tapelog.log.compaction import swap
from tapelog.log.compaction.cleaning import Cleaned, job_of
from tapelog.log.compaction.order import DIED, GONE, Done, Failed, Order, Report, settings_of
from tapelog.log.compaction.plan import Bounds, plan, sources
from tapelog.log.config import LogConfig
from tapelog.log.log import COORDINATOR, Log
from tapelog.node.cleaner_process import ProcessWorker
from tapelog.node.system import SystemClock, SystemDisk
from tapelog.wire.record_batch import Record, build_batch, iterate
from tests.support.waiting import until

WAIT_S = 30
CONFIG = LogConfig({"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0"})


class Place:
    """A log with something to clean, and a worker for it."""

    def __init__(self, path: Path, command: list[str] | None = None) -> None:
        self.posts: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.disk = SystemDisk(str(path), self.posts.put)
        self.log = Log.open(
            self.disk, str(path / "tables-0"), topic="tables", partition=0, config=CONFIG, clock=SystemClock()
        )
        self.reports: list[Report] = []
        self.worker = ProcessWorker(self.posts.put, command)

    def fill(self, batches: int, size: int = 10) -> None:
        for number in range(batches):
            batch = build_batch([Record(0, 1, b"k%d" % (number % 3), b"%d " % number + b"x" * size)])
            self.log.append(batch, 0, len(batch), 0, COORDINATOR)
        self.log.write()
        self.log.roll()
        self.log.flush()

    def order(self) -> Order:
        end = self.log.end_offset
        found = plan(sources(self.log, brief=True), CONFIG, Bounds(0, end, end, end), None, 10**13)
        assert found is not None
        return Order(job_of(self.log, found), settings_of(CONFIG), 1 << 16, 0.9, 1 << 16, 10**13)

    def wait(self, done: Callable[[], bool]) -> None:
        while not done():
            self.posts.get(timeout=WAIT_S)()

    def clean(self) -> Report:
        self.reports.clear()
        self.worker.clean(self.order(), self.reports.append)
        self.wait(lambda: bool(self.reports) and not isinstance(self.reports[-1], Cleaned))
        return self.reports[-1]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path)
    yield found
    found.worker.stop()
    found.log.close_files()
    found.disk.close()


def values(log: Log) -> list[bytes | None]:
    data = log.segments.items[0].file().read(0, log.segments.items[0].size)
    return [record.value for record in iterate(data, 0, len(data))]


def gone(pid: int) -> bool:
    """Whether the process has ended and was waited for."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_child_cleans_and_the_log_takes_the_result(place: Place) -> None:
    place.fill(9)
    done = place.clean()
    assert isinstance(done, Done)
    assert (done.end_offset, done.statistics.records_kept, done.statistics.keys) == (9, 3, 3)
    (group,) = place.reports[:-1]
    assert isinstance(group, Cleaned)
    swap.begin(place.log, group)
    place.disk.sync_dir(place.log.directory)
    swap.finish(place.log, group)
    assert [value.split()[0] for value in values(place.log) if value] == [b"6", b"7", b"8"]


def test_one_child_serves_one_order_after_the_other(place: Place) -> None:
    place.fill(9)
    assert isinstance(place.clean(), Done)
    pid = place.worker.pid
    assert pid is not None
    assert isinstance(place.clean(), Done)
    assert place.worker.pid == pid


def test_a_child_that_is_killed_is_told_and_replaced(place: Place) -> None:
    place.fill(60, 40_000)
    place.worker.throttle(100_000)
    place.worker.clean(place.order(), place.reports.append)
    pid = until(lambda: place.worker.pid, "a child")
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    place.wait(lambda: bool(place.reports))
    (report,) = place.reports
    assert isinstance(report, Failed)
    assert (report.kind, "signal 9" in report.reason) == (DIED, True)
    place.worker.throttle(0)
    assert isinstance(place.clean(), Done)
    assert place.worker.pid != pid


def test_an_order_that_is_abandoned_tells_nothing_and_makes_room_for_the_next(place: Place) -> None:
    place.fill(60, 40_000)
    place.worker.throttle(100_000)  # 24 s
    place.worker.clean(place.order(), place.reports.append)
    place.worker.abandon()
    place.worker.throttle(0)
    assert isinstance(place.clean(), Done)
    assert len(place.reports) == 2


def test_a_log_that_was_deleted_is_not_made_anew(place: Place) -> None:
    place.fill(9)
    order = place.order()
    os.rename(place.log.directory, place.log.directory + "-delete")
    place.worker.clean(order, place.reports.append)
    place.wait(lambda: bool(place.reports))
    (report,) = place.reports
    assert isinstance(report, Failed)
    assert report.kind == GONE
    assert not os.path.exists(place.log.directory)


def test_a_child_ends_with_its_node(place: Place) -> None:
    place.fill(9)
    place.clean()
    child, pid = place.worker._child, place.worker.pid
    assert child is not None
    assert pid is not None
    child.send(None)  # the pipe is closed, as when a node is killed
    place.wait(lambda: place.worker.pid is None)
    assert gone(pid)


def test_a_child_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    place = Place(tmp_path, ["/nowhere/python"])
    place.fill(9)
    report = place.clean()
    assert isinstance(report, Failed)
    assert (report.kind, "cannot be started" in report.reason) == (DIED, True)


def test_a_child_that_is_told_to_rest_does_nothing_and_goes_on_when_told(place: Place) -> None:
    place.fill(60, 40_000)  # several steps
    place.worker.share(0.0)
    place.worker.clean(place.order(), place.reports.append)
    until(lambda: place.worker.cpu_s(), "CPU that it has used")
    place.worker.share(1.0)
    place.wait(lambda: any(isinstance(report, Done) for report in place.reports))
    assert place.worker.cpu_s() is not None
    place.worker.stop()
    assert place.worker.cpu_s() is None


def test_nobody_knows_by_which_hash_keys_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    place = Place(tmp_path)
    try:
        place.fill(3)
        assert isinstance(place.clean(), Done)
        environment = Path(f"/proc/{place.worker.pid}/environ").read_bytes().split(b"\0")
        assert b"PYTHONHASHSEED=random" in environment
    finally:
        place.worker.stop()
        place.log.close_files()
        place.disk.close()

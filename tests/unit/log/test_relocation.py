"""A log's files are replaced by copies, in another directory or its own: a crash at any moment leaves all records."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tapelog.base.timers import Timers
from tapelog.log.config import LogConfig
from tapelog.log.directories import LogDirectories
from tapelog.log.log import Log
from tapelog.log.names import STRAY_DIR
from tapelog.log.relocation import Relocation
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.wire.record_batch import Record, build_batch, iterate

HERE, THERE = "here", "there"
KEY = ("orders", 0)
RECORDS = 25
STRIDE = 1 if os.environ.get("TAPELOG_EVERY_STEP") else 5
"""Crashes at every so-manieth operation of the disks."""
SMALL = {"segment.bytes": "500", "index.interval.bytes": "100"}


class CrashError(BaseException):
    """The process ends here."""


class Place:
    """Two directories, one of which has a log of some segments."""

    def __init__(self, seed: int) -> None:
        self.clock, self.entropy = SimClock(), SimEntropy(seed)
        self.disks = {path: SimDisk(self.entropy.fork(), None) for path in (HERE, THERE)}
        self.config = LogConfig(SMALL)
        self.open()
        self.log = self.directories.items[0].open_log(*KEY, self.config, b"t" * 16)
        for number in range(RECORDS):
            self.append(number)
        self.log.flush()
        assert len(self.log.segments.items) > 5

    def open(self) -> None:
        self.directories = LogDirectories.open(
            self.disks,
            [HERE, THERE],
            HERE,
            clock=self.clock,
            entropy=self.entropy.fork(),
            cluster_id="c",
            node_id=1,
        )

    def append(self, number: int) -> None:
        batch = build_batch([Record(0, 1000 + number, b"k", b"%03d" % number * 20)])
        self.log.append(batch, 0, len(batch), 3)
        self.log.write()

    def relocate(self, to: str) -> None:
        here, there = self.directories.items
        copy = Relocation(self.log, here, here if to == HERE else there)
        while copy.missing_bytes() > 200 and (step := copy.next_step()) is not None:
            step.run()
            copy.stepped(step)
        self.append(RECORDS)
        copy.settle_source()
        copy.complete(RECORDS)
        assert copy.install() is None

    def bomb(self, at: int) -> list[int]:
        counted = [0]
        for disk in self.disks.values():
            alive = disk.check_alive

            def check(alive: Callable[[], None] = alive) -> None:
                counted[0] += 1
                if counted[0] == at:
                    raise CrashError
                alive()

            disk.check_alive = check  # type: ignore[method-assign]
        return counted

    def crash(self, how: str) -> None:
        timers = None if how else Timers(self.clock)
        for disk in self.disks.values():
            disk.__dict__.pop("check_alive", None)
        self.disks = {path: getattr(disk, how)(timers) for path, disk in self.disks.items()}
        self.open()

    def reopened(self) -> Log:
        """Of two copies that are there after a crash, either will do."""
        homes = [home for home in self.directories.items if KEY in home.partitions()]
        assert homes, "it is gone"
        logs = [home.open_log(*KEY, self.config) for home in homes]
        assert len({log.end_offset for log in logs}) == 1, "two that are not the same"
        return logs[-1]


def contents(log: Log) -> list[bytes | None]:
    found: list[bytes | None] = []
    offset = log.start_offset
    while (region := log.read(offset, 1 << 20, log.written_end, True)) is not None:
        data = region.read()
        found += [record.value for record in iterate(data, 0, len(data))]
        offset = region.next_offset
    return found


def test_a_log_that_begins_in_the_tier_still_does() -> None:
    place = Place(3)
    held = place.log
    held.update_config(LogConfig({**SMALL, "remote.storage.enable": "true"}))
    place.config = held.config
    held.tiered_end = held.segments.items[-1].base_offset
    here = place.directories.items[0]
    plan = held.segments.items[:3]
    here.before_letting_go([(held, plan)])
    held.delete_segments(plan)
    begins = held.segments.items[0].base_offset
    assert (held.start_offset, held.local_start_offset) == (0, begins) and begins > 5
    place.relocate(THERE)
    assert (held.start_offset, held.local_start_offset) == (0, begins)
    held.invariants()
    place.append(RECORDS + 1)
    held.flush()
    place.crash("crash")
    found = place.reopened()
    assert found.directory.startswith(THERE)
    assert (found.start_offset, found.local_start_offset, found.end_offset) == (0, begins, RECORDS + 2)


def test_a_copy_of_a_log_that_is_elsewhere_does_not_count_before_its_time() -> None:
    place = Place(4)
    here, there = place.directories.items
    copy = Relocation(place.log, here, there)
    copy.settle_source()
    copy.complete(RECORDS)
    place.append(RECORDS)
    place.log.flush()
    place.crash("crash")
    here, there = place.directories.items
    assert (here.partitions(), there.partitions()) == ([KEY], [])
    assert there.futures == [copy.path.rpartition("/")[2]]
    assert len(contents(place.reopened())) == RECORDS + 1


EXPECTED = [b"%03d" % number * 20 for number in range(RECORDS + 1)]


@pytest.mark.parametrize("to", [HERE, THERE])
def test_a_log_goes_on_with_the_copy(to: str) -> None:
    place = Place(1)
    held, old = place.log, place.log.read(0, 1 << 20, RECORDS, True)
    place.relocate(to)
    assert held.directory.startswith(to + "/")
    held.invariants()
    assert contents(held) == EXPECTED
    assert old is not None and old.read(), "who was reading goes on"
    place.append(RECORDS + 1)
    held.flush()
    place.directories.write_checkpoints({})
    assert held.leader_epoch_cache.entries() == [(3, 0)]
    place.crash("crash")
    assert contents(place.reopened()) == [*EXPECTED, b"%03d" % (RECORDS + 1) * 20]


@pytest.mark.parametrize("to", [HERE, THERE])
@pytest.mark.parametrize("how", ["kill", "crash"])
def test_a_crash_at_any_operation_leaves_everything(to: str, how: str) -> None:
    place = Place(1)
    counted = place.bomb(1 << 60)
    place.relocate(to)
    for at in range(1 + counted[0] % STRIDE, counted[0] + 1, STRIDE):
        place = Place(at)
        place.bomb(at)
        with pytest.raises(CrashError):
            place.relocate(to)
        place.crash(how)
        found = contents(place.reopened())
        assert found[:RECORDS] == EXPECTED[:RECORDS], at
        assert len(found) in (RECORDS, RECORDS + 1)
        names = [name for home in place.directories.items for name in home.disk.listdir(home.path)]
        assert not any(name.endswith(STRAY_DIR) for name in names)


@pytest.mark.parametrize("to", [HERE, THERE])
def test_an_empty_log_goes_on_with_its_copy(to: str) -> None:
    place = Place(5)
    here, there = place.directories.items
    held = here.open_log("nothing", 0, place.config, b"n" * 16)
    copy = Relocation(held, here, here if to == HERE else there)
    copy.settle_source()
    copy.complete(0)
    assert copy.install() is None
    assert held.directory == f"{to}/nothing-0"
    place.crash("crash")
    assert ("nothing", 0) in place.directories.items[to == THERE].partitions()


def test_a_copy_that_came_to_nothing_is_never_taken_for_whole_later() -> None:
    place = Place(6)
    here = place.directories.items[0]
    stale = Relocation(place.log, here, here)
    stale.settle_source()
    stale.complete(RECORDS)
    place.crash("crash")  # with the log as it was: the copy is to be removed
    place.log = place.reopened()
    place.append(RECORDS)
    place.log.flush()
    home = place.directories.items[0]
    assert home.futures == [stale.path.rpartition("/")[2]]
    again = Relocation(place.log, home, home)
    again.path = f"{HERE}/orders-0.{'f' * 32}-future"  # the stale one comes first
    again.settle_source()
    again.complete(RECORDS + 1)
    again._put_away()  # and then the power goes
    place.crash("crash")
    assert contents(place.reopened()) == EXPECTED

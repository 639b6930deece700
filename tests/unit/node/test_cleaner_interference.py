"""Compaction in a node, in virtual time: what interferes with it, and what must never come of that."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tapelog.base.ports import DiskError
from tapelog.log import names
from tapelog.log.compaction.order import Done, Order, Report
from tapelog.log.stored import StoredLog
from tapelog.node import cleaner as cleaner_module
from tapelog.node import cleaner_lane
from tapelog.sim import cleaning
from tapelog.sim.disk import SimDisk
from tests.support.rig import TOPIC, Rig
from tests.unit.node.compacted import (
    CLEAN,
    SMALL,
    SOON_MS,
    alter,
    cleaner,
    fill,
    found,
    keyed,
    leftovers,
    under_way,
    until_under_way,
)


@pytest.fixture(autouse=True)
def immortal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Workers do not die unless a test says so, and take many steps."""
    monkeypatch.setattr(cleaning, "DEATHS_PER_THOUSAND", 0)
    monkeypatch.setattr(cleaning, "STEP_BYTES_MAX", 100)
    yield


def test_a_log_deleted_while_it_is_cleaned_leaves_nothing_to_the_next_of_its_name() -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    until_under_way(rig)
    rig.delete()
    rig.create(**SMALL)
    fill(rig, 3)
    assert len(found(rig)) == 10
    rig.node.pass_time(SOON_MS)
    assert [one[0] for one in found(rig)] == [6, 7, 8, 9]
    assert leftovers(rig) == []


def test_a_log_truncated_while_it_is_cleaned_is_cleaned_later() -> None:
    cut = 0
    for step in range(10):
        rig = Rig(step)
        rig.create(**SMALL)
        fill(rig)
        until_under_way(rig)
        rig.node.pass_time(step * 20)
        cut += under_way(rig)
        log = rig.partition().log
        assert rig.node.core is not None
        home = rig.node.core.directory.of(log.disk)
        assert home is not None
        home.truncate(log, log.end_offset - 1, lambda: None)
        rig.partition().truncated()
        assert rig.node.disk.exists(log.path_of(0, names.LOG))
        keyed(rig, (b"z", b"end"))
        rig.node.pass_time(SOON_MS)
        assert found(rig) == CLEAN
        assert leftovers(rig) == []
    assert cut > 5


def test_a_log_cut_just_before_its_cleaning_ends_does_not_count_as_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[Callable[[], None]] = []
    clean = cleaning.SimWorker.clean

    def held_back(self: cleaning.SimWorker, order: Order, told: Callable[[Report], None]) -> None:
        clean(self, order, lambda report: ends.append(lambda: told(report)) if type(report) is Done else told(report))

    monkeypatch.setattr(cleaning.SimWorker, "clean", held_back)
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    rig.node.pass_time(SOON_MS)
    assert found(rig) == CLEAN
    log = rig.partition().log
    assert rig.node.core is not None
    home = rig.node.core.directory.of(log.disk)
    assert home is not None
    home.truncate(log, 10, lambda: None)
    rig.partition().truncated()
    ends[0]()
    assert home.cleaned_offsets.get((TOPIC, 0), 0) <= 10


def test_the_old_goes_only_when_the_new_would_survive_a_power_cut() -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    rig.node.pass_time(SOON_MS)
    trace, path = rig.node.disk.trace, f"logs/{TOPIC}-0/{names.offset_name(0, names.LOG)}"
    staged = trace.index(f"rename {path}{names.CLEANED} {path}{names.SWAP}")
    aside = trace.index(f"rename {path} {path}{names.DELETED}")
    in_place = trace.index(f"rename {path}{names.SWAP} {path}")
    removed = trace.index(f"remove {path}{names.DELETED}")
    assert staged < aside < in_place < removed
    assert f"sync logs/{TOPIC}-0" in trace[staged:aside]
    assert f"sync logs/{TOPIC}-0" in trace[in_place:removed]


def test_groups_that_come_all_at_once_are_put_in_place_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "STEP_BYTES_MAX", 1)
    monkeypatch.setattr(cleaning, "STEP_BYTES_MIN", 1_000_000)
    rig = Rig()
    rig.create(**SMALL, segment_index_bytes="16")  # no two segments become one
    fill(rig)
    rig.node.pass_time(SOON_MS)
    renames = [line.split()[2] for line in rig.node.disk.trace if line.endswith(names.LOG + names.SWAP)]
    assert renames == [f"logs/{TOPIC}-0/{names.offset_name(base, names.LOG)}{names.SWAP}" for base in (0, 3, 6, 9)]
    assert found(rig) == CLEAN
    assert leftovers(rig) == []


def test_a_worker_that_is_still_at_a_deleted_log_never_meets_the_next_of_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig(log_cleaner_threads="2")
    rig.create(**SMALL)
    fill(rig)
    with monkeypatch.context() as slow:
        slow.setattr(cleaning, "STEP_MS_MAX", 10**9)
        until_under_way(rig)
    (lane,) = cleaner(rig).lanes
    rig.delete()
    rig.create(**SMALL)
    assert lane.key == (TOPIC, 0)
    assert cleaner(rig)._plan(rig.partition()) is None
    fill(rig, 3)
    rig.node.pass_time(SOON_MS)
    assert [one[0] for one in found(rig)] == [6, 7, 8, 9]
    assert not under_way(rig)


def test_groups_that_wait_when_a_log_is_cut_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "STEP_BYTES_MIN", 1_000_000)
    rig = Rig()
    rig.node.disk.flush_ms_min = rig.node.disk.flush_ms_max = 100
    rig.create(**SMALL, segment_index_bytes="16")  # no two segments become one
    fill(rig)
    while rig.partition().log.staged < 0:
        rig.node.pass_time(5)
    assert rig.node.core is not None
    log = rig.partition().log
    home = rig.node.core.directory.of(log.disk)
    assert home is not None
    home.truncate(log, log.end_offset - 1, lambda: None)
    rig.partition().truncated()
    rig.node.pass_time(300)
    assert not under_way(rig)
    assert leftovers(rig) == []


def test_a_log_is_not_compacted_into_the_disk_s_reserve() -> None:
    rig = Rig(tapelog_disk_reserve_bytes="5000")
    rig.create(**SMALL)
    fill(rig)
    disk = rig.node.disk
    disk.capacity_bytes = disk.total_bytes() - disk.free_bytes() + 5_100
    rig.node.pass_time(SOON_MS)
    assert not [line for line in disk.trace if line.startswith("create") and line.endswith(names.CLEANED)]
    assert cleaner(rig).schedule.records[TOPIC, 0].failures > 0
    disk.capacity_bytes = None
    rig.node.pass_time(60_000)
    assert found(rig) == CLEAN


def test_a_topic_that_is_not_compacted_any_more_is_left_alone_at_once() -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    until_under_way(rig)
    alter(rig, 2, TOPIC, cleanup_policy="delete")
    rig.node.pass_time(SOON_MS)
    assert len(found(rig)) == 13
    assert leftovers(rig) == []


@pytest.mark.parametrize("where", ["sync", ".index.swap", ".txnindex.swap", ".log.swap", ".log"])
def test_a_disk_that_fails_in_the_middle_of_a_swap_leaves_a_log_that_can_be_opened(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    before, failed, sync, rename = found(rig), [], SimDisk.sync_dir, SimDisk.rename
    directory = f"logs/{TOPIC}-0"

    def sync_dir(self: SimDisk, path: str) -> None:
        staged = path == directory and any(name.endswith(names.LOG + names.SWAP) for name in self.listdir(path))
        if where == "sync" and staged and not failed:
            failed.append(path)
            raise DiskError("EIO")
        sync(self, path)

    def renamed(self: SimDisk, old: str, new: str) -> None:
        if old.startswith(directory) and old.endswith(where) and not new.endswith(names.SWAP) and not failed:
            failed.append(old)
            raise DiskError("EIO")
        rename(self, old, new)

    with monkeypatch.context() as broken:
        broken.setattr(SimDisk, "sync_dir", sync_dir)
        broken.setattr(SimDisk, "rename", renamed)
        rig.node.pass_time(SOON_MS)
    assert failed
    assert rig.node.failure is not None, "the only directory is offline"
    rig.reboot(rig.node.kill)
    assert found(rig) in (before, CLEAN)
    assert leftovers(rig) == []


def test_a_sync_that_fails_before_the_old_files_go_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    failed, sync, directory = [], SimDisk.sync_dir, f"logs/{TOPIC}-0"

    def sync_dir(self: SimDisk, path: str) -> None:
        there = self.listdir(path) if path == directory else []
        swapped = any(name.endswith(names.DELETED) for name in there)
        if swapped and not failed and not any(name.endswith(names.SWAP) for name in there):
            failed.append(path)
            raise DiskError("EIO")
        sync(self, path)

    with monkeypatch.context() as broken:
        broken.setattr(SimDisk, "sync_dir", sync_dir)
        rig.node.pass_time(SOON_MS)
    assert failed
    assert rig.node.failure is not None, "the only directory is offline"
    rig.reboot(rig.node.power_cut)
    assert found(rig)[-4:] == CLEAN[-4:]
    assert leftovers(rig) == []


def test_records_deleted_while_a_log_is_cleaned_stay_deleted() -> None:
    rig = Rig()
    rig.create(**{**SMALL, "cleanup_policy": "compact,delete"}, retention_ms="-1")
    fill(rig)
    until_under_way(rig)
    log = rig.partition().log
    log.increment_start_offset(5)
    log.delete_segments(log.retention_plan(rig.clock.wall_ms(), log.end_offset))
    rig.node.pass_time(10 * SOON_MS)
    assert log.start_offset == 5
    data = rig.fetch(9)
    assert data.error_code == 0
    assert log.segments.items[0].base_offset >= 3
    rig.reboot(rig.node.kill)
    assert rig.fetch(9).error_code == 0


def test_a_worker_that_dies_costs_only_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "DEATHS_PER_THOUSAND", 1000)
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    rig.node.pass_time(SOON_MS)
    assert len(found(rig)) == 13
    assert cleaner(rig).schedule.records[TOPIC, 0].failures > 1
    assert rig.produce(rig.batch(key=b"q")).error_code == 0
    monkeypatch.setattr(cleaning, "DEATHS_PER_THOUSAND", 0)
    rig.node.pass_time(400_000)
    assert found(rig)[:3] == CLEAN[:3]
    assert leftovers(rig) == []


def test_a_damaged_log_is_left_alone_and_told_and_tried_again_when_its_settings_change(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    path = f"logs/{TOPIC}-0/{names.offset_name(3, names.LOG)}"
    rig.node.disk.flip_bit(path, 70, 1)
    rig.node.pass_time(SOON_MS)
    record = cleaner(rig).schedule.records[TOPIC, 0]
    assert "wrong checksum" in record.uncleanable
    assert f"{TOPIC}-0 cannot be compacted" in caplog.text
    assert leftovers(rig) == []
    began = caplog.text.count("cannot be compacted")
    rig.node.pass_time(10 * SOON_MS)
    assert caplog.text.count("cannot be compacted") == began, "it is not tried again and again"
    assert rig.produce(rig.batch(key=b"q")).error_code == 0
    rig.node.disk.flip_bit(path, 70, 1)
    alter(rig, 2, TOPIC, delete_retention_ms="1000")
    rig.node.pass_time(SOON_MS)
    assert record.uncleanable == ""
    assert (9, b"a", b"a3") in found(rig)
    assert (0, b"a", b"a0") not in found(rig)


@pytest.mark.parametrize("error", [DiskError("EIO"), FileNotFoundError("no such index")])
def test_a_log_whose_indexes_cannot_be_read_is_put_off(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)

    def unreadable(self: StoredLog, start: int, upper: int) -> list[object]:
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(StoredLog, "aborted_transactions", unreadable)
        rig.node.pass_time(SOON_MS)
        assert cleaner(rig).schedule.records[TOPIC, 0].failures > 0
        assert not under_way(rig)
    rig.node.pass_time(2 * SOON_MS)
    assert found(rig) == CLEAN


def test_a_log_is_put_off_when_its_disk_does_not_tell_how_much_room_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)

    def silent(asked: int, total: int) -> int:
        raise DiskError("EIO")

    with monkeypatch.context() as broken:
        broken.setattr(cleaner_lane, "reserve_of", silent)
        rig.node.pass_time(SOON_MS)
        assert cleaner(rig).schedule.records[TOPIC, 0].failures > 0
        assert not under_way(rig)
        assert rig.produce(rig.batch(key=b"q")).error_code == 0
    rig.node.pass_time(60_000)
    assert found(rig)[:3] == CLEAN[:3]


def test_two_workers_clean_two_logs_at_once_and_end_when_idle() -> None:
    rig = Rig(log_cleaner_threads="0")
    for topic in ("one", "two"):
        rig.create(topic, **SMALL)
        fill(rig, topic=topic)
    rig.node.pass_time(6_000)
    alter(rig, 4, "", log_cleaner_threads="2")
    most = 0
    for _ in range(SOON_MS // 20):
        rig.node.pass_time(20)
        most = max(most, sum(lane.held is not None for lane in cleaner(rig).lanes))
    assert most == 2
    assert found(rig, "one") == found(rig, "two") == CLEAN
    rig.node.pass_time(2 * cleaner_module.IDLE_MS)
    assert cleaner(rig).lanes == []


def test_without_workers_nothing_is_cleaned_until_there_are_some() -> None:
    rig = Rig(log_cleaner_threads="0")
    rig.create(**SMALL)
    fill(rig)
    rig.node.pass_time(SOON_MS)
    assert len(found(rig)) == 13
    alter(rig, 4, "", log_cleaner_threads="1")
    rig.node.pass_time(5_000)
    assert found(rig) == CLEAN


def test_a_full_disk_puts_a_cleaning_off() -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    disk = rig.node.disk
    disk.capacity_bytes = disk.total_bytes() - disk.free_bytes() + 50
    rig.node.pass_time(SOON_MS)
    assert len(found(rig)) == 13
    disk.capacity_bytes = None
    rig.node.pass_time(60_000)
    assert found(rig) == CLEAN

"""AlterReplicaLogDirs: a replica moves to another log directory of its node while it is written and read."""

from __future__ import annotations

import pytest

from tapelog.base.ports import DiskError
from tapelog.log import relocation
from tapelog.log.relocation import Relocation
from tapelog.sim.disk import SimDisk
from tapelog.wire.errors import ErrorCode
from tests.support.rig import TOPIC, Rig, produce_request
from tests.unit.node.moving import (
    HERE,
    RECORDS,
    THERE,
    core_of,
    described,
    disk_of,
    everything,
    grown,
    home,
    left,
    move,
    moved,
    quick_jobs,
    slow,
    small_steps,
    value,
)

__all__ = ["small_steps"]


@pytest.fixture
def rig() -> Rig:
    return grown()


def test_a_replica_moves_and_everything_is_there(rig: Rig) -> None:
    assert move(rig) == 0
    assert moved(rig)
    rig.node.pass_time(1000)
    assert everything(rig) == [value(number) for number in range(RECORDS)]
    assert left(rig, HERE) == []
    assert left(rig, THERE) == [f"{TOPIC}-0"]
    assert rig.produce(rig.batch(value(RECORDS))).base_offset == RECORDS
    rig.node.invariants()
    part = core_of(rig).image.partition(TOPIC, 0)
    assert part is not None
    assert part.directories == (core_of(rig).directory.items[1].directory_id,), "the controller knows"


@pytest.mark.parametrize("how", ["stop", "kill", "power_cut"])
def test_what_is_written_after_a_move_is_there_after_a_restart(rig: Rig, how: str) -> None:
    move(rig)
    assert moved(rig)
    for number in range(RECORDS, RECORDS + 5):
        assert rig.produce(rig.batch(value(number))).error_code == 0
    rig.reboot(getattr(rig.node, how))
    assert home(rig) == THERE
    assert everything(rig) == [value(number) for number in range(RECORDS + 5)]


def test_it_is_shown_as_a_future_replica_with_what_it_lacks(rig: Rig) -> None:
    slow(rig)
    assert move(rig) == 0
    rig.node.pass_time(1500)
    (current,) = described(rig, HERE)
    (future,) = described(rig, THERE)
    assert (current.is_future_key, future.is_future_key) == (False, True)
    assert 0 < future.partition_size < current.partition_size
    assert 0 < future.offset_lag < RECORDS
    before = future.offset_lag
    rig.node.pass_time(1500)
    assert described(rig, THERE)[0].offset_lag < before
    assert moved(rig)
    assert described(rig, HERE) == []
    (current,) = described(rig, THERE)
    assert not current.is_future_key


def test_an_empty_replica_moves(rig: Rig) -> None:
    rig.create("nothing")
    rig.node.pass_time(100)
    log = rig.partition("nothing").log
    to = THERE if log.directory.startswith(HERE) else HERE
    assert move(rig, to, "nothing") == 0
    rig.node.pass_time(2000)
    assert log.directory == f"{to}/nothing-0"
    assert rig.produce(topic="nothing").base_offset == 0


def test_the_rate_is_kept(rig: Rig) -> None:
    slow(rig)
    move(rig)
    size = rig.partition().log.size_bytes
    rig.node.pass_time(size // 2)
    assert home(rig) == HERE
    assert moved(rig)


def test_two_that_move_at_the_same_time_share_the_rate() -> None:
    rig = Rig(directories=(HERE, THERE), cordoned_log_dirs=THERE)
    rig.create(partitions=2, internal_segment_bytes="600")
    for number in range(RECORDS):
        for index in (0, 1):
            assert rig.produce(rig.batch(value(number)), index=index).error_code == 0
    core_of(rig).settings.static.pop("cordoned.log.dirs", None)
    slow(rig)
    logs = [rig.partition(index=index).log for index in (0, 1)]
    assert [move(rig, index=index) for index in (0, 1)] == [0, 0]
    rig.node.pass_time(sum(log.size_bytes for log in logs) * 2 // 3)
    assert [log.directory.partition("/")[0] for log in logs] == [HERE, HERE]
    assert moved(rig)
    assert [log.directory.partition("/")[0] for log in logs] == [THERE, THERE]


def test_what_comes_in_the_meantime_comes_along(rig: Rig) -> None:
    slow(rig, 8000)
    move(rig)
    number = RECORDS
    while home(rig) == HERE:
        assert rig.produce(rig.batch(value(number))).base_offset == number
        number += 1
        rig.node.pass_time(50)
        assert number < 1000
    assert number > RECORDS + 20
    assert everything(rig) == [value(one) for one in range(number)]


def test_answers_that_wait_for_the_old_disk_come_when_the_new_one_has_it(rig: Rig) -> None:
    disk_of(rig, HERE).flush_ms_min = disk_of(rig, HERE).flush_ms_max = 60_000
    answers = rig.later(produce_request((TOPIC, 0, rig.batch(value(RECORDS)))), 9)
    rig.node.pass_time(10)
    others = rig.later(produce_request((TOPIC, 0, rig.batch(value(RECORDS + 1)))), 9, rig.connect())
    rig.node.pass_time(10)
    assert not answers and not others, "one is on its way to the old disk, one waits for the next round there"
    quick_jobs(disk_of(rig, HERE))
    core_of(rig).moves.want(TOPIC, 0, THERE)
    rig.node.pass_time(2000)
    assert home(rig) == THERE
    for told in (answers, others):
        assert told and told[0].responses[0].partition_responses[0].error_code == 0
    again = rig.later(produce_request((TOPIC, 0, rig.batch(value(RECORDS + 2)))), 9)
    rig.node.pass_time(100)
    assert again, "the next one goes to the new disk"
    disk_of(rig, HERE).flush_ms_min, disk_of(rig, HERE).flush_ms_max = 0, 5
    rig.reboot(rig.node.power_cut)
    assert everything(rig) == [value(number) for number in range(RECORDS + 3)]


def test_another_directory_ends_a_move_and_so_does_its_own(rig: Rig) -> None:
    slow(rig)
    move(rig)
    rig.node.pass_time(1500)
    assert move(rig, HERE) == 0
    rig.node.pass_time(100)
    assert described(rig, THERE) == []
    assert left(rig, THERE) == []
    rig.node.pass_time(60_000)
    assert home(rig) == HERE
    assert not rig.partition().log.moving


@pytest.mark.parametrize("how", ["stop", "kill", "power_cut"])
def test_a_restart_begins_a_move_anew(rig: Rig, how: str) -> None:
    slow(rig)
    move(rig)
    rig.node.pass_time(1500)
    assert any(name.endswith("-future") for name in left(rig, THERE))
    rig.reboot(getattr(rig.node, how))
    core_of(rig).settings.static.pop("replica.alter.log.dirs.io.max.bytes.per.second", None)
    assert moved(rig)
    rig.node.pass_time(1000)
    assert left(rig, THERE) == [f"{TOPIC}-0"]
    assert everything(rig) == [value(number) for number in range(RECORDS)]


def test_a_log_that_is_cut_meanwhile_is_copied_anew(rig: Rig) -> None:
    slow(rig)
    move(rig)
    rig.node.pass_time(3000)
    log = rig.partition().log
    log.truncate_to(5)
    log.flush()
    rig.partition().truncated()
    rig.node.pass_time(100)
    for number in range(20):
        assert rig.produce(rig.batch(b"new %d" % number)).base_offset == 5 + number
    slow(rig, 1 << 40)
    assert moved(rig)
    assert everything(rig) == [*(value(number) for number in range(5)), *(b"new %d" % number for number in range(20))]


def test_what_retention_deletes_meanwhile_does_not_come_back() -> None:
    rig = grown(retention_bytes="2000")
    slow(rig)
    move(rig)
    rig.node.pass_time(1500)
    core_of(rig).housekeeping.retain((TOPIC, 0))
    first = rig.partition().log.segments.items[0].base_offset
    assert first > 5
    assert moved(rig)
    rig.node.pass_time(1000)
    log = rig.partition().log
    assert log.start_offset == log.segments.items[0].base_offset == first
    rig.reboot(rig.node.power_cut)
    assert rig.partition().log.start_offset == first
    assert rig.values(offset=first)[0] == value(first)


def test_a_topic_that_is_deleted_meanwhile_leaves_nothing(rig: Rig) -> None:
    slow(rig)
    move(rig)
    rig.node.pass_time(1500)
    rig.delete()
    rig.node.pass_time(20_000)
    assert left(rig, HERE) == left(rig, THERE) == []
    assert not core_of(rig).moves.all


def test_a_directory_that_fails_ends_the_moves_there(rig: Rig) -> None:
    slow(rig)
    move(rig)
    rig.node.pass_time(1500)
    disk_of(rig, THERE).broken = True
    rig.node.pass_time(60_000)
    assert not core_of(rig).moves.all
    assert home(rig) == HERE
    assert everything(rig) == [value(number) for number in range(RECORDS)]
    assert move(rig) == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_move_waits_for_room(rig: Rig) -> None:
    there = disk_of(rig, THERE)
    used = there.total_bytes() - there.free_bytes()
    there.capacity_bytes = used + 2000
    move(rig)
    rig.node.pass_time(30_000)
    assert home(rig) == HERE
    assert core_of(rig).moves.all
    there.capacity_bytes = 1 << 40
    assert moved(rig)
    assert everything(rig) == [value(number) for number in range(RECORDS)]


def test_a_source_that_fails_right_after_the_swap_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = grown(directories=("meta", HERE, THERE))
    here, rename = disk_of(rig, HERE), SimDisk.rename

    def fails(disk: SimDisk, old: str, new: str) -> None:
        if disk is here and new.endswith("-delete"):
            raise DiskError("input/output error")
        rename(disk, old, new)

    monkeypatch.setattr(SimDisk, "rename", fails)
    assert move(rig) == 0
    assert moved(rig)
    rig.node.pass_time(100)
    assert list(core_of(rig).directory.offline) == [HERE]
    assert rig.produce(rig.batch(value(RECORDS))).error_code == 0
    monkeypatch.undo()
    rig.reboot(rig.node.power_cut)
    assert home(rig) == THERE, "it has more than what was left behind"
    assert everything(rig) == [value(number) for number in range(RECORDS + 1)]


def test_a_destination_that_fails_at_the_swap_costs_nothing(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    there, rename = disk_of(rig, THERE), SimDisk.rename

    def fails(disk: SimDisk, old: str, new: str) -> None:
        if disk is there and new == f"{THERE}/{TOPIC}-0":
            raise DiskError("input/output error")
        rename(disk, old, new)

    monkeypatch.setattr(SimDisk, "rename", fails)
    assert move(rig) == 0
    rig.node.pass_time(2000)
    assert list(core_of(rig).directory.offline) == [THERE]
    assert home(rig) == HERE
    assert rig.produce(rig.batch(value(RECORDS))).error_code == 0
    monkeypatch.undo()
    rig.reboot(rig.node.power_cut)
    assert everything(rig) == [value(number) for number in range(RECORDS + 1)]


def test_a_copy_whose_log_went_on_elsewhere_is_not_served_while_that_is_offline(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig = grown(directories=("meta", HERE, THERE))
    there, sync_dir = disk_of(rig, THERE), SimDisk.sync_dir

    def fails(disk: SimDisk, path: str) -> None:
        sync_dir(disk, path)
        if disk is there and path == THERE and f"{TOPIC}-0" in disk.listdir(THERE):
            raise DiskError("input/output error")

    monkeypatch.setattr(SimDisk, "sync_dir", fails)
    assert move(rig) == 0
    rig.node.pass_time(2000)
    assert list(core_of(rig).directory.offline) == [THERE] and home(rig) == HERE
    assert left(rig, THERE) == [f"{TOPIC}-0"], "it has its name already"
    assert rig.produce(rig.batch(value(RECORDS))).error_code == 0
    monkeypatch.undo()
    rig.node.kill()
    disk_of(rig, HERE).broken = True
    rig.reboot(lambda: None)
    assert list(core_of(rig).directory.offline) == [HERE]
    assert core_of(rig).topics[TOPIC].partitions[0] is None, "it lacks the last record"
    assert "log.dirs" in caplog.text
    rig.node.kill()
    disk_of(rig, HERE).broken = False
    rig.reboot(lambda: None)
    assert everything(rig) == [value(number) for number in range(RECORDS + 1)]


@pytest.mark.parametrize("when", ["in the background", "at the end"])
def test_a_sync_of_the_old_log_that_fails_takes_its_directory_offline(
    when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = grown(directories=("meta", HERE, THERE))
    here = disk_of(rig, HERE)
    here.flush_ms_min = here.flush_ms_max = 60_000
    answers = rig.later(produce_request((TOPIC, 0, rig.batch(value(RECORDS)))), 9)
    rig.node.pass_time(10)
    others = rig.later(produce_request((TOPIC, 0, rig.batch(value(RECORDS + 1)))), 9, rig.connect())
    rig.node.pass_time(10)
    here.syncs_until_failure = 0
    quick_jobs(here)
    if when == "at the end":
        monkeypatch.setattr(Relocation, "settling", lambda copy: lambda: None)
    core_of(rig).moves.want(TOPIC, 0, THERE)
    rig.node.pass_time(2000)
    assert list(core_of(rig).directory.offline) == [HERE]
    for told in (answers, others):
        assert told[0].responses[0].partition_responses[0].error_code != 0, "nothing is acknowledged over lost pages"
    assert not core_of(rig).moves.all


def test_what_is_mended_meanwhile_is_copied_anew(rig: Rig) -> None:
    slow(rig)
    move(rig)
    rig.node.pass_time(3000)
    log = rig.partition().log
    segment = log.segments.items[0]
    good = disk_of(rig, HERE).read_file(segment.path)
    (future,) = left(rig, THERE)
    disk_of(rig, THERE).flip_bit(f"{THERE}/{future}/{segment.path.rpartition('/')[2]}", 100, 3)
    log.mends += 1
    slow(rig, 1 << 40)
    assert moved(rig)
    assert disk_of(rig, THERE).read_file(log.segments.items[0].path) == good


def test_what_fails_again_and_again_is_tried_more_and_more_seldom(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = [0]

    def fails(step: relocation.Step) -> None:
        tries[0] += 1
        raise DiskError("bad sector")

    monkeypatch.setattr(relocation.Step, "run", fails)
    move(rig)
    rig.node.pass_time(600_000)
    assert 4 <= tries[0] <= 8
    monkeypatch.undo()
    rig.node.pass_time(700_000)
    assert home(rig) == THERE


@pytest.mark.parametrize(
    ("topic", "index", "path", "code"),
    [
        (TOPIC, 0, "nowhere", ErrorCode.LOG_DIR_NOT_FOUND),
        (TOPIC, 7, THERE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("nothing", 0, THERE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("x" * 249, 0, THERE, ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, 0, HERE, ErrorCode.NONE),
        (TOPIC, 0, THERE + "/", ErrorCode.NONE),
    ],
)
def test_what_cannot_be_moved_is_told(rig: Rig, topic: str, index: int, path: str, code: ErrorCode) -> None:
    assert move(rig, path, topic, index) == code


def test_a_replica_that_is_not_here_yet_will_be_created_where_it_is_wanted(rig: Rig) -> None:
    core = core_of(rig)
    home_wanted = core.directory.items[1]
    core.topics[TOPIC].partitions.append(None)
    assert move(rig, THERE, TOPIC, 1) == ErrorCode.REPLICA_NOT_AVAILABLE
    core.topics[TOPIC].partitions.pop()
    topic = core.image.topics[TOPIC]
    assert core.partitions.homes._preferred(topic, 1) is home_wanted
    assert core.partitions.homes._preferred(topic, 1) is None, "once"


def test_nothing_moves_to_a_cordoned_directory() -> None:
    rig = Rig(directories=(HERE, THERE), cordoned_log_dirs=THERE)
    rig.create()
    assert move(rig) == ErrorCode.INVALID_REPLICA_ASSIGNMENT

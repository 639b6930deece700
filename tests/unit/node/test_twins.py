"""A partition with records in two log directories: the node starts, the copy that counts is used, the other is kept."""

from __future__ import annotations

import logging

import pytest

from tapelog.base.ports import DiskError
from tapelog.log.directories import LogDirectories
from tapelog.log.names import STRAY_DIR
from tapelog.node.core import NodeCore
from tapelog.sim.disk import SimDisk
from tests.support.rig import TOPIC, Rig

HERE, THERE = "logs", "more"
Files = dict[str, bytes]


@pytest.fixture
def rig() -> Rig:
    """A topic with one partition, which is in the second directory."""
    rig = Rig(directories=(HERE, THERE), cordoned_log_dirs=HERE)
    rig.create()
    rig.produce(rig.batch(b"a"))
    assert home(rig) == THERE
    return rig


def core_of(rig: Rig) -> NodeCore:
    assert rig.node.core is not None
    return rig.node.core


def home(rig: Rig, topic: str = TOPIC) -> str:
    return rig.partition(topic).log.directory.partition("/")[0]


def disk_of(rig: Rig, path: str) -> SimDisk:
    return rig.node.disk if path == HERE else rig.node.others[path]


def files(rig: Rig, path: str) -> Files:
    disk, directory = disk_of(rig, path), f"{path}/{TOPIC}-0"
    return {name: disk.read_file(f"{directory}/{name}") for name in disk.listdir(directory)}


def put(rig: Rig, path: str, copied: Files) -> None:
    disk, directory = disk_of(rig, path), f"{path}/{TOPIC}-0"
    disk.remove_tree(directory)
    disk.mkdir(directory)
    for name, data in copied.items():
        disk.write_file(f"{directory}/{name}", data)


def strays(rig: Rig, path: str) -> list[str]:
    disk = disk_of(rig, path)
    return [name for name in disk.listdir(path) if name.endswith(STRAY_DIR)]


def assigned(rig: Rig) -> bytes:
    part = core_of(rig).image.partition(TOPIC, 0)
    assert part is not None
    return part.directories[0]


def two_copies(rig: Rig, longer: str) -> None:
    """One with a record, one with two."""
    rig.node.stop()
    old = files(rig, THERE)
    rig.reboot(lambda: None)
    rig.produce(rig.batch(b"b"))
    rig.node.stop()
    new = files(rig, THERE)
    put(rig, THERE, new if longer == THERE else old)
    put(rig, HERE, new if longer == HERE else old)


@pytest.mark.parametrize("longer", [HERE, THERE])
def test_of_two_copies_the_one_that_has_more_counts_and_the_other_is_kept(
    rig: Rig, longer: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, logger="tapelog.node")
    two_copies(rig, longer)
    rig.reboot(lambda: None)
    assert rig.values() == [b"a", b"b"]
    other = THERE if longer == HERE else HERE
    (kept,) = strays(rig, other)
    assert not strays(rig, longer)
    assert f"{0:020d}.log" in disk_of(rig, other).listdir(f"{other}/{kept}"), "nothing is lost"
    assert f"the one in {longer} counts" in caplog.text and kept in caplog.text
    rig.node.pass_time(2000)
    home_id = next(one.directory_id for one in core_of(rig).directory.items if one.path == longer)
    assert assigned(rig) == home_id, "the controller knows"
    assert rig.produce(rig.batch(b"c")).base_offset == 2
    rig.reboot(rig.node.power_cut)
    assert rig.values() == [b"a", b"b", b"c"]
    assert home(rig) == longer


def test_of_two_equal_copies_the_one_counts_that_the_cluster_knows(rig: Rig) -> None:
    rig.node.stop()
    put(rig, HERE, files(rig, THERE))
    rig.reboot(lambda: None)
    assert rig.values() == [b"a"]
    assert home(rig) == THERE
    assert len(strays(rig, HERE)) == 1


def test_a_copy_of_a_topic_that_was_deleted_does_not_count_however_long(rig: Rig) -> None:
    for _ in range(5):
        rig.produce(rig.batch(b"old"))
    rig.node.stop()
    old = files(rig, THERE)
    rig.reboot(lambda: None)
    rig.delete()
    rig.create()
    rig.produce(rig.batch(b"new"))
    assert home(rig) == THERE
    rig.node.stop()
    put(rig, HERE, old)
    rig.reboot(lambda: None)
    assert rig.values() == [b"new"]
    assert home(rig) == THERE
    assert len(strays(rig, HERE)) == 1


def test_two_copies_of_a_topic_that_is_gone_are_both_put_aside(rig: Rig) -> None:
    rig.node.stop()
    old = files(rig, THERE)
    rig.reboot(lambda: None)
    rig.delete()
    rig.node.stop()
    put(rig, HERE, old)
    put(rig, THERE, old)
    rig.reboot(lambda: None)
    assert len(strays(rig, HERE)) == len(strays(rig, THERE)) == 1
    rig.create()
    assert rig.values() == []
    assert rig.produce().base_offset == 0


def test_while_the_copy_that_counts_cannot_be_opened_no_other_takes_its_place(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_copies(rig, THERE)
    disk, read = disk_of(rig, THERE), SimDisk.listdir

    def fails(here: SimDisk, path: str) -> list[str]:
        if here is disk and path == f"{THERE}/{TOPIC}-0" and fail[0]:
            raise DiskError("input/output error")
        return read(here, path)

    fail = [False]
    check = LogDirectories._check

    def checked(directories: LogDirectories) -> None:
        check(directories)
        fail[0] = True

    monkeypatch.setattr(SimDisk, "listdir", fails)
    monkeypatch.setattr(LogDirectories, "_check", checked)
    rig.reboot(lambda: None)
    assert list(core_of(rig).directory.offline) == [THERE]
    assert core_of(rig).topics[TOPIC].partitions[0] is None
    assert not strays(rig, HERE)
    monkeypatch.undo()
    rig.reboot(rig.node.kill)
    assert rig.values() == [b"a", b"b"]


def test_what_the_checkpoints_said_of_the_other_copy_is_forgotten(rig: Rig) -> None:
    two_copies(rig, HERE)
    rig.reboot(lambda: None)
    assert home(rig) == HERE
    rig.node.kill()
    for name in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint"):
        assert TOPIC not in disk_of(rig, THERE).read_file(f"{THERE}/{name}").decode()

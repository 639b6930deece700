"""Scrubbing in a node: rot in old segments is found, told and not served; it goes on after a restart, and is slow."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from tapelog.base.ports import DiskError
from tapelog.node.core import NodeCore
from tapelog.sim.disk import SimDisk, SimFile
from tapelog.wire.errors import ErrorCode
from tests.support.rig import TOPIC, Rig

RECORDS = 60


@pytest.fixture
def rig() -> Rig:
    rig = Rig(tapelog_scrub_interval_ms="60000")
    rig.create(internal_segment_bytes="2000", index_interval_bytes="500")
    fill(rig)
    return rig


def fill(rig: Rig) -> None:
    for number in range(RECORDS):
        assert rig.produce(rig.batch(b"%03d" % number * 50)).error_code == 0
    rig.node.pass_time(1000)
    core_of(rig).directory.write_checkpoints(core_of(rig).partitions.high_watermarks())


def core_of(rig: Rig) -> NodeCore:
    assert rig.node.core is not None
    return rig.node.core


def rot(rig: Rig, offset: int, at: int = 70) -> None:
    """Flip a bit of the batch with that offset, on the disk."""
    log = rig.partition().log
    segment = log.segments.items[log.segments.floor(offset)]
    rig.node.disk.flip_bit(segment.path, segment.position_of(offset) + at, 3)


def scrubbed(rig: Rig) -> None:
    """Let a whole pass go by."""
    before = core_of(rig).scrubbing.passes
    for _ in range(200):
        rig.node.pass_time(1000)
        if core_of(rig).scrubbing.passes > before:
            return
    raise AssertionError("it never came to an end")


def test_a_log_that_is_as_it_was_written_is_fine(rig: Rig) -> None:
    scrubbed(rig)
    scrubbing = core_of(rig).scrubbing
    assert scrubbing.found == 0
    assert scrubbing.checked_bytes > 8000


def test_rot_in_an_old_segment_is_told_and_not_served(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, logger="tapelog.node")
    rot(rig, 20)
    scrubbed(rig)
    assert core_of(rig).scrubbing.found == 1
    assert rig.fetch(20).error_code == ErrorCode.CORRUPT_MESSAGE, "nobody else has it"
    assert "orders-0 is damaged on the disk: offsets 20 to 20" in caplog.text
    assert "seek past it" in caplog.text
    before, offset = [], 0
    while offset < 20:
        got = rig.values(offset=offset)
        before, offset = before + got, offset + len(got)
    assert before == [b"%03d" % number * 50 for number in range(20)], "up to there everything is read"
    assert rig.values(offset=21)[0] == b"021" * 50


@pytest.mark.parametrize("at", [7, 8, 9, 16, 23])
def test_a_header_that_makes_no_sense_harms_nobody(rig: Rig, at: int) -> None:
    rot(rig, 20, at)
    rig.fetch(20)
    rig.fetch(19)
    scrubbed(rig)
    assert core_of(rig).scrubbing.found == 1
    (damage,) = rig.partition().log.damaged
    assert damage.first_offset <= 20 < damage.next_offset
    assert rig.fetch(20).error_code == ErrorCode.CORRUPT_MESSAGE
    assert rig.values(offset=damage.next_offset)[0] == b"%03d" % damage.next_offset * 50
    assert rig.produce().base_offset == RECORDS


def test_nobody_is_led_over_records_by_a_base_offset_that_is_wrong(rig: Rig) -> None:
    rot(rig, 20, 7)  # 28
    assert rig.values(offset=20)[:2] == [b"020" * 50, b"021" * 50], "not found yet"


def test_what_is_known_to_be_damaged_is_not_read_again_to_say_so(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rot(rig, 20)
    scrubbed(rig)
    log = rig.partition().log
    (damage,), path = log.damaged, log.segments.items[log.segments.floor(20)].path

    def unreadable(file: SimFile, position: int, size: int, read: Callable[..., bytes] = SimFile.read) -> bytes:
        if position < damage.end and position + size > damage.position and file.path == path:
            raise DiskError("a bad sector")
        return read(file, position, size)

    monkeypatch.setattr(SimFile, "read", unreadable)
    assert rig.fetch(20).error_code == ErrorCode.CORRUPT_MESSAGE
    assert "a bad sector" not in caplog.text


def test_what_is_found_once_is_told_once(rig: Rig) -> None:
    rot(rig, 20)
    scrubbed(rig)
    scrubbed(rig)
    assert core_of(rig).scrubbing.found == 1
    assert len(rig.partition().log.damaged) == 1


def test_deleting_up_to_it_or_the_topic_makes_an_end_of_it(rig: Rig) -> None:
    rot(rig, 5)
    scrubbed(rig)
    rig.partition().log.increment_start_offset(40)
    rig.node.pass_time(400_000)
    assert rig.values(offset=40)
    rig.delete()
    rig.node.pass_time(700_000)


def test_it_keeps_to_its_rate(rig: Rig) -> None:
    rig = Rig(tapelog_scrub_bytes_per_second="1000")
    rig.create(internal_segment_bytes="2000")
    fill(rig)
    rig.node.pass_time(10_000)
    slow = core_of(rig).scrubbing
    before = slow.checked_bytes
    rig.node.pass_time(5000)
    assert 0 < slow.checked_bytes - before <= 7000


def test_it_is_off_with_a_rate_of_zero(rig: Rig) -> None:
    rig = Rig(tapelog_scrub_bytes_per_second="0")
    rig.create(internal_segment_bytes="2000")
    fill(rig)
    rig.node.pass_time(100_000)
    assert core_of(rig).scrubbing.checked_bytes == 0


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_it_goes_on_after_a_restart_where_it_was(how: str) -> None:
    rig = Rig(tapelog_scrub_bytes_per_second="200")
    rig.create(internal_segment_bytes="2000")
    fill(rig)
    rig.node.pass_time(45_000)
    half = core_of(rig).scrubbing.checked_bytes
    total = sum(segment.size for segment in rig.partition().log.segments.items[:-1])
    assert 4000 < half < total - 1000
    rig.reboot(getattr(rig.node, how))
    for _ in range(100):
        rig.node.pass_time(1000)
        if core_of(rig).scrubbing.passes:
            break
    else:
        raise AssertionError("it began anew")
    assert core_of(rig).scrubbing.checked_bytes < total - 5000


def test_a_finished_pass_is_not_repeated_before_its_time() -> None:
    rig = Rig(tapelog_scrub_interval_ms="600000")
    rig.create(internal_segment_bytes="2000")
    fill(rig)
    scrubbed(rig)
    rig.reboot(rig.node.stop)
    rig.node.pass_time(400_000)
    assert core_of(rig).scrubbing.checked_bytes == 0
    rig.node.pass_time(300_000)
    assert core_of(rig).scrubbing.checked_bytes > 0


def test_every_directory_is_scrubbed() -> None:
    rig = Rig(directories=("logs", "more"))
    rig.create(partitions=4, internal_segment_bytes="2000")
    for index in range(4):
        for number in range(40):
            rig.produce(rig.batch(b"%03d" % number * 50), index=index)
    core = core_of(rig)
    rig.node.pass_time(1000)
    core.directory.write_checkpoints(core.partitions.high_watermarks())
    for index in range(4):
        log = rig.partition(index=index).log
        disk = log.disk
        assert isinstance(disk, SimDisk)
        disk.flip_bit(log.segments.items[1].path, 80, 1)
    scrubbed(rig)
    rig.node.pass_time(20_000)
    assert [len(rig.partition(index=index).log.damaged) for index in range(4)] == [1] * 4
    assert rig.produce(topic=TOPIC).error_code == 0


def test_damage_in_the_metadata_log_is_told_and_disturbs_nobody(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, logger="tapelog.node")
    rig = Rig()
    rig.create()
    core = core_of(rig)
    held = core.metadata.partition.log
    held.roll()
    rig.create("more")
    rig.node.pass_time(1000)
    core.directory.write_checkpoints(core.partitions.high_watermarks())
    rig.node.disk.flip_bit(held.segments.items[0].path, 80, 1)
    scrubbed(rig)
    assert "__cluster_metadata-0 is damaged on the disk" in caplog.text
    assert not held.damaged
    rig.create("still", partitions=2)
    assert rig.produce(topic="still").error_code == 0

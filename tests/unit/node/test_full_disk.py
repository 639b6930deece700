"""Disks that run full: a warning first, then a reserve for what the node must write, and all goes on by itself."""

from __future__ import annotations

import logging

import pytest

from tapelog.node.space import low_of, reserve_of
from tapelog.sim.disk import SimDisk
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tapelog.wire.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tests.support.rig import TOPIC, Rig
from tests.unit.node.test_broken_disks import commit_request

RESERVE, LOW = 50_000, 200_000
LOOKED_MS = 300


@pytest.fixture
def rig() -> Rig:
    rig = Rig(tapelog_disk_reserve_bytes=str(RESERVE), tapelog_disk_low_bytes=str(LOW))
    rig.create(partitions=2, retention_ms="60000", internal_segment_bytes="20000")
    rig.client.call(FindCoordinatorRequest(key="g"), 3)
    return rig


def leave(rig: Rig, room: int, disk: SimDisk | None = None) -> None:
    """So much room is left, and that has been noticed."""
    disk = disk or rig.node.disk
    disk.capacity_bytes = None
    disk.capacity_bytes = disk.total_bytes() - disk.free_bytes() + room
    rig.node.pass_time(LOOKED_MS)


def test_the_reserve_is_a_hundredth_of_a_small_disk_and_what_was_asked_for_counts() -> None:
    assert reserve_of(-1, 1 << 40) == 64 << 20
    assert reserve_of(-1, 100 << 20) == 1 << 20
    assert (reserve_of(0, 1 << 40), low_of(7, 1 << 40)) == (0, 7)
    assert (low_of(-1, 1 << 40), low_of(-1, 100 << 30)) == (10 << 30, 5 << 30)


def test_records_are_refused_before_the_last_byte_and_taken_again_when_there_is_room(rig: Rig) -> None:
    assert rig.produce(rig.batch(b"a", producer=(7, 0, 0))).error_code == 0
    leave(rig, RESERVE - 1)
    for _ in range(3):
        answer = rig.produce(rig.batch(b"b", producer=(7, 0, 1)))
        assert (answer.error_code, answer.base_offset) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
    assert rig.values() == [b"a"]
    leave(rig, 2 * RESERVE)
    assert rig.produce(rig.batch(b"b", producer=(7, 0, 1))).base_offset == 1


def test_what_the_node_itself_must_write_goes_on(rig: Rig) -> None:
    rig.produce(rig.batch(b"a"))
    leave(rig, RESERVE - 1)
    assert rig.client.call(commit_request(1), 8).topics[0].partitions[0].error_code == 0
    topic = CreatableTopic(name="new", num_partitions=1, replication_factor=1)
    assert rig.client.call(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7).topics[0].error_code == 0
    made = rig.client.call(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 4)
    assert made.error_code == 0
    rig.node.pass_time(30_000)
    rig.reboot(rig.node.stop)
    assert rig.node.core is not None and rig.node.core.directory.clean, "a clean stop needs checkpoints"
    assert rig.values() == [b"a"]


def test_deletions_make_room_and_service_resumes(rig: Rig) -> None:
    for number in range(40):
        rig.produce(rig.batch(b"%d" % number * 1000))
    leave(rig, RESERVE - 1)
    assert rig.produce().error_code == ErrorCode.KAFKA_STORAGE_ERROR
    part = DeleteRecordsPartition(partition_index=0, offset=35)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=TOPIC, partitions=[part])], timeout_ms=1000)
    assert rig.client.call(request, 2).topics[0].partitions[0].error_code == 0
    rig.node.pass_time(400_000)
    assert rig.produce().base_offset == 40


@pytest.mark.parametrize("names_full", [False, True])
def test_records_are_deleted_where_not_even_that_can_be_written_down_and_make_room(rig: Rig, names_full: bool) -> None:
    for number in range(40):
        rig.produce(rig.batch(b"%d" % number * 1000))
    leave(rig, 0)
    rig.node.disk.names_full = names_full
    part = DeleteRecordsPartition(partition_index=0, offset=35)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=TOPIC, partitions=[part])], timeout_ms=1000)
    answers = rig.later(request, 2)
    rig.node.pass_time(5_000)
    (told,) = answers[0].topics[0].partitions
    assert (told.error_code, told.low_watermark) == (0, 35)
    rig.reboot(rig.node.kill)
    assert rig.partition().log.start_offset == 35


@pytest.mark.parametrize("how", ["delete", "retention"])
def test_what_goes_needs_no_room_for_a_longer_name(rig: Rig, how: str) -> None:
    for number in range(40):
        rig.produce(rig.batch(b"%d" % number * 1000))
    used = rig.node.disk.total_bytes() - rig.node.disk.free_bytes()
    rig.node.disk.names_full = True
    if how == "delete":
        rig.delete()
        assert TOPIC not in rig.node.disk.listdir("logs")
    rig.node.pass_time(700_000)
    assert rig.node.disk.total_bytes() - rig.node.disk.free_bytes() < used - 30_000
    if how == "retention":
        rig.reboot(rig.node.kill)
        assert rig.produce().base_offset == 40


def test_retention_makes_room_and_service_resumes(rig: Rig) -> None:
    for number in range(40):
        rig.produce(rig.batch(b"%d" % number * 1000))
    leave(rig, RESERVE - 1)
    assert rig.produce().error_code == ErrorCode.KAFKA_STORAGE_ERROR
    rig.node.pass_time(700_000)
    assert rig.produce().base_offset == 40


def test_much_that_is_written_at_once_does_not_use_up_the_reserve(rig: Rig) -> None:
    """The clock looks every quarter of a second; in between, every few wake-ups that write."""
    leave(rig, 3 * RESERVE)
    written = refused = 0
    while not refused:
        answer = rig.produce(rig.batch(b"x" * 2000))
        written, refused = written + (answer.error_code == 0), refused + (answer.error_code != 0)
    assert written > 30
    assert rig.node.disk.free_bytes() > RESERVE // 4


def test_a_warning_comes_first_and_once(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="tapelog.node")
    leave(rig, LOW - 1)
    rig.node.pass_time(10_000)
    assert [record.message for record in caplog.records if "running out of room" in record.message] == [
        "the disk is running out of room: logs has 195 KiB of room left. At 48 KiB producers are refused: shorten "
        "retention or add a disk"
    ]
    assert rig.produce().error_code == 0
    leave(rig, RESERVE - 1)
    leave(rig, 2 * LOW)
    told = [record.message for record in caplog.records]
    assert any("the disk is full" in line for line in told) and any("there is room again" in line for line in told)


def leave_files(rig: Rig, left: int | None, disk: SimDisk | None = None) -> None:
    """So many files more can be made, and that has been noticed."""
    (disk or rig.node.disk).files_left = left
    rig.node.pass_time(LOOKED_MS)


def test_a_disk_that_can_hold_no_more_files_is_full_however_many_bytes_are_free(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="tapelog.node")
    leave_files(rig, 40_000)
    assert "the disk is running out of room: logs can hold 40000 more files (inodes). At 1000 " in caplog.text
    assert rig.produce().error_code == 0
    leave_files(rig, 999)
    assert "the disk is full: logs can hold 999 more files (inodes)" in caplog.text
    assert rig.produce().error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert rig.client.call(commit_request(1), 8).topics[0].partitions[0].error_code == 0
    leave_files(rig, 1_200)
    assert rig.produce().error_code == ErrorCode.KAFKA_STORAGE_ERROR, "a quarter more than the reserve first"
    leave_files(rig, 1_250)
    assert rig.produce().error_code == 0
    assert "there is room again: logs can hold 1250 more files (inodes). Producers are served" in caplog.text


def test_without_a_reserve_of_bytes_there_is_none_of_files() -> None:
    rig = Rig(tapelog_disk_reserve_bytes="0")
    rig.create()
    leave_files(rig, 0)
    assert rig.produce().error_code == 0


def test_a_disk_without_files_or_bytes_serves_when_it_has_both_again(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    leave_files(rig, 10)
    leave(rig, RESERVE - 1)
    leave_files(rig, None)
    assert "there is room again" in caplog.text and "Producers are served" not in caplog.text
    assert rig.produce().error_code == ErrorCode.KAFKA_STORAGE_ERROR
    leave(rig, 2 * LOW)
    assert "Producers are served" in caplog.text
    assert rig.produce().error_code == 0


def test_a_directory_without_files_tells_that_nothing_fits_and_new_partitions_go_elsewhere() -> None:
    rig = Rig(directories=("logs", "more"))
    leave_files(rig, 10, rig.node.others["more"])
    assert rig.node.core is not None
    told = {one.path: (one.usable_bytes, one.offline) for one in rig.node.core.log_dirs}
    assert told["more"] == (0, False) and told["logs"][0] > 0
    rig.create(partitions=4)
    assert {rig.partition(index=index).log.directory.split("/")[0] for index in range(4)} == {"logs"}


def test_what_cannot_be_created_for_want_of_room_is_complained_of_now_and_then(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    leave(rig, 4_000)
    rig.create("next", partitions=40)
    rig.node.pass_time(30_000)
    lines = [record.message for record in caplog.records if "no room for the logs of new" in record.message]
    assert 1 <= len(lines) <= 4, len(lines)
    leave(rig, 2 * LOW)
    rig.node.pass_time(LOOKED_MS)
    assert rig.produce(topic="next", index=19).error_code == 0


def test_only_the_partitions_of_the_full_directory_are_refused_and_new_ones_go_elsewhere() -> None:
    rig = Rig(directories=("logs", "more"), tapelog_disk_reserve_bytes=str(RESERVE))
    rig.create(partitions=2)
    there = [rig.partition(index=index).log.directory.startswith("more") for index in range(2)].index(True)
    leave(rig, RESERVE - 1, rig.node.others["more"])
    assert rig.produce(index=there).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert rig.produce(index=1 - there).error_code == 0
    assert rig.node.core is not None
    assert [one.path for one in rig.node.core.log_dirs if one.usable_bytes == 0] == ["more"], "and that can be seen"
    rig.create("next", partitions=3)
    assert [rig.produce(topic="next", index=index).error_code for index in range(3)] == [0] * 3


def test_records_are_deleted_in_other_directories_while_one_has_not_a_byte_for_its_new_starts() -> None:
    rig = Rig(directories=("logs", "more"))
    rig.create(partitions=2)
    there = [rig.partition(index=index).log.directory.startswith("more") for index in range(2)].index(True)
    for index in range(2):
        rig.produce(rig.batch(b"a", b"b", b"c"), index=index)

    def delete(offset: int, *indexes: int) -> list[tuple[int, int]]:
        parts = [DeleteRecordsPartition(partition_index=index, offset=offset) for index in indexes]
        request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=TOPIC, partitions=parts)], timeout_ms=1000)
        answers = rig.client.call(request, 2).topics[0].partitions
        return [(part.error_code, part.low_watermark) for part in answers]

    leave(rig, 0, rig.node.others["more"])
    refused = (int(ErrorCode.KAFKA_STORAGE_ERROR), -1)
    assert delete(1, there, 1 - there) == [refused, (0, 1)]
    assert delete(2, 1 - there) == [(0, 2)]
    leave(rig, 2 * LOW, rig.node.others["more"])
    assert delete(1, there) == [(0, 1)]


def test_coordinators_partitions_may_use_the_reserve_and_others_may_not(rig: Rig) -> None:
    leave(rig, RESERVE - 1)
    assert rig.partition().lacks_room
    assert not rig.partition("__consumer_offsets").lacks_room

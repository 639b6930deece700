"""Very many partitions: opening them leaves nothing behind, and work by the clock is done in pieces."""

from __future__ import annotations

import logging

import pytest

from tapelog.node import housekeeping, partitions
from tapelog.node.core import NodeCore
from tapelog.replication.waitroom import _NOBODY
from tapelog.sim.disk import SimDisk
from tests.support.rig import Rig, produce_request

CHECKPOINTED_MS = 6_000


def core_of(rig: Rig) -> NodeCore:
    assert rig.node.core is not None
    return rig.node.core


def disk_of(rig: Rig) -> SimDisk:
    return rig.node.disk


def write_all(rig: Rig, count: int) -> None:
    request = produce_request(*[("orders", index, rig.batch(b"%d" % index)) for index in range(count)])
    answer = rig.client.call(request, 9)
    assert all(part.error_code == 0 for topic in answer.responses for part in topic.partition_responses)


@pytest.mark.parametrize("way", ["stop", "kill"])
def test_after_a_start_no_log_keeps_a_file_open_and_all_is_there(way: str) -> None:
    rig = Rig()
    rig.create(partitions=40)
    write_all(rig, 40)
    rig.reboot(getattr(rig.node, way))
    logs = [rig.partition(index=index).log for index in range(40)]
    assert not any(segment.has_open_files() for log in logs for segment in log.segments.items)
    assert [log.end_offset for log in logs] == [1] * 40
    assert rig.values(index=7) == [b"7"]


def test_creating_a_topic_leaves_no_file_open() -> None:
    rig = Rig()
    rig.create(partitions=40)
    assert not any(rig.partition(index=index).log.active.has_open_files() for index in range(40))


def test_an_idle_partition_has_no_queues_of_its_own() -> None:
    rig = Rig()
    rig.create()
    held = rig.partition()
    assert held._parked is held._parked_local is held._parked_markers is _NOBODY
    rig.produce()
    assert held._parked is not _NOBODY and not _NOBODY


def test_a_checkpoint_of_many_partitions_is_prepared_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "MARKS_PER_STEP", 3)
    rig = Rig()
    rig.create(partitions=20)
    write_all(rig, 20)
    rig.node.pass_time(CHECKPOINTED_MS)
    known = core_of(rig).directory.high_watermarks
    assert [known["orders", index] for index in range(20)] == [1] * 20


def test_logs_left_out_of_a_checkpoint_are_in_the_next_without_another_write() -> None:
    rig = Rig()
    rig.create(partitions=130)
    write_all(rig, 130)
    rig.node.pass_time(CHECKPOINTED_MS)
    logs = [rig.partition(index=index).log for index in range(130)]
    assert 0 < sum(log.checkpointed_end for log in logs) < 130
    rig.node.pass_time(CHECKPOINTED_MS)
    assert [log.checkpointed_end for log in logs] == [1] * 130


def test_a_topic_deleted_while_a_checkpoint_is_prepared_leaves_no_trace_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "MARKS_PER_STEP", 3)
    rig = Rig()
    rig.create(partitions=20)
    rig.create("stays", partitions=5)
    write_all(rig, 20)
    keeper = core_of(rig).housekeeping
    rig.node.pass_time(CHECKPOINTED_MS)
    keeper._checkpoint()
    assert keeper._collecting
    core_of(rig).partitions.remove([core_of(rig).image.topics["orders"]])
    rig.node.pass_time(1000)
    assert not keeper._collecting
    known = core_of(rig).directory.high_watermarks
    assert not [key for key in known if key[0] == "orders"]
    assert ("stays", 4) in known


def test_a_start_that_takes_long_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(partitions, "PROGRESS_MS", 0)
    rig = Rig()
    rig.create(partitions=5)
    monkeypatch.setattr(logging.getLogger("tapelog"), "propagate", True)
    with caplog.at_level(logging.INFO, "tapelog.node"):
        rig.reboot(rig.node.kill)
        assert "recovering logs: 4 of 5 partitions after 0 s" in caplog.text
        caplog.clear()
        rig.reboot(rig.node.stop)
        assert "opening logs: 4 of 5 partitions after 0 s" in caplog.text

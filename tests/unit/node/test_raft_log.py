"""The quorum's log on a real partition: epochs behind snapshots, truncation, and a node alone through restarts."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tapelog.base.ports import DiskError
from tapelog.node.raft import PartitionLog
from tapelog.raft.values import OffsetEpoch
from tapelog.wire.record_batch import Record, build_batch
from tests.support.rig import Rig


@pytest.fixture
def rig() -> Rig:
    return Rig()


def log_of(rig: Rig) -> PartitionLog:
    assert rig.node.core is not None
    found = rig.node.core.raft.quorum.log
    assert isinstance(found, PartitionLog)
    return found


def batch() -> bytes:
    return build_batch([Record(0, 1, None, b"x")])


def grow(rig: Rig, epochs: list[int]) -> PartitionLog:
    """A record of each of these epochs behind what is there."""
    log = log_of(rig)
    for epoch in epochs:
        log.append(batch(), epoch)
    rig.node.settle()
    rig.node.pass_time(50)
    assert log.durable_end == log.end_offset
    return log


def test_the_end_of_an_epoch_is_where_the_next_one_begins(rig: Rig) -> None:
    start = log_of(rig).end_offset
    log = grow(rig, [5, 5, 7])
    assert log.last_epoch == 7
    assert log.end_of_epoch(7) == OffsetEpoch(start + 3, 7)
    assert log.end_of_epoch(9) == OffsetEpoch(start + 3, 7), "a later epoch is not known: the log's last one counts"
    assert log.end_of_epoch(6) == OffsetEpoch(start + 2, 5)
    assert log.end_of_epoch(1) == OffsetEpoch(start, 1)


def test_a_log_that_begins_behind_a_snapshot_knows_the_epoch_before_it(rig: Rig) -> None:
    start = log_of(rig).end_offset
    log = grow(rig, [5, 7])
    log.advance_start(start + 1)
    assert log.end_of_epoch(5) == OffsetEpoch(start + 1, 5)
    assert log.end_of_epoch(7) == OffsetEpoch(start + 2, 7)


def test_a_cut_log_ends_there_and_takes_other_records(rig: Rig) -> None:
    start = log_of(rig).end_offset
    log = grow(rig, [5, 5, 5])
    done: list[object] = []
    log.truncate(start + 1, lambda: True, done.append)
    assert done == [None]
    assert (log.end_offset, log.durable_end) == (start + 1, start + 1)
    grow(rig, [6])
    assert log.end_of_epoch(5) == OffsetEpoch(start + 1, 5)


def test_a_cut_that_is_not_wanted_any_more_is_not_made(rig: Rig) -> None:
    log = grow(rig, [5, 5])
    end = log.end_offset
    done: list[object] = []
    log.truncate(end - 1, lambda: False, done.append)
    assert done == [None] and log.end_offset == end


def test_a_log_may_begin_anew_behind_a_snapshot(rig: Rig) -> None:
    log = grow(rig, [5])
    done: list[object] = []
    log.restart_at(1000, 9, lambda: True, done.append)
    assert done == [None]
    assert (log.start_offset, log.end_offset, log.last_epoch) == (1000, 1000, 9)
    assert log.end_of_epoch(9) == OffsetEpoch(1000, 9)
    rig.node.pass_time(50)
    assert log.durable_end == 1000


@pytest.mark.parametrize("how", ["stop", "kill", "power_cut"])
def test_a_node_alone_leads_a_new_epoch_after_each_start(rig: Rig, how: str) -> None:
    assert rig.node.core is not None
    rig.create("kept")
    raft = rig.node.core.raft
    epoch, directory = raft.epoch, raft.quorum.me.directory_id
    rig.reboot(getattr(rig.node, how))
    raft = rig.node.core.raft
    assert raft.is_leader and raft.epoch > epoch
    assert raft.voters.only(raft.quorum.me) and raft.quorum.me.directory_id == directory
    assert raft.kraft_version == 1, "the log says who votes"
    assert "kept" in rig.node.core.image.topics


def test_a_metadata_log_that_cannot_be_read_takes_the_node_down(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of(rig)
    assert log.read(0, 100) != b""

    def broken(*_: object) -> None:
        raise DiskError("unreadable")

    monkeypatch.setattr(log, "log", SimpleNamespace(read=broken, written_end=9))
    assert log.read(0, 100) == b""
    assert rig.node.failure is not None

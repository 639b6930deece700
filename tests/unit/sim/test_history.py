"""What the cluster has committed, seen from outside: two nodes that say different things are found out."""

from __future__ import annotations

import pytest

from tapelog.base.ports import Clock
from tapelog.log.config import LogConfig
from tapelog.log.log import COORDINATOR, Log
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.history import History
from tapelog.wire.record_batch import Record, build_batch


def a_log(*values: bytes, epoch: int = 1) -> Log:
    disk, clock = SimDisk(SimEntropy(1)), SimClock()
    disk.mkdir("d/t-0")
    log = open_log(disk, clock)
    for value in values:
        batch = build_batch([Record(0, 0, None, value)])
        log.append(batch, 0, len(batch), epoch, COORDINATOR)
    log.write()
    return log


def open_log(disk: SimDisk, clock: Clock) -> Log:
    return Log.open(
        disk,
        "d/t-0",
        topic="t",
        partition=0,
        config=LogConfig(None),
        clock=clock,
        recovery_point=0,
        start_offset=0,
        clean=False,
        topic_id=b"\1" * 16,
    )


def test_replicas_that_agree_are_fine() -> None:
    history = History("t-0")
    history.committed("node 1", a_log(b"a", b"b", b"c"), 0, 2)
    history.committed("node 2", a_log(b"a", b"b", b"d"), 0, 2)
    history.committed("node 1", a_log(b"a", b"b", b"c"), 2, 3)
    assert history.end == 3


def test_another_batch_below_the_high_watermark_is_found_out() -> None:
    history = History("t-0")
    history.committed("node 1", a_log(b"a", b"b"), 0, 2)
    with pytest.raises(AssertionError, match="differs at 1"):
        history.committed("node 2", a_log(b"a", b"x"), 0, 2)


def test_the_same_bytes_from_another_epoch_are_found_out() -> None:
    history = History("t-0")
    history.committed("node 1", a_log(b"a"), 0, 1)
    with pytest.raises(AssertionError, match="differs at 0"):
        history.committed("node 2", a_log(b"a", epoch=2), 0, 1)


def test_a_high_watermark_beyond_the_log_is_found_out() -> None:
    with pytest.raises(AssertionError, match="has nothing at 1"):
        History("t-0").committed("node 1", a_log(b"a"), 0, 2)


def test_two_leaders_of_one_epoch_are_found_out() -> None:
    history = History("t-0")
    history.led(1, 5, a_log(b"a"))
    history.led(2, 6, a_log(b"a"))
    with pytest.raises(AssertionError, match="two leaders in epoch 5"):
        history.led(2, 5, a_log(b"a"))


def test_a_leader_without_what_was_committed_is_found_out() -> None:
    history = History("t-0")
    history.committed("node 1", a_log(b"a", b"b"), 0, 2)
    with pytest.raises(AssertionError, match="ends at 1, committed was 2"):
        history.led(2, 2, a_log(b"a"))

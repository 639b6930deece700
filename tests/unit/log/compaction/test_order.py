"""Orders to clean, as whoever carries them out sees them."""

from __future__ import annotations

from tapelog.log.compaction.cleaning import job_of
from tapelog.log.compaction.order import DISK, Execution, Failed, Order, Report, settings_of
from tests.unit.log.compaction.yard import Yard


def test_a_disk_that_dies_while_a_log_is_cleaned_is_told_though_nothing_can_be_removed_any_more() -> None:
    yard = Yard()
    for number in range(20):
        yard.put((b"k%d" % (number % 5), b"x" * 100))
    yard.log.roll()
    plan = yard.planned()
    assert plan is not None
    order = Order(job_of(yard.log, plan), settings_of(yard.config), 4096, 0.9, 1000, yard.clock.wall_ms())
    execution = Execution(yard.disk, order, step_bytes=500)
    while not yard.files(".cleaned"):
        execution.step()
    yard.disk.broken = True
    reports: list[Report] = []
    while not execution.over:
        reports += execution.step()[1]
    (failed,) = reports
    assert isinstance(failed, Failed) and failed.kind == DISK

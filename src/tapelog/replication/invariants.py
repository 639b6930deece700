"""What must hold of a partition after every step; for tests and simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tapelog.replication.partition import Partition


def check(partition: Partition, parked: int) -> None:
    """AssertionError if something is wrong; parked: how many appends wait for their acknowledgement."""
    log = partition.log
    assert partition.high_watermark <= log.end_offset, (partition.high_watermark, log.end_offset)
    if not partition.page_cache:
        assert partition.high_watermark <= log.durable_end, (partition.high_watermark, log.durable_end)
    assert not partition.alone or partition.leading
    assert partition.leading or not parked

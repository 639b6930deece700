"""What a node does by the clock, in virtual time: checkpoints, retention, expiry of idle producers, snapshots."""

from __future__ import annotations

import pytest

from tapelog.log.checkpoints import parse_offsets
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.support.rig import TOPIC, Rig

MINUTE, HOUR = 60_000, 3_600_000


@pytest.fixture
def rig() -> Rig:
    return Rig()


def checkpoint(rig: Rig, name: str) -> int:
    """What a checkpoint file says of the first partition."""
    path = f"logs/{name}"
    if not rig.node.disk.exists(path):
        return 0
    return parse_offsets(rig.node.disk.read_file(path), name).get((TOPIC, 0), 0)


def test_checkpoints_are_written_soon_after_records_and_not_without_them(rig: Rig) -> None:
    rig.create()
    rig.produce(rig.batch(b"a", b"b"))
    rig.node.pass_time(6_000)
    assert checkpoint(rig, "recovery-point-offset-checkpoint") == 2
    assert checkpoint(rig, "replication-offset-checkpoint") == 2
    rig.node.pass_time(10_000)
    written = len(rig.node.disk.trace)
    rig.node.pass_time(10 * MINUTE)
    assert len(rig.node.disk.trace) == written, "an idle node leaves the disk alone"


def test_after_a_checkpoint_a_crash_costs_no_reading_below_it(rig: Rig) -> None:
    rig.create()
    for number in range(10):
        rig.produce(rig.batch(b"%d" % number))
    rig.node.pass_time(6_000)
    rig.reboot(rig.node.kill)
    assert rig.partition().log.recovery_point == 10
    assert rig.values() == [b"%d" % number for number in range(10)]


def test_old_segments_go_by_time(rig: Rig) -> None:
    rig.create(retention_ms=str(2 * HOUR), segment_ms=str(HOUR))
    for _ in range(4):
        rig.produce()
        rig.node.pass_time(HOUR + MINUTE)
    rig.produce()
    rig.node.pass_time(30 * MINUTE)
    start = rig.offset_at(-2).offset
    assert start >= 2
    assert rig.fetch(start - 1).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert rig.fetch(start).error_code == 0
    rig.node.pass_time(3 * HOUR)
    assert rig.offset_at(-2).offset == rig.offset_at(-1).offset == 5, "in the end even the last segment goes"
    rig.reboot(rig.node.power_cut)
    rig.node.pass_time(HOUR)  # a segment that came back with the power goes again
    assert rig.offset_at(-2).offset == rig.offset_at(-1).offset == 5
    assert rig.produce().base_offset == 5


def test_old_segments_go_by_size(rig: Rig) -> None:
    rig.create(retention_bytes="3000", segment_bytes="1048576", retention_ms="-1", segment_ms=str(MINUTE))
    for _ in range(10):
        rig.produce(rig.batch(b"x" * 900))
        rig.node.pass_time(2 * MINUTE)
    rig.node.pass_time(10 * MINUTE)
    kept = rig.partition().log.size_bytes
    assert 3000 <= kept < 4500
    assert rig.offset_at(-2).offset >= 5
    assert rig.offset_at(-1).offset == 10


def test_retention_follows_a_changed_setting(rig: Rig) -> None:
    rig.create()
    rig.produce()
    rig.node.pass_time(2 * HOUR)
    assert rig.offset_at(-2).offset == 0
    config = AlterableConfig(name="retention.ms", config_operation=0, value=str(HOUR))
    resource = AlterConfigsResource(resource_type=2, resource_name=TOPIC, configs=[config])
    rig.client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    rig.node.pass_time(10 * MINUTE)
    assert rig.offset_at(-2).offset == 1


def test_a_compacted_topic_is_not_cut_by_time(rig: Rig) -> None:
    rig.create(cleanup_policy="compact", retention_ms=str(HOUR))
    rig.produce()
    rig.node.pass_time(3 * HOUR)
    assert rig.offset_at(-2).offset == 0


def test_records_that_are_not_durable_are_not_deleted(rig: Rig) -> None:
    rig.create(retention_ms="1000", segment_ms="1000")
    rig.produce()
    rig.hold_flushes()
    for _ in range(3):
        rig.partition().append(batch := rig.batch(b"x"), 0, len(batch), 0)
        rig.node.settle()
        rig.node.pass_time(10 * MINUTE)
    assert rig.partition().log.start_offset <= rig.partition().high_watermark == 1


def test_idle_producers_are_forgotten_and_busy_ones_are_not() -> None:
    rig = Rig(producer_id_expiration_ms=str(HOUR))
    rig.create()
    rig.produce(rig.batch(b"a", producer=(7, 0, 0)))
    rig.produce(rig.batch(b"b", producer=(8, 0, 0)))
    for sequence in range(1, 5):
        rig.node.pass_time(30 * MINUTE)
        assert rig.produce(rig.batch(b"c", producer=(8, 0, sequence))).error_code == 0
    known = rig.partition().log.producers
    assert 7 not in known.entries
    assert 8 in known.entries
    assert rig.produce(rig.batch(b"d", producer=(8, 0, 9))).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_the_metadata_log_is_cut_behind_its_snapshots() -> None:
    rig = Rig(metadata_log_max_record_bytes_between_snapshots="3000")
    for round in range(10):
        for number in range(5):
            rig.create(f"t-{round}-{number}")
            rig.delete(f"t-{round}-{number}")
        rig.node.pass_time(6_000)
    assert rig.node.core is not None
    log = rig.node.core.metadata.partition.log
    assert log.start_offset > 0
    assert any(name.endswith(".checkpoint") for name in rig.node.disk.listdir("logs/__cluster_metadata-0"))
    rig.create()
    for how in (rig.node.kill, rig.node.power_cut, rig.node.stop):
        rig.reboot(how)
        assert list(rig.node.core.image.topics) == [TOPIC] if rig.node.core else False


def test_housekeeping_ends_with_the_node(rig: Rig) -> None:
    rig.create()
    rig.produce()
    assert rig.node.core is not None
    rig.node.core.shutdown()
    trace = len(rig.node.disk.trace)
    rig.node.pass_time(HOUR)
    assert len(rig.node.disk.trace) == trace


def test_a_transaction_that_hangs_is_named(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    rig.create()
    batch = rig.batch(b"open", producer=(7, 0, 0), transactional=True)
    rig.partition().append(batch, 0, len(batch), 0)
    rig.node.pass_time(19 * MINUTE)
    assert "hangs" not in caplog.text
    rig.node.pass_time(20 * MINUTE)
    assert f"{TOPIC}-0: a transaction of producer 7 hangs" in caplog.text

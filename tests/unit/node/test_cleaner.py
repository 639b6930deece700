"""Compaction in a node, in virtual time: which logs are cleaned and when, and what interferes with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tapelog.base.ports import DiskError
from tapelog.log import names
from tapelog.log.checkpoints import parse_offsets
from tapelog.log.compaction.order import Done, Order, Report
from tapelog.log.stored import StoredLog
from tapelog.node import cleaner as cleaner_module
from tapelog.node.cleaner import Cleaner
from tapelog.sim import cleaning
from tapelog.sim.disk import SimDisk
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tapelog.wire.messages.describe_log_dirs_response import PartitionCleaning
from tapelog.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tapelog.wire.record_batch import Record, batches, build_batch, records_of
from tests.support.rig import TOPIC, Rig

SMALL = {"cleanup_policy": "compact", "segment_ms": "1000", "min_cleanable_dirty_ratio": "0.01"}
SOON_MS = 40_000
"""A checkpoint, a look, a cleaning."""


@pytest.fixture(autouse=True)
def immortal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Workers do not die unless a test says so, and take many steps."""
    monkeypatch.setattr(cleaning, "DEATHS_PER_THOUSAND", 0)
    monkeypatch.setattr(cleaning, "STEP_BYTES_MAX", 100)
    yield


def keyed(rig: Rig, *pairs: tuple[bytes | None, bytes | None], topic: str = TOPIC) -> int:
    """One batch, in a segment of its own; returns the error code."""
    records = [Record(0, rig.clock.wall_ms(), key, value) for key, value in pairs]
    code = rig.produce(build_batch(records), topic=topic).error_code
    rig.node.pass_time(1_500)
    return code


def fill(rig: Rig, rounds: int = 4, topic: str = TOPIC) -> None:
    """Every round writes the same three keys; the last batch stays in the active segment."""
    for number in range(rounds):
        keyed(rig, (b"a", b"a%d" % number), (b"b", b"b%d" % number), (b"c", b"c%d" % number), topic=topic)
    keyed(rig, (b"z", b"end"), topic=topic)


def found(rig: Rig, topic: str = TOPIC) -> list[tuple[int, bytes | None, bytes | None]]:
    """Offset, key and value of everything that a consumer reads."""
    offset, seen = 0, []
    while True:
        data = rig.fetch(offset, topic=topic)
        assert data.error_code == 0
        raw = data.records.tobytes() if data.records is not None else b""  # type: ignore[union-attr]
        if not raw:
            return seen
        for header in batches(raw, 0, len(raw)):
            seen += [(one.offset, one.key, one.value) for one in records_of(raw, header)]
            offset = header.last_offset + 1


CLEAN = [(9, b"a", b"a3"), (10, b"b", b"b3"), (11, b"c", b"c3"), (12, b"z", b"end")]


def cleaner(rig: Rig) -> Cleaner:
    assert rig.node.core is not None
    return rig.node.core.cleaner


def leftovers(rig: Rig, topic: str = TOPIC) -> list[str]:
    suffixes = (names.CLEANED, names.SWAP, names.DELETED)
    return [name for name in rig.node.disk.listdir(f"logs/{topic}-0") if name.endswith(suffixes)]


def alter(rig: Rig, kind: int, name: str, **configs: str) -> None:
    changes = [AlterableConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=changes)
    answer = rig.client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert answer.responses[0].error_code == 0, answer


def test_of_every_key_the_last_record_stays_at_its_offset() -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    assert len(found(rig)) == 13
    rig.node.pass_time(SOON_MS)
    assert found(rig) == CLEAN
    assert leftovers(rig) == []
    data = rig.node.disk.read_file("logs/cleaner-offset-checkpoint")
    assert parse_offsets(data, "cleaned") == {(TOPIC, 0): 12}


@pytest.mark.parametrize("how", ["stop", "kill", "power_cut"])
def test_what_is_clean_is_clean_after_a_restart_and_not_cleaned_again(how: str) -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    rig.node.pass_time(SOON_MS)
    rig.reboot(getattr(rig.node, how))
    assert found(rig) == CLEAN
    rig.node.pass_time(SOON_MS)
    assert cleaner(rig).lanes == [], "nothing was to be done"
    assert found(rig) == CLEAN


def test_a_topic_that_is_not_compacted_keeps_everything() -> None:
    rig = Rig()
    rig.create(**{**SMALL, "cleanup_policy": "delete"})
    fill(rig)
    rig.node.pass_time(SOON_MS)
    assert len(found(rig)) == 13


def test_the_cleaner_can_be_switched_off() -> None:
    rig = Rig(log_cleaner_enable="false")
    rig.create(**SMALL)
    fill(rig)
    rig.node.pass_time(SOON_MS)
    assert len(found(rig)) == 13


def test_a_topic_becomes_compacted_when_its_policy_says_so() -> None:
    rig = Rig()
    rig.create(**{**SMALL, "cleanup_policy": "delete"})
    fill(rig)
    alter(rig, 2, TOPIC, cleanup_policy="compact")
    rig.node.pass_time(SOON_MS)
    assert found(rig) == CLEAN


def test_a_log_below_the_dirty_ratio_waits_for_the_broker_wide_ratio_to_change() -> None:
    rig = Rig(log_cleaner_min_cleanable_ratio="0.9")
    rig.create(cleanup_policy="compact", segment_ms="1000")
    fill(rig)
    rig.node.pass_time(SOON_MS)
    assert found(rig) == CLEAN  # everything was dirty
    keyed(rig, (b"a", b"new"))
    keyed(rig, (b"z", b"end"))
    rig.node.pass_time(SOON_MS)
    assert (9, b"a", b"a3") in found(rig)
    alter(rig, 4, "", log_cleaner_min_cleanable_ratio="0.1")
    rig.node.pass_time(SOON_MS)
    assert (9, b"a", b"a3") not in found(rig)


def test_records_younger_than_the_least_lag_stay() -> None:
    rig = Rig()
    rig.create(**SMALL, min_compaction_lag_ms="3600000")
    fill(rig)
    rig.node.pass_time(SOON_MS)
    assert len(found(rig)) == 13
    rig.node.pass_time(3_700_000)
    assert found(rig) == CLEAN


def test_a_log_is_cleaned_by_the_greatest_lag_whatever_its_ratio_and_the_segment_rolls_for_it() -> None:
    rig = Rig()
    rig.create(cleanup_policy="compact", min_cleanable_dirty_ratio="1", max_compaction_lag_ms="60000")
    keyed(rig, (b"a", b"1"))
    keyed(rig, (b"a", b"2"))
    rig.node.pass_time(61_000)
    keyed(rig, (b"z", b"end"))  # a new segment, long before segment.ms
    rig.node.pass_time(SOON_MS)
    assert found(rig) == [(1, b"a", b"2"), (2, b"z", b"end")]


def test_tombstones_stay_for_a_consumer_to_see_and_go_when_their_time_has_passed() -> None:
    rig = Rig()
    rig.create(**SMALL, delete_retention_ms="600000")
    keyed(rig, (b"a", b"1"), (b"b", b"1"))
    keyed(rig, (b"a", None))
    keyed(rig, (b"z", b"end"))
    rig.node.pass_time(SOON_MS)
    assert found(rig) == [(1, b"b", b"1"), (2, b"a", None), (3, b"z", b"end")]
    rig.node.pass_time(700_000)
    keyed(rig, (b"z", b"2"))
    keyed(rig, (b"z", b"3"))
    rig.node.pass_time(SOON_MS)
    assert [one for one in found(rig) if one[1] == b"a"] == []


def test_both_policies_compact_and_delete() -> None:
    rig = Rig()
    rig.create(**{**SMALL, "cleanup_policy": "compact,delete"}, retention_ms="1800000")
    fill(rig)
    rig.node.pass_time(SOON_MS)
    assert found(rig) == CLEAN
    rig.node.pass_time(3_600_000)
    assert rig.offset_at(-2).offset >= 12


def test_a_record_without_a_key_is_refused_by_its_index() -> None:
    rig = Rig()
    rig.create(**SMALL)
    records = [Record(0, rig.clock.wall_ms(), key, b"v") for key in (b"a", None, b"b", None)]
    answer = rig.produce(build_batch(records))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [one.batch_index for one in answer.record_errors] == [1, 3]


def test_a_log_deleted_while_it_is_cleaned_leaves_nothing_to_the_next_of_its_name() -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    until_under_way(rig)
    rig.delete()
    rig.create(**SMALL)
    fill(rig, 3)
    assert len(found(rig)) == 10
    rig.node.pass_time(SOON_MS)
    assert [one[0] for one in found(rig)] == [6, 7, 8, 9]
    assert leftovers(rig) == []


def under_way(rig: Rig) -> bool:
    return any(lane.held is not None for lane in cleaner(rig).lanes)


def test_a_consumer_s_answer_begins_with_records_and_a_follower_s_does_not() -> None:
    rig = Rig()
    rig.create(**SMALL, segment_index_bytes="16")  # no two segments become one
    for number in range(9):
        rig.produce(rig.batch(b"%d" % number, producer=(7, 0, number)))
        rig.node.pass_time(1_500)
    assert rig.node.core is not None
    rig.produce(rig.batch(b"end", producer=(7, 0, 9)))
    rig.node.pass_time(SOON_MS)
    log = rig.partition().log
    assert log.read(0, 1 << 20, 10, True).read()[:8] == bytes(8), "an empty batch is left"  # type: ignore[union-attr]
    data = rig.fetch(0)
    assert data.records is not None
    raw = data.records.tobytes()  # type: ignore[union-attr]
    assert next(iter(batches(raw, 0, len(raw)))).record_count > 0
    assert [one[2] for one in found(rig)] == [b"8", b"end"]


def until_under_way(rig: Rig) -> None:
    """Until a worker has begun."""
    for _ in range(SOON_MS // 20):
        if under_way(rig):
            return
        rig.node.pass_time(20)
    raise AssertionError("nothing was cleaned")


def test_a_log_truncated_while_it_is_cleaned_is_cleaned_later() -> None:
    cut = 0
    for step in range(10):
        rig = Rig(step)
        rig.create(**SMALL)
        fill(rig)
        until_under_way(rig)
        rig.node.pass_time(step * 20)
        cut += under_way(rig)
        log = rig.partition().log
        assert rig.node.core is not None
        home = rig.node.core.directory.of(log.disk)
        assert home is not None
        home.truncate(log, log.end_offset - 1, lambda: None)
        rig.partition().truncated()
        assert rig.node.disk.exists(log.path_of(0, names.LOG))
        keyed(rig, (b"z", b"end"))
        rig.node.pass_time(SOON_MS)
        assert found(rig) == CLEAN
        assert leftovers(rig) == []
    assert cut > 5


def test_a_log_cut_just_before_its_cleaning_ends_does_not_count_as_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[Callable[[], None]] = []
    clean = cleaning.SimWorker.clean

    def held_back(self: cleaning.SimWorker, order: Order, told: Callable[[Report], None]) -> None:
        clean(self, order, lambda report: ends.append(lambda: told(report)) if type(report) is Done else told(report))

    monkeypatch.setattr(cleaning.SimWorker, "clean", held_back)
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    rig.node.pass_time(SOON_MS)
    assert found(rig) == CLEAN
    log = rig.partition().log
    assert rig.node.core is not None
    home = rig.node.core.directory.of(log.disk)
    assert home is not None
    home.truncate(log, 10, lambda: None)
    rig.partition().truncated()
    ends[0]()
    assert home.cleaned_offsets.get((TOPIC, 0), 0) <= 10


def test_the_old_goes_only_when_the_new_would_survive_a_power_cut() -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    rig.node.pass_time(SOON_MS)
    trace, path = rig.node.disk.trace, f"logs/{TOPIC}-0/{names.offset_name(0, names.LOG)}"
    staged = trace.index(f"rename {path}{names.CLEANED} {path}{names.SWAP}")
    aside = trace.index(f"rename {path} {path}{names.DELETED}")
    in_place = trace.index(f"rename {path}{names.SWAP} {path}")
    removed = trace.index(f"remove {path}{names.DELETED}")
    assert staged < aside < in_place < removed
    assert f"sync logs/{TOPIC}-0" in trace[staged:aside]
    assert f"sync logs/{TOPIC}-0" in trace[in_place:removed]


def test_groups_that_come_all_at_once_are_put_in_place_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "STEP_BYTES_MAX", 1)
    monkeypatch.setattr(cleaning, "STEP_BYTES_MIN", 1_000_000)
    rig = Rig()
    rig.create(**SMALL, segment_index_bytes="16")  # no two segments become one
    fill(rig)
    rig.node.pass_time(SOON_MS)
    renames = [line.split()[2] for line in rig.node.disk.trace if line.endswith(names.LOG + names.SWAP)]
    assert renames == [f"logs/{TOPIC}-0/{names.offset_name(base, names.LOG)}{names.SWAP}" for base in (0, 3, 6, 9)]
    assert found(rig) == CLEAN
    assert leftovers(rig) == []


def test_a_worker_that_is_still_at_a_deleted_log_never_meets_the_next_of_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig(log_cleaner_threads="2")
    rig.create(**SMALL)
    fill(rig)
    with monkeypatch.context() as slow:
        slow.setattr(cleaning, "STEP_MS_MAX", 10**9)
        until_under_way(rig)
    (lane,) = cleaner(rig).lanes
    rig.delete()
    rig.create(**SMALL)
    assert lane.key == (TOPIC, 0)
    assert cleaner(rig)._plan(rig.partition()) is None
    fill(rig, 3)
    rig.node.pass_time(SOON_MS)
    assert [one[0] for one in found(rig)] == [6, 7, 8, 9]
    assert not under_way(rig)


def test_groups_that_wait_when_a_log_is_cut_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "STEP_BYTES_MIN", 1_000_000)
    rig = Rig()
    rig.node.disk.flush_ms_min = rig.node.disk.flush_ms_max = 100
    rig.create(**SMALL, segment_index_bytes="16")  # no two segments become one
    fill(rig)
    while rig.partition().log.staged < 0:
        rig.node.pass_time(5)
    assert rig.node.core is not None
    log = rig.partition().log
    home = rig.node.core.directory.of(log.disk)
    assert home is not None
    home.truncate(log, log.end_offset - 1, lambda: None)
    rig.partition().truncated()
    rig.node.pass_time(300)
    assert not under_way(rig)
    assert leftovers(rig) == []


def test_a_log_is_not_compacted_into_the_disk_s_reserve() -> None:
    rig = Rig(tapelog_disk_reserve_bytes="5000")
    rig.create(**SMALL)
    fill(rig)
    disk = rig.node.disk
    disk.capacity_bytes = disk.total_bytes() - disk.free_bytes() + 5_100
    rig.node.pass_time(SOON_MS)
    assert not [line for line in disk.trace if line.startswith("create") and line.endswith(names.CLEANED)]
    assert cleaner(rig).schedule.records[TOPIC, 0].failures > 0
    disk.capacity_bytes = None
    rig.node.pass_time(60_000)
    assert found(rig) == CLEAN


def test_a_topic_that_is_not_compacted_any_more_is_left_alone_at_once() -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    until_under_way(rig)
    alter(rig, 2, TOPIC, cleanup_policy="delete")
    rig.node.pass_time(SOON_MS)
    assert len(found(rig)) == 13
    assert leftovers(rig) == []


@pytest.mark.parametrize("where", ["sync", ".index.swap", ".txnindex.swap", ".log.swap", ".log"])
def test_a_disk_that_fails_in_the_middle_of_a_swap_leaves_a_log_that_can_be_opened(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    before, failed, sync, rename = found(rig), [], SimDisk.sync_dir, SimDisk.rename
    directory = f"logs/{TOPIC}-0"

    def sync_dir(self: SimDisk, path: str) -> None:
        staged = path == directory and any(name.endswith(names.LOG + names.SWAP) for name in self.listdir(path))
        if where == "sync" and staged and not failed:
            failed.append(path)
            raise DiskError("EIO")
        sync(self, path)

    def renamed(self: SimDisk, old: str, new: str) -> None:
        if old.startswith(directory) and old.endswith(where) and not new.endswith(names.SWAP) and not failed:
            failed.append(old)
            raise DiskError("EIO")
        rename(self, old, new)

    with monkeypatch.context() as broken:
        broken.setattr(SimDisk, "sync_dir", sync_dir)
        broken.setattr(SimDisk, "rename", renamed)
        rig.node.pass_time(SOON_MS)
    assert failed
    assert rig.node.failure is not None, "the only directory is offline"
    rig.reboot(rig.node.kill)
    assert found(rig) in (before, CLEAN)
    assert leftovers(rig) == []


def test_a_topic_on_hold_keeps_everything_whatever_the_cluster_s_default_says() -> None:
    rig = Rig()
    rig.create(segment_ms="1000", min_cleanable_dirty_ratio="0.01", tapelog_tier_hold="true")
    fill(rig)
    alter(rig, 4, "", log_cleanup_policy="compact")
    rig.node.pass_time(SOON_MS)
    assert rig.partition().log.config.compact
    assert len(found(rig)) == 13
    alter(rig, 2, TOPIC, tapelog_tier_hold="false")
    rig.node.pass_time(SOON_MS)
    assert found(rig) == CLEAN


def test_records_deleted_while_a_log_is_cleaned_stay_deleted() -> None:
    rig = Rig()
    rig.create(**{**SMALL, "cleanup_policy": "compact,delete"}, retention_ms="-1")
    fill(rig)
    until_under_way(rig)
    log = rig.partition().log
    log.increment_start_offset(5)
    log.delete_segments(log.retention_plan(rig.clock.wall_ms(), log.end_offset))
    rig.node.pass_time(10 * SOON_MS)
    assert log.start_offset == 5
    data = rig.fetch(9)
    assert data.error_code == 0
    assert log.segments.items[0].base_offset >= 3
    rig.reboot(rig.node.kill)
    assert rig.fetch(9).error_code == 0


def test_a_worker_that_dies_costs_only_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "DEATHS_PER_THOUSAND", 1000)
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    rig.node.pass_time(SOON_MS)
    assert len(found(rig)) == 13
    assert cleaner(rig).schedule.records[TOPIC, 0].failures > 1
    assert rig.produce(rig.batch(key=b"q")).error_code == 0
    monkeypatch.setattr(cleaning, "DEATHS_PER_THOUSAND", 0)
    rig.node.pass_time(400_000)
    assert found(rig)[:3] == CLEAN[:3]
    assert leftovers(rig) == []


def test_a_damaged_log_is_left_alone_and_told_and_tried_again_when_its_settings_change(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    path = f"logs/{TOPIC}-0/{names.offset_name(3, names.LOG)}"
    rig.node.disk.flip_bit(path, 70, 1)
    rig.node.pass_time(SOON_MS)
    record = cleaner(rig).schedule.records[TOPIC, 0]
    assert "wrong checksum" in record.uncleanable
    assert f"{TOPIC}-0 cannot be compacted" in caplog.text
    assert leftovers(rig) == []
    began = caplog.text.count("cannot be compacted")
    rig.node.pass_time(10 * SOON_MS)
    assert caplog.text.count("cannot be compacted") == began, "it is not tried again and again"
    assert rig.produce(rig.batch(key=b"q")).error_code == 0
    rig.node.disk.flip_bit(path, 70, 1)
    alter(rig, 2, TOPIC, delete_retention_ms="1000")
    rig.node.pass_time(SOON_MS)
    assert record.uncleanable == ""
    assert (9, b"a", b"a3") in found(rig)
    assert (0, b"a", b"a0") not in found(rig)


@pytest.mark.parametrize("error", [DiskError("EIO"), FileNotFoundError("no such index")])
def test_a_log_whose_indexes_cannot_be_read_is_put_off(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)

    def unreadable(self: StoredLog, start: int, upper: int) -> list[object]:
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(StoredLog, "aborted_transactions", unreadable)
        rig.node.pass_time(SOON_MS)
        assert cleaner(rig).schedule.records[TOPIC, 0].failures > 0
        assert not under_way(rig)
    rig.node.pass_time(2 * SOON_MS)
    assert found(rig) == CLEAN


def test_with_a_map_too_small_a_log_is_clean_after_several_rounds() -> None:
    rig = Rig(log_cleaner_dedupe_buffer_size="48")  # three slots, two keys
    rig.create(**SMALL)
    fill(rig, 6)
    rig.node.pass_time(10 * SOON_MS)
    assert found(rig) == [(15, b"a", b"a5"), (16, b"b", b"b5"), (17, b"c", b"c5"), (18, b"z", b"end")]


def test_two_workers_clean_two_logs_at_once_and_end_when_idle() -> None:
    rig = Rig(log_cleaner_threads="0")
    for topic in ("one", "two"):
        rig.create(topic, **SMALL)
        fill(rig, topic=topic)
    rig.node.pass_time(6_000)
    alter(rig, 4, "", log_cleaner_threads="2")
    most = 0
    for _ in range(SOON_MS // 20):
        rig.node.pass_time(20)
        most = max(most, sum(lane.held is not None for lane in cleaner(rig).lanes))
    assert most == 2
    assert found(rig, "one") == found(rig, "two") == CLEAN
    rig.node.pass_time(2 * cleaner_module.IDLE_MS)
    assert cleaner(rig).lanes == []


def test_without_workers_nothing_is_cleaned_until_there_are_some() -> None:
    rig = Rig(log_cleaner_threads="0")
    rig.create(**SMALL)
    fill(rig)
    rig.node.pass_time(SOON_MS)
    assert len(found(rig)) == 13
    alter(rig, 4, "", log_cleaner_threads="1")
    rig.node.pass_time(5_000)
    assert found(rig) == CLEAN


def test_a_full_disk_puts_a_cleaning_off() -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    disk = rig.node.disk
    disk.capacity_bytes = disk.total_bytes() - disk.free_bytes() + 50
    rig.node.pass_time(SOON_MS)
    assert len(found(rig)) == 13
    disk.capacity_bytes = None
    rig.node.pass_time(60_000)
    assert found(rig) == CLEAN


def described(rig: Rig) -> PartitionCleaning | None:
    """What an operator is told."""
    answer = rig.client.call(DescribeLogDirsRequest(topics=None), 4)
    return next(part.cleaning for one in answer.results[0].topics if one.name == TOPIC for part in one.partitions)


def test_operators_are_told_how_clean_a_log_is_and_why_it_cannot_be_cleaned() -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    told = described(rig)
    assert told is not None
    assert (told.clean_bytes, told.dirty_bytes > 0, told.cleaned_ms) == (0, True, -1)
    rig.node.pass_time(SOON_MS)
    told = described(rig)
    assert told is not None
    assert (told.cleaned_offset, told.clean_bytes > 0, told.dirty_bytes, told.uncleanable) == (12, True, 0, "")
    assert told.cleaned_ms > 0
    rig.node.disk.flip_bit(f"logs/{TOPIC}-0/{names.offset_name(0, names.LOG)}", 70, 1)
    keyed(rig, (b"a", b"9"))
    keyed(rig, (b"z", b"end"))
    rig.node.pass_time(SOON_MS)
    told = described(rig)
    assert told is not None
    assert "wrong checksum" in told.uncleanable


def test_a_log_that_is_not_compacted_is_told_without_such_things() -> None:
    rig = Rig()
    rig.create()
    assert described(rig) is None

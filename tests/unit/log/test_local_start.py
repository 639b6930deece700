"""Two starts: of the whole log, and of what is here of it. What the tier has may go from the disk, nothing else."""

from __future__ import annotations

import pytest

from tapelog.log import names
from tapelog.log.config import LogConfig
from tapelog.log.log import Log
from tapelog.log.manager import LogDirectory, NewLog
from tapelog.log.snapshots import render_snapshot
from tapelog.log.trim import Cut, Seed
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.record_batch import Record, build_batch

pytestmark = pytest.mark.both_ways

KEY = ("orders", 0)
TIERED = {"remote.storage.enable": "true", "segment.bytes": "1000", "retention.ms": "1000000"}


class Place:
    """A data directory with one log whose topic is tiered."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.config = LogConfig({**TIERED, **settings})
        self.clock = SimClock()
        self.disk = SimDisk(SimEntropy(3))
        self._open()
        self.directory.create_many([NewLog(*KEY, b"\x01" * 16, self.config)])

    def _open(self) -> None:
        self.directory = LogDirectory.open(
            self.disk, "/data", clock=self.clock, entropy=SimEntropy(4), cluster_id="c", node_id=1
        )

    @property
    def log(self) -> Log:
        return self.directory.logs[KEY]

    def fill(self, count: int, epoch: int = 0) -> None:
        for _ in range(count):
            self.clock.advance(1)
            batch = build_batch([Record(0, self.clock.wall_ms(), None, b"v" * 30)])
            self.log.append(batch, 0, len(batch), epoch)
        self.log.write()
        self.log.flush()

    def retain(self) -> int:
        """One run of retention, as the node does it; returns how many segments went."""
        plan = self.log.retention_plan(self.clock.wall_ms(), self.log.written_end)
        if plan:
            self.directory.before_letting_go([(self.log, plan)])
            self.log.delete_segments(plan)
        self.log.invariants()
        return len(plan)

    def restart(self, *, clean: bool = False) -> None:
        """How the topic is configured is not known yet when a node opens its logs."""
        if clean:
            self.directory.close({}, 1)
        self.disk = self.disk.kill() if clean else self.disk.crash()
        self._open()
        self.directory.open_all([KEY], lambda _: LogConfig())
        self.log.invariants()
        self.log.update_config(self.config)
        self.log.invariants()


def bases(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments.items]


@pytest.mark.parametrize("setting", [{"local.retention.bytes": "2000"}, {"local.retention.ms": "5"}])
def test_what_the_tier_has_goes_by_local_retention_and_the_whole_log_begins_where_it_did(
    setting: dict[str, str],
) -> None:
    place = Place(setting)
    place.fill(100)
    place.directory.write_checkpoints()
    assert place.retain() == 0  # the tier has nothing
    place.log.tiered_end = bases(place.log)[3]
    assert place.retain() == 3
    assert place.retain() == 0
    assert place.log.start_offset == 0
    assert place.log.local_start_offset == place.log.tiered_end == bases(place.log)[0]


def test_local_retention_is_that_of_the_whole_log_unless_it_is_set() -> None:
    config = LogConfig({"retention.ms": "7", "retention.bytes": "8"})
    assert (config.local_retention_ms, config.local_retention_bytes) == (7, 8)
    config = LogConfig({"retention.ms": "7", "local.retention.ms": "5", "local.retention.bytes": "-1"})
    assert (config.local_retention_ms, config.local_retention_bytes) == (5, -1)


def test_a_segment_stays_until_a_checkpoint_has_what_only_it_tells() -> None:
    place = Place({"local.retention.bytes": "0"})
    place.fill(100)
    place.log.tiered_end = bases(place.log)[3]
    assert place.retain() == 0
    place.directory.write_checkpoints()
    assert place.retain() == 3


def test_a_read_below_the_local_start_never_gets_what_comes_later() -> None:
    place = Place({"local.retention.bytes": "0"})
    place.fill(100)
    place.directory.write_checkpoints()
    place.log.tiered_end = bases(place.log)[3]
    place.retain()
    with pytest.raises(KafkaError) as refused:
        place.log.read(1, 1 << 20, 100, True)
    assert refused.value.code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert place.log.read(place.log.local_start_offset, 1 << 20, 100, True) is not None


@pytest.mark.parametrize("clean", [True, False])
def test_both_starts_and_the_epochs_of_what_is_gone_survive_a_restart(clean: bool) -> None:
    place = Place({"local.retention.bytes": "0"})
    place.fill(20, epoch=2)
    place.fill(20, epoch=3)
    place.fill(20, epoch=5)
    place.directory.write_checkpoints()
    place.log.tiered_end = place.log.active.base_offset
    assert place.retain() > 2
    before = (place.log.start_offset, place.log.local_start_offset, place.log.leader_epoch_cache.entries())
    assert before[2] == [(2, 0), (3, 20), (5, 40)]
    place.disk.sync_all()
    place.restart(clean=clean)
    assert (place.log.start_offset, place.log.local_start_offset, place.log.leader_epoch_cache.entries()) == before
    assert place.log.end_offset == 60


def test_segments_that_a_power_cut_brings_back_leave_no_gap() -> None:
    for seed_number in range(30):
        place = Place({"local.retention.bytes": "0"})
        place.disk.entropy = SimEntropy(seed_number)
        place.fill(100)
        place.directory.write_checkpoints()
        place.log.tiered_end = place.log.active.base_offset
        assert place.retain() > 5
        place.restart()
        assert place.log.start_offset == 0
        offset = place.log.local_start_offset
        while offset < 100:
            region = place.log.read(offset, 1, 100, True)
            assert region is not None
            assert int.from_bytes(region.read()[:8], "big") == offset
            offset = region.next_offset


def test_a_start_that_moved_into_what_is_gone_is_kept_too() -> None:
    place = Place({"local.retention.bytes": "0"})
    place.fill(60)
    place.directory.write_checkpoints()
    place.log.tiered_end = place.log.active.base_offset
    place.retain()
    assert place.log.increment_start_offset(5)
    assert place.directory.start_offsets_moved()
    place.directory.write_start_offsets()
    place.restart()
    assert place.log.start_offset == 5 < place.log.local_start_offset
    assert place.log.increment_start_offset(place.log.local_start_offset + 1)
    place.restart()
    assert place.log.start_offset == 5  # it was not written down; the tier's manifest will say


def test_where_nothing_is_copied_any_more_retention_is_about_what_is_here() -> None:
    place = Place({"remote.log.copy.disable": "true", "retention.ms": "50"})
    place.fill(60)
    place.log.tiered_end = bases(place.log)[1]
    place.directory.write_checkpoints()
    place.clock.advance(30)
    gone = place.retain()
    assert gone > 2
    assert place.log.start_offset == place.log.local_start_offset == bases(place.log)[0]
    place.disk.sync_all()
    place.restart()
    assert place.log.start_offset == place.log.local_start_offset == bases(place.log)[0]


def test_where_nothing_is_copied_any_more_the_tier_gives_up_what_is_older_first() -> None:
    place = Place({"local.retention.bytes": "0"})
    place.fill(60)
    place.directory.write_checkpoints()
    place.log.tiered_end = bases(place.log)[2]
    assert place.retain() == 2
    place.config = LogConfig({**TIERED, "remote.log.copy.disable": "true", "retention.ms": "0"})
    place.log.update_config(place.config)
    place.clock.advance(1000)
    assert place.retain() == 0
    place.log.increment_start_offset(place.log.local_start_offset)
    assert place.retain() > 0


def test_what_deleterecords_gave_up_goes_whether_the_tier_has_it_or_not() -> None:
    place = Place({})
    place.fill(100)
    second = bases(place.log)[1]
    place.log.increment_start_offset(second)
    assert place.retain() == 1
    assert place.log.start_offset == place.log.local_start_offset == second


def seed(start_offset: int) -> Seed:
    """What a tier tells of a log with two leader epochs and one producer."""
    other = Place({})
    batch = build_batch([Record(0, 1, None, b"v")], producer_id=9, producer_epoch=0, base_sequence=0)
    other.log.append(batch, 0, len(batch), 0)
    return Seed(start_offset, [(1, 0), (4, 70), (6, 900)], render_snapshot(other.log.producers))


def cut(place: Place, offset: int, seed: Seed) -> None:
    done: list[object] = []
    place.directory.truncate_many([Cut(place.log, offset, start_anew=True, seed=seed)], done.append)
    assert done == [None]


def test_a_log_that_was_seeded_begins_in_the_tier_and_goes_on_here() -> None:
    place = Place({})
    place.fill(10)
    cut(place, 500, seed(20))
    place.log.invariants()
    for _ in range(3):
        log = place.log
        assert (log.start_offset, log.local_start_offset, log.end_offset) == (20, 500, 500)
        assert log.leader_epoch_cache.entries() == [(1, 20), (4, 70)]
        assert list(log.producers.entries) == [9]
        place.restart()
    place.fill(3, epoch=6)
    assert place.log.leader_epoch_cache.entries() == [(1, 20), (4, 70), (6, 500)]
    place.restart()
    assert (place.log.start_offset, place.log.local_start_offset, place.log.end_offset) == (20, 500, 503)
    assert list(place.log.producers.entries) == [9]


def test_a_power_cut_while_a_log_is_seeded_leaves_it_seeded_or_as_if_nothing_was_ever_here() -> None:
    ends = set()
    for seed_number in range(60):
        place = Place({})
        place.disk.entropy = SimEntropy(seed_number)
        place.fill(10)
        place.directory.write_checkpoints()
        place.disk.syncs_until_failure = seed_number % 8
        done: list[object] = []
        place.directory.truncate_many([Cut(place.log, 500, start_anew=True, seed=seed(0))], done.append)
        place.disk.syncs_until_failure = None
        place.restart()
        log = place.log
        if log.end_offset == 500:
            assert (log.start_offset, log.local_start_offset) == (0, 500)
            assert log.leader_epoch_cache.entries() == [(1, 0), (4, 70)]
            assert list(log.producers.entries) == [9]
        else:
            assert (log.start_offset, log.local_start_offset) == (0, 0)
            assert log.end_offset <= 10
        ends.add(log.end_offset)
    assert {0, 10, 500} <= ends


def test_a_topic_that_is_not_tiered_any_more_begins_where_its_log_does_here() -> None:
    place = Place({"local.retention.bytes": "0"})
    place.fill(60)
    place.directory.write_checkpoints()
    place.log.tiered_end = place.log.active.base_offset
    place.retain()
    place.log.update_config(LogConfig())
    assert place.log.start_offset == place.log.local_start_offset == place.log.segments.items[0].base_offset


def test_a_log_of_the_same_name_inherits_nothing() -> None:
    place = Place({})
    cut(place, 500, seed(0))
    place.directory.delete(*KEY)
    place.directory.create_many([NewLog(*KEY, b"\x02" * 16, place.config)])
    place.fill(3)
    place.restart()
    assert (place.log.start_offset, place.log.local_start_offset, place.log.end_offset) == (0, 0, 3)


def test_what_is_written_after_a_truncation_below_the_local_start_is_not_taken_for_what_the_tier_has() -> None:
    place = Place({})
    cut(place, 500, seed(0))
    done: list[object] = []
    place.directory.truncate_many([Cut(place.log, 100, start_anew=True)], done.append)
    place.log.flush()
    place.fill(3, epoch=9)
    place.restart()
    assert (place.log.start_offset, place.log.local_start_offset, place.log.end_offset) == (100, 100, 103)


def test_an_empty_log_without_its_seed_begins_anew() -> None:
    place = Place({})
    cut(place, 500, seed(0))
    place.disk.remove(place.log.path_of(500, names.SNAPSHOT))
    place.disk.sync_all()
    place.restart()
    assert (place.log.start_offset, place.log.local_start_offset, place.log.end_offset) == (0, 0, 0)
    assert place.log.leader_epoch_cache.entries() == []

"""A data directory: whose it is, what is in it, checkpoints, creation and deletion of many logs."""

from __future__ import annotations

import pytest

from tapelog.base.ports import DiskError, DiskFullError
from tapelog.base.timers import Timers
from tapelog.log.config import LogConfig
from tapelog.log.manager import CHECKPOINT_BATCHES, CHECKPOINT_LOGS_MAX, LogDirectory, NewLog, WrongDirectoryError
from tapelog.log.trim import Cut
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.wire.record_batch import Record, build_batch

ROOT = "/data"
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
TOPIC_ID = bytes(range(16))


class House:
    """A data directory on a simulated disk."""

    def __init__(self) -> None:
        self.clock = SimClock()
        self.disk = SimDisk(SimEntropy(3))
        self.directory = self.open()

    def open(self, *, cluster_id: str = CLUSTER, node_id: int = 1) -> LogDirectory:
        self.directory = LogDirectory.open(
            self.disk, ROOT, clock=self.clock, entropy=SimEntropy(4), cluster_id=cluster_id, node_id=node_id
        )
        return self.directory

    def create(self, *names: tuple[str, int]) -> None:
        self.directory.create_many([NewLog(topic, number, TOPIC_ID, LogConfig()) for topic, number in names])

    def fill(self, topic: str, partition: int, count: int) -> None:
        log = self.directory.logs[topic, partition]
        for _ in range(count):
            batch = build_batch([Record(0, self.clock.wall_ms(), None, b"value")])
            log.append(batch, 0, len(batch), 0)
        log.write()

    def reopen(self, *, kill: bool) -> list[tuple[str, int]]:
        self.disk = self.disk.kill() if kill else self.disk.crash()
        self.open()
        found = self.directory.partitions()
        self.directory.open_all(found, lambda topic: LogConfig())
        return found

    def text(self, name: str) -> str:
        return self.disk.read_file(f"{ROOT}/{name}").decode()


def test_a_directory_belongs_to_one_node_of_one_cluster() -> None:
    house = House()
    first = house.directory.directory_id
    assert len(first) == 16
    assert house.open().directory_id == first
    with pytest.raises(WrongDirectoryError, match=r"node\.id=1, expected 2"):
        house.open(node_id=2)
    with pytest.raises(WrongDirectoryError, match=r"cluster\.id"):
        house.open(cluster_id="another")


def test_many_logs_are_created_with_one_sync_and_are_there_after_a_power_cut() -> None:
    house = House()
    wanted = [("orders", number) for number in range(50)]
    syncs = sum(event.startswith("sync") for event in house.disk.trace)
    house.create(*wanted)
    assert sum(event.startswith("sync") for event in house.disk.trace) == syncs + 1
    assert sorted(house.reopen(kill=False)) == wanted
    assert house.directory.topic_id_of("orders", 7) == TOPIC_ID
    assert house.directory.topic_id_of("orders", 70) is None


def test_only_partitions_are_listed() -> None:
    house = House()
    house.create(("orders", 0), ("a-b", 3), ("__cluster_metadata", 0))
    house.disk.mkdir(f"{ROOT}/lost+found")
    assert house.directory.partitions() == [("a-b", 3), ("orders", 0)]


def test_a_clean_shutdown_leaves_everything_for_a_quick_start() -> None:
    house = House()
    house.create(("orders", 0), ("orders", 1))
    house.fill("orders", 0, 10)
    house.directory.close({("orders", 0): 10}, 77)
    assert house.text("recovery-point-offset-checkpoint") == "0\n2\norders 0 10\norders 1 0\n"
    assert house.text("replication-offset-checkpoint") == "0\n1\norders 0 10\n"
    assert house.text(".kafka_cleanshutdown") == '{"version":0,"brokerEpoch":77}'
    house.reopen(kill=True)
    assert house.directory.clean
    assert house.directory.previous_broker_epoch == 77
    assert house.directory.high_watermarks == {("orders", 0): 10}
    log = house.directory.logs["orders", 0]
    assert (log.end_offset, log.recovered_bytes) == (10, 0)
    assert not house.disk.exists(f"{ROOT}/.kafka_cleanshutdown")


def test_the_clean_marker_is_good_for_one_start() -> None:
    house = House()
    house.create(("orders", 0))
    house.directory.close({}, 1)
    house.reopen(kill=True)
    house.fill("orders", 0, 3)
    house.reopen(kill=True)
    assert not house.directory.clean
    assert house.directory.logs["orders", 0].end_offset == 3


def test_a_checkpoint_makes_everything_durable_and_bounds_recovery() -> None:
    house = House()
    house.create(("orders", 0), ("orders", 1))
    house.fill("orders", 0, 10)
    results: list[Exception | None] = []
    assert house.directory.start_checkpoint({("orders", 0): 4}, results.append)
    assert results == [None]
    assert house.directory.logs["orders", 0].durable_end == 10
    house.reopen(kill=False)
    log = house.directory.logs["orders", 0]
    assert (log.end_offset, log.recovered_bytes) == (10, 0)
    assert house.directory.high_watermarks == {("orders", 0): 4}


def test_one_checkpoint_at_a_time() -> None:
    house = House()
    timers = Timers(house.clock)
    house.disk.timers = timers
    house.create(("orders", 0))
    house.fill("orders", 0, 1)
    results: list[Exception | None] = []
    assert house.directory.start_checkpoint({}, results.append)
    assert not house.directory.start_checkpoint({}, results.append)
    while not results:
        house.clock.advance(1)
        timers.run_due()
    assert results == [None]


def test_a_log_deleted_during_a_checkpoint_leaves_no_trace() -> None:
    house = House()
    timers = Timers(house.clock)
    house.disk.timers = timers
    house.create(("orders", 0), ("orders", 1))
    house.fill("orders", 0, 5)
    house.fill("orders", 1, 5)
    results: list[Exception | None] = []
    house.directory.start_checkpoint({}, results.append)
    house.directory.delete("orders", 0)
    house.create(("orders", 0))
    while not results:
        house.clock.advance(1)
        timers.run_due()
    assert results == [None]
    assert house.text("recovery-point-offset-checkpoint") == "0\n2\norders 0 0\norders 1 5\n"
    assert house.disk.listdir(f"{ROOT}/orders-0") == ["00000000000000000000.log", "partition.metadata"]
    house.reopen(kill=True)
    assert house.directory.logs["orders", 0].end_offset == 0
    assert house.directory.logs["orders", 1].end_offset == 5


def test_a_failing_disk_is_reported() -> None:
    house = House()
    house.create(("orders", 0))
    house.fill("orders", 0, 1)
    house.disk.syncs_until_failure = 0
    results: list[Exception | None] = []
    house.directory.start_checkpoint({}, results.append)
    assert isinstance(results[0], DiskError)


def test_no_room_for_a_checkpoint_is_reported_and_the_next_one_makes_up_for_it() -> None:
    house = House()
    house.create(("orders", 0))
    house.fill("orders", 0, 5)
    house.disk.capacity_bytes = 0
    results: list[Exception | None] = []
    assert house.directory.start_checkpoint({}, results.append)
    assert isinstance(results[0], DiskFullError)
    house.disk.capacity_bytes = None
    assert house.directory.start_checkpoint({}, results.append)
    assert results[1] is None
    assert house.text("orders-0/leader-epoch-checkpoint") == "0\n1\n0 0\n"
    house.reopen(kill=True)
    assert house.directory.logs["orders", 0].recovered_bytes == 0


def test_a_checkpoint_is_due_by_what_recovery_would_cost() -> None:
    house = House()
    house.create(("orders", 0))
    assert not house.directory.checkpoint_due()
    house.directory.logs["orders", 0].batches_since_checkpoint = CHECKPOINT_BATCHES + 1
    assert house.directory.checkpoint_due()
    house.directory.write_checkpoints()
    house.fill("orders", 0, 1)
    house.directory.write_checkpoints()
    assert not house.directory.checkpoint_due()


def test_a_background_checkpoint_takes_the_busiest_logs_first() -> None:
    house = House()
    count = CHECKPOINT_LOGS_MAX + 20
    house.create(*[("orders", number) for number in range(count)])
    for number in range(count):
        house.fill("orders", number, 2 if number >= 20 else 1)
    results: list[Exception | None] = []
    house.directory.start_checkpoint({}, results.append)
    ends = [house.directory.logs["orders", number].checkpointed_end for number in range(count)]
    assert ends == [0] * 20 + [2] * CHECKPOINT_LOGS_MAX
    house.directory.start_checkpoint({}, results.append)
    assert house.directory.logs["orders", 0].checkpointed_end == 1
    assert results == [None, None]


def test_a_full_disk_does_not_keep_logs_from_being_deleted() -> None:
    house = House()
    house.create(("orders", 0))
    house.fill("orders", 0, 10)
    house.directory.logs["orders", 0].increment_start_offset(8)
    house.directory.write_checkpoints()
    house.directory.write_start_offsets()
    house.disk.capacity_bytes = 0
    house.directory.delete("orders", 0)
    assert house.directory.partitions() == []
    with pytest.raises(DiskFullError):
        house.create(("orders", 0))  # not before the checkpoints have forgotten its namesake
    assert house.directory.partitions() == []
    house.disk.capacity_bytes = None
    house.create(("orders", 0))
    house.fill("orders", 0, 3)
    house.directory.logs["orders", 0].flush()
    house.reopen(kill=False)
    log = house.directory.logs["orders", 0]
    assert (log.start_offset, log.end_offset) == (0, 3)


@pytest.mark.parametrize("seed", range(8))
def test_logs_created_before_the_disk_was_full_are_durable(seed: int) -> None:
    house = House()
    house.disk.entropy = SimEntropy(seed)
    house.create(("payments", 0))
    house.disk.capacity_bytes = house.disk.total_bytes() - house.disk.free_bytes() + 60  # one partition.metadata
    with pytest.raises(DiskFullError):
        house.create(("orders", 0), ("orders", 1))
    house.disk.capacity_bytes = None
    house.fill("orders", 0, 3)
    house.directory.logs["orders", 0].flush()
    house.reopen(kill=False)
    assert house.directory.logs["orders", 0].end_offset == 3


def test_start_offsets_survive_a_crash() -> None:
    house = House()
    house.create(("orders", 0), ("orders", 1))
    house.fill("orders", 0, 10)
    house.directory.logs["orders", 0].flush()
    house.directory.logs["orders", 0].increment_start_offset(6)
    house.directory.write_start_offsets()
    assert house.text("log-start-offset-checkpoint") == "0\n1\norders 0 6\n"
    house.reopen(kill=False)
    assert house.directory.logs["orders", 0].start_offset == 6


def test_a_deleted_log_does_not_come_back_nor_haunt_its_successor() -> None:
    house = House()
    house.create(("orders", 0), ("orders", 1), ("other", 0))
    house.fill("orders", 0, 10)
    house.directory.logs["orders", 0].increment_start_offset(5)
    house.directory.write_start_offsets()
    house.directory.write_checkpoints()
    house.directory.delete_many([("orders", 0), ("orders", 1)])
    house.create(("orders", 0))
    log = house.directory.logs["orders", 0]
    assert (log.start_offset, log.end_offset) == (0, 0)
    assert house.reopen(kill=False) == [("orders", 0), ("other", 0)]
    log = house.directory.logs["orders", 0]
    assert (log.start_offset, log.end_offset) == (0, 0)


def test_deletion_interrupted_by_a_crash_is_finished_at_the_next_start() -> None:
    house = House()
    house.disk.timers = Timers(house.clock)  # whose time never comes
    house.create(("orders", 0))
    house.directory.delete("orders", 0)
    assert any(name.endswith("-delete") for name in house.disk.listdir(ROOT))
    assert house.reopen(kill=True) == []
    assert not any(name.endswith("-delete") for name in house.disk.listdir(ROOT))


def test_damaged_checkpoints_count_as_absent() -> None:
    house = House()
    house.create(("orders", 0))
    house.fill("orders", 0, 10)
    house.directory.write_checkpoints()
    house.disk.write_file(f"{ROOT}/recovery-point-offset-checkpoint", b"rubbish")
    house.reopen(kill=True)
    log = house.directory.logs["orders", 0]
    assert log.end_offset == 10
    assert log.recovered_bytes > 0


def test_many_logs_are_cut_with_one_write_of_the_recovery_points() -> None:
    house = House()
    house.create(*[("orders", number) for number in range(20)])
    for number in range(20):
        house.fill("orders", number, 10)
    house.directory.write_checkpoints()
    syncs = sum(event.startswith("sync") for event in house.disk.trace)
    cuts = [Cut(log, 4) for log in house.directory.logs.values()]
    told: list[DiskError | None] = []
    house.directory.truncate_many(cuts, told.append)
    assert told == [None]
    assert sum(event.startswith("sync") for event in house.disk.trace) - syncs <= 2
    assert {log.end_offset for log in house.directory.logs.values()} == {4}
    assert house.text("recovery-point-offset-checkpoint").split("\n")[2] == "orders 0 4"


def test_a_cut_that_is_not_wanted_any_more_is_not_made() -> None:
    house = House()
    house.create(("orders", 0), ("orders", 1))
    house.fill("orders", 0, 10)
    house.fill("orders", 1, 10)
    first, second = house.directory.logs.values()
    house.directory.truncate_many([Cut(first, 4, wanted=lambda: False), Cut(second, 4)], lambda _: None)
    assert (first.end_offset, second.end_offset) == (10, 4)


def test_start_offsets_are_lowered_before_a_log_is_cut_below_them() -> None:
    house = House()
    house.create(("orders", 0))
    house.fill("orders", 0, 10)
    log = house.directory.logs["orders", 0]
    log.increment_start_offset(8)
    assert house.directory.start_offsets_moved()
    house.directory.write_start_offsets()
    assert not house.directory.start_offsets_moved()
    house.directory.truncate_many([Cut(log, 5)], lambda _: None)
    log.flush()
    house.reopen(kill=False)
    log = house.directory.logs["orders", 0]
    assert (log.start_offset, log.end_offset) == (5, 5), "a start beyond the end would lose what comes in between"


def test_leader_epochs_survive_a_stop_in_the_middle_of_a_checkpoint() -> None:
    house = House()
    house.disk.timers = Timers(house.clock)
    house.create(("orders", 0))
    house.fill("orders", 0, 3)
    assert house.directory.start_checkpoint({}, lambda _: None)
    house.directory.close({}, 1)
    house.disk.timers = None
    house.reopen(kill=True)
    assert house.directory.clean
    assert house.directory.logs["orders", 0].leader_epoch_cache.entries() == [(0, 0)]

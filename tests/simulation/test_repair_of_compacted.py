"""Bit rot in a compacted log, whose replicas differ: it is made anew with what another has, and says the same."""

from __future__ import annotations

import pytest

from tapelog.log.log import Log
from tapelog.replication.partition import Partition
from tapelog.sim.cluster import Cluster
from tapelog.sim.machine import Machine
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tapelog.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tapelog.wire.record_batch import Record, build_batch, iterate
from tests.simulation.test_repair import TOPIC, held, right

KEYS = 24
Table = dict[bytes | None, bytes]
SETTINGS = {
    "tapelog.scrub.interval.ms": "5000",
    "log.cleaner.backoff.ms": "500",
    "log.cleaner.min.cleanable.ratio": "0.01",
}
COMPACTED = {
    "cleanup.policy": "compact",
    "delete.retention.ms": "0",
    "internal.segment.bytes": "1000",
    "index.interval.bytes": "200",
    "segment.ms": "100000000",
}


class Life:
    """A compacted topic on three nodes, of which some compact and some do not."""

    def __init__(self, lazy: str) -> None:
        self.cluster = cluster = Cluster(11, 3, SETTINGS)
        cluster.promises.compacts = True
        cluster.boot()
        self.client = cluster.session("writer")
        configs = [CreatableTopicConfig(name=name, value=value) for name, value in COMPACTED.items()]
        topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=3, configs=configs)
        assert self.client.call(CreateTopicsRequest(topics=[topic], timeout_ms=5000), 7).topics[0].error_code == 0
        cluster.world.run(2000)
        self.leader = cluster.machines[held(cluster.machines[0]).leader - 1]
        self.table: Table = {}
        self.victim = self.leader
        self.lazy = lazy

    def choose(self, who: str) -> None:
        """Whose disk rots; and those who do not compact stop doing so."""
        others = [one for one in self.cluster.machines if one is not self.leader]
        self.victim = self.leader if who == "leader" else others[0]
        for machine in self.cluster.machines:
            if (machine is self.victim) == (self.lazy == "victim"):
                assert machine.core is not None
                machine.core.cleaner.stop()

    def produce(self, batch: bytes) -> None:
        data = [TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=0, records=batch)])]
        answer = self.client.call(ProduceRequest(acks=-1, timeout_ms=5000, topic_data=data), 9)
        assert answer.responses[0].partition_responses[0].error_code == 0

    def write(self, count: int, first: int = 0) -> None:
        for number in range(first, first + count):
            key = b"gone" if number in (1, 90) else b"k%d" % (number % KEYS)
            value = None if number % 5 == 0 else b"%04d" % number * 30
            self.produce(build_batch([Record(0, 1000 + number, key, value)]))
            self.table.pop(key, None)
            if value is not None:
                self.table[key] = value
        self.cluster.world.run(20_000)


def table_of(partition: Partition) -> Table:
    """What a reader of this replica makes of it."""
    log, offset, found = partition.log, partition.log.start_offset, Table()
    while (region := log.read(offset, 1 << 20, log.written_end, True)) is not None:
        data = region.read()
        for record in iterate(data, 0, len(data)):
            found.pop(record.key, None)
            if record.value is not None:
                found[record.key] = record.value
        offset = region.next_offset
    return found


def sizes(machine: Machine) -> int:
    return held(machine).log.size_bytes


@pytest.mark.parametrize("who", ["leader", "follower"])
@pytest.mark.parametrize("lazy", ["victim", "others"])
def test_a_compacted_log_is_made_anew_and_says_the_same(who: str, lazy: str) -> None:
    life = Life(lazy)
    life.choose(who)
    for first in (0, 95, 105):  # the tombstone is dated, and then goes
        life.write(95 if first == 0 else 10, first)
    cluster, victim, log = life.cluster, life.victim, held(life.victim).log
    other = next(one for one in cluster.machines if one is not victim)
    assert (sizes(victim) > 2 * sizes(other)) if lazy == "victim" else (sizes(other) > 2 * sizes(victim))
    assert len(log.segments.items) > 3
    segment = log.segments.items[0]
    victim.disk.flip_bit(segment.path, segment.size // 2, 5)
    core = victim.core
    assert core is not None and not right(victim)
    assert cluster.world.run_until(lambda: core.scrubbing.repairs.repaired > 0, 120_000), "nobody repaired it"
    assert core.scrubbing.found >= 1 and not log.damaged and not log.moving
    assert right(victim)
    assert (TOPIC, 0) not in core.directory.items[0].cleaned_offsets, "what came from another may be less clean"
    assert b"gone" not in life.table
    assert table_of(held(victim)) == life.table, "what was deleted long ago does not come back"
    image = core.image.partition(TOPIC, 0)
    assert image is not None and sorted(image.isr) == [1, 2, 3]
    core.cleaner.stopped = False
    life.write(20, 115)
    assert [table_of(held(machine)) for machine in cluster.machines] == [life.table] * 3
    victim.power_cut()
    cluster.start(victim)
    assert cluster.world.run_until(cluster.whole, 60_000)
    assert table_of(held(victim)) == life.table
    assert right(victim)
    names = victim.disk.listdir("logs")
    assert [name for name in names if name.startswith(TOPIC)] == [f"{TOPIC}-0"]


def test_what_others_removed_right_before_the_point_leaves_no_gap() -> None:
    life = Life("victim")
    life.choose("follower")
    life.write(20)
    cluster, victim = life.cluster, life.victim
    log, core = held(victim).log, victim.core
    log.roll()  # from here on its segments begin elsewhere than those of others
    others = [held(machine).log for machine in cluster.machines if machine is not victim]
    for number in range(200, 240):
        life.produce(build_batch([Record(0, 1000 + number, b"same", b"%04d" % number * 30)]))
        life.table[b"same"] = b"%04d" % number * 30
        point = log.active.base_offset
        apart = all(point not in [one.base_offset for one in other.segments.items] for other in others)
        if point > 20 and apart and all(other.active.base_offset > point for other in others):
            break
    cluster.world.run(20_000)
    assert point == log.active.base_offset and all(other.active.base_offset > point for other in others)
    rotten = next(segment for segment in log.segments.items if segment.base_offset >= 20)
    victim.disk.flip_bit(rotten.path, 100, 5)  # a record that others have removed
    assert core is not None
    assert cluster.world.run_until(lambda: core.scrubbing.repairs.repaired > 0, 120_000), "nobody repaired it"
    assert right(victim), "no segment ends before the next begins"
    assert table_of(held(victim)) == life.table
    end = log.written_end
    victim.power_cut()
    found = Log.open(victim.disk, f"logs/{TOPIC}-0", topic=TOPIC, partition=0, config=log.config, clock=core.clock)
    assert found.end_offset == end, "recovery believes all of it, from the beginning"
    assert point in [segment.base_offset for segment in found.segments.items]


def test_a_log_that_begins_within_a_batch_is_made_anew() -> None:
    life = Life("victim")
    life.choose("follower")
    batch = build_batch([Record(0, 1000, b"first %d" % number, b"x" * 100) for number in range(5)])
    life.produce(batch)
    for number in range(5):
        life.table[b"first %d" % number] = b"x" * 100
    life.write(40, 5)
    log, core = held(life.victim).log, life.victim.core
    for machine in life.cluster.machines:
        held(machine).log.increment_start_offset(3)
    segment = log.segments.items[1]
    life.victim.disk.flip_bit(segment.path, 100, 5)
    assert core is not None
    assert life.cluster.world.run_until(lambda: core.scrubbing.repairs.repaired > 0, 120_000), "nobody repaired it"
    assert log.start_offset == 3 and log.segments.items[0].base_offset == 0
    assert table_of(held(life.victim)) == life.table


def test_where_no_other_has_it_either_it_stays_as_it_is() -> None:
    life = Life("others")
    life.choose("follower")
    life.write(60)
    cluster, victim = life.cluster, life.victim
    for machine in cluster.machines:
        segment = held(machine).log.segments.items[0]
        at = 50 if machine is victim else segment.position_of(3) + 75
        machine.disk.flip_bit(segment.path, at, 5)
    core = victim.core
    assert core is not None
    cluster.world.run(60_000)
    assert held(victim).log.damaged
    assert core.scrubbing.repairs.repaired == 0
    assert not core.moves.all and not held(victim).log.moving
    assert [name for name in victim.disk.listdir("logs") if name.startswith(TOPIC)] == [f"{TOPIC}-0"]

"""Bit rot in segments that the tier has is repaired from there: on a node alone, and where no replica can help."""

from __future__ import annotations

import pytest

from tapelog.sim.cluster import Cluster
from tapelog.sim.machine import Machine
from tapelog.sim.objects import Bucket, Weather
from tapelog.wire.errors import ErrorCode, KafkaError
from tests.simulation.ledger import SMALL, contents, fill, held

SETTINGS = {
    "remote.log.storage.system.enable": "true",
    "tapelog.tier.url": "s3://simulated/tier",
    "log.retention.check.interval.ms": "1000",
    "tapelog.scrub.interval.ms": "5000",
    "log.cleaner.enable": "false",
}
TIERED = {
    "remote.storage.enable": "true",
    **SMALL,
    "local.retention.bytes": "1000000",
    "retention.ms": "-1",
}


def grown(nodes: int) -> Cluster:
    """Forty records in a dozen segments that are here and in the bucket."""
    cluster, bucket = Cluster(7, nodes, SETTINGS), Bucket()
    for machine in cluster.machines:
        machine.bucket = bucket
    cluster.boot()
    fill(cluster, nodes, TIERED)
    leader = cluster.machines[held(cluster.machines[0]).leader - 1]
    log = held(leader).log
    assert cluster.world.run_until(lambda: log.tiered_end == log.active.base_offset, 60_000)
    cluster.world.run(8000)
    assert len(log.segments.items) > 10, "all of it is here as well"
    return cluster


def rot(machine: Machine, number: int, at: int) -> None:
    """In the second batch of that segment."""
    segment = held(machine).log.segments.items[number]
    machine.disk.flip_bit(segment.path, segment.position_of(segment.base_offset + 1) + at, 6)


def repaired(cluster: Cluster, machine: Machine) -> bool:
    core = machine.core
    assert core is not None
    return cluster.world.run_until(lambda: core.scrubbing.repairs.repaired > 0, 60_000)


@pytest.mark.parametrize("at", [70, 8], ids=["record", "length"])
def test_a_node_alone_gets_it_back_from_the_tier(at: int) -> None:
    cluster = grown(1)
    (machine,) = cluster.machines
    before = contents(machine)
    rot(machine, 3, at)
    assert contents(machine) != before
    assert repaired(cluster, machine)
    assert contents(machine) == before
    assert not held(machine).log.damaged


def test_what_every_replica_has_lost_comes_from_the_tier() -> None:
    cluster = grown(3)
    before = contents(cluster.machines[0])
    for machine in cluster.machines:
        rot(machine, 3, 70)
    assert all(repaired(cluster, machine) for machine in cluster.machines)
    assert [contents(machine) == before for machine in cluster.machines] == [True] * 3


def test_readers_are_told_to_come_back_while_the_tier_is_away() -> None:
    cluster = grown(1)
    (machine,) = cluster.machines
    before, log = contents(machine), held(machine).log
    assert machine.store is not None
    machine.store.weather = Weather(gone=True)
    offset = log.segments.items[3].base_offset + 1
    rot(machine, 3, 70)
    assert cluster.world.run_until(lambda: bool(log.damaged), 60_000)
    with pytest.raises(KafkaError) as told:
        log.read(offset, 1 << 20, log.written_end, True)
    assert told.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    cluster.world.run(90_000)
    assert contents(machine) != before
    machine.store.weather = Weather()
    assert repaired(cluster, machine)
    assert contents(machine) == before


def test_rot_in_the_tier_does_not_come_here() -> None:
    cluster = grown(1)
    (machine,) = cluster.machines
    before, bucket = contents(machine), machine.bucket
    assert bucket is not None
    offset = held(machine).log.segments.items[3].base_offset
    (name,) = [name for name in bucket.objects if f"/segments/{offset:020d}" in name]
    data = bytearray(bucket.objects[name])
    data[held(machine).log.segments.items[3].size // 2] ^= 4
    bucket.put(name, bytes(data))
    rot(machine, 3, 70)
    log = held(machine).log
    cluster.world.run_until(lambda: bool(log.damaged), 60_000)
    cluster.world.run(60_000)
    assert contents(machine) != before, "the batch cannot be had"
    assert log.damaged[0].code == ErrorCode.CORRUPT_MESSAGE

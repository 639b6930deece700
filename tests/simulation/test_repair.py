"""Bit rot on one of three simulated nodes is found by scrubbing and repaired from another, leader or not."""

from __future__ import annotations

import pytest

from tapelog.base.ports import DiskError
from tapelog.log.scrub import SegmentCheck
from tapelog.sim.cluster import Cluster
from tapelog.sim.disk import SimFile
from tapelog.sim.machine import Machine
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tapelog.wire.messages.fetch_response import FetchResponse
from tests.simulation.ledger import SMALL, TOPIC, contents, fill, held


@pytest.fixture
def cluster() -> Cluster:
    """Forty records in a dozen segments, on three nodes."""
    cluster = Cluster(7, 3, {"tapelog.scrub.interval.ms": "5000", "log.cleaner.enable": "false"})
    cluster.boot()
    fill(cluster, 3, SMALL)
    cluster.world.run(8000)
    return cluster


def right(machine: Machine) -> bool:
    """Whether every batch has the right checksum."""
    log = held(machine).log
    for number, segment in enumerate(log.segments.items[:-1]):
        data = machine.disk.read_file(segment.path)
        check = SegmentCheck(segment.base_offset, len(data), log.segments.items[number + 1].base_offset)
        while not check.done:
            check.step(lambda position, size, data=data: data[position : position + size])  # type: ignore[misc]
        if check.damage:
            return False
    return True


@pytest.mark.parametrize("at", [70, 8, 11, 40], ids=["record", "length", "short length", "header"])
@pytest.mark.parametrize("who", ["leader", "follower"])
def test_rot_is_repaired_from_another_replica(cluster: Cluster, who: str, at: int) -> None:
    leader = held(cluster.machines[0]).leader
    victim = next(one for one in cluster.machines if (one.node_id == leader) == (who == "leader"))
    log = held(victim).log
    before = contents(victim)
    segment = log.segments.items[3]
    victim.disk.flip_bit(segment.path, segment.position_of(segment.base_offset + 1) + at, 6)
    assert contents(victim) != before
    assert not right(victim)
    core = victim.core
    assert core is not None
    repaired = cluster.world.run_until(lambda: core.scrubbing.repairs.repaired > 0, 60_000)
    assert repaired, "nobody repaired it"
    assert contents(victim) == before
    assert not log.damaged


def test_what_two_replicas_have_lost_comes_from_the_third(cluster: Cluster) -> None:
    before = contents(cluster.machines[0])
    for victim in cluster.machines[:2]:
        segment = held(victim).log.segments.items[2]
        victim.disk.flip_bit(segment.path, 90, 1)
    cluster.world.run_until(lambda: all(right(machine) for machine in cluster.machines), 120_000)
    assert [contents(machine) == before for machine in cluster.machines] == [True] * 3


def test_while_it_is_damaged_readers_wait_and_get_it_afterwards(cluster: Cluster) -> None:
    leader = cluster.machines[held(cluster.machines[0]).leader - 1]
    core, log = leader.core, held(leader).log
    assert core is not None
    segment = log.segments.items[3]
    offset = segment.base_offset
    leader.disk.flip_bit(segment.path, 90, 1)
    cluster.world.run_until(lambda: core.scrubbing.found > 0, 60_000)
    with pytest.raises(KafkaError) as told:
        log.read(offset, 1 << 20, log.written_end, True)
    assert told.value.code == ErrorCode.KAFKA_STORAGE_ERROR, "come back"
    part = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(max_wait_ms=0, min_bytes=1, topics=[FetchTopic(topic=TOPIC, partitions=[part])])
    response: FetchResponse = cluster.session("reader").call(request, 12)
    assert response.responses[0].partitions[0].error_code == 0
    assert not log.damaged


def test_a_bad_sector_is_written_anew_with_what_another_has(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = cluster.machines[0]
    log, before, core = held(victim).log, contents(victim), victim.core
    assert core is not None
    segment = log.segments.items[3]
    segment.file()
    sick, read, write = [True], SimFile.read_cold, SimFile.write_at

    def read_cold(file: SimFile, position: int, size: int) -> bytes:
        if sick[0] and file.path == segment.path and file._disk is victim.disk:
            raise DiskError("cannot read: bad sector")
        return read(file, position, size)

    def write_at(file: SimFile, position: int, data: bytes) -> None:
        if file.path == segment.path and file._disk is victim.disk:
            sick[0] = False
        write(file, position, data)

    monkeypatch.setattr(SimFile, "read_cold", read_cold)
    monkeypatch.setattr(SimFile, "write_at", write_at)
    assert cluster.world.run_until(lambda: core.scrubbing.repairs.repaired > 0, 60_000), "nobody repaired it"
    assert not sick[0]
    assert contents(victim) == before
    assert not log.damaged
    assert not core.directory.offline

"""Replica placement: even, distinct, and only on brokers that are there."""

from __future__ import annotations

from collections import Counter

import pytest

from tapelog.metadata.delta import replay
from tapelog.metadata.image import RESOURCE_BROKER
from tapelog.metadata.placement import place
from tapelog.metadata.record_types import ConfigRecord
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tests.unit.metadata.desk import Desk, directory
from tests.unit.metadata.harness import Cluster, SeededEntropy


@pytest.mark.parametrize("brokers", [1, 2, 3, 5, 8])
def test_leaders_and_replicas_are_spread_evenly(brokers: int) -> None:
    image = Cluster(brokers=brokers).image
    for factor in range(1, brokers + 1):
        for seed in range(5):
            assignment = place(image, brokers * 4, factor, SeededEntropy(seed))
            assert all(len(set(replicas)) == factor for replicas in assignment)
            assert set(Counter(replicas[0] for replicas in assignment).values()) == {4}
            held = Counter(id for replicas in assignment for id in replicas)
            assert max(held.values()) - min(held.values()) <= brokers


def test_different_seeds_begin_at_different_brokers() -> None:
    image = Cluster(brokers=5).image
    firsts = {place(image, 1, 1, SeededEntropy(seed))[0][0] for seed in range(30)}
    assert firsts == {1, 2, 3, 4, 5}


def test_fenced_brokers_hold_replicas_only_when_they_must_and_never_lead() -> None:
    cluster = Cluster(brokers=2)
    cluster.register(3, fenced=True)
    assert all(3 not in replicas for replicas in place(cluster.image, 9, 2, SeededEntropy()))
    for replicas in place(cluster.image, 9, 3, SeededEntropy()):
        assert sorted(replicas) == [1, 2, 3]
        assert replicas[-1] == 3


def test_too_few_brokers_is_an_error() -> None:
    with pytest.raises(KafkaError) as caught:
        place(Cluster(brokers=2).image, 1, 3, SeededEntropy())
    assert caught.value.code == ErrorCode.INVALID_REPLICATION_FACTOR


@pytest.mark.parametrize(("racks", "factor"), [(3, 3), (3, 2), (2, 3), (2, 4)])
def test_replicas_go_to_as_many_racks_as_there_are(racks: int, factor: int) -> None:
    desk = Desk(brokers=6, racks={id: f"r{id % racks}" for id in range(1, 7)})
    for seed in range(5):
        assignment = place(desk.image, 12, factor, SeededEntropy(seed))
        for replicas in assignment:
            counts = Counter(desk.racks[id] for id in replicas)
            assert len(counts) == min(racks, factor)
            assert max(counts.values()) - min(counts.values()) <= 1
        assert set(Counter(replicas[0] for replicas in assignment).values()) == {2}
        held = Counter(id for replicas in assignment for id in replicas)
        assert max(held.values()) - min(held.values()) <= 1


def test_racks_of_different_size_all_get_a_replica() -> None:
    desk = Desk(brokers=5, racks={1: "a", 2: "a", 3: "a", 4: "a", 5: "b"})
    assert all(5 in replicas for replicas in place(desk.image, 8, 2, SeededEntropy()))


def test_single_partitions_go_where_the_least_is() -> None:
    desk = Desk(brokers=3)
    for number in range(9):
        desk.create(f"t{number}", *place(desk.image, 1, 1, SeededEntropy(number)))
    leads = Counter(topic.partitions[0].leader for topic in desk.image.topics.values())
    assert set(leads.values()) == {3}


def test_a_cordoned_broker_gets_nothing_new() -> None:
    desk = Desk(brokers=3)
    request = BrokerHeartbeatRequest(
        broker_id=2,
        broker_epoch=desk.image.brokers[2].epoch,
        current_metadata_offset=99,
        cordoned_log_dirs=[directory(2)],
    )
    desk.run(lambda image: desk.controller.broker_heartbeat(image, request))
    assert all(2 not in replicas for replicas in place(desk.image, 9, 2, SeededEntropy()))
    with pytest.raises(KafkaError):
        place(desk.image, 1, 3, SeededEntropy())


def test_a_leaving_broker_gets_nothing_new() -> None:
    desk = Desk(brokers=3)
    desk.create("t", [1, 2])
    desk.heartbeat(1, stop=True)
    assert all(1 not in replicas for replicas in place(desk.image, 9, 2, SeededEntropy()))


def test_a_broker_that_is_told_to_take_nothing_new_gets_nothing_even_before_it_says_so() -> None:
    told = ConfigRecord(resource_type=RESOURCE_BROKER, resource_name="2", name="cordoned.log.dirs", value="*")
    image = replay(Cluster(brokers=3).image, told)
    assert all(2 not in replicas for replicas in place(image, 9, 2, SeededEntropy()))

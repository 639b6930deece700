"""Replica placement: even, distinct, and only on brokers that are there."""

from __future__ import annotations

from collections import Counter

import pytest

from tapelog.metadata.placement import place
from tapelog.wire.errors import ErrorCode, KafkaError
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

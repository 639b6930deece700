"""Registration, fencing, producer ids and features."""

from __future__ import annotations

import pytest

from tapelog.metadata import brokers, features
from tapelog.metadata.brokers import BrokerRegistration
from tapelog.metadata.image import NO_LEADER, Endpoint
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from tapelog.wire.messages.update_features_response import UpdateFeaturesResponse
from tests.unit.metadata.harness import CLUSTER_ID, Cluster
from tests.unit.metadata.test_topics import assigned, create


def registration(id: int, incarnation: bytes, fenced: bool = True, cluster_id: str = CLUSTER_ID) -> BrokerRegistration:
    return BrokerRegistration(id, cluster_id, incarnation, [Endpoint("PLAINTEXT", "h", 1)], [b"d" * 16], "r1", fenced)


def test_a_broker_gets_the_offset_of_its_registration_as_epoch() -> None:
    cluster = Cluster(brokers=0)
    offset = cluster.port.end_offset
    epoch = cluster.run(lambda image: cluster.controller.register_broker(image, registration(5, b"i" * 16)))
    assert epoch == offset == cluster.image.brokers[5].epoch
    broker = cluster.image.brokers[5]
    assert (broker.rack, broker.fenced, broker.log_dirs) == ("r1", True, (b"d" * 16,))
    assert broker.endpoint("PLAINTEXT") == Endpoint("PLAINTEXT", "h", 1)
    assert broker.endpoint("OTHER") is None
    assert ("metadata.version", 30, 30) in broker.features


def test_the_same_incarnation_registers_once_and_a_new_one_takes_over() -> None:
    cluster = Cluster(brokers=0)
    first = cluster.run(lambda image: cluster.controller.register_broker(image, registration(1, b"i" * 16)))
    again = cluster.run(lambda image: cluster.controller.register_broker(image, registration(1, b"i" * 16)))
    later = cluster.run(lambda image: cluster.controller.register_broker(image, registration(1, b"j" * 16)))
    assert first == again < later


def test_a_second_broker_with_the_id_of_a_living_one_is_refused() -> None:
    cluster = Cluster(brokers=1)
    with pytest.raises(KafkaError) as caught:
        cluster.run(lambda image: cluster.controller.register_broker(image, registration(1, b"x" * 16)))
    assert caught.value.code == ErrorCode.DUPLICATE_BROKER_REGISTRATION


def test_a_broker_of_another_cluster_is_refused() -> None:
    cluster = Cluster()
    other = registration(2, b"x" * 16, cluster_id="AAAAAAAAAAAAAAAAAAAAAA")
    with pytest.raises(KafkaError) as caught:
        cluster.run(lambda image: cluster.controller.register_broker(image, other))
    assert caught.value.code == ErrorCode.INCONSISTENT_CLUSTER_ID


def test_fencing_hands_leadership_to_an_in_sync_replica_or_to_nobody() -> None:
    cluster = Cluster(brokers=2)
    create(cluster, assigned("both", (0, [1, 2])), assigned("alone", (0, [1])))
    epoch = cluster.image.brokers[1].epoch
    cluster.run(lambda image: cluster.controller.fence_broker(image, 1, epoch))
    both, alone = cluster.image.topics["both"].partitions[0], cluster.image.topics["alone"].partitions[0]
    assert (both.leader, both.isr, both.leader_epoch, both.partition_epoch) == (2, (2,), 1, 1)
    assert (alone.leader, alone.isr, alone.elr, alone.leader_epoch) == (NO_LEADER, (), (1,), 1)
    assert [broker.id for broker in cluster.image.alive_brokers()] == [2]
    cluster.run(lambda image: cluster.controller.unfence_broker(image, 1, epoch))
    alone = cluster.image.topics["alone"].partitions[0]
    assert (alone.leader, alone.isr, alone.elr, alone.leader_epoch) == (1, (1,), (), 2)
    assert cluster.image.topics["both"].partitions[0].leader == 2


def test_a_broker_that_registers_unfenced_leads_at_once_what_has_no_leader() -> None:
    cluster = Cluster()
    create(cluster, assigned("t", (0, [1])))
    epoch = cluster.image.brokers[1].epoch
    cluster.run(lambda image: cluster.controller.fence_broker(image, 1, epoch))
    assert cluster.image.topics["t"].partitions[0].leader == NO_LEADER
    again = registration(1, b"n" * 16, fenced=False)
    again.log_dirs = cluster.image.brokers[1].log_dirs
    cluster.run(lambda image: cluster.controller.register_broker(image, again))
    assert cluster.image.topics["t"].partitions[0].leader == 1


def test_fencing_twice_or_unfencing_the_unfenced_writes_nothing() -> None:
    cluster = Cluster(brokers=2)
    epoch = cluster.image.brokers[1].epoch
    end = cluster.port.end_offset
    cluster.run(lambda image: cluster.controller.unfence_broker(image, 1, epoch))
    assert cluster.port.end_offset == end
    cluster.run(lambda image: cluster.controller.fence_broker(image, 1, epoch))
    end = cluster.port.end_offset
    cluster.run(lambda image: cluster.controller.fence_broker(image, 1, epoch))
    assert cluster.port.end_offset == end


def test_an_unregistered_broker_is_gone_and_leads_nothing() -> None:
    cluster = Cluster(brokers=2)
    create(cluster, assigned("t", (0, [1, 2])))
    cluster.run(lambda image: cluster.controller.unregister_broker(image, 1))
    assert list(cluster.image.brokers) == [2]
    assert cluster.image.topics["t"].partitions[0].leader == 2


@pytest.mark.parametrize(("id", "code"), [(9, ErrorCode.BROKER_ID_NOT_REGISTERED), (1, ErrorCode.STALE_BROKER_EPOCH)])
def test_strangers_and_the_outdated_are_refused(id: int, code: ErrorCode) -> None:
    cluster = Cluster()
    for operation in (
        lambda image: cluster.controller.fence_broker(image, id, -5),
        lambda image: cluster.controller.unfence_broker(image, id, -5),
        lambda image: cluster.controller.allocate_producer_ids(image, id, -5),
    ):
        with pytest.raises(KafkaError) as caught:
            cluster.run(operation)
        assert caught.value.code == code


def test_an_unclean_stop_gives_every_led_partition_a_new_epoch() -> None:
    cluster = Cluster(brokers=2)
    create(cluster, assigned("t", (0, [1, 2]), (1, [2, 1])))
    cluster.run(lambda image: brokers.new_leader_epochs(image, 1))
    assert [(p.leader, p.leader_epoch) for p in cluster.image.topics["t"].partitions] == [(1, 1), (2, 0)]


def test_a_registered_controller_is_kept_once_per_incarnation() -> None:
    cluster = Cluster()
    where = [Endpoint("CONTROLLER", "127.0.0.1", 9093)]
    cluster.run(lambda image: cluster.controller.register_controller(image, 1, b"i" * 16, where))
    end = cluster.port.end_offset
    cluster.run(lambda image: cluster.controller.register_controller(image, 1, b"i" * 16, where))
    assert cluster.port.end_offset == end
    assert cluster.image.controllers[1].endpoints == tuple(where)


def test_producer_id_blocks_never_overlap_even_after_a_restart() -> None:
    cluster = Cluster()
    epoch = cluster.image.brokers[1].epoch
    blocks = [cluster.run(lambda image: cluster.controller.allocate_producer_ids(image, 1, epoch)) for _ in range(3)]
    assert [(block.first, block.count) for block in blocks] == [(0, 1000), (1000, 1000), (2000, 1000)]
    assert cluster.reopened().image.next_producer_id == 3000


def test_a_new_cluster_has_the_features_this_version_supports() -> None:
    assert Cluster().image.features == {
        "metadata.version": 30,
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
        "transaction.version": 2,
    }


def update(
    cluster: Cluster, *updates: tuple[str, int, int], version: int = 2, dry: bool = False
) -> UpdateFeaturesResponse:
    request = UpdateFeaturesRequest(
        feature_updates=[
            FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind) for name, level, kind in updates
        ],
        validate_only=dry,
    )
    response: UpdateFeaturesResponse = cluster.run(
        lambda image: cluster.controller.update_features(image, request, version)
    )
    return response


def test_features_go_down_and_up_when_asked() -> None:
    cluster = Cluster()
    assert update(cluster, ("transaction.version", 1, features.SAFE_DOWNGRADE)).error_code == 0
    assert cluster.image.features["transaction.version"] == 1
    assert update(cluster, ("transaction.version", 2, features.UPGRADE), dry=True).error_code == 0
    assert cluster.image.features["transaction.version"] == 1
    response = update(cluster, ("transaction.version", 2, features.UPGRADE), version=1)
    assert [(result.feature, result.error_code) for result in response.results] == [("transaction.version", 0)]
    assert cluster.image.features["transaction.version"] == 2
    assert update(cluster, ("group.version", 0, features.UNSAFE_DOWNGRADE)).error_code == 0
    assert "group.version" not in cluster.image.features


@pytest.mark.parametrize(
    "updates",
    [
        [("no.such.feature", 1, 1)],
        [("transaction.version", 9, 1)],
        [("transaction.version", 1, 1)],
        [("transaction.version", 1, 7)],
        [("metadata.version", 29, 2)],
        [("group.version", 0, 2), ("no.such.feature", 1, 1)],
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_one_bad_update_fails_the_request(updates: list[tuple[str, int, int]], version: int) -> None:
    cluster = Cluster()
    before = cluster.image
    response = update(cluster, *updates, version=version)
    assert response.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert response.error_message
    assert cluster.image is before

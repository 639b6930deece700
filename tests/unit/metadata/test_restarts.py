"""A broker that comes back: clean, unclean, with another disk, or as somebody else."""

from __future__ import annotations

import pytest

from tapelog.metadata.image import NO_LEADER
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.delete_topics_request import DeleteTopicsRequest
from tests.unit.metadata.desk import SESSION_MS, Desk, directory


def test_an_unclean_restart_costs_every_place_in_an_isr() -> None:
    desk = Desk(brokers=3)
    desk.create("t", [1, 2, 3], [2, 3, 1])
    desk.register(1, incarnation=2)
    assert desk.state() == (2, (2, 3), ())
    assert desk.state(index=1) == (2, (2, 3), ())
    desk.beat(1)
    assert desk.state() == (2, (2, 3), ())


def test_a_clean_restart_keeps_a_replica_eligible_where_an_unclean_one_does_not() -> None:
    for clean in (True, False):
        desk = Desk(brokers=2)
        desk.create("t", [1, 2], min_insync_replicas="2")
        desk.silence(2)
        assert desk.state() == (1, (1,), (2,))
        previous = desk.image.brokers[2].epoch if clean else -1
        desk.register(2, incarnation=2, previous=previous)
        assert desk.state() == (1, (1,), (2,) if clean else ())


def test_the_last_replica_leads_again_after_an_unclean_restart() -> None:
    desk = Desk(brokers=2)
    desk.create("t", [1])
    epoch = desk.partition().leader_epoch
    desk.register(1, incarnation=2)
    assert desk.state() == (NO_LEADER, (), (1,))
    desk.beat(1)
    assert desk.state() == (1, (1,), ())
    assert desk.partition().leader_epoch > epoch


def test_when_all_restart_uncleanly_the_last_one_to_come_leads() -> None:
    desk = Desk(brokers=3)
    desk.create("t", [1, 2, 3])
    for id in (2, 1, 3):
        desk.register(id, incarnation=2)
        desk.beat(id)
    assert desk.state() == (3, (3,), ())


def test_a_replica_with_a_new_disk_never_leads_what_it_lost() -> None:
    desk = Desk(brokers=2)
    desk.create("t", [1])
    desk.wait(SESSION_MS + 1)
    desk.register(1, incarnation=2, disk=2)
    desk.beat(1)
    assert desk.state() == (NO_LEADER, (), ())
    assert desk.partition().directories == (directory(1, disk=2),)
    desk.wait(600_000)
    assert desk.state()[0] == NO_LEADER
    assert desk.alerts == []


def test_a_living_broker_is_replaced_at_once_by_whoever_holds_its_directories() -> None:
    desk = Desk(brokers=1)
    epoch = desk.image.brokers[1].epoch
    assert desk.register(1, incarnation=2) > epoch
    with pytest.raises(KafkaError) as caught:
        desk.beat(1)
        desk.register(1, incarnation=3, disk=2)
    assert caught.value.code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    desk.wait(SESSION_MS + 1)
    desk.register(1, incarnation=3, disk=2)


def test_the_same_incarnation_keeps_its_epoch_and_may_move() -> None:
    desk = Desk(brokers=1)
    epoch = desk.image.brokers[1].epoch
    assert desk.written(lambda image: desk.controller.register_broker(image, desk.registration(1))) == 0
    moved = desk.registration(1)
    moved.rack = "elsewhere"
    assert desk.run(lambda image: desk.controller.register_broker(image, moved)) == epoch
    assert (desk.image.brokers[1].rack, desk.image.brokers[1].fenced) == ("elsewhere", False)


@pytest.mark.parametrize(
    "log_dirs", [[], [bytes(16)], [b"a" * 16, b"a" * 16], [directory(1)]], ids=["none", "reserved", "twice", "taken"]
)
def test_directories_that_make_no_sense_are_refused(log_dirs: list[bytes]) -> None:
    desk = Desk(brokers=1)
    registration = desk.registration(2)
    registration.log_dirs = log_dirs
    with pytest.raises(KafkaError) as caught:
        desk.run(lambda image: desk.controller.register_broker(image, registration))
    assert caught.value.code == ErrorCode.INVALID_REGISTRATION


def test_a_broker_that_lacks_a_feature_of_the_cluster_is_refused() -> None:
    desk = Desk(brokers=1)
    registration = desk.registration(2)
    registration.features = [("metadata.version", 1, 7)]
    with pytest.raises(KafkaError) as caught:
        desk.run(lambda image: desk.controller.register_broker(image, registration))
    assert caught.value.code == ErrorCode.UNSUPPORTED_VERSION


def test_an_unregistered_broker_that_returns_counts_as_stopped_uncleanly() -> None:
    desk = Desk(brokers=2)
    desk.create("t", [1, 2], min_insync_replicas="2")
    desk.run(lambda image: desk.controller.unregister_broker(image, 2))
    assert desk.state() == (1, (1,), (2,))
    desk.register(2, incarnation=2, previous=77)
    assert desk.state() == (1, (1,), ())


def test_a_topic_whose_replicas_are_on_dead_brokers_can_be_deleted_and_created_again() -> None:
    desk = Desk(brokers=3)
    desk.create("t", [1, 2])
    desk.silence(1, 2)
    request = DeleteTopicsRequest(topic_names=["t"])
    desk.run(lambda image: desk.controller.delete_topics(image, request, 5))
    assert "t" not in desk.image.topics
    desk.create("t", [1, 3])
    assert desk.state() == (3, (3,), ())
    desk.register(1, incarnation=2)
    desk.beat(1)
    assert desk.state() == (3, (3,), ())

"""ElectLeaders, automatic preferred leaders, and unclean elections: only where allowed or asked for, never silently."""

from __future__ import annotations

import pytest

from tapelog.metadata.image import NO_LEADER
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from tapelog.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.unit.metadata.desk import Desk
from tests.unit.metadata.test_alter_partition import ask

PREFERRED, UNCLEAN = 0, 1


def elect(desk: Desk, kind: int, *wanted: tuple[str, list[int]]) -> list[tuple[str, int, int]]:
    """(topic, partition, error) of every answer; nothing wanted means everything."""
    asked = [TopicPartitions(topic=name, partitions=indexes) for name, indexes in wanted] if wanted else None
    request = ElectLeadersRequest(election_type=kind, topic_partitions=asked)
    response = desk.run(lambda image: desk.controller.elect_leaders(image, request))
    return [
        (topic.topic, result.partition_id, result.error_code)
        for topic in response.replica_election_results
        for result in topic.partition_result
    ]


def displaced(settings: dict[str, str] | None = None) -> Desk:
    """t-0 is led by 2 though 1, in sync again, is preferred; t-1 is fine."""
    desk = Desk(brokers=2, settings=settings)
    desk.create("t", [1, 2], [2, 1])
    desk.silence(1)
    desk.beat(1)
    ask(desk, [2, 1], asker=2)
    assert desk.state() == (2, (2, 1), ())
    return desk


def test_the_preferred_leader_gets_its_place_back() -> None:
    desk = displaced()
    assert elect(desk, PREFERRED, ("t", [0, 1])) == [("t", 0, 0), ("t", 1, ErrorCode.ELECTION_NOT_NEEDED)]
    assert desk.state() == (1, (2, 1), ())


def test_asked_for_everything_it_tells_only_of_what_was_not_fine() -> None:
    assert elect(displaced(), PREFERRED) == [("t", 0, 0)]


def test_a_preferred_leader_that_is_not_in_sync_is_not_available() -> None:
    desk = Desk(brokers=2)
    desk.create("t", [1, 2])
    desk.silence(1)
    assert elect(desk, PREFERRED, ("t", [0])) == [("t", 0, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)]


def test_what_does_not_exist_cannot_be_elected() -> None:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert elect(displaced(), PREFERRED, ("t", [9]), ("u", [0])) == [("t", 9, code), ("u", 0, code)]
    with pytest.raises(KafkaError) as caught:
        elect(displaced(), 7, ("t", [0]))
    assert caught.value.code == ErrorCode.INVALID_REQUEST


def test_preferred_leaders_come_back_by_themselves_every_interval() -> None:
    desk = displaced()
    for _ in range(299):
        desk.wait(1000)
        desk.beat(1, 2)
        if desk.state()[0] == 1:
            break
    assert desk.state() == (1, (2, 1), ())
    assert desk.alerts == []


def test_they_do_not_where_the_operator_said_so() -> None:
    desk = displaced({"auto.leader.rebalance.enable": "false"})
    for _ in range(320):
        desk.wait(1000)
        desk.beat(1, 2)
    assert desk.state()[0] == 2


def lost(unclean: str) -> Desk:
    """t-0 had 1 alone in sync, which is gone; 2 is there and may lack records."""
    desk = Desk(brokers=2)
    desk.create("t", [1, 2], unclean_leader_election_enable=unclean)
    desk.silence(2)
    desk.silence(1)
    desk.beat(2)
    return desk


def test_without_permission_a_partition_waits_for_who_has_everything() -> None:
    desk = lost("false")
    for _ in range(400):
        desk.wait(1000)
        desk.beat(2)
    assert desk.state() == (NO_LEADER, (), (1,))
    assert desk.alerts == []


def test_with_permission_it_is_led_by_who_is_there_and_everybody_hears_of_it() -> None:
    desk = lost("true")
    assert desk.state() == (2, (2,), ())
    assert desk.partition().leader_recovery_state == 1
    assert len(desk.alerts) == 1
    assert "unclean" in desk.alerts[0] and "t-0" in desk.alerts[0] and "What only broker 1 had" in desk.alerts[0]


def test_an_operator_may_ask_for_an_unclean_election() -> None:
    desk = lost("false")
    assert elect(desk, UNCLEAN, ("t", [0])) == [("t", 0, 0)]
    assert desk.state() == (2, (2,), ())
    assert len(desk.alerts) == 1
    assert elect(desk, UNCLEAN, ("t", [0])) == [("t", 0, ErrorCode.ELECTION_NOT_NEEDED)]


def test_nobody_there_nobody_elected() -> None:
    desk = Desk(brokers=2)
    desk.create("t", [1])
    desk.silence(1)
    assert elect(desk, UNCLEAN, ("t", [0])) == [("t", 0, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)]


def test_permission_given_later_counts_at_once() -> None:
    desk = lost("false")
    change = AlterableConfig(name="unclean.leader.election.enable", config_operation=0, value="true")
    resource = AlterConfigsResource(resource_type=2, resource_name="t", configs=[change])
    request = IncrementalAlterConfigsRequest(resources=[resource])
    desk.run(lambda image: desk.controller.incremental_alter_configs(image, request))
    desk.tick()
    assert desk.state() == (2, (2,), ())

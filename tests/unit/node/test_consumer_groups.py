"""Groups of the newer protocol in a whole node: topics that change, settings of single groups, restarts, power cuts."""

from __future__ import annotations

from typing import Any

import pytest

from tapelog.metadata.image import RESOURCE_BROKER, RESOURCE_GROUP
from tapelog.wire.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tapelog.wire.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.support.rig import Rig

SET = 0


class Members:
    """Members of one group on one node."""

    def __init__(self, **settings: str) -> None:
        self.rig = Rig(group_consumer_assignment_interval_ms="0", **settings)
        self.rig.create("orders", 3)
        self.rig.client.call(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4)
        self.epochs: dict[str, int] = {}

    def beat(self, member: str, **said: Any) -> Any:
        """The member's next heartbeat; the first one joins."""
        epoch = self.epochs.get(member, 0)
        request = ConsumerGroupHeartbeatRequest(group_id="g", member_id=member, member_epoch=epoch)
        if epoch == 0:
            request.rebalance_timeout_ms = 60_000
            request.subscribed_topic_names = ["orders"]
            request.topic_partitions = []
        for name, value in said.items():
            setattr(request, name, value)
        answer = self.rig.client.call(request, 1)
        assert answer.error_code == 0, answer
        self.epochs[member] = answer.member_epoch
        return answer

    def owned(self, answer: Any) -> dict[bytes, list[int]]:
        return {topic.topic_id: topic.partitions for topic in answer.assignment.topic_partitions}

    def alter(self, kind: int, name: str, key: str, value: str) -> int:
        config = AlterableConfig(name=key, config_operation=SET, value=value)
        resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=[config])
        answer = self.rig.client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1)
        return int(answer.responses[0].error_code)

    def described(self) -> Any:
        return self.rig.client.call(ConsumerGroupDescribeRequest(group_ids=["g"]), 1).groups[0]


def test_topics_that_grow_go_and_come_back_reach_the_group() -> None:
    members = Members()
    first = members.rig.topic_id()
    assert members.owned(members.beat("m")) == {first: [0, 1, 2]}
    grown = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="orders", count=5, assignments=None)], timeout_ms=1000
    )
    assert members.rig.client.call(grown, 3).results[0].error_code == 0
    assert members.owned(members.beat("m")) == {first: [0, 1, 2, 3, 4]}
    members.rig.delete("orders")
    assert members.owned(members.beat("m")) == {}
    members.beat("m", topic_partitions=[])
    members.rig.create("orders", 1)
    assert members.rig.topic_id() != first
    assert members.owned(members.beat("m")) == {members.rig.topic_id(): [0]}


def test_a_pattern_finds_topics_made_later() -> None:
    members = Members()
    members.beat("m", subscribed_topic_names=None, subscribed_topic_regex="new.*|orders")
    assert members.owned(members.beat("m")) == {members.rig.topic_id(): [0, 1, 2]}
    members.rig.create("news", 1)
    members.rig.node.pass_time(11_000)
    members.beat("m")
    assert members.owned(members.beat("m")) == {members.rig.topic_id(): [0, 1, 2], members.rig.topic_id("news"): [0]}


def test_a_group_obeys_its_own_settings_as_soon_as_they_are_set() -> None:
    members = Members()
    assert members.beat("m").heartbeat_interval_ms == 5000
    assert members.alter(RESOURCE_GROUP, "g", "consumer.heartbeat.interval.ms", "7000") == 0
    assert members.beat("m").heartbeat_interval_ms == 7000
    assert members.alter(RESOURCE_GROUP, "g", "consumer.heartbeat.interval.ms", "1") != 0, "below the broker's bound"
    assert members.alter(RESOURCE_GROUP, "h", "consumer.heartbeat.interval.ms", "9000") == 0
    assert members.beat("m").heartbeat_interval_ms == 7000


def test_the_assignment_interval_of_all_groups_can_be_set_while_the_broker_runs() -> None:
    members = Members()
    members.beat("a")
    assert members.alter(RESOURCE_BROKER, "", "group.consumer.assignment.interval.ms", "10000") == 0
    members.beat("b")
    assert members.described().group_state == "Assigning"
    assert members.alter(RESOURCE_GROUP, "g", "consumer.assignment.interval.ms", "0") == 0
    members.beat("b")
    assert members.described().group_state == "Reconciling"


@pytest.mark.parametrize("how", ["stop", "kill", "power_cut"])
def test_members_go_on_after_a_restart_as_if_nothing_had_happened(how: str) -> None:
    members = Members()
    before = members.owned(members.beat("m"))
    members.rig.reboot(getattr(members.rig.node, how))
    members.rig.client.call(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4)
    answer = members.beat("m")
    assert members.owned(answer) == before, "nothing changed; it is told once more, over its new connection"
    assert answer.member_epoch == 2
    assert members.beat("m").assignment is None
    described = members.described()
    assert described.group_state == "Stable"
    (member,) = described.members
    assert {topic.topic_id: topic.partitions for topic in member.assignment.topic_partitions} == before

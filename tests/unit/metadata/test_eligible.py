"""Eligible leader replicas, and what changes their worth."""

from __future__ import annotations

import pytest

from tapelog.base.config_classes import WRITTEN_MIN_ISR
from tapelog.metadata.image import NO_LEADER, RESOURCE_BROKER, RESOURCE_TOPIC
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.record_types import ConfigRecord
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tapelog.wire.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from tests.unit.metadata.desk import Desk


def configure(desk: Desk, kind: int, name: str, value: str | None) -> int:
    change = AlterableConfig(name="min.insync.replicas", config_operation=1 if value is None else 0, value=value)
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=[change])
    request = IncrementalAlterConfigsRequest(resources=[resource])
    response = desk.run(lambda image: desk.controller.incremental_alter_configs(image, request))
    return response.responses[0].error_code


def level(desk: Desk, value: int) -> int:
    update = FeatureUpdateKey(
        feature="eligible.leader.replicas.version", max_version_level=value, upgrade_type=1 if value else 2
    )
    request = UpdateFeaturesRequest(feature_updates=[update])
    return desk.run(lambda image: desk.controller.update_features(image, request, 2)).error_code


def below() -> Desk:
    """t-0 has 1 in sync, 2 eligible; u-0 has nobody in sync, 3 eligible."""
    desk = Desk(brokers=3)
    desk.create("t", [1, 2], min_insync_replicas="2")
    desk.create("u", [3], min_insync_replicas="2")
    desk.silence(2, 3)
    assert desk.state() == (1, (1,), (2,))
    assert desk.state("u") == (NO_LEADER, (), (3,))
    return desk


def test_another_minimum_costs_eligibility_where_the_high_watermark_may_move() -> None:
    desk = below()
    assert configure(desk, RESOURCE_TOPIC, "t", "1") == 0
    assert configure(desk, RESOURCE_TOPIC, "u", "1") == 0
    assert desk.state() == (1, (1,), ())
    assert desk.state("u") == (NO_LEADER, (), (3,))


def test_another_minimum_of_the_cluster_concerns_topics_without_one_of_their_own() -> None:
    desk = Desk(brokers=2, settings={"min.insync.replicas": "2"})
    desk.create("t", [1, 2])
    desk.create("own", [1, 2], min_insync_replicas="2")
    desk.silence(2)
    assert configure(desk, RESOURCE_BROKER, "", "1") == 0
    assert desk.state() == (1, (1,), ())
    assert desk.state("own") == (1, (1,), (2,))


def test_the_clusters_minimum_is_written_down_and_stays() -> None:
    desk = Desk(settings={"min.insync.replicas": "2"})
    assert desk.image.config(RESOURCE_BROKER, "")["min.insync.replicas"] == "2"
    assert configure(desk, RESOURCE_BROKER, "", None) == ErrorCode.INVALID_CONFIG
    assert configure(desk, RESOURCE_BROKER, "", "3") == 0


def test_one_broker_cannot_have_its_own_minimum() -> None:
    assert configure(Desk(brokers=1), RESOURCE_BROKER, "1", "2") == ErrorCode.INVALID_CONFIG
    assert configure(Desk(brokers=1, elr=False), RESOURCE_BROKER, "1", "2") == 0


def test_a_cluster_that_stops_to_keep_them_loses_nobody_who_may_lead() -> None:
    desk = below()
    assert level(desk, 0) == 0
    assert desk.state() == (1, (1,), ())
    assert desk.state("u") == (NO_LEADER, (3,), ())
    desk.beat(3)
    assert desk.state("u") == (3, (3,), ())
    assert level(desk, 1) == 0
    assert desk.image.features["eligible.leader.replicas.version"] == 1


def test_a_feature_waits_for_every_node_to_support_it() -> None:
    desk = Desk(brokers=1, elr=False)
    old = desk.registration(2)
    old.features = [item for item in old.features if not item[0].startswith("eligible")]
    desk.run(lambda image: desk.controller.register_broker(image, old))
    assert level(desk, 1) == ErrorCode.INVALID_UPDATE_VERSION


def test_brokers_lose_their_own_minimum_when_eligible_leader_replicas_begin_to_be_kept() -> None:
    desk = Desk(brokers=2, elr=False, settings={"min.insync.replicas": "2"})
    for broker in ("1", "2"):
        assert configure(desk, RESOURCE_BROKER, broker, "1") == 0
    desk.run(lambda image: desk.controller.unregister_broker(image, 2))
    assert level(desk, 1) == 0
    assert desk.image.config(RESOURCE_BROKER, "")["min.insync.replicas"] == "2"
    assert "min.insync.replicas" not in desk.image.config(RESOURCE_BROKER, "1")
    assert "min.insync.replicas" not in desk.image.config(RESOURCE_BROKER, "2")


def test_a_new_active_controller_removes_a_brokers_own_minimum_and_what_it_made_eligible() -> None:
    desk = Desk(brokers=2, settings={"min.insync.replicas": "2"})
    desk.create("t", [1, 2])
    desk.silence(2)
    assert desk.state() == (1, (1,), (2,))
    own = ConfigRecord(resource_type=RESOURCE_BROKER, resource_name="1", name="min.insync.replicas", value="1")
    desk.run(lambda image: Outcome([own], None))  # an earlier version kept it
    desk.controller.activate(desk.image)
    desk.tick()
    assert "min.insync.replicas" not in desk.image.config(RESOURCE_BROKER, "1")
    assert desk.state() == (1, (1,), ())


def taken_over(desk: Desk, value: str) -> str:
    """A node with this min.insync.replicas in its node.toml becomes the active controller; the cluster's value then."""
    desk.settings.static["min.insync.replicas"] = value
    desk.controller.activate(desk.image)
    desk.tick()
    return desk.image.config(RESOURCE_BROKER, "")["min.insync.replicas"]


def test_a_cluster_that_grew_has_the_greater_minimum_of_its_settings() -> None:
    desk = Desk(brokers=2, settings={"min.insync.replicas": "1"})
    assert taken_over(desk, "2") == "2"
    assert taken_over(desk, "3") == "3"
    assert taken_over(desk, "1") == "3"  # nodes that differ take turns: it never falls


@pytest.mark.parametrize("value", ["1", "2"])
def test_what_an_operator_said_of_the_minimum_stays(value: str) -> None:
    desk = Desk(brokers=2, settings={"min.insync.replicas": "1"})
    assert configure(desk, RESOURCE_BROKER, "", value) == 0
    assert taken_over(desk, "3") == value


def test_a_minimum_that_an_earlier_version_wrote_stays() -> None:
    desk = Desk(brokers=2, settings={"min.insync.replicas": "1"})
    gone = ConfigRecord(resource_type=RESOURCE_BROKER, resource_name="", name=WRITTEN_MIN_ISR, value=None)
    desk.run(lambda image: Outcome([gone], None))
    assert taken_over(desk, "2") == "1"

"""A node that is its whole cluster writes into the metadata what a cluster's controller writes by the clock."""

from __future__ import annotations

import logging

import pytest

from tapelog.metadata.image import RESOURCE_BROKER
from tapelog.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from tapelog.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tapelog.wire.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from tests.support.rig import Rig

MIN_ISR = "min.insync.replicas"
ELR = "eligible.leader.replicas.version"


def clusters_own(rig: Rig) -> dict[str, str | None]:
    """What a client is told of the configuration of all brokers."""
    resource = DescribeConfigsResource(resource_type=RESOURCE_BROKER, resource_name="", configuration_keys=None)
    (result,) = rig.client.call(DescribeConfigsRequest(resources=[resource]), 4).results
    assert result.error_code == 0
    return {config.name: config.value for config in result.configs}


def change(rig: Rig, value: str | None) -> int:
    """Change or remove the cluster's min.insync.replicas; the error code."""
    config = AlterableConfig(name=MIN_ISR, config_operation=0 if value is not None else 1, value=value)
    resource = AlterConfigsResource(resource_type=RESOURCE_BROKER, resource_name="", configs=[config])
    return int(rig.client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses[0].error_code)


def level(rig: Rig, wanted: int, upgrade_type: int) -> int:
    """Keep eligible leader replicas, or stop to; the error code."""
    update = FeatureUpdateKey(feature=ELR, max_version_level=wanted, upgrade_type=upgrade_type)
    return int(rig.client.call(UpdateFeaturesRequest(feature_updates=[update]), 2).error_code)


def test_it_has_the_clusters_min_insync_replicas_as_kafka_has() -> None:
    rig = Rig(min_insync_replicas="2")
    assert clusters_own(rig) == {MIN_ISR: "2"}


def test_what_an_operator_changed_outlives_the_node() -> None:
    rig = Rig(min_insync_replicas="2")
    assert change(rig, None) != 0
    assert change(rig, "1") == 0
    rig.reboot(rig.node.stop)
    assert clusters_own(rig) == {MIN_ISR: "1"}


def test_it_is_written_when_eligible_leader_replicas_begin_to_be_kept() -> None:
    rig = Rig()
    assert level(rig, 0, 2) == 0
    assert change(rig, None) == 0
    rig.reboot(rig.node.stop)
    assert clusters_own(rig) == {}
    assert level(rig, 1, 1) == 0
    assert clusters_own(rig) == {MIN_ISR: "1"}


def test_a_greater_minimum_in_node_toml_counts_unless_an_operator_set_another(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("tapelog"), "propagate", True)
    rig = Rig(min_insync_replicas="1")
    rig.node.settings[MIN_ISR] = "2"
    rig.reboot(rig.node.stop)
    assert clusters_own(rig) == {MIN_ISR: "2"}
    assert MIN_ISR not in caplog.text
    assert change(rig, "2") == 0
    rig.node.settings[MIN_ISR] = "3"
    rig.reboot(rig.node.stop)
    assert clusters_own(rig) == {MIN_ISR: "2"}
    assert "is 2 for the cluster, not 3 as in node.toml" in caplog.text
    assert "tape config set broker all min.insync.replicas=3" in caplog.text

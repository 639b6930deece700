"""The log tells of settings that do nothing: at the start, and when one is changed."""

from __future__ import annotations

import difflib
import logging

import pytest

from tapelog.metadata.image import RESOURCE_BROKER, RESOURCE_TOPIC
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.record_types import ConfigRecord
from tapelog.node import config_notes
from tapelog.sim.cluster import Cluster
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tapelog.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from tapelog.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.support.rig import TOPIC, Rig


@pytest.fixture(autouse=True)
def audible(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger("tapelog"), "propagate", True)
    caplog.set_level(logging.WARNING, "tapelog.config")


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    lines = [record.getMessage() for record in caplog.records if record.name == "tapelog.config"]
    caplog.clear()
    return lines


def change(rig: Rig, kind: int, resource: str, name: str, value: str | None) -> int:
    """IncrementalAlterConfigs through a client; the error code."""
    config = AlterableConfig(name=name, config_operation=0 if value is not None else 1, value=value)
    request = IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(resource_type=kind, resource_name=resource, configs=[config])]
    )
    return int(rig.client.call(request, 1).responses[0].error_code)


def test_settings_without_effect_are_named_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    config_notes.tell_static({"num.network.threads": "16", "num.partitions": "3", "listener.name.x.what": "1"})
    first, second = said(caplog)
    assert first.startswith("unknown setting 'listener.name.x.what': kept, not used")
    assert second == "num.network.threads has no effect here"


def test_a_change_without_effect_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    rig.create(partitions=1)
    said(caplog)
    assert change(rig, RESOURCE_BROKER, "", "num.io.threads", "16") == 0
    assert said(caplog) == ["num.io.threads has no effect here"]
    assert change(rig, RESOURCE_BROKER, "", "log.retention.ms", "5") == 0
    assert change(rig, RESOURCE_BROKER, "", "num.io.threads", "16") == 0
    assert change(rig, RESOURCE_BROKER, "", "num.io.threads", None) == 0
    assert said(caplog) == []
    assert change(rig, RESOURCE_TOPIC, TOPIC, "preallocate", "true") == 0
    assert said(caplog) == [f"topic {TOPIC}: preallocate has no effect here"]


def test_a_topics_setting_is_told_by_the_active_controller_alone(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster(1, 3)
    cluster.boot()
    session = cluster.session("app")
    wanted = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=3)
    assert session.call(CreateTopicsRequest(topics=[wanted], timeout_ms=5000), 7).topics[0].error_code == 0
    said(caplog)
    config = AlterableConfig(name="preallocate", config_operation=0, value="true")
    resource = AlterConfigsResource(resource_type=RESOURCE_TOPIC, resource_name=TOPIC, configs=[config])
    answer = session.call(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert answer.responses[0].error_code == 0
    cluster.world.run_until(lambda: False, 2_000)
    assert said(caplog) == [f"topic {TOPIC}: preallocate has no effect here"]


def test_an_unknown_name_is_kept_and_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    said(caplog)
    assert change(rig, RESOURCE_BROKER, "1", "num.netwok.threads", "16") == 0
    assert said(caplog) == ["unknown setting 'num.netwok.threads': kept, not used"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("listeners", "listeners"),
        ("listener.name.x.ssl.keystore.location", "'listener.name.x.ssl.keystore.location'"),
        ("ssl.a\nforged", "'ssl.a\\nforged'"),
    ],
)
def test_what_the_metadata_keeps_and_is_not_in_force_is_told_at_the_start(
    name: str, shown: str, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig()
    record = ConfigRecord(resource_type=RESOURCE_BROKER, resource_name="1", name=name, value="SSL://h:1")
    rig.node.core.change_metadata(lambda image: Outcome([record], None), lambda answer: None)
    rig.node.settle()
    said(caplog)
    rig.reboot(rig.node.stop)
    assert said(caplog) == [f"{shown} is stored for brokers, but not in force"]


def test_many_unknown_names_cost_no_search_for_the_nearest(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig()
    said(caplog)
    searches: list[object] = []
    monkeypatch.setattr(difflib, "get_close_matches", lambda *given, **options: searches.append(given) or [])
    count = config_notes.LINES_MAX + 5
    configs = [AlterableConfig(name=f"num.netwok.threads.{i}", config_operation=0, value="1") for i in range(count)]
    changed = AlterConfigsResource(resource_type=RESOURCE_BROKER, resource_name="1", configs=configs)
    assert rig.client.call(IncrementalAlterConfigsRequest(resources=[changed]), 1).responses[0].error_code == 0
    told = said(caplog)
    assert len(told) == config_notes.LINES_MAX + 1 and told[-1].startswith("5 more settings")
    rig.reboot(rig.node.stop)
    assert said(caplog)[: len(told)] == told
    resource = DescribeConfigsResource(resource_type=RESOURCE_BROKER, resource_name="1", configuration_keys=None)
    asked = DescribeConfigsRequest(resources=[resource], include_documentation=True)
    (described,) = rig.client.call(asked, 4).results
    assert any((one.documentation or "").startswith("unknown setting") for one in described.configs)
    assert searches == []

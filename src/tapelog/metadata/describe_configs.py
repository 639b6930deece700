"""DescribeConfigs and ListConfigResources: every name Kafka has, its value, and where the value comes from.

The documentation field of a name says what `base/config_classes` does: that it has no effect here, or why only its
default is accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from tapelog.base.config import BROKER_QUOTA_ROWS, BROKER_ROWS, TOPIC_ROWS, BrokerSettings
from tapelog.base.config_classes import AT_START, REFUSED
from tapelog.base.config_refusals import remark
from tapelog.base.config_values import PASSWORD, canonical
from tapelog.base.kafka_configs import GROUP_SYNONYMS, INTERNAL, PER_BROKER_ONLY, Row
from tapelog.metadata.config_layers import (
    SOURCE_BROKER_LOGGER,
    SOURCE_CLIENT_METRICS,
    SOURCE_DEFAULT,
    SOURCE_DYNAMIC_DEFAULT,
    SOURCE_GROUP,
    Layers,
    Synonym,
    topic_entries,
)
from tapelog.metadata.config_rules import CLIENT_METRICS_ROWS, GROUP_ROWS
from tapelog.metadata.configs import broker_id
from tapelog.metadata.image import (
    RESOURCE_BROKER,
    RESOURCE_BROKER_LOGGER,
    RESOURCE_CLIENT_METRICS,
    RESOURCE_GROUP,
    RESOURCE_TOPIC,
    MetadataImage,
)
from tapelog.metadata.topic_names import why_illegal
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from tapelog.wire.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from tapelog.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from tapelog.wire.messages.list_config_resources_response import ConfigResource, ListConfigResourcesResponse

_ALL_TYPES: Final = (
    RESOURCE_TOPIC,
    RESOURCE_BROKER,
    RESOURCE_BROKER_LOGGER,
    RESOURCE_CLIENT_METRICS,
    RESOURCE_GROUP,
)


class ConfigView:
    """Whose configuration is described: one broker's, over an image."""

    __slots__ = ("image", "layers", "loggers", "node_id", "settings")

    def __init__(
        self, image: MetadataImage, settings: BrokerSettings, node_id: int, loggers: Mapping[str, str] | None = None
    ) -> None:
        self.image = image
        self.settings = settings
        self.node_id = node_id
        self.loggers: Mapping[str, str] = loggers if loggers is not None else {"root": "INFO"}
        self.layers = Layers(image, settings, node_id)


def describe_configs_response(view: ConfigView, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """DescribeConfigs, versions 1 to 4."""
    response = DescribeConfigsResponse()
    for resource in request.resources:
        result = DescribeConfigsResult(
            error_message="", resource_type=resource.resource_type, resource_name=resource.resource_name
        )
        response.results.append(result)
        try:
            entries = _entries(view, resource)
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.message
            continue
        wanted = resource.configuration_keys
        if wanted:  # null and empty both mean all
            entries = [entry for entry in entries if entry.name in wanted]
        for entry in entries:
            if not request.include_synonyms:
                entry.synonyms = []
            if request.include_documentation:
                entry.documentation = _documentation(entry.name)
        result.configs = entries
    return response


def _documentation(name: str) -> str:
    if name in REFUSED:
        return f"Only the default is accepted: {REFUSED[name]}."
    noted = remark(name)
    return f"{noted}." if noted is not None else ""


def _read_only(name: str) -> bool:
    return name not in PER_BROKER_ONLY or name in AT_START


def _entries(view: ConfigView, resource: DescribeConfigsResource) -> list[DescribeConfigsResourceResult]:
    kind, name = resource.resource_type, resource.resource_name
    if kind == RESOURCE_TOPIC:
        return _topic(view, name)
    if kind == RESOURCE_BROKER:
        return _broker(view) if name and _own(view, name) else _cluster_defaults(view)
    if kind == RESOURCE_BROKER_LOGGER:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Broker loggers are asked for by broker id")
        _own(view, name)
        return [
            _result(logger, view.loggers[logger], 0, SOURCE_BROKER_LOGGER, True, []) for logger in sorted(view.loggers)
        ]
    if kind == RESOURCE_GROUP:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        return _group(view, name)
    if kind == RESOURCE_CLIENT_METRICS:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty")
        return _client_metrics(view, name)
    raise KafkaError(ErrorCode.INVALID_REQUEST, f"Resources of type {kind} have no configs")


def _own(view: ConfigView, name: str) -> bool:
    if broker_id(name) != view.node_id:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"This is broker {view.node_id}, which cannot tell the configs of broker {name}"
        )
    return True


def _topic(view: ConfigView, name: str) -> list[DescribeConfigsResourceResult]:
    reason = why_illegal(name)
    if reason is not None:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
    if name not in view.image.topics:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{name}' does not exist")
    return [
        _result(entry.name, entry.value, TOPIC_ROWS[entry.name][1], entry.source, False, entry.synonyms)
        for entry in topic_entries(view.layers, view.image.topic_config(name))
    ]


def _broker(view: ConfigView) -> list[DescribeConfigsResourceResult]:
    rows = [row for name, row in sorted(BROKER_ROWS.items()) if name not in INTERNAL]
    results = [_broker_result(view, row) for row in rows]
    extra = [name for name in view.layers.explicit_names() if name not in BROKER_ROWS]
    results += [_broker_result(view, BROKER_QUOTA_ROWS.get(name) or (name, PASSWORD, None, 0, "")) for name in extra]
    return results


def _broker_result(view: ConfigView, row: Row) -> DescribeConfigsResourceResult:
    name, kind = row[0], row[1]
    synonyms = view.layers.synonyms(name)
    text = view.layers.text(name)
    source = synonyms[0][2] if synonyms else SOURCE_DEFAULT
    value = canonical(kind, text) if text is not None else None
    return _result(name, value, kind, source, _read_only(name), synonyms)


def _cluster_defaults(view: ConfigView) -> list[DescribeConfigsResourceResult]:
    """Only what was set for all brokers."""
    results = []
    for name, text in sorted(view.layers.dynamic(SOURCE_DYNAMIC_DEFAULT).items()):
        row = BROKER_ROWS.get(name) or BROKER_QUOTA_ROWS.get(name)
        kind = row[1] if row is not None else PASSWORD
        synonyms = [item for item in view.layers.synonyms(name) if item[2] == SOURCE_DYNAMIC_DEFAULT]
        value = canonical(kind, text)
        results.append(_result(name, value, kind, SOURCE_DYNAMIC_DEFAULT, _read_only(name), synonyms))
    return results


def _group(view: ConfigView, name: str) -> list[DescribeConfigsResourceResult]:
    overrides = view.image.config(RESOURCE_GROUP, name)
    results = []
    for key, row in sorted(GROUP_ROWS.items()):
        broker_name = GROUP_SYNONYMS.get(key)
        if broker_name is not None:
            synonyms = view.layers.synonyms(broker_name)
        else:
            synonyms = [(key, row[2] or "", SOURCE_DEFAULT)]
        text = overrides.get(key)
        if text is not None:
            synonyms = [(key, text, SOURCE_GROUP), *synonyms]
        elif broker_name is not None:
            text = view.layers.text(broker_name)
        value = canonical(row[1], text if text is not None else row[2] or "")
        results.append(_result(key, value, row[1], synonyms[0][2] if synonyms else SOURCE_DEFAULT, False, synonyms))
    return results


def _client_metrics(view: ConfigView, name: str) -> list[DescribeConfigsResourceResult]:
    overrides = view.image.config(RESOURCE_CLIENT_METRICS, name)
    results = []
    for key, row in sorted(CLIENT_METRICS_ROWS.items()):
        text = overrides.get(key)
        source = SOURCE_CLIENT_METRICS if text is not None else SOURCE_DEFAULT
        value = canonical(row[1], text if text is not None else row[2] or "")
        synonyms = [(key, value, source)] if text is not None else []
        results.append(_result(key, value, row[1], source, False, synonyms))
    return results


def _result(
    name: str, value: str | None, kind: int, source: int, read_only: bool, synonyms: Iterable[Synonym]
) -> DescribeConfigsResourceResult:
    secret = kind == PASSWORD
    return DescribeConfigsResourceResult(
        name=name,
        value=None if secret else value,
        read_only=read_only,
        config_source=source,
        is_sensitive=secret,
        synonyms=[
            DescribeConfigsSynonym(name=other, value=None if secret else text, source=origin)
            for other, text, origin in synonyms
        ],
        config_type=kind,
        documentation=None,
    )


def list_config_resources_response(
    view: ConfigView, request: ListConfigResourcesRequest, version: int, group_ids: Iterable[str] = ()
) -> ListConfigResourcesResponse:
    """ListConfigResources, versions 0 (client metrics only) and 1 (an empty list of types means all)."""
    types = [RESOURCE_CLIENT_METRICS] if version == 0 else list(request.resource_types) or list(_ALL_TYPES)
    response = ListConfigResourcesResponse()
    if any(kind not in _ALL_TYPES for kind in types):
        response.error_code = ErrorCode.UNSUPPORTED_VERSION
        return response
    for kind in sorted(set(types)):
        response.config_resources += [
            ConfigResource(resource_name=name, resource_type=kind) for name in _resource_names(view, kind, group_ids)
        ]
    return response


def _resource_names(view: ConfigView, kind: int, group_ids: Iterable[str]) -> list[str]:
    configured = [name for type, name in view.image.configs if type == kind]
    if kind == RESOURCE_TOPIC:
        return sorted(view.image.topics)
    if kind in (RESOURCE_BROKER, RESOURCE_BROKER_LOGGER):
        return [str(id) for id in sorted(view.image.brokers)]
    if kind == RESOURCE_GROUP:
        return sorted({*configured, *group_ids})
    return sorted(configured)

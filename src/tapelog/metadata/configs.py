"""AlterConfigs and IncrementalAlterConfigs: requests in, ConfigRecords and a response out.

Called through controller.Controller. Each resource of a request is all or nothing, and stands for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tapelog.base.config import BROKER_QUOTA_ROWS, BROKER_ROWS, TOPIC_ROWS, BrokerSettings
from tapelog.base.config_classes import NOT_DYNAMIC
from tapelog.base.config_values import LIST, split_list
from tapelog.metadata import config_rules, eligible, tier_rules, topic_names
from tapelog.metadata.config_layers import Layers, topic_defaults
from tapelog.metadata.image import (
    RESOURCE_BROKER,
    RESOURCE_BROKER_LOGGER,
    RESOURCE_CLIENT_METRICS,
    RESOURCE_GROUP,
    RESOURCE_TOPIC,
    ConfigKey,
    MetadataImage,
)
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.record_types import ConfigRecord, MetadataRecord
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.alter_configs_request import AlterConfigsRequest
from tapelog.wire.messages.alter_configs_response import AlterConfigsResourceResponse as LegacyResourceResponse
from tapelog.wire.messages.alter_configs_response import AlterConfigsResponse
from tapelog.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    IncrementalAlterConfigsRequest,
)
from tapelog.wire.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)

SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
SUBTRACT: Final = 3
OPERATIONS: Final = {SET: "SET", DELETE: "DELETE", APPEND: "APPEND", SUBTRACT: "SUBTRACT"}


def incremental_alter_configs(
    image: MetadataImage, settings: BrokerSettings, request: IncrementalAlterConfigsRequest
) -> Outcome[IncrementalAlterConfigsResponse]:
    """Apply each resource's operations to its overrides; with validate_only the response alone."""
    keys = [(resource.resource_type, resource.resource_name) for resource in request.resources]

    def wanted(position: int) -> dict[str, str]:
        configs = request.resources[position].configs
        _check_operations(configs)
        return _operated(image, settings, keys[position], configs)

    records, errors = _alter(image, settings, keys, wanted)
    response = IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(error_code=code, error_message=message, resource_type=kind, resource_name=name)
            for (kind, name), (code, message) in zip(keys, errors, strict=True)
        ]
    )
    return Outcome([] if request.validate_only else records, response)


def alter_configs(
    image: MetadataImage, settings: BrokerSettings, request: AlterConfigsRequest
) -> Outcome[AlterConfigsResponse]:
    """Replace each resource's overrides by the given ones; with validate_only the response alone."""
    keys = [(resource.resource_type, resource.resource_name) for resource in request.resources]

    def wanted(position: int) -> dict[str, str]:
        values: dict[str, str] = {}
        for config in request.resources[position].configs:
            if config.name in values:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"Config {config.name} appears more than once")
            if config.value is None:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"Config {config.name} needs a value")
            values[config.name] = config.value
        return values

    records, errors = _alter(image, settings, keys, wanted)
    response = AlterConfigsResponse(
        responses=[
            LegacyResourceResponse(error_code=code, error_message=message, resource_type=kind, resource_name=name)
            for (kind, name), (code, message) in zip(keys, errors, strict=True)
        ]
    )
    return Outcome([] if request.validate_only else records, response)


def _alter(
    image: MetadataImage,
    settings: BrokerSettings,
    keys: list[ConfigKey],
    wanted: Callable[[int], dict[str, str]],
) -> tuple[list[MetadataRecord], list[tuple[int, str | None]]]:
    """Records for every resource that may have the overrides it wants, and what to answer for each."""
    records: list[ConfigRecord] = []
    errors: list[tuple[int, str | None]] = []
    counts: dict[ConfigKey, int] = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    for position, key in enumerate(keys):
        try:
            if counts[key] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once")
            check_resource(image, key)
            new = wanted(position)
            _check_configs(image, settings, key, new)
            eligible.check_configs(image, key, new)
        except KafkaError as error:
            errors.append((error.code, error.message))
            continue
        errors.append((ErrorCode.NONE, None))
        old = image.configs.get(key, {})
        if key[0] == RESOURCE_BROKER:  # accepted because it is so already: what stands in node.toml goes on to count
            new = {name: new[name] for name in new if name not in NOT_DYNAMIC or old.get(name) == new[name]}
        records += _changes(key, old, new)
    return [*records, *eligible.after_configs(image, records)], errors


def _changes(key: ConfigKey, old: Mapping[str, str], new: Mapping[str, str]) -> list[ConfigRecord]:
    changed: list[tuple[str, str | None]] = [(name, new[name]) for name in new if old.get(name) != new[name]]
    changed += [(name, None) for name in old if name not in new]
    return [ConfigRecord(resource_type=key[0], resource_name=key[1], name=name, value=value) for name, value in changed]


def check_resource(image: MetadataImage, key: ConfigKey) -> None:
    """Raise unless configurations can be kept for this resource."""
    kind, name = key
    if kind == RESOURCE_TOPIC:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "A topic needs a name: there are no defaults for all topics")
        reason = topic_names.why_illegal(name)
        if reason is not None:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
        if name not in image.topics:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    elif kind == RESOURCE_BROKER:
        if name and broker_id(name) not in image.brokers:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Broker {name} is not registered")
    elif kind == RESOURCE_GROUP:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "A group needs a name")
    elif kind == RESOURCE_CLIENT_METRICS:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "A client metrics subscription needs a name")
    elif kind == RESOURCE_BROKER_LOGGER:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Log levels are fixed when the broker starts")
    else:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Resources of type {kind} have no configs")


def broker_id(name: str) -> int:
    """The id a broker resource names; INVALID_REQUEST if it is not a number, written as brokers write theirs."""
    try:
        id = int(name)
        if str(id) != name:  # "01" would be a second resource of the same broker
            raise ValueError
        return id
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}") from None


def _check_configs(image: MetadataImage, settings: BrokerSettings, key: ConfigKey, new: Mapping[str, str]) -> None:
    kind, name = key
    if kind == RESOURCE_TOPIC:
        config_rules.check_topic_configs(new)
        tier_rules.check(new, image.topic_config(name), settings)
    elif kind == RESOURCE_BROKER:
        old = image.config(RESOURCE_BROKER, name)
        changed = {key: value for key, value in new.items() if old.get(key) != value}
        config_rules.check_unknown(new, changed)
        config_rules.check_broker_configs(image, settings, name, changed)
    elif kind == RESOURCE_GROUP:
        config_rules.check_group_configs(new, Layers(image, settings, None))
    else:
        config_rules.check_client_metrics_configs(new)


def _check_operations(configs: list[AlterableConfig]) -> None:
    seen: dict[str, None] = {}
    for config in configs:
        if config.config_operation not in OPERATIONS:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown operation {config.config_operation}")
        if config.name in seen:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Config {config.name} appears more than once")
        if config.value is None and config.config_operation != DELETE:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Config {config.name} needs a value")
        seen[config.name] = None


def _operated(
    image: MetadataImage, settings: BrokerSettings, key: ConfigKey, configs: list[AlterableConfig]
) -> dict[str, str]:
    """A resource's overrides after the operations."""
    values = dict(image.configs.get(key, {}))
    for config in configs:
        if config.config_operation == DELETE:
            values.pop(config.name, None)
            continue
        assert config.value is not None, "checked before"
        if config.config_operation == SET:
            values[config.name] = config.value
            continue
        if _type_of(key[0], config.name) != LIST:
            operation = OPERATIONS[config.config_operation]
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Can't {operation} to {config.name}: it is not a list")
        current = values.get(config.name)
        if current is None:
            current = _inherited(image, settings, key, config.name)
        items, given = split_list(current), split_list(config.value)
        if config.config_operation == APPEND:
            items += [item for position, item in enumerate(given) if item not in items + given[:position]]
        else:
            items = [item for item in items if item not in given]
        values[config.name] = ",".join(items)
    eligible.by_operator(key, [config.name for config in configs], values)
    return values


def _type_of(kind: int, name: str) -> int:
    if kind == RESOURCE_TOPIC:
        row = TOPIC_ROWS.get(name)
    elif kind == RESOURCE_BROKER:
        row = BROKER_ROWS.get(name) or BROKER_QUOTA_ROWS.get(name)
    elif kind == RESOURCE_GROUP:
        row = config_rules.GROUP_ROWS.get(name)
    else:
        row = config_rules.CLIENT_METRICS_ROWS.get(name)
    return row[1] if row is not None else 0


def _inherited(image: MetadataImage, settings: BrokerSettings, key: ConfigKey, name: str) -> str:
    """The list that holds as long as the resource has no override of its own."""
    if key[0] == RESOURCE_TOPIC:
        return topic_defaults(Layers(image, settings, None)).get(name, "")
    if key[0] == RESOURCE_BROKER:
        return Layers(image, settings, None).text(name) or ""
    return ""

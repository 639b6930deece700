"""Reading and changing configurations of topics and brokers; shared by `tape config` and `tape topic`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ConfigSource, ResourceType

from tapelog.cli.connect import Connection
from tapelog.cli.output import EXIT_USAGE, CliError
from tapelog.cli.units import config_value, parse_pair

ALL_BROKERS = "all"
KINDS = {"topic": ResourceType.TOPIC, "broker": ResourceType.BROKER, "group": ResourceType.GROUP}

_SOURCES = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG.value: "topic",
    ConfigSource.DYNAMIC_BROKER_CONFIG.value: "broker",
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG.value: "all brokers",
    ConfigSource.STATIC_BROKER_CONFIG.value: "start of broker",
    ConfigSource.DEFAULT_CONFIG.value: "default",
    ConfigSource.GROUP_CONFIG.value: "group",
}


def parse_settings(texts: Sequence[str]) -> dict[str, str]:
    """`name=value` options as a dictionary, units resolved."""
    found: dict[str, str] = {}
    for text in texts:
        try:
            name, value = parse_pair(text)
        except ValueError as error:
            raise CliError(str(error), "write it like retention.ms=7d", EXIT_USAGE) from None
        found[name] = config_value(name, value)
    return found


def _resource(kind: str, name: str) -> tuple[ResourceType, str]:
    if kind not in KINDS:
        raise CliError(f"there are no configs of a {kind!r}", f"say one of {', '.join(KINDS)}", EXIT_USAGE)
    if kind == "broker" and not name.isdigit():
        raise CliError(f"{name!r} is not a broker id", "`tape config list broker` shows the ids", EXIT_USAGE)
    return KINDS[kind], name


def described(connection: Connection, kind: str, name: str) -> dict[str, ConfigEntry]:
    """Every config of a topic or broker, sorted by name."""
    resource_type, resource_name = _resource(kind, name)
    if kind == "topic":
        connection.topic(name)
    resource = ConfigResource(resource_type, resource_name)
    futures = connection.admin.describe_configs([resource], request_timeout=connection.timeout_s)
    (future,) = futures.values()
    entries: dict[str, ConfigEntry] = connection.result(future, topic=name if kind == "topic" else "")
    return dict(sorted(entries.items()))


def change(connection: Connection, kind: str, name: str, values: Mapping[str, str], unset: Sequence[str]) -> None:
    """Set and unset configs in one atomic request; the broker `all` is every broker."""
    if (kind, name) == ("broker", ALL_BROKERS):
        _change_all(connection, values, unset)
        return
    resource_type, resource_name = _resource(kind, name)
    entries = [
        ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in values.items()
    ] + [ConfigEntry(key, None, incremental_operation=AlterConfigOpType.DELETE) for key in unset]
    resource = ConfigResource(resource_type, resource_name, incremental_configs=entries)
    futures = connection.admin.incremental_alter_configs([resource], request_timeout=connection.timeout_s)
    for future in futures.values():
        connection.result(future, topic=name if kind == "topic" else "")


def _change_all(connection: Connection, values: Mapping[str, str], unset: Sequence[str]) -> None:
    """What every broker has that has nothing else of its own; librdkafka has no call for it."""
    from tapelog.cli.raw import Wire, check
    from tapelog.wire.messages.incremental_alter_configs_request import (
        AlterableConfig,
        AlterConfigsResource,
        IncrementalAlterConfigsRequest,
    )
    from tapelog.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse

    entries = [AlterableConfig(key, AlterConfigOpType.SET.value, value) for key, value in values.items()]
    entries += [AlterableConfig(key, AlterConfigOpType.DELETE.value, None) for key in unset]
    resource = AlterConfigsResource(ResourceType.BROKER.value, "", entries)
    with Wire(connection) as wire:
        answer = wire.ask(IncrementalAlterConfigsRequest(resources=[resource]), IncrementalAlterConfigsResponse)
    for one in answer.responses:
        check(
            one.error_code, one.error_message or "the settings were refused", "`tape config describe broker ID --all`"
        )


def _source_value(entry: Any) -> int:
    return int(entry.source.value if isinstance(entry.source, ConfigSource) else entry.source)


def source_name(entry: ConfigEntry) -> str:
    """Where the value comes from, in a word or two."""
    return _SOURCES.get(_source_value(entry), "unknown")


def is_set(entry: ConfigEntry, kind: str) -> bool:
    """Whether someone chose the value for this very topic, or for this broker (or all of them)."""
    return source_name(entry) in (("broker", "all brokers", "start of broker") if kind == "broker" else (kind,))


def default_value(entry: ConfigEntry, kind: str) -> str | None:
    """The value it would have if it were unset, as far as the cluster says."""
    rest = [synonym for synonym in entry.synonyms.values() if _source_value(synonym) != _source_value(entry)]
    return rest[0].value if rest else (entry.value if not is_set(entry, kind) else None)

"""Which configurations each kind of resource accepts. Raises KafkaError with the code Kafka gives; changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tapelog.base.config import (
    BROKER_QUOTA_ROWS,
    BROKER_ROWS,
    TOPIC_DEFAULTS,
    TOPIC_ROWS,
    BrokerSettings,
    nearest,
)
from tapelog.base.config_classes import AT_START, LISTENERS, PROTOCOL_MAP
from tapelog.base.config_refusals import LISTENER_PREFIX, PLAINTEXT, listener_row, refusal, unavailable
from tapelog.base.config_values import ConfigValueError, check, parse_whole, split_list
from tapelog.base.kafka_configs import CLIENT_METRICS, GROUP, PER_BROKER_ONLY, Row
from tapelog.base.node_config import SECURITY_PROTOCOLS, Listener, NodeConfigError, parse_listeners
from tapelog.metadata.config_layers import Layers
from tapelog.metadata.image import MetadataImage
from tapelog.wire.errors import ErrorCode, KafkaError

GROUP_ROWS: Final[dict[str, Row]] = {row[0]: row for row in GROUP}
CLIENT_METRICS_ROWS: Final[dict[str, Row]] = {row[0]: row for row in CLIENT_METRICS}

UNKNOWN_NAMES_MAX: Final = 1000
UNKNOWN_NAME_LENGTH_MAX: Final = 249
UNKNOWN_LENGTH_MAX: Final = 256 * 1024
"""Of the configs of one broker, or of all brokers, that nobody knows: names with their values. They are kept in every
node's memory; Kafka limits one batch of metadata to 8 MB."""

_GROUP_LIMITS: Final = (
    # group name, broker name of the least and of the greatest value allowed
    ("consumer.session.timeout.ms", "group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"),
    (
        "consumer.heartbeat.interval.ms",
        "group.consumer.min.heartbeat.interval.ms",
        "group.consumer.max.heartbeat.interval.ms",
    ),
    ("share.session.timeout.ms", "group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms"),
    ("share.heartbeat.interval.ms", "group.share.min.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms"),
    (
        "share.record.lock.duration.ms",
        "group.share.min.record.lock.duration.ms",
        "group.share.max.record.lock.duration.ms",
    ),
    ("share.delivery.count.limit", "group.share.min.delivery.count.limit", "group.share.max.delivery.count.limit"),
    ("streams.session.timeout.ms", "group.streams.min.session.timeout.ms", "group.streams.max.session.timeout.ms"),
    (
        "streams.heartbeat.interval.ms",
        "group.streams.min.heartbeat.interval.ms",
        "group.streams.max.heartbeat.interval.ms",
    ),
)
_METRICS_INTERVAL_MS: Final = (100, 3_600_000)
_METRICS_MATCH: Final = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


def _refuse(code: ErrorCode, message: str) -> KafkaError:
    return KafkaError(code, message)


def _check_rows(rows: Mapping[str, Row], kind: str, configs: Mapping[str, str], code: ErrorCode) -> None:
    for name in configs:
        row = rows.get(name)
        if row is None:
            raise _refuse(code, f"Unknown {kind} config name: {name}{nearest(name, rows)}")
        try:
            check(row, configs[name])
        except ConfigValueError as error:
            raise _refuse(code, str(error)) from None


def check_topic_configs(configs: Mapping[str, str]) -> None:
    """Raise INVALID_CONFIG unless a topic may have exactly these overrides."""
    _check_rows(TOPIC_ROWS, "topic", configs, ErrorCode.INVALID_CONFIG)
    least = parse_whole(configs.get("min.compaction.lag.ms", TOPIC_DEFAULTS["min.compaction.lag.ms"]))
    most = parse_whole(configs.get("max.compaction.lag.ms", TOPIC_DEFAULTS["max.compaction.lag.ms"]))
    if least > most:
        raise _refuse(
            ErrorCode.INVALID_CONFIG, f"min.compaction.lag.ms ({least}) is greater than max.compaction.lag.ms ({most})"
        )


def check_broker_configs(
    image: MetadataImage, settings: BrokerSettings, broker: str, changed: Mapping[str, str]
) -> None:
    """Raise INVALID_REQUEST unless these may be changed while brokers run; broker is an id, or "" for all of them.

    Names that nobody knows are accepted, as in Kafka."""
    for name in sorted(changed):
        refused = refusal(name, changed[name])
        if refused is not None:
            raise _refuse(ErrorCode.INVALID_REQUEST, refused)
    fixed = [
        name for name in sorted(changed) if name in BROKER_ROWS and (name not in PER_BROKER_ONLY or name in AT_START)
    ]
    if fixed:
        raise _refuse(ErrorCode.INVALID_REQUEST, f"Only a restart can change these configs: {', '.join(fixed)}")
    if not broker:
        single = [name for name in sorted(changed) if PER_BROKER_ONLY.get(name, name.startswith(LISTENER_PREFIX))]
        if single:
            raise _refuse(
                ErrorCode.INVALID_REQUEST, f"These configs can only be set broker by broker: {', '.join(single)}"
            )
    known = {name: BROKER_ROWS.get(name) or BROKER_QUOTA_ROWS.get(name) or listener_row(name) for name in changed}
    rows = {name: row for name, row in known.items() if row is not None}
    _check_rows(rows, "broker", {name: changed[name] for name in rows}, ErrorCode.INVALID_REQUEST)
    if parse_whole(changed.get("max.connections", "1")) == 0:
        raise _refuse(ErrorCode.INVALID_REQUEST, "max.connections=0 would shut everybody out, you included")
    if broker:
        _check_listeners(image, settings, int(broker), changed)


def _check_listeners(image: MetadataImage, settings: BrokerSettings, broker: int, changed: Mapping[str, str]) -> None:
    """Listeners are opened when a node starts: only what is so already may be said again."""
    text = changed.get(LISTENERS)
    if text is not None:
        try:
            given = parse_listeners(split_list(text))
        except NodeConfigError as error:
            raise _refuse(ErrorCode.INVALID_REQUEST, f"{LISTENERS}: {error}") from None
        names = {endpoint.name for endpoint in image.brokers[broker].endpoints}
        for listener in given:
            if listener.name in SECURITY_PROTOCOLS and listener.name != PLAINTEXT and listener.name not in names:
                raise _refuse(ErrorCode.INVALID_REQUEST, f"listener {listener.name}: {unavailable(listener.name)}")
        if not _served(image, settings, broker, given):
            raise _refuse(
                ErrorCode.INVALID_REQUEST, _AT_START.format(LISTENERS, "`listeners` in node.toml (tape up --listen)")
            )
    text = changed.get(PROTOCOL_MAP)
    if text is not None and not _mapped(image, settings, broker, text):
        raise _refuse(ErrorCode.INVALID_REQUEST, _AT_START.format(PROTOCOL_MAP, "it in node.toml"))


_AT_START: Final = "{} is read when a node starts: change {}, and start the node again"


def _pairs(text: str) -> set[str]:
    return {item.upper() for item in split_list(text)}


def _mapped(image: MetadataImage, settings: BrokerSettings, broker: int, text: str) -> bool:
    """Whether the broker may have this map; of other nodes only the listeners are known that they tell clients."""
    if settings.text("node.id") == str(broker):
        return _pairs(text) == _pairs(settings.string(PROTOCOL_MAP))
    named = {pair.partition(":")[0].strip() for pair in _pairs(text)}
    return all(endpoint.name.upper() in named for endpoint in image.brokers[broker].endpoints)


def _served(image: MetadataImage, settings: BrokerSettings, broker: int, given: list[Listener]) -> bool:
    """Whether the broker listens there; of other nodes only the addresses are known that they tell clients."""
    controllers = settings.items("controller.listener.names")
    asked = {(one.name, one.host, one.port) for one in given if one.name not in controllers}
    told = {(one.name, one.host, one.port) for one in image.brokers[broker].endpoints}
    if settings.text("node.id") == str(broker):
        own = parse_listeners(settings.items(LISTENERS))
        if asked == {(one.name, one.host, one.port) for one in own if one.name not in controllers}:
            return True
    return asked == told


def check_unknown(new: Mapping[str, str], changed: Mapping[str, str]) -> None:
    """Raise POLICY_VIOLATION for more unknown names of one broker, or longer ones, than the metadata should carry."""
    if all(name in BROKER_ROWS or name in BROKER_QUOTA_ROWS for name in changed):
        return
    unknown = [name for name in new if name not in BROKER_ROWS and name not in BROKER_QUOTA_ROWS]
    if len(unknown) > UNKNOWN_NAMES_MAX:
        raise _refuse(ErrorCode.POLICY_VIOLATION, f"A broker can have at most {UNKNOWN_NAMES_MAX} unknown configs")
    if any(len(name) > UNKNOWN_NAME_LENGTH_MAX for name in unknown if name in changed):
        raise _refuse(
            ErrorCode.POLICY_VIOLATION, f"An unknown config name has at most {UNKNOWN_NAME_LENGTH_MAX} characters"
        )
    if sum(len(name) + len(new[name]) for name in unknown) > UNKNOWN_LENGTH_MAX:
        raise _refuse(
            ErrorCode.POLICY_VIOLATION, f"A broker's unknown configs have at most {UNKNOWN_LENGTH_MAX} characters"
        )


def check_group_configs(configs: Mapping[str, str], layers: Layers) -> None:
    """Raise INVALID_CONFIG unless a group may have exactly these overrides on a broker with these settings."""
    _check_rows(GROUP_ROWS, "group", configs, ErrorCode.INVALID_CONFIG)
    for name, least_name, most_name in _GROUP_LIMITS:
        text = configs.get(name)
        if text is None:
            continue
        value, least, most = parse_whole(text), layers.text(least_name), layers.text(most_name)
        if least is not None and value < parse_whole(least):
            raise _refuse(ErrorCode.INVALID_CONFIG, f"{name} must be at least {least} ({least_name})")
        if most is not None and value > parse_whole(most):
            raise _refuse(ErrorCode.INVALID_CONFIG, f"{name} must be at most {most} ({most_name})")
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if session in configs or heartbeat in configs:
            limit = parse_whole(configs.get(session) or layers.text("group." + session) or "")
            beat = parse_whole(configs.get(heartbeat) or layers.text("group." + heartbeat) or "")
            if limit <= beat:
                raise _refuse(ErrorCode.INVALID_CONFIG, f"{session} must be greater than {heartbeat}")


def check_client_metrics_configs(configs: Mapping[str, str]) -> None:
    """Raise INVALID_REQUEST or INVALID_CONFIG unless a client metrics subscription may have exactly these values."""
    _check_rows(CLIENT_METRICS_ROWS, "client metrics", configs, ErrorCode.INVALID_REQUEST)
    interval = configs.get("interval.ms")
    if interval is not None:
        least, most = _METRICS_INTERVAL_MS
        if not least <= parse_whole(interval) <= most:
            raise _refuse(ErrorCode.INVALID_REQUEST, f"interval.ms must be from {least} to {most}")
    for item in split_list(configs.get("match", "")):
        name, equals, _ = item.partition("=")
        if not equals or name.strip() not in _METRICS_MATCH:
            known = ", ".join(_METRICS_MATCH)
            raise _refuse(ErrorCode.INVALID_CONFIG, f"match: {item!r} is not <name>=<pattern> with one of {known}")

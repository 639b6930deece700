"""Why a broker setting is refused, and what is said of one that is accepted without effect.

One function for `--set`, node.toml and configuration changes over the wire, so that all three use the same words. The
names are in `config_classes`; here are the values: the default, an empty value and what this broker does anyway promise
nothing, and are accepted. A message never repeats a value, which may be a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tapelog.base.config import (
    BROKER_QUOTA_ROWS,
    BROKER_ROWS,
    TOPIC_ROWS,
    RefusedSettingError,
    UnknownSettingError,
    unknown_setting,
)
from tapelog.base.config_classes import NO_EFFECT, NOT_DYNAMIC, PROTOCOL_MAP, REFUSED, WRITTEN_MIN_ISR
from tapelog.base.config_values import canonical, check, split_list
from tapelog.base.kafka_configs import CLIENT_METRICS, GROUP, Row

LISTENER_PREFIX: Final = "listener.name."
PLAINTEXT: Final = "PLAINTEXT"
SHOWN_MAX: Final = 100
"""Characters of a name that a message repeats."""
INTER_BROKER_PROTOCOL: Final = "security.inter.broker.protocol"

_NAMES: Final = frozenset(
    (*BROKER_ROWS, *BROKER_QUOTA_ROWS, *TOPIC_ROWS, *(row[0] for row in (*GROUP, *CLIENT_METRICS)))
)

_ACLS: Final = REFUSED["authorizer.class.name"]
_RECORD_FORMAT: Final = "records have format v2 only"
# Names that Kafka's table does not have, and that promise something: an authorizer's, or those of earlier versions.
_BESIDE: Final[dict[str, str]] = {
    "allow.everyone.if.no.acl.found": _ACLS,
    "log.message.downconversion.enable": _RECORD_FORMAT,
    "log.message.format.version": _RECORD_FORMAT,
    "quota.consumer.default": REFUSED["client.quota.callback.class"],
    "quota.producer.default": REFUSED["client.quota.callback.class"],
    "super.users": _ACLS,
    WRITTEN_MIN_ISR: "only the controller writes it; set min.insync.replicas",
}
_NO_CLASSES: Final = REFUSED["security.providers"]
# Kafka passes settings with these beginnings on to parts that are not here; those with these endings name Java classes.
_BEGINNINGS: Final = {
    "delegation.token.": REFUSED["delegation.token.secret.key"],
    "sasl.": REFUSED["sasl.jaas.config"],
    "ssl.": REFUSED["ssl.protocol"],
}
_ENDINGS: Final = (".class", ".class.name", ".classes", ".class.path", ".interceptors", ".reporters")

_PER_LISTENER: Final = {
    "max.connections": "connections of one listener are not limited; max.connections limits all of them",
    "max.connection.creation.rate": REFUSED["max.connection.creation.rate"],
}
# Names that are acted on, for these values only; the empty value leaves it to the broker.
_ONLY: Final[dict[str, tuple[frozenset[str], str]]] = {
    "replica.selector.class": (
        frozenset(
            (
                "org.apache.kafka.common.replica.RackAwareReplicaSelector",
                "org.apache.kafka.common.replica.LeaderSelector",
            )
        ),
        f"{_NO_CLASSES}; RackAwareReplicaSelector and LeaderSelector are built in",
    ),
    "group.consumer.assignors": (
        frozenset(
            (
                "uniform",
                "range",
                "org.apache.kafka.coordinator.group.assignor.UniformAssignor",
                "org.apache.kafka.coordinator.group.assignor.RangeAssignor",
            )
        ),
        f"{_NO_CLASSES}; uniform and range are built in",
    ),
    "group.coordinator.rebalance.protocols": (
        frozenset(("classic", "consumer", "streams")),
        "share groups are not available yet",
    ),
}


def unavailable(protocol: str) -> str:
    """What is said of a security protocol that listeners do not speak."""
    return f"{protocol} is not available yet, only {PLAINTEXT} is"


def check_static(settings: Mapping[str, str]) -> None:
    """Raise UnknownSettingError, RefusedSettingError or ConfigValueError for the first bad setting, by name."""
    for name in sorted(settings):
        refused = refusal(name, settings[name])
        if refused is not None:
            raise RefusedSettingError(refused)
        row = BROKER_ROWS.get(name) or BROKER_QUOTA_ROWS.get(name)
        row = row or listener_row(name)
        if row is not None:
            check(row, settings[name])
        elif not name.startswith(LISTENER_PREFIX) or not _of_listener(name)[0]:
            raise UnknownSettingError(unknown_setting(name, BROKER_ROWS))


def listener_row(name: str) -> Row | None:
    """The row of listener.name.<listener>.<config>, which has the bounds of <config>."""
    found = [BROKER_ROWS[other] for other in _of_listener(name) if other in BROKER_ROWS]
    return (name, *found[0][1:]) if found and name.startswith(LISTENER_PREFIX) else None


def refusal(name: str, value: str) -> str | None:
    """Why a broker cannot have this setting, in a sentence; None if it can, or if nothing is known of the name."""
    reason = _listener_reason(name, value) if name.startswith(LISTENER_PREFIX) else _reason(name, value)
    return f"{name}: {reason}" if reason is not None else None


def in_force(name: str, value: str) -> bool:
    """Whether a stored change of a broker counts: it could be made today, and without a restart."""
    return name not in NOT_DYNAMIC and refusal(name, value) is None


def remark(name: str) -> str | None:
    """What an operator should know of a name that is accepted; None for one that code acts on. Short, and cheap."""
    if name in NO_EFFECT:
        return f"{name} has no effect here"
    if name in _NAMES:
        return None
    if name.startswith(LISTENER_PREFIX) and any(other in _NAMES for other in _of_listener(name)):
        return f"{quoted(name)} has no effect here"
    return f"unknown setting {quoted(name)}: kept, not used"


def quoted(name: str) -> str:
    """A name that a client chose, for a line of a log: on one line, and not long."""
    return repr(name if len(name) <= SHOWN_MAX else name[:SHOWN_MAX] + "…")


def _reason(name: str, value: str) -> str | None:
    if name == INTER_BROKER_PROTOCOL:
        protocol = value.strip().upper()
        return unavailable(protocol) if protocol not in ("", PLAINTEXT) else None
    if name == PROTOCOL_MAP:
        return _map_reason(value)
    if name in _ONLY:
        allowed, reason = _ONLY[name]
        return reason if any(item not in allowed for item in split_list(value)) else None
    if name in REFUSED:
        return None if _promises_nothing(name, value) else REFUSED[name]
    return _unknown_reason(name) if name not in _NAMES and value.strip() else None


def _unknown_reason(name: str) -> str | None:
    for beginning, reason in _BEGINNINGS.items():
        if name.startswith(beginning):
            return reason
    return _BESIDE.get(name, _NO_CLASSES if name.endswith(_ENDINGS) else None)


def _promises_nothing(name: str, value: str) -> bool:
    row = BROKER_ROWS[name]
    try:
        return not value.strip() or canonical(row[1], value) == row[2]
    except ValueError:
        return False


def _map_reason(value: str) -> str | None:
    """Kafka's own pairs (SSL:SSL) stand in many files and speak of no listener that is there."""
    for item in split_list(value):
        listener, colon, protocol = (part.strip().upper() for part in item.partition(":"))
        if not colon or not protocol:
            return f"{quoted(item)} is not NAME:PROTOCOL, as in {PLAINTEXT}:{PLAINTEXT}"
        if protocol != PLAINTEXT and item.strip().upper() not in _KAFKAS_MAP:
            return f"listener {listener}: {unavailable(protocol)}"
    return None


_KAFKAS_MAP: Final = frozenset(split_list(BROKER_ROWS[PROTOCOL_MAP][2] or ""))


def _listener_reason(name: str, value: str) -> str | None:
    others = _of_listener(name)
    for other in others:
        if other in _PER_LISTENER:
            return _PER_LISTENER[other]
        if other in _NAMES:
            return _reason(other, value)
    return next((reason for other in others if (reason := _unknown_reason(other)) is not None), None)


def _of_listener(name: str) -> tuple[str, str]:
    """What listener.name.<listener>.<name> is about; in front of the name may stand a SASL mechanism."""
    rest = name[len(LISTENER_PREFIX) :].partition(".")[2]
    return rest, rest.partition(".")[2]

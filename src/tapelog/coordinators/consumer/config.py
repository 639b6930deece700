"""The settings consumer groups obey: of the broker, and of single groups where somebody set them (ConfigResource
GROUP).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from tapelog.coordinators.consumer.assignors.table import configured

CONSUMER_DEFAULTS: Final[dict[str, int]] = {
    "group.consumer.session.timeout.ms": 45_000,
    "group.consumer.min.session.timeout.ms": 45_000,
    "group.consumer.max.session.timeout.ms": 60_000,
    "group.consumer.heartbeat.interval.ms": 5000,
    "group.consumer.min.heartbeat.interval.ms": 5000,
    "group.consumer.max.heartbeat.interval.ms": 15_000,
    "group.consumer.assignment.interval.ms": 1000,
    "group.consumer.min.assignment.interval.ms": 0,
    "group.consumer.max.assignment.interval.ms": 15_000,
    "group.consumer.max.size": 2_147_483_647,
    "group.consumer.regex.refresh.interval.ms": 600_000,
}
DEFAULT_ASSIGNORS: Final = "uniform,range"
DEFAULT_MIGRATION: Final = "bidirectional"
DEFAULT_PROTOCOLS: Final = "classic,consumer,streams"


class GroupOverrides(Protocol):
    """What was set while the broker runs."""

    def value(self, group_id: str, name: str) -> str | None:
        """The value of a name such as `consumer.session.timeout.ms` for that group; None if nobody set one."""
        ...


class NoOverrides:
    """Nothing was set for any group."""

    def value(self, group_id: str, name: str) -> str | None:
        """None."""
        return None


class ConsumerConfig:
    """Settings by their Kafka names, with Kafka's defaults; those of a group within the broker's bounds."""

    def __init__(self, settings: Mapping[str, str] | None = None, overrides: GroupOverrides | None = None) -> None:
        given = settings or {}
        self._values = {name: int(given.get(name, default)) for name, default in CONSUMER_DEFAULTS.items()}
        self._overrides = overrides or NoOverrides()
        self.members_max = self._values["group.consumer.max.size"]
        self.regex_refresh_ms = self._values["group.consumer.regex.refresh.interval.ms"]
        self.assignors = configured(given.get("group.consumer.assignors", DEFAULT_ASSIGNORS).split(","))
        protocols = given.get("group.coordinator.rebalance.protocols", DEFAULT_PROTOCOLS).split(",")
        self.enabled = "consumer" in [protocol.strip().lower() for protocol in protocols]
        policy = given.get("group.consumer.migration.policy", DEFAULT_MIGRATION).lower()
        self.upgrade_enabled = policy in ("bidirectional", "upgrade")
        self.downgrade_enabled = policy in ("bidirectional", "downgrade")

    def session_timeout_ms(self, group_id: str) -> int:
        """How long a member of the group may be silent."""
        return self._of_group(group_id, "session.timeout.ms")

    def heartbeat_interval_ms(self, group_id: str) -> int:
        """How often a member of the group shall be heard of."""
        return self._of_group(group_id, "heartbeat.interval.ms")

    def assignment_interval_ms(self, group_id: str) -> int:
        """How much time lies at least between two computations of the group's targets."""
        return self._of_group(group_id, "assignment.interval.ms")

    def _of_group(self, group_id: str, name: str) -> int:
        text = self._overrides.value(group_id, f"consumer.{name}")
        if text is None:
            return self._values[f"group.consumer.{name}"]
        least, most = self._values[f"group.consumer.min.{name}"], self._values[f"group.consumer.max.{name}"]
        return min(max(int(text), least), most)

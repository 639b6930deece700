"""The broker settings the group coordinator obeys, by their Kafka names and with Kafka's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

GROUP_DEFAULTS: Final[dict[str, int]] = {
    "group.min.session.timeout.ms": 6000,
    "group.max.session.timeout.ms": 1_800_000,
    "group.initial.rebalance.delay.ms": 3000,
    "group.max.size": 2_147_483_647,
    "offset.metadata.max.bytes": 4096,
    "offsets.retention.minutes": 10_080,
    "offsets.retention.check.interval.ms": 600_000,
    "offsets.topic.num.partitions": 50,
    "offsets.commit.timeout.ms": 5000,
}


class GroupConfig:
    """Settings of the group coordinator, read once from a mapping of Kafka names to strings."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        given = settings or {}
        values = {name: int(given.get(name, default)) for name, default in GROUP_DEFAULTS.items()}
        self.session_timeout_ms_min = values["group.min.session.timeout.ms"]
        self.session_timeout_ms_max = values["group.max.session.timeout.ms"]
        self.initial_rebalance_delay_ms = values["group.initial.rebalance.delay.ms"]
        self.members_max = values["group.max.size"]
        self.offset_metadata_max = values["offset.metadata.max.bytes"]
        self.offsets_retention_ms = values["offsets.retention.minutes"] * 60_000
        self.expiry_interval_ms = values["offsets.retention.check.interval.ms"]
        self.partitions = values["offsets.topic.num.partitions"]
        self.commit_timeout_ms = values["offsets.commit.timeout.ms"]

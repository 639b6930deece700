"""What brokers say of their tiers, put together per topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tapelog.cli.topic_names import own_first
from tapelog.wire.messages.describe_log_dirs_response import DescribeLogDirsResponse

WAITING = "waiting"
"""The broker's word for a partition whose tier it does not work on just now (log/tier/uploader)."""


def described(told: Mapping[int, DescribeLogDirsResponse], wanted: Sequence[str]) -> dict[str, Any]:
    """The document of `tape tier status`: topics whose partitions are tiered, and brokers that cannot use the tier."""
    topics: dict[str, list[dict[str, Any]]] = {}
    for broker, response in sorted(told.items()):
        for directory in response.results:
            for topic in directory.topics:
                for part in topic.partitions:
                    if part.tier is not None and (not wanted or topic.name in wanted):
                        tier = part.tier
                        topics.setdefault(topic.name, []).append(
                            {
                                "partition": part.partition_index,
                                "leader": broker,
                                "local_bytes": part.partition_size,
                                "remote_bytes": max(0, tier.bytes),
                                "remote_segments": max(0, tier.segments),
                                "start_offset": tier.start_offset,
                                "tiered_end_offset": tier.end_offset,
                                "lag_segments": tier.lag_segments,
                                "lag_bytes": tier.lag_bytes,
                                "state": tier.state,
                                "hold": tier.hold,
                                "error": tier.error or None,
                                "failing_since_ms": tier.failing_since_ms,
                            }
                        )
    return {
        "topics": [
            _topic(name, sorted(parts, key=_number))
            for name, parts in sorted(topics.items(), key=lambda item: own_first(item[0]))
        ],
        "brokers": [
            {"broker": broker, "error": response.tier_error, "failing_since_ms": response.tier_failing_since_ms}
            for broker, response in sorted(told.items())
            if response.tier_error
        ],
    }


def shown_state(parts: Sequence[Mapping[str, Any]]) -> str:
    """The partitions' states for a person: a leader that `waits` either has nothing to copy or tries again."""
    return ", ".join(dict.fromkeys(map(_shown, parts)))


def _shown(part: Mapping[str, Any]) -> str:
    if part["state"] != WAITING:
        return str(part["state"])
    if part["error"]:
        return "tries again"
    if part["lag_segments"] or part["start_offset"] < 0:  # below 0: the leader has not read the manifest yet
        return WAITING
    return "nothing to copy"


def _topic(name: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    failing = [part for part in parts if part["error"]]
    oldest = min(failing, key=lambda part: int(part["failing_since_ms"])) if failing else None
    states = list(dict.fromkeys(part["state"] for part in parts))
    return {
        "topic": name,
        "partitions": len(parts),
        "local_bytes": sum(part["local_bytes"] for part in parts),
        "remote_bytes": sum(part["remote_bytes"] for part in parts),
        "remote_segments": sum(part["remote_segments"] for part in parts),
        "lag_bytes": sum(part["lag_bytes"] for part in parts),
        "lag_segments": sum(part["lag_segments"] for part in parts),
        "hold": any(part["hold"] for part in parts),
        "state": ", ".join(states),
        "error": None if oldest is None else f"{name}-{oldest['partition']}: {oldest['error']}",
        "failing_since_ms": -1 if oldest is None else oldest["failing_since_ms"],
        "by_partition": parts,
    }


def _number(part: dict[str, Any]) -> int:
    return int(part["partition"])

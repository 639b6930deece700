"""What a query's progress says about our sources: offsets to publish, how far they are behind, and the group's name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from tapelog.spark.plan.errors import PlanError
from tapelog.spark.plan.offsets import offsets_from_checkpoint
from tapelog.spark.plan.values import TopicPartition

UNNAMED: Final = "spark-tapelog"
"""Begins the group of a query that has no name; its id follows, which stays the same as long as the checkpoint does."""


def group_of(options: Mapping[str, str], name: str | None, query_id: str) -> str:
    """The group that a query publishes to: kafka.group.id if it was given, else its name, else its id."""
    given = {key.lower(): value.strip() for key, value in options.items() if value and value.strip()}
    if "kafka.group.id" in given:
        return given["kafka.group.id"]
    prefix = given.get("groupidprefix")
    if name:
        return f"{prefix}-{name}" if prefix else name
    return f"{prefix or UNNAMED}-{query_id}"


def offsets_in(value: str | Mapping[str, Any] | None) -> dict[TopicPartition, int]:
    """Offsets as a progress has them: text, or already a dictionary; nothing where there are none."""
    if value is None or value in ("", "null"):
        return {}
    try:
        return dict(offsets_from_checkpoint(json.loads(value) if isinstance(value, str) else dict(value)))
    except (PlanError, ValueError, TypeError, AttributeError):
        return {}


def behind_latest(end: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int]) -> dict[str, str]:
    """minOffsetsBehindLatest and its like, by the names and in the form of Spark's Kafka source; {} if not known."""
    behind = [max(0, latest[of] - offset) for of, offset in end.items() if of in latest]
    if not behind:
        return {}
    return {
        "minOffsetsBehindLatest": str(min(behind)),
        "maxOffsetsBehindLatest": str(max(behind)),
        "avgOffsetsBehindLatest": str(sum(behind) / len(behind)),
    }


def lag(progress: Any) -> list[dict[str, str]]:
    """min-, avg- and maxOffsetsBehindLatest of each source of a progress (query.lastProgress, or an event's).

    Spark's Kafka source reports them itself as metrics; a source in Python cannot. {} where a source tells no latest.
    """
    sources = progress["sources"] if isinstance(progress, Mapping) else progress.sources
    found = []
    for source in sources:
        end = source["endOffset"] if isinstance(source, Mapping) else source.endOffset
        latest = source.get("latestOffset") if isinstance(source, Mapping) else source.latestOffset
        found.append(behind_latest(offsets_in(end), offsets_in(latest)))
    return found

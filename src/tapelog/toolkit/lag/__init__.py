"""How far groups are behind, in records and in seconds, and whether that is healthy. For any Kafka cluster.

    from tapelog.toolkit.lag import group_lag
    lag = group_lag("127.0.0.1:9092", "billing")
    print(lag.records, lag.seconds)

Lag in seconds is the age of the oldest record that the group has not consumed: that record is read and its timestamp
looked at. Nothing is interpolated. `group_lag_async` is the same for asyncio; `LagReader` keeps its connections for
many questions. `group_health` judges by a window of commits as Burrow does: OK, WARN, ERR, STALL, STOP, REWIND.
"""

from __future__ import annotations

from tapelog.toolkit.clients import Cluster
from tapelog.toolkit.lag.health import GroupHealth, HealthReader, group_health, group_health_async
from tapelog.toolkit.lag.judgement import Finding, Limits, Verdict
from tapelog.toolkit.lag.measure import LagReader, group_lag, group_lag_async, group_lags, group_lags_async
from tapelog.toolkit.lag.values import Committed, GroupLag, Isolation, Oldest, PartitionLag, Place

__all__ = [
    "Cluster",
    "Committed",
    "Finding",
    "GroupHealth",
    "GroupLag",
    "HealthReader",
    "Isolation",
    "LagReader",
    "Limits",
    "Oldest",
    "PartitionLag",
    "Place",
    "Verdict",
    "group_health",
    "group_health_async",
    "group_lag",
    "group_lag_async",
    "group_lags",
    "group_lags_async",
]

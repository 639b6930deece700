"""For applications: loops with a promise, on confluent-kafka alone. Works with any Kafka cluster.

`exactly_once`, `at_least_once`, `at_most_once` call a handler for each record; `aio` has the same for async handlers.
docs/guide/toolkit.md says what each promises and which crash shows it. Nothing in here imports the broker.
"""

from __future__ import annotations

from tapelog.toolkit.clients import BadSetting, Cluster
from tapelog.toolkit.durations import Backoff
from tapelog.toolkit.engine import Stats
from tapelog.toolkit.failures import Again, Decision, Instead, OnError, RetryInPlace, Skip, Stop, StopOnError
from tapelog.toolkit.loop import Loop, Options
from tapelog.toolkit.loops import at_least_once, at_most_once, exactly_once
from tapelog.toolkit.records import ID_HEADER, NoValue, Record, Send, Sends
from tapelog.toolkit.runner import Handler
from tapelog.toolkit.sink import Interrupted, SendFailed
from tapelog.toolkit.transactions import Fenced

__all__ = [
    "ID_HEADER",
    "Again",
    "Backoff",
    "BadSetting",
    "Cluster",
    "Decision",
    "Fenced",
    "Handler",
    "Instead",
    "Interrupted",
    "Loop",
    "NoValue",
    "OnError",
    "Options",
    "Record",
    "RetryInPlace",
    "Send",
    "SendFailed",
    "Sends",
    "Skip",
    "Stats",
    "Stop",
    "StopOnError",
    "at_least_once",
    "at_most_once",
    "exactly_once",
]

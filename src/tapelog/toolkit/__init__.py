"""For applications: loops with a promise, on confluent-kafka alone. Works with any Kafka cluster.

`exactly_once`, `at_least_once`, `at_most_once` call a handler for each record; `aio` has the same for async handlers.
docs/guide/toolkit.md says what each promises and which crash shows it. Nothing in here imports the broker.
"""

from __future__ import annotations

from tapelog.toolkit.causal import DEPENDS_ON, CausalOrder, MissingDependencies, caused_by
from tapelog.toolkit.clients import BadSetting, Cluster
from tapelog.toolkit.durations import Backoff
from tapelog.toolkit.engine import Stats
from tapelog.toolkit.failures import Again, Decision, Instead, OnError, RetryInPlace, Skip, Stop, StopOnError
from tapelog.toolkit.idempotent import AsyncIdempotentConsumer, IdempotentConsumer
from tapelog.toolkit.loop import Loop, Options
from tapelog.toolkit.loops import at_least_once, at_most_once, exactly_once
from tapelog.toolkit.outbox import Outbox, PostgresOutbox, Relay, SQLiteOutbox
from tapelog.toolkit.records import ID_HEADER, NoValue, Record, Send, Sends
from tapelog.toolkit.redrive import Redriven, redrive
from tapelog.toolkit.retry import DeadLetter, RetryTopics
from tapelog.toolkit.runner import Handler
from tapelog.toolkit.sink import Interrupted, SendFailed
from tapelog.toolkit.stores import (
    AsyncPostgresStore,
    AsyncRedisStore,
    AsyncSQLiteStore,
    PostgresStore,
    RedisStore,
    SQLiteStore,
    StoreMisused,
)
from tapelog.toolkit.transactions import Fenced
from tapelog.toolkit.watch import NoBroker, NoTopic

__all__ = [
    "DEPENDS_ON",
    "ID_HEADER",
    "Again",
    "AsyncIdempotentConsumer",
    "AsyncPostgresStore",
    "AsyncRedisStore",
    "AsyncSQLiteStore",
    "Backoff",
    "BadSetting",
    "CausalOrder",
    "Cluster",
    "DeadLetter",
    "Decision",
    "Fenced",
    "Handler",
    "IdempotentConsumer",
    "Instead",
    "Interrupted",
    "Loop",
    "MissingDependencies",
    "NoBroker",
    "NoTopic",
    "NoValue",
    "OnError",
    "Options",
    "Outbox",
    "PostgresOutbox",
    "PostgresStore",
    "Record",
    "RedisStore",
    "Redriven",
    "Relay",
    "RetryInPlace",
    "RetryTopics",
    "SQLiteOutbox",
    "SQLiteStore",
    "Send",
    "SendFailed",
    "Sends",
    "Skip",
    "Stats",
    "Stop",
    "StopOnError",
    "StoreMisused",
    "at_least_once",
    "at_most_once",
    "caused_by",
    "exactly_once",
    "redrive",
]

"""The options of a write as one frozen value: `write_options` checks everything before a cluster is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tapelog.client.producer_settings import ProducerSettings
from tapelog.client.settings import ConnectionSettings
from tapelog.spark.plan.connection import connection_settings
from tapelog.spark.plan.errors import DOCS, OptionError
from tapelog.spark.plan.given import INT_MAX, Given
from tapelog.spark.plan.write_names import check_sink_option
from tapelog.wire.compression import NAMES as CODECS
from tapelog.wire.sink_markers import DEFAULT_PREFIX

TRANSACTION_TIMEOUT_MS: Final = 900_000
"""What brokers allow by default (transaction.max.timeout.ms): the first task of a batch waits for the last."""

DELIVERIES: Final = ("exactlyOnce", "atLeastOnce")
PREFIX_CHARS_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Everything that a write was told; picklable, and it prints no secret."""

    connection: ConnectionSettings
    producer: ProducerSettings
    streaming: bool
    exactly_once: bool
    topic: str | None = None
    app: str | None = None
    version: int | None = None
    """txnAppId and txnVersion: a write that is repeated is recognised by them."""
    prefix: str = DEFAULT_PREFIX
    transaction_timeout_ms: int = TRANSACTION_TIMEOUT_MS
    two_phase: bool | None = None
    """Transactions that do not time out; None: where the brokers offer them."""
    replay_check: bool = True
    checkpoint: str | None = None
    """checkpointLocation, where Spark hands it over: after a failure it tells the query's id."""
    ignore_keys: bool = False
    include_headers: bool = True
    include_timestamp: bool = False
    warnings: tuple[str, ...] = ()


def write_options(options: Mapping[str, str], *, streaming: bool) -> WriteOptions:
    """The options of a batch or streaming write. OptionError for the first thing that is wrong with them."""
    given = Given(options)
    for name in given.names():
        check_sink_option(name)
    connection, unused = connection_settings(given)
    app, version = _transaction(given, streaming)
    default = "exactlyOnce" if streaming or app is not None else "atLeastOnce"
    exactly_once = given.choice("delivery", default, DELIVERIES) == "exactlyOnce"
    if app is not None and not exactly_once:
        raise OptionError(
            "Options txnAppId and delivery=atLeastOnce disagree: the first wants a repeated write to do nothing.",
            "Leave one of them out.",
        )
    return WriteOptions(
        connection=connection,
        producer=_producer(given, exactly_once=exactly_once),
        streaming=streaming,
        exactly_once=exactly_once,
        topic=given.text("topic") or None,
        app=app,
        version=version,
        prefix=_prefix(given),
        transaction_timeout_ms=given.number(
            "kafka.transaction.timeout.ms", TRANSACTION_TIMEOUT_MS, least=1000, most=INT_MAX - 1
        ),
        two_phase=given.flag("kafka.transaction.two.phase.commit.enable", False)
        if given.has("kafka.transaction.two.phase.commit.enable")
        else None,
        replay_check=given.flag("replayCheck", True),
        checkpoint=given.text("checkpointLocation") or None,
        ignore_keys=given.flag("kafka.partitioner.ignore.keys", False),
        include_headers=given.flag("includeHeaders", True),
        include_timestamp=given.flag("includeTimestamp", False),
        warnings=unused,
    )


def _transaction(given: Given, streaming: bool) -> tuple[str | None, int | None]:
    """txnAppId and txnVersion: both or none, and in batch writes only."""
    app, version = given.text("txnAppId"), given.maybe_number("txnVersion")
    if (app is None) != (version is None):
        missing = "txnAppId" if app is None else "txnVersion"
        raise OptionError(
            f"Option {missing} is missing: txnAppId and txnVersion name a write together.",
            "In foreachBatch: a name that stays, and the batch id.",
        )
    if app is not None and streaming:
        raise OptionError(
            "Options txnAppId and txnVersion are for batch writes (and foreachBatch): a stream has its batch ids.",
            f"Leave them out. See {DOCS}.",
        )
    if app is not None and not _is_name(app):
        raise given.wrong("txnAppId", "letters, digits, '.', '_' and '-', at most 200 of them")
    return app, version


def _prefix(given: Given) -> str:
    prefix = given.text("transactionalIdPrefix")
    if prefix is None:
        return DEFAULT_PREFIX
    if not _is_name(prefix):
        raise given.wrong("transactionalIdPrefix", "letters, digits, '.', '_' and '-', at most 200 of them")
    return prefix


def _is_name(text: str) -> bool:
    allowed = all(character.isalnum() or character in "._-" for character in text)
    return 0 < len(text) <= PREFIX_CHARS_MAX and text.isascii() and allowed


def _producer(given: Given, *, exactly_once: bool) -> ProducerSettings:
    acks = given.choice("kafka.acks", "all", ("all", "-1", "1", "0"))
    if acks == "0" or (acks == "1" and exactly_once):
        raise OptionError(
            f"Option kafka.acks is {acks!r}: "
            + ("exactly once needs all." if exactly_once else "nobody would know what arrived."),
            "Leave it out." if exactly_once else "Set it to all or 1.",
        )
    codec = given.choice("kafka.compression.type", "none", CODECS)
    defaults = ProducerSettings()
    return ProducerSettings(
        acks=1 if acks == "1" else -1,
        compression=CODECS[codec],
        batch_bytes=given.number("kafka.batch.size", defaults.batch_bytes, least=1, most=INT_MAX),
        buffer_bytes=given.number("kafka.buffer.memory", defaults.buffer_bytes, least=1),
        delivery_timeout_ms=given.number(
            "kafka.delivery.timeout.ms", defaults.delivery_timeout_ms, least=1, most=INT_MAX
        ),
    )

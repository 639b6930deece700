"""Every option there is, by its name: those of Spark's Kafka source and sink, ours beyond them, and Kafka's own.

One table, so that an unknown option can be answered with the one that was meant. Names are compared without regard to
case, as Spark's maps do.
"""

from __future__ import annotations

import difflib
from typing import Final

from tapelog.spark.plan.errors import DOCS, OptionError


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DETAILS: Final = ("Schema", "SchemaFile", "Message", "Subject", "SubjectStrategy", "SchemaVersion", "SchemaId")
"""What may be said of a format, after key or value."""

SOURCE: Final = (
    "assign",
    "subscribe",
    "subscribePattern",
    "startingOffsets",
    "endingOffsets",
    "startingOffsetsByTimestamp",
    "endingOffsetsByTimestamp",
    "startingTimestamp",
    "endingTimestamp",
    "startingOffsetsByTimestampStrategy",
    "failOnDataLoss",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "partition.metadata.cache.ttl.ms",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "maxRecordsPerPartition",
    "groupIdPrefix",
    "includeHeaders",
)
"""What Spark's Kafka source takes."""

BEYOND: Final = (
    "columns",
    "limitFirstTrigger",
    "maxBytesPerTrigger",
    "maxDecompressedBytes",
    "progressGroup",
    "repeatable",
)
"""What this source takes on top."""

TIER: Final = (
    "tier.url",
    "tier.endpoint",
    "tier.region",
    "tier.accessKeyId",
    "tier.secretAccessKey",
    "tier.sessionToken",
    "tier.serviceAccountKey",
    "tier.accountName",
    "tier.accountKey",
    "tier.sasToken",
)
"""Where history lies, for reads straight from storage (`tier`)."""

_SSL = _words(
    """
    ssl.cipher.suites ssl.enabled.protocols ssl.endpoint.identification.algorithm ssl.key.password
    ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location ssl.keystore.password ssl.keystore.type
    ssl.truststore.certificates ssl.truststore.location ssl.truststore.password ssl.truststore.type
    """
)

FORMATS: Final = (
    *(f"{column}{detail}" for column in ("key", "value") for detail in ("Format", *DETAILS)),
    "onCorrupt",
    "deadLetterTopic",
    "schemaIdIn",
    *(
        f"schemaRegistry.{name}"
        for name in (
            "url",
            "basic.auth.user.info",
            "bearer.auth.token",
            "request.timeout.ms",
            "retries",
            *sorted(_SSL),
        )
    ),
)
"""How keys and values are understood; `onCorrupt`, `deadLetterTopic` and `schemaIdIn` in reads only."""

FORMATS_SINK: Final = ("schemaRegistry.auto.register.schemas", "schemaRegistry.use.latest.version")
"""The same, in writes only."""

SINK: Final = (
    "topic",
    "delivery",
    "txnAppId",
    "txnVersion",
    "transactionalIdPrefix",
    "replayCheck",
    "includeTimestamp",
)
"""Names of the sink."""

CONNECTION: Final = _words(
    """
    bootstrap.servers client.id client.rack connections.max.idle.ms default.api.timeout.ms metadata.max.age.ms
    receive.buffer.bytes request.timeout.ms retry.backoff.max.ms retry.backoff.ms send.buffer.bytes
    socket.connection.setup.timeout.ms
    """
)

READING: Final = _words(
    """
    fetch.max.bytes fetch.max.wait.ms group.id isolation.level max.partition.fetch.bytes
    """
)

SECURITY: Final = _words(
    """
    sasl.jaas.config sasl.login.callback.handler.class sasl.login.connect.timeout.ms sasl.login.read.timeout.ms
    sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.mechanism
    sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret
    sasl.oauthbearer.header.urlencode sasl.oauthbearer.scope sasl.oauthbearer.token.endpoint.url security.protocol
    ssl.cipher.suites ssl.enabled.protocols ssl.endpoint.identification.algorithm ssl.key.password
    ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location ssl.keystore.password ssl.keystore.type
    ssl.truststore.certificates ssl.truststore.location ssl.truststore.password ssl.truststore.type
    """
)

WITHOUT_EFFECT: Final = _words(
    """
    allow.auto.create.topics auto.commit.interval.ms check.crcs client.dns.lookup enable.metrics.push
    exclude.internal.topics fetch.min.bytes group.instance.id group.protocol group.remote.assignor
    heartbeat.interval.ms max.poll.interval.ms max.poll.records metadata.recovery.rebootstrap.trigger.ms
    metadata.recovery.strategy metric.reporters metrics.num.samples metrics.recording.level metrics.sample.window.ms
    partition.assignment.strategy reconnect.backoff.max.ms reconnect.backoff.ms sasl.kerberos.kinit.cmd
    sasl.kerberos.min.time.before.relogin sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter
    sasl.kerberos.ticket.renew.window.factor sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds
    sasl.login.refresh.window.factor sasl.login.refresh.window.jitter sasl.oauthbearer.clock.skew.seconds
    sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer sasl.oauthbearer.jwks.endpoint.refresh.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.ms
    sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
    session.timeout.ms share.acknowledgement.mode share.acquire.mode socket.connection.setup.timeout.max.ms
    ssl.keymanager.algorithm ssl.protocol ssl.secure.random.implementation ssl.trustmanager.algorithm
    """
)
"""Options of Java's consumer that say nothing here: taken, so that a job moves as it is."""

_JAVA = "it names a Java class, and there is no Java in this client"
_MANAGED = "Spark decides what is read and keeps it in the checkpoint"
_BYTES = "say how keys and values are to be read: keyFormat, valueFormat"

REFUSED: Final = {
    "auto.offset.reset": f"{_MANAGED}: set startingOffsets to earliest or latest",
    "key.deserializer": _BYTES,
    "value.deserializer": _BYTES,
    "key.serializer": "keys are written as the bytes that they are: encode them with DataFrame functions",
    "value.serializer": "values are written as the bytes that they are: encode them with DataFrame functions",
    "enable.auto.commit": f"{_MANAGED}: leave it out",
    "interceptor.classes": f"{_JAVA}: leave it out",
    "config.providers": f"{_JAVA}: give the values themselves",
    "security.providers": f"{_JAVA}: leave it out",
    "ssl.engine.factory.class": f"{_JAVA}: give ssl.truststore.* and ssl.keystore.*",
    "ssl.provider": f"{_JAVA}: leave it out",
    "sasl.client.callback.handler.class": f"{_JAVA}: give kafka.sasl.jaas.config",
    "sasl.login.class": f"{_JAVA}: give kafka.sasl.jaas.config",
    "sasl.oauthbearer.jwt.retriever.class": f"{_JAVA}: give sasl.oauthbearer.token.endpoint.url",
    "sasl.oauthbearer.jwt.validator.class": f"{_JAVA}: leave it out",
}
"""Options of Kafka that would change what is read or trusted, and cannot be honoured."""

_ASSERTION = "sasl.oauthbearer.assertion."

_KAFKA: Final = sorted(CONNECTION | READING | SECURITY | WITHOUT_EFFECT | REFUSED.keys())
_PLAIN: Final = {name.lower(): name for name in (*SOURCE, *BEYOND, *TIER, *FORMATS)}
_KNOWN: Final = _PLAIN | {f"kafka.{name}": f"kafka.{name}" for name in _KAFKA}


def canonical(name: str) -> str:
    """The name as the documentation writes it."""
    return _KNOWN.get(name.lower(), name)


def is_format_option(name: str, *, writing: bool) -> bool:
    """Whether it says how keys and values are to be understood, in a read or in a write."""
    known = (*FORMATS, *FORMATS_SINK) if writing else FORMATS
    return name.lower() in {other.lower() for other in known}


def check_source_option(name: str) -> None:
    """OptionError unless a source takes this option; it says which one was meant, or why not."""
    lower = name.lower()
    kafka = lower.removeprefix("kafka.") if lower.startswith("kafka.") else None
    if kafka is not None and (kafka in REFUSED or kafka.startswith(_ASSERTION)):
        reason = REFUSED.get(kafka, "client assertions are not built: give a client's id and secret")
        raise OptionError(f"Option kafka.{kafka} is not taken: {reason}.", f"See {DOCS}.")
    if lower in _KNOWN:
        return
    if (spelt := {other.lower(): other for other in (*SINK, *FORMATS_SINK)}.get(lower)) is not None:
        hint = "name what to read with subscribe" if lower == "topic" else "leave it out when reading"
        raise OptionError(f"Option {spelt} belongs to writing: {hint}.", f"See {DOCS}.")
    if lower == "path":
        raise OptionError("A topic has no path: call load() without one, and name topics with subscribe.")
    raise OptionError(f"There is no option {name!r}.{meant(lower)}", f"All of them: {DOCS}.")


def meant(lower: str) -> str:
    """A sentence with the option that was probably meant, or nothing."""
    if f"kafka.{lower}" in _KNOWN:
        return f" Kafka's own have a prefix: kafka.{lower}."
    near = difflib.get_close_matches(lower, _KNOWN, n=1, cutoff=0.6)
    return f" Did you mean {_KNOWN[near[0]]}?" if near else ""

"""Options of a write by their names: those of Spark's Kafka sink, ours beyond them, and Kafka's own for producers."""

from __future__ import annotations

import difflib
from typing import Final

from tapelog.spark.plan.errors import DOCS, OptionError
from tapelog.spark.plan.names import CONNECTION, FORMATS, FORMATS_SINK, REFUSED, SECURITY, SINK, SOURCE, WITHOUT_EFFECT

WRITING: Final = (
    "acks",
    "batch.size",
    "buffer.memory",
    "compression.type",
    "delivery.timeout.ms",
    "partitioner.ignore.keys",
    "transaction.timeout.ms",
    "transaction.two.phase.commit.enable",
)
"""Kafka's own that are honoured."""

WRITING_WITHOUT_EFFECT: Final = (
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.zstd.level",
    "enable.idempotence",
    "linger.ms",
    "max.block.ms",
    "max.in.flight.requests.per.connection",
    "max.request.size",
    "metadata.max.idle.ms",
    "partitioner.adaptive.partitioning.enable",
    "partitioner.availability.timeout.ms",
    "retries",
)
"""Options of Java's producer that say nothing here: taken, so that a job moves as it is."""

REFUSED_WRITING: Final = {
    "transactional.id": "every task has one of its own: set transactionalIdPrefix",
    "partitioner.class": "it names a Java class, and there is no Java in this client: add a column partition",
    "key.serializer": "write bytes or text, or say how to encode: keyFormat",
    "value.serializer": "write bytes or text, or say how to encode: valueFormat",
}

OF_SPARK: Final = ("checkpointLocation", "queryName", "path")
"""What Spark hands over with the options and keeps for itself."""

_KAFKA: Final = sorted({*CONNECTION, *SECURITY, *WITHOUT_EFFECT, *WRITING, *WRITING_WITHOUT_EFFECT})
_PLAIN: Final = (*SINK, "includeHeaders", *FORMATS, *FORMATS_SINK, *OF_SPARK)
_KNOWN: Final = {name.lower(): name for name in (*_PLAIN, *(f"kafka.{name}" for name in _KAFKA))}


def check_sink_option(name: str) -> None:
    """OptionError unless a sink takes this option; it says which one was meant, or why not."""
    lower = name.lower()
    kafka = lower.removeprefix("kafka.") if lower.startswith("kafka.") else ""
    reason = REFUSED_WRITING.get(kafka) or (REFUSED.get(kafka) if kafka not in WRITING else None)
    if reason is not None:
        raise OptionError(f"Option kafka.{kafka} is not taken: {reason}.", f"See {DOCS}.")
    if lower in _KNOWN:
        return
    if (spelt := {other.lower(): other for other in SOURCE}.get(lower)) is not None:
        hint = "name the topic to write to with topic" if "subscribe" in lower else "leave it out when writing"
        raise OptionError(f"Option {spelt} belongs to reading: {hint}.", f"See {DOCS}.")
    if f"kafka.{lower}" in _KNOWN:
        raise OptionError(f"There is no option {name!r}. Kafka's own have a prefix: kafka.{lower}.", f"See {DOCS}.")
    near = difflib.get_close_matches(lower, _KNOWN, n=1, cutoff=0.6)
    meant = f" Did you mean {_KNOWN[near[0]]}?" if near else ""
    raise OptionError(f"There is no option {name!r}.{meant}", f"All of them: {DOCS}.")

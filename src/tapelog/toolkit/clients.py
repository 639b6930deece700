"""Clients of a cluster: what the toolkit sets, and what its user adds.

The user's settings come last and win, save for the few on which a loop's promise rests; those are refused, by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from confluent_kafka import KafkaError, KafkaException

Cluster: TypeAlias = str | Mapping[str, Any]
"""`"host:port,…"`, or librdkafka's settings for it (`{"bootstrap.servers": …, "security.protocol": …}`)."""

CONSUMER_OWN = frozenset(
    {"enable.auto.commit", "enable.auto.offset.store", "group.id", "enable.partition.eof", "auto.offset.reset"}
)
PRODUCER_OWN = frozenset({"transactional.id", "transaction.timeout.ms", "enable.idempotence", "acks"})

DAMAGED = (KafkaError._BAD_MSG, KafkaError.INVALID_MSG)
"""What a consumer says of a damaged batch: its client found out, or a broker that gives it to nobody."""


class BadSetting(ValueError):
    """A setting that would break what the loop promises."""


def cluster_config(cluster: Cluster) -> dict[str, Any]:
    """The settings that reach the cluster, whichever way they were given."""
    if isinstance(cluster, str):
        return {"bootstrap.servers": cluster}
    return dict(cluster)


def address_of(cluster: Cluster) -> str:
    """Where the cluster is, for messages."""
    config = cluster_config(cluster)
    return str(config.get("bootstrap.servers") or config.get("metadata.broker.list") or "no bootstrap.servers")


def consumer_config(
    cluster: Cluster, group: str, extra: Mapping[str, Any] | None = None, *, eof: bool = False
) -> dict[str, Any]:
    """Settings of a consumer whose offsets are committed by the loop alone, and which reads committed records only.

    Where a partition without an offset begins is decided by `Beginnings`.
    """
    extra = _allowed(extra, CONSUMER_OWN, "consumer")
    config = {
        **cluster_config(cluster),
        "isolation.level": "read_committed",
        "check.crcs": True,  # librdkafka's default is not to look
        **extra,
        "group.id": group,
        "auto.offset.reset": "error",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": eof,
    }
    if config.get("group.protocol", "classic") == "classic":
        config.setdefault("partition.assignment.strategy", "cooperative-sticky")
    return config


def is_incremental(config: Mapping[str, Any]) -> bool:
    """Whether a consumer with these settings is given and loses partitions one by one, the others going on."""
    newer = config.get("group.protocol", "classic") == "consumer"
    return newer or config.get("partition.assignment.strategy") == "cooperative-sticky"


def producer_config(cluster: Cluster, extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Settings of an idempotent producer: nothing is stored twice or out of order by retries within its life."""
    extra = _allowed(extra, PRODUCER_OWN, "producer")
    return {**cluster_config(cluster), "linger.ms": 5, **extra, "enable.idempotence": True}


def transactional_config(
    cluster: Cluster, transactional_id: str, timeout_s: float, extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Settings of a transactional producer.

    When all brokers are gone, librdkafka's default is to forget them and to start again from the bootstrap servers. Its
    `send_offsets_to_transaction` then may wait for the group's coordinator as it was before, beyond any timeout: its
    issues 5511 and 5456, seen with 2.16 on Apache Kafka 4.3.1, too. So the brokers it knows are kept; whoever
    moves a whole cluster to other addresses under running loops can say otherwise.
    """
    return {
        "metadata.recovery.strategy": "none",
        **producer_config(cluster, extra),
        "transactional.id": transactional_id,
        "transaction.timeout.ms": int(timeout_s * 1000),
    }


def _allowed(extra: Mapping[str, Any] | None, own: frozenset[str], kind: str) -> Mapping[str, Any]:
    refused = sorted(own & set(extra or {}))
    if refused:
        raise BadSetting(f"the loop sets {', '.join(refused)} of the {kind} itself")
    return extra or {}


def kafka_error(exception: KafkaException) -> KafkaError:
    """The error inside the exception."""
    error = exception.args[0]
    return error if isinstance(error, KafkaError) else KafkaError(KafkaError._FAIL, str(error))

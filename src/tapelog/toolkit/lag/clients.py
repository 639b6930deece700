"""Kafka clients for the lag questions: one way to name a cluster, and answers waited for within bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from tapelog.toolkit.clients import Cluster, cluster_config
from tapelog.toolkit.lag.values import Isolation, Place

OFFSETS_PER_REQUEST_MAX = 5000
GRACE_S = 1.0

EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]

_ISOLATION = {
    "read_committed": IsolationLevel.READ_COMMITTED,
    "read_uncommitted": IsolationLevel.READ_UNCOMMITTED,
}


def make_consumer(cluster: Cluster, isolation: Isolation, **more: Any) -> Consumer:
    """A consumer that is assigned by hand, tells the end of partitions, and never commits."""
    return Consumer(
        {
            "client.id": "tapelog-lag",
            **cluster_config(cluster),
            "group.id": "tapelog-lag",  # needed to be a consumer; never joined
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "isolation.level": isolation,
            "check.crcs": True,
            **{name.replace("_", "."): value for name, value in more.items()},
        }
    )


def result(future: Future[Any], timeout_s: float) -> Any:
    """An administrative answer; KafkaException if it is an error or does not come."""
    try:
        return future.result(timeout_s + GRACE_S)
    except FutureTimeout:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "no answer in time")) from None


def note_of(part: TopicPartition) -> str:
    """What a group wrote beside an offset. librdkafka does not tell where it ends, so that bytes which are not part of
    it may follow: those that are no text are left away (reading them raises, as part.metadata shows)."""
    try:
        return part.metadata or ""
    except UnicodeDecodeError as error:
        return error.object[: error.start].decode()


Asked = list[Mapping[TopicPartition, "Future[Any]"]]


def ask_offsets(
    admin: AdminClient, wanted: Mapping[Place, OffsetSpec], isolation: Isolation, timeout_s: float
) -> Asked:
    """Send ListOffsets requests without waiting, so that several questions are under way at once."""
    items = list(wanted.items())
    return [
        admin.list_offsets(
            {TopicPartition(*place): spec for place, spec in items[begin : begin + OFFSETS_PER_REQUEST_MAX]},
            isolation_level=_ISOLATION[isolation],
            request_timeout=timeout_s,
        )
        for begin in range(0, len(items), OFFSETS_PER_REQUEST_MAX)
    ]


def told_offsets(asked: Asked, timeout_s: float) -> dict[Place, int]:
    """Their answers; -1 where there is no such offset. Partitions that fail by themselves are left out."""
    found: dict[Place, int] = {}
    failed: KafkaException | None = None
    for futures in asked:
        for place, future in futures.items():
            try:
                found[place.topic, place.partition] = result(future, timeout_s).offset
            except KafkaException as error:
                failed = error
    if failed is not None and not found:
        raise failed
    return found


def list_offsets(
    admin: AdminClient, wanted: Mapping[Place, OffsetSpec], isolation: Isolation, timeout_s: float
) -> dict[Place, int]:
    """ListOffsets, asked and told."""
    return told_offsets(ask_offsets(admin, wanted, isolation, timeout_s), timeout_s)


def existing(admin: AdminClient, places: Iterable[Place], timeout_s: float) -> tuple[list[Place], list[Place]]:
    """(partitions that are there, partitions that are not), each sorted."""
    wanted = sorted(set(places))
    if not wanted:
        return [], []
    known = admin.list_topics(timeout=timeout_s).topics
    there = [place for place in wanted if place[0] in known and place[1] in known[place[0]].partitions]
    return there, [place for place in wanted if place not in set(there)]

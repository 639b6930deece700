"""The end of a transaction is answered before its markers are in the log, here as in Kafka: waiting for them.

Readers of the committed see no further than the first transaction without a marker, so that one who comes right after a
commit may not find what was committed (of five hundred looks right after the answer three quarters came too soon, and
the latest marker took 0.4 s beside somebody who synced files all the time).
"""

from __future__ import annotations

from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from tests.support.waiting import until


def nothing_open(bootstrap: str, *topics: str) -> None:
    """Wait until readers of the committed see everything that is in these topics."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    places = [TopicPartition(topic, number) for topic in topics for number in _partitions(admin, topic)]

    def ends(level: IsolationLevel) -> list[int]:
        asked = admin.list_offsets({place: OffsetSpec.latest() for place in places}, isolation_level=level)
        return [future.result(20).offset for future in asked.values()]

    until(
        lambda: ends(IsolationLevel.READ_COMMITTED) == ends(IsolationLevel.READ_UNCOMMITTED),
        f"no open transaction in {', '.join(topics)}",
    )


def _partitions(admin: AdminClient, topic: str) -> list[int]:
    return list(admin.list_topics(topic, timeout=20).topics[topic].partitions)

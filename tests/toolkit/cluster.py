"""What the tests want from a cluster: topics with records in them, and everything that a reader sees."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tapelog.toolkit import Record
from tests.support.markers import nothing_open
from tests.support.waiting import until

READ_S_MAX = 60


class Cluster:
    """A running cluster."""

    def __init__(self, bootstrap: str, make_topic: Callable[..., str], fresh: Callable[[], str]) -> None:
        self.bootstrap = bootstrap
        self.topic = make_topic
        self.fresh = fresh

    def fill(self, topic: str, values: Iterable[Any], *, partitions: int | None = None, **more: Any) -> None:
        """One record per value; the key is the value, or round the partitions."""
        producer = Producer({"bootstrap.servers": self.bootstrap})
        for number, value in enumerate(values):
            partition = -1 if partitions is None else number % partitions
            producer.produce(topic, key=str(value), value=str(value), partition=partition, **more)
        assert producer.flush(30) == 0

    def filled(self, values: Iterable[Any], partitions: int = 1) -> str:
        """A new topic with these values spread over its partitions."""
        topic = self.topic(partitions)
        self.fill(topic, values, partitions=partitions)
        return topic

    def read(self, topic: str, *, isolation: str = "read_committed") -> list[Record]:
        """Everything in the topic, to its end; committed transactions whole."""
        if isolation == "read_committed":
            nothing_open(self.bootstrap, topic)
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "reader",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": isolation,
                "auto.offset.reset": "earliest",
            }
        )
        parts = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in parts])
        records: list[Record] = []
        ended: set[int | None] = set()
        while len(ended) < len(parts):
            message = consumer.poll(READ_S_MAX)
            assert message is not None, f"{topic} was not read to its end within {READ_S_MAX} s"
            error = message.error()
            if error is None:
                records.append(Record.of(message))
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error.str()
                ended.add(message.partition())
        consumer.close()
        return records

    def texts(self, topic: str) -> list[str]:
        """The values of everything in the topic."""
        return [record.text() for record in self.read(topic)]

    def partitions(self, topic: str) -> int:
        """How many it has."""
        return len(
            AdminClient({"bootstrap.servers": self.bootstrap}).list_topics(topic, timeout=30).topics[topic].partitions
        )

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """Where the group stands, once no transaction can change it."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        named = [TopicPartition(topic, number) for number in range(self.partitions(topic))]  # else pending ones hide
        parts: list[TopicPartition] = []

        def stable() -> bool:
            asked = [ConsumerGroupTopicPartitions(group, named)]
            found = admin.list_consumer_group_offsets(asked, require_stable=True)[group].result(20)
            parts[:] = found.topic_partitions
            return not any(part.error for part in parts)

        until(stable, f"stable offsets of {group}")
        return {part.partition: part.offset for part in parts if part.offset >= 0}

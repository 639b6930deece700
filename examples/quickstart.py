"""Produce and consume with an ordinary Kafka client, against a broker that this script starts and stops.

Run it:  .venv/bin/python examples/quickstart.py
"""

from __future__ import annotations

import json
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tapelog.testing import Broker

ORDERS: list[dict[str, Any]] = [
    {"order": number, "item": item} for number, item in enumerate(("tea", "lamp", "tape"), start=1)
]


def main() -> None:
    """Start a broker, go round once, stop it."""
    with Broker() as broker:  # in production: `tape up`, and its address here
        print(f"broker on {broker.bootstrap}, ready after {broker.start_seconds:.2f} s")
        round_trip(broker.bootstrap)


def round_trip(bootstrap: str) -> None:
    """Three orders in, three orders out, and where the group stands afterwards."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic("orders", num_partitions=1)])["orders"].result(10)

    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for order in ORDERS:
        producer.produce("orders", key=order["item"], value=json.dumps(order))
    producer.flush(10)  # acknowledged: on disk

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["orders"])
    for message in consumer.consume(len(ORDERS), timeout=20):
        print(f"offset {message.offset()}: {json.loads(message.value() or b'null')}")
    consumer.commit(asynchronous=False)
    committed = consumer.committed(consumer.assignment(), timeout=10)
    print("committed:", ", ".join(f"{part.topic}[{part.partition}] at {part.offset}" for part in committed))
    consumer.close()


if __name__ == "__main__":
    main()

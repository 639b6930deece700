"""Produce and consume with an ordinary Kafka client, against a broker that this script starts and stops.

Run it:  .venv/bin/python examples/quickstart.py [--bootstrap host:port]
"""

from __future__ import annotations

import json
from typing import Any

from _broker import bootstrap, topics
from confluent_kafka import Consumer, Producer

ORDERS: list[dict[str, Any]] = [
    {"order": number, "item": item} for number, item in enumerate(("tea", "lamp", "tape"), start=1)
]


def main() -> None:
    """Go round once."""
    with bootstrap(__doc__ or "") as address:  # `with Broker() as broker:` of tapelog.testing, unless one is given
        (topic,) = topics(address, "orders", partitions=1)
        round_trip(address, topic)


def round_trip(address: str, topic: str) -> None:
    """Three orders in, three orders out, and where the group stands afterwards."""
    producer = Producer({"bootstrap.servers": address, "enable.idempotence": True})
    for order in ORDERS:
        producer.produce(topic, key=order["item"], value=json.dumps(order))
    producer.flush(10)  # acknowledged: on disk

    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": f"{topic}-billing",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "check.crcs": True,  # a batch that has changed on a disk or on its way is an error, not a record
        }
    )
    consumer.subscribe([topic])
    read = []
    for message in consumer.consume(len(ORDERS), timeout=20):
        read.append(json.loads(message.value() or b"null"))
        print(f"offset {message.offset()}: {read[-1]}")
    consumer.commit(asynchronous=False)
    committed = consumer.committed(consumer.assignment(), timeout=10)
    print("committed:", ", ".join(f"{part.topic}[{part.partition}] at {part.offset}" for part in committed))
    consumer.close()

    assert read == ORDERS
    print("quickstart: ok")


if __name__ == "__main__":
    main()

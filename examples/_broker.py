"""What the examples share: `--bootstrap host:port`, or a broker of their own for as long as they run; and topics."""

from __future__ import annotations

import argparse
import sys
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tapelog.toolkit import Send


@contextmanager
def bootstrap(about: str) -> Iterator[str]:
    """The address of a cluster."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--bootstrap", help="host:port of a cluster; without it, a broker is started and stopped")
    given = parser.parse_args().bootstrap
    if given:
        yield given
        return
    from tapelog.testing import Broker

    with Broker() as broker:
        print(f"broker on {broker.bootstrap}")
        yield broker.bootstrap


def publish(address: str, sends: Iterable[Send]) -> None:
    """Produce them all, with an ordinary client that is gone afterwards."""
    producer = Producer({"bootstrap.servers": address})
    for send in sends:
        producer.produce(send.topic, send.value, key=send.key)
    producer.flush(20)


def topics(address: str, *names: str, partitions: int = 2) -> list[str]:
    """New topics; their names get an ending of their own, so that an example can be run again and again."""
    run = uuid.uuid4().hex[:6]
    created = [f"{name}-{run}" for name in names]
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    try:
        admin.list_topics(timeout=5)
    except KafkaException:
        sys.exit(
            f"no broker answers on {address}: start one with `tape up --listen {address}`, or leave --bootstrap out"
        )
    for future in admin.create_topics([NewTopic(name, partitions) for name in created]).values():
        future.result(20)
    return created

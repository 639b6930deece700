"""A topic that only the object store has, read back by librdkafka: every record equals what was written.

In `make test` some megabytes. TAPELOG_TIER_GB=3.2 makes it so many gigabytes, through moto and, where it is installed,
versitygw, and shows the figures.
"""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tapelog.testing import Broker
from tests.clients.cluster_clients import QUIET
from tests.support.stores import present, running
from tests.support.tape import Tape
from tests.support.waiting import until

GIGABYTES = float(os.environ.get("TAPELOG_TIER_GB", "0"))
STORES = [name for name in present() if name in ("moto", "versitygw")] if GIGABYTES else ["gcs"]
BYTES = int(GIGABYTES * 1e9) or 24_000_000
SEGMENT = 64 << 20 if GIGABYTES else 1 << 20
VALUE = 16_384
COUNT = BYTES // VALUE
PARTITIONS = 2
PATIENCE_S = 60 + 600 * GIGABYTES
NOISE = random.Random(6).randbytes(4 << 20)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600 + 2000 * GIGABYTES)]


def value(number: int) -> bytes:
    """What the record with that number holds."""
    at = number * 9973 % (len(NOISE) - VALUE)
    return b"%012d" % number + NOISE[at : at + VALUE - 12]


@pytest.mark.parametrize("name", STORES)
def test_a_topic_that_only_the_store_has_equals_what_was_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOTO_S3_DEFAULT_KEY_BUFFER_SIZE", "1000000")  # larger objects are files
    tape = Tape(capsys, monkeypatch)
    with running(name, tmp_path) as store:
        for key, text in store.environment.items():
            monkeypatch.setenv(key, text)
        settings = {"log.retention.check.interval.ms": "500", **store.settings()}
        with Broker(settings=settings, env=store.environment) as broker:
            begun = time.monotonic()
            _write(broker)
            written = time.monotonic()
            status = until(lambda: _let_go(tape, broker), "only the store has it", seconds=PATIENCE_S, pause=0.5)
            copied = time.monotonic()
            _read_back(broker)
            read = time.monotonic()
        found = tape.json("tier", "verify", "--quick", "--url", f"{store.url}/tier", "--endpoint", store.endpoint)
        assert found["problems"] == []
    megabytes = COUNT * VALUE / 1e6
    figures = {
        "store": name,
        "gigabytes": round(megabytes / 1000, 2),
        "in_the_store": status["remote_bytes"],
        "on_disk": status["local_bytes"],
        "segments": status["remote_segments"],
        "write_mb_s": round(megabytes / (written - begun), 1),
        "in_the_store_after_s": round(copied - begun, 1),
        "read_mb_s": round(megabytes / (read - copied), 1),
    }
    if GIGABYTES:
        with capsys.disabled():
            print("\n" + json.dumps(figures))


def _write(broker: Broker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, **QUIET})
    config = {"remote.storage.enable": "true", "segment.bytes": str(SEGMENT), "retention.ms": "-1"}
    new = NewTopic("t", PARTITIONS, 1, config={**config, "local.retention.bytes": "1"})
    admin.create_topics([new])["t"].result(20)
    lost: list[object] = []

    def told(error: object, _: object) -> None:
        if error is not None:
            lost.append(error)

    settings = {"enable.idempotence": True, "queue.buffering.max.kbytes": 64_000, "message.timeout.ms": 300_000}
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 20, **settings, **QUIET})
    for number in range(COUNT):
        while True:
            try:
                producer.produce("t", value(number), partition=number % PARTITIONS, on_delivery=told)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    assert producer.flush(300) == 0 and not lost


def _let_go(tape: Tape, broker: Broker) -> dict[str, int] | None:
    """Everything that is sealed is copied, and has left the disk."""
    found = tape.json("tier", "status", "t", "-b", broker.bootstrap)["topics"]
    if not found or found[0]["lag_segments"] or found[0]["local_bytes"] > PARTITIONS * 2 * SEGMENT:
        return None
    return dict(found[0]) if found[0]["remote_bytes"] > COUNT * VALUE - PARTITIONS * 2 * SEGMENT else None


def _read_back(broker: Broker) -> None:
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": "g", "queued.max.messages.kbytes": 65_536, **QUIET}
    )
    consumer.assign([TopicPartition("t", partition, 0) for partition in range(PARTITIONS)])
    next_offset = [0] * PARTITIONS
    heard = time.monotonic()
    while sum(next_offset) < COUNT:
        messages = consumer.consume(1000, 1.0)
        for message in messages:
            assert message.error() is None, message.error()
            partition, offset = message.partition() or 0, message.offset()
            assert offset == next_offset[partition], "in order, nothing left out, nothing twice"
            assert message.value() == value(offset * PARTITIONS + partition)
            next_offset[partition] += 1
        heard = time.monotonic() if messages else heard
        assert time.monotonic() - heard < 60, f"nothing more comes: {next_offset}"
    consumer.close()

"""`tape dump` on the files a real broker leaves behind."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from tapelog.cli.app import run
from tapelog.cli.output import reset_consoles
from tapelog.testing import Broker

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def use(bootstrap: str) -> None:
    """Records in every codec, by an idempotent producer, and a group that commits."""
    for codec in CODECS:
        producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "enable.idempotence": True})
        for number in range(50):
            producer.produce("orders", f"{codec} {number} " + "x" * 100, f"k{number}", headers=[("codec", codec)])
        assert producer.flush(30) == 0
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "billing", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    assert len(consumer.consume(50 * len(CODECS), 30)) == 50 * len(CODECS)
    consumer.commit(asynchronous=False)
    consumer.close()


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_everything_a_broker_wrote_can_be_shown(end: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Broker() as broker:
        use(broker.bootstrap)
        broker.stop() if end == "stop" else broker.kill()
        reset_consoles()
        code = run(["dump", str(broker.data_dir / "node-1" / "logs"), "--records", "--json"])
        entries: list[dict[str, Any]] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert code == 0
    assert not [entry for entry in entries if "error" in entry or entry.get("crc_ok") is False]
    orders = [entry for entry in entries if "/orders-0/" in entry["file"]]
    records = [entry for entry in orders if entry["kind"] == "record"]
    assert [record["offset"] for record in records] == list(range(250))
    assert Counter(record["headers"][0][1] for record in records) == dict.fromkeys(CODECS, 50)
    assert {entry["compression"] for entry in orders if entry["kind"] == "batch"} == set(CODECS)
    decoded = {entry.get("type") for entry in entries}
    assert {"OffsetCommit", "GroupMetadata", "TopicRecord", "PartitionRecord", "RegisterBrokerRecord"} <= decoded
    commits = [entry for entry in entries if entry.get("type") == "OffsetCommit" and entry["value"]]
    assert commits[-1]["key"]["group"] == "billing" and commits[-1]["value"]["offset"] == 250
    if end == "stop":
        producers = [entry for entry in orders if entry["kind"] == "producer"]
        assert len(producers) == len(CODECS)
        assert any(entry["kind"] == "clean shutdown" for entry in entries)

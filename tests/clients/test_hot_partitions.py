"""Hot partitions on three real nodes: they are seen and named, and leaders move until the nodes serve the same."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from confluent_kafka import Producer

from tapelog.cli import cluster_asks, moves
from tapelog.cli.connect import Connection
from tapelog.cli.rates import skew
from tapelog.cli.raw import Wire
from tapelog.cli.rebalance_plan import Move
from tapelog.testing import Cluster
from tests.clients.cluster_clients import QUIET
from tests.support.names import Fresh
from tests.support.tape import Tape
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
PARTITIONS = 6
RATE = 600
HOT = b"customer-4711"
EVERY = 3
"""Each third record has the hot key."""


class Skewed:
    """librdkafka writing keyed records, one key far more often than the others."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.partition = -1
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "acks": "all", **QUIET})
        self._topic = topic
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        number, begun = 0, time.monotonic()
        while not self._stop.is_set():
            while number < (time.monotonic() - begun) * RATE:
                key = HOT if number % EVERY == 0 else b"customer-%d" % (number % 997)
                self._producer.produce(self._topic, b"x" * 500, key, on_delivery=self._told)
                number += 1
            self._producer.poll(0.01)
        self._producer.flush(30)

    def _told(self, error: object, message: Any) -> None:
        assert error is None, error
        if message.key() == HOT:
            self.partition = message.partition()

    def finish(self) -> None:
        """Stop sending."""
        self._stop.set()
        self._thread.join(60)


def test_a_hot_partition_and_its_key_are_named_and_leaders_move_until_nodes_serve_the_same(
    cluster: Cluster, fresh: Fresh, on_cluster: Tape
) -> None:
    topic = fresh()
    on_cluster("topic", "create", topic, "-p", str(PARTITIONS), "-r", "3")
    _all_led_by(cluster, topic, 1)
    writer = Skewed(cluster.bootstrap, topic)
    try:
        until(
            lambda: on_cluster.json("topic", "skew", topic, "--sample", "0")["records_per_s"] > RATE / 4, "load is seen"
        )
        shown = on_cluster.json("topic", "skew", topic)
        assert shown["counted_by_nodes"] is True and shown["seconds"] == 60
        hottest = max(shown["partitions"], key=lambda one: one["bytes_per_s"])
        assert hottest["partition"] == writer.partition and shown["skew"] > 1.5
        assert shown["keys"][0]["key"] == HOT.decode() and shown["keys"][0]["partition"] == writer.partition
        assert any("broker 1 serves" in line and "rebalance --by load" in line for line in shown["advice"])
        seen = on_cluster("topic", "skew", topic)
        assert HOT.decode() in seen and "as the nodes counted, 60 s" in seen

        before = _loads(on_cluster, topic)
        assert skew(before.values()) > 2.5, before
        plan = on_cluster.json("rebalance", "--by", "load")
        assert plan["applied"] is False and plan["load"]["unit"] == "bytes/s" and plan["bytes"] == 0
        expected = {one["broker"]: one["after"] for one in plan["load"]["brokers"]}
        assert skew(expected.values()) < 1.6 and "busiest broker has" in on_cluster("rebalance", "--by", "load")
        assert on_cluster.json("rebalance", "--by", "load", "--apply", "--yes")["applied"] is True
        leaders = [part["leader"] for part in on_cluster.json("topic", "describe", topic)["partitions"]]
        assert sorted(dict.fromkeys(leaders)) == [1, 2, 3]
        after = _loads(on_cluster, topic)
        assert skew(after.values()) < 1.6 < skew(before.values()), (before, after, expected)
        print(f"\nbefore {before}\nplanned {expected}\nafter {after}")
    finally:
        writer.finish()


def _loads(tape: Tape, topic: str) -> dict[int, float]:
    """Broker → bytes a second that it serves, measured now."""
    shown = tape.json("topic", "skew", topic, "--window", "5s", "--sample", "0")
    assert shown["counted_by_nodes"] is True and shown["seconds"] == pytest.approx(5, abs=2)
    return {one["broker"]: one["load"] for one in shown["brokers"]}


def _all_led_by(cluster: Cluster, topic: str, leader: int) -> None:
    """Make that broker the preferred leader of everything in the topic."""
    with Wire(Connection(cluster.bootstrap, None, 10.0)) as wire:
        parts = [one for one in cluster_asks.partitions(wire, {}) if one.topic == topic]
        wanted = [(leader, *(one for one in part.replicas if one != leader)) for part in parts]
        changes = [Move(topic, part.index, part.replicas, order, 0) for part, order in zip(parts, wanted, strict=True)]
        moves.carry_out(wire, changes, parallel=20, tell=lambda told: None)
        until(
            lambda: all(one.leader == leader for one in cluster_asks.partitions(wire, {}) if one.topic == topic),
            "all led there",
        )

"""What is published, under which name, and how far behind a query says that it is."""

from __future__ import annotations

import logging
import threading
from typing import Any

from tapelog.client.errors import DeadlineError
from tapelog.client.settings import ConnectionSettings, parse_addresses
from tapelog.spark.listener.progress import behind_latest, group_of, lag, offsets_in
from tapelog.spark.listener.publisher import Publisher

HERE = ConnectionSettings(parse_addresses("a:1"))
P0, P1 = ("t", 0), ("t", 1)


def test_the_group_is_the_one_given_else_the_querys_name_else_its_id() -> None:
    assert group_of({"Kafka.Group.Id": "mine"}, "orders", "id") == "mine"
    assert group_of({}, "orders", "id") == "orders"
    assert group_of({"groupIdPrefix": "team"}, "orders", "id") == "team-orders"
    assert group_of({"groupIdPrefix": "team"}, None, "id") == "team-id"
    assert group_of({"kafka.group.id": " "}, None, "id") == "spark-tapelog-id"


def test_offsets_are_read_as_spark_tells_them() -> None:
    assert offsets_in('{"t": {"0": 5, "1": 7}}') == {P0: 5, P1: 7}
    assert offsets_in({"t": {"0": 5}}) == {P0: 5}
    for nothing in (None, "", "null", "7", "{", '{"t": 5}'):
        assert offsets_in(nothing) == {}


def test_behind_latest_has_the_names_of_sparks_kafka_source() -> None:
    assert behind_latest({P0: 5, P1: 9}, {P0: 10, P1: 9}) == {  # type: ignore[dict-item]
        "minOffsetsBehindLatest": "0",
        "maxOffsetsBehindLatest": "5",
        "avgOffsetsBehindLatest": "2.5",
    }
    assert behind_latest({P0: 5}, {}) == {}  # type: ignore[dict-item]


def test_lag_is_read_from_a_querys_progress() -> None:
    sources = [{"endOffset": {"t": {"0": 5}}, "latestOffset": '{"t": {"0": 8}}'}, {"endOffset": None}]
    assert [found.get("maxOffsetsBehindLatest") for found in lag({"sources": sources})] == ["3", None]


class Cluster:
    """Takes commits: as slowly as told, or not at all."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, dict[Any, int]]] = []
        self.begun = threading.Semaphore(0)
        self.go = threading.Semaphore(0)
        self.refuse = False

    def send(self, settings: ConnectionSettings, group: str, offsets: dict[Any, int]) -> None:
        self.begun.release()
        assert self.go.acquire(timeout=30)
        if self.refuse:
            raise DeadlineError("nobody answered", "broker a:1", "wait")
        self.taken.append((group, offsets))


def test_while_a_commit_is_slow_only_the_newest_of_a_group_waits() -> None:
    cluster = Cluster()
    publisher = Publisher(cluster.send)
    publisher.publish(HERE, "g", {P0: 1})
    assert cluster.begun.acquire(timeout=30)  # the first is under way
    for offset in range(2, 50):
        publisher.publish(HERE, "g", {P0: offset})
    publisher.publish(HERE, "h", {P1: 3})
    assert not publisher.flush(0.01)
    for _ in range(3):
        cluster.go.release()
    assert publisher.flush(30)
    assert cluster.taken == [("g", {P0: 1}), ("g", {P0: 49}), ("h", {P1: 3})]


def test_a_commit_that_fails_is_told_once_and_the_next_is_tried(caplog: Any) -> None:
    cluster = Cluster()
    cluster.refuse = True
    publisher = Publisher(cluster.send)
    with caplog.at_level(logging.WARNING):
        for offset in range(3):
            cluster.go.release()
            publisher.publish(HERE, "g", {P0: offset})
            assert publisher.flush(30)
    assert [record.message for record in caplog.records] == [
        "Progress is not published to consumer group g: nobody answered. The query is not affected."
    ]
    cluster.refuse = False
    cluster.go.release()
    publisher.publish(HERE, "g", {P0: 9})
    assert publisher.flush(30) and cluster.taken == [("g", {P0: 9})]


def test_nothing_is_committed_where_nothing_is_done() -> None:
    publisher = Publisher(Cluster().send)
    publisher.publish(HERE, "g", {})
    assert publisher.flush(0) and publisher._thread is None

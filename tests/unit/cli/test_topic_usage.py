"""`tape topic usage`: sizes beside their bounds."""

from __future__ import annotations

from tapelog.cli.cluster_state import Partition
from tapelog.cli.topic_usage import BROKER, LIMIT, POLICY, PREFIXES, TOPIC, _drawn, described

PARTITIONS = [
    Partition("orders", 0, 1, (1, 2), (1, 2)),
    Partition("orders", 1, 2, (2, 1), (1, 2)),
    Partition("logs.a", 0, 1, (1,), (1,)),
    Partition("logs.b", 0, -1, (2,), ()),
]
SIZES = {
    (1, "orders", 0): 100,
    (2, "orders", 0): 90,
    (2, "orders", 1): 30,
    (1, "orders", 1): 25,
    (1, "logs.a", 0): 500,
}


def test_leaders_count_for_the_bound_and_replicas_are_told_beside_it() -> None:
    settings = {(TOPIC, "orders"): {LIMIT: "260", POLICY: "drop-oldest"}, (TOPIC, "logs.a"): {LIMIT: "-1"}}
    told = described(PARTITIONS, SIZES, settings, ["orders", "logs.a"])
    orders, logs = told["topics"]
    assert orders == {
        "topic": "orders",
        "bytes": 130,
        "replicas_bytes": 245,
        "max_bytes": 260,
        "policy": "drop-oldest",
        "used": 0.5,
    }
    assert (logs["bytes"], logs["max_bytes"], logs["policy"], logs["used"]) == (500, None, None, None)
    assert told["prefixes"] == []


def test_all_topics_of_a_prefix_count_together() -> None:
    settings = {(BROKER, ""): {PREFIXES: "logs.=1000,o=100:drop-oldest,logs.b=5"}}
    told = described(PARTITIONS, SIZES, settings, [])
    assert [(row["prefix"], row["bytes"], row["max_bytes"], row["policy"]) for row in told["prefixes"]] == [
        ("logs.", 500, 1000, "reject"),
        ("o", 130, 100, "drop-oldest"),
        ("logs.b", 0, 5, "reject"),
    ]
    assert len(list(_drawn(told))) == 2

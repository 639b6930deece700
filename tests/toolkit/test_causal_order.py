"""Causal order on a real broker: replies that overtake their posts through another topic."""

from __future__ import annotations

from confluent_kafka import Producer

from tapelog.toolkit import CausalOrder, DeadLetter, Record, at_least_once
from tapelog.toolkit.causal import named
from tests.toolkit.cluster import Cluster


def test_replies_wait_for_their_posts_and_no_offset_passes_them(cluster: Cluster) -> None:
    posts, replies, group = cluster.topic(), cluster.topic(), cluster.fresh()
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(20):
        producer.produce(replies, f"r{number}", headers=named(f"r{number}", f"p{number}"))
    producer.produce(replies, "lost", headers=named("lost", "nowhere"))
    producer.flush()
    seen: list[str] = []

    def handle(record: Record) -> None:
        seen.append(record.text())

    def loop(max_wait: float) -> None:
        order = CausalOrder(max_wait=max_wait, then=DeadLetter())
        at_least_once(cluster.bootstrap, group=group, topics=[posts, replies], handle=handle, causal=order).run(
            to_end=True
        )

    for number in range(20):
        producer.produce(posts, f"p{number}", headers=named(f"p{number}"))
    producer.flush()
    loop(3.0)
    assert sorted(seen) == sorted([f"{kind}{number}" for kind in "pr" for number in range(20)])
    assert all(seen.index(f"p{number}") < seen.index(f"r{number}") for number in range(20))
    (dead,) = cluster.read(f"{replies}.dead")
    assert dead.text() == "lost" and "nowhere" in (dead.header_text("error-message") or "")
    assert cluster.committed(group, replies) == {0: 21}

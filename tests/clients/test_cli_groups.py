"""`tape group` for both protocols: describe, members, lag, export, reset from files, delete-offsets, expiry."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient
from kafka import TopicPartition as KafkaPartition
from kafka.structs import OffsetAndMetadata

from tests.support.names import Fresh, MakeTopic
from tests.support.tape import Tape
from tests.support.waiting import until

NOT_FOUND = 4
MINUTE_MS = 60_000


@contextmanager
def member(bootstrap: str, group: str, topic: str, **more: Any) -> Iterator[Consumer]:
    """A live member that has partitions."""
    made = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **{name.replace("_", "."): value for name, value in more.items()},
        }
    )
    try:
        made.subscribe([topic])
        until(lambda: made.poll(0.1) is not None or made.assignment(), "an assignment")
        yield made
    finally:
        made.close()


def commit(admin: AdminClient, group: str, *offsets: tuple[str, int, int]) -> None:
    parts = [TopicPartition(topic, number, offset) for topic, number, offset in offsets]
    admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, parts)])[group].result(30)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_of_either_protocol_is_described(
    bootstrap: str, tape: Tape, make_topic: MakeTopic, fresh: Fresh, protocol: str
) -> None:
    topic, group = make_topic(3), fresh()
    tape("produce", topic, "v", "-p", "1", "--timestamp", "10m")
    with member(bootstrap, group, topic, group_protocol=protocol, client_id="reader") as consumer:
        consumer.commit(offsets=[TopicPartition(topic, 1, 0, metadata="half-way")], asynchronous=False)
        until(lambda: tape.json("group", "describe", group)["state"] == "stable", "a stable group")
        described = tape.json("group", "describe", group)
        assert described["type"] == protocol and described["expires_ms"] is None
        (one,) = described["members"]
        assert one["client_id"] == "reader"
        assert one["partitions"] == [[topic, number] for number in range(3)]
        newer = protocol == "consumer"
        assert (one["epoch"] is not None, one["target"] is not None) == (newer, newer)
        if newer:
            assert one["target"] == one["partitions"] and one["subscribed"] == [topic]
            assert described["epoch"] == described["assignment_epoch"] == one["epoch"]
            assert described["assignor"] == "uniform"
        parts = {part["partition"]: part for part in described["partitions"]}
        assert parts[1]["metadata"] == "half-way" and parts[1]["lag_records"] == 1
        assert parts[1]["lag_seconds"] == pytest.approx(600, abs=60)
        assert parts[1]["oldest_unread"]["offset"] == 0
        assert (parts[0]["committed"], parts[0]["lag_records"], parts[0]["note"]) == (None, None, "no commit yet")
        shown = tape("group", "describe", group)
        assert f"{protocol} group, stable, 1 member" in shown and "half-way" in shown
        listed = next(row for row in tape.json("group", "list") if row["group"] == group)
        assert (listed["type"], listed["state"]) == (protocol, "stable")
        shown = tape("group", "members", group)
        assert f"{topic}:0-2" in shown and "reader" in shown
        tape("group", "reset", group, "--to-latest")
        assert "1 live member" in tape.err, "a plan says that it cannot be carried out"
        tape("group", "reset", group, "--to-latest", "--execute", code=1)
        assert "live member" in tape.err
        tape("group", "delete-offsets", group, "--topic", topic, "--yes", code=1)
        assert "stop the members" in tape.err


def test_lag_is_shown_by_group_or_by_partition_and_again_and_again(
    tape: Tape, admin: AdminClient, make_topic: MakeTopic, fresh: Fresh
) -> None:
    topic, group = make_topic(2), fresh()
    tape("produce", topic, "a", "b", "-p", "0", "--timestamp", "1h")
    commit(admin, group, (topic, 0, 1), (topic, 1, 0))
    (found,) = tape.json("group", "lag", group)
    assert (found["lag_records"], [part["lag_records"] for part in found["partitions"]]) == (1, [1, 0])
    assert found["lag_seconds"] == pytest.approx(3600, abs=60)
    assert "1 h" in tape("group", "lag", group)
    assert group in tape("group", "lag")
    looks = tape.lines("group", "lag", group, "--watch", "-n", "2", "--every", "100ms")
    assert len(looks) == 2 and all(look[0]["group"] == group for look in looks)
    assert tape("group", "lag", group, "--watch", "-n", "2", "--every", "100ms").count("1 h") == 2
    tape("group", "lag", group, "--watch", "--every", "soon", code=2)


def test_what_a_group_wrote_beside_its_offsets_is_shown_exactly(
    bootstrap: str, tape: Tape, make_topic: MakeTopic, fresh: Fresh
) -> None:
    """franz-go notes the member: 40 bytes, behind which librdkafka reads what happens to be there in memory."""
    topic, group, note = make_topic(20), fresh(), f"kgo-{uuid.UUID(int=7)}"
    offset = OffsetAndMetadata(0, note, -1)
    control = KafkaAdminClient(bootstrap_servers=bootstrap)
    control.alter_group_offsets(group, {KafkaPartition(topic, number): offset for number in range(20)})
    control.close()
    for _ in range(5):
        described = tape.json("group", "describe", group)["partitions"]
        (lag,) = tape.json("group", "lag", group)
        exported = tape.json("group", "export", group)["offsets"]
        assert [{part["metadata"] for part in found} for found in (described, lag["partitions"], exported)] == [
            {note}
        ] * 3


def test_a_mistyped_group_is_told_with_the_nearest_one(
    bootstrap: str, tape: Tape, make_topic: MakeTopic, fresh: Fresh
) -> None:
    topic, group = make_topic(1), fresh()
    commit(AdminClient({"bootstrap.servers": bootstrap}), group, (topic, 0, 0))
    for command in ("describe", "members", "lag", "check"):
        tape("group", command, f"{group}x", code=NOT_FOUND)
        assert f"did you mean `{group}`?" in tape.err, command
    tape("group", "reset", f"{group}x", "--topic", topic, "--to-earliest")
    assert f"there is no group `{group}x`; did you mean `{group}`?" in tape.err and "--execute makes it" in tape.err


def test_a_topic_made_by_producing_to_it_is_told(tape: Tape, make_topic: MakeTopic, fresh: Fresh) -> None:
    topic = make_topic()
    tape("produce", topic, "v")
    assert "was made" not in tape.err
    tape("produce", f"{topic}x", "v")
    assert "was made" in tape.err and f"did you mean `{topic}`?" in tape.err


def test_exported_offsets_can_be_given_back(
    tape: Tape, admin: AdminClient, make_topic: MakeTopic, fresh: Fresh, tmp_path: Path
) -> None:
    topic, group, copy = make_topic(2), fresh(), fresh()
    for partition in "01":
        tape("produce", topic, "a", "b", "c", "-p", partition)
    commit(admin, group, (topic, 0, 1), (topic, 1, 2))
    assert tape("group", "export", group) == f"{topic},0,1\n{topic},1,2\n"
    kept = tmp_path / "offsets.csv"
    tape("group", "export", group, "--file", str(kept))
    tape("group", "reset", group, "--to-latest", "--execute")
    plan = tape.json("group", "reset", group, "--from-file", str(kept))
    assert [(part["from"], part["to"]) for part in plan["partitions"]] == [(3, 1), (3, 2)] and not plan["executed"]
    tape("group", "reset", group, "--from-file", str(kept), "--topic", f"{topic}:1", "--execute")
    described = tape.json("group", "describe", group)
    assert [part["committed"] for part in described["partitions"]] == [3, 2], "only what was chosen"
    exported = tape.json("group", "export", group)
    assert exported["offsets"][0] == {"topic": topic, "partition": 0, "offset": 3, "metadata": None}
    tape("group", "reset", copy, "--from-file", "-", "--execute", stdin=json.dumps(exported))
    assert tape("group", "export", copy) == f"{topic},0,3\n{topic},1,2\n"
    assert tape.json("group", "reset", group, "--to-current", "--execute")["partitions"][0]["to"] == 3
    kept.write_text(f"{topic},zero,1\n")
    tape("group", "reset", group, "--from-file", str(kept), code=2)
    assert "line 1" in tape.err
    kept.write_text(f"{topic},7,1\n")
    tape("group", "reset", group, "--from-file", str(kept), code=NOT_FOUND)
    tape("group", "reset", group, "--from-file", str(tmp_path / "none"), code=NOT_FOUND)
    tape("group", "export", fresh(), code=NOT_FOUND)


def test_offsets_are_deleted_by_topic_and_partition(
    tape: Tape, admin: AdminClient, make_topic: MakeTopic, fresh: Fresh
) -> None:
    topic, other, group = make_topic(2), make_topic(), fresh()
    commit(admin, group, (topic, 0, 0), (topic, 1, 0), (other, 0, 0))
    tape("group", "delete-offsets", group, "--yes", code=2)
    deleted = tape.json("group", "delete-offsets", group, "--topic", f"{topic}:1", "--yes")
    assert deleted["deleted"] == [[topic, 1]]
    assert tape("group", "export", group) == "".join(f"{name},0,0\n" for name in sorted([topic, other]))


def test_a_group_without_members_says_when_its_offsets_expire(
    bootstrap: str, tape: Tape, admin: AdminClient, make_topic: MakeTopic, fresh: Fresh
) -> None:
    (broker,) = [row["name"] for row in tape.json("config", "list", "broker")][:1]
    minutes = tape.json("config", "describe", "broker", broker, "--all")["offsets.retention.minutes"]["value"]
    topic, simple, left = make_topic(), fresh(), fresh()
    begun_ms = time.time() * 1000
    commit(admin, simple, (topic, 0, 0))
    with member(bootstrap, left, topic) as consumer:
        consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
    for group in (simple, left):
        described = until(lambda g=group: _empty(tape, g), "an empty group")  # type: ignore[misc]
        assert described["expires_ms"] == pytest.approx(begun_ms + int(minutes) * MINUTE_MS, abs=MINUTE_MS)
        assert described["partitions"][0]["committed_ms"] == pytest.approx(begun_ms, abs=MINUTE_MS)
        assert "offsets expire from" in tape("group", "describe", group)


def _empty(tape: Tape, group: str) -> Any:
    described = tape.json("group", "describe", group)
    return described if described["state"] == "empty" and described["expires_ms"] else None

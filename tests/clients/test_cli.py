"""The `tape` commands against a running cluster: ours, or any that TAPELOG_TEST_BOOTSTRAP names."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time

import pytest
from confluent_kafka import Consumer

from tapelog.cli.units import format_moment
from tests.support.names import Fresh, MakeTopic
from tests.support.tape import Tape
from tests.support.waiting import until

NOT_FOUND = 4
HOUR_MS = 3_600_000
YESTERDAY_MS = round(time.time()) * 1000 - 24 * HOUR_MS + 123  # old enough to tell apart, too young for retention


def test_a_topic_from_creation_to_deletion(tape: Tape, fresh: Fresh) -> None:
    name = fresh()
    assert f"created {name} with 2 partitions" in tape("topic", "create", name, "-p", "2", "--set", "retention.ms=1h")
    assert "already exists" in (tape("topic", "create", name, code=1) or tape.err)
    tape("topic", "create", name, "--if-not-exists")
    assert name in [row["topic"] for row in tape.json("topic", "list")]
    described = tape.json("topic", "describe", name)
    assert [part["partition"] for part in described["partitions"]] == [0, 1]
    assert described["configs"]["retention.ms"] == {"value": "3600000", "source": "topic"}
    tape("topic", "alter", name, "--partitions", "4", "--set", "cleanup.policy=compact", "--unset", "retention.ms")
    described = tape.json("topic", "describe", name)
    assert len(described["partitions"]) == 4
    assert {key: entry["value"] for key, entry in described["configs"].items()} == {"cleanup.policy": "compact"}
    tape("topic", "alter", name, "--partitions", "3", code=2)
    tape("topic", "delete", name, code=2)
    assert "--yes" in tape.err
    tape("topic", "delete", name, "--yes")
    tape("topic", "describe", name, code=NOT_FOUND)
    tape("topic", "delete", name, "--yes", code=NOT_FOUND)
    tape("topic", "delete", name, "--yes", "--if-exists")


def test_validate_only_creates_nothing(tape: Tape, fresh: Fresh) -> None:
    name = fresh()
    assert "could be created" in tape("topic", "create", name, "--validate-only")
    assert name not in [row["topic"] for row in tape.json("topic", "list")]


def test_refusals_carry_the_brokers_words_and_a_next_step(tape: Tape, fresh: Fresh) -> None:
    tape("topic", "create", "no/such/name", code=1)
    assert "  try: " in tape.err
    tape("topic", "create", fresh(), "--replicas", "99", code=1)
    assert "--replicas" in tape.err
    tape("topic", "create", fresh(), "--set", "no.such.config=1", code=1)
    assert "no.such.config" in tape.err


def test_records_travel_with_key_headers_timestamp_and_partition(tape: Tape, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    words = ("--key", "k", "-H", "trace=x1", "-p", "1", "--timestamp", f"@{YESTERDAY_MS}")
    assert f"1 record to {topic}: partition 1 at 0" in tape("produce", topic, '{"a": 1}', *words)
    (record,) = tape.lines("consume", topic)
    assert record == {
        "topic": topic,
        "partition": 1,
        "offset": 0,
        "timestamp": format_moment(YESTERDAY_MS),
        "timestamp_ms": YESTERDAY_MS,
        "key": "k",
        "value": {"a": 1},
        "headers": [["trace", "x1"]],
    }
    assert tape("consume", topic, "--format", r"{partition}/{offset}\t{key}") == "1/0\tk\n"
    assert '"a": 1' in tape("consume", topic)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_lines_from_standard_input_in_every_codec(tape: Tape, make_topic: MakeTopic, codec: str) -> None:
    topic = make_topic()
    told = tape.json("produce", topic, "-z", codec, "-K", ":", stdin="".join(f"k{n}:value {n}\n" for n in range(300)))
    assert (told["records"], told["failed"]) == (300, 0)
    assert told["partitions"] == [{"partition": 0, "first_offset": 0, "last_offset": 299}]
    records = tape.lines("consume", topic)
    assert [(r["key"], r["value"]) for r in records] == [(f"k{n}", f"value {n}") for n in range(300)]


def test_json_lines_copy_a_topic(tape: Tape, make_topic: MakeTopic) -> None:
    source, copy = make_topic(), make_topic()
    tape("produce", source, '{"a": 1}', "text", "-k", "k", "-H", "h=1")
    tape("produce", source, "-k", "k", "--tombstone")
    tape("produce", copy, "--from-json", stdin=tape("consume", source, "--json"))
    kept = ("key", "value", "headers", "timestamp_ms")
    left, right = tape.lines("consume", source), tape.lines("consume", copy)
    assert [[r[name] for name in kept] for r in left] == [[r[name] for name in kept] for r in right]
    assert left[2]["value"] is None


def test_reading_by_offset_count_and_time(tape: Tape, make_topic: MakeTopic) -> None:
    topic = make_topic()
    for hour in range(3):
        tape("produce", topic, f"at {hour}", "--timestamp", f"@{YESTERDAY_MS + hour * HOUR_MS}")
    values = lambda *words: [r["value"] for r in tape.lines("consume", topic, *words)]  # noqa: E731
    assert values() == ["at 0", "at 1", "at 2"]
    assert values("--offset", "1") == ["at 1", "at 2"]
    assert values("--offset", "-1") == ["at 2"]
    assert values("-n", "2") == ["at 0", "at 1"]
    assert values("--since", f"@{YESTERDAY_MS + HOUR_MS}") == ["at 1", "at 2"]
    assert values("--since", f"@{YESTERDAY_MS + 1}", "--until", f"@{YESTERDAY_MS + 2 * HOUR_MS}") == ["at 1"]
    assert values("--offset", "latest") == []
    tape("consume", topic, "--offset", "7", code=NOT_FOUND)
    assert "offsets 0 to 2" in tape.err
    tape("consume", topic, "--partition", "5", code=NOT_FOUND)


def test_values_come_out_byte_for_byte(bootstrap: str, tape: Tape, make_topic: MakeTopic) -> None:
    topic = make_topic()
    line = json.dumps({"value": {"base64": "/wD+"}})
    tape("produce", topic, "--from-json", stdin=line)
    words = [sys.executable, "-m", "tapelog", "consume", topic, "--values", "-b", bootstrap]
    assert subprocess.run(words, capture_output=True, timeout=60, check=True).stdout == b"\xff\x00\xfe\n"


def test_following_shows_what_comes_until_told_to_stop(bootstrap: str, tape: Tape, make_topic: MakeTopic) -> None:
    topic = make_topic()
    tape("produce", topic, "old")
    words = [sys.executable, "-m", "tapelog", "consume", topic, "--follow", "--json", "-b", bootstrap]
    with subprocess.Popen([*words, "--offset", "0"], stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None
        assert json.loads(follower.stdout.readline())["value"] == "old"
        tape("produce", topic, "new")
        assert json.loads(follower.stdout.readline())["value"] == "new"
        follower.terminate()
        assert follower.wait(20) == 0


def test_a_group_reads_on_where_it_stopped(tape: Tape, make_topic: MakeTopic, fresh: Fresh) -> None:
    topic, group = make_topic(), fresh()
    tape("produce", topic, "0", "1", "2", "3", "4")
    assert [r["value"] for r in tape.lines("consume", topic, "-g", group, "-n", "2")] == ["0", "1"]
    assert [r["value"] for r in tape.lines("consume", topic, "-g", group, "-n", "2")] == ["2", "3"]
    described = tape.json("group", "describe", group)
    assert (described["state"], described["lag_records"], described["members"]) == ("empty", 1, [])
    assert [r["value"] for r in tape.lines("consume", topic, "-g", group)] == ["4"]
    assert tape.json("group", "describe", group)["lag_records"] == 0


def test_lag_in_seconds_is_the_age_of_the_oldest_unread_record(tape: Tape, make_topic: MakeTopic, fresh: Fresh) -> None:
    topic, group = make_topic(2), fresh()
    for partition in "01":
        tape("produce", topic, "read", "-p", partition)
    tape("consume", topic, "-g", group)
    tape("produce", topic, "unread", "-p", "0", "--timestamp", "1h")
    tape("produce", topic, "unread", "-p", "1", "--timestamp", "10m")
    described = tape.json("group", "describe", group)
    ages = {part["partition"]: part["lag_seconds"] for part in described["partitions"]}
    assert ages[0] == pytest.approx(3600, abs=60)
    assert ages[1] == pytest.approx(600, abs=60)
    assert described["lag_seconds"] == pytest.approx(3600, abs=60)
    assert described["lag_records"] == 2
    row = next(row for row in tape.json("group", "list", "--lag") if row["group"] == group)
    assert row["lag_records"] == 2 and row["lag_seconds"] == pytest.approx(3600, abs=60)
    assert "1 h" in tape("group", "describe", group)


def test_offsets_are_moved_only_when_told_to(tape: Tape, make_topic: MakeTopic, fresh: Fresh) -> None:
    topic, group = make_topic(), fresh()
    for hour in range(4):
        tape("produce", topic, str(hour), "--timestamp", f"@{YESTERDAY_MS + hour * HOUR_MS}")
    tape("consume", topic, "-g", group)

    def reset(*words: str) -> int:
        (part,) = tape.json("group", "reset", group, *words)["partitions"]
        return int(part["to"])

    def committed() -> int:
        (part,) = tape.json("group", "describe", group)["partitions"]
        return int(part["committed"])

    assert reset("--to-earliest") == 0
    assert committed() == 4, "a dry run changes nothing"
    assert reset("--to-earliest", "--execute") == 0
    assert committed() == 0
    assert reset("--to-latest", "--execute") == 4
    assert reset("--shift", "-3", "--execute") == 1
    assert reset("--to-offset", "99", "--execute") == 4
    assert reset("--to-time", f"@{YESTERDAY_MS + HOUR_MS}", "--execute", "--topic", f"{topic}:0") == 1
    assert reset("--by-duration", "1s", "--execute") == 4
    assert committed() == 4


def test_a_group_that_does_not_exist_yet_can_be_given_offsets(tape: Tape, make_topic: MakeTopic, fresh: Fresh) -> None:
    topic, group = make_topic(), fresh()
    tape("produce", topic, "0", "1")
    tape("group", "describe", group, code=NOT_FOUND)
    tape("group", "reset", group, "--topic", topic, "--to-offset", "1", "--execute")
    assert [r["value"] for r in tape.lines("consume", topic, "-g", group)] == ["1"]


def test_a_group_with_live_members_is_left_alone(
    bootstrap: str, tape: Tape, make_topic: MakeTopic, fresh: Fresh
) -> None:
    topic, group = make_topic(), fresh()
    tape("produce", topic, "0")
    member = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", "client.id": "me"}
    )
    stop = threading.Event()
    try:
        member.subscribe([topic])
        message = until(lambda: member.poll(0.2), "a record")
        assert message.error() is None
        member.commit(asynchronous=False)
        described = tape.json("group", "describe", group)
        assert described["state"] == "stable"
        assert [m["client_id"] for m in described["members"]] == ["me"]
        assert described["members"][0]["partitions"] == [[topic, 0]]
        tape("group", "reset", group, "--to-earliest", "--execute", code=1)
        assert "live member" in tape.err
        tape("group", "delete", group, "--yes", code=1)
        assert "stop" in tape.err
    finally:
        stop.set()
        member.close()
    assert f"deleted {group}" in tape("group", "delete", group, "--yes")
    tape("group", "delete", group, "--yes", code=NOT_FOUND)


def test_configs_are_listed_described_set_and_unset(tape: Tape, make_topic: MakeTopic) -> None:
    topic = make_topic()
    tape("config", "set", "topic", topic, "retention.ms=7d", "segment.bytes=64MiB")
    described = tape.json("config", "describe", "topic", topic)
    assert {name: entry["value"] for name, entry in described.items()} == {
        "retention.ms": "604800000",
        "segment.bytes": "67108864",
    }
    listed = next(row for row in tape.json("config", "list", "topic") if row["name"] == topic)
    assert listed["configs"] == {"retention.ms": "604800000", "segment.bytes": "67108864"}
    tape("config", "unset", "topic", topic, "retention.ms")
    assert list(tape.json("config", "describe", "topic", topic)) == ["segment.bytes"]
    assert "max.message.bytes" in tape.json("config", "describe", "topic", topic, "--all")
    assert set(tape.json("config", "describe", "topic", topic, "retention")) >= {"retention.bytes", "retention.ms"}
    tape("config", "set", "topic", topic, "retention.ms=soon", code=1)
    tape("config", "describe", "topic", "no-such-topic", code=NOT_FOUND)
    tape("config", "describe", "broker", "one", code=2)
    brokers = [row["name"] for row in tape.json("config", "list", "broker")]
    assert "num.partitions" in tape.json("config", "describe", "broker", brokers[0], "--all")


def test_a_record_that_is_too_large_is_refused_with_the_remedy(tape: Tape, make_topic: MakeTopic) -> None:
    topic = make_topic(max_message_bytes="2000")
    tape("produce", topic, "x" * 5000, code=1)
    assert "max.message.bytes" in tape.err


def test_topic_and_group_names_complete(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    environment = {
        "_TAPE_COMPLETE": "complete_bash",
        "COMP_WORDS": f"tape topic describe {topic[:-3]}",
        "COMP_CWORD": "3",
    }
    import os

    words = [
        sys.executable,
        "-c",
        "import sys; sys.argv[0] = 'tape'; from tapelog.cli.main import main; sys.exit(main([]))",
    ]

    def offered() -> list[str]:
        env = {**os.environ, **environment, "TAPELOG_BOOTSTRAP": bootstrap}
        return subprocess.run(words, env=env, capture_output=True, text=True, timeout=60).stdout.split()

    until(lambda: topic in offered(), "the name offered; a cluster that takes long to answer is not waited for")


def test_settings_that_change_nothing_are_accepted_and_told(tape: Tape) -> None:
    """On Apache Kafka only the slip is told: there the threads exist."""
    (broker, *_) = (row["name"] for row in tape.json("config", "list", "broker"))
    for name in (broker, "all"):
        told = tape.json("config", "set", "broker", name, "num.netwok.threads=8", "log.retention.ms=7d")
        assert told["set"] == {"num.netwok.threads": "8", "log.retention.ms": "604800000"}
        assert len(told["warnings"]) == 1 and "did you mean 'num.network.threads'?" in told["warnings"][0]
        told = tape.json("config", "unset", "broker", name, "num.netwok.threads", "log.retention.ms")
    ours = any(key.startswith("tapelog.") for key in tape.json("config", "describe", "broker", broker, "--all"))
    words = "num.network.threads has no effect here"
    tape("config", "set", "broker", broker, "num.network.threads=2")
    assert (f"warning: {words}" in tape.err) == ours
    assert tape.json("config", "describe", "broker", broker, "num.network")["num.network.threads"]["no_effect"] == ours
    assert ("has no effect here" in tape("config", "describe", "broker", broker)) == ours
    tape("config", "unset", "broker", broker, "num.network.threads")
    assert tape.json("config", "set", "broker", broker, "message.max.bytes=12000000")["warnings"] == []


def test_own_topics_are_listed_before_internal_ones(tape: Tape, make_topic: MakeTopic, fresh: Fresh) -> None:
    topic = make_topic()
    tape("produce", topic, "a")
    tape("consume", topic, "--group", fresh())  # makes __consumer_offsets
    names = [row["topic"] for row in tape.json("topic", "list", "--internal")]
    assert names.index(topic) < names.index("__consumer_offsets") and names[-1].startswith("__")
    assert [row["name"] for row in tape.json("config", "list", "topic")] == names

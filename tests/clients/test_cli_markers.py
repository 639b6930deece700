"""`tape group` and the markers of Spark's exactly-once sink: groups that nobody reads and nobody is woken for."""

from __future__ import annotations

import uuid

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from tapelog.cli import demo_stats
from tapelog.cli.connect import Connection
from tapelog.toolkit.lag import LagReader, group_health
from tests.support.names import Fresh, MakeTopic
from tests.support.tape import Tape
from tests.support.waiting import until

ERR = 6


class Stage:
    """A topic that lags, with a group of Spark's markers, one by another prefix, and one that is only named so."""

    def __init__(self, admin: AdminClient, topic: str, name: str) -> None:
        self.topic = topic
        run = uuid.uuid4()
        note = f"1 {run} 12 100 800 77"
        self.stream, self.app, self.own = f"tapelog-{run}-0.0", f"{name}-app-enrich-3.1", f"{name}-1.2"
        for group, metadata in ((self.stream, note), (self.app, note), (self.own, "mine")):
            part = TopicPartition(topic, 0, 1, metadata=metadata)
            admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, [part])])[group].result(30)


@pytest.fixture
def stage(tape: Tape, admin: AdminClient, make_topic: MakeTopic, fresh: Fresh) -> Stage:
    topic = make_topic()
    for age in ("20m", "15m", "10m"):
        tape("produce", topic, "v", "--timestamp", age)
    return Stage(admin, topic, fresh())


def test_a_list_calls_them_what_they_are(tape: Tape, stage: Stage) -> None:
    rows = {row["group"]: row for row in tape.json("group", "list", "--lag")}
    assert [rows[name]["markers"] for name in (stage.stream, stage.app, stage.own)] == [True, True, False]
    assert (rows[stage.app]["lag_records"], rows[stage.own]["lag_records"]) == (None, 2)
    lines = {line.split()[0]: line for line in tape("group", "list").splitlines() if line.strip()}
    assert "spark markers" in lines[stage.stream] and "spark markers" in lines[stage.app]
    assert "simple" in lines[stage.own]
    shown = tape("group", "describe", stage.app)
    assert "simple group, empty" in shown and "holds markers of Spark's exactly-once sink" in shown
    assert "records behind" not in shown


def test_lag_leaves_them_out_and_says_so_unless_they_are_wanted(tape: Tape, stage: Stage) -> None:
    shown = tape("group", "lag")
    assert stage.own in shown and stage.stream not in shown and stage.app not in shown
    assert "hold markers of Spark's exactly-once sink, which nobody reads; --markers shows them" in shown
    found = {one["group"]: one for one in tape.json("group", "lag")}
    assert stage.own in found and not {stage.stream, stage.app} & set(found)
    assert "left out: " in tape.err
    found = {one["group"]: one for one in tape.json("group", "lag", "--markers")}
    assert (found[stage.app]["markers"], found[stage.app]["lag_records"], found[stage.own]["lag_records"]) == (
        True,
        None,
        2,
    )
    assert "left out" not in tape.err
    assert "a marker of Spark's sink" in tape("group", "lag", stage.stream), "a group that is named is shown"


def test_a_check_does_not_judge_them(tape: Tape, stage: Stage) -> None:
    def stopped() -> bool:
        try:
            return bool(tape.json("group", "check", stage.own, "--window", "1s", code=ERR)["verdict"] == "STOP")
        except AssertionError:
            return False

    until(stopped, "a stop of the group that is only named so; the others' commits are older")
    for named in (stage.stream, stage.app):
        (found,) = tape.json("group", "check", named, "--window", "1s")["groups"]
        assert (found["verdict"], found["markers"], found["lag_records"]) == ("OK", True, None)
        assert found["partitions"][0]["cause"] == "holds markers of Spark's sink"
        assert "nobody reads through it" in tape("group", "check", named)
    whole = tape.json("group", "check", "--window", "1s", code=ERR)
    assert whole["markers_left_out"] >= 2
    judged = {one["group"] for one in whole["groups"]}
    assert stage.own in judged and not {stage.stream, stage.app} & judged
    assert "--markers shows them" in tape("group", "check", "--window", "1s", code=ERR)
    judged = {one["group"] for one in tape.json("group", "check", "--markers", "--window", "1s", code=ERR)["groups"]}
    assert {stage.stream, stage.app, stage.own} <= judged


def test_the_toolkit_and_the_live_view_leave_them_out(
    bootstrap: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_stats, "GROUPS_MAX", 10_000)
    with LagReader(bootstrap) as reader:
        assert {stage.stream, stage.app} & set(reader.groups()) == set()
        assert {stage.stream, stage.app, stage.own} <= set(reader.groups(markers=True))
        assert reader.marker_groups([stage.stream, stage.app, stage.own, "billing"]) == {stage.stream, stage.app}
    assert stage.own in group_health(bootstrap)
    observer = demo_stats.Observer(Connection(bootstrap), None)
    try:
        seen = {group.name for group in observer.snapshot().groups}
    finally:
        observer.close()
    assert stage.own in seen and not {stage.stream, stage.app} & seen

"""`tape group check` against a running cluster: each verdict, in words, with its exit code."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.support.names import Fresh, MakeTopic
from tests.support.tape import Tape
from tests.support.waiting import until

WARN, ERR, NOT_FOUND = 5, 6, 4
AGES_S = (900, 800, 665, 600, 500)
WINDOW_S = 4
JUST_S = 0.01
"""So old is a record that was written before the next commit and after the last one, in milliseconds too."""


class Stage:
    """One group and one partition: records of given ages, commits made one by one, verdicts asked for."""

    def __init__(self, bootstrap: str, tape: Tape, group: str, topic: str) -> None:
        self.group, self.topic, self.tape, self.bootstrap = group, topic, tape, bootstrap
        self._producer = Producer({"bootstrap.servers": bootstrap})
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})

    def produce(self, *ages_s: float) -> None:
        for age_s in ages_s:
            self._producer.produce(self.topic, b"v", partition=0, timestamp=round((time.time() - age_s) * 1000))
        self._producer.flush(10)

    def commit(self, offset: int) -> None:
        self._consumer.commit(offsets=[TopicPartition(self.topic, 0, offset)], asynchronous=False)
        time.sleep(2 * JUST_S)  # commits have times in milliseconds, and the next one shall be later

    def judged(self, *words: str, code: int = 0) -> dict[str, Any]:
        """The only partition's finding; the group must have the same verdict."""
        document = self.tape.json("group", "check", self.group, *words, code=code)
        (found,) = document["groups"]
        (part,) = found["partitions"]
        assert document["verdict"] == found["verdict"] == part["verdict"]
        return {**part, "judged_by": found["judged_by"]}

    def verdict(self, *words: str) -> str:
        """The verdict, whatever it is."""
        return str(self.tape.json("group", "check", self.group, *words, code=(0, WARN, ERR))["verdict"])

    def close(self) -> None:
        self._consumer.close()


@pytest.fixture
def stage(bootstrap: str, tape: Tape, make_topic: MakeTopic, fresh: Fresh) -> Iterator[Stage]:
    made = Stage(bootstrap, tape, fresh(), make_topic())
    yield made
    made.close()


def test_a_group_that_has_read_everything_is_fine(stage: Stage) -> None:
    stage.produce(*AGES_S)
    stage.commit(5)
    assert stage.judged()["cause"] == "caught up"
    assert "OK" in stage.tape("group", "check", stage.group)


def test_a_group_that_catches_up_is_fine(stage: Stage) -> None:
    stage.produce(*AGES_S)
    for offset in (1, 2, 3):
        stage.commit(offset)
    part = stage.judged()
    assert (part["verdict"], part["cause"], part["judged_by"]) == ("OK", "keeps up", "commits")


def test_a_lag_that_only_grows_is_a_warning(stage: Stage) -> None:
    for offset in (1, 2, 3, 4):
        stage.produce(*[JUST_S] * 10)
        stage.commit(offset)
    part = stage.judged(code=WARN)
    assert (part["verdict"], part["cause"]) == ("WARN", "the lag only grows")
    assert "from 9 to 36 records" in part["matter"] and "add consumers" in part["advice"]
    assert "only grows" in stage.tape("group", "check", stage.group, code=WARN)


def test_commits_that_do_not_move_are_a_stall(stage: Stage) -> None:
    stage.produce(*AGES_S)
    for _ in range(3):
        stage.commit(2)
    part = stage.judged(code=ERR)
    assert (part["verdict"], part["cause"]) == ("STALL", "the offset does not move")
    assert "offset 2" in part["matter"]
    assert f"tape consume {stage.topic} -p 0 --offset 2 -n 1" in part["advice"]


def test_an_offset_that_goes_back_is_a_rewind(stage: Stage) -> None:
    stage.produce(*AGES_S)
    stage.commit(4)
    stage.commit(1)
    assert stage.judged(code=ERR)["verdict"] == "REWIND"


def test_silence_while_there_is_something_to_read_is_a_stop(stage: Stage) -> None:
    stage.produce(*AGES_S)
    stage.commit(2)
    assert stage.judged()["verdict"] == "OK", "it has just committed"
    until(lambda: stage.verdict("--window", "1s") == "STOP", "a stop after half of a short window")
    part = stage.judged("--window", "1s", code=ERR)
    assert "start the group's consumers" in part["advice"]
    told = stage.tape("group", "check", stage.group, "--window", "1s", code=ERR)
    assert "STOP" in told and f"{stage.topic}:0" in told and "3 records behind (11 min" in told


def test_a_group_that_idled_is_fine_when_a_record_has_just_come(stage: Stage) -> None:
    verdict = ""
    for attempt in range(20):
        stage.produce(0)
        stage.commit(2 * attempt + 1)
        time.sleep(WINDOW_S)  # idle for the whole window, which is what this is about
        begun = time.monotonic()
        stage.produce(0)
        verdict = stage.verdict("--window", f"{WINDOW_S}s")
        if time.monotonic() - begun < WINDOW_S / 2:  # else the record has not just come: the machine is busy
            break
    assert verdict == "OK"


def test_what_was_removed_unread_is_an_error(stage: Stage, admin: AdminClient) -> None:
    stage.produce(*AGES_S)
    stage.commit(1)
    end = TopicPartition(stage.topic, 0, 4)
    admin.delete_records([end])[end].result(30)
    part = stage.judged(code=ERR)
    assert part["verdict"] == "ERR" and "3 records were removed" in part["matter"]


def test_limits_of_age_are_kept(stage: Stage) -> None:
    stage.produce(*AGES_S)
    for offset in (1, 2, 3):
        stage.commit(offset)
    assert stage.judged("--warn-age", "5m", code=WARN)["cause"] == "older than the warning limit"
    assert stage.judged("--warn-age", "1m", "--max-age", "5m", code=ERR)["cause"] == "older than the limit"
    assert stage.judged("--max-age", "1h")["verdict"] == "OK"


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_live_member_that_does_not_move_is_named(stage: Stage, protocol: str) -> None:
    stage.produce(*AGES_S)
    member = Consumer(
        {
            "bootstrap.servers": stage.bootstrap,
            "group.id": stage.group,
            "group.protocol": protocol,
            "client.id": "sluggard",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    try:
        member.subscribe([stage.topic])
        message = until(lambda: member.poll(0.2), "a record")
        member.commit(message, asynchronous=False)
        until(lambda: member.poll(0.05) or stage.verdict("--window", "1s") == "STALL", "a stall")
        until(lambda: stage.verdict("--window", "1s") == "STALL", "a stall")
        part = stage.judged("--window", "1s", code=ERR)
        assert "sluggard" in part["matter"] and "owns it and stands still at offset 1" in part["matter"]
        watched = stage.judged("--sample", "1s", code=ERR)
        assert (watched["verdict"], watched["judged_by"]) == ("STALL", "samples")
    finally:
        member.close()


def test_all_groups_are_judged_when_none_is_named(stage: Stage) -> None:
    stage.produce(*AGES_S)
    stage.commit(5)
    document = stage.tape.json("group", "check", code=(0, WARN, ERR))  # other tests' groups have verdicts of their own
    found = next(one for one in document["groups"] if one["group"] == stage.group)
    assert found["verdict"] == "OK"


def test_a_group_that_is_not_there_is_told(tape: Tape, fresh: Fresh) -> None:
    tape("group", "check", fresh(), code=NOT_FOUND)

"""`tapelog.toolkit.lag` against a running cluster: ages come from the log itself, whatever lies in it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tapelog.toolkit.lag import LagReader, group_lag, group_lag_async, group_lags
from tapelog.toolkit.lag.oldest import OldestReader
from tests.support import raw
from tests.support.markers import nothing_open
from tests.support.names import Fresh, LeaderOf, MakeTopic
from tests.support.waiting import until

HOUR_S = 3600


class Stage:
    """Sets the stage: records of a given age, offsets of a given group."""

    def __init__(self, bootstrap: str, admin: AdminClient, group: str) -> None:
        self.bootstrap, self.admin, self.group = bootstrap, admin, group
        self._plain = Producer({"bootstrap.servers": bootstrap})

    def produce(self, topic: str, *ages_s: float, partition: int = 0) -> None:
        for age_s in ages_s:
            self._plain.produce(topic, b"v", partition=partition, timestamp=round((time.time() - age_s) * 1000))
        self._plain.flush(10)

    def transaction(self, topic: str, count: int, end: str | None, *, age_s: float = 0) -> Producer:
        """Write `count` records in a transaction; `end` is commit, abort, or None to leave it open."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "transactional.id": f"{topic}-{end}-{time.time()}"})
        producer.init_transactions(20)
        producer.begin_transaction()
        for _ in range(count):
            producer.produce(topic, b"t", partition=0, timestamp=round((time.time() - age_s) * 1000))
        producer.flush(10)
        if end == "commit":
            producer.commit_transaction(20)
        elif end == "abort":
            producer.abort_transaction(20)
        if end is not None:
            nothing_open(self.bootstrap, topic)
        return producer

    def commit(self, *offsets: tuple[str, int, int], group: str = "", metadata: str = "") -> None:
        parts = [TopicPartition(topic, number, offset, metadata=metadata) for topic, number, offset in offsets]
        request = [ConsumerGroupTopicPartitions(group or self.group, parts)]
        self.admin.alter_consumer_group_offsets(request)[group or self.group].result(30)


@pytest.fixture
def stage(bootstrap: str, admin: AdminClient, fresh: Fresh) -> Stage:
    return Stage(bootstrap, admin, fresh())


def test_each_partition_is_as_late_as_its_oldest_unread_record(stage: Stage, make_topic: MakeTopic) -> None:
    topic = make_topic(3)
    stage.produce(topic, 3 * HOUR_S, 2 * HOUR_S, 0, partition=0)
    stage.produce(topic, 10, partition=1)
    stage.commit((topic, 0, 1), (topic, 1, 1), metadata="by hand")
    lag = group_lag(stage.bootstrap, stage.group)
    late, done = lag.partitions
    assert (late.records, late.committed, late.end, late.metadata) == (2, 1, 3, "by hand")
    assert late.seconds == pytest.approx(2 * HOUR_S, abs=30) == lag.seconds
    assert late.oldest is not None and late.oldest.offset == 1
    assert (done.records, done.seconds) == (0, 0.0)
    assert lag.records == 2 and lag.missing == ()


def test_it_can_be_asked_in_an_event_loop(stage: Stage, make_topic: MakeTopic) -> None:
    topic = make_topic()
    stage.produce(topic, 60)
    stage.commit((topic, 0, 0))
    lag = asyncio.run(group_lag_async(stage.bootstrap, stage.group))
    assert lag.records == 1 and lag.seconds == pytest.approx(60, abs=30)


def test_groups_at_different_places_of_one_partition_are_told_apart(
    stage: Stage, make_topic: MakeTopic, fresh: Fresh
) -> None:
    topic = make_topic()
    stage.produce(topic, *(hours * HOUR_S for hours in (4, 3, 2, 1)))
    groups = [fresh() for _ in range(4)]
    for offset, group in enumerate(groups):
        stage.commit((topic, 0, offset), group=group)
    found = group_lags(stage.bootstrap, groups)
    hours = [round((found[group].seconds or 0) / HOUR_S, 1) for group in groups]
    assert hours == [4, 3, 2, 1]


def test_transaction_markers_are_no_lag(stage: Stage, make_topic: MakeTopic) -> None:
    topic = make_topic()
    stage.transaction(topic, 2, "commit")
    stage.commit((topic, 0, 2))
    (part,) = group_lag(stage.bootstrap, stage.group).partitions
    assert part.end == 3, "the marker has an offset"
    assert (part.records, part.seconds) == (0, 0.0)


def test_aborted_records_are_no_lag_for_a_group_that_reads_committed_ones(stage: Stage, make_topic: MakeTopic) -> None:
    topic = make_topic()
    stage.transaction(topic, 2, "abort", age_s=HOUR_S)
    stage.produce(topic, 600)
    stage.commit((topic, 0, 0))
    (part,) = group_lag(stage.bootstrap, stage.group).partitions
    assert part.oldest is not None and part.oldest.offset == 3, "the first record after the abort"
    assert part.seconds == pytest.approx(600, abs=30)
    (part,) = group_lag(stage.bootstrap, stage.group, isolation="read_uncommitted").partitions
    assert part.oldest is not None and part.oldest.offset == 0
    assert part.seconds == pytest.approx(HOUR_S, abs=30)


def test_open_transactions_hold_back_and_it_is_told(stage: Stage, make_topic: MakeTopic) -> None:
    topic = make_topic()
    stage.produce(topic, 0)
    open_one = stage.transaction(topic, 3, None, age_s=600)
    stage.commit((topic, 0, 1))
    (part,) = group_lag(stage.bootstrap, stage.group).partitions
    assert (part.records, part.seconds, part.end, part.held) == (0, 0.0, 1, 3)
    assert "open transactions" in part.why
    (part,) = group_lag(stage.bootstrap, stage.group, isolation="read_uncommitted").partitions
    assert (part.records, part.end, part.held) == (3, 4, 0)
    assert part.seconds == pytest.approx(600, abs=30)
    open_one.abort_transaction(20)


def test_the_brokers_time_counts_where_the_topic_says_so(stage: Stage, make_topic: MakeTopic) -> None:
    topic = make_topic(message_timestamp_type="LogAppendTime")
    stage.produce(topic, HOUR_S)
    stage.commit((topic, 0, 0))
    (part,) = group_lag(stage.bootstrap, stage.group).partitions
    assert part.oldest is not None and part.oldest.appended
    assert part.seconds == pytest.approx(0, abs=30)


def test_a_record_without_a_timestamp_says_so(stage: Stage, make_topic: MakeTopic, leader_of: LeaderOf) -> None:
    topic = make_topic()
    with raw.Raw(leader_of(topic)) as connection:
        assert raw.produce(connection, topic, raw.simple_batch([b"x"], timestamp=-1)) == (0, 0)
    stage.commit((topic, 0, 0))
    lag = group_lag(stage.bootstrap, stage.group)
    (part,) = lag.partitions
    assert (part.records, part.seconds, part.why) == (1, None, "record has no timestamp")
    assert lag.seconds is None


def test_what_was_removed_unread_is_lost_and_no_lag(stage: Stage, make_topic: MakeTopic) -> None:
    topic = make_topic()
    stage.produce(topic, *(10 * number for number in range(9, 0, -1)))
    stage.commit((topic, 0, 2))
    stage.admin.delete_records([TopicPartition(topic, 0, 7)])[TopicPartition(topic, 0, 7)].result(30)
    (part,) = group_lag(stage.bootstrap, stage.group).partitions
    assert (part.lost, part.records, part.start) == (5, 2, 7)
    assert part.oldest is not None and part.oldest.offset == 7
    assert part.seconds == pytest.approx(20, abs=15)


def test_a_topic_that_is_gone_is_named(stage: Stage, make_topic: MakeTopic) -> None:
    kept, gone = make_topic(), make_topic()
    stage.produce(kept, 0)
    stage.commit((kept, 0, 0))
    with LagReader(stage.bootstrap) as reader:
        offsets = {stage.group: {**reader.committed([stage.group])[stage.group]}}
        offsets[stage.group][gone + "-never", 0] = offsets[stage.group][kept, 0]
        lag = reader.lag_of(offsets)[stage.group]
    assert [part.topic for part in lag.partitions] == [kept]
    assert lag.missing == ((gone + "-never", 0),)


def test_a_group_nobody_knows_is_behind_nowhere(bootstrap: str, fresh: Fresh) -> None:
    lag = group_lag(bootstrap, fresh())
    assert (lag.partitions, lag.records, lag.seconds) == ((), 0, 0.0)


def test_many_partitions_are_read_side_by_side(
    stage: Stage, make_topic: MakeTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, turns, read_turn = make_topic(100), list[int](), OldestReader._read_turn

    def counted(self: OldestReader, offsets: Any, deadline: float) -> Any:
        turns.append(len(offsets))
        return read_turn(self, offsets, deadline)

    monkeypatch.setattr(OldestReader, "_read_turn", counted)
    for number in range(100):
        stage.produce(topic, 100 + number, partition=number)
    stage.commit(*((topic, number, 0) for number in range(100)))
    with LagReader(stage.bootstrap) as reader:
        lag = reader.measure([stage.group])[stage.group]
    assert [round(part.seconds or 0) for part in lag.partitions] == pytest.approx(list(range(100, 200)), abs=30)
    assert turns == [100], "all at once, not one after another"


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_every_kind_of_group_has_a_lag(stage: Stage, make_topic: MakeTopic, protocol: str) -> None:
    topic = make_topic()
    stage.produce(topic, 600, 500)
    consumer = Consumer(
        {
            "bootstrap.servers": stage.bootstrap,
            "group.id": stage.group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    try:
        consumer.subscribe([topic])
        message = until(lambda: consumer.poll(0.2), "a record")
        assert message.error() is None
        consumer.commit(message, asynchronous=False)
        lag = group_lag(stage.bootstrap, stage.group)
        assert lag.records == 1 and lag.seconds == pytest.approx(500, abs=30)
    finally:
        consumer.close()
    assert group_lag(stage.bootstrap, stage.group).records == 1

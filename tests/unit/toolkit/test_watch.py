"""What a loop says, and when, of a cluster that does not answer and of missing topics. Time passes when told."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from tapelog.toolkit import NoBroker, NoTopic
from tapelog.toolkit.watch import ASK_EVERY_S, QUESTION_S_MAX, QUESTION_S_MIN, SAID_AGAIN_S, Watch
from tests.unit.toolkit.fakes import Clock, error

UNKNOWN = error(KafkaError.UNKNOWN_TOPIC_OR_PART)


class World:
    """A cluster that can be switched off, with topics that come and go."""

    def __init__(self, *topics: str) -> None:
        self.clock = Clock()
        self.topics = list(topics)
        self.up = True
        self.read = True
        """Whether the topics that are there have been read."""
        self.needs_s = 0.0
        """How long an answer takes."""
        self.questions: list[str | None] = []

    def watch(self, *topics: str, **more: Any) -> Watch:
        """A loop's view of it."""
        return Watch(self.ask, "broker:9092", topics, clock=self.clock, **more)

    def ask(self, topic: str | None, seconds: float) -> Any:
        self.questions.append(topic)
        if not self.up or self.needs_s > seconds:
            self.clock.pass_(seconds)
            raise KafkaException(error(KafkaError._TRANSPORT))
        self.clock.pass_(self.needs_s)
        found: dict[str, Any] = {name: SimpleNamespace(error=None) for name in self.topics}
        if topic is not None:
            found = {topic: found.get(topic, SimpleNamespace(error=UNKNOWN))}
        return SimpleNamespace(topics=found)

    def live(self, watch: Watch, seconds: float) -> None:
        """A loop that turns for so long and hears nothing else."""
        end = self.clock() + seconds
        while self.clock() < end:
            watch.look()
            watch.raise_missing(read=self.read)
            self.clock.pass_(0.25)


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was logged where people see it."""
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_silence_is_said_once_within_ten_seconds_and_rarely_again(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.up = False
    watch = world.watch("orders")
    world.live(watch, 10)
    (line,) = said(caplog)
    assert "no broker has answered on broker:9092" in line and "correct the address" in line and "waiting" in line
    world.live(watch, SAID_AGAIN_S - 20)
    assert len(said(caplog)) == 1
    world.live(watch, 30)
    assert len(said(caplog)) == 2
    world.up, world.topics = True, ["orders"]
    world.live(watch, 10)
    assert len(said(caplog)) == 3 and "answers again" in said(caplog)[-1]


def test_a_cluster_that_falls_silent_later_is_noticed_too(caplog: pytest.LogCaptureFixture) -> None:
    world = World("orders")
    watch = world.watch("orders")
    world.live(watch, 60)
    assert not said(caplog)
    world.up = False
    world.live(watch, ASK_EVERY_S + 9)
    assert len(said(caplog)) == 1


def test_a_short_silence_is_not_worth_a_line(caplog: pytest.LogCaptureFixture) -> None:
    world = World("orders")
    watch = world.watch("orders", raises=True)
    for _ in range(10):
        world.up = not world.up
        world.live(watch, 5)
    assert not said(caplog)


def test_too_long_a_silence_is_an_error_where_that_was_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.up = False
    watch = world.watch("orders", raises=True, patience_s=30)
    world.live(watch, 25)
    assert len(said(caplog)) == 1
    with pytest.raises(NoBroker, match=r"no broker has answered on broker:9092 for 3\d"):
        world.live(watch, 10)


def test_a_slow_cluster_is_given_more_time_and_is_not_a_silent_one(caplog: pytest.LogCaptureFixture) -> None:
    world = World("orders")
    world.needs_s = QUESTION_S_MAX * 0.9
    watch = world.watch("orders", raises=True, patience_s=10)
    world.live(watch, 60)
    assert watch.complete() and not said(caplog)


def test_a_cluster_that_is_heard_of_is_not_asked() -> None:
    world = World("orders")
    watch = world.watch("orders")
    for _ in range(100):
        watch.look()
        watch.heard()
        world.clock.pass_(1)
    assert world.questions == ["orders"]
    world.live(watch, 10 * ASK_EVERY_S)
    assert 9 <= len(world.questions) <= 12


def test_a_missing_topic_is_said_once_with_names_like_it_and_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    world = World("orders", "other", "__consumer_offsets")
    watch = world.watch("Ordres")
    world.live(watch, 10)
    assert said(caplog) == ["there is no topic 'Ordres' on broker:9092, but there is orders; waiting for it"]
    world.live(watch, SAID_AGAIN_S - 20)
    assert len(said(caplog)) == 1 and not watch.complete()
    world.topics.append("Ordres")
    world.live(watch, 10)
    assert said(caplog)[1:] == ["the topic 'Ordres' exists now"] and watch.complete()


def test_a_missing_topic_is_an_error_where_that_was_asked_for() -> None:
    world = World("orders")
    watch = world.watch("orders", "nosuch", raises=True, patience_s=5)
    world.live(watch, 4)
    with pytest.raises(NoTopic, match=r"^there is no topic 'nosuch' on broker:9092$"):
        world.live(watch, 3)


def test_topics_that_are_there_are_read_before_a_missing_one_is_an_error() -> None:
    world = World("orders")
    watch = world.watch("orders", "nosuch", raises=True, patience_s=5)
    world.read = False
    world.live(watch, 60)
    world.read = True
    with pytest.raises(NoTopic, match="nosuch"):
        world.live(watch, 1)
    world.read = False
    with pytest.raises(NoTopic, match="nosuch"):
        world.live(world.watch("nosuch", raises=True, patience_s=5), 10)


def test_a_pattern_is_missing_until_a_topic_matches(caplog: pytest.LogCaptureFixture) -> None:
    world = World("payments", "__orders")
    watch = world.watch("^payment\\..*")
    world.live(watch, 12)
    assert said(caplog) == [
        "no topic on broker:9092 matches '^payment\\\\..*', but there is payments; waiting for it",
    ]
    world.topics.append("payment.eu")
    world.live(watch, 12)
    assert watch.complete()
    asked = len(world.questions)
    world.live(watch, 30)
    assert None not in world.questions[asked:], "the names of all topics are not asked for again"


def test_a_pattern_may_be_for_internal_topics_and_is_not_blamed_when_names_take_too_long() -> None:
    world = World("__consumer_offsets")
    watch = world.watch("^__.*", raises=True)
    world.live(watch, 30)
    assert watch.complete()
    world.needs_s = QUESTION_S_MIN / 2
    many = world.watch("^a.*", raises=True)
    ask = world.ask

    def slow(topic: str | None, seconds: float) -> Any:
        if topic is None:
            raise KafkaException(error(KafkaError._TIMED_OUT))
        return ask(topic, seconds)

    many._ask = slow
    world.live(many, 60)
    assert many.complete()


def test_a_pattern_on_a_silent_cluster_is_silence_and_not_a_missing_topic() -> None:
    world = World()
    world.up = False
    with pytest.raises(NoBroker):
        world.live(world.watch("^a.*", raises=True), 60)


def test_a_topic_that_is_deleted_is_missing_again() -> None:
    world = World("orders", "retries")
    watch = world.watch("orders", raises=True, patience_s=5)
    world.live(watch, 1)
    assert watch.complete()
    world.topics.remove("orders")
    watch.gone("somebody-elses")
    assert watch.complete()
    watch.gone("orders")
    assert not watch.complete()
    with pytest.raises(NoTopic):
        world.live(watch, 10)


def test_whether_a_broker_answers_is_asked_at_once_but_not_again_and_again() -> None:
    world = World("orders")
    watch = world.watch("orders")
    assert watch.answers()
    world.up = False
    before = len(world.questions)
    assert [watch.answers() for _ in range(50)] == [False] * 50
    assert len(world.questions) == before + 1

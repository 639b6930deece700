"""Which tasks a batch gets: by bytes, unless its options say how to cut or that it is to be repeatable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from tapelog.client import pool
from tapelog.spark.plan import ReadOptions, read_options
from tapelog.spark.plan.stored import History, Stored
from tapelog.spark.plan.tasks import Task
from tapelog.spark.plan.values import Plan, Range, TopicPartition
from tapelog.spark.source import view as module
from tapelog.spark.source.view import ClusterView, view_of
from tapelog.wire.messages.metadata_request import MetadataRequest
from tests.unit.client.fake_cluster import TOPIC, FakeCluster
from tests.unit.spark.plan.world import World, world

pytest.importorskip("pyspark")

MIB = 1 << 20
RANGES = tuple(Range("t", number, 0, 2_400_000) for number in range(3))
ENDS = {"startingOffsets": '{"t":{"0":0}}', "endingOffsets": '{"t":{"0":900000}}'}


def options(**more: str) -> ReadOptions:
    return read_options({"kafka.bootstrap.servers": "h:1", "subscribe": "t", **more}, streaming=False)


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Tasks of three partitions whose records take so many bytes."""

    def found(size: float, slots: int | None, **more: str) -> Sequence[Task]:
        weights = {TopicPartition(one.topic, one.partition): size for one in RANGES}
        monkeypatch.setattr(module, "weights_of", lambda cluster, partitions: weights)
        return ClusterView(None).tasks(Plan(RANGES), options(**more), slots)  # type: ignore[arg-type]

    return found


def test_a_batch_is_shared_out_by_what_logs_weigh_and_how_many_slots_there_are(tasks: Any) -> None:
    assert len(tasks(390, None)) != len(tasks(800, None))
    assert len(tasks(400, 2)) != len(tasks(400, 8))


def test_whoever_says_how_to_cut_is_obeyed(tasks: Any) -> None:
    assert tasks(400, 2, minPartitions="3") == [(one,) for one in RANGES]


@pytest.fixture
def empty_pool() -> Iterator[None]:
    """What a view leaves for the next one is closed: other tests count what is there."""
    yield
    pool._POOL.close()


@pytest.mark.usefixtures("empty_pool")
def test_each_view_asks_about_topics_anew_though_the_cluster_that_it_is_lent_was_asked_before() -> None:
    with FakeCluster() as fake:
        settings = fake.connect().settings
        with view_of(settings) as view:
            first = view.ids([TOPIC, "nothere"])
        fake.topic_id, fake.leaders = bytes(range(1, 17)), {0: 1, 1: 1}
        with view_of(settings) as view:
            assert view.ids([TOPIC]) == {TOPIC: fake.topic_id} != first
            asked = len(fake.asked(MetadataRequest))
            assert view.partitions([TOPIC]) == {TOPIC: [0, 1]}
            assert len(fake.asked(MetadataRequest)) == asked, "once is enough"
            older, fake.topic_id = fake.topic_id, first[TOPIC]
            view.partitions([TOPIC])
            assert view.ids([TOPIC]) == {TOPIC: older}, "what was asked before is of the older topic"
        assert fake.brokers[1].connections == 1


@pytest.mark.usefixtures("empty_pool")
def test_only_a_log_that_has_its_first_leader_was_never_cut_back() -> None:
    with FakeCluster() as fake:
        fake.end = 7
        of = TopicPartition(TOPIC, 0)
        with view_of(fake.connect().settings) as view:
            assert view.uncut_ends([of]) == {}
            fake.epoch = 0
            assert view.uncut_ends([of]) == {of: 7}


@pytest.mark.usefixtures("empty_pool")
def test_each_range_of_a_batch_names_the_topic_that_it_was_planned_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from tapelog.spark.source import batch

    monkeypatch.setattr(batch, "settle", lambda: None)
    with FakeCluster(partitions=2) as fake:
        fake.end = 7
        given = {"kafka.bootstrap.servers": str(fake.brokers[1].address), "subscribe": TOPIC, "minPartitions": "4"}
        for topic_id in (fake.topic_id, bytes(range(1, 17))):
            fake.topic_id = topic_id
            found = batch.BatchReader(read_options(given, streaming=False)).partitions()
            assert [piece.topic_id for task in found for piece in task.value] == [topic_id] * 4


class Brokers(ClusterView):
    """A view of a dictionary, with sizes and a tier."""

    def __init__(self, there: World, weight: float, shelves: dict[TopicPartition, History]) -> None:
        self.there, self.weight, self.shelves = there, weight, shelves

    def __getattribute__(self, name: str) -> Any:
        if name in ("ids", "partitions", "earliest", "latest", "for_times"):
            return getattr(self.there, name)
        return super().__getattribute__(name)

    def weights(self, partitions: Any) -> dict[TopicPartition, float]:
        return dict.fromkeys(partitions, self.weight)

    def _shelves(self, plan: Plan, options: ReadOptions) -> dict[TopicPartition, History]:
        return self.shelves


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a reader on the driver gives to Spark, one value for each task."""
    from tapelog.spark.source import batch

    def found(view: Brokers, filters: Sequence[Any] = (), **more: str) -> list[Task | None]:
        @contextmanager
        def view_of(settings: object) -> Iterator[Brokers]:
            yield view

        monkeypatch.setattr(batch, "view_of", view_of)
        monkeypatch.setattr(batch, "settle", lambda: None)
        reader = batch.BatchReader(options(**more))
        reader.filters = list(filters)
        return [partition.value for partition in reader.partitions()]

    return found


def fat(shelves: dict[TopicPartition, History] | None = None) -> Brokers:
    return Brokers(world(t=[(0, 900_000)]), 100 * 1024, shelves or {})


def test_a_read_with_an_end_is_cut_by_bytes_as_any_other(given: Any) -> None:
    """900,000 records of 100 KiB are not a task of a million offsets."""
    assert len(given(fat())) == len(given(fat(), **ENDS)) == 343


def test_and_so_is_one_with_a_filter(given: Any) -> None:
    from tapelog.spark.plan import Filter

    assert len(given(fat(), [Filter("timestamp", "<", 10**15)])) == 343
    assert len(given(fat(), [Filter("offset", "<", 450_000)])) == pytest.approx(172, abs=1)


def test_with_a_tier_such_reads_are_cut_by_its_objects(given: Any) -> None:
    objects = tuple(Stored(f"o{n}", n * 900, n * 900, n * 900 + 900, 96 * MIB, 10, 0) for n in range(1000))
    shelves = {TopicPartition("t", 0): History(objects, 900_000)}
    assert len(given(fat(shelves), **ENDS)) == 1000


def test_a_repeatable_read_has_the_same_tasks_whatever_logs_weigh_slots_there_are_and_is_gone(
    given: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = {"startingOffsets": '{"t":{"0":0,"1":0}}', "endingOffsets": '{"t":{"0":6000000,"1":5}}'}
    more = {"repeatable": "true", "failOnDataLoss": "false", **ends}
    first = given(Brokers(world(t=[(0, 6_000_000), (0, 5)]), 400, {}), **more)
    assert first == [
        (Range("t", 0, 0, 3_000_000),),
        (Range("t", 0, 3_000_000, 6_000_000),),
        (Range("t", 1, 0, 5),),
    ]
    monkeypatch.setenv("TAPELOG_SLOTS", "8")
    assert given(Brokers(world(t=[(0, 19_000_000), (0, 9)]), 20_000, {}), **more) == first
    assert given(Brokers(world(t=[(3_000_000, 6_000_000), (0, 5)]), 400, {}), **more) == [None, *first[1:]]

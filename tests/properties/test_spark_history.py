"""Rows from storage are those that Fetch gives: whatever was written, wherever the seam is, however a plan is cut."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow", reason="needs pyarrow (requirements/spark.txt)")

from tapelog.client.errors import OffsetOutOfRangeError
from tapelog.client.fetched import Fetched
from tapelog.log.tier import growth
from tapelog.sim.entropy import SimEntropy
from tapelog.spark.history import reading as stored_reading
from tapelog.spark.history import store
from tapelog.spark.history.ahead import blocks
from tapelog.spark.history.shelves import Asked, look_up
from tapelog.spark.history.store import MissingObjectError
from tapelog.spark.plan import Range, ReadOptions, TopicPartition, read_options
from tapelog.spark.plan.history import cut_by_objects, with_history
from tapelog.spark.source import reading
from tapelog.spark.source.errors import TapelogError
from tapelog.spark.source.reading import read_range
from tests.properties.seam_world import TOPIC_ID, SeamWorld

STEPS = ["append"] * 12 + ["end"] * 3 + ["upload"] * 3 + ["let_go"] * 2 + ["trim"]
OF = TopicPartition("orders", 0)
NUMBERS = itertools.count()


class Here:
    """The simulated bucket as what a task reads from."""

    def __init__(self, world: SeamWorld) -> None:
        self.objects = world.bucket.objects
        self.gone_from: dict[str, int] = {}
        """Objects that are gone when somebody reads them at this position or behind it."""

    def get(self, name: str) -> bytes:
        if name not in self.objects:
            raise MissingObjectError(f"there is no {name}")
        return self.objects[name]

    def read(self, name: str, position: int, size: int) -> bytes:
        if position >= self.gone_from.get(name, position + 1):
            raise MissingObjectError(f"there is no {name}")
        return self.get(name)[position : position + size]


class Stage:
    """A world, a store and brokers for tasks: Fetch is answered by the twin, and counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seed: int, block: int) -> None:
        self.world = SeamWorld(seed, 500, 200_000)
        self.here = Here(self.world)
        self.fetched: list[int] = []
        self.url = f"s3://bucket/{next(NUMBERS)}"
        monkeypatch.setattr(store, "_opened", lambda settings, process: self.here)
        monkeypatch.setattr(stored_reading, "blocks", partial(blocks, size=block, ahead=2))
        monkeypatch.setattr(reading, "fetch_range", self._fetch)
        monkeypatch.setattr(reading, "lend", _lend)

    def _fetch(self, cluster: object, topic: str, partition: int, start: int, until: int, **more: Any) -> Any:
        log, at = self.world.twin, start
        while at < until:
            if at < log.start_offset:
                raise OffsetOutOfRangeError(topic, partition, at, log.start_offset, log.written_end)
            self.fetched.append(at)
            region = log.read(at, 700, log.written_end, True)
            assert region is not None
            data, after = region.read(), region.next_offset
            aborted = tuple((one.producer_id, one.first_offset) for one in log.aborted_transactions(at, after))
            yield Fetched(data, 0, len(data), aborted, after, 0, 0, 0)
            at = after

    def options(self, isolation: str, **more: str) -> ReadOptions:
        given = more | {
            "kafka.bootstrap.servers": "a:1",
            "subscribe": "orders",
            "columns": "value,offset,timestamp",
            "kafka.isolation.level": isolation,
            "tier.url": self.url,
        }
        return read_options(given, streaming=False)

    def live(self, steps: list[tuple[str, int]]) -> None:
        world = self.world
        actions: dict[str, Callable[[int], None]] = {
            "append": world.append,
            "end": world.end_transaction,
            "upload": world.upload,
            "let_go": world.let_go,
            "trim": world.trim,
        }
        for name, number in steps:
            actions[name](number)

    def span(self, isolation: str) -> tuple[int, int]:
        log = self.world.twin
        end = log.written_end if isolation == "read_uncommitted" else log.last_stable_offset(log.written_end)
        return log.start_offset, end

    def planned(self, isolation: Any, start: int, until: int, piece_bytes: int) -> tuple[Range, ...]:
        options = self.options(isolation)
        assert options.tier is not None
        found = look_up(options.tier, [Asked(OF, TOPIC_ID, start, until)], isolation)
        shelf = found[OF].history if OF in found else None
        whole = with_history(Range("orders", 0, start, until), shelf)
        return cut_by_objects([whole], piece_bytes) if piece_bytes else (whole,)

    def rows(self, isolation: str, *pieces: Range, **more: str) -> list[tuple[Any, ...]]:
        options = self.options(isolation, **more)
        found = []
        for piece in pieces:
            for batch in read_range(options, piece):
                rows = list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
                assert all(piece.start <= row[1] < piece.until for row in rows)
                found += rows
        return found


@contextmanager
def _lend(settings: object) -> Iterator[object]:
    yield object()


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Manifests get pages, and pages of pages, from a few segments on."""
    monkeypatch.setattr(growth, "FAN_OUT", 2)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**32),
    block=st.sampled_from([61, 100, 333, 5000]),
    piece_bytes=st.sampled_from([0, 300, 1000, 4000]),
    isolation=st.sampled_from(["read_committed", "read_uncommitted"]),
    count=st.integers(60, 250),
    places=st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)),
    late=st.sampled_from([0, 0, 40]),
)
def test_a_task_cannot_tell_storage_from_brokers(
    seed: int, block: int, piece_bytes: int, isolation: str, count: int, places: tuple[int, int], late: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        stage, chance = Stage(patch, seed, block), SimEntropy(seed)
        stage.live([(STEPS[chance.below(len(STEPS))], chance.below(1000)) for _ in range(count)])
        low, high = stage.span(isolation)
        if low >= high:
            return
        start = low + places[0] % (high - low)
        until = start + 1 + places[1] % (high - start)
        pieces = stage.planned(isolation, start, until, piece_bytes)
        assert [piece.start for piece in pieces[1:]] == [piece.until for piece in pieces[:-1]]
        assert (pieces[0].start, pieces[-1].until) == (start, until)
        # the log goes on between plan and read, but nothing that the plan wants is lost
        stage.live([(STEPS[:-1][chance.below(len(STEPS) - 1)], chance.below(1000)) for _ in range(late)])
        assert stage.rows(isolation, *pieces) == stage.rows(isolation, Range("orders", 0, start, until))


def history(monkeypatch: pytest.MonkeyPatch, steps: list[tuple[str, int]]) -> Stage:
    stage = Stage(monkeypatch, 1, 400)
    stage.live(steps)
    return stage


PLAIN = [("append", 7)] * 60


def test_no_broker_is_asked_for_what_is_up_there(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = history(monkeypatch, [*PLAIN, *[("upload", 4)] * 10])
    start, _ = stage.span("read_uncommitted")
    tiered = stage.world.copies.head.end_offset
    assert tiered > 20
    pieces = stage.planned("read_uncommitted", start, tiered, 1000)
    assert len(pieces) > 3
    assert [row[1] for row in stage.rows("read_uncommitted", *pieces)] == list(range(start, tiered))
    assert not stage.fetched


def test_only_the_tail_is_fetched_and_the_seam_is_where_the_tier_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = history(monkeypatch, [*PLAIN, *[("upload", 4)] * 10, *PLAIN])
    start, end = stage.span("read_uncommitted")
    pieces = stage.planned("read_uncommitted", start, end, 0)
    assert [row[1] for row in stage.rows("read_uncommitted", *pieces)] == list(range(start, end))
    assert stage.fetched[0] == stage.world.copies.head.end_offset


def test_a_transaction_that_is_open_where_the_tier_ends_is_left_to_the_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = [("append", 4)]  # by producer 0; aborted much later, when the marker is not up there yet
    stage = history(monkeypatch, [*PLAIN[:20], *begun, *PLAIN, ("end", 1), *PLAIN[:2]])
    start, end = stage.span("read_committed")
    assert end == stage.world.twin.written_end
    stage.live([("upload", 4)] * 3)  # the first segments only: the marker is in none of them
    first = next(iter(stage.world.twin.aborted_transactions(start, end))).first_offset
    assert first < stage.world.copies.head.end_offset
    pieces = stage.planned("read_committed", start, end, 0)
    assert pieces[0].history is not None and pieces[0].history.until <= first
    assert stage.rows("read_committed", *pieces) == stage.rows("read_committed", Range("orders", 0, start, end))


def test_objects_that_retention_took_since_the_plan_are_asked_of_the_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = history(monkeypatch, [*PLAIN, *[("upload", 4)] * 10])
    start, end = stage.span("read_uncommitted")
    pieces = stage.planned("read_uncommitted", start, end, 0)
    names = [one.name for one in pieces[0].history.objects] if pieces[0].history else []
    del stage.here.objects[names[1]]
    assert [row[1] for row in stage.rows("read_uncommitted", *pieces)] == list(range(start, end))
    assert stage.fetched


def test_an_object_that_goes_while_it_is_read_leaves_no_row_out_and_none_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = history(monkeypatch, [*PLAIN, *[("upload", 4)] * 10])
    start, end = stage.span("read_uncommitted")
    pieces = stage.planned("read_uncommitted", start, end, 0)
    assert pieces[0].history is not None
    stage.here.gone_from = {pieces[0].history.objects[1].name: 400}  # its second block
    assert [row[1] for row in stage.rows("read_uncommitted", *pieces)] == list(range(start, end))
    stored = pieces[0].history.objects[1]
    assert stored.first < stage.fetched[0] < stored.end


def test_a_range_may_begin_right_behind_the_marker_of_an_aborted_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index leads to batches before it, and the same producer goes on with a transaction that is committed."""
    same = [("append", 4), ("end", 1), ("append", 4), ("end", 0)]
    stage = history(monkeypatch, [*same * 10, *PLAIN[:20], *[("upload", 4)] * 10])
    start, end = stage.span("read_committed")
    for begin in range(start, end, 3):
        pieces = stage.planned("read_committed", begin, end, 0)
        assert pieces[0].history is not None or begin >= stage.world.copies.head.end_offset
        expected = stage.rows("read_committed", Range("orders", 0, begin, end))
        assert stage.rows("read_committed", *pieces) == expected


def test_what_retention_took_for_good_is_a_loss_as_with_fetch(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = history(monkeypatch, [*PLAIN, *[("upload", 4)] * 10])
    start, end = stage.span("read_uncommitted")
    pieces = stage.planned("read_uncommitted", start, end, 0)
    for _ in range(12):
        stage.live([("trim", 6)])
    begins, _ = stage.span("read_uncommitted")
    assert begins > start + 50
    with pytest.raises(TapelogError, match=f"begins at {begins}"):
        stage.rows("read_uncommitted", *pieces)
    rest = stage.rows("read_uncommitted", *pieces, failOnDataLoss="false")
    assert [row[1] for row in rest] == list(range(begins, end))


@pytest.mark.parametrize("where", ["batches", "tail"])
def test_damage_is_told_and_no_wrong_row_comes_out(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    stage = history(monkeypatch, [*PLAIN, *[("upload", 4)] * 10])
    start, end = stage.span("read_uncommitted")
    whole = stage.planned("read_uncommitted", start, end, 0)
    assert whole[0].history is not None
    stored = whole[0].history.objects[1]
    data = bytearray(stage.here.objects[stored.name])
    data[stored.log_size - 3 if where == "batches" else stored.log_size + 3] ^= 0x40
    stage.here.objects[stored.name] = bytes(data)
    part = Range("orders", 0, stored.first + 2, stored.end)
    with pytest.raises(Exception, match=r"is damaged[\s\S]*tape tier verify") as error:
        stage.rows("read_uncommitted", with_history(part, whole[0].history))
    assert len(str(error.value).splitlines()) == 3

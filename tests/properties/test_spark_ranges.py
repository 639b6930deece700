"""Ranges for Spark: every offset exactly once, in order, within limits, in proportion, never an empty range."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.spark.plan.rate import limit_bytes, limit_offsets, weights_of
from tapelog.spark.plan.split import PIECE_BYTES_MIN, split
from tapelog.spark.plan.tasks import RANGE_BYTES, TASK_BYTES_MAX, tasks
from tapelog.spark.plan.values import Range, TopicPartition

OFFSETS = st.integers(0, 10**12)
PARTITIONS = st.builds(TopicPartition, st.sampled_from(["a", "b.c", "z"]), st.integers(0, 9))
SIZES = st.one_of(st.integers(1, 20), st.integers(1, 10**4))
OFTEN = settings(max_examples=60, deadline=None)


@st.composite
def some_ranges(draw: st.DrawFn) -> list[Range]:
    """Some ranges, one per partition, in any order."""
    found = draw(st.dictionaries(PARTITIONS, st.tuples(OFFSETS, SIZES), max_size=8))
    return [Range(of.topic, of.partition, start, start + size) for of, (start, size) in found.items()]


@st.composite
def waiting_partitions(draw: st.DrawFn) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """Where partitions stand, and where they end: some with nothing to read, some went back."""
    found = draw(st.dictionaries(PARTITIONS, st.tuples(OFFSETS, st.integers(-5, 10**6)), max_size=8))
    start = {of: begin for of, (begin, _) in found.items()}
    return start, {of: max(0, begin + size) for of, (begin, size) in found.items()}


def assert_cover(whole: list[Range], pieces: tuple[Range, ...]) -> None:
    """Pieces in order, without gap or overlap, covering each range; Range itself refuses to be empty."""
    assert list(pieces) == sorted(pieces)
    joined: list[Range] = []
    for piece in pieces:
        if joined and joined[-1].of == piece.of and joined[-1].until == piece.start:
            last = joined.pop()
            piece = Range(piece.topic, piece.partition, last.start, piece.until)
        joined.append(piece)
    assert joined == sorted(whole)


@OFTEN
@given(some_ranges(), st.one_of(st.none(), st.integers(1, 60)), st.one_of(st.none(), st.integers(20, 10**4)))
def test_pieces_cover_every_offset_exactly_once(
    whole: list[Range], min_partitions: int | None, max_records: int | None
) -> None:
    pieces = split(whole, min_partitions=min_partitions, max_records=max_records)
    assert_cover(whole, pieces)
    if max_records is not None:
        assert max((piece.size for piece in pieces), default=0) <= max_records
    if min_partitions is not None:
        assert len(pieces) >= min(len(whole), min_partitions)


@OFTEN
@given(some_ranges(), st.one_of(st.none(), st.integers(1, 64)), st.data())
def test_tasks_cover_every_offset_once_and_are_alike(
    whole: list[Range], slots: int | None, data: st.DataObject
) -> None:
    weights = {piece.of: data.draw(st.floats(0.5, 1e7)) for piece in whole if data.draw(st.booleans())}
    found = tasks(sorted(whole), weights, slots)
    assert all(found), "no task is empty"
    assert_cover(whole, tuple(piece for task in found for piece in task))
    if not weights or slots is None:
        return
    weight = weights_of({piece.of: 1 for piece in whole}, weights)
    total = math.fsum(RANGE_BYTES + piece.size * weight[piece.of] for piece in whole)
    rounds = max(1, math.ceil(total / slots / TASK_BYTES_MAX))
    count = max(1, min(slots * rounds, max(int(total / PIECE_BYTES_MIN), min(len(whole), slots))))
    assert len(found) <= count
    an_offset = max(weight.values()) + RANGE_BYTES  # is not cut
    for task in found:
        heavy = math.fsum(piece.size * weight[piece.of] for piece in task)
        assert heavy <= 1.2 * total / count + 2 * an_offset + 3 * PIECE_BYTES_MIN


@OFTEN
@given(some_ranges(), st.integers(1, 40), st.randoms())
def test_the_order_of_the_input_does_not_matter(whole: list[Range], least: int, chance: object) -> None:
    again = sorted(whole, key=lambda _: chance.random())  # type: ignore[attr-defined]
    assert split(whole, min_partitions=least) == split(again, min_partitions=least)


@OFTEN
@given(waiting_partitions(), st.integers(1, 10**7))
def test_the_limit_on_offsets_holds_and_nobody_starves(
    stand: tuple[dict[TopicPartition, int], dict[TopicPartition, int]], limit: int
) -> None:
    start, available = stand
    ends = limit_offsets(limit, start, available)
    assert list(ends) == sorted(available)
    sizes = {of: available[of] - start[of] for of in available if available[of] > start[of]}
    taken = {of: ends[of] - start[of] for of in sizes}
    assert all(ends[of] == available[of] for of in available if of not in sizes)
    assert all(1 <= taken[of] <= sizes[of] for of in sizes)
    small = sum(1 for size in sizes.values() if limit * (size / sum(sizes.values())) < 1)
    assert sum(taken.values()) <= limit + small
    for of, size in sizes.items():
        share = limit * size / sum(sizes.values())
        assert abs(taken[of] - min(size, share)) <= 1 + share * 1e-9


@OFTEN
@given(waiting_partitions(), st.integers(1, 10**9), st.floats(1.0, 1e4))
def test_the_limit_on_bytes_holds_and_nobody_starves(
    stand: tuple[dict[TopicPartition, int], dict[TopicPartition, int]], limit: int, weight: float
) -> None:
    start, available = stand
    weights = {of: weight * (1 + of.partition) for of in available}
    ends = limit_bytes(limit, start, available, weights)
    sizes = {of: available[of] - start[of] for of in available if available[of] > start[of]}
    assert all(1 <= ends[of] - start[of] <= sizes[of] for of in sizes)
    bytes_ = math.fsum((ends[of] - start[of]) * weights[of] for of in sizes)
    assert bytes_ <= limit * (1 + 1e-9) + math.fsum(weights[of] for of in sizes)


@OFTEN
@given(waiting_partitions(), st.integers(1, 1000))
def test_triggers_after_one_another_read_everything_once(
    stand: tuple[dict[TopicPartition, int], dict[TopicPartition, int]], steps: int
) -> None:
    start, available = stand
    there = sum(max(0, available[of] - start[of]) for of in available)
    limit = max(1, there // steps)
    position, read = dict(start), 0
    for _ in range(4 * steps + 50):
        ends = limit_offsets(limit, position, available)
        read += sum(max(0, ends[of] - position[of]) for of in ends)
        position = ends
        if read == there:
            break
    assert read == there and position == available

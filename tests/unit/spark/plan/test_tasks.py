"""Ranges into tasks: few where slots are known, none too small, a fat partition read by all slots."""

from __future__ import annotations

import pytest

from tapelog.spark.plan.tasks import RANGE_BYTES, TASK_BYTES_MAX, Task, tasks
from tapelog.spark.plan.values import Range, TopicPartition

MIB = 1 << 20


def ranges(*sizes: int) -> list[Range]:
    return [Range("t", number, 0, size) for number, size in enumerate(sizes)]


def shared(whole: list[Range], slots: int | None, weight: float = MIB) -> tuple[Task, ...]:
    return tasks(whole, {one.of: weight for one in whole}, slots)


def told(found: tuple[Task, ...]) -> str:
    return " | ".join(" ".join(f"{one.partition}:{one.start}-{one.until}" for one in task) for task in found)


@pytest.mark.parametrize(
    ("sizes", "slots", "expected"),
    [
        ((256, 256, 256, 256), 2, "0:0-256 1:0-256 | 2:0-256 3:0-256"),
        ((256, 256, 256, 256), 4, "0:0-256 | 1:0-256 | 2:0-256 | 3:0-256"),
        ((300, 300, 300), 2, "0:0-300 1:0-150 | 1:150-300 2:0-300"),
        ((1000,), 4, "0:0-250 | 0:250-500 | 0:500-750 | 0:750-1000"),
        ((1000, 1, 1), 2, "0:0-501 | 0:501-1000 1:0-1 2:0-1"),
        ((5, 5, 5, 5), 8, "0:0-5 | 1:0-5 | 2:0-5 | 3:0-5"),
        ((5, 5, 5, 5), 2, "0:0-5 1:0-5 | 2:0-5 3:0-5"),
        ((500, 510), 2, "0:0-500 | 1:0-510"),
    ],
    ids=[
        "two-each",
        "one-each",
        "the-middle-is-cut",
        "a-fat-one",
        "nearly-all-in-one",
        "small-ones",
        "small-ones-together",
        "nearly-alike",
    ],
)
def test_slots_get_a_like_share(sizes: tuple[int, ...], slots: int, expected: str) -> None:
    assert told(shared(ranges(*sizes), slots)) == expected


def test_a_thousand_small_partitions_are_few_tasks() -> None:
    found = shared(ranges(*[1] * 1000), 4)
    assert len(found) == 4
    assert [len(task) for task in found] == [250] * 4


def test_a_small_partition_is_not_cut_for_idle_slots() -> None:
    assert told(shared(ranges(40), 8)) == "0:0-40"
    assert told(shared(ranges(30, 1, 1, 1), 4)) == "0:0-30 | 1:0-1 2:0-1 3:0-1"


@pytest.mark.parametrize(("count", "slots"), [(3, 2), (7, 4), (5, 3)])
def test_partitions_of_a_few_records_are_not_cut(count: int, slots: int) -> None:
    found = shared(ranges(*[10] * count), slots, weight=100.0)
    assert len(found) == slots
    assert [one for task in found for one in task] == ranges(*[10] * count)


def test_ranges_cost_more_than_their_bytes() -> None:
    found = shared(ranges(1, 128 * MIB), 2, weight=1.0)
    assert [[one.partition for one in task] for task in found] == [[0, 1], [1]]
    assert found[0][1].size * 1.0 + RANGE_BYTES == pytest.approx(found[1][0].size, rel=0.05)


def test_no_task_is_larger_than_what_one_likes_to_read_twice() -> None:
    found = shared(ranges(20 * 1024), 2)
    assert len(found) == 34  # rounds of two, the range's own price included
    assert max(sum(one.size for one in task) for task in found) * MIB <= TASK_BYTES_MAX


def test_few_offsets_make_few_tasks() -> None:
    assert told(shared(ranges(1, 1), 4, weight=64 * MIB)) == "0:0-1 | 1:0-1"


def test_without_known_slots_no_ranges_are_put_together() -> None:
    assert told(shared(ranges(10, 10, 512), None)) == "0:0-10 | 1:0-10 | 2:0-256 | 2:256-512"


def test_where_no_broker_tells_sizes_a_range_is_a_task() -> None:
    assert tasks(ranges(5, 7), {}, 1) == ((Range("t", 0, 0, 5),), (Range("t", 1, 0, 7),))


def test_weights_of_some_partitions_stand_for_all() -> None:
    whole = ranges(256, 256)
    assert len(tasks(whole, {TopicPartition("t", 0): float(MIB)}, 2)) == 2

"""Ranges into tasks: few where slots are known, none too small, a fat partition read by all slots."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapelog.spark.plan.history import cut_by_objects, with_history
from tapelog.spark.plan.stored import History, Stored
from tapelog.spark.plan.tasks import RANGE_BYTES, TASK_BYTES_MAX, Task, tasks, tasks_beside_stored
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


def shelf(*ends: int, size: int = 128 * MIB) -> History:
    """Objects that end there, one after the other, from 0 on."""
    starts = (0, *ends[:-1])
    objects = (Stored(f"o{start}", start, start, end, size, 10, 0) for start, end in zip(starts, ends, strict=True))
    return History(tuple(objects), ends[-1])


def beside(whole: list[Range], shelves: dict[int, History], weight: float, slots: int | None) -> tuple[Task, ...]:
    pieces = cut_by_objects(with_history(one, shelves.get(one.partition)) for one in whole)
    return tasks_beside_stored(pieces, {one.of: weight for one in whole}, slots)


def test_the_tail_of_what_lies_in_storage_comes_right_after_it() -> None:
    found = beside(ranges(120, 120, 120), dict.fromkeys(range(3), shelf(100)), 1000.0, 1)
    assert told(found) == "0:0-100 | 0:100-120 | 1:0-100 | 1:100-120 | 2:0-100 | 2:100-120"


def test_a_fat_tail_is_cut_and_partitions_without_history_share_a_task() -> None:
    found = beside(ranges(5, 5, 1124), {2: shelf(100)}, MIB, 1)
    assert told(found) == "0:0-5 1:0-5 | 2:0-100 | 2:100-356 | 2:356-612 | 2:612-868 | 2:868-1124"


partitions = st.tuples(
    st.integers(0, 40),
    st.integers(1, 400),
    st.none() | st.lists(st.integers(1, 300), min_size=1, max_size=5, unique=True).map(sorted),
)


@given(
    st.lists(partitions, min_size=1, max_size=6),
    st.sampled_from([100.0, 0.3 * MIB, 3.0 * MIB]),
    st.sampled_from([None, 1, 2, 7]),
    st.sampled_from([MIB, 64 * MIB, 500 * MIB]),
)
def test_offsets_of_a_partition_come_in_order_over_all_tasks(
    logs: list[tuple[int, int, list[int] | None]], weight: float, slots: int | None, object_bytes: int
) -> None:
    whole = [Range("t", number, start, start + size) for number, (start, size, _) in enumerate(logs)]
    shelves = {number: shelf(*ends, size=object_bytes) for number, (_, _, ends) in enumerate(logs) if ends}
    at = {one.partition: one.start for one in whole}
    for one in (one for task in beside(whole, shelves, weight, slots) for one in task):
        assert one.start == at[one.partition]
        at[one.partition] = one.until
    assert at == {one.partition: one.until for one in whole}

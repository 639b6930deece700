"""Pieces for tasks: Spark's arithmetic where options ask for it, by bytes where none does."""

from __future__ import annotations

import pytest

from tapelog.spark.plan.errors import OptionError
from tapelog.spark.plan.split import PIECE_BYTES, RANGES_MAX, split
from tapelog.spark.plan.values import Range, TopicPartition


def ranges(*sizes: int) -> list[Range]:
    return [Range("t", number, 0, size) for number, size in enumerate(sizes)]


def told(pieces: tuple[Range, ...]) -> str:
    return " ".join(f"{piece.partition}:{piece.start}-{piece.until}" for piece in pieces)


def test_without_options_a_range_is_a_task_in_order() -> None:
    assert told(split(reversed(ranges(5, 7)))) == "0:0-5 1:0-7"


def test_enough_partitions_are_not_cut() -> None:
    assert told(split(ranges(1, 2, 3), min_partitions=3)) == "0:0-1 1:0-2 2:0-3"


SPARK = """
    # what Spark's calculator makes of it: minPartitions, maxRecordsPerPartition, ranges -> pieces
    4 -  0:1-5                      -> 0:1-2 0:2-3 0:3-4 0:4-5
    4 -  0:1-5 1:1-21               -> 0:1-5 1:1-7 1:7-14 1:14-21
    4 -  1:1-21                     -> 1:1-6 1:6-11 1:11-16 1:16-21
    4 -  0:1-2 1:1-1001             -> 0:1-2 1:1-334 1:334-667 1:667-1001
    1 -  0:1-5 1:1-21               -> 0:1-5 1:1-21
    3 -  0:1-11                     -> 0:1-4 0:4-7 0:7-11
    6 -  0:0-10 1:0-10 2:0-1        -> 0:0-3 0:3-6 0:6-10 1:0-3 1:3-6 1:6-10 2:0-1
    6 -  0:0-500 1:0-12000 2:0-15001 -> 0:0-500 1:0-6000 1:6000-12000 2:0-5000 2:5000-10000 2:10000-15001
    6 -  0:0-1 1:0-1 2:0-10000      -> 0:0-1 1:0-1 2:0-2500 2:2500-5000 2:5000-7500 2:7500-10000
    - 4  0:1-5                      -> 0:1-5
    - 4  0:1-6                      -> 0:1-3 0:3-6
    - 20 0:1-40 1:1-50 2:1-60       -> 0:1-20 0:20-40 1:1-17 1:17-33 1:33-50 2:1-20 2:20-40 2:40-60
    1 20 0:1-40                     -> 0:1-20 0:20-40
    4 20 0:1-40                     -> 0:1-10 0:10-20 0:20-30 0:30-40
"""


@pytest.mark.parametrize("line", [line.strip() for line in SPARK.splitlines() if "->" in line and "#" not in line])
def test_pieces_are_those_that_spark_makes(line: str) -> None:
    given, _, expected = line.partition("->")
    least, most, *texts = given.split()
    whole = []
    for text in texts:
        partition, _, ends = text.partition(":")
        start, _, until = ends.partition("-")
        whole.append(Range("t", int(partition), int(start), int(until)))
    numbers = (None if text == "-" else int(text) for text in (least, most))
    assert told(split(whole, min_partitions=next(numbers), max_records=next(numbers))) == expected.strip()


def test_max_records_bounds_each_piece() -> None:
    assert told(split(ranges(10, 3), max_records=4)) == "0:0-3 0:3-6 0:6-10 1:0-3"


def test_both_options_cut_by_records_first_and_then_by_count() -> None:
    assert told(split(ranges(100), max_records=50, min_partitions=4)) == "0:0-25 0:25-50 0:50-75 0:75-100"
    assert told(split(ranges(100), max_records=20, min_partitions=3)) == "0:0-20 0:20-40 0:40-60 0:60-80 0:80-100"


def test_options_that_would_fill_the_driver_are_refused_with_a_value_that_would_do() -> None:
    with pytest.raises(OptionError, match="maxRecordsPerPartition=1 ") as raised:
        split(ranges(10**9, 5), max_records=1)
    enough = int(str(raised.value).split("Set it to ")[1].split()[0])
    assert len(split(ranges(10**9, 5), max_records=enough)) <= RANGES_MAX
    with pytest.raises(OptionError, match="minPartitions"):
        split(ranges(10**9), min_partitions=RANGES_MAX + 1)


def test_a_fat_partition_is_read_by_many_tasks() -> None:
    weights = {TopicPartition("t", number): 1.0 for number in (0, 1)}
    pieces = split(ranges(4 * PIECE_BYTES, 100), weights=weights)
    assert [piece.partition for piece in pieces] == [0, 0, 0, 0, 1]


def test_pieces_have_a_size_of_their_own() -> None:
    weights = {TopicPartition("t", 0): 1.0}
    assert len(split(ranges(PIECE_BYTES * 8), weights=weights)) == 8


def test_options_of_spark_win_over_cutting_by_bytes() -> None:
    weights = {TopicPartition("t", 0): 1.0}
    assert len(split(ranges(PIECE_BYTES * 8), min_partitions=1, weights=weights)) == 1

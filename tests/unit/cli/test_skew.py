"""Hot partitions: the sketch finds heavy keys, rates are differences, advice fits, leaders move by load."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.cli.cluster_state import Partition
from tapelog.cli.load_plan import Loaded, plan_leaders
from tapelog.cli.rates import Measured, Rate, by_broker, counting, difference, rates, skew, smoothed
from tapelog.cli.sketch import SpaceSaving
from tapelog.cli.skew import Sample, advice, broker_advice, described, over_brokers
from tapelog.wire.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
    PartitionTraffic,
    TrafficRate,
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 40), max_size=300), st.integers(1, 20))
def test_the_sketch_never_misses_a_heavy_key_and_errs_no_more_than_it_says(keys: list[int], capacity: int) -> None:
    sketch: SpaceSaving[int] = SpaceSaving(capacity)
    for key in keys:
        sketch.add(key)
    found = {one.key: one for one in sketch.heaviest(capacity)}
    truth = Counter(keys)
    assert len(found) <= capacity and sketch.total == len(keys)
    for key, count in truth.items():
        if count > len(keys) / capacity:
            assert key in found
    for key, heavy in found.items():
        assert heavy.weight - heavy.error <= truth[key] <= heavy.weight


def test_the_sketch_stays_small_however_many_keys_there_are() -> None:
    sketch: SpaceSaving[int] = SpaceSaving(100)
    chance = random.Random(1)
    for number in range(20_000):
        sketch.add(-1 if chance.random() < 0.2 else number)
    assert sketch.heaviest(1)[0].key == -1
    assert len(sketch._weights) == 100 and len(sketch._lightest) <= 800


def test_rates_are_the_differences_of_two_looks() -> None:
    parts = [Partition("t", 0, 1, (1,), (1,)), Partition("t", 1, 2, (2,), (2,)), Partition("t", 2, 2, (2,), (2,))]
    ends = ({("t", 0): 100, ("t", 1): 5, ("t", 2): 0}, {("t", 0): 300, ("t", 1): 5})
    sizes = ({(1, "t", 0): 1000, (2, "t", 1): 900}, {(1, "t", 0): 5000, (2, "t", 1): 100})
    assert rates(parts, 2.0, ends, sizes) == [
        Rate("t", 0, 1, 100.0, 2000.0, 5000),
        Rate("t", 1, 2, 0.0, None, 100),
    ], "retention has cut the second, and nobody answered for the third"


def test_skew_is_the_busiest_over_the_mean() -> None:
    assert skew([1, 1, 1]) == 1
    assert skew([3, 0, 0]) == 3
    assert skew([]) == 1 == skew([0, 0])


def sample(*pairs: tuple[bytes | None, int, int]) -> Sample:
    found = Sample()
    for key, partition, count in pairs:
        for _ in range(count):
            found.add(key, partition)
    return found


def evenly(*records_per_s: float) -> list[Rate]:
    return [Rate("t", index, 1, rate, None, 0) for index, rate in enumerate(records_per_s)]


def test_a_heavy_key_is_named_with_its_partition_and_salting_is_advised() -> None:
    found = described("t", evenly(80, 10, 10), sample((b"big", 0, 80), (b"a", 1, 10), (b"b", 2, 10)), 10)
    assert found["keys"][0]["key"] == "big" and found["keys"][0]["partition"] == 0
    assert found["skew"] == pytest.approx(2.4)
    assert len(found["advice"]) == 1 and "big#0" in found["advice"][0]


def test_an_even_topic_needs_no_advice() -> None:
    found = described("t", evenly(10, 10), sample(*((f"k{i}".encode(), i % 2, 1) for i in range(300))), 10)
    assert found["advice"] == [] and found["keys"] == [], "no key is heavier than chance makes it"


def test_without_writes_the_sample_tells_the_shares() -> None:
    found = described("t", evenly(0, 0), sample((b"a", 0, 30), (b"b", 1, 10)), 10)
    assert [one["share"] for one in found["partitions"]] == [0.75, 0.25]


def test_unevenness_without_a_heavy_key_has_other_advice() -> None:
    assert "round robin" in advice([0.9, 0.1], [{"key": None, "share": 0.9}], 100)[0]
    assert "more partitions" in advice([0.9, 0.1], [], 100)[0]
    assert "--sample" in advice([0.9, 0.1], [], 0)[0]


def test_load_moves_from_the_busiest_leader_without_copying() -> None:
    loaded = [Loaded("t", index, 1, (1, 2, 3), (1, 2, 3), load) for index, load in enumerate((5.0, 4.0, 3.0))]
    plan = plan_leaders([1, 2, 3], loaded)
    leaders = {move.index: move.after[0] for move in plan.moves}
    assert sorted(leaders.get(index, 1) for index in range(3)) == [1, 2, 3]
    assert all(sorted(move.before) == sorted(move.after) and not move.bytes for move in plan.moves)
    assert plan.before == {1: 12.0, 2: 0.0, 3: 0.0} and sorted(plan.after.values()) == [3.0, 4.0, 5.0]


def test_leaders_go_only_to_replicas_that_are_in_sync_and_there() -> None:
    loaded = [Loaded("t", index, 1, (1, 2, 3), (1, 3), 5.0) for index in range(2)]
    assert plan_leaders([1, 2], loaded).moves == []
    assert [move.after[0] for move in plan_leaders([1, 2, 3], loaded).moves] == [3]


def test_one_hot_partition_alone_is_left_where_it_is() -> None:
    assert plan_leaders([1, 2], [Loaded("t", 0, 1, (1, 2), (1, 2), 9.0)]).moves == []


def test_beside_a_broker_that_one_partition_keeps_busy_the_others_are_evened_out() -> None:
    loads = [(1, 50.0), (2, 10.0), (2, 10.0), (2, 10.0), (2, 10.0)]
    loaded = [Loaded("t", i, leader, (1, 2, 3), (1, 2, 3), load) for i, (leader, load) in enumerate(loads)]
    assert plan_leaders([1, 2, 3], loaded).after == {1: 50.0, 2: 20.0, 3: 20.0}


def test_what_a_broker_serves_as_a_follower_counts_and_stays() -> None:
    loaded = [Loaded("t", index, 1, (1, 2, 3), (1, 2, 3), 5.0) for index in range(2)]
    plan = plan_leaders([1, 2, 3], loaded, {3: 20.0})
    assert [move.after[0] for move in plan.moves] == [2] and plan.after == {1: 5.0, 2: 5.0, 3: 20.0}


# -- what nodes count


def told(counted_ms: int, **traffic: PartitionTraffic | None) -> DescribeLogDirsResponse:
    """A node's answer: partitions p0, p1, … of topic t."""
    parts = [DescribeLogDirsPartition(int(name[1:]), 700, traffic=one) for name, one in traffic.items()]
    topics = [DescribeLogDirsTopic("t", parts)]
    return DescribeLogDirsResponse(results=[DescribeLogDirsResult(topics=topics)], counted_ms=counted_ms)


TWO = [Partition("t", 0, 1, (1, 2), (1, 2)), Partition("t", 1, 2, (2, 1), (1, 2))]


def test_nodes_tell_their_own_means_and_what_followers_give_to_consumers() -> None:
    busy = PartitionTraffic(rates=[TrafficRate(60, 1000, 10, 500, 2000, 7), TrafficRate(300, 100, 1, 50, 200, 0.7)])
    reads = PartitionTraffic(rates=[TrafficRate(60, bytes_out=30), TrafficRate(300, bytes_out=3)])
    answers = {1: told(5, p0=busy, p1=None), 2: told(9, p0=reads, p1=None)}
    assert counting(answers, TWO)
    short, long = smoothed(TWO, answers, 60), smoothed(TWO, answers, 300)
    assert short.rates[0] == Rate("t", 0, 1, 10, 1000, 700, 500, 2000, 7) and short.rates[0].load == 3500
    assert long.rates[0].load == 350 and short.rates[1].load == 0
    assert by_broker(short) == {1: 3500, 2: 30}, "broker 2 serves a consumer in its rack"


def test_a_broker_that_does_not_count_is_not_believed_to_be_idle() -> None:
    assert not counting({1: told(5, p0=None), 2: told(-1, p1=None)}, TWO)
    assert not counting({1: told(5, p0=None)}, TWO)


def test_counters_of_two_looks_give_the_rate_between_them() -> None:
    was, now = PartitionTraffic(1000, 10, 0, 0, 5), PartitionTraffic(5000, 30, 400, 800, 9)
    first = {1: told(1000, p0=was, p1=None), 2: told(70_000, p1=PartitionTraffic(900, 9, 9, 9, 90))}
    last = {1: told(3000, p0=now, p1=None), 2: told(72_000, p1=PartitionTraffic(200, 2, 0, 0, 2))}
    found = difference(TWO, first, last)
    assert found.seconds == 2 and found.counted
    assert found.rates[0] == Rate("t", 0, 1, 10, 2000, 700, 200, 400, 2)
    assert found.rates[1].bytes_per_s == 100, "its counters began anew"


def test_a_broker_that_serves_much_more_than_the_others_is_named() -> None:
    measured = Measured([Rate("t", 0, 1, 9, 900, 0, 0, 0, 1), Rate("u", 0, 2, 1, 100, 0, 0, 0, 1)], 60, counted=True)
    found = over_brokers("t", measured, [1, 2, 3])
    assert found["brokers"][1] == {"broker": 2, "leads": 0, "topic_load": 0, "load": 100}
    assert "broker 1 serves 2.7×" in broker_advice(found["brokers"])[0]
    assert broker_advice(found["brokers"][:1]) == []


def test_shares_are_by_bytes_where_they_are_known() -> None:
    found = described("t", [Rate("t", 0, 1, 5, 900, 0), Rate("t", 1, 2, 5, 100, 0)], Sample(), 10)
    assert [one["share"] for one in found["partitions"]] == [0.9, 0.1] and found["records_per_s"] == 10

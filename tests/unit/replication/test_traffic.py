"""What a partition is written and read: counted while its role lasts, smoothed over minutes, forgotten when idle."""

from __future__ import annotations

import pytest

from tapelog.replication.partition import Partition
from tapelog.replication.traffic import FORGOTTEN_MS, LOOK_MS, LOOKS_PER_STEP, SPANS_S, Traffic, look, look_on
from tests.unit.replication.bench import OTHER, Bench

ONE_MINUTE, FIVE_MINUTES = range(len(SPANS_S))


def steadily(traffic: Traffic, begin_ms: int, seconds: int, bytes_per_s: int, step_s: int = 5) -> int:
    """So much comes in each second, looked at now and then; when it ends."""
    now_ms = begin_ms
    for _ in range(seconds // step_s):
        for _ in range(step_s):
            traffic.wrote(bytes_per_s, 10)
        now_ms += step_s * 1000
        traffic.look(now_ms)
    return now_ms


def test_what_comes_in_and_goes_out_is_counted() -> None:
    bench = Bench()
    partition = bench.lead()
    assert partition.traffic is None, "an idle partition has no counters"
    bench.store(1, 2)
    partition.counted().sent(700)
    partition.counted().copied(900)
    counted = partition.traffic
    assert counted is not None and bench.hub.busy == {partition: counted}
    assert (counted.bytes_in, counted.records_in) == (partition.log.size_bytes, 2)
    assert (counted.bytes_out, counted.replica_bytes_out, counted.requests) == (700, 900, 4)


def test_another_role_counts_anew_and_a_new_leader_epoch_does_not() -> None:
    bench = Bench()
    partition = bench.lead()
    bench.store(1)
    counted = partition.traffic
    bench.lead(leader_epoch=2, partition_epoch=2)
    assert partition.traffic is counted
    partition.follow(OTHER, 3)
    assert partition.traffic is None and bench.hub.busy == {}
    partition.counted().sent(5)
    bench.now_ms += 60_000
    bench.lead(leader_epoch=4, partition_epoch=4)
    assert partition.traffic is None and partition.role_since_ms == bench.now_ms
    bench.store(2)
    partition.close()
    assert bench.hub.busy == {}


def test_a_steady_load_shows_its_rate_at_once_after_the_role_began() -> None:
    traffic = Traffic(since_ms=1_000_000, now_ms=1_000_000)
    steadily(traffic, 1_000_000, 10, 2000)
    for span in (ONE_MINUTE, FIVE_MINUTES):
        assert traffic.rates(span) == pytest.approx([2000, 10, 0, 0, 1])


def test_after_long_idleness_a_rate_grows_towards_the_load() -> None:
    traffic = Traffic(since_ms=0, now_ms=10_000_000)
    now_ms = steadily(traffic, 10_000_000, 60, 1000)
    assert traffic.rates(ONE_MINUTE)[0] == pytest.approx(632, abs=1)
    assert traffic.rates(FIVE_MINUTES)[0] == pytest.approx(181, abs=1)
    now_ms = steadily(traffic, now_ms, 1800, 1000)
    assert traffic.rates(FIVE_MINUTES)[0] == pytest.approx(1000, rel=0.01)
    traffic.look(now_ms + 60_000)
    assert traffic.rates(ONE_MINUTE)[0] == pytest.approx(368, abs=1), "and dies down when nothing comes"


@pytest.mark.parametrize("step_s", [1, 5, 20])
def test_how_often_one_looks_does_not_matter(step_s: int) -> None:
    traffic = Traffic(since_ms=0, now_ms=10_000_000)
    steadily(traffic, 10_000_000, 60, 1000, step_s)
    assert traffic.rates(ONE_MINUTE)[0] == pytest.approx(632, abs=1)
    before = traffic.rates(ONE_MINUTE)
    traffic.look(10_060_000)
    assert traffic.rates(ONE_MINUTE) == before, "twice in the same moment is once"


def test_what_was_idle_for_long_is_forgotten() -> None:
    bench = Bench()
    bench.hub.now_ms = 100_000
    partition = bench.lead()
    bench.store(1)
    look(bench.hub, 101_000)
    look_on(bench.hub, 100_999 + FORGOTTEN_MS)
    assert partition in bench.hub.busy
    look_on(bench.hub, 101_000 + FORGOTTEN_MS)
    assert partition in bench.hub.busy, "not so soon again"
    look_on(bench.hub, 100_999 + FORGOTTEN_MS + LOOK_MS)
    assert partition.traffic is None and bench.hub.busy == {}


def test_the_clock_looks_at_a_bounded_number_and_at_each_every_five_seconds() -> None:
    bench, count = Bench(), LOOKS_PER_STEP + 10
    for index in range(count):
        Partition(bench.hub, bench.partition.log, "t", b"t" * 16, index, 0).counted()
    first = list(bench.hub.busy.values())

    def looked(now_ms: int) -> int:
        look_on(bench.hub, now_ms)
        return sum(traffic.looked_ms == now_ms for traffic in first)

    assert looked(LOOK_MS - 1) == 0
    assert [looked(LOOK_MS), looked(LOOK_MS + 250), looked(LOOK_MS + 500)] == [LOOKS_PER_STEP, 10, 0]
    assert [looked(2 * LOOK_MS), looked(2 * LOOK_MS + 250)] == [LOOKS_PER_STEP, 10]
    assert len(bench.hub.busy) == count

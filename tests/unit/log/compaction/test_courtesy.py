"""How much of the time a cleaner may work: writers set the measure."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tapelog.log.compaction.courtesy import (
    PAUSE_TICKS,
    QUIET_ROUNDS,
    REST_MS,
    REST_MS_MAX,
    SETTLE_MS,
    SHARE_FIRST,
    SHARE_LEAST,
    SHARE_MOST,
    WORK_MS,
    Courtesy,
    middle,
    slowest,
)

TICK_MS = 50


class Disk:
    """Flush rounds at a steady rate; beside a cleaner at work one in so many is slow."""

    def __init__(self, rounds_per_tick: int = 20) -> None:
        self.courtesy = Courtesy(1.5)
        self.now_ms = 1_000
        self.rounds_per_tick = rounds_per_tick
        self.count = 0
        self.worked_ms = self.rested_ms = 0

    def run(self, ms: int, took_us: Callable[[int, float], int], works: bool = True) -> list[float]:
        """What the cleaner was told. took_us: of a round, by its number and the part of the time the cleaner works."""
        told = []
        for _ in range(ms // TICK_MS):
            self.now_ms += TICK_MS
            told.append(self.courtesy.tick(self.now_ms, works))
            part = told[-1] if works else 0.0
            for _ in range(self.rounds_per_tick):
                self.count += 1
                self.courtesy.seen(took_us(self.count, part))
        return told


def steady(number: int, part: float) -> int:
    return 1_000


def hurt(limit: float) -> Callable[[int, float], int]:
    """Four rounds in a thousand are slow when a cleaner works `limit` of the time, and more with more."""

    def took_us(number: int, part: float) -> int:
        return 1_600 if number * 6173 % 10_000 < 40 * part / limit else 1_000

    return took_us


def test_it_first_rests_to_see_how_it_is_without() -> None:
    disk = Disk()
    disk.courtesy.begin(disk.now_ms)
    told = disk.run(REST_MS + TICK_MS, steady)
    assert told[:-2] == [0.0] * (len(told) - 2)
    assert told[-1] == SHARE_FIRST


def test_where_nobody_is_slower_for_it_it_comes_to_work_as_much_as_it_may_beside_writers() -> None:
    disk = Disk()
    disk.courtesy.begin(disk.now_ms)
    told = disk.run(60_000, steady)
    assert told[-1] == SHARE_MOST or disk.courtesy.resting
    assert disk.courtesy.share == SHARE_MOST
    assert told.count(0.0) < 0.08 * len(told)


@pytest.mark.parametrize("limit", [0.2, 0.3, 0.4])
def test_it_works_about_as_much_as_slows_four_rounds_in_a_thousand(limit: float) -> None:
    disk = Disk()
    disk.courtesy.begin(disk.now_ms)
    disk.run(60_000, hurt(limit))
    told = [part for part in disk.run(60_000, hurt(limit)) if part]
    assert 0.4 * limit < sum(told) / len(told) < 1.1 * limit


def test_slow_rounds_that_come_by_themselves_do_not_hold_it_back() -> None:
    """As many of them between its steps as beside them."""
    courtesy, now_ms, share = Courtesy(1.5), 0, 0.0
    courtesy.begin(now_ms)
    for number in range(60_000):
        slow = number * 6173 % 1_000 < 8 and not courtesy.resting
        courtesy.seen(4_000 if slow else 1_000, beside=number % 2 == 0)
        if number % 20 == 0:
            now_ms += TICK_MS
            share = max(share, courtesy.tick(now_ms, True))
    assert share == SHARE_MOST


def test_after_a_slow_round_beside_it_it_pauses_at_once_and_goes_on_soon() -> None:
    disk = Disk()
    disk.courtesy.begin(disk.now_ms)
    disk.run(REST_MS, steady)
    assert disk.run(TICK_MS, steady) == [SHARE_FIRST]
    assert not disk.courtesy.seen(9_000, beside=False)
    assert disk.courtesy.seen(9_000)
    assert not disk.courtesy.seen(9_000)  # it has been told
    told = disk.run(2 * TICK_MS, steady)
    assert told == [0.0] * (PAUSE_TICKS - 1) + [SHARE_FIRST]
    assert not disk.courtesy.seen(9_000)  # not again so soon: it has to get on
    disk.run(PAUSE_TICKS * TICK_MS, steady)
    assert disk.courtesy.seen(9_000)


def test_a_long_round_counts_for_all_who_came_meanwhile() -> None:
    shares = []
    for took_us in (1_600, 30_000):
        disk = Disk()
        disk.courtesy.begin(disk.now_ms)
        disk.run(REST_MS, steady)
        disk.run(2_000, lambda number, part, took_us=took_us: took_us if number % 700 == 0 else 1_000)
        shares.append(disk.courtesy.share)
    assert shares[1] < SHARE_FIRST < shares[0]


def test_one_bad_moment_without_it_is_not_taken_for_how_the_disk_is() -> None:
    disk = Disk()
    disk.courtesy.begin(disk.now_ms)
    disk.run(3 * WORK_MS, steady)
    while not disk.courtesy.resting:
        disk.run(TICK_MS, steady)
    while disk.courtesy.resting:
        disk.run(TICK_MS, lambda number, part: 50_000)
    before = disk.courtesy.share
    disk.run(1_500, lambda number, part: 5_000 if number % 20 == 0 else 1_000)
    assert disk.courtesy.share < before


def test_it_always_works_a_little() -> None:
    disk = Disk()
    disk.courtesy.begin(disk.now_ms)
    told = disk.run(60_000, lambda number, part: 50_000 if part else 1_000)
    assert disk.courtesy.share == SHARE_LEAST
    assert told.count(SHARE_LEAST) > 0.5 * len(told)


def test_without_writers_it_works_all_of_the_time() -> None:
    disk = Disk(rounds_per_tick=0)
    disk.courtesy.begin(disk.now_ms)
    disk.run(1_000, steady)
    told = disk.run(60_000, steady)
    assert told.count(1.0) > 0.94 * len(told)
    assert disk.courtesy.part == 1.0
    assert disk.courtesy.share == SHARE_FIRST  # for whoever comes to write
    disk.rounds_per_tick = 20
    assert 1.0 not in disk.run(1_000, steady)[1:]


def test_few_rounds_make_a_rest_longer_but_not_long() -> None:
    disk = Disk(rounds_per_tick=1)
    disk.courtesy.begin(disk.now_ms)
    told = disk.run(2 * REST_MS_MAX, steady)
    assert told.index(SHARE_FIRST) == REST_MS_MAX // TICK_MS - 1


def test_rounds_at_the_beginning_of_a_rest_do_not_count() -> None:
    courtesy = Courtesy(1.5)
    courtesy.begin(0)
    courtesy.tick(SETTLE_MS - 1, True)
    for _ in range(1_000):
        courtesy.seen(99_000)
    courtesy.tick(SETTLE_MS, True)
    for _ in range(QUIET_ROUNDS + 10):
        courtesy.seen(1_000)
    assert courtesy.tick(REST_MS, True) == SHARE_FIRST
    for number in range(1_000):
        courtesy.seen(2_000 if number % 50 == 0 else 1_000)
    assert courtesy.tick(REST_MS + 1_000, True) < SHARE_FIRST


def test_a_cleaner_that_does_nothing_is_not_judged_by_what_it_did_not_do() -> None:
    disk = Disk()
    disk.courtesy.begin(disk.now_ms)
    disk.run(30_000, steady, works=False)
    assert disk.courtesy.share == SHARE_FIRST


def test_what_it_has_learnt_holds_for_the_next_log() -> None:
    disk = Disk()
    disk.courtesy.begin(disk.now_ms)
    disk.run(60_000, hurt(0.3))
    disk.courtesy.end()
    share = disk.courtesy.share
    assert SHARE_LEAST < share < SHARE_MOST
    disk.courtesy.begin(disk.now_ms)
    assert share in disk.run(2 * REST_MS, hurt(0.3))


def test_how_it_was_long_ago_is_forgotten() -> None:
    disk = Disk()
    disk.courtesy.begin(disk.now_ms)
    disk.run(WORK_MS, lambda number, part: 100_000)  # a slow hour
    disk.courtesy.end()
    disk.now_ms += 3_600_000
    disk.courtesy.begin(disk.now_ms)
    disk.run(20_000, lambda number, part: 5_000 if part and number % 20 == 0 else 1_000)
    assert disk.courtesy.share == SHARE_LEAST


def test_a_disk_that_is_slow_by_itself_does_not_hold_the_cleaner_back() -> None:
    disk = Disk()
    disk.courtesy.begin(disk.now_ms)
    disk.run(60_000, lambda number, part: 30_000 if number % 30 == 0 else 1_000)
    assert disk.courtesy.share == SHARE_MOST


def test_the_middle_of_moments() -> None:
    assert middle([9]) == 9
    assert middle([9, 1]) == 1
    assert middle([5, 100, 1]) == 5


def test_the_slowest_hundredth() -> None:
    assert slowest([7]) == 7
    assert slowest(range(100)) == 99
    assert slowest(range(1_000)) == 990


def test_a_round_that_does_not_end_is_not_taken_for_nobody_writing() -> None:
    disk = Disk()
    disk.courtesy.begin(disk.now_ms)
    disk.run(2 * REST_MS_MAX, steady)
    share = disk.courtesy.share
    for _ in range(3 * WORK_MS // TICK_MS):
        disk.now_ms += TICK_MS
        disk.courtesy.heard()  # one is under way, for 15 seconds
        assert disk.courtesy.tick(disk.now_ms, True) <= share * 1.1**10
        assert not disk.courtesy.idle
    for _ in range(2 * WORK_MS // TICK_MS):
        disk.now_ms += TICK_MS
        disk.courtesy.tick(disk.now_ms, True)
    assert disk.courtesy.idle


def test_rounds_that_are_slow_by_themselves_are_no_credit_for_later() -> None:
    disk = Disk()
    disk.courtesy.begin(disk.now_ms)
    disk.run(2 * REST_MS_MAX, steady)
    for number in range(20_000):
        disk.courtesy.seen(9_000 if number % 50 == 0 else 1_000, beside=False)
        disk.courtesy.seen(1_000, beside=True)
        if number % 20 == 0:
            disk.now_ms += TICK_MS
            disk.courtesy.tick(disk.now_ms, True)
    assert disk.courtesy._beside_before.slow >= 0.0

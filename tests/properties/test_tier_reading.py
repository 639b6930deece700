"""Whatever was written is what is read, wherever the seam between disk and tier is, and however bad the way there."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tapelog.log.tier import growth
from tapelog.log.tier.pieces import KEPT_MS
from tapelog.sim.entropy import SimEntropy
from tapelog.wire.errors import ErrorCode
from tests.properties.seam_world import SeamWorld

STEPS = ["append"] * 12 + ["compacted"] * 2 + ["end"] * 3 + ["upload"] * 3 + ["let_go"] * 2 + ["trim"]
WEATHER = st.sampled_from([(0, 0, 0), (5, 0, 0), (30, 0, 0), (50, 50, 0), (20, 30, 20)])


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Manifests get pages, and pages of pages, from a few segments on."""
    monkeypatch.setattr(growth, "FAN_OUT", 2)


def live(world: SeamWorld, steps: list[tuple[str, int]]) -> None:
    actions = {
        "append": world.append,
        "compacted": world.compacted,
        "end": world.end_transaction,
        "upload": world.upload,
        "let_go": world.let_go,
        "trim": world.trim,
    }
    for name, number in steps:
        actions[name](number)


def walk(seed: int, count: int) -> list[tuple[str, int]]:
    chance = SimEntropy(seed)
    return [(STEPS[chance.below(len(STEPS))], chance.below(1000)) for _ in range(count)]


def set_weather(world: SeamWorld, weather: tuple[int, int, int]) -> None:
    world.store.weather.delay_ms_max, world.store.weather.fail_percent, world.store.weather.lose_percent = weather


def read_all(world: SeamWorld, max_bytes: int) -> None:
    """From the beginning to the end, in pieces of at most that many bytes."""
    offset = world.log.start_offset
    while offset < world.log.written_end:
        data, following = world.read(offset, max_bytes, True)
        assert data
        world.check_aborted(offset, following)
        offset = following


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**32),
    block=st.sampled_from([61, 100, 333, 700, 1500, 5000]),
    cache=st.sampled_from([20_000, 200_000]),
    parallel=st.sampled_from([1, 2, 10]),
    weather=WEATHER,
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 1000)), min_size=60, max_size=200),
    questions=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 3000), st.booleans()), max_size=30),
)
def test_a_reader_cannot_tell_where_the_seam_is(
    seed: int,
    block: int,
    cache: int,
    parallel: int,
    weather: tuple[int, int, int],
    steps: list[tuple[str, int]],
    questions: list[tuple[int, int, bool]],
) -> None:
    world = SeamWorld(seed, block, cache, parallel)
    live(world, steps)
    set_weather(world, weather)
    start, end = world.log.start_offset, world.log.written_end
    for place, size, min_one in questions:
        if end > start:
            offset = start + place % (end - start)
            for other in range(place % 7):
                world.turn_to(place // 7 + other)
            _, following = world.read(offset, size, min_one)
            world.check_aborted(offset, max(following, offset + 1))
            world.check_time(world.clock.wall_ms() - place % 3000)
    world.check_greatest()


@pytest.mark.parametrize("seed", range(4))
def test_a_long_history_is_read_back_whole(seed: int) -> None:
    world = SeamWorld(seed, [61, 256, 1000, 4096][seed % 4], [20_000, 200_000][seed // 4 % 2])
    live(world, walk(seed, 500))
    set_weather(world, [(0, 0, 0), (40, 50, 10)][seed % 2])
    assert world.log.local_start_offset > world.log.start_offset
    for max_bytes in (1, 700, 100_000):
        read_all(world, max_bytes)
    for back_ms in range(0, 6000, 300):
        world.check_time(world.clock.wall_ms() - back_ms)
    world.check_greatest()


def test_a_segment_that_has_lost_its_latest_record_hides_no_earlier_one() -> None:
    """Compaction leaves a batch without records with the timestamps it had."""
    world = SeamWorld(1, 1000, 200_000)
    for late_ms in (10, 900, 20):
        world.timed(late_ms)
    world.seal()
    world.timed(50)
    world.timed(1000, empty=True)
    world.seal()
    world.timed(60)
    world.seal()
    world.timed(30)
    world.upload(4)
    world.let_go(6)
    assert world.log.local_start_offset == 6
    world.check_greatest()


def test_what_is_here_is_not_read_from_the_tier_which_may_not_have_been_cut_yet() -> None:
    """Another leader's segment reaches over our local start, and we have gone on in another way since."""
    world = SeamWorld(1, 1000, 200_000)
    for number in range(10):
        world.timed(number)
    world.seal()
    world.upload(1)
    for log in (world.log, world.twin):
        log.truncate_to(5)
        log.roll()
    world.epoch = 2
    world.log.tiered_end = 5
    world.let_go(1)
    for _ in range(10):
        world.timed(7)
    assert world.log.local_start_offset == 5
    for offset in range(5):
        assert world.read(offset, 100_000, True)[1] == 5
    world.check_time(world.clock.wall_ms() + 5)


def test_an_object_that_is_missing_is_told_also_by_a_store_that_takes_seconds() -> None:
    world = SeamWorld(1, 1000, 200_000)
    for number in range(3):
        world.timed(number)
        world.seal()
    world.upload(4)
    world.let_go(6)
    world.bucket.delete(world.copies.prefix + world.copies.head.segments[1].name)
    world.store._delay = lambda: KEPT_MS + 1_000  # type: ignore[method-assign]
    world.read(0, 1, True)
    assert world.refused(1) == int(ErrorCode.KAFKA_STORAGE_ERROR)


def test_a_reader_that_has_not_heard_of_a_deletion_is_told_and_gets_nothing_wrong() -> None:
    for seed in range(3):
        world = SeamWorld(seed, 200, 20_000)
        live(world, walk(seed, 400))
        start = world.log.start_offset
        if world.log.local_start_offset <= start + 2:
            continue
        world.read(start, 300, True)
        world.pieces.forget("")
        for _ in range(30):
            world.trim(6)
        now = world.log.start_offset
        if now > start:
            world.clock.advance(5_000)
            answers = {world.refused(offset) for offset in range(start, now)}
            # what is still in the cache may be told: it was true when it was read
            assert answers <= {0, int(ErrorCode.OFFSET_OUT_OF_RANGE)}
        read_all(world, 900)

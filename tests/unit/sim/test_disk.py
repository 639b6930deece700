"""The simulated disk keeps exactly what its port promises, and loses the rest when the power goes."""

from __future__ import annotations

import pytest

from tapelog.base.ports import Disk, DiskError, DiskFullError
from tapelog.base.timers import Timers
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy

SEEDS = range(40)


def disk(seed: int = 1) -> SimDisk:
    made = SimDisk(SimEntropy(seed))
    made.mkdir("/d")
    made.sync_all()
    return made


def test_it_is_a_disk() -> None:
    port: Disk = disk()
    file = port.open("/d/a", create=True)
    file.write([b"one", memoryview(b"two")])
    file.write_at(1, b"NE")
    assert file.read(0, 100) == b"oNEtwo"
    assert (file.size(), port.file_size("/d/a"), port.read_file("/d/a")) == (6, 6, b"oNEtwo")
    file.truncate(3)
    assert file.read(1, 100) == b"NE"
    port.rename("/d/a", "/d/b")
    assert file.path == "/d/b"
    assert port.listdir("/d") == ["b"]
    assert not port.exists("/d/a")
    with pytest.raises(FileNotFoundError):
        port.open("/d/a")
    port.remove("/d/b")
    port.remove("/d/b")
    port.mkdir("/d/x/y")
    port.write_file("/d/x/y/z", b"1")
    port.remove_tree("/d/x")
    assert port.listdir("/d") == []
    assert port.listdir("/nowhere") == []


def test_synced_bytes_survive_and_the_rest_may_be_torn() -> None:
    outcomes = set()
    for seed in SEEDS:
        made = disk(seed)
        file = made.open("/d/a", create=True)
        file.write([b"durable"])
        file.sync()
        made.sync_dir("/d")
        file.write([b"maybe"])
        found = made.crash().read_file("/d/a")
        assert found.startswith(b"durable")
        assert len(found) <= 12
        outcomes.add(found)
    assert b"durable" in outcomes
    assert b"durablemaybe" in outcomes
    assert len(outcomes) > 5


def test_names_are_lost_without_a_sync_of_their_directory() -> None:
    created, renamed = set(), set()
    for seed in SEEDS:
        made = disk(seed)
        made.write_file("/d/kept", b"1")
        made.sync_all()
        made.open("/d/new", create=True).sync()
        made.rename("/d/kept", "/d/moved")
        found = made.crash().listdir("/d")
        created.add("new" in found)
        renamed.add("moved" in found)
        assert ("kept" in found) != ("moved" in found)
    assert created == {True, False}
    assert renamed == {True, False}


def test_replace_file_is_all_or_nothing() -> None:
    for seed in SEEDS:
        made = disk(seed)
        made.replace_file("/d/a", b"old")
        made.replace_file("/d/a", b"new")
        assert made.crash().read_file("/d/a") == b"new"


def test_a_killed_process_loses_nothing_written() -> None:
    made = disk()
    made.write_file("/d/a", b"written")
    after = made.kill()
    assert after.read_file("/d/a") == b"written"
    with pytest.raises(AssertionError):
        made.read_file("/d/a")


def test_a_flush_makes_durable_what_was_written_before_it_began() -> None:
    clock = SimClock()
    timers = Timers(clock)
    made = disk()
    made.timers = timers
    file = made.open("/d/a", create=True)
    made.sync_dir("/d")
    file.write([b"before"])
    results: list[DiskError | None] = []
    made.start_flush([file], results.append)
    file.write([b"after"])
    assert results == []
    clock.advance(10)
    timers.run_due()
    assert results == [None]
    assert all(made.root.names["d"].names["a"].durable == b"before" for _ in "1")  # type: ignore[union-attr]


def test_a_flush_under_way_when_the_power_goes_never_finishes() -> None:
    clock = SimClock()
    timers = Timers(clock)
    made = disk()
    made.timers = timers
    file = made.open("/d/a", create=True)
    results: list[DiskError | None] = []
    made.start_flush([file], results.append)
    made.crash()
    clock.advance(10)
    timers.run_due()
    assert results == []


def test_a_full_disk_says_so_and_changes_nothing() -> None:
    made = disk()
    file = made.open("/d/a", create=True)
    made.capacity_bytes = 10
    file.write([b"12345678"])
    with pytest.raises(DiskFullError):
        file.write([b"too much"])
    assert file.read(0, 100) == b"12345678"
    assert made.free_bytes() == 2
    file.truncate(0)
    file.write([b"0123456789"])


def test_a_failing_sync_is_an_error() -> None:
    made = disk()
    file = made.open("/d/a", create=True)
    made.syncs_until_failure = 1
    file.sync()
    with pytest.raises(DiskError):
        file.sync()
    results: list[DiskError | None] = []
    made.start_flush([file], results.append)
    assert isinstance(results[0], DiskError)


def test_jobs_report_their_failure() -> None:
    made = disk()
    results: list[Exception | None] = []
    made.start_job(lambda: made.write_file("/d/a", b"1"), results.append)
    made.start_job(lambda: made.write_file("/nowhere/a", b"1"), results.append)
    assert results[0] is None
    assert isinstance(results[1], FileNotFoundError)


def test_the_same_seed_loses_the_same_bytes() -> None:
    def run() -> tuple[list[str], bytes]:
        made = disk(9)
        for number in range(20):
            made.write_file(f"/d/{number % 3}", b"x" * number)
        after = made.crash()
        return after.trace, b"|".join(after.read_file(f"/d/{name}") for name in after.listdir("/d"))

    assert run() == run()


def test_forked_entropy_is_independent_and_repeatable() -> None:
    one, two = SimEntropy(5), SimEntropy(5)
    fork = one.fork()
    assert two.fork().token(8) == fork.token(8)
    fork.below(10)
    assert one.token(8) == two.token(8)


def test_the_wall_may_jump_but_monotonic_time_does_not() -> None:
    clock = SimClock(1000)
    clock.advance(5)
    clock.jump_wall(-500)
    assert (clock.monotonic_ms(), clock.wall_ms()) == (5, 505)

"""A follower from whose log everything was deleted: where it ends is still a claim about what lay before."""

from __future__ import annotations

from tapelog.wire.errors import ErrorCode
from tests.unit.replication.follower_bench import FollowerBench, batch, part, tell_range

OUT_OF_RANGE = int(ErrorCode.OFFSET_OUT_OF_RANGE)


def emptied(*epochs: tuple[int, int]) -> FollowerBench:
    """A follower whose log was written in those epochs, and then deleted to the last record."""
    bench = FollowerBench()
    bench.lead(*epochs)
    log = bench.partitions[0].log
    log.increment_start_offset(log.end_offset)
    bench.follow(epoch=7)
    return bench


def test_an_emptied_log_names_its_last_epoch_and_goes_on_where_its_leader_agrees() -> None:
    bench = emptied((2, 2), (5, 3))
    assert bench.position() == (5, 5)
    bench.answer(part(0, batch(5, 7), start=5))
    assert (bench.end(), bench.position()) == (6, (6, 7))


def test_an_emptied_log_begins_anew_under_a_leader_that_was_elected_without_its_newer_epochs() -> None:
    bench = emptied((2, 2), (5, 3))
    bench.answer(part(0, diverging=(2, 2), start=1))
    assert bench.position() == (1, -1), "what the leader wrote below its end is missing here"
    bench.answer(part(0, batch(1, 2) + batch(2, 7, 4), start=1))
    log = bench.partitions[0].log
    assert (log.start_offset, bench.end(), bench.position()) == (1, 6, (6, 7))
    assert bench.complaints == []
    bench.power_cut()
    log = bench.partitions[0].log
    assert (log.start_offset, bench.end(), log.leader_epoch_cache.entries()) == (1, 6, [(2, 1), (7, 2)])


def test_an_emptied_log_begins_anew_even_if_the_leader_has_an_older_epoch_beyond_its_end() -> None:
    bench = emptied((2, 2), (5, 3))
    bench.answer(part(0, diverging=(3, 15), start=0))
    assert (bench.position(), bench.complaints) == ((0, -1), [])


def test_an_emptied_log_whose_epochs_mean_nothing_to_its_leader_begins_anew() -> None:
    bench = emptied((2, 2), (5, 3))
    bench.answer(part(0, error=OUT_OF_RANGE))
    tell_range(bench, 4, 9)
    assert bench.position() == (4, -1)

"""Who goes on reading has what follows brought: with few calls where these are quick, else with many at once."""

from __future__ import annotations

import pytest

from tapelog.log.tier.pieces import RUN_BLOCKS_MAX
from tests.support.rig import values_of
from tests.unit.server.tier_rig import TierRig

BLOCK = 64


class Counting(TierRig):
    """Small blocks of segments of some twenty blocks each, and what is asked of the store for them."""

    def __init__(self, delay_ms: int, partitions: int = 1) -> None:
        super().__init__(partitions, delay_ms)
        self.reads.pieces.block_bytes = BLOCK
        self.written = [self.fill(200, index) for index in range(partitions)]
        self.local = [self.move(index) for index in range(partitions)]
        self.calls = 0
        self.store.before = self.count

    def count(self, verb: str, name: str) -> None:
        self.calls += name.endswith(".segment")

    def read_in_turn(self) -> list[list[bytes | None]]:
        """Every partition up to where the local log begins, a batch of each in turn."""
        found: list[list[bytes | None]] = [[] for _ in self.local]
        while any(len(values) < local for values, local in zip(found, self.local, strict=True)):
            for index, values in enumerate(found):
                if len(values) < self.local[index]:
                    values += values_of(self.read(len(values), index, part_bytes=1))
        return found

    def blocks(self) -> int:
        sizes = [entry.log_size for copies in self.copies for entry in copies.head.segments]
        return sum(-(-size // BLOCK) for size in sizes)


@pytest.mark.parametrize("partitions", [1, 3])
def test_a_reader_of_a_store_that_is_near_makes_few_calls(partitions: int) -> None:
    rig = Counting(0, partitions)
    assert rig.read_in_turn() == [values[:local] for values, local in zip(rig.written, rig.local, strict=True)]
    segments = sum(len(copies.head.segments) for copies in rig.copies)
    assert rig.blocks() > 100 * partitions
    assert rig.calls - segments < rig.blocks() / (RUN_BLOCKS_MAX - 1), "tails are one call for each segment"


def test_a_reader_of_a_store_whose_calls_take_long_whatever_they_bring_makes_few_once_that_has_been_tried() -> None:
    rig = Counting(0)
    rig.store.weather.delay_ms_max, rig.store.weather.piece_ms = 400, 1
    assert rig.read_in_turn() == [rig.written[0][: rig.local[0]]]
    assert rig.calls < rig.blocks() * 0.6


def test_a_reader_of_a_store_that_is_far_away_has_many_calls_under_way() -> None:
    rig, under_way = Counting(0), []
    rig.store.weather.delay_ms_max, rig.store.weather.piece_ms = 20, 150
    before = rig.store.before
    rig.store.before = lambda verb, name: (under_way.append(rig.reads.pieces.under_way), before(verb, name))[1]
    assert rig.read_in_turn() == [rig.written[0][: rig.local[0]]]
    assert max(under_way) >= 5
    assert rig.calls > rig.blocks() * 0.8

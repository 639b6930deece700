"""Idempotent producers: five batches are remembered, gaps refused, old epochs fenced, all of it across restarts."""

from __future__ import annotations

import pytest

from tapelog.log.log import Appended
from tapelog.log.producer_state import SEQUENCE_MAX, first_of, last_of
from tapelog.wire.errors import ErrorCode, KafkaError
from tests.unit.log.bench import Bench

pytestmark = pytest.mark.both_ways


def code_of(bench: Bench, batch: bytes) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        bench.append(batch)
    return caught.value.code


def place(appended: Appended) -> tuple[int, int, bool]:
    return appended.base_offset, appended.last_offset, appended.duplicate


def test_any_of_the_last_five_batches_is_recognised() -> None:
    bench = Bench()
    for number in range(7):
        bench.append(bench.idempotent(number * 2, 2))
    for number in range(2, 7):
        assert place(bench.append(bench.idempotent(number * 2, 2))) == (number * 2, number * 2 + 1, True)
    assert bench.log.end_offset == 14
    assert code_of(bench, bench.idempotent(2, 2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_duplicate_of_a_batch_that_is_only_queued_is_recognised() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0), write=False)
    assert place(bench.append(bench.idempotent(0), write=False)) == (0, 0, True)


def test_the_same_sequences_cut_otherwise_are_no_duplicate() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0, 3))
    assert code_of(bench, bench.idempotent(0, 2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert code_of(bench, bench.idempotent(1, 2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_gap_is_refused() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0))
    assert code_of(bench, bench.idempotent(2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    bench.append(bench.idempotent(1))


def test_an_unknown_producer_may_begin_anywhere() -> None:
    bench = Bench()
    assert place(bench.append(bench.idempotent(41))) == (0, 0, False)
    bench.append(bench.idempotent(42))


def test_a_new_epoch_begins_at_zero_and_fences_the_old() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0, epoch=1))
    assert code_of(bench, bench.idempotent(1, epoch=2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    bench.append(bench.idempotent(0, epoch=2))
    assert code_of(bench, bench.idempotent(1, epoch=1)) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_sequences_wrap() -> None:
    bench = Bench()
    bench.append(bench.idempotent(SEQUENCE_MAX - 1, 4))
    assert place(bench.append(bench.idempotent(SEQUENCE_MAX - 1, 4))) == (0, 3, True)
    bench.append(bench.idempotent(2))
    bench.append(bench.idempotent(SEQUENCE_MAX, producer_id=8))
    bench.append(bench.idempotent(0, producer_id=8))
    for first in (0, 5, SEQUENCE_MAX - 3, SEQUENCE_MAX):
        for delta in (0, 1, 3, 10):
            assert first_of(last_of(first, delta), delta) == first


def test_producers_are_apart() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0, producer_id=1))
    bench.append(bench.idempotent(0, producer_id=2))
    bench.append(bench.idempotent(1, producer_id=1))
    assert bench.log.producers.entries[1].last_offset() == 2


def test_all_five_batches_are_still_known_after_a_clean_restart() -> None:
    bench = Bench()
    for number in range(8):
        bench.append(bench.idempotent(number))
    bench.log.close()
    bench.open(clean=True)
    for number in range(3, 8):
        assert place(bench.append(bench.idempotent(number))) == (number, number, True)
    bench.append(bench.idempotent(8))


def test_all_five_batches_are_still_known_after_a_kill() -> None:
    bench = Bench()
    for number in range(8):
        bench.append(bench.idempotent(number))
    bench.kill()
    for number in range(3, 8):
        assert place(bench.append(bench.idempotent(number))) == (number, number, True)
    bench.append(bench.idempotent(8))


def test_a_duplicate_tells_the_append_time_of_its_original() -> None:
    bench = Bench({"message.timestamp.type": "LogAppendTime"})
    original = bench.append(bench.idempotent(0))
    batch = bench.idempotent(0)
    bench.clock.advance(1000)
    assert bench.append(batch).log_append_time_ms == original.log_append_time_ms


def test_silent_producers_are_forgotten() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0, producer_id=1))
    bench.append(bench.idempotent(0, producer_id=3, transactional=True))
    bench.clock.advance(600)
    bench.append(bench.idempotent(0, producer_id=2))
    bench.clock.advance(600)
    assert bench.log.expire_producers(bench.clock.wall_ms(), 1000) == [1]
    assert sorted(bench.log.producers.entries) == [2, 3]
    bench.append(bench.idempotent(17, producer_id=1))

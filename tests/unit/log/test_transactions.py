"""Transactions in one log: markers, the last stable offset, the index of aborted ones."""

from __future__ import annotations

import pytest

from tapelog.wire.errors import ErrorCode, KafkaError
from tests.unit.log.bench import Bench

pytestmark = pytest.mark.both_ways


def stable(bench: Bench) -> int:
    return bench.log.last_stable_offset(bench.log.written_end)


def aborted(bench: Bench, start: int = 0, upper: int = 1 << 40) -> list[tuple[int, int]]:
    return [(one.first_offset, one.last_offset) for one in bench.log.aborted_transactions(start, upper)]


def test_an_open_transaction_holds_the_last_stable_offset() -> None:
    bench = Bench()
    bench.append(bench.batch(b"plain"))
    bench.append(bench.idempotent(0, transactional=True))
    bench.append(bench.batch(b"plain"))
    assert stable(bench) == 1
    bench.marker(abort=False)
    assert stable(bench) == 4
    assert aborted(bench) == []


def test_a_marker_counts_once_it_is_committed() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0, transactional=True))
    bench.marker(abort=False)
    bench.append(bench.batch(b"plain"))
    assert bench.log.last_stable_offset(1) == 0
    assert bench.log.last_stable_offset(2) == 2
    assert bench.log.last_stable_offset(3) == 3


def test_the_oldest_open_transaction_decides() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0, producer_id=1, transactional=True))
    bench.append(bench.idempotent(0, producer_id=2, transactional=True))
    bench.marker(abort=True, producer_id=2)
    assert stable(bench) == 0
    bench.marker(abort=False, producer_id=1)
    assert stable(bench) == 4
    (found,) = bench.log.aborted_transactions(0, 10)
    assert found.as_tuple() == (2, 1, 2, 0)


def test_aborted_transactions_are_found_by_range() -> None:
    bench = Bench({"segment.bytes": "200"})
    for number in range(4):
        bench.append(bench.idempotent(number, transactional=True))
        bench.marker(abort=number % 2 == 0)
    assert aborted(bench) == [(0, 1), (4, 5)]
    assert aborted(bench, 2, 8) == [(4, 5)]
    assert aborted(bench, 0, 4) == [(0, 1)]
    assert aborted(bench, 1, 5) == [(0, 1), (4, 5)]
    assert len(bench.log.segments.items) > 2


def test_a_marker_without_records_changes_nothing() -> None:
    bench = Bench()
    bench.marker(abort=True)
    assert aborted(bench) == []
    assert stable(bench) == 1


def test_fenced_producers_and_coordinators_cannot_write_markers() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0, epoch=5, transactional=True))
    with pytest.raises(KafkaError) as caught:
        bench.marker(abort=True, epoch=4)
    assert caught.value.code == ErrorCode.INVALID_PRODUCER_EPOCH
    bench.marker(abort=True, epoch=5, coordinator_epoch=3)
    with pytest.raises(KafkaError) as caught:
        bench.marker(abort=True, epoch=5, coordinator_epoch=2)
    assert caught.value.code == ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_a_marker_with_a_newer_epoch_restarts_the_sequence() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0, epoch=5, transactional=True))
    bench.marker(abort=True, epoch=6)
    with pytest.raises(KafkaError) as caught:
        bench.append(bench.idempotent(1, epoch=5, transactional=True))
    assert caught.value.code == ErrorCode.INVALID_PRODUCER_EPOCH
    bench.append(bench.idempotent(0, epoch=6, transactional=True))


@pytest.mark.parametrize("clean", [True, False])
def test_transactions_are_known_after_a_restart(clean: bool) -> None:
    bench = Bench()
    bench.append(bench.idempotent(0, producer_id=1, transactional=True))
    bench.marker(abort=True, producer_id=1)
    bench.append(bench.idempotent(0, producer_id=2, transactional=True))
    if clean:
        bench.log.close()
        bench.open(clean=True)
    else:
        bench.kill()
    assert aborted(bench) == [(0, 1)]
    assert stable(bench) == 2
    bench.marker(abort=True, producer_id=2)
    assert aborted(bench) == [(0, 1), (2, 3)]
    assert stable(bench) == 4


def test_truncation_reopens_a_transaction_whose_marker_it_cuts_off() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0, transactional=True))
    bench.marker(abort=True)
    bench.log.truncate_to(1)
    assert aborted(bench) == []
    assert stable(bench) == 0
    bench.marker(abort=False)
    assert aborted(bench) == []
    assert stable(bench) == 2


def test_a_failed_write_takes_back_a_marker() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0, transactional=True))
    bench.marker(abort=True, write=False)
    bench.disk.capacity_bytes = 0
    with pytest.raises(Exception, match="no space"):
        bench.log.write()
    bench.disk.capacity_bytes = None
    assert stable(bench) == 0
    assert aborted(bench) == []
    bench.marker(abort=False)
    assert stable(bench) == 2

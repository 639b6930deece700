"""What a log takes from a producer with a transaction, and from the coordinator that ends it: epochs, sequences,
markers of both transaction versions, and what is left when a write fails."""

from __future__ import annotations

import pytest

from tapelog.base.ports import DiskFullError
from tapelog.log.beginnings import BEGINNINGS_MAX, Beginnings
from tapelog.log.log import CLIENT, COORDINATOR
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.record_batch import Record, build_batch
from tests.unit.log.bench import Bench

pytestmark = pytest.mark.both_ways

INVALID_EPOCH = ErrorCode.INVALID_PRODUCER_EPOCH
OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def code_of(bench: Bench, batch: bytes, origin: int = CLIENT) -> ErrorCode:
    """With what the log refuses a batch; it must be as it was."""
    end, before = bench.log.end_offset, entry_of(bench)
    with pytest.raises(KafkaError) as caught:
        bench.append(batch, origin=origin)
    assert bench.log.end_offset == end
    assert entry_of(bench) == before
    return caught.value.code


def entry_of(bench: Bench, producer_id: int = 7) -> tuple[int, int, int, int] | None:
    """Epoch, last sequence, first offset of the open transaction and coordinator epoch of a producer."""
    entry = bench.log.producers.entries.get(producer_id)
    return entry and (entry.epoch, entry.last_sequence(), entry.txn_first_offset, entry.coordinator_epoch)


def offsets_batch(bench: Bench, *, epoch: int = 0, producer_id: int = 7, transactional: bool = True) -> bytes:
    """What the group coordinator writes on a producer's behalf: a batch without a sequence."""
    records = [Record(0, bench.clock.wall_ms(), b"group", b"offset") for _ in range(2)]
    return build_batch(records, producer_id=producer_id, producer_epoch=epoch, transactional=transactional)


def fail_write(bench: Bench) -> None:
    """The disk is full just now: what is queued is taken back."""
    bench.disk.capacity_bytes = 0
    with pytest.raises(DiskFullError):
        bench.log.write()
    bench.disk.capacity_bytes = None


# -- data


def test_a_plain_batch_of_a_producer_with_an_open_transaction_is_refused() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0, transactional=True))
    assert code_of(bench, bench.idempotent(1)) == ErrorCode.INVALID_TXN_STATE
    assert code_of(bench, bench.idempotent(0, epoch=1)) == ErrorCode.INVALID_TXN_STATE
    bench.append(bench.idempotent(1, transactional=True))
    bench.marker(abort=False)
    bench.append(bench.idempotent(2))


def test_sequences_and_duplicates_are_checked_before_the_transaction() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0, transactional=True))
    assert bench.append(bench.idempotent(0)).duplicate
    assert code_of(bench, bench.idempotent(5)) == OUT_OF_ORDER


def test_a_transactional_batch_must_name_its_producer() -> None:
    bench = Bench()
    batch = build_batch([Record(0, bench.clock.wall_ms(), b"k", b"v")], transactional=True)
    assert code_of(bench, batch) == ErrorCode.INVALID_RECORD


def test_sequences_go_on_behind_a_marker_of_the_same_epoch() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0, 3, transactional=True))
    bench.marker(abort=False)
    assert code_of(bench, bench.idempotent(0, transactional=True)) == OUT_OF_ORDER
    bench.append(bench.idempotent(3, transactional=True))


def test_a_marker_with_the_next_epoch_lets_the_next_transaction_begin_with_zero() -> None:
    bench = Bench()
    for epoch in range(5, 8):
        bench.append(bench.idempotent(0, 3, epoch=epoch, transactional=True))
        bench.append(bench.idempotent(3, epoch=epoch, transactional=True))
        bench.log.producers.check_marker(7, epoch + 1, 3, 2)
        bench.marker(abort=False, epoch=epoch + 1)
        assert code_of(bench, bench.idempotent(4, epoch=epoch, transactional=True)) == INVALID_EPOCH
        assert code_of(bench, bench.idempotent(1, epoch=epoch + 1, transactional=True)) == OUT_OF_ORDER


# -- a coordinator's batches


def test_a_coordinators_batch_needs_no_sequence() -> None:
    bench = Bench()
    for _ in range(3):
        bench.append(offsets_batch(bench), origin=COORDINATOR)
    assert entry_of(bench) == (0, -1, 0, -1)
    assert bench.log.last_stable_offset(bench.log.written_end) == 0
    bench.marker(abort=True)
    assert [(one.first_offset, one.last_offset) for one in bench.log.aborted_transactions(0, 99)] == [(0, 6)]


@pytest.mark.parametrize("clean", [True, False])
def test_batches_without_a_sequence_are_known_after_a_restart(clean: bool) -> None:
    bench = Bench()
    bench.append(offsets_batch(bench, epoch=4), origin=COORDINATOR)
    before = entry_of(bench)
    if clean:
        bench.log.close()
        bench.open(clean=True)
    else:
        bench.kill()
    assert entry_of(bench) == before == (4, -1, 0, -1)


def test_a_coordinators_batch_must_not_be_of_an_older_epoch() -> None:
    bench = Bench()
    bench.append(offsets_batch(bench, epoch=4), origin=COORDINATOR)
    assert code_of(bench, offsets_batch(bench, epoch=3), COORDINATOR) == INVALID_EPOCH
    assert (
        code_of(bench, offsets_batch(bench, epoch=4, transactional=False), COORDINATOR) == ErrorCode.INVALID_TXN_STATE
    )
    assert code_of(bench, offsets_batch(bench, epoch=-1), COORDINATOR) == ErrorCode.INVALID_RECORD
    bench.append(offsets_batch(bench, epoch=5), origin=COORDINATOR)


def test_a_clients_batch_needs_a_sequence() -> None:
    bench = Bench()
    assert code_of(bench, offsets_batch(bench)) == ErrorCode.INVALID_RECORD


# -- markers


@pytest.mark.parametrize(
    ("version", "marker_epoch", "open_transaction", "code"),
    [
        (1, 4, True, INVALID_EPOCH),
        (1, 5, True, None),
        (1, 6, True, None),
        (1, 5, False, None),
        (2, 4, True, INVALID_EPOCH),
        (2, 5, True, INVALID_EPOCH),
        (2, 6, True, None),
        (2, 4, False, INVALID_EPOCH),
        (2, 5, False, None),
        (2, 6, False, None),
    ],
)
def test_which_epoch_a_marker_must_have(
    version: int, marker_epoch: int, open_transaction: bool, code: ErrorCode | None
) -> None:
    bench = Bench()
    bench.append(bench.idempotent(0, epoch=5, transactional=open_transaction))
    producers = bench.log.producers
    if code is None:
        producers.check_marker(7, marker_epoch, 0, version)
    else:
        with pytest.raises(KafkaError) as caught:
            producers.check_marker(7, marker_epoch, 0, version)
        assert caught.value.code == code


def test_a_marker_for_an_unknown_producer_is_taken() -> None:
    bench = Bench()
    for version in (0, 1, 2):
        bench.log.producers.check_marker(7, 3, 0, version)
    bench.marker(abort=True, epoch=3)
    assert entry_of(bench) == (3, -1, -1, 3)
    assert code_of(bench, bench.idempotent(0, epoch=2, transactional=True)) == INVALID_EPOCH


def test_a_retried_marker_ends_nothing_but_is_in_the_log() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0, transactional=True))
    bench.marker(abort=True, epoch=1)
    end = bench.log.end_offset
    bench.log.producers.check_marker(7, 1, 3, 2)
    bench.marker(abort=True, epoch=1)
    assert bench.log.end_offset == end + 1
    assert len(bench.log.aborted_transactions(0, 99)) == 1
    assert bench.log.last_stable_offset(99) == 99


def test_a_transaction_is_open_only_for_its_own_epoch() -> None:
    bench = Bench()
    producers = bench.log.producers
    assert not producers.in_transaction(7, 0)
    bench.append(bench.idempotent(0, transactional=True))
    assert producers.in_transaction(7, 0)
    assert not producers.in_transaction(7, 1)
    assert not producers.in_transaction(8, 0)
    bench.marker(abort=False)
    assert not producers.in_transaction(7, 0)


def test_a_transaction_without_records_for_long_is_late() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0, producer_id=1, transactional=True))
    bench.clock.advance(1000)
    bench.append(bench.idempotent(0, producer_id=2, transactional=True))
    now = bench.clock.wall_ms()
    assert bench.log.producers.late_transactions(now, 1000) == []
    assert bench.log.producers.late_transactions(now, 999) == [1]
    assert bench.log.producers.late_transactions(now + 5000, 999) == [1, 2]
    bench.marker(abort=True, producer_id=1)
    assert bench.log.producers.late_transactions(now + 5000, 999) == [2]


# -- a write that fails


def test_a_failed_write_takes_back_the_beginning_of_a_transaction() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0))
    before = entry_of(bench)
    bench.append(bench.idempotent(1, transactional=True), write=False)
    assert bench.log.producers.in_transaction(7, 0)
    fail_write(bench)
    assert entry_of(bench) == before
    assert bench.log.last_stable_offset(99) == 99
    bench.append(bench.idempotent(1, transactional=True))
    assert bench.log.last_stable_offset(99) == 1


def test_a_failed_write_takes_back_a_marker_with_a_newer_epoch() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0, 2, transactional=True))
    before = entry_of(bench)
    bench.marker(abort=True, epoch=1, write=False)
    bench.append(bench.idempotent(0, epoch=1, transactional=True), write=False)
    fail_write(bench)
    assert entry_of(bench) == before
    assert bench.append(bench.idempotent(0, 2, transactional=True)).duplicate
    bench.append(bench.idempotent(2, transactional=True))


@pytest.mark.parametrize("transactional", [True, False])
def test_a_batch_does_not_overtake_its_producers_first_one_that_was_taken_back(transactional: bool) -> None:
    bench = Bench()
    batches = [bench.idempotent(number, transactional=transactional) for number in range(10)]
    for batch in batches[:8]:
        bench.append(batch, write=False)
    fail_write(bench)
    assert code_of(bench, batches[8]) == OUT_OF_ORDER
    assert code_of(bench, batches[1]) == OUT_OF_ORDER
    for batch in batches:
        assert not bench.append(batch).duplicate
    assert len(bench.log.producers.beginnings) == 0


def test_what_a_producer_began_with_is_forgotten_after_a_while() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0), write=False)
    fail_write(bench)
    bench.clock.advance(1000)
    bench.log.expire_producers(bench.clock.wall_ms(), 1000)
    bench.append(bench.idempotent(9))


def test_a_producer_that_expires_before_its_first_batch_is_written_disturbs_nothing() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0), write=False)
    bench.log.expire_producers(bench.clock.wall_ms() + 1000, 1000)
    bench.log.write()
    assert bench.log.written_end == 1
    bench.append(bench.idempotent(1))


def test_the_lowest_sequence_of_an_epoch_is_where_a_producer_begins() -> None:
    begun = Beginnings()
    for sequence in (5, 3, 4):
        begun.note(1, 0, sequence, 0)
    begun.note(1, 9, 7, 0)  # whoever claims another epoch changes nothing
    begun.check(1, 0, 3)
    with pytest.raises(KafkaError):
        begun.check(1, 0, 4)
    begun.check(1, 9, 7)
    begun.forget(1, 9)
    begun.check(1, 9, 8)
    for number in range(BEGINNINGS_MAX):
        begun.note(number + 2, 0, 0, 0)
    assert len(begun) == BEGINNINGS_MAX
    begun.check(1, 0, 8)


def test_a_producer_that_has_begun_is_known_by_its_batches() -> None:
    bench = Bench()
    bench.append(bench.idempotent(3), write=False)
    assert len(bench.log.producers.beginnings) == 1
    bench.append(bench.idempotent(0, producer_id=8), write=False)
    bench.log.write()
    assert len(bench.log.producers.beginnings) == 0

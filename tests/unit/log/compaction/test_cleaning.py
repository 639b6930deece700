"""A cleaning of one log: what stays, in which form, and what it does when something is wrong."""

from __future__ import annotations

import pytest

from tapelog.base.ports import DiskFullError
from tapelog.log import names
from tapelog.log.compaction.cleaning import Cleaning
from tapelog.log.compaction.keymap import SLOT_BYTES, KeyMap
from tapelog.log.compaction.plan import sources
from tapelog.log.compaction.source import UncleanableError
from tapelog.log.compaction.swap import StaleCleaningError, install
from tapelog.wire.crc import crc32c
from tapelog.wire.record_batch import DELETE_HORIZON, Record, build_batch, iterate
from tests.unit.log.bench import DIRECTORY
from tests.unit.log.compaction.yard import SETTINGS, Yard, one_group


def test_of_every_key_the_last_record_stays_at_its_offset() -> None:
    yard = Yard()
    yard.put((b"a", b"1"), (b"b", b"2"), (b"a", b"3"))
    yard.put((b"c", b"4"))
    yard.put((b"b", b"5"))
    yard.clean()
    assert yard.left() == [(2, b"a", b"3"), (3, b"c", b"4"), (4, b"b", b"5")]


def test_a_batch_that_stays_whole_keeps_its_bytes() -> None:
    yard = Yard()
    yard.put((b"a", b"1"))
    yard.put((b"b", b"2" * 500), (b"c", b"3"), codec=4)
    before = yard.log.segments.items[0].file().read(0, 100_000)
    yard.clean()
    assert yard.log.segments.items[0].file().read(0, 100_000) == before


@pytest.mark.parametrize("codec", range(5))
def test_a_batch_of_which_something_goes_keeps_offsets_producer_epoch_and_codec(codec: int) -> None:
    yard = Yard()
    stamp = yard.clock.wall_ms()
    yard.put(
        (b"a", b"1"),
        (b"b", b"2"),
        (b"a", b"3"),
        (b"b", b"4"),
        codec=codec,
        producer_id=5,
        producer_epoch=2,
        base_sequence=0,
    )
    yard.put((b"b", b"5"))
    yard.clean()
    first = yard.headers()[0]
    assert (first.base_offset, first.last_offset, first.record_count, first.compression) == (0, 3, 1, codec)
    assert (first.producer_id, first.producer_epoch, first.base_sequence, first.last_sequence) == (5, 2, 0, 3)
    assert (first.base_timestamp, first.max_timestamp) == (stamp, stamp + 2)
    assert yard.left() == [(2, b"a", b"3"), (4, b"b", b"5")]


def test_headers_of_records_and_large_values_survive() -> None:
    yard = Yard()
    kept = Record(1, yard.clock.wall_ms(), b"k" * 300, b"v" * 5000, [("name", b"value"), ("none", None)])
    yard.append(build_batch([Record(0, kept.timestamp, b"a", b"1"), kept]))
    yard.put((b"a", b"2"))
    yard.clean()
    data = yard.log.segments.items[0].file().read(0, 100_000)
    assert next(iterate(data, 0, len(data))) == kept


def test_records_without_a_key_go_and_are_counted() -> None:
    yard = Yard()
    yard.put((None, b"1"), (b"a", b"2"))
    assert yard.clean().statistics.unkeyed == 1
    assert yard.left() == [(1, b"a", b"2")]


def test_a_tombstone_gets_a_date_at_the_first_cleaning_and_goes_after_it() -> None:
    yard = Yard()
    yard.put((b"a", b"1"))
    yard.put((b"a", None), (b"b", b"2"))
    stamp = yard.clock.wall_ms()
    yard.clean()
    dated = yard.headers()[0]
    assert dated.attributes & DELETE_HORIZON
    assert (dated.base_timestamp, dated.max_timestamp) == (stamp + 1000, stamp + 1)
    data = yard.log.segments.items[0].file().read(0, 100_000)
    assert [record.timestamp for record in iterate(data, 0, len(data))] == [stamp, stamp + 1]
    yard.clock.advance(999)
    yard.put((b"x", b"3"))
    yard.clean()
    assert (1, b"a", None) in yard.left()
    yard.clock.advance(1)
    yard.put((b"y", b"4"))
    yard.clean()
    assert yard.left() == [(2, b"b", b"2"), (3, b"x", b"3"), (4, b"y", b"4")]
    assert yard.headers()[0].base_timestamp == stamp + 1000


def test_what_a_full_map_does_not_cover_stays_and_is_cleaned_next_time() -> None:
    yard = Yard()
    yard.keys = KeyMap(4 * SLOT_BYTES)
    assert yard.keys.capacity == 2
    yard.put((b"a", b"1"), (b"b", b"2"), (b"c", b"3"), (b"a", None))
    cleaning = yard.clean()
    assert cleaning.end_offset == 2
    assert len(yard.left()) == 4
    assert not yard.headers()[0].attributes & DELETE_HORIZON, "an earlier record of its key is still there"
    assert yard.clean().end_offset == 4
    assert yard.left() == [(1, b"b", b"2"), (2, b"c", b"3"), (3, b"a", None)]
    assert yard.headers()[0].attributes & DELETE_HORIZON


def test_aborted_records_go_at_once_and_their_marker_when_it_is_due() -> None:
    yard = Yard()
    yard.append(yard.idempotent(0, 2, transactional=True))
    yard.marker(abort=True)
    yard.put((b"a", b"1"))
    yard.log.expire_producers(yard.clock.wall_ms() + 10, 10)
    yard.clean()
    assert [(h.base_offset, h.is_control) for h in yard.headers()] == [(2, True), (3, False)]
    assert len(yard.log.aborted_transactions(0, 10)) == 1, "their data was there when the cleaning began"
    yard.put((b"b", b"1"))
    yard.clean()
    assert yard.headers()[0].attributes & DELETE_HORIZON
    assert yard.log.aborted_transactions(0, 10) == []
    yard.clock.advance(1000)
    yard.put((b"c", b"1"))
    yard.clean()
    assert [h.is_control for h in yard.headers()] == [False, False, False]


def test_the_last_batch_of_an_active_producer_stays_empty() -> None:
    yard = Yard()
    yard.append(yard.idempotent(0, 3))
    yard.put((b"key", b"newer"))
    yard.clean()
    header = yard.headers()[0]
    assert (header.record_count, header.base_offset, header.last_sequence) == (0, 0, 2)
    for name in yard.files(names.SNAPSHOT):
        yard.disk.remove(f"{DIRECTORY}/{name}")
    yard.open()
    assert yard.log.producers.entries[7].last_sequence() == 2


def test_a_forgotten_producers_batch_goes() -> None:
    yard = Yard()
    yard.append(yard.idempotent(0, 3))
    yard.put((b"key", b"newer"))
    yard.log.expire_producers(yard.clock.wall_ms() + 10, 10)
    yard.clean()
    assert [header.base_offset for header in yard.headers()] == [3]


def test_a_cleaned_segment_ends_where_the_next_begins() -> None:
    yard = Yard()
    yard.put((b"a", b"1"))
    yard.put((b"b", b"2"))
    yard.log.roll()
    yard.put((b"b", b"3"))
    yard.reconfigure({**SETTINGS, "segment.bytes": "100"})
    yard.clean()
    first = yard.headers()[:2]
    assert [(header.base_offset, header.record_count) for header in first] == [(0, 1), (1, 0)]
    yard.open()  # every batch is looked at: no gap makes it stop
    assert yard.left() == [(0, b"a", b"1"), (2, b"b", b"3")]


def test_several_segments_become_one_and_their_snapshots_go() -> None:
    yard = Yard()
    for number in range(4):
        yard.put((b"%d" % (number % 2), b"v"))
        yard.log.roll()
    yard.put((b"z", b"v"))
    yard.clean()
    assert [segment.base_offset for segment in yard.log.segments.items] == [0, 5]
    assert yard.files(names.SNAPSHOT) == [names.offset_name(5, names.SNAPSHOT)]
    assert yard.files(names.CLEANED, names.SWAP, names.DELETED) == []


def test_the_greatest_timestamp_is_that_of_a_record_that_is_there() -> None:
    yard = Yard()
    yard.put((b"a", b"1"))
    newest = yard.clock.wall_ms()
    late = Record(0, newest + 50, b"key", b"gone")
    yard.append(build_batch([late], producer_id=7, producer_epoch=0, base_sequence=0))
    yard.put((b"key", b"2"))
    yard.clean()
    assert yard.headers()[1].record_count == 0
    assert yard.log.max_timestamp_offset() == (newest, 0, 0)


def test_a_damaged_batch_makes_a_log_uncleanable_and_changes_nothing() -> None:
    yard = Yard()
    yard.put((b"a", b"1"))
    yard.put((b"a", b"2"))
    path = yard.log.active.path
    yard.disk.flip_bit(path, 65, 3)
    before = yard.disk.read_file(path)
    cleaning = yard.begin()
    with pytest.raises(UncleanableError, match="at position 0: batch at offset 0 has a wrong checksum"):
        cleaning.step()
    assert cleaning.finished
    assert yard.disk.read_file(path) == before
    assert yard.files(names.CLEANED, names.SWAP) == []


@pytest.mark.parametrize("position", [0, 7, 23])
def test_offsets_that_do_not_fit_make_a_log_uncleanable(position: int) -> None:
    yard = Yard()
    yard.put((b"a", b"1"))
    yard.put((b"a", b"2"))
    cleaning = yard.begin()
    second = yard.log.segments.items[0].batch_end(0)
    data = bytearray(yard.disk.read_file(yard.log.segments.items[0].path))
    data[second + position] ^= 64
    data[second + 17 : second + 21] = crc32c(data[second + 21 :]).to_bytes(4, "big")
    yard.disk.write_file(yard.log.segments.items[0].path, bytes(data))
    with pytest.raises(UncleanableError, match="does not fit"):
        cleaning.step()


def test_a_file_that_is_shorter_than_its_segment_makes_a_log_uncleanable() -> None:
    yard = Yard()
    yard.put((b"a", b"1"))
    yard.put((b"a", b"2"))
    cleaning = yard.begin()
    path = yard.log.segments.items[0].path
    yard.disk.write_file(path, yard.disk.read_file(path)[:-1])
    with pytest.raises(UncleanableError, match="cut short"):
        cleaning.step()


def test_batches_larger_than_what_is_read_at_once_are_cleaned() -> None:
    yard = Yard()
    for number in range(6):
        yard.put((b"a", b"%d" % number * 900), (b"b%d" % number, b"x"))
    cleaning = Cleaning(yard.disk, yard.begin().job, yard.config, yard.keys, yard.clock.wall_ms(), read_bytes=100)
    while not cleaning.finished:
        for cleaned in cleaning.step():
            install(yard.log, cleaned)
    assert [(key, len(value or b"")) for _, key, value in yard.left()][-3:] == [(b"b4", 1), (b"a", 900), (b"b5", 1)]
    assert len(yard.left()) == 7


def test_damage_in_the_second_pass_leaves_no_files_behind() -> None:
    yard = Yard()
    yard.put((b"a", b"1"))
    yard.put((b"a", b"2"))
    cleaning = yard.begin()
    cleaning.step(1)
    yard.disk.flip_bit(yard.log.segments.items[0].path, 65, 3)
    with pytest.raises(UncleanableError):
        cleaning.step()
    assert yard.files(names.CLEANED, names.SWAP) == []


def test_a_full_disk_ends_a_cleaning_without_a_trace() -> None:
    yard = Yard()
    yard.put((b"a", b"1" * 500))
    cleaning = yard.begin()
    yard.disk.capacity_bytes = 1 << 40
    yard.disk.capacity_bytes -= yard.disk.free_bytes()
    yard.disk.capacity_bytes += 100
    with pytest.raises(DiskFullError):
        cleaning.step()
    yard.disk.capacity_bytes = None
    assert yard.files(names.CLEANED, names.SWAP) == []
    assert yard.left() == [(0, b"a", b"1" * 500)]


def test_steps_are_as_large_as_the_caller_wants() -> None:
    yard = Yard()
    for _ in range(50):
        yard.put((b"a", b"1" * 100))
    cleaning = yard.begin()
    cleaning = Cleaning(yard.disk, cleaning.job, yard.config, yard.keys, 0, read_bytes=500)
    steps = 0
    while not cleaning.finished:
        cleaning.step(500)
        steps += 1
    assert steps > 20


def test_readers_of_the_old_files_go_on() -> None:
    yard = Yard()
    yard.put((b"a", b"1"))
    yard.put((b"a", b"2"))
    group = one_group(yard)
    region = yard.log.read(0, 10_000, 2, True)
    assert region is not None
    install(yard.log, group)
    assert [record.value for record in iterate(region.read(), 0, region.size)] == [b"1", b"2"]
    after = yard.log.read(0, 10_000, 2, True)
    assert after is not None
    assert [record.value for record in iterate(after.read(), 0, after.size)] == [b"2"]


def test_a_cleaning_of_segments_that_are_gone_is_thrown_away() -> None:
    yard = Yard()
    yard.put((b"a", b"1"))
    group = one_group(yard)
    yard.put((b"a", b"2"))
    yard.log.increment_start_offset(1)
    yard.log.delete_segments(yard.log.retention_plan(0, 2))
    with pytest.raises(StaleCleaningError):
        install(yard.log, group)
    assert yard.files(names.CLEANED, names.SWAP) == []
    assert [segment.base_offset for segment in yard.log.segments.items] == [1]


def test_a_cleaning_of_a_log_truncated_meanwhile_is_thrown_away() -> None:
    yard = Yard()
    yard.put((b"a", b"1"))
    group = one_group(yard)
    yard.log.truncate_fully_and_start_at(0)
    yard.put((b"b", b"other"))
    yard.log.roll()
    with pytest.raises(StaleCleaningError):
        install(yard.log, group)
    assert yard.left() == [(0, b"b", b"other")]


def test_a_cleaning_of_a_deleted_log_is_thrown_away() -> None:
    yard = Yard()
    yard.put((b"a", b"1"))
    group = one_group(yard)
    aside = yard.log.delete(b"\x01" * 16)
    with pytest.raises(StaleCleaningError):
        install(yard.log, group)
    assert not [name for name in yard.disk.listdir(aside) if name.endswith((names.CLEANED, names.SWAP))]


def test_looking_at_the_segments_opens_no_files_for_good() -> None:
    yard = Yard(max_compaction_lag_ms="1000")
    for _ in range(3):
        yard.put((b"a", b"1"))
        yard.log.roll()
    yard.log.flush()
    for segment in yard.log.segments.items[:-1]:
        segment.release()
    assert sources(yard.log, brief=True)[0].first_timestamp == yard.clock.wall_ms()
    assert not any(segment.has_open_files() for segment in yard.log.segments.items[:-1])


def test_an_abandoned_cleaning_leaves_no_files() -> None:
    yard = Yard()
    yard.put((b"a", b"1"))
    cleaning = yard.begin()
    cleaning.step(100)
    assert yard.files(names.CLEANED)
    cleaning.abandon()
    assert yard.files(names.CLEANED) == []
    assert cleaning.step() == []


def test_leader_epochs_are_kept() -> None:
    yard = Yard()
    for epoch in range(3):
        yard.append(yard.batch(b"v"), epoch=epoch)
    before = yard.log.leader_epoch_cache.entries()
    yard.clean()
    assert yard.log.leader_epoch_cache.entries() == before

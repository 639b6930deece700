"""What a start makes of files that a swap left behind: the old segments or the new one, never both, never a gap."""

from __future__ import annotations

import pytest

from tapelog.log import names
from tapelog.log.compaction.cleaning import Cleaned
from tapelog.log.compaction.swap import StaleCleaningError, begin, discard, finish, install, prepare, stage
from tests.unit.log.bench import DIRECTORY
from tests.unit.log.compaction.yard import Yard, one_group

LEFTOVER = (names.CLEANED, names.SWAP, names.DELETED)
OLD = [(0, b"a", b"1"), (1, b"b", b"2"), (2, b"a", b"3"), (3, b"c", b"4")]
NEW = OLD[1:]


def two_segments() -> tuple[Yard, Cleaned]:
    """Two segments to become one, which is written and not in place."""
    yard = Yard()
    yard.put((b"a", b"1"), (b"b", b"2"))
    yard.log.roll()
    yard.put((b"a", b"3"), (b"c", b"4"))
    return yard, one_group(yard)


def bases(yard: Yard) -> list[int]:
    """Where the segments begin."""
    return [segment.base_offset for segment in yard.log.segments.items]


def test_a_cleaned_segment_that_was_not_staged_is_forgotten() -> None:
    yard, _ = two_segments()
    assert yard.files(names.CLEANED)
    yard.open()
    assert (yard.left(), bases(yard), yard.files(*LEFTOVER)) == (OLD, [0, 2, 4], [])


def test_indexes_staged_without_their_batches_are_forgotten() -> None:
    yard, _ = two_segments()
    for suffix in (names.INDEX, names.TIME_INDEX, names.TXN_INDEX):
        path = f"{DIRECTORY}/{names.offset_name(0, suffix)}"
        yard.disk.rename(path + names.CLEANED, path + names.SWAP)
    yard.open()
    assert (yard.left(), bases(yard), yard.files(*LEFTOVER)) == (OLD, [0, 2, 4], [])


def test_a_staged_segment_takes_the_place_of_those_it_covers() -> None:
    yard, _ = two_segments()
    stage(yard.disk, DIRECTORY, 0)
    yard.open()
    assert (yard.left(), bases(yard), yard.files(*LEFTOVER)) == (NEW, [0, 4], [])


def test_a_swap_that_was_staged_is_completed_although_old_segments_are_gone_already() -> None:
    yard, _ = two_segments()
    stage(yard.disk, DIRECTORY, 0)
    for segment in yard.log.segments.items[:2]:
        segment.mark_deleted()
    yard.open()
    assert (yard.left(), bases(yard), yard.files(*LEFTOVER)) == (NEW, [0, 4], [])


def test_indexes_that_have_their_plain_names_already_are_kept() -> None:
    yard, _ = two_segments()
    stage(yard.disk, DIRECTORY, 0)
    path = f"{DIRECTORY}/{names.offset_name(0, names.TXN_INDEX)}"
    yard.disk.rename(path + names.SWAP, path)
    yard.disk.write_file(path, b"new")
    yard.open(recovery_point=4)
    assert (yard.left(), bases(yard), yard.files(*LEFTOVER)) == (NEW, [0, 4], [])
    assert yard.disk.read_file(path) == b"new"


def test_aborted_transactions_of_the_old_segment_are_not_taken_for_those_of_the_new() -> None:
    yard = Yard()
    yard.append(yard.idempotent(0, transactional=True))
    yard.marker(abort=True)
    yard.put((b"a", b"1"))
    yard.log.expire_producers(yard.clock.wall_ms() + 10, 10)
    yard.clean()
    assert len(yard.log.aborted_transactions(0, 10)) == 1
    yard.put((b"b", b"1"))
    one_group(yard)
    stage(yard.disk, DIRECTORY, 0)
    yard.open(recovery_point=4)
    assert yard.log.aborted_transactions(0, 10) == []


def test_after_a_swap_a_clean_start_reads_the_new_segment() -> None:
    yard, group = two_segments()
    install(yard.log, group)
    yard.log.close()
    yard.open(clean=True)
    assert (yard.left(), bases(yard), yard.files(*LEFTOVER)) == (NEW, [0, 4], [])


def test_a_discarded_segment_leaves_nothing() -> None:
    yard, _ = two_segments()
    discard(yard.disk, DIRECTORY, 0)
    assert yard.files(*LEFTOVER) == []


def staged() -> tuple[Yard, Cleaned]:
    """The same, so far that a restart would complete it."""
    yard, group = two_segments()
    prepare(yard.disk, DIRECTORY, 0)
    begin(yard.log, group)
    yard.disk.sync_dir(DIRECTORY)
    return yard, group


def test_a_truncation_takes_a_staged_swap_back_for_good() -> None:
    yard, group = staged()
    yard.log.truncate_to(2)
    with pytest.raises(StaleCleaningError):
        finish(yard.log, group)
    assert (yard.left(), yard.files(*LEFTOVER)) == (OLD[:2], [])
    yard.log.flush()
    yard.disk = yard.disk.crash(None)
    yard.open()
    assert (yard.left(), yard.log.end_offset, yard.files(*LEFTOVER)) == (OLD[:2], 2, [])


def test_starting_anew_takes_a_staged_swap_back_for_good() -> None:
    yard, group = staged()
    yard.log.truncate_fully_and_start_at(50)
    with pytest.raises(StaleCleaningError):
        finish(yard.log, group)
    yard.log.flush()
    yard.disk = yard.disk.crash(None)
    yard.open()
    assert (bases(yard), yard.log.end_offset, yard.files(*LEFTOVER)) == ([50], 50, [])


def test_retention_takes_back_a_staged_swap_of_segments_that_go() -> None:
    yard, group = staged()
    yard.log.increment_start_offset(2)
    yard.log.delete_segments(yard.log.segments.items[:1])
    with pytest.raises(StaleCleaningError):
        finish(yard.log, group)
    yard.open(recovery_point=4)
    assert (bases(yard), yard.files(*LEFTOVER)) == ([2, 4], [])


def test_retention_of_segments_before_it_leaves_a_staged_swap_alone() -> None:
    yard = Yard(segment_bytes="80")
    for number in range(3):
        yard.put((b"a", b"%d" % number))
        yard.log.roll()
    cleaning, done = yard.begin(), []
    while not cleaning.finished:
        done.extend(cleaning.step())
    last = done[-1]
    prepare(yard.disk, DIRECTORY, last.replaced[0].base_offset)
    begin(yard.log, last)
    yard.log.increment_start_offset(1)
    yard.log.delete_segments(yard.log.segments.items[:1])
    finish(yard.log, last)
    assert yard.log.staged == -1


def test_a_log_that_was_appended_to_meanwhile_is_still_swapped() -> None:
    yard, group = staged()
    yard.put((b"a", b"9"))
    finish(yard.log, group)
    assert (yard.left(), bases(yard)) == (NEW, [0, 4])


def test_a_file_that_is_not_what_was_told_is_not_put_in_place() -> None:
    yard, group = two_segments()
    prepare(yard.disk, DIRECTORY, 0)
    yard.disk.open(f"{DIRECTORY}/{names.offset_name(0, names.LOG)}{names.CLEANED}").truncate(group.size - 1)
    with pytest.raises(StaleCleaningError):
        begin(yard.log, group)
    assert (yard.left(), yard.files(*LEFTOVER)) == (OLD, [])


def test_segments_that_were_cut_and_written_again_are_not_those_that_were_cleaned() -> None:
    yard, group = two_segments()
    prepare(yard.disk, DIRECTORY, 0)
    yard.log.truncate_to(2)
    yard.put((b"a", b"8"), (b"c", b"9"))
    yard.log.roll()
    assert [segment.size for segment in yard.log.segments.items[:2]] == [source.size for source in group.replaced]
    with pytest.raises(StaleCleaningError):
        begin(yard.log, group)
    assert (yard.left()[-1], yard.files(*LEFTOVER)) == ((3, b"c", b"9"), [])

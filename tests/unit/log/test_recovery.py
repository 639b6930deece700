"""Opening a log: nothing is scanned after a clean shutdown; after a crash only the tail, and the truth is kept."""

from __future__ import annotations

import pytest

from tapelog.log import names
from tapelog.log.scan import CHUNK_CHECKED
from tapelog.log.txn_index import ENTRY
from tests.unit.log.bench import DIRECTORY, Bench

pytestmark = pytest.mark.both_ways

SMALL = {"segment.bytes": "2000", "index.interval.bytes": "300"}


def damage(bench: Bench, name: str, at: int, data: bytes) -> None:
    bench.disk.open(f"{DIRECTORY}/{name}").write_at(at, data)


def checkpoint(bench: Bench) -> int:
    """What a LogDirectory's checkpoint does for one log."""
    offset, snapshot, _ = bench.log.begin_checkpoint()
    bench.disk.write_file(bench.log.path_of(offset, names.SNAPSHOT), snapshot)
    bench.disk.sync_all()
    bench.log.end_checkpoint(offset)
    return offset


def test_a_clean_restart_reads_no_batch() -> None:
    bench = Bench(SMALL)
    bench.fill(100)
    bench.append(bench.idempotent(0), epoch=3)
    bench.log.close()
    damage(bench, "00000000000000000000.log", 100, b"????")  # would be noticed by a scan
    bench.open(clean=True)
    assert bench.log.recovered_bytes == 0
    assert bench.log.end_offset == bench.log.durable_end == 101
    assert bench.log.producers.entries[7].last_sequence() == 0
    assert bench.log.leader_epoch_cache.entries() == [(0, 0), (3, 100)]
    assert bench.log.topic_id == b"\x01" * 16


def test_appends_go_on_after_a_clean_restart() -> None:
    bench = Bench(SMALL)
    bench.fill(10)
    for _ in range(5):
        bench.log.close()
        bench.open(clean=True)
        bench.fill(10)
    assert bench.offsets() == list(range(60))
    stamp = bench.clock.wall_ms()
    assert bench.log.offset_for_timestamp(stamp) == (stamp, 59, 0)


@pytest.mark.parametrize("cut", [1, 30, 61, 100])
def test_a_torn_tail_is_cut_off(cut: int) -> None:
    bench = Bench()
    bench.fill(20)
    file = bench.disk.open(f"{DIRECTORY}/00000000000000000000.log")
    file.truncate(file.size() - cut)
    bench.kill()
    assert bench.log.end_offset == 19
    bench.fill(2)
    assert bench.offsets() == list(range(21))


def test_a_damaged_batch_ends_the_log() -> None:
    bench = Bench(SMALL)
    bench.fill(60)
    second = bench.log.segments.items[1].base_offset
    damage(bench, names.offset_name(second, names.LOG), 200, b"\xff")
    bench.kill()
    assert bench.log.end_offset == second + 1
    assert len(bench.log.segments.items) == 2
    assert bench.offsets() == list(range(second + 1))
    assert [name for name in bench.files() if name.endswith(names.LOG)] == [
        names.offset_name(0, names.LOG),
        names.offset_name(second, names.LOG),
    ]


def test_a_newest_segment_whose_first_sector_never_reached_the_disk_is_cut_off_whole() -> None:
    bench = Bench(SMALL)
    bench.fill(10)
    bench.append(bench.idempotent(0))
    bench.log.roll()
    second = bench.log.end_offset
    bench.fill(5)
    damage(bench, names.offset_name(second, names.LOG), 0, bytes(512))
    for name in bench.files():  # the snapshot of the roll is lost as well, so producers are learnt from batches
        if name.endswith(names.SNAPSHOT):
            bench.disk.remove(f"{DIRECTORY}/{name}")
    bench.kill(second)
    assert bench.offsets() == list(range(second))
    assert bench.log.producers.entries[7].last_sequence() == 0


def test_garbage_behind_the_end_is_cut_off() -> None:
    bench = Bench()
    bench.fill(5)
    bench.disk.open(f"{DIRECTORY}/00000000000000000000.log").write([bytes(5000)])
    bench.kill()
    assert bench.offsets() == list(range(5))


def test_a_segment_behind_a_gap_is_removed() -> None:
    bench = Bench(SMALL)
    bench.fill(60)
    bases = [segment.base_offset for segment in bench.log.segments.items]
    bench.disk.remove(f"{DIRECTORY}/{names.offset_name(bases[1], names.LOG)}")
    bench.kill()
    assert bench.log.end_offset == bases[1]
    assert bench.files().count(names.offset_name(bases[2], names.LOG)) == 0


def test_recovery_begins_at_the_checkpoint() -> None:
    bench = Bench({"index.interval.bytes": "300"})
    bench.fill(50)
    bench.append(bench.idempotent(0))
    point = checkpoint(bench)
    bench.append(bench.idempotent(1))
    bench.fill(3)
    size = bench.log.size_bytes
    bench.kill(point)
    assert 0 < bench.log.recovered_bytes < 600 < size
    assert bench.log.end_offset == 55
    assert bench.log.producers.entries[7].last_sequence() == 1
    assert len(bench.log.producers.entries[7].batches) == 2
    assert bench.offsets() == list(range(55))
    stamp = bench.clock.wall_ms()
    assert bench.log.max_timestamp_offset() == (stamp, 54, 0)


def test_without_the_checkpoints_snapshot_the_segment_is_read_from_its_start() -> None:
    bench = Bench({"index.interval.bytes": "300"})
    for number in range(20):
        bench.append(bench.idempotent(number))
    point = checkpoint(bench)
    bench.disk.remove(bench.log.path_of(point, names.SNAPSHOT))
    size = bench.log.size_bytes
    bench.kill(point)
    assert bench.log.recovered_bytes == size
    assert bench.log.producers.entries[7].last_sequence() == 19
    assert bench.log.checkpointed_end == 0


def test_an_index_that_does_not_fit_its_batches_is_rebuilt() -> None:
    bench = Bench({"index.interval.bytes": "300"})
    bench.fill(50)
    point = checkpoint(bench)
    bench.fill(10)
    bench.log.active.persist_indexes()
    index = bench.disk.open(f"{DIRECTORY}/00000000000000000000.index")
    index.write_at(index.size() - 8, bytes(8))  # a page that never reached the platter
    bench.kill(point)
    for offset in range(60):
        region = bench.log.read(offset, 1, 60, True)
        assert region is not None
        assert int.from_bytes(region.read()[:8], "big") == offset
    bench.log.close()
    data = bench.disk.read_file(f"{DIRECTORY}/00000000000000000000.index")
    entries = [data[at : at + 8] for at in range(0, len(data), 8)]
    assert entries == sorted(entries)
    assert len(set(entries)) == len(entries) > 5


@pytest.mark.parametrize("suffix", [names.INDEX, names.TIME_INDEX])
@pytest.mark.parametrize("clean", [True, False])
def test_lost_indexes_are_no_loss(suffix: str, clean: bool) -> None:
    bench = Bench(SMALL)
    bench.fill(60)
    bench.log.close()
    for name in bench.files():
        if name.endswith(suffix):
            bench.disk.remove(f"{DIRECTORY}/{name}")
    bench.open(60, clean=clean)
    assert bench.offsets() == list(range(60))
    assert bench.log.end_offset == 60


def test_a_recovery_point_beyond_the_end_is_not_believed() -> None:
    bench = Bench()
    bench.fill(10)
    damage(bench, "00000000000000000000.log", 300, b"\xff\xff")
    bench.kill(1000)
    assert bench.log.end_offset < 10
    assert bench.offsets() == list(range(bench.log.end_offset))


def test_a_start_offset_beyond_the_end_begins_there_anew() -> None:
    bench = Bench()
    bench.fill(3)
    bench.log.close()
    bench.open(clean=True, start_offset=10)
    assert (bench.log.start_offset, bench.log.end_offset) == (10, 10)
    bench.fill(1)
    assert bench.offsets() == [10]


def test_leftovers_of_interrupted_work_are_removed() -> None:
    bench = Bench()
    bench.fill(3)
    for name in (
        "00000000000000000000.log.deleted",
        "leader-epoch-checkpoint.tmp",
        "00000000000000000000.index.cleaned",
    ):
        bench.disk.write_file(f"{DIRECTORY}/{name}", b"?")
    bench.disk.write_file(f"{DIRECTORY}/00000000000000000003-0000000001.checkpoint", b"someone else's")
    bench.kill()
    assert bench.files() == [
        "00000000000000000000.log",
        "00000000000000000003-0000000001.checkpoint",
        "partition.metadata",
    ]


def test_epochs_newer_than_their_file_are_learnt_from_the_batches() -> None:
    bench = Bench()
    bench.append(bench.batch(b"v"), epoch=1)
    bench.log.close()
    bench.open(clean=True)
    bench.append(bench.batch(b"v"), epoch=5)
    bench.kill()
    assert bench.log.leader_epoch_cache.entries() == [(1, 0), (5, 1)]


def test_a_damaged_epoch_file_is_replaced_by_what_the_batches_tell() -> None:
    bench = Bench()
    bench.append(bench.batch(b"v"), epoch=1)
    bench.append(bench.batch(b"v"), epoch=2)
    bench.log.close()
    bench.disk.write_file(f"{DIRECTORY}/{names.LEADER_EPOCHS}", b"rubbish")
    bench.kill()
    assert bench.log.leader_epoch_cache.entries() == [(1, 0), (2, 1)]


def test_stray_snapshots_go() -> None:
    bench = Bench()
    for _ in range(4):
        bench.fill(2)
        bench.log.close()
        bench.open(clean=True)
    assert [name for name in bench.files() if name.endswith(names.SNAPSHOT)] == ["00000000000000000008.snapshot"]


@pytest.mark.parametrize(
    "lie",
    [
        (7, 0, 2, 2),  # a plain record, no marker
        (7, 0, 3, 3),  # a marker, but another producer's
        (8, 2, 99, 99),  # behind the end
        (7, 0, 5, 5),  # behind the checkpoint, and a marker that commits
        (0, 0, 0, 0),  # a page that never reached the platter
    ],
)
def test_only_aborted_transactions_that_a_marker_bears_out_are_kept(lie: tuple[int, int, int, int]) -> None:
    bench = Bench()
    bench.append(bench.idempotent(0, transactional=True))
    bench.marker(abort=True)
    bench.append(bench.batch(b"plain"))
    bench.marker(abort=True, producer_id=8)  # it had written nothing here
    point = checkpoint(bench)
    bench.append(bench.idempotent(1, transactional=True))
    bench.marker(abort=False)
    bench.append(bench.idempotent(2, transactional=True))
    bench.marker(abort=True)
    path = bench.log.path_of(0, names.TXN_INDEX)
    durable = bench.disk.read_file(path)
    bench.disk.open(path).write_at(0, durable + ENTRY.pack(0, *lie))
    bench.kill(point)
    found = [one.as_tuple() for one in bench.log.aborted_transactions(0, 100)]
    assert found == [(7, 0, 1, 2), (7, 6, 7, 8)]
    bench.log.close()
    assert [ENTRY.unpack_from(bench.disk.read_file(path), at)[3] for at in (0, ENTRY.size)] == [1, 7]


@pytest.mark.parametrize("damaged", [False, True])
def test_a_clean_restart_without_its_snapshot_reads_no_batch_twice(damaged: bool) -> None:
    bench = Bench(SMALL)
    bench.fill(30)
    for number in range(3):
        bench.append(bench.idempotent(number))
    bench.log.close()
    path = bench.log.path_of(33, names.SNAPSHOT)
    if damaged:
        bench.disk.write_file(path, b"?" * 20)
    else:
        bench.disk.remove(path)
    bench.open(clean=True)
    assert bench.log.recovered_bytes == 0
    assert bench.log.end_offset == 33
    assert bench.log.producers.entries[7].last_sequence() == 2


@pytest.mark.parametrize("clean", [True, False])
def test_a_log_that_was_opened_keeps_the_files_of_its_newest_segment_only(clean: bool) -> None:
    bench = Bench(SMALL)
    bench.fill(100)
    bench.log.close()
    bench.open(clean=clean)
    assert len(bench.log.segments.items) > 3
    assert [segment for segment in bench.log.segments.items if segment.has_open_files()] in ([], [bench.log.active])


@pytest.mark.parametrize("size", [1_000, 150_000, CHUNK_CHECKED + 5])
def test_batches_are_checked_wherever_the_pieces_that_are_read_end(size: int) -> None:
    bench = Bench({"max.message.bytes": str(4 * CHUNK_CHECKED)})
    count = 2 * CHUNK_CHECKED // size + 3
    for number in range(count):
        bench.append(bench.batch(bytes([number % 256]) * size))
    bench.kill()
    assert bench.log.end_offset == count
    assert bench.log.recovered_bytes == bench.log.size_bytes
    damage(bench, "00000000000000000000.log", bench.log.size_bytes - 1, b"?")
    bench.kill()
    assert bench.log.end_offset == count - 1


def test_nothing_is_left_of_segments_that_were_dropped() -> None:
    bench = Bench(SMALL)
    bench.fill(100)
    bases = [segment.base_offset for segment in bench.log.segments.items]
    damage(bench, names.offset_name(bases[1], names.LOG), 100, b"?")
    bench.kill()
    assert bench.log.active.base_offset == bases[1]
    left = [name for name in bench.files() if any(name.startswith(f"{base:020}") for base in bases[2:])]
    assert left == []

"""Fetch and ListOffsets where only the tier has the answer: transparent, patient, and nobody else is disturbed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapelog.log.config import LogConfig
from tapelog.server.handlers.list_offsets import EARLIEST, EARLIEST_LOCAL, LATEST, LATEST_TIERED, MAX_TIMESTAMP
from tapelog.sim.objects import Bucket
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tapelog.wire.record_batch import batches
from tests.support.rig import TOPIC, fetch_request, raw_records, values_of, wants
from tests.support.tiered import Copies, let_go
from tests.support.transactions import TxnProducer, shown
from tests.unit.server.replica_rig import OTHER, Follower, LeaderRig
from tests.unit.server.tier_rig import TIERED, TierRig


def test_a_reader_gets_everything_in_order_across_the_seam() -> None:
    rig = TierRig()
    values = rig.fill(100)
    local = rig.move()
    assert 50 < local < 100
    assert rig.read_all() == values
    rig.fill(5, start=100)
    assert len(rig.read_all()) == 105


def test_one_fetch_is_answered_from_the_tier_for_several_partitions() -> None:
    rig = TierRig(partitions=3, delay_ms=0)
    for index in range(3):
        rig.fill(60, index)
        assert rig.move(index) > 30
    request = fetch_request(*(wants(index, 3) for index in range(3)), max_wait_ms=500, min_bytes=1 << 20)
    for _ in range(4):
        response = rig.client.call(request, 12)
    parts = response.responses[0].partitions
    assert [part.error_code for part in parts] == [0, 0, 0]
    assert all(values_of(part)[0][:6] == b"000003" for part in parts)


def test_a_fetch_from_many_small_segments_leaves_everything_readable() -> None:
    """Their tails are in the queue, behind as many calls as may be under way, while their only blocks are wanted."""
    rig = TierRig(partitions=8)
    values = [rig.fill(60, index) for index in range(8)]
    local = [rig.move(index) for index in range(8)]
    rig.read(0)
    pieces = rig.reads.pieces
    assert pieces.run_blocks() > 1
    starts = [[entry.base_offset for entry in copies.head.segments] for copies in rig.copies]
    for number in range(1, 5):
        rig.client.call(
            fetch_request(*(wants(index, starts[index][number]) for index in range(8)), max_wait_ms=500), 12
        )
        rig.node.pass_time(300)
        pieces.invariants()
    for index in range(8):
        for offset in range(local[index]):
            data = rig.read(offset, index)
            assert (data.error_code, values_of(data)[0]) == (0, values[index][offset])


def test_a_slow_tier_holds_up_nobody_who_reads_something_else() -> None:
    rig = TierRig(partitions=2)
    rig.fill(60, 0)
    rig.fill(5, 1)
    rig.move(0)
    rig.store.weather.delay_ms_max = 20_000
    answers = rig.later(fetch_request(wants(0, 0), wants(1, 0), max_wait_ms=500), 12)
    assert answers, "what is here is told at once"
    first, second = answers[0].responses[0].partitions
    assert (first.error_code, values_of(first), len(values_of(second))) == (0, [], 5)
    began = rig.clock.monotonic_ms()
    assert rig.produce(index=0).error_code == 0
    assert rig.clock.monotonic_ms() - began < 50


def test_a_fetch_waits_for_the_tier_even_if_it_would_wait_for_nothing_else() -> None:
    rig = TierRig(delay_ms=20)
    rig.fill(60)
    rig.move()
    for fields in ({"max_wait_ms": 0}, {"max_wait_ms": 100, "min_bytes": 0}):
        rig.reads.pieces.forget("")
        rig.core.tier_reads = rig.reads = type(rig.reads)(rig.core, rig.store, lambda *_: None)
        assert values_of(rig.client.call(fetch_request(wants(0, 0), **fields), 12).responses[0].partitions[0])


def test_a_store_that_is_gone_costs_a_reader_time_and_nothing_else() -> None:
    rig = TierRig()
    values = rig.fill(60)
    rig.move()
    rig.store.weather.gone = True
    for _ in range(3):
        began = rig.clock.monotonic_ms()
        data = rig.read(0)
        assert (data.error_code, values_of(data), data.high_watermark) == (0, [], 60)
        assert 500 <= rig.clock.monotonic_ms() - began < 600
    calls = rig.store.calls
    rig.node.pass_time(60_000)
    assert rig.store.calls - calls <= 2, "nobody waits, nobody asks"
    rig.store.weather.gone = False
    assert rig.read_all() == values


def test_a_store_that_fails_half_the_calls_is_read_whole() -> None:
    rig = TierRig(delay_ms=50)
    values = rig.fill(150)
    rig.move()
    rig.store.weather.fail_percent = 50
    got: list[bytes | None] = []
    while len(got) < len(values):
        data = rig.read(len(got))
        assert data.error_code == 0
        got += values_of(data)
    assert got == values


def test_a_client_that_hangs_up_leaves_nobody_waiting() -> None:
    rig = TierRig()
    rig.fill(60)
    rig.move()
    rig.store.weather.gone = True
    client = rig.connect()
    rig.later(fetch_request(wants(0, 0), max_wait_ms=60_000), 12, client)
    rig.node.pass_time(5_000)
    client.connection.close("")
    rig.node.pass_time(20_000)
    calls = rig.store.calls
    rig.node.pass_time(60_000)
    assert rig.store.calls == calls


def test_a_start_that_moved_is_out_of_range_also_for_who_has_an_older_manifest() -> None:
    rig = TierRig()
    rig.fill(100)
    rig.move()
    assert values_of(rig.read(0))
    rig.copies[0].trim(40)
    rig.reads.pieces.forget("")
    rig.node.pass_time(5_000)
    rig.core.tier_reads = rig.reads = type(rig.reads)(rig.core, rig.store, lambda *_: None)
    assert rig.read(5).error_code == int(ErrorCode.OFFSET_OUT_OF_RANGE)
    assert rig.log().start_offset == 40, "the manifest has told so"
    assert len(rig.read_all()) == 60


def test_an_object_that_should_be_there_and_is_not_is_a_storage_error_and_never_a_gap() -> None:
    rig = TierRig()
    rig.fill(100)
    rig.move()
    second = rig.copies[0].head.segments[1]
    rig.bucket.delete(rig.copies[0].prefix + second.name)
    offset, code = 0, 0
    while code == 0 and offset < second.end_offset:
        data = rig.read(offset)
        code = data.error_code
        offset += len(values_of(data))
    assert (code, offset) == (int(ErrorCode.KAFKA_STORAGE_ERROR), second.base_offset)


def test_an_object_that_is_damaged_is_a_storage_error_and_the_node_goes_on() -> None:
    rig = TierRig()
    began = rig.clock.wall_ms()
    rig.fill(100)
    local = rig.move()
    copies = rig.copies[0]
    for number, entry in enumerate(copies.head.segments):
        data = bytearray(rig.bucket.objects[copies.prefix + entry.name])
        at = (entry.log_size + 3, 0, 8, entry.log_size // 2)[number % 4]
        data[at : at + 40] = b"\xff\xff\xf0\x00" * 10
        rig.bucket.put(copies.prefix + entry.name, bytes(data))
    for offset in range(0, local, 7):
        assert rig.read(offset).error_code in (0, int(ErrorCode.KAFKA_STORAGE_ERROR))
        rig.offset_at(began + 10 * offset)
    assert rig.read(copies.head.segments[1].base_offset).error_code == int(ErrorCode.KAFKA_STORAGE_ERROR)
    assert rig.produce().error_code == 0


def test_an_object_that_is_too_short_is_a_storage_error() -> None:
    rig = TierRig()
    rig.fill(100)
    rig.move()
    name = rig.copies[0].prefix + rig.copies[0].head.segments[0].name
    rig.bucket.put(name, rig.bucket.objects[name][:100])
    assert rig.read(0).error_code == int(ErrorCode.KAFKA_STORAGE_ERROR)


def test_a_reader_beyond_the_end_of_the_manifest_that_is_known_reads_it_anew() -> None:
    rig = TierRig()
    values = rig.fill(100)
    rig.copies[0].copy(rig.log(), 100, 3)
    let_go(rig.log())
    assert values_of(rig.read(0))
    rig.node.pass_time(2_000)
    before = rig.log().local_start_offset
    assert rig.move() > before + 20
    assert values_of(rig.read(before + 10))[0] == values[before + 10]


def test_what_is_here_is_told_without_waiting_for_the_rest() -> None:
    rig = TierRig()
    rig.reads.pieces.block_bytes = 200
    rig.reads.pieces.parallel_max = 1
    rig.fill(60)
    rig.move()
    data = rig.read(0)
    assert 0 < len(raw_records(data)) < 500 < rig.copies[0].head.segments[0].log_size


def test_without_a_manifest_nothing_is_said_to_be_lost() -> None:
    rig = TierRig()
    rig.fill(100)
    local = rig.move()
    rig.bucket.delete(rig.copies[0].prefix + "manifest.json")
    assert rig.read(0).error_code == int(ErrorCode.KAFKA_STORAGE_ERROR)
    assert rig.log().start_offset == 0
    assert values_of(rig.read(local))


def test_a_node_without_a_tier_says_so_instead_of_skipping_what_it_lacks() -> None:
    rig = TierRig()
    rig.fill(60)
    rig.move()
    rig.core.tier_reads = None
    assert rig.read(0).error_code == int(ErrorCode.KAFKA_STORAGE_ERROR)


@pytest.mark.parametrize("snapshots", ["whole", "gone", "torn"])
def test_read_committed_leaves_out_what_was_aborted_though_the_markers_are_elsewhere(snapshots: str) -> None:
    rig = TierRig()
    one, other = TxnProducer(rig, "one"), TxnProducer(rig, "other")
    one.init()
    other.init()
    for number in range(30):
        assert one.write(b"aborted %d" % number + b"x" * 100) == "NONE"
        assert other.write(b"kept %d" % number + b"x" * 100) == "NONE"
        if number % 10 == 9:
            one.abort()
            other.commit()
    rig.fill(30)
    for name in rig.log().disk.listdir(rig.log().directory) if snapshots != "whole" else ():
        if name.endswith(".snapshot"):  # what was open at a segment's end is told by the batches, then
            path = f"{rig.log().directory}/{name}"
            rig.log().disk.remove(path)
            if snapshots == "torn":
                rig.log().disk.write_file(path, b"\x00" * 20)
    local = rig.move()
    assert local > 60
    offset, found = 0, list[bytes]()
    while offset < local:
        data = rig.read(offset, isolation_level=1)
        found += shown(data)
        raw = raw_records(data)
        offset = list(batches(raw, 0, len(raw)))[-1].last_offset + 1
    assert found[:30] == [b"kept %d" % number + b"x" * 100 for number in range(30)]
    assert not any(value.startswith(b"aborted") for value in found)


def test_offsets_are_found_by_time_wherever_they_are() -> None:
    rig = TierRig()
    began = rig.clock.wall_ms()
    rig.fill(100)
    stamps = [rig.offset_at(began + 10 * number).offset for number in range(0, 100, 7)]
    greatest = rig.offset_at(MAX_TIMESTAMP)
    local = rig.move()
    rig.node.pass_time(10)
    assert [rig.offset_at(began + 10 * number).offset for number in range(0, 100, 7)] == stamps
    assert rig.offset_at(MAX_TIMESTAMP).offset == greatest.offset
    assert rig.offset_at(EARLIEST).offset == 0
    assert rig.offset_at(EARLIEST_LOCAL).offset == local
    assert rig.offset_at(LATEST_TIERED).offset == local - 1
    assert rig.offset_at(LATEST).offset == 100
    assert rig.offset_at(began + 10_000_000).offset == -1


def test_a_look_up_by_time_gives_up_on_a_tier_that_is_gone() -> None:
    rig = TierRig()
    began = rig.clock.wall_ms()
    rig.fill(60)
    rig.move()
    rig.store.weather.gone = True
    found = rig.offset_at(began)
    assert found.error_code == int(ErrorCode.REQUEST_TIMED_OUT)
    assert rig.offset_at(EARLIEST).error_code == 0


def test_a_client_that_hangs_up_leaves_no_look_up_waiting() -> None:
    rig = TierRig()
    began = rig.clock.wall_ms()
    rig.fill(60)
    rig.move()
    rig.store.weather.gone = True
    client = rig.connect()
    part = ListOffsetsPartition(partition_index=0, current_leader_epoch=-1, timestamp=began)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=TOPIC, partitions=[part])])
    rig.later(request, 9, client)
    rig.node.pass_time(2_000)
    client.connection.close("")
    rig.node.pass_time(10_000)
    calls = rig.store.calls
    rig.node.pass_time(60_000)
    assert rig.store.calls == calls


def test_many_partitions_let_go_of_what_the_tier_has_with_one_write() -> None:
    rig = TierRig(partitions=3)
    for index in range(3):
        rig.fill(60, index)
        rig.log(index).update_config(LogConfig({**TIERED, "local.retention.bytes": "0"}))
        rig.copies[index].copy(rig.log(index), 60)
    rig.node.pass_time(6_000)
    before = len(rig.node.disk.trace)
    rig.core.housekeeping._retention()
    rig.node.pass_time(1)
    assert [rig.log(index).start_offset for index in range(3)] == [0, 0, 0]
    assert all(rig.log(index).local_start_offset > 30 for index in range(3))
    renamed = [line for line in rig.node.disk.trace[before:] if "rename" in line and "local-log-start" in line]
    assert len(renamed) == 1, renamed
    assert len(rig.read_all(2)) == 60


def test_a_replica_that_follows_reads_the_tier_too() -> None:
    rig = TierRig()
    values = rig.fill(100)
    local = rig.move()
    partition = rig.partition()
    partition.follow(2, 0)
    found: list[bytes | None] = []
    while len(found) < local:
        found += values_of(rig.read(len(found)))
    assert found == values[: len(found)]
    rig.log().tiered_end = 0
    rig.reads.learn(partition)
    rig.node.pass_time(50)
    assert rig.log().tiered_end == local
    partition.follow(3, 7)
    rig.log().tiered_end = 0
    rig.reads.learn(partition)
    rig.node.pass_time(50)
    assert rig.log().tiered_end == 0, "the leader of this epoch has not claimed that manifest"


def test_a_follower_believes_a_manifest_only_as_far_as_it_has_the_same_epochs() -> None:
    rig = TierRig()
    rig.fill(60)
    partition, copies = rig.partition(), rig.copies[0]
    copies.copy(rig.log(), 60)
    whole = copies.head
    foreign = [replace(entry, epochs=((9, entry.base_offset),)) for entry in whole.segments[3:]]
    copies.put(replace(whole, segments=(*whole.segments[:3], *foreign)))
    partition.follow(2, 0)
    assert rig.log().tiered_end == 0, "what was known, another leader may have made another log of"
    rig.reads.learn(partition)
    rig.node.pass_time(50)
    assert rig.log().tiered_end == whole.segments[2].end_offset


def test_a_manifest_that_was_begun_anew_is_believed() -> None:
    rig = TierRig()
    rig.fill(60)
    copies = rig.copies[0]
    copies.put(replace(copies.head, sequence=500, start_offset=0))
    view = rig.reads.view(rig.partition())
    view.load()
    rig.node.pass_time(50)
    assert view.head().sequence == 500
    copies.put(replace(copies.head, sequence=1))
    view.load()
    rig.node.pass_time(50)
    assert view.head().sequence == 1


def test_a_follower_below_the_local_start_is_sent_to_the_tier() -> None:
    rig = LeaderRig()
    log = rig.partition().log
    log.update_config(LogConfig(TIERED))
    follower = Follower(rig, OTHER)
    for _ in range(60):
        batch = rig.batch(b"x" * 60)
        log.append(batch, 0, len(batch), 1)
    log.write()
    log.flush()
    Copies(Bucket(), rig.topic_id()).copy(log, 60)
    let_go(log)
    assert log.local_start_offset > 30
    assert follower.one(0).error_code == int(ErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE)
    assert follower.one(log.local_start_offset).error_code == 0

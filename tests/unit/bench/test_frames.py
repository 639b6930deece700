"""Prepared frames are what an independent codec says they should be."""

from __future__ import annotations

import struct

import cramjam
import crc32c
import pytest

from bench import frames
from tests.unit.bench.toy import decode, fetched, produced


@pytest.mark.parametrize("version", [3, 8, 9, 12])
def test_a_produce_frame_holds_one_batch_for_one_partition(version: int) -> None:
    records = frames.batch(frames.values(3, 100))
    frame = frames.produce("orders", records, 3, version=version)
    assert struct.unpack_from(">i", frame.data)[0] == len(frame.data) - 4
    _, request = decode(frame.data[4:])
    (topic,) = request.topic_data
    (partition,) = topic.partition_data
    assert (topic.name, partition.index, request.acks) == ("orders", 0, -1)
    assert bytes(partition.records) == records


@pytest.mark.parametrize("version", [3, 9])
def test_the_positions_of_a_produce_frame_point_at_partition_and_error_code(version: int) -> None:
    frame = frames.produce("orders", frames.batch([b"x"]), 1, version=version)
    data = bytearray(frame.data)
    struct.pack_into(">i", data, frame.partition_pos, 17)
    header, request = decode(bytes(data[4:]))
    assert request.topic_data[0].partition_data[0].index == 17
    answer = produced(header, request, error=6)
    assert struct.unpack_from(">h", answer, frame.answer_pos)[0] == 6


def test_versions_that_name_topics_by_id_are_refused() -> None:
    with pytest.raises(ValueError, match="3 to 12"):
        frames.produce("orders", b"", 0, version=13)


def test_the_positions_of_a_fetch_frame_point_at_partition_offset_and_answer() -> None:
    frame = frames.fetch("orders", 1 << 20)
    data = bytearray(frame.data)
    struct.pack_into(">i", data, frame.partition_pos, 3)
    struct.pack_into(">q", data, frame.offset_pos, 1234)
    header, request = decode(bytes(data[4:]))
    (partition,) = request.topics[0].partitions
    assert (partition.partition, partition.fetch_offset, partition.partition_max_bytes) == (3, 1234, 1 << 20)
    answer = fetched(header, request, b"", 99, error=1)
    assert struct.unpack_from(">ihq", answer, frame.answer_pos) == (3, 1, 99)


def test_a_batch_carries_a_matching_checksum_and_record_count() -> None:
    batch = frames.batch(frames.values(7, 50))
    assert struct.unpack_from(">i", batch, 8)[0] == len(batch) - 12
    assert struct.unpack_from(">I", batch, 17)[0] == crc32c.crc32c(batch[21:])
    assert struct.unpack_from(">i", batch, 23)[0] == 6
    assert struct.unpack_from(">i", batch, 57)[0] == 7


@pytest.mark.parametrize("size", [16 << 10, 128 << 10, 1_000_000])
def test_a_batch_has_exactly_the_size_that_was_asked_for(size: int) -> None:
    batch, count = frames.batch_of_bytes(size, 100)
    assert len(batch) == size
    assert struct.unpack_from(">i", batch, 57)[0] == count


def test_lz4_batches_have_independent_blocks() -> None:
    batch = frames.batch(frames.values(100, 100), lz4=True)
    assert struct.unpack_from(">h", batch, 21)[0] == frames.LZ4
    assert batch[61 + 4] & 0x20
    assert len(bytes(cramjam.lz4.decompress(batch[61:]))) > 100 * 100


def test_varints_are_those_of_the_record_format() -> None:
    assert [frames.varint(v) for v in (0, -1, 1, 63, 64, -65)] == [b"\0", b"\1", b"\2", b"\x7e", b"\x80\1", b"\x81\1"]
    assert frames.uvarint(300) == b"\xac\2"

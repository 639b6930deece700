"""The transports and the shell over real sockets: any way a client may send, receive, stall or vanish."""

from __future__ import annotations

import errno
import logging
import os
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tapelog.node.shell import IDLE_CHECK_MS
from tapelog.node.transport import ACCEPT_PAUSE_MS
from tapelog.server.connection import OUTGOING_BYTES_MAX
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.api_versions_request import ApiVersionsRequest
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tapelog.wire.messages.delete_topics_request import DeleteTopicsRequest
from tapelog.wire.messages.metadata_request import MetadataRequest
from tapelog.wire.record_batch import Record, build_batch
from tests.support.calm import calm
from tests.support.house import Client, House
from tests.support.rig import TOPIC, fetch_request, produce_request, raw_records, wants

API_VERSIONS = ApiVersionsRequest()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    yield house
    house.close()


def make_topic(house: House, megabytes: int = 0) -> bytes:
    """The topic with so many large batches in it; the bytes a fetch of all of it must return."""
    client = house.connect()
    topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1)
    assert client.call(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7).topics[0].error_code == 0
    for number in range(megabytes):
        record = Record(0, house.clock.wall_ms(), b"%d" % number, os.urandom(1_000_000))
        answer = client.call(produce_request((TOPIC, 0, build_batch([record]))), 9)
        assert answer.responses[0].partition_responses[0].error_code == 0
    client.sock.close()
    house.turn_until(lambda: not house.shell.transports, "dropped")
    partition = house.core.topics[TOPIC].partitions[0]
    assert partition is not None
    region = partition.log.read(0, 1 << 30, partition.log.end_offset, True) if megabytes else None
    return region.read() if region is not None else b""


ALL = fetch_request(wants(0, 0, 1 << 30), max_bytes=1 << 30)


# -- accepting


@pytest.mark.skipif(not hasattr(socket, "TCP_CONGESTION"), reason="needs TCP_CONGESTION, which Linux has")
def test_a_client_on_this_machine_is_sent_to_without_pacing(house: House) -> None:
    house.connect()
    (transport,) = house.shell.transports.values()
    chosen = transport.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    assert chosen.rstrip(b"\0") == b"reno"


# -- receiving


def test_a_request_may_come_one_byte_at_a_time(house: House) -> None:
    client = house.connect()
    for byte in client.frame(API_VERSIONS, 0):
        client.send(bytes([byte]))
        house.turn()
    assert client.answer(API_VERSIONS, 0).error_code == 0


def test_half_a_request_waits_for_its_other_half(house: House) -> None:
    client, other = house.connect(), house.connect()
    data = client.frame(MetadataRequest(topics=None), 5)
    client.send(data[:9])
    for _ in range(5):
        house.turn()
    assert client.receive() == 0
    assert other.call(API_VERSIONS, 0).error_code == 0
    client.send(data[9:])
    assert client.answer(MetadataRequest(topics=None), 5).brokers


def test_those_who_ask_for_very_much_at_once_do_not_keep_others_waiting(house: House) -> None:
    asked, crowd = MetadataRequest(topics=None), [house.connect() for _ in range(10)]
    other = house.connect()
    for client in crowd:
        client.send(client.frame(asked, 5) * 1000)
    other.send(other.frame(API_VERSIONS, 0))
    house.turn_until(lambda: other.receive() or other.received, "the answer of who asks once")
    transports = house.shell.transports.values()
    assert sum(transport.connection.requests for transport in transports) < 5000, "of ten thousand"
    for _ in range(1000):
        assert all(client.answer(asked, 5).brokers for client in crowd)


def test_thousands_of_requests_at_once_are_answered_in_order(house: House) -> None:
    client = house.connect()
    client.send(b"".join(client.frame(API_VERSIONS, 0) for _ in range(5000)))
    for number in range(1, 5001):
        assert struct.unpack_from(">i", client.take_frame())[0] == number


def test_large_requests_arrive_whole(house: House) -> None:
    stored = make_topic(house, 3)
    assert len(stored) > 3_000_000


def test_a_client_that_leaves_in_the_middle_of_a_request_costs_nothing(house: House) -> None:
    client = house.connect()
    client.send(struct.pack(">i", 1_000_000) + b"\0" * 100_000)
    house.turn_until(lambda: house.core.dispatcher.held_bytes > 0, "received")
    client.sock.close()
    house.turn_until(lambda: not house.shell.transports, "dropped")
    assert house.core.dispatcher.held_bytes == 0


# -- sending


@pytest.mark.parametrize("limit", [7_000, 100_000, 1 << 20])
def test_large_regions_arrive_whole_however_slowly_they_are_read(house: House, limit: int) -> None:
    stored = make_topic(house, 4)
    client = house.connect(receive_buffer=20_000)
    client.send(client.frame(ALL, 12))
    client.send(client.frame(API_VERSIONS, 0))
    assert raw_records(client.answer(ALL, 12, limit).responses[0].partitions[0]) == stored
    assert client.answer(API_VERSIONS, 0).error_code == 0


def test_many_small_regions_between_bytes_arrive_in_order(house: House) -> None:
    make_topic(house)
    writer, client = house.connect(), house.connect(receive_buffer=5_000)
    stamp = house.clock.wall_ms()
    for number in range(30):
        batch = build_batch([Record(0, stamp, None, b"%d" % number * 500)])
        writer.call(produce_request((TOPIC, 0, batch)), 9)
    requests = [fetch_request(wants(0, number, 1)) for number in range(30)]
    client.send(b"".join(client.frame(request, 12) for request in requests))
    for number, request in enumerate(requests):
        raw = raw_records(client.answer(request, 12, 999).responses[0].partitions[0])
        assert b"%d" % number * 500 in raw


def test_what_is_not_in_the_page_cache_is_read_ahead_elsewhere(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = make_topic(house, 2)
    real, probes = os.preadv, []

    def cold(fd: int, buffers: Any, offset: int, flags: int = 0) -> int:
        probes.append(flags)
        if flags:
            raise BlockingIOError(errno.EAGAIN, "not in memory")
        return real(fd, buffers, offset)

    monkeypatch.setattr(os, "preadv", cold)
    client = house.connect()
    client.send(client.frame(ALL, 12))
    assert raw_records(client.answer(ALL, 12).responses[0].partitions[0]) == stored
    assert any(probes)


def test_what_comes_from_the_disk_damaged_is_not_sent(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    make_topic(house, 3)
    partition = house.core.topics[TOPIC].partitions[0]
    assert partition is not None
    real = os.preadv

    def cold(fd: int, buffers: Any, offset: int, flags: int = 0) -> int:
        if flags:
            raise BlockingIOError(errno.EAGAIN, "not in memory")
        return real(fd, buffers, offset)

    monkeypatch.setattr(os, "preadv", cold)
    second = partition.log.active.position_of(1)
    with open(partition.log.active.path, "r+b") as rotten:
        rotten.seek(second + 5000)
        rotten.write(b"rot")
    client = house.connect()
    client.send(client.frame(ALL, 12))
    house.turn_until(client.closed, "nothing wrong is sent")
    house.turn_until(lambda: [str(one.reason) for one in partition.log.damaged] == ["wrong checksum"], "it is known")
    again = house.connect()
    again.send(again.frame(ALL, 12))
    (before,) = again.answer(ALL, 12).responses[0].partitions
    assert len(raw_records(before)) == second, "what lies before is served"
    there = fetch_request(wants(0, 1, 1 << 30), max_bytes=1 << 30)
    assert again.call(there, 12).responses[0].partitions[0].error_code == ErrorCode.CORRUPT_MESSAGE


def test_a_client_that_stops_reading_holds_little_and_disturbs_nobody(house: House) -> None:
    stored = make_topic(house, 2)
    client, other = house.connect(receive_buffer=20_000), house.connect()
    client.send(b"".join(client.frame(ALL, 12) for _ in range(40)))
    for _ in range(50):
        house.turn()
    connection = next(iter(house.shell.transports.values())).connection
    assert connection.blocked
    assert connection.outgoing_bytes <= OUTGOING_BYTES_MAX + len(stored) + 1000
    with calm():
        began = time.thread_time()
        assert other.call(API_VERSIONS, 0).error_code == 0
        for _ in range(100):
            house.turn()
        assert time.thread_time() - began < 0.25, "of half a second; the loop does not spin"
    for _ in range(40):
        assert len(raw_records(client.answer(ALL, 12).responses[0].partitions[0])) == len(stored)


def test_a_topic_deleted_while_it_is_being_sent_is_sent_to_its_end(house: House) -> None:
    stored = make_topic(house, 4)
    client, admin = house.connect(receive_buffer=20_000), house.connect()
    client.send(client.frame(ALL, 12))
    for _ in range(5):
        house.turn()
    assert admin.call(DeleteTopicsRequest(topic_names=[TOPIC], timeout_ms=1000), 5).responses[0].error_code == 0
    for _ in range(20):
        house.turn()
    assert raw_records(client.answer(ALL, 12).responses[0].partitions[0]) == stored


def test_a_read_that_fails_while_sending_costs_one_connection(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    make_topic(house)
    client, other = house.connect(), house.connect()
    batch = build_batch([Record(0, house.clock.wall_ms(), None, b"v" * 100)])
    other.call(produce_request((TOPIC, 0, batch)), 9)

    real = os.pread

    def broken(fd: int, size: int, offset: int) -> bytes:
        if size == len(batch):
            raise OSError(errno.EIO, "a bad sector")
        return real(fd, size, offset)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", broken)
        client.send(client.frame(ALL, 12))
        house.turn_until(client.closed, "closed")
    assert other.call(API_VERSIONS, 0).error_code == 0


def test_a_client_that_vanishes_while_its_requests_wait_is_dropped(house: House) -> None:
    make_topic(house)
    client = house.connect()
    waiting = fetch_request(wants(0, 0), max_wait_ms=60_000)
    client.send(client.frame(waiting, 12) + client.frame(API_VERSIONS, 0))
    house.turn_until(lambda: next(iter(house.shell.transports.values())).connection.blocked, "blocked")
    client.reset()
    house.turn_until(lambda: not house.shell.transports, "dropped")
    partition = house.core.topics[TOPIC].partitions[0]
    assert partition is not None
    assert not partition._waiters


# -- bounds


def test_idle_connections_are_closed_and_waiting_ones_are_not(house: House) -> None:
    make_topic(house)
    idle, waiting = house.connect(), house.connect()
    idle.call(API_VERSIONS, 0)
    waiting.send(waiting.frame(fetch_request(wants(0, 0), max_wait_ms=0x7FFFFFFF), 12))
    house.turn_until(lambda: any(t.connection.calls for t in house.shell.transports.values()), "parked")
    house.clock.ahead_ms += IDLE_CHECK_MS
    house.turn()
    assert not idle.closed()
    house.core.metadata._numbers["connections.max.idle.ms"] = 20_000
    house.clock.ahead_ms += 2 * IDLE_CHECK_MS + 1
    house.turn_until(idle.closed, "closed for idleness")
    assert not waiting.closed()


def test_max_connections(tmp_path: Path) -> None:
    house = House(tmp_path, {"max.connections": "2"})
    first, second = house.connect(), house.connect()
    third = house.connect()
    house.turn_until(third.closed, "refused")
    assert second.call(API_VERSIONS, 0).error_code == 0
    first.sock.close()
    house.turn_until(lambda: len(house.shell.transports) == 1, "dropped")
    assert house.connect().call(API_VERSIONS, 0).error_code == 0
    house.close()


def test_max_connections_per_ip(tmp_path: Path) -> None:
    house = House(tmp_path, {"max.connections.per.ip": "1"})
    first = house.connect()
    second = house.connect()
    house.turn_until(second.closed, "refused")
    first.sock.close()
    house.turn_until(lambda: not house.shell.transports, "dropped")
    assert house.connect().call(API_VERSIONS, 0).error_code == 0
    house.close()


class OutOfDescriptors(socket.socket):
    """A listener that cannot accept for a while."""

    exhausted = True
    attempts = 0

    def accept(self) -> Any:
        self.attempts += 1
        if self.exhausted:
            raise OSError(errno.EMFILE, "too many open files")
        return super().accept()


def test_accepting_pauses_while_there_are_no_descriptors(house: House) -> None:
    before = house.connect()
    acceptor = house.shell._acceptors[0]
    listener = acceptor.listener = OutOfDescriptors(fileno=acceptor.listener.detach())
    listener.setblocking(False)
    late = Client(house)
    house.turn_until(lambda: listener.attempts == 1, "tried")
    began_ms = house.clock.monotonic_ms()
    for _ in range(10):
        house.turn()
    pauses = (house.clock.monotonic_ms() - began_ms) // ACCEPT_PAUSE_MS  # several, on a busy machine
    assert listener.attempts <= 2 + pauses, "it does not spin"
    assert before.call(API_VERSIONS, 0).error_code == 0
    listener.exhausted = False
    house.clock.ahead_ms += ACCEPT_PAUSE_MS
    assert late.call(API_VERSIONS, 0).error_code == 0


def test_a_stopped_node_closes_every_connection_and_its_port(tmp_path: Path) -> None:
    house = House(tmp_path)
    clients = [house.connect() for _ in range(3)]
    open_before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    house.close()
    assert all(client.closed() for client in clients)
    with pytest.raises(OSError):
        socket.create_connection(house.address, timeout=1)
    assert (tmp_path / ".kafka_cleanshutdown").exists()
    if open_before:
        assert len(os.listdir("/proc/self/fd")) < open_before


@pytest.mark.parametrize("asked", [50_000, 200_000])
def test_a_connections_send_buffer_is_as_large_as_configured(tmp_path: Path, asked: int) -> None:
    house = House(tmp_path, {"socket.send.buffer.bytes": str(asked)})
    house.connect()
    (transport,) = house.shell.transports.values()
    given = transport.sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    house.close()
    assert asked <= given <= 2 * asked  # Linux doubles it, for its own bookkeeping


# -- strangers


def test_how_often_a_stranger_came_is_told_at_the_latest_when_the_node_stops(
    house: House, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("tapelog"), "propagate", True)
    for _ in range(3):
        client = house.connect()
        client.send(bytes.fromhex("1603010200010001fc0303"))
        house.turn_until(lambda: not house.shell.transports, "dropped")
    house.shell.close()
    words = "looks like TLS; this listener is PLAINTEXT"
    assert [record.getMessage() for record in caplog.records if "TLS" in record.getMessage()] == [
        f"closed the connection from 127.0.0.1: {words}",
        f"closed 2 more from 127.0.0.1 within a minute: {words}",
    ]

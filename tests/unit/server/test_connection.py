"""The connection machine: frames in any pieces, answers in request order, bounds on what a client can hold."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapelog.server.call import Call
from tapelog.server.connection import IN_FLIGHT_MAX, Connection
from tapelog.server.dispatch import Dispatcher

PRODUCE, FETCH = 0, 1
OFFSET_COMMIT, JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP = 8, 11, 12, 13, 14


class Recorder(Dispatcher):
    """Stands where the dispatcher stands: keeps the calls, answers nothing by itself."""

    def __init__(self) -> None:
        self.dirty_connections: list[Connection] = []
        self.resumable: list[Connection] = []
        self.started: list[tuple[int, bytes]] = []
        self.calls: list[Call] = []
        self.closed: list[str] = []
        self.held_bytes = 0

    def dispatch(self, connection: Connection, buf: bytes, start: int, end: int) -> None:
        api_key = struct.unpack_from(">h", buf, start)[0]
        self.started.append((api_key, buf[start:end]))
        call = Call(connection, api_key, 0, len(self.calls), "")
        self.calls.append(call)
        connection.calls.append(call)

    def connection_closed(self, connection: Connection) -> None:
        self.closed.append(connection.close_reason)

    def answer(self, number: int, data: bytes) -> None:
        call = self.calls[number]
        call.chunks, call.done = [data], True
        call.connection.answered()
        while self.resumable:
            self.resumable.pop().resume()


def connect(max_bytes: int = 1000) -> tuple[Connection, Recorder]:
    recorder = Recorder()
    return Connection(recorder, 1, "127.0.0.1", "PLAINTEXT", max_bytes), recorder


def frame(api_key: int, payload: bytes = b"") -> bytes:
    body = struct.pack(">hhi", api_key, 0, 0) + payload
    return struct.pack(">i", len(body)) + body


def test_answers_leave_in_request_order_even_if_they_are_ready_out_of_order() -> None:
    connection, recorder = connect()
    connection.feed(frame(PRODUCE) * 3)
    recorder.answer(2, b"third")
    recorder.answer(1, b"second")
    assert connection.outgoing == []
    recorder.answer(0, b"first")
    assert connection.outgoing == [b"first", b"second", b"third"]


def test_a_request_that_is_no_produce_waits_for_the_answers_before_it() -> None:
    connection, recorder = connect()
    connection.feed(frame(PRODUCE) + frame(FETCH) + frame(PRODUCE))
    assert [key for key, _ in recorder.started] == [PRODUCE]
    assert connection.blocked
    recorder.answer(0, b"a")
    assert [key for key, _ in recorder.started] == [PRODUCE, FETCH]
    recorder.answer(1, b"b")
    assert [key for key, _ in recorder.started] == [PRODUCE, FETCH, PRODUCE]


@pytest.mark.parametrize("waiting", [JOIN_GROUP, SYNC_GROUP])
def test_a_member_that_waits_for_the_others_is_heard_when_it_commits_and_leaves(waiting: int) -> None:
    connection, recorder = connect()
    connection.feed(frame(waiting))
    connection.feed(frame(OFFSET_COMMIT) + frame(LEAVE_GROUP) + frame(HEARTBEAT))
    assert [key for key, _ in recorder.started] == [waiting, OFFSET_COMMIT, LEAVE_GROUP]
    recorder.answer(2, b"left")
    recorder.answer(1, b"committed")
    assert connection.outgoing == []
    recorder.answer(0, b"unknown member")
    assert connection.outgoing == [b"unknown member", b"committed", b"left"]
    assert [key for key, _ in recorder.started][3:] == [HEARTBEAT]


def test_a_member_that_waits_for_the_others_can_only_commit_and_leave_and_not_without_bound() -> None:
    connection, recorder = connect()
    connection.feed(frame(JOIN_GROUP) + frame(HEARTBEAT) + frame(LEAVE_GROUP))
    assert [key for key, _ in recorder.started] == [JOIN_GROUP]
    connection, recorder = connect()
    connection.feed(frame(FETCH) + frame(LEAVE_GROUP))
    assert [key for key, _ in recorder.started] == [FETCH]
    connection, recorder = connect()
    connection.feed(frame(JOIN_GROUP) + frame(OFFSET_COMMIT) * (IN_FLIGHT_MAX + 5))
    assert len(recorder.started) == IN_FLIGHT_MAX


def test_a_client_cannot_have_more_than_the_bounded_number_of_produces_in_flight() -> None:
    connection, recorder = connect()
    connection.feed(frame(PRODUCE) * (IN_FLIGHT_MAX + 5))
    assert len(recorder.started) == IN_FLIGHT_MAX
    for number in range(IN_FLIGHT_MAX):
        recorder.answer(number, b"x")
    assert len(recorder.started) == IN_FLIGHT_MAX + 5


def test_a_client_that_does_not_read_its_answers_gets_no_new_work_done() -> None:
    connection, recorder = connect()
    connection.feed(frame(FETCH) + frame(FETCH))
    recorder.answer(0, b"x" * 300_000)
    assert len(recorder.started) == 1
    connection.outgoing.clear()
    connection.outgoing_bytes = 0
    connection.sent()
    recorder.resumable.pop().resume()
    assert len(recorder.started) == 2


def test_a_frame_larger_than_allowed_or_of_negative_size_closes_the_connection() -> None:
    for size in (-1, 0, 7, 1001, 2**31 - 1):
        connection, recorder = connect(max_bytes=1000)
        connection.feed(struct.pack(">i", size) + b"12345678")
        assert connection.closed
        assert "frame of" in recorder.closed[0]
        assert recorder.started == []


@given(st.lists(st.binary(max_size=40), max_size=8), st.lists(st.integers(1, 30), min_size=1, max_size=20))
def test_frames_arrive_whole_however_the_bytes_are_cut(payloads: list[bytes], cuts: list[int]) -> None:
    connection, recorder = connect()
    stream = b"".join(frame(PRODUCE, payload) for payload in payloads)
    at, turn = 0, 0
    while at < len(stream):
        step = cuts[turn % len(cuts)]
        connection.feed(stream[at : at + step])
        at, turn = at + step, turn + 1
    assert [body[8:] for _, body in recorder.started] == payloads
    assert connection.partial_bytes == 0

"""The connection machine: frames in any pieces, answers in request order, bounds on what a client can hold."""

from __future__ import annotations

import struct
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapelog.server.call import Call
from tapelog.server.connection import IN_FLIGHT_MAX, RESERVED_BYTES, SMALL_BYTES, TURN_MAX, Connection
from tapelog.server.dispatch import Dispatcher

PRODUCE, FETCH, METADATA = 0, 1, 3
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
        self.held_bytes_max = 10 << 20
        self.room_waiters: deque[Connection] = deque()
        self.rooms_given = 0
        self.pressed = False
        self.held_back: list[Connection] = []

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


class Prompt(Recorder):
    """Answers at once."""

    def dispatch(self, connection: Connection, buf: bytes, start: int, end: int) -> None:
        super().dispatch(connection, buf, start, end)
        call = self.calls[-1]
        call.chunks, call.done = [b"a"], True
        connection.answered()


def test_however_much_has_come_a_client_has_its_turn_and_then_others_have_theirs() -> None:
    prompt = Prompt()
    connection = Connection(prompt, 1, "127.0.0.1", "PLAINTEXT", 1000)
    connection.feed(frame(METADATA) * (2 * TURN_MAX + 5))
    for begun in (TURN_MAX, 2 * TURN_MAX, 2 * TURN_MAX + 5):
        assert len(prompt.started) == len(connection.outgoing) == begun
        for waiting in list(prompt.resumable):
            prompt.resumable.remove(waiting)
            waiting.resume()
    assert not connection.blocked and not prompt.resumable
    connection.feed(frame(METADATA))
    assert len(connection.outgoing) == 2 * TURN_MAX + 6


def test_produces_need_no_turn() -> None:
    prompt = Prompt()
    connection = Connection(prompt, 1, "127.0.0.1", "PLAINTEXT", 1000)
    connection.feed(frame(PRODUCE) * (3 * TURN_MAX))
    assert len(connection.outgoing) == 3 * TURN_MAX


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


MB = 1 << 20


def begun(recorder: Recorder, announced: int, received: int) -> Connection:
    """A connection of which so much of a request has come."""
    connection = Connection(recorder, 1, "127.0.0.1", "PLAINTEXT", 100 * MB)
    connection.feed(struct.pack(">i", announced - 4) + bytes(received - 4))
    return connection


def test_a_large_frame_reserves_its_room_when_it_begins() -> None:
    recorder = Recorder()
    begun(recorder, SMALL_BYTES, 10)
    assert recorder.held_bytes == SMALL_BYTES
    begun(recorder, 900_000, 10)
    assert recorder.held_bytes == SMALL_BYTES + 900_000
    huge = begun(recorder, 90 * MB, 10)
    assert recorder.held_bytes == SMALL_BYTES + 900_000 + RESERVED_BYTES, "what was only announced is not believed"
    huge.feed(bytes(2 * MB))
    assert recorder.held_bytes == SMALL_BYTES + 900_000 + 2 * (2 * MB + 10)
    huge.close("")
    assert recorder.held_bytes == SMALL_BYTES + 900_000


def test_a_large_frame_without_room_is_not_read_on_until_others_are_done() -> None:
    recorder = Recorder()
    recorder.held_bytes_max = 10 * MB + MB // 2
    first = [begun(recorder, MB, 10) for _ in range(10)]
    late, later = begun(recorder, MB, 10), begun(recorder, MB, 10)
    small = begun(recorder, 1000, 10)
    assert late.blocked and later.blocked and not small.blocked and not any(one.blocked for one in first)
    recorder.give_room()
    assert late.blocked
    first[0].feed(bytes(MB - 10))
    assert len(recorder.started) == 1
    recorder.give_room()
    assert not late.blocked and later.blocked, "first come, first served"
    assert recorder.resumable == [late]
    late.feed(bytes(MB - 10))
    assert len(recorder.started) == 2
    later.close("")
    recorder.give_room()
    assert not recorder.room_waiters
    for one in (*first, small):
        one.close("")
    assert recorder.held_bytes == 0


def test_a_frame_larger_than_all_room_is_read_when_nobody_else_needs_any() -> None:
    recorder = Recorder()
    recorder.held_bytes_max = 2 * MB
    other = begun(recorder, 1000, 10)
    whole = begun(recorder, 3 * MB, 2 * MB)
    assert whole.blocked
    other.close("")
    recorder.give_room()
    assert not whole.blocked
    whole.feed(bytes(MB))
    assert len(recorder.started) == 1


def test_a_produce_waits_while_the_disk_is_behind_and_nothing_else_does() -> None:
    connection, recorder = connect()
    other = Connection(recorder, 2, "127.0.0.1", "PLAINTEXT", 1000)
    connection.feed(frame(PRODUCE, b"1"))
    recorder.press(True)
    connection.feed(frame(PRODUCE, b"2"))
    other.feed(frame(FETCH, b"3"))
    assert [api for api, _ in recorder.started] == [PRODUCE, FETCH]
    assert connection.blocked
    recorder.answer(0, b"done")
    assert connection.blocked and len(recorder.started) == 2, "an answer alone does not let it go on"
    recorder.press(False)
    assert recorder.resumable == [connection]
    recorder.resumable.pop().resume()
    assert [api for api, _ in recorder.started] == [PRODUCE, FETCH, PRODUCE]
    assert not connection.blocked and not connection.held_back


def test_a_produce_held_back_goes_on_after_its_earlier_ones_are_answered() -> None:
    connection, recorder = connect()
    connection.feed(frame(PRODUCE, b"1"))
    recorder.press(True)
    connection.feed(frame(PRODUCE, b"2"))
    recorder.press(False)
    assert not recorder.resumable, "order: the first is still under way"
    recorder.answer(0, b"done")
    assert len(recorder.started) == 2

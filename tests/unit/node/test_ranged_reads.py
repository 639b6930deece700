"""Ranges received into the memory they are for: only the good case, everything else is somebody else's."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tapelog.log.tier.store import ObjectMissingError
from tapelog.node import ranged_reads
from tapelog.node.object_stores import ObstoreBackend
from tapelog.node.ranged_reads import FAILURES_MAX, RangedReads
from tests.unit.node.range_server import DATA, Answer, good, head, ignored, read, served


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ranged_reads.PROXIES:
        monkeypatch.delenv(name, raising=False)


def test_a_range_arrives_and_the_connection_and_the_signed_url_are_used_again() -> None:
    with served() as (server, reads, signed):
        assert read(reads, 100, 200_000) == DATA[100:200_100]
        assert read(reads, 0, 1) == DATA[:1]
        assert (server.connections, signed, reads.filled) == (1, ["a"], 2)
        assert server.requests[0].startswith("GET /bucket/a?X-Amz-Signature=1 HTTP/1.1\r\n")
        assert f"Host: 127.0.0.1:{server.port}\r\n" in server.requests[0]


def test_a_head_and_a_body_that_come_in_small_pieces_are_put_together() -> None:
    def dripping(peer: socket.socket, first: int, last: int) -> bool:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answer = head(first, last) + DATA[first : last + 1]
        for at in range(0, len(answer), 30):
            peer.sendall(answer[at : at + 30])
        return True

    with served() as (server, reads, _):
        server.answer = dripping
        assert read(reads, 5, 700) == DATA[5:705]


def split(memory: bytearray, *sizes: int) -> list[memoryview]:
    """Pieces of these sizes, one after the other."""
    ends = [sum(sizes[: number + 1]) for number in range(len(sizes))]
    return [memoryview(memory)[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def test_one_request_fills_several_pieces_of_memory_and_each_is_told_when_it_is_full() -> None:
    go_on = threading.Event()

    def pausing(peer: socket.socket, first: int, last: int) -> bool:
        peer.sendall(head(first, last) + DATA[first : first + 70_000])
        assert go_on.wait(30)
        peer.sendall(DATA[first + 70_000 : last + 1])
        return True

    with served() as (server, reads, _):
        server.answer = pausing
        memory, told = bytearray(200_000), []

        def filled() -> None:
            told.append(go_on.is_set())
            go_on.set()

        pieces = split(memory, 10, 49_990, 100_000, 50_000)
        assert reads.read_into("a", 3, pieces, filled) == 4
        assert memory == DATA[3:200_003]
        assert told == [False, True, True, True], "the first was told before the last bytes were sent"
        assert len(server.requests) == 1


@pytest.mark.parametrize("choosy", [True, False])
def test_nobody_waits_for_more_than_there_is(monkeypatch: pytest.MonkeyPatch, choosy: bool) -> None:
    """A receiver that is woken late must not sleep on when the last byte is here, on a connection that lasts."""
    monkeypatch.setattr(ranged_reads, "WAKES_AT", (5000, 600, 1))
    if not choosy:
        monkeypatch.setattr(ranged_reads, "_makes_room", lambda _: False)

    def in_parts(peer: socket.socket, first: int, last: int) -> bool:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.sendall(head(first, last))
        for at in range(first, last + 1, 700):
            peer.sendall(DATA[at : min(at + 700, last + 1)])
        return True

    with served() as (server, reads, _):
        for answer in (good, in_parts):
            server.answer = answer
            for size in (1, 599, 600, 601, 700, 1300, 4999, 5000, 5001, 5600, 6300, 60_000, 200_000):
                assert read(reads, 7, size) == DATA[7 : 7 + size]
            for sizes in ((1, 1), (600, 5000), (5000, 600), (700, 4300, 1), (60_000, 60_000, 5001)):
                memory = bytearray(sum(sizes))
                assert reads.read_into("a", 7, split(memory, *sizes), ignored) == len(sizes)
                assert memory == DATA[7 : 7 + sum(sizes)]
        assert server.connections == 1, "a read that slept for STALL_S would have given up its connection"


def test_a_connection_that_the_server_closed_meanwhile_is_made_anew() -> None:
    with served() as (server, reads, _):
        server.answer = lambda peer, first, last: good(peer, first, last) and False
        assert read(reads, 0, 10) == DATA[:10]
        server.answer = good
        assert read(reads, 10, 10) == DATA[10:20]
        assert server.connections == 2


def answering(more: str, status: str) -> Answer:
    def answer(peer: socket.socket, first: int, last: int) -> bool:
        peer.sendall(head(first, last, more, status=status) + DATA[first : last + 1])
        return True

    return answer


def test_a_connection_that_is_to_be_closed_is() -> None:
    with served() as (server, reads, _):
        for more, status in (("Connection: close", "HTTP/1.1 206 OK"), ("X: y", "HTTP/1.0 206 OK")):
            server.answer = (
                lambda peer, first, last, more=more, status=status: (  # type: ignore[misc]
                    peer.sendall(head(first, last, more, status=status) + DATA[first : last + 1]) is None
                )
            )
            assert read(reads, 0, 10) == DATA[:10]
        assert server.connections == 2


def refused(status: str) -> Answer:
    def answer(peer: socket.socket, first: int, last: int) -> bool:
        peer.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())
        return True

    return answer


def other_range(peer: socket.socket, first: int, last: int) -> bool:
    peer.sendall(head(first + 1, last + 1) + DATA[first + 1 : last + 2])
    return True


def shorter(peer: socket.socket, first: int, last: int) -> bool:
    peer.sendall(head(first, last - 1) + DATA[first:last])
    return True


def cut_off(peer: socket.socket, first: int, last: int) -> bool:
    peer.sendall(head(first, last) + DATA[first : last - 5])
    return False


def stopping(peer: socket.socket, first: int, last: int) -> bool:
    peer.sendall(head(first, last) + DATA[first:last])
    return True


def chunked(peer: socket.socket, first: int, last: int) -> bool:
    peer.sendall(head(first, last, "Transfer-Encoding: chunked") + DATA[first : last + 1])
    return True


def compressed(peer: socket.socket, first: int, last: int) -> bool:
    peer.sendall(head(first, last, "Content-Encoding: gzip") + DATA[first : last + 1])
    return True


def endless_head(peer: socket.socket, first: int, last: int) -> bool:
    peer.sendall(b"HTTP/1.1 206 OK\r\n" + b"X: y\r\n" * 5000)
    return True


def no_http(peer: socket.socket, first: int, last: int) -> bool:
    peer.sendall(b"hello\r\n\r\n")
    return True


WRONG = [other_range, shorter, cut_off, chunked, compressed, endless_head, no_http]
STATUSES = ["200 OK", "301 Moved", "403 Forbidden", "404 Not Found", "416 Not Satisfiable", "500 Oops", "503 Slow Down"]


@pytest.mark.parametrize("answer", [*WRONG, *map(refused, STATUSES)], ids=[*(one.__name__ for one in WRONG), *STATUSES])
def test_whatever_else_is_answered_is_left_to_others(answer: Answer) -> None:
    with served() as (server, reads, signed):
        server.answer = answer
        assert read(reads, 50, 100) is None
        server.answer = good
        assert read(reads, 50, 100) == DATA[50:150], "and harms nobody who comes later"
        assert signed == ["a", "a"], "the URL may be what was wrong"


def test_who_fails_again_and_again_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(ranged_reads, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with served() as (server, reads, _):
        server.answer = refused("500 Oops")
        for _ in range(FAILURES_MAX + 5):
            assert read(reads, 0, 10) is None
        assert len(server.requests) == FAILURES_MAX
        server.answer = good
        now[0] += ranged_reads.REST_S + 1
        assert read(reads, 0, 10) == DATA[:10]


def test_objects_that_are_not_there_are_no_reason_for_that() -> None:
    with served() as (server, reads, _):
        server.answer = refused("404 Not Found")
        for _ in range(FAILURES_MAX + 5):
            assert read(reads, 0, 10) is None
        assert len(server.requests) == FAILURES_MAX + 5


def ended(peer: socket.socket, first: int, last: int) -> bool:
    """The object ends before the last byte."""
    text = head(first, last - 1).replace(b"/%d" % len(DATA), b"/%d" % last)
    peer.sendall(text + DATA[first:last])
    return True


@pytest.mark.parametrize(("answer", "counts"), [(other_range, True), (shorter, True), (ended, False)])
def test_another_range_than_was_asked_for_is_told_and_counted_unless_the_object_ends_there(
    answer: Answer, counts: bool
) -> None:
    said: list[str] = []
    with served(said.append) as (server, reads, _):
        server.answer = answer
        for _ in range(FAILURES_MAX + 5):
            assert read(reads, 50, 100) is None
        assert len(server.requests) == (FAILURES_MAX if counts else FAILURES_MAX + 5)
        assert reads.brings_several() == (not counts)
    assert [line.rpartition(": ")[2] for line in said] == ["another range"] * counts


def test_where_a_gateway_answers_with_so_much_at_most_blocks_are_asked_for_one_by_one_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def capped(peer: socket.socket, first: int, last: int) -> bool:
        return good(peer, first, min(last, first + 149))

    now = [1000.0]
    monkeypatch.setattr(ranged_reads, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with served() as (server, reads, _):
        server.answer = capped
        for _ in range(3):
            memory = bytearray(300)
            assert reads.read_into("a", 7, split(memory, 100, 100, 100), ignored) == 0
            assert not reads.brings_several()
            assert reads.read_into("a", 7, split(memory, 100, 100, 100), ignored) == 3
            assert memory == DATA[7:307]
            assert len(server.requests) == 4
            assert reads.read_into("a", 7, split(memory, 100, 160, 40), ignored) == 1
            server.requests.clear()
            now[0] += ranged_reads.REST_S + 1
            assert reads.brings_several()


class Raced(dict[str, ranged_reads.Signed]):
    """Another thread takes one out while somebody looks for the first."""

    def __iter__(self) -> Iterator[str]:
        found = super().__iter__()
        del self[next(super().__iter__())]
        return found


def test_threads_that_make_room_for_signed_urls_at_once_do_not_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranged_reads, "SIGNED_MAX", 3)
    said: list[str] = []
    with served(said.append) as (_, reads, _):
        reads._signed = Raced()
        for number in range(10):
            assert reads.read_into(str(number), 0, [memoryview(bytearray(4))], ignored)
        assert not said


def test_a_url_is_signed_anew_before_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(ranged_reads, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with served() as (_, reads, signed):
        for _ in range(3):
            assert read(reads, 0, 10) == DATA[:10]
            now[0] += ranged_reads.RENEWED_S / 2 + 1
        assert signed == ["a", "a"]


def test_a_server_that_hangs_does_not_hold_a_reader_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranged_reads, "STALL_S", 1)
    with served() as (server, reads, _):
        server.answer = stopping
        assert read(reads, 0, 100) is None


def dripping_slowly(where: str, sent: list[int]) -> Answer:
    """A byte every twenty milliseconds, of the head or of what follows it: more than twenty seconds."""
    gone = threading.Event()

    def answer(peer: socket.socket, first: int, last: int) -> bool:
        text = head(first, last, f"X-Long: {'x' * 1000}")
        at_once, slowly = (b"", text) if where == "head" else (text, DATA[first : first + 1000])
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.sendall(at_once)
        for byte in slowly:
            sent.append(byte)
            peer.sendall(bytes((byte,)))
            gone.wait(0.02)
        peer.sendall(DATA[first + len(slowly) * (where == "body") : last + 1])
        return True

    return answer


@pytest.mark.parametrize("where", ["head", "body"])
def test_an_answer_that_drips_is_given_up_though_something_comes_all_the_time(
    monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(ranged_reads, "STALL_S", 1)
    said, sent = list[str](), list[int]()
    with served(said.append) as (server, reads, _):
        server.answer = dripping_slowly(where, sent)
        assert read(reads, 0, 2000) is None
    assert len(sent) < 800, "long before its end"
    assert len(said) == 1 and "it sent" in said[0]


def test_a_slow_answer_has_time_for_as_much_as_it_brings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranged_reads, "STALL_S", 1)
    monkeypatch.setattr(ranged_reads, "LEAST_BYTES_PER_S", 10)
    with served() as (server, reads, _):
        server.answer = dripping_slowly("body", [])
        assert read(reads, 0, 200) == DATA[:200]


class LibraryError(OSError):
    """With what its library says."""


SECRET = "http://127.0.0.1/bucket/a?X-Amz-Signature=5ec7e7"


@pytest.mark.parametrize(
    "error", [ValueError(SECRET), LibraryError(5, SECRET), OSError(SECRET), socket.gaierror(-2, SECRET)], ids=type
)
def test_why_a_read_failed_is_told_once_in_a_while_and_lets_nobody_in(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    now, said = [1000.0], list[str]()
    monkeypatch.setattr(ranged_reads, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with served(said.append) as (server, reads, _):
        server.answer = refused(f"500 {SECRET}")
        assert read(reads, 0, 10) is None
        assert said == ["reading a block straight from the tier's store failed, obstore is asked instead: status 500"]
        reads._sign = failing(error)
        reads._signed.clear()
        for _ in range(3):
            assert read(reads, 0, 10) is None
        assert len(said) == 1
        now[0] += ranged_reads.REST_S + 1
        for _ in range(3):
            assert read(reads, 0, 10) is None
        assert len(said) == 2 and type(error).__name__ in said[1]
    assert not any(word in line for line in said for word in ("Signature", "://", "5ec7e7"))


def failing(error: BaseException) -> Callable[[str], str]:
    def sign(_: str) -> str:
        raise error

    return sign


def test_signed_urls_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranged_reads, "SIGNED_MAX", 3)
    with served() as (_, reads, signed):
        for number in range(10):
            assert reads.read_into(str(number), 0, [memoryview(bytearray(4))], ignored)
        assert len(reads._signed) == 3
        assert len(signed) == 10


def test_behind_a_proxy_and_with_encryption_it_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    with served() as (server, reads, _):
        assert read(reads, 0, 10) is None
        assert not server.requests
    monkeypatch.delenv("http_proxy")
    assert read(RangedReads(lambda name: f"https://127.0.0.1/{name}"), 0, 10) is None


class PanicException(BaseException):
    """As obstore's."""


@pytest.mark.parametrize("error", [ValueError("no key to sign with"), PanicException("oh")])
def test_what_cannot_be_signed_is_left_to_others(error: BaseException) -> None:
    assert read(RangedReads(failing(error)), 0, 10) is None


def test_several_blocks_come_with_one_call_only_while_they_are_received_where_they_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1000.0]
    monkeypatch.setattr(ranged_reads, "time", SimpleNamespace(monotonic=lambda: now[0]))
    made = ObstoreBackend.__new__(ObstoreBackend)
    assert not made.brings_several(), "over TLS, say"
    with served() as (server, reads, _):
        made._direct = reads
        assert made.brings_several()
        server.answer = refused("500 Oops")
        for _ in range(FAILURES_MAX):
            read(reads, 0, 10)
        assert not made.brings_several()
        now[0] += ranged_reads.REST_S + 1
        assert made.brings_several()
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    made._direct = RangedReads(str)
    assert not made.brings_several()


def test_the_library_is_asked_where_this_does_not_do() -> None:
    made = ObstoreBackend.__new__(ObstoreBackend)
    raw: Any = None
    asked: list[int] = []

    def get_range(_: object, name: str, *, start: int, length: int) -> bytes:
        asked.append(start)
        if start >= len(DATA):
            raise Exception("status code: 416")
        return DATA[start : start + length]

    calls: Any = SimpleNamespace(get_range=get_range)
    made._raw, made._obstore = raw, calls
    with served() as (server, reads, _):
        made._direct = reads
        memory = bytearray(300)
        made.read_into("a", 7, [memoryview(memory)], ignored)
        assert memory == DATA[7:307] and not asked
        server.answer = cut_off
        made.read_into("a", 9, [memoryview(memory)], ignored)
        assert memory == DATA[9:309] and asked == [9]
        asked.clear()
        told: list[bytes] = []
        server.answer = lambda peer, first, last: bool(peer.sendall(head(first, last) + DATA[first : first + 150]))
        made.read_into("a", 11, split(memory, 100, 100, 100), lambda: told.append(bytes(memory[:200])))
        assert memory == DATA[11:311] and asked == [111, 211], "only what had not come"
        assert len(told) == 3 and told[1] == DATA[11:211]
        server.answer = refused("416 Not Satisfiable")
        with pytest.raises(ObjectMissingError):
            made.read_into("a", len(DATA), [memoryview(memory)], ignored)

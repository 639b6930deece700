"""Frames that are none: the connection is closed with one log line, or the answer carries the right error.

What Apache Kafka 4.3 does was observed with the same bytes; where we differ, the line says so.
"""

from __future__ import annotations

import struct
import time

import pytest

from tests.fuzz.victim import Bystander, Victim
from tests.support.raw import (
    API_VERSIONS,
    FETCH,
    METADATA,
    PRODUCE,
    ConnectionClosed,
    Raw,
    api_versions,
    batch,
    header,
    produce_body,
    record,
    simple_batch,
    string,
)

UNSUPPORTED_VERSION, INVALID_REQUEST = 35, 42


def frame(length: int, payload: bytes = b"") -> bytes:
    """A frame that claims this length."""
    return struct.pack(">i", length) + payload


def request(api_key: int, version: int, body: bytes, client_id: str | None = "raw") -> bytes:
    """A whole request."""
    payload = header(api_key, version, 7, client_id) + body
    return frame(len(payload), payload)


CLOSED = {
    "a negative length": frame(-1),
    "the most negative length": frame(-(2**31)),
    "no length at all": frame(0),
    "a length beyond socket.request.max.bytes": frame(200_000_000, b"x"),
    "one byte": frame(1, b"x"),
    "half a header": frame(4, struct.pack(">hh", 18, 0)),
    "an unknown API": request(999, 0, b""),
    "a negative API": request(-1, 0, b""),
    "an API between brokers": request(52, 0, bytes(30)),
    "a version too new": request(METADATA, 99, b""),
    "a negative version": request(METADATA, -1, b""),
    "Produce v2, whose records have an old format": request(PRODUCE, 2, produce_body("t", 0, b"")[2:]),
    "Fetch v3": request(FETCH, 3, bytes(30)),
    "fewer topics than announced": request(METADATA, 1, struct.pack(">i", 5)),
    "two thousand million topics": request(METADATA, 1, struct.pack(">i", 2**31 - 1)),
    "a topic name longer than the request": request(METADATA, 1, struct.pack(">ih", 1, 3000) + b"x"),
    "a client id longer than the request": frame(10, struct.pack(">hhih", METADATA, 1, 7, 3000)),
    "an HTTP request": b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n",
    "a TLS hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(600),
    "records longer than the request": request(
        PRODUCE, 7, string(None) + struct.pack(">hii", -1, 1000, 1) + string("t") + struct.pack(">iii", 1, 0, 2**31 - 1)
    ),
    "acks=0 and a broken batch": request(PRODUCE, 7, produce_body("bystander", 0, b"broken", acks=0)),
    "acks=0 and an unknown topic": request(PRODUCE, 7, produce_body("absent", 0, simple_batch([b"v"]), acks=0)),
}


@pytest.mark.parametrize("data", CLOSED.values(), ids=CLOSED.keys())
def test_the_connection_is_closed_with_one_line(victim: Victim, data: bytes) -> None:
    with Bystander(victim):
        victim.new_log()
        with Raw(victim.bootstrap, timeout=30) as raw:
            raw.send_bytes(data)
            assert raw.closed_by_peer(), "neither an answer nor a closed connection was expected, but a closed one"
        lines = victim.new_log()
    complaints = [line for line in lines if "127.0.0.1" in line]
    assert len(complaints) <= 1, lines  # none where the log's limit of lines a second left it out


def test_a_refusal_is_logged(victim: Victim) -> None:
    time.sleep(1.1)  # a new second: the log leaves lines out beyond ten a second
    victim.new_log()
    source = "127.0.0.5"  # each address has one line a minute, and the usual one may have had it
    with Raw(victim.bootstrap, source=source) as raw:
        raw.send_bytes(frame(-5))
        assert raw.closed_by_peer()
    (line,) = [line for line in victim.new_log() if source in line]
    assert "-5 bytes" in line


@pytest.mark.parametrize("version", [5, 127, 32767])
def test_an_unknown_version_of_api_versions_is_answered_in_version_0(victim: Victim, version: int) -> None:
    with Raw(victim.bootstrap) as raw:
        answer = raw.call(API_VERSIONS, version, b"\x00", flexible=True)
        code, count = struct.unpack_from(">hi", answer)
        assert code == UNSUPPORTED_VERSION
        rows = {key: (low, high) for key, low, high in struct.iter_unpack(">hhh", answer[6 : 6 + 6 * count])}
        assert rows[API_VERSIONS] == (0, 4)
        assert api_versions(raw)[API_VERSIONS] == (0, 4)  # the connection lives on


@pytest.mark.parametrize("name", [b"", b" ", b"no/slashes", b"-begins-with-a-dash"])
def test_a_wrong_client_software_name_is_an_invalid_request(victim: Victim, name: bytes) -> None:
    with Raw(victim.bootstrap) as raw:
        body = bytes([len(name) + 1]) + name + b"\x04one" + b"\x00"
        (code,) = struct.unpack_from(">h", raw.call(API_VERSIONS, 3, body, flexible=True))
        assert code == INVALID_REQUEST


def test_bytes_after_a_request_are_ignored_as_in_kafka(victim: Victim) -> None:
    with Raw(victim.bootstrap) as raw:
        assert raw.call(METADATA, 1, struct.pack(">i", 0) + b"trailing")


def test_one_byte_at_a_time(victim: Victim) -> None:
    with Bystander(victim), Raw(victim.bootstrap) as raw:
        for byte in request(METADATA, 1, struct.pack(">i", 0)):
            raw.send_bytes(bytes([byte]))
            time.sleep(0.002)
        assert raw.receive(7)


def test_a_thousand_requests_in_one_write_are_answered_in_order(victim: Victim) -> None:
    with Raw(victim.bootstrap) as raw:
        payloads = [header(METADATA, 1, number) + struct.pack(">i", 0) for number in range(1000)]
        raw.send_bytes(b"".join(frame(len(payload), payload) for payload in payloads))
        for number in range(1000):
            raw.receive(number)


def test_a_bad_frame_after_good_ones_closes_the_connection(victim: Victim) -> None:
    with Raw(victim.bootstrap) as raw:
        good = header(METADATA, 1, 1) + struct.pack(">i", 0)
        raw.send_bytes(frame(len(good), good) + frame(-1))
        with pytest.raises(ConnectionClosed):  # Kafka answers the good one first, we may not
            raw.receive(1)
            raw.receive_frame()


def test_a_record_of_the_wrong_size_inside_a_sound_batch_harms_nobody(victim: Victim) -> None:
    topic = victim.topic("poisoned")
    with Bystander(victim), Raw(victim.bootstrap) as raw:
        sound = record(b"v")
        for records in (b"\xff" * 20, sound[:-2], b"\x7e" + sound[1:]):
            raw.call(PRODUCE, 7, produce_body(topic, 0, batch(records, 1)))

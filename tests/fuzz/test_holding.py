"""Clients that are slow, silent or do not read: they hold nothing but their own bounded buffers."""

from __future__ import annotations

import os
import socket
import struct
import time

from tests.fuzz.victim import Bystander, Victim
from tests.support.raw import FETCH, PRODUCE, Raw, header, produce, simple_batch, string
from tests.support.waiting import until

MB = 1 << 20


def test_large_requests_that_never_end_hold_little(victim: Victim) -> None:
    before = victim.memory()
    with Bystander(victim):
        sockets = [Raw(victim.bootstrap) for _ in range(150)]
        start = struct.pack(">i", 90 * MB) + header(PRODUCE, 7, 1)
        for raw in sockets:
            raw.send_bytes(start + bytes(100))
        for _ in range(20):
            for raw in sockets:
                raw.send_bytes(b"\x00")
            time.sleep(0.02)
        assert victim.memory() - before < 100 * MB
        for raw in sockets:
            raw.close()


def test_large_requests_half_sent_are_bounded_together(victim: Victim) -> None:
    before = victim.memory()
    half = bytes(40 * MB)
    with Bystander(victim):
        sockets = [Raw(victim.bootstrap) for _ in range(30)]
        start = struct.pack(">i", 90 * MB) + header(PRODUCE, 7, 1)
        for raw in sockets:
            raw.socket.settimeout(0.5)
            try:
                raw.socket.sendall(start + half)
            except OSError:  # not taken any more: as it should be, after some of them
                pass
        assert victim.memory() - before < 600 * MB
        for raw in sockets:
            raw.close()
    until(lambda: victim.memory() - before < 300 * MB, "the memory is given back")


def test_a_client_that_does_not_read_holds_little(victim: Victim) -> None:
    topic = victim.topic("unread")
    with Raw(victim.bootstrap, timeout=30) as raw:
        for _ in range(10):
            assert produce(raw, topic, simple_batch([b"x" * 900_000]))[0] == 0
    before = victim.memory()
    body = struct.pack(">iiiibi", -1, 100, 1, 10 * MB, 0, 1) + string(topic) + struct.pack(">iiqi", 1, 0, 0, 10 * MB)
    with Bystander(victim):
        greedy = [Raw(victim.bootstrap) for _ in range(5)]
        for raw in greedy:
            raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            raw.socket.settimeout(0.5)
            try:
                for _ in range(2000):
                    raw.send(FETCH, 4, body)
            except OSError:  # it does not read our requests any more either
                pass
        time.sleep(0.5)
        assert victim.memory() - before < 200 * MB
        for raw in greedy:
            raw.close()


def test_a_thousand_connections_that_say_nothing(victim: Victim) -> None:
    before = victim.memory()
    with Bystander(victim):
        silent = [Raw(victim.bootstrap) for _ in range(800)]
        assert victim.memory() - before < 60 * MB
        for raw in silent:
            raw.close()


def test_connections_that_come_and_go(victim: Victim) -> None:
    with Bystander(victim):
        for number in range(1500):
            raw = Raw(victim.bootstrap)
            if number % 3 == 0:
                raw.send_bytes(struct.pack(">i", 100) + b"half")
            if number % 3 == 1:  # reset instead of a proper end
                raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raw.close()
    assert len(list_descriptors(victim)) < 400


def list_descriptors(victim: Victim) -> list[str]:
    """The broker's open descriptors."""
    return os.listdir(f"/proc/{victim.broker.pid}/fd")

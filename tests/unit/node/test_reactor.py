"""The reactor alone: calls from threads, timers, what is watched and what is not."""

from __future__ import annotations

import errno
import os
import socket
import threading
import time

import pytest

from tapelog.base.node_config import PORTS
from tapelog.base.timers import Timers
from tapelog.node.reactor import Pollable, Reactor, bind
from tapelog.node.system import SystemClock
from tests.support.calm import calm


class Counter(Pollable):
    """Counts how often it was ready."""

    def __init__(self) -> None:
        self.masks: list[int] = []

    def ready(self, mask: int) -> None:
        self.masks.append(mask)


def test_calls_posted_by_threads_run_on_the_loop_in_order() -> None:
    reactor = Reactor(Timers(SystemClock()))
    ran: list[int] = []
    home = threading.get_ident()

    def work() -> None:
        for number in range(1000):
            reactor.post(lambda number=number: ran.append(number if threading.get_ident() == home else -1))  # type: ignore[misc]
        reactor.stop()

    thread = threading.Thread(target=work)
    thread.start()
    reactor.run(lambda: None)
    thread.join()
    while reactor._posts:
        reactor._posts.popleft()()
    assert ran == list(range(1000))


def test_timers_run_between_events_and_an_idle_loop_sleeps() -> None:
    reactor = Reactor(Timers(SystemClock()))
    with calm():
        began, cpu = time.monotonic(), time.thread_time()
        reactor.timers.after(300, reactor.stop)
        reactor.run(lambda: None)
        assert time.monotonic() - began >= 0.295
        assert time.thread_time() - cpu < 0.15


def test_what_is_no_longer_watched_is_not_called() -> None:
    reactor = Reactor(Timers(SystemClock()))
    here, there = socket.socketpair()
    counter = Counter()
    reactor.watch(here.fileno(), counter)
    there.send(b"x")
    reactor.turn(lambda: None)
    assert len(counter.masks) == 1
    reactor.unwatch(here.fileno())
    reactor.unwatch(here.fileno())
    reactor.timers.after(10, reactor.stop)
    reactor.run(lambda: None)
    assert len(counter.masks) == 1
    here.close()
    there.close()


def test_port_zero_is_a_free_one_that_no_outgoing_connection_is_given() -> None:
    """Whoever is started again on its port must not find a client there."""
    taken = [bind("127.0.0.1", 0, 5) for _ in range(50)]
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    assert len(set(ports)) == 50 and all(PORTS[0] <= port < PORTS[1] for port in ports)


def test_port_zero_takes_any_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = bind("127.0.0.1", 0, 5)
    only = taken.getsockname()[1]
    monkeypatch.setattr(os, "urandom", lambda size: (only - PORTS[0]).to_bytes(size, "big"))
    other = bind("127.0.0.1", 0, 5)
    assert other.getsockname()[1] not in (0, only)
    for one in (taken, other):
        one.close()


def test_port_zero_takes_one_of_the_system_s_where_others_are_not_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a mandatory access control, which leaves alone what is given to outgoing connections."""

    class Confined(socket.socket):
        def bind(self, address: tuple[str, int]) -> None:
            if address[1]:
                raise PermissionError(errno.EACCES, "Permission denied")
            super().bind(address)

    monkeypatch.setattr(socket, "socket", Confined)
    found = bind("127.0.0.1", 0, 5)
    assert found.getsockname()[1] > 0
    found.close()


def test_a_taken_address_is_an_error() -> None:
    taken = bind("127.0.0.1", 0, 5)
    with pytest.raises(OSError) as refused:
        bind("127.0.0.1", taken.getsockname()[1], 5)
    assert refused.value.errno == errno.EADDRINUSE
    taken.close()

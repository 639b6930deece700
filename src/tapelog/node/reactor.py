"""The event loop of a node: sockets, timers, and calls posted by threads; nothing else runs in its process.

Our own instead of asyncio's (ADR 0006): it starts in a millisecond, owns raw sockets, and handles everything that is
ready before it settles once. epoll where there is epoll, `selectors` elsewhere.
"""

from __future__ import annotations

import errno
import os
import select
import socket
from collections import deque
from collections.abc import Callable
from typing import Final

from mypy_extensions import mypyc_attr

from tapelog.base.node_config import PORT_TRIES, PORTS
from tapelog.base.timers import Timers

READ: Final = 1
WRITE: Final = 4
BROKEN: Final = 8 | 16  # EPOLLERR, EPOLLHUP
EVENTS_MAX: Final = 1024


@mypyc_attr(allow_interpreted_subclasses=True)  # tests stand in for it
class Pollable:
    """Something with a descriptor that the reactor watches."""

    def ready(self, mask: int) -> None:
        """The descriptor is readable, writable or broken."""
        raise NotImplementedError


class Poller:
    """epoll, or the best that `selectors` has, behind the same four calls."""

    def __init__(self) -> None:
        self._epoll = select.epoll() if hasattr(select, "epoll") else None
        self._selector = None
        if self._epoll is None:
            import selectors

            self._selector = selectors.DefaultSelector()

    def add(self, fd: int, mask: int) -> None:
        """Start watching."""
        if self._epoll is not None:
            self._epoll.register(fd, mask)
        elif self._selector is not None and mask:
            self._selector.register(fd, _to_selector(mask))

    def change(self, fd: int, mask: int) -> None:
        """Watch for something else."""
        if self._epoll is not None:
            self._epoll.modify(fd, mask)
        elif self._selector is not None:
            self.remove(fd)
            self.add(fd, mask)

    def remove(self, fd: int) -> None:
        """Stop watching."""
        try:
            if self._epoll is not None:
                self._epoll.unregister(fd)
            elif self._selector is not None:
                self._selector.unregister(fd)
        except (OSError, KeyError, ValueError):
            pass

    def wait(self, timeout_s: float) -> list[tuple[int, int]]:
        """What is ready; negative waits for ever."""
        if self._epoll is not None:
            return self._epoll.poll(timeout_s, EVENTS_MAX)
        assert self._selector is not None
        ready = self._selector.select(None if timeout_s < 0 else timeout_s)
        return [(key.fd, (READ if mask & 1 else 0) | (WRITE if mask & 2 else 0)) for key, mask in ready]


def _to_selector(mask: int) -> int:
    return (1 if mask & READ else 0) | (2 if mask & WRITE else 0)


class Reactor:
    """Runs until stopped. `post` and `stop` may be called from any thread; the rest only from the loop."""

    def __init__(self, timers: Timers) -> None:
        self.timers = timers
        self.poller = Poller()
        self.stopping = False
        self._watched: dict[int, Pollable] = {}
        self._posts: deque[Callable[[], None]] = deque()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self.poller.add(self._wake_read, READ)

    @property
    def wakeup_fd(self) -> int:
        """For `signal.set_wakeup_fd`."""
        return self._wake_write

    def watch(self, fd: int, pollable: Pollable, mask: int = READ) -> None:
        """Call pollable.ready when the descriptor is."""
        self._watched[fd] = pollable
        self.poller.add(fd, mask)

    def unwatch(self, fd: int) -> None:
        """Stop watching a descriptor, before it is closed."""
        if self._watched.pop(fd, None) is not None:
            self.poller.remove(fd)

    def post(self, action: Callable[[], None]) -> None:
        """Run action on the loop, soon. Thread-safe."""
        self._posts.append(action)
        try:
            os.write(self._wake_write, b"\0")
        except (BlockingIOError, OSError):
            pass

    def stop(self) -> None:
        """Leave `run` after the current round. Thread-safe."""
        self.stopping = True
        self.post(_nothing)

    def run(self, settle: Callable[[], None]) -> None:
        """Handle what is ready, then settle; until stopped."""
        settle()
        while not self.stopping:
            self.turn(settle)

    def turn(self, settle: Callable[[], None]) -> None:
        """One round of the loop."""
        watched = self._watched
        for fd, mask in self.poller.wait(self._timeout_s()):
            pollable = watched.get(fd)
            if pollable is not None:
                pollable.ready(mask)
            elif fd == self._wake_read:
                self._drain_wakeups()
        posts = self._posts
        for _ in range(len(posts)):
            posts.popleft()()
        self.timers.run_due()
        settle()

    def _timeout_s(self) -> float:
        if self._posts:
            return 0.0
        due_ms = self.timers.next_due_ms()
        if due_ms is None:
            return -1.0
        return max(0, due_ms - self.timers.clock.monotonic_ms()) / 1000.0

    def _drain_wakeups(self) -> None:
        try:
            while len(os.read(self._wake_read, 4096)) == 4096:
                pass
        except BlockingIOError:
            pass


def _nothing() -> None:
    pass


def bind(host: str, port: int, backlog: int) -> socket.socket:
    """A listening socket; OSError if the address is taken or not ours.

    Port 0 takes a free one, if possible not of those that the system gives to outgoing connections: a node that is
    started again on its port must find it free.
    """
    if port == 0:
        for _ in range(PORT_TRIES):
            chosen = PORTS[0] + int.from_bytes(os.urandom(4), "big") % (PORTS[1] - PORTS[0])
            try:
                return _bind(host, chosen, backlog)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    break  # these may be kept from us; the system's own choice never is, and else says what is wrong
    return _bind(host, port, backlog)


def _bind(host: str, port: int, backlog: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(backlog)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener

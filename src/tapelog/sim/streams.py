"""The two ends of a simulated stream and what is under way between them. Used by `sim.net` only."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tapelog.base.ports import REFUSED, ChannelEvents

if TYPE_CHECKING:
    from tapelog.sim.net import Host, SimNet

SYN: Final = 0
TAKEN: Final = 1
FIN: Final = 2
RESET: Final = 3
NOBODY: Final = 4
"""No process listens there."""

_REASONS: Final = {FIN: "closed by the other side", RESET: "reset", NOBODY: REFUSED}
PIECES_PERCENT: Final = 2
ABORT_PERCENT: Final = 30

Item = bytes | int
"""Bytes, or one of the five signals."""


class Pipe:
    """One direction: items in order, each with the time at which it arrives."""

    def __init__(self, net: SimNet, source: Host, target: End) -> None:
        self.net = net
        self.source = source
        self.target = target
        target.peer_pipe = self
        self._queue: deque[tuple[int, Item]] = deque()
        self._last_ms = 0
        self._waiting = False

    def put(self, item: Item) -> None:
        """Send it on its way."""
        net = self.net
        due_ms = max(self._last_ms, net.world.now_ms + net.latency_ms())
        if isinstance(item, bytes) and len(item) > 1 and net.entropy.below(100) < PIECES_PERCENT:
            cut = 1 + net.entropy.below(len(item) - 1)
            self._queue.append((due_ms, item[:cut]))
            due_ms, item = due_ms + net.entropy.below(4), item[cut:]
        self._last_ms = due_ms
        self._queue.append((due_ms, item))
        self._schedule()

    def drop(self) -> None:
        """What is under way is lost."""
        self._queue.clear()

    def delay(self, by_ms: int) -> None:
        """What is under way takes longer."""
        self._queue = deque((due_ms + by_ms, item) for due_ms, item in self._queue)
        if self._queue:
            self._last_ms = self._queue[-1][0]

    def go_on(self, in_ms: int) -> None:
        """The way is free again."""
        now_ms = self.net.world.now_ms + in_ms
        self._queue = deque((max(due_ms, now_ms), item) for due_ms, item in self._queue)
        self._last_ms = max(self._last_ms, now_ms)
        self._waiting = False
        self._schedule()

    def _schedule(self) -> None:
        if not self._waiting and self._queue:
            self._waiting = True
            world = self.net.world
            world.after(self._queue[0][0] - world.now_ms, self._arrive)

    def _arrive(self) -> None:
        net, queue = self.net, self._queue
        if queue and net.is_cut(self.source.name, self.target.host.name):
            net.hold(self)  # still waiting: go_on ends that
            return
        self._waiting = False
        now_ms = net.world.now_ms
        while self._queue and self._queue[0][0] <= now_ms:
            self.target.arrive(self._queue.popleft()[1])
        self._schedule()


class End:
    """One end: the Channel of whoever holds it."""

    def __init__(self, net: SimNet, host: Host, number: int, *, client: bool) -> None:
        self.net = net
        self.host = host
        self.number = number
        self.client = client
        self.port = 0
        self.out: Pipe
        self.peer_pipe: Pipe | None = None
        self.events: ChannelEvents | None = None
        self.over = False
        """Closed here, by whichever side, or its process is gone."""
        self._open = not client
        self._early: list[bytes] = []

    # -- the Channel

    def send(self, data: bytes) -> None:
        if self.over or not data:
            return
        if not self._open:
            self._early.append(data)
            return
        if self.net.listen_in is not None:
            self.net.listen_in(self, data)
        self.out.put(data)

    def close(self) -> None:
        if self.over:
            return
        self._forget()
        if self.net.entropy.below(100) < ABORT_PERCENT:
            self.out.drop()
            self.out.put(RESET)
        else:
            self.out.put(FIN)

    # -- the net

    def accept(self, acceptor: Callable[[End, str], ChannelEvents], source: str) -> None:
        """The machine takes the stream; its process hears of it when it can."""
        self.host.ends[self.number] = self
        self.out.put(TAKEN)

        def taken() -> None:
            if not self.over:
                self.events = acceptor(self, source)

        self.host.hand(taken)

    def arrive(self, item: Item) -> None:
        """Something has come for this end."""
        if item == SYN:
            self.net.knock(self)
        elif not self.host.powered:
            return
        elif self.over:
            if isinstance(item, bytes) or item == TAKEN:
                self.out.put(RESET)
        elif isinstance(item, bytes):
            self.host.hand(lambda: self._received(item))
        elif item == TAKEN:
            self.host.hand(self._opened)
        else:
            reason = _REASONS[item]
            self.host.hand(lambda: self._closed(reason))

    def snap(self) -> None:
        """The stream breaks: nothing in flight arrives, both sides hear of it."""
        self.out.drop()
        self.out.put(RESET)
        if self.peer_pipe is not None:
            self.peer_pipe.drop()
            self.peer_pipe.put(RESET)

    def orphan(self) -> None:
        """Its process is gone: nobody is told anything."""
        self.over = True
        self.events = None

    def _opened(self) -> None:
        if self.over or self._open:
            return
        self._open = True
        assert self.events is not None
        early, self._early = self._early, []
        for data in early:
            self.send(data)
        self.events.opened()

    def _received(self, data: bytes) -> None:
        if not self.over and self.events is not None:
            self.events.received(data)

    def _closed(self, reason: str) -> None:
        if self.over:
            return
        events = self.events
        self._forget()
        if events is not None:
            events.closed(reason)

    def _forget(self) -> None:
        self.over = True
        self.events = None
        self.host.ends.pop(self.number, None)

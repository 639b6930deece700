"""Small errands to other nodes that travel together: while a request is under way, what comes up gathers for the next.

A connection answers in order, so one request per lane is under way at a time; a few lanes keep one slow errand from
holding up all others. Used for markers and for the transaction gate. An errand is answered through the request that
carried it; this only decides who travels when.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Final, Generic, Protocol, TypeVar

LANES: Final = 4
ERRANDS_MAX: Final = 1000
"""So many travel in one request at most."""


class Errand(Protocol):
    """Something for another node."""

    @property
    def key(self) -> Hashable:
        """No two errands of one request have the same."""
        ...


E = TypeVar("E", bound=Errand)

Send = Callable[[int, str, list[E], Callable[[], None]], None]
"""(node, lane, errands, back): send one request, see to its answers, and call back once, when the lane is free."""


class Gathering(Generic[E]):
    """Errands by destination."""

    def __init__(self, name: str, send: Send[E]) -> None:
        self._name = name
        self._send = send
        self._waiting: dict[int, deque[E]] = {}
        self._free: dict[int, list[str]] = {}

    def add(self, node_id: int, errand: E) -> None:
        """Send it now, or with the next request to that node."""
        self._waiting.setdefault(node_id, deque()).append(errand)
        self._go(node_id)

    def _go(self, node_id: int) -> None:
        free = self._free.setdefault(node_id, [f"{self._name}-{number}" for number in range(LANES)])
        waiting = self._waiting[node_id]
        while waiting and free:
            lane = free.pop(0)
            self._send(node_id, lane, _take(waiting), self._returner(node_id, lane))

    def _returner(self, node_id: int, lane: str) -> Callable[[], None]:
        def back() -> None:
            self._free[node_id].append(lane)
            self._go(node_id)

        return back


def _take(waiting: deque[E]) -> list[E]:
    """The next errands, each key once; those left over keep their order."""
    taken: dict[Hashable, E] = {}
    left: list[E] = []
    while waiting and len(taken) < ERRANDS_MAX:
        errand = waiting.popleft()
        if errand.key in taken:
            left.append(errand)
        else:
            taken[errand.key] = errand
    waiting.extendleft(reversed(left))
    return list(taken.values())

"""SIGTERM and SIGINT as a request to end in order: what is under way is finished first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any


class Stop:
    """The request that something ends. Any thread may set it, and so may a signal handler; one thread waits for it.

    A threading.Event cannot be used here: a signal handler that sets it while the same thread is inside `wait` may meet
    the event's own lock, and stand still for ever. SimpleQueue is made for that.
    """

    def __init__(self) -> None:
        self._told = False
        self._wake: SimpleQueue[None] = SimpleQueue()

    def set(self) -> None:
        """Ask for the end; returns at once."""
        self._told = True
        self._wake.put(None)

    def clear(self) -> None:
        """Take the request back, for another run."""
        self._told = False
        self._wake = SimpleQueue()

    def is_set(self) -> bool:
        """Whether somebody asked for the end."""
        return self._told

    def wait(self, seconds: float) -> bool:
        """Wait that long, or until the end is asked for; whether it was."""
        if not self._told and seconds > 0:
            try:
                self._wake.get(timeout=seconds)
            except Empty:
                pass
        return self._told


class StopOnSignal:
    """While inside: the first SIGTERM or SIGINT calls `stop`, the second does what it always did.

    In another thread than the main one it changes nothing.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._first)

    def _first(self, number: int, frame: FrameType | None) -> None:
        self._stop()
        signal.signal(number, self._before[number])

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

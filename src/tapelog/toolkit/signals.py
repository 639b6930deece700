"""SIGTERM and SIGINT as a request to end in order: what is under way is finished first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


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

"""Ctrl-C beside librdkafka.

Python's own handler of SIGINT raises a KeyboardInterrupt without a value. Where that happens inside a callback of
confluent-kafka, it loses the exception, and its call fails with `SystemError: … returned NULL without setting an
exception`. An exception from a handler written in Python has a value, and comes through.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


def interrupt(number: int, frame: FrameType | None) -> None:
    """A handler for SIGINT and SIGTERM."""
    raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside, Ctrl-C is a KeyboardInterrupt in callbacks, too. A handler that somebody has set stays."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)

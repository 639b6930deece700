"""Single keys from a terminal, without Enter. Used by the demo."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from types import TracebackType


class Keys:
    """While this context lasts, `read` returns keys as they are pressed; the terminal is put back afterwards.

    Ctrl-C keeps its meaning. Without a terminal on standard input there are no keys.
    """

    def __init__(self) -> None:
        self._fd = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else -1
        self._before: list[object] | None = None

    def __enter__(self) -> Keys:
        if self._fd >= 0:
            self._before = termios.tcgetattr(self._fd)
            tty.setcbreak(self._fd)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)  # type: ignore[arg-type]

    def read(self, timeout_s: float) -> str:
        """The keys pressed within the time, as soon as there are any; else an empty string."""
        if self._fd < 0:
            select.select([], [], [], timeout_s)
            return ""
        ready, _, _ = select.select([self._fd], [], [], timeout_s)
        return os.read(self._fd, 64).decode(errors="replace") if ready else ""

"""Answers that wait until the log they depend on is committed, for a shard. In order of offset; none waits for ever."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from tapelog.base.timers import Timers
from tapelog.coordinators.deadlines import Deadlines
from tapelog.coordinators.outcome import edge_code
from tapelog.wire.errors import ErrorCode

COMMIT_TIMEOUT: Final = "commit-timeout"

Finish = Callable[[ErrorCode], None]


class Parked:
    """An answer that waits for the high watermark to reach its offset."""

    __slots__ = ("deadline_ms", "finish", "offset")

    def __init__(self, offset: int, deadline_ms: int, finish: Finish) -> None:
        self.offset = offset
        self.deadline_ms = deadline_ms
        self.finish = finish


class Parking:
    """The answers of one shard that wait."""

    def __init__(self, timers: Timers, deadlines: Deadlines, timeout_ms: int) -> None:
        self._timers = timers
        self._deadlines = deadlines
        self._timeout_ms = timeout_ms
        self._parked: deque[Parked] = deque()

    def park(self, offset: int, finish: Finish) -> None:
        """Call finish with NONE when everything below offset is committed, or with the reason why it will not be."""
        assert not self._parked or self._parked[-1].offset <= offset, "answers are parked in the order of the log"
        self._parked.append(Parked(offset, self._timers.clock.monotonic_ms() + self._timeout_ms, finish))
        self._arm()

    def release(self, offset: int) -> None:
        """Everything below offset is committed."""
        while self._parked and self._parked[0].offset <= offset:
            self._parked.popleft().finish(ErrorCode.NONE)

    def fail_above(self, offset: int, code: ErrorCode) -> None:
        """The log ends at offset: whoever waits for more hears why."""
        failed: list[Parked] = []
        while self._parked and self._parked[-1].offset > offset:
            failed.append(self._parked.pop())
        for parked in reversed(failed):
            parked.finish(code)

    def fail_all(self, code: ErrorCode) -> None:
        """Nobody waits here any longer."""
        while self._parked:
            self._parked.popleft().finish(code)

    def __len__(self) -> int:
        return len(self._parked)

    def _arm(self) -> None:
        if COMMIT_TIMEOUT not in self._deadlines and self._parked:
            delay_ms = self._parked[0].deadline_ms - self._timers.clock.monotonic_ms()
            self._deadlines.set(COMMIT_TIMEOUT, delay_ms, self._expire)

    def _expire(self) -> None:
        now_ms = self._timers.clock.monotonic_ms()
        while self._parked and self._parked[0].deadline_ms <= now_ms:
            self._parked.popleft().finish(edge_code(ErrorCode.REQUEST_TIMED_OUT))
        self._arm()

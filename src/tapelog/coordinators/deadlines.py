"""Named deadlines of one coordinator shard: sessions, rebalances, expiry rounds.

Each name has at most one deadline. Moving a deadline later costs no timer: the one that is armed fires, sees that
it came too early, and arms itself again. So a heartbeat is an assignment, however many members there are.
"""

from __future__ import annotations

from collections.abc import Callable

from tapelog.base.timers import Timer, Timers


class _Deadline:
    __slots__ = ("action", "due_ms", "timer")

    def __init__(self, due_ms: int, action: Callable[[], None], timer: Timer) -> None:
        self.due_ms = due_ms
        self.action = action
        self.timer = timer


class Deadlines:
    """Deadlines by name, on the node's timers."""

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._by_name: dict[str, _Deadline] = {}

    def set(self, name: str, delay_ms: int, action: Callable[[], None]) -> None:
        """Run action delay_ms from now, instead of whatever this name was waiting for."""
        due_ms = self._timers.clock.monotonic_ms() + max(0, delay_ms)
        deadline = self._by_name.get(name)
        if deadline is not None and deadline.timer.due_ms <= due_ms:
            deadline.due_ms = due_ms
            deadline.action = action
            return
        if deadline is not None:
            deadline.timer.cancel()
        self._by_name[name] = _Deadline(due_ms, action, self._arm(name, delay_ms))

    def cancel(self, name: str) -> None:
        """Forget that name. Harmless if it is not set."""
        deadline = self._by_name.pop(name, None)
        if deadline is not None:
            deadline.timer.cancel()

    def clear(self) -> None:
        """Forget everything."""
        for deadline in self._by_name.values():
            deadline.timer.cancel()
        self._by_name.clear()

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __len__(self) -> int:
        return len(self._by_name)

    def _arm(self, name: str, delay_ms: int) -> Timer:
        return self._timers.after(delay_ms, lambda: self._fire(name))

    def _fire(self, name: str) -> None:
        deadline = self._by_name[name]
        early_ms = deadline.due_ms - self._timers.clock.monotonic_ms()
        if early_ms > 0:
            deadline.timer = self._arm(name, early_ms)
            return
        del self._by_name[name]
        deadline.action()

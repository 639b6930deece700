"""Commits of offsets that a loop can stop waiting for.

`Consumer.commit` waits for the group's coordinator by itself, for as long as a session lasts (45 s), and cannot be
interrupted; every other call of that consumer waits until it is over (confluent-kafka 2.16). So it runs in a thread of
its own, and the loop notices meanwhile that it is to stop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from tapelog.toolkit.sink import Interrupted, Waits

LOOK_EVERY_S = 0.25
"""How soon a loop that waits for a commit notices that it is to stop."""


class Commits:
    """One commit at a time."""

    def __init__(self, waits: Waits) -> None:
        self._waits = waits
        self._lock = threading.Lock()
        self._calls: list[Callable[[], None]] = []
        """What the thread has still to call; while there is something, the consumer cannot be used."""

    @property
    def under_way(self) -> bool:
        """Whether a commit is inside the client, waited for or not."""
        return bool(self._calls)

    def run(self, commit: Callable[[], None]) -> None:
        """Call it and wait; its error is raised here. Interrupted when the loop is to stop and no answer comes, or when
        an earlier commit is still inside the client.

        A second call would replace the list of the thread that still runs, and with it what was to follow the first.
        """
        if self._calls:
            raise Interrupted("an earlier commit has no answer yet; the offsets were not committed")
        errors: list[BaseException] = []
        self._calls = [commit]
        thread = threading.Thread(target=self._in_thread, args=(errors,), name="commit", daemon=True)
        began = self._waits.clock()
        thread.start()
        while thread.is_alive():
            thread.join(LOOK_EVERY_S)
            if self.under_way and self._waits.over(began):
                raise Interrupted("the offsets were not committed")
        if errors:
            raise errors[0]

    def afterwards(self, call: Callable[[], None]) -> bool:
        """Call this, too, once a commit that is still under way is over; false when none is."""
        with self._lock:
            if self._calls:
                self._calls.append(call)
            return bool(self._calls)

    def _in_thread(self, errors: list[BaseException]) -> None:
        while self._calls:
            try:
                self._calls[0]()
            except BaseException as error:
                errors.append(error)
            with self._lock:
                del self._calls[0]

"""Records that have been fetched and wait for their turn, partition by partition. No clock, no client.

A partition can be made to wait: because its first record asks for it (a retry that is not due yet), or because its
first record failed and is tried again later. The other partitions go on. Work that was undone is put back in front, so
nothing has to be fetched again and the consumer never seeks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from tapelog.toolkit.records import Place, Record


def always_due(record: Record) -> float:
    """No record has to wait."""
    return 0.0


class Inbox:
    """Queues of records, one per partition. `wait_s` tells how long a record still has to wait, 0 when it is due."""

    def __init__(self, wait_s: Callable[[Record], float] = always_due) -> None:
        self._wait_s = wait_s
        self._queues: dict[Place, deque[Record]] = {}
        self._not_before: dict[Place, float] = {}
        self._closed_until = 0.0
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def put(self, record: Record) -> None:
        """Behind all others of its partition."""
        self._queues.setdefault(record.place, deque()).append(record)
        self._size += 1

    def put_back(self, records: Iterable[Record]) -> None:
        """Where they belong in their partitions, by offset: in front, as a rule."""
        by_place: dict[Place, list[Record]] = {}
        for record in records:
            by_place.setdefault(record.place, []).append(record)
        for place, back in by_place.items():
            queue = self._queues.get(place, deque())
            self._queues[place] = deque(sorted([*back, *queue], key=lambda record: record.offset))
            self._size += len(back)

    def delay(self, place: Place, until: float) -> None:
        """Give out nothing of this partition before then."""
        self._not_before[place] = max(until, self._not_before.get(place, until))

    def close(self, until: float) -> None:
        """Give out nothing at all before then."""
        self._closed_until = max(until, self._closed_until)

    def forget(self, places: Iterable[Place]) -> None:
        """These partitions are somebody else's now."""
        for place in places:
            self._size -= len(self._queues.pop(place, ()))
            self._not_before.pop(place, None)

    def take(self, now: float, limit: int) -> list[Record]:
        """Up to `limit` records that are due, in order within each partition; partitions take turns."""
        taken: list[Record] = []
        for place in list(self._queues):
            if len(taken) >= limit:
                break
            if not self._waits(place, now):
                self._take_from(place, now, limit, taken)
        self._size -= len(taken)
        return taken

    def _take_from(self, place: Place, now: float, limit: int, taken: list[Record]) -> None:
        queue = self._queues.pop(place)
        while queue and len(taken) < limit:
            wait_s = self._wait_s(queue[0])
            if wait_s > 0:
                self._not_before[place] = now + wait_s
                break
            taken.append(queue.popleft())
        if queue:
            self._queues[place] = queue  # now last: the others come first next time

    def _waits(self, place: Place, now: float) -> bool:
        if now < self._closed_until:
            return True
        until = self._not_before.get(place)
        if until is None:
            return False
        if now < until:
            return True
        del self._not_before[place]
        return False

    def waiting(self, now: float) -> set[Place]:
        """Partitions that hold records back: there is no use in fetching more of them."""
        return {place for place in self._queues if self._waits(place, now)}

    def ready(self, now: float) -> int:
        """How many records could be taken now, as far as is known without looking at them."""
        return sum(len(queue) for place, queue in self._queues.items() if not self._waits(place, now))

    def next_due(self, now: float) -> float | None:
        """When the first waiting partition goes on; None when none waits."""
        times = [self._not_before.get(place, self._closed_until) for place in self.waiting(now)]
        return max(min(times), self._closed_until) if times else None

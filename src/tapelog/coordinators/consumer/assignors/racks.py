"""Racks: a partition is read more cheaply by a member in a rack that holds one of its replicas.

Used by the uniform assignor after balancing. Within a pool any subscriber may own any partition, so partitions swap
owners and no load changes. Only those take part that are new to their owner or are in the wrong rack: what sits well
stays, and a second run finds nothing to do.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Final

from tapelog.coordinators.consumer.assignors.shape import Place, Shape
from tapelog.coordinators.consumer.assignors.spec import Pace

NO_RACKS: Final[frozenset[str]] = frozenset()


class Racks:
    """Which member sits well for which partition."""

    def __init__(self, shape: Shape) -> None:
        self._topics = shape.spec.topics
        self._subscribers = shape.subscribers
        self._rack_of = [member.rack for member in shape.members]
        self.known = any(self._rack_of) and any(
            any(self._topics[topic_id].racks) for pool in shape.pools for topic_id in pool
        )
        """Some member and some partition have a rack; otherwise there is nothing to prefer."""

    def of(self, where: Place) -> frozenset[str]:
        """The racks that hold a replica of the partition."""
        racks = self._topics[where[0]].racks
        return racks[where[1]] if where[1] < len(racks) else NO_RACKS

    def fits(self, where: Place, number: int) -> bool:
        """The member is in a rack that holds the partition."""
        rack = self._rack_of[number]
        return rack is not None and rack in self.of(where)

    def worst_last(self, number: int, owned: dict[int, list[Place]]) -> None:
        """Order what a member has so that what it should part with first comes last."""
        for places in owned.values():
            places.sort(key=lambda where: not self.fits(where, number))

    def swap(
        self, pool: int, owned: list[dict[int, list[Place]]], kept: dict[Place, int], pace: Pace
    ) -> Iterator[None]:
        """Let the partitions of a pool that are new or misplaced change owners, so that more of them fit."""
        loose: list[tuple[Place, int]] = []
        for number in self._subscribers[pool]:
            places = owned[number].get(pool)
            if places:
                fixed = [where for where in places if kept.get(where) == number and self.fits(where, number)]
                if len(fixed) < len(places):
                    settled = set(fixed)
                    loose.extend((where, number) for where in places if where not in settled)
                    owned[number][pool] = fixed
                if pace.spent(2 * len(places)):
                    yield
        for where, number in (yield from self._seat(loose, kept, pace)):
            owned[number][pool].append(where)

    def _seat(
        self, loose: list[tuple[Place, int]], kept: dict[Place, int], pace: Pace
    ) -> Generator[None, None, list[tuple[Place, int]]]:
        """New owners for the loose partitions, each owner as often as before.

        Those that fit in fewest racks choose first, and take the rack with most seats; then whoever did not move stays
        if it can; the rest takes what is left.
        """
        seats: dict[str | None, list[int]] = {}
        for _, number in reversed(loose):
            seats.setdefault(self._rack_of[number], []).append(number)
        wishes: dict[int, list[tuple[Place, list[str]]]] = {}
        """By the number of racks in which they fit."""
        for where, _ in loose:
            wanted = sorted(rack for rack in self.of(where) if rack in seats)
            wishes.setdefault(len(wanted), []).append((where, wanted))
            if pace.spent(3):
                yield
        seated: list[tuple[Place, int]] = []
        waiting: list[Place] = []
        for choices in sorted(wishes):
            for where, wanted in sorted(wishes[choices]):
                rack = max(wanted, key=lambda name: len(seats[name]), default=None)
                if rack is None or not seats[rack]:
                    waiting.append(where)
                else:
                    seated.append((where, seats[rack].pop()))
                if pace.spent(3):
                    yield
        left: dict[int, int] = {}
        for numbers in seats.values():
            for number in numbers:
                left[number] = left.get(number, 0) + 1
        homeless: list[Place] = []
        for where in waiting:
            home = kept.get(where, -1)
            if left.get(home):
                left[home] -= 1
                seated.append((where, home))
            else:
                homeless.append(where)
        if pace.spent(len(waiting) + len(seated)):
            yield
        remaining = [number for number in sorted(left) for _ in range(left[number])]
        seated.extend(zip(homeless, remaining, strict=True))
        return seated

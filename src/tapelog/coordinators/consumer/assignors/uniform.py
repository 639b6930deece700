"""The `uniform` assignor: every member gets the same number of partitions, and keeps what it has.

Balance comes first, then racks, then stickiness. Where all members subscribe alike, the most and the least loaded
differ by at most one, and no more partitions move than balance needs. In general that is not possible; the promise is
then that no single move would help: whoever owns a partition has at most one more than any member that could own it
instead. (A chain of many overlapping subscriptions may need more than `PASSES_MAX` passes to get there; every pass
comes closer, and the next assignment goes on.)
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from heapq import heapify, heappop, heappush, heapreplace
from typing import Final

from tapelog.coordinators.consumer.assignors.racks import Racks
from tapelog.coordinators.consumer.assignors.shape import Place, Shape
from tapelog.coordinators.consumer.assignors.spec import Assignor, GroupSpec, Pace, Pieces

PASSES_MAX: Final = 16


def pieces(spec: GroupSpec, pace: Pace) -> Pieces:
    """Keep what can be kept, place what nobody has, move what balance asks for, then swap towards the right racks."""
    shape = Shape(spec)
    yield from shape.gather(pace)
    table = _Table(shape, pace)
    yield from table.place((yield from table.keep()))
    yield from table.balance()
    if table.racks.known:
        for pool in range(len(table.shape.pools)):
            yield from table.racks.swap(pool, table.owned, table.kept, pace)
    return (yield from table.target())


assign = Assignor(pieces)


class _Table:
    """Who owns what so far, by member number and pool; what is kept from before comes first in each list."""

    def __init__(self, shape: Shape, pace: Pace) -> None:
        self.pace = pace
        self.shape = shape
        self.racks = Racks(shape)
        count = len(self.shape.members)
        self.load = [0] * count
        self.owned: list[dict[int, list[Place]]] = [{} for _ in range(count)]
        self.kept: dict[Place, int] = {}
        """Partitions whose owner before may still have them, with that owner."""

    def keep(self) -> Generator[None, None, list[list[Place]]]:
        """Give everybody what it has and still subscribes to. Returns, by pool, the partitions that nobody has."""
        shape, topics, pace = self.shape, self.shape.spec.topics, self.pace
        kept = self.kept
        for number, member in enumerate(shape.members):
            for topic_id in sorted(member.target):
                if topic_id not in member.subscribed or topic_id not in topics:
                    continue
                count = topics[topic_id].partition_count
                places = [(topic_id, p) for p in member.target[topic_id] if p < count and (topic_id, p) not in kept]
                if places:
                    kept.update(dict.fromkeys(places, number))
                    self.owned[number].setdefault(shape.pool_of[topic_id], []).extend(places)
                    self.load[number] += len(places)
                    if pace.spent(1 + len(places)):
                        yield
            if self.racks.known:
                self.racks.worst_last(number, self.owned[number])
                if pace.spent(2 * self.load[number]):
                    yield
        unowned: list[list[Place]] = [[] for _ in shape.pools]
        for pool, topic_ids in enumerate(shape.pools):
            for topic_id in topic_ids:
                count = topics[topic_id].partition_count
                unowned[pool].extend((topic_id, p) for p in range(count) if (topic_id, p) not in kept)
                if pace.spent(1 + count // 2):
                    yield
        return unowned

    def place(self, unowned: list[list[Place]]) -> Iterator[None]:
        """Each partition to its least loaded subscriber; first the pools that have fewest to choose from."""
        shape, load, pace = self.shape, self.load, self.pace
        order = sorted(
            (-shape.partitions(pool) / len(shape.subscribers[pool]), len(shape.subscribers[pool]), pool)
            for pool in range(len(shape.pools))
            if unowned[pool]
        )
        for _, _, pool in order:
            heap = [(load[number], number) for number in shape.subscribers[pool]]
            heapify(heap)
            for where in unowned[pool]:
                held, number = heap[0]
                self.owned[number].setdefault(pool, []).append(where)
                load[number] = held + 1
                heapreplace(heap, (held + 1, number))
                if pace.spent(2):
                    yield
            if pace.spent(len(heap) // 2):
                yield

    def balance(self) -> Iterator[None]:
        """Move partitions from the most to the least loaded until no single move helps."""
        if self.load and max(self.load) - min(self.load) > 1:
            for _ in range(PASSES_MAX):
                if not (yield from self._pass()):
                    break

    def _pass(self) -> Generator[None, None, bool]:
        """Let each member, least loaded first, take from the most loaded it can take from. True if one did.

        A giver's entry is corrected when it comes up; what members gain during a pass counts as theirs to give in the
        next.
        """
        load, owned, pace = self.load, self.owned, self.pace
        givers: list[list[tuple[int, int]]] = [[] for _ in self.shape.pools]
        for number, by_pool in enumerate(owned):
            for pool, places in by_pool.items():
                if places:
                    givers[pool].append((-load[number], number))
            if pace.spent(len(by_pool)):
                yield
        for heap in givers:
            heapify(heap)
        takers = [(held, number) for number, held in enumerate(load) if self.shape.reach[number]]
        heapify(takers)
        moved = False
        while takers:
            held, taker = heappop(takers)
            if held != load[taker]:
                heappush(takers, (load[taker], taker))
                continue
            if pace.spent(2 + 2 * len(self.shape.reach[taker])):
                yield
            most, pool = self._most_loaded(givers, self.shape.reach[taker])
            if most < held + 2:
                continue
            giver = givers[pool][0][1]
            owned[taker].setdefault(pool, []).append(owned[giver][pool].pop())
            load[giver] -= 1
            load[taker] += 1
            heappush(takers, (load[taker], taker))
            moved = True
        return moved

    def _most_loaded(self, givers: list[list[tuple[int, int]]], pools: list[int]) -> tuple[int, int]:
        """The greatest load among the owners in these pools, and the pool where it heads the heap; -1 if none."""
        best, where = -1, -1
        for pool in pools:
            heap = givers[pool]
            while heap:
                most, number = -heap[0][0], heap[0][1]
                if not self.owned[number][pool]:
                    heappop(heap)
                elif most != self.load[number]:
                    heapreplace(heap, (-self.load[number], number))
                else:
                    if most > best:
                        best, where = most, pool
                    break
        return best, where

    def target(self) -> Pieces:
        """The table as the answer."""
        answer: dict[str, dict[bytes, tuple[int, ...]]] = {}
        for number, member in enumerate(self.shape.members):
            by_topic: dict[bytes, list[int]] = {}
            for places in self.owned[number].values():
                for topic_id, p in places:
                    by_topic.setdefault(topic_id, []).append(p)
            answer[member.member_id] = {topic_id: tuple(sorted(by_topic[topic_id])) for topic_id in sorted(by_topic)}
            if self.pace.spent(1 + self.load[number]):
                yield
        return answer

"""Where replicas and leaders should be: a pure planner for `tape rebalance` and `tape broker drain`.

`plan` takes brokers with their racks and partitions with their replicas and returns the partitions that change. It
empties brokers that are to be left, evens out replicas (by number, or by bytes), then leaders, and moves little: a
replica moves only from a fuller broker to an emptier one, no partition gets onto fewer racks, and leaders change by
reordering replicas, which copies nothing. Same input, same plan; a plan carried out plans nothing more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Replicas = tuple[int, ...]
Place = tuple[str, int]
STEPS_MAX_PER_REPLICA = 4
"""A bound on the search, which ends by itself long before."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A partition with its replicas (the first is the preferred leader) and what one copy weighs."""

    topic: str
    index: int
    replicas: Replicas
    bytes: int = 0

    @property
    def place(self) -> Place:
        """Its key."""
        return self.topic, self.index


@dataclass(frozen=True, slots=True)
class Move:
    """One partition's change. `added` replicas are copied, `bytes` in all."""

    topic: str
    index: int
    before: Replicas
    after: Replicas
    bytes: int

    @property
    def added(self) -> list[int]:
        """Brokers that get a copy."""
        return [one for one in self.after if one not in self.before]

    @property
    def removed(self) -> list[int]:
        """Brokers that lose theirs."""
        return [one for one in self.before if one not in self.after]


class CannotPlanError(ValueError):
    """Too few brokers for the replicas there are."""


@dataclass(slots=True)
class _Table:
    """The assignment while it is worked on."""

    racks: Mapping[int, str | None]
    weight: Mapping[Place, int]
    replicas: dict[Place, list[int]]
    load: dict[int, int]
    by_topic: dict[tuple[int, str], int] = field(default_factory=dict)
    on: dict[int, dict[Place, None]] = field(default_factory=dict)

    def put(self, broker: int, place: Place) -> None:
        self.load[broker] = self.load.get(broker, 0) + self.weight[place]
        key = (broker, place[0])
        self.by_topic[key] = self.by_topic.get(key, 0) + 1
        self.on.setdefault(broker, {})[place] = None

    def take(self, broker: int, place: Place) -> None:
        self.load[broker] -= self.weight[place]
        self.by_topic[broker, place[0]] -= 1
        del self.on[broker][place]

    def move(self, place: Place, source: int, target: int) -> None:
        replicas = self.replicas[place]
        replicas[replicas.index(source)] = target
        self.take(source, place)
        self.put(target, place)

    def spread(self, replicas: Iterable[int]) -> int:
        """On how many racks these brokers are; one without a rack is a rack of its own."""
        return len({self.racks.get(one) or f"#{one}" for one in replicas})


def plan(
    brokers: Mapping[int, str | None],
    partitions: Sequence[Weighed],
    *,
    leave: Iterable[int] = (),
    by_bytes: bool = False,
    tolerance: float = 0.1,
    only_leave: bool = False,
) -> list[Move]:
    """The changes that leave the brokers in `leave` empty and the others even, in order of topic and partition.

    brokers: id → rack of every broker that may hold replicas, those to be left included. tolerance: with by_bytes, the
    share of the mean by which brokers may differ; by number it is one replica. only_leave: change nothing else.
    Raises CannotPlanError if a partition has more replicas than brokers remain.
    """
    leaving = list(dict.fromkeys(leave))
    staying = sorted(broker for broker in brokers if broker not in leaving)
    weight = {one.place: max(1, one.bytes) if by_bytes else 1 for one in partitions}
    made = _Table(
        dict(brokers), weight, {one.place: list(one.replicas) for one in partitions}, dict.fromkeys(staying, 0)
    )
    for one in partitions:
        for broker in one.replicas:
            made.put(broker, one.place)
    _empty(made, leaving, staying)
    if not only_leave and staying:
        total = sum(made.load[broker] for broker in staying)
        slack = max(1, int(total / len(staying) * tolerance)) if by_bytes else 1
        _even_replicas(made, staying, slack)
        _even_leaders(made, staying)
    changes = []
    for one in sorted(partitions, key=lambda one: one.place):
        after = tuple(made.replicas[one.place])
        if after != one.replicas:
            copies = len([broker for broker in after if broker not in one.replicas])
            changes.append(Move(one.topic, one.index, one.replicas, after, copies * one.bytes))
    return changes


def _empty(made: _Table, leaving: Sequence[int], staying: Sequence[int]) -> None:
    """Replace every replica on a broker that is to be left."""
    for broker in leaving:
        for place in list(made.on.get(broker, {})):
            kept = [one for one in made.replicas[place] if one != broker]
            choices = [one for one in staying if one not in made.replicas[place]]
            if not choices:
                replicas = f"{len(kept) + 1} replica{'s' if kept else ''}"
                left = f"{len(staying)} broker is" if len(staying) == 1 else f"{len(staying)} brokers are"
                raise CannotPlanError(
                    f"{place[0]}:{place[1]} has {replicas}, and without broker {broker} only {left} left"
                )
            best = min(
                choices,
                key=lambda one: (
                    -made.spread([*kept, one]),
                    made.by_topic.get((one, place[0]), 0),
                    made.load[one],
                    one,
                ),
            )
            made.move(place, broker, best)


def _even_replicas(made: _Table, staying: Sequence[int], slack: int) -> None:
    """Move replicas from the fullest broker to the emptiest that takes one, until they differ by no more than slack."""
    for _ in range(STEPS_MAX_PER_REPLICA * sum(len(made.on.get(one, {})) for one in staying)):
        order = sorted(staying, key=lambda one: (made.load[one], one))
        step = next(
            (
                found
                for source in reversed(order)
                for target in order
                if made.load[source] - made.load[target] > slack
                and (found := _best_move(made, source, target)) is not None
            ),
            None,
        )
        if step is None:
            return
        made.move(*step)


def _best_move(made: _Table, source: int, target: int) -> tuple[Place, int, int] | None:
    """The replica whose move helps most: of the topic most unevenly spread over the two, a follower if possible."""
    gap = made.load[source] - made.load[target]
    best: tuple[tuple[int, int, int, Place], Place] | None = None
    for place in made.on.get(source, {}):
        replicas = made.replicas[place]
        if target in replicas or made.weight[place] >= gap:
            continue  # it would only change places, or be the fullest next
        after = [target if one == source else one for one in replicas]
        if made.spread(after) < made.spread(replicas):
            continue
        excess = made.by_topic[source, place[0]] - made.by_topic.get((target, place[0]), 0)
        rank = (-excess, abs(gap - 2 * made.weight[place]), int(replicas[0] == source), place)
        if best is None or rank < best[0]:
            best = rank, place
    return None if best is None else (best[1], source, target)


def _even_leaders(made: _Table, staying: Sequence[int]) -> None:
    """Hand leadership along a chain of brokers from one that leads too many to one that leads too few."""
    led: dict[int, dict[Place, None]] = {broker: {} for broker in staying}
    for place, replicas in sorted(made.replicas.items()):
        led.setdefault(replicas[0], {})[place] = None
    for _ in range(sum(len(places) for places in led.values())):
        chain = _chain(made, led, staying)
        if chain is None:
            return
        for place, source, target in chain:
            replicas = made.replicas[place]
            at = replicas.index(target)
            replicas[0], replicas[at] = replicas[at], replicas[0]
            del led[source][place]
            led[target][place] = None


def _chain(
    made: _Table, led: Mapping[int, Mapping[Place, None]], staying: Sequence[int]
) -> list[tuple[Place, int, int]] | None:
    """The shortest chain of leadership changes that takes one from a broker and gives it to one with two fewer."""
    for start in sorted(staying, key=lambda one: (-len(led[one]), one)):
        reached: dict[int, tuple[Place, int] | None] = {start: None}
        queue = [start]
        while queue:
            source = queue.pop(0)
            for place in led[source]:
                for target in made.replicas[place][1:]:
                    if target in reached or target not in staying:
                        continue
                    reached[target] = place, source
                    if len(led[target]) <= len(led[start]) - 2:
                        return _walked(reached, target)
                    queue.append(target)
    return None


def _walked(reached: Mapping[int, tuple[Place, int] | None], end: int) -> list[tuple[Place, int, int]]:
    steps = []
    while (step := reached[end]) is not None:
        place, source = step
        steps.append((place, source, end))
        end = source
    return steps

"""How far each partition has been worked through: what may be committed, and what must be done again. No client.

Records are taken in order and may be finished out of order. The offset to commit is that of the first record that is
not finished, so that a crash never skips one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tapelog.toolkit.records import Place, Record


@dataclass(frozen=True, slots=True)
class Position:
    """The next offset to read, and the leader epoch of the record before it."""

    offset: int
    leader_epoch: int


@dataclass(slots=True)
class _Lane:
    """Records since the last commit, by offset, in order."""

    taken: dict[int, Record] = field(default_factory=dict)
    finished: set[int] = field(default_factory=set)
    returned: set[int] = field(default_factory=set)


class Progress:
    """What was taken since the last commit, and which of it is finished."""

    def __init__(self) -> None:
        self._lanes: dict[Place, _Lane] = {}

    def __len__(self) -> int:
        """How many records have been taken and neither committed nor given back."""
        return sum(len(lane.taken) - len(lane.returned) for lane in self._lanes.values())

    def take(self, record: Record) -> None:
        """Work on it begins, perhaps again."""
        lane = self._lanes.setdefault(record.place, _Lane())
        if record.offset in lane.taken:
            lane.returned.discard(record.offset)
            return
        assert record.offset > next(reversed(lane.taken), -1), f"{record.coordinates} comes out of order"
        lane.taken[record.offset] = record

    def give_back(self, records: Iterable[Record]) -> None:
        """These are not being worked on any more; they are taken again later, and block commits until then."""
        for record in records:
            self._lanes[record.place].returned.add(record.offset)

    def finish(self, record: Record) -> None:
        """Work on it is over."""
        self._lanes[record.place].finished.add(record.offset)

    def positions(self) -> dict[Place, Position]:
        """What may be committed: for each partition that has moved, the position behind its last finished record that
        has no unfinished one before it."""
        positions = {}
        for place, lane in self._lanes.items():
            last = None
            for offset, record in lane.taken.items():
                if offset not in lane.finished:
                    break
                last = record
            if last is not None:
                positions[place] = Position(last.offset + 1, last.leader_epoch)
        return positions

    def committed(self, positions: Mapping[Place, Position]) -> None:
        """These positions are committed: what lies before them is over for good."""
        for place, position in positions.items():
            lane = self._lanes.get(place)
            if lane is not None:
                for offset in [offset for offset in lane.taken if offset < position.offset]:
                    del lane.taken[offset]
                    lane.finished.discard(offset)
                    lane.returned.discard(offset)

    def undo(self) -> list[Record]:
        """Nothing since the last commit counts: what was being worked on is given back, to be done again."""
        records = []
        for lane in self._lanes.values():
            records += [record for offset, record in lane.taken.items() if offset not in lane.returned]
            lane.finished.clear()
            lane.returned.update(lane.taken)
        return records

    def forget(self, places: Iterable[Place]) -> None:
        """These partitions are somebody else's now."""
        for place in places:
            self._lanes.pop(place, None)

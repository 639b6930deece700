"""Where a group's offsets should go: a pure plan, shown by `tape group reset` and carried out with --execute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Target:
    """Exactly one of these is given."""

    earliest: bool = False
    latest: bool = False
    offset: int | None = None
    time_ms: int | None = None
    shift: int | None = None

    def given(self) -> int:
        """How many were given."""
        return self.earliest + self.latest + sum(value is not None for value in (self.offset, self.time_ms, self.shift))


@dataclass(frozen=True, slots=True)
class Move:
    """One partition's change. `clamped` says that the wish lay outside the offsets that exist."""

    topic: str
    partition: int
    current: int | None
    new: int
    clamped: bool = False


def plan_moves(
    places: list[Place],
    target: Target,
    *,
    current: Mapping[Place, int],
    bounds: Mapping[Place, tuple[int, int]],
    at_time: Mapping[Place, int],
) -> list[Move]:
    """The new offset of every partition, always within [start, end].

    `at_time` maps a partition to the first offset at or after the target's time, negative if there is none (then the
    end is meant). A shift counts from the committed offset, or from the start where nothing was committed.
    """
    moves = []
    for place in places:
        start, end = bounds[place]
        if target.earliest:
            wish = start
        elif target.latest:
            wish = end
        elif target.offset is not None:
            wish = target.offset
        elif target.time_ms is not None:
            wish = at_time[place] if at_time[place] >= 0 else end
        else:
            wish = current.get(place, start) + (target.shift or 0)
        new = min(max(wish, start), end)
        moves.append(Move(*place, current.get(place), new, clamped=new != wish))
    return moves

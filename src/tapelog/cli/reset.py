"""Where a group's offsets should go: a pure plan, shown by `tape group reset` and carried out with --execute.

Also the file that offsets are exported to and read from: CSV as Kafka's own tool has it, or our JSON.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tapelog.toolkit.lag.values import Committed

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Target:
    """Exactly one of these is given. `offsets` come from a file, by partition."""

    earliest: bool = False
    latest: bool = False
    offset: int | None = None
    time_ms: int | None = None
    shift: int | None = None
    current: bool = False
    offsets: Mapping[Place, int] | None = None

    def given(self) -> int:
        """How many were given."""
        values = (self.offset, self.time_ms, self.shift, self.offsets)
        return self.earliest + self.latest + self.current + sum(value is not None for value in values)


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
    end is meant). A shift counts from the committed offset, or from the start where nothing was committed; so does
    `current`.
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
        elif target.offsets is not None:
            wish = target.offsets[place]
        else:
            wish = current.get(place, start) + (target.shift or 0)
        new = min(max(wish, start), end)
        moves.append(Move(*place, current.get(place), new, clamped=new != wish))
    return moves


def parse_selection(text: str) -> tuple[str, list[int]]:
    """`TOPIC` or `TOPIC:P,P` (no partitions: all of them). ValueError otherwise."""
    name, colon, numbers = text.partition(":")
    parts = numbers.split(",") if colon else []
    if not name or any(not part.strip().isdigit() for part in parts):
        raise ValueError(f"{text!r} is not TOPIC or TOPIC:P,P")
    return name, [int(part) for part in parts]


def render_offsets(group: str, offsets: Mapping[Place, Committed], *, as_json: bool) -> str:
    """The text of an export: CSV lines of topic, partition, offset; or JSON with what was committed beside them."""
    if as_json:
        entries = [
            {"topic": topic, "partition": number, "offset": entry.offset, "metadata": entry.metadata or None}
            for (topic, number), entry in sorted(offsets.items())
        ]
        return json.dumps({"group": group, "offsets": entries}, ensure_ascii=False, indent=2) + "\n"
    made = io.StringIO()
    csv.writer(made, lineterminator="\n").writerows(
        (topic, number, entry.offset) for (topic, number), entry in sorted(offsets.items())
    )
    return made.getvalue()


def parse_offsets(text: str, group: str) -> dict[Place, int]:
    """Offsets by partition from an export, ours or that of Kafka's tool (which may name the group first in each line).

    Lines of other groups are left out. ValueError says which line makes no sense.
    """
    if text.lstrip().startswith("{"):
        return _from_json(text)
    found: dict[Place, int] = {}
    for number, row in enumerate(csv.reader(io.StringIO(text), skipinitialspace=True), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#"):
            continue
        if len(cells) == 4 and cells[0] != group:
            continue
        if len(cells) not in (3, 4) or not all(cell.isdigit() for cell in cells[-2:]) or not cells[-3]:
            raise ValueError(f"line {number} is not topic,partition,offset")
        found[cells[-3], int(cells[-2])] = int(cells[-1])
    if not found:
        raise ValueError(f"it has no offsets of group {group}")
    return found


def _from_json(text: str) -> dict[Place, int]:
    try:
        entries = json.loads(text)["offsets"]
        found = {(str(one["topic"]), int(one["partition"])): int(one["offset"]) for one in entries}
    except (KeyError, TypeError, ValueError):
        raise ValueError('it is not {"offsets": [{"topic": …, "partition": …, "offset": …}]}') from None
    if not found or any(number < 0 or offset < 0 for (_, number), offset in found.items()):
        raise ValueError("it has no offsets, or negative ones")
    return found

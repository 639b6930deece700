"""When a kill happens: waiting for a moment that hurts, and telling afterwards which one it was.

A batch goes through these: `planned` (Spark's checkpoint has its offsets), `writing` (some of its rows are there,
nobody may read them), `written` (all are), `showing` (readers see some), `shown` (they see all, but the checkpoint does
not say so yet: a restart replays the batch). `between` is after the checkpoint and before the next batch.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from confluent_kafka import KafkaException, TopicPartition

from tests.spark.kills.accounts import Row, consumer, whole
from tests.spark.kills.lake_check import found, numbers_in, rows_in, versions, written

WAIT_S_MAX = 15.0
WAYS = ("any", "write", "write", "full", "full", "show")
"""What is waited for: nothing, the first rows of a batch, all its rows, the first that readers see."""

Seen = tuple[frozenset[int], frozenset[int]]
"""Numbers that are there, and those that readers see."""


class Output(Protocol):
    """Where the query writes."""

    def there(self) -> object:
        """Something that changes when rows are written."""

    def visible(self) -> object:
        """Something that changes when readers see more."""

    def rows_since(self, before: Any) -> int:
        """How many rows were written since `there` told that."""

    def snapshot(self) -> Any:
        """For `told`, later: what is there and what is visible now."""

    def told(self, snapshots: list[Any]) -> list[Seen]:
        """What these were, in numbers."""

    def numbers(self) -> list[int | None]:
        """Of every row that a reader sees."""

    def hidden(self) -> int:
        """How much is there that readers will only see when somebody ends a transaction."""


class TopicOutput:
    """A topic."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._at = (bootstrap, topic, partitions)
        self._raw, self._committed = (consumer(bootstrap, level) for level in ("read_uncommitted", "read_committed"))

    def there(self) -> tuple[int, ...]:
        """The ends of its partitions."""
        return self._ends(self._raw)

    def visible(self) -> tuple[int, ...]:
        """As far as readers at read_committed get."""
        return self._ends(self._committed)

    def rows_since(self, before: Any) -> int:
        """By offsets; what ends transactions has some, too, but comes after their rows."""
        ends: tuple[int, ...] = before
        return sum(self.there()) - sum(ends)

    def snapshot(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Both ends."""
        return self.there(), self.visible()

    def told(self, snapshots: list[Any]) -> list[Seen]:
        """By reading the topic once more. What lay between the two ends was in a transaction, open then or not."""
        raw, shown = whole(*self._at, "read_uncommitted"), whole(*self._at)
        nowhere = (0,) * self._at[2]
        return [(_within(raw, seen, ends), _within(shown, nowhere, seen)) for ends, seen in snapshots]

    def numbers(self) -> list[int | None]:
        """At read_committed, from beginning to end."""
        return [row.number for row in whole(*self._at)]

    def hidden(self) -> int:
        """Offsets that readers do not get to, because a transaction is open."""
        return sum(self.there()) - sum(self.visible())

    def _ends(self, asking: Any) -> tuple[int, ...]:
        _, topic, partitions = self._at
        return tuple(
            asking.get_watermark_offsets(TopicPartition(topic, one), timeout=30)[1] for one in range(partitions)
        )


class LakeOutput:
    """An Iceberg table."""

    def __init__(self, uri: str) -> None:
        self._uri = uri

    def there(self) -> frozenset[str]:
        """Its files of data."""
        return written(self._uri)

    def visible(self) -> frozenset[str]:
        """Its versions."""
        return versions(self._uri)

    def rows_since(self, before: Any) -> int:
        """In files that are complete."""
        return rows_in(self.there() - before)

    def snapshot(self) -> Seen:
        """Read at once: files that are in no version are swept later."""
        shown = found(self._uri) if versions(self._uri) else []
        return frozenset(numbers_in(written(self._uri))), frozenset(one for one in shown if one is not None)

    def told(self, snapshots: list[Any]) -> list[Seen]:
        """They are numbers already."""
        return snapshots

    def numbers(self) -> list[int | None]:
        """Of the table as it is."""
        return found(self._uri)

    def hidden(self) -> int:
        """A table hides nothing."""
        return 0


@dataclass(frozen=True)
class Moment:
    """A kill."""

    victim: str
    ranges: Mapping[int, tuple[int, int]]
    """Of the source's partitions, those offsets that the batch under way reads; none: no batch was under way."""
    snapshot: Any


class Moments:
    """Watches the query's checkpoint and its output."""

    def __init__(self, checkpoint: Path, output: Output, ways: tuple[str, ...] = WAYS) -> None:
        self._checkpoint, self._output, self._ways = checkpoint, output, ways
        self.seen: list[Moment] = []

    def wait(self, chance: random.Random) -> None:
        """For a moment worth a kill: a batch begins to write (and then a part of the time it takes), has written
        everything, or begins to show."""
        way, part = chance.choice(self._ways), chance.random()
        if way == "any":
            return
        look = self._output.visible if way == "show" else self._output.there
        over = time.monotonic() + WAIT_S_MAX
        with suppress(KafkaException):
            under_way, before = self.under_way(), look()
            while time.monotonic() < over:
                now = self.under_way()
                if now is None or now != under_way:
                    under_way, before = now, look()
                elif self._output.rows_since(before) >= self._rows(now) if way == "full" else look() != before:
                    if way == "write":
                        time.sleep(part * self._batch_s(now - 1))
                    return
                time.sleep(0.005)

    def note(self, victim: str) -> None:
        """Somebody is killed right now."""
        under_way = self.under_way()
        with suppress(KafkaException):
            self.seen.append(
                Moment(victim, {} if under_way is None else self._ranges(under_way), self._output.snapshot())
            )

    def under_way(self) -> int | None:
        """The batch that is planned and not done."""
        planned, done = (_newest(self._checkpoint / name) for name in ("offsets", "commits"))
        return planned if planned > done else None

    def phases(self, place: Mapping[tuple[int, int], int]) -> dict[str, dict[str, int]]:
        """How often each victim was hit in which phase of a batch; `place` tells the source's numbers."""
        counted: dict[str, dict[str, int]] = {}
        for moment, (there, visible) in zip(
            self.seen, self._output.told([one.snapshot for one in self.seen]), strict=True
        ):
            batch = {
                place[partition, offset]
                for partition, (start, end) in moment.ranges.items()
                for offset in range(start, end)
                if (partition, offset) in place
            }
            phase = phase_of(batch, there, visible)
            of_victim = counted.setdefault(moment.victim, {})
            of_victim[phase] = of_victim.get(phase, 0) + 1
        return {victim: dict(sorted(phases.items())) for victim, phases in sorted(counted.items())}

    def _rows(self, batch: int) -> int:
        return sum(end - start for start, end in self._ranges(batch).values())

    def _ranges(self, batch: int) -> dict[int, tuple[int, int]]:
        end, start = self._offsets(batch), self._offsets(batch - 1)
        return {partition: (start.get(partition, 0), offset) for partition, offset in end.items()}

    def _offsets(self, batch: int) -> dict[int, int]:
        path = self._checkpoint / "offsets" / str(batch)
        if batch < 0 or not path.exists():
            return {}
        topics = json.loads(path.read_text().splitlines()[2])
        return {int(partition): offset for topic in topics.values() for partition, offset in topic.items()}

    def _batch_s(self, batch: int) -> float:
        """How long that one took."""
        try:
            times = [(self._checkpoint / name / str(batch)).stat().st_mtime for name in ("offsets", "commits")]
        except OSError:
            return 0.0
        return min(3.0, max(0.0, times[1] - times[0]))


def phase_of(batch: set[int], there: frozenset[int], visible: frozenset[int]) -> str:
    """See the module."""
    if not batch:
        return "between"
    if batch & visible:
        return "shown" if batch <= visible else "showing"
    if batch & there:
        return "written" if batch <= there else "writing"
    return "planned"


def _within(rows: list[Row], start: tuple[int, ...], end: tuple[int, ...]) -> frozenset[int]:
    """The numbers of rows between these offsets."""
    return frozenset(
        number for number, (partition, at) in rows if number is not None and start[partition] <= at < end[partition]
    )


def _newest(directory: Path) -> int:
    try:
        return max((int(entry.name) for entry in directory.iterdir() if entry.name.isdecimal()), default=-1)
    except OSError:
        return -1

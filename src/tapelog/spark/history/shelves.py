"""What the tier has of partitions, by their manifests: asked on the driver when a batch is planned.

Only what is certain is taken: segments that the manifest names, from the log's start on; as far as the partition's
leader shares their leader epochs; and for read_committed, as far as every transaction is decided up there. Everything
else is left to Fetch, so that what is unclear costs time, never rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from tapelog.log.tier import layout, manifest
from tapelog.log.tier.document import DocumentError
from tapelog.log.tier.manifest import Entry, Manifest, Page, PageRef, SegmentEntry
from tapelog.spark.history.store import MissingObjectError, Objects, StoreError, open_objects
from tapelog.spark.history.tails import first_open
from tapelog.spark.plan.stored import History, Stored
from tapelog.spark.plan.tier import TierSettings
from tapelog.spark.plan.values import TopicPartition
from tapelog.spark.plan.view import Isolation

READS_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True)
class Asked:
    """A partition of which the offsets from start to until are to be read."""

    of: TopicPartition
    topic_id: bytes
    start: int
    until: int


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of one, before anybody looked whether the leader agrees."""

    history: History
    leader_epoch: int
    """Of the leader that wrote the manifest."""
    epochs: tuple[tuple[int, int], ...]
    """(leader epoch, first offset of it) of the objects, in order."""


def look_up(settings: TierSettings, asked: Sequence[Asked], isolation: Isolation) -> Mapping[TopicPartition, Found]:
    """What the tier has of these partitions; those of which it has nothing are left out. StoreError."""
    if not asked:
        return {}
    objects = open_objects(settings)
    with ThreadPoolExecutor(min(READS_AT_ONCE, len(asked)), "tapelog-manifests") as pool:
        found = list(pool.map(lambda one: _Partition(objects, one).find(isolation), asked))
    return {one.of: history for one, history in zip(asked, found, strict=True) if history is not None}


class _Partition:
    """One partition's part of the bucket."""

    def __init__(self, objects: Objects, asked: Asked) -> None:
        self._objects = objects
        self._asked = asked
        self._prefix = layout.partition_prefix(asked.topic_id, asked.of.partition)

    def find(self, isolation: Isolation) -> Found | None:
        try:
            head = manifest.decode(self._objects.get(self._prefix + layout.MANIFEST))
        except MissingObjectError:
            return None
        except DocumentError as error:
            raise self._damaged(layout.MANIFEST, error) from None
        if head.deleted or head.topic_id != self._asked.topic_id or head.partition != self._asked.of.partition:
            return None
        start = max(self._asked.start, head.start_offset)
        entries = list(_without_gap(self._between(head.entries(), start, self._asked.until)))
        if not entries:
            return None
        held = tuple(self._stored(entry, head.start_offset) for entry in entries)
        until, marks = entries[-1].end_offset, tuple[Stored, ...]()
        if isolation == "read_committed":
            until, marks = self._decided(head, entries, held)
        epochs = tuple(dict.fromkeys(pair for entry in entries for pair in entry.epochs))
        return Found(History(held, until, marks), head.leader_epoch, epochs)

    def _between(self, entries: Sequence[Entry], start: int, until: int) -> Iterator[SegmentEntry]:
        for entry in entries:
            if entry.end_offset <= start or entry.first_offset >= until:
                continue
            if isinstance(entry, SegmentEntry):
                yield entry
            else:
                yield from self._between(self._page(entry).entries, start, until)

    def _page(self, ref: PageRef) -> Page:
        try:
            return manifest.decode_page(self._objects.get(self._prefix + ref.name))
        except DocumentError as error:
            raise self._damaged(ref.name, error) from None

    def _stored(self, entry: SegmentEntry, start: int) -> Stored:
        return Stored(
            self._prefix + entry.name,
            entry.base_offset,
            max(entry.first_offset, start),
            entry.end_offset,
            entry.log_size,
            entry.tail_size,
            entry.tail_crc,
            entry.aborted_from,
        )

    def _decided(
        self, head: Manifest, entries: Sequence[SegmentEntry], held: tuple[Stored, ...]
    ) -> tuple[int, tuple[Stored, ...]]:
        """Up to where every transaction is decided in the tier, and the objects that tell which were aborted.

        A transaction may end many segments later: those are looked at while one that began in what is read is open.
        """
        until = min(entries[-1].end_offset, self._asked.until)
        marks, last = list(held), entries[-1]
        while (undecided := self._first_open(last)) is not None and undecided < until:
            after = last.end_offset
            following = next(self._between(head.entries(), after, after + 1), None)
            if following is None:
                return undecided, tuple(marks)
            marks.append(self._stored(following, head.start_offset))
            last = following
        return until, tuple(marks)

    def _first_open(self, entry: SegmentEntry) -> int | None:
        position, size = entry.section(layout.PRODUCERS)
        name = self._prefix + entry.name
        return first_open(self._objects.read(name, position, size), name) if size else None

    def _damaged(self, name: str, error: DocumentError) -> StoreError:
        return StoreError(
            f"{self._prefix}{name} is damaged: {error}",
            f"manifest of {self._asked.of}",
            "see tape tier verify; leave tier.url out to read by brokers",
        )


def _without_gap(entries: Iterator[SegmentEntry]) -> Iterator[SegmentEntry]:
    """Up to the first gap: markers of transactions may have been in it."""
    end = -1
    for entry in entries:
        if end not in (-1, entry.first_offset):
            return
        yield entry
        end = entry.end_offset

"""What a node knows of one partition's part of the tier: the head of its manifest, and the segments below it.

Made when first needed, from the head that the leader here has written or from the bucket; read anew when it does not
answer a question any more. All of it may raise NotHereError: wait, and ask again.

Hot: compiled with mypyc where possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tapelog.log.tier import layout, manifest
from tapelog.log.tier.document import DocumentError
from tapelog.log.tier.manifest import Entry, Manifest, Page, PageRef, SegmentEntry
from tapelog.log.tier.pieces import WHOLE, Awaited, NotHereError, Pieces, UnreadableError
from tapelog.log.tier.remote import RemoteSegment, Transactions
from tapelog.log.tier.store import Got, ObjectMissingError, StoreError
from tapelog.wire.errors import ErrorCode, KafkaError

SEGMENTS_MAX: Final = 32
"""Segments of a partition that are kept ready."""
TRANSACTIONS_MAX: Final = 1_000
"""Segments of a partition of whose transactions it is kept in mind what became of them."""
FRESH_MS: Final = 1_000
"""A head that was read so lately is not read again for a question it cannot answer."""
RETRY_MS: Final = 200
LOST_MS: Final = 60_000
"""So long it is remembered that something could not be had, while the head is read: a slow store takes its time."""
LOST_MAX: Final = 64
MARKS_MAX: Final = 64


class Mark:
    """Where a reader left off: that it comes back for the rest is likely."""

    __slots__ = ("ahead", "name", "position")

    def __init__(self, name: str, position: int, ahead: int) -> None:
        self.name = name
        self.position = position
        self.ahead = ahead
        """Bytes that were asked for in advance."""


class View:
    """See the module."""

    def __init__(self, pieces: Pieces, topic_id: bytes, partition: int) -> None:
        self.pieces = pieces
        self.prefix = layout.partition_prefix(topic_id, partition)
        self.written: Callable[[], Manifest | None] = _nothing
        """The head that the leader here has written last, if this node leads."""
        self.learnt: Callable[[Manifest], None] = _ignore
        """Called with each head that was read."""
        self.marks: dict[int, Mark] = {}
        self._head: Manifest | None = None
        self._read_ms = -FRESH_MS
        self._loading: Awaited | None = None
        self._lost: dict[str, int] = {}
        """What could not be had, and since when."""
        self._segments: dict[str, RemoteSegment] = {}
        self._transactions: dict[str, Transactions] = {}

    # --- the head ------------------------------------------------------------------------------------------------

    def head(self) -> Manifest:
        """The newest that is known. KAFKA_STORAGE_ERROR if there is none in the bucket."""
        written = self.written()
        if written is not None:
            return written
        if self._head is None:
            self.refresh()
        if self._head is None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the tier has no manifest at {self.prefix}")
        return self._head

    def refresh(self) -> None:
        """Read the head anew: NotHereError while that is under way, nothing if it was done just now."""
        if self.written() is not None or self._age_ms() < FRESH_MS:
            return
        self.load()
        if self._loading is not None:
            raise NotHereError(self._loading)

    def load(self) -> None:
        """The same without waiting."""
        if self._loading is None:
            self._loading = Awaited()
            self.pieces.store.get(self.prefix + layout.MANIFEST, self._loaded)

    def settled(self) -> None:
        """NotHereError while the head is being read."""
        if self._loading is not None:
            raise NotHereError(self._loading)

    def _loaded(self, result: Got | StoreError) -> None:
        loading = self._loading
        assert loading is not None
        if isinstance(result, StoreError) and not isinstance(result, ObjectMissingError):
            self.pieces.complain(f"reading the manifest of {self.prefix} failed: {result}")
            if loading.waiters:
                self.pieces.timers.after(RETRY_MS, self._again)
            else:
                self._loading = None
            return
        self._loading = None
        self._read_ms = self.pieces.timers.clock.monotonic_ms()
        if isinstance(result, Got):
            try:
                self._head = manifest.decode(result.data)
                self.learnt(self._head)
            except DocumentError as error:
                self.pieces.complain(f"the manifest of {self.prefix} is damaged: {error}")
        else:
            self._head = None
        loading.arrived()

    def _again(self) -> None:
        if self._loading is not None and self._loading.waiters:
            self.pieces.store.get(self.prefix + layout.MANIFEST, self._loaded)
        else:
            self._loading = None

    def _age_ms(self) -> int:
        return self.pieces.timers.clock.monotonic_ms() - self._read_ms

    # --- what is below it ------------------------------------------------------------------------------------------

    def entries(self, offset: int) -> Iterator[SegmentEntry]:
        """Segments from the one that has offset on, oldest first."""
        head = self.head()
        offset = max(offset, head.start_offset)
        while True:
            found = self._descend(manifest.locate((*head.refs, *head.segments), offset), offset)
            if found is None:
                return
            yield found
            offset = found.end_offset

    def first_with_time(self, timestamp: int, offset: int) -> SegmentEntry | None:
        """The first segment that ends behind offset and has a record that late."""
        head = self.head()
        offset = max(offset, head.start_offset)
        entry = manifest.locate_time((*head.refs, *head.segments), timestamp, offset)
        while isinstance(entry, PageRef):
            below = self._page(entry).locate_time(timestamp, offset)
            if below is None:  # nothing of this page that counts: what is behind it may do
                offset = entry.end_offset
                below = manifest.locate_time((*head.refs, *head.segments), timestamp, offset)
            entry = below
        return entry

    def greatest_timestamp(self, offset: int, end: int) -> int:
        """Over all segments that end behind offset and begin before end; -1 if there is none. Of pages only those are
        read that hold others as well: two per level."""
        head = self.head()
        return self._greatest((*head.refs, *head.segments), max(offset, head.start_offset), end)

    def _greatest(self, entries: Sequence[Entry], offset: int, end: int) -> int:
        best = -1
        for entry in entries:
            if entry.end_offset <= offset or entry.first_offset >= end or entry.max_timestamp <= best:
                continue
            if isinstance(entry, PageRef) and (entry.first_offset < offset or entry.end_offset > end):
                best = max(best, self._greatest(self._page(entry).entries, offset, end))
            else:
                best = entry.max_timestamp
        return best

    def _descend(self, entry: Entry | None, offset: int) -> SegmentEntry | None:
        while isinstance(entry, PageRef):
            entry = self._page(entry).locate(offset)
        return entry

    def _page(self, ref: PageRef) -> Page:
        page = self.pieces.get(self.prefix + ref.name, 0, WHOLE, manifest.decode_page)
        assert isinstance(page, Page)
        return page

    def segment(self, entry: SegmentEntry) -> RemoteSegment:
        """Ready to be read."""
        found = self._segments.pop(entry.name, None)
        if found is None or (found.entry is not entry and found.entry != entry):
            found = RemoteSegment(self.pieces, self.prefix, entry)
            if len(self._segments) >= SEGMENTS_MAX:
                del self._segments[next(iter(self._segments))]
        self._segments[entry.name] = found
        return found

    def transactions(self, entry: SegmentEntry) -> Transactions:
        """What became of transactions in a segment. Kept for long: a transaction may be open over many of them, and all
        are asked at once."""
        found = self._transactions.get(entry.name)
        if found is None:
            found = self.segment(entry).transactions()
            if len(self._transactions) >= TRANSACTIONS_MAX:
                del self._transactions[next(iter(self._transactions))]
            self._transactions[entry.name] = found
        return found

    def segment_with(self, offset: int) -> RemoteSegment:
        """The one that has offset. OFFSET_OUT_OF_RANGE if the tier has let go of it, KAFKA_STORAGE_ERROR if it should
        have it and has not."""
        for last in (False, True):
            head = self.head()
            if offset < head.start_offset:
                raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"the tier begins at {head.start_offset}")
            entry = next(self.entries(offset), None)
            if entry is not None and entry.first_offset <= offset:
                return self.segment(entry)
            if not last:
                self.refresh()
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.prefix}: the manifest does not name offset {offset}")

    def unreadable(self, error: UnreadableError) -> KafkaError:
        """An object is missing: the head may have changed meanwhile (NotHereError: it is read again), else that is an
        error."""
        text = str(error)
        since_ms = self._lost.pop(text, -1)
        if since_ms < max(0, error.since_ms - LOST_MS):  # else it was asked for again meanwhile
            since_ms = error.since_ms
        if self.written() is None and self._read_ms <= since_ms:
            if len(self._lost) >= LOST_MAX:
                del self._lost[next(iter(self._lost))]
            self._lost[text] = since_ms
            self.load()
            if self._loading is not None:
                raise NotHereError(self._loading)
        self.pieces.complain(f"the tier cannot be read: {error}. `tape tier verify` tells more")
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))

    def mark(self, offset: int, mark: Mark) -> None:
        """Remember where a reader left off."""
        self.marks.pop(offset, None)
        if len(self.marks) >= MARKS_MAX:
            del self.marks[next(iter(self.marks))]
        self.marks[offset] = mark


def _nothing() -> Manifest | None:
    return None


def _ignore(_: Manifest) -> None:
    pass

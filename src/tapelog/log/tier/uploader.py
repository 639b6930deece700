"""One led partition's part of the bucket: claims the manifest, copies segments, trims, collects what is left over.

A machine: `next` says what to do now, at most one operation at a time; `done` takes its result. Everything is decided
from the head that was read or written last. After a write whose outcome is not known the head is read again and is the
truth, whatever it says: so a crash, a lost answer and a lost race need no thought of their own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tapelog.base.ports import Entropy
from tapelog.log.tier import growth, layout, lineage, manifest, retention, walk
from tapelog.log.tier.collection import Collection
from tapelog.log.tier.document import DocumentError
from tapelog.log.tier.growth import Writer
from tapelog.log.tier.manifest import Manifest, Page, SegmentEntry
from tapelog.log.tier.operations import (
    CopySegment,
    DeleteObjects,
    ListObjects,
    Operation,
    ReadHead,
    ReadPage,
    Result,
    View,
    WriteHead,
    WritePage,
)
from tapelog.log.tier.store import (
    ABSENT,
    Condition,
    ConflictError,
    Got,
    Listing,
    ObjectMissingError,
    StoreError,
    Version,
)

TOKEN_BYTES: Final = 6
CONFLICTS_MAX: Final = 3
"""Conditional puts refused in a row before that is taken for a failure of the store."""

WAITING: Final = "waiting"
"""Nothing to do, or not yet."""
WORKING: Final = "working"
FENCED: Final = "fenced"
"""Another leader writes: nothing is done any more in this epoch."""
DIVERGED: Final = "diverged"
"""The log here and the tier share nothing, and the tier has more: somebody must decide."""


class Backoff:
    """How long to wait after failures in a row: doubling, with some chance in it."""

    def __init__(self, entropy: Entropy, first_ms: int, most_ms: int) -> None:
        self.failures = 0
        self._entropy = entropy
        self._first_ms = max(1, first_ms)
        self._most_ms = max(self._first_ms, most_ms)

    def failed(self) -> int:
        """Milliseconds to wait now."""
        wait = min(self._most_ms, self._first_ms << min(self.failures, 20))
        self.failures += 1
        return wait - self._entropy.below(wait // 5 + 1)

    def succeeded(self) -> None:
        """Begin anew."""
        self.failures = 0


class Uploader:
    """See the module. Lives as long as this node leads the partition in this epoch."""

    def __init__(
        self,
        topic: str,
        topic_id: bytes,
        partition: int,
        *,
        broker: int,
        leader_epoch: int,
        entropy: Entropy,
        backoff_ms: int = 500,
        backoff_ms_max: int = 30_000,
        orphan_check_ms: int = 3_600_000,
        cluster: str = "",
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partition = partition
        self.prefix = layout.partition_prefix(topic_id, partition)
        self.leader_epoch = leader_epoch
        self.state = WAITING
        self.manifest: Manifest | None = None
        """The newest head that is known to be stored and in our name."""
        self.error = ""
        self.failing_since_ms = -1
        """Wall clock; -1 while all is well."""
        self.wake_ms = 0
        """Nothing to do before this, on the monotonic clock."""
        self.operation: Operation | None = None
        """Under way."""
        self._broker = broker
        self._cluster = cluster
        self._entropy = entropy
        self._backoff = Backoff(entropy, backoff_ms, backoff_ms_max)
        self._orphan_check_ms = orphan_check_ms
        self._head: Manifest | None = None
        self._condition: Condition | None = None
        self._claimed = False
        self._related = False
        """What is up there was compared with our log."""
        self._copied: SegmentEntry | None = None
        """Uploaded, not yet committed."""
        self._growing: Manifest | None = None
        """The head to be, while pages are stored for it."""
        self._page: tuple[Page, str] | None = None
        self._pages: dict[str, Page] = {}
        self._copy_first = True
        self._collection: Collection | None = None
        self._dead: list[tuple[int, int]] = []
        """(when, below which offset) objects are to be deleted."""
        self._delete_delay_ms = 0
        self._orphans_due_ms = -1
        self._start_seen = 0
        """What ends below it was trimmed long ago, by whomever."""
        self._conflicts = 0

    @property
    def related(self) -> bool:
        """Whether what the manifest names is known to be what our log has: before, nothing may be deleted for it."""
        return self._related

    # --- deciding ------------------------------------------------------------------------------------------------

    def next(self, now_ms: int, view: View) -> Operation | None:
        """What to do now; None if nothing is. The caller carries it out and calls done."""
        if self.operation is not None or now_ms < self.wake_ms or self.state in (FENCED, DIVERGED):
            return None
        try:
            operation = self._decide(now_ms, view)
        except walk.PageWantedError as wanted:
            operation = ReadPage(wanted.ref.name)
        self.operation = operation
        if self.state not in (FENCED, DIVERGED):
            self.state = WAITING if operation is None else WORKING
        return operation

    def _decide(self, now_ms: int, view: View) -> Operation | None:
        self._delete_delay_ms = view.delete_delay_ms  # for what is trimmed, by whomever
        if self._condition is None:
            return ReadHead()
        head = self._head
        if head is None and view.local_start_offset > view.start_offset:
            gap = f"[{view.start_offset}, {view.local_start_offset})"
            self._stop(DIVERGED, f"the manifest is missing, though only the tier can have {gap}", view.wall_ms)
            return None
        if head is None:
            fresh = growth.empty(self.topic, self.topic_id, self.partition, view.start_offset, self._writer())
            return self._write(fresh)
        if not self._claimed:
            return self._write(growth.claimed(head, self._writer()))
        if not self._related:
            related = self._relate(head, view)
            if related is not None or self.state == DIVERGED:
                return related
        growing = self._growing
        if growing is not None:
            return self._grow(growing)
        if self._copied is not None:
            if self._copied.first_offset >= head.end_offset:
                self._growing = growth.added(head, self._copied, self._writer())
                return self._grow(self._growing)
            self._copied = None  # an earlier write of ours, taken for lost, had it
        trim = retention.plan(head, self._pages, view)
        if trim is not None:
            return self._write(growth.trimmed(head, trim.start_offset, trim.count, trim.log_bytes, self._writer()))
        if self._copy_first:  # by turns: neither keeps the other from its work
            return self._copy(head, view) or self._collect(now_ms, head, view)
        return self._collect(now_ms, head, view) or self._copy(head, view)

    def _relate(self, head: Manifest, view: View) -> Operation | None:
        """Compare the newest segments up there with our log, once per epoch."""
        try:
            verdict = lineage.compare(head, self._pages, view)
        except walk.PageWantedError:
            if len(self._pages) < walk.PAGES_HELD_MAX:
                raise
            verdict = lineage.FOREIGN  # so much to cut off is not for a program to decide, either
        if isinstance(verdict, Manifest) and view.empty:
            verdict = lineage.FOREIGN  # an empty log has no history to insist on
        if verdict is lineage.FOREIGN:
            self._stop(DIVERGED, f"the log here ends at {view.end_offset}, the tier at {head.end_offset}", view.wall_ms)
            return None
        if isinstance(verdict, Manifest):
            return self._write(growth.claimed(verdict, self._writer()))
        self._related = True
        return None

    def _copy(self, head: Manifest, view: View) -> Operation | None:
        if not view.copying:
            return None
        for segment in view.sealed:
            if segment.end_offset > head.end_offset:
                name = layout.segment_name(segment.base_offset, segment.end_offset, self.leader_epoch, self._token())
                return CopySegment(name, segment, max(segment.base_offset, head.end_offset))
        return None

    def _grow(self, growing: Manifest) -> Operation:
        """Pages first, as many as are due, then the head that refers to them."""
        page = growth.page_due(growing)
        if page is None:
            return self._write(growing)
        if self._page is None:
            first, end = page.entries[0].first_offset, page.entries[-1].end_offset
            self._page = page, layout.page_name(first, end, self.leader_epoch, self._token())
        return WritePage(self._page[1], manifest.encode_page(self._page[0]))

    def _collect(self, now_ms: int, head: Manifest, view: View) -> Operation | None:
        if view.hold:
            if self._collection is not None:
                self._dead.append((now_ms, self._collection.dead_below))
                self._collection = None
            return None
        if self._orphans_due_ms < 0:
            self._orphans_due_ms = now_ms + self._orphan_check_ms
        if self._collection is None:
            orphans, due = now_ms >= self._orphans_due_ms, [below for at, below in self._dead if at <= now_ms]
            if not orphans and not due:
                return None
            below = max((*due, self._start_seen) if orphans else due)
            self._collection = Collection(self.prefix, below, self.leader_epoch, orphans)
            self._dead = [(at, below) for at, below in self._dead if at > now_ms]
        operation = self._collection.next(head, self._pages, "" if self._copied is None else self._copied.name)
        if operation is None:
            if self._collection.orphans:
                self._orphans_due_ms = now_ms + self._orphan_check_ms
                self._start_seen = head.start_offset  # an hour is longer than any delay before an object goes
            self._collection = None
        return operation

    def _write(self, head: Manifest) -> WriteHead:
        assert self._condition is not None
        return WriteHead(head, self._condition)

    # --- results -------------------------------------------------------------------------------------------------

    def done(self, now_ms: int, wall_ms: int, result: Result) -> None:
        """The operation under way has ended."""
        operation, self.operation = self.operation, None
        assert operation is not None, "nothing is under way"
        if isinstance(result, StoreError) and not (
            isinstance(operation, ReadHead) and isinstance(result, ObjectMissingError)
        ):
            self._failed(now_ms, wall_ms, operation, result)
            return
        start = self._head.start_offset if self._head is not None else -1
        try:
            self._take(operation, result, wall_ms)
        except (DocumentError, StoreError) as error:
            self._failed(now_ms, wall_ms, operation, StoreError(str(error)))
            return
        if self._head is not None and 0 <= start < self._head.start_offset:  # stored by now: readers are told
            self._dead.append((now_ms + self._delete_delay_ms, self._head.start_offset))
        if self.state not in (FENCED, DIVERGED):
            self._backoff.succeeded()
            if isinstance(operation, WriteHead):
                self._conflicts = 0
            self.error, self.failing_since_ms = "", -1

    def _take(self, operation: Operation, result: Result, wall_ms: int) -> None:
        self._copy_first = not isinstance(operation, CopySegment | WriteHead)
        match operation:
            case ReadHead():
                self._read(result, wall_ms)
            case WriteHead(written):
                assert isinstance(result, Version)
                self._wrote(written, result)
            case ReadPage(name):
                assert isinstance(result, Got)
                if len(self._pages) >= walk.PAGES_HELD_MAX:
                    del self._pages[next(iter(self._pages))]
                self._pages[name] = manifest.decode_page(result.data)
            case WritePage():
                assert self._growing is not None and self._page is not None
                page, name = self._page
                self._growing = growth.sealed(self._growing, page, growth.reference(page, name))
                self._page = None
            case CopySegment():
                assert isinstance(result, SegmentEntry)
                self._copied = result
            case ListObjects():
                assert isinstance(result, Listing) and self._collection is not None
                self._collection.listed(result)
            case DeleteObjects():
                assert self._collection is not None
                self._collection.deleted()

    def _read(self, result: Result, wall_ms: int) -> None:
        if isinstance(result, ObjectMissingError):
            self._head, self._condition, self._claimed = None, ABSENT, False
            return
        assert isinstance(result, Got)
        head = manifest.decode(result.data)
        if head.topic_id != self.topic_id or head.partition != self.partition:
            raise DocumentError(f"{self.prefix}{layout.MANIFEST} is that of another partition")
        ours = (head.broker, head.leader_epoch, head.cluster) == (self._broker, self.leader_epoch, self._cluster)
        if head.deleted:  # being removed, after tiering was turned off: there will be none soon
            raise StoreError("the manifest says that its objects are being deleted")
        if head.leader_epoch > self.leader_epoch or (head.leader_epoch == self.leader_epoch and not ours):
            who = f"broker {head.broker} of cluster {head.cluster} in epoch {head.leader_epoch}"
            self._stop(FENCED, f"{who} writes the manifest, we are in epoch {self.leader_epoch}", wall_ms)
        else:
            self._head, self._condition = head, result.version
            self._claimed = self._claimed and ours
            self._growing = self._page = None
            if self._claimed:
                self.manifest = head

    def _wrote(self, written: Manifest, version: Version) -> None:
        self.manifest = self._head = written
        self._condition = version
        if not self._claimed:
            self._start_seen = written.start_offset
        self._claimed = True
        self._growing = self._page = None
        if self._copied is not None and self._copied.end_offset <= written.end_offset:
            self._copied = None

    def _failed(self, now_ms: int, wall_ms: int, operation: Operation, error: StoreError) -> None:
        """Try again later. A head whose writing failed may be stored all the same: look."""
        if isinstance(operation, WriteHead):
            self._condition = None
        if isinstance(operation, ReadPage) and isinstance(error, ObjectMissingError):
            self._condition = None  # another leader may have trimmed it away
        if isinstance(operation, WriteHead) and isinstance(error, ConflictError):
            self._conflicts += 1
            if self._conflicts < CONFLICTS_MAX:
                return  # no reason to wait, and none to complain: reading will tell
        self.error = f"{type(operation).__name__}: {error}"
        if self.failing_since_ms < 0:
            self.failing_since_ms = wall_ms
        self.wake_ms = now_ms + self._backoff.failed()

    def _stop(self, state: str, reason: str, wall_ms: int) -> None:
        self.state, self.error = state, reason
        if self.failing_since_ms < 0:
            self.failing_since_ms = wall_ms

    def _writer(self) -> Writer:
        return Writer(self._broker, self.leader_epoch, self._token(), self._cluster)

    def _token(self) -> str:
        return self._entropy.token(TOKEN_BYTES).hex()

    def invariants(self) -> None:
        """Assert what must always hold; for tests and simulation."""
        head = self.manifest
        if head is not None:
            assert head.leader_epoch == self.leader_epoch and head.broker == self._broker
            assert head.count >= 0 and head.log_bytes >= 0
            assert replace(head) == manifest.decode(head.encode())

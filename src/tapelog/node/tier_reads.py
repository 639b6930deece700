"""What this node reads from the tier: for fetches and look-ups below what it has itself, and for new replicas.

One cache of pieces for the node, one view per partition that is read. `node.tier` owns it; handlers reach it as
`node.tier_reads`. Everything happens on the loop; the store's answers arrive there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from tapelog.base.ports import DiskError
from tapelog.base.timers import Timer
from tapelog.log.tier import reading
from tapelog.log.tier.manifest import Manifest
from tapelog.log.tier.pieces import Awaited, NotHereError, Pieces, UnreadableError, Waiter
from tapelog.log.tier.store import ObjectStore
from tapelog.log.tier.view import View
from tapelog.log.timestamps import Found
from tapelog.log.trim import Seed
from tapelog.log.txn_index import AbortedTransaction
from tapelog.replication.partition import Partition
from tapelog.server.tier import TierReading
from tapelog.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

VIEWS_MAX: Final = 2_000
"""Partitions whose manifests are kept in memory."""
SEED_MS_MAX: Final = 60_000
"""So long a new replica waits for the tier before it asks its leader again."""

SAY_AGAIN_MS: Final = 60_000
"""The same is not logged again within this time: readers meet what is damaged twice a second, as long as they wait."""
SAID_MAX: Final = 100

R = TypeVar("R")
Written = Callable[[bytes, int], Manifest | None]


class TierReads(TierReading):
    """See the module. written: the newest manifest that this node has committed for a partition it leads."""

    def __init__(self, node: NodeCore, store: ObjectStore, written: Written) -> None:
        self.node = node
        self.written = written
        self.pieces = Pieces(
            store,
            node.timers,
            node.setting_int("tapelog.tier.cache.bytes"),
            node.setting_int("remote.log.reader.threads"),
        )
        self.pieces.complain = self._complain
        self._said: dict[str, int] = {}
        self.pieces.quota.rate = lambda: node.setting_int("remote.log.manager.fetch.max.bytes.per.second")
        self._views: dict[tuple[bytes, int], View] = {}

    # --- for handlers ----------------------------------------------------------------------------------------------

    def read(
        self, partition: Partition, offset: int, max_bytes: int, upper: int, min_one: bool
    ) -> reading.RemoteRegion | None:
        view = self.view(partition)
        return self._ask(view, lambda: reading.read(view, partition.log, offset, max_bytes, upper, min_one))

    def first_with_records(self, partition: Partition, offset: int, upper: int) -> int:
        view = self.view(partition)
        return self._ask(view, lambda: reading.first_with_records(view, partition.log, offset, upper))

    def aborted(self, partition: Partition, start: int, upper: int) -> list[AbortedTransaction]:
        view = self.view(partition)
        return self._ask(view, lambda: reading.aborted(view, partition.log, start, upper))

    def first_at_or_after(self, partition: Partition, timestamp: int) -> Found | None:
        view = self.view(partition)
        return self._ask(view, lambda: reading.first_at_or_after(view, partition.log, timestamp))

    def greatest(self, partition: Partition) -> Found | None:
        view = self.view(partition)
        return self._ask(view, lambda: reading.greatest(view, partition.log))

    def _ask(self, view: View, question: Callable[[], R]) -> R:
        """What is in an object need not be what should be: nothing but these errors reaches the loop."""
        try:
            return question()
        except (NotHereError, KafkaError, DiskError):
            raise
        except UnreadableError as error:
            raise view.unreadable(error) from None
        except Exception as error:
            self.pieces.complain(f"the tier cannot be read: {view.prefix}: {type(error).__name__}: {error}")
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error

    def _complain(self, line: str) -> None:
        now_ms = self.node.clock.monotonic_ms()
        if now_ms < self._said.get(line, 0):
            return
        self._said.pop(line, None)
        if len(self._said) == SAID_MAX:
            del self._said[next(iter(self._said))]
        self._said[line] = now_ms + SAY_AGAIN_MS
        self.node.dispatcher.complain(line)

    # --- for replicas ------------------------------------------------------------------------------------------------

    def seed(
        self, partition: Partition, log_start: int, local_start: int, done: Callable[[tuple[int, Seed] | None], None]
    ) -> None:
        """What a replica must know to begin at its leader's local start; None if the tier does not tell in time."""
        view = self.view(partition)
        view.load()  # what a leader says now may be newer than any head that is known
        _Question(self, view, lambda: reading.seed(view, log_start, local_start), done).tier_moved()

    def learn(self, partition: Partition) -> None:
        """Have a follower learn what of its log is in the tier by now: `log.tiered_end`."""
        if not partition.leading:
            self.view(partition).load()

    def view(self, partition: Partition) -> View:
        """What is known of the partition's part of the tier."""
        key = (partition.topic_id, partition.index)
        view = self._views.get(key)
        if view is None:
            if len(self._views) >= VIEWS_MAX:
                del self._views[next(iter(self._views))]
            view = self._views[key] = View(self.pieces, *key)
            view.written = lambda: self.written(*key) if partition.leading else None
            view.learnt = lambda head: _learn(partition, head)
        return view

    def forget(self, partition: Partition) -> None:
        """It is held here no more."""
        self._views.pop((partition.topic_id, partition.index), None)


class _Question(Waiter):
    """One question, asked again until it is answered."""

    def __init__(
        self,
        reads: TierReads,
        view: View,
        ask: Callable[[], tuple[int, Seed]],
        done: Callable[[tuple[int, Seed] | None], None],
    ) -> None:
        self._reads = reads
        self._view = view
        self._ask = ask
        self._done = done
        self._waits_for: Awaited | None = None
        self._timer: Timer = reads.node.timers.after(SEED_MS_MAX, lambda: self._end(None))
        self._over = False

    def tier_moved(self) -> None:
        if self._over:
            return
        try:
            self._end(self._reads._ask(self._view, self._ask))
        except NotHereError as missing:
            self._waits_for = missing.piece
            missing.piece.waiters[self] = None
        except (KafkaError, DiskError) as error:
            self._reads.pieces.complain(f"a new replica cannot begin: {error}")
            self._end(None)

    def _end(self, answer: tuple[int, Seed] | None) -> None:
        self._over = True
        self._timer.cancel()
        if self._waits_for is not None:
            self._waits_for.waiters.pop(self, None)
        self._done(answer)


def shared_end(partition: Partition, head: Manifest) -> int:
    """Up to where the tier has what a follower has committed; 0 if that cannot be told. After an unclean election a
    head may name what our leader does not have, until it has cut that off: records are the same where epochs are."""
    epochs = partition.log.leader_epoch_cache
    for entry in reversed(head.segments):
        known = entry.end_offset <= partition.high_watermark and len(entry.epochs) > 0
        if known and epochs.epoch_for(entry.end_offset - 1) == entry.epochs[-1][0]:
            return entry.end_offset
    return 0


def _learn(partition: Partition, head: Manifest) -> None:
    """A head was read: what it says of the log holds, whoever wrote it."""
    log = partition.log
    if partition.closed or head.deleted or not log.config.remote:
        return
    if not partition.leading and head.leader_epoch == partition.leader_epoch:
        log.tiered_end = max(log.tiered_end, shared_end(partition, head))
    start = min(head.start_offset, log.local_start_offset)  # below that only the tier has it, or nobody
    if log.start_offset < start:
        try:
            log.increment_start_offset(start)
        except KafkaError as error:
            assert error.code == ErrorCode.OFFSET_OUT_OF_RANGE

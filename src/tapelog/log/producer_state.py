"""What a log remembers of its producers: the last five batches of each, epochs, open transactions.

Owned by a Log. It makes idempotent produce work (duplicates found, gaps refused, old epochs fenced), says which
markers a log takes, and gives the last stable offset. Every change made by appends that are only queued can be taken
back (`undo`).
"""

from __future__ import annotations

from typing import Final

from tapelog.log.beginnings import Beginnings
from tapelog.wire.errors import ErrorCode, KafkaError

WINDOW: Final = 5
SEQUENCE_MAX: Final = 2147483647
NONE: Final = -1


class BatchSeen:
    """One remembered batch."""

    __slots__ = ("delta", "last_offset", "last_sequence", "timestamp")

    def __init__(self, last_sequence: int, last_offset: int, delta: int, timestamp: int) -> None:
        self.last_sequence = last_sequence
        self.last_offset = last_offset
        self.delta = delta
        self.timestamp = timestamp


class ProducerEntry:
    """One producer id: newest epoch, its last batches (oldest first), the transaction it has open here."""

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.epoch = NONE
        self.coordinator_epoch = NONE
        self.last_timestamp = NONE
        self.txn_first_offset = NONE
        self.batches: list[BatchSeen] = []
        self.touched = 0

    def last_sequence(self) -> int:
        """Sequence of the newest record; -1 if no batch is remembered."""
        return self.batches[-1].last_sequence if self.batches else NONE

    def last_offset(self) -> int:
        """Offset of the newest record; -1 if no batch is remembered."""
        return self.batches[-1].last_offset if self.batches else NONE

    def copy(self) -> ProducerEntry:
        """An independent copy (the remembered batches themselves never change)."""
        twin = ProducerEntry(self.producer_id)
        twin.epoch = self.epoch
        twin.coordinator_epoch = self.coordinator_epoch
        twin.last_timestamp = self.last_timestamp
        twin.txn_first_offset = self.txn_first_offset
        twin.batches = self.batches.copy()
        return twin


class CompletedTransaction:
    """A transaction whose marker was appended."""

    __slots__ = ("aborted", "first_offset", "last_offset", "producer_id")

    def __init__(self, producer_id: int, first_offset: int, last_offset: int, aborted: bool) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.aborted = aborted


def last_of(first_sequence: int, delta: int) -> int:
    """The sequence delta after first_sequence; sequences wrap from 2^31 - 1 to 0."""
    if first_sequence > SEQUENCE_MAX - delta:
        return delta - (SEQUENCE_MAX - first_sequence) - 1
    return first_sequence + delta


def first_of(last_sequence: int, delta: int) -> int:
    """The inverse of last_of."""
    if last_sequence < delta:
        return SEQUENCE_MAX - (delta - last_sequence) + 1
    return last_sequence - delta


class ProducerState:
    """All producers of one log."""

    def __init__(self) -> None:
        self.entries: dict[int, ProducerEntry] = {}
        # first offset -> producer id, in order of first offset: transactions without a marker yet
        self.open_txns: dict[int, int] = {}
        # first offset -> transaction: has its marker, but the marker is not below the high watermark yet
        self.undecided: dict[int, CompletedTransaction] = {}
        self.beginnings = Beginnings()
        self._round = 1
        self._undo: list[tuple[int, ProducerEntry | None]] = []
        self._undo_txns: tuple[dict[int, int], dict[int, CompletedTransaction]] | None = None

    # --- appends -----------------------------------------------------------------------------------------------

    def check(
        self, producer_id: int, epoch: int, first_sequence: int, last_sequence: int, transactional: bool
    ) -> BatchSeen | None:
        """May a client append this? Returns the original if it is a duplicate; raises KafkaError if not."""
        entry = self.entries.get(producer_id)
        if entry is None:
            self.beginnings.check(producer_id, epoch, first_sequence)
            return None
        if epoch != entry.epoch:
            self._check_new_epoch(entry, epoch, first_sequence, transactional)
            return None
        batches = entry.batches
        if not batches:
            expected = 0
        else:
            newest = batches[-1].last_sequence
            expected = newest + 1 if newest != SEQUENCE_MAX else 0
        if first_sequence == expected:
            if entry.txn_first_offset != NONE and not transactional:
                raise _outside_transaction(producer_id)
            return None
        for seen in batches:
            if seen.last_sequence == last_sequence and first_of(last_sequence, seen.delta) == first_sequence:
                return seen
        raise KafkaError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Producer {producer_id} sent sequence {first_sequence} where {expected} was expected",
        )

    def _check_new_epoch(self, entry: ProducerEntry, epoch: int, first_sequence: int, transactional: bool) -> None:
        if epoch < entry.epoch:
            raise _older_epoch(entry, epoch)
        if first_sequence != 0 and entry.epoch != NONE:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Producer {entry.producer_id} began epoch {epoch} with sequence {first_sequence}, not 0",
            )
        if entry.txn_first_offset != NONE and not transactional:
            raise _outside_transaction(entry.producer_id)

    def check_unsequenced(self, producer_id: int, epoch: int, transactional: bool) -> None:
        """May a coordinator append this batch on a producer's behalf (transactional offsets)? It has no sequence."""
        entry = self.entries.get(producer_id)
        if entry is None:
            return
        if epoch < entry.epoch:
            raise _older_epoch(entry, epoch)
        if entry.txn_first_offset != NONE and not transactional:
            raise _outside_transaction(producer_id)

    def add(
        self,
        producer_id: int,
        epoch: int,
        last_sequence: int,
        last_offset: int,
        delta: int,
        timestamp: int,
        transactional: bool,
    ) -> None:
        """A batch was appended (checked before, or replicated, or found in recovery)."""
        entry = self._touch(producer_id)
        if epoch != entry.epoch:
            if entry.epoch == NONE and last_sequence >= 0:
                self.beginnings.note(producer_id, epoch, first_of(last_sequence, delta), timestamp)
            entry.epoch = epoch
            entry.batches.clear()
        batches = entry.batches
        if len(batches) == WINDOW:
            del batches[0]
        batches.append(BatchSeen(last_sequence, last_offset, delta, timestamp))
        entry.last_timestamp = timestamp
        if transactional and entry.txn_first_offset == NONE:
            self._remember_txns()
            entry.txn_first_offset = last_offset - delta
            self.open_txns[last_offset - delta] = producer_id

    def check_marker(self, producer_id: int, epoch: int, coordinator_epoch: int, version: int = 0) -> None:
        """May a coordinator append this marker? Raises KafkaError if a newer producer or coordinator was here.

        A marker of transaction version 2 has a newer epoch than the transaction it ends, so one of the same epoch
        belongs to an earlier transaction: it is taken only if none is open, which makes it a retry that ends nothing.
        """
        entry = self.entries.get(producer_id)
        if entry is None:
            return
        if epoch < entry.epoch or (epoch == entry.epoch and version >= 2 and entry.txn_first_offset != NONE):
            raise KafkaError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"Marker epoch {epoch} of producer {producer_id} does not end its transaction of epoch {entry.epoch}",
            )
        if coordinator_epoch < entry.coordinator_epoch:
            raise KafkaError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"Coordinator epoch {coordinator_epoch} is older than {entry.coordinator_epoch}",
            )

    def add_marker(
        self, producer_id: int, epoch: int, coordinator_epoch: int, offset: int, timestamp: int, aborted: bool
    ) -> CompletedTransaction | None:
        """A marker was appended; returns the transaction it ended, if that had any record here."""
        entry = self._touch(producer_id)
        if epoch > entry.epoch:
            entry.epoch = epoch
            entry.batches.clear()
        entry.coordinator_epoch = coordinator_epoch
        entry.last_timestamp = timestamp
        first = entry.txn_first_offset
        if first == NONE:
            return None
        self._remember_txns()
        entry.txn_first_offset = NONE
        self.open_txns.pop(first, None)
        done = CompletedTransaction(producer_id, first, offset, aborted)
        self.undecided[first] = done
        return done

    # --- last stable offset ------------------------------------------------------------------------------------

    def in_transaction(self, producer_id: int, epoch: int) -> bool:
        """Whether the producer has a transaction of that epoch open here."""
        entry = self.entries.get(producer_id)
        return entry is not None and entry.txn_first_offset != NONE and entry.epoch == epoch

    def late_transactions(self, now_ms: int, late_ms: int) -> list[int]:
        """Producers whose open transaction has had no record for longer than that; oldest transaction first."""
        return [
            producer_id
            for producer_id in self.open_txns.values()
            if 0 < self.entries[producer_id].last_timestamp < now_ms - late_ms
        ]

    def first_open_offset(self) -> int:
        """Where the oldest transaction without a marker begins; -1 if there is none."""
        for first in self.open_txns:
            return first
        return NONE

    def last_stable_after(self, done: CompletedTransaction) -> int:
        """The last stable offset once this transaction is decided."""
        first = self.first_open_offset()
        return first if first != NONE else done.last_offset + 1

    def first_unstable_offset(self, high_watermark: int) -> int:
        """The first offset of any transaction that is open, or whose marker is not committed; -1 if none."""
        if self.undecided:
            self.forget_decided(high_watermark)
        lowest = self.first_open_offset()
        for first in self.undecided:
            if lowest == NONE or first < lowest:
                lowest = first
        return lowest

    def forget_decided(self, high_watermark: int) -> None:
        """Markers below the high watermark are committed: what they ended holds nobody up any more."""
        decided: list[int] = []
        for first, done in self.undecided.items():  # in the order of their markers
            if done.last_offset >= high_watermark:
                break
            decided.append(first)
        for first in decided:
            del self.undecided[first]

    # --- undo --------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """What was queued is written: it cannot be taken back any more."""
        if self._undo:
            if self.beginnings:
                self._begun()
            self._undo.clear()
            self._round += 1
        self._undo_txns = None

    def _begun(self) -> None:
        """Producers that are new since the last commit are known now by their batches."""
        for producer_id, before in self._undo:
            entry = self.entries.get(producer_id)
            if before is None and entry is not None:
                self.beginnings.forget(producer_id, entry.epoch)

    def undo(self) -> None:
        """Take back everything since the last commit."""
        for producer_id, before in reversed(self._undo):
            if before is None:
                self.entries.pop(producer_id, None)
            else:
                self.entries[producer_id] = before
        if self._undo_txns is not None:
            self.open_txns, self.undecided = self._undo_txns
        self._undo.clear()  # not commit(): with what a new producer began is what it must begin with again
        self._undo_txns = None
        self._round += 1

    def _touch(self, producer_id: int) -> ProducerEntry:
        entry = self.entries.get(producer_id)
        if entry is None:
            entry = ProducerEntry(producer_id)
            self.entries[producer_id] = entry
            self._undo.append((producer_id, None))
            entry.touched = self._round
        elif entry.touched != self._round:
            self._undo.append((producer_id, entry.copy()))
            entry.touched = self._round
        return entry

    def _remember_txns(self) -> None:
        if self._undo_txns is None:
            self._undo_txns = (self.open_txns.copy(), self.undecided.copy())

    # --- whole state -------------------------------------------------------------------------------------------

    def restore(self, entries: list[ProducerEntry]) -> None:
        """Begin anew from a snapshot's entries."""
        self.entries = {entry.producer_id: entry for entry in entries}
        firsts = sorted((e.txn_first_offset, e.producer_id) for e in entries if e.txn_first_offset != NONE)
        self.open_txns = dict(firsts)
        self.undecided = {}
        self.beginnings = Beginnings()
        self._undo.clear()
        self._undo_txns = None
        self._round += 1

    def expire(self, now_ms: int, expiration_ms: int) -> list[int]:
        """Forget producers that have been silent for so long and have no transaction open; returns their ids."""
        silent = [
            entry.producer_id
            for entry in self.entries.values()
            if entry.txn_first_offset == NONE and now_ms - entry.last_timestamp >= expiration_ms
        ]
        for producer_id in silent:
            del self.entries[producer_id]
        self.beginnings.expire(now_ms, expiration_ms)
        return silent


def _older_epoch(entry: ProducerEntry, epoch: int) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_PRODUCER_EPOCH,
        f"Epoch {epoch} of producer {entry.producer_id} is smaller than the last seen epoch {entry.epoch}",
    )


def _outside_transaction(producer_id: int) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_TXN_STATE, f"Producer {producer_id} has a transaction open, but this batch is not part of it"
    )

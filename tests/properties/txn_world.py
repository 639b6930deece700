"""A log with transactions of several producers beside a model of it: a LogWorld whose appends are transactional.

The model is the list of batches that were written. What every producer may do next, which transactions are open,
decided or aborted, and what a read_committed consumer sees follow from it by replay, in a few lines; the log must agree
after every step, whatever was cut off, taken back or restarted.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tapelog.log.log import CLIENT, COORDINATOR
from tapelog.wire.control_records import marker_batch
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.record_batch import (
    CONTROL,
    TRANSACTIONAL,
    Record,
    attributes,
    batches,
    build_batch,
    iterate,
    producer_epoch,
)
from tests.properties.log_world import Batch, LogWorld

OLD, NEW, OFFSETS = (1, 2), (3, 4), (5,)
"""Producers of transaction version 1, of version 2, and one whose batches a coordinator writes without sequences."""
PRODUCERS = (*OLD, *NEW, *OFFSETS)
ABORT_KEY = b"\x00\x00\x00\x00"


class Producer:
    """What follows from a producer's batches."""

    def __init__(self) -> None:
        self.epoch = 0
        self.known = False
        self.sequence = 0
        self.first_offset = -1
        self.coordinator_epoch = -1


class Transaction:
    """One transaction that has records: where it begins, and where and how it ends."""

    def __init__(self, producer: int, first: int) -> None:
        self.producer = producer
        self.first = first
        self.marker = -1
        self.aborted = False


class History:
    """The replay of a list of batches."""

    def __init__(self, written: list[Batch]) -> None:
        self.producers = {number: Producer() for number in PRODUCERS}
        self.transactions: list[Transaction] = []
        self.of_batch: dict[int, Transaction] = {}
        for batch in written:
            if batch.producer_id in self.producers:
                self._replay(batch, self.producers[batch.producer_id])

    def _replay(self, batch: Batch, producer: Producer) -> None:
        data, epoch = batch.data, producer_epoch(batch.data, 0)
        if epoch != producer.epoch:
            producer.sequence = 0
        producer.epoch, producer.known = epoch, True
        if batch.control:
            self._end(batch, producer)
            return
        producer.sequence += batch.count
        if not attributes(data, 0) & TRANSACTIONAL:
            return
        if producer.first_offset < 0:
            producer.first_offset = batch.base
            self.transactions.append(Transaction(batch.producer_id, batch.base))
        self.of_batch[batch.base] = self.open_of(batch.producer_id)

    def _end(self, batch: Batch, producer: Producer) -> None:
        (record,) = iterate(batch.data, 0, len(batch.data))
        producer.coordinator_epoch = int.from_bytes((record.value or b"")[2:6], "big")
        if producer.first_offset >= 0:
            ended = self.open_of(batch.producer_id)
            ended.marker, ended.aborted = batch.base, record.key == ABORT_KEY
            producer.first_offset = -1

    def open_of(self, producer: int) -> Transaction:
        return next(one for one in reversed(self.transactions) if one.producer == producer)


class TxnWorld(LogWorld):
    """See the module."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.coordinator_epoch = 3
        self.hw = 0

    def more_steps(self) -> dict[str, Callable[[int], None]]:
        """Steps that LogWorld has not."""
        return {
            "transact": self.transact,
            "commit": lambda number: self.finish(number, True),
            "abort": lambda number: self.finish(number, False),
            "fence": self.fence,
            "again": self.marker_again,
            "stale": self.stale,
            "outside": self.outside,
            "new_coordinator": lambda _: self.next_coordinator(),
            "consume": self.consume,
        }

    def step(self, name: str, number: int) -> None:
        """Do one thing, then check what must hold."""
        own = self.more_steps().get(name)
        if own is None:
            super().step(name, number)
        else:
            if name == "consume":
                self.disk.capacity_bytes = None
            own(number)
            self.log.invariants()
            self.check_stable()
        self.check_producers()

    # --- steps -------------------------------------------------------------------------------------------------

    def _append(self, data: bytes, producer_id: int, sequence: int, count: int, origin: int) -> None:
        super()._append(data, producer_id, sequence, count, origin)
        self.queued[-1].control = attributes(data, 0) & CONTROL != 0

    def history(self) -> History:
        return History(self.model + self.queued)

    def transact(self, number: int) -> None:
        """A batch of one to three records of some producer's transaction."""
        name, count = PRODUCERS[number % len(PRODUCERS)], number // 5 % 3 + 1
        producer = self.history().producers[name]
        sequence = -1 if name in OFFSETS else producer.sequence
        data = self.data(name, producer.epoch, sequence, count)
        self._append(data, name, sequence, count, COORDINATOR if name in OFFSETS else CLIENT)

    def data(self, name: int, epoch: int, sequence: int, count: int = 1, transactional: bool = True) -> bytes:
        now = self.clock.wall_ms()
        records = [Record(0, now, b"k", b"%d:" % name + b"x" * self.entropy.below(100)) for _ in range(count)]
        return build_batch(
            records, producer_id=name, producer_epoch=epoch, base_sequence=sequence, transactional=transactional
        )

    def finish(self, number: int, commit: bool) -> None:
        """The coordinator ends a transaction: version 2 with the next epoch. If none is open nothing ends."""
        name = PRODUCERS[number % len(PRODUCERS)]
        self.mark(name, self.history().producers[name].epoch + (name in NEW), commit)

    def mark(self, name: int, epoch: int, commit: bool) -> None:
        self.log.producers.check_marker(name, epoch, self.coordinator_epoch, 2 if name in NEW else 1)
        self._append(self.marker_data(name, epoch, self.coordinator_epoch, commit), name, -1, 1, COORDINATOR)

    def marker_data(self, name: int, epoch: int, coordinator_epoch: int, commit: bool) -> bytes:
        return marker_batch(
            commit=commit,
            producer_id=name,
            producer_epoch=epoch,
            coordinator_epoch=coordinator_epoch,
            timestamp=self.clock.wall_ms(),
        )

    def fence(self, number: int) -> None:
        """Another instance of the producer took over: its transaction is aborted in the next epoch."""
        name = PRODUCERS[number % len(PRODUCERS)]
        self.mark(name, self.history().producers[name].epoch + 1, False)

    def marker_again(self, number: int) -> None:
        """The coordinator sends a marker again. It ends nothing: refused if it could, taken if nothing is open."""
        name = NEW[number % len(NEW)]
        producer = self.history().producers[name]
        if not producer.known:
            return
        if producer.first_offset < 0:
            self.mark(name, producer.epoch, number % 3 == 0)
        else:
            self.refused(lambda: self.mark(name, producer.epoch, False), ErrorCode.INVALID_PRODUCER_EPOCH)

    def stale(self, number: int) -> None:
        """Zombies: batches and markers of an older epoch, a coordinator that was replaced."""
        name = PRODUCERS[number % len(PRODUCERS)]
        producer = self.history().producers[name]
        if producer.epoch > 0:
            old = producer.epoch - 1
            for data, origin in (
                (self.data(name, old, 0), CLIENT),
                (self.data(name, old, -1), COORDINATOR),
                (self.marker_data(name, old, self.coordinator_epoch, True), COORDINATOR),
            ):
                self.refused(self.appending(data, origin), ErrorCode.INVALID_PRODUCER_EPOCH)
        if producer.coordinator_epoch > 0:
            data = self.marker_data(name, producer.epoch, producer.coordinator_epoch - 1, True)
            self.refused(self.appending(data, COORDINATOR), ErrorCode.TRANSACTION_COORDINATOR_FENCED)

    def outside(self, number: int) -> None:
        """A plain batch of a producer in a transaction; a gap in its sequence."""
        name = (*OLD, *NEW)[number % 4]
        producer = self.history().producers[name]
        if producer.first_offset >= 0:
            data = self.data(name, producer.epoch, producer.sequence, transactional=False)
            self.refused(self.appending(data, CLIENT), ErrorCode.INVALID_TXN_STATE)
        if producer.known:
            data = self.data(name, producer.epoch, producer.sequence + 1)
            self.refused(self.appending(data, CLIENT), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)

    def appending(self, data: bytes, origin: int) -> Callable[[], object]:
        return lambda: self.log.append(data, 0, len(data), self.epoch, origin)

    def refused(self, action: Callable[[], object], code: ErrorCode) -> None:
        end = self.log.end_offset
        with pytest.raises(KafkaError) as caught:
            action()
        assert caught.value.code == code
        assert self.log.end_offset == end

    def next_coordinator(self) -> None:
        self.coordinator_epoch += 1

    def append(self, number: int) -> None:
        """Somebody else's records, without any transaction."""
        records = [Record(0, self.clock.wall_ms(), b"k", b"plain" * (number % 20)) for _ in range(number % 3 + 1)]
        self._append(build_batch(records), -1, -1, len(records), CLIENT)

    def restart(self, cause: Callable[..., object]) -> None:
        super().restart(cause)  # type: ignore[arg-type]
        self.hw = self.log.end_offset

    def truncate(self, number: int) -> None:
        super().truncate(number)
        self.hw = self.log.end_offset

    def _forget_lost(self) -> None:
        """Everything here follows from the batches that are left."""

    # --- comparing ---------------------------------------------------------------------------------------------

    def check_producers(self) -> None:
        """Epoch, coordinator and open transaction of every producer, as the batches tell."""
        history = self.history()
        undecided = [(one.first, one.producer) for one in history.transactions if one.marker < 0]
        assert list(self.log.producers.open_txns.items()) == undecided
        for name, producer in history.producers.items():
            entry = self.log.producers.entries.get(name)
            assert (entry is not None) == producer.known
            if entry is not None:
                found = (entry.epoch, entry.txn_first_offset, entry.coordinator_epoch)
                assert found == (producer.epoch, producer.first_offset, producer.coordinator_epoch), name

    def stable(self, history: History) -> int:
        """The last stable offset by definition: no transaction below it that is open, or whose marker may be lost."""
        firsts = [one.first for one in history.transactions if one.marker < 0 or one.marker >= self.hw]
        return max(min([self.hw, *firsts]), min(self.start, self.hw))

    def check_stable(self) -> None:
        """The last stable offset, at a high watermark somewhere below what is durable."""
        if self.hw < self.durable:
            self.hw += 1 + self.entropy.below(self.durable - self.hw)
        if self.hw >= self.start:
            assert self.log.last_stable_offset(self.hw) == self.stable(self.history())

    def check_aborted(self) -> None:
        """Every aborted transaction whose marker is still there is found, with nothing besides."""
        kept = self.log.segments.items[0].base_offset
        history = History(self.model)
        found = [(one.producer_id, one.first_offset, one.last_offset) for one in self.aborted(kept)]
        aborted = sorted((one for one in history.transactions if one.aborted), key=lambda one: one.marker)
        assert found == [(one.producer, one.first, one.marker) for one in aborted if one.marker >= kept]

    def aborted(self, start: int) -> list[object]:
        return self.log.aborted_transactions(start, self.log.written_end)  # type: ignore[return-value]

    def consume(self, number: int) -> None:
        """A read_committed consumer, from anywhere, in pieces of any size, sees what is committed and nothing else."""
        self.write()
        self.check_aborted()
        history = History(self.model)
        stable = self.log.last_stable_offset(self.hw) if self.hw >= self.start else self.start
        begin = self.start + number % (max(stable - self.start, 0) + 1)
        expected = [
            record.offset
            for batch in self.model
            if batch.last < stable and not batch.control and not self.is_aborted(history, batch)
            for record in iterate(batch.data, 0, len(batch.data))
            if record.offset >= begin
        ]
        assert self.seen(history, begin, stable, 100 + number % 700) == expected

    def is_aborted(self, history: History, batch: Batch) -> bool:
        transaction = history.of_batch.get(batch.base)
        return transaction is not None and transaction.aborted

    def seen(self, history: History, begin: int, stable: int, max_bytes: int) -> list[int]:
        """Offsets of the records that a consumer shows, by the rule of Kafka's clients."""
        found: list[int] = []
        offset = begin
        while (region := self.log.read(offset, max_bytes, stable, True)) is not None:
            data = region.read()
            named = sorted(
                (one.first_offset, one.producer_id) for one in self.log.aborted_transactions(offset, region.next_offset)
            )
            touching = [
                (one.first, one.producer)
                for one in history.transactions
                if one.aborted and one.first < region.next_offset and one.marker >= offset
            ]
            assert named == sorted(touching), "exactly those that touch what was read"
            skipped: set[int] = set()
            for header in batches(data, 0, len(data)):
                while named and named[0][0] <= header.last_offset:
                    skipped.add(named.pop(0)[1])
                one = data[header.position : header.end]
                if header.is_control:
                    skipped.discard(header.producer_id)
                elif not (header.is_transactional and header.producer_id in skipped):
                    found += [record.offset for record in iterate(one, 0, len(one)) if record.offset >= begin]
                offset = header.last_offset + 1
        return found

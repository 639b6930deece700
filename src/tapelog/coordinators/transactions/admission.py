"""Partitions on their way into a transaction: the gate that Produce and TxnOffsetCommit ask, and the additions of
clients.

After EndTxn is answered the markers are still on their way, and a fast client is back with its next transaction. Kafka
says CONCURRENT_TRANSACTIONS and lets it ask again; here the addition waits for the completion first, at most
`add.partitions.to.txn.retry.backoff.max.ms`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.base.timers import Timer, Timers
from tapelog.coordinators.core import Runtime
from tapelog.coordinators.transactions.machine import TransactionMachine
from tapelog.coordinators.transactions.partitions import TopicPartition, add, verify
from tapelog.wire.errors import ErrorCode

GATE_CODES: Final = {
    ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}
"""What a producer or consumer expects where a coordinator's client would get the code on the left. On one node nobody
else can be the coordinator: it is only not there yet, or not any more."""


class Admission:
    """Adds and verifies partitions, for all shards."""

    def __init__(
        self,
        runtime: Runtime[TransactionMachine],
        timers: Timers,
        partition_for: Callable[[str], int],
        wait_ms_max: int,
    ) -> None:
        self._runtime = runtime
        self._timers = timers
        self._partition_for = partition_for
        self._wait_ms_max = wait_ms_max

    def admit(
        self,
        transactional_id: str,
        producer: tuple[int, int],
        partitions: list[TopicPartition],
        version: int | None,
        done: Callable[[dict[TopicPartition, ErrorCode]], None],
    ) -> None:
        """The gate: verify, or (with a transaction version) add."""

        def give(codes: dict[TopicPartition, ErrorCode]) -> None:
            done({where: GATE_CODES.get(code, code) for where, code in codes.items()})

        if version is None:
            self.verify(transactional_id, producer, partitions, give)
        else:
            self.add(
                transactional_id, producer, partitions, version, lambda code: give(dict.fromkeys(partitions, code))
            )

    def verify(
        self,
        transactional_id: str,
        producer: tuple[int, int],
        partitions: list[TopicPartition],
        done: Callable[[dict[TopicPartition, ErrorCode]], None],
    ) -> None:
        """Whether each partition is in the producer's ongoing transaction."""
        if not transactional_id:
            done(dict.fromkeys(partitions, ErrorCode.INVALID_REQUEST))
            return
        self._runtime.write(
            self._partition_for(transactional_id),
            lambda machine: verify(machine.book, transactional_id, producer, partitions),
            done,
            lambda code: done(dict.fromkeys(partitions, code)),
        )

    def add(
        self,
        transactional_id: str,
        producer: tuple[int, int],
        partitions: list[TopicPartition],
        version: int,
        done: Callable[[ErrorCode], None],
    ) -> None:
        """Put the partitions into the producer's transaction; the answer comes when that is committed."""
        if not transactional_id:
            done(ErrorCode.INVALID_REQUEST)
            return
        until_ms = self._timers.clock.monotonic_ms() + self._wait_ms_max
        partition = self._partition_for(transactional_id)
        _Addition(
            self._runtime, self._timers, partition, transactional_id, producer, partitions, version, until_ms, done
        ).attempt()


class _Addition:
    """Partitions being put into a transaction, perhaps after the one before is over.

    A class, because closures that call each other are a reference cycle.
    """

    def __init__(
        self,
        runtime: Runtime[TransactionMachine],
        timers: Timers,
        partition: int,
        transactional_id: str,
        producer: tuple[int, int],
        partitions: list[TopicPartition],
        version: int,
        until_ms: int,
        done: Callable[[ErrorCode], None],
    ) -> None:
        self._runtime = runtime
        self._timers = timers
        self._partition = partition
        self._transactional_id = transactional_id
        self._producer = producer
        self._partitions = partitions
        self._version = version
        self._until_ms = until_ms
        self._done = done
        self._timer: Timer | None = None

    def attempt(self) -> None:
        """Add them now, if nothing is in the way."""
        self._runtime.write(
            self._partition,
            lambda machine: add(machine.book, self._transactional_id, self._producer, self._partitions, self._version),
            self._answered,
            self._done,
        )

    def _answered(self, code: ErrorCode) -> None:
        left_ms = self._until_ms - self._timers.clock.monotonic_ms()
        machine = self._runtime.machine(self._partition)
        if code != ErrorCode.CONCURRENT_TRANSACTIONS or left_ms <= 0 or machine is None:
            self._done(code)
            return
        current = machine.book.find(self._transactional_id)
        if current is None or not current.ending:
            self.attempt()
            return
        self._timer = self._timers.after(left_ms, lambda: self._too_late(machine))
        machine.completions.when_over(self._transactional_id, self._over)

    def _over(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.attempt()

    def _too_late(self, machine: TransactionMachine) -> None:
        self._timer = None
        machine.completions.give_up_waiting(self._transactional_id, self._over)
        self._runtime.post(lambda: self._done(ErrorCode.CONCURRENT_TRANSACTIONS))

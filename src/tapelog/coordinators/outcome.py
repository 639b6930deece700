"""What passes between a coordinator's machine and the runtime that drives it: records, outcomes, ports.

A machine's handler returns an `Outcome`: the records to append and the response to give once they are committed.
`Machine` is what the runtime asks of a coordinator (groups now; transactions and queues later); `CoordinatorLog` is
what the runtime asks of the node core; `ShardContext` is what a machine may ask of the runtime.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from tapelog.base.ports import Clock
from tapelog.coordinators.deadlines import Deadlines
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message

R = TypeVar("R")


class CoordinatorRecord:
    """One record of a coordinator's log: a typed key, and a value to be written in a version; None is a tombstone."""

    __slots__ = ("key", "value", "value_version")

    def __init__(self, key: Message, value: Message | None, value_version: int = 0) -> None:
        self.key = key
        self.value = value
        self.value_version = value_version

    def __repr__(self) -> str:
        return f"CoordinatorRecord({self.key!r} -> {self.value!r})"


class Held:
    """A piece of state that no single record restores, because an open transaction has a say in it.

    The log must keep everything from `offset` on; from there, replay gives that piece of state.
    """

    __slots__ = ("offset",)

    def __init__(self, offset: int) -> None:
        self.offset = offset


class Outcome(Generic[R]):
    """Records to append, the response that leaves when they are committed, and what to do then.

    `committed` or `failed` is called exactly once, before the response (or the error) leaves. An outcome that is not
    atomic may be spread over several batches; its response then waits for the last.
    """

    __slots__ = ("atomic", "committed", "failed", "records", "response")

    def __init__(
        self,
        records: list[CoordinatorRecord],
        response: R,
        *,
        committed: Callable[[], None] | None = None,
        failed: Callable[[ErrorCode], None] | None = None,
        atomic: bool = True,
    ) -> None:
        self.records = records
        self.response = response
        self.committed = committed
        self.failed = failed
        self.atomic = atomic


def nothing() -> Outcome[None]:
    """No records, no response."""
    return Outcome([], None)


class CoordinatorLog(Protocol):
    """The partitions of a coordinator's topic, as the node core offers them. Offsets are exclusive ends."""

    def start_offset(self, partition: int) -> int:
        """The first offset that still counts."""
        ...

    def end_offset(self, partition: int) -> int:
        """Where the next append goes."""
        ...

    def high_watermark(self, partition: int) -> int:
        """Records below are committed."""
        ...

    def append(self, partition: int, batch: bytes) -> int:
        """Append one batch; returns the end offset after it. Raises KafkaError, having appended nothing."""
        ...

    def read(self, partition: int, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one that contains offset; at least one if there is any, empty at the end."""
        ...

    def advance_start(self, partition: int, offset: int) -> None:
        """Records below offset are not needed any more."""
        ...


class ShardContext:
    """What a machine may use: its deadlines, the clock, and a queue for answers and follow-up operations.

    Nothing posted here runs inside the handler that posted it, so an answer can never re-enter the machine half-way.
    """

    def __init__(
        self,
        partition: int,
        clock: Clock,
        deadlines: Deadlines,
        post: Callable[[Callable[[], None]], None],
        submit: Callable[[Callable[[], Outcome[None]]], None],
        leader_epoch: int = -1,
    ) -> None:
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.clock = clock
        self.deadlines = deadlines
        self.post = post
        self.submit = submit

    def set_deadline(self, name: str, delay_ms: int, operation: Callable[[], Outcome[None]]) -> None:
        """Run operation as a write of this shard, delay_ms from now."""
        self.deadlines.set(name, delay_ms, lambda: self.submit(operation))


class Machine(Protocol):
    """A coordinator's state machine for one partition of its topic."""

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        """Key and value as they stand in the log. WireError if a field does not fit."""
        ...

    def decode(self, key: bytes, value: bytes | None) -> CoordinatorRecord | None:
        """A record from the log; None for a kind from the future, which is skipped."""
        ...

    def load(self, offset: int, key: bytes, value: bytes | None, producer_id: int) -> None:
        """Decode and replay a record from the log; skip a kind from the future. The same as these two, only faster."""
        ...

    def replay(self, offset: int, record: CoordinatorRecord, producer_id: int = -1) -> None:
        """Apply one record: with end_transaction the only way hard state changes.

        With a producer id the record stands in a transactional batch, and counts once that producer's transaction is
        committed.
        """
        ...

    def end_transaction(self, offset: int, producer_id: int, commit: bool) -> None:
        """Apply the marker at offset: what the producer's transaction wrote here counts from now on, or never did."""
        ...

    def commit(self, offset: int) -> None:
        """Records below offset are committed."""
        ...

    def revert(self, offset: int, error: ErrorCode) -> None:
        """Records at or after offset were never appended, for this reason."""
        ...

    def on_loaded(self) -> None:
        """The log has been replayed; the shard serves from now on."""
        ...

    def on_unloaded(self) -> None:
        """The shard is no longer ours: answer everyone who waits with NOT_COORDINATOR."""
        ...

    def live_keys(self) -> list[object]:
        """A name for every record a fresh log would have to hold, or for several at once."""
        ...

    def live_record(self, key: object) -> CoordinatorRecord | Held | list[object] | None:
        """The record that restores that piece of state as it is now; None if it is gone; Held if none can.

        For a name that stands for several records: their names.
        """
        ...

    def live_count(self) -> int:
        """About how many records a fresh log would have to hold."""
        ...


class Reply(Generic[R]):
    """A response that may be given from several places; the first one counts."""

    __slots__ = ("_done", "_post", "answered")

    def __init__(self, post: Callable[[Callable[[], None]], None], done: Callable[[R], None]) -> None:
        self._post = post
        self._done = done
        self.answered = False

    def answer(self, response: R) -> None:
        """Give the response, unless there was one already."""
        if self.answered:
            return
        self.answered = True
        done = self._done
        self._post(lambda: done(response))


_EDGE_CODES = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
}


def edge_code(code: ErrorCode) -> ErrorCode:
    """What a coordinator's client sees when its log answers with that code."""
    return _EDGE_CODES.get(code, code)

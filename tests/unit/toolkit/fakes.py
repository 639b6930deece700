"""A consumer and a producer without a broker: enough of confluent-kafka's interface for the toolkit, driven by hand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from tapelog.toolkit.beginnings import Beginnings
from tapelog.toolkit.delivery import Delivery
from tapelog.toolkit.engine import Bounds, Engine
from tapelog.toolkit.failures import OnError, StopOnError
from tapelog.toolkit.gate import Gate, OpenGate
from tapelog.toolkit.inbox import Inbox, always_due
from tapelog.toolkit.records import Place, Record
from tapelog.toolkit.runner import Handler, InOrder, Runner
from tapelog.toolkit.source import Source


class Clock:
    """Time that passes when told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        """Some time goes by."""
        self.now += seconds


class FakeMessage:
    """What poll gives."""

    def __init__(self, topic: str, partition: int, offset: int, value: bytes = b"", key: bytes | None = None) -> None:
        self._at = topic, partition, offset
        self._value, self._key = value, key
        self._error: KafkaError | None = None

    def topic(self) -> str:
        return self._at[0]

    def partition(self) -> int:
        return self._at[1]

    def offset(self) -> int:
        return self._at[2]

    def value(self) -> bytes:
        return self._value

    def key(self) -> bytes | None:
        return self._key

    def headers(self) -> list[tuple[str, bytes]]:
        return []

    def timestamp(self) -> tuple[int, int]:
        return 1, 1234

    def leader_epoch(self) -> int:
        return 7

    def error(self) -> KafkaError | None:
        return self._error


class FakeConsumer:
    """Gives messages and rebalances in the order in which they were queued."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.queue: deque[FakeMessage | Callable[[], None]] = deque()
        self.paused: set[Place] = set()
        self.committed: dict[Place, int] = {}
        self.commit_error: KafkaError | None = None
        self.closed = False
        self.waited: list[float] = []

    def subscribe(self, topics: list[str], on_assign: Any, on_revoke: Any, on_lost: Any) -> None:
        self.topics = topics
        self.on_assign, self.on_revoke, self.on_lost = on_assign, on_revoke, on_lost

    def give(self, topic: str, partition: int, *offsets: int, key: bytes | None = None) -> None:
        """Messages that poll will return."""
        for offset in offsets:
            self.queue.append(FakeMessage(topic, partition, offset, str(offset).encode(), key))

    def rebalance(self, how: str, *places: Place) -> None:
        """A rebalance that happens inside poll."""
        parts = [TopicPartition(*place) for place in places]
        self.queue.append(lambda: getattr(self, f"on_{how}")(self, parts))

    def poll(self, timeout: float) -> FakeMessage | None:
        for _ in range(len(self.queue)):
            item = self.queue.popleft()
            if callable(item):
                item()
                return None
            if (item.topic(), item.partition()) in self.paused:
                self.queue.append(item)
                continue
            return item
        self.waited.append(timeout)
        self.clock.pass_(timeout)
        return None

    def pause(self, parts: list[TopicPartition]) -> None:
        self.paused |= {(part.topic, part.partition) for part in parts}

    def resume(self, parts: list[TopicPartition]) -> None:
        self.paused -= {(part.topic, part.partition) for part in parts}

    def commit(self, offsets: list[TopicPartition], asynchronous: bool) -> list[TopicPartition]:
        assert not asynchronous
        if self.commit_error is not None:
            raise KafkaException(self.commit_error)
        self.committed.update({(part.topic, part.partition): part.offset for part in offsets})
        return offsets

    def consumer_group_metadata(self) -> str:
        return "who I am"

    def close(self) -> None:
        self.closed = True


class FakeProducer:
    """Notes what is called; errors that were planned are raised by the call they were planned for, in turn."""

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        self.config = config or {}
        self.calls: list[str] = []
        self.stored: list[tuple[str, Any]] = []
        self.offsets: dict[Place, int] = {}
        self.purged = False
        self._open: list[tuple[str, Any, Any]] = []
        self._offsets: dict[Place, int] = {}
        self._planned: dict[str, deque[BaseException | KafkaError | None]] = {}

    def plan(self, call: str, *errors: BaseException | KafkaError | None) -> None:
        """The next calls of that name fail so, or succeed (None); for `deliver`, the next messages are refused so."""
        self._planned.setdefault(call, deque()).extend(errors)

    def _next(self, call: str) -> BaseException | KafkaError | None:
        planned = self._planned.get(call)
        return planned.popleft() if planned else None

    def _do(self, call: str) -> None:
        self.calls.append(call)
        error = self._next(call)
        if isinstance(error, KafkaError):
            raise KafkaException(error)
        if error is not None:
            raise error

    def init_transactions(self, timeout: float) -> None:
        self._do("init")

    def begin_transaction(self) -> None:
        self._do("begin")

    def produce(self, topic: str, value: Any, on_delivery: Any, **more: Any) -> None:
        self._do("produce")
        self._open.append((topic, value, on_delivery))

    def send_offsets_to_transaction(self, offsets: list[TopicPartition], who: Any, timeout: float) -> None:
        self._do("offsets")
        assert who == "who I am"
        self._offsets = {(part.topic, part.partition): part.offset for part in offsets}

    def commit_transaction(self, timeout: float) -> None:
        self._do("commit")
        self._deliver()
        self.offsets.update(self._offsets)

    def abort_transaction(self, timeout: float) -> None:
        self._do("abort")
        self._open, self._offsets = [], {}

    def _deliver(self) -> None:
        for topic, value, told in self._open:
            error = self._next("deliver")
            if error is None:
                self.stored.append((topic, value))
            told(error, None)
        self._open = []

    def poll(self, timeout: float) -> int:
        return 0

    def flush(self, timeout: float) -> int:
        if not self.purged:
            self._do("flush")
            self._deliver()
        return 0

    def purge(self) -> None:
        self.purged = True


class Bench:
    """An engine with its source on a fake consumer: `turn()` it and look."""

    def __init__(
        self,
        delivery: Delivery,
        handle: Handler,
        *,
        clock: Clock | None = None,
        on_error: OnError | None = None,
        records: int = 10,
        seconds: float = 1.0,
        wait_s: Callable[[Record], float] = always_due,
        gate: Gate | None = None,
        runner: Runner | None = None,
    ) -> None:
        self.clock = clock or Clock()
        self.consumer = FakeConsumer(self.clock)
        self.engine = Engine(
            delivery,
            runner or InOrder(handle, self.clock),
            on_error or StopOnError(),
            Bounds(records, seconds),
            gate or OpenGate(),
            self.clock,
        )
        beginnings = Beginnings(self.consumer, "earliest", self.clock, incremental=True)  # type: ignore[arg-type]
        self.source = Source(self.consumer, ["in"], Inbox(wait_s), self, self.clock, beginnings)  # type: ignore[arg-type]
        delivery.prepare(self.source)
        self.source.open()

    def revoking(self, places: set[Place]) -> None:
        self.engine.leaving(self.source, places, lost=False)

    def lost(self, places: set[Place]) -> None:
        self.engine.leaving(self.source, places, lost=True)

    def owns(self, *partitions: int) -> Bench:
        """Partitions of topic `in` are assigned."""
        self.consumer.rebalance("assign", *(("in", number) for number in partitions))
        self.turn()
        return self

    def turn(self, times: int = 1) -> None:
        """Some rounds."""
        for _ in range(times):
            self.engine.round(self.source)

    def settle(self) -> None:
        """Let the batch grow old, and end it."""
        self.clock.pass_(self.engine.bounds.seconds)
        self.turn()


def error(code: int, *, fatal: bool = False, retriable: bool = False, abort: bool = False) -> KafkaError:
    """An error with the marks that librdkafka puts on it."""
    return KafkaError(code, "planned", fatal, retriable, abort)


def record(offset: int, partition: int = 0, topic: str = "in", **more: Any) -> Record:
    """A record of the topic `in`."""
    return Record(topic, partition, offset, **more)


def offsets(records: Sequence[Record]) -> list[int]:
    """Their offsets."""
    return [one.offset for one in records]

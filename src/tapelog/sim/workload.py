"""One simulated life of a node from a seed: producers, transactions, a group's offsets, topics, every kind of fault.

`Life(seed).run()` returns the trace; it raises AssertionError when a promise is broken: an acknowledged record or
offset that is gone, a duplicate, a transaction visible in part, an answer out of order, a broken invariant, or no
progress once the faults are over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tapelog.base.ports import DiskError
from tapelog.node import housekeeping
from tapelog.sim.client import SimClient
from tapelog.sim.clock import SimClock
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.node import SimNode
from tapelog.sim.payments import PARTITIONS as PAYMENT_PARTITIONS
from tapelog.sim.payments import SETTINGS as PAYMENT_SETTINGS
from tapelog.sim.payments import TOPIC as PAYMENTS
from tapelog.sim.payments import Payments
from tapelog.sim.producer import Ledger, SimProducer
from tapelog.sim.reading import SimConsumer, read
from tapelog.sim.tables import CONFIGS as TABLE_CONFIGS
from tapelog.sim.tables import SETTINGS as CLEANER_SETTINGS
from tapelog.sim.tables import TOPIC as TABLES
from tapelog.sim.tables import Tables
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tapelog.wire.messages.offset_commit_response import OffsetCommitResponse
from tapelog.wire.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestTopic

STEPS: Final = 120
PARTITIONS: Final = 2
PRODUCERS: Final = 3
TOPIC: Final = "orders"
GROUP: Final = "billing"
RECOVERY_MS: Final = 60_000
PUSH_MS: Final = 20
"""How long clients think at most before they send on."""
OFTEN_MS: Final = 600
"""Between checkpoints, in most lives: what lies above the last one is not compacted."""
SMALL_SEGMENTS: Final = {"index.interval.bytes": "200", "segment.index.bytes": "120"}
"""Segments roll when their index is full: every few batches."""


class Life:
    """A run from one seed."""

    def __init__(self, seed: int, *, steps: int = STEPS, skip_syncs: bool = False) -> None:
        self.seed = seed
        self.steps = steps
        self.entropy = SimEntropy(seed)
        self.clock = SimClock()
        settings = {"offsets.topic.num.partitions": "4", **PAYMENT_SETTINGS, **CLEANER_SETTINGS}
        self.node = SimNode(self.entropy.fork(), self.clock, settings)
        self.node.disk.skips_syncs = skip_syncs
        self.trace: list[str] = []
        self.events: dict[str, int] = {}
        self.ledgers = [Ledger() for _ in range(PARTITIONS)]
        self.producers = [
            SimProducer(n, TOPIC, n % PARTITIONS, self.ledgers[n % PARTITIONS], -1 if n % 3 else 1)
            for n in range(PRODUCERS)
        ]
        self.payments = Payments(self.entropy, lambda _: SimClient(self.node) if self.node.up else None)
        self.tables = Tables(self.entropy.fork(), self.clock.monotonic_ms)
        self.reader = SimConsumer(TABLES, 1, lambda: SimClient(self.node) if self.node.up else None)
        self.admin: SimClient | None = None
        self.committed = 0
        self.attempted = 0
        self._values = 0

    def run(self) -> list[str]:
        """Live; returns the trace."""
        house: Any = housekeeping
        usual_ms, house.CHECKPOINT_MS = house.CHECKPOINT_MS, OFTEN_MS if self.seed % 3 else house.CHECKPOINT_MS
        try:
            return self._live()
        finally:
            house.CHECKPOINT_MS = usual_ms

    def _live(self) -> list[str]:
        self._start()
        self._create_topic()
        actions: list[tuple[int, Callable[[], None]]] = [
            (40, self._produce),
            (25, self._time),
            (10, self._commit_offset),
            (25, self._write_table),
            (25, lambda: self._pay(self.payments.begin)),
            (4, lambda: self._pay(self.payments.replace)),
            (4, lambda: self._pay(self.payments.stall)),
            (8, lambda: self._pay(self.payments.deliver_late)),
            (6, self._power_cut),
            (5, self._kill),
            (2, self._stop),
            (4, self._fill_disk),
            (3, self._break_sync),
            (3, self._slow_disk),
            (2, self._jump_wall),
        ]
        total = sum(weight for weight, _ in actions)
        for _ in range(self.steps):
            pick = self.entropy.below(total)
            for weight, action in actions:
                pick -= weight
                if pick < 0:
                    action()
                    break
            self._after_step()
        self._finish()
        return self.trace

    # -- what can happen

    def _produce(self) -> None:
        producer = self.producers[self.entropy.below(PRODUCERS)]
        values = []
        for _ in range(1 + self.entropy.below(4)):
            self._values += 1
            values.append(b"%d:%d:" % (producer.number, self._values) + b"x" * self.entropy.below(600))
        producer.add(values)
        self._note(f"produce {producer.number} {len(values)}")
        self._push()

    def _write_table(self) -> None:
        self._note(self.tables.write())
        self._push()

    def _time(self) -> None:
        by_ms = 1 + self.entropy.below(200)
        self._note(f"time {by_ms}")
        for passed_ms in range(0, by_ms, PUSH_MS):
            self.node.pass_time(min(PUSH_MS, by_ms - passed_ms))
            self._push()

    def _commit_offset(self) -> None:
        if self.admin is None:
            return
        self.attempted += 1
        offset = self.attempted
        self._note(f"commit {offset}")

        def answered(response: OffsetCommitResponse) -> None:
            if response.topics[0].partitions[0].error_code == 0:
                self.committed = max(self.committed, offset)

        part = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
        request = OffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=-1, member_id="")
        request.topics = [OffsetCommitRequestTopic(name=TOPIC, partitions=[part])]
        self.admin.send(request, 8, answered)

    def _pay(self, what: Callable[[], str]) -> None:
        self._note(what())
        self._push()

    def _power_cut(self) -> None:
        self._fall("power cut", self.node.power_cut)

    def _kill(self) -> None:
        self._fall("kill", self.node.kill)

    def _stop(self) -> None:
        self._fall("clean stop", self.node.stop)

    def _fill_disk(self) -> None:
        disk = self.node.disk
        if disk.capacity_bytes is None:
            disk.capacity_bytes = disk.total_bytes() - disk.free_bytes() + self.entropy.below(2000)
            self._note("the disk is almost full")
        else:
            disk.capacity_bytes = None
            self._note("the disk has room again")

    def _break_sync(self) -> None:
        self.node.disk.syncs_until_failure = self.entropy.below(4)
        self._note("a sync will fail")

    def _slow_disk(self) -> None:
        self.node.disk.flush_ms_max = 1 + self.entropy.below(300)
        self._note(f"slow flushes, ms: {self.node.disk.flush_ms_max}")

    def _jump_wall(self) -> None:
        by_ms = self.entropy.below(7_200_000) - 3_600_000
        self.clock.jump_wall(by_ms)
        self.tables.clocks_jumped = True
        self._note(f"the wall clock jumps {by_ms}")

    # -- the frame around it

    def _after_step(self) -> None:
        if self.node.failure is not None:
            self._fall("the disk failed", self.node.power_cut)
        self.node.invariants()

    def _fall(self, what: str, how: Callable[[], None]) -> None:
        self._note(what)
        for producer in self.producers:
            producer.disconnected()
        self.payments.disconnected()
        self.tables.producer.disconnected()
        self.reader.disconnected()
        self.admin = None
        try:
            how()
        except DiskError:
            self.node.kill()
        self.node.disk.capacity_bytes = None
        self.node.disk.syncs_until_failure = None
        self._start()
        self._create_topic()
        self._check()

    def _start(self) -> None:
        self.node.boot()
        self.admin = SimClient(self.node)
        for producer in self.producers:
            producer.connected(SimClient(self.node))
        self.tables.producer.connected(SimClient(self.node))

    def _create_topic(self) -> None:
        assert self.admin is not None
        for name, partitions, settings in (
            (TOPIC, PARTITIONS, SMALL_SEGMENTS),
            (PAYMENTS, PAYMENT_PARTITIONS, TABLE_CONFIGS if self.seed % 2 else SMALL_SEGMENTS),
            (TABLES, 1, TABLE_CONFIGS),
        ):
            configs = [CreatableTopicConfig(name=key, value=value) for key, value in settings.items()]
            topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=configs)
            code = self.admin.call(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 5).topics[0].error_code
            assert code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS), ErrorCode(code).name
        for kind in (0, 1):
            self.admin.call(FindCoordinatorRequest(key=GROUP, key_type=kind), 2)

    def _push(self) -> None:
        for producer in self.producers:
            producer.push()
        self.payments.push()
        self.tables.producer.push()
        self.reader.push()
        self.tables.consumed(self.reader.positions[0])

    def _finish(self) -> None:
        """The faults are over: everything must be acknowledged within bounded time, and be there."""
        self._fall("last power cut", self.node.power_cut)
        self.node.disk.flush_ms_max = 5
        self.payments.wake()
        for _ in range(RECOVERY_MS // 10):
            if all(one.idle for one in (*self.producers, self.tables.producer)) and self.payments.idle:
                break
            self._push()
            self.node.pass_time(10)
        else:
            raise AssertionError("no progress: records wait for an acknowledgement although nothing is broken")
        self._fall("one more", self.node.power_cut)
        self.node.pass_time(RECOVERY_MS)
        assert self.admin is not None
        self.payments.check(self.admin, final=True)
        self._check_table()
        if self.tables.removed:
            self._note("records were compacted")
        self._note(f"acknowledged {sum(sum(ledger.acknowledged.values()) for ledger in self.ledgers)}")

    def _check(self) -> None:
        for index, ledger in enumerate(self.ledgers):
            ledger.check(self._read(index))
        assert self.admin is not None
        self.payments.check(self.admin)
        self._check_table()
        found = self._fetch_offset()
        assert self.committed <= max(found, 0) <= self.attempted, f"offset {found}, {self.committed} was acknowledged"

    def _check_table(self) -> None:
        assert self.admin is not None
        table = read(self.admin, TABLES, 0)
        self.tables.check(table.records, table.high_watermark)
        self.tables.check_consumer(self.reader.seen[0], self.reader.positions[0])

    def _read(self, index: int) -> list[tuple[int, bytes]]:
        assert self.admin is not None
        return [(int(value.split(b":")[0]), value) for _, value in read(self.admin, TOPIC, index).records]

    def _fetch_offset(self) -> int:
        assert self.admin is not None
        request = OffsetFetchRequest(group_id=GROUP)
        request.topics = [OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])]
        for _ in range(1000):
            response = self.admin.call(request, 5)
            if response.error_code == 0:
                return int(response.topics[0].partitions[0].committed_offset)
            self.node.pass_time(5)
        raise AssertionError("the coordinator never finished loading")

    def _note(self, event: str) -> None:
        self.trace.append(f"{self.clock.monotonic_ms()} {event}")
        name = event.rstrip("-0123456789 ")
        self.events[name] = self.events.get(name, 0) + 1

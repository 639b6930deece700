"""The applications of a simulated cluster and what they were promised.

Idempotent producers with acks=1 and acks=all, transactional ones (`sim.payments`), consumers of both isolation levels
that remember everything they saw, a group that commits offsets, and an administrator (`sim.administrator`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tapelog.sim.administrator import Administrator
from tapelog.sim.cluster import Cluster
from tapelog.sim.events import TOPIC as EVENTS
from tapelog.sim.events import Events
from tapelog.sim.following import Follower
from tapelog.sim.groups import Groups
from tapelog.sim.machine import PORT, Machine
from tapelog.sim.payments import PARTITIONS as PAYMENT_PARTITIONS
from tapelog.sim.payments import TOPIC as PAYMENTS
from tapelog.sim.payments import Payments
from tapelog.sim.producer import Ledger, SimProducer
from tapelog.sim.reading import ask_end, read
from tapelog.sim.routing import Session
from tapelog.sim.tables import CONFIGS as TABLE_CONFIGS
from tapelog.sim.tables import TOPIC as TABLES
from tapelog.sim.tables import Tables
from tapelog.wire.messages.list_offsets_request import ListOffsetsRequest
from tapelog.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tapelog.wire.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestTopic

TOPIC: Final = "orders"
PARTITIONS: Final = 2
ACKS: Final = (-1, 1, -1)
"""What each producer asks for; they take turns over the partitions."""
GROUP: Final = "billing"
SUBSCRIBED: Final = ((TOPIC, PARTITIONS), (PAYMENTS, PAYMENT_PARTITIONS))
"""What groups with members read."""


class Applications:
    """All of them, on a Cluster."""

    def __init__(
        self,
        cluster: Cluster,
        note: Callable[[str], None],
        rack: str = "",
        *,
        groups: bool = False,
        deletes: bool = False,
        compacts: bool = False,
    ) -> None:
        """Consumers of orders, and one of payments, are in that rack, if one is given."""
        self.cluster = cluster
        self.entropy = cluster.entropy.fork()
        self.note = note
        self.ledgers = [Ledger() for _ in range(PARTITIONS)]
        weak = len(cluster.machines) > 1
        self.producers = [
            SimProducer(n, TOPIC, n % PARTITIONS, self.ledgers[n % PARTITIONS], acks, weak=weak and acks == 1)
            for n, acks in enumerate(ACKS)
        ]
        self.orders = Follower(TOPIC, PARTITIONS, cluster.router("reader"), committed=False, rack=rack)
        watcher = Follower(PAYMENTS, PAYMENT_PARTITIONS, cluster.router("watcher"), committed=True, rack=rack)
        self.payments = Payments(self.entropy, cluster.session, watcher)
        self.everything = Follower(PAYMENTS, PAYMENT_PARTITIONS, cluster.router("watcher"), committed=False)
        for follower in (self.orders, watcher, self.everything):
            follower.end_of = cluster.promises.committed_end
        self.administrator = Administrator(cluster, self.entropy, note)
        parts = [(topic, index) for topic, count in SUBSCRIBED for index in range(count)]
        self.groups = Groups(cluster, self.entropy.fork(), parts, note) if groups else None
        self.events = Events(cluster, self.entropy.fork(), note) if deletes else None
        self.tables = Tables(self.entropy.fork(), lambda: cluster.world.now_ms) if compacts else None
        self.reader = Follower(TABLES, 1, cluster.router("reader"), committed=False, rack=rack)
        self.reader.end_of = cluster.promises.committed_end
        self.ends = [(0, -1)] * PARTITIONS
        self.committed = 0
        self.attempted = 0
        self._unheard: list[int] = []
        self._values = 0
        self._committing = False
        self._group: Session | None = None

    def begin(self) -> None:
        """Make the topics."""
        self.administrator.create(TOPIC, PARTITIONS)
        compacted = TABLE_CONFIGS if self.tables is not None else {}
        self.administrator.create(PAYMENTS, PAYMENT_PARTITIONS, compacted)
        if self.tables is not None:
            self.administrator.create(TABLES, 1, compacted)
        if self.groups is not None:
            self.groups.begin()
        if self.events is not None:
            self.administrator.create(EVENTS, 1)

    # -- what they do

    def produce(self) -> None:
        """Somebody writes."""
        producer = self.producers[self.entropy.below(len(self.producers))]
        values = []
        for _ in range(1 + self.entropy.below(4)):
            values.append(b"%d:%d:x" % (producer.number, self.next_value()) + b"x" * self.entropy.below(300))
        producer.add(values)
        self.note(f"produce {producer.number} {len(values)}")
        self.push()

    def next_value(self) -> int:
        """A number for a record."""
        self._values += 1
        return self._values

    def pay(self) -> None:
        """Somebody begins a transaction, is replaced, stalls, or is late."""
        payments, pick = self.payments, self.entropy.below(40)
        what = (
            payments.begin
            if pick < 27
            else payments.replace
            if pick < 31
            else payments.stall
            if pick < 34
            else payments.deliver_late
        )
        self.note(what())
        self.push()

    def commit_offset(self) -> None:
        """The group says how far it is."""
        if self._committing:
            return
        self.attempted += 1
        self._committing = True
        offset = self.attempted
        self.note(f"commit {offset}")

        def done(response: Any) -> None:
            self._committing = False
            if response is None:
                self._unheard.append(offset)
            elif response.topics[0].partitions[0].error_code == 0:
                self.committed = max(self.committed, offset)

        part = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
        request = OffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=-1, member_id="")
        request.topics = [OffsetCommitRequestTopic(name=TOPIC, partitions=[part])]
        self.cluster.router("group").send(request, 8, done)

    def look_at_end(self) -> None:
        """Somebody asks where a partition ends: never below what was answered before, by this leader or an earlier one.

        A leader that was stopped, goes on and has not heard of its successor tells what it knew; clients see its epoch.
        """
        self.cluster.router("group").send(*self._question(self.entropy.below(PARTITIONS)))

    def led(self, machine: Machine, topic: str, index: int) -> None:
        """Somebody begins to lead a partition: it is asked for the end at once."""
        if topic == TOPIC:
            router = self.cluster.router("curious")
            router.addresses[machine.node_id] = machine.name, PORT
            router.send_to(machine.node_id, *self._question(index))

    def _question(self, index: int) -> tuple[ListOffsetsRequest, int, Callable[[Any], None]]:
        before, epoch = self.ends[index]

        def done(response: Any) -> None:
            if response is None or response.topics[0].partitions[0].error_code:
                return
            answer = response.topics[0].partitions[0]
            if answer.leader_epoch >= epoch:
                assert answer.offset >= before, f"{TOPIC}-{index} ended at {before}, and now at {answer.offset}"
            self.ends[index] = max(self.ends[index], (answer.offset, answer.leader_epoch))

        return ask_end(TOPIC, index), 5, done

    def happen(self) -> None:
        """Events are written or deleted, where there are any."""
        if self.events is not None:
            self.events.act()

    def write_table(self) -> None:
        """Keys of a table get other values, or none, where there is one."""
        if self.tables is not None:
            self.note(self.tables.write())
            self.push()

    def join(self) -> None:
        """A member of a group comes, goes or stalls, where there are any."""
        if self.groups is not None:
            self.groups.act()

    def administer(self) -> None:
        """The administrator changes something."""
        self.administrator.act()

    def push(self) -> None:
        """Everybody sends what may be sent."""
        for producer in self.producers:
            if producer.client is None or producer.client.closed:
                producer.connected(self.cluster.session(f"producer-{producer.number}"))
            producer.push()
        if self.groups is not None:
            self.groups.push()
        if self.events is not None:
            self.events.push()
        if self.tables is not None:
            producer = self.tables.producer
            if producer.client is None or producer.client.closed:
                producer.connected(self.cluster.session("table"))
            producer.push()
            self.reader.push()
            self.tables.consumed(self.reader.positions[0])
        self.payments.push()
        self.orders.push()
        self.everything.push()

    def wake(self) -> None:
        """Nobody stalls any more."""
        self.payments.wake()
        self.administrator.wake()
        if self.groups is not None:
            self.groups.wake()

    @property
    def idle(self) -> bool:
        """Whether nobody waits for anything."""
        return not self.waiting()

    def waiting(self) -> list[str]:
        """Who waits."""
        waiting = [f"producer {producer.number}" for producer in self.producers if not producer.idle]
        waiting += [one.waits_for for one in self.payments.instances if not one.idle]
        waiting += ["the administrator"] if self.administrator.busy else []
        waiting += ["a table"] if self.tables is not None and not self.tables.producer.idle else []
        waiting += ["events"] if self.events is not None and not self.events.producer.idle else []
        waiting += self.groups.waiting() if self.groups is not None else []
        return waiting

    @property
    def read_elsewhere(self) -> int:
        """How many records consumers got from followers."""
        return self.orders.elsewhere

    @property
    def acknowledged(self) -> int:
        """How many records."""
        return sum(sum(ledger.acknowledged.values()) for ledger in self.ledgers)

    # -- what must be true

    def check(self, *, final: bool) -> None:
        """Compare what can be read with what was promised and with what consumers saw."""
        client = self.cluster.session("auditor")
        for index, ledger in enumerate(self.ledgers):
            seen = list(self.orders.seen[index])  # before reading: time passes meanwhile, and more is seen
            found = read(client, TOPIC, index).records
            ledger.check([(int(value.split(b":")[0]), value) for _, value in found])
            _same(self.orders, index, seen, found)
        for index in range(PAYMENT_PARTITIONS):
            seen = list(self.everything.seen[index])
            found = read(client, PAYMENTS, index).records
            if self.tables is None:
                _same(self.everything, index, seen, found)
            else:
                decided = [value for _, value in read(client, PAYMENTS, index, committed=True).records]
                _left(self.everything, index, found, dict.fromkeys(decided))
        self.payments.check(client, final=final)
        if self.groups is not None:
            self.groups.check(client)
        if self.events is not None:
            self.events.check(client)
        if self.tables is not None:
            self.tables.clocks_jumped = self.cluster.clocks_jumped
            table = read(client, TABLES, 0)
            self.tables.check(table.records, table.high_watermark)
            self.tables.check_consumer(self.reader.seen[0], self.reader.positions[0])
        promised = self.committed  # before asking: what is under way may be acknowledged first
        found_offset = self._offset(client)
        late = found_offset in self._unheard  # a commit that was not answered may arrive after later ones
        assert late or promised <= max(found_offset, 0) <= self.attempted, (
            f"the group's offset is {found_offset}, {promised} was acknowledged"
        )

    def _offset(self, client: Session) -> int:
        request = OffsetFetchRequest(group_id=GROUP)
        request.topics = [OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])]
        return int(client.call(request, 5).topics[0].partitions[0].committed_offset)


def _same(follower: Follower, index: int, seen: list[tuple[int, bytes]], found: list[tuple[int, bytes]]) -> None:
    assert seen == found[: len(seen)], f"{follower.topic}-{index}: a consumer saw what is not there"


def _left(follower: Follower, index: int, found: list[tuple[int, bytes]], committed: dict[bytes, None]) -> None:
    """What a consumer saw may have been aborted, and be gone by compaction; and what was gone where it read may be
    there on another replica. What is committed it must have seen."""
    seen = dict(follower.seen[index])
    for offset, value in found:
        if offset < follower.positions[index] and (offset in seen or value in committed):
            assert seen.get(offset) == value, f"{follower.topic}-{index}: a consumer did not see what is at {offset}"

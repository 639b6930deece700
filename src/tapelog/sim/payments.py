"""Applications with transactions in a simulated life, and what must be true of them.

Each transactional id has one instance that counts, and perhaps zombies that do not know yet. A transaction's records,
in whichever partitions, and its offset are visible to read_committed all or not at all: always once its commit was
acknowledged, never if nobody asked for one. What is visible is there once, in the order in which it was begun, and
what a consumer has seen while it happened stays visible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from tapelog.sim.client import Client
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.reading import SimConsumer, read
from tapelog.sim.transactional import SimTransactional, Txn
from tapelog.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)

TOPIC: Final = "payments"
PARTITIONS: Final = 3
VERSIONS: Final = (2, 1, 2)
"""The transaction version each application speaks."""
TIMEOUT_MS: Final = 1500
ZOMBIES_MAX: Final = 3
SETTINGS: Final = {
    "transaction.state.log.num.partitions": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}


class Watcher(Protocol):
    """A read_committed consumer of all partitions that remembers what it saw."""

    seen: list[list[tuple[int, bytes]]]

    def push(self) -> None:
        """Ask for more."""
        ...

    def disconnected(self) -> None:
        """The node is gone."""
        ...


class Payments:
    """The applications, and the ledger of their transactions."""

    def __init__(
        self, entropy: SimEntropy, connect: Callable[[str], Client | None], consumer: Watcher | None = None
    ) -> None:
        """`connect` gives whoever is named a connection to the cluster, if there can be one now."""
        self.entropy = entropy
        self.connect = connect
        self.ledger: list[Txn] = []
        self.zombies: list[SimTransactional] = []
        self._made = 0
        self.instances = [self._instance(number) for number in range(len(VERSIONS))]
        self.consumer: Watcher = consumer or SimConsumer(TOPIC, PARTITIONS, lambda: connect("consumer"))
        self._stalled: list[SimTransactional] = []

    def _instance(self, number: int) -> SimTransactional:
        self._made += 1
        name = f"payer-{number}.{self._made}"
        return SimTransactional(
            f"payer-{number}", TOPIC, f"payers-{number}", VERSIONS[number], TIMEOUT_MS, lambda: self.connect(name)
        )

    # -- what can happen

    def begin(self) -> str:
        """Somebody begins a transaction, if it can; perhaps a zombie."""
        able = [one for one in (*self.instances, *self.zombies) if one.idle]
        if not able:
            return "no transaction"
        instance = able[self.entropy.below(len(able))]
        number = len(self.ledger)
        batches: list[tuple[int, list[bytes]]] = []
        for n in range(1 + self.entropy.below(6)):
            padding = b"x" * self.entropy.below(200)
            values = [b"%d:%d:%d:" % (number, n, k) + padding for k in range(1 + self.entropy.below(2))]
            batches.append((self.entropy.below(PARTITIONS), values))
        offset = number if self.entropy.chance(40) else -1
        commit = not self.entropy.chance(40)
        sent = len(batches) if commit else 1 + self.entropy.below(len(batches))
        txn = Txn(instance.name, number, batches, offset, commit, sent)
        self.ledger.append(txn)
        instance.begin(txn)
        return f"{instance.name} begins {number}"

    def replace(self) -> str:
        """Another instance takes over. The old one lives on as a zombie, or crashed."""
        number = self.entropy.below(len(VERSIONS))
        old = self.instances[number]
        self.instances[number] = self._instance(number)
        if len(self.zombies) >= ZOMBIES_MAX or self.entropy.chance(50):
            return f"{old.name} crashes"
        old.replaced = True
        self.zombies.append(old)
        return f"{old.name} is replaced"

    def stall(self) -> str:
        """Somebody does nothing for a while, perhaps until its transaction is too old; or goes on."""
        if self._stalled:
            return f"{self._stalled.pop().name} goes on"
        self._stalled.append(self.instances[self.entropy.below(len(VERSIONS))])
        return f"{self._stalled[0].name} stalls"

    def deliver_late(self) -> str:
        """A batch arrives for whose transaction nobody waits any more."""
        late = [(one, request) for one in (*self.instances, *self.zombies) for request in one.late]
        client = self.connect("late")
        if not late or client is None:
            return "nothing is late"
        sender, request = late[self.entropy.below(len(late))]
        sender.late.remove(request)
        client.send(request, sender.produce_version, lambda _: None)
        return f"{sender.name} is late"

    def push(self) -> None:
        """Everybody sends what may be sent."""
        for one in (*self.instances, *self.zombies):
            if one not in self._stalled:
                one.push()
        self.zombies = [one for one in self.zombies if not one.dead]
        self.consumer.push()

    def disconnected(self) -> None:
        """The node is gone."""
        for one in (*self.instances, *self.zombies):
            one.disconnected()
        self.consumer.disconnected()

    def wake(self) -> None:
        """Nobody stalls any more, and zombies give up: the end of a life."""
        self._stalled.clear()
        self.zombies.clear()

    @property
    def overflows(self) -> int:
        """How often an instance was given another producer id: its epochs were used up."""
        return sum(len(one.ids) - 1 for one in self.instances if one.ids)

    @property
    def under_way(self) -> int:
        """How many transactions are."""
        return sum(one.current is not None for one in self.instances)

    @property
    def idle(self) -> bool:
        """Whether every transaction of those that count has ended."""
        return all(one.idle for one in self.instances)

    # -- what must be true

    def check(self, client: Client, *, final: bool = False) -> None:
        """Compare what can be read with what was promised; final: everything must be decided."""
        shown: dict[bytes, int] = {}
        undecided: set[bytes] = set()
        for index in range(PARTITIONS):
            seen = list(self.consumer.seen[index])  # time passes while we read, and it sees more
            committed = read(client, TOPIC, index, committed=True)
            self._check_order(index, [_key(value) for _, value in committed.records])
            for _, value in committed.records:
                shown[value] = shown.get(value, 0) + 1
            assert seen == committed.records[: len(seen)], f"partition {index}: a consumer saw what is not there"
            everything = read(client, TOPIC, index)
            stable = committed.last_stable_offset
            undecided.update(value for offset, value in everything.records if offset >= stable)
            assert not final or stable == everything.high_watermark, (
                f"partition {index}: a transaction hangs at {stable}"
            )
        assert all(count == 1 for count in shown.values()), "a record is visible twice"
        for txn in self.ledger:
            self._check_one(txn, shown, undecided)
        if final:
            self._check_offsets(client, shown)

    def _check_order(self, index: int, keys: list[tuple[int, int, int]]) -> None:
        """What each application wrote to a partition is there in order."""
        for name in sorted({txn.name for txn in self.ledger}):
            mine = [key for key in keys if self.ledger[key[0]].name == name]
            assert mine == sorted(mine), f"partition {index}: transactions of {name} are out of order or repeated"

    def _check_one(self, txn: Txn, shown: dict[bytes, int], undecided: set[bytes]) -> None:
        values = [value for _, batch in txn.batches for value in batch]
        visible = [value for value in values if value in shown]
        if visible and not txn.asked:
            raise AssertionError(f"transaction {txn.number} is visible, but nobody asked to commit it")
        if visible and txn.told is False:
            raise AssertionError(f"transaction {txn.number} was aborted and is visible")
        if visible or txn.told:
            lost = [value for value in values if value not in shown and value not in undecided]
            assert not lost, f"transaction {txn.number}: {len(lost)} of {len(values)} records are not visible"

    def _check_offsets(self, client: Client, shown: dict[bytes, int]) -> None:
        """The last visible transaction that had an offset is the one whose offset counts."""
        for number in range(len(VERSIONS)):
            name = f"payer-{number}"
            done = [
                txn.offset
                for txn in self.ledger
                if txn.name == name and txn.offset >= 0 and txn.batches[0][1][0] in shown
            ]
            found = self._offset(client, f"payers-{number}")
            assert found == max(done, default=-1), f"{name}: offset {found}, its transactions say {done[-3:]}"

    def _offset(self, client: Client, group: str) -> int:
        topics = [OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)])
        request.require_stable = True
        for _ in range(1000):
            answer = client.call(request, 9).groups[0]
            part = answer.topics[0].partitions[0] if answer.topics else None
            if answer.error_code == 0 and part is not None and part.error_code == 0:
                return int(part.committed_offset)
            client.pass_time(5)
        raise AssertionError(f"the offset of {group} never becomes stable")


def _key(value: bytes) -> tuple[int, int, int]:
    """Number of the transaction, of the batch, of the record."""
    number, batch, record, _ = value.split(b":")
    return int(number), int(batch), int(record)

"""Random histories of transactional ids: producers of both versions write, end, crash and fence each other; markers are
late or refused; the log is slow, refuses, takes back; the node crashes and comes back.

After every step: a transaction's records are committed or aborted together, never both; what a producer was told of an
end is what happened, and so is what somebody outside decided of a prepared one; whoever was fenced gets nothing done;
handlers change nothing, replay equals live, and the log has only legal transitions. In the end everything is decided.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tapelog.coordinators.caller import Caller
from tapelog.coordinators.transactions.records import decode_record, transaction_of
from tapelog.coordinators.transactions.states import NEXT_STATES, Transaction
from tapelog.coordinators.transactions.store import TransactionStore
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from tapelog.wire.messages.end_txn_request import EndTxnRequest
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tapelog.wire.record_batch import batches, records_of
from tests.properties.transaction_world import FATAL, TWO_PHASE, Actor, FakeCluster
from tests.support.hash_seeds import told_under_two_hash_seeds
from tests.unit.coordinators.bench import BenchClock, BenchLog
from tests.unit.coordinators.transactions.bench import TransactionBench

PARTITIONS = 3
ACTORS = [
    *(("one", "t", 2), ("two", "t", 2), ("old", "u", 1), ("new", "u", 1), ("mix", "v", 1), ("mixed", "v", 2)),
    *(("bank", "w", TWO_PHASE), ("branch", "w", TWO_PHASE)),
]
WHO = st.integers(0, len(ACTORS) - 1)
WHERE = st.integers(0, PARTITIONS - 1)
TIMEOUT_MS = 30_000


class TransactionHistories(RuleBasedStateMachine):
    """Eight producers share four transactional ids, over three partitions and one shard."""

    def __init__(self) -> None:
        super().__init__()
        self.log = BenchLog()
        self.clock = BenchClock()
        self.cluster = FakeCluster(PARTITIONS)
        self.actors = [Actor(*what) for what in ACTORS]
        self.told: dict[str, bool] = {}
        self.database: dict[str, tuple[int, int, str]] = {}
        self.decided: set[str] = set()
        self.owners: dict[str, tuple[str, int]] = {}
        self.boots = 0
        self.next_id = 1000
        self.unanswered = 0
        self.ends = 0
        self.leader_epoch = 7
        self.boot()

    def boot(self) -> None:
        self.boots += 1
        self.bench = TransactionBench(
            {"transaction.two.phase.commit.enable": "true"},
            log=self.log,
            markers=self.cluster,  # type: ignore[arg-type]
            clock=self.clock,
            first_id=self.next_id,
            leader_epoch=self.leader_epoch,
        )
        self._watch_handlers()

    def _watch_handlers(self) -> None:
        """Handlers may not change hard state: see that it is the same when they return."""
        runtime: Any = self.bench.coordinator.runtime
        write = runtime.write

        def watched(partition: int, operation: Callable[[Any], Any], done: Any, failed: Any) -> None:
            def checked(machine: Any) -> Any:
                before = machine.store.snapshot()
                try:
                    return operation(machine)
                finally:
                    assert machine.store.snapshot() == before, "a handler changed hard state"

            write(partition, checked, done, failed)

        runtime.write = watched

    # -- what producers do

    def once(self, actor: Actor, done: Callable[[Any], None]) -> Callable[[Any], None]:
        """An answer's way back: given once, and lost if the producer or the node died meanwhile."""
        life, boots = actor.life, self.boots
        answered: list[Any] = []
        actor.busy = True
        self.unanswered += 1

        def give(response: Any) -> None:
            assert not answered, "answered twice"
            answered.append(response)
            if self.boots == boots:
                self.unanswered -= 1
                if actor.life == life:
                    actor.busy = False
                    done(response)

        return give

    def succeeded(self, actor: Actor) -> None:
        """Something the actor did took effect: it must not have been fenced before it asked."""
        owner = self.owners.get(actor.transactional_id)
        assert owner is None or owner == (actor.name, actor.life), f"{actor.name} was fenced by {owner}"

    def refused(self, actor: Actor, code: int) -> None:
        """The actor tries again, unless it is told that this is no use."""
        assert code != ErrorCode.UNKNOWN_SERVER_ERROR, "nothing is ever unexpected"
        if code in FATAL:
            actor.give_up()

    def ask(self, actor: Actor, api: str, request: Any, version: int, done: Callable[[Any], None]) -> None:
        give = self.once(actor, done)
        getattr(self.bench.coordinator, api)(Caller(actor.name, "/h", version), request, give)
        self.bench.settle()

    @rule(who=WHO, index=WHERE, commit=st.booleans(), more=st.booleans())
    def go_on(self, who: int, index: int, commit: bool, more: bool) -> None:
        """The next step of a producer's life: take the id, write, or end the transaction (and insist on it)."""
        actor = self.actors[who]
        if actor.busy or actor.gone:
            return
        if not actor.ready:
            self._init(actor)
        elif actor.ending is not None:
            self._end(actor, actor.ending)
        elif more or (actor.written == 0 and (commit or actor.version < 2)):
            self._write(actor, index)
        else:
            self._end(actor, commit)

    def _init(self, actor: Actor, again: bool = False) -> None:
        def done(response: Any) -> None:
            if response.error_code == ErrorCode.NONE:
                if again:
                    self.succeeded(actor)
                else:
                    self.owners[actor.transactional_id] = (actor.name, actor.life)
                actor.next_unit()
                actor.producer_id, actor.epoch = response.producer_id, response.producer_epoch
                actor.ready = True
                if actor.version == TWO_PHASE:
                    self._take_over(actor, (response.ongoing_txn_producer_id, response.ongoing_txn_producer_epoch))
            else:
                self.refused(actor, response.error_code)

        request = InitProducerIdRequest(
            transactional_id=actor.transactional_id,
            transaction_timeout_ms=TIMEOUT_MS,
            producer_id=actor.producer_id if again else -1,
            producer_epoch=actor.epoch if again else -1,
            enable2_pc=actor.version == TWO_PHASE,
            keep_prepared_txn=actor.version == TWO_PHASE,
        )
        self.ask(actor, "init_producer_id", request, 6, done)

    def _take_over(self, actor: Actor, ongoing: tuple[int, int]) -> None:
        """What was prepared is committed if the database has it, and aborted if not."""
        if ongoing != (-1, -1):
            *stored, unit = self.database.get(actor.transactional_id, (-1, -1, ""))
            actor.ending = tuple(stored) == ongoing
            actor.unit = unit if actor.ending else f"{actor.name} gives up another's"

    def _write(self, actor: Actor, index: int) -> None:
        if actor.version < 2 and index not in actor.added:
            self._add(actor, index)
            return
        where = ("orders", index)
        partition = self.cluster.partitions[where]
        marks = partition.marks.get(actor.producer_id, 0)
        producer_id, epoch, unit = actor.producer_id, actor.epoch, actor.unit

        def done(codes: dict[tuple[str, int], ErrorCode]) -> None:
            code = codes[where]
            if code == ErrorCode.NONE:
                code = partition.append(producer_id, epoch, unit, marks)
            if code == ErrorCode.NONE:
                self.succeeded(actor)
                actor.written += 1
            else:
                self.refused(actor, code)

        give = self.once(actor, done)
        self.bench.coordinator.admit(actor.transactional_id, producer_id, epoch, [where], actor.version >= 2, give)
        self.bench.settle()

    def _add(self, actor: Actor, index: int) -> None:
        def done(response: Any) -> None:
            code = response.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
            if code == ErrorCode.NONE:
                self.succeeded(actor)
                actor.added.add(index)
            else:
                self.refused(actor, code)

        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=actor.transactional_id,
            v3_and_below_producer_id=actor.producer_id,
            v3_and_below_producer_epoch=actor.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name="orders", partitions=[index])],
        )
        self.ask(actor, "add_partitions_to_txn", request, 3, done)

    def _end(self, actor: Actor, commit: bool) -> None:
        if commit and actor.version == TWO_PHASE and actor.ending is None:
            if self.owners[actor.transactional_id] != (actor.name, actor.life):
                actor.give_up()  # The database fences zombies, too.
                return
            self.database[actor.transactional_id] = (actor.producer_id, actor.epoch, actor.unit)
            self.decided.add(actor.unit)
        actor.ending = commit
        unit = actor.unit

        def done(response: Any) -> None:
            if response.error_code == ErrorCode.NONE:
                self.succeeded(actor)
                self.told[unit] = commit
                self.ends += 1
                actor.next_unit()
                if actor.version >= 2:
                    actor.producer_id, actor.epoch = response.producer_id, response.producer_epoch
            else:
                self.refused(actor, response.error_code)

        request = EndTxnRequest(
            transactional_id=actor.transactional_id,
            producer_id=actor.producer_id,
            producer_epoch=actor.epoch,
            committed=commit,
        )
        self.ask(actor, "end_txn", request, 5 if actor.version >= 2 else 3, done)

    @rule(who=WHO)
    def recover(self, who: int) -> None:
        """A producer raises its own epoch after an error (KIP-360); what it had open is aborted."""
        actor = self.actors[who]
        if actor.ready and not actor.busy and actor.ending is None and actor.version != TWO_PHASE:
            actor.ready = False
            self._init(actor, again=True)

    @rule(who=WHO)
    def restart(self, who: int) -> None:
        """A producer's process dies and starts again; or one that gave up comes back."""
        self.actors[who].reset()
        self.actors[who].gone = False

    # -- what the world does

    @rule(milliseconds=st.sampled_from([10, 100, 1_000, 11_000, 45_000]))
    def advance(self, milliseconds: int) -> None:
        self.bench.advance(milliseconds)

    @rule()
    def hold(self) -> None:
        self.log.held = True

    @rule()
    def release(self) -> None:
        """The log is well again."""
        self.log.held = False
        self.log.refusal = None
        self.bench.release()

    @rule()
    def hold_markers(self) -> None:
        self.cluster.held = True

    @rule()
    def release_markers(self) -> None:
        """The partitions are well again."""
        self.cluster.refusals.clear()
        self.cluster.release()
        self.bench.settle()

    @rule(index=WHERE, code=st.sampled_from([ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER]))
    def refuse_markers(self, index: int, code: ErrorCode) -> None:
        self.cluster.refusals[("orders", index)] = code

    @rule(code=st.sampled_from([None, None, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.KAFKA_STORAGE_ERROR]))
    def refuse(self, code: ErrorCode | None) -> None:
        self.log.refusal = code

    @rule()
    def take_back(self) -> None:
        """A full disk: what was queued but not written is removed from the log again."""
        end = self.log.committed.get(0, 0)
        self.log.truncate(0, end)
        self.bench.coordinator.runtime.on_append_failed(0, end, ErrorCode.KAFKA_STORAGE_ERROR)
        self.bench.settle()

    @rule(keep=st.booleans(), arrive=st.integers(0, 2))
    def crash(self, keep: bool, arrive: int) -> None:
        """The node dies; what was not committed may be in the log or not, markers on their way may arrive or not."""
        if not keep:
            self.log.truncate(0, self.log.committed.get(0, 0))
        self.cluster.crash(arrive)
        self.next_id = self.bench.next_id
        self.unanswered = 0
        for actor in self.actors:
            actor.busy = False
        self.boot()

    @rule()
    def resign_and_return(self) -> None:
        """Leadership goes and comes back: everyone who waited has been answered in between."""
        self.bench.coordinator.runtime.on_resigned(0)
        self.bench.coordinator.runtime.flush()
        assert self.unanswered == 0, "somebody still waits for a coordinator that resigned"
        self.leader_epoch += 1
        self.bench.coordinator.runtime.on_elected(0, self.leader_epoch)
        self.bench.settle()

    # -- what must hold

    def stored(self) -> list[tuple[int, Any]]:
        """Every record of the log, decoded, with its offset."""
        found = []
        for _, _, batch in self.log.batches.get(0, []):
            for record in records_of(batch, next(batches(batch, 0, len(batch)))):
                found.append((record.offset, decode_record(record.key or b"", record.value)))
        return found

    def check(self) -> None:
        """Every invariant, now."""
        self.transactions_are_whole()
        self.the_machine_is_sound()
        self.replay_equals_live()
        self.the_log_holds_legal_transitions()

    @invariant()
    def transactions_are_whole(self) -> None:
        for unit, ends in self.cluster.outcomes().items():
            assert len(ends) == 1, f"{unit} was committed here and aborted there"
            assert unit not in self.told or self.told[unit] in ends, f"{unit} did not end as its producer was told"
            assert unit not in self.decided or True in ends, f"{unit} was decided outside, and not so"

    @invariant()
    def the_machine_is_sound(self) -> None:
        self.bench.machine.invariants()

    @invariant()
    def replay_equals_live(self) -> None:
        store = TransactionStore()
        for offset, record in self.stored():
            store.replay(offset, record)
        assert store.snapshot() == self.bench.machine.store.snapshot()

    @invariant()
    def the_log_holds_legal_transitions(self) -> None:
        latest: dict[str, Transaction] = {}
        for _, record in self.stored():
            name = record.key.transactional_id
            if record.value is None:
                latest.pop(name, None)
                continue
            now = transaction_of(record.value)
            before = latest.get(name)
            if before is not None:
                assert now.state in NEXT_STATES[before.state], f"{before.state.label} then {now.state.label}"
                forward = (now.producer_epoch >= before.producer_epoch) or now.producer_id != before.producer_id
                assert forward, "epochs only grow"
            latest[name] = now

    def finish(self) -> None:
        """All troubles end, and enough time passes for every timeout: nothing may be left undecided."""
        self.release()
        self.release_markers()
        self.bench.advance(4 * TIMEOUT_MS)
        self._end_what_is_prepared()
        self.check()
        assert self.unanswered == 0, "somebody still waits"
        assert self.bench.machine.completions.under_way == [], "some end is not told everywhere"
        ending = [name for name, transaction in self.bench.machine.store.items() if transaction.ending]
        assert ending == [], "some decision was forgotten"
        assert self.bench.machine.store.ongoing() == [], "some transaction never timed out"
        assert self.cluster.undecided() == [], "some records have no end"

    def _end_what_is_prepared(self) -> None:
        """Only its owner ends a transaction of two phases, however long it takes."""
        actor = next(actor for actor in self.actors if actor.version == TWO_PHASE)
        self.restart(self.actors.index(actor))
        for _ in range(100):
            self.bench.settle()
            if actor.ready and actor.ending is None:
                return
            self.go_on(self.actors.index(actor), 0, True, True)
        raise AssertionError("what is prepared cannot be ended")

    def teardown(self) -> None:
        self.finish()


TestTransactionHistories = TransactionHistories.TestCase
TestTransactionHistories.settings = settings(max_examples=40, stateful_step_count=50, deadline=None)

STEPS = {
    "go_on": 110,
    "recover": 1,
    "restart": 8,
    "advance": 8,
    "hold": 4,
    "release": 12,
    "hold_markers": 4,
    "release_markers": 12,
    "refuse_markers": 2,
    "refuse": 2,
    "take_back": 2,
    "crash": 3,
    "resign_and_return": 2,
}
"""How often each thing happens in a long history: mostly life, some trouble."""


def live_through(seed: int, steps: int) -> TransactionHistories:
    """A long random history, checked at every step."""
    chance = random.Random(seed)
    history = TransactionHistories()
    arguments: dict[str, Callable[[], list[Any]]] = {
        "go_on": lambda: [
            chance.randrange(len(ACTORS)),
            chance.randrange(PARTITIONS),
            chance.random() < 0.6,
            chance.random() < 0.5,
        ],
        "recover": lambda: [chance.randrange(len(ACTORS))],
        "restart": lambda: [chance.randrange(len(ACTORS))],
        "advance": lambda: [chance.choice([10, 100, 100, 1_000, 1_000, 1_000, 11_000, 45_000])],
        "refuse_markers": lambda: [
            chance.randrange(PARTITIONS),
            chance.choice([ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER]),
        ],
        "refuse": lambda: [chance.choice([None, None, None, None, ErrorCode.NOT_ENOUGH_REPLICAS])],
        "crash": lambda: [chance.random() < 0.5, chance.randrange(3)],
    }
    for _ in range(steps):
        step = chance.choices(list(STEPS), list(STEPS.values()))[0]
        getattr(history, step)(*arguments.get(step, list)())
        history.check()
    history.finish()
    return history


@pytest.mark.parametrize("seed", range(12))
def test_a_long_history_of_trouble_keeps_every_promise(seed: int) -> None:
    history = live_through(seed, 400)
    assert history.ends >= 5, "transactions do end"
    assert {True, False} == set(history.told.values()), "both ways"


def test_a_history_is_the_same_whatever_the_hash_seed() -> None:
    first, second = told_under_two_hash_seeds("tests.properties.test_transactions")
    assert first == second


def tell_history(seed: int) -> str:
    """The digest of the log that a history leaves."""
    history = live_through(seed, 150)
    return hashlib.sha256(b"".join(batch for _, _, batch in history.log.batches[0])).hexdigest()

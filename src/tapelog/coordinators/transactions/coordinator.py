"""The transaction coordinator as the server sees it: one method per API, all of the same shape.

Every method takes the caller, the decoded request, and a function that gets the response exactly once, now or later.
Requests are checked here as far as no state is needed, routed to the shard that owns the transactional id, and answered
in the shape their version wants. It is the gate for writes within transactions, too. The node core drives `runtime`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tapelog.base.timers import Timers
from tapelog.coordinators import patterns
from tapelog.coordinators.caller import Caller
from tapelog.coordinators.core import Runtime
from tapelog.coordinators.hashing import partition_of
from tapelog.coordinators.outcome import CoordinatorLog, Outcome
from tapelog.coordinators.transactions import admin
from tapelog.coordinators.transactions.addition import AddPartitions
from tapelog.coordinators.transactions.admission import Admission
from tapelog.coordinators.transactions.book import TransactionBook, Verdict
from tapelog.coordinators.transactions.config import TransactionConfig
from tapelog.coordinators.transactions.ending import end
from tapelog.coordinators.transactions.initialise import initialise
from tapelog.coordinators.transactions.machine import TransactionMachine
from tapelog.coordinators.transactions.marker import MarkerWriter
from tapelog.coordinators.transactions.states import (
    EPOCH_BUMP_FROM,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TWO_PHASE_TIMEOUT_MS,
)
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from tapelog.wire.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from tapelog.wire.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from tapelog.wire.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from tapelog.wire.messages.describe_transactions_request import DescribeTransactionsRequest
from tapelog.wire.messages.describe_transactions_response import DescribeTransactionsResponse
from tapelog.wire.messages.describe_transactions_response import TransactionState as DescribedTransaction
from tapelog.wire.messages.end_txn_request import EndTxnRequest
from tapelog.wire.messages.end_txn_response import EndTxnResponse
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tapelog.wire.messages.init_producer_id_response import InitProducerIdResponse
from tapelog.wire.messages.list_transactions_request import ListTransactionsRequest
from tapelog.wire.messages.list_transactions_response import ListTransactionsResponse
from tapelog.wire.messages.list_transactions_response import TransactionState as ListedTransaction

STATE_TOPIC: Final = "__transaction_state"
OFFSETS_TOPIC: Final = "__consumer_offsets"

FENCED_CODE_FROM: Final = {"init_producer_id": 4, "add_offsets_to_txn": 2, "end_txn": 2}
"""From this version on clients know PRODUCER_FENCED; before, they are told INVALID_PRODUCER_EPOCH."""

EPOCH_IN_END_FROM: Final = 5
"""EndTxn from this version on is transaction version 2."""


class TransactionCoordinator:
    """Transactions, over the partitions of `__transaction_state` that this node leads.

    `partition_count` says how many partitions a topic has (0: there is none), `offsets_partition` which partition of
    `__consumer_offsets` owns a group.
    """

    def __init__(
        self,
        coordinator_log: CoordinatorLog,
        timers: Timers,
        markers: MarkerWriter,
        next_producer_id: Callable[[Callable[[int | KafkaError], None]], None],
        partition_count: Callable[[str], int],
        offsets_partition: Callable[[str], int],
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.config = TransactionConfig(settings)
        self.runtime: Runtime[TransactionMachine] = Runtime(
            coordinator_log, timers, lambda context: TransactionMachine(context, self.config, markers)
        )
        self._timers = timers
        self._next_producer_id = next_producer_id
        self._partition_count = partition_count
        self._offsets_partition = offsets_partition
        self._admission = Admission(self.runtime, timers, self.partition_for, self.config.add_wait_ms_max)
        self._additions = AddPartitions(self._admission, partition_count)

    def partition_for(self, transactional_id: str) -> int:
        """The partition of `__transaction_state` that owns the transactional id."""
        return partition_of(transactional_id, self._partition_count(STATE_TOPIC) or self.config.partitions)

    # -- what producers ask

    def init_producer_id(
        self, caller: Caller, request: InitProducerIdRequest, done: Callable[[InitProducerIdResponse], None]
    ) -> None:
        """InitProducerId with a transactional id."""

        def give(verdict: Verdict) -> None:
            done(
                InitProducerIdResponse(
                    error_code=_known_code("init_producer_id", caller.api_version, verdict.code),
                    producer_id=verdict.producer_id,
                    producer_epoch=verdict.producer_epoch,
                    ongoing_txn_producer_id=verdict.ongoing[0],
                    ongoing_txn_producer_epoch=verdict.ongoing[1],
                )
            )

        transactional_id = request.transactional_id or ""
        code = self._refused(request)
        if code != ErrorCode.NONE:
            give(Verdict(code))
            return
        timeout_ms = TWO_PHASE_TIMEOUT_MS if request.enable2_pc else request.transaction_timeout_ms
        expected = (request.producer_id, request.producer_epoch) if request.producer_id != NO_PRODUCER_ID else None
        self._decide(
            transactional_id,
            lambda book, spare: initialise(
                book, transactional_id, timeout_ms, expected, request.keep_prepared_txn, spare
            ),
            give,
        )

    def _refused(self, request: InitProducerIdRequest) -> ErrorCode:
        """What is wrong with the request whatever the state of its transactional id."""
        if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
            return ErrorCode.INVALID_REQUEST
        if not request.transactional_id:
            return ErrorCode.INVALID_REQUEST
        if request.enable2_pc and not self.config.two_phase_commit:
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        if not request.enable2_pc and not 0 < request.transaction_timeout_ms <= self.config.timeout_ms_max:
            return ErrorCode.INVALID_TRANSACTION_TIMEOUT
        return ErrorCode.NONE

    def add_partitions_to_txn(
        self, caller: Caller, request: AddPartitionsToTxnRequest, done: Callable[[AddPartitionsToTxnResponse], None]
    ) -> None:
        """AddPartitionsToTxn; from version 4 on for several transactions at once, and to verify."""
        self._additions.handle(caller, request, done)

    def add_offsets_to_txn(
        self, caller: Caller, request: AddOffsetsToTxnRequest, done: Callable[[AddOffsetsToTxnResponse], None]
    ) -> None:
        """AddOffsetsToTxn: add the partition that holds the group's offsets."""

        def give(code: ErrorCode) -> None:
            known = _known_code("add_offsets_to_txn", caller.api_version, code)
            done(AddOffsetsToTxnResponse(error_code=known))

        where = (OFFSETS_TOPIC, self._offsets_partition(request.group_id))
        producer = (request.producer_id, request.producer_epoch)
        self._admission.add(request.transactional_id, producer, [where], 0, give)

    def end_txn(self, caller: Caller, request: EndTxnRequest, done: Callable[[EndTxnResponse], None]) -> None:
        """EndTxn. The answer comes when the decision is committed; the markers follow."""
        version = EPOCH_BUMP_FROM if caller.api_version >= EPOCH_IN_END_FROM else 0

        def give(verdict: Verdict) -> None:
            code = _known_code("end_txn", caller.api_version, verdict.code)
            if version < EPOCH_BUMP_FROM:
                done(EndTxnResponse(error_code=code))
                return
            done(
                EndTxnResponse(error_code=code, producer_id=verdict.producer_id, producer_epoch=verdict.producer_epoch)
            )

        if not request.transactional_id:
            give(Verdict(ErrorCode.INVALID_REQUEST))
            return
        producer = (request.producer_id, request.producer_epoch)
        self._decide(
            request.transactional_id,
            lambda book, spare: end(book, request.transactional_id, producer, request.committed, version, spare),
            give,
        )

    # -- the gate

    def admit(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: list[tuple[str, int]],
        add: bool,
        done: Callable[[dict[tuple[str, int], ErrorCode]], None],
    ) -> None:
        """Implements `coordinators.gate.TransactionGate`."""
        version = EPOCH_BUMP_FROM if add else None
        self._admission.admit(transactional_id, (producer_id, producer_epoch), partitions, version, done)

    # -- administration

    def list_transactions(
        self, caller: Caller, request: ListTransactionsRequest, done: Callable[[ListTransactionsResponse], None]
    ) -> None:
        """ListTransactions: those this node coordinates. An error if it does not know all of them yet."""
        listed: list[ListedTransaction] = []
        pattern = request.transactional_id_pattern
        try:
            if pattern:
                patterns.check(pattern)
            wanted = admin.filter_of(request, self._timers.clock.wall_ms())
            for partition in self.runtime.partitions():
                listed += self.runtime.read(partition, lambda machine: admin.listed(machine.store, wanted))
        except KafkaError as error:
            done(ListTransactionsResponse(error_code=int(error.code)))
            return
        response = ListTransactionsResponse(
            unknown_state_filters=admin.unknown_states(request), transaction_states=listed
        )
        if pattern:
            self._match(pattern, response, done)
        else:
            done(response)

    def _match(
        self, pattern: str, response: ListTransactionsResponse, done: Callable[[ListTransactionsResponse], None]
    ) -> None:
        """Leave out what the pattern does not match, a bounded piece of work per wake-up."""
        matching = patterns.Matching([pattern], [one.transactional_id for one in response.transaction_states])
        self._match_on(matching, pattern, response, done)

    def _match_on(
        self,
        matching: patterns.Matching,
        pattern: str,
        response: ListTransactionsResponse,
        done: Callable[[ListTransactionsResponse], None],
    ) -> None:
        if not matching.step():
            self._timers.after(0, lambda: self._match_on(matching, pattern, response, done))
            return
        found = matching.found[pattern]
        response.transaction_states = [one for one in response.transaction_states if one.transactional_id in found]
        done(response)

    def describe_transactions(
        self,
        caller: Caller,
        request: DescribeTransactionsRequest,
        done: Callable[[DescribeTransactionsResponse], None],
    ) -> None:
        """DescribeTransactions, in the order asked."""
        done(
            DescribeTransactionsResponse(
                transaction_states=[self._describe(transactional_id) for transactional_id in request.transactional_ids]
            )
        )

    def _describe(self, transactional_id: str) -> DescribedTransaction:
        try:
            if not transactional_id:
                raise KafkaError(ErrorCode.INVALID_REQUEST)
            return self.runtime.read(
                self.partition_for(transactional_id), lambda machine: admin.described(machine.store, transactional_id)
            )
        except KafkaError as error:
            return DescribedTransaction(transactional_id=transactional_id, error_code=int(error.code))

    # -- inside

    def _decide(
        self,
        transactional_id: str,
        handler: Callable[[TransactionBook, int | None], Outcome[Verdict]],
        done: Callable[[Verdict], None],
    ) -> None:
        """Run the handler; if it needs a producer id that nobody has, get one and run it again."""
        decision = _Decision(self.runtime, self.partition_for(transactional_id), self._next_producer_id, handler, done)
        decision.attempt(None)


class _Decision:
    """A handler being run, perhaps a second time with a producer id of its own.

    A class, because closures that call each other are a reference cycle.
    """

    def __init__(
        self,
        runtime: Runtime[TransactionMachine],
        partition: int,
        next_producer_id: Callable[[Callable[[int | KafkaError], None]], None],
        handler: Callable[[TransactionBook, int | None], Outcome[Verdict]],
        done: Callable[[Verdict], None],
    ) -> None:
        self._runtime = runtime
        self._partition = partition
        self._next_producer_id = next_producer_id
        self._handler = handler
        self._done = done

    def attempt(self, spare_id: int | None) -> None:
        """Run it, with that producer id to spare."""
        self._runtime.write(
            self._partition,
            lambda machine: self._handler(machine.book, spare_id),
            self._decided,
            lambda code: self._done(Verdict(code)),
        )

    def _decided(self, verdict: Verdict) -> None:
        if verdict.needs_producer_id:
            self._next_producer_id(self._got)
        else:
            self._done(verdict)

    def _got(self, outcome: int | KafkaError) -> None:
        if isinstance(outcome, KafkaError):
            self._done(Verdict(outcome.code))
        else:
            self.attempt(outcome)


def _known_code(api: str, version: int, code: ErrorCode) -> int:
    if code == ErrorCode.PRODUCER_FENCED and version < FENCED_CODE_FROM[api]:
        return int(ErrorCode.INVALID_PRODUCER_EPOCH)
    return int(code)

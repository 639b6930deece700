"""From the decision to the last marker: what follows a committed Prepare record until the Complete record is, too.

The decision is durable, so this never gives up: markers that fail are sent again after a pause, and so is a Complete
record that could not be appended. After a restart the same begins anew from the log; a marker that a partition has
already is not written twice there. Soft state: the log alone says what is decided.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Final

from tapelog.coordinators.outcome import Outcome, ShardContext, nothing
from tapelog.coordinators.transactions.ending import completed
from tapelog.coordinators.transactions.marker import MarkerWriter, TxnMarker
from tapelog.coordinators.transactions.records import transaction_record
from tapelog.coordinators.transactions.states import Transaction, TxnState
from tapelog.coordinators.transactions.store import TransactionStore
from tapelog.wire.errors import ErrorCode

log = logging.getLogger(__name__)

RETRY_MS_MIN: Final = 20
RETRY_MS_MAX: Final = 1000

SETTLED: Final = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.INVALID_PRODUCER_EPOCH,
    }
)
"""Nothing is left to write there: it is written, the partition is gone, it never took part, or it has moved on."""


class Completion:
    """One decided transaction whose end is being told to its partitions."""

    __slots__ = ("attempts", "marker", "remaining", "transaction", "transactional_id")

    def __init__(self, transactional_id: str, transaction: Transaction, coordinator_epoch: int) -> None:
        self.transactional_id = transactional_id
        self.transaction = transaction
        self.remaining = sorted(transaction.partitions)
        self.attempts = 0
        self.marker = TxnMarker(
            transaction.producer_id,
            transaction.producer_epoch,
            transaction.state == TxnState.PREPARE_COMMIT,
            coordinator_epoch,
            transaction.client_version,
        )


class Completions:
    """All completions of one shard, by transactional id."""

    def __init__(
        self, store: TransactionStore, context: ShardContext, markers: MarkerWriter, now_ms: Callable[[], int]
    ) -> None:
        self._store = store
        self._context = context
        self._markers = markers
        self._now_ms = now_ms
        self._serving = False
        self._noted: deque[tuple[int, str]] = deque()
        self._under_way: dict[str, Completion] = {}
        self._waiters: dict[str, list[Callable[[], None]]] = {}

    # -- what the machine tells

    def replayed(self, offset: int, transactional_id: str, transaction: Transaction | None) -> None:
        """The id has a new state; it counts when offset is committed."""
        if offset >= self._store.journal.committed_offset:
            self._noted.append((offset, transactional_id))
        if transaction is None or not transaction.ending:
            for waiter in self._waiters.pop(transactional_id, ()):
                self._context.post(waiter)

    def committed(self, offset: int) -> None:
        """Records below offset are committed: begin what they decided, end what they completed."""
        while self._serving and self._noted and self._noted[0][0] < offset:
            self._look(self._noted.popleft()[1])

    def reverted(self, offset: int, changed: list[str]) -> None:
        """Records at or after offset never happened: what they completed must be completed again."""
        while self._noted and self._noted[-1][0] >= offset:
            self._noted.pop()
        for transactional_id in changed:
            completion = self._under_way.get(transactional_id)
            if completion is None and self._serving:
                self._look(transactional_id)
            elif completion is not None and not completion.remaining:
                self._complete_again(completion)

    def serve(self) -> None:
        """The shard is loaded: go on with every decision it knows of."""
        self._serving = True
        for transactional_id, _ in self._store.committed_ending():
            self._look(transactional_id)
        self.committed(self._store.journal.committed_offset)

    def stop(self) -> None:
        """The shard is not ours any more: whoever coordinates it next goes on. Those who wait ask again, in vain."""
        self._serving = False
        self._under_way.clear()
        for waiters in self._waiters.values():
            for waiter in waiters:
                self._context.post(waiter)
        self._waiters.clear()

    # -- waiting for the end

    def when_over(self, transactional_id: str, waiter: Callable[[], None]) -> None:
        """Post waiter when the id is not ending any more (or the shard is lost)."""
        self._waiters.setdefault(transactional_id, []).append(waiter)

    def give_up_waiting(self, transactional_id: str, waiter: Callable[[], None]) -> None:
        """Forget a waiter."""
        waiters = self._waiters.get(transactional_id, [])
        if waiter in waiters:
            waiters.remove(waiter)
        if not waiters:
            self._waiters.pop(transactional_id, None)

    @property
    def under_way(self) -> list[str]:
        """The ids whose markers or Complete records are not committed yet."""
        return sorted(self._under_way)

    # -- inside

    def _look(self, transactional_id: str) -> None:
        decided = self._store.committed(transactional_id)
        completion = self._under_way.get(transactional_id)
        if decided is None or not decided.ending:
            self._under_way.pop(transactional_id, None)
        elif self._store.get(transactional_id) != decided and completion is None:
            return  # what follows is in our log: its partitions were told, and the next transaction may be open there
        elif completion is None or completion.transaction != decided:
            begun = Completion(transactional_id, decided, self._context.leader_epoch)
            self._under_way[transactional_id] = begun
            self._context.post(lambda: self._send(begun))

    def _current(self, completion: Completion) -> bool:
        return self._under_way.get(completion.transactional_id) is completion

    def _send(self, completion: Completion) -> None:
        if not self._current(completion):
            return
        if not completion.remaining:
            self._context.submit(lambda: self._complete(completion))
            return
        try:
            self._markers.write(
                completion.marker, list(completion.remaining), lambda codes: self._answered(completion, codes)
            )
        except Exception:  # a mistake of ours may cost time, but never leaves a decided transaction open for ever
            log.exception("writing the markers of %s failed", completion.transactional_id)
            self._answered(completion, dict.fromkeys(completion.remaining, ErrorCode.UNKNOWN_SERVER_ERROR))

    def _answered(self, completion: Completion, codes: dict[tuple[str, int], ErrorCode]) -> None:
        if not self._current(completion):
            return
        for where, code in codes.items():
            if code not in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
                log.info("the marker of %s for %s-%d got %s", completion.transactional_id, *where, code.name)
        if ErrorCode.TRANSACTION_COORDINATOR_FENCED in codes.values():
            return  # Another node coordinates this partition by now, and tells its markers itself.
        completion.remaining = [
            where for where in completion.remaining if codes.get(where, ErrorCode.UNKNOWN_SERVER_ERROR) not in SETTLED
        ]
        if completion.remaining:
            self._pause(completion, lambda: self._send(completion))
        else:
            self._context.submit(lambda: self._complete(completion))

    def _complete(self, completion: Completion) -> Outcome[None]:
        current = self._store.get(completion.transactional_id)
        if not self._current(completion) or current is None or current != completion.transaction:
            return nothing()
        record = transaction_record(completion.transactional_id, completed(current, self._now_ms()))
        return Outcome([record], None, failed=lambda _: self._complete_again(completion))

    def _complete_again(self, completion: Completion) -> None:
        """The Complete record was refused or taken back (or only late: then there is nothing to repeat)."""
        if self._current(completion) and self._store.get(completion.transactional_id) == completion.transaction:
            self._pause(completion, lambda: self._context.submit(lambda: self._complete(completion)))

    def _pause(self, completion: Completion, action: Callable[[], None]) -> None:
        if not self._serving:
            return
        delay_ms = min(RETRY_MS_MAX, RETRY_MS_MIN << min(completion.attempts, 10))
        completion.attempts += 1
        self._context.deadlines.set(
            f"markers {completion.transactional_id}", delay_ms, lambda: self._context.post(action)
        )

"""What the handlers of one shard work with: the transactions, the settings, the clock, and one thing the log does not
keep: which epoch a client came from when it raised its own.
"""

from __future__ import annotations

from tapelog.base.ports import Clock
from tapelog.coordinators.transactions.config import TransactionConfig
from tapelog.coordinators.transactions.states import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, Transaction
from tapelog.coordinators.transactions.store import TransactionStore
from tapelog.wire.errors import ErrorCode


class Verdict:
    """What a handler decided: a code, the producer id and epoch to go on with, or that it needs a new producer id.

    `needs_producer_id`: nothing was decided; ask again with an id that nobody has.
    """

    __slots__ = ("code", "needs_producer_id", "ongoing", "producer_epoch", "producer_id")

    def __init__(
        self,
        code: ErrorCode = ErrorCode.NONE,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        *,
        ongoing: tuple[int, int] = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH),
        needs_producer_id: bool = False,
    ) -> None:
        self.code = code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.ongoing = ongoing
        self.needs_producer_id = needs_producer_id


def owner_code(current: Transaction, producer: tuple[int, int]) -> ErrorCode:
    """NONE if this producer id and epoch own the transactional id; what to tell them if not."""
    owner_id, owner_epoch = current.owner
    if producer[0] != owner_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    return ErrorCode.NONE if producer[1] == owner_epoch else ErrorCode.PRODUCER_FENCED


class TransactionBook:
    """The transactions of one shard, as its handlers see them."""

    def __init__(self, store: TransactionStore, config: TransactionConfig, clock: Clock) -> None:
        self.store = store
        self.config = config
        self._clock = clock
        self._raised_from: dict[str, tuple[int, int, int]] = {}

    def now_ms(self) -> int:
        """The wall clock: what records and timeouts go by."""
        return self._clock.wall_ms()

    def find(self, transactional_id: str) -> Transaction | None:
        """The newest state of the id."""
        return self.store.get(transactional_id)

    def raised(self, transactional_id: str, now: Transaction, last_epoch: int) -> None:
        """The id is about to get this owner; a client that still names last_epoch is the same one.

        Kept in memory only, as in Kafka: after a restart such a client is fenced. Harmless if the records are taken
        back: nobody has that id and epoch then.
        """
        self._raised_from[transactional_id] = (*now.owner, last_epoch)

    def last_epoch(self, transactional_id: str, now: Transaction) -> int:
        """The epoch before the present one, if the same client had it; -1 otherwise."""
        producer_id, epoch, last_epoch = self._raised_from.get(transactional_id, (NO_PRODUCER_ID, 0, 0))
        return last_epoch if (producer_id, epoch) == now.owner else NO_PRODUCER_EPOCH

    def forget(self, transactional_id: str) -> None:
        """The id is gone."""
        self._raised_from.pop(transactional_id, None)

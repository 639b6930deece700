"""Blocks of producer ids: each is given out once, ever."""

from __future__ import annotations

from typing import Final

from tapelog.metadata.image import MetadataImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.record_types import ProducerIdsRecord
from tapelog.wire.errors import ErrorCode, KafkaError

BLOCK_SIZE: Final = 1000
_ID_MAX: Final = (1 << 63) - 1


class ProducerIdBlock:
    """Ids from `first` to `first + count - 1`, for one broker to hand out; unused ones are lost on a restart."""

    __slots__ = ("count", "first")

    def __init__(self, first: int, count: int) -> None:
        self.first = first
        self.count = count

    def __repr__(self) -> str:
        return f"ProducerIdBlock({self.first}, {self.count})"


def allocate_producer_ids(image: MetadataImage, broker_id: int, broker_epoch: int) -> Outcome[ProducerIdBlock]:
    """The next block, for a registered broker."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker {broker_id} is not registered")
    if broker.epoch != broker_epoch:
        raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, f"Broker {broker_id} has epoch {broker.epoch}")
    first = image.next_producer_id
    if first > _ID_MAX - BLOCK_SIZE:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "All producer ids have been given out")
    record = ProducerIdsRecord(broker_id=broker_id, broker_epoch=broker_epoch, next_producer_id=first + BLOCK_SIZE)
    return Outcome([record], ProducerIdBlock(first, BLOCK_SIZE))

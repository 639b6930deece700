"""Who a producer is, how it writes, and what it takes to end its transaction from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tapelog.wire.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID


@dataclass(frozen=True, slots=True)
class ProducerIdentity:
    """A producer id and its epoch, given by a coordinator."""

    producer_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """What it takes to end a transaction from another process."""

    transactional_id: str
    producer_id: int
    epoch: int
    end_version: int


NOBODY: Final = ProducerIdentity(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
"""A producer that is not idempotent: trying again may write twice."""


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """How to write, in Kafka's words. Batches are larger than Java's 16 KiB, since a task has much to write."""

    acks: int = -1
    compression: int = 0
    """A codec of wire.compression."""
    batch_bytes: int = 512 * 1024
    buffer_bytes: int = 32 * 1024 * 1024
    delivery_timeout_ms: int = 120_000

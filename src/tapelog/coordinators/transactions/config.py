"""The broker settings the transaction coordinator obeys, by their Kafka names and with Kafka's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TRANSACTION_DEFAULTS: Final[dict[str, int]] = {
    "transaction.max.timeout.ms": 900_000,
    "transaction.state.log.num.partitions": 50,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 10_000,
    "transaction.remove.expired.transaction.cleanup.interval.ms": 3_600_000,
    "transactional.id.expiration.ms": 604_800_000,
    "add.partitions.to.txn.retry.backoff.max.ms": 100,
}

TWO_PHASE_COMMIT: Final = "transaction.two.phase.commit.enable"


class TransactionConfig:
    """Settings of the transaction coordinator, read once from a mapping of Kafka names to strings."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        given = settings or {}
        values = {name: int(given.get(name, default)) for name, default in TRANSACTION_DEFAULTS.items()}
        self.timeout_ms_max = values["transaction.max.timeout.ms"]
        self.partitions = values["transaction.state.log.num.partitions"]
        self.timeout_interval_ms = values["transaction.abort.timed.out.transaction.cleanup.interval.ms"]
        self.expiry_interval_ms = values["transaction.remove.expired.transaction.cleanup.interval.ms"]
        self.expiration_ms = values["transactional.id.expiration.ms"]
        self.add_wait_ms_max = values["add.partitions.to.txn.retry.backoff.max.ms"]
        self.two_phase_commit = given.get(TWO_PHASE_COMMIT, "false").lower() == "true"

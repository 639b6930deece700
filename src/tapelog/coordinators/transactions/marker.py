"""The end of a transaction as the coordinator asks for it, and the port through which it reaches the partitions.

The transaction coordinator decides; a `MarkerWriter` appends one control batch to each partition. On one node that is a
call (`node/markers.py`), in a cluster WriteTxnMarkers over the wire: neither side sees the other's state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from tapelog.wire.errors import ErrorCode


class TxnMarker(NamedTuple):
    """One producer's transaction is over: committed or aborted, by the coordinator of that epoch.

    With transaction version 2 the epoch is already the one of the next transaction, so a partition takes a marker only
    if its epoch is above the one it knows; before, the same epoch is enough.
    """

    producer_id: int
    producer_epoch: int
    commit: bool
    coordinator_epoch: int
    transaction_version: int


class MarkerWriter(Protocol):
    """Writes markers to partitions, wherever their leaders are."""

    def write(
        self,
        marker: TxnMarker,
        partitions: list[tuple[str, int]],
        done: Callable[[dict[tuple[str, int], ErrorCode]], None],
    ) -> None:
        """Write the marker to each (topic, partition). Calls done once, with a code per partition, when all of them are
        committed or failed; now or later. Nothing is tried again: that is the coordinator's part."""
        ...

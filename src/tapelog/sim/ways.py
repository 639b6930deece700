"""Ways of life: what differs from seed to seed apart from chance, so that what needs a setting happens, too."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

from tapelog.coordinators.transactions import ending, initialise, states
from tapelog.node import housekeeping
from tapelog.sim.groups import SETTINGS as GROUPS
from tapelog.sim.tables import SETTINGS as CLEANER

FEW_EPOCHS: Final = 4
ALL_EPOCHS: Final = states.EPOCH_MAX
OFTEN_MS: Final = 600
CHECKPOINT_MS: Final = housekeeping.CHECKPOINT_MS
SNAPSHOTS: Final = {"metadata.log.max.record.bytes.between.snapshots": "800"}
NEAREST: Final = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}


class Way:
    """What is special about a seed's life."""

    def __init__(self, seed: int) -> None:
        self.few_epochs = seed % 4 == 1
        """Producers use up their epochs after a few transactions, not after 32,767."""
        self.snapshots = seed % 3 == 1
        """The metadata log is cut off behind a snapshot every few changes, so that whoever was away must fetch one."""
        self.nearest = seed % 7 > 2
        """Consumers read from the replica in their rack."""

        self.groups = seed % 5 == 3
        """Consumer groups have members."""
        self.compacts = seed % 3 == 2
        """Logs are compacted: a table, the payments, and what the coordinators write."""
        self.directories = 2 if seed % 5 == 1 else 1
        """How many log directories a node has."""
        self.deletes = seed % 4 == 2
        """There is a topic whose oldest records are deleted."""

    @property
    def settings(self) -> dict[str, str]:
        """What all nodes are told."""
        told = (
            (self.snapshots, SNAPSHOTS),
            (self.nearest, NEAREST),
            (self.groups, GROUPS),
            (self.compacts, CLEANER),
            (not self.compacts, {"log.cleaner.enable": "false"}),
        )
        return {name: value for has, settings in told if has for name, value in settings.items()}

    @contextlib.contextmanager
    def lived(self) -> Iterator[None]:
        """While it lasts, numbers that are no settings are other ones."""
        modules: tuple[Any, ...] = (states, ending, initialise)
        house: Any = housekeeping
        try:
            for module in modules:
                module.EPOCH_MAX = FEW_EPOCHS if self.few_epochs else ALL_EPOCHS
            house.CHECKPOINT_MS = OFTEN_MS if self.snapshots or self.compacts else CHECKPOINT_MS
            yield
        finally:
            for module in modules:
                module.EPOCH_MAX = ALL_EPOCHS
            house.CHECKPOINT_MS = CHECKPOINT_MS

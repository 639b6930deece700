"""Verification guards: a producer's first batch of a transaction, held back until the coordinator knows of it.

Owned by a Partition, used by Produce. Were such a batch appended unasked, it could come after the transaction's marker
and hold the last stable offset for ever. Batches of the same producer that arrive meanwhile wait behind it, in order;
other producers are not held up. A marker breaks the guard: whatever waits there belongs to a transaction that is over.
What has a newer epoch than that transaction waits on: it belongs to the next one.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

from tapelog.replication.hub import Hub
from tapelog.wire.errors import ErrorCode

HELD_BATCHES_MAX: Final = 64
"""Of one producer in one partition; clients have five under way."""
HELD_BYTES_MAX: Final = 128 * 1024 * 1024
"""In all partitions of a node."""
EPOCH_MAX: Final = 32767
_NONE: Final = int(ErrorCode.NONE)


@mypyc_attr(allow_interpreted_subclasses=True)
class HeldBatch:
    """A batch that waits behind a guard; its owner subclasses this. One of the two calls comes, once."""

    def __init__(self, size: int) -> None:
        self.size = size

    def admitted(self) -> None:
        """Append it now."""
        raise NotImplementedError

    def refused(self, code: int) -> None:
        """It must not be appended."""
        raise NotImplementedError


class Guard:
    """What waits for one answer of the coordinator."""

    def __init__(self, producer_id: int, epoch: int) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.held: list[HeldBatch] = []
        self.broken = False


class Guards:
    """The guards of one partition, by producer and epoch."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self._by_producer: dict[int, list[Guard]] = {}

    def __len__(self) -> int:
        return len(self._by_producer)

    def find(self, producer_id: int, epoch: int) -> Guard | None:
        """The guard behind which a batch of this producer must wait, if there is one."""
        for guard in self._by_producer.get(producer_id, ()):
            if guard.epoch == epoch:
                return guard
        return None

    def begin(self, producer_id: int, epoch: int) -> Guard:
        """A new guard: its owner asks the coordinator, then calls `answer`."""
        guard = Guard(producer_id, epoch)
        self._by_producer.setdefault(producer_id, []).append(guard)
        return guard

    def hold(self, guard: Guard, batch: HeldBatch) -> bool:
        """Let the batch wait for the guard's answer; False, and it waits for nothing, if too much waits already."""
        hub = self.hub
        if len(guard.held) >= HELD_BATCHES_MAX or hub.held_bytes + batch.size > HELD_BYTES_MAX:
            return False
        hub.held_bytes += batch.size
        guard.held.append(batch)
        return True

    def answer(self, guard: Guard, code: int) -> None:
        """The coordinator's answer (0: go ahead). Those who wait are told in order; nobody, if the guard is broken."""
        if not guard.broken:
            others = self._by_producer[guard.producer_id]
            others.remove(guard)
            if not others:
                del self._by_producer[guard.producer_id]
            self._release(guard, code)

    def break_up_to(self, producer_id: int, epoch: int, code: int) -> None:
        """A marker of this producer was appended that ends a transaction of this epoch: whoever waits with it or with
        an older one is refused, and answers still to come are void."""
        guards = self._by_producer.pop(producer_id, None)
        if guards is None:
            return
        newer = [guard for guard in guards if guard.epoch > epoch]
        if newer:
            self._by_producer[producer_id] = newer
        for guard in guards:
            if guard.epoch <= epoch:
                self._release(guard, code)

    def close(self, code: int) -> None:
        """The partition is led here no more."""
        for producer_id in list(self._by_producer):
            self.break_up_to(producer_id, EPOCH_MAX, code)

    def _release(self, guard: Guard, code: int) -> None:
        guard.broken = True
        held, guard.held = guard.held, []
        for batch in held:
            self.hub.held_bytes -= batch.size
            if code == _NONE:
                batch.admitted()
            else:
                batch.refused(code)

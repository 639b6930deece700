"""What compaction should leave of a log, told batch by batch over plain values: the model the log is compared with.

Written from the rules, not from the code: transactions are known by number here, keys by a dict, and nothing is bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

OPEN, COMMITTED, ABORTED = "open", "committed", "aborted"


@dataclass(frozen=True)
class Entry:
    """One record."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True)
class Stored:
    """One batch."""

    base: int
    last: int
    producer: int
    epoch: int
    sequence: int
    codec: int
    newest: int
    entries: tuple[Entry, ...]
    transaction: int = -1
    marker: bool = False
    horizon: int = -1

    def seen(self) -> tuple[object, ...]:
        """Everything that can be read back from the bytes."""
        bits = (self.transaction >= 0, self.marker, self.horizon)
        who = (self.producer, self.epoch, self.sequence)
        return (self.base, self.last, *who, self.codec, self.newest, *bits, self.entries)


@dataclass
class Pass:
    """One cleaning: its inputs, apart from the log."""

    first_dirty: int
    first_uncleanable: int
    capacity: int
    now_ms: int
    delete_retention_ms: int
    producers: dict[int, tuple[int, int]]
    outcomes: dict[int, str]


def last_offsets(log: list[Stored], one: Pass) -> tuple[dict[bytes, int], int]:
    """The keys that a pass knows, and where its knowledge ends."""
    keys: dict[bytes, int] = {}
    for batch in log:
        if batch.marker or batch.base >= one.first_uncleanable or one.outcomes.get(batch.transaction) == ABORTED:
            continue
        for entry in batch.entries:
            if entry.offset >= one.first_dirty and entry.key is not None:
                if len(keys) == one.capacity:
                    return keys, entry.offset
                keys[entry.key] = entry.offset
    return keys, one.first_uncleanable


def cleaned(log: list[Stored], one: Pass, ends: list[int]) -> list[Stored]:
    """The log after a pass. ends: the last offsets of the new segments, whose last batches stay at least empty;
    batches behind the last of them are not touched."""
    keys, covered = last_offsets(log, one)
    alive = {batch.transaction for batch in log if not batch.marker}
    closing = {max((b.base for b in log if b.last <= end), default=-1) for end in ends}
    result = []
    for batch in log:
        if batch.base > ends[-1]:
            result.append(batch)
            continue
        after = _one(batch, one, keys, covered, alive)
        if after.entries or batch.base in closing or _is_last(batch, one.producers):
            result.append(after)
    return result


def _one(batch: Stored, one: Pass, keys: dict[bytes, int], covered: int, alive: set[int]) -> Stored:
    due = 0 <= batch.horizon <= one.now_ms
    spent = batch.marker and batch.transaction not in alive
    if batch.marker:
        stay = () if spent and due else batch.entries
    elif one.outcomes.get(batch.transaction) == ABORTED:
        stay = ()
    else:
        stay = tuple(
            entry
            for entry in batch.entries
            if entry.offset >= covered
            or (entry.key is not None and keys.get(entry.key, -1) <= entry.offset and not (due and entry.value is None))
        )
    if not stay:
        if not batch.entries:
            return batch
        return replace(batch, entries=(), codec=0, horizon=-1)
    horizon = batch.horizon
    deletes = spent or (not batch.marker and any(entry.value is None for entry in stay))
    if horizon < 0 and batch.last < covered and deletes:
        horizon = one.now_ms + one.delete_retention_ms
    newest = batch.newest if stay == batch.entries else max(entry.timestamp for entry in stay)
    return replace(batch, entries=stay, horizon=horizon, newest=newest)


def _is_last(batch: Stored, producers: dict[int, tuple[int, int]]) -> bool:
    known = producers.get(batch.producer) if batch.producer >= 0 else None
    if known is None:
        return False
    offset, epoch = known
    return batch.last == offset if offset >= 0 else batch.marker and batch.epoch == epoch


def table(history: list[Stored], outcomes: dict[int, str], start: int, stable: int) -> dict[bytes, bytes]:
    """What a read_committed consumer makes of all that was ever written in [start, stable)."""
    found: dict[bytes, bytes] = {}
    for batch in history:
        if batch.marker or outcomes.get(batch.transaction, COMMITTED) == ABORTED:
            continue
        for entry in batch.entries:
            if not start <= entry.offset < stable or entry.key is None:
                continue
            if entry.value is None:
                found.pop(entry.key, None)
            else:
                found[entry.key] = entry.value
    return found

"""A compacted topic in a simulated life: a table that is written key by key, and a consumer that rebuilds it.

One idempotent producer writes the only partition, so the n-th record has offset n for ever. Whatever is compacted and
whoever falls: what is found lies at its offset; of every key the last record is there, unless it is a tombstone that
was due; and a consumer that reads on in time has seen every tombstone, so that its table is the one that was written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.sim.entropy import SimEntropy
from tapelog.sim.producer import Ledger, SimProducer
from tapelog.wire.record_batch import Record

TOPIC: Final = "tables"
NUMBER: Final = 8
KEYS: Final = 6
DELETE_RETENTION_MS: Final = 4_000
SETTINGS: Final = {
    "log.cleaner.backoff.ms": "150",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.cleaner.delete.retention.ms": str(DELETE_RETENTION_MS),
    "log.cleaner.dedupe.buffer.size": "800",
    "log.cleaner.threads": "2",
    "log.index.interval.bytes": "100",
    "log.index.size.max.bytes": "60",
}
"""Small segments for everybody, the coordinators' topics included, and a cleaner that does not wait."""
CONFIGS: Final = {"cleanup.policy": "compact", "index.interval.bytes": "100", "segment.index.bytes": "60"}
TOMBSTONE: Final = b"-"


class TableProducer(SimProducer):
    """Its values are `n:key:` and padding, or `n:key:-` for a tombstone."""

    def record(self, value: bytes) -> Record:
        """As it goes into the log."""
        _, key, rest = value.split(b":")
        return Record(0, 0, key, None if rest == TOMBSTONE else value)


class Tables:
    """The table, as it was written."""

    def __init__(self, entropy: SimEntropy, now_ms: Callable[[], int]) -> None:
        self.ledger = Ledger()
        self.producer = TableProducer(NUMBER, TOPIC, 0, self.ledger, -1)
        self.clocks_jumped = False
        """A date from which tombstones may go means little then."""
        self.removed = 0
        """How many records were found to be gone."""
        self._entropy = entropy
        self._now_ms = now_ms
        self._written_ms: list[int] = []
        self._reached: list[tuple[int, int]] = []

    def write(self) -> str:
        """A few more records."""
        sent, chance = self.ledger.sent[NUMBER], self._entropy
        values = []
        for number in range(len(sent), len(sent) + 1 + chance.below(5)):
            rest = TOMBSTONE if chance.chance(25) else b"x" * chance.below(150)
            values.append(b"%d:k%d:%b" % (number, chance.below(KEYS), rest))
        self.producer.add(values)
        self._written_ms += [self._now_ms()] * len(values)
        return f"table {len(values)}"

    def consumed(self, position: int) -> None:
        """The consumer has read up to there by now."""
        if not self._reached or self._reached[-1][0] < position:
            self._reached.append((position, self._now_ms()))

    def check(self, found: list[tuple[int, bytes]], end: int) -> None:
        """What an auditor reads, up to there."""
        sent, safe = self.ledger.sent[NUMBER], self.ledger.acknowledged.get(NUMBER, 0)
        assert safe <= end <= len(sent), f"{TOPIC} ends at {end}, {safe} of {len(sent)} were acknowledged"
        offsets = [offset for offset, _ in found]
        assert offsets == sorted(offsets), f"{TOPIC}: offsets are out of order"
        for offset, value in found:
            assert _seen(sent[offset]) == value, f"{TOPIC}: {value[:9]!r} is at {offset}, not {sent[offset][:9]!r}"
        there = dict(found)
        for offset in _last(sent[:end]).values():
            if not sent[offset].endswith(b":" + TOMBSTONE):
                assert offset in there, f"{TOPIC}: {sent[offset][:9]!r}, the last of its key, is gone from {offset}"
            elif offset not in there and not self.clocks_jumped:
                old_ms = self._now_ms() - self._written_ms[offset]
                assert old_ms >= DELETE_RETENTION_MS, f"{TOPIC}: the tombstone at {offset} is gone after {old_ms} ms"
        self.removed = max(self.removed, end - len(found))

    def check_consumer(self, seen: list[tuple[int, bytes]], position: int) -> None:
        """The table of a consumer that has read up to there. What was written anew beyond may have gone meanwhile."""
        self.consumed(position)
        sent = self.ledger.sent[NUMBER]
        last = {key: offset for key, offset in _last(sent).items() if offset < position}
        table: dict[bytes, int] = {}
        for offset, value in seen:
            assert _seen(sent[offset]) == value, f"{TOPIC}: a consumer saw {value[:9]!r} at {offset}"
            table[sent[offset].split(b":")[1]] = offset
        for key, offset in last.items():
            if table.get(key) != offset:
                assert sent[offset].endswith(b":" + TOMBSTONE), f"{TOPIC}: a consumer never saw {sent[offset][:9]!r}"
                late_ms = self._reached_ms(offset) - self._written_ms[offset]
                assert self.clocks_jumped or late_ms >= DELETE_RETENTION_MS, (
                    f"{TOPIC}: a consumer read over the tombstone at {offset} {late_ms} ms after it was written"
                )

    def _reached_ms(self, offset: int) -> int:
        """When the consumer came by an offset, at the latest."""
        return next(at_ms for position, at_ms in self._reached if position > offset)


def _last(values: list[bytes]) -> dict[bytes, int]:
    """The last offset of each key."""
    return {value.split(b":")[1]: offset for offset, value in enumerate(values)}


def _seen(value: bytes) -> bytes:
    """A record's value as readers see it."""
    return b"" if value.endswith(b":" + TOMBSTONE) else value

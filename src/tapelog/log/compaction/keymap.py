"""Key → last offset, for as many keys as a fixed piece of memory holds.

Built by the first pass of a cleaning, asked by the second. One flat table of slots of 16 bytes: 86 bits of the key's
hash and 40 of its offset, counted from where the pass begins. Keys themselves are not kept: two different ones count as
the same with a chance of 2^-86 — for a full map of 128 MiB and a billion records, once in ten billion cleanings. The
number of slots is prime, so that any step through them meets all.
"""

from __future__ import annotations

from hashlib import blake2b
from struct import Struct
from typing import Final

SLOT_BYTES: Final = 16
LOAD_FACTOR: Final = 0.9
OFFSET_BITS: Final = 40
SPAN_MAX: Final = (1 << OFFSET_BITS) - 1
"""Offsets that one map can tell apart."""
TAG_SHIFT: Final = 42
"""Of the hash's second half, what a slot has room for: with the offset below it 62 bits, which is a small number."""
_HALVES: Final = Struct("<QQ")
_HASH: Final = blake2b(digest_size=16)  # copied for each key: half the price of a new one


class KeyMap:
    """See the module. Memory is taken as slots are used: what is never touched costs nothing."""

    def __init__(self, memory_bytes: int, load_factor: float = LOAD_FACTOR) -> None:
        self.slots = largest_prime(memory_bytes // SLOT_BYTES)
        self.capacity = min(int(self.slots * load_factor), self.slots - 1)
        """So many keys and no more."""
        if self.capacity < 1:
            raise ValueError(
                f"log.cleaner.dedupe.buffer.size of {memory_bytes} bytes with log.cleaner.io.buffer.load.factor"
                f" {load_factor} has no room for a single key"
            )
        self.count = 0
        self._before = -1
        # two numbers per slot: the hash's first half; and above OFFSET_BITS some of its second half, below them the
        # offset's distance from _before, which is never 0 where the slot is taken
        self._table = memoryview(bytearray(self.slots * SLOT_BYTES)).cast("Q")

    def clear(self, first_offset: int = 0) -> None:
        """Forget everything; offsets to come are at or after this one."""
        if self.count:
            self._table = memoryview(bytearray(SLOT_BYTES)).cast("Q")  # the old one goes first: never two at once
            self._table = memoryview(bytearray(self.slots * SLOT_BYTES)).cast("Q")
        self.count = 0
        self._before = first_offset - 1

    def put(self, key: bytes, offset: int) -> bool:
        """Note a key's offset in place of an earlier one. False, and nothing noted, if the map is full."""
        distance = offset - self._before
        if self.count >= self.capacity or distance > SPAN_MAX:
            return False
        table, slots = self._table, self.slots
        hashing = _HASH.copy()
        hashing.update(key)
        one, two = _HALVES.unpack(hashing.digest())
        tag: int = two >> TAG_SHIFT
        slot = one % slots
        at = slot * 2
        step = 0
        while True:
            word: int = table[at + 1]
            if not word:
                self.count += 1
                table[at] = one
                break
            if word >> OFFSET_BITS == tag and table[at] == one:
                break
            if not step:
                step = 1 + two % (slots - 1)
            slot += step
            if slot >= slots:
                slot -= slots
            at = slot * 2
        table[at + 1] = tag << OFFSET_BITS | distance
        return True

    def get(self, key: bytes) -> int:
        """The offset noted last for a key; -1 if there is none."""
        table, slots = self._table, self.slots
        hashing = _HASH.copy()
        hashing.update(key)
        one, two = _HALVES.unpack(hashing.digest())
        tag: int = two >> TAG_SHIFT
        slot = one % slots
        at = slot * 2
        step = 0
        while True:
            word: int = table[at + 1]
            if not word:
                return -1
            if word >> OFFSET_BITS == tag and table[at] == one:
                return self._before + (word & SPAN_MAX)
            if not step:
                step = 1 + two % (slots - 1)
            slot += step
            if slot >= slots:
                slot -= slots
            at = slot * 2


def largest_prime(limit: int) -> int:
    """The largest prime at or below limit; limit itself below 2."""
    number = limit
    while number > 3 and not _is_prime(number):
        number -= 1
    return number


def _is_prime(number: int) -> bool:
    if number % 2 == 0:
        return number == 2
    divisor = 3
    while divisor * divisor <= number:
        if number % divisor == 0:
            return False
        divisor += 2
    return True

"""Key → last offset, for as many keys as a fixed piece of memory holds.

Built by the first pass of a cleaning, asked by the second. One flat table of slots, each 16 bytes of the key's hash and
8 of the offset: keys themselves are not kept, and two different ones count as the same with a chance of 2^-128, as in
Kafka. The number of slots is prime, so that any step through them meets all.
"""

from __future__ import annotations

from hashlib import blake2b
from struct import Struct
from typing import Final

HASH_BYTES: Final = 16
SLOT_BYTES: Final = 24
LOAD_FACTOR: Final = 0.9
_HALVES: Final = Struct("<QQ")
_HASH: Final = blake2b(digest_size=HASH_BYTES)  # copied for each key: half the price of a new one


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
        # three numbers per slot: the hash's halves, both 0 where the slot is free, and the offset
        self._table = memoryview(bytearray(self.slots * SLOT_BYTES)).cast("Q")

    def put(self, key: bytes, offset: int) -> bool:
        """Note a key's offset in place of an earlier one. False, and nothing noted, if the map is full."""
        if self.count >= self.capacity:
            return False
        table, slots = self._table, self.slots
        hashing = _HASH.copy()
        hashing.update(key)
        one, two = _HALVES.unpack(hashing.digest())
        slot = one % slots
        at = slot * 3
        step = 0
        while table[at] != one or table[at + 1] != two:
            if not table[at] and not table[at + 1]:
                self.count += 1
                table[at] = one
                table[at + 1] = two
                break
            if not step:
                step = 1 + two % (slots - 1)
            slot += step
            if slot >= slots:
                slot -= slots
            at = slot * 3
        table[at + 2] = offset
        return True

    def get(self, key: bytes) -> int:
        """The offset noted last for a key; -1 if there is none."""
        table, slots = self._table, self.slots
        hashing = _HASH.copy()
        hashing.update(key)
        one, two = _HALVES.unpack(hashing.digest())
        slot = one % slots
        at = slot * 3
        step = 0
        while table[at] != one or table[at + 1] != two:
            if not table[at] and not table[at + 1]:
                return -1
            if not step:
                step = 1 + two % (slots - 1)
            slot += step
            if slot >= slots:
                slot -= slots
            at = slot * 3
        offset: int = table[at + 2]
        return offset

    def clear(self) -> None:
        """Forget everything."""
        self.count = 0
        self._table = memoryview(bytearray(self.slots * SLOT_BYTES)).cast("Q")


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

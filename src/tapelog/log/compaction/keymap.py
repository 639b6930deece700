"""Key → last offset, for as many keys as a fixed piece of memory holds.

Built by the first pass of a cleaning, asked by the second, for every record: hot. One flat table of slots of 16 bytes,
in buckets of eight: 86 bits of the key's hash and 40 of its offset, counted from where the pass begins. A key lies in
the first slot that was free in its bucket, or in another bucket, by steps that its hash says, if that was full: a look
at a map nine tenths full meets 1.6 buckets where the key is absent, and most of the time a bucket is one or two lines
of the processor's cache. The number of buckets is prime, so that any step through them meets all.

Keys themselves are not kept: two different ones count as the same with a chance of 2^-86 — for a full map of 128 MiB
and a billion records, once in ten billion cleanings. The hash is Python's own for bytes, SipHash with a key that each
process draws, of the key and of the key with something behind it; BLAKE2b where Python was built with another one.
"""

from __future__ import annotations

import sys
from hashlib import blake2b
from struct import Struct
from typing import Final

from librt.vecs import extend, vec
from mypy_extensions import i64

SLOT_BYTES: Final = 16
LOAD_FACTOR: Final = 0.9
OFFSET_BITS: Final = 40
SPAN_MAX: Final = (1 << OFFSET_BITS) - 1
"""Offsets that one map can tell apart."""
TAG_MASK: Final = (1 << 22) - 1
"""Of the hash's second half, what a slot has room for: with the offset below it 62 bits."""
BUCKET_SLOTS: Final = 8
BUCKETS_LEAST: Final = 64
"""Smaller tables have buckets of one slot."""
POSITIVE: Final = (1 << 63) - 1
_AGAIN: Final = b"\x00again"
_HALVES: Final = Struct("<qq")
_ZEROS: Final = 1 << 13
SIPS: Final = sys.hash_info.width == 64 and sys.hash_info.algorithm.startswith("siphash")


class KeyMap:
    """See the module. Two numbers per slot: the hash's first half; and above OFFSET_BITS some of its second half, below
    them the offset's distance from _before, which is never 0 where the slot is taken."""

    def __init__(self, memory_bytes: int, load_factor: float = LOAD_FACTOR) -> None:
        buckets, width = _shape(memory_bytes)
        self.slots = buckets * width
        self.capacity = _capacity(self.slots, load_factor)
        """So many keys and no more."""
        if self.capacity < 1:
            raise ValueError(
                f"log.cleaner.dedupe.buffer.size of {memory_bytes} bytes with log.cleaner.io.buffer.load.factor"
                f" {load_factor} has no room for a single key"
            )
        self.count = 0
        self._before = -1
        self._buckets: i64 = buckets
        self._words: i64 = width * 2
        """Of a bucket."""
        self._table: vec[i64] = _zeroed(self.slots * 2)

    def clear(self, first_offset: int = 0) -> None:
        """Forget everything; offsets to come are at or after this one."""
        if self.count:
            self._table = _zeroed(2)  # the old one goes first: never two at once
            self._table = _zeroed(self.slots * 2)
        self.count = 0
        self._before = first_offset - 1

    def put(self, key: bytes, offset: int) -> bool:
        """Note a key's offset in place of an earlier one. False, and nothing noted, if the map is full."""
        distance = offset - self._before
        if self.count >= self.capacity or distance > SPAN_MAX:
            return False
        one: i64
        two: i64
        if SIPS:
            one = hash(key)
            two = hash(key + _AGAIN)
        else:
            one, two = _digest(key)
        at = self._find(one, two)
        table = self._table
        if at < 0:
            at = -1 - at
            self.count += 1
            table[at] = one
        word: i64 = distance
        table[at + 1] = (two & TAG_MASK) << OFFSET_BITS | word
        return True

    def get(self, key: bytes) -> int:
        """The offset noted last for a key; -1 if there is none."""
        one: i64
        two: i64
        if SIPS:
            one = hash(key)
            two = hash(key + _AGAIN)
        else:
            one, two = _digest(key)
        at = self._find(one, two)
        if at < 0:
            return -1
        distance: i64 = self._table[at + 1] & SPAN_MAX
        return self._before + int(distance)

    def _find(self, one: i64, two: i64) -> i64:
        """Where a key is in the table; -1 minus where it belongs, if it is not there."""
        table, buckets, words = self._table, self._buckets, self._words
        tag: i64 = two & TAG_MASK
        bucket: i64 = (one & POSITIVE) % buckets
        step: i64 = 0
        while True:
            at: i64 = bucket * words
            end: i64 = at + words
            while at < end:
                word: i64 = table[at + 1]
                if word == 0:
                    return -1 - at
                if table[at] == one and word >> OFFSET_BITS == tag:
                    return at
                at += 2
            if step == 0:
                step = 1 + (two & POSITIVE) % (buckets - 1) if buckets > 1 else 1
            bucket += step
            if bucket >= buckets:
                bucket -= buckets


def _zeroed(count: int) -> vec[i64]:
    """So many zeros, without ever taking that memory twice."""
    some = vec[i64]([0])
    while len(some) < _ZEROS:
        some = extend(some, some)
    table = vec[i64](capacity=count)
    missing: i64 = count
    while missing > 0:
        table = extend(table, some if missing >= _ZEROS else some[:missing])
        missing = count - len(table)
    return table


def _digest(key: bytes) -> tuple[int, int]:
    one, two = _HALVES.unpack(blake2b(key, digest_size=16).digest())
    return int(one), int(two)


def _shape(memory_bytes: int) -> tuple[int, int]:
    """How many buckets that memory holds, and how many slots each of them has."""
    slots = memory_bytes // SLOT_BYTES
    width = BUCKET_SLOTS if slots >= BUCKETS_LEAST * BUCKET_SLOTS else 1
    return largest_prime(slots // width), width


def _capacity(slots: int, load_factor: float) -> int:
    return min(int(slots * load_factor), slots - 1)


def memory_for(keys: int, load_factor: float = LOAD_FACTOR) -> int:
    """Bytes of a map that holds so many keys, and hardly more. A load factor that makes no sense counts as a hundredth:
    what is too small for a single key is for KeyMap to refuse."""
    load, keys = max(load_factor, 0.01), max(keys, 1)
    memory = (int(keys / load) + 2) * SLOT_BYTES
    while True:
        buckets, width = _shape(memory)
        if _capacity(buckets * width, load) >= keys:
            return memory
        memory += width * SLOT_BYTES


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

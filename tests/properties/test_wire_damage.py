"""Bytes cut short, changed or random give a WireError or a message; never another error, never much memory."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tapelog.wire.primitives import Reader, WireError
from tests.properties.wire_values import DEFINITIONS, MESSAGES, RECORDS, message_trees, our_class, ours

ALL = [*MESSAGES, *RECORDS]
CHANGES = 40
RANDOM_FRAMES = 30
HUGE = (b"\xff\xff\xff\xff\x0f", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07", b"\x7f\xff")
BYTES_PER_BYTE = 400
"""Objects cost more than the bytes they come from: a struct of two bytes becomes an object of a few hundred."""
BYTES_FIXED = 20_000

quick = settings(
    max_examples=3, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


def decodes(name: str, version: int, data: bytes) -> bool:
    """Does it decode? Anything but a message or a WireError fails the test."""
    try:
        our_class(name).decode(Reader(data), version)
    except WireError:
        return False
    return True


@pytest.mark.parametrize("name", ALL)
def test_a_message_cut_anywhere_is_refused(name: str) -> None:
    @quick
    @given(message_trees(name))
    def check(tree: tuple[Any, ...]) -> None:
        for version in DEFINITIONS[name].versions:
            data = ours(name, tree, version).tobytes(version)
            for end in range(len(data)):
                assert not decodes(name, version, data[:end])

    check()


@pytest.mark.parametrize("name", ALL)
def test_changed_and_random_bytes_give_nothing_worse_than_a_wire_error(name: str) -> None:
    @settings(quick, max_examples=2)
    @given(message_trees(name), st.integers(0, 1_000_000))
    def check(tree: tuple[Any, ...], seed: int) -> None:
        chance = random.Random(seed)
        versions = DEFINITIONS[name].versions
        for version in versions:
            data = ours(name, tree, version).tobytes(version)
            for _ in range(CHANGES if data else 0):
                changed = bytearray(data)
                at = chance.randrange(len(changed))
                if chance.random() < 0.5:
                    changed[at] = chance.randrange(256)
                else:
                    changed[at : at + 4] = chance.choice(HUGE)
                decodes(name, version, bytes(changed))
        for _ in range(RANDOM_FRAMES):
            frame = chance.randbytes(chance.randrange(80))
            decodes(name, chance.randint(versions.low, versions.high), frame)

    check()


def test_no_frame_makes_the_decoder_allocate_out_of_proportion() -> None:
    frames = [bytes(3000), b"\xff" * 3000, b"\x01" * 3000, b"\x02" * 3000, b"\x80" * 3000, *(h * 700 for h in HUGE)]
    chance = random.Random(1)
    frames += [chance.randbytes(3000) for _ in range(3)]
    for name in ALL:
        our_class(name)
    tracemalloc.start()
    try:
        for name in ALL:
            for version in {DEFINITIONS[name].versions.low, DEFINITIONS[name].versions.high}:
                for frame in frames:
                    tracemalloc.reset_peak()
                    before, _ = tracemalloc.get_traced_memory()
                    decodes(name, version, frame)
                    _, peak = tracemalloc.get_traced_memory()
                    assert peak - before < BYTES_FIXED + BYTES_PER_BYTE * len(frame), (name, version, frame[:10])
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", MESSAGES)
def test_versions_that_do_not_exist_are_refused(name: str) -> None:
    versions = DEFINITIONS[name].versions
    for version in (versions.low - 1, versions.high + 1):
        with pytest.raises(WireError, match="no version"):
            our_class(name).decode(Reader(bytes(100)), version)
        with pytest.raises(WireError, match="no version"):
            our_class(name)().tobytes(version)

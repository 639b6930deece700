"""Key → last offset in a fixed piece of memory."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.log.compaction.keymap import SLOT_BYTES, SPAN_MAX, KeyMap, _capacity, _shape, largest_prime, memory_for


def test_the_last_offset_of_a_key_counts() -> None:
    keys = KeyMap(1000)
    assert keys.put(b"a", 1)
    assert keys.put(b"b", 2)
    assert keys.put(b"a", 3)
    assert (keys.get(b"a"), keys.get(b"b"), keys.get(b"c"), keys.count) == (3, 2, -1, 2)


def test_a_full_map_takes_nothing_more_and_forgets_nothing() -> None:
    keys = KeyMap(101 * SLOT_BYTES)
    assert keys.capacity == 90
    assert all(keys.put(b"%d" % number, number) for number in range(90))
    assert not keys.put(b"one more", 90)
    assert keys.get(b"one more") == -1
    assert [keys.get(b"%d" % number) for number in range(90)] == list(range(90))


def test_a_cleared_map_is_empty() -> None:
    keys = KeyMap(1000)
    keys.put(b"a", 1)
    keys.clear()
    assert (keys.get(b"a"), keys.count) == (-1, 0)


def test_large_offsets_and_empty_keys_are_kept() -> None:
    keys = KeyMap(1000)
    keys.clear(2**62)
    assert keys.put(b"", 2**62)
    assert keys.put(b"a", 2**62 + SPAN_MAX - 1)
    assert (keys.get(b""), keys.get(b"a")) == (2**62, 2**62 + SPAN_MAX - 1)


def test_an_offset_too_far_from_the_first_is_for_the_next_pass() -> None:
    keys = KeyMap(1000)
    keys.clear(100)
    assert not keys.put(b"a", 100 + SPAN_MAX)
    assert (keys.get(b"a"), keys.count) == (-1, 0)


def test_128_mib_hold_seven_million_keys() -> None:
    assert KeyMap(128 << 20).capacity > 7_500_000


@pytest.mark.parametrize(("memory", "load"), [(0, 0.9), (16, 0.9), (1000, 0.01)])
def test_memory_for_not_even_one_key_is_refused(memory: int, load: float) -> None:
    with pytest.raises(ValueError, match=r"log\.cleaner\.dedupe\.buffer\.size"):
        KeyMap(memory, load)


def test_any_load_factor_leaves_a_slot_free_so_that_a_search_ends() -> None:
    keys = KeyMap(5 * SLOT_BYTES, 1.0)
    for number in range(keys.capacity):
        assert keys.put(b"%d" % number, number)
    assert keys.capacity == 4
    assert keys.get(b"absent") == -1


@settings(deadline=None)
@given(st.lists(st.tuples(st.binary(max_size=3), st.integers(0, 2**39)), max_size=60))
def test_a_map_is_a_dict_with_a_bound(puts: list[tuple[bytes, int]]) -> None:
    keys, model = KeyMap(29 * SLOT_BYTES), {}
    for key, offset in puts:
        if keys.put(key, offset):
            model[key] = offset
        else:
            assert len(model) == keys.capacity
    assert {key: keys.get(key) for key, _ in puts} == {key: model.get(key, -1) for key, _ in puts}


@pytest.mark.parametrize("slots", [511, 512, 1000, 5000])
def test_a_map_of_buckets_is_a_dict_until_its_last_slot_but_one(slots: int) -> None:
    keys = KeyMap(slots * SLOT_BYTES, 1.0)
    assert slots - 100 <= keys.capacity < keys.slots <= slots
    for number in range(keys.capacity):
        assert keys.get(b"%d" % number) == -1
        assert keys.put(b"%d" % number, number)
    assert keys.count == keys.capacity
    assert [keys.get(b"%d" % number) for number in range(keys.capacity)] == list(range(keys.capacity))
    assert keys.get(b"absent") == -1


@given(st.integers(0, 60_000_000), st.sampled_from([0.0, 0.1, 0.5, 0.75, 0.9, 1.0]))
@settings(deadline=None)
def test_a_map_made_for_so_many_keys_holds_them_all_and_hardly_more(count: int, load_factor: float) -> None:
    buckets, width = _shape(memory_for(count, load_factor))
    load = max(load_factor, 0.01)
    assert count <= _capacity(buckets * width, load) <= count + max(2_000, count // 100) * load + 1


@pytest.mark.parametrize("count", [1, 60, 440, 470, 5_000])
def test_the_last_of_as_many_keys_as_a_map_was_made_for_still_finds_room(count: int) -> None:
    keys = KeyMap(memory_for(count))
    assert all(keys.put(b"%d" % number, number) for number in range(count))


def test_the_number_of_buckets_is_prime() -> None:
    assert [largest_prime(number) for number in (1, 2, 3, 4, 10, 100, 41667)] == [1, 2, 3, 3, 7, 97, 41659]


def test_a_map_never_takes_its_memory_twice() -> None:
    size = 1 << 20
    tracemalloc.start()
    try:
        keys = KeyMap(size)
        keys.clear(0)
        assert keys.put(b"a", 1)
        keys.clear(0)
        assert keys.get(b"a") == -1
        assert size // 2 < tracemalloc.get_traced_memory()[1] < size * 3 // 2
    finally:
        tracemalloc.stop()

"""The plan behind `tape group reset`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapelog.cli.reset import Move, Place, Target, parse_offsets, parse_selection, plan_moves, render_offsets
from tapelog.toolkit.lag.values import Committed

PLACE = ("t", 0)


def moved(target: Target, *, current: int | None = 50, bounds: tuple[int, int] = (10, 100), at_time: int = -1) -> Move:
    (move,) = plan_moves(
        [PLACE],
        target,
        current={} if current is None else {PLACE: current},
        bounds={PLACE: bounds},
        at_time={PLACE: at_time},
    )
    return move


def test_to_the_ends() -> None:
    assert moved(Target(earliest=True)) == Move("t", 0, 50, 10)
    assert moved(Target(latest=True)) == Move("t", 0, 50, 100)


def test_to_an_offset_or_as_far_as_it_goes() -> None:
    assert moved(Target(offset=60)) == Move("t", 0, 50, 60)
    assert moved(Target(offset=5)) == Move("t", 0, 50, 10, clamped=True)
    assert moved(Target(offset=500)) == Move("t", 0, 50, 100, clamped=True)


def test_to_a_time_or_to_the_end_if_nothing_is_that_young() -> None:
    assert moved(Target(time_ms=1), at_time=70).new == 70
    assert moved(Target(time_ms=1), at_time=-1).new == 100


def test_a_shift_counts_from_the_committed_offset_or_from_the_start() -> None:
    assert moved(Target(shift=-7)).new == 43
    assert moved(Target(shift=7), current=None).new == 17


def test_targets_are_counted_so_that_exactly_one_can_be_asked_for() -> None:
    assert Target().given() == 0
    assert Target(earliest=True, offset=0).given() == 2


def test_to_where_it_is_or_to_what_a_file_says() -> None:
    assert moved(Target(current=True)) == Move("t", 0, 50, 50)
    assert moved(Target(current=True), current=3) == Move("t", 0, 3, 10, clamped=True)
    assert moved(Target(offsets={PLACE: 77})) == Move("t", 0, 50, 77)


def test_partitions_are_selected_by_topic_and_number() -> None:
    assert parse_selection("orders") == ("orders", [])
    assert parse_selection("orders:0,2") == ("orders", [0, 2])
    for bad in ("", ":1", "orders:", "orders:x", "orders:1,"):
        with pytest.raises(ValueError, match="is not TOPIC"):
            parse_selection(bad)


def test_files_of_kafkas_own_tool_are_read() -> None:
    assert parse_offsets('"my-topic",0,5\n# note\n\nother, 1, 7\n', "g") == {("my-topic", 0): 5, ("other", 1): 7}
    assert parse_offsets("g,t,0,5\nelse,t,0,9\n", "g") == {("t", 0): 5}


@pytest.mark.parametrize(
    "text", ["", "t,0", "t,0,-1", "t,x,1", ",0,1", "else,t,0,9", "{", '{"offsets": 3}', '{"offsets": []}']
)
def test_a_file_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"it |line 1"):
        parse_offsets(text, "g")


@given(
    st.dictionaries(
        st.tuples(st.text('abc.-_,"1é', min_size=1).filter(lambda name: name == name.strip()), st.integers(0, 99)),
        st.builds(Committed, st.integers(0, 2**63 - 1), st.none(), st.text(max_size=5)),
        min_size=1,
    ),
    st.booleans(),
)
def test_what_was_exported_is_read_back(offsets: dict[Place, Committed], as_json: bool) -> None:
    text = render_offsets("g", offsets, as_json=as_json)
    assert parse_offsets(text, "g") == {place: entry.offset for place, entry in offsets.items()}


@given(
    start=st.integers(0, 10**6),
    size=st.integers(0, 10**6),
    current=st.none() | st.integers(0, 10**7),
    at_time=st.integers(-1, 10**7),
    target=st.one_of(
        st.just(Target(earliest=True)),
        st.just(Target(latest=True)),
        st.integers(0, 10**8).map(lambda n: Target(offset=n)),
        st.integers(0, 10**12).map(lambda n: Target(time_ms=n)),
        st.integers(-(10**8), 10**8).map(lambda n: Target(shift=n)),
    ),
)
def test_the_new_offset_always_lies_in_the_log(
    start: int, size: int, current: int | None, at_time: int, target: Target
) -> None:
    move = moved(target, current=current, bounds=(start, start + size), at_time=at_time)
    assert start <= move.new <= start + size

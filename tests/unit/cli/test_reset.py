"""The plan behind `tape group reset`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tapelog.cli.reset import Move, Target, plan_moves

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

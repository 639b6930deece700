"""The rebalance planner: even, rack-aware, frugal, and done when it is done."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.cli.rebalance_plan import CannotPlanError, Move, Weighed, plan


def carried_out(partitions: list[Weighed], moves: list[Move]) -> list[Weighed]:
    after = {(move.topic, move.index): move.after for move in moves}
    return [Weighed(one.topic, one.index, after.get(one.place, one.replicas), one.bytes) for one in partitions]


def held(partitions: list[Weighed], broker: int) -> int:
    return sum(broker in one.replicas for one in partitions)


def led(partitions: list[Weighed], broker: int) -> int:
    return sum(one.replicas[0] == broker for one in partitions)


def test_an_even_cluster_is_left_alone() -> None:
    even = [Weighed("t", i, ((i % 3) + 1, ((i + 1) % 3) + 1)) for i in range(6)]
    assert plan(dict.fromkeys((1, 2, 3)), even) == []


def test_a_new_broker_gets_its_share_and_nothing_else_moves() -> None:
    before = [Weighed("t", i, tuple(((i + j) % 3) + 1 for j in range(3)), 10) for i in range(12)]
    moves = plan(dict.fromkeys((1, 2, 3, 4)), before)
    after = carried_out(before, moves)
    assert [held(after, broker) for broker in (1, 2, 3, 4)] == [9, 9, 9, 9]
    assert [led(after, broker) for broker in (1, 2, 3, 4)] == [3, 3, 3, 3]
    assert sum(len(move.added) for move in moves) == 9, "every copy goes to the new broker"
    assert all(move.added in ([4], []) for move in moves)
    assert sum(move.bytes for move in moves) == 90


def test_a_drained_broker_holds_nothing_and_the_racks_stay_apart() -> None:
    racks = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c"}
    before = [Weighed("t", i, (1, 3, 5)) for i in range(4)] + [Weighed("u", i, (2, 4)) for i in range(4)]
    after = carried_out(before, plan(racks, before, leave=[4], only_leave=True))
    assert held(after, 4) == 0
    assert all(len({racks[broker] for broker in one.replicas}) == len(one.replicas) for one in after)
    assert [one.replicas for one in after[:4]] == [(1, 3, 5)] * 4, "what was not on it stays"


def test_too_few_brokers_are_told() -> None:
    with pytest.raises(CannotPlanError, match="t:0 has 3 replicas, and without broker 3 only 2 brokers are left"):
        plan(dict.fromkeys((1, 2, 3)), [Weighed("t", 0, (1, 2, 3))], leave=[3])
    with pytest.raises(CannotPlanError, match="t:0 has 1 replica, and without broker 1 only 0 brokers are left"):
        plan({1: None}, [Weighed("t", 0, (1,))], leave=[1])


def test_leaders_are_evened_out_without_copying() -> None:
    before = [Weighed("t", i, (1, 2, 3), 10) for i in range(9)]
    moves = plan(dict.fromkeys((1, 2, 3)), before)
    assert [led(carried_out(before, moves), broker) for broker in (1, 2, 3)] == [3, 3, 3]
    assert all(not move.added and not move.removed and move.bytes == 0 for move in moves)
    assert len(moves) == 6


def test_leadership_is_handed_along_a_chain() -> None:
    """1 leads too many and shares nothing with 3; what it gives to 2, another gives to 3."""
    before = [Weighed("t", 0, (1, 2)), Weighed("t", 1, (1, 2)), Weighed("t", 2, (2, 3))]
    after = carried_out(before, plan(dict.fromkeys((1, 2, 3)), before))
    assert [led(after, broker) for broker in (1, 2, 3)] == [1, 1, 1]


def test_by_bytes_large_partitions_are_spread() -> None:
    before = [Weighed("t", i, (1,), 1000 if i < 2 else 1) for i in range(10)]
    after = carried_out(before, plan(dict.fromkeys((1, 2)), before, by_bytes=True))
    assert {one.replicas[0] for one in after[:2]} == {1, 2}


@st.composite
def clusters(draw: st.DrawFn) -> tuple[dict[int, str | None], list[Weighed], list[int]]:
    count = draw(st.integers(2, 7))
    racks = draw(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=count, max_size=count))
    brokers = {i + 1: rack for i, rack in enumerate(racks)}
    leaving = draw(st.lists(st.sampled_from(sorted(brokers)), max_size=1))
    copies_max = count - len(leaving)
    partitions = [
        Weighed(topic, index, tuple(draw(st.permutations(sorted(brokers)))[: draw(st.integers(1, copies_max))]), 7)
        for topic in "ab"
        for index in range(draw(st.integers(0, 8)))
    ]
    return brokers, partitions, leaving


@settings(max_examples=200, deadline=None)
@given(clusters())
def test_any_plan_keeps_every_copy_and_ends(cluster: tuple[dict[int, str | None], list[Weighed], list[int]]) -> None:
    brokers, before, leaving = cluster
    after = carried_out(before, plan(brokers, before, leave=leaving))
    staying = [broker for broker in brokers if broker not in leaving]
    for was, now in zip(before, after, strict=True):
        assert len(now.replicas) == len(was.replicas) == len(set(now.replicas))
        assert not set(now.replicas) & set(leaving)
        if not leaving:
            spread = [{brokers[broker] or broker for broker in one.replicas} for one in (was, now)]
            assert len(spread[1]) >= len(spread[0])
    if not any(brokers.values()):
        loads = [held(after, broker) for broker in staying]
        assert max(loads) - min(loads) <= max(1, max(loads) - len(after)), loads
    stable = {broker: rack for broker, rack in brokers.items() if broker in staying}
    assert plan(stable, after) == [], "what was carried out is even"

"""The assignors by example; what holds for every group is in tests/properties/test_assignors.py."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tapelog.coordinators.consumer.assignors import range as by_range
from tapelog.coordinators.consumer.assignors import uniform
from tapelog.coordinators.consumer.assignors.spec import Assignor, GroupAssignment, GroupSpec, MemberSpec, TopicSpec
from tapelog.coordinators.consumer.assignors.table import configured

A, B, C = b"a" * 16, b"b" * 16, b"c" * 16


def group(topics: dict[bytes, int], *members: MemberSpec) -> GroupSpec:
    return GroupSpec(members, {topic_id: TopicSpec(topic_id, count) for topic_id, count in topics.items()})


def reader(name: str, *topics: bytes, **more: object) -> MemberSpec:
    return MemberSpec(name, frozenset(topics), **more)  # type: ignore[arg-type]


def again(
    spec: GroupSpec, target: GroupAssignment, *, without: str = "", also: tuple[MemberSpec, ...] = ()
) -> GroupSpec:
    """The same group later: the members have what they were given."""
    members = tuple(
        MemberSpec(m.member_id, m.subscribed, target[m.member_id], m.instance_id, m.rack)
        for m in spec.members
        if m.member_id != without
    )
    return GroupSpec(members + also, spec.topics)


def moved(before: GroupAssignment, after: GroupAssignment) -> int:
    """How many partitions have an owner now that did not have them."""
    return sum(
        len(set(partitions) - set(before.get(member_id, {}).get(topic_id, ())))
        for member_id, share in after.items()
        for topic_id, partitions in share.items()
    )


# -- range


def test_range_gives_the_same_numbers_of_every_topic_to_a_member() -> None:
    spec = group({A: 3, B: 3}, reader("m1", A, B), reader("m0", A, B))
    assert by_range.assign(spec) == {"m0": {A: (0, 1), B: (0, 1)}, "m1": {A: (2,), B: (2,)}}


def test_range_orders_static_members_first_and_by_instance() -> None:
    spec = group({A: 3}, reader("z", A, instance_id="i1"), reader("y", A, instance_id="i2"), reader("a", A))
    renamed = group({A: 3}, reader("b", A, instance_id="i1"), reader("x", A, instance_id="i2"), reader("a", A))
    assert by_range.assign(spec) == {"z": {A: (0,)}, "y": {A: (1,)}, "a": {A: (2,)}}
    assert by_range.assign(renamed) == {"b": {A: (0,)}, "x": {A: (1,)}, "a": {A: (2,)}}


def test_range_leaves_the_last_without_a_partition_when_there_are_too_few() -> None:
    spec = group({A: 2}, reader("m0", A), reader("m1", A), reader("m2", A))
    assert by_range.assign(spec) == {"m0": {A: (0,)}, "m1": {A: (1,)}, "m2": {}}


def test_range_counts_only_the_subscribers_of_a_topic() -> None:
    spec = group({A: 4, B: 2}, reader("m0", A), reader("m1", A, B), reader("m2", B))
    assert by_range.assign(spec) == {"m0": {A: (0, 1)}, "m1": {A: (2, 3), B: (0,)}, "m2": {B: (1,)}}


# -- uniform


def test_uniform_shares_all_partitions_equally() -> None:
    spec = group({A: 3, B: 4}, reader("m0", A, B), reader("m1", A, B), reader("m2", A, B))
    loads = [sum(map(len, share.values())) for share in uniform.assign(spec).values()]
    assert sorted(loads) == [2, 2, 3]


def test_uniform_spreads_each_topic_over_the_members() -> None:
    spec = group({A: 4, B: 4}, reader("m0", A, B), reader("m1", A, B))
    assert uniform.assign(spec) == {"m0": {A: (0, 2), B: (0, 2)}, "m1": {A: (1, 3), B: (1, 3)}}


def test_a_member_that_joins_takes_only_its_share() -> None:
    spec = group({A: 12}, reader("m0", A), reader("m1", A))
    before = uniform.assign(spec)
    after = uniform.assign(again(spec, before, also=(reader("m2", A),)))
    assert [len(share[A]) for share in after.values()] == [4, 4, 4]
    assert moved(before, after) == 4


def test_what_a_member_leaves_behind_is_all_that_moves() -> None:
    spec = group({A: 12}, reader("m0", A), reader("m1", A), reader("m2", A))
    before = uniform.assign(spec)
    after = uniform.assign(again(spec, before, without="m1"))
    assert [len(share[A]) for share in after.values()] == [6, 6]
    assert moved(before, after) == 4


def test_the_larger_share_stays_where_it_is() -> None:
    """Kafka hands the odd partition to the first member and moves one for it; nothing needs to move here."""
    spec = group({A: 3}, reader("m0", A, target={A: (0,)}), reader("m1", A, target={A: (1, 2)}))
    assert uniform.assign(spec) == {"m0": {A: (0,)}, "m1": {A: (1, 2)}}


def test_what_a_member_no_longer_wants_and_what_is_gone_is_taken_from_it() -> None:
    spec = group({A: 2, B: 2}, reader("m0", A, target={A: (0, 1, 7), B: (0,), C: (3,)}), reader("m1", B))
    assert uniform.assign(spec) == {"m0": {A: (0, 1)}, "m1": {B: (0, 1)}}


def test_of_two_that_claim_a_partition_one_keeps_it() -> None:
    spec = group({A: 2}, reader("m0", A, target={A: (0,)}), reader("m1", A, target={A: (0, 1)}))
    assert uniform.assign(spec) == {"m0": {A: (0,)}, "m1": {A: (1,)}}


def test_topics_with_few_subscribers_are_placed_first() -> None:
    spec = group({A: 2, B: 4}, reader("m0", A, B), reader("m1", B))
    assert {name: sum(map(len, share.values())) for name, share in uniform.assign(spec).items()} == {"m0": 3, "m1": 3}


def test_partitions_pass_from_hand_to_hand_where_subscriptions_overlap() -> None:
    """m2 can only take from m1, and m1 then from m0, until neighbours differ by one: no single move would help."""
    spec = group(
        {A: 6, B: 3},
        reader("m0", A, target={A: (0, 1, 2, 3, 4, 5)}),
        reader("m1", A, B, target={B: (0, 1, 2)}),
        reader("m2", B),
    )
    assert [sum(map(len, share.values())) for share in uniform.assign(spec).values()] == [4, 3, 2]


def test_members_without_topics_and_topics_without_members_are_no_trouble() -> None:
    for assign in configured(["uniform", "range"]).values():
        assert assign(group({A: 3})) == {}
        assert assign(group({}, reader("m0", A), reader("m1"))) == {"m0": {}, "m1": {}}
        assert assign(group({A: 0}, reader("m0", A))) == {"m0": {}}
        assert assign(group({A: 1, B: 1}, reader("m0", A))) == {"m0": {A: (0,)}}


# -- racks


def racked(racks: list[str], *members: MemberSpec) -> GroupSpec:
    """One topic; by partition, the racks of its replicas, comma separated."""
    held = tuple(frozenset(filter(None, names.split(","))) for names in racks)
    return GroupSpec(members, {A: TopicSpec(A, len(racks), held)})


def test_partitions_go_to_members_in_their_racks() -> None:
    spec = racked(["x", "x", "y", "y"], reader("m0", A, rack="x"), reader("m1", A, rack="y"))
    assert uniform.assign(spec) == {"m0": {A: (0, 1)}, "m1": {A: (2, 3)}}


def test_a_partition_with_one_rack_chooses_before_one_with_two() -> None:
    spec = racked(["x,y", "x"], reader("m0", A, rack="x"), reader("m1", A, rack="y"))
    assert uniform.assign(spec) == {"m0": {A: (1,)}, "m1": {A: (0,)}}


def test_balance_comes_before_racks() -> None:
    spec = racked(["x", "x", "x", "x"], reader("m0", A, rack="x"), reader("m1", A, rack="y"))
    assert [len(share[A]) for share in uniform.assign(spec).values()] == [2, 2]


def test_a_member_parts_first_with_what_is_in_another_rack() -> None:
    spec = racked(
        ["x", "y", "x", "y"],
        reader("m0", A, rack="x", target={A: (0, 1, 2, 3)}),
        reader("m1", A, rack="y"),
    )
    assert uniform.assign(spec) == {"m0": {A: (0, 2)}, "m1": {A: (1, 3)}}


def test_two_members_swap_what_the_other_reads_more_cheaply() -> None:
    spec = racked(
        ["x", "y", "x", "y"],
        reader("m0", A, rack="x", target={A: (0, 1)}),
        reader("m1", A, rack="y", target={A: (2, 3)}),
    )
    assert uniform.assign(spec) == {"m0": {A: (0, 2)}, "m1": {A: (1, 3)}}


def test_nothing_moves_for_racks_that_nobody_is_in() -> None:
    spec = racked(
        ["z", "z", "", "y"],
        reader("m0", A, rack="x", target={A: (0, 3)}),
        reader("m1", A, target={A: (1, 2)}),
    )
    assert uniform.assign(spec) == {"m0": {A: (0, 3)}, "m1": {A: (1, 2)}}


# -- names and speed


def test_assignors_are_known_by_short_names_and_by_kafkas_class_names() -> None:
    named = configured(["org.apache.kafka.coordinator.group.assignor.RangeAssignor", " uniform "])
    assert named == {"range": by_range.assign, "uniform": uniform.assign}
    with pytest.raises(ValueError, match="no assignor 'sticky'"):
        configured(["sticky"])
    with pytest.raises(ValueError, match="at least one"):
        configured([])


def large(topics: int, partitions: int, wanted: Callable[[int, int], bool], *, racks: bool = False) -> GroupSpec:
    ids = [number.to_bytes(16, "big") for number in range(topics)]
    held = tuple(frozenset({f"r{(p + i) % 6}" for i in range(3)}) for p in range(partitions)) if racks else ()
    shared: dict[frozenset[bytes], frozenset[bytes]] = {}
    members = []
    for m in range(1000):
        subscribed = frozenset(topic_id for t, topic_id in enumerate(ids) if wanted(m, t))
        subscribed = shared.setdefault(subscribed, subscribed)
        members.append(MemberSpec(f"m{m:04}", subscribed, rack=f"r{m % 6}" if racks else None))
    return GroupSpec(tuple(members), {topic_id: TopicSpec(topic_id, partitions, held) for topic_id in ids})


LARGE: dict[str, tuple[Assignor, GroupSpec]] = {
    "uniform, 100 topics": (uniform.assign, large(100, 100, lambda m, t: True)),
    "uniform, one topic": (uniform.assign, large(1, 10_000, lambda m, t: True)),
    "uniform, 10,000 topics": (uniform.assign, large(10_000, 1, lambda m, t: True)),
    "uniform, racks": (uniform.assign, large(100, 100, lambda m, t: True, racks=True)),
    "uniform, every member another half": (uniform.assign, large(100, 100, lambda m, t: (m * 7919 >> t % 10) & 1 == 0)),
    "uniform, a chain": (uniform.assign, large(100, 100, lambda m, t: t in (m // 10, (m + 5) // 10))),
    "range, 100 topics": (by_range.assign, large(100, 100, lambda m, t: True)),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_thousand_members_and_ten_thousand_partitions_take_well_under_a_second(name: str) -> None:
    """First all at once, then one more member, then everything from one member to all."""
    assign, spec = LARGE[name]
    before, first_s = _timed(assign, spec)
    newcomer = MemberSpec("newcomer", spec.members[0].subscribed)
    after, join_s = _timed(assign, again(spec, before, also=(newcomer,)))
    everything = {topic_id: tuple(range(topic.partition_count)) for topic_id, topic in spec.topics.items()}
    hog = MemberSpec("m0000", frozenset(spec.topics), everything)
    _, hog_s = _timed(assign, GroupSpec((hog, *spec.members[1:]), spec.topics))
    print(f"{name}: first {first_s:.3f} s, join {join_s:.3f} s ({moved(before, after)} moved), from one {hog_s:.3f} s")
    assert max(first_s, join_s, hog_s) < 2, "far more than it takes on a quiet machine"


def _timed(assign: Assignor, spec: GroupSpec) -> tuple[GroupAssignment, float]:
    start_s = time.process_time()
    target = assign(spec)
    return target, time.process_time() - start_s

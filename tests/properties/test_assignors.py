"""What the assignors promise of every group: all assigned once, balance, no needless move, the same everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.coordinators.consumer.assignors import uniform
from tapelog.coordinators.consumer.assignors.shape import Shape
from tapelog.coordinators.consumer.assignors.spec import (
    Assignor,
    GroupAssignment,
    GroupSpec,
    MemberSpec,
    Pace,
    TopicSpec,
    finished,
)
from tapelog.coordinators.consumer.assignors.table import ASSIGNORS

R = TypeVar("R")
patient = settings(max_examples=int(os.environ.get("TAPELOG_EXAMPLES", "80")), deadline=None)

TOPICS = [bytes([letter]) * 16 for letter in b"abcdef"]
RACKS = ["x", "y", "z"]
NUMBERS = st.frozensets(st.integers(0, 14), min_size=1)


def names(count: int) -> st.SearchStrategy[frozenset[bytes]]:
    return st.frozensets(st.sampled_from(TOPICS[:count]))


@st.composite
def groups(draw: st.DrawFn, *, alike: bool = False, racks: bool = False) -> GroupSpec:
    """A group in any state: targets may overlap, and name topics and partitions that are not there."""
    known = draw(st.integers(1, len(TOPICS)))
    topics = {}
    for topic_id in TOPICS[:known]:
        count = draw(st.integers(0, 12))
        held = draw(st.lists(st.frozensets(st.sampled_from(RACKS)), min_size=count, max_size=count)) if racks else []
        topics[topic_id] = TopicSpec(topic_id, count, tuple(held))
    common = draw(names(known)) if alike else None
    members = []
    for number in range(draw(st.integers(0, 8))):
        target = draw(st.dictionaries(st.sampled_from(TOPICS), NUMBERS, max_size=3))
        members.append(
            MemberSpec(
                f"m{number}",
                draw(names(len(TOPICS))) if common is None else common,
                {topic_id: tuple(sorted(partitions)) for topic_id, partitions in target.items()},
                draw(st.none() | st.just(f"i{number}")),
                draw(st.none() | st.sampled_from(RACKS)) if racks else None,
            )
        )
    return GroupSpec(tuple(draw(st.permutations(members))), topics)


def owners(target: GroupAssignment) -> dict[tuple[bytes, int], str]:
    """Who owns each partition; fails if two do."""
    found: dict[tuple[bytes, int], str] = {}
    for member_id, share in target.items():
        for topic_id, partitions in share.items():
            assert list(partitions) == sorted(set(partitions))
            assert partitions, "no topic without partitions"
            for p in partitions:
                assert (topic_id, p) not in found, "two owners"
                found[topic_id, p] = member_id
    return found


def loads(target: GroupAssignment) -> dict[str, int]:
    return {member_id: sum(map(len, share.values())) for member_id, share in target.items()}


def later(spec: GroupSpec, target: GroupAssignment) -> GroupSpec:
    """The group with its members having what they were given."""
    members = (MemberSpec(m.member_id, m.subscribed, target[m.member_id], m.instance_id, m.rack) for m in spec.members)
    return GroupSpec(tuple(members), spec.topics)


def moves(before: GroupAssignment, after: GroupAssignment) -> Iterator[tuple[tuple[bytes, int], str | None, str]]:
    """Every partition that has another owner than before."""
    had, has = owners(before), owners(after)
    for where, owner in has.items():
        if had.get(where) != owner:
            yield where, had.get(where), owner


@pytest.mark.parametrize("assign", ASSIGNORS.values(), ids=ASSIGNORS)
@patient
@given(spec=groups(racks=True))
def test_every_partition_of_a_subscribed_topic_has_one_owner_who_subscribes(assign: Assignor, spec: GroupSpec) -> None:
    target = assign(spec)
    members = {member.member_id: member for member in spec.members}
    assert target.keys() == members.keys()
    owned = owners(target)
    wanted = frozenset().union(*(member.subscribed for member in spec.members))
    assert owned.keys() == {(t, p) for t in wanted & spec.topics.keys() for p in range(spec.topics[t].partition_count)}
    assert all(topic_id in members[owner].subscribed for (topic_id, _), owner in owned.items())


@pytest.mark.parametrize("assign", ASSIGNORS.values(), ids=ASSIGNORS)
@patient
@given(spec=groups(racks=True))
def test_when_nothing_changes_nothing_moves(assign: Assignor, spec: GroupSpec) -> None:
    target = assign(spec)
    assert assign(later(spec, target)) == target


@pytest.mark.parametrize("assign", ASSIGNORS.values(), ids=ASSIGNORS)
@patient
@given(spec=groups(racks=True))
def test_the_order_of_members_and_topics_does_not_matter(assign: Assignor, spec: GroupSpec) -> None:
    turned = GroupSpec(spec.members[::-1], dict(reversed(spec.topics.items())))
    assert assign(turned) == assign(spec)


@patient
@given(spec=groups(alike=True, racks=True))
def test_members_that_subscribe_alike_differ_by_at_most_one(spec: GroupSpec) -> None:
    counts = loads(uniform.assign(spec)).values()
    assert not counts or max(counts) - min(counts) <= 1


@patient
@given(spec=groups(racks=True))
def test_no_single_move_would_balance_better(spec: GroupSpec) -> None:
    """The bound of the general case: an owner has at most one more than any other subscriber of the topic."""
    target = uniform.assign(spec)
    count = loads(target)
    for (topic_id, _), owner in owners(target).items():
        for member in spec.members:
            assert topic_id not in member.subscribed or count[owner] - count[member.member_id] <= 1


@patient
@given(spec=groups(alike=True))
def test_only_as_many_move_as_balance_needs(spec: GroupSpec) -> None:
    """From any state, with any number of members come and gone: the least for which shares differ by at most one."""
    had: dict[tuple[bytes, int], str] = {}
    for member in sorted(spec.members, key=lambda m: m.member_id):
        for topic_id, partitions in member.target.items():
            for p in partitions:
                if (
                    topic_id in member.subscribed
                    and topic_id in spec.topics
                    and p < spec.topics[topic_id].partition_count
                ):
                    had.setdefault((topic_id, p), member.member_id)
    has = owners(uniform.assign(spec))
    taken = sum(1 for where, owner in had.items() if has[where] != owner)
    if spec.members:
        quota, longer = divmod(len(has), len(spec.members))
        held = [sum(1 for owner in had.values() if owner == member.member_id) for member in spec.members]
        above = sorted((max(0, count - quota) for count in held), reverse=True)
        assert taken == sum(above) - sum(1 for excess in above[:longer] if excess)


@patient
@given(spec=groups(alike=True), chosen=st.data())
def test_when_one_member_leaves_only_what_it_had_moves(spec: GroupSpec, chosen: st.DataObject) -> None:
    if spec.members:
        before = uniform.assign(spec)
        gone = chosen.draw(st.sampled_from(spec.members)).member_id
        rest = tuple(member for member in later(spec, before).members if member.member_id != gone)
        after = uniform.assign(GroupSpec(rest, spec.topics))
        assert all(giver == gone for _, giver, _ in moves(before, after))


@patient
@given(spec=groups(alike=True))
def test_when_one_member_joins_it_takes_its_share_and_nothing_else_moves(spec: GroupSpec) -> None:
    if spec.members:
        before = uniform.assign(spec)
        joined = (*later(spec, before).members, MemberSpec("new", spec.members[0].subscribed))
        after = uniform.assign(GroupSpec(joined, spec.topics))
        assert all(taker == "new" for _, _, taker in moves(before, after))
        assert loads(after)["new"] == len(owners(after)) // len(joined)


def in_one_piece(pieces: Generator[None, None, R]) -> R:
    """What comes out."""
    with pytest.raises(StopIteration) as end:
        next(pieces)
    answer: R = end.value.value
    return answer


@pytest.mark.parametrize("assign", ASSIGNORS.values(), ids=ASSIGNORS)
@patient
@given(spec=groups(racks=True), units=st.integers(1, 20))
def test_the_size_of_the_pieces_does_not_matter(assign: Assignor, spec: GroupSpec, units: int) -> None:
    assert finished(assign.pieces(spec, Pace(units))) == assign(spec)


@patient
@given(spec=groups())
def test_each_move_makes_the_shares_more_even(spec: GroupSpec) -> None:
    """Also where members subscribe to different topics: taking from who could keep lowers the sum of squares by two."""
    pace = Pace()
    shape = Shape(spec)
    assert not list(shape.gather(pace)), "one piece is enough"
    table = uniform._Table(shape, pace)
    unowned = in_one_piece(table.keep())
    assert not list(table.place(unowned))
    kept = dict(table.kept)
    unmoved = sum(load * load for load in table.load)
    target = uniform.assign(spec)
    names_in_order = [member.member_id for member in table.shape.members]
    has = owners(target)
    taken = sum(1 for where, number in kept.items() if has[where] != names_in_order[number])
    assert 2 * taken <= unmoved - sum(load * load for load in loads(target).values())


@patient
@given(spec=groups(racks=True))
def test_no_swap_would_bring_more_partitions_into_their_racks(spec: GroupSpec) -> None:
    """Two partitions, each in the wrong rack, of which one would fit where the other is: they have changed places."""
    target = uniform.assign(spec)
    members = {member.member_id: member for member in spec.members}

    def fits(where: tuple[bytes, int], member_id: str) -> bool:
        return members[member_id].rack in spec.topics[where[0]].racks[where[1]]

    misplaced = [(where, owner) for where, owner in owners(target).items() if not fits(where, owner)]
    for where, owner in misplaced:
        for other, its_owner in misplaced:
            if where[0] == other[0] and owner != its_owner:
                assert not fits(where, its_owner)


@patient
@given(spec=groups(racks=True))
def test_racks_cost_no_balance(spec: GroupSpec) -> None:
    plain = GroupSpec(tuple(MemberSpec(m.member_id, m.subscribed, m.target) for m in spec.members), spec.topics)
    assert sorted(loads(uniform.assign(spec)).values()) == sorted(loads(uniform.assign(plain)).values())


SCRIPT = """
from tapelog.coordinators.consumer.assignors.spec import *
from tapelog.coordinators.consumer.assignors.table import ASSIGNORS
ids = [bytes([n]) * 16 for n in range(20)]
racks = tuple(frozenset({f"r{(p + i) % 4}" for i in range(2)}) for p in range(9))
topics = {i: TopicSpec(i, 9, racks) for i in ids}
for name, assign in ASSIGNORS.items():
    members = tuple(
        MemberSpec(f"m{n}", frozenset(i for k, i in enumerate(ids) if n * 7 >> k & 1 or k < n % 5), rack=f"r{n % 4}")
        for n in range(40)
    )
    for _ in range(3):
        target = assign(GroupSpec(members, topics))
        print(name, sorted(target.items()))
        members = tuple(MemberSpec(m.member_id, m.subscribed, target[m.member_id], None, m.rack) for m in members[3:])
"""


def test_the_answer_is_the_same_under_any_hash_seed() -> None:
    answers = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(answers) == 1
    assert answers.pop().count("uniform") == 3


def test_a_long_chain_of_overlapping_subscriptions_comes_closer_each_time() -> None:
    """Sixty members, each sharing a topic with the next only: more passes than one assignment makes."""
    ids = [bytes([n]) * 16 for n in range(60)]
    topics = {i: TopicSpec(i, 8) for i in ids}
    everything = {0: {i: tuple(range(8)) for i in ids[:1]}}
    members = tuple(
        MemberSpec(f"m{n:02}", frozenset(ids[max(0, n - 1) : n + 1]), everything.get(n, {})) for n in range(60)
    )
    spec = GroupSpec(members, topics)
    target = uniform.assign(spec)
    for _ in range(20):
        settled, target = target, uniform.assign(later(spec, target))
        if settled == target:
            break
    assert settled == target

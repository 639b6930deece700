"""One step of a member towards its target: what it keeps, gives back, takes and waits for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapelog.coordinators.consumer.member import (
    STABLE,
    UNKNOWN,
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
    CurrentAssignment,
    Owned,
    partitions_of,
)
from tapelog.coordinators.consumer.reconcile import Goal, Reported, reconcile
from tapelog.wire.errors import ErrorCode, KafkaError

A, B = b"a" * 16, b"b" * 16


def goal(
    epoch: int,
    target: dict[bytes, tuple[int, ...]],
    *,
    taken: frozenset[tuple[bytes, int]] = frozenset(),
    reported: Reported | None = None,
    subscribed: frozenset[bytes] = frozenset({A, B}),
    changed: bool = False,
) -> Goal:
    return Goal(epoch, target, subscribed, lambda topic_id, p: (topic_id, p) in taken, reported, changed)


def test_who_has_what_it_should_have_moves_to_the_targets_epoch() -> None:
    member = CurrentAssignment(3, 2, STABLE, {A: {0: 2, 1: 3}}, {})
    assert reconcile(member, goal(4, {A: (0, 1)})) == CurrentAssignment(4, 3, STABLE, {A: {0: 2, 1: 3}}, {})


def test_who_is_there_stays_as_it_is() -> None:
    member = CurrentAssignment(3, 2, STABLE, {A: {0: 2}}, {})
    assert reconcile(member, goal(3, {A: (0,)})) is member


def test_what_is_free_is_taken_in_the_epoch_of_the_target() -> None:
    member = CurrentAssignment(3, 2, STABLE, {A: {0: 2}}, {})
    assert reconcile(member, goal(4, {A: (0, 1), B: (5,)})).assigned == {A: {0: 2, 1: 4}, B: {5: 4}}


def test_what_others_own_is_waited_for() -> None:
    member = CurrentAssignment(3, 2, STABLE, {}, {})
    taken = frozenset({(A, 1)})
    waiting = reconcile(member, goal(4, {A: (0, 1)}, taken=taken))
    assert waiting == CurrentAssignment(4, 3, UNRELEASED_PARTITIONS, {A: {0: 4}}, {})
    assert reconcile(waiting, goal(4, {A: (0, 1)}, taken=taken)) is waiting, "going on to wait is no change"
    assert reconcile(waiting, goal(4, {A: (0, 1)})) == CurrentAssignment(4, 4, STABLE, {A: {0: 4, 1: 4}}, {})


def test_what_has_to_go_is_kept_until_the_member_shows_that_it_went() -> None:
    member = CurrentAssignment(3, 2, STABLE, {A: {0: 2, 1: 2}}, {})
    asked = reconcile(member, goal(4, {A: (0,)}))
    assert asked == CurrentAssignment(3, 3, UNREVOKED_PARTITIONS, {A: {0: 2}}, {A: {1: 2}})
    assert reconcile(asked, goal(4, {A: (0,)})) is asked, "it says nothing"
    assert reconcile(asked, goal(4, {A: (0,)}, reported={A: {0, 1}})) is asked, "it still has it"
    assert reconcile(asked, goal(4, {A: (0,)}, reported={A: {0}})) == CurrentAssignment(4, 3, STABLE, {A: {0: 2}}, {})


def test_what_the_member_is_giving_back_it_may_be_given_again() -> None:
    asked = CurrentAssignment(3, 3, UNREVOKED_PARTITIONS, {A: {0: 2}}, {A: {1: 2}})
    taken = frozenset({(A, 0), (A, 1)})
    again = reconcile(asked, goal(5, {A: (0, 1)}, taken=taken, reported={A: {0}}))
    assert again == CurrentAssignment(5, 3, STABLE, {A: {0: 2, 1: 5}}, {})


def test_what_is_not_subscribed_to_any_more_goes_although_the_target_still_has_it() -> None:
    member = CurrentAssignment(3, 2, STABLE, {A: {0: 2}, B: {0: 3}}, {})
    only_a = frozenset({A})
    asked = reconcile(member, goal(3, {A: (0,), B: (0,)}, subscribed=only_a, changed=True))
    assert asked == CurrentAssignment(3, 3, UNREVOKED_PARTITIONS, {A: {0: 2}}, {B: {0: 3}})
    gone = reconcile(asked, goal(3, {A: (0,), B: (0,)}, subscribed=only_a, reported={A: {0}}))
    assert gone == CurrentAssignment(3, 3, STABLE, {A: {0: 2}}, {})


def test_a_state_from_the_future_starts_from_scratch() -> None:
    member = CurrentAssignment(3, 2, UNKNOWN, {A: {0: 2}}, {})
    with pytest.raises(KafkaError) as refused:
        reconcile(member, goal(4, {A: (0, 1)}))
    assert refused.value.code == ErrorCode.FENCED_MEMBER_EPOCH
    assert reconcile(member, goal(4, {A: (0, 1)}, reported={})).state == STABLE


PLACES = st.tuples(st.sampled_from([A, B]), st.integers(0, 5))


def as_owned(places: set[tuple[bytes, int]], epoch: int) -> Owned:
    owned: dict[bytes, dict[int, int]] = {}
    for topic_id, partition in sorted(places):
        owned.setdefault(topic_id, {})[partition] = epoch
    return owned


@given(st.sets(PLACES), st.sets(PLACES), st.sets(PLACES), st.sets(PLACES), st.none() | st.sets(PLACES), st.booleans())
def test_a_step_never_takes_what_is_taken_nor_lets_go_of_what_is_still_used(
    mine: set[tuple[bytes, int]],
    giving: set[tuple[bytes, int]],
    wanted: set[tuple[bytes, int]],
    others: set[tuple[bytes, int]],
    said: set[tuple[bytes, int]] | None,
    changed: bool,
) -> None:
    giving -= mine
    others -= mine | giving
    member = CurrentAssignment(3, 2, UNREVOKED_PARTITIONS if giving else STABLE, as_owned(mine, 2), as_owned(giving, 2))
    target: dict[bytes, tuple[int, ...]] = {}
    for topic_id, partition in sorted(wanted):
        target[topic_id] = (*target.get(topic_id, ()), partition)
    reported = None
    if said is not None:
        reported = {topic_id: {p for t, p in said if t == topic_id} for topic_id, _ in said}
    after = reconcile(
        member, goal(4, target, taken=frozenset(mine | giving | others), reported=reported, changed=changed)
    )
    held = {*partitions_of(after.assigned), *partitions_of(after.revoking)}
    assert not held & others
    assert held <= mine | giving | wanted
    let_go = (mine | giving) - held
    assert not let_go or (said is not None and not let_go & said), "only what the member showed to have stopped"
    assert after.epoch in (3, 4)
    assert after.epoch == 3 or set(partitions_of(after.assigned)) <= wanted
    if after.state == STABLE and after.epoch == 4:
        assert set(partitions_of(after.assigned)) == wanted

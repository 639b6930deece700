"""Who leads, who is in sync, who may lead: the decisions about one partition."""

from __future__ import annotations

import pytest

from tapelog.metadata.election import PREFERRED, RECOVERING, UNCLEAN, Wish, decide_for, is_unclean
from tapelog.metadata.electorate import Electorate
from tapelog.metadata.image import NO_LEADER, PartitionImage
from tapelog.metadata.record_types import PartitionChangeRecord
from tests.unit.metadata.desk import Desk, directory


def decided(
    partition: PartitionImage, wish: Wish, min_isr: int = 1, dead: tuple[int, ...] = (), elr: bool = True
) -> PartitionChangeRecord | None:
    """What is decided for that partition among brokers 1 to 4 of which some are dead."""
    desk = Desk(brokers=4, elr=elr)
    desk.create("t", [1, 2, 3], min_insync_replicas=str(min_isr))
    electorate = Electorate(desk.image, desk.settings, without=dead)
    return decide_for(electorate, desk.image.topics["t"], 0, partition, wish)


def three(leader: int = 1, isr: tuple[int, ...] = (1, 2, 3), **more: tuple[int, ...]) -> PartitionImage:
    return PartitionImage(replicas=(1, 2, 3), isr=isr, leader=leader, leader_epoch=5, partition_epoch=9, **more)


def test_nothing_wished_nothing_written() -> None:
    assert decided(three(), Wish()) is None


def test_a_leader_that_can_go_on_goes_on() -> None:
    record = decided(three(leader=2), Wish(isr=[2, 3]))
    assert record is not None
    assert (record.leader, record.isr) == (-2, [2, 3])


def test_the_first_replica_in_sync_succeeds_a_leader_that_is_gone() -> None:
    record = decided(three(), Wish(isr=[3, 2]), dead=(1,))
    assert record is not None
    assert (record.leader, record.isr) == (2, [3, 2])


def test_a_preferred_election_gives_the_first_replica_its_place_if_it_is_in_sync() -> None:
    record = decided(three(leader=2), Wish(election=PREFERRED))
    assert record is not None
    assert (record.leader, record.isr) == (1, None)
    assert decided(three(leader=2, isr=(2, 3)), Wish(election=PREFERRED)) is None
    assert decided(three(leader=2), Wish(election=PREFERRED), dead=(1,)) is None


def test_who_leaves_an_isr_below_its_minimum_stays_eligible() -> None:
    record = decided(three(isr=(1, 2)), Wish(isr=[1]), min_isr=2)
    assert record is not None
    assert (record.isr, record.eligible_leader_replicas) == ([1], [2])


def test_who_leaves_an_isr_that_stays_large_enough_is_not_eligible() -> None:
    record = decided(three(), Wish(isr=[1, 2]), min_isr=2)
    assert record is not None
    assert (record.isr, record.eligible_leader_replicas) == ([1, 2], None)


def test_nobody_in_sync_is_written_down_with_the_last_leader_known() -> None:
    record = decided(three(isr=(1,)), Wish(isr=[]), dead=(1,))
    assert record is not None
    assert (record.leader, record.isr, record.eligible_leader_replicas, record.last_known_elr) == (
        NO_LEADER,
        [],
        [1],
        [1],
    )


def test_an_eligible_replica_leads_when_nobody_is_in_sync() -> None:
    leaderless = three(leader=NO_LEADER, isr=(), elr=(2, 3), last_known_elr=(1,))
    record = decided(leaderless, Wish(), min_isr=2)
    assert record is not None
    assert (record.leader, record.isr, record.eligible_leader_replicas, record.last_known_elr) == (2, [2], [3], [])
    assert not is_unclean(record)


def test_eligible_replicas_are_forgotten_once_the_isr_is_large_enough_for_the_high_watermark_to_move() -> None:
    leaderless = three(leader=NO_LEADER, isr=(), elr=(2, 3))
    record = decided(leaderless, Wish(), min_isr=1)
    assert record is not None
    assert (record.leader, record.isr, record.eligible_leader_replicas) == (2, [2], [])


def test_a_replica_that_is_neither_in_sync_nor_eligible_leads_only_when_asked_for() -> None:
    lost = three(leader=NO_LEADER, isr=(), last_known_elr=(2,))
    assert decided(lost, Wish()) is None
    record = decided(lost, Wish(election=UNCLEAN))
    assert record is not None
    assert (record.leader, record.isr, record.leader_recovery_state) == (2, [2], RECOVERING)
    assert is_unclean(record)


def test_an_unclean_election_prefers_whoever_has_everything() -> None:
    record = decided(three(leader=NO_LEADER, isr=(), elr=(3,)), Wish(election=UNCLEAN))
    assert record is not None
    assert record.leader == 3
    assert not is_unclean(record)


def test_an_unclean_stop_costs_both_places_unless_it_is_the_last() -> None:
    record = decided(three(isr=(1, 2)), Wish(isr=[1], unclean=[2]), min_isr=3)
    assert record is not None
    assert (record.isr, record.eligible_leader_replicas) == ([1], None)
    record = decided(three(leader=1, isr=(1,)), Wish(isr=[], unclean=[1]), dead=(1,))
    assert record is not None
    assert (record.isr, record.eligible_leader_replicas) == ([], [1])
    record = decided(three(leader=NO_LEADER, isr=(), elr=(1, 2)), Wish(unclean=[1]), min_isr=2, dead=(1, 2))
    assert record is not None
    assert record.eligible_leader_replicas == [2]


@pytest.mark.parametrize("elr", [True, False])
def test_a_lost_disk_costs_both_places_even_the_last(elr: bool) -> None:
    record = decided(three(leader=1, isr=(1,)), Wish(isr=[], wiped=[1]), dead=(1,), elr=elr)
    assert record is not None
    assert (record.leader, record.isr, record.eligible_leader_replicas) == (NO_LEADER, [], None)


def test_without_eligible_replicas_the_last_in_sync_is_remembered_by_staying() -> None:
    record = decided(three(isr=(1,)), Wish(isr=[]), dead=(1,), elr=False)
    assert record is not None
    assert (record.leader, record.isr, record.last_known_elr) == (NO_LEADER, None, None)


def test_a_move_ends_when_all_that_stay_are_in_sync() -> None:
    moving = PartitionImage((4, 2, 1, 3), (1, 2, 3), 1, removing_replicas=(1, 3), adding_replicas=(4,))
    record = decided(moving, Wish(isr=[1, 2, 3, 4]))
    assert record is not None
    assert (record.replicas, record.isr, record.leader) == ([4, 2], [2, 4], 4)
    assert (record.removing_replicas, record.adding_replicas) == ([], [])
    assert decided(moving, Wish()) is None


def test_a_removed_replica_is_told_apart_by_a_new_leader_epoch() -> None:
    moving = PartitionImage((2, 3, 1), (2, 3, 1), 2, removing_replicas=(1,))
    record = decided(moving, Wish())
    assert record is not None
    assert (record.leader, record.replicas, record.isr) == (2, [2, 3], [2, 3])


def test_a_replica_whose_directory_is_gone_cannot_lead() -> None:
    here, gone = directory(2), directory(1, disk=9)
    part = PartitionImage((1, 2), (1, 2), NO_LEADER, directories=(gone, here))
    record = decided(part, Wish())
    assert record is not None
    assert record.leader == 2


def test_new_replicas_go_to_the_only_directory_their_broker_has() -> None:
    part = PartitionImage((1,), (1,), 1, directories=(directory(1),))
    record = decided(part, Wish(replicas=[1, 4], adding=[4]))
    assert record is not None
    assert record.directories == [directory(1), directory(4)]

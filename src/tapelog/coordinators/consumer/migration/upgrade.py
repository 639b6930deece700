"""A classic group becomes a consumer group, because somebody joins it by the newer protocol.

Its generation becomes the epoch of group, targets and members; what the members own is what the last generation gave
them, and what they said they own when they last joined: somebody who has not yet heard that it lost a partition still
reads it. They all learn of the change by REBALANCE_IN_PROGRESS, join again and report what they own by then.
"""

from __future__ import annotations

from typing import Final

from tapelog.coordinators.classic.group import ClassicGroup
from tapelog.coordinators.classic.member import ClassicMember
from tapelog.coordinators.consumer.group import ConsumerGroup
from tapelog.coordinators.consumer.member import STABLE, ClassicMetadata, CurrentAssignment, MemberMetadata
from tapelog.coordinators.consumer.migration.embedded import Places, Subscription, assigned_of, subscription_of
from tapelog.coordinators.consumer.records import (
    current_record,
    epoch_record,
    member_record,
    target_epoch_record,
    target_record,
)
from tapelog.coordinators.consumer.registry import ConsumerGroups
from tapelog.coordinators.consumer.sessions import extend_session
from tapelog.coordinators.consumer.store import ConsumerStore
from tapelog.coordinators.outcome import CoordinatorRecord
from tapelog.coordinators.records import group_tombstone
from tapelog.coordinators.timeline import Journal
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.primitives import WireError

KNOWN_ASSIGNORS: Final = ("range", "roundrobin", "sticky", "cooperative-sticky")
"""Assignors of the clients whose own notes are not needed here. (librdkafka's sticky ones put them into assignments,
and Kafka takes them for a custom assignor's.)"""


def upgrade(groups: ConsumerGroups, former: ClassicGroup, records: list[CoordinatorRecord]) -> ConsumerGroup:
    """The consumer group that a classic group with members becomes; adds the records that make it one.

    The group returned is as those records, replayed, will make it. GROUP_ID_NOT_FOUND, with the reason, if the group
    cannot be converted.
    """
    if not groups.config.upgrade_enabled:
        raise _refusal(former, "because online upgrade is disabled")
    if not former.is_consumer_group:
        raise _refusal(former, "because the group does not use the consumer embedded protocol")
    if len(former.members) > groups.config.members_max:
        raise _refusal(former, "because the group size exceeds the consumer group maximum size")
    try:
        made = _records(groups, former)
    except WireError as error:
        raise _refusal(former, "because the embedded consumer protocol is malformed") from error
    records += made
    for member_id, member in former.members.items():
        extend_session(groups, former.group_id, member_id, member.session_timeout_ms)
    scratch = ConsumerStore(Journal())
    for record in made[1:]:
        scratch.replay(-1, record)
    group = scratch.get(former.group_id)
    assert group is not None
    return group


def _refusal(former: ClassicGroup, reason: str) -> KafkaError:
    return KafkaError(
        ErrorCode.GROUP_ID_NOT_FOUND, f"Cannot upgrade classic group {former.group_id} to consumer group {reason}."
    )


def _records(groups: ConsumerGroups, former: ClassicGroup) -> list[CoordinatorRecord]:
    """The end of the classic group, then the consumer group in the order in which Kafka replays it."""
    group_id, epoch = former.group_id, former.generation
    wishes: dict[str, Subscription] = {}
    given: dict[str, Places] = {}
    for member_id, member in former.members.items():
        wishes[member_id] = subscription_of(_metadata(former, member))
        assigned = assigned_of(member.assignment)
        if assigned.user_data and former.protocol not in KNOWN_ASSIGNORS:
            raise _refusal(
                former,
                "because an unsupported custom assignor is in use. Please refer to the documentation or switch to a "
                "default assignor before re-attempting the upgrade",
            )
        given[member_id] = assigned.places
    targets = _without_doubles(groups, given)
    owned = _with_unheard(groups, targets, wishes)
    topics = frozenset().union(*(wish.topics for wish in wishes.values()))
    records = [group_tombstone(group_id)]
    for member_id, member in former.members.items():
        records.append(member_record(group_id, member_id, _member(member, wishes[member_id])))
    records.append(epoch_record(group_id, epoch, groups.watch.hash_of(topics)))
    for member_id, target in targets.items():
        in_order = {topic_id: tuple(sorted(partitions)) for topic_id, partitions in target.items()}
        records.append(target_record(group_id, member_id, in_order))
    records.append(target_epoch_record(group_id, epoch, 0))
    for member_id, held in owned.items():
        since = {topic_id: dict.fromkeys(sorted(partitions), epoch) for topic_id, partitions in held.items()}
        records.append(current_record(group_id, member_id, CurrentAssignment(epoch, epoch, STABLE, since)))
    return records


def _metadata(former: ClassicGroup, member: ClassicMember) -> bytes:
    """What the member sent along with the protocol in use; before there is one, with its preferred protocol."""
    return member.protocols[0][1] if former.protocol is None else member.metadata(former.protocol)


def _member(member: ClassicMember, wish: Subscription) -> MemberMetadata:
    return MemberMetadata(
        instance_id=member.instance_id,
        rack=wish.rack,
        client_id=member.client_id,
        client_host=member.client_host,
        names=wish.topics,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicMetadata(member.session_timeout_ms, tuple(member.protocols)),
    )


def _without_doubles(groups: ConsumerGroups, given: dict[str, Places]) -> dict[str, dict[bytes, set[int]]]:
    """By member and topic id what the last generation gave it; what a leader gave to two only the first one has."""
    taken: set[tuple[bytes, int]] = set()
    return {member_id: _claim(groups, places, taken) for member_id, places in given.items()}


def _with_unheard(
    groups: ConsumerGroups, targets: dict[str, dict[bytes, set[int]]], wishes: dict[str, Subscription]
) -> dict[str, dict[bytes, set[int]]]:
    """That, and what a member owned when it joined and nobody else was given: it may not know yet that it lost it."""
    taken = {(topic_id, p) for target in targets.values() for topic_id, ps in target.items() for p in ps}
    owned: dict[str, dict[bytes, set[int]]] = {}
    for member_id, target in targets.items():
        held = owned[member_id] = {topic_id: set(partitions) for topic_id, partitions in target.items()}
        for topic_id, partitions in _claim(groups, wishes[member_id].owned, taken).items():
            held.setdefault(topic_id, set()).update(partitions)
    return owned


def _claim(groups: ConsumerGroups, places: Places, taken: set[tuple[bytes, int]]) -> dict[bytes, set[int]]:
    """Those of the partitions that exist by their topic, and are not taken; they are from now on."""
    claimed: dict[bytes, set[int]] = {}
    for name in sorted(places):
        topic_id = groups.watch.topics.id_of(name)
        if topic_id is not None:
            free = {p for p in places[name] if (topic_id, p) not in taken}
            if free:
                claimed[topic_id] = free
                taken.update((topic_id, p) for p in free)
    return claimed

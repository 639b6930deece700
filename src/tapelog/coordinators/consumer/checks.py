"""What a ConsumerGroupHeartbeat must satisfy: the request by itself, and its epoch against the member's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tapelog.coordinators.consumer.assignors.spec import Assignor
from tapelog.coordinators.consumer.member import JOINING_EPOCH, LEAVING_EPOCH, STATIC_LEAVING_EPOCH, CurrentAssignment
from tapelog.coordinators.consumer.reconcile import Reported
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest

NAMES_MAX: Final = 50_000
"""The longest subscription by names. Who reads more has a regular expression to say so."""

NAMES_CHARS_MAX: Final = 1_000_000
"""All its names together: what Kafka can write down of a member, too."""


def check_request(request: ConsumerGroupHeartbeatRequest, api_version: int, assignors: Mapping[str, Assignor]) -> None:
    """INVALID_REQUEST or UNSUPPORTED_ASSIGNOR for what is wrong whatever the group looks like."""
    epoch = request.member_epoch
    # Only a member that joins by version 0 is given its id.
    if api_version >= 1 or epoch > 0 or epoch == LEAVING_EPOCH:
        _refuse_if(not request.member_id.strip(), "MemberId can't be empty.")
    _refuse_if(not request.group_id.strip(), "GroupId can't be empty.")
    _refuse_if(_is_blank(request.instance_id), "InstanceId can't be empty.")
    _refuse_if(_is_blank(request.rack_id), "RackId can't be empty.")
    if epoch == JOINING_EPOCH:
        _refuse_if(request.rebalance_timeout_ms == -1, "RebalanceTimeoutMs must be provided in first request.")
        owned = request.topic_partitions
        _refuse_if(owned is None or len(owned) > 0, "TopicPartitions must be empty when (re-)joining.")
        unsaid = request.subscribed_topic_names is None and request.subscribed_topic_regex is None
        _refuse_if(unsaid, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
    names = request.subscribed_topic_names or []
    _refuse_if(len(names) > NAMES_MAX, f"SubscribedTopicNames has {len(names)} names, and {NAMES_MAX} are allowed.")
    too_long = sum([len(name) for name in names]) > NAMES_CHARS_MAX
    _refuse_if(too_long, f"SubscribedTopicNames has more than {NAMES_CHARS_MAX} characters.")
    _refuse_if(epoch == STATIC_LEAVING_EPOCH and request.instance_id is None, "InstanceId can't be null.")
    _refuse_if(epoch < STATIC_LEAVING_EPOCH, "MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {', '.join(assignors)}.",
        )


def check_epoch(current: CurrentAssignment, epoch: int, reported: Reported | None, elsewhere: bool) -> None:
    """FENCED_MEMBER_EPOCH unless the member is in that epoch, or joins anew, or missed the answer that moved it on.

    That shows by what it says it owns, or by a new connection (see `is_behind`).
    """
    if epoch in (JOINING_EPOCH, current.epoch) or is_behind(current, epoch, reported, elsewhere):
        return
    if epoch == current.previous_epoch and epoch < current.epoch and _is_within(reported, current):
        return
    comparison = "greater" if epoch > current.epoch else "smaller"
    raise KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The member has a {comparison} epoch ({epoch}) than the one known here ({current.epoch}). "
        "It must abandon all its partitions and rejoin.",
    )


def is_behind(current: CurrentAssignment, epoch: int, reported: Reported | None, elsewhere: bool) -> bool:
    """The member sent the heartbeat that moved it on again, over a new connection and without saying what it owns.

    Kafka fences it, and librdkafka does just that when a heartbeat times out. But whatever it did not say that it gave
    back is still its own here, so it only needs to hear where it stands.
    """
    return elsewhere and reported is None and epoch == current.previous_epoch and 0 < epoch < current.epoch


def reported_of(request: ConsumerGroupHeartbeatRequest) -> dict[bytes, set[int]] | None:
    """What the member says it owns, by topic id; None if it does not say."""
    if request.topic_partitions is None:
        return None
    reported: dict[bytes, set[int]] = {}
    for topic in request.topic_partitions:
        reported.setdefault(topic.topic_id, set()).update(topic.partitions)
    return reported


def _is_within(reported: Reported | None, current: CurrentAssignment) -> bool:
    return reported is not None and all(
        topic_id in current.assigned and partitions <= current.assigned[topic_id].keys()
        for topic_id, partitions in reported.items()
    )


def _is_blank(text: str | None) -> bool:
    return text is not None and not text.strip()


def _refuse_if(condition: bool, message: str) -> None:
    if condition:
        raise KafkaError(ErrorCode.INVALID_REQUEST, message)

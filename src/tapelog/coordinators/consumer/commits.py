"""Who may commit and fetch offsets of a consumer group.

A member commits in its epoch. One that has not yet heard of its newer epoch may still commit what it has owned since
the epoch it names or before; so a rebalance of others never makes a member lose its place.
"""

from __future__ import annotations

from typing import Final

from tapelog.coordinators.consumer.group import ConsumerGroup
from tapelog.coordinators.consumer.leave import check_known
from tapelog.coordinators.consumer.member import NEW_MEMBER
from tapelog.coordinators.offsets.owner import PartitionCheck
from tapelog.wire.errors import ErrorCode, KafkaError

EPOCHS_IN_COMMIT_FROM: Final = 9
"""OffsetCommit carries member epochs from this version on."""


def check_commit(
    group: ConsumerGroup, member_id: str, instance_id: str | None, epoch: int, transactional: bool, api_version: int
) -> PartitionCheck | None:
    """Refuse a commit by somebody who may not; or what to check of each partition, if anything."""
    if epoch < 0 and group.is_empty:
        return None
    if transactional and epoch == -1 and not member_id and instance_id is None:
        return None  # a producer that does not know its consumer's group, as before KIP-447
    check_known(group, member_id)
    member = group.metadata.get(member_id)
    classic = member is not None and member.classic is not None
    if not transactional and not classic and api_version < EPOCHS_IN_COMMIT_FROM:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            "OffsetCommit version 9 or above must be used by members of the consumer group protocol.",
        )
    current = group.current_of(member_id)
    if epoch == current.epoch:
        return None
    stale = ErrorCode.ILLEGAL_GENERATION if classic else ErrorCode.STALE_MEMBER_EPOCH
    if epoch > current.epoch:
        raise KafkaError(stale, f"The epoch {epoch} is newer than the member's, {current.epoch}.")

    def check(topic_id: bytes, partition: int) -> None:
        since = current.epoch_of(topic_id, partition)
        if since is None or epoch < since:
            raise KafkaError(stale, f"The member does not own partition {partition}, or not since epoch {epoch}.")

    return check


def check_fetch(group: ConsumerGroup, member_id: str | None, epoch: int, committed_only: bool = False) -> None:
    """Refuse a fetch by somebody who claims to be a member and is not, or not in that epoch."""
    if member_id is None and epoch < 0:
        return
    name = member_id or ""
    member = group.metadata.committed(name) if committed_only else group.metadata.get(name)
    if member is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {name} is not a member of group {group.group_id}.")
    current = (group.current.committed(name) if committed_only else group.current.get(name)) or NEW_MEMBER
    if epoch != current.epoch:
        classic = member.classic is not None
        raise KafkaError(
            ErrorCode.ILLEGAL_GENERATION if classic else ErrorCode.STALE_MEMBER_EPOCH,
            f"The epoch {epoch} is not the member's, {current.epoch}.",
        )

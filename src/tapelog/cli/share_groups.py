"""Share groups (queues, KIP-932): described, and their offsets. librdkafka knows neither, so brokers are asked.

A share group commits nothing: its start offset is where the oldest record lies that is not yet acknowledged, and lag is
counted from there. Records after it may be acknowledged already, so it is the most that there can be.
"""

from __future__ import annotations

from collections.abc import Iterable

from tapelog.cli.connect import Connection
from tapelog.cli.group_info import GroupInfo, Member, words_of
from tapelog.cli.raw import GROUP, Wire, check
from tapelog.cli.reset import Place
from tapelog.toolkit.lag.values import Committed
from tapelog.wire.messages.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from tapelog.wire.messages.describe_share_group_offsets_response import DescribeShareGroupOffsetsResponse
from tapelog.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from tapelog.wire.messages.share_group_describe_response import ShareGroupDescribeResponse


def share_offsets(connection: Connection, groups: Iterable[str]) -> dict[str, dict[Place, Committed]]:
    """Group → partition → start offset, for partitions that have one."""
    found: dict[str, dict[Place, Committed]] = {}
    with Wire(connection) as wire:
        for group in groups:
            request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group, None)])
            told = wire.ask(request, DescribeShareGroupOffsetsResponse, wire.coordinator(group, GROUP))
            (answer,) = told.groups
            check(answer.error_code, f"share group {group}", "`tape group list` shows all")
            found[group] = {
                (topic.topic_name, part.partition_index): Committed(part.start_offset)
                for topic in sorted(answer.topics, key=lambda topic: topic.topic_name)
                for part in sorted(topic.partitions, key=lambda part: part.partition_index)
                if not part.error_code and part.start_offset >= 0
            }
    return found


def describe_share_group(connection: Connection, group: str) -> GroupInfo:
    """A share group and its members."""
    with Wire(connection) as wire:
        node = wire.coordinator(group, GROUP)
        told = wire.ask(ShareGroupDescribeRequest([group]), ShareGroupDescribeResponse, node)
    (answer,) = told.groups
    check(answer.error_code, f"share group {group}", "`tape group list` shows all")
    members = tuple(
        Member(
            one.member_id,
            one.client_id,
            one.client_host.lstrip("/"),
            None,
            tuple(
                sorted(
                    (part.topic_name, number) for part in one.assignment.topic_partitions for number in part.partitions
                )
            ),
            None,
            one.member_epoch,
            one.rack_id,
            tuple(one.subscribed_topic_names),
        )
        for one in sorted(answer.members, key=lambda one: one.member_id)
    )
    return GroupInfo(
        group,
        "share",
        words_of(answer.group_state),
        answer.assignor_name or None,
        node.id,
        epoch=answer.group_epoch,
        assignment_epoch=answer.assignment_epoch,
        members=members,
    )

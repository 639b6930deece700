"""ShareGroupDescribeResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class TopicPartitions(Message):
    """Part of ShareGroupDescribeResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id",
        "topic_name",
        "partitions",
    )

    def __init__(self, topic_id: bytes = ZERO_UUID, topic_name: str = "", partitions: list[int] = EMPTY) -> None:
        self.topic_id: bytes = topic_id
        self.topic_name: str = topic_name
        self.partitions: list[int] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> TopicPartitions:
        made = TopicPartitions(
            r.uuid(),
            r.compact_string(),
            r.i32_items(r.compact_array(4)),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.uuid(self.topic_id)
        w.compact_string(self.topic_name)
        w.compact_array(len(self.partitions))
        w.i32_items(self.partitions)
        w.uvarint(0)


class Assignment(Message):
    """Part of ShareGroupDescribeResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_partitions",)

    def __init__(self, topic_partitions: list[TopicPartitions] = EMPTY) -> None:
        self.topic_partitions: list[TopicPartitions] = [] if topic_partitions is EMPTY else topic_partitions

    @staticmethod
    def decode(r: Reader, version: int) -> Assignment:
        made = Assignment(
            [TopicPartitions.decode(r, version) for _ in range(r.compact_array(19))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_array(len(self.topic_partitions))
        for topic_partitions_item in self.topic_partitions:
            topic_partitions_item.encode(w, version)
        w.uvarint(0)


class Member(Message):
    """Part of ShareGroupDescribeResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_id",
        "rack_id",
        "member_epoch",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "assignment",
    )

    def __init__(
        self,
        member_id: str = "",
        rack_id: str | None = None,
        member_epoch: int = 0,
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = EMPTY,
        assignment: Assignment | None = None,
    ) -> None:
        self.member_id: str = member_id
        self.rack_id: str | None = rack_id
        self.member_epoch: int = member_epoch
        self.client_id: str = client_id
        self.client_host: str = client_host
        self.subscribed_topic_names: list[str] = [] if subscribed_topic_names is EMPTY else subscribed_topic_names
        self.assignment: Assignment = Assignment() if assignment is None else assignment

    @staticmethod
    def decode(r: Reader, version: int) -> Member:
        made = Member(
            r.compact_string(),
            r.compact_nullable_string(),
            r.i32(),
            r.compact_string(),
            r.compact_string(),
            [r.compact_string() for _ in range(r.compact_array(1))],
            Assignment.decode(r, version),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.member_id)
        w.compact_nullable_string(self.rack_id)
        w.i32(self.member_epoch)
        w.compact_string(self.client_id)
        w.compact_string(self.client_host)
        w.compact_array(len(self.subscribed_topic_names))
        for subscribed_topic_names_item in self.subscribed_topic_names:
            w.compact_string(subscribed_topic_names_item)
        self.assignment.encode(w, version)
        w.uvarint(0)


class DescribedGroup(Message):
    """Part of ShareGroupDescribeResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "group_epoch",
        "assignment_epoch",
        "assignor_name",
        "members",
        "authorized_operations",
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        assignor_name: str = "",
        members: list[Member] = EMPTY,
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.group_id: str = group_id
        self.group_state: str = group_state
        self.group_epoch: int = group_epoch
        self.assignment_epoch: int = assignment_epoch
        self.assignor_name: str = assignor_name
        self.members: list[Member] = [] if members is EMPTY else members
        self.authorized_operations: int = authorized_operations

    @staticmethod
    def decode(r: Reader, version: int) -> DescribedGroup:
        made = DescribedGroup(
            r.i16(),
            r.compact_nullable_string(),
            r.compact_string(),
            r.compact_string(),
            r.i32(),
            r.i32(),
            r.compact_string(),
            [Member.decode(r, version) for _ in range(r.compact_array(12))],
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.compact_string(self.group_id)
        w.compact_string(self.group_state)
        w.i32(self.group_epoch)
        w.i32(self.assignment_epoch)
        w.compact_string(self.assignor_name)
        w.compact_array(len(self.members))
        for members_item in self.members:
            members_item.encode(w, version)
        w.i32(self.authorized_operations)
        w.uvarint(0)


class ShareGroupDescribeResponse(Message):
    """Version 1."""

    API_KEY: ClassVar[int] = 77
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "groups",
    )

    def __init__(self, throttle_time_ms: int = 0, groups: list[DescribedGroup] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.groups: list[DescribedGroup] = [] if groups is EMPTY else groups

    @staticmethod
    def decode(r: Reader, version: int) -> ShareGroupDescribeResponse:
        if version != 1:
            bad_version("ShareGroupDescribeResponse", version)
        made = ShareGroupDescribeResponse(
            r.i32(),
            [DescribedGroup.decode(r, version) for _ in range(r.compact_array(20))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 1:
            bad_version("ShareGroupDescribeResponse", version)
        w.i32(self.throttle_time_ms)
        w.compact_array(len(self.groups))
        for groups_item in self.groups:
            groups_item.encode(w, version)
        w.uvarint(0)

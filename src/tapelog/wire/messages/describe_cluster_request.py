"""DescribeClusterRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class DescribeClusterRequest(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 60
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "include_cluster_authorized_operations",
        "endpoint_type",
        "include_fenced_brokers",
    )

    def __init__(
        self,
        include_cluster_authorized_operations: bool = False,
        endpoint_type: int = 1,
        include_fenced_brokers: bool = False,
    ) -> None:
        self.include_cluster_authorized_operations: bool = include_cluster_authorized_operations
        self.endpoint_type: int = endpoint_type
        self.include_fenced_brokers: bool = include_fenced_brokers

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeClusterRequest:
        if version < 0 or version > 2:
            bad_version("DescribeClusterRequest", version)
        made = DescribeClusterRequest(
            r.boolean(),
            r.i8() if version >= 1 else 1,
            r.boolean() if version >= 2 else False,
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("DescribeClusterRequest", version)
        w.boolean(self.include_cluster_authorized_operations)
        if version >= 1:
            w.i8(self.endpoint_type)
        else:
            if self.endpoint_type != 1:
                lost_field("DescribeClusterRequest.endpoint_type", version)
        if version >= 2:
            w.boolean(self.include_fenced_brokers)
        else:
            if self.include_fenced_brokers:
                lost_field("DescribeClusterRequest.include_fenced_brokers", version)
        w.uvarint(0)

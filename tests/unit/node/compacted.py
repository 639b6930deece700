"""A compacted topic in a node, in virtual time: what the tests of its cleaner share."""

from __future__ import annotations

from tapelog.log import names
from tapelog.node.cleaner import Cleaner
from tapelog.wire.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tapelog.wire.messages.describe_log_dirs_response import PartitionCleaning
from tapelog.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tapelog.wire.record_batch import Record, batches, build_batch, records_of
from tests.support.rig import TOPIC, Rig

SMALL = {"cleanup_policy": "compact", "segment_ms": "1000", "min_cleanable_dirty_ratio": "0.01"}
SOON_MS = 40_000
"""A checkpoint, a look, a cleaning."""


def keyed(rig: Rig, *pairs: tuple[bytes | None, bytes | None], topic: str = TOPIC) -> int:
    """One batch, in a segment of its own; returns the error code."""
    records = [Record(0, rig.clock.wall_ms(), key, value) for key, value in pairs]
    code = rig.produce(build_batch(records), topic=topic).error_code
    rig.node.pass_time(1_500)
    return code


def fill(rig: Rig, rounds: int = 4, topic: str = TOPIC) -> None:
    """Every round writes the same three keys; the last batch stays in the active segment."""
    for number in range(rounds):
        keyed(rig, (b"a", b"a%d" % number), (b"b", b"b%d" % number), (b"c", b"c%d" % number), topic=topic)
    keyed(rig, (b"z", b"end"), topic=topic)


def found(rig: Rig, topic: str = TOPIC) -> list[tuple[int, bytes | None, bytes | None]]:
    """Offset, key and value of everything that a consumer reads."""
    offset, seen = 0, []
    while True:
        data = rig.fetch(offset, topic=topic)
        assert data.error_code == 0
        raw = data.records.tobytes() if data.records is not None else b""  # type: ignore[union-attr]
        if not raw:
            return seen
        for header in batches(raw, 0, len(raw)):
            seen += [(one.offset, one.key, one.value) for one in records_of(raw, header)]
            offset = header.last_offset + 1


CLEAN = [(9, b"a", b"a3"), (10, b"b", b"b3"), (11, b"c", b"c3"), (12, b"z", b"end")]


def cleaner(rig: Rig) -> Cleaner:
    assert rig.node.core is not None
    return rig.node.core.cleaner


def leftovers(rig: Rig, topic: str = TOPIC) -> list[str]:
    suffixes = (names.CLEANED, names.SWAP, names.DELETED)
    return [name for name in rig.node.disk.listdir(f"logs/{topic}-0") if name.endswith(suffixes)]


def alter(rig: Rig, kind: int, name: str, **configs: str) -> None:
    changes = [AlterableConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=changes)
    answer = rig.client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert answer.responses[0].error_code == 0, answer


def under_way(rig: Rig) -> bool:
    return any(lane.held is not None for lane in cleaner(rig).lanes)


def until_under_way(rig: Rig) -> None:
    """Until a worker has begun."""
    for _ in range(SOON_MS // 20):
        if under_way(rig):
            return
        rig.node.pass_time(20)
    raise AssertionError("nothing was cleaned")


def described(rig: Rig) -> PartitionCleaning | None:
    """What an operator is told."""
    answer = rig.client.call(DescribeLogDirsRequest(topics=None), 4)
    return next(part.cleaning for one in answer.results[0].topics if one.name == TOPIC for part in one.partitions)

"""Python's collector never stops the loop for long: counted in the objects that it looks at in one go."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tapelog.node.main import COLLECTED_AT_ONCE_MAX, COLLECTOR_THRESHOLDS, calm_the_collector
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.support.house import House

PARTITIONS = 100
GROUPS = 500
"""More would have their records written again, which replaces all of them: Python counts that as no growth."""


@contextmanager
def counted_collections() -> Iterator[list[tuple[int, int]]]:
    """As a node runs; tells the generation of each collection, and how many objects it looked at."""
    seen: list[tuple[int, int]] = []

    def started(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            generation = info["generation"]
            seen.append((generation, sum(len(gc.get_objects(generation=n)) for n in range(generation + 1))))

    before = gc.get_threshold()
    calm_the_collector()
    gc.callbacks.append(started)
    try:
        yield seen
    finally:
        gc.callbacks.remove(started)
        gc.set_threshold(*before)
        gc.unfreeze()


def test_a_collection_looks_at_a_bounded_number_of_objects(tmp_path: Path) -> None:
    house = House(tmp_path, {"offsets.topic.num.partitions": "1", "tapelog.flush": "page-cache"})
    client = house.connect()
    wanted = CreatableTopic(name="orders", num_partitions=PARTITIONS, replication_factor=1)
    assert client.call(CreateTopicsRequest(topics=[wanted], timeout_ms=5000), 7).topics[0].error_code == 0
    question = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
    house.turn_until(lambda: client.call(question, 4).coordinators[0].error_code == 0, "a coordinator")
    parts = [OffsetCommitRequestPartition(partition_index=index, committed_offset=1) for index in range(PARTITIONS)]
    topics = [OffsetCommitRequestTopic(name="orders", partitions=parts)]
    with counted_collections() as seen:
        for group in range(GROUPS):
            answer = client.call(OffsetCommitRequest(group_id=f"group-{group}", topics=topics), 8)
            assert not any(part.error_code for part in answer.topics[0].partitions)
        kept = sum(len(gc.get_objects(generation=n)) for n in range(3))
    house.close()
    assert kept > COLLECTED_AT_ONCE_MAX, "this much has to be kept for a collection to meet the bound"
    assert {generation for generation, _ in seen} == {0, 1}, "no full collection, however much is kept"
    assert max(objects for _, objects in seen) <= COLLECTED_AT_ONCE_MAX


def test_the_thresholds_are_the_bound() -> None:
    young, middle, full = COLLECTOR_THRESHOLDS
    assert young * (middle + 2) <= COLLECTED_AT_ONCE_MAX
    assert young * (middle + 1) * full >= 50_000_000, "a full collection looks at everything: it has to be rare"

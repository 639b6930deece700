"""What `tape tier restore` makes of a bucket: partitions as many as there are, whatever topic.json says."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tapelog.cli.tier_bucket import Bucket
from tapelog.cli.tier_restore import EPOCH_JUMP, Plan, carry_out, create, plans
from tapelog.cli.tier_verify import verify_partition
from tapelog.log.tier import growth, layout
from tapelog.log.tier.growth import Writer
from tapelog.log.tier.topic import TopicDocument
from tapelog.node.directory_mark import Memory
from tapelog.node.directory_store import DirectoryBackend

ID = b"\x07" * 16


@pytest.fixture
def bucket(tmp_path: Path) -> Bucket:
    return Bucket(DirectoryBackend(f"{tmp_path}/tier", Memory(f"{tmp_path}/note", own=True)))


def tell(bucket: Bucket, partitions: int) -> None:
    document = TopicDocument("orders", ID, "cluster", partitions, 2, 4, {"retention.ms": "7"})
    bucket.backend.put(layout.topic_document(ID), document.encode())


def head(bucket: Bucket, partition: int, start: int = 5, epoch: int = 9) -> None:
    made = growth.empty("orders", ID, partition, start, Writer(1, epoch, "x", "cluster"))
    bucket.backend.put(layout.manifest_name(ID, partition), made.encode())


def planned(bucket: Bucket) -> tuple[Plan, list[str]]:
    found, remarks = plans(bucket, [], lambda _: None)
    return found[0], remarks


def test_partitions_that_the_document_does_not_know_yet_come_back_too(bucket: Bucket) -> None:
    tell(bucket, 2)
    for partition in (0, 1, 11):
        head(bucket, partition)
    plan, remarks = planned(bucket)
    assert len(plan.restore.partitions) == 12 and plan.restore.leader_epoch == 9 + EPOCH_JUMP
    assert plan.restore.partitions[11].start_offset == 5 and plan.restore.span_of(2) is None
    assert remarks == ["orders: has 12 partitions, its topic.json says 2"]


def test_partitions_that_have_nothing_in_the_tier_begin_empty(bucket: Bucket) -> None:
    tell(bucket, 3)
    head(bucket, 0)
    plan, remarks = planned(bucket)
    assert len(plan.restore.partitions) == 3 and plan.restore.span_of(2) is None and not remarks


def test_a_partition_with_objects_and_no_manifest_is_told_by_restore_and_verify(bucket: Bucket) -> None:
    tell(bucket, 1)
    bucket.backend.put(layout.partition_prefix(ID, 0) + layout.segment_name(0, 5, 1, "x"), b"1")
    plan, remarks = planned(bucket)
    assert plan.restore.span_of(0) is None and "no manifest" in remarks[0]
    checked = verify_partition(bucket, ID, "orders", 0, quick=True, tell=lambda _: None)
    assert checked is not None and "missing" in checked.problems[0]


@pytest.mark.parametrize("damaged", [False, True])
def test_a_topic_without_its_document_comes_back_from_its_manifests(bucket: Bucket, damaged: bool) -> None:
    if damaged:
        bucket.backend.put(layout.topic_document(ID), b"rotten")
    head(bucket, 0)
    head(bucket, 3, epoch=10)
    plan, remarks = planned(bucket)
    assert (plan.name, plan.document.cluster_id, len(plan.restore.partitions)) == ("orders", "cluster", 4)
    assert plan.restore.leader_epoch == 10 + EPOCH_JUMP and "configs are not known" in remarks[0]


def test_a_deleted_topic_does_not_come_back(bucket: Bucket) -> None:
    tell(bucket, 1)
    made = growth.empty("orders", ID, 4, 0, Writer(1, 9, "x", "cluster"))
    bucket.backend.put(layout.manifest_name(ID, 4), growth.tombstone(made, Writer(1, 9, "y", "cluster")).encode())
    assert plans(bucket, [], lambda _: None) == ([], ["orders: it was deleted"])


def test_what_is_restored_is_kept_whatever_the_new_clusters_defaults_are(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    head(bucket, 0)
    plan, _ = planned(bucket)
    asked: list[dict[str, str]] = []
    admin = SimpleNamespace(create_topics=lambda new, **_: asked.append(new[0].config) or {"orders": None})
    there = SimpleNamespace(
        admin=admin, timeout_s=1, result=lambda *_, **__: None, bounds=lambda _: {("orders", 0): (5, 5)}
    )
    create(cast(Any, there), plan, 1)
    assert asked[0]["retention.ms"] == asked[0]["retention.bytes"] == "-1"
    tell(bucket, 1)
    plan, _ = planned(bucket)
    create(cast(Any, there), plan, 1)
    assert asked[1]["retention.ms"] == "7", "its own settings come first"


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_topic_that_the_cluster_has_is_left_out_of_the_rehearsal_too(bucket: Bucket, dry_run: bool) -> None:
    tell(bucket, 1)
    head(bucket, 0)
    plan, remarks = planned(bucket)
    there = SimpleNamespace(metadata=lambda: SimpleNamespace(cluster_id="cluster", topics={"orders": None}))
    done = carry_out(
        cast(Any, there), [plan], [], None, dry_run=dry_run, take_over=False, remarks=remarks, tell=lambda _: None
    )
    assert [(one["possible"], one["restored"]) for one in done] == [(False, False)]
    assert remarks == ["orders: the cluster has such a topic"]

"""The metadata log without leading it: what is committed is replayed and published; who loses the lead says so."""

from __future__ import annotations

from typing import Any

import pytest

from tapelog.metadata import records, snapshot
from tapelog.metadata.difference import difference
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.create_topics_request import CreateTopicsRequest
from tests.unit.metadata.harness import Cluster, MemorySnapshots
from tests.unit.metadata.test_topics import create, delete, topic


def follower_of(cluster: Cluster) -> Cluster:
    """Another replica over the same log, which has replayed nothing yet."""
    other = Cluster(port=cluster.port, lead=False)
    other.log.image = other.log.latest = type(other.image)(cluster_id=other.image.cluster_id)
    other.published.clear()
    return other


def test_a_follower_publishes_what_is_committed_and_no_more() -> None:
    leader = Cluster()
    create(leader, topic("a"))
    middle = leader.port.end_offset
    create(leader, topic("b"))
    follower = follower_of(leader)
    follower.log.on_commit(middle)
    assert sorted(follower.image.topics) == ["a"]
    assert [t.name for t in follower.published[-1][1].changed_topics] == ["a"]
    follower.log.on_commit(leader.port.end_offset)
    assert follower.image == leader.image
    assert [t.name for t in follower.published[-1][1].changed_topics] == ["b"]
    assert follower.image.controller_id == 1


def test_nothing_new_is_not_published() -> None:
    leader = Cluster()
    follower = follower_of(leader)
    follower.log.on_commit(leader.port.end_offset)
    count = len(follower.published)
    follower.log.on_commit(leader.port.end_offset)
    assert len(follower.published) == count


def test_who_does_not_lead_refuses_proposals() -> None:
    follower = follower_of(Cluster())
    errors: list[Exception] = []
    follower.log.propose(lambda image: pytest.fail("asked"), lambda _: None, errors.append)
    assert isinstance(errors[0], KafkaError) and errors[0].code == ErrorCode.NOT_CONTROLLER


def test_a_leader_is_active_only_when_everything_before_its_epoch_is_replayed() -> None:
    old = Cluster()
    create(old, topic("a"))
    new = follower_of(old)
    changes: list[bool] = []
    new.log.active_changed = changes.append
    start = new.port.end_offset
    new.port.append(records.leader_change_batch(2, 0, 7), 7)
    new.log.node_id = 2
    new.log.elected(7, start)
    assert not new.log.active and changes == []
    new.log.on_commit(start)
    assert new.log.active and changes == [True]
    assert sorted(new.log.latest.topics) == ["a"]
    assert new.log.latest.offset == new.port.end_offset
    new.log.on_commit(new.port.end_offset)
    assert new.image.controller_id == 2 and new.image.features == old.image.features


def test_who_loses_the_lead_fails_what_waits_and_forgets_what_was_not_committed() -> None:
    cluster = Cluster()
    told: list[Any] = []
    changes: list[bool] = []
    cluster.log.active_changed = changes.append
    request = CreateTopicsRequest(topics=[topic("a")])
    cluster.log.propose(lambda image: cluster.controller.create_topics(image, request), told.append, told.append)
    cluster.log.resigned()
    assert isinstance(told[0], KafkaError) and told[0].code == ErrorCode.NOT_CONTROLLER
    assert "a" not in cluster.log.latest.topics and changes == [False]
    cluster.log.on_commit(cluster.port.end_offset)
    assert "a" in cluster.image.topics, "the next leader committed it all the same"
    assert len(told) == 1


def test_records_of_the_quorum_itself_move_the_newest_image_on() -> None:
    cluster = Cluster()
    cluster.port.append(records.leader_change_batch(1, 0, cluster.log.epoch), cluster.log.epoch)
    seen: list[int] = []

    def look(image: Any) -> Any:
        seen.append(image.offset)
        return cluster.controller.create_topics(image, CreateTopicsRequest(topics=[topic("a")]))

    end = cluster.port.end_offset
    cluster.run(look)
    assert seen == [end]


def test_a_snapshot_from_the_leader_is_published_as_what_it_changes() -> None:
    leader = Cluster()
    create(leader, topic("a"))
    create(leader, topic("gone"))
    follower = follower_of(leader)
    follower.log.on_commit(leader.port.end_offset)
    delete(leader, ("gone", bytes(16)))
    create(leader, topic("b"))
    follower.published.clear()
    id = (leader.image.offset, leader.image.epoch)
    follower.log.snapshots = MemorySnapshots()
    follower.log.snapshots.write(id, snapshot.encode_image(leader.image), lambda _: None)
    follower.log.install_snapshot(id)
    image, delta = follower.published[-1]
    assert image.same_state(leader.image)
    assert [t.name for t in delta.changed_topics] == ["b"]
    assert [t.name for t in delta.deleted_topics] == ["gone"]


def test_images_that_say_the_same_have_no_difference() -> None:
    cluster = Cluster()
    create(cluster, topic("a", 3, retention_ms="5"))
    delta = difference(cluster.image, cluster.image)
    assert not (delta.changed_topics or delta.deleted_topics or delta.changed_configs or delta.changed_brokers)
